#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The types of the package: the stubs are what the modules are (stubtest), and programs over them check under mypy --strict."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import mypy  # noqa: F401

    import minnow
except ImportError as error:
    print(error)
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
PACKAGE = str(Path(os.path.abspath(minnow.__file__)).parent.parent)
PROGRAM = '''
import minnow
import minnow.numpy as np
from minnow import expr, nn, tools

x: minnow.Var = minnow.Var([[1.0, 2.0], [3.0, 4.0]], "float32")
y: minnow.Var = expr.softmax(2 * x @ x.T - 1, axis=1)
z: minnow.Var = y[0, ::-1]
shape: tuple[int, ...] = z.shape
positive: bool = bool((z[0] > 0).item())
grid: minnow.Var = np.where(x > 2, np.sqrt(x), 0).sum(axis=0) + np.fft.fft(np.random.default_rng(1).normal(size=2)).real
singular: minnow.Var = np.linalg.svd(x).S[::-1]
values: list[minnow.Var] = expr.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), [0, x])


class Dense(nn.Module):
    def __init__(self) -> None:
        self.w = expr.trainable(x, "w")

    def forward(self, x: minnow.Var) -> minnow.Var:
        return expr.relu(x @ self.w)


def classify(path: str) -> str:
    try:
        net = nn.load_module_from_file(path, ["data"], ["prob"], threads=1)
    except minnow.Error as error:
        return str(error)
    prob: minnow.Var = net.forward(expr.convert(x[None], expr.NC4HW4))
    return net.outputs[0] + str(prob.shape) + str(tools.inspect(path).weight_bytes)


print(shape, positive, values, Dense()(x), classify("nowhere.minnow"))
'''


class Types(unittest.TestCase):
    def run_mypy(self, *arguments):
        # mypy follows no links out of its folder: it is given the package as a folder of files.
        result = subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True,
                                env={**os.environ, "MYPYPATH": PACKAGE, "PYTHONPATH": PACKAGE}, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # As for a package that is installed: its programs are checked, not what is inside of it.
        (self.folder / "mypy.ini").write_text("[mypy]\n[mypy-minnow.*]\nignore_errors = True\nfollow_imports = silent\n")

    def test_stubs_are_what_the_modules_are(self):
        self.run_mypy("mypy.stubtest", "minnow._minnow", "--mypy-config-file", "mypy.ini", "--allowlist", SOURCE / "tests" / "python" / "stubtest_allowlist.txt", "--ignore-unused-allowlist")

    def test_programs_check_strictly(self):
        programs = [self.folder / "program.py"]
        programs[0].write_text(PROGRAM)
        programs += sorted((SOURCE / "examples" / "python").glob("*.py"))
        self.run_mypy("mypy", "--strict", *programs)
        result = subprocess.run([sys.executable, programs[0]], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nowhere.minnow", result.stdout)


if __name__ == "__main__":
    unittest.main()
