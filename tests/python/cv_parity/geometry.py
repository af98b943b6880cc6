# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2

from . import call, function, images

FLOATS = ("float32",)


@function("resize")
def resize_nearest(random):
    for picture in images(random, dtypes=("uint8", "uint16", "float32"), channels=(1, 3, 4)):
        for size in ((1, 1), (7, 3), (40, 50)):
            yield call(picture, size, interpolation=cv2.INTER_NEAREST)
