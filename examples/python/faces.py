# SPDX-License-Identifier: Apache-2.0
"""Where are faces? python faces.py face_detection_short_range.tflite PICTURE

BlazeFace, of the package mediapipe (mediapipe/modules/face_detection), looks at 896 places: two on each of 16 x 16, six on each of 8 x 8.
"""
import sys

import minnow
from minnow import cv, expr

model = minnow.load(sys.argv[1])
picture = cv.cvtColor(cv.imread(sys.argv[2]), cv.COLOR_BGR2RGB)
height, width, _ = picture.shape
boxes, scores = model(cv.resize(picture, (128, 128)).astype("float32")[None] / 127.5 - 1.0)

centres = [((x + 0.5) / cells, (y + 0.5) / cells) for cells, each in ((16, 2), (8, 6)) for y in range(cells) for x in range(cells) for _ in range(each)]
offsets, sizes = boxes[0, :, 0:2] / 128.0, boxes[0, :, 2:4] / 128.0
middle = offsets + centres
corners = expr.concat([(middle - sizes / 2)[:, ::-1], (middle + sizes / 2)[:, ::-1]], 1).astype("float32")  # y, x, y, x

kept = expr.non_max_suppression(corners[None], expr.sigmoid(scores[:, :, 0])[:, None], 10, 0.3, 0.6)
for _, _, place in kept.tolist():
    top, left, bottom, right = corners[place].tolist()
    print(f"face: {left * width:.0f} {top * height:.0f} {right * width:.0f} {bottom * height:.0f} ({float(expr.sigmoid(scores[0, place, 0])):.0%})")
