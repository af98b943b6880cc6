# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of what depends on a placeholder: made of the engine's operators."""
from __future__ import annotations

from typing import Callable, Optional

from minnow._minnow import InvalidType, Var, op

#: The engine's operator for a function of one argument.
UNARY = {"sqrt": "Sqrt", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
         "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh", "absolute": "Abs", "floor": "Floor", "ceil": "Ceil", "rint": "Round", "sign": "Sign",
         "reciprocal": "Reciprocal", "isnan": "IsNaN", "isinf": "IsInf"}


def _floor_divide(x: Var, y: Var) -> Var:
    if x.dtype.kind != "f":
        return op("Div", (x - x % y, y))
    quotient = (x - x % y) / y
    nearest = op("Floor", (quotient,))
    nearest = nearest + (quotient - nearest > 0.5).astype(x.dtype)
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
        # Of signed numbers the sign moves in: ~(~x >> y) where x is negative.
        negative = x < 0
        result = moved(op("Where", (negative, ~x, x)))
        return op("Where", (negative, ~result, result))

    return function


_BINARY: dict[str, Callable[[Var, Var], Var]] = {
    "floor_divide": _floor_divide, "remainder": lambda x, y: x % y, "fmod": lambda x, y: op("Mod", (x, y), {"fmod": 1}), "power": lambda x, y: op("Pow", (x, y)),
    "left_shift": _shift("LEFT"), "right_shift": _shift("RIGHT"), "maximum": lambda x, y: op("Max", (x, y)), "minimum": lambda x, y: op("Min", (x, y))}


def _refusal(name: str) -> InvalidType:
    return InvalidType(f"{name}() of what depends on a placeholder is no expression; evaluate it on arrays, or take an operator of minnow.expr")


def unary(name: str, x: Var, operator: Optional[str] = None) -> Var:
    made = operator or UNARY.get(name)
    if made is None:
        raise _refusal(name)
    return op(made, (x,))


def binary(name: str, x: Var, y: Var) -> Var:
    if name not in _BINARY:
        raise _refusal(name)
    return _BINARY[name](x, y)
