// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of two doubles, for machines with fused multiply-add.
//
// power: the logarithm as a sum of two doubles (the series of 2 artanh, whose first terms are such sums too), times the exponent, and the
// exponential of both. Errors are below 1.5 units in the last place, for the angle below 2. Signs, zeros, infinities and NaN as in C.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::numpy {

enum class Binary64 : uint8_t {
  power,
  angle,  // atan2(a, b)
  count
};

/// y[i] = f(a[i], b[i]).
using Binary64Function = void (*)(const double* a, const double* b, size_t count, double* y);

struct Binary64Kernels {
  const Binary64Function* functions;  // by Binary64; null if the machine does not fuse or has no such vectors: the C library serves as well
};

}  // namespace minnow::numpy
