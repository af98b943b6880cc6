# SPDX-License-Identifier: Apache-2.0
"""Where pixels lie."""
from __future__ import annotations

from typing import Any, Sequence

from minnow.cv import _common
from minnow.cv._common import MatLike, Point, Scalar, Size

INTER_NEAREST, INTER_LINEAR, INTER_CUBIC, INTER_AREA, INTER_LANCZOS4, INTER_LINEAR_EXACT, INTER_NEAREST_EXACT, INTER_MAX = range(8)
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
    return _common.vision.resize(src, dsize, interpolation, fx, fy, dst)


__all__ = _common.public(globals())
