# SPDX-License-Identifier: Apache-2.0
"""Arrays that are no usual pictures: of four axes, of int32 beyond its range, of float16."""
import cv2
import numpy as np

from cv_parity import call, function, image


def deep(random, dtype="uint8", shape=(2, 3, 4, 5)):
    return image(random, int(np.prod(shape[:-1])), shape[-1], 1, dtype).reshape(shape)


def pairs(name, *others, dtypes=("uint8", "int16", "int32", "float32"), **allowed):
    """Cases of a function of two arrays of four or five axes."""
    @function(name, **allowed)
    def cases(random):
        for dtype in dtypes:
            for shape in ((2, 3, 4, 5), (1, 1, 2, 7), (2, 1, 3, 2, 9)):
                yield call(deep(random, dtype, shape), deep(random, dtype, shape), *others)
        yield call(deep(random), deep(random, shape=(3, 2, 4, 5)), *others)
        yield call(deep(random), deep(random)[0], *others)


for name in ("add", "subtract", "absdiff", "min", "max", "bitwise_and", "bitwise_or", "bitwise_xor"):
    pairs(name)
for name in ("multiply", "divide"):
    pairs(name, dtypes=("uint8", "int16", "float32"), relative=1e-6)
for name in ("magnitude", "phase", "cartToPolar", "polarToCart"):
    pairs(name, dtypes=("float32", "float64"), within=2e-3)
pairs("compare", cv2.CMP_GE)
pairs("norm", relative=1e-6)
pairs("PSNR", dtypes=("uint8",), relative=1e-9)


def singles(name, *others, dtypes=("uint8",), **allowed):
    @function(name, **allowed)
    def cases(random):
        for dtype in dtypes:
            yield call(deep(random, dtype), *others)
            yield call(deep(random, dtype, (3, 1, 1, 2, 4)), *others)


for name in ("mean", "sumElems", "meanStdDev", "norm", "split", "hasNonZero", "countNonZero"):
    singles(name, dtypes=("uint8", "float32"), relative=1e-6)
singles("bitwise_not", dtypes=("uint8", "int32"))
singles("convertScaleAbs", None, 0.5, -20, dtypes=("uint8", "float32"))
singles("LUT", np.arange(255, -1, -1).astype(np.uint8))
singles("inRange", 20, 150)
singles("normalize", None, 0, 1, cv2.NORM_MINMAX, cv2.CV_32F, dtypes=("uint8", "float32"), within=1e-6)
for name in ("exp", "sqrt"):
    singles(name, dtypes=("float32",), relative=1e-5)


@function("add")
def masked(random):
    a, b, mask = deep(random), deep(random), deep(random) % 2
    yield call(a, b, np.full_like(a, 7), mask)
    yield call(a, b, None, mask)
    for number in (3, 2.5, (4,), (1, 2, 3, 4)):
        yield call(a, number)


@function("flipND")
def flips(random):
    for axis in (0, 1, 2, 3, -1, -3, 4):
        yield call(deep(random), axis)


def words(random):
    """int32 over the whole range, and its ends: sums wrap. Numbers beside integers are rounded first."""
    ends = np.array([2147483647, -2147483648, -1, 0, 1], np.int32)
    yield np.repeat(ends, 5).reshape(5, 5), np.tile(ends, (5, 1))
    for shape in ((3, 5), (17, 31), (8, 9, 3)):
        yield (random.integers(-2**31, 2**31, shape).astype(np.int32) for _ in range(2))


def wrapping(name):
    @function(name)
    def cases(random):
        for dtype in ("uint8", "int8", "uint16", "int16"):
            for number in (2.5, 3.5, -2.5, 300, 2.7, (2.5, 3.5, 1.2, -0.5)):
                yield call(image(random, 5, 6, 3, dtype), number)
                yield call(number, image(random, 5, 6, 1, dtype))
        for a, b in words(random):
            yield call(a, b)
            for number in (1, -1, 2.5, 3.5, (2147483647.0, 1.0, -7.0, 0.0)):
                yield call(a, number)
                yield call(number, a)


for name in ("add", "subtract", "absdiff"):
    wrapping(name)


@function("add")
def words_of_a_dtype(random):
    for a, b in words(random):
        yield call(a, b, dtype=cv2.CV_32S)
        yield call(a, b, dtype=cv2.CV_64F)


def half(random, height=7, width=9, channels=1):
    return image(random, height, width, channels, "float16")


def halves(name, *others, channels=(1, 3), **keywords):
    @function(name)
    def cases(random):
        for c in channels:
            yield call(half(random, channels=c), *others, **keywords)


for name, others in {"flip": (1,), "transpose": (), "rotate": (0,), "repeat": (2, 3), "split": (), "bitwise_not": (), "norm": (), "flipND": (0,)}.items():
    halves(name, *others)
for border in range(5):
    halves("copyMakeBorder", 1, 2, 3, 0, border)
halves("copyMakeBorder", 1, 2, 3, 0, cv2.BORDER_CONSTANT, value=3.1, channels=(1,))
halves("resize", (20, 5), interpolation=cv2.INTER_NEAREST)
halves("extractChannel", 1, channels=(3,))
# OpenCV computes nothing in 16 bits.
for name, others in {"resize": ((20, 5),), "blur": ((3, 3),), "multiply": (2,), "mean": (), "GaussianBlur": ((3, 3), 0), "minMaxLoc": ()}.items():
    halves(name, *others, channels=(1,))


def half_pairs(name, **allowed):
    @function(name, **allowed)
    def cases(random):
        for c in (1, 3):
            yield call(half(random, channels=c), half(random, channels=c))


for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "add", "subtract", "max"):
    half_pairs(name)
for name in ("norm", "PSNR"):
    half_pairs(name, relative=1e-6)


@function("merge")
def merged(random):
    yield call([half(random), half(random)])
    yield call([half(random), half(random), half(random)])


@function("hconcat")
def side_by_side(random):
    yield call([half(random, channels=3), half(random, channels=3)])


@function("LUT")
def table_of_halves(random):
    yield call(image(random, 5, 6, 1, "uint8"), random.random(256).astype(np.float16))


@function("normalize")
def into_halves(random):
    yield call(image(random, 9, 7, 1, "float32"), None, 0, 1, cv2.NORM_MINMAX, cv2.CV_16F)


@function("convertFp16")
def convert_fp16(random):
    values = np.array([[0, -0.0, 1, 1 + 2**-11, 1 + 3 * 2**-11, 65504, 65519, 65520, 1e9, -1e9, 6e-8, 2**-25, 3e-8, np.inf, np.nan]], np.float32)
    for picture in (values, image(random, 9, 13, 3, "float32") * 1000, deep(random, "float32")):
        yield call(picture)
        if picture is not values:
            yield call(picture.astype(np.float16))
            yield call(picture.astype(np.float16).view(np.int16))
    yield call(image(random, 3, 3, 1, "uint8"))
    yield call(image(random, 3, 3, 1, "float64"))


@function("merge")
def merged_of_more_axes(random):
    for shape in ((2, 3, 4, 5), (1, 1, 2, 7), (2, 1, 3, 2, 9)):
        for count in (1, 2, 3):
            for dtype in ("uint8", "int16", "float32", "float16"):
                yield call([deep(random, dtype, shape) for _ in range(count)])
    yield call([deep(random), deep(random)], np.zeros((2, 3, 4, 5, 2), np.uint8))
    yield call([deep(random), deep(random, shape=(3, 2, 4, 5))])


@function("transposeND")
def axes_in_another_order(random):
    for dtype in ("uint8", "int16", "int32", "float32", "float64", "float16"):
        for order in ((3, 0, 2, 1), (0, 1, 2, 3), (1, 0, 3, 2), (0, 0, 1, 2), (0, 1, 2), (4, 0, 1, 2)):
            yield call(deep(random, dtype), order)
        yield call(image(random, 7, 5, 1, dtype), (1, 0))
        yield call(image(random, 7, 5, 1, dtype)[1:5, ::2].copy(), [1, 0])
    yield call(image(random, 7, 5, 3, "uint8"), (1, 0))
    yield call(deep(random), (3, 0, 2, 1), np.zeros((5, 2, 4, 3), np.uint8))


def positions(name):
    @function(name)
    def cases(random):
        for dtype in ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64"):
            for axis in (-2, -1, 0, 1, 2, 5, -3):
                for last in (False, True):
                    yield call((image(random, 9, 13, 1, dtype) / 50).astype(dtype), axis, lastIndex=last)
            for axis in (-4, 0, 1, 2, 3, -5):
                yield call((deep(random, dtype) / 50).astype(dtype), axis, None, bool(axis % 2))
        yield call(image(random, 9, 13, 3, "uint8"), 0)
        yield call(image(random, 9, 13, 1, "uint8")[2:5, 3:9], 1, np.zeros((3, 1), np.int32))


for name in ("reduceArgMax", "reduceArgMin"):
    positions(name)
