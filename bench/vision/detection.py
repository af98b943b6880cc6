# SPDX-License-Identifier: Apache-2.0
import numpy as np

from vision import row


@row("dnn.blobFromImage 640x640", most_used=True)
def blob(cv, p):
    return lambda: cv.dnn.blobFromImage(p.color, 1 / 255, (640, 640), (104, 117, 123), True)


@row("dnn.blobFromImage same size")
def same(cv, p):
    return lambda: cv.dnn.blobFromImage(p.color, 1 / 255)


@row("dnn.NMSBoxes 1000")
def nms(cv, p):
    random = np.random.default_rng(1)
    boxes = np.concatenate([random.uniform(0, 600, (1000, 2)), random.uniform(5, 80, (1000, 2))], 1)
    scores = random.random(1000).astype(np.float32)
    return lambda: cv.dnn.NMSBoxes(boxes, scores, 0.3, 0.45)
