# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters, with torch's names: each function changes a Var in place and returns it. Each call draws from a stream of its own;
nn.seed() decides which."""
from __future__ import annotations

import math

from minnow import numpy as np
from minnow._functions import all_suggesting
from minnow._minnow import InvalidArgument, Var, nearest
from minnow.nn import functional
from minnow.nn._safetensors import detached


def _set(tensor: Var, value: Var) -> Var:
    tensor.assign(detached(value.astype(tensor.dtype)))
    return tensor


def uniform_(tensor: Var, a: float = 0.0, b: float = 1.0) -> Var:
    """Numbers of equal chance in [a, b). Raises InvalidModel (a ValueError) for no floats."""
    return _set(tensor, functional.uniform(tensor.shape) * (b - a) + a)


def normal_(tensor: Var, mean: float = 0.0, std: float = 1.0) -> Var:
    """Normal numbers. Raises InvalidModel (a ValueError) for no floats."""
    return _set(tensor, functional.normal(tensor.shape) * std + mean)


def trunc_normal_(tensor: Var, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Var:
    """Normal numbers between a and b: those outside are drawn again. Raises InvalidArgument (a ValueError) if a to b is more than two deviations away
    from the mean."""
    if not a < b or mean < a - 2 * std or mean > b + 2 * std:
        raise InvalidArgument(f"too few normal numbers of mean {mean} and deviation {std} are between {a} and {b}")
    value = functional.normal(tensor.shape) * std + mean
    while bool(np.any((outside := (value < a) | (value > b)).evaluate())):
        value = np.where(outside, functional.normal(tensor.shape) * std + mean, value).evaluate()
    return _set(tensor, value)


def constant_(tensor: Var, val: float) -> Var:
    """One number everywhere. Never fails."""
    return _set(tensor, np.full(tensor.shape, val, tensor.dtype))


def zeros_(tensor: Var) -> Var:
    """Zeros. Never fails."""
    return constant_(tensor, 0)


def ones_(tensor: Var) -> Var:
    """Ones. Never fails."""
    return constant_(tensor, 1)


def eye_(tensor: Var) -> Var:
    """Ones on the diagonal of a matrix. Raises InvalidArgument (a ValueError) for another rank."""
    if tensor.ndim != 2:
        raise InvalidArgument(f"eye_ takes a matrix, its shape is {list(tensor.shape)}")
    return _set(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


def dirac_(tensor: Var, groups: int = 1) -> Var:
    """Filters [out, in / groups, ...] that give their input back. Raises InvalidArgument (a ValueError) for another rank and channels that do not divide
    evenly."""
    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups:
        raise InvalidArgument(f"dirac_ takes filters of 3 to 5 axes whose number the groups divide, the shape is {list(tensor.shape)}")
    value = np.zeros(tensor.shape, "float32")
    each, middle = tensor.shape[0] // groups, tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for i in range(min(each, tensor.shape[1])):
            place = (group * each + i, i, *middle)
            value[place] = 1
    return _set(tensor, value)


def fans(tensor: Var) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input, of a matrix [out, in] or filters [out, in, ...]. Raises InvalidArgument (a
    ValueError) for fewer axes."""
    shape = tensor.shape
    if len(shape) < 2:
        raise InvalidArgument(f"a weight has two axes at least, its shape is {list(shape)}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps variances through an activation; param: the slope of "leaky_relu". Raises InvalidArgument (a ValueError) for another name.

    >>> round(nn.init.calculate_gain("relu"), 4)
    1.4142
    """
    gains = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0, "conv_transpose3d": 1.0,
             "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75, "leaky_relu": math.sqrt(2 / (1 + (0.01 if param is None else param)**2))}
    if nonlinearity not in gains:
        raise InvalidArgument(f'there is no activation "{nonlinearity}"{nearest(nonlinearity, list(gains))}')
    return gains[nonlinearity]


def xavier_uniform_(tensor: Var, gain: float = 1.0) -> Var:
    """Numbers of equal chance with the deviation gain sqrt(2 / (inputs + outputs)) (Glorot and Bengio 2010). Raises InvalidArgument (a ValueError) for
    fewer than two axes."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Var, gain: float = 1.0) -> Var:
    """Normal numbers with the deviation gain sqrt(2 / (inputs + outputs)). Raises InvalidArgument (a ValueError) for fewer than two axes."""
    return normal_(tensor, 0, gain * math.sqrt(2 / sum(fans(tensor))))


def _kaiming(tensor: Var, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise InvalidArgument(f'mode is "fan_in" or "fan_out", not "{mode}"')
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor: Var, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Var:
    """Numbers of equal chance with the deviation gain / sqrt(inputs), or outputs (He et al. 2015). Raises InvalidArgument (a ValueError) for another
    mode or nonlinearity and fewer than two axes."""
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Var, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Var:
    """Normal numbers with the deviation gain / sqrt(inputs), or outputs. Raises the errors of kaiming_uniform_()."""
    return normal_(tensor, 0, _kaiming(tensor, a, mode, nonlinearity))


def orthogonal_(tensor: Var, gain: float = 1.0) -> Var:
    """Orthonormal rows, or columns, of [out, in * ...], times gain (Saxe et al. 2014). Raises InvalidArgument (a ValueError) for fewer than two axes."""
    fans(tensor)
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    q, r = np.linalg.qr(functional.normal((max(rows, columns), min(rows, columns))).evaluate())
    q = q * np.sign(np.diagonal(r))  # so that every orthogonal matrix has the same chance
    return _set(tensor, (q.T if rows < columns else q).reshape(tensor.shape) * gain)


__all__ = ["calculate_gain", "constant_", "dirac_", "eye_", "fans", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_",
           "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]

all_suggesting(globals(), __all__)
