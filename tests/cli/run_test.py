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
        self.assertIn("too many", self.fails("run", model, "--input", a, b, "--output-dir", "out"))  # one value per occurrence

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

    def test_long_names_are_shortened(self):
        """Apart by a number made of all of the name, so that compare finds the file again."""
        names = ["a" * 300 + end for end in ("1", "2")] + ["b" * 200, "c" * 201, "ä" * 100000]
        nodes = [helper.make_node("Identity", ["x"], [name]) for name in names]
        model = write_model(self.folder / "long.onnx", nodes, [("x", F32, [1])], [(name, F32, [1]) for name in names])
        rows = self.json("run", model, "--input", self.save("x.npy", np.array([2], np.float32)), "--output-dir", "out")["outputs"]
        self.assertEqual([row["name"] for row in rows], names)
        files = [row["file"] for row in rows]
        self.assertEqual(len(set(files)), len(names))
        for file in files:
            self.assertLessEqual(len(file), 4 + 204)
            np.testing.assert_array_equal(np.load(self.folder / file), [2])
        self.assertEqual(files[2], f"out/{'b' * 200}.npy")
        self.assertEqual(self.json("compare", model, "out", "--input", "x.npy")["compared"], len(names))

    def test_random_inputs(self):
        model = self.two_inputs()
        rows = self.json("run", model, "--random", "--shape", "a=5")["outputs"]
        self.assertEqual(rows[0]["shape"], [5])  # both have the dimension n
        a = self.save("a.npy", np.zeros(3, np.float32))
        self.json("run", model, "--random", "--input", a)
        first = np.load(self.folder / "net_difference_0.npy")
        self.assertEqual((first.shape, len(set(first.tolist()))), ((3,), 3))
        self.json("run", model, "--random", "--input", a)
        np.testing.assert_array_equal(first, np.load(self.folder / "net_difference_0.npy"))  # the same numbers each time
        self.assertIn("--random", self.fails("run", model, "--input", a))

    def test_npz_files(self):
        a, b = np.array([5, 1], np.float32), np.array([2, 3], np.float32)
        model = self.two_inputs()
        np.savez(self.folder / "named.npz", **{"b/in": b, "a": a})
        np.savez_compressed(self.folder / "packed.npz", **{"a": a, "b/in": b})
        np.savez(self.folder / "places.npz", a, b)
        np.savez(self.folder / "one.npz", any=b)
        np.savez(self.folder / "third.npz", **{"a": a, "b/in": b, "c": b})
        np.savez(self.folder / "none.npz")
        self.save("a.npy", a)
        for inputs in (["named.npz"], ["packed.npz"], ["places.npz"], ["a.npy", "b/in=one.npz"], ["one.npz".replace("one", "a").replace("npz", "npy"), "one.npz"]):
            with self.subTest(str(inputs)):
                self.succeeds("run", model, *(part for each in inputs for part in ("--input", each)))
                np.testing.assert_array_equal(np.load(self.folder / "net_difference_0.npy"), [3, -2])
        self.succeeds("bench", model, "--input", "named.npz", "--seconds", "0.01")
        for inputs, words in ((["third.npz"], 'no input "c"'), (["a=named.npz"], "holds 2 arrays"), (["named.npz", "a=a.npy"], 'input "a" is given twice'), (["none.npz"], "holds no arrays")):
            self.assertIn(words, self.fails("run", model, *(part for each in inputs for part in ("--input", each))))
        whole = (self.folder / "packed.npz").read_bytes()
        for cut in (4, 50, len(whole) // 2, len(whole) - 10):
            (self.folder / "cut.npz").write_bytes(whole[:cut])
            self.assertIn("cut.npz", self.fails("run", model, "--input", "cut.npz"))

    def test_pictures(self):
        """As OpenCV reads and resizes them; channels, order, size and layout as the model and the options say."""
        try:
            import cv2
        except ImportError:
            self.skipTest("OpenCV is not there")
        picture = np.random.default_rng(1).integers(0, 256, (40, 60, 3), np.uint8)
        cv2.imwrite(str(self.folder / "p.png"), picture)
        cv2.imwrite(str(self.folder / "p.jpg"), picture)

        def run(dims, *options, dtype=F32, file="p.png"):
            model = write_model(self.folder / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", dtype, dims)], [("y", dtype, dims)])
            result = self.minnow("run", model, "--input", file, *options)
            if "MINNOW_VISION" in result.stderr:
                self.skipTest("the build reads no pictures")
            self.assertEqual(result.returncode, 0, result.stderr)
            return np.load(self.folder / "y.npy")

        rgb = picture[:, :, ::-1].astype(np.float32)
        np.testing.assert_array_equal(run([1, 3, None, None])[0], rgb.transpose(2, 0, 1))
        np.testing.assert_array_equal(run(["n", "h", "w", 3])[0], rgb)
        np.testing.assert_array_equal(run([3, None, None]), rgb.transpose(2, 0, 1))
        np.testing.assert_array_equal(run([1, 3, None, None], "--color", "bgr")[0], rgb[:, :, ::-1].transpose(2, 0, 1))
        np.testing.assert_array_equal(run([1, None, None, 3], dtype=TensorProto.UINT8)[0], picture[:, :, ::-1])
        np.testing.assert_array_equal(run([1, None, None, 3], "--mean", "128", dtype=TensorProto.INT8)[0], (rgb - 128).astype(np.int8))
        np.testing.assert_array_equal(run([1, 1, None, None])[0, 0], cv2.imread(str(self.folder / "p.png"), 0))
        np.testing.assert_array_equal(run([1, 3, None, None], file="p.jpg")[0], cv2.imread(str(self.folder / "p.jpg"))[:, :, ::-1].transpose(2, 0, 1))
        resized = cv2.resize(picture, (20, 30))[:, :, ::-1].transpose(2, 0, 1)
        for dims, options in (([1, 3, 30, 20], ()), ([1, 3, "h", "w"], ("--size", "30x20")), ([1, 3, "h", "w"], ("--shape", "1x3x30x20"))):
            np.testing.assert_allclose(run(dims, *options)[0], resized, atol=1)  # OpenCV's wheel rounds as IPP does
        mean, scale = [123.675, 116.28, 103.53], [1 / 58.395, 1 / 57.12, 1 / 57.375]
        scaled = run([1, 3, None, None], "--mean", "123.675,116.28,103.53", "--scale", "1/58.395,1/57.12,1/57.375")[0]
        np.testing.assert_allclose(scaled, ((rgb - mean) * scale).transpose(2, 0, 1), rtol=1e-6)
        np.testing.assert_allclose(run([1, 3, None, None], "--scale", "1/255")[0], (rgb / 255).transpose(2, 0, 1), rtol=1e-6)
        np.testing.assert_allclose(run([1, 3, 10, 10], "--fit", "crop")[0], cv2.resize(np.ascontiguousarray(picture[:, 10:50]), (10, 10))[:, :, ::-1].transpose(2, 0, 1), atol=1)
        model = self.dense()
        for options, words in ((("--mean", "1,2"), "--mean: 2 numbers are given for a picture of 3 channels"), (("--scale", "1/0"), "divides by zero"), (("--scale", "big"), "is not a number"),
                               (("--size", "20"), "write HEIGHTxWIDTH"), (("--fit", "squeeze"), "there are stretch, crop")):
            write_model(self.folder / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", F32, [1, 3, "h", "w"])], [("y", F32, [1, 3, "h", "w"])])
            self.assertIn(words, self.fails("run", "m.onnx", "--input", "p.png", *options))
        self.assertIn("is none of .npy, .npz, JPEG, PNG, WebP, BMP and PNM", self.fails("run", model, "--input", model))
        self.assertIn("a picture needs an input of 3 or 4 dimensions", self.fails("run", model, "--input", "p.png"))
        (self.folder / "cut.png").write_bytes((self.folder / "p.png").read_bytes()[:200])
        self.assertIn("cut.png", self.fails("run", "m.onnx", "--input", "cut.png"))

    def test_options_for_pictures_need_a_picture(self):
        x = self.save("x.npy", np.ones((2, 4), np.float32))
        for option in (("--size", "30x20"), ("--mean", "128"), ("--scale", "1/255"), ("--fit", "stretch"), ("--color", "auto"), ("--layout", "nchw")):
            for inputs in (("--input", x), ("--random",)):
                result = self.minnow("run", self.dense(), *inputs, *option)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"{option[0]} applies to pictures, and no input is one: pass a picture file to --input", result.stderr)

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
                              (["x.npy", "x.npy"], "2 values are given, the model takes 1 input"),
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
