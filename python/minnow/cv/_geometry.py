# SPDX-License-Identifier: Apache-2.0
"""Where pixels lie."""
from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, Sequence

from minnow._minnow import InvalidArgument, Var, to_arrays as _to_arrays
from minnow.cv import _common
from minnow.cv._common import MatLike, Scalar, Size

INTER_NEAREST, INTER_LINEAR, INTER_CUBIC, INTER_AREA, INTER_LANCZOS4, INTER_LINEAR_EXACT, INTER_NEAREST_EXACT, INTER_MAX = range(8)
INTER_BITS, INTER_BITS2, INTER_TAB_SIZE, INTER_TAB_SIZE2 = 5, 10, 32, 1024
WARP_FILL_OUTLIERS, WARP_INVERSE_MAP, WARP_RELATIVE_MAP = 8, 16, 32
WARP_POLAR_LINEAR, WARP_POLAR_LOG = 0, 256
ROTATE_90_CLOCKWISE, ROTATE_180, ROTATE_90_COUNTERCLOCKWISE = range(3)
_move = SimpleNamespace(**{name: _common.of_any(name, "bits") for name in ("resize", "copyMakeBorder")})  # elements of float16 too
INTER_ANTIALIAS = 64  # not OpenCV's: joined with INTER_LINEAR, INTER_CUBIC, INTER_LANCZOS4 or INTER_AREA


def resize(src: MatLike, dsize: Size | None, dst: MatLike | None = None, fx: float = 0, fy: float = 0, interpolation: int = INTER_LINEAR) -> Any:
    """The picture with `dsize` = (width, height) pixels, or `fx` and `fy` times as many where that is None. uint8, uint16, int16, float32 or float64;
    int8 and int32 with INTER_NEAREST, INTER_NEAREST_EXACT and INTER_LINEAR_EXACT. INTER_LINEAR | INTER_ANTIALIAS smooths a picture that becomes
    smaller, as PIL's BILINEAR does; with INTER_CUBIC, INTER_LANCZOS4 and INTER_AREA it is PIL's BICUBIC, LANCZOS and BOX. Raises InvalidArgument (a
    ValueError) for a size of no pixels. Source: Keys, "Cubic convolution interpolation for digital image processing", 1981 (a = -0.75, with
    INTER_ANTIALIAS -0.5).

    >>> cv.resize(minnow.Var([[10, 30]], "uint8"), (4, 1))
    Var([[10, 15, 25, 30]], shape=(1, 4), dtype=uint8)
    """
    moves = interpolation in (INTER_NEAREST, INTER_NEAREST_EXACT)
    return (_move.resize if moves else _common.vision.resize)(src, dsize, interpolation, fx, fy, dst)


def warpAffine(src: MatLike, M: MatLike, dsize: Size | None, dst: MatLike | None = None, flags: int = INTER_LINEAR, borderMode: int = _common.BORDER_CONSTANT,
               borderValue: Scalar | None = None) -> Any:
    """A picture of `dsize` = (width, height) pixels, whose pixel (x, y) is that of `src` at the inverse of `M`, a float array [2, 3], times (x, y, 1);
    with WARP_INVERSE_MAP at `M` itself. `flags` also has the interpolation: INTER_NEAREST, INTER_LINEAR, INTER_CUBIC or INTER_LANCZOS4. Places are
    rounded to 1/32 of a pixel, as in OpenCV. uint8, uint16, int16, float32 or float64; any dtype with INTER_NEAREST. With BORDER_TRANSPARENT pixels of
    `dst` without a source keep their values. Raises InvalidArgument for another matrix.

    >>> cv.warpAffine(minnow.Var([[1, 2, 3]], "uint8"), minnow.Var([[1.0, 0, 1], [0, 1, 0]]), (3, 1))
    Var([[0, 1, 2]], shape=(1, 3), dtype=uint8)
    """
    return _common.vision.warpAffine(src, M, dsize, flags, _common.border_of(borderMode, "warpAffine", range(6)), borderValue, dst)


def warpPerspective(src: MatLike, M: MatLike, dsize: Size | None, dst: MatLike | None = None, flags: int = INTER_LINEAR, borderMode: int = _common.BORDER_CONSTANT,
                    borderValue: Scalar | None = None) -> Any:
    """As warpAffine, with a homography: `M` is a float array [3, 3]. Raises InvalidArgument for another matrix."""
    return _common.vision.warpPerspective(src, M, dsize, flags, _common.border_of(borderMode, "warpPerspective", range(6)), borderValue, dst)


def remap(src: MatLike, map1: MatLike, map2: MatLike | None, interpolation: int, dst: MatLike | None = None, borderMode: int = _common.BORDER_CONSTANT,
          borderValue: Scalar | None = None) -> Any:
    """A picture of the maps' size, whose pixel (x, y) is that of `src` at x = map1[y, x], y = map2[y, x], both float32; or `map1` has both coordinates as
    two channels, float32, or int16 with the fractions of convertMaps in `map2`. With WARP_RELATIVE_MAP the maps are offsets from (x, y). See warpAffine
    for the rest. Raises InvalidArgument for maps of another form or of two sizes."""
    return _common.vision.remap(src, map1, map2, interpolation, _common.border_of(borderMode, "remap", range(6)), borderValue, dst)


def convertMaps(map1: MatLike, map2: MatLike | None, dstmap1type: int, dstmap1: MatLike | None = None, dstmap2: MatLike | None = None,
                nninterpolation: bool = False) -> tuple[Any, Any]:
    """Maps of remap() in another form: CV_16SC2 (int16 of two channels, and uint16 fractions of 1/32, y * 32 + x), CV_32FC1 or CV_32FC2; 0 chooses between
    CV_16SC2 and CV_32FC2. The second map is None where the form has one. Raises InvalidArgument for maps that remap() does not take."""
    kind = int(dstmap1type)
    dtype = _common.dtype_of(kind, "convertMaps") if kind > 0 else None
    return _common.vision.convertMaps(map1, map2, dtype, (kind >> 3) + 1, nninterpolation)


def flip(src: MatLike, flipCode: int, dst: MatLike | None = None) -> Any:
    """The picture upside down (flipCode 0), mirrored (above 0) or both (below 0). Raises InvalidArgument for an empty picture.

    >>> cv.flip(minnow.Var([[1, 2], [3, 4]], "uint8"), 1)
    Var([[2, 1],
         [4, 3]], shape=(2, 2), dtype=uint8)
    """
    return _common.vision.flip(src, flipCode, dst)


def flipND(src: MatLike, axis: int, dst: MatLike | None = None) -> Any:
    """The picture with its rows (axis 0 or -2) or its columns (1 or -1) in the other order; an array of more than three axes along any of them. Raises
    InvalidArgument for another axis."""
    shape = getattr(src, "shape", ())
    if len(shape) > 3 and -len(shape) <= axis < len(shape):
        axis %= len(shape)
        middle = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:]))
        return _common.vision.flip(src.reshape(middle), 1, dst if dst is None else dst.reshape(middle)).reshape(shape)
    if axis not in (0, 1, -1, -2):
        raise InvalidArgument(f"flipND: a picture has the axes 0 and 1, not {axis}")
    return _common.vision.flip(src, axis % 2, dst)


def rotate(src: MatLike, rotateCode: int, dst: MatLike | None = None) -> Any:
    """The picture turned by a multiple of 90 degrees: ROTATE_90_CLOCKWISE, ROTATE_180 or ROTATE_90_COUNTERCLOCKWISE.
    Raises InvalidArgument for another code."""
    return _common.vision.rotate(src, rotateCode, dst)


def transpose(src: MatLike, dst: MatLike | None = None) -> Any:
    """Rows become columns; channels stay. Raises InvalidArgument for an empty picture."""
    return _common.vision.transpose(src, dst)


def repeat(src: MatLike, ny: int, nx: int, dst: MatLike | None = None) -> Any:
    """The picture `ny` times below itself and `nx` times beside itself. Raises InvalidArgument for counts below 1."""
    return _common.vision.repeat(src, ny, nx, dst)


def copyMakeBorder(src: MatLike, top: int, bottom: int, left: int, right: int, borderType: int, dst: MatLike | None = None,
                   value: Scalar | None = None) -> Any:
    """The picture with a border of so many pixels on each side: BORDER_CONSTANT (of `value`), BORDER_REPLICATE, BORDER_REFLECT, BORDER_REFLECT_101 or
    BORDER_WRAP. Raises InvalidArgument for a negative width or another border type.

    >>> cv.copyMakeBorder(minnow.Var([[1, 2, 3]], "uint8"), 0, 0, 2, 2, cv.BORDER_REFLECT_101)
    Var([[3, 2, 1, 2, 3, 2, 1]], shape=(1, 7), dtype=uint8)
    """
    if value is not None and getattr(getattr(src, "dtype", None), "char", "") == "e":  # float16 of NumPy
        numbers = value if isinstance(value, Sequence) else [value]
        value = [int(src.dtype.type(number).view("uint16")) for number in numbers]  # the elements are moved as words
    return _move.copyMakeBorder(src, top, bottom, left, right, _common.border_of(borderType, "copyMakeBorder"), value, dst)


def borderInterpolate(p: int, len: int, borderType: int) -> int:
    """The position within [0, len) that stands for position `p`; -1 with BORDER_CONSTANT where `p` is beyond.
    Raises InvalidArgument for a length below 1."""
    return _common.vision.borderInterpolate(p, len, _common.border_of(borderType, "borderInterpolate"))


def getRotationMatrix2D(center: Sequence[float], angle: float, scale: float) -> Any:
    """The matrix [2, 3] of warpAffine that turns by `angle` degrees counterclockwise around `center` = (x, y), and scales.
    Raises InvalidType for what is no number."""
    return _to_arrays(_common.vision.getRotationMatrix2D(center, angle, scale))


def getAffineTransform(src: MatLike, dst: MatLike) -> Any:
    """The float64 matrix [2, 3] that leads three points, float32 [3, 2], to three others. Zeros where the points lie on a line.
    Raises InvalidArgument for other points."""
    return _common.vision.getAffineTransform(src, dst)


def getPerspectiveTransform(src: MatLike, dst: MatLike, solveMethod: int = 0) -> Any:
    """The float64 matrix [3, 3] of the homography that leads four points, float32 [4, 2], to four others.
    Raises InvalidArgument for other points."""
    return _common.vision.getPerspectiveTransform(src, dst, solveMethod)


def invertAffineTransform(M: MatLike, iM: MatLike | None = None) -> Any:
    """The inverse of a matrix [2, 3], float32 or float64. Raises InvalidArgument for another matrix."""
    return _common.vision.invertAffineTransform(M)


def perspectiveTransform(src: MatLike, m: MatLike, dst: MatLike | None = None) -> Any:
    """Points [n, 1, 2] times a matrix [3, 3], or [n, 1, 3] times [4, 4], divided by the last coordinate; float32 or float64.
    Raises InvalidArgument for another matrix, Unsupported for other dtypes."""
    return _common.vision.perspectiveTransform(src, m, dst)


def pyrDown(src: MatLike, dst: MatLike | None = None, dstsize: Size | None = None, borderType: int = _common.BORDER_DEFAULT) -> Any:
    """A picture of half the size, rounded up, smoothed by five taps on each axis; uint8, uint16, int16, float32 or float64. All border types but
    BORDER_CONSTANT. Source: Burt and Adelson, "The Laplacian pyramid as a compact image code", 1983.
    Raises InvalidArgument for a `dstsize` that is not half the size, up to a pixel."""
    return _common.vision.pyrDown(src, dstsize, _common.border_of(borderType, "pyrDown", range(1, 5)), dst)


def pyrUp(src: MatLike, dst: MatLike | None = None, dstsize: Size | None = None, borderType: int = _common.BORDER_DEFAULT) -> Any:
    """A picture of twice the size, smoothed as pyrDown does. Raises InvalidArgument for a `dstsize` that is not twice the size, up to a pixel."""
    return _common.vision.pyrUp(src, dstsize, _common.border_of(borderType, "pyrUp", (4,)), dst)


def getRectSubPix(image: MatLike, patchSize: Size, center: Sequence[float], patch: MatLike | None = None, patchType: int = -1) -> Any:
    """A patch of `patchSize` = (width, height) pixels around `center` = (x, y), which may lie between pixels; the border's pixels are repeated. uint8 or
    float32 of 1 or 3 channels; patchType: CV_32F of uint8, too. Raises Unsupported for other dtypes, InvalidArgument for other channels."""
    return _common.vision.getRectSubPix(image, patchSize, center, _common.dtype_of(patchType, "getRectSubPix"), patch)


def warpPolar(src: MatLike, dsize: Size | None, center: Sequence[float], maxRadius: float, flags: int, dst: MatLike | None = None) -> Any:
    """Rows of the result are angles, its columns distances from `center` up to `maxRadius`; with WARP_POLAR_LOG their logarithms, and with
    WARP_INVERSE_MAP the way back. dsize (0, 0): chosen so that the area stays the circle's. Pixels without a source keep those of `dst`; they are zeros
    with WARP_FILL_OUTLIERS. Raises InvalidArgument for a size of no pixels."""
    return _common.vision.warpPolar(src, dsize, center, maxRadius, flags, dst)


def linearPolar(src: MatLike, center: Sequence[float], maxRadius: float, flags: int, dst: MatLike | None = None) -> Any:
    """warpPolar with the size of `src`. Raises InvalidArgument for an empty picture."""
    return _common.vision.warpPolar(src, _size(src), center, maxRadius, flags & ~WARP_POLAR_LOG, dst)


def logPolar(src: MatLike, center: Sequence[float], M: float, flags: int, dst: MatLike | None = None) -> Any:
    """warpPolar with WARP_POLAR_LOG and the size of `src`; the columns are `M` times the logarithm.
    Raises InvalidArgument for an empty picture, or an `M` next to 0."""
    size = _size(src)
    try:
        radius = math.exp(size[0] / M) if M > 0 else 1.0
    except OverflowError:
        raise InvalidArgument(f"logPolar: M is {M}, too small for a picture of {size[0]} columns") from None
    return _common.vision.warpPolar(src, size, center, radius, flags | WARP_POLAR_LOG, dst)


def _size(src: Any) -> tuple[int, int]:
    shape = src.shape if hasattr(src, "shape") else Var(src).shape
    return int(shape[1]) if len(shape) > 1 else 1, int(shape[0])


__all__ = _common.public(globals())
