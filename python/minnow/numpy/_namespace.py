# SPDX-License-Identifier: Apache-2.0
"""The inspection functions of the Python array API standard: devices, dtypes and capabilities of minnow.numpy."""
from __future__ import annotations

from typing import Any, Optional, Union

from minnow._minnow import InvalidArgument
from minnow._minnow import dtype as DType

from minnow.numpy._core import (bool_, check_device, complex64, complex128, float32, float64, int8, int16, int32, int64, public, uint8, uint16, uint32,
                                uint64)
from minnow.numpy._types import KINDS

MAX_DIMENSIONS = 32  # of a tensor of the engine


class NamespaceInfo:
    """The result of __array_namespace_info__(). Everything lives on one device, "cpu"."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities: masks as indices, shapes that depend on data, and the largest number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_DIMENSIONS}

    def default_device(self) -> str:
        """The device that arrays are made on."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Optional[str] = None) -> dict[str, DType]:
        """The dtypes of arrays that are made of Python's numbers, and of indices."""
        check_device(device)
        return {"real floating": float64, "complex floating": complex128, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Optional[str] = None, kind: Union[None, str, tuple[str, ...]] = None) -> dict[str, DType]:
        """Return the standard's dtypes by name: all of them, or those of a kind (or several) as in isdtype().

        Raises ValueError for an unknown kind.
        """
        check_device(device)
        every = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128)
        if kind is None:
            return {dtype.name: dtype for dtype in every}
        letters = ""
        for name in kind if isinstance(kind, tuple) else (kind,):
            if name not in KINDS:
                raise InvalidArgument(f"{name!r} is not a kind of dtypes; there are {', '.join(KINDS)}")
            letters += KINDS[name]
        return {dtype.name: dtype for dtype in every if dtype.kind in letters}


@public
def __array_namespace_info__() -> NamespaceInfo:
    """Devices, dtypes and capabilities, as the Python array API standard asks for them."""
    return NamespaceInfo()
