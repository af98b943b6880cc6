#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.grad, value_and_grad, stop_gradient and expr.gradients, against NumPy and finite differences."""
import sys
import unittest

try:
    import numpy as np

    import minnow
    from minnow import expr
    from minnow import numpy as mnp
except ImportError as error:
    print(error)
    sys.exit(77)


class Autograd(unittest.TestCase):
    def test_of_a_linear_layer(self):
        random = np.random.default_rng(1)
        x, w, b, t = (random.normal(size=shape) for shape in ((5, 3), (3, 2), (2,), (5, 2)))

        def loss(parameters):
            error = minnow.Var(x) @ parameters["w"] + parameters["b"] - t
            return (error * error).mean()

        value, found = minnow.value_and_grad(loss)({"w": w, "b": b})
        error = x @ w + b - t
        self.assertAlmostEqual(float(value), (error * error).mean())
        self.assertIsInstance(found["w"], np.ndarray)
        np.testing.assert_allclose(found["w"], 2 * x.T @ error / error.size)
        np.testing.assert_allclose(found["b"], 2 * error.sum(0) / error.size)

    def test_arguments(self):
        f = lambda a, b: (a * b).sum()
        a, b = minnow.Var([1.0, 2.0]), minnow.Var([3.0, 5.0])
        np.testing.assert_array_equal(minnow.grad(f)(a, b), b)
        np.testing.assert_array_equal(minnow.grad(f, 1)(a, b), a)
        np.testing.assert_array_equal(minnow.grad(f, (0, 1))(a, b)[1], a)
        (value, aux), gradient = minnow.value_and_grad(lambda x: ((x * x).sum(), "aux"), has_aux=True)(a)
        self.assertEqual((float(value), aux), (5.0, "aux"))
        np.testing.assert_array_equal(gradient, [2, 4])

    def test_second_derivatives(self):
        x = expr.trainable(np.array([0.5, 1.5]))
        [first] = expr.gradients((mnp.exp(x) * x).sum(), x)
        [second] = expr.gradients(first.sum(), x)
        np.testing.assert_allclose(second, np.exp(x) * (np.asarray(x) + 2))

    def test_a_network_by_differences(self):
        random = np.random.default_rng(2)
        shapes = ((4, 1, 3, 3), (4,), (100, 10), (10,))
        parameters = [random.normal(size=shape) * 0.3 for shape in shapes]
        pictures, labels = random.normal(size=(3, 1, 12, 12)), np.array([1, 7, 3])

        def loss(p):
            y = expr.op("Conv", [pictures, p[0], p[1]])
            y = expr.op("MaxPool", [expr.op("Relu", [y])], kernel_shape=[2, 2], strides=[2, 2])
            y = expr.op("Flatten", [y])
            return expr.op("SoftmaxCrossEntropyLoss", [expr.op("Gemm", [y, p[2], p[3]]), labels])

        gradients = minnow.grad(loss)(parameters)
        for place, gradient in enumerate(gradients):
            self.assertEqual(gradient.shape, shapes[place])
            for at in random.integers(0, gradient.size, 5):
                values = []
                for step in (1e-6, -1e-6):  # no element of Relu changes its sign
                    moved = [p.copy() for p in parameters]
                    moved[place].flat[at] += step
                    values.append(float(loss(moved)))
                self.assertAlmostEqual(gradient.flat[at], (values[0] - values[1]) / 2e-6, places=7)

    def test_copies_have_the_gradient(self):
        x = minnow.Var([1.0, 2.0])
        for copy in (lambda v: v.astype("float64"), lambda v: v.copy(), minnow.numpy.array, minnow.Var):
            np.testing.assert_array_equal(minnow.grad(lambda v: (copy(v) * v).sum())(x), [2, 4])
        given = expr.placeholder("given", "float64", [2])
        for copy in (given.astype("float64"), given.copy(), minnow.numpy.array(given)):
            self.assertEqual([p.name for p in expr.placeholders([copy + given])], ["given"])

    def test_errors(self):
        x = minnow.Var([1.0, 2.0])
        with self.assertRaisesRegex(ValueError, "one element"):
            minnow.grad(lambda v: v * 2)(x)
        with self.assertRaisesRegex(ValueError, "does not depend"):
            minnow.grad(lambda v: minnow.Var([1.0]).sum())(x)
        with self.assertRaisesRegex(ValueError, "does not depend"):
            minnow.grad(lambda v: mnp.floor(v).sum())(x)
        with self.assertRaisesRegex(ValueError, "floats"):
            minnow.grad(lambda v: v.sum())(minnow.Var([1, 2]))
        with self.assertRaisesRegex(NotImplementedError, "Unique has no gradient"):
            minnow.grad(lambda v: expr.op("Unique", [v]))(minnow.Var([[1.0, 2.0], [3.0, 4.0]]))


if __name__ == "__main__":
    unittest.main()
