// SPDX-License-Identifier: Apache-2.0
// Sums of f32 and f64 elements in f64.
#pragma once
#include <cstddef>

namespace minnow::numpy {

/// Of elements of one dtype. Sums go into several partial sums, so that their error grows with a fraction of `count`.
struct SumLoops {
  double (*sum)(const void* x, size_t count);
  /// Of the squared distances from `center`.
  double (*squares)(const void* x, size_t count, double center);
  /// y[i] += x[i]
  void (*add)(const void* x, size_t count, double* y);
  /// y[i] += (x[i] - center[i])^2
  void (*add_squares)(const void* x, const double* center, size_t count, double* y);
};

struct Sum64Kernels {
  SumLoops floats, doubles;
};

}  // namespace minnow::numpy
