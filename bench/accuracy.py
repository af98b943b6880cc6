#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the accuracy of 16 bits: models at precision low, and from files with f16 or bf16 weights, beside f32 at precision high.

  PYTHONPATH=build/release/python build/venv/bin/python bench/accuracy.py MODEL... [--inputs N] [--references CORPUS]
    [--pictures FOLDER] [--minnow COMMAND]

MODEL is a .minnow file, or a folder FORMAT/NAME that holds one model and gives ref.npz, here or below --references (the corpus), whose `in_k`
are their input. A file gets N inputs of normal random numbers; with --pictures it gets those of a folder (data/imagenet_224 of the corpus), in
[-1, 1].

Prints a Markdown table: for each way the error of the outputs (root of the sum of squares of the differences, divided by that of the output; the
worst of all inputs) and, if the first output is one row, the number of inputs for which its largest element is the same.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import minnow

ROOT = Path(__file__).resolve().parent.parent
WAYS = {"low": (None, "low"), "f16 file": ("f16", "normal"), "f16 file, low": ("f16", "low"), "bf16 file": ("bf16", "normal"),
        "bf16 file, low": ("bf16", "low")}


def model_in(folder):
    files = [path for path in folder.rglob("*") if path.suffix in (".onnx", ".tflite", ".pt", ".pb", ".mnn", ".caffemodel")]
    proto = [path for path in folder.rglob("*") if path.suffix == ".prototxt"]
    if len(files) != 1:
        raise ValueError(f"{folder} holds {len(files)} models, one is wanted")
    return proto[:1] + files


def arrays(value):
    values = value if isinstance(value, (list, tuple)) else [value]
    return [np.asarray(each) for each in values]


def random_inputs(module, count):
    random = np.random.default_rng(1)
    shapes = [[size if isinstance(size, int) and size > 0 else 1 for size in each.shape] for each in module.describe_inputs()]
    return [[random.standard_normal(shape, dtype=np.float32) for shape in shapes] for _ in range(count)]


def pictures(folder, channels_last):
    from PIL import Image

    for path in sorted(folder.glob("*.jpg")):
        picture = np.asarray(Image.open(path).convert("RGB"), np.float32)[None] / 127.5 - 1
        yield [picture if channels_last else np.ascontiguousarray(picture.transpose(0, 3, 1, 2))]


def compare(base, other):
    worst = 0.0
    for a, b in zip(base, other):
        if a.dtype.kind == "f" and a.any():
            worst = max(worst, float(np.linalg.norm(np.float64(a) - b) / np.linalg.norm(np.float64(a))))
    return worst


def best(outputs):
    row = outputs[0].reshape(-1)
    return int(row.argmax()) if row.size > 1 and outputs[0].shape[-1] == row.size else None


def table_row(name, files, inputs_of, command, folder):
    def stored(weights):
        path = Path(folder) / f"{weights}.minnow"
        extra = [] if weights == "f32" else ["--weights", weights]
        subprocess.run([command, "convert", *map(str, files), str(path), *extra], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return str(path)

    paths = {weights: stored(weights) for weights in ("f32", "f16", "bf16")}
    high = minnow.load(paths["f32"], threads=1, precision="high")
    inputs = inputs_of(high)
    wanted = [arrays(high(*each)) for each in inputs]
    cells = []
    for weights, precision in WAYS.values():
        module = minnow.load(paths[weights or "f32"], threads=1, precision=precision)
        got = [arrays(module(*each)) for each in inputs]
        worst = max(compare(a, b) for a, b in zip(wanted, got))
        same = [best(a) == best(b) for a, b in zip(wanted, got) if best(a) is not None]
        cells.append(f"{worst:.1e}, {sum(same)} of {len(same)}" if same else f"{worst:.1e}")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--inputs", type=int, default=8)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--minnow", default=str(ROOT / "build/release/bin/minnow"), help="the command")
    arguments = parser.parse_args()
    print("| model | " + " | ".join(WAYS) + " |\n|---|" + "---|" * len(WAYS))
    failed = 0
    for model in arguments.models:
        reference = model / "ref.npz"
        if arguments.references:
            reference = arguments.references / model.parent.name / model.name / "ref.npz"

        def inputs_of(module):
            if arguments.pictures:
                return list(pictures(arguments.pictures, list(module.describe_inputs()[0].shape)[-1] == 3))
            if not model.is_dir():
                return random_inputs(module, arguments.inputs)
            held = np.load(reference)
            return [[held[f"in_{k}"] for k in range(len(module.inputs))]]

        with tempfile.TemporaryDirectory() as folder:
            try:
                table_row(model.stem if model.is_file() else model.name, model_in(model) if model.is_dir() else [model], inputs_of,
                          arguments.minnow, folder)
            except Exception as error:  # the other models are wanted all the same; the status tells
                failed += 1
                print(f"{model}: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
