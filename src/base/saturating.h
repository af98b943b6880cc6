// SPDX-License-Identifier: Apache-2.0
// Arithmetic of sizes that come from a model's numbers. A size beyond all memory becomes SIZE_MAX, which is refused where memory is asked
// for: where addresses have 32 bits, a few tensors that fit can want scratch that does not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace minnow {

constexpr size_t product_of(std::initializer_list<size_t> factors) noexcept {
  size_t product = 1;
  for (const size_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) product = SIZE_MAX;
  return product;
}

constexpr size_t sum_of(std::initializer_list<size_t> terms) noexcept {
  size_t sum = 0;
  for (const size_t term : terms)
    if (__builtin_add_overflow(sum, term, &sum)) sum = SIZE_MAX;
  return sum;
}

/// The same for numbers with a sign, as attributes have them: what does not fit becomes the nearest number that does. A pad, an extent or a
/// number of elements of that size is refused wherever it is used.
constexpr int64_t clamped_product(std::initializer_list<int64_t> factors) noexcept {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    const bool negative = (product < 0) != (factor < 0);
    if (__builtin_mul_overflow(product, factor, &product)) product = negative ? INT64_MIN : INT64_MAX;
  }
  return product;
}

constexpr int64_t clamped_sum(std::initializer_list<int64_t> terms) noexcept {
  int64_t sum = 0;
  for (const int64_t term : terms)
    if (__builtin_add_overflow(sum, term, &sum)) sum = term < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

}  // namespace minnow
