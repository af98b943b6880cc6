#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/operators.md from the operators' own definitions: make_operator_page.py build/release/bin/minnow [--check]
With --check nothing is written; the exit status says whether the page is up to date."""
import json
import re
import subprocess
from pathlib import Path

import generated_page

_TEST = Path(__file__).resolve().parent.parent / "tests/express/operator_gradients_test.cpp"
_REASON = re.compile(r'^    \{"([\w.]+)", "([^"]+)"\},$', re.MULTILINE)  # a row of kWithoutGradient


def page(minnow):
    operators = json.loads(subprocess.run([minnow, "ops", "--json"], check=True, capture_output=True, text=True).stdout)["operators"]
    kinds = [op["gradient"] for op in operators]
    lines = ["# Operators", "",
             f"Made by `scripts/make_operator_page.py` from the definitions in `src/ops/`: {len(operators)} operators. \"Since\" is the opset of",
             "ai.onnx in which the operator took this form; importers rewrite older forms into it. \"CPU\" names the schemes of the cpu backend;",
             "where none takes a node, its decomposition or its reference serves.", "",
             f"{len(kinds) - kinds.count('')} operators have a gradient: {kinds.count('rule')} by a rule, {kinds.count('parts')} through their decomposition, {kinds.count('moved')} by",
             f"where elements are moved from, {kinds.count('tensors')} through the tensors of their sequences and optionals. The others compute with integers, truth values or",
             "random numbers, or are [below](#without-a-gradient).", "",
             "| operator | since | dtypes of the first input | CPU | gradient | meaning |", "|---|---|---|---|---|---|"]
    for op in operators:
        schemes = list(dict.fromkeys(s for s in op["schemes"] if s not in ("reference", "decomposition")))
        doc = " ".join(op["doc"].split()).replace("|", "\\|")
        dtypes = " ".join(op["dtypes"]) if len(op["dtypes"]) < 20 else "all"
        lines.append(f"| {op['operator']} | {op['since_opset']} | {dtypes} | {', '.join(schemes)} | {op['gradient']} | {doc} |")
    lines += ["", "## Without a gradient", "", "Operators that take floats. `tests/express/operator_gradients_test.cpp` checks that none is missing.", "", "| operator | reason |", "|---|---|"]
    without = {op["operator"] for op in operators if not op["gradient"]}
    lines += [f"| {name} | {reason} |" for name, reason in _REASON.findall(_TEST.read_text()) if name in without]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    generated_page.main("operators.md", page, __doc__)
