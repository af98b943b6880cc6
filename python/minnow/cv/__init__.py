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
from minnow.cv._utility import *

#: The version of OpenCV whose names and results these are, for code that asks for it. Minnow's own is minnow.__version__.
__version__ = "4.13.0"

# OpenCV's names of windows and video.
_ELSEWHERE = ("imshow", "waitKey", "pollKey", "namedWindow", "destroy", "moveWindow", "resizeWindow", "setWindow", "getWindow", "startWindow", "setMouseCallback",
              "createTrackbar", "getTrackbar", "setTrackbar", "selectROI", "Video", "WINDOW_", "CAP_", "EVENT_", "VIDEOWRITER_", "videoio_registry")


def __getattr__(name: str) -> Any:
    if name.startswith(_ELSEWHERE):
        raise AttributeError(f"minnow.cv has no windows and no video: for {name} import cv2 of the package opencv-python beside it; both take the same arrays")
    raise AttributeError(f"module 'minnow.cv' has no attribute {name!r}" + ("" if name.startswith("_") else _nearest(name, [known for known in globals() if not known.startswith("_")])))
