# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import cv2
import numpy as np

from . import call, function, image, images

CODES = {getattr(cv2, name): name[6:] for name in sorted(dir(cv2), reverse=True) if name.startswith("COLOR_") and name != "COLOR_COLORCVT_MAX"}
EVEN = ((2, 2), (4, 6), (6, 34), (18, 62), (30, 130))
COLORS = re.compile(r"^L?(BGRA?|RGBA?)$")


def source(name):
    """The channels and kind of the source of a code."""
    start = name.replace("BGR5652", "565 ").replace("BGR5552", "555 ").split("2", 1)[0].split(" ")[0]
    if name.startswith("YUV") and ("_" in name) and not name.endswith("_FULL"):
        return "422" if re.search("Y422|UYVY|UYNV|YUYV|YUY2|YUNV|YVYU", name) else "420"
    if start.upper().startswith("BAYER"):
        return "vng" if name.endswith("VNG") else "bayer"
    if start in ("565", "555"):
        return "packed"
    return {"GRAY": "gray", "RGBA2mRGBA": "alpha"}.get(start, "alpha" if "mRGBA" in name or "M_RGBA" in name else "colors" if COLORS.match(start) else start.upper())


def scaled(picture, start):
    """Floats within the ranges of a colour space."""
    unit = (picture + 1) / 3
    low, high = {"LAB": ([0, -100, -100], [100, 100, 100]), "LUV": ([0, -80, -80], [100, 120, 100]), "HSV": ([0, 0, 0], [359.9, 1, 1]),
                 "HLS": ([0, 0, 0], [359.9, 1, 1])}.get(start, ([0, 0, 0], [1, 1, 1]))
    return (unit * (np.array(high) - low) + low).astype(np.float32)


def calls(random, kinds, dtypes):
    for code, name in CODES.items():
        kind = source(name)
        if kind in ("gray", "420", "bayer", "vng"):
            group, channels = kind, (1,)
        elif kind in ("422", "packed"):
            group, channels = kind, (2,)
        elif kind == "alpha":
            group, channels = kind, (4,)
        elif kind == "colors":
            group, channels = kind, (3, 4)
        else:
            group, channels = "space", (3,)
        if group not in kinds:
            continue
        limited = re.search("HSV|HLS|LAB|LUV", name.upper()) is not None
        here = [d for d in dtypes if not (limited and d == "uint16")]
        sizes = EVEN if kind in ("420", "422") or "2YUV_" in name else ((3, 3), (1, 5), (2, 9), (8, 9), (17, 50), (30, 641)) if kind == "bayer" else None
        if kind == "vng":
            sizes = ((1, 5), (3, 3), (7, 20), (8, 8), (8, 9), (17, 50), (30, 641))
        for picture in images(random, **({"sizes": sizes} if sizes else {}), dtypes=here, channels=channels, smooth=bool(random.integers(2))):
            if kind == "420":
                picture = image(random, picture.shape[0] // 2 * 3, picture.shape[1], 1, "uint8")
            if picture.dtype == np.float32:
                picture = scaled(picture, kind) if kind in ("LAB", "LUV", "HSV", "HLS") else ((picture + 1) / 3).astype(np.float32) if limited else picture
            yield call(picture, code)


@function("cvtColor", within=1)
def integers(random):
    yield from calls(random, ("gray", "colors", "space", "alpha"), [d for d in ("uint8", "uint16")])


@function("cvtColor")
def bytes_to_hue(random):
    """Thresholds of hue and saturation cut at single steps."""
    colors = np.stack(np.meshgrid(*[np.array([*range(0, 256, 7), 1, 34, 85, 127, 128, 170, 254, 255], np.uint8)] * 3), axis=-1).reshape(-1, 45 * 3, 3)
    for name in ("BGR2HSV", "RGB2HSV", "BGR2HSV_FULL", "RGB2HSV_FULL"):
        for picture in images(random, channels=(3, 4)):
            yield call(picture, getattr(cv2, f"COLOR_{name}"))
        yield call(colors, getattr(cv2, f"COLOR_{name}"))
        yield call(random.integers(0, 256, (300, 400, 3), dtype=np.uint8), getattr(cv2, f"COLOR_{name}"))


@function("cvtColor", within=1)
def bytes_of_frames(random):
    yield from calls(random, ("420", "422", "packed"), ("uint8",))


@function("cvtColor", within=1)
def mosaics(random):
    yield from calls(random, ("bayer",), ("uint8", "uint16"))


@function("cvtColor", within=1)
def mosaics_by_gradients(random):
    for _ in range(3):
        yield from calls(random, ("vng",), ("uint8", "uint16"))


@function("cvtColor", relative=1e-4)
def floats(random):
    yield from (c for c in calls(random, ("gray", "colors", "space"), ("float32",)) if not re.search("2LAB|2LUV", CODES[c.args[1]].upper()))


@function("cvtColor", within=1 / 64 + 1e-6)  # OpenCV interpolates in a table of int16: its steps are 1 / 64; u and v cancel out near gray
def floats_to_lab(random):
    yield from (c for c in calls(random, ("colors",), ("float32",)) if re.search("2LAB|2LUV", CODES[c.args[1]].upper()))


@function("cvtColor", within=1)
def errors_and_channels(random):
    shapes = {"gray": (6, 8), "two": (6, 8, 2), "three": (6, 8, 3), "four": (6, 8, 4), "five": (6, 8, 5), "odd": (5, 7), "odd3": (5, 7, 3), "odd2": (5, 7, 2)}
    for shape in shapes.values():
        for dtype in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
            for code in (*range(0, 160, 3), -1, 1000):
                if CODES.get(code, "").endswith("VNG") or CODES.get(code, "").upper().startswith("BAYER"):
                    continue
                yield call(np.zeros(shape, dtype), code, dstCn=int(random.choice([0, 0, 3, 4, 2])))
    yield call(np.zeros((0, 3, 3), np.uint8), cv2.COLOR_BGR2GRAY)


@function("cvtColor", within=1)
def destinations(random):
    for picture in images(random, channels=(3,)):
        yield call(picture, cv2.COLOR_BGR2RGB, dst=picture)
        yield call(picture, cv2.COLOR_BGR2GRAY, dst=np.zeros(picture.shape[:2], np.uint8))
        yield call(picture, cv2.COLOR_BGR2GRAY, dst=np.zeros((2, 2), np.uint8))


@function("cvtColorTwoPlane", within=1)
def two_planes(random):
    for height, width in EVEN:
        for code in range(88, 100):
            yield call(image(random, height, width, 1, "uint8"), image(random, height // 2, width // 2, 2, "uint8"), code)
    yield call(np.zeros((4, 4), np.uint8), np.zeros((3, 2, 2), np.uint8), cv2.COLOR_YUV2BGR_NV12)
