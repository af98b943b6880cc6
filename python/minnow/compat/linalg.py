# SPDX-License-Identifier: Apache-2.0
"""MNN.numpy.linalg."""
from __future__ import annotations

from typing import Any

from minnow import numpy as np
from minnow.compat._values import Var, as_mnn, careful, exported, own
from minnow.compat.numpy import asarray


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Var:
    """Compute a norm as NumPy does. The result is always a Var."""
    value = own(asarray(x)).astype("float32", copy=False)
    return as_mnn(np.asarray(np.linalg.norm(value, ord, tuple(axis) if isinstance(axis, list) else axis, keepdims)))  # type: ignore[no-any-return]


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> tuple[Var, Var, Var]:
    """Return u [m, k], k singular values, and vt [k, n]."""
    return as_mnn(tuple(np.linalg.svd(own(asarray(a)).astype("float32", copy=False), full_matrices=False)))  # type: ignore[no-any-return]


def solve(a: Any, b: Any) -> Var:
    return as_mnn(np.linalg.solve(own(asarray(a)).astype("float32", copy=False), own(asarray(b)).astype("float32", copy=False)))  # type: ignore[no-any-return]


for _name, _value in list(globals().items()):
    if callable(_value) and getattr(_value, "__module__", "") == __name__ and not isinstance(_value, type) and not _name.startswith("_"):
        globals()[_name] = careful(_value, _name)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return exported(getattr(np.linalg, name))
