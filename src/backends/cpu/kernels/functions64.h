// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of doubles, in addition to those of unary64.h.
//
// Logarithms, tangent, arcsine, arccosine and arctangent: the methods and the minimax coefficients of fdlibm (Sun Microsystems, 1993:
// e_log.c, e_log10.c, s_log1p.c, k_sin.c, k_cos.c, e_asin.c, s_atan.c). Errors are below 1 unit in the last place; for expm1, the tangent
// and the hyperbolic functions below 2.5. -0, infinities, NaN and subnormal numbers give the same results as in C.
#pragma once
#include <cstddef>

#include "backends/cpu/kernels/more_unary.h"

namespace minnow::cpu {

struct Functions64Kernels {
  /// y[i] = f(x[i]); y may be x. By MoreUnary; null if there are no vectors of doubles: the C library serves as well.
  void (*const* functions)(const double* x, size_t count, double* y);
};

}  // namespace minnow::cpu
