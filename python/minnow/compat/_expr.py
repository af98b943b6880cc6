# SPDX-License-Identifier: Apache-2.0
"""MNN.expr on plain Vars: the functions whose names or signatures differ from those of minnow.expr. minnow.compat.expr wraps them.

A data format is only a name: the axes of a Var are always plain.
"""
from __future__ import annotations

import builtins
import enum
import math
from typing import Any, Callable, Sequence

from minnow import expr as E
from minnow import numpy as np
from minnow import _minnow
from minnow._minnow import InvalidArgument, Unsupported, Var
from minnow._typing import VarLike

from minnow.expr import NC4HW4, NCHW, NHWC

float, double, int, int64, uint8, int8 = np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8


class dtype:
    float, double, int, int64, uint8, int8 = float, double, int, int64, uint8, int8


class data_format:
    NCHW, NHWC, NC4HW4 = NCHW, NHWC, NC4HW4


class Padding_Mode:
    VALID, SAME, CAFFE = "VALID", "SAME", "CAFFE"


class PadValue_Mode:
    CONSTANT, REFLECT, SYMMETRIC = "constant", "reflect", "symmetric"


class Interp_Method:
    NEAREST, BILINEAR = "nearest", "linear"


class Pooling_Mode:
    MAXPOOL, AVEPOOL = "max", "average"


VALID, SAME, CAFFE = Padding_Mode.VALID, Padding_Mode.SAME, Padding_Mode.CAFFE
CONSTANT, REFLECT, SYMMETRIC = PadValue_Mode.CONSTANT, PadValue_Mode.REFLECT, PadValue_Mode.SYMMETRIC
NEAREST, BILINEAR = Interp_Method.NEAREST, Interp_Method.BILINEAR
MAXPOOL, AVEPOOL = Pooling_Mode.MAXPOOL, Pooling_Mode.AVEPOOL


# ---- Values

def _var(x: VarLike) -> Var:
    """Make a Var. Like MNN, float64 arrays become float32, and Python integers int32."""
    made = np.asarray(x)
    if not isinstance(x, Var) and made.dtype == "float64":
        return made.astype("float32", copy=False)
    return made.astype("int32", copy=False) if made.dtype == "int64" and not hasattr(x, "dtype") else made


def is_address(value: Any) -> bool:
    """Tell whether a value is a capsule, or a number that can be an address."""
    return type(value).__name__ == "PyCapsule" or (type(value) is builtins.int and value >= 65536)


def from_address(address: Any, shape: Sequence[builtins.int], dtype: Any) -> Var:
    """Copy the elements at an address. The operating system does the copying, so that a wrong address is an error instead of a crash."""
    import ctypes
    import os
    import tempfile
    if not isinstance(address, builtins.int):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = pointer(address, None)
    count = np.zeros(list(shape), "bool").size * np.dtype(dtype).itemsize
    write = ctypes.CDLL(None, use_errno=True).write
    write.restype, write.argtypes = ctypes.c_ssize_t, [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    with tempfile.TemporaryFile() as file:
        done = 0
        while done < count:
            written = write(file.fileno(), address + done, count - done)
            if written <= 0:
                raise InvalidArgument(f"cannot read {count} bytes at the address {address:#x}: {os.strerror(ctypes.get_errno())}")
            done += written
        file.seek(0)
        return _minnow.from_buffer(file.read(), dtype, list(shape))


def const(value_list: Any, shape: Sequence[builtins.int] | None = None, data_format: str = NCHW, dtype: Any = float) -> Var:
    """Create a constant from numbers, an array, bytes, or an address (a capsule like Var.ptr, or a number)."""
    if is_address(value_list) and shape is not None:
        made = from_address(value_list, shape, dtype)
    else:
        made = np.array(list(value_list) if isinstance(value_list, (bytes, bytearray)) else value_list, dtype)
        if shape is not None and (len(shape) or made.size == 1):
            made = made.reshape(*shape) if len(shape) else made.reshape(())
    return E._with_format(made, NHWC if data_format == NHWC else NCHW)


def scalar(value: VarLike, dtype: Any = None) -> Var:
    """Create a constant without axes."""
    return _var(value) if dtype is None else np.asarray(value).astype(dtype, copy=False)


def placeholder(shape: Sequence[builtins.int] = (), format: str = NCHW, dtype: Any = float) -> Var:
    """Create a value that write() sets later. Dimensions of -1 may change from one value to the next."""
    return E.placeholder("", dtype, list(shape))


def clone(x: VarLike, deepCopy: bool = False) -> Var:
    value = _var(x)
    return E.clone([value])[0] if deepCopy else E.identity(value) if value.is_placeholder else value.clone()


def cast(x: VarLike, dtype: Any = float) -> Var:
    return _var(x).astype(dtype, copy=False)


def fill(shape: VarLike, value: VarLike) -> Var:
    return np.full(np.asarray(shape).tolist(), _var(value))


def zeros_like(x: VarLike) -> Var:
    return np.zeros_like(_var(x))


def range(start: VarLike, limit: VarLike, delta: VarLike) -> Var:
    first = _var(start)
    return np.arange(first.item(), _var(limit).item(), _var(delta).item(), dtype=first.dtype)


def randomuniform(shape: VarLike, dtype: Any = float, low: builtins.float = 0.0, high: builtins.float = 1.0, seed0: builtins.int = 0, seed1: builtins.int = 1) -> Var:
    """Draw uniform numbers. The same seeds give the same numbers, but not those of MNN."""
    return np.random.default_rng([seed0, seed1]).uniform(low, high, np.asarray(shape).tolist()).astype(dtype, copy=False)


# ---- Elementwise functions

def _of_vars(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a function of minnow.numpy to the arguments of MNN's."""
    def call(*values: VarLike) -> Any:
        return function(*[_var(value) for value in values])

    call.__doc__ = function.__doc__
    return call


def _real(function: Callable[..., Any]) -> Callable[[VarLike], Var]:
    """Convert integers to float32 before the call."""
    def call(x: VarLike) -> Var:
        value = _var(x)
        made: Var = function(value if value.dtype.kind == "f" else value.astype("float32", copy=False))
        return made

    call.__doc__ = function.__doc__
    return call


# Two operands both get the dtype of theirs that comes later in this order.
_DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")


def matched(x: VarLike, y: VarLike) -> tuple[Var, Var]:
    """Convert two operands to Vars of a common dtype."""
    a, b = _var(x), _var(y)
    one, other = a.dtype.name, b.dtype.name
    if one != other and one in _DTYPES and other in _DTYPES:
        wide = max(one, other, key=_DTYPES.index)
        a, b = a.astype(wide, copy=False), b.astype(wide, copy=False)
    elif one == other == "bool":
        a, b = a.astype("int32", copy=False), b.astype("int32", copy=False)
    return a, b


def _binary(function: Callable[..., Any]) -> Callable[[VarLike, VarLike], Var]:
    def call(x: VarLike, y: VarLike) -> Var:
        made: Var = function(*matched(x, y))
        return made

    call.__doc__ = function.__doc__
    return call


def _same(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Convert the result to the dtype of the operands."""
    return lambda a, b: function(a, b).astype(a.dtype, copy=False)


sign, abs, negative = map(_of_vars, (np.sign, np.abs, np.negative))
floor, ceil, square, sqrt, exp, log, sin, sinh, cos, cosh, tan, tanh = map(_real, (
    np.floor, np.ceil, np.square, np.sqrt, np.exp, np.log, np.sin, np.sinh, np.cos, np.cosh, np.tan, np.tanh))
asin, asinh, acos, acosh, atan, atanh, reciprocal, log1p, expm1 = map(_real, (
    np.arcsin, np.arcsinh, np.arccos, np.arccosh, np.arctan, np.arctanh, np.reciprocal, np.log1p, np.expm1))
gelu, sigmoid, erf, softplus, softsign = map(_real, (lambda x: E.gelu(x, approximate="tanh"), E.sigmoid, E.erf, E.softplus, E.softsign))
add, subtract, multiply, minimum, maximum, atan2 = map(_binary, (np.add, np.subtract, np.multiply, np.minimum, np.maximum, np.arctan2))
floordiv, floormod, pow = map(_binary, (_same(np.floor_divide), np.mod, _same(lambda a, b: np.power(a.astype("float64", copy=False), b) if a.dtype.kind in "iu" else np.power(a, b))))  # type: ignore[arg-type]
equal, not_equal, greater, greater_equal, less, less_equal = map(_binary, (np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal))
bitwise_and, bitwise_or, bitwise_xor = map(_binary, (np.bitwise_and, np.bitwise_or, np.bitwise_xor))
bias_add = add


@_binary
def divide(a: Var, b: Var) -> Var:
    """Divide. Integers are rounded towards zero."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    return np.trunc(np.divide(a.astype("float64", copy=False), b.astype("float64", copy=False))).astype(a.dtype, copy=False)


@_binary
def mod(a: Var, b: Var) -> Var:
    """Return the remainder. It has the sign of x for floating-point numbers, and the sign of y for integers."""
    return np.fmod(a, b) if a.dtype.kind == "f" else np.mod(a, b)


@_binary
def logical_or(a: Var, b: Var) -> Var:
    return np.logical_or(a, b)


def select(cond: VarLike, x: VarLike, y: VarLike) -> Var:
    """Choose from x where cond is not zero, else from y."""
    a, b = matched(x, y)
    return np.where(np.not_equal(_var(cond), 0), a, b)  # type: ignore[no-any-return]


def rsqrt(x: VarLike) -> Var:
    return 1 / sqrt(x)


def erfc(x: VarLike) -> Var:
    return 1 - E.erf(_var(x))


def erfinv(x: VarLike) -> Var:
    """Return the inverse of erf(), within 1e-6: Winitzki's approximation and two steps of Newton's method in double precision."""
    value = np.asarray(_var(x), "float64")
    log = np.log1p(-value * value)
    a = 2 / (np.pi * 0.147) + log / 2
    y = np.sign(value) * np.sqrt(np.sqrt(a * a - log / 0.147) - a)
    for _ in builtins.range(2):
        y = y - (E.erf(y) - value) * np.exp(y * y) * (np.pi ** 0.5 / 2)
    return np.where(np.abs(value) < 1, y, value * np.inf).astype("float32", copy=False)  # type: ignore[no-any-return]


def round(x: VarLike) -> Var:
    """Round to the nearest integer. Like MNN, halves are rounded away from zero."""
    value = _var(x)
    value = value if value.dtype.kind == "f" else value.astype("float32", copy=False)
    return np.copysign(np.floor(np.abs(value) + 0.5), value)


def squared_difference(x: VarLike, y: VarLike) -> Var:
    return np.square(subtract(x, y))


def relu(x: VarLike, slope: builtins.float = 0.0) -> Var:
    return E.leaky_relu(_var(x), alpha=slope) if slope else E.relu(_var(x))


def relu6(x: VarLike, min: builtins.float = 0.0, max: builtins.float = 6.0) -> Var:
    return np.clip(_var(x), min, max)


def prelu(x: VarLike, slopes: Sequence[builtins.float]) -> Var:
    """Apply PReLU with one slope for each channel (axis 1)."""
    value = _var(x)
    return E.prelu(value, np.asarray(slopes, value.dtype).reshape(-1, *[1] * (value.ndim - 2)))


def elu(x: VarLike, alpha: builtins.float = 1.0) -> Var:
    return E.elu(_var(x), alpha=alpha)


def selu(x: VarLike, scale: builtins.float, alpha: builtins.float) -> Var:
    return E.selu(_var(x), alpha=alpha, gamma=scale)


def softmax(x: VarLike, axis: builtins.int = -1) -> Var:
    return E.softmax(_var(x), axis=axis)


# ---- Along axes

def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: VarLike, axis: Any = (), keepdims: bool = False) -> Var:
        axes = [axis] if isinstance(axis, builtins.int) else np.asarray(axis).tolist() if len(axis) else []
        value = _var(x)
        value = value.astype("int32", copy=False) if value.dtype.name in ("uint8", "int8", "bool") else value
        result: Var = function(value, axis=tuple(axes) if axes else None, keepdims=keepdims)
        if result.dtype == "bool":
            return result
        if value.dtype.kind != "f" and result.dtype.kind == "f":  # the mean of integers is an integer
            result = np.trunc(result)
        return result.astype(value.dtype, copy=False)

    reduce.__doc__ = function.__doc__
    return reduce


reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_prod, reduce_any, reduce_all = map(_reduction, (np.sum, np.mean, np.max, np.min, np.prod, np.any, np.all))  # type: ignore[arg-type]


def argmax(x: VarLike, axis: builtins.int = 0) -> Var:
    return np.argmax(_var(x), axis).astype("int32", copy=False)


def argmin(x: VarLike, axis: builtins.int = 0) -> Var:
    return np.argmin(_var(x), axis).astype("int32", copy=False)


def cumsum(x: VarLike, axis: builtins.int = 0) -> Var:
    return np.cumsum(_var(x), axis)


def cumprod(x: VarLike, axis: builtins.int = 0) -> Var:
    return np.cumprod(_var(x).astype("float32", copy=False), axis)


def sort(x: VarLike, axis: builtins.int = -1, arg: bool = False, descend: bool = False) -> Var:
    """Sort, or with `arg` return the places of the sorted elements."""
    value = _var(x)
    order = np.argsort(-value if descend else value, axis=axis, kind="stable")
    return order.astype("int32", copy=False) if arg else np.take_along_axis(value, order, axis)


def moments(x: VarLike, axes: Sequence[builtins.int] = (2, 3), shift: Any = None, keep_dims: bool = True) -> tuple[Var, Var]:
    """Return mean and variance."""
    value = _var(x)
    return np.mean(value, axis=tuple(axes), keepdims=keep_dims), np.var(value, axis=tuple(axes), keepdims=keep_dims)


def matmul(a: VarLike, b: VarLike, transposeA: bool = False, transposeB: bool = False) -> Var:
    x, y = _var(a).astype("float32", copy=False), _var(b).astype("float32", copy=False)
    return np.matmul(np.swapaxes(x, -1, -2) if transposeA else x, np.swapaxes(y, -1, -2) if transposeB else y)


# ---- Shapes

def shape(x: VarLike) -> Var:
    return np.asarray(_var(x).shape, "int32")


def size(x: VarLike) -> Var:
    return np.asarray(_var(x).size, "int32")


def rank(x: VarLike) -> Var:
    return np.asarray(_var(x).ndim, "int32")


def _ints(x: VarLike) -> list[builtins.int]:
    return [builtins.int(value) for value in np.asarray(x).reshape(-1).tolist()]


def reshape(x: VarLike, shape: VarLike, original_format: str = NCHW) -> Var:
    """Change the shape. -1 is computed from the rest, and 0 keeps the dimension of x at that place."""
    value = _var(x)
    return np.reshape(value, [value.shape[i] if dim == 0 and i < value.ndim and value.size else dim for i, dim in enumerate(_ints(shape))])


def transpose(x: VarLike, perm: VarLike) -> Var:
    return np.transpose(_var(x), _ints(perm))


def broadcast_to(input: VarLike, shape: VarLike) -> Var:
    return np.broadcast_to(_var(input), _ints(shape))


def expand_dims(x: VarLike, axis: builtins.int) -> Var:
    return np.expand_dims(_var(x), axis)


def squeeze(x: VarLike, axes: Any = ()) -> Var:
    return np.squeeze(_var(x), tuple(_ints(axes)) or None)


def unsqueeze(x: VarLike, axes: Any = ()) -> Var:
    return np.expand_dims(_var(x), tuple(_ints(axes)))


def concat(values: Sequence[VarLike], axis: builtins.int) -> Var:
    return np.concatenate([_var(value) for value in values], axis)


def stack(values: Sequence[VarLike], axis: builtins.int = 0) -> Var:
    return np.stack([_var(value) for value in values], axis)


def unstack(x: VarLike, axis: builtins.int = 0) -> list[Var]:
    return list(np.unstack(_var(x), axis=axis))


def split(x: VarLike, size_splits: Any, axis: builtins.int) -> list[Var]:
    """Split along an axis. size_splits: the number of equal parts, or the length of each part."""
    if isinstance(size_splits, builtins.int):
        return np.split(_var(x), size_splits, axis)
    if len(size_splits) == 1 and size_splits[0] != _var(x).shape[axis]:
        return np.split(_var(x), builtins.int(size_splits[0]), axis)
    ends = np.cumsum(_ints(size_splits)).tolist()
    return np.split(_var(x), ends[:-1], axis)


def slice(x: VarLike, starts: VarLike, sizes: VarLike) -> Var:
    """Cut out a part. A size of -1 reaches to the end."""
    return _var(x)[tuple(builtins.slice(start, None if count < 0 else start + count) for start, count in zip(_ints(starts), _ints(sizes)))]


def strided_slice(x: VarLike, begin: VarLike, end: VarLike, strides: VarLike, begin_mask: builtins.int = 0, end_mask: builtins.int = 0,
                  ellipsis_mask: builtins.int = 0, new_axis_mask: builtins.int = 0, shrink_axis_mask: builtins.int = 0) -> Var:
    """Index with begin:end:strides. Bits of the masks mark axes without begin or end, the ellipsis, new axes and single places."""
    key: list[Any] = []
    for i, (first, last, step) in enumerate(zip(_ints(begin), _ints(end), _ints(strides))):
        if ellipsis_mask >> i & 1:
            key.append(Ellipsis)
        elif new_axis_mask >> i & 1:
            key.append(None)
        elif shrink_axis_mask >> i & 1:
            key.append(first)
        else:
            key.append(builtins.slice(None if begin_mask >> i & 1 else first, None if end_mask >> i & 1 else last, step))
    return _var(x)[tuple(key)]


def tile(x: VarLike, multiples: VarLike) -> Var:
    return np.tile(_var(x), _ints(multiples))


def gather(x: VarLike, index: VarLike) -> Var:
    """Take elements along the first axis."""
    return np.take(_var(x), np.asarray(index), 0)


def gather_nd(x: VarLike, indices: VarLike) -> Var:
    return E.gather_nd(_var(x), np.asarray(indices).astype("int64", copy=False))


def where(x: VarLike) -> Var:
    """Return the indices of all elements above zero."""
    return np.argwhere(np.greater(_var(x), 0)).astype("int32", copy=False)


def reverse(x: VarLike, axis: VarLike) -> Var:
    return np.flip(_var(x), tuple(_ints(axis)))


def pad(x: VarLike, paddings: VarLike, mode: str = CONSTANT) -> Var:
    return np.pad(_var(x), np.asarray(paddings).reshape(-1, 2).tolist(), mode)


def one_hot(indices: VarLike, depth: VarLike, onValue: builtins.float = 1.0, offValue: builtins.float = 0.0, axis: builtins.int = -1) -> Var:
    return E.one_hot(np.asarray(indices), np.asarray(depth).astype("int64", copy=False), np.asarray([offValue, onValue], "float32"), axis=axis)


# ---- Layers

def _channels_first(x: Var) -> Var:
    """Mark a result as NCHW for convert()."""
    return E._with_format(x, NCHW)


def _pair(values: Sequence[builtins.int]) -> list[builtins.int]:
    """Turn one of MNN's pairs (x, y) into (height, width)."""
    if len(values) != 2:
        raise InvalidArgument(f"a pair (x, y) is wanted, not {tuple(values)}")
    return [values[1], values[0]]


def _padding(padding: Sequence[builtins.int], mode: str) -> dict[str, Any]:
    """Translate padding. Like MNN, `padding` counts only in the mode CAFFE."""
    if mode == CAFFE:
        return {"pads": _pair(padding) * 2}
    if mode not in (VALID, SAME):
        raise InvalidArgument(f"the padding mode is {mode!r}; there are VALID, SAME and CAFFE")
    return {"auto_pad": "SAME_UPPER"} if mode == SAME else {}


def conv2d(input: VarLike, weight: VarLike, bias: VarLike, stride: Sequence[builtins.int] = (1, 1), padding: Sequence[builtins.int] = (0, 0),
           dilate: Sequence[builtins.int] = (1, 1), group: builtins.int = 1, padding_mode: str = VALID) -> Var:
    """Convolve. The weight is [out, in / group, height, width]; stride, padding and dilate are (x, y)."""
    return _channels_first(E.conv(_var(input), _var(weight), _var(bias), strides=_pair(stride), dilations=_pair(dilate), group=group, **_padding(padding, padding_mode)))


def conv2d_transpose(input: VarLike, weight: VarLike, bias: VarLike, stride: Sequence[builtins.int] = (1, 1), padding: Sequence[builtins.int] = (0, 0),
                     dilate: Sequence[builtins.int] = (1, 1), group: builtins.int = 1, padding_mode: str = VALID) -> Var:
    """Convolve, transposed. The weight is [in, out / group, height, width]."""
    return _channels_first(E.conv_transpose(_var(input), _var(weight), _var(bias), strides=_pair(stride), dilations=_pair(dilate), group=group, **_padding(padding, padding_mode)))


def max_pool(x: VarLike, kernel: Sequence[builtins.int], stride: Sequence[builtins.int], padding_mode: str = VALID, pads: Sequence[builtins.int] = (0, 0)) -> Var:
    """Take maxima. kernel, stride and pads are (x, y). With CAFFE the last window may reach beyond the border."""
    return _channels_first(E.max_pool(_var(x), _pair(kernel), strides=_pair(stride), ceil_mode=builtins.int(padding_mode == CAFFE), **_padding(pads, padding_mode)))


def avg_pool(x: VarLike, kernel: Sequence[builtins.int], stride: Sequence[builtins.int], padding_mode: str = VALID, pads: Sequence[builtins.int] = (0, 0)) -> Var:
    """Take means. Like max_pool(); with CAFFE the zeros of the padding count."""
    caffe = builtins.int(padding_mode == CAFFE)
    return _channels_first(E.average_pool(_var(x), _pair(kernel), strides=_pair(stride), ceil_mode=caffe, count_include_pad=caffe, **_padding(pads, padding_mode)))


def scale(x: VarLike, channels: builtins.int, scale: VarLike, bias: VarLike) -> Var:
    """Multiply each channel (axis 1) by its scale and add its bias."""
    value = _var(x)
    along = [channels, *[1] * (value.ndim - 2)]
    return _channels_first(value * _var(scale).reshape(along) + _var(bias).reshape(along))


def channel_shuffle(x: VarLike, axis: builtins.int) -> Var:
    """Split the channels into `axis` groups and interleave them: [N, C, H, W]. The format of x says where its channels are."""
    value = E.convert(_var(x), NCHW)
    n, c, h, w = value.shape
    if c % axis:
        raise InvalidArgument(f"channel_shuffle() takes {axis} groups of equally many channels; there are {c}")
    return _channels_first(np.reshape(np.swapaxes(np.reshape(value, [n, axis, c // axis, h, w]), 1, 2), [n, c, h, w]))


# ---- Files, and how things are computed

class Values(dict[str, Var]):
    """All values of a model by name, with its inputs and outputs."""

    def __init__(self, loaded: E.Loaded) -> None:
        super().__init__(loaded.values)
        self.inputs, self.outputs = ({value.name: self[value.name] for value in values} for values in (loaded.inputs, loaded.outputs))


def _load(path: Any) -> E.Loaded:
    """Load a model file of any format as expressions."""
    import os
    import tempfile
    from minnow._files import read_model
    model = read_model(path, "none").model
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "model.minnow")
        with open(plain, "wb") as file:
            file.write(_minnow.model_bytes(model))
        loaded = E.load(plain)
    for value in loaded.inputs:
        shape = model.properties.get("shape." + value.name)
        if shape:  # Minnow takes any size here; the file has this one
            value.assign(np.zeros([builtins.int(dim) for dim in shape.split("x")], value.dtype))
        layout = model.properties.get("layout." + value.name)
        if layout:
            value.__dict__["_format"] = loaded.values[value.name].__dict__["_format"] = layout
    return loaded


def load_as_dict(path: str) -> dict[str, Var]:
    """Load all values of a model by name."""
    return Values(_load(path))


def load_as_list(path: str) -> list[Var]:
    """Load all values of a model: inputs first, outputs last."""
    loaded = _load(path)
    left_out = {value.name for value in (*loaded.inputs, *loaded.outputs)}
    for value in loaded.outputs:  # save() writes a constant as the Identity of an unnamed one
        name, inputs = _minnow.expression_of(value)
        if name == "Identity" and inputs and not _minnow.expression_of(inputs[0])[0]:
            left_out.add(inputs[0].name)
    return [*loaded.inputs, *(value for name, value in loaded.values.items() if name not in left_out), *loaded.outputs]


def save(outputs: Any, path: str, forInference: bool = True) -> None:
    """Write expressions to a .minnow file, whatever its name. minnow.load() and the functions of minnow.compat read it."""
    named = []
    for value in [outputs] if isinstance(outputs, Var) else list(outputs):
        if not value.is_placeholder and not _minnow.expression_of(value)[0]:  # a constant needs another name than the output
            name, value = value.name, E.identity(E.trainable(value.numpy().copy()))  # which waits; constants are computed at once
            value.name = name
        named.append(value)
    E.save(named, path)


def get_inputs_and_outputs(values: dict[str, Var]) -> tuple[dict[str, Var], dict[str, Var]]:
    """Return the inputs and the outputs of a model from load_as_dict()."""
    if not isinstance(values, Values):
        raise InvalidArgument("get_inputs_and_outputs() takes what load_as_dict() gives")
    return values.inputs, values.outputs


_scope: E.scope | None = None


def _compute_with(**options: Any) -> None:
    global _scope
    if _scope is not None:
        _scope.__exit__()
    _scope = E.scope(**options)
    _scope.__enter__()


def set_thread_number(number: builtins.int) -> None:
    """Set the number of threads for expressions of this thread."""
    _compute_with(threads=number)


def set_global_executor_config(backend: Any, precision: Any, threads: builtins.int) -> None:
    """Set how this thread computes expressions. The backend is always the CPU."""
    from minnow.nn import create_runtime_manager
    manager, = create_runtime_manager({"backend": backend, "precision": precision, "numThread": threads})
    _compute_with(**manager.options)


def set_lazy_mode(mode: Any) -> None:
    """Does nothing: expressions are computed when they are read."""


def lazy_eval(on: bool = True) -> None:
    """Does nothing: expressions are computed when they are read."""


def gc(full: bool = False) -> None:
    """Free cached plans."""
    if full:
        E.clear_cache()


# ---- Other operators

def _weighted(function: Callable[..., Any], name: str) -> Callable[..., Var]:
    def call(x: VarLike, y: VarLike, coeff: Sequence[builtins.float] = ()) -> Var:
        a, b = _var(x), _var(y)
        if len(coeff) not in (0, 2):
            raise InvalidArgument(f"{name} takes two coefficients or none, not {len(coeff)}")
        if list(coeff) == [1, 0]:
            return a
        return function(a * coeff[0], b * coeff[1]) if len(coeff) else function(a, b)  # type: ignore[no-any-return]

    call.__doc__ = "Combine two values, each multiplied by its coefficient. Coefficients of [1, 0] give the first value."
    return call


eltwise_sum, eltwise_sub, eltwise_prod, eltwise_max = (_weighted(function, name) for function, name in (
    (np.add, "eltwise_sum"), (np.subtract, "eltwise_sub"), (np.multiply, "eltwise_prod"), (np.maximum, "eltwise_max")))


def matrix_band_part(x: VarLike, num_lower: VarLike, num_upper: VarLike) -> Var:
    """Keep this many diagonals below and above the main one, and set the rest to zero. A negative number keeps all."""
    value, lower, upper = _var(x), builtins.int(num_lower), builtins.int(num_upper)
    value = value if lower < 0 else np.triu(value, -lower)
    return value if upper < 0 else np.tril(value, upper)


def crop(x: VarLike, size: VarLike, axis: builtins.int, offset: Sequence[builtins.int]) -> Var:
    """Cut out a part with the shape of `size` along `axis` and the axes after it. `offset` holds one start for all axes or one for each."""
    value, wanted = _var(x), _var(size).shape
    axes = list(builtins.range(axis + value.ndim if axis < 0 else axis, value.ndim))
    if len(wanted) != value.ndim or len(offset) not in (1, len(axes)):
        raise InvalidArgument(f"crop() takes a size of {value.ndim} axes and 1 or {len(axes)} offsets, not {len(wanted)} and {len(offset)}")
    key = [builtins.slice(None)] * value.ndim
    for i, place in enumerate(axes):
        start = offset[0] if len(offset) == 1 else offset[i]
        if not 0 <= start <= value.shape[place] - wanted[place]:
            raise InvalidArgument(f"crop() takes {wanted[place]} from {start} on along axis {place}, which has {value.shape[place]}")
        key[place] = builtins.slice(start, start + wanted[place])
    return value[tuple(key)]


def svd(x: VarLike) -> list[Var]:
    """Return w, u and vt with x = u * w @ vt."""
    u, w, vt = np.linalg.svd(_var(x), full_matrices=False)
    return [w, u, vt]


def setdiff1d(x: VarLike, y: VarLike) -> Var:
    """Return the elements of x that y lacks, in their order."""
    value = np.ravel(_var(x))
    return value[~np.isin(value, _var(y))]


def unravel_index(indices: VarLike, shape: VarLike) -> Var:
    """Return the index of each element along each axis: [axes, elements]."""
    return np.stack(np.unravel_index(_var(indices), _ints(shape))).astype(int, copy=False)


def histogram(x: VarLike, binNum: builtins.int, minVal: builtins.float, maxVal: builtins.float) -> Var:
    """Count the elements in equal parts of a range."""
    return np.histogram(_var(x), binNum, (minVal, maxVal))[0].astype(float, copy=False)


def space_to_batch_nd(x: VarLike, block_shape: VarLike, paddings: VarLike) -> Var:
    """Split [N, C, H, W] into blocks of pixels. Pixels at the same place of a block form a batch: [bh * bw * N, C, H / bh, W / bw]."""
    value, (high, wide), pads = _var(x), _ints(block_shape), _ints(np.ravel(_var(paddings)))
    value = np.pad(value, [(0, 0), (0, 0), (pads[0], pads[1]), (pads[2], pads[3])])
    n, c, h, w = value.shape
    parts = value.reshape(n, c, h // high, high, w // wide, wide).transpose(3, 5, 0, 1, 2, 4)
    return _channels_first(parts.reshape(high * wide * n, c, h // high, w // wide))


def batch_to_space_nd(x: VarLike, block_shape: VarLike, crops: VarLike) -> Var:
    """Undo space_to_batch_nd(), and cut off the borders."""
    value, (high, wide), cut = _var(x), _ints(block_shape), _ints(np.ravel(_var(crops)))
    n, c, h, w = value.shape
    parts = value.reshape(high, wide, n // (high * wide), c, h, w).transpose(2, 3, 4, 0, 5, 1).reshape(n // (high * wide), c, h * high, w * wide)
    return _channels_first(parts[:, :, cut[0]:h * high - cut[1], cut[2]:w * wide - cut[3]])


def nms(boxes: VarLike, scores: VarLike, max_detections: builtins.int, iou_threshold: builtins.float = -1.0, score_threshold: builtins.float = -1.0) -> Var:
    """Return the indices of the boxes [n, 4] with the highest scores that overlap no better box by more than the threshold. -1 allows any overlap or score."""
    options = [np.array([value], "float32") for value in (1.0 if iou_threshold < 0 else iou_threshold, -3.4e38 if score_threshold < 0 else score_threshold)]
    found = E.non_max_suppression(_var(boxes).astype("float32", copy=False)[None], _var(scores).astype("float32", copy=False)[None, None], np.array([max_detections], "int64"), *options)
    return found[:, 2].astype(int, copy=False)


# ---- Pictures: [N, C, H, W], or [N, H, W, C] after convert()

def _by_channel(x: VarLike, function: Callable[[Var], Var]) -> Var:
    """Apply a function of [N, C, H, W] to a value of either format."""
    value = _var(x)
    if E.format_of(value) != NHWC:
        return _channels_first(function(value))
    return E._with_format(function(value.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1), NHWC)


def depth_to_space(x: VarLike, axis: builtins.int) -> Var:
    """Turn channels into blocks of axis x axis pixels. Channels of one pixel stay together."""
    return _by_channel(x, lambda value: E.depth_to_space(value, axis))


def space_to_depth(x: VarLike, axis: builtins.int) -> Var:
    """Undo depth_to_space()."""
    return _by_channel(x, lambda value: E.space_to_depth(value, axis))


def resize(x: VarLike, x_scale: builtins.float, y_scale: builtins.float) -> Var:
    """Scale the width and the height by bilinear interpolation. Pixel i of the result lies at i / scale."""
    scales = np.array([1, 1, y_scale, x_scale], "float32")
    return _by_channel(x, lambda value: E.resize(value, None, scales, mode="linear", coordinate_transformation_mode="asymmetric"))


def crop_and_resize(x: VarLike, boxes: VarLike, box_ind: VarLike, crop_size: VarLike, method: str = BILINEAR, extrapolation_value: builtins.float = 0.0) -> Var:
    """Cut boxes out of pictures [N, H, W, C] and resize them to crop_size (height, width): [boxes, height, width, C]. A box is [y1, x1, y2, x2], where 1 is the
    full height or width, and box_ind holds the number of its picture."""
    value, corners = _var(x), np.asarray(boxes, "float32").reshape(-1, 4)
    sizes = _ints(crop_size)

    def along(axis: builtins.int) -> tuple[Var, Var, Var, Var]:
        """For each box and row (or column), return whether it is inside, the places before and after it, and its distance from the first one."""
        first, last, most = corners[:, axis], corners[:, axis + 2], value.shape[axis + 1] - 1
        if sizes[axis] > 1:
            at = (first[:, None] + np.arange(sizes[axis], dtype="float32") * ((last - first) / (sizes[axis] - 1))[:, None]) * most
        else:
            at = ((first + last) * (most / 2))[:, None]
        if method == NEAREST:
            place = np.clip(round(at), 0, most).astype("int64", copy=False)
            return (at >= 0) & (at <= most), place, place, np.zeros_like(at)
        low = np.clip(np.floor(at), 0, most)
        return (at >= 0) & (at <= most), low.astype("int64", copy=False), np.clip(low + 1, 0, most).astype("int64", copy=False), at - low

    inside_y, above, below, down = along(0)
    inside_x, left, right, over = along(1)
    picture = np.asarray(box_ind).astype("int64", copy=False)[:, None, None]

    def row(places: Var) -> Var:
        first, second = value[picture, places[:, :, None], left[:, None, :]], value[picture, places[:, :, None], right[:, None, :]]
        return first + (second - first) * over[:, None, :, None]

    made = row(above) + (row(below) - row(above)) * down[:, :, None, None]
    inside = inside_y[:, :, None, None] & inside_x[:, None, :, None]
    return E._with_format(np.where(inside, made, np.float32(extrapolation_value)), NHWC)


def roi_pooling(input: VarLike, roi: VarLike, pooled_height: builtins.int, pooled_width: builtins.int, spatial_scale: builtins.float) -> Var:
    """Take the maximum of each part of the regions [picture, x1, y1, x2, y2]."""
    rois = np.asarray(_var(roi), "float32").reshape(-1, 5)
    return _by_channel(input, lambda value: E.max_roi_pool(value, rois, pooled_shape=[pooled_height, pooled_width], spatial_scale=spatial_scale))


def roi_align(input: VarLike, roi: VarLike, pooled_height: builtins.int, pooled_width: builtins.int, spatial_scale: builtins.float, sampling_ratio: builtins.int,
              aligned: bool, pooling_mode: str = AVEPOOL) -> Var:
    """Take the mean or the maximum of interpolated samples in each part of the regions [picture, x1, y1, x2, y2]."""
    rois = np.asarray(_var(roi), "float32").reshape(-1, 5)

    def aligned_parts(value: Var, places: Var, high: builtins.int, wide: builtins.int, samples: builtins.int) -> Var:
        return E.roi_align(value, places[:, 1:], places[:, 0].astype("int64", copy=False), mode="avg", output_height=high, output_width=wide, sampling_ratio=samples,
                           spatial_scale=spatial_scale, coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel")

    def largest(value: Var, places: Var, down: builtins.int, over: builtins.int) -> Var:
        # Divide each part again: its samples are the middles of the smaller parts.
        samples = aligned_parts(value, places, pooled_height * down, pooled_width * over, 1)
        return E.max_pool(samples, [down, over], strides=[down, over])

    def of(value: Var) -> Var:
        if pooling_mode != MAXPOOL:
            return aligned_parts(value, rois, pooled_height, pooled_width, max(sampling_ratio, 0))
        if sampling_ratio > 0:
            return largest(value, rois, sampling_ratio, sampling_ratio)
        made = []
        for i, (_, x1, y1, x2, y2) in enumerate(rois.tolist()):
            wide, high = ((end - start) * spatial_scale for start, end in ((x1, x2), (y1, y2)))
            wide, high = (wide, high) if aligned else (max(wide, 1.0), max(high, 1.0))
            made.append(largest(value, rois[i:i + 1], max(math.ceil(high / pooled_height), 1), max(math.ceil(wide / pooled_width), 1)))
        return np.concatenate(made)

    return _by_channel(input, of)


def normalize(x: VarLike, acrossSpatial: builtins.int, channelShared: builtins.int, eps: builtins.float, scale: Sequence[builtins.float]) -> Var:
    """Divide the channels of each pixel (acrossSpatial: of the whole picture) by the root of the sum of their squares, and multiply by the scale of each channel
    (channelShared: one scale for all)."""
    def of(value: Var) -> Var:
        norm = np.sqrt(np.sum(value * value, axis=(1, 2, 3) if acrossSpatial else 1, keepdims=True) + eps)
        return value / norm * np.asarray(scale[:1] if channelShared else scale, value.dtype).reshape(-1, 1, 1)

    return _by_channel(x, of)


def reverse_sequence(x: VarLike, y: VarLike, batch_dim: builtins.int, seq_dim: builtins.int) -> Var:
    """Reverse the first y[b] elements along seq_dim, for each b along batch_dim."""
    return E.reverse_sequence(_var(x), np.asarray(y).astype("int64", copy=False), batch_axis=batch_dim, time_axis=seq_dim)


def scatter_nd(indices: VarLike, updates: VarLike, shape: VarLike) -> Var:
    """Write updates into zeros. If an index occurs several times, the last update counts."""
    values = _var(updates)
    return E.scatter_nd(np.zeros(_ints(shape), values.dtype), np.asarray(indices).astype("int64", copy=False), values)


# ---- Options of create_runtime_manager()

class _Words(enum.IntEnum):
    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class Backend(_Words):
    """Where to compute. Only the CPU exists; it replaces the others with a warning."""
    CPU = 0
    CUDA, METAL, OPENCL, OPENGL, VULKAN, HIAI, TRT = 2, 1, 3, 6, 7, 8, 9


class PrecisionMode(_Words):
    Normal, High, Low, Low_BF16 = 0, 1, 2, 3


class MemoryMode(_Words):
    Normal, High, Low = 0, 1, 2


class PowerMode(_Words):
    Normal, High, Low = 0, 1, 2


CUDA, METAL, OPENCL, OPENGL, VULKAN, HIAI, TRT = Backend.CUDA, Backend.METAL, Backend.OPENCL, Backend.OPENGL, Backend.VULKAN, Backend.HIAI, Backend.TRT
CPU, Normal, High, Low, Low_BF16 = Backend.CPU, PrecisionMode.Normal, PrecisionMode.High, PrecisionMode.Low, PrecisionMode.Low_BF16


# ---- Other functions

def quant(x: VarLike, scale: VarLike, min: builtins.int = -128, max: builtins.int = 127, zero: builtins.int = 0) -> Var:
    """Quantize to int8: round(x * scale) + zero, clipped to min ... max. The scale is one number or one for each channel (axis 1)."""
    value = _var(x).astype("float32", copy=False)
    return np.clip(round(value * _along_channels(scale, value)) + np.float32(zero), min, max).astype("int8", copy=False)


def dequant(x: VarLike, scale: VarLike, zero: builtins.int = 0) -> Var:
    """Return (x - zero) * scale in float32. This undoes quant() with 1 / scale."""
    value = _var(x).astype("float32", copy=False)
    return (value - np.float32(zero)) * _along_channels(scale, value)


def _along_channels(scale: VarLike, x: Var) -> Var:
    values = np.ravel(_var(scale)).astype("float32", copy=False)
    return values if values.size == 1 else values.reshape(-1, *[1] * (x.ndim - 2))


def raster(var: Sequence[VarLike], region: Sequence[builtins.int], shape: Sequence[builtins.int]) -> Var:
    """Copy between strided places. Each Var has 11 numbers: offset and three strides in the Var, offset and three strides in the result, and three sizes. The
    rest of the result is zero."""
    if len(region) != 11 * len(var):
        raise InvalidArgument(f"raster() takes 11 numbers for each Var: {11 * len(var)}, not {len(region)}")
    values = [_var(value).reshape(-1) for value in var]
    made = np.zeros(list(shape), values[0].dtype).reshape(-1)
    for value, row in zip(values, (region[11 * i:11 * i + 11] for i in builtins.range(len(var)))):
        steps = np.indices(tuple(row[8:])).reshape(3, -1)
        source, target = (offset + steps[0] * a + steps[1] * b + steps[2] * c for offset, a, b, c in (row[:4], row[4:8]))
        for places, array, name in ((source, value, "Var"), (target, made, "result")):
            if places.size and not 0 <= np.min(places).item() <= np.max(places).item() < array.size:
                raise InvalidArgument(f"a region of raster() goes beyond the {array.size} elements of its {name}")
        made[target] = value[source]
    return made.reshape(*shape)


def jsonop(values: Sequence[VarLike], describe: str, outputs: builtins.int) -> Any:
    """Raises Unsupported: only MNN's converter knows operators described by JSON."""
    raise Unsupported("jsonop() describes operators in the JSON of MNN's converter, which is not there; use the function of the operator, or minnow.expr.op()")


def detection_post_process(encode_boxes: VarLike, class_predictions: VarLike, anchors: VarLike, num_classes: builtins.int, max_detections: builtins.int,
                           max_class_per_detection: builtins.int, detections_per_class: builtins.int, nms_threshold: builtins.float,
                           iou_threshold: builtins.float, use_regular_nms: bool, centersize_encoding: Sequence[builtins.float]) -> list[Var]:
    """Decode detections. Inputs are moves [1, boxes, 4] of anchors [boxes, 4] (y, x, height, width) and scores [1, boxes, classes]; the last num_classes of them
    count. Return boxes [1, n, 4], classes [1, n], scores [1, n] and their number: boxes with a score above nms_threshold that overlap no better box by more
    than iou_threshold."""
    moves, by_class, places = (np.asarray(_var(value), "float64") for value in (encode_boxes, class_predictions, anchors))
    moves, by_class = moves[0] / np.asarray(centersize_encoding, "float64"), by_class[0, :, by_class.shape[2] - num_classes:]
    center, extent = moves[:, :2] * places[:, 2:] + places[:, :2], np.exp(moves[:, 2:]) * places[:, 2:]
    boxes = np.concatenate([center - extent / 2, center + extent / 2], 1)

    def kept(scores: Var, most: builtins.int) -> list[builtins.int]:
        return _ints(nms(boxes.astype("float32", copy=False), scores.astype("float32", copy=False), most, iou_threshold, nms_threshold))

    found: list[tuple[builtins.float, builtins.int, builtins.int]] = []
    if use_regular_nms:
        for label in builtins.range(num_classes):
            found += [(by_class[box, label].item(), box, label) for box in kept(by_class[:, label], detections_per_class)]
        found.sort(key=lambda entry: -entry[0])
    else:
        order = np.argsort(-by_class, axis=1, kind="stable").tolist()
        for box in kept(np.max(by_class, axis=1), max_detections):
            found += [(by_class[box, label].item(), box, label) for label in order[box][:max_class_per_detection]]
    slots = max_detections * (1 if use_regular_nms else max_class_per_detection)
    found = found[:slots]
    rows, labels, scores = np.zeros([1, slots, 4], "float32"), np.zeros([1, slots], "float32"), np.zeros([1, slots], "float32")
    for i, (score, box, label) in enumerate(found):
        rows[0, i], labels[0, i], scores[0, i] = boxes[box], label, score
    return [rows, labels, scores, np.asarray([len(found)], "float32")]

# Names in this module that MNN.expr does not have.
INTERNAL = {"Any", "Callable", "E", "INTERNAL", "InvalidArgument", "Sequence", "Unsupported", "Values", "VarLike", "annotations", "builtins", "enum", "from_address", "math",
            "is_address", "matched", "np"}
