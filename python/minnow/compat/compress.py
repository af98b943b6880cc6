# SPDX-License-Identifier: Apache-2.0
"""MNN.nn.compress: training with quantization."""
from __future__ import annotations

import warnings
from typing import Any

from minnow._minnow import InvalidArgument
from minnow.compat.nn import _Extracted


class Feature_Scale_Method:
    """Whether activations have one scale, or one for each channel."""
    PER_TENSOR, PER_CHANNEL = 0, 1


class Scale_Update_Method:
    """How the range of activations follows the batches."""
    MAXIMUM, MOVING_AVERAGE = 0, 1


PER_TENSOR, PER_CHANNEL = Feature_Scale_Method.PER_TENSOR, Feature_Scale_Method.PER_CHANNEL
MAXIMUM, MOVING_AVERAGE = Scale_Update_Method.MAXIMUM, Scale_Update_Method.MOVING_AVERAGE


def train_quant(module: Any, quant_bits: int = 8, feature_scale_method: int = PER_TENSOR, scale_update_method: int = MOVING_AVERAGE) -> bool:
    """Let a module of load_module(inputs, outputs, True) round weights to quant_bits and activations to 8 bits while it is trained. Afterwards, with
    train(False), what it makes of placeholders computes with integers. Returns False for other modules, as MNN does. PER_CHANNEL warns: activations have
    one scale here. Make the optimizer afterwards. Raises InvalidArgument for other numbers of bits and unknown methods."""
    if feature_scale_method not in (PER_TENSOR, PER_CHANNEL) or scale_update_method not in (MAXIMUM, MOVING_AVERAGE):
        raise InvalidArgument(f"feature_scale_method and scale_update_method are 0 or 1, not {feature_scale_method!r:.20} and {scale_update_method!r:.20}")
    if not isinstance(quant_bits, int) or not 2 <= quant_bits <= 8:
        raise InvalidArgument(f"quant_bits is from 2 to 8, it is {quant_bits!r:.20}")
    if not isinstance(module, _Extracted):
        return False
    if feature_scale_method == PER_CHANNEL:
        warnings.warn("activations get one scale, not one for each channel", stacklevel=2)
    module._turn_quantize(quant_bits, scale_update_method == MAXIMUM)
    return True


__all__ = ["Feature_Scale_Method", "MAXIMUM", "MOVING_AVERAGE", "PER_CHANNEL", "PER_TENSOR", "Scale_Update_Method", "train_quant"]
