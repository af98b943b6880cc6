# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import call, function, image, images

ALL = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
DEPTHS = {"uint8": cv2.CV_8U, "int16": cv2.CV_16S, "float32": cv2.CV_32F, "float64": cv2.CV_64F}
SMALL = ((1, 1), (3, 4), (17, 31), (64, 65))


def pairs(random, dtypes=ALL, channels=(1, 3, 4), sizes=SMALL):
    for a in images(random, sizes=sizes, dtypes=dtypes, channels=channels):
        yield a, image(random, a.shape[0], a.shape[1], 1 if a.ndim == 2 else a.shape[2], a.dtype.name)


def mask_of(random, a):
    return (random.random(a.shape[:2]) < 0.5).astype(np.uint8) * 255


def numbers(random, a):
    if a.shape[:2] == (1, 1):  # OpenCV takes the picture for the number
        return
    yield int(random.integers(-20, 300))
    yield float(random.uniform(-20, 300))
    if a.ndim == 3:
        yield tuple(float(v) for v in random.uniform(0, 200, a.shape[2]))
        yield tuple(int(v) for v in random.integers(0, 200, 4))


def two(name, masked=False, typed=False, within=1, relative=1e-6):
    @function(name, within=within, relative=relative)
    def cases(random):
        for a, b in pairs(random):
            if name == "multiply" and a.dtype in (np.int32, np.uint16):  # OpenCV's products overflow
                a, b = a // 1000, b // 1000
            yield call(a, b)
            for number in numbers(random, a):
                yield call(a, number)
                yield call(number, a)
            if masked:
                yield call(a, b, mask=mask_of(random, a))
                yield call(a, b, dst=b.copy(), mask=mask_of(random, a))
            if typed:
                for depth in DEPTHS.values():
                    yield call(a, b, dtype=depth)
            yield call(a, b, dst=a)
        yield call(np.zeros((2, 3), np.uint8), np.zeros((3, 2), np.uint8))
        yield call(np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.float32))


two("add", True, True)
two("subtract", True, True)
two("absdiff")
two("multiply", typed=True, relative=1e-5)
two("min")
two("max")


@function("divide", within=1, relative=1e-5)
def divide(random):
    for a, b in pairs(random):
        b = np.where(b == 0, 1, b).astype(b.dtype) if a.dtype.kind == "f" else b
        yield call(a, b)
        yield call(a, b, scale=3.5)
        b = np.where(b == 0, 1, b).astype(b.dtype)
        yield call(a, b, dtype=cv2.CV_32F)
        if a.shape[:2] != (1, 1):
            yield call(a, 7)
            yield call(a, (2.5, 3, 4, 5) if a.ndim == 3 else 2.5)
            yield call(300, b)


@function("addWeighted", within=1, relative=1e-5)
def add_weighted(random):
    for a, b in pairs(random):
        yield call(a, 0.3, b, 0.7, 2.0)
        yield call(a, 1.5, b, -0.5, 0)
        yield call(a, 0.3, b, 0.7, 2.0, dtype=cv2.CV_32F)
        if a.shape[:2] != (1, 1):
            yield call(a, 0.5, 20, 0.5, 3)


@function("scaleAdd", within=1, relative=1e-5)
def scale_add(random):
    for a, b in pairs(random):
        yield call(a, 0.37, b)


for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    @function(name)
    def bits(random):
        for a, b in pairs(random):
            yield call(a, b)
            yield call(a, b, mask=mask_of(random, a))
            if a.dtype.kind != "f" and a.shape[:2] != (1, 1):
                yield call(a, 37)
                yield call(a, (12, 7, 200, 3))


@function("bitwise_not")
def bitwise_not(random):
    for a, _ in pairs(random):
        yield call(a)
        yield call(a, mask=mask_of(random, a))


@function("compare")
def compare(random):
    for a, b in pairs(random):
        b = np.where(random.random(b.shape) < 0.3, a, b).astype(a.dtype)
        for op in range(6):
            yield call(a, b, op)
            if a.shape[:2] != (1, 1):
                yield call(a, 100, op)
                yield call(100.5, a, op)
    yield call(np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.uint8), 9)


@function("inRange")
def in_range(random):
    for a, b in pairs(random):
        yield call(a, a - np.abs(b) // 2 if a.dtype.kind != "f" else a - 0.1, b)
        if a.ndim == 2:
            yield call(a, 20, 120)
            yield call(a, 0.4, 100.6)
            yield call(a, -5, 300)
            yield call(a, 120, 20)
            yield call(a, 300, 400)
        else:
            yield call(a, (10, 20, 30, 40)[:a.shape[2]], (210, 190, 200, 180)[:a.shape[2]])
            yield call(a, np.array([10, 20, 30, 40][:a.shape[2]]), np.array([210, 190, 200, 180][:a.shape[2]]))


@function("convertScaleAbs", within=1)
def convert_scale_abs(random):
    for a, _ in pairs(random):
        yield call(a)
        yield call(a, alpha=-1.3, beta=7)


@function("normalize", within=1, relative=1e-5)
def normalize(random):
    for a, _ in pairs(random):
        for kind in (cv2.NORM_L1, cv2.NORM_L2, cv2.NORM_INF, cv2.NORM_MINMAX):
            yield call(a, None, 200, 10, kind, cv2.CV_32F)
            yield call(a, None, 200, 10, kind)
            if a.ndim == 2:
                yield call(a, None, 200, 10, kind, mask=mask_of(random, a))


@function("blendLinear", within=1, relative=1e-5)
def blend_linear(random):
    for a, b in pairs(random, dtypes=("uint8", "float32")):
        yield call(a, b, *(random.random((2, *a.shape[:2])).astype(np.float32)))


@function("LUT")
def wide_lookup(random):
    for dtype in ("uint16", "int16"):
        for picture in images(random, sizes=SMALL, dtypes=(dtype,), channels=(1, 3)):
            yield call(picture, random.integers(0, 65536, 65536).astype(np.uint16))
            yield call(picture, random.random((1, 65536)).astype(np.float32))
            if picture.ndim == 3:
                yield call(picture, random.integers(0, 256, (65536, 1, 3)).astype(np.uint8))
    yield call(picture, np.zeros(256, np.uint8))


@function("LUT")
def lut(random):
    for a, _ in pairs(random, dtypes=("uint8", "int8")):
        for kind in ALL:
            yield call(a, image(random, 1, 256, 1, kind))
        if a.ndim == 3:
            yield call(a, image(random, 1, 256, a.shape[2], "uint8"))


@function("transform", within=1, relative=1e-4)
def transform(random):
    for a, _ in pairs(random, dtypes=("uint8", "int16", "float32", "float64")):
        n = 1 if a.ndim == 2 else a.shape[2]
        for rows in (1, 3, n):
            for columns in (n, n + 1):
                yield call(a, random.normal(0, 0.5, (rows, columns)).astype(np.float32 if rows == 1 else np.float64))


for name in ("sqrt", "exp", "log"):
    @function(name, relative=1e-4)
    def rooted(random):
        for a in images(random, dtypes=("float32", "float64"), channels=(1, 3)):
            yield call(np.abs(a) + 0.01)


@function("exp", relative=1e-4)
def exponential(random):
    for kind in (np.float32, np.float64):
        yield call(np.array([[-1000, -200, -90, -80, -1, 0, 1, 80]], kind))


@function("pow", within=1, relative=1e-4)
def power(random):
    for a, _ in pairs(random, dtypes=ALL):
        for exponent in (2, 3, 1, 0):
            yield call((a % 12).astype(a.dtype) if a.dtype.kind != "f" else a, exponent)
        if a.dtype.kind == "f":
            yield call(np.abs(a) + 0.1, 0.5)
            yield call(np.abs(a) + 0.1, -1.7)


for name in ("magnitude", "phase", "cartToPolar"):
    @function(name, relative=1e-4)
    def polar(random, name=name):
        for a, b in pairs(random, dtypes=("float32", "float64"), channels=(1, 2)):
            yield call(a, b)
            if name != "magnitude":
                yield call(a, b, angleInDegrees=True)


@function("polarToCart", relative=1e-4)
def polar_to_cart(random):
    for a, b in pairs(random, dtypes=("float32", "float64"), channels=(1,)):
        yield call(np.abs(a), b * 3)
        yield call(np.abs(a), b * 100, angleInDegrees=True)
        yield call(None, b)


@function("split")
def split(random):
    for a in images(random, dtypes=ALL, channels=(1, 2, 3, 4, 5)):
        yield call(a)


@function("merge")
def merge_parts(random):
    for dtype in ("uint8", "float32"):
        yield call(np.stack([image(random, 5, 7, 1, dtype) for _ in range(3)]))


@function("hconcat")
def hconcat_parts(random):
    yield call(np.stack([image(random, 5, 7, 3, "uint8") for _ in range(3)]))


@function("calcHist")
def histogram_of_parts(random):
    yield call(np.stack([image(random, 9, 12, 1, "uint8") for _ in range(2)]), [1], None, [16], [0, 256])


@function("merge")
def merge(random):
    for a in images(random, dtypes=ALL, channels=(1,)):
        for count in (1, 2, 3, 4, 5):
            yield call([a + c for c in range(count)])
        yield call([a, image(random, *a.shape, 3, a.dtype.name)])
    yield call([])
    yield call([np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.float32)])


@function("extractChannel")
def extract_channel(random):
    for a in images(random, dtypes=ALL, channels=(1, 2, 3)):
        for channel in range(4):
            yield call(a, channel)


@function("insertChannel")
def insert_channel(random):
    for a in images(random, dtypes=ALL, channels=(3,), views=False):
        for channel in range(4):
            yield call(image(random, *a.shape[:2], 1, a.dtype.name), a, channel)


@function("mixChannels")
def mix_channels(random):
    for a in images(random, dtypes=ALL, channels=(3,), views=False):
        yield call([a], [np.zeros_like(a)], [0, 2, 1, 1, 2, 0])
        yield call([a, np.ascontiguousarray(a[..., 0])], [np.zeros((*a.shape[:2], 4), a.dtype)], [3, 0, 0, 3, -1, 1])


for name in ("hconcat", "vconcat"):
    @function(name)
    def concatenated(random):
        for a in images(random, dtypes=("uint8", "int16", "float64"), channels=(1, 3)):
            yield call([a, a, a])
        yield call([np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.float32)])
        yield call([np.zeros((2, 3), np.uint8), np.zeros((4, 5), np.uint8)])


@function("copyTo")
def copy_to(random):
    for a, b in pairs(random):
        yield call(a, mask_of(random, a))
        yield call(a, None)
        yield call(a, mask_of(random, a), dst=b.copy())


for name in ("mean", "meanStdDev"):
    @function(name, relative=1e-7)
    def means(random):
        for a, _ in pairs(random, channels=(1, 2, 3, 4)):
            yield call(a)
            yield call(a, mask=mask_of(random, a))


@function("sumElems", relative=1e-9)
def sums(random):
    for a, _ in pairs(random, channels=(1, 2, 3, 4)):
        yield call(a)


@function("minMaxLoc")
def min_max(random):
    for a, _ in pairs(random, channels=(1,)):
        yield call(a)
        yield call(a // 16 if a.dtype.kind != "f" else a)
        yield call(a, mask_of(random, a))
    yield call(np.zeros((2, 3, 3), np.uint8))


@function("norm", relative=1e-6)
def norm(random):
    for a, b in pairs(random):
        for kind in (cv2.NORM_L1, cv2.NORM_L2, cv2.NORM_INF, cv2.NORM_L2SQR):
            yield call(a, kind)
            yield call(a, b, kind)
            yield call(a, b, kind | cv2.NORM_RELATIVE)
            yield call(a, kind, mask_of(random, a))
            if a.ndim == 2:
                yield call(a, b, kind, mask_of(random, a))
        if a.dtype == np.uint8:
            yield call(a, cv2.NORM_HAMMING)
            yield call(a, b, cv2.NORM_HAMMING2)


@function("PSNR", relative=1e-6)
def psnr(random):
    for a, b in pairs(random, dtypes=("uint8", "float32")):
        yield call(a, b)
        yield call(a, b, R=2.0)


@function("findNonZero")
@function("hasNonZero")
def nonzero(random):
    for picture in images(random, dtypes=("uint8", "int16", "int32", "float32"), channels=(1,)):
        yield call((picture * (random.random(picture.shape) < 0.2)).astype(picture.dtype))
        yield call(np.zeros_like(picture))
    yield call(np.zeros((2, 2, 3), np.uint8))


@function("countNonZero")
def count_nonzero(random):
    for a, _ in pairs(random, channels=(1,)):
        yield call(np.where(random.random(a.shape) < 0.4, 0, a).astype(a.dtype))


@function("reduce", within=1, relative=1e-5)
def reduce(random):
    for a, _ in pairs(random, dtypes=("uint8", "uint16", "int16", "float32", "float64")):
        for axis in (0, 1):
            for kind in range(5):
                yield call(a, axis, kind, dtype=cv2.CV_64F if kind in (0, 1, 4) else -1)


@function("calcHist")
def calc_hist(random):
    for a in images(random, channels=(1, 3), dtypes=("uint8", "uint16", "float32")):
        top = {"uint8": 256, "uint16": 65536, "float32": 2.0}[a.dtype.name]
        yield call([a], [0], None, [256], [0, top])
        yield call([a], [0], mask_of(random, a), [32], [top / 16, top / 2])
        if a.ndim == 3:
            yield call([a], [0, 2], None, [8, 9], [0, top, 0, top])
            yield call([a], [0, 1, 2], mask_of(random, a), [4, 5, 6], [0, top, 0, top, 0, top])


@function("compareHist", relative=1e-6)
def compare_hist(random):
    for size in ((256, 1), (8, 9)):
        for method in range(6):
            for _ in range(5):
                yield call(random.integers(0, 50, size).astype(np.float32), random.integers(0, 50, size).astype(np.float32), method)


@function("calcBackProject", within=1)
def back_project(random):
    for a in images(random, channels=(1, 3), dtypes=("uint8",)):
        yield call([a], [0], random.integers(0, 255, (32, 1)).astype(np.float32), [0, 256], 1)
        if a.ndim == 3:
            yield call([a], [0, 1], random.integers(0, 255, (8, 9)).astype(np.float32), [0, 180, 0, 256], 0.5)


@function("setIdentity")
def set_identity(random):
    for kind in ("uint8", "float32", "float64"):
        yield call(np.ones((3, 4), kind))
        yield call(np.ones((4, 4), kind), 5)


SUMS = (("uint8", "float32"), ("uint8", "float64"), ("uint16", "float32"), ("uint16", "float64"), ("float32", "float32"), ("float32", "float64"), ("float64", "float64"))


def sums(name, pictures=1, extra=()):
    """A picture, or two, added to a view."""
    @function(name, relative=1e-5)
    def cases(random):
        for dtype, into in (*SUMS, ("float64", "float32"), ("int16", "float32"), ("uint8", "int32"), ("uint8", "uint8")):
            for a in images(random, sizes=SMALL, dtypes=(dtype,), channels=(1, 3)):
                channels = 1 if a.ndim == 2 else a.shape[2]
                given = [a, *(image(random, *a.shape[:2], channels, dtype) for _ in range(pictures - 1))]
                for mask in (None, mask_of(random, a)):
                    dst = image(random, a.shape[0] + 2, a.shape[1] + 3, channels, into)[1:-1, 2:-1]
                    yield call(*given, dst, *extra, mask)
        yield call(*[np.zeros((3, 4), np.uint8)] * pictures, np.zeros((4, 3), np.float32), *extra)
        yield call(*[np.zeros((3, 4), np.uint8)] * pictures, np.zeros((3, 4, 3), np.float32), *extra)


sums("accumulate")
sums("accumulateSquare")
sums("accumulateProduct", pictures=2)
sums("accumulateWeighted", extra=(0.3,))


@function("patchNaNs")
def no_numbers(random):
    for a in images(random, sizes=SMALL, dtypes=("float32", "float64", "uint8"), channels=(1, 3, 4, 5)):
        if a.dtype.kind == "f":
            a[random.random(a.shape) < 0.3] = np.nan
        yield call(a)
        yield call(a, 2.5)
    yield call(np.full((2, 3, 4, 5), np.nan, np.float32), 7)
