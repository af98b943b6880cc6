# SPDX-License-Identifier: Apache-2.0
"""Text in TrueType and OpenType fonts, with the names of OpenCV's freetype module. The library FreeType (libfreetype.so.6) is looked for when a
font is loaded."""
from __future__ import annotations

from typing import Any

from minnow.cv import _common
from minnow.cv._common import MatLike, Point, Scalar

_vision = _common.vision


class FreeType2:
    """Draws text in the font that loadFontData() has read.

    >>> font = cv.freetype.createFreeType2()
    >>> font.loadFontData("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")  # doctest: +SKIP
    >>> font.putText(picture, "Grüße", (10, 40), 30, (255, 255, 255), -1, cv.LINE_AA, True)  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self._font: Any = None

    def loadFontData(self, fontFileName: str | bytes, idx: int = 0) -> None:
        """Reads face `idx` of a font: a file's name, or its bytes.
        Raises FileError (an OSError) where the file or FreeType is missing, InvalidArgument for a file that is no font."""
        self._font = _vision.open_font(fontFileName, idx)

    def setSplitNumber(self, num: int) -> None:
        """Does nothing: curves are drawn as such, not as `num` lines. Raises nothing."""

    def putText(self, img: MatLike, text: str, org: Point, fontHeight: int, color: Scalar, thickness: int, line_type: int, bottomLeftOrigin: bool) -> Any:
        """Draws text into a picture [height, width] or [height, width, channels] of any dtype, in place, and returns it. `fontHeight` is in pixels;
        a negative thickness fills the characters, others draw their outlines so thick. With LINE_AA characters are blended into uint8.
        `org`: the upper left corner of the text, or with `bottomLeftOrigin` the left end of its base line.
        Raises InvalidArgument before a font is loaded, and for a height outside of 1 to 4096."""
        return _vision.font_put_text(self._loaded(), img, text, org, fontHeight, color, thickness, line_type, bottomLeftOrigin)

    def getTextSize(self, text: str, fontHeight: int, thickness: int) -> tuple[tuple[int, int], int]:
        """The width and height in pixels that the text fills above its base line, and how far it reaches below.
        Raises InvalidArgument before a font is loaded, and for a height outside of 1 to 4096."""
        return _vision.font_text_size(self._loaded(), text, fontHeight, thickness)

    def _loaded(self) -> Any:
        if self._font is None:
            raise _common.InvalidArgument("freetype: loadFontData() has not read a font yet")
        return self._font


def createFreeType2() -> FreeType2:
    """A FreeType2 without a font. Raises nothing; loadFontData() does where FreeType is missing."""
    return FreeType2()


__all__ = _common.public(globals())
