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


CAMERA = np.array([[800, 0, 320], [0, 780, 240], [0, 0, 1.0]])
LENSES = (None, np.zeros(5), np.array([-0.1, 0.03, 0.001, -0.002]), np.array([[0.1, -0.05, 0.001, 0.0005, 0.01, 0.02, 0.001, 0.002]]))


def scenes(random, noise, flat, counts):
    """Points, their pixels, the lens and the pose."""
    for n in counts:
        for lens in LENSES:
            points = random.uniform(-1, 1, (n, 3)) * (1, 1, 0 if flat else 1)
            rvec, tvec = random.normal(0, 0.5, 3), random.uniform(-0.5, 0.5, 3) + (0, 0, 6)
            pixels = cv2.projectPoints(points, rvec, tvec, CAMERA, lens)[0] + random.normal(0, noise, (n, 1, 2))
            yield points.astype(np.float32), pixels.astype(np.float32), lens, rvec, tvec


@function("solvePnP", relative=1e-4)
def solve_pnp(random):
    for flat, counts in ((True, (4, 6, 20)), (False, (6, 10, 40))):
        for noise in (0, 0.4):
            for points, pixels, lens, rvec, tvec in scenes(random, noise, flat, counts):
                yield call(points, pixels, CAMERA, lens)
                yield call(points.astype(float), pixels.astype(float), CAMERA.astype(np.float32), lens, rvec + 0.05, tvec + 0.05, True)
                if not noise and not flat:
                    yield call(points, pixels, CAMERA, lens, flags=cv2.SOLVEPNP_SQPNP)
                    yield call(points, pixels, CAMERA, lens, flags=cv2.SOLVEPNP_EPNP)
                if not noise and flat:
                    yield call(points, pixels, CAMERA, lens, flags=cv2.SOLVEPNP_IPPE)
    for points, pixels, lens, _, _ in scenes(random, 0, False, (4, 4, 4)):
        yield call(points, pixels, CAMERA, lens, flags=cv2.SOLVEPNP_AP3P)
        yield call(points, pixels, CAMERA, lens, flags=cv2.SOLVEPNP_P3P)
    yield call(np.zeros((3, 3), np.float32), np.zeros((3, 2), np.float32), CAMERA, None)
    yield call(np.zeros((5, 3), np.float32), np.zeros((4, 2), np.float32), CAMERA, None)


def pose_apart(expected, found):
    """Inliers have to be the same; the poses of noisy points may differ by what their inliers leave open."""
    if expected[0] != found[0] or not np.array_equal(expected[3], found[3]):
        return np.inf
    return max(np.abs(expected[1] - found[1]).max(), np.abs(expected[2] - found[2]).max() / 6)


@function("solvePnPRansac", within=2e-3, judge=pose_apart)
def solve_pnp_ransac(random):
    for points, pixels, lens, _, _ in scenes(random, 0.2, False, (12, 30, 60)):
        wrong = random.choice(len(points), len(points) // 4, replace=False)
        pixels[wrong] += random.uniform(60, 120, (len(wrong), 1, 2)).astype(np.float32)
        yield call(points, pixels, CAMERA, lens)
        yield call(points, pixels, CAMERA, lens, iterationsCount=300, reprojectionError=5.0)


@function("solvePnPRefineLM", relative=1e-4)
def solve_pnp_refine(random):
    for points, pixels, lens, rvec, tvec in scenes(random, 0.3, False, (6, 20)):
        yield call(points, pixels, CAMERA, lens, (rvec + 0.05).reshape(3, 1), (tvec + 0.05).reshape(3, 1))
