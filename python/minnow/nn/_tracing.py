# SPDX-License-Identifier: Apache-2.0
"""Buffers and random keys of layers, at once and while a TrainingStep is recorded (<minnow/train.h>)."""
from __future__ import annotations

from typing import Any

from minnow import _minnow
from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._typing import VarLike

_core: Any = _minnow.optim


def read_buffer(buffer: Var) -> Var:
    """The value of a buffer for a computation. Layers read buffers through this function, so that each run of a training step sees the present
    value. Never fails.

    >>> nn.read_buffer(minnow.Var([1.0, 2.0]))
    Var([1., 2.], shape=(2,), dtype=float64)
    """
    made: Var = _core.read_buffer(buffer)
    return made


def update_buffer(buffer: Var, value: VarLike) -> None:
    """Give a buffer (a Var of a module that is not trainable, such as a running mean) a new value of its shape and dtype: at once, or, while a
    training step is recorded, at the end of each step. Raises InvalidArgument (a ValueError) for a parameter and another shape or dtype.

    >>> mean = minnow.Var([1.0, 2.0])
    >>> nn.update_buffer(mean, mean * 0.5)
    >>> mean
    Var([0.5, 1. ], shape=(2,), dtype=float64)
    """
    if not isinstance(buffer, Var):
        raise InvalidType(f"a buffer is a Var, not {type(buffer).__name__}")
    if buffer.trainable:
        raise InvalidArgument("the buffer is a parameter, which an optimizer changes")
    _core.update_buffer(buffer, value if isinstance(value, Var) else Var(value, buffer.dtype))


def seed(number: int) -> None:
    """Start the random numbers of layers and initializers anew: programs that begin with the same seed draw the same numbers. The seed is 0 until
    it is set. Raises InvalidArgument (a ValueError) for numbers below 0 or of more than 64 bits.

    >>> nn.seed(7)
    >>> first = nn.random_key().tolist()
    >>> nn.seed(7)
    >>> nn.random_key().tolist() == first
    True
    """
    if not 0 <= number < 2**64:
        raise InvalidArgument(f"a seed has 64 bits, it is {number}")
    _core.seed(number)


def random_key() -> Var:
    """A key, uint32 of shape (2,), for functions that draw random numbers, such as functional.uniform(). Each call gives another key; while a
    training step is recorded, one that differs in each step. Never fails."""
    made: Var = _core.random_key()
    return made


__all__ = ["random_key", "read_buffer", "seed", "update_buffer"]
