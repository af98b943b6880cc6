# SPDX-License-Identifier: Apache-2.0
"""MNN.numpy.random."""
from __future__ import annotations

from typing import Any

from minnow import numpy as np
from minnow._minnow import InvalidType
from minnow.compat._values import Context, Var, as_mnn, careful, exported, own


def random(shape: Any) -> Var:
    """Draw uniform numbers between 0 and 1."""
    return as_mnn(np.random.random(own(shape)).astype("float32"))  # type: ignore[no-any-return]


def rand(*shape: int) -> Var:
    """Draw uniform numbers; each argument is a dimension."""
    return random(shape)


def randn(*shape: int) -> Var:
    """Draw normal numbers; each argument is a dimension."""
    return as_mnn(np.asarray(np.random.standard_normal(shape)).astype("float32"))  # type: ignore[no-any-return]


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = np.int32) -> Var:
    """Draw integers in [low, high), or in [0, low) without high."""
    if isinstance(low, (list, tuple)) or isinstance(high, (list, tuple)):
        raise InvalidType("randint() takes one integer for each end")
    return as_mnn(np.asarray(np.random.randint(low, high, [1] if size is None else own(size))).astype(dtype), Context([dtype]))  # type: ignore[no-any-return]


for _name, _value in list(globals().items()):
    if callable(_value) and getattr(_value, "__module__", "") == __name__ and not isinstance(_value, type) and not _name.startswith("_"):
        globals()[_name] = careful(_value, _name)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return exported(getattr(np.random, name))
