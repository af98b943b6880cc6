// SPDX-License-Identifier: Apache-2.0
// Sorting of numbers by vectors: partitions, and bitonic networks where few elements are left.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::numpy {

/// Of signed integers of one width.
template <class T>
struct OrderLoops {
  /// Brings x into rising order; not stable. `other` is scratch of `count` + kOrderPadding elements. At worst n log n.
  void (*sort)(T* x, size_t count, T* other);
  /// Puts elements below a median of samples first; returns how many these are, of count > 0, at times 0.
  size_t (*partition)(T* x, size_t count, T* other);
  /// Floating-point numbers of that width as integers in the same order: -0 is +0, every NaN one number behind all others.
  void (*keys_of_floats)(const T* bits, size_t count, T* keys);
  /// And back; the two may lie at one place.
  void (*floats_of_keys)(const T* keys, size_t count, T* bits);
};
constexpr size_t kOrderPadding = 16;

struct OrderKernels {
  OrderLoops<int32_t> of32;
  OrderLoops<int64_t> of64;
};

}  // namespace minnow::numpy
