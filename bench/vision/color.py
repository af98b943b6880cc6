# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from . import row


def add(name, source, most_used=False):
    """A row for a colour code; source: how a picture of `p` becomes its input."""
    @row(f"cvtColor {name}", most_used)
    def make(cv, p):
        picture, code = np.ascontiguousarray(source(p)), getattr(cv, "COLOR_" + name.split(" ")[0])
        return lambda: cv.cvtColor(picture, code)


def four(p):
    return np.dstack([p.color, p.gray])


def frame(p):
    return np.vstack([p.gray, p.gray[:p.height // 2]])


for name in ("BGR2RGB", "BGR2GRAY"):
    add(name, lambda p: p.color, True)
add("GRAY2BGR", lambda p: p.gray, True)
add("BGR2HSV", lambda p: p.color, True)
add("HSV2BGR", lambda p: np.dstack([p.color[..., 0] // 2 + 30, p.color[..., 1:]]))
add("BGR2YCrCb", lambda p: p.color, True)
for name in ("BGR2BGRA", "YCrCb2BGR", "BGR2HLS", "HLS2BGR", "BGR2Lab", "Lab2BGR", "BGR2Luv", "Luv2BGR", "BGR2XYZ", "XYZ2BGR", "BGR2YUV_I420", "BGR2YUV_YUYV", "BGR2BGR565"):
    add(name, lambda p: p.color)
add("BGRA2BGR", four, True)
add("RGBA2mRGBA", four)
for name in ("YUV2BGR_NV12", "YUV2RGB_NV21"):
    add(name, frame, name.endswith("NV21"))
add("YUV2BGR_I420", frame)
add("YUV2BGR_YUYV", lambda p: p.color[..., :2])
add("BGR5652BGR", lambda p: p.color[..., :2])
for name in ("BayerBG2BGR", "BayerBG2GRAY", "BayerBG2BGR_EA", "BayerBG2BGR_VNG"):
    add(name, lambda p: p.gray)
for name in ("BGR2RGB f32", "BGR2GRAY f32", "BGR2HSV f32", "HSV2BGR f32", "BGR2Lab f32", "Lab2BGR f32", "BGR2Luv f32", "BGR2YCrCb f32"):
    add(name, lambda p: p.floats)
for name in ("BGR2GRAY u16", "BGR2RGB u16", "BGR2YCrCb u16"):
    add(name, lambda p: p.color.astype(np.uint16) * 257)


def preprocessing(name, source, picture, code):
    """cv.preprocess next to cvtColor, resize and NumPy."""
    @row(f"preprocess {name} to 224x224")
    def make(cv, p):
        image, mean, scale = np.ascontiguousarray(picture(p)), (123.675, 116.28, 103.53), (1 / 58.395, 1 / 57.12, 1 / 57.375)
        if hasattr(cv, "preprocess"):
            return lambda: cv.preprocess(image, (224, 224), source, mean=mean, scale=scale)
        means, scales = np.float32(mean), np.float32(scale)
        return lambda: np.ascontiguousarray(((cv.resize(cv.cvtColor(image, code), (224, 224)).astype(np.float32) - means) * scales).transpose(2, 0, 1))[None]


preprocessing("BGR", "bgr", lambda p: p.color, 4)
preprocessing("NV21", "nv21", frame, 92)
preprocessing("YUYV", "yuyv", lambda p: p.color[..., :2], 115)
