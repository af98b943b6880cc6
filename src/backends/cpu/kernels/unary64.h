// SPDX-License-Identifier: Apache-2.0
// Functions of one double, element by element, where the machine has vectors of four doubles or NEON.
//
// exp: Taylor's polynomial after the reduction of Cody and Waite ("Software Manual for the Elementary Functions", 1980). Logarithms, sine
// and cosine, arcsine, arccosine and arctangent: the methods and the minimax coefficients of fdlibm (Sun Microsystems, 1993: e_log.c,
// e_log10.c, s_log1p.c, k_sin.c, k_cos.c, e_rem_pio2.c, e_asin.c, s_atan.c). Errors are below 1 unit in the last place, those of expm1, the
// tangent and the hyperbolic functions below 2.5; -0, infinities, NaN and subnormal numbers as in C.
#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/isa.h"

namespace minnow::cpu {

enum class Unary64 : uint8_t {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  arcsin,
  arccos,
  arctan,
  sinh,
  cosh,
  tanh,
  arcsinh,
  arccosh,
  arctanh,
  cbrt,
  neg,
  abs,
  sqrt,
  rint,  // ties to even
  trunc,
  floor,
  ceil,
  count
};

/// y[i] = f(x[i]); y may be x. Null in small builds for those that no operator needs.
using Unary64Function = void (*)(const double* x, size_t count, double* y);

struct Unary64Kernels {
  const Unary64Function* functions;  // by Unary64
  Unary64Function operator[](Unary64 kind) const noexcept { return functions[static_cast<size_t>(kind)]; }
};

/// Null where there are no vectors of doubles: the C library serves as well.
const Unary64Kernels* unary64_for(Isa isa) noexcept;

}  // namespace minnow::cpu
