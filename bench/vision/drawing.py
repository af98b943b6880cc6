# SPDX-License-Identifier: Apache-2.0
import numpy as np

from vision import row

BLUE = (255, 30, 10)


@row("line", most_used=True)
def line(cv, p):
    picture = p.color.copy()
    return lambda: cv.line(picture, (3, 5), (p.width - 7, p.height - 20), BLUE, 2)


@row("line antialiased")
def smooth(cv, p):
    picture = p.color.copy()
    return lambda: cv.line(picture, (3, 5), (p.width - 7, p.height - 20), BLUE, 1, cv.LINE_AA)


@row("rectangle", most_used=True)
def rectangle(cv, p):
    picture = p.color.copy()
    return lambda: cv.rectangle(picture, (10, 10), (p.width - 10, p.height - 10), BLUE, 2)


@row("rectangle filled")
def filled(cv, p):
    picture = p.color.copy()
    return lambda: cv.rectangle(picture, (10, 10), (p.width - 10, p.height - 10), BLUE, -1)


@row("circle filled")
def circle(cv, p):
    picture = p.color.copy()
    return lambda: cv.circle(picture, (p.width // 2, p.height // 2), p.height // 3, BLUE, -1)


@row("ellipse")
def ellipse(cv, p):
    picture = p.color.copy()
    return lambda: cv.ellipse(picture, (p.width // 2, p.height // 2), (p.width // 3, p.height // 3), 30, 0, 360, BLUE, 2)


@row("fillPoly")
def fill_poly(cv, p):
    picture = p.color.copy()
    points = np.random.default_rng(1).integers(0, (p.width, p.height), (40, 2)).astype(np.int32)
    return lambda: cv.fillPoly(picture, [points], BLUE)


@row("putText", most_used=True)
def text(cv, p):
    picture = p.color.copy()
    return lambda: cv.putText(picture, "minnow 0.97", (20, 100), cv.FONT_HERSHEY_SIMPLEX, 1, BLUE, 2)
