# SPDX-License-Identifier: Apache-2.0
"""Changing the shape of arrays, joining and splitting, repeating and turning: views where NumPy's are read, expressions of the engine otherwise."""
from __future__ import annotations

import builtins
from typing import Any, Callable, Iterator, Optional, Sequence

from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, Var

from minnow.numpy import _open
from minnow.numpy._core import (MOST_PARTS, ArrayLike, Axis, AxisError, DTypeLike, Shape, asarray, beside, held, astype, axes_of, axis_of, broadcast_dims, deliver, dims_of,
                                dtype_of, expand_to, int64, is_open, is_true, join, native, numbers_of, public, reduced_axes, reshape_to, result_type, size_of,
                                zeros_of)

# ---- Shapes

@public
def shape(a: ArrayLike) -> tuple[int, ...]:
    """The dimensions."""
    return asarray(a).shape


@public
def ndim(a: ArrayLike) -> int:
    """The number of dimensions."""
    return asarray(a).ndim


@public
def size(a: ArrayLike, axis: Axis = None) -> int:
    """The number of elements, in all or along axes."""
    x = asarray(a)
    return x.size if axis is None else size_of([x.shape[i] for i in axes_of(axis, x.ndim)])


def _in_dims(x: Var, dims: Sequence[int]) -> Var:
    """A view in other dimensions; a copy where the elements have to move."""
    return native.reshape_view(x, list(dims))  # type: ignore[no-any-return]


def _turned(x: Var, order: Sequence[int]) -> Var:
    """A view with the axes in another order."""
    order = list(order)
    return x if order == list(range(len(order))) else native.transpose_view(x, order)


@public
def reshape(a: ArrayLike, /, shape: Shape, order: str = "C", *, copy: Any = None) -> Var:
    """Return the elements with another shape; one dimension may be -1. order "F": the first index varies fastest."""
    x = asarray(a)
    dims = numbers_of(shape)
    unknown = [i for i, dim in enumerate(dims) if dim < 0]
    if len(unknown) > 1:
        raise InvalidArgument("can only specify one unknown dimension")
    if is_open(x):
        if order not in ("C", "A", "K"):
            raise InvalidArgument(f"what has open dimensions is reshaped in the order 'C' alone, not {order!r}")
        return _open.reshape(x, dims)
    total = x.size
    if unknown:
        rest = size_of([dim for dim in dims if dim >= 0])
        if rest == 0 or total % rest:
            raise InvalidArgument(f"cannot reshape array of size {total} into shape {tuple(dims)}")
        dims[unknown[0]] = total // rest
    if size_of(dims) != total:
        raise InvalidArgument(f"cannot reshape array of size {total} into shape {tuple(dims)}")
    if order not in ("C", "F", "A", "K"):
        raise InvalidArgument(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    made = _turned(_in_dims(_turned(x, range(x.ndim)[::-1]), dims[::-1]), range(len(dims))[::-1]) if order == "F" else _in_dims(x, dims)
    if copy is False and not made.is_view and made is not x:
        raise InvalidArgument("Unable to avoid creating a copy while reshaping.")
    return made.clone() if copy else made


@public
def ravel(a: ArrayLike, order: str = "C") -> Var:
    """The elements in one dimension."""
    x = asarray(a)
    return reshape(x, [-1] if is_open(x) else [x.size], order)


@public
def transpose(a: ArrayLike, axes: Optional[Sequence[int]] = None) -> Var:
    """Axes in another order; without one reversed."""
    x = asarray(a)
    if axes is None:
        return _turned(x, range(x.ndim)[::-1])
    if len(axes) != x.ndim:
        raise InvalidArgument("axes don't match array")
    order = [axis_of(axis, x.ndim) for axis in axes]
    if len(set(order)) != len(order):
        raise InvalidArgument("repeated axis in transpose")
    return _turned(x, order)


@public
def permute_dims(a: ArrayLike, axes: Optional[Sequence[int]] = None) -> Var:
    """transpose()."""
    return transpose(a, axes)


@public
def matrix_transpose(x: ArrayLike, /) -> Var:
    """The last two axes exchanged."""
    a = asarray(x)
    if a.ndim < 2:
        raise InvalidArgument(f"Input array must be at least 2-dimensional, but it is {a.ndim}")
    return swapaxes(a, -1, -2)


@public
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Var:
    """Two axes exchanged."""
    x = asarray(a)
    order = list(range(x.ndim))
    p, q = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[p], order[q] = order[q], order[p]
    return _turned(x, order)


def _axis_list(axis: Any, ndim: int) -> list[int]:
    places = [axis_of(a, ndim) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]
    if len(set(places)) != len(places):
        raise InvalidArgument("repeated axis")
    return places


@public
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Var:
    """Axes moved to other places; the others keep their order."""
    x = asarray(a)
    from_, to = _axis_list(source, x.ndim), _axis_list(destination, x.ndim)
    if len(from_) != len(to):
        raise InvalidArgument("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(x.ndim) if i not in from_]
    for place, axis in sorted(zip(to, from_)):
        order.insert(place, axis)
    return _turned(x, order)


@public
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Var:
    """An axis moved before place `start`."""
    x = asarray(a)
    place = axis_of(axis, x.ndim)
    to = start + x.ndim if start < 0 else start
    if not 0 <= to <= x.ndim:
        raise AxisError(f"'start' arg requires {-x.ndim} <= start < {x.ndim + 1}, but {start} was passed in")
    if place < to:
        to -= 1
    return moveaxis(x, place, to)


@public
def expand_dims(a: ArrayLike, axis: Any) -> Var:
    """New axes of length 1 at these places of the result."""
    x = asarray(a)
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    ndim = x.ndim + len(axes)
    places = _axis_list(axes, ndim)
    if is_open(x):
        return _open.expand_dims(x, places)
    rest = iter(x.shape)
    return _in_dims(x, [1 if i in places else next(rest) for i in range(ndim)])


@public
def squeeze(a: ArrayLike, axis: Axis = None) -> Var:
    """Without axes of length 1: all of them, or those named (ValueError for another length)."""
    x = asarray(a)
    if axis is None:
        return _in_dims(x, [dim for dim in x.shape if dim != 1])
    places = reduced_axes(axis, x.ndim)
    if is_open(x):
        return _open.squeeze(x, places)
    if any_(x.shape[i] != 1 for i in places):
        raise InvalidArgument("cannot select an axis to squeeze out which has size not equal to one")
    return _in_dims(x, [dim for i, dim in enumerate(x.shape) if i not in places])


any_ = builtins.any


def _repeated(x: Var, dims: Sequence[int]) -> Var:
    """A view for reading."""
    dims = tuple(dims)
    if is_open(x):
        return _open.broadcast_to(x, dims)
    if 0 in dims or broadcast_dims(x.shape, dims) != dims:
        return expand_to(x, dims)  # or its error
    return native.broadcast_view(x, list(dims))  # type: ignore[no-any-return]


@public
def broadcast_to(array: ArrayLike, shape: Shape) -> Var:
    """Repeated to a shape."""
    return _repeated(asarray(array), dims_of(shape))


@public
def broadcast_arrays(*args: ArrayLike) -> list[Var]:
    """Arrays repeated to their common shape."""
    arrays = [asarray(arg) for arg in args]
    dims = broadcast_dims(*[x.shape for x in arrays])
    return [_repeated(x, dims) for x in arrays]


@public
def broadcast_shapes(*args: Shape) -> tuple[int, ...]:
    """The common shape."""
    return broadcast_dims(*[dims_of(arg) for arg in args])


def _at_least(arys: tuple[ArrayLike, ...], grow: Callable[[Var], Var]) -> Any:
    made = tuple(grow(asarray(x)) for x in arys)
    return made[0] if len(made) == 1 else made


@public
def atleast_1d(*arys: ArrayLike) -> Any:
    """Arrays of at least one dimension."""
    return _at_least(arys, lambda x: x if x.ndim else expand_dims(x, 0))


@public
def atleast_2d(*arys: ArrayLike) -> Any:
    """Arrays of at least two dimensions, new ones before."""
    return _at_least(arys, lambda x: x if x.ndim >= 2 else expand_dims(x, tuple(range(2 - x.ndim))))


@public
def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays of at least three dimensions: [N] becomes [1, N, 1], [M, N] [M, N, 1]."""
    new = {0: (0, 1, 2), 1: (0, 2), 2: 2}
    return _at_least(arys, lambda x: x if x.ndim >= 3 else expand_dims(x, new[x.ndim]))


@public
def may_share_memory(a: ArrayLike, b: ArrayLike, /, max_work: Optional[int] = None) -> bool:
    """Whether writing to one of the two may change the other, by the bounds of their places."""
    if isinstance(a, Var) and isinstance(b, Var):
        return bool(native.may_share_memory(a, b))
    # numpy.asarray(x) shares the memory of x if possible; otherwise its result is read-only.
    arrays = [x for x in (a, b) if type(x).__module__ == "numpy"]
    return len(arrays) == 1 and (not arrays[0].flags.writeable or _by_numpy("may_share_memory", a, b))


@public
def shares_memory(a: ArrayLike, b: ArrayLike, /, max_work: Optional[int] = None) -> bool:
    """Whether some element of the two is one."""
    if isinstance(a, Var) and isinstance(b, Var):
        return bool(native.shares_memory(a, b))
    return _by_numpy("shares_memory", a, b)


def _by_numpy(name: str, a: ArrayLike, b: ArrayLike) -> bool:
    """Ask NumPy about the memory of two arrays, at least one of which is NumPy's."""
    if not all(isinstance(x, Var) or type(x).__module__ == "numpy" for x in (a, b)):
        return False
    import numpy
    return bool(getattr(numpy, name)(*(x.numpy() if isinstance(x, Var) else x for x in (a, b))))


# ---- Joining and splitting

def _common(arrays: Sequence[ArrayLike], dtype: DTypeLike) -> list[Var]:
    if isinstance(arrays, Var):
        arrays = list(arrays)
    arrays = beside(list(arrays))
    parts = [asarray(x) for x in arrays]
    if not parts:
        raise InvalidArgument("need at least one array to concatenate")
    wanted = dtype_of(dtype) if dtype is not None else result_type(*[x if isinstance(x, Var) else y for x, y in zip(arrays, parts)])
    return [astype(x, wanted) for x in parts]


@public
def concatenate(arrays: ArrayLike, axis: Optional[int] = 0, out: Any = None, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays one after the other along an axis; None: all elements in one dimension."""
    parts = _common(arrays, dtype)
    if axis is None:
        parts, axis = [ravel(x) for x in parts], 0
    ndim = parts[0].ndim
    if ndim == 0:
        raise InvalidArgument("zero-dimensional arrays cannot be concatenated")
    place = axis_of(axis, ndim)
    if any_(is_open(x) for x in parts):
        _open.fit(parts, place)
        return deliver(_open.join(parts, place), out)
    for i, x in enumerate(parts):
        if x.ndim != ndim:
            raise InvalidArgument(f"all the input array dimensions must match exactly: the array at index 0 has {ndim} dimension(s) and the array at index {i} has {x.ndim}")
        for k in range(ndim):
            if k != place and x.shape[k] != parts[0].shape[k]:
                raise InvalidArgument(f"all the input array dimensions except for the concatenation axis must match exactly, but along dimension {k}, the array at index 0 has size "
                                 f"{parts[0].shape[k]} and the array at index {i} has size {x.shape[k]}")
    return deliver(join(parts, place), out)


@public
def concat(arrays: Any, axis: Optional[int] = 0, out: Any = None, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """concatenate()."""
    return concatenate(arrays, axis, out, dtype=dtype)


@public
def stack(arrays: ArrayLike, axis: int = 0, out: Any = None, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays of one shape along a new axis."""
    if len(arrays) == 0:
        raise InvalidArgument("need at least one array to stack")
    parts = _common(arrays, dtype)
    if any_(is_open(x) for x in parts):
        _open.fit(parts, None)
        place = axis_of(axis, parts[0].ndim + 1)
        return deliver(_open.join([_open.expand_dims(x, [place]) for x in parts], place), out)
    if any_(x.shape != parts[0].shape for x in parts):
        raise InvalidArgument("all input arrays must have the same shape")
    place = axis_of(axis, parts[0].ndim + 1)
    dims = list(parts[0].shape)
    dims.insert(place, 1)
    return deliver(join([reshape_to(x, dims) for x in parts], place), out)


def _many(tup: Any, grow: Callable[..., Any]) -> list[Var]:
    made = [grow(x) for x in beside(list(tup))]
    if not made:
        raise InvalidArgument("need at least one array to concatenate")
    return made


@public
def vstack(tup: ArrayLike, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays one below the other; vectors are rows."""
    return concatenate(_many(tup, atleast_2d), 0, dtype=dtype)


@public
def hstack(tup: ArrayLike, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays side by side: along axis 1, vectors along axis 0."""
    parts = _many(tup, atleast_1d)
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype)


@public
def dstack(tup: ArrayLike) -> Var:
    """Arrays one behind the other along axis 2."""
    return concatenate(_many(tup, atleast_3d), 2)


@public
def column_stack(tup: ArrayLike) -> Var:
    """Vectors as the columns of a matrix."""
    return concatenate(_many(tup, lambda x: asarray(x) if asarray(x).ndim >= 2 else reshape(x, (-1, 1))), 1)


@public
def block(arrays: ArrayLike) -> Var:
    """An array of nested lists of blocks."""
    def depth(item: Any) -> int:
        return 1 + builtins.max(map(depth, item)) if isinstance(item, list) and item else int(isinstance(item, list))

    levels = depth(arrays)

    def leaves(item: Any) -> Iterator[Any]:
        if isinstance(item, list):
            if not item:
                raise InvalidArgument("List at arrays cannot be empty")
            for part in item:
                yield from leaves(part)
        else:
            yield item

    ndim = builtins.max([levels] + [asarray(leaf).ndim for leaf in leaves(arrays)])

    def grow(x: Var) -> Var:
        return expand_dims(x, tuple(range(ndim - x.ndim))) if x.ndim < ndim else x

    def build(item: Any, level: int) -> Var:
        if isinstance(item, list):
            return concatenate([build(part, level + 1) for part in item], ndim - levels + level)
        return grow(asarray(item))

    return build(arrays, 0) if isinstance(arrays, list) else asarray(arrays).clone()


def _pieces(x: Var, place: int, bounds: Sequence[int]) -> list[Var]:
    key = (slice(None),) * place
    return [x[key + (slice(a, b),)] for a, b in zip([0, *bounds], [*bounds, None if is_open(x) else x.shape[place]])]


def _check_parts(sections: int) -> None:
    if sections > MOST_PARTS:
        raise InvalidArgument(f"an array is split into at most {MOST_PARTS} parts, not {sections}")


@public
def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Var]:
    """Parts of about equal size, or cut at indices."""
    x = asarray(ary)
    place = axis_of(axis, x.ndim)
    if hasattr(indices_or_sections, "__len__") and not (isinstance(indices_or_sections, Var) and indices_or_sections.ndim == 0):
        return _pieces(x, place, [int(i) for i in (indices_or_sections.tolist() if isinstance(indices_or_sections, Var) else indices_or_sections)])
    sections = int(indices_or_sections)
    if sections <= 0:
        raise InvalidArgument("number sections must be larger than 0.")
    _check_parts(sections)
    if is_open(x) and _open.dims_of(x)[place] is None:
        return _open.array_split(x, sections, place)
    each, extra = builtins.divmod(_open.known(x, place, "array_split()") if is_open(x) else x.shape[place], sections)
    bounds, at = [], 0
    for i in range(sections - 1):
        at += each + (i < extra)
        bounds.append(at)
    return _pieces(x, place, bounds)


@public
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Var]:
    """Split into parts of equal size (ValueError if that is impossible), or at indices."""
    x = asarray(ary)
    if not hasattr(indices_or_sections, "__len__"):
        _check_parts(int(indices_or_sections))
    if is_open(x) and not hasattr(indices_or_sections, "__len__"):
        return _open.split(x, int(indices_or_sections), axis_of(axis, x.ndim))
    if not hasattr(indices_or_sections, "__len__") and x.shape[axis_of(axis, x.ndim)] % int(indices_or_sections):
        raise InvalidArgument("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


@public
def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Var]:
    """split() along axis 1, of vectors along axis 0."""
    x = asarray(ary)
    if x.ndim == 0:
        raise InvalidArgument("hsplit only works on arrays of 1 or more dimensions")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@public
def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Var]:
    """split() along axis 0."""
    if asarray(ary).ndim < 2:
        raise InvalidArgument("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@public
def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Var]:
    """split() along axis 2."""
    if asarray(ary).ndim < 3:
        raise InvalidArgument("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@public
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Var, ...]:
    """The parts along an axis, without it."""
    a = asarray(x)
    if a.ndim == 0:
        raise InvalidArgument("Input array must be at least 1-d.")
    place = axis_of(axis, a.ndim)
    return tuple(take_at(a, place, i) for i in range(_open.known(a, place, "unstack()") if is_open(a) else a.shape[place]))


def take_at(x: Var, axis: int, at: int) -> Var:
    """The part at one place of an axis, without the axis."""
    return x[(slice(None),) * axis + (at,)]


# ---- Repeating and turning

@public
def tile(A: ArrayLike, reps: Any) -> Var:
    """The whole array repeated along axes."""
    x = held(A)
    counts = [int(r) for r in (reps.tolist() if isinstance(reps, Var) else reps)] if hasattr(reps, "__len__") else [int(reps)]
    ndim = builtins.max(x.ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
    if is_open(x):
        return _open.tile(x, counts)
    dims = [1] * (ndim - x.ndim) + list(x.shape)
    spread = [n for pair in zip(counts, dims) for n in pair]
    x = expand_to(reshape_to(x, [n for dim in dims for n in (1, dim)]), spread)
    return reshape_to(x, [count * dim for count, dim in zip(counts, dims)])


@public
def repeat(a: ArrayLike, repeats: Any, axis: Optional[int] = None) -> Var:
    """Each element (or part along an axis) repeated."""
    x = asarray(a)
    if axis is None:
        x, axis = ravel(x), 0
    if x.ndim == 0:
        axis_of(axis, 1)
        x = reshape_to(x, [1])
    if is_open(x) and isinstance(repeats, int):
        return _open.repeat(x, repeats, axis_of(axis, x.ndim))
    place = axis_of(axis, x.ndim)
    counts = asarray(repeats)
    if counts.dtype.kind not in "iub":
        raise InvalidType(f"Cannot cast array data from dtype('{counts.dtype}') to dtype('int64') according to the rule 'safe'")
    numbers = ravel(counts).tolist()
    length = x.shape[place]
    if length and any_(n < 0 for n in numbers):
        raise InvalidArgument("repeats may not contain negative values.")
    if len(numbers) == 1:
        numbers = [builtins.max(numbers[0], 0)]
        dims = list(x.shape)
        spread = reshape_to(x, dims[: place + 1] + [1] + dims[place + 1:])
        return reshape_to(expand_to(spread, dims[: place + 1] + numbers + dims[place + 1:]), dims[:place] + [length * numbers[0]] + dims[place + 1:])
    if len(numbers) != length:
        raise InvalidArgument(f"operands could not be broadcast together with shape ({length},) ({len(numbers)},)")
    from minnow.numpy._indexing import take
    return take(x, [i for i, n in enumerate(numbers) for _ in range(n)] or zeros_of([0], int64), place)


@public
def flip(m: ArrayLike, axis: Axis = None) -> Var:
    """Axes turned around."""
    x = asarray(m)
    axes = axes_of(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim))] if x.ndim else x


@public
def fliplr(m: ArrayLike) -> Var:
    """Axis 1 turned around."""
    if asarray(m).ndim < 2:
        raise InvalidArgument("Input must be >= 2-d.")
    return flip(m, 1)


@public
def flipud(m: ArrayLike) -> Var:
    """Axis 0 turned around."""
    if asarray(m).ndim < 1:
        raise InvalidArgument("Input must be >= 1-d.")
    return flip(m, 0)


@public
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Var:
    """Turned by quarters in the plane of two axes."""
    x = asarray(m)
    if len(axes) != 2:
        raise InvalidArgument("len(axes) must be 2.")
    p, q = (axis_of(axis, x.ndim) for axis in axes)
    if p == q:
        raise InvalidArgument("Axes must be different.")
    k %= 4
    if k == 0:
        return x.clone()
    if k == 2:
        return flip(x, (p, q))
    return swapaxes(flip(x, q), p, q) if k == 1 else flip(swapaxes(x, p, q), q)


@public
def roll(a: ArrayLike, shift: Any, axis: Any = None) -> Var:
    """Move elements along axes; elements that leave at one end re-enter at the other."""
    x = asarray(a)
    if axis is None:
        turned = roll(ravel(x), shift, 0)
        return _open.reshape_to(turned, _open.shape(x)) if is_open(x) else reshape_to(turned, x.shape)
    shifts, axes = numbers_of(shift), numbers_of(axis)
    if len(shifts) != len(axes):
        if len(shifts) == 1:
            shifts = shifts * len(axes)
        elif len(axes) == 1:
            axes = axes * len(shifts)
        else:
            raise InvalidArgument("shape mismatch: objects cannot be broadcast to a single shape")
    for s, one in zip(shifts, axes):
        place = axis_of(one, x.ndim)
        if is_open(x):
            x = _open.roll(x, int(s), place)
            continue
        length = x.shape[place]
        if length and int(s) % length:
            at = length - int(s) % length
            key = (slice(None),) * place
            x = join([x[key + (slice(at, None),)], x[key + (slice(None, at),)]], place)
    return x.clone()


@public
def resize(a: ArrayLike, new_shape: Shape) -> Var:
    """The elements, repeated or cut off, in a shape."""
    x, dims = ravel(a), dims_of(new_shape)
    total = size_of(dims)
    if x.size == 0 or total == 0:
        return zeros_of(dims, x.dtype)
    return reshape_to(tile(x, -(-total // x.size))[:total], dims)


@public
def append(arr: ArrayLike, values: ArrayLike, axis: Optional[int] = None) -> Var:
    """Values behind the array along an axis; None: in one dimension."""
    arr, values = beside((arr, values))
    return concatenate([ravel(arr), ravel(values)], 0) if axis is None else concatenate([asarray(arr), asarray(values)], axis)


def _places(obj: Any, length: int) -> Any:
    if isinstance(obj, slice):
        return list(range(*obj.indices(length)))
    x = asarray(obj)
    if x.dtype.kind == "b":
        if x.size != length:
            raise InvalidArgument(f"boolean array argument must be one dimensional and of length {length}")
        return [i for i, one in enumerate(x.tolist()) if one]
    if x.size == 0 and x.dtype.kind == "f":
        return []
    if x.dtype.kind not in "iu":
        raise InvalidIndex("arrays used as indices must be of integer (or boolean) type")
    return x.item() if x.ndim == 0 else x.tolist()


@public
def delete(arr: ArrayLike, obj: Any, axis: Optional[int] = None) -> Var:
    """Without the parts at indices of an axis."""
    from minnow.numpy._indexing import take
    x = asarray(arr)
    if axis is None:
        x, axis = ravel(x), 0
    place = axis_of(axis, x.ndim)
    length = x.shape[place]
    gone = _places(obj, length)
    gone = set()if gone == [] else {gone} if isinstance(gone, int) else set(gone)
    for i in gone:
        if not -length <= i < length:
            raise InvalidIndex(f"index {i} is out of bounds for axis {place} with size {length}")
    gone = {i % length for i in gone} if length else set()
    return take(x, [i for i in range(length) if i not in gone] or zeros_of([0], int64), place)


@public
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: Optional[int] = None) -> Var:
    """With values before indices of an axis."""
    from minnow.numpy._indexing import take
    x = asarray(arr)
    if axis is None:
        x, axis = ravel(x), 0
    place = axis_of(axis, x.ndim)
    length = x.shape[place]
    at = _places(obj, length)
    scalar = isinstance(at, int)
    where = [at] if scalar else list(at)
    for i in where:
        if not -length <= i <= length:
            raise InvalidIndex(f"index {i} is out of bounds for axis {place} with size {length}")
    where = [i + length if i < 0 else i for i in where]
    v = astype(asarray(values), x.dtype)
    if scalar:
        v = reshape_to(v, [1] * (x.ndim - v.ndim) + list(v.shape)) if v.ndim < x.ndim else v
        if asarray(values).ndim:
            v = moveaxis(v, 0, place)
        count = v.shape[place]
        where = where * count
    else:
        count = len(where)
    dims = list(x.shape)
    dims[place] = count
    v = expand_to(v, dims)
    order = sorted(range(count), key=lambda i: where[i])
    rows: list[int] = []
    next_old = 0
    for k in order:
        while next_old < where[k]:
            rows.append(next_old)
            next_old += 1
        rows.append(length + k)
    rows.extend(range(next_old, length))
    return take(join([x, v], place), rows or zeros_of([0], int64), place)


@public
def trim_zeros(filt: ArrayLike, trim: str = "fb") -> Var:
    """A vector without the zeros at its front (f) and back (b)."""
    x = asarray(filt)
    there = [i for i, one in enumerate(is_true(x).tolist()) if one]
    if not there:
        return x[:0]
    return x[there[0] if "f" in trim.lower() else 0: there[-1] + 1 if "b" in trim.lower() else x.size]
