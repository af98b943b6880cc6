# SPDX-License-Identifier: Apache-2.0
"""Cases for tests/python/cv_parity_test.py: one file for each group of functions of minnow.cv.

A file lists functions that make cases, with the difference from OpenCV that is allowed:

    @function("blur", within=1)
    def blur(random):
        for image in images(random, dtypes=("uint8", "float32"), channels=(1, 3)):
            yield call(image, (3, 3), borderType=cv2.BORDER_REFLECT)

exact (the default): every element equal. within=n: at most n apart. relative=r: |a - b| <= r * max(1, |b|). `judge`: a function of (expected, found)
for what has another measure; it gives the worst difference. Where OpenCV raises an error, minnow.cv has to.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator

import numpy as np

SIZES = ((1, 1), (1, 7), (5, 1), (3, 4), (17, 31), (64, 65))  # [height, width]; large ones are rare in a file
FUNCTIONS: list["Function"] = []


@dataclasses.dataclass
class Function:
    name: str
    cases: Callable[[np.random.Generator], Iterator["Call"]]
    within: float
    relative: float
    judge: Callable[[Any, Any], float] | None
    group: str


@dataclasses.dataclass
class Call:
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def call(*args: Any, **keywords: Any) -> Call:
    return Call(args, keywords)


def function(name: str, within: float = 0, relative: float = 0, judge: Callable[[Any, Any], float] | None = None) -> Callable[[Any], Any]:
    """name: of OpenCV's function, "dnn.NMSBoxes" in a submodule, or "Class.method" of an object that cases make first."""
    def add(cases: Any) -> Any:
        FUNCTIONS.append(Function(name, cases, within, relative, judge, cases.__module__.rsplit(".", 1)[-1]))
        return cases
    return add


def image(random: np.random.Generator, height: int, width: int, channels: int, dtype: str, smooth: bool = False) -> np.ndarray:
    """Random elements over the dtype's range; floats between -1 and 2. smooth: neighbours are alike."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    kind = np.dtype(dtype)
    if smooth:
        y, x = np.mgrid[:height, :width].astype(float)
        waves = sum(np.sin(y * random.uniform(0.02, 0.3) + x * random.uniform(0.02, 0.3) + random.uniform(0, 6)) for _ in range(4)) / 8 + 0.5
        base = np.stack([np.roll(waves, 3 * c, axis=1) for c in range(channels)], axis=-1).reshape(shape)
    else:
        base = random.random(shape)
    if kind.kind == "f":
        return (base * 3 - 1).astype(kind)
    limits = np.iinfo(kind)
    low, high = (limits.min, limits.max) if kind.itemsize < 4 else (-100000, 100000)
    return np.floor(low + base * (high - low + 1)).clip(low, high).astype(kind)


def images(random: np.random.Generator, sizes: Any = SIZES, dtypes: Any = ("uint8",), channels: Any = (1, 3), smooth: bool = False,
           views: bool = True) -> Iterator[np.ndarray]:
    """Pictures of all combinations; with `views` every third is a part of a larger one."""
    count = 0
    for height, width in sizes:
        for dtype in dtypes:
            for c in channels:
                count += 1
                if views and count % 3 == 0:
                    yield image(random, height + 3, width + 5, c, dtype, smooth)[2:2 + height, 1:1 + width]
                else:
                    yield image(random, height, width, c, dtype, smooth)
