# SPDX-License-Identifier: Apache-2.0
"""Names that the files of minnow.cv share."""
from __future__ import annotations

import math
from types import FunctionType
from typing import Any, Callable, Sequence

from minnow import _minnow
from minnow._functions import suggesting
from minnow._minnow import Error as error
from minnow._minnow import InvalidArgument, InvalidType, Unsupported, Var, to_arrays
from minnow._typing import VarLike

vision = _minnow.vision

# OpenCV's names of types, which say what a function takes.
MatLike = VarLike  # a picture: an array of NumPy or a Var, [height, width] or [height, width, channels]
Scalar = float | Sequence[float]
Size = Sequence[int]
Point = Sequence[int]

CV_8U, CV_8S, CV_16U, CV_16S, CV_32S, CV_32F, CV_64F, CV_16F = range(8)
CV_8UC1, CV_8UC2, CV_8UC3, CV_8UC4 = range(CV_8U, 32, 8)
CV_8SC1, CV_8SC2, CV_8SC3, CV_8SC4 = range(CV_8S, 32, 8)
CV_16UC1, CV_16UC2, CV_16UC3, CV_16UC4 = range(CV_16U, 32, 8)
CV_16SC1, CV_16SC2, CV_16SC3, CV_16SC4 = range(CV_16S, 32, 8)
CV_32SC1, CV_32SC2, CV_32SC3, CV_32SC4 = range(CV_32S, 32, 8)
CV_32FC1, CV_32FC2, CV_32FC3, CV_32FC4 = range(CV_32F, 32, 8)
CV_64FC1, CV_64FC2, CV_64FC3, CV_64FC4 = range(CV_64F, 32, 8)
CV_16FC1, CV_16FC2, CV_16FC3, CV_16FC4 = range(CV_16F, 32, 8)
_DTYPES = {CV_8U: "uint8", CV_8S: "int8", CV_16U: "uint16", CV_16S: "int16", CV_32S: "int32", CV_32F: "float32", CV_64F: "float64"}

BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT, BORDER_WRAP, BORDER_REFLECT_101, BORDER_TRANSPARENT = range(6)
BORDER_REFLECT101 = BORDER_DEFAULT = BORDER_REFLECT_101
BORDER_ISOLATED = 16


def dtype_of(depth: int, function: str) -> str | None:
    """The dtype of an OpenCV depth (CV_8U, CV_32F ...; also of a type such as CV_8UC3); None for -1, the source's."""
    if depth < 0:
        return None
    name = _DTYPES.get(int(depth) & 7)
    if name is None:
        raise Unsupported(f"{function}: there is no depth {depth}; there are CV_8U, CV_8S, CV_16U, CV_16S, CV_32S, CV_32F and CV_64F")
    return name


def border_of(border: int, function: str, allowed: Sequence[int] = range(5)) -> int:
    """A border type without BORDER_ISOLATED, which says nothing here: pixels beside a view are never read."""
    kind = int(border) & ~BORDER_ISOLATED
    if kind not in allowed:
        raise InvalidArgument(f"{function}: border type {border} is not supported")
    return kind


def _is_picture(value: Any) -> bool:
    """Not a number, nor a list of them."""
    shape = getattr(value, "shape", ())
    return len(shape) > 2 or len(shape) == 2 and math.prod(shape) > 4


def _of_more_axes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A function's result for arrays of more than three axes, which are given to it as pictures: a row for each place of all axes but the last.
    NotImplemented where there are none, or not all of one shape."""
    shapes = [tuple(x.shape) for x in arguments if _is_picture(x)]
    if not shapes or len(shapes[0]) <= 3 or any(shape != shapes[0] for shape in shapes) or 0 in shapes[0]:
        return NotImplemented
    shape, flat = shapes[0], (-1, shapes[0][-1])
    pictures = [x.reshape(flat) if _is_picture(x) else x for x in arguments]

    def deep(result: Any) -> Any:
        if isinstance(result, tuple) and result and hasattr(result[0], "reshape"):
            return tuple(deep(x) for x in result)
        for given, picture in zip(arguments, pictures):
            if result is picture and given is not picture:  # dst, whose reshaped form may be a copy
                given[...] = picture.reshape(shape)
                return given
        return result.reshape(shape) if getattr(result, "shape", ()) == (math.prod(shape[:-1]), shape[-1]) else result

    return deep(function(*pictures))


def _of_float16(function: Callable[..., Any], arguments: tuple[Any, ...], as_bits: bool) -> Any:
    """A function's result for arrays of float16: as_bits: the elements are moved as words, else read as float32. NotImplemented where there are
    none."""
    def other(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(other(x) for x in value)
        if isinstance(value, Var) or str(getattr(value, "dtype", "")) != "float16":
            return value
        return value.view("uint16") if as_bits else value.astype("float32")

    def half(result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(half(x) for x in result)
        for given, changed in zip(arguments, others):
            if result is changed:  # dst
                return given
        if str(getattr(result, "dtype", "")) != "uint16":
            return result
        return (result.numpy() if isinstance(result, Var) else result).view("float16")

    others = [other(x) for x in arguments]
    if all(a is b or isinstance(a, (list, tuple)) and all(x is y for x, y in zip(a, b)) for a, b in zip(arguments, others)):
        return NotImplemented
    result = function(*others)
    return half(result) if as_bits else result


def of_any(name: str, float16: str = "") -> Callable[..., Any]:
    """A function of the engine that takes further arrays, as OpenCV does: of more than three axes, and one channel, where it goes element by element;
    of float16 where `float16` is "bits" (elements are moved) or "values" (they are read)."""
    function = getattr(vision, name)

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (InvalidArgument, Unsupported):
            result = _of_float16(function, arguments, float16 == "bits") if float16 else NotImplemented
            if result is NotImplemented:
                result = _of_more_axes(function, arguments)
            if result is NotImplemented:
                raise
            return result

    return call


def arrays(result: Any) -> Any:
    """The result as arrays of NumPy, where NumPy is installed."""
    try:
        return to_arrays(result)
    except ImportError:
        return result


def public(module: dict[str, Any], at_once: bool = True) -> list[str]:
    """A module's own functions become functions of arrays (minnow/_functions.py), with at_once as there. Gives the names for its __all__: functions,
    classes and constants."""
    names = []
    for name, value in list(module.items()):
        if name.startswith("_"):
            continue
        if isinstance(value, FunctionType) and value.__module__ == module["__name__"]:
            module[name] = suggesting(value, True, at_once=at_once)
            names.append(name)
        elif isinstance(value, type) and value.__module__ == module["__name__"] or name[0].isupper() and isinstance(value, int):
            names.append(name)
    return names


__all__ = [name for name in dir() if name.startswith(("CV_", "BORDER_"))] + ["error"]
