# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import row


LENS = np.float64([[1500, 0, 958], [0, 1500, 541], [0, 0, 1]])
DISTORTION = np.float64([-0.28, 0.07, 0.0002, 0.0001, 0.01])


@row("undistort")
def undistort(cv, p):
    return lambda: cv.undistort(p.color, LENS, DISTORTION)


@row("initUndistortRectifyMap")
def rectify_map(cv, p):
    return lambda: cv.initUndistortRectifyMap(LENS, DISTORTION, None, LENS, (p.width, p.height), cv2.CV_16SC2)


@row("initUndistortRectifyMap floats")
def rectify_map_floats(cv, p):
    return lambda: cv.initUndistortRectifyMap(LENS, DISTORTION, None, LENS, (p.width, p.height), cv2.CV_32FC1)


@row("undistortPoints")
def undistort_points(cv, p):
    points = np.random.default_rng(1).uniform(0, 1000, (p.height, 1, 2))
    return lambda: cv.undistortPoints(points, LENS, DISTORTION)


@row("projectPoints")
def project_points(cv, p):
    points = np.random.default_rng(1).uniform(1, 2, (p.height, 1, 3))
    return lambda: cv.projectPoints(points, np.float64([0.1, 0.2, 0.3]), np.float64([1, 2, 3]), LENS, DISTORTION)


@row("Rodrigues")
def rodrigues(cv, p):
    return lambda: cv.Rodrigues(np.float64([0.1, 0.2, 0.3]))


@row("getOptimalNewCameraMatrix")
def optimal_matrix(cv, p):
    return lambda: cv.getOptimalNewCameraMatrix(LENS, DISTORTION, (p.width, p.height), 0.5)
