#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of every format, written as ONNX: onnx.checker accepts the file, and ONNX Runtime computes the same as the engine that owns the format.

MINNOW_EXPORT_CASES, a regular expression, picks cases of the corpus ("tflite/.*").
"""
import io
import json
import os
import re
import sys
import tarfile
import unittest
from pathlib import Path

from command import F32, CommandTest, helper, np, onnx, write_model

try:
    import onnxruntime
except ImportError:
    print("onnxruntime is not installed")
    sys.exit(77)

CORPUS, MODELS = Path(os.environ["MINNOW_CORPUS"]), Path(os.environ["MINNOW_MODELS_DIR"])
FILES = {"onnx": ["model.onnx"], "tflite": ["model.tflite"], "tensorflow": ["frozen.pb"],
         "caffe": ["deploy.prototxt|model.prototxt", "model.caffemodel"], "mnn": ["model.mnn"], "torchscript": ["model.pt"]}
# The optimizations that ONNX Runtime 1.31.1 may do, where not all. Its layout optimizer breaks a quantized Resize by sizes ("Number of elements of
# input 'sizes' (0)"). Its fused 8-bit convolutions of the second file are up to 90 steps from its own unfused ones on a processor without VNNI,
# whose result equals LiteRT's.
OPTIMIZED = {"tflite/coral_deeplabv3_dm05_quant": "EXTENDED", "tflite/mlperf_kws_int8": "BASIC"}
# Outputs that name one of several equal numbers.
TIES = {"torchscript/op_mix_script": {"output10"}}
# It has no kernel for opset 22's random numbers, but for older ones.
OPSET_21 = {"tensorflow/t2o_lstm"}


def runs(path, optimized="ALL"):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{optimized}")
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Export(CommandTest):
    def exported(self, *arguments, out="out.onnx"):
        self.succeeds("convert", *arguments, out)
        onnx.checker.check_model(str(self.folder / out), full_check=True)
        return self.folder / out

    def test_names_dimensions_and_metadata_stay(self):
        (self.folder / "labels.txt").write_text("cat\ndog\n")
        path = self.exported(self.dense(author="me"), "--labels", "labels.txt")
        model = onnx.load(path)
        self.assertEqual([value.name for value in model.graph.input], ["x"])
        self.assertEqual([value.name for value in model.graph.output], ["y"])
        self.assertEqual(model.graph.input[0].type.tensor_type.shape.dim[0].dim_param, "batch")
        self.assertEqual({entry.key: entry.value for entry in model.metadata_props},
                         {"author": "me", "minnow.labels": "cat\ndog\n", "minnow.producer": "tests"})
        self.assertEqual([node.op_type for node in model.graph.node], ["Gemm", "Relu"])
        x = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)
        np.testing.assert_allclose(runs(path).run(None, {"x": x})[0], self.expected(x), rtol=1e-5, atol=1e-5)
        self.succeeds("convert", path, "again.onnx")
        self.assertEqual(onnx.load(self.folder / "again.onnx").metadata_props, model.metadata_props)

    def test_external_data(self):
        weights = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
        source = write_model(self.folder / "in.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", F32, [1, 64])],
                             [("y", F32, [1, 64])], {"w": weights})
        path = self.exported(source, "--external-data")
        self.assertLess(path.stat().st_size, 1000)
        self.assertEqual((self.folder / "out.onnx.data").stat().st_size, weights.nbytes)
        x = np.ones((1, 64), np.float32)
        np.testing.assert_allclose(runs(path).run(None, {"x": x})[0], x @ weights, rtol=1e-4, atol=1e-4)
        self.succeeds("convert", path, "again.minnow", "--verify")
        self.assertIn("only ONNX files", self.fails("convert", source, "out.minnow", "--external-data"))

    def test_older_opset(self):
        nodes = [helper.make_node("RMSNormalization", ["x", "scale"], ["h"], axis=-1), helper.make_node("Relu", ["h"], ["y"])]
        source = write_model(self.folder / "in.onnx", nodes, [("x", F32, [2, 8])], [("y", F32, [2, 8])], {"scale": np.ones(8, np.float32)}, opset=23)
        for opset in (21, 23):
            model = onnx.load(self.exported(source, "--opset", opset))
            self.assertEqual([(each.domain, each.version) for each in model.opset_import], [("", opset)])
            self.assertEqual("RMSNormalization" in {node.op_type for node in model.graph.node}, opset == 23)
            x = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
            expected = np.maximum(x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5), 0)
            np.testing.assert_allclose(runs(self.folder / "out.onnx").run(None, {"x": x})[0], expected, rtol=1e-5, atol=1e-5)
        self.assertIn("21 to 28", self.fails("convert", source, "out.onnx", "--opset", 20))

    def test_operators_newer_than_the_usual_opset(self):
        weights = {"w": np.ones((3, 1, 2), np.float32)}
        source = write_model(self.folder / "in.onnx", [helper.make_node("CausalConvWithState", ["x", "w"], ["y", "s"])], [("x", F32, [2, 3, 5])],
                             [("y", F32, [2, 3, 5]), ("s", F32, [2, 3, 1])], weights, opset=27)
        model = onnx.load(self.exported(source))  # taken apart
        self.assertEqual((model.opset_import[0].version, "Conv" in {node.op_type for node in model.graph.node}), (26, True))
        x = np.random.default_rng(1).standard_normal((2, 3, 5)).astype(np.float32)
        y, state = runs(self.folder / "out.onnx").run(None, {"x": x})
        before = np.concatenate([np.zeros((2, 3, 1), np.float32), x[..., :-1]], -1)
        np.testing.assert_allclose(y, x + before, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(state, x[..., -1:])

        def written(*options):  # the checker of onnx 1.21 does not know these opsets
            self.succeeds("convert", source, "out.onnx", *options)
            return onnx.load(self.folder / "out.onnx")

        self.assertEqual(written("--opset", 27).graph.node[0].op_type, "CausalConvWithState")
        node = helper.make_node("LinearAttention", ["x", "x", "x"], ["y"], q_num_heads=1, kv_num_heads=1, update_rule="linear")
        source = write_model(self.folder / "in.onnx", [node], [("x", F32, [2, 3, 5])], [("y", F32, [2, 3, 5])], {}, opset=27)
        self.assertEqual(written().opset_import[0].version, 28)
        self.assertIn("LinearAttention", self.fails("convert", source, "out.onnx", "--opset", 26))

    def test_weights_of_few_bits_stay_packed(self):
        random = np.random.default_rng(3)
        # ONNX Runtime has no blocks of more than 256.
        for bits, block, kept in ((2, 16, True), (3, 16, False), (4, 16, True), (6, 16, False), (8, 16, True), (8, 256, True), (8, 512, False)):
            blocks, depth = (3, 40) if block == 16 else (2, 2 * block - 7)
            numbers, zeros = random.integers(0, 1 << bits, (6, blocks, block)), random.integers(0, 1 << bits, (6, blocks))
            scales, x = random.random((6, blocks), np.float32), random.standard_normal((5, depth)).astype(np.float32)
            stream = lambda values: np.packbits((values[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(6, -1), axis=1, bitorder="little")
            weights = {"b": stream(numbers).reshape(6, blocks, block * bits // 8), "s": scales.reshape(-1), "z": stream(zeros).reshape(-1)}
            node = helper.make_node("MatMulNBits", ["x", "b", "s", "z"], ["y"], domain="com.microsoft", K=depth, N=6, bits=bits, block_size=block)
            graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", F32, ["n", depth])], [helper.make_tensor_value_info("y", F32, ["n", 6])],
                                      [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()])
            imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
            onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), self.folder / "in.onnx")
            self.succeeds("convert", "in.onnx", "out.onnx")
            operators = {node.op_type for node in onnx.load(self.folder / "out.onnx").graph.node}
            self.assertEqual("MatMulNBits" in operators, kept, (bits, block))
            self.assertEqual("DequantizeLinear" in operators, not kept, (bits, block))
            expected = x @ ((numbers - zeros[..., None]) * scales[..., None]).reshape(6, -1)[:, :depth].T
            np.testing.assert_allclose(runs(self.folder / "out.onnx").run(None, {"x": x})[0], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())

    def test_integer_lstm_layers_are_equal_to_the_bit(self):
        layers = 0
        with tarfile.open(Path(__file__).resolve().parents[1] / "importers/tflite/cases.tar.xz") as files:
            names = [name for name in files.getnames() if "LSTM_int8" in name and name.endswith(".tflite")]
            for name in names:
                with self.subTest(name):
                    reference = np.load(io.BytesIO(files.extractfile(name.replace("model.tflite", "ref.npz")).read()))
                    (self.folder / "in.tflite").write_bytes(files.extractfile(name).read())
                    self.succeeds("convert", "in.tflite", "out.onnx")
                    session = runs(self.folder / "out.onnx")
                    x, *states = session.get_inputs()  # variables of LiteRT begin with 0
                    feeds = {x.name: reference["in_0"]} | {each.name: np.zeros(each.shape, each.type[7:-1]) for each in states}
                    np.testing.assert_array_equal(session.run(None, feeds)[0], reference["out_0"])
                    layers += 1
        self.assertEqual(layers, 10)

    def test_outputs_that_are_inputs_constants_or_given_twice(self):
        source = write_model(self.folder / "in.onnx", [helper.make_node("Identity", ["x"], ["same"]), helper.make_node("Identity", ["c"], ["fixed"]),
                                                       helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Identity", ["r"], ["r2"])],
                             [("x", F32, [2])], [(name, F32, [2]) for name in ("same", "fixed", "r", "r2")], {"c": np.ones(2, np.float32)})
        path = self.exported(source)
        self.assertEqual([value.name for value in onnx.load(path).graph.output], ["same", "fixed", "r", "r2"])
        x = np.array([-1, 1], np.float32)
        for actual, expected in zip(runs(path).run(None, {"x": x}), (x, [1, 1], [0, 1], [0, 1])):
            np.testing.assert_array_equal(actual, expected)


def find_cases():
    manifest = CORPUS / "manifest.json"
    wanted = re.compile(os.environ.get("MINNOW_EXPORT_CASES", ""))
    for row in json.loads(manifest.read_text())["cases"] if manifest.exists() else ():
        name = f"{row['format']}/{row['name']}"
        if not wanted.search(name):
            continue
        paths = []
        for names in FILES[row["format"]]:
            paths += [path for folder in (CORPUS, MODELS) for each in names.split("|") if (path := folder / name / each).exists()][:1]
        if len(paths) == len(FILES[row["format"]]) and (CORPUS / name / "ref.npz").exists():
            yield name, row, paths


def steps(model, row, reference):
    """Inputs by name and outputs in the model's order, for each run; several where the model has states."""
    states = {value.name[:-5] for value in model.graph.output if value.name.endswith("_next")} & {value.name for value in model.graph.input}
    inputs = [value for value in model.graph.input if value.name not in states]
    arrays = {entry["name"] or f"input{i}": reference[f"in_{i}"] for i, entry in enumerate(row["inputs"])}
    names = [entry["name"] or f"output{i}" for i, entry in enumerate(row["outputs"])]
    outputs = [value.name for value in model.graph.output if value.name[:-5] not in states]
    left = [name for name in names if name not in outputs]
    outputs = [reference[f"out_{names.index(name if name in names else left.pop(0))}"] for name in outputs]
    feeds = {value.name: arrays.get(value.name, reference[f"in_{i}"]) for i, value in enumerate(inputs)}
    first = inputs[0]
    if not states or feeds[first.name].ndim == len(first.type.tensor_type.shape.dim):
        yield feeds, outputs, states
        return
    for i in range(feeds[first.name].shape[0]):
        yield {name: array[i] for name, array in feeds.items()}, [array[i] for array in outputs], states


class Corpus(CommandTest):
    worst = 0.0

    def check(self, name, row, paths):
        options = ["--opset", "21"] if name in OPSET_21 else []
        result = self.minnow("convert", *paths, "out.onnx", *options)
        if "has no number of dimensions" in result.stderr:  # TensorFlow's files may say nothing of an input's shape
            shapes = [part for each in row["inputs"] for part in ("--shape", f"{each['name']}={'x'.join(map(str, each['shape']))}")]
            result = self.minnow("convert", *paths, "out.onnx", *shapes, *options)
        if result.returncode and self.minnow("convert", *paths, "out.minnow").returncode:
            self.skipTest("the model is not imported; tests/conformance judges that")
        self.assertEqual(result.returncode, 0, result.stderr)
        path = self.folder / "out.onnx"
        onnx.checker.check_model(str(path), full_check=True)
        model, session = onnx.load(path), runs(path, OPTIMIZED.get(name, "ALL"))
        reference = np.load(CORPUS / row["format"] / row["name"] / "ref.npz")
        spread = row.get("engine_spread") or 0  # as tests/conformance judges
        tolerance = (1e-3 if "com.microsoft.DynamicQuantizeLSTM" in row["ops"] else 1e-4) * (1 if row.get("engine_spread") is not None else 2)
        initial = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
        kept = {}
        for feeds, outputs, states in steps(model, row, reference):
            for value in model.graph.input:
                if value.name in states and value.name not in kept:
                    kept[value.name] = initial.get(value.name, np.zeros([dim.dim_value for dim in value.type.tensor_type.shape.dim],
                                                                        helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)))
            actual = session.run(None, {**feeds, **kept})
            kept = {value.name[:-5]: array for value, array in zip(model.graph.output, actual) if value.name[:-5] in states}
            for value, a, b in zip(model.graph.output, actual, outputs):
                self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape), value.name)
                if not a.size or value.name in TIES.get(name, ()):
                    continue
                worst = np.nanmax(np.abs(a.astype(np.float64) - b), initial=0)
                self.worst = max(self.worst, worst / max(1, np.nanmax(np.abs(b.astype(np.float64)), initial=0)))  # bench/corpus.py shows it
                allowed = max(tolerance * max(1, np.nanmax(np.abs(b.astype(np.float64)), initial=0)), 4 * spread)
                self.assertLessEqual(worst, max(1, spread) if b.dtype.kind in "iu" else allowed, value.name)

    def test_round_trip(self):
        for name, row, paths in find_cases():
            with self.subTest(name):
                try:
                    self.check(name, row, paths)
                except (AssertionError, unittest.SkipTest):
                    raise
                except Exception as error:  # the checker's and ONNX Runtime's own kinds, with long traces
                    self.fail(f"{type(error).__name__}: {str(error)[:600]}")


if __name__ == "__main__":
    unittest.main()
