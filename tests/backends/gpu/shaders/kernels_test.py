#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it compiles the kernels of all operators.
"""The kernels that the plans of two conformance suites ask for compile to SPIR-V that spirv-val accepts, and to GLSL ES that glslangValidator
accepts. SPIRV-Cross translates that SPIR-V to Metal's language, and clang accepts the result, with a stand-in for Metal's header (metal/). A
stand-in for OpenCL's library (opencl_driver.cpp) collects the kernels."""
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
METAL = pathlib.Path(__file__).resolve().parent / "metal"
CLANG = next((name for name in ("clang-14", "clang") if shutil.which(name)), None)


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

        compiled = run(BUILD / "bin" / "compile_kernels", *cls.kernels)
        print(compiled.stdout.splitlines()[-1])
        if compiled.returncode != 0:
            raise AssertionError(compiled.stdout[-4000:])
        distinct = {}  # modules, by their contents
        for module in sorted(pathlib.Path(cls.folder.name).glob("*.spv")):
            distinct.setdefault(hashlib.sha256(module.read_bytes()).digest(), module)
        cls.modules = list(distinct.values())

    def succeed(self, command):
        """Runs command(module) for all modules, several at a time."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda module: run(*command(module)), self.modules))
        for module, result in zip(self.modules, results):
            with self.subTest(module=module.name):
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_spirv(self):
        self.assertGreater(len(self.kernels), 200)
        self.succeed(lambda module: ("spirv-val", "--target-env", "vulkan1.1", module))

    def test_glsl(self):
        texts = sorted(pathlib.Path(self.folder.name).glob("*.comp"))
        self.assertEqual(len(texts), len(self.kernels))
        for begin in range(0, len(texts), 100):
            result = run("glslangValidator", *texts[begin:begin + 100])
            self.assertEqual(result.returncode, 0, result.stdout[-4000:])

    def syntax(self, sources):
        """The messages of clang about Metal sources, each in a namespace of its own."""
        unit = pathlib.Path(self.folder.name) / f"{sources[0].name}.unit"
        unit.write_text("#include <metal_stdlib>\n" + "".join(f'#define main0 kernel_{i}\nnamespace n{i} {{\n#include "{source}"\n}}\n#undef main0\n'
                                                              for i, source in enumerate(sources)))
        return run(CLANG, "-x", "cl", "-cl-std=clc++2021", "-cl-single-precision-constant", "-cl-no-stdinc", "-fsyntax-only", "-w", "-I", METAL, unit)

    def test_metal(self):
        if not shutil.which("spirv-cross"):
            self.skipTest("spirv-cross is not installed (scripts/install_deps.sh gpu)")
        self.succeed(lambda module: ("spirv-cross", "--msl", "--msl-version", "20300", "--output", module.with_suffix(".metal"), module))
        sources = [module.with_suffix(".metal") for module in self.modules]
        self.assertTrue(all(source.stat().st_size > 0 for source in sources))
        if not CLANG:
            self.skipTest("clang is not installed")
        some = sources[::8]  # all take minutes, and most differ in few lines
        parts = [some[begin:begin + 40] for begin in range(0, len(some), 40)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for result in pool.map(self.syntax, parts):
                self.assertEqual(result.returncode, 0, result.stderr[-4000:])
        wrong = pathlib.Path(self.folder.name) / "wrong.metal"  # clang finds wrong names and types
        for change in ("main0(", "main0(no_type "), ("[[buffer(0)]]", "no_name"):
            text = sources[0].read_text()
            self.assertIn(change[0], text)
            wrong.write_text(text.replace(*change, 1))
            self.assertNotEqual(self.syntax([wrong]).returncode, 0, change)


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
