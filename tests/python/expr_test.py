#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.expr: operators by name with several outputs, what a Var is made of, expressions saved as ONNX, open dimensions."""
import io
import itertools
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    from minnow import expr, tools
    from minnow import numpy as mnp
except ImportError as error:
    print(error)
    sys.exit(77)


@expr.custom_operator("test.expr.Parts", shape=lambda x, at: [(at,), (x.shape[0] - at,), expr.Spec((), "int64")])
def parts(x, *, at=1):
    """The elements before a place, those behind, and how many there are."""
    return mnp.asarray(x)[:at], mnp.asarray(x)[at:], x.shape[0]


@expr.custom_operator("test.expr.Positive", shape=lambda x: (None, 1))
def positive(x):
    values = mnp.asarray(x)
    return values[values > 0].reshape(-1, 1)


class Expressions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.v = minnow.Var([3.0, 1.0, 2.0], "float32")

    def test_several_outputs(self):
        values, places = expr.op("TopK", [self.v, [2]], outputs=2)
        self.assertEqual((values.tolist(), places.tolist()), ([3, 2], [0, 2]))
        self.assertEqual(len(expr.op("Relu", self.v, outputs=1)), 1)
        self.assertEqual(expr.op("test.expr.Parts", self.v).tolist(), [3])
        before, behind, count = expr.op("test.expr.Parts", self.v, outputs=3)
        self.assertEqual((before.tolist(), behind.tolist(), count.item(), count.dtype), ([3], [1, 2], 3, "int64"))
        before, behind = expr.op("test.expr.Parts", [self.v], at=2, outputs=2)
        self.assertEqual((before.tolist(), behind.tolist()), ([3, 1], [2]))
        self.assertEqual([x.tolist() for x in expr.ops("test.expr.Parts", [self.v], 2)], [[3], [1, 2]])
        x = expr.placeholder("x", "float32", (4,))
        outputs = expr.op("test.expr.Parts", x, outputs=3)
        expr.save(outputs, self.folder / "parts.minnow")
        self.assertEqual([each.tolist() for each in minnow.load(self.folder / "parts.minnow")([1.0, 2.0, 3.0, 4.0])], [[1], [2, 3, 4], 4])
        for bad in (0, -1, "a", 1.5, 10**9):
            with self.assertRaises((TypeError, ValueError)):
                expr.op("TopK", [self.v, [2]], outputs=bad)
        with self.assertRaisesRegex(TypeError, '"at"'):
            expr.op("test.expr.Parts", self.v, att=2)

    def test_what_a_var_is_made_of(self):
        x = expr.placeholder("x", "float32", (None, 3))
        y = expr.clip(x, None, minnow.Var(2.0, "float32"))
        self.assertEqual((y.op, [None if each is None else each.name for each in y.inputs], x.op, x.inputs), ("Clip", ["x", None, ""], None, []))
        self.assertEqual((expr.relu(y).inputs[0].op, minnow.Var(1).op, minnow.Var(1).inputs), ("Clip", None, []))
        names, waiting = [], [expr.softmax(expr.relu(x) @ minnow.Var([[1.0]] * 3, "float32"))]
        while waiting:
            value = waiting.pop()
            names.append(value.op)
            waiting += [each for each in value.inputs if each is not None]
        self.assertEqual(names, ["Softmax", "MatMul", None, "Relu", None])

    def test_saved_as_onnx(self):
        x = expr.placeholder("x", "float32", (None, 3))
        y = expr.softmax(x * 2.0 + 1.0)
        path = self.folder / "net.onnx"
        expr.save([y], path)
        given = [[1.0, 2.0, 3.0]]
        expected = mnp.exp(mnp.array(given) * 2)
        expected = (expected / expected.sum()).tolist()
        self.assertTrue(mnp.allclose(minnow.load(path)(given), expected, 1e-5))
        self.assertEqual(minnow.load(path).inputs[0].shape[1], 3)
        expr.save(y, str(self.folder / "old.onnx"), opset=21)
        expr.save(y, self.folder / "half.minnow", weights="f16")
        self.assertEqual(tools.inspect(self.folder / "half.minnow").inputs, ["x"])
        big = expr.placeholder("x", "float32", (None, 64)) @ mnp.ones((64, 64), "float32")
        expr.save(big, self.folder / "big.onnx", external_data=True)
        self.assertTrue((self.folder / "big.onnx.data").exists())
        with self.assertRaises(FileNotFoundError):
            expr.save([y], self.folder / "no" / "net.onnx")
        with self.assertRaises(ValueError):
            expr.save([y], self.folder / "net.onnx", opset=3)
        try:
            import onnx
            import onnxruntime
        except ImportError:
            return
        onnx.checker.check_model(str(path))
        [found] = onnxruntime.InferenceSession(str(path)).run(None, {"x": mnp.array(given, "float32").numpy()})
        self.assertTrue(mnp.allclose(found, expected, 1e-5))

    def test_integer_lstms_with_normalized_gates_are_saved_to_the_bit(self):
        try:
            import numpy as np
            import onnxruntime
        except ImportError:
            self.skipTest("onnxruntime is not installed")
        random = np.random.default_rng(3)
        steps, batch, inputs = 3, 2, 4
        # Large and small variances, shifts to both sides, gates of one number, whose variance is 0.
        for case, (hidden, (step, norm_scale)) in enumerate(itertools.product((1, 7, 100), ((1e-4, 0.5), (1e-2, 3e-5), (2.0, 1e-6)))):
            with self.subTest(hidden=hidden, step=step, norm_scale=norm_scale):
                x = expr.placeholder("x", "int8", (steps, batch, inputs))
                w, r = (random.integers(-127, 128, (4, hidden, size)).astype("int8") for size in (inputs, hidden))
                bias = random.integers(-9000, 9000, (4, hidden)).astype("int32") if case % 2 else None
                norm = random.integers(-32767, 32768, (4, hidden)).astype("int16")
                made = expr.fixed_point_lstm_outputs(3, x, w, r, bias, np.zeros((batch, hidden), "int8"), np.zeros((batch, hidden), "int16"), norm=norm,
                                                     x_scales=[step] * 4, h_scales=[step] * 4, norm_scales=[norm_scale] * 4, x_zero_point=3,
                                                     hidden_scale=0.0071, cell_exponent=-11)
                expr.save(made, self.folder / "lstm.onnx")
                given = random.integers(-128, 128, (steps, batch, inputs)).astype("int8")
                x.assign(given)
                found = onnxruntime.InferenceSession(str(self.folder / "lstm.onnx"), providers=["CPUExecutionProvider"]).run(None, {"x": given})
                for one, other in zip(found, made):
                    np.testing.assert_array_equal(one, other)

    def test_loaded_from_every_source(self):
        x = expr.placeholder("x", "float32", (None, 3))
        minnow_path, onnx_path = self.folder / "net.minnow", self.folder / "net.onnx"
        for path in (minnow_path, onnx_path):
            expr.save(expr.relu(x * 2.0), path)
        with open(onnx_path, "rb") as opened:
            for source in (minnow_path, str(minnow_path), onnx_path, str(onnx_path), minnow_path.read_bytes(), io.BytesIO(onnx_path.read_bytes()), opened):
                loaded = expr.load(source)
                loaded.inputs[0].assign(minnow.Var([[-1.0, 0.0, 1.0]], "float32"))
                self.assertEqual((loaded.outputs[0].tolist(), loaded.inputs[0].name), ([[0, 0, 2]], "x"))
        for bad, error in ((self.folder / "no.minnow", FileNotFoundError), (self.folder / "no.onnx", FileNotFoundError), (3, TypeError), (b"nonsense", ValueError)):
            with self.assertRaises(error):
                expr.load(bad)

    def test_none_is_an_open_dimension(self):
        x = expr.placeholder("x", "float32", (None, 3))
        self.assertEqual((x.dims, (x * 2.0).dims), ((None, 3), (None, 3)))
        path = self.folder / "net.minnow"
        expr.save(x * 2.0, path)
        shapes = {"x": (None, 3)}
        self.assertEqual(minnow.load(path, shapes=shapes).inputs[0].shape, (None, 3))
        minnow.convert(path, self.folder / "copy.minnow", shapes=shapes)
        self.assertEqual(minnow.load(self.folder / "copy.minnow").inputs[0].shape, (None, 3))
        self.assertEqual(len(tools.inspect(path, plan=True, shapes=shapes).plan), 1)
        tools.bench(path, shapes=shapes, seconds=0.001)
        tools.profile(path, shapes=shapes, seconds=0.001)
        tools.compare(path, path, shapes=shapes)
        self.assertEqual(expr.op("test.expr.Positive", minnow.Var([1.0, -1.0, 2.0])).tolist(), [[1], [2]])


if __name__ == "__main__":
    unittest.main()
