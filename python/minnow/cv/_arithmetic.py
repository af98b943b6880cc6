# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on pictures, and measures of their elements."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Sequence

from minnow.cv import _common
from minnow.cv._common import MatLike, Point, dtype_of as _dtype_of, vision as _vision
from minnow._minnow import InvalidArgument, InvalidType, Unsupported, Var

CMP_EQ, CMP_GT, CMP_GE, CMP_LT, CMP_LE, CMP_NE = range(6)
NORM_INF, NORM_L1, NORM_L2, NORM_L2SQR, NORM_HAMMING, NORM_HAMMING2, NORM_RELATIVE, NORM_MINMAX = 1, 2, 4, 5, 6, 7, 8, 32
NORM_TYPE_MASK = 7
REDUCE_SUM, REDUCE_AVG, REDUCE_MAX, REDUCE_MIN, REDUCE_SUM2 = range(5)
HISTCMP_CORREL, HISTCMP_CHISQR, HISTCMP_INTERSECT, HISTCMP_BHATTACHARYYA, HISTCMP_CHISQR_ALT, HISTCMP_KL_DIV = range(6)
HISTCMP_HELLINGER = HISTCMP_BHATTACHARYYA

# Functions that go element by element, for arrays of any number of axes, or move elements of float16 too.
_HALVES = {**dict.fromkeys(("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "lookup", "split", "merge", "extract_channel"), "bits"),
           **dict.fromkeys(("norm", "norm_of_difference", "psnr"), "values")}
_flat = SimpleNamespace(**{name: _common.of_any(name, _HALVES.get(name, "")) for name in (
    "absdiff", "add", "add_weighted", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "compare", "convert_scale_abs", "copy_to",
    "count_nonzero", "divide", "exponential", "in_range", "logarithm", "lookup", "magnitude", "maximum", "mean", "mean_std_dev", "minimum",
    "multiply", "norm", "norm_of_difference", "normalize", "phase", "polar_to_cart", "power", "psnr", "scale_add", "square_root", "subtract", "sum", "split",
    "merge", "extract_channel")})

# A picture; a number, for all channels or the first; or a tuple of up to four numbers, one for each channel.
_Operand = MatLike | float | tuple[float, ...]


def _array(value: Any) -> Any:
    return value if hasattr(value, "shape") else Var(value)


def _into(dst: Any, made: Any) -> Any:
    """dst with what was made, where it fits."""
    if dst is None or tuple(dst.shape) != tuple(made.shape) or str(dst.dtype) != str(made.dtype):
        return made
    dst[...] = made
    return dst


def add(src1: _Operand, src2: _Operand, dst: MatLike | None = None, mask: MatLike | None = None, dtype: int = -1) -> Var:
    """src1 + src2, rounded and saturated; sums of int32 wrap. An operand is a picture, a number for all channels, or a tuple of numbers, one for each
    channel, which are rounded first where pictures and result are integers. `mask`, uint8 [height, width]: other pixels stay as they are in dst, or are
    0. `dtype`: of the result (CV_32F ...), needed for pictures of different dtypes. Arrays of more than three axes, of one channel, are taken here and
    by the other functions that go element by element. Raises InvalidArgument for operands that do not fit.

    >>> cv.add(minnow.Var([[200, 10]], "uint8"), 100)
    Var([[255, 110]], shape=(1, 2), dtype=uint8)
    """
    return _flat.add(src1, src2, mask, _dtype_of(dtype, "add"), dst)


def subtract(src1: _Operand, src2: _Operand, dst: MatLike | None = None, mask: MatLike | None = None, dtype: int = -1) -> Var:
    """src1 - src2, with the arguments of add().
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.subtract(src1, src2, mask, _dtype_of(dtype, "subtract"), dst)


def multiply(src1: _Operand, src2: _Operand, dst: MatLike | None = None, scale: float = 1, dtype: int = -1) -> Var:
    """src1 * src2 * scale, with the operands and dtype of add().
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.multiply(src1, src2, scale, _dtype_of(dtype, "multiply"), dst)


def divide(src1: _Operand, src2: _Operand, dst: MatLike | None = None, scale: float = 1, dtype: int = -1) -> Var:
    """src1 * scale / src2, with the operands and dtype of add(). Integers divided by 0 are 0.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.divide(src1, src2, scale, _dtype_of(dtype, "divide"), dst)


def absdiff(src1: _Operand, src2: _Operand, dst: MatLike | None = None) -> Var:
    """|src1 - src2|, with the operands of add().
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.absdiff(minnow.Var([[200, 10]], "uint8"), minnow.Var([[190, 30]], "uint8"))
    Var([[10, 20]], shape=(1, 2), dtype=uint8)
    """
    return _flat.absdiff(src1, src2, dst)


def addWeighted(src1: _Operand, alpha: float, src2: _Operand, beta: float, gamma: float, dst: MatLike | None = None, dtype: int = -1) -> Var:
    """src1 * alpha + src2 * beta + gamma, with the operands and dtype of add().
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.addWeighted(minnow.Var([[100, 50]], "uint8"), 0.5, minnow.Var([[20, 40]], "uint8"), 0.5, 1)
    Var([[61, 46]], shape=(1, 2), dtype=uint8)
    """
    return _flat.add_weighted(src1, alpha, src2, beta, gamma, _dtype_of(dtype, "addWeighted"), dst)


def scaleAdd(src1: MatLike, alpha: float, src2: MatLike, dst: MatLike | None = None) -> Var:
    """src1 * alpha + src2, of pictures of the same dtype and size.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.scale_add(src1, alpha, src2, dst)


def bitwise_and(src1: _Operand, src2: _Operand, dst: MatLike | None = None, mask: MatLike | None = None) -> Var:
    """The bits that are set in both, with the operands and mask of add(); a single number is for the first channel. Floats give the bits of floats.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.bitwise_and(src1, src2, mask, dst)


def bitwise_or(src1: _Operand, src2: _Operand, dst: MatLike | None = None, mask: MatLike | None = None) -> Var:
    """The bits that are set in either, as bitwise_and().
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.bitwise_or(src1, src2, mask, dst)


def bitwise_xor(src1: _Operand, src2: _Operand, dst: MatLike | None = None, mask: MatLike | None = None) -> Var:
    """The bits that are set in one of both, as bitwise_and().
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.bitwise_xor(src1, src2, mask, dst)


def bitwise_not(src: MatLike, dst: MatLike | None = None, mask: MatLike | None = None) -> Var:
    """All bits inverted; with the mask of add().
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.bitwise_not(src, mask, dst)


def min(src1: _Operand, src2: _Operand, dst: MatLike | None = None) -> Var:
    """The smaller of both, with the operands of add(); a single number is for the first channel.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.minimum(src1, src2, dst)


def max(src1: _Operand, src2: _Operand, dst: MatLike | None = None) -> Var:
    """The greater of both, as min(). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.maximum(src1, src2, dst)


def compare(src1: _Operand, src2: _Operand, cmpop: int, dst: MatLike | None = None) -> Var:
    """uint8: 255 where the comparison (CMP_EQ, CMP_GT, CMP_GE, CMP_LT, CMP_LE, CMP_NE) holds, else 0. Numbers: the first is for all channels.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.compare(src1, src2, cmpop, dst)


def inRange(src: MatLike, lowerb: _Operand, upperb: _Operand, dst: MatLike | None = None) -> Var:
    """uint8 [height, width]: 255 where all channels are within the bounds, which belong to the range, else 0. The bounds are numbers, one for each
    channel, or pictures of src's dtype and size.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.inRange(minnow.Var([[3, 7, 9]], "uint8"), 5, 8)
    Var([[  0, 255,   0]], shape=(1, 3), dtype=uint8)
    """
    return _flat.in_range(src, lowerb, upperb, dst)


def blendLinear(src1: MatLike, src2: MatLike, weights1: MatLike, weights2: MatLike, dst: MatLike | None = None) -> Var:
    """(src1 * weights1 + src2 * weights2) / (weights1 + weights2 + 1e-5), of uint8 or float32 pictures; the weights are float32 [height, width].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.blend_linear(src1, src2, weights1, weights2, dst)


def convertScaleAbs(src: MatLike, dst: MatLike | None = None, alpha: float = 1, beta: float = 0) -> Var:
    """|src * alpha + beta| as uint8. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.convertScaleAbs(minnow.Var([[-3.0, 100.0]]), alpha=2)
    Var([[  6, 200]], shape=(1, 2), dtype=uint8)
    """
    return _flat.convert_scale_abs(src, alpha, beta, dst)


def convertFp16(src: MatLike, dst: MatLike | None = None) -> Var:
    """The nearest numbers of 16 bits (float16) of a float32 array, as their bits, int16; of an int16 array with such bits, or of a float16 array, its
    numbers as float32. Raises Unsupported for other dtypes.

    >>> cv.convertFp16(minnow.Var([[1.0, -2.0]], "float32")).tolist()
    [[15360, -16384]]
    """
    from minnow.expr import bit_cast
    value = Var(src)
    if value.dtype == "float32":
        result = bit_cast(value.astype("float16"), "int16")
    elif value.dtype in ("float16", "int16"):
        result = (bit_cast(value, "float16") if value.dtype == "int16" else value).astype("float32")
    else:
        raise Unsupported(f"convertFp16: an array is float32, float16 or int16, not {value.dtype}")
    return result if dst is None else _flat.copy_to(result, None, dst)


def normalize(src: MatLike, dst: MatLike | None, alpha: float = 1, beta: float = 0, norm_type: int = NORM_L2, dtype: int = -1,
              mask: MatLike | None = None) -> Var:
    """Elements scaled so that their norm (NORM_INF, NORM_L1, NORM_L2) is alpha, or with NORM_MINMAX that they reach from alpha to beta. Elements beside the
    mask stay as in dst, or are 0. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    if dtype == _common.CV_16F and dst is None:
        return _flat.normalize(src, alpha, beta, norm_type, "float32", mask, None).astype("float16")
    return _flat.normalize(src, alpha, beta, norm_type, _dtype_of(dtype, "normalize"), mask, dst)


def LUT(src: MatLike, lut: MatLike, dst: MatLike | None = None) -> Var:
    """lut[src], for a picture of uint8 or int8 (lut[src & 255]), where `lut` has 256 elements of any dtype, with one channel or as many as src; for uint16
    and int16 it has 65536.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.lookup(src, lut, dst)


def transform(src: MatLike, m: MatLike, dst: MatLike | None = None) -> Var:
    """The channels of each pixel times the matrix `m`, int32, float32 or float64 [n, channels], or [n, channels + 1] whose last column is added.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.transform(src, m, dst)


def sqrt(src: MatLike, dst: MatLike | None = None) -> Var:
    """Square roots, of float32 or float64. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.square_root(src, dst)


def pow(src: MatLike, power: float, dst: MatLike | None = None) -> Var:
    """Elements to a power. An exponent that is no integer goes with float32 and float64, and takes absolute values.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.power(src, power, dst)


def exp(src: MatLike, dst: MatLike | None = None) -> Var:
    """e to the elements, of float32 or float64.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.exponential(src, dst)


def log(src: MatLike, dst: MatLike | None = None) -> Var:
    """Natural logarithms, of float32 or float64.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.logarithm(src, dst)


def magnitude(x: MatLike, y: MatLike, magnitude: MatLike | None = None) -> Var:
    """The lengths of vectors (x, y), float32 or float64.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.magnitude(x, y, magnitude)


def phase(x: MatLike, y: MatLike, angle: MatLike | None = None, angleInDegrees: bool = False) -> Var:
    """The angles of vectors (x, y), float32 or float64, from 0 to 2 pi or 360; to about 0.01 degrees.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.phase(x, y, angleInDegrees, angle)


def cartToPolar(x: MatLike, y: MatLike, magnitude: MatLike | None = None, angle: MatLike | None = None, angleInDegrees: bool = False) -> tuple[Var, Var]:
    """magnitude() and phase() of vectors (x, y).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.magnitude(x, y, magnitude), _flat.phase(x, y, angleInDegrees, angle)


def polarToCart(magnitude: MatLike | None, angle: MatLike, x: MatLike | None = None, y: MatLike | None = None,
                angleInDegrees: bool = False) -> tuple[Var, Var]:
    """The vectors (x, y) of lengths and angles, float32 or float64; without a magnitude their length is 1.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    found = _flat.polar_to_cart(magnitude, angle, angleInDegrees)
    return tuple(value if to is None else _flat.copy_to(value, None, to) for value, to in zip(found, (x, y)))


def split(m: MatLike, mv: Any = None) -> tuple[Var, ...]:
    """The channels as pictures of one channel.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.split(m)


def merge(mv: Sequence[MatLike], dst: MatLike | None = None) -> Var:
    """One picture of the channels of several, which have the same dtype and size. Arrays of more than three axes get one more.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    shape = tuple(getattr(mv[0], "shape", ())) if len(mv) else ()
    if len(shape) > 3 and 0 not in shape and all(tuple(getattr(x, "shape", ())) == shape for x in mv):
        made = _flat.merge([x.reshape((-1, shape[-1])) for x in mv], None)
        return _into(dst, made.reshape(shape if len(mv) == 1 else (*shape, len(mv))))
    return _flat.merge(mv, dst)


def extractChannel(src: MatLike, coi: int, dst: MatLike | None = None) -> Var:
    """Channel `coi` as a picture of one channel.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.extract_channel(src, coi, dst)


def insertChannel(src: MatLike, dst: MatLike, coi: int) -> MatLike:
    """Writes a picture of one channel into channel `coi` of dst, and gives dst.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.insert_channel(src, dst, coi)


def mixChannels(src: Sequence[MatLike], dst: Sequence[MatLike], fromTo: Sequence[int]) -> tuple[MatLike, ...]:
    """Copies channels of pictures to channels of others: fromTo has pairs of numbers of channels, counted through all of src and all of dst; from -1:
    zero. The pictures have the same dtype and size; those of dst are written, and given.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    def starts(pictures: Sequence[MatLike]) -> list[int]:
        found = [0]
        for picture in pictures:
            shape = getattr(picture, "shape", ())
            found.append(found[-1] + (shape[2] if len(shape) == 3 else 1))
        return found

    def place(at: list[int], channel: int, name: str) -> tuple[int, int]:
        for index in range(len(at) - 1):
            if at[index] <= channel < at[index + 1]:
                return index, channel - at[index]
        raise InvalidArgument(f"mixChannels: there is no channel {channel} in {name}")

    if not src or not dst or not fromTo or len(fromTo) % 2:
        raise InvalidArgument("mixChannels takes pictures, and pairs of channels")
    from_starts, to_starts = starts(src), starts(dst)
    moves = [(place(from_starts, start, "src") if start >= 0 else (0, -1), place(to_starts, end, "dst")) for start, end in zip(fromTo[::2], fromTo[1::2])]
    for (index, channel), (to, to_channel) in moves:
        _vision.move_channel(src[index], channel, dst[to], to_channel)
    return tuple(dst)


def hconcat(src: Sequence[MatLike], dst: MatLike | None = None) -> Var | None:
    """Pictures side by side, of the same height, dtype and channels. None for no pictures.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.hconcat(src, dst)


def vconcat(src: Sequence[MatLike], dst: MatLike | None = None) -> Var | None:
    """Pictures one below the other, of the same width, dtype and channels. None for no pictures.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.vconcat(src, dst)


def copyTo(src: MatLike, mask: MatLike | None, dst: MatLike | None = None) -> Var:
    """The pixels where the mask is not 0 (None: all); the others stay as in dst, or are 0.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.copy_to(src, mask, dst)


def patchNaNs(a: MatLike, val: float = 0) -> MatLike:
    """Writes `val` in the place of each NaN of `a`, float32, and gives `a`. Raises InvalidType for another dtype."""
    if str(getattr(a, "dtype", "")) != "float32":
        raise InvalidType(f"patchNaNs: the array has to be of float32, not {getattr(a, 'dtype', type(a).__name__)}")
    mask = _flat.compare(a, a, CMP_NE, None)
    return _flat.copy_to(_flat.add_weighted(mask, 0.0, mask, 0.0, val, "float32", None), mask, a)


def transposeND(src: MatLike, order: Sequence[int], dst: MatLike | None = None) -> Any:
    """An array of one channel, of two or more than three axes, with its axes in another order: axis i of the result is axis order[i].
    Raises InvalidArgument for an order that does not name each axis once."""
    src = _array(src)
    axes = len(src.shape)
    if axes == 3 or sorted(order) != list(range(axes)):
        raise InvalidArgument(f"transposeND: order {tuple(order)} does not fit an array {list(src.shape)}"
                              + (": its last axis is its channels" if axes == 3 else ""))
    made = src.transpose(tuple(order))
    return _into(dst, made if isinstance(made, Var) else made.copy())


def setIdentity(mtx: MatLike, s: float | Sequence[float] = 1) -> MatLike:
    """Writes a matrix with `s` on its diagonal and 0 elsewhere into mtx, and gives mtx.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    rows, columns = getattr(mtx, "shape", (0, 0))[:2]
    number = float(s[0] if isinstance(s, (tuple, list)) else s)  # type: ignore[arg-type]
    made = Var([[number if i == j else 0.0 for j in range(columns)] for i in range(rows)], "float64")
    return _flat.add(made, 0.0, None, str(getattr(mtx, "dtype", "float64")), mtx)


def sumElems(src: MatLike) -> tuple[float, float, float, float]:
    """The sums of up to four channels. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.sumElems(minnow.Var([[1, 2], [3, 4]], "uint8"))
    (10.0, 0.0, 0.0, 0.0)
    """
    return _flat.sum(src)


def mean(src: MatLike, mask: MatLike | None = None) -> tuple[float, float, float, float]:
    """The means of up to four channels, of pixels where the mask is not 0.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.mean(src, mask)


def meanStdDev(src: MatLike, mean: MatLike | None = None, stddev: MatLike | None = None, mask: MatLike | None = None) -> tuple[Var, Var]:
    """The means and standard deviations of the channels, float64 [channels, 1] each, of pixels where the mask is not 0.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    found = _flat.mean_std_dev(src, mask)
    return tuple(value if to is None else _flat.copy_to(value, None, to) for value, to in zip(found, (mean, stddev)))


def minMaxLoc(src: MatLike, mask: MatLike | None = None) -> tuple[float, float, Point, Point]:
    """The least and the greatest element of one channel, and where they first are: (least, greatest, (x, y), (x, y)). Without a pixel in the mask: zeros
    and (-1, -1). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.minMaxLoc(minnow.Var([[4, 2], [9, 2]], "uint8"))
    (2.0, 9.0, (1, 0), (0, 1))
    """
    return _vision.min_max(src, mask)


def norm(src1: MatLike, src2: MatLike | int | None = None, normType: int | MatLike | None = None, mask: MatLike | None = None) -> float:
    """The norm of a picture, norm(src1, normType, mask), or of a difference, norm(src1, src2, normType, mask): NORM_L2, NORM_L1, NORM_INF, NORM_L2SQR,
    NORM_HAMMING, NORM_HAMMING2; with NORM_RELATIVE over the norm of src2.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.norm(minnow.Var([[3.0, 4.0]]))
    5.0
    """
    if src2 is None or isinstance(src2, int):
        kind = src2 if src2 is not None else normType if isinstance(normType, int) else NORM_L2
        return _flat.norm(src1, kind, normType if src2 is not None and normType is not None and not isinstance(normType, int) else mask)
    number = NORM_L2 if normType is None else normType
    if not isinstance(number, int):
        raise InvalidArgument("norm: normType is one of NORM_L1, NORM_L2, NORM_INF ...")
    return _flat.norm_of_difference(src1, src2, number & NORM_TYPE_MASK, bool(number & NORM_RELATIVE), mask)


def PSNR(src1: MatLike, src2: MatLike, R: float = 255.0) -> float:
    """The peak signal-to-noise ratio in decibels; `R` is the greatest value that there can be.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.psnr(src1, src2, R)


def countNonZero(src: MatLike) -> int:
    """How many elements of a picture of one channel are not 0.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _flat.count_nonzero(src)


def hasNonZero(src: MatLike) -> bool:
    """Whether an element of a picture of one channel is not 0.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return countNonZero(src) > 0


def reduce(src: MatLike, dim: int, rtype: int, dst: MatLike | None = None, dtype: int = -1) -> Var:
    """All rows as one row (dim 0), or all columns as one column (dim 1): REDUCE_SUM, REDUCE_AVG, REDUCE_MAX, REDUCE_MIN or REDUCE_SUM2.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.reduce(src, 1 if dim == -1 else dim, rtype, _dtype_of(dtype, "reduce"), dst)


def _position(src: MatLike, axis: int, dst: MatLike | None, last: bool, most: bool, function: str) -> Any:
    src = _array(src)
    axes = len(src.shape)
    axis = axis % axes if axis >= -axes else -1
    if axes == 3 or axis < 0 or 0 in src.shape:
        raise InvalidArgument(f"{function}: axis {axis} of an array {list(src.shape)}: it has to have elements, and one channel")
    picture = src[(slice(None),) * axis + (slice(None, None, -1),)] if last else src
    found = (picture.argmax(axis) if most else picture.argmin(axis)).astype("int32")
    return _into(dst, (src.shape[axis] - 1 - found if last else found).reshape([1 if i == axis else n for i, n in enumerate(src.shape)]))


def reduceArgMax(src: MatLike, axis: int, dst: MatLike | None = None, lastIndex: bool = False) -> Any:
    """Where the largest elements along an axis are, int32; of equal ones the first, or with lastIndex the last. `src` has one channel, and two or more
    than three axes; the axis has the length 1 in the result. Raises InvalidArgument for other arrays and axes.

    >>> cv.reduceArgMax(minnow.Var([[1, 5, 5], [3, 2, 0]]), 1)
    Var([[1],
         [0]], shape=(2, 1), dtype=int32)
    """
    return _position(src, axis, dst, lastIndex, True, "reduceArgMax")


def reduceArgMin(src: MatLike, axis: int, dst: MatLike | None = None, lastIndex: bool = False) -> Any:
    """Where the smallest elements along an axis are, with the arguments of reduceArgMax().
    Raises InvalidArgument for arrays and axes that do not fit."""
    return _position(src, axis, dst, lastIndex, False, "reduceArgMin")


def _accumulator(dst: MatLike, *pictures: MatLike) -> str:
    """The dtype of a sum of pictures: float64, or float32 where none is float64."""
    dtype = str(getattr(dst, "dtype", type(dst).__name__))
    for picture in pictures:
        given = str(getattr(picture, "dtype", type(picture).__name__))
        if dtype not in ("float32", "float64") or given not in ("uint8", "uint16", "float32", dtype):
            raise InvalidType(f"dst: a sum of pictures of {given} cannot be {dtype}; uint8, uint16 and floats are added to float32 or float64, float64 to float64")
    return dtype


def accumulate(src: MatLike, dst: MatLike, mask: MatLike | None = None) -> Any:
    """Adds a picture (uint8, uint16, float32, float64) to `dst`, float32 or float64 of its shape, where the mask is not 0, and gives dst.
    Raises InvalidType for other dtypes, InvalidArgument for shapes that do not fit."""
    return _flat.add(src, dst, mask, _accumulator(dst, src), dst)


def accumulateSquare(src: MatLike, dst: MatLike, mask: MatLike | None = None) -> Any:
    """Adds the squares of a picture's elements to `dst`, with the arguments and errors of accumulate()."""
    return accumulateProduct(src, src, dst, mask)


def accumulateProduct(src1: MatLike, src2: MatLike, dst: MatLike, mask: MatLike | None = None) -> Any:
    """Adds the products of two pictures' elements to `dst`, with the arguments and errors of accumulate()."""
    dtype = _accumulator(dst, src1, src2)
    return _flat.add(_flat.multiply(src1, src2, 1.0, dtype, None), dst, mask, dtype, dst)


def accumulateWeighted(src: MatLike, dst: MatLike, alpha: float, mask: MatLike | None = None) -> Any:
    """Moves `dst` to the picture: dst becomes dst * (1 - alpha) + src * alpha where the mask is not 0. Gives dst; arguments and errors are those of
    accumulate()."""
    made = _flat.add_weighted(src, alpha, dst, 1 - alpha, 0.0, _accumulator(dst, src), None)
    return _flat.copy_to(made, mask, dst)


def calcHist(images: Sequence[MatLike], channels: Sequence[int], mask: MatLike | None, histSize: Sequence[int], ranges: Sequence[float],
             hist: MatLike | None = None, accumulate: bool = False) -> Var:
    """A histogram, float32, of chosen channels, counted through all pictures (uint8, uint16 or float32), where the mask is not 0. `ranges` has the lower and
    the upper bound of each dimension; the upper does not belong to it. accumulate: counts are added to those of `hist`.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.calcHist([minnow.Var([[0, 1, 255]], "uint8")], [0], None, [2], [0, 256])
    Var([[2.],
         [1.]], shape=(2, 1), dtype=float32)
    """
    found = _vision.histogram(images, channels, mask, histSize, ranges, hist if accumulate and hist is not None else Var([], "float32"))
    return found


def compareHist(H1: MatLike, H2: MatLike, method: int) -> float:
    """How alike two histograms (float32, of the same shape) are: HISTCMP_CORREL, HISTCMP_CHISQR, HISTCMP_INTERSECT, HISTCMP_BHATTACHARYYA,
    HISTCMP_CHISQR_ALT or HISTCMP_KL_DIV. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.compare_histograms(H1, H2, method)


def calcBackProject(images: Sequence[MatLike], channels: Sequence[int], hist: MatLike, ranges: Sequence[float], scale: float,
                    dst: MatLike | None = None) -> Var:
    """For each pixel the value of its bin in a histogram, times `scale`, as the pictures' dtype.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.back_project(images, channels, hist, ranges, scale, dst)


__all__ = _common.public(globals())
