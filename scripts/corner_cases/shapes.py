# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements: extreme bounds, negative indices, tensors without elements."""

import itertools

import numpy as np

from .case import few, f16, f32, f64, i32, i64, one, u8

MAX, MIN = 2**63 - 1, -(2**63)


def ints(*values):
    return np.array(values, i64)


def slices():
    x = np.arange(20, dtype=f32).reshape(4, 5)
    bounds = [MIN, MIN + 1, -100, -6, -5, -4, -1, 0, 1, 4, 5, 6, 100, MAX - 1, MAX]
    steps = [1, 2, -1, -2, MAX, MIN, -100, 100, MIN + 1]
    for step in steps:
        chosen = itertools.product(bounds, bounds) if step in (1, -1) else itertools.product([MIN, -5, -1, 0, 4, MAX], [MIN, -6, -2, 0, 5, MAX])
        # Several pairs of bounds a model: the parts are summed up in one by their order.
        for group in batches(chosen, 12):
            nodes, inputs, outputs = [], [x], []
            for start, end in group:
                at = len(inputs)
                inputs += [ints(start), ints(end), ints(1), ints(step)]
                outputs.append(f"y{at}")
                nodes.append(("Slice", f"x0 x{at} x{at + 1} x{at + 2} x{at + 3}", f"y{at}", {}))
            yield few(f"slice_step_{step}".replace("-", "minus_"), nodes, inputs, outputs)
    for kind in (i32, i64):
        limit = np.iinfo(kind)
        for start, end, step in (
            (limit.max, limit.min, -1),
            (limit.min, limit.max, 1),
            (-1, limit.min, -1),
            (-1, limit.min, limit.min),
            (0, limit.max, limit.max),
            (limit.max, 0, -2),
            (2, limit.max, -1),
            (0, limit.max, -1),
        ):
            yield one("Slice", [x, np.array([start], kind), np.array([end], kind), np.array([0], kind), np.array([step], kind)], f"{kind.name}_ends")
            yield one(
                "Slice",
                [x, np.array([start, 0], kind), np.array([end, 5], kind), np.array([-1, -2], kind), np.array([step, 1], kind)],
                f"{kind.name}_two_axes",
            )
    yield one("Slice", [x, ints(0), ints(0), ints(0)], "none")
    yield one("Slice", [x, ints(1, 2), ints(3, 4)], "default")
    yield one("Slice", [x, ints(3), ints(1), ints(0)], "crossed")
    yield one("Slice", [np.zeros((0, 5), f32), ints(0), ints(MAX), ints(0)], "of_none")
    yield one("Slice", [np.zeros((0, 5), f32), ints(-1), ints(MIN), ints(0), ints(-1)], "of_none_backward")
    yield one("Slice", [np.zeros((0, 5), f32), ints(MAX), ints(MIN), ints(1), ints(-1)], "of_none_other_axis")
    yield one("Slice", [x.astype(f16), ints(-1, -1), ints(MIN, MIN), ints(0, 1), ints(-1, -2)], "both_backward")
    yield one("Slice", [x, ints(0), ints(4), ints(0), ints(0)], "step_zero", error=True, onnxruntime=False)
    image = np.arange(48, dtype=f32).reshape(1, 3, 4, 4)
    for step in (1, 2, -1, -3):
        yield one(
            "Slice",
            [image, ints(*([0, 0] if step > 0 else [MAX, -1])), ints(*([MAX, 4] if step > 0 else [MIN, MIN])), ints(2, 3), ints(step, step)],
            "image",
        )
        yield one("Slice", [image, ints(0 if step > 0 else -1), ints(MAX if step > 0 else MIN), ints(1), ints(step)], "channels")


def batches(things, count):
    group = []
    for thing in things:
        group.append(thing)
        if len(group) == count:
            yield group
            group = []
    if group:
        yield group


def gathers():
    x = np.arange(12, dtype=f32).reshape(3, 4)
    for kind in (i32, i64):
        yield one("Gather", [x, np.array([-1, 0, -3, 2], kind)], f"negative_{kind.name}")
        yield one("Gather", [x, np.array([[-4, 3], [0, -1]], kind)], f"axis1_{kind.name}", axis=1)
        yield one("Gather", [x, np.array(-1, kind)], f"scalar_{kind.name}", axis=-1)
        yield one("Gather", [x, np.zeros((0,), kind)], f"none_{kind.name}")
        yield one("Gather", [x, np.zeros((2, 0), kind)], f"none_2d_{kind.name}", axis=1)
        yield one("Gather", [np.zeros((3, 0), f32), np.array([0, -1], kind)], f"of_empty_{kind.name}")
        for index in (3, -4, np.iinfo(kind).max, np.iinfo(kind).min):
            yield one("Gather", [x, np.array([index], kind)], f"outside_{kind.name}", error=True, onnxruntime=False)
            yield one("GatherElements", [x, np.array([[index]], kind)], f"outside_{kind.name}", error=True, onnxruntime=False)
            yield one("ScatterElements", [x, np.array([[index]], kind), np.ones((1, 1), f32)], f"outside_{kind.name}", error=True, onnxruntime=False)
        yield one("GatherElements", [x, np.array([[-1, -2, 0, 1]], kind)], f"negative_{kind.name}")
        yield one("GatherElements", [x, np.array([[-1], [-4], [3]], kind)], f"axis1_{kind.name}", axis=1)
        yield one("GatherElements", [x, np.zeros((0, 4), kind)], f"none_{kind.name}")
        for reduction in ("none", "add", "mul", "max", "min"):
            yield one(
                "ScatterElements",
                [x, np.array([[-1, 0, 1, -2]], kind), np.array([[9, -8, np.nan, 6]], f32)],
                f"{reduction}_{kind.name}",
                reduction=reduction,
            )
            yield one(
                "ScatterElements",
                [x, np.array([[-1, -1], [0, 0]], kind), np.array([[9, 8], [7, -60]], f32)],
                f"twice_{reduction}_{kind.name}",
                axis=1,
                reduction=reduction,
                onnxruntime=reduction != "none",
            )
            yield one("ScatterElements", [x, np.zeros((0, 4), kind), np.zeros((0, 4), f32)], f"nothing_{reduction}_{kind.name}", reduction=reduction)
    for index in ([[-1, -1]], [[0, -4], [-3, 3]], [[-3], [2]], np.zeros((0, 2)), np.zeros((0, 1)), [[[0, 0]], [[-1, 1]]]):
        yield one("GatherND", [x, np.array(index, i64)], "negative")
    yield one("GatherND", [np.zeros((0, 4), f32), np.zeros((0, 2), i64)], "of_empty")
    yield one("GatherND", [x.reshape(3, 2, 2), np.array([[-1], [0], [1]], i64)], "batch_dims", batch_dims=1)
    for index in ([[3, 0]], [[0, -5]], [[MAX, 0]], [[0, MIN]]):
        yield one("GatherND", [x, np.array(index, i64)], "outside", error=True, onnxruntime=False)
        yield one("ScatterND", [x, np.array(index, i64), np.ones(1, f32)], "outside", error=True, onnxruntime=False)
    for reduction in ("none", "add", "mul", "max", "min"):
        yield one("ScatterND", [x, np.array([[-1, -1], [0, 1]], i64), np.array([np.nan, 7], f32)], reduction, reduction=reduction)
        yield one("ScatterND", [x, np.array([[-2], [0]], i64), -np.ones((2, 4), f32)], f"rows_{reduction}", reduction=reduction)
        yield one("ScatterND", [x, np.zeros((0, 2), i64), np.zeros((0,), f32)], f"nothing_{reduction}", reduction=reduction)
        for dtype in (i32, i64, u8, f16, f64):
            yield one(
                "ScatterND",
                [x.astype(dtype), np.array([[1], [1]], i64), np.full((2, 4), 3, dtype)],
                f"twice_{reduction}",
                reduction=reduction,
                onnxruntime=reduction != "none",
            )
    for axis in (0, 1, -1, 2):
        for depth in (1, 3, 5):
            yield one(
                "OneHot",
                [np.array([[0, -1, 5], [2, -3, -6]], i64), np.array(depth, i64), np.array([2, 7], f32)],
                f"axis{axis}_depth{depth}",
                axis=axis,
            )
    yield one("OneHot", [np.array([0, 1, -1, 9, -9], i32), np.array([4], i64), np.array([0, 1], i32)], "vector_depth")
    yield one("OneHot", [np.array([0.0, 1.9, -1.0, -0.5], f32), np.array(3.7, f32), np.array([0, 1], f32)], "fractions")
    yield one("OneHot", [np.array(1, i64), np.array(3, i64), np.array([0, 1], f32)], "scalar")
    yield one("OneHot", [np.zeros((0,), i64), np.array(3, i64), np.array([0, 1], f32)], "none")
    yield one("OneHot", [np.array([1, 2], i64), np.array(0, i64), np.array([0, 1], f32)], "depth_zero")
    yield one("Compress", [x, np.array([False, True])], "short", axis=0)
    yield one("Compress", [x, np.array([False] * 12)], "none")
    yield one("Compress", [x, np.array([], bool)], "empty", axis=1)
    yield one("NonZero", [np.array([[np.nan, 0.0, -0.0], [1e-45, np.inf, -1]], f32)], "values")
    yield one("NonZero", [np.array(3, f32)], "scalar")
    yield one("NonZero", [np.array(0, f32)], "scalar_zero")
    yield one("NonZero", [np.zeros((2, 0), f32)], "empty")
    for shape in ((3, 4), (4, 3), (2, 3, 3), (0, 3), (3, 0), (1, 1)):
        for k in (None, 0, 1, -1, 2, -2, 3, -3, 4, -4, 100, -100, MAX, MIN):
            for upper in (0, 1):
                yield one(
                    "Trilu",
                    [np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(f32), None if k is None else np.array(k, i64)][: 1 if k is None else 2],
                    f"{'x'.join(map(str, shape))}_{k}_{upper}".replace("-", "minus_"),
                    upper=upper,
                )
    for k in (0, 1, -1, 3, -3, 100, -100):
        yield one("EyeLike", [np.zeros((3, 4), f32)], f"{k}", k=k)
    yield one("EyeLike", [np.zeros((0, 4), f32)], "empty")
    for time_axis in (0, 1):
        yield one(
            "ReverseSequence",
            [np.arange(12, dtype=f32).reshape(3, 4), np.array([1, 3, 2, 3] if time_axis == 0 else [4, 1, 3], i64)],
            f"time{time_axis}",
            time_axis=time_axis,
            batch_axis=1 - time_axis,
        )


def pads():
    row = np.array([1, 2, 3, 4], f32)
    matrix = np.arange(1, 13, dtype=f32).reshape(3, 4)
    for mode in ("constant", "edge", "reflect", "wrap"):
        opset = 19
        for x, amounts in (
            (row, (2, 3)),
            (row, (3, 3)),
            (row, (-1, 2)),
            (row, (2, -1)),
            (row, (-1, -2)),
            (row, (0, 0)),
            (row, (-2, -2)),
            (matrix, (1, 2, 2, 1)),
            (matrix, (-1, 2, 0, -1)),
            (matrix, (2, -3, 1, 2)),
            (matrix, (0, 3, 0, 3)),
            (row, (0, -4)),
            (row, (-3, 0)),
        ):
            if mode != "constant" and (sum(amounts) == -4 and x is row or mode == "reflect" and amounts == (2, -3, 1, 2)):
                continue  # nothing is left to repeat
            yield one("Pad", [x, ints(*amounts)], f"{mode}_{'_'.join(map(str, amounts))}".replace("-", "m"), opset=opset, mode=mode)
        yield one("Pad", [matrix.astype(i32), ints(1, 2, 2, 1)], f"{mode}_ints", opset=opset, mode=mode)
        yield one("Pad", [matrix > 5, ints(1, 2, 2, 1)], f"{mode}_bool", opset=opset, mode=mode, onnxruntime=mode != "constant")
        yield one("Pad", [matrix, ints(1, 2), None, ints(-1)], f"{mode}_axes", opset=opset, mode=mode)
        yield one("Pad", [matrix, ints(1, 0, 2, 1), None, ints(1, 0)], f"{mode}_axes_swapped", opset=opset, mode=mode)
        image = np.arange(24, dtype=f32).reshape(1, 2, 3, 4)
        yield one("Pad", [image, ints(0, 0, 2, 1, 0, 0, 1, 2)], f"{mode}_image", opset=opset, mode=mode)
        yield one("Pad", [image, ints(0, 0, -1, 1, 0, 0, 1, -2)], f"{mode}_image_cut", opset=opset, mode=mode)
        yield one("Pad", [image, ints(0, 1, 0, 0, 0, 1, 0, 0)], f"{mode}_channels", opset=opset, mode=mode)
    for mode, amounts in (
        ("edge", (5, 6)),
        ("edge", (0, 9)),
        ("wrap", (5, 6)),
        ("wrap", (4, 4)),
        ("wrap", (9, 0)),
        ("reflect", (4, 0)),
        ("reflect", (5, 6)),
        ("reflect", (0, 9)),
    ):
        yield one("Pad", [row, ints(*amounts)], f"{mode}_long", opset=19, mode=mode)
    for mode in ("constant", "edge", "wrap", "reflect"):
        yield one("Pad", [np.array([7], f32), ints(2, 1)], f"{mode}_of_one", opset=19, mode=mode)
        yield one("Pad", [np.array([7], f32), ints(0, 0)], f"{mode}_of_one_none", opset=19, mode=mode)
    yield one("Pad", [np.zeros((0, 2), f32), ints(1, 1, 2, 0), np.array(5, f32)], "constant_of_empty", opset=19)
    yield one("Pad", [np.zeros((0, 2), f32), ints(0, 1, 0, 1)], "edge_of_empty", opset=19, mode="edge")
    for value in (np.nan, np.inf, -0.0, 3e38):
        yield one("Pad", [row, ints(1, 1), np.array(value, f32)], "value", opset=19)
        yield few(
            "pad_conv",
            [("Pad", "x0 x1 x2", "a", {}), ("Conv", "a x3", "y", {})],
            [np.ones((1, 1, 3, 3), f32), ints(0, 0, 1, 1, 0, 0, 1, 1), np.array(value, f32), np.ones((1, 1, 3, 3), f32)],
            opset=19,
        )
    yield few(
        "pad_max_pool",
        [("Pad", "x0 x1", "a", {}), ("MaxPool", "a", "y", {"kernel_shape": [2, 2]})],
        [-np.ones((1, 1, 3, 3), f32), ints(0, 0, 1, 1, 0, 0, 1, 1)],
        opset=19,
    )
    yield few(
        "pad_average_pool",
        [("Pad", "x0 x1", "a", {}), ("AveragePool", "a", "y", {"kernel_shape": [2, 2]})],
        [-np.ones((1, 1, 3, 3), f32), ints(0, 0, 1, 1, 0, 0, 1, 1)],
        opset=19,
    )


def empties():
    z = lambda *shape: np.zeros(shape, f32)
    o = lambda *shape: np.ones(shape, f32)
    yield one("Concat", [z(0, 3), o(2, 3)], "with_empty", axis=0)
    yield one("Concat", [o(2, 3), z(2, 0), o(2, 1)], "with_empty_middle", axis=1)
    yield one("Concat", [z(0, 3), z(0, 3)], "empties", axis=0)
    yield one("Concat", [z(0, 3), z(0, 2)], "empties_other", axis=1)
    yield one("Concat", [z(0), z(0), o(1)], "vectors", axis=-1)
    yield one("Split", [o(4, 2), ints(0, 4)], "zero_part", outputs=2, axis=0)
    yield one("Split", [o(4, 2), ints(0, 0, 4)], "zero_parts", outputs=3, axis=0)
    yield one("Split", [z(0, 2), ints(0, 0)], "of_empty", outputs=2, axis=0)
    yield one("Split", [z(0, 4)], "of_empty_equal", outputs=2, axis=1, num_outputs=2)
    yield one("Split", [o(5, 2)], "last_smaller", outputs=2, axis=0, num_outputs=2)
    yield one("Split", [o(7, 2)], "last_smaller", outputs=3, axis=0, num_outputs=3)
    yield one("Expand", [o(1, 3), ints(0, 3)], "to_zero")
    yield one("Expand", [o(1), ints(2, 0)], "to_zero_right")
    yield one("Expand", [z(0, 3), ints(0, 3)], "of_empty")
    yield one("Expand", [z(0, 1), ints(1, 4)], "of_empty_wider")
    yield one("Expand", [np.array(3, f32), ints()], "scalar")
    yield one("Expand", [np.array(3, f32), ints(0)], "scalar_to_zero")
    yield one("Expand", [o(3, 1), ints(1, 1)], "smaller")
    yield one("Tile", [o(2, 3), ints(0, 2)], "zero")
    yield one("Tile", [z(0, 3), ints(4, 2)], "of_empty")
    yield one("Tile", [np.array(2, f32), ints()], "scalar")
    yield one("Tile", [np.arange(6, dtype=f32).reshape(2, 3), ints(3, 2)], "both")
    for shape, to, allow in (
        ((0, 3), (3, 0), 1),
        ((0, 3), (0, -1), 0),
        ((2, 3), (0, 3), 0),
        ((0,), (0, 5), 1),
        ((0, 3), (0, 0), 0),
        ((0, 3), (-1, 3), 0),
        ((1,), (), 0),
        ((2, 0), (0, 0, 7), 1),
    ):
        yield one("Reshape", [z(*shape), ints(*to)], "zeros", error=to == (0, -1) and not allow, allowzero=allow)
    yield one("Transpose", [z(2, 0, 3)], "empty", perm=[2, 0, 1])
    yield one("Flatten", [z(0, 3, 2)], "empty", axis=1)
    yield one("Flatten", [z(2, 0, 2)], "empty_inner", axis=1)
    yield one("Flatten", [np.array(5, f32)], "scalar", axis=0)
    yield one("Shape", [z(0, 3)], "empty", start=-1)
    yield one("Shape", [z(2, 3)], "crossed", start=5, end=-9)
    yield one("Shape", [z(2, 3)], "far", start=-9, end=9)
    yield one("Size", [z(0, 3)], "empty")
    yield one("Size", [np.array(5, f32)], "scalar")
    yield one("Squeeze", [z(1, 0, 1)], "empty")
    yield one("Unsqueeze", [z(0), ints(-1, 0)], "empty")
    yield one("MatMul", [z(2, 0), z(0, 3)], "k_zero")
    yield one("MatMul", [z(0, 2), o(2, 3)], "m_zero")
    yield one("MatMul", [o(3, 2), z(2, 0)], "n_zero")
    yield one("MatMul", [z(4, 2, 0), z(4, 0, 3)], "batch_k_zero")
    yield one("MatMul", [z(0, 2, 3), o(3, 4)], "batch_zero")
    yield one("MatMul", [z(0), z(0)], "vectors_zero")
    for dtype in (i32, i64, f16, f64):
        yield one("MatMul", [np.zeros((2, 0), dtype), np.zeros((0, 3), dtype)], "k_zero")
        yield one("Gemm", [np.zeros((2, 0), dtype), np.zeros((0, 3), dtype), np.full((3,), 5, dtype)], "k_zero", beta=2.0)
    yield one("Gemm", [z(2, 0), z(0, 3), o(3)], "k_zero_bias", beta=2.0, alpha=0.5)
    yield one("Gemm", [z(2, 0), z(0, 3)], "k_zero")
    yield one("Gemm", [z(0, 2), o(2, 3), o(1, 3)], "m_zero")
    yield one("Gemm", [o(2, 3), o(3, 2), np.full((2,), np.nan, f32)], "beta_zero_nan", beta=0.0)
    yield one("Gemm", [np.full((2, 3), np.nan, f32), o(3, 2), o(2)], "alpha_zero_nan", alpha=0.0)
    yield one("Einsum", [z(2, 0), z(0, 3)], "k_zero", equation="ij,jk->ik")
    for batch, channels in ((0, 3), (2, 3)):
        x = np.ones((batch, channels, 5, 5), f32)
        yield one("Conv", [x, o(4, 3, 3, 3), o(4)], f"batch{batch}")
        yield one("Conv", [x, o(3, 1, 3, 3)], f"depthwise_batch{batch}", group=3, pads=[1, 1, 1, 1])
        yield one("ConvTranspose", [x, o(3, 2, 3, 3)], f"batch{batch}", strides=[2, 2])
        for op in ("MaxPool", "AveragePool", "LpPool"):
            yield one(op, [x], f"batch{batch}", kernel_shape=[2, 2])
        for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
            yield one(op, [x], f"batch{batch}")
    yield one("Einsum", [np.array(3, f32), np.array(4, f32)], "scalars", equation=",->")
    yield one("Einsum", [o(3)], "sum", equation="i->")
    yield one("Einsum", [np.arange(9, dtype=f32).reshape(3, 3)], "trace", equation="ii->")
    yield one("Einsum", [np.arange(9, dtype=f32).reshape(3, 3)], "diagonal", equation="ii->i")
    yield one("Einsum", [np.arange(27, dtype=f32).reshape(3, 3, 3)], "diagonal3", equation="iii->i")
    yield one("Einsum", [np.arange(27, dtype=f32).reshape(3, 3, 3)], "batch_diagonal", equation="...ii->...i")
    yield one("Einsum", [np.arange(9, dtype=f32).reshape(3, 3), np.arange(3, dtype=f32)], "implicit", equation="ij, j")
    yield one("Einsum", [np.arange(6, dtype=f32).reshape(2, 3)], "implicit_transpose", equation="ba")
    yield one("Einsum", [np.arange(6, dtype=f32).reshape(2, 3), np.arange(6, dtype=f32).reshape(3, 2)], "implicit_product", equation="ij,jk")
    yield one("Einsum", [np.array([[np.nan, 0], [np.inf, 1]], f32), np.array([[0, 1], [0, 0]], f32)], "nan", equation="ij,jk->ik")
    yield one("Einsum", [o(2, 3), o(2, 3), o(2, 3)], "three", equation="ij,ij,ij->i")
    yield one("Einsum", [o(2, 1, 3), o(1, 4, 3)], "ellipsis_broadcast", equation="...a,...a->...")
    for op in ("Sum", "Mean", "Max", "Min"):
        yield one(op, [z(0, 3), o(1, 3), o(3)], "empty")
    for x in ([[1, 2], [1, 2], [np.nan, 1]],):
        for axis in (None, 0, 1):
            yield one("Unique", [np.array(x, f32)], "nan", outputs=4, opset=11, onnxruntime=False, **({} if axis is None else {"axis": axis}))
    yield one("Unique", [np.array([2, 1, 1, 3, 2], f32)], "unsorted", outputs=4, opset=11, sorted=0)
    yield one("Unique", [z(0)], "empty", outputs=4, opset=11)
    yield one("Unique", [np.array([0.0, -0.0, 1], f32)], "zeros", outputs=4, opset=11)
    for values in ((0, 10, 3), (10, 0, -3), (0, 10, -1), (5, 5, 1), (0, 1, 10), (-5, 5, 4), (10, 0, 3)):
        for dtype in (i32, i64, f32, f64):
            yield one("Range", [np.array(v, dtype) for v in values], "steps", opset=11)
    for values in (
        (0, 1, 0.1),
        (0, 1, 0.3),
        (0.5, 2.9, 0.7),
        (1, 0, -0.1),
        (0, 0.3, 0.1),
        (0, 2, 0.4),
        (1e8, 1e8 + 64, 8),
        (0, -1, 0.5),
        (-1, 1, 1 / 3),
    ):
        for dtype in (f32, f64):
            yield one("Range", [np.array(v, dtype) for v in values], "fractions", opset=11)
    yield one("Range", [np.array(2**63 - 3, i64), np.array(2**63 - 1, i64), np.array(1, i64)], "highest", opset=11)
    yield one("Range", [np.array(2**63 - 3, i64), np.array(2**63 - 1, i64), np.array(3, i64)], "highest_step", opset=11, onnxruntime=False)
    yield one("Range", [np.array(0, i64), np.array(5, i64), np.array(0, i64)], "step_zero", opset=11, onnxruntime=False, error=True)


def all_of():
    for function in (slices, gathers, pads, empties):
        yield from function()
