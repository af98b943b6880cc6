// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/expr.h"

namespace minnow::onnx {

/// A minnow.FixedPointLstm in standard operators, equal to the bit: a Scan over integers, with its functions as tables of all 16-bit
/// numbers. Empty where the attributes do not fit the gates.
Exprs fixed_point_lstm_parts(const Node& node, GraphBuilder& builder, const Exprs& inputs);

}  // namespace minnow::onnx
