# SPDX-License-Identifier: Apache-2.0
"""Filters, derivatives, thresholds and morphology."""
from __future__ import annotations

from typing import Any, Sequence

from minnow.cv import _common
from minnow.cv._common import BORDER_CONSTANT, BORDER_DEFAULT, CV_32F, CV_64F, MatLike, Point, Scalar, Size, border_of, dtype_of
from minnow._minnow import InvalidArgument, InvalidType, Var, to_arrays as _to_arrays

_vision = _common.vision

MORPH_RECT, MORPH_CROSS, MORPH_ELLIPSE, MORPH_DIAMOND = range(4)
MORPH_ERODE, MORPH_DILATE, MORPH_OPEN, MORPH_CLOSE, MORPH_GRADIENT, MORPH_TOPHAT, MORPH_BLACKHAT, MORPH_HITMISS = range(8)
THRESH_BINARY, THRESH_BINARY_INV, THRESH_TRUNC, THRESH_TOZERO, THRESH_TOZERO_INV = range(5)
THRESH_MASK, THRESH_OTSU, THRESH_TRIANGLE, THRESH_DRYRUN = 7, 8, 16, 128
ADAPTIVE_THRESH_MEAN_C, ADAPTIVE_THRESH_GAUSSIAN_C = 0, 1
FILTER_SCHARR = -1  # as ksize
DIST_MASK_PRECISE, DIST_MASK_3, DIST_MASK_5 = 0, 3, 5
DIST_LABEL_CCOMP, DIST_LABEL_PIXEL = 0, 1
FLOODFILL_FIXED_RANGE, FLOODFILL_MASK_ONLY = 1 << 16, 1 << 17


def _filled(dst: Any, result: Var) -> Any:
    """dst with the result in it, where it is an array that fits; else the result."""
    if dst is None or isinstance(dst, Var):
        return result
    if not hasattr(dst, "shape"):
        raise InvalidType(f"the destination is an array, not {type(dst).__name__}")
    values: Any = _to_arrays(result)
    if dst.shape != values.shape or dst.dtype != values.dtype:
        return result
    dst[...] = values
    return dst


def _four(values: Scalar) -> Sequence[float]:
    return [*(values if isinstance(values, Sequence) else [values]), 0, 0, 0, 0][:4]


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


def medianBlur(src: MatLike, ksize: int, dst: MatLike | None = None) -> Any:
    """The median of the ksize x ksize pixels around each pixel, an odd number: uint8 of any size up to 255; uint16, int16 and float32 of 3 and 5. Pixels
    beyond the border are those at it. Raises InvalidArgument for even sizes. Source: Perreault and Hebert, 2007.

    >>> cv.medianBlur(minnow.Var([[1, 9, 2, 3]], "uint8"), 3)
    Var([[1, 2, 3, 3]], shape=(1, 4), dtype=uint8)
    """
    return _vision.median_blur(src, ksize, dst)


def bilateralFilter(src: MatLike, d: int, sigmaColor: float, sigmaSpace: float, dst: MatLike | None = None, borderType: int = BORDER_DEFAULT) -> Any:
    """The mean of the pixels in a circle of the diameter d (0: from sigmaSpace), weighted by Gauss curves of the distance and of the difference of
    colours; uint8 or float32 of one or three channels. Source: Tomasi and Manduchi, Bilateral filtering for gray and color images, 1998.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.bilateral_filter(src, d, sigmaColor, sigmaSpace, border_of(borderType, "bilateralFilter"), dst)


def stackBlur(src: MatLike, ksize: Size, dst: MatLike | None = None) -> Any:
    """The mean of the pixels around each pixel, weighted by a triangle along both sides; uint8, uint16, int16 or float32. ksize is odd. Source:
    Klingemann, Stack Blur, 2004. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.stack_blur(src, ksize, dst)


def Canny(*args: Any, **keywords: Any) -> Any:
    """Edges (255) of a uint8 picture: Canny(image, threshold1, threshold2, edges=None, apertureSize=3, L2gradient=False), or of given int16 derivatives:
    Canny(dx, dy, threshold1, threshold2, edges=None, L2gradient=False). Crests of the gradient above the higher threshold, and those above the lower one
    that lead to them. The gradient's length is |dx| + |dy|, or exact with L2gradient. Source: Canny, A computational approach to edge detection, 1986.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    if "dx" in keywords or len(args) > 1 and getattr(args[1], "shape", ()):
        return _canny_of_gradient(*args, **keywords)
    return _canny(*args, **keywords)


def _canny(image: MatLike, threshold1: float, threshold2: float, edges: MatLike | None = None, apertureSize: int = 3, L2gradient: bool = False) -> Any:
    return _vision.canny(image, threshold1, threshold2, apertureSize, L2gradient, edges)


def _canny_of_gradient(dx: MatLike, dy: MatLike, threshold1: float, threshold2: float, edges: MatLike | None = None, L2gradient: bool = False) -> Any:
    return _vision.canny_of_gradient(dx, dy, threshold1, threshold2, L2gradient, edges)


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
    """Derivatives of orders dx and dy by Sobel's kernels of ksize x ksize (1, 3, 5 ... 31; FILTER_SCHARR: Scharr's), times `scale`, plus `delta`, of the depth
    `ddepth` (-1: src's), saturated. Raises InvalidArgument for other sizes and orders. Source: Sobel and Feldman, 1968.

    >>> cv.Sobel(minnow.Var([[0, 1, 5]], "uint8"), cv.CV_16S, 1, 0)
    Var([[ 0, 20,  0]], shape=(1, 3), dtype=int16)
    """
    return _vision.sobel(src, dtype_of(ddepth, "Sobel"), dx, dy, ksize, scale, delta, border_of(borderType, "Sobel"), dst)


def Scharr(src: MatLike, ddepth: int, dx: int, dy: int, dst: MatLike | None = None, scale: float = 1, delta: float = 0, borderType: int = BORDER_DEFAULT) -> Any:
    """As Sobel() with Scharr's kernels of 3 x 3, of which one of dx and dy is 1 and the other 0. Source: Scharr, Optimal operators in digital image
    processing, 2000. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.scharr(src, dtype_of(ddepth, "Scharr"), dx, dy, scale, delta, border_of(borderType, "Scharr"), dst)


def Laplacian(src: MatLike, ddepth: int, dst: MatLike | None = None, ksize: int = 1, scale: float = 1, delta: float = 0, borderType: int = BORDER_DEFAULT) -> Any:
    """The sum of both second derivatives, times `scale`, plus `delta`. ksize 1: [[0, 1, 0], [1, -4, 1], [0, 1, 0]], else Sobel's kernels. Raises
    InvalidArgument for even sizes."""
    return _vision.laplacian(src, dtype_of(ddepth, "Laplacian"), ksize, scale, delta, border_of(borderType, "Laplacian"), dst)


def spatialGradient(src: MatLike, dx: MatLike | None = None, dy: MatLike | None = None, ksize: int = 3, borderType: int = BORDER_DEFAULT) -> Any:
    """Both first derivatives of a uint8 picture of one channel by Sobel's kernels of 3 x 3, int16.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    x, y = _vision.spatial_gradient(src, ksize, border_of(borderType, "spatialGradient"))
    return _filled(dx, x), _filled(dy, y)


def getGaussianKernel(ksize: int, sigma: float, ktype: int = CV_64F) -> Any:
    """The weights of a Gauss curve, [ksize, 1], whose sum is 1. sigma <= 0: 0.3 * ((ksize - 1) * 0.5 - 1) + 0.8, with rounded weights up to 9.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _to_arrays(_vision.gaussian_kernel(ksize, sigma, dtype_of(ktype, "getGaussianKernel")))


def getDerivKernels(dx: int, dy: int, ksize: int, kx: MatLike | None = None, ky: MatLike | None = None, normalize: bool = False, ktype: int = CV_32F) -> Any:
    """The kernels of Sobel(), or Scharr() with ksize -1, for rows and for columns: [ksize, 1]. normalize: divided by the sum of the smoothing.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    x, y = _to_arrays(_vision.deriv_kernels(dx, dy, ksize, normalize, dtype_of(ktype, "getDerivKernels")))
    return _filled(kx, x), _filled(ky, y)


def getGaborKernel(ksize: Size, sigma: float, theta: float, lambd: float, gamma: float, psi: float = 1.5707963267948966, ktype: int = CV_64F) -> Any:
    """A wave of the length `lambd` in the direction `theta` under a Gauss curve, [height, width]. A side of 0 comes from sigma. Source: Daugman, 1985.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _to_arrays(_vision.gabor_kernel(ksize, sigma, theta, lambd, gamma, psi, dtype_of(ktype, "getGaborKernel")))


def getStructuringElement(shape: int, ksize: Size, anchor: Point = (-1, -1)) -> Any:
    """A kernel for morphology: uint8 [height, width], 1 within MORPH_RECT, MORPH_CROSS (through the anchor), MORPH_ELLIPSE or MORPH_DIAMOND.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _to_arrays(_vision.structuring_element(shape, ksize, anchor))


def dilate(src: MatLike, kernel: MatLike | None, dst: MatLike | None = None, anchor: Point = (-1, -1), iterations: int = 1, borderType: int = BORDER_CONSTANT,
           borderValue: Scalar | None = None) -> Any:
    """The maximum over the kernel's elements that are not 0, `iterations` times; uint8, uint16, int16, float32 or float64 of any number of channels.
    kernel None: 3 x 3. Without `borderValue`, pixels beyond the border do not count. Raises InvalidArgument for an anchor outside of the kernel.

    >>> cv.dilate(minnow.Var([[0, 9, 0, 0]], "uint8"), None)
    Var([[9, 9, 9, 0]], shape=(1, 4), dtype=uint8)
    """
    return _vision.morphology(src, MORPH_DILATE, kernel, anchor, iterations, border_of(borderType, "dilate"), borderValue, dst)


def erode(src: MatLike, kernel: MatLike | None, dst: MatLike | None = None, anchor: Point = (-1, -1), iterations: int = 1, borderType: int = BORDER_CONSTANT,
          borderValue: Scalar | None = None) -> Any:
    """As dilate(), the minimum. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.morphology(src, MORPH_ERODE, kernel, anchor, iterations, border_of(borderType, "erode"), borderValue, dst)


def morphologyEx(src: MatLike, op: int, kernel: MatLike | None, dst: MatLike | None = None, anchor: Point = (-1, -1), iterations: int = 1,
                 borderType: int = BORDER_CONSTANT, borderValue: Scalar | None = None) -> Any:
    """erode() and dilate(), or what is made of them: MORPH_OPEN (eroded, then dilated), MORPH_CLOSE (dilated, then eroded), MORPH_GRADIENT (dilated less
    eroded), MORPH_TOPHAT (src less opened), MORPH_BLACKHAT (closed less src), MORPH_HITMISS (255 where the kernel's ones are 255 and its minus ones 0;
    uint8 of one channel). Source: Serra, Image Analysis and Mathematical Morphology, 1982.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.morphology(src, op, kernel, anchor, iterations, border_of(borderType, "morphologyEx"), borderValue, dst)


def threshold(src: MatLike, thresh: float, maxval: float, type: int, dst: MatLike | None = None) -> Any:
    """The threshold and a picture: `maxval` where src is above the threshold, else 0 (THRESH_BINARY); the reverse (THRESH_BINARY_INV); the threshold
    where src is above (THRESH_TRUNC); 0 where src is not above (THRESH_TOZERO), or above (THRESH_TOZERO_INV). With THRESH_OTSU (uint8 or uint16 of one
    channel) or THRESH_TRIANGLE (uint8) the histogram gives the threshold. THRESH_DRYRUN: the picture is None. Sources: Otsu, 1979; Zack et al., 1977.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.threshold(minnow.Var([[3, 200]], "uint8"), 127, 255, cv.THRESH_BINARY)
    (127.0, Var([[  0, 255]], shape=(1, 2), dtype=uint8))
    """
    kind, chosen = int(type), 0
    if kind > THRESH_MASK:
        chosen = kind & ~THRESH_MASK & ~THRESH_DRYRUN
        if chosen not in (0, THRESH_OTSU, THRESH_TRIANGLE):
            raise InvalidArgument(f"threshold: the type is one of THRESH_BINARY to THRESH_TOZERO_INV, with THRESH_OTSU or THRESH_TRIANGLE, not {type}")
        if kind & THRESH_DRYRUN:
            return _vision.threshold_value(src, thresh, chosen), None
        kind &= THRESH_MASK
    value, result = _vision.threshold(src, thresh, maxval, kind, chosen, None if isinstance(dst, Var) else dst)
    return value, dst if result is None else result


def adaptiveThreshold(src: MatLike, maxValue: float, adaptiveMethod: int, thresholdType: int, blockSize: int, C: float, dst: MatLike | None = None) -> Any:
    """maxValue where a pixel is above the mean of the blockSize x blockSize pixels around it less C, else 0; THRESH_BINARY_INV: the reverse. uint8 of one
    channel. adaptiveMethod: ADAPTIVE_THRESH_MEAN_C, or ADAPTIVE_THRESH_GAUSSIAN_C for weights of a Gauss curve. Raises InvalidArgument for an even size."""
    return _vision.adaptive_threshold(src, maxValue, adaptiveMethod, thresholdType, blockSize, C, dst)


def integral(src: MatLike, sum: MatLike | None = None, sdepth: int = -1) -> Any:
    """Sums over all pixels above and to the left, [height + 1, width + 1, channels]: int32 of uint8, else float64, or CV_32F or CV_64F. Source: Crow,
    Summed-area tables for texture mapping, 1984.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.integral(minnow.Var([[1, 2], [3, 4]], "uint8"))
    Var([[ 0,  0,  0],
         [ 0,  1,  3],
         [ 0,  4, 10]], shape=(3, 3), dtype=int32)
    """
    return _filled(sum, _vision.integral(src, dtype_of(sdepth, "integral")))


def integral2(src: MatLike, sum: MatLike | None = None, sqsum: MatLike | None = None, sdepth: int = -1, sqdepth: int = -1) -> Any:
    """integral(), and the same of squares, float64.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    sums, squares = _vision.integral_2(src, dtype_of(sdepth, "integral2"), dtype_of(sqdepth, "integral2"))
    return _filled(sum, sums), _filled(sqsum, squares)


def integral3(src: MatLike, sum: MatLike | None = None, sqsum: MatLike | None = None, tilted: MatLike | None = None, sdepth: int = -1, sqdepth: int = -1) -> Any:
    """integral2(), and sums over triangles that open upwards at 45 degrees. Source: Lienhart and Maydt, 2002.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    sums, squares, triangles = _vision.integral_3(src, dtype_of(sdepth, "integral3"), dtype_of(sqdepth, "integral3"))
    return _filled(sum, sums), _filled(sqsum, squares), _filled(tilted, triangles)


def distanceTransform(src: MatLike, distanceType: int, maskSize: int, dst: MatLike | None = None, dstType: int = CV_32F) -> Any:
    """The distance of each pixel from the nearest 0, float32, or uint8 with DIST_L1 and CV_8U. uint8 of one channel. distanceType: DIST_L1, DIST_L2 or
    DIST_C; maskSize: 3, 5, or DIST_MASK_PRECISE (0) for exact distances. Sources: Borgefors, 1986; Felzenszwalb and Huttenlocher, 2004.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.distanceTransform(minnow.Var([[0, 1, 1, 1]], "uint8"), cv.DIST_L1, 3)
    Var([[0., 1., 2., 3.]], shape=(1, 4), dtype=float32)
    """
    return _vision.distance_transform(src, distanceType, maskSize, dtype_of(dstType, "distanceTransform"), dst)


def distanceTransformWithLabels(src: MatLike, distanceType: int, maskSize: int, dst: MatLike | None = None, labels: MatLike | None = None,
                                labelType: int = DIST_LABEL_CCOMP) -> Any:
    """distanceTransform() with the mask 5, and which 0 is the nearest, int32: regions of zeros have numbers, or pixels (DIST_LABEL_PIXEL).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    distances, numbers = _vision.distance_transform_with_labels(src, distanceType, maskSize, labelType)
    return _filled(dst, distances), _filled(labels, numbers)


def floodFill(image: MatLike, mask: MatLike | None, seedPoint: Point, newVal: Scalar, loDiff: Scalar = 0, upDiff: Scalar = 0, flags: int = 4) -> Any:
    """Fills the region around a pixel, in place: uint8, int32 or float32 of one or three channels. Gives its area, the picture, the mask and the region's
    (x, y, width, height). A neighbour belongs to it that is at most loDiff below and upDiff above a pixel of it, or the first pixel
    (FLOODFILL_FIXED_RANGE). flags: 4 or 8 neighbours, the mask's value << 8. The mask, uint8 [height + 2, width + 2], keeps pixels out where it is not 0,
    and takes the region; FLOODFILL_MASK_ONLY: the picture stays.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    if not hasattr(image, "shape"):
        raise InvalidType(f"floodFill: the picture is an array that may be written, not {type(image).__name__}")
    connectivity, only = int(flags) & 255, bool(int(flags) & FLOODFILL_MASK_ONLY)
    lower, upper = _four(loDiff), _four(upDiff)
    if mask is None:
        mask = _to_arrays(_vision.flood_mask(image))
    area, rect = _vision.flood_fill(image, mask, seedPoint, newVal, lower, upper, connectivity or 4, bool(int(flags) & FLOODFILL_FIXED_RANGE), only,
                                    int(flags) >> 8 & 255 or 1)
    return area, image, mask, rect


def watershed(image: MatLike, markers: MatLike) -> Any:
    """Grows the regions of the markers, int32 above 0, over a uint8 picture of three channels, in place: pixels between regions become -1. Source: Meyer,
    Color image segmentation, 1992. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    _vision.watershed(image, markers)
    return markers


def equalizeHist(src: MatLike, dst: MatLike | None = None) -> Any:
    """The picture with values spread so that their histogram becomes level; uint8 of one channel.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.equalize_hist(src, dst)


class CLAHE:
    """Equalization of histograms within tiles, of which the slope is limited; createCLAHE() makes one. Source: Zuiderveld, 1994.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""

    def __init__(self, clipLimit: float = 40.0, tileGridSize: Size = (8, 8)) -> None:
        self._limit, self._tiles, self._shift = clipLimit, tileGridSize, 0

    def apply(self, src: MatLike, dst: MatLike | None = None) -> Any:
        """The picture, uint8 or uint16 of one channel, equalized."""
        result = _vision.clahe(src, self._limit, self._tiles, self._shift, None)
        return _filled(dst, result if isinstance(src, Var) else _to_arrays(result))

    def setClipLimit(self, clipLimit: float) -> None:
        """How many times the mean a value may be counted; 0: no limit."""
        self._limit = float(clipLimit)

    def getClipLimit(self) -> float:
        """As set."""
        return self._limit

    def setTilesGridSize(self, tileGridSize: Size) -> None:
        """Tiles in a row and in a column."""
        self._tiles = tuple(tileGridSize)

    def getTilesGridSize(self) -> Any:
        """As set."""
        return tuple(self._tiles)

    def setBitShift(self, bitShift: int) -> None:
        """How many of the last bits do not count."""
        self._shift = int(bitShift)

    def getBitShift(self) -> int:
        """As set."""
        return self._shift

    def collectGarbage(self) -> None:
        """Nothing is held."""


def createCLAHE(clipLimit: float = 40.0, tileGridSize: Size = (8, 8)) -> CLAHE:
    """A CLAHE with this limit and these numbers of tiles.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return CLAHE(clipLimit, tileGridSize)


__all__ = _common.public(globals())
