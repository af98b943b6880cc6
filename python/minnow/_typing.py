# SPDX-License-Identifier: Apache-2.0
"""Names of types for annotations."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Union

from minnow._minnow import Var, dtype

if TYPE_CHECKING:
    from typing_extensions import Buffer


class SupportsArray(Protocol):
    """An array by NumPy's protocol, such as one of pandas."""

    def __array__(self) -> Any: ...


class SupportsDLPack(Protocol):
    """An array by the protocol DLPack, such as one of PyTorch or JAX."""

    def __dlpack__(self) -> Any: ...


#: Anything that converts to a Var: a Var, a number, nested lists of numbers, or an array (buffer protocol, DLPack, __array__).
VarLike = Union[Var, complex, "list[Any]", "tuple[Any, ...]", range, "Buffer", SupportsArray, SupportsDLPack]
#: A dtype, its name, NumPy's dtype or scalar type of that name, or bool, int, float.
DTypeLike = Union[dtype, str, type, Any]
__all__ = ["Var", "VarLike", "DTypeLike"]
