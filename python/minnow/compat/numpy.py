# SPDX-License-Identifier: Apache-2.0
"""MNN.numpy: MNN's names, dtypes and results. Functions that MNN.numpy does not implement come from minnow.numpy."""
from __future__ import annotations

import builtins
import types
from typing import Any, Callable, Sequence

from minnow import _minnow
from minnow import numpy as np
from minnow._minnow import InvalidType, Unsupported
from minnow.compat import _expr
from minnow.compat import expr as F
from minnow.compat._values import careful, Context, Function, Shape, Var, as_mnn, exported, own

float32, float64, int32, int64, uint8 = np.float32, np.float64, np.int32, np.int64, np.uint8
pi, inf, newaxis = np.pi, np.inf, None


def _wide(dtype: Any) -> Context:
    """Make the context of a result with a requested dtype."""
    context = Context()
    if dtype is not None:
        context.kept.add(np.dtype(dtype).name)
    return context


# ---- Arrays

def array(object: Any, dtype: Any = None, copy: bool = True, order: str = "K", subok: bool = False, ndmin: int = 0) -> Var:
    """Create an array. Integers become int32 and floating-point numbers float32."""
    made = np.asarray(own(object)) if dtype is None else np.asarray(own(object)).astype(dtype, copy=False)
    made = made.clone() if copy and isinstance(object, _minnow.Var) else made
    if made.ndim < ndmin:
        made = made.reshape(*[1] * (ndmin - made.ndim), *made.shape)
    if dtype is None and not isinstance(object, _minnow.Var):
        return as_mnn(made)  # type: ignore[no-any-return]
    context = _wide(dtype)
    context.kept.add(made.dtype.name)
    context.format = object.__dict__.get("_format") if isinstance(object, _minnow.Var) else None
    return as_mnn(made, context)  # type: ignore[no-any-return]


def asarray(a: Any, dtype: Any = None, order: str | None = None) -> Var:
    """Return a Var unchanged, and make an array of anything else."""
    return a if type(a) is Var and (dtype is None or a.dtype == dtype) else array(a, dtype)


asanyarray = ascontiguousarray = asfortranarray = asarray_chkfinite = asarray


def asmatrix(data: Any, dtype: Any = None) -> Var:
    """Create an array with at least two axes."""
    return array(data, dtype, ndmin=2)


mat = matrix = asmatrix


def asfarray(a: Any, dtype: Any = float64) -> Var:
    """Convert to float32."""
    return array(a, float32)


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Var:
    """Convert to a dtype. Elements are always contiguous."""
    return asarray(a, dtype)


def asscalar(a: Any) -> Any:
    """Return the only element as a Python number."""
    return own(asarray(a)).item()


def _filled(shape: Any, value: Any, dtype: Any) -> Var:
    shape = [int(dim) for dim in np.ravel(own(asarray(shape))).tolist()]
    made = np.full(own(shape), own(value)) if dtype is None else np.full(own(shape), own(value)).astype(dtype, copy=False)
    return as_mnn(made, _wide(dtype))  # type: ignore[no-any-return]


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Var:
    """Create an array filled with one value."""
    return _filled(shape, fill_value, dtype)


def ones(shape: Any, dtype: Any = None, order: str = "C") -> Var:
    """Create an array of ones, int32 by default."""
    return _filled(shape, 1, dtype)


def zeros(shape: Any, dtype: Any = None, order: str = "C") -> Var:
    """Create an array of zeros, int32 by default."""
    return _filled(shape, 0, dtype)


def empty(shape: Any, dtype: Any = float32, order: str = "C") -> Var:
    """Create an array of zeros."""
    return _filled(shape, 0, dtype)


def _filled_like(a: Any, value: Any, dtype: Any, shape: Any) -> Var:
    like = asarray(a)
    return _filled(tuple(like.shape) if shape is None else shape, value, like.dtype if dtype is None else dtype)


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Var:
    return _filled_like(a, fill_value, dtype, shape)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Var:
    return _filled_like(a, 1, dtype, shape)


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Var:
    return _filled_like(a, 0, dtype, shape)


empty_like = zeros_like


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float32, order: str = "C") -> Var:
    return as_mnn(np.eye(N, M, k, dtype), _wide(dtype))  # type: ignore[no-any-return]


def identity(n: int, dtype: Any = float32) -> Var:
    return eye(n, dtype=dtype)


def copy(a: Any, order: str = "K", subok: bool = False) -> Var:
    return array(a)


def copyto(dst: Var, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copy the elements of another array."""
    plain = np.copy(own(dst))
    np.copyto(plain, own(asarray(src)), casting=casting, where=own(where))
    dst.assign(plain)


def fill(self: Var, fill_value: Any) -> None:
    """Set all elements to one value."""
    self.fill(fill_value)


def frombuffer(buffer: Any, dtype: Any = float32, count: int = -1, offset: int = 0) -> Var:
    return as_mnn(np.frombuffer(buffer, dtype, count, offset), _wide(dtype))  # type: ignore[no-any-return]


def shape(a: Any) -> tuple[int, ...]:
    return tuple(asarray(a).shape)


def reshape(a: Any, *newshape: Any) -> Var:
    """Change the shape. Dimensions come in a tuple or one by one; 0 keeps the dimension of `a` at that place."""
    dims = newshape[0] if len(newshape) == 1 and isinstance(newshape[0], (list, tuple, _minnow.Var)) else newshape
    return F.reshape(asarray(a), list(dims) if isinstance(dims, (list, tuple)) else dims)  # type: ignore[no-any-return]


def ravel(a: Any, order: str = "C") -> Var:
    return reshape(a, [-1]) if order in ("C", "K", "A") else exported(np.ravel)(a, order)


def repmat(a: Any, m: int, n: int) -> Var:
    """Repeat a matrix m times vertically and n times horizontally. A vector is a row."""
    return as_mnn(np.tile(np.atleast_2d(own(asarray(a))), (m, n)), Context([a]))  # type: ignore[no-any-return]


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Var:
    return exported(np.repeat)(asarray(a), repeats, axis)  # type: ignore[no-any-return]


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose from x where the condition is not zero, else from y. Without x and y: nonzero()."""
    return nonzero(condition) if x is None and y is None else F.select(condition, x, y)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Var:
    """Choose each element from the first choice with a condition that is not zero."""
    conditions = [np.not_equal(own(asarray(condition)), 0) for condition in condlist]
    return as_mnn(np.select(conditions, own(list(choicelist)), own(default)), Context(choicelist))  # type: ignore[no-any-return]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> list[Var]:
    return [as_mnn(part) for part in np.unravel_index(own(asarray(indices)), tuple(np.ravel(own(asarray(shape))).tolist()), order)]


# ---- Elementwise functions

_OF_EXPR = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "around": "round",
            "round": "round", "round_": "round", "rint": "round", "positive": "clone", "power": "pow", "float_power": "pow", "true_divide": "divide",
            "floor_divide": "floordiv", "absolute": "abs", "fabs": "abs", "fmax": "maximum", "fmin": "minimum",
            **{name: name for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "sin", "cos", "tan",
                                       "sinh", "cosh", "tanh", "floor", "ceil", "sqrt", "exp", "expm1", "log", "log1p", "sign", "reciprocal", "negative", "multiply", "add",
                                       "divide", "subtract", "square", "abs", "maximum", "minimum", "cumprod", "cumsum")},
            "nancumprod": "", "nancumsum": ""}


def _matched(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def call(x1: Any, x2: Any) -> Any:
        made = function(*_expr.matched(own(x1), own(x2)))
        return as_mnn(made, Context([x1, x2]))

    call.__doc__ = function.__doc__
    return call


mod = remainder = _matched(np.mod)
fmod, divmod = _matched(np.fmod), _matched(np.divmod)
copysign = _matched(lambda x1, x2: np.copysign(x1, x2).astype(x1.dtype, copy=False))


def _floating(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        return as_mnn(function(*[np.asarray(own(value)).astype("float32", copy=False) for value in values]))

    call.__doc__ = function.__doc__
    return call


exp2, log2, log10, sinc, cbrt, fix, trunc, signbit = map(_floating, (np.exp2, np.log2, np.log10, np.sinc, np.cbrt, np.fix, np.trunc, np.signbit))  # type: ignore[arg-type]
hypot, logaddexp, logaddexp2, modf = map(_floating, (np.hypot, np.logaddexp, np.logaddexp2, np.modf))  # type: ignore[arg-type]


def ldexp(x1: Any, x2: Any) -> Any:
    """Return x1 * 2 ** x2."""
    return F.multiply(x1, exp2(x2))


def clip(x: Any, a_min: Any, a_max: Any) -> Var:
    value = asarray(x)
    return as_mnn(np.clip(own(value), own(a_min), own(a_max)).astype(value.dtype, copy=False), Context([value]))  # type: ignore[no-any-return]


def _along_first(function: Callable[..., Any]) -> Callable[..., Any]:
    def running(x: Any, axis: int = 0) -> Any:
        value = asarray(x)
        return as_mnn(function(own(value), axis), Context([value]))

    running.__doc__ = function.__doc__
    return running


nancumsum, nancumprod = _along_first(np.nancumsum), _along_first(np.nancumprod)


# ---- Reductions, which give a Python number if they go over all elements

def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


def _reduction(function: Callable[..., Any], number_of_any: bool = False) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        value = asarray(a)
        made = as_mnn(function(own(value), axis=_axes(axis), keepdims=bool(keepdims)).astype(value.dtype, copy=False), Context([value]))
        return made.item() if axis is None or (number_of_any and made.ndim == 0) else made

    reduce.__doc__ = function.__doc__
    return reduce


sum, prod, nansum, nanprod = (_reduction(function, True) for function in (np.sum, np.prod, np.nansum, np.nanprod))
amax, amin, nanmax, nanmin = map(_reduction, (np.max, np.min, np.nanmax, np.nanmin))
max, min = amax, amin


def _statistic(function: Callable[..., Any]) -> Callable[..., Any]:
    def of(a: Any, axis: Any = None, dtype: Any = float32, out: Any = None, *options: Any, keepdims: bool = False, **named: Any) -> Any:
        if options:  # mean(..., keepdims), var(..., ddof, keepdims)
            keepdims, named = bool(options[-1]) if len(options) > 1 or function in _MEANS else keepdims, ({"ddof": options[0]} if function not in _MEANS else named)
        made = as_mnn(function(own(asarray(a)).astype(dtype or float32, copy=False), axis=_axes(axis), keepdims=bool(keepdims), **named), _wide(dtype))
        return made.item() if axis is None else made

    of.__doc__ = function.__doc__
    return of


_MEANS = (np.mean, np.nanmean)
mean, nanmean, var, std, nanvar, nanstd = map(_statistic, (np.mean, np.nanmean, np.var, np.std, np.nanvar, np.nanstd))  # type: ignore[arg-type]


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    if weights is None and not returned:
        return mean(a, axis)
    return exported(np.average)(asarray(a), _axes(axis), weights, returned)


def ptp(a: Any, axis: Any = None) -> Any:
    """Return the difference of the largest and the smallest element."""
    return max(a, axis) - min(a, axis)


def _place(function: Callable[..., Any]) -> Callable[..., Any]:
    def find(a: Any, axis: int | None = None, out: Any = None) -> Any:
        made = as_mnn(function(own(asarray(a)), axis))
        return made.item() if axis is None else made

    find.__doc__ = function.__doc__
    return find


argmax, argmin, nanargmax, nanargmin = map(_place, (np.argmax, np.argmin, np.nanargmax, np.nanargmin))


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    def of(a: Any, axis: Any = None, out: Any = None, keepdims: bool | None = None) -> Any:
        made = function(own(asarray(a)), axis=_axes(axis), keepdims=bool(keepdims))
        return bool(made.item()) if axis is None else as_mnn(made)

    of.__doc__ = function.__doc__
    return of


all, any = _truth(np.all), _truth(np.any)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    return bool(np.array_equal(own(asarray(a1)), own(asarray(a2)), equal_nan))


def array_equiv(a1: Any, a2: Any) -> bool:
    return bool(np.array_equiv(own(asarray(a1)), own(asarray(a2))))


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    made = np.count_nonzero(own(asarray(a)), axis=_axes(axis), keepdims=keepdims)
    made = as_mnn(np.asarray(made))
    return made.item() if axis is None else made


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Multiply as NumPy does. Two vectors or two numbers give a Python number."""
    x, y = _expr.matched(own(a), own(b))
    made = as_mnn(np.dot(x, y), Context([x, y]))
    return made.item() if made.ndim == 0 else made


def vdot(a: Any, b: Any) -> Any:
    return dot(ravel(a), ravel(b))


def inner(a: Any, b: Any) -> Any:
    x, y = _expr.matched(own(a), own(b))
    made = as_mnn(np.inner(x, y), Context([x, y]))
    return made.item() if made.ndim == 0 else made


def matmul(a: Any, b: Any) -> Any:
    x, y = _expr.matched(own(a), own(b))
    made = as_mnn(np.matmul(x, y), Context([x, y]))
    return made.item() if made.ndim == 0 else made


# ---- Orders and places

def sort(a: Any, axis: int = -1, kind: Any = None, order: Any = None) -> Var:
    return F.sort(a, axis)  # type: ignore[no-any-return]


def argsort(a: Any, axis: int = -1, kind: Any = None, order: Any = None) -> Var:
    return F.sort(a, axis, True)  # type: ignore[no-any-return]


def msort(a: Any) -> Var:
    """Sort along the first axis."""
    return sort(a, 0)


def nonzero(a: Any) -> tuple[Var, ...]:
    return as_mnn(np.nonzero(own(asarray(a))))  # type: ignore[no-any-return]


def histogram(a: Any, bins: Any = 10, range: Any = None, normed: Any = None, weights: Any = None, density: Any = None) -> tuple[Var, Var]:
    counts, edges = np.histogram(own(asarray(a)), bins, range, density, own(weights))
    return as_mnn(counts.astype("float32", copy=False)), as_mnn(edges.astype("float32", copy=False))


def pad(array: Any, pad_width: Any, mode: str = "constant") -> Var:
    value = asarray(array)
    return as_mnn(np.pad(own(value), own(pad_width), mode), Context([value]))  # type: ignore[no-any-return]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Var]:
    return list(exported(np.array_split)(asarray(ary), indices_or_sections, axis))


# ---- Others

trapz, row_stack = Function(np.trapezoid), Function(np.vstack)


def bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> Var:
    """Join matrices in nested lists."""
    if isinstance(obj, str):
        raise Unsupported("bmat() takes nested lists here, not text with names")
    rows = obj if isinstance(obj[0], (list, tuple)) else [obj]
    return exported(np.block)([[asarray(part) for part in row] for row in rows])  # type: ignore[no-any-return]


class broadcast:
    """Arrays broadcast to a common shape."""

    def __init__(self, *arrays: Any) -> None:
        self._values = exported(np.broadcast_arrays)(*map(asarray, arrays))
        self.shape: tuple[int, ...] = tuple(self._values[0].shape)
        self.ndim, self.nd, self.numiter = len(self.shape), len(self.shape), len(self._values)
        self.size: int = self._values[0].size

    def __iter__(self) -> Any:
        return zip(*(own(value).reshape(-1).tolist() for value in self._values))


class flatiter:
    """An iterator over the elements."""

    def __init__(self, a: Any) -> None:
        self.base = asarray(a)
        self._left = iter(own(self.base).reshape(-1).tolist())

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> Any:
        return next(self._left)

    def __len__(self) -> int:
        return int(self.base.size)

    def __getitem__(self, place: Any) -> Any:
        found = own(self.base).reshape(-1)[place]
        return as_mnn(found, Context([self.base])) if found.ndim else found.item()


def nditer(op: Any, *options: Any, **named: Any) -> Any:
    """Iterate over the elements of an array, or over tuples of elements of several arrays."""
    if options or named:
        raise Unsupported("nditer() takes arrays alone here, no flags")
    if isinstance(op, (list, tuple)) and builtins.any(isinstance(value, (list, tuple, _minnow.Var)) for value in op):
        return iter(broadcast(*op))
    return flatiter(op)


def nested_iters(op: Any, axes: Sequence[Sequence[int]], *options: Any, **named: Any) -> Any:
    raise Unsupported("nested_iters() goes through memory in steps; go through arrays with ndindex()")


for _name, _value in list(globals().items()):
    if isinstance(_value, types.FunctionType) and _value.__module__ == __name__ and not _name.startswith("_"):
        globals()[_name] = careful(_value, _name)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    other = _OF_EXPR.get(name)
    if other:
        made = getattr(F, other)
    elif hasattr(np, name):
        made = exported(getattr(np, name))
        if isinstance(made, type(np)) or name in ("linalg", "random", "fft"):
            raise AttributeError(name)  # minnow.compat creates these modules
    else:
        raise AttributeError(name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    hidden = {"Any", "Callable", "Context", "F", "Function", "InvalidType", "Sequence", "Shape", "Unsupported", "Var", "as_mnn", "annotations", "builtins", "careful", "exported", "np", "own", "types"}
    return sorted({name for name in (*globals(), *_OF_EXPR, *dir(np)) if not name.startswith("_")} - hidden)
