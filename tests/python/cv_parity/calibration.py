# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import call, function, image


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


LENS = np.float64([[310, 0, 158], [0, 305, 122], [0, 0, 1]])
LENSES = (None, (-0.2, 0.05, 0.001, -0.002), (-0.28, 0.07, 0.0002, 0.0001, 0.01), (0.1, -0.05, 0.001, 0.002, 0.01, 0.05, 0.01, 0.002),
          (0.1, -0.05, 0.001, 0.002, 0.01, 0.05, 0.01, 0.002, 0.001, 0.002, -0.001, 0.0005),
          (0.1, -0.05, 0.001, 0.002, 0.01, 0.05, 0.01, 0.002, 0.001, 0.002, -0.001, 0.0005, 0.02, -0.03))


def lenses():
    for lens in LENSES:
        yield None if lens is None else np.float64(lens)
    yield np.float32(LENSES[2]).reshape(5, 1)
    yield np.zeros((1, 5))


@function("Rodrigues", relative=1e-5)
def rodrigues(random):
    for dtype in (np.float32, np.float64):
        for scale in (0.01, 1, 1.8):
            for shape in ((3,), (3, 1), (1, 3)):
                yield call((random.normal(0, 1, 3) * scale).reshape(shape).astype(dtype))
            yield call(cv2.Rodrigues(random.normal(0, 1, 3) * scale)[0].astype(dtype))
    yield call(np.zeros(3))
    yield call(np.eye(3))
    yield call(np.float64([[-1, 0, 0], [0, -1, 0], [0, 0, 1]]))
    yield call(np.zeros(4))
    yield call(np.zeros(3, np.int32))


@function("projectPoints", relative=1e-4)
def project_points(random):
    for dtype in (np.float32, np.float64):
        for n in (1, 8, 50):
            points = (random.normal(0, 1, (n, 3)) + [0, 0, 6]).astype(dtype)
            for lens in lenses():
                rotation = random.normal(0, 0.2, 3)
                yield call(points, rotation, random.normal(0, 0.5, 3), LENS, lens)
                yield call(points.reshape(n, 1, 3), cv2.Rodrigues(rotation)[0], random.normal(0, 0.5, (3, 1)), LENS, lens, aspectRatio=1.25)
    yield call(points, np.zeros(3), np.zeros(3), np.eye(2), None)
    yield call(points, np.zeros(4), np.zeros(3), LENS, None)
    yield call(points[:, :2].copy(), np.zeros(3), np.zeros(3), LENS, None)
    yield call(points, np.zeros(3), np.zeros(3), LENS, np.zeros(6))


@function("drawFrameAxes")
def draw_frame_axes(random):
    for _ in range(20):
        canvas, pose = np.full((240, 320, 3), 50, np.uint8), (random.normal(0, 0.5, 3), np.append(random.normal(0, 0.3, 2), 4.0))
        yield call(canvas, LENS, np.zeros(4), *pose, float(random.uniform(0.2, 1)), int(random.integers(1, 5)))
    yield call(canvas, LENS, None, *pose, 0.5)


@function("undistortPoints", relative=1e-4)
def undistort_points(random):
    turn = cv2.Rodrigues(np.float64([0.1, -0.05, 0.02]))[0]
    for dtype in (np.float32, np.float64):
        points = random.uniform(0, 300, (20, 1, 2)).astype(dtype)
        for lens in lenses():
            yield call(points, LENS, lens)
            yield call(points[:, 0], LENS, lens, P=LENS)
            yield call(points, LENS.astype(np.float32), lens, R=turn, P=np.hstack((LENS, np.ones((3, 1)))))
    yield call(points.astype(np.int32), LENS, None)


@function("undistortImagePoints", relative=1e-4)
def undistort_image_points(random):
    for lens in lenses():
        if lens is not None:
            yield call(random.uniform(0, 300, (20, 1, 2)), LENS, lens)


@function("undistortPointsIter", relative=1e-4)
def undistort_points_iter(random):
    for lens in lenses():
        for criteria in ((1, 10, 0), (3, 40, 1e-5)):
            yield call(random.uniform(0, 300, (20, 1, 2)), LENS, lens, None, LENS, criteria)


@function("initUndistortRectifyMap", relative=1e-4)
def rectify_map(random):
    turn = cv2.Rodrigues(np.float64([0.1, -0.05, 0.02]))[0]
    for lens in lenses():
        for size in ((1, 1), (33, 20), (320, 240)):
            yield call(LENS, lens, None, LENS, size, cv2.CV_32FC1)
            yield call(LENS, lens, turn, None, size, cv2.CV_32FC2)
            yield call(LENS, lens, turn, np.hstack((LENS, np.ones((3, 1)))), size, cv2.CV_32FC1)
    yield call(LENS, np.zeros(6), None, None, (5, 5), cv2.CV_32FC1)
    yield call(LENS, None, None, None, (5, 5), cv2.CV_8UC1)


def places(expected, found):
    """In 1/32 of a pixel, whose rounding depends on the last bit."""
    both = [(32 * whole.astype(int) + np.stack((parts % 32, parts // 32), -1)) for whole, parts in (expected, found)]
    return float(np.abs(both[0] - both[1]).max()) if found[1].dtype == np.uint16 else np.inf


@function("initUndistortRectifyMap", within=1, judge=places)
def rectify_map_fixed(random):
    for lens in lenses():
        for kind in (0, cv2.CV_16SC2):
            yield call(LENS, lens, None, LENS, (320, 240), kind)


@function("undistort", within=1)
def undistort(random):
    for channels in (1, 3, 4):
        picture = image(random, 240, 320, channels, "uint8", smooth=True)
        for lens in lenses():
            yield call(picture, LENS, lens)
            yield call(picture, LENS, lens, newCameraMatrix=np.float32([[250, 0, 150], [0, 260, 118], [0, 0, 1]]))
    yield call(image(random, 40, 50, 1, "uint16", smooth=True), LENS, None)


@function("getDefaultNewCameraMatrix")
def default_matrix(random):
    yield call(LENS)
    yield call(LENS.astype(np.float32), (640, 480), True)


@function("getOptimalNewCameraMatrix", relative=1e-4)
def optimal_matrix(random):
    for lens in lenses():
        for alpha in (0, 0.4, 1):
            for centered in (False, True):
                yield call(LENS, lens, (320, 240), alpha, (300, 200), centered)
                yield call(LENS.astype(np.float32), lens, (320, 240), alpha, centerPrincipalPoint=centered)


WIDE = (np.float64([-0.02, 0.01, -0.005, 0.001]), np.float64([[0.1], [-0.05], [0.02], [0.003]]), np.zeros(4))
TURN = np.float64([0.1, -0.05, 0.02])


@function("fisheye.distortPoints", relative=1e-4)
def fisheye_distort(random):
    for lens in WIDE:
        for dtype in (np.float32, np.float64):
            yield call(random.normal(0, 0.7, (20, 1, 2)).astype(dtype), LENS, lens)
            yield call(random.normal(0, 0.7, (1, 20, 2)).astype(dtype), LENS.astype(np.float32), lens, alpha=0.1)
    yield call(np.zeros((4, 2)), LENS, lens)


@function("fisheye.undistortPoints", relative=1e-4)
def fisheye_undistort(random):
    for lens in WIDE:
        for dtype in (np.float32, np.float64):
            points = random.uniform(0, 300, (20, 1, 2)).astype(dtype)
            yield call(points, LENS, lens)
            yield call(points, LENS, lens, R=TURN, P=LENS)
            yield call(points, LENS, lens, R=cv2.Rodrigues(TURN)[0], criteria=(1, 7, 0))


@function("fisheye.initUndistortRectifyMap", relative=1e-4)
def fisheye_map(random):
    for lens in WIDE:
        yield call(LENS, lens, None, LENS, (50, 40), cv2.CV_32FC1)
        yield call(LENS, lens, TURN, LENS, (50, 40), cv2.CV_32FC1)


@function("fisheye.undistortImage", within=1)
def fisheye_image(random):
    for channels in (1, 3):
        for lens in WIDE:
            yield call(image(random, 240, 320, channels, "uint8", smooth=True), LENS, lens, Knew=LENS)
            yield call(image(random, 240, 320, channels, "uint8", smooth=True), LENS, lens, Knew=LENS * [[0.5], [0.5], [1]], new_size=(200, 150))


@function("fisheye.estimateNewCameraMatrixForUndistortRectify", relative=1e-4)
def fisheye_camera(random):
    for lens in WIDE:
        for balance in (0, 0.5, 1):
            yield call(LENS, lens, (320, 240), None, balance=balance)
            yield call(LENS.astype(np.float32), lens, (320, 240), np.eye(3), balance=balance, new_size=(100, 90), fov_scale=1.2)
