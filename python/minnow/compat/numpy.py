# SPDX-License-Identifier: Apache-2.0
"""Names of MNN.numpy that NumPy 2 has no more."""
from __future__ import annotations

from typing import Any

from minnow import numpy as np
from minnow._minnow import Var
from minnow._typing import VarLike

round_, trapz, row_stack, asfortranarray = np.round, np.trapezoid, np.vstack, np.asarray


def asfarray(a: VarLike, dtype: Any = "float32") -> Var:
    """The array in a floating dtype."""
    return np.asarray(a, dtype)


def asscalar(a: VarLike) -> Any:
    """The one element, as a number."""
    return np.asarray(a).item()


def msort(a: VarLike) -> Var:
    """Sorted along the first axis."""
    return np.sort(a, axis=0)


def require(a: VarLike, dtype: Any = None, requirements: Any = None) -> Var:
    """The array in that dtype; its elements always lie in order."""
    return np.asarray(a, dtype)


def repmat(a: VarLike, m: int, n: int) -> Var:
    """A matrix m times below and n times beside itself; a vector is a row."""
    return np.tile(np.atleast_2d(a), (m, n))


def fill(self: Var, fill_value: VarLike) -> None:
    """Gives all elements one value."""
    self.fill(fill_value)


__all__ = ["fill", "repmat", "require", "asfarray", "asfortranarray", "asscalar", "msort", "round_", "row_stack", "trapz"]
