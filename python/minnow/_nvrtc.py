# SPDX-License-Identifier: Apache-2.0
"""Where PyPI's nvidia-cuda-nvrtc has put NVRTC, with which the backend "cuda" compiles kernels."""
from __future__ import annotations

import os
import re
import sys

_VARIABLE = "MINNOW_NVRTC"


def find() -> None:
    """Name the newest NVRTC of the packages `nvidia-cuda-nvrtc*` in the variable MINNOW_NVRTC, unless it is set. Nothing is imported."""
    if _VARIABLE in os.environ:
        return
    found: list[tuple[int, str]] = []
    for folder in sys.path:
        root = os.path.join(folder or ".", "nvidia")
        for package in _names(root):  # cuda_nvrtc with CUDA 12, cu13 with CUDA 13
            library = os.path.join(root, package, "lib")
            for name in _names(library):
                version = re.fullmatch(r"libnvrtc\.so\.(\d+)", name)
                if version:
                    found.append((int(version[1]), os.path.join(library, name)))
    if found:
        os.environ[_VARIABLE] = max(found)[1]  # which changes the environment of C too


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


__all__ = ["find"]
