#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operators.md says what the operators' definitions say."""
import os
import subprocess
import sys
from pathlib import Path

minnow = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"
if not minnow.exists():
    print("the command is not built")
    sys.exit(77)
script = Path(os.environ["MINNOW_SOURCE_DIR"]) / "scripts" / "make_operator_page.py"
sys.exit(subprocess.run([sys.executable, str(script), str(minnow), "--check"]).returncode)
