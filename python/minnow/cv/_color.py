# SPDX-License-Identifier: Apache-2.0
"""Pictures in other colours."""
from __future__ import annotations

from minnow.cv import _common
from minnow._minnow import InvalidArgument, Var
from minnow._typing import VarLike

COLOR_BGR2BGRA = COLOR_RGB2RGBA = 0
COLOR_BGRA2BGR = COLOR_RGBA2RGB = 1
COLOR_BGR2RGBA = COLOR_RGB2BGRA = 2
COLOR_RGBA2BGR = COLOR_BGRA2RGB = 3
COLOR_BGR2RGB = COLOR_RGB2BGR = 4
COLOR_BGRA2RGBA = COLOR_RGBA2BGRA = 5
COLOR_BGR2GRAY = 6
COLOR_RGB2GRAY = 7
COLOR_GRAY2BGR = COLOR_GRAY2RGB = 8
COLOR_GRAY2BGRA = COLOR_GRAY2RGBA = 9
COLOR_BGRA2GRAY = 10
COLOR_RGBA2GRAY = 11


def cvtColor(src: VarLike, code: int, dst: None = None, dstCn: int = 0) -> Var:
    """The picture in other colours: COLOR_BGR2RGB, COLOR_BGR2GRAY ... Raises InvalidArgument (a ValueError) for a code that is not there, or a
    picture of other channels. Source: ITU-R BT.601 for the weights of grey.

    >>> cv.cvtColor(minnow.Var([[[255, 0, 0], [0, 0, 255]]], "uint8"), cv.COLOR_BGR2GRAY)
    Var([[29, 76]], shape=(1, 2), dtype=uint8)
    """
    if dst is not None or dstCn:
        raise InvalidArgument("cvtColor gives a new picture of the channels that the code says; leave dst and dstCn out")
    return _common.vision.cvt_color(src, code)


__all__ = _common.public(globals())
