# SPDX-License-Identifier: Apache-2.0
"""Properties of dtypes."""
from __future__ import annotations

from typing import Any, Optional

from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._minnow import dtype as DType

from minnow.numpy._core import DTypeLike, asarray, bool_, can_store, check_device, dtype_of, float32, float64, is_foreign, is_weak, promote, maker, public, result_type

_FLOATS = {"float16": (10, 5, -14), "bfloat16": (7, 8, -126), "float32": (23, 8, -126), "float64": (52, 11, -1022)}


@public
class finfo:
    """Limits of a floating dtype: bits, eps, epsneg, max, min, tiny, smallest_normal, smallest_subnormal, precision, resolution, nmant, nexp."""

    def __init__(self, dtype: DTypeLike) -> None:
        own = dtype_of(dtype) if not isinstance(dtype, Var) and not isinstance(dtype, float) else result_type(dtype)
        name = {"complex64": "float32", "complex128": "float64"}.get(own.name, own.name)
        if name not in _FLOATS:
            raise InvalidArgument(f"data type {own.name!r} not inexact")
        self.dtype = dtype_of(name)
        self.nmant, self.nexp, self.minexp = _FLOATS[name]
        self.bits = 8 * self.dtype.itemsize
        self.maxexp = 1 - self.minexp + 1
        self.eps, self.epsneg = 2.0 ** -self.nmant, 2.0 ** (-self.nmant - 1)
        self.max = (2.0 - self.eps) * 2.0 ** (self.maxexp - 1)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** self.minexp
        self.smallest_subnormal = 2.0 ** (self.minexp - self.nmant)
        self.precision = int((self.nmant) * 0.30102999566398119521)
        self.resolution = 10.0 ** -self.precision

    def __repr__(self) -> str:
        return f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, dtype={self.dtype})"


@public
class iinfo:
    """Limits of an integer dtype: bits, min, max."""

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype = result_type(dtype) if is_weak(dtype) else dtype.dtype if isinstance(dtype, Var) else dtype_of(dtype)
        if self.dtype.kind not in "iu":
            raise InvalidArgument(f"Invalid integer data type {self.dtype.kind!r}.")
        self.kind = self.dtype.kind
        self.bits = 8 * self.dtype.itemsize
        self.min = 0 if self.kind == "u" else -(1 << self.bits - 1)
        self.max = (1 << self.bits) - 1 if self.kind == "u" else (1 << self.bits - 1) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


REASONS = ("no", "equiv", "safe", "same_kind", "unsafe")


@public
def can_cast(from_: DTypeLike, to: DTypeLike, casting: str = "safe") -> bool:
    """Whether one dtype may become another: "safe" keeps values, "same_kind" the kind."""
    if is_weak(from_):
        raise InvalidType("can_cast() does not support Python ints, floats, and complex because the result used to depend on the value.")
    if casting not in REASONS:
        raise InvalidArgument(f"casting must be one of {', '.join(REASONS)} (got {casting!r})")
    a, b = from_.dtype if isinstance(from_, Var) else dtype_of(from_), dtype_of(to)
    if a == b or casting == "unsafe":
        return True
    if casting in ("no", "equiv"):
        return False
    return can_store(a, b) if casting == "same_kind" else promote(a, b) == b


@public
def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType:
    """The smallest dtype that holds the values of both."""
    return promote(dtype_of(type1), dtype_of(type2))


@public
def min_scalar_type(a: Any) -> DType:
    """The smallest dtype that holds a number; of an array its own."""
    x = asarray(a)
    if x.ndim:
        return x.dtype
    value = x.item()
    if x.dtype.kind == "b":
        return bool_
    if x.dtype.kind in "iu":
        names = [f"uint{bits}" for bits in (8, 16, 32, 64)] if value >= 0 else [f"int{bits}" for bits in (8, 16, 32, 64)]
        return next(d for d in map(dtype_of, names) if iinfo(d).min <= value <= iinfo(d).max)
    if x.dtype.kind == "f":
        for name in ("float16", "float32"):
            limit = 65000.0 if name == "float16" else 3.4e38
            if value != value or value in (float("inf"), float("-inf")) or -limit < value < limit:
                return dtype_of(name)
        return float64
    return dtype_of("complex64")


_KINDS = {"bool": "b", "integer": "iu", "signedinteger": "i", "unsignedinteger": "u", "floating": "f", "complexfloating": "c", "inexact": "fc", "number": "iufc", "generic": "biufc"}


class _Kind(type):
    """An abstract kind of numbers, for issubdtype(); isinstance(): whether a Var is one number of the kind."""

    kinds: str

    def __new__(cls, name: str) -> _Kind:
        made = super().__new__(cls, name, (), {"kinds": _KINDS[name], "__module__": "minnow.numpy", "__doc__": f"Numbers of the kind {name}."})
        return made

    def __init__(self, name: str) -> None:
        super().__init__(name, (), {})

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise InvalidType(f"minnow.numpy.{self.__name__} is a kind of numbers; arrays are made by array() and by dtypes")

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Var) and value.ndim == 0 and value.dtype.kind in self.kinds

    def __repr__(self) -> str:
        return f"minnow.numpy.{self.__name__}"


integer, signedinteger, unsignedinteger, floating, complexfloating, inexact, number, generic = (
    _Kind(name) for name in ("integer", "signedinteger", "unsignedinteger", "floating", "complexfloating", "inexact", "number", "generic"))


@public
def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is one of a kind (integer, floating, ...), or another's equal."""
    if isinstance(arg1, _Kind):
        return isinstance(arg2, _Kind) and set(arg1.kinds) <= set(arg2.kinds)
    own = dtype_of(arg1)
    if isinstance(arg2, _Kind):
        return own.kind in arg2.kinds
    return own == dtype_of(arg2)


#: Kinds of dtypes in the array API standard, as letters of dtype.kind.
KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f", "complex floating": "c", "numeric": "iufc"}


@public
def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Whether a dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"."""
    own = dtype_of(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str):
            if one not in KINDS:
                raise InvalidArgument(f"kind argument is a string, but {one!r} is not a known kind name.")
            if own.kind in KINDS[one]:
                return True
        elif own == dtype_of(one):
            return True
    return False


@public
def astype(x: Var, dtype: DTypeLike, /, *, copy: bool = True, device: Optional[str] = None) -> Var:
    """An array as another dtype; with copy=False itself where it is of that dtype."""
    if not isinstance(x, Var):
        if not is_foreign(x):
            raise InvalidType(f"Input should be an array. It is of type {type(x)}.")
        x = asarray(x)
    check_device(device)
    return x.astype(dtype_of(dtype), copy=copy)


@maker
def from_dlpack(x: Any, /, *, device: Optional[str] = None, copy: Optional[bool] = None) -> Var:
    """Return an array that shares the memory of an object with __dlpack__ on the CPU; a copy if it is not row-major, or if copy is True.

    Raises AttributeError if it has no __dlpack__, and BufferError if copy is False and a copy is needed.
    """
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(f"{type(x).__name__!r} object has no attribute '__dlpack__'")
    check_device(device)
    if copy is not False:
        return Var(x, copy=copy)
    try:
        return Var(x, copy=False)
    except InvalidArgument as error:
        raise BufferError(str(error)) from None


@public
def iterable(y: Any) -> bool:
    """Whether iter() takes it."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


@public
def isscalar(element: Any) -> bool:
    """Whether it is a number (not an array of one)."""
    return isinstance(element, (int, float, complex, str, bytes))


@public
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return asarray(x).dtype.kind == "c"


@public
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@public
def isfortran(a: Any) -> bool:
    """Always False: arrays are row-major."""
    return False


@public
def common_type(*arrays: Any) -> DType:
    """The floating dtype that arrays have together; float64 for integers."""
    kinds = [asarray(a).dtype for a in arrays]
    if any(d.kind == "b" for d in kinds):
        raise InvalidType("can't get common type for non-numeric array")
    result = None
    for d in kinds:
        one = float64 if d.kind in "iu" else d
        result = one if result is None else promote(result, one)
    return result if result is not None else float32
