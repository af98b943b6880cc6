#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.numpy on placeholders with open dimensions: what is an expression gives NumPy's results for sizes that come later, the rest says
that it needs a value and, once there is one, computes at once."""
import sys
import unittest

try:
    import minnow
    import minnow.numpy as M
    import numpy as N
    from minnow import expr
except ImportError as error:
    print(error)
    sys.exit(77)

EXPRESSIONS = {
    "reshape": lambda m, x: m.reshape(x, (-1, 2)),
    "x.reshape": lambda m, x: x.reshape(2, -1),
    "ravel": lambda m, x: m.ravel(x),
    "flatten": lambda m, x: x.flatten(),
    "T": lambda m, x: x.T,
    "transpose": lambda m, x: m.transpose(x, (1, 0)),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, 1),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, -1),
    "expand_dims": lambda m, x: m.expand_dims(x, (0, -1)),
    "x[None]": lambda m, x: x[None],
    "squeeze": lambda m, x: m.squeeze(x[:, None], 1),
    "broadcast_to": lambda m, x: m.broadcast_to(x[:1], (3, 4)),
    "atleast_3d": lambda m, x: m.atleast_3d(x),
    "flip": lambda m, x: m.flip(x),
    "fliplr": lambda m, x: m.fliplr(x),
    "concatenate": lambda m, x: m.concatenate([x, x*2, m.ones((2, 4), "float32")]),
    "concatenate1": lambda m, x: m.concatenate([x, x], 1),
    "concatenateNone": lambda m, x: m.concatenate([x, x], None),
    "stack": lambda m, x: m.stack([x, x+1], 1),
    "vstack": lambda m, x: m.vstack([x, x[0]]),
    "hstack": lambda m, x: m.hstack([x, x]),
    "dstack": lambda m, x: m.dstack([x, x]),
    "column_stack": lambda m, x: m.column_stack([x[:, 0], x[:, 1]]),
    "append": lambda m, x: m.append(x, x),
    "split": lambda m, x: m.split(x, 2),
    "split1": lambda m, x: m.split(x, 2, 1),
    "array_split": lambda m, x: m.array_split(x, 4),
    "array_split1": lambda m, x: m.array_split(x, 3, 1),
    "split at": lambda m, x: m.split(x, [1, 2]),
    "unstack": lambda m, x: list(m.unstack(x, axis=1)),
    "tile": lambda m, x: m.tile(x, (2, 1, 2)),
    "repeat": lambda m, x: m.repeat(x, 3, 0),
    "repeatNone": lambda m, x: m.repeat(x, 2),
    "roll": lambda m, x: m.roll(x, 1, 0),
    "roll-": lambda m, x: m.roll(x, -3, 0),
    "rollNone": lambda m, x: m.roll(x, 5),
    "rot90": lambda m, x: m.rot90(x),
    "sort": lambda m, x: m.sort(x, 0),
    "sort1": lambda m, x: m.sort(x),
    "sortNone": lambda m, x: m.sort(x, None),
    "argsort": lambda m, x: m.argsort(x, 0),
    "where": lambda m, x: m.where(x>1, x, 0),
    "where2": lambda m, x: m.where(x[:, :1]>1, x, x*2),
    "clip": lambda m, x: m.clip(x, 0, 1),
    "take": lambda m, x: m.take(x, [0, 1], 0),
    "x[[0,1]]": lambda m, x: x[[0, 1]],
    "x[-1]": lambda m, x: x[-1],
    "x[::2]": lambda m, x: x[::2],
    "x[::-1,1:3]": lambda m, x: x[::-1, 1:3],
    "sum": lambda m, x: m.sum(x),
    "mean0": lambda m, x: m.mean(x, 0),
    "std": lambda m, x: m.std(x, 1),
    "var": lambda m, x: m.var(x),
    "max": lambda m, x: m.max(x, 0),
    "argmax": lambda m, x: m.argmax(x, 1),
    "cumsum": lambda m, x: m.cumsum(x, 0),
    "cumsumNone": lambda m, x: m.cumsum(x),
    "cumprod": lambda m, x: m.cumprod(x, 1),
    "any": lambda m, x: m.any(x>1, 0),
    "all": lambda m, x: m.all(x>-9),
    "prod": lambda m, x: m.prod(x, 1),
    "ptp": lambda m, x: m.ptp(x, 0),
    "average": lambda m, x: m.average(x, 0),
    "matmul": lambda m, x: x@x.T,
    "dot": lambda m, x: m.dot(x, m.ones((4, 2), "float32")),
    "inner": lambda m, x: m.inner(x, x),
    "outer": lambda m, x: m.outer(x[:, 0], x[0]),
    "einsum": lambda m, x: m.einsum("ij, kj->ik", x, x),
    "tensordot": lambda m, x: m.tensordot(x, x, ([1], [1])),
    "diff": lambda m, x: m.diff(x, axis=0),
    "pad": lambda m, x: m.pad(x, 1),
    "pad edge": lambda m, x: m.pad(x, ((1, 2), (0, 1)), "edge"),
    "pad reflect": lambda m, x: m.pad(x, 1, "reflect"),
    "pad wrap": lambda m, x: m.pad(x, 1, "wrap"),
    "take_along_axis": lambda m, x: m.take_along_axis(x, m.argsort(x, 0), 0),
    "norm": lambda m, x: m.linalg.norm(x, axis=1),
    "normAll": lambda m, x: m.linalg.norm(x),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "ones_like": lambda m, x: m.ones_like(x),
    "full_like": lambda m, x: m.full_like(x, 3),
    "count_nonzero": lambda m, x: m.count_nonzero(x>0, 0),
    "tril": lambda m, x: m.tril(x),
    "triu": lambda m, x: m.triu(x, 1),
    "nan_to_num": lambda m, x: m.nan_to_num(x),
    "isclose": lambda m, x: m.isclose(x, x+1e-9),
    "real": lambda m, x: m.real(x),
    "imag": lambda m, x: m.imag(x),
    "logaddexp": lambda m, x: m.logaddexp(x, x),
    "hypot": lambda m, x: m.hypot(x, x),
    "floor_divide": lambda m, x: x//2,
    "mod": lambda m, x: x%2,
    "log1p": lambda m, x: m.log1p(m.abs(x)),
    "expm1": lambda m, x: m.expm1(x),
    "log2": lambda m, x: m.log2(m.abs(x)+1),
    "log10": lambda m, x: m.log10(m.abs(x)+1),
    "exp2": lambda m, x: m.exp2(x),
    "square": lambda m, x: m.square(x),
    "degrees": lambda m, x: m.degrees(x),
    "isfinite": lambda m, x: m.isfinite(x),
    "trunc": lambda m, x: m.trunc(x),
    "round": lambda m, x: m.round(x, 1),
    "maximum.reduce": lambda m, x: m.maximum.reduce(x, 0),
    "astype": lambda m, x: x.astype("int32"),
    "logical_and": lambda m, x: m.logical_and(x>0, x<1),
    "vdot": lambda m, x: m.vdot(x, x),
    "block": lambda m, x: m.block([[x, x], [x, x]]),
    "trapezoid": lambda m, x: m.trapezoid(x, axis=0),
    "softmax": lambda m, x: m.exp(x-m.max(x, -1, keepdims=True))/m.sum(m.exp(x-m.max(x, -1, keepdims=True)), -1, keepdims=True),
    "ediff1d": lambda m, x: m.ediff1d(x),
    "nansum": lambda m, x: m.nansum(x, 0),
    "diagonal1": lambda m, x: m.diagonal(x, 1), "diagonal-1": lambda m, x: m.diagonal(x[None], -1, 2, 1),
    "diagonal": lambda m, x: m.diagonal(x), "trace": lambda m, x: m.trace(x),
    "arctan2": lambda m, x: m.arctan2(x, x+1),
    "cbrt": lambda m, x: m.cbrt(x),
    "copysign": lambda m, x: m.copysign(x, -1),
    "fmax": lambda m, x: m.fmax(x, 0),
    "fmin": lambda m, x: m.fmin(x, 0),
    "sinc": lambda m, x: m.sinc(x),
}

# Functions whose results depend on data, or that have no operator.
AT_ONCE = {
    "median": lambda m, x: m.median(x, 0),
    "gradient": lambda m, x: m.gradient(x, axis=0),
    "nonzero": lambda m, x: list(m.nonzero(x>0)),
    "mask": lambda m, x: x[x>0],
    "signbit": lambda m, x: m.signbit(x),
    "heaviside": lambda m, x: m.heaviside(x, 0.5),
    "interp": lambda m, x: m.interp(x, [0, 1, 2], [0, 10, 20]),
    "meshgrid": lambda m, x: list(m.meshgrid(x[0], x[:, 0])),
    "percentile": lambda m, x: m.percentile(x, 50, 0),
    "cov": lambda m, x: m.cov(x),
    "convolve": lambda m, x: m.convolve(x[:, 0], [1, 2, 1]),
    "correlate": lambda m, x: m.correlate(x[:, 0], [1., 2., 1.]),
    "histogram": lambda m, x: m.histogram(x)[0],
    "unique": lambda m, x: m.unique(x),
    "searchsorted": lambda m, x: m.searchsorted([0., 1.], x),
    "linalg.inv": lambda m, x: m.linalg.inv(x[:2, :2]),
    "fft": lambda m, x: m.fft.fft(x),
    "add.outer": lambda m, x: m.add.outer(x[:, 0], x[0]),
    "delete": lambda m, x: m.delete(x, 0, 0),
    "insert": lambda m, x: m.insert(x, 0, 5, 0),
    "kron": lambda m, x: m.kron(x, m.eye(2, dtype="float32")),
    "cross": lambda m, x: m.cross(x[:, :3], x[:, 1:]),
    "len": lambda m, x: len(x),
    "iter": lambda m, x: [r for r in x],
    "array_equal": lambda m, x: m.array_equal(x, x),
    "allclose": lambda m, x: m.allclose(x, x),
    "corrcoef": lambda m, x: m.corrcoef(x),
    "select": lambda m, x: m.select([x>0, x<-1], [x, -x], 7),
    "broadcast_arrays": lambda m, x: list(m.broadcast_arrays(x, x[:1])),
    "nanmean": lambda m, x: m.nanmean(x, 0),
    "nanmax": lambda m, x: m.nanmax(x, 0),
}


def why_not(given, wanted):
    """Why results are not NumPy's; None if they are."""
    if isinstance(wanted, (list, tuple)):
        if len(given) != len(wanted):
            return f"{len(given)} results, not {len(wanted)}"
        return next((why for why in map(why_not, given, wanted) if why), None)
    x, y = N.asarray(given), N.asarray(wanted)
    if x.shape != y.shape:
        return f"shape {x.shape}, not {y.shape}"
    if isinstance(given, minnow.Var) and x.dtype != y.dtype:
        return f"dtype {x.dtype}, not {y.dtype}"
    return None if N.allclose(x, y, atol=1e-5, equal_nan=True) else f"{x} is not {y}"


class Open(unittest.TestCase):
    def values(self, rows):
        return (N.random.default_rng(rows).standard_normal((rows, 4)) * 2).astype("float32")

    def test_expressions_hold_for_every_size(self):
        for name, function in EXPRESSIONS.items():
            with self.subTest(name):
                x = expr.placeholder("x", "float32", [None, 4])
                made = function(M, x)
                for rows in (4, 2, 6):
                    value = self.values(rows)
                    x.assign(value)
                    self.assertIsNone(why_not(made, function(N, value)), (name, rows))
                # Made after a value was given, too.
                made = function(M, x)
                x.assign(value[:2] * 3)
                self.assertIsNone(why_not(made, function(N, value[:2] * 3)), name)

    def test_the_rest_asks_for_a_value(self):
        for name, function in AT_ONCE.items():
            with self.subTest(name):
                x = expr.placeholder("x", "float32", [None, 4])
                with self.assertRaisesRegex(minnow.Error, "no value|open"):
                    function(M, x)
                value = self.values(4)
                x.assign(value)
                with N.errstate(all="ignore"):
                    self.assertIsNone(why_not(function(M, x), function(N, value)), name)

    def test_dtypes_and_order_of_sorting(self):
        for dtype in ("int8", "uint8", "int32", "int64", "float16", "float32", "float64"):
            x = expr.placeholder("x", dtype, [None])
            made, places = M.sort(x), M.argsort(x)
            value = N.random.default_rng(3).integers(0, 5, 40).astype(dtype)
            x.assign(value)
            self.assertIsNone(why_not(made, N.sort(value)))
            self.assertEqual(places.tolist(), N.argsort(value, kind="stable").tolist())
        x = expr.placeholder("x", "float32", [None])
        made = M.sort(x)
        x.assign(N.array([3, N.nan, -1, N.inf, -N.inf, 0], "float32"))
        self.assertIsNone(why_not(made, N.array([-N.inf, -1, 0, 3, N.inf, N.nan], "float32")))

    def test_accuracy_of_functions_made_of_others(self):
        x = expr.placeholder("x", "float64", [None])
        y = expr.placeholder("y", "float64", [None])
        near = N.concatenate([10.0 ** N.arange(-20, 3), -(10.0 ** N.arange(-20, 0.0)), [0, N.inf, N.nan]])
        with N.errstate(all="ignore"):
            for name in ("log1p", "expm1", "exp2", "log2", "log10", "trunc", "rad2deg"):
                made = getattr(M, name)(x)
                x.assign(near)
                N.testing.assert_allclose(N.asarray(made), getattr(N, name)(near), rtol=1e-14, err_msg=name)
            made = M.hypot(x, y), M.logaddexp(x, y)
            a, b = N.array([3e200, 0, N.inf, 1e-200, -5, -N.inf]), N.array([4e200, 0, 1, 1e-200, 12, -N.inf])
            x.assign(a)
            y.assign(b)
            N.testing.assert_allclose(N.asarray(made[0]), N.hypot(a, b), rtol=1e-14)
            N.testing.assert_allclose(N.asarray(made[1]), N.logaddexp(a, b), rtol=1e-14)

    def test_errors_are_told_where_they_are_known(self):
        x, y = expr.placeholder("x", "float32", [None, 4]), expr.placeholder("y", "float32", [None, 3])
        for call, text in ((lambda: M.concatenate([x, y]), "dimension 1.*size 4.*size 3"), (lambda: M.stack([x, y]), "size 3"), (lambda: M.squeeze(x), "no value"),
                           (lambda: M.squeeze(x, 1), "not equal to one"), (lambda: M.inner(x, y), "not aligned"),
                           (lambda: M.broadcast_to(x, (2, 3)), "could not be broadcast"), (lambda: M.unstack(x), "size of axis 0, which is open"), (lambda: M.reshape(x, (2, -1), order="F"), "order"),
                           (lambda: M.reshape(x, (-1, -1)), "one unknown"), (lambda: M.sort(expr.placeholder("z", "float32", None)), "z"),
                           (lambda: len(x), "first axis is open.*no value.*scan"), (lambda: list(x), "first axis is open.*no value.*scan")):
            with self.assertRaisesRegex(minnow.Error, text):
                call()
        odd = M.split(x, 2)
        x.assign(N.ones((3, 4), "float32"))
        with self.assertRaises(minnow.Error):
            odd[0].evaluate()

    def test_lengths_that_are_known(self):
        x = expr.placeholder("x", "float32", [2, None])
        self.assertEqual(len(x), 2)
        first, second = x
        sum = first + second * 2
        x.assign(N.array([[1, 2, 3], [4, 5, 6]], "float32"))
        self.assertEqual(sum.tolist(), [9, 12, 15])


if __name__ == "__main__":
    unittest.main()
