#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The update of raw floats as a share of the memory's bandwidth.

    PYTHONPATH=build/release/python python bench/optimizers.py [--numbers 10000000] [--seconds 3] [--torch]

The bandwidth is the best of three loops over arrays of that size, on as many threads: a copy, an addition in place, and a sum of two arrays. An update
reads the weights, the gradient and the state, and writes all but the gradient. Rounds of all loops alternate; the least time of each counts.
"""
import argparse
import os
import platform
import threading
import time

import numpy as np

from minnow import optim

# Streams of memory for one element: those read, those written.
UPDATES = {"sgd": ({}, 2, 1), "momentum": ({"momentum": 0.9}, 3, 2), "adam": ({}, 4, 3), "adamw": ({}, 4, 3), "lion": ({}, 3, 2)}
TORCH = {"sgd": ("SGD", {}), "momentum": ("SGD", {"momentum": 0.9}), "adam": ("Adam", {}), "adamw": ("AdamW", {})}


def on_threads(function, arrays, threads):
    """function(parts of the arrays) on threads that exist before: returns a function that runs all once."""
    size = len(arrays[0])
    parts = [[array[size * i // threads:size * (i + 1) // threads] for array in arrays] for i in range(threads)]
    begin, end = threading.Barrier(threads), threading.Barrier(threads)

    def work(part):
        while True:
            begin.wait()
            function(*part)
            end.wait()
    for part in parts[1:]:
        threading.Thread(target=work, args=(part,), daemon=True).start()

    def run():
        begin.wait()
        function(*parts[0])
        end.wait()
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", type=int, default=10 ** 7)
    parser.add_argument("--seconds", type=float, default=3, help="for each loop")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--torch", action="store_true", help="also torch's fused or foreach updates")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    made = lambda: rng.standard_normal(options.numbers, dtype="float32")
    # Each loop has arrays of its own: those of the loop before may still be in a cache.
    loops = {"copy": (on_threads(lambda x, y: np.copyto(x, y), [made(), made()], options.threads), 8),
             "add in place": (on_threads(lambda x, y: np.add(x, y, out=x), [made(), made()], options.threads), 12),
             "sum of two": (on_threads(lambda x, y, z: np.add(x, y, out=z), [made(), made(), made()], options.threads), 12)}
    references = list(loops)
    for name, (settings, read, written) in UPDATES.items():
        w, g = made(), made()
        optimizer = optim.create("sgd" if name == "momentum" else name, [w], lr=1e-6, threads=options.threads, **settings)
        loops[name] = (lambda optimizer=optimizer, g=g: optimizer.step([g]), 4 * (read + written))
        if options.torch and name in TORCH:
            import torch
            torch.set_num_threads(options.threads)
            kind, keywords = TORCH[name]
            tensor = torch.nn.Parameter(torch.from_numpy(made()))
            tensor.grad = torch.from_numpy(made())
            theirs = getattr(torch.optim, kind)([tensor], lr=1e-6, fused=True, **keywords)
            loops[f"torch {name}"] = (theirs.step, 4 * (read + written))
    times = dict.fromkeys(loops, float("inf"))
    end = time.perf_counter() + options.seconds * len(loops)
    rounds = 0
    while time.perf_counter() < end or rounds < 5:
        for name, (run, _) in loops.items():
            begin = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - begin)
        rounds += 1
    speed = {name: size * options.numbers / times[name] / 1e9 for name, (_, size) in loops.items()}
    best = max(speed[name] for name in references)
    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, {options.numbers} floats, {rounds} rounds, {time.strftime('%Y-%m-%d')}")
    for name in loops:
        print(f"{name:16} {times[name] * 1e3:8.2f} ms {speed[name]:7.2f} GB/s" + ("" if name in references else f" {speed[name] / best:5.0%} of {best:.2f} GB/s"))


if __name__ == "__main__":
    main()
