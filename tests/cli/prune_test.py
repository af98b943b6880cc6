#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow prune."""
import os
import unittest
from pathlib import Path
from unittest import mock

from command import F32, CommandTest, helper, np, write_model

try:
    import onnx
except ImportError:
    onnx = None


class Prune(CommandTest):
    def setUp(self):
        super().setUp()
        if "does not prune" in self.minnow("prune", "x.onnx", "y.minnow").stderr:
            self.skipTest("a build without MINNOW_COMPRESS")
        random = np.random.default_rng(5)
        draw = lambda *shape: (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        nodes = [helper.make_node("Conv", ["x", "a"], ["h"], name="first", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["h"], ["r"]),
                 helper.make_node("Conv", ["r", "c"], ["s"], name="second"), helper.make_node("Relu", ["s"], ["t"]),
                 helper.make_node("Flatten", ["t"], ["f"]), helper.make_node("Gemm", ["f", "g", "gb"], ["y"], name="last", transB=1)]
        weights = {"a": draw(32, 16, 3, 3), "c": draw(64, 32, 3, 3), "g": draw(24, 64 * 36), "gb": draw(24)}
        self.model = write_model(self.folder / "net.onnx", nodes, [("x", F32, ["n", 16, 8, 8])], [("y", F32, ["n", 24])], weights)
        self.x = random.standard_normal((3, 16, 8, 8)).astype(np.float32)

    def output(self, model):
        np.save(self.folder / "in.npy", self.x)
        row = self.json("run", model, "--input", "x=in.npy", "--output-dir", "out")["outputs"][0]
        return np.load(self.folder / row["file"])

    def test_zeros_in_a_pattern(self):
        before = self.model.read_bytes()
        answer = self.json("prune", self.model, "s.onnx", "--sparsity", "0.75", "--pattern", "1x4", "--skip", "last")
        self.assertEqual(self.model.read_bytes(), before)
        rows = {row["node"]: row for row in answer["prune"]}
        self.assertEqual(rows["last"]["refusal"], "the options skip it")
        self.assertAlmostEqual(rows["first"]["zeros"] / rows["first"]["weights"], 0.75, delta=0.01)
        if onnx:
            weights = [onnx.numpy_helper.to_array(each) for each in onnx.load(self.folder / "s.onnx").graph.initializer]
            second = next(each for each in weights if each.shape == (64, 32, 3, 3)).reshape(16, 4, 32, 9)
            zero = second == 0
            np.testing.assert_array_equal(zero.all(axis=1), zero.any(axis=1))
            self.assertAlmostEqual(zero.mean(), 0.75, delta=0.01)

    def test_both_formats_compute_the_same(self):
        for options in (["--sparsity", "0.9", "--pattern", "4x4"], ["--operations", "0.5"], ["--energy", "0.7"], ["--palette-bits", "8"]):
            with self.subTest(options):
                self.json("prune", self.model, "a.onnx", *options)
                self.json("prune", self.model, "a.minnow", *options)
                np.testing.assert_allclose(self.output("a.onnx"), self.output("a.minnow"), rtol=1e-3, atol=1e-3)

    def test_a_sparse_layer_runs_sparse(self):
        self.json("prune", self.model, "s.minnow", "--sparsity", "0.95")
        self.assertIn("conv.sparse", self.minnow("inspect", "s.minnow", "--plan", "--shape", "x=3x16x8x8").stdout)

    def test_a_sparse_layer_of_integers_runs_sparse_without_byte_products(self):
        cpu = Path("/proc/cpuinfo")
        if not cpu.exists() or " avx2 " not in cpu.read_text():
            self.skipTest("no AVX2")
        draw = np.random.default_rng(6).standard_normal
        wide = write_model(self.folder / "wide.onnx", [helper.make_node("Conv", ["x", "a"], ["h"]), helper.make_node("Conv", ["h", "b"], ["y"])], [("x", F32, [1, 128, 28, 28])],
                           [("y", F32, [1, 128, 28, 28])], {name: (draw((128, 128, 1, 1)) / 11).astype(np.float32) for name in "ab"})
        with mock.patch.dict(os.environ, MINNOW_ISA="avx2"):
            for sparsity, scheme in (("0.95", True), ("0", False)):
                (self.folder / "r.toml").write_text(f"prune_sparsity = {sparsity}\n")
                self.json("quantize", wide, "q.minnow", "--recipe", "r.toml", "--data-free")
                plan = self.minnow("inspect", "q.minnow", "--plan", "--threads", "1").stdout
                self.assertEqual(" conv.sparse  " in plan, scheme, plan)

    def test_recipe(self):
        (self.folder / "r.toml").write_text('channels_operations = 0.6\nprune_sparsity = 0.8\nprune_pattern = "1x16"\npalette_bits = 4\npalette_smallest = 100\n')
        first = self.json("prune", self.model, "a.minnow", "--recipe", "r.toml")
        self.json("prune", self.model, "b.minnow", "--recipe", "r.toml")
        self.assertEqual((self.folder / "a.minnow").read_bytes(), (self.folder / "b.minnow").read_bytes())
        self.assertLess(first["file_bytes"], len(self.model.read_bytes()) / 3)
        self.assertEqual(set(first) & {"channels", "prune", "palette", "low_rank"}, {"channels", "prune", "palette"})

    def test_palettes_stay_small_in_both_formats(self):
        (self.folder / "r.toml").write_text("palette_bits = 3\npalette_smallest = 1000\n")
        sizes = [self.json("prune", self.model, name, "--recipe", "r.toml")["file_bytes"] for name in ("a.onnx", "a.minnow")]
        self.assertEqual(self.minnow("convert", "a.onnx", "b.minnow").returncode, 0)
        sizes.append((self.folder / "b.minnow").stat().st_size)
        for size in sizes:
            self.assertLess(size, len(self.model.read_bytes()) / 6)
        # Plans look the weights up, runs do not.
        for name in ("a.onnx", "b.minnow"):
            plan = self.minnow("inspect", name, "--plan", "--shape", "x=3x16x8x8").stdout
            self.assertIn("minnow.LookUp", plan.split("plan:")[0])
            for op in ("minnow.LookUp", "Gather", "Cast"):
                self.assertNotIn(op, plan.split("plan:")[1])
        np.testing.assert_allclose(self.output("a.onnx"), self.output("a.minnow"), rtol=1e-3, atol=1e-3)

    def test_a_palette_and_quantization_in_one_recipe(self):
        np.savez(self.folder / "data.npz", x=np.repeat(self.x, 4, axis=0))
        sizes = []
        for keys in ("", "palette_bits = 4\npalette_smallest = 1000\nprune_sparsity = 0.5\n"):
            (self.folder / "r.toml").write_text(keys + 'calibration = "data.npz"\n')
            sizes.append(self.json("quantize", self.model, "q.minnow", "--recipe", "r.toml")["file_bytes"])
            self.assertEqual(self.output("q.minnow").shape, (3, 24))
        self.assertLess(sizes[1], 0.65 * sizes[0])
        (self.folder / "r.toml").write_text('palette_bits = 4\nweights_only = "rtn"\n')
        done = self.minnow("quantize", self.model, "w.minnow", "--recipe", "r.toml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("r.toml: palette_bits and weights_only both store weights in few bits", done.stderr)

    def test_integers_are_not_pruned(self):
        self.json("quantize", self.model, "q.minnow", "--data-free", "--shape", "x=3x16x8x8")
        done = self.minnow("prune", "q.minnow", "p.minnow")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, 'q.minnow: .*first.* has quantized weights, which zeros would turn into f32; prune the f32 model')

    def test_quantization_follows_in_the_same_recipe(self):
        np.savez(self.folder / "data.npz", x=np.repeat(self.x, 4, axis=0))
        (self.folder / "r.toml").write_text('channels_operations = 0.7\nprune_sparsity = 0.5\ncalibration = "data.npz"\n')
        answer = self.json("quantize", self.model, "q.minnow", "--recipe", "r.toml")
        self.assertLess(answer["file_bytes"], len(self.model.read_bytes()) / 4)
        self.assertEqual(self.output("q.minnow").shape, (3, 24))

    def test_errors(self):
        for arguments, status, sentence in (
                (["x.png"], 2, "is not the name of a file that prune writes"), (["y.minnow", "--sparsity", "1.5"], 2, "not a number from 0 to 1"),
                (["y.minnow", "--pattern", "3x3"], 2, "is none of 1x4"), (["y.minnow", "--operations", "0"], 2, "not above 0"),
                (["y.minnow", "--criterion", "taylor"], 1, "taylor needs samples"), (["y.minnow", "--layers", "frist"], 1, 'no layer of the model has the name "frist"'),
                (["y.minnow", "--skip", "*"], 1, "no layer can be pruned"), (["net.onnx"], 2, "is the model itself"),
                (["y.minnow", "--palette-bits", "9"], 2, "is not from 2 to 8"), (["y.minnow", "--pattern", "2:4", "--sparsity", "0.9"], 1, "has 0.5"),
                (["y.minnow", "--recipe", "none.toml"], 1, "none.toml")):
            with self.subTest(arguments):
                done = self.minnow("prune", self.model, *arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertFalse((self.folder / "y.minnow").exists())
        for text, sentence in (("prune_sparsity = 2\n", "prune_sparsity"), ("sparsity = 0.5\n", "is no key of pruning"), ("prune_patern = \"1x4\"\n", "pattern")):
            (self.folder / "bad.toml").write_text(text)
            done = self.minnow("prune", self.model, "y.minnow", "--recipe", "bad.toml")
            self.assertEqual(done.returncode, 1)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
