// SPDX-License-Identifier: Apache-2.0
// Rules for Operator::batch that several operators share.
#pragma once
#include "ops/operator.h"

namespace minnow {

Batch batch_apart(const NodeView&);
/// Inputs beyond the first only tell the shape of the output.
Batch batch_reshaped(const NodeView&);
/// Apart unless the attribute "axis", of the first input, is 0.
Batch batch_apart_off_axis(const NodeView& node);
/// Apart where no output but the first is asked for.
Batch batch_apart_in_one_output(const NodeView& node);
/// The answer of the operator's definition for this node.
Batch batch_of(const Operator& op, const NodeView& node);

}  // namespace minnow
