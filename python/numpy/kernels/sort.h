// SPDX-License-Identifier: Apache-2.0
// Sorting of numbers by vectors: partitions, and bitonic networks where few elements are left.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::numpy {

/// Loops over signed integers of one width. `other` is scratch for `count` elements and kSortPadding.
template <class T>
struct SortLoops {
  /// Sorts in rising order, not stably, at worst n log n. The result is in x; the input is in x or, if `moved`, in `other`.
  void (*sort)(T* x, size_t count, T* other, bool moved);
  /// Partitions the elements of x, count > 0, by a median of samples: smaller ones move to the front of x, the others to `other`, from the
  /// index after as many elements on. Returns the number of smaller ones, which may be 0.
  size_t (*partition)(T* x, size_t count, T* other);
  /// Moves the k-th smallest element, k < count, to index k, with no larger element before it and no smaller one after it.
  void (*select)(T* x, size_t count, size_t k, T* other);
  /// Floating-point numbers of that width as integers in the same order: -0 is +0, every NaN one number behind all others.
  void (*keys_of_floats)(const T* bits, size_t count, T* keys);
  /// And back; the two may lie at one place.
  void (*floats_of_keys)(const T* keys, size_t count, T* bits);
};
constexpr size_t kSortPadding = 16;

struct SortKernels {
  SortLoops<int32_t> of32;
  SortLoops<int64_t> of64;
};

}  // namespace minnow::numpy
