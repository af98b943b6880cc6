# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import call, function


def pairs(random, outliers):
    """Points and where a homography near the identity takes them, some wrongly."""
    for n in (4, 5, 8, 20, 100):
        for noise in (0, 0.3):
            for shape in ((n, 2), (n, 1, 2)):
                points = random.uniform(0, 400, (n, 2))
                h = np.eye(3) + random.normal(0, 1, (3, 3)) * [[0.1, 0.1, 20], [0.1, 0.1, 20], [1e-4, 1e-4, 0]]
                moved = np.concatenate([points, np.ones((n, 1))], 1) @ h.T
                moved = moved[:, :2] / moved[:, 2:] + random.normal(0, noise, (n, 2))
                if outliers and n >= 8:
                    wrong = random.choice(n, n // 4, replace=False)
                    moved[wrong] += random.uniform(20, 90, (len(wrong), 2))
                yield points.astype(np.float32).reshape(shape), moved.astype(np.float32).reshape(shape)
    yield np.zeros((6, 2), np.float32), np.ones((6, 2), np.float32)
    yield np.zeros((3, 2), np.float32), np.ones((3, 2), np.float32)


@function("findHomography", relative=1e-4)
def find_homography(random):
    for a, b in pairs(random, False):
        yield call(a, b)
        yield call(a.astype(np.float64), b.astype(np.float64), 0)
    for a, b in pairs(random, True):
        yield call(a, b, cv2.RANSAC, 3)
        yield call(a, b, cv2.RANSAC, 5.0, maxIters=500, confidence=0.99)
        yield call(a, b, cv2.LMEDS)


@function("estimateAffine2D", relative=1e-4)
def affine(random):
    for a, b in pairs(random, True):
        yield call(a, b)
        yield call(a, b, method=cv2.LMEDS)
        yield call(a, b, method=cv2.RANSAC, ransacReprojThreshold=20, refineIters=0)


@function("estimateAffinePartial2D", relative=1e-4)
def affine_partial(random):
    for a, b in pairs(random, True):
        yield call(a, b)
        yield call(a, b, method=cv2.LMEDS)
        yield call(a, b, method=cv2.RANSAC, ransacReprojThreshold=20, refineIters=0)
