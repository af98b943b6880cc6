# SPDX-License-Identifier: Apache-2.0
"""Layers of one operator each: products, convolutions, pools, normalizations, embeddings, dropout. Names, arguments and parameters are torch's."""
from __future__ import annotations

import math
from typing import Any, Iterator, Sequence, TypeVar

from minnow import numpy as np
from minnow._minnow import InvalidArgument, Var
from minnow._minnow import trainable as _trainable
from minnow._typing import DTypeLike, VarLike
from minnow.nn import functional as F
from minnow.nn import init
from minnow.nn._module import Module
from minnow.nn._tracing import read_buffer, update_buffer
from minnow.nn.functional import Size, _many


def parameter(shape: Sequence[int], dtype: DTypeLike = "float32", value: float = 0.0) -> Var:
    """A trainable array of this number. Raises InvalidType (a TypeError) for a wrong dtype."""
    return _trainable(np.full(tuple(shape), value, dtype))


def uniform_parameter(shape: Sequence[int], bound: float, dtype: DTypeLike = "float32") -> Var:
    """A trainable array of numbers of equal chance between -bound and bound. Raises InvalidType (a TypeError) for a wrong dtype."""
    return init.uniform_(parameter(shape, dtype), -bound, bound)


class FunctionLayer(Module):
    """A function with the layer's settings as its arguments. Raises the errors of the function."""
    _function: Any
    _settings: tuple[str, ...] = ()

    def _set(self, **settings: Any) -> None:
        self._settings = tuple(settings)
        vars(self).update(settings)

    def forward(self, *inputs: VarLike) -> Any:
        return type(self)._function(*inputs, **{name: getattr(self, name) for name in self._settings})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._settings)})"


class Lora(Module):
    """A low-rank change of a layer's weight: scale B A for each of its parts, with a [parts, rank, inputs] and b [parts, outputs, rank]. nn.lora() adds
    it to layers. Raises nothing."""

    def __init__(self, a: Var, b: Var, scale: float) -> None:
        self.a, self.b, self.scale = a, b, scale
        self.merged: Var | None = None  # the weight as it was, while it contains the change

    def _named_vars(self) -> Iterator[tuple[str, Var, bool]]:
        # A merged adapter is not saved, so that the state is that of the plain network.
        for name in "ab":
            yield name, getattr(self, name), self.merged is None

    def added_to(self, weight: Var) -> Var:
        """The weight with the change."""
        return weight + F.op("Reshape", F.op("MatMul", self.b, self.a) * self.scale, Var(list(weight.shape), "int64"))

    def of_linear(self, input: VarLike) -> Var:
        """The change of a linear layer's output."""
        return F.linear(F.linear(input, self.a[0]), self.b[0]) * self.scale


class _Adapted(Module):
    """A layer that may have adapters. The name of one is its path below the layer: "lora", or "q_proj.lora" of one of several weights."""
    lora: Lora | None = None

    def _adaptable(self) -> dict[str, Var]:
        """Weights that may have an adapter, by the adapter's name."""
        own: Any = self
        return {"lora": own.weight}

    def _adapter(self, name: str) -> Lora | None:
        made: Lora | None = vars(self).get(name)
        return made

    def _set_adapter(self, name: str, adapter: Lora | None) -> None:
        if adapter is None:
            delattr(self, name)
        else:
            setattr(self, name, adapter)

    def _with_lora(self, weight: Var, name: str = "lora") -> Var:
        adapter = self._adapter(name)
        return weight if adapter is None or adapter.merged is not None else adapter.added_to(weight)


class Identity(Module):
    """Gives its input; arguments do not matter. Raises nothing.

    >>> nn.Identity()(minnow.Var([1.0, 2.0], "float32"))
    Var([1., 2.], shape=(2,), dtype=float32)
    """

    def __init__(self, *unused: Any, **also_unused: Any) -> None:
        pass

    def forward(self, input: Any) -> Any:
        return input


class Linear(_Adapted):
    """x weight^T + bias of [..., in_features]; weight [out_features, in_features]. Both begin with numbers of equal chance within 1 /
    sqrt(in_features). Raises InvalidModel (a ValueError) for inputs that do not fit.

    >>> nn.Linear(3, 2)(minnow.Var([[1.0, 2.0, 3.0]], "float32")).shape
    (1, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, dtype: DTypeLike = "float32") -> None:
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(max(in_features, 1))
        self.weight = uniform_parameter((out_features, in_features), bound, dtype)
        self.bias = uniform_parameter((out_features,), bound, dtype) if bias else None

    def forward(self, input: VarLike) -> Var:
        y = F.linear(input, self.weight, self.bias)
        return y if self.lora is None or self.lora.merged is not None else y + self.lora.of_linear(input)


class Bilinear(Module):
    """x1^T weight[k] x2 + bias[k] for each output k. Raises InvalidModel (a ValueError) for inputs that do not fit.

    >>> nn.Bilinear(3, 4, 2)(np.zeros((5, 3), "float32"), np.zeros((5, 4), "float32")).shape
    (5, 2)
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, *, dtype: DTypeLike = "float32") -> None:
        bound = 1 / math.sqrt(max(in1_features, 1))
        self.weight = uniform_parameter((out_features, in1_features, in2_features), bound, dtype)
        self.bias = uniform_parameter((out_features,), bound, dtype) if bias else None

    def forward(self, input1: VarLike, input2: VarLike) -> Var:
        return F.bilinear(input1, input2, self.weight, self.bias)


class Embedding(Module):
    """Rows of weight [num_embeddings, embedding_dim] for indices; the row padding_idx begins with zeros and does not change. Others begin with normal
    numbers. Raises InvalidArgument (a ValueError) for a padding_idx that there is not.

    >>> nn.Embedding(10, 4)(minnow.Var([[1, 2, 1]])).shape
    (1, 3, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, *, dtype: DTypeLike = "float32") -> None:
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise InvalidArgument(f"padding_idx is one of {num_embeddings} rows, it is {padding_idx}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        self.weight = init.normal_(parameter((num_embeddings, embedding_dim), dtype))
        if self.padding_idx is not None:
            rows = np.array(self.weight)
            rows[self.padding_idx] = 0
            self.weight.assign(rows)

    @classmethod
    def from_pretrained(cls, embeddings: VarLike, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """A layer with these rows [count, size], which are frozen (see nn.freeze()) unless freeze is False. Raises InvalidArgument (a ValueError) for
        another rank.

        >>> nn.Embedding.from_pretrained(minnow.Var([[1.0, 2.0], [3.0, 4.0]], "float32"))(minnow.Var([1]))
        Var([[3., 4.]], shape=(1, 2), dtype=float32)
        """
        return _with_rows(cls(*_rows_of(embeddings), padding_idx, dtype=F._var(embeddings).dtype), embeddings, freeze)

    def forward(self, input: VarLike) -> Var:
        return F.embedding(input, self.weight, self.padding_idx)


_Rows = TypeVar("_Rows", bound="Embedding | EmbeddingBag")


def _rows_of(embeddings: VarLike) -> tuple[int, int]:
    F._rank_is(F.shape_of(embeddings), 2)
    count, size = F.shape_of(embeddings)
    return count, size


def _with_rows(layer: _Rows, embeddings: VarLike, freeze: bool) -> _Rows:
    layer.weight.assign(embeddings)
    if freeze:
        layer.requires_grad_(False)
    return layer


class EmbeddingBag(Module):
    """functional.embedding_bag() with rows `weight` [num_embeddings, embedding_dim], which begin with normal numbers: bag(input, offsets,
    per_sample_weights). Raises its errors.

    >>> nn.EmbeddingBag(10, 4, mode="sum")(minnow.Var([1, 2, 4, 5]), minnow.Var([0, 3])).shape
    (2, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, mode: str = "mean", include_last_offset: bool = False, padding_idx: int | None = None, *,
                 dtype: DTypeLike = "float32") -> None:
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset, self.padding_idx = include_last_offset, padding_idx
        self.weight = init.normal_(parameter((num_embeddings, embedding_dim), dtype))

    @classmethod
    def from_pretrained(cls, embeddings: VarLike, freeze: bool = True, mode: str = "mean", include_last_offset: bool = False,
                        padding_idx: int | None = None) -> EmbeddingBag:
        """A layer with these rows [count, size], which are frozen (see nn.freeze()) unless freeze is False. Raises InvalidArgument (a ValueError) for
        another rank."""
        return _with_rows(cls(*_rows_of(embeddings), mode, include_last_offset, padding_idx, dtype=F._var(embeddings).dtype), embeddings, freeze)

    def forward(self, input: VarLike, offsets: VarLike | None = None, per_sample_weights: VarLike | None = None) -> Var:
        return F.embedding_bag(input, self.weight, offsets, self.mode, per_sample_weights, self.padding_idx, self.include_last_offset)


# ---- Convolutions

class _Conv(_Adapted):
    _axes = 0
    _transposed = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size, padding: Any, dilation: Size, groups: int, bias: bool,
                 padding_mode: str, dtype: DTypeLike, output_padding: Size = 0) -> None:
        if in_channels % groups or out_channels % groups:
            raise InvalidArgument(f"groups divide the channels, there are {groups} for {in_channels} and {out_channels} channels")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular") or (self._transposed and padding_mode != "zeros"):
            raise InvalidArgument(f'padding_mode is "zeros"{"" if self._transposed else ", " + repr("reflect") + ", " + repr("replicate") + " or " + repr("circular")}, not "{padding_mode}"')
        axes = self._axes
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride, self.dilation = (tuple(_many(value, axes)) for value in (kernel_size, stride, dilation))
        self.padding = padding if isinstance(padding, str) else tuple(_many(padding, axes))
        self.output_padding = tuple(_many(output_padding, axes))
        first, second = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        bound = 1 / math.sqrt(max(math.prod(shape[1:]), 1))
        self.weight = uniform_parameter(shape, bound, dtype)
        self.bias = uniform_parameter((out_channels,), bound, dtype) if bias else None

    def forward(self, input: VarLike, output_size: Sequence[int] | None = None) -> Var:
        """Raises InvalidModel (a ValueError) for inputs that do not fit."""
        axes, weight = self._axes, self._with_lora(self.weight)
        if self._transposed:
            more = self.output_padding
            if output_size is not None:
                pads: Any = self.padding
                sizes = [(size - 1) * step - 2 * pad + spread * (kernel - 1) + 1
                         for size, step, pad, spread, kernel in zip(F.shape_of(input)[-axes:], self.stride, pads, self.dilation, self.kernel_size)]
                more = tuple(want - size for want, size in zip(output_size[-axes:], sizes))
                if any(not 0 <= extra < step for extra, step in zip(more, self.stride)):
                    raise InvalidArgument(f"output_size is from {sizes} to less than {[size + step for size, step in zip(sizes, self.stride)]}, it is {list(output_size)}")
            return F._conv_transpose(axes, input, weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)  # type: ignore[arg-type]
        if self.padding_mode == "zeros":
            return F._conv(axes, input, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
        both = F._pads(self.padding, self.kernel_size, self.dilation, self.stride)
        pairs = [both[place] for i in reversed(range(axes)) for place in (i, i + axes)]
        return F._conv(axes, F.pad(input, pairs, self.padding_mode), weight, self.bias, self.stride, 0, self.dilation, self.groups)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}({self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"padding={self.padding!r}, groups={self.groups}, bias={self.bias is not None})")


class _ForwardConv(_Conv):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Any = 0, dilation: Size = 1, groups: int = 1,
                 bias: bool = True, padding_mode: str = "zeros", *, dtype: DTypeLike = "float32") -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype)


class _TransposedConv(_Conv):
    _transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0, output_padding: Size = 0, groups: int = 1,
                 bias: bool = True, dilation: Size = 1, padding_mode: str = "zeros", *, dtype: DTypeLike = "float32") -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype, output_padding)


class Conv1d(_ForwardConv):
    """functional.conv1d() with filters `weight` and `bias`, which begin with numbers of equal chance within 1 / sqrt(inputs of an output).
    padding_mode: "zeros", "reflect", "replicate", "circular". Raises InvalidArgument (a ValueError) for arguments that do not fit.

    >>> nn.Conv1d(3, 8, 3)(np.zeros((2, 3, 10), "float32")).shape
    (2, 8, 8)
    """
    _axes = 1


class Conv2d(_ForwardConv):
    """Conv1d of pictures [N, C, H, W]. Raises its errors.

    >>> nn.Conv2d(3, 8, 3, stride=2, padding=1)(minnow.Var([[[[0.5] * 6] * 6] * 3], "float32")).shape
    (1, 8, 3, 3)
    """
    _axes = 2


class Conv3d(_ForwardConv):
    """Conv1d of volumes [N, C, D, H, W]. Raises its errors.

    >>> nn.Conv3d(3, 8, 3, padding=1)(np.zeros((1, 3, 4, 5, 6), "float32")).shape
    (1, 8, 4, 5, 6)
    """
    _axes = 3


class ConvTranspose1d(_TransposedConv):
    """functional.conv_transpose1d() with filters `weight` [in, out / groups, kernel] and `bias`. output_size, an argument of the call, chooses among
    the sizes whose convolution has the input's. Raises InvalidArgument (a ValueError) for arguments that do not fit.

    >>> nn.ConvTranspose1d(3, 8, 4, stride=2, padding=1)(np.zeros((2, 3, 10), "float32")).shape
    (2, 8, 20)
    """
    _axes = 1


class ConvTranspose2d(_TransposedConv):
    """ConvTranspose1d of pictures [N, C, H, W]. Raises its errors.

    >>> nn.ConvTranspose2d(3, 8, 2, stride=2)(np.zeros((1, 3, 4, 5), "float32")).shape
    (1, 8, 8, 10)
    """
    _axes = 2


class ConvTranspose3d(_TransposedConv):
    """ConvTranspose1d of volumes [N, C, D, H, W]. Raises its errors.

    >>> nn.ConvTranspose3d(3, 8, 2, stride=2)(np.zeros((1, 3, 2, 3, 4), "float32")).shape
    (1, 8, 4, 6, 8)
    """
    _axes = 3


# ---- Pools

class _MaxPool(FunctionLayer):
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, return_indices: bool = False,
                 ceil_mode: bool = False) -> None:
        self._set(kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode, return_indices=return_indices)


class MaxPool1d(_MaxPool):
    """functional.max_pool1d(). Raises its errors.

    >>> nn.MaxPool1d(2)(np.arange(6.0).reshape(1, 1, 6).astype("float32")).ravel()
    Var([1., 3., 5.], shape=(3,), dtype=float32)
    """
    _function = F.max_pool1d


class MaxPool2d(_MaxPool):
    """functional.max_pool2d(). Raises its errors.

    >>> nn.MaxPool2d((2, 1))(np.arange(6.0).reshape(1, 1, 2, 3).astype("float32")).ravel()
    Var([3., 4., 5.], shape=(3,), dtype=float32)
    """
    _function = F.max_pool2d


class MaxPool3d(_MaxPool):
    """functional.max_pool3d(). Raises its errors.

    >>> nn.MaxPool3d((1, 2, 1))(np.arange(6.0).reshape(1, 1, 1, 2, 3).astype("float32")).ravel()
    Var([3., 4., 5.], shape=(3,), dtype=float32)
    """
    _function = F.max_pool3d


class AvgPool1d(FunctionLayer):
    """functional.avg_pool1d(). Raises its errors.

    >>> nn.AvgPool1d(2)(np.arange(6.0).reshape(1, 1, 6).astype("float32")).ravel()
    Var([0.5, 2.5, 4.5], shape=(3,), dtype=float32)
    """
    _function = F.avg_pool1d

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        self._set(kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad)


class _AvgPool(FunctionLayer):
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None) -> None:
        self._set(kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
                  divisor_override=divisor_override)


class AvgPool2d(_AvgPool):
    """functional.avg_pool2d(). Raises its errors.

    >>> nn.AvgPool2d((2, 1))(np.arange(6.0).reshape(1, 1, 2, 3).astype("float32")).ravel()
    Var([1.5, 2.5, 3.5], shape=(3,), dtype=float32)
    """
    _function = F.avg_pool2d


class AvgPool3d(_AvgPool):
    """functional.avg_pool3d(). Raises its errors.

    >>> nn.AvgPool3d((1, 2, 1))(np.arange(6.0).reshape(1, 1, 1, 2, 3).astype("float32")).ravel()
    Var([1.5, 2.5, 3.5], shape=(3,), dtype=float32)
    """
    _function = F.avg_pool3d


class _AdaptivePool(FunctionLayer):
    def __init__(self, output_size: Any) -> None:
        self._set(output_size=output_size)


class AdaptiveAvgPool1d(_AdaptivePool):
    """functional.adaptive_avg_pool1d(). Raises its errors.

    >>> nn.AdaptiveAvgPool1d(1)(np.arange(6.0).reshape(1, 1, 6).astype("float32")).ravel()
    Var([2.5], shape=(1,), dtype=float32)
    """
    _function = F.adaptive_avg_pool1d


class AdaptiveAvgPool2d(_AdaptivePool):
    """functional.adaptive_avg_pool2d(). Raises its errors.

    >>> nn.AdaptiveAvgPool2d(1)(np.arange(6.0).reshape(1, 1, 2, 3).astype("float32")).ravel()
    Var([2.5], shape=(1,), dtype=float32)
    """
    _function = F.adaptive_avg_pool2d


class AdaptiveAvgPool3d(_AdaptivePool):
    """functional.adaptive_avg_pool3d(). Raises its errors.

    >>> nn.AdaptiveAvgPool3d(1)(np.arange(6.0).reshape(1, 1, 1, 2, 3).astype("float32")).ravel()
    Var([2.5], shape=(1,), dtype=float32)
    """
    _function = F.adaptive_avg_pool3d


class AdaptiveMaxPool1d(_AdaptivePool):
    """functional.adaptive_max_pool1d(). Raises its errors.

    >>> nn.AdaptiveMaxPool1d(1)(np.arange(6.0).reshape(1, 1, 6).astype("float32")).ravel()
    Var([5.], shape=(1,), dtype=float32)
    """
    _function = F.adaptive_max_pool1d


class AdaptiveMaxPool2d(_AdaptivePool):
    """functional.adaptive_max_pool2d(). Raises its errors.

    >>> nn.AdaptiveMaxPool2d(1)(np.arange(6.0).reshape(1, 1, 2, 3).astype("float32")).ravel()
    Var([5.], shape=(1,), dtype=float32)
    """
    _function = F.adaptive_max_pool2d


class AdaptiveMaxPool3d(_AdaptivePool):
    """functional.adaptive_max_pool3d(). Raises its errors.

    >>> nn.AdaptiveMaxPool3d(1)(np.arange(6.0).reshape(1, 1, 1, 2, 3).astype("float32")).ravel()
    Var([5.], shape=(1,), dtype=float32)
    """
    _function = F.adaptive_max_pool3d


# ---- Normalizations

class _RunningNorm(Module):
    """A normalization of channels with running statistics."""
    _ranks: tuple[int, ...] = ()
    weight: Var | None
    bias: Var | None
    running_mean: Var | None
    running_var: Var | None
    num_batches_tracked: Var | None

    def __init__(self, num_features: int, eps: float, momentum: float | None, affine: bool, track_running_stats: bool, dtype: DTypeLike) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = parameter((num_features,), dtype, 1.0) if affine else None
        self.bias = parameter((num_features,), dtype) if affine else None
        self.track_running_stats = track_running_stats
        self.running_mean = np.zeros(num_features, dtype) if track_running_stats else None
        self.running_var = np.ones(num_features, dtype) if track_running_stats else None
        self.num_batches_tracked = np.zeros((), "int64") if track_running_stats else None

    def _check(self, input: VarLike) -> None:
        F._rank_is(F.dims_of(input), *self._ranks)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_features}, eps={self.eps}, momentum={self.momentum})"


class _BatchNorm(_RunningNorm):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, *,
                 dtype: DTypeLike = "float32") -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)

    def _share(self) -> float | Var:
        """How much the batch counts; with momentum None all batches count alike."""
        if not self.training or self.num_batches_tracked is None:
            return 0.0
        count = read_buffer(self.num_batches_tracked) + 1
        update_buffer(self.num_batches_tracked, count)
        return 1.0 / count.astype("float32") if self.momentum is None else self.momentum

    def forward(self, input: VarLike) -> Var:
        self._check(input)
        share = self._share()
        if self.training or self.running_mean is None or self.running_var is None:
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, True, share, self.eps)  # type: ignore[arg-type]
        return F.batch_norm(input, read_buffer(self.running_mean), read_buffer(self.running_var), self.weight, self.bias, False, 0, self.eps)


class BatchNorm1d(_BatchNorm):
    """functional.batch_norm() of [N, C] or [N, C, L]. Buffers: running_mean, running_var (which counts n - 1) and num_batches_tracked; in training they
    move by `momentum` towards the batch, with None they are the mean of all batches. Raises InvalidArgument (a ValueError) for another rank.

    >>> np.round(nn.BatchNorm1d(1)(minnow.Var([-1.0, 1.0], "float32").reshape(2, 1, 1)).ravel(), 3)
    Var([-1.,  1.], shape=(2,), dtype=float32)
    """
    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d of [N, C, H, W]. Raises its errors.

    >>> np.round(nn.BatchNorm2d(1)(minnow.Var([-1.0, 1.0], "float32").reshape(2, 1, 1, 1)).ravel(), 3)
    Var([-1.,  1.], shape=(2,), dtype=float32)
    """
    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """BatchNorm1d of [N, C, D, H, W]. Raises its errors.

    >>> np.round(nn.BatchNorm3d(1)(minnow.Var([-1.0, 1.0], "float32").reshape(2, 1, 1, 1, 1)).ravel(), 3)
    Var([-1.,  1.], shape=(2,), dtype=float32)
    """
    _ranks = (5,)


class _InstanceNorm(_RunningNorm):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, *,
                 dtype: DTypeLike = "float32") -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)

    def forward(self, input: VarLike) -> Var:
        self._check(input)
        if self.training or self.running_mean is None or self.running_var is None:
            return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias, True, self.momentum or 0.0, self.eps)
        return F.instance_norm(input, read_buffer(self.running_mean), read_buffer(self.running_var), self.weight, self.bias, False, 0, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """functional.instance_norm() of [N, C, L]. With track_running_stats it has the buffers of BatchNorm1d. Raises InvalidArgument (a ValueError) for
    another rank.

    >>> np.round(nn.InstanceNorm1d(1)(minnow.Var([-1.0, 1.0], "float32").reshape(1, 1, 2)).ravel(), 3)
    Var([-1.,  1.], shape=(2,), dtype=float32)
    """
    _ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d of [N, C, H, W]. Raises its errors.

    >>> np.round(nn.InstanceNorm2d(1)(minnow.Var([-1.0, 1.0], "float32").reshape(1, 1, 2, 1)).ravel(), 3)
    Var([-1.,  1.], shape=(2,), dtype=float32)
    """
    _ranks = (4,)


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm1d of [N, C, D, H, W]. Raises its errors.

    >>> np.round(nn.InstanceNorm3d(1)(minnow.Var([-1.0, 1.0], "float32").reshape(1, 1, 2, 1, 1)).ravel(), 3)
    Var([-1.,  1.], shape=(2,), dtype=float32)
    """
    _ranks = (5,)


class LayerNorm(Module):
    """functional.layer_norm(). Raises its errors.

    >>> np.round(nn.LayerNorm(2)(minnow.Var([[-1.0, 1.0]], "float32")), 3)
    Var([[-1.,  1.]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, normalized_shape: Size, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, *, dtype: DTypeLike = "float32") -> None:
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = parameter(self.normalized_shape, dtype, 1.0) if elementwise_affine else None
        self.bias = parameter(self.normalized_shape, dtype) if elementwise_affine and bias else None

    def forward(self, input: VarLike) -> Var:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """functional.rms_norm(). Raises its errors.

    >>> np.round(nn.RMSNorm(2)(minnow.Var([[-1.0, 1.0]], "float32")), 3)
    Var([[-1.,  1.]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, normalized_shape: Size, eps: float | None = None, elementwise_affine: bool = True, *, dtype: DTypeLike = "float32") -> None:
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = parameter(self.normalized_shape, dtype, 1.0) if elementwise_affine else None

    def forward(self, input: VarLike) -> Var:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """functional.group_norm(). Raises its errors.

    >>> np.round(nn.GroupNorm(1, 2)(minnow.Var([[-1.0, 1.0]], "float32")), 3)
    Var([[-1.,  1.]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, *, dtype: DTypeLike = "float32") -> None:
        if num_channels % num_groups:
            raise InvalidArgument(f"num_groups divides the channels, there are {num_groups} for {num_channels} channels")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = parameter((num_channels,), dtype, 1.0) if affine else None
        self.bias = parameter((num_channels,), dtype) if affine else None

    def forward(self, input: VarLike) -> Var:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


# ---- Dropout

class _Dropout(FunctionLayer):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        if not 0 <= p <= 1:
            raise InvalidArgument(f"a probability is between 0 and 1, p is {p}")
        self._set(p=p)

    def forward(self, input: VarLike) -> Any:  # type: ignore[override]
        return type(self)._function(input, self.p, self.training)  # type: ignore[attr-defined]


class Dropout(_Dropout):
    """functional.dropout(); `inplace` does not matter. Raises InvalidArgument (a ValueError) for p outside of [0, 1].

    >>> nn.Dropout(0.5).eval()(minnow.Var([1.0, 2.0], "float32"))
    Var([1., 2.], shape=(2,), dtype=float32)
    """
    _function = F.dropout


class Dropout1d(_Dropout):
    """functional.dropout1d(). Raises its errors.

    >>> nn.Dropout1d(0.5).eval()(minnow.Var([1.0, 2.0], "float32").reshape(1, 2, 1)).ravel()
    Var([1., 2.], shape=(2,), dtype=float32)
    """
    _function = F.dropout1d


class Dropout2d(_Dropout):
    """functional.dropout2d(). Raises its errors.

    >>> nn.Dropout2d(0.5).eval()(minnow.Var([1.0, 2.0], "float32").reshape(1, 2, 1, 1)).ravel()
    Var([1., 2.], shape=(2,), dtype=float32)
    """
    _function = F.dropout2d


class Dropout3d(_Dropout):
    """functional.dropout3d(). Raises its errors.

    >>> nn.Dropout3d(0.5).eval()(minnow.Var([1.0, 2.0], "float32").reshape(1, 2, 1, 1, 1)).ravel()
    Var([1., 2.], shape=(2,), dtype=float32)
    """
    _function = F.dropout3d


# ---- Movement

class Flatten(Module):
    """The axes start_dim to end_dim become one. Raises InvalidArgument (a ValueError) for axes that there are not.

    >>> nn.Flatten()(np.zeros((2, 3, 4), "float32")).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: VarLike) -> Var:
        x = F._var(input)
        rank = len(x.dims if x.dims is not None else x.shape)
        first, last = self.start_dim % rank, self.end_dim % rank
        if first > last:
            raise InvalidArgument(f"Flatten({self.start_dim}, {self.end_dim}) takes no input of {rank} axes")
        if x.dims is not None and first == 1 and last == rank - 1:
            return F.op("Flatten", x, axis=1)
        shape = F.shape_of(x)
        return F.op("Reshape", x, Var([*shape[:first], math.prod(shape[first:last + 1]), *shape[last + 1:]], "int64"))


class Unflatten(Module):
    """The axis `dim` becomes axes of these sizes. Raises InvalidModel (a ValueError) for sizes that do not fit.

    >>> nn.Unflatten(1, (3, 4))(np.zeros((2, 12), "float32")).shape
    (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: VarLike) -> Var:
        shape = F.shape_of(input)
        at = self.dim % len(shape)
        return F.op("Reshape", input, Var([*shape[:at], *self.unflattened_size, *shape[at + 1:]], "int64"))


class Upsample(FunctionLayer):
    """functional.interpolate(). Raises its errors.

    >>> nn.Upsample(scale_factor=2)(np.zeros((1, 3, 4, 5), "float32")).shape
    (1, 3, 8, 10)
    """
    _function = F.interpolate

    def __init__(self, size: Size | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
                 align_corners: bool | None = None) -> None:
        self._set(size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners)


class PixelShuffle(FunctionLayer):
    """functional.pixel_shuffle(). Raises its errors.

    >>> nn.PixelShuffle(2)(np.zeros((1, 8, 3, 3), "float32")).shape
    (1, 2, 6, 6)
    """
    _function = F.pixel_shuffle

    def __init__(self, upscale_factor: int) -> None:
        self._set(upscale_factor=upscale_factor)


class PixelUnshuffle(FunctionLayer):
    """functional.pixel_unshuffle(). Raises its errors.

    >>> nn.PixelUnshuffle(2)(np.zeros((1, 2, 6, 6), "float32")).shape
    (1, 8, 3, 3)
    """
    _function = F.pixel_unshuffle

    def __init__(self, downscale_factor: int) -> None:
        self._set(downscale_factor=downscale_factor)


__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d",
           "AvgPool2d", "AvgPool3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
           "ConvTranspose2d", "ConvTranspose3d", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag", "Flatten", "GroupNorm", "Identity",
           "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "Linear", "MaxPool1d", "MaxPool2d", "MaxPool3d", "PixelShuffle",
           "PixelUnshuffle", "RMSNorm", "Unflatten", "Upsample"]
