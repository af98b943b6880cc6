# SPDX-License-Identifier: Apache-2.0
"""Picture files: JPEG, PNG, WebP, BMP, and PBM, PGM and PPM."""
from __future__ import annotations

import os
from typing import Any, Sequence

from minnow.cv import _common
from minnow.cv._common import MatLike
from minnow._minnow import FileNotFound, InvalidModel, InvalidType, IoError, Unsupported, Var
from minnow._typing import VarLike

IMREAD_UNCHANGED, IMREAD_GRAYSCALE, IMREAD_COLOR, IMREAD_ANYDEPTH, IMREAD_ANYCOLOR = -1, 0, 1, 2, 4
IMREAD_COLOR_BGR, IMREAD_COLOR_RGB, IMREAD_IGNORE_ORIENTATION = 1, 256, 128
IMREAD_REDUCED_GRAYSCALE_2, IMREAD_REDUCED_GRAYSCALE_4, IMREAD_REDUCED_GRAYSCALE_8 = 16, 32, 64
IMREAD_REDUCED_COLOR_2, IMREAD_REDUCED_COLOR_4, IMREAD_REDUCED_COLOR_8 = 17, 33, 65

(IMWRITE_JPEG_QUALITY, IMWRITE_JPEG_PROGRESSIVE, IMWRITE_JPEG_OPTIMIZE, IMWRITE_JPEG_RST_INTERVAL, IMWRITE_JPEG_LUMA_QUALITY,
 IMWRITE_JPEG_CHROMA_QUALITY, IMWRITE_JPEG_SAMPLING_FACTOR) = range(1, 8)
IMWRITE_JPEG_SAMPLING_FACTOR_411, IMWRITE_JPEG_SAMPLING_FACTOR_420, IMWRITE_JPEG_SAMPLING_FACTOR_422 = 0x411111, 0x221111, 0x211111
IMWRITE_JPEG_SAMPLING_FACTOR_440, IMWRITE_JPEG_SAMPLING_FACTOR_444 = 0x121111, 0x111111
IMWRITE_PNG_COMPRESSION, IMWRITE_PNG_STRATEGY, IMWRITE_PNG_BILEVEL, IMWRITE_PNG_FILTER = 16, 17, 18, 19
(IMWRITE_PNG_STRATEGY_DEFAULT, IMWRITE_PNG_STRATEGY_FILTERED, IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY, IMWRITE_PNG_STRATEGY_RLE,
 IMWRITE_PNG_STRATEGY_FIXED) = range(5)
IMWRITE_PNG_FILTER_NONE, IMWRITE_PNG_FILTER_SUB, IMWRITE_PNG_FILTER_UP, IMWRITE_PNG_FILTER_AVG, IMWRITE_PNG_FILTER_PAETH = 8, 16, 32, 64, 128
IMWRITE_PNG_FAST_FILTERS, IMWRITE_PNG_ALL_FILTERS = 56, 248
IMWRITE_PXM_BINARY, IMWRITE_WEBP_QUALITY = 32, 64


def _path(filename: Any) -> str | bytes:
    try:
        return os.fspath(filename)
    except TypeError:
        raise InvalidType(f"filename: a path is text or a path-like object, not {type(filename).__name__}") from None


def imread(filename: str | os.PathLike[str], flags: int = IMREAD_COLOR) -> Any:
    """A JPEG, PNG, WebP, BMP, PBM, PGM or PPM file as a picture, an array of NumPy (a Var where NumPy is not installed): uint8 [height, width, 3], blue,
    green, red; [height, width] with IMREAD_GRAYSCALE, as the file is with IMREAD_UNCHANGED. Where OpenCV gives None, an error says why: FileNotFound (a
    FileNotFoundError), another IoError, InvalidModel (a ValueError) for a damaged file, Unsupported for other formats."""
    return _common.arrays(_common.vision.imread(_path(filename), flags))


def imdecode(buf: VarLike, flags: int = IMREAD_COLOR) -> Any:
    """The same from the bytes of a file, or anything with the buffer protocol; of a Var a Var. Where OpenCV gives None, it raises InvalidModel (a
    ValueError) for a damaged file, Unsupported for other formats; InvalidType (a TypeError) for what has no bytes."""
    picture = _common.vision.imdecode(buf, flags)
    return picture if isinstance(buf, Var) else _common.arrays(picture)


def imwrite(filename: str | os.PathLike[str], img: MatLike, params: Sequence[int] = ()) -> bool:
    """Writes a picture of 1 or 3 channels (for PNG, WebP, BMP and JPEG, which leaves alpha out, also 4) in the format of the name's suffix. It is
    uint8, for PNG, PGM and PPM also uint16; other dtypes are rounded to uint8. `params`: pairs such as (IMWRITE_JPEG_QUALITY, 90). The file
    appears whole or not at all. Gives True; where OpenCV gives False, raises IoError for a place that cannot be written, Unsupported for other formats."""
    _common.vision.imwrite(_path(filename), img, params)
    return True


def imencode(ext: str, img: MatLike, params: Sequence[int] = ()) -> tuple[bool, Var]:
    """True and the bytes of the file that imwrite() would write, uint8 [n]; `ext` is the suffix (".png").
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return True, _common.arrays(_common.vision.imencode(ext, img, params))


def haveImageReader(filename: str | os.PathLike[str]) -> bool:
    """Whether the file is there and begins like a format that imread() knows.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.haveImageReader(_path(filename))


def haveImageWriter(filename: str | os.PathLike[str]) -> bool:
    """Whether imwrite() knows the name's suffix.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.haveImageWriter(_path(filename))


def imcount(filename: str | os.PathLike[str], flags: int = IMREAD_COLOR) -> int:
    """How many pictures a file has: 1 where it can be read, else 0. Formats with more of them are not read.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    try:
        _common.vision.imread(_path(filename), flags)
    except (FileNotFound, InvalidModel, IoError, Unsupported):
        return 0
    return 1


__all__ = _common.public(globals())
