#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operators.md, docs/importers.md and docs/results/device-operators.md agree with the definitions and tables that they are made from."""
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
           for name in ("make_operator_page.py", "make_importer_page.py", "make_device_page.py")]
sys.exit(max(results))
