# SPDX-License-Identifier: Apache-2.0
"""Draws where lines of text are: python text_boxes.py ppocr_v4_det.onnx PICTURE OUT.png

The network, the detector of PP-OCRv4, gives how likely each pixel is text.
"""
import sys

import numpy as np

import minnow
from minnow import cv

model = minnow.load(sys.argv[1])
picture = np.asarray(cv.imread(sys.argv[2]))
height, width = picture.shape[:2]

larger = max(1, 736 / min(width, height))  # small letters are seen when they have more pixels
size = tuple(round(side * larger / 32) * 32 for side in (width, height))  # the network halves the picture five times
deviation = np.array([0.229, 0.224, 0.225], np.float32).reshape(1, 3, 1, 1)
blob = np.asarray(cv.dnn.blobFromImage(picture, 1 / 255, size, (123.7, 116.3, 103.5)))
likely = np.asarray(model(blob / deviation))[0, 0]

boxes, scores = cv.dnn.db_boxes(likely)
corners = np.rint(np.asarray(boxes) * (width / size[0], height / size[1])).astype(np.int32)
drawn = picture.copy()
cv.polylines(drawn, list(corners), True, (0, 0, 255), 2, cv.LINE_AA)
cv.imwrite(sys.argv[3], drawn)
print(f"{len(corners)} lines of text")
