// SPDX-License-Identifier: Apache-2.0
// Weights of convolutions and products in the forms that MNN packs them in (its table IDSTQuan).
#pragma once
#include "importers/mnn/model.h"

namespace minnow::mnn {

/// Row-major weights without their shape. Integers q stand for w = q * scale[row] + offset[row]; a row is one output's weights, or a block
/// of them.
struct PackedWeights {
  Tensor values;  // rank 1: f32, f16, i8 or i4
  Floats scale;   // empty: real numbers
  Floats offset;  // empty: 0
  /// Rows that the scales speak of; 0: not quantized.
  int64_t rows() const noexcept { return static_cast<int64_t>(scale.size()); }
};

/// `packed` is the table IDSTQuan of `owner_table`. Field `external_field` of the latter (npos: none) gives the place of data in another
/// file. Throws InvalidModel and Unsupported, beginning with `where`.
PackedWeights read_packed_weights(ModelFile& file, const FlatTable& packed, const FlatTable& owner_table, size_t external_field,
                                  const OpInfo& op, const std::string& where);

}  // namespace minnow::mnn
