# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from . import row


@row("findContours external", most_used=True)
def find_contours(cv, p):
    return lambda: cv.findContours(p.mask, cv.RETR_EXTERNAL, cv.CHAIN_APPROX_SIMPLE)


@row("findContours tree")
def find_contours_tree(cv, p):
    return lambda: cv.findContours(p.mask, cv.RETR_TREE, cv.CHAIN_APPROX_NONE)


def contour(p):
    import cv2
    ring = np.zeros((p.height, p.width), np.uint8)
    cv2.ellipse(ring, (p.width // 2, p.height // 2), (p.width // 3, p.height // 4), 20, 0, 360, 255, -1)
    return cv2.findContours(ring, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0][0]


def of_contour(name, call, most_used=False):
    @row(name, most_used)
    def make(cv, p):
        points = contour(p)
        return lambda: call(cv, points)


of_contour("approxPolyDP", lambda cv, c: cv.approxPolyDP(c, 3, True))
of_contour("arcLength", lambda cv, c: cv.arcLength(c, True))
of_contour("contourArea", lambda cv, c: cv.contourArea(c))
of_contour("convexHull", lambda cv, c: cv.convexHull(c))
of_contour("minAreaRect", lambda cv, c: cv.minAreaRect(c))
of_contour("minEnclosingCircle", lambda cv, c: cv.minEnclosingCircle(c))
of_contour("boundingRect", lambda cv, c: cv.boundingRect(c))
of_contour("fitEllipse", lambda cv, c: cv.fitEllipse(c))
of_contour("fitLine L2", lambda cv, c: cv.fitLine(c, cv.DIST_L2, 0, 0.01, 0.01))
of_contour("moments of a contour", lambda cv, c: cv.moments(c))
of_contour("pointPolygonTest", lambda cv, c: cv.pointPolygonTest(c, (100.5, 99.0), True))


@row("moments")
def moments(cv, p):
    return lambda: cv.moments(p.gray)


@row("boundingRect of a picture")
def bounding(cv, p):
    return lambda: cv.boundingRect(p.mask)


@row("connectedComponents", most_used=True)
def components(cv, p):
    return lambda: cv.connectedComponents(p.mask)


@row("connectedComponentsWithStats")
def components_with_stats(cv, p):
    return lambda: cv.connectedComponentsWithStats(p.mask)


def edges(p):
    import cv2
    return cv2.Canny(cv2.GaussianBlur(p.gray, (9, 9), 2), 60, 120)


@row("HoughLines")
def hough_lines(cv, p):
    found = edges(p)
    return lambda: cv.HoughLines(found, 1, np.pi / 180, 150)


@row("HoughLinesP")
def hough_lines_p(cv, p):
    found = edges(p)
    return lambda: cv.HoughLinesP(found, 1, np.pi / 180, 80, minLineLength=30, maxLineGap=5)


@row("findHomography RANSAC")
def find_homography(cv, p):
    random = np.random.default_rng(3)
    a = random.uniform(0, 500, (300, 1, 2)).astype(np.float32)
    b = (a * 1.1 + 5 + random.normal(0, 0.5, a.shape)).astype(np.float32)
    b[::4] += random.uniform(10, 90, b[::4].shape).astype(np.float32)
    return lambda: cv.findHomography(a, b, cv.RANSAC, 3)


def match(name, size, method, most_used=False):
    @row(name, most_used)
    def make(cv, p):
        part = p.gray[30:30 + size, 40:40 + size].copy()
        return lambda: cv.matchTemplate(p.gray, part, getattr(cv, method))


match("matchTemplate 32x32 CCOEFF_NORMED", 32, "TM_CCOEFF_NORMED", True)
match("matchTemplate 8x8 SQDIFF", 8, "TM_SQDIFF")
match("matchTemplate 100x100 CCORR_NORMED", 100, "TM_CCORR_NORMED")


@row("goodFeaturesToTrack")
def good_features(cv, p):
    return lambda: cv.goodFeaturesToTrack(p.gray, 200, 0.01, 10)


@row("cornerHarris")
def corner_harris(cv, p):
    return lambda: cv.cornerHarris(p.gray, 2, 3, 0.04)


@row("kmeans 8 colours")
def kmeans(cv, p):
    data = p.floats[::8, ::8].reshape(-1, 3).copy()
    labels = (np.arange(len(data)) % 8).astype(np.int32).reshape(-1, 1)
    return lambda: cv.kmeans(data, 8, labels.copy(), (3, 10, 1e-4), 1, cv.KMEANS_USE_INITIAL_LABELS)


@row("dft")
def dft(cv, p):
    return lambda: cv.dft(p.plane, flags=cv.DFT_COMPLEX_OUTPUT)


@row("dct")
def dct(cv, p):
    return lambda: cv.dct(p.plane)


@row("phaseCorrelate")
def phase_correlate(cv, p):
    other = np.roll(p.plane, (3, 5), (0, 1))
    return lambda: cv.phaseCorrelate(p.plane, other)


@row("solve 100 equations")
def solve(cv, p):
    random = np.random.default_rng(1)
    a, b = random.normal(0, 1, (100, 100)) + 10 * np.eye(100), random.normal(0, 1, (100, 1))
    return lambda: cv.solve(a, b)


@row("solvePnP")
def solve_pnp(cv, p):
    random = np.random.default_rng(2)
    points = random.uniform(-1, 1, (30, 3)).astype(np.float32)
    camera = np.array([[800, 0, 320], [0, 800, 240], [0, 0, 1.0]])
    seen = points + (0.1, 0.2, 6)
    pixels = (seen[:, :2] / seen[:, 2:] * 800 + (320, 240) + random.normal(0, 0.3, (30, 2))).astype(np.float32)
    return lambda: cv.solvePnP(points, pixels, camera, None)
