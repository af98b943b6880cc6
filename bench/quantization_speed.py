#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times models in f32 and in int8, one beside the other, and int8 in OpenVINO and ONNX Runtime.

  python3 bench/quantization_speed.py [NAME...] [--minnow build/release/bin/minnow] [--peers PYTHON] [--rounds N] [--threads N] [--page FILE]

Models are those of bench/quantization.py and of bench/networks.py. `minnow quantize --data-free` makes the int8 form: a .minnow file for Minnow, and the
same with QuantizeLinear and DequantizeLinear in ONNX, in the form that others know, for the others. Speed does not depend on the ranges. PYTHON is one that has openvino and onnxruntime;
without it Minnow is timed alone. Engines take turns within each round; the table has minima, and ratios of minima. The page keeps a table for each
number of threads: `--threads 2 --page FILE` writes that of two, in a section that it adds if there is none.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from record import machine

ROOT = Path(__file__).resolve().parent.parent
TRAINED = {
    "mlperf_resnet8_float": "tflite", "support_mobilenet_v1_025_224_float": "tflite", "pplcnet_orientation": "onnx",
    "open_nsfw_resnet50": "onnx", "fer_mini_xception": "tflite", "ppocr_v4_det": "onnx", "nudenet_320n": "onnx", "ddddocr_det": "onnx",
    "mp_face_detection_short": "tflite", "mp_face_landmark": "tflite", "mp_hand_landmark_lite": "tflite", "mp_palm_detection_full": "tflite",
    "mp_pose_detection": "tflite", "mp_selfie_segmentation": "tflite", "ultraface_rfb_320": "caffe",
}
OPEN = {"ppocr_v4_det": ("x", 224), "nudenet_320n": ("images", 320)}  # inputs with open sizes
NETWORKS = ("mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "squeezenet_1_1", "resnet_18", "resnet_50", "shufflenet_v2", "efficientnet_b0")
# Run by PYTHON with the engine, the file, the threads, the seconds and the size of open dimensions; prints the least milliseconds.
PEER = """
import sys, time, numpy as np
engine, path, threads, seconds, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
def dims(shape): return [d if isinstance(d, int) and d > 0 else (1 if i == 0 else size) for i, d in enumerate(shape)]
if engine == "openvino":
    import openvino
    core = openvino.Core()
    model = core.read_model(path)
    shape = dims([d.get_length() if d.is_static else 0 for d in model.input(0).partial_shape])
    model.reshape(shape)
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}).create_infer_request()
    request.set_input_tensor(openvino.Tensor(np.random.rand(*shape).astype(np.float32)))
    run = request.infer
else:
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    x = session.get_inputs()[0]
    feed = {x.name: np.random.rand(*dims(x.shape)).astype(np.float32)}
    run = lambda: session.run(None, feed)
best, end = 1e9, time.perf_counter() + seconds
while time.perf_counter() < end:
    start = time.perf_counter()
    run()
    best = min(best, time.perf_counter() - start)
print(best * 1000)
"""


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-300:])
    return done.stdout


def source_of(name, arguments, folder):
    if name in NETWORKS:
        call(sys.executable, ROOT / "bench/networks.py", folder, name)
        return [folder / f"{name}.onnx"]
    for base in (arguments.models / TRAINED[name] / name, arguments.corpus / TRAINED[name] / name):
        found = [path for path in (base.rglob("*") if base.is_dir() else ()) if path.suffix in (".onnx", ".tflite", ".caffemodel")]
        if found:
            return [*base.rglob("*.prototxt"), *found[:1]]
    raise FileNotFoundError(name)


def measure(name, arguments, folder):
    f32, int8 = folder / f"{name}.f32.onnx", folder / f"{name}.int8.onnx"
    call(arguments.minnow, "convert", *source_of(name, arguments, folder), f32, "--opset", 21)
    calibration = ["--data-free", "--samples", 2]
    size, shape = 1, []
    if name in OPEN:
        entry, size = OPEN[name]
        np.savez(folder / f"{name}.npz", **{entry: np.random.default_rng(1).random((2, 3, size, size), np.float32)})
        calibration, shape = ["--calibration", folder / f"{name}.npz"], ["--shape", f"1x3x{size}x{size}"]
    for out in (int8, int8.with_suffix(".minnow")):
        call(arguments.minnow, "quantize", f32, out, *calibration, "--method", "minmax", "--weights", "minmax", "--evaluate", 1)
    call(arguments.minnow, "convert", f32, f32.with_suffix(".minnow"))
    runs = {}
    for form, path in (("Minnow f32", f32), ("Minnow int8", int8)):
        runs[form] = lambda path=path.with_suffix(".minnow"): json.loads(
            call(arguments.minnow, "bench", path, "-t", arguments.threads, "-n", arguments.seconds, "--json", *shape))["min_ms"]
    for engine, title in (("openvino", "OpenVINO int8"), ("onnxruntime", "ONNX Runtime int8")) if arguments.peers else ():
        runs[title] = lambda engine=engine: float(call(arguments.peers, "-c", PEER, engine, int8, arguments.threads, arguments.seconds, size))
    times = {title: [] for title in runs}
    for _ in range(arguments.rounds):
        for title, run in runs.items():
            try:
                times[title].append(run())
            except RuntimeError as error:
                print(f"{name}: {title}: {error}", file=sys.stderr)
    return {title: min(each) for title, each in times.items() if each}


def write_page(page, threads, lines, peers):
    """Replaces the table of so many threads; one that is not there yet goes behind the first."""
    text = page.read_text()
    begin, end = ("<!-- table -->\n", "<!-- end -->") if threads == 1 else (f"<!-- {threads} threads -->\n", f"<!-- end of {threads} threads -->")
    if begin not in text:
        command = f"bench/quantization_speed.py --threads {threads}{' --peers PYTHON' if peers else ''} --page docs/results/quantization-speed.md"
        section = (f"\n\n## {threads} threads\n\nThe same with {threads} threads. {machine()}, {time.strftime('%Y-%m-%d')}:\n\n"
                   f"```sh no-test\nbuild/venv/bin/python {command}\n```\n\n{begin}{end}")
        before, mark, after = text.partition("<!-- end -->")
        text = before + mark + section + after
    head, _, rest = text.partition(begin)
    page.write_text(head + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--corpus", type=Path, default=ROOT / "../shared/corpus")
    parser.add_argument("--models", type=Path, default=ROOT / "build/models")
    parser.add_argument("--peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    titles = ["Minnow f32", "Minnow int8", *(["OpenVINO int8", "ONNX Runtime int8"] if arguments.peers else [])]
    lines = [f"| model | {' | '.join(titles)} | int8 of f32 |", "|---" * (len(titles) + 2) + "|"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or (*TRAINED, *NETWORKS):
            try:
                best = measure(name, arguments, Path(folder))
            except (RuntimeError, FileNotFoundError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            cells = [f"{best[title]:.3f}" if title in best else "fails" for title in titles]
            lines.append(f"| {name} | {' | '.join(cells)} | {best['Minnow f32'] / best['Minnow int8']:.2f}x |")
            print(lines[-1], flush=True)
    if arguments.page:
        write_page(arguments.page, arguments.threads, lines, arguments.peers)


if __name__ == "__main__":
    main()
