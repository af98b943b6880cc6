// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of doubles that operators need, for machines with vectors of doubles.
//
// exp: Taylor's polynomial after the reduction of Cody and Waite ("Software Manual for the Elementary Functions", 1980). Logarithm, sine
// and cosine: the methods and the minimax coefficients of fdlibm (Sun Microsystems, 1993: e_log.c, k_sin.c, k_cos.c, e_rem_pio2.c). Errors
// are below 1 unit in the last place, for tanh below 2.5. -0, infinities, NaN and subnormal numbers as in C. functions64.h has more.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

enum class Unary64 : uint8_t {
  exp,
  log,
  sin,
  cos,
  tanh,
  neg,
  abs,
  sqrt,
  rint,  // ties to even
  floor,
  ceil,
  count
};

/// y[i] = f(x[i]); y may be x.
using Unary64Function = void (*)(const double* x, size_t count, double* y);

struct Unary64Kernels {
  const Unary64Function* functions;  // by Unary64; null if there are no vectors of doubles and in small builds: the C library serves
  Unary64Function operator[](Unary64 kind) const noexcept { return functions[static_cast<size_t>(kind)]; }
};

}  // namespace minnow::cpu
