# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of values that depend on a placeholder, composed of the engine's operators."""
from __future__ import annotations

import math
from typing import Callable, Optional

from minnow._minnow import InvalidArgument, InvalidType, Var, op

from minnow.numpy._core import native

#: The engine's operator for a function of one argument.
UNARY = {"sqrt": "Sqrt", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
         "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh", "absolute": "Abs", "floor": "Floor", "ceil": "Ceil", "rint": "Round", "sign": "Sign",
         "reciprocal": "Reciprocal", "isnan": "IsNaN", "isinf": "IsInf"}


def _floor_divide(x: Var, y: Var) -> Var:
    if x.dtype.kind != "f":
        return op("Div", (x - x % y, y))
    return op("Where", (op("IsInf", (x,)) | op("IsInf", (y,)), x / y, _python_quotient(x, y)))


def _python_quotient(x: Var, y: Var) -> Var:
    rest = op("Mod", (x, y), {"fmod": 1})
    quotient = (x - rest) / y
    quotient = op("Where", ((rest != 0) & ((y < 0) ^ (rest < 0)), quotient - 1, quotient))
    nearest = op("Floor", (quotient,))
    nearest = nearest + (quotient - nearest > 0.5).astype(x.dtype)
    nearest = op("Where", (nearest == 0, x / y * 0, nearest))  # of the quotient's sign
    return op("Where", (y == 0, x / y, nearest))


def _shift(direction: str) -> Callable[[Var, Var], Var]:
    def function(x: Var, y: Var) -> Var:
        wide = y.astype("int64") if y.dtype.name != "uint64" else y
        fits = wide < 8 * x.itemsize
        unsigned = "uint" + str(8 * x.itemsize)

        def moved(bits: Var) -> Var:
            made = op("BitShift", (bits.astype(unsigned), y.astype(unsigned)), {"direction": direction})
            return op("Where", (fits, made, made * 0)).astype(x.dtype)

        if direction == "LEFT" or x.dtype.kind == "u":
            return moved(x)
        # Shift the complement of negative numbers, so that copies of the sign move in: ~(~x >> y).
        negative = x < 0
        result = moved(op("Where", (negative, ~x, x)))
        return op("Where", (negative, ~result, result))

    return function


def _log1p(x: Var) -> Var:
    # Kahan: the rounding of 1 + x is in the quotient, too.
    u = x + 1
    return op("Where", (u == 1, x, op("Where", (op("IsInf", (u,)), u, op("Log", (u,)) * x / (u - 1)))))


def _expm1(x: Var) -> Var:
    u = op("Exp", (x,))
    less = u - 1
    return op("Where", (u == 1, x, op("Where", ((less == -1) | op("IsInf", (u,)), less, less * x / op("Log", (u,))))))


def _hypot(x: Var, y: Var) -> Var:
    p, q = op("Abs", (x,)), op("Abs", (y,))
    large, small = op("Max", (p, q)), op("Min", (p, q))
    ratio = small / large
    return op("Where", ((large == 0) | op("IsInf", (large,)), large, large * op("Sqrt", (ratio * ratio + 1,))))


def _logaddexp(x: Var, y: Var) -> Var:
    return op("Where", (x == y, x + math.log(2), op("Max", (x, y)) + _log1p(op("Exp", (-op("Abs", (x - y,)),)))))


def _other_where_nan(name: str) -> Callable[[Var, Var], Var]:
    return lambda x, y: op("Where", (op("IsNaN", (x,)), y, op("Where", (op("IsNaN", (y,)), x, op(name, (x, y)))))) if x.dtype.kind == "f" else op(name, (x, y))


def _below_zero(x: Var) -> Var:
    """Where the sign is minus, that of -0 too."""
    return (x < 0) | (op("Reciprocal", (x,)) < 0)


def _copysign(x: Var, y: Var) -> Var:
    return op("Where", (_below_zero(x) ^ _below_zero(y), -x, x))


def _cbrt(x: Var) -> Var:
    root = op("Pow", (op("Where", (x < 0, -x, x)), Var(1 / 3, x.dtype)))
    return op("Where", (x < 0, -root, root))


def _sinc(x: Var) -> Var:
    away = op("Where", (x == 0, Var(1, x.dtype), x * math.pi))  # a quotient that is not taken has a gradient, too
    return op("Where", (x == 0, Var(1, x.dtype), op("Sin", (away,)) / away))


def _arctan2(y: Var, x: Var) -> Var:
    left, down = _below_zero(x), _below_zero(y)
    p, q = op("Where", (left, -x, x)), op("Where", (down, -y, y))  # not Abs, whose gradient at 0 is 0
    steep = q > p
    large, small = op("Where", (steep, q, p)), op("Where", (steep, p, q))
    ratio = op("Where", (op("IsInf", (small,)) & (small == large), Var(1, x.dtype), small / op("Where", (large == 0, Var(1, x.dtype), large))))
    angle = op("Atan", (ratio,))
    angle = op("Where", (steep, math.pi / 2 - angle, angle))
    angle = op("Where", (left, math.pi - angle, angle))
    return op("Where", (down, -angle, angle))


_UNARY: dict[str, Callable[[Var], Var]] = {
    "log1p": _log1p, "expm1": _expm1, "log2": lambda x: op("Log", (x,)) * (1 / math.log(2)), "log10": lambda x: op("Log", (x,)) * (1 / math.log(10)),
    "exp2": lambda x: op("Pow", (Var(2, x.dtype), x)), "trunc": lambda x: op("Where", (x < 0, op("Ceil", (x,)), op("Floor", (x,)))), "square": lambda x: x * x,
    "cbrt": _cbrt, "sinc": _sinc, "fraction": lambda x: x - _UNARY["trunc"](x), "rad2deg": lambda x: x * (180 / math.pi), "deg2rad": lambda x: x * (math.pi / 180)}
_BINARY: dict[str, Callable[[Var, Var], Var]] = {
    "floor_divide": _floor_divide, "python_quotient": _python_quotient, "remainder": lambda x, y: x % y if x.dtype.kind == "f" else op("Mod", (x, y)),  # `%` of integers is this function
    "fmod": lambda x, y: op("Mod", (x, y), {"fmod": 1}), "power": lambda x, y: op("Pow", (x, y)),
    "left_shift": _shift("LEFT"), "right_shift": _shift("RIGHT"), "maximum": lambda x, y: op("Max", (x, y)), "minimum": lambda x, y: op("Min", (x, y)), "fmax": _other_where_nan("Max"), "fmin": _other_where_nan("Min"),
    "hypot": _hypot, "logaddexp": _logaddexp, "logaddexp2": lambda x, y: _logaddexp(x * math.log(2), y * math.log(2)) * (1 / math.log(2)), "arctan2": _arctan2, "copysign": _copysign,
    "ldexp": lambda x, y: x * op("Pow", (Var(2, x.dtype), y.astype(x.dtype)))}


def _at_once(name: str, function: Callable[..., Var], *operands: Var) -> Var:
    """Compute, from the current values of the placeholders, a function that has no expression. Raises InvalidType if a placeholder has no value."""
    for x in operands:
        try:
            x.evaluate()
        except InvalidArgument as error:
            raise InvalidType(f"{name}() of what depends on a placeholder is no expression, and {error}") from None
    return function(name, *operands)


def unary(name: str, x: Var, operator: Optional[str] = None) -> Var:
    made = operator or UNARY.get(name)
    if made is not None:
        return op(made, (x,))
    return _UNARY[name](x) if name in _UNARY else _at_once(name, native.unary, x)


def binary(name: str, x: Var, y: Var) -> Var:
    return _BINARY[name](x, y) if name in _BINARY else _at_once(name, native.binary, x, y)
