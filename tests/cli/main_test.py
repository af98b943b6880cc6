#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What all commands share: help, version, exit status; and minnow ops."""
import re
import unittest
from pathlib import Path

from command import BUILD, CommandTest

COMMANDS = ("convert", "run", "bench", "inspect", "profile", "ops", "compare")


class Main(CommandTest):
    def test_version(self):
        version = re.search(r'define MINNOW_VERSION "(.*)"', (BUILD / "generated" / "minnow" / "version.h").read_text())[1]
        self.assertEqual(self.succeeds("--version").stdout, f"minnow {version}\n")

    def test_help_names_every_command_and_teaches(self):
        text = self.succeeds("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, text)
            with self.subTest(command):
                help_text = self.succeeds(command, "--help").stdout
                self.assertRegex(help_text, rf"  minnow {command}")  # an example

    def test_wrong_calls_fail(self):
        for arguments in ((), ("transmogrify",), ("run",), ("run", "--input"), ("convert", "--no-such-option"), ("bench", "a", "b", "c")):
            with self.subTest(" ".join(arguments)):
                self.fails(*arguments)
        self.assertIn('there is no command "transmogrify"', self.fails("transmogrify"))


class Ops(CommandTest):
    def test_every_operator_with_its_schemes(self):
        for backend in ("cpu", "reference"):
            facts = self.json("ops", "--backend", backend)
            rows = {row["operator"]: row for row in facts["operators"]}
            self.assertGreater(len(rows), 180)
            self.assertEqual(rows["Relu"]["since_opset"], 14)
            self.assertIn("f32", rows["Relu"]["dtypes"])
            for row in rows.values():
                self.assertTrue(row["schemes"], row["operator"])
                self.assertTrue(row["doc"], row["operator"])
            self.assertEqual(any(name.startswith("conv.") for name in rows["Conv"]["schemes"]), backend == "cpu")
        text = self.succeeds("ops").stdout
        self.assertRegex(text, r"(?m)^Relu +since 14 +floats")
        self.fails("ops", "--backend", "abacus")


if __name__ == "__main__":
    unittest.main()
