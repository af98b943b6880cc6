# SPDX-License-Identifier: Apache-2.0
"""Sums, extremes, moments and running results along axes, and their forms that leave out NaN."""
from __future__ import annotations

import builtins as _builtins
from typing import Any, Callable, Optional

from minnow._minnow import InvalidArgument, InvalidType, Var, op
from minnow._minnow import dtype as DType

from minnow.numpy import _elementwise as ew
from minnow.numpy import _open
from minnow.numpy._core import flat as flatten
from minnow.numpy._core import (ArrayLike, Axis, DTypeLike, asarray, beside, settled, astype, at_hand, axes_of, axis_of, bool_, broadcast_dims, choose, complex128, computed, deliver, dtype_of, expand_to, float16, float32,
                                float64, full_of, int64, ints, is_open, is_symbolic, is_true, native, permute, public, reduced_axes, reshape_to, result_type, size_of, uint64)

_builtin_max = _builtins.max
_ORDERED = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64")  # of which the engine's operator takes extremes
_OPERATORS = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


def _has_elements(x: Var) -> bool:
    return is_open(x) or bool(x.size)


def _reduced(name: str, x: Var, axes: tuple[int, ...], keepdims: bool, dtype: Optional[DType] = None) -> Var:
    """In `dtype`, without one that of x: f32, and the extremes of many elements, by the engine's operator, all else at once."""
    if dtype is not None and dtype != x.dtype and (not axes or is_symbolic(x)):
        x = astype(x, dtype)
    wanted = x.dtype if dtype is None else dtype
    if not axes:
        return x.clone()
    if _has_elements(x) and wanted == x.dtype:
        by_engine = x.dtype == float32 if name == "sum" else name != "prod" and x.dtype.name in _ORDERED
        if x.dtype.kind in "fiu" and is_symbolic(x) or by_engine and (not x.is_computed or x.size > 4096):
            return op(_OPERATORS[name], (x, ints(axes)), {"keepdims": int(keepdims)})
    shape = x.shape
    if axes != tuple(range(axes[0], axes[-1] + 1)):  # brought together at the end
        rest = [i for i in range(x.ndim) if i not in axes]
        x = permute(x, rest + list(axes))
        result = native.reduce(name, x, len(rest), x.ndim, False, wanted)
        return reshape_to(result, [1 if i in axes else dim for i, dim in enumerate(shape)]) if keepdims else result
    return native.reduce(name, x, axes[0], axes[-1] + 1, bool(keepdims), wanted)


def _wide(x: Var) -> DType:
    """Return the dtype in which sums are computed."""
    kind = x.dtype.kind
    return int64 if kind in "bi" else uint64 if kind == "u" else x.dtype


def _masked(x: Var, where: ArrayLike, value: Any) -> Var:
    return choose(asarray(where, bool_), x, full_of((), value, x.dtype))


def _sum_like(name: str, identity: int) -> Callable[..., Var]:
    def function(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
        x = asarray(a)
        axes = reduced_axes(axis, x.ndim)
        wanted = dtype_of(dtype) if dtype is not None else out.dtype if isinstance(out, Var) and out.dtype.kind == x.dtype.kind else _wide(x)
        if wanted.kind == "b":
            return deliver((any if name == "sum" else all)(is_true(x), axis, None, keepdims), out)
        if where is not True or x.dtype.kind not in "biu" or wanted.kind not in "iu" or wanted.itemsize != 8:  # others are widened while they are summed
            x = astype(x, wanted)
        if where is not True:
            x = _masked(x, where, identity)
        result = _reduced(name, x, axes, keepdims, wanted)
        if initial is not None:
            result = result + asarray(initial, wanted) if name == "sum" and wanted.kind != "c" else (ew.add if name == "sum" else ew.multiply)(result, asarray(initial, wanted))
        return deliver(result, out)

    return function


_sum, _prod = _sum_like("sum", 0), _sum_like("prod", 1)


@public
def sum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """The sum along axes; small integers are summed in 64 bits."""
    if dtype is None and out is None and initial is None and where is True:
        result = native.reduce_at_hand("sum", a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _sum(a, axis, dtype, out, keepdims, initial, where)


@public
def prod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """The product along axes; small integers are multiplied in 64 bits."""
    if dtype is None and out is None and initial is None and where is True:
        result = native.reduce_at_hand("prod", a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _prod(a, axis, dtype, out, keepdims, initial, where)


def _extreme(name: str, a: ArrayLike, axis: Axis, out: Any, keepdims: bool, initial: Any, where: ArrayLike) -> Var:
    x = asarray(a)
    axes = reduced_axes(axis, x.ndim)
    if where is not True:
        if initial is None:
            raise InvalidArgument(f"reduction operation '{name}imum' does not have an identity, so to use a where mask one has to specify 'initial'")
        x = _masked(x, where, initial)
    combine = ew.maximum if name == "max" else ew.minimum
    if axes and not is_open(x) and size_of([x.shape[i] for i in axes]) == 0:
        dims = [1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdims or i not in axes]
        if initial is None and size_of(dims) != 0:
            raise InvalidArgument(f"zero-size array to reduction operation {name}imum which has no identity")
        result = full_of(dims, 0 if initial is None else initial, x.dtype)
        return deliver(result, out)
    result = _reduced(name, x, axes, keepdims)
    if initial is not None:
        result = combine(result, asarray(initial, x.dtype))
    return deliver(result, out)


@public
def max(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """The largest element along axes; NaN if there is one."""
    if out is None and initial is None and where is True:
        result = native.reduce_at_hand("max", a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _extreme("max", a, axis, out, keepdims, initial, where)


@public
def min(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """The smallest element along axes; NaN if there is one."""
    if out is None and initial is None and where is True:
        result = native.reduce_at_hand("min", a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _extreme("min", a, axis, out, keepdims, initial, where)


@public
def amax(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """max()."""
    return max(a, axis, out, keepdims, initial, where)


@public
def amin(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """min()."""
    return min(a, axis, out, keepdims, initial, where)


@public
def ptp(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Var:
    """The largest less the smallest element."""
    return deliver(ew.subtract(max(a, axis, None, keepdims), min(a, axis, None, keepdims)), out)


def _logical(name: str, a: ArrayLike, axis: Axis, out: Any, keepdims: bool, where: ArrayLike) -> Var:
    x = is_true(asarray(a))
    axes = reduced_axes(axis, x.ndim)
    if where is not True:
        x = _masked(x, where, name == "all")
    if axes and not is_open(x) and size_of([x.shape[i] for i in axes]) == 0:
        return deliver(full_of([1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdims or i not in axes], name == "all", bool_), out)
    if is_symbolic(x):
        return deliver(astype(_reduced("min" if name == "all" else "max", astype(x, dtype_of("uint8")), axes, keepdims), bool_), out)
    return deliver(settled(_reduced("min" if name == "all" else "max", x, axes, keepdims), a), out)


@public
def all(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: ArrayLike = True) -> Var:
    """Whether all elements along axes are not zero."""
    if out is None and where is True:
        result = native.reduce_at_hand("all", a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _logical("all", a, axis, out, keepdims, where)


@public
def any(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: ArrayLike = True) -> Var:
    """Whether an element along axes is not zero."""
    if out is None and where is True:
        result = native.reduce_at_hand("any", a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _logical("any", a, axis, out, keepdims, where)


@public
def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Var:
    """How many elements along axes are not zero."""
    return sum(astype(is_true(asarray(a)), int64), axis, keepdims=keepdims)


def _count(x: Var, axes: tuple[int, ...], where: ArrayLike) -> Any:
    if where is True:
        return size_of([x.shape[i] for i in axes])
    return sum(astype(expand_to(asarray(where, bool_), x.shape), int64), axes, keepdims=True)


def _mean_parts(x: Var, axes: tuple[int, ...], where: ArrayLike, dtype: DType) -> tuple[Var, Any]:
    """The mean with axes kept, and the number of elements."""
    count = _count(x, axes, where)
    total = sum(x, axes, dtype, keepdims=True, where=where)
    return ew.divide(total, count if isinstance(count, int) else astype(count, dtype if dtype.kind == "f" else float64)), count


def _squeeze(x: Var, axes: tuple[int, ...], keepdims: bool) -> Var:
    return x if keepdims or not axes else reshape_to(x, [dim for i, dim in enumerate(x.shape) if i not in axes])


def _has_moment(x: Var, axes: tuple[int, ...], work: DType) -> bool:
    """True if _moment() can compute this: real elements along neighbouring axes, in f32 or f64, without gradients."""
    return bool(axes) and work in (float32, float64) and x.dtype.kind != "c" and axes == tuple(range(axes[0], axes[-1] + 1)) and not is_symbolic(x) and at_hand(computed(x))


def _moment(name: str, x: Var, axes: tuple[int, ...], keepdims: bool, ddof: float, work: DType) -> Var:
    return native.moment(name, x, axes[0], axes[-1] + 1, bool(keepdims), ddof, work)  # type: ignore[no-any-return]


@public
def mean(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, *, where: ArrayLike = True) -> Var:
    """The mean along axes; NaN of nothing. Integers in float64."""
    if dtype is None and out is None and where is True:
        result = native.reduce_at_hand("mean", a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    x = asarray(a)
    axes = axes_of(axis, x.ndim)
    if x.dtype == float32 and dtype is None and where is True and _has_elements(x) and axes:
        return deliver(settled(op("ReduceMean", (x, ints(axes)), {"keepdims": int(keepdims)}), a), out)
    work = dtype_of(dtype) if dtype is not None else float64 if x.dtype.kind in "biu" else x.dtype
    if where is True and work in (x.dtype, float64) and _has_moment(x, axes, work):
        return deliver(_moment("mean", x, axes, keepdims, 0.0, work), out)
    inner = float32 if work == float16 else work
    result = astype(_mean_parts(astype(x, inner), axes, where, inner)[0], work)
    return deliver(_squeeze(result, axes, keepdims), out)


@public
def average(a: ArrayLike, axis: Axis = None, weights: ArrayLike = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean with weights: of the shape of a, or of its length along the axis. `returned`: the sums of weights too."""
    if weights is not None:
        a, weights = beside((a, weights))
    x = asarray(a)
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        if not returned:
            return result
        scale = full_of(result.shape, x.size / _builtin_max(result.size, 1), result.dtype)
    else:
        w = asarray(weights)
        if w.shape != x.shape:
            if axis is None:
                raise InvalidType("Axis must be specified when shapes of a and weights differ.")
            places = axes_of(axis, x.ndim)
            if w.shape != tuple(x.shape[i] for i in places):
                raise InvalidArgument("Shape of weights must be consistent with shape of a along specified axis.")
            w = reshape_to(w, [x.shape[i] if i in places else 1 for i in range(x.ndim)])
        common = result_type(x.dtype, w.dtype, float64) if x.dtype.kind in "biu" else result_type(x.dtype, w.dtype)
        w = expand_to(astype(w, common), x.shape)
        scale = sum(w, axis, keepdims=keepdims)
        if bool(any(ew.equal(scale, 0))):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        result = ew.divide(sum(ew.multiply(astype(x, common), w), axis, keepdims=keepdims), scale)
    return (result, scale) if returned else result





@public
def var(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *, where: ArrayLike = True,
        mean: Any = None, correction: Optional[float] = None) -> Var:
    """The mean of the squared distances from the mean, their sum divided by n - ddof."""
    if dtype is None and out is None and where is True and mean is None and correction is None and type(ddof) in (int, float):
        result = native.reduce_at_hand("var", a, axis, keepdims, ddof)
        if result is not None:
            return result  # type: ignore[no-any-return]
    x = asarray(a)
    axes = axes_of(axis, x.ndim)
    ddof = ddof if correction is None else correction
    work = dtype_of(dtype) if dtype is not None else float64 if x.dtype.kind in "biu" else x.dtype
    if is_open(x) and x.dtype.kind == "f" and where is True and mean is None and axes:
        return deliver(astype(_open.variance(x, axes, float(ddof), keepdims), work), out)
    if where is True and mean is None and work in (x.dtype, float64) and _has_moment(x, axes, work):
        return deliver(_moment("var", x, axes, keepdims, float(ddof), work), out)
    if work == float32 and x.dtype == float32 and x.size > 4096 and where is True and mean is None and axes:
        away = x - op("ReduceMean", (x, ints(axes)), {"keepdims": 1})
        count = size_of([x.shape[i] for i in axes])
        total = op("ReduceSum", (away * away, ints(axes)), {"keepdims": int(keepdims)})
        return deliver(ew.divide(total, float(_builtin_max(count - ddof, 0))), out)
    inner = complex128 if work.kind == "c" else float64
    center = _mean_parts(astype(x, inner), axes, where, inner)[0] if mean is None else astype(asarray(mean), inner)
    away = ew.subtract(astype(x, inner), center)
    squares = ew.square(ew.absolute(away)) if inner is complex128 else ew.multiply(away, away)
    count = _count(x, axes, where)
    total = sum(squares, axes, keepdims=True, where=where)
    if isinstance(count, int):
        result = ew.divide(total, float(_builtin_max(count - ddof, 0)))
    else:
        result = ew.divide(total, ew.maximum(astype(count, float64) - float(ddof), 0.0))
    real = float32 if work == dtype_of("complex64") else float64 if work.kind == "c" else work
    return deliver(_squeeze(astype(result, real), axes, keepdims), out)


@public
def std(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *, where: ArrayLike = True,
        mean: Any = None, correction: Optional[float] = None) -> Var:
    """The square root of var()."""
    if dtype is None and out is None and where is True and mean is None and correction is None and type(ddof) in (int, float):
        result = native.reduce_at_hand("std", a, axis, keepdims, ddof)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return deliver(ew.sqrt(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)), out)


def _arg(largest: bool, a: ArrayLike, axis: Optional[int], out: Any, keepdims: bool) -> Var:
    x = asarray(a)
    if is_symbolic(x):
        flat, place = (flatten(x), 0) if axis is None else (x if x.ndim else reshape_to(x, [1]), axis_of(axis, _builtin_max(x.ndim, 1)))
        result = op("ArgMax" if largest else "ArgMin", (flat,), {"axis": place, "keepdims": 0})
    else:
        place = -1 if axis is None or axis_of(axis, _builtin_max(x.ndim, 1)) >= x.ndim else axis_of(axis, x.ndim)
        if (x.size if place < 0 else x.shape[place]) == 0:
            raise InvalidArgument(f"attempt to get {'argmax' if largest else 'argmin'} of an empty sequence")
        result = native.arg_extreme(largest, x, place)
    if keepdims:
        result = reshape_to(result, [1] * x.ndim if axis is None else [1 if i == place else dim for i, dim in enumerate(x.shape)])
    elif x.ndim == 0 and axis is not None:
        result = reshape_to(result, [])
    return deliver(result, out)


@public
def argmax(a: ArrayLike, axis: Optional[int] = None, out: Any = None, *, keepdims: bool = False) -> Var:
    """The place of the first largest element along an axis, or of all elements in order."""
    if out is None:
        result = native.arg_extreme_at_hand(True, a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _arg(True, a, axis, out, keepdims)


@public
def argmin(a: ArrayLike, axis: Optional[int] = None, out: Any = None, *, keepdims: bool = False) -> Var:
    """The place of the first smallest element along an axis, or of all elements in order."""
    if out is None:
        result = native.arg_extreme_at_hand(False, a, axis, keepdims)
        if result is not None:
            return result  # type: ignore[no-any-return]
    return _arg(False, a, axis, out, keepdims)


def _running(name: str, a: ArrayLike, axis: Optional[int], dtype: DTypeLike, out: Any) -> Var:
    x = asarray(a)
    if axis is None or x.ndim == 0:
        if axis is not None:
            axis_of(axis, 1)
        x, place = flatten(x), 0
    else:
        place = axis_of(axis, x.ndim)
    x = astype(x, dtype_of(dtype) if dtype is not None else _wide(x))
    if is_symbolic(x):
        return deliver(op("CumSum" if name == "add" else "CumProd", (x, Var(place, "int64"))), out)
    return deliver(native.accumulate(name, x, place), out)


@public
def cumsum(a: ArrayLike, axis: Optional[int] = None, dtype: DTypeLike = None, out: Any = None) -> Var:
    """The sums so far along an axis; None: of all elements in order."""
    return _running("add", a, axis, dtype, out)


@public
def cumprod(a: ArrayLike, axis: Optional[int] = None, dtype: DTypeLike = None, out: Any = None) -> Var:
    """The products so far along an axis; None: of all elements in order."""
    return _running("multiply", a, axis, dtype, out)


def _cumulative(name: str, x: ArrayLike, axis: Optional[int], dtype: DTypeLike, out: Any, include_initial: bool) -> Var:
    a = asarray(x)
    if a.ndim == 0:
        a = reshape_to(a, [1])
    if axis is None:
        if a.ndim > 1:
            raise InvalidArgument("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    result = _running(name, a, axis, dtype, None)
    if include_initial:
        from minnow.numpy._shape import concatenate
        dims = [1 if i == axis_of(axis, a.ndim) else dim for i, dim in enumerate(a.shape)]
        result = concatenate([full_of(dims, 0 if name == "add" else 1, result.dtype), result], axis)
    return deliver(result, out)


@public
def cumulative_sum(x: ArrayLike, /, *, axis: Optional[int] = None, dtype: DTypeLike = None, out: Any = None, include_initial: bool = False) -> Var:
    """cumsum(); include_initial: with a 0 before."""
    return _cumulative("add", x, axis, dtype, out, include_initial)


@public
def cumulative_prod(x: ArrayLike, /, *, axis: Optional[int] = None, dtype: DTypeLike = None, out: Any = None, include_initial: bool = False) -> Var:
    """cumprod(); include_initial: with a 1 before."""
    return _cumulative("multiply", x, axis, dtype, out, include_initial)


# ---- Without NaN

def _filled(a: ArrayLike, value: Any) -> tuple[Var, Optional[Var]]:
    """a with `value` for NaN, and where NaN was (None for integers)."""
    x = asarray(a)
    if x.dtype.kind not in "fc":
        return x, None
    gone = ew.isnan(x)
    return choose(gone, full_of((), value, x.dtype), x), gone


@public
def nansum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """sum() with NaN as 0."""
    return sum(_filled(a, 0)[0], axis, dtype, out, keepdims, initial, where)


@public
def nanprod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """prod() with NaN as 1."""
    return prod(_filled(a, 1)[0], axis, dtype, out, keepdims, initial, where)


@public
def nancumsum(a: ArrayLike, axis: Optional[int] = None, dtype: DTypeLike = None, out: Any = None) -> Var:
    """cumsum() with NaN as 0."""
    return cumsum(_filled(a, 0)[0], axis, dtype, out)


@public
def nancumprod(a: ArrayLike, axis: Optional[int] = None, dtype: DTypeLike = None, out: Any = None) -> Var:
    """cumprod() with NaN as 1."""
    return cumprod(_filled(a, 1)[0], axis, dtype, out)


def _nan_extreme(largest: bool, a: ArrayLike, axis: Axis, out: Any, keepdims: bool, initial: Any, where: ArrayLike) -> Var:
    function = max if largest else min
    x, gone = _filled(a, float("-inf") if largest else float("inf"))
    result = function(x, axis, None, keepdims, initial, where)
    if gone is not None and x.size:
        result = choose(all(gone, axis, keepdims=keepdims), full_of((), float("nan"), result.dtype), result)
    return deliver(result, out)


@public
def nanmax(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """Return the maximum of the elements that are not NaN; NaN if all are."""
    return _nan_extreme(True, a, axis, out, keepdims, initial, where)


@public
def nanmin(a: ArrayLike, axis: Axis = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: ArrayLike = True) -> Var:
    """Return the minimum of the elements that are not NaN; NaN if all are."""
    return _nan_extreme(False, a, axis, out, keepdims, initial, where)


def _nan_arg(largest: bool, a: ArrayLike, axis: Optional[int], out: Any, keepdims: bool) -> Var:
    x, gone = _filled(a, float("-inf") if largest else float("inf"))
    if gone is not None and bool(any(all(gone, axis))):
        raise InvalidArgument("All-NaN slice encountered")
    return _arg(largest, x, axis, out, keepdims)


@public
def nanargmax(a: ArrayLike, axis: Optional[int] = None, out: Any = None, *, keepdims: bool = False) -> Var:
    """Return the index of the maximum of the elements that are not NaN; ValueError if all are."""
    return _nan_arg(True, a, axis, out, keepdims)


@public
def nanargmin(a: ArrayLike, axis: Optional[int] = None, out: Any = None, *, keepdims: bool = False) -> Var:
    """Return the index of the minimum of the elements that are not NaN; ValueError if all are."""
    return _nan_arg(False, a, axis, out, keepdims)


def _kept(a: ArrayLike, where: ArrayLike) -> ArrayLike:
    x = asarray(a)
    if x.dtype.kind not in "fc":
        return where
    there = ~ew.isnan(x)
    return there if where is True else there & asarray(where, bool_)


def _no_axis(a: ArrayLike, axis: Axis) -> Axis:
    """Axis 0 and -1 of a floating number without axes are none."""
    x = asarray(a)
    return () if x.ndim == 0 and x.dtype.kind in "fc" and (axis == 0 or axis == -1) else axis


def _is_plain(a: ArrayLike, dtype: DTypeLike, where: ArrayLike) -> bool:
    x = asarray(a)
    return x.dtype in (float32, float64) and dtype is None and where is True and not is_symbolic(x) and at_hand(computed(x))


def _present(gone: Optional[Var], axis: Axis, keepdims: bool) -> Var:
    """How many elements are not gone."""
    return sum(~asarray(gone), axis, keepdims=keepdims)


@public
def nanmean(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, *, where: ArrayLike = True) -> Var:
    """Return the mean of the elements that are not NaN."""
    axis = _no_axis(a, axis)
    if _is_plain(a, dtype, where):
        x, gone = _filled(a, 0)
        return deliver(ew.divide(sum(x, axis, keepdims=keepdims), astype(_present(gone, axis, keepdims), x.dtype)), out)
    return mean(_filled(a, 0)[0], axis, dtype, out, keepdims, where=_kept(a, where))


@public
def nanvar(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *, where: ArrayLike = True,
           mean: Any = None, correction: Optional[float] = None) -> Var:
    """Return the variance of the elements that are not NaN; NaN if no more than ddof of them are left."""
    axis = _no_axis(a, axis)
    ddof = ddof if correction is None else correction
    if mean is None and _is_plain(a, dtype, where):
        x, gone = _filled(a, 0)
        count = _present(gone, axis, True)
        apart = x - ew.divide(sum(x, axis, keepdims=True), astype(count, x.dtype))
        apart = choose(asarray(gone), full_of((), 0, x.dtype), apart)
        left = count - ddof
        result = ew.divide(sum(apart * apart, axis, keepdims=True), astype(choose(left > 0, astype(left, float64), full_of((), float("nan"), float64)), x.dtype))
        return deliver(result if keepdims else _squeeze(result, axes_of(axis, x.ndim), False), out)
    x, there = asarray(a), _kept(a, where)
    result = var(_filled(x, 0)[0], axis, dtype, None, ddof, keepdims, where=there, mean=mean)
    if there is not True:
        count = sum(astype(expand_to(there, x.shape), int64), axis, keepdims=keepdims)
        result = choose(count <= ddof, full_of((), float("nan"), result.dtype), result)
    return deliver(result, out)


@public
def nanstd(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Any = None, ddof: float = 0, keepdims: bool = False, *, where: ArrayLike = True,
           mean: Any = None, correction: Optional[float] = None) -> Var:
    """The square root of nanvar()."""
    return deliver(ew.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)), out)
