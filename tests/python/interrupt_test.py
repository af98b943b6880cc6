#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, or any signal whose handler raises, ends what would take minutes to centuries: on the thread that Python calls, wherever the work is done."""
import os
import signal
import sys
import tempfile
import time
import unittest

try:
    import numpy as np

    import minnow
    import minnow.numpy as mnp
    from minnow import expr
except ImportError as error:
    print(error)
    sys.exit(77)


class Pressed(BaseException):
    """Like KeyboardInterrupt, no Exception."""


SOON = 20  # seconds, on a machine that does other things as well


def long_var():
    x = mnp.ones((1, 16, 1000, 1000), dtype="float32")
    return expr.op("AveragePool", [x], kernel_shape=[1001, 1001], pads=[500, 500, 500, 500])


@unittest.skipUnless(hasattr(signal, "setitimer"), "no timers")
class InterruptTest(unittest.TestCase):
    def setUp(self):
        self.count = 0

        def press(number, frame):
            self.count += 1
            raise Pressed()
        self.before = signal.signal(signal.SIGALRM, press)

    def tearDown(self):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)

    def ends(self, call, what=""):
        """Once: what raises again after the first time would be computing anew."""
        self.count = 0
        start = time.monotonic()
        with self.subTest(what), self.assertRaises(Pressed):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                call()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertEqual(self.count, 1)
        self.assertLess(time.monotonic() - start, SOON)

    def test_values(self):
        self.ends(lambda: long_var().numpy(), "numpy()")
        self.ends(lambda: long_var().evaluate(), "evaluate()")
        self.ends(lambda: float(long_var()[0, 0, 0, 0]), "float()")
        self.ends(lambda: repr(long_var()), "repr()")

    def test_values_that_numpy_asks_for(self):
        self.ends(lambda: np.asarray(long_var()), "asarray")
        self.ends(lambda: np.array(long_var()), "array")
        self.ends(lambda: np.array(long_var(), dtype="float64"), "array of another dtype")
        self.ends(lambda: memoryview(long_var()), "memoryview")
        self.ends(lambda: np.stack([np.ones((1, 16, 1000, 1000), "float32"), long_var().__array__()]), "__array__")

    def test_an_error_that_reached_its_caller_is_not_raised_again(self):
        x = expr.placeholder("x", "float32", [2])
        try:
            memoryview(x)
        except minnow.Error as error:
            self.assertIn("x", str(error))
        else:
            self.fail("a placeholder without a value has no buffer")
        x.assign(np.float32([1, 2]))
        np.testing.assert_array_equal(x.__array__(), [1, 2])
        np.testing.assert_array_equal(np.asarray(x), [1, 2])

    def test_errors_of_values_reach_numpy_as_they_are(self):
        x = mnp.asarray([[1.0, 2.0], [3.0, 4.0]])
        index = mnp.asarray([7])
        for make in (np.asarray, np.array):
            with self.assertRaisesRegex(minnow.Error, "7"):
                make(expr.op("Gather", [x, index]))

    def test_models_and_conversions(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "det.minnow")
            x = expr.placeholder("x", "float32", [1])
            big = expr.placeholder("big", "float32", [6000, 6000])
            det = expr.op("Det", [big])
            expr.save([det + x], path)
            model = minnow.load(path)
            self.ends(lambda: model(x=np.ones(1, "float32"), big=np.random.default_rng(1).normal(size=(6000, 6000)).astype("float32")), "a module")
            # A constant that takes as long to fold.
            folded = os.path.join(folder, "folded.minnow")
            expr.save([expr.op("Det", [mnp.asarray(np.random.default_rng(1).normal(size=(6000, 6000)).astype("float32"))]) + x], folded)
            self.ends(lambda: minnow.load(folded, optimize="standard"), "a conversion")

    def test_minnow_numpy(self):
        a = mnp.random.default_rng(1).normal(size=(3000, 3000))
        a.evaluate()
        self.ends(lambda: mnp.linalg.svd(a), "svd")
        self.ends(lambda: mnp.linalg.eig(a[:1200, :1200]), "eig")
        self.ends(lambda: mnp.linalg.inv(mnp.linalg.inv(mnp.linalg.inv(a))), "inv")

    def test_the_next_call_is_right(self):
        self.ends(lambda: long_var().numpy())
        x = mnp.ones((1, 1, 8, 8), dtype="float32")
        y = expr.op("AveragePool", [x], kernel_shape=[3, 3])
        np.testing.assert_array_equal(y.numpy(), np.ones((1, 1, 6, 6), "float32"))


if __name__ == "__main__":
    unittest.main()
