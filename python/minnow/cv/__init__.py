# SPDX-License-Identifier: Apache-2.0
"""Pictures, with OpenCV's names, signatures, constants and results: code for cv2 runs with `import minnow.cv as cv2`.

A picture is an array of NumPy or a Var, [height, width] or [height, width, channels], its colours blue, green, red. Functions of arrays give
arrays, functions of Vars give Vars. Errors are `error` (minnow.Error), and ValueError or TypeError besides."""
from __future__ import annotations

from typing import Any

from minnow._minnow import nearest as _nearest
from minnow.cv import dnn as dnn
from minnow.cv import fisheye as fisheye
from minnow.cv import freetype as freetype
from minnow.cv._arithmetic import *
from minnow.cv._calibration import *
from minnow.cv._codecs import *
from minnow.cv._color import *
from minnow.cv._common import *
from minnow.cv._drawing import *
from minnow.cv._filters import *
from minnow.cv._geometry import *
from minnow.cv._structure import *
from minnow.cv._tracking import *


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'minnow.cv' has no attribute {name!r}" + ("" if name.startswith("_") else _nearest(name, [known for known in globals() if not known.startswith("_")])))
