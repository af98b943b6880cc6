#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the accuracy of `minnow quantize` with that of ONNX Runtime, NNCF and MNN, with the same calibration data.

  PYTHONPATH=build/release/python build/venv/bin/python bench/quantization.py [NAME...] [--methods mse,kl+equalize,reconstruct]
      [--theirs MinMax,Entropy,Percentile] [--peers nncf-mixed,mnn-kl] [--peers-python PYTHON] [--pictures N] [--page FILE]

Models are trained ones of the corpus and of build/models. Calibration data are the pictures of even numbers of data/imagenet_224 (or
data/cifar10_test.npz), evaluation data those of odd numbers. ONNX Runtime quantizes the graph that `minnow convert` writes, into
QuantizeLinear and DequantizeLinear, with u8 activations and i8 weights of one scale for each channel. NNCF and MNN are those of PYTHON
(bench/quantize_peers.py). ONNX Runtime runs Minnow's and its own models as they are written, in f32 with rounding: without optimizations, because its
integer kernels overflow on processors without VNNI. `reconstruct` is minnow.compress.reconstruct.

SQNR is that of the worst output, against the f32 model. Agreement: samples with the same best class, for classifiers.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

ROOT = Path(__file__).resolve().parent.parent
# name: (path below the corpus and the models, (pixel - mean) * scale, order of colours)
MODELS = {
    "mlperf_resnet8_float": ("tflite", 0, 1, "cifar"),
    "support_mobilenet_v1_025_224_float": ("tflite", 127.5, 1 / 127.5, "rgb"),
    "pplcnet_orientation": ("onnx", (123.675, 116.28, 103.53), (1 / 58.395, 1 / 57.12, 1 / 57.375), "rgb"),
    "open_nsfw_resnet50": ("onnx", (104, 117, 123), 1, "bgr"),
    "fer_mini_xception": ("tflite", 127.5, 1 / 127.5, "gray"),
    "ppocr_v4_det": ("onnx", (123.675, 116.28, 103.53), (1 / 58.395, 1 / 57.12, 1 / 57.375), "bgr"),
    "nudenet_320n": ("onnx", 0, 1 / 255, "rgb"),
    "ddddocr_det": ("onnx", 0, 1, "bgr"),
    "mp_face_detection_short": ("tflite", 127.5, 1 / 127.5, "rgb"),
    "mp_face_landmark": ("tflite", 0, 1 / 255, "rgb"),
    "mp_hand_landmark_lite": ("tflite", 0, 1 / 255, "rgb"),
    "mp_palm_detection_full": ("tflite", 0, 1 / 255, "rgb"),
    "mp_pose_detection": ("tflite", 127.5, 1 / 127.5, "rgb"),
    "mp_selfie_segmentation": ("tflite", 0, 1 / 255, "rgb"),
    "ultraface_rfb_320": ("caffe", 127, 1 / 128, "rgb"),
}
SIZES = {"ppocr_v4_det": 224}


def model_files(name, kind, corpus, models):
    for folder in (models / kind / name, corpus / kind / name):
        found = [path for path in (folder.rglob("*") if folder.is_dir() else ()) if path.suffix in (".onnx", ".tflite", ".caffemodel")]
        if found:
            return [*folder.rglob("*.prototxt"), *found[:1]]
    raise FileNotFoundError(f"{name} is in neither {models} nor {corpus}")


def samples(name, shape, corpus, count):
    """Calibration and evaluation data, one array each. `shape`: of the input, unknown dimensions None."""
    _, mean, scale, color = MODELS[name]
    if color == "cifar":
        x = np.load(corpus / "data/cifar10_test.npz")["images"].astype(np.float32)
        return x[0::2][:count], x[1::2]
    last = len(shape) == 4 and shape[3] in (1, 3)
    height, width = shape[1:3] if last else shape[2:4]
    size = SIZES.get(name, 224)
    height, width = (d if isinstance(d, int) and d > 0 else size for d in (height, width))
    made = []
    for path in sorted((corpus / "data/imagenet_224").glob("*.jpg")):
        picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE if color == "gray" else cv2.IMREAD_COLOR)
        if color == "rgb":
            picture = cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)
        picture = cv2.resize(picture, (width, height)).astype(np.float32).reshape(height, width, -1)
        picture = (picture - np.float32(mean)) * np.float32(scale)
        made.append(picture if last else picture.transpose(2, 0, 1))
    made = np.ascontiguousarray(np.stack(made), np.float32)
    return made[0::2][:count], made[1::2][:count]


class Reader(CalibrationDataReader):
    def __init__(self, name, data):
        self.items = iter([{name: each[None]} for each in data])

    def get_next(self):
        return next(self.items, None)


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options)


def answers(run, name, data):
    rows = [run.run(None, {name: each[None]}) for each in data]
    return [np.stack([np.float64(row[k]) for row in rows]) for k in range(len(rows[0])) if rows[0][k].dtype == np.float32]


def quality(wanted, got):
    """SQNR of the worst output in decibels, and the part of samples with the same best class of the first (None if it is no classifier)."""
    noise = []
    for a, b in zip(wanted, got):
        error = np.square(a - b).sum()
        noise.append(10 * np.log10(np.square(a).sum() / error) if error > 0 else np.inf)
    rows = wanted[0].reshape(len(wanted[0]), -1)
    same = None
    if max(wanted[0].shape[1:]) == rows.shape[1] > 1 and rows.shape[1] <= 2000:
        same = float((rows.argmax(1) == got[0].reshape(len(rows), -1).argmax(1)).mean())
    return min(noise), same


def measure(name, arguments, folder):
    kind = MODELS[name][0]
    source = folder / f"{name}.onnx"
    subprocess.run([arguments.minnow, "convert", *map(str, model_files(name, kind, arguments.corpus, arguments.models)), source, "--opset", "21"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    f32 = session(source)
    if len(f32.get_inputs()) != 1:
        raise ValueError("the model has several inputs")
    x = f32.get_inputs()[0]
    calibration, evaluation = samples(name, x.shape, arguments.corpus, arguments.pictures)
    np.savez(folder / "calibration.npz", **{x.name: calibration})
    np.savez(folder / "evaluation.npz", **{x.name: evaluation})
    wanted = answers(f32, x.name, evaluation)
    results = {}
    for method in arguments.methods:
        out = folder / f"{name}-{method}.onnx"
        start = time.monotonic()
        if method == "reconstruct":
            import minnow
            minnow.compress.reconstruct(source, out, calibration)
            results["Minnow reconstruct"] = (*quality(wanted, answers(session(out), x.name, evaluation)), time.monotonic() - start, out.stat().st_size)
            continue
        options = method.split("+")
        extra = [part for option in options[1:] for part in (f"--{option.partition('=')[0]}", option.partition("=")[2] or "true")]
        done = subprocess.run([arguments.minnow, "quantize", source, out, "--calibration", folder / "calibration.npz", "--portable", "false", "--json", "--evaluate", "1", "--method",
                               options[0], *extra], check=True, capture_output=True, text=True)
        seconds = time.monotonic() - start
        results[f"Minnow {method}"] = (*quality(wanted, answers(session(out), x.name, evaluation)), seconds, json.loads(done.stdout)["file_bytes"])
    for method in arguments.theirs:
        out = folder / f"{name}-ort-{method}.onnx"
        start = time.monotonic()
        try:
            quantize_static(str(source), str(out), Reader(x.name, calibration), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                            weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod[method])
            results[f"ONNX Runtime {method}"] = (*quality(wanted, answers(session(out), x.name, evaluation)), time.monotonic() - start, out.stat().st_size)
        except Exception as error:
            print(f"{name}: ONNX Runtime {method}: {str(error)[:200]}", file=sys.stderr)
            results[f"ONNX Runtime {method}"] = None
    for peer in arguments.peers:
        start = time.monotonic()
        done = subprocess.run([arguments.peers_python, ROOT / "bench/quantize_peers.py", peer, source, folder / "calibration.npz", folder / "evaluation.npz", folder / "answers.npz"],
                              capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: {peer}: {done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else done.returncode}", file=sys.stderr)
            results[peer] = None
            continue
        with np.load(folder / "answers.npz") as file:
            got = [np.float64(file[f"output{k}"]) for k in range(len(file.files) - 1)]
            size = int(file["size"])
        if [value.shape for value in got] != [value.shape for value in wanted]:
            print(f"{name}: {peer}: outputs of the shapes {[value.shape for value in got]}", file=sys.stderr)
            results[peer] = None
            continue
        results[peer] = (*quality(wanted, got), time.monotonic() - start, size)
    return results, len(evaluation)


def cell(result):
    if result is None:
        return "fails"
    sqnr, same, _, _ = result
    return f"{sqnr:.1f}" + (f", {100 * same:.1f} %" if same is not None else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--methods", default="mse,percentile,mse+rounding=adaround", type=lambda text: text.split(","))
    parser.add_argument("--theirs", default="MinMax,Entropy,Percentile", type=lambda text: text.split(",") if text else [])
    parser.add_argument("--peers", default="", type=lambda text: text.split(",") if text else [], help="of bench/quantize_peers.py")
    parser.add_argument("--peers-python", default=str(ROOT / "build/venv-bench/bin/python"), help="a Python with nncf, openvino, MNN and onnx")
    parser.add_argument("--pictures", type=int, default=32)
    parser.add_argument("--corpus", type=Path, default=Path(os.environ.get("MINNOW_CORPUS", ROOT.parent / "shared/corpus")))
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("MINNOW_MODELS_DIR", ROOT / "build/models")))
    parser.add_argument("--minnow", default=str(ROOT / "build/release/bin/minnow"), help="the command")
    parser.add_argument("--page", type=Path, help="a file for the table")
    arguments = parser.parse_args()
    columns = [*(f"Minnow {each}" for each in arguments.methods), *(f"ONNX Runtime {each}" for each in arguments.theirs), *arguments.peers]
    lines = ["| model | evaluated | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    print("\n".join(lines), flush=True)
    seconds = dict.fromkeys(columns, 0.0)
    failed = 0
    for name in arguments.names or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results, count = measure(name, arguments, Path(folder))
            except Exception as error:  # the other models are wanted all the same; the status tells
                failed += 1
                print(f"{name}: {error} {getattr(error, 'stderr', '')}", file=sys.stderr)
                continue
        for key, result in results.items():
            seconds[key] += result[2] if result else 0
        lines.append(f"| {name} | {count} | " + " | ".join(cell(results[each]) for each in columns) + " |")
        print(lines[-1], flush=True)
    lines.append("| seconds, all models | | " + " | ".join(f"{seconds[each]:.0f}" for each in columns) + " |")
    print(lines[-1])
    if arguments.page:
        text = arguments.page.read_text() if arguments.page.exists() else "<!-- table -->\n<!-- end -->\n"
        before, rest = text.split("<!-- table -->\n", 1)
        arguments.page.write_text(before + "<!-- table -->\n" + "\n".join(lines) + "\n<!-- end -->" + rest.split("<!-- end -->", 1)[1])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
