#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators that are written in Python, and those of a C++ library, in expressions, ONNX models and saved models."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import expr
    from onnx import TensorProto, helper
except ImportError as error:
    print(error)
    sys.exit(77)

LIBRARY = Path(os.environ.get("MINNOW_BUILD_DIR", "")) / "lib" / "libcustom_operators.so"
calls = []


@expr.custom_operator("com.example.python.Swish", shape=lambda x: x.shape)
def swish(x, *, alpha=1.0):
    """x times the logistic function of alpha x."""
    calls.append(x.shape)
    return (x / (1 + np.exp(-alpha * x))).astype(x.dtype)


@expr.custom_operator("com.example.python.TopPair", shape=lambda x, k: [(k,), expr.Spec((k,), "int64")])
def top_pair(x, *, k=2):
    order = np.argsort(-x)[:k]
    return x[order], order


@expr.custom_operator("com.example.python.Positive", shape=lambda x: [None])
def positive(x):
    return x[x > 0]


def weighted_gradient(x, w, sums, products, d_sums, d_products, *, power=2):
    """The gradients of sum(x ** power * w) and x * w; w may be integers, which have no gradient."""
    dx = np.zeros_like(x)
    if d_sums is not None:
        dx += d_sums * power * x ** (power - 1) * w
    if d_products is not None:
        dx += d_products * w
    dw = None
    if w.dtype == np.float32:
        dw = (0 if d_sums is None else d_sums * x**power) + (0 if d_products is None else d_products * x)
    return dx, dw


@expr.custom_operator("com.example.python.Weighted", shape=lambda x, w: [(), x], gradient=weighted_gradient)
def weighted(x, w, *, power=2):
    return (x**power * w).sum(), x * w


@expr.custom_operator("com.example.python.Broken", shape=lambda x: x.shape)
def broken(x):
    raise KeyError("no such thing")


@expr.custom_operator("com.example.python.Liar", shape=lambda x: (7,))
def liar(x):
    return x


def model(path, nodes, outputs, opsets=("com.example", "com.example.python")):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)] + [helper.make_opsetid(name, 1) for name in opsets],
                                       ir_version=10).SerializeToString())
    return path


class CustomOperators(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        self.x = np.array([-2, 0, 1, 3], np.float32)
        self.expected = (self.x / (1 + np.exp(-2 * self.x))).astype(np.float32)

    def test_in_an_expression(self):
        y = expr.op("com.example.python.Swish", [minnow.Var(self.x)], alpha=2.0)
        np.testing.assert_allclose(y.numpy(), self.expected, rtol=1e-6)
        np.testing.assert_allclose((y * 2 + 1).numpy(), self.expected * 2 + 1, rtol=1e-6)
        values, places = expr.ops("com.example.python.TopPair", [self.x], 2, k=3)
        self.assertEqual((values.tolist(), places.tolist()), ([3, 1, 0], [3, 2, 1]))
        self.assertEqual(places.dtype, "int64")
        self.assertEqual(expr.op("com.example.python.Positive", [self.x]).tolist(), [1, 3])

    def test_in_an_onnx_model_and_a_saved_one(self):
        path = model(self.folder / "m.onnx", [helper.make_node("Swish", ["x"], ["s"], domain="com.example.python", alpha=2.0), helper.make_node("Neg", ["s"], ["y"])],
                     [("y", TensorProto.FLOAT)])
        np.testing.assert_allclose(minnow.load(path)(self.x), -self.expected, rtol=1e-6)
        minnow.convert(path, self.folder / "m.minnow")
        np.testing.assert_allclose(minnow.load(self.folder / "m.minnow")(self.x), -self.expected, rtol=1e-6)
        loaded = expr.load(self.folder / "m.minnow")
        loaded.inputs[0].assign(self.x)
        np.testing.assert_allclose(loaded.outputs[0].numpy(), -self.expected, rtol=1e-6)
        # A process that does not know the operator names it.
        for name in ("m.onnx", "m.minnow"):
            text = f"import minnow\ntry:\n    minnow.load({str(self.folder / name)!r})([1.0])\nexcept minnow.Error as error:\n    print(error)"
            result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("com.example.python.Swish", result.stdout)

    @unittest.skipUnless(LIBRARY.is_file(), "the library of the C++ example is not built")
    def test_one_from_python_and_one_from_cpp_in_one_model(self):
        expr.load_operators(LIBRARY)
        path = model(self.folder / "m.onnx", [helper.make_node("Swish", ["x"], ["c"], domain="com.example"),
                                              helper.make_node("Swish", ["c"], ["y"], domain="com.example.python")], [("y", TensorProto.FLOAT)])
        first = self.x / (1 + np.exp(-self.x))
        np.testing.assert_allclose(minnow.load(path)(self.x), first / (1 + np.exp(-first)), rtol=1e-5)

    def test_what_python_raises_is_the_error(self):
        with self.assertRaisesRegex(minnow.Error, r"com\.example\.python\.Broken.*KeyError.*no such thing"):
            expr.op("com.example.python.Broken", [self.x]).evaluate()
        try:
            expr.op("com.example.python.Broken", [self.x]).evaluate()
        except minnow.Error as error:
            self.assertIsInstance(error.__cause__, KeyError)  # and its lines are in the traceback
        with self.assertRaises(minnow.Error) as caught:
            expr.op("Add", [self.x, np.ones(3, np.float32)]).evaluate()
        self.assertIsNone(caught.exception.__cause__)

        @expr.custom_operator("com.example.python.Interrupted")
        def interrupted(x):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            expr.op("com.example.python.Interrupted", [self.x]).evaluate()
        with self.assertRaisesRegex(minnow.Error, r"shape \[4\], its shape rule \[7\]"):
            expr.op("com.example.python.Liar", [self.x]).evaluate()
        with self.assertRaisesRegex(minnow.Error, "domain"):
            expr.custom_operator("Swish")(lambda x: x)
        with self.assertRaisesRegex(minnow.Unsupported, "com.example.python.Swsh.*Swish"):
            expr.op("com.example.python.Swsh", [self.x])

    def test_values_that_the_dtype_cannot_hold(self):
        name = "com.example.python.Given"
        for dtype, value, fits in (("int64", [1.0, 2.0], True), ("int64", [1.0, 1.5], False), ("uint8", [1, 255], True), ("uint8", [1, 256], False), ("uint8", [-1, 0], False),
                                   ("int32", [0.0, float("nan")], False), ("bool", [0, 1], True), ("bool", [0, 2], False), ("float32", [0.1, 1], True), ("float16", [3, 4], True)):
            for given in (value, np.array(value)):
                with self.subTest(dtype, value=value):
                    expr.custom_operator(name, shape=lambda x: expr.Spec((2,), dtype))(lambda x: given)
                    result = expr.op(name, [minnow.Var([0.0])])
                    if fits:
                        np.testing.assert_array_equal(result.numpy(), np.array(value).astype(dtype))
                    else:
                        with self.assertRaisesRegex(minnow.InvalidArgument, r"Given.*its function gives output 0 numbers of (f64|i64) that are none of"):
                            result.numpy()

    def test_gradients_agree_with_finite_differences(self):
        x0, w0 = np.array([0.5, -1, 2], np.float32), np.array([1, 2, -0.5], np.float32)
        d_sums, d_products = np.float32(0.7), np.array([1, -2, 3], np.float32)
        x, w = expr.trainable(x0), expr.trainable(w0)
        sums, products = expr.ops("com.example.python.Weighted", [x, w], 2, power=3)

        def loss(x, w, both=True):
            return d_sums * (x**3 * w).sum() + (both * d_products * x * w).sum()

        def differences(f, at, step=1e-4):
            moves = np.eye(3) * step
            return [(f(at + move) - f(at - move)) / (2 * step) for move in moves]

        x1, w1 = x0.astype(float), w0.astype(float)
        dx, dw = expr.gradient_of([sums, products], [d_sums, d_products])
        np.testing.assert_allclose(dx.numpy(), differences(lambda x: loss(x, w1), x1), rtol=1e-4)
        np.testing.assert_allclose(dw.numpy(), differences(lambda w: loss(x1, w), w1), rtol=1e-4)
        dx, dw = expr.gradient_of([sums, products], [d_sums, None])
        np.testing.assert_allclose(dx.numpy(), differences(lambda x: loss(x, w1, both=False), x1), rtol=1e-4)
        [dx, nothing] = expr.gradient_of(expr.ops("com.example.python.Weighted", [x, expr.const([1, 2, 3], "int32")], 2)[0], d_sums)
        self.assertIsNone(nothing)
        np.testing.assert_allclose(dx.numpy(), d_sums * 2 * x0 * [1, 2, 3], rtol=1e-6)

    @unittest.skipUnless(LIBRARY.is_file(), "the library of the C++ example is not built")
    def test_gradients_by_name(self):
        @expr.custom_operator("com.example.python.AlsoSwish", gradient="com.example.SwishGradient")
        def also_swish(x, *, beta=1.0):
            return (x / (1 + np.exp(-beta * x))).astype(x.dtype)

        x = expr.trainable(self.x)
        y = expr.op("com.example.python.AlsoSwish", [x], beta=2.0)
        expr.load_operators(LIBRARY)  # later than the expression
        s = 1 / (1 + np.exp(-2 * self.x))
        np.testing.assert_allclose(expr.gradient_of(y, np.ones(4, np.float32))[0].numpy(), s + 2 * y.numpy() * (1 - s), rtol=1e-5)
        np.testing.assert_allclose(expr.gradient_of(expr.op("com.example.Swish", [x], beta=2.0), np.ones(4, np.float32))[0].numpy(),
                                   s + 2 * y.numpy() * (1 - s), rtol=1e-5)

    def test_gradients_that_cannot_be(self):
        x = expr.trainable(self.x)
        with self.assertRaisesRegex(minnow.Unsupported, "Swish has no gradient"):
            expr.gradient_of(expr.op("com.example.python.Swish", [x]), self.x)
        with self.assertRaisesRegex(minnow.Error, r"the gradient of output 1 is f32\[3\], the output is f32\[4\]"):
            expr.gradient_of(expr.ops("com.example.python.Weighted", [x, x], 2)[1], np.ones(3, np.float32))

        @expr.custom_operator("com.example.python.Few", gradient=lambda x, w, y, dy: [dy])
        def few(x, w):
            return x * w

        with self.assertRaisesRegex(minnow.Error, "FewGradient.*gives 1 gradients, there are 2 inputs"):
            expr.gradient_of(expr.op("com.example.python.Few", [x, x]), self.x)[0].evaluate()

    def test_an_operator_can_be_written_anew(self):
        for factor in (2, 3):
            expr.custom_operator("com.example.python.Times")(lambda x, factor=factor: x * np.float32(factor))
            np.testing.assert_array_equal(expr.op("com.example.python.Times", [self.x]), self.x * factor)


if __name__ == "__main__":
    unittest.main()
