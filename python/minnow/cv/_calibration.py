# SPDX-License-Identifier: Apache-2.0
"""Cameras, homographies and other geometry of points."""
from __future__ import annotations

from typing import Any

from minnow.cv import _common
from minnow.cv._common import MatLike

_vision = _common.vision

LMEDS, RANSAC, RHO = 4, 8, 16


def findHomography(srcPoints: MatLike, dstPoints: MatLike, method: int = 0, ransacReprojThreshold: float = 3, mask: None = None, maxIters: int = 2000, confidence: float = 0.995) -> Any:
    """(homography, mask): the float64 [3, 3] that takes four or more points [n, 2] or [n, 1, 2] to others, and uint8 [n, 1] with 1 for those that
    it fits; (None, mask) where there is none. `method`: 0 for all points, RANSAC or LMEDS. Sources: R. Hartley, In defense of the eight-point
    algorithm (1997); M. Fischler and R. Bolles, Random sample consensus (1981); P. Rousseeuw, Least median of squares regression (1984)."""
    return _vision.findHomography(srcPoints, dstPoints, method, ransacReprojThreshold, maxIters, confidence, 10)


def estimateAffine2D(from_: MatLike, to: MatLike, inliers: None = None, method: int = RANSAC, ransacReprojThreshold: float = 3, maxIters: int = 2000, confidence: float = 0.99, refineIters: int = 10) -> Any:
    """(map, inliers): the affine float64 [2, 3] that takes three or more points [n, 2] or [n, 1, 2] to others, and uint8 [n, 1] with 1 for those
    that it fits; (None, inliers) where there is none. `method`: RANSAC or LMEDS."""
    return _vision.estimateAffine2D(from_, to, method, ransacReprojThreshold, maxIters, confidence, refineIters)


def estimateAffinePartial2D(from_: MatLike, to: MatLike, inliers: None = None, method: int = RANSAC, ransacReprojThreshold: float = 3, maxIters: int = 2000, confidence: float = 0.99, refineIters: int = 10) -> Any:
    """The same for a turn, a scale and a shift, of two or more points."""
    return _vision.estimateAffinePartial2D(from_, to, method, ransacReprojThreshold, maxIters, confidence, refineIters)


__all__ = _common.public(globals())
