#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the accuracy of `minnow quantize` with that of ONNX Runtime, NNCF and MNN, with the same calibration data.

  PYTHONPATH=build/release/python build/venv/bin/python bench/quantization.py [NAME...] [--methods mse,kl+equalize,reconstruct]
      [--theirs MinMax,Entropy,Percentile] [--peers nncf-mixed,mnn-kl] [--peers-python PYTHON] [--pictures N] [--cells FILE] [--page FILE]

Models are trained ones of the corpus and of build/models. Calibration data are `--pictures` of data/imagenet_224 (or data/cifar10_test.npz), spread over
all of them; all others are evaluation data. A method may have further options of `minnow quantize`: `mse+max-drop=3` searches for layers to leave in f32,
by the calibration data alone. ONNX Runtime quantizes the graph that `minnow convert` writes, into
QuantizeLinear and DequantizeLinear, with u8 activations and i8 weights of one scale for each channel. NNCF and MNN are those of PYTHON
(bench/quantize_peers.py). ONNX Runtime runs Minnow's and its own models as they are written, in f32 with rounding: without optimizations, because its
integer kernels overflow on processors without VNNI. `reconstruct` is minnow.compress.reconstruct.

SQNR is that of the worst output, against the f32 model. Agreement: samples with the same best class, for classifiers. Top-1 where the pictures have the
classes of the model as labels.
"""
import argparse
import csv
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
#: Models whose classes are the labels of their pictures: the number of label 0.
FIRST_CLASS = {"mlperf_resnet8_float": 0, "support_mobilenet_v1_025_224_float": 1}


def model_files(name, kind, corpus, models):
    for folder in (models / kind / name, corpus / kind / name):
        found = [path for path in (folder.rglob("*") if folder.is_dir() else ()) if path.suffix in (".onnx", ".tflite", ".caffemodel")]
        if found:
            return [*folder.rglob("*.prototxt"), *found[:1]]
    raise FileNotFoundError(f"{name} is in neither {models} nor {corpus}")


def samples(name, shape, corpus, count):
    """Calibration and evaluation data, one array each, and the classes of the latter (None if unknown). `shape`: of the input, unknown dimensions None."""
    _, mean, scale, color = MODELS[name]

    def parted(x, labels):
        calibrates = np.zeros(len(x), bool)
        calibrates[np.linspace(0, len(x) - 1, count).round().astype(int)] = True
        classes = labels[~calibrates].astype(np.int64) + FIRST_CLASS[name] if name in FIRST_CLASS else None
        return x[calibrates], x[~calibrates], classes

    if color == "cifar":
        with np.load(corpus / "data/cifar10_test.npz") as file:
            return parted(file["images"].astype(np.float32), file["labels"])
    last = len(shape) == 4 and shape[3] in (1, 3)
    height, width = shape[1:3] if last else shape[2:4]
    size = SIZES.get(name, 224)
    height, width = (d if isinstance(d, int) and d > 0 else size for d in (height, width))
    with open(corpus / "data/imagenet_224/labels.csv", encoding="utf-8") as file:
        labels = {row["file"]: int(row["label"]) for row in csv.DictReader(file)}
    made, of_pictures = [], []
    for path in sorted((corpus / "data/imagenet_224").glob("*.jpg")):
        of_pictures.append(labels[path.name])
        picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE if color == "gray" else cv2.IMREAD_COLOR)
        if color == "rgb":
            picture = cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)
        picture = cv2.resize(picture, (width, height)).astype(np.float32).reshape(height, width, -1)
        picture = (picture - np.float32(mean)) * np.float32(scale)
        made.append(picture if last else picture.transpose(2, 0, 1))
    made = np.ascontiguousarray(np.stack(made), np.float32)
    return parted(made, np.array(of_pictures))


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


def top_1(outputs, classes):
    return None if classes is None else float((outputs[0].reshape(len(classes), -1).argmax(1) == classes).mean())


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


class Cells(dict):
    """The cells of each model, in a file if there is a path: what it has is not measured again."""

    def __init__(self, path):
        self.path = path
        super().__init__(json.loads(path.read_text()) if path and path.exists() else {})

    def add(self, model, column, cell):
        self.setdefault(model, {})[column] = cell
        if self.path:
            self.path.write_text(json.dumps(self))


def measure(name, arguments, folder, cells):
    """Adds the columns that `cells` lacks, and returns those of the model and how many samples evaluate."""
    model = f"{name}, {arguments.pictures} pictures"
    kind = MODELS[name][0]
    source = folder / f"{name}.onnx"
    subprocess.run([arguments.minnow, "convert", *map(str, model_files(name, kind, arguments.corpus, arguments.models)), source, "--opset", "21"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    f32 = session(source)
    if len(f32.get_inputs()) != 1:
        raise ValueError("the model has several inputs")
    x = f32.get_inputs()[0]
    calibration, evaluation, classes = samples(name, x.shape, arguments.corpus, arguments.pictures)
    np.savez(folder / "calibration.npz", **{x.name: calibration})
    np.savez(folder / "evaluation.npz", **{x.name: evaluation})
    wanted = answers(f32, x.name, evaluation)
    cells.add(model, "f32", (None, None, top_1(wanted, classes), 0, source.stat().st_size))
    results = cells[model]

    def judged(got, seconds, size):
        return *quality(wanted, got), top_1(got, classes), seconds, size

    for method in arguments.methods:
        if f"Minnow {method}" in results:
            continue
        out = folder / f"{name}-{method}.onnx"
        start = time.monotonic()
        if method == "reconstruct":
            import minnow
            minnow.compress.reconstruct(source, out, calibration)
            cells.add(model, "Minnow reconstruct", judged(answers(session(out), x.name, evaluation), time.monotonic() - start, out.stat().st_size))
            continue
        options = method.split("+")
        extra = [part for option in options[1:] for part in (f"--{option.partition('=')[0]}", option.partition("=")[2] or "true")]
        done = subprocess.run([arguments.minnow, "quantize", source, out, "--calibration", folder / "calibration.npz", "--portable", "false", "--json", "--evaluate", "1", "--method",
                               options[0], *extra], capture_output=True, text=True)
        if done.returncode not in (0, 1):  # 1: the model was written, and misses an aim
            raise RuntimeError(done.stderr.strip())
        seconds = time.monotonic() - start
        cells.add(model, f"Minnow {method}", judged(answers(session(out), x.name, evaluation), seconds, json.loads(done.stdout)["file_bytes"]))
    for method in arguments.theirs:
        if f"ONNX Runtime {method}" in results:
            continue
        out = folder / f"{name}-ort-{method}.onnx"
        start = time.monotonic()
        try:
            quantize_static(str(source), str(out), Reader(x.name, calibration), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                            weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod[method])
            cells.add(model, f"ONNX Runtime {method}", judged(answers(session(out), x.name, evaluation), time.monotonic() - start, out.stat().st_size))
        except Exception as error:
            print(f"{name}: ONNX Runtime {method}: {str(error)[:200]}", file=sys.stderr)
            cells.add(model, f"ONNX Runtime {method}", None)
    for peer in arguments.peers:
        if peer in results:
            continue
        start = time.monotonic()
        done = subprocess.run([arguments.peers_python, ROOT / "bench/quantize_peers.py", peer, source, folder / "calibration.npz", folder / "evaluation.npz", folder / "answers.npz"],
                              capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: {peer}: {done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else done.returncode}", file=sys.stderr)
            cells.add(model, peer, None)
            continue
        with np.load(folder / "answers.npz") as file:
            got = [np.float64(file[f"output{k}"]) for k in range(len(file.files) - 1)]
            size = int(file["size"])
        if [value.shape for value in got] != [value.shape for value in wanted]:
            print(f"{name}: {peer}: outputs of the shapes {[value.shape for value in got]}", file=sys.stderr)
            cells.add(model, peer, None)
            continue
        cells.add(model, peer, judged(got, time.monotonic() - start, size))
    return results, len(evaluation)


def cell(result):
    if result is None:
        return "fails"
    sqnr, same, right, _, _ = result
    parts = [f"{sqnr:.1f}"] if sqnr is not None else []
    parts += [f"{100 * same:.1f} %"] if same is not None else []
    parts += [f"top-1 {100 * right:.1f} %"] if right is not None else []
    return ", ".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--methods", default="mse,mse+rounding=gptq,mse+max-drop=3", type=lambda text: text.split(",") if text else [])
    parser.add_argument("--theirs", default="MinMax,Entropy,Percentile", type=lambda text: text.split(",") if text else [])
    parser.add_argument("--peers", default="", type=lambda text: text.split(",") if text else [], help="of bench/quantize_peers.py")
    parser.add_argument("--peers-python", default=str(ROOT / "build/venv-bench/bin/python"), help="a Python with nncf, openvino, MNN and onnx")
    parser.add_argument("--pictures", type=int, default=65, help="that calibrate; all others evaluate")
    parser.add_argument("--corpus", type=Path, default=Path(os.environ.get("MINNOW_CORPUS", ROOT.parent / "shared/corpus")))
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("MINNOW_MODELS_DIR", ROOT / "build/models")))
    parser.add_argument("--minnow", default=str(ROOT / "build/release/bin/minnow"), help="the command")
    parser.add_argument("--cells", type=Path, help="a JSON file that keeps the cells of each call; what it has is not measured again")
    parser.add_argument("--page", type=Path, help="a file for the table")
    parser.add_argument("--table", default="table", help="which of the page: it stands between <!-- TABLE --> and <!-- end of TABLE -->")
    arguments = parser.parse_args()
    columns = ["f32", *(f"Minnow {each}" for each in arguments.methods), *(f"ONNX Runtime {each}" for each in arguments.theirs), *arguments.peers]
    cells = Cells(arguments.cells)
    lines = ["| model | evaluated | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    print("\n".join(lines), flush=True)
    seconds = dict.fromkeys(columns, 0.0)
    failed = 0
    for name in arguments.names or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results, count = measure(name, arguments, Path(folder), cells)
            except Exception as error:  # the other models are wanted all the same; the status tells
                failed += 1
                print(f"{name}: {error} {getattr(error, 'stderr', '')}", file=sys.stderr)
                continue
        for key in columns:
            seconds[key] += results[key][3] if results[key] else 0
        lines.append(f"| {name} | {count} | " + " | ".join(cell(results[each]) for each in columns) + " |")
        print(lines[-1], flush=True)
    lines.append("| seconds, all models | | " + " | ".join(f"{seconds[each]:.0f}" for each in columns) + " |")
    print(lines[-1])
    if arguments.page:
        begin, end = f"<!-- {arguments.table} -->\n", f"<!-- end of {arguments.table} -->"
        text = arguments.page.read_text() if arguments.page.exists() else begin + end + "\n"
        before, rest = text.split(begin, 1)
        arguments.page.write_text(before + begin + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
