# SPDX-License-Identifier: Apache-2.0
"""Python's operators that are more than one operator of the engine, and indices beyond basic slicing: functions of minnow.numpy.

The extension module calls these by name: x // y is floor_divide(x, y), x[mask] is get_item(x, mask). minnow.numpy is imported when the first of
them is called.
"""
from __future__ import annotations

from typing import Any

from minnow._minnow import Var


def matmul(a: Any, b: Any) -> Var:
    from minnow.numpy._products import matmul
    return matmul(a, b)


def floor_divide(a: Any, b: Any) -> Var:
    from minnow.numpy._elementwise import floor_divide
    return floor_divide(a, b)


def divmod(a: Any, b: Any) -> tuple[Var, Var]:
    from minnow.numpy._elementwise import divmod
    return divmod(a, b)


def power(a: Any, b: Any) -> Var:
    from minnow.numpy._elementwise import power, square
    if type(b) is int and b == 2:
        return square(a)
    return power(a, b)


def absolute(a: Any) -> Var:
    from minnow.numpy._elementwise import absolute
    return absolute(a)


def negative(a: Any) -> Var:
    from minnow.numpy._elementwise import negative
    return negative(a)


def left_shift(a: Any, b: Any) -> Var:
    from minnow.numpy._elementwise import left_shift
    return left_shift(a, b)


def right_shift(a: Any, b: Any) -> Var:
    from minnow.numpy._elementwise import right_shift
    return right_shift(a, b)


def get_item(x: Var, key: Any) -> Var:
    from minnow.numpy._indexing import getitem
    return getitem(x, key)


def set_item(x: Var, key: Any, value: Any) -> None:
    from minnow.numpy._indexing import setitem
    setitem(x, key, value)


__all__ = ["matmul", "floor_divide", "divmod", "power", "absolute", "negative", "left_shift", "right_shift", "get_item", "set_item"]
