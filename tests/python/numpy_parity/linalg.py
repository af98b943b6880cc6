# SPDX-License-Identifier: Apache-2.0
"""numpy.linalg."""
import math

import numpy as N

from numpy_parity.cases import add, case, data, spread


def linear_algebra():
    def loosely(dtype):
        return 2e-5 if dtype in ("float32", "complex64") else 1e-9
    for dtype in ("int64", "float32", "float64", "complex64", "complex128", "float16"):
        for shape in ((1, 1), (2, 2), (3, 3), (6, 6), (2, 3, 3), (0, 0), (2, 0, 0), (2, 3), (3,), ()):
            square = len(shape) > 1 and shape[-1] == shape[-2]
            x = spread(shape, dtype) if square else data(shape, dtype)
            limit = loosely(dtype)
            for name in ("inv", "det", "slogdet", "cholesky", "matrix_rank", "pinv", "cond", "svdvals", "eigvalsh"):
                a = x
                if square and name in ("cholesky", "eigvalsh") and x.size:
                    a = (x @ x.conj().swapaxes(-1, -2)).astype(dtype)
                if name == "cond" and x.size == 0:
                    continue
                case("linalg." + name, a, tolerance=limit * 10)
            for rhs in ((shape[-1] if shape else 1,), (*(shape[-1:] or (1,)), 2)):
                case("linalg.solve", x, data(rhs, dtype, "any", 3), tolerance=limit * 10)
            for n in (0, 1, 2, 3, -1, -2):
                case("linalg.matrix_power", x, n, tolerance=limit * 100)
            for mode in ("reduced", "complete", "r", "raw", "odd"):
                case("linalg.qr", x, mode, tolerance=limit * 10)
            add("linalg.eigvals", lambda m, a: N.sort_complex(N.asarray(m.linalg.eigvals(a)).astype("complex128").round(6)), x, tolerance=1e-3 if dtype in ("float32", "complex64") else 1e-5)

            def rebuilt(m, a):
                w, v = m.linalg.eigh(a)
                return w, m.matmul(v * w[..., None, :], m.conj(m.linalg.matrix_transpose(v)))
            add("linalg.eigh", rebuilt, (x @ x.conj().swapaxes(-1, -2)).astype(dtype) if square and x.size else x, tolerance=limit * 40)

            def eigen(m, a):
                w, v = m.linalg.eig(a)
                return m.abs(m.matmul(a, v) - v * w[..., None, :]) < 1e-3
            add("linalg.eig", eigen, x)
        for shape in ((4, 3), (3, 4), (3, 3), (2, 4, 3), (5, 1), (1, 5), (0, 3)):
            x = data(shape, dtype)
            for full in (True, False):
                def product(m, a, full):
                    u, s, vh = m.linalg.svd(a, full)
                    k = s.shape[-1]
                    unit = m.abs(m.matmul(m.conj(m.linalg.matrix_transpose(u)), u) - m.eye(u.shape[-1])) < 1e-3
                    return s, m.matmul(u[..., :k] * s[..., None, :], vh[..., :k, :]), unit, m.shape(vh)
                add("linalg.svd", product, x, full, tolerance=limit * 40)
            case("linalg.svdvals", x, tolerance=limit * 20)
            case("linalg.pinv", x, tolerance=limit * 100)
            case("linalg.matrix_rank", x)
            case("linalg.qr", x, tolerance=limit * 40)
            case("linalg.cond", x, tolerance=limit * 100) if x.size else None
            if len(shape) == 2 and x.size:
                case("linalg.lstsq", x, data(shape[:1], dtype, "any", 4), None, tolerance=limit * 100)
                case("linalg.lstsq", x, data((shape[0], 2), dtype, "any", 4), None, tolerance=limit * 100)
        for shape in ((5,), (3, 4), (2, 3, 4), (0,), ()):
            x = data(shape, dtype)
            loose = 3e-3 if dtype == "float16" else 1e-5 if dtype in ("float32", "complex64") else None
            for ord in (None, 1, 2, 0, 3, 0.5, -1, -2, math.inf, -math.inf, "fro", "nuc", "odd"):
                for axis in (None, 0, -1, (0, 1), (-2, -1)):
                    if dtype == "float16" and (ord in (2, -2, "nuc") or ord in (0.5, 3)):
                        continue
                    case("linalg.norm", x, ord, axis, tolerance=loose)
                    case("linalg.norm", x, ord, axis, True, tolerance=loose)
                if not isinstance(ord, str) and ord is not None and not (dtype == "float16"):
                    case("linalg.vector_norm", x, ord=ord, tolerance=loose)
                if len(shape) > 1 and dtype != "float16":
                    case("linalg.matrix_norm", x, ord=ord if ord is not None else "fro", tolerance=loose)
        x, y, z = data((3, 4), dtype), data((4, 2), dtype), data((2, 5), dtype)
        loose = 2e-2 if dtype == "float16" else 1e-4 if dtype in ("float32", "complex64") else None
        case("linalg.multi_dot", [x, y, z], tolerance=loose)
        case("linalg.multi_dot", [x[0], y, z, z[0]], tolerance=loose)
        case("linalg.trace", data((2, 3, 3), dtype), tolerance=loose)
        case("linalg.diagonal", data((2, 3, 3), dtype))
        case("linalg.cross", data((3,), dtype, "any", 1), data((3,), dtype, "any", 2), tolerance=loose)
        case("linalg.matrix_transpose", x)
        case("linalg.outer", x[0], x[1])
        case("linalg.tensordot", x, y, axes=1, tolerance=loose)
        if dtype != "float16":
            a = spread((4, 4), dtype).reshape(2, 2, 2, 2)
            case("linalg.tensorinv", a, tolerance=1e-4)
            case("linalg.tensorsolve", a, data((2, 2), dtype), tolerance=1e-4)
    for name in ("inv", "cholesky"):
        case("linalg." + name, N.zeros((3, 3)))
    case("linalg.solve", N.zeros((2, 2)), N.ones(2))
    case("linalg.det", N.zeros((2, 2)))
    case("linalg.slogdet", N.zeros((2, 2)))
