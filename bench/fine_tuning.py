#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of a fine-tuned MobileNet: all of its weights, low-rank adapters and a new head, and a new head alone.

    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python python bench/fine_tuning.py cifar digits --choose
    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python python bench/fine_tuning.py cifar digits --seeds 1 2 3 4 5
    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python python bench/fine_tuning.py cifar digits --export /tmp/FOLDER
    PYTHON_WITH_TORCH bench/fine_tuning.py cifar digits --torch /tmp/FOLDER --methods full head

The model is MobileNet-v1 0.25 of TensorFlow Lite, the data are 300 pictures of CIFAR-10 (20 of each class to train, 10 to test) and the digits
of scikit-learn (50 of each class to train and to test), enlarged to its 224 x 224 pixels. Prints the accuracy after the last epoch of each seed,
then mean, standard deviation and the standard error of the mean.

--choose looks at the samples to train alone: it trains on three quarters of them and tests on the last one, for each quarter, at each number of
epochs and each rate of CANDIDATES. CHOSEN has the best.

--export writes the weights, the enlarged pictures and what the network computes for the first of them; --torch trains the same network, from the same
weights, on the same pictures, with torch's AdamW and OneCycleLR. Seeds mean other orders and heads there.
"""
import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

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


def model_file():
    return str(next((CORPUS / "tflite" / "support_mobilenet_v1_025_224_float").glob("*.tflite")))


def export(folder, names):
    """Writes mobilenet.npz, and DATA.npz for each name, for torch."""
    import minnow
    from minnow import data
    Path(folder).mkdir(parents=True, exist_ok=True)
    module = minnow.load_trainable(model_file()).eval()
    weights = {name: np.array(value) for name, value in module.named_parameters()}
    for name in names:
        resize = data.transforms.Resize((224, 224))
        (train, labels), (test, tested) = ((np.stack([np.asarray(resize(picture)) for picture in pictures]), own) for pictures, own in samples(name))
        np.savez(Path(folder, name), train=train, labels=labels, test=test, tested=tested, answers=np.array(module(np.float32(train[:4]) / 127.5 - 1)))
    np.savez(Path(folder, "mobilenet"), **weights)


def torch_network(weights):
    """MobileNet-v1 as TensorFlow has it, whose paddings have the odd row and column at the end."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, name, stride):
            super().__init__()
            kind = "depthwise_" if name.endswith("depthwise") else ""
            kernel = torch.tensor(weights[f"MobilenetV1/{name}/{kind}weights"]).permute(3, 0, 1, 2) if kind else torch.tensor(weights[f"MobilenetV1/{name}/weights"]).permute(0, 3, 1, 2)
            self.weight = nn.Parameter(kernel.contiguous())
            self.bias = nn.Parameter(torch.tensor(weights[f"MobilenetV1/MobilenetV1/{name}/{kind or 'Conv2D_'}bias"]))
            self.stride, self.groups = stride, len(kernel) if kind else 1

        def forward(self, x):
            if self.weight.shape[2] == 3:
                x = nn.functional.pad(x, (0, 1, 0, 1) if self.stride == 2 else (1, 1, 1, 1))
            return torch.clamp(nn.functional.conv2d(x, self.weight, self.bias, self.stride, groups=self.groups), 0, 6)

    layers = [Layer("Conv2d_0", 2)]
    for i in range(1, 14):
        layers += [Layer(f"Conv2d_{i}_depthwise", 2 if i in (2, 4, 6, 12) else 1), Layer(f"Conv2d_{i}_pointwise", 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def torch_accuracy(folder, name, method, epochs, rate, seed):
    """As accuracy(), by torch."""
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    with np.load(Path(folder, "mobilenet.npz")) as weights, np.load(Path(folder, f"{name}.npz")) as given:
        body = torch_network(weights).to(memory_format=torch.channels_last)  # depthwise layers take two thirds of the time so
        x, test = ((torch.tensor(given[key]).permute(0, 3, 1, 2).float() / 127.5 - 1).contiguous(memory_format=torch.channels_last) for key in ("train", "test"))
        y, tested = torch.tensor(given["labels"]), torch.tensor(given["tested"])
        last = [torch.tensor(weights[f"MobilenetV1/Logits/Conv2d_1c_1x1/{key}"]) for key in ("weights", "Conv2D_bias")]
        with torch.no_grad():
            own = body(x[:4]) @ last[0].reshape(1001, 256).T + last[1]
        difference = min(float(np.abs(np.asarray(one).reshape(4, -1) - given["answers"].reshape(4, -1)).max()) for one in (own, torch.softmax(own, 1)))
        if difference > 1e-4:
            raise SystemExit(f"fine_tuning.py: torch's network differs from Minnow's by {difference}")
    head = nn.Linear(256, 10)
    nn.init.zeros_(head.bias)
    nn.init.uniform_(head.weight, -1 / 16, 1 / 16)
    groups = [{"params": head.parameters(), "lr": HEAD}] + ([{"params": body.parameters(), "lr": rate}] if method == "full" else [])
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = epochs * -(-len(x) // 20)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, [group["lr"] for group in groups], steps, cycle_momentum=False)
    for _ in range(epochs):
        for places in torch.randperm(len(x)).split(20):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(body(x[places])), y[places]).backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        return 100 * float((head(body(test)).argmax(1) == tested).float().mean())


def accuracy(method, epochs, rate, seed, train, test):
    """Percent of `test` that are right after the last epoch."""
    import minnow
    from minnow import data
    with tempfile.TemporaryDirectory() as folder:
        made = minnow.train({
            "model": model_file(), "output": folder,
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
    parser.add_argument("--export", metavar="FOLDER")
    parser.add_argument("--torch", metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.export:
        return export(arguments.export, arguments.data)
    for name in arguments.data:
        train, test = samples(name) if not arguments.torch else (None, None)
        for method in arguments.methods:
            if arguments.choose:
                choose(name, method, train, arguments.folds)
                continue
            epochs, rate = CHOSEN[name, method]
            found = []
            for seed in arguments.seeds:
                start = time.perf_counter()
                found.append(torch_accuracy(arguments.torch, name, method, epochs, rate, seed) if arguments.torch else accuracy(method, epochs, rate, seed, train, test))
                print(f"{name} {method} seed {seed}: {found[-1]:.1f} % after {time.perf_counter() - start:.0f} s", flush=True)
            spread = statistics.stdev(found) if len(found) > 1 else 0
            print(f"{name} {method} {epochs} epochs at {rate:g}: mean {statistics.mean(found):.2f} %, deviation {spread:.2f}, "
                  f"error of the mean {spread / len(found) ** 0.5:.2f}", flush=True)


if __name__ == "__main__":
    main()
