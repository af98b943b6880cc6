# SPDX-License-Identifier: Apache-2.0
import cv2
import numpy as np

from cv_parity import call, function, image

LINES = (cv2.LINE_4, cv2.LINE_8, cv2.LINE_AA)


def canvases(random, count):
    """Pictures of many kinds, with a colour for each."""
    kinds = [("uint8", 3), ("uint8", 1), ("uint8", 4), ("uint8", 3), ("uint8", 2), ("float32", 3), ("uint16", 1), ("int16", 3), ("float64", 1), ("int8", 2), ("int32", 4)]
    sizes = [(40, 50), (33, 64), (1, 1), (5, 7), (64, 9), (90, 120)]
    for i in range(count):
        dtype, channels = kinds[i % len(kinds)] if i % 2 else ("uint8", (1, 3)[i // 2 % 2])
        height, width = sizes[int(random.integers(len(sizes)))] if i % 3 else (60, 80)
        picture = image(random, height, width, channels, dtype)
        if i % 4 == 3:
            picture = image(random, height + 3, width + 5, channels, dtype)[2:2 + height, 1:1 + width]
        yield picture, tuple(float(v) for v in random.integers(-20, 300, 4))


def point(random, picture, shift=0, beyond=0.4):
    height, width = picture.shape[:2]
    x, y = random.uniform(-beyond, 1 + beyond, 2)
    return int(x * width * (1 << shift)), int(y * height * (1 << shift))


def some_shift(random):
    return int(random.choice([0, 0, 0, 1, 3, 8, 10]))


def some_thickness(random, fills=False):
    return int(random.choice([1, 1, 2, 3, 5, 10, 0] + [-1, -1, -3] * fills))


def some_type(random):
    return int(random.choice(LINES))


@function("line")
def line(random):
    for i, (picture, color) in enumerate(canvases(random, 400)):
        shift = some_shift(random)
        beyond = 50 if i % 10 == 0 else 0.4
        yield call(picture, point(random, picture, shift, beyond), point(random, picture, shift, beyond), color, some_thickness(random), some_type(random), shift)
    for thickness, kind, shift in ((-1, 8, 0), (40000, 8, 0), (1, 8, 17), (1, 8, -1), (1, 3, 0)):
        yield call(image(random, 20, 20, 3, "uint8"), (2, 3), (10, 12), (1, 2, 3), thickness, kind, shift)
    yield call(image(random, 20, 20, 5, "uint8"), (2, 3), (10, 12), (1, 2, 3))


@function("arrowedLine")
def arrowed(random):
    for picture, color in canvases(random, 100):
        yield call(picture, point(random, picture), point(random, picture), color, some_thickness(random), some_type(random), 0, random.uniform(0, 0.5))


@function("rectangle")
def rectangle(random):
    for i, (picture, color) in enumerate(canvases(random, 250)):
        shift = some_shift(random)
        a, b = point(random, picture, shift), point(random, picture, shift)
        if i % 3 == 0:
            yield call(picture, (*a, b[0] - a[0], b[1] - a[1]), color, some_thickness(random, True), some_type(random), shift)
        else:
            yield call(picture, a, b, color, some_thickness(random, True), some_type(random), shift)


@function("circle")
def circle(random):
    for picture, color in canvases(random, 300):
        shift = some_shift(random)
        yield call(picture, point(random, picture, shift), int(random.integers(0, 60)) << shift, color, some_thickness(random, True), some_type(random), shift)
    yield call(image(random, 20, 20, 3, "uint8"), (2, 3), -1, (1, 2, 3))


@function("ellipse")
def ellipse(random):
    for i, (picture, color) in enumerate(canvases(random, 350)):
        if i % 3 == 0:
            box = (tuple(random.uniform(-5, 60, 2).tolist()), tuple(random.uniform(0, 60, 2).tolist()), random.uniform(-180, 180))
            yield call(picture, box, color, some_thickness(random, True), some_type(random))
            continue
        shift = some_shift(random)
        axes = tuple(int(v) << shift for v in random.integers(0, 40, 2))
        angles = random.uniform(-400, 400, 3).tolist() if i % 2 else [random.uniform(0, 360), 0, 360]
        yield call(picture, point(random, picture, shift), axes, *angles, color, some_thickness(random, True), some_type(random), shift)


def polygons(random, picture, shift, count=None):
    result = []
    for _ in range(count or int(random.integers(1, 4))):
        points = [point(random, picture, shift) for _ in range(int(random.integers(1, 9)))]
        array = np.array(points, np.int32)
        result.append(array.reshape(-1, 1, 2) if random.random() < 0.5 else array)
    return result


@function("polylines")
def polylines(random):
    for picture, color in canvases(random, 150):
        shift = some_shift(random)
        yield call(picture, polygons(random, picture, shift), bool(random.integers(2)), color, some_thickness(random), some_type(random), shift)
    yield call(image(random, 20, 20, 3, "uint8"), [np.zeros((3, 2), np.float32)], True, (1, 2, 3))


@function("fillPoly")
def fill_poly(random):
    for i, (picture, color) in enumerate(canvases(random, 300)):
        shift = some_shift(random)
        yield call(picture, polygons(random, picture, shift), color, some_type(random), shift, offset=(int(random.integers(-9, 9)), int(random.integers(-9, 9))) if i % 4 == 0 else (0, 0))


@function("fillConvexPoly")
def fill_convex(random):
    for picture, color in canvases(random, 250):
        shift = some_shift(random)
        yield call(picture, polygons(random, picture, shift, 1)[0], color, some_type(random), shift)
        hull = cv2.convexHull(polygons(random, picture, shift, 1)[0])
        yield call(picture, hull, color, some_type(random), shift)


@function("drawContours")
def contours(random):
    for i, (picture, color) in enumerate(canvases(random, 150)):
        blobs = (cv2.GaussianBlur(random.random((70, 90)), (0, 0), 3) > 0.5).astype(np.uint8)
        found, hierarchy = cv2.findContours(blobs, (cv2.RETR_TREE, cv2.RETR_CCOMP, cv2.RETR_LIST)[i % 3], cv2.CHAIN_APPROX_SIMPLE)
        chosen = -1 if i % 2 else int(random.integers(len(found)))
        extra = {"hierarchy": hierarchy, "maxLevel": int(random.integers(0, 4))} if i % 5 else {}
        yield call(picture, found, chosen, color, some_thickness(random, True), some_type(random), offset=(i % 7 - 3, i % 5 - 2), **extra)
    yield call(image(random, 20, 20, 3, "uint8"), [np.zeros((3, 1, 2), np.int32)], 1, (1, 2, 3))


@function("drawMarker")
def marker(random):
    for i, (picture, color) in enumerate(canvases(random, 80)):
        yield call(picture, point(random, picture), color, i % 8, int(random.integers(1, 40)), some_thickness(random), some_type(random))


@function("clipLine")
def clip(random):
    for _ in range(200):
        values = random.integers(-100, 200, 6)
        yield call((int(values[0]), int(values[1]), int(random.integers(-3, 90)), int(random.integers(0, 90))), tuple(values[2:4].tolist()), tuple(values[4:].tolist()))


@function("ellipse2Poly")
def ellipse_to_polygon(random):
    for _ in range(150):
        yield call(tuple(random.integers(-50, 50, 2).tolist()), tuple(random.integers(0, 50, 2).tolist()), *random.integers(-500, 500, 3).tolist(), int(random.integers(1, 181)))
    for delta in (0, -1, 181):
        yield call((0, 0), (10, 10), 0, 0, 360, delta)


@function("putText")
def text(random):
    printable = "".join(map(chr, range(32, 127)))
    for font in [*range(8), *range(16, 24)]:
        for scale, thickness, kind in ((1, 1, cv2.LINE_8), (0.5, 1, cv2.LINE_AA), (2.3, 3, cv2.LINE_AA), (1.5, 2, cv2.LINE_4)):
            yield call(np.zeros((130, 3200, 3), np.uint8), printable, (5, 70), font, scale, (255, 100, 50), thickness, kind)
    for letters in ("Приветствую Вас ё", "naïve \u20ac", "\t\n\x7f", ""):
        for font in (0, 3, 19):
            yield call(np.zeros((60, 400), np.uint8), letters, (5, 40), font, 1, 255)
    for picture, color in canvases(random, 60):
        yield call(picture, "Minnow 0.9", point(random, picture), int(random.integers(8)), random.uniform(0.2, 3), color, some_thickness(random), some_type(random), bool(random.integers(2)))
    yield call(np.zeros((60, 400), np.uint8), "x", (5, 40), 8, 1, 255)


@function("getTextSize")
def text_size(random):
    for font in [*range(8), *range(16, 24)]:
        for letters in ("Minnow", "{}|~ jgpqy", "", "Привет"):
            for scale in (0.3, 1, 2.7):
                yield call(letters, font, scale, int(random.integers(0, 6)))
    yield call("x", 9, 1, 1)


@function("getFontScaleFromHeight")
def font_scale(random):
    for font in range(8):
        for height in (1, 10, 33):
            yield call(font, height)
            yield call(font, height, 3)
