# SPDX-License-Identifier: Apache-2.0
"""Layers and losses as functions, with the names, arguments and layouts (NCHW) of torch.nn.functional.

Inputs are Vars or arrays of float dtypes, results Vars of the same dtype that wait until they are read. Functions raise InvalidModel (a
ValueError) for shapes and dtypes that do not fit, and InvalidArgument (a ValueError) for other wrong arguments.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

from minnow import _minnow
from minnow._functions import all_suggesting
from minnow._minnow import InvalidArgument, Unsupported, Var
from minnow._typing import VarLike
from minnow.nn._losses import *  # noqa: F403
from minnow.nn import _losses
from minnow.nn._losses import dims_of as dims_of, op as op, shape_of as shape_of
from minnow.nn._tracing import random_key, read_buffer, update_buffer

Size = int | Sequence[int]

if TYPE_CHECKING:
    from typing import Callable


def _many(value: Any, count: int) -> list[int]:
    """A number for each of `count` axes."""
    made = [int(value)] * count if isinstance(value, int) else [int(item) for item in value]
    if len(made) == 1 and count > 1:
        made *= count
    if len(made) != count:
        raise InvalidArgument(f"{count} numbers are expected, {value} are given")
    return made


# ---- Random numbers. The key decides: random_key() makes another one at each call.

def uniform(shape: Sequence[int], key: VarLike | None = None) -> Var:
    """Numbers of equal chance in [0, 1), float32, that the key decides: each key has a stream of its own. The default is random_key(). Raises
    InvalidModel (a ValueError) for a wrong key or shape.

    >>> nn.functional.uniform((3,), minnow.Var([1, 2], "uint32"))
    Var([0.6374276, 0.3096503, 0.9178702], shape=(3,), dtype=float32)
    """
    return op("minnow.KeyedUniform", random_key() if key is None else key, Var([int(size) for size in shape], "int64"))


def normal(shape: Sequence[int], key: VarLike | None = None) -> Var:
    """Normal numbers, float32, that the key decides (Box and Muller 1958). Raises the errors of uniform()."""
    both = uniform((2, *shape), key)
    radius = op("Sqrt", op("Log", 1.0 - both[0]) * -2.0)
    return radius * op("Cos", both[1] * (2 * math.pi))


def bernoulli(p: float, shape: Sequence[int], key: VarLike | None = None) -> Var:
    """True with probability p, that the key decides. Raises the errors of uniform()."""
    return op("Less", uniform(shape, key), Var(p, "float32"))


def _dropped(input: VarLike, p: float, shape: Sequence[int]) -> Var:
    if not 0 <= p <= 1:
        raise InvalidArgument(f"a probability is between 0 and 1, p is {p}")
    x = _var(input)
    if p == 0:
        return x
    if p == 1:
        return x * 0.0
    kept = bernoulli(1 - p, shape)
    return op("Where", kept, x * (1 / (1 - p)), Var(0, x.dtype))


def dropout(input: VarLike, p: float = 0.5, training: bool = True) -> Var:
    """In training each element becomes 0 with probability p and is divided by 1 - p otherwise (Srivastava et al. 2014). Raises InvalidArgument (a
    ValueError) for p outside of [0, 1]."""
    return _dropped(input, p, shape_of(input)) if training else _var(input)


def _dropout_channels(input: VarLike, p: float, training: bool, axes: int) -> Var:
    if not training:
        return _var(input)
    shape = shape_of(input)
    _rank_is(shape, axes + 1, axes + 2)
    return _dropped(input, p, [*shape[:len(shape) - axes], *[1] * axes])


def dropout1d(input: VarLike, p: float = 0.5, training: bool = True) -> Var:
    """dropout() of whole channels of [N, C, L] (Tompson et al. 2015). Raises its errors."""
    return _dropout_channels(input, p, training, 1)


def dropout2d(input: VarLike, p: float = 0.5, training: bool = True) -> Var:
    """dropout() of whole channels of [N, C, H, W]. Raises its errors."""
    return _dropout_channels(input, p, training, 2)


def dropout3d(input: VarLike, p: float = 0.5, training: bool = True) -> Var:
    """dropout() of whole channels of [N, C, D, H, W]. Raises its errors."""
    return _dropout_channels(input, p, training, 3)


def _rank_is(shape: Sequence[int | None], *ranks: int) -> None:
    if len(shape) not in ranks:
        raise InvalidArgument(f"the input has {' or '.join(map(str, ranks))} axes, its shape is {list(shape)}")


def _var(input: VarLike) -> Var:
    return input if isinstance(input, Var) else Var(input)


# ---- Activations

def relu(input: VarLike) -> Var:
    """max(x, 0). Raises InvalidModel (a ValueError) for no numbers."""
    return op("Relu", input)


def relu6(input: VarLike) -> Var:
    """min(max(x, 0), 6). Raises InvalidModel (a ValueError) for no floats."""
    return hardtanh(input, 0.0, 6.0)


def hardtanh(input: VarLike, min_val: float = -1.0, max_val: float = 1.0) -> Var:
    """x, not below min_val and not above max_val. Raises InvalidModel (a ValueError) for no floats."""
    x = _var(input)
    return op("Clip", x, Var(min_val, x.dtype), Var(max_val, x.dtype))


def leaky_relu(input: VarLike, negative_slope: float = 0.01) -> Var:
    """x, below 0 negative_slope x. Raises InvalidModel (a ValueError) for no floats."""
    return op("LeakyRelu", input, alpha=float(negative_slope))


def prelu(input: VarLike, weight: VarLike) -> Var:
    """x, below 0 weight x, with one weight or one for each channel (axis 1) (He et al. 2015). Raises InvalidModel (a ValueError) for other weights."""
    x, w = _var(input), _var(weight)
    if w.size > 1 and len(x.dims or ()) > 2:
        w = op("Reshape", w, Var([-1] + [1] * (len(x.dims or ()) - 2), "int64"))
    return op("PRelu", x, w)


def elu(input: VarLike, alpha: float = 1.0) -> Var:
    """x, below 0 alpha (exp(x) - 1) (Clevert et al. 2015). Raises InvalidModel (a ValueError) for no floats."""
    return op("Elu", input, alpha=float(alpha))


def selu(input: VarLike) -> Var:
    """A scaled elu() that keeps mean 0 and variance 1 (Klambauer et al. 2017). Raises InvalidModel (a ValueError) for no floats."""
    return op("Selu", input)


def celu(input: VarLike, alpha: float = 1.0) -> Var:
    """x, below 0 alpha (exp(x / alpha) - 1) (Barron 2017). Raises InvalidModel (a ValueError) for no floats."""
    return op("Celu", input, alpha=float(alpha))


def gelu(input: VarLike, approximate: str = "none") -> Var:
    """x times the normal distribution at x (Hendrycks and Gimpel 2016), or with approximate="tanh" nearly so. Raises InvalidModel (a ValueError)
    for another `approximate`."""
    return op("Gelu", input, approximate=approximate)


def silu(input: VarLike) -> Var:
    """x sigmoid(x) (Elfwing et al. 2017). Raises InvalidModel (a ValueError) for no floats."""
    return op("Swish", input)


def mish(input: VarLike) -> Var:
    """x tanh(softplus(x)) (Misra 2019). Raises InvalidModel (a ValueError) for no floats."""
    return op("Mish", input)


def softplus(input: VarLike, beta: float = 1.0, threshold: float = 20.0) -> Var:
    """log(1 + exp(beta x)) / beta, and x where beta x > threshold. Raises InvalidModel (a ValueError) for no floats."""
    x = _var(input)
    made = op("Softplus", x * beta) / beta if beta != 1 else op("Softplus", x)
    return op("Where", op("Greater", x * beta, Var(threshold, x.dtype)), x, made)


def softsign(input: VarLike) -> Var:
    """x / (1 + |x|). Raises InvalidModel (a ValueError) for no floats."""
    return op("Softsign", input)


def sigmoid(input: VarLike) -> Var:
    """1 / (1 + exp(-x)). Raises InvalidModel (a ValueError) for no floats."""
    return op("Sigmoid", input)


def logsigmoid(input: VarLike) -> Var:
    """log(sigmoid(x)). Raises InvalidModel (a ValueError) for no floats."""
    return -op("Softplus", -_var(input))


def tanh(input: VarLike) -> Var:
    """The hyperbolic tangent. Raises InvalidModel (a ValueError) for no floats."""
    return op("Tanh", input)


def tanhshrink(input: VarLike) -> Var:
    """x - tanh(x). Raises InvalidModel (a ValueError) for no floats."""
    return _var(input) - op("Tanh", input)


def hardsigmoid(input: VarLike) -> Var:
    """x / 6 + 1 / 2 within [0, 1]. Raises InvalidModel (a ValueError) for no floats."""
    return op("HardSigmoid", input, alpha=1 / 6, beta=0.5)


def hardswish(input: VarLike) -> Var:
    """x hardsigmoid(x) (Howard et al. 2019). Raises InvalidModel (a ValueError) for no floats."""
    return op("HardSwish", input)


def hardshrink(input: VarLike, lambd: float = 0.5) -> Var:
    """x, and 0 where |x| <= lambd. Raises InvalidModel (a ValueError) for no floats."""
    x = _var(input)
    return op("Where", op("Greater", op("Abs", x), Var(lambd, x.dtype)), x, Var(0, x.dtype))


def softshrink(input: VarLike, lambd: float = 0.5) -> Var:
    """x moved towards 0 by lambd. Raises InvalidModel (a ValueError) for no floats."""
    x = _var(input)
    return relu(x - lambd) - relu(-x - lambd)


def threshold(input: VarLike, threshold: float, value: float) -> Var:
    """x where x > threshold, else value. Raises InvalidModel (a ValueError) for no floats."""
    x = _var(input)
    return op("Where", op("Greater", x, Var(threshold, x.dtype)), x, Var(value, x.dtype))


def glu(input: VarLike, dim: int = -1) -> Var:
    """a sigmoid(b), where a and b are the halves of x along an axis (Dauphin et al. 2016). Raises InvalidModel (a ValueError) for an odd axis."""
    a, b = _minnow.ops("Split", [_var(input)], 2, {"axis": dim, "num_outputs": 2})
    return a * op("Sigmoid", b)


def softmax(input: VarLike, dim: int = -1) -> Var:
    """Shares along an axis. Raises InvalidModel (a ValueError) for an axis that there is not."""
    return op("Softmax", input, axis=dim)


def softmin(input: VarLike, dim: int = -1) -> Var:
    """softmax(-x). Raises InvalidModel (a ValueError) for an axis that there is not."""
    return op("Softmax", -_var(input), axis=dim)


def log_softmax(input: VarLike, dim: int = -1) -> Var:
    """log(softmax(x)). Raises InvalidModel (a ValueError) for an axis that there is not."""
    return op("LogSoftmax", input, axis=dim)


# ---- Products and convolutions

def linear(input: VarLike, weight: VarLike, bias: VarLike | None = None) -> Var:
    """x weight^T + bias: [..., in] and [out, in] give [..., out]. Raises InvalidModel (a ValueError) for shapes that do not fit."""
    x, w = _var(input), _var(weight)
    if x.dims is not None and len(x.dims) == 2:
        return op("Gemm", x, w, *([] if bias is None else [bias]), transB=1)
    made = op("MatMul", x, op("Transpose", w, perm=[1, 0]))
    return made if bias is None else made + bias


def bilinear(input1: VarLike, input2: VarLike, weight: VarLike, bias: VarLike | None = None) -> Var:
    """x1^T weight[k] x2 + bias[k] for each k: [..., in1], [..., in2] and [out, in1, in2]. Raises InvalidModel (a ValueError) for shapes that do not fit."""
    made = op("Einsum", input1, weight, input2, equation="...i,kij,...j->...k")
    return made if bias is None else made + bias


def _pads(padding: Any, kernel: Sequence[int], dilation: Sequence[int], stride: Sequence[int]) -> list[int]:
    """Numbers for the beginnings of all axes, and then for the ends."""
    if isinstance(padding, str):
        if padding == "valid":
            return [0] * (2 * len(kernel))
        if padding != "same":
            raise InvalidArgument(f'padding is "same", "valid" or numbers, not "{padding}"')
        if any(step != 1 for step in stride):
            raise InvalidArgument('padding "same" needs strides of 1')
        totals = [step * (size - 1) for size, step in zip(kernel, dilation)]
        return [total // 2 for total in totals] + [total - total // 2 for total in totals]
    each = _many(padding, len(kernel))
    return each + each


def _batched(compute: Callable[[Var], Var], input: VarLike, axes: int) -> Var:
    """compute() takes a batch; an input without one gets one of 1."""
    x = _var(input)
    if x.dims is not None and len(x.dims) == axes + 1:
        return op("Squeeze", compute(op("Unsqueeze", x, Var([0], "int64"))), Var([0], "int64"))
    if x.dims is not None:
        _rank_is(x.dims, axes + 1, axes + 2)  # type: ignore[arg-type]
    return compute(x)


def _conv(axes: int, input: VarLike, weight: VarLike, bias: VarLike | None, stride: Size, padding: Any, dilation: Size, groups: int) -> Var:
    w = _var(weight)
    strides, dilations = _many(stride, axes), _many(dilation, axes)
    pads = _pads(padding, w.shape[2:], dilations, strides)
    more = [] if bias is None else [bias]
    return _batched(lambda x: op("Conv", x, w, *more, strides=strides, pads=pads, dilations=dilations, group=groups), input, axes)


def conv1d(input: VarLike, weight: VarLike, bias: VarLike | None = None, stride: Size = 1, padding: Any = 0, dilation: Size = 1, groups: int = 1) -> Var:
    """The convolution of [N, C, L], or [C, L], with filters [out, C / groups, kernel]. padding: numbers, "valid" or "same". Raises InvalidModel and
    InvalidArgument (ValueErrors) for shapes and arguments that do not fit."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input: VarLike, weight: VarLike, bias: VarLike | None = None, stride: Size = 1, padding: Any = 0, dilation: Size = 1, groups: int = 1) -> Var:
    """conv1d() of [N, C, H, W] with filters [out, C / groups, height, width]. Raises its errors."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input: VarLike, weight: VarLike, bias: VarLike | None = None, stride: Size = 1, padding: Any = 0, dilation: Size = 1, groups: int = 1) -> Var:
    """conv1d() of [N, C, D, H, W] with filters [out, C / groups, depth, height, width]. Raises its errors."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(axes: int, input: VarLike, weight: VarLike, bias: VarLike | None, stride: Size, padding: Size, output_padding: Size, groups: int,
                    dilation: Size) -> Var:
    w = _var(weight)
    attributes: dict[str, Any] = {"strides": _many(stride, axes), "pads": _many(padding, axes) * 2, "dilations": _many(dilation, axes), "group": groups,
                                  "output_padding": _many(output_padding, axes)}
    for more, step, spread in zip(attributes["output_padding"], attributes["strides"], attributes["dilations"]):
        if more >= max(step, spread):
            raise InvalidArgument(f"output_padding is smaller than stride or dilation, it is {more}")
    inputs = [w] if bias is None else [w, bias]
    return _batched(lambda x: op("ConvTranspose", x, *inputs, **attributes), input, axes)


def conv_transpose1d(input: VarLike, weight: VarLike, bias: VarLike | None = None, stride: Size = 1, padding: Size = 0, output_padding: Size = 0,
                     groups: int = 1, dilation: Size = 1) -> Var:
    """The adjoint of conv1d(): [N, C, L], or [C, L], with filters [C, out / groups, kernel]. Raises InvalidModel and InvalidArgument (ValueErrors)
    for shapes and arguments that do not fit."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input: VarLike, weight: VarLike, bias: VarLike | None = None, stride: Size = 1, padding: Size = 0, output_padding: Size = 0,
                     groups: int = 1, dilation: Size = 1) -> Var:
    """conv_transpose1d() of [N, C, H, W]. Raises its errors."""
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input: VarLike, weight: VarLike, bias: VarLike | None = None, stride: Size = 1, padding: Size = 0, output_padding: Size = 0,
                     groups: int = 1, dilation: Size = 1) -> Var:
    """conv_transpose1d() of [N, C, D, H, W]. Raises its errors."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# ---- Pooling

def _max_pool(axes: int, input: VarLike, kernel_size: Size, stride: Size | None, padding: Size, dilation: Size, ceil_mode: bool, return_indices: bool) -> Any:
    kernel = _many(kernel_size, axes)
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": kernel if stride is None else _many(stride, axes), "pads": _many(padding, axes) * 2,
                  "dilations": _many(dilation, axes), "ceil_mode": int(ceil_mode)}
    if any(2 * pad > size for pad, size in zip(attributes["pads"], kernel)):
        raise InvalidArgument(f"padding is at most half of the kernel {kernel}, it is {padding}")
    if not return_indices:
        return _batched(lambda x: op("MaxPool", x, **attributes), input, axes)
    x = _var(input)
    values, places = _minnow.ops("MaxPool", [x], 2, attributes)
    return values, op("Mod", places, Var(math.prod(x.shape[2:]), "int64"))


def max_pool1d(input: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """The largest element of each window of [N, C, L]; with return_indices also its place in the channel. Raises InvalidModel and InvalidArgument
    (ValueErrors) for shapes and arguments that do not fit."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """max_pool1d() of [N, C, H, W]. Raises its errors."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:
    """max_pool1d() of [N, C, D, H, W]. Raises its errors."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(axes: int, input: VarLike, kernel_size: Size, stride: Size | None, padding: Size, ceil_mode: bool, count_include_pad: bool,
              divisor_override: int | None) -> Var:
    kernel = _many(kernel_size, axes)
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": kernel if stride is None else _many(stride, axes), "pads": _many(padding, axes) * 2,
                  "ceil_mode": int(ceil_mode), "count_include_pad": int(count_include_pad or divisor_override is not None)}
    if divisor_override is not None and ceil_mode:
        raise Unsupported("an average pool has either ceil_mode or divisor_override")
    made = _batched(lambda x: op("AveragePool", x, **attributes), input, axes)
    return made if divisor_override is None else made * (math.prod(kernel) / divisor_override)


def avg_pool1d(input: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Var:
    """The mean of each window of [N, C, L]. Raises InvalidModel and InvalidArgument (ValueErrors) for shapes and arguments that do not fit."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(input: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Var:
    """avg_pool1d() of [N, C, H, W]; divisor_override: divides sums instead of the number of elements. Raises its errors."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(input: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Var:
    """avg_pool2d() of [N, C, D, H, W]. Raises its errors."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _lp_pool(axes: int, input: VarLike, norm_type: float, kernel_size: Size, stride: Size | None, ceil_mode: bool) -> Var:
    made = _avg_pool(axes, _var(input) ** norm_type, kernel_size, stride, 0, ceil_mode, True, None)
    return (made * math.prod(_many(kernel_size, axes))) ** (1 / norm_type)


def lp_pool1d(input: VarLike, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> Var:
    """The root of degree norm_type of the sum of x^norm_type in each window of [N, C, L]. Raises the errors of avg_pool1d()."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: VarLike, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> Var:
    """lp_pool1d() of [N, C, H, W]. Raises its errors."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def _max_unpool(axes: int, input: VarLike, indices: VarLike, kernel_size: Size, stride: Size | None, padding: Size, output_size: Sequence[int] | None) -> Var:
    x, at = _var(input), _var(indices)
    kernel = _many(kernel_size, axes)
    shape = shape_of(x)
    _rank_is(shape, axes + 1, axes + 2)
    sizes = [(size - 1) * step - 2 * pad + width
             for size, step, pad, width in zip(shape[-axes:], kernel if stride is None else _many(stride, axes), _many(padding, axes), kernel)]
    sizes = sizes if output_size is None else [int(size) for size in output_size[-axes:]]
    front = shape[:-axes]
    flat = Var([*front, -1], "int64")
    zeros = op("Expand", Var(0, x.dtype), Var([*front, math.prod(sizes)], "int64"))
    made = op("ScatterElements", zeros, op("Reshape", at, flat), op("Reshape", x, flat), axis=-1)
    return op("Reshape", made, Var([*front, *sizes], "int64"))


def max_unpool1d(input: VarLike, indices: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Sequence[int] | None = None) -> Var:
    """The elements of max_pool1d(), with return_indices, at their places; others are 0. output_size: chooses among the sizes that give the pooled one.
    Raises InvalidArgument (a ValueError) for another rank, and an error when it is computed for places outside."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: VarLike, indices: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Sequence[int] | None = None) -> Var:
    """max_unpool1d() of [N, C, H, W]. Raises its errors."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: VarLike, indices: VarLike, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Sequence[int] | None = None) -> Var:
    """max_unpool1d() of [N, C, D, H, W]. Raises its errors."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _pieces(channels: int, kernel: Sequence[int], dtype: Any) -> Var:
    """Filters [channels * elements of the kernel, 1, height, width], each of which takes one element."""
    count = math.prod(kernel)
    one = [[[[float(i == y * kernel[1] + x) for x in range(kernel[1])] for y in range(kernel[0])]] for i in range(count)]
    return op("Tile", Var(one, dtype), Var([channels, 1, 1, 1], "int64"))


def unfold(input: VarLike, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Var:
    """The windows of [N, C, H, W] as columns: [N, C * elements of the kernel, windows]. Raises InvalidModel and InvalidArgument (ValueErrors) for
    shapes that do not fit."""
    kernel = _many(kernel_size, 2)

    def columns(x: Var) -> Var:
        channels = shape_of(x)[1]
        made = _conv(2, x, _pieces(channels, kernel, x.dtype), None, stride, padding, dilation, channels)
        return op("Reshape", made, Var([shape_of(x)[0], channels * math.prod(kernel), -1], "int64"))

    return _batched(columns, input, 2)


def fold(input: VarLike, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Var:
    """The adjoint of unfold(): the sum of columns [N, C * elements of the kernel, windows] at their places in [N, C, *output_size]. Raises
    InvalidArgument (a ValueError) for sizes that do not fit."""
    kernel, size = _many(kernel_size, 2), _many(output_size, 2)
    strides, dilations, pads = _many(stride, 2), _many(dilation, 2), _many(padding, 2)
    room = [length + 2 * pad - spread * (width - 1) - 1 for length, pad, spread, width in zip(size, pads, dilations, kernel)]
    windows = [left // step + 1 for left, step in zip(room, strides)]

    def picture(x: Var) -> Var:
        batch, rows, columns = shape_of(x)
        if rows % math.prod(kernel) or columns != math.prod(windows):
            raise InvalidArgument(f"columns of {size} by {kernel} have the shape [N, C * {math.prod(kernel)}, {math.prod(windows)}], it is {[batch, rows, columns]}")
        channels = rows // math.prod(kernel)
        return op("ConvTranspose", op("Reshape", x, Var([batch, rows, *windows], "int64")), _pieces(channels, kernel, x.dtype), strides=strides,
                  dilations=dilations, pads=pads * 2, output_padding=[left % step for left, step in zip(room, strides)], group=channels)

    return _batched(picture, input, 1)


def _windows(size: int, count: int) -> list[tuple[int, int]]:
    """First and end of the windows of adaptive pooling."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _adaptive(axes: int, input: VarLike, output_size: Any, largest: bool) -> Var:
    x = _var(input)
    shape: Sequence[Any] = dims_of(x) if None not in dims_of(x)[-axes:] else shape_of(x)
    _rank_is(shape, axes + 1, axes + 2)
    asked = [output_size] * axes if output_size is None or isinstance(output_size, int) else list(output_size)
    if len(asked) != axes:
        raise InvalidArgument(f"output_size has {axes} numbers, it is {output_size}")
    sizes = list(shape[-axes:])
    wanted = [size if count is None else int(count) for size, count in zip(sizes, asked)]
    if min(wanted) < 1:
        raise InvalidArgument(f"output_size is positive, it is {output_size}")
    if all(size % count == 0 for size, count in zip(sizes, wanted)):
        kernel = [size // count for size, count in zip(sizes, wanted)]
        return _batched(lambda x: op("MaxPool" if largest else "AveragePool", x, kernel_shape=kernel, strides=kernel), x, axes)
    for place, (size, count) in enumerate(zip(sizes, wanted)):
        if size == count:
            continue
        axis, windows = len(shape) - axes + place, _windows(size, count)
        if largest:
            longest = max(end - first for first, end in windows)
            at = [[min(first + k, end - 1) for k in range(longest)] for first, end in windows]
            x = op("ReduceMax", op("Gather", x, Var(at, "int64"), axis=axis), Var([axis + 1], "int64"), keepdims=0)
        else:
            shares = [[1 / (end - first) if first <= k < end else 0.0 for k in range(size)] for first, end in windows]
            last = [i for i in range(len(shape)) if i != axis] + [axis]
            moved = op("MatMul", op("Transpose", x, perm=last), Var([list(column) for column in zip(*shares)], x.dtype))
            x = op("Transpose", moved, perm=[last.index(i) for i in range(len(shape))])
    return x


def adaptive_avg_pool1d(input: VarLike, output_size: int) -> Var:
    """Means of output_size windows that cover [N, C, L] evenly. Raises InvalidArgument (a ValueError) for another rank or size."""
    return _adaptive(1, input, output_size, False)


def adaptive_avg_pool2d(input: VarLike, output_size: Any) -> Var:
    """adaptive_avg_pool1d() of [N, C, H, W]; None for a size keeps the input's. Raises its errors."""
    return _adaptive(2, input, output_size, False)


def adaptive_avg_pool3d(input: VarLike, output_size: Any) -> Var:
    """adaptive_avg_pool2d() of [N, C, D, H, W]. Raises its errors."""
    return _adaptive(3, input, output_size, False)


def adaptive_max_pool1d(input: VarLike, output_size: int) -> Var:
    """The largest elements of output_size windows that cover [N, C, L] evenly. Raises InvalidArgument (a ValueError) for another rank or size."""
    return _adaptive(1, input, output_size, True)


def adaptive_max_pool2d(input: VarLike, output_size: Any) -> Var:
    """adaptive_max_pool1d() of [N, C, H, W]; None for a size keeps the input's. Raises its errors."""
    return _adaptive(2, input, output_size, True)


def adaptive_max_pool3d(input: VarLike, output_size: Any) -> Var:
    """adaptive_max_pool2d() of [N, C, D, H, W]. Raises its errors."""
    return _adaptive(3, input, output_size, True)


# ---- Normalizations

def _filled(value: float, shape: Sequence[int], x: Var) -> Var:
    from minnow import numpy as np
    return np.full(tuple(shape), value, x.dtype)


def batch_norm(input: VarLike, running_mean: VarLike | None, running_var: VarLike | None, weight: VarLike | None = None, bias: VarLike | None = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Var:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel of [N, C, ...] (Ioffe and Szegedy 2015): in training of the batch, whose
    statistics change the buffers running_mean and running_var by this share, else of these. Raises InvalidModel and InvalidArgument (ValueErrors)
    for shapes that do not fit and training with one element for each channel."""
    x = _var(input)
    shape: Sequence[Any] = dims_of(x) if not training else shape_of(x)
    if len(shape) < 2:
        raise InvalidArgument(f"the input has a batch and a channel axis, its shape is {list(shape)}")
    channels = (shape[1],)
    scale = _filled(1, channels, x) if weight is None else weight
    shift = _filled(0, channels, x) if bias is None else bias
    if not training:
        if running_mean is None or running_var is None:
            raise InvalidArgument("without training the running mean and variance are needed")
        return op("BatchNormalization", x, scale, shift, running_mean, running_var, epsilon=float(eps))
    count = math.prod(shape) // max(shape[1], 1)
    if count <= 1:
        raise InvalidArgument(f"training needs more than one element for each channel, the input's shape is {list(shape)}")
    zero = _filled(0, channels, x)
    if not isinstance(running_mean, Var) or not isinstance(running_var, Var):
        return op("BatchNormalization", x, scale, shift, zero, zero, epsilon=float(eps), training_mode=1)
    y, mean, variance = _minnow.ops("BatchNormalization", [x, scale, shift, zero, zero], 3, {"epsilon": float(eps), "training_mode": 1, "momentum": 0.0})
    for buffer, now in ((running_mean, mean), (running_var, variance * (count / (count - 1)))):
        update_buffer(buffer, (read_buffer(buffer) * (1 - momentum) + now * momentum).astype(buffer.dtype))
    return y


def instance_norm(input: VarLike, running_mean: VarLike | None = None, running_var: VarLike | None = None, weight: VarLike | None = None,
                  bias: VarLike | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Var:
    """batch_norm() of each image alone (Ulyanov et al. 2016). Raises its errors."""
    x = _var(input)
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    shape = shape_of(x)
    if math.prod(shape[2:]) <= 1:
        raise InvalidArgument(f"training needs more than one element for each channel, the input's shape is {list(shape)}")
    scale = _filled(1, shape[1:2], x) if weight is None else weight
    shift = _filled(0, shape[1:2], x) if bias is None else bias
    y = op("InstanceNormalization", x, scale, shift, epsilon=float(eps))
    if isinstance(running_mean, Var) and isinstance(running_var, Var):
        count, axes = math.prod(shape[2:]), Var([0, *range(2, len(shape))], "int64")
        each = op("ReduceMean", x, Var(list(range(2, len(shape))), "int64"))
        mean = op("ReduceMean", x, axes, keepdims=0)
        variance = op("ReduceMean", op("Mul", x - each, x - each), axes, keepdims=0) * (count / (count - 1))
        for buffer, now in ((running_mean, mean), (running_var, variance)):
            update_buffer(buffer, (read_buffer(buffer) * (1 - momentum) + now * momentum).astype(buffer.dtype))
    return y


def layer_norm(input: VarLike, normalized_shape: Size, weight: VarLike | None = None, bias: VarLike | None = None, eps: float = 1e-5) -> Var:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes, which have this shape (Ba et al. 2016). Raises InvalidModel (a
    ValueError) for shapes that do not fit."""
    x, shape = _var(input), _last(input, normalized_shape)
    scale = _filled(1, shape, x) if weight is None else weight
    return op("LayerNormalization", x, scale, *([] if bias is None else [bias]), axis=-len(shape), epsilon=float(eps))


def rms_norm(input: VarLike, normalized_shape: Size, weight: VarLike | None = None, eps: float | None = None) -> Var:
    """x / sqrt(mean(x^2) + eps) * weight over the last axes, which have this shape (Zhang and Sennrich 2019). eps: by default the distance of 1 to
    the next number of the dtype. Raises InvalidModel (a ValueError) for shapes that do not fit."""
    x, shape = _var(input), _last(input, normalized_shape)
    if eps is None:
        eps = {"float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}.get(str(x.dtype), 2.0**-23)
    return op("RMSNormalization", x, _filled(1, shape, x) if weight is None else weight, axis=-len(shape), epsilon=float(eps))


def _last(input: VarLike, normalized_shape: Size) -> list[int]:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    dims = _var(input).dims
    if dims is not None and list(dims[len(dims) - len(shape):]) != shape:
        raise InvalidArgument(f"the last axes of the input have the shape {shape}, its shape is {list(dims)}")
    return shape


def group_norm(input: VarLike, num_groups: int, weight: VarLike | None = None, bias: VarLike | None = None, eps: float = 1e-5) -> Var:
    """batch_norm() of each image alone, over groups of channels of [N, C, ...] (Wu and He 2018). Raises InvalidModel (a ValueError) for channels that
    do not divide evenly."""
    x = _var(input)
    channels = shape_of(x)[1:2]
    scale = _filled(1, channels, x) if weight is None else weight
    shift = _filled(0, channels, x) if bias is None else bias
    return op("GroupNormalization", x, scale, shift, num_groups=num_groups, epsilon=float(eps))


def normalize(input: VarLike, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Var:
    """x / max(norm of x along an axis, eps). Raises InvalidModel (a ValueError) for an axis that there is not."""
    x = _var(input)
    return x / op("Max", _losses.norm(x, p, dim, True), Var(eps, x.dtype))


def local_response_norm(input: VarLike, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Var:
    """x / (k + alpha m)^beta, where m is the mean of the squares of `size` neighbouring channels of [N, C, ...] (Krizhevsky et al. 2012). Raises
    InvalidModel (a ValueError) for fewer than three axes."""
    x = _var(input)
    if size % 2:
        return op("LRN", x, size=size, alpha=float(alpha), beta=float(beta), bias=float(k))
    shape = shape_of(x)  # the operator has one channel more after x, torch one more before it
    squares = op("Pad", op("Reshape", x * x, Var([shape[0], 1, shape[1], -1], "int64")), Var([0, 0, size // 2, 0, 0, 0, (size - 1) // 2, 0], "int64"))
    means = op("Reshape", op("AveragePool", squares, kernel_shape=[size, 1]), Var(list(shape), "int64"))
    return x / (k + alpha * means) ** beta


# ---- Embeddings, movement, attention

def embedding(input: VarLike, weight: VarLike, padding_idx: int | None = None) -> Var:
    """Rows of weight [count, size] for indices of any shape; the row padding_idx gets no gradient. Raises an error when it is computed if an index
    is out of range."""
    w, at = _var(weight), _var(input)
    at = at if str(at.dtype) in ("int32", "int64") else at.astype("int64")
    rows = op("Gather", w, at, axis=0)
    if padding_idx is None:
        return rows
    is_padding = op("Unsqueeze", op("Equal", at, Var(padding_idx % w.shape[0], at.dtype)), Var([-1], "int64"))
    return op("Where", is_padding, op("minnow.StopGradient", rows), rows)


def embedding_bag(input: VarLike, weight: VarLike, offsets: VarLike | None = None, mode: str = "mean", per_sample_weights: VarLike | None = None,
                  padding_idx: int | None = None, include_last_offset: bool = False) -> Var:
    """The "mean", "sum" or "max" of the rows of weight [count, size] in each bag of indices: the rows of [N, L], or parts of [L] that begin at
    `offsets`, of which the last is the end with include_last_offset. per_sample_weights: factors of the rows of a sum, like the indices. The row
    padding_idx does not count; an empty bag gives zeros. Raises InvalidArgument (a ValueError) for other arguments."""
    if mode not in ("mean", "sum", "max") or (per_sample_weights is not None and mode != "sum"):
        raise InvalidArgument(f'mode is "mean", "sum" or "max", and "sum" with per_sample_weights; it is "{mode}"')
    at, w = _var(input), _var(weight)
    shape = shape_of(at)
    if (len(shape) == 2) != (offsets is None) or len(shape) not in (1, 2):
        raise InvalidArgument(f"indices are [N, L], or [L] with offsets; their shape is {list(shape)}{'' if offsets is None else ' with offsets'}")
    rows = embedding(at, w, padding_idx)
    counts = op("Expand", Var(True), Var(list(shape), "int64")) if padding_idx is None else op("Not", op("Equal", at, Var(padding_idx % w.shape[0], at.dtype)))
    if per_sample_weights is not None:
        rows = rows * op("Unsqueeze", per_sample_weights, Var([-1], "int64"))
    if offsets is None:
        members = op("Unsqueeze", counts, Var([1], "int64"))  # [N, 1, L]
    else:
        first = _var(offsets).astype("int64")
        if not include_last_offset:
            first = op("Concat", first, Var([shape[0]], "int64"), axis=0)
        bags = shape_of(first)[0] - 1
        begun = op("LessOrEqual", op("Unsqueeze", first, Var([1], "int64")), Var([list(range(shape[0]))], "int64"))
        members = op("And", op("Slice", begun, Var([0], "int64"), Var([bags], "int64"), Var([0], "int64")),
                     op("Not", op("Slice", begun, Var([1], "int64"), Var([bags + 1], "int64"), Var([0], "int64"))))
        members = op("And", members, counts)  # [bags, L]
    factors = members.astype(w.dtype)
    total = op("ReduceSum", factors, Var([-1], "int64"), keepdims=1)
    if mode == "max":
        each = op("Unsqueeze", rows, Var([1], "int64")) if offsets is None else rows
        made = op("ReduceMax", op("Where", op("Unsqueeze", members, Var([-1], "int64")), each, Var(float("-inf"), w.dtype)), Var([-2], "int64"), keepdims=0)
        made = op("Where", op("Greater", total, Var(0, w.dtype)), made, Var(0, w.dtype))
    else:
        made = op("MatMul", factors, rows)
        made = made / op("Max", total, Var(1, w.dtype)) if mode == "mean" else made
    return op("Squeeze", made, Var([1], "int64")) if offsets is None else made


def pad(input: VarLike, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Var:
    """Elements before and after the last axis, then the one before it, and so on: (left, right, top, bottom). mode: "constant", "reflect",
    "replicate", "circular". Raises InvalidArgument (a ValueError) for another mode or more numbers than the axes take."""
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in modes:
        raise InvalidArgument(f'there is no mode "{mode}"{_minnow.nearest(mode, list(modes))}')
    x = _var(input)
    rank = len(x.dims if x.dims is not None else x.shape)
    if len(pad) % 2 or len(pad) > 2 * rank:
        raise InvalidArgument(f"an input of {rank} axes takes up to {rank} pairs, pad is {list(pad)}")
    begin, end = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        begin[rank - 1 - i], end[rank - 1 - i] = int(pad[2 * i]), int(pad[2 * i + 1])
    inputs = [Var(begin + end, "int64")] + ([Var(value, x.dtype)] if mode == "constant" else [])
    return op("Pad", x, *inputs, mode=modes[mode])


def interpolate(input: VarLike, size: Size | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
                align_corners: bool | None = None) -> Var:
    """[N, C, ...] with other sizes: `size`, or the input's times scale_factor. mode: "nearest", "linear", "bilinear", "trilinear", "bicubic". Raises
    InvalidArgument (a ValueError) for another mode and without exactly one of size and scale_factor."""
    x = _var(input)
    shape = shape_of(x)
    axes = len(shape) - 2
    modes = {"nearest": "nearest", "nearest-exact": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
    if mode not in modes:
        raise InvalidArgument(f'there is no mode "{mode}"{_minnow.nearest(mode, list(modes))}')
    if (size is None) == (scale_factor is None):
        raise InvalidArgument("interpolate takes either size or scale_factor")
    factors: list[float] | None = None
    if scale_factor is not None:
        factors = [float(scale_factor)] * axes if isinstance(scale_factor, (int, float)) else [float(item) for item in scale_factor]
        sizes = [int(old * factor) for old, factor in zip(shape[2:], factors)]
    else:
        sizes = _many(size, axes)
    attributes: dict[str, Any] = {"mode": modes[mode]}
    if mode == "nearest":
        attributes.update(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    elif mode == "nearest-exact":
        attributes.update(coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil")
    else:
        attributes["coordinate_transformation_mode"] = "align_corners" if align_corners else "pytorch_half_pixel"
        if mode == "bicubic":
            attributes["cubic_coeff_a"] = -0.75
    if factors is not None and not align_corners:
        return op("Resize", x, None, Var([1.0, 1.0, *factors], "float32"), **attributes)
    return op("Resize", x, None, None, Var([*shape[:2], *sizes], "int64"), **attributes)


def pixel_shuffle(input: VarLike, upscale_factor: int) -> Var:
    """[..., C r^2, H, W] to [..., C, H r, W r] (Shi et al. 2016). Raises InvalidModel (a ValueError) for channels that do not fit."""
    return _batched(lambda x: op("DepthToSpace", x, blocksize=upscale_factor, mode="CRD"), input, 2)


def pixel_unshuffle(input: VarLike, downscale_factor: int) -> Var:
    """The inverse of pixel_shuffle(). Raises InvalidArgument (a ValueError) for sizes that do not divide evenly."""
    x, r = _var(input), downscale_factor
    *front, c, h, w = shape_of(x)
    if h % r or w % r:
        raise InvalidArgument(f"height and width are multiples of {r}, they are {h} and {w}")
    k = len(front)
    split = op("Reshape", x, Var([*front, c, h // r, r, w // r, r], "int64"))
    turned = op("Transpose", split, perm=[*range(k), k, k + 2, k + 4, k + 1, k + 3])
    return op("Reshape", turned, Var([*front, c * r * r, h // r, w // r], "int64"))


def scaled_dot_product_attention(query: VarLike, key: VarLike, value: VarLike, attn_mask: VarLike | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None) -> Var:
    """softmax(query key^T * scale + attn_mask) value over [..., length, size] (Vaswani et al. 2017). attn_mask: True where a query attends to a key,
    or numbers to add; a query that attends to no key gives zeros. scale: by default 1 / sqrt(size). dropout_p counts in any case. Raises InvalidModel
    (a ValueError) for shapes that do not fit."""
    q, k, v = _var(query), _var(key), _var(value)
    if dropout_p or not _one_operator_takes(q, k, v, attn_mask):
        return attention(q, k, v, attn_mask, dropout_p, is_causal, scale)[0]
    return fused_attention(q, k, v, attn_mask, is_causal, scale)


def _one_operator_takes(q: Var, k: Var, v: Var, attn_mask: VarLike | None) -> bool:
    shapes = [shape_of(x) for x in (q, k, v)]
    ranks = {len(shape) for shape in shapes}
    return len(ranks) == 1 and ranks <= {3, 4} and min(map(min, shapes)) > 0 and (attn_mask is None or len(shape_of(_var(attn_mask))) in (2, *ranks))


def fused_attention(q: Var, k: Var, v: Var, attn_mask: VarLike | None, is_causal: bool, scale: float | None) -> Var:
    """attention() without its weights as one operator, which does not hold a score for each query and key: of [batch, heads, length, size], or
    [batch, length, size]. Raises its errors."""
    if is_causal and attn_mask is not None:
        raise InvalidArgument("is_causal needs no attn_mask")
    settings: dict[str, Any] = {"is_causal": int(is_causal)}
    if scale is not None:
        settings["scale"] = float(scale)
    inputs = [q, k, v]
    one_head = len(shape_of(q)) == 3
    if one_head:
        settings |= {"q_num_heads": 1, "kv_num_heads": 1}
    if attn_mask is not None:
        mask = _var(attn_mask)
        inputs.append(op("Unsqueeze", mask, Var([1], "int64")) if one_head and len(shape_of(mask)) == 3 else mask)
    return op("Attention", *inputs, **settings)


def attention(query: VarLike, key: VarLike, value: VarLike, attn_mask: VarLike | None, dropout_p: float, is_causal: bool, scale: float | None) -> tuple[Var, Var]:
    """scaled_dot_product_attention() and its weights. Raises its errors."""
    q, k, v = _var(query), _var(key), _var(value)
    rank, size = len(shape_of(q)), shape_of(q)[-1]
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    scores = op("MatMul", q * (size**-0.5 if scale is None else scale), op("Transpose", k, perm=swapped))
    if is_causal:
        if attn_mask is not None:
            raise InvalidArgument("is_causal needs no attn_mask")
        rows, columns = shape_of(q)[-2], shape_of(k)[-2]
        attn_mask = op("Trilu", _filled(1, (rows, columns), q), upper=0).astype("bool")
    if attn_mask is not None:
        mask = _var(attn_mask)
        scores = op("Where", mask, scores, Var(float("-inf"), scores.dtype)) if str(mask.dtype) == "bool" else scores + mask
    weights = op("Softmax", scores, axis=-1)
    return op("MatMul", dropout(weights, dropout_p) if dropout_p else weights, v), weights


__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
           "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "bernoulli", "bilinear", "celu", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
           "conv_transpose2d", "conv_transpose3d", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding", "embedding_bag", "fold", "gelu", "glu", "group_norm",
           "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "instance_norm", "interpolate", "layer_norm", "leaky_relu", "linear", "local_response_norm",
           "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "normal", "normalize", "pad", "pixel_shuffle", "pixel_unshuffle", "prelu",
           "relu", "relu6", "rms_norm", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
           "softsign", "tanh", "tanhshrink", "threshold", "unfold", "uniform", *_losses.__all__]

all_suggesting(globals(), [name for name in __all__ if name not in _losses.__all__])
