#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of quantized networks, after training and with quantization-aware training.

    PYTHONPATH=build/release/python build/venv/bin/python bench/quantization_training.py fashion [--page docs/results/quantization-training.md]
    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python build/venv/bin/python bench/quantization_training.py digits [--page ...]
    MINNOW_CORPUS=FOLDER PYTHONPATH=build/release/python build/venv/bin/python bench/quantization_training.py cifar [--page ...]

fashion: the LeNet of ./dev demo-train on Fashion-MNIST (60,000 pictures to train, 10,000 to test; Debian's package dataset-fashion-mnist). digits: the
same network on data/mnist_test_0_4000.npz (3,000 pictures to train, 1,000 to test), for machines without that package. cifar: MobileNet-v1 0.25 of TensorFlow Lite,
fine-tuned on 10-class pictures of data/cifar10_test.npz enlarged to 224 x 224 (20 of each class to train, 10 to test). The f32 network is trained
first; post-training quantization calibrates with pictures of the training; quantization-aware training goes on from the f32 network for a few
epochs, alone and taught by the f32 network. Accuracies are those of the integer models that the runs write. The row "trained on" trains the f32
network for as many further epochs, at the same rate.
"""
import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import minnow
from minnow import compress, data
from record import machine

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("MINNOW_CORPUS", ROOT.parent / "shared/corpus"))
#: Settings of quantization-aware training: name, keys of [quantization], whether the f32 network teaches.
METHODS = {8: [("ema", {"activations": "ema"}, False), ("ema, distilled", {"activations": "ema"}, True), ("lsq", {"activations": "lsq", "weights": "lsq"}, False),
               ("pact", {"activations": "pact"}, False)],
           4: [("ema", {"activations": "ema"}, False), ("lsq", {"activations": "lsq", "weights": "lsq"}, False), ("lsq, distilled", {"activations": "lsq", "weights": "lsq"}, True)],
           2: [("lsq", {"activations": "lsq", "weights": "lsq"}, False), ("lsq, distilled", {"activations": "lsq", "weights": "lsq"}, True)]}


def fashion(arguments):
    """The keys of the first training, those of further ones, pictures for calibration, pictures and labels to test."""
    base = {"model": "lenet", "batch": 64, "epochs": arguments.epochs or 5, "data": {"train": "fashion-mnist", "mean": [0.286], "std": [0.353]},
            "optimizer": {"name": "adamw", "lr": 0.002}, "schedule": {"name": "one_cycle"}}
    more = {**base, "epochs": arguments.more or 1, "optimizer": {"name": "adamw", "lr": 2e-4}, "schedule": {"name": "cosine"}}
    return base, more


def digits(arguments):
    with np.load(CORPUS / "data" / "mnist_test_0_4000.npz") as file:
        pictures, labels = file["images"][..., None], file["labels"].astype(np.int64)
    train, test = (data.ArrayDataset(np.ascontiguousarray(pictures[part]), labels[part]) for part in (slice(0, 3000), slice(3000, 4000)))
    base = {"model": "lenet", "batch": 32, "epochs": arguments.epochs or 8, "optimizer": {"name": "adamw", "lr": 0.002}, "schedule": {"name": "one_cycle"},
            "data": {"train": train, "validation": test, "classes": [str(i) for i in range(10)], "mean": [0.13], "std": [0.31]}}
    more = {**base, "epochs": arguments.more or 3, "optimizer": {"name": "adamw", "lr": 2e-4}, "schedule": {"name": "cosine"}}
    return base, more


def cifar(arguments):
    with np.load(CORPUS / "data" / "cifar10_test.npz") as file:
        pictures, labels = (next(file[key] for key in file.files if file[key].ndim == rank) for rank in (4, 1))
    places = [np.flatnonzero(labels == label) for label in range(10)]
    parts = []
    least = min(map(len, places))
    count = min(arguments.each, least - 1)
    for which in (slice(0, count), slice(count, least)):
        chosen = np.concatenate([own[which] for own in places])
        parts.append(data.ArrayDataset(np.ascontiguousarray(pictures[chosen]), labels[chosen].astype(np.int64)))
    base = {"model": str(next((CORPUS / "tflite" / "support_mobilenet_v1_025_224_float").glob("*.tflite"))), "batch": 20, "epochs": arguments.epochs or 15, "schedule": {"name": "one_cycle"},
            "optimizer": {"name": "adamw", "lr": 2e-4, "groups": {"head.*": {"lr": 0.01}}},
            "data": {"train": parts[0], "validation": parts[1], "classes": [str(i) for i in range(10)], "size": 224, "mean": [0.5] * 3, "std": [0.5] * 3}}
    more = {**base, "epochs": arguments.more or 5, "optimizer": {"name": "adamw", "lr": 5e-5}, "schedule": {"name": "cosine"}}
    return base, more


def accuracy(path, batches):
    model, right, count = minnow.load(path), 0, 0
    for x, y in batches:
        right += int((np.asarray(model(x)).argmax(1) == y).sum())
        count += len(y)
    return 100 * right / count


def run(name, arguments, seed, folder):
    """Accuracies and bytes by row."""
    base, more = globals()[name](arguments)
    common = {"seed": seed, "threads": arguments.threads}
    rows = {}

    def note(row, path, start):
        rows[row] = accuracy(path, batches), os.path.getsize(path), time.monotonic() - start
        print(f"{name} seed {seed} {row}: {rows[row][0]:.2f} %, {rows[row][1]} bytes, {rows[row][2]:.0f} s", flush=True)

    from minnow._training import _inputs, _recipe
    start = time.monotonic()
    made = minnow.train({**base, **common, "output": str(folder / "f32")})
    inputs = _inputs.make(_recipe.Recipe({**base, **common}))
    loader = data.DataLoader(inputs.validation, 100)
    batches = [(np.asarray(x), np.asarray(y)) for x, y in loader]
    pictures = np.asarray(next(iter(data.DataLoader(inputs.train, 256, shuffle=True, seed=1)))[0])
    note("f32", folder / "f32/model.minnow", start)
    state = made.network.state_dict()
    start = time.monotonic()
    minnow.train({**more, **common, "model": made.network, "output": str(folder / "on")})
    note("f32, trained on", folder / "on/model.minnow", start)
    made.network.load_state_dict(state)
    for bits in arguments.bits:
        for rounding in ("nearest", "adaround"):
            start = time.monotonic()
            minnow.quantize(folder / "f32/model.onnx", folder / "ptq.minnow", pictures, weight_bits=bits, rounding=rounding)
            note(f"{bits} bits, after training" + (", adaround" if rounding != "nearest" else ""), folder / "ptq.minnow", start)
        for method, keys, taught in METHODS[bits]:
            start = time.monotonic()
            made.network.load_state_dict(state)
            teacher = {"distillation": {"teacher": made.network}} if taught else {}
            out = folder / f"qat{bits}{method}"
            minnow.train({**more, **common, **teacher, "model": made.network, "output": str(out), "quantization": {**keys, "weight_bits": bits, "samples": 256}})
            note(f"{bits} bits, in training, {method}", out / "model.minnow", start)
    return rows


PAGE = """# Accuracy of networks that were quantized after and in training

Integer models of `minnow quantize` (after training) and of quantization-aware training (in training), on test pictures that neither saw. Activations have 8
bits, weights as the row says. Training in integers goes on from the f32 network; "trained on" is the f32 network after as many further epochs.
[Compression](../compression.md#quantization-aware-training) explains the methods.
"""
COMMAND = "PYTHONPATH=build/release/python build/venv/bin/python bench/quantization_training.py"
#: The text above the table of each data set, and further arguments.
SECTIONS = {
    "fashion": ("## Fashion-MNIST\n\nThe LeNet of `./dev demo-train`, five epochs, and one further epoch in integers; 10,000 test pictures.", "--bits 8 4 2"),
    "digits": ("## Digits\n\nThe LeNet of `./dev demo-train` on MNIST's first 4,000 test pictures: 3,000 to train for eight epochs, then three in integers; 1,000 to test, so one picture is 0.1 %.",
               "--bits 8 4 2"),
    "cifar": ("## CIFAR-10, MobileNet-v1 0.25\n\nThe model of TensorFlow Lite, fine-tuned on 200 pictures enlarged to 224 x 224, then five epochs in integers; 100 test pictures, so one picture is 1 %.",
              "--bits 8 4"),
}


def table(found):
    """`found`: rows of each seed."""
    lines = ["| weights | accuracy | bytes of the file | seconds |", "|---|---|---|---|"]
    for row in found[0]:
        values = [one[row] for one in found]
        spread = f" ± {statistics.stdev(value[0] for value in values):.2f}" if len(values) > 1 else ""
        lines.append(f"| {row} | {statistics.mean(value[0] for value in values):.2f}{spread} % | {values[0][1]:,} | {statistics.mean(value[2] for value in values):.0f} |")
    return lines


def write_page(page, name, lines):
    """Replaces the table of a data set; a section that is not there yet goes to the end."""
    text = page.read_text() if page.exists() else PAGE
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if begin not in text:
        heading, options = SECTIONS[name]
        text += f"\n{heading}\n\n```sh no-test\n{COMMAND} {name} {options} --page docs/results/quantization-training.md\n```\n\n{begin}{end}\n"
    before, rest = text.split(begin, 1)
    note = f"{machine()}, other work beside, {time.strftime('%Y-%m-%d')}.\n\n"
    page.write_text(before + begin + note + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=["fashion", "digits", "cifar"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--bits", type=int, nargs="+", default=[8, 4], choices=list(METHODS))
    parser.add_argument("--epochs", type=int, help="of the f32 network")
    parser.add_argument("--more", type=int, help="epochs of quantization-aware training")
    parser.add_argument("--each", type=int, default=20, help="cifar: pictures of each class to train")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--page", type=Path, help="a file for the table")
    arguments = parser.parse_args()
    found = []  # of each seed
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as folder:
            found.append(run(arguments.data, arguments, seed, Path(folder)))
        lines = table(found)
        if arguments.page:  # after each seed, so that a run that is stopped leaves what it measured
            write_page(arguments.page, arguments.data, lines)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
