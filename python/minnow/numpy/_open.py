# SPDX-License-Identifier: Apache-2.0
"""Moving, joining and sorting values that depend on a placeholder with open dimensions, with operators of the engine that work for all sizes.

The functions of the other modules call these if is_open() is true, and check axes and dtypes themselves. A function that needs an unknown size
raises InvalidArgument (see known()).
"""
from __future__ import annotations

from typing import Any, Optional, Sequence

from minnow._minnow import InvalidArgument, Var, op, ops

from minnow.numpy._core import ints


def dims_of(x: Var) -> tuple[Optional[int], ...]:
    """Return the dimensions, None for open ones; if even the rank is open, those of the current value."""
    dims = x.dims
    return x.shape if dims is None else dims


def known(x: Var, axis: int, what: str) -> int:
    """The size of an axis; InvalidArgument where it is open."""
    size = dims_of(x)[axis]
    if size is None:
        raise InvalidArgument(f"{what} needs to know the size of axis {axis}, which is open: the Var has the dimensions {dims_of(x)}")
    return size


def shape(x: Var, begin: int = 0, end: Optional[int] = None) -> Var:
    """Some of the dimensions, as a vector that is computed."""
    return op("Shape", (x,), {"start": begin} if end is None else {"start": begin, "end": end})


def vector(parts: Sequence[Any]) -> Var:
    """A vector of dimensions that are numbers, lists of numbers, or vectors."""
    made = [part if isinstance(part, Var) else ints(part if isinstance(part, (list, tuple)) else [part]) for part in parts]
    return op("Concat", made, {"axis": 0})


def reshape(x: Var, dims: Sequence[int]) -> Var:
    return op("Reshape", (x, ints(dims)), {"allowzero": 1})


def reshape_to(x: Var, dims: Var) -> Var:
    return op("Reshape", (x, dims), {"allowzero": 1})


def expand_dims(x: Var, places: Sequence[int]) -> Var:
    return op("Unsqueeze", (x, ints(places)))


def squeeze(x: Var, places: Sequence[int]) -> Var:
    for axis in places:
        if dims_of(x)[axis] not in (1, None):
            raise InvalidArgument("cannot select an axis to squeeze out which has size not equal to one")
    return op("Squeeze", (x, ints(places)))


def broadcast_to(x: Var, dims: Sequence[int]) -> Var:
    # Expand lets an axis of length 1 in `dims` take the operand's size, broadcast_to does not.
    own = dims_of(x)
    for i in range(1, min(len(own), len(dims)) + 1):
        if own[-i] not in (1, None, dims[-i]):
            raise InvalidArgument(f"operands could not be broadcast together with remapped shapes [original->remapped]: {own} and requested shape {tuple(dims)}")
    return op("Expand", (x, ints(dims)))


def fit(parts: Sequence[Var], joined: Optional[int]) -> None:
    """Raise InvalidArgument if known dimensions differ, except along the axis `joined`."""
    first = dims_of(parts[0])
    for i, x in enumerate(parts):
        own = dims_of(x)
        if len(own) != len(first):
            raise InvalidArgument(f"all the input array dimensions must match exactly: the array at index 0 has {len(first)} dimension(s) and the array at index {i} has {len(own)}")
        for k, (a, b) in enumerate(zip(first, own)):
            if k != joined and a is not None and b is not None and a != b:
                raise InvalidArgument(f"all input arrays must have the same shape but along an axis that is joined; along dimension {k}, the array at index 0 has size {a} and the array at index {i} has size {b}")


def join(parts: Sequence[Var], axis: int) -> Var:
    return parts[0].clone() if len(parts) == 1 else op("Concat", list(parts), {"axis": axis})


def split(x: Var, sections: int, axis: int) -> list[Var]:
    """Split into equal parts; computing them fails unless the size is a multiple."""
    if sections <= 0:
        raise InvalidArgument("number sections must be larger than 0.")
    grouped = reshape_to(x, vector([shape(x, 0, axis), sections, op("Div", (shape(x, axis, axis + 1), ints([sections]))), shape(x, axis + 1)]))
    return [op("Gather", (grouped, ints([i]).reshape(())), {"axis": axis}) for i in range(sections)]


def array_split(x: Var, sections: int, axis: int) -> list[Var]:
    size = shape(x, axis, axis + 1)
    each, extra = op("Div", (size, ints([sections]))), op("Mod", (size, ints([sections])))
    bounds = [each * i + op("Min", (extra, ints([i]))) for i in range(sections + 1)]
    return [op("Slice", (x, begin, end, ints([axis]))) for begin, end in zip(bounds, bounds[1:])]


def roll(x: Var, shift: int, axis: int) -> Var:
    size = shape(x, axis, axis + 1)
    start = size - op("Mod", (ints([shift]), op("Max", (size, ints([1])))))
    return op("Concat", (op("Slice", (x, start, size, ints([axis]))), op("Slice", (x, ints([0]), start, ints([axis])))), {"axis": axis})


def tile(x: Var, counts: Sequence[int]) -> Var:
    rank = len(dims_of(x))
    if len(counts) > rank:
        x = expand_dims(x, range(len(counts) - rank))
    return op("Tile", (x, ints(counts)))


def repeat(x: Var, count: int, axis: int) -> Var:
    spread = op("Tile", (expand_dims(x, [axis + 1]), ints([1] * (axis + 1) + [count] + [1] * (len(dims_of(x)) - axis - 1))))
    return reshape_to(spread, vector([shape(x, 0, axis), shape(x, axis, axis + 1) * count, shape(x, axis + 1)]))


def sort(x: Var, axis: int) -> tuple[Var, Var]:
    """In rising order, and the places; of equals the first comes first."""
    values, places = ops("TopK", (x, shape(x, axis, axis + 1)), 2, {"axis": axis, "largest": 0, "sorted": 1})
    return values, places


def full_like(x: Var, value: Var) -> Var:
    """One value in the shape of x."""
    return op("Expand", (value, shape(x)))


def triangle(x: Var, k: int, upper: bool) -> Var:
    return op("Trilu", (x, Var(k, "int64")), {"upper": int(upper)})


def diagonal(x: Var, offset: int, axis1: int, axis2: int) -> Var:
    rank = len(dims_of(x))
    order = [i for i in range(rank) if i not in (axis1, axis2)] + [axis1, axis2]
    x = op("Transpose", (x,), {"perm": order})
    rows, columns = shape(x, rank - 2, rank - 1), shape(x, rank - 1)
    row, column = max(-offset, 0), max(offset, 0)
    count = op("Max", (op("Min", (rows - row, columns - column)), ints([0])))
    places = op("Range", (Var(0, "int64"), reshape(count, []), Var(1, "int64"))) * (columns + 1) + (columns * row + column)
    return op("Gather", (reshape_to(x, vector([shape(x, 0, rank - 2), rows * columns])), places), {"axis": rank - 2})


def take_along_axis(x: Var, places: Var, axis: int) -> Var:
    return op("GatherElements", (x, places), {"axis": axis})


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def contract(x: Var, y: Var, over_x: Sequence[int], over_y: Sequence[int]) -> Var:
    """Sums over pairs of axes; the other axes of x, then those of y."""
    first, second = dims_of(x), dims_of(y)
    for i, j in zip(over_x, over_y):
        if first[i] is not None and second[j] is not None and first[i] != second[j]:
            raise InvalidArgument(f"shapes {first} and {second} not aligned: {first[i]} (dim {i}) != {second[j]} (dim {j})")
    a = _LETTERS[:len(first)]
    b = list(_LETTERS[len(first):len(first) + len(second)])
    for i, j in zip(over_x, over_y):
        b[j] = a[i]
    kept = [letter for i, letter in enumerate(a) if i not in over_x] + [letter for j, letter in enumerate(b) if j not in over_y]
    return einsum(f"{a},{''.join(b)}->{''.join(kept)}", [x, y])


def einsum(equation: str, operands: Sequence[Var]) -> Var:
    return op("Einsum", list(operands), {"equation": equation})


def count(x: Var, axes: Sequence[int]) -> Var:
    """How many elements lie along the axes, in the dtype of x."""
    sizes = op("Gather", (shape(x), ints(list(axes))), {"axis": 0})
    return op("ReduceProd", (sizes,), {"keepdims": 0}).astype(x.dtype)


def variance(x: Var, axes: Sequence[int], ddof: float, keepdims: bool) -> Var:
    away = x - op("ReduceMean", (x, ints(list(axes))), {"keepdims": 1})
    return op("ReduceSum", (away * away, ints(list(axes))), {"keepdims": int(keepdims)}) / op("Max", (count(x, axes) - ddof, Var(0, x.dtype)))


def pad(x: Var, widths: Sequence[Sequence[int]], mode: str, value: Any) -> Var:
    inputs = [x, ints([int(before) for before, _ in widths] + [int(after) for _, after in widths])]
    if mode == "constant":
        inputs.append(Var(value, x.dtype))
    return op("Pad", inputs, {"mode": mode})
