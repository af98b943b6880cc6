#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network with two heavy branches on the processor, on a device and on both at once.

usage: bench/hybrid.py write FOLDER           makes the models, with minnow.expr
       bench/hybrid.py time FOLDER MINNOW [--device cuda] [--threads N] [--rounds 3]

The branches read inputs of their own: four convolutions of 256 channels (56x56, 3x3), which a device is good at, and an LSTM of 100 steps (one
sequence, 512 units), which takes a device many short kernels. MINNOW is the command; `auto` lets the plan divide the network, by estimates or by
the times of `minnow tune`. Least milliseconds.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

CHANNELS, SIDE, LAYERS, STEPS, UNITS = 256, 56, 4, 100, 512


def write(folder):
    from minnow import expr
    random = np.random.default_rng(1)
    draw = lambda *shape: expr.const((random.standard_normal(shape, np.float32) * np.float32(1 / np.prod(shape[1:]) ** 0.5)))
    image, steps = expr.placeholder("image", "float32", [1, CHANNELS, SIDE, SIDE]), expr.placeholder("steps", "float32", [STEPS, 1, UNITS])
    x = image
    for _ in range(LAYERS):
        x = expr.relu(expr.conv(x, draw(CHANNELS, CHANNELS, 3, 3), pads=[1, 1, 1, 1]))
    convolutions = expr.reduce_mean(x, axes=[2, 3], keepdims=0)
    outputs = expr.lstm(steps, draw(1, 4 * UNITS, UNITS), draw(1, 4 * UNITS, UNITS), hidden_size=UNITS)
    recurrent = expr.reshape(outputs[1], [1, UNITS])
    folder.mkdir(parents=True, exist_ok=True)
    expr.save([convolutions], str(folder / "convolutions.minnow"), [image])
    expr.save([recurrent], str(folder / "recurrent.minnow"), [steps])
    expr.save([expr.concat([convolutions, recurrent], axis=1)], str(folder / "both.minnow"), [image, steps])


def call(arguments, what, model, backend, *more):
    command = [arguments.minnow, what, model, "--backend", backend, *(["-t", arguments.threads] if arguments.threads else []), *more]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"hybrid.py: {what} {model} on {backend}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def time(arguments):
    ways = [("cpu",), (arguments.device,), ("auto",), ("auto", "--tuning")]
    print("| network | " + " | ".join(["cpu", arguments.device, "auto", "auto, tuned"]) + " |\n|---|" + "---|" * len(ways))
    for name in ("convolutions", "recurrent", "both"):
        model = arguments.folder / f"{name}.minnow"
        with tempfile.TemporaryDirectory() as folder:
            tuning = Path(folder) / "tuning.txt"
            call(arguments, "tune", model, "auto", "--file", tuning)
            rounds = [[json.loads(call(arguments, "bench", model, *way, *([tuning] if way[1:] else []), "--json", "-n", "0.5"))["min_ms"] for way in ways]
                      for _ in range(arguments.rounds)]
        print(f"| {name} | " + " | ".join(f"{min(times):.3f}" for times in zip(*rounds)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "time"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("minnow", nargs="?")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.what == "write":
        write(arguments.folder)
    elif arguments.minnow:
        time(arguments)
    else:
        parser.error("time needs the command")


if __name__ == "__main__":
    main()
