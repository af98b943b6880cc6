// SPDX-License-Identifier: Apache-2.0
#include "backends/node_copy.h"

namespace minnow {

NodeCopy::NodeCopy(const NodeView& node) : infos_(node.input_count() + node.output_count()), view_(node) {
  const size_t inputs = node.input_count();
  for (size_t i = 0; i < infos_.size(); ++i) {
    const bool is_there = i < inputs ? node.has_input(i) : node.has_output(i - inputs);
    if (is_there) infos_[i] = i < inputs ? node.input(i) : node.output(i - inputs);
    pointers_.push_back(is_there ? &infos_[i] : nullptr);
  }
  const std::span<const ValueInfo* const> all = pointers_;
  view_ = NodeView(node.node(), all.first(inputs), all.subspan(inputs), node.definition());
}

}  // namespace minnow
