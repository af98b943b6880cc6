#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the answers of MNN's wheel to the calls of tests/python/mnn/cases.py, the names in the wheel, and two small models to tests/python/mnn/.

usage: make_mnn_cases.py [--check] [PYTHON]

PYTHON is an interpreter with the packages MNN and numpy. --check writes nothing, and fails if an answer differs from the recorded one.

Every call runs in two processes that fill new memory with different bytes. A call that kills its process is recorded as "crash", a call with two
different answers as "garbage", and a call that raises as "error".
"""
import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "python" / "mnn"

CHILD = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import cases
import MNN, MNN.numpy, MNN.audio
reports = os.fdopen(int(sys.argv[2]), "w")
names = cases.environment(MNN)
for number, (group, text) in enumerate(cases.cases()):
    if number < int(sys.argv[3]):
        continue
    print(json.dumps([number, "begun"]), file=reports, flush=True)
    try:
        found = cases.answer(eval(text, names))
    except Exception as error:
        found = {"error": type(error).__name__}
    print(json.dumps([number, found]), file=reports, flush=True)
"""

MODELS = """
import sys
sys.path.insert(0, sys.argv[1])
import cases
import MNN, MNN.numpy, MNN.audio
cases.environment(MNN)["write_models"]()
"""

NAMES = """
import json, sys
import MNN, MNN.numpy
import importlib
audio = importlib.import_module("MNN.audio")
from MNN import expr, nn
groups = {"expr": expr, "Var": expr.Var, "numpy": MNN.numpy, "numpy.random": MNN.numpy.random, "numpy.linalg": MNN.numpy.linalg, "nn": nn, "nn.loss": nn.loss,
          "nn.compress": nn.compress, "Module": nn.Module, "RuntimeManager": nn.RuntimeManager, "MNN": MNN, "Interpreter": MNN.Interpreter,
          "Session": MNN.Session, "Tensor": MNN.Tensor, "OpInfo": MNN.OpInfo, "CVMatrix": MNN.CVMatrix, "CVImageProcess": MNN.CVImageProcess,
          "audio": audio, "optim": MNN.optim, "data": MNN.data,
          **{name: getattr(expr, name) for name in ("Backend", "MemoryMode", "PowerMode", "PrecisionMode", "dtype", "data_format", "Padding_Mode",
                                                     "PadValue_Mode", "Pooling_Mode", "Interp_Method")}}
kept = {"Module": ("_add_parameter", "_register_submodules")}
implementation = {"audio": ("MNN",), "numpy": ("math",), "expr": ("np",)}
found = {group: [name for name in dir(of) if (name[0] != "_" or name in kept.get(group, ())) and name not in implementation.get(group, ())]
         for group, of in groups.items()}
absent = [name for name in found["numpy"] if getattr(getattr(MNN.numpy, name), "__name__", "") == "__not_impl"]
for name in found["numpy"]:
    function = getattr(MNN.numpy, name)
    if "__not_impl" in getattr(getattr(function, "__code__", None), "co_names", ()) and name not in absent:
        absent.append(name)
print(json.dumps({"version": MNN.version(), "names": found, "not_implemented": sorted(absent)}))
"""


def run(python, perturb):
    sys.path.insert(0, str(FOLDER))
    import cases
    answers = {}
    while len(answers) < len(cases.cases()):
        reading, writing = os.pipe()
        child = subprocess.Popen([python, "-c", CHILD, str(FOLDER), str(writing), str(len(answers))], pass_fds=[writing], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env={**os.environ, "MALLOC_PERTURB_": str(perturb), "PYTHONDONTWRITEBYTECODE": "1"})
        os.close(writing)
        begun = None
        with os.fdopen(reading) as reports:
            for line in reports:
                number, found = json.loads(line)
                if found == "begun":
                    begun = number
                else:
                    answers[number] = found
        if child.wait() != 0 and begun is not None and begun not in answers:
            answers[begun] = {"crash": True}
        elif begun is None:
            sys.exit(f"{python} does not run the cases")
    return answers


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    python = next((word for word in arguments if word != "--check"), sys.executable)
    names = json.loads(subprocess.run([python, "-c", NAMES], check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    if not check:
        subprocess.run([python, "-c", MODELS, str(FOLDER)], check=True, capture_output=True)
    first, second = run(python, 85), run(python, 170)
    import cases
    rows = []
    for number, (group, text) in enumerate(cases.cases()):
        same = json.dumps(first[number]) == json.dumps(second[number])
        rows.append([group, text, first[number] if same else {"garbage": True}])
    path = FOLDER / "answers.json"
    if check:
        recorded = json.loads(path.read_text())
        changed = [key for key in names if names[key] != recorded[key]]
        changed += [row[1] for row, other in zip(rows, recorded["answers"]) if row != other and not {"garbage", "crash"} & set(other[2] if isinstance(other[2], dict) else ())]
        print(f"MNN {names['version']}: {len(rows)} calls, {len(recorded['answers'])} recorded; {len(changed)} differ")
        for text in changed:
            print(f"  {text}")
        sys.exit(bool(changed) or len(rows) != len(recorded["answers"]))
    body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in names.items())
    path.write_text("{" + head + ',\n"answers": [\n' + body + "\n]}\n")
    odd = [(key, text) for _, text, found in rows for key in ("error", "crash", "garbage") if isinstance(found, dict) and key in found]
    print(f"MNN {names['version']}: {len(rows)} calls, {len(odd)} without an answer")
    for key, text in odd:
        print(f"  {key}: {text}")


if __name__ == "__main__":
    main()
