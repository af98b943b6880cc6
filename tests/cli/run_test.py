#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow run."""
import re
import unittest

from command import F32, I64, CommandTest, TensorProto, helper, np, write_model


class Run(CommandTest):
    def test_json_lists_the_outputs_in_order(self):
        x = self.save("x.npy", np.full((2, 4), 2, np.float32))
        facts = self.json("run", self.dense(), "--input", f"x={x}", "--output-dir", "out")
        self.assertEqual(facts, {"outputs": [{"name": "y", "file": "out/y.npy", "dtype": "f32", "shape": [2, 3]}]})
        np.testing.assert_allclose(np.load(self.folder / "out" / "y.npy"), self.expected(np.load(x)), rtol=1e-5)

    def test_inputs_by_name_and_by_position(self):
        a, b = self.save("a.npy", np.array([5, 1], np.float32)), self.save("b=b.npy", np.array([2, 3], np.float32))
        model = self.two_inputs()
        for inputs in ([a, b], [f"a={a}", f"b/in={b}"], [f"b/in={b}", f"a={a}"], [f"b/in={b}", a], [a, f"b/in={b}"]):
            with self.subTest(str(inputs)):
                arguments = [part for each in inputs for part in ("--input", each)]
                rows = self.json("run", model, *arguments, "--output-dir", "out")["outputs"]
                np.testing.assert_array_equal(np.load(self.folder / rows[0]["file"]), [3, -2])
        self.json("run", model, "--input", a, b, "--output-dir", "out")  # several behind one --input

    def test_names_of_files(self):
        a = self.save("a.npy", np.array([5, 1], np.float32))
        rows = self.json("run", self.two_inputs(), "--input", a, "--input", a, "--output-dir", "deep/er")["outputs"]
        self.assertEqual([row["name"] for row in rows], ["net/difference:0", "größe"])
        self.assertEqual([row["file"] for row in rows], ["deep/er/net_difference_0.npy", "deep/er/gr__e.npy"])
        self.assertTrue(all(re.fullmatch(r"[A-Za-z0-9._-]+\.npy", path.name) for path in (self.folder / "deep/er").iterdir()))

    def test_names_that_become_the_same_stay_apart(self):
        nodes = [helper.make_node("Neg", ["x"], ["a:b"]), helper.make_node("Abs", ["x"], ["a/b"])]
        model = write_model(self.folder / "same.onnx", nodes, [("x", F32, [1])], [("a:b", F32, [1]), ("a/b", F32, [1])])
        rows = self.json("run", model, "--input", self.save("x.npy", np.array([-2], np.float32)), "--output-dir", "out")["outputs"]
        self.assertEqual([np.load(self.folder / row["file"])[0] for row in rows], [2, 2])
        self.assertEqual(len({row["file"] for row in rows}), 2)

    def test_text_output_tells_files_and_time(self):
        x = self.save("x.npy", np.ones((2, 4), np.float32))
        lines = self.succeeds("run", self.dense(), "--input", x).stdout.splitlines()
        self.assertEqual(lines[0], "y: f32[2,3] in ./y.npy")
        self.assertRegex(lines[1], r"^ran in ")

    def test_backends_threads_and_precisions_agree(self):
        x = self.save("x.npy", np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
        self.succeeds("convert", self.dense(), "dense.minnow")
        for options in (["--backend", "reference"], ["--backend", "cpu", "--threads", "1"], ["--threads", "2"], ["--precision", "high"],
                        ["--precision", "low"], ["--memory-limit", "100"]):
            with self.subTest(" ".join(options)):
                self.succeeds("run", "dense.minnow", "--input", x, "--output-dir", "out", *options)
                np.testing.assert_allclose(np.load(self.folder / "out" / "y.npy"), self.expected(np.load(x)), rtol=1e-2 if "low" in options else 1e-5,
                                           atol=1e-2 if "low" in options else 1e-6)
        for options in (["--backend", "abacus"], ["--threads", "-1"], ["--threads", "many"], ["--precision", "perfect"], ["--memory-limit", "-5"]):
            with self.subTest(" ".join(options)):
                self.fails("run", "dense.minnow", "--input", x, *options)

    def test_the_instruction_set_is_capped(self):
        x = self.save("x.npy", np.ones((2, 4), np.float32))
        self.succeeds("run", self.dense(), "--input", x, env={"MINNOW_ISA": "avx2"})
        self.assertIn("abacus", self.fails("run", self.dense(), "--input", x, env={"MINNOW_ISA": "abacus"}))

    def test_every_dtype_goes_in_and_out(self):
        for dtype in (np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8, np.bool_):
            with self.subTest(dtype.__name__):
                values = np.array([[0, 1, 1], [1, 0, 1]], dtype)
                kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
                model = write_model(self.folder / "same.onnx", [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])], [("x", kind, [2, 3])],
                                    [("y", kind, [3, 2])])
                for array in (values, np.asfortranarray(values), values.astype(np.dtype(dtype).newbyteorder(">"))):
                    rows = self.json("run", model, "--input", self.save("x.npy", array), "--output-dir", "out")["outputs"]
                    result = np.load(self.folder / rows[0]["file"])
                    self.assertEqual(result.dtype, np.dtype(dtype))
                    np.testing.assert_array_equal(result, values.T)

    def test_scalars_empty_arrays_and_bfloat16(self):
        model = write_model(self.folder / "any.onnx", [helper.make_node("Neg", ["x"], ["y"])], [("x", F32, None)], [("y", F32, None)])
        for array in (np.array(3, np.float32), np.zeros((2, 0, 3), np.float32)):
            row = self.json("run", model, "--input", self.save("x.npy", array), "--output-dir", "out")["outputs"][0]
            self.assertEqual(row["shape"], list(array.shape))
            np.testing.assert_array_equal(np.load(self.folder / row["file"]), -array)
        kind = TensorProto.BFLOAT16
        model = write_model(self.folder / "half.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", kind, [2])], [("y", kind, [2])])
        bits = np.array([0x3f80, 0x4000], np.uint16).view("V2")
        row = self.json("run", model, "--input", self.save("x.npy", bits), "--output-dir", "out")["outputs"][0]
        self.assertEqual(row["dtype"], "bf16")
        np.testing.assert_array_equal(np.load(self.folder / row["file"]).view(np.uint16), [0x3f80, 0x4000])

    def test_sequences_are_written_item_by_item(self):
        nodes = [helper.make_node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=1)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, [2, 2])],
                                  [helper.make_tensor_sequence_value_info("s", F32, None)])
        model = self.folder / "sequence.onnx"
        model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
        x = self.save("x.npy", np.array([[1, 2], [3, 4]], np.float32))
        rows = self.json("run", model, "--input", x, "--output-dir", "out")["outputs"]
        self.assertEqual([row["name"] for row in rows], ["s.0", "s.1"])
        np.testing.assert_array_equal(np.load(self.folder / rows[1]["file"]), [[3, 4]])

    def test_shapes_that_depend_on_data(self):
        model = write_model(self.folder / "places.onnx", [helper.make_node("NonZero", ["x"], ["y"])], [("x", F32, ["n"])], [("y", I64, [1, None])])
        row = self.json("run", model, "--input", self.save("x.npy", np.array([0, 4, 0, 5], np.float32)), "--output-dir", "out")["outputs"][0]
        self.assertEqual((row["dtype"], row["shape"]), ("i64", [1, 2]))
        np.testing.assert_array_equal(np.load(self.folder / row["file"]), [[1, 3]])

    def test_wrong_inputs_are_named(self):
        x, model = self.save("x.npy", np.ones((2, 4), np.float32)), self.dense()
        wide, whole = self.save("wide.npy", np.ones((2, 5), np.float32)), self.save("whole.npy", np.ones((2, 4), np.int64))
        (self.folder / "cut.npy").write_bytes(x.read_bytes()[:-3])
        (self.folder / "text.npy").write_text("no array")
        np.save(self.folder / "words.npy", np.array(["a", "b"]))
        for inputs, words in (([], 'input "x" (f32[batch, 4]) is not given'), (["z=x.npy"], 'no input "z"; there is "x"'),
                              (["x.npy", "x.npy"], "2 inputs are given by position, the model takes 1"),
                              (["x.npy", "x=x.npy"], 'input "x" is given twice'), (["nowhere.npy"], "nowhere.npy"),
                              (["wide.npy"], 'input "x" should be f32[batch, 4], it is f32[2, 5]'), (["whole.npy"], "it is i64[2, 4]"),
                              (["cut.npy"], "cut.npy: holds 29 bytes of elements, shape [2, 4] needs 32"), (["text.npy"], "text.npy"),
                              (["words.npy"], "words.npy")):
            with self.subTest(str(inputs)):
                error = self.fails("run", model, *[part for each in inputs for part in ("--input", each)], "--output-dir", "none")
                self.assertIn(words, error)
        self.assertNotIn("none", self.listing())

    def test_errors_while_running_name_the_node(self):
        nodes = [helper.make_node("Gather", ["x", "i"], ["y"], name="pick")]
        model = write_model(self.folder / "gather.onnx", nodes, [("x", F32, [3]), ("i", I64, [1])], [("y", F32, [1])])
        error = self.fails("run", model, "--input", self.save("x.npy", np.ones(3, np.float32)), "--input", self.save("i.npy", np.array([7])))
        self.assertIn('gather.onnx: node "pick" (Gather)', error)
        self.assertIn("7", error)

    def test_the_memory_limit_holds(self):
        nodes = [helper.make_node("Expand", ["x", "shape"], ["e"], name="grow"), helper.make_node("ReduceSum", ["e"], ["y"], keepdims=0)]
        model = write_model(self.folder / "large.onnx", nodes, [("x", F32, [1]), ("shape", I64, [1])], [("y", F32, [])])
        x, small, large = (self.save(name, array) for name, array in (("x.npy", np.ones(1, np.float32)), ("small.npy", np.array([10])),
                                                                     ("large.npy", np.array([10**9]))))
        self.succeeds("run", model, "--input", x, "--input", small, "--memory-limit", "1", "--output-dir", "out")
        self.assertIn("memory", self.fails("run", model, "--input", x, "--input", large, "--memory-limit", "1"))

    def test_the_memory_limit_counts_what_references_work_on(self):
        model = write_model(self.folder / "soft.onnx", [helper.make_node("Softmax", ["x"], ["y"], name="soft")], [("x", F32, [None])],
                            [("y", F32, [None])])
        x = self.save("x.npy", np.ones(200000, np.float32))
        error = self.fails("run", model, "--input", x, "--memory-limit", "1", "--backend", "reference")
        self.assertIn('node "soft" (Softmax)', error)
        self.assertIn("memory limit is 1000000", error)
        self.succeeds("run", model, "--input", x, "--memory-limit", "1", "--output-dir", "out")

    def test_an_output_that_cannot_be_written(self):
        x, model = self.save("x.npy", np.ones((2, 4), np.float32)), self.dense()
        (self.folder / "taken").write_text("")
        self.assertIn("taken", self.fails("run", model, "--input", x, "--output-dir", "taken/out"))
        (self.folder / "out" / "y.npy").mkdir(parents=True)
        self.assertIn("y.npy", self.fails("run", model, "--input", x, "--output-dir", "out"))
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], ["y.npy"])

    def test_a_full_stdout_is_an_error(self):
        import subprocess
        from command import MINNOW
        with open("/dev/full", "w") as full:
            result = subprocess.run([str(MINNOW), "ops", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()
