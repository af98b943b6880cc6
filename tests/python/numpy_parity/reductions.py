# SPDX-License-Identifier: Apache-2.0
"""Reductions, running sums and products, quantiles."""
import numpy as N

from numpy_parity.cases import add, ALL, case, data, FLOATS, SHAPES


def reductions():
    axes = (None, 0, -1, 1, 2, (0, 1), (0, -1), ())
    for name in "sum prod max min amax amin mean var std all any argmax argmin ptp count_nonzero nansum nanprod nanmax nanmin nanmean nanvar nanstd median nanmedian".split():
        for dtype in ALL:
            for shape in SHAPES:
                for axis in axes:
                    if isinstance(axis, tuple) and name in ("argmax", "argmin"):
                        continue
                    if isinstance(axis, tuple) and "median" in name and (not axis or 0 in shape):
                        continue
                    if dtype == "bool" and ("median" in name or name == "ptp"):
                        continue
                    kind = "small" if name in ("prod", "nanprod") else "any"
                    for keep in (False, True) if shape in ((3, 4), (2, 3, 4)) else (False,):
                        x = data(shape, dtype, kind)
                        if name.startswith("nan") and dtype in FLOATS and x.size > 2:
                            x = N.where(data(shape, "float64", "unit", 9) > 0.3, N.asarray(N.nan, dtype), x).astype(dtype)
                        case(name, x, axis=axis, keepdims=keep, tolerance=2e-3 if dtype == "float16" else 3e-6 if dtype == "float32" else None)
    for name in "cumsum cumprod nancumsum nancumprod".split():
        for dtype in ALL:
            for shape in SHAPES:
                for axis in (None, 0, -1, 1):
                    case(name, data(shape, dtype, "small"), axis=axis, tolerance=5e-3 if dtype == "float16" else 1e-5 if dtype == "float32" else None)
    for name in ("cumulative_sum", "cumulative_prod"):
        for dtype in ("int64", "float64", "bool"):
            case(name, data((5,), dtype, "small"))
            case(name, data((3, 4), dtype, "small"), axis=1, include_initial=True)
            case(name, data((3, 4), dtype, "small"))
    for name in ("sum", "prod", "mean", "max", "min", "any", "all", "std", "var"):
        for dtype in ("uint8", "int64", "float32", "float64"):
            x, mask = data((3, 4), dtype, "small"), data((3, 4), "bool")
            mask[0] = True
            options = {"initial": 3} if name in ("max", "min") else {}
            case(name, x, axis=0, where=mask, **options, tolerance=3e-6 if dtype == "float32" else None)
            case(name, x, where=mask, **options, tolerance=3e-6 if dtype == "float32" else None)
            if name in ("sum", "prod", "mean", "var", "std"):
                for wanted in ("float32", "float64"):
                    case(name, x, axis=1, dtype=wanted, tolerance=3e-6)
            if name in ("std", "var"):
                case(name, x, axis=0, ddof=1, tolerance=3e-6)
                case(name, x, ddof=20, tolerance=3e-6)
            add(name + ".out", lambda m, x, out, name=name: getattr(m, name)(x, axis=0, out=out), x, N.zeros(4, "float64" if name not in ("any", "all") else "bool"), tolerance=3e-6)
            add(name + ".out", lambda m, x, out, name=name: getattr(m, name)(x, axis=0, out=out), x, N.zeros(5, "float64"), tolerance=3e-6)
    for name in ("sum", "max", "min", "argmax", "argmin", "mean", "median", "any", "all", "nanmax", "nanargmin", "nanargmax"):
        for dtype in FLOATS:
            x = data((14,), dtype, "edge")
            case(name, x)
            case(name, x.reshape(2, 7), axis=1)
            case(name, x.reshape(2, 7), axis=0)
    for dtype in ("int64", "float32", "float64"):
        x = data((3, 4), dtype)
        case("average", x)
        case("average", x, axis=1, weights=N.array([1, 2, 3, 4]), tolerance=3e-6)
        case("average", x, axis=0, weights=N.array([0.5, 2, 1]), returned=True, tolerance=3e-6)
        case("average", x, weights=N.array([1, 2]))
        case("average", x, axis=0, weights=N.array([0, 0, 0]))
    for method_name in ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
                        "median_unbiased", "normal_unbiased"):
        for dtype in ("int64", "float32", "float64"):
            for q in (0.5, 0.0, 1.0, [0.1, 0.5, 0.93]):
                for name in ("quantile", "nanquantile"):
                    case(name, data((9,), dtype), q, method=method_name, tolerance=1e-5 if dtype == "float32" else None)
                    case(name, data((3, 4), dtype), q, axis=1, method=method_name, tolerance=1e-5 if dtype == "float32" else None)
    for dtype in ("int64", "float32", "float64"):
        for q in (50, 12.5, [0, 33, 100]):
            for axis in (None, 0, -1, (0, 1)):
                case("percentile", data((3, 4), dtype), q, axis=axis, tolerance=1e-5 if dtype == "float32" else None)
                case("nanpercentile", data((3, 4), dtype), q, axis=axis, keepdims=True, tolerance=1e-5 if dtype == "float32" else None)
    case("quantile", data((4,), "float64"), 1.5)
    case("percentile", data((4,), "float64"), -3)
    for dtype in FLOATS:
        x = data((14,), dtype, "edge").reshape(2, 7)
        x[0] = 1
        case("nanquantile", x, 0.5, axis=1)
        case("quantile", x, 0.5, axis=1)
