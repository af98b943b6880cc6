# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions, ufuncs and their out, where, reduce, accumulate, outer and at."""
import math

import numpy as N

from numpy_parity.cases import add, ALL, case, COMPLEX, data, FLOATS


def quotient_of_the_standard(m, x, y):
    """floor_divide(); of infinite operands NumPy follows Python, minnow.numpy the array API standard, which prefers floor(x / y)."""
    quotient = m.floor_divide(x, y)
    return N.where(N.isinf(x) | N.isinf(y), N.divide(x, y), quotient) if m is N else quotient


def elementwise():
    def ignoring(m, x):
        with m.errstate(divide="ignore", invalid="ignore"):
            return m.errstate(all="ignore")(m.divide)(x, 0)
    add("errstate", ignoring, data((5,), "float32"))
    add("seterr", lambda m: m.seterr(all="loud"))
    for name in ("integer", "signedinteger", "unsignedinteger", "floating", "complexfloating", "inexact", "number", "generic"):
        for dtype in (*ALL, *COMPLEX):
            add(name, lambda m, x, name: [isinstance(value, getattr(m, name)) for value in (x[0], x[:1], 1, 1.5, None)], data((2,), dtype), name)
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
                if name == "floor_divide":
                    add(name, quotient_of_the_standard, x.astype(dtype), y.astype(dtype))
                else:
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
