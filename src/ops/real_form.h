// SPDX-License-Identifier: Apache-2.0
// Nodes between quantized tensors, computed on the real numbers that the integers stand for.
#pragma once
#include "ops/operator.h"

namespace minnow {

/// A tensor of bytes, whose integers less the zero point f32 tensors hold instead.
struct Bytes {
  DType dtype = DType::u8;
  int64_t zero_point = 0;
  bool operator==(const Bytes&) const = default;
  /// The least and the largest number that f32 tensors hold.
  float low() const;
  float high() const;
};

/// An input or output of a node.
struct RealEnd {
  enum class Kind : uint8_t {
    itself,    // no reals can take its place
    bytes,     // reals can take the place of its `bytes`
    as_others  // the same, and the node only moves bytes: all inputs and outputs of this kind have the same zero point
  } kind = Kind::itself;
  Bytes bytes = {};
};

/// The ends of a node where real numbers can take the place of bytes.
struct RealEnds {
  std::vector<RealEnd> inputs;
  RealEnd output;  // 0; others are absent
  double saving =
      0;  // f32 takes at least 1 / saving of the operations, by Winograd's or Strassen's method or as weights are zero; 0: unknown
};

/// Empty if the node has no real form. Shapes, dtypes and constants of the node are known.
std::optional<RealEnds> real_ends(const NodeView& node);
/// The real form: f32 tensors take the place of inputs and outputs that hold bytes. Results are rounded to integers and cut to the range of
/// the bytes as those of bytes are.
Expr real_form(const NodeView& node, GraphBuilder& builder, const Exprs& inputs);

/// Between both.
Expr as_reals(const Expr& x, const Bytes& bytes);
Expr as_bytes(const Expr& x, const Bytes& bytes);

}  // namespace minnow
