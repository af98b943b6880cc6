#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels that the plans of two conformance suites ask for compile to SPIR-V that spirv-val accepts, and to GLSL ES that glslangValidator
accepts. A stand-in for OpenCL's library (opencl_driver.cpp) collects them."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

BUILD = pathlib.Path(os.environ.get("MINNOW_BUILD_DIR", "build/release")).resolve()
STAND_IN = BUILD / "tests" / "opencl_stand_in"
SUITES = ["node", "corner"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        environment = dict(os.environ, LD_LIBRARY_PATH=str(STAND_IN), MINNOW_STUB_FOLDER=cls.folder.name)
        for suite in SUITES:
            found = run(BUILD / "bin" / "conformance_tests", "--suite", suite, "--backend", "opencl", "--compile", env=environment)
            if found.returncode not in (0, 77):
                raise AssertionError(f"{suite}: {found.stdout[-2000:]}{found.stderr[-2000:]}")
        cls.kernels = sorted(pathlib.Path(cls.folder.name).glob("*.kernel"))

    def test_all(self):
        self.assertGreater(len(self.kernels), 200)
        compiled = run(BUILD / "bin" / "compile_kernels", *self.kernels)
        print(compiled.stdout.splitlines()[-1])
        self.assertEqual(compiled.returncode, 0, compiled.stdout[-4000:])
        distinct = {}  # modules, by their contents
        for module in pathlib.Path(self.folder.name).glob("*.spv"):
            distinct.setdefault(hashlib.sha256(module.read_bytes()).digest(), module)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            checked = list(pool.map(lambda module: run("spirv-val", "--target-env", "vulkan1.1", module), distinct.values()))
        for module, result in zip(distinct.values(), checked):
            with self.subTest(module=module.name):
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        texts = sorted(pathlib.Path(self.folder.name).glob("*.comp"))
        self.assertEqual(len(texts), len(self.kernels))
        for begin in range(0, len(texts), 100):
            result = run("glslangValidator", *texts[begin:begin + 100])
            self.assertEqual(result.returncode, 0, result.stdout[-4000:])


if __name__ == "__main__":
    for needed in ["spirv-val", "glslangValidator"]:
        if not shutil.which(needed):
            print(f"skipped: {needed} is not installed (scripts/install_deps.sh gpu)")
            sys.exit(77)
    for needed in [STAND_IN / "libOpenCL.so.1", BUILD / "bin" / "conformance_tests", BUILD / "bin" / "compile_kernels"]:
        if not needed.exists():
            print(f"skipped: {needed} was not built")
            sys.exit(77)
    unittest.main()
