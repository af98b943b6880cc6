#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times encoders of transformers in f32 and in int8: Minnow, ONNX Runtime and OpenVINO.

  python3 bench/quantized_transformers.py [--minnow build/release/bin/minnow] [--rounds N] [--tokens 128 512] [--threads N]

The encoder has six layers, 512 wide, with 8 heads and random weights (bench/networks.py); samples are normally distributed. `minnow quantize`
makes the int8 form: a .minnow file, once with all products in integers and once with attention in f32 (--skip), and an .onnx file, which the
others run. "static" is a file of ONNX Runtime's own quantize_static, which quantizes scores and weights of attention as well. Times are least
milliseconds of a run; engines take turns within each round. The SQNR compares with the f32 result. onnx, onnxruntime and openvino have to be
installed.
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
import openvino
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

import networks
from quantized_recurrences import least

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEADS = 512, 8


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-500:])
    return done.stdout


class Samples(CalibrationDataReader):
    def __init__(self, samples):
        self.left = list(samples)

    def get_next(self):
        return {"data": self.left.pop()} if self.left else None


def sqnr(wanted, got):
    return 10 * np.log10(np.sum(np.square(wanted, dtype=np.float64)) / np.sum(np.square(wanted - got, dtype=np.float64)))


def onnxruntime_run(path, threads, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"data": x})[0]


def openvino_run(path, threads, x):
    core = openvino.Core()
    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(path), "CPU", hints).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x))

    def run():
        request.infer()
        return request.get_output_tensor().data
    return run


def measure(arguments, folder, tokens):
    source, samples = folder / f"encoder{tokens}.onnx", folder / f"samples{tokens}.npy"
    builder = networks.Builder("encoder")
    onnx.save(builder.model(networks.encoder(builder, WIDTH, HEADS, tokens)), source)
    x = np.random.default_rng(1).standard_normal((arguments.samples, 1, tokens, WIDTH)).astype(np.float32)
    np.save(samples, x)
    files = {name: folder / f"{tokens}-{name}" for name in ("f32.minnow", "int8.minnow", "layers.minnow", "int8.onnx", "static.onnx")}
    call(arguments.minnow, "convert", source, files["f32.minnow"])
    reports = {name: json.loads(call(arguments.minnow, "quantize", source, files[name], "--calibration", samples, "--json", *more))
               for name, more in (("int8.minnow", []), ("layers.minnow", ["--skip", "Attention"]), ("int8.onnx", []))}
    quantize_static(source, files["static.onnx"], Samples(x), quant_format=QuantFormat.QDQ, per_channel=True)
    runs = {}
    for title, name in (("Minnow f32", "f32.minnow"), ("Minnow int8", "int8.minnow"), ("Minnow int8, attention f32", "layers.minnow")):
        runs[title] = lambda path=files[name]: json.loads(
            call(arguments.minnow, "bench", path, "-t", arguments.threads, "-n", arguments.seconds, "--json"))["min_ms"]
    decibels = {"Minnow int8": reports["int8.minnow"]["outputs"][0]["sqnr_db"],
                "Minnow int8, attention f32": reports["layers.minnow"]["outputs"][0]["sqnr_db"]}
    wanted = onnxruntime_run(source, arguments.threads, x[0])()
    for title, make, path in (("ONNX Runtime f32", onnxruntime_run, source), ("ONNX Runtime int8", onnxruntime_run, files["int8.onnx"]),
                              ("ONNX Runtime int8, static", onnxruntime_run, files["static.onnx"]), ("OpenVINO f32", openvino_run, source),
                              ("OpenVINO int8", openvino_run, files["int8.onnx"]), ("OpenVINO int8, static", openvino_run, files["static.onnx"])):
        run = make(path, arguments.threads, x[0])
        decibels[title] = sqnr(wanted, run())
        runs[title] = lambda run=run: least(run, arguments.seconds)
    times = {title: [] for title in runs}
    for _ in range(arguments.rounds):
        for title, run in runs.items():
            times[title].append(run())
    return {title: min(each) for title, each in times.items()}, decibels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 512])
    arguments = parser.parse_args()
    print("| tokens | engine | ms | of Minnow f32 | SQNR dB |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for tokens in arguments.tokens:
            best, decibels = measure(arguments, Path(folder), tokens)
            for title, ms in best.items():
                decibel = decibels.get(title)
                precise = decibel is None or "f32" in title.split(",")[0]
                print(f"| {tokens} | {title} | {ms:.2f} | {best['Minnow f32'] / ms:.2f}x | {'' if precise else f'{decibel:.1f}'} |", flush=True)


if __name__ == "__main__":
    main()
