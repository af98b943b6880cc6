#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/results/device-operators.md from the tables in src/backends/gpu/schemes/: make_device_page.py build/release/bin/minnow [--check]
With --check nothing is written; the exit status says whether the page is up to date."""
import json
import re
import subprocess
from pathlib import Path

import generated_page

SCHEMES = Path(__file__).resolve().parent.parent / "src/backends/gpu/schemes"
# Reasons that no device but NVIDIA's is free of.
CUDA_ONLY = ("the device has no packed layout", "the device has no tensor cores", "the device has no wgmma")
NAMES = {"kFusedElementwise": "minnow.FusedElementwise"}
# Said once for all kernels, or in other words.
SHARED = {"estimate_of": [], "refusal": [], "refusal_to_move": [], "refusal_of_reals": ["an input is not f32, f16 or bf16"]}
PLANNER = ("kReorder", "kTransfer")  # which the planner inserts


class File:
    def __init__(self, path):
        self.text = path.read_text()
        self.functions = {}  # by name, the bodies: overloads are one
        for found in re.finditer(r"^(?!#)\w[^\n;]*?\b([\w:]+)\([^;{}]*\)[^;{}=]*\{\n(.*?)^\}", self.text, re.M | re.S):
            self.functions[found[1]] = self.functions.get(found[1], "") + found[2]
        self.rows = []
        macros = {m[1]: m[2].replace("\\", " ") for m in re.finditer(r"#define (MINNOW_\w+)\(op\)((?:[^\n]*\\\n)*[^\n]*)", self.text)}
        for table in re.findall(r"^constexpr Scheme kSchemes\[\] = \{(.*?)\};$", self.text, re.M | re.S):
            expanded = re.sub(r"(MINNOW_\w+)\(([^)]*)\)", lambda use: re.sub(r"\bop\b", use[2], macros[use[1]]), table)
            for op, scheme, estimate in re.findall(r"\{\s*([\"\w.]+),\s*\"([^\"]+)\",\s*(\w+)", expanded):
                if op not in PLANNER:
                    self.rows.append((NAMES.get(op, op.strip('"')), scheme, estimate))


def reasons(files, file, function, seen):
    """The sentences of a function that declines, and of those that it calls for them."""
    if (file, function) in seen:
        return []
    seen.add((file, function))
    body, list_of = files[file].functions[function], []
    pattern = r"(?:declined|unavailable|refuse)\((?:format\()?\"([^\"]+)\"|return (?:format\()?\"([^\"]+)\"|(?<!Estimate )((?:\w+::)?\b(?:refusal\w*|estimate\w*|wgmma_columns))(?:<\w+>)?\("
    for sentence, returned, called in re.findall(pattern, body):
        if called:
            if called in SHARED:
                list_of += SHARED[called]
                continue
            own = called in files[file].functions and (file, called) not in seen  # else that of another file: an overload
            for place in [file] if own else [name for name in files if called in files[name].functions]:
                list_of += reasons(files, place, called, seen)
        elif sentence or not function.startswith("estimate"):
            list_of.append(sentence or returned)
    return [one for one in dict.fromkeys(list_of) if one != "{}"]


def page(minnow):
    operators = json.loads(subprocess.run([minnow, "ops", "--json"], check=True, capture_output=True, text=True).stdout)["operators"]
    files = {path.stem: File(path) for path in sorted(SCHEMES.glob("*.cpp"))}
    kernels, declines = {}, {}
    for name, file in files.items():
        for op, scheme, estimate in file.rows:
            declines.setdefault(scheme, {}).update(dict.fromkeys(reasons(files, name, estimate, set())))
            kernels.setdefault(op, []).append(scheme)
    cuda = {scheme for scheme, why in declines.items() if any(one in why for one in CUDA_ONLY)}
    known = {op["operator"] for op in operators}
    without = [op for op in operators if op["operator"] not in kernels]
    listed = lambda names: ", ".join(dict.fromkeys(names))
    lines = ["# Operators on devices", "",
             "Made by `scripts/make_device_page.py` from the tables in `src/backends/gpu/schemes/`. The backends `cuda`, `opencl`, `vulkan` and `gles` share",
             f"them: {len(known & set(kernels))} operators have a kernel on all four, and some have further kernels on NVIDIA's tensor cores. A session for a device computes an operator",
             "there if one of its kernels takes the node. Else the operator's decomposition may run there, and what is left runs on the processor.",
             "`minnow inspect MODEL --plan --backend NAME` shows the reason for each node.", "",
             "| operator | kernels on all devices | with CUDA too |", "|---|---|---|"]
    for op in sorted(kernels, key=str.lower):
        own = kernels[op]
        lines.append(f"| {op} | {listed(s for s in own if s not in cuda)} | {listed(s for s in own if s in cuda)} |")
    parts = [op["operator"] for op in without if "decomposition" in op["schemes"]]
    lines += ["", "## Operators without a kernel", "",
              f"{len(parts)} are made of operators that have one, where their parts are taken: {', '.join(parts)}.", "",
              f"{len(without) - len(parts)} run on the processor: {', '.join(op['operator'] for op in without if 'decomposition' not in op['schemes'])}.", "",
              "## Why a kernel declines a node", "",
              "For all kernels: a shape depends on data; a value is not a tensor; a dtype is f64, complex, text or of less than 8 bits; a tensor has more than",
              "2^31 elements; an output is empty; with Vulkan and OpenGL ES, an input or output has more bytes than the device binds at once. `...` stands for what was found.", "",
              "| kernel | declines because |", "|---|---|"]
    for scheme in sorted(declines):
        why = "; ".join(re.sub(r"\{\}", "...", one) for one in declines[scheme])
        lines.append(f"| {scheme} | {why or 'no further reason'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    generated_page.main("results/device-operators.md", page, __doc__)
