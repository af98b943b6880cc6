# SPDX-License-Identifier: Apache-2.0
"""Functions of single elements, of pairs and of several."""

import numpy as np

from .case import FLOATS, INTEGERS, corner_floats, corner_integers, f16, f32, f64, bf16, few, few_floats, i8, i32, i64, u8, one

PLAIN = [
    "Abs",
    "Neg",
    "Ceil",
    "Floor",
    "Round",
    "Sqrt",
    "Reciprocal",
    "Exp",
    "Log",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "Sinh",
    "Cosh",
    "Tanh",
    "Asinh",
    "Acosh",
    "Atanh",
    "Erf",
    "Sigmoid",
    "HardSigmoid",
    "HardSwish",
    "Relu",
    "LeakyRelu",
    "Elu",
    "Selu",
    "Celu",
    "Softplus",
    "Softsign",
    "Mish",
    "Gelu",
    "ThresholdedRelu",
    "Sign",
    "Identity",
    "IsNaN",
    "IsInf",
]
WITH = [
    ("LeakyRelu", {"alpha": -0.5}),
    ("LeakyRelu", {"alpha": 0.0}),
    ("LeakyRelu", {"alpha": 2.0}),
    ("Elu", {"alpha": 0.5}),
    ("Elu", {"alpha": 0.0}),
    ("Celu", {"alpha": 2.0}),
    ("Celu", {"alpha": 0.01}),
    ("Selu", {"alpha": 0.0, "gamma": 2.0}),
    ("Gelu", {"approximate": "tanh"}),
    ("ThresholdedRelu", {"alpha": 0.0}),
    ("ThresholdedRelu", {"alpha": -1.0}),
    ("HardSigmoid", {"alpha": 0.0, "beta": 0.5}),
    ("HardSigmoid", {"alpha": -0.5, "beta": 0.25}),
    ("HardSigmoid", {"alpha": 1e30, "beta": -1.0}),
    ("IsInf", {"detect_negative": 0}),
    ("IsInf", {"detect_positive": 0}),
    ("IsInf", {"detect_positive": 0, "detect_negative": 0}),
    ("Shrink", {}),
    ("Shrink", {"lambd": 1.5, "bias": 1.5}),
    ("Shrink", {"lambd": -1.0, "bias": 0.5}),
    ("Shrink", {"lambd": 0.0, "bias": 1e30}),
]
CELU = {"Celu"}  # of f32 alone before opset 28


def allowed(op, dtype):
    if op == "Celu":
        return dtype == f32
    if op == "Shrink":
        return dtype != bf16
    return True


def unary():
    for dtype in FLOATS:
        x = corner_floats(dtype)
        for op, attributes in [(op, {}) for op in PLAIN] + WITH:
            if allowed(op, dtype):
                yield one(op, [x], "values", **attributes)
        for alpha in (1.0, -1.0, 0.0, 1.702):
            yield one("Swish", [x], f"alpha{alpha}", opset=24, alpha=alpha)
        for op in ("Exp", "Relu", "Tanh", "Abs", "Softplus", "HardSwish"):
            yield one(op, [np.zeros((0, 3), dtype)], "empty")
            yield one(op, [np.array(np.nan, dtype)], "nan_scalar")
    for dtype in INTEGERS:
        x = corner_integers(dtype)
        for op in ("Abs", "Sign", "Identity", "BitwiseNot"):
            yield one(op, [x], "values")
        if dtype.kind == "i":
            yield one("Neg", [x], "values")
            yield one("Relu", [x], "values", opset=14)
        for attributes in ({"lambd": 1.5, "bias": 1.5}, {"lambd": 0.5, "bias": 0.0}, {"lambd": 2.0, "bias": -1.0}):
            yield one("Shrink", [corner_integers(dtype)[:8]], "values", **attributes)
    # A zero's sign shows in what it divides.
    zeros = np.array([0.0, -0.0, 0.3, -0.3, -0.5, 0.5, np.nan, -np.inf, np.inf, 1e-45, -1e-45], f32)
    for op in (
        "Neg",
        "Abs",
        "Ceil",
        "Floor",
        "Round",
        "Sqrt",
        "Sin",
        "Tan",
        "Asin",
        "Atan",
        "Sinh",
        "Tanh",
        "Asinh",
        "Atanh",
        "Identity",
        "Sign",
        "Relu",
        "LeakyRelu",
        "Erf",
        "Softsign",
    ):
        yield few(f"zero_sign_{op.lower()}", [(op, "x0", "a", {}), ("Reciprocal", "a", "y", {})], [zeros])


def pairs(dtype):
    x = few_floats(dtype) if dtype.kind not in "iu" else corner_integers(dtype)
    return x[:, None], x[None, :]


def binary():
    for dtype in FLOATS:
        a, b = pairs(dtype)
        flat = [np.ascontiguousarray(v).reshape(-1) for v in np.broadcast_arrays(a, b)]
        for op in (
            "Add",
            "Sub",
            "Mul",
            "Div",
            "Pow",
            "PRelu",
            "Max",
            "Min",
            "Mean",
            "Sum",
            "Less",
            "LessOrEqual",
            "Greater",
            "GreaterOrEqual",
            "Equal",
        ):
            yield one(op, flat, "pairs")
            if op != "PRelu":
                yield one(op, [a, b], "outer")
                yield one(op, [np.array(np.nan, dtype), few_floats(dtype)], "nan_left")
                yield one(op, [few_floats(dtype), np.array(np.nan, dtype)], "nan_right")
                yield one(op, [np.zeros((0, 3), dtype), np.ones((1, 3), dtype)], "empty")
        yield one("Mod", flat, "fmod", fmod=1)
        yield one("Mod", [few_floats(dtype), np.array(-3, dtype)], "fmod_one", fmod=1)
        yield one("Mod", [few_floats(dtype), np.array(np.inf, dtype)], "fmod_infinite", fmod=1)
        for exponent in (0, -0.0, 1, 2, 3, -1, -2, 0.5, -0.5, 0.25, np.inf, -np.inf, np.nan, 1e9, 4, 1 / 3):
            yield one("Pow", [corner_floats(dtype), np.array(exponent, dtype)], f"to_{exponent:g}")
    for dtype in INTEGERS:
        a, b = pairs(dtype)
        flat = [np.ascontiguousarray(v).reshape(-1) for v in np.broadcast_arrays(a, b)]
        for op in (
            "Add",
            "Sub",
            "Mul",
            "Max",
            "Min",
            "Less",
            "LessOrEqual",
            "Greater",
            "GreaterOrEqual",
            "Equal",
            "BitwiseAnd",
            "BitwiseOr",
            "BitwiseXor",
        ):
            yield one(op, flat, "pairs")
        divisors = flat[1] != 0
        traps = (flat[0] == np.iinfo(dtype).min) & (flat[1] == -1) if dtype.kind == "i" else np.zeros_like(divisors)
        safe, all_of = divisors & ~traps, divisors
        yield one("Div", [v[safe] for v in flat], "pairs")
        yield one("Mod", [v[safe] for v in flat], "pairs")
        yield one("Mod", [v[safe] for v in flat], "fmod_pairs", fmod=1)
        for divisor in (1, 2, 3, 7, np.iinfo(dtype).max):
            yield one("Div", [corner_integers(dtype), np.array(divisor, dtype)], f"by_{divisor}")
            yield one("Mod", [corner_integers(dtype), np.array(divisor, dtype)], f"by_{divisor}")
        if dtype.kind == "i":
            lowest = np.array([np.iinfo(dtype).min, 5, -5, 0] * 9, dtype)
            for op in ("Div", "Mod"):
                yield one(op, [lowest, np.array(-1, dtype)], "lowest_by_minus_one", onnxruntime=False)
                yield one(op, [lowest, np.full(36, -1, dtype)], "lowest_by_minus_ones", onnxruntime=False)
            yield one("Mod", [lowest, np.full(36, -1, dtype)], "fmod_lowest_by_minus_ones", onnxruntime=False, fmod=1)
            yield one("Div", [corner_integers(dtype), np.array(-2, dtype)], "by_minus_2")
        for op in ("Div", "Mod"):
            yield one(op, [np.array([1, 2, 3], dtype), np.array([1, 0, 1], dtype)], "by_zero", onnxruntime=False, error=True)
            yield one(op, [np.zeros((0,), dtype), np.array(0, dtype)], "none_by_zero")
    for dtype in (i32, i64):
        base = np.array([0, 1, 2, -1, -2, 3, 10, -10, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        for exponent in (0, 1, 2, 3, 31, 63):
            yield one("Pow", [base, np.array(exponent, dtype)], f"to_{exponent}")
        yield one("Pow", [base[(base >= 0) & (base < 100)], np.array(0.5, f32)], "to_half")
        yield one("Pow", [np.abs(base), np.array(2, i32)], "to_i32")
    for exponent_type in (i32, i64, u8, i8, f64, f16):
        yield one("Pow", [few_floats(f32), np.array(2, exponent_type)], f"f32_to_{exponent_type.name}")
        yield one("Pow", [few_floats(f32)[:, None], np.array([0, 1, 3], exponent_type)], f"f32_to_{exponent_type.name}")
    # A zero's sign shows in what it divides.
    a, b = [
        np.ascontiguousarray(v).reshape(-1)
        for v in np.broadcast_arrays(
            *[np.array(s, f32) for s in (np.array([0.0, -0.0, 1, -1])[:, None], np.array([0.0, -0.0, 1, -1, np.inf, -np.inf])[None])]
        )
    ]
    for op, attributes in (("Add", {}), ("Sub", {}), ("Mul", {}), ("Div", {}), ("Mod", {"fmod": 1})):
        yield few(f"zero_sign_{op.lower()}", [(op, "x0 x1", "a", attributes), ("Reciprocal", "a", "y", {})], [a, b])


def several():
    for dtype in FLOATS:
        x = few_floats(dtype)
        rolled = [np.roll(x, i) for i in range(4)]
        for op in ("Max", "Min", "Sum", "Mean"):
            for count in (1, 3, 4):
                yield one(op, rolled[:count], f"of_{count}")
            yield one(op, [x[:, None], x[None, :5], np.array(np.nan, dtype)], "broadcast_nan")
            yield one(op, [x[:, None], x[None, :5], np.array(1, dtype)], "broadcast")
            yield one(op, [np.full((3,), np.finfo(f32).max if dtype == f32 else 6e4).astype(dtype)] * 3, "overflow")
    for dtype in INTEGERS:
        x = corner_integers(dtype)
        for op in ("Max", "Min"):
            yield one(op, [x, np.roll(x, 1), np.roll(x, 2)], "of_3")
    for dtype in FLOATS + INTEGERS:
        if dtype.kind in "iu":
            x = corner_integers(dtype)
            bounds = [(2, 7), (7, 2), (None, 5), (3, None), (None, None), (np.iinfo(dtype).min, np.iinfo(dtype).max)]
        else:
            x = corner_floats(dtype)
            bounds = [
                (-1, 1),
                (1, -1),
                (0, 6),
                (None, 1),
                (-1, None),
                (None, None),
                (np.nan, 1),
                (-1, np.nan),
                (np.nan, np.nan),
                (np.nan, None),
                (None, np.nan),
                (-np.inf, np.inf),
                (np.inf, -np.inf),
                (0, np.inf),
                (-np.inf, 0),
                (np.inf, None),
                (None, -np.inf),
                (0.0, -0.0),
                (-0.0, 0.0),
            ]
        for low, high in bounds:
            arrays = [x] + [None if v is None else np.array(v, dtype) for v in (low, high)]
            while arrays[-1] is None:
                arrays.pop()
            yield one("Clip", arrays, f"{low}_{high}".replace("-", "minus_").replace(".", "_"))
    for dtype in FLOATS + INTEGERS:
        x = few_floats(dtype) if dtype.kind not in "iu" else corner_integers(dtype)
        yield one("Where", [np.arange(len(x)) % 2 == 0, x, x[::-1].copy()], "values", dtype=dtype.name)
        yield one("Where", [np.array([[True], [False]]), x, np.array(1, dtype)], "broadcast", dtype=dtype.name)


def shifts():
    for dtype in (np.dtype(t) for t in ("uint8", "uint16", "uint32", "uint64")):
        bits = dtype.itemsize * 8
        x = corner_integers(dtype)
        for direction in ("LEFT", "RIGHT"):
            for amount in (0, 1, bits - 1, bits, bits + 1, 2 * bits - 1 if bits > 8 else 255, np.iinfo(dtype).max):
                yield one("BitShift", [x, np.array(amount, dtype)], f"{direction.lower()}_{amount}", direction=direction)
            yield one(
                "BitShift",
                [np.broadcast_to(x[:, None], (14, 14)).copy(), np.broadcast_to(x, (14, 14)).copy()],
                f"{direction.lower()}_pairs",
                direction=direction,
            )


def chains():
    """Chains that passes rewrite and fuse must compute the same as their single nodes."""
    for dtype in (f32, f16, f64):
        x = corner_floats(dtype)
        y = np.roll(x, 7)
        zero, one_, two = np.array(0, dtype), np.array(1, dtype), np.array(2, dtype)
        t = dtype.name
        yield few(f"chain_mul_zero_{t}", [("Mul", "x0 x1", "y", {})], [x, zero])
        yield few(f"chain_mul_zero_add_{t}", [("Mul", "x0 x1", "a", {}), ("Add", "a x2", "y", {})], [x, zero, y])
        yield few(f"chain_sub_self_{t}", [("Sub", "x0 x0", "y", {})], [x])
        yield few(f"chain_div_self_{t}", [("Div", "x0 x0", "y", {})], [x])
        yield few(f"chain_pow_zero_{t}", [("Pow", "x0 x1", "y", {})], [x, zero])
        yield few(f"chain_equal_self_{t}", [("Equal", "x0 x0", "y", {})], [x])
        yield few(f"chain_less_not_{t}", [("Less", "x0 x1", "a", {}), ("Not", "a", "y", {})], [x, y])
        yield few(f"chain_greater_not_{t}", [("GreaterOrEqual", "x0 x1", "a", {}), ("Not", "a", "y", {})], [x, y])
        yield few(f"chain_sigmoid_mul_{t}", [("Sigmoid", "x0", "a", {}), ("Mul", "x0 a", "y", {})], [x])
        yield few(f"chain_hard_sigmoid_mul_{t}", [("HardSigmoid", "x0", "a", {"alpha": 1 / 6, "beta": 0.5}), ("Mul", "x0 a", "y", {})], [x])
        yield few(f"chain_softplus_tanh_mul_{t}", [("Softplus", "x0", "a", {}), ("Tanh", "a", "b", {}), ("Mul", "x0 b", "y", {})], [x])
        calm = x[~(np.abs(x) > 7) | np.isinf(x)]  # where parts overflow, the operator that passes make of them need not
        yield few(f"chain_exp_log1p_{t}", [("Exp", "x0", "a", {}), ("Add", "a x1", "b", {}), ("Log", "b", "y", {})], [calm, one_])
        yield few(f"chain_relu_clip_{t}", [("Relu", "x0", "a", {}), ("Clip", "a x1 x2", "y", {})], [x, zero, np.array(6, dtype)])
        yield few(
            f"chain_clip_clip_{t}",
            [("Clip", "x0 x1 x2", "a", {}), ("Clip", "a x3 x4", "y", {})],
            [x, zero, np.array(6, dtype), np.array(7, dtype), np.array(9, dtype)],
        )
        yield few(f"chain_clip_relu_{t}", [("Clip", "x0 x1 x2", "a", {}), ("Relu", "a", "y", {})], [x, np.array(-5, dtype), np.array(-1, dtype)])
        yield few(f"chain_max_min_{t}", [("Max", "x0 x1", "a", {}), ("Min", "a x2", "y", {})], [x, zero, np.array(6, dtype)])
        yield few(f"chain_max_nan_{t}", [("Max", "x0 x1", "a", {}), ("Min", "a x2", "y", {})], [x, np.array(np.nan, dtype), np.array(6, dtype)])
        yield few(f"chain_min_max_{t}", [("Min", "x0 x1", "a", {}), ("Max", "a x2", "y", {})], [x, np.array(6, dtype), zero])
        yield few(f"chain_min_max_crossed_{t}", [("Min", "x0 x1", "a", {}), ("Max", "a x2", "y", {})], [x, np.array(-6, dtype), np.array(2, dtype)])
        yield few(f"chain_where_greater_{t}", [("Greater", "x0 x1", "a", {}), ("Where", "a x0 x1", "y", {})], [x, zero])
        yield few(f"chain_mul_mul_{t}", [("Mul", "x0 x1", "a", {}), ("Mul", "a x2", "y", {})], [x, np.array(1e4, dtype), np.array(1e-4, dtype)])
        yield few(
            f"chain_mul_mul_overflow_{t}",
            [("Mul", "x0 x1", "a", {}), ("Mul", "a x2", "y", {})],
            [x, np.array(6e4 if dtype == f16 else 1e38, dtype), np.array(1e-4 if dtype == f16 else 1e-38, dtype)],
        )
        yield few(f"chain_add_add_{t}", [("Add", "x0 x1", "a", {}), ("Add", "a x2", "y", {})], [x, np.array(np.inf, dtype), np.array(-np.inf, dtype)])
        yield few(f"chain_div_mul_{t}", [("Div", "x0 x1", "a", {}), ("Mul", "a x2", "y", {})], [x, zero, zero])
        yield few(f"chain_square_sqrt_{t}", [("Mul", "x0 x0", "a", {}), ("Sqrt", "a", "y", {})], [x])
        yield few(f"chain_square_pow_sqrt_{t}", [("Pow", "x0 x1", "a", {}), ("Sqrt", "a", "y", {})], [x, two])
        yield few(f"chain_neg_neg_{t}", [("Neg", "x0", "a", {}), ("Neg", "a", "y", {})], [x])
        yield few(f"chain_abs_relu_{t}", [("Abs", "x0", "a", {}), ("Relu", "a", "y", {})], [x])
        yield few(
            f"chain_cast_i32_back_{t}",
            [("Relu", "x0", "a", {}), ("Clip", "a x1 x2", "b", {}), ("Cast", "b", "y", {"to": 6})],
            [np.where(np.isnan(x), one_, x).astype(dtype), zero, np.array(100, dtype)],
        )
        yield few(
            f"chain_erf_gelu_{t}",
            [("Div", "x0 x1", "a", {}), ("Erf", "a", "b", {}), ("Add", "b x2", "c", {}), ("Mul", "x0 c", "d", {}), ("Mul", "d x3", "y", {})],
            [calm, np.array(1.4142135, dtype), one_, np.array(0.5, dtype)],
        )
        yield few(
            f"chain_exp_sum_softmax_{t}",
            [("Exp", "x0", "a", {}), ("ReduceSum", "a x1", "b", {}), ("Div", "a b", "y", {})],
            [calm[:60].reshape(6, 10), np.array([1], i64)],
        )
        yield few(
            f"chain_reduce_exp_log_{t}",
            [("Exp", "x0", "a", {}), ("ReduceSum", "a x1", "b", {}), ("Log", "b", "y", {})],
            [calm[:60].reshape(6, 10), np.array([1], i64)],
        )
        yield few(
            f"chain_norm_{t}",
            [("Mul", "x0 x0", "a", {}), ("ReduceSum", "a x1", "b", {}), ("Sqrt", "b", "c", {}), ("Div", "x0 c", "y", {})],
            [x[:60].reshape(6, 10), np.array([1], i64)],
        )
        big = np.array([[1e4, 1e4 + 16, 1e4 - 16, 1e4]] * 2, dtype) * (1 if dtype == f16 else 1e3)
        yield few(
            f"chain_layer_norm_{t}",
            [
                ("ReduceMean", "x0 x1", "m", {}),
                ("Sub", "x0 m", "d", {}),
                ("Mul", "d d", "q", {}),
                ("ReduceMean", "q x1", "v", {}),
                ("Add", "v x2", "e", {}),
                ("Sqrt", "e", "s", {}),
                ("Div", "d s", "y", {}),
            ],
            [np.ascontiguousarray(big), np.array([-1], i64), np.array(1e-5, dtype)],
        )
        yield few(
            f"chain_rms_norm_{t}",
            [("Mul", "x0 x0", "q", {}), ("ReduceMean", "q x1", "v", {}), ("Add", "v x2", "e", {}), ("Sqrt", "e", "s", {}), ("Div", "x0 s", "y", {})],
            [np.ascontiguousarray(big) * np.array(1e15 if dtype != f16 else 1e-2, dtype), np.array([-1], i64), np.array(1e-5, dtype)],
        )


def all_of():
    for function in (unary, binary, several, shifts, chains):
        yield from function()
