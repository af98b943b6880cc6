// SPDX-License-Identifier: Apache-2.0
// Whether elements are not zero: one of many (any), or all.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// Loops over elements of 8, 16, 32 or 64 bits. Only the bits in `keep` count, so that -0.0 is false.
struct AnyAllLoops {
  /// Whether an element is true or, with `zero`, whether one is false. Stops soon after the first such element.
  bool (*found)(const void* x, size_t count, uint64_t keep, bool zero);
  /// y[i] = 1 if column i has such an element in one of `rows` rows, else 0. There are `count` columns; rows are `stride` elements apart.
  void (*found_in_columns)(const void* x, size_t rows, size_t stride, size_t count, uint64_t keep, bool zero, uint8_t* y);
};

struct AnyAllKernels {
  AnyAllLoops loops[4];  // by the logarithm of the bytes
};

}  // namespace minnow::cpu
