// SPDX-License-Identifier: Apache-2.0
// A node held against its operator's definition.
#pragma once
#include "ops/operator.h"

namespace minnow {

/// How much is known of a node's inputs when it is checked.
enum class Known : uint8_t {
  declared,  // kinds and dtypes as far as they could be inferred, shapes and dtypes of constants: the whole graph before any pass or plan
  inferred   // everything: a node of a plan
};

/// Throws InvalidModel, naming file, node and operator, where inputs, outputs or attributes are missing, too many, or of a kind that the
/// operator does not take. Where inputs are inferred, their dtypes are checked too, else those of constants.
void check_form(const Operator& op, const NodeView& node, Known known);

}  // namespace minnow
