#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models whose answers an engine that owns their format gave (*/cases.tar.xz, by ./dev store-cases) give these answers again."""
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

RUNNER = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "conformance_tests"
if not RUNNER.exists():
    print("conformance_tests is not built")
    sys.exit(77)
ARCHIVES = sorted(Path(__file__).parent.glob("*/cases.tar.xz"))
RUNS = (["reference"], ["cpu"], ["cpu", "--optimize"])


class StoredCases(unittest.TestCase):
    def test_there_are_cases_of_every_format_that_an_engine_runs(self):
        self.assertEqual([path.parent.name for path in ARCHIVES], ["mnn", "tensorflow", "tflite", "torchscript"])

    def test_answers(self):
        for archive in ARCHIVES:
            with self.subTest(archive.parent.name), tempfile.TemporaryDirectory() as folder:
                with tarfile.open(archive) as files:
                    files.extractall(folder)
                manifest = json.loads((Path(folder) / "manifest.json").read_text())
                self.assertRegex(manifest["engine"], r"\w+ \d+\.\d+")
                for run in RUNS:
                    with self.subTest(" ".join(run)):
                        result = subprocess.run([RUNNER, "--suite", f"corpus-{archive.parent.name}", "--filter", "/", "--backend", *run],
                                                env=os.environ | {"MINNOW_CORPUS": folder, "MINNOW_MODELS_DIR": folder}, capture_output=True, text=True)
                        self.assertEqual(result.returncode, 0, result.stdout[-20000:] + result.stderr[-2000:])
                        [(passed, failed)] = re.findall(r"(\d+) passed, (\d+) failed", result.stdout)
                        self.assertEqual((int(passed), int(failed)), (len(manifest["cases"]), 0), result.stdout[-20000:])


if __name__ == "__main__":
    unittest.main()
