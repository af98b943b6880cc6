#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy on Fashion-MNIST of a network that is trained, then made sparse, smaller or integer and fine-tuned, with times of one picture.

    PYTHONPATH=build/release/python python bench/pruning_accuracy.py [--epochs 3] [--fine-tuning 2] [--seed 1] [--forms PATTERN...]

The network of bench/fashion_mnist.py with AdamW and a one-cycle schedule. Forms: dense; 80 % sparse in blocks of 1x4 at once, and by a cubic ramp;
2:4; half of the multiply-adds; recipes of `minnow train` that prune and quantize behind it, or round while they prune. Each is fine-tuned for as
many epochs as the dense network, which is trained on for comparison. Prints the accuracy on the 10,000 test pictures, the size of the .minnow file,
plain and with `--compress`, and the least time of a run of 1 and of 64 pictures on one thread.
"""
import argparse
import fnmatch
import gzip
import tempfile
import time
from pathlib import Path

import numpy as np

import minnow
from minnow import nn, optim

FOLDER = "/usr/share/datasets/fashion-mnist"
BATCH, RATE, MEAN, STD = 64, 0.002, 0.286, 0.353


def read(name, begin, shape):
    return np.frombuffer(gzip.open(f"{FOLDER}/{name}-ubyte.gz").read(), np.uint8, offset=begin).reshape(shape)


def pictures(name):
    return (read(f"{name}-images-idx3", 16, (-1, 1, 28, 28)).astype("float32") / 255 - MEAN) / STD, read(f"{name}-labels-idx1", 8, -1).astype("int64")


def network():
    return nn.Sequential(nn.Conv2d(1, 24, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(24, 48, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(1200, 256), nn.ReLU(), nn.Linear(256, 10))


def train(module, data, epochs, rate, seed, pruner=None):
    x, y = data
    steps = epochs * (len(x) // BATCH)
    optimizer = optim.AdamW(module, lr=rate, weight_decay=0.01, schedule=optim.schedule("one_cycle", steps=steps))
    step = optim.TrainingStep(lambda a, b: nn.functional.cross_entropy(module(a), b), optimizer)
    random = np.random.default_rng(seed)
    module.train()
    for _ in range(epochs):
        order = random.permutation(len(x))
        for i in range(len(x) // BATCH):
            rows = order[i * BATCH:(i + 1) * BATCH]
            step(minnow.Var(x[rows]), minnow.Var(y[rows]))
            if pruner:
                pruner.step()
    module.eval()
    return steps


def measure(path, data, title):
    x, y = data
    model = minnow.load(path, threads=1)
    right = sum(int((np.asarray(model(x[i:i + 500])).argmax(1) == y[i:i + 500]).sum()) for i in range(0, len(x), 500))
    cells = []
    for count in (1, 64):
        best = float("inf")
        for _ in range(300 if count == 1 else 60):
            start = time.perf_counter()
            model(x[:count])
            best = min(best, time.perf_counter() - start)
        cells.append(f"{best * 1e6:.0f}")
    coded = f"{path}.coded.minnow"
    minnow.convert(path, coded, compress=True)
    sizes = " | ".join(f"{Path(each).stat().st_size / 1000:.0f}" for each in (path, coded))
    print(f"| {title} | {100 * right / len(x):.2f} | {sizes} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--fine-tuning", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forms", nargs="+", default=["*"], help="the rows to measure beside the dense network's, with * and ?")
    arguments = parser.parse_args()
    is_wanted = lambda title: any(fnmatch.fnmatchcase(title, pattern) for pattern in arguments.forms)
    data, test = pictures("train"), pictures("t10k")
    example = np.zeros((1, 1, 28, 28), "float32")
    print("| form | accuracy % | file kB | coded kB | 1 picture, us | 64 pictures, us |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        np.random.seed(arguments.seed)
        module = network()
        train(module, data, arguments.epochs, RATE, arguments.seed)
        dense = str(folder / "dense.minnow")
        x = minnow.expr.placeholder("input", "float32", [None, 1, 28, 28])
        minnow.expr.save([module(x)], dense, [x])
        measure(dense, test, "dense")

        def tuned(title, source, rate, make_pruner=None):
            if not is_wanted(title):
                return
            model = minnow.load_trainable(source)
            steps = arguments.fine_tuning * (len(data[0]) // BATCH)
            train(model, data, arguments.fine_tuning, rate, arguments.seed + 1, make_pruner(model, steps) if make_pruner else None)
            path = str(folder / f"{title.replace(' ', '_').replace(':', '_').replace('%', '').replace(',', '')}.minnow")
            model.export(path, example)
            measure(path, test, title)

        tuned("dense, trained on", dense, RATE / 4)
        once = str(folder / "once.minnow")
        minnow.prune(dense, once, prune_sparsity=0.8, prune_pattern="1x4")
        if is_wanted("80 % sparse 1x4, not tuned"):
            measure(once, test, "80 % sparse 1x4, not tuned")
        tuned("80 % sparse 1x4, at once", once, RATE / 2, lambda model, steps: minnow.compress.Pruner(model, 0.8, "1x4"))
        tuned("80 % sparse 1x4, cubic ramp", dense, RATE / 2, lambda model, steps: minnow.compress.Pruner(model, 0.8, "1x4", end=steps // 2, every=50))
        tuned("80 % sparse 1x4, movement", dense, RATE / 2,
              lambda model, steps: minnow.compress.Pruner(model, 0.8, "1x4", method="movement", end=steps // 2, every=50))
        tuned("90 % sparse unstructured, cubic ramp", dense, RATE / 2,
              lambda model, steps: minnow.compress.Pruner(model, 0.9, "unstructured", end=steps // 2, every=50))
        tuned("2:4", dense, RATE / 2, lambda model, steps: minnow.compress.Pruner(model, 0.5, "2:4"))
        half = str(folder / "half.minnow")
        minnow.prune(dense, half, channels_operations=0.5)
        if is_wanted("half the multiply-adds, not tuned"):
            measure(half, test, "half the multiply-adds, not tuned")
        tuned("half the multiply-adds", half, RATE / 2)
        minnow.quantize(dense, str(folder / "bytes.minnow"), data[0][:100])
        measure(str(folder / "bytes.minnow"), test, "dense, int8")

        def of_recipe(title, source, **tables):
            if not is_wanted(title):
                return
            output = folder / title.replace(" ", "_").replace("%", "")
            minnow.train({"model": source, "output": str(output), "task": "classify", "epochs": arguments.fine_tuning, "batch": BATCH, "seed": arguments.seed + 1,
                          "parameters": {"head": False}, "data": {"train": "fashion-mnist", "mean": [MEAN], "std": [STD]},
                          "optimizer": {"name": "adamw", "lr": RATE / 2, "weight_decay": 0.01}, "schedule": {"name": "one_cycle"}, **tables},
                         report=lambda line: None)
            measure(str(output / ("quantized.minnow" if "quantize" in tables else "model.minnow")), test, title)

        ramp = {"sparsity": 0.8, "pattern": "1x4", "every": 50}
        of_recipe("80 % sparse 1x4, then int8", dense, prune=ramp, quantize={"method": "mse"})
        of_recipe("80 % sparse 1x4, then 4 bits", dense, prune=ramp, quantize={"method": "mse", "weight_bits": 4, "rounding": "adaround"})
        of_recipe("80 % sparse 1x4 and int8 in training", dense, prune=ramp, quantization={"activations": "ema"})
        of_recipe("80 % sparse 1x4 and 4 bits in training", dense, prune=ramp, quantization={"activations": "lsq", "weights": "lsq", "weight_bits": 4})
        of_recipe("half the multiply-adds, 80 % sparse 1x4, then int8", half, prune=ramp, quantize={"method": "mse"})


if __name__ == "__main__":
    main()
