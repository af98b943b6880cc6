# SPDX-License-Identifier: Apache-2.0
"""Pictures of a training: curves, and a confusion matrix."""
from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

import numpy

from minnow import cv

_COLORS = ((180, 119, 31), (14, 127, 255), (44, 160, 44), (40, 39, 214), (189, 103, 148))  # blue, green, red
_BLACK, _GRAY, _LIGHT = (40, 40, 40), (120, 120, 120), (225, 225, 225)


def _text(picture: Any, text: str, place: tuple[int, int], scale: float = 0.4, color: Any = _BLACK, right: bool = False, middle: bool = False) -> None:
    (width, height), _ = cv.getTextSize(text, cv.FONT_HERSHEY_SIMPLEX, scale, 1)
    x = place[0] - (width if right else width // 2 if middle else 0)
    cv.putText(picture, text, (x, place[1] + height // 2), cv.FONT_HERSHEY_SIMPLEX, scale, color, 1, cv.LINE_AA)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within a range."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-12) / 4))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def curves(panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], across: str = "epoch") -> Any:
    """A picture of panels side by side, each with lines of (x, y) points by name: uint8 [height, width, 3], blue, green, red."""
    width, height, left, top, bottom, right = 460, 340, 62, 34, 46, 16
    whole = numpy.full((height, width * max(1, len(panels)), 3), 255, numpy.uint8)
    for number, (title, lines) in enumerate(panels.items()):
        picture = numpy.full((height, width, 3), 255, numpy.uint8)
        points = [point for line in lines.values() for point in line if math.isfinite(point[1])]
        if points:
            xs, ys = [x for x, _ in points], [y for _, y in points]
            x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
            x1 += x0 == x1
            spare = (y1 - y0) * 0.05 or abs(y0) * 0.05 or 1.0
            y0, y1 = y0 - spare, y1 + spare

            def at(x: float, y: float) -> tuple[int, int]:
                return (int(left + (x - x0) / (x1 - x0) * (width - left - right)), int(height - bottom - (y - y0) / (y1 - y0) * (height - top - bottom)))

            for tick in _ticks(y0, y1):
                cv.line(picture, at(x0, tick), at(x1, tick), _LIGHT)
                _text(picture, f"{tick:.4g}", (left - 6, at(x0, tick)[1]), right=True, color=_GRAY)
            for tick in _ticks(x0, x1):
                _text(picture, f"{tick:.4g}", (at(tick, y0)[0], height - bottom + 14), middle=True, color=_GRAY)
            cv.rectangle(picture, (left, top), (width - right, height - bottom), _GRAY)
            for i, (name, line) in enumerate(lines.items()):
                color = _COLORS[i % len(_COLORS)]
                places = numpy.array([at(x, y) for x, y in line if math.isfinite(y)], numpy.int32).reshape(-1, 1, 2)
                if len(places) > 1:
                    cv.polylines(picture, [places], False, color, 2, cv.LINE_AA)
                for place in places[:, 0] if len(places) <= 40 else places[:0, 0]:
                    cv.circle(picture, (int(place[0]), int(place[1])), 3, color, -1, cv.LINE_AA)
                cv.line(picture, (left + 10 + 110 * i, height - 12), (left + 30 + 110 * i, height - 12), color, 2, cv.LINE_AA)
                _text(picture, name, (left + 36 + 110 * i, height - 12))
        _text(picture, title, (width // 2, 16), 0.5, middle=True)
        _text(picture, across, (width - right, height - bottom + 28), right=True, color=_GRAY)
        whole[:, number * width:(number + 1) * width] = picture
    return whole


def confusion(matrix: Any, names: Sequence[str]) -> Any:
    """A picture of a confusion matrix: rows are true classes, columns predicted ones."""
    count = len(matrix)
    cell = 44 if count <= 12 else max(8, 520 // count)
    named = count <= 40
    left, top = (110 if named else 20), 40
    picture = numpy.full((top + count * cell + (70 if named else 20), left + count * cell + 20, 3), 255, numpy.uint8)
    shares = matrix / numpy.maximum(matrix.sum(1, keepdims=True), 1)
    for i in range(count):
        for j in range(count):
            share = float(shares[i, j])
            color = tuple(int(255 - share * (255 - one)) for one in _COLORS[0])
            corner = (left + j * cell, top + i * cell)
            cv.rectangle(picture, corner, (corner[0] + cell - 1, corner[1] + cell - 1), color, -1)
            if cell >= 30 and matrix[i, j]:
                _text(picture, str(int(matrix[i, j])), (corner[0] + cell // 2, corner[1] + cell // 2), 0.35, (255, 255, 255) if share > 0.5 else _BLACK, middle=True)
        if named:
            _text(picture, str(names[i])[:14], (left - 6, top + i * cell + cell // 2), 0.38, right=True)
            _text(picture, str(names[i])[:max(3, cell // 7)], (left + i * cell + cell // 2, top + count * cell + 12 + 14 * (i % 2)), 0.33, middle=True)
    cv.rectangle(picture, (left - 1, top - 1), (left + count * cell, top + count * cell), _GRAY)
    _text(picture, "rows: true class, columns: predicted", (left, 20), 0.42)
    return picture


def text_of_confusion(matrix: Any, names: Sequence[str]) -> str:
    """The matrix as lines of text."""
    width = max([len(str(int(matrix.max(initial=0)))), 4, len(str(len(names)))])
    name = max(len(str(one)) for one in names) + 1
    lines = [" " * (name + 5) + " ".join(f"{i:>{width}}" for i in range(len(names)))]
    for i, row in enumerate(matrix):
        lines.append(f"{i:>3} {str(names[i]):<{name}} " + " ".join(f"{int(value) or '.':>{width}}" for value in row))
    return "\n".join(lines)
