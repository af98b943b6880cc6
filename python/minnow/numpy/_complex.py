# SPDX-License-Identifier: Apache-2.0
"""Complex numbers in functions that are differentiated. Operators and gradients know real numbers, so a complex array that depends on what is
differentiated has its real and imaginary parts noted beside it (_minnow.note_parts), as arrays that have gradients. Functions of such arrays
compute with the parts; those that this module does not list are errors there."""
from __future__ import annotations

from typing import Any, Callable, Optional

from minnow import _minnow
from minnow._minnow import Var

from minnow.numpy import _elementwise as ew
from minnow.numpy import _products
from minnow.numpy._core import REGISTRY, asarray, astype, choose, float32, float64, full_of, is_traced, native, zeros_of

#: Functions that are linear over the real numbers in all their floating arguments, and move or add elements: applied to either part.
_LINEAR = frozenset((
    "reshape", "ravel", "transpose", "permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "rollaxis", "expand_dims", "squeeze", "broadcast_to",
    "concatenate", "concat", "stack", "hstack", "vstack", "dstack", "column_stack", "split", "array_split", "hsplit", "vsplit", "dsplit", "roll", "flip", "fliplr",
    "flipud", "rot90", "tile", "repeat", "take", "take_along_axis", "sum", "mean", "nansum", "cumsum", "diff", "trace", "diagonal", "diag", "tril", "triu",
    "fft.fftshift", "fft.ifftshift", "atleast_1d", "atleast_2d", "atleast_3d", "copy", "positive", "negative", "add", "subtract", "pad"))
#: Functions that are linear over the complex numbers in both arguments.
_BILINEAR = frozenset(("multiply", "matmul", "dot", "inner", "outer", "kron", "tensordot", "convolve", "linalg.matmul", "linalg.outer", "linalg.tensordot"))


def parts(x: Var) -> tuple[Var, Optional[Var]]:
    """Real and imaginary parts; None for the zeros of a real array."""
    if x.dtype.kind != "c":
        return x, None
    found = _minnow.parts_of(x)
    return found if found is not None else (ew.real(x).clone(), ew.imag(x).clone())


def joined(re: Var, im: Optional[Var]) -> Var:
    """The complex array of two real ones."""
    im = zeros_of(re.shape, re.dtype) if im is None else im
    made = native.make_complex(re, im)
    _minnow.note_parts(made, re, im)
    return made


def cast(x: Var, dtype: Any) -> Var:
    """astype() from or to a complex dtype."""
    re, im = parts(x)
    if dtype.kind != "c":
        return astype(re, dtype)
    kind = float32 if dtype.name == "complex64" else float64
    return joined(astype(re, kind), None if im is None else astype(im, kind))


def _operand(a: Any) -> tuple[Any, Any]:
    """The parts of an argument; None for an imaginary part that is not there."""
    if isinstance(a, complex):
        return a.real, a.imag
    return (a, None) if type(a) in (int, float, bool) else parts(asarray(a))


def _floating(x: Var) -> Var:
    return astype(x, float64) if x.dtype.kind in "biu" else x


def _part(argument: Any, imaginary: bool) -> Any:
    """An argument of a linear function for one part: arrays and numbers with data, sizes and axes as they are."""
    if isinstance(argument, (list, tuple)):
        return type(argument)(_part(_floating(asarray(one)), imaginary) for one in argument) if any(isinstance(one, Var) for one in argument) else argument
    if not isinstance(argument, Var) and hasattr(argument, "dtype"):
        argument = asarray(argument)
    if isinstance(argument, complex):
        return argument.imag if imaginary else argument.real
    if not isinstance(argument, Var):
        return 0.0 if imaginary and type(argument) is float else argument
    if argument.dtype.kind == "f" and imaginary:
        return zeros_of(argument.shape, argument.dtype)
    if argument.dtype.kind != "c":
        return argument
    re, im = parts(argument)
    assert im is not None
    return im if imaginary else re


def _linear(function: Callable[..., Any], name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if name in ("add", "subtract"):  # whole numbers and lists are data, too
        arguments = tuple(one if isinstance(one, (float, complex)) else float(one) if isinstance(one, int) else _floating(asarray(one)) for one in arguments)
    re, im = (function(*(_part(one, which) for one in arguments), **{key: _part(one, which) for key, one in options.items()}) for which in (False, True))
    return type(re)(map(joined, re, im)) if isinstance(re, (list, tuple)) else joined(re, im)


def _bilinear(function: Callable[..., Any], a: Any, b: Any, *rest: Any, **options: Any) -> Var:
    (ar, ai), (br, bi) = _operand(a), _operand(b)
    def product(x: Any, y: Any) -> Var:
        return function(x, y, *rest, **options)  # type: ignore[no-any-return]

    if ai is None or bi is None:
        return joined(product(ar, br), product(ar, bi) if ai is None else product(ai, br))
    return joined(product(ar, br) - product(ai, bi), product(ar, bi) + product(ai, br))


def _conjugate(x: Any) -> Var:
    re, im = parts(x)
    return joined(re, None if im is None else -im)


def _squares(x: Var) -> Var:
    re, im = parts(x)
    return re * re if im is None else re * re + im * im


def _absolute(x: Var) -> Var:
    """The gradient of 0 is 0, as in JAX."""
    squares = _squares(x)
    none = squares == 0.0
    return choose(none, zeros_of((), squares.dtype), ew.sqrt(choose(none, full_of((), 1.0, squares.dtype), squares)))


def _divide(a: Any, b: Any) -> Var:
    (ar, ai), (br, bi) = _operand(a), _operand(b)
    if bi is None:
        return joined(ar / br, ai / br)
    size, ai = br * br + bi * bi, 0.0 if ai is None else ai
    return joined((ar * br + ai * bi) / size, (ai * br - ar * bi) / size)


def _angle(z: Var, deg: bool = False) -> Var:
    re, im = parts(z)
    result = ew.arctan2(im, re)
    return ew.rad2deg(result) if deg else result


def _exp(x: Var) -> Var:
    re, im = parts(x)
    assert im is not None
    size = ew.exp(re)
    return joined(size * ew.cos(im), size * ew.sin(im))


def _vdot(a: Any, b: Any) -> Var:
    return _bilinear(_products.vdot, _conjugate(asarray(a)), b)


_OWN: dict[str, Callable[..., Any]] = {
    "real": lambda val: parts(val)[0], "imag": lambda val: parts(val)[1], "conjugate": _conjugate, "conj": _conjugate, "absolute": _absolute, "abs": _absolute,
    "angle": _angle, "divide": _divide, "true_divide": _divide, "reciprocal": lambda x: _divide(1.0, x), "exp": _exp, "vdot": _vdot,
    "square": lambda x: _bilinear(ew.multiply, x, x)}


def _is_differentiated(argument: Any) -> bool:
    return any(map(_is_differentiated, argument)) if isinstance(argument, (list, tuple)) else isinstance(argument, Var) and is_traced(argument)


def apply(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A call of a public function with complex arguments. NotImplemented where none is differentiated, and for functions that this module does
    not list."""
    if not any(map(_is_differentiated, (*arguments, *options.values()))):
        return NotImplemented
    first = arguments[0]
    if isinstance(first, ew.ufunc):  # a call of it, rather than reduce() and its kind
        if function.__name__ != "__call__":
            return NotImplemented
        name, arguments = first.__name__, arguments[1:]
        function = first
    else:
        module = function.__module__.rsplit(".", 1)[-1]
        name = function.__name__ if module.startswith("_") else f"{module}.{function.__name__}"
        function = REGISTRY.get(name, function)
    if any(options.get(key) is not None for key in ("out", "where", "dtype")) or (name == "pad" and len(arguments) + len(options) > 3):
        return NotImplemented
    if name in _LINEAR:
        return _linear(function, name, arguments, options)
    if name in _BILINEAR:
        return _bilinear(function, *arguments, **options)
    own = _OWN.get(name)
    return NotImplemented if own is None else own(*arguments, **options)


def method(x: Var, name: str, *arguments: Any) -> Var:
    """x.name(*arguments), or an attribute of x, for methods that move elements."""
    re, im = (getattr(part, name) for part in parts(x))
    return joined(re(*arguments), im(*arguments)) if callable(re) else joined(re, im)
