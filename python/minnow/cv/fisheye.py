# SPDX-License-Identifier: Apache-2.0
"""Lenses of a wide angle, with OpenCV's names. The distance from the centre is a polynomial of the angle, whose four numbers are `D`; `K` is the
camera's matrix [3, 3]. Source: J. Kannala and S. Brandt, "A generic camera model and calibration method for conventional, wide-angle, and fish-eye
lenses", 2006."""
from __future__ import annotations

from typing import Any

from minnow.cv import _common
from minnow.cv._common import MatLike, Size

_vision = _common.vision


def _numbers(values: Any) -> Any:
    return [] if values is None else values


def distortPoints(undistorted: MatLike, K: MatLike, D: MatLike, distorted: MatLike | None = None, alpha: float = 0) -> Any:
    """Pixels of directions (x, y), float32 or float64 [n, 1, 2]. `alpha`: the skew.
    Raises InvalidArgument for points or a camera of other shapes."""
    return _vision.fisheye_distortPoints(undistorted, K, D, alpha)


def undistortPoints(distorted: MatLike, K: MatLike, D: MatLike, undistorted: MatLike | None = None, R: MatLike | None = None, P: MatLike | None = None,
                    criteria: Any = (3, 10, 1e-8)) -> Any:
    """Directions (x, y) of pixels, turned by `R`, and with the camera `P` pixels again; -1000000 for pixels beyond what the lens sees.
    Raises InvalidArgument for points or a camera of other shapes."""
    return _vision.fisheye_undistortPoints(distorted, K, D, _numbers(R), _numbers(P), *criteria)


def initUndistortRectifyMap(K: MatLike, D: MatLike | None, R: MatLike | None, P: MatLike | None, size: Size, m1type: int, map1: MatLike | None = None,
                            map2: MatLike | None = None) -> tuple[Any, Any]:
    """Maps for remap() that take the distortion away: CV_16SC2 or CV_32FC1.
    Raises InvalidArgument for a camera of another shape or another kind of map."""
    dtype = _common.dtype_of(m1type, "fisheye.initUndistortRectifyMap") if m1type > 0 else None
    return _vision.fisheye_initUndistortRectifyMap(K, _numbers(D), _numbers(R), _numbers(P), size, dtype, (int(m1type) >> 3) + 1)


def undistortImage(distorted: MatLike, K: MatLike, D: MatLike, undistorted: MatLike | None = None, Knew: MatLike | None = None,
                   new_size: Size | None = None) -> Any:
    """The picture without the distortion, as the camera `Knew` shows it. Raises InvalidArgument for a camera of another shape."""
    return _vision.fisheye_undistortImage(distorted, K, D, _numbers(Knew), new_size, undistorted)


def estimateNewCameraMatrixForUndistortRectify(K: MatLike, D: MatLike, image_size: Size, R: MatLike | None, P: MatLike | None = None, balance: float = 0,
                                               new_size: Size | None = None, fov_scale: float = 1) -> Any:
    """A camera that shows valid pixels alone (balance 0), all source pixels (1) or between.
    Raises InvalidArgument for a camera of another shape or an empty size."""
    return _vision.fisheye_estimateNewCameraMatrix(K, D, image_size, _numbers(R), balance, new_size, fov_scale)


__all__ = _common.public(globals())
