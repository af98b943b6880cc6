# SPDX-License-Identifier: Apache-2.0
"""Draws faces into a camera's frame: python camera_faces.py face_detection_short_range.tflite FRAME.nv21 WIDTH HEIGHT OUT.png

FRAME.nv21 has the bytes of an NV21 frame, as Android's cameras give it. BlazeFace, of the package mediapipe
(mediapipe/modules/face_detection), looks at 896 places: two on each of 16 x 16, six on each of 8 x 8. Each has a box and six points: eyes,
nose, mouth and ears.
"""
import sys

import numpy as np

import minnow
from minnow import cv, expr

model = minnow.load(sys.argv[1])
width, height = int(sys.argv[3]), int(sys.argv[4])
frame = np.fromfile(sys.argv[2], np.uint8).reshape(height * 3 // 2, width)

picture, where = cv.dnn.letterbox(cv.cvtColor(frame, cv.COLOR_YUV2RGB_NV21), (128, 128), 0)
raw, weights = model(picture.astype("float32")[None] / 127.5 - 1)
found, scores = np.asarray(raw)[0], np.asarray(expr.sigmoid(weights))[0, :, 0]

places = np.concatenate([np.repeat(np.asarray(cv.dnn.grid_points((128, 128), [cell])[0]), each, 0) for cell, each in ((8, 2), (16, 6))])
middles, sizes = places + found[:, :2], found[:, 2:4]
boxes = np.concatenate([middles - sizes / 2, middles + sizes / 2], 1)
points = places[:, None] + found[:, 4:].reshape(-1, 6, 2)

kept = np.asarray(cv.dnn.nms(boxes, scores, overlap=0.3, least_score=0.6))
drawn = cv.cvtColor(frame, cv.COLOR_YUV2BGR_NV21)
cv.draw_detections(drawn, where.boxes(boxes[kept]), ["face"] * len(kept), scores[kept], where.points(points[kept]))
cv.imwrite(sys.argv[5], drawn)
for left, top, right, bottom in np.asarray(where.boxes(boxes[kept])):
    print(f"face: {left:.0f} {top:.0f} {right:.0f} {bottom:.0f}")
