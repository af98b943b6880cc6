#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MNN.cv through minnow.compat: every function and constant of MNN 3.6.1, called with MNN's parameters, against OpenCV."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import cv2
    import numpy as np

    import minnow
    import minnow.compat
    import MNN.cv as cv
    import MNN.numpy
except ImportError as error:
    print(error)
    sys.exit(77)

NAMES = json.loads((Path(__file__).resolve().parent / "mnn" / "cv_names.json").read_text())
# MNN's numbers where OpenCV's differ: the names mean OpenCV's border and flag, which programs give by name.
RENUMBERED = {"BORDER_DEFAULT", "BORDER_REFLECT101", "BORDER_REFLECT_101", "IMREAD_ANYDEPTH"}

RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.integers(0, 256, (24, 32, 3), "uint8")
OTHER, GRAY, FLOATS = IMAGE[::-1].copy(), IMAGE[..., 0].copy(), IMAGE.astype("float32")
SMOOTH = (np.add.outer(np.arange(24) * 5, np.arange(32) * 3)[..., None] + np.zeros(3)).astype("uint8")
BLOBS = np.zeros((40, 50), "uint8")
BLOBS[5:20, 8:30] = BLOBS[25:35, 20:45] = 255
POINTS, TARGETS = np.array([[1, 1], [20, 3], [18, 15], [2, 12]], "float32"), np.array([[2, 2], [22, 1], [19, 17], [1, 14]], "float32")
KERNEL = np.ones((3, 3), "uint8")
AFFINE, PROJECTIVE = cv2.getRotationMatrix2D((8, 9), 30, 1.2), cv2.getPerspectiveTransform(POINTS, TARGETS)
MAP_X, MAP_Y = np.meshgrid(np.arange(32, dtype="float32") * np.float32(0.9), np.arange(24, dtype="float32") * np.float32(0.8))
MASK = (GRAY > 99).astype("uint8")
WEIGHTS = [np.full((24, 32), weight, "float32") for weight in (0.3, 0.6)]
SPACE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]], "float32")
CAMERA = np.array([[200, 0, 128], [0, 200, 128], [0, 0, 1]], "float32")
SEEN = cv2.projectPoints(SPACE, np.array([0.1, -0.2, 0.05]), np.array([0.1, -0.2, 6.0]), CAMERA, np.zeros(5))[0].reshape(-1, 2).astype("float32")


def three(matrix):
    return np.vstack([matrix, [0, 0, 1]]).reshape(-1)


def prepared(image, code, mean, norm):
    return (cv2.cvtColor(image, code).astype("float32") - np.array(mean, "float32")) * np.array(norm, "float32")


def drawn(draw, shape=None):
    image = IMAGE.copy() if shape is None else np.zeros(shape, "uint8")
    draw(image)
    return image


# name: arguments in MNN's order, OpenCV's answer, largest difference
CASES = {
    "GaussianBlur": [((IMAGE, (3, 3), 1.5), lambda: cv2.GaussianBlur(IMAGE, (3, 3), 1.5), 1), ((IMAGE, (3, 5), 1.5, 0.7, 1), lambda: cv2.GaussianBlur(IMAGE, (3, 5), 1.5, sigmaY=0.7, borderType=1), 1)],
    "Laplacian": [((FLOATS, -1, 3, 2, 1, 1), lambda: cv2.Laplacian(FLOATS, -1, ksize=3, scale=2, delta=1, borderType=1), 1e-2)],
    "Rodrigues": [((np.array([0.1, 0.2, 0.3]),), lambda: cv2.Rodrigues(np.array([0.1, 0.2, 0.3]))[0], 1e-6)],
    "Scharr": [((FLOATS, -1, 1, 0, 2, 1, 1), lambda: cv2.Scharr(FLOATS, -1, 1, 0, scale=2, delta=1, borderType=1), 1e-2)],
    "Sobel": [((FLOATS, -1, 1, 0, 5, 2, 1, 1), lambda: cv2.Sobel(FLOATS, -1, 1, 0, ksize=5, scale=2, delta=1, borderType=1), 2e-2)],
    "adaptiveThreshold": [((GRAY, 255.0, 0, 0, 5, 3.0), lambda: cv2.adaptiveThreshold(GRAY, 255, 0, 0, 5, 3), 0)],
    "addWeighted": [((IMAGE, 0.3, SMOOTH, 0.5, 4), lambda: cv2.addWeighted(IMAGE, 0.3, SMOOTH, 0.5, 4), 1)],
    "arrowedLine": [((IMAGE, (1, 2), (20, 15), (255, 0, 0), 2), lambda: drawn(lambda x: cv2.arrowedLine(x, (1, 2), (20, 15), (255, 0, 0), 2)), 0)],
    "bilateralFilter": [((IMAGE, 5, 30.0, 20.0, 1), lambda: cv2.bilateralFilter(IMAGE, 5, 30, 20, borderType=1), 1)],
    **{f"bitwise_{name}": [((IMAGE, OTHER), lambda name=name: getattr(cv2, f"bitwise_{name}")(IMAGE, OTHER), 0)] for name in ("and", "or", "xor")},
    "blendLinear": [((FLOATS, FLOATS, *WEIGHTS), lambda: cv2.blendLinear(FLOATS, FLOATS, *WEIGHTS), 1e-3)],
    "blur": [((IMAGE, (3, 5), 1), lambda: cv2.blur(IMAGE, (3, 5), borderType=1), 1)],
    "boundingRect": [((POINTS,), lambda: cv2.boundingRect(POINTS), 0)],
    "boxFilter": [((FLOATS, -1, (3, 3), False, 1), lambda: cv2.boxFilter(FLOATS, -1, (3, 3), normalize=False, borderType=1), 1e-2)],
    "boxPoints": [((((5, 6), (7, 8), 30),), lambda: cv2.boxPoints(((5, 6), (7, 8), 30)), 1e-4)],
    "calcHist": [(([IMAGE], [0], None, [16], [0.0, 256.0]), lambda: cv2.calcHist([IMAGE], [0], None, [16], [0, 256]).reshape(-1), 0)],
    "circle": [((IMAGE, (12, 12), 6, (0, 255, 0), 1), lambda: drawn(lambda x: cv2.circle(x, (12, 12), 6, (0, 255, 0), 1)), 0)],
    "connectedComponentsWithStats": [((BLOBS, 4), lambda: (lambda n, labels, stats, centers: (n, labels[None, ..., None], stats, centers))(*cv2.connectedComponentsWithStats(BLOBS, connectivity=4)), 1e-5)],
    "contourArea": [((POINTS, True), lambda: cv2.contourArea(POINTS, True), 1e-3)],
    "convertMaps": [((MAP_X, MAP_Y, cv2.CV_16SC2, False), lambda: cv2.convertMaps(MAP_X, MAP_Y, cv2.CV_16SC2), 0)],
    "convexHull": [((POINTS, True), lambda: cv2.convexHull(POINTS, clockwise=True), 0), ((POINTS, False, False), lambda: cv2.convexHull(POINTS, returnPoints=False), 0)],
    "copyTo": [((IMAGE, MASK), lambda: cv2.copyTo(IMAGE, MASK), 0), ((IMAGE,), lambda: IMAGE, 0)],
    "cvtColor": [((IMAGE, cv2.COLOR_BGR2GRAY), lambda: cv2.cvtColor(IMAGE, cv2.COLOR_BGR2GRAY)[..., None], 1), ((IMAGE, cv2.COLOR_BGR2HSV, 0), lambda: cv2.cvtColor(IMAGE, cv2.COLOR_BGR2HSV), 1)],
    "cvtColorTwoPlane": [((GRAY, IMAGE[:12, :16, :2].copy(), cv2.COLOR_YUV2BGR_NV21), lambda: cv2.cvtColorTwoPlane(GRAY, IMAGE[:12, :16, :2].copy(), cv2.COLOR_YUV2BGR_NV21), 1)],
    "dilate": [((IMAGE, KERNEL, 2, 1), lambda: cv2.dilate(IMAGE, KERNEL, iterations=2, borderType=1), 0)],
    "erode": [((IMAGE, KERNEL, 2, 1), lambda: cv2.erode(IMAGE, KERNEL, iterations=2, borderType=1), 0)],
    "drawContours": [((np.zeros((40, 50, 3), "uint8"), [POINTS.astype("int32").reshape(-1, 1, 2)], -1, (0, 0, 255)), lambda: drawn(lambda x: cv2.drawContours(x, [POINTS.astype("int32").reshape(-1, 1, 2)], -1, (0, 0, 255)), (40, 50, 3)), 0)],
    "fillPoly": [((IMAGE, [POINTS.astype("int32")], (0, 0, 255)), lambda: drawn(lambda x: cv2.fillPoly(x, [POINTS.astype("int32")], (0, 0, 255))), 0)],
    "filter2D": [((FLOATS, -1, KERNEL.astype("float32"), 3, 1), lambda: cv2.filter2D(FLOATS, -1, KERNEL.astype("float32"), delta=3, borderType=1), 1e-2)],
    "findContours": [((BLOBS, 0, 2), lambda: list(cv2.findContours(BLOBS, 0, 2)), 0), ((BLOBS, 0, 2, (3, 4)), lambda: list(cv2.findContours(BLOBS, 0, 2, offset=(3, 4))), 0)],
    "flip": [((IMAGE, code), lambda code=code: cv2.flip(IMAGE, code), 0) for code in (-1, 0, 1)],
    "getAffineTransform": [((POINTS[:3], TARGETS[:3]), lambda: three(cv2.getAffineTransform(POINTS[:3], TARGETS[:3])), 1e-5), ((POINTS[:3].reshape(-1).tolist(), TARGETS[:3].reshape(-1).tolist()), lambda: three(cv2.getAffineTransform(POINTS[:3], TARGETS[:3])), 1e-5)],
    "getDerivKernels": [((1, 1, 3, True), lambda: [kernel.reshape(1, -1) for kernel in cv2.getDerivKernels(1, 1, 3, normalize=True)], 1e-6)],
    "getGaborKernel": [(((5, 5), 1.0, 0.5, 2.0, 1.0), lambda: cv2.getGaborKernel((5, 5), 1, 0.5, 2, 1), 1e-6)],
    "getGaussianKernel": [((5, 1.0), lambda: cv2.getGaussianKernel(5, 1).reshape(1, -1), 1e-6)],
    "getPerspectiveTransform": [((POINTS, TARGETS), lambda: PROJECTIVE.reshape(-1), 1e-5)],
    "getRectSubPix": [((IMAGE, (7, 5), (10.5, 9.0)), lambda: cv2.getRectSubPix(IMAGE, (7, 5), (10.5, 9)), 1)],
    "getRotationMatrix2D": [(((8.0, 9.0), 30.0, 1.2), lambda: three(AFFINE), 1e-6)],
    "getStructuringElement": [((shape, (5, 5)), lambda shape=shape: cv2.getStructuringElement(shape, (5, 5)), 0) for shape in range(3)],
    "haveImageReader": [], "haveImageWriter": [], "imdecode": [], "imencode": [], "imread": [], "imwrite": [],  # test_files
    "hconcat": [(([IMAGE, OTHER],), lambda: cv2.hconcat([IMAGE, OTHER]), 0)], "vconcat": [(([IMAGE, OTHER],), lambda: cv2.vconcat([IMAGE, OTHER]), 0)],
    "invertAffineTransform": [((AFFINE,), lambda: three(cv2.invertAffineTransform(AFFINE)), 1e-6)],
    "line": [((IMAGE, (1, 2), (20, 15), (255, 0, 0), 2, 8), lambda: drawn(lambda x: cv2.line(x, (1, 2), (20, 15), (255, 0, 0), 2, 8)), 0)],
    "mean": [((IMAGE,), lambda: cv2.mean(IMAGE), 1e-3), ((IMAGE, MASK), lambda: cv2.mean(IMAGE, MASK), 1e-3)],
    "merge": [(([GRAY, GRAY, MASK],), lambda: cv2.merge([GRAY, GRAY, MASK]), 0)],
    "minAreaRect": [((POINTS,), lambda: cv2.minAreaRect(POINTS), 1e-3)],
    "normalize": [((FLOATS, None, 0.0, 10.0, cv2.NORM_MINMAX), lambda: cv2.normalize(FLOATS, None, 0, 10, cv2.NORM_MINMAX), 1e-4), ((FLOATS, None, 3.0), lambda: cv2.normalize(FLOATS, None, 3), 1e-4)],
    "pyrDown": [((IMAGE, (16, 12), 1), lambda: cv2.pyrDown(IMAGE, dstsize=(16, 12), borderType=1), 1), ((IMAGE,), lambda: cv2.pyrDown(IMAGE), 1)], "pyrUp": [((IMAGE,), lambda: cv2.pyrUp(IMAGE), 1)],
    "rectangle": [((IMAGE, (2, 3), (20, 18), (0, 0, 255), 1), lambda: drawn(lambda x: cv2.rectangle(x, (2, 3), (20, 18), (0, 0, 255), 1)), 0)],
    "remap": [((IMAGE, MAP_X, MAP_Y, 1, 1), lambda: cv2.remap(IMAGE, MAP_X, MAP_Y, 1, borderMode=1), 1)],
    "resize": [((IMAGE, (16, 12)), lambda: cv2.resize(IMAGE, (16, 12)), 1), ((IMAGE, None, 0.5, 0.5, cv2.INTER_NEAREST), lambda: cv2.resize(IMAGE, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_NEAREST), 0),
               ((SMOOTH, (16, 12), 0, 0, 1, cv2.COLOR_BGR2RGB, [10, 20, 30], [0.5, 0.25, 2.0]), lambda: prepared(cv2.resize(SMOOTH, (16, 12)), cv2.COLOR_BGR2RGB, [10, 20, 30], [0.5, 0.25, 2]), 2),
               ((np.vstack([GRAY, GRAY[:12]]), (16, 12), 0, 0, 1, cv2.COLOR_YUV2RGB_NV21, [10, 20, 30], [1, 1, 1]), lambda: cv2.resize(cv2.cvtColor(np.vstack([GRAY, GRAY[:12]]), cv2.COLOR_YUV2RGB_NV21), (16, 12)).astype("float32") - np.array([10, 20, 30], "float32"), 2)],
    "rotate": [((IMAGE, code), lambda code=code: cv2.rotate(IMAGE, code), 0) for code in range(3)],
    "sepFilter2D": [((FLOATS, -1, KERNEL[:1].astype("float32"), KERNEL[:1].astype("float32"), 3, 1), lambda: cv2.sepFilter2D(FLOATS, -1, KERNEL[:1].astype("float32"), KERNEL[:1].astype("float32"), delta=3, borderType=1), 1e-2)],
    "solve": [((np.array([[3, 1], [1, 2]], "float32"), np.array([[9], [8]], "float32"), 0), lambda: (True, np.array([[2], [3]], "float32")), 1e-5)],
    "solvePnP": [((SPACE, SEEN, CAMERA, np.zeros((1, 5), "float32"), 0), lambda: (True, np.array([[0.1], [-0.2], [0.05]]), np.array([[0.1], [-0.2], [6.0]])), 2e-3)],
    "spatialGradient": [((GRAY, 3, 1), lambda: cv2.spatialGradient(GRAY, ksize=3, borderType=1), 0)],
    "split": [((IMAGE,), lambda: list(cv2.split(IMAGE)), 0)],
    "sqrBoxFilter": [((FLOATS, -1, (3, 3), True, 1), lambda: cv2.sqrBoxFilter(FLOATS, -1, (3, 3), normalize=True, borderType=1), 0.1)],
    "threshold": [((FLOATS, 100.0, 255.0, 0), lambda: cv2.threshold(FLOATS, 100, 255, 0)[1], 0)],
    "warpAffine": [((SMOOTH, AFFINE, (30, 20)), lambda: cv2.warpAffine(SMOOTH, AFFINE, (30, 20)), 1), ((SMOOTH, AFFINE, (30, 20), cv2.INTER_NEAREST, 1, 0, cv2.COLOR_BGR2RGB, [10, 20, 30], [0.5, 0.25, 2.0]), lambda: prepared(cv2.warpAffine(SMOOTH, AFFINE, (30, 20), flags=0, borderMode=1), cv2.COLOR_BGR2RGB, [10, 20, 30], [0.5, 0.25, 2]), 2)],
    "warpPerspective": [((SMOOTH, PROJECTIVE, (30, 20), 1, 1), lambda: cv2.warpPerspective(SMOOTH, PROJECTIVE, (30, 20), flags=1, borderMode=1), 1)],
}


def as_var(value):
    if isinstance(value, np.ndarray):
        return MNN.numpy.array(value.copy())
    return type(value)(as_var(item) for item in value) if isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) for item in value) else value


class CompatCv(unittest.TestCase):
    def same(self, found, expected, most):
        if isinstance(expected, (list, tuple)) and not hasattr(found, "shape"):
            self.assertEqual(len(found), len(expected))
            for pair in zip(found, expected):
                self.same(*pair, most)
            return
        found = np.array(found.read() if hasattr(found, "read") else found, "float64")
        self.assertEqual(found.shape, np.shape(expected))
        np.testing.assert_allclose(found, np.asarray(expected, "float64"), rtol=0, atol=most)

    def test_every_constant(self):
        self.assertEqual(len(NAMES["constants"]), 226)  # and the name True
        for name, value in NAMES["constants"].items():
            with self.subTest(name):
                self.assertEqual(getattr(cv, name), getattr(cv2, name) if name in RENUMBERED else value)

    def test_every_function(self):
        self.assertEqual(set(CASES), set(NAMES["functions"]))
        self.assertEqual(len(CASES), 70)
        for name, cases in CASES.items():
            for given, oracle, most in cases:
                with self.subTest(f"{name} {str(given)[-60:]}"):
                    self.same(getattr(cv, name)(*map(as_var, given)), oracle(), most)

    def test_maps_are_matrices_of_images(self):
        matrix = cv.getRotationMatrix2D((8, 9), 30, 1.2)
        self.same(cv.warpAffine(as_var(SMOOTH), matrix, (30, 20)), cv2.warpAffine(SMOOTH, AFFINE, (30, 20)), 1)
        self.same(cv.warpPerspective(as_var(SMOOTH), cv.getPerspectiveTransform(POINTS, TARGETS), (30, 20)), cv2.warpPerspective(SMOOTH, PROJECTIVE, (30, 20)), 1)
        self.same(cv.invertAffineTransform(matrix), three(cv2.invertAffineTransform(AFFINE)), 1e-5)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/p.png"
            self.assertTrue(cv.imwrite(path, as_var(IMAGE)))
            self.assertTrue(cv.haveImageReader(path) and cv.haveImageWriter(path))
            self.same(cv.imread(path), IMAGE, 0)
            self.same(cv.imread(path, cv.IMREAD_GRAYSCALE), cv2.imread(path, 0)[..., None], 1)
            done, data = cv.imencode(".png", as_var(IMAGE))
            self.assertTrue(done and isinstance(data, list))
            self.same(cv.imdecode(as_var(np.array(data, "uint8"))), IMAGE, 0)

    def test_wrong_calls(self):
        for call, words in ((lambda: cv.blur(as_var(IMAGE), (3, 3), 1, 2), "blur() takes at most 3 arguments by position (src, ksize, borderType), not 4"),
                            (lambda: cv.blur(as_var(IMAGE), (3, 3), ksize=(3, 3)), "is given ksize twice"), (lambda: cv.resize(as_var(IMAGE), (4, 4), mean=[1.0]), "mean has 1 numbers for a picture of 3 channels")):
            with self.assertRaises(minnow.Error) as raised:
                call()
            self.assertIn(words, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
