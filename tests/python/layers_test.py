#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers and losses of minnow.nn: torch's outputs, gradients, buffers and names for torch's weights (scripts/make_layer_answers.py), in f64 and f32."""
import json
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import expr, nn, optim
except ImportError as error:
    print(error)
    sys.exit(77)

FOLDER = Path(os.environ["MINNOW_SOURCE_DIR"]) / "tests/python/nn"
sys.path.insert(0, str(FOLDER))
from cases import CASES, WEIGHTS, call, digest, noise, value_of, weight_of  # noqa: E402

ANSWERS = json.loads((FOLDER / "answers.json").read_text())


def values(value):
    """The Vars of nested tuples that are not None."""
    return [part for item in value for part in values(item)] if isinstance(value, (tuple, list)) else [] if value is None else [value]


def floats(dtype, array):
    array = np.asarray(array)
    return minnow.Var(array.astype(dtype) if array.dtype == np.float64 else array)


def made(case, dtype):
    layer = eval(case["layer"], {"nn": nn, "W": floats(dtype, WEIGHTS)}).to(dtype)
    layer.train(case.get("train", True))
    state = {name: weight_of(name, value.shape).astype(dtype) for name, value in layer.state_dict().items() if "float" in str(value.dtype)}
    layer.load_state_dict(state, strict=False)
    return layer


def answer(case, dtype):
    layer = made(case, dtype)
    inputs = [floats(dtype, value_of(kind, shape, i)) for i, (kind, shape) in enumerate(case["inputs"])]
    inputs = [expr.trainable(value) if kind in ("noise", "far", "share", "probability", "rate") else value for value, (kind, _) in zip(inputs, case["inputs"])]
    wanted = [value for value in inputs if value.trainable]
    options = {name: floats(dtype, value_of(*given, 7)) if isinstance(given, tuple) else given for name, given in case.get("call", {}).items()}
    outputs = values(call(nn, layer, case, inputs, options))
    found = {"outputs": [digest(value) for value in outputs], "gradients": [], "parameters": {}}
    loss = minnow.Var(np.zeros((), dtype))
    for i, value in enumerate(outputs):
        if "float" in str(value.dtype):
            loss = loss + (value * noise(100 + i, value.size).reshape(value.shape).astype(dtype)).sum()
    for value in wanted:
        found["gradients"].append(gradient(loss, value))
    for name, value in layer.named_parameters():
        found["parameters"][name] = gradient(loss, value)
    found["buffers"] = {name: digest(value) for name, value in layer.named_buffers()}
    found["names"] = list(layer.state_dict())
    return found


def gradient(loss, parameter):
    try:
        return digest(expr.gradients(loss, [parameter])[0])
    except minnow.InvalidArgument as error:
        if "does not depend" not in str(error):
            raise
        return digest(np.zeros(parameter.shape))


class Layers(unittest.TestCase):
    maxDiff = None

    def near(self, found, expected, tolerance, what):
        self.assertEqual(found["shape"], expected["shape"], what)
        near = tolerance * max(1.0, expected["size"] if math.isfinite(expected["size"]) else 1.0)
        for a, b in [*zip(found["some"], expected["some"]), (found["sum"], expected["sum"])]:
            self.assertTrue(a == b or abs(a - b) <= near, f"{what}: {found} instead of {expected}")

    def check(self, dtype, tolerance):
        self.assertEqual([case["layer"] for case in CASES], [row["layer"] for row in ANSWERS])
        for case, row in zip(CASES, ANSWERS):
            with self.subTest(layer=case["layer"], inputs=case["inputs"]):
                found, expected = answer(case, dtype), row["answer"]
                self.assertEqual(found["names"], expected["names"])
                for part in ("outputs", "gradients"):
                    self.assertEqual(len(found[part]), len(expected[part]), part)
                    for i, (a, b) in enumerate(zip(found[part], expected[part])):
                        self.near(a, b, tolerance, f"{part} {i}")
                for part in ("parameters", "buffers"):
                    self.assertEqual(list(found[part]), list(expected[part]), part)
                    for name in expected[part]:
                        self.near(found[part][name], expected[part][name], tolerance, name)

    def test_torch_in_f64(self):
        print(len(CASES), "layers and losses")
        self.check("float64", 1e-7)  # attributes of operators are f32

    def test_torch_in_f32(self):
        self.check("float32", 1e-5)


if __name__ == "__main__":
    unittest.main()
