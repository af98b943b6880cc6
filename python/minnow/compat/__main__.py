# SPDX-License-Identifier: Apache-2.0
"""python -m minnow.compat PROGRAM.py [ARGUMENT...]: runs a program written for MNN, unchanged, with Minnow in MNN's place."""
from __future__ import annotations

import os
import runpy
import sys

import minnow.compat  # noqa: F401


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: python -m minnow.compat PROGRAM.py [ARGUMENT...]")
    if not os.path.exists(sys.argv[1]):
        sys.exit(f"{sys.argv[1]}: there is no such program")
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


main()
