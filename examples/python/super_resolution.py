# SPDX-License-Identifier: Apache-2.0
"""A picture three times as large: python super_resolution.py ESPCN_x3.pb PICTURE

The picture is made small first, so that the result can be compared with what it was: in decibels, and beside plain interpolation.
"""
import math
import sys

import minnow
from minnow import Var, cv, expr

model = minnow.load(sys.argv[1])  # a frozen TensorFlow graph
grey = cv.imread(sys.argv[2], cv.IMREAD_GRAYSCALE)
height, width = (size // 3 * 3 for size in grey.shape[:2])
original = grey[:height, :width].reshape(height, width)
small = expr.average_pool(original.astype("float32")[None, None] / 255.0, [3, 3], strides=[3, 3])  # [1, 1, height / 3, width / 3]

large = model(small.reshape(1, height // 3, width // 3, 1)).reshape(height, width)
plain = cv.resize(small[0, 0], (width, height))


def decibels(picture: Var) -> float:
    difference = expr.clip(picture, 0.0, 1.0) - original.astype("float32") / 255.0
    return -10 * math.log10(float(expr.reduce_mean(difference * difference, keepdims=0)))


print(f"network {decibels(large):.2f} dB, interpolation {decibels(plain):.2f} dB")
