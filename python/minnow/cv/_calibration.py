# SPDX-License-Identifier: Apache-2.0
"""Cameras, homographies and other geometry of points."""
from __future__ import annotations

from typing import Any

from minnow._minnow import InvalidArgument, Var
from minnow.cv import _common
from minnow.cv._common import MatLike, Size
from minnow.cv._drawing import line

_vision = _common.vision

LMEDS, RANSAC, RHO = 4, 8, 16
USAC_DEFAULT, USAC_PARALLEL, USAC_FM_8PTS, USAC_FAST, USAC_ACCURATE, USAC_PROSAC, USAC_MAGSAC = range(32, 39)
SOLVEPNP_ITERATIVE, SOLVEPNP_EPNP, SOLVEPNP_P3P, SOLVEPNP_DLS, SOLVEPNP_UPNP, SOLVEPNP_AP3P, SOLVEPNP_IPPE, SOLVEPNP_IPPE_SQUARE, SOLVEPNP_SQPNP = range(9)


def _robust(method: int) -> int:
    """RANSAC for OpenCV's other searches at random, which are quicker ways to models of the same kind."""
    return RANSAC if method == RHO or USAC_DEFAULT <= method <= USAC_MAGSAC else method


def findHomography(srcPoints: MatLike, dstPoints: MatLike, method: int = 0, ransacReprojThreshold: float = 3, mask: None = None, maxIters: int = 2000, confidence: float = 0.995) -> Any:
    """(homography, mask): the float64 [3, 3] that takes four or more points [n, 2] or [n, 1, 2] to others, and uint8 [n, 1] with 1 for those that
    it fits; (None, mask) where there is none. `method`: 0 for all points, RANSAC or LMEDS; RHO and USAC_DEFAULT ... USAC_MAGSAC are computed as RANSAC,
    so their results are near OpenCV's, not equal. Sources: R. Hartley, In defense of the eight-point
    algorithm (1997); M. Fischler and R. Bolles, Random sample consensus (1981); P. Rousseeuw, Least median of squares regression (1984).
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.findHomography(srcPoints, dstPoints, _robust(method), ransacReprojThreshold, maxIters, confidence, 10)


def estimateAffine2D(from_: MatLike, to: MatLike, inliers: None = None, method: int = RANSAC, ransacReprojThreshold: float = 3, maxIters: int = 2000, confidence: float = 0.99, refineIters: int = 10) -> Any:
    """(map, inliers): the affine float64 [2, 3] that takes three or more points [n, 2] or [n, 1, 2] to others, and uint8 [n, 1] with 1 for those
    that it fits; (None, inliers) where there is none. `method`: RANSAC or LMEDS; USAC_DEFAULT ... USAC_MAGSAC are computed as RANSAC.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.estimateAffine2D(from_, to, _robust(method), ransacReprojThreshold, maxIters, confidence, refineIters)


def estimateAffinePartial2D(from_: MatLike, to: MatLike, inliers: None = None, method: int = RANSAC, ransacReprojThreshold: float = 3, maxIters: int = 2000, confidence: float = 0.99, refineIters: int = 10) -> Any:
    """The same for a turn, a scale and a shift, of two or more points.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _vision.estimateAffinePartial2D(from_, to, method, ransacReprojThreshold, maxIters, confidence, refineIters)


def _guess(rvec: Any, tvec: Any, name: str) -> list[float]:
    if rvec is None or tvec is None:
        raise InvalidArgument(f"{name}: a guess has rvec and tvec")
    return [float(value) for vector in (rvec, tvec) for value in (vector if isinstance(vector, Var) else Var(vector)).reshape(-1).tolist()]


def _shape(vector: Any) -> Any:
    """Results have the shapes of the guess, as in OpenCV, which writes over it."""
    return getattr(vector, "shape", (3, 1))


def solvePnP(objectPoints: MatLike, imagePoints: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, rvec: MatLike | None = None, tvec: MatLike | None = None, useExtrinsicGuess: bool = False, flags: int = SOLVEPNP_ITERATIVE) -> Any:
    """(found, rvec, tvec): where an object is whose points [n, 3] or [n, 1, 3] a camera sees at pixels [n, 2] or [n, 1, 2]; float64 [3, 1], the axis
    of the rotation times its angle, and the translation. `distCoeffs`: None, or 4, 5, 8, 12 or 14 numbers. SOLVEPNP_ITERATIVE takes four points of a
    plane or six, or starts at rvec and tvec with `useExtrinsicGuess`. The other methods, from four points on, give the pose with the least
    reprojection error, too, where OpenCV's are not iterated to the end; SOLVEPNP_P3P and SOLVEPNP_AP3P take four points, and the pose is through
    three of them. Source of the start: J. Grunert (1841), and the direct linear transform."""
    guess = _guess(rvec, tvec, "solvePnP") if useExtrinsicGuess and flags == SOLVEPNP_ITERATIVE else []
    found, r, t = _vision.solvePnP(objectPoints, imagePoints, cameraMatrix, [] if distCoeffs is None else distCoeffs, guess, flags)
    return (found, r.reshape(_shape(rvec)), t.reshape(_shape(tvec))) if guess else (found, r, t)


def solvePnPRansac(objectPoints: MatLike, imagePoints: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, rvec: MatLike | None = None, tvec: MatLike | None = None, useExtrinsicGuess: bool = False, iterationsCount: int = 100, reprojectionError: float = 8.0, confidence: float = 0.99, inliers: None = None, flags: int = SOLVEPNP_ITERATIVE) -> Any:
    """(found, rvec, tvec, inliers): as solvePnP(), where some pixels are wrong; `inliers`, int32 [m, 1], are positions of points at most
    `reprojectionError` pixels from where the pose takes them, None where no pose is found. Source: M. Fischler and R. Bolles, Random sample
    consensus (1981)."""
    guess = _guess(rvec, tvec, "solvePnPRansac") if useExtrinsicGuess else []
    return _vision.solvePnPRansac(objectPoints, imagePoints, cameraMatrix, [] if distCoeffs is None else distCoeffs, guess, flags, iterationsCount, reprojectionError, confidence)


def solvePnPRefineLM(objectPoints: MatLike, imagePoints: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, rvec: MatLike, tvec: MatLike, criteria: Any = (3, 20, 1.1920928955078125e-07)) -> Any:
    """(rvec, tvec): the pose with the least reprojection error near a pose. `criteria` is not needed: the steps end where they change nothing.
    Source: D. Marquardt, An algorithm for least-squares estimation of nonlinear parameters (1963)."""
    guess = _guess(rvec, tvec, "solvePnPRefineLM")
    r, t = _vision.solvePnPRefineLM(objectPoints, imagePoints, cameraMatrix, [] if distCoeffs is None else distCoeffs, guess)
    return r.reshape(_shape(rvec)), t.reshape(_shape(tvec))


def _numbers(values: Any) -> Any:
    return [] if values is None else values


def Rodrigues(src: MatLike, dst: MatLike | None = None, jacobian: MatLike | None = None) -> tuple[Any, Any]:
    """(matrix, derivatives): the rotation [3, 3] of a vector of three numbers, its axis times its angle, and [3, 9]; or the vector [3, 1] of a matrix, and
    [9, 3]. float32 or float64. Source: O. Rodrigues (1840). Raises InvalidArgument for other shapes and dtypes."""
    return _vision.Rodrigues(src)


def projectPoints(objectPoints: MatLike, rvec: MatLike, tvec: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, imagePoints: MatLike | None = None,
                  jacobian: MatLike | None = None, aspectRatio: float = 0) -> tuple[Any, Any]:
    """(pixels, derivatives): the pixels [n, 1, 2] of points [n, 3] or [n, 1, 3], float32 or float64, and float64 [2 n, 10 + numbers of distortion], by
    rotation, translation, focal lengths, centre and distortion. `distCoeffs`: None, or 4, 5, 8, 12 or 14 numbers. Source: D. Brown, Decentering
    distortion of lenses (1966). Raises InvalidArgument for points or a camera of other shapes."""
    return _vision.projectPoints(objectPoints, rvec, tvec, cameraMatrix, _numbers(distCoeffs), aspectRatio)


def drawFrameAxes(image: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, rvec: MatLike, tvec: MatLike, length: float, thickness: int = 3) -> Any:
    """Draws the axes of a pose that solvePnP() gave, each of `length`, into a picture, which it gives: x red, y green, z blue.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    if not length > 0:
        raise InvalidArgument(f"drawFrameAxes: the length is {length}, not above 0")
    axes = Var([[0, 0, 0], [length, 0, 0], [0, length, 0], [0, 0, length]], "float32")
    start, *ends = [tuple(round(value) for value in pixel[0]) for pixel in projectPoints(axes, rvec, tvec, cameraMatrix, distCoeffs)[0].tolist()]
    for end, color in zip(ends, ((0, 0, 255), (0, 255, 0), (255, 0, 0))):
        line(image, start, end, color, thickness)
    return image


def undistortPoints(src: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, dst: MatLike | None = None, R: MatLike | None = None,
                    P: MatLike | None = None) -> Any:
    """The directions (x, y) [n, 1, 2] before the lens of pixels [n, 2] or [n, 1, 2], float32 or float64, after five steps; turned by `R`, and with
    the camera `P` pixels again. Raises InvalidArgument for points or a camera of other shapes."""
    return _vision.undistortPoints(src, cameraMatrix, _numbers(distCoeffs), _numbers(R), _numbers(P), 1, 5, 0.01)


def undistortPointsIter(src: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, R: MatLike | None, P: MatLike | None, criteria: Any,
                        dst: MatLike | None = None) -> Any:
    """undistortPoints with criteria (type, steps, pixels): type 1 is a number of steps, 2 an error, 3 both."""
    return _vision.undistortPoints(src, cameraMatrix, _numbers(distCoeffs), _numbers(R), _numbers(P), *criteria)


def undistortImagePoints(src: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, dst: MatLike | None = None, arg1: Any = (1, 5, 0.01)) -> Any:
    """Pixels of a picture as undistort() makes it from pixels of the picture through the lens.
    Raises InvalidArgument for points or a camera of other shapes."""
    return _vision.undistortPoints(src, cameraMatrix, _numbers(distCoeffs), [], cameraMatrix, *arg1)


def initUndistortRectifyMap(cameraMatrix: MatLike, distCoeffs: MatLike | None, R: MatLike | None, newCameraMatrix: MatLike | None, size: Size, m1type: int,
                            map1: MatLike | None = None, map2: MatLike | None = None) -> tuple[Any, Any]:
    """Maps for remap() that take a lens's distortion away, turn by `R` and show the picture of another camera: CV_16SC2, CV_32FC1 or CV_32FC2 as
    convertMaps makes them. Without `newCameraMatrix` it is `cameraMatrix` with the centre in the middle.
    Raises InvalidArgument for a camera of another shape or another kind of map."""
    dtype = _common.dtype_of(m1type, "initUndistortRectifyMap") if m1type > 0 else None
    return _vision.initUndistortRectifyMap(cameraMatrix, _numbers(distCoeffs), _numbers(R), _numbers(newCameraMatrix), size, dtype, (int(m1type) >> 3) + 1)


def undistort(src: MatLike, cameraMatrix: MatLike, distCoeffs: MatLike | None, dst: MatLike | None = None, newCameraMatrix: MatLike | None = None) -> Any:
    """The picture without the distortion of a lens, linear, with zeros where there is no source.
    Raises InvalidArgument for a camera of another shape."""
    return _vision.undistort(src, cameraMatrix, _numbers(distCoeffs), _numbers(newCameraMatrix), dst)


def getDefaultNewCameraMatrix(cameraMatrix: MatLike, imgsize: Size | None = None, centerPrincipalPoint: bool = False) -> Any:
    """The camera's matrix in float64, with the centre in the middle of the picture where that is wanted.
    Raises InvalidArgument for another shape."""
    return _vision.getDefaultNewCameraMatrix(cameraMatrix, imgsize, centerPrincipalPoint)


def getOptimalNewCameraMatrix(cameraMatrix: MatLike, distCoeffs: MatLike | None, imageSize: Size, alpha: float, newImgSize: Size | None = None,
                              centerPrincipalPoint: bool = False) -> tuple[Any, Any]:
    """(matrix, rectangle): a camera for undistort() that shows valid pixels alone (alpha 0), all source pixels (1) or between, and where valid pixels
    are, (x, y, width, height). Raises InvalidArgument for a camera of another shape or an empty size."""
    return _vision.getOptimalNewCameraMatrix(cameraMatrix, _numbers(distCoeffs), imageSize, alpha, newImgSize, centerPrincipalPoint)


__all__ = _common.public(globals())
