# SPDX-License-Identifier: Apache-2.0
"""Indices, masks, assignment, and the functions over them."""
import math

import numpy as N

from numpy_parity.cases import add, case, data


def indexing():
    keys = [0, -1, 1, slice(None), slice(1, None), slice(None, None, -1), slice(3, 0, -2), slice(-2, 9), slice(5, 1), Ellipsis, None, (Ellipsis, 0), (0, Ellipsis), (None, 0), (0, None),
            (slice(None), 1), (1, slice(None, None, -1)), (slice(1, 3), slice(0, 2)), (Ellipsis, None), (0, 1), (-1, -1), [0, 1], [0, -1, 0], [[0, 1], [1, 0]], ([0, 1], [1, 0]),
            (slice(None), [0, 2]), ([0, 1], slice(None)), ([0, 1], 1), (0, [1, 0]), ([0, 1], slice(1, 3)), ([[0], [1]], [0, 1]), [], True, False, (True, 0), 99, (0, 0, 0, 0), [5, 99], "x", 1.5,
            (Ellipsis, Ellipsis), ([0, 1], [0, 1, 0]), (slice(None), None, [1, 0]), ([1, 0], None, [0, 1]), (0, slice(None), [0, 1]), ([0, 1], slice(None), [0, 1]), (slice(None), [0, 1], [1, 0])]
    for dtype in ("bool", "uint8", "int64", "float32", "float64", "complex64"):
        for shape in ((), (7,), (3, 4), (2, 3, 4), (0, 3)):
            x = data(shape, dtype)
            for key in keys:
                given = N.array(key) if isinstance(key, list) and key else key
                add("ndarray.__getitem__", lambda m, x, key: x[key], x, key)
                if isinstance(given, N.ndarray):
                    add("ndarray.__getitem__", lambda m, x, key: x[key], x, given)
                for value in (1, data((1,), dtype), data((2,), dtype, "any", 5)):
                    def put(m, x, key, value):
                        x[key] = value
                        return x
                    add("ndarray.__setitem__", put, x, key, value)
            mask = data(shape, "bool", "any", 3)
            add("ndarray.__getitem__", lambda m, x, mask: x[mask], x, mask)
            add("ndarray.__getitem__", lambda m, x, mask: x[mask], x, data((5,), "bool"))
            add("ndarray.__setitem__", put, x, mask, 1)
            add("ndarray.__setitem__", put, x, mask, data((int(mask.sum()),), dtype, "any", 8))
            add("ndarray.__setitem__", put, x, mask, data((9,), dtype, "any", 8))
            if len(shape) > 1:
                row = data(shape[:1], "bool", "any", 4)
                add("ndarray.__getitem__", lambda m, x, row: x[row], x, row)
                add("ndarray.__getitem__", lambda m, x, row: x[row, 0], x, row)
                add("ndarray.__setitem__", put, x, row, 1)
            add("ndarray.view", lambda m, x: [x.__setitem__((slice(None, None, -1)), 1) if x.ndim else None, x][1], x)

            def through(m, x):
                v = x[::-1][1:]
                v[0] = 1
                return x
            add("ndarray.view", through, x)
            for indices in ([0, 1], 1, [[0], [1]], [-1, 0], [99], []):
                for axis in (None, 0, -1, 1):
                    for mode in ("raise", "wrap", "clip"):
                        case("take", x, N.array(indices, "int64"), axis, mode=mode)
            case("nonzero", x)
            case("flatnonzero", x)
            case("argwhere", x)
            case("where", mask, x, data(shape, "float32", "any", 2))
            case("where", mask, x, 3)
            case("where", x)
            case("extract", mask, x)
            for axis in (None, 0, -1):
                case("compress", [True, False, True], x, axis)
            for axis in (0, 1, -1):
                if shape not in ((), (0, 3)):
                    order = N.argsort(data(shape, "float64"), axis=-1)
                    case("take_along_axis", x, order, -1)

                    def along(m, x, order):
                        m.put_along_axis(x, order[..., :1], 1, -1)
                        return x
                    add("put_along_axis", along, x, order)

            def put_(m, x, ind, v, mode="raise"):
                m.put(x, ind, v, mode)
                return x

            def masked(m, x, mask, v, name):
                getattr(m, name)(x, mask, v)
                return x
            for ind, v in (([0, 1], [1, 0]), ([0], 1), ([-1, 2, 0], [1, 2]), ([99], 1)):
                for mode in ("raise", "wrap", "clip"):
                    add("put", put_, x, N.array(ind), N.array(v).astype(dtype), mode)
            for name in ("putmask", "place"):
                add(name, masked, x, mask, N.array([1, 0, 1]).astype(dtype), name)
    for shape in ((3, 4), (5,), (2, 3, 2)):
        n = math.prod(shape)
        for numbers in ([0, n - 1], 1, [[0, 1], [2, 3]], [n], [-1]):
            for order in "CF":
                case("unravel_index", N.array(numbers), shape, order)
        for index in ([[0, 1]] * len(shape), [0] * len(shape), [[9, 1]] * len(shape), [[-1, 1]] * len(shape)):
            for mode in ("raise", "wrap", "clip"):
                case("ravel_multi_index", tuple(N.array(one) for one in index), shape, mode)
    for mode in ("raise", "wrap", "clip"):
        case("choose", N.array([0, 1, 2, 0]), [N.arange(4), N.arange(4) * 10, N.arange(4) * 100], mode=mode)
        case("choose", N.array([0, 1, 5, -1]), [N.arange(4), N.arange(4) * 10, N.arange(4) * 100], mode=mode)
    x = N.arange(6)
    case("select", [x < 2, x > 4], [x, x * 2], 7)
    case("select", [], [])
    case("piecewise", x.astype("float64"), [x < 2, x > 4], [-1.0, lambda v: v * 2, 5.0])
    for n in (1, 3, 5):
        for k in (-1, 0, 2):
            case("tril_indices", n, k)
            case("triu_indices", n, k)
            case("tril_indices_from", N.ones((n, 4)), k)
            case("triu_indices_from", N.ones((n, 4)), k)
        case("diag_indices", n)
        case("diag_indices_from", N.ones((n, n)))
    add("mask_indices", lambda m: m.mask_indices(3, m.triu, 1))
    case("ix_", N.array([0, 1]), N.array([True, False, True]))
    case("ix_", N.array([[0, 1]]))
    for dtype in ("int64", "float32"):
        for shape in ((3, 3), (5, 3), (3, 5), (2, 2, 2), (4,)):
            for wrap in (False, True):
                def fill(m, x, wrap):
                    m.fill_diagonal(x, 7, wrap)
                    return x
                add("fill_diagonal", fill, data(shape, dtype), wrap)
        add("apply_along_axis", lambda m, x: m.apply_along_axis(lambda v: v.sum(), 1, x), data((3, 4), dtype))
        add("apply_along_axis", lambda m, x: m.apply_along_axis(lambda v: v * 2, 0, x), data((3, 4), dtype))
        add("apply_over_axes", lambda m, x: m.apply_over_axes(m.sum, x, [0, 1]), data((3, 4), dtype))
        add("ndenumerate", lambda m, x: [(i, v) for i, v in m.ndenumerate(x)], data((2, 3), dtype))
    add("ndindex", lambda m: list(m.ndindex(2, 3)))
