# SPDX-License-Identifier: Apache-2.0
"""Methods and attributes of NumPy's arrays that the class Var lacks; they are functions of this package."""
from __future__ import annotations

from inspect import isroutine
from typing import Any, Callable, Iterator, Optional

from minnow import _minnow
from minnow._files import new_file
from minnow._minnow import Var

from minnow.numpy import _elementwise as ew
from minnow.numpy import _creation, _indexing, _products, _reductions, _shape, _sorting
from minnow.numpy._core import DTypeLike, asarray, astype, dtype_of, native, reshape_to, row_strides


def _flatten(x: Var, order: str = "C") -> Var:
    return _shape.ravel(x, order).clone()


def _sort(x: Var, axis: int = -1, kind: Optional[str] = None, order: None = None, *, stable: Optional[bool] = None, descending: bool = False) -> None:
    x.assign(_sorting.sort(x, axis, kind, stable=stable, descending=descending))


def _partition(x: Var, kth: Any, axis: int = -1, kind: str = "introselect", order: None = None) -> None:
    x.assign(_sorting.partition(x, kth, axis))


def _fill(x: Var, value: Any) -> None:
    x.assign(_shape.broadcast_to(astype(asarray(value), x.dtype), x.shape))


def _tobytes(x: Var, order: str = "C") -> bytes:
    if order == "F":
        x = _shape.transpose(x)
    return memoryview(x).tobytes() if x.size else b""


def _tofile(x: Var, fid: Any, sep: str = "", format: str = "%s") -> None:
    data: Any = _tobytes(x) if not sep else sep.join(format % value for value in _shape.ravel(x).tolist())
    if hasattr(fid, "write"):
        fid.write(data)
        return
    with new_file(fid, "wb" if not sep else "w") as file:
        file.write(data)


def _view(x: Var, dtype: DTypeLike = None) -> Var:
    if _minnow.parts_of(x) is not None:
        raise _minnow.Unsupported("view() of complex numbers has no gradient; x.real and x.imag have one")
    return x if dtype is None else native.view_as(x, dtype_of(dtype))  # type: ignore[no-any-return]


def _squeezed(x: Var, axis: Any = None) -> Var:
    return _shape.squeeze(x, axis)


def _conjugate(x: Var) -> Var:
    return ew.conjugate(x) if x.dtype.kind == "c" else x


def _byteswap(x: Var, inplace: bool = False) -> Var:
    if x.dtype.itemsize == 1 or x.size == 0:
        return x.clone()
    part = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1)
    parts = native.view_as(reshape_to(x, [x.size]), dtype_of("uint8"))
    turned = _shape.flip(reshape_to(parts, [-1, part]), 1)
    result = reshape_to(native.view_as(reshape_to(turned, [x.nbytes]).evaluate(), x.dtype), x.shape)
    if inplace:
        x.assign(result)
        return x
    return result


class Flat:
    """x.flat: the elements in order, to iterate over, read and write."""

    def __init__(self, base: Var) -> None:
        self.base = base

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(_shape.ravel(self.base).tolist())

    def __getitem__(self, key: Any) -> Var:
        return _shape.ravel(self.base)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        flat = _shape.ravel(self.base).clone()
        flat[key] = value
        self.base.assign(reshape_to(flat, self.base.shape))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return _shape.ravel(self.base).__array__(dtype, copy)


_METHODS: dict[str, Callable[..., Any]] = {
    name: function for functions in (
        {"all": _reductions.all, "any": _reductions.any, "argmax": _reductions.argmax, "argmin": _reductions.argmin, "cumprod": _reductions.cumprod, "cumsum": _reductions.cumsum,
         "max": _reductions.max, "mean": _reductions.mean, "min": _reductions.min, "prod": _reductions.prod, "std": _reductions.std, "sum": _reductions.sum, "var": _reductions.var},
        {"argpartition": _sorting.argpartition, "argsort": _sorting.argsort, "partition": _partition, "searchsorted": _sorting.searchsorted, "sort": _sort},
        {"choose": _indexing.choose, "compress": lambda x, condition, axis=None, out=None: _indexing.compress(condition, x, axis, out), "nonzero": _indexing.nonzero, "put": _indexing.put,
         "take": _indexing.take},
        {"clip": ew.clip, "conj": _conjugate, "conjugate": _conjugate, "round": ew.round},
        {"copy": lambda x, order="C": x.astype(x.dtype), "diagonal": _creation.diagonal, "fill": _fill, "flatten": _flatten, "ravel": _shape.ravel, "repeat": _shape.repeat, "squeeze": _squeezed,
         "swapaxes": _shape.swapaxes, "trace": _creation.trace, "dot": _products.dot},
        {"byteswap": _byteswap, "tobytes": _tobytes, "tofile": _tofile, "view": _view}) for name, function in functions.items()}

_ATTRIBUTES: dict[str, Callable[[Var], Any]] = {
    "flat": Flat, "strides": lambda x: tuple(step * x.itemsize for step in row_strides(x.shape))}


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Var, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = function.__doc__
    return method


for _name, _function in _METHODS.items():  # of the class, which finds them at once
    setattr(Var, _name, _function if isroutine(_function) and _function.__name__ == _name else _method(_name, _function))


def names() -> list[str]:
    """Return the names that attribute() accepts."""
    return [*_ATTRIBUTES, *_METHODS]


def attribute(x: Var, name: str) -> Any:
    """Return x.name for names that the class does not define, or did not before this module was imported. AttributeError, with the nearest
    names, if NumPy's arrays lack the name too."""
    made = _ATTRIBUTES.get(name)
    if made is not None:
        return made(x)
    if name in _METHODS:
        return getattr(x, name)
    names = [*_ATTRIBUTES, *(known for known in dir(Var) if known[:1] != "_")]
    raise AttributeError(f"'Var' object has no attribute {name!r}{_minnow.nearest(name, names)}")
