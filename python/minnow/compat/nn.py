# SPDX-License-Identifier: Apache-2.0
"""Names and signatures of MNN.nn that differ from Minnow's."""
from __future__ import annotations

from typing import Any, Sequence

from minnow import _minnow, expr, nn
from minnow import numpy as np
from minnow._minnow import InvalidType, Var
from minnow.compat import expr as F
from minnow._typing import VarLike

# What MNN takes beside the names, and what it means here: None for what changes nothing.
_OPTIONS: dict[str, str | None] = {"dynamic": None, "shape_mutable": None, "rearrange": None, "backend": None, "power_mode": "power", "thread_num": "threads", "precision_mode": "precision",
            "memory_mode": "memory", "runtime_manager": "runtime_manager"}


def load_module_from_file(file_name: Any, input_names: Sequence[str] = (), output_names: Sequence[str] = (), **options: Any) -> nn.LoadedModule:
    """nn.load_module_from_file() with MNN's options: thread_num, precision_mode, memory_mode, power_mode, runtime_manager; those of its own execution
    (dynamic, shape_mutable, rearrange) change nothing. The backend is the CPU."""
    known: dict[str, Any] = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            raise InvalidType(f'load_module_from_file has no option "{name}"{_minnow.nearest(name, list(_OPTIONS))}')
        own = _OPTIONS[name]
        if own is not None and value is not None:
            known[own] = value
    for name, values in (("precision", nn._PRECISIONS), ("memory", nn._MEMORIES), ("power", nn._POWERS)):
        if name in known:
            known[name] = values.get(known[name], known[name])  # type: ignore[attr-defined]
    return nn.load_module_from_file(file_name, input_names, output_names, **known)


class _Parameters(list[Var]):
    """module.parameters, which is called in Minnow."""

    def __call__(self) -> list[Var]:
        return list(self)


class Module(nn.Module):
    """A module that is written: assign parameters and submodules to attributes, and write forward()."""

    name = ""

    @property
    def parameters(self) -> _Parameters:  # type: ignore[override]
        return _Parameters(value for _, value in self.named_parameters())

    def load_parameters(self, values: Any) -> bool:  # type: ignore[override]
        """Gives parameters their values, in the order of `parameters`."""
        super().load_parameters(values)
        return True

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, Module) and not value.name:
            value.set_name(name)

    def set_name(self, name: str) -> None:
        self.name = name

    @property
    def is_training(self) -> bool:
        return self.training

    def onForward(self, inputs: Sequence[Var]) -> list[Var]:
        """forward() with a list of Vars in and out."""
        result = self.forward(*inputs)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def clear_cache(self) -> None:
        """Nothing: memory is given back by itself."""


def _random(shape: Sequence[int], inputs: int, outputs: int) -> Var:
    """Glorot and Bengio 2010: normal numbers of the variance 2 / (inputs + outputs)."""
    return np.random.normal(0, (2 / (inputs + outputs)) ** 0.5, shape).astype("float32")


class _Convolution(Module):
    def __init__(self, weight: Var, bias: Var | None, arguments: tuple[Any, ...]) -> None:
        if bias is not None:
            self.bias = expr.trainable(bias)
        self.weight = expr.trainable(weight)
        self._arguments = arguments

    def forward(self, x: VarLike) -> Var:
        bias = self.bias if "bias" in vars(self) else np.zeros(self.weight.shape[:1], "float32")
        return F.conv2d(x, self.weight, bias, *self._arguments)


def conv(in_channels: int, out_channels: int, kernel_size: Sequence[int], stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), dilation: Sequence[int] = (1, 1),
         depthwise: bool = False, bias: bool = True, padding_mode: str = F.VALID) -> Module:
    """A convolution of [N, in_channels, H, W]; pairs are (x, y). Parameters: the bias [out_channels] and the weight [out_channels, in_channels, height,
    width]; depthwise, of as many channels in as out: [channels, 1, height, width]."""
    if depthwise and in_channels != out_channels:
        raise _minnow.InvalidArgument(f"a depthwise convolution has as many channels out as in, not {in_channels} and {out_channels}")
    group = in_channels if depthwise else 1
    area = kernel_size[0] * kernel_size[1]
    weight = _random([out_channels, in_channels // group, kernel_size[1], kernel_size[0]], in_channels // group * area, out_channels // group * area)
    return _Convolution(weight, np.zeros([out_channels], "float32") if bias else None, (list(stride), list(padding), list(dilation), group, padding_mode))


class _Linear(Module):
    def __init__(self, inputs: int, outputs: int, bias: bool) -> None:
        if bias:
            self.bias = expr.trainable(np.zeros([1, outputs], "float32"))
        self.weight = expr.trainable(_random([outputs, inputs], inputs, outputs))

    def forward(self, x: VarLike) -> Var:
        product = F.matmul(x, self.weight, False, True)
        return product + self.bias if "bias" in vars(self) else product


def linear(in_length: int, out_length: int, bias: bool = True) -> Module:
    """x @ weight.T + bias; parameters: the bias [1, out_length] and the weight [out_length, in_length]. (MNN makes a bias in any case.)"""
    return _Linear(in_length, out_length, bias)


class _BatchNorm(Module):
    def __init__(self, channels: int, dims: int, momentum: float, epsilon: float) -> None:
        if dims not in (2, 4):
            raise _minnow.InvalidArgument(f"batch_norm takes values of 2 or 4 axes, not {dims}")
        shape = [1, channels] + [1] * (dims - 2)
        self.scale, self.bias = expr.trainable(np.ones(shape, "float32")), expr.trainable(np.zeros(shape, "float32"))
        self.running_variance, self.running_mean = (expr.trainable(np.zeros(shape, "float32")) for _ in range(2))
        self._axes = (0, 2, 3) if dims == 4 else (0,)
        self._momentum, self._epsilon = momentum, epsilon

    def forward(self, x: VarLike) -> Var:
        value = np.asarray(x)
        mean, variance = self.running_mean, self.running_variance
        if self.training:
            mean, variance = np.mean(value, axis=self._axes, keepdims=True), np.var(value, axis=self._axes, keepdims=True)
            for kept, now in ((self.running_mean, mean), (self.running_variance, variance)):
                kept.assign((kept * self._momentum + now * (1 - self._momentum)).evaluate())
        return expr._with_format((value - mean) / np.sqrt(variance + self._epsilon) * self.scale + self.bias, expr.NCHW)


def batch_norm(channels: int, dims: int = 4, momentum: float = 0.99, epsilon: float = 1e-5) -> Module:
    """Ioffe and Szegedy 2015, of [N, channels] or [N, channels, H, W]: by the batch's mean and variance while training, else by the running ones, which
    begin at 0. Parameters: scale, bias, running variance, running mean."""
    return _BatchNorm(channels, dims, momentum, epsilon)


class _Dropout(Module):
    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def forward(self, x: VarLike) -> Var:
        value = np.asarray(x)
        if not self.training:
            return value
        kept = np.random.random(value.shape) >= self._ratio
        return value * kept.astype(value.dtype) / (1 - self._ratio)


def dropout(dropout_ratio: float) -> Module:
    """While training, that part of the elements is zero and the others 1 / (1 - ratio) times as large."""
    return _Dropout(dropout_ratio)


class loss:
    """Of predictions and targets [batch, classes]: one number, the mean over the batch."""

    @staticmethod
    def cross_entropy(predicts: VarLike, onehot_targets: VarLike) -> Var:
        """Of probabilities."""
        return -_mean(np.log(np.asarray(predicts)) * np.asarray(onehot_targets))

    @staticmethod
    def kl(predicts: VarLike, onehot_targets: VarLike) -> Var:
        """The sum of p log(p / target)."""
        p = np.asarray(predicts)
        return _mean(p * np.log(p / np.asarray(onehot_targets)))

    @staticmethod
    def mse(predicts: VarLike, onehot_targets: VarLike) -> Var:
        return _mean(np.square(np.asarray(predicts) - np.asarray(onehot_targets)))

    @staticmethod
    def mae(predicts: VarLike, onehot_targets: VarLike) -> Var:
        return _mean(np.abs(np.asarray(predicts) - np.asarray(onehot_targets)))

    @staticmethod
    def hinge(predicts: VarLike, onehot_targets: VarLike) -> Var:
        return _mean(np.maximum(1 - np.asarray(predicts) * np.asarray(onehot_targets), 0))


def _mean(of_elements: Var) -> Var:
    return np.sum(of_elements) / np.float32(of_elements.shape[0])


def _on_forward(self: nn.LoadedModule, inputs: Sequence[Var]) -> list[Var]:
    """forward() with a list of Vars in and out."""
    return self._call(list(inputs), {})


def _info(self: nn.LoadedModule) -> dict[str, Any]:
    """Names of inputs and outputs."""
    return {"inputNames": self.inputs, "outputNames": self.outputs, "version": "minnow"}


def _nothing(self: nn.RuntimeManager, *unused: Any) -> None:
    """Nothing: plans need no file, files beside a model are found by the names that it gives, and sessions have no modes."""


for _name in ("set_cache", "update_cache", "set_mode", "set_hint", "set_external"):
    setattr(nn.RuntimeManager, _name, _nothing)

for _name, _value in {"onForward": _on_forward, "get_info": _info, "set_name": Module.set_name, "name": "", "is_training": Module.is_training,
                      "clear_cache": Module.clear_cache}.items():
    setattr(nn.LoadedModule, _name, _value)

__all__ = ["Module", "batch_norm", "conv", "dropout", "linear", "load_module_from_file", "loss"]
