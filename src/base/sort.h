// SPDX-License-Identifier: Apache-2.0
// Sorting of indices. One sort serves all callers that sort a few indices now and then: every comparison is a call, and in exchange the
// library holds one instance of the algorithm instead of one for each comparison.
#pragma once
#include <bit>
#include <cstdint>
#include <span>

#include "base/function_ref.h"

namespace minnow {

/// Sorts indices stably: `before(a, b)` where index a should stand before index b. Allocates as much again; n log n comparisons.
void sort_indices(std::span<size_t> indices, FunctionRef<bool(size_t a, size_t b)> before);
void sort_indices(std::span<int64_t> indices, FunctionRef<bool(size_t a, size_t b)> before);
/// Brings the `count` indices that stand before all others, sorted, to the beginning; the others follow in any order. Not stable.
void sort_first(std::span<size_t> indices, size_t count, FunctionRef<bool(size_t a, size_t b)> before);

/// Rising order.
void sort_numbers(std::span<uint64_t> numbers) noexcept;

/// A key that sorts like `value` in rising order: all zeros are equal, and so are all NaNs, which come last.
inline uint32_t order_key(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);
  return value != value ? ~0u : bits >> 31 ? ~bits : bits | 1u << 31;
}

/// Finds the `wanted` > 0 largest or smallest of `length` < 2^32 floats that are `step` apart, sorted. Equal numbers keep their order; NaN
/// counts as the largest. Their indices are the lower halves of found[0, wanted); `found` has first_floats_scratch(wanted) elements.
/// Allocates nothing.
void first_floats(const float* x, size_t length, size_t step, bool largest, size_t wanted, uint64_t* found) noexcept;
size_t first_floats_scratch(size_t wanted) noexcept;

}  // namespace minnow
