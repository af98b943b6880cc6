# SPDX-License-Identifier: Apache-2.0
"""Histograms, differences, correlation, interpolation, windows."""
import numpy as N

from numpy_parity.cases import case, data, SHAPES


def statistics():
    for dtype in ("uint8", "int64", "float32", "float64"):
        v, w = data((12,), dtype, "any", 1), data((12,), dtype, "any", 2)
        loose = 1e-5 if dtype == "float32" else None
        for bins in (4, 1, 10, [-3, 0, 2, 9], [0, 1, 1, 5], "auto", "sqrt", "sturges", "rice", "scott", "fd", "odd"):
            if isinstance(bins, list) and dtype == "uint8":
                bins = [0, 2, 4, 9]
            case("histogram", v, bins, tolerance=loose)
            case("histogram_bin_edges", v, bins, tolerance=loose)
            if not isinstance(bins, str):
                case("histogram", v, bins, density=True, tolerance=loose)
                case("histogram", v, bins, weights=N.arange(12) * 0.5, tolerance=loose)
        case("histogram", v, 4, (0, 5), tolerance=loose)
        case("histogram", v, 4, (5, 0))
        case("histogram2d", v, w, 3, tolerance=loose)
        case("histogramdd", N.stack([v, w], 1), 3, tolerance=loose)
        case("cov", N.stack([v, w]), tolerance=loose)
        case("cov", v, tolerance=loose)
        case("cov", v, w, bias=True, tolerance=loose)
        case("cov", N.stack([v, w], 1), rowvar=False, ddof=0, tolerance=loose)
        case("cov", N.stack([v, w]), fweights=N.arange(12), tolerance=loose)
        case("cov", N.stack([v, w]), aweights=N.arange(12) * 0.5, tolerance=loose)
        case("corrcoef", N.stack([v, w]), tolerance=loose)
        case("corrcoef", v, w, tolerance=loose)
        for mode in ("full", "same", "valid", "no"):
            for n in (1, 3, 4, 12, 15):
                case("convolve", v, data((n,), dtype, "any", 4), mode, tolerance=1e-4 if dtype == "float32" else None)
                case("correlate", v, data((n,), dtype, "any", 4), mode, tolerance=1e-4 if dtype == "float32" else None)
        for n, m in ((300, 16), (270, 100), (16, 400), (1000, 321), (129, 129)):  # many sums at once, where they are finite
            long = data((n,), dtype, "small")
            for mode in ("full", "same", "valid"):
                case("convolve", long, data((m,), dtype, "small", 4), mode)
                case("correlate", long, data((m,), dtype, "small", 4), mode)
                if dtype.startswith("float") and n > m:
                    for value in (N.inf, N.nan):
                        holed = long.copy()
                        holed[n // 3] = value
                        case("convolve", holed, N.abs(data((m,), dtype, "small", 4)) + 1, mode)
        for shape in SHAPES:
            x = data(shape, dtype)
            for n in (0, 1, 2, -1):
                for axis in (-1, 0):
                    case("diff", x, n, axis)
            case("ediff1d", x)
            for axis in (-1, 0):
                case("trapezoid", x, axis=axis, tolerance=loose)
                case("trapezoid", x, dx=0.5, axis=axis, tolerance=loose)
        case("diff", v, prepend=0, append=data((2,), dtype))
        case("trapezoid", v, N.sort(w), tolerance=loose)
        case("ediff1d", v, N.array([1, 2], dtype), N.array([3], dtype))
        case("gradient", v, tolerance=loose)
        case("gradient", v, 2.0, edge_order=2, tolerance=loose)
        case("gradient", v, N.arange(12) ** 2.0, tolerance=loose)
        case("gradient", v, N.arange(12) ** 2.0, edge_order=2, tolerance=loose)
        case("gradient", data((4, 5), dtype), tolerance=loose)
        case("gradient", data((4, 5), dtype), axis=1, tolerance=loose)
        case("gradient", data((1,), dtype))
        case("unwrap", v, tolerance=loose)
        case("unwrap", data((3, 4), dtype), axis=0, period=4, tolerance=loose)
        case("interp", v, N.arange(6.0), data((6,), dtype), tolerance=loose)
        case("interp", v, N.arange(6.0), data((6,), dtype), left=-1, right=9, tolerance=loose)
        case("interp", v, N.arange(6.0), data((6,), dtype), period=5, tolerance=loose)
        case("interp", 2.5, [1, 2, 3], [4, 5, 6])
    case("interp", N.array([N.nan, 1.0, N.inf]), [1.0], [4.0])
    case("interp", 1.0, [], [])
    for n in (0, 1, 2, 5, 8):
        for name in ("bartlett", "blackman", "hamming", "hanning"):
            case(name, n)
        case("kaiser", n, 8.6)
