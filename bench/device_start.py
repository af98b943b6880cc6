#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First and second starts of models on devices, and what preparing saves.

usage: bench/device_start.py MINNOW MODEL... [--backend cuda vulkan opencl] [--rounds 3]

MINNOW is the command. Each row starts processes: "plan" and "first run" without compiled kernels (drivers' own caches are off where a variable
does that), the same again with the file that the first start wrote (--kernel-cache), and the time of a prepared run. "unprepared" is a run whose
plan is made for it each time, kernels from the file: plan and first run of the second start, divided by a prepared run. Minima, in milliseconds.
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path


def start(command, model, backend, cache):
    environment = dict(os.environ, CUDA_CACHE_DISABLE="1", POCL_KERNEL_CACHE="0", __GL_SHADER_DISK_CACHE="0", MESA_SHADER_CACHE_DISABLE="true")
    out = subprocess.run([command, "bench", model, "--backend", backend, "--json", "-n", "0.2", "--kernel-cache", str(cache)], capture_output=True, text=True, env=environment)
    if out.returncode:
        raise SystemExit(f"device_start.py: {model} on {backend}: {out.stdout.strip()[-300:]}")
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minnow")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--backend", nargs="+", default=["cuda"])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| model | backend | plan, first start | first run | plan, second start | first run | a run | unprepared / prepared |\n|---|---|---|---|---|---|---|---|")
    for model in arguments.models:
        for backend in arguments.backend:
            first, second, run = [], [], float("inf")
            for _ in range(arguments.rounds):
                with tempfile.TemporaryDirectory() as folder:
                    for times in (first, second):
                        found = start(arguments.minnow, model, backend, Path(folder) / "kernels")
                        times.append((found["plan_ms"], found["first_run_ms"]))
                        run = min(run, found["min_ms"])
            (plan, once), (again, twice) = min(first, key=sum), min(second, key=sum)
            print(f"| {Path(model).stem} | {backend} | {plan:.1f} | {once:.1f} | {again:.1f} | {twice:.1f} | {run:.3f} | {(again + twice) / run:.0f} |", flush=True)


if __name__ == "__main__":
    main()
