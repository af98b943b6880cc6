# SPDX-License-Identifier: Apache-2.0
"""Picture files."""
from __future__ import annotations

import os

from minnow.cv import _common
from minnow._minnow import Var
from minnow._typing import VarLike

IMREAD_UNCHANGED, IMREAD_GRAYSCALE, IMREAD_COLOR = -1, 0, 1


def imread(filename: str | os.PathLike[str], flags: int = IMREAD_COLOR) -> Var:
    """A JPEG or PNG file as a picture: uint8 [height, width, 3], or [height, width] with IMREAD_GRAYSCALE. Where OpenCV gives None, an error
    says why: FileNotFound (a FileNotFoundError), another IoError, InvalidModel (a ValueError) for a damaged file, Unsupported for other formats."""
    return _common.vision.imread(os.fspath(filename), flags)


def imdecode(buf: VarLike, flags: int = IMREAD_COLOR) -> Var:
    """The same from the bytes of a file, or anything with the buffer protocol. Raises InvalidType (a TypeError) for what is neither, InvalidModel (a
    ValueError) for a damaged file, Unsupported for other formats."""
    return _common.vision.imdecode(buf, flags)


__all__ = _common.public(globals())
