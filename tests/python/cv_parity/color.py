# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2

from . import call, function, images


@function("cvtColor")
def channels(random):
    for code in (cv2.COLOR_BGR2RGB, cv2.COLOR_BGR2RGBA, cv2.COLOR_BGR2GRAY, cv2.COLOR_RGB2GRAY):
        for picture in images(random, dtypes=("uint8",), channels=(3,)):
            yield call(picture, code)
