#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of two square f32 matrices, neither of them a constant: Minnow's plain sums (--precision high), its choice at --precision normal
(Strassen's algorithm where the estimate says that it wins), NumPy with its OpenBLAS, and PyTorch where it is installed. All in turn over
several rounds, the least time of each; errors are the largest and the mean difference from f64, relative to those of the plain sums.

  bench/products.py                       1024, 2048 and 4096, one and two threads
  bench/products.py --sizes 4096 --threads 1 --rounds 5
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save

ROOT = Path(__file__).resolve().parent.parent


def model(folder, n):
    path = folder / f"product_{n}.onnx"
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [n, n]) for name in "aby"}
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"], name="product")], "product", [values["a"], values["b"]], [values["y"]])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def peer(name, n, threads):
    """Seconds of one product by another library, in a process of its own."""
    lines = ["import sys, time, numpy as np", f"a, b = (np.random.default_rng(i).standard_normal(({n}, {n})).astype(np.float32) for i in (1, 2))"]
    if name == "NumPy":
        lines += ["y = np.empty_like(a)", "f = lambda: np.matmul(a, b, out=y)"]
    else:
        lines += ["import torch", f"torch.set_num_threads({threads})", "a, b = torch.from_numpy(a), torch.from_numpy(b)", "y = torch.empty_like(a)",
                  "f = lambda: torch.matmul(a, b, out=y)"]
    lines += ["best = 1e9", "for i in range(4):", "    s = time.perf_counter(); f(); best = min(best, time.perf_counter() - s)", "print(best)"]
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env=os.environ | dict.fromkeys(names, str(threads)))
    return float(done.stdout) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow", help="the command")
    parser.add_argument("--sizes", default="1024,2048,4096")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| size | threads | plain ms | GFLOP/s | Strassen ms | gain | NumPy (OpenBLAS) ms | PyTorch ms | mean error | largest error | scheme |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in map(int, arguments.sizes.split(",")):
            path, random = model(folder, n), np.random.default_rng(7)
            a, b = (random.standard_normal((n, n)).astype(np.float32) for _ in range(2))
            exact = a.astype(np.float64) @ b.astype(np.float64)
            np.save(folder / "a.npy", a), np.save(folder / "b.npy", b)

            def minnow(*words):
                return subprocess.run([arguments.minnow, *map(str, words)], check=True, capture_output=True, text=True).stdout

            errors = {}
            for precision in ("high", "normal"):
                minnow("run", path, "--input", f"a={folder}/a.npy", "--input", f"b={folder}/b.npy", "--output-dir", folder, "--precision", precision)
                difference = np.abs(np.load(folder / "y.npy") - exact)
                errors[precision] = difference.mean(), difference.max()
            for threads in map(int, arguments.threads.split(",")):
                scheme = json.loads(minnow("inspect", path, "--plan", "--json", "--threads", threads))["plan"]["steps"][-1]["scheme"]
                best = {}
                for _ in range(arguments.rounds):
                    for key in ("high", "normal", "NumPy", "PyTorch"):
                        if key in errors:
                            seconds = json.loads(minnow("bench", path, "--json", "--threads", threads, "--precision", key, "--seconds", 0.5))["min_ms"] / 1e3
                        else:
                            seconds = peer(key, n, threads)
                        if seconds is not None:
                            best[key] = min(best.get(key, 1e9), seconds)
                text = {key: f"{best[key] * 1e3:.1f}" if key in best else "-" for key in ("high", "normal", "NumPy", "PyTorch")}
                mean, most = (errors["normal"][i] / errors["high"][i] for i in (0, 1))
                print(f"| {n} | {threads} | {text['high']} | {2e-9 * n**3 / best['high']:.1f} | {text['normal']} | {best['high'] / best['normal']:.3f} | "
                      f"{text['NumPy']} | {text['PyTorch']} | {mean:.2f} x | {most:.2f} x | {scheme} |", flush=True)


if __name__ == "__main__":
    main()
