#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow compare."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from command import F32, MINNOW, CommandTest, helper, np, write_model


class Compare(CommandTest):
    def network(self, name, factor=1.0, last="y"):
        """x -> first -> second -> third -> y, a matrix product each; `factor` is put into the second."""
        random = np.random.default_rng(5)
        weights = {f"w{i}": random.standard_normal((4, 4)).astype(np.float32) for i in range(3)}
        weights["w1"] *= np.float32(factor)
        nodes = [helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"), helper.make_node("MatMul", ["a", "w1"], ["b/in:0"], name="second"),
                 helper.make_node("MatMul", ["b/in:0", "w2"], [last], name="third")]
        return write_model(self.folder / name, nodes, [("x", F32, ["n", 4])], [(last, F32, ["n", 4])], weights), weights

    def compare(self, *arguments, status=0):
        result = self.minnow("compare", *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def test_the_same_network(self):
        model, _ = self.network("a.onnx")
        self.succeeds("convert", model, "a.minnow")
        facts = self.json("compare", model, "a.minnow", "--shape", "x=3x4")
        self.assertEqual((facts["beyond_tolerance"], facts["first"]), (0, None))
        self.assertEqual([row["tensor"] for row in facts["tensors"]], ["a", "b/in:0", "y"])
        self.assertEqual(self.json("compare", model, model, "--other-backend", "reference")["compared"], 3)
        self.assertIn("3 tensors compared, 0 differ", self.compare(model, "a.minnow"))

    def test_the_first_node_that_deviates(self):
        model, _ = self.network("a.onnx")
        other, _ = self.network("b.onnx", factor=1.01)
        text = self.compare(model, other, status=1)
        self.assertIn('the first node that deviates is "second" (MatMul)', text)
        self.assertIn("3 tensors compared, 2 differ", text)
        self.assertEqual(len(self.compare(model, other, "--all", status=1).splitlines()), len(text.splitlines()) + 3)
        result = self.minnow("compare", model, other, "--json")
        self.assertEqual(result.returncode, 1)
        self.assertIn('"node": "second"', result.stdout)
        self.compare(model, other, "--tolerance", "0.5")

    def test_a_folder(self):
        model, weights = self.network("a.onnx")
        x = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)
        (self.folder / "there").mkdir()
        b = x @ weights["w0"] @ weights["w1"]
        for name, array in (("x", x), ("b_in_0", b), ("y", b @ weights["w2"])):
            np.save(self.folder / "there" / name, array)
        facts = self.json("compare", model, "there")  # with x from the folder
        self.assertEqual(([row["tensor"] for row in facts["tensors"]], facts["beyond_tolerance"]), (["b/in:0", "y"], 0))
        np.save(self.folder / "there" / "y", b)
        self.assertIn('"third"', self.compare(model, "there", status=1))
        np.save(self.folder / "there" / "y", b[:1])
        self.assertIn("shape [2, 4] beside [1, 4]", self.compare(model, "there", status=1))
        (self.folder / "there" / "x.npy").unlink()
        self.assertIn('input "x"', self.fails("compare", model, "there"))

    def test_outputs_go_by_place_where_their_names_differ(self):
        model, _ = self.network("a.onnx")
        other, _ = self.network("b.onnx", last="z")
        self.assertIn('there "z"', self.compare(model, other, "--all"))

    def test_channels_on_the_other_side(self):
        nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])]
        model = write_model(self.folder / "a.onnx", nodes, [("x", F32, [1, 3, 4, 5])], [("y", F32, [1, 3, 4, 5])])
        x = np.random.default_rng(1).standard_normal((1, 3, 4, 5)).astype(np.float32)
        (self.folder / "there").mkdir()
        np.save(self.folder / "there" / "x", x)
        np.save(self.folder / "there" / "h", np.maximum(x, 0).transpose(0, 2, 3, 1))
        row = self.json("compare", model, "there")["tensors"][0]
        self.assertEqual((row["note"], row["difference"]), ("channels moved to the end", 0))

    def test_what_is_not_a_number(self):
        model = write_model(self.folder / "a.onnx", [helper.make_node("Log", ["x"], ["y"])], [("x", F32, [2])], [("y", F32, [2])])
        (self.folder / "there").mkdir()
        np.save(self.folder / "there" / "x", np.array([-1, 1], np.float32))
        np.save(self.folder / "there" / "y", np.array([np.nan, 0], np.float32))
        self.compare(model, "there")
        np.save(self.folder / "there" / "y", np.array([0, 0], np.float32))
        self.compare(model, "there", status=1)

    def test_beside_the_owner(self):
        model, _ = self.network("a.onnx")
        tool = Path(os.environ["MINNOW_SOURCE_DIR"]) / "python" / "tools" / "compare_with_owner.py"
        result = subprocess.run([sys.executable, tool, model, "--shape", "x=3x4", "--", "--json"], capture_output=True, text=True,
                                env={**os.environ, "MINNOW": str(MINNOW)})
        if result.returncode == 77:
            self.skipTest(result.stdout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout.partition("\n")[2])["compared"], 3)

    def test_beside_the_owner_of_every_format(self):
        """A model of the corpus each: which files, and how many tensors there are to compare (of torch outputs alone)."""
        corpus = Path(os.environ.get("MINNOW_CORPUS", ""))
        tool = Path(os.environ["MINNOW_SOURCE_DIR"]) / "python" / "tools" / "compare_with_owner.py"
        cases = [("tflite", "micro_hello_world_float", ["model.tflite"], 3), ("tensorflow", "while_v2", ["frozen.pb"], 1),
                 ("caffe", "mtcnn_det1", ["deploy.prototxt", "model.caffemodel"], 10), ("torchscript", "ctl_loops", ["model.pt"], 2),
                 ("mnn", "tfl_resnet8", ["model.mnn"], 18)]
        if not (corpus / "manifest.json").exists():
            self.skipTest("the corpus is not there (MINNOW_CORPUS)")
        rows = {(row["format"], row["name"]): row for row in json.loads((corpus / "manifest.json").read_text())["cases"]}
        ran = 0
        for form, name, files, least in cases:
            with self.subTest(form):
                folder = corpus / form / name
                if not all((folder / file).exists() for file in files):
                    continue
                reference, options = np.load(folder / "ref.npz"), []
                for i, value in enumerate(rows[form, name]["inputs"]):
                    file = self.save(f"{form}_{i}.npy", reference[f"in_{i}"])
                    options += ["--input", str(file) if form == "caffe" else f"{value['name']}={file}"]  # by place, or by name
                result = subprocess.run([sys.executable, tool, *(folder / file for file in files), *options, "--", "--json"], capture_output=True, text=True,
                                        env={**os.environ, "MINNOW": str(MINNOW)})
                if result.returncode == 77:
                    continue
                self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr)
                self.assertGreaterEqual(json.loads(result.stdout[result.stdout.index("{"):])["compared"], least)
                ran += 1
        if not ran:
            self.skipTest("none of the engines is installed")

    def test_options_of_either_side(self):
        """--other-X changes option X of the second model, and nothing else."""
        model, _ = self.network("a.onnx")
        self.succeeds("convert", model, "a.minnow")
        plain = self.json("compare", "a.minnow", "a.minnow", "--shape", "x=64x4", "--precision", "high")
        self.assertEqual({row["difference"] for row in plain["tensors"]}, {0})
        for option, value in (("precision", "low"), ("backend", "reference"), ("threads", "1"), ("memory", "low"), ("power", "efficient"), ("memory-limit", "100"),
                              ("weight-cache", "cache.bin"), ("tuning", "no.txt")):
            facts = self.json("compare", "a.minnow", "a.minnow", "--precision", "high", f"--other-{option}", value, "--tolerance", "0.1")
            self.assertEqual((facts["options"].get(option), str(facts["other_options"][option]).removesuffix(".0")), ("high" if option == "precision" else facts["options"].get(option), value))
            changed = {name for name in facts["other_options"] if facts["options"].get(name) != facts["other_options"][name]}
            self.assertEqual(changed, {option})
        self.assertFalse((self.folder / "no.txt").exists())
        self.assertRegex(self.fails("compare", model, model, "--other-backend", "abacus"), "there are auto, cpu, .*reference")
        self.assertIn("is not a whole number", self.fails("compare", model, model, "--other-threads", "-1"))

    def test_errors(self):
        model, _ = self.network("a.onnx")
        (self.folder / "empty").mkdir()
        x = self.save("x.npy", np.ones((1, 4), np.float32))
        self.assertIn("no tensor", self.fails("compare", model, "empty", "--input", x))
        self.assertIn("missing.onnx", self.fails("compare", model, "missing.onnx"))
        self.assertIn("take 1 and 2 inputs", self.fails("compare", model, self.two_inputs()))


if __name__ == "__main__":
    unittest.main()
