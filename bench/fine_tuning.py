#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of a fine-tuned MobileNet: all of its weights, low-rank adapters and a new head, and a new head alone.

    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python python bench/fine_tuning.py cifar digits --seeds 1 2 3

The model is MobileNet-v1 0.25 of TensorFlow Lite, the data are 300 pictures of CIFAR-10 (20 of each class to train, 10 to test) and the digits
of scikit-learn (50 of each class to train and to test), enlarged to its 224 x 224 pixels. Prints the accuracy after the last epoch.
"""
import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import minnow
from minnow import data

CORPUS = Path(os.environ.get("MINNOW_CORPUS", "."))
EPOCHS = {"cifar": 8, "digits": 3}
METHODS = {
    "full": {"optimizer": {"name": "adamw", "lr": 2e-4, "groups": {"head.*": {"lr": 0.01}}}},
    "lora": {"optimizer": {"name": "adamw", "lr": 5e-4, "groups": {"head.*": {"lr": 0.01}}}, "parameters": {"lora": 16}},
    "head": {"optimizer": {"name": "adamw", "lr": 0.01}, "parameters": {"train": ["head.*"]}},
}


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
        yield data.ArrayDataset(np.ascontiguousarray(pictures[chosen]), labels[chosen].astype(np.int64))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", choices=list(EPOCHS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    arguments = parser.parse_args()
    model = next((CORPUS / "tflite" / "support_mobilenet_v1_025_224_float").glob("*.tflite"))
    for name in arguments.data:
        train, test = samples(name)
        for method in arguments.methods:
            for seed in arguments.seeds:
                start = time.perf_counter()
                with tempfile.TemporaryDirectory() as folder:
                    made = minnow.train({"model": str(model), "output": folder, "epochs": EPOCHS[name], "batch": 20, "seed": seed, "schedule": {"name": "one_cycle"},
                                         "data": {"train": train, "validation": test, "classes": [str(i) for i in range(10)], "size": 224, "mean": [0.5] * 3, "std": [0.5] * 3},
                                         **METHODS[method]})
                print(f"{name} {method} seed {seed}: {100 * made.history[-1]['accuracy']:.1f} % after {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
