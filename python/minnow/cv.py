# SPDX-License-Identifier: Apache-2.0
"""Pictures, with OpenCV's names: a picture is [height, width, channels], its colours blue, green, red."""
from __future__ import annotations

import os
from typing import Any, Sequence

from minnow import _minnow
from minnow._functions import all_suggesting as _all_suggesting
from minnow._minnow import InvalidArgument, Var
from minnow._typing import VarLike

IMREAD_UNCHANGED, IMREAD_GRAYSCALE, IMREAD_COLOR = -1, 0, 1
INTER_NEAREST, INTER_LINEAR = 0, 1
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


def imread(filename: str | os.PathLike[str], flags: int = IMREAD_COLOR) -> Var:
    """A JPEG or PNG file as a picture: uint8 [height, width, 3], or [height, width] with IMREAD_GRAYSCALE. Where OpenCV gives None, an error
    says why: FileNotFound (a FileNotFoundError), another IoError, InvalidModel (a ValueError) for a damaged file, Unsupported for other formats."""
    return _minnow.imread(os.fspath(filename), flags)


def imdecode(buf: VarLike, flags: int = IMREAD_COLOR) -> Var:
    """The same from the bytes of a file, or anything with the buffer protocol. Raises InvalidType (a TypeError) for what is neither, InvalidModel (a
    ValueError) for a damaged file, Unsupported for other formats."""
    return _minnow.imdecode(buf, flags)


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
    return _minnow.resize(src, width, height, interpolation)


def cvtColor(src: VarLike, code: int, dst: None = None, dstCn: int = 0) -> Var:
    """The picture in other colours: COLOR_BGR2RGB, COLOR_BGR2GRAY ... Raises InvalidArgument (a ValueError) for a code that is not there, or a
    picture of other channels. Source: ITU-R BT.601 for the weights of grey.

    >>> cv.cvtColor(minnow.Var([[[255, 0, 0], [0, 0, 255]]], "uint8"), cv.COLOR_BGR2GRAY)
    Var([[29, 76]], shape=(1, 2), dtype=uint8)
    """
    if dst is not None or dstCn:
        raise InvalidArgument("cvtColor gives a new picture of the channels that the code says; leave dst and dstCn out")
    return _minnow.cvt_color(src, code)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"minnow.cv has no {name!r} (yet); it has imread, imdecode, resize and cvtColor")


_all_suggesting(globals(), ("imread", "imdecode"))  # which make Vars of files
_all_suggesting(globals(), ("resize", "cvtColor"), arrays=True)
