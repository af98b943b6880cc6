#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes of files with weights of few bits and with entropy codes, and what decoding costs when they are loaded.

  python3 bench/compressed_files.py [NAME...] [--minnow build/release/bin/minnow] [--rounds N] [--threads N] [--page FILE]

Models are the trained ones of bench/quantization_speed.py that hold a million weights or more. int8: weights and activations, `--data-free`; 4 bits:
`--weights-only rtn`, blocks of 64, and of 128. Models that store weights in 16 bits are left out. "start" is loading, planning and the first run of the int8 file; files with and without codes take turns, in
new processes, and the table has minima.
"""
import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from quantization_speed import OPEN, ROOT, TRAINED, call, source_of
from record import machine

LEAST = 4_000_000  # bytes of the f32 file


def measure(name, arguments, folder):
    f32 = folder / f"{name}.f32.minnow"
    call(arguments.minnow, "convert", *source_of(name, arguments, folder), f32)
    size = {"f32": f32.stat().st_size}
    if size["f32"] < LEAST:
        return None
    call(arguments.minnow, "convert", f32, folder / "half.minnow", "--weights", "bf16")
    if (folder / "half.minnow").stat().st_size > 0.75 * size["f32"]:
        return None  # it has 16 bits already
    call(arguments.minnow, "convert", f32, folder / "coded.minnow", "--compress")
    size["f32 coded"] = (folder / "coded.minnow").stat().st_size
    call(arguments.minnow, "convert", f32, folder / "half.minnow", "--weights", "bf16", "--compress")
    size["bf16 coded"] = (folder / "half.minnow").stat().st_size
    calibration, shape = ["--data-free", "--samples", 2], []
    if name in OPEN:
        entry, side = OPEN[name]
        np.savez(folder / f"{name}.npz", **{entry: np.random.default_rng(1).random((2, 3, side, side), np.float32)})
        calibration, shape = ["--calibration", folder / f"{name}.npz"], ["--shape", f"1x3x{side}x{side}"]
    for kind, options in (("int8", calibration + ["--evaluate", 1]), ("4 bits", ["--weights-only", "rtn"]), ("4 bits, 128", ["--weights-only", "rtn", "--block-size", 128])):
        for coded in ("", " coded"):
            path = folder / f"{kind}{coded}.minnow"
            call(arguments.minnow, "quantize", f32, path, *options, *(["--compress"] if coded else []))
            size[kind + coded] = path.stat().st_size
    starts = {"int8": [], "int8 coded": []}
    loads = {"int8": [], "int8 coded": []}
    for _ in range(arguments.rounds):
        for kind in starts:
            facts = json.loads(call(arguments.minnow, "bench", folder / f"{kind}.minnow", "-t", arguments.threads, "-n", 0.05, "--json", *shape))
            starts[kind].append(facts["load_ms"] + facts["plan_ms"] + facts["first_run_ms"])
            loads[kind].append(facts["load_ms"])
    return size, {kind: min(each) for kind, each in starts.items()}, {kind: min(each) for kind, each in loads.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--corpus", type=Path, default=ROOT / "../shared/corpus")
    parser.add_argument("--models", type=Path, default=ROOT / "build/models")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    kinds = ["f32 coded", "bf16 coded", "int8", "int8 coded", "4 bits", "4 bits coded", "4 bits, 128", "4 bits, 128 coded"]
    lines = ["| model | f32, MB | " + " | ".join(kinds) + " | load, ms | load, coded | start, ms | start, coded | ratio |", "|---" * (len(kinds) + 7) + "|"]
    print("\n".join(lines), flush=True)
    ratios = {kind: [] for kind in kinds + ["start"]}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or TRAINED:
            try:
                found = measure(name, arguments, Path(folder))
            except (RuntimeError, FileNotFoundError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            if not found:
                continue
            size, start, load = found
            for kind in kinds:
                ratios[kind].append(size["f32"] / size[kind])
            ratios["start"].append(start["int8 coded"] / start["int8"])
            lines.append(f"| {name} | {size['f32'] / 1e6:.2f} | " + " | ".join(f"{ratios[kind][-1]:.2f}x" for kind in kinds) +
                         f" | {load['int8']:.2f} | {load['int8 coded']:.2f} | {start['int8']:.1f} | {start['int8 coded']:.1f} | {ratios['start'][-1]:.2f} |")
            print(lines[-1], flush=True)
    mean = lambda each: float(np.exp(np.mean(np.log(each))))
    if ratios["start"]:
        lines.append("| geometric mean | | " + " | ".join(f"{mean(ratios[kind]):.2f}x" for kind in kinds) + f" | | | | | {mean(ratios['start']):.2f} |")
        print(lines[-1])
    if arguments.page:
        arguments.page.write_text(f"# Sizes of compressed files\n\nHow much smaller than the f32 file, {machine()}, {arguments.threads} threads, {time.strftime('%Y-%m-%d')}.\n\n"
                                  "```sh no-test\npython3 bench/compressed_files.py\n```\n\nTrained models of a million weights and more. Coded: `--compress`. 4 bits: `--weights-only rtn`, blocks of 64 and of 128. Load:\n"
                                  "reading the int8 file without and with codes; start: loading, planning and the first run; minima, in new processes.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
