#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Minnow and its peers side by side: every engine, network and number of threads in a fresh process, the engines in turn over several
rounds, so that noise hits all alike. Checks first that the engines agree on the numbers. Prints the minimum and the median, and ratios.

  ./dev bench [--networks A,B] [--threads 1,2] [--rounds 3] [--seconds 2] [--minnow PATH] [--json FILE]

MINNOW_ISA=avx2 caps Minnow's instruction set (ONEDNN_MAX_CPU_ISA=AVX2 that of peers which heed it).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import networks

ROOT = Path(__file__).resolve().parent.parent

ORT = r"""
import json, sys, time, numpy as np, onnxruntime as ort
path, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
start = time.perf_counter()
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
load = time.perf_counter() - start
x = {i.name: np.load(sys.argv[4]) for i in session.get_inputs()}
start = time.perf_counter()
y = session.run(None, x)
first = time.perf_counter() - start
if len(sys.argv) > 5: np.save(sys.argv[5], y[0])
times, begin = [], time.perf_counter()
while len(times) < 5 or time.perf_counter() - begin < seconds:
    start = time.perf_counter()
    session.run(None, x)
    times.append(time.perf_counter() - start)
times.sort()
print(json.dumps({"min_ms": times[0] * 1e3, "median_ms": times[len(times) // 2] * 1e3, "load_ms": load * 1e3, "first_run_ms": first * 1e3}))
"""


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {result.stderr.strip().splitlines()[-1:] or result.returncode}")
    return result.stdout


class Minnow:
    name = "minnow"

    def __init__(self, command, folder):
        self.command, self.folder = str(command), folder

    def model(self, path):
        target = self.folder / (path.stem + ".minnow")
        run([self.command, "convert", str(path), str(target)])
        return target

    def time(self, path, threads, seconds, x):
        name = json.loads(run([self.command, "inspect", str(path), "--json"]))["inputs"][0]["name"]
        return json.loads(run([self.command, "bench", str(path), "--threads", str(threads), "--seconds", str(seconds), "--input", f"{name}={x}", "--json"]))

    def output(self, path, x):
        answer = json.loads(run([self.command, "run", str(path), "--input", str(x), "--output-dir", str(self.folder), "--json"]))
        return np.load(answer["outputs"][0]["file"])


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, folder):
        self.folder = folder

    def model(self, path):
        return path

    def time(self, path, threads, seconds, x, *more):
        return json.loads(run([sys.executable, "-c", ORT, str(path), str(threads), str(seconds), str(x), *more]))

    def output(self, path, x):
        target = self.folder / "peer.npy"
        self.time(path, 1, 0, x, str(target))
        return np.load(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(networks.NETWORKS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--minnow", type=Path, default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    names, threads = arguments.networks.split(","), [int(t) for t in arguments.threads.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        files = networks.write(ROOT / "build/models/bench", names)
        engines = [Minnow(arguments.minnow, folder), OnnxRuntime(folder)]
        print(f"isa: {os.environ.get('MINNOW_ISA', 'best')}; ms, minimum / median; ratio: minnow's minimum over the peer's")
        for name in names:
            x = folder / f"{name}.npy"
            np.save(x, np.random.default_rng(1).standard_normal((1, 3, 224, 224), dtype=np.float32))
            models = {engine.name: engine.model(files[name]) for engine in engines}
            outputs = {engine.name: engine.output(models[engine.name], x) for engine in engines}
            want = outputs["onnxruntime"]
            worst = float(np.abs(outputs["minnow"] - want).max() / max(np.abs(want).max(), 1e-30))
            if not worst < 1e-3:
                sys.exit(f"{name}: the engines disagree by {worst:.2g} relative to the largest output")
            for count in threads:
                results = {engine.name: [] for engine in engines}
                for _ in range(arguments.rounds):
                    for engine in engines:
                        results[engine.name].append(engine.time(models[engine.name], count, arguments.seconds / arguments.rounds, x))
                best = {e: min(r["min_ms"] for r in rs) for e, rs in results.items()}
                median = {e: statistics.median(r["median_ms"] for r in rs) for e, rs in results.items()}
                extra = results["minnow"][-1]
                rows.append({"network": name, "threads": count, "min_ms": best, "median_ms": median, "ratio": best["minnow"] / best["onnxruntime"],
                             "difference": worst, "minnow": extra})
                cells = "  ".join(f"{e} {best[e]:8.3f} / {median[e]:8.3f}" for e in best)
                peak = f", {extra['peak_fraction']:.0%} of peak" if extra.get("peak_fraction") else ""
                print(f"{name:16} threads {count}  {cells}  ratio {rows[-1]['ratio']:.2f}  (difference {worst:.1e}{peak})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
