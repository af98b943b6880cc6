#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times functions of minnow.cv next to OpenCV's, in turns, and prints a table of milliseconds and ratios (OpenCV's time over Minnow's: more than 1
is faster).

usage: bench/vision_functions.py [--threads 1|2] [--size 1920x1080,224x224] [--seconds S] [NAME]...   NAME: a part of a row's name
Run it with PYTHONPATH=build/release/python and build/venv/bin/python.
"""
from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
from pathlib import Path


def timed(call, times):
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each row")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])  # before the pools of threads are made
    sys.path.insert(0, str(Path(__file__).parent))
    import cv2
    import vision
    for file in sorted((Path(__file__).parent / "vision").glob("[a-z]*.py")):
        importlib.import_module(f"vision.{file.stem}")
    cv2.setNumThreads(options.threads)
    for size in options.size.split(","):
        table(options, size)


def table(options: argparse.Namespace, size: str) -> None:
    import cv2
    import minnow.cv
    import vision
    width, height = map(int, size.split("x"))
    pictures = vision.Pictures(height, width)
    print(f"\n| {size}, {options.threads} thread{'s'[:options.threads > 1]} | OpenCV ms | Minnow ms | ratio of minima | of medians |\n|---|---|---|---|---|")
    ratios = {}
    for row in vision.ROWS:
        if options.names and not any(name in row.name for name in options.names):
            continue
        try:
            calls = [row.make(cv, pictures) for cv in (cv2, minnow.cv)]
            once = max(timed(call, 1) for call in calls for _ in range(2))
        except AttributeError as missing:
            print(f"| {row.name} | | {missing} | | |")
            continue
        times = max(1, int(options.seconds / 40 / once))
        found = [[], []]
        for _ in range(20):
            for side in (0, 1):
                found[side].append(timed(calls[side], times))
        low = [min(f) for f in found]
        middle = [statistics.median(f) for f in found]
        ratios[row.name] = low[0] / low[1]
        print(f"| {row.name}{' *' if row.most_used else ''} | {low[0] * 1e3:.4f} | {low[1] * 1e3:.4f} | {low[0] / low[1]:.2f} | {middle[0] / middle[1]:.2f} |", flush=True)
    used = [ratios[row.name] for row in vision.ROWS if row.most_used and row.name in ratios]
    if ratios:
        print(f"\n{len(ratios)} rows; below 0.5: {sum(r < 0.5 for r in ratios.values())}; of {len(used)} most used (*): {sum(r >= 0.8 for r in used)} at 0.8 or more, {sum(r >= 1 for r in used)} at 1 or more.")


if __name__ == "__main__":
    main()
