#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Behaviour common to all commands: help, version, exit status; and minnow ops."""
import re
import unittest
from pathlib import Path

from command import BUILD, F32, CommandTest, helper, write_model

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
                self.assertRegex(self.fails(*arguments), "^minnow: ")
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

    def test_operators_that_models_use(self):
        """Those of nodes, also within branches, and those that plans put in their place; several models together."""
        branch = [helper.make_graph([helper.make_node(op, ["x"], [f"{op}_y"])], op, [], [helper.make_tensor_value_info(f"{op}_y", 1, [2, 3])])
                  for op in ("Sin", "Cos")]
        nodes = [helper.make_node("If", ["c"], ["s"], then_branch=branch[0], else_branch=branch[1]), helper.make_node("HardSwish", ["s"], ["y"])]
        write_model(self.folder / "if.onnx", nodes, [("c", 9, []), ("x", F32, [2, 3])], [("y", F32, [2, 3])])
        write_model(self.folder / "einsum.onnx", [helper.make_node("Einsum", ["a", "b"], ["y"], equation="ij,jk->ik")],
                    [("a", F32, [2, 3]), ("b", F32, [3, 4])], [("y", F32, [2, 4])])
        for name in ("if", "einsum"):
            self.succeeds("convert", f"{name}.onnx", f"{name}.minnow")
        alone = self.json("ops", "--used-by", "if.minnow")
        self.assertLessEqual({"If", "Sin", "Cos", "HardSwish"}, set(alone["operators"]))
        self.assertNotIn("Einsum", alone["operators"])
        both = self.json("ops", "--used-by", "if.minnow", "einsum.minnow")
        self.assertLess(set(alone["operators"]), set(both["operators"]))
        self.assertTrue({"MatMul", "minnow.FusedMatMul", "Gemm"} & set(both["operators"]), both)  # what Einsum is computed by
        self.assertLess(len(both["operators"]), 12)
        self.assertEqual(both["of_operators"], len(self.json("ops")["operators"]))
        self.assertLess(alone["schemes"], alone["of_schemes"])
        lines = self.succeeds("ops", "--used-by", "if.minnow").stdout.splitlines()
        self.assertEqual(lines[:-1], alone["operators"])
        self.assertRegex(lines[-1], rf"^{len(alone['operators'])} of \d+ operators, \d+ of \d+ schemes$")
        self.assertEqual(self.json("ops", "--used-by", "if.onnx"), alone)  # converted on the way
        self.assertIn("none.minnow", self.fails("ops", "--used-by", "none.minnow"))

    def test_operators_of_every_format(self):
        for name in ("onnx", "tensorflow", "tflite", "caffe", "torchscript", "mnn"):
            facts = self.json("ops", "--importer", name)
            self.assertEqual(facts["importer"], name)
            self.assertGreater(len(facts["operators"]), 60)
            self.assertEqual(self.succeeds("ops", "--importer", name).stdout.splitlines()[-1], f"{len(facts['operators'])} operators")
        onnx = {row["operator"]: row["notes"] for row in self.json("ops", "--importer", "onnx")["operators"]}
        self.assertEqual(onnx["Conv"], "")
        self.assertEqual(onnx["Upsample"], "becomes other operators")
        self.assertEqual(onnx["com.microsoft.FusedConv"], "contributed operator of ONNX Runtime")
        self.fails("ops", "--importer", "minnow")


if __name__ == "__main__":
    unittest.main()
