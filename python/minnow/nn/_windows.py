# SPDX-License-Identifier: Apache-2.0
"""Layers without parameters that go over windows: padding, pieces of pictures and their sums, pools of norms, and the inverse of max pools. Names and
arguments are torch's."""
from __future__ import annotations

from typing import Any, Sequence

from minnow._minnow import Var
from minnow._typing import VarLike
from minnow.nn import functional as F
from minnow.nn._layers import FunctionLayer
from minnow.nn.functional import Size, _many


class _Pad(FunctionLayer):
    _axes = 0
    _mode = "constant"

    def __init__(self, padding: Size) -> None:
        self._set(padding=tuple(_many(padding, 2 * self._axes)))

    def forward(self, input: VarLike) -> Var:  # type: ignore[override]
        F._rank_is(F.dims_of(input), self._axes + 1, self._axes + 2)
        return F.pad(input, self.padding, self._mode, getattr(self, "value", 0.0))  # type: ignore[attr-defined]


class _ConstantPad(_Pad):
    def __init__(self, padding: Size, value: float) -> None:
        self._set(padding=tuple(_many(padding, 2 * self._axes)), value=value)


class _ReflectionPad(_Pad):
    _mode = "reflect"


class _ReplicationPad(_Pad):
    _mode = "replicate"


class _CircularPad(_Pad):
    _mode = "circular"


class ConstantPad1d(_ConstantPad):
    """A number around the last axis of [N, C, L]: `value`. padding: a number, or one for each side: (left, right). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ConstantPad1d(1, 7.0)(np.zeros((1, 1, 3), "float32")).shape
    (1, 1, 5)
    """
    _axes = 1


class ConstantPad2d(_ConstantPad):
    """A number around the last two axes of [N, C, H, W]: `value`. padding: a number, or one for each side: (left, right, top, bottom). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ConstantPad2d(1, 7.0)(np.zeros((1, 1, 3, 3), "float32")).shape
    (1, 1, 5, 5)
    """
    _axes = 2


class ConstantPad3d(_ConstantPad):
    """A number around the last three axes of [N, C, D, H, W]: `value`. padding: a number, or one for each side: (left, right, top, bottom, front, back). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ConstantPad3d(1, 7.0)(np.zeros((1, 1, 3, 3, 3), "float32")).shape
    (1, 1, 5, 5, 5)
    """
    _axes = 3


class ZeroPad1d(_Pad):
    """Zeros around the last axis of [N, C, L]. padding: a number, or one for each side: (left, right). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ZeroPad1d(1)(np.zeros((1, 1, 3), "float32")).shape
    (1, 1, 5)
    """
    _axes = 1


class ZeroPad2d(_Pad):
    """Zeros around the last two axes of [N, C, H, W]. padding: a number, or one for each side: (left, right, top, bottom). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ZeroPad2d(1)(np.zeros((1, 1, 3, 3), "float32")).shape
    (1, 1, 5, 5)
    """
    _axes = 2


class ZeroPad3d(_Pad):
    """Zeros around the last three axes of [N, C, D, H, W]. padding: a number, or one for each side: (left, right, top, bottom, front, back). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ZeroPad3d(1)(np.zeros((1, 1, 3, 3, 3), "float32")).shape
    (1, 1, 5, 5, 5)
    """
    _axes = 3


class ReflectionPad1d(_ReflectionPad):
    """The elements behind the border, mirrored, around the last axis of [N, C, L]. padding: a number, or one for each side: (left, right). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ReflectionPad1d(1)(np.zeros((1, 1, 3), "float32")).shape
    (1, 1, 5)
    """
    _axes = 1


class ReflectionPad2d(_ReflectionPad):
    """The elements behind the border, mirrored, around the last two axes of [N, C, H, W]. padding: a number, or one for each side: (left, right, top, bottom). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ReflectionPad2d(1)(np.zeros((1, 1, 3, 3), "float32")).shape
    (1, 1, 5, 5)
    """
    _axes = 2


class ReflectionPad3d(_ReflectionPad):
    """The elements behind the border, mirrored, around the last three axes of [N, C, D, H, W]. padding: a number, or one for each side: (left, right, top, bottom, front, back). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ReflectionPad3d(1)(np.zeros((1, 1, 3, 3, 3), "float32")).shape
    (1, 1, 5, 5, 5)
    """
    _axes = 3


class ReplicationPad1d(_ReplicationPad):
    """The border's elements around the last axis of [N, C, L]. padding: a number, or one for each side: (left, right). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ReplicationPad1d(1)(np.zeros((1, 1, 3), "float32")).shape
    (1, 1, 5)
    """
    _axes = 1


class ReplicationPad2d(_ReplicationPad):
    """The border's elements around the last two axes of [N, C, H, W]. padding: a number, or one for each side: (left, right, top, bottom). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ReplicationPad2d(1)(np.zeros((1, 1, 3, 3), "float32")).shape
    (1, 1, 5, 5)
    """
    _axes = 2


class ReplicationPad3d(_ReplicationPad):
    """The border's elements around the last three axes of [N, C, D, H, W]. padding: a number, or one for each side: (left, right, top, bottom, front, back). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.ReplicationPad3d(1)(np.zeros((1, 1, 3, 3, 3), "float32")).shape
    (1, 1, 5, 5, 5)
    """
    _axes = 3


class CircularPad1d(_CircularPad):
    """The elements of the other end around the last axis of [N, C, L]. padding: a number, or one for each side: (left, right). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.CircularPad1d(1)(np.zeros((1, 1, 3), "float32")).shape
    (1, 1, 5)
    """
    _axes = 1


class CircularPad2d(_CircularPad):
    """The elements of the other end around the last two axes of [N, C, H, W]. padding: a number, or one for each side: (left, right, top, bottom). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.CircularPad2d(1)(np.zeros((1, 1, 3, 3), "float32")).shape
    (1, 1, 5, 5)
    """
    _axes = 2


class CircularPad3d(_CircularPad):
    """The elements of the other end around the last three axes of [N, C, D, H, W]. padding: a number, or one for each side: (left, right, top, bottom, front, back). Raises
    InvalidArgument (a ValueError) for another rank.

    >>> nn.CircularPad3d(1)(np.zeros((1, 1, 3, 3, 3), "float32")).shape
    (1, 1, 5, 5, 5)
    """
    _axes = 3


class LPPool1d(FunctionLayer):
    """functional.lp_pool1d(). Raises its errors.

    >>> nn.LPPool1d(2, 2)(minnow.Var([[[3.0, 4.0, 6.0, 8.0]]], "float32"))
    Var([[[ 5., 10.]]], shape=(1, 1, 2), dtype=float32)
    """
    _function = F.lp_pool1d

    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None:
        self._set(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool2d(FunctionLayer):
    """functional.lp_pool2d(). Raises its errors.

    >>> nn.LPPool2d(1, 2)(np.ones((1, 1, 4, 4), "float32")).ravel()
    Var([4., 4., 4., 4.], shape=(4,), dtype=float32)
    """
    _function = F.lp_pool2d

    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None:
        self._set(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class _MaxUnpool(FunctionLayer):
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        self._set(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, input: VarLike, indices: VarLike, output_size: Sequence[int] | None = None) -> Var:  # type: ignore[override]
        settings: dict[str, Any] = {name: getattr(self, name) for name in self._settings}
        made: Var = type(self)._function(input, indices, **settings, output_size=output_size)
        return made


class MaxUnpool1d(_MaxUnpool):
    """functional.max_unpool1d(); output_size is an argument of the call. Raises its errors.

    >>> values, places = nn.MaxPool1d(2, return_indices=True)(minnow.Var([[[1.0, 2.0, 4.0, 3.0]]], "float32"))
    >>> nn.MaxUnpool1d(2)(values, places)
    Var([[[0., 2., 4., 0.]]], shape=(1, 1, 4), dtype=float32)
    """
    _function = F.max_unpool1d


class MaxUnpool2d(_MaxUnpool):
    """functional.max_unpool2d(); output_size is an argument of the call. Raises its errors.

    >>> values, places = nn.MaxPool2d(2, return_indices=True)(minnow.Var([[[[1.0, 2.0], [4.0, 3.0]]]], "float32"))
    >>> nn.MaxUnpool2d(2)(values, places)
    Var([[[[0., 0.],
           [4., 0.]]]], shape=(1, 1, 2, 2), dtype=float32)
    """
    _function = F.max_unpool2d


class MaxUnpool3d(_MaxUnpool):
    """functional.max_unpool3d(); output_size is an argument of the call. Raises its errors.

    >>> values, places = nn.MaxPool3d((1, 1, 2), return_indices=True)(np.arange(4.0).reshape(1, 1, 1, 1, 4).astype("float32"))
    >>> nn.MaxUnpool3d((1, 1, 2))(values, places).ravel()
    Var([0., 1., 0., 3.], shape=(4,), dtype=float32)
    """
    _function = F.max_unpool3d


class Unfold(FunctionLayer):
    """functional.unfold(). Raises its errors.

    >>> nn.Unfold(2)(np.zeros((1, 3, 4, 5), "float32")).shape
    (1, 12, 12)
    """
    _function = F.unfold

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        self._set(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class Fold(FunctionLayer):
    """functional.fold(). Raises its errors.

    >>> nn.Fold((4, 5), 2)(np.zeros((1, 12, 12), "float32")).shape
    (1, 3, 4, 5)
    """
    _function = F.fold

    def __init__(self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        self._set(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class LocalResponseNorm(FunctionLayer):
    """functional.local_response_norm(). Raises its errors.

    >>> nn.LocalResponseNorm(3)(np.zeros((1, 8, 4, 4), "float32")).shape
    (1, 8, 4, 4)
    """
    _function = F.local_response_norm

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self._set(size=size, alpha=alpha, beta=beta, k=k)


__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Fold", "LPPool1d", "LPPool2d",
           "LocalResponseNorm", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
           "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "Unfold", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]
