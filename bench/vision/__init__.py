# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/vision_functions.py: one file for each group of functions of minnow.cv.

    @row("GaussianBlur 5x5", most_used=True)
    def gaussian(cv, p):                  # cv: cv2 or minnow.cv; p: pictures of one size
        return lambda: cv.GaussianBlur(p.color, (5, 5), 0)
"""
from __future__ import annotations

import dataclasses
from typing import Any, Callable

import numpy as np

ROWS: list["Row"] = []


@dataclasses.dataclass
class Row:
    name: str
    make: Callable[[Any, "Pictures"], Callable[[], Any]]
    most_used: bool


class Pictures:
    """Images of one size: color u8 [h, w, 3], gray u8, floats f32 [h, w, 3], plane f32 [h, w], mask u8 (0 or 255), other (a second color)."""

    def __init__(self, height: int, width: int) -> None:
        random = np.random.default_rng(1)
        y, x = np.mgrid[:height, :width].astype(np.float32)
        base = 127 + 60 * np.sin(x / 23) + 50 * np.cos(y / 17 + x / 41)
        noise = random.normal(0, 8, (height, width, 3))
        self.color = np.clip(np.stack([base, base[::-1], base[:, ::-1]], -1) + noise, 0, 255).astype(np.uint8)
        self.other = np.ascontiguousarray(self.color[::-1, ::-1])
        self.gray = np.ascontiguousarray(self.color[..., 1])
        self.floats = self.color.astype(np.float32) / 255
        self.plane = np.ascontiguousarray(self.floats[..., 1])
        self.mask = ((self.gray > 150) * 255).astype(np.uint8)
        self.height, self.width = height, width


def row(name: str, most_used: bool = False) -> Callable[[Any], Any]:
    def add(make: Any) -> Any:
        ROWS.append(Row(name, make, most_used))
        return make
    return add
