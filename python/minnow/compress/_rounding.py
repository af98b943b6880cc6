# SPDX-License-Identifier: Apache-2.0
"""Numbers that are rounded in training as integers will round them, with gradients that pass the rounding."""
from __future__ import annotations

from typing import Any

from minnow import _minnow
from minnow._functions import all_suggesting
from minnow._minnow import InvalidArgument, Var
from minnow._typing import VarLike

# Numbers up to so much beyond the last integer still round to it.
_HALF = 0.4999


def _op(name: str, *inputs: Any, **attributes: Any) -> Var:
    return _minnow.op(name, list(inputs), attributes)


def fixed(x: Var) -> Var:
    """A constant where gradients are computed. Never fails."""
    return _op("minnow.StopGradient", x)


def _var(x: Any, like: Var | None = None) -> Var:
    return x if isinstance(x, Var) else Var(x, "float32" if like is None else like.dtype)


def along(values: Any, axis: int | None, rank: int) -> Var:
    """A vector along an axis of a tensor of this rank; a single number as it is."""
    value = _var(values)
    if axis is None or not value.dims or value.dims == [1] or value.dims == (1,):
        return value if not value.dims else _op("Reshape", value, Var([], "int64")) if axis is None else _op("Reshape", value, Var([1] * rank, "int64"))
    shape = [1] * rank
    shape[axis % rank] = -1
    return _op("Reshape", value, Var(shape, "int64"))


def _ends(quant_min: int, quant_max: int) -> None:
    if not (isinstance(quant_min, int) and isinstance(quant_max, int) and -(2**22) <= quant_min < quant_max <= 2**22):
        raise InvalidArgument(f"quant_min and quant_max are integers, the first the smaller one, not {quant_min!r:.20} and {quant_max!r:.20}")


def _between(v: Var, low: Any, high: Any) -> Var:
    """v between the bounds; its gradient is 0 where it is cut."""
    if isinstance(low, Var) and low.dims:
        v = _op("Where", _op("Less", v, low), fixed(low), v)
        return _op("Where", _op("Greater", v, high), fixed(high), v)
    return _op("Clip", v, _var(low, v), _var(high, v))


def _rounded(v: Var) -> Var:
    """The nearest integer, with the gradient of v."""
    return v + fixed(_op("Round", v) - v)


def _of(x: VarLike, axis: int | None, *numbers: Any) -> tuple[Any, ...]:
    value = Var(x) if hasattr(x, "dtype") and not isinstance(x, Var) else _var(x)
    if str(value.dtype) != "float32":
        raise InvalidArgument(f"numbers to be rounded are float32, not {value.dtype}")
    dims = value.dims if value.dims is not None else value.shape
    if axis is not None and not -len(dims) <= axis < len(dims):
        raise InvalidArgument(f"axis {axis} is none of {len(dims)} axes")
    made: list[Any] = [value]
    for number in numbers:
        if isinstance(number, int) and not isinstance(number, bool):
            made.append(number)
            continue
        one = _var(number)
        one = one if str(one.dtype) == "float32" else one.astype("float32")
        rank = len(one.dims if one.dims is not None else one.shape)
        if rank > 1 or (rank == 1 and axis is None and (one.dims or one.shape) not in ([1], (1,))):
            raise InvalidArgument(f"a scale is one number, or a vector along `axis`; its shape is {list(one.dims or one.shape)}")
        made.append(along(one, axis, len(dims)))
    return tuple(made)


def fake_quantize(input: VarLike, scale: VarLike, zero_point: VarLike = 0, quant_min: int = 0, quant_max: int = 255, axis: int | None = None) -> Var:
    """scale * (clip(round(input / scale) + zero_point, quant_min, quant_max) - zero_point), halves to even, as torch.fake_quantize_per_tensor_affine and,
    with an axis, fake_quantize_per_channel_affine compute it. The gradient of input is 1 where the integer was not clipped, else 0 (straight-through:
    Bengio et al. 2013, arXiv:1308.3432); scale and zero_point have none.

    input: float32; scale: a number above 0, or a vector along axis; zero_point: integers of the same shape. Raises InvalidArgument (a ValueError) for
    other dtypes and shapes, and ends that are no integers.

    >>> minnow.compress.fake_quantize(minnow.Var([0.26, 0.3, -1.0, 9.0], "float32"), 0.1, 5, 0, 15)
    Var([ 0.3,  0.3, -0.5,  1. ], shape=(4,), dtype=float32)
    """
    _ends(quant_min, quant_max)
    x, step, zero = _of(input, axis, scale, zero_point)
    step = fixed(step) if isinstance(step, Var) else _var(step, x)
    zero = fixed(zero) if isinstance(zero, Var) else zero
    return _rounded(_between(x / step, quant_min - _HALF - zero, quant_max + _HALF - zero)) * step


def fake_quantize_learned(input: VarLike, scale: VarLike, zero_point: VarLike = 0, quant_min: int = 0, quant_max: int = 255, axis: int | None = None,
                          grad_factor: float = 1.0) -> Var:
    """fake_quantize() whose scale has a gradient, too: round(v) - v where v = input / scale lies between the ends, else the end that clips it, summed
    and multiplied by grad_factor; the paper takes 1 / sqrt(elements * quant_max). Source: Esser et al. 2020, "Learned Step Size Quantization",
    arXiv:1902.08153. Raises the errors of fake_quantize().

    >>> step = minnow.expr.trainable(minnow.Var(0.5, "float32"))
    >>> x = minnow.Var([0.3, 9.0], "float32")
    >>> minnow.expr.gradients(minnow.compress.fake_quantize_learned(x, step, 0, 0, 3).sum(), [step])[0]
    Var(3.4, shape=(), dtype=float32)
    """
    _ends(quant_min, quant_max)
    x, step, zero = _of(input, axis, scale, zero_point)
    step = step if isinstance(step, Var) else _var(step, x)
    zero = fixed(zero) if isinstance(zero, Var) else zero
    if grad_factor != 1.0:
        step = step * grad_factor + fixed(step * (1.0 - grad_factor))
    return _rounded(_between(x / step, quant_min - zero, quant_max - zero)) * step


def pact(input: VarLike, alpha: VarLike, quant_min: int = 0, quant_max: int = 255, zero_point: int = 0) -> Var:
    """input clipped to [0, alpha], rounded to quant_max - quant_min steps. The gradient of input is 1 between the ends, that of alpha the sum where input
    is clipped. With a zero_point the lower end is below 0 and moves with alpha. Source: Choi et al. 2018, "PACT: Parameterized Clipping
    Activation for Quantized Neural Networks", arXiv:1805.06085. Raises the errors of fake_quantize(), and InvalidArgument for a zero_point beyond the ends.

    >>> minnow.compress.pact(minnow.Var([-1.0, 0.4, 5.0], "float32"), 3.0, 0, 3)
    Var([0., 0., 3.], shape=(3,), dtype=float32)
    """
    _ends(quant_min, quant_max)
    if not quant_min <= zero_point <= quant_max:
        raise InvalidArgument(f"zero_point is from {quant_min} to {quant_max}, it is {zero_point}")
    x, end = _of(input, None, alpha)
    end = end if isinstance(end, Var) else _var(end, x)
    most = max(quant_max - zero_point, zero_point - quant_min)
    low, high = end * ((quant_min - zero_point) / most), end * ((quant_max - zero_point) / most)
    cut = _op("Where", _op("Greater", x, fixed(high)), high, _op("Where", _op("Less", x, fixed(low)), low, x))
    step = fixed(end) / float(most)
    return cut + fixed(_op("Round", cut / step) * step - cut)


__all__ = ["fake_quantize", "fake_quantize_learned", "pact"]

all_suggesting(globals(), __all__)
