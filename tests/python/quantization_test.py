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
                 [{"x": each[None]} for each in self.x], (each[None] for each in self.x), list(self.x), [[each] for each in self.x], self.x.astype(float),
                 [each.astype(float) for each in self.x]]
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

    def test_aims_are_checked_without_a_search(self):
        out = self.folder / "q.minnow"
        result = minnow.quantize(self.model, out, self.x, min_sqnr=90)
        self.assertFalse(result.reached)
        self.assertIn("at least 90 are asked for", result.missed)
        self.assertEqual(result.candidates, [])
        result = minnow.quantize(self.model, out, self.x, min_sqnr=20)
        self.assertEqual((result.reached, result.missed), (True, ""))
        self.assertIn("no output is a row of scores", minnow.quantize(self.model, out, self.x, min_agreement=90).missed)
        self.assertIn("no output is a row of scores", minnow.quantize(self.model, out, self.x, max_drop=1).missed)
        (self.folder / "r.toml").write_text("min_sqnr = 90\n")
        self.assertFalse(minnow.quantize(self.model, out, self.x, recipe=self.folder / "r.toml").reached)
        whole = minnow.quantize(self.model, out, self.x).bytes
        result = minnow.quantize(self.model, out, self.x, max_size=whole)
        self.assertTrue(result.reached)
        self.assertEqual(result.bytes, out.stat().st_size)
        self.assertLessEqual(result.bytes, whole)
        result = minnow.quantize(self.model, out, self.x, max_size=whole // 4)
        self.assertFalse(result.reached)
        self.assertIn("the file has", result.missed)

    def test_options_take_values_of_python(self):
        def made(*arguments, **options):
            minnow.quantize(self.model, self.folder / "q.minnow", *arguments, **options)
            return (self.folder / "q.minnow").read_bytes()

        self.assertEqual(made(self.x, samples=4), made(self.x[:4]))
        self.assertEqual(made(self.x, method="KL", activations="int8"), made(self.x, method="kl", activations="i8"))
        self.assertEqual(made(self.x, skip=["tw*"]), made(self.x, skip=["two"]))
        self.assertEqual(made(weights_only="rtn", block_size=16, bits_for={"one": 8}), made(weights_only="rtn", block_size=16, bits_for="one=8"))
        self.assertEqual(made(data_free=True, samples=2, shape=(1, 3, 9, 9)), made(data_free=True, samples=2, shape={"x": (1, 3, 9, 9)}))
        with self.assertWarnsRegex(UserWarning, "weights of 5 bits take 8"):
            made(self.x, weight_bits=5)

    def test_pictures(self):
        (self.folder / "pictures" / "cat").mkdir(parents=True)
        random = np.random.default_rng(3)
        pixels = random.integers(0, 256, (4, 9, 9, 3), np.uint8)
        for i, each in enumerate(pixels):
            (self.folder / "pictures" / "cat" / f"{i}.ppm").write_bytes(b"P6\n9 9\n255\n" + each.tobytes())
        wanted = (pixels[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) - np.float32([100, 110, 120])[:, None, None]) * np.float32(0.02)
        results = [minnow.quantize(self.model, self.folder / "q.minnow", given, **options) for given, options in (
            (self.folder / "pictures", {"mean": (100, 110, 120), "scale": 0.02, "color": "bgr", "size": (9, 9)}), (wanted, {}))]
        for one, other in zip(*(result.layers for result in results)):
            self.assertAlmostEqual(one.high, other.high, delta=1e-4 * other.high)
        with self.assertRaisesRegex(minnow.InvalidArgument, "mean applies to pictures"):
            minnow.quantize(self.model, self.folder / "q.minnow", self.x, mean=3)

    def test_errors(self):
        out = self.folder / "q.minnow"
        for kind, words, call in [
                (minnow.InvalidArgument, "the model itself", lambda: minnow.quantize(self.model, self.model, self.x)),
                (minnow.InvalidArgument, "writes .minnow and .onnx", lambda: minnow.quantize(self.model, self.folder / "q.tflite", self.x)),
                (minnow.InvalidArgument, "is none of minmax", lambda: minnow.quantize(self.model, out, self.x, method="best")),
                (minnow.InvalidArgument, "no such option", lambda: minnow.quantize(self.model, out, self.x, wieghts="mse")),
                (minnow.InvalidArgument, "i64", lambda: minnow.quantize(self.model, out, self.x.astype(int))),
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
