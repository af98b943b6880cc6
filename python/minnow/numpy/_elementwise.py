# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions (NumPy's ufuncs). Functions with an operator return an expression, computed when it is read; others compute at once."""
from __future__ import annotations

from typing import Any, Callable, Optional

from minnow import _minnow
from minnow._functions import method_of_arrays, methods_of_arrays
from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, Var, op
from minnow._minnow import dtype as DType

from minnow.numpy import _expressions, _open
from minnow.numpy._core import (REGISTRY, ArrayLike, Axis, DTypeLike, asarray, held, beside, settled, computed, is_foreign, astype, axes_of, axis_of, bool_, broadcast_dims, choose, complex64, complex128, deliver, dims_of, flat_everywhere,
                                dtype_of, expand_to, float16, float32, float64, full_of, int8, int16, int32, int64, is_open, is_symbolic, is_true, is_weak, native, pair, promote, public, reshape_to,
                                result_type, uint8, uint64, zeros_of)

_FLOATS = {"bool": float16, "int8": float16, "uint8": float16, "int16": float32, "uint16": float32}


def floating(x: Var) -> Var:
    """x in the floating dtype in which NumPy computes functions of it."""
    return x if x.dtype.kind in "fc" else astype(x, _FLOATS.get(x.dtype.name, float64))


@methods_of_arrays
class ufunc:
    """An elementwise function with NumPy's keywords.

    Operands are array-likes, which are broadcast together. Returns a Var, or an array of NumPy if operands are arrays of NumPy and none is a Var.
    out: a Var for the result. where: compute only there; elsewhere out keeps its elements (without out they are 0). dtype: that of the computation.
    Errors: TypeError for dtypes without a definition, ValueError for shapes that do not fit.
    """

    def __init__(self, name: str, nin: int, compute: Callable[..., Var], doc: str, identity: Any = None) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "minnow.numpy"
        self.nin, self.nout, self.identity = nin, 1, identity
        self._compute = compute
        self.__doc__ = doc

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    @property
    def nargs(self) -> int:
        return self.nin + self.nout

    @method_of_arrays
    def __call__(self, *args: ArrayLike, out: Any = None, where: ArrayLike = True, dtype: DTypeLike = None, casting: str = "same_kind") -> Var:
        if len(args) != self.nin:
            if len(args) != self.nin + 1:
                raise InvalidType(f"{self.__name__}() takes from {self.nin} to {self.nin + 1} positional arguments but {len(args)} were given")
            args, out = args[:-1], args[-1]
        if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
            raise InvalidArgument(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got {casting!r})")
        if dtype is not None:
            wanted = dtype_of(dtype)
            args = tuple(_cast_input(self.__name__, arg, wanted) for arg in args)
        result = self._compute(*args)
        for arg in args:
            if type(arg) is not Var and is_foreign(arg):  # their owner may fill them anew
                same = self.nin == 1 and (result.dtype.kind in "biu" or self.__name__ in ("positive", "conjugate"))  # may be the array itself
                result = self._compute(*map(held, args)) if same or is_symbolic(result) else computed(result)
                break
        if where is True:
            return result if out is None else deliver(result, out, f"ufunc '{self.__name__}'")
        mask = asarray(where)
        if mask.dtype.kind != "b":
            raise InvalidType(f"Cannot cast array data from dtype('{mask.dtype}') to dtype('bool') according to the rule 'safe'")
        dims = broadcast_dims(result.shape, mask.shape)
        target = out[0] if isinstance(out, tuple) else out
        if target is None:
            return choose(mask, expand_to(result, dims), zeros_of(dims, result.dtype))
        return deliver(choose(mask, expand_to(result, dims), _like(target, dims, result.dtype)), target, f"ufunc '{self.__name__}'")

    # Binary functions along axes.

    def _binary(self, what: str) -> None:
        if self.nin != 2:
            raise InvalidArgument(f"{what} only supported for binary functions")

    def reduce(self, array: ArrayLike, axis: Axis = 0, dtype: DTypeLike = None, out: Any = None, keepdims: bool = False, initial: Any = None,
               where: ArrayLike = True) -> Var:
        """The function applied along axes: add.reduce is sum. axis None: all."""
        self._binary("reduce")
        from minnow.numpy import _reductions
        known = {"add": _reductions.sum, "multiply": _reductions.prod, "maximum": _reductions.max, "minimum": _reductions.min}.get(self.__name__)
        x = asarray(array)
        if self.__name__ in ("logical_and", "logical_or") and initial is None and where is True:
            return (_reductions.all if self.__name__ == "logical_and" else _reductions.any)(x, axis, out, keepdims)
        if known is not None:
            options: dict[str, Any] = {} if known in (_reductions.max, _reductions.min) else {"dtype": dtype}
            if initial is not None:
                options["initial"] = initial
            return known(x, axis, out=out, keepdims=keepdims, where=where, **options)
        axes = axes_of(axis, x.ndim)
        if dtype is not None:
            x = astype(x, dtype_of(dtype))
        if where is not True:
            if self.identity is None and initial is None:
                raise InvalidArgument(f"reduction operation '{self.__name__}' does not have an identity, so to use a where mask one has to specify 'initial'")
            x = choose(asarray(where), x, full_of((), self.identity if initial is None else initial, x.dtype))
        kept = x.shape
        for place in reversed(axes):
            x = self._fold(x, place, initial)
            initial = None
        if keepdims:
            x = reshape_to(x, [1 if i in axes else dim for i, dim in enumerate(kept)])
        return deliver(x, out)

    def _fold(self, x: Var, axis: int, initial: Any) -> Var:
        from minnow.numpy._shape import take_at
        length = x.shape[axis]
        if length == 0:
            if initial is None and self.identity is None:
                raise InvalidArgument(f"zero-size array to reduction operation {self.__name__} which has no identity")
            dims = [dim for i, dim in enumerate(x.shape) if i != axis]
            return full_of(dims, self.identity if initial is None else initial, x.dtype)
        result = take_at(x, axis, 0)
        if initial is not None:
            result = self._compute(initial, result)
        for i in range(1, length):
            result = self._compute(result, take_at(x, axis, i))
        return result

    def accumulate(self, array: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Any = None) -> Var:
        """The results so far along an axis: add.accumulate is cumsum."""
        self._binary("accumulate")
        x = asarray(array)
        if x.ndim == 0:
            raise InvalidType("cannot accumulate on a scalar")
        place = axis_of(axis, x.ndim)
        if self.__name__ in ("add", "multiply"):
            from minnow.numpy import _reductions
            return (_reductions.cumsum if self.__name__ == "add" else _reductions.cumprod)(x, place, dtype, out)
        if dtype is not None:
            x = astype(x, dtype_of(dtype))
        if self.__name__ in ("maximum", "minimum"):
            return deliver(native.accumulate(self.__name__, x, place), out)
        from minnow.numpy._shape import stack, take_at
        if x.shape[place] == 0:
            return deliver(x, out)
        if self.__name__.startswith("logical_"):
            x = is_true(x)
        parts = [take_at(x, place, 0)]
        for i in range(1, x.shape[place]):
            parts.append(self._compute(parts[-1], take_at(x, place, i)))
        return deliver(stack(parts, place), out)

    def outer(self, a: ArrayLike, b: ArrayLike, **options: Any) -> Var:
        """The function of every pair of elements; shape a.shape + b.shape."""
        self._binary("outer product")
        x, y = held(a), held(b)
        return self(reshape_to(x, [*x.shape, *([1] * y.ndim)]) if y.ndim else a, y if is_weak(b) is False else b, **options)

    def reduceat(self, array: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Any = None) -> Var:
        """reduce() of the slices that begin at the indices."""
        self._binary("reduceat")
        from minnow.numpy._shape import stack
        x, places = asarray(array), asarray(indices).tolist()
        place = axis_of(axis, x.ndim)
        length = x.shape[place]
        parts = []
        for i, start in enumerate(places):
            if not 0 <= start < length:
                raise InvalidIndex(f"index {start} out-of-bounds in {self.__name__}.reduceat [0, {length})")
            stop = places[i + 1] if i + 1 < len(places) else length
            piece = x[(slice(None),) * place + (slice(start, stop if stop > start else start + 1),)]
            parts.append(self.reduce(piece, place, dtype))
        return deliver(stack(parts, place), out)

    def at(self, array: Var, indices: Any, b: ArrayLike = None) -> None:
        """Applies the function to the elements at the indices, again for an index that comes again, in place."""
        from minnow.numpy import _indexing
        if not isinstance(array, Var):
            raise InvalidType("first operand must be array")
        if self.nin == 2 and b is None:
            raise InvalidArgument("second operand needed for ufunc")
        if self.nin == 1:
            array[indices] = self(array[indices])
            return
        places, shape = _indexing.places_of(array, indices)
        values = reshape_to(expand_to(asarray(b), shape), [places.size])
        if self.__name__ in ("add", "subtract"):
            values = astype(values, array.dtype)
            if self.__name__ == "subtract":
                values = negative(values)
            array.assign(reshape_to(native.scatter(reshape_to(array, [array.size]), places, values, True), array.shape))
            return
        elements = {}
        flat = reshape_to(array, [array.size])
        for k, at in enumerate(places.tolist()):
            elements[at] = self._compute(elements[at] if at in elements else flat[at], values[k])
        for at, value in elements.items():
            flat = native.scatter(flat, Var([at], "int64"), astype(reshape_to(value, [1]), array.dtype), False)
        array.assign(reshape_to(flat, array.shape))


def _like(target: ArrayLike, dims: Any, dtype: DType) -> Var:
    return astype(expand_to(asarray(target), dims), dtype)


def _cast_input(name: str, value: ArrayLike, dtype: DType) -> Var:
    x = asarray(value)
    if not is_weak(value) and "buifc".index(x.dtype.kind if x.dtype.kind != "u" else "u") > "buifc".index(dtype.kind):
        raise InvalidType(f"Cannot cast ufunc '{name}' input from dtype('{x.dtype}') to dtype('{dtype}') with casting rule 'same_kind'")
    return astype(x, dtype)


def define(name: str, nin: int, compute: Callable[..., Var], doc: str, identity: Any = None) -> ufunc:
    made = ufunc(name, nin, compute, doc, identity)
    REGISTRY[name] = made
    return made


def _unsupported(name: str, *dtypes: DType) -> InvalidType:
    return InvalidType(f"ufunc '{name}' not supported for the input types {', '.join(map(str, dtypes))}")


# ---- One argument

def _real(name: str, operator: Optional[str] = None, complex: bool = True) -> Callable[[ArrayLike], Var]:
    """A function of floating elements: the engine's operator in f32 (and where placeholders need it), else one computed in double."""

    def compute(a: ArrayLike) -> Var:
        x = floating(asarray(a))
        if x.dtype.kind == "c":
            if not complex:
                raise _unsupported(name, x.dtype)
            return native.unary(name, x)
        if operator is not None and (x.dtype is float32 or x.dtype is float64):
            return op(operator, (x,))
        return _expressions.unary(name, x, operator) if is_symbolic(x) else native.unary(name, x)

    return compute


_doc = "{} of each element; integers are computed as floats. y = {}(x)."
sqrt = define("sqrt", 1, _real("sqrt", "Sqrt"), _doc.format("The square root", "sqrt"))
exp = define("exp", 1, _real("exp", "Exp"), _doc.format("e to the power", "exp"))
log = define("log", 1, _real("log", "Log"), _doc.format("The natural logarithm", "log"))
sin = define("sin", 1, _real("sin", "Sin"), _doc.format("The sine", "sin"))
cos = define("cos", 1, _real("cos", "Cos"), _doc.format("The cosine", "cos"))
tan = define("tan", 1, _real("tan"), _doc.format("The tangent", "tan"))
arcsin = define("arcsin", 1, _real("arcsin"), _doc.format("The angle of that sine", "arcsin"))
arccos = define("arccos", 1, _real("arccos"), _doc.format("The angle of that cosine", "arccos"))
arctan = define("arctan", 1, _real("arctan"), _doc.format("The angle of that tangent", "arctan"))
sinh = define("sinh", 1, _real("sinh"), _doc.format("The hyperbolic sine", "sinh"))
cosh = define("cosh", 1, _real("cosh"), _doc.format("The hyperbolic cosine", "cosh"))
tanh = define("tanh", 1, _real("tanh", "Tanh"), _doc.format("The hyperbolic tangent", "tanh"))
arcsinh = define("arcsinh", 1, _real("arcsinh"), _doc.format("The inverse hyperbolic sine", "arcsinh"))
arccosh = define("arccosh", 1, _real("arccosh"), _doc.format("The inverse hyperbolic cosine", "arccosh"))
arctanh = define("arctanh", 1, _real("arctanh"), _doc.format("The inverse hyperbolic tangent", "arctanh"))
log1p = define("log1p", 1, _real("log1p"), _doc.format("ln(1 + x)", "log1p"))
expm1 = define("expm1", 1, _real("expm1"), _doc.format("e^x - 1", "expm1"))
log2 = define("log2", 1, _real("log2"), _doc.format("The logarithm to base 2", "log2"))
log10 = define("log10", 1, _real("log10"), _doc.format("The logarithm to base 10", "log10"))
exp2 = define("exp2", 1, _real("exp2"), _doc.format("2 to the power", "exp2"))
cbrt = define("cbrt", 1, _real("cbrt", complex=False), _doc.format("The cube root", "cbrt"))
deg2rad = define("deg2rad", 1, _real("deg2rad", complex=False), _doc.format("Degrees to radians", "deg2rad"))
rad2deg = define("rad2deg", 1, _real("rad2deg", complex=False), _doc.format("Radians to degrees", "rad2deg"))
radians = define("radians", 1, _real("deg2rad", complex=False), _doc.format("Degrees to radians", "radians"))
degrees = define("degrees", 1, _real("rad2deg", complex=False), _doc.format("Radians to degrees", "degrees"))
fabs = define("fabs", 1, _real("absolute", "Abs", complex=False), _doc.format("The magnitude", "fabs"))


def _rounding(name: str, operator: Optional[str], complex: bool = False) -> Callable[[ArrayLike], Var]:
    def compute(a: ArrayLike) -> Var:
        x = asarray(a)
        if x.dtype.kind in "biu":  # are whole already
            if name == "rint":
                return _real(name)(x)
            return x
        if x.dtype.kind == "c" and not complex:
            raise _unsupported(name, x.dtype)
        if operator is not None and x.dtype == float32:
            return op(operator, (x,))
        return _expressions.unary(name, x) if is_symbolic(x) else native.unary(name, x)

    return compute


floor = define("floor", 1, _rounding("floor", "Floor"), "The largest whole number not above each element.")
ceil = define("ceil", 1, _rounding("ceil", "Ceil"), "The smallest whole number not below each element.")
trunc = define("trunc", 1, _rounding("trunc", None), "Each element cut toward zero.")
rint = define("rint", 1, _rounding("rint", "Round", complex=True), "The nearest whole number of each element, of two the even one.")


def _number(name: str, operator: Optional[str] = None, booleans: bool = False) -> Callable[[ArrayLike], Var]:
    """A function that keeps the dtype."""

    def compute(a: ArrayLike) -> Var:
        x = asarray(a)
        if x.dtype.kind == "b" and not booleans:
            raise _unsupported(name, x.dtype)
        if operator is not None and x.dtype == float32:
            return op(operator, (x,))
        return _expressions.unary(name, x) if is_symbolic(x) else native.unary(name, x)

    return compute


def _negative(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind == "b":
        raise InvalidType("The numpy boolean negative, the `-` operator, is not supported, use the `~` operator or the logical_not function instead.")
    return native.unary("negative", x) if x.dtype.kind == "c" else -x


def _positive(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind == "b":
        raise _unsupported("positive", x.dtype)
    return op("Identity", (x,)) if is_symbolic(x) else x.clone()


def _absolute(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind in "bu":
        return x.clone()
    return op("Abs", (x,)) if x.dtype.kind == "i" or x.dtype in (float32, float64) or is_symbolic(x) else native.unary("absolute", x)


def _square(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind == "b":
        return astype(x, int8)
    return native.unary("square", x) if x.dtype.kind == "c" else x * x


def _reciprocal(a: ArrayLike) -> Var:
    x = asarray(a)
    if is_symbolic(x):
        return _expressions.unary("reciprocal", x)
    return native.unary("reciprocal", astype(x, int8) if x.dtype.kind == "b" else x)


absolute = define("absolute", 1, _absolute, "The magnitude of each element; of complex numbers a real one.")
negative = define("negative", 1, _negative, "-x.")
positive = define("positive", 1, _positive, "+x, a copy.")
square = define("square", 1, _square, "x * x.")
reciprocal = define("reciprocal", 1, _reciprocal, "1 / x, in the dtype of x.")
sign = flat_everywhere(define("sign", 1, _number("sign", "Sign"), "-1, 0 or 1; x / |x| of complex numbers; NaN of NaN."))


def _conjugate(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind == "c":
        return native.unary("conjugate", x)
    return astype(x, int8) if x.dtype.kind == "b" else _positive(x)


conjugate = define("conjugate", 1, _conjugate, "The complex conjugate.")


def _invert(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind not in "biu":
        raise _unsupported("invert", x.dtype)
    return ~x


def _bit_count(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind == "b":
        return astype(x, uint8)
    if x.dtype.kind not in "iu":
        raise _unsupported("bitwise_count", x.dtype)
    return native.unary("bit_count", x)


invert = define("invert", 1, _invert, "Every bit turned; not, of bool.")
bitwise_count = define("bitwise_count", 1, _bit_count, "How many bits the magnitude of each integer has set.")


def _predicate(name: str, of_integers: bool) -> Callable[[ArrayLike], Var]:
    def compute(a: ArrayLike) -> Var:
        x = asarray(a)
        if x.dtype.kind in "biu":
            return full_of(x.shape, of_integers, bool_)
        if name == "isnan" and x.dtype.kind == "f" and is_symbolic(x):
            return op("IsNaN", (x,))
        if name == "isfinite" and x.dtype.kind == "f" and is_symbolic(x):
            return ~(op("IsNaN", (x,)) | op("IsInf", (x,)))
        return native.unary(name, x)

    return compute


def _signbit(a: ArrayLike) -> Var:
    x = asarray(a)
    if x.dtype.kind == "c":
        raise _unsupported("signbit", x.dtype)
    if x.dtype.kind == "f":
        return native.unary("signbit", x)
    return x < 0 if x.dtype.kind == "i" else full_of(x.shape, False, bool_)


isnan = define("isnan", 1, _predicate("isnan", False), "Where elements are NaN.")
isinf = define("isinf", 1, _predicate("isinf", False), "Where elements are infinite.")
isfinite = define("isfinite", 1, _predicate("isfinite", True), "Where elements are neither infinite nor NaN.")
signbit = define("signbit", 1, _signbit, "Where elements are negative, -0 included.")
logical_not = define("logical_not", 1, lambda a: ~is_true(asarray(a)), "Where elements are zero.")


def _spacing(a: ArrayLike) -> Var:
    x = floating(asarray(a))
    if x.dtype.kind == "c":
        raise _unsupported("spacing", x.dtype)
    up = full_of((), float("inf"), x.dtype)
    away = native.binary("nextafter", x, up if x.dtype == float16 else copysign(up, x))  # of float16 NumPy steps up everywhere
    return choose(isfinite(x), away - x, full_of((), float("nan"), x.dtype))


spacing = flat_everywhere(define("spacing", 1, _spacing, "The distance to the next number that is larger in magnitude."))


# ---- Two arguments

def _arithmetic(name: str, symbol: Callable[[Var, Var], Var], booleans: bool = True) -> Callable[[ArrayLike, ArrayLike], Var]:
    def compute(a: ArrayLike, b: ArrayLike) -> Var:
        x, y = pair(a, b)
        kind = x.dtype.kind
        if kind == "c":
            return native.binary(name, x, y)
        if kind == "b" and not booleans:
            raise InvalidType("numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the logical_xor function instead.")
        return symbol(x, y)

    return compute


def _divide(a: ArrayLike, b: ArrayLike) -> Var:
    x, y = pair(a, b)
    if x.dtype.kind == "c":
        return native.binary("divide", x, y)
    return x / y


add = define("add", 2, _arithmetic("add", lambda x, y: x + y), "a + b; or, of bool.", 0)
subtract = define("subtract", 2, _arithmetic("subtract", lambda x, y: x - y, False), "a - b.")
multiply = define("multiply", 2, _arithmetic("multiply", lambda x, y: x * y), "a * b; and, of bool.", 1)
divide = define("divide", 2, _divide, "a / b; integers give float64.")
true_divide = divide
REGISTRY["true_divide"] = divide


def _computed(name: str, kinds: str, booleans: Optional[DType] = int8, integers: bool = True) -> Callable[[ArrayLike, ArrayLike], Var]:
    """Define a function that computes at once. `booleans`: the dtype to which bool converts (None: none); integers False: they become floats."""

    def compute(a: ArrayLike, b: ArrayLike) -> Var:
        x, y = pair(a, b)
        if not integers and x.dtype.kind in "biu":
            if is_weak(a) or is_weak(b):
                x, y = floating(x), floating(y)
            else:  # each in the float that holds it, not in that of their common integer
                x, y = pair(floating(asarray(a)), floating(asarray(b)))
        elif x.dtype.kind == "b" and booleans is not None:
            x, y = astype(x, booleans), astype(y, booleans)
        if x.dtype.kind not in kinds:
            raise _unsupported(name, x.dtype, y.dtype)
        return _expressions.binary(name, x, y) if is_symbolic(x) or is_symbolic(y) else native.binary(name, x, y)

    return compute


def _power(a: ArrayLike, b: ArrayLike) -> Var:
    if type(b) is int and b == 2 or type(b) is float and b == 2.0 and asarray(a).dtype.kind in "fc":
        x = asarray(a)
        if x.dtype.kind in "iuf":
            return x * x
    x, y = pair(a, b)
    if x.dtype.kind == "b":
        x, y = astype(x, int8), astype(y, int8)
    if x.dtype.kind == "i" and not is_symbolic(y) and y.size and native.reduce("min", y, 0, y.ndim, False, y.dtype).item() < 0:
        raise InvalidArgument("Integers to negative integer powers are not allowed.")
    if is_symbolic(x) or is_symbolic(y):
        return _expressions.binary("power", x, y)
    return native.binary("power", x, y)


def _extreme(name: str, operator: str) -> Callable[[ArrayLike, ArrayLike], Var]:
    def compute(a: ArrayLike, b: ArrayLike) -> Var:
        x, y = pair(a, b)
        if x.dtype.kind == "b":
            return x | y if operator == "Max" else x & y
        if x.dtype.kind in "iu" or x.dtype in (float32, float64) or is_symbolic(x) or is_symbolic(y):
            return op(operator, (x, y))
        return native.binary(name, x, y)

    return compute


power = define("power", 2, _power, "a to the power b; ValueError for integers to negative ones.")
floor_divide = define("floor_divide", 2, _computed("floor_divide", "iuf"),
                      "The largest whole number not above a / b; integers divided by 0 give 0. Infinite operands give floor(a / b), as in the array API standard.")
remainder = define("remainder", 2, _computed("remainder", "iuf"), "The remainder of a / b, with the sign of b.")
mod = remainder
REGISTRY["mod"] = remainder
fmod = define("fmod", 2, _computed("fmod", "iuf"), "The remainder of a / b, with the sign of a.")
arctan2 = define("arctan2", 2, _computed("arctan2", "f", integers=False), "The angle of the point (b, a), in (-pi, pi].")
hypot = define("hypot", 2, _computed("hypot", "f", integers=False), "sqrt(a * a + b * b) without overflow.", 0)
logaddexp = define("logaddexp", 2, _computed("logaddexp", "f", integers=False), "ln(e^a + e^b).", float("-inf"))
logaddexp2 = define("logaddexp2", 2, _computed("logaddexp2", "f", integers=False), "log2(2^a + 2^b).", float("-inf"))
copysign = define("copysign", 2, _computed("copysign", "f", integers=False), "The magnitude of a with the sign of b.")
nextafter = flat_everywhere(define("nextafter", 2, _computed("nextafter", "f", integers=False), "The next number after a on the way to b."))
heaviside = flat_everywhere(define("heaviside", 2, _computed("heaviside", "f", integers=False), "0 below 0, b at 0, 1 above."))
maximum = define("maximum", 2, _extreme("maximum", "Max"), "The larger element; NaN where one is NaN.")
minimum = define("minimum", 2, _extreme("minimum", "Min"), "The smaller element; NaN where one is NaN.")
fmax = define("fmax", 2, _computed("fmax", "biufc", None), "The larger element; of a number and NaN the number.")
fmin = define("fmin", 2, _computed("fmin", "biufc", None), "The smaller element; of a number and NaN the number.")


def _fextreme(name: str) -> Callable[[ArrayLike, ArrayLike], Var]:
    plain = "maximum" if name == "fmax" else "minimum"

    def compute(a: ArrayLike, b: ArrayLike) -> Var:
        x, y = pair(a, b)
        if x.dtype.kind == "f" and (is_symbolic(x) or is_symbolic(y)):
            return _expressions.binary(name, x, y)
        return native.binary(name if x.dtype.kind in "fc" else plain, x, y)

    return compute


fmax._compute, fmin._compute = _fextreme("fmax"), _fextreme("fmin")
gcd = define("gcd", 2, _computed("gcd", "iu", None), "The greatest common divisor.", 0)
lcm = define("lcm", 2, _computed("lcm", "iu", None), "The least common multiple.")
left_shift = define("left_shift", 2, _computed("left_shift", "iu"), "The bits of a moved b places up.")
right_shift = define("right_shift", 2, _computed("right_shift", "iu"), "The bits of a moved b places down; the sign moves in.")


def _float_power(a: ArrayLike, b: ArrayLike) -> Var:
    x, y = pair(a, b)
    wide = complex128 if x.dtype.kind == "c" else float64
    if wide is float64 and (is_symbolic(x) or is_symbolic(y)):
        return _expressions.binary("power", astype(x, wide), astype(y, wide))
    return native.binary("power", astype(x, wide), astype(y, wide))


def _ldexp(a: ArrayLike, b: ArrayLike) -> Var:
    x, y = asarray(a), asarray(b)
    if y.dtype.kind not in "biu" or x.dtype.kind == "c":
        raise _unsupported("ldexp", x.dtype, y.dtype)
    return _expressions.binary("ldexp", floating(x), y) if is_symbolic(x) or is_symbolic(y) else native.binary("ldexp", floating(x), astype(y, int64))


float_power = define("float_power", 2, _float_power, "a to the power b in float64 or complex128.")
ldexp = define("ldexp", 2, _ldexp, "a * 2^b; b are integers.")


def _bitwise(name: str, symbol: Callable[[Var, Var], Var]) -> Callable[[ArrayLike, ArrayLike], Var]:
    def compute(a: ArrayLike, b: ArrayLike) -> Var:
        x, y = pair(a, b)
        if x.dtype.kind not in "biu":
            raise _unsupported(name, x.dtype, y.dtype)
        return symbol(x, y)

    return compute


bitwise_and = define("bitwise_and", 2, _bitwise("bitwise_and", lambda x, y: x & y), "The bits that both have.", -1)
bitwise_or = define("bitwise_or", 2, _bitwise("bitwise_or", lambda x, y: x | y), "The bits that one of both has.", 0)
bitwise_xor = define("bitwise_xor", 2, _bitwise("bitwise_xor", lambda x, y: x ^ y), "The bits that just one has.", 0)


def _beyond(a: ArrayLike, b: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """Integers of Python that the other's dtype does not hold are compared by value."""
    def wide(x: Any, number: Any) -> Any:
        dtype = x.dtype
        if dtype.kind not in "iu":
            return x, number
        bits = 8 * dtype.itemsize
        low, high = (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if low <= number <= high:
            return x, number
        return astype(x, float64), float("inf") if number > high else float("-inf")

    if type(b) is int and not is_weak(a):
        return wide(asarray(a), b)  # type: ignore[no-any-return]
    if type(a) is int and not is_weak(b):
        y, x = wide(asarray(b), a)
        return x, y
    return a, b


def _comparison(name: str, symbol: Callable[[Var, Var], Any]) -> Callable[[ArrayLike, ArrayLike], Var]:
    def compute(a: ArrayLike, b: ArrayLike) -> Var:
        x, y = pair(*_beyond(a, b))
        if x.dtype.kind == "c":
            return native.binary(name, x, y)
        return symbol(x, y)  # type: ignore[no-any-return]

    return compute


equal = define("equal", 2, _comparison("equal", lambda x, y: x == y), "Where a == b.")
not_equal = define("not_equal", 2, _comparison("not_equal", lambda x, y: x != y), "Where a != b.")
less = define("less", 2, _comparison("less", lambda x, y: x < y), "Where a < b.")
less_equal = define("less_equal", 2, _comparison("less_equal", lambda x, y: x <= y), "Where a <= b.")
greater = define("greater", 2, _comparison("greater", lambda x, y: x > y), "Where a > b.")
greater_equal = define("greater_equal", 2, _comparison("greater_equal", lambda x, y: x >= y), "Where a >= b.")


def _logical(symbol: Callable[[Var, Var], Var]) -> Callable[[ArrayLike, ArrayLike], Var]:
    return lambda a, b: symbol(is_true(asarray(a)), is_true(asarray(b)))


logical_and = define("logical_and", 2, _logical(lambda x, y: x & y), "Where both are not zero.", True)
logical_or = define("logical_or", 2, _logical(lambda x, y: x | y), "Where one of both is not zero.", False)
logical_xor = define("logical_xor", 2, _logical(lambda x, y: x ^ y), "Where just one is not zero.", False)

# NumPy's other names
abs = absolute
conj = conjugate
acos, acosh, asin, asinh, atan, atanh, atan2 = arccos, arccosh, arcsin, arcsinh, arctan, arctanh, arctan2
bitwise_invert = bitwise_not = invert
bitwise_left_shift, bitwise_right_shift, pow = left_shift, right_shift, power
for _name in ("abs", "conj", "acos", "acosh", "asin", "asinh", "atan", "atanh", "atan2", "bitwise_invert", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift", "pow"):
    REGISTRY[_name] = globals()[_name]


# ---- Two results

@public
def modf(x: ArrayLike) -> tuple[Var, Var]:
    """The fraction and the whole part of each element, both with its sign."""
    a = floating(asarray(x))
    if is_symbolic(a):
        return _expressions.unary("fraction", a), _expressions.unary("trunc", a)
    return native.unary("fraction", a), native.unary("trunc", a)


@public
def frexp(x: ArrayLike) -> tuple[Var, Var]:
    """Mantissas in [0.5, 1) and int32 exponents: x = m * 2^e."""
    a = floating(asarray(x))
    return native.unary("mantissa", a), astype(native.unary("exponent", astype(a, float64)), int32)


@public
def divmod(a: ArrayLike, b: ArrayLike) -> tuple[Var, Var]:
    """floor_divide and remainder; of infinite operands the quotient that Python has, NaN for an infinite a."""
    x, y = pair(a, b)
    quotient = _computed("python_quotient", "f")(x, y) if x.dtype.kind == "f" else floor_divide(a, b)
    return settled(quotient, a, b), remainder(a, b)


# ---- Functions made of these

@public
def clip(a: ArrayLike, min: ArrayLike = None, max: ArrayLike = None, out: Any = None, *, a_min: ArrayLike = None, a_max: ArrayLike = None) -> Var:
    """Elements below min become min, those above max become max; None: no bound. a_min and a_max are other names of the bounds."""
    if min is not None and a_min is not None or max is not None and a_max is not None:
        raise InvalidArgument("clip() takes a bound by one name, not as min and a_min, or as max and a_max")
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is None and high is None:
        return deliver(held(a).clone(), out)
    a, low, high = beside((a, low, high))
    x = asarray(a)

    def clamp(bound: Any, upper: bool) -> Any:  # an integer of Python beyond the dtype bounds nothing
        if type(bound) is int and x.dtype.kind in "iu":
            bits = 8 * x.itemsize
            lowest, highest = (0, (1 << bits) - 1) if x.dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
            if not lowest <= bound <= highest:
                if upper == (bound > highest):
                    return None
                raise OverflowError(f"Python integer {bound} out of bounds for {x.dtype}")
        return bound

    low, high = clamp(low, False), clamp(high, True)
    common = result_type(x, *[bound for bound in (low, high) if bound is not None])
    result = astype(held(a) if low is None and high is None else x, common)
    if low is not None:
        result = maximum(result, asarray(low, common))
    if high is not None:
        result = minimum(result, asarray(high, common))
    return deliver(settled(result, a, low, high), out)


@public
def round(a: ArrayLike, decimals: int = 0, out: Any = None) -> Var:
    """Rounded to a number of decimals, halves to even."""
    x = held(a)
    if x.dtype.kind == "b":
        return deliver(astype(x, float16) if decimals == 0 else astype(x, float16), out)
    if x.dtype.kind in "iu":
        if decimals >= 0:
            return deliver(x.clone(), out)
        scale = 10.0 ** -decimals
        return deliver(astype(rint(astype(x, float64) / scale) * scale, x.dtype), out)
    if decimals == 0:
        return deliver(rint(x), out)
    scale = full_of((), 10.0 ** (decimals if decimals > 0 else -decimals), x.dtype)
    return deliver(divide(rint(multiply(x, scale)), scale) if decimals > 0 else multiply(rint(divide(x, scale)), scale), out)


around = round
REGISTRY["around"] = round


@public
def fix(x: ArrayLike, out: Any = None) -> Var:
    """Cut toward zero."""
    return trunc(x, out=out)


@public
def sinc(x: ArrayLike) -> Var:
    """sin(pi x) / (pi x), 1 at 0."""
    a = asarray(x)
    a = floating(a) if a.dtype.kind in "fc" else astype(a, float64)
    return _expressions.unary("sinc", a) if is_symbolic(a) and a.dtype.kind == "f" else native.unary("sinc", a)


@public
def i0(x: ArrayLike) -> Var:
    """The modified Bessel function of the first kind, order 0."""
    a = asarray(x)
    if a.dtype.kind == "c":
        raise InvalidType("i0 not supported for complex values")
    return native.unary("i0", a if a.dtype.kind == "f" else astype(a, float64))


@public
def real(val: ArrayLike) -> Var:
    """The real parts: a view, of real numbers the array itself."""
    x = asarray(val)
    return native.part_view(x, False) if x.dtype.kind == "c" else x


@public
def imag(val: ArrayLike) -> Var:
    """The imaginary parts: a view; of real numbers zeros for reading."""
    x = asarray(val)
    return native.part_view(x, True) if x.dtype.kind == "c" else _open.full_like(x, zeros_of([], x.dtype)) if is_open(x) else native.broadcast_view(zeros_of([], x.dtype), list(x.shape))  # type: ignore[no-any-return]


@public
def angle(z: ArrayLike, deg: bool = False) -> Var:
    """The angles of complex numbers, in radians or degrees."""
    x = asarray(z)
    if x.dtype.kind == "c":
        result = native.unary("angle", x)
    else:
        x = astype(x, float64) if x.dtype.kind == "b" else floating(x)
        result = arctan2(zeros_of((), x.dtype), x)
    return rad2deg(result) if deg else result


@public
def real_if_close(a: ArrayLike, tol: float = 100) -> Var:
    """The real parts where all imaginary ones are below tol times the precision, else a."""
    x = asarray(a)
    if x.dtype.kind != "c":
        return x
    limit = tol * (2.0 ** -23 if x.dtype == complex64 else 2.0 ** -52) if tol > 1 else tol
    from minnow.numpy._reductions import all
    return real(x) if bool(all(absolute(imag(x)) < limit)) else x


@public
def nan_to_num(x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: Optional[float] = None, neginf: Optional[float] = None) -> Var:
    """NaN as 0 (or `nan`), infinities as the largest numbers (or posinf, neginf)."""
    a = held(x)
    if a.dtype.kind == "c":
        result = native.make_complex(nan_to_num(real(a), True, nan, posinf, neginf), nan_to_num(imag(a), True, nan, posinf, neginf))
    elif a.dtype.kind == "f":
        from minnow.numpy._types import finfo
        limit = finfo(a.dtype)
        result = choose(isnan(a), full_of((), nan, a.dtype), a)
        result = choose(equal(a, float("inf")), full_of((), limit.max if posinf is None else posinf, a.dtype), result)
        result = choose(equal(a, float("-inf")), full_of((), limit.min if neginf is None else neginf, a.dtype), result)
    else:
        return a.clone()
    if not copy and isinstance(x, Var):
        x.assign(result)
        return x
    return result


@public
def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False) -> Var:
    """Where |a - b| <= atol + rtol * |b|."""
    x, y = asarray(a), asarray(b)
    y = y if y.dtype.kind in "fc" else astype(y, float64)
    both = isfinite(y)
    near = less_equal(absolute(subtract(x, y)), add(atol, multiply(rtol, absolute(y)))) & both
    result = near | equal(x, y)
    if equal_nan:
        result = result | (isnan(x) & isnan(y))
    return result


@public
def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether isclose() holds everywhere."""
    from minnow.numpy._reductions import all
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


@public
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Whether shapes and elements are equal."""
    try:
        x, y = asarray(a1), asarray(a2)
    except Exception:
        return False
    if x.shape != y.shape:
        return False
    from minnow.numpy._reductions import all
    same = equal(x, y)
    if equal_nan:
        same = same | (isnan(x) & isnan(y))
    return bool(all(same))


@public
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Whether the arrays, broadcast together, are equal."""
    x, y = asarray(a1), asarray(a2)
    try:
        broadcast_dims(x.shape, y.shape)
    except ValueError:
        return False
    from minnow.numpy._reductions import all
    return bool(all(equal(x, y)))


@public
def isreal(x: ArrayLike) -> Var:
    """Where the imaginary part is 0."""
    return equal(imag(x), 0)


@public
def iscomplex(x: ArrayLike) -> Var:
    """Where the imaginary part is not 0."""
    a = asarray(x)
    return not_equal(imag(a), 0) if a.dtype.kind == "c" else full_of(a.shape, False, bool_)


@public
def isposinf(x: ArrayLike, out: Any = None) -> Var:
    """Where elements are +infinity."""
    a = asarray(x)
    if a.dtype.kind == "c":
        raise InvalidType("This operation is not supported for complex128 values because it would be ambiguous.")
    return deliver(isinf(a) & ~signbit(a), out)


@public
def isneginf(x: ArrayLike, out: Any = None) -> Var:
    """Where elements are -infinity."""
    a = asarray(x)
    if a.dtype.kind == "c":
        raise InvalidType("This operation is not supported for complex128 values because it would be ambiguous.")
    return deliver(isinf(a) & signbit(a), out)


@public
def vectorize(pyfunc: Callable[..., Any], otypes: Any = None) -> Callable[..., Any]:
    """A function of numbers as one of arrays, called for each element."""

    def call(*args: ArrayLike) -> Any:
        arrays = [asarray(arg) for arg in args]
        dims = broadcast_dims(*[a.shape for a in arrays])
        rows = [reshape_to(expand_to(a, dims), [-1 if 0 not in dims else 0]).tolist() for a in arrays]
        results = [pyfunc(*items) for items in zip(*rows)]
        if results and isinstance(results[0], tuple):
            return tuple(reshape_to(asarray(list(column)), dims) for column in zip(*results))
        if not results and otypes is None:
            raise InvalidArgument("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        return reshape_to(asarray(results, otypes[0] if otypes else None), dims)

    return call


@public
def frompyfunc(func: Callable[..., Any], nin: int, nout: int) -> Callable[..., Any]:
    """vectorize() of a function with `nin` arguments and `nout` results."""
    return vectorize(func)
