# SPDX-License-Identifier: Apache-2.0
"""Reductions, extremes, running sums, softmax and norms."""

import numpy as np

from .case import FLOATS, INTEGERS, bf16, corner_integers, few, f16, f32, f64, i8, i32, i64, limits, one, u8, u32, u64

REDUCE = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
]


def since(op):
    return 20 if op in ("ReduceMax", "ReduceMin") else 18


def axes(*values):
    return np.array(values, i64)


def rows(dtype):
    """Rows of nine: longer than a vector of doubles, not a multiple of one."""
    largest, smallest, subnormal = limits(dtype)
    nan, inf = np.nan, np.inf
    values = [
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
        [nan, 1, 2, 3, 4, 5, 6, 7, 8],
        [1, 2, 3, 4, nan, 5, 6, 7, 8],
        [1, 2, 3, 4, 5, 6, 7, 8, nan],
        [nan] * 9,
        [inf, 1, 2, 3, 4, 5, 6, 7, 8],
        [1, 2, -inf, 3, 4, 5, 6, 7, 8],
        [inf, -inf, 1, 2, 3, 4, 5, 6, 7],
        [inf] * 9,
        [-inf] * 9,
        [-inf, -inf, -inf, 1, -inf, -inf, -inf, -inf, -inf],
        [0.0] * 9,
        [-0.0] * 9,
        [0.0, -0.0, 0, 0, 0, 0, 0, 0, 0],
        [largest] * 9,
        [-largest] * 9,
        [largest, 1, -1, 0, 0, 0, 0, 0, 0],
        [largest / 2] * 9,
        [smallest] * 9,
        [subnormal] * 9,
        [1, 1, 1, 1, 1, 1, 1, 1, 1],
        [-5, -4, -3, -2, -1, -6, -7, -8, -9],
        [inf, nan, 1, 2, 3, 4, 5, 6, 7],
        [-inf, nan, -1, 2, 3, 4, 5, 6, 7],
        [100] * 9,
        [-200, -300, -400, -200, -300, -300, -500, -300, -300],
        [1000, 1, 1, 1, 1, 1, 1, 1, 1],
        [max(smallest, 1e-30)] * 9,
        [min(largest, 1e30), 1, 2, 3, 4, 5, 6, 7, 8],
        [5, 5, 1, 1, 5, 1, 1, 5, 1],
    ]
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(dtype)


def reductions():
    for dtype in FLOATS:
        x = rows(dtype)
        for op in REDUCE:
            yield one(op, [x, axes(1)], "rows", opset=since(op), keepdims=0)
            yield one(op, [x.T.copy(), axes(0)], "columns", opset=since(op), keepdims=1)
            yield one(op, [np.repeat(x[:, :, None], 3, 2), axes(1)], "middle", opset=since(op))
            yield one(op, [x[:8].reshape(1, 8, 3, 3), axes(2, 3)], "image", opset=since(op))
            yield one(op, [x[:1], axes(0, 1)], "all", opset=since(op))
            yield one(op, [x[:4], axes(-1)], "negative_axis", opset=since(op))
            yield one(op, [np.array(3, dtype), axes()], "scalar_no_axes", opset=since(op))
            yield one(op, [np.array(-3, dtype)], "scalar", opset=since(op))
            yield one(op, [x[20:22]], "default", opset=since(op), keepdims=0)
            yield one(op, [x[:4], axes()], "no_axes_all", opset=since(op))
            yield one(op, [x[12:22], axes()], "noop", opset=since(op), noop_with_empty_axes=1)
            yield one(op, [x[12:22], None], "noop_absent", opset=since(op), noop_with_empty_axes=1)
            for name, shape, over in (
                ("rows", (2, 0), (1,)),
                ("columns", (0, 2), (0,)),
                ("middle", (2, 0, 3), (1,)),
                ("outer", (2, 0, 3), (0,)),
                ("both", (2, 0, 3), (0, 1)),
                ("all", (0, 3), (0, 1)),
                ("deep", (2, 2, 0, 3), (2, 3)),
            ):
                yield one(op, [np.zeros(shape, dtype), axes(*over)], f"empty_{name}", opset=since(op), keepdims=len(shape) % 2)
            yield one(op, [np.zeros((0,), dtype)], "empty_default", opset=since(op))
            yield one(op, [np.full((2, 1), 3, dtype), axes(1)], "of_one", opset=since(op))
        many = np.full((2, 3000), 60, dtype)
        for op in ("ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare"):
            yield one(op, [many, axes(1)], "long", opset=since(op))
    for dtype in (i32, i64, u32, u64, i8, u8):
        x = corner_integers(dtype)[:14].reshape(2, 7)
        for op in REDUCE:
            if dtype in (i8, u8) and op not in ("ReduceMax", "ReduceMin"):
                continue
            if op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2"):
                if dtype.kind == "i" and op != "ReduceLogSum":
                    yield one(op, [np.array([[1, 2, 3, 4], [5, 6, 7, 8]], dtype), axes(1)], "small", opset=since(op))
                continue
            if op != "ReduceMean" or dtype in (i32, u32):
                yield one(op, [x, axes(1)], "rows", opset=since(op))
                yield one(op, [x.T.copy(), axes(0)], "columns", opset=since(op))
            if op == "ReduceMean":
                yield one(op, [np.array([[1, 2], [3, 4], [7, 8]], dtype), axes(1)], "halves", opset=since(op))
                if dtype.kind == "i":
                    yield one(op, [np.array([[-1, -2], [-3, -4], [-1, 0]], dtype), axes(1)], "negative_halves", opset=since(op))
                if dtype in (i32, u32):
                    yield one(op, [np.full((1, 5), np.iinfo(dtype).max, dtype), axes(1)], "overflow", opset=since(op))
            if op != "ReduceMean":
                yield one(op, [np.zeros((2, 0), dtype), axes(1)], "empty", opset=since(op))
    for op in ("ReduceMax", "ReduceMin"):
        yield one(op, [np.array([[True, False], [False, False], [True, True]]), axes(1)], "bool", opset=20)
        yield one(op, [np.zeros((2, 0), bool), axes(1)], "bool_empty", opset=20)


def extremes():
    for dtype in FLOATS:
        x = rows(dtype)
        for op in ("ArgMax", "ArgMin"):
            for last in (0, 1):
                yield one(op, [x], f"rows_last{last}", opset=13, axis=1, select_last_index=last, keepdims=0)
                yield one(op, [x.T.copy()], f"columns_last{last}", opset=13, axis=0, select_last_index=last)
                yield one(op, [np.repeat(x[:, :, None], 5, 2)], f"middle_last{last}", opset=13, axis=1, select_last_index=last)
            yield one(op, [np.array([3], dtype)], "one", opset=13)
            yield one(op, [np.zeros((0, 3), dtype)], "outer_empty", opset=13, axis=1)
        yield one("Hardmax", [x], "rows", opset=13, axis=1)
        yield one("Hardmax", [x.T.copy()], "columns", opset=13, axis=0)
        for largest in (0, 1):
            for k in (0, 1, 3, 9):
                yield one("TopK", [x, axes(k)], f"rows_{k}_largest{largest}", opset=11, outputs=2, largest=largest)
            yield one("TopK", [x.T.copy(), axes(4)], f"columns_largest{largest}", opset=11, outputs=2, largest=largest, axis=0)
    for dtype in INTEGERS:
        x = np.concatenate([corner_integers(dtype), corner_integers(dtype)[::-1]])
        for op in ("ArgMax", "ArgMin"):
            for last in (0, 1):
                yield one(op, [x], f"values_last{last}", opset=13, select_last_index=last)
        for largest in (0, 1):
            yield one("TopK", [x, axes(9)], f"values_largest{largest}", opset=11, outputs=2, largest=largest)
    yield one("TopK", [np.zeros((2, 0), f32), axes(0)], "empty", opset=11, outputs=2)
    yield one("TopK", [np.zeros((0, 4), f32), axes(2)], "outer_empty", opset=11, outputs=2)
    ties = np.array([1, 3, 3, 2, 3, 1, 2, 3, 1, 1, 3, 0, 0] * 5, f32)
    for k in (1, 2, 5, 20, 64, 65):
        for largest in (0, 1):
            yield one("TopK", [ties, axes(k)], f"ties_{k}_largest{largest}", opset=11, outputs=2, largest=largest)


def running():
    for dtype in (f32, f64, i32, i64, u32, u64, f16):
        x = np.arange(1, 25).reshape(2, 3, 4).astype(dtype)
        for exclusive in (0, 1):
            for reverse in (0, 1):
                for axis in (0, 1, 2, -1, -3):
                    yield one(
                        "CumSum",
                        [x, np.array(axis, i64 if axis > 0 else i32)],
                        f"axis{axis}_e{exclusive}_r{reverse}",
                        opset=14,
                        exclusive=exclusive,
                        reverse=reverse,
                        onnxruntime=dtype != f16,
                    )
                yield one(
                    "CumSum", [np.array([5], dtype), np.array(0, i64)], f"one_e{exclusive}_r{reverse}", opset=14, exclusive=exclusive, reverse=reverse
                )
                yield one(
                    "CumSum",
                    [np.zeros((2, 0), dtype), np.array(1, i64)],
                    f"empty_e{exclusive}_r{reverse}",
                    opset=14,
                    exclusive=exclusive,
                    reverse=reverse,
                )
    for exclusive in (0, 1):
        for reverse in (0, 1):
            for x in ([1, np.nan, 2, 3], [np.inf, 1, -np.inf, 2], [3e38, 3e38, -3e38, 1], [-0.0, -0.0, -0.0, -0.0]):
                yield one(
                    "CumSum", [np.array(x, f32), np.array(0, i64)], f"corner_e{exclusive}_r{reverse}", opset=14, exclusive=exclusive, reverse=reverse
                )
    yield one("CumSum", [np.array([2**31 - 1, 1, 1], i32), np.array(0, i64)], "wraps", opset=14)
    yield one("CumSum", [np.array([2**63 - 1, 1, 1], i64), np.array(0, i64)], "wraps", opset=14)


def softmax():
    for dtype in FLOATS:
        x = rows(dtype)
        for op in ("Softmax", "LogSoftmax"):
            yield one(op, [x], "rows", axis=-1)
            yield one(op, [x.T.copy()], "columns", axis=0)
            yield one(op, [np.repeat(x[:, :, None], 3, 2)], "middle", axis=1)
            yield one(op, [np.zeros((2, 0), dtype)], "empty", axis=1)
            yield one(op, [np.zeros((0, 4), dtype)], "outer_empty", axis=1)
            yield one(op, [np.array([[5], [-np.inf], [np.inf], [np.nan]], dtype)], "of_one", axis=1)
            yield one(op, [np.array([1, 2, 3], dtype)], "old", axis=0, opset=11)
            yield one(op, [np.repeat(x[:6, :, None], 2, 2)], "old_flattened", axis=1, opset=11)
        yield one("Softmax", [np.full((3, 40), 6e4, dtype)], "large", axis=-1)
        yield one("LogSoftmax", [np.array([[0, -1000, 1000, 5], [1e4, 1e4, 1e4, 1e4]], dtype)], "apart", axis=-1)
    scores = np.array([[np.inf, 1, 2], [-np.inf, -np.inf, -np.inf], [np.nan, 1, 2], [1e4, -1e4, 0]], f32)
    for reduction in ("none", "mean", "sum"):
        yield one("SoftmaxCrossEntropyLoss", [scores, np.array([0, 1, 2, 1], i64)], reduction, outputs=2, opset=13, reduction=reduction)
        yield one(
            "SoftmaxCrossEntropyLoss",
            [scores[3:], np.array([-1], i64)],
            f"ignored_{reduction}",
            outputs=2,
            opset=13,
            reduction=reduction,
            ignore_index=-1,
        )
        yield one("NegativeLogLikelihoodLoss", [scores, np.array([0, 1, 2, 1], i64), np.array([1, 0, 2], f32)], reduction, reduction=reduction)
        yield one("NegativeLogLikelihoodLoss", [scores, np.array([7, 7, 7, 7], i64)], f"ignored_{reduction}", reduction=reduction, ignore_index=7)


def norms():
    for dtype in FLOATS:
        x = rows(dtype)
        one_, zero = np.ones(9, dtype), np.zeros(9, dtype)
        for epsilon in (1e-5, 0.0, 1e-12):
            yield one("LayerNormalization", [x, one_, zero], f"rows_{epsilon:g}", opset=17, epsilon=epsilon)
            yield one("RMSNormalization", [x, one_], f"rows_{epsilon:g}", opset=23, epsilon=epsilon)
        yield one("LayerNormalization", [x, one_, zero], "three_outputs", opset=17, outputs=3)
        yield one("LayerNormalization", [x, one_], "no_bias", opset=17, axis=1)
        offset = (np.arange(9) % 3 + (1e4 if dtype != f16 else 1000)).astype(dtype)
        yield one("LayerNormalization", [np.stack([offset, offset + offset]), one_, zero], "far_from_zero", opset=17)
        yield one("LayerNormalization", [np.full((2, 1), 7, dtype), np.ones(1, dtype), np.zeros(1, dtype)], "of_one", opset=17)
        yield one("LayerNormalization", [np.zeros((0, 9), dtype), one_, zero], "empty", opset=17)
        for p in (1, 2):
            yield one("LpNormalization", [x], f"rows_p{p}", opset=22, axis=1, p=p)
            yield one("LpNormalization", [x.T.copy()], f"columns_p{p}", opset=22, axis=0, p=p)
        image = np.stack([rows(dtype)[i].reshape(3, 3) for i in (0, 1, 5, 11, 13, 14, 17, 18, 19, 20, 25, 28)])[None]
        count = image.shape[1]
        scale, bias = np.ones(count, dtype), np.zeros(count, dtype)
        for epsilon in (1e-5, 0.0):
            yield one("InstanceNormalization", [image, scale, bias], f"{epsilon:g}", opset=22, epsilon=epsilon)
            yield one(
                "BatchNormalization",
                [image, scale, bias, np.zeros(count, dtype), np.array([0, 1, np.nan, np.inf, 1e-7, -1, 1e30, 0, 0, 2, 3, 4][:count]).astype(dtype)],
                f"{epsilon:g}",
                opset=15,
                epsilon=epsilon,
            )
            yield one("GroupNormalization", [image, scale, bias], f"{epsilon:g}", opset=21, epsilon=epsilon, num_groups=4)
            yield one("GroupNormalization", [image, scale, bias], f"single_{epsilon:g}", opset=21, epsilon=epsilon, num_groups=12)
            yield one(
                "InstanceNormalization",
                [np.array([[[3], [np.nan], [np.inf]]], dtype), scale[:3], bias[:3]],
                f"of_one_{epsilon:g}",
                opset=22,
                epsilon=epsilon,
            )
            far = (np.arange(48).reshape(1, 3, 4, 4) % 4 * 2 + (1000 if dtype != bf16 else 128)).astype(dtype)  # no element is the mean
            yield one("InstanceNormalization", [far, scale[:3], bias[:3]], f"far_{epsilon:g}", opset=22, epsilon=epsilon)
            yield one("GroupNormalization", [far, scale[:3], bias[:3]], f"far_{epsilon:g}", opset=21, epsilon=epsilon, num_groups=3)
        yield one("MeanVarianceNormalization", [image], "image", opset=13)
        yield one("MeanVarianceNormalization", [np.concatenate([image, image])], "two", opset=13, axes=[2, 3])
        for size in (1, 2, 3, 4, 5, 100):
            yield one("LRN", [image], f"size{size}", opset=13, size=size, alpha=1.0, beta=0.75, bias=1.0)
            yield one("LRN", [image[:, 3:7]], f"no_bias_size{size}", opset=13, size=size, alpha=1e-4, beta=0.5, bias=0.0)
        yield one("LRN", [np.zeros((0, 3, 2, 2), dtype)], "empty", opset=13, size=3)
    y = np.array([[[[1, 2], [3, 4]]]], f32)
    yield one(
        "BatchNormalization",
        [y, np.ones(1, f32), np.zeros(1, f32), np.zeros(1, f32), np.zeros(1, f32)],
        "epsilon_zero_variance_zero",
        opset=15,
        epsilon=0.0,
    )
    yield one(
        "BatchNormalization",
        [y, np.ones(1, f32), np.zeros(1, f32), np.ones(1, f32), np.ones(1, f32)],
        "training",
        opset=15,
        outputs=3,
        training_mode=1,
        momentum=0.5,
    )
    yield few(
        "conv_batch_norm_zero_variance",
        [("Conv", "x0 x1", "a", {}), ("BatchNormalization", "a x2 x3 x4 x5", "y", {"epsilon": 0.0})],
        [np.ones((1, 1, 3, 3), f32), np.ones((2, 1, 1, 1), f32), np.ones(2, f32), np.zeros(2, f32), np.ones(2, f32), np.array([0, 4], f32)],
    )


def all_of():
    for function in (reductions, extremes, running, softmax, norms):
        yield from function()
