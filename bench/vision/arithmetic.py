# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from . import row


def add(name, call, most_used=False):
    """A row for call(cv, p)."""
    @row(name, most_used)
    def make(cv, p):
        return call(cv, p)


add("add", lambda cv, p: lambda: cv.add(p.color, p.other))
add("add number", lambda cv, p: lambda: cv.add(p.color, (10, 20, 30, 0)))
add("add mask", lambda cv, p: lambda: cv.add(p.color, p.other, mask=p.mask))
add("add f32", lambda cv, p: lambda: cv.add(p.floats, p.floats))
add("subtract f32 number", lambda cv, p: lambda: cv.subtract(p.floats, (0.485, 0.456, 0.406, 0)))
add("absdiff", lambda cv, p: lambda: cv.absdiff(p.color, p.other), True)
add("multiply", lambda cv, p: lambda: cv.multiply(p.color, p.other))
add("multiply 1.5", lambda cv, p: lambda: cv.multiply(p.color, 1.5))
add("divide f32", lambda cv, p: lambda: cv.divide(p.floats, (0.229, 0.224, 0.225, 1)))
add("divide", lambda cv, p: lambda: cv.divide(p.color, p.other))
add("addWeighted", lambda cv, p: lambda: cv.addWeighted(p.color, 0.5, p.other, 0.5, 0), True)
add("bitwise_and", lambda cv, p: lambda: cv.bitwise_and(p.color, p.other))
add("bitwise_and mask", lambda cv, p: lambda: cv.bitwise_and(p.color, p.color, mask=p.mask))
add("bitwise_not", lambda cv, p: lambda: cv.bitwise_not(p.color))
add("max", lambda cv, p: lambda: cv.max(p.color, p.other))
add("compare", lambda cv, p: lambda: cv.compare(p.gray, 128, 1))
add("inRange", lambda cv, p: lambda: cv.inRange(p.color, (50, 60, 70), (200, 190, 180)), True)
add("convertScaleAbs", lambda cv, p: lambda: cv.convertScaleAbs(p.color, alpha=1.2, beta=5))
add("convertScaleAbs f32", lambda cv, p: lambda: cv.convertScaleAbs(p.floats, alpha=255))
add("normalize minmax", lambda cv, p: lambda: cv.normalize(p.color, None, 0, 255, 32), True)
add("normalize minmax f32", lambda cv, p: lambda: cv.normalize(p.plane, None, 0, 1, 32))
add("split", lambda cv, p: lambda: cv.split(p.color), True)
add("merge", lambda cv, p: (lambda planes: lambda: cv.merge(planes))([p.gray, p.mask, p.gray]), True)
add("split f32", lambda cv, p: lambda: cv.split(p.floats))
add("extractChannel", lambda cv, p: lambda: cv.extractChannel(p.color, 1))
add("hconcat", lambda cv, p: lambda: cv.hconcat([p.color, p.other]))
add("vconcat", lambda cv, p: lambda: cv.vconcat([p.color, p.other]))
add("copyTo mask", lambda cv, p: lambda: cv.copyTo(p.color, p.mask))
add("mean", lambda cv, p: lambda: cv.mean(p.color))
add("mean mask", lambda cv, p: lambda: cv.mean(p.color, mask=p.mask))
add("meanStdDev", lambda cv, p: lambda: cv.meanStdDev(p.color))
add("minMaxLoc", lambda cv, p: lambda: cv.minMaxLoc(p.gray))
add("minMaxLoc f32", lambda cv, p: lambda: cv.minMaxLoc(p.plane))
add("norm", lambda cv, p: lambda: cv.norm(p.color, p.other, 4))
add("norm L1 f32", lambda cv, p: lambda: cv.norm(p.floats, 2))
add("PSNR", lambda cv, p: lambda: cv.PSNR(p.color, p.other))
add("countNonZero", lambda cv, p: lambda: cv.countNonZero(p.mask))
add("sumElems", lambda cv, p: lambda: cv.sumElems(p.color))
add("reduce rows", lambda cv, p: lambda: cv.reduce(p.gray, 0, 0, dtype=5))
add("reduce columns", lambda cv, p: lambda: cv.reduce(p.gray, 1, 1))
add("calcHist", lambda cv, p: lambda: cv.calcHist([p.gray], [0], None, [256], [0, 256]), True)
add("calcHist 2D", lambda cv, p: lambda: cv.calcHist([p.color], [0, 1], None, [30, 32], [0, 180, 0, 256]))
add("calcBackProject", lambda cv, p: (lambda h: lambda: cv.calcBackProject([p.color], [0, 1], h, [0, 180, 0, 256], 1))(
    np.arange(960, dtype=np.float32).reshape(30, 32) % 256))
add("blendLinear", lambda cv, p: lambda: cv.blendLinear(p.color, p.other, p.plane, p.plane))
add("LUT", lambda cv, p: (lambda t: lambda: cv.LUT(p.color, t))(np.arange(256, dtype=np.uint8)[::-1].reshape(1, 256).copy()), True)
add("transform", lambda cv, p: (lambda m: lambda: cv.transform(p.color, m))(np.array([[0.272, 0.534, 0.131], [0.349, 0.686, 0.168], [0.393, 0.769, 0.189]])))
add("sqrt", lambda cv, p: lambda: cv.sqrt(p.plane))
add("pow 2", lambda cv, p: lambda: cv.pow(p.plane, 2))
add("pow 0.45", lambda cv, p: lambda: cv.pow(p.plane, 0.45))
add("exp", lambda cv, p: lambda: cv.exp(p.plane))
add("log", lambda cv, p: (lambda x: lambda: cv.log(x))(p.plane + 1))
add("magnitude", lambda cv, p: lambda: cv.magnitude(p.plane, p.plane))
add("phase", lambda cv, p: lambda: cv.phase(p.plane, p.plane))
add("polarToCart", lambda cv, p: lambda: cv.polarToCart(p.plane, p.plane))
