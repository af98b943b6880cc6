# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np

from . import row

for _picture in ("color", "gray", "floats"):
    for _name in ("LINEAR", "AREA", "CUBIC", "NEAREST", "LANCZOS4"):
        for _factor in (0.37, 0.5, 1.5):
            def _make(cv, p, picture=_picture, name=_name, factor=_factor):
                source, size = getattr(p, picture), (round(p.width * factor), round(p.height * factor))
                return lambda: cv.resize(source, size, interpolation=getattr(cv, f"INTER_{name}"))
            row(f"resize {_name.lower()} {_picture} x{_factor}", most_used=_picture == "color" and _name == "LINEAR" and _factor == 0.37)(_make)

for _picture in ("color", "gray", "floats"):
    for _name in ("NEAREST", "LINEAR", "CUBIC", "LANCZOS4"):
        def _affine(cv, p, picture=_picture, name=_name):
            source, matrix = getattr(p, picture), cv.getRotationMatrix2D((p.width / 2, p.height / 2), 20, 0.9)
            return lambda: cv.warpAffine(source, matrix, (p.width, p.height), flags=getattr(cv, f"INTER_{name}"))
        row(f"warpAffine {_name.lower()} {_picture}", most_used=_picture == "color" and _name == "LINEAR")(_affine)

        def _perspective(cv, p, picture=_picture, name=_name):
            source, matrix = getattr(p, picture), np.float64([[0.9, 0.1, 3], [0.05, 1.1, -9], [0.00002, 0.00003, 1]])
            return lambda: cv.warpPerspective(source, matrix, (p.width, p.height), flags=getattr(cv, f"INTER_{name}"))
        row(f"warpPerspective {_name.lower()} {_picture}", most_used=_picture == "color" and _name == "LINEAR")(_perspective)

        def _remap(cv, p, picture=_picture, name=_name):
            y, x = np.mgrid[:p.height, :p.width].astype(np.float32)
            x, y = x + 3 * np.sin(y / 20), y * 0.98 + 3 * np.cos(x / 30)
            return lambda: cv.remap(getattr(p, picture), x, y, getattr(cv, f"INTER_{name}"))
        row(f"remap {_name.lower()} {_picture}", most_used=_picture == "color" and _name == "LINEAR")(_remap)


@row("convertMaps")
def convert_maps(cv, p):
    y, x = np.mgrid[:p.height, :p.width].astype(np.float32)
    return lambda: cv.convertMaps(x, y, cv2.CV_16SC2)


for _picture in ("color", "gray", "floats", "plane"):
    for _code in (0, 1, -1):
        row(f"flip {_code} {_picture}", most_used=_picture == "color" and _code == 1)(lambda cv, p, picture=_picture, code=_code: lambda: cv.flip(getattr(p, picture), code))
    for _code in (0, 1, 2):
        row(f"rotate {_code} {_picture}")(lambda cv, p, picture=_picture, code=_code: lambda: cv.rotate(getattr(p, picture), code))
    row(f"transpose {_picture}")(lambda cv, p, picture=_picture: lambda: cv.transpose(getattr(p, picture)))
    row(f"copyMakeBorder {_picture}", most_used=_picture == "color")(
        lambda cv, p, picture=_picture: lambda: cv.copyMakeBorder(getattr(p, picture), 8, 8, 8, 8, cv.BORDER_CONSTANT, value=(114, 114, 114)))
    row(f"copyMakeBorder reflect {_picture}")(lambda cv, p, picture=_picture: lambda: cv.copyMakeBorder(getattr(p, picture), 8, 8, 8, 8, cv.BORDER_REFLECT_101))
row("repeat")(lambda cv, p: lambda: cv.repeat(p.color, 2, 2))


@row("perspectiveTransform")
def perspective_transform(cv, p):
    points = np.random.default_rng(1).uniform(0, 100, (p.height * p.width // 100, 1, 2)).astype(np.float32)
    return lambda: cv.perspectiveTransform(points, np.float64([[0.9, 0.1, 3], [0.05, 1.1, -9], [0.00002, 0.00003, 1]]))


for _picture in ("color", "gray", "floats"):
    row(f"pyrDown {_picture}")(lambda cv, p, picture=_picture: lambda: cv.pyrDown(getattr(p, picture)))
    row(f"pyrUp {_picture}")(lambda cv, p, picture=_picture: lambda: cv.pyrUp(getattr(p, picture)))
    row(f"getRectSubPix {_picture}")(lambda cv, p, picture=_picture: lambda: cv.getRectSubPix(getattr(p, picture), (p.width // 2, p.height // 2), (p.width / 2, p.height / 2)))
    row(f"warpPolar {_picture}")(lambda cv, p, picture=_picture: lambda: cv.warpPolar(getattr(p, picture), (p.width, p.height), (p.width / 2, p.height / 2), p.height / 2,
                                                                                     cv.INTER_LINEAR | cv.WARP_FILL_OUTLIERS))
    row(f"warpPolar inverse {_picture}")(
        lambda cv, p, picture=_picture: lambda: cv.warpPolar(getattr(p, picture), (p.width, p.height), (p.width / 2, p.height / 2), p.height / 2,
                                                             cv.INTER_LINEAR | cv.WARP_FILL_OUTLIERS | cv.WARP_INVERSE_MAP))
