#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.numpy against NumPy: generated calls of every function over dtypes, shapes, axes and edge values.

Results have NumPy's dtype and shape and are equal within 1 ulp or 1e-6; what NumPy refuses is refused with an exception of the same class.
Prints the number of cases and of functions. MINNOW_PARITY_PART "1/4" runs every fourth group of cases; --function NAME those of one function.
"""
import argparse
import io
import itertools
import math
import os
import sys
import time
import warnings

try:
    import numpy as N
    import minnow.numpy as M
    from minnow._minnow import Var
except ImportError as error:
    print(error)
    sys.exit(77)

warnings.simplefilter("ignore")
N.seterr(all="ignore")

CASES = []  # (function's name, group, call of one module)
ALL = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")
WHOLE = ("bool", "uint8", "int64")
FLOATS = ("float16", "float32", "float64")
NUMBERS = tuple(name for name in ALL if name != "bool")
COMPLEX = ("complex64", "complex128")
SHAPES = ((), (0,), (1,), (7,), (3, 4), (2, 3, 4), (1, 5), (0, 3), (2, 0, 3))
EDGES = {"float": [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5, 1e-3, 30.0, math.inf, -math.inf, math.nan, 1e4],
         "int": [0, 1, 2, 3, 7, 100, 127, -1, -128, 5]}


def data(shape, dtype, kind="any", seed=0):
    return N.asarray(elements(shape, dtype, kind, seed))


def elements(shape, dtype, kind, seed):
    """Elements of a dtype. kind: any, finite, positive, unit (within -1 and 1), small (whole numbers), edge."""
    random = N.random.default_rng([len(shape), *shape, sum(map(ord, dtype)), seed])
    size = int(N.prod(shape))
    if dtype == "bool":
        return (random.random(shape) < 0.5)
    if dtype in COMPLEX:
        return (data(shape, "float64", kind, seed) + 1j * data(shape, "float64", kind, seed + 1)).astype(dtype)
    if dtype.startswith("float"):
        if kind == "edge":
            return N.resize(N.array(EDGES["float"]), size).reshape(shape).astype(dtype)
        if kind == "small":
            return random.integers(-4, 5, shape).astype(dtype)
        if kind == "unit":
            return random.uniform(-1, 1, shape).astype(dtype)
        if kind == "positive":
            return random.uniform(0.1, 4, shape).astype(dtype)
        return (random.standard_normal(shape) * 3).astype(dtype)
    if kind == "edge":
        return N.resize(N.array(EDGES["int"]), size).reshape(shape).astype(dtype)
    low, high = (0, 12) if dtype.startswith("u") or kind == "positive" else (-9, 10)
    if kind == "positive":
        low = 1
    return random.integers(low, high, shape).astype(dtype)


def add(name, call, *arguments, tolerance=None, **options):
    """One case: call(module, *arguments) with arrays made for the module."""
    CASES.append((name, call, arguments, options, tolerance))


def call_of(name):
    def call(module, *arguments, **options):
        function = module
        for part in name.split("."):
            function = getattr(function, part)
        return function(*arguments, **options)
    return call


def case(name, *arguments, tolerance=None, **options):
    CASES.append((name, call_of(name), arguments, options, tolerance))


def method(name, x, *arguments, **options):
    CASES.append(("ndarray." + name, lambda module, x, *args, **opts: getattr(x, name)(*args, **opts), (x, *arguments), options, None))


# ---- Comparison

def ours(value):
    if isinstance(value, N.ndarray):
        return Var(value, copy=True)
    if isinstance(value, N.generic):
        return Var(value, copy=True)
    if isinstance(value, N.dtype):
        return value.name
    if isinstance(value, list):
        return [ours(item) for item in value]
    if isinstance(value, tuple):
        return tuple(ours(item) for item in value)
    if isinstance(value, dict):
        return {key: ours(item) for key, item in value.items()}
    return value


def copied(value):
    if isinstance(value, N.ndarray):
        return value.copy()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    return value


# Where the sign of a zero is part of the meaning (of equals any may be the largest, or the first in order).
SIGNED = ("add", "subtract", "multiply", "divide", "negative", "copysign", "floor", "ceil", "trunc", "rint", "sqrt", "fix", "modf", "round", "positive", "conjugate")


def same(a, b, tolerance=None, name=""):
    """Why a (ours) is not b (NumPy's); None where it is."""
    if isinstance(b, (tuple, list)) and not isinstance(a, Var):
        if len(a) != len(b):
            return f"{len(a)} results, not {len(b)}"
        for i, (one, other) in enumerate(zip(a, b)):
            why = same(one, other, tolerance, name)
            if why:
                return f"result {i}: {why}"
        return None
    if isinstance(b, (str, bytes)) or b is None or isinstance(b, type) or callable(b):
        return None if a == b else f"{a!r} is not {b!r}"
    if isinstance(b, N.dtype):
        return None if a == b else f"dtype {a}, not {b}"
    array = isinstance(a, Var)
    x = N.asarray(a) if array else N.asarray(a)
    y = N.asarray(b)
    if x.shape != y.shape:
        return f"shape {x.shape}, not {y.shape}"
    if array and isinstance(b, (N.ndarray, N.generic)) and x.dtype != y.dtype:
        return f"dtype {x.dtype}, not {y.dtype}"
    if y.dtype.kind in "biu" and not (x.dtype.kind in "fc"):
        return None if N.array_equal(x, y) else f"{x.tolist()!r:.300} is not {y.tolist()!r:.300}"
    if y.size == 0:
        return None
    kind = y.dtype if y.dtype.kind in "fc" else N.dtype("float64")
    limit = {"float16": 1e-3, "float32": 1e-6, "complex64": 2e-6}.get(kind.name, 1e-6) if tolerance is None else tolerance
    wide = "complex128" if kind.kind == "c" or x.dtype.kind == "c" else "float64"
    xs, ys = x.astype(wide), y.astype(wide)
    near = (N.abs(xs - ys) <= limit * (1 + N.abs(ys))) | (xs == ys) | (N.isnan(xs) & N.isnan(ys))
    if kind.name in ("float16", "float32", "float64"):
        near |= (N.abs(xs - ys) <= N.spacing(N.abs(y).astype(kind)).astype("float64") * 1.01) & N.isfinite(ys)
        signs = (xs == 0) & (ys == 0) & (N.signbit(x) != N.signbit(y))
        if signs.any() and name in SIGNED:
            return f"the sign of a zero differs: {x.tolist()!r:.200} and {y.tolist()!r:.200}"
    if near.all():
        return None
    bad = N.argwhere(~near)[0]
    return f"at {tuple(map(int, bad))}: {x[tuple(bad)]!r} is not {y[tuple(bad)]!r} (of {x.tolist()!r:.200} and {y.tolist()!r:.200})"


# ---- Cases

def elementwise():
    unary = ("sqrt exp log sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh log1p expm1 log2 log10 exp2 cbrt deg2rad rad2deg radians degrees fabs floor ceil "
             "trunc rint absolute negative positive square reciprocal sign conjugate isnan isinf isfinite signbit logical_not spacing abs conj fix sinc acos acosh asin asinh atan atanh "
             "isposinf isneginf isreal iscomplex real imag angle nan_to_num modf frexp iscomplexobj isrealobj").split()
    for name in unary:
        for dtype in ALL:
            for shape in ((), (0,), (14,), (3, 4)):
                for kind in ("any", "edge") if shape not in ((), (0,)) else ("any",):
                    x = data(shape, dtype, kind)
                    if name == "reciprocal" and dtype not in FLOATS:
                        x = N.where(x == 0, 1, x).astype(dtype)
                    case(name, x)
        if name not in ("cbrt", "deg2rad", "rad2deg", "radians", "degrees", "fabs", "floor", "ceil", "trunc", "fix", "spacing", "frexp", "modf", "signbit", "isposinf", "isneginf"):
            for dtype in COMPLEX:
                case(name, data((5,), dtype, "unit"))
    for name in ("invert", "bitwise_not", "bitwise_invert", "bitwise_count"):
        for dtype in ALL:
            for shape in ((), (9,), (2, 3)):
                case(name, data(shape, dtype, "edge" if shape else "any"))
    binary = ("add subtract multiply divide true_divide floor_divide remainder mod fmod power arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside maximum minimum fmax fmin "
              "gcd lcm left_shift right_shift bitwise_and bitwise_or bitwise_xor equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor float_power "
              "divmod pow atan2 bitwise_left_shift bitwise_right_shift").split()
    pairs = [(a, a) for a in ALL] + [("uint8", "int8"), ("int32", "float32"), ("bool", "float16"), ("int64", "float64"), ("float16", "float32"), ("uint8", "float16"), ("bool", "int64")]
    for name in binary:
        for a, b in pairs:
            for left, right in (((4,), (4,)), ((3, 1), (4,)), ((), (2, 3)), ((0,), (1,))):
                x, y = data(left, a, "any", 1), data(right, b, "positive", 2)
                if "shift" in name:
                    y = (y % 7).astype(b) if b != "bool" else y
                if name in ("power", "pow", "float_power"):
                    x = N.abs(x).astype(a) if a != "bool" else x
                    y = (y % 4).astype(b) if b != "bool" else y
                if name in ("floor_divide", "remainder", "mod", "fmod", "divmod") and b == "bool":
                    y = N.ones_like(y)
                case(name, x, y)
        for dtype in FLOATS:
            if name not in ("power", "pow", "float_power"):
                grid = N.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.5, math.inf, -math.inf, math.nan])
                x, y = N.meshgrid(grid, grid)
                case(name, x.astype(dtype), y.astype(dtype))
        for dtype in ("uint8", "int64", "float32", "float64"):
            for number in (2, 3, 1.5, True):
                if name in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift") and number == 1.5:
                    continue
                case(name, data((5,), dtype, "positive"), number)
                case(name, number, data((5,), dtype, "positive"))
    for name in ("add", "subtract", "multiply", "divide", "power", "equal", "not_equal"):
        for dtype in COMPLEX:
            case(name, data((4,), dtype, "unit", 1), data((4,), dtype, "positive", 2))
    for dtype in FLOATS:
        case("ldexp", data((5,), dtype), N.array([0, 1, -2, 3, 4]))
        case("ldexp", data((5,), dtype), 3)
        for decimals in (-1, 0, 1, 3):
            case("round", data((6,), dtype), decimals)
            case("around", data((2, 3), dtype), decimals)
    for dtype in ("uint8", "int64"):
        for decimals in (-1, 0, 2):
            case("round", data((6,), dtype) * 7, decimals)
    for dtype in ALL:
        for low, high in ((1, 3), (None, 2), (0, None), (2, 1)):
            case("clip", data((3, 4), dtype), low, high)
        case("clip", data((3, 4), dtype, "any"), data((4,), dtype, "any", 3), data((3, 1), dtype, "positive", 4))
        for other in (data((5,), dtype, "any"), data((5,), dtype, "edge"), data((1,), dtype)):
            case("isclose", data((5,), dtype, "any"), other)
            case("allclose", data((5,), dtype, "any"), other)
            case("array_equal", data((5,), dtype, "any"), other)
            case("array_equiv", data((5,), dtype, "any"), other)
    for dtype in FLOATS:
        case("i0", data((6,), dtype))
        x = data((14,), dtype, "edge")
        case("nan_to_num", x, nan=1.0, posinf=5.0, neginf=-5.0)
        case("isclose", x, x, equal_nan=True)
        case("array_equal", x, x, True)
    for name in ("add", "multiply", "maximum", "less", "sqrt"):
        count = 1 if name == "sqrt" else 2
        arguments = [data((3, 4), "float32", "positive", i) for i in range(count)]
        add(name + ".out", lambda m, *a, name=name: getattr(m, name)(*a[:-1], out=a[-1]), *arguments, N.zeros((3, 4), "bool" if name == "less" else "float32"))
        add(name + ".out", lambda m, *a, name=name: getattr(m, name)(*a[:-1], out=a[-1]), *arguments, N.zeros((2, 3, 4), "bool" if name == "less" else "float64"))
        add(name + ".out", lambda m, *a, name=name: getattr(m, name)(*a[:-1], out=a[-1]), *arguments, N.zeros((3, 3), "float32"))
        add(name + ".where", lambda m, *a, name=name: getattr(m, name)(*a[:-2], out=a[-1], where=a[-2]), *arguments, data((3, 4), "bool"), N.ones((3, 4), "bool" if name == "less" else "float32"))
    for name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "bitwise_or", "subtract", "bitwise_xor"):
        for dtype in ("bool", "uint8", "int64", "float32", "float64"):
            for axis in (0, -1, 1):
                x = data((3, 4), dtype, "positive")
                if name == "subtract" and dtype == "bool":
                    continue
                add(name + ".reduce", lambda m, x, axis, name=name: getattr(m, name).reduce(x, axis), x, axis)
                add(name + ".accumulate", lambda m, x, axis, name=name: getattr(m, name).accumulate(x, axis), x, axis)
            add(name + ".outer", lambda m, x, y, name=name: getattr(m, name).outer(x, y), data((3,), dtype), data((2, 2), dtype))
            add(name + ".reduceat", lambda m, x, name=name: getattr(m, name).reduceat(x, [0, 2, 1]), data((5,), dtype))
    for dtype in ("int64", "float64"):
        def at(m, x, name):
            getattr(m, name).at(x, [0, 0, 2], m.asarray([1, 2, 3]))
            return x
        for name in ("add", "multiply", "subtract", "maximum"):
            add(name + ".at", at, data((4,), dtype), name)
    for symbol, function in (("+", lambda m, a, b: a + b), ("-", lambda m, a, b: a - b), ("*", lambda m, a, b: a * b), ("/", lambda m, a, b: a / b), ("//", lambda m, a, b: a // b),
                             ("%", lambda m, a, b: a % b), ("**", lambda m, a, b: a ** b), ("<<", lambda m, a, b: a << b), (">>", lambda m, a, b: a >> b), ("&", lambda m, a, b: a & b),
                             ("|", lambda m, a, b: a | b), ("^", lambda m, a, b: a ^ b), ("<", lambda m, a, b: a < b), ("==", lambda m, a, b: a == b), ("divmod", lambda m, a, b: divmod(a, b))):
        for dtype in ALL:
            small = (data((3,), dtype, "positive", 5) % 4 + 1).astype(dtype)
            add("ndarray." + symbol, function, data((2, 3), dtype, "positive"), small)
            add("ndarray." + symbol, function, data((2, 3), dtype, "positive"), 2)
            add("ndarray." + symbol, function, 3, small)


def reductions():
    axes = (None, 0, -1, 1, 2, (0, 1), (0, -1), ())
    for name in "sum prod max min amax amin mean var std all any argmax argmin ptp count_nonzero nansum nanprod nanmax nanmin nanmean nanvar nanstd median nanmedian".split():
        for dtype in ALL:
            for shape in SHAPES:
                for axis in axes:
                    if isinstance(axis, tuple) and name in ("argmax", "argmin"):
                        continue
                    if isinstance(axis, tuple) and "median" in name and (not axis or 0 in shape):
                        continue
                    if dtype == "bool" and ("median" in name or name == "ptp"):
                        continue
                    kind = "small" if name in ("prod", "nanprod") else "any"
                    for keep in (False, True) if shape in ((3, 4), (2, 3, 4)) else (False,):
                        x = data(shape, dtype, kind)
                        if name.startswith("nan") and dtype in FLOATS and x.size > 2:
                            x = N.where(data(shape, "float64", "unit", 9) > 0.3, N.asarray(N.nan, dtype), x).astype(dtype)
                        case(name, x, axis=axis, keepdims=keep, tolerance=2e-3 if dtype == "float16" else 3e-6 if dtype == "float32" else None)
    for name in "cumsum cumprod nancumsum nancumprod".split():
        for dtype in ALL:
            for shape in SHAPES:
                for axis in (None, 0, -1, 1):
                    case(name, data(shape, dtype, "small"), axis=axis, tolerance=5e-3 if dtype == "float16" else 1e-5 if dtype == "float32" else None)
    for name in ("cumulative_sum", "cumulative_prod"):
        for dtype in ("int64", "float64", "bool"):
            case(name, data((5,), dtype, "small"))
            case(name, data((3, 4), dtype, "small"), axis=1, include_initial=True)
            case(name, data((3, 4), dtype, "small"))
    for name in ("sum", "prod", "mean", "max", "min", "any", "all", "std", "var"):
        for dtype in ("uint8", "int64", "float32", "float64"):
            x, mask = data((3, 4), dtype, "small"), data((3, 4), "bool")
            mask[0] = True
            options = {"initial": 3} if name in ("max", "min") else {}
            case(name, x, axis=0, where=mask, **options, tolerance=3e-6 if dtype == "float32" else None)
            case(name, x, where=mask, **options, tolerance=3e-6 if dtype == "float32" else None)
            if name in ("sum", "prod", "mean", "var", "std"):
                for wanted in ("float32", "float64"):
                    case(name, x, axis=1, dtype=wanted, tolerance=3e-6)
            if name in ("std", "var"):
                case(name, x, axis=0, ddof=1, tolerance=3e-6)
                case(name, x, ddof=20, tolerance=3e-6)
            add(name + ".out", lambda m, x, out, name=name: getattr(m, name)(x, axis=0, out=out), x, N.zeros(4, "float64" if name not in ("any", "all") else "bool"), tolerance=3e-6)
            add(name + ".out", lambda m, x, out, name=name: getattr(m, name)(x, axis=0, out=out), x, N.zeros(5, "float64"), tolerance=3e-6)
    for name in ("sum", "max", "min", "argmax", "argmin", "mean", "median", "any", "all", "nanmax", "nanargmin", "nanargmax"):
        for dtype in FLOATS:
            x = data((14,), dtype, "edge")
            case(name, x)
            case(name, x.reshape(2, 7), axis=1)
            case(name, x.reshape(2, 7), axis=0)
    for dtype in ("int64", "float32", "float64"):
        x = data((3, 4), dtype)
        case("average", x)
        case("average", x, axis=1, weights=N.array([1, 2, 3, 4]), tolerance=3e-6)
        case("average", x, axis=0, weights=N.array([0.5, 2, 1]), returned=True, tolerance=3e-6)
        case("average", x, weights=N.array([1, 2]))
        case("average", x, axis=0, weights=N.array([0, 0, 0]))
    for method_name in ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
                        "median_unbiased", "normal_unbiased"):
        for dtype in ("int64", "float32", "float64"):
            for q in (0.5, 0.0, 1.0, [0.1, 0.5, 0.93]):
                for name in ("quantile", "nanquantile"):
                    case(name, data((9,), dtype), q, method=method_name, tolerance=1e-5 if dtype == "float32" else None)
                    case(name, data((3, 4), dtype), q, axis=1, method=method_name, tolerance=1e-5 if dtype == "float32" else None)
    for dtype in ("int64", "float32", "float64"):
        for q in (50, 12.5, [0, 33, 100]):
            for axis in (None, 0, -1, (0, 1)):
                case("percentile", data((3, 4), dtype), q, axis=axis, tolerance=1e-5 if dtype == "float32" else None)
                case("nanpercentile", data((3, 4), dtype), q, axis=axis, keepdims=True, tolerance=1e-5 if dtype == "float32" else None)
    case("quantile", data((4,), "float64"), 1.5)
    case("percentile", data((4,), "float64"), -3)
    for dtype in FLOATS:
        x = data((14,), dtype, "edge").reshape(2, 7)
        x[0] = 1
        case("nanquantile", x, 0.5, axis=1)
        case("quantile", x, 0.5, axis=1)


def shapes():
    for dtype in ("bool", "uint8", "int64", "float32", "float64", "complex64"):
        for shape in SHAPES:
            x = data(shape, dtype)
            n = x.size
            for name in ("ravel", "transpose", "squeeze", "flip", "flipud", "fliplr", "rot90", "atleast_1d", "atleast_2d", "atleast_3d", "shape", "ndim", "size", "copy", "permute_dims",
                         "matrix_transpose", "zeros_like", "ones_like", "ascontiguousarray", "asanyarray", "array"):
                case(name, x)
            for axis in (0, 1, -1, -2, 3, (0, 1), None):
                case("flip", x, axis)
                if axis is not None:
                    case("expand_dims", x, axis)
                case("squeeze", x, axis)
            for a, b in ((0, 1), (0, -1), (-1, 0), (1, 2)):
                case("swapaxes", x, a, b)
                case("moveaxis", x, a, b)
                case("rollaxis", x, a, abs(b))
            for dims in (n, (n,), -1, (-1, 1), (1, -1), (n, 1), (3, -1), (2, 2), (5, -1), (n, 0)):
                case("reshape", x, dims)
            case("reshape", x, (n,), order="F")
            case("ravel", x, "F")
            for shift, axis in ((1, None), (-2, 0), (3, 1), ((1, 2), (0, 1)), (100, -1)):
                case("roll", x, shift, axis)
            for reps in (2, (2, 1), (1, 2, 3), 0, ()):
                case("tile", x, reps)
            for repeats, axis in ((2, None), (3, 0), (0, 0), (2, 1), ([1, 2, 3], 0), (-1, 0)):
                case("repeat", x, repeats, axis)
            for k in (0, 1, 2, 3, -1):
                case("rot90", x, k)
            for k in (-1, 0, 1):
                case("tril", x, k)
                case("triu", x, k)
                case("diag", x, k)
                case("diagonal", x, k)
                case("trace", x, k)
                case("diagflat", x, k)
            case("resize", x, (3, 3))
            case("full_like", x, 3)
            case("full", (2, 3), 4, dtype=dtype)
            for target in ((2, 3, 4), (3, 4), (7,), (1, 1), (5, 5)):
                case("broadcast_to", x, target)
            for axis in (0, 1, -1, None):
                case("concatenate", [x, x], axis)
                case("concat", [x, data((3, 4), "float32")], axis)
                case("append", x, x, axis)
                if axis is not None:
                    case("stack", [x, x, x], axis)
                    case("split", x, 2, axis)
                    case("array_split", x, 3, axis)
                    case("split", x, [1, 2], axis)
                    case("unstack", x, axis=axis)
                for obj in (0, 1, [0, 2], -1, slice(0, 2), 9):
                    case("delete", x, obj, axis)
            for name in ("vstack", "hstack", "dstack", "column_stack"):
                case(name, [x, x])
            for name in ("hsplit", "vsplit", "dsplit"):
                case(name, x, 2)
            for obj, values, axis in ((0, 5, None), (1, 5, 0), ([0, 1], 5, 0), (-1, 2, 1), (1, [1, 2, 3, 4], 0), ([0, 2], [1, 2], None), (99, 1, None)):
                case("insert", x, obj, values, axis)
            if dtype != "complex64":
                for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "median", "linear_ramp", "nonsense"):
                    if dtype == "bool" and mode in ("mean", "median", "linear_ramp"):
                        continue
                    for width in (1, (2, 1), ((1, 2),) * len(shape) if shape else 0):
                        case("pad", x, width, mode, tolerance=3e-6)
                case("pad", x, 2, constant_values=7)
                if dtype != "bool":
                    case("pad", x, 1, "reflect", reflect_type="odd")
                    case("pad", x, 3, "symmetric", reflect_type="odd")
                    case("pad", x, 1, "maximum", stat_length=2)
    for name, arguments in (("zeros", ((2, 3),)), ("ones", (4,)), ("empty", ((0, 2),)), ("eye", (3,)), ("eye", (3, 4, 1)), ("eye", (2, 5, -1)), ("identity", (3,)), ("tri", (3, 4, 1)),
                            ("tri", (4,)), ("zeros", (-1,)), ("ones", ((2, -3),))):
        for dtype in ("bool", "int8", "float16", "float64", "complex128"):
            case(name, *arguments, dtype=dtype)
    for arguments in ((5,), (2, 9), (1, 10, 3), (10, 1, -2), (0.0, 1.0, 0.1), (5, 5), (3, 0), (0, 1, 0.25), (-2.5, 3), (1, 2, 0)):
        case("arange", *arguments)
        for dtype in ("int32", "float32", "float64"):
            case("arange", *arguments, dtype=dtype)
    for a, b in ((0, 1), (2.5, -3), (0, 0), (1, 10), ([0, 1], [5, 7])):
        for num in (0, 1, 2, 5, 50):
            for endpoint in (True, False):
                case("linspace", a, b, num, endpoint)
                case("linspace", a, b, num, endpoint, retstep=True)
                case("linspace", a, b, num, endpoint, dtype="float32")
                case("linspace", a, b, num, endpoint, dtype="int64")
                case("logspace", a, b, num, endpoint)
                if a not in (0, [0, 1]) and b != -3:
                    case("geomspace", a, b, num, endpoint)
    case("linspace", 0, 1, -2)
    case("geomspace", 0, 1, 4)
    for dtype in ("int64", "float32", "float64"):
        v, w = data((3,), dtype), data((4,), dtype)
        for indexing in ("xy", "ij", "no"):
            for sparse in (False, True):
                case("meshgrid", v, w, indexing=indexing, sparse=sparse)
        case("vander", v)
        case("vander", v, 4, True)
        case("block", [[N.ones((2, 2), dtype), N.zeros((2, 1), dtype)], [N.zeros((1, 2), dtype), N.ones((1, 1), dtype)]])
        case("trim_zeros", N.array([0, 0, 1, 2, 0, 3, 0], dtype))
        case("trim_zeros", N.array([0, 0, 1, 2, 0, 3, 0], dtype), "f")
        case("broadcast_arrays", v, data((2, 1), dtype))
        case("fromiter", [1, 2, 3], dtype)
        case("frombuffer", bytes(range(24)), dtype)
        case("fromstring", "1 2 3", dtype, sep=" ")
        case("fromfunction", lambda i, j: i + j, (3, 4), dtype=dtype)
        case("asarray_chkfinite", v)
    case("asarray_chkfinite", N.array([1.0, N.inf]))
    case("broadcast_shapes", (3, 1), (1, 4))
    case("broadcast_shapes", (3, 2), (4,))
    case("indices", (2, 3))
    case("indices", (2, 3), sparse=True)
    for key in (slice(0, 5), (slice(0, 3), slice(0, 2)), slice(0, 1, 5j), (slice(0, 3, 0.5), slice(-1, 1, 3j))):
        add("mgrid", lambda m, key: m.mgrid[key], key)
        add("ogrid", lambda m, key: m.ogrid[key], key)
    add("r_", lambda m: m.r_[1:4, 0, m.asarray([5, 6])])
    add("c_", lambda m: m.c_[m.asarray([1, 2]), m.asarray([3, 4])])
    add("s_", lambda m: str(m.s_[1:2, ...]))
    add("index_exp", lambda m: str(m.index_exp[1:2]))
    for dtype in ALL:
        def copyto(m, a, b):
            m.copyto(a, b)
            return a
        add("copyto", copyto, data((3, 4), dtype), data((4,), "int64"))
        add("copyto", copyto, data((3, 4), dtype), data((5,), dtype))


def indexing():
    keys = [0, -1, 1, slice(None), slice(1, None), slice(None, None, -1), slice(3, 0, -2), slice(-2, 9), slice(5, 1), Ellipsis, None, (Ellipsis, 0), (0, Ellipsis), (None, 0), (0, None),
            (slice(None), 1), (1, slice(None, None, -1)), (slice(1, 3), slice(0, 2)), (Ellipsis, None), (0, 1), (-1, -1), [0, 1], [0, -1, 0], [[0, 1], [1, 0]], ([0, 1], [1, 0]),
            (slice(None), [0, 2]), ([0, 1], slice(None)), ([0, 1], 1), (0, [1, 0]), ([0, 1], slice(1, 3)), ([[0], [1]], [0, 1]), [], True, False, (True, 0), 99, (0, 0, 0, 0), [5, 99], "x", 1.5,
            (Ellipsis, Ellipsis), ([0, 1], [0, 1, 0]), (slice(None), None, [1, 0]), ([1, 0], None, [0, 1]), (0, slice(None), [0, 1]), ([0, 1], slice(None), [0, 1]), (slice(None), [0, 1], [1, 0])]
    for dtype in ("bool", "uint8", "int64", "float32", "float64", "complex64"):
        for shape in ((), (7,), (3, 4), (2, 3, 4), (0, 3)):
            x = data(shape, dtype)
            for key in keys:
                given = N.array(key) if isinstance(key, list) and key else key
                add("ndarray.__getitem__", lambda m, x, key: x[key], x, key)
                if isinstance(given, N.ndarray):
                    add("ndarray.__getitem__", lambda m, x, key: x[key], x, given)
                for value in (1, data((1,), dtype), data((2,), dtype, "any", 5)):
                    def put(m, x, key, value):
                        x[key] = value
                        return x
                    add("ndarray.__setitem__", put, x, key, value)
            mask = data(shape, "bool", "any", 3)
            add("ndarray.__getitem__", lambda m, x, mask: x[mask], x, mask)
            add("ndarray.__getitem__", lambda m, x, mask: x[mask], x, data((5,), "bool"))
            add("ndarray.__setitem__", put, x, mask, 1)
            add("ndarray.__setitem__", put, x, mask, data((int(mask.sum()),), dtype, "any", 8))
            add("ndarray.__setitem__", put, x, mask, data((9,), dtype, "any", 8))
            if len(shape) > 1:
                row = data(shape[:1], "bool", "any", 4)
                add("ndarray.__getitem__", lambda m, x, row: x[row], x, row)
                add("ndarray.__getitem__", lambda m, x, row: x[row, 0], x, row)
                add("ndarray.__setitem__", put, x, row, 1)
            add("ndarray.view", lambda m, x: [x.__setitem__((slice(None, None, -1)), 1) if x.ndim else None, x][1], x)

            def through(m, x):
                v = x[::-1][1:]
                v[0] = 1
                return x
            add("ndarray.view", through, x)
            for indices in ([0, 1], 1, [[0], [1]], [-1, 0], [99], []):
                for axis in (None, 0, -1, 1):
                    for mode in ("raise", "wrap", "clip"):
                        case("take", x, N.array(indices, "int64"), axis, mode=mode)
            case("nonzero", x)
            case("flatnonzero", x)
            case("argwhere", x)
            case("where", mask, x, data(shape, "float32", "any", 2))
            case("where", mask, x, 3)
            case("where", x)
            case("extract", mask, x)
            for axis in (None, 0, -1):
                case("compress", [True, False, True], x, axis)
            for axis in (0, 1, -1):
                if shape not in ((), (0, 3)):
                    order = N.argsort(data(shape, "float64"), axis=-1)
                    case("take_along_axis", x, order, -1)

                    def along(m, x, order):
                        m.put_along_axis(x, order[..., :1], 1, -1)
                        return x
                    add("put_along_axis", along, x, order)

            def put_(m, x, ind, v, mode="raise"):
                m.put(x, ind, v, mode)
                return x

            def masked(m, x, mask, v, name):
                getattr(m, name)(x, mask, v)
                return x
            for ind, v in (([0, 1], [1, 0]), ([0], 1), ([-1, 2, 0], [1, 2]), ([99], 1)):
                for mode in ("raise", "wrap", "clip"):
                    add("put", put_, x, N.array(ind), N.array(v).astype(dtype), mode)
            for name in ("putmask", "place"):
                add(name, masked, x, mask, N.array([1, 0, 1]).astype(dtype), name)
    for shape in ((3, 4), (5,), (2, 3, 2)):
        n = math.prod(shape)
        for numbers in ([0, n - 1], 1, [[0, 1], [2, 3]], [n], [-1]):
            for order in "CF":
                case("unravel_index", N.array(numbers), shape, order)
        for index in ([[0, 1]] * len(shape), [0] * len(shape), [[9, 1]] * len(shape), [[-1, 1]] * len(shape)):
            for mode in ("raise", "wrap", "clip"):
                case("ravel_multi_index", tuple(N.array(one) for one in index), shape, mode)
    for mode in ("raise", "wrap", "clip"):
        case("choose", N.array([0, 1, 2, 0]), [N.arange(4), N.arange(4) * 10, N.arange(4) * 100], mode=mode)
        case("choose", N.array([0, 1, 5, -1]), [N.arange(4), N.arange(4) * 10, N.arange(4) * 100], mode=mode)
    x = N.arange(6)
    case("select", [x < 2, x > 4], [x, x * 2], 7)
    case("select", [], [])
    case("piecewise", x.astype("float64"), [x < 2, x > 4], [-1.0, lambda v: v * 2, 5.0])
    for n in (1, 3, 5):
        for k in (-1, 0, 2):
            case("tril_indices", n, k)
            case("triu_indices", n, k)
            case("tril_indices_from", N.ones((n, 4)), k)
            case("triu_indices_from", N.ones((n, 4)), k)
        case("diag_indices", n)
        case("diag_indices_from", N.ones((n, n)))
    add("mask_indices", lambda m: m.mask_indices(3, m.triu, 1))
    case("ix_", N.array([0, 1]), N.array([True, False, True]))
    case("ix_", N.array([[0, 1]]))
    for dtype in ("int64", "float32"):
        for shape in ((3, 3), (5, 3), (3, 5), (2, 2, 2), (4,)):
            for wrap in (False, True):
                def fill(m, x, wrap):
                    m.fill_diagonal(x, 7, wrap)
                    return x
                add("fill_diagonal", fill, data(shape, dtype), wrap)
        add("apply_along_axis", lambda m, x: m.apply_along_axis(lambda v: v.sum(), 1, x), data((3, 4), dtype))
        add("apply_along_axis", lambda m, x: m.apply_along_axis(lambda v: v * 2, 0, x), data((3, 4), dtype))
        add("apply_over_axes", lambda m, x: m.apply_over_axes(m.sum, x, [0, 1]), data((3, 4), dtype))
        add("ndenumerate", lambda m, x: [(i, v) for i, v in m.ndenumerate(x)], data((2, 3), dtype))
    add("ndindex", lambda m: list(m.ndindex(2, 3)))


def sorting():
    for dtype in ALL:
        for shape in SHAPES:
            for kind in ("any", "edge"):
                x = data(shape, dtype, kind)
                for axis in (-1, 0, None, 1):
                    case("sort", x, axis)
                    case("argsort", x, axis, kind="stable")
                    if x.size > 1 and axis in (-1, None) and x.shape[-1] > 1:
                        add("partition", lambda m, x, axis: m.partition(x, 1, axis)[..., 1], x, axis)
                        add("argpartition", lambda m, x, axis: m.take_along_axis(m.asarray(x), m.argpartition(x, 1, axis), axis)[..., 1], x, axis)
                case("unique", x)
                case("unique", x, return_index=True, return_inverse=True, return_counts=True)
                if x.ndim > 1 and x.size and kind == "any":
                    case("unique", x, axis=0)
                add("unique_values", lambda m, x: N.sort(N.asarray(m.unique_values(x))), x)
                case("unique_counts", x)
                case("unique_inverse", x)
                case("unique_all", x)
        v, w = data((7,), dtype, "any", 1), data((5,), dtype, "any", 2)
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"):
            case(name, v, w)
            case(name, v, w[:0])
            if dtype in NUMBERS:
                case(name, v, data((3,), "float32", "small"))
        case("intersect1d", v, w, return_indices=True)
        case("isin", v.reshape(7, 1), w, invert=True)
        for side in ("left", "right", "no"):
            case("searchsorted", N.sort(v), w, side)
            case("searchsorted", N.sort(v), N.float64(1.5), side)
            case("searchsorted", v, w, side, sorter=N.argsort(v, kind="stable"))
        if dtype != "bool":
            for right in (False, True):
                case("digitize", v, N.sort(w), right)
                case("digitize", v, N.sort(w)[::-1], right)
            case("digitize", v, N.array([1, 3, 2]))
        case("bincount", N.abs(v.astype("int64") if dtype not in WHOLE else v).astype(dtype if dtype in ("bool", "uint8", "int32", "int64") else "int64"))
        case("sort_complex", v)
        case("lexsort", [v, data((7,), "int64")])
        case("lexsort", N.stack([v, v]))
    case("bincount", N.array([0, 1, 1, 4]), minlength=8)
    case("bincount", N.array([0, 1, 1, 4]), weights=N.array([0.5, 1, 2, 3]))
    case("bincount", N.array([-1, 2]))
    case("bincount", N.array([0.5]))
    case("sort", N.ones(3), 5)


def statistics():
    for dtype in ("uint8", "int64", "float32", "float64"):
        v, w = data((12,), dtype, "any", 1), data((12,), dtype, "any", 2)
        loose = 1e-5 if dtype == "float32" else None
        for bins in (4, 1, 10, [-3, 0, 2, 9], [0, 1, 1, 5], "auto", "sqrt", "sturges", "rice", "scott", "fd", "odd"):
            if isinstance(bins, list) and dtype == "uint8":
                bins = [0, 2, 4, 9]
            case("histogram", v, bins, tolerance=loose)
            case("histogram_bin_edges", v, bins, tolerance=loose)
            if not isinstance(bins, str):
                case("histogram", v, bins, density=True, tolerance=loose)
                case("histogram", v, bins, weights=N.arange(12) * 0.5, tolerance=loose)
        case("histogram", v, 4, (0, 5), tolerance=loose)
        case("histogram", v, 4, (5, 0))
        case("histogram2d", v, w, 3, tolerance=loose)
        case("histogramdd", N.stack([v, w], 1), 3, tolerance=loose)
        case("cov", N.stack([v, w]), tolerance=loose)
        case("cov", v, tolerance=loose)
        case("cov", v, w, bias=True, tolerance=loose)
        case("cov", N.stack([v, w], 1), rowvar=False, ddof=0, tolerance=loose)
        case("cov", N.stack([v, w]), fweights=N.arange(12), tolerance=loose)
        case("cov", N.stack([v, w]), aweights=N.arange(12) * 0.5, tolerance=loose)
        case("corrcoef", N.stack([v, w]), tolerance=loose)
        case("corrcoef", v, w, tolerance=loose)
        for mode in ("full", "same", "valid", "no"):
            for n in (1, 3, 4, 12, 15):
                case("convolve", v, data((n,), dtype, "any", 4), mode, tolerance=1e-4 if dtype == "float32" else None)
                case("correlate", v, data((n,), dtype, "any", 4), mode, tolerance=1e-4 if dtype == "float32" else None)
        for shape in SHAPES:
            x = data(shape, dtype)
            for n in (0, 1, 2, -1):
                for axis in (-1, 0):
                    case("diff", x, n, axis)
            case("ediff1d", x)
            for axis in (-1, 0):
                case("trapezoid", x, axis=axis, tolerance=loose)
                case("trapezoid", x, dx=0.5, axis=axis, tolerance=loose)
        case("diff", v, prepend=0, append=data((2,), dtype))
        case("trapezoid", v, N.sort(w), tolerance=loose)
        case("ediff1d", v, N.array([1, 2], dtype), N.array([3], dtype))
        case("gradient", v, tolerance=loose)
        case("gradient", v, 2.0, edge_order=2, tolerance=loose)
        case("gradient", v, N.arange(12) ** 2.0, tolerance=loose)
        case("gradient", v, N.arange(12) ** 2.0, edge_order=2, tolerance=loose)
        case("gradient", data((4, 5), dtype), tolerance=loose)
        case("gradient", data((4, 5), dtype), axis=1, tolerance=loose)
        case("gradient", data((1,), dtype))
        case("unwrap", v, tolerance=loose)
        case("unwrap", data((3, 4), dtype), axis=0, period=4, tolerance=loose)
        case("interp", v, N.arange(6.0), data((6,), dtype), tolerance=loose)
        case("interp", v, N.arange(6.0), data((6,), dtype), left=-1, right=9, tolerance=loose)
        case("interp", v, N.arange(6.0), data((6,), dtype), period=5, tolerance=loose)
        case("interp", 2.5, [1, 2, 3], [4, 5, 6])
    case("interp", N.array([N.nan, 1.0, N.inf]), [1.0], [4.0])
    case("interp", 1.0, [], [])
    for n in (0, 1, 2, 5, 8):
        for name in ("bartlett", "blackman", "hamming", "hanning"):
            case(name, n)
        case("kaiser", n, 8.6)


def products():
    pairs = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (2, 3, 4)), ((5, 1, 2, 3), (2, 3, 2)), ((), (3,)), ((2, 3), (2, 3)), ((0,), (0,)),
             ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((3, 3), (3, 3)), ((1, 3), (3, 1))]
    for dtype in ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64", "complex128"):
        loose = {"float16": 4e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype)
        for a, b in pairs:
            x, y = data(a, dtype, "any", 1), data(b, dtype, "any", 2)
            for name in ("matmul", "dot", "inner", "outer", "vdot", "kron", "vecdot", "matvec", "vecmat", "cross", "linalg.matmul", "linalg.vecdot"):
                if name == "cross" and dtype == "bool":
                    continue
                case(name, x, y, tolerance=loose)
            for axes in (0, 1, 2, ([0], [0]), ([-1], [0])):
                case("tensordot", x, y, axes, tolerance=loose)
            add("ndarray.@", lambda m, x, y: x @ y, x, y, tolerance=loose)
        case("cross", data((4, 3), dtype, "any", 1), data((3,), dtype, "any", 2), tolerance=loose) if dtype != "bool" else None
        x, y, z = data((3, 4), dtype, "any", 1), data((4, 5), dtype, "any", 2), data((3, 3), dtype, "any", 3)
        for text, operands in (("ij,jk->ik", (x, y)), ("ij,jk", (x, y)), ("ij->ji", (x,)), ("ij->", (x,)), ("ii", (z,)), ("ii->i", (z,)), ("ij->j", (x,)), ("ij,ij->ij", (x, x)), ("i,j->ij", (x[0], y[0])),
                               ("...j,jk->...k", (x, y)), ("ij,jk,kl->il", (x, y, y.T)), ("ij,kl->ijkl", (z, z)), ("...ij->...ji", (data((2, 3, 4), dtype),)), ("bij,bjk->bik", (data((2, 3, 4), dtype), data((2, 4, 2), dtype))),
                               ("ij,i->j", (x, x[:, 0])), ("i,i->", (x[0], x[0])), ("ij,jk->iz", (x, y)), ("ij,ij,ij->i", (z, z, z)), ("ij", (x[0],)), ("ij,jk->ik", (x, x)), ("ij,ij->ji", (z, z)), ("ba", (x,))):
            # Of three float16 operands NumPy rounds sums in between to float16.
            case("einsum", text, *operands, tolerance=2e-2 if dtype == "float16" and len(operands) > 2 else loose)
        case("einsum", x, [0, 1], y, [1, 2], [0, 2], tolerance=loose)
        case("einsum", x, [0, 1], y, [1, 2], tolerance=loose)


def spread(shape, dtype, seed=0):
    """Well conditioned square matrices."""
    return (data(shape, dtype, "unit", seed) + 3 * N.eye(shape[-1])).astype(dtype)


def linear_algebra():
    def loosely(dtype):
        return 2e-5 if dtype in ("float32", "complex64") else 1e-9
    for dtype in ("int64", "float32", "float64", "complex64", "complex128", "float16"):
        for shape in ((1, 1), (2, 2), (3, 3), (6, 6), (2, 3, 3), (0, 0), (2, 0, 0), (2, 3), (3,), ()):
            square = len(shape) > 1 and shape[-1] == shape[-2]
            x = spread(shape, dtype) if square else data(shape, dtype)
            limit = loosely(dtype)
            for name in ("inv", "det", "slogdet", "cholesky", "matrix_rank", "pinv", "cond", "svdvals", "eigvalsh"):
                a = x
                if square and name in ("cholesky", "eigvalsh") and x.size:
                    a = (x @ x.conj().swapaxes(-1, -2)).astype(dtype)
                if name == "cond" and x.size == 0:
                    continue
                case("linalg." + name, a, tolerance=limit * 10)
            for rhs in ((shape[-1] if shape else 1,), (*(shape[-1:] or (1,)), 2)):
                case("linalg.solve", x, data(rhs, dtype, "any", 3), tolerance=limit * 10)
            for n in (0, 1, 2, 3, -1, -2):
                case("linalg.matrix_power", x, n, tolerance=limit * 100)
            for mode in ("reduced", "complete", "r", "raw", "odd"):
                case("linalg.qr", x, mode, tolerance=limit * 10)
            add("linalg.eigvals", lambda m, a: N.sort_complex(N.asarray(m.linalg.eigvals(a)).astype("complex128").round(6)), x, tolerance=1e-3 if dtype in ("float32", "complex64") else 1e-5)

            def rebuilt(m, a):
                w, v = m.linalg.eigh(a)
                return w, m.matmul(v * w[..., None, :], m.conj(m.linalg.matrix_transpose(v)))
            add("linalg.eigh", rebuilt, (x @ x.conj().swapaxes(-1, -2)).astype(dtype) if square and x.size else x, tolerance=limit * 40)

            def eigen(m, a):
                w, v = m.linalg.eig(a)
                return m.abs(m.matmul(a, v) - v * w[..., None, :]) < 1e-3
            add("linalg.eig", eigen, x)
        for shape in ((4, 3), (3, 4), (3, 3), (2, 4, 3), (5, 1), (1, 5), (0, 3)):
            x = data(shape, dtype)
            for full in (True, False):
                def product(m, a, full):
                    u, s, vh = m.linalg.svd(a, full)
                    k = s.shape[-1]
                    unit = m.abs(m.matmul(m.conj(m.linalg.matrix_transpose(u)), u) - m.eye(u.shape[-1])) < 1e-3
                    return s, m.matmul(u[..., :k] * s[..., None, :], vh[..., :k, :]), unit, m.shape(vh)
                add("linalg.svd", product, x, full, tolerance=limit * 40)
            case("linalg.svdvals", x, tolerance=limit * 20)
            case("linalg.pinv", x, tolerance=limit * 100)
            case("linalg.matrix_rank", x)
            case("linalg.qr", x, tolerance=limit * 40)
            case("linalg.cond", x, tolerance=limit * 100) if x.size else None
            if len(shape) == 2 and x.size:
                case("linalg.lstsq", x, data(shape[:1], dtype, "any", 4), None, tolerance=limit * 100)
                case("linalg.lstsq", x, data((shape[0], 2), dtype, "any", 4), None, tolerance=limit * 100)
        for shape in ((5,), (3, 4), (2, 3, 4), (0,), ()):
            x = data(shape, dtype)
            loose = 3e-3 if dtype == "float16" else 1e-5 if dtype in ("float32", "complex64") else None
            for ord in (None, 1, 2, 0, 3, 0.5, -1, -2, math.inf, -math.inf, "fro", "nuc", "odd"):
                for axis in (None, 0, -1, (0, 1), (-2, -1)):
                    if dtype == "float16" and (ord in (2, -2, "nuc") or ord in (0.5, 3)):
                        continue
                    case("linalg.norm", x, ord, axis, tolerance=loose)
                    case("linalg.norm", x, ord, axis, True, tolerance=loose)
                if not isinstance(ord, str) and ord is not None and not (dtype == "float16"):
                    case("linalg.vector_norm", x, ord=ord, tolerance=loose)
                if len(shape) > 1 and dtype != "float16":
                    case("linalg.matrix_norm", x, ord=ord if ord is not None else "fro", tolerance=loose)
        x, y, z = data((3, 4), dtype), data((4, 2), dtype), data((2, 5), dtype)
        loose = 2e-2 if dtype == "float16" else 1e-4 if dtype in ("float32", "complex64") else None
        case("linalg.multi_dot", [x, y, z], tolerance=loose)
        case("linalg.multi_dot", [x[0], y, z, z[0]], tolerance=loose)
        case("linalg.trace", data((2, 3, 3), dtype), tolerance=loose)
        case("linalg.diagonal", data((2, 3, 3), dtype))
        case("linalg.cross", data((3,), dtype, "any", 1), data((3,), dtype, "any", 2), tolerance=loose)
        case("linalg.matrix_transpose", x)
        case("linalg.outer", x[0], x[1])
        case("linalg.tensordot", x, y, axes=1, tolerance=loose)
        if dtype != "float16":
            a = spread((4, 4), dtype).reshape(2, 2, 2, 2)
            case("linalg.tensorinv", a, tolerance=1e-4)
            case("linalg.tensorsolve", a, data((2, 2), dtype), tolerance=1e-4)
    for name in ("inv", "cholesky"):
        case("linalg." + name, N.zeros((3, 3)))
    case("linalg.solve", N.zeros((2, 2)), N.ones(2))
    case("linalg.det", N.zeros((2, 2)))
    case("linalg.slogdet", N.zeros((2, 2)))


def fourier():
    def loosely(dtype):
        return 1e-5 if dtype in ("float16", "float32", "complex64") else 1e-9
    for dtype in ("int64", "float16", "float32", "float64", "complex64", "complex128", "bool"):
        for n in (1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 30, 67, 128):
            x = data((n,), dtype)
            for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
                for norm in (None, "ortho", "forward", "odd"):
                    case("fft." + name, x, norm=norm, tolerance=loosely(dtype))
            for m in (1, 6, 20):
                for name in ("fft", "ifft", "rfft", "irfft", "hfft"):
                    case("fft." + name, x, m, tolerance=loosely(dtype))
        for shape in ((), (0,), (3, 4), (2, 3, 4), (4, 1)):
            x = data(shape, dtype)
            for name in ("fft", "ifft", "rfft", "irfft"):
                for axis in (0, -1, 1):
                    case("fft." + name, x, axis=axis, tolerance=loosely(dtype))
            for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
                case("fft." + name, x, tolerance=loosely(dtype))
                if len(shape) > 1:
                    case("fft." + name, x, (5, 3), axes=(0, 1), tolerance=loosely(dtype))
                    case("fft." + name, x, axes=(1, 0), norm="ortho", tolerance=loosely(dtype))
            if shape:
                case("fft.fftshift", x)
            case("fft.ifftshift", x, axes=0)
    for n in (1, 2, 5, 8):
        for d in (1.0, 0.25):
            case("fft.fftfreq", n, d)
            case("fft.rfftfreq", n, d)


def random_streams():
    sizes = (None, 1, 5, (2, 3), (0,), 1000)

    def drawn(name):
        def call(m, seed, arguments, options):
            g = m.random.default_rng(seed)
            g.random(3)
            return getattr(g, name)(*arguments, **options), g.random()
        return call

    def one(name, *arguments, seed=7, tolerance=1e-12, **options):
        CASES.append(("random.Generator." + name, drawn(name), (seed, arguments, options), {}, tolerance))
    for seed in (0, 1, 12345, 2 ** 40, [1, 2, 3], 2 ** 200 + 5):
        one("random", 4, seed=seed)
        one("standard_normal", 4, seed=seed)
        add("random.SeedSequence", lambda m, seed: [m.random.SeedSequence(seed).generate_state(5), m.random.SeedSequence(seed).generate_state(3, "uint64"), m.random.SeedSequence(seed).pool,
                                                    m.random.SeedSequence(seed).spawn(2)[1].generate_state(4)], seed)
        add("random.PCG64", lambda m, seed: [m.random.PCG64(seed).random_raw(5), m.random.PCG64(seed).advance(10 ** 20).random_raw(2), m.random.PCG64(seed).jumped().random_raw(2)], seed)
    for size in sizes:
        for name, parameters in (("random", ()), ("standard_normal", ()), ("standard_exponential", ()), ("uniform", (-2, 5)), ("normal", (1.5, 2.0)), ("lognormal", (0.5, 0.3)),
                                 ("exponential", (2.5,)), ("standard_gamma", (2.5,)), ("standard_gamma", (0.5,)), ("gamma", (3.0, 2.0)), ("beta", (2.0, 3.0)), ("beta", (0.5, 0.5)), ("chisquare", (3.0,)),
                                 ("noncentral_chisquare", (3.0, 1.5)), ("noncentral_chisquare", (0.5, 1.5)), ("f", (3.0, 4.0)), ("noncentral_f", (3.0, 4.0, 1.0)), ("standard_t", (4.0,)), ("standard_cauchy", ()), ("pareto", (3.0,)),
                                 ("weibull", (1.5,)), ("power", (2.5,)), ("laplace", (0.5, 2.0)), ("gumbel", (0.5, 2.0)), ("logistic", (0.5, 2.0)), ("rayleigh", (2.0,)), ("wald", (1.0, 2.0)),
                                 ("triangular", (0.0, 1.0, 4.0)), ("vonmises", (0.5, 2.0)), ("vonmises", (0.5, 1e-9)), ("binomial", (10, 0.3)), ("binomial", (100, 0.5)), ("binomial", (1000, 0.9)), ("poisson", (3.0,)),
                                 ("poisson", (50.0,)), ("negative_binomial", (5, 0.4)), ("geometric", (0.1,)), ("geometric", (0.6,)), ("logseries", (0.7,)), ("zipf", (2.5,)),
                                 ("hypergeometric", (20, 30, 10)), ("hypergeometric", (20, 30, 25)), ("hypergeometric", (2000, 3000, 1500))):
            one(name, *parameters, size=size)
        for name in ("random", "standard_normal", "standard_exponential"):
            one(name, size, "float32")
        one("standard_exponential", size, method="inv")
        one("standard_gamma", 2.0, size, "float32")
        for dtype, high in (("bool", 2), ("uint8", 200), ("int8", 100), ("uint16", 60000), ("int32", 10), ("uint32", 2 ** 32), ("int64", 5), ("int64", 2 ** 40), ("uint64", 2 ** 64), ("int64", 2 ** 63)):
            one("integers", 0, high, size, dtype)
        one("integers", -5, 5, size, endpoint=True)
        one("multinomial", 20, [0.2, 0.3, 0.5], size)
        one("dirichlet", [1.0, 2.0, 3.0], size)
        one("dirichlet", [0.05, 0.02, 0.03], size)
        one("choice", 10, size)
        one("choice", 10, size, p=[0.1] * 10)
        one("multivariate_normal", [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]], size, method="cholesky")
    for low in ([1, 2, 3], [[1], [2]]):
        one("integers", low, [10, 20, 30])
        one("normal", low, [1.0, 2.0, 3.0])
        one("uniform", low, 9)
    for n, size in ((10, 3), (10, 10), (100, 5), (20000, 5), (20000, 5000), (5, 9)):
        one("choice", n, size, replace=False)
        one("choice", n, size, replace=False, shuffle=False)
    one("choice", 6, 3, replace=False, p=[0.1, 0.2, 0.3, 0.1, 0.2, 0.1])
    one("choice", 5, p=[0.5, 0.6, 0, 0, 0])
    one("bytes", 7)
    one("permutation", 10)
    add("random.Generator.permutation", lambda m, x: m.random.default_rng(3).permutation(x), N.arange(12).reshape(4, 3))
    add("random.Generator.permutation", lambda m, x: m.random.default_rng(3).permutation(x, axis=1), N.arange(12).reshape(4, 3))

    def shuffled(m, x, axis):
        m.random.default_rng(3).shuffle(x, axis)
        return x
    for axis in (0, 1):
        add("random.Generator.shuffle", shuffled, N.arange(12).reshape(4, 3), axis)
    add("random.Generator.shuffle", shuffled, list(range(8)), 0)
    for axis in (None, 0, 1):
        add("random.Generator.permuted", lambda m, x, axis: m.random.default_rng(3).permuted(x, axis=axis), N.arange(12).reshape(4, 3), axis)
    for name, arguments in (("normal", (0, -1)), ("poisson", (-1,)), ("binomial", (5, 1.5)), ("integers", (5, 5)), ("integers", (0, 300, 4, "uint8")), ("gamma", (-1,)), ("beta", (0, 1)), ("zipf", (1,)),
                            ("uniform", (5, 1)), ("triangular", (3, 2, 1)), ("hypergeometric", (1, 2, 9)), ("geometric", (0,)), ("random", (3, "int64"))):
        one(name, *arguments)

    def old(name):
        def call(m, seed, arguments, options):
            m.random.seed(seed)
            return getattr(m.random, name)(*arguments, **options), m.random.random()
        return call
    for seed in (0, 42, [1, 2, 3]):
        for name, arguments in (("rand", (3, 2)), ("randn", (5,)), ("randint", (0, 10, 6)), ("randint", (5,)), ("randint", (0, 2 ** 40, 4)), ("random_sample", (3,)), ("random", ((2, 2),)), ("uniform", (1, 3, 4)), ("normal", (1, 2, 5)),
                                ("standard_normal", (3,)), ("exponential", (2.0, 4)), ("standard_exponential", (3,)), ("lognormal", (0.1, 0.5, 3)), ("permutation", (8,)), ("choice", (5, 3)), ("choice", (9, 4, False)),
                                ("choice", (4, 6, True, [0.1, 0.2, 0.3, 0.4]))):
            CASES.append(("random." + name, old(name), (seed, arguments, {}), {}, 1e-12))


def files_and_text():
    for dtype in (*ALL, *COMPLEX, "uint16", "int16", "uint32", "uint64"):
        for shape in SHAPES:
            def saved(m, x):
                buffer = io.BytesIO()
                m.save(buffer, x)
                return buffer.getvalue()[:6]
            x = data(shape, dtype) if dtype in (*ALL, *COMPLEX) else data(shape, "uint8").astype(dtype)
            add("save", saved, x)

            def crossed(m, x, other):
                """Written by one, read by the other."""
                buffer = io.BytesIO()
                (N if m is M else M).save(buffer, N.asarray(x) if m is M else Var(x, copy=True))
                buffer.seek(0)
                return m.load(buffer)
            add("load", crossed, x, None)
            for name in ("savez", "savez_compressed"):
                def zipped(m, x, name):
                    buffer = io.BytesIO()
                    getattr(N if m is M else M, name)(buffer, N.asarray(x) if m is M else Var(x, copy=True), other=N.ones(2))
                    buffer.seek(0)
                    with m.load(buffer) as archive:
                        return sorted(archive.files), archive["arr_0"], archive["other"]
                add(name, zipped, x, name)
            for order in "CF":
                def fortran(m, x, dtype, order):
                    buffer = io.BytesIO()
                    N.save(buffer, N.asarray(N.asarray(x), order=order).astype(N.dtype(dtype).newbyteorder(">")))
                    buffer.seek(0)
                    return N.asarray(m.load(buffer)).astype(dtype)
                add("load", fortran, x, dtype, order)
    for text in (b"", b"x", b"\x93NUMPY\x01\x00\xff\xff{}", b"\x93NUMPY\x01\x00\x10\x00{'descr':'<f8'}\n", b"\x93NUMPY\x09\x00\x10\x00" + b" " * 16):
        add("load", lambda m, text: m.load(io.BytesIO(text)), text)
    for text in ("1 2 3\n4 5 6\n", "# head\n1\n2\n", "1 2\n3\n", "", "a b\n", "7\n", "1e3 -2.5\n"):
        for dtype in ("float64", "float32", "int64"):
            add("loadtxt", lambda m, text, dtype: m.loadtxt(io.StringIO(text), dtype), text, dtype)
            add("loadtxt", lambda m, text, dtype: m.loadtxt(io.StringIO(text), dtype, ndmin=2, unpack=True), text, dtype)
    add("loadtxt", lambda m: m.loadtxt(io.StringIO("1,2;x\n3,4\n"), delimiter=",", comments=";"))
    add("loadtxt", lambda m: m.loadtxt(io.StringIO("h\n1 2 3\n4 5 6"), skiprows=1, usecols=(2, 0), max_rows=1))
    add("genfromtxt", lambda m: m.genfromtxt(io.StringIO("1,2,x\n3,,5\n"), delimiter=","))
    for dtype in ("int64", "float64"):
        for shape in ((4,), (2, 3), (), (1, 2, 2)):
            for fmt in ("%.18e", "%d", "%.3f"):
                def written(m, x, fmt):
                    buffer = io.StringIO()
                    m.savetxt(buffer, x, fmt, delimiter=",", header="h", footer="f")
                    return buffer.getvalue()
                add("savetxt", written, data(shape, dtype), fmt)
    for number in (0, 1, 5, 255, -1, -7, -128):
        for width in (None, 3, 8, 12):
            case("binary_repr", number, width)
        for base in (2, 3, 16, 36, 1, 40):
            case("base_repr", number, base)
        case("base_repr", number, 2, 3)
    for shape in ((8,), (3,), (2, 9), (0,), (2, 3, 4)):
        for axis in (None, 0, -1):
            for order in ("big", "little"):
                case("packbits", data(shape, "bool"), axis, order)
                case("unpackbits", data(shape, "uint8"), axis, None, order)
                if 0 not in shape:
                    case("unpackbits", data(shape, "uint8"), axis, 5, order)
    for dtype in ALL:
        for shape in ((), (3,), (2, 3)):
            x = data(shape, dtype)
            method("tobytes", x)
            method("tolist", x)
    for name in ("float16", "float32", "float64"):
        for attribute in ("eps", "max", "min", "tiny", "bits", "nmant", "precision", "resolution", "epsneg", "smallest_normal", "smallest_subnormal", "maxexp", "minexp"):
            add("finfo", lambda m, name, attribute: float(getattr(m.finfo(name), attribute)), name, attribute)
    for name in ("int8", "uint8", "int32", "uint64", "int64"):
        for attribute in ("min", "max", "bits"):
            add("iinfo", lambda m, name, attribute: int(getattr(m.iinfo(name), attribute)), name, attribute)
    for a, b in itertools.product((*ALL, *COMPLEX), repeat=2):
        add("promote_types", lambda m, a, b: str(m.promote_types(a, b)), a, b)
        add("result_type", lambda m, a, b: str(m.result_type(a, b)), a, b)
        add("result_type", lambda m, a, b: str(m.result_type(m.zeros(2, a), 3, b)), a, b)
        for casting in ("no", "safe", "same_kind", "unsafe"):
            case("can_cast", a, b, casting)
        add("issubdtype", lambda m, a, b: m.issubdtype(a, b), a, b)
        add("astype", lambda m, x, b: x.astype(b), N.array([0, 1, 2, 100], a), b)
    for a in (*ALL, *COMPLEX):
        for kind in ("integer", "signedinteger", "unsignedinteger", "floating", "complexfloating", "inexact", "number", "generic"):
            add("issubdtype", lambda m, a, kind: m.issubdtype(a, getattr(m, kind)), a, kind)
        for kind in ("bool", "signed integer", "integral", "real floating", "complex floating", "numeric"):
            add("isdtype", lambda m, a, kind: m.isdtype(m.zeros(1, a).dtype, kind), a, kind)
        for value in (0, 1, 300, -1, -40000, 2 ** 40, 1.5):
            add("min_scalar_type", lambda m, value: str(m.min_scalar_type(value)), value)
    for value in (1, 1.5, "x", [1]):
        case("isscalar", value)
    add("vectorize", lambda m: m.vectorize(lambda a, b: a + 2 * b)(m.asarray([1, 2]), 3))
    add("common_type", lambda m: m.dtype(m.common_type(m.ones(2, "float32"), m.ones(2, "int64"))).name)
    add("isfortran", lambda m: m.isfortran(m.ones((2, 3))))


def polynomials():
    for dtype in ("int64", "float64"):
        p, q = data((4,), dtype, "positive", 1), data((2,), dtype, "positive", 2)
        for name in ("polyadd", "polysub", "polymul", "polydiv"):
            case(name, p, q)
            case(name, q, p)
        case("polyval", p, data((5,), dtype))
        case("polyval", p, data((2, 3), "float64"))
        case("polyval", p, 2)
        for m in (0, 1, 2, 5):
            case("polyder", p, m)
            case("polyint", p, m)
        case("polyint", p, 2, [1, 2])
        case("poly", q)
        case("poly", N.array([1.0, 2.0, 3.0]))
        case("poly", N.diag([1.0, 2.0, 3.0]))
        add("roots", lambda m, p: N.sort_complex(N.asarray(m.roots(p)).astype("complex128")), p)
        add("roots", lambda m, p: N.sort_complex(N.asarray(m.roots(p)).astype("complex128")), N.array([0, 1, -3, 2, 0], dtype))
        case("polyfit", N.arange(6.0), data((6,), dtype), 2)
        case("polyfit", N.arange(6.0), data((6, 2), dtype), 1)
        case("polyfit", N.arange(6.0), data((6,), dtype), 1, w=N.arange(1, 7))
        case("polyfit", N.arange(6.0), data((6,), dtype), 1, cov=True)
        case("polyfit", N.arange(6.0), data((5,), dtype), 1)


def methods():
    for dtype in ALL:
        for shape in SHAPES:
            x = data(shape, dtype, "small")
            for name in ("sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin", "cumsum", "cumprod", "flatten", "ravel", "squeeze", "copy", "nonzero", "conj", "round",
                         "transpose", "diagonal", "trace", "swapaxes"):
                arguments = (0, 1) if name == "swapaxes" else ()
                loose = {"float16": 3e-3, "float32": 3e-6}.get(dtype)
                CASES.append(("ndarray." + name, lambda m, x, *args, name=name: getattr(x, name)(*args), (x, *arguments), {}, loose))
                if name in ("sum", "max", "min", "mean", "all", "any", "argmax", "cumsum"):
                    CASES.append(("ndarray." + name, lambda m, x, *args, name=name: getattr(x, name)(*args), (x, 0), {}, loose))

            def sorted_(m, x):
                x.sort()
                return x
            add("ndarray.sort", sorted_, x)
            add("ndarray.argsort", lambda m, x: x.argsort(kind="stable"), x)
            add("ndarray.take", lambda m, x: x.take([0, -1]), x)
            add("ndarray.repeat", lambda m, x: x.repeat(2), x)
            add("ndarray.clip", lambda m, x: x.clip(0, 2), x)
            add("ndarray.reshape", lambda m, x: x.reshape(-1), x)
            add("ndarray.T", lambda m, x: x.T, x)
            add("ndarray.real", lambda m, x: x.real, x)
            add("ndarray.imag", lambda m, x: x.imag, x)
            add("ndarray.size", lambda m, x: (x.size, x.ndim, x.shape, x.nbytes, x.itemsize), x)
            add("ndarray.flat", lambda m, x: list(x.flat), x)
            add("ndarray.byteswap", lambda m, x: x.byteswap().tobytes(), x)
            add("ndarray.strides", lambda m, x: x.strides if x.size else None, x)
            add("ndarray.no_such", lambda m, x: x.no_such, x)

            def filled(m, x):
                x.fill(1)
                return x
            add("ndarray.fill", filled, x)
    for name in ("sum", "max", "sqrt", "add", "concatenate", "where", "mean", "transpose", "argsort", "stack", "clip", "std", "einsum", "tensordot"):
        def dispatched(m, x, name):
            """NumPy's own function called with our array gives what ours gives."""
            arguments = {"add": (x, x), "concatenate": ([x, x],), "stack": ([x, x],), "where": (x > 0, x, x), "clip": (x, 0, 2), "einsum": ("ij->j", x), "tensordot": (x, x, 2)}.get(name, (x,))
            result = getattr(N, name)(*arguments)
            if m is M and not isinstance(result, Var):
                raise AssertionError(f"numpy.{name} of a Var gives {type(result)}")
            return result
        add("__array_function__." + name, dispatched, data((3, 4), "float64"), name)


def large():
    """Arrays beyond the sizes at which other code takes over."""
    for dtype in ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64"):
        loose = {"float16": 2e-2, "float32": 1e-5, "complex64": 1e-4}.get(dtype)
        for shape in ((20011,), (131, 157), (7, 33, 95)):
            x = data(shape, dtype)
            for name in ("sum", "mean", "max", "min", "argmax", "argmin", "any", "all", "std", "var", "count_nonzero", "cumsum", "sort", "median"):
                if (dtype == "float16" and name in ("cumsum", "sum")) or dtype == "complex64" and name in ("max", "min", "argmax", "argmin", "sort", "median") or dtype == "bool" and name == "median":
                    continue
                for axis in (None, 0, -1):
                    case(name, x, axis=axis, tolerance=2e-3 if dtype == "float32" and name == "cumsum" else loose)  # NumPy adds in float32
            if dtype.startswith("float") and dtype != "float16":
                for place in (0, 70, 5000, x.size - 1):
                    y = x.copy()
                    y.reshape(-1)[place] = N.nan
                    for name in ("argmax", "argmin", "max", "nanargmax", "nanmin", "median", "nanmean"):
                        case(name, y, tolerance=loose)
                        case(name, y, axis=-1, tolerance=loose) if "nan" not in name else None
            for name in ("add", "multiply", "maximum", "equal", "less") if dtype != "complex64" else ("add", "multiply"):
                case(name, x, data(shape, dtype, "any", 1))
                case(name, x, data(shape[-1:], dtype, "any", 1))
            for name in ("sqrt", "exp", "sin", "cos", "tanh", "log", "absolute", "isnan", "square"):
                case(name, data(shape, dtype, "positive"), tolerance=loose)
            mask = data(shape, "bool", "any", 3)
            add("ndarray.__getitem__", lambda m, x, mask: x[mask], x, mask)
            case("where", mask, x, data(shape, dtype, "any", 4))
            case("nonzero", x)
            case("take", x, N.random.default_rng(2).integers(0, shape[0], 3000), 0)
            case("take", x, N.random.default_rng(2).integers(-x.size, x.size, 3000))
            case("transpose", x)
            case("concatenate", [x, x], -1)
            case("unique", x, return_inverse=True, return_counts=True) if dtype != "complex64" else None
    for dtype in FLOATS[1:]:
        for m, k, n in ((130, 70, 90), (257, 33, 1), (1, 300, 65), (64, 64, 64)):
            case("matmul", data((m, k), dtype, "any", 1), data((k, n), dtype, "any", 2), tolerance=1e-4 if dtype == "float32" else None)
        case("linalg.solve", spread((60, 60), dtype) + 20 * N.eye(60, dtype=dtype), data((60,), dtype), tolerance=1e-4)
        case("linalg.svdvals", data((40, 60), dtype), tolerance=1e-4)
        case("linalg.eigvalsh", spread((50, 50), dtype) + spread((50, 50), dtype).T, tolerance=1e-4)
        for n in (1000, 1021, 4096, 6000):
            case("fft.fft", data((n,), dtype), tolerance=1e-3 if dtype == "float32" else 1e-9)
            case("fft.irfft", data((n,), dtype), tolerance=1e-4 if dtype == "float32" else 1e-9)


GROUPS = (large, elementwise, reductions, shapes, indexing, sorting, statistics, products, linear_algebra, fourier, random_streams, files_and_text, polynomials, methods)
CLASSES = (M.linalg.LinAlgError, N.linalg.LinAlgError, M.AxisError, N.exceptions.AxisError, IndexError, TypeError, ZeroDivisionError, OverflowError, KeyError, AttributeError, EOFError, NotImplementedError,
           RuntimeError, ValueError, Exception)
ALIKE = {M.linalg.LinAlgError: "LinAlgError", N.linalg.LinAlgError: "LinAlgError", M.AxisError: "AxisError", N.exceptions.AxisError: "AxisError"}


def kind_of(error):
    found = next(kind for kind in CLASSES if isinstance(error, kind))
    return ALIKE.get(found, found.__name__)


def outcome(call, module, arguments, options):
    try:
        return call(module, *arguments, **options), None
    except Exception as error:
        return None, error


def run(one):
    """Why a case fails; None where it does not."""
    name, call, arguments, options, tolerance = one
    wanted, refused = outcome(call, N, copied(arguments), options)
    given, error = outcome(call, M, ours(arguments), ours(options))
    if refused is not None:
        if error is None:
            return f"NumPy refuses ({type(refused).__name__}: {refused}), the result is {str(given)[:100]}"
        if isinstance(refused, N._core._exceptions._UFuncNoLoopError):
            refused = TypeError(str(refused))
        one, other = kind_of(error), kind_of(refused)
        lenient = {("AxisError", "ValueError"), ("AxisError", "IndexError"), ("LinAlgError", "ValueError"), ("ValueError", "LinAlgError"), ("IndexError", "AxisError"), ("ValueError", "AxisError")}
        if name == "ndarray.__setitem__" and {one, other} == {"IndexError", "ValueError"}:
            return None  # of an index out of range and a value of another shape either may be told first
        return None if one == other or (one, other) in lenient else f"{type(error).__name__} ({error}), NumPy has {type(refused).__name__} ({refused})"
    if error is not None:
        return f"{type(error).__name__}: {error}"
    try:
        return same(given, wanted, tolerance, name)
    except Exception as problem:
        return f"{type(problem).__name__} while comparing: {problem}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--function")
    parser.add_argument("--group")
    parser.add_argument("--part", default=os.environ.get("MINNOW_PARITY_PART", "1/1"))
    parser.add_argument("--most", type=int, default=40, help="failures that are shown")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    for group in GROUPS:
        if arguments.group in (None, group.__name__):
            group()
    cases = [one for one in CASES if arguments.function in (None, one[0])]
    chosen = cases[part - 1::parts]
    start = time.time()
    failures = {}
    for one in chosen:
        why = run(one)
        if why is not None:
            failures.setdefault(one[0], []).append((one, why))
    count = sum(map(len, failures.values()))
    for shown, (name, found) in enumerate(sorted(failures.items(), key=lambda item: -len(item[1]))):
        if shown >= arguments.most:
            break
        (_, _, given, options, _), why = found[0]
        print(f"{name}: {len(found)} fail, first {str(given)[:160]!r} {str(options)[:80]}: {why}"[:700])
    names = {one[0] for one in cases}
    print(f"{len(chosen)} cases of {len(names)} functions and methods in {time.time() - start:.1f} s, {count} fail in {len(failures)} functions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
