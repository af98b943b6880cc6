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

    def test_regions_and_deformed_convolutions_have_torchvisions_gradients(self):
        """Answers of torchvision 0.29.2: sums of output and gradients by cosines, and of their sizes."""
        def array(shape, seed, size=1.0):
            return (np.sin(np.arange(np.prod(shape)) * 1.7 + seed) * size).reshape(shape)

        def check(y, seed, parameters, answers):
            gradients = expr.gradients((y * minnow.Var(array(y.shape, seed))).sum(), parameters)
            for found, answer in zip([y, *gradients], answers, strict=True):
                values = np.asarray(found)
                np.testing.assert_allclose([(values.ravel() * np.cos(np.arange(values.size))).sum(), np.abs(values).sum()], answer, rtol=1e-5)

        x, w, offset, bias, mask = (expr.trainable(array(*one)) for one in
                                    (((2, 4, 6, 5), 1), ((6, 2, 3, 3), 2), ((2, 36, 3, 5), 3, 1.3), ((6,), 4), ((2, 18, 3, 5), 5)))
        check(expr.deform_conv(x, w, offset, bias, mask, group=2, offset_group=2, strides=[2, 1], pads=[1, 1, 1, 1]), 6, [x, w, offset, bias, mask],
              [[2.824125126593, 117.3516731055], [2.861876054874, 140.4869191888], [2.433343528451, 76.1205021397], [6.501236182896, 329.3904856671],
               [-0.2717834563557, 0.9417484602595], [-1.623470134565, 115.7295564907]])
        regions = np.array([[0, 0.4, 0.7, 8.3, 7.2], [1, 2.2, 1.1, 9.7, 9.9], [0, -1.5, 3.3, 4.4, 12.5]])
        x = expr.trainable(array((2, 3, 6, 7), 7))
        for samples, answers in ((0, [[0.07834720003287, 14.75938267371], [-2.418249333113, 23.82801610936]]),
                                 (2, [[0.2070657049548, 16.65581888522], [-2.213351097277, 26.21120126625]])):
            check(expr.roi_align(x, minnow.Var(regions[:, 1:]), minnow.Var(regions[:, 0].astype("int64")), output_height=2, output_width=3,
                                 spatial_scale=0.7, sampling_ratio=samples), 8, [x], answers)
        check(expr.max_roi_pool(x, minnow.Var(np.abs(regions)), pooled_shape=[2, 3], spatial_scale=0.7), 8, [x],
              [[5.000518984149, 38.13657765715], [2.895526311493, 28.47447093508]])


if __name__ == "__main__":
    unittest.main()
