# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, and sets."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._repr import of_fields

from minnow.numpy import _elementwise as ew
from minnow.numpy import _indexing, _open, _reductions
from minnow.numpy._core import (ArrayLike, asarray, astype, axis_of, back, bool_, choose, complex64, complex128, expand_to, flat, float32, float64, full_of, int64, is_symbolic, is_true, join, last, native, pair,
                                promote, public, reshape_to, result_type, zeros_of)

_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def _along(a: ArrayLike, axis: Optional[int]) -> tuple[Var, int]:
    x = asarray(a)
    if axis is None:
        return flat(x), 0
    return x, axis_of(axis, x.ndim)


def _check_kind(kind: Optional[str], stable: Optional[bool]) -> None:
    if kind not in _KINDS:
        raise InvalidArgument(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    if kind is not None and stable is not None:
        raise InvalidArgument("`kind` and `stable` parameters can't be provided at the same time. Use only one of them.")


def _from_end(x: Var, axis: int) -> Var:
    return x[(slice(None),) * axis + (slice(None, None, -1),)]


def _falling_places(x: Var, axis: int) -> Var:
    """argsort() in falling order: the last place in rising order of the turned elements is the first of the largest ones."""
    if is_symbolic(x):
        places = _open.sort(_from_end(x, axis), axis)[1]
        return _from_end(_open.shape(x, axis, axis + 1) - 1 - places, axis)
    return _from_end(x.shape[axis] - 1 - back(native.argsort(last(_from_end(x, axis), axis)), axis), axis)


@public
def sort(a: ArrayLike, axis: Optional[int] = -1, kind: Optional[str] = None, order: None = None, *, stable: Optional[bool] = None, descending: bool = False) -> Var:
    """Rising order along an axis, NaN last; None: all elements in one dimension. Every kind is stable. descending: falling order, NaN first."""
    _check_kind(kind, stable)
    x, place = _along(a, axis)
    if is_symbolic(x) and x.dtype.kind in "iuf":
        result = _open.sort(x, place)[0]
    else:
        result = back(native.sort(last(x, place)), place)
    return _from_end(result, place).clone() if descending else result


@public
def argsort(a: ArrayLike, axis: Optional[int] = -1, kind: Optional[str] = None, order: None = None, *, stable: Optional[bool] = None, descending: bool = False) -> Var:
    """The places of the elements in rising order along an axis; of equals the first comes first. descending: in falling order."""
    _check_kind(kind, stable)
    x = asarray(a)
    if x.ndim == 0:
        if axis is not None:
            axis_of(axis, 1)
        return zeros_of([1], int64)
    x, place = _along(a, axis)
    if descending:
        return _falling_places(x, place)
    if is_symbolic(x) and x.dtype.kind in "iuf":
        return _open.sort(x, place)[1]
    return back(native.argsort(last(x, place)), place)


@public
def sort_complex(a: ArrayLike) -> Var:
    """Sorted by the real, then the imaginary part; complex."""
    x = sort(a)
    return x if x.dtype.kind == "c" else astype(x, complex64 if x.dtype.itemsize <= 2 and x.dtype.kind in "iu" else complex128)


@public
def lexsort(keys: ArrayLike, axis: int = -1) -> Var:
    """The places in rising order of the last key, among equals of the one before, and so on."""
    rows = [asarray(key) for key in keys]
    if not rows:
        raise InvalidType("need sequence of keys with len > 0 in lexsort")
    place = axis_of(axis, rows[0].ndim) if rows[0].ndim else 0
    if rows[0].ndim == 0:
        return zeros_of([], int64)
    order: Optional[Var] = None
    for key in rows:
        k = last(key, place)
        if order is not None:
            k = _indexing.take_along_axis(k, order, -1)
        found = native.argsort(k)
        order = found if order is None else _indexing.take_along_axis(order, found, -1)
    assert order is not None
    return back(order, place)


def _kth(kth: Any, length: int) -> list[int]:
    if type(kth) is int and 0 <= kth < length:
        return [kth]
    x = asarray(kth)
    if x.dtype.kind not in "iu":
        raise InvalidType("Partition index must be integer")
    places = [int(k) for k in (x.tolist() if x.ndim else [x.item()])]
    for k in places:
        if length and not -length <= k < length:
            raise InvalidArgument(f"kth(={k}) out of bounds ({length})")
    return [k % length for k in places] if length else []


@public
def argpartition(a: ArrayLike, kth: Any, axis: Optional[int] = -1, kind: str = "introselect", order: None = None) -> Var:
    """Places along an axis with the kth smallest elements where sorting would put them, smaller ones before."""
    x, place = _along(a, axis)
    moved = last(x, place)
    return back(native.argpartition(moved, _kth(kth, moved.shape[-1])), place)


@public
def partition(a: ArrayLike, kth: Any, axis: Optional[int] = -1, kind: str = "introselect", order: None = None) -> Var:
    """Elements along an axis with the kth smallest where sorting would put them, smaller ones before."""
    x, place = _along(a, axis)
    if is_symbolic(x) and x.dtype.kind in "iuf":
        _kth(kth, x.shape[place])
        return _open.sort(x, place)[0]
    moved = last(x, place)
    return back(native.partition(moved, _kth(kth, moved.shape[-1])), place)


@public
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike = None) -> Var:
    """Return the indices at which values belong in a sorted vector: before equal elements, or after them with "right". sorter: indices that sort it."""
    if side not in ("left", "right"):
        raise InvalidArgument(f"search side must be 'left' or 'right' (got {side!r})")
    x = asarray(a)
    if x.ndim != 1:
        raise InvalidArgument("object too deep for desired array" if x.ndim else "object of too small depth for desired array")
    if sorter is not None:
        x = _indexing.take(x, sorter)
    x, y = pair(x, v if isinstance(v, Var) else asarray(v))
    return native.searchsorted(x, y, side == "right")


@public
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Var:
    """The number of the bin that each element lies in; bins rise or fall."""
    edges, values = asarray(bins), asarray(x)
    if values.dtype.kind == "c":
        raise InvalidType("x may not be complex")
    steps = edges[1:] - edges[:-1] if edges.dtype.kind == "f" or edges.dtype.kind == "i" else astype(edges, float64)[1:] - astype(edges, float64)[:-1]
    if bool(_reductions.all(steps >= 0)):
        return searchsorted(edges, values, "left" if right else "right")
    if bool(_reductions.all(steps <= 0)):
        return edges.size - searchsorted(edges[::-1], values, "left" if right else "right")
    raise InvalidArgument("bins must be monotonically increasing or decreasing")


@public
def bincount(x: ArrayLike, /, weights: ArrayLike = None, minlength: int = 0) -> Var:
    """How often each number from 0 occurs in a vector, or the sums of weights."""
    a = asarray(x)
    if a.ndim != 1:
        raise InvalidArgument("object too deep for desired array" if a.ndim else "object of too small depth for desired array")
    if a.size and a.dtype.kind not in "biu" or a.dtype.kind == "f" and not a.size and isinstance(x, Var):
        raise InvalidType(f"Cannot cast array data from dtype('{a.dtype}') to dtype('int64') according to the rule 'safe'")
    if minlength < 0:
        raise InvalidArgument("'minlength' must not be negative")
    w = None
    if weights is not None:
        w = asarray(weights)
        if w.dtype.kind == "c":
            raise InvalidType("Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule 'safe'")
        w = astype(w, float64)
    return native.bincount(astype(a, int64), w, minlength)


# ---- Sets

class UniqueAllResult(NamedTuple):
    values: Var
    indices: Var
    inverse_indices: Var
    counts: Var
    __repr__ = of_fields


class UniqueCountsResult(NamedTuple):
    values: Var
    counts: Var
    __repr__ = of_fields


class UniqueInverseResult(NamedTuple):
    values: Var
    inverse_indices: Var
    __repr__ = of_fields


def _first_of_runs(x: Var, equal_nan: bool) -> Var:
    """Where a sorted vector's runs of equals begin."""
    if x.size == 0:
        return zeros_of([0], bool_)
    differs = ew.not_equal(x[1:], x[:-1])
    if equal_nan and x.dtype.kind in "fc":
        differs = differs & ~(ew.isnan(x[1:]) & ew.isnan(x[:-1]))
    return join([full_of([1], True, bool_), differs], 0)


@public
def unique(ar: ArrayLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Optional[int] = None, *, equal_nan: bool = True,
           sorted: bool = True) -> Any:
    """Return the distinct elements (or slices along an axis), sorted; and on request first indices, inverse indices and counts."""
    x = asarray(ar)
    shape = x.shape
    if axis is None:
        flat = reshape_to(x, [x.size])
        if not (return_index or return_inverse) and x.dtype.kind != "c":
            values, counts = native.distinct(flat, equal_nan)
            return (values, counts) if return_counts else values
        order = native.argsort(flat)
        ordered = _indexing.take(flat, order) if flat.size else flat
        begins = _first_of_runs(ordered, equal_nan)
        starts = native.true_places(begins)
        values = native.gather(ordered, starts, 1, ordered.size, [starts.size])
        inverse_shape = shape
    else:
        place = axis_of(axis, x.ndim)
        from minnow.numpy._shape import moveaxis
        moved = moveaxis(x, place, 0)
        rows = reshape_to(moved, [moved.shape[0], -1 if moved.size else 0])
        count = rows.shape[1]
        if rows.shape[0] and count:
            order = lexsort([rows[:, i] for i in reversed(range(count))])
        else:
            from minnow.numpy._creation import steps
            order = steps(rows.shape[0])
        ordered = _indexing.take(rows, order, 0)
        if rows.shape[0]:
            begins = join([full_of([1], True, bool_), _reductions.any(ew.not_equal(ordered[1:], ordered[:-1]), 1)], 0)
        else:
            begins = zeros_of([0], bool_)
        starts = native.true_places(begins)
        values = moveaxis(_indexing.take(moved, _indexing.take(order, starts), 0), 0, place)
        inverse_shape = (shape[place],)
    if not (return_index or return_inverse or return_counts):
        return values
    result = [values]
    if return_index:
        result.append(native.gather(order, starts, 1, order.size, [starts.size]))
    if return_inverse:
        assert order is not None
        numbers = native.accumulate("add", astype(begins, int64), 0) - 1
        inverse = native.scatter(zeros_of([order.size], int64), order, numbers, False)
        result.append(reshape_to(inverse, inverse_shape))
    if return_counts:
        ends = join([starts[1:], Var([begins.size], "int64")], 0) if starts.size else starts
        result.append(ends - starts)
    return tuple(result)


@public
def unique_values(x: ArrayLike, /) -> Var:
    """The different elements; NaN as often as there is one."""
    return unique(x, equal_nan=False)  # type: ignore[no-any-return]


@public
def unique_counts(x: ArrayLike, /) -> UniqueCountsResult:
    """The different elements, and how often."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@public
def unique_inverse(x: ArrayLike, /) -> UniqueInverseResult:
    """The different elements, and where each element is among them."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@public
def unique_all(x: ArrayLike, /) -> UniqueAllResult:
    """Return the distinct elements, their first indices, the index of each element among them, and their counts."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@public
def isin(element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False, invert: bool = False, *, kind: Optional[str] = None) -> Var:
    """Where elements are among the test elements."""
    x, tests = pair(asarray(element), asarray(test_elements))
    if x.dtype.kind != "c":
        return native.contained(x, tests, invert)
    tests = native.sort(reshape_to(tests, [tests.size]))
    if tests.size == 0:
        found = zeros_of(x.shape, bool_)
    else:
        at = native.searchsorted(tests, x, False)
        near = native.gather(tests, ew.minimum(at, tests.size - 1), 1, tests.size, list(x.shape))
        found = ew.equal(near, x)
    return ~found if invert else found


@public
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that both have, in rising order; where they are first in each."""
    x, y = pair(asarray(ar1), asarray(ar2))
    x, at_x = unique(x, return_index=True)
    y, at_y = unique(y, return_index=True)
    both = isin(x, y)
    values = x[both] if x.size else x
    if not return_indices:
        return values
    return values, at_x[both], at_y[isin(y, x)]


@public
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Var:
    """The elements that one of both has, in rising order."""
    from minnow.numpy._shape import concatenate
    return unique(concatenate((asarray(ar1), asarray(ar2)), None))  # type: ignore[no-any-return]


@public
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Var:
    """The elements of the first that the second lacks, in rising order."""
    x = asarray(ar1)
    x = reshape_to(x, [x.size]) if assume_unique else unique(x)
    return x[~isin(x, ar2)] if x.size else x


@public
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Var:
    """The elements that just one has, in rising order."""
    x, y = pair(unique(ar1), unique(ar2))
    return native.sort(join([x[~isin(x, y)] if x.size else x, y[~isin(y, x)] if y.size else y], 0))


