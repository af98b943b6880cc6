#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command of the Python package: python -m minnow, and the script that pip installs."""
import importlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import expr, tools
except ImportError as error:
    print(error)
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        x = expr.placeholder("x", "float32", [None, 3])
        expr.save([expr.relu(x) * 2], self.folder / "a.minnow")

    def minnow(self, *arguments, **options):
        return subprocess.run([sys.executable, "-m", "minnow", *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, **options)

    def test_runs_models(self):
        np.save(self.folder / "größe.npy", np.array([[-1, 0, 2]], np.float32))
        result = self.minnow("run", "a.minnow", "--input", "größe.npy", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        row, = json.loads(result.stdout)["outputs"]
        np.testing.assert_array_equal(np.load(self.folder / row["file"]), [[0, 0, 4]])

    def test_is_the_command(self):
        self.assertEqual(self.minnow("--version").stdout, f"minnow {minnow.__version__}\n")
        command = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"
        if not command.exists():
            self.skipTest("the command is not built")
        for arguments in (["help"], ["help", "run"], ["completion", "bash"], ["rum"], ["run"], ["run", "nowhere.onnx", "--random", "--json"], ["compare", "a.minnow", "nowhere"]):
            own, other = self.minnow(*arguments), subprocess.run([command, *arguments], capture_output=True, text=True, cwd=self.folder)
            self.assertEqual((own.returncode, own.stdout, own.stderr), (other.returncode, other.stdout, other.stderr))

    def test_a_closed_pipe_and_ctrl_c_end_it(self):
        result = subprocess.run(["bash", "-c", f"{sys.executable} -m minnow ops --json | head -1; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
        self.assertEqual((result.stdout, result.stderr), ("{\n", ""))
        result = subprocess.run(["timeout", "-s", "INT", "1", sys.executable, "-m", "minnow", "bench", "a.minnow", "--seconds", "30"], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.stdout, "")
        self.assertNotIn("Traceback", result.stderr)

    def test_the_script_of_the_wheel(self):
        try:
            import tomllib
        except ImportError:
            self.skipTest("tomllib comes with Python 3.11")
        module, _, name = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]["scripts"]["minnow"].partition(":")
        self.assertTrue(callable(getattr(importlib.import_module(module), name)))

    def test_project_urls(self):
        sys.path.insert(0, str(SOURCE / "scripts"))
        self.addCleanup(sys.path.remove, str(SOURCE / "scripts"))
        import project_urls
        page = "https://code.example.org/minnow/minnow"
        for address in (page, page + ".git", page + "/", "https://user:secret@code.example.org/minnow/minnow.git", "git@code.example.org:minnow/minnow.git",
                        "ssh://git@code.example.org:22/minnow/minnow.git"):
            self.assertEqual(project_urls.page_of(address), page, address)
        for address in ("", "/srv/minnow.git", "../minnow", "file:///srv/minnow", "http://127.0.0.1:8080/minnow", "localhost:minnow"):
            self.assertEqual(project_urls.urls(address), {}, address)
        self.assertEqual(project_urls.urls(page)["Documentation"], page + "/tree/main/docs")

    def test_progress_callbacks(self):
        for work in (lambda tell: tools.convert(self.folder / "a.minnow", self.folder / "b.minnow", progress=tell), lambda tell: tools.bench(self.folder / "a.minnow", seconds=0.3, progress=tell),
                     lambda tell: tools.profile(self.folder / "a.minnow", seconds=0.3, progress=tell),
                     lambda tell: tools.tune(self.folder / "a.minnow", self.folder / "t.txt", seconds=0.5, progress=tell)):
            parts = []
            work(parts.append)
            self.assertTrue(len(parts) > 1 and parts == sorted(parts) and 0 <= parts[0] and parts[-1] <= 1, parts)

            def stop(part):
                raise KeyError("stop")

            with self.assertRaises(KeyError):
                work(stop)
        for seconds in (0, -1, float("nan"), float("inf")):
            for call in (lambda: tools.bench(self.folder / "a.minnow", seconds=seconds), lambda: tools.profile(self.folder / "a.minnow", seconds=seconds)):
                with self.assertRaisesRegex(minnow.InvalidArgument, "seconds is"):
                    call()


if __name__ == "__main__":
    unittest.main()
