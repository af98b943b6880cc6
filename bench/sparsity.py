#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times sparse layers and networks beside the dense ones, and networks with half of their arithmetic removed.

  python3 bench/sparsity.py [--minnow build/release/bin/minnow] [--rounds N] [--seconds S] [--threads N...] [--networks NAME...] [--bytes]

Layers are convolutions of one image; networks are those of bench/networks.py, with random weights. `minnow prune` makes the sparse and the smaller
forms. Forms take turns within each round; tables have minima. --bytes: only what integers change, two 1x1 convolutions that `minnow quantize --data-free`
made of the dense and of the sparse layers, by instruction set. Speed does not depend on which weights are zero, apart from their pattern.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent))
import networks  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ("1x4", "4x4", "1x16", "unstructured")
SPARSITIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
BYTE_SPARSITIES = (0.5, 0.8, 0.9, 0.95)
LAYERS = ((64, 128, 56, 1), (128, 128, 56, 1), (256, 256, 28, 1), (512, 512, 14, 1), (1024, 1024, 7, 1), (128, 128, 28, 3), (256, 256, 14, 3))


def call(*command, isa=None):
    environment = {**os.environ, "MINNOW_ISA": isa} if isa else None
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-300:])
    return done.stdout


def layer(path, inputs, outputs, size, kernel):
    b = networks.Builder("layer", size)
    x = b.conv(b.input(1, inputs, size, size), outputs, kernel)
    onnx.save(b.model(b.relu(x)), path)
    return path


def times(arguments, threads, paths, isa=None):
    """Least milliseconds of each file; files take turns."""
    best = dict.fromkeys(paths, float("inf"))
    for _ in range(arguments.rounds):
        for path in paths:
            best[path] = min(best[path], json.loads(call(arguments.minnow, "bench", path, "-t", threads, "-n", arguments.seconds, "--json", isa=isa))["min_ms"])
    return best


def forms(arguments, source, folder, patterns):
    made = {None: folder / f"{source.stem}.minnow"}
    call(arguments.minnow, "convert", source, made[None])
    for pattern in patterns:
        for sparsity in (0.5,) if pattern == "2:4" else SPARSITIES:
            path = folder / f"{source.stem}.{pattern.replace(':', '_')}.{sparsity}.minnow"
            call(arguments.minnow, "prune", source, path, "--pattern", pattern, "--sparsity", sparsity)
            made[pattern, sparsity] = path
    return made


def table(title, rows):
    print(f"\n{title}\n")
    print(f"| | pattern | dense ms |{'|'.join(f' {round(100 * s)} % ' for s in SPARSITIES)}|")
    print("|---" * (3 + len(SPARSITIES)) + "|")
    for row in rows:
        print(row, flush=True)


def rows_of(arguments, threads, name, made):
    best = times(arguments, threads, list(made.values()))
    dense = best[made[None]]
    for pattern in dict.fromkeys(key[0] for key in made if key):
        cells = [f"{dense / best[made[pattern, s]]:.2f}x" if (pattern, s) in made else "" for s in SPARSITIES]
        yield f"| {name} | {pattern} | {dense:.3f} | {' | '.join(cells)} |"


def bytes_table(arguments, folder):
    print("Two 1x1 convolutions in milliseconds, one thread: f32 and int8, zeros in blocks of 4x4\n\n| | instruction set | numbers | dense | "
          + " | ".join(f"{round(100 * s)} %" for s in BYTE_SPARSITIES) + " |\n" + "|---" * (4 + len(BYTE_SPARSITIES)) + "|")
    for channels, size in ((256, 28), (512, 14), (1024, 7)):
        b = networks.Builder("layers", size)
        x = b.relu(b.conv(b.input(1, channels, size, size), channels, 1))
        source = folder / f"bytes_{channels}.onnx"
        onnx.save(b.model(b.relu(b.conv(x, channels, 1))), source)
        made = {}
        for sparsity in (0, *BYTE_SPARSITIES):
            real, integer = (folder / f"{channels}.{sparsity}.{kind}.minnow" for kind in ("f32", "int8"))
            call(arguments.minnow, *(("prune", source, real, "--pattern", "4x4", "--sparsity", sparsity) if sparsity else ("convert", source, real)))
            call(arguments.minnow, "quantize", real, integer, "--data-free", "--samples", 2, "--evaluate", 1)
            made[sparsity] = {"f32": real, "int8": integer}
        for isa in (None, "avx2_vnni", "avx2"):
            for kind in ("f32", "int8"):
                best = times(arguments, 1, [each[kind] for each in made.values()], isa)
                print(f"| {channels}->{channels}, {size}x{size} | {isa or 'all'} | {kind} | " + " | ".join(f"{best[each[kind]]:.3f}" for each in made.values()) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--networks", nargs="*", default=["mobilenet_v1", "mobilenet_v2", "resnet_18"])
    parser.add_argument("--bytes", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.bytes:
            bytes_table(arguments, folder)
            return
        layers = {f"{i}->{o}, {s}x{s}, {k}x{k}": forms(arguments, layer(folder / f"layer_{i}_{o}_{s}_{k}.onnx", i, o, s, k), folder, PATTERNS)
                  for i, o, s, k in LAYERS}
        table("Layers, one thread: dense time divided by sparse time", (row for title, made in layers.items() for row in rows_of(arguments, 1, title, made)))
        sources = networks.write(folder, arguments.networks)
        whole = {title: forms(arguments, path, folder, (*PATTERNS, "2:4")) for title, path in sources.items()}
        for threads in arguments.threads:
            table(f"Networks, {threads} thread{'s' * (threads > 1)}: dense time divided by sparse time",
                  (row for title, made in whole.items() for row in rows_of(arguments, threads, title, made)))
        print("\nHalf of the multiply-adds (`--operations 0.5`), parts of the dense network's time and bytes\n\n| network | threads | dense ms | time | file |\n|---|---|---|---|---|")
        for title, path in sources.items():
            dense, half = whole[title][None], folder / f"{title}.half.minnow"
            call(arguments.minnow, "prune", path, half, "--operations", 0.5)
            for threads in arguments.threads:
                best = times(arguments, threads, [dense, half])
                print(f"| {title} | {threads} | {best[dense]:.2f} | {best[half] / best[dense]:.2f} | {half.stat().st_size / dense.stat().st_size:.2f} |", flush=True)


if __name__ == "__main__":
    main()
