# SPDX-License-Identifier: Apache-2.0
"""Names of types for annotations."""
from __future__ import annotations

from typing import Any, Union

from minnow._minnow import Var, dtype

#: What a Var can be made of: a Var, a number, nested lists of numbers, or an array (buffer protocol, DLPack, __array__).
VarLike = Any
#: A dtype, its name, NumPy's dtype or scalar type of that name, or bool, int, float.
DTypeLike = Union[dtype, str, type, Any]
__all__ = ["Var", "VarLike", "DTypeLike"]
