# SPDX-License-Identifier: Apache-2.0
"""Shared by the files of minnow.numpy: conversion to arrays, dtypes and promotion, axes, moving elements, and the registry of functions."""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, TypeVar, Union

from minnow import _minnow
from minnow._arrays import index_of, is_index
from minnow._functions import suggesting
from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, OutOfMemory, Var, op
from minnow._minnow import dtype as DType
from minnow._minnow import numpy as native
from minnow._typing import VarLike

#: Anything that converts to an array: a Var, a number, nested lists of numbers, an array (buffer protocol, DLPack, __array__); None: not given.
ArrayLike = Optional[VarLike]
#: A dtype, its name or code ("float32", "f4"), NumPy's dtype or scalar type, or bool, int, float, complex.
DTypeLike = Any
#: An axis, several, or None for all.
Axis = Union[None, int, Sequence[int]]
Shape = Union[int, Sequence[int]]

bool_, int8, int16, int32, int64 = _minnow.bool, _minnow.int8, _minnow.int16, _minnow.int32, _minnow.int64
uint8, uint16, uint32, uint64 = _minnow.uint8, _minnow.uint16, _minnow.uint32, _minnow.uint64
float16, float32, float64, bfloat16 = _minnow.float16, _minnow.float32, _minnow.float64, _minnow.bfloat16
complex64, complex128 = _minnow.complex64, _minnow.complex128
_KNOWN = {d.name: d for d in (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, bfloat16, complex64, complex128)}


class AxisError(InvalidArgument, InvalidIndex):
    """An axis is out of bounds, or is not one."""


class LinAlgError(InvalidArgument):
    """A matrix is singular, not square, not positive definite, or an iteration did not converge."""


# ---- The registry: every public function is listed here once, by the module that has it.

REGISTRY: dict[str, Any] = {}
F = TypeVar("F", bound=Callable[..., Any])


def public(function: F) -> F:
    """Lists a function of minnow.numpy (of minnow.numpy.linalg ..., by its module): NumPy in, NumPy out (minnow._functions)."""
    return _listed(suggesting(function, arrays=True))


def maker(function: F) -> F:
    """Lists a function that makes a Var of anything."""
    return _listed(suggesting(function))


def reads_shapes(function: F) -> F:
    """Marks a function that reads only shape and dtype of its first argument, on which its result does not depend where it is differentiated."""
    function.derivative = "shape"  # type: ignore[attr-defined]
    return function


def flat_everywhere(function: F) -> F:
    """Marks a function whose derivative is 0: where it is differentiated, its result is a constant."""
    function.derivative = "zero"  # type: ignore[attr-defined]
    return function


def _listed(function: F) -> F:
    REGISTRY[name_of(function.__module__, function.__name__)] = function
    return function


def unknown(module: str, name: str) -> AttributeError:
    """That a module has no such attribute, with the nearest names."""
    import sys
    known = [key for key, value in vars(sys.modules[module]).items() if key[:1] != "_" and (getattr(value, "__module__", module) == module or name_of(module, key) in REGISTRY)]
    return AttributeError(f"module {module!r} has no attribute {name!r}" + ("" if name[:1] == "_" else _minnow.nearest(name, known)))


def name_of(module: str, name: str) -> str:
    part = module.rsplit(".", 1)[-1]
    return name if part.startswith("_") else f"{part}.{name}"


# ---- dtypes

_CODES = {"?": "bool", "b1": "bool", "b": "int8", "i1": "int8", "h": "int16", "i2": "int16", "i": "int32", "i4": "int32", "l": "int64", "q": "int64", "i8": "int64",
          "p": "int64", "int": "int64", "intp": "int64", "int_": "int64", "long": "int64", "longlong": "int64", "B": "uint8", "u1": "uint8", "H": "uint16",
          "u2": "uint16", "I": "uint32", "u4": "uint32", "L": "uint64", "Q": "uint64", "u8": "uint64", "P": "uint64", "uint": "uint64", "uintp": "uint64", "e": "float16", "f2": "float16",
          "half": "float16", "f": "float32", "f4": "float32", "single": "float32", "d": "float64", "f8": "float64", "float": "float64", "double": "float64", "F": "complex64", "c8": "complex64",
          "csingle": "complex64", "D": "complex128", "c16": "complex128", "complex": "complex128", "cdouble": "complex128", "bool_": "bool", "byte": "int8",
          "ubyte": "uint8", "short": "int16", "ushort": "uint16", "intc": "int32", "uintc": "uint32"}


def dtype_of(object: DTypeLike) -> DType:
    """The dtype that an object names; TypeError where it names none."""
    if isinstance(object, DType):
        return object
    if object is None:
        return float64
    if object is complex:
        return complex128
    if isinstance(object, str):
        name = object[1:] if object[:1] in "<=|" else object
        name = _CODES.get(name, name)
        made = _KNOWN.get(name)
        return DType(name) if made is None else made
    made = DType(object)
    return _KNOWN.get(made.name, made)


_SIZES = {"b": 0, "u": 1, "i": 2, "f": 3, "c": 4}


def promote(a: DType, b: DType) -> DType:
    """The dtype that holds the values of both, as NumPy's result_type."""
    if a is b or a == b:
        return a
    if a.kind == "c" or b.kind == "c":
        parts = [float32 if d == complex64 else float64 if d == complex128 else d for d in (a, b)]
        return complex64 if _minnow.promote(_minnow.promote(parts[0], parts[1]), float32) == float32 else complex128
    return _minnow.promote(a, b)


def is_weak(value: Any) -> bool:
    """True for Python's numbers, which take the dtype of the operand beside them."""
    return type(value) in (int, float, complex, bool)


def _weak_dtype(value: Any, other: DType) -> DType:
    """The dtype that a Python number and an array of `other` have together."""
    kind = type(value)
    if kind is bool:
        return promote(other, bool_)
    if kind is int:
        return int64 if other.kind == "b" else other
    if kind is float:
        return other if other.kind in "fc" else float64
    return other if other.kind == "c" else complex64 if other in (float32, float16) else complex128


def _natural(value: Any) -> DType:
    kind = type(value)
    if kind is bool:
        return bool_
    if kind is int:
        return uint64 if value > 0x7fffffffffffffff else int64
    return float64 if kind is float else complex128


def result_type(*operands: Any) -> DType:
    """Return the dtype to which all operands convert by NumPy 2's rules; Python's numbers are weak.

    Raises InvalidArgument (a ValueError) without operands, and InvalidType (a TypeError) for operands that are neither arrays nor dtypes.
    """
    strong: Optional[DType] = None
    weak = []
    for operand in operands:
        if is_weak(operand):
            weak.append(operand)
            continue
        own = operand.dtype if isinstance(operand, Var) else operand if isinstance(operand, DType) else None
        if own is None:
            own = dtype_of(operand) if isinstance(operand, (str, type)) or hasattr(operand, "itemsize") and not hasattr(operand, "shape") else asarray(operand).dtype
        strong = own if strong is None else promote(strong, own)
    if strong is None:
        if not weak:
            raise InvalidArgument("at least one array or dtype is required")
        strong = _natural(weak[0])
        for value in weak[1:]:
            strong = promote(strong, _natural(value))
        return strong
    for value in weak:
        strong = _weak_dtype(value, strong)
    return strong


# ---- Arrays from anything

def _has_complex(object: Any) -> bool:
    if isinstance(object, (list, tuple)):
        return any(_has_complex(item) for item in object)
    return isinstance(object, complex) or isinstance(object, Var) and object.dtype.kind == "c" or getattr(getattr(object, "dtype", None), "kind", "") == "c"


def _parts(object: Any, part: str) -> Any:
    if isinstance(object, (list, tuple)):
        return [_parts(item, part) for item in object]
    if isinstance(object, (int, float, complex)):
        return float(getattr(object, part))
    return asarray(object).astype("float64") if part == "real" and asarray(object).dtype.kind != "c" else native.unary(part, astype(asarray(object), complex128)).tolist()


def check_order(order: Optional[str]) -> None:
    """Elements lie row by row, which NumPy's C, A and K allow."""
    if order not in ("C", "A", "K", None):
        raise InvalidArgument(f"elements lie row by row, in the order C; {order!r} is not there")


def check_device(device: Optional[str]) -> None:
    """Arrays live in the memory of the CPU."""
    if device is not None and device != "cpu":
        raise InvalidArgument(f"arrays are made on the device \"cpu\", not on {device!r}")


def asarray(object: ArrayLike, dtype: DTypeLike = None, order: Optional[str] = None, *, device: Optional[str] = None, copy: Any = None) -> Var:
    """Return the object itself if it is a Var (of that dtype), else an array of its elements. copy: see Var().

    Raises InvalidType (a TypeError) for objects that are no arrays; InvalidArgument (a ValueError) for rows of different lengths, a device other
    than "cpu", and copy=False if a copy is needed; OverflowError for numbers outside the range of the dtype.
    """
    if order is not None:
        check_order(order)
    if device is not None:
        check_device(device)
    if copy is not None and not copy:
        shared = Var(object, copy=False)
        if dtype is not None and shared.dtype != dtype_of(dtype):
            raise InvalidArgument(f"a {shared.dtype} cannot become {dtype_of(dtype)} without a copy")
        return shared
    if copy is not None:
        return Var(object if dtype is None else asarray(object, dtype), copy=copy)
    if type(object) is Var:
        return object if dtype is None else astype(object, dtype_of(dtype))
    if isinstance(object, (list, tuple, complex)) and _has_complex(object):
        made = native.make_complex(Var(_parts(object, "real")), Var(_parts(object, "imag")))
    elif isinstance(object, range):
        made = Var(list(object), "int64")
    elif dtype is not None:
        wanted = dtype_of(dtype)
        if wanted.kind == "c" or wanted.kind in "iu" and not is_weak(object) and not isinstance(object, (list, tuple)):
            return astype(_minnow.asarray(object), wanted)
        return _checked(object, wanted)
    else:
        made = _minnow.asarray(object)
    return made if dtype is None else astype(made, dtype_of(dtype))


def is_foreign(object: Any) -> bool:
    """Whether asarray() shares the memory of something that is no Var, which may be filled anew before an expression of it is computed."""
    return not isinstance(object, (Var, int, float, complex, list, tuple, range, str, type(None)))


def held(object: ArrayLike, dtype: DTypeLike = None) -> Var:
    """Return asarray() for use in an expression: a copy of memory that belongs to others."""
    return asarray(Var(object, copy=True) if is_foreign(object) else object, dtype)


def settled(result: Var, *given: ArrayLike) -> Var:
    """The expression, computed at once where it takes the memory of others and depends on no placeholder."""
    return computed(result) if any(map(is_foreign, given)) and not is_symbolic(result) else result


def beside(objects: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
    """Copy arrays of other owners if an object depends on a placeholder, because the result is computed later."""
    if any(type(x) is not Var and is_foreign(x) for x in objects) and any(type(x) is Var and is_symbolic(x) for x in objects):
        return [held(x) if is_foreign(x) else x for x in objects]
    return objects


def _checked(object: Any, dtype: DType) -> Var:
    try:
        return _minnow.asarray(object, dtype)
    except _minnow.InvalidArgument as error:
        if "does not fit" in str(error):
            raise OverflowError(str(error)) from None
        raise


def computed(x: Var) -> Var:
    return x.evaluate()


def is_symbolic(x: Var) -> bool:
    """True if x depends on a placeholder, a state or a parameter; expressions of x then hold for later values, and have gradients."""
    return native.is_symbolic(x)  # type: ignore[no-any-return]


def is_traced(x: Var) -> bool:
    """True in a function that is differentiated by something that x depends on: the expression of x is kept, even if another way is faster."""
    return _minnow.is_traced(x)  # type: ignore[no-any-return]


def with_gradient(function: Any, gradient: Any, *operands: Var) -> Any:
    """function(*operands), which computes at once. Where that is differentiated, gradient(result, gradient of the result, *operands) gives the
    gradients of the operands. A function with several results, a tuple, has a tuple of gradients, None where nothing depends on one."""
    if not any(map(is_traced, operands)):
        return function(*operands)
    if any(x.dtype.kind == "c" for x in operands):
        raise _minnow.Unsupported("factorizations of complex matrices have no gradient; minnow.stop_gradient() of the argument makes it a constant")
    from minnow._autograd import custom_gradient

    def both(*values: Var) -> tuple[Any, Any]:
        result = function(*values)

        def back(*g: Var) -> Any:
            again = with_gradient(function, gradient, *values) if any(map(is_traced, values)) else result  # for second derivatives
            return gradient(again, g if isinstance(result, tuple) else g[0], *values)
        return result, back
    return custom_gradient(both)(*operands)


def is_open(x: Var) -> bool:
    """Whether x depends on a placeholder, and its shape on the value that one is given. It is taken to have elements."""
    return x.known_shape is None and is_symbolic(x)


#: The most elements of an array, and the most parts that one may be split into: counts beyond take for ever or no memory holds them.
MOST, MOST_PARTS = 1 << 62, 1 << 24

#: Below this number of elements a plan is not worth it: functions of computed values are computed at once.
FEW = 4096

#: True if functions of x may be computed at once: x depends on no placeholder, state or parameter, and is computed. An expression of few elements
#: is computed to find out.
at_hand: Callable[[Var], bool] = native.at_hand


def astype(x: Var, dtype: DType) -> Var:
    """x as another dtype; x itself where it is of that dtype."""
    if x.dtype is dtype or x.dtype == dtype:
        return x
    if dtype.kind == "c" or x.dtype.kind == "c":
        return native.cast(x, dtype)
    return x.astype(dtype)


def pair(a: ArrayLike, b: ArrayLike) -> tuple[Var, Var]:
    """Two operands of one dtype, as NumPy 2 promotes them."""
    if type(a) is Var and type(b) is Var and a.dtype is b.dtype:
        return a, b
    a, b = beside((a, b))
    if is_weak(a) and is_weak(b):
        common = result_type(a, b)
        return asarray(a, common), asarray(b, common)
    if is_weak(a):
        second = asarray(b)
        common = _weak_dtype(a, second.dtype)
        return asarray(a, common), astype(second, common)
    if is_weak(b):
        first = asarray(a)
        common = _weak_dtype(b, first.dtype)
        return astype(first, common), asarray(b, common)
    first, second = asarray(a), asarray(b)
    common = promote(first.dtype, second.dtype)
    return astype(first, common), astype(second, common)


# ---- Axes

def axis_of(axis: Any, ndim: int) -> int:
    """Return an axis counted from 0; AxisError if it does not exist."""
    place = index_of(axis)
    if not -ndim <= place < ndim:
        raise AxisError(f"axis {place} is out of bounds for array of dimension {ndim}")
    return place + ndim if place < 0 else place


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Axes in rising order; None means all."""
    if axis is None:
        return tuple(range(ndim))
    if is_index(axis) or not hasattr(axis, "__iter__"):
        return (axis_of(axis, ndim),)
    places = [axis_of(a, ndim) for a in axis]  # type: ignore[union-attr]
    if len(set(places)) != len(places):
        raise InvalidArgument("duplicate value in 'axis'")
    return tuple(sorted(places))


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """axes_of() for functions that take axis 0 and -1 of an array without axes."""
    return () if ndim == 0 and (axis == 0 or axis == -1) else axes_of(axis, ndim)


def numbers_of(shape: Any) -> list[int]:
    """Return one integer, or several, as a list of ints; TypeError for other objects."""
    return [index_of(dim) for dim in shape] if hasattr(shape, "__iter__") and not is_index(shape) else [index_of(shape)]


def dims_of(shape: Shape) -> list[int]:
    """A shape as a list of ints; ValueError for a negative one."""
    if isinstance(shape, Var) and shape.ndim:
        shape = shape.tolist()
    dims = numbers_of(shape)
    if any(dim < 0 for dim in dims):
        raise InvalidArgument("negative dimensions are not allowed")
    return dims


def size_of(dims: Sequence[int]) -> int:
    size = 1
    for dim in dims:
        size *= dim
    return size


def broadcast_dims(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together; ValueError if they do not fit."""
    ndim = max((len(shape) for shape in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, dim in enumerate(shape):
            at = ndim - len(shape) + i
            if dim != 1 and result[at] not in (1, dim):
                raise InvalidArgument("shape mismatch: objects cannot be broadcast to a single shape: " + ", ".join(str(tuple(s)) for s in shapes))
            if dim != 1:
                result[at] = dim
    return tuple(result)


# ---- Moving elements: the engine's operators, and for complex elements functions of our own

def ints(values: Sequence[int]) -> Var:
    return Var(list(values), "int64")


def reshape_to(x: Var, dims: Sequence[int]) -> Var:
    if at_hand(x) or x.dtype.kind == "c":
        return native.reshaped(x, list(dims))
    return op("Reshape", (x, ints(dims)), {"allowzero": 1})


def flat(x: Var) -> Var:
    """All elements in one dimension."""
    return reshape_to(x, [-1] if is_open(x) else [x.size])


def row_strides(dims: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for dim in reversed(dims):
        strides.append(step)
        step *= dim
    return strides[::-1]


def permute(x: Var, order: Sequence[int]) -> Var:
    """Axes in another order."""
    order = list(order)
    if order == list(range(len(order))):
        return x
    if x.dtype.kind == "c":
        strides = row_strides(x.shape)
        return native.strided(x, 0, [x.shape[i] for i in order], [strides[i] for i in order])
    return op("Transpose", (x,), {"perm": order})


def expand_to(x: Var, dims: Sequence[int]) -> Var:
    """x repeated along axes of length 1 and new leading ones; ValueError if it does not fit."""
    dims = tuple(dims)
    if x.shape == dims:
        return x
    if broadcast_dims(x.shape, dims) != dims:
        raise InvalidArgument(f"operands could not be broadcast together with remapped shapes [original->remapped]: {x.shape} and requested shape {dims}")
    if x.dtype.kind == "c" or 0 in dims or size_of(dims) <= FEW and at_hand(x):
        own = row_strides(x.shape)
        lead = len(dims) - x.ndim
        return native.strided(x, 0, list(dims), [0] * lead + [0 if dim == 1 else step for dim, step in zip(x.shape, own)])
    return op("Expand", (x, ints(dims)))


def join(parts: Sequence[Var], axis: int) -> Var:
    """Arrays of one dtype one after the other."""
    if len(parts) == 1:
        return parts[0].clone()
    if parts[0].dtype.kind == "c" or any(0 in part.shape for part in parts) or sum(part.size for part in parts) <= FEW and all(map(at_hand, parts)):
        return native.concatenate(list(parts), axis)
    return op("Concat", list(parts), {"axis": axis})


def choose(condition: Var, a: Var, b: Var) -> Var:
    """a where the bool is true, else b, broadcast together; a and b are of one dtype."""
    if a.dtype.kind == "c":
        return native.select(condition, a, b)
    try:
        return op("Where", (condition, a, b))
    except _minnow.InvalidModel:
        broadcast_dims(condition.shape, a.shape, b.shape)  # says how the shapes do not fit
        raise


def zeros_of(dims: Sequence[int], dtype: DType) -> Var:
    size = size_of(dims)
    if size <= FEW:
        return native.filled(0, list(dims), dtype)  # type: ignore[no-any-return]
    try:
        memory = bytes(size * dtype.itemsize)
    except (MemoryError, OverflowError):
        raise OutOfMemory(f"an array of {dtype} and shape {tuple(dims)} takes more memory than there is") from None
    return _minnow.from_buffer(memory, dtype, list(dims))


def filled(dims: Sequence[int], value: Var) -> Var:
    """An array of one value."""
    if not at_hand(value):
        return expand_to(value, dims).clone()
    if size_of(dims) * value.itemsize > 1 << 46:
        raise OutOfMemory(f"an array of {value.dtype} and shape {tuple(dims)} takes more memory than there is")
    return native.filled(value, list(dims))  # type: ignore[no-any-return]


def full_of(dims: Sequence[int], value: Any, dtype: DType) -> Var:
    if type(value) in (int, bool) and 0 <= value <= 1 and size_of(dims) <= FEW:
        return native.filled(value, list(dims), dtype)  # type: ignore[no-any-return]
    return filled(dims, asarray(value, dtype))


def is_true(x: Var) -> Var:
    """Convert to bool: True for elements that are not zero."""
    return astype(x, bool_)


def last(x: Var, axis: int) -> Var:
    """The axis moved to the end."""
    if axis == x.ndim - 1:
        return x
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    return permute(x, order)


def back(x: Var, axis: int) -> Var:
    """The last axis moved to a place."""
    if axis == x.ndim - 1:
        return x
    order = list(range(x.ndim - 1))
    order.insert(axis, x.ndim - 1)
    return permute(x, order)


# ---- out=

_CASTS = {"b": "buifc", "u": "uifc", "i": "ifc", "f": "fc", "c": "c"}


def can_store(from_: DType, to: DType) -> bool:
    """NumPy's rule "same_kind"."""
    return to.kind in _CASTS.get(from_.kind, "")


def _deliver_to_numpy(result: Var, out: Any) -> Any:
    if type(out).__module__ != "numpy" or not hasattr(out, "flags"):
        raise InvalidType("return arrays must be of ArrayType")
    import numpy
    numpy.copyto(out, result.numpy(), casting="same_kind")
    return out


def deliver(result: Var, out: Any, what: str = "the function") -> Var:
    """Puts a result into `out` if that is given; the array that holds it."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise InvalidArgument("The 'out' tuple must have exactly one entry per ufunc output")
        out = out[0]
    if out is None:
        return result
    if not isinstance(out, Var):
        return _deliver_to_numpy(result, out)
    if not can_store(result.dtype, out.dtype):
        raise InvalidType(f"Cannot cast {what} output from dtype('{result.dtype}') to dtype('{out.dtype}') with casting rule 'same_kind'")
    if broadcast_dims(result.shape, out.shape) != out.shape:
        raise InvalidArgument(f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {result.shape}")
    out.assign(astype(expand_to(result, out.shape), out.dtype))
    return out
