#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it converts and runs every model of the corpus.
"""minnow convert --verify on every ONNX model of the corpus, and of scripts/fetch_models.py."""
import os
import sys
import unittest
from pathlib import Path

from command import CommandTest

FOLDERS = [Path(os.environ["MINNOW_MODELS_DIR"]) / "onnx", Path(os.environ["MINNOW_CORPUS"]) / "onnx"]
MODELS = {path.parent.name: path for folder in FOLDERS for path in sorted(folder.glob("*/model.onnx"))}
if not MODELS:
    print("there are no models (MINNOW_CORPUS, scripts/fetch_models.py)")
    sys.exit(77)


class Corpus(CommandTest):
    def test_optimized_models_compute_the_same(self):
        for name, path in MODELS.items():
            with self.subTest(name):
                result = self.minnow("convert", path, "out.minnow", "--verify")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("verified", result.stdout)


if __name__ == "__main__":
    unittest.main()
