# SPDX-License-Identifier: Apache-2.0
"""Arrays that the buffer protocol and DLPack do not know, both ways. NumPy is imported only where arrays of NumPy are at hand or asked for."""
from __future__ import annotations

import operator
from typing import Any

from minnow._minnow import InvalidType, Var


def index_of(x: Any) -> int:
    """operator.index(), whose TypeError is Minnow's."""
    try:
        return operator.index(x)
    except InvalidType:
        raise
    except TypeError as error:
        raise InvalidType(str(error)) from None


def is_index(x: Any) -> bool:
    """True for an integer, also one of NumPy's or an array without axes; False for arrays that have some, whose class has __index__, too."""
    return hasattr(x, "__index__") and not getattr(x, "ndim", 0)

# dtypes that NumPy has no letter for go as integers of the same width.
_AS_INTEGER = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "float8_e4m3fnuz": "uint8", "float8_e5m2fnuz": "uint8",
               "float8_e8m0fnu": "uint8", "float4_e2m1fn": "uint8", "int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8"}


def as_buffer(value: Any) -> tuple[Any, str] | None:
    """Return an object with the buffer protocol, and the dtype of its elements; None if the value offers none."""
    if type(value).__module__.startswith("torch"):
        device = str(getattr(value, "device", "cpu"))
        if device != "cpu":
            raise InvalidType(f"the memory of an array is on {device}; bring it to the CPU first")
        if getattr(value, "requires_grad", False):
            value = value.detach()
            return value, str(value.dtype)[6:]
        return None
    if not (hasattr(value, "__array__") or hasattr(value, "__array_interface__") or hasattr(value, "__array_struct__")):
        return None
    try:
        import numpy
    except ImportError:
        raise InvalidType(f"the numbers of a {type(value).__qualname__} come through NumPy, which is not installed") from None
    array = numpy.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    name = array.dtype.name
    if name in _AS_INTEGER:
        return array.view(_AS_INTEGER[name]), name
    if array.dtype.kind not in "biufc":
        raise InvalidType(f"an array of dtype {name} is no tensor; there are bool, integers and floating types")
    if array is value or not array.flags.writeable:  # the buffer protocol would have done, but for something
        array = array.copy()
    return array, name


_numpy: Any = None  # once somebody asked for an array: an import statement costs as much as a small operation


def as_numpy(x: Var) -> Any:
    """A numpy.ndarray, which shares the memory and is for reading."""
    global _numpy
    if _numpy is None:
        import numpy
        _numpy = numpy
    name = x.dtype.name
    if name not in _AS_INTEGER:
        return _numpy.asarray(memoryview(x))
    try:
        import ml_dtypes
    except ImportError:
        raise InvalidType(f"NumPy has no {name}; install ml_dtypes, or use astype(\"float32\")") from None
    from minnow import _minnow, expr
    _minnow.check_read(x)
    return _numpy.asarray(memoryview(expr.bit_cast(x, to=_AS_INTEGER[name]))).view(getattr(ml_dtypes, name))


