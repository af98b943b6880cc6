// SPDX-License-Identifier: Apache-2.0
#include "ops/batch.h"

namespace minnow {

Batch batch_apart(const NodeView&) { return Batch::apart; }

Batch batch_reshaped(const NodeView&) { return Batch::reshaped; }

Batch batch_apart_off_axis(const NodeView& node) {
  int64_t axis = 0;
  if (const int64_t* given = node.find<int64_t>("axis")) {
    axis = *given;
  } else {
    for (const AttributeSpec& attribute : node.definition()->attributes)
      if (attribute.name == "axis") axis = static_cast<int64_t>(attribute.default_number);
  }
  return axis == 0 || node.input_shape(0).rank() == 0 || node.normalize_axis(axis, node.input_shape(0).rank()) == 0 ? Batch::mixed
                                                                                                                    : Batch::apart;
}

Batch batch_apart_in_one_output(const NodeView& node) {
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.has_output(i)) return Batch::mixed;
  return Batch::apart;
}

Batch batch_of(const Operator& op, const NodeView& node) {
  return op.batch ? op.batch(node) : op.elementwise ? Batch::apart : Batch::mixed;
}

}  // namespace minnow
