# SPDX-License-Identifier: Apache-2.0
"""Windows, resampling, boxes and transforms."""

import itertools

import numpy as np

from .case import FLOATS, corner_floats, f16, f32, f64, i8, i32, i64, one, u8


def counted(*shape, dtype=f32):
    return (np.arange(1, 1 + int(np.prod(shape))) % 23).reshape(shape).astype(dtype)


def pools():
    sizes = [
        dict(kernel_shape=[3], strides=[2]),
        dict(kernel_shape=[2], strides=[3]),
        dict(kernel_shape=[3], strides=[2], pads=[1, 1]),
        dict(kernel_shape=[3], strides=[3], pads=[0, 2]),
        dict(kernel_shape=[3], strides=[1], pads=[2, 2]),
        dict(kernel_shape=[2], strides=[2], dilations=[2]),
        dict(kernel_shape=[3], strides=[2], dilations=[2], pads=[2, 1]),
        dict(kernel_shape=[4], strides=[4], pads=[1, 0]),
        dict(kernel_shape=[3], strides=[5]),
        dict(kernel_shape=[1], strides=[2]),
        dict(kernel_shape=[3], strides=[2], auto_pad="SAME_UPPER"),
        dict(kernel_shape=[3], strides=[2], auto_pad="SAME_LOWER"),
        dict(kernel_shape=[2], strides=[2], auto_pad="VALID"),
        dict(kernel_shape=[4], strides=[3], auto_pad="SAME_LOWER"),
        dict(kernel_shape=[2], strides=[1], auto_pad="SAME_UPPER"),
        dict(kernel_shape=[2], strides=[1], auto_pad="SAME_LOWER"),
        dict(kernel_shape=[3], strides=[2], dilations=[2], auto_pad="SAME_UPPER"),
    ]
    for length in (1, 4, 5, 7, 8):
        for i, attributes in enumerate(sizes):
            extent = (attributes["kernel_shape"][0] - 1) * attributes.get("dilations", [1])[0] + 1
            if length + sum(attributes.get("pads", [0])) < extent and "SAME" not in attributes.get("auto_pad", ""):
                continue
            for ceil in (0, 1):
                if ceil and "auto_pad" in attributes:
                    continue
                x = counted(1, 2, length)
                name = f"{length}_{i}_ceil{ceil}"
                square = {k: (v if isinstance(v, str) else v * 2 if k != "pads" else [v[0], v[0], v[1], v[1]]) for k, v in attributes.items()}
                image = counted(1, 3, length, length) - 11
                yield one("MaxPool", [x], name, ceil_mode=ceil, **attributes)
                yield one("MaxPool", [image], f"image_{name}", ceil_mode=ceil, **square)
                yield one("MaxPool", [image], f"indices_{name}", outputs=2, ceil_mode=ceil, **square)
                for include in (0, 1):
                    yield one("AveragePool", [x], f"{name}_count{include}", ceil_mode=ceil, count_include_pad=include, **attributes)
                    yield one("AveragePool", [image], f"image_{name}_count{include}", ceil_mode=ceil, count_include_pad=include, **square)
                if ceil == 0 or length == 5:
                    yield one("LpPool", [x], name, ceil_mode=ceil, p=2, **attributes)
                    yield one("LpPool", [image], f"image_{name}", ceil_mode=ceil, p=1 + length % 3, **square)
    corner = np.array([[np.nan, 1, 2, 3, -1, -2, -np.inf, -np.inf, np.inf, 1, 2, np.nan, -5, -6]], f32)
    for dtype in (f32, f16, f64):
        x = corner[None].astype(dtype)
        for kernel, stride in ((2, 2), (3, 1), (14, 1), (2, 1)):
            for op in ("MaxPool", "AveragePool", "LpPool"):
                yield one(op, [x], f"nan_{kernel}_{stride}", kernel_shape=[kernel], strides=[stride])
            yield one("MaxPool", [x], f"nan_indices_{kernel}_{stride}", outputs=2, kernel_shape=[kernel], strides=[stride])
            image = np.broadcast_to(corner.astype(dtype)[None, :, :, None], (1, 1, 14, 3)).copy()
            for op in ("MaxPool", "AveragePool", "LpPool"):
                yield one(op, [image], f"nan_image_{kernel}_{stride}", kernel_shape=[kernel, 1], strides=[stride, 1])
                yield one(op, [np.repeat(image, 5, 1)], f"nan_channels_{kernel}_{stride}", kernel_shape=[kernel, 2], strides=[stride, 1])
        for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
            for values in (corner[0], [-np.inf] * 4, [np.inf, -np.inf], [3e38 if dtype != f16 else 6e4] * 8, [-1, -2], [np.nan] * 9, [1, 2, np.nan]):
                yield one(op, [np.array(values, dtype)[None, None]], "values")
                yield one(op, [np.broadcast_to(np.array(values, dtype)[None, None, :, None], (2, 3, len(values), 3)).copy()], "image")
        for p in (1, 2, 3, 5):
            yield one("GlobalLpPool", [np.array([[[3, -4, 0, 1]]], dtype)], f"p{p}", p=p)
            yield one(
                "LpPool",
                [np.array([[[3, -4, 0, 1, 1e20 if dtype != f16 else 1000, -1e20 if dtype != f16 else -1000]]], dtype)],
                f"p{p}",
                p=p,
                kernel_shape=[2],
            )
    for dtype in (i8, u8):
        yield one("MaxPool", [np.array([[[np.iinfo(dtype).min] * 5]], dtype)], "lowest", kernel_shape=[3], pads=[1, 1])
        yield one("MaxPool", [np.full((1, 3, 3, 3), np.iinfo(dtype).min, dtype)], "lowest_image", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield one("MaxPool", [np.full((1, 1, 3, 3), -np.inf, f32)], "lowest", outputs=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield one("MaxPool", [np.full((1, 1, 3, 3), -3.4e38, f32)], "lowest", outputs=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield one("MaxPool", [np.array([[[[1, 2, 2], [2, 2, 1]]]], f32)], "column_major", outputs=2, kernel_shape=[2, 2], storage_order=1)
    yield one("MaxPool", [counted(1, 1, 4, 4)], "column_major_stride", outputs=2, kernel_shape=[2, 2], strides=[2, 2], storage_order=1)
    yield one("MaxPool", [counted(1, 2, 3, 3, 3)], "volume", kernel_shape=[2, 2, 2], ceil_mode=1, strides=[2, 2, 2])
    yield one(
        "AveragePool",
        [counted(1, 2, 3, 3, 3)],
        "volume",
        kernel_shape=[2, 2, 2],
        ceil_mode=1,
        strides=[2, 2, 2],
        pads=[0, 1, 0, 1, 0, 1],
        count_include_pad=1,
    )
    yield one("MaxUnpool", [np.array([[[[5, 6], [7, 8]]]], f32), np.array([[[[0, 3], [8, 15]]]], i64)], "values", kernel_shape=[2, 2], strides=[2, 2])


def convolutions():
    for length in (1, 2, 4, 5):
        for attributes in (
            dict(pads=[2, 2]),
            dict(pads=[0, 2], strides=[2]),
            dict(pads=[4, 1], dilations=[2]),
            dict(strides=[3], pads=[1, 1]),
            dict(auto_pad="SAME_UPPER", strides=[2]),
            dict(auto_pad="SAME_LOWER", strides=[2]),
            dict(auto_pad="SAME_LOWER", dilations=[2]),
            dict(auto_pad="SAME_UPPER", dilations=[2], strides=[2]),
            dict(auto_pad="SAME_LOWER", strides=[5]),
        ):
            x, w = counted(1, 2, length), counted(2, 2, 3) - 5
            yield one("Conv", [x, w], f"{length}", **attributes)
            square = {k: (v if isinstance(v, str) else v * 2 if k != "pads" else [v[0], v[0], v[1], v[1]]) for k, v in attributes.items()}
            yield one("Conv", [counted(1, 2, length, length), counted(3, 2, 3, 3) - 5], f"image_{length}", **square)
            yield one("Conv", [counted(1, 2, length, length), counted(2, 1, 3, 3) - 5], f"depthwise_{length}", group=2, **square)
        for attributes in (
            dict(strides=[2]),
            dict(strides=[2], output_padding=[1]),
            dict(strides=[3], output_shape=[10]),
            dict(strides=[2], output_shape=[2 * length]),
            dict(strides=[2], auto_pad="SAME_UPPER"),
            dict(strides=[2], auto_pad="SAME_LOWER"),
            dict(strides=[3], auto_pad="SAME_UPPER"),
            dict(strides=[2], pads=[1, 1], output_padding=[1]),
            dict(pads=[1, 1]),
            dict(dilations=[2], strides=[2]),
            dict(strides=[4]),
            dict(strides=[4], output_padding=[3]),
            dict(strides=[2], output_shape=[2 * length + 1], auto_pad="SAME_LOWER"),
            dict(strides=[2], output_shape=[2 * length + 1], auto_pad="SAME_UPPER"),
            dict(auto_pad="VALID", strides=[2]),
            dict(strides=[2], output_shape=[max(1, 2 * length - 1)]),
            dict(strides=[1], output_padding=[0], auto_pad="SAME_UPPER"),
            dict(strides=[1], auto_pad="SAME_LOWER"),
        ):
            if length < 3 and attributes.get("output_shape") == [10]:
                continue  # padding would be negative
            yield one("ConvTranspose", [counted(1, 2, length), counted(2, 3, 3) - 5], f"{length}", **attributes)
            square = {k: (v if isinstance(v, str) else v * 2 if k != "pads" else [v[0], v[0], v[1], v[1]]) for k, v in attributes.items()}
            yield one("ConvTranspose", [counted(1, 2, length, length), counted(2, 3, 3, 3) - 5, counted(3)], f"image_{length}", **square)
    for kernel in (2, 4, 5):
        for mode in ("SAME_UPPER", "SAME_LOWER"):
            yield one("ConvTranspose", [counted(1, 2, 3), counted(2, 3, kernel) - 5], f"kernel{kernel}", strides=[2], auto_pad=mode)
            yield one("Conv", [counted(1, 2, 6), counted(2, 2, kernel) - 5], f"kernel{kernel}", strides=[2], auto_pad=mode)
            yield one("Conv", [counted(1, 2, 6), counted(2, 2, kernel) - 5], f"kernel{kernel}_one", auto_pad=mode)
    nan = counted(1, 3, 9, 9)
    nan[0, 1, 4, 4] = np.nan
    inf = counted(1, 3, 9, 9)
    inf[0, 0, 0, 0], inf[0, 2, 8, 8] = np.inf, -np.inf
    for name, x in (("nan", nan), ("inf", inf)):
        for dtype in (f32, f16, f64):
            yield one("Conv", [x.astype(dtype), np.ones((4, 3, 1, 1), dtype)], f"{name}_1x1")
            yield one("Conv", [x.astype(dtype), np.ones((4, 3, 3, 3), dtype)], f"{name}_3x3", pads=[1, 1, 1, 1])
            yield one("Conv", [x.astype(dtype), np.ones((3, 1, 3, 3), dtype)], f"{name}_depthwise", pads=[1, 1, 1, 1], group=3)
            yield one("Conv", [x.astype(dtype), np.zeros((3, 3, 3, 3), dtype)], f"{name}_zeros")
            yield one("ConvTranspose", [x.astype(dtype)[:, :, 2:6, 2:6], np.ones((3, 2, 3, 3), dtype)], f"{name}", strides=[2, 2])
    for x in (np.array([[np.nan, 0, 1], [1, 2, 3]]), np.array([[np.inf, 0, 1], [-np.inf, 2, 3]]), np.array([[3e38, 3e38, -3e38], [1, 2, 3]])):
        for dtype in (f32, f64):
            x = x.astype(dtype)
            yield one("MatMul", [x, np.array([[0, 1], [1, 0], [1, 1]], dtype)], "corner")
            yield one("Gemm", [x, np.array([[0, 1], [1, 0], [1, 1]], dtype), np.array([np.nan, 0], dtype)], "corner")
            yield one("MatMul", [np.tile(x, (9, 11)), np.ones((33, 17), dtype)], "corner_wide")
    for dtype in (f16,):
        yield one("MatMul", [np.full((2, 40), 60, dtype), np.full((40, 3), 60, dtype)], "overflow")
        yield one("MatMul", [np.array([[300, 300]], dtype), np.array([[300], [-300]], dtype)], "cancels")
        yield one("Gemm", [np.full((2, 8), 100, dtype), np.full((8, 3), 100, dtype), np.full((3,), -60000, dtype)], "bias_cancels")
    for dtype in (i32, i64):
        top = np.iinfo(dtype).max
        yield one("MatMul", [np.array([[top, top]], dtype), np.array([[2], [3]], dtype)], "wraps")


COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def resizes():
    def row(size):
        return counted(1, 1, 1, size)

    roi = np.array([0, 0, 0, 0.2, 1, 1, 1, 0.7], f32)
    for mode in ("nearest", "linear", "cubic"):
        for coordinates in COORDINATES:
            kinds = (
                [{"nearest_mode": m} for m in NEAREST]
                if mode == "nearest"
                else [{}] if mode == "linear" else [{}, {"exclude_outside": 1}, {"cubic_coeff_a": -0.5}]
            )
            kinds += [{"antialias": 1}] if mode != "nearest" and coordinates != "tf_crop_and_resize" else []
            kinds += [{"antialias": 1, "exclude_outside": 1}] if mode == "cubic" and coordinates in ("half_pixel", "align_corners") else []
            for kind in kinds:
                settings = dict(mode=mode, coordinate_transformation_mode=coordinates, **kind)
                extra = [roi] if coordinates == "tf_crop_and_resize" else [None]
                title = "_".join([mode, coordinates] + [f"{k}{v}" for k, v in kind.items()])
                for size, target in ((1, 1), (1, 3), (3, 1), (2, 5), (5, 2), (4, 3), (3, 4), (5, 5), (4, 8), (8, 4), (7, 3)):
                    yield one(
                        "Resize", [row(size)] + extra + [None, np.array([1, 1, 1, target], i64)], f"{title}_{size}_to_{target}", opset=19, **settings
                    )
                for scale in (0.5, 0.6, 1.5, 2.3, 0.3, 3.0):
                    yield one("Resize", [row(5)] + extra + [np.array([1, 1, 1, scale], f32)], f"{title}_times_{scale}", opset=19, **settings)
                image_roi = [np.array([0, 0, 0.1, 0.2, 1, 1, 0.6, 1.3], f32)] if coordinates == "tf_crop_and_resize" else [None]
                yield one("Resize", [counted(1, 2, 3, 4)] + image_roi + [None, np.array([1, 2, 5, 3], i64)], f"{title}_image", opset=19, **settings)
                yield one(
                    "Resize", [counted(1, 3, 4, 4)] + image_roi + [np.array([1, 1, 0.7, 1.6], f32)], f"{title}_image_scales", opset=19, **settings
                )
    for policy in ("stretch", "not_larger", "not_smaller"):
        for sizes in ((7, 5), (2, 8), (3, 3), (1, 1)):
            for mode in ("nearest", "linear"):
                yield one(
                    "Resize",
                    [counted(1, 1, 3, 5), None, None, np.array(sizes, i64)],
                    f"{policy}_{mode}",
                    opset=19,
                    mode=mode,
                    axes=[2, 3],
                    keep_aspect_ratio_policy=policy,
                )
    for dtype in (f16, f64, u8, i8, i32):
        for mode in ("nearest", "linear", "cubic"):
            yield one("Resize", [(counted(1, 1, 4, 4) * 5).astype(dtype), None, np.array([1, 1, 1.5, 0.6], f32)], f"{mode}", opset=19, mode=mode)
            yield one(
                "Resize",
                [
                    np.array([0, 250, 0, 250] if dtype == u8 else [-120, 120, -120, 120]).astype(dtype)[None, None, None],
                    None,
                    np.array([1, 1, 1, 2.5], f32),
                ],
                f"{mode}_range",
                opset=19,
                mode=mode,
            )
            if mode != "nearest":
                yield one(
                    "Resize",
                    [
                        np.array([0, 255, 0, 255, 255, 0] if dtype == u8 else [-120, 120, -120, 120, 7, 9]).astype(dtype)[None, None, None],
                        None,
                        np.array([1, 1, 1, 0.5], f32),
                    ],
                    f"{mode}_antialias",
                    opset=19,
                    mode=mode,
                    antialias=1,
                )
    for mode in ("nearest", "linear", "cubic"):
        if mode == "nearest":  # a weight of 0 may or may not be multiplied with NaN
            yield one(
                "Resize",
                [np.array([1, np.nan, 3, np.inf], f32)[None, None, None], None, np.array([1, 1, 1, 2], f32)],
                f"{mode}_nan",
                opset=19,
                mode=mode,
            )
        yield one(
            "Resize",
            [counted(1, 2, 3, 4), None, np.array([1, 2, 1, 1] if mode != "cubic" else [1, 1, 2, 1], f32)],
            f"{mode}_channels",
            opset=19,
            mode=mode,
        )
        yield one("Resize", [counted(4), None, np.array([1.7], f32)], f"{mode}_vector", opset=19, mode=mode)
        yield one("Resize", [counted(0, 1, 3, 3), None, np.array([1, 1, 2, 2], f32)], f"{mode}_empty", opset=19, mode=mode)
        yield one("Resize", [counted(1, 1, 3, 3), None, np.array([1, 1, 1, 1], f32)], f"{mode}_same", opset=19, mode=mode)
        yield one("Resize", [counted(3, 3), None, np.array([2, 0.9], f32)], f"{mode}_swapped_axes", opset=19, mode=mode, axes=[1, 0])
    for value in (0.0, -5.0, np.nan):
        yield one(
            "Resize",
            [counted(1, 1, 1, 4), np.array([-0.5, 1.5], f32), None, np.array([7], i64)],
            "extrapolated",
            opset=19,
            mode="linear",
            axes=[3],
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=value,
        )
    yield one("Upsample", [counted(1, 1, 2, 3), np.array([1, 1, 2, 1.5], f32)], "nearest", opset=9, mode="nearest")
    yield one("Upsample", [counted(1, 1, 2, 3), np.array([1, 1, 2, 2], f32)], "linear", opset=9, mode="linear")
    for mode in ("nearest", "linear"):
        yield one("Resize", [counted(1, 1, 2, 3), np.array([1, 1, 2, 1.5], f32)], f"{mode}_ten", opset=10, mode=mode)
        yield one("Resize", [counted(1, 1, 4, 6), np.array([1, 1, 0.5, 0.6], f32)], f"{mode}_ten_smaller", opset=10, mode=mode)


def grids():
    places = np.array([-1, 1, 0, -0.5, 0.5, -1.5, 1.5, 3, -3, 0.99, 10.3, -7.7, 1.0001, -2, 2], f32)
    grid = np.stack(np.meshgrid(places, places[:5], indexing="xy"), -1)[None].astype(f32)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                for shape in ((1, 2, 3, 4), (1, 1, 1, 1), (1, 1, 2, 1), (1, 1, 1, 3)):
                    yield one(
                        "GridSample",
                        [counted(*shape), grid],
                        f"{mode}_{padding}_align{align}_{shape[2]}x{shape[3]}",
                        opset=22,
                        mode=mode,
                        padding_mode=padding,
                        align_corners=align,
                    )
    bad = np.array([[[[np.inf, 0], [-np.inf, -np.inf], [1e30, -1e30], [0.25, -0.25]]]], f32)
    for mode in ("linear", "nearest"):
        for padding in ("zeros", "border") if mode == "nearest" else ("border",):
            yield one("GridSample", [counted(1, 1, 3, 3), bad], f"bad_{mode}_{padding}", opset=22, mode=mode, padding_mode=padding)
    halves = np.array([[[[v, v] for v in (-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1)]]], f32)
    for align in (0, 1):
        yield one("GridSample", [counted(1, 1, 4, 4), halves], f"halves_align{align}", opset=22, mode="nearest", align_corners=align)
    volume = np.stack(np.meshgrid([-1, 0.3, 1.4], [-1.2, 0.5], [0, 1], indexing="ij"), -1)[None].astype(f32)
    for mode in ("linear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            yield one("GridSample", [counted(1, 2, 3, 2, 4), volume], f"volume_{mode}_{padding}", opset=22, mode=mode, padding_mode=padding)
    for align in (0, 1):
        for size in ((1, 1, 1, 1), (1, 1, 2, 3), (1, 1, 1, 4)):
            yield one(
                "AffineGrid", [np.array([[[1, 0.5, 0.1], [0, 2, -0.2]]], f32), np.array(size, i64)], f"align{align}", opset=20, align_corners=align
            )
    rois = np.array([[0, 0, 3, 3], [1, 1, 1, 1], [-2, -2, 1.5, 9], [3, 3, 0, 0], [0.4, 0.6, 2.5, 2.2]], f32)
    for mode in ("avg", "max"):
        for coordinates in ("half_pixel", "output_half_pixel"):
            for ratio in (0, 2):
                yield one(
                    "RoiAlign",
                    [counted(1, 2, 4, 4), rois, np.zeros(5, i64)],
                    f"{mode}_{coordinates}_{ratio}",
                    opset=16,
                    mode=mode,
                    coordinate_transformation_mode=coordinates,
                    sampling_ratio=ratio,
                    output_height=2,
                    output_width=3,
                )
    yield one("RoiAlign", [counted(1, 2, 4, 4), np.zeros((0, 4), f32), np.zeros(0, i64)], "none", opset=16)
    for shape, block in (((1, 4, 1, 1), 2), ((0, 4, 2, 2), 2), ((1, 4, 2, 3), 1)):
        for mode in ("DCR", "CRD"):
            yield one("DepthToSpace", [counted(*shape)], mode, opset=13, blocksize=block, mode=mode)
    yield one("SpaceToDepth", [counted(0, 1, 2, 2)], "empty", opset=13, blocksize=2)


def suppressions():
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], f32)
    scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], f32)
    n = lambda *v: np.array(v, i64)
    f = lambda *v: np.array(v, f32)
    for limit in (0, 1, 3, 100, 2**62, -1):
        for iou in (0.0, 0.5, 1.0):
            yield one("NonMaxSuppression", [boxes, scores, n(limit), f(iou), f(0.0)], f"limit_{limit}_iou_{iou}".replace("-", "m"), opset=11)
    for threshold in (0.0, 0.5, 0.95, 1.0, -1.0, -np.inf, np.inf, 0.9):
        yield one("NonMaxSuppression", [boxes, scores, n(10), f(0.5), f(threshold)], f"score_{threshold}".replace("-", "m"), opset=11)
    yield one("NonMaxSuppression", [boxes, scores], "default", opset=11)
    yield one("NonMaxSuppression", [boxes, scores, n(10)], "no_thresholds", opset=11)
    yield one("NonMaxSuppression", [boxes, np.full((1, 1, 6), 0.5, f32), n(10), f(0.5)], "ties", opset=11)
    yield one("NonMaxSuppression", [boxes, np.array([[[0.5, np.nan, 0.4, 0.6, np.nan, 0.1]]], f32), n(10), f(0.5), f(0.0)], "nan_scores", opset=11)
    yield one("NonMaxSuppression", [boxes[..., [2, 3, 0, 1]], scores, n(10), f(0.5), f(0.0)], "flipped", opset=11)
    yield one("NonMaxSuppression", [boxes, scores, n(10), f(0.5), f(0.0)], "centered", opset=11, center_point_box=1)
    yield one("NonMaxSuppression", [np.zeros((1, 4, 4), f32), np.array([[[0.3, 0.9, 0.5, 0.4]]], f32), n(10), f(0.5), f(0.0)], "no_area", opset=11)
    yield one("NonMaxSuppression", [np.zeros((1, 0, 4), f32), np.zeros((1, 1, 0), f32), n(10), f(0.5), f(0.0)], "none", opset=11)
    yield one("NonMaxSuppression", [np.tile(boxes, (2, 1, 1)), np.tile(scores, (2, 2, 1)), n(2), f(0.5), f(0.4)], "classes", opset=11)
    yield one(
        "NonMaxSuppression",
        [np.array([[[0, 0, 1, 1], [0, 0, 1, 0.5], [0, 0, 1, 0.50001]]], f32), np.array([[[0.9, 0.8, 0.7]]], f32), n(10), f(0.5), f(0.0)],
        "at_threshold",
        opset=11,
    )


def transforms():
    for size in (1, 2, 3, 4, 5, 7, 8):
        real, pairs = counted(1, size, 1), np.stack([counted(1, size), counted(1, size) * 0.5 - 2], -1)
        axis = np.array(1, i64)
        for length in (None, 1, size, size + 2, max(1, size - 1)):
            n = [None] if length is None else [np.array(length, i64)]
            for x, kind in ((real, "real"), (pairs, "complex")):
                yield one("DFT", [x] + n + [axis], f"{kind}_{size}_{length}", opset=20)
                if kind == "complex":
                    yield one("DFT", [x] + n + [axis], f"inverse_{size}_{length}", opset=20, inverse=1)
                else:
                    yield one("DFT", [x] + n + [axis], f"onesided_{size}_{length}", opset=20, onesided=1)
    yield one("DFT", [counted(1, 4, 3, 1), None, np.array(-2, i64)], "last", opset=20)
    yield one("DFT", [counted(2, 4, 3, 1), None, np.array(0, i64)], "first", opset=20)
    yield one("DFT", [counted(0, 4, 1), None, np.array(1, i64)], "empty", opset=20)
    yield one("DFT", [np.array([[[np.nan], [1], [2]]], f32), None, np.array(1, i64)], "nan", opset=20)
    yield one("DFT", [counted(1, 4, 1).astype(f64), None, np.array(1, i64)], "double", opset=20)
    for length, step, frame in ((8, 2, 4), (9, 3, 4), (5, 5, 5), (7, 1, 1), (8, 10, 8), (6, 2, 3)):
        x = counted(1, length, 1)
        for window in (None, np.linspace(0.1, 1, frame).astype(f32)):
            for onesided in (0, 1):
                yield one("STFT", [x, np.array(step, i64), window] + [np.array(frame, i64)], f"{length}_{step}_{frame}", opset=17, onesided=onesided)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for size in (0, 1, 2, 3, 8):
            for periodic in (0, 1):
                yield one(op, [np.array(size, i64)], f"{size}_{periodic}", opset=17, periodic=periodic)
    yield one(
        "MelWeightMatrix", [np.array(3, i64), np.array(8, i64), np.array(8000, i64), np.array(0.0, f32), np.array(4000.0, f32)], "small", opset=17
    )
    for x in (
        [[2.0]],
        [[0, 0], [0, 0]],
        [[1, np.nan], [0, 1]],
        [[np.inf, 0], [0, 1]],
        [[1e20, 0], [0, 1e20]],
        [[1, 2], [2, 4]],
        [[0, 1], [1, 0]],
        [[1e-30, 0], [0, 1e-30]],
    ):
        yield one("Det", [np.array(x, f32)], "values")
        yield one("Det", [np.array([x, x], f64)], "batch")
    yield one("Det", [np.zeros((2, 0, 0), f32)], "empty")
    yield one("Det", [np.zeros((0, 3, 3), f32)], "none")


def all_of():
    for function in (pools, convolutions, resizes, grids, suppressions, transforms):
        yield from function()
