// SPDX-License-Identifier: Apache-2.0
// Functions of one, two and three elements that are no f32 arithmetic: integers, comparisons, choices and conversions. Plain loops,
// compiled for each instruction set: they are as fast as memory.
#pragma once
#include <minnow/tensor.h>

#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

enum class Combination : uint8_t {
  add,
  subtract,
  multiply,
  divide,  // f64 only
  bit_and,
  bit_or,
  bit_xor,
  minimum,
  maximum,
  equal,
  less,
  less_equal
};

/// y[i] = a[i] op b[i]; comparisons give bytes of 0 and 1. y may be a or b if the elements have the same size.
using CombinationLoop = void (*)(const void* a, const void* b, size_t count, void* y);

enum class Mapping : uint8_t { negate, absolute, bit_not, logical_not };

/// y[i] = f(x[i]), in place too; of a conversion y is apart from x.
using MappingLoop = void (*)(const void* x, size_t count, void* y);

struct CombineKernels {
  /// For bool and integers of at least a byte, which wrap around; f64, where minimum and maximum are NaN if an operand is; and comparisons
  /// of f32. Null for all others.
  CombinationLoop (*loop)(DType dtype, Combination combination);
  /// For integers of at least a byte; logical_not for bool. Null for all else.
  MappingLoop (*mapping)(DType dtype, Mapping mapping);
  /// From bool and integers of at least a byte to these (lower bits stay), and to f32 and f64; between f32 and f64; null for other pairs.
  MappingLoop (*conversion)(DType from, DType to);
  /// y[i] = condition[i] ? a[i] : b[i] for elements of 1, 2, 4 and 8 bytes; y may be a or b.
  void (*choose[4])(const uint8_t* condition, const void* a, const void* b, size_t count, void* y);
};

}  // namespace minnow::cpu
