# SPDX-License-Identifier: Apache-2.0
"""MNN's Var, and the wrapping of Minnow's functions.

MNN's Var is a subclass of minnow.Var. Its shape is a list, comparisons give int32, int / int is an int, x += y makes a new variable, and it has
MNN's methods. Before a call to one of Minnow's functions, own() turns MNN's Vars into plain Vars of the same variables. After the call, as_mnn()
turns the results into MNN's Vars.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Iterable, Iterator

import minnow
from minnow import _minnow
from minnow import expr as E
from minnow import numpy as np
from minnow._minnow import InvalidArgument, Unsupported

NC4HW4, NCHW, NHWC = E.NC4HW4, E.NCHW, E.NHWC
# MNN has no bool. It has 64-bit results only where the caller asks for them.
_NARROW = {"bool": "int32", "int64": "int32", "uint64": "int32", "float64": "float32", "float16": "float32"}


class Shape(list[Any]):
    """A list that can be compared with tuples and added to them, since other shapes are tuples."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, tuple) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: Iterable[Any]) -> Shape:
        return Shape([*self, *other])

    def __radd__(self, other: Iterable[Any]) -> Shape:
        return Shape([*other, *self])


def _alias(x: minnow.Var) -> minnow.Var:
    made = minnow.Var(x.__dict__.get("_fed", x))  # the same variable
    format = x.__dict__.get("_format")
    if format is not None:
        made.__dict__["_format"] = NCHW if format == NC4HW4 else format
    return made


def _apart(x: minnow.Var) -> minnow.Var:
    """Make another variable with the same value. The copy of a placeholder follows it."""
    return E.identity(x) if x.is_placeholder else x.clone()


def own(value: Any) -> Any:
    """Replace MNN's Vars by plain ones, and arrays of NumPy by Vars, for which MNN gives Vars; in lists and dicts too."""
    if isinstance(value, minnow.Var):
        return _alias(value)
    if hasattr(value, "__array_interface__") and (hasattr(value, "__setitem__") or value.dtype.kind in "fc"):
        return minnow.Var(value)
    if type(value) in (list, tuple):
        return type(value)([own(item) for item in value])
    if type(value) is dict:
        return {key: own(item) for key, item in value.items()}
    return value


def _inside(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if type(value) in (list, tuple):
            yield from _inside(value)
        else:
            yield value


class Context:
    """Properties of the results that follow from the arguments: the 64-bit dtypes that may stay, and the format of the axes."""

    def __init__(self, arguments: Iterable[Any] = ()) -> None:
        self.kept: set[str] = set()
        self.format: str | None = None
        for value in _inside(arguments):
            if isinstance(value, minnow.Var):
                self.kept.add(value.dtype.name)
                self.format = self.format or value.__dict__.get("_format")
            elif isinstance(value, _minnow.dtype):
                self.kept.add(value.name)


def as_mnn(value: Any, context: Context | None = None) -> Any:
    """Turn plain Vars into MNN's, in lists, tuples and dicts too."""
    context = context or Context()
    if type(value) is minnow.Var:
        if value.is_view:  # MNN has no views
            format = value.__dict__.get("_format")
            value = _apart(value)
            if format:
                value.__dict__["_format"] = format
        narrow = _NARROW.get(value.dtype.name) if value.is_tensor else None
        if narrow is not None and (value.dtype.name not in context.kept or value.dtype == "bool"):
            format = value.__dict__.get("_format")
            value = value.astype(narrow, copy=False)
            if format:
                value.__dict__["_format"] = format
        return labelled(value, context.format)
    if type(value) in (list, tuple):
        return type(value)([as_mnn(item, context) for item in value])
    if type(value) is dict:
        return {key: as_mnn(item, context) for key, item in value.items()}
    return value


def labelled(value: minnow.Var, format: str | None) -> Var:
    """Turn a plain Var that nobody else holds into one of MNN. `format` applies if the operation did not set one."""
    given = value.__dict__.get("_format")
    if given is None or (given == NCHW and format == NC4HW4):
        value.__dict__["_format"] = format or NCHW
    value.__class__ = Var
    return value  # type: ignore[return-value]


def careful(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Let a function raise errors of Minnow, which name the function, also where Python itself refuses an argument."""
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except minnow.Error:
            raise
        except (TypeError, AttributeError) as error:
            raise minnow.InvalidType(f"{name}(): {error}") from error
        except (ValueError, OverflowError, IndexError) as error:
            raise InvalidArgument(f"{name}(): {error}") from error

    return call


class Function:
    """A function of Minnow that takes and gives MNN's Vars. Attributes of the function (numpy.add.reduce) are reachable through it."""

    def __init__(self, function: Callable[..., Any], format: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self._function, self._format = careful(function, getattr(function, "__name__", type(function).__name__)), format

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        context = Context((*arguments, *named.values()))
        context.format = context.format or self._format
        return as_mnn(self._function(*map(own, arguments), **{name: own(value) for name, value in named.items()}), context)

    def __getattr__(self, name: str) -> Any:
        return exported(getattr(self.__wrapped__, name))

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def exported(value: Any, format: str | None = None) -> Any:
    """Wrap a function; return anything else unchanged. Results get `format` if no argument has one."""
    if callable(value) and not isinstance(value, (type, _minnow.dtype, Function)):
        return Function(value, format)
    return value


def _functions() -> Any:
    from minnow.compat import _expr
    return _expr


def _numpy() -> Any:
    from minnow.compat import numpy
    return numpy


def _operator(name: str, swapped: bool = False) -> Callable[[Var, Any], Any]:
    def operate(x: Var, y: Any) -> Any:
        if y is None or isinstance(y, (str, bytes, dict, set)):
            return NotImplemented
        function = Function(getattr(_functions(), name))
        return function(y, x) if swapped else function(x, y)

    return operate


def _plain(name: str) -> Callable[..., Any]:
    """Wrap an operator that MNN's Var lacks."""
    operator = getattr(minnow.Var, name)

    def operate(x: Var, *others: Any) -> Any:
        return as_mnn(operator(_alias(x), *map(own, others)), Context((x, *others)))

    return operate


def _method(name: str) -> Callable[..., Any]:
    """Make a method of a function of MNN.numpy."""
    def call(x: Var, *arguments: Any, **named: Any) -> Any:
        return getattr(_numpy(), name)(x, *arguments, **named)

    call.__name__ = name
    return call


class Var(minnow.Var):
    """MNN's Var: the value of an expression. The functions of MNN.expr and MNN.numpy create Vars."""

    __slots__ = ()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*map(own, arguments), **named)

    # ---- About it

    @property
    def shape(self) -> Any:
        plain = _alias(self)
        try:
            return Shape(plain.shape)
        except InvalidArgument:  # a placeholder has no value yet
            if plain.dims is None:
                raise
            return Shape([-1 if dim is None else dim for dim in plain.dims])

    ndim = property(lambda self: _alias(self).ndim)
    size = property(lambda self: _alias(self).size)
    dims = property(lambda self: _alias(self).dims)
    known_shape = property(lambda self: _alias(self).known_shape)

    def numpy(self) -> Any:
        return _alias(self).numpy()

    def tolist(self) -> Any:
        return _alias(self).tolist()

    @property
    def valid(self) -> bool:
        """Always True: shapes and dtypes are known."""
        return True

    @property
    def data_format(self) -> str:
        return self.__dict__.get("_format") or E.format_of(self) or NCHW

    @property
    def op_type(self) -> str:
        """The name of the operator that computes this value: MNN's name if MNN has the operator ("ADD", "ReLU"), else Minnow's. Values without an
        operator are "Input", "Const" or "Trainable"."""
        plain = _alias(self)
        name = _minnow.expression_of(plain)[0]
        if "_kind" not in self.__dict__ and name and (E.placeholders(plain) or E.trainables(plain)):
            return _MNN_NAMES.get(name, name)
        kind: str = self.__dict__.get("_kind") or ("Input" if plain.is_placeholder else "Trainable" if plain.trainable else "Const")
        return kind

    @property
    def inputs(self) -> list[Var]:  # type: ignore[override]
        """The inputs of the operator. A constant value has none."""
        plain = _alias(self)
        if "_kind" in self.__dict__ or not (E.placeholders(plain) or E.trainables(plain)):
            return []
        return [as_mnn(_alias(x)) for x in _minnow.expression_of(plain)[1] if x is not None]

    @property
    def ptr(self) -> Any:
        """A capsule with the address of the elements, for const() and Tensor. The memory lives as long as this Var."""
        import ctypes
        data = self.numpy()
        self.__dict__["_shown"] = data
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(data.ctypes.data, None, None)

    # ---- Reading and writing

    def read(self) -> Any:
        """Return a copy as a numpy.ndarray."""
        return self.numpy().copy()

    def read_as_tuple(self) -> tuple[Any, ...]:
        """Return the elements in order."""
        return tuple(_alias(self).reshape(-1).tolist())

    def write(self, data: Any) -> None:
        """Set the elements of a placeholder or of any other variable."""
        value = np.asarray(own(data)).astype(self.dtype, copy=False)
        shape = self.shape
        if value.shape != tuple(shape) and -1 not in shape:
            value = np.reshape(value, shape)
        self.assign(value.clone())

    def copy_from(self, source: Any) -> None:
        """Take over the value of another Var."""
        self.assign(own(source))

    def sync(self) -> None:
        """Does nothing: values are computed in the memory that is read."""

    def close(self) -> None:
        """Does nothing: memory is freed automatically."""

    def set_device_ptr(self, pointer: int, memory_type: int) -> None:
        raise Unsupported("set_device_ptr() is about memory of other devices; there is the CPU")

    def copy_to_device_ptr(self, pointer: int, memory_type: int) -> None:
        raise Unsupported("copy_to_device_ptr() is about memory of other devices; there is the CPU")

    # ---- Its place in an expression

    def _become(self, value: minnow.Var, kind: str) -> None:
        """Let this Var stand for another variable, also inside a model from load_as_dict()."""
        if "_model" in self.__dict__:
            self._replace_in_model(value)
        self.__dict__.update(_fed=value, _kind=kind)

    def _now(self) -> minnow.Var:
        return minnow.Var(_alias(self).numpy().copy())

    def fix_as_const(self) -> None:
        """Replace the expression by its current value."""
        made = self._now()
        made.name = self.name
        self._become(made, "Const")

    def fix_as_trainable(self) -> None:
        """Replace the expression by a parameter with its current value."""
        self._become(E.trainable(self._now(), self.name), "Trainable")

    def fix_as_placeholder(self) -> None:
        """Replace the expression by a placeholder with its current value. Expressions built from it later follow write()."""
        plain = _alias(self)
        if not plain.is_placeholder:
            made = E.placeholder(self.name, self.dtype, list(plain.shape))
            made.assign(self._now())
            self._become(made, "Input")

    @property
    def name(self) -> str:
        return minnow.Var.name.__get__(self.__dict__.get("_fed", self))  # type: ignore[no-any-return]

    @name.setter
    def name(self, name: str) -> None:
        minnow.Var.name.__set__(self.__dict__.get("_fed", self), name)  # type: ignore[attr-defined]

    @property
    def trainable(self) -> bool:
        return minnow.Var.trainable.__get__(self.__dict__.get("_fed", self))  # type: ignore[no-any-return]

    @trainable.setter
    def trainable(self, on: bool) -> None:
        minnow.Var.trainable.__set__(self.__dict__.get("_fed", self), on)  # type: ignore[attr-defined]

    def assign(self, value: Any) -> None:
        minnow.Var.assign(self.__dict__.get("_fed", self), own(value))

    def _replace_in_model(self, made: minnow.Var) -> None:
        model, plain = self.__dict__["_model"], _alias(self)
        others = [value for value in model.values() if value is not self and _minnow.expression_of(_alias(value))[0]]
        for value, now in zip(others, E.replace([plain, *map(_alias, others)], {plain: made})[1:]):
            value.__dict__["_fed"] = now

    def replace(self, source: Any) -> None:
        """Put another value in the place of this one, also inside a model from load_as_dict()."""
        made = own(_numpy().asarray(source))
        if "_model" in self.__dict__:
            self._replace_in_model(made)
        self.__dict__.pop("_kind", None)
        self.__dict__["_fed"] = made

    def set_inputs(self, inputs: Any) -> None:
        """Apply the operator to other values."""
        name, now = _minnow.expression_of(_alias(self))
        if not name or len(inputs) > len(now):
            raise InvalidArgument(f"set_inputs() gives {len(inputs)} values to a Var whose operator takes {len(now)}")
        made = [own(_numpy().asarray(value)) for value in inputs]
        self.replace(E.replace([_alias(self)], list(zip(now, made)))[0])

    def set_order(self, format: str) -> None:
        """Set the data format without moving data."""
        self.__dict__["_format"] = format

    def reorder(self, format: str) -> None:
        """Convert to another data format."""
        self.replace(E.convert(_alias(self), format))
        self.__dict__["_format"] = format

    def resize(self, shape: Any) -> None:
        """Change the shape. All elements become zero."""
        dims = [int(dim) for dim in np.ravel(own(shape)).tolist()]
        plain = _alias(self)
        if plain.is_placeholder and plain.dims != tuple(dims):
            kept = self.__dict__.get("_kind")
            self._become(E.placeholder(self.name, self.dtype, dims), kept or "Input")
        self.assign(np.zeros(dims, self.dtype))

    # ---- Python's operators

    __add__, __radd__, __iadd__ = _operator("add"), _operator("add", True), _operator("add")
    __sub__, __rsub__, __isub__ = _operator("subtract"), _operator("subtract", True), _operator("subtract")
    __mul__, __rmul__, __imul__ = _operator("multiply"), _operator("multiply", True), _operator("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _operator("divide"), _operator("divide", True), _operator("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operator("floordiv"), _operator("floordiv", True), _operator("floordiv")
    __pow__, __rpow__, __ipow__ = _operator("pow"), _operator("pow", True), _operator("pow")  # type: ignore[assignment]
    __mod__, __rmod__, __imod__ = _operator("floormod"), _operator("floormod", True), _operator("floormod")
    __lt__, __le__, __gt__, __ge__ = _operator("less"), _operator("less_equal"), _operator("greater"), _operator("greater_equal")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")
    __hash__ = minnow.Var.__hash__
    __neg__, __abs__, __pos__, __invert__ = _plain("__neg__"), _plain("__abs__"), _plain("__pos__"), _plain("__invert__")
    __matmul__, __rmatmul__, __imatmul__ = _plain("__matmul__"), _plain("__rmatmul__"), _plain("__matmul__")
    __and__, __rand__, __iand__ = _plain("__and__"), _plain("__rand__"), _plain("__and__")
    __or__, __ror__, __ior__ = _plain("__or__"), _plain("__ror__"), _plain("__or__")
    __xor__, __rxor__, __ixor__ = _plain("__xor__"), _plain("__rxor__"), _plain("__xor__")
    __lshift__, __rlshift__, __ilshift__ = _plain("__lshift__"), _plain("__rlshift__"), _plain("__lshift__")
    __rshift__, __rrshift__, __irshift__ = _plain("__rshift__"), _plain("__rrshift__"), _plain("__rshift__")
    __divmod__, __rdivmod__, __round__, __copy__ = _plain("__divmod__"), _plain("__rdivmod__"), _plain("__round__"), _plain("__copy__")

    def __deepcopy__(self, memo: Any) -> Var:
        made: Var = as_mnn(_alias(self).clone(), Context((self,)))
        return made

    def __len__(self) -> int:
        return self.shape[0] if self.ndim else 0

    def __iter__(self) -> Iterator[Var]:
        plain, context = _alias(self), Context((self,))
        if plain.ndim == 0:
            raise minnow.InvalidType("a Var without axes has no elements to go through")
        return iter([as_mnn(plain[i].clone(), context) for i in range(len(self))])

    def _place(self, key: Any) -> Any:
        """Translate an index. A Var or a list of integers is a mask if it has a 0 or 1 for each element."""
        if type(key) is list:
            key = np.asarray(key)
        if not isinstance(key, minnow.Var):
            return own(key)
        places = _alias(key)
        if places.dtype.kind in "iu" and 1 < self.size == places.size and bool(np.all((places == 0) | (places == 1)).item()):
            shape = _alias(self).shape
            return (places != 0) if places.shape == shape else (places != 0).reshape(*shape)
        return places

    def __getitem__(self, key: Any) -> Any:
        found = as_mnn(_alias(self)[self._place(key)].clone(), Context((self,)))
        return found.item() if found.ndim == 0 and not isinstance(key, minnow.Var) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        made = np.copy(_alias(self))
        made[self._place(key)] = own(value) if isinstance(value, minnow.Var) else np.asarray(value).astype(self.dtype, copy=False)
        self.assign(made)

    def __repr__(self) -> str:
        try:
            return repr(self.numpy())
        except minnow.Error:
            return self.name or object.__repr__(self)

    __str__ = __repr__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        context = Context(inputs)
        return as_mnn(minnow.Var.__array_ufunc__(_alias(self), ufunc, method, *map(own, inputs), **options), context)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return as_mnn(minnow.Var.__array_function__(_alias(self), function, types, own(tuple(arguments)), own(options)), Context(arguments))

    def __getattr__(self, name: str) -> Any:
        return exported(getattr(_alias(self), name)) if not name.startswith("_") else object.__getattribute__(self, name)

    @property
    def T(self) -> Var:
        made: Var = as_mnn(_alias(self).T, Context((self,)))
        return made

    # ---- MNN.numpy's functions as methods

    def item(self, *place: Any) -> Any:
        return _alias(self).item(*place)

    def astype(self, dtype: Any = minnow.float32, *arguments: Any, **named: Any) -> Var:
        plain = _alias(self)
        made = plain.astype(dtype, *arguments, **named) if plain.dtype != dtype else _apart(plain)
        return labelled(made, self.__dict__.get("_format"))

    def clone(self) -> Var:
        return labelled(_apart(_alias(self)), self.__dict__.get("_format"))

    def copy(self) -> Var:  # type: ignore[override]
        return self.clone()

    def fill(self, fill_value: Any) -> None:
        self.assign(np.full_like(_alias(self), own(fill_value)))

    def flatten(self, order: str = "C") -> Var:
        return self.clone().ravel()  # type: ignore[no-any-return]

    all, any, argmax, argmin, argpartition, argsort = map(_method, ("all", "any", "argmax", "argmin", "argpartition", "argsort"))
    clip, dot, max, mean, min, nonzero, prod, ptp = map(_method, ("clip", "dot", "max", "mean", "min", "nonzero", "prod", "ptp"))
    ravel, repeat, reshape, round, searchsorted, sort = map(_method, ("ravel", "repeat", "reshape", "round", "searchsorted", "sort"))
    squeeze, std, sum, swapaxes, transpose, var = map(_method, ("squeeze", "std", "sum", "swapaxes", "transpose", "var"))


_MNN_NAMES = {"Add": "ADD", "Sub": "SUB", "Mul": "MUL", "Div": "REALDIV", "Pow": "POW", "Min": "MINIMUM", "Max": "MAXIMUM", "Mod": "FLOORMOD", "Greater": "GREATER",
              "GreaterOrEqual": "GREATER_EQUAL", "Less": "LESS", "LessOrEqual": "LESS_EQUAL", "Equal": "EQUAL", "And": "LOGICALAND", "Or": "LOGICALOR",
              "Abs": "ABS", "Neg": "NEG", "Floor": "FLOOR", "Ceil": "CEIL", "Sqrt": "SQRT", "Exp": "EXP", "Log": "LOG", "Sin": "SIN", "Cos": "COS", "Tan": "TAN",
              "Asin": "ASIN", "Acos": "ACOS", "Atan": "ATAN", "Sinh": "SINH", "Cosh": "COSH", "Asinh": "ASINH", "Acosh": "ACOSH", "Atanh": "ATANH", "Reciprocal": "RECIPROCAL",
              "Erf": "ERF", "Sign": "SIGN", "Gelu": "GELU", "Conv": "Convolution", "ConvTranspose": "Deconvolution", "Relu": "ReLU", "LeakyRelu": "ReLU", "PRelu": "PReLU",
              "Elu": "ELU", "Selu": "Selu", "Tanh": "TanH", "MaxPool": "Pooling", "AveragePool": "Pooling", "GlobalAveragePool": "Pooling", "GlobalMaxPool": "Pooling",
              "ReduceSum": "Reduction", "ReduceMean": "Reduction", "ReduceMax": "Reduction", "ReduceMin": "Reduction", "ReduceProd": "Reduction", "Gemm": "MatMul"}
