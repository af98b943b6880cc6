#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operators.md and docs/importers.md agree with the operators' definitions and the importers' tables."""
import os
import subprocess
import sys
from pathlib import Path

minnow = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"
if not minnow.exists():
    print("the command is not built")
    sys.exit(77)
scripts = Path(os.environ["MINNOW_SOURCE_DIR"]) / "scripts"
results = [subprocess.run([sys.executable, str(scripts / name), str(minnow), "--check"]).returncode
           for name in ("make_operator_page.py", "make_importer_page.py")]
sys.exit(max(results))
