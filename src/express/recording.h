// SPDX-License-Identifier: Apache-2.0
// Functions of control flow, which are called once to record the nodes that they make, and the subgraphs that these nodes become.
#pragma once
#include "express/node.h"

namespace minnow::express {

/// The nodes and results that a function of control flow made.
struct RecordedFunction {
  uint64_t first = 0;  // the id of the first node inside
  std::vector<LazyValue> results;
  std::vector<const LazyNode*> inside;  // in the order in which they were made, which is that of their use
  std::vector<LazyValue> states;        // that it changes
};

/// The nodes of results that a function made, since node number `first`.
RecordedFunction collect(const Vars& results, uint64_t first);
/// Calls the function; nodes that are made meanwhile are inside, and those made since the node number `first`, if it is not 0.
RecordedFunction record(FunctionRef<Vars()> function, uint64_t first = 0);

/// A subgraph and the values that it captures.
struct Recorded {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<const OperatorSet> operators;  // with the custom ones inside
  std::vector<LazyValue> captured;
};

/// The subgraph of a recording. Its inputs are `formals`, then what it captures. After the first `carried` results, its outputs include the
/// next values of `states`.
Recorded body_of(const RecordedFunction& recording, std::span<const LazyValue> formals, std::span<const LazyValue> states, size_t carried);

/// An argument with which a function of control flow is recorded; without `shape`, its rank is open.
LazyValue formal(const std::string& name, DType dtype, const Shape* shape);

/// True if every carried value keeps its initial shape, as far as that is known.
bool keeps_shapes(std::span<const LazyValue> formals, std::span<const LazyValue> results);

}  // namespace minnow::express
