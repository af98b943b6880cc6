#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy on Fashion-MNIST of the recipe of ./dev demo-train in Minnow, and of the same in torch.

    PYTHONPATH=build/release/python python bench/fashion_mnist.py --seeds 1 2 3
    PYTHON_WITH_TORCH bench/fashion_mnist.py --torch --seeds 1 2 3

Both use the same network with the same distribution of initial weights, AdamW, the same learning rate at each step, and five epochs; seeds
differ in what they mean. Prints the accuracy on the 10,000 test pictures after the last epoch, and the seconds of the training.
"""
import argparse
import gzip
import math
import time
from pathlib import Path

FOLDER = "/usr/share/datasets/fashion-mnist"
EPOCHS, BATCH, RATE, DECAY, MEAN, STD = 5, 64, 0.002, 0.01, 0.286, 0.353


def with_minnow(seed):
    import tempfile

    import minnow
    with tempfile.TemporaryDirectory() as folder:
        made = minnow.train(Path(__file__).parent.parent / "examples" / "demo-train" / "recipe.toml", seed=seed, output=folder)
        return made.history[-1]["accuracy"]


def factor(step, steps, start=0.3, div=25.0, final=1e4):
    """one_cycle of <minnow/schedule.h>, which is torch's OneCycleLR."""
    up = start * steps - 1
    low, high, share = (1 / div, 1.0, step / up) if step <= up else (1.0, 1 / div / final, (step - up) / (steps - 1 - up))
    return high + (low - high) / 2 * (1 + math.cos(math.pi * share))


def with_torch(seed):
    import numpy as np
    import torch
    from torch import nn
    torch.manual_seed(seed)

    def read(name, begin, shape):
        return np.frombuffer(gzip.open(f"{FOLDER}/{name}-ubyte.gz").read(), np.uint8, offset=begin).reshape(shape)

    def pictures(name):
        return (torch.tensor(read(f"{name}-images-idx3", 16, (-1, 1, 28, 28)).astype("float32")) / 255 - MEAN) / STD, torch.tensor(read(f"{name}-labels-idx1", 8, -1).astype("int64"))

    (x, y), (test_x, test_y) = pictures("train"), pictures("t10k")
    network = nn.Sequential(nn.Conv2d(1, 24, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(24, 48, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                            nn.Linear(1200, 256), nn.ReLU(), nn.Linear(256, 10))
    steps = EPOCHS * -(-len(x) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: factor(min(step, steps - 1), steps))
    for _ in range(EPOCHS):
        for places in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[places]), y[places]).backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        return sum(int((network(rows).argmax(1) == labels).sum()) for rows, labels in zip(test_x.split(500), test_y.split(500))) / len(test_y)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    for seed in arguments.seeds:
        start = time.perf_counter()
        accuracy = (with_torch if arguments.torch else with_minnow)(seed)
        print(f"{'torch' if arguments.torch else 'minnow'} seed {seed}: {100 * accuracy:.2f} % after {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
