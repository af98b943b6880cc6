#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times functions of minnow.cv next to OpenCV's over dtypes, numbers of channels and masks, and prints the calls whose ratio (OpenCV's time over
Minnow's, the least of six turns each) is below a bound, the slowest first. It finds paths that bench/vision_functions.py, with one picture for each
function, does not take.

usage: bench/vision_variants.py [--below RATIO] [NAME]...   NAME: a part of a call's name
Run it with PYTHONPATH=build/release/python and build/venv/bin/python.
"""
from __future__ import annotations

import argparse
import os
import time

import cv2
import minnow.cv
import numpy as np

WIDTH, HEIGHT = 640, 480
ALL = ("u8", "u16", "i16", "i32", "f32", "f64")
MOST = ("u8", "u16", "i16", "f32", "f64")
COMMON = ("u8", "u16", "i16", "f32")
RANDOM = np.random.default_rng(0)


def picture(dtype: str, channels: int) -> np.ndarray:
    bytes_ = RANDOM.integers(0, 256, (HEIGHT, WIDTH) if channels == 1 else (HEIGHT, WIDTH, channels)).astype(np.uint8)
    smooth = cv2.GaussianBlur(bytes_, (0, 0), 2)
    if dtype in ("f32", "f64"):
        return smooth.astype(dtype[0] + str(int(dtype[1:]) // 8)) / 255
    factor, shift = {"u8": (1, 0), "u16": (257, 0), "i16": (100, -12000), "i32": (1000, 0)}[dtype]
    return (smooth.astype(np.int64) * factor + shift).astype(dtype[0] + str(int(dtype[1:]) // 8))


PICTURES = {(dtype, channels): picture(dtype, channels) for dtype in ALL for channels in (1, 2, 3, 4)}
WEIGHTS = PICTURES["f32", 1]
MASK = (RANDOM.random((HEIGHT, WIDTH)) > 0.5).astype(np.uint8) * 255
SQUARE, ELLIPSE = np.ones((3, 3), np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7))
KERNEL, BINOMIAL = RANDOM.standard_normal((5, 5)).astype(np.float32), np.array([1, 4, 6, 4, 1], np.float32) / 16
AFFINE = np.array([[0.9, 0.1, 5], [-0.1, 1.05, 3]], np.float32)
PROJECTION = np.array([[0.9, 0.1, 5], [-0.1, 1.05, 3], [1e-4, 1e-4, 1]], np.float32)
MAP_X, MAP_Y = np.meshgrid(np.arange(WIDTH, dtype=np.float32) * 0.97 + 3, np.arange(HEIGHT, dtype=np.float32) * 1.02 - 2)
CAMERA = np.array([[500, 0, 320], [0, 500, 240], [0, 0, 1.0]])
TABLES = RANDOM.integers(0, 255, (1, 256, 3), dtype=np.uint8)
# Name, call, dtypes and numbers of channels.
CALLS = [
    ("add", lambda cv, x: cv.add(x, x), ALL, (1, 3)),
    ("add mask", lambda cv, x: cv.add(x, x, mask=MASK), ALL, (1, 3)),
    ("sub scalar", lambda cv, x: cv.subtract(x, (1, 2, 3, 4)), ALL, (1, 3)),
    ("multiply .5", lambda cv, x: cv.multiply(x, x, scale=0.5), ALL, (1,)),
    ("divide", lambda cv, x: cv.divide(x, x), ALL, (1,)),
    ("absdiff", lambda cv, x: cv.absdiff(x, x), ALL, (1,)),
    ("addWeighted", lambda cv, x: cv.addWeighted(x, 0.3, x, 0.6, 1), ALL, (1,)),
    ("bitwise_not", lambda cv, x: cv.bitwise_not(x), ALL, (1,)),
    ("min", lambda cv, x: cv.min(x, x), ALL, (1,)),
    ("compare", lambda cv, x: cv.compare(x, x, cv.CMP_GT), ALL, (1,)),
    ("inRange", lambda cv, x: cv.inRange(x, (10, 10, 10, 10), (200, 200, 200, 200)), ALL, (1, 3)),
    ("mean", lambda cv, x: cv.mean(x), ALL, (1, 3)),
    ("mean mask", lambda cv, x: cv.mean(x, MASK), ALL, (1, 3)),
    ("meanStdDev", lambda cv, x: cv.meanStdDev(x), ALL, (1, 3)),
    ("meanStdDev mask", lambda cv, x: cv.meanStdDev(x, mask=MASK), ALL, (1, 3)),
    ("minMaxLoc", lambda cv, x: cv.minMaxLoc(x), ALL, (1,)),
    ("minMaxLoc mask", lambda cv, x: cv.minMaxLoc(x, MASK), ALL, (1,)),
    ("norm", lambda cv, x: cv.norm(x), ALL, (1, 3)),
    ("norm L1 diff", lambda cv, x: cv.norm(x, x, cv.NORM_L1), ALL, (1,)),
    ("norm inf", lambda cv, x: cv.norm(x, cv.NORM_INF), ALL, (1,)),
    ("norm mask", lambda cv, x: cv.norm(x, cv.NORM_L2, MASK), ALL, (1, 3)),
    ("countNonZero", lambda cv, x: cv.countNonZero(x), ALL, (1,)),
    ("sum", lambda cv, x: cv.sumElems(x), ALL, (1, 3)),
    ("normalize mm", lambda cv, x: cv.normalize(x, None, 0, 200, cv.NORM_MINMAX), ALL, (1, 3)),
    ("normalize f32", lambda cv, x: cv.normalize(x, None, 0, 1, cv.NORM_MINMAX, cv.CV_32F), ALL, (1, 3)),
    ("split", lambda cv, x: cv.split(x), ALL, (2, 3, 4)),
    ("merge", lambda cv, x: cv.merge([x, x, x]), ALL, (1,)),
    ("flip0", lambda cv, x: cv.flip(x, 0), ALL, (1, 3)),
    ("flip1", lambda cv, x: cv.flip(x, 1), ALL, (1, 3, 4)),
    ("rotate", lambda cv, x: cv.rotate(x, 0), ALL, (1, 3, 4)),
    ("rotate180", lambda cv, x: cv.rotate(x, 1), ALL, (1, 3)),
    ("transpose", lambda cv, x: cv.transpose(x), ALL, (1, 3, 4)),
    ("extract", lambda cv, x: cv.extractChannel(x, 1), ALL, (3, 4)),
    ("LUT", lambda cv, x: cv.LUT(x, np.arange(256, dtype=np.uint8)), ("u8",), (1, 3)),
    ("LUT3", lambda cv, x: cv.LUT(x, TABLES), ("u8",), (3,)),
    ("LUT f32", lambda cv, x: cv.LUT(x, np.arange(256, dtype=np.float32)), ("u8",), (1, 3)),
    ("calcHist c1 mask", lambda cv, x: cv.calcHist([x], [0], MASK, [64], [0, 256]), ("u8", "u16", "f32"), (1, 3)),
    ("reduce0 avg", lambda cv, x: cv.reduce(x, 0, 1), ("u8", "f32"), (1, 3)),
    ("reduce1 max", lambda cv, x: cv.reduce(x, 1, 2), ("u8", "u16", "f32"), (1, 3)),
    ("reduce1 sum", lambda cv, x: cv.reduce(x, 1, 0, dtype=cv.CV_32F if x.dtype != np.float64 else cv.CV_64F), ALL, (1, 3)),
    ("hconcat", lambda cv, x: cv.hconcat([x, x]), ALL, (3,)),
    ("repeat", lambda cv, x: cv.repeat(x, 2, 2), ("u8", "f32"), (3,)),
    ("copyTo", lambda cv, x: cv.copyTo(x, MASK), ALL, (1, 3)),
    ("convertScaleAbs", lambda cv, x: cv.convertScaleAbs(x, alpha=0.5), ALL, (1,)),
    ("sqrt", lambda cv, x: cv.sqrt(x), ("f32", "f64"), (1,)),
    ("pow2", lambda cv, x: cv.pow(x, 2), ALL, (1,)),
    ("pow.5", lambda cv, x: cv.pow(x, 0.5), ("f32", "f64"), (1,)),
    ("exp", lambda cv, x: cv.exp(x), ("f32", "f64"), (1,)),
    ("log", lambda cv, x: cv.log(x), ("f32", "f64"), (1,)),
    ("magnitude", lambda cv, x: cv.magnitude(x, x), ("f32", "f64"), (1,)),
    ("phase", lambda cv, x: cv.phase(x, x), ("f32", "f64"), (1,)),
    ("cartToPolar", lambda cv, x: cv.cartToPolar(x, x), ("f32", "f64"), (1,)),
    ("polarToCart", lambda cv, x: cv.polarToCart(x, x), ("f32", "f64"), (1,)),
    ("resize exact .4", lambda cv, x: cv.resize(x, None, fx=0.4, fy=0.4, interpolation=5), ("u8", "u16"), (1, 3)),
    ("resize nexact .4", lambda cv, x: cv.resize(x, None, fx=0.4, fy=0.4, interpolation=6), MOST, (1, 3)),
    ("warpAffine refl", lambda cv, x: cv.warpAffine(x, AFFINE, (WIDTH, HEIGHT), flags=1, borderMode=4), MOST, (1, 3)),
    ("pyrDown", lambda cv, x: cv.pyrDown(x), MOST, (1, 3)),
    ("pyrUp", lambda cv, x: cv.pyrUp(x), MOST, (1, 3)),
    ("getRectSubPix", lambda cv, x: cv.getRectSubPix(x, (300, 300), (200.3, 200.7)), ("u8", "f32"), (1, 3)),
    ("border", lambda cv, x: cv.copyMakeBorder(x, 9, 9, 9, 9, 4), ALL, (1, 3, 4)),
    ("border const", lambda cv, x: cv.copyMakeBorder(x, 9, 9, 9, 9, 0, value=(1, 2, 3, 4)), ALL, (1, 3, 4)),
    ("blur5", lambda cv, x: cv.blur(x, (5, 5)), MOST, (1, 3, 4)),
    ("box31", lambda cv, x: cv.boxFilter(x, -1, (31, 31)), MOST, (1, 3)),
    ("box i32", lambda cv, x: cv.boxFilter(x, cv.CV_32F if x.dtype != np.float64 else -1, (5, 5), normalize=False), MOST, (1,)),
    ("sqrBox", lambda cv, x: cv.sqrBoxFilter(x, cv.CV_64F if x.dtype == np.float64 else cv.CV_32F, (5, 5)), ("u8", "f32", "f64"), (1,)),
    ("gauss3", lambda cv, x: cv.GaussianBlur(x, (3, 3), 0), MOST, (1, 3, 4)),
    ("gauss9", lambda cv, x: cv.GaussianBlur(x, (9, 9), 2), MOST, (1, 3)),
    ("gauss s5", lambda cv, x: cv.GaussianBlur(x, (0, 0), 5), MOST, (1, 3)),
    ("median3", lambda cv, x: cv.medianBlur(x, 3), COMMON, (1, 3, 4)),
    ("median5", lambda cv, x: cv.medianBlur(x, 5), COMMON, (1, 3)),
    ("median9", lambda cv, x: cv.medianBlur(x, 9), ("u8",), (1, 3)),
    ("bilat7", lambda cv, x: cv.bilateralFilter(x, 7, 40, 40), ("u8", "f32"), (1, 3)),
    ("filter2D", lambda cv, x: cv.filter2D(x, -1, KERNEL), MOST, (1, 3)),
    ("filter2D 15", lambda cv, x: cv.filter2D(x, -1, np.ones((15, 15), np.float32) / 225), ("u8", "f32"), (1, 3)),
    ("sep", lambda cv, x: cv.sepFilter2D(x, -1, BINOMIAL, BINOMIAL), MOST, (1, 3)),
    ("sobel16", lambda cv, x: cv.Sobel(x, cv.CV_16S, 1, 0), ("u8",), (1, 3)),
    ("sobel32", lambda cv, x: cv.Sobel(x, cv.CV_32F, 1, 1, ksize=5), COMMON, (1, 3)),
    ("scharr", lambda cv, x: cv.Scharr(x, cv.CV_32F, 0, 1), ("u8", "f32"), (1, 3)),
    ("lapl1", lambda cv, x: cv.Laplacian(x, cv.CV_32F), ("u8", "f32"), (1, 3)),
    ("lapl5", lambda cv, x: cv.Laplacian(x, cv.CV_64F if x.dtype == np.float64 else cv.CV_32F, ksize=5), ("u8", "u16", "f32"), (1, 3)),
    ("dilate3", lambda cv, x: cv.dilate(x, SQUARE), MOST, (1, 3, 4)),
    ("erode ell7", lambda cv, x: cv.erode(x, ELLIPSE), MOST, (1, 3)),
    ("open5", lambda cv, x: cv.morphologyEx(x, 2, np.ones((5, 5), np.uint8)), MOST, (1, 3)),
    ("tophat", lambda cv, x: cv.morphologyEx(x, 5, np.ones((9, 9), np.uint8)), ("u8", "f32"), (1,)),
    ("thr", lambda cv, x: cv.threshold(x, 100, 255, 0), MOST, (1, 3)),
    ("thr trunc", lambda cv, x: cv.threshold(x, 0.5, 1, 2), MOST, (1,)),
    ("adapt g", lambda cv, x: cv.adaptiveThreshold(x, 255, 1, 0, 11, 2), ("u8",), (1,)),
    ("adapt m", lambda cv, x: cv.adaptiveThreshold(x, 255, 0, 0, 31, 2), ("u8",), (1,)),
    ("integral", lambda cv, x: cv.integral(x), ("u8", "f32", "f64"), (1, 3)),
    ("integral2", lambda cv, x: cv.integral2(x), ("u8", "f32"), (1, 3)),
    ("clahe", lambda cv, x: cv.createCLAHE(2, (8, 8)).apply(x), ("u8", "u16"), (1,)),
    ("dist", lambda cv, x: cv.distanceTransform((x > 90).astype(np.uint8), 2, 5), ("u8",), (1,)),
    ("dist p", lambda cv, x: cv.distanceTransform((x > 90).astype(np.uint8), 2, 0), ("u8",), (1,)),
    ("stackBlur", lambda cv, x: cv.stackBlur(x, (9, 9)), COMMON, (1, 3)),
    ("corner", lambda cv, x: cv.cornerHarris(x, 2, 3, 0.04), ("u8", "f32"), (1,)),
    ("minEig", lambda cv, x: cv.cornerMinEigenVal(x, 3), ("u8", "f32"), (1,)),
    ("canny", lambda cv, x: cv.Canny(x, 50, 150), ("u8",), (1, 3)),
    ("canny L2 5", lambda cv, x: cv.Canny(x, 500, 1500, apertureSize=5, L2gradient=True), ("u8",), (1,)),
    ("match", lambda cv, x: cv.matchTemplate(x, x[100:140, 100:150].copy(), 5), ("u8", "f32"), (1, 3)),
    ("match mask", lambda cv, x: cv.matchTemplate(x, x[100:116, 100:120].copy(), 3, mask=MASK[:16, :20].copy()), ("u8", "f32"), (1,)),
    ("transform", lambda cv, x: cv.transform(x, np.eye(3) * 0.5 + 0.1), MOST, (3,)),
    ("perspT", lambda cv, x: cv.perspectiveTransform(x, PROJECTION), ("f32",), (2,)),
    ("gemm", lambda cv, x: cv.gemm(x[:400, :400].copy(), x[:400, :400].copy(), 1, None, 0), ("f32", "f64"), (1,)),
    ("dft", lambda cv, x: cv.dft(x), ("f32", "f64"), (1,)),
    ("dft c", lambda cv, x: cv.dft(x), ("f32", "f64"), (2,)),
    ("idft", lambda cv, x: cv.idft(x, flags=cv.DFT_SCALE), ("f32",), (1,)),
    ("blendLinear", lambda cv, x: cv.blendLinear(x, x, WEIGHTS, WEIGHTS), ("u8", "f32"), (1, 3)),
    ("mixch", lambda cv, x: cv.mixChannels([x], [np.zeros_like(x)], [0, 2, 1, 1, 2, 0]), ("u8", "f32"), (3,)),
    ("hist2", lambda cv, x: cv.calcHist([x], [0, 1, 2], None, [8, 8, 8], [0, 256] * 3), ("u8",), (3,)),
    ("conn", lambda cv, x: cv.connectedComponentsWithStats((x > 126).astype(np.uint8)), ("u8",), (1,)),
    ("contours", lambda cv, x: cv.findContours((x > 126).astype(np.uint8), 3, 2), ("u8",), (1,)),
    ("undistort", lambda cv, x: cv.undistort(x, CAMERA, np.array([0.1, -0.05, 0.001, 0.001, 0])), ("u8", "f32"), (1, 3)),
    ("warpPolar", lambda cv, x: cv.warpPolar(x, (300, 400), (320, 240), 200, 1), ("u8", "f32"), (1, 3)),
    ("moments", lambda cv, x: cv.moments(x), COMMON, (1,)),
    ("equal", lambda cv, x: cv.equalizeHist(x), ("u8",), (1,)),
    ("bil blob", lambda cv, x: cv.dnn.blobFromImage(x, 1 / 255.0, (224, 224), swapRB=True), ("u8", "f32"), (3,)),
    ("resize nearest x0.4", lambda cv, x: cv.resize(x, None, fx=0.4, fy=0.4, interpolation=0), MOST, (1, 3, 4)),
    ("resize nearest x1.7", lambda cv, x: cv.resize(x, None, fx=1.7, fy=1.7, interpolation=0), MOST, (1, 3, 4)),
    ("resize linear x0.4", lambda cv, x: cv.resize(x, None, fx=0.4, fy=0.4, interpolation=1), MOST, (1, 3, 4)),
    ("resize linear x1.7", lambda cv, x: cv.resize(x, None, fx=1.7, fy=1.7, interpolation=1), MOST, (1, 3, 4)),
    ("resize cubic x0.4", lambda cv, x: cv.resize(x, None, fx=0.4, fy=0.4, interpolation=2), MOST, (1, 3, 4)),
    ("resize cubic x1.7", lambda cv, x: cv.resize(x, None, fx=1.7, fy=1.7, interpolation=2), MOST, (1, 3, 4)),
    ("resize area x0.4", lambda cv, x: cv.resize(x, None, fx=0.4, fy=0.4, interpolation=3), MOST, (1, 3, 4)),
    ("resize area x1.7", lambda cv, x: cv.resize(x, None, fx=1.7, fy=1.7, interpolation=3), MOST, (1, 3, 4)),
    ("resize lanczos4 x0.4", lambda cv, x: cv.resize(x, None, fx=0.4, fy=0.4, interpolation=4), MOST, (1, 3, 4)),
    ("resize lanczos4 x1.7", lambda cv, x: cv.resize(x, None, fx=1.7, fy=1.7, interpolation=4), MOST, (1, 3, 4)),
    ("warpAffine nearest", lambda cv, x: cv.warpAffine(x, AFFINE, (WIDTH, HEIGHT), flags=0), MOST, (1, 3, 4)),
    ("warpPerspective nearest", lambda cv, x: cv.warpPerspective(x, PROJECTION, (WIDTH, HEIGHT), flags=0, borderMode=1), MOST, (1, 3)),
    ("remap nearest", lambda cv, x: cv.remap(x, MAP_X, MAP_Y, 0), MOST, (1, 3, 4)),
    ("warpAffine linear", lambda cv, x: cv.warpAffine(x, AFFINE, (WIDTH, HEIGHT), flags=1), MOST, (1, 3, 4)),
    ("warpPerspective linear", lambda cv, x: cv.warpPerspective(x, PROJECTION, (WIDTH, HEIGHT), flags=1, borderMode=1), MOST, (1, 3)),
    ("remap linear", lambda cv, x: cv.remap(x, MAP_X, MAP_Y, 1), MOST, (1, 3, 4)),
    ("warpAffine cubic", lambda cv, x: cv.warpAffine(x, AFFINE, (WIDTH, HEIGHT), flags=2), MOST, (1, 3, 4)),
    ("warpPerspective cubic", lambda cv, x: cv.warpPerspective(x, PROJECTION, (WIDTH, HEIGHT), flags=2, borderMode=1), MOST, (1, 3)),
    ("remap cubic", lambda cv, x: cv.remap(x, MAP_X, MAP_Y, 2), MOST, (1, 3, 4)),
    ("warpAffine lanczos4", lambda cv, x: cv.warpAffine(x, AFFINE, (WIDTH, HEIGHT), flags=4), MOST, (1, 3, 4)),
    ("warpPerspective lanczos4", lambda cv, x: cv.warpPerspective(x, PROJECTION, (WIDTH, HEIGHT), flags=4, borderMode=1), MOST, (1, 3)),
    ("remap lanczos4", lambda cv, x: cv.remap(x, MAP_X, MAP_Y, 4), MOST, (1, 3, 4)),
]


def calls():
    for name, function, dtypes, channels in CALLS:
        for dtype in dtypes:
            for count in channels:
                yield f"{name} {dtype}x{count}", function, PICTURES[dtype, count]
    codes = {value: name for name, value in vars(cv2).items() if name.startswith("COLOR_")}
    for code, name in sorted(codes.items()):
        for (dtype, count), image in PICTURES.items():
            if dtype in ("u8", "u16", "f32"):
                yield f"{name} {dtype}x{count}", lambda cv, x, code=code: cv.cvtColor(x, code), image


def seconds(function, cv, image) -> float:
    start = time.perf_counter()
    function(cv, image)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--below", type=float, default=0.5)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    cv2.setNumThreads(1)
    found, total = [], 0
    for name, function, image in calls():
        if options.names and not any(part in name for part in options.names):
            continue
        try:
            function(cv2, image)
        except (cv2.error, AttributeError):
            continue
        try:
            function(minnow.cv, image)
        except (minnow.Error, AttributeError, ValueError) as error:
            print(f"not taken: {name}: {error}")
            continue
        times = [(seconds(function, cv2, image), seconds(function, minnow.cv, image)) for _ in range(6)]
        theirs, ours = (min(column) * 1e3 for column in zip(*times))
        total += 1
        if theirs / ours < options.below:
            found.append((theirs / ours, name, theirs, ours))
    print(f"{len(found)} of {total} calls below {options.below}\n\n| call | OpenCV ms | Minnow ms | ratio |\n|---|---|---|---|")
    for ratio, name, theirs, ours in sorted(found):
        print(f"| {name} | {theirs:.3f} | {ours:.3f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
