# SPDX-License-Identifier: Apache-2.0
"""Methods of Var that are written in Python; importing this module gives them to the class."""
from __future__ import annotations

from typing import Any

from minnow._minnow import InvalidArgument, InvalidType, Var, op
from minnow import _arrays, _minnow
from minnow._functions import suggesting

_views: Any = _minnow.numpy


def _dims(arguments: tuple[Any, ...]) -> list[int]:
    dims = arguments[0] if len(arguments) == 1 and not isinstance(arguments[0], int) and hasattr(arguments[0], "__iter__") else arguments
    return [_arrays.index_of(dim) for dim in dims]


@suggesting
def reshape(self: Var, *shape: Any, order: str = "C", copy: bool | None = None) -> Var:
    """Var.reshape() where it is more than a view of dimensions that fit."""
    dims = _dims(shape)
    if order != "C" or copy is not None:
        from minnow.numpy import reshape as with_order
        return with_order(self, dims, order, copy=copy)
    if self.is_tensor and self.known_shape is not None and -1 not in self.known_shape:
        size, rest = self.size, 1
        for dim in dims:
            rest *= 1 if dim == -1 else dim
        if min(dims, default=0) >= -1 and dims.count(-1) <= 1:
            if rest and -1 in dims and size % rest == 0:
                dims[dims.index(-1)] = size // rest
                rest = size
            if rest == size and -1 not in dims:
                return _views.reshape_view(self, dims)
        known = self.known_shape
        raise InvalidArgument(f"cannot reshape a Var of shape {known} ({size} element{'s' * (size != 1)}) into shape {tuple(_dims(shape))}"
                              + ("; one dimension may be -1, which is as long as the others leave it" if min(dims, default=0) < -1 or dims.count(-1) > 1 else ""))
    return op("Reshape", (self, Var(dims, "int64")), {"allowzero": 1})


def transpose(self: Var, *axes: Any) -> Var:
    """Axes in another order; without arguments reversed. A view, as in NumPy."""
    if _minnow.parts_of(self) is not None:
        from minnow.numpy._complex import method
        return method(self, "transpose", *axes)
    if not axes or axes == (None,):
        known = self.known_shape
        return op("Transpose", (self,)) if known is None else _views.transpose_view(self, list(range(len(known)))[::-1])
    order, rank = _dims(axes), self.ndim
    places = [axis + rank if axis < 0 else axis for axis in order]
    if sorted(places) != list(range(rank)):
        raise InvalidArgument(f"the axes {tuple(order)} are no order of {rank} axes")
    return _views.transpose_view(self, places)


def numpy(self: Var) -> Any:
    """A numpy.ndarray that shares the memory and is for reading; numpy.array(x) makes a copy to write in."""
    return _arrays.as_numpy(self)


def __array__(self: Var, dtype: Any = None, copy: bool | None = None) -> Any:
    self._raise_unread()
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise InvalidArgument(f"a {self.dtype} cannot become {dtype} without a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def _as_numpy(value: Any) -> Any:
    """An argument of a function of NumPy with arrays of NumPy in place of Vars, in lists, tuples and dicts too."""
    if isinstance(value, Var):
        return numpy(value)
    if type(value) in (list, tuple):
        return type(value)(_as_numpy(item) for item in value)
    if type(value) is dict:
        return {key: _as_numpy(item) for key, item in value.items()}
    return value


def __array_ufunc__(self: Var, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Apply minnow.numpy's functions to Vars in place of NumPy's. Functions of other packages (scipy.special), and of operands that no Var can
    hold, compute with arrays of NumPy."""
    import numpy as np
    import minnow.numpy
    function = getattr(minnow.numpy, ufunc.__name__, None) if getattr(np, ufunc.__name__, None) is ufunc else None
    if method != "__call__":
        function = getattr(function, method, None)
    out = options.get("out")
    if method == "at" and not isinstance(inputs[0], Var):  # which writes into an array of NumPy
        function = None
    if function is None:
        if isinstance(out, tuple) and any(isinstance(item, Var) for item in out):
            return NotImplemented
        return getattr(ufunc, method)(*_as_numpy(inputs), **_as_numpy(options))
    if isinstance(out, tuple) and len(out) == 1:
        options["out"] = out = out[0]
    if type(out).__module__ == "numpy":  # array += Var: the result goes into NumPy's array
        del options["out"]
        np.copyto(out, np.asarray(function(*inputs, **options)), casting=options.get("casting", "same_kind"), where=options.get("where", True))
        return out
    return function(*inputs, **options)


#: Functions that write into their first argument: into an array of NumPy NumPy's own do.
_WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


def __array_function__(self: Var, function: Any, types: Any, arguments: Any, options: Any) -> Any:
    """Apply minnow.numpy's function in place of NumPy's. On arrays, NumPy computes functions that minnow.numpy lacks, functions that write
    into an array of NumPy, and functions of operands that no Var can hold (None, texts, dates)."""
    import minnow.numpy
    module: Any = minnow.numpy
    for part in function.__module__.split(".")[1:]:
        module = getattr(module, part, None)
    ours = getattr(module, function.__name__, None)
    target = arguments[0] if arguments else None
    if ours is not None and not (function.__name__ in _WRITERS and type(target).__module__ == "numpy"):
        try:
            return ours(*arguments, **options)
        except InvalidType:
            if all(issubclass(kind, Var) for kind in types) and not _has_other(arguments):
                raise
    elif isinstance(target, Var) and function.__name__ in _WRITERS:
        return NotImplemented
    return function(*_as_numpy(arguments), **_as_numpy(options))


def _has_other(value: Any) -> bool:
    """True if an argument contains an object that no Var can hold."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_other, value))
    return value is None or isinstance(value, (str, bytes)) or getattr(getattr(value, "dtype", None), "kind", "f") in "OSUMmV"


def as_integer_ratio(self: Var) -> tuple[int, int]:
    """The one number as a fraction of integers, as float and int have it."""
    return self.item().as_integer_ratio()  # type: ignore[no-any-return]


def __reduce_ex__(self: Var, protocol: int) -> Any:
    """Return the state for pickle: the value, or, for a placeholder, its declaration and its value."""
    if self.is_placeholder:
        value = op("Identity", (self,)) if self.is_computed else None
        return _placeholder, (self.name, self.dtype.name, self.dims, value)
    if not self.is_computed:
        try:
            self.evaluate()
        except InvalidArgument as error:
            raise InvalidArgument(f"what is pickled is the value of a Var: {error}; expr.save() keeps an expression") from None
    if not self.is_tensor or self.dtype.kind == "O":
        raise InvalidType(f"a Var of {self.dtype} or of a sequence cannot be pickled; pickle its tolist()")
    flat = self
    if self.dtype.name in _arrays._AS_INTEGER:  # buffers have no letter for it: the bits go as integers
        flat = op("BitCast", (self,), {"to": _arrays._AS_INTEGER[self.dtype.name]})
    data: Any = memoryview(flat)
    if protocol < 5:
        data = data.tobytes()
    else:
        import pickle
        data = pickle.PickleBuffer(data)
    return _from_bytes, (data, self.dtype.name, self.shape, self.name, self.trainable)


def _placeholder(name: str, dtype: str, dims: tuple[int | None, ...] | None, value: Var | None) -> Var:
    made = _minnow.placeholder(name, dtype, dims)
    if value is not None:
        made.assign(value)
    return made


def _from_bytes(data: Any, dtype: str, shape: tuple[int, ...], name: str, trainable: bool) -> Var:
    made = _minnow.from_buffer(data, dtype, shape)
    made.name = name
    if trainable:
        made.trainable = True
    return made


def __copy__(self: Var) -> Var:
    return self.clone()


def __deepcopy__(self: Var, memo: Any) -> Var:
    return self.clone()


def __repr__(self: Var) -> str:
    from minnow._repr import text_of
    return text_of(self)


def _repr_html_(self: Var) -> str:
    """Return the HTML for notebooks: shape and dtype, and the numbers below."""
    import html
    try:
        dims = self.known_shape if self.dims is None else self.dims
        shape = "unknown shape" if dims is None else " × ".join("?" if dim is None else str(dim) for dim in dims) or "one number"
    except Exception:  # what cannot be computed says so below
        shape = ""
    return f"<div><b>{html.escape(shape)}</b> {html.escape(str(self.dtype))}<pre>{html.escape(repr(self))}</pre></div>"


def __str__(self: Var) -> str:
    """The numbers alone, as NumPy's arrays are printed."""
    from minnow._repr import text_of
    return text_of(self, bare=True)


def __format__(self: Var, form: str) -> str:
    if not form:
        return str(self)
    if self.size != 1:
        raise InvalidType(f"the format {form!r} is for one number, this Var has the shape {self.shape}; format its elements, or str() of it")
    return format(self.item(), form)


def __dir__(self: Var) -> list[str]:
    """Those of the class, NumPy's methods and attributes among them."""
    from minnow.numpy._methods import names
    return sorted({*object.__dir__(self), *names()})


def __round__(self: Var, ndigits: int | None = None) -> Any:
    """Round to a Python number if the Var has no axes, else by minnow.numpy.round()."""
    if self.ndim == 0:
        return round(self.item(), ndigits)
    from minnow.numpy import round as each
    return each(self, ndigits or 0)


def __complex__(self: Var) -> complex:
    return complex(self.item())


def __contains__(self: Var, value: Any) -> bool:
    return bool(op("ReduceMax", ((self == value).reshape(-1).astype("uint8"),), {"keepdims": 0})) if self.size else False


_STANDARDS = (None, "2021.12", "2022.12", "2023.12", "2024.12")


def __array_namespace__(self: Var, *, api_version: str | None = None) -> Any:
    """minnow.numpy, which conforms to the Python array API standard. ValueError for a version of the standard that it does not know."""
    if api_version not in _STANDARDS:
        raise InvalidArgument(f"the array API standard {api_version!r} is not supported; {_STANDARDS[-1]} and the versions before are")
    import minnow.numpy
    return minnow.numpy


def to_device(self: Var, device: str, /, *, stream: Any = None) -> Var:
    """The Var itself: all of them live on "cpu". ValueError for another device, or a stream, which the CPU has not."""
    if device != "cpu":
        raise InvalidArgument(f"a Var lives on the device \"cpu\" and cannot move to {device!r}")
    if stream is not None:
        raise InvalidArgument(f"the device \"cpu\" has no streams; stream is None, not {stream!r}")
    return self


def _missing(self: Var, name: str) -> Any:
    """The other methods and attributes of NumPy's arrays are minnow.numpy's."""
    if not name.startswith("_"):
        try:
            from minnow.numpy._methods import attribute
        except ModuleNotFoundError:
            pass
        else:
            return attribute(self, name)
    raise AttributeError(f"'Var' object has no attribute {name!r}")


def _real(self: Var) -> Var:
    from minnow.numpy import real
    return real(self)


def _imag(self: Var) -> Var:
    from minnow.numpy import imag
    return imag(self)


def _set_real(self: Var, value: Any) -> None:
    _real(self)[...] = value


def _set_imag(self: Var, value: Any) -> None:
    if self.dtype.kind != "c":
        raise InvalidType(f"a {self.dtype} has no imaginary part to set")
    _imag(self)[...] = value


def _op(self: Var) -> str | None:
    return _minnow.expression_of(self)[0] or None


def _inputs(self: Var) -> list[Var | None]:
    return _minnow.expression_of(self)[1]


def _swapped(self: Var) -> Var:
    if self.ndim < 2:
        raise InvalidArgument(f"the last two axes are exchanged of an array of at least two; this one has {self.ndim}")
    return self.transpose(*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)


def install() -> None:
    for function in (transpose, numpy, __array__, __array_ufunc__, __array_function__, __reduce_ex__, __copy__, __deepcopy__, __repr__, __str__, _repr_html_,
                     __format__, __dir__, __round__, __complex__, __contains__, __array_namespace__, to_device,
                     as_integer_ratio):
        setattr(Var, function.__name__, suggesting(function))
    setattr(Var, "__getattr__", _missing)
    setattr(Var, "mT", property(_swapped, doc="The last two axes exchanged."))
    setattr(Var, "real", property(_real, _set_real, doc="The real parts: a view; of real numbers the Var itself."))
    setattr(Var, "imag", property(_imag, _set_imag, doc="The imaginary parts: a view; of real numbers zeros."))
    setattr(Var, "device", property(lambda self: "cpu", doc="Where the elements lie: \"cpu\"."))
    setattr(Var, "op", property(_op, doc="The operator that gives the value, \"Conv\", say; None for constants and placeholders, and where the value was computed and the\nexpression is not kept (it is kept where it depends on a placeholder, a parameter or a state)."))
    setattr(Var, "inputs", property(_inputs, doc="The inputs of the operator `op`, None for one that is left out; empty where there is no operator."))
    setattr(Var, "base", property(lambda self: _views.base_of(self), doc="The variable that a view is of, or None."))
    setattr(Var, "__array_priority__", 1000.0)


install()
