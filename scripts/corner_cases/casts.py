# SPDX-License-Identifier: Apache-2.0
"""Casts between all types, and quantization."""

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from .case import FLOATS, INTEGERS, corner_floats, corner_integers, few, f16, f32, i8, i16, i32, i64, one, u8, u16

F8 = {
    "f8e4m3fn": TensorProto.FLOAT8E4M3FN,
    "f8e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "f8e5m2": TensorProto.FLOAT8E5M2,
    "f8e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
}
BOOL = np.dtype(bool)


def code(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def rounding(dtype):
    """Values half way between neighbours of narrow types, and at the ends of their ranges."""
    steps = np.concatenate(
        [
            np.arange(-20, 20) * 0.5,
            np.arange(-12, 12) * 0.25 + 0.125,
            np.arange(0, 40) * 1.5 + 200,
            np.arange(0, 40) * 8 + 400.0,
            [239, 240, 244, 248, 252, 256, 464, 465, 479.9, 480, 480.1, 496, 512, 57344, 61439, 61440, 61441, 65535, 65504, 65519, 65520, 65536, 1e5],
            2.0 ** np.arange(-30, 16),
            3.0 * 2.0 ** np.arange(-30, 14),
            1.0625 * 2.0 ** np.arange(-20, 14),
            1.1875 * 2.0 ** np.arange(-20, 14),
        ]
    )
    with np.errstate(over="ignore"):
        x = np.concatenate([steps, -steps]).astype(dtype)
    return x[np.isfinite(x.astype(np.float64))]


def casts():
    for source in FLOATS:
        x = corner_floats(source)
        for target in FLOATS + [BOOL]:
            yield one("Cast", [x], f"to_{np.dtype(target).name}", to=code(target))
            yield one("Cast", [rounding(source)], f"rounding_to_{np.dtype(target).name}", to=code(target))
        for target in INTEGERS:
            low, high = max(np.iinfo(target).min, -(2.0**31)), min(np.iinfo(target).max, 2.0**31 - 129)
            wide = x.astype(np.float64)
            inside = x[np.isfinite(wide) & (wide > low - 1) & (wide < high + 1)]
            yield one("Cast", [inside], f"inside_to_{target.name}", to=code(target))
            yield one("Cast", [x], f"to_{target.name}", to=code(target))
        for name, target in F8.items():
            for saturate in (1, 0):
                yield one("Cast", [x], f"to_{name}_saturate{saturate}", to=target, saturate=saturate)
                yield one("Cast", [rounding(source)], f"rounding_to_{name}_saturate{saturate}", to=target, saturate=saturate)
    for source in INTEGERS + [BOOL]:
        x = corner_integers(source) if source != BOOL else np.array([True, False, True])
        for target in INTEGERS + FLOATS + [BOOL]:
            yield one("Cast", [x], f"to_{np.dtype(target).name}", to=code(target))
    for name, target in F8.items():
        every = np.arange(256, dtype=np.uint8).view(helper.tensor_dtype_to_np_dtype(target))
        for other in (f32, f16):
            yield one("Cast", [every], f"{name}_to_{other.name}", to=code(other))
        for other, kind in F8.items():
            for saturate in (1, 0):
                yield one("Cast", [every], f"{name}_to_{other}_saturate{saturate}", to=kind, saturate=saturate)
    for low, high, kind in ((-8, 8, ml_dtypes.int4), (0, 16, ml_dtypes.uint4)):
        every = np.arange(low, high, dtype=np.int8).astype(kind)
        for target in (f32, i8, u8, i32, f16):
            yield one("Cast", [every], f"to_{target.name}", to=code(target))
        for source in (i8, i32, u8):
            yield one("Cast", [np.arange(low, high).astype(source)], f"{np.dtype(kind).name}", to=code(kind))
        yield one(
            "Cast",
            [np.array([-8.5, -8, -7.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 6.5, 7, 7.5, 1.9], f32)],
            f"fractions_to_{np.dtype(kind).name}",
            to=code(kind),
        )
        yield one("Cast", [np.array([-200, -20, -9, -8, 7, 8, 9, 15, 16, 17, 100], i32)], f"outside_to_{np.dtype(kind).name}", to=code(kind))
    every4 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn) if hasattr(ml_dtypes, "float4_e2m1fn") else None
    if every4 is not None:
        yield one("Cast", [every4], "f4_to_f32", to=code(f32), opset=23)
        yield one("Cast", [corner_floats(f32)], "to_f4", to=TensorProto.FLOAT4E2M1, opset=23)
        yield one("Cast", [rounding(f32)], "rounding_to_f4", to=TensorProto.FLOAT4E2M1, opset=23)
    yield few("cast_chain_f32_f16_f32", [("Cast", "x0", "a", {"to": code(f16)}), ("Cast", "a", "y", {"to": code(f32)})], [corner_floats(f32)])
    yield few("cast_chain_f32_bf16_f32", [("Cast", "x0", "a", {"to": TensorProto.BFLOAT16}), ("Cast", "a", "y", {"to": code(f32)})], [rounding(f32)])
    yield few("cast_chain_i64_i8_i64", [("Cast", "x0", "a", {"to": code(i8)}), ("Cast", "a", "y", {"to": code(i64)})], [corner_integers(i64)])
    yield few("cast_chain_i64_u8_f32", [("Cast", "x0", "a", {"to": code(u8)}), ("Cast", "a", "y", {"to": code(f32)})], [corner_integers(i64)])
    yield few("cast_chain_i64_bool_f32", [("Cast", "x0", "a", {"to": code(BOOL)}), ("Cast", "a", "y", {"to": code(f32)})], [corner_integers(i64)])
    yield few("cast_chain_f32_bool_f32", [("Cast", "x0", "a", {"to": code(BOOL)}), ("Cast", "a", "y", {"to": code(f32)})], [corner_floats(f32)])
    yield few(
        "cast_chain_i64_f32_i64",
        [("Cast", "x0", "a", {"to": code(f32)}), ("Cast", "a", "y", {"to": code(i64)})],
        [np.array([1, 2**24 + 1, 2**31 + 1, -(2**24) - 1, 2**53 + 1, -(2**62)], i64)],
    )
    yield few(
        "cast_chain_i32_f32_i32",
        [("Cast", "x0", "a", {"to": code(f32)}), ("Cast", "a", "y", {"to": code(i32)})],
        [np.array([1, 2**24 + 1, 2**30 + 1, -(2**24) - 1], i32)],
    )
    yield few(
        "cast_chain_f32_i32_f32",
        [("Cast", "x0", "a", {"to": code(i32)}), ("Cast", "a", "y", {"to": code(f32)})],
        [np.array([0.5, 1.5, -0.5, -1.5, 2.9, -2.9, 1e6 + 0.5], f32)],
    )


def quantization():
    for source in (f32, f16):
        x = np.concatenate([corner_floats(source), rounding(source)])
        for target in (u8, i8, u16, i16):
            for scale, zero in ((1, 0), (0.5, 3), (2, 100), (0.1, 0), (1e-4, 1), (3.0, np.iinfo(target).max), (1.5, np.iinfo(target).min)):
                yield one("QuantizeLinear", [x, np.array(scale, source), np.array(zero, target)], f"{target.name}_{scale:g}_{zero}".replace("-", "m"))
        yield one("QuantizeLinear", [x, np.array(0.5, source)], "no_zero_point")
        for name, target in F8.items():
            zero = np.zeros((), helper.tensor_dtype_to_np_dtype(target))
            for saturate in (1, 0):
                for scale in (1, 2):
                    yield one("QuantizeLinear", [x, np.array(scale, source), zero], f"{name}_{scale}_saturate{saturate}", saturate=saturate)
        for kind in (ml_dtypes.int4, ml_dtypes.uint4):
            yield one("QuantizeLinear", [x, np.array(1, source), np.array(2).astype(kind)], f"{np.dtype(kind).name}")
    x = rounding(f32)[:96].reshape(4, 24)
    for axis in (0, -2):
        yield one("QuantizeLinear", [x, np.array([0.5, 1, 2, 1e-3], f32), np.array([0, 1, 255, 128], u8)], f"axis{axis}", axis=axis)
    yield one("QuantizeLinear", [x.T.copy(), np.array([0.5, 1, 2, 1e-3], f32), np.array([0, 1, 127, -128], i8)], "last_axis")
    yield one("QuantizeLinear", [x, np.repeat(np.array([[0.5], [1]], f32), 24, 1), np.zeros((2, 24), u8)], "blocks", axis=0, block_size=2)
    yield one("QuantizeLinear", [np.zeros((0, 3), f32), np.array(1, f32), np.array(0, u8)], "empty")
    yield one(
        "QuantizeLinear", [np.array([-(2**31), 2**31 - 1, 0, 100, -100, 127, 128, 129], i32), np.array(2, f32), np.array(1, i8)], "of_i32", opset=23
    )
    for dtype in (u8, i8, u16, i16, i32):
        x = corner_integers(dtype)
        zero = 0 if dtype == i32 else 3
        for scale in (1, 0.25, 1e-3, 3e38 if dtype != i32 else 1e30, np.inf, np.nan, -1, 0):
            yield one("DequantizeLinear", [x, np.array(scale, f32), np.array(zero, dtype)], f"{scale:g}".replace("-", "m"))
        yield one("DequantizeLinear", [x, np.array(0.5, f32)], "no_zero_point")
        if dtype != i32:
            yield one("DequantizeLinear", [x, np.array(0.5, f16), np.array(np.iinfo(dtype).max, dtype)], "f16")
            yield one("DequantizeLinear", [x, np.array(6e4, f16), np.array(np.iinfo(dtype).min, dtype)], "f16_overflow")
    yield one("DequantizeLinear", [np.array([-(2**31), 2**31 - 1], i32), np.array(1, f32)], "i32_ends")
    for name, target in F8.items():
        every = np.arange(256, dtype=np.uint8).view(helper.tensor_dtype_to_np_dtype(target))
        yield one("DequantizeLinear", [every, np.array(2, f32)], name)
    for x in (
        [0.0] * 5,
        [1, 2, 3],
        [-1, -2, -3],
        [1e-8, 2e-8],
        [3e38, -3e38],
        [np.inf, 1],
        [1e-40, 0],
        [np.nan, 1],
        [255, 0, 127.5, 0.5, 1.5, 2.5],
        [-128, 127, 0.5],
        [7.0],
        [1e30, -1e-30],
    ):
        yield one("DynamicQuantizeLinear", [np.array(x, f32)], "values", outputs=3)
    for a_zero in (0, 127, 255):
        yield one(
            "MatMulInteger",
            [np.array([[0, 255, 128]], u8), np.array([[255], [0], [1]], u8), np.array(a_zero, u8), np.array(255, u8)],
            f"zero_{a_zero}",
        )
        yield one(
            "QLinearMatMul",
            [
                np.array([[0, 255, 128]] * 3, u8),
                np.array(0.5, f32),
                np.array(a_zero, u8),
                np.array([[255, 3], [0, 9], [1, 200]], u8),
                np.array(0.25, f32),
                np.array(3, u8),
                np.array(0.37, f32),
                np.array(7, u8),
            ],
            f"zero_{a_zero}",
        )
    yield one("MatMulInteger", [np.full((2, 1000), 255, u8), np.full((1000, 2), -128, i8)], "long")
    yield one("MatMulInteger", [np.zeros((2, 0), u8), np.zeros((0, 3), u8)], "none")
    yield one("MatMulInteger", [np.full((2, 8), -128, i8), np.full((8, 2), -128, i8)], "lowest")
    yield one("MatMulInteger", [np.full((2, 8), 255, u8), np.full((8, 2), 127, i8)], "highest")
    yield one(
        "ConvInteger", [np.full((1, 3, 4, 4), 255, u8), np.full((2, 3, 3, 3), 255, u8), np.array(1, u8), np.array(2, u8)], "pads", pads=[1, 1, 1, 1]
    )
    yield one(
        "QLinearConv",
        [
            np.full((1, 3, 4, 4), 255, u8),
            np.array(0.5, f32),
            np.array(1, u8),
            np.full((2, 3, 3, 3), -128, i8),
            np.array(0.5, f32),
            np.array(0, i8),
            np.array(10, f32),
            np.array(250, u8),
            np.array([5, -5], i32),
        ],
        "pads",
        pads=[1, 1, 1, 1],
    )
    # A half rounds to even, after division.
    halves = np.arange(-16, 16) * 0.5
    for scale in (1.0, 0.5, 0.1, 0.3, 7.0):
        yield one("QuantizeLinear", [(halves * scale).astype(f32), np.array(scale, f32), np.array(16, u8)], f"halves_{scale:g}")
    x = corner_floats(f32)
    x = x[~np.isnan(x)]
    yield few(
        "quantize_dequantize",
        [("QuantizeLinear", "x0 x1 x2", "a", {}), ("DequantizeLinear", "a x1 x2", "y", {})],
        [x, np.array(0.5, f32), np.array(10, u8)],
    )
    yield few(
        "quantize_dequantize_relu",
        [
            ("QuantizeLinear", "x0 x1 x2", "a", {}),
            ("DequantizeLinear", "a x1 x2", "b", {}),
            ("Relu", "b", "c", {}),
            ("QuantizeLinear", "c x1 x2", "y", {}),
        ],
        [x, np.array(0.5, f32), np.array(10, i8)],
    )


def all_of():
    yield from casts()
    yield from quantization()
