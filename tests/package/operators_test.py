#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it builds libraries.
"""A build for some operators only (CMake option MINNOW_OPERATORS) contains neither code nor names of the others."""
import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
BUILD = Path(os.environ["MINNOW_BUILD_DIR"])


def compiled(source, folder, selected):
    """The object of a file of the build, its unoptimized flags left as they are, with `selected` operators (None: all)."""
    command = next(row for row in json.loads((BUILD / "compile_commands.json").read_text()) if row["file"] == str(SOURCE / "src" / source))
    words = shlex.split(command["command"])
    if "-Winvalid-pch" in words:  # headers that were compiled without MINNOW_SELECTED
        at = words.index("-Winvalid-pch")
        del words[at:at + 3]
    words[words.index("-o") + 1] = str(folder / "object.o")
    if selected is not None:
        (folder / "minnow").mkdir(exist_ok=True)
        names = ", ".join(f'"{name}"' for name in selected)
        (folder / "minnow" / "selected_operators.h").write_text(
            "#pragma once\n#include <string_view>\n"
            f"namespace minnow {{\ninline constexpr std::string_view kSelectedOperators[] = {{{names}}};\n}}\n"
        )
        words[1:1] = ["-DMINNOW_SELECTED=1", f"-I{folder}"]
    subprocess.run(words, cwd=command["directory"], check=True)
    sections = subprocess.run(["size", "-A", folder / "object.o"], check=True, capture_output=True, text=True).stdout
    code = sum(int(size) for size in re.findall(r"(?m)^\.text\S*\s+(\d+)", sections))
    return code, (folder / "object.o").read_bytes()


class Operators(unittest.TestCase):
    def check(self, source, kept, other):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            everything, text = compiled(source, folder, None)
            self.assertTrue(other.encode() + b"\0" in text)
            one, text = compiled(source, folder, [kept])
            self.assertTrue(kept.encode() + b"\0" in text)
            self.assertFalse(other.encode() + b"\0" in text)
            none, text = compiled(source, folder, ["NoSuchOperator"])
            self.assertFalse(kept.encode() + b"\0" in text)
            self.assertLess(one, everything)
            self.assertLess(none, one)
            self.assertLess(none, 0.1 * everything)

    def test_definitions(self):
        self.check("ops/space.cpp", "DepthToSpace", "SpaceToDepth")

    def test_schemes(self):
        self.check("backends/cpu/schemes/loops/quantize.cpp", "QuantizeLinear", "DynamicQuantizeLinear")


if __name__ == "__main__":
    unittest.main()
