// SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms and powers of rows, also for AVX-512: arithmetic takes longer here than memory.
#pragma once
#include <cstddef>

namespace minnow::vision {

struct PowerLoops {
  void (*exp_f32)(const float* in, float* out, size_t n);
  void (*exp_f64)(const double* in, double* out, size_t n);
  void (*log_f32)(const float* in, float* out, size_t n);
  void (*log_f64)(const double* in, double* out, size_t n);
  /// The power of |in|.
  void (*pow_f32)(const float* in, float* out, size_t n, float exponent);
};
const PowerLoops& power_loops();

}  // namespace minnow::vision
