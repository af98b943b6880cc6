# SPDX-License-Identifier: Apache-2.0
"""Operators between convolutions, which compute on channels packed into vectors, and rewrites that scale weights or join operators."""

import numpy as np

from .case import corner_floats, f32, few, i64, one
from .elementwise import PLAIN


def image(channels, dtype=f32, shift=0, mild=False):
    """Corner values as [1, channels, 5, 6]; every place and channel has another one."""
    values = np.roll(corner_floats(dtype), shift)
    if mild:  # sums do not depend on their order
        values = values[~(np.abs(values) > 1e4) | np.isinf(values)]
    return np.resize(values, (1, channels, 5, 6)).astype(dtype)


def ones(channels, dtype=f32):
    return np.ones((channels, 1, 1, 1), dtype)


def between(name, nodes, channels, more=(), dtype=f32, mild=False):
    """A depthwise convolution by 1, the nodes from "a" to "b", and another one. NaN stays in its place."""
    first = ("Conv", "x0 x1", "a", {"group": channels})
    last = ("Conv", "b x2", "y", {"group": channels})
    case = few(
        f"between_{name}_{channels}", [first, *nodes, last], [image(channels, dtype, 0, mild), ones(channels, dtype), ones(channels, dtype), *more]
    )
    op, inputs, _, attributes = nodes[0]
    if len(nodes) == 1 and inputs.split()[1:] == [f"x{i + 3}" for i in range(len(more))]:
        case.inner = one(op, [image(channels, dtype, 0, mild), *more], "inner", **attributes)
    return case


UNARY = [name for name in PLAIN if name not in ("IsNaN", "IsInf")]


def packed():
    for channels in (3, 5, 17):
        for op in UNARY:
            yield between(op.lower(), [(op, "a", "b", {})], channels)
        for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Pow", "Mean", "Sum"):
            yield between(f"{op.lower()}_image", [(op, "a x3", "b", {})], channels, [image(channels, f32, 7)])
            yield between(f"{op.lower()}_channel", [(op, "a x3", "b", {})], channels, [image(channels, f32, 3)[0, :, :1, :1].copy()])
            if op != "PRelu":
                yield between(f"{op.lower()}_scalar", [(op, "a x3", "b", {})], channels, [np.array(np.nan, f32)])
                yield between(f"{op.lower()}_self", [(op, "a a", "b", {})], channels)
                yield between(
                    f"{op.lower()}_packed", [("Conv", "x3 x1", "c", {"group": channels}), (op, "a c", "b", {})], channels, [image(channels, f32, 11)]
                )
        for low, high in ((0, 6), (np.nan, 1), (-1, np.nan), (1, -1)):
            yield between(f"clip_{low}_{high}".replace("-", "m"), [("Clip", "a x3 x4", "b", {})], channels, [np.array(low, f32), np.array(high, f32)])
        for op, attributes in (
            ("MaxPool", {"kernel_shape": [2, 2]}),
            ("MaxPool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ("AveragePool", {"kernel_shape": [2, 2]}),
            ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1, "strides": [2, 2]}),
            ("GlobalMaxPool", {}),
            ("GlobalAveragePool", {}),
            ("LRN", {"size": 3, "alpha": 1.0, "beta": 0.5, "bias": 1.0}),
            ("Softmax", {"axis": 1}),
            ("LogSoftmax", {"axis": 1}),
            ("Softmax", {"axis": 3}),
            ("Transpose", {"perm": [0, 1, 3, 2]}),
            ("Pad", None),
            ("Slice", None),
        ):
            if op == "Pad":
                for mode in ("constant", "edge", "reflect", "wrap"):
                    yield between(f"pad_{mode}", [("Pad", "a x3", "b", {"mode": mode})], channels, [np.array([0, 0, 1, 2, 0, 0, 2, 1], i64)])
                continue
            if op == "Slice":
                for start, end, step in ((2**63 - 1, -(2**63), -1), (-(2**63), 2**63 - 1, 2), (1, 4, 1), (-(2**63), -(2**63), -1)):
                    yield between("slice", [("Slice", "a x3 x4 x5 x6", "b", {})], channels, [np.array([v], i64) for v in (start, end, 2, step)])
                continue
            yield between(op.lower(), [(op, "a", "b", attributes)], channels, mild="Average" in op)
        for value in (0.5, 0, 6, np.inf, -np.inf):
            for op in ("Max", "Min"):
                yield between(f"{op.lower()}_{value:g}".replace("-", "m"), [(op, "a x3", "b", {})], channels, [np.array(value, f32)])
            yield between(
                f"max_min_{value:g}".replace("-", "m"),
                [("Max", "a x3", "c", {}), ("Min", "c x4", "b", {})],
                channels,
                [np.array(value, f32), np.array(1, f32)],
            )
        yield between("where", [("Greater", "a x3", "c", {}), ("Where", "c a x3", "b", {})], channels, [np.array(0, f32)])
        yield between("swish", [("Sigmoid", "a", "c", {}), ("Mul", "a c", "b", {})], channels)
        yield between("hard_swish", [("HardSigmoid", "a", "c", {"alpha": 1 / 6, "beta": 0.5}), ("Mul", "a c", "b", {})], channels)
        yield between("relu6", [("Relu", "a", "c", {}), ("Min", "c x3", "b", {})], channels, [np.array(6, f32)])
        yield between("gated", [("GlobalAveragePool", "a", "c", {}), ("Sigmoid", "c", "d", {}), ("Mul", "a d", "b", {})], channels, mild=True)


def rewritten():
    """Factors that passes could move into weights, over inputs with zeros: 0 * infinity would be NaN."""
    x = np.array([0, 1, -1, 2, 1e-20, -3, 0, 5, 7], f32).reshape(1, 1, 3, 3)
    x2 = np.concatenate([x, x[:, :, ::-1], 0 * x], 1)
    weight = np.array([1e20, 0, 0, 1, 0.5, 0.25], f32).reshape(2, 3, 1, 1)  # nothing cancels, with or without fused multiplication
    matrix = np.array([[1e20, 0], [0, 1], [0, 0.5]], f32)
    rows = x2.reshape(3, 9).T.copy()
    for value in (1e30, 0.0, 1e-30, 1e-40, 3e38, np.inf, np.nan, -1e30, -0.0):
        factor = np.array(value, f32)
        name = f"{value:g}".replace("-", "m").replace("+", "")
        for op in ("Mul", "Div", "Add", "Sub"):
            yield few(f"conv_{op.lower()}_{name}", [("Conv", "x0 x1", "a", {}), (op, "a x2", "y", {})], [x2, weight, factor])
            yield few(f"{op.lower()}_conv_{name}", [(op, "x0 x2", "a", {}), ("Conv", "a x1", "y", {})], [x2, weight, factor])
            yield few(
                f"conv_bias_{op.lower()}_{name}",
                [("Conv", "x0 x1 x3", "a", {}), (op, "a x2", "y", {})],
                [x2, weight, factor, np.array([1e10, 0], f32)],
            )
            yield few(f"matmul_{op.lower()}_{name}", [("MatMul", "x0 x1", "a", {}), (op, "a x2", "y", {})], [rows, matrix, factor])
            yield few(f"{op.lower()}_matmul_{name}", [(op, "x0 x2", "a", {}), ("MatMul", "a x1", "y", {})], [rows, matrix, factor])
            yield few(
                f"gemm_{op.lower()}_{name}", [("Gemm", "x0 x1 x3", "a", {}), (op, "a x2", "y", {})], [rows, matrix, factor, np.array([1e10, 0], f32)]
            )
        for first, second in (
            ("Mul", "Div"),
            ("Div", "Mul"),
            ("Add", "Sub"),
            ("Mul", "Mul"),
            ("Div", "Div"),
            ("Add", "Add"),
            ("Sub", "Mul"),
            ("Mul", "Add"),
        ):
            values = corner_floats(f32)
            yield few(f"{first.lower()}_{second.lower()}_{name}", [(first, "x0 x1", "a", {}), (second, "a x1", "y", {})], [values, factor])
        for op in ("Max", "Min"):
            yield few(f"{op.lower()}_number_{name}", [(op, "x0 x1", "y", {})], [corner_floats(f32), factor])
            yield few(f"relu_{op.lower()}_{name}", [("Relu", "x0", "a", {}), (op, "a x1", "y", {})], [corner_floats(f32), factor])
        for left in ("Div", "Sub", "Pow"):
            yield few(f"{left.lower()}_of_{name}", [(left, "x1 x0", "y", {})], [corner_floats(f32), factor])
        yield few(
            f"conv_batch_norm_{name}",
            [("Conv", "x0 x1", "a", {}), ("BatchNormalization", "a x2 x3 x4 x5", "y", {})],
            [x2, weight, np.array([value, 1], f32), np.array([0, 1], f32), np.array([0, 1e10], f32), np.array([1, 1e-30], f32)],
        )
        yield few(
            f"batch_norm_relu_{name}",
            [("BatchNormalization", "x0 x1 x2 x3 x4", "a", {}), ("Relu", "a", "y", {})],
            [x2[:, :2].copy(), np.array([value, 1], f32), np.array([0, 1], f32), np.array([0, 1e10], f32), np.array([1, 1e-30], f32)],
        )


def long():
    """Lengths that kernels cut into parts."""
    for length in (1000, 5000, 40000):
        row = (np.arange(length) % 17 - 8).astype(f32)
        for at, value in ((0, np.nan), (length - 1, np.nan), (length // 2, np.nan), (length - 1, np.inf), (length // 3, -np.inf), (length - 3, 3e38)):
            x = row.copy()
            x[at] = value
            name = f"{length}_{at}_{value:g}".replace("-", "m").replace("+", "")
            for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL2", "ReduceLogSumExp"):
                yield few(f"long_{op.lower()}_{name}", [(op, "x0", "y", {})], [x], opset=20)
            for op in ("ArgMax", "ArgMin"):
                yield few(f"long_{op.lower()}_{name}", [(op, "x0", "y", {"axis": 0})], [x])
            if length == 1000:
                for op in ("Softmax", "LogSoftmax", "CumSum"):
                    more = [np.array(0, i64)] if op == "CumSum" else []
                    yield few(f"long_{op.lower()}_{name}", [(op, "x0 x1" if more else "x0", "y", {})], [x] + more)
                yield few(f"long_topk_{name}", [("TopK", "x0 x1", "y z", {})], [x, np.array([7], i64)], outputs=("y", "z"))
    for m, k, n in ((1, 300, 5), (33, 70, 65), (130, 9, 300)):
        a, b = (np.arange(m * k) % 7 - 3).reshape(m, k).astype(f32), (np.arange(k * n) % 5 - 2).reshape(k, n).astype(f32)
        for value in (np.nan, np.inf, -np.inf):
            left, right = a.copy(), b.copy()
            left[m // 2, k - 1], right[k // 2, n - 1] = value, value
            b_zero = b.copy()
            b_zero[k - 1] = 1
            yield few(f"long_matmul_left_{m}_{k}_{n}", [("MatMul", "x0 x1", "y", {})], [left, b_zero])
            yield few(f"long_matmul_right_{m}_{k}_{n}", [("MatMul", "x0 x1", "y", {})], [np.abs(a) + 1, right])


def all_of():
    for function in (packed, rewritten, long):
        yield from function()
