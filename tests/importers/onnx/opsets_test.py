#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of older opsets, and of ONNX Runtime's own operators, give the numbers that ONNX Runtime (from opset 7) or NumPy gives.

Every row of the importer's rule table must have a case here. The cases are written as the conformance suites are, and run by their runner;
each twice, with the inputs' shapes declared and without.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
RUNNER = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "conformance_tests"
F32, I64 = TensorProto.FLOAT, TensorProto.INT64
random = np.random.default_rng(5)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


class Case:
    def __init__(self, op, opset, inputs, /, outputs=1, weights=(), domain="", expected=None, covers=None, unranked=True, names=None,
                 **attributes):
        """inputs: arrays fed; weights: arrays that follow them as initializers (None: absent). expected: arrays, where ONNX Runtime has no
        kernel for the opset. outputs: how many, or their names ("" for absent)."""
        self.op, self.opset, self.domain = op, opset, domain
        self.rule = (domain + "." if domain else "") + op
        self.covers = covers or opset
        self.inputs, self.expected, self.unranked = list(inputs), expected, unranked
        self.weights, self.attributes = list(weights), attributes
        self.outputs = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
        self.order = names

    def model(self, ranked):
        names, values, initializers = [], [], []
        for i, array in enumerate(self.inputs):
            names.append(f"x{i}")
            values.append(helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape if ranked else None))
        for i, array in enumerate(self.weights):
            names.append("" if array is None else f"w{i}")
            if array is not None:
                initializers.append(numpy_helper.from_array(array, f"w{i}"))
                if self.opset < 9:  # IR version 3: initializers are inputs
                    values.append(helper.make_tensor_value_info(f"w{i}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        if self.order:
            names = [names[i] if i is not None else "" for i in self.order]
        node = helper.make_node(self.op, names, self.outputs, name="it", domain=self.domain, **self.attributes)
        graph = helper.make_graph([node], "g", values, [helper.make_empty_tensor_value_info(name) for name in self.outputs if name], initializers)
        opset = 17 if self.domain else self.opset
        imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(self.domain, 1)] if self.domain else [])
        return helper.make_model(graph, opset_imports=imports, ir_version=3 if opset < 9 else 8)

    def run(self):
        if self.expected is not None:
            return self.expected
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(self.model(True).SerializeToString(), options, ["CPUExecutionProvider"])
        return session.run(None, {f"x{i}": array for i, array in enumerate(self.inputs)})

    def write(self, folder):
        expected = self.run()
        for ranked in [True, False] if self.unranked else [True]:
            target = folder / f"{self.rule}_{self.covers}_{len(list(folder.iterdir()))}{'' if ranked else '_unranked'}"
            data = target / "test_data_set_0"
            data.mkdir(parents=True)
            model = self.model(ranked)
            for value, array in zip(model.graph.output, expected):
                value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(array.dtype), None))
            (target / "model.onnx").write_bytes(model.SerializeToString())
            for stem, arrays in (("input", self.inputs), ("output", expected)):
                for i, array in enumerate(arrays):
                    (data / f"{stem}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())


class MaskOfEmbedding(Case):
    """EmbedLayerNormalization whose count of words is the mask of an Attention."""

    def model(self, ranked):
        made = super().model(ranked)
        weights = np.sin(np.arange(8 * 24, dtype=np.float32)).reshape(8, 24)
        made.graph.initializer.extend([numpy_helper.from_array(weights, "qkv"), numpy_helper.from_array(weights[0], "bias")])
        made.graph.node.append(helper.make_node("Attention", ["y0", "qkv", "bias", "y1"], ["z"], domain=self.domain, num_heads=2))
        del made.graph.output[:]
        made.graph.output.append(helper.make_empty_tensor_value_info("z"))
        return made


def softmax(x, axis):
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1).astype(np.float64)
    e = np.exp(flat - flat.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape).astype(np.float32)


def scan_body():
    """state' = state + x; scan output = state'"""
    value = lambda name: helper.make_tensor_value_info(name, F32, [2])
    nodes = [helper.make_node("Add", ["s", "x"], ["s2"]), helper.make_node("Identity", ["s2"], ["o"])]
    return helper.make_graph(nodes, "body", [value("s"), value("x")], [value("s2"), value("o")])


def quantized(dtype, *shape):
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def cases():
    x = floats(2, 3, 4, 5)
    # Broadcasting by attribute.
    for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
        b = floats(3, 4) + 3
        yield Case(op, 6, [x], weights=[b], broadcast=1, axis=1, expected=[f(x, b[:, :, None])], covers=1)
        yield Case(op, 6, [x, b], broadcast=1, axis=1, expected=[f(x, b[:, :, None])], covers=1)
        yield Case(op, 1, [x], weights=[b[0, :1]], broadcast=1, expected=[f(x, b[0, 0])], consumed_inputs=[0, 0])
        yield Case(op, 6, [x, x], expected=[f(x, x)], covers=1)
    exponents = np.float32([2, 3, 4])
    yield Case("Pow", 1, [np.abs(x)], weights=[exponents], broadcast=1, axis=1, expected=[np.abs(x) ** exponents[:, None, None]])
    for op, f in (("Equal", np.equal), ("Greater", np.greater), ("Less", np.less)):
        a, b = random.integers(0, 3, (2, 3, 4)).astype(np.int32), random.integers(0, 3, (3,)).astype(np.int32)
        if op != "Equal":
            a, b = a.astype(np.float32), b.astype(np.float32)
        yield Case(op, 1, [a, b], broadcast=1, axis=1, expected=[f(a, b[:, None])])
    for op, f in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
        a, b = random.random((2, 3, 4)) > 0.5, random.random((3,)) > 0.5
        yield Case(op, 1, [a, b], broadcast=1, axis=1, expected=[f(a, b[:, None])])
    a, b, c = floats(2, 3), floats(3, 4), floats(4)
    yield Case("Gemm", 6, [a], weights=[b, c], broadcast=1, alpha=0.5, expected=[0.5 * a @ b + c], covers=1)
    slope = np.abs(floats(3))
    yield Case("PRelu", 6, [x], weights=[slope], expected=[np.where(x < 0, slope[:, None, None] * x, x)], covers=1)
    yield Case("PRelu", 6, [x], weights=[slope[:1]], expected=[np.where(x < 0, slope[0] * x, x)], covers=1)

    # Attributes that have become inputs.
    yield Case("Clip", 6, [x], min=-0.5, max=0.5, covers=1)
    yield Case("Clip", 6, [x], max=0.5, covers=1)
    yield Case("DFT", 17, [floats(2, 8, 5, 1)], axis=2, unranked=False)
    yield Case("DFT", 17, [floats(2, 8, 5, 1)], weights=[np.int64(6)], unranked=False)
    yield Case("Pad", 1, [a], paddings=[0, 1, 2, 0], value=1.5, expected=[np.pad(a, ((0, 2), (1, 0)), constant_values=1.5)])
    yield Case("Pad", 2, [x], pads=[0, 0, 1, 2, 0, 0, 1, 1], mode="reflect")
    yield Case("Pad", 10, [x], pads=[0, 0, 1, 2, 0, 0, 1, 1], value=2.0, covers=2)
    for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
        y = np.abs(x) + 0.1
        yield Case("Reduce" + op, 11, [y], axes=[1, -1], keepdims=0, covers=1)
        yield Case("Reduce" + op, 8, [y], axes=[2], covers=1)
        yield Case("Reduce" + op, 11, [y], covers=1)
    yield Case("Reshape", 1, [x], shape=[0, -1, 2], expected=[x.reshape(2, -1, 2)])
    yield Case("Slice", 9, [x], starts=[1, -3], ends=[3, 1000], axes=[1, 3], covers=1)
    yield Case("Slice", 1, [a], starts=[0, 1], ends=[1, 3], expected=[a[0:1, 1:3]])
    yield Case("Split", 2, [x], outputs=2, split=[1, 2], axis=1, expected=[x[:, :1], x[:, 1:]], covers=1)
    yield Case("Split", 11, [x], outputs=2, axis=2, covers=1)
    yield Case("Split", 13, [x], outputs=2, axis=2)
    yield Case("Split", 13, [x], weights=[np.int64([1, 3])], outputs=2, axis=2)
    yield Case("Squeeze", 11, [floats(1, 3, 1)], axes=[0, -1], covers=1)
    yield Case("Squeeze", 9, [floats(1, 3, 1)], covers=1)
    yield Case("Unsqueeze", 11, [a], axes=[0, -1], covers=1)
    yield Case("Tile", 1, [a], weights=[np.float32(3), np.float32(1)], expected=[np.tile(a, (1, 3))])
    yield Case("TopK", 9, [x], outputs=2, k=2, axis=1, covers=1)

    # Other names, defaults, meanings.
    statistics = [floats(3), floats(3), floats(3), np.abs(floats(3)) + 0.5]
    yield Case("BatchNormalization", 8, [x], weights=statistics, epsilon=1e-3, covers=7)
    yield Case("BatchNormalization", 9, [x], weights=statistics)
    s, b, m, v = (array[:, None, None] for array in statistics)
    normalized = ((x - m) / np.sqrt(v + 1e-5) * s + b).astype(np.float32)
    yield Case("BatchNormalization", 6, [x], weights=statistics, is_test=1, expected=[normalized], covers=1)
    yield Case("BatchNormalization", 1, [x], weights=statistics, is_test=0, consumed_inputs=[0, 0, 0, 1, 1], expected=[normalized])
    places = [floats(3, 4, 5), floats(3, 4, 5), floats(3, 4, 5), np.abs(floats(3, 4, 5)) + 0.5]
    s, b, m, v = places
    yield Case("BatchNormalization", 7, [x], weights=places, spatial=0, expected=[((x - m) / np.sqrt(v + 1e-5) * s + b).astype(np.float32)])
    yield Case("Cast", 1, [x * 3], to="INT32", expected=[(x * 3).astype(np.int32)])
    yield Case("Concat", 1, [a, a], expected=[np.concatenate([a, a], 1)])
    yield Case("Dropout", 1, [x], ratio=0.3, is_test=1, expected=[x])
    yield Case("Dropout", 6, [x], ratio=0.3, expected=[x], covers=1)
    yield Case("Dropout", 7, [x], outputs=2, ratio=0.3, expected=[x, np.ones_like(x)])
    yield Case("Dropout", 10, [x], outputs=2, ratio=0.3, expected=[x, np.ones(x.shape, bool)], covers=7)
    yield Case("Dropout", 12, [x], outputs=2, weights=[np.float32(0.3)])
    yield Case("Dropout", 13, [x], outputs=2, weights=[np.float32(0.3), np.array(True)], expected=[x, np.ones(x.shape, bool)], covers=12)
    yield Case("GlobalLpPool", 1, [x], p=2.0, expected=[np.sqrt((x * x).sum((2, 3), keepdims=True))])
    yield Case("LpPool", 1, [x], p=1.0, kernel_shape=[2, 2], strides=[2, 2],
               expected=[np.abs(x[:, :, :, :4]).reshape(2, 3, 2, 2, 2, 2).sum((3, 5))])
    sequence = floats(4, 2, 3)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        weights = [floats(1, gates * 5, 3), floats(1, gates * 5, 5), floats(1, gates * 10)]
        new = Case(op, 8, [sequence], weights=weights, outputs=2, hidden_size=5, covers=1)
        yield Case(op, 1, [sequence], weights=weights, outputs=2, hidden_size=5, output_sequence=1, expected=new.run())
    grid = random.uniform(-1.2, 1.2, (2, 3, 3, 2)).astype(np.float32)
    for mode in ("bilinear", "nearest", "bicubic"):
        yield Case("GridSample", 16, [x, grid], mode=mode)
    scale, bias = floats(2), floats(2)
    y = floats(2, 6, 5)
    groups = y.reshape(2, 2, -1)
    groups = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    expected = (groups * scale[:, None] + bias[:, None]).reshape(y.shape).astype(np.float32)
    yield Case("GroupNormalization", 18, [y], weights=[scale, bias], num_groups=2, expected=[expected])
    yield Case("GroupNormalization", 18, [y, scale, bias], num_groups=2, expected=[expected], unranked=False)
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis in (0, 1, 2, 3):
            yield Case(op, 9, [x], axis=axis, covers=1)
        yield Case(op, 11, [x], axis=-2, covers=1)
        yield Case(op, 11, [floats(2, 7, 1, 1)], covers=1)
        yield Case(op, 7, [a], covers=1)
    yield Case("Softmax", 1, [x], axis=2, expected=[softmax(x, 2)])
    for mode in ("nearest", "linear"):
        yield Case("Resize", 10, [x], weights=[np.float32([1, 1, 1.7, 2])], mode=mode)
        yield Case("Resize", 10, [x], weights=[np.float32([1, 1, 0.6, 0.5])], mode=mode)
        yield Case("Resize", 10, [x], weights=[np.float32([1, 1, 0.6, 1.7])], mode=mode)
        yield Case("Resize", 10, [x, np.float32([1, 1, 0.6, 1.7])], mode=mode)
        yield Case("Upsample", 7, [x], scales=[1.0, 1.0, 1.5, 2.0], mode=mode)
        yield Case("Upsample", 9, [x], weights=[np.float32([1, 1, 1.5, 2])], mode=mode)
    yield Case("Upsample", 1, [x], height_scale=2.0, width_scale=3.0, mode="nearest", expected=[x.repeat(2, 2).repeat(3, 3)])
    none = np.zeros(0, np.float32)
    for coordinates in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        yield Case("Resize", 11, [x], weights=[none, np.float32([1, 1, 2, 2])], mode="linear", coordinate_transformation_mode=coordinates)
        yield Case("Resize", 12, [x], weights=[none, none, np.int64([2, 3, 7, 3])], mode="cubic", coordinate_transformation_mode=coordinates, covers=11)
    rois = np.float32([[0, 0, 9, 9], [1, 2, 5, 6]])
    yield Case("RoiAlign", 10, [floats(1, 2, 10, 10)], weights=[rois, np.int64([0, 0])], output_height=3, output_width=3, sampling_ratio=2)
    data, indices = floats(3, 4), random.integers(0, 3, (2, 4))
    yield Case("Scatter", 9, [data], weights=[np.int64([[0, 1, 2, 0], [2, 0, 1, 1]]), floats(2, 4)])
    yield Case("Scatter", 11, [data], weights=[np.int64([[0, 0, 0, 0]]), data[:1]], expected=[data], covers=9)
    yield Case("Selu", 1, [x], expected=[(1.0507 * np.where(x > 0, x, 1.6732 * np.exp(np.minimum(x, 0)) - 1.6732)).astype(np.float32)])
    state, steps = floats(3, 2), floats(3, 4, 2)
    sums = state[:, None] + np.cumsum(steps, 1)
    yield Case("Scan", 8, [state, steps], outputs=2, names=[None, 0, 1], body=scan_body(), num_scan_inputs=1, expected=[sums[:, -1], sums], unranked=False)

    # Quantized operators. Scales that keep roundings away from halves, so that both engines agree exactly.
    q, w = quantized(np.uint8, 1, 2, 6, 6), quantized(np.int8, 3, 2, 3, 3)
    one = lambda value, dtype=np.float32: np.array(value, dtype)
    for zero, scales in ((one(0, np.int8), one(0.011)), (np.zeros(3, np.int8), np.float32([0.011, 0.017, 0.023]))):
        yield Case("QLinearConv", 10, [q], weights=[one(0.021), one(120, np.uint8), w, scales, zero, one(0.93), one(7, np.uint8)],
                   pads=[1, 1, 1, 1])
        yield Case("QLinearConv", 10, [q], weights=[one(0.021), one(120, np.uint8), w, scales, zero, one(0.93), one(7, np.uint8),
                                                    np.int32([100, -900, 5000])], strides=[2, 2])
    p, r = quantized(np.uint8, 4, 5), quantized(np.int8, 5, 3)
    yield Case("QLinearMatMul", 10, [p], weights=[np.float32([0.031]), np.uint8([113]), r, np.float32([0.017]), np.int8([0]), np.float32([0.37]), np.uint8([118])])
    yield Case("QLinearMatMul", 10, [p], weights=[one(0.031), one(113, np.uint8), r, np.float32([0.017, 0.01, 0.02]), np.zeros(3, np.int8), one(0.37), one(118, np.uint8)])
    ms = "com.microsoft"
    u, t = quantized(np.uint8, 2, 3, 4), quantized(np.uint8, 3, 4)
    pair = [one(0.017), one(120, np.uint8)]
    yield Case("QLinearAdd", 1, [u], weights=[*pair, t, one(0.023), one(99, np.uint8), one(0.041), one(128, np.uint8)], domain=ms)
    yield Case("QLinearMul", 1, [u], weights=[*pair, t, one(0.023), one(99, np.uint8), one(0.043), one(128, np.uint8)], domain=ms)
    yield Case("QLinearSigmoid", 1, [u], weights=[*pair, one(1 / 256), one(0, np.uint8)], domain=ms)
    yield Case("QLinearLeakyRelu", 1, [u], weights=[*pair, one(0.0171), one(90, np.uint8)], domain=ms, alpha=0.1)
    yield Case("QLinearAveragePool", 1, [q], weights=[*pair, one(0.0123), one(100, np.uint8)], domain=ms, kernel_shape=[2, 2])
    yield Case("QLinearGlobalAveragePool", 1, [q], weights=[*pair, one(0.0023), one(100, np.uint8)], domain=ms)
    yield Case("QLinearConcat", 1, [u], weights=[one(0.0191), one(100, np.uint8), *pair, quantized(np.uint8, 2, 2, 4), one(0.0233), one(99, np.uint8)], domain=ms, axis=1, names=[1, 2, 0, 3, 4, 5, 6, 7])
    w, bias = quantized(np.int8, 5, 3), np.int32([700, -1000, 90])
    for turned in (0, 1):
        b = np.ascontiguousarray(w.T) if turned else w
        yield Case("QGemm", 1, [p], weights=[one(0.031), one(113, np.uint8), b, one(0.017), one(3, np.int8), bias, one(0.37), one(118, np.uint8)], domain=ms, transB=turned)
        yield Case("QGemm", 1, [p], weights=[one(0.031), one(113, np.uint8), b, np.float32([0.017, 0.01, 0.02]), np.zeros(3, np.int8), bias, one(0.37), one(118, np.uint8)], domain=ms, transB=turned, alpha=0.7)
    yield Case("QGemm", 1, [p], weights=[one(0.031), one(113, np.uint8), w, one(0.017), one(3, np.int8), bias[None]], domain=ms)
    yield Case("QGemm", 1, [p], weights=[one(0.031), one(113, np.uint8), w, one(0.017), one(3, np.int8), None, one(0.37), one(118, np.uint8)], domain=ms)
    yield Case("QLinearSoftmax", 1, [u], weights=[one(0.0171), one(120, np.uint8), one(1 / 256), one(0, np.uint8)], domain=ms, axis=-1, opset=13)
    yield Case("QLinearSoftmax", 1, [u], weights=[one(0.0171), one(120, np.uint8), one(1 / 128), one(3, np.uint8)], domain=ms, axis=1, opset=13)
    yield Case("QLinearSoftmax", 1, [u], weights=[one(0.0171), one(120, np.uint8), one(1 / 256), one(0, np.uint8)], domain=ms, axis=1, opset=11)
    yield Case("QLinearSoftmax", 1, [u.astype(np.int8)], weights=[one(0.0171), one(20, np.int8), one(1 / 256), one(-128, np.int8)], domain=ms, axis=-1, opset=13)
    yield Case("QLinearWhere", 1, [random.random((3, 4)) > 0.5, u], weights=[*pair, t, one(0.0233), one(99, np.uint8), one(0.0291), one(115, np.uint8)], domain=ms)
    ids = np.int32([[1, 2, 3], [3, 0, 1]])
    counts = np.int32([[1, 1, 0], [1, 1, 1]])
    tables = [quantized(np.uint8, 5, 8), quantized(np.uint8, 6, 8), quantized(np.uint8, 2, 8), quantized(np.uint8, 8), quantized(np.uint8, 8)]
    steps = [one(0.02), one(0.017), one(0.03), one(0.01), one(0.05)]
    yield Case("QEmbedLayerNormalization", 1, [ids, ids % 2], outputs=2, weights=[*tables, counts, *steps, *(one(120 + i, np.uint8) for i in range(5))], domain=ms, epsilon=1e-6)
    yield Case("QEmbedLayerNormalization", 1, [ids], outputs=2, weights=[None, *tables[:2], None, *tables[3:], None, *steps[:2], None, *steps[3:],
                                                              *(None if i == 2 else one(120 + i, np.uint8) for i in range(5))], domain=ms)
    w, before = quantized(np.int8, 8, 24), floats(2, 2, 2, 2, 4)
    sides = [floats(24), one(0.017), one(0.013)]
    y = quantized(np.uint8, 2, 3, 8)
    yield Case("QAttention", 1, [y], weights=[w, *sides, None, one(120, np.uint8), one(3, np.int8)], domain=ms, num_heads=2)
    yield Case("QAttention", 1, [y], weights=[w, *sides[:2], np.abs(floats(24)) * 0.01, counts, one(120, np.uint8), np.zeros(24, np.int8)], domain=ms, num_heads=2, unidirectional=1)
    yield Case("QAttention", 1, [y], weights=[w, *sides, np.int32([2, 3]), one(120, np.uint8), one(3, np.int8)], domain=ms, num_heads=2)
    yield Case("QAttention", 1, [y], outputs=2, weights=[w, *sides, None, one(120, np.uint8), one(3, np.int8), before], domain=ms, num_heads=2, unidirectional=1)
    yield Case("QuantizeLinear", 1, [a], weights=[one(0.013), one(127, np.uint8)], domain=ms)
    yield Case("DequantizeLinear", 1, [u], weights=pair, domain=ms)
    yield Case("DynamicQuantizeMatMul", 1, [floats(4, 5)], weights=[r, one(0.017), one(3, np.int8), floats(3)], domain=ms)
    yield Case("MatMulIntegerToFloat", 1, [p], weights=[r, one(0.031), np.float32([0.017, 0.01, 0.02]), one(113, np.uint8), np.int8([0, 1, 2]), floats(3)], domain=ms)
    w, r = quantized(np.int8, 2, 3, 20), quantized(np.int8, 2, 5, 20)
    scales = lambda: np.abs(floats(2)) * 0.005 + 0.005
    for scales in ([np.abs(floats(2)) * 0.005 + 0.005 for _ in "wr"], [np.abs(floats(2, 20)) * 0.005 + 0.005 for _ in "wr"]):
        zeros = np.zeros(scales[0].shape, np.int8)
        # The hidden state keeps its precision, so the expected numbers are those of the LSTM with rounded input and weights.
        spread = [(array * scale.reshape(2, 1, -1)).transpose(0, 2, 1).astype(np.float32) for array, scale in zip((w, r), scales)]
        step = (max(sequence.max(), 0) - min(sequence.min(), 0)) / 255
        zero = np.round(-min(sequence.min(), 0) / step)
        rounded = ((np.clip(np.round(sequence / step) + zero, 0, 255) - zero) * step).astype(np.float32)
        b = floats(2, 40)
        oracle = Case("LSTM", 14, [rounded], weights=[*spread, b], outputs=3, hidden_size=5, direction="bidirectional")
        yield Case("DynamicQuantizeLSTM", 1, [sequence], outputs=3, domain=ms, hidden_size=5, direction="bidirectional",
                   weights=[w, r, b, None, None, None, None, scales[0], zeros, scales[1], zeros], expected=oracle.run())

    # Operators that ONNX Runtime's optimizer writes.
    yield Case("FusedMatMul", 1, [floats(2, 5, 4)], weights=[floats(3, 5)], domain=ms, transA=1, transB=1, alpha=0.5, unranked=False)
    yield Case("FusedMatMul", 1, [floats(2, 4, 5)], weights=[floats(5, 3)], domain=ms, alpha=2.0)
    for activation, parameters in (("Relu", None), ("LeakyRelu", [0.2]), ("HardSigmoid", [0.3, 0.4]), ("Clip", [-0.1, 0.2]), ("Tanh", None), ("Sigmoid", None)):
        more = {"activation_params": parameters} if parameters else {}
        yield Case("FusedConv", 1, [floats(1, 2, 6, 6)], weights=[floats(3, 2, 3, 3), floats(3)], domain=ms, activation=activation, **more)
    yield Case("FusedConv", 1, [floats(1, 2, 6, 6)], weights=[floats(3, 2, 1, 1), floats(3), floats(1, 3, 6, 6)], domain=ms, activation="Relu")
    yield Case("FusedGemm", 1, [a], weights=[floats(3, 4), c], domain=ms, activation="LeakyRelu", activation_alpha=0.3)
    # Weights of a few bits, as streams with the lowest bits first.
    for bits, block, more in ((4, 16, {}), (4, 32, {}), (8, 16, {}), (2, 16, {})):
        blocks = -(-40 // block)
        packed, scales = quantized(np.uint8, 6, blocks, block * bits // 8), np.abs(floats(6 * blocks))
        zeros = quantized(np.uint8, 6 * -(-blocks * bits // 8))
        yield Case("MatMulNBits", 1, [floats(2, 3, 40)], weights=[packed, scales], domain=ms, K=40, N=6, bits=bits, block_size=block)
        yield Case("MatMulNBits", 1, [floats(2, 3, 40)], weights=[packed, scales, zeros, None, floats(6)], domain=ms, K=40, N=6, bits=bits, block_size=block)
    places = np.array([[1, 5, 0]])
    for bits in (4, 8):
        table, scales = quantized(np.uint8, 6, 32 * bits // 8), np.abs(floats(6, 2))
        zeros = quantized(np.uint8, 6, 2 * bits // 8)
        for weights in ([scales], [scales, zeros]):
            yield Case("GatherBlockQuantized", 1, [], weights=[table, places, *weights], domain=ms, gather_axis=0, quantize_axis=1, block_size=16, bits=bits, unranked=False)
    yield Case("Gelu", 1, [x], domain=ms)
    yield Case("BiasGelu", 1, [x], weights=[floats(5)], domain=ms)
    yield Case("FastGelu", 1, [x], domain=ms)
    yield Case("FastGelu", 1, [x], weights=[floats(5)], domain=ms)
    yield Case("QuickGelu", 1, [x], domain=ms, alpha=1.5)
    y, skip = floats(2, 3, 8), floats(2, 3, 8)
    yield Case("SkipLayerNormalization", 1, [y, skip], weights=[floats(8), floats(8), floats(8)], domain=ms, epsilon=1e-5, outputs=["y0", "", "", "y3"])
    yield Case("SkipLayerNormalization", 1, [y, skip], weights=[floats(8)], domain=ms, epsilon=1e-5)
    yield Case("SkipSimplifiedLayerNormalization", 1, [y, skip], weights=[floats(8), floats(8)], domain=ms, epsilon=1e-5, outputs=["y0", "", "", "y3"])
    ids = np.int32([[1, 2, 3], [3, 0, 1]])
    tables = [floats(5, 8), floats(6, 8), floats(2, 8), floats(8), floats(8)]
    yield Case("EmbedLayerNormalization", 1, [ids, ids % 2], outputs=3, weights=[*tables, np.int32([[1, 1, 0], [1, 1, 1]])], domain=ms)
    yield Case("EmbedLayerNormalization", 1, [ids], outputs=2, weights=[None, *tables[:2], None, *tables[3:], None, np.int32([[2, 0, 5]] * 2)], domain=ms)
    yield MaskOfEmbedding("EmbedLayerNormalization", 1, [ids], outputs=2, weights=[ids % 2, *tables, counts], domain=ms)
    w, b = floats(8, 24), floats(24)
    yield Case("Attention", 1, [y], weights=[w, b], domain=ms, num_heads=2)
    yield Case("Attention", 1, [y], weights=[w, b, np.int32([[1, 1, 0], [1, 0, 1]])], domain=ms, num_heads=4, unidirectional=1, scale=0.3)
    yield Case("Attention", 1, [y], weights=[w, b, np.int32([2, 3]), None, floats(1, 2, 3, 3)], domain=ms, num_heads=2)
    yield Case("Attention", 1, [y], weights=[floats(8, 20), floats(20), random.integers(0, 2, (2, 3, 3)).astype(np.int32)], domain=ms, num_heads=2, qkv_hidden_sizes=[8, 8, 4], mask_filter_value=-3.0)
    yield Case("Attention", 1, [y], outputs=2, weights=[w, b, np.int32([[1, 1, 1, 0, 1], [1, 0, 1, 1, 1]]), floats(2, 2, 2, 2, 4)], domain=ms, num_heads=2)
    yield Case("SimplifiedLayerNormalization", 17, [y], weights=[floats(8)], axis=-1, epsilon=1e-5, covers=1)

    # Newer than ONNX Runtime.
    gate, value = floats(3, 5), floats(3, 5)
    yield Case("SwiGLU", 28, [gate, value], alpha=1.5, expected=[gate / (1 + np.exp(-1.5 * gate)) * value])
    q, k, v = floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)
    scores = np.exp(0.3 * q @ np.repeat(k, 2, 1).swapaxes(2, 3))
    yield Case("FlexAttention", 1, [q, k, v], domain="ai.onnx.preview", scale=0.3, unranked=False,
               expected=[scores / scores.sum(-1, keepdims=True) @ np.repeat(v, 2, 1)])


class Opsets(unittest.TestCase):
    def test_every_rule_has_a_case(self):
        table = (SOURCE / "src" / "importers" / "onnx" / "rules.cpp").read_text()
        rules = {(op, int(since)) for op, since, build in re.findall(r'\{"([\w.]+)", (\d+), (\w+)\}', table) if build != "import_copy"}
        self.assertGreater(len(rules), 50)
        self.assertEqual(rules - {(case.rule, case.covers) for case in cases()}, set())

    def test_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            suite = Path(folder) / "opsets"
            suite.mkdir()
            # Without instructions for products of bytes, ONNX Runtime adds pairs of them in 16 bits, which saturate.
            cpu = Path("/proc/cpuinfo")
            exact = not cpu.exists() or "vnni" in cpu.read_text()
            for case in cases():
                if case.rule == "QLinearConv" and not exact:
                    continue
                with self.subTest(case.rule):
                    case.write(suite)
            result = subprocess.run([RUNNER, "--suite", "opsets"], env={**os.environ, "MINNOW_ONNX_CASES": folder}, capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn(" 0 failed", result.stdout)


if __name__ == "__main__":
    unittest.main()
