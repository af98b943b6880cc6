#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.compat gives the same answers as MNN's wheel. scripts/make_mnn_cases.py recorded them in mnn/answers.json."""
import json
import re
import sys
import unittest
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "mnn"
sys.path.insert(0, str(FOLDER))

try:
    import numpy

    import minnow.compat
    import MNN
    import MNN.numpy
except ImportError as error:
    print(error)
    sys.exit(77)
import cases
from differences import DIFFERENCES, REFUSED, SENTENCES

RECORDED = json.loads((FOLDER / "answers.json").read_text())
TOLERANCE = {"rtol": 2e-4, "atol": 2e-5}
NONE = "without an answer of MNN's"
PAGE = " ".join((FOLDER.parents[2] / "docs" / "mnn.md").read_text().split())
PIXELS = {"rtol": 0, "atol": 1.001}  # interpolated bytes may be rounded the other way


def is_answer(recorded):
    return not (isinstance(recorded, dict) and {"error", "crash", "garbage"} & set(recorded))


def difference(found, expected, tolerance=TOLERANCE):
    """Return the first difference of two answers, or None."""
    if isinstance(expected, list) or isinstance(found, list):
        if not isinstance(found, list) or not isinstance(expected, list) or len(found) != len(expected):
            return f"{found} is not {expected}"
        return next((text for text in (difference(*pair, tolerance) for pair in zip(found, expected)) if text), None)
    if not isinstance(expected, dict) or not isinstance(found, dict):
        same = type(found) is type(expected) and found == expected
        return None if same else f"{found} is not {expected}"
    if set(found) != set(expected):
        return f"{found} is not {expected}"
    if "number" in expected:
        numbers = [float(value["number"]) for value in (found, expected)]
        return None if numpy.allclose(*numbers, equal_nan=True, **tolerance) else f"{numbers[0]} is not {numbers[1]}"
    if "data" in expected:
        for key in expected:
            if key != "data" and found[key] != expected[key]:
                return f"{key} is {found[key]}, not {expected[key]}"
        one, other = ([float(item) for item in answer["data"]] for answer in (found, expected))
        return None if numpy.allclose(one, other, equal_nan=True, **tolerance) else f"{one} is not {other}"
    return next((text for text in (difference(found[key], expected[key], tolerance) for key in expected) if text), None)


class Answers(unittest.TestCase):
    def test_every_call_gives_what_mnn_gives(self):
        names = cases.environment(MNN)
        counts = Counter()
        self.assertEqual([text for _, text, _ in RECORDED["answers"]], [text for _, text in cases.cases()], "run scripts/make_mnn_cases.py")
        for group, text, expected in RECORDED["answers"]:
            with self.subTest(text):
                if text in REFUSED:
                    with self.assertRaises(minnow.Error):
                        cases.answer(eval(text, names))
                    continue
                found = cases.answer(eval(text, names))
                counts[group, "calls"] += 1
                if not is_answer(expected):
                    counts[group, NONE] += 1
                    continue
                tolerance = PIXELS if "processed(" in text else TOLERANCE
                told = difference(found, expected, tolerance)
                if text in DIFFERENCES:
                    counts[group, "documented differences"] += 1
                    self.assertIsNotNone(told, "the answers are equal now; remove the call from differences.py")
                    continue
                counts[group, "equal"] += told is None
                self.assertIsNone(told)
        total = {what: sum(count for (_, kind), count in counts.items() if kind == what) for _, what in counts}
        self.assertIn(f"makes {total['calls']} calls and compares", PAGE)
        self.assertIn(f"{total['equal']} answers are equal, {total['documented differences']} differ as described below, and MNN has no answer to "
                      f"{total[NONE]} calls.", PAGE)
        for group, parts in ROWS.items():
            names_of_group = sum(len(RECORDED["names"][part]) for part in parts)
            row = [names_of_group, *(counts[group, what] for what in ("calls", "equal", "documented differences", NONE))]
            self.assertIn(f"| `{group}` | {' | '.join(map(str, row))} |", PAGE)


OF = {"expr": "MNN.expr", "Var": "MNN.expr.Var", "numpy": "MNN.numpy", "numpy.random": "MNN.numpy.random", "numpy.linalg": "MNN.numpy.linalg", "nn": "MNN.nn", "nn.loss": "MNN.nn.loss",
      "nn.compress": "MNN.nn.compress", "Module": "MNN.nn.Module", "RuntimeManager": "MNN.nn.RuntimeManager", "MNN": "MNN", "audio": "MNN.audio", "optim": "MNN.optim", "data": "MNN.data",
      **{name: f"MNN.{name}" for name in ("Interpreter", "Session", "Tensor", "OpInfo", "CVMatrix", "CVImageProcess")}}
# The rows of the page's table, and the groups of names that each counts.
ENUMERATIONS = [name for name in RECORDED["names"] if name not in OF]
ROWS = {"expr": ["expr", *ENUMERATIONS], "Var": ["Var"], "numpy": ["numpy", "numpy.random", "numpy.linalg"],
        "nn": ["nn", "nn.loss", "nn.compress", "Module", "RuntimeManager"],
        "MNN": ["MNN", "Interpreter", "Session", "Tensor", "OpInfo", "CVMatrix", "CVImageProcess"], "audio": ["audio"]}
# Names without a call: modules, classes, functions that MNN itself refuses, and functions that print.
UNCALLED = {"expr": {"Var", "MemoryMode", "PowerMode"}, "Var": {"searchsorted", "argpartition"}, "nn": {"Module", "RuntimeManager", "compress", "loss", "EmptyModule", "dummy"},
            "numpy": {"linalg", "random"}, "MNN": {"Session", "Interpreter", "OpInfo", "CVImageProcess", "audio", "cv", "data", "expr", "llm", "nn", "numpy", "optim", "Halide_Type_Double", "Halide_Type_Int64"}, "Tensor": {"printTensorData"}, "OpInfo": {"getFlops"}, "audio": {"hanning_window"}}


class Names(unittest.TestCase):
    def test_every_name_of_mnn_is_there(self):
        total = 0
        for group, names in RECORDED["names"].items():
            place = OF.get(group, f"MNN.expr.{group}")
            found = eval(place)
            for name in names:
                with self.subTest(f"{place}.{name}"):
                    self.assertTrue(hasattr(found, name))
                    self.assertIn(name, dir(found))
                    total += 1
        self.assertEqual(total, sum(map(len, RECORDED["names"].values())))
        self.assertIn(f"All {total} names are here.", PAGE)

    def test_every_function_has_a_call(self):
        calls = {group: [text for of, text, _ in RECORDED["answers"] if of == group] for group in cases.GROUPS}
        everything = "\n".join(text for texts in calls.values() for text in texts) + (FOLDER / "cases.py").read_text()
        for group in ("expr", "Var", "numpy", "numpy.random", "numpy.linalg", "nn", "nn.loss", "Module", "RuntimeManager", "MNN", "Interpreter", "Tensor", "OpInfo", "CVMatrix", "CVImageProcess", "audio"):
            absent = {name for name in RECORDED["names"].get(group, ()) if not re.search(rf"\.{name}\b|\"{name}\"", everything)}
            self.assertEqual(absent - UNCALLED.get(group, set()) - set(RECORDED["not_implemented"] if group == "numpy" else ()), set(), group)

    def test_what_comes_later_says_so(self):
        with self.assertRaisesRegex(minnow.Unsupported, "is not there yet"):
            MNN.llm.create()

    def test_the_page_has_every_difference(self):
        for sentence in SENTENCES:
            with self.subTest(sentence):
                self.assertIn(sentence, PAGE)


if __name__ == "__main__":
    unittest.main()
