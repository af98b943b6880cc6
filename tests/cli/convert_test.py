#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow convert."""
import hashlib
import os
import unittest

from command import F32, BUILD, CommandTest, helper, np, onnx, write_model


def bfloat16(array):
    """Rounded to the nearest bf16, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)


class Convert(CommandTest):
    def outputs(self, model, *inputs):
        rows = self.json("run", model, *[part for path in inputs for part in ("--input", path)], "--output-dir", self.folder / "out")["outputs"]
        return [np.load(row["file"]) for row in rows]

    def test_weights_in_16_bits(self):
        random = np.random.default_rng(3)
        first, second = random.standard_normal((64, 32)).astype(np.float32), random.standard_normal((32, 8)).astype(np.float32)
        second[3, 3] = 1e6
        source = write_model(self.folder / "in.onnx", [helper.make_node("MatMul", ["x", "a"], ["h"], name="one"), helper.make_node("Relu", ["h"], ["r"]),
                                                       helper.make_node("MatMul", ["r", "b"], ["y"], name="two")],
                             [("x", F32, [1, 64])], [("y", F32, [1, 8])], {"a": first, "b": second})
        x = random.standard_normal((1, 64)).astype(np.float32)
        np.save(self.folder / "x.npy", x)
        self.succeeds("convert", source, "f32.minnow")
        for weights, dtype in (("f16", np.float16), ("bf16", None)):
            answer = self.json("convert", source, "out.minnow", "--weights", weights)
            kept = answer.get("kept_f32", [])
            self.assertEqual(len(kept), weights == "f16")
            if kept:
                self.assertIn('"two"', kept[0])
                self.assertIn("65504", kept[0])
            self.assertLess(answer["bytes"], (self.folder / "f32.minnow").stat().st_size - first.nbytes // 2 + 200)
            rounded = [first.astype(dtype).astype(np.float32), second] if dtype else [bfloat16(w) for w in (first, second)]
            expected = np.maximum(x @ rounded[0], 0) @ rounded[1]
            for precision, tolerance in (("high", 1e-5), ("normal", 1e-5), ("low", 2e-2)):
                row = self.json("run", "out.minnow", "--input", "x=x.npy", "--precision", precision, "--output-dir", self.folder / "out")["outputs"][0]
                actual = np.load(row["file"])
                self.assertLess(np.abs(actual - expected).max() / np.abs(expected).max(), tolerance, f"{weights}, {precision}")
        self.assertIn("only .minnow files", self.fails("convert", source, "out.onnx", "--weights", "f16"))

    def test_what_it_writes_computes_the_same(self):
        x = self.save("x.npy", np.ones((2, 4), np.float32))
        result = self.succeeds("convert", self.dense(), "dense.minnow")
        self.assertRegex(result.stdout, r"^dense\.minnow: \d+ nodes, ")
        np.testing.assert_allclose(self.outputs("dense.minnow", x)[0], self.expected(np.load(x)), rtol=1e-5)

    def test_json(self):
        facts = self.json("convert", self.dense(), "dense.minnow", "--verify")
        self.assertEqual(facts["output"], "dense.minnow")
        self.assertEqual(facts["bytes"], (self.folder / "dense.minnow").stat().st_size)
        self.assertTrue(facts["verified"])
        self.assertGreater(facts["nodes"], 0)

    def test_formats_are_recognized_by_content(self):
        model = self.dense()
        (self.folder / "a.minnow").write_bytes(model.read_bytes())
        self.assertEqual(self.json("inspect", "a.minnow")["source_format"], "onnx")
        self.succeeds("convert", "a.minnow", "b.minnow")
        self.assertEqual((self.folder / "b.minnow").read_bytes()[1:4], b"MNW")
        (self.folder / "b.minnow").rename(self.folder / "b.data")
        self.assertEqual(self.json("convert", "b.data", "c.minnow")["nodes"], self.json("inspect", "a.minnow")["nodes"])

    def test_levels_of_optimization(self):
        model = self.dense()
        nodes = {level: self.json("convert", model, f"{level}.minnow", "--optimize", level)["nodes"] for level in ("none", "train", "standard")}
        self.assertEqual(nodes["none"], 4)
        self.assertEqual(nodes["train"], 4)  # Dropout and all parameters stay
        self.assertLess(nodes["standard"], nodes["train"])
        self.assertEqual(self.json("inspect", "train.minnow")["operators"], {"Add": 1, "Dropout": 1, "MatMul": 1, "Relu": 1})
        self.assertRegex(self.fails("convert", model, "x.minnow", "--optimize", "most"), "none.*standard.*train")
        self.assertEqual(self.json("convert", model, "old.minnow", "--optimize", "default")["nodes"], nodes["standard"])

    def test_unknown_words_come_with_the_nearest_ones(self):
        model = self.dense()
        for words, text in ((("convert", model, "x.minnow", "--optimise", "none"), 'convert has no option "--optimise"; the nearest are "--optimize"'),
                            (("bench", model, "--thread=1"), 'bench has no option "--thread"; the nearest are "--threads"'), (("bensh", model), 'no command "bensh"; the nearest are "bench"'),
                            (("convert", model, "x.minnow", "--rename", "X=y"), 'no input or output "X" that could be renamed; there are "x"'),
                            (("convert", model, "x.minnow", "--shape", "y=2x4"), 'no input "y" whose shape could be fixed; there is "x"'),
                            (("ops", "--importer", "onx"), 'no importer "onx"; the nearest are "onnx"')):
            self.assertIn(text, self.fails(*words))

    def test_fixed_dimensions_change(self):
        """--shape may change all sizes that an ONNX file fixes (its exporter's defaults), else only the first, and none of a converted model."""
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("GlobalAveragePool", ["c"], ["p"]),
                 helper.make_node("Reshape", ["p", "flat"], ["y"], name="flat")]
        model = write_model(self.folder / "fixed.onnx", nodes, [("x", F32, [1, 3, 8, 8])], [("y", F32, [1, 4])],
                            {"w": np.ones((4, 3, 3, 3), np.float32), "flat": np.array([0, 4])})
        for optimize in ("none", "standard"):
            self.succeeds("convert", model, "other.minnow", "--shape", "x=5x3x12x10", "--optimize", optimize)
            facts = self.json("inspect", "other.minnow")
            self.assertEqual((facts["inputs"][0]["shape"], facts["outputs"][0]["shape"]), ([5, 3, 12, 10], [5, 4]))
            rows = self.json("run", "other.minnow", "--random")["outputs"]
            self.assertEqual(rows[0]["shape"], [5, 4])
        self.assertIn('node "conv" (Conv)', self.fails("convert", model, "x.minnow", "--shape", "x=1x4x8x8"))
        self.assertIn("cannot be fixed to 2; convert the original file with this shape", self.fails("convert", "other.minnow", "x.minnow", "--shape", "x=2x3x12x10"))

    def test_labels_are_lines_of_text(self):
        model = self.dense()
        (self.folder / "labels.txt").write_bytes(b"\xef\xbb\xbfcat\r\ndog\r\n\r\nbird")
        self.succeeds("convert", model, "b.minnow", "--labels", "labels.txt")
        import struct
        self.assertEqual(self.json("inspect", "b.minnow")["labels"], 4)
        for content in (b"\x89PNG\r\n\x1a\n\0\0", b"cat\0dog\n", b"caf\xe9\n", struct.pack("<4f", 1, 2, 3, 4), (self.folder / "dense.onnx").read_bytes()):
            (self.folder / "binary.txt").write_bytes(content)
            self.assertIn("binary.txt: is not a text file", self.fails("convert", model, "c.minnow", "--labels", "binary.txt"))
        (self.folder / "empty.txt").write_bytes(b"")
        self.assertIn("empty.txt: is empty", self.fails("convert", model, "c.minnow", "--labels", "empty.txt"))
        self.assertFalse((self.folder / "c.minnow").exists())

    def test_shapes_are_fixed(self):
        self.succeeds("convert", self.dense(), "fixed.minnow", "--shape", "x=2x4")
        self.assertEqual(self.json("inspect", "fixed.minnow")["inputs"][0]["type"], "f32[2, 4]")
        self.assertEqual(self.json("inspect", "fixed.minnow")["outputs"][0]["type"], "f32[2, 3]")
        self.succeeds("convert", self.dense(), "open.minnow", "--shape", "x=?x4")
        self.assertEqual(self.json("inspect", "open.minnow")["inputs"][0]["type"], "f32[batch, 4]")
        for shape, word in (("x=2x5", 'node "product" (MatMul)'), ("x=2", "2 dimensions"), ("z=2x4", 'no input "z"'), ("x=2xA", '"A" is not a dimension'),
                            ("2x5", "dimensions that the file fixes cannot be changed so")):
            with self.subTest(shape):
                self.assertIn(word, self.fails("convert", self.dense(), "wrong.minnow", "--shape", shape))
        self.assertIn("takes 1 input", self.fails("convert", self.dense(), "wrong.minnow", "--shape", "2x4", "--shape", "2x4"))
        self.assertNotIn("wrong.minnow", self.listing())
        # The shape alone is that of the next input, as bench and inspect take it.
        self.succeeds("convert", self.dense(), "alone.minnow", "--shape", "2x4")
        self.assertEqual(self.json("inspect", "alone.minnow")["inputs"][0]["type"], "f32[2, 4]")
        self.succeeds("convert", self.two_inputs(), "two.minnow", "--shape", "a=?", "--shape", "5")
        self.assertEqual([row["type"] for row in self.json("inspect", "two.minnow")["inputs"]], ["f32[5]", "f32[5]"])

    def test_inputs_and_outputs_are_renamed(self):
        self.succeeds("convert", self.dense(), "a.minnow", "--rename", "x=image", "--rename", "y=scores")
        facts = self.json("inspect", "a.minnow")
        self.assertEqual((facts["inputs"][0]["name"], facts["outputs"][0]["name"]), ("image", "scores"))
        self.succeeds("convert", self.two_inputs(), "b.minnow", "--rename", "a=b/in", "--rename", "b/in=a")
        self.assertEqual([row["name"] for row in self.json("inspect", "b.minnow")["inputs"]], ["b/in", "a"])
        self.assertIn('no input or output "q"', self.fails("convert", self.dense(), "c.minnow", "--rename", "q=r"))
        self.assertIn("two inputs would be named", self.fails("convert", self.two_inputs(), "c.minnow", "--rename", "a=b/in"))
        self.assertIn("write old=new", self.fails("convert", self.dense(), "c.minnow", "--rename", "x"))

    def test_verify_compares_before_and_after(self):
        self.assertIn("verified", self.succeeds("convert", self.dense(), "dense.minnow", "--verify").stdout)

    def test_verify_fails_where_a_pass_changes_numbers(self):
        # Large numbers that cancel: folding the scale into the weights rounds them anew, and nothing is left but the rounding.
        random = np.random.default_rng(1)
        weights = random.standard_normal((64, 8)).astype(np.float32) * np.float32(1e6)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "s"], ["m"]),
                 helper.make_node("MatMul", ["x", "v"], ["k"]), helper.make_node("Sub", ["m", "k"], ["y"])]
        scale = np.array([1 / 3], np.float32)
        model = write_model(self.folder / "cancel.onnx", nodes, [("x", F32, [4, 64])], [("y", F32, [4, 8])],
                            {"w": weights, "s": scale, "v": (weights * scale).astype(np.float32)})
        error = self.fails("convert", model, "cancel.minnow", "--verify")
        self.assertIn('cancel.onnx: output "y" differs after optimization', error)
        self.assertIn("the pass that made it so is fold_", error)
        self.assertNotIn("cancel.minnow", self.listing())

    def test_passes_are_listed(self):
        result = self.succeeds("convert", self.dense(), "dense.minnow", "--dump-passes")
        self.assertIn("remove_identities: 1 change", result.stdout)
        self.assertIn("drop", result.stdout)
        self.assertIn("fuse_products", result.stdout)
        facts = self.json("convert", self.dense(), "dense.minnow", "--dump-passes")
        self.assertTrue(any(line.startswith("remove_identities: 1 change") for line in facts["passes"]))

    def test_metadata_is_kept(self):
        (self.folder / "labels.txt").write_text("cat\ndog\n")
        model = self.dense(author="somebody")
        self.succeeds("convert", model, "dense.minnow", "--labels", "labels.txt")
        facts = self.json("inspect", "dense.minnow")
        self.assertEqual(facts["source_format"], "onnx")
        self.assertEqual(facts["source_hash"], hashlib.sha256(model.read_bytes()).hexdigest())
        self.assertEqual(facts["producer"], "tests")
        self.assertEqual(facts["properties"], {"author": "somebody"})
        self.assertEqual(facts["labels"], 2)
        again = self.json("convert", "dense.minnow", "again.minnow")
        self.assertEqual(self.json("inspect", again["output"])["source_hash"], facts["source_hash"])
        self.assertIn("nowhere.txt", self.fails("convert", model, "x.minnow", "--labels", "nowhere.txt"))

    def test_a_default_stays_an_input_where_asked(self):
        nodes = [helper.make_node("Mul", ["x", "k"], ["y"])]
        model = write_model(self.folder / "default.onnx", nodes, [("x", F32, [2]), ("k", F32, [1])], [("y", F32, [2])],
                            {"k": np.array([3], np.float32)})
        x = self.save("x.npy", np.array([1, 2], np.float32))
        k = self.save("k.npy", np.array([5], np.float32))
        self.succeeds("convert", model, "constant.minnow")
        np.testing.assert_array_equal(self.outputs("constant.minnow", x)[0], [3, 6])
        self.succeeds("convert", model, "open.minnow", "--keep-input", "k")
        np.testing.assert_array_equal(self.outputs("open.minnow", x, k)[0], [5, 10])
        # With an ONNX file, naming it with --input is enough.
        np.testing.assert_array_equal(self.outputs(model, x, f"k={k}")[0], [5, 10])
        self.assertIn('no input "q"; there is "x"', self.fails("convert", model, "x.minnow", "--keep-input", "q"))

    def test_custom_operators(self):
        library = BUILD / "lib" / "libcustom_operators.so"
        if not library.exists():
            self.skipTest("the example library is not built")
        nodes = [helper.make_node("Swish", ["x"], ["y"], name="swish", domain="com.example", beta=2.0)]
        model = write_model(self.folder / "custom.onnx", nodes, [("x", F32, [3])], [("y", F32, [3])], opsets=[("com.example", 1)])
        x = self.save("x.npy", np.array([-1, 0, 2], np.float32))
        self.assertIn('com.example.Swish (node "swish")', self.fails("convert", model, "custom.minnow"))
        self.succeeds("convert", model, "custom.minnow", "--operators", library, "--verify")
        for file in (model, "custom.minnow"):
            with self.subTest(str(file)):
                out = self.json("run", file, "--input", x, "--operators", library, "--output-dir", "out")["outputs"][0]
                values = np.load(x)
                np.testing.assert_allclose(np.load(self.folder / out["file"]), values / (1 + np.exp(-2 * values)), rtol=1e-6)
                self.assertEqual(self.json("inspect", file, "--operators", library)["operators"], {"com.example.Swish": 1})
                self.assertGreater(self.json("bench", file, "--operators", library, "--seconds", "0.01")["runs"], 0)
                self.assertEqual(self.json("profile", file, "--operators", library, "--seconds", "0.01")["nodes"][0]["op"], "com.example.Swish")
        self.assertRegex(self.fails("run", "custom.minnow", "--input", x), "com.example.Swish.*--operators")
        rows = {row["operator"]: row for row in self.json("ops", "--operators", library)["operators"]}
        self.assertEqual(rows["com.example.Swish"]["doc"], "y = x * sigmoid(beta * x)")
        self.assertIn("nowhere.so", self.fails("convert", model, "x.minnow", "--operators", self.folder / "nowhere.so"))

    def test_training_forms_are_converted_with_a_warning(self):
        ones = np.ones(3, np.float32)
        nodes = [helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], name="norm", training_mode=1)]
        model = write_model(self.folder / "train.onnx", nodes, [("x", F32, [1, 3, 2, 2])], [("y", F32, [1, 3, 2, 2])],
                            {"s": ones, "b": ones, "m": ones, "v": ones})
        self.assertIn('warning: train.onnx: node "norm" (BatchNormalization): training mode is read as inference',
                      self.succeeds("convert", model, "train.minnow").stderr)

    def test_all_unsupported_operators_are_listed_with_their_nodes(self):
        nodes = [helper.make_node("Alpha", ["x"], ["a"], name="first", domain="com.other"),
                 helper.make_node("Beta", ["a"], ["b"], name="second", domain="com.other"),
                 helper.make_node("Alpha", ["b"], ["y"], name="third", domain="com.other")]
        model = write_model(self.folder / "other.onnx", nodes, [("x", F32, [3])], [("y", F32, [3])], opsets=[("com.other", 1)])
        error = self.fails("convert", model, "other.minnow")
        self.assertIn('other.onnx: operators are not supported: com.other.Alpha (nodes "first", "third"); com.other.Beta (node "second")', error)

    def test_wrong_files_name_themselves_and_leave_nothing(self):
        model = self.dense()
        whole = model.read_bytes()
        (self.folder / "cut.onnx").write_bytes(whole[:len(whole) // 2])
        (self.folder / "text.onnx").write_text("this is not a model\n" * 10)
        (self.folder / "empty.onnx").write_bytes(b"")
        self.succeeds("convert", model, "dense.minnow")
        saved = (self.folder / "dense.minnow").read_bytes()
        (self.folder / "cut.minnow").write_bytes(saved[:-1])
        (self.folder / "newer.minnow").write_bytes(saved[:8] + b"\x63\x00" + saved[10:])
        for name in ("cut.onnx", "text.onnx", "empty.onnx", "cut.minnow", "newer.minnow", "nowhere.onnx"):
            with self.subTest(name):
                self.assertIn(name, self.fails("convert", name, "out.minnow"))
                self.assertNotIn("out.minnow", self.listing())
        self.assertEqual([name for name in self.listing() if "tmp" in name or name.startswith(".")], [])

    def test_a_place_that_cannot_be_written(self):
        model = self.dense()
        self.assertIn("nowhere/dense.minnow", self.fails("convert", model, "nowhere/dense.minnow"))
        (self.folder / "taken.minnow").mkdir()
        self.assertIn("taken.minnow", self.fails("convert", model, "taken.minnow"))
        self.assertEqual(self.listing(), ["dense.onnx", "taken.minnow"])
        self.assertEqual(list((self.folder / "taken.minnow").iterdir()), [])

    def test_the_written_file_has_a_known_ending(self):
        for name in ("dense.txt", "dense", "dense.minnow.bak"):
            self.assertIn(f"{name}: is not the name of a file that convert writes, which ends in .minnow or .onnx", self.fails("convert", self.dense(), name))
        self.assertEqual(self.listing(), ["dense.onnx"])

    def test_what_was_there_stays_where_it_fails(self):
        self.succeeds("convert", self.dense(), "dense.minnow")
        before = (self.folder / "dense.minnow").read_bytes()
        (self.folder / "bad.onnx").write_bytes(b"\x08\x07nonsense")
        self.fails("convert", "bad.onnx", "dense.minnow")
        self.assertEqual((self.folder / "dense.minnow").read_bytes(), before)

    def test_signatures_of_formats_that_have_none(self):
        model = self.dense()
        self.succeeds("convert", model, "dense.minnow")
        for path, name in ((model, "onnx"), ("dense.minnow", "minnow")):
            error = self.fails("convert", path, "out.minnow", "--signature", "serving_default")
            self.assertIn(f'models of the format {name} have no signatures of which "serving_default" could be read', error)

    def test_too_few_files(self):
        for paths in ((self.dense(),), ()):
            self.assertEqual(self.fails("convert", *paths), "minnow: convert needs the model's files and, last, the file to write; see minnow convert --help\n")
        self.assertIn("1 file", self.fails("convert", self.dense("a.onnx"), self.dense("b.onnx"), "c.minnow").replace("one file", "1 file"))

    def test_external_data_beside_the_model(self):
        model = onnx.load(self.dense())
        onnx.save_model(model, self.folder / "outside.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        x = self.save("x.npy", np.ones((1, 4), np.float32))
        self.succeeds("convert", "outside.onnx", "outside.minnow")
        os.remove(self.folder / "weights.bin")
        np.testing.assert_allclose(self.outputs("outside.minnow", x)[0], self.expected(np.load(x)), rtol=1e-5)
        self.assertIn("weights.bin", self.fails("convert", "outside.onnx", "again.minnow"))


if __name__ == "__main__":
    unittest.main()
