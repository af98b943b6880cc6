#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/thin_unwind_tables.py: exceptions pass as before through frames of every kind, and the tables are smaller."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "thin_unwind_tables.py"

# Frames with many saved registers, with early returns before the frame is made, with a frame pointer, with handlers that go on, with
# destructors on the way; tail calls; and functions that throw nothing, which need no entries.
FIRST = r"""
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
int alive = 0;
struct Guard {
  Guard() { ++alive; }
  ~Guard() { --alive; }
};
int thrower(int depth);
int tail(int depth) { return thrower(depth - 1); }
__attribute__((noinline)) int length(const char* text) { return static_cast<int>(std::strlen(text)); }
__attribute__((noinline)) int wide(int depth, int a, int b, int c, int d, int e) {
  Guard guard;
  const int x = thrower(depth - 1), y = thrower(depth - 2), z = tail(depth - 3);
  return x * a + y * b + z * c + d + e + length("four");
}
__attribute__((noinline)) int early(int depth) {
  if (depth < 2) return depth;
  Guard first;
  char* room = static_cast<char*>(__builtin_alloca(static_cast<size_t>(depth) * 8));
  std::snprintf(room, 8, "%d", depth);
  const int x = wide(depth, 1, 2, 3, 4, 5);
  return x + length(room);
}
int thrower(int depth) {
  if (depth < -4) return 1;
  if (depth == 0) throw std::runtime_error("bottom " + std::to_string(alive));
  try {
    Guard guard;
    return early(depth - 1) + tail(depth);
  } catch (const std::logic_error&) {
    return 7;
  }
}
"""
SECOND = r"""
#include <cstdio>
#include <stdexcept>
int thrower(int depth);
extern int alive;
int main() {
  for (int depth = 1; depth < 12; ++depth) try {
      std::printf("%d\n", thrower(depth));
    } catch (const std::exception& error) {
      std::printf("%s, alive %d\n", error.what(), alive);
    }
}
"""


class ThinUnwindTables(unittest.TestCase):
    def check(self, compiler, tools, *runner):  # the compiler: a list
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for options in (["-O2"], ["-Os", "-fomit-frame-pointer", "-fPIC"], ["-Oz", "-fomit-frame-pointer", "-fno-unwind-tables"],
                            ["-O1", "-fno-omit-frame-pointer"]):
                outputs, sizes = [], []
                for name, text in (("first", FIRST), ("second", SECOND)):
                    (folder / f"{name}.cpp").write_text(text)
                    subprocess.run([*compiler, "-S", *options, f"{name}.cpp", "-o", f"{name}.s"], cwd=folder, check=True)
                for _ in range(2):
                    subprocess.run([*compiler, "first.s", "second.s", "-static", "-o", "program"], cwd=folder, check=True)
                    subprocess.run([*compiler, "-c", "first.s", "-o", "first.o"], cwd=folder, check=True)
                    outputs.append(subprocess.run([*runner, folder / "program"], check=True, capture_output=True, text=True).stdout)
                    listing = subprocess.run([tools + "readelf", "-S", "-W", folder / "first.o"], check=True, capture_output=True, text=True).stdout
                    sizes.append(int(re.search(r" \.eh_frame\s+\S+\s+\S+ \S+ (\S+)", listing)[1], 16))
                    subprocess.run([sys.executable, SCRIPT, "first.s", "second.s"], cwd=folder, check=True)
                with self.subTest(compiler=compiler, options=options):
                    self.assertIn("alive 0", outputs[0])
                    self.assertEqual(outputs[0], outputs[1])
                    self.assertLess(sizes[1], 0.8 * sizes[0])

    def test_exceptions_pass_on_this_machine(self):
        self.check(["g++"], "")
        if shutil.which("clang++-19"):
            self.check(["clang++-19"], "")

    def test_exceptions_pass_on_64_bit_arm(self):
        if not shutil.which("aarch64-linux-gnu-g++") or not shutil.which("qemu-aarch64-static"):
            self.skipTest("no cross compiler or no emulator")
        self.check(["aarch64-linux-gnu-g++"], "aarch64-linux-gnu-", "qemu-aarch64-static")
        if shutil.which("clang++-19"):
            self.check(["clang++-19", "--target=aarch64-linux-gnu"], "aarch64-linux-gnu-", "qemu-aarch64-static")


if __name__ == "__main__":
    if os.uname().machine not in ("x86_64", "aarch64"):
        sys.exit(77)
    unittest.main()
