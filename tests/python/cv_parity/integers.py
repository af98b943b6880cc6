# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy's usual integers, int64, and lists of Python's: OpenCV takes the arrays as int32."""
import cv2
import numpy as np

from cv_parity import call, function, image

_RANDOM = np.random.default_rng(3)
_GRAY, _COLORS = image(_RANDOM, 24, 31, 1, "uint8", smooth=True), image(_RANDOM, 24, 31, 3, "uint8", smooth=True)
_BITS = ((_GRAY > 120) * 255).astype(np.uint8)
_NUMBERS, _MATRIX = np.array([4, -3, 0, 7, 2, 9, -8, 1, 5]), np.array([[3, -1, 2], [0, 8, 1], [5, 5, -9]])
_CORNERS, _BENT = np.array([[0, 0], [10, 0], [10, 10], [0, 10]]), np.array([[[0, 0]], [[10, 1]], [[12, 8]], [[7, 5]], [[3, 9]], [[1, 4]]])
_CAMERA = np.array([[30, 0, 15], [0, 30, 12], [0, 0, 1]])


_CASES = {}


def _case(name, *args, within=0, **keywords):
    if name not in _CASES:
        function(name, within=within, relative=1e-6)(lambda random: _CASES[name])
    _CASES.setdefault(name, []).append(call(*args, **keywords))


for _name in ("contourArea", "boundingRect", "minAreaRect", "convexHull", "minEnclosingCircle", "moments", "isContourConvex"):
    _case(_name, _CORNERS)
    _case(_name, _BENT)
for _name in ("fitEllipse", "fitEllipseAMS", "fitEllipseDirect"):
    _case(_name, _BENT, within=1e-3)
_case("arcLength", _CORNERS, True)
_case("approxPolyDP", _BENT, 2, True)
_case("pointPolygonTest", _BENT, (4, 4), True)
_case("fitLine", _BENT, cv2.DIST_L2, 0, 0.01, 0.01, within=1e-4)
_case("matchShapes", _CORNERS, _BENT, 1, 0)
_case("convexityDefects", _BENT, cv2.convexHull(_BENT, returnPoints=False).astype(np.int64))
_case("minAreaRect", np.column_stack(np.where(_BITS > 0)))
_case("findHomography", _CORNERS, _CORNERS * 2 + 3, within=1e-6)
_case("estimateAffine2D", _CORNERS, _CORNERS * 2 + 3, within=1e-6)
_case("filter2D", _COLORS, -1, np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]]))
_case("sepFilter2D", _GRAY, cv2.CV_32F, np.array([1, 2, 1]), np.array([1, 0, -1]))
_case("morphologyEx", _BITS, cv2.MORPH_HITMISS, np.array([[0, 1, 0], [-1, 1, 1], [-1, -1, 0]]))
_case("dilate", _GRAY, np.ones((3, 5), int))
_case("undistort", _COLORS, _CAMERA, np.array([0.1, -0.05, 0, 0]), within=1)
_case("warpAffine", _COLORS, np.array([[1, 0, 5], [0, 1, 3]]), (31, 24))
_case("LUT", _COLORS, np.arange(256) * 3 - 7)
_case("norm", _NUMBERS)
_case("norm", (3, 4), (0, 0))
_case("norm", _NUMBERS, _NUMBERS[::-1], cv2.NORM_L1)
for _name in ("countNonZero", "minMaxLoc", "mean", "meanStdDev", "sumElems"):
    _case(_name, _NUMBERS)
_case("normalize", _NUMBERS, None, 0, 1, cv2.NORM_MINMAX, cv2.CV_32F)
_case("inRange", _NUMBERS, 2, 5)
_case("inRange", _COLORS, np.array([10, 20, 30]), np.array([200, 150, 99]))
_case("add", _COLORS, np.array([10, 20, 30]))
_case("add", _MATRIX, _MATRIX)
_case("addWeighted", _NUMBERS, 0.5, _NUMBERS, 0.25, 0)
_case("bitwise_and", _NUMBERS, 3)
_case("convertScaleAbs", _NUMBERS)
_case("flip", _MATRIX, 1)
_case("merge", [_MATRIX, _MATRIX, _MATRIX])
_case("split", np.dstack([_MATRIX, _MATRIX]))
_case("hconcat", [_MATRIX, _MATRIX])
_case("transform", _BENT, np.eye(2))
_case("transform", _COLORS, np.array([[1, 0, 2], [0, 1, 0], [0, 0, 1]]), within=1)
_case("imencode", ".pgm", np.abs(_MATRIX))
_case("resize", np.arange(64).reshape(8, 8), (4, 4))
_case("gemm", _MATRIX, _MATRIX, 1, None, 0)
