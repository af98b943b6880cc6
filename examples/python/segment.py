# SPDX-License-Identifier: Apache-2.0
"""Where is the person? python segment.py selfie_segmentation.tflite PICTURE

The network lies in the package mediapipe, in mediapipe/modules/selfie_segmentation. The answer is drawn with letters.
"""
import sys

import minnow
from minnow import cv, expr

model = minnow.load(sys.argv[1])
picture = cv.cvtColor(cv.imread(sys.argv[2]), cv.COLOR_BGR2RGB)
picture = cv.resize(picture, (256, 256)).astype("float32") / 255.0
person = model(picture[None])[0]  # [256, 256, 1], how likely each pixel belongs to a person

for row in cv.resize(person, (64, 32)).reshape(32, 64).tolist():
    print("".join("#" if pixel > 0.5 else "." for pixel in row))
share = expr.reduce_mean((person > 0.5).astype("float32"), keepdims=0)
print(f"{float(share):.0%} of the picture")
