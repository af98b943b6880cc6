// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow {

/// Where the pieces of [0, total) begin when it is cut into `parts` as equal as can be: piece i is [share(total, parts, i), share(..., i +
/// 1)).
inline size_t share(size_t total, size_t parts, size_t i) noexcept {
  size_t product;
  if (!__builtin_mul_overflow(total, i, &product)) return product / parts;
  return static_cast<size_t>(uint64_t{total} * i / parts);  // where sizes have 32 bits
}
inline size_t ceil_div(size_t a, size_t b) noexcept { return (a + b - 1) / b; }

}  // namespace minnow
