#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it compiles programs.
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
# destructors on the way; tail calls; handlers of several types in different orders; exceptions thrown again; a constructor that has two
# names; an exception specification; an end of the program; and functions that throw nothing, which need no entries.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
int alive = 0;
struct Guard {
  Guard() { ++alive; }
  ~Guard() { --alive; }
};
#define OUT __attribute__((noinline))
OUT int thrower(int depth);
OUT int tail(int depth) { return thrower(depth - 1); }
OUT int length(const char* text) { return static_cast<int>(std::strlen(text)); }
OUT int wide(int depth, int a, int b, int c, int d, int e) {
  Guard guard;
  const int x = thrower(depth - 1), y = thrower(depth - 2), z = tail(depth - 3);
  return x * a + y * b + z * c + d + e + length("four");
}
OUT int early(int depth) {
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
struct Odd {};
OUT void throw_kind(int kind) {
  Guard guard;
  switch (kind) {
    case 0: throw std::out_of_range("out of range");
    case 1: throw std::runtime_error("runtime");
    case 2: throw std::bad_alloc();
    case 3: throw Odd();
    case 4: throw 5;
    case 5: throw static_cast<const char*>("text");
  }
}
OUT int odd_first(int kind) {
  Guard guard;
  try {
    throw_kind(kind);
  } catch (const Odd&) {
    return 100;
  } catch (const std::runtime_error& error) {
    return 101 + length(error.what());
  } catch (int number) {
    return 200 + number;
  }
  return 0;
}
OUT int odd_last(int kind) {
  try {
    Guard guard;
    throw_kind(kind);
  } catch (const std::logic_error& error) {
    return 300 + length(error.what());
  } catch (int number) {
    return 400 + number;
  } catch (const Odd&) {
    return 500;
  }
  return 0;
}
OUT int all(int kind) {
  try {
    return odd_first(kind) + odd_last(kind);
  } catch (const std::exception& error) {
    return 600 + length(error.what());
  } catch (...) {
    return 700;
  }
}
OUT int again(int kind) {
  try {
    Guard guard;
    return odd_last(kind) + odd_first(kind);
  } catch (...) {
    Guard guard;
    try {
      throw;
    } catch (const char* text) {
      return 800 + length(text);
    } catch (const std::exception&) {
      throw;
    }
  }
}
struct Base {
  Guard guard;
  int value;
  explicit Base(int kind);
};
OUT Base::Base(int kind) : value(kind) { throw_kind(kind); }
struct Derived : Base {
  Guard second;
  explicit Derived(int kind);
};
OUT Derived::Derived(int kind) try : Base(kind) { throw_kind(kind - 1); } catch (const Odd&) { throw 9; }
OUT int construct(int kind) {
  try {
    return Derived(kind).value;
  } catch (int number) {
    return 900 + number;
  }
}
OUT void ends(int kind) noexcept {
  Guard guard;
  throw_kind(kind);
}
template <class F>
OUT void print(const char* name, F function, int kind) {
  try {
    std::printf("%s %d: %d, alive %d\n", name, kind, function(kind), alive);
  } catch (const std::exception& error) {
    std::printf("%s %d: %s, alive %d\n", name, kind, error.what(), alive);
  } catch (...) {
    std::printf("%s %d: something, alive %d\n", name, kind, alive);
  }
}
int main() {
  for (int depth = 1; depth < 12; ++depth) print("depth", thrower, depth);
  for (int kind = 0; kind < 7; ++kind) {
    print("first", odd_first, kind);
    print("last", odd_last, kind);
    print("all", all, kind);
    print("again", again, kind);
    print("construct", construct, kind);
  }
  std::set_terminate([] {
    std::puts("ended");
    std::fflush(stdout);
    std::_Exit(0);
  });
  ends(6);
  ends(1);
}
"""


class ThinUnwindTables(unittest.TestCase):
    def check(self, compiler, tools, *runner):  # the compiler: a list
        if not shutil.which(compiler[0]):
            self.skipTest(f"no {compiler[0]}")
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "program.cpp").write_text(PROGRAM)
            for options in (["-O2"], ["-O2", "-fPIC"], ["-Os", "-fomit-frame-pointer", "-fPIC"], ["-O1", "-fno-omit-frame-pointer", "-fPIC"],
                            ["-O0", "-fPIC"], ["-Oz", "-fomit-frame-pointer", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-fPIC"]):
                outputs, sizes = [], []
                subprocess.run([*compiler, "-S", "-ffunction-sections", *options, "program.cpp", "-o", "program.s"], cwd=folder, check=True)
                for _ in range(2):
                    subprocess.run([*compiler, "program.s", "-static", "-o", "program"], cwd=folder, check=True)
                    subprocess.run([*compiler, "-c", "program.s", "-o", "program.o"], cwd=folder, check=True)
                    outputs.append(subprocess.run([*runner, folder / "program"], check=True, capture_output=True, text=True).stdout)
                    listing = subprocess.run([tools + "readelf", "-S", "-W", folder / "program.o"], check=True, capture_output=True, text=True).stdout
                    found = re.findall(r" \.(?:eh_frame|gcc_except_table\S*)\s+\S+\s+\S+ \S+ (\S+)", listing)
                    sizes.append(sum(int(size, 16) for size in found))
                    subprocess.run([sys.executable, SCRIPT, "program.s"], cwd=folder, check=True)
                with self.subTest(compiler=compiler, options=options):
                    self.assertIn("alive 0", outputs[0])
                    self.assertIn("ended", outputs[0])
                    self.assertEqual(outputs[0], outputs[1])
                    if "-fPIC" in options:  # otherwise tables hold addresses themselves, and stay as they are
                        self.assertLess(sizes[1], 0.8 * sizes[0])

    def test_exceptions_pass_on_this_machine(self):
        self.check(["clang++-19"], "")

    def test_exceptions_pass_on_64_bit_arm(self):
        if not shutil.which("aarch64-linux-gnu-g++") or not shutil.which("qemu-aarch64-static"):
            self.skipTest("no cross compiler or no emulator")
        self.check(["clang++-19", "--target=aarch64-linux-gnu"], "aarch64-linux-gnu-", "qemu-aarch64-static")

    def test_what_is_not_one_function_a_section_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "two.s"
            path.write_text("\t.text\nf:\n\t.cfi_startproc\n\tret\n\t.cfi_endproc\ng:\n\t.cfi_startproc\n\tret\n\t.cfi_endproc\n")
            run = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn("-ffunction-sections", run.stderr)


if __name__ == "__main__":
    if os.uname().machine not in ("x86_64", "aarch64"):
        sys.exit(77)
    unittest.main()
