# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from . import row

for _picture in ("color", "gray", "floats"):
    for _name in ("LINEAR", "AREA", "CUBIC", "NEAREST", "LANCZOS4"):
        for _factor in (0.37, 0.5, 1.5):
            def _make(cv, p, picture=_picture, name=_name, factor=_factor):
                source, size = getattr(p, picture), (round(p.width * factor), round(p.height * factor))
                return lambda: cv.resize(source, size, interpolation=getattr(cv, f"INTER_{name}"))
            row(f"resize {_name.lower()} {_picture} x{_factor}", most_used=_picture == "color" and _name == "LINEAR" and _factor == 0.37)(_make)
