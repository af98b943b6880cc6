# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests with torchvision's networks. If torchvision or the command is missing, importing this skips the test."""
import os
import subprocess
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
try:
    import numpy  # noqa: F401
    import torch
    import torchvision  # noqa: F401
except ImportError:
    print("torch or torchvision is not installed: the networks are left out")
    sys.exit(77)

MINNOW = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"
if not MINNOW.exists():
    print("the command is not built")
    sys.exit(77)
torch.set_num_threads(1)


def run(*arguments):
    result = subprocess.run([MINNOW, *arguments], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"minnow {arguments[0]} ended with {result.returncode}: {result.stderr[:2000]}")
    return result.stdout
