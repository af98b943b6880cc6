// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers, comparisons, choices and conversions, element by element. The loops are as fast as memory is, which the engine's
// operators are in f32 alone.
#pragma once
#include <cstddef>
#include <cstdint>

#include "minnow/tensor.h"

namespace minnow::numpy {

enum class Combination : uint8_t {
  add,
  subtract,
  multiply,
  bit_and,
  bit_or,
  bit_xor,
  minimum,
  maximum,
  equal,
  not_equal,
  less,
  less_equal
};
inline constexpr size_t kCombinations = 12;

/// y[i] = a[i] op b[i]; comparisons give bytes of 0 and 1. y is apart from a and b.
using CombinationLoop = void (*)(const void* a, const void* b, size_t count, void* y);

/// y[i] = x[i] in another dtype.
using ConversionLoop = void (*)(const void* x, size_t count, void* y);

struct ArithmeticKernels {
  /// For bool and integers of at least a byte, which wrap around, and comparisons of f32 and f64; null for all else.
  CombinationLoop (*loop)(DType dtype, Combination combination);
  /// From bool and integers of at least a byte to those, of which the lower bits stay, and to f32 and f64; between f32 and f64; null else.
  ConversionLoop (*conversion)(DType from, DType to);
  /// y[i] = condition[i] ? a[i] : b[i] for elements of 1, 2, 4 and 8 bytes.
  void (*choose[4])(const uint8_t* condition, const void* a, const void* b, size_t count, void* y);
};

}  // namespace minnow::numpy
