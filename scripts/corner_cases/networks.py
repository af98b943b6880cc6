# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, attention, quantized layers, and shapes that data decide."""

import numpy as np

from .case import f16, f32, few, i8, i32, i64, one, u8


def pattern(*shape, scale=0.25, shift=5):
    return (((np.arange(int(np.prod(shape))) * 7) % 11 - shift) * scale).reshape(shape).astype(f32)


def recurrent():
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        outputs = 3 if op == "LSTM" else 2
        for steps, batch, inputs, hidden in ((1, 1, 1, 1), (3, 2, 3, 5), (2, 3, 4, 17), (3, 0, 3, 4)):
            for direction in ("forward", "reverse", "bidirectional"):
                ways = 2 if direction == "bidirectional" else 1
                x, w, r, b = (
                    pattern(steps, batch, inputs),
                    pattern(ways, gates * hidden, inputs),
                    pattern(ways, gates * hidden, hidden),
                    pattern(ways, 2 * gates * hidden),
                )
                name = f"{direction}_{steps}_{batch}_{inputs}_{hidden}"
                yield one(op, [x, w, r, b], name, outputs=outputs, hidden_size=hidden, direction=direction)
                if batch > 1 and steps > 1:
                    lengths = np.array([steps, 1, 2][:batch], i32)
                    yield one(op, [x, w, r, b, lengths], f"lengths_{name}", outputs=outputs, hidden_size=hidden, direction=direction)
                    yield one(
                        op,
                        [x, w, r, b, np.array([steps, 0, steps][:batch], i32)],
                        f"length_zero_{name}",
                        outputs=outputs,
                        hidden_size=hidden,
                        direction=direction,
                    )
        x, w, r = pattern(2, 1, 2), pattern(1, gates * 3, 2), pattern(1, gates * 3, 3)
        for value in (np.nan, np.inf, -np.inf, 1e30, -1e30):
            bad = x.copy()
            bad[0, 0, 0] = value
            yield one(op, [bad, np.abs(w) + 0.1, r], f"value_{value:g}".replace("-", "m"), outputs=outputs, hidden_size=3)
        yield one(op, [x * 1e4, np.abs(w) + 0.1, r], "large", outputs=outputs, hidden_size=3)
        yield one(op, [x * 1e4, np.abs(w) + 0.1, r], "clip", outputs=outputs, hidden_size=3, clip=2.0)
    for before in (0, 1):
        yield one(
            "GRU",
            [pattern(2, 2, 3), pattern(1, 12, 3), pattern(1, 12, 4), pattern(1, 24)],
            f"before_reset_{before}",
            outputs=2,
            hidden_size=4,
            linear_before_reset=before,
        )
    yield one(
        "LSTM",
        [pattern(2, 2, 3), pattern(1, 16, 3), pattern(1, 16, 4), pattern(1, 32), None, pattern(1, 2, 4), pattern(1, 2, 4), pattern(1, 12)],
        "peepholes",
        outputs=3,
        hidden_size=4,
    )
    for activation in ("Relu", "Tanh", "Sigmoid"):
        yield one(
            "RNN",
            [pattern(3, 2, 3) * 100, pattern(1, 4, 3), pattern(1, 4, 4)],
            f"activation_{activation.lower()}",
            outputs=2,
            hidden_size=4,
            activations=[activation],
        )


def attention():
    for q_length, kv_length in ((1, 1), (2, 3), (3, 2), (4, 4)):
        q, k, v = pattern(1, 2, q_length, 4), pattern(1, 2, kv_length, 4, scale=0.5), pattern(1, 2, kv_length, 4, shift=3)
        for causal in (0, 1):
            yield one("Attention", [q, k, v], f"{q_length}_{kv_length}_causal{causal}", opset=23, is_causal=causal)
            yield one("Attention", [q, k, v], f"{q_length}_{kv_length}_cap_causal{causal}", opset=23, is_causal=causal, softcap=0.5)
        yield one("Attention", [q * 1e4, k * 1e4, v], f"{q_length}_{kv_length}_large", opset=23)
        mask = np.where(np.arange(q_length * kv_length).reshape(q_length, kv_length) % 3 == 1, -np.inf, 0).astype(f32)
        if (mask == 0).any(1).all():
            yield one("Attention", [q, k, v, mask], f"{q_length}_{kv_length}_mask", opset=23)
            yield one("Attention", [q, k, v, mask == 0], f"{q_length}_{kv_length}_bool_mask", opset=23)
        bad = k.copy()
        bad[0, 0, 0, 0] = np.nan
        yield one("Attention", [q, bad, v], f"{q_length}_{kv_length}_nan", opset=23)
    # The parts that passes make an Attention of.
    q, k, v = pattern(1, 2, 3, 4), pattern(1, 2, 4, 3), pattern(1, 2, 3, 4, shift=3)
    for value in (1e4, 1e-3, 1e30):
        for mask_value in (-np.inf, -1e9, -3.4e38):
            mask = np.where(np.tri(3) > 0, 0, mask_value).astype(f32)[None, None]
            yield few(
                "attention_parts",
                [
                    ("MatMul", "x0 x1", "s", {}),
                    ("Mul", "s x3", "t", {}),
                    ("Add", "t x4", "u", {}),
                    ("Softmax", "u", "p", {"axis": -1}),
                    ("MatMul", "p x2", "y", {}),
                ],
                [q, k, v, np.array(value, f32), mask],
            )


def quantized():
    scale, zero = np.array(0.5, f32), np.array(10, u8)
    for x in (np.array([0, 1e10, -1e10, 127, -5, 0.25, 0.75, 3, 64], f32), np.array([np.inf, -np.inf, 0, 1, 2, 3, 4, 5, 6], f32)):
        image = x.reshape(1, 1, 3, 3)
        for weight in (127, -128, 1, 0):
            w = np.full((2, 1, 2, 2), weight, i8)
            for bias in (None, [2**31 - 1, -(2**31)], [0, 5]):
                nodes = [("QuantizeLinear", "x0 x1 x2", "a", {}), ("DequantizeLinear", "a x1 x2", "b", {}), ("DequantizeLinear", "x3 x1 x4", "w", {})]
                more = [] if bias is None else [np.array(bias, i32), np.array(0.25, f32)]
                if more:
                    nodes.append(("DequantizeLinear", "x6 x7", "e", {}))
                nodes += [
                    ("Conv", "b w e" if more else "b w", "c", {}),
                    ("Relu", "c", "d", {}),
                    ("QuantizeLinear", "d x5 x2", "f", {}),
                    ("DequantizeLinear", "f x5 x2", "y", {}),
                ]
                yield few("quantized_conv", nodes, [image, scale, zero, w, np.array(0, i8), np.array(20, f32), *more])
        nodes = [
            ("QuantizeLinear", "x0 x1 x2", "a", {}),
            ("DequantizeLinear", "a x1 x2", "b", {}),
            ("DequantizeLinear", "x3 x1 x4", "w", {}),
            ("MatMul", "b w", "c", {}),
            ("QuantizeLinear", "c x1 x2", "d", {}),
            ("DequantizeLinear", "d x1 x2", "y", {}),
        ]
        yield few("quantized_matmul", nodes, [x.reshape(3, 3), scale, zero, np.array([[127, -128], [1, 0], [-1, 5]], i8), np.array(0, i8)])
        for op in ("Add", "Mul", "Max", "Sub"):
            nodes = [
                ("QuantizeLinear", "x0 x1 x2", "a", {}),
                ("DequantizeLinear", "a x1 x2", "b", {}),
                (op, "b b", "c", {}),
                ("QuantizeLinear", "c x1 x2", "d", {}),
                ("DequantizeLinear", "d x1 x2", "y", {}),
            ]
            yield few(f"quantized_{op.lower()}", nodes, [x, scale, zero])
        for op in ("MaxPool", "AveragePool"):
            nodes = [
                ("QuantizeLinear", "x0 x1 x2", "a", {}),
                ("DequantizeLinear", "a x1 x2", "b", {}),
                (op, "b", "c", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}),
                ("QuantizeLinear", "c x1 x2", "d", {}),
                ("DequantizeLinear", "d x1 x2", "y", {}),
            ]
            yield few(f"quantized_{op.lower()}", nodes, [image, scale, zero])


def from_data():
    """The results of NonZero, Compress and others may be empty."""
    for x in ([0, 0, 0, 0], [1, 0, -1, 0], [1, 2, 3, 4]):
        x = np.array(x, f32)
        places = [("NonZero", "x0", "p", {}), ("Reshape", "p x1", "i", {}), ("Gather", "x0 i", "g", {})]
        flat = np.array([-1], i64)
        for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceL2", "ReduceLogSumExp"):
            yield few(f"nonzero_{op.lower()}", [*places, (op, "g", "y", {})], [x, flat], opset=20)
        for op in ("Relu", "Softmax", "Exp", "Neg"):
            yield few(f"nonzero_{op.lower()}", [*places, (op, "g", "y", {})], [x, flat])
        yield few("nonzero_concat", [*places, ("Concat", "g x0 g", "y", {"axis": 0})], [x, flat])
        yield few("nonzero_cumsum", [*places, ("CumSum", "g x2", "y", {})], [x, flat, np.array(0, i64)])
        yield few(
            "nonzero_matmul",
            [*places, ("Unsqueeze", "g x2", "c", {}), ("Unsqueeze", "g x3", "r", {}), ("MatMul", "c r", "y", {})],
            [x, flat, np.array([1], i64), np.array([0], i64)],
        )
        yield few("nonzero_dot", [*places, ("MatMul", "g g", "y", {})], [x, flat])
        yield few("nonzero_shape", [*places, ("Shape", "g", "s", {}), ("ConstantOfShape", "s", "y", {})], [x, flat])
        yield few("nonzero_tile", [*places, ("Tile", "g x2", "y", {})], [x, flat, np.array([2], i64)])
        yield few("nonzero_pad", [*places, ("Pad", "g x2", "y", {})], [x, flat, np.array([1, 2], i64)], opset=19)
        yield few("nonzero_scatter", [*places, ("ScatterElements", "x0 i g", "y", {"axis": 0, "reduction": "add"})], [x, flat])
        yield few("nonzero_unique", [*places, ("Unique", "g", "y a b c", {})], [x, flat], outputs=("y", "a", "b", "c"))
        yield few("nonzero_slice", [*places, ("Slice", "g x2 x3 x4 x5", "y", {})], [x, flat] + [np.array([v], i64) for v in (-1, -(2**63), 0, -1)])
        yield few(
            "nonzero_topk", [*places, ("Size", "g", "k", {}), ("Reshape", "k x1", "n", {}), ("TopK", "g n", "y z", {})], [x, flat], outputs=("y", "z")
        )
        yield few(
            "nonzero_layer_norm",
            [*places, ("Unsqueeze", "g x2", "c", {}), ("LayerNormalization", "c x3", "y", {})],
            [x, flat, np.array([1], i64), np.ones(1, f32)],
        )
        yield few(
            "compress_mean",
            [
                ("Greater", "x0 x1", "c", {}),
                ("Compress", "x0 c", "g", {}),
                ("ReduceSum", "g", "s", {}),
                ("Size", "g", "n", {}),
                ("Cast", "n", "f", {"to": 1}),
                ("Div", "s f", "y", {}),
            ],
            [x, np.array(1.5, f32)],
        )
        yield few("where_nan", [("Greater", "x0 x1", "c", {}), ("Log", "x0", "l", {}), ("Where", "c l x1", "y", {})], [x, np.array(0, f32)])


def all_of():
    for function in (recurrent, attention, quantized, from_data):
        yield from function()
