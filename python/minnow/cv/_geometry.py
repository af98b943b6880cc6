# SPDX-License-Identifier: Apache-2.0
"""Where pixels lie."""
from __future__ import annotations

from typing import Any, Sequence

from minnow.cv import _common
from minnow._minnow import InvalidArgument, Var
from minnow._typing import VarLike

INTER_NEAREST, INTER_LINEAR = 0, 1


def resize(src: VarLike, dsize: Sequence[Any] | None, dst: None = None, fx: float = 0, fy: float = 0, interpolation: int = INTER_LINEAR) -> Var:
    """The picture with `dsize` = (width, height) pixels, or `fx` and `fy` times as many where that is None; uint8 or float32, as it was. Raises
    InvalidArgument (a ValueError) for what is no picture and no size. Source: OpenCV's resize(), whose numbers these are for uint8.

    >>> cv.resize(minnow.Var([[10, 30]], "uint8"), (4, 1))
    Var([[10, 15, 25, 30]], shape=(1, 4), dtype=uint8)
    """
    if dst is not None:
        raise InvalidArgument("resize gives a new picture; leave dst out")
    if dsize is None or (isinstance(dsize, (list, tuple)) and tuple(dsize) == (0, 0)):
        height, width = (src if isinstance(src, Var) else Var(src)).shape[:2]
        if not (0 < fx < 2**31 and 0 < fy < 2**31):
            raise InvalidArgument("resize takes a size (width, height), or fx and fy")
        dsize = (round(width * fx), round(height * fy))
    try:
        width, height = (int(size) for size in dsize)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"resize takes a size (width, height), not {dsize!r}") from None
    return _common.vision.resize(src, width, height, interpolation)


__all__ = _common.public(globals())
