# SPDX-License-Identifier: Apache-2.0
"""Names of MNN.numpy that NumPy 2 has no more, and those that it has with other arguments."""
from __future__ import annotations

from typing import Any, Callable

from minnow import numpy as np
from minnow._minnow import Var
from minnow._typing import VarLike

mat = matrix = asmatrix = np.asarray
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


def reshape(a: VarLike, *newshape: Any) -> Var:
    """As NumPy's, with the dimensions in a tuple or one by one."""
    return np.asarray(a).reshape(*newshape)


def _along_first(function: Callable[..., Var]) -> Callable[..., Var]:
    def running(x: VarLike, axis: int = 0) -> Var:
        return function(x, axis)

    running.__doc__ = function.__doc__
    return running


cumsum, cumprod, nancumsum, nancumprod = map(_along_first, (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod))


def fill(self: Var, fill_value: VarLike) -> None:
    """Gives all elements one value."""
    self.fill(fill_value)


__all__ = ["asmatrix", "cumprod", "cumsum", "fill", "mat", "matrix", "nancumprod", "nancumsum", "reshape", "repmat", "require", "asfarray", "asfortranarray", "asscalar", "msort", "round_", "row_stack", "trapz"]
