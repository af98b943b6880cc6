// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two rows of floats.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

enum class Binary : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  prelu,       // a < 0 ? a b : a
  less,        // a < b ? 1 : 0; false beside NaN, as are the next two
  less_equal,  // a <= b ? 1 : 0
  equal,       // a == b ? 1 : 0
  power,       // a^b, by the C library
  count
};

/// How the second dimension of work meets an operand.
enum class BinaryForm : uint8_t {
  both,      // y[i] = f(a[i], b[i])
  b_scalar,  // y[i] = f(a[i], b[0])
  a_scalar,  // y[i] = f(a[0], b[i])
  b_lanes,   // y[i] = f(a[i], b[i % lanes]); count is whole vectors
  a_lanes,   // y[i] = f(a[i % lanes], b[i])
  count
};

/// y may be a or b if these have as many elements. NaN stays NaN.
using BinaryFunction = void (*)(const float* a, const float* b, float* y, size_t count);

/// y[i] = condition[i] != 0 ? a[i] : b[i]; y may be any of them.
using SelectFunction = void (*)(const float* condition, const float* a, const float* b, float* y, size_t count);

struct BinaryKernels {
  const BinaryFunction (*functions)[static_cast<size_t>(BinaryForm::count)];  // by Binary, BinaryForm
  SelectFunction select;
  BinaryFunction of(Binary kind, BinaryForm form) const noexcept { return functions[static_cast<size_t>(kind)][static_cast<size_t>(form)]; }
};

}  // namespace minnow::cpu
