#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every node of integer networks by itself, fed with the results of the format's reference kernels before it: Minnow must be within a step of
these kernels, so that the effect of a rounding on the rest of the network does not count.

A network with variables runs a few times first. The test also shows how far the default kernels (XNNPACK) are from the reference kernels at the
same nodes, and how many of Minnow's numbers differ from XNNPACK's. Models are those of the corpus. Names of keras.applications as arguments
(applications_test.py) add those networks, "all" adds every one; a path adds that file, with x.npy, if it exists, as the input of x.tflite.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    print(error)
    sys.exit(77)

CORPUS, MINNOW = Path(os.environ["MINNOW_CORPUS"]), Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"
if not MINNOW.exists() or not CORPUS.is_dir():
    print("the command is not built, or the corpus is not there (MINNOW_CORPUS)")
    sys.exit(77)
MODELS = ["mlperf_resnet8_int8", "mlperf_kws_int8", "mlperf_ad_int8", "micro_speech_int8", "support_mobilenet_v1_025_224_quant",
          "coral_deeplabv3_dm05_quant", "coral_keras_lstm_mnist_ptq"]
STEPS = 8  # of a network with variables, before its tensors are looked at
NAMES = sys.argv[1:]
del sys.argv[1:]
OPERATORS = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
NO_NUMBERS = {schema.TensorType.RESOURCE, schema.TensorType.VARIANT, schema.TensorType.STRING}
BYTES = {schema.TensorType.INT8, schema.TensorType.UINT8, schema.TensorType.INT16}
REFERENCE, DEFAULT = OpResolverType.BUILTIN_REF, OpResolverType.AUTO


def keras_network(name):
    """A network of keras.applications in full integers, as applications_test.py converts it, and an input."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tensorflow"))
    import applications_test as applications
    return applications.in_integers(name), applications.pictures(21, 1, applications.SIDE[name])


def invoked(content, resolver, feeds, keep=False):
    """The interpreter after a run."""
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=resolver, experimental_preserve_all_tensors=keep)
    details = interpreter.get_input_details()
    for detail, x in zip(details, feeds):
        if tuple(detail["shape"]) != x.shape:
            interpreter.resize_tensor_input(detail["index"], x.shape)
    interpreter.allocate_tensors()
    for detail, x in zip(details, feeds):
        interpreter.set_tensor(detail["index"], x)
    interpreter.invoke()
    return interpreter


def packed(model):
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def is_constant(model, tensor):
    data = model.buffers[tensor.buffer].data
    return data is not None and len(data) > 0


def alone(model, op, shape_of):
    """Return a model of that operator, its input tensors and its output tensors."""
    tensors, places = model.subgraphs[0].tensors, {}
    single, graph = schema.ModelT(), schema.SubGraphT()
    single.version, single.buffers, graph.tensors = 3, [schema.BufferT()], []
    single.operatorCodes = [model.operatorCodes[op.opcodeIndex]]

    def place(i):
        if i < 0:
            return i
        if i not in places:
            places[i] = len(graph.tensors)
            old, tensor = tensors[i], schema.TensorT()
            tensor.name, tensor.type, tensor.quantization, tensor.buffer = f"t{places[i]}", old.type, old.quantization, 0
            tensor.shape, tensor.isVariable = np.array(shape_of(i), np.int32), old.isVariable
            if is_constant(model, old):
                tensor.shape, tensor.buffer = old.shape, len(single.buffers)
                single.buffers.append(model.buffers[old.buffer])
            graph.tensors.append(tensor)
        return places[i]

    takes = list(dict.fromkeys(i for i in op.inputs if i >= 0 and not is_constant(model, tensors[i]) and not tensors[i].isVariable))
    node = schema.OperatorT()
    node.opcodeIndex, node.builtinOptionsType, node.builtinOptions, node.customOptions = 0, op.builtinOptionsType, op.builtinOptions, op.customOptions
    node.builtinOptions2Type, node.builtinOptions2 = op.builtinOptions2Type, op.builtinOptions2
    node.inputs, node.outputs = np.array([place(i) for i in op.inputs], np.int32), np.array([place(i) for i in op.outputs], np.int32)
    if op.intermediates is not None:
        node.intermediates = np.array([place(i) for i in op.intermediates], np.int32)
    graph.inputs, graph.outputs, graph.operators = np.array([place(i) for i in takes], np.int32), node.outputs, [node]
    single.subgraphs = [graph]
    return packed(single), takes, list(op.outputs)


class Nodes(unittest.TestCase):
    def minnow(self, folder, content, feeds, count):
        path, arguments = folder / "one.tflite", []
        path.write_bytes(content)
        for i, x in enumerate(feeds):
            np.save(folder / f"x{i}.npy", x)
            arguments += ["--input", str(folder / f"x{i}.npy")]
        result = subprocess.run([MINNOW, "run", path, *arguments, "--output-dir", folder, "--json", "--threads", "1"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        outputs = json.loads(result.stdout)["outputs"]
        self.assertEqual(len(outputs), count)
        return [np.load(output["file"]) for output in outputs]

    def check(self, name, content, feeds):
        model = schema.ModelT.InitFromPackedBuf(bytearray(content), 0)
        whole = invoked(content, REFERENCE, feeds, keep=True)
        shapes = {detail["index"]: detail["shape"] for detail in whole.get_tensor_details()}
        if any(tensor.isVariable or tensor.type == schema.TensorType.RESOURCE for tensor in model.subgraphs[0].tensors):
            random = np.random.default_rng(11)
            for _ in range(STEPS):
                for detail in whole.get_input_details():
                    x = random.integers(-100, 100, detail["shape"])
                    whole.set_tensor(detail["index"], x.astype(detail["dtype"]))
                whole.invoke()
        rows = collections.defaultdict(lambda: np.zeros(7, np.int64))  # nodes, numbers, Minnow's worst and others, XNNPACK's, of the two
        with tempfile.TemporaryDirectory() as folder:
            for op in model.subgraphs[0].operators:
                code = model.operatorCodes[op.opcodeIndex]
                kind = OPERATORS[max(code.builtinCode, code.deprecatedBuiltinCode)]
                tensors = [model.subgraphs[0].tensors[i] for i in op.outputs]
                if any(model.subgraphs[0].tensors[i].type in NO_NUMBERS for i in [*op.inputs, *op.outputs] if i >= 0):
                    continue  # variables of the network
                single, takes, gives = alone(model, op, shapes.get)
                if not takes or not any(tensor.type in BYTES for tensor in tensors):
                    continue
                inputs = [whole.get_tensor(i) for i in takes]
                if any(model.subgraphs[0].tensors[i].isVariable for i in op.inputs if i >= 0):  # a state of the node, which begins with zeros
                    reference = invoked(single, REFERENCE, inputs)
                    wanted = [reference.get_tensor(detail["index"]) for detail in reference.get_output_details()]
                else:
                    wanted = [whole.get_tensor(i) for i in gives]
                default = invoked(single, DEFAULT, inputs)
                theirs = [default.get_tensor(detail["index"]) for detail in default.get_output_details()]
                row = rows[kind]
                row[0] += 1
                for ours, other, expected in zip(self.minnow(Path(folder), single, inputs, len(gives)), theirs, wanted):
                    ours, other, expected = (x.astype(np.int64).reshape(expected.shape) for x in (ours, other, expected))
                    row[1] += expected.size
                    row[2] = max(row[2], np.abs(ours - expected).max(initial=0))
                    row[3] += np.count_nonzero(ours != expected)
                    row[4] = max(row[4], np.abs(other - expected).max(initial=0))
                    row[5] += np.count_nonzero(other != expected)
                    row[6] += np.count_nonzero(ours != other)
        for kind, (nodes, numbers, worst, others, their_worst, their_others, between) in sorted(rows.items()):
            print(f"| {name} | {kind} | {nodes} | {numbers} | {worst} | {others} | {their_worst} | {their_others} | {between} |", flush=True)
            with self.subTest(f"{name} {kind}"):
                self.assertLessEqual(worst, 1)

    def test_nodes(self):
        print("| network | operator | nodes | numbers | Minnow's steps from the reference kernels | numbers that differ | XNNPACK's steps | numbers | "
              "between the two |")
        for name in MODELS:
            with self.subTest(name):
                folder = CORPUS / "tflite" / name
                content = (folder / "model.tflite").read_bytes()
                details = Interpreter(model_content=content).get_input_details()
                stored = np.load(folder / "ref.npz")
                self.check(name, content, [self.quantized(stored[key], detail) for key, detail in zip(stored.files, details)])
        for name in NAMES if NAMES != ["all"] else self.every():
            with self.subTest(name):
                path = Path(name)
                if path.exists():
                    stored = path.with_suffix(".npy")
                    content, picture = path.read_bytes(), np.load(stored) if stored.exists() else None
                else:
                    content, picture = keras_network(name)
                details = Interpreter(model_content=content).get_input_details()
                random = np.random.default_rng(5)
                self.check(path.stem, content, [self.quantized(picture, detail) if picture is not None else
                                           random.integers(-100, 100, detail["shape"]).astype(detail["dtype"]) for detail in details])

    def every(self):
        sys.path.insert(0, str(Path(__file__).parent.parent / "tensorflow"))
        import applications_test as applications
        return list(applications.SIDE)

    def quantized(self, x, detail):
        if x.dtype == detail["dtype"]:
            return x
        scale, zero = detail["quantization"]
        limits = np.iinfo(detail["dtype"])
        return np.clip(np.round(x / scale) + zero, limits.min, limits.max).astype(detail["dtype"])


if __name__ == "__main__":
    unittest.main()
