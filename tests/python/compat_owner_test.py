#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorded answers of compat_answers_test.py are those of the installed wheel of MNN."""
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("MNN") is None:
    print("MNN is not there")
    sys.exit(77)
sys.exit(subprocess.run([sys.executable, str(Path(__file__).resolve().parents[2] / "scripts" / "make_mnn_cases.py"), "--check"]).returncode)
