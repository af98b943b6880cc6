# SPDX-License-Identifier: Apache-2.0
"""Contours, shapes, lines, components, features and matching."""
from __future__ import annotations

import math as _math
from typing import Any, Mapping, Sequence

from minnow._minnow import InvalidArgument, InvalidType, Unsupported, Var, to_arrays as _to_arrays
from minnow.cv import _common
from minnow.cv._common import MatLike, Point

_vision = _common.vision

RETR_EXTERNAL, RETR_LIST, RETR_CCOMP, RETR_TREE, RETR_FLOODFILL = range(5)
CHAIN_APPROX_NONE, CHAIN_APPROX_SIMPLE, CHAIN_APPROX_TC89_L1, CHAIN_APPROX_TC89_KCOS = range(1, 5)
DIST_USER, DIST_L1, DIST_L2, DIST_C, DIST_L12, DIST_FAIR, DIST_WELSCH, DIST_HUBER = -1, 1, 2, 3, 4, 5, 6, 7
INTERSECT_NONE, INTERSECT_PARTIAL, INTERSECT_FULL = range(3)
CC_STAT_LEFT, CC_STAT_TOP, CC_STAT_WIDTH, CC_STAT_HEIGHT, CC_STAT_AREA, CC_STAT_MAX = range(6)
CCL_DEFAULT, CCL_WU, CCL_GRANA, CCL_BOLELLI, CCL_SAUF, CCL_BBDT, CCL_SPAGHETTI = range(-1, 6)
TM_SQDIFF, TM_SQDIFF_NORMED, TM_CCORR, TM_CCORR_NORMED, TM_CCOEFF, TM_CCOEFF_NORMED = range(6)
KMEANS_RANDOM_CENTERS, KMEANS_USE_INITIAL_LABELS, KMEANS_PP_CENTERS = range(3)
TERM_CRITERIA_COUNT, TERM_CRITERIA_MAX_ITER, TERM_CRITERIA_EPS = TermCriteria_COUNT, TermCriteria_MAX_ITER, TermCriteria_EPS = 1, 1, 2
DFT_INVERSE, DFT_SCALE, DFT_ROWS, DFT_COMPLEX_OUTPUT, DFT_REAL_OUTPUT, DFT_COMPLEX_INPUT = 1, 2, 4, 16, 32, 64
DCT_INVERSE, DCT_ROWS = 1, 4
DECOMP_LU, DECOMP_SVD, DECOMP_EIG, DECOMP_CHOLESKY, DECOMP_QR, DECOMP_NORMAL = 0, 1, 2, 3, 4, 16
SVD_MODIFY_A, SVD_NO_UV, SVD_FULL_UV = 1, 2, 4
GEMM_1_T, GEMM_2_T, GEMM_3_T = 1, 2, 4
HOUGH_STANDARD, HOUGH_PROBABILISTIC, HOUGH_MULTI_SCALE, HOUGH_GRADIENT, HOUGH_GRADIENT_ALT = range(5)
OPTFLOW_USE_INITIAL_FLOW, OPTFLOW_LK_GET_MIN_EIGENVALS = 4, 8
CONTOURS_MATCH_I1, CONTOURS_MATCH_I2, CONTOURS_MATCH_I3 = range(1, 4)

RotatedRect = Sequence[Any]  # (center, (width, height), angle in degrees)

_MOMENTS = ("m00 m10 m01 m20 m11 m02 m30 m21 m12 m03 mu20 mu11 mu02 mu30 mu21 mu12 mu03 nu20 nu11 nu02 nu30 nu21 nu12 nu03").split()


def _box(box: RotatedRect, name: str) -> list[float]:
    try:
        (x, y), (width, height), angle = box
        return [float(x), float(y), float(width), float(height), float(angle)]
    except (TypeError, ValueError):
        raise InvalidType(f"{name} takes a rectangle (center, (width, height), angle), not {box!r}") from None


def setRNGSeed(seed: int) -> None:
    """Sets the seed of the thread's random numbers, which kmeans() and some fits draw. They are OpenCV's numbers.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    _vision.setRNGSeed(seed)


def findNonZero(src: MatLike, idx: None = None) -> Any:
    """The places (x, y) of the elements that are not 0 in a picture of one channel, row after row, int32 [n, 1, 2]; None where there are none.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.findNonZero(minnow.Var([[0, 7], [5, 0]], "uint8")).tolist()
    [[[1, 0]], [[0, 1]]]
    """
    return _vision.find_nonzero(src)


def findContours(image: MatLike, mode: int, method: int, contours: None = None, hierarchy: None = None, offset: Point = (0, 0)) -> Any:
    """(contours, hierarchy): borders of the areas that are not 0 in a picture uint8 [height, width], a tuple of int32 [n, 1, 2], moved by
    `offset`; and for each, int32 [1, contours, 4], the next, the previous, the first child and the parent, or -1 (None where there is no contour).
    `mode`: RETR_EXTERNAL, RETR_LIST, RETR_CCOMP or RETR_TREE; of labels, int32 [height, width], RETR_CCOMP and RETR_FLOODFILL find the borders of areas
    of equal labels, the ground 0 included, as OpenCV does. `method`: CHAIN_APPROX_NONE, _SIMPLE, _TC89_L1 or _TC89_KCOS. Sources: S. Suzuki and
    K. Abe, Topological structural analysis of digitized binary images by border following (1985); C.-H. Teh and R. T. Chin, On the detection of
    dominant points on digital curves (1989). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> picture = minnow.Var([[0, 0, 0, 0], [0, 9, 9, 0], [0, 9, 9, 0], [0, 0, 0, 0]], "uint8")
    >>> contours, hierarchy = cv.findContours(picture, cv.RETR_EXTERNAL, cv.CHAIN_APPROX_SIMPLE)
    >>> contours[0].reshape(-1, 2).tolist()
    [[1, 1], [1, 2], [2, 2], [2, 1]]
    """
    return _vision.findContours(image, mode, method, offset)


def approxPolyDP(curve: MatLike, epsilon: float, closed: bool, approxCurve: None = None) -> Any:
    """Fewer points of a curve of int32 or float32 points, at most `epsilon` away: [m, 1, 2]; None for no points. Source: D. Douglas and T. Peucker,
    Algorithms for the reduction of the number of points required to represent a digitized line (1973).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.approxPolyDP(curve, epsilon, closed)


def arcLength(curve: MatLike, closed: bool) -> float:
    """The length of a curve of int32 or float32 points; with the way from the last to the first where `closed`.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.arcLength(curve, closed)


def contourArea(contour: MatLike, oriented: bool = False) -> float:
    """The area within a contour of int32 or float32 points; negative for one of the two directions where `oriented`.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.contourArea(contour, oriented)


def convexHull(points: MatLike, hull: None = None, clockwise: bool = False, returnPoints: bool = True) -> Any:
    """The corners of the convex hull of int32 or float32 points, [m, 1, 2], or their positions, int32 [m, 1], where not `returnPoints`; None for
    no points. Source: J. Sklansky, Finding the convex hull of a simple polygon (1982).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.convexHull(points, clockwise, returnPoints)


def convexityDefects(contour: MatLike, convexhull: MatLike, convexityDefects: None = None) -> Any:
    """Dents of a contour of int32 points, int32 [m, 1, 4]: positions of the first, the last and the deepest point, and 256 times the depth; None
    where there are none. `convexhull`: positions that convexHull(returnPoints=False) gave.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.convexityDefects(contour, convexhull)


def isContourConvex(contour: MatLike) -> bool:
    """Whether a contour of int32 or float32 points, which does not cross itself, is convex.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.isContourConvex(contour)


def boundingRect(array: MatLike) -> Any:
    """(x, y, width, height) of the upright rectangle of int32 or float32 points, or of the elements that are not 0 in a picture uint8 or int8.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.boundingRect(array)


def pointPolygonTest(contour: MatLike, pt: Sequence[float], measureDist: bool) -> float:
    """1, 0 or -1 where a point is inside a contour, on an edge or outside; the distance to the contour with that sign where `measureDist`.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.pointPolygonTest(contour, pt, measureDist)


def minAreaRect(points: MatLike) -> Any:
    """((x, y), (width, height), angle) of the smallest rectangle around int32 or float32 points; the angle is at least -90 and below 0. Source: G.
    Toussaint, Solving geometric problems with the rotating calipers (1983).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.minAreaRect(minnow.Var([[0, 0], [4, 0], [4, 2], [0, 2]], "int32"))
    ((2.0, 1.0), (2.0, 4.0), -90.0)
    """
    return _vision.minAreaRect(points)


def boxPoints(box: RotatedRect, points: None = None) -> Any:
    """The corners of a rectangle (center, (width, height), angle), float32 [4, 2].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _to_arrays(_vision.boxPoints(_box(box, "boxPoints")))


def minEnclosingCircle(points: MatLike) -> Any:
    """(center, radius) of the smallest circle around int32 or float32 points. Source: E. Welzl, Smallest enclosing disks (1991).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.minEnclosingCircle(points)


def minEnclosingTriangle(points: MatLike, triangle: None = None) -> Any:
    """(area, corners float32 [3, 1, 2]) of the smallest triangle around int32 or float32 points. Source: V. Klee and M. Laskowski, Finding the smallest
    triangles containing a given convex polygon (1985).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _to_arrays(_vision.minEnclosingTriangle(points))


def fitEllipse(points: MatLike) -> Any:
    """((x, y), (width, height), angle) of the ellipse that fits five or more int32 or float32 points best, by least squares. Source: A. Fitzgibbon
    and R. Fisher, A buyer's guide to conic fitting (1995).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.fitEllipse(points)


def fitEllipseDirect(points: MatLike) -> Any:
    """The same, always of an ellipse. Source: A. Fitzgibbon, M. Pilu and R. Fisher, Direct least square fitting of ellipses (1999).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.fitEllipseDirect(points)


def fitEllipseAMS(points: MatLike) -> Any:
    """The same, by the mean square of distances to first order; fitEllipseDirect()'s where that is no ellipse. Source: G. Taubin, Estimation of planar
    curves, surfaces, and nonplanar space curves (1991).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.fitEllipseAMS(points)


def fitLine(points: MatLike, distType: int, param: float, reps: float, aeps: float, line: None = None) -> Any:
    """A line through points of two or three coordinates: float32 [4, 1] or [6, 1], a direction of length 1 and a point. `distType`: DIST_L2 (least
    squares), or an M-estimator: DIST_L1, DIST_L12, DIST_FAIR, DIST_WELSCH, DIST_HUBER with `param`; 0 chooses it.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.fitLine(points, distType, param, reps, aeps)


def rotatedRectangleIntersection(rect1: RotatedRect, rect2: RotatedRect, intersectingRegion: None = None) -> Any:
    """(INTERSECT_NONE, None), or (INTERSECT_PARTIAL or INTERSECT_FULL, corners of what is common, float32 [m, 1, 2]), of two rectangles.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    one, other = _box(rect1, "rotatedRectangleIntersection"), _box(rect2, "rotatedRectangleIntersection")
    return _to_arrays(_vision.rotatedRectangleIntersection(one, other))


def moments(array: MatLike, binaryImage: bool = False) -> Any:
    """A dict of the moments m00 to m03, mu20 to mu03 (around the center) and nu20 to nu03 (of the unit of area), of a contour's area or of a picture
    of one channel; `binaryImage`: elements that are not 0 count as 1.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return dict(zip(_MOMENTS, _vision.moments(array, binaryImage)))


def HuMoments(m: Mapping[str, float], hu: None = None) -> Any:
    """Seven numbers, float64 [7, 1], of moments that shifts, turns and scales leave alone. Source: M.-K. Hu, Visual pattern recognition by moment
    invariants (1962). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _to_arrays(_vision.HuMoments([float(m.get(name, 0)) for name in _MOMENTS]))


def matchShapes(contour1: MatLike, contour2: MatLike, method: int, parameter: float) -> float:
    """How far the Hu moments of two contours or pictures are apart. `method`: CONTOURS_MATCH_I1, _I2 or _I3. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.matchShapes(contour1, contour2, method)


def _components(image: MatLike, connectivity: int, ltype: int, ccltype: int, stats: bool, name: str) -> Any:
    if ccltype not in range(-1, 6):
        raise InvalidArgument(f"{name}: there is no algorithm {ccltype}")
    # The algorithms that go by blocks number the components in the order of their first blocks.
    blocks = connectivity == 8 and ccltype not in (CCL_WU, CCL_SAUF)
    return _vision.connectedComponents(image, connectivity, _common.dtype_of(ltype, name), blocks, stats)


def connectedComponents(image: MatLike, labels: None = None, connectivity: int = 8, ltype: int = _common.CV_32S) -> Any:
    """(number of labels, labels): the connected areas of the elements that are not 0 in a picture uint8 or int8 [height, width], numbered from 1;
    0 is the background. `connectivity`: 8 or 4; `ltype`: CV_32S or CV_16U. Source: A. Rosenfeld and J. Pfaltz, Sequential operations in digital
    picture processing (1966). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> count, labels = cv.connectedComponents(minnow.Var([[1, 0, 1], [1, 0, 0]], "uint8"))
    >>> count, labels.tolist()
    (3, [[1, 0, 2], [1, 0, 0]])
    """
    return _components(image, connectivity, ltype, CCL_DEFAULT, False, "connectedComponents")[:2]


def connectedComponentsWithAlgorithm(image: MatLike, connectivity: int, ltype: int, ccltype: int, labels: None = None) -> Any:
    """The same; `ccltype`, CCL_DEFAULT or another, says in which order the areas are numbered.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _components(image, connectivity, ltype, ccltype, False, "connectedComponentsWithAlgorithm")[:2]


def connectedComponentsWithStats(image: MatLike, labels: None = None, stats: None = None, centroids: None = None, connectivity: int = 8, ltype: int = _common.CV_32S) -> Any:
    """(number of labels, labels, stats, centroids): as connectedComponents(), with int32 [labels, 5] of left, top, width, height and area
    (CC_STAT_LEFT ...) and float64 [labels, 2].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _components(image, connectivity, ltype, CCL_DEFAULT, True, "connectedComponentsWithStats")


def connectedComponentsWithStatsWithAlgorithm(image: MatLike, connectivity: int, ltype: int, ccltype: int, labels: None = None, stats: None = None, centroids: None = None) -> Any:
    """The same; `ccltype`, CCL_DEFAULT or another, says in which order the areas are numbered.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _components(image, connectivity, ltype, ccltype, True, "connectedComponentsWithStatsWithAlgorithm")


def _lines(image: MatLike, rho: float, theta: float, threshold: int, srn: float, stn: float, low: float, high: float, weighted: bool, votes: bool) -> Any:
    if srn != 0 or stn != 0:
        raise Unsupported("HoughLines: srn and stn (the multi-scale transform) are not supported")
    return _vision.HoughLines(image, rho, theta, threshold, low, high, weighted, votes)


def HoughLines(image: MatLike, rho: float, theta: float, threshold: int, lines: None = None, srn: float = 0, stn: float = 0, min_theta: float = 0, max_theta: float = _math.pi, use_edgeval: bool = False) -> Any:
    """Lines (distance from the origin, angle), float32 [n, 1, 2], that more than `threshold` elements that are not 0 lie on (uint8 [height,
    width]), those with most first; None where there are none. Source: R. Duda and P. Hart, Use of the Hough transformation to detect lines and
    curves in pictures (1972). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _lines(image, rho, theta, threshold, srn, stn, min_theta, max_theta, use_edgeval, False)


def HoughLinesWithAccumulator(image: MatLike, rho: float, theta: float, threshold: int, lines: None = None, srn: float = 0, stn: float = 0, min_theta: float = 0, max_theta: float = _math.pi, use_edgeval: bool = False) -> Any:
    """The same with the number of elements on each line, float32 [n, 1, 3].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _lines(image, rho, theta, threshold, srn, stn, min_theta, max_theta, use_edgeval, True)


def HoughLinesP(image: MatLike, rho: float, theta: float, threshold: int, lines: None = None, minLineLength: float = 0, maxLineGap: float = 0) -> Any:
    """Line segments (x, y, x, y), int32 [n, 1, 4], of elements that are not 0 (uint8 [height, width]); None where there are none. Source: J. Matas,
    C. Galambos and J. Kittler, Robust detection of lines using the progressive probabilistic Hough transform (2000).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.HoughLinesP(image, rho, theta, threshold, minLineLength, maxLineGap)


def matchTemplate(image: MatLike, templ: MatLike, method: int, result: MatLike | None = None, mask: MatLike | None = None) -> Any:
    """How a template matches each part of a picture: float32 [height - th + 1, width - tw + 1]. Both are uint8 or float32 with up to four channels.
    `method`: TM_SQDIFF, TM_CCORR, TM_CCOEFF, or one of these _NORMED. `mask`: uint8 (0 or not) or float32, which elements of the template count.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.matchTemplate(image, templ, method, mask, result)


def cornerHarris(src: MatLike, blockSize: int, ksize: int, k: float, dst: MatLike | None = None, borderType: int = _common.BORDER_DEFAULT) -> Any:
    """How much each pixel of a picture uint8 or float32 [height, width] is a corner: float32. `ksize`: of Sobel's kernel. Source: C. Harris and M.
    Stephens, A combined corner and edge detector (1988).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.cornerHarris(src, blockSize, ksize, k, _common.border_of(borderType, "cornerHarris"), dst)


def cornerMinEigenVal(src: MatLike, blockSize: int, dst: MatLike | None = None, ksize: int = 3, borderType: int = _common.BORDER_DEFAULT) -> Any:
    """The smaller eigenvalue of the scatter of the derivatives around each pixel, float32. Source: J. Shi and C. Tomasi, Good features to track
    (1994). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.cornerMinEigenVal(src, blockSize, ksize, _common.border_of(borderType, "cornerMinEigenVal"), dst)


def cornerEigenValsAndVecs(src: MatLike, blockSize: int, ksize: int, dst: MatLike | None = None, borderType: int = _common.BORDER_DEFAULT) -> Any:
    """Both eigenvalues of that scatter and their vectors, float32 [height, width, 6].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.cornerEigenValsAndVecs(src, blockSize, ksize, _common.border_of(borderType, "cornerEigenValsAndVecs"), dst)


def goodFeaturesToTrack(image: MatLike, maxCorners: int, qualityLevel: float, minDistance: float, corners: None = None, mask: MatLike | None = None, blockSize: int = 3, gradientSize: int | bool = 3, useHarrisDetector: bool = False, k: float = 0.04) -> Any:
    """The best corners of a picture uint8 or float32 [height, width], float32 [n, 1, 2], at least `minDistance` pixels apart and as good as
    `qualityLevel` times the best; None where there are none. `maxCorners`: 0 for all. Source: J. Shi and C. Tomasi, Good features to track (1994).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    if isinstance(gradientSize, bool):  # OpenCV has a signature without it
        gradientSize, useHarrisDetector, k = 3, gradientSize, useHarrisDetector if useHarrisDetector is not False else k
    return _vision.goodFeaturesToTrack(image, maxCorners, qualityLevel, minDistance, mask, blockSize, gradientSize, useHarrisDetector, k)[0]


def goodFeaturesToTrackWithQuality(image: MatLike, maxCorners: int, qualityLevel: float, minDistance: float, mask: MatLike | None, corners: None = None, cornersQuality: None = None, blockSize: int = 3, gradientSize: int = 3, useHarrisDetector: bool = False, k: float = 0.04) -> Any:
    """The same with the corners' measures, float32 [n, 1].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.goodFeaturesToTrack(image, maxCorners, qualityLevel, minDistance, mask, blockSize, gradientSize, useHarrisDetector, k)


def cornerSubPix(image: MatLike, corners: MatLike, winSize: Sequence[int], zeroZone: Sequence[int], criteria: Sequence[float]) -> Any:
    """Corners, float32 points, moved to where the gradients of the window (2 * winSize + 1 pixels) around point away from them. `criteria`: (type,
    count, epsilon). Source: W. Foerstner and E. Guelch, A fast operator for detection and precise location of distinct points (1987).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.cornerSubPix(image, corners, winSize, zeroZone, criteria)


def kmeans(data: MatLike, K: int, bestLabels: MatLike | None, criteria: Sequence[float], attempts: int, flags: int, centers: None = None) -> Any:
    """(compactness, labels, centers) of samples float32 [n, size]: the sum of squared distances, int32 [n, 1] and float32 [K, size]; the best of
    `attempts`. `flags`: KMEANS_RANDOM_CENTERS, KMEANS_PP_CENTERS, with KMEANS_USE_INITIAL_LABELS. Sources: S. Lloyd, Least squares quantization in
    PCM (1982); D. Arthur and S. Vassilvitskii, k-means++ (2007).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.kmeans(data, K, bestLabels, criteria, attempts, flags)


def dft(src: MatLike, dst: MatLike | None = None, flags: int = 0, nonzeroRows: int = 0) -> Any:
    """The discrete Fourier transform of a picture float32 or float64, [height, width] (real) or [height, width, 2] (complex). `flags`: DFT_INVERSE,
    DFT_SCALE, DFT_ROWS, DFT_COMPLEX_OUTPUT (of real numbers, else packed into as many) and DFT_REAL_OUTPUT (of the inverse). `nonzeroRows`: rows
    from there on count as 0. Sources: J. Cooley and J. Tukey (1965); L. Bluestein (1968).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.dft(src, flags, nonzeroRows, dst)


def idft(src: MatLike, dst: MatLike | None = None, flags: int = 0, nonzeroRows: int = 0) -> Any:
    """dft() with DFT_INVERSE. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.dft(src, flags | DFT_INVERSE, nonzeroRows, dst)


def dct(src: MatLike, dst: MatLike | None = None, flags: int = 0) -> Any:
    """The cosine transform of a picture float32 or float64 [height, width]. `flags`: DCT_INVERSE, DCT_ROWS. Source: N. Ahmed, T.
    Natarajan and K. Rao, Discrete cosine transform (1974).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.dct(src, flags, dst)


def idct(src: MatLike, dst: MatLike | None = None, flags: int = 0) -> Any:
    """dct() with DCT_INVERSE. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.dct(src, flags | DCT_INVERSE, dst)


def getOptimalDFTSize(vecsize: int) -> int:
    """The least size that is not below `vecsize` and has the factors 2, 3 and 5 alone; -1 where there is none.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.getOptimalDFTSize(17)
    18
    """
    return _vision.getOptimalDFTSize(vecsize)


def mulSpectrums(a: MatLike, b: MatLike, flags: int, c: MatLike | None = None, conjB: bool = False) -> Any:
    """Products of two spectra that dft() gave, packed or complex; `conjB`: of the conjugate of `b`.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.mulSpectrums(a, b, flags, conjB, c)


def createHanningWindow(winSize: Sequence[int], type: int, dst: MatLike | None = None) -> Any:
    """A window for phaseCorrelate(), CV_32F or CV_64F, [height, width].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _to_arrays(_vision.createHanningWindow(winSize, _common.dtype_of(type, "createHanningWindow"), dst))


def phaseCorrelate(src1: MatLike, src2: MatLike, window: MatLike | None = None) -> Any:
    """((x, y), response): how far the second picture is from the first (float32 or float64 [height, width]). Source: C. Kuglin and D. Hines, The
    phase correlation image alignment method (1975).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.phaseCorrelate(src1, src2, window)


def solve(src1: MatLike, src2: MatLike, dst: None = None, flags: int = DECOMP_LU) -> Any:
    """(whether there is one, the solution x of src1 x = src2), float32 or float64. `flags`: DECOMP_LU, _SVD, _EIG, _CHOLESKY or _QR; with
    DECOMP_NORMAL of the normal equations. DECOMP_SVD, DECOMP_QR and DECOMP_NORMAL give least squares of more equations than unknowns.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.solve(minnow.Var([[2.0, 0.0], [0.0, 4.0]]), minnow.Var([[1.0], [1.0]]))[1].tolist()
    [[0.5], [0.25]]
    """
    solved, x = _vision.solve(src1, src2, flags)
    return solved != 0, x


def invert(src: MatLike, dst: None = None, flags: int = DECOMP_LU) -> Any:
    """(1 or 0, the inverse) of a matrix; of DECOMP_SVD the pseudoinverse, and the ratio of the least to the largest singular value.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.invert(src, flags)


def determinant(mtx: MatLike) -> float:
    """The determinant of a square matrix float32 or float64.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.determinant(mtx)


def eigen(src: MatLike, eigenvalues: None = None, eigenvectors: None = None) -> Any:
    """(True, eigenvalues [n, 1], which fall, and their vectors as rows) of a symmetric matrix. Source: C. Jacobi (1846).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    values, vectors = _vision.eigen(src)
    return True, values, vectors


def SVDecomp(src: MatLike, w: None = None, u: None = None, vt: None = None, flags: int = 0) -> Any:
    """(w, u, vt): singular values [n, 1], which fall, and src = u diag(w) vt. `flags`: SVD_NO_UV, SVD_FULL_UV. Source: M. Hestenes, Inversion of
    matrices by biorthogonalization (1958). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.SVDecomp(src, flags)


def gemm(src1: MatLike, src2: MatLike, alpha: float, src3: MatLike | None, beta: float, dst: MatLike | None = None, flags: int = 0) -> Any:
    """alpha src1 src2 + beta src3 of matrices float32 or float64. `flags`: GEMM_1_T, GEMM_2_T, GEMM_3_T for transposes.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.gemm(src1, src2, alpha, src3, beta, flags, dst)


def _coefficients(coeffs: MatLike) -> Any:
    var = coeffs if isinstance(coeffs, Var) else Var(coeffs)
    return [float(value) for value in var.reshape(-1).tolist()], var.dtype


def solveCubic(coeffs: MatLike, roots: None = None) -> Any:
    """(number, real roots [n, 1]) of a x^3 + b x^2 + c x + d, coefficients [a, b, c, d], or without a of x^3 + ...; roots are None where there are
    none. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    values, dtype = _coefficients(coeffs)
    found = _vision.solveCubic(values, dtype)
    return (0 if found is None else found.shape[0]), found


def solvePoly(coeffs: MatLike, roots: None = None, maxIters: int = 300) -> Any:
    """(0, roots [n, 1, 2], real and imaginary parts) of c0 + c1 x + c2 x^2 ... Sources: E. Durand (1960), I. Kerner (1966).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    values, dtype = _coefficients(coeffs)
    return 0.0, _vision.solvePoly(values, maxIters, dtype)


def PCACompute(data: MatLike, mean: MatLike | None, eigenvectors: None = None, maxComponents: int = 0) -> Any:
    """(mean, eigenvectors): principal components of samples as rows, float32 or float64; [1, size] and [n, size], those of the largest variance
    first. `maxComponents`: 0 for all. Source: K. Pearson (1901).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.PCACompute(data, mean, maxComponents)[:2]


def PCACompute2(data: MatLike, mean: MatLike | None, eigenvectors: None = None, eigenvalues: None = None, maxComponents: int = 0) -> Any:
    """The same with the variances, [n, 1]. Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.PCACompute(data, mean, maxComponents)


def _circles(image: MatLike, method: int, dp: float, minDist: float, param1: float, param2: float, minRadius: int, maxRadius: int, votes: bool) -> Any:
    if method != HOUGH_GRADIENT:
        raise Unsupported(f"HoughCircles: the method is {method}; there is HOUGH_GRADIENT ({HOUGH_GRADIENT})")
    return _vision.HoughCircles(image, dp, minDist, param1, param2, minRadius, maxRadius, votes)


def HoughCircles(image: MatLike, method: int, dp: float, minDist: float, circles: None = None, param1: float = 100, param2: float = 100, minRadius: int = 0, maxRadius: int = 0) -> Any:
    """Circles (x, y, radius), float32 [1, n, 3], in a picture uint8 [height, width]; None where there are none. `method`: HOUGH_GRADIENT; `param1`:
    Canny's upper threshold; `param2`: votes that a center needs. Source: H. Yuen et al., Comparative study of Hough transform methods for circle
    finding (1990). Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _circles(image, method, dp, minDist, param1, param2, minRadius, maxRadius, False)


def HoughCirclesWithAccumulator(image: MatLike, method: int, dp: float, minDist: float, circles: None = None, param1: float = 100, param2: float = 100, minRadius: int = 0, maxRadius: int = 0) -> Any:
    """The same with the circles' votes, float32 [1, n, 4].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _circles(image, method, dp, minDist, param1, param2, minRadius, maxRadius, True)


def calcOpticalFlowPyrLK(prevImg: MatLike, nextImg: MatLike, prevPts: MatLike, nextPts: MatLike | None, status: None = None, err: None = None, winSize: Sequence[int] = (21, 21), maxLevel: int = 3, criteria: Sequence[float] = (3, 30, 0.01), flags: int = 0, minEigThreshold: float = 1e-4) -> Any:
    """(points, status, errors): where points, float32 [n, 1, 2], of a picture uint8 are in the next; uint8 [n, 1], 1 where a point was found, and
    float32 [n, 1]. `flags`: OPTFLOW_USE_INITIAL_FLOW (nextPts are the start), OPTFLOW_LK_GET_MIN_EIGENVALS. Source: J.-Y. Bouguet, Pyramidal
    implementation of the Lucas Kanade feature tracker (2000)."""
    return _vision.calcOpticalFlowPyrLK(prevImg, nextImg, prevPts, nextPts, winSize, maxLevel, criteria, flags, minEigThreshold)


__all__ = _common.public(globals())
