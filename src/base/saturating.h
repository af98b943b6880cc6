// SPDX-License-Identifier: Apache-2.0
// Arithmetic of sizes that come from a model's numbers. A size beyond all memory becomes SIZE_MAX, and allocating it fails. On machines
// with 32-bit addresses a few tensors that fit can need scratch memory that does not.
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

/// The same for signed numbers, as in attributes: results out of range become the nearest number in range. Pads, extents and numbers of
/// elements of that size are refused wherever they are used.
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
