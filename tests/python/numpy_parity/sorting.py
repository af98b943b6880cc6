# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, sets."""
import numpy as N

from numpy_parity.cases import add, ALL, case, data, NUMBERS, SHAPES, WHOLE


def sorting():
    for dtype in ALL:
        for shape in SHAPES:
            for kind in ("any", "edge"):
                x = data(shape, dtype, kind)
                for axis in (-1, 0, None, 1):
                    case("sort", x, axis)
                    case("argsort", x, axis, kind="stable")
                    if x.size > 1 and axis in (-1, None) and x.shape[-1] > 1:
                        add("partition", lambda m, x, axis: m.partition(x, 1, axis)[..., 1], x, axis)
                        add("argpartition", lambda m, x, axis: m.take_along_axis(m.asarray(x), m.argpartition(x, 1, axis), axis)[..., 1], x, axis)
                case("unique", x)
                case("unique", x, return_index=True, return_inverse=True, return_counts=True)
                if x.ndim > 1 and x.size and kind == "any":
                    case("unique", x, axis=0)
                add("unique_values", lambda m, x: N.sort(N.asarray(m.unique_values(x))), x)
                case("unique_counts", x)
                case("unique_inverse", x)
                case("unique_all", x)
        v, w = data((7,), dtype, "any", 1), data((5,), dtype, "any", 2)
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"):
            case(name, v, w)
            case(name, v, w[:0])
            if dtype in NUMBERS:
                case(name, v, data((3,), "float32", "small"))
        case("intersect1d", v, w, return_indices=True)
        case("isin", v.reshape(7, 1), w, invert=True)
        for side in ("left", "right", "no"):
            case("searchsorted", N.sort(v), w, side)
            case("searchsorted", N.sort(v), N.float64(1.5), side)
            case("searchsorted", v, w, side, sorter=N.argsort(v, kind="stable"))
        if dtype != "bool":
            for right in (False, True):
                case("digitize", v, N.sort(w), right)
                case("digitize", v, N.sort(w)[::-1], right)
            case("digitize", v, N.array([1, 3, 2]))
        case("bincount", N.abs(v.astype("int64") if dtype not in WHOLE else v).astype(dtype if dtype in ("bool", "uint8", "int32", "int64") else "int64"))
        case("sort_complex", v)
        case("lexsort", [v, data((7,), "int64")])
        case("lexsort", N.stack([v, v]))
    case("bincount", N.array([0, 1, 1, 4]), minlength=8)
    case("bincount", N.array([0, 1, 1, 4]), weights=N.array([0.5, 1, 2, 3]))
    case("bincount", N.array([-1, 2]))
    case("bincount", N.array([0.5]))
    case("sort", N.ones(3), 5)
