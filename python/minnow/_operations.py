# SPDX-License-Identifier: Apache-2.0
"""Python's operators that are more than one operator of the engine, and indices beyond basic slicing.

The extension module calls these by name: x // y is floor_divide(x, y), x[mask] is get_item(x, mask).
"""
from __future__ import annotations

from typing import Any


from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, Var, op, operands



def matmul(a: Any, b: Any) -> Var:
    x, y = operands(a, b)
    if x.known_shape == () or y.known_shape == ():
        raise InvalidArgument("a matrix product takes operands with at least one axis each; use * with numbers")
    dtype = x.dtype
    if dtype.kind == "f" or dtype.name in ("int32", "int64", "uint32", "uint64"):
        return op("MatMul", (x, y))
    if dtype.name == "bool":
        return op("MatMul", (x.astype("int32"), y.astype("int32"))).astype("bool")
    return op("MatMul", (x.astype("int64"), y.astype("int64"))).astype(dtype)


def floor_divide(a: Any, b: Any) -> Var:
    x, y = operands(a, b)
    if x.dtype.kind == "f":
        remainder = x % y
        quotient = (x - remainder) / y
        nearest = op("Floor", (quotient,))
        nearest = nearest + (quotient - nearest > 0.5).astype(x.dtype)
        return op("Where", (y == 0, x / y, nearest))
    if x.dtype.name == "bool":
        x, y = x.astype("int8"), y.astype("int8")
    return op("Div", (x - x % y, y))


def divmod(a: Any, b: Any) -> tuple[Var, Var]:
    x, y = operands(a, b)
    return floor_divide(x, y), x % y


def power(a: Any, b: Any) -> Var:
    if b is not True and b == 2 and type(b) is int and isinstance(a, Var) and a.dtype.kind != "b":
        return a * a
    x, y = operands(a, b)
    if x.dtype.name == "bool":
        x, y = x.astype("int8"), y.astype("int8")
    if x.dtype.kind == "i" and type(b) is int and b < 0:
        raise InvalidArgument("integers to negative integer powers are not integers; make one of them floating")
    return op("Pow", (x, y))


def absolute(a: Any) -> Var:
    x = a if isinstance(a, Var) else Var(a)
    return x if x.dtype.kind in "bu" else op("Abs", (x,))


def _shift(a: Any, b: Any, direction: str) -> Var:
    x, y = operands(a, b)
    if x.dtype.kind == "f":
        raise InvalidType(f"bits of {x.dtype} cannot be shifted; take integers")
    if x.dtype.name == "bool":
        x, y = x.astype("int8"), y.astype("int8")
    wide = y.astype("int64") if y.dtype.name != "uint64" else y
    if direction == "LEFT":
        unsigned = "uint" + str(8 * x.itemsize)
        bits = op("BitShift", (x.astype(unsigned), y.astype(unsigned)), {"direction": direction})
        return op("Where", (wide < 8 * x.itemsize, bits, bits * 0)).astype(x.dtype)
    if x.dtype.kind == "u":
        return op("Where", (wide < 8 * x.itemsize, op("BitShift", (x, y), {"direction": direction}), x * 0))
    # Of signed numbers the sign moves in: ~(~x >> y) where x is negative.
    unsigned = "uint" + str(8 * x.itemsize)
    negative = x < 0
    plain = op("Where", (negative, ~x, x)).astype(unsigned)
    moved = op("BitShift", (plain, y.astype(unsigned)), {"direction": direction})
    moved = op("Where", (wide < 8 * x.itemsize, moved, moved * 0)).astype(x.dtype)
    return op("Where", (negative, ~moved, moved))


def left_shift(a: Any, b: Any) -> Var:
    return _shift(a, b, "LEFT")


def right_shift(a: Any, b: Any) -> Var:
    return _shift(a, b, "RIGHT")


def get_item(x: Var, key: Any) -> Var:
    raise InvalidIndex(f"{key!r} is no index; there are integers, slices, Ellipsis and None")


def set_item(x: Var, key: Any, value: Any) -> None:
    raise InvalidIndex(f"{key!r} is no index; there are integers, slices, Ellipsis and None")


__all__ = ["matmul", "floor_divide", "divmod", "power", "absolute", "left_shift", "right_shift", "get_item", "set_item"]
