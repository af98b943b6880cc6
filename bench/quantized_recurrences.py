#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times LSTM and GRU layers in f32 and with weights of 8 bits, and ONNX Runtime's beside them (quantize_dynamic, which knows LSTM alone).

  python3 bench/quantized_recurrences.py [--minnow build/release/bin/minnow] [--rounds N] [--batches 1 8]

Layers have as many inputs as hidden units and run 20 steps on one thread; times are least milliseconds of a run. Engines take turns within
each round. The SQNR is that of the layer's output on normally distributed inputs. onnxruntime and onnx have to be installed.
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import quantize_dynamic

ROOT = Path(__file__).resolve().parent.parent
STEPS = 20


def call(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def layer(path, cell, hidden, batch):
    random = np.random.default_rng(1)
    draw = lambda *shape: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
    gates = 4 if cell == "LSTM" else 3
    weights = {"w": draw(1, gates * hidden, hidden), "r": draw(1, gates * hidden, hidden), "b": draw(1, 2 * gates * hidden)}
    more = {} if cell == "LSTM" else {"linear_before_reset": 1}
    node = helper.make_node(cell, ["x", *weights], ["y"], name="cell", hidden_size=hidden, **more)
    graph = helper.make_graph([node], "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [STEPS, batch, hidden])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [STEPS, 1, batch, hidden])],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)
    np.save(path.with_suffix(".npy"), random.standard_normal((4, STEPS, batch, hidden)).astype(np.float32))


def least(run, seconds):
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1000


def measure(arguments, folder, cell, hidden, batch):
    source = folder / "layer.onnx"
    layer(source, cell, hidden, batch)
    f32, int8, theirs = source.with_suffix(".minnow"), folder / "int8.minnow", folder / "int8.onnx"
    call(arguments.minnow, "convert", source, f32)
    report = json.loads(call(arguments.minnow, "quantize", source, int8, "--calibration", source.with_suffix(".npy"), "--json"))
    runs = {}
    for title, path in (("Minnow f32", f32), ("Minnow int8", int8)):
        runs[title] = lambda path=path: json.loads(call(arguments.minnow, "bench", path, "-t", 1, "-n", arguments.seconds, "--json"))["min_ms"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    x = np.load(source.with_suffix(".npy"))[0]
    files = {"ONNX Runtime f32": source}
    if cell == "LSTM":
        quantize_dynamic(source, theirs, op_types_to_quantize=["LSTM"])
        files["ONNX Runtime int8"] = theirs
    for title, path in files.items():
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        runs[title] = lambda session=session: least(lambda: session.run(None, {"x": x}), arguments.seconds)
    times = {title: [] for title in runs}
    for _ in range(arguments.rounds):
        for title, run in runs.items():
            times[title].append(run())
    return {title: min(each) for title, each in times.items()}, report["layers"][0]["sqnr_db"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    arguments = parser.parse_args()
    titles = ["Minnow f32", "Minnow int8", "ONNX Runtime f32", "ONNX Runtime int8"]
    print(f"| layer | hidden units | batch | {' | '.join(titles)} | int8 of f32 | SQNR dB |")
    print("|---" * (len(titles) + 5) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for cell in ("LSTM", "GRU"):
            for batch in arguments.batches:
                for hidden in (128, 256, 512, 1024):
                    best, sqnr = measure(arguments, Path(folder), cell, hidden, batch)
                    cells = [f"{best[title]:.3f}" if title in best else "" for title in titles]
                    ratio = best["Minnow f32"] / best["Minnow int8"]
                    print(f"| {cell} | {hidden} | {batch} | {' | '.join(cells)} | {ratio:.2f}x | {sqnr:.1f} |", flush=True)


if __name__ == "__main__":
    main()
