# SPDX-License-Identifier: Apache-2.0
"""Lines, shapes and text drawn into pictures.

Functions draw into `img` itself (a Var gets another value) and give it back. Pictures have 1 to 4 channels of any dtype; `color` is a number
or one for each channel. Parts beyond the picture are left out. Antialiased lines (LINE_AA) are for uint8 alone, other dtypes get LINE_8."""
from __future__ import annotations

from typing import Any, Sequence, overload

from minnow.cv import _common
from minnow.cv._common import InvalidType, MatLike, Point, Scalar, Size, Var

FILLED = -1
LINE_4, LINE_8, LINE_AA = 4, 8, 16
MARKER_CROSS, MARKER_TILTED_CROSS, MARKER_STAR, MARKER_DIAMOND, MARKER_SQUARE, MARKER_TRIANGLE_UP, MARKER_TRIANGLE_DOWN = range(7)
(FONT_HERSHEY_SIMPLEX, FONT_HERSHEY_PLAIN, FONT_HERSHEY_DUPLEX, FONT_HERSHEY_COMPLEX, FONT_HERSHEY_TRIPLEX, FONT_HERSHEY_COMPLEX_SMALL,
 FONT_HERSHEY_SCRIPT_SIMPLEX, FONT_HERSHEY_SCRIPT_COMPLEX) = range(8)
FONT_ITALIC = 16


def line(img: MatLike, pt1: Point, pt2: Point, color: Scalar, thickness: int = 1, lineType: int = LINE_8, shift: int = 0) -> Var:
    """A line between two points (x, y), whose coordinates have `shift` fractional bits. Raises InvalidArgument for a thickness beyond 0 to 32767,
    a shift beyond 0 to 16 and unknown line types.

    >>> cv.line(minnow.Var([[0, 0, 0], [0, 0, 0]], "uint8"), (0, 0), (2, 1), 7)
    Var([[7, 7, 0],
         [0, 0, 7]], shape=(2, 3), dtype=uint8)
    """
    return _common.vision.line(img, pt1, pt2, color, thickness, lineType, shift)


def arrowedLine(img: MatLike, pt1: Point, pt2: Point, color: Scalar, thickness: int = 1, line_type: int = LINE_8, shift: int = 0,
                tipLength: float = 0.1) -> Var:
    """A line with the tip of an arrow at `pt2`, as long as `tipLength` times the line.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.arrowedLine(img, pt1, pt2, color, thickness, line_type, shift, tipLength)


@overload
def rectangle(img: MatLike, pt1: Point, pt2: Point, color: Scalar, thickness: int = 1, lineType: int = LINE_8, shift: int = 0) -> Var: ...
@overload
def rectangle(img: MatLike, rec: Sequence[int], color: Scalar, thickness: int = 1, lineType: int = LINE_8, shift: int = 0) -> Var: ...
def rectangle(img: MatLike, *args: Any, **keywords: Any) -> Var:
    """A rectangle between two opposite corners `pt1` and `pt2`, both within it, or `rec` = (x, y, width, height). A negative thickness fills it.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    if "rec" in keywords or args and len(args[0]) == 4:
        return _rectangle_within(img, *args, **keywords)
    return _rectangle(img, *args, **keywords)


def _rectangle(img: MatLike, pt1: Point, pt2: Point, color: Scalar, thickness: int = 1, lineType: int = LINE_8, shift: int = 0) -> Var:
    return _common.vision.rectangle(img, pt1, pt2, color, thickness, lineType, shift)


def _rectangle_within(img: MatLike, rec: Sequence[int], color: Scalar, thickness: int = 1, lineType: int = LINE_8, shift: int = 0) -> Var:
    return _common.vision.rectangle_within(img, rec, color, thickness, lineType, shift)


def circle(img: MatLike, center: Point, radius: int, color: Scalar, thickness: int = 1, lineType: int = LINE_8, shift: int = 0) -> Var:
    """A circle, filled where the thickness is negative. Raises InvalidArgument for a radius beyond 0 to 2**26."""
    return _common.vision.circle(img, center, radius, color, thickness, lineType, shift)


@overload
def ellipse(img: MatLike, center: Point, axes: Size, angle: float, startAngle: float, endAngle: float, color: Scalar, thickness: int = 1,
            lineType: int = LINE_8, shift: int = 0) -> Var: ...
@overload
def ellipse(img: MatLike, box: Sequence[Any], color: Scalar, thickness: int = 1, lineType: int = LINE_8) -> Var: ...
def ellipse(img: MatLike, *args: Any, **keywords: Any) -> Var:
    """An arc of an ellipse with half axes `axes`, turned by `angle` degrees; a negative thickness fills its sector. Or the ellipse within a
    rotated rectangle `box` = ((x, y), (width, height), angle), as minAreaRect and fitEllipse give it.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    if "box" in keywords or args and len(args[0]) == 3:
        return _ellipse_within(img, *args, **keywords)
    return _ellipse(img, *args, **keywords)


def _ellipse(img: MatLike, center: Point, axes: Size, angle: float, startAngle: float, endAngle: float, color: Scalar, thickness: int = 1,
             lineType: int = LINE_8, shift: int = 0) -> Var:
    return _common.vision.ellipse(img, center, axes, angle, startAngle, endAngle, color, thickness, lineType, shift)


def _ellipse_within(img: MatLike, box: Sequence[Any], color: Scalar, thickness: int = 1, lineType: int = LINE_8) -> Var:
    try:
        center, size, angle = box
    except (TypeError, ValueError):
        raise InvalidType(f"ellipse takes a rotated rectangle ((x, y), (width, height), angle), not {box!r}") from None
    return _common.vision.ellipse_within(img, center, size, angle, color, thickness, lineType)


def polylines(img: MatLike, pts: Sequence[MatLike], isClosed: bool, color: Scalar, thickness: int = 1, lineType: int = LINE_8,
              shift: int = 0) -> Var:
    """Lines along points: a list of int32 arrays [n, 2] or [n, 1, 2], each closed if `isClosed`.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.polylines(img, pts, isClosed, color, thickness, lineType, shift)


def fillPoly(img: MatLike, pts: Sequence[MatLike], color: Scalar, lineType: int = LINE_8, shift: int = 0, offset: Point = (0, 0)) -> Var:
    """Fills the area that polygons surround an odd number of times: a list of int32 arrays [n, 2] or [n, 1, 2], moved by `offset`. Raises
    InvalidArgument for an empty one."""
    return _common.vision.fillPoly(img, pts, color, lineType, shift, offset)


def fillConvexPoly(img: MatLike, points: MatLike, color: Scalar, lineType: int = LINE_8, shift: int = 0) -> Var:
    """Fills a convex polygon, or one that each row meets in one piece: int32 [n, 2] or [n, 1, 2]. Quicker than fillPoly.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.fillConvexPoly(img, points, color, lineType, shift)


def drawContours(image: MatLike, contours: Sequence[MatLike], contourIdx: int, color: Scalar, thickness: int = 1, lineType: int = LINE_8,
                 hierarchy: MatLike | None = None, maxLevel: int = 2147483647, offset: Point = (0, 0)) -> Var:
    """Contours as findContours gives them: all of them where `contourIdx` is negative, else this one; a negative thickness fills them. With
    `hierarchy` (int32 [1, n, 4]) those within, up to level `maxLevel`.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    rows = () if hierarchy is None else hierarchy
    return _common.vision.drawContours(image, contours, contourIdx, color, thickness, lineType, rows, maxLevel, offset)


def drawMarker(img: MatLike, position: Point, color: Scalar, markerType: int = MARKER_CROSS, markerSize: int = 20, thickness: int = 1,
               line_type: int = LINE_8) -> Var:
    """A mark (MARKER_CROSS, MARKER_STAR ...) of `markerSize` pixels around a point.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.drawMarker(img, position, color, markerType, markerSize, thickness, line_type)


def clipLine(imgRect: Sequence[int], pt1: Point, pt2: Point) -> tuple[bool, tuple[int, int], tuple[int, int]]:
    """Whether a line meets the rectangle (x, y, width, height), and the ends of what lies within it.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.clipLine((0, 0, 10, 10), (-5, 5), (20, 5))
    (True, (0, 5), (9, 5))
    """
    return _common.vision.clipLine(imgRect, pt1, pt2)


def ellipse2Poly(center: Point, axes: Size, angle: int, arcStart: int, arcEnd: int, delta: int) -> Var:
    """Points along an arc, one each `delta` degrees (1 to 180): int32 [n, 2].
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.ellipse2Poly(center, axes, angle, arcStart, arcEnd, delta).numpy()


def putText(img: MatLike, text: str, org: Point, fontFace: int, fontScale: float, color: Scalar, thickness: int = 1, lineType: int = LINE_8,
            bottomLeftOrigin: bool = False) -> Var:
    """Text in a font of A. V. Hershey (FONT_HERSHEY_SIMPLEX ..., some have italic letters with FONT_ITALIC added); `org` is the left end of its
    base line. Fonts have the printable characters of ASCII, FONT_HERSHEY_COMPLEX has Cyrillic letters; others become question marks.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.putText(img, text, org, fontFace, fontScale, color, thickness, lineType, bottomLeftOrigin)


def getTextSize(text: str, fontFace: int, fontScale: float, thickness: int) -> tuple[tuple[int, int], int]:
    """The width and height in pixels that putText() fills above the base line, and how far it reaches below.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit.

    >>> cv.getTextSize("minnow", cv.FONT_HERSHEY_SIMPLEX, 1, 2)
    ((119, 22), 10)
    """
    return _common.vision.getTextSize(text, fontFace, fontScale, thickness)


def getFontScaleFromHeight(fontFace: int, pixelHeight: int, thickness: int = 1) -> float:
    """The scale at which text is `pixelHeight` pixels high.
    Raises InvalidArgument (a ValueError) or Unsupported for arrays and numbers that do not fit."""
    return _common.vision.getFontScaleFromHeight(fontFace, pixelHeight, thickness)


def draw_detections(img: MatLike, boxes: MatLike, labels: Sequence[str] | None = None, scores: MatLike | None = None, keypoints: MatLike | None = None,
                    masks: MatLike | None = None, *, classes: MatLike | None = None, thickness: int = 0, font_scale: float = 0.0,
                    mask_opacity: float = 0.4, least_score: float = 0.0, least_keypoint: float = 0.0,
                    colors: Sequence[Sequence[float]] | None = None, skeleton: Sequence[tuple[int, int]] = ()) -> Var:
    """Draws what a network found into a picture, uint8 of 1, 3 or 4 channels: `boxes` [n, 4] are (x1, y1, x2, y2) in pixels.

    `classes` [n] choose the colours, and `labels` are the names of the classes; without classes each box has a label of its own. `scores` [n] are
    written behind them; boxes below `least_score` are left out. `keypoints` [n, k, 2], or [n, k, 3] with the score of each, are joined as
    `skeleton`, pairs of their numbers, says. `masks` [n, height, width] of the picture's size, uint8 or bool where they are not 0, floats from 0.5 on, are
    blended with `mask_opacity`. Thickness and font follow the picture's size where they are 0. `colors` are blue, green, red, for each class. Raises
    InvalidArgument for what does not fit together.
    """
    flat = [value for color in colors or () for value in (*color, 255, 255, 255)[:4]]
    pairs = [point for pair in skeleton for point in pair]
    kinds = None if classes is None else Var(classes, "int32")
    return _common.vision.draw_detections(img, boxes, kinds, list(labels or ()), scores, keypoints, masks, thickness, font_scale,
                                          mask_opacity, least_score, least_keypoint, flat, pairs)


__all__ = _common.public(globals())
