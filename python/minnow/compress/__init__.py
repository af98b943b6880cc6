# SPDX-License-Identifier: Apache-2.0
"""Compression of networks while they are trained: quantization-aware training (docs/compression.md), masks of zeros (docs/pruning.md).

    network = compress.prepare_qat("classifier.onnx", pictures)     # rounds as integers will
    ...                                                             # some epochs of training
    compress.convert(network.eval(), "integers.minnow")

    pruner = compress.Pruner(network, 0.8, "1x4", end=1000)
    ...                                                             # after each step of training: pruner.step()
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minnow import _minnow
from minnow.compress import _distillation, _pruning, _reconstruction, _rounding, _training
from minnow.compress._distillation import *  # noqa: F403
from minnow.compress._pruning import *  # noqa: F403
from minnow.compress._reconstruction import *  # noqa: F403
from minnow.compress._rounding import *  # noqa: F403
from minnow.compress._training import *  # noqa: F403

if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise AttributeError(f"module 'minnow.compress' has no attribute {name!r}" + ("" if name.startswith("_") else _minnow.nearest(name, __all__)))

__all__ = [*_distillation.__all__, *_pruning.__all__, *_reconstruction.__all__, *_rounding.__all__, *_training.__all__]
