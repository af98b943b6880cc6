# SPDX-License-Identifier: Apache-2.0
"""Polynomials."""
import numpy as N

from numpy_parity.cases import add, case, data


def polynomials():
    for dtype in ("int64", "float64"):
        p, q = data((4,), dtype, "positive", 1), data((2,), dtype, "positive", 2)
        for name in ("polyadd", "polysub", "polymul", "polydiv"):
            case(name, p, q)
            case(name, q, p)
        case("polyval", p, data((5,), dtype))
        case("polyval", p, data((2, 3), "float64"))
        case("polyval", p, 2)
        for m in (0, 1, 2, 5):
            case("polyder", p, m)
            case("polyint", p, m)
        case("polyint", p, 2, [1, 2])
        case("poly", q)
        case("poly", N.array([1.0, 2.0, 3.0]))
        case("poly", N.diag([1.0, 2.0, 3.0]))
        add("roots", lambda m, p: N.sort_complex(N.asarray(m.roots(p)).astype("complex128")), p)
        add("roots", lambda m, p: N.sort_complex(N.asarray(m.roots(p)).astype("complex128")), N.array([0, 1, -3, 2, 0], dtype))
        case("polyfit", N.arange(6.0), data((6,), dtype), 2)
        case("polyfit", N.arange(6.0), data((6, 2), dtype), 1)
        case("polyfit", N.arange(6.0), data((6,), dtype), 1, w=N.arange(1, 7))
        case("polyfit", N.arange(6.0), data((6,), dtype), 1, cov=True)
        case("polyfit", N.arange(6.0), data((5,), dtype), 1)
