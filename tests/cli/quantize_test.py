#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow quantize."""
import re
import unittest

from command import F32, CommandTest, helper, np, onnx, write_model

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


class NetworkTest(CommandTest):
    def setUp(self):
        super().setUp()
        if "does not quantize" in self.minnow("quantize", "x.onnx", "y.minnow").stderr:
            self.skipTest("a build without MINNOW_COMPRESS")
        random = self.random = np.random.default_rng(5)
        draw = lambda *shape: (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        nodes = [helper.make_node("Conv", ["x", "a", "ab"], ["h"], name="first", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["h"], ["r"]),
                 helper.make_node("Conv", ["r", "c", "cb"], ["s"], name="second", group=2), helper.make_node("Clip", ["s", "zero", "six"], ["t"]),
                 helper.make_node("MaxPool", ["t"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                 helper.make_node("Conv", ["p", "d"], ["u"], name="third"), helper.make_node("Add", ["u", "p2"], ["v"]),
                 helper.make_node("Conv", ["p", "e"], ["p2"], name="fourth"), helper.make_node("Flatten", ["v"], ["f"]),
                 helper.make_node("Gemm", ["f", "g", "gb"], ["y"], name="last", transB=1)]
        nodes[6], nodes[7] = nodes[7], nodes[6]
        weights = {"a": draw(8, 3, 3, 3), "ab": draw(8), "c": draw(8, 4, 3, 3), "cb": draw(8), "d": draw(6, 8, 1, 1), "e": draw(6, 8, 1, 1),
                   "g": draw(10, 6 * 25), "gb": 0.01 * draw(10), "zero": np.float32(0), "six": np.float32(6)}
        self.model = write_model(self.folder / "net.onnx", nodes, [("x", F32, ["n", 3, 12, 12])], [("y", F32, ["n", 10])], weights)
        self.data = random.standard_normal((24, 3, 12, 12)).astype(np.float32)
        np.savez(self.folder / "data.npz", x=self.data)
        np.save(self.folder / "more.npy", random.standard_normal((10, 3, 12, 12)).astype(np.float32))


class Quantize(NetworkTest):
    def output(self, model, x):
        np.save(self.folder / "in.npy", x)
        row = self.json("run", model, "--input", "x=in.npy", "--output-dir", "out")["outputs"][0]
        return np.load(self.folder / row["file"])

    def test_report_and_result(self):
        before = self.model.read_bytes()
        answer = self.json("quantize", self.model, "q.minnow", "--calibration", "data.npz", "--evaluation", "more.npy", "--html", "report.html")
        self.assertEqual([layer["node"] for layer in answer["layers"]], ["first", "second", "fourth", "third", "last"])
        for layer in answer["layers"]:
            self.assertGreater(layer["sqnr_db"], 25)
            self.assertGreater(layer["cosine"], 0.99)
            self.assertLess(layer["clipped"], 0.02)
            self.assertLess(layer["bytes_after"], 0.6 * layer["bytes_before"])
        self.assertEqual((answer["samples"], answer["evaluated"]), (24, 10))
        self.assertGreater(answer["outputs"][0]["sqnr_db"], 25)
        self.assertGreaterEqual(answer["outputs"][0]["agreement"], 0.8)
        self.assertEqual(before, self.model.read_bytes())
        self.assertIn("<svg", (self.folder / "report.html").read_text())
        x = np.load(self.folder / "more.npy")
        wanted, got = self.output(self.model, x), self.output("q.minnow", x)
        noise = 10 * np.log10((wanted ** 2).sum() / ((wanted - got) ** 2).sum())
        self.assertAlmostEqual(noise, answer["outputs"][0]["sqnr_db"], delta=0.1)
        # Four convolutions are integers in the graph; the one of few channels in two groups runs as f32. Where that is faster, plans compute others
        # on integers in f32, too, unless the precision is "high".
        plan = self.succeeds("inspect", "q.minnow", "--plan", "--shape", "x=1x3x12x12", "--precision", "high").stdout
        self.assertGreaterEqual(len(re.findall(r"minnow.QuantizedConv quantized_conv", plan)), 3, plan)
        self.assertRegex(plan, r"4  minnow.QuantizedConv")

    def test_the_table(self):
        result = self.succeeds("quantize", self.model, "q.minnow", "-c", "data.npz", "--skip", "last", "--skip", "third")
        self.assertRegex(result.stdout, r"(?m)^first +Conv +31\.1k +\d+\.\d  0\.9\d+ .* us -> .* us +896 B -> 280 B$")
        self.assertRegex(result.stdout, r"(?m)^last +Gemm +1\.5k  f32: the options skip it$")
        self.assertRegex(result.stdout, r"3 of 5 layers compute with integers")

    @unittest.skipUnless(onnxruntime, "ONNX Runtime is not installed")
    def test_onnx_runtime_gives_the_same(self):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        for activations in ("u8", "i8"):
            self.succeeds("quantize", self.model, "q.onnx", "-c", "data.npz", "--activations", activations, "--weight-bits", 7)
            self.succeeds("convert", "q.onnx", "q.minnow")
            theirs = onnxruntime.InferenceSession(str(self.folder / "q.onnx"), options).run(None, {"x": self.data})[0]
            ours = self.output("q.minnow", self.data)
            # The last layer adds at most 150 steps of rounding that differ; nearly all are the same.
            self.assertLess(np.abs(ours - theirs).max(), 0.02 * np.abs(theirs).max())
            self.assertLess((np.abs(ours - theirs) > 1e-4 * np.abs(theirs).max()).mean(), 0.5)

    def test_an_export_has_no_constants_that_nothing_reads(self):
        self.succeeds("quantize", self.model, "q.minnow", "-c", "data.npz")
        self.succeeds("convert", "q.minnow", "export.onnx")
        graph = onnx.load(self.folder / "export.onnx").graph
        self.assertLessEqual({each.name for each in graph.initializer}, {name for node in graph.node for name in node.input})

    def test_same_bytes(self):
        (self.folder / "recipe.toml").write_text('calibration = "data.npz"\nmethod = "percentile"\npercentile = 99.9\nskip = ["last"]\nseed = 3\n')
        for name in ("a.minnow", "b.minnow", "a.onnx", "b.onnx"):
            self.succeeds("quantize", self.model, name, "--recipe", "recipe.toml")
        for kind in ("minnow", "onnx"):
            self.assertEqual((self.folder / f"a.{kind}").read_bytes(), (self.folder / f"b.{kind}").read_bytes())
        self.succeeds("quantize", self.model, "c.minnow", "--recipe", "recipe.toml", "--method", "minmax")
        self.assertNotEqual((self.folder / "c.minnow").read_bytes(), (self.folder / "a.minnow").read_bytes())

    def test_a_recipe_lies_beside_its_data(self):
        (self.folder / "sub").mkdir()
        (self.folder / "sub" / "r.toml").write_text('calibration = "../data.npz"\nsamples = 5\n')
        self.assertEqual(self.json("quantize", self.model, "q.minnow", "--recipe", "sub/r.toml")["samples"], 5)

    def test_errors_name_options_as_they_are_written(self):
        for option, value in (("--block-size", 3), ("--keep-f32", 200)):
            self.assertIn(f"{option}: {value} is", self.fails("quantize", self.model, "q.minnow", option, value))

    def test_every_option_works_in_a_recipe(self):
        options = set(re.findall(r"^ +(?:-\w,)?--([a-z0-9-]+)", self.succeeds("quantize", "--help").stdout, re.M)) - {"help", "recipe", "json"}
        self.assertGreater(len(options), 35)
        unknown = []
        for option in sorted(options):
            (self.folder / "one.toml").write_text(f'{option.replace("-", "_")} = "?"\n')
            if "no such option" in self.minnow("quantize", self.model, "q.minnow", "-c", "data.npz", "--recipe", "one.toml").stderr:
                unknown.append(option)
        self.assertEqual(unknown, [])
        (self.folder / "all.toml").write_text('data_free = true\nsamples = 3\nshape = "x=2x3x12x12"\nmethod = "KL"\nactivations = "int8"\nbits = 6\nhtml = "r.html"\n'
                                              'compress = true\nskip = ["*rst", "Gemm"]\nmin_sqnr = -100\n')
        answer = self.json("quantize", self.model, "a.minnow", "--recipe", "all.toml")
        self.assertEqual([layer["node"] for layer in answer["layers"] if "stays_f32" in layer], ["first", "last"])
        self.assertIn("<svg", (self.folder / "r.html").read_text())
        self.succeeds("quantize", self.model, "b.minnow", "--data-free", "--samples", 3, "--shape", "x=2x3x12x12", "--method", "kl", "--activations", "i8", "--bits", 6,
                      "--compress", "--skip", "first", "--skip", "last")
        self.assertEqual((self.folder / "a.minnow").read_bytes(), (self.folder / "b.minnow").read_bytes())
        # The command line comes first.
        (self.folder / "some.toml").write_text("data_free = true\nsamples = 3\n")
        self.assertEqual(self.json("quantize", self.model, "q.minnow", "--recipe", "some.toml", "-c", "data.npz", "--samples", 5)["samples"], 5)
        self.assertIn("--shape applies to pictures", self.minnow("quantize", self.model, "q.minnow", "--recipe", "all.toml", "-c", "data.npz").stderr)

    def test_aims_of_a_model_without_scores(self):
        w = self.random.standard_normal((8, 3, 3, 3)).astype(np.float32)
        model = write_model(self.folder / "picture.onnx", [helper.make_node("Conv", ["x", "w"], ["h"]), helper.make_node("Conv", ["h", "v"], ["y"])],
                            [("x", F32, ["n", 3, 12, 12])], [("y", F32, ["n", 4, 10, 10])], {"w": w, "v": w[:4, :1].repeat(8, 1)[:, :, :1, :1]})
        for options in (("--max-drop", "0.5"), ("--auto",), ("--min-agreement", "90"), ("--weights-only", "rtn", "--block-size", 16, "--max-drop", "1")):
            result = self.minnow("quantize", model, "q.minnow", "-c", "data.npz", *options)
            self.assertEqual(result.returncode, 1, options)
            self.assertIn("no output is a row of scores to compare", result.stderr)
        self.succeeds("quantize", model, "q.minnow", "-c", "data.npz", "--auto", "--min-sqnr", 20)

    def test_sizes_are_those_of_the_file(self):
        whole = self.json("quantize", self.model, "q.minnow", "-c", "data.npz")["file_bytes"]
        for name in ("q.minnow", "q.onnx"):
            for more in (100, 1500, 4000, 8000):
                answer = self.json("quantize", self.model, name, "-c", "data.npz", "--max-size", f"{whole + more}B")
                self.assertLessEqual(answer["file_bytes"], whole + more)
                self.assertEqual(answer["file_bytes"], next(each["bytes"] for each in answer["candidates"] if each["chosen"]))
        result = self.minnow("quantize", self.model, "q.minnow", "-c", "data.npz", "--max-size", f"{whole // 3}B")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the file has", result.stderr)

    def test_weights_of_few_bits_are_small(self):
        sizes = {bits: self.json("quantize", self.model, "q.minnow", "-c", "data.npz", "--bits", bits)["file_bytes"] for bits in (2, 4, 8)}
        weights = 10 * 150  # of the layer that is large enough to be packed
        self.assertAlmostEqual(sizes[8] - sizes[4], weights // 2, delta=128)
        self.assertAlmostEqual(sizes[8] - sizes[2], weights * 3 // 4, delta=128)
        self.assertEqual(self.output("q.minnow", self.data[:2]).shape, (2, 10))
        self.assertIn("weights of 6 bits take 8", self.succeeds("quantize", self.model, "q.minnow", "-c", "data.npz", "--bits", 6).stderr)
        self.assertIn("weights of 4 bits take 8", self.succeeds("quantize", self.model, "q.onnx", "-c", "data.npz", "--bits", 4).stderr)
        self.assertNotIn("bits", self.succeeds("quantize", self.model, "q.minnow", "-c", "data.npz", "--bits", 4).stderr)

    def theirs(self, model, **inputs):
        return onnxruntime.InferenceSession(str(self.folder / model), providers=["CPUExecutionProvider"]).run(None, inputs)

    def ours(self, model, **inputs):
        arguments = []
        for name, x in inputs.items():
            np.save(self.folder / f"in_{name}.npy", x)
            arguments += ["--input", f"{name}=in_{name}.npy"]
        return [np.load(self.folder / row["file"]) for row in self.json("run", model, *arguments, "--output-dir", "out")["outputs"]]

    def assert_near(self, wanted, got, decibels):
        for one, other in zip(wanted, got, strict=True):
            noise = ((one - other) ** 2).sum()
            self.assertGreater(10 * np.log10((one ** 2).sum() / max(noise, 1e-30)), decibels)

    def test_recurrent_layers(self):
        random = self.random
        draw = lambda *shape: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        for reset in (0, 1):
            arrays = {"w": draw(2, 4 * 40, 24), "r": draw(2, 4 * 40, 40), "b": draw(2, 8 * 40), "gw": draw(1, 3 * 33, 80), "gr": draw(1, 3 * 33, 33),
                      "shape": np.array([6, 1, 80])}
            nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "", "c"], name="lstm", hidden_size=40, direction="bidirectional"),
                     helper.make_node("Transpose", ["y"], ["t"], perm=[0, 2, 1, 3]), helper.make_node("Reshape", ["t", "shape"], ["s"]),
                     helper.make_node("GRU", ["s", "gw", "gr"], ["", "z"], name="gru", hidden_size=33, linear_before_reset=reset)]
            model = write_model(self.folder / "cells.onnx", nodes, [("x", F32, [6, 1, 24])], [("c", F32, None), ("z", F32, None)], arrays)
            data = random.standard_normal((5, 6, 1, 24)).astype(np.float32)
            np.save(self.folder / "steps.npy", data)
            answer = self.json("quantize", model, "q.minnow", "-c", "steps.npy")
            for layer in answer["layers"]:
                self.assertNotIn("stays_f32", layer)
                self.assertGreater(layer["sqnr_db"], 30)
                self.assertLess(layer["bytes_after"], 0.35 * layer["bytes_before"])
                self.assertGreater(layer["operations"], 0)
            self.assertEqual([layer["op"] for layer in answer["layers"]], ["LSTM", "GRU"])
            wanted, got = self.ours(model, x=data[0]), self.ours("q.minnow", x=data[0])
            self.assert_near(wanted, got, 30)
            self.succeeds("convert", "q.minnow", "q.onnx")
            self.assertLess((self.folder / "q.onnx").stat().st_size, 0.4 * model.stat().st_size)
            if onnxruntime:
                self.assert_near(got, self.theirs("q.onnx", x=data[0]), 35)
                self.assert_near(wanted, self.theirs(model, x=data[0]), 80)
            answer = self.json("quantize", model, "q.onnx", "-c", "steps.npy", "--skip", "gru")
            self.assertEqual([layer.get("stays_f32") for layer in answer["layers"]], [None, "the options skip it"])

    def test_transposed_convolutions(self):
        random = self.random
        draw = lambda *shape: (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        data = random.standard_normal((6, 1, 3, 9, 8)).astype(np.float32)
        np.save(self.folder / "pictures.npy", data)
        for kernel, stride, pads, more in (([2, 2], 2, [0, 0, 0, 0], [0, 0]), ([4, 4], 2, [1, 1, 1, 1], [0, 0]), ([3, 3], 2, [1, 1, 1, 1], [1, 1]),
                                           ([3, 3], 2, [0, 0, 0, 0], [0, 0]), ([3, 3], 1, [1, 1, 1, 1], [0, 0]), ([5, 3], 1, [0, 2, 3, 1], [0, 0]),
                                           ([6, 3], 3, [1, 0, 2, 0], [1, 0]), ([8, 8], 4, [2, 3, 2, 1], [0, 1])):
            arrays = {"a": draw(8, 3, 3, 3), "t": draw(8, 5, *kernel), "tb": draw(5)}
            nodes = [helper.make_node("Conv", ["x", "a"], ["h"], name="conv", pads=[1, 1, 1, 1]),
                     helper.make_node("ConvTranspose", ["h", "t", "tb"], ["u"], name="up", strides=[stride, stride], pads=pads, output_padding=more),
                     helper.make_node("Relu", ["u"], ["y"])]
            model = write_model(self.folder / "up.onnx", nodes, [("x", F32, [1, 3, 9, 8])], [("y", F32, None)], arrays)
            with self.subTest(kernel=kernel, stride=stride, pads=pads, more=more):
                answer = self.json("quantize", model, "q.minnow", "-c", "pictures.npy")
                self.assertEqual([(layer["node"], layer.get("stays_f32")) for layer in answer["layers"]], [("conv", None), ("up", None)])
                self.assertGreater(answer["outputs"][0]["sqnr_db"], 30)
                got = self.ours("q.minnow", x=data[0])
                self.assert_near(self.ours(model, x=data[0]), got, 30)
                self.succeeds("convert", "q.minnow", "q.onnx")
                if onnxruntime:
                    self.assert_near(got, self.theirs("q.onnx", x=data[0]), 30)

    def test_layers_that_nothing_quantizes_have_rows(self):
        random = self.random
        arrays = {"w": random.standard_normal((8, 3, 3, 3)).astype(np.float32), "t": random.standard_normal((8, 4, 3, 3)).astype(np.float32),
                  "lw": random.standard_normal((1, 8, 25)).astype(np.float32), "lr": random.standard_normal((1, 8, 8)).astype(np.float32),
                  "shape": np.array([25, -1, 25])}
        nodes = [helper.make_node("Conv", ["x", "w"], ["h"], name="conv"),
                 helper.make_node("ConvTranspose", ["h", "t"], ["u"], name="up", strides=[2, 2], group=2),
                 helper.make_node("Reshape", ["u", "shape"], ["s"]),
                 helper.make_node("RNN", ["s", "lw", "lr"], ["y"], name="rnn", hidden_size=8),
                 helper.make_node("MatMul", ["s", "s2"], ["z"], name="pair"), helper.make_node("Transpose", ["s"], ["s2"], perm=[0, 2, 1])]
        nodes[4], nodes[5] = nodes[5], nodes[4]
        model = write_model(self.folder / "mixed.onnx", nodes, [("x", F32, [1, 3, 14, 14])], [("y", F32, None), ("z", F32, None)], arrays)
        np.save(self.folder / "one.npy", random.standard_normal((4, 3, 14, 14)).astype(np.float32))
        answer = self.json("quantize", model, "q.minnow", "-c", "one.npy")
        reasons = {layer["node"]: layer.get("stays_f32") for layer in answer["layers"]}
        self.assertEqual(set(reasons), {"conv", "up", "rnn", "pair"})
        self.assertIsNone(reasons["conv"])
        self.assertIn("groups", reasons["up"])
        self.assertEqual(reasons["rnn"], "RNN has no form in integers")
        table = self.succeeds("quantize", model, "q.minnow", "-c", "one.npy").stdout
        self.assertIn("1 of 4 layers compute with integers", table)
        # Multiply-adds, for each output of a convolution 3x3 over 3 channels.
        self.assertEqual(next(layer["operations"] for layer in answer["layers"] if layer["node"] == "conv"), 2 * 8 * 12 * 12 * 27)
        self.assertEqual(next(layer["operations"] for layer in answer["layers"] if layer["node"] == "up"), 2 * 8 * 12 * 12 * 4 * 9)
        self.assertRegex(table, r"(?m)^conv .* 31\.1k ")
        only = write_model(self.folder / "only.onnx", [helper.make_node("ConvTranspose", ["x", "t"], ["y"], name="up", strides=[2, 2], group=2)], [("x", F32, [1, 8, 4, 4])], [("y", F32, None)],
                           {"t": arrays["t"]})
        self.assertIn('ConvTranspose "up": as a convolution', self.fails("quantize", only, "q.minnow", "--data-free"))

    def test_a_folder_of_folders(self):
        for i, name in enumerate(("cat", "dog/young", "dog/old")):
            (self.folder / "classes" / name).mkdir(parents=True)
            for k in range(2):
                np.save(self.folder / "classes" / name / f"{k}.npy", self.data[2 * i + k:2 * i + k + 1])
        self.assertEqual(self.json("quantize", self.model, "q.minnow", "-c", "classes")["samples"], 6)
        # The first ones are of all classes.
        self.succeeds("quantize", self.model, "a.minnow", "-c", "classes", "--samples", 3)
        np.save(self.folder / "three.npy", self.data[[0, 4, 1]])
        self.succeeds("quantize", self.model, "b.minnow", "-c", "three.npy")
        self.assertEqual((self.folder / "a.minnow").read_bytes(), (self.folder / "b.minnow").read_bytes())

    def test_data_free(self):
        answer = self.json("quantize", self.model, "q.minnow", "--data-free", "--evaluation", "more.npy")
        self.assertGreater(answer["outputs"][0]["sqnr_db"], 10)

    def test_shapes_of_made_up_inputs(self):
        nodes = [helper.make_node("Conv", ["x", "a"], ["h"], name="conv"), helper.make_node("AveragePool", ["h"], ["y"], kernel_shape=[3, 3])]
        weights = {"a": self.random.standard_normal((8, 3, 3, 3)).astype(np.float32)}
        model = write_model(self.folder / "open.onnx", nodes, [("x", F32, ["n", 3, "h", "w"])], [("y", F32, ["n", 8, "i", "j"])], weights)
        result = self.minnow("quantize", model, "q.minnow", "--data-free")
        self.assertEqual(result.returncode, 1)
        self.assertIn('dimensions of input "x" are open and were taken as 1: use --shape x=...', result.stderr)
        for shape in ("x=1x3x12x16", "2x3x9x9"):
            self.assertGreater(self.json("quantize", model, "q.minnow", "--data-free", "--shape", shape)["outputs"][0]["sqnr_db"], 25)
        self.assertIn("1x4x9x9", self.minnow("quantize", model, "q.minnow", "--data-free", "--shape", "1x4x9x9").stderr.replace(", ", "x"))
        np.save(self.folder / "arrays.npy", self.data)
        self.assertIn("--shape applies to pictures", self.minnow("quantize", model, "q.minnow", "-c", "arrays.npy", "--shape", "1x3x9x9").stderr)

    def test_a_folder_of_arrays(self):
        (self.folder / "many").mkdir()
        for i in range(3):
            np.save(self.folder / "many" / f"{i}.npy", self.data[i:i + 2])
        np.savez(self.folder / "many" / "z.npz", x=self.data[:1])
        self.assertEqual(self.json("quantize", self.model, "q.minnow", "-c", "many")["samples"], 7)
        self.assertEqual(self.json("quantize", self.model, "q.minnow", "-c", "many", "--samples", 4)["samples"], 4)

    def test_an_array_without_a_name(self):
        np.savez(self.folder / "unnamed.npz", self.data[:5])
        self.assertEqual(self.json("quantize", self.model, "q.minnow", "-c", "unnamed.npz")["samples"], 5)

    def test_several_inputs(self):
        w = self.random.standard_normal((4, 3)).astype(np.float32)
        model = write_model(self.folder / "two.onnx", [helper.make_node("MatMul", ["a", "w"], ["h"]), helper.make_node("MatMul", ["b", "w"], ["i"]),
                                                       helper.make_node("Add", ["h", "i"], ["y"])],
                            [("a", F32, [2, 4]), ("b", F32, ["k", 4])], [("y", F32, [None, 3])], {"w": w})
        a, b = self.random.standard_normal((6, 4)).astype(np.float32), self.random.standard_normal((3, 1, 4)).astype(np.float32)
        np.savez(self.folder / "two.npz", a=a, b=b)
        self.assertEqual(self.json("quantize", model, "q.minnow", "-c", "two.npz")["samples"], 3)
        np.savez(self.folder / "odd.npz", a=a[:4], b=b)
        self.assertIn('holds 2 samples for input "a" and 3 for "b"', self.fails("quantize", model, "q.minnow", "-c", "odd.npz"))

    def test_quality_that_is_missed(self):
        w = self.random.standard_normal((16, 10)).astype(np.float32)
        model = write_model(self.folder / "scores.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", F32, ["n", 16])], [("y", F32, ["n", 10])], {"w": w})
        np.save(self.folder / "x.npy", self.random.standard_normal((200, 16)).astype(np.float32))
        for option, value, words in (("--min-sqnr", 200, "at least 200 are asked for"), ("--min-agreement", 100, "at least 100 % are asked for")):
            result = self.minnow("quantize", model, "q.minnow", "-c", "x.npy", "--evaluation", "x.npy", "--weight-bits", 2, option, value)
            self.assertEqual(result.returncode, 1)
            self.assertIn("q.minnow was written, but misses its aim", result.stderr)
            self.assertIn(words, result.stderr)
        self.succeeds("quantize", self.model, "q.minnow", "-c", "data.npz", "--min-sqnr", 5, "--min-agreement", 10)

    def test_mixed_precision(self):
        whole = self.json("quantize", self.model, "q.minnow", "-c", "data.npz", "--evaluation", "more.npy")["outputs"][0]["sqnr_db"]
        found = self.json("quantize", self.model, "q.minnow", "-c", "data.npz", "--evaluation", "more.npy", "--auto", "--min-sqnr", whole + 3)
        candidates = found["candidates"]
        self.assertEqual([each["bytes"] for each in candidates], sorted(each["bytes"] for each in candidates))
        front = [each["sqnr_db"] for each in candidates if each["best"]]
        self.assertEqual(front, sorted(set(front)))
        chosen = next(each for each in candidates if each["chosen"])
        self.assertGreaterEqual(chosen["sqnr_db"], whole + 3)
        self.assertGreaterEqual(found["outputs"][0]["sqnr_db"], whole + 2.5)
        self.assertTrue(all(each["sqnr_db"] < whole + 3 for each in candidates if each["bytes"] < chosen["bytes"]))
        kept = [layer["node"] for layer in found["layers"] if layer.get("stays_f32") == "it costs too much accuracy"]
        self.assertEqual(sorted(kept), sorted(chosen["f32"]))
        # A size: the closest within it.
        small, large = candidates[0]["bytes"], candidates[-1]["bytes"]
        table = self.succeeds("quantize", self.model, "q.minnow", "-c", "data.npz", "--max-size", f"{(small + large) // 2}B").stdout
        self.assertRegex(table, r"(?m)^\* .* dB, ")
        result = self.minnow("quantize", self.model, "q.minnow", "-c", "data.npz", "--max-size", "1kB")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no choice of layers reaches it", result.stderr)

    def test_models_that_cannot_be_quantized(self):
        relu = write_model(self.folder / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", F32, [3])], [("y", F32, [3])])
        np.save(self.folder / "three.npy", np.ones(3, np.float32))
        self.assertIn("no layer can compute with integers; it has no convolution or product", self.fails("quantize", relu, "q.minnow", "-c", "three.npy"))
        self.assertIn("is the model itself", self.fails("quantize", self.model, self.model, "-c", "data.npz"))
        self.assertIn("ends in .minnow or .onnx", self.fails("quantize", self.model, "q.tflite", "-c", "data.npz"))


class Malformed(NetworkTest):
    """Wrong calibration sets and recipes: one sentence, no output, no change of the model."""
    def refused(self, *arguments):
        result = self.minnow("quantize", self.model, "out.minnow", *arguments)
        self.cases += 1
        self.assertIn(result.returncode, (1, 2), (arguments, result.stdout))
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Aminnow: [^\n]{10,}\n\Z", arguments)
        self.assertFalse((self.folder / "out.minnow").exists(), arguments)

    def test_calibration_sets(self):
        self.cases, before = 0, self.model.read_bytes()
        x, folder = self.data, self.folder
        arrays = {
            "i64": x.astype(np.int64), "u8": x.astype(np.uint8), "bool": x > 0,
            "complex": x.astype(np.complex64), "text": np.array(["a", "b"]), "scalar": np.float32(1), "vector": x[0, 0, 0], "two": x[0, 0], "three": x[0, :, :, :5],
            "channels": x[:, :2], "high": x[:, :, :11], "wide": x[..., :11], "last": x.transpose(0, 2, 3, 1), "six": x[None, None], "empty": x[:0],
            "nothing": np.zeros((0,), np.float32), "nan": np.where(x > 2, np.nan, x), "inf": np.where(x > 2, np.inf, x), "flat": x.reshape(24, -1)}
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            self.refused("-c", f"{name}.npy")
            np.savez(folder / f"{name}.npz", x=array)
            self.refused("-c", f"{name}.npz")
            (folder / f"in_{name}").mkdir()
            np.save(folder / f"in_{name}" / "x.npy", array)
            self.refused("-c", f"in_{name}")
        np.savez(folder / "other.npz", y=x)
        np.savez(folder / "extra.npz", x=x, y=x)
        np.savez(folder / "none.npz")
        np.savez(folder / "pair.npz", first=x, second=x)
        good = (folder / "data.npz").read_bytes()
        plain = (folder / "more.npy").read_bytes()
        files = {"cut.npz": good[:200], "cut2.npz": good[:-30], "cut.npy": plain[:-5], "header.npy": plain[:20], "zero.npy": b"", "zero.npz": b"",
                 "noise.npz": bytes(range(256)) * 4, "noise.npy": bytes(range(256)) * 4, "list.txt": b"a.jpg\nb.jpg\n", "a.jpg": b"\xff\xd8\xff\xe0 no picture",
                 "a.png": b"\x89PNG\r\n\x1a\n", "model.onnx": before, "lfs.npz": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        (folder / "empty").mkdir()
        (folder / "words").mkdir()
        (folder / "words" / "a.txt").write_text("a")
        (folder / "pictures").mkdir()
        (folder / "pictures" / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
        for path in ("other.npz", "extra.npz", "none.npz", "pair.npz", *files, "empty", "words", "pictures", "nowhere", "nowhere.npz", "", "/dev/null"):
            self.refused("-c", path)
        for options in ((), ("--data-free", "-c", "data.npz"), ("-c", "data.npz", "--mean", "3"), ("-c", "data.npz", "--evaluation", "nowhere"),
                        ("-c", "data.npz", "--method", "best"), ("-c", "data.npz", "--max-size", "big"), ("-c", "data.npz", "--max-drop", "-1"), ("-c", "data.npz", "--weight-bits", "12"), ("-c", "data.npz", "--samples", "0"),
                        ("-c", "data.npz", "--skip", "nobody"), ("-c", "data.npz", "--percentile", "x"), ("-c", "data.npz", "--min-sqnr", "high")):
            self.refused(*options)
        self.assertGreaterEqual(self.cases, 85)
        self.assertEqual(before, self.model.read_bytes())

    def test_recipes(self):
        self.cases, before = 0, self.model.read_bytes()
        for i, text in enumerate((
                "", "\0", "method", "method =", "= 3", "method = 'median'", "methot = 'kl'", "method = kl kl", "method = ['kl'", "[quantize]\nmethod = 'kl'",
                "method = 'kl'\nmethod = 'mse'", "weights = 'kl'", "activations = 'u4'", "percentile = 'all'", "percentile = 10", "percentile = 101",
                "percentile = nan", "weight_bits = 1", "weight_bits = 9", "weight_bits = 4.5", "weight_bits = -4", "per_channel = 1", "correct_bias = 'yes'",
                "skip = 'nobody'", "skip = ['first', 'nobody']", "seed = -1", "seed = 'x'", "evaluate = 'many'", "min_sqnr = 'high'", "min_agreement = 120",
                "samples = -3", "calibration = 'nowhere.npz'", "evaluation = 'nowhere.npz'", "calibration = 3", "rounding = 'up'", "smooth = 2",
                "smooth = 'x'", "max_drop = 101", "max_size = '3 apples'", "max_size = -3", "layers = 3", "method = \"kl", "\xff\xfe", "{}", "{\"method\": \"kl\"}")):
            (self.folder / f"{i}.toml").write_text(text, encoding="latin-1")
            given = ("-c", "data.npz") if "calibration" not in text else ()
            self.refused("--recipe", f"{i}.toml", *given)
        self.refused("--recipe", "nowhere.toml", "-c", "data.npz")
        self.refused("--recipe", ".", "-c", "data.npz")
        self.assertGreaterEqual(self.cases, 40)
        self.assertEqual(before, self.model.read_bytes())


if __name__ == "__main__":
    unittest.main()
