# SPDX-License-Identifier: Apache-2.0
"""Arrays beyond the sizes at which other code takes over."""
import numpy as N

from numpy_parity.cases import add, case, data, FLOATS, spread


def large():
    """Arrays beyond the sizes at which other code takes over."""
    for dtype in ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64"):
        loose = {"float16": 2e-2, "float32": 1e-5, "complex64": 1e-4}.get(dtype)
        for shape in ((20011,), (131, 157), (7, 33, 95)):
            x = data(shape, dtype)
            for name in ("sum", "mean", "max", "min", "argmax", "argmin", "any", "all", "std", "var", "count_nonzero", "cumsum", "sort", "median"):
                if (dtype == "float16" and name in ("cumsum", "sum")) or dtype == "complex64" and name in ("max", "min", "argmax", "argmin", "sort", "median") or dtype == "bool" and name == "median":
                    continue
                for axis in (None, 0, -1):
                    case(name, x, axis=axis, tolerance=2e-3 if dtype == "float32" and name == "cumsum" else loose)  # NumPy adds in float32
            if dtype.startswith("float") and dtype != "float16":
                for place in (0, 70, 5000, x.size - 1):
                    y = x.copy()
                    y.reshape(-1)[place] = N.nan
                    for name in ("argmax", "argmin", "max", "nanargmax", "nanmin", "median", "nanmean"):
                        case(name, y, tolerance=loose)
                        case(name, y, axis=-1, tolerance=loose) if "nan" not in name else None
            for name in ("add", "multiply", "maximum", "equal", "less") if dtype != "complex64" else ("add", "multiply"):
                case(name, x, data(shape, dtype, "any", 1))
                case(name, x, data(shape[-1:], dtype, "any", 1))
            for name in ("sqrt", "exp", "sin", "cos", "tanh", "log", "absolute", "isnan", "square"):
                case(name, data(shape, dtype, "positive"), tolerance=loose)
            mask = data(shape, "bool", "any", 3)
            add("ndarray.__getitem__", lambda m, x, mask: x[mask], x, mask)
            case("where", mask, x, data(shape, dtype, "any", 4))
            case("nonzero", x)
            case("take", x, N.random.default_rng(2).integers(0, shape[0], 3000), 0)
            case("take", x, N.random.default_rng(2).integers(-x.size, x.size, 3000))
            for mode in ("wrap", "clip"):
                case("take", x, N.random.default_rng(2).integers(-300, 300, (30, 40)).astype("int16"), -1, mode=mode)
            case("take", x, N.r_[N.zeros(3000, int), shape[0]], 0)
            case("transpose", x)
            case("concatenate", [x, x], -1)
            case("unique", x, return_inverse=True, return_counts=True) if dtype != "complex64" else None
            case("unique", x, return_counts=True) if dtype != "complex64" else None
            case("unique", x, return_counts=True, equal_nan=False) if dtype != "complex64" else None
            for invert in (False, True):  # close to each other, and far from each other
                case("isin", x, data((3001,), dtype, "any", 5), invert=invert)
                case("isin", x * 1000003, data((3001,), dtype, "any", 5) * 1000003, invert=invert) if dtype in ("int64", "float32", "float64") else None
    for dtype in ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"):  # by vectors
        x, y, row, column = data((70, 90), dtype, "any", 1), data((70, 90), dtype, "any", 2), data((90,), dtype, "any", 3), data((70, 1), dtype, "any", 4)
        for other in (y, row, column, row[:1], 3):
            for f in (lambda m, x, y: x + y, lambda m, x, y: x * y, lambda m, x, y: x == y, lambda m, x, y: x != y, lambda m, x, y: x < y, lambda m, x, y: x >= y,
                      lambda m, x, y: y > x, lambda m, x, y: m.maximum(x, y), lambda m, x, y: m.minimum(y, x), lambda m, x, y: x[1:, ::2] <= m.broadcast_to(y, x.shape)[1:, ::2],
                      lambda m, x, y: m.where(x > y, x, y), lambda m, x, y: m.where(m.where(x == y, True, False), y, 1)):
                add("where", f, x, other)
            if dtype != "bool":
                add("subtract", lambda m, x, y: (x - y, y - x), x, other)
            if dtype[:5] != "float":
                add("bitwise_and", lambda m, x, y: (x & y, x | y, x ^ y), x, other)
        if dtype != "bool":
            add("negative", lambda m, x: -x, x)
            add("absolute", lambda m, x: (abs(x), m.clip(x, 2, 50)), x)
        else:
            add("invert", lambda m, x: ~x, x)
        for to in ("bool", "uint8", "int16", "int32", "uint64", "int64", "float32", "float64"):
            if dtype[:5] != "float" or to[:5] == "float":
                add("ndarray.astype", lambda m, x, to=to: (x.astype(to), x[::2].astype(to)), x)
    for dtype in FLOATS[1:]:
        for m, k, n in ((130, 70, 90), (257, 33, 1), (1, 300, 65), (64, 64, 64)):
            case("matmul", data((m, k), dtype, "any", 1), data((k, n), dtype, "any", 2), tolerance=1e-4 if dtype == "float32" else None)
        for m, k, n in ((33, 700, 31), (300, 310, 290), (40, 1300, 90), (15, 600, 700), (600, 10, 300), (17, 3, 2), (5, 64, 1), (1, 900, 70), (2, 3, 5)):
            x, y = data((m, k), dtype, "any", 1), data((k, n), dtype, "any", 2)
            loose = None if dtype == "float64" else 1e-4 if k < 400 else 1e-2  # what remains of large terms
            for f in (lambda m, x, y: x.T @ y, lambda m, x, y: m.dot(x.T, y[:, 0])):
                add("ndarray.@", f, x.T.copy(), y, tolerance=loose)
            for f in (lambda m, x, y: x @ y.T, lambda m, x, y: x[::2, :-1] @ y.T[1:], lambda m, x, y: x[0] @ y.T):
                add("ndarray.@", f, x, y.T.copy(), tolerance=loose)
            for f in (lambda m, x, y: x[1:, ::-1] @ y[::-1, 1:], lambda m, x, y: x[:, :1] @ y[:1], lambda m, x, y: m.matmul(x[::-1], y[:, ::2])):
                add("ndarray.@", f, x, y, tolerance=loose)
        for a, b in (((64, 20, 30), (64, 30, 40)), ((3, 1, 20, 40), (5, 40, 30)), ((4, 50, 60), (60, 70)), ((60,), (5, 60, 3)), ((5, 3, 60), (60,)), ((2, 200, 300), (2, 300, 100)), ((90, 2, 3), (90, 3, 1))):
            x, y = data(a, dtype, "any", 1), data(b, dtype, "any", 2)
            loose = 1e-4 if dtype == "float32" else None
            case("matmul", x, y, tolerance=loose)
            add("ndarray.@", lambda m, x, y: m.swapaxes(x, 0, -1) @ y[..., :1, :], x, y, tolerance=loose)
            if len(b) > 1:
                add("ndarray.@", lambda m, x, y: x @ m.swapaxes(y, -1, -2), x, y.swapaxes(-1, -2).copy(), tolerance=loose)
        case("linalg.solve", spread((60, 60), dtype) + 20 * N.eye(60, dtype=dtype), data((60,), dtype), tolerance=1e-4)
        case("linalg.svdvals", data((40, 60), dtype), tolerance=1e-4)
        case("linalg.eigvalsh", spread((50, 50), dtype) + spread((50, 50), dtype).T, tolerance=1e-4)
        for n in (9, 33, 70):  # by blocks
            square, tall = N.random.default_rng(n).standard_normal((n, n)).astype(dtype), N.random.default_rng(n).standard_normal((2 * n, n)).astype(dtype)
            low = (tall @ square[:, :n // 3]) @ tall[: n // 3]
            for name in ("inv", "det", "slogdet", "svdvals", "pinv"):
                case(f"linalg.{name}", square, tolerance=1e-4)
            case("linalg.solve", square, tall[:n, : n // 2], tolerance=1e-4)
            case("linalg.cholesky", tall.T @ tall, tolerance=1e-4)
            case("linalg.eigvalsh", low[:n] @ low[:n].T, tolerance=1e-3)
            add("linalg.eigh", lambda m, x: (lambda w, v: m.matmul(v * w, v.T))(*m.linalg.eigh(x)), square + square.T, tolerance=1e-4)
            for x in (square, tall, tall.T, low):
                case("linalg.qr", x, "r", tolerance=1e-4) if x is not low else None
                for mode in ("reduced", "complete"):
                    add("linalg.qr", lambda m, x, mode=mode: m.matmul(*m.linalg.qr(x, mode)), x, tolerance=1e-4)
                    add("linalg.qr", lambda m, x, mode=mode: m.matmul(m.linalg.qr(x, mode)[0].T, m.linalg.qr(x, mode)[0]), x, tolerance=1e-4)
                add("linalg.svd", lambda m, x: (lambda u, s, vh: m.matmul(u * s, vh))(*m.linalg.svd(x, False)), x, tolerance=1e-3)
                add("linalg.svd", lambda m, x: (lambda u, s, vh: m.matmul(u.T, u))(*m.linalg.svd(x)), x, tolerance=1e-4)
                add("linalg.svd", lambda m, x: (lambda u, s, vh: m.matmul(vh, vh.T))(*m.linalg.svd(x)), x, tolerance=1e-4)
            case("linalg.lstsq", tall, tall[:, 0] + 1, None, tolerance=1e-3)
        for kth in (0, 5000, [7, 4000], -1):
            x = N.random.default_rng(3).standard_normal(6000).astype(dtype) + (3 if dtype == "float64" else 0)
            add("partition", lambda m, x, k=kth: m.partition(x, k)[k], x)
            add("partition", lambda m, x, k=kth: m.sort(m.partition(x, k)[: k if isinstance(k, int) else k[0]]), x)
            add("argpartition", lambda m, x, k=kth: x[m.argpartition(x, k)[k]], x)
            add("argpartition", lambda m, x, k=kth: m.sort(m.argpartition(x, k)), x)
        for n in (1000, 1021, 4096, 6000):
            case("fft.fft", data((n,), dtype), tolerance=1e-3 if dtype == "float32" else 1e-9)
            case("fft.irfft", data((n,), dtype), tolerance=1e-4 if dtype == "float32" else 1e-9)
    # Sums, extremes and their places of every width of numbers: rows and columns of several tasks, short rows, few columns.
    for dtype in ("int8", "int16", "uint16", "uint32", "uint64", "int32", "float32", "float64"):
        for shape in ((40009,), (301, 517), (20011, 3), (3, 20011), (9, 700, 17)):
            random = N.random.default_rng(len(shape))
            x = random.standard_normal(shape).astype(dtype) if dtype.startswith("float") else random.integers(0, 2**64 - 1, shape, "uint64").astype(dtype)
            for name in ("sum", "prod", "max", "min", "argmax", "argmin") if dtype in ("int8", "uint16", "uint64", "int32") else ("sum", "max", "min", "argmax", "argmin"):
                for axis in (None, *range(len(shape))):
                    case(name, x, axis=axis, tolerance=1e-4 if dtype == "float32" and name == "sum" else None)
                    if dtype.startswith("float") and name != "sum":
                        y = x.copy()
                        y.reshape(-1)[:: 7001] = N.nan
                        case(name, y, axis=axis)
    # Means and variances of rows and of columns, and truths that are decided early, late, or nowhere.
    for dtype in ("int16", "uint64", "float32", "float64"):
        for shape in ((40009,), (301, 517), (20011, 3), (3, 20011), (9, 700, 17)):
            x = (N.random.default_rng(len(shape)).standard_normal(shape) * 100 + 1000).astype(dtype)
            for name in ("mean", "var", "std"):
                for axis in (None, *range(len(shape)), (0, -1) if len(shape) == 3 else 0):
                    case(name, x, axis=axis, tolerance=1e-4 if dtype == "float32" else 1e-9)
                    case(name, x, axis=axis, keepdims=True, tolerance=1e-4 if dtype == "float32" else 1e-9)
            case("std", x, axis=-1, ddof=1, tolerance=1e-4 if dtype == "float32" else 1e-9)
    for dtype in ("bool", "int8", "uint16", "int32", "float16", "float32", "float64", "complex64", "complex128"):
        for shape in ((9001,), (70, 130), (130, 3), (2, 40, 30)):
            size = N.prod(shape)
            for place in (None, 0, size // 2, size - 1):
                for value in (0, 1) if dtype in ("bool", "int8", "uint16", "int32") else (0.0, 1.0, N.nan, -0.0, 1e-7):
                    x = N.full(shape, value, dtype)
                    if place is not None:
                        x.reshape(-1)[place] = 0 if value else 1
                    for name in ("any", "all"):
                        for axis in (None, 0, -1):
                            case(name, x, axis=axis)
    for dtype in FLOATS[1:]:
        wide, unit, positive = data((10007,), dtype), data((10007,), dtype, "unit"), data((10007,), dtype, "positive")
        for name in ("tan", "arctan", "arcsinh", "sinh", "cosh", "cbrt", "expm1", "exp2"):
            case(name, wide, tolerance=1e-6)
        for name in ("arcsin", "arccos", "arctanh", "tan", "arctan"):
            case(name, unit, tolerance=1e-6)
        for name in ("log", "log2", "log10", "log1p", "arcsinh", "cbrt"):
            case(name, positive, tolerance=1e-6)
        case("arccosh", positive + 1, tolerance=1e-6)
        case("arctan2", wide, data((10007,), dtype, "any", 1), tolerance=1e-6)
        case("power", positive, wide, tolerance=1e-6)
        case("power", wide, data((10007,), dtype, "small"), tolerance=1e-6)
    for dtype in ("float32", "float64", "complex64", "complex128"):
        close = {"tolerance": 1e-4 if dtype.endswith("32") or dtype == "complex64" else 1e-9}
        for n in (2, 63, 64, 120, 128, 500, 729, 1001, 1024, 2310, 4099, 8192, 10000):
            for rows in (1, 5, 9):
                x = data((rows, n), dtype)
                case("fft.fft", x, **close)
                case("fft.ifft", x, **close)
                if dtype.startswith("float"):
                    case("fft.rfft", x, **close)
                case("fft.irfft", x[:, : n // 2 + 1], n, **close)
        case("fft.fft", data((100, 48), dtype), axis=0, **close)
