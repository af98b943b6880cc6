#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a product with weights of 2 to 8 bits in blocks of 64 beside f32, with one row and with many.

  MINNOW_ISA=avx2 python3 bench/packed_weights.py [--minnow build/release/bin/minnow] [--size N] [--rows 1 64 512] [--rounds N]

The weights are N x N (default: 4096). One thread computes; times are the least processor time of a run, so that other processes disturb little, and all
widths take turns within each round. "i8" allows kernels to round activations to 8 bits (`minnow quantize --activations i8`). The bandwidth of one
row counts the packed weights with scales and zero points. The package minnow, numpy and onnx have to be installed.
"""
import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import minnow

ROOT = Path(__file__).resolve().parent.parent
BITS = (2, 3, 4, 5, 6, 8)


def make(folder, minnow_command, size):
    weights = (np.random.default_rng(0).standard_normal((size, size)) * 0.02).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", size])], [numpy_helper.from_array(weights, "w")])
    source = folder / "f32.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    files = {"f32": source}
    for bits in BITS:
        for name, options in ((f"{bits}", ()), (f"{bits} i8", ("--activations", "i8"))):
            files[name] = folder / f"{name}.minnow"
            subprocess.run([minnow_command, "quantize", source, files[name], "--weights-only", "rtn", "--bits", str(bits), *options], check=True, capture_output=True)
    return files


def least(module, rows, size, seconds):
    x = np.random.default_rng(1).standard_normal((rows, size)).astype(np.float32)
    module(x)
    best, end, runs = np.inf, time.perf_counter() + seconds, 0
    while time.perf_counter() < end or runs < 3:
        start = time.process_time()
        module(x)
        best, runs = min(best, time.process_time() - start), runs + 1
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 64, 512])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    times, packed = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        files = make(Path(folder), arguments.minnow, arguments.size)
        modules = {name: minnow.load(str(path), threads=1) for name, path in files.items()}
        packed = {name: path.stat().st_size for name, path in files.items()}
        for _ in range(arguments.rounds):
            for rows in arguments.rows:
                for name, module in modules.items():
                    times[rows, name] = min(times.get((rows, name), np.inf), least(module, rows, arguments.size, 0.3))
    print("| weights | activations | MB |" + "".join(f" {rows} row{'s' if rows > 1 else ''}: ms | GB/s | speed against f32 |" if rows == 1 else f" {rows} rows: ms | speed against f32 |"
                                                  for rows in arguments.rows))
    print("|---|---|---|" + "".join("---|---|---|" if rows == 1 else "---|---|" for rows in arguments.rows))
    for name in modules:
        cells = [f"{name.split()[0]} bits" if name != "f32" else "f32", "i8" if "i8" in name else "f32", f"{packed[name] / 1e6:.1f}"]
        for rows in arguments.rows:
            seconds = times[rows, name]
            cells.append(f"{seconds * 1000:.2f}")
            if rows == 1:
                cells.append(f"{packed[name] / seconds / 1e9:.1f}")
            cells.append(f"{times[rows, 'f32'] / seconds:.2f}")
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
