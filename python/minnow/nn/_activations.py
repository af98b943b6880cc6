# SPDX-License-Identifier: Apache-2.0
"""Activations as layers. Arguments are torch's; `inplace` does not matter, because expressions share memory where they can."""
from __future__ import annotations

from minnow._typing import DTypeLike, VarLike
from minnow._minnow import Var
from minnow.nn import functional as F
from minnow.nn._layers import FunctionLayer, parameter
from minnow.nn._module import Module


class CELU(FunctionLayer):
    """functional.celu(). Raises its errors.

    >>> np.round(nn.CELU()(minnow.Var([-1.0, 2.0], "float32")), 3)
    Var([-0.632,  2.   ], shape=(2,), dtype=float32)
    """
    _function = F.celu

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._set(alpha=alpha)


class ELU(FunctionLayer):
    """functional.elu(). Raises its errors.

    >>> np.round(nn.ELU()(minnow.Var([-1.0, 2.0], "float32")), 3)
    Var([-0.632,  2.   ], shape=(2,), dtype=float32)
    """
    _function = F.elu

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._set(alpha=alpha)


class GELU(FunctionLayer):
    """functional.gelu(). Raises its errors.

    >>> np.round(nn.GELU()(minnow.Var([-1.0, 2.0], "float32")), 3)
    Var([-0.159,  1.954], shape=(2,), dtype=float32)
    """
    _function = F.gelu

    def __init__(self, approximate: str = "none") -> None:
        self._set(approximate=approximate)


class GLU(FunctionLayer):
    """functional.glu(). Raises its errors.

    >>> nn.GLU()(minnow.Var([3.0, 0.0], "float32"))
    Var([1.5], shape=(1,), dtype=float32)
    """
    _function = F.glu

    def __init__(self, dim: int = -1) -> None:
        self._set(dim=dim)


class Hardshrink(FunctionLayer):
    """functional.hardshrink(). Raises its errors.

    >>> nn.Hardshrink()(minnow.Var([-0.25, 2.0], "float32"))
    Var([0., 2.], shape=(2,), dtype=float32)
    """
    _function = F.hardshrink

    def __init__(self, lambd: float = 0.5) -> None:
        self._set(lambd=lambd)


class Hardsigmoid(FunctionLayer):
    """functional.hardsigmoid(). Raises its errors.

    >>> nn.Hardsigmoid()(minnow.Var([-4.0, 0.0, 1.5], "float32"))
    Var([0.  , 0.5 , 0.75], shape=(3,), dtype=float32)
    """
    _function = F.hardsigmoid

    def __init__(self, inplace: bool = False) -> None:
        pass


class Hardswish(FunctionLayer):
    """functional.hardswish(). Raises its errors.

    >>> nn.Hardswish()(minnow.Var([-4.0, 0.0, 1.5], "float32"))
    Var([-0.   ,  0.   ,  1.125], shape=(3,), dtype=float32)
    """
    _function = F.hardswish

    def __init__(self, inplace: bool = False) -> None:
        pass


class Hardtanh(FunctionLayer):
    """functional.hardtanh(). Raises its errors.

    >>> nn.Hardtanh()(minnow.Var([-2.0, 0.5], "float32"))
    Var([-1. ,  0.5], shape=(2,), dtype=float32)
    """
    _function = F.hardtanh

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        self._set(min_val=min_val, max_val=max_val)


class LeakyReLU(FunctionLayer):
    """functional.leaky_relu(). Raises its errors.

    >>> nn.LeakyReLU(0.25)(minnow.Var([-1.0, 2.0], "float32"))
    Var([-0.25,  2.  ], shape=(2,), dtype=float32)
    """
    _function = F.leaky_relu

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self._set(negative_slope=negative_slope)


class LogSigmoid(FunctionLayer):
    """functional.logsigmoid(). Raises its errors.

    >>> np.round(nn.LogSigmoid()(minnow.Var([0.0, 2.0], "float32")), 3)
    Var([-0.693, -0.127], shape=(2,), dtype=float32)
    """
    _function = F.logsigmoid


class LogSoftmax(FunctionLayer):
    """functional.log_softmax(). Raises its errors.

    >>> np.round(nn.LogSoftmax()(minnow.Var([0.0, 0.0], "float32")), 3)
    Var([-0.693, -0.693], shape=(2,), dtype=float32)
    """
    _function = F.log_softmax

    def __init__(self, dim: int = -1) -> None:
        self._set(dim=dim)


class Mish(FunctionLayer):
    """functional.mish(). Raises its errors.

    >>> np.round(nn.Mish()(minnow.Var([-1.0, 2.0], "float32")), 3)
    Var([-0.303,  1.944], shape=(2,), dtype=float32)
    """
    _function = F.mish

    def __init__(self, inplace: bool = False) -> None:
        pass


class ReLU(FunctionLayer):
    """functional.relu(). Raises its errors.

    >>> nn.ReLU()(minnow.Var([-1.0, 2.0], "float32"))
    Var([0., 2.], shape=(2,), dtype=float32)
    """
    _function = F.relu

    def __init__(self, inplace: bool = False) -> None:
        pass


class ReLU6(FunctionLayer):
    """functional.relu6(). Raises its errors.

    >>> nn.ReLU6()(minnow.Var([-1.0, 2.0, 7.0], "float32"))
    Var([0., 2., 6.], shape=(3,), dtype=float32)
    """
    _function = F.relu6

    def __init__(self, inplace: bool = False) -> None:
        pass


class SELU(FunctionLayer):
    """functional.selu(). Raises its errors.

    >>> np.round(nn.SELU()(minnow.Var([-1.0, 2.0], "float32")), 3)
    Var([-1.111,  2.101], shape=(2,), dtype=float32)
    """
    _function = F.selu

    def __init__(self, inplace: bool = False) -> None:
        pass


class SiLU(FunctionLayer):
    """functional.silu(). Raises its errors.

    >>> np.round(nn.SiLU()(minnow.Var([-1.0, 2.0], "float32")), 3)
    Var([-0.269,  1.762], shape=(2,), dtype=float32)
    """
    _function = F.silu

    def __init__(self, inplace: bool = False) -> None:
        pass


class Sigmoid(FunctionLayer):
    """functional.sigmoid(). Raises its errors.

    >>> np.round(nn.Sigmoid()(minnow.Var([0.0, 2.0], "float32")), 3)
    Var([0.5  , 0.881], shape=(2,), dtype=float32)
    """
    _function = F.sigmoid


class Softmax(FunctionLayer):
    """functional.softmax(). Raises its errors.

    >>> nn.Softmax()(minnow.Var([0.0, 0.0], "float32"))
    Var([0.5, 0.5], shape=(2,), dtype=float32)
    """
    _function = F.softmax

    def __init__(self, dim: int = -1) -> None:
        self._set(dim=dim)


class Softmin(FunctionLayer):
    """functional.softmin(). Raises its errors.

    >>> nn.Softmin()(minnow.Var([0.0, 0.0], "float32"))
    Var([0.5, 0.5], shape=(2,), dtype=float32)
    """
    _function = F.softmin

    def __init__(self, dim: int = -1) -> None:
        self._set(dim=dim)


class Softplus(FunctionLayer):
    """functional.softplus(). Raises its errors.

    >>> np.round(nn.Softplus()(minnow.Var([-1.0, 2.0], "float32")), 3)
    Var([0.313, 2.127], shape=(2,), dtype=float32)
    """
    _function = F.softplus

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self._set(beta=beta, threshold=threshold)


class Softshrink(FunctionLayer):
    """functional.softshrink(). Raises its errors.

    >>> nn.Softshrink()(minnow.Var([-0.25, 2.0], "float32"))
    Var([0. , 1.5], shape=(2,), dtype=float32)
    """
    _function = F.softshrink

    def __init__(self, lambd: float = 0.5) -> None:
        self._set(lambd=lambd)


class Softsign(FunctionLayer):
    """functional.softsign(). Raises its errors.

    >>> nn.Softsign()(minnow.Var([-1.0, 3.0], "float32"))
    Var([-0.5 ,  0.75], shape=(2,), dtype=float32)
    """
    _function = F.softsign


class Tanh(FunctionLayer):
    """functional.tanh(). Raises its errors.

    >>> np.round(nn.Tanh()(minnow.Var([0.0, 2.0], "float32")), 3)
    Var([0.   , 0.964], shape=(2,), dtype=float32)
    """
    _function = F.tanh


class Tanhshrink(FunctionLayer):
    """functional.tanhshrink(). Raises its errors.

    >>> np.round(nn.Tanhshrink()(minnow.Var([0.0, 2.0], "float32")), 3)
    Var([0.   , 1.036], shape=(2,), dtype=float32)
    """
    _function = F.tanhshrink


class Threshold(FunctionLayer):
    """functional.threshold(). Raises its errors.

    >>> nn.Threshold(0.5, 9.0)(minnow.Var([0.25, 2.0], "float32"))
    Var([9., 2.], shape=(2,), dtype=float32)
    """
    _function = F.threshold

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self._set(threshold=threshold, value=value)


class PReLU(Module):
    """functional.prelu() with a parameter `weight`, one number or one for each channel. Raises its errors.

    >>> nn.PReLU()(minnow.Var([-1.0, 2.0], "float32"))
    Var([-0.25,  2.  ], shape=(2,), dtype=float32)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: DTypeLike = "float32") -> None:
        self.num_parameters = num_parameters
        self.weight = parameter((num_parameters,), dtype, init)

    def forward(self, input: VarLike) -> Var:
        return F.prelu(input, self.weight)


__all__ = ["CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish",
           "PReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
           "Threshold"]
