# SPDX-License-Identifier: Apache-2.0
"""Making arrays, and changing their shape."""
import numpy as N

from numpy_parity.cases import add, ALL, case, data, SHAPES


def shapes():
    def windows(m, x, size, axis=None):
        return m.lib.stride_tricks.sliding_window_view(x, size, axis)
    for dtype in (*ALL, "complex64"):
        for shape in SHAPES:
            for size, axis in ((2, None), (1, 0), (3, -1), (0, 0), ((2, 2), None), ((2, 1), (0, 1)), ((1, 2), (-1, -1)), (-1, 0), (2, 5), ([2], [1])):
                add("lib.stride_tricks.sliding_window_view", windows, data(shape, dtype), size, axis)
    add("lib.stride_tricks.sliding_window_view", lambda m, x: windows(m, x.T[::-1, 1:], (2, 2)), data((3, 4), "float32"))
    for dtype in ("bool", "uint8", "int64", "float32", "float64", "complex64"):
        for shape in SHAPES:
            x = data(shape, dtype)
            n = x.size
            for name in ("ravel", "transpose", "squeeze", "flip", "flipud", "fliplr", "rot90", "atleast_1d", "atleast_2d", "atleast_3d", "shape", "ndim", "size", "copy", "permute_dims",
                         "matrix_transpose", "zeros_like", "ones_like", "ascontiguousarray", "asanyarray", "array"):
                case(name, x)
            for axis in (0, 1, -1, -2, 3, (0, 1), None):
                case("flip", x, axis)
                if axis is not None:
                    case("expand_dims", x, axis)
                case("squeeze", x, axis)
            for a, b in ((0, 1), (0, -1), (-1, 0), (1, 2)):
                case("swapaxes", x, a, b)
                case("moveaxis", x, a, b)
                case("rollaxis", x, a, abs(b))
            for dims in (n, (n,), -1, (-1, 1), (1, -1), (n, 1), (3, -1), (2, 2), (5, -1), (n, 0)):
                case("reshape", x, dims)
            case("reshape", x, (n,), order="F")
            case("ravel", x, "F")
            for shift, axis in ((1, None), (-2, 0), (3, 1), ((1, 2), (0, 1)), (100, -1)):
                case("roll", x, shift, axis)
            for reps in (2, (2, 1), (1, 2, 3), 0, ()):
                case("tile", x, reps)
            for repeats, axis in ((2, None), (3, 0), (0, 0), (2, 1), ([1, 2, 3], 0), (-1, 0)):
                case("repeat", x, repeats, axis)
            for k in (0, 1, 2, 3, -1):
                case("rot90", x, k)
            for k in (-1, 0, 1):
                case("tril", x, k)
                case("triu", x, k)
                case("diag", x, k)
                case("diagonal", x, k)
                case("trace", x, k)
                case("diagflat", x, k)
            case("resize", x, (3, 3))
            case("full_like", x, 3)
            case("full", (2, 3), 4, dtype=dtype)
            for target in ((2, 3, 4), (3, 4), (7,), (1, 1), (5, 5)):
                case("broadcast_to", x, target)
            for axis in (0, 1, -1, None):
                case("concatenate", [x, x], axis)
                case("concat", [x, data((3, 4), "float32")], axis)
                case("append", x, x, axis)
                if axis is not None:
                    case("stack", [x, x, x], axis)
                    case("split", x, 2, axis)
                    case("array_split", x, 3, axis)
                    case("split", x, [1, 2], axis)
                    case("unstack", x, axis=axis)
                for obj in (0, 1, [0, 2], -1, slice(0, 2), 9):
                    case("delete", x, obj, axis)
            for name in ("vstack", "hstack", "dstack", "column_stack"):
                case(name, [x, x])
            for name in ("hsplit", "vsplit", "dsplit"):
                case(name, x, 2)
            for obj, values, axis in ((0, 5, None), (1, 5, 0), ([0, 1], 5, 0), (-1, 2, 1), (1, [1, 2, 3, 4], 0), ([0, 2], [1, 2], None), (99, 1, None)):
                case("insert", x, obj, values, axis)
            if dtype != "complex64":
                for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "median", "linear_ramp", "nonsense"):
                    if dtype == "bool" and mode in ("mean", "median", "linear_ramp"):
                        continue
                    for width in (1, (2, 1), ((1, 2),) * len(shape) if shape else 0):
                        case("pad", x, width, mode, tolerance=3e-6)
                case("pad", x, 2, constant_values=7)
                if dtype != "bool":
                    case("pad", x, 1, "reflect", reflect_type="odd")
                    for mode in ("reflect", "symmetric", "wrap", "edge"):  # borders wider than the array
                        case("pad", x, ((13, 9),) * x.ndim, mode)
                    case("pad", x, 3, "symmetric", reflect_type="odd")
                    case("pad", x, 1, "maximum", stat_length=2)
    for name, arguments in (("zeros", ((2, 3),)), ("ones", (4,)), ("empty", ((0, 2),)), ("eye", (3,)), ("eye", (3, 4, 1)), ("eye", (2, 5, -1)), ("identity", (3,)), ("tri", (3, 4, 1)),
                            ("tri", (4,)), ("zeros", (-1,)), ("ones", ((2, -3),))):
        for dtype in ("bool", "int8", "float16", "float64", "complex128"):
            case(name, *arguments, dtype=dtype)
    for arguments in ((5,), (2, 9), (1, 10, 3), (10, 1, -2), (0.0, 1.0, 0.1), (5, 5), (3, 0), (0, 1, 0.25), (-2.5, 3), (1, 2, 0)):
        case("arange", *arguments)
        for dtype in ("int32", "float32", "float64"):
            case("arange", *arguments, dtype=dtype)
    for a, b in ((0, 1), (2.5, -3), (0, 0), (1, 10), ([0, 1], [5, 7])):
        for num in (0, 1, 2, 5, 50):
            for endpoint in (True, False):
                case("linspace", a, b, num, endpoint)
                case("linspace", a, b, num, endpoint, retstep=True)
                case("linspace", a, b, num, endpoint, dtype="float32")
                case("linspace", a, b, num, endpoint, dtype="int64")
                case("logspace", a, b, num, endpoint)
                if a not in (0, [0, 1]) and b != -3:
                    case("geomspace", a, b, num, endpoint)
    case("linspace", 0, 1, -2)
    case("geomspace", 0, 1, 4)
    for dtype in ("int64", "float32", "float64"):
        v, w = data((3,), dtype), data((4,), dtype)
        for indexing in ("xy", "ij", "no"):
            for sparse in (False, True):
                case("meshgrid", v, w, indexing=indexing, sparse=sparse)
        case("vander", v)
        case("vander", v, 4, True)
        case("block", [[N.ones((2, 2), dtype), N.zeros((2, 1), dtype)], [N.zeros((1, 2), dtype), N.ones((1, 1), dtype)]])
        case("trim_zeros", N.array([0, 0, 1, 2, 0, 3, 0], dtype))
        case("trim_zeros", N.array([0, 0, 1, 2, 0, 3, 0], dtype), "f")
        case("broadcast_arrays", v, data((2, 1), dtype))
        case("fromiter", [1, 2, 3], dtype)
        case("frombuffer", bytes(range(24)), dtype)
        case("fromstring", "1 2 3", dtype, sep=" ")
        case("fromfunction", lambda i, j: i + j, (3, 4), dtype=dtype)
        case("asarray_chkfinite", v)
    case("asarray_chkfinite", N.array([1.0, N.inf]))
    case("broadcast_shapes", (3, 1), (1, 4))
    case("broadcast_shapes", (3, 2), (4,))
    case("indices", (2, 3))
    case("indices", (2, 3), sparse=True)
    for key in (slice(0, 5), (slice(0, 3), slice(0, 2)), slice(0, 1, 5j), (slice(0, 3, 0.5), slice(-1, 1, 3j))):
        add("mgrid", lambda m, key: m.mgrid[key], key)
        add("ogrid", lambda m, key: m.ogrid[key], key)
    add("r_", lambda m: m.r_[1:4, 0, m.asarray([5, 6])])
    add("c_", lambda m: m.c_[m.asarray([1, 2]), m.asarray([3, 4])])
    add("s_", lambda m: str(m.s_[1:2, ...]))
    add("index_exp", lambda m: str(m.index_exp[1:2]))
    for dtype in ALL:
        def copyto(m, a, b):
            m.copyto(a, b)
            return a
        add("copyto", copyto, data((3, 4), dtype), data((4,), "int64"))
        add("copyto", copyto, data((3, 4), dtype), data((5,), dtype))
    # Functions that take integers also take NumPy arrays of integers: arrays have __index__ whatever they hold.
    x, rows = N.arange(10.0), N.array([2, 5])
    for name, call in {"reshape": lambda m, x: m.reshape(x, rows), "zeros": lambda m, x: m.zeros(rows), "tile": lambda m, x: m.tile(x, N.array([2, 1])),
                       "broadcast_to": lambda m, x: m.broadcast_to(x, N.array([2, 10])), "roll": lambda m, x: m.roll(m.reshape(x, rows), N.array([1, 2]), N.array([0, 1])),
                       "sum": lambda m, x: m.sum(m.reshape(x, rows), axis=N.int64(1)), "eye": lambda m, x: m.eye(N.array(3)), "split": lambda m, x: m.split(x, rows),
                       "random.Generator.choice": lambda m, x: m.random.default_rng(1).choice(N.arange(12).reshape(3, 4), 2, axis=1),
                       "random.Generator.permutation": lambda m, x: m.random.default_rng(1).permutation(N.arange(6)),
                       "random.RandomState.permutation": lambda m, x: m.random.RandomState(1).permutation(N.arange(6)),
                       "random.RandomState.choice": lambda m, x: m.random.RandomState(1).choice(N.arange(6), N.array(3))}.items():
        add(name, call, x)
