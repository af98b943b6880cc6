# SPDX-License-Identifier: Apache-2.0
"""Making arrays, and changing their shape: views where NumPy's are read, expressions of the engine otherwise."""
from __future__ import annotations

import builtins
from typing import Any, Callable, Iterator, Optional, Sequence

from minnow import _minnow
from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, Var, op
from minnow._minnow import dtype as DType

from minnow.numpy._core import (ArrayLike, Axis, AxisError, DTypeLike, Shape, asarray, astype, axes_of, axis_of, bool_, broadcast_dims, can_store, choose, complex128, deliver, dims_of,
                                dtype_of, expand_to, float64, full_of, int64, ints, is_true, is_weak, join, native, permute, promote, public, reduced_axes, reshape_to, result_type, row_strides, size_of,
                                zeros_of)

# ---- Making arrays


@public
def array(object: ArrayLike, dtype: DTypeLike = None, *, copy: Any = True, ndmin: int = 0) -> Var:
    """An array of numbers, nested lists, or another array; a copy unless copy is False or None."""
    x = asarray(object, dtype)
    if copy and (x is object or not isinstance(object, (list, tuple, int, float, complex))):
        x = Var(x, copy=True)
    return reshape_to(x, [1] * (ndmin - x.ndim) + list(x.shape)) if ndmin > x.ndim else x


@public
def asanyarray(a: ArrayLike, dtype: DTypeLike = None) -> Var:
    """asarray()."""
    return asarray(a, dtype)


@public
def ascontiguousarray(a: ArrayLike, dtype: DTypeLike = None) -> Var:
    """asarray() of at least one dimension."""
    x = asarray(a, dtype)
    return x if x.ndim else reshape_to(x, [1])


@public
def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike = None) -> Var:
    """asarray(); ValueError where an element is infinite or NaN."""
    from minnow.numpy import _elementwise, _reductions
    x = asarray(a, dtype)
    if not bool(_reductions.all(_elementwise.isfinite(x))):
        raise InvalidArgument("array must not contain infs or NaNs")
    return x


@public
def copy(a: ArrayLike) -> Var:
    """A copy."""
    return array(a)


@public
def zeros(shape: Shape, dtype: DTypeLike = float64) -> Var:
    """An array of zeros."""
    return zeros_of(dims_of(shape), dtype_of(dtype))


@public
def ones(shape: Shape, dtype: DTypeLike = float64) -> Var:
    """An array of ones."""
    return full_of(dims_of(shape), 1, dtype_of(dtype))


@public
def empty(shape: Shape, dtype: DTypeLike = float64) -> Var:
    """An array whose elements do not matter (zeros)."""
    return zeros(shape, dtype)


@public
def full(shape: Shape, fill_value: ArrayLike, dtype: DTypeLike = None) -> Var:
    """An array of one value, or of an array that is broadcast."""
    return expand_to(asarray(fill_value, dtype), dims_of(shape)).clone()


def _like(value: Any) -> Callable[..., Var]:
    def function(a: ArrayLike, dtype: DTypeLike = None, *, shape: Optional[Shape] = None) -> Var:
        x = asarray(a)
        return full_of(x.shape if shape is None else dims_of(shape), value, x.dtype if dtype is None else dtype_of(dtype))

    return function


@public
def zeros_like(a: ArrayLike, dtype: DTypeLike = None, *, shape: Optional[Shape] = None) -> Var:
    """Zeros of the shape and dtype of a."""
    return _like(0)(a, dtype, shape=shape)


@public
def ones_like(a: ArrayLike, dtype: DTypeLike = None, *, shape: Optional[Shape] = None) -> Var:
    """Ones of the shape and dtype of a."""
    return _like(1)(a, dtype, shape=shape)


@public
def empty_like(a: ArrayLike, dtype: DTypeLike = None, *, shape: Optional[Shape] = None) -> Var:
    """An array of the shape and dtype of a whose elements do not matter."""
    return _like(0)(a, dtype, shape=shape)


@public
def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike = None, *, shape: Optional[Shape] = None) -> Var:
    """One value in the shape and dtype of a."""
    x = asarray(a)
    return expand_to(astype(asarray(fill_value), x.dtype if dtype is None else dtype_of(dtype)), x.shape if shape is None else dims_of(shape)).clone()


def steps(count: int, dtype: DType = int64) -> Var:
    """0, 1 ... count - 1."""
    made = op("Range", (Var(0, "int64"), Var(count, "int64"), Var(1, "int64"))) if count > 0 else zeros_of([0], int64)
    return astype(made, dtype)


@public
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike = None) -> Var:
    """start, start + step ... below stop; arange(stop) begins at 0. ceil((stop - start) / step) elements."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = (v.item() if isinstance(v, Var) else v.item() if hasattr(v, "item") else v for v in (start, stop, step))
    wanted = dtype_of(dtype) if dtype is not None else result_type(start, stop, step)
    if dtype is None and wanted.kind == "b":
        wanted = int64
    if step == 0:
        raise ZeroDivisionError("division by zero")
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        count = -((start - stop) // step)
    else:
        import math
        count = math.ceil((stop - start) / step)
    count = builtins.max(count, 0)
    if count > 1 << 40:
        raise InvalidArgument("Maximum allowed size exceeded")
    if wanted.kind in "iu" and isinstance(start, int) and isinstance(step, int):
        return astype(steps(count) * step + start, wanted)
    if wanted.kind in "iu":
        return astype(steps(count), wanted) * int(step) + int(start)
    if wanted == float64:
        # As NumPy: the second element less the first is the step.
        first = float(start)
        delta = float(start + step) - first
        return steps(count, float64) * delta + first
    return astype(steps(count, float64) * float(start + step - start) + float(start), wanted)


@public
def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DTypeLike = None, axis: int = 0) -> Any:
    """`num` numbers at equal distances from start to stop, which is the last one unless endpoint is False. retstep: the distance too."""
    from minnow.numpy import _elementwise as ew
    num = num.__index__()
    if num < 0:
        raise InvalidArgument(f"Number of samples, {num}, must be non-negative.")
    div = num - 1 if endpoint else num
    first, end = asarray(start), asarray(stop)
    natural = result_type(first.dtype, end.dtype, float64) if first.dtype.kind not in "fc" or end.dtype.kind not in "fc" or is_weak(start) and is_weak(stop) else result_type(first, end)
    wanted = natural if dtype is None else dtype_of(dtype)
    first, end = astype(first, natural), astype(end, natural)
    delta = ew.subtract(end, first)
    line = reshape_to(steps(num, natural), [num] + [1] * delta.ndim)
    step: Any = float("nan")
    if div > 0:
        step = ew.divide(delta, div)
        if delta.size and not bool((ew.equal(step, 0)).reshape(-1)[0]) or delta.size == 0:
            y = ew.multiply(line, step)
        else:
            y = ew.multiply(ew.divide(line, div), delta)
    else:
        y = ew.multiply(line, delta)
    y = ew.add(y, first)
    if endpoint and num > 1:
        y = join([y[:-1], reshape_to(end, [1, *end.shape]) if end.shape == delta.shape else expand_to(end, (1, *delta.shape))], 0)
    if wanted.kind in "iu":
        y = ew.floor(y)
    y = astype(y, wanted)
    if axis != 0:
        y = moveaxis(y, 0, axis)
    return (y, step if isinstance(step, float) else step.item() if step.ndim == 0 else step) if retstep else y


@public
def logspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, base: ArrayLike = 10.0, dtype: DTypeLike = None, axis: int = 0) -> Var:
    """base to the powers of linspace()."""
    from minnow.numpy import _elementwise as ew
    y = ew.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else astype(y, dtype_of(dtype))


@public
def geomspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None, axis: int = 0) -> Var:
    """Numbers at equal ratios from start to stop; ValueError for 0."""
    from minnow.numpy import _elementwise as ew, _reductions
    first, end = asarray(start), asarray(stop)
    if bool(_reductions.any(ew.equal(first, 0))) or bool(_reductions.any(ew.equal(end, 0))):
        raise InvalidArgument("Geometric sequence cannot include zero")
    natural = result_type(first.dtype, end.dtype, float64) if first.dtype.kind not in "fc" or end.dtype.kind not in "fc" else result_type(first, end)
    first, end = astype(first, natural), astype(end, natural)
    sign = ew.sign(first)
    ratio = ew.log10(ew.divide(end, first))
    line = linspace(zeros_of((), natural), ratio, num, endpoint)
    y = ew.multiply(first, ew.power(10.0, line))
    if num > 0:
        parts = [expand_to(first, (1, *ratio.shape)), y[1:]] if num > 1 else [expand_to(first, (1, *ratio.shape))]
        if endpoint and num > 1:
            parts = [parts[0], y[1:-1], expand_to(end, (1, *ratio.shape))] if num > 2 else [parts[0], expand_to(end, (1, *ratio.shape))]
        y = join(parts, 0)
    del sign
    if axis != 0:
        y = moveaxis(y, 0, axis)
    return y if dtype is None else astype(y, dtype_of(dtype))


@public
def eye(N: int, M: Optional[int] = None, k: int = 0, dtype: DTypeLike = float64) -> Var:
    """A matrix with ones on the diagonal number k."""
    rows, columns = dims_of((N, N if M is None else M))
    return astype(reshape_to(steps(rows), [rows, 1]) + k == reshape_to(steps(columns), [1, columns]), dtype_of(dtype))


@public
def identity(n: int, dtype: DTypeLike = float64) -> Var:
    """The identity matrix."""
    return eye(n, dtype=dtype)


@public
def tri(N: int, M: Optional[int] = None, k: int = 0, dtype: DTypeLike = float64) -> Var:
    """Ones on and below the diagonal number k."""
    rows, columns = N, N if M is None else M
    return astype(reshape_to(steps(rows), [rows, 1]) + k >= reshape_to(steps(columns), [1, columns]), dtype_of(dtype))


def _triangle(m: ArrayLike, k: int) -> tuple[Var, Var]:
    """Matrices, and where they lie on or below the diagonal number k."""
    x = asarray(m)
    if x.ndim == 0:
        raise InvalidType("an array without axes has no triangle")
    if x.ndim < 2:
        x = expand_to(x, (x.shape[0], x.shape[0]))
    return x, tri(x.shape[-2], x.shape[-1], k, bool_)


@public
def tril(m: ArrayLike, k: int = 0) -> Var:
    """What lies on and below the diagonal number k of matrices; zero above."""
    x, below = _triangle(m, k)
    return choose(below, x, zeros_of((), x.dtype))


@public
def triu(m: ArrayLike, k: int = 0) -> Var:
    """What lies on and above the diagonal number k of matrices; zero below."""
    x, below = _triangle(m, k - 1)
    return choose(below, zeros_of((), x.dtype), x)


@public
def vander(x: ArrayLike, N: Optional[int] = None, increasing: bool = False) -> Var:
    """Columns of the powers of a vector, falling."""
    from minnow.numpy import _elementwise as ew
    a = asarray(x)
    if a.ndim != 1:
        raise InvalidArgument("x must be a one-dimensional array or sequence.")
    count = a.size if N is None else N
    a = astype(a, promote(a.dtype, int64))
    column = reshape_to(a, [a.size, 1])
    powers = reshape_to(steps(count), [1, count])
    y = ew.power(column, astype(powers, a.dtype) if a.dtype.kind == "c" else powers if a.dtype.kind in "iu" else astype(powers, a.dtype))
    return y if increasing else y[:, ::-1]


@public
def diag(v: ArrayLike, k: int = 0) -> Var:
    """The diagonal number k of a matrix, or a matrix with a vector there."""
    x = asarray(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise InvalidArgument("Input must be 1- or 2-d.")
    n = x.size + builtins.abs(k)
    if x.size == 0:
        return zeros_of([n, n], x.dtype)
    from minnow.numpy._indexing import put_flat
    places = steps(x.size) * (n + 1) + (k if k >= 0 else -k * n)
    return reshape_to(put_flat(zeros_of([n * n], x.dtype), places, x), [n, n])


@public
def diagflat(v: ArrayLike, k: int = 0) -> Var:
    """A matrix with the elements on the diagonal number k."""
    return diag(ravel(v), k)


@public
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Var:
    """The diagonals of the matrices that two axes hold, as a new last axis."""
    x = asarray(a)
    if x.ndim < 2:
        raise InvalidArgument("diag requires an array of at least two dimensions")
    p, q = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if p == q:
        raise InvalidArgument("axis1 and axis2 cannot be the same")
    rest = [i for i in range(x.ndim) if i not in (p, q)]
    rows, columns = x.shape[p], x.shape[q]
    start_row, start_column = builtins.max(-offset, 0), builtins.max(offset, 0)
    count = builtins.max(0, builtins.min(rows - start_row, columns - start_column))
    strides = row_strides(x.shape)
    dims = [x.shape[i] for i in rest] + [count]
    if size_of(dims) == 0:
        return zeros_of(dims, x.dtype)
    return native.strided(x, start_row * strides[p] + start_column * strides[q], dims, [strides[i] for i in rest] + [strides[p] + strides[q]])


@public
def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: Any = None) -> Var:
    """The sums of diagonals."""
    from minnow.numpy._reductions import sum
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@public
def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: DTypeLike = float, **options: Any) -> Any:
    """A function called with the indices of all elements, as arrays."""
    return function(*indices(shape, dtype=dtype), **options)


@public
def fromiter(iter: Any, dtype: DTypeLike, count: int = -1) -> Var:
    """A vector of what an iterator gives."""
    import itertools
    items = list(iter if count < 0 else itertools.islice(iter, count))
    if 0 <= len(items) < count:
        raise InvalidArgument(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return asarray(items, dtype)


@public
def frombuffer(buffer: Any, dtype: DTypeLike = float64, count: int = -1, offset: int = 0) -> Var:
    """A vector over the memory of an object with the buffer protocol."""
    wanted = dtype_of(dtype)
    view = memoryview(buffer).cast("B")
    if offset < 0 or offset > len(view):
        raise InvalidArgument(f"offset must be non-negative and no greater than buffer length ({len(view)})")
    view = view[offset:]
    if count < 0:
        if len(view) % wanted.itemsize:
            raise InvalidArgument("buffer size must be a multiple of element size")
        count = len(view) // wanted.itemsize
    if count * wanted.itemsize > len(view):
        raise InvalidArgument("buffer is smaller than requested size")
    return _minnow.from_buffer(view[: count * wanted.itemsize], wanted, [count])


@public
def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Var:
    """A vector of the numbers that a text holds, `sep` between them."""
    wanted = dtype_of(dtype)
    words = [word for word in (string.split(sep) if sep.strip() else string.split()) if word.strip()]
    values = [int(word) if wanted.kind in "iu" else float(word) for word in (words if count < 0 else words[:count])]
    return asarray(values, wanted)


@public
def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Var, ...]:
    """Coordinates of a grid from vectors: with "xy" the first vector runs along axis 1."""
    if indexing not in ("xy", "ij"):
        raise InvalidArgument("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [ravel(x) for x in xi]
    n = len(vectors)
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[0], places[1] = 1, 0
    dims = [0] * n
    for place, vector in zip(places, vectors):
        dims[place] = vector.size
    made = tuple(reshape_to(vector, [vector.size if i == place else 1 for i in range(n)]) for place, vector in zip(places, vectors))
    return made if sparse else tuple(expand_to(x, dims) for x in made)


@public
def indices(dimensions: Sequence[int], dtype: DTypeLike = int, sparse: bool = False) -> Any:
    """The indices of all elements of a shape, one array for each axis."""
    dims = dims_of(dimensions)
    made = [reshape_to(steps(dim, dtype_of(dtype)), [dim if i == axis else 1 for i in range(len(dims))]) for axis, dim in enumerate(dims)]
    if sparse:
        return tuple(made)
    return stack([expand_to(x, dims) for x in made], 0) if made else zeros_of([0], dtype_of(dtype))


@public
def copyto(dst: Var, src: ArrayLike, casting: str = "same_kind", where: ArrayLike = True) -> None:
    """Writes src, broadcast, into dst, where the mask is true."""
    x = asarray(src)
    if casting == "same_kind" and not is_weak(src) and not can_store(x.dtype, dst.dtype):
        raise InvalidType(f"Cannot cast array data from dtype('{x.dtype}') to dtype('{dst.dtype}') according to the rule 'same_kind'")
    value = expand_to(astype(x, dst.dtype), dst.shape)
    dst.assign(value if where is True else choose(asarray(where, bool_), value, dst))


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


@public
def reshape(a: ArrayLike, /, shape: Shape, order: str = "C", *, copy: Any = None) -> Var:
    """The elements in other dimensions, one of which may be -1. order "F": the first index runs fastest."""
    x = asarray(a)
    dims = [shape.__index__()] if hasattr(shape, "__index__") else [dim.__index__() for dim in shape]  # type: ignore[union-attr]
    unknown = [i for i, dim in enumerate(dims) if dim < 0]
    total = x.size
    if len(unknown) > 1:
        raise InvalidArgument("can only specify one unknown dimension")
    if unknown:
        rest = size_of([dim for dim in dims if dim >= 0])
        if rest == 0 or total % rest:
            raise InvalidArgument(f"cannot reshape array of size {total} into shape {tuple(dims)}")
        dims[unknown[0]] = total // rest
    if size_of(dims) != total:
        raise InvalidArgument(f"cannot reshape array of size {total} into shape {tuple(dims)}")
    if order == "F":
        return permute(reshape_to(permute(x, range(x.ndim)[::-1]), dims[::-1]), range(len(dims))[::-1])
    if order not in ("C", "A", "K"):
        raise InvalidArgument(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return reshape_to(x, dims)


@public
def ravel(a: ArrayLike, order: str = "C") -> Var:
    """The elements in one dimension."""
    x = asarray(a)
    return reshape(x, [x.size], order)


@public
def transpose(a: ArrayLike, axes: Optional[Sequence[int]] = None) -> Var:
    """Axes in another order; without one reversed."""
    x = asarray(a)
    if axes is None:
        return permute(x, range(x.ndim)[::-1])
    if len(axes) != x.ndim:
        raise InvalidArgument("axes don't match array")
    order = [axis_of(axis, x.ndim) for axis in axes]
    if len(set(order)) != len(order):
        raise InvalidArgument("repeated axis in transpose")
    return permute(x, order)


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
    return permute(x, order)


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
    return permute(x, order)


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
    rest = iter(x.shape)
    return reshape_to(x, [1 if i in places else next(rest) for i in range(ndim)])


@public
def squeeze(a: ArrayLike, axis: Axis = None) -> Var:
    """Without axes of length 1: all of them, or those named (ValueError for another length)."""
    x = asarray(a)
    if axis is None:
        return reshape_to(x, [dim for dim in x.shape if dim != 1])
    places = reduced_axes(axis, x.ndim)
    if any_(x.shape[i] != 1 for i in places):
        raise InvalidArgument("cannot select an axis to squeeze out which has size not equal to one")
    return reshape_to(x, [dim for i, dim in enumerate(x.shape) if i not in places])


any_ = builtins.any


@public
def broadcast_to(array: ArrayLike, shape: Shape) -> Var:
    """Repeated to a shape."""
    return expand_to(asarray(array), dims_of(shape))


@public
def broadcast_arrays(*args: ArrayLike) -> tuple[Var, ...]:
    """Arrays repeated to their common shape."""
    arrays = [asarray(arg) for arg in args]
    dims = broadcast_dims(*[x.shape for x in arrays])
    return tuple(expand_to(x, dims) for x in arrays)


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
    return _at_least(arys, lambda x: x if x.ndim else reshape_to(x, [1]))


@public
def atleast_2d(*arys: ArrayLike) -> Any:
    """Arrays of at least two dimensions, new ones before."""
    return _at_least(arys, lambda x: x if x.ndim >= 2 else reshape_to(x, [1] * (2 - x.ndim) + list(x.shape)))


@public
def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays of at least three dimensions: [N] becomes [1, N, 1], [M, N] [M, N, 1]."""
    dims = {0: lambda s: [1, 1, 1], 1: lambda s: [1, s[0], 1], 2: lambda s: [*s, 1]}
    return _at_least(arys, lambda x: x if x.ndim >= 3 else reshape_to(x, dims[x.ndim](x.shape)))


# ---- Joining and splitting

def _common(arrays: Sequence[ArrayLike], dtype: DTypeLike) -> list[Var]:
    if isinstance(arrays, Var):
        arrays = list(arrays)
    parts = [asarray(x) for x in arrays]
    if not parts:
        raise InvalidArgument("need at least one array to concatenate")
    wanted = dtype_of(dtype) if dtype is not None else result_type(*[x if isinstance(x, Var) else y for x, y in zip(arrays, parts)])
    return [astype(x, wanted) for x in parts]


@public
def concatenate(arrays: Any, axis: Optional[int] = 0, out: Any = None, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays one after the other along an axis; None: all elements in one dimension."""
    parts = _common(arrays, dtype)
    if axis is None:
        return deliver(join([ravel(x) for x in parts], 0), out)
    ndim = parts[0].ndim
    if ndim == 0:
        raise InvalidArgument("zero-dimensional arrays cannot be concatenated")
    place = axis_of(axis, ndim)
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
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays of one shape along a new axis."""
    if len(arrays) == 0:
        raise InvalidArgument("need at least one array to stack")
    parts = _common(arrays, dtype)
    if any_(x.shape != parts[0].shape for x in parts):
        raise InvalidArgument("all input arrays must have the same shape")
    place = axis_of(axis, parts[0].ndim + 1)
    dims = list(parts[0].shape)
    dims.insert(place, 1)
    return deliver(join([reshape_to(x, dims) for x in parts], place), out)


def _many(tup: Any, grow: Callable[..., Any]) -> list[Var]:
    made = [grow(x) for x in tup]
    if not made:
        raise InvalidArgument("need at least one array to concatenate")
    return made


@public
def vstack(tup: Any, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays one below the other; vectors are rows."""
    return concatenate(_many(tup, atleast_2d), 0, dtype=dtype)


@public
def hstack(tup: Any, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
    """Arrays side by side: along axis 1, vectors along axis 0."""
    parts = _many(tup, atleast_1d)
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype)


@public
def dstack(tup: Any) -> Var:
    """Arrays one behind the other along axis 2."""
    return concatenate(_many(tup, atleast_3d), 2)


@public
def column_stack(tup: Any) -> Var:
    """Vectors as the columns of a matrix."""
    return concatenate(_many(tup, lambda x: asarray(x) if asarray(x).ndim >= 2 else reshape_to(asarray(x), [asarray(x).size, 1])), 1)


@public
def block(arrays: Any) -> Var:
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
        return reshape_to(x, [1] * (ndim - x.ndim) + list(x.shape))

    def build(item: Any, level: int) -> Var:
        if isinstance(item, list):
            return concatenate([build(part, level + 1) for part in item], ndim - levels + level)
        return grow(asarray(item))

    return build(arrays, 0) if isinstance(arrays, list) else asarray(arrays).clone()


def _pieces(x: Var, place: int, bounds: Sequence[int]) -> list[Var]:
    key = (slice(None),) * place
    return [x[key + (slice(a, b),)] for a, b in zip([0, *bounds], [*bounds, x.shape[place]])]


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
    each, extra = builtins.divmod(x.shape[place], sections)
    bounds, at = [], 0
    for i in range(sections - 1):
        at += each + (i < extra)
        bounds.append(at)
    return _pieces(x, place, bounds)


@public
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Var]:
    """Parts of equal size (ValueError where there is no such division), or cut at indices."""
    x = asarray(ary)
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
    return tuple(take_at(a, place, i) for i in range(a.shape[place]))


def take_at(x: Var, axis: int, at: int) -> Var:
    """The part at one place of an axis, without the axis."""
    return x[(slice(None),) * axis + (at,)]


# ---- Repeating and turning

@public
def tile(A: ArrayLike, reps: Any) -> Var:
    """The whole array repeated along axes."""
    x = asarray(A)
    counts = [int(r) for r in (reps.tolist() if isinstance(reps, Var) else reps)] if hasattr(reps, "__len__") else [int(reps)]
    ndim = builtins.max(x.ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
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
    """Elements moved along axes; what leaves at the end comes in at the beginning."""
    x = asarray(a)
    if axis is None:
        return reshape_to(roll(ravel(x), shift, 0), x.shape)
    shifts = list(shift) if isinstance(shift, (list, tuple)) else [shift]
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if len(shifts) != len(axes):
        if len(shifts) == 1:
            shifts = shifts * len(axes)
        elif len(axes) == 1:
            axes = axes * len(shifts)
        else:
            raise InvalidArgument("shape mismatch: objects cannot be broadcast to a single shape")
    for s, one in zip(shifts, axes):
        place = axis_of(one, x.ndim)
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


# ---- pad

def _pad_pairs(value: Any, ndim: int) -> list[list[Any]]:
    x = asarray(value)
    if x.ndim == 0:
        return [[x.item()] * 2] * ndim
    rows = x.tolist()
    if x.ndim == 1:
        if x.size == 1:
            return [[rows[0]] * 2] * ndim
        if x.size == 2:
            return [rows] * ndim
        raise InvalidArgument(f"operands could not be broadcast together with remapped shapes [original->remapped]: ({x.size},) and requested shape ({ndim},2)")
    full = expand_to(x, (ndim, 2))
    return full.tolist()  # type: ignore[no-any-return]


@public
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **options: Any) -> Var:
    """Borders around an array. mode: constant (constant_values), edge, linear_ramp (end_values), maximum, mean, median, minimum
    (stat_length), reflect, symmetric (reflect_type even or odd), wrap, empty, or a function of (vector, widths, axis, options)."""
    from minnow.numpy import _reductions, _statistics
    from minnow.numpy._indexing import take
    x = asarray(array)
    if isinstance(pad_width, dict):
        widths = [[0, 0] for _ in range(x.ndim)]
        for axis, width in pad_width.items():
            widths[axis_of(axis, x.ndim)] = [width, width] if isinstance(width, int) else list(width)
    else:
        if asarray(pad_width).dtype.kind not in "iu":
            raise InvalidType("`pad_width` must be of integral type.")
        widths = _pad_pairs(pad_width, x.ndim)
    if any_(width < 0 for pair in widths for width in pair):
        raise InvalidArgument("index can't contain negative values")
    allowed = {"constant": {"constant_values"}, "edge": set(), "linear_ramp": {"end_values"}, "maximum": {"stat_length"}, "mean": {"stat_length"}, "median": {"stat_length"},
               "minimum": {"stat_length"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}, "wrap": set(), "empty": set()}
    if mode not in allowed:
        raise InvalidArgument(f"mode '{mode}' is not supported")
    if set(options) - allowed[mode]:
        raise InvalidArgument(f"unsupported keyword arguments for mode '{mode}': {set(options) - allowed[mode]}")
    for axis in range(x.ndim):
        before, after = (int(w) for w in widths[axis])
        n = x.shape[axis]
        key = (slice(None),) * axis

        def border(width: int, value: Var) -> Var:
            dims = list(x.shape)
            dims[axis] = width
            return expand_to(value, dims)

        if mode in ("constant", "empty"):
            low, high = _pad_pairs(options.get("constant_values", 0), x.ndim)[axis]
            x = join([border(before, asarray(low, x.dtype) if x.dtype.kind in "fcb" else astype(asarray(low), x.dtype)), x,
                      border(after, asarray(high, x.dtype) if x.dtype.kind in "fcb" else astype(asarray(high), x.dtype))], axis)
            continue
        if before == 0 and after == 0:
            continue
        if n == 0:
            raise InvalidArgument(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        first, end = x[key + (slice(0, 1),)], x[key + (slice(n - 1, n),)]
        if mode == "linear_ramp":
            from minnow.numpy import _elementwise as ew
            low, high = _pad_pairs(options.get("end_values", 0), x.ndim)[axis]
            parts = []
            for edge, target, width, left in ((first, low, before, True), (end, high, after, False)):
                ramp = linspace(full_of([dim for i, dim in enumerate(x.shape) if i != axis], target, x.dtype if x.dtype.kind in "fc" else float64),
                                squeeze(edge, axis), width, endpoint=False, axis=axis)
                if x.dtype.kind in "iu":
                    ramp = ew.trunc(ramp) if False else ew.floor(ramp)
                parts.append(astype(ramp if left else flip(ramp, axis), x.dtype))
            x = join([parts[0], x, parts[1]], axis)
            continue
        if mode in ("maximum", "minimum", "mean", "median"):
            lengths = options.get("stat_length")
            low, high = (n, n) if lengths is None else _pad_pairs(lengths, x.ndim)[axis]
            low, high = builtins.min(int(low), n), builtins.min(int(high), n)
            if (low == 0 or high == 0) and mode in ("maximum", "minimum"):
                raise InvalidArgument("stat_length of 0 yields no value for padding")
            function = {"maximum": _reductions.max, "minimum": _reductions.min, "mean": _reductions.mean, "median": _statistics.median}[mode]
            stats = []
            for piece in (x[key + (slice(0, low),)], x[key + (slice(n - high, n),)]):
                stat = function(piece, axis=axis, keepdims=True)
                if x.dtype.kind in "iu" and mode in ("mean", "median"):
                    from minnow.numpy import _elementwise as ew
                    stat = ew.rint(stat)
                stats.append(astype(stat, x.dtype))
            x = join([border(before, stats[0]), x, border(after, stats[1])], axis)
            continue
        places = range(-before, n + after)
        if mode == "edge":
            order = [builtins.min(builtins.max(i, 0), n - 1) for i in places]
        elif mode == "wrap":
            order = [i % n for i in places]
        elif options.get("reflect_type", "even") == "odd":
            from minnow.numpy import _elementwise as ew
            x = _odd(x, axis, before, after, mode == "symmetric", ew)
            continue
        elif mode == "symmetric":
            order = [i % (2 * n) if i % (2 * n) < n else 2 * n - 1 - i % (2 * n) for i in places]
        else:
            period = builtins.max(2 * n - 2, 1)
            order = [i % period if i % period < n else period - i % period for i in places]
        x = take(x, order, axis)
    return x


def _odd(x: Var, axis: int, before: int, after: int, symmetric: bool, ew: Any) -> Var:
    """Reflected, and turned about the edge's value."""
    key = (slice(None),) * axis
    from minnow.numpy._indexing import take
    while before > 0 or after > 0:
        n = x.shape[axis]
        most = n if symmetric else n - 1
        if most == 0:
            from minnow.numpy._shape import pad
            widths = [[0, 0] for _ in range(x.ndim)]
            widths[axis] = [before, after]
            return pad(x, widths, "edge")
        left, right = builtins.min(before, most), builtins.min(after, most)
        parts = [x]
        skip = 0 if symmetric else 1
        if left:
            mirror = take(x, [skip + left - 1 - i for i in range(left)], axis)
            parts.insert(0, ew.subtract(ew.multiply(2, x[key + (slice(0, 1),)]), mirror))
        if right:
            mirror = take(x, [n - 1 - skip - i for i in range(right)], axis)
            parts.append(ew.subtract(ew.multiply(2, x[key + (slice(n - 1, n),)]), mirror))
        x = join([astype(part, x.dtype) for part in parts], axis)
        before, after = before - left, after - right
    return x
