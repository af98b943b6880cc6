// SPDX-License-Identifier: Apache-2.0
// States of models in expressions. A state is a variable that expressions read. A step is one call of a model with states: one plan
// computes the results and the next values of the states, and then the states take these values. A step is computed again only if one of
// its placeholders or states was given a new value since.
#pragma once
#include <span>

#include "express/node.h"

namespace minnow::express {

/// A new state with its initial value. The shape is known if the model declares all dimensions.
LazyValue state_of(const ValueType& type, const std::string& name, Tensor initial);
/// The same for all states of a graph.
std::vector<LazyValue> states_of(const Graph& graph);

/// A step with the outputs `results`. Computing it also assigns each value of `next` to the state at the same place in `states`.
std::shared_ptr<LazyNode> make_step(std::span<const LazyValue> results, std::span<const LazyValue> next, std::span<const LazyValue> states);

// The three parts of a step's inputs.
inline std::span<const LazyValue> results_of(const LazyNode& step) { return std::span(step.inputs).first(step.outputs.size()); }
inline size_t state_count(const LazyNode& step) { return (step.inputs.size() - step.outputs.size()) / 2; }
inline std::span<const LazyValue> next_of(const LazyNode& step) {
  return std::span(step.inputs).subspan(step.outputs.size(), state_count(step));
}
inline std::span<const LazyValue> states_of(const LazyNode& step) { return std::span(step.inputs).last(state_count(step)); }

/// Those of `steps` whose states another of them changes later, in the order in which they were made.
std::vector<LazyValue> earlier_steps(std::vector<LazyValue> steps);
/// Sorts nodes by the order in which they were made.
void sort_by_age(std::vector<LazyValue>& nodes);

/// True of a node whose value the caller gives: a placeholder or a state.
inline bool is_given(const LazyNode& node) { return node.kind == LazyNode::Kind::placeholder || node.kind == LazyNode::Kind::state; }
inline const char* kind_word(const LazyNode& node) { return node.kind == LazyNode::Kind::state ? "state" : "placeholder"; }

/// Whether the declaration of a placeholder or a state allows a value of this dtype and shape.
bool takes(const LazyNode& given, DType dtype, const Shape& shape);

/// Assigns a value to a placeholder or a state; dependent values are computed again. Throws InvalidArgument for a wrong dtype or shape, and
/// for a state inside a function that is being recorded.
void give(const LazyValue& to, Tensor value);
/// Lives while this thread records a function of control flow by calling it. A module with states does not run meanwhile, because the
/// recorded call is made later, and any number of times.
class RecordingScope {
 public:
  RecordingScope() noexcept : first_(LazyNode::next_id.load(std::memory_order_relaxed)), outer_(innermost) { innermost = this; }
  ~RecordingScope() { innermost = outer_; }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;
  /// The id of the first node that is made meanwhile.
  uint64_t first() const noexcept { return first_; }
  static bool is_open() noexcept { return innermost != nullptr; }
  /// Whether the node was made while a function is recorded that is recorded still.
  static bool has(const LazyNode& node) noexcept {
    const RecordingScope* outermost = innermost;
    while (outermost && outermost->outer_) outermost = outermost->outer_;
    return outermost && node.id >= outermost->first_;
  }

 private:
  static thread_local const RecordingScope* innermost;
  const uint64_t first_;
  const RecordingScope* const outer_;
};

inline void reset_state(const LazyValue& state) { give(state, state.node->state->initial); }

}  // namespace minnow::express
