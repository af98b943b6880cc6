# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import SIZES, call, function, image, images

BORDERS = (cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101)
SOURCES = ("uint8", "uint16", "int16", "float32", "float64")
DEPTHS = {"uint8": (-1, cv2.CV_16S, cv2.CV_32F, cv2.CV_64F), "uint16": (-1, cv2.CV_32F, cv2.CV_64F), "int16": (-1, cv2.CV_32F, cv2.CV_64F),
          "float32": (-1,), "float64": (-1,)}


def near(expected, found):
    """Integers: the difference over 1; floats: over 1e-4 of max(1, |expected|)."""
    worst = 0.0
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (expected, found))):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return np.inf
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
        if a.dtype.kind == "f":
            # A sum of large numbers is no more exact than they are.
            apart = apart / np.maximum(1e-4 * np.maximum(1, np.abs(a)), 4e-6 * np.abs(a).max(initial=0)).astype(np.float64)
        worst = max(worst, float(apart.max(initial=0)))
    return worst


@function("blur", within=1, judge=near)
def blur(random):
    for picture in images(random, dtypes=(*SOURCES, "int32"), channels=(1, 3, 4)):
        for size in ((3, 3), (5, 5), (1, 4), (7, 2), (20, 9), (9, 31)):
            yield call(picture, size, borderType=BORDERS[random.integers(4)])
        yield call(picture, (4, 3), anchor=(0, 2))
    yield call(np.zeros((0, 3), np.uint8), (3, 3))
    yield call(np.zeros((4, 3), np.uint8), (3, 0))
    yield call(np.zeros((4, 3), np.uint8), (3, 3), anchor=(3, 1))
    yield call(np.zeros((4, 3), np.uint8), (3, 3), borderType=cv2.BORDER_WRAP)


@function("boxFilter", within=1, judge=near)
def box_filter(random):
    for picture in images(random, dtypes=(*SOURCES, "int32"), channels=(1, 2)):
        for depth in (-1, cv2.CV_32F, cv2.CV_64F):
            for normalize in (True, False):
                size = (int(random.integers(1, 12)), int(random.integers(1, 12)))
                if picture.dtype == np.float64 and depth == cv2.CV_32F or picture.dtype == np.int32 and not normalize:
                    continue
                yield call(picture, depth, size, normalize=normalize, borderType=BORDERS[random.integers(4)])


@function("sqrBoxFilter", within=1, judge=near)
def sqr_box_filter(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        for normalize in (True, False):
            size = (int(random.integers(1, 9)), int(random.integers(1, 9)))
            yield call(picture, -1, size, normalize=normalize, borderType=BORDERS[random.integers(4)])
            yield call(picture, cv2.CV_64F, size, normalize=normalize)


@function("GaussianBlur", within=1, judge=near)
def gaussian_blur(random):
    for picture in images(random, dtypes=("int16", "float32", "float64"), channels=(1, 3)):
        for size in ((3, 3), (5, 5), (1, 7), (11, 3)):
            yield call(picture, size, random.uniform(0, 3), sigmaY=random.uniform(0, 2), borderType=BORDERS[random.integers(4)])
        yield call(picture, (0, 0), 1.3)
    yield call(np.zeros((4, 3), np.uint8), (4, 3), 0)
    yield call(np.zeros((4, 3), np.uint8), (0, 0), 0)


@function("GaussianBlur")
def gaussian_blur_exact(random):
    for picture in images(random, dtypes=("uint8", "uint16"), channels=(1, 2, 3, 4)):
        for size in ((3, 3), (5, 5), (7, 7), (9, 9), (3, 5), (1, 7), (11, 3), (31, 31)):
            yield call(picture, size, 0, borderType=(*BORDERS, cv2.BORDER_WRAP)[random.integers(5)])
            yield call(picture, size, random.uniform(0, 4), sigmaY=random.uniform(0, 4), borderType=BORDERS[random.integers(4)])
        yield call(picture, (0, 0), random.uniform(0.3, 4))


@function("filter2D", within=1, judge=near)
def filter_2d(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        for depth in DEPTHS[str(picture.dtype)]:
            for height, width in ((3, 3), (1, 5), (4, 2), (7, 7), (15, 13)):
                kernel = random.normal(size=(height, width)) / (height * width) ** 0.5
                yield call(picture, depth, kernel.astype(("float32", "float64")[random.integers(2)]), delta=float(random.integers(3)) * 10.5,
                           borderType=BORDERS[random.integers(4)])
            yield call(picture, depth, random.integers(-3, 4, (3, 3)).astype(np.float32), delta=float(random.integers(3)), anchor=(0, 2))
            yield call(picture, depth, np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32))


@function("sepFilter2D", within=1, judge=near)
def sep_filter_2d(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        for depth in (-1,) if picture.dtype == np.float64 else (-1, cv2.CV_32F, cv2.CV_64F):
            for width, height in ((3, 3), (1, 5), (4, 2), (7, 7)):
                x, y = random.normal(size=width).astype(np.float32) / width, random.normal(size=(height, 1)).astype(np.float32) / height
                yield call(picture, depth, x, y, delta=float(random.integers(3)), borderType=BORDERS[random.integers(4)])
        yield call(picture, -1, np.array([0.25, 0.5, 0.25]), np.array([0.25, 0.5, 0.25]))


@function("Sobel", within=1, judge=near)
def sobel(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        for depth in DEPTHS[str(picture.dtype)]:
            for dx, dy, size in ((1, 0, 3), (0, 1, 3), (1, 1, 3), (2, 0, 3), (1, 0, 1), (0, 1, 5), (1, 0, 7), (2, 1, 5), (1, 0, -1)):
                yield call(picture, depth, dx, dy, ksize=size, borderType=BORDERS[random.integers(4)])
            yield call(picture, depth, 1, 0, scale=0.7, delta=3.25)
    for size in (4, 33, 3):
        yield call(np.zeros((4, 3), np.uint8), -1, 0, 0, ksize=size)


@function("Scharr", within=1, judge=near)
def scharr(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        for depth in DEPTHS[str(picture.dtype)]:
            for dx in (0, 1):
                yield call(picture, depth, dx, 1 - dx, borderType=BORDERS[random.integers(4)])
                yield call(picture, depth, dx, 1 - dx, scale=2.5, delta=1)
    yield call(np.zeros((4, 3), np.uint8), -1, 1, 1)


@function("Laplacian", within=1, judge=near)
def laplacian(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        for depth in DEPTHS[str(picture.dtype)]:
            for size in (1, 3, 5, 7):
                if picture.dtype != np.uint8 and depth == cv2.CV_64F and size < 5:
                    continue
                yield call(picture, depth, ksize=size, borderType=BORDERS[random.integers(4)])
                yield call(picture, depth, ksize=size, scale=0.25, delta=2)


@function("spatialGradient")
def spatial_gradient(random):
    for picture in images(random, channels=(1,)):
        for border in (cv2.BORDER_REPLICATE, cv2.BORDER_DEFAULT):
            yield call(picture, borderType=border)


@function("getGaussianKernel", relative=1e-12)
def gaussian_kernel(random):
    for size in (1, 2, 3, 4, 5, 7, 8, 9, 11, 31):
        for sigma in (0, 0.3, 1.7, 20):
            yield call(size, sigma)
            yield call(size, sigma, cv2.CV_64F)


@function("getDerivKernels", relative=1e-7)
def deriv_kernels(random):
    for size in (-1, 1, 3, 5, 7, 31):
        for dx, dy in ((0, 1), (1, 0), (1, 1), (2, 0), (3, 2)):
            for normalize in (False, True):
                yield call(dx, dy, size, normalize=normalize, ktype=(cv2.CV_32F, cv2.CV_64F)[random.integers(2)])


@function("getGaborKernel", relative=1e-9)
def gabor_kernel(random):
    for size in ((5, 5), (0, 0), (8, 3), (1, 0)):
        for theta in (0, 0.5, 2):
            yield call(size, 2.0, theta, 4.0, 0.5)
            yield call(size, 1.0, theta, 3.0, 1.5, 0.3)


@function("getStructuringElement")
def structuring_element(random):
    for shape in range(5):
        for size in ((1, 1), (3, 3), (5, 5), (4, 7), (1, 6), (9, 2)):
            yield call(shape, size)
            yield call(shape, size, (0, 0))


def kernels(random):
    yield None
    for size in ((3, 3), (5, 5), (1, 4), (2, 9)):
        yield np.ones(size, np.uint8)
    yield cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 7))
    yield cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    yield random.integers(0, 2, (4, 5)).astype(np.uint8)


def morphology(random, channels=(1, 3)):
    for picture in images(random, dtypes=SOURCES, channels=channels):
        for kernel in kernels(random):
            for border in BORDERS:
                yield call(picture, kernel, borderType=border)
            yield call(picture, kernel, iterations=int(random.integers(0, 4)))
            yield call(picture, kernel, anchor=(0, 0), borderValue=(7, 8, 9, 10))
    yield call(picture, np.ones((31, 21), np.uint8))
    yield call(picture, np.ones((3, 3), np.uint8), anchor=(3, 3))


@function("dilate")
def dilate(random):
    yield from morphology(random)


@function("erode")
def erode(random):
    yield from morphology(random)


@function("morphologyEx")
def morphology_ex(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        for kernel in kernels(random):
            for operation in range(8):
                if operation == cv2.MORPH_HITMISS and (picture.dtype != np.uint8 or picture.ndim == 3):
                    continue
                yield call(picture, operation, kernel, iterations=int(random.integers(1, 3)))
    for picture in images(random, channels=(1,)):
        binary = (picture > 127).astype(np.uint8) * 255
        for _ in range(5):
            yield call(binary, cv2.MORPH_HITMISS, random.integers(-1, 2, (3, 3)).astype(np.int8))


@function("threshold")
def threshold(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        span = np.ptp(picture.astype(np.float64)) + 1
        for kind in range(5):
            for limit in (random.uniform(0, 1) * span + picture.min(), -1, -70000, 70000, 254, 255, 127.6):
                yield call(picture, limit, random.uniform(0, 300), kind)
    yield call(picture, 1, 1, 5)
    yield call(picture, 1, 1, 8)


@function("threshold")
def threshold_chosen(random):
    for smooth in (False, True):
        for picture in images(random, dtypes=("uint8", "uint16"), channels=(1,), smooth=smooth):
            for kind in range(5):
                yield call(picture, 0, 255, kind | cv2.THRESH_OTSU)
                yield call(picture, 0, 255, kind | cv2.THRESH_OTSU | cv2.THRESH_DRYRUN)
                if picture.dtype == np.uint8:
                    yield call(picture // 3 + 20, 0, 255, kind | cv2.THRESH_TRIANGLE)
    yield call(np.zeros((4, 3, 3), np.uint8), 0, 255, cv2.THRESH_OTSU)
    yield call(np.zeros((4, 3), np.uint8), 0, 255, cv2.THRESH_OTSU | cv2.THRESH_TRIANGLE)


@function("adaptiveThreshold")
def adaptive_threshold(random):
    for smooth in (False, True):
        for picture in images(random, channels=(1,), smooth=smooth):
            for kind in (0, 1):
                for size in (3, 5, 11, 15, 17, 31):
                    yield call(picture, 255, cv2.ADAPTIVE_THRESH_MEAN_C, kind, size, float(random.integers(-3, 9)))
                for size in (3, 5, 7, 11):
                    yield call(picture, 200, cv2.ADAPTIVE_THRESH_GAUSSIAN_C, kind, size, random.uniform(-3, 9))
            yield call(picture, 255, 0, 0, 4, 0)
            yield call(picture, 255, 0, 2, 5, 0)


@function("integral", relative=1e-6)
def integral(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 2, 3, 4)):
        yield call(picture)
        yield call(picture, sdepth=cv2.CV_64F)


@function("integral2", relative=1e-6)
def integral_2(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        yield call(picture)


@function("integral3", relative=1e-6)
def integral_3(random):
    for picture in images(random, dtypes=SOURCES, channels=(1, 3)):
        yield call(picture)


def spots(random, height, width):
    return (random.random((height, width)) < 0.9).astype(np.uint8)


@function("distanceTransform", relative=1e-4)
def distance_transform(random):
    for height, width in SIZES:
        for kind in (cv2.DIST_L1, cv2.DIST_L2, cv2.DIST_C):
            for mask in (0, 3, 5):
                picture = spots(random, height, width)
                picture[height // 2, width // 2] = 0
                yield call(picture, kind, mask)
        yield call(picture, cv2.DIST_L1, 3, dstType=cv2.CV_8U)
    for mask in (0, 3, 5):
        yield call(np.ones((5, 6), np.uint8), cv2.DIST_L2, mask)
    yield call(picture, cv2.DIST_L2, 7)


@function("distanceTransformWithLabels", relative=1e-4)
def distance_transform_with_labels(random):
    for height, width in SIZES:
        for kind in (cv2.DIST_L1, cv2.DIST_L2, cv2.DIST_C):
            for labels in (cv2.DIST_LABEL_CCOMP, cv2.DIST_LABEL_PIXEL):
                picture = spots(random, height, width)
                picture[height // 2, width // 2] = 0
                yield call(picture, kind, 5, labelType=labels)


@function("floodFill")
def flood_fill(random):
    for picture in images(random, dtypes=("uint8", "int32", "float32"), channels=(1, 3), smooth=True, views=False):
        height, width = picture.shape[:2]
        if picture.dtype == np.int32:
            picture //= 400
        size = 10 if picture.dtype != np.float32 else 0.1
        for flags in (4, 8, 4 | cv2.FLOODFILL_FIXED_RANGE, 8 | cv2.FLOODFILL_FIXED_RANGE, 4 | cv2.FLOODFILL_MASK_ONLY | 200 << 8):
            seed = int(random.integers(width)), int(random.integers(height))
            yield call(picture.copy(), None, seed, (5, 6, 7), (size,) * 3, (size,) * 3, flags)
            yield call((picture // (size * 6)).astype(picture.dtype), None, seed, (99, 98, 97), flags=flags)
            yield call(picture.copy(), (random.random((height + 2, width + 2)) < 0.1).astype(np.uint8), seed, (5, 6, 7), (size,) * 3, (size / 2,) * 3, flags)
    yield call(picture, None, (1000, 3), 5)
    yield call(picture, None, (0, 3), 5, -1, 4)


@function("watershed")
def watershed(random):
    for height, width in SIZES:
        for smooth in (False, True):
            for _ in range(3):
                markers = np.where(random.random((height, width)) < 0.02, random.integers(-1, 6, (height, width)), 0).astype(np.int32)
                yield call(image(random, height, width, 3, "uint8", smooth), markers)


@function("equalizeHist")
def equalize_hist(random):
    for smooth in (False, True):
        for picture in images(random, channels=(1,), smooth=smooth):
            yield call(picture)
            yield call(picture // 5 + 50)
    yield call(np.full((5, 6), 7, np.uint8))


def equalizers_apart(expected, found):
    random = np.random.default_rng(1)
    worst = 0.0
    for smooth in (False, True):
        for picture in images(random, dtypes=("uint8", "uint16"), channels=(1,), smooth=smooth):
            worst = max(worst, near(expected.apply(picture), found.apply(picture)))
    assert expected.getTilesGridSize() == found.getTilesGridSize() and expected.getClipLimit() == found.getClipLimit()
    return worst


@function("createCLAHE", within=1, judge=equalizers_apart)
def clahe(random):
    for limit in (0.0, 2.0, 40.0):
        for tiles in ((8, 8), (1, 1), (3, 5)):
            yield call(limit, tiles)


@function("medianBlur")
def median_blur(random):
    for smooth in (False, True):
        for picture in images(random, dtypes=("uint8", "uint16", "int16", "float32"), channels=(1, 3, 4), smooth=smooth):
            for size in (1, 3, 5):
                yield call(picture, size)
        for picture in images(random, channels=(1, 3, 4), smooth=smooth):
            for size in (7, 9, 15, 31):
                yield call(picture, size)
    yield call(picture, 4)
    yield call(np.zeros((4, 3), np.float32), 7)


@function("bilateralFilter", within=1, judge=near)
def bilateral_filter(random):
    for smooth in (False, True):
        for picture in images(random, dtypes=("uint8", "float32"), channels=(1, 3), smooth=smooth):
            size = 40 if picture.dtype == np.uint8 else 0.3
            for diameter in (3, 5, 9, 0):
                yield call(picture, diameter, random.uniform(0.5, 3) * size, random.uniform(0.5, 5), borderType=BORDERS[random.integers(4)])
    yield call(np.zeros((4, 3, 4), np.uint8), 5, 3, 3)


@function("stackBlur", within=1, judge=near)
def stack_blur(random):
    # OpenCV saturates sums of two elements of 16 bits, divides by 9 and 25 with a relative error of 0.002, and takes wrong pixels at the right border of
    # windows wider than 9.
    for picture in images(random, dtypes=("uint8", "uint16", "int16", "float32"), channels=(1, 3, 4)):
        wide = picture.dtype in ("uint8", "float32")
        for size in ((3, 3), (7, 7), (1, 3), (7, 15), *(((5, 5), (9, 31), (5, 1)) if wide else ())):
            if not wide and min(picture.shape[:2]) in (5, 6):
                continue
            yield call(picture if wide else np.abs(picture // 2), size)
    yield call(picture, (4, 3))


@function("Canny")
def canny(random):
    for smooth in (False, True):
        for picture in images(random, channels=(1, 3), smooth=smooth):
            for size in (3, 5, 7):
                for squares in (False, True):
                    low = random.uniform(10, 300) * 4 ** (size // 2 - 1)
                    yield call(picture, low, low * random.uniform(0.8, 3), apertureSize=size, L2gradient=squares)
            dx, dy = cv2.Sobel(picture, cv2.CV_16S, 1, 0), cv2.Sobel(picture, cv2.CV_16S, 0, 1)
            yield call(dx, dy, 100, 200)
            yield call(dx, dy, 100.5, 200, L2gradient=True)
    yield call(picture, 1, 2, apertureSize=4)
