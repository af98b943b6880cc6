# SPDX-License-Identifier: Apache-2.0
"""Filters, derivatives, thresholds and morphology."""
from __future__ import annotations

from typing import Any, Sequence

from minnow.cv import _common
from minnow.cv._common import BORDER_DEFAULT, CV_32F, CV_64F, MatLike, Point, Size, border_of, dtype_of
from minnow._minnow import Var, to_arrays as _to_arrays

_vision = _common.vision

MORPH_RECT, MORPH_CROSS, MORPH_ELLIPSE, MORPH_DIAMOND = range(4)


def _filled(dst: Any, result: Var) -> Any:
    """dst with the result in it, where it is an array that fits; else the result."""
    if dst is None or isinstance(dst, Var):
        return result
    values: Any = _to_arrays(result)
    if dst.shape != values.shape or dst.dtype != values.dtype:
        return result
    dst[...] = values
    return dst


def blur(src: MatLike, ksize: Size, dst: MatLike | None = None, anchor: Point = (-1, -1), borderType: int = BORDER_DEFAULT) -> Any:
    """The mean of the `ksize` = (width, height) pixels around each pixel, rounded; uint8, uint16, int16, int32, float32 or float64 of any number of
    channels, as it was. Raises InvalidArgument for an empty picture, a size below 1 and BORDER_WRAP.

    >>> cv.blur(minnow.Var([[10, 40, 10]], "uint8"), (3, 1))
    Var([[30, 20, 30]], shape=(1, 3), dtype=uint8)
    """
    return _vision.blur(src, ksize, anchor, border_of(borderType, "blur"), dst)


def boxFilter(src: MatLike, ddepth: int, ksize: Size, dst: MatLike | None = None, anchor: Point = (-1, -1), normalize: bool = True, borderType: int = BORDER_DEFAULT) -> Any:
    """As blur(), of the depth `ddepth` (-1: src's); without `normalize` the sum, saturated. Raises InvalidArgument as blur() does."""
    return _vision.box_filter(src, dtype_of(ddepth, "boxFilter"), ksize, anchor, normalize, border_of(borderType, "boxFilter"), dst)


def sqrBoxFilter(src: MatLike, ddepth: int, ksize: Size, dst: MatLike | None = None, anchor: Point = (-1, -1), normalize: bool = True, borderType: int = BORDER_DEFAULT) -> Any:
    """The mean, or the sum, of the squares of the pixels around each pixel. ddepth -1: float32, float64 for floats. Raises InvalidArgument as
    blur() does."""
    return _vision.sqr_box_filter(src, dtype_of(ddepth, "sqrBoxFilter"), ksize, anchor, normalize, border_of(borderType, "sqrBoxFilter"), dst)


def GaussianBlur(src: MatLike, ksize: Size, sigmaX: float, dst: MatLike | None = None, sigmaY: float = 0, borderType: int = BORDER_DEFAULT, hint: int = 0) -> Any:
    """The mean of the pixels around each pixel, weighted by a Gauss curve; uint8, uint16, int16, float32 or float64, as it was. `ksize` is odd, or
    (0, 0): from the sigmas; sigmaX = 0: from ksize; sigmaY = 0: sigmaX. uint8 and uint16 have weights of 8 and 16 bits, and equal OpenCV's results.
    Raises InvalidArgument for even sizes. `hint` has no effect.

    >>> cv.GaussianBlur(minnow.Var([[0, 16, 0]], "uint8"), (3, 3), 0)
    Var([[8, 8, 8]], shape=(1, 3), dtype=uint8)
    """
    return _vision.gaussian_blur(src, ksize, sigmaX, sigmaY, border_of(borderType, "GaussianBlur"), dst)


def filter2D(src: MatLike, ddepth: int, kernel: MatLike, dst: MatLike | None = None, anchor: Point = (-1, -1), delta: float = 0, borderType: int = BORDER_DEFAULT) -> Any:
    """The sum of the pixels around each pixel, each times the kernel's element there, plus `delta`, saturated to the depth `ddepth` (-1: src's). src is
    uint8, uint16, int16, float32 or float64, the kernel [height, width]. Raises InvalidArgument for an anchor outside of the kernel, Unsupported for
    other dtypes.

    >>> cv.filter2D(minnow.Var([[1, 2, 3]], "uint8"), -1, minnow.Var([[0.0, 0.0, 10.0]]))
    Var([[20, 30, 20]], shape=(1, 3), dtype=uint8)
    """
    return _vision.filter_2d(src, dtype_of(ddepth, "filter2D"), kernel, anchor, delta, border_of(borderType, "filter2D"), dst)


def sepFilter2D(src: MatLike, ddepth: int, kernelX: MatLike, kernelY: MatLike, dst: MatLike | None = None, anchor: Point = (-1, -1), delta: float = 0,
                borderType: int = BORDER_DEFAULT) -> Any:
    """As filter2D() with the product of a column, kernelY, and a row, kernelX: rows or columns of one dtype. Raises InvalidArgument and Unsupported as
    filter2D() does."""
    return _vision.sep_filter_2d(src, dtype_of(ddepth, "sepFilter2D"), kernelX, kernelY, anchor, delta, border_of(borderType, "sepFilter2D"), dst)


def Sobel(src: MatLike, ddepth: int, dx: int, dy: int, dst: MatLike | None = None, ksize: int = 3, scale: float = 1, delta: float = 0, borderType: int = BORDER_DEFAULT) -> Any:
    """Derivatives of orders dx and dy by Sobel's kernels of ksize x ksize (1, 3, 5 ... 31; -1: Scharr's), times `scale`, plus `delta`, of the depth
    `ddepth` (-1: src's), saturated. Raises InvalidArgument for other sizes and orders. Source: Sobel and Feldman, 1968.

    >>> cv.Sobel(minnow.Var([[0, 1, 5]], "uint8"), cv.CV_16S, 1, 0)
    Var([[0, 20, 0]], shape=(1, 3), dtype=int16)
    """
    return _vision.sobel(src, dtype_of(ddepth, "Sobel"), dx, dy, ksize, scale, delta, border_of(borderType, "Sobel"), dst)


def Scharr(src: MatLike, ddepth: int, dx: int, dy: int, dst: MatLike | None = None, scale: float = 1, delta: float = 0, borderType: int = BORDER_DEFAULT) -> Any:
    """As Sobel() with Scharr's kernels of 3 x 3, of which one of dx and dy is 1 and the other 0. Source: Scharr, Optimal operators in digital image
    processing, 2000."""
    return _vision.scharr(src, dtype_of(ddepth, "Scharr"), dx, dy, scale, delta, border_of(borderType, "Scharr"), dst)


def Laplacian(src: MatLike, ddepth: int, dst: MatLike | None = None, ksize: int = 1, scale: float = 1, delta: float = 0, borderType: int = BORDER_DEFAULT) -> Any:
    """The sum of both second derivatives, times `scale`, plus `delta`. ksize 1: [[0, 1, 0], [1, -4, 1], [0, 1, 0]], else Sobel's kernels. Raises
    InvalidArgument for even sizes."""
    return _vision.laplacian(src, dtype_of(ddepth, "Laplacian"), ksize, scale, delta, border_of(borderType, "Laplacian"), dst)


def spatialGradient(src: MatLike, dx: MatLike | None = None, dy: MatLike | None = None, ksize: int = 3, borderType: int = BORDER_DEFAULT) -> Any:
    """Both first derivatives of a uint8 picture of one channel by Sobel's kernels of 3 x 3, int16."""
    x, y = _vision.spatial_gradient(src, ksize, border_of(borderType, "spatialGradient"))
    return _filled(dx, x), _filled(dy, y)


def getGaussianKernel(ksize: int, sigma: float, ktype: int = CV_64F) -> Any:
    """The weights of a Gauss curve, [ksize, 1], whose sum is 1. sigma <= 0: 0.3 * ((ksize - 1) * 0.5 - 1) + 0.8, with rounded weights up to 9."""
    return _to_arrays(_vision.gaussian_kernel(ksize, sigma, dtype_of(ktype, "getGaussianKernel")))


def getDerivKernels(dx: int, dy: int, ksize: int, kx: MatLike | None = None, ky: MatLike | None = None, normalize: bool = False, ktype: int = CV_32F) -> Any:
    """The kernels of Sobel(), or Scharr() with ksize -1, for rows and for columns: [ksize, 1]. normalize: divided by the sum of the smoothing."""
    x, y = _to_arrays(_vision.deriv_kernels(dx, dy, ksize, normalize, dtype_of(ktype, "getDerivKernels")))
    return _filled(kx, x), _filled(ky, y)


def getGaborKernel(ksize: Size, sigma: float, theta: float, lambd: float, gamma: float, psi: float = 1.5707963267948966, ktype: int = CV_64F) -> Any:
    """A wave of the length `lambd` in the direction `theta` under a Gauss curve, [height, width]. A side of 0 comes from sigma. Source: Daugman, 1985."""
    return _to_arrays(_vision.gabor_kernel(ksize, sigma, theta, lambd, gamma, psi, dtype_of(ktype, "getGaborKernel")))


def getStructuringElement(shape: int, ksize: Size, anchor: Point = (-1, -1)) -> Any:
    """A kernel for morphology: uint8 [height, width], 1 within MORPH_RECT, MORPH_CROSS (through the anchor), MORPH_ELLIPSE or MORPH_DIAMOND."""
    return _to_arrays(_vision.structuring_element(shape, ksize, anchor))


__all__ = _common.public(globals())
