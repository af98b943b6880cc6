// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of floats in addition to those of unary.h, for machines with fused multiply-add.
//
// They are computed in f32: arguments are reduced exactly, or with the rounding error kept, and polynomials (minimax fits) only add the
// difference from the leading terms, so that a single rounding of about the result's size remains. Powers and lengths are computed in f64.
// Errors are below 1 unit in the last place for powers, logarithms and roots, and below 2.5 for the others. -0, infinities, NaN and
// subnormal numbers give the same results as in C.
#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/more_unary.h"

namespace minnow::cpu {

/// y[i] = f(x[i]); y may be x.
using Unary32Function = void (*)(const float* x, size_t count, float* y);

enum class Binary32 : uint8_t {
  power,
  length,  // hypot(a, b)
  angle,   // atan2(a, b)
  count
};
/// y[i] = f(a[i], b[i]).
using Binary32Function = void (*)(const float* a, const float* b, size_t count, float* y);

/// Null on machines without such vectors: functions of doubles serve as well.
struct Functions32Kernels {
  const Unary32Function* unary;    // by MoreUnary
  const Binary32Function* binary;  // by Binary32
  Unary32Function tanh;            // null also on machines without lookups in tables of this size: that of unary.h serves
};

}  // namespace minnow::cpu
