# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests that compare with TensorFlow. If TensorFlow or the command is missing, importing this skips the test."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import keras  # noqa: F401  (it comes with TensorFlow)
    import tensorflow
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

    def keep(self, model, feeds, expected):
        """Adds a case of the corpus' form, a frozen graph or a SavedModel folder with TensorFlow's answers, to the folder MINNOW_KEEP_CASES."""
        if "MINNOW_KEEP_CASES" not in os.environ:
            return
        folder = Path(os.environ["MINNOW_KEEP_CASES"])
        manifest = folder / "manifest.json"
        kept = json.loads(manifest.read_text()) if manifest.exists() else {"engine": f"TensorFlow {tensorflow.__version__}", "cases": []}
        name = self.id().split(".", 1)[1].replace(".test_", ".")
        name += f".{sum(case['name'].startswith(name + '.') for case in kept['cases'])}"
        target = folder / "tensorflow" / name
        target.mkdir(parents=True)
        if model.is_dir():
            for file in [model / "saved_model.pb", *(model / "variables").glob("*")]:
                (target / file.relative_to(model)).parent.mkdir(exist_ok=True)
                shutil.copy(file, target / file.relative_to(model))
        else:
            shutil.copy(model, target / "frozen.pb")
        np.savez(target / "ref.npz", **{f"in_{i}": np.asarray(x) for i, x in enumerate(feeds.values())},
                 **{f"out_{i}": np.asarray(x) for i, x in enumerate(expected.values())})
        kept["cases"].append({"format": "tensorflow", "name": name, "ops": {}, "engine_spread": 0, "inputs": [{"name": n} for n in feeds],
                              "outputs": [{"name": n} for n in expected]})
        manifest.write_text(json.dumps(kept))
