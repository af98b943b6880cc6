#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No repr is longer than a screen, and each says what the object is."""
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    from minnow import expr, nn, tools
    from minnow import numpy as mnp
except ImportError as error:
    print(error)
    sys.exit(77)


class Deep(nn.Module):
    def __init__(self, depth):
        self.weights = [expr.trainable(mnp.zeros((2, 2)), "w") for _ in range(20)]
        self.inner = [Deep(depth - 1), Deep(depth - 1)] if depth else []


class Repr(unittest.TestCase):
    def check(self, value, *parts):
        text = repr(value)
        self.assertTrue(text.count("\n") <= 40 and len(text) <= 4400, f"{type(value)}: {text.count(chr(10))} lines, {len(text)} characters: {text[:200]}")
        for part in parts:
            self.assertIn(part, text)
        return text

    def test_vars(self):
        for shape in ((), (0,), (3,), (1000,), (1001,), (1000000,), (30, 33), (1, 1, 999, 1), (7, 7, 7, 7, 7), (8,) * 6, (2,) * 9, (1,) * 12, (3, 3, 3, 3, 3, 3), (500, 2), (2, 500), (999, 1)):
            for dtype in ("float32", "complex128", "bool", "int64"):
                text = self.check(mnp.zeros(shape, dtype) + mnp.array(1, dtype) if dtype != "bool" else mnp.zeros(shape, dtype), f"shape={shape}", f"dtype={dtype}")
                self.assertTrue(text.startswith("Var("))
        self.assertEqual(repr(minnow.Var([1.0, 2.0])), "Var([1., 2.], shape=(2,), dtype=float64)")
        named = minnow.Var(mnp.zeros(3))
        named.name = "n" * 100000
        self.check(named, "nnn...")
        x = expr.placeholder("p" * 5000, "float32", (None, 3))
        self.check(x, "placeholder")
        self.check(x + 1.0, "not computed")
        self.check(expr.op("SequenceConstruct", [mnp.zeros(3000)] * 50), "Var(")

    def test_modules_and_models(self):
        module = Deep(5)
        self.check(module, "Deep", "lines) ...")
        inputs = [expr.placeholder(f"an_input_{i}", "float32", (None, 3)) for i in range(500)]
        total = inputs[0]
        for x in inputs[1:]:
            total = total + x
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "many.minnow"
            expr.save([total * mnp.ones((100, 3), "float32")], path)
            model = minnow.load(path)
            loaded = expr.load(path)
            self.check(loaded, "Loaded", "values by name")
            self.check(model, "LoadedModule", "characters) ...")
            self.check(model.states, "States")
            self.check(model.inputs[0], "an_input_0")
            inspection = tools.inspect(path, plan=True)
            self.check(inspection, "Inspection")
            self.check(inspection.plan[-1], "PlanRow")
            self.check(inspection.nodes[-1], "Node")
            self.check(tools.profile(path, seconds=0.001), "<Profile of")
            self.check(tools.compare(path, path), "<Differences of")
            self.check(tools.bench(path, seconds=0.001), "Timing")
            self.check(tools.convert(path, Path(folder) / "other.minnow"), "Conversion")
        self.check(expr.cache_counts(), "CacheCounts")

    def test_results_of_functions(self):
        matrix = mnp.random.default_rng(0).normal(size=(60, 60))
        for result in (mnp.linalg.svd(matrix), mnp.linalg.eigh(matrix), mnp.linalg.eig(matrix), mnp.linalg.qr(matrix), mnp.linalg.slogdet(matrix), mnp.unique_all(matrix), mnp.unique_counts(matrix),
                       mnp.unique_inverse(matrix)):
            self.check(result, type(result).__name__)
        with tempfile.TemporaryDirectory() as folder:
            mnp.savez(folder + "/a.npz", **{f"array_{i}": mnp.zeros(2) for i in range(300)})
            with mnp.load(folder + "/a.npz") as file:
                self.check(file, "NpzFile")
        for value in (mnp.random.default_rng(0), mnp.add, mnp.finfo("float32"), mnp.iinfo("int8"), minnow.float32, expr.Spec((1,), "float32")):
            self.check(value)


if __name__ == "__main__":
    unittest.main()
