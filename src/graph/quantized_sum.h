// SPDX-License-Identifier: Apache-2.0
// The attributes of minnow.QuantizedAdd, for its reference and for schemes.
#pragma once
#include "graph/expr.h"
#include "graph/node_view.h"

namespace minnow {

/// y = clamp((((a - zero[0]) factor[0] + (b - zero[1]) factor[1] + half) >> shift) + zero[2], low, high), half = 2^(shift - 1). Nothing of
/// it exceeds 32 bits.
struct QuantizedSum {
  int32_t factor[2], zero[3], low, high;
  int shift;

  /// Throws InvalidModel for attributes that are missing or beyond their range.
  static QuantizedSum of(const NodeView& node);

  /// The part of the shifted sum that does not depend on a and b.
  int32_t offset() const noexcept { return (1 << (shift - 1)) - zero[0] * factor[0] - zero[1] * factor[1]; }

  /// The shifted sum in f32, of bytes a and b: sums of 31 bits are exact as two, of the factors' upper bits and of the lower ones.
  Expr steps(GraphBuilder& builder, const Expr& a, const Expr& b) const;
};

}  // namespace minnow
