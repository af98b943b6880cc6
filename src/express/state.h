// SPDX-License-Identifier: Apache-2.0
// States of models in expressions. A state is a variable that expressions read. A step is one call of a model with states: its values, and
// the states' next ones, are computed together, in one plan, and then the states have these. A step is computed again when a placeholder or
// a state that it depends on was given a value since, and never because of anything else.
#pragma once
#include <span>

#include "express/node.h"

namespace minnow::express {

/// A state of its own with its initial value. The shape is known where the model declares all dimensions.
LazyValue state_of(const ValueType& type, const std::string& name, Tensor initial);
/// The same for all states of a graph.
std::vector<LazyValue> states_of(const Graph& graph);

/// Its outputs are `results`; computing it gives each of `states` the value of `next` at its place.
std::shared_ptr<LazyNode> make_step(std::span<const LazyValue> results, std::span<const LazyValue> next, std::span<const LazyValue> states);

// The three parts of a step's inputs.
inline std::span<const LazyValue> results_of(const LazyNode& step) { return std::span(step.inputs).first(step.outputs.size()); }
inline size_t state_count(const LazyNode& step) { return (step.inputs.size() - step.outputs.size()) / 2; }
inline std::span<const LazyValue> next_of(const LazyNode& step) {
  return std::span(step.inputs).subspan(step.outputs.size(), state_count(step));
}
inline std::span<const LazyValue> states_of(const LazyNode& step) { return std::span(step.inputs).last(state_count(step)); }

/// True of a node whose value callers give: a placeholder, or a state.
inline bool is_given(const LazyNode& node) { return node.kind == LazyNode::Kind::placeholder || node.kind == LazyNode::Kind::state; }
inline const char* kind_word(const LazyNode& node) { return node.kind == LazyNode::Kind::state ? "state" : "placeholder"; }

/// Whether a placeholder or a state may be of this value, as it is declared.
bool takes(const LazyNode& given, DType dtype, const Shape& shape);

/// Gives a placeholder or a state a value: what depends on it is computed again. Throws InvalidArgument for another dtype, and other
/// dimensions than are declared.
void give(const LazyValue& to, Tensor value);
inline void reset_state(const LazyValue& state) { give(state, state.node->state->initial); }

}  // namespace minnow::express
