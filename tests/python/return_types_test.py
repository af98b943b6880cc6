#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy in, NumPy out: what functions of minnow.numpy, minnow.expr and minnow.cv return, by what they are given."""
import subprocess
import sys
import threading
import unittest

try:
    import minnow
    import minnow.numpy as mnp
    import numpy as np
    from minnow import Var, cv, expr
except ImportError as error:
    print(error)
    sys.exit(77)

A = np.arange(6, dtype=np.float32).reshape(2, 3)
V = Var(A)


class Rule(unittest.TestCase):
    def array(self, result, expected=None):
        self.assertIs(type(result), np.ndarray)
        self.assertTrue(result.flags.writeable)
        result[...] = result.copy()
        if expected is not None:
            np.testing.assert_allclose(result, expected, rtol=1e-6)

    def test_arrays_alone_give_arrays(self):
        self.array(mnp.add(A, A), A + A)
        self.array(mnp.add(A, 2), A + 2)  # with numbers and lists of Python too
        self.array(mnp.add(2.5, A), A + 2.5)
        self.array(mnp.add(A, [1, 2, 3]), A + [1, 2, 3])
        self.array(mnp.sum(A), A.sum())
        self.array(mnp.sum(A, axis=0), A.sum(0))
        self.array(mnp.add.reduce(A), A.sum(0))
        self.array(mnp.linalg.norm(A), np.linalg.norm(A))
        self.array(mnp.fft.fft(A), np.fft.fft(A))
        self.array(mnp.sort(A), A)
        self.array(mnp.where(A > 1, A, 0), np.where(A > 1, A, 0))
        self.array(mnp.sqrt(np.float64(2)), np.sqrt(2))
        self.array(mnp.zeros_like(A), np.zeros((2, 3)))
        self.array(mnp.add(x := A.astype(np.float16), x), x + x)
        self.array(expr.relu(A - 2), np.maximum(A - 2, 0))
        self.array(expr.matmul(A, A.T), A @ A.T)
        self.array(expr.op("Relu", [A]), A)
        self.array(cv.resize(A.astype(np.uint8), (6, 4)))
        self.array(cv.cvtColor(np.zeros((2, 3, 3), np.uint8), cv.COLOR_BGR2GRAY))
        self.array(mnp.random.default_rng(1).permutation(A))
        self.array(mnp.random.default_rng(1).normal(A), None)

    def test_a_var_anywhere_gives_vars(self):
        for result in (mnp.add(A, V), mnp.add(V, A), mnp.where(A > 1, V, 0), mnp.concatenate([A, V]), mnp.block([[A], [V]]), mnp.clip(A, 0, V),
                       mnp.add(A, A, where=V > 1), expr.matmul(A, V.T), expr.op("Add", [A, V]), mnp.sum(V), mnp.add.reduce(V), mnp.linalg.norm(V)):
            self.assertIs(type(result), Var)

    def test_neither_gives_vars(self):
        for result in (mnp.add(1, 2), mnp.sum([1, 2]), mnp.zeros((2, 3)), mnp.arange(3), mnp.concatenate([[1], [2]]), mnp.random.default_rng(1).random(3), expr.relu([1.0]),
                       mnp.zeros(np.int64(3)), mnp.ones((np.int32(2), 2)), mnp.sum([1, 2], axis=np.int64(0)), mnp.random.default_rng(1).random(np.int64(3))):
            self.assertIs(type(result), Var)

    def test_makers_give_vars_of_anything(self):
        for result in (mnp.asarray(A), mnp.array(A), mnp.asanyarray(A), mnp.ascontiguousarray(A), mnp.asarray_chkfinite(A), mnp.frombuffer(A.copy().data, "float32"),
                       mnp.from_dlpack(A), expr.const(A), expr.trainable(A), expr.convert(A[None, None], expr.NCHW), Var(A)):
            self.assertIs(type(result), Var)

    def test_several_results(self):
        for result in (mnp.split(A, 3, axis=1), mnp.meshgrid(A[0], A[1]), mnp.nonzero(A), mnp.divmod(A, 2), mnp.broadcast_arrays(A, A[0]), mnp.unique(A, return_counts=True),
                       mnp.linalg.svd(A), expr.ops("Split", [A], 3, axis=1, num_outputs=3)):
            for item in result:
                self.array(item)
        q = mnp.linalg.qr(A)
        self.assertIs(type(q), type(mnp.linalg.qr(V)))  # named tuples stay such
        self.array(q.Q @ q.R, A)
        self.assertIsInstance(mnp.shape(A), tuple)
        self.assertEqual(mnp.ndim(A), 2)
        self.assertIs(mnp.array_equal(A, A), True)

    def test_arrays_within_lists(self):
        self.array(mnp.concatenate([A, A]), np.concatenate([A, A]))
        self.array(mnp.stack((A, A)), np.stack((A, A)))
        self.array(mnp.block([[A, A], [A, A]]), np.block([[A, A], [A, A]]))
        self.array(mnp.einsum("ij,kj->ik", A, A), A @ A.T)
        self.array(mnp.concatenate([[1.0], A[0]]), np.concatenate([[1.0], A[0]]))

    def test_results_are_memory_of_their_own(self):
        x = A.copy()
        for function in (lambda x: mnp.reshape(x, (3, 2)), lambda x: mnp.ravel(x), lambda x: mnp.positive(x), lambda x: mnp.transpose(x).T, mnp.squeeze,
                         lambda x: mnp.astype(x, "float32"), mnp.real, mnp.atleast_2d, expr.identity, lambda x: mnp.split(x, 1)[0], lambda x: mnp.broadcast_to(x, (2, 2, 3))):
            y = function(x)
            self.array(y)
            self.assertFalse(np.shares_memory(x, y))
            y[...] = 7
            np.testing.assert_array_equal(x, A)
        fixed = A.copy()
        fixed.flags.writeable = False
        mnp.reshape(fixed, (6,))[0] = 9
        self.assertEqual(fixed[0, 0], 0)

    def test_out(self):
        out = np.empty_like(A)
        self.assertIs(mnp.add(A, A, out=out), out)
        np.testing.assert_array_equal(out, A + A)
        var = Var(np.zeros((2, 3), np.float32))
        self.assertIs(type(mnp.add(A, A, out=var)), Var)

    def test_functions_that_call_each_other_see_vars(self):
        self.array(mnp.median(A), np.median(A))
        self.array(mnp.cov(A), np.cov(A))
        self.array(mnp.interp(A, [0, 5], [0, 50]), A * 10)
        self.array(mnp.linalg.lstsq(A.T, A[:, 0].repeat(2)[:3])[0])
        self.array(mnp.apply_along_axis(lambda row: row.sum(), 1, A), A.sum(1))
        with self.assertRaises(ValueError):
            mnp.reshape(A, (4, 4))
        self.array(mnp.add(A, 1))  # an error leaves nothing behind

    def test_threads_do_not_disturb_each_other(self):
        wrong = []

        def work(x, kind):
            for _ in range(300):
                if type(mnp.median(x)) is not kind:
                    wrong.append(kind)

        threads = [threading.Thread(target=work, args=case) for case in ((A, np.ndarray), (V, Var)) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_code_of_users_within_an_operator(self):
        seen = []  # it is given arrays

        @expr.custom_operator("test.example.Sees", shape=lambda x: x.shape)
        def sees(x):
            seen.append((type(mnp.add(A, 1)), type(mnp.add(x, 1))))
            return x

        self.array(expr.op("test.example.Sees", [A]))
        self.assertEqual(set(seen), {(np.ndarray, np.ndarray)})

    def test_what_depends_on_placeholders_stays_a_var(self):
        x = expr.placeholder("x", "float32", [2, 3])
        self.assertIs(type(mnp.add(A, x)), Var)

    def test_subclasses_and_errors(self):
        self.array(mnp.add(np.ma.masked_array(A), 1))
        with self.assertRaisesRegex(TypeError, "keepdims"):
            mnp.sum(A, keepdim=True)

    def test_without_numpy(self):
        text = ("import sys\nsys.modules['numpy'] = None\nimport minnow.numpy as np, array\n"
                "assert type(np.add(array.array('f', [1, 2]), 1)) is type(np.zeros(3))\n")
        result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
