// SPDX-License-Identifier: Apache-2.0
// Functions of one element that have kernels of f32 (functions32.h) and of f64 (unary64.h), in addition to those of
// operators.
#pragma once
#include <cstdint>

namespace minnow::cpu {

enum class MoreUnary : uint8_t {
  exp2,
  expm1,
  log2,
  log10,
  log1p,
  tan,
  arcsin,
  arccos,
  arctan,
  sinh,
  cosh,
  arcsinh,
  arccosh,
  arctanh,
  cbrt,
  trunc,
  count
};

}  // namespace minnow::cpu
