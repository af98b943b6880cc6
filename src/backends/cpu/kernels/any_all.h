// SPDX-License-Identifier: Apache-2.0
// Whether elements are not zero: one of many (any), or all.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// Of elements of 8, 16, 32 or 64 bits, of which those in `keep` count: a sign alone makes no float true.
struct AnyAllLoops {
  /// Whether one of `count` elements is true, or with `zero` one that is not; looks little further than needed.
  bool (*found)(const void* x, size_t count, uint64_t keep, bool zero);
  /// y[i] = 1 where that is so of column i of `count` columns over `rows` rows, which begin `stride` elements apart, else 0.
  void (*found_in_columns)(const void* x, size_t rows, size_t stride, size_t count, uint64_t keep, bool zero, uint8_t* y);
};

struct AnyAllKernels {
  AnyAllLoops loops[4];  // by the logarithm of the bytes
};

}  // namespace minnow::cpu
