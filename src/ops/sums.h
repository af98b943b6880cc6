// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/tensor.h>

#include <cmath>
#include <limits>

namespace minnow {

/// A sum or product on the way to a result, as a kernel has it: above the range of f32 it is infinite and below it zero, except in f64.
/// References compute in double for the digits. If they also kept what overflows in a kernel, a constant that passes compute would differ
/// from the same tensor computed at run time.
inline double in_range(double value, DType dtype) {
  const double size = std::fabs(value);
  if (dtype == DType::f64 || (size > 0x1p-150 && size <= static_cast<double>(std::numeric_limits<float>::max()))) return value;
  return value * (size > 1 ? std::numeric_limits<double>::infinity() : 0);  // NaN stays
}

}  // namespace minnow
