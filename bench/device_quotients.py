#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quotients of f32 on devices: how many of 2^24 differ from the processor's, and the device's time for them beside that for products.

  bench/device_quotients.py make FOLDER                                  writes two models; needs onnx
  bench/device_quotients.py run FOLDER MINNOW --backend vulkan cuda      measures them; needs numpy

Operands are random bits, with exponents near 1 for the times.
"""
import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

COUNT = 1 << 24


def make(folder):
    from onnx import TensorProto, helper, save
    folder.mkdir(parents=True, exist_ok=True)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [COUNT]) for name in "aby"]
    for op in ("Div", "Mul"):
        graph = helper.make_graph([helper.make_node(op, ["a", "b"], ["y"], name=op)], op, values[:2], values[2:])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / f"{op}.onnx")


def run(folder, minnow, backends):
    random = np.random.default_rng(1)
    bits = random.integers(0, 1 << 32, (2, COUNT), dtype=np.uint32)
    bits[:, ::2] = bits[:, ::2] & 0x807FFFFF | (bits[:, ::2] >> 8 & 15) + 120 << 23
    operands = bits.view(np.float32)
    for name, values in zip("ab", operands):
        np.save(folder / f"{name}.npy", values)
    with np.errstate(all="ignore"):
        expected = operands[0] / operands[1]
    inputs = [part for name in "ab" for part in ("--input", f"{name}={folder / name}.npy")]
    print("| backend | different | products us | quotients us |")
    print("|---|---|---|---|")
    for backend in backends:
        def command(what, op, *options):
            done = subprocess.run([minnow, what, folder / f"{op}.onnx", *inputs, "--backend", backend, *options], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{backend}: {done.stderr}")
            return done.stdout

        command("run", "Div", "--output-dir", folder / "out")
        found = np.load(folder / "out" / "y.npy")
        differ = (found.view(np.uint32) != expected.view(np.uint32)) & ~(np.isnan(found) & np.isnan(expected))
        microseconds = []
        for op in ("Mul", "Div"):
            rows = json.loads(command("profile", op, "--json", "--seconds", "0.5"))["nodes"]
            microseconds.append(sum(row["best_us"] for row in rows if row["op"] in ("Mul", "Div", "minnow.FusedElementwise")))
        print(f"| {backend} | {np.count_nonzero(differ)} | " + " | ".join(f"{us:.1f}" for us in microseconds) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("minnow", nargs="?")
    parser.add_argument("--backend", nargs="+", default=["vulkan", "gles", "opencl"])
    arguments = parser.parse_args()
    make(arguments.folder) if arguments.action == "make" else run(arguments.folder, arguments.minnow, arguments.backend)


if __name__ == "__main__":
    main()
