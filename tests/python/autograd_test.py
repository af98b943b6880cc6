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

    def test_one_argument_asked_for_twice(self):
        gradients = minnow.grad(lambda u, v: (u * u * v).sum(), argnums=(0, -2, 1))(np.float32([1, 2]), np.float32([3, 4]))
        np.testing.assert_array_equal(gradients, [[6, 16], [6, 16], [1, 4]])

    def test_errors(self):
        x = minnow.Var([1.0, 2.0])
        with self.assertRaisesRegex(ValueError, "one element"):
            minnow.grad(lambda v: v * 2)(x)
        with self.assertRaisesRegex(ValueError, "does not depend"):
            minnow.grad(lambda v: minnow.Var([1.0]).sum())(x)
        with self.assertRaisesRegex(ValueError, "does not depend"):
            minnow.grad(lambda v: mnp.floor(v).sum())(x)
        for name, f in (("Floor", mnp.floor), ("Cast", lambda v: v.astype("int32").astype("float64")), ("ArgMax", lambda v: mnp.argmax(v) * 2.0),
                        ("Round, minnow.StopGradient", lambda v: mnp.round(v) + minnow.stop_gradient(v))):
            with self.assertRaisesRegex(ValueError, rf"parameter 1 \(f64\[2\]\) by operators that have derivatives: {name} ha(s|ve) none$"):
                minnow.grad(lambda u, v, f=f: (u + f(v)).sum(), argnums=(0, 1))(x, x)
        with self.assertRaisesRegex(ValueError, r"does not depend on parameter 0 \(f64\[2\]\)$"):
            minnow.grad(lambda v: minnow.Var(0.5) * v.shape[0])(x)
        with self.assertRaisesRegex(ValueError, "argument 0 has the dtype int64; there are gradients of floats"):
            minnow.grad(lambda v: v.sum())(minnow.Var([1, 2]))
        with self.assertRaisesRegex(TypeError, "argnums is the number of an argument, or a tuple of numbers, not 'v'"):
            minnow.grad(lambda v: v.sum(), argnums="v")
        with self.assertRaisesRegex(NotImplementedError, "Unique has no gradient"):
            minnow.grad(lambda v: expr.op("Unique", [v]))(minnow.Var([[1.0, 2.0], [3.0, 4.0]]))

    def differences(self, f, x, step=1e-6):
        """The gradient of f at x by central differences."""
        found = np.zeros_like(x)
        for at in np.ndindex(*x.shape):
            moved = [x.copy(), x.copy()]
            moved[0][at] += step
            moved[1][at] -= step
            found[at] = (float(f(minnow.Var(moved[0]))) - float(f(minnow.Var(moved[1])))) / (2 * step)
        return found

    def test_functions_of_numpy_by_differences(self):
        x, q = np.array([0.31, -0.62, 0.45, 1.87, -0.23]), np.arange(1.0, 6)
        for f in (lambda v: mnp.arctan2(v, 0.7), lambda v: mnp.arctan2(0.7, v), lambda v: mnp.arctan2(-v, -0.3), mnp.sinc, mnp.cbrt, lambda v: mnp.float_power(v + 2, 1.5),
                  lambda v: mnp.fmax(v, 0.1), lambda v: mnp.fmin(v, 0.1), lambda v: mnp.copysign(v, -1.0), mnp.positive, mnp.conj, mnp.conjugate,
                  lambda v: mnp.diag(v), lambda v: mnp.diag(v, 2), lambda v: mnp.diag(v, -1), mnp.diagflat, lambda v: mnp.modf(v * 3)[0], lambda v: mnp.ldexp(v, 3),
                  lambda v: mnp.logaddexp2(v, 0.5), mnp.median, lambda v: mnp.median(mnp.stack([v, v * v]), axis=0), mnp.nanmedian, lambda v: mnp.quantile(v, 0.3),
                  lambda v: mnp.percentile(v, [30, 75]), lambda v: mnp.partition(v, 2), lambda v: mnp.convolve(v, [1.0, 2.0, 4.0]), lambda v: mnp.convolve([1.0, 2.0], v, "same"),
                  lambda v: mnp.correlate(v, [1.0, 2.0]), lambda v: mnp.polymul(v, v), lambda v: mnp.float64(v), lambda v: v[v > 0], lambda v: v.reshape(5, 1)[[0, 0, 3], [0, 0, 0]],
                  lambda v: mnp.take_along_axis(v, mnp.argsort(v), 0)):
            loss = lambda v, f=f: (f(v).reshape(-1) * minnow.Var(np.cos(np.arange(f(minnow.Var(x)).size)))).sum() + (v * q).sum()
            np.testing.assert_allclose(minnow.grad(loss)(minnow.Var(x)), self.differences(loss, x), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(minnow.grad(lambda v: mnp.arctan2(v[0], v[1]))(minnow.Var([1.0, 0.0])), [0, -1])
        np.testing.assert_allclose(minnow.grad(lambda v: mnp.sinc(v))(minnow.Var(0.0)), 0)

    def test_symbolic_functions_have_the_values_of_numpy(self):
        special = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 8.0])
        y, x = (a.ravel() for a in np.meshgrid(special, special))
        for name, arguments in (("arctan2", (y, x)), ("copysign", (y, x)), ("cbrt", (special,)), ("sinc", (special[:4],)), ("fmax", (y, x)), ("fmin", (y, x))):
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(getattr(mnp, name)(*map(expr.trainable, arguments)), getattr(np, name)(*arguments), rtol=1e-15, atol=1e-16, err_msg=name)

    def test_linear_algebra_by_differences(self):
        random = np.random.default_rng(0)
        a, w = random.normal(size=(3, 3)) + 3 * np.eye(3), random.normal(size=(3, 3))
        stack = np.stack([a, a.T + 1])
        for f, at in ((lambda v: (mnp.linalg.inv(v) * w).sum(), a), (lambda v: mnp.linalg.det(v) * 2, a), (lambda v: mnp.linalg.slogdet(v)[1] + v.sum(), a),
                      (lambda v: (mnp.linalg.solve(v, w) * w).sum(), a), (lambda v: (mnp.linalg.solve(a, v) * w).sum(), w), (lambda v: mnp.linalg.solve(v, v[0]).sum(), a),
                      (lambda v: (mnp.linalg.inv(v) * w).sum(), stack), (lambda v: (mnp.linalg.det(v) ** 2).sum(), stack), (lambda v: (mnp.linalg.matrix_power(v, -2) * w).sum(), a)):
            np.testing.assert_allclose(minnow.grad(f)(minnow.Var(at)), self.differences(f, at), rtol=1e-5, atol=1e-6)
            second = lambda v, f=f: (minnow.grad(f)(v) * v).sum()
            np.testing.assert_allclose(minnow.grad(second)(minnow.Var(at)), self.differences(second, at), rtol=1e-4, atol=1e-5)

    def test_factorizations_by_differences(self):
        random = np.random.default_rng(1)
        tall, square = random.normal(size=(2, 4, 3)), random.normal(size=(2, 3, 3))
        wide, symmetric, positive = np.swapaxes(tall, 1, 2).copy(), square + np.swapaxes(square, 1, 2), square @ np.swapaxes(square, 1, 2) + np.eye(3)
        w, linalg = random.normal(size=(2, 4, 4)), mnp.linalg
        weighed = lambda x: (x * w[:, :x.shape[-2], :x.shape[-1]]).sum()
        both = lambda pair: weighed(pair[0]) + weighed(pair[1] * 2.0)

        def by_svd(v):  # a function that the signs of the vectors do not change
            u, s, vh = linalg.svd(v, full_matrices=False)
            return weighed(u * u) + weighed(vh * vh) + (s * s * w[0, 0, :3]).sum() + (u[..., :1] @ vh[..., :1, :]).sum()

        cases = [(lambda v: both(linalg.qr(v)), tall), (lambda v: both(linalg.qr(v)), wide), (lambda v: both(linalg.qr(v, "complete")), wide), (lambda v: weighed(linalg.qr(v, "r")), tall),
                 (by_svd, tall), (by_svd, wide), (by_svd, square), (lambda v: (linalg.svdvals(v) * w[0, 0, :3]).sum(), tall), (lambda v: linalg.norm(v[0], "nuc"), tall),
                 (lambda v: weighed(linalg.pinv(v)), tall), (lambda v: weighed(linalg.pinv(v)), wide), (lambda v: linalg.cond(v).sum(), square),
                 (lambda v: weighed(linalg.lstsq(v[0], w[0, :4, :2])[0].reshape(1, 3, 2)), tall), (lambda v: linalg.lstsq(tall[0], v[0, :, :1])[0].sum(), w)]
        # These count their argument as symmetric.
        turned = lambda v: v + mnp.matrix_transpose(v)
        cases += [(lambda v: weighed(linalg.cholesky(turned(v))), positive), (lambda v: weighed(linalg.cholesky(turned(v), upper=True)), positive),
                  (lambda v: weighed(linalg.eigh(turned(v))[1] ** 2) + (linalg.eigh(turned(v))[0] * w[0, 0, :3]).sum(), symmetric), (lambda v: (linalg.eigvalsh(turned(v), "U") ** 3).sum(), symmetric)]
        for number, (f, at) in enumerate(cases):
            with self.subTest(case=number):
                np.testing.assert_allclose(minnow.grad(f)(minnow.Var(at)), self.differences(f, at), rtol=1e-5, atol=1e-6)
        for f, at in (cases[0], cases[4], cases[9], cases[-4], cases[-2]):
            second = lambda v, f=f: (minnow.grad(f)(v) * at).sum()
            np.testing.assert_allclose(minnow.grad(second)(minnow.Var(at)), self.differences(second, at), rtol=1e-4, atol=1e-4)
        # Equal eigenvalues: a function that depends on no choice of vectors has a gradient.
        np.testing.assert_allclose(minnow.grad(lambda v: linalg.eigvalsh(v).sum())(minnow.Var(np.eye(3))), np.eye(3))
        with self.assertRaisesRegex(minnow.Unsupported, "full_matrices=False"):
            minnow.grad(lambda v: linalg.svd(v)[1].sum())(minnow.Var(tall))

    def test_transforms_by_differences(self):
        random = np.random.default_rng(2)
        x, w = random.normal(size=(3, 8)), random.normal(size=(3, 8))
        filter, fft = random.normal(size=8) + 1j * random.normal(size=8), mnp.fft
        size = lambda z: mnp.abs(z).sum()

        def in_place(v):
            z = fft.fft(v)
            z += 1.5
            z *= 2j
            return size(z)

        cases = [lambda v: (fft.fft(v).real * w).sum(), lambda v: (fft.ifft(v, axis=0).imag * w).sum(), lambda v: (fft.ifft(fft.fft(v) * filter).real ** 3).sum(),
                 lambda v: (fft.irfft(fft.rfft(v) * mnp.conj(fft.rfft(v))) ** 2).sum(), lambda v: (fft.irfft(v) ** 3).sum(), lambda v: size(fft.fft2(v)), lambda v: (fft.ifft2(v).real ** 3).sum(),
                 lambda v: size(fft.rfftn(v, s=(4, 7))), lambda v: (fft.irfft2(fft.rfft2(v) ** 2) ** 2).sum(), lambda v: (fft.hfft(fft.fft(v)) ** 2).sum() / 100, lambda v: size(fft.ihfft(v)),
                 lambda v: (fft.fftshift(fft.fft(v)).real * w).sum(), lambda v: size((fft.fft(v) * (1 + 2j) - 3 + v) / (fft.fft(v * v) + 2j)), lambda v: size(mnp.exp(fft.fft(v) * 0.1) + 1),
                 lambda v: size(fft.fft(v)[1:, ::2]) + size(fft.fft(v)[1]) + mnp.abs(fft.fft(v)[1, 3]) + size(fft.fft(v)[[0, 2]]), lambda v: size(-fft.fft(v).reshape(8, 3) * w.reshape(8, 3)),
                 lambda v: size(fft.fft(v).T @ fft.fft(v)), lambda v: size(mnp.transpose(fft.fft(v)).sum(axis=1)), lambda v: size(mnp.concatenate([fft.fft(v), v, fft.ifft(v)]).mean(axis=0)),
                 lambda v: (mnp.angle(fft.fft(v)[:, 1:4]) * w[:, :3]).sum(), lambda v: mnp.vdot(fft.fft(v), fft.fft(v * v)).real, in_place, lambda v: sum(mnp.abs(row).sum() for row in fft.fft(v)),
                 lambda v: size(v + 0.5j), lambda v: size(fft.fft(v) + [1.0] * 8 - w) + size(np.float64(2.0) + fft.fft(v)), lambda v: size(mnp.concatenate([fft.fft(v), w, [[1] * 8]])), lambda v: size(v * mnp.exp(1j * w)), lambda v: size(fft.fft(v).astype("complex128").copy().flatten().clone())]
        cases += [lambda v, n=n, norm=norm: size(fft.fft(v, n, norm=norm)) + size(fft.rfft(v, n, norm=norm)) + (fft.irfft(fft.fft(v, axis=0), n, norm=norm) ** 2).sum() for n in (5, 8, 11) for norm in (None, "ortho", "forward")]
        for number, f in enumerate(cases):
            with self.subTest(case=number):
                np.testing.assert_allclose(minnow.grad(f)(minnow.Var(x)), self.differences(f, x), rtol=1e-5, atol=1e-6)
        for f in (lambda v: (mnp.abs(fft.fft(v)) ** 3).sum(), cases[3]):
            second = lambda v, f=f: (minnow.grad(f)(v) * w).sum()
            np.testing.assert_allclose(minnow.grad(second)(minnow.Var(x)), self.differences(second, x), rtol=1e-4, atol=1e-4)
        narrow = minnow.grad(lambda v: size(fft.rfft(v)))(minnow.Var(x, "float32"))
        self.assertEqual(narrow.dtype, "float32")
        np.testing.assert_allclose(narrow, minnow.grad(lambda v: size(fft.rfft(v)))(minnow.Var(x)), rtol=1e-5, atol=1e-5)
        self.assertEqual(minnow.grad(lambda v: size(fft.fft(v * 0.0)))(minnow.Var(x)).tolist(), np.zeros((3, 8)).tolist())
        # Functions without a gradient are errors, so that none gets lost.
        for f in (lambda v: mnp.sin(fft.fft(v)).real.sum(), lambda v: (fft.fft(v) ** 3).real.sum(), lambda v: fft.fft(v).view("float64").sum(), lambda v: mnp.add(fft.fft(v), 1, out=mnp.zeros((3, 8), "complex128")).real.sum()):
            with self.assertRaises(minnow.Unsupported):
                minnow.grad(f)(minnow.Var(x))

    def test_gradients_in_gradients(self):
        x = minnow.Var([1.0, 2.0])
        cube = lambda v: (v ** 3).sum()
        np.testing.assert_allclose(minnow.grad(lambda v: minnow.grad(cube)(v).sum())(x), [6, 12])
        np.testing.assert_allclose(minnow.grad(lambda v: minnow.grad(cube)(v).sum() + v.sum())(x), [7, 13])
        fourth = lambda v: v ** 4
        for order, expected in enumerate((32.0, 48.0, 48.0, 24.0)):
            derivative = fourth
            for _ in range(order):
                derivative = minnow.grad(derivative)
            self.assertAlmostEqual(float(minnow.grad(derivative)(minnow.Var(2.0))), expected)
        # The inner function depends on the outer argument by a closure; values have gradients, too.
        outer = lambda a: minnow.grad(lambda b: (a * b * b).sum())(minnow.Var([2.0, 3.0])).sum()
        np.testing.assert_allclose(minnow.grad(outer)(x), [4, 6])
        given = lambda a: minnow.grad(lambda b: (a * b * b).sum())(np.array([2.0, 3.0])).sum()
        np.testing.assert_allclose(minnow.grad(given)(x), [4, 6])
        both = lambda v: (lambda value, gradient: value + (gradient["a"] ** 2).sum())(*minnow.value_and_grad(lambda p: mnp.exp(p["a"]).sum())({"a": v}))
        np.testing.assert_allclose(minnow.grad(both)(x), self.differences(both, np.array([1.0, 2.0])), rtol=1e-6)
        network = lambda v: mnp.tanh(mnp.sin(v.reshape(1, 2)) @ minnow.Var([[1.0, 2.0], [-1.0, 0.5]])).sum()
        penalty = lambda v: (minnow.grad(network)(v) ** 2).sum()
        np.testing.assert_allclose(minnow.grad(penalty)(x), self.differences(penalty, np.array([1.0, 2.0])), rtol=1e-5)

    def test_what_would_lose_a_gradient_is_an_error(self):
        a = minnow.Var(np.random.default_rng(0).normal(size=(3, 3)) + 3 * np.eye(3))
        for name, f in (("linalg.qr", lambda v: mnp.linalg.qr(v[:, :2], "complete")[0].sum()), ("tan", lambda v: mnp.tan(mnp.fft.fft(v)).real.sum()), ("prod", lambda v: mnp.abs(mnp.prod(v * 1j))),
                        ("i0", lambda v: mnp.i0(v).sum()), ("put", lambda v: (lambda y: (mnp.put(y, [0], 9.0), y.sum())[1])(v * 1.0)), ("unique", lambda v: mnp.unique(v).sum())):
            with self.assertRaisesRegex(NotImplementedError, name.replace(".", "[.]") + ".* has no gradient.*stop_gradient"):
                minnow.grad(lambda v, f=f: f(v) + v.sum())(a)
            f(a)  # a value, outside
            np.testing.assert_array_equal(minnow.grad(lambda v, f=f: f(minnow.stop_gradient(v)) + v.sum())(a), np.ones((3, 3)))
        scale = minnow.Var(0.1, "float32")
        rounded = lambda v: expr.dequantize_linear(expr.quantize_linear(v, scale), scale).sum() + v.sum()
        with self.assertRaisesRegex(NotImplementedError, "quantize_linear.* gives integers, which have no gradient.*prepare_qat"):
            minnow.grad(rounded)(minnow.Var([0.3], "float32"))
        w = expr.trainable(np.float32([0.3]))
        with self.assertRaisesRegex(NotImplementedError, "gives integers"):
            minnow.optim.TrainingStep(lambda x: rounded(w * x), minnow.optim.SGD([w]))(np.float32([1]))
        np.testing.assert_array_equal(minnow.grad(lambda v: sum(part.sum() for part in mnp.broadcast_arrays(v, np.ones((3, 3)))))(a), np.ones((3, 3)))
        for f in (lambda v: float(v[0, 0]), lambda v: v[0, 0].item(), lambda v: v.tolist()[0][0], lambda v: np.asarray(v)[0, 0], lambda v: v.numpy()[0, 0], lambda v: np.from_dlpack(v)[0, 0], lambda v: minnow.Var([v[0, 0], 1.0])[0], lambda v: mnp.array([v[0, 0], v[0, 1]])[0],
                  lambda v: mnp.vectorize(lambda t: t * t)(v)[0, 0]):
            with self.assertRaisesRegex(TypeError, "loses its gradient.*stop_gradient"):
                minnow.grad(lambda v, f=f: f(v) * v.sum())(a)
            minnow.grad(lambda v, f=f: f(minnow.stop_gradient(v)) * v.sum())(a)
        # Values without gradients, conditions and printing are nobody's loss.
        free = lambda v: (v[mnp.argsort(v[:, 0])] * mnp.zeros_like(v)).sum() + (v.sum() if v[0, 0] > 0 and repr(v) and str(v) and mnp.allclose(v, v) else 0)
        np.testing.assert_array_equal(minnow.grad(free)(a), np.ones((3, 3)))

    def test_the_forward_function_of_a_rule_may_call_the_function(self):  # as in JAX's documentation
        @minnow.custom_vjp
        def product(x, y):
            return mnp.sin(x) * y
        product.defvjp(lambda x, y: (product(x, y), (x, y)), lambda kept, g: (g * kept[1] * 100.0, g * 7.0))
        x, y = minnow.Var([0.5, 1.0]), minnow.Var([2.0, 3.0])
        value, (gx, gy) = minnow.value_and_grad(lambda x, y: product(x, y).sum(), argnums=(0, 1))(x, y)
        self.assertAlmostEqual(float(value), float((np.sin(x.numpy()) * y.numpy()).sum()))
        np.testing.assert_array_equal(gx, [200.0, 300.0])
        np.testing.assert_array_equal(gy, [7.0, 7.0])

    def test_functions_with_a_gradient_of_their_own_may_compute_at_once(self):
        @minnow.custom_gradient
        def largest(v):
            u, s, vh = np.linalg.svd(v.numpy())
            return minnow.Var(s[0]), lambda g: g * minnow.Var(np.outer(u[:, 0], vh[0]))
        a = np.random.default_rng(0).normal(size=(3, 3))
        np.testing.assert_allclose(minnow.grad(largest)(minnow.Var(a)), self.differences(lambda v: minnow.Var(np.linalg.norm(v.numpy(), 2)), a), rtol=1e-5)

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
