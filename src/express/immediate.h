// SPDX-License-Identifier: Apache-2.0
// One operator on computed values, run at once: the scheme that a plan would take, without a plan.
#pragma once
#include <memory>
#include <span>

#include "backends/backend.h"
#include "express/node.h"

namespace minnow::express {

/// Larger inputs and outputs wait for the rest of the expression, whose operators may become one loop.
inline constexpr int64_t kMostImmediateElements = 4096;

/// Whether an operator on these inputs may run at once: few elements, all computed, none dependent on a placeholder, state or parameter.
bool may_run_now(const Operator& op, std::span<const LazyValue> inputs) noexcept;

/// A prepared kernel for one operator with one set of attributes, inputs of given dtypes and shapes, and the options of one scope. Belongs
/// to one thread.
class Immediate {
 public:
  /// `node` is a call whose outputs have known shapes. `graph` holds `made`, the node for schemes to look at. Bit i of `contents`: the
  /// contents of input i are always those of this call. Returns null if only an expression can compute the operator.
  static std::unique_ptr<Immediate> prepare(const LazyNode& node, uint64_t contents, std::unique_ptr<Graph> graph, const Node& made);

  /// A node with the computed outputs; null if the kernel failed. The error then comes when the expression is read.
  std::shared_ptr<LazyNode> run(std::span<const LazyValue> inputs);

 private:
  Immediate() = default;
  const Operator* op_ = nullptr;
  std::unique_ptr<Graph> graph_;  // outlives the kernel
  std::unique_ptr<Kernel> kernel_;
  size_t scratch_bytes_ = 0;
  std::vector<Slot> slots_;  // of inputs, then of outputs
  std::vector<Slot*> pointers_;
  size_t inputs_ = 0;
};

}  // namespace minnow::express
