# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import SIZES, call, function, image, images

DTYPES = ("uint8", "uint16", "int16", "float32", "float64")
ALL = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
TARGETS = ((1, 1), (7, 3), (40, 50), (33, 64), (130, 35))  # (width, height)


@function("resize")
def resize_nearest(random):
    for picture in images(random, dtypes=ALL, channels=(1, 3, 4)):
        for size in TARGETS:
            yield call(picture, size, interpolation=cv2.INTER_NEAREST)
            yield call(picture, size, interpolation=cv2.INTER_NEAREST_EXACT)
    picture = image(random, 31, 45, 3, "uint8")
    for fx, fy in ((0.5, 0.5), (0.3, 1.7), (2, 2), (3.3, 0.11)):
        yield call(picture, None, fx=fx, fy=fy, interpolation=cv2.INTER_NEAREST)


def resize_cases(random, dtypes, interpolations):
    for picture in images(random, dtypes=dtypes, channels=(1, 2, 3, 4)):
        for size in TARGETS + ((max(1, picture.shape[1] // 2), max(1, picture.shape[0] // 2)), (max(1, picture.shape[1] // 3), max(1, picture.shape[0] // 4))):
            for interpolation in interpolations:
                yield call(picture, size, interpolation=interpolation)
    for dtype in dtypes:
        picture = image(random, 31, 45, 3, dtype)
        for fx, fy in ((0.5, 0.5), (0.3, 1.7), (2, 2), (3.3, 0.11), (0.25, 0.25)):
            if fx == 0.5 and dtype in ("int8", "int32"):
                continue  # an error in OpenCV alone
            for interpolation in interpolations:
                yield call(picture, None, fx=fx, fy=fy, interpolation=interpolation)
    for dtype in dtypes:
        for channels in (1, 3):
            for interpolation in interpolations:
                if dtype not in ("int8", "int32"):
                    yield call(image(random, 30, 74, channels, dtype), (37, 15), interpolation=interpolation)
        picture = image(random, 301, 417, 3, dtype, smooth=True)
        for size in ((224, 224), (640, 400), (30, 20), (417, 100)):
            for interpolation in interpolations:
                yield call(picture, size, interpolation=interpolation)


@function("resize", within=1)
def resize_integers(random):
    yield from resize_cases(random, ("uint8", "uint16", "int16"), (cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA, cv2.INTER_LANCZOS4, cv2.INTER_LINEAR_EXACT))
    yield from resize_cases(random, ("int8", "int32"), (cv2.INTER_LINEAR_EXACT,))
    for picture in images(random, sizes=((5, 6),), dtypes=("int8", "int32")):
        yield call(picture, (7, 7))
    yield call(image(random, 20, 30, 7, "uint8"), (13, 50))
    yield call(image(random, 20, 30, 40, "uint8"), (13, 50), interpolation=cv2.INTER_CUBIC)
    for size in ((0, 0), (-1, 5), (0, 7)):
        yield call(image(random, 5, 6, 3, "uint8"), size)
    yield call(image(random, 5, 6, 3, "uint8"), (3, 3), interpolation=9)
    yield call(np.zeros((0, 5, 3), np.uint8), (3, 3))


@function("resize", relative=1e-4)
def resize_floats(random):
    yield from resize_cases(random, ("float32", "float64"), (cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA, cv2.INTER_LANCZOS4, cv2.INTER_LINEAR_EXACT))
