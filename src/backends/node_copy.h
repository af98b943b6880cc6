// SPDX-License-Identifier: Apache-2.0
// A kernel's copy of its node: the planner's graph outlives its kernels, but the views that preparing sees do not.
#pragma once
#include <vector>

#include "graph/node_view.h"

namespace minnow {

/// A copy of a view, including the information about the node's inputs and outputs.
class NodeCopy {
 public:
  explicit NodeCopy(const NodeView& node);
  NodeCopy(const NodeCopy&) = delete;
  NodeCopy& operator=(const NodeCopy&) = delete;
  const NodeView& operator*() const noexcept { return view_; }
  const NodeView* operator->() const noexcept { return &view_; }

 private:
  std::vector<ValueInfo> infos_;  // of inputs, then of outputs
  std::vector<const ValueInfo*> pointers_;
  NodeView view_;
};

}  // namespace minnow
