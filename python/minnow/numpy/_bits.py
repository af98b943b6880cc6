# SPDX-License-Identifier: Apache-2.0
"""Numbers as text and as bits, and grids written with slices."""
from __future__ import annotations

from typing import Any, Optional

from minnow._arrays import index_of
from minnow._minnow import InvalidArgument, InvalidType, Var

from minnow.numpy import _creation, _shape
from minnow.numpy._core import ArrayLike, asarray, astype, axis_of, is_true, join, native, public, reshape_to, zeros_of


@public
def binary_repr(num: int, width: Optional[int] = None) -> str:
    """A whole number in base 2; negative ones as two's complement of `width` digits, or with a minus."""
    number = index_of(num)
    if number >= 0:
        if width is not None and len(f"{number:b}") > width:
            raise InvalidArgument(f"Insufficient bit width={width} provided for binwidth={len(f'{number:b}')}")
        return f"{number:b}".zfill(width or 0) if number else "0" * (width or 1)
    if width is None:
        return f"-{-number:b}"
    digits = max(width, len(f"{-number - 1:b}") + 1 if number != -1 else 1)
    if digits > width:
        raise InvalidArgument(f"Insufficient bit width={width} provided for binwidth={digits}")
    return f"{(1 << digits) + number:b}".rjust(width, "1")


@public
def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """A whole number in a base from 2 to 36, with zeros before."""
    if base > 36:
        raise InvalidArgument("Bases greater than 36 not handled in base_repr.")
    if base < 2:
        raise InvalidArgument("Bases less than 2 not handled in base_repr.")
    rest, text = abs(index_of(number)), ""
    while rest:
        text = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % base] + text
        rest //= base
    text = "0" * padding + text if text or padding else text
    return ("-" if number < 0 else "") + (text or "0")


def _along(x: Var, axis: Optional[int], bitorder: str) -> tuple[Var, int, list[int]]:
    """The array, flat where no axis is named, its axis, and how far up each bit of a byte stands."""
    if bitorder not in ("big", "little"):
        raise InvalidArgument("'order' must be either 'little' or 'big'")
    order = list(range(7, -1, -1) if bitorder == "big" else range(8))
    if axis is None or x.ndim == 0:
        return reshape_to(x, [x.size]), 0, order
    return x, axis_of(axis, x.ndim), order


@public
def packbits(a: ArrayLike, /, axis: Optional[int] = None, bitorder: str = "big") -> Var:
    """Eight elements that are zero or not as the bits of one uint8, along an axis."""
    x = asarray(a)
    if x.dtype.kind not in "biu":
        raise InvalidType("Expected an input array of integer or boolean data type")
    x, place, order = _along(x, axis, bitorder)
    x = _shape.moveaxis(astype(is_true(x), asarray(0, "uint8").dtype), place, -1)
    missing = -x.shape[-1] % 8
    if missing:
        x = join([x, zeros_of([*x.shape[:-1], missing], x.dtype)], x.ndim - 1)
    x = reshape_to(x, [*x.shape[:-1], x.shape[-1] // 8, 8])
    total = zeros_of(x.shape[:-1], x.dtype)
    for i, bit in enumerate(order):
        total = total | native.binary("left_shift", x[..., i], asarray(bit, x.dtype))
    return _shape.moveaxis(total, -1, place)


@public
def unpackbits(a: ArrayLike, /, axis: Optional[int] = None, count: Optional[int] = None, bitorder: str = "big") -> Var:
    """The bits of uint8 along an axis; count: how many, or with a minus how many less."""
    x = asarray(a)
    if x.dtype.name != "uint8":
        raise InvalidType("Expected an input array of unsigned byte data type")
    x, place, order = _along(x, axis, bitorder)
    x = _shape.moveaxis(x, place, -1)
    bits = native.binary("right_shift", reshape_to(x, [*x.shape, 1]), asarray(order, "uint8")) & asarray(1, "uint8")
    bits = reshape_to(bits, [*x.shape[:-1], x.shape[-1] * 8])
    if count is not None:
        n = bits.shape[-1]
        if count < -n:
            raise InvalidArgument("-count larger than number of elements")
        wanted = count if count >= 0 else n + count
        bits = join([bits, zeros_of([*bits.shape[:-1], wanted - n], bits.dtype)], bits.ndim - 1) if wanted > n else bits[..., :wanted]
    return _shape.moveaxis(bits, -1, place)


# ---- In brackets

class IndexExpression:
    """s_[1:2, ...]: an index as an object."""

    def __init__(self, maketuple: bool) -> None:
        self.maketuple = maketuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.maketuple and not isinstance(item, tuple) else item


index_exp, s_ = IndexExpression(True), IndexExpression(False)


def _line(part: slice) -> Var:
    """start:stop:step as arange(), start:stop:nj as linspace() of n numbers."""
    start, step = part.start or 0, 1 if part.step is None else part.step
    if part.stop is None:
        raise InvalidArgument("a slice of a grid needs an end")
    if isinstance(step, complex):
        return _creation.linspace(start, part.stop, int(abs(step)))  # type: ignore[no-any-return]
    return _creation.arange(start, part.stop, step)


class Grid:
    """mgrid[0:3, 0:4]: coordinates of all points, [axes, ...]; ogrid: one array for each axis, that broadcast to them."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _line(key)
        lines = [_line(part) for part in key]
        from minnow.numpy._core import result_type
        common = result_type(*lines)
        made = _creation.meshgrid(*[astype(line, common) for line in lines], sparse=self.sparse, indexing="ij")
        return tuple(made) if self.sparse else _shape.stack(made, 0)


mgrid, ogrid = Grid(False), Grid(True)


class Joined:
    """r_[1:4, 0, [5, 6]]: arrays one after the other along the first axis; c_: along the second, vectors as columns."""

    def __init__(self, columns: bool) -> None:
        self.columns = columns

    def __getitem__(self, key: Any) -> Var:
        parts = []
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, str):
                raise InvalidArgument("texts between the brackets of r_ and c_ are not understood; use concatenate()")
            x = _line(part) if isinstance(part, slice) else part
            grown = _shape.atleast_1d(x)
            if self.columns and grown.ndim == 1:
                grown = reshape_to(grown, [grown.size, 1])
            parts.append(grown)
        return _shape.concatenate(parts, -1 if self.columns else 0)


r_, c_ = Joined(False), Joined(True)
