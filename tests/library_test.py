#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared library needs the C and C++ standard libraries alone, exports the public names alone, and bears its soname."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(os.environ["MINNOW_BUILD_DIR"])
LIBRARY = BUILD / "lib" / "libminnow.so"
VERSION = re.search(r'define MINNOW_VERSION "(.*)"', (BUILD / "generated" / "minnow" / "version.h").read_text())[1]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Library(unittest.TestCase):
    def test_needs_the_standard_libraries_only(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", LIBRARY)))
        allowed = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
        self.assertEqual(needed - allowed, set())

    def test_exports_public_names_only(self):
        rows = [line.split(maxsplit=2) for line in output("nm", "--dynamic", "--defined-only", "--demangle", LIBRARY).splitlines()]
        names = [row[2] for row in rows if len(row) == 3]
        foreign = [name for name in names if not re.match(r"((typeinfo|typeinfo name|vtable) for )?minnow(::|_)", name)]
        self.assertEqual(foreign, [])

    def test_soname_carries_major_and_minor_version(self):
        soname = re.search(r"\(SONAME\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", LIBRARY))[1]
        self.assertEqual(soname, "libminnow.so." + VERSION.rsplit(".", 1)[0])
        self.assertTrue((LIBRARY.parent / soname).exists())


if __name__ == "__main__":
    if "MINNOW_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        sys.exit(77)  # a sanitizer is one more library
    unittest.main()
