# SPDX-License-Identifier: Apache-2.0
"""Compression of networks while they are trained: masks of zeros (docs/pruning.md).

    pruner = compress.Pruner(network, 0.8, "1x4", end=1000)
    ...                                                             # after each step of training: pruner.step()
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minnow import _minnow
from minnow.compress import _pruning
from minnow.compress._pruning import *  # noqa: F403

if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise AttributeError(f"module 'minnow.compress' has no attribute {name!r}" + ("" if name.startswith("_") else _minnow.nearest(name, __all__)))

__all__ = [*_pruning.__all__]
