# SPDX-License-Identifier: Apache-2.0
"""Making arrays: of values, of ranges, from other objects; triangles and diagonals; grids of indices."""
from __future__ import annotations

import builtins
import sys
from typing import Any, Callable, Optional, Sequence

from minnow import _minnow
from minnow._arrays import index_of
from minnow._minnow import InvalidArgument, InvalidType, Var, op
from minnow._minnow import dtype as DType

from minnow.numpy import _open
from minnow.numpy._core import (filled, is_open, is_symbolic, ArrayLike, DTypeLike, Shape, asarray, held, astype, axis_of, check_device, check_order, bool_, can_store, choose, dims_of, dtype_of, expand_to,
                                float64, full_of, int64, is_weak, join, native, promote, maker, public, reads_shapes, reshape_to, result_type, row_strides, size_of,
                                zeros_of)
from minnow.numpy._shape import moveaxis, ravel, stack


@maker
def array(object: ArrayLike, dtype: DTypeLike = None, *, copy: Any = True, order: Optional[str] = "K", subok: bool = False, ndmin: int = 0) -> Var:
    """An array of numbers, nested lists, or another array; a copy unless copy is False or None."""
    check_order(order)
    x = held(object, dtype) if copy else asarray(object, dtype)
    if copy and x is object:
        x = Var(x, copy=True)
    return reshape_to(x, [1] * (ndmin - x.ndim) + list(x.shape)) if ndmin > x.ndim else x


@maker
def asanyarray(a: ArrayLike, dtype: DTypeLike = None, order: Optional[str] = None) -> Var:
    """asarray()."""
    return asarray(a, dtype, order)


@maker
def ascontiguousarray(a: ArrayLike, dtype: DTypeLike = None) -> Var:
    """asarray() of at least one dimension."""
    x = asarray(a, dtype)
    return x if x.ndim else reshape_to(x, [1])


@maker
def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike = None) -> Var:
    """asarray(); ValueError where an element is infinite or NaN."""
    from minnow.numpy import _elementwise, _reductions
    x = asarray(a, dtype)
    if not bool(_reductions.all(_elementwise.isfinite(x))):
        raise InvalidArgument("array must not contain infs or NaNs")
    return x


@public
def copy(a: ArrayLike, order: Optional[str] = "K", subok: bool = False) -> Var:
    """A copy."""
    check_order(order)
    return array(a)


def _element_dtype(object: DTypeLike) -> Any:
    """Return dtype_of() for dtypes with elements, which excludes strings."""
    dtype = dtype_of(object)
    if dtype.itemsize == 0:
        raise InvalidArgument(f"an array cannot be of dtype {dtype.name}")
    return dtype


@public
def zeros(shape: Shape, dtype: DTypeLike = float64, order: Optional[str] = "C", *, device: Optional[str] = None) -> Var:
    """An array of zeros."""
    check_device(device)
    check_order(order)
    return zeros_of(dims_of(shape), _element_dtype(dtype))


@public
def ones(shape: Shape, dtype: DTypeLike = float64, order: Optional[str] = "C", *, device: Optional[str] = None) -> Var:
    """An array of ones."""
    check_device(device)
    check_order(order)
    return full_of(dims_of(shape), 1, dtype_of(dtype))


@public
def empty(shape: Shape, dtype: DTypeLike = float64, order: Optional[str] = "C", *, device: Optional[str] = None) -> Var:
    """An array whose elements do not matter (zeros)."""
    check_device(device)
    check_order(order)
    return zeros(shape, dtype)


@public
def full(shape: Shape, fill_value: ArrayLike, dtype: DTypeLike = None, order: Optional[str] = "C", *, device: Optional[str] = None) -> Var:
    """An array of one value, or of an array that is broadcast."""
    check_device(device)
    check_order(order)
    value, dims = asarray(fill_value, dtype), dims_of(shape)
    return expand_to(value, dims).clone() if value.ndim else filled(dims, value)


def _like(value: Any) -> Callable[..., Var]:
    def function(a: ArrayLike, dtype: DTypeLike = None, *, shape: Optional[Shape] = None) -> Var:
        x = asarray(a)
        if shape is None and is_open(x):
            return _open.full_like(x, asarray(value, x.dtype if dtype is None else dtype_of(dtype)))
        return full_of(x.shape if shape is None else dims_of(shape), value, x.dtype if dtype is None else dtype_of(dtype))

    return function


@public
@reads_shapes
def zeros_like(a: ArrayLike, dtype: DTypeLike = None, order: Optional[str] = "K", subok: bool = True, shape: Optional[Shape] = None, *, device: Optional[str] = None) -> Var:
    """Zeros of the shape and dtype of a."""
    check_device(device)
    check_order(order)
    return _like(0)(a, dtype, shape=shape)


@public
@reads_shapes
def ones_like(a: ArrayLike, dtype: DTypeLike = None, order: Optional[str] = "K", subok: bool = True, shape: Optional[Shape] = None, *, device: Optional[str] = None) -> Var:
    """Ones of the shape and dtype of a."""
    check_device(device)
    check_order(order)
    return _like(1)(a, dtype, shape=shape)


@public
@reads_shapes
def empty_like(a: ArrayLike, dtype: DTypeLike = None, order: Optional[str] = "K", subok: bool = True, shape: Optional[Shape] = None, *, device: Optional[str] = None) -> Var:
    """An array of the shape and dtype of a whose elements do not matter."""
    check_device(device)
    check_order(order)
    return _like(0)(a, dtype, shape=shape)


@public
@reads_shapes
def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike = None, order: Optional[str] = "K", subok: bool = True, shape: Optional[Shape] = None, *, device: Optional[str] = None) -> Var:
    """One value in the shape and dtype of a."""
    check_device(device)
    check_order(order)
    x = asarray(a)
    if shape is None and is_open(x):
        return _open.full_like(x, astype(asarray(fill_value), x.dtype if dtype is None else dtype_of(dtype)))
    return expand_to(astype(held(fill_value), x.dtype if dtype is None else dtype_of(dtype)), x.shape if shape is None else dims_of(shape)).clone()


def steps(count: int, dtype: DType = int64) -> Var:
    """0, 1 ... count - 1."""
    return astype(native.integer_progression(0, 1, count) if dtype.kind in "biu" else native.progression(0.0, 1.0, count), dtype)


@public
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike = None, *, device: Optional[str] = None) -> Var:
    """start, start + step ... below stop; arange(stop) begins at 0. ceil((stop - start) / step) elements."""
    check_device(device)
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
        first, delta = (((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63) for value in (start, step))  # modulo 2^64, as sums are
        return astype(native.integer_progression(first, delta, count), wanted)
    if wanted.kind in "iu":
        return astype(steps(count), wanted) * int(step) + int(start)
    if wanted == float64:
        # As NumPy: the second element less the first is the step.
        return native.progression(float(start), float(start + step) - float(start), count)  # type: ignore[no-any-return]
    return astype(native.progression(float(start), float(start + step - start), count), wanted)


@public
def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DTypeLike = None, axis: int = 0, *,
             device: Optional[str] = None) -> Any:
    """`num` numbers at equal distances from start to stop, which is the last one unless endpoint is False. retstep: the distance too."""
    from minnow.numpy import _elementwise as ew
    check_device(device)
    num = index_of(num)
    if num < 0:
        raise InvalidArgument(f"Number of samples, {num}, must be non-negative.")
    div = num - 1 if endpoint else num
    if type(start) in (int, float) and type(stop) in (int, float) and dtype is None and div > 0:
        distance = (float(stop) - float(start)) / div
        if distance != 0:
            line = native.progression(float(start), distance, num)
            if endpoint:
                line[num - 1] = float(stop)
            return (line, distance) if retstep else line
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
    ratio = ew.log10(ew.divide(end, first))
    line = linspace(zeros_of((), natural), ratio, num, endpoint)
    y = ew.multiply(first, ew.power(10.0, line))
    if num > 0:
        parts = [expand_to(first, (1, *ratio.shape)), y[1:]] if num > 1 else [expand_to(first, (1, *ratio.shape))]
        if endpoint and num > 1:
            parts = [parts[0], y[1:-1], expand_to(end, (1, *ratio.shape))] if num > 2 else [parts[0], expand_to(end, (1, *ratio.shape))]
        y = join(parts, 0)
    if axis != 0:
        y = moveaxis(y, 0, axis)
    return y if dtype is None else astype(y, dtype_of(dtype))


def _within(k: Any, rows: int, columns: int) -> int:
    """The number of a diagonal; of one beyond a matrix that of the nearest one outside, for any integer."""
    return builtins.max(-rows, builtins.min(columns, index_of(k)))


@public
def eye(N: int, M: Optional[int] = None, k: int = 0, dtype: DTypeLike = float64, order: Optional[str] = "C", *, device: Optional[str] = None) -> Var:
    """A matrix with ones on the diagonal number k."""
    check_device(device)
    check_order(order)
    rows, columns = dims_of((N, N if M is None else M))
    return native.diagonal_matrix(asarray(1, _element_dtype(dtype)), rows, columns, _within(k, rows, columns))  # type: ignore[no-any-return]


@public
def identity(n: int, dtype: DTypeLike = float64) -> Var:
    """The identity matrix."""
    return eye(n, dtype=dtype)


@public
def tri(N: int, M: Optional[int] = None, k: int = 0, dtype: DTypeLike = float64) -> Var:
    """Ones on and below the diagonal number k."""
    rows, columns = N, N if M is None else M
    return astype(reshape_to(steps(rows), [rows, 1]) + _within(k, rows, columns) >= reshape_to(steps(columns), [1, columns]), dtype_of(dtype))


def _triangle(m: ArrayLike, k: int) -> tuple[Var, Var]:
    """Return matrices, and a mask of the elements on and below diagonal k."""
    x = asarray(m)
    if x.ndim == 0:
        raise InvalidType("an array without axes has no triangle")
    if x.ndim < 2:
        x = expand_to(x, (x.shape[0], x.shape[0]))
    return x, tri(x.shape[-2], x.shape[-1], k, bool_)


@public
def tril(m: ArrayLike, k: int = 0) -> Var:
    """Return the elements on and below diagonal k of matrices, with zeros above."""
    if is_open(asarray(m)) and asarray(m).ndim >= 2:
        return _open.triangle(asarray(m), k, False)
    x, below = _triangle(m, k)
    return choose(below, x, zeros_of((), x.dtype))


@public
def triu(m: ArrayLike, k: int = 0) -> Var:
    """Return the elements on and above diagonal k of matrices, with zeros below."""
    if is_open(asarray(m)) and asarray(m).ndim >= 2:
        return _open.triangle(asarray(m), k, True)
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
    if is_symbolic(x) and x.dtype.kind != "c":
        empty = zeros_of([n - x.size], x.dtype)
        line = reshape_to(join([x, empty], 0) if k else x, [n, 1] if k >= 0 else [1, n])
        return op("Where", (eye(n, n, k, "bool"), line, Var(0, x.dtype)))
    from minnow.numpy._indexing import put_flat
    places = steps(x.size) * (n + 1) + (k if k >= 0 else -k * n)
    return reshape_to(put_flat(zeros_of([n * n], x.dtype), places, x), [n, n])


@public
def diagflat(v: ArrayLike, k: int = 0) -> Var:
    """A matrix with the elements on the diagonal number k."""
    return diag(ravel(v), k)


@public
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Var:
    """The diagonals of the matrices that two axes hold, as a new last axis: a view for reading, as NumPy's."""
    x = asarray(a)
    if x.ndim < 2:
        raise InvalidArgument("diag requires an array of at least two dimensions")
    p, q = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if p == q:
        raise InvalidArgument("axis1 and axis2 cannot be the same")
    if is_open(x):
        return _open.diagonal(x, offset, p, q)
    return native.diagonal_view(x, _within(offset, x.shape[p], x.shape[q]), p, q)  # type: ignore[no-any-return]


@public
def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: Any = None) -> Var:
    """The sums of diagonals."""
    from minnow.numpy._reductions import sum
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@public
def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: DTypeLike = float, **options: Any) -> Any:
    """A function called with the indices of all elements, as arrays."""
    return function(*indices(shape, dtype=dtype), **options)


@maker
def fromiter(iter: Any, dtype: DTypeLike, count: int = -1) -> Var:
    """Return a vector of an iterator's values."""
    import itertools
    items = list(iter if count < 0 else itertools.islice(iter, count))
    if 0 <= len(items) < count:
        raise InvalidArgument(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return asarray(items, dtype)


def is_swapped(dtype: DTypeLike) -> bool:
    """Whether elements in memory have the other byte order than this machine: of ">f4", or of such a dtype of NumPy."""
    order = dtype[:1] if isinstance(dtype, str) else getattr(dtype, "byteorder", "=")
    return order in ("<", ">") and order != ("<" if sys.byteorder == "little" else ">")


@maker
def frombuffer(buffer: Any, dtype: DTypeLike = float64, count: int = -1, offset: int = 0) -> Var:
    """A vector over the memory of an object with the buffer protocol; of the other byte order (">i4") the numbers, in memory of its own."""
    if is_swapped(dtype):
        made = frombuffer(buffer, dtype[1:] if isinstance(dtype, str) else dtype.name, count, offset)
        return made.byteswap()  # type: ignore[no-any-return]
    wanted = _element_dtype(dtype)
    length = memoryview(buffer).nbytes
    if offset < 0 or offset > length:
        raise InvalidArgument(f"offset must be non-negative and no greater than buffer length ({length})")
    length -= offset
    if count < 0:
        if length % wanted.itemsize:
            raise InvalidArgument("buffer size must be a multiple of element size")
        count = length // wanted.itemsize
    if count * wanted.itemsize > length:
        raise InvalidArgument("buffer is smaller than requested size")
    return _minnow.from_buffer(buffer, wanted, [count], offset)


@maker
def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Var:
    """A vector of the numbers that a text holds, `sep` between them."""
    wanted = dtype_of(dtype)
    words = [word for word in (string.split(sep) if sep.strip() else string.split()) if word.strip()]
    values = [int(word) if wanted.kind in "iu" else float(word) for word in (words if count < 0 else words[:count])]
    return asarray(values, wanted)


@public
def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Var]:
    """Coordinates of a grid from vectors: with "xy" the first vector runs along axis 1."""
    if indexing not in ("xy", "ij"):
        raise InvalidArgument("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [ravel(held(x) if copy else x) for x in xi]
    n = len(vectors)
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[0], places[1] = 1, 0
    dims = [0] * n
    for place, vector in zip(places, vectors):
        dims[place] = vector.size
    made = [reshape_to(vector, [vector.size if i == place else 1 for i in range(n)]) for place, vector in zip(places, vectors)]
    return made if sparse else [expand_to(x, dims) for x in made]


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
