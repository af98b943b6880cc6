# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import SIZES, call, function, image, images

ALL = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
TARGETS = ((1, 1), (7, 3), (40, 50), (33, 64), (130, 35))  # (width, height)


@function("resize")
def resize_nearest(random):
    for picture in images(random, dtypes=ALL, channels=(1, 3, 4)):
        for size in TARGETS:
            yield call(picture, size, interpolation=cv2.INTER_NEAREST)
            yield call(picture, size, interpolation=cv2.INTER_NEAREST_EXACT)
    picture = image(random, 31, 45, 3, "uint8")
    for fx, fy in ((0.5, 0.5), (0.3, 1.7), (2, 2), (3.3, 0.11)):
        yield call(picture, None, fx=fx, fy=fy, interpolation=cv2.INTER_NEAREST)


def resize_cases(random, dtypes, interpolations):
    for picture in images(random, dtypes=dtypes, channels=(1, 2, 3, 4)):
        for size in TARGETS + ((max(1, picture.shape[1] // 2), max(1, picture.shape[0] // 2)), (max(1, picture.shape[1] // 3), max(1, picture.shape[0] // 4))):
            for interpolation in interpolations:
                yield call(picture, size, interpolation=interpolation)
    for dtype in dtypes:
        picture = image(random, 31, 45, 3, dtype)
        for fx, fy in ((0.5, 0.5), (0.3, 1.7), (2, 2), (3.3, 0.11), (0.25, 0.25)):
            if fx == 0.5 and dtype in ("int8", "int32"):
                continue  # an error in OpenCV alone
            for interpolation in interpolations:
                yield call(picture, None, fx=fx, fy=fy, interpolation=interpolation)
    for dtype in dtypes:
        for channels in (1, 3):
            for interpolation in interpolations:
                if dtype not in ("int8", "int32"):
                    yield call(image(random, 30, 74, channels, dtype), (37, 15), interpolation=interpolation)
        picture = image(random, 301, 417, 3, dtype, smooth=True)
        for size in ((224, 224), (640, 400), (30, 20), (417, 100)):
            for interpolation in interpolations:
                yield call(picture, size, interpolation=interpolation)


@function("resize", within=1)
def resize_integers(random):
    yield from resize_cases(random, ("uint8", "uint16", "int16"), (cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA, cv2.INTER_LANCZOS4, cv2.INTER_LINEAR_EXACT))
    yield from resize_cases(random, ("int8", "int32"), (cv2.INTER_LINEAR_EXACT,))
    for picture in images(random, sizes=((5, 6),), dtypes=("int8", "int32")):
        yield call(picture, (7, 7))
    yield call(image(random, 20, 30, 7, "uint8"), (13, 50))
    yield call(image(random, 20, 30, 40, "uint8"), (13, 50), interpolation=cv2.INTER_CUBIC)
    for size in ((0, 0), (-1, 5), (0, 7)):
        yield call(image(random, 5, 6, 3, "uint8"), size)
    yield call(image(random, 5, 6, 3, "uint8"), (3, 3), interpolation=9)
    yield call(np.zeros((0, 5, 3), np.uint8), (3, 3))


@function("resize", relative=1e-4)
def resize_floats(random):
    yield from resize_cases(random, ("float32", "float64"), (cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA, cv2.INTER_LANCZOS4, cv2.INTER_LINEAR_EXACT))


BORDERS = (cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_WRAP, cv2.BORDER_REFLECT_101, cv2.BORDER_TRANSPARENT)
INTERPOLATIONS = (cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_LANCZOS4, cv2.INTER_AREA)


# The wheel leaves these to IPP, whose places are not rounded to 1/32, or otherwise: (dtype, channels, interpolations).
IPP_AFFINE = (("float64", (1, 3, 4), (0,)), ("int16", (1, 3, 4), (0,)), ("uint16", (4,), (0,)))
IPP_PERSPECTIVE = (("float32", (1, 4), (0,)), ("int16", (1, 3, 4), (0, 1, 3)), ("int32", (1, 3, 4), (0,)), ("uint16", (3, 4), (1, 3)))


def warp_cases(random, dtypes, interpolations, matrices, ipp):
    """Makes cases of a warp with a matrix; matrices(random, height, width) makes some."""
    for picture in images(random, sizes=((1, 1), (1, 7), (5, 1), (17, 31), (64, 65)), dtypes=dtypes, channels=(1, 2, 3, 4)):
        height, width = picture.shape[:2]
        channels = 1 if picture.ndim == 2 else picture.shape[2]
        for number, matrix in enumerate(matrices(random, height, width)):
            for interpolation in interpolations:
                if any(picture.dtype == dtype and channels in some and interpolation in kinds for dtype, some, kinds in ipp):
                    continue
                border = BORDERS[(number + interpolation + width) % 6]
                size = (width, height) if number % 2 else (int(random.integers(1, 70)), int(random.integers(1, 40)))
                out = image(random, size[1], size[0], channels, str(picture.dtype))
                yield call(picture, matrix, size, dst=out, flags=interpolation | (cv2.WARP_INVERSE_MAP if number % 3 == 0 else 0), borderMode=border,
                           borderValue=(1, 20.4, 3, 7))


def affine_matrices(random, height, width):
    yield np.float64([[1, 0, 0], [0, 1, 0]])
    yield cv2.getRotationMatrix2D((width / 2, height / 2), float(random.uniform(-180, 180)), float(random.uniform(0.5, 2)))
    yield np.float32([[1, 0, 2.5], [0, 1, -1.25]])
    yield np.float64([[0.7, 0.2, 3], [-0.3, 1.2, 1]])
    yield random.normal(0, 1, (2, 3))
    yield np.float64([[40, 0, 1], [0, 30, 5]])


def perspective_matrices(random, height, width):
    yield np.eye(3)
    yield np.float64([[1, 0.1, 2.5], [0.05, 0.9, -1.25], [0.001, 0.002, 1]])
    yield np.float32([[0.7, 0.2, 3], [-0.3, 1.2, 1], [-0.003, 0.001, 1]])
    yield random.normal(0, 1, (3, 3))
    yield np.float64([[1, 0, 0], [0, 1, 0], [-0.05, 0.02, 1]])


INTEGERS, FLOATS = ("uint8", "uint16", "int16"), ("float32", "float64")
NEAREST = (cv2.INTER_NEAREST,)


@function("warpAffine")
def warp_affine_nearest(random):
    yield from warp_cases(random, ALL, NEAREST, affine_matrices, IPP_AFFINE)


@function("warpAffine", within=1)
def warp_affine(random):
    yield from warp_cases(random, INTEGERS, INTERPOLATIONS[1:], affine_matrices, IPP_AFFINE)
    for channels in (1, 3, 4):
        picture = image(random, 240, 320, channels, "uint8", smooth=True)
        for interpolation in INTERPOLATIONS:
            yield call(picture, cv2.getRotationMatrix2D((160, 120), 33, 1.3), (300, 260), flags=interpolation)
    yield call(image(random, 20, 20, 3, "uint8"), np.eye(3), (5, 5))
    yield call(image(random, 20, 20, 3, "uint8"), np.eye(3, dtype=np.int32)[:2], (5, 5))
    yield call(image(random, 20, 20, 3, "int8"), np.eye(3)[:2], (5, 5))
    yield call(np.zeros((0, 5), np.uint8), np.eye(3)[:2], (5, 5))


@function("warpAffine", relative=1e-4)
def warp_affine_floats(random):
    yield from warp_cases(random, FLOATS, INTERPOLATIONS[1:], affine_matrices, IPP_AFFINE)


@function("warpPerspective")
def warp_perspective_nearest(random):
    yield from warp_cases(random, ALL, NEAREST, perspective_matrices, IPP_PERSPECTIVE)


@function("warpPerspective", within=1)
def warp_perspective(random):
    yield from warp_cases(random, INTEGERS, INTERPOLATIONS[1:], perspective_matrices, IPP_PERSPECTIVE)
    for channels in (1, 3, 4):
        picture = image(random, 240, 320, channels, "uint8", smooth=True)
        for interpolation in INTERPOLATIONS:
            yield call(picture, np.float64([[1, 0.1, 2.5], [0.05, 0.9, -1.25], [0.001, 0.002, 1]]), (300, 260), flags=interpolation)
    yield call(image(random, 20, 20, 3, "uint8"), np.eye(3)[:2], (5, 5))


@function("warpPerspective", relative=1e-4)
def warp_perspective_floats(random):
    yield from warp_cases(random, FLOATS, INTERPOLATIONS[1:], perspective_matrices, IPP_PERSPECTIVE)


def remap_cases(random, dtypes, interpolations):
    for picture in images(random, sizes=((1, 1), (1, 7), (17, 31), (64, 65)), dtypes=dtypes, channels=(1, 2, 3, 4)):
        height, width = picture.shape[:2]
        shape = int(random.integers(1, 40)), int(random.integers(1, 70))
        x = random.uniform(-5, width + 5, shape).astype(np.float32)
        y = random.uniform(-5, height + 5, shape).astype(np.float32)
        x.flat[::17], y.flat[::13] = 1e12, np.nan
        whole, parts = cv2.convertMaps(np.nan_to_num(x), np.nan_to_num(y), cv2.CV_16SC2)
        for number, (first, second) in enumerate(((x, y), (np.dstack((x, y)), None), (whole, parts), (parts, whole), (whole, None))):
            for interpolation in interpolations:
                if first is whole and second is None and interpolation != cv2.INTER_NEAREST:
                    continue  # OpenCV reads memory that is not there
                if (first is parts or second is parts) and interpolation == cv2.INTER_NEAREST:
                    continue  # this version adds 1 to places whose fraction is below a half; later ones to the others
                out = image(random, shape[0], shape[1], 1 if picture.ndim == 2 else picture.shape[2], str(picture.dtype))
                yield call(picture, first, second, interpolation, dst=out, borderMode=BORDERS[(number + interpolation + width) % 6], borderValue=(1, 2, 3, 4))
        if picture.size > 1:
            yield call(picture, *(random.uniform(-3, 3, (height, width)).astype(np.float32) for _ in range(2)), interpolations[0] | cv2.WARP_RELATIVE_MAP,
                       borderMode=cv2.BORDER_REPLICATE)


@function("remap")
def remap_nearest(random):
    yield from remap_cases(random, ALL, NEAREST)


@function("remap", within=1)
def remap(random):
    yield from remap_cases(random, INTEGERS, INTERPOLATIONS[1:])
    picture, x = image(random, 20, 20, 3, "uint8"), np.zeros((5, 5), np.float32)
    yield call(picture, x, None, cv2.INTER_LINEAR)
    yield call(picture, x, x[:3], cv2.INTER_LINEAR)
    yield call(picture, x, x.astype(np.float64), cv2.INTER_LINEAR)


@function("remap", relative=1e-4)
def remap_floats(random):
    yield from remap_cases(random, FLOATS, INTERPOLATIONS[1:])


@function("convertMaps")
def convert_maps(random):
    for shape in ((1, 1), (5, 7), (20, 33)):
        x, y = (random.uniform(-50, 500, shape).astype(np.float32) for _ in range(2))
        whole, parts = cv2.convertMaps(x, y, cv2.CV_16SC2)
        for nearest in (False, True):
            for maps in ((x, y), (np.dstack((x, y)), None), (whole, parts), (parts, whole)):
                for kind in (0, cv2.CV_16SC2, cv2.CV_32FC2) + (() if nearest else (cv2.CV_32FC1,)):
                    if maps[0].dtype == np.float32 and maps[1] is not None and nearest and kind == cv2.CV_32FC2:
                        continue
                    yield call(*maps, kind, nninterpolation=nearest)
    yield call(x.astype(np.float64), y, cv2.CV_16SC2)


@function("flip")
def flip(random):
    for picture in images(random, dtypes=ALL, channels=(1, 2, 3, 4, 5)):
        for code in (0, 1, -1):
            yield call(picture, code)


@function("flipND")
def flip_nd(random):
    for picture in images(random, dtypes=("uint8", "float32"), channels=(1, 3)):
        for axis in (0, 1, -1, -2):
            yield call(picture, axis)
    yield call(picture, 2)


@function("rotate")
def rotate(random):
    for picture in images(random, dtypes=ALL, channels=(1, 2, 3, 4)):
        for code in (0, 1, 2):
            yield call(picture, code)


@function("transpose")
def transpose(random):
    for picture in images(random, dtypes=ALL, channels=(1, 2, 3, 4)):
        yield call(picture)
    square = image(random, 33, 33, 3, "uint8")
    yield call(square, dst=np.zeros_like(square))


@function("repeat")
def repeat(random):
    for picture in images(random, dtypes=("uint8", "float64"), channels=(1, 3)):
        for ny, nx in ((1, 1), (2, 3), (5, 1)):
            yield call(picture, ny, nx)
    yield call(picture, 0, 2)


@function("copyMakeBorder")
def copy_make_border(random):
    for picture in images(random, dtypes=ALL, channels=(1, 2, 3, 4)):
        for border in BORDERS[:5]:
            sizes = tuple(int(random.integers(0, 9)) for _ in range(4))
            yield call(picture, *sizes, border | (cv2.BORDER_ISOLATED if sizes[0] % 2 else 0), value=(3, 250.6, -7, 300))
    yield call(picture, -1, 2, 3, 4, cv2.BORDER_CONSTANT)
    yield call(picture, 2, 2, 3, 4, cv2.BORDER_CONSTANT, value=5)


@function("borderInterpolate")
def border_interpolate(random):
    for border in BORDERS[:5]:
        for size in (1, 2, 7):
            for p in range(-20, 30):
                yield call(p, size, border)


@function("getRotationMatrix2D", relative=1e-12)
def rotation_matrix(random):
    for _ in range(20):
        yield call(tuple(map(float, random.uniform(-100, 100, 2))), float(random.uniform(-400, 400)), float(random.uniform(-3, 3)))
    yield call((3, 4), 90, 1)


@function("getAffineTransform", relative=1e-6)
def affine_transform(random):
    for _ in range(20):
        yield call(random.uniform(-100, 100, (3, 2)).astype(np.float32), random.uniform(-100, 100, (3, 2)).astype(np.float32))
    yield call(np.float32([[0, 0], [1, 1], [2, 2]]), np.float32([[0, 0], [1, 1], [2, 3]]))
    yield call(np.float64([[0, 0], [1, 1], [2, 2]]), np.float32([[0, 0], [1, 1], [2, 3]]))
    yield call(np.float32([[[0, 0]], [[1, 5]], [[2, 2]]]), np.float32([[0, 0], [1, 1], [2, 3]]))


@function("getPerspectiveTransform", relative=1e-4)
def perspective_transform_of(random):
    corners = np.float32([[0, 0], [100, 0], [100, 80], [0, 80]])
    for _ in range(20):
        yield call(corners, corners + random.uniform(-20, 20, (4, 2)).astype(np.float32))
        yield call(corners + random.uniform(-20, 20, (4, 2)).astype(np.float32), corners * 2.5 + 3, solveMethod=cv2.DECOMP_SVD)
    yield call(corners[:3], corners)


@function("invertAffineTransform", relative=1e-5)
def invert_affine(random):
    for dtype in (np.float32, np.float64):
        for _ in range(10):
            yield call(random.uniform(-3, 3, (2, 3)).astype(dtype))
    yield call(np.zeros((2, 3)))
    yield call(np.eye(3))


@function("perspectiveTransform", relative=1e-5)
def perspective_transform(random):
    for dtype in (np.float32, np.float64):
        for n in (1, 7, 100):
            yield call(random.uniform(-50, 50, (n, 1, 2)).astype(dtype), random.normal(0, 1, (3, 3)))
            yield call(random.uniform(-50, 50, (1, n, 2)).astype(dtype), random.normal(0, 1, (3, 3)).astype(np.float32))
            yield call(random.uniform(-50, 50, (n, 1, 3)).astype(dtype), random.normal(0, 1, (4, 4)))
    yield call(np.zeros((3, 1, 2), np.float32), np.float64([[1, 0, 0], [0, 1, 0], [1, 1, 0]]))
    yield call(np.zeros((3, 2), np.float32), np.eye(3))
    yield call(np.zeros((3, 1, 2), np.int32), np.eye(3))


def pyramid_cases(random, dtypes, borders):
    for picture in images(random, dtypes=dtypes, channels=(1, 2, 3, 4)):
        height, width = picture.shape[:2]
        for border in borders:
            yield call(picture, borderType=border)
    for dtype in dtypes:
        yield call(image(random, 121, 77, 3, dtype))


DOWN_BORDERS, UP_BORDERS = BORDERS[1:5], (cv2.BORDER_DEFAULT,)


@function("pyrDown", within=1)
def pyr_down(random):
    yield from pyramid_cases(random, INTEGERS, DOWN_BORDERS)
    for size in ((5, 4), (4, 4), (5, 5), (6, 4), (6, 5)):
        for border in DOWN_BORDERS:
            yield call(image(random, 9, 10, 3, "uint8"), dstsize=size, borderType=border)
    for width, size in ((32, (17, 12)), (32, (17, 13)), (2, (2, 12)), (31, (15, 12)), (1, (1, 12))):
        for border in (cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101):
            yield call(image(random, 24, width, 1, "uint8"), dstsize=size, borderType=border)
    yield call(image(random, 9, 10, 3, "uint8"), dstsize=(3, 4))
    yield call(image(random, 9, 10, 3, "uint8"), borderType=cv2.BORDER_CONSTANT)
    yield call(image(random, 9, 10, 3, "int8"))


@function("pyrDown", relative=1e-4)
def pyr_down_floats(random):
    yield from pyramid_cases(random, FLOATS, DOWN_BORDERS)


@function("pyrUp", within=1)
def pyr_up(random):
    yield from pyramid_cases(random, INTEGERS, UP_BORDERS)
    for size in ((20, 18), (21, 17), (19, 19), (20, 17), (20, 20)):
        yield call(image(random, 9, 10, 3, "uint8"), dstsize=size)
    yield call(image(random, 9, 10, 3, "uint8"), borderType=cv2.BORDER_REPLICATE)


@function("pyrUp", relative=1e-4)
def pyr_up_floats(random):
    yield from pyramid_cases(random, FLOATS, UP_BORDERS)


def patch_cases(random, dtypes, kinds):
    for picture in images(random, sizes=((5, 7), (17, 31), (64, 65)), dtypes=dtypes):
        height, width = picture.shape[:2]
        for kind in kinds:
            if picture.ndim == 2:  # IPP, which has another pixel behind the upper right corner
                yield call(picture, (3, 4), (float(random.uniform(2, width - 2)), 2.25), patchType=kind)
                continue
            for size in ((1, 1), (3, 4), (9, 5), (width + 5, height + 4)):
                yield call(picture, size, (float(random.uniform(-3, width + 3)), float(random.uniform(-3, height + 3))), patchType=kind)
                yield call(picture, size, (width / 2, height / 2), patchType=kind)


@function("getRectSubPix", within=1)
def rect_sub_pix(random):
    yield from patch_cases(random, ("uint8",), (-1, cv2.CV_8U))
    yield call(image(random, 9, 10, 2, "uint8"), (3, 3), (4, 4))
    yield call(image(random, 9, 10, 1, "uint16"), (3, 3), (4, 4))


@function("getRectSubPix", relative=1e-4)
def rect_sub_pix_floats(random):
    yield from patch_cases(random, ("float32",), (-1,))
    yield from patch_cases(random, ("uint8",), (cv2.CV_32F,))


@function("warpPolar", within=1)
def warp_polar(random):
    for picture in images(random, sizes=((5, 7), (64, 65), (100, 120)), channels=(1, 3), smooth=True):
        height, width = picture.shape[:2]
        for flags in (0, cv2.INTER_LINEAR, cv2.INTER_CUBIC):
            for log in (0, cv2.WARP_POLAR_LOG):
                for size in ((40, 90), (0, 0), (30, 0)):
                    yield call(picture, size, (width / 2, height / 2), 30.5, flags | log | cv2.WARP_FILL_OUTLIERS)


def near(expected, found):
    """The share of elements that differ by more than 2, in percent: places are computed in f32, and rounded to 1/32 of a pixel."""
    return 100.0 * float(np.mean(np.abs(expected.astype(float) - found) > 2)) if expected.shape == found.shape else np.inf


def inverse_polar_cases(random, *more):
    for picture in images(random, sizes=((64, 65), (100, 120)), channels=(1, 3), smooth=True):
        for flags in (cv2.INTER_LINEAR, cv2.INTER_CUBIC):
            for log in (0, cv2.WARP_POLAR_LOG):
                yield call(picture, (90, 80), (44.5, 40.25), 30.5, flags | log | cv2.WARP_FILL_OUTLIERS | cv2.WARP_INVERSE_MAP)


@function("warpPolar", within=2, judge=near)
def warp_polar_inverse(random):
    yield from inverse_polar_cases(random)


@function("linearPolar", within=1)
def linear_polar(random):
    for picture in images(random, sizes=((5, 7), (64, 65)), channels=(1, 3), smooth=True):
        yield call(picture, (20.5, 30), 30.5, cv2.INTER_LINEAR | cv2.WARP_FILL_OUTLIERS)


@function("logPolar", within=1)
def log_polar(random):
    for picture in images(random, sizes=((5, 7), (64, 65)), channels=(1, 3), smooth=True):
        yield call(picture, (20.5, 30), 12.5, cv2.INTER_LINEAR | cv2.WARP_FILL_OUTLIERS)
