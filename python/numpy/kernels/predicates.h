// SPDX-License-Identifier: Apache-2.0
// Tests for NaN, infinity, finite numbers and the sign.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::numpy {

enum class Predicate : uint8_t { isnan, isinf, isfinite, signbit, count };

/// y[i] = whether x[i] is so, by Predicate.
struct PredicateKernels {
  void (*f32[static_cast<size_t>(Predicate::count)])(const float* x, size_t count, bool* y);
  void (*f64[static_cast<size_t>(Predicate::count)])(const double* x, size_t count, bool* y);
};

}  // namespace minnow::numpy
