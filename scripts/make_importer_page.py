#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/importers.md from the importers' tables: make_importer_page.py build/release/bin/minnow [--check]
With --check nothing is written; the exit status says whether the page is up to date."""
import json
import subprocess

import generated_page

FORMATS = {"onnx": "ONNX", "tflite": "TFLite", "caffe": "Caffe", "tensorflow": "TensorFlow", "mnn": "MNN", "torchscript": "TorchScript"}


def page(minnow):
    lines = ["# Operators of foreign formats", "",
             "Made by `scripts/make_importer_page.py` from the importers' tables (`minnow ops --importer NAME`). An operator that is not here makes",
             "`minnow convert` fail with the names of all such operators and their nodes. Most of ONNX's operators are Minnow's own, of any operator set",
             "from 1 to 28: `operators.md`."]
    for name, title in FORMATS.items():
        rows = json.loads(subprocess.run([minnow, "ops", "--importer", name, "--json"], check=True, capture_output=True, text=True).stdout)["operators"]
        lines += ["", f"## {title}: {len(rows)} operators", "", "| operator | notes |", "|---|---|"]
        lines += [f"| {row['operator']} | {row['notes']} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    generated_page.main("importers.md", page, __doc__)
