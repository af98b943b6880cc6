// SPDX-License-Identifier: Apache-2.0
// The right factor of products of bytes, weights or an activation, in the order in which tiles read them (IntegerTile::w).
#pragma once
#include <cstdint>
#include <span>

#include "backends/cpu/kernels/integer.h"

namespace minnow::cpu {

/// The weight of output o and term k, a channel at a tap, is data[o output_step + k term_step] less the output's zero point.
struct ByteWeights {
  const uint8_t* data = nullptr;
  bool is_signed = false;
  const int32_t* zeros = nullptr;  // null: all are `zero`
  size_t outputs = 0, terms = 0, output_step = 0, term_step = 0;
  int32_t zero = 0;

  /// Whether all less their zero points are i8.
  bool fit_bytes() const noexcept;
  /// sums[o] = the sum over the terms.
  void sum_terms(int32_t* sums) const noexcept;
  static constexpr size_t kNoTerm = SIZE_MAX;
  /// [group of terms][lane][term of the group] of the outputs [first, end), and zeros for the other lanes, and for terms that are kNoTerm.
  /// `terms` are whole groups of the form.
  void pack(IntegerForm form, std::span<const size_t> terms, size_t first, size_t end, size_t lanes, uint8_t* out) const noexcept;
};

}  // namespace minnow::cpu
