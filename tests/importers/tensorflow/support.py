# SPDX-License-Identifier: Apache-2.0
"""What the tests that compare with TensorFlow share. Where TensorFlow or the command is not there, importing this skips the test."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import keras  # noqa: F401  (it comes with TensorFlow)
    import tensorflow  # noqa: F401
except ImportError:
    print("tensorflow is not installed")
    sys.exit(77)

MINNOW = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"
if not MINNOW.exists():
    print("the command is not built")
    sys.exit(77)


def run_minnow(*arguments):
    return subprocess.run([str(MINNOW), *map(str, arguments)], capture_output=True, text=True)


class InFolder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def outputs(self, model, feeds, *options):
        """Outputs of a model by name, from Minnow, for named inputs."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            out, arguments = Path(folder) / "out", []
            for name, array in feeds.items():
                np.save(Path(folder) / f"{name}.npy", array)
                arguments += ["--input", f"{name}={folder}/{name}.npy"]
            result = run_minnow("run", model, "--output-dir", out, *arguments, *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            return {path.stem: np.load(path) for path in out.iterdir()}
