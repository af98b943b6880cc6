#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vars in functions of NumPy, the standard library, pandas, matplotlib and SciPy; the last three where they are installed."""
import decimal
import fractions
import importlib.util
import math
import os
import statistics
import sys
import unittest
import warnings

try:
    import minnow
    from minnow import numpy as mnp
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(77)


def needs(package):
    return unittest.skipIf(importlib.util.find_spec(package) is None, f"{package} is not installed")


class NumPy(unittest.TestCase):
    def setUp(self):
        self.v, self.i = minnow.Var([3.0, 1.0, 2.0]), minnow.Var([0, 1, 2])

    def test_functions_that_write_into_an_array(self):
        def made(write, *arguments):
            array = np.zeros(3)
            write(array, *arguments)
            return array.tolist()
        self.assertEqual(made(np.copyto, self.v), [3, 1, 2])
        self.assertEqual(made(lambda a: np.copyto(a, self.v, where=self.v > 1)), [3, 0, 2])
        self.assertEqual(made(np.put, self.i, self.v), [3, 1, 2])
        self.assertEqual(made(np.put, [2, 0], self.v), [1, 0, 3])
        self.assertEqual(made(np.putmask, self.v > 1, self.v), [3, 0, 2])
        self.assertEqual(made(np.place, self.v > 1, self.v), [3, 0, 1])
        self.assertEqual(made(np.put_along_axis, self.i, self.v, 0), [3, 1, 2])
        matrix = np.zeros((3, 3))
        np.fill_diagonal(matrix, self.v)
        self.assertEqual(matrix.diagonal().tolist(), [3, 1, 2])
        with self.assertRaises(TypeError):
            np.copyto(np.zeros(3, "i4"), self.v)  # NumPy's own rule of casting
        array = np.zeros(3)
        np.add.at(array, [0, 0], self.v[:2])
        self.assertEqual(array.tolist(), [4, 0, 0])
        # Into a Var minnow.numpy's write.
        x = minnow.Var([0.0, 0.0, 0.0])
        np.copyto(x, np.array([1.0, 2.0, 3.0]))
        np.put(x, [0], 7.0)
        self.assertEqual(x.tolist(), [7, 2, 3])

    def test_permutations(self):
        for draw in (np.random.permutation, np.random.default_rng(0).permutation):
            drawn = draw(self.v)
            self.assertEqual(sorted(drawn.tolist()), [1, 2, 3])
            self.assertEqual(draw(minnow.Var([[1.0, 2.0], [3.0, 4.0]])).shape, (2, 2))
        self.assertEqual(self.v.tolist(), [3, 1, 2])
        self.assertEqual(np.random.choice(self.v, 2).shape, (2,))

    def test_memory_that_an_array_shares(self):
        array = np.asarray(self.v)
        self.assertTrue(np.may_share_memory(array, self.v) and np.shares_memory(self.v, array))
        self.assertFalse(np.may_share_memory(np.zeros(3), self.v) or np.shares_memory(np.zeros(3), self.v))
        self.assertFalse(mnp.shares_memory([1, 2], self.v))

    def test_what_no_var_can_hold_runs_on_arrays(self):
        a, b = np.broadcast_arrays(self.v, None)
        self.assertEqual((a.tolist(), b.tolist()), ([3, 1, 2], [None] * 3))
        self.assertEqual(np.array_equal(np.array(["a"]), self.v), False)
        self.assertEqual(np.isin(np.array(["1"]), self.v).tolist(), [False])
        with self.assertRaises(minnow.InvalidType):
            np.sum(self.v, axis="a")
        with self.assertRaises(TypeError):
            np.sum(self.v, axes=0)
        # Functions that minnow.numpy has are its own.
        self.assertIsInstance(np.sum(self.v), minnow.Var)
        self.assertIsInstance(np.add(np.ones(3), self.v), minnow.Var)

    def test_dtypes_hash_as_those_of_numpy(self):
        for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
            ours, theirs = getattr(minnow, name, None) or getattr(mnp, name), np.dtype(name)
            self.assertEqual((ours == theirs, hash(ours)), (True, hash(theirs)), name)
            self.assertEqual(({ours: 1}[theirs], {theirs: 2}[ours], len({ours, theirs})), (1, 2, 1))
        self.assertEqual(len({hash(d) for d in (minnow.float32, minnow.float64, minnow.bfloat16, minnow.int32, minnow.uint32)}), 5)

    def test_a_var_is_a_sequence(self):
        import operator
        self.assertEqual((operator.length_hint(self.v), operator.getitem(self.v, -1).item()), (3, 2.0))
        self.assertEqual([float(x) for x in reversed(self.v)], [2, 1, 3])
        self.assertEqual(max(self.v).item(), 3)
        with self.assertRaises(IndexError):
            self.v[3]


class StandardLibrary(unittest.TestCase):
    def setUp(self):
        self.v = minnow.Var([3.0, 1.0, 2.0])

    def test_statistics(self):
        for v in (self.v, self.v.astype("float32"), minnow.Var([3, 1, 2]), minnow.Var([3.0, 1.0, 2.0]) * 1):
            self.assertEqual([float(statistics.mean(v)), float(statistics.fmean(v)), float(statistics.median(v)), float(statistics.stdev(v))], [2, 2, 2, 1])
            self.assertEqual(float(statistics.pvariance(v)), float(statistics.pvariance([3, 1, 2])) if v.dtype.kind == "f" else float(statistics.pvariance([3.0, 1.0, 2.0])))
        self.assertEqual((math.fsum(self.v), float(sum(self.v)), float(math.prod(self.v))), (6, 6, 6))
        self.assertEqual(self.v[0].as_integer_ratio(), (3, 1))
        self.assertEqual(fractions.Fraction(*minnow.Var(0.25).as_integer_ratio()), fractions.Fraction(1, 4))

    def test_fractions_and_decimals_become_numbers(self):
        self.assertEqual(minnow.Var(fractions.Fraction(1, 4)).item(), 0.25)
        self.assertEqual(minnow.Var([decimal.Decimal("0.5"), 1]).tolist(), [0.5, 1])
        self.assertEqual((self.v * fractions.Fraction(1, 2)).tolist(), [1.5, 0.5, 1])
        self.assertEqual(minnow.Var(fractions.Fraction(1, 4), "float32").dtype, "float32")
        with self.assertRaises(TypeError):
            minnow.Var("1/4")


@needs("pandas")
class Pandas(unittest.TestCase):
    def test_columns_indices_and_bins(self):
        import pandas as pd
        v = minnow.Var([3.0, 1.0, 2.0])
        self.assertEqual(pd.Index(v).tolist(), [3, 1, 2])
        self.assertEqual(pd.Series(v, index=minnow.Var([5, 6, 7]))[6], 1)
        self.assertEqual(pd.DataFrame({"a": v})["a"].tolist(), [3, 1, 2])
        self.assertEqual(pd.cut(v, 2, labels=False).tolist(), [1, 0, 0])
        self.assertEqual(pd.cut(v, minnow.Var([0.0, 1.5, 4.0]), labels=False).tolist(), [1, 0, 1])
        self.assertEqual(pd.qcut(v, 3, labels=False).tolist(), [2, 0, 1])
        self.assertEqual(pd.array(v).tolist(), [3, 1, 2])
        self.assertEqual(pd.isna(minnow.Var([1.0, math.nan])).tolist(), [False, True])
        for total in (pd.Series([1.0, 2.0, 3.0]) + v, v + pd.Series([1.0, 2.0, 3.0])):
            self.assertIsInstance(total, pd.Series)
            self.assertEqual(total.tolist(), [4, 3, 5])
        self.assertEqual(minnow.Var(pd.Series([1.0, 2.0])).tolist(), [1, 2])


@needs("matplotlib")
class Matplotlib(unittest.TestCase):
    def test_plots(self):
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
        v, image = minnow.Var([3.0, 1.0, 2.0]), minnow.Var([[1.0, 2.0], [3.0, 4.0]])
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            self.assertEqual([bar.get_height() for bar in plt.bar(v, v)], [3, 1, 2])
            for draw in (lambda: plt.barh(v, v, xerr=v), lambda: plt.plot(v, v), lambda: plt.scatter(v, v, c=v, s=v), lambda: plt.hist(v), lambda: plt.imshow(image),
                         lambda: plt.errorbar(v, v, yerr=v), lambda: plt.fill_between(v, v), lambda: plt.contourf(image), lambda: plt.boxplot(v), lambda: plt.pie(v),
                         lambda: plt.stackplot(v, v, v), lambda: plt.xticks(v)):
                draw()
        plt.close("all")


@needs("scipy")
class SciPy(unittest.TestCase):
    def test_functions(self):
        import scipy.special
        import scipy.stats
        import scipy.signal
        v = minnow.Var([3.0, 1.0, 2.0])
        np.testing.assert_allclose(scipy.special.erf(v), scipy.special.erf([3.0, 1.0, 2.0]))
        np.testing.assert_allclose(scipy.special.jv(1, v), scipy.special.jv(1, [3.0, 1.0, 2.0]))
        self.assertEqual(scipy.stats.describe(v).mean, 2)
        self.assertEqual(np.asarray(scipy.signal.convolve(v, v)).tolist(), [9, 6, 13, 4, 4])


if __name__ == "__main__":
    os.environ.setdefault("MPLCONFIGDIR", os.path.join(os.environ.get("TMPDIR", "/tmp"), "matplotlib"))
    unittest.main()
