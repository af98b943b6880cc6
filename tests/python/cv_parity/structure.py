# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import call, function, image, images

SHAPES = ((1, 1), (1, 9), (6, 1), (4, 5), (17, 31), (64, 65), (120, 90))


def masks(random):
    """Blobs, noise, rings and full pictures."""
    for height, width in SHAPES:
        for density in (0.1, 0.5, 0.8):
            yield ((random.random((height, width)) < density) * 255).astype(np.uint8)
        yield np.full((height, width), 7, np.uint8)
        yield np.zeros((height, width), np.uint8)
        smooth = image(random, height, width, 1, "uint8", smooth=True)
        yield ((smooth > 120) * 1).astype(np.uint8)
        yield ((smooth % 64) > 30).astype(np.uint8)
    drawn = np.zeros((200, 300), np.uint8)
    for radius in range(90, 10, -12):
        cv2.circle(drawn, (100, 100), radius, 255 if radius % 24 < 12 else 0, -1)
    cv2.rectangle(drawn, (210, 20), (280, 180), 200, 5)
    cv2.ellipse(drawn, (245, 100), (20, 50), 30, 0, 360, 255, 2)
    yield drawn
    yield drawn[3:150, 5:260]
    rings = np.zeros((400, 700), np.uint8)  # more borders than a byte counts
    for y in range(0, 400, 20):
        for x in range(0, 700, 20):
            cv2.rectangle(rings, (x + 1, y + 1), (x + 16, y + 16), 255, 2)
            rings[y + 7:y + 9, x + 7:x + 10] = 1
    yield rings


@function("findContours")
def find_contours(random):
    for picture in masks(random):
        for mode in range(4):
            for method in range(1, 5):
                yield call(picture, mode, method)
        yield call(picture, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE, offset=(-3, 11))
        yield call(picture.astype(np.int8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)


def labels(random):
    """Pictures of labels, int32: noise, blocks, components, rings within rings of other labels, labels that share their lowest bits."""
    for height, width in ((1, 1), (1, 9), (7, 1), (9, 12), (40, 31)):
        yield random.integers(0, 3, (height, width)).astype(np.int32)
        yield np.repeat(np.repeat(random.integers(0, 4, (height, width)), 3, 0), 4, 1).astype(np.int32) * 128
        yield np.full((height, width), 7, np.int32)
    for picture in masks(random):
        yield cv2.connectedComponents(picture)[1]
    for step in (1, 64, 1000003):
        rings = np.zeros((60, 70), np.int32)
        for i in range(14):
            rings[2 * i:60 - 2 * i, 2 * i + i % 3:70 - 2 * i] = random.integers(0, 4) * step
        yield rings
        cells = np.argmin([np.hypot(*(np.mgrid[:50, :60] - random.integers(0, 50, 2)[:, None, None])) for _ in range(9)], 0)
        yield (cells * step).astype(np.int32)


@function("findContours")
def find_contours_of_labels(random):
    for i, picture in enumerate(labels(random)):
        yield call(picture, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
        yield call(picture, cv2.RETR_FLOODFILL, 1 + i % 4, offset=(i, -2))
    for mode in (cv2.RETR_EXTERNAL, cv2.RETR_LIST, cv2.RETR_TREE):
        yield call(picture, mode, cv2.CHAIN_APPROX_SIMPLE)
    yield call(picture.astype(np.uint8), cv2.RETR_FLOODFILL, cv2.CHAIN_APPROX_SIMPLE)
    yield call(picture.astype(np.float32), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)


def contours(random):
    found = []
    for picture in masks(random):
        found += list(cv2.findContours(picture, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)[0])[:12]
        found += list(cv2.findContours(picture, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0])[:8]
    found = [found[i] for i in random.choice(len(found), 90, replace=False)]
    yield from found
    for n in (1, 2, 3, 4, 5, 9, 40, 300):
        yield random.integers(-50, 50, (n, 1, 2)).astype(np.int32)
        yield random.integers(0, 4, (n, 2)).astype(np.int32)
        yield (random.random((n, 1, 2)) * 100 - 20).astype(np.float32)
        yield (random.random((n, 2)) * 3).astype(np.float32)
        angles = np.sort(random.random(n)) * 2 * np.pi
        yield np.stack([np.cos(angles) * 40 + 7, np.sin(angles) * 25 - 3], -1).astype(np.float32)
        line = random.integers(-9, 9)
        yield np.array([[[k, k * line]] for k in range(n)], np.int32)


def alone(name, **allowed):
    @function(name, **allowed)
    def cases(random):
        for contour in contours(random):
            yield call(contour)


@function("approxPolyDP")
def approx(random):
    for contour in contours(random):
        for epsilon in (0, 0.5, 1.5, 4.2, 30):
            yield call(contour, epsilon, True)
            yield call(contour, epsilon, False)


@function("arcLength", relative=1e-6)
def arc(random):
    for contour in contours(random):
        yield call(contour, True)
        yield call(contour, False)


@function("contourArea", relative=1e-9)
def area(random):
    for contour in contours(random):
        yield call(contour)
        yield call(contour, True)


@function("convexHull")
def hull(random):
    for contour in contours(random):
        for clockwise in (False, True):
            yield call(contour, clockwise=clockwise)
            yield call(contour, clockwise=clockwise, returnPoints=False)


@function("convexityDefects")
def defects(random):
    for contour in contours(random):
        if contour.dtype == np.int32:
            yield call(contour, cv2.convexHull(contour, returnPoints=False))


alone("isContourConvex")
alone("minAreaRect", relative=1e-4)
alone("minEnclosingCircle", relative=1e-4)


@function("boundingRect")
def bounding(random):
    for contour in contours(random):
        yield call(contour)
    for picture in masks(random):
        yield call(picture)


@function("boxPoints", relative=1e-4)
def box_points(random):
    for contour in contours(random):
        yield call(cv2.minAreaRect(contour))


def ellipse_apart(expected, found):
    """Compares points of the two ellipses, relative to their size; a turn by 180 degrees says nothing, nor one of a circle."""
    def points(box):
        (x, y), (w, h), angle = box
        t, a = np.arange(64) * np.pi / 32, np.deg2rad(angle)
        return np.stack([x + w / 2 * np.cos(t) * np.cos(a) - h / 2 * np.sin(t) * np.sin(a), y + w / 2 * np.cos(t) * np.sin(a) + h / 2 * np.sin(t) * np.cos(a)], -1)
    one, other = points(expected), points(found)
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return 0 if np.isfinite(one).all() == np.isfinite(other).all() else np.inf
    nearest = np.sqrt(((one[:, None] - other[None]) ** 2).sum(-1)).min(1).max()
    return nearest / max(1, *expected[1])


def noisy_ellipses(random):
    for n in (5, 6, 8, 12, 30, 100):
        for _ in range(12):
            t = random.uniform(0, 2 * np.pi, n)
            a, x, y = random.uniform(0, np.pi), *random.uniform(-50, 400, 2)
            r, s = random.uniform(5, 100, 2)
            p = np.stack([x + r * np.cos(t) * np.cos(a) - s * np.sin(t) * np.sin(a), y + r * np.cos(t) * np.sin(a) + s * np.sin(t) * np.cos(a)], -1)
            yield (p + random.normal(0, 0.02 * min(r, s), p.shape)).astype(np.float32)
            if n > 8:
                yield np.round(p).astype(np.int32)[:, None]


@function("fitEllipse", within=1e-3, judge=ellipse_apart)
def fit_ellipse(random):
    for points in noisy_ellipses(random):
        yield call(points)
    yield call(np.zeros((4, 2), np.float32))


@function("fitEllipseDirect", within=1e-3, judge=ellipse_apart)
def fit_ellipse_direct(random):
    for points in noisy_ellipses(random):
        yield call(points)


@function("fitEllipseAMS", within=2e-3, judge=ellipse_apart)  # for long ellipses OpenCV gives fitEllipse()'s
def fit_ellipse_mean_square(random):
    for points in noisy_ellipses(random):
        yield call(points)
    yield call(np.zeros((4, 2), np.float32))


def triangle_apart(expected, found):
    """Several triangles may be the smallest: areas are compared, and whether the corners enclose that area."""
    (area, corners), (our_area, ours) = expected, found
    if ours.shape != corners.shape or ours.dtype != corners.dtype:
        return np.inf
    (ax, ay), (bx, by), (cx, cy) = ours.reshape(3, 2).astype(float)
    spanned = abs((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)) / 2
    return max(abs(our_area - area), abs(spanned - area)) / max(1, area)


@function("minEnclosingTriangle", relative=1e-4, judge=triangle_apart)
def enclosing_triangle(random):
    for contour in contours(random):
        yield call(contour)
    for n in (3, 4, 5, 6, 9, 30):
        angles = np.sort(random.uniform(0, 2 * np.pi, n))
        yield call((np.stack([np.cos(angles) * 90, np.sin(angles) * 50], -1) + 100).astype(np.float32))
    yield call(np.int32([[0, 0], [4, 0], [4, 3], [0, 3]]))
    yield call(np.zeros((0, 2), np.float32))


@function("fitLine", relative=1e-4)
def fit_line(random):
    for size in (2, 3):
        for n in (2, 3, 10, 60):
            for kind in (np.float32, np.int32):
                t = np.linspace(-40, 60, n)[:, None]
                points = t * random.uniform(-1, 1, size) + random.uniform(-9, 9, size) + random.normal(0, 1.5, (n, size))
                for distance in (cv2.DIST_L2, cv2.DIST_L1, cv2.DIST_L12, cv2.DIST_FAIR, cv2.DIST_WELSCH, cv2.DIST_HUBER):
                    if n > 3 or distance == cv2.DIST_L2:
                        yield call(points.astype(kind), distance, 0, 0.01, 0.01)
    yield call(np.zeros((3, 2), np.float32), 77, 0, 0.01, 0.01)


@function("rotatedRectangleIntersection", relative=1e-3)
def intersection(random):
    for _ in range(200):
        a = (tuple(random.uniform(-20, 20, 2)), tuple(random.uniform(1, 40, 2)), float(random.uniform(-180, 180)))
        b = (tuple(random.uniform(-20, 20, 2)), tuple(random.uniform(1, 40, 2)), float(random.uniform(-180, 180)))
        yield call(a, b)
    yield call(a, a)
    yield call(((0, 0), (10, 10), 0), ((0, 0), (4, 4), 0))
    yield call(((0, 0), (10, 10), 0), ((50, 0), (4, 4), 0))
    yield call(((0, 0), (0, 10), 0), ((5, 0), (4, 4), 0))
    yield call(((0, 0), (10, 10), 0), ((5, 0), (10, 10), 0))


@function("pointPolygonTest", relative=1e-6)
def point_test(random):
    for contour in contours(random):
        for _ in range(4):
            pt = random.integers(-5, 90, 2)
            yield call(contour, (int(pt[0]), int(pt[1])), False)
            yield call(contour, tuple(map(float, random.uniform(-20, 60, 2))), True)
        pt = contour.reshape(-1, 2)[0]
        yield call(contour, (float(pt[0]), float(pt[1])), False)


def moments_apart(expected, found):
    return max(abs(expected[k] - found[k]) / max(1, abs(expected[k])) for k in expected) if sorted(expected) == sorted(found) else np.inf


@function("moments", relative=1e-6, judge=moments_apart)
def moments(random):
    for contour in contours(random):
        yield call(contour)
    for picture in images(random, dtypes=("uint8", "uint16", "int16", "float32", "float64"), channels=(1,)):
        if picture.shape[1] > 2:
            yield call(picture)
            yield call(picture, True)


@function("HuMoments", relative=1e-9)
def hu(random):
    for contour in contours(random):
        yield call(cv2.moments(contour))


@function("matchShapes", relative=1e-5)
def match_shapes(random):
    found = [c for c in contours(random) if len(c) > 4]
    for a, b in zip(found, found[1:]):
        for method in (1, 2, 3):
            yield call(a, b, method, 0)


def component_masks(random):
    yield from masks(random)
    for height, width in ((33, 48), (101, 77)):
        yield (random.random((height, width)) < 0.35).astype(np.uint8)
        yield (random.random((height, width)) < 0.55).astype(np.int8)


@function("connectedComponents")
def components(random):
    for picture in component_masks(random):
        for connectivity in (4, 8):
            yield call(picture, connectivity=connectivity)
        yield call(picture, ltype=cv2.CV_16U)


@function("connectedComponentsWithStats", relative=1e-9)
def components_with_stats(random):
    for picture in component_masks(random):
        yield call(picture)
        yield call(picture, connectivity=4)


@function("connectedComponentsWithAlgorithm")
def components_by(random):
    for picture in component_masks(random):
        for algorithm in range(-1, 6):
            for connectivity in (4, 8):
                yield call(picture, connectivity, cv2.CV_32S, algorithm)


@function("connectedComponentsWithStatsWithAlgorithm", relative=1e-9)
def components_with_stats_by(random):
    for picture in component_masks(random):
        for algorithm in (-1, 0, 1):
            yield call(picture, 8, cv2.CV_32S, algorithm)


def edges(random):
    for height, width in ((1, 1), (20, 33), (90, 120)):
        yield ((random.random((height, width)) < 0.1) * 255).astype(np.uint8)
    drawn = np.zeros((160, 220), np.uint8)
    for _ in range(9):
        a, b = random.integers(0, 160, 2), random.integers(0, 160, 2)
        cv2.line(drawn, (int(a[0]), int(a[1])), (int(b[0]) + 50, int(b[1])), int(random.integers(60, 255)), int(random.integers(1, 3)))
    yield drawn
    yield drawn[5:100, 20:190]
    yield np.zeros((10, 10), np.uint8)
    yield cv2.Canny(image(random, 120, 160, 1, "uint8", smooth=True), 50, 120)


@function("HoughLines", relative=1e-5)
def hough_lines(random):
    for picture in edges(random):
        for rho, theta, threshold in ((1, np.pi / 180, 30), (2, np.pi / 90, 20), (0.5, np.pi / 360, 25), (1.7, 0.03, 15)):
            yield call(picture, rho, theta, threshold)
            yield call(picture, rho, theta, threshold, min_theta=0.3, max_theta=1.4)
            yield call(picture, rho, theta, threshold * 100, use_edgeval=True)


@function("HoughLinesWithAccumulator", relative=1e-5)
def hough_lines_votes(random):
    for picture in edges(random):
        yield call(picture, 1, np.pi / 180, 30)


@function("HoughLinesP")
def hough_lines_p(random):
    for picture in edges(random):
        for rho, theta, threshold in ((1, np.pi / 180, 30), (2, np.pi / 90, 20), (0.5, np.pi / 360, 15), (1, np.pi / 180, 10)):
            yield call(picture, rho, theta, threshold)
            yield call(picture, rho, theta, threshold, minLineLength=20, maxLineGap=5)
            yield call(picture, rho, theta, threshold, None, 8, 2)


def apart_of_largest(expected, found):
    """The worst difference relative to the largest element: sums of many products."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return np.inf
    with np.errstate(invalid="ignore"):
        apart = np.where((expected == found) | (np.isnan(expected) & np.isnan(found)), 0, np.abs(expected.astype(float) - found))
    finite = np.abs(expected[np.isfinite(expected)])
    return np.nan_to_num(apart, nan=np.inf).max() / max(1, finite.max() if finite.size else 0)


@function("matchTemplate", within=1e-4, judge=apart_of_largest)
def match_template(random):
    for dtype in ("uint8", "float32"):
        for channels in (1, 3):
            for height, width, th, tw in ((1, 1, 1, 1), (20, 30, 5, 7), (50, 41, 50, 3), (90, 120, 17, 30), (300, 280, 33, 20), (12, 14, 20, 25)):
                picture = image(random, height + 2, width + 3, channels, dtype, smooth=height > 20)[1:1 + height, 2:2 + width]
                part = picture[:th, :tw].copy() if th <= height and random.random() < 0.5 else image(random, th, tw, channels, dtype)
                for method in range(6):
                    yield call(picture, part, method)
                    if dtype == "uint8" and (th < height and 1 < tw < width):
                        mask = (random.random((th, tw)) < 0.7).astype(np.uint8) * 255
                        mask[0, 0] = 1
                        yield call(picture, part, method, None, mask)
                        yield call(picture, part, method, None, random.random(part.shape).astype(np.float32) + 0.1)
    yield call(np.zeros((5, 9), np.uint8), np.zeros((9, 5), np.uint8), 0)
    yield call(np.zeros((9, 9), np.uint8), np.zeros((3, 3), np.float32), 0)
    yield call(np.full((9, 9), 5, np.uint8), np.full((3, 3), 5, np.uint8), 5)
    yield call(np.zeros((9, 9), np.uint8), np.zeros((3, 3), np.uint8), 6)


def corner_pictures(random):
    for height, width in ((1, 1), (9, 7), (40, 53), (90, 120)):
        for dtype in ("uint8", "float32"):
            yield image(random, height, width, 1, dtype, smooth=True)
    board = np.kron(np.indices((8, 9)).sum(0) % 2, np.ones((16, 15))) * 200 + 20
    yield board.astype(np.uint8)
    yield (board + random.normal(0, 6, board.shape)).clip(0, 255).astype(np.uint8)[3:100, 2:110]


@function("cornerHarris", within=1e-4, judge=lambda a, b: float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-12)))
def corner_harris(random):
    for picture in corner_pictures(random):
        for block, size in ((2, 3), (3, 5), (5, -1), (4, 7)):
            yield call(picture, block, size, 0.04)
            if block % 2 or size == 7:  # the wheel's IPP has another anchor for even blocks
                yield call(picture, block, size, 0.06, borderType=cv2.BORDER_REPLICATE)


@function("cornerMinEigenVal", within=1e-4, judge=lambda a, b: float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-12)))
def corner_min_eigen_val(random):
    for picture in corner_pictures(random):
        for block, size in ((2, 3), (3, 5), (5, 7)):
            yield call(picture, block, ksize=size)


@function("cornerEigenValsAndVecs", within=1e-3, judge=lambda a, b: float(np.abs(a[..., :2] - b[..., :2]).max()))
def corner_eigen(random):
    for picture in corner_pictures(random):
        yield call(picture, 3, 3)


@function("goodFeaturesToTrack")
def good_features(random):
    for picture in corner_pictures(random):
        for most, quality, distance in ((50, 0.01, 10), (0, 0.1, 0), (20, 0.05, 3.5), (10, 0.3, 1)):
            yield call(picture, most, quality, distance)
            yield call(picture, most, quality, distance, useHarrisDetector=True, k=0.05, blockSize=5)
        mask = (random.random(picture.shape) < 0.7).astype(np.uint8)
        yield call(picture, 30, 0.02, 5, mask=mask, gradientSize=3, blockSize=3)


@function("cornerSubPix", relative=1e-4)
def corner_sub_pix(random):
    for height, width in ((40, 53), (90, 120), (60, 33)):  # structure in all directions: else the least squares have no one solution
        picture = cv2.GaussianBlur(image(random, height, width, 1, "uint8"), (7, 7), 2)
        found = cv2.goodFeaturesToTrack(picture[14:-14, 14:-14], 20, 0.1, 8) + 14
        for half, zero in (((5, 5), (-1, -1)), ((3, 4), (1, 1)), ((8, 6), (-1, -1))):
            yield call(picture, found, half, zero, (3, 40, 0.001))
            yield call(picture, found, half, zero, (1, 5, 0))


@function("kmeans", relative=1e-4)
def kmeans(random):
    for n, size, k in ((20, 2, 3), (200, 3, 4), (7, 1, 7), (500, 5, 6), (40, 2, 1)):
        centers = random.uniform(-50, 50, (k, size))
        data = (centers[np.arange(n) % k] + random.normal(0, 1, (n, size))).astype(np.float32)
        labels = random.integers(0, k, (n, 1)).astype(np.int32)
        yield call(data, k, labels.copy(), (3, 20, 0.01), 1, cv2.KMEANS_USE_INITIAL_LABELS)
        yield call(data[:k], k + 1, None, (3, 20, 0.01), 1, 0)


def clusters_apart(expected, found):
    """The compactness of a draw, at most so much worse."""
    return max(0.0, found[0] / expected[0] - 1) if expected[1].shape == found[1].shape and expected[2].shape == found[2].shape else np.inf


@function("kmeans", within=1e-4, judge=clusters_apart)
def kmeans_drawn(random):
    for n, size, k in ((60, 2, 3), (200, 3, 4), (500, 5, 6)):
        centers = random.uniform(-500, 500, (k, size))
        data = (centers[np.arange(n) % k] + random.normal(0, 1, (n, size))).astype(np.float32)
        yield call(data, k, None, (3, 50, 1e-3), 12, cv2.KMEANS_PP_CENTERS)
        yield call(data.reshape(n, 1, size), k, None, (3, 50, 1e-3), 30, cv2.KMEANS_RANDOM_CENTERS)


def relative_to_largest(expected, found):
    expected, found = (expected, found) if isinstance(expected, tuple) else ((expected,), (found,))
    return max(apart_of_largest(a, b) if isinstance(a, np.ndarray) else float(a != b) for a, b in zip(expected, found))


def transform_pictures(random):
    for height, width in ((1, 1), (1, 8), (1, 15), (6, 1), (9, 1), (4, 4), (5, 7), (16, 30), (64, 48), (33, 67), (128, 101)):
        for dtype in ("float32", "float64"):
            yield image(random, height, width, 1, dtype)
            yield image(random, height, width, 2, dtype)


@function("dft", within=1e-4, judge=relative_to_largest)
def dft(random):
    for picture in transform_pictures(random):
        for flags in (0, 1, 2, 4, 5, 16, 18, 20, 3, 7):
            if picture.ndim == 2 and flags & 16 and flags & 1:
                continue
            yield call(picture, flags=flags)
        if picture.ndim == 3:
            yield call(cv2.dft(np.ascontiguousarray(picture[..., 0]), flags=16), flags=1 | 2 | 32)
            yield call(cv2.dft(np.ascontiguousarray(picture[..., 0]), flags=16 | 4), flags=1 | 2 | 4 | 32)


@function("idft", within=1e-4, judge=relative_to_largest)
def idft(random):
    for picture in transform_pictures(random):
        yield call(picture)
        yield call(picture, flags=2)
    yield call(np.zeros((4, 4), np.uint8))


def even_pictures(random):
    for height, width in ((1, 1), (1, 8), (6, 1), (4, 4), (16, 30), (64, 48), (2, 100)):
        for dtype in ("float32", "float64"):
            yield image(random, height, width, 1, dtype)


@function("dct", within=1e-4, judge=relative_to_largest)
def dct(random):
    for picture in even_pictures(random):
        for flags in (0, 1, 4, 5):
            if min(picture.shape) > 1 or not flags & 4:
                yield call(picture, flags=flags)
    yield call(np.zeros((5, 7), np.float32))


@function("idct", within=1e-4, judge=relative_to_largest)
def idct(random):
    for picture in even_pictures(random):
        yield call(picture)


@function("getOptimalDFTSize")
def optimal_size(random):
    for n in (-1, 0, 1, 2, 7, 11, 1000, 1025, 123457, 2125763999, 2125764000, 2147483647):
        yield call(n)


@function("mulSpectrums", within=1e-4, judge=relative_to_largest)
def mul_spectrums(random):
    for picture in transform_pictures(random):
        other = (picture * 3 - 1)[::-1].copy()
        for conjugate in (False, True):
            yield call(picture, other, 0, conjB=conjugate)
            if min(picture.shape[:2]) > 1:
                yield call(picture, other, cv2.DFT_ROWS, conjB=conjugate)


@function("createHanningWindow", relative=1e-5)
def hanning(random):
    for size in ((2, 2), (30, 20), (7, 9)):
        yield call(size, cv2.CV_32F)
        yield call(size, cv2.CV_64F)
    yield call((1, 5), cv2.CV_32F)


@function("phaseCorrelate", within=1e-3)
def phase_correlate(random):
    for height, width in ((40, 50), (64, 64), (37, 53)):
        for dtype in (np.float32, np.float64):
            a = cv2.GaussianBlur(random.random((height + 20, width + 20)), (5, 5), 1).astype(dtype)
            one = np.ascontiguousarray(a[5:5 + height, 5:5 + width])
            other = np.ascontiguousarray(a[2:2 + height, 8:8 + width])
            yield call(one, other)
            yield call(one, other, cv2.createHanningWindow((width, height), cv2.CV_32F if dtype == np.float32 else cv2.CV_64F))


def matrices(random, sizes):
    for m, n in sizes:
        for dtype in (np.float32, np.float64):
            yield (random.normal(0, 1, (m, n)) + 3 * np.eye(m, n)).astype(dtype)


@function("solve", relative=1e-3)
def solve(random):
    for matrix in matrices(random, ((1, 1), (2, 2), (3, 3), (4, 4), (7, 7), (20, 20))):
        for columns in (1, 3):
            right = random.normal(0, 1, (len(matrix), columns)).astype(matrix.dtype)
            for flags in (0, 1, 4, 16, 17):
                yield call(matrix, right, flags=flags)
            symmetric = (matrix @ matrix.T).astype(matrix.dtype)
            yield call(symmetric, right, flags=cv2.DECOMP_CHOLESKY)
            yield call(symmetric, right, flags=cv2.DECOMP_EIG)
    for matrix in matrices(random, ((5, 3), (30, 6))):
        right = random.normal(0, 1, (len(matrix), 2)).astype(matrix.dtype)
        for flags in (0, 1, 4, 16):
            yield call(matrix, right, flags=flags)


@function("invert", relative=1e-3)
def invert(random):
    for matrix in matrices(random, ((1, 1), (2, 2), (3, 3), (5, 5), (20, 20))):
        yield call(matrix)
        yield call(matrix, flags=cv2.DECOMP_SVD)
        symmetric = (matrix @ matrix.T).astype(matrix.dtype)
        yield call(symmetric, flags=cv2.DECOMP_CHOLESKY)
        if matrix.dtype == np.float64:
            yield call(symmetric, flags=cv2.DECOMP_EIG)
    for matrix in matrices(random, ((5, 3), (9, 4))):
        yield call(matrix, flags=cv2.DECOMP_SVD)
        yield call(matrix)
    yield call(np.zeros((3, 3)))


@function("determinant", relative=1e-4)
def determinant(random):
    yield from (call(matrix) for matrix in matrices(random, ((1, 1), (2, 2), (3, 3), (5, 5), (12, 12), (2, 3))))


@function("eigen", relative=1e-4)
def eigen(random):
    for matrix in matrices(random, ((1, 1), (2, 2), (3, 3), (6, 6), (15, 15))):
        yield call((matrix + matrix.T).astype(matrix.dtype))
    yield call(np.zeros((2, 3)))


@function("SVDecomp", relative=1e-3)
def sv_decomp(random):
    for matrix in matrices(random, ((1, 1), (2, 2), (3, 3), (6, 4), (4, 6), (15, 15), (20, 3))):
        yield call(matrix)
        yield call(matrix, flags=cv2.SVD_FULL_UV)


@function("gemm", relative=1e-4)
def gemm(random):
    for a in matrices(random, ((1, 1), (3, 4), (20, 30))):
        b = random.normal(0, 1, (a.shape[1], 7)).astype(a.dtype)
        c = random.normal(0, 1, (a.shape[0], 7)).astype(a.dtype)
        yield call(a, b, 1, None, 0)
        yield call(a, b, 2.5, c, -0.5)
        yield call(a.T.copy(), b.T.copy(), 2.5, c.T.copy(), 1, flags=7)
        yield call(a, c.T.copy(), 1, None, 0)


def roots_apart(expected, found):
    def sorted_roots(roots):
        return np.sort_complex(np.round(roots.reshape(len(roots), -1) @ ([1, 1j] if roots.size > len(roots) else [1]), 5))
    if expected[1] is None or found[1] is None:
        return 0 if expected[1] is None and found[1] is None else np.inf
    n = expected[0] if isinstance(expected[0], int) else len(expected[1])
    return float(np.abs(sorted_roots(expected[1][:n]) - sorted_roots(found[1][:n])).max())


@function("solveCubic", within=1e-3, judge=roots_apart)
def solve_cubic(random):
    for _ in range(60):
        roots = random.uniform(-5, 5, 3)
        yield call(np.poly(roots) * 2)
        yield call(np.poly(roots)[1:].astype(np.float64))
    yield call(np.array([0, 1.0, -3, 2]))
    yield call(np.array([1.0, 0, 0, 5]))
    yield call(np.array([0, 0, 2.0, 5]))


@function("solvePoly", within=1e-3, judge=roots_apart)
def solve_poly(random):
    for n in (2, 3, 4, 6):
        for _ in range(10):
            yield call(random.uniform(-3, 3, n + 1))


def components_apart(expected, found):
    """Vectors up to their sign."""
    return max(min(np.abs(a - b).max(), np.abs(a + b).max()) if a.ndim == 2 and len(a) == 1 else max(min(np.abs(x - y).max(), np.abs(x + y).max()) for x, y in zip(a, b)) for a, b in zip(expected, found))


@function("PCACompute", within=1e-3, judge=components_apart)
def pca(random):
    for n, size in ((30, 3), (50, 6)):
        for dtype in (np.float32, np.float64):
            data = (random.normal(0, 1, (n, size)) * (1 + 2 * np.arange(size))).astype(dtype)
            yield call(data, None)
            yield call(data, None, maxComponents=2)
            yield call(data, np.zeros((1, size), dtype))


@function("PCACompute2", within=1e-3, judge=components_apart)
def pca2(random):
    for n, size in ((30, 3), (50, 6)):
        yield call((random.normal(0, 1, (n, size)) * (1 + np.arange(size))).astype(np.float64), None)


def circle_pictures(random):
    for height, width in ((80, 100), (150, 200)):
        drawn = np.full((height, width), 40, np.uint8)
        for _ in range(4):
            center = (int(random.integers(20, width - 20)), int(random.integers(20, height - 20)))
            cv2.circle(drawn, center, int(random.integers(8, 30)), int(random.integers(120, 255)), int(random.integers(-1, 3)) or 1)
        yield cv2.GaussianBlur(drawn, (5, 5), 1)
    yield np.zeros((30, 30), np.uint8)


@function("HoughCircles", relative=1e-5)
def hough_circles(random):
    for picture in circle_pictures(random):
        for dp, distance, votes in ((1, 20, 18), (1.5, 10, 25), (2, 30, 30)):
            yield call(picture, cv2.HOUGH_GRADIENT, dp, distance, param1=100, param2=votes)
            yield call(picture, cv2.HOUGH_GRADIENT, dp, distance, None, 80, votes, 5, 40)
            yield call(picture, cv2.HOUGH_GRADIENT, dp, distance, None, 80, votes, 10, -1)


@function("HoughCirclesWithAccumulator", relative=1e-5)
def hough_circles_votes(random):
    for picture in circle_pictures(random):
        yield call(picture, cv2.HOUGH_GRADIENT, 1, 20, param1=100, param2=18)


def flow_apart(expected, found):
    """Points that both found; few may differ in whether they were."""
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(expected, found)):
        return np.inf
    both = (expected[1] == 1).ravel() & (found[1] == 1).ravel()
    if (expected[1] != found[1]).mean() > 0.02:
        return np.inf
    if not both.any():
        return 0
    return max(np.abs(expected[0] - found[0]).reshape(len(both), 2)[both].max(), np.abs(expected[2] - found[2])[both].max())


@function("calcOpticalFlowPyrLK", within=2e-3, judge=flow_apart)
def optical_flow(random):
    for channels in (1, 3):
        for height, width in ((100, 120), (71, 203)):
            before = cv2.GaussianBlur(image(random, height + 12, width + 12, channels, "uint8"), (9, 9), 2)
            shift = random.integers(0, 7, 2)
            after = before[shift[0]:shift[0] + height, shift[1]:shift[1] + width]
            before = before[3:3 + height, 3:3 + width]
            points = (random.random((40, 1, 2)) * (width - 30, height - 30) + 15).astype(np.float32)
            yield call(before, after, points, None)
            yield call(before, after, points, None, winSize=(15, 11), maxLevel=2)
            yield call(before, after, points.reshape(-1, 2), (points + 1).reshape(-1, 2), flags=cv2.OPTFLOW_USE_INITIAL_FLOW, maxLevel=0)
            yield call(before, after, points, None, flags=cv2.OPTFLOW_LK_GET_MIN_EIGENVALS, criteria=(3, 10, 0.03))


def filters_apart(expected, found):
    random = np.random.default_rng(1)
    n, m = expected.statePre.shape[0], expected.measurementMatrix.shape[0]
    dtype = expected.statePre.dtype
    transition = np.eye(n) + np.eye(n, k=1) * 0.1
    seen = random.normal(size=(m, n))
    for kalman in (expected, found):
        kalman.transitionMatrix = transition.astype(dtype)
        kalman.measurementMatrix = seen.astype(dtype)
        kalman.processNoiseCov = (np.eye(n) * 0.01).astype(dtype)
        kalman.errorCovPost = np.eye(n, dtype=dtype)
    worst = 0.0
    for _ in range(12):
        measurement, control = random.normal(size=(m, 1)).astype(dtype), random.normal(size=(2, 1)).astype(dtype)
        for step in (lambda kalman: kalman.predict(control) if kalman.controlMatrix is not None else kalman.predict(), lambda kalman: kalman.correct(measurement)):
            worst = max(worst, float(np.abs(step(expected) - step(found)).max()))
        for name in ("statePre", "statePost", "errorCovPre", "errorCovPost", "gain"):
            worst = max(worst, float(np.abs(getattr(expected, name) - getattr(found, name)).max()))
    return worst


@function("KalmanFilter", relative=1e-4, judge=filters_apart)
def kalman_filter(random):
    for kind in (cv2.CV_32F, cv2.CV_64F):
        for n, m in ((1, 1), (2, 1), (4, 2), (7, 4)):
            for controls in (0, 2):
                yield call(n, m, controls, kind)
