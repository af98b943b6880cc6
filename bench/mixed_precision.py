#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the choices of `minnow quantize --auto` with models that have one precision throughout.

  build/venv/bin/python bench/mixed_precision.py [NAME...] [--samples N] [--evaluate N] [--page docs/results/mixed-precision.md]

Models, pictures and their preparation are those of bench/quantization.py; `--samples` pictures calibrate, `--evaluate` others judge. One precision
throughout: weights of 4 bits and of 8 bits with activations of 8 bits, as `minnow quantize` rounds them by default, and f16 as `minnow convert
--weights f16` stores it. For each, the table has the closest of the choices that one search tried whose size, which is estimated, is at most as large.
SQNR is that of the worst output, agreement the samples with the same best class.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import quantization
from record import machine

#: Trained models of different kinds that take less than a minute of processor time each.
NAMES = ("mlperf_resnet8_float", "support_mobilenet_v1_025_224_float", "pplcnet_orientation", "fer_mini_xception", "mp_face_detection_short", "mp_face_landmark",
         "mp_hand_landmark_lite", "mp_selfie_segmentation", "ultraface_rfb_320", "mp_palm_detection_full")
UNIFORM = {"int4": ["--weight-bits", "4"], "int8": []}
ESTIMATE = 1.005  # sizes of choices are estimated: they may be so much larger

PAGE = """# Mixed precision beside one precision

`minnow quantize --auto` chooses for each layer weights of 4 or 8 bits with activations of 8 bits, or f32 with weights stored as f16
([how](../compression.md#mixed-precision)). Each row compares a model of one precision throughout with the closest choice of one search whose file has the same size or less. Each cell has the size of the file in kB, the SQNR of the worst output in decibels and, for classifiers, the part of the samples
with the same best class. "minutes" is the processor time of the search, calibration included. Choices are judged by the pictures of the table. Models whose
files have f16 weights are "exact" with layers in f32.

"""


def call(minnow, *arguments):
    """The printed JSON and the seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in (minnow, *arguments)], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError((done.stdout + done.stderr)[-300:])
    return json.loads(done.stdout or "{}"), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def judged(report):
    """Size in bytes, SQNR of the worst output, agreement of the worst one; None where there is none."""
    outputs = report["outputs"]
    agreements = [each["agreement"] for each in outputs if "agreement" in each]
    return report["file_bytes"], min(999.0 if each["sqnr_db"] is None else each["sqnr_db"] for each in outputs), min(agreements, default=None)


def cell(result):
    size, sqnr, same = result
    return f"{size / 1000:.0f} kB, " + (f"{sqnr:.1f} dB" if sqnr < 999 else "exact") + (f", {100 * same:.1f} %" if same is not None else "")


def measure(name, arguments, folder):
    source = folder / f"{name}.onnx"
    kind = quantization.MODELS[name][0]
    call(arguments.minnow, "convert", *quantization.model_files(name, kind, arguments.corpus, arguments.models), source, "--opset", 21, "--json")
    f32 = quantization.session(source)
    x = f32.get_inputs()[0]
    data = {}
    data["calibration"], data["evaluation"], _ = quantization.samples(name, x.shape, arguments.corpus, arguments.samples)
    data["evaluation"] = data["evaluation"][:arguments.evaluate]
    for key, value in data.items():
        np.savez(folder / f"{key}.npz", **{x.name: value})
    given = ["--calibration", folder / "calibration.npz", "--evaluation", folder / "evaluation.npz", "--evaluate", 1, "--json"]
    out = folder / "out.minnow"
    rows = {}
    for title, options in UNIFORM.items():
        report, _ = call(arguments.minnow, "quantize", source, out, *given, *options)
        rows[title] = judged(report)
    call(arguments.minnow, "convert", source, out, "--weights", "f16", "--json")
    import minnow
    half = minnow.load(out)
    wanted = quantization.answers(f32, x.name, data["evaluation"])
    got = [np.concatenate(each) for each in zip(*([np.asarray(value, np.float64) for value in (lambda y: y if isinstance(y, (list, tuple)) else [y])(half(sample[None]))]
                                                 for sample in data["evaluation"]))]
    sqnr, same = quantization.quality(wanted, [value.reshape(like.shape) for value, like in zip(got, wanted)])
    rows["f16"] = out.stat().st_size, sqnr, same
    report, seconds = call(arguments.minnow, "quantize", source, out, *given, "--auto")
    choices = [(each["bytes"], 999.0 if each["sqnr_db"] is None else each["sqnr_db"], each["agreement"]) for each in report["candidates"]]
    lines = []
    for title, uniform in rows.items():
        mixed = max((each for each in choices if each[0] <= uniform[0] * ESTIMATE), key=lambda each: each[1], default=None)
        verdict = "yes" if mixed and mixed[1] >= uniform[1] - 0.05 else "no"
        lines.append(f"| {name} | {title} | {cell(uniform)} | {cell(mixed) if mixed else '-'} | {verdict} | {seconds / 60:.1f} |")
        print(lines[-1], flush=True)
    return lines


def write_page(arguments, lines):
    command = " ".join(["build/venv/bin/python bench/mixed_precision.py", *arguments.names, f"--samples {arguments.samples} --evaluate {arguments.evaluate}",
                        f"--page {arguments.page}"])
    arguments.page.write_text(f"{PAGE}{machine()}, other work beside, {time.strftime('%Y-%m-%d')}, {arguments.samples} pictures to calibrate, {arguments.evaluate} to judge:\n\n"
                              f"```sh no-test\nPYTHONPATH=build/release/python {command}\n```\n\n" + "\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--samples", type=int, default=32, help="pictures that calibrate")
    parser.add_argument("--evaluate", type=int, default=32, help="pictures that judge")
    parser.add_argument("--corpus", type=Path, default=Path(os.environ.get("MINNOW_CORPUS", quantization.ROOT.parent / "shared/corpus")))
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("MINNOW_MODELS_DIR", quantization.ROOT / "build/models")))
    parser.add_argument("--minnow", default=quantization.ROOT / "build/release/bin/minnow", help="the command")
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    lines = ["| model | one precision | result | choice within that size | as near or nearer | minutes |", "|---|---|---|---|---|---|"]
    failed = 0
    for name in arguments.names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                lines += measure(name, arguments, Path(folder))
            except (RuntimeError, FileNotFoundError, json.JSONDecodeError) as error:
                failed += 1
                print(f"{name}: {error}", file=sys.stderr)
        if arguments.page:  # after each model, so that a run that is stopped leaves what it measured
            write_page(arguments, lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
