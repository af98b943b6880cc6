#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow tune, and the effect of its file on later commands."""
import random
import unittest

from command import F32, CommandTest, helper, np, write_model


class Tune(CommandTest):
    def model(self):
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
        weights = np.random.default_rng(1).standard_normal((64, 64, 3, 3)).astype(np.float32)
        return write_model(self.folder / "conv.onnx", nodes, [("x", F32, [1, 64, "h", "w"])], [("y", F32, [1, 64, "h", "w"])], {"w": weights})

    def bench(self, *more):
        return self.succeeds("bench", self.model(), "--threads", "1", "--seconds", "0.02", "--shape", "1x64x14x14", *more)

    def test_remembers_models_and_shapes_in_one_file(self):
        facts = {}
        for size in (14, 28):
            facts[size] = self.json("tune", self.model(), "--file", "tuning.txt", "--threads", "1", "--seconds", "0.1", "--shape", f"1x64x{size}x{size}")
            self.assertGreater(facts[size]["tuned_ms"], 0)
            self.assertLessEqual(facts[size]["tuned_ms"], facts[size]["by_estimate_ms"])
            self.assertEqual(facts[size]["threads"], 1)
        text = (self.folder / "tuning.txt").read_text()
        self.assertEqual(text.count("\nend "), 2)
        self.assertIn("shapes [1, 64, 28, 28]\n", text)
        self.assertEqual(self.bench("--tuning", "tuning.txt").stderr, "")
        self.assertIn("tuning.txt is written", self.succeeds("tune", self.model(), "--file", "tuning.txt", "--seconds", "0.1", "--shape",
                                                            "1x64x8x8").stdout)
        self.assertEqual(self.bench("--tuning", "tuning.txt").stderr, "")
        self.assertIn("threads", (self.folder / "tuning.txt").read_text())
        inspected = self.json("inspect", self.model(), "--plan", "--threads", "1", "--tuning", "tuning.txt", "--shape", "1x64x14x14")
        self.assertTrue(inspected["plan"]["steps"])

    def test_files_of_others_and_damaged_ones_cost_one_line(self):
        self.succeeds("tune", self.model(), "--file", "good.txt", "--threads", "1", "--seconds", "0.05", "--shape", "1x64x14x14")
        good = (self.folder / "good.txt").read_bytes()
        noise = random.Random(3)
        cases = {"cut": good[:len(good) // 2], "empty": b"", "noise": bytes(noise.randrange(256) for _ in range(500)),
                 "changed": good.replace(b"threads 1", b"threads 2"), "binary": b"minnow tuning 2\n" + bytes(range(256))}
        for name, content in cases.items():
            with self.subTest(name):
                (self.folder / "other.txt").write_bytes(content)
                result = self.bench("--tuning", "other.txt")
                self.assertRegex(result.stderr, r"^minnow: other.txt: .+; plans are made by estimates\n$")
        self.assertRegex(self.bench("--tuning", "nowhere.txt").stderr, r"^minnow: nowhere.txt: there is no such file; .*\n$")
        self.assertRegex(self.bench("--tuning", "good.txt", "--precision", "high").stderr, r"nothing in it is for this model with these options")

    def test_power(self):
        for power in ("performance", "balanced", "efficient"):
            self.succeeds("bench", self.model(), "--seconds", "0.02", "--shape", "1x64x14x14", "--power", power)
        self.fails("bench", self.model(), "--power", "turbo")

    def test_errors(self):
        self.assertIn("--file", self.fails("tune", self.model()))
        self.assertIn("nowhere/tuning.txt", self.fails("tune", self.model(), "--file", "nowhere/tuning.txt", "--seconds", "0.02", "--shape", "1x64x4x4"))
        self.assertFalse([path for path in self.folder.iterdir() if path.name.startswith("tuning")])

    def test_models_are_not_overwritten(self):
        model = self.model()
        before = (self.folder / "conv.onnx").read_bytes()
        for command in (("tune", model, "--file", "conv.onnx", "--seconds", "0.02", "--shape", "1x64x4x4"),
                        ("bench", model, "--weight-cache", "conv.onnx", "--seconds", "0.02", "--shape", "1x64x4x4"),
                        ("profile", model, "--trace", "conv.onnx", "--seconds", "0.02", "--shape", "1x64x4x4")):
            with self.subTest(command[0]):
                self.assertIn("conv.onnx: is not a ", self.fails(*command))
                self.assertEqual((self.folder / "conv.onnx").read_bytes(), before)
        # Files that these commands wrote earlier are replaced, and so are empty files.
        for command in (("tune", model, "--file", "made", "--seconds", "0.02", "--shape", "1x64x4x4"),
                        ("bench", model, "--weight-cache", "made", "--seconds", "0.02", "--shape", "1x64x4x4"),
                        ("profile", model, "--trace", "made", "--seconds", "0.02", "--shape", "1x64x4x4")):
            (self.folder / "made").write_bytes(b"")
            for _ in range(2):
                self.succeeds(*command)
            self.assertGreater((self.folder / "made").stat().st_size, 0)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["conv.onnx", "made"])


if __name__ == "__main__":
    unittest.main()
