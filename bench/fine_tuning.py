#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of a fine-tuned MobileNet: all of its weights, low-rank adapters and a new head, and a new head alone.

    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python python bench/fine_tuning.py cifar digits --choose
    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python python bench/fine_tuning.py cifar digits --seeds 1 2 3 4 5

The model is MobileNet-v1 0.25 of TensorFlow Lite, the data are 300 pictures of CIFAR-10 (20 of each class to train, 10 to test) and the digits
of scikit-learn (50 of each class to train and to test), enlarged to its 224 x 224 pixels. Prints the accuracy after the last epoch of each seed,
then mean, standard deviation and the standard error of the mean.

--choose looks at the samples to train alone: it trains on three quarters of them and tests on the last one, for each quarter, at each number of
epochs and each rate of CANDIDATES. CHOSEN has the best.
"""
import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import minnow
from minnow import data

CORPUS = Path(os.environ.get("MINNOW_CORPUS", "."))
METHODS = {"full": {}, "lora": {"parameters": {"lora": 16}}, "head": {"parameters": {"train": ["head.*"]}}}
#: Numbers of epochs, and learning rates of all weights or adapters. The new head has its own.
EPOCHS = {"cifar": [10, 20], "digits": [8]}
RATES = {"full": [1e-4, 2e-4, 5e-4], "lora": [2e-4, 5e-4, 1e-3], "head": [0.01]}
HEAD = 0.01
CHOSEN = {("cifar", "full"): (20, 2e-4), ("cifar", "lora"): (20, 5e-4), ("cifar", "head"): (20, 0.01),
          ("digits", "full"): (8, 5e-4), ("digits", "lora"): (8, 1e-3), ("digits", "head"): (8, 0.01)}


def samples(name):
    """Pictures uint8 [n, h, w, 3] and labels, to train and to test."""
    if name == "cifar":
        with np.load(CORPUS / "data" / "cifar10_test.npz") as file:
            pictures, labels = (next(file[key] for key in file.files if file[key].ndim == rank) for rank in (4, 1))
        count, tested = 20, 10
    else:
        from sklearn.datasets import load_digits
        digits = load_digits()
        pictures = np.repeat(np.uint8(digits.images * 15.9)[..., None], 3, 3)
        labels, count, tested = digits.target, 50, 50
    places = [np.flatnonzero(labels == label) for label in range(10)]
    for which in (slice(0, count), slice(count, count + tested)):
        chosen = np.concatenate([own[which] for own in places])
        yield np.ascontiguousarray(pictures[chosen]), labels[chosen].astype(np.int64)


def accuracy(method, epochs, rate, seed, train, test):
    """Percent of `test` that are right after the last epoch."""
    with tempfile.TemporaryDirectory() as folder:
        made = minnow.train({
            "model": str(next((CORPUS / "tflite" / "support_mobilenet_v1_025_224_float").glob("*.tflite"))), "output": folder,
            "epochs": epochs, "batch": 20, "seed": seed, "threads": 1, "schedule": {"name": "one_cycle"},
            "optimizer": {"name": "adamw", "lr": rate, "groups": {"head.*": {"lr": HEAD}}},
            "data": {"train": data.ArrayDataset(*train), "validation": data.ArrayDataset(*test), "classes": [str(i) for i in range(10)],
                     "size": 224, "mean": [0.5] * 3, "std": [0.5] * 3}, **METHODS[method]})
    return 100 * made.history[-1]["accuracy"]


def choose(name, method, train, folds):
    """Prints the mean accuracy on the parts of `train` that a run does not see."""
    quarter = np.arange(len(train[1])) % 4
    for epochs in EPOCHS[name]:
        for rate in RATES[method]:
            found = []
            for fold in range(folds):
                seen, unseen = (tuple(array[rows] for array in train) for rows in (quarter != fold, quarter == fold))
                found.append(accuracy(method, epochs, rate, fold + 1, seen, unseen))
            print(f"{name} {method} {epochs} epochs at {rate:g}: {statistics.mean(found):.1f} % held out ({' '.join(f'{one:.1f}' for one in found)})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", choices=list(EPOCHS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--folds", type=int, default=4)
    arguments = parser.parse_args()
    for name in arguments.data:
        train, test = samples(name)
        for method in arguments.methods:
            if arguments.choose:
                choose(name, method, train, arguments.folds)
                continue
            epochs, rate = CHOSEN[name, method]
            found = []
            for seed in arguments.seeds:
                start = time.perf_counter()
                found.append(accuracy(method, epochs, rate, seed, train, test))
                print(f"{name} {method} seed {seed}: {found[-1]:.1f} % after {time.perf_counter() - start:.0f} s", flush=True)
            spread = statistics.stdev(found) if len(found) > 1 else 0
            print(f"{name} {method} {epochs} epochs at {rate:g}: mean {statistics.mean(found):.2f} %, deviation {spread:.2f}, "
                  f"error of the mean {spread / len(found) ** 0.5:.2f}", flush=True)


if __name__ == "__main__":
    main()
