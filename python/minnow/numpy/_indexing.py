# SPDX-License-Identifier: Apache-2.0
"""Indices beyond basic slicing: masks and arrays of integers, for reading and for writing; take, put, where and their like."""
from __future__ import annotations

import builtins
from typing import Any, Optional, Sequence

from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, Var, op

from minnow.numpy import _open
from minnow.numpy._core import choose as pick
from minnow.numpy._core import (ArrayLike, Shape, asarray, beside, astype, axis_of, bool_, broadcast_dims, deliver, dims_of, expand_to, flat, int64, is_open, is_symbolic, is_traced, is_true, join, native, permute,
                                promote, public, reshape_to, result_type, row_strides, size_of, zeros_of)


def _index_array(item: Any) -> Var:
    x = asarray(item)
    if x.size == 0 and x.dtype.kind == "f" and not isinstance(item, Var):
        x = astype(x, int64)
    if x.dtype.kind not in "biu":
        raise InvalidIndex("arrays used as indices must be of integer (or boolean) type")
    return x


class _Key:
    """A parsed index: a view by basic slicing, and integer arrays for some of its axes."""

    __slots__ = ("view", "arrays", "axes", "together", "shape")

    def __init__(self, x: Var, key: Any) -> None:
        items = list(key) if isinstance(key, tuple) else [key]
        parts: list[Any] = []
        used = 0
        for item in items:
            if item is None or item is Ellipsis or isinstance(item, slice):
                used += isinstance(item, slice)
                parts.append(item)
                continue
            if isinstance(item, bool):
                item = asarray(item)
            elif hasattr(item, "__index__") and not isinstance(item, Var) and not hasattr(item, "shape"):
                used += 1
                parts.append(item.__index__())
                continue
            elif isinstance(item, (str, float, complex)):
                raise InvalidIndex("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices")
            array = _index_array(item)
            used += array.ndim if array.dtype.kind == "b" else 1
            parts.append(array)
        if sum(part is Ellipsis for part in parts) > 1:
            raise InvalidIndex("an index can only have a single ellipsis ('...')")
        if used > x.ndim:
            raise InvalidIndex(f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed")
        if not any(part is Ellipsis for part in parts):
            parts.append(Ellipsis)
        whole: list[Any] = []
        for part in parts:
            whole.extend([slice(None)] * (x.ndim - used) if part is Ellipsis else [part])
        # Masks become the places where they are true.
        basic: list[Any] = []
        arrays: list[Any] = []  # for each place of `basic` that an array belongs to, or None
        axis = 0  # of x
        has_arrays = any(isinstance(part, Var) for part in whole)
        for part in whole:
            if part is None or isinstance(part, slice):
                basic.append(part)
                arrays.append(None)
                axis += part is not None
            elif isinstance(part, Var) and part.dtype.kind == "b":
                if part.ndim == 0:
                    basic.append(None)
                    arrays.append(zeros_of([1 if bool(part) else 0], int64))
                    continue
                for k in range(part.ndim):
                    if part.shape[k] not in (0, x.shape[axis + k]):  # a mask without elements chooses none
                        raise InvalidIndex(f"boolean index did not match indexed array along axis {axis + k}; size of axis is {x.shape[axis + k]} but size of corresponding "
                                         f"boolean axis is {part.shape[k]}")
                for places in nonzero(part):
                    basic.append(slice(None))
                    arrays.append(places)
                axis += part.ndim
            elif isinstance(part, Var):
                basic.append(slice(None))
                arrays.append(part)
                axis += 1
            elif has_arrays:
                basic.append(slice(None))
                arrays.append(asarray(part, int64))
                axis += 1
            else:
                basic.append(part)
                arrays.append(None)
                axis += 1
        plain = all(isinstance(part, slice) and part == slice(None) for part in basic)
        self.view = x if plain else x[(*basic, Ellipsis)]  # of one element a view too
        places_of_arrays = [i for i, array in enumerate(arrays) if array is not None]
        # Whether all arrays stand side by side: then their axes take that place, else the first.
        self.together = not places_of_arrays or places_of_arrays[-1] - places_of_arrays[0] == len(places_of_arrays) - 1
        self.axes = places_of_arrays
        found = [arrays[i] for i in places_of_arrays]
        try:
            self.shape = broadcast_dims(*[array.shape for array in found])
        except ValueError:
            raise InvalidIndex("shape mismatch: indexing arrays could not be broadcast together with shapes " + " ".join(str(array.shape) for array in found)) from None
        self.arrays = [expand_to(array, self.shape) for array in found]

    def numbers(self) -> tuple[Var, list[int]]:
        """Numbers of the parts along the axes that arrays are for, and the order that brings these axes to the front."""
        dims = [self.view.shape[axis] for axis in self.axes]
        order = self.axes + [i for i in range(self.view.ndim) if i not in self.axes]
        return native.flat_places(self.arrays, dims, "raise"), order

    def order_of_result(self) -> Optional[list[int]]:
        """How the result's axes, those of the arrays first, come to their place."""
        first = self.axes[0]
        if not self.together or first == 0:
            return None
        own, rest = len(self.shape), self.view.ndim - len(self.axes)
        return list(range(own, own + first)) + list(range(own)) + list(range(own + first, own + rest))


def gathered(x: Var, numbers: Var, shape: Sequence[int]) -> Var:
    """The elements of these numbers, in this shape."""
    if is_traced(x):
        return reshape_to(op("Gather", (flat(x), reshape_to(astype(numbers, int64), [size_of(shape)])), {"axis": 0}), shape)
    return native.gather(x, numbers, 1, x.size, list(shape))  # type: ignore[no-any-return]


def getitem(x: Var, key: Any) -> Var:
    """x[key] where key is not basic slicing: a copy."""
    if type(key) is list:
        key = _index_array(key)
    if isinstance(key, Var) and key.dtype.kind == "b" and key.shape == x.shape and x.ndim:
        places = native.true_places(key)
        return gathered(x, places, [places.size])
    if isinstance(key, Var) and key.dtype.kind in "iu" and x.ndim and not is_symbolic(x):
        return native.take(x, key, 0, "raise")  # type: ignore[no-any-return]
    where = _Key(x, key)
    if not where.arrays:
        return where.view
    y = where.view
    if len(where.axes) == 1:  # nothing has to be moved
        axis = where.axes[0]
        if is_symbolic(y) and y.dtype.kind != "c":
            return op("Gather", (y, astype(where.arrays[0], int64)), {"axis": axis})
        numbers = native.flat_places(where.arrays, [y.shape[axis]], "raise")
        return native.gather(y, numbers, size_of(y.shape[:axis]), y.shape[axis], [*y.shape[:axis], *where.shape, *y.shape[axis + 1:]])
    numbers, order = where.numbers()
    rest = [y.shape[i] for i in order[len(where.axes):]]
    count = size_of([y.shape[i] for i in where.axes])
    if is_traced(y):
        rows = op("Gather", (reshape_to(permute(y, order), [count, *rest]), reshape_to(astype(numbers, int64), [size_of(where.shape)])), {"axis": 0})
        result = reshape_to(rows, [*where.shape, *rest])
    else:
        result = native.gather(permute(y, order), numbers, 1, count, [*where.shape, *rest])
    back = where.order_of_result()
    return permute(result, back) if back else result


def setitem(x: Var, key: Any, value: ArrayLike) -> None:
    """x[key] = value where key is not basic slicing."""
    v = asarray(value)
    if v.dtype.kind == "c" and x.dtype.kind != "c":
        raise InvalidType("float() argument must be a string or a real number, not 'complex'")
    v = astype(v, x.dtype)
    if isinstance(key, Var) and key.dtype.kind == "b" and key.shape == x.shape and v.ndim == 0:
        x.assign(pick(key, v, x))
        return
    if type(key) is list:
        key = _index_array(key)
    if isinstance(key, Var) and key.dtype.kind in "iu" and x.ndim and not (is_symbolic(x) or is_symbolic(key) or is_symbolic(v)):
        dims = (*key.shape, *x.shape[1:])
        if v.shape == dims or v.ndim == 0:
            numbers = native.flat_places([key], [x.shape[0]], "raise")
            if 0 not in dims:
                native.put(x, numbers, v if x.ndim == 1 else expand_to(v, dims))
            return
    where = _Key(x, key)
    if not where.arrays:
        view = where.view
        parts = key if isinstance(key, tuple) else (key,)
        if view.ndim == 0 and v.ndim and not any(part is Ellipsis for part in parts):
            raise InvalidType(f"one element takes a number, not an array of shape {v.shape}")
        while v.ndim > view.ndim and v.shape[0] == 1:
            v = reshape_to(v, v.shape[1:])
        if broadcast_dims(v.shape, view.shape) != view.shape:
            raise InvalidArgument(f"could not broadcast input array from shape {v.shape} into shape {view.shape}")
        view.assign(expand_to(v, view.shape))
        return
    y = where.view
    rest = [dim for i, dim in enumerate(y.shape) if i not in where.axes]
    dims = [*where.shape, *rest]
    back = where.order_of_result()
    shown = [dims[i] for i in back] if back else dims
    try:
        while v.ndim > len(shown) and v.shape[0] == 1:
            v = reshape_to(v, v.shape[1:])
        v = expand_to(v, shown)
    except ValueError:
        if isinstance(key, Var) and key.dtype.kind == "b" and v.ndim == 1 and len(shown) == 1:
            raise InvalidArgument(f"NumPy boolean array indexing assignment cannot assign {v.size} input values to the {shown[0]} output values where the mask is true") from None
        raise InvalidArgument(f"shape mismatch: value array of shape {v.shape} could not be broadcast to indexing result of shape {tuple(shown)}") from None
    if 0 in dims:
        return
    numbers, order = where.numbers()
    if back:
        v = permute(v, [back.index(i) for i in range(len(back))])
    moved = permute(y, order)
    written = native.scatter(moved, numbers, v, False)
    y.assign(permute(written, [order.index(i) for i in range(len(order))]))


def places_of(x: Var, key: Any) -> tuple[Var, tuple[int, ...]]:
    """Numbers of the elements of x that x[key] has, and its shape."""
    from minnow.numpy._creation import steps
    chosen = reshape_to(steps(x.size), x.shape)[key] if not isinstance(key, Var) else getitem(reshape_to(steps(x.size), x.shape), key)
    return reshape_to(chosen, [chosen.size]).evaluate(), chosen.shape


def put_flat(flat: Var, places: Var, values: Var) -> Var:
    """A vector with values at places."""
    return native.scatter(flat, places, values, False)


# ---- Functions

@public
def nonzero(a: ArrayLike) -> tuple[Var, ...]:
    """The indices of the elements that are not zero, one vector for each axis."""
    x = asarray(a)
    if x.ndim == 0:
        raise InvalidArgument("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return tuple(native.true_indices(is_true(x)))


@public
def flatnonzero(a: ArrayLike) -> Var:
    """The numbers of the elements that are not zero."""
    return native.true_places(is_true(asarray(a)))


@public
def argwhere(a: ArrayLike) -> Var:
    """The indices of the elements that are not zero, as rows."""
    x = asarray(a)
    if x.ndim == 0:
        return zeros_of([int(bool(is_true(x))), 0], int64)
    from minnow.numpy._shape import stack
    return stack(nonzero(x), 1)


@public
def where(condition: ArrayLike, x: ArrayLike = None, y: ArrayLike = None, /) -> Any:
    """Elements of x where the condition is true, else of y, broadcast together; with the condition alone nonzero()."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise InvalidArgument("either both or neither of x and y should be given")
    condition, x, y = beside((condition, x, y))
    common = result_type(x, y)
    return pick(is_true(asarray(condition)), asarray(x, common), asarray(y, common))


@public
def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Var, ...]:
    """The index along each axis of elements that are given by number."""
    x = asarray(indices)
    if x.dtype.kind not in "iu":
        raise InvalidType("only int indices permitted")
    dims = dims_of(shape)
    total = size_of(dims)
    if x.size:
        low, high = native.reduce("min", x, 0, x.ndim, False, x.dtype).item(), native.reduce("max", x, 0, x.ndim, False, x.dtype).item()
        if low < 0 or high >= total:
            raise InvalidArgument(f"index {low if low < 0 else high} is out of bounds for array with size {total}")
    x = astype(x, int64)
    result = []
    for dim in (dims if order == "F" else dims[::-1]):
        dim = builtins.max(dim, 1)
        result.append(native.binary("remainder", x, asarray(dim)))
        x = native.binary("floor_divide", x, asarray(dim))
    return tuple(result if order == "F" else result[::-1])


@public
def ravel_multi_index(multi_index: Any, dims: Shape, mode: Any = "raise", order: str = "C") -> Var:
    """The numbers of elements that are given by an index along each axis. mode: raise, wrap or clip, one or one for each axis."""
    arrays = [asarray(x) for x in multi_index]
    sizes = dims_of(dims)
    if len(arrays) != len(sizes):
        raise InvalidArgument("parameter multi_index must be a sequence of length " + str(len(sizes)))
    if any(x.dtype.kind not in "iu" for x in arrays):
        raise InvalidType("only int indices permitted")
    common = broadcast_dims(*[x.shape for x in arrays])
    arrays = [expand_to(astype(x, int64), common) for x in arrays]
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    fixed = []
    for x, dim, how in zip(arrays, sizes, modes):
        if how == "raise":
            if x.size and (native.reduce("min", x, 0, x.ndim, False, x.dtype).item() < 0 or native.reduce("max", x, 0, x.ndim, False, x.dtype).item() >= dim):
                raise InvalidArgument("invalid entry in coordinates array")
            fixed.append(x)
        else:
            fixed.append(native.flat_places([x], [dim], how))
    if order == "F":
        fixed, sizes = fixed[::-1], sizes[::-1]
    return native.flat_places(fixed, sizes, "raise")


@public
def take(a: ArrayLike, indices: ArrayLike, axis: Optional[int] = None, out: Any = None, mode: str = "raise") -> Var:
    """The parts at indices of an axis; None: of all elements in order. mode: raise IndexError, wrap around, or clip."""
    x = asarray(a)
    at = asarray(indices)
    if at.dtype.kind not in "iub" and at.size:
        raise InvalidType(f"Cannot cast array data from dtype('{at.dtype}') to dtype('int64') according to the rule 'safe'")
    if at.dtype.kind != "i":
        at = astype(at, int64)
    place = -1 if axis is None else axis_of(axis, x.ndim or 1)
    if is_symbolic(x) and x.dtype.kind != "c":
        return deliver(op("Gather", (flat(x) if axis is None or x.ndim == 0 else x, astype(at, int64)), {"axis": builtins.max(place, 0)}), out)
    return deliver(native.take(x, at, place if x.ndim else -1, mode), out)


def _along(x: Var, indices: Var, axis: int) -> Var:
    """Numbers of the elements whose place along the axis is that of `indices`, the others their own."""
    from minnow.numpy._creation import steps
    if indices.dtype.kind not in "iu":
        raise InvalidIndex("`indices` must be an integer array")
    if indices.ndim != x.ndim:
        raise InvalidArgument("`indices` and `arr` must have the same number of dimensions")
    dims = [indices.shape[i] if i == axis else dim for i, dim in enumerate(broadcast_dims(*[[1 if k == axis else dim for k, dim in enumerate(s)] for s in (x.shape, indices.shape)]))]
    arrays = [expand_to(indices, dims) if i == axis else expand_to(reshape_to(steps(x.shape[i]), [x.shape[i] if k == i else 1 for k in range(x.ndim)]), dims) for i in range(x.ndim)]
    return native.flat_places([astype(a, int64) for a in arrays], list(x.shape), "raise")


@public
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: Optional[int] = -1) -> Var:
    """For each index the element at that place of the axis."""
    x, at = asarray(arr), asarray(indices)
    if axis is None:
        if at.ndim != 1:
            raise InvalidArgument("when axis=None, `indices` must have a single dimension.")
        x, axis = flat(x), 0
    place = axis_of(axis, x.ndim)
    if (is_open(x) or is_open(at)) and x.dtype.kind in "biuf":
        return _open.take_along_axis(x, at, place)
    numbers = _along(x, at, place)
    return gathered(x, numbers, numbers.shape)


@public
def put_along_axis(arr: Var, indices: ArrayLike, values: ArrayLike, axis: Optional[int]) -> None:
    """Writes values where take_along_axis() reads."""
    at = asarray(indices)
    x = reshape_to(arr, [arr.size]) if axis is None else arr
    numbers = _along(x, at, axis_of(0 if axis is None else axis, x.ndim))
    v = expand_to(astype(asarray(values), arr.dtype), numbers.shape)
    arr.assign(reshape_to(native.scatter(reshape_to(x, [x.size]), numbers, reshape_to(v, [v.size]), False), arr.shape))


@public
def put(a: Var, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Writes values, repeated as needed, to the elements of these numbers."""
    from minnow.numpy._shape import resize
    at = asarray(ind)
    numbers = native.flat_places([reshape_to(astype(at, int64), [at.size])], [a.size], mode)
    values = astype(asarray(v), a.dtype)
    if at.size == 0 or values.size == 0:
        return
    a.assign(reshape_to(native.scatter(reshape_to(a, [a.size]), numbers, resize(values, at.size), False), a.shape))


@public
def putmask(a: Var, mask: ArrayLike, values: ArrayLike) -> None:
    """Writes values, repeated to the size of a, where the mask is true."""
    from minnow.numpy._shape import resize
    m = is_true(asarray(mask))
    if m.size != a.size:
        raise InvalidArgument("putmask: mask and data must be the same size")
    v = astype(asarray(values), a.dtype)
    if v.size:
        a.assign(pick(reshape_to(m, a.shape), reshape_to(resize(v, a.size), a.shape), a))


@public
def place(arr: Var, mask: ArrayLike, vals: ArrayLike) -> None:
    """Writes the first values, repeated as needed, where the mask is true."""
    from minnow.numpy._shape import resize
    m = is_true(asarray(mask))
    if m.size != arr.size:
        raise InvalidArgument("place: mask and data must be the same size")
    numbers = native.true_places(m)
    v = astype(asarray(vals), arr.dtype)
    if numbers.size == 0:
        return
    if v.size == 0:
        raise InvalidArgument("Cannot insert from an empty array!")
    arr.assign(reshape_to(native.scatter(reshape_to(arr, [arr.size]), numbers, resize(v, numbers.size), False), arr.shape))


@public
def extract(condition: ArrayLike, arr: ArrayLike) -> Var:
    """The elements where the condition is not zero."""
    m, x = asarray(condition), asarray(arr)
    return take(x, flatnonzero(m))


@public
def compress(condition: ArrayLike, a: ArrayLike, axis: Optional[int] = None, out: Any = None) -> Var:
    """The parts along an axis where the condition, which may be shorter, is true."""
    m = asarray(condition)
    if m.ndim != 1:
        raise InvalidArgument("condition must be a 1-d array")
    return deliver(take(a, flatnonzero(m), axis), out)


@public
def choose(a: ArrayLike, choices: Any, out: Any = None, mode: str = "raise") -> Var:
    """For each index the element of the choice of that number."""
    at = asarray(a)
    arrays = [asarray(c) for c in choices]
    common = result_type(*arrays)
    dims = broadcast_dims(at.shape, *[c.shape for c in arrays])
    if at.dtype.kind not in "biu":
        raise InvalidType(f"Cannot cast array data from dtype('{at.dtype}') to dtype('int64') according to the rule 'safe'")
    if mode == "raise" and at.size and (native.reduce("min", astype(at, int64), 0, at.ndim, False, int64).item() < 0 or native.reduce("max", astype(at, int64), 0, at.ndim, False, int64).item() >= len(arrays)):
        raise InvalidArgument("invalid entry in choice array")
    numbers = native.flat_places([expand_to(astype(at, int64), dims)], [len(arrays)], "clip" if mode == "raise" else mode)
    result = expand_to(astype(arrays[0], common), dims)
    for i, c in enumerate(arrays[1:], 1):
        result = pick(numbers == i, expand_to(astype(c, common), dims), result)
    return deliver(result, out)


@public
def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Var:
    """Elements of the choice whose condition is the first that is true, else the default."""
    if len(condlist) != len(choicelist):
        raise InvalidArgument("list of cases must be same length as list of conditions")
    if not condlist:
        raise InvalidArgument("select with an empty condition list is not possible")
    count = len(condlist)
    held = beside([*condlist, *choicelist])
    condlist, choicelist = held[:count], held[count:]
    conditions = [asarray(c) for c in condlist]
    for i, c in enumerate(conditions):
        if c.dtype.kind != "b":
            raise InvalidType(f"invalid entry {i} in condlist: should be boolean ndarray")
    common = result_type(*choicelist, default)
    dims = broadcast_dims(*[c.shape for c in conditions], *[asarray(c).shape for c in choicelist])
    result = expand_to(asarray(default, common), dims)
    for c, v in zip(reversed(conditions), reversed(list(choicelist))):
        result = pick(c, expand_to(asarray(v, common), dims), result)
    return result


@public
def piecewise(x: ArrayLike, condlist: Any, funclist: Any, *args: Any, **options: Any) -> Var:
    """Each function (or number) where its condition is true; one more than conditions: elsewhere."""
    a = asarray(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) and (not condlist or hasattr(condlist[0], "__len__") or isinstance(condlist[0], Var)) else [condlist]
    conditions = [asarray(c, bool_) for c in conditions]
    if len(funclist) == len(conditions) + 1:
        rest = zeros_of(a.shape, bool_)
        for c in conditions:
            rest = rest | c
        conditions.append(~rest)
    elif len(funclist) != len(conditions):
        raise InvalidArgument(f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected")
    result = zeros_of(a.shape, a.dtype)
    for c, f in zip(conditions, funclist):
        c = expand_to(c, a.shape)
        if callable(f):
            chosen = a[c] if a.ndim else a
            if chosen.size and (a.ndim or bool(c)):
                value = asarray(f(chosen, *args, **options))
                if a.ndim:
                    setitem(result, c, value)
                else:
                    result = astype(value, a.dtype)
        else:
            result = pick(c, astype(asarray(f), a.dtype), result)
    return result


@public
def diag_indices(n: int, ndim: int = 2) -> tuple[Var, ...]:
    """The indices of the main diagonal."""
    from minnow.numpy._creation import steps
    return (steps(n),) * ndim


@public
def diag_indices_from(arr: ArrayLike) -> tuple[Var, ...]:
    """diag_indices() of an array whose axes are equal."""
    x = asarray(arr)
    if x.ndim < 2:
        raise InvalidArgument("input array must be at least 2-d")
    if len(set(x.shape)) != 1:
        raise InvalidArgument("All dimensions of input must be of equal length")
    return diag_indices(x.shape[0], x.ndim)


@public
def fill_diagonal(a: Var, val: ArrayLike, wrap: bool = False) -> None:
    """Writes values, repeated as needed, on the main diagonal."""
    from minnow.numpy._creation import steps
    from minnow.numpy._shape import resize
    if a.ndim < 2:
        raise InvalidArgument("array must be at least 2-d")
    strides = row_strides(a.shape)
    if a.ndim == 2:
        step = a.shape[1] + 1
        end = a.size if wrap else a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) != 1:
            raise InvalidArgument("All dimensions of input must be of equal length")
        step, end = sum(strides), a.size
    end = builtins.min(end, a.size)
    count = -(-end // step) if end else 0
    if count:
        a.assign(reshape_to(native.scatter(reshape_to(a, [a.size]), steps(count) * step, resize(astype(asarray(val), a.dtype), count), False), a.shape))


@public
def tril_indices(n: int, k: int = 0, m: Optional[int] = None) -> tuple[Var, ...]:
    """The indices of the lower triangle."""
    from minnow.numpy._creation import tri
    return nonzero(tri(n, m, k, bool_))


@public
def triu_indices(n: int, k: int = 0, m: Optional[int] = None) -> tuple[Var, ...]:
    """The indices of the upper triangle."""
    from minnow.numpy._creation import tri
    return nonzero(~tri(n, m, k - 1, bool_))


@public
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Var, ...]:
    """tril_indices() of a matrix's shape."""
    x = asarray(arr)
    if x.ndim != 2:
        raise InvalidArgument("input array must be 2-d")
    return tril_indices(x.shape[0], k, x.shape[1])


@public
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Var, ...]:
    """triu_indices() of a matrix's shape."""
    x = asarray(arr)
    if x.ndim != 2:
        raise InvalidArgument("input array must be 2-d")
    return triu_indices(x.shape[0], k, x.shape[1])


@public
def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[Var, ...]:
    """Return the indices of the elements that a function such as triu keeps of a matrix of ones."""
    from minnow.numpy._creation import ones
    return nonzero(mask_func(ones((n, n), int64), k))


@public
def ix_(*args: ArrayLike) -> tuple[Var, ...]:
    """Vectors as indices of a grid: one for each axis."""
    result = []
    for i, arg in enumerate(args):
        x = asarray(arg)
        if x.ndim != 1:
            raise InvalidArgument("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            x = flatnonzero(x)
        elif x.size == 0 and x.dtype.kind == "f":
            x = astype(x, int64)
        result.append(reshape_to(x, [x.size if k == i else 1 for k in range(len(args))]))
    return tuple(result)


@public
def apply_along_axis(func1d: Any, axis: int, arr: ArrayLike, *args: Any, **options: Any) -> Var:
    """A function of vectors for every vector along an axis."""
    from minnow.numpy._shape import moveaxis, stack
    x = asarray(arr)
    at = axis_of(axis, x.ndim)
    rows = moveaxis(x, at, -1)
    lead = rows.shape[:-1]
    if size_of(lead) == 0:
        raise InvalidArgument("Cannot apply_along_axis when any iteration dimensions are 0")
    flat = reshape_to(rows, [size_of(lead), rows.shape[-1]])
    results = [asarray(func1d(flat[i], *args, **options)) for i in range(flat.shape[0])]
    made = stack(results, 0)
    made = reshape_to(made, [*lead, *results[0].shape])
    own = results[0].ndim
    return moveaxis(made, list(range(made.ndim - own, made.ndim)), list(range(at, at + own))) if own else made


@public
def apply_over_axes(func: Any, a: ArrayLike, axes: Any) -> Var:
    """func(a, axis) for one axis after the other, axes kept."""
    x = asarray(a)
    for axis in (axes if isinstance(axes, (list, tuple)) else [axes]):
        made = asarray(func(x, axis))
        x = made if made.ndim == x.ndim else reshape_to(made, [1 if i == axis_of(axis, x.ndim) else dim for i, dim in enumerate(x.shape)])
    return x


@public
def ndenumerate(arr: ArrayLike) -> Any:
    """Indices and elements, one after the other."""
    import itertools
    x = asarray(arr)
    return zip(itertools.product(*[range(dim) for dim in x.shape]), reshape_to(x, [x.size]).tolist())


@public
def ndindex(*shape: Any) -> Any:
    """All indices of a shape, one after the other."""
    import itertools
    dims = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return itertools.product(*[range(dim) for dim in dims])
