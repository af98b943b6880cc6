#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.quantize."""
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    sys.exit(77)

import minnow


class Quantize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        random = np.random.default_rng(1)
        arrays = {"w": random.standard_normal((8, 3, 3, 3)).astype(np.float32), "b": random.standard_normal(8).astype(np.float32),
                  "v": random.standard_normal((4, 8, 1, 1)).astype(np.float32)}
        nodes = [helper.make_node("Conv", ["x", "w", "b"], ["h"], name="one"), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("Conv", ["r", "v"], ["y"], name="two")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 9, 9])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, 7, 7])], [numpy_helper.from_array(a, name) for name, a in arrays.items()])
        self.model = self.folder / "net.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.model)
        self.x = random.standard_normal((12, 3, 9, 9)).astype(np.float32)

    def test_every_form_of_samples_gives_the_same_file(self):
        np.savez(self.folder / "x.npz", x=self.x)
        forms = [self.x, {"x": self.x}, str(self.folder / "x.npz"), self.folder / "x.npz", [each[None] for each in self.x], [[each[None]] for each in self.x],
                 [{"x": each[None]} for each in self.x], (each[None] for each in self.x)]
        files = set()
        for form in forms:
            result = minnow.quantize(self.model, self.folder / "q.minnow", form)
            self.assertEqual(result.samples, 12)
            files.add((self.folder / "q.minnow").read_bytes())
        self.assertEqual(len(files), 1)

    def test_report(self):
        parts = []
        result = minnow.quantize(self.model, self.folder / "q.minnow", self.x[:6], evaluation=self.x[6:], skip=["two"], correct_bias=False, seed=2, html=self.folder / "r.html",
                                 progress=parts.append)
        self.assertEqual([layer.node for layer in result.layers], ["one", "two"])
        self.assertEqual(result.layers[1].refusal, "the options skip it")
        self.assertEqual((result.samples, result.evaluated), (6, 6))
        self.assertEqual(result.bytes, (self.folder / "q.minnow").stat().st_size)
        self.assertIn("1 of 2 layers", repr(result))
        self.assertIn("<svg", (self.folder / "r.html").read_text())
        self.assertEqual(parts[-1], 1)
        wanted, got = np.asarray(minnow.load(self.model)(self.x[6:])), np.asarray(minnow.load(self.folder / "q.minnow")(self.x[6:]))
        self.assertAlmostEqual(10 * np.log10((wanted ** 2).sum() / ((wanted - got) ** 2).sum()), result.outputs[0].sqnr, delta=0.1)
        self.assertIsNone(result.outputs[0].agreement)

    def test_onnx_and_made_up_samples(self):
        minnow.quantize(self.model, self.folder / "q.onnx", None, method="minmax")
        onnx.checker.check_model(onnx.load(self.folder / "q.onnx"))

    def test_errors(self):
        out = self.folder / "q.minnow"
        for kind, words, call in [
                (minnow.InvalidArgument, "the model itself", lambda: minnow.quantize(self.model, self.model, self.x)),
                (minnow.InvalidArgument, "writes .minnow and .onnx", lambda: minnow.quantize(self.model, self.folder / "q.tflite", self.x)),
                (minnow.InvalidArgument, "is none of minmax", lambda: minnow.quantize(self.model, out, self.x, method="best")),
                (minnow.InvalidArgument, "no such option", lambda: minnow.quantize(self.model, out, self.x, wieghts="mse")),
                (minnow.InvalidArgument, "float64|f64", lambda: minnow.quantize(self.model, out, self.x.astype(float))),
                (minnow.InvalidArgument, 'no input "z"', lambda: minnow.quantize(self.model, out, {"z": self.x})),
                (minnow.InvalidArgument, 'for input "x"', lambda: minnow.quantize(self.model, out, [{"z": self.x}])),
                (minnow.InvalidArgument, "no calibration samples", lambda: minnow.quantize(self.model, out, [])),
                (minnow.InvalidType, "samples are", lambda: minnow.quantize(self.model, out, 3)),
                (minnow.InvalidType, "a list of names", lambda: minnow.quantize(self.model, out, self.x, skip="two")),
                (minnow.IoError, "nowhere", lambda: minnow.quantize(self.model, out, "nowhere.npz"))]:
            with self.assertRaisesRegex(kind, words):
                call()
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
