#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of one TFLite operator each give the same numbers as LiteRT's own kernels.

Every row of the importer's rule table has a case here, or is in WITHOUT_CASE with the reason. The cases are written in the form of the corpus,
and the conformance runner runs them on both backends, as imported and after every pass.
"""
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError:
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
RUNNER = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "conformance_tests"
if not RUNNER.exists():
    sys.exit(77)
random = np.random.default_rng(3)
TYPES = {np.dtype(name): number for name, number in [
    ("float32", 0), ("float16", 1), ("int32", 2), ("uint8", 3), ("int64", 4), ("bool", 6), ("int16", 7), ("complex64", 8), ("int8", 9),
    ("float64", 10), ("uint64", 12), ("uint32", 15), ("uint16", 16)]}

WITHOUT_CASE = {
    "CALL": "LiteRT has no kernel for it", "RANDOM_STANDARD_NORMAL": "random", "RANDOM_UNIFORM": "random", "MULTINOMIAL": "random",
    "CALL_ONCE": "in the corpus, with variables", "VAR_HANDLE": "in the corpus", "READ_VARIABLE": "in the corpus",
    "ASSIGN_VARIABLE": "in the corpus", "DENSIFY": "in the corpus", "Convolution2DTransposeBias": "in the corpus; LiteRT has no plain kernel",
    **dict.fromkeys(("Landmarks2TransformMatrix", "MaxPoolingWithArgmax2D", "MaxUnpooling2D", "TransformLandmarks", "TransformTensor",
                     "TransformTensorBilinear"), "in mediapipe_test.cpp; LiteRT has no kernel for it"),
    "IMAG": "with RFFT2D", "REAL": "with RFFT2D", "COMPLEX_ABS": "with RFFT2D",
}


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def ints(low, high, *shape, dtype=np.int32):
    return random.integers(low, high, shape).astype(dtype)


def i32(*values):
    return np.array(values, np.int32)


class Tensor:
    """An input or output: contents (given or constant), and how it is quantized."""

    def __init__(self, array=None, constant=False, scale=None, zero=0, axis=0, dtype=None, variable=False, shape=None):
        self.array, self.constant, self.scale, self.zero, self.axis = array, constant, scale, zero, axis
        self.dtype = np.dtype(dtype or (array.dtype if array is not None else np.float32))
        self.variable, self.shape = variable, shape


def const(array, **quantization):
    return Tensor(np.asarray(array), True, **quantization)


def q8(low, high, *shape, scale=0.05, zero=3, dtype=np.int8):
    return Tensor(ints(low, high, *shape, dtype=dtype), scale=scale, zero=zero)


class Case:
    def __init__(self, op, inputs, outputs=1, options=None, custom=None, name=None, also=(), spread=0, exact=False, intermediates=(), **fields):
        """inputs: arrays, Tensors, None (absent). outputs: a number of f32 tensors, or dtypes, or Tensors. also: further operators that are
        applied to output 0, each its last. exact: integers are equal, not a step apart. options: name of the options' table, with its
        fields."""
        self.op, self.custom, self.spread, self.exact = op, custom, spread, exact
        self.inputs = [x if isinstance(x, Tensor) or x is None else Tensor(x) for x in inputs]
        self.outputs = [Tensor() for _ in range(outputs)] if isinstance(outputs, int) else [
            x if isinstance(x, Tensor) else Tensor(dtype=x) for x in outputs]
        self.options, self.fields, self.also = options, fields, also
        self.intermediates = list(intermediates)
        self.name = name or op

    def bytes(self, shapes):
        model = schema.ModelT()
        model.version, model.description = 3, "test"
        model.buffers = [schema.BufferT()]
        graph = schema.SubGraphT()
        graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []

        def add(tensor, name, shape):
            made = schema.TensorT()
            made.name, made.type, made.shape = name, TYPES[tensor.dtype], list(shape)
            made.isVariable = tensor.variable
            made.hasRank = True
            if tensor.constant:
                buffer = schema.BufferT()
                buffer.data = np.frombuffer(np.ascontiguousarray(tensor.array).tobytes(), np.uint8)
                model.buffers.append(buffer)
                made.buffer = len(model.buffers) - 1
            if tensor.scale is not None:
                quantization = schema.QuantizationParametersT()
                quantization.scale = np.atleast_1d(np.asarray(tensor.scale, np.float32))
                quantization.zeroPoint = np.broadcast_to(np.asarray(tensor.zero, np.int64), quantization.scale.shape).copy()
                quantization.quantizedDimension = tensor.axis
                made.quantization = quantization
            graph.tensors.append(made)
            return len(graph.tensors) - 1

        def operator(op, custom, inputs, outputs, options, fields):
            code = schema.OperatorCodeT()
            number = getattr(schema.BuiltinOperator, op) if custom is None else 32
            code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
            code.customCode = None if custom is None else op
            code.version = 2 if op == "BROADCAST_TO" else 1
            model.operatorCodes = (model.operatorCodes or []) + [code]
            made = schema.OperatorT()
            made.opcodeIndex, made.inputs, made.outputs = len(model.operatorCodes) - 1, inputs, outputs
            if options:
                table = getattr(schema, options + "T")()
                for key, value in fields.items():
                    setattr(table, key, value)
                if hasattr(schema.BuiltinOptions, options):
                    made.builtinOptionsType, made.builtinOptions = getattr(schema.BuiltinOptions, options), table
                else:
                    made.builtinOptions2Type, made.builtinOptions2 = getattr(schema.BuiltinOptions2, options), table
            if custom is not None:
                made.customOptions = np.frombuffer(custom, np.uint8)
            graph.operators.append(made)
            return made

        places = []
        for i, tensor in enumerate(self.inputs):
            if tensor is None:
                places.append(-1)
                continue
            places.append(add(tensor, f"x{i}", tensor.array.shape if tensor.array is not None else tensor.shape))
            if not tensor.constant and not tensor.variable:
                graph.inputs.append(places[-1])
        made = [add(tensor, f"y{i}", shapes[i] if shapes else []) for i, tensor in enumerate(self.outputs)]
        first = operator(self.op, self.custom, places, made, self.options, self.fields)
        if self.intermediates:
            first.intermediates = [add(tensor, f"i{k}", []) for k, tensor in enumerate(self.intermediates)]
        graph.outputs = made
        for k, (op, dtype) in enumerate(self.also):
            last = add(Tensor(dtype=dtype), f"z{k}", [])
            operator(op, None, made[:1], [last], None, {})
            graph.outputs = ([] if k == 0 else graph.outputs) + [last]
        model.subgraphs = [graph]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def run(self, model):
        interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        interpreter.allocate_tensors()
        given = [x.array for x in self.inputs if x is not None and not x.constant and not x.variable]
        for detail, array in zip(interpreter.get_input_details(), given):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        details = interpreter.get_output_details()
        return given, [interpreter.get_tensor(d["index"]) for d in details], [d["name"] for d in details]

    def write(self, folder, name):
        _, outputs, _ = self.run(self.bytes(None))
        model = self.bytes(None if self.also else [y.shape for y in outputs])
        given, outputs, names = self.run(model)
        folder = folder / "tflite" / name
        folder.mkdir(parents=True)
        (folder / "model.tflite").write_bytes(model)
        arrays = {f"in_{i}": x for i, x in enumerate(given)} | {f"out_{i}": y for i, y in enumerate(outputs)}
        np.savez(folder / "ref.npz", **arrays)
        inputs = [f"x{i}" for i, x in enumerate(self.inputs) if x is not None and not x.constant and not x.variable]
        return {"format": "tflite", "name": name, "ops": {self.op: 1}, "engine_spread": self.spread, "exact": self.exact,
                "inputs": [{"name": n} for n in inputs], "outputs": [{"name": n} for n in names]}


def flex(**options):
    from flatbuffers import flexbuffers
    return bytes(flexbuffers.Dumps(options))


def lstm(cifg=False, peephole=False, norm=False, projection=False, **fields):
    batch, time, size, cells = 2, 5, 3, 4
    out = 2 if projection else cells
    gates = [None if cifg and g == 0 else const(floats(cells, size) / 2) for g in range(4)]
    gates += [None if cifg and g == 0 else const(floats(cells, out) / 2) for g in range(4)]
    gates += [const(floats(cells)) if peephole and not (cifg and g == 0) else None for g in range(3)]
    gates += [None if cifg and g == 0 else const(floats(cells)) for g in range(4)]
    gates += [const(floats(out, cells)) if projection else None, const(floats(out)) if projection else None]
    states = [Tensor(variable=True, shape=(batch, out)), Tensor(variable=True, shape=(batch, cells))]
    norms = [None if cifg and g == 0 else const(floats(cells)) for g in range(4)] if norm else [None] * 4
    return [Tensor(floats(batch, time, size))] + gates + states + norms


def rnn_weights():
    return [const(floats(4, 3)), const(floats(4, 4) / 2), const(floats(4))]


IMAGE = (2, 7, 6, 4)
POSITIVE = {"LOG", "SQRT", "RSQRT"}
CASES = []


def add(*arguments, **fields):
    CASES.append(Case(*arguments, **fields))


for op in ["ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOG", "LOGISTIC", "NEG", "RELU", "RELU6", "RELU_N1_TO_1",
           "RELU_0_TO_1", "ROUND", "RSQRT", "SIGN", "SIN", "SQRT", "SQUARE", "TANH"]:
    x = floats(3, 17) * 3
    add(op, [np.abs(x) + 0.1 if op in POSITIVE else x])
for op in ["LOGISTIC", "TANH"]:
    add(op, [q8(-128, 128, 5, 60, zero=0)], [Tensor(dtype=np.int8, scale=1 / 256 if op == "LOGISTIC" else 1 / 128, zero=-128 if op == "LOGISTIC" else 0)],
        name=op + "_int8")
for op in ["RELU", "RELU6", "HARD_SWISH"]:
    add(op, [q8(-128, 128, 5, 60)], [Tensor(dtype=np.int8, scale=0.04, zero=-20)], name=op + "_int8")
add("GELU", [floats(3, 17)], options="GeluOptions", approximate=False)
add("GELU", [floats(3, 17)], options="GeluOptions", approximate=True, name="GELU_tanh")
add("LEAKY_RELU", [floats(3, 17)], options="LeakyReluOptions", alpha=0.2)
add("PRELU", [floats(*IMAGE), const(floats(1, 1, 4))])
add("LOGICAL_NOT", [ints(0, 2, 9).astype(bool)], [bool])
for op, options in [("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"), ("DIV", "DivOptions")]:
    for activation in range(4):
        add(op, [floats(*IMAGE), floats(1, 6, 4) + 3], options=options, fusedActivationFunction=activation, name=f"{op}_{activation}")
    if op != "DIV":
        add(op, [q8(-128, 128, 2, 30), q8(-128, 128, 1, 30, scale=0.03, zero=-5)], [Tensor(dtype=np.int8, scale=0.07, zero=1)], options=options,
            name=op + "_int8")
        add(op, [ints(-9, 9, 4, 5), ints(-9, 9, 5)], [np.int32], options=options, name=op + "_int32")
add("DIV", [ints(-99, 99, 40), ints(1, 9, 40)], [np.int32], options="DivOptions", name="DIV_int32")
for op in ["MAXIMUM", "MINIMUM"]:
    add(op, [floats(4, 5), floats(5)], options="MaximumMinimumOptions")
for op, options in [("EQUAL", "EqualOptions"), ("NOT_EQUAL", "NotEqualOptions"), ("LESS", "LessOptions"), ("GREATER", "GreaterOptions"),
                    ("LESS_EQUAL", "LessEqualOptions"), ("GREATER_EQUAL", "GreaterEqualOptions")]:
    add(op, [ints(0, 3, 4, 5), ints(0, 3, 5)], [bool], options=options)
    add(op, [ints(0, 3, 4, 5).astype(np.float32), ints(0, 3, 5).astype(np.float32)], [bool], options=options, name=op + "_float")
for op in ["LOGICAL_AND", "LOGICAL_OR"]:
    add(op, [ints(0, 2, 4, 5).astype(bool), ints(0, 2, 5).astype(bool)], [bool])
add("POW", [np.abs(floats(4, 5)), floats(5)])
for op in ["FLOOR_DIV", "FLOOR_MOD"]:
    add(op, [ints(-20, 20, 30), ints(1, 7, 30) * np.where(ints(0, 2, 30), 1, -1).astype(np.int32)], [np.int32])
    add(op, [floats(30) * 9, floats(30)], name=op + "_float")
add("SQUARED_DIFFERENCE", [floats(4, 5), floats(5)])
add("ATAN2", [floats(50), floats(50)])
add("ATAN2", [np.array([0, 0, 1, -1, 0], np.float32), np.array([1, -1, 0, 0, 0], np.float32)], name="ATAN2_axes")
add("ADD_N", [floats(3, 4), floats(3, 4), floats(3, 4)], options="AddNOptions")
add("BITCAST", [floats(3, 4)], [np.int32], options="BitcastOptions")
add("BITWISE_XOR", [ints(-99, 99, 20), ints(-99, 99, 20)], [np.int32], options="BitwiseXorOptions")
add("RIGHT_SHIFT", [ints(-9999, 9999, 20), ints(0, 9, 20)], [np.int32], options="RightShiftOptions")
add("RIGHT_SHIFT", [ints(0, 200, 20, dtype=np.uint8), ints(0, 7, 20, dtype=np.uint8)], [np.uint8], options="RightShiftOptions", name="RIGHT_SHIFT_u8")
add("BUCKETIZE", [floats(3, 9)], [np.int32], options="BucketizeOptions", boundaries=[-1.0, 0.0, 0.5, 2.0])
add("CAST", [floats(3, 9) * 5], [np.int32], options="CastOptions", inDataType=0, outDataType=2)
add("CAST", [ints(0, 2, 9)], [np.float32], options="CastOptions", inDataType=2, outDataType=0, name="CAST_float")
add("DEQUANTIZE", [q8(-128, 128, 40)])
add("DEQUANTIZE", [Tensor(floats(40).astype(np.float16))], name="DEQUANTIZE_half")
add("QUANTIZE", [floats(400)], [Tensor(dtype=np.int8, scale=0.02, zero=-3)], options="QuantizeOptions")
add("QUANTIZE", [q8(-128, 128, 300)], [Tensor(dtype=np.int8, scale=0.08, zero=9)], options="QuantizeOptions", name="QUANTIZE_again")
add("QUANTIZE", [floats(400)], [Tensor(dtype=np.int16, scale=0.001)], options="QuantizeOptions", name="QUANTIZE_int16")
add("FAKE_QUANT", [floats(5, 60) * 3], options="FakeQuantOptions", min=-3.1, max=4.2, numBits=8)
add("FAKE_QUANT", [floats(5, 60) * 3], options="FakeQuantOptions", min=-3.1, max=4.2, numBits=4, name="FAKE_QUANT_4")
add("SELECT", [ints(0, 2, 4).astype(bool), floats(4, 5), floats(4, 5)], options="SelectOptions")
add("SELECT_V2", [ints(0, 2, 4, 1).astype(bool), floats(4, 5), floats(5)], options="SelectV2Options")

for padding in (0, 1):
    for stride, dilation in [(1, 1), (2, 1), (1, 2), (3, 1)]:
        add("CONV_2D", [floats(2, 9, 8, 4), const(floats(5, 3, 2, 4)), const(floats(5))], options="Conv2DOptions", padding=padding, strideW=stride,
            strideH=stride, dilationWFactor=dilation, dilationHFactor=dilation, fusedActivationFunction=1, name=f"CONV_2D_{padding}{stride}{dilation}")
        add("DEPTHWISE_CONV_2D", [floats(2, 9, 8, 4), const(floats(1, 3, 2, 8)), const(floats(8))], options="DepthwiseConv2DOptions",
            padding=padding, strideW=stride, strideH=stride, dilationWFactor=dilation, dilationHFactor=dilation, depthMultiplier=2,
            fusedActivationFunction=3, name=f"DEPTHWISE_CONV_2D_{padding}{stride}{dilation}")
add("CONV_2D", [floats(1, 9, 8, 4), const(floats(6, 3, 3, 2)), const(floats(6))], options="Conv2DOptions", strideW=1, strideH=1, name="CONV_2D_groups")
for dtype, zero in [(np.int8, 3), (np.uint8, 131)]:
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)
    w = dict(scale=0.01, zero=0 if dtype == np.int8 else 120)
    for activation in (0, 1, 3):
        add("CONV_2D", [q8(low, high, 2, 9, 8, 4, zero=zero, dtype=dtype), const(ints(low, high, 5, 3, 2, 4, dtype=dtype), **w),
                        const(ints(-999, 999, 5), scale=0.05 * 0.01)], [Tensor(dtype=dtype, scale=0.06, zero=zero)], options="Conv2DOptions",
            strideW=1, strideH=1, fusedActivationFunction=activation, name=f"CONV_2D_{np.dtype(dtype)}_{activation}")
        add("FULLY_CONNECTED", [q8(low, high, 3, 20, zero=zero, dtype=dtype), const(ints(low, high, 7, 20, dtype=dtype), **w),
                                const(ints(-999, 999, 7), scale=0.05 * 0.01)], [Tensor(dtype=dtype, scale=0.06, zero=zero)],
            options="FullyConnectedOptions", fusedActivationFunction=activation, name=f"FULLY_CONNECTED_{np.dtype(dtype)}_{activation}")
scales = np.array([0.01, 0.02, 0.005, 0.03, 0.015], np.float32)
add("CONV_2D", [q8(-128, 128, 2, 9, 8, 4), const(ints(-127, 128, 5, 3, 2, 4, dtype=np.int8), scale=scales), const(ints(-999, 999, 5), scale=scales * 0.05)],
    [Tensor(dtype=np.int8, scale=0.06, zero=3)], options="Conv2DOptions", strideW=1, strideH=1, name="CONV_2D_channels")
wide = np.concatenate([scales, scales[:3]])
add("DEPTHWISE_CONV_2D", [q8(-128, 128, 2, 9, 8, 4), const(ints(-127, 128, 1, 3, 2, 8, dtype=np.int8), scale=wide, axis=3),
                          const(ints(-999, 999, 8), scale=wide * 0.05)], [Tensor(dtype=np.int8, scale=0.06, zero=3)], options="DepthwiseConv2DOptions",
    strideW=1, strideH=1, depthMultiplier=2, name="DEPTHWISE_CONV_2D_channels")
add("CONV_2D", [Tensor(ints(-3000, 3000, 2, 9, 8, 4, dtype=np.int16), scale=0.001), const(ints(-127, 128, 5, 3, 2, 4, dtype=np.int8), scale=scales),
                const(ints(-9999, 9999, 5, dtype=np.int64), scale=scales * 0.001)], [Tensor(dtype=np.int16, scale=0.002)], options="Conv2DOptions",
    strideW=1, strideH=1, name="CONV_2D_int16x8")
add("FULLY_CONNECTED", [floats(3, 20), const(floats(7, 20)), const(floats(7))], options="FullyConnectedOptions", fusedActivationFunction=1)
# 16-bit numbers, 8-bit weights, a 64-bit bias.
def wide(*shape):
    return Tensor(ints(-32768, 32768, *shape, dtype=np.int16), scale=0.0007)


for activation in (0, 1):
    add("CONV_2D", [wide(2, 9, 8, 4), const(ints(-127, 128, 5, 3, 2, 4, dtype=np.int8), scale=[0.01, 0.02, 0.005, 0.03, 0.015]),
                    const(ints(-99999, 99999, 5, dtype=np.int64), scale=[0.0007 * s for s in (0.01, 0.02, 0.005, 0.03, 0.015)])],
        [Tensor(dtype=np.int16, scale=0.002)], options="Conv2DOptions", padding=0, strideW=1, strideH=1, fusedActivationFunction=activation,
        name=f"CONV_2D_int16_{activation}")
    # With a 32-bit bias sums have 32 bits, and factors too.
    add("CONV_2D", [wide(2, 9, 8, 4), const(ints(-127, 128, 5, 3, 2, 4, dtype=np.int8), scale=[0.01, 0.02, 0.005, 0.03, 0.015]),
                    const(ints(-99999, 99999, 5), scale=[0.0007 * s for s in (0.01, 0.02, 0.005, 0.03, 0.015)])],
        [Tensor(dtype=np.int16, scale=0.002)], options="Conv2DOptions", padding=0, strideW=1, strideH=1, fusedActivationFunction=activation,
        quantizedBiasType=2, name=f"CONV_2D_int16_{activation}_bias32")
    add("FULLY_CONNECTED", [wide(3, 40), const(ints(-127, 128, 7, 40, dtype=np.int8), scale=0.01), const(ints(-99999, 99999, 7), scale=0.0007 * 0.01)],
        [Tensor(dtype=np.int16, scale=0.002)], options="FullyConnectedOptions", fusedActivationFunction=activation, quantizedBiasType=2,
        name=f"FULLY_CONNECTED_int16_{activation}_bias32")
add("DEPTHWISE_CONV_2D", [wide(2, 9, 8, 4), const(ints(-127, 128, 1, 3, 2, 4, dtype=np.int8), scale=[0.01, 0.02, 0.005, 0.03], axis=3),
                          const(ints(-99999, 99999, 4, dtype=np.int64), scale=[0.0007 * s for s in (0.01, 0.02, 0.005, 0.03)])],
    [Tensor(dtype=np.int16, scale=0.001)], options="DepthwiseConv2DOptions", padding=0, strideW=1, strideH=1, depthMultiplier=1, name="DEPTHWISE_CONV_2D_int16")
add("FULLY_CONNECTED", [wide(3, 20), const(ints(-127, 128, 7, 20, dtype=np.int8), scale=0.01), const(ints(-99999, 99999, 7, dtype=np.int64), scale=0.0007 * 0.01)],
    [Tensor(dtype=np.int16, scale=0.002)], options="FullyConnectedOptions", name="FULLY_CONNECTED_int16")
# Weights of 8 bits beside floats: the kernels round the floats while they run, item by item.
for name, scale in [("", 0.01), ("_by_channel", [0.01, 0.02, 0.005, 0.03, 0.015])]:
    for shift in (0, 4):  # all of one sign: the range is widened to 0
        add("CONV_2D", [floats(2, 9, 8, 4) * np.array([1, 5], np.float32).reshape(2, 1, 1, 1) + np.float32(shift),
                        const(ints(-127, 128, 5, 3, 2, 4, dtype=np.int8), scale=scale), const(floats(5))], options="Conv2DOptions", padding=0,
            strideW=1, strideH=1, name=f"CONV_2D_hybrid{name}_{shift}")
add("DEPTHWISE_CONV_2D", [floats(2, 9, 8, 4), const(ints(-127, 128, 1, 3, 2, 4, dtype=np.int8), scale=[0.01, 0.02, 0.005, 0.03], axis=3), const(floats(4))],
    options="DepthwiseConv2DOptions", padding=0, strideW=1, strideH=1, depthMultiplier=1, name="DEPTHWISE_CONV_2D_hybrid")
for asymmetric in (False, True):
    add("FULLY_CONNECTED", [floats(3, 20) * np.array([[1], [0], [9]], np.float32), const(ints(-127, 128, 7, 20, dtype=np.int8), scale=0.01), const(floats(7))],
        options="FullyConnectedOptions", asymmetricQuantizeInputs=asymmetric, name=f"FULLY_CONNECTED_hybrid_{asymmetric}")
add("FULLY_CONNECTED", [floats(3, 2, 20), const(ints(-127, 128, 7, 20, dtype=np.int8), scale=0.01), const(floats(7))], options="FullyConnectedOptions",
    keepNumDims=True, name="FULLY_CONNECTED_hybrid_keep")
add("FULLY_CONNECTED", [floats(3, 2, 10), const(floats(7, 20)), None], options="FullyConnectedOptions", name="FULLY_CONNECTED_flat")
add("FULLY_CONNECTED", [floats(3, 2, 20), const(floats(7, 20)), const(floats(7))], options="FullyConnectedOptions", keepNumDims=True,
    name="FULLY_CONNECTED_keep")
add("FULLY_CONNECTED", [q8(-128, 128, 3, 2, 20), const(ints(-127, 128, 7, 20, dtype=np.int8), scale=0.01), const(ints(-99, 99, 7), scale=0.05 * 0.01)],
    [Tensor(dtype=np.int8, scale=0.06, zero=3)], options="FullyConnectedOptions", keepNumDims=True, name="FULLY_CONNECTED_keep_int8")
for padding in (0, 1):
    size = (14, 16) if padding == 0 else (15, 17)
    add("TRANSPOSE_CONV", [const(i32(2, *size, 5)), const(floats(5, 3, 3, 4)), floats(2, 7, 8, 4), const(floats(5))], options="TransposeConvOptions",
        padding=padding, strideW=2, strideH=2, name=f"TRANSPOSE_CONV_{padding}")
    add("CONV_3D", [floats(1, 5, 6, 7, 2), const(floats(2, 3, 2, 2, 3)), const(floats(3))], options="Conv3DOptions", padding=padding, strideD=1, strideW=2,
        strideH=1, dilationDFactor=1, dilationWFactor=1, dilationHFactor=1, name=f"CONV_3D_{padding}")
add("CONV_3D_TRANSPOSE", [const(i32(1, 4, 6, 8, 2)), const(floats(2, 2, 2, 2, 3)), floats(1, 2, 3, 4, 3)], options="Conv3DOptions", strideD=2, strideW=2,
    strideH=2, dilationDFactor=1, dilationWFactor=1, dilationHFactor=1)
for op in ["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"]:
    for padding in (0, 1):
        add(op, [floats(2, 9, 8, 4)], options="Pool2DOptions", padding=padding, strideW=2, strideH=1, filterWidth=3, filterHeight=2, name=f"{op}_{padding}")
    if op != "L2_POOL_2D":
        add(op, [q8(-128, 128, 2, 9, 8, 4)], [Tensor(dtype=np.int8, scale=0.05, zero=3)], options="Pool2DOptions", padding=0, strideW=2, strideH=2,
            filterWidth=3, filterHeight=3, name=op + "_int8")
        add(op, [q8(-128, 128, 2, 9, 8, 4)], [Tensor(dtype=np.int8, scale=0.05, zero=3)], options="Pool2DOptions", padding=0, strideW=1, strideH=1,
            filterWidth=4, filterHeight=3, name=op + "_int8_halfway")
add("BATCH_MATMUL", [floats(2, 3, 4), floats(2, 4, 5)], options="BatchMatMulOptions")
add("BATCH_MATMUL", [floats(2, 4, 3), floats(2, 5, 4)], options="BatchMatMulOptions", adjX=True, adjY=True, name="BATCH_MATMUL_adjoint")
add("DEPTH_TO_SPACE", [floats(2, 3, 4, 12)], options="DepthToSpaceOptions", blockSize=2)
add("SPACE_TO_DEPTH", [floats(2, 4, 6, 3)], options="SpaceToDepthOptions", blockSize=2)
add("SPACE_TO_BATCH_ND", [floats(2, 5, 6, 3), const(i32(2, 3)), const(np.array([[1, 0], [2, 1]], np.int32))], options="SpaceToBatchNDOptions")
add("SPACE_TO_BATCH_ND", [floats(2, 5, 3), const(i32(2)), np.array([[1, 0]], np.int32)], options="SpaceToBatchNDOptions", name="SPACE_TO_BATCH_ND_open")
add("BATCH_TO_SPACE_ND", [floats(12, 3, 3, 2), const(i32(2, 3)), const(np.array([[1, 0], [2, 1]], np.int32))], options="BatchToSpaceNDOptions")
add("EMBEDDING_LOOKUP", [ints(0, 5, 4), const(floats(5, 3))])
add("HASHTABLE_LOOKUP", [i32(7, 9, 3), const(i32(1, 3, 7)), const(floats(3, 2))], [np.float32, np.uint8])
add("L2_NORMALIZATION", [floats(2, 3, 4, 5)], options="L2NormOptions")
add("LOCAL_RESPONSE_NORMALIZATION", [floats(2, 3, 4, 9)], options="LocalResponseNormalizationOptions", radius=2, bias=1.5, alpha=0.3, beta=0.6)
add("SOFTMAX", [floats(3, 7)], options="SoftmaxOptions", beta=1.0)
add("SOFTMAX", [floats(3, 7)], options="SoftmaxOptions", beta=0.5, name="SOFTMAX_beta")
add("SOFTMAX", [q8(-128, 128, 9, 30)], [Tensor(dtype=np.int8, scale=1 / 256, zero=-128)], options="SoftmaxOptions", beta=1.0, name="SOFTMAX_int8")
add("LOG_SOFTMAX", [floats(3, 7)], options="LogSoftmaxOptions")
for op, options in [("RESIZE_BILINEAR", "ResizeBilinearOptions"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions")]:
    for i, fields in enumerate([{}, {"alignCorners": True}, {"halfPixelCenters": True}]):
        for size in [(9, 4), (3, 13)]:
            add(op, [floats(2, 5, 6, 3), const(i32(*size))], options=options, name=f"{op}_{i}_{size[0]}", **fields)
add("REDUCE_WINDOW", [floats(6, 7), const(np.float32(0)), const(np.array([2, 3])), const(np.array([1, 2])), const(np.array([2, 1]))],
    options="ReduceWindowOptions", reduceFunction=1)

add("ARG_MAX", [floats(3, 7, 2), const(i32(1))], [np.int64], options="ArgMaxOptions", outputType=4)
add("ARG_MIN", [floats(3, 7, 2), const(i32(-1))], [np.int32], options="ArgMinOptions", outputType=2)
add("ARG_MAX", [q8(-128, 128, 3, 70), const(i32(1))], [np.int32], options="ArgMaxOptions", outputType=2, name="ARG_MAX_int8")
add("BROADCAST_ARGS", [i32(3, 1, 5), i32(4, 1)], [np.int32])
add("BROADCAST_TO", [floats(3, 1), const(i32(2, 3, 4))], options="BroadcastToOptions")
add("CONCATENATION", [floats(2, 3, 4), floats(2, 5, 4)], options="ConcatenationOptions", axis=1)
add("CONCATENATION", [q8(-128, 128, 2, 30), q8(-128, 128, 2, 40)], [Tensor(dtype=np.int8, scale=0.05, zero=3)], options="ConcatenationOptions", axis=-1,
    name="CONCATENATION_int8")
for exclusive in (False, True):
    add("CUMSUM", [floats(3, 7), const(i32(1))], options="CumsumOptions", exclusive=exclusive, reverse=exclusive, name=f"CUMSUM_{int(exclusive)}")
add("DILATE", [floats(3, 4), const(i32(2, 3)), const(np.float32(-1))], options="DilateOptions")
add("DYNAMIC_UPDATE_SLICE", [floats(5, 6), floats(2, 3), i32(1, 5)], options="DynamicUpdateSliceOptions")
add("EXPAND_DIMS", [floats(3, 4), const(i32(-1))], options="ExpandDimsOptions")
add("FILL", [const(i32(2, 3)), np.float32(4.5).reshape(())], options="FillOptions")
add("GATHER", [floats(3, 7, 2), ints(0, 7, 4)], options="GatherOptions", axis=1)
add("GATHER", [floats(2, 3, 7, 2), ints(0, 7, 2, 4, 2)], options="GatherOptions", axis=2, batchDims=1, name="GATHER_batch")
add("GATHER_ND", [floats(3, 7, 2), np.array([[0, 1], [2, 6]], np.int32)], options="GatherNdOptions")
add("MATRIX_DIAG", [floats(2, 3)], options="MatrixDiagOptions")
add("MATRIX_SET_DIAG", [floats(2, 3, 4), floats(2, 3)], options="MatrixSetDiagOptions")
add("PAD", [floats(2, 3, 4), const(np.array([[0, 0], [1, 2], [0, 3]], np.int32))], options="PadOptions")
add("PAD", [q8(-128, 128, 2, 3), const(np.array([[0, 1], [1, 2]], np.int32))], [Tensor(dtype=np.int8, scale=0.05, zero=3)], options="PadOptions", name="PAD_int8")
add("PAD", [floats(2, 3), np.array([[0, 1], [1, 2]], np.int32)], options="PadOptions", name="PAD_open")
add("PADV2", [floats(2, 3), const(np.array([[0, 1], [1, 2]], np.int32)), const(np.float32([2.5]))], options="PadV2Options")
for mode in (0, 1):
    add("MIRROR_PAD", [floats(4, 5), const(np.array([[1, 2], [3, 0]], np.int32))], options="MirrorPadOptions", mode=mode, name=f"MIRROR_PAD_{mode}")
add("ONE_HOT", [i32(0, 2, -1, 5), const(i32(4).reshape(())), const(np.float32(2).reshape(())), const(np.float32(-1).reshape(()))], options="OneHotOptions", axis=-1)
add("PACK", [floats(3, 4), floats(3, 4)], options="PackOptions", valuesCount=2, axis=1)
add("UNPACK", [floats(3, 2, 4)], 2, options="UnpackOptions", num=2, axis=1)
add("RANGE", [i32(3).reshape(()), i32(20).reshape(()), i32(4).reshape(())], [np.int32], options="RangeOptions")
add("RANK", [floats(2, 3)], [np.int32], options="RankOptions")
for op in ["MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"]:
    for keep in (False, True):
        add(op, [floats(3, 4, 5, 2), const(i32(1, -1))], options="ReducerOptions", keepDims=keep, name=f"{op}_{int(keep)}")
add("MEAN", [q8(-128, 128, 2, 4, 5, 8), const(i32(1, 2))], [Tensor(dtype=np.int8, scale=0.02, zero=-3)], options="ReducerOptions", name="MEAN_int8")
for op in ["REDUCE_ANY", "REDUCE_ALL"]:
    add(op, [ints(0, 2, 8, 2).astype(bool), const(i32(1))], [bool], options="ReducerOptions")
add("RESHAPE", [floats(3, 4), const(i32(2, -1))], options="ReshapeOptions")
add("REVERSE_V2", [floats(3, 4, 2), const(i32(1))], options="ReverseV2Options")
add("REVERSE_SEQUENCE", [floats(2, 5, 3), i32(2, 4)], options="ReverseSequenceOptions", seqDim=1, batchDim=0)
add("REVERSE_SEQUENCE", [floats(2, 3, 5), i32(2, 4, 1)], options="ReverseSequenceOptions", seqDim=2, batchDim=1, name="REVERSE_SEQUENCE_inner")
add("SCATTER_ND", [np.array([[1], [3], [1]], np.int32), floats(3, 2), const(i32(5, 2))], options="ScatterNdOptions")
add("SEGMENT_SUM", [floats(5, 2), i32(0, 0, 1, 2, 2)], options="SegmentSumOptions")
for op, options in [("SUM", "UnsortedSegmentSumOptions"), ("PROD", "UnsortedSegmentProdOptions"), ("MAX", "UnsortedSegmentMaxOptions"),
                    ("MIN", "UnsortedSegmentMinOptions")]:
    add("UNSORTED_SEGMENT_" + op, [floats(5, 2), i32(2, 0, 2, 1, 0), const(i32(3))], options=options)
add("SHAPE", [floats(2, 3, 5)], [np.int32], options="ShapeOptions", outType=2)
add("SLICE", [floats(4, 5, 6), const(i32(1, 0, 2)), const(i32(2, -1, 3))], options="SliceOptions")
add("SLICE", [floats(4, 5), i32(1, 0), i32(2, -1)], options="SliceOptions", name="SLICE_open")
add("SPARSE_TO_DENSE", [np.array([[0, 1], [2, 0]], np.int32), const(i32(3, 2)), floats(2), const(np.float32(-1).reshape(()))], options="SparseToDenseOptions")
add("SPLIT", [const(i32(1).reshape(())), floats(3, 6, 2)], 3, options="SplitOptions", numSplits=3)
add("SPLIT_V", [floats(3, 6, 2), const(i32(1, -1, 2)), const(i32(1).reshape(()))], 3, options="SplitVOptions", numSplits=3)
add("SQUEEZE", [floats(1, 3, 1, 2)], options="SqueezeOptions", squeezeDims=[0])
add("SQUEEZE", [floats(1, 3, 1, 2)], options="SqueezeOptions", name="SQUEEZE_all")
for k, (begin, end, stride, masks) in enumerate([
        ((1, 0, 2), (3, 5, 6), (1, 2, 3), {}), ((-1, 4, 0), (0, 0, 6), (-1, -2, 1), {}), ((1, 0, 2), (3, 5, 6), (1, 1, 1), dict(beginMask=5, endMask=2)),
        ((1, 2, 3), (2, 3, 4), (1, 1, 1), dict(shrinkAxisMask=5)), ((-1, 2, 3), (0, 3, 4), (1, 1, 1), dict(shrinkAxisMask=1)),
        ((0, 0, 1), (0, 0, 3), (1, 1, 1), dict(ellipsisMask=1, newAxisMask=2)), ((3, 4, 5), (0, 0, 0), (-1, -1, -1), dict(beginMask=7, endMask=7))]):
    add("STRIDED_SLICE", [floats(4, 5, 6), const(i32(*begin)), const(i32(*end)), const(i32(*stride))], options="StridedSliceOptions",
        name=f"STRIDED_SLICE_{k}", **masks)
add("STRIDED_SLICE", [floats(4, 5), i32(-1, 1), i32(0, 4), const(i32(1, 2))], options="StridedSliceOptions", shrinkAxisMask=1, name="STRIDED_SLICE_open")
add("TILE", [floats(2, 3), const(i32(2, 1))], options="TileOptions")
add("TOPK_V2", [floats(3, 9), const(i32(4))], [np.float32, np.int32], options="TopKV2Options")
add("TRANSPOSE", [floats(2, 3, 4), const(i32(2, 0, 1))], options="TransposeOptions")
add("UNIQUE", [i32(3, 1, 3, 7, 1)], [np.int32, np.int32], options="UniqueOptions", idxOutType=2)
add("WHERE", [ints(0, 2, 3, 4).astype(bool)], [np.int64], options="WhereOptions")
add("ZEROS_LIKE", [floats(2, 3)], options="ZerosLikeOptions")
add("RFFT2D", [floats(2, 8, 16), const(i32(8, 16))], [np.complex64], options="Rfft2dOptions", also=[("REAL", np.float32), ("IMAG", np.float32), ("COMPLEX_ABS", np.float32)])

for name, fields in [("plain", {}), ("cifg", dict(cifg=True)), ("peephole", dict(peephole=True)), ("norm", dict(norm=True)),
                     ("projection", dict(projection=True)), ("all", dict(peephole=True, norm=True, projection=True))]:
    add("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm(**fields), options="UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4,
        name="UNIDIRECTIONAL_SEQUENCE_LSTM_" + name)
add("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm(peephole=True, projection=True), options="UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4, cellClip=0.4,
    projClip=0.3, name="UNIDIRECTIONAL_SEQUENCE_LSTM_clip")
full = lstm()
add("LSTM", [Tensor(floats(2, 3))] + full[1:], options="LSTMOptions", fusedActivationFunction=4)
add("LSTM", [floats(2, 3), floats(2, 4), const(floats(16, 7)), const(floats(16)), floats(2, 4)], 4, options="LSTMOptions", fusedActivationFunction=4, kernelType=1,
    name="LSTM_basic")
both = [Tensor(floats(2, 5, 3))]
for _ in range(2):
    both += lstm()[1:18]
both += [Tensor(variable=True, shape=(2, 4)) for _ in range(4)] + [None] * 9
add("BIDIRECTIONAL_SEQUENCE_LSTM", both, 2, options="BidirectionalSequenceLSTMOptions", fusedActivationFunction=4, timeMajor=False)
# One sequence: LiteRT takes the state of item b from b times the merged width, which for all but the first is other memory.
one = [Tensor(floats(1, 5, 3))] + both[1:35] + [Tensor(variable=True, shape=(1, 4)) for _ in range(4)] + [None] * 9
add("BIDIRECTIONAL_SEQUENCE_LSTM", one, 1, options="BidirectionalSequenceLSTMOptions", fusedActivationFunction=4, mergeOutputs=True,
    timeMajor=False, name="BIDIRECTIONAL_SEQUENCE_LSTM_merged")
add("BIDIRECTIONAL_SEQUENCE_LSTM", [Tensor(floats(5, 2, 3))] + both[1:], 1, options="BidirectionalSequenceLSTMOptions", fusedActivationFunction=4,
    mergeOutputs=True, timeMajor=True, name="BIDIRECTIONAL_SEQUENCE_LSTM_merged_time")
add("BIDIRECTIONAL_SEQUENCE_LSTM", [Tensor(floats(5, 2, 3))] + both[1:], 2, options="BidirectionalSequenceLSTMOptions", fusedActivationFunction=4,
    name="BIDIRECTIONAL_SEQUENCE_LSTM_time")
state = Tensor(variable=True, shape=(2, 4))
add("RNN", [Tensor(floats(2, 3)), *rnn_weights(), state], options="RNNOptions", fusedActivationFunction=4)
add("UNIDIRECTIONAL_SEQUENCE_RNN", [Tensor(floats(2, 5, 3)), *rnn_weights(), state], options="SequenceRNNOptions", fusedActivationFunction=1)
add("UNIDIRECTIONAL_SEQUENCE_RNN", [Tensor(floats(5, 2, 3)), *rnn_weights(), state], options="SequenceRNNOptions", fusedActivationFunction=4, timeMajor=True,
    name="UNIDIRECTIONAL_SEQUENCE_RNN_time")
add("BIDIRECTIONAL_SEQUENCE_RNN", [Tensor(floats(2, 5, 3)), *rnn_weights(), state, *rnn_weights(), Tensor(variable=True, shape=(2, 4)), None, None, None], 2,
    options="BidirectionalSequenceRNNOptions", fusedActivationFunction=4)
add("SVDF", [Tensor(floats(2, 3)), const(floats(8, 3)), const(floats(8, 5)), const(floats(4)), Tensor(variable=True, shape=(2, 40))], options="SVDFOptions",
    rank=2, fusedActivationFunction=1)



def hybrid(inputs, *places):
    """The inputs with weights of 8 bits at these places, which meet numbers that are rounded while the layer runs."""
    inputs = list(inputs)
    for i in places:
        if inputs[i] is not None:
            scale = np.abs(inputs[i].array).max() / 127
            inputs[i] = const(np.round(inputs[i].array / scale).astype(np.int8), scale=scale)
    return inputs


for asymmetric in (False, True):
    how = dict(asymmetricQuantizeInputs=asymmetric, fusedActivationFunction=4)
    end = "hybrid" + "_asymmetric" * asymmetric
    for kind, fields in [("", {}), ("peephole_", dict(peephole=True)), ("projection_", dict(projection=True)), ("norm_", dict(norm=True)), ("cifg_", dict(cifg=True))]:
        add("UNIDIRECTIONAL_SEQUENCE_LSTM", hybrid(lstm(**fields), *range(1, 12), 16), options="UnidirectionalSequenceLSTMOptions",
            name=f"UNIDIRECTIONAL_SEQUENCE_LSTM_{kind}{end}", **how)
    add("LSTM", hybrid([Tensor(floats(2, 3))] + full[1:], *range(1, 9)), options="LSTMOptions", name="LSTM_" + end, **how)
    add("BIDIRECTIONAL_SEQUENCE_LSTM", hybrid(both, *range(1, 12), *range(18, 29)), 2, options="BidirectionalSequenceLSTMOptions", timeMajor=False,
        name="BIDIRECTIONAL_SEQUENCE_LSTM_" + end, **how)
    add("RNN", hybrid([Tensor(floats(2, 3)), *rnn_weights(), state], 1, 2), options="RNNOptions", name="RNN_" + end, **how)
    add("UNIDIRECTIONAL_SEQUENCE_RNN", hybrid([Tensor(floats(2, 5, 3)), *rnn_weights(), state], 1, 2), options="SequenceRNNOptions",
        name="UNIDIRECTIONAL_SEQUENCE_RNN_" + end, **how)
    add("BIDIRECTIONAL_SEQUENCE_RNN", hybrid([Tensor(floats(2, 5, 3)), *rnn_weights(), state, *rnn_weights(), Tensor(variable=True, shape=(2, 4)), None, None, None],
        1, 2, 5, 6), 2, options="BidirectionalSequenceRNNOptions", name="BIDIRECTIONAL_SEQUENCE_RNN_" + end, **how)
    add("SVDF", hybrid([Tensor(floats(2, 3)), const(floats(8, 3)), const(floats(8, 5)), const(floats(4)), Tensor(variable=True, shape=(2, 40))], 1, 2),
        options="SVDFOptions", rank=2, name="SVDF_" + end, **(how | dict(fusedActivationFunction=1)))

corners = np.sort(random.random((8, 2, 2)).astype(np.float32), axis=1).reshape(8, 4)
scores = (random.permutation(8) / 9 + 0.05).astype(np.float32)
scalar = lambda value, dtype=np.float32: const(np.array(value, dtype))
add("NON_MAX_SUPPRESSION_V4", [corners, scores, scalar(6, np.int32), scalar(0.4), scalar(0.1)], [np.int32, np.int32])
add("NON_MAX_SUPPRESSION_V5", [corners, scores, scalar(6, np.int32), scalar(0.4), scalar(0.1), scalar(0.0)], [np.int32, np.float32, np.int32])
detection = dict(max_detections=5, max_classes_per_detection=1, nms_score_threshold=0.2, nms_iou_threshold=0.5, num_classes=3, y_scale=10.0, x_scale=10.0,
                 h_scale=5.0, w_scale=5.0)
anchors = random.random((12, 4)).astype(np.float32)
for name, more in [("", {}), ("_regular", dict(use_regular_nms=True, detections_per_class=4)), ("_classes", dict(max_classes_per_detection=2))]:
    classes = random.permutation(48).reshape(1, 12, 4).astype(np.float32) / 48
    add("TFLite_Detection_PostProcess", [floats(1, 12, 4), classes, const(anchors)], 4, custom=flex(**(detection | more)), name="TFLite_Detection_PostProcess" + name)


def integer_lstm(steps, inputs, cells, projected=0, coupled=False, peephole=False, norm=False, first=0, hidden_zero=9):
    """The inputs and intermediate tensors of an LSTM of 8-bit data and 16-bit cells."""
    batch, out = 3, projected or cells
    gates = range(1 if coupled else 0, 4)
    each = lambda make: [make(g) if g in gates else None for g in range(4)]
    weights = each(lambda g: const(ints(-127, 128, cells, inputs, dtype=np.int8), scale=0.004 + 0.001 * g))
    weights += each(lambda g: const(ints(-127, 128, cells, out, dtype=np.int8), scale=0.006 - 0.001 * g))
    peepholes = [const(ints(-32767, 32768, cells, dtype=np.int16), scale=3e-5 + 1e-5 * g) for g in range(3)] if peephole else [None] * 3
    if coupled:
        peepholes[0] = None
    biases = each(lambda g: const(ints(-9000, 9000, cells), scale=4e-5))
    projection = [const(ints(-127, 128, out, cells, dtype=np.int8), scale=0.005), const(ints(-9000, 9000, out), scale=4e-5)] if projected else [None, None]
    hidden = Tensor(dtype=np.int8, scale=0.0071, zero=hidden_zero)
    state = Tensor(variable=True, shape=(batch, out), dtype=np.int8, scale=0.011 if projected else hidden.scale, zero=-4 if projected else hidden.zero)
    cell = Tensor(variable=True, shape=(batch, cells), dtype=np.int16, scale=2.0 ** (-11 + first))
    norms = each(lambda g: const(ints(-32767, 32768, cells, dtype=np.int16), scale=3e-5)) if norm else [None] * 4
    shape = (batch, steps, inputs) if steps else (batch, inputs)
    x = Tensor(ints(-128, 128, *shape, dtype=np.int8), scale=0.02, zero=7)
    between = [Tensor(dtype=np.int16 if norm else np.float32, scale=3e-4 if norm else None) for _ in range(4)] + [hidden]
    return [x] + weights + peepholes + biases + projection + [state, cell] + norms, between, [Tensor(dtype=np.int8, scale=state.scale, zero=state.zero)]


for steps, name, fields, clips in [(7, "plain", {}, {}), (7, "cells", dict(first=-4), {}), (7, "coupled", dict(coupled=True), {}), (7, "peephole", dict(peephole=True), {}),
                                   (7, "norm", dict(norm=True), {}), (7, "projection", dict(projected=3), {}), (7, "clips", dict(projected=3), dict(cellClip=0.7, projClip=0.5)),
                                   (7, "coupled_peephole_norm", dict(coupled=True, peephole=True, norm=True), {}),
                                   (7, "norm_projection", dict(norm=True, projected=11), {}), (0, "plain", {}, {})]:
    given, between, made = integer_lstm(steps, 5, 11, **fields)
    kind = "UnidirectionalSequenceLSTM" if steps else "LSTM"
    add("UNIDIRECTIONAL_SEQUENCE_LSTM" if steps else "LSTM", given, made, options=kind + "Options", fusedActivationFunction=4, intermediates=between, exact=True,
        name=("UNIDIRECTIONAL_SEQUENCE_LSTM" if steps else "LSTM") + "_int8_" + name, **clips)


class Graphs:
    """A model of several subgraphs: each a list of tensors (name, dtype, shape, contents or None), operators, inputs, outputs."""

    def __init__(self, name, feeds, graphs):
        self.name, self.op, self.feeds, self.graphs = name, name.split("_")[0], feeds, graphs

    def bytes(self):
        model = schema.ModelT()
        model.version, model.buffers, model.operatorCodes, model.subgraphs = 3, [schema.BufferT()], [], []
        for tensors, operators, inputs, outputs in self.graphs:
            graph = schema.SubGraphT()
            graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], inputs, outputs
            for name, dtype, shape, contents in tensors:
                tensor = schema.TensorT()
                tensor.name, tensor.type, tensor.shape, tensor.hasRank = name, TYPES[np.dtype(dtype)], shape, True
                if contents is not None:
                    buffer = schema.BufferT()
                    buffer.data = np.frombuffer(np.asarray(contents, dtype).tobytes(), np.uint8)
                    model.buffers.append(buffer)
                    tensor.buffer = len(model.buffers) - 1
                graph.tensors.append(tensor)
            for op, places, made, options, fields in operators:
                code = schema.OperatorCodeT()
                number = getattr(schema.BuiltinOperator, op, 32)
                code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), 1
                code.customCode = op if number == 32 else None
                model.operatorCodes.append(code)
                operator = schema.OperatorT()
                operator.opcodeIndex, operator.inputs, operator.outputs = len(model.operatorCodes) - 1, places, made
                if options:
                    table = getattr(schema, options + "T")()
                    for key, value in fields.items():
                        setattr(table, key, value)
                    operator.builtinOptionsType, operator.builtinOptions = getattr(schema.BuiltinOptions, options), table
                graph.operators.append(operator)
            model.subgraphs.append(graph)
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def write(self, folder, name):
        model = self.bytes()
        interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        interpreter.allocate_tensors()
        inputs = interpreter.get_input_details()
        for detail, array in zip(inputs, self.feeds):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        details = interpreter.get_output_details()
        folder = folder / "tflite" / name
        folder.mkdir(parents=True)
        (folder / "model.tflite").write_bytes(model)
        arrays = {f"in_{i}": x for i, x in enumerate(self.feeds)}
        arrays |= {f"out_{i}": interpreter.get_tensor(d["index"]) for i, d in enumerate(details)}
        np.savez(folder / "ref.npz", **arrays)
        return {"format": "tflite", "name": name, "ops": {self.op: 1}, "engine_spread": 0, "inputs": [{"name": d["name"]} for d in inputs],
                "outputs": [{"name": d["name"]} for d in details]}


F, I, B = np.float32, np.int32, np.bool_
for count in (0, 3, 7):
    CASES.append(Graphs(f"WHILE_{count}", [np.array(count, I), floats(2, 3)], [
        ([("n", I, [], None), ("x", F, [2, 3], None), ("n_out", I, [], None), ("y", F, [2, 3], None)],
         [("WHILE", [0, 1], [2, 3], "WhileOptions", dict(condSubgraphIndex=1, bodySubgraphIndex=2))], [0, 1], [3]),
        ([("n", I, [], None), ("x", F, [2, 3], None), ("zero", I, [], 0), ("more", B, [], None)],
         [("GREATER", [0, 2], [3], "GreaterOptions", {})], [0, 1], [3]),
        ([("n", I, [], None), ("x", F, [2, 3], None), ("one", I, [], 1), ("less", I, [], None), ("factor", F, [3], [1.5, -0.5, 2]), ("scaled", F, [2, 3], None)],
         [("SUB", [0, 2], [3], "SubOptions", {}), ("MUL", [1, 4], [5], "MulOptions", {})], [0, 1], [3, 5])]))
for condition in (False, True):
    CASES.append(Graphs(f"IF_{int(condition)}", [np.array(condition), floats(2, 3)], [
        ([("c", B, [], None), ("x", F, [2, 3], None), ("y", F, [2, 3], None)],
         [("IF", [0, 1], [2], "IfOptions", dict(thenSubgraphIndex=1, elseSubgraphIndex=2))], [0, 1], [2]),
        ([("x", F, [2, 3], None), ("y", F, [2, 3], None)], [("NEG", [0], [1], None, {})], [0], [1]),
        ([("x", F, [2, 3], None), ("y", F, [2, 3], None)], [("EXP", [0], [1], None, {})], [0], [1])]))


def missing_operators_are_listed():
    """Five operators that are not known: the error names all of them with their nodes."""
    names = ["FlexOne", "FlexTwo", "LSH_PROJECTION", "Other", "SKIP_GRAM"]
    tensors = [("x", F, [2], None)] + [(f"t{i}", F, [2], None) for i in range(5)]
    model = Graphs("missing", [], [(tensors, [(name, [i], [i + 1], None, {}) for i, name in enumerate(names)], [0], [5])]).bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "five.tflite"
        path.write_bytes(model)
        result = subprocess.run([RUNNER.parent / "minnow", "convert", path, Path(folder) / "five.minnow"], capture_output=True, text=True)
    lacking = [name for i, name in enumerate(names) if f'{name} (node "t{i}")' not in result.stderr]
    if lacking or result.returncode == 0:
        print("the error should name all unknown operators:", result.stderr, lacking)
    return not lacking and result.returncode != 0


def main():
    rules = re.findall(r'^    \{(?:\d+|kCustomCode), "(\w+)"', (SOURCE / "src/importers/tflite/rules.cpp").read_text().split("kOtherNames")[0], re.M)
    covered = {case.op for case in CASES} | set(WITHOUT_CASE)
    lacking = [rule for rule in rules if rule not in covered and not rule.startswith("STABLEHLO_")]
    failed = bool(lacking) or not missing_operators_are_listed()
    if lacking:
        print("rules without a case:", ", ".join(lacking))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(os.environ.get("MINNOW_KEEP_CASES", folder))
        rows = []
        for case in CASES:
            try:
                rows.append(case.write(folder, case.name))
            except Exception as error:  # LiteRT refuses the model: the case itself is wrong
                print(f"{case.name}: LiteRT: {error}")
                failed = True
        (folder / "manifest.json").write_text(json.dumps({"engine": f"LiteRT {importlib.metadata.version('ai-edge-litert')}", "cases": rows}))
        environment = os.environ | {"MINNOW_CORPUS": str(folder)}
        for run in (["reference"], ["cpu"], ["cpu", "--optimize"]):
            result = subprocess.run([RUNNER, "--suite", "corpus-tflite", "--backend", *run], env=environment, text=True, capture_output=True)
            print(" ".join(run), result.stdout[-20000:], result.stderr[-2000:], sep="\n")
            failed = failed or result.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
