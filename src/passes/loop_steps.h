// SPDX-License-Identifier: Apache-2.0
// Values that a Loop's body computes from the number of its step: integers as sums of that number, and rows of a tensor that a step takes.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/rewrite.h"

namespace minnow {

/// step * t + trips * T + constant, with the number t of the step, from 0, and the number T of steps.
struct LinearInSteps {
  int64_t step = 0, trips = 0, constant = 0;
  friend bool operator==(const LinearInSteps&, const LinearInSteps&) = default;
};

/// How a tensor holds rows of `width` features, a row an element of the batch: at which places, counted from the last dimension. All other
/// dimensions are 1. Tensors of equal places meet row by row in elementwise operators.
struct Rows {
  int feature = -1;  // -1: a single number
  int batch = -1;    // -1: one row, for all the batch
  int64_t width = 1;
  size_t rank = 0;      // of the tensor
  bool single = false;  // holds only for a batch of one
};

/// The part of an outer value that a step takes: row t, or batch t, of its first dimension.
struct TakenStep {
  Value* source = nullptr;
  int64_t batch = 0;      // the number of consecutive rows that a step takes; 0: the first dimension counts steps
  bool backward = false;  // step t takes T - 1 - t
  Rows rows;              // of the taken part
};

/// A Loop whose number of steps is a number or a dimension of its inputs.
class LoopSteps {
 public:
  struct Carried {
    const Value *in, *next;
    Value* begin;
    Value* end;  // the Loop's output; null if it has none
  };

  /// Nothing is known of a loop that is not `valid`.
  LoopSteps(const Graph& graph, Node& loop);
  bool valid() const noexcept { return body_ != nullptr && steps_.has_value(); }
  const Graph& body() const noexcept { return *body_; }
  const std::vector<Carried>& carried() const noexcept { return carried_; }
  /// T: known, or with a symbol.
  const Dim& steps() const noexcept { return *steps_; }
  bool is_steps(const Dim& dim) const noexcept {
    return dim.known() ? dim.size == steps_->size : !dim.symbol.empty() && dim.symbol == steps_->symbol;
  }

  std::optional<size_t> carried_as(const Value* value) const;
  /// The outer value that `value` of the body equals in every step.
  Value* outside(const Value* value) const;
  /// Element `place` of an integer tensor of rank 0 or 1 (or reshaped from one), if it is a LinearInSteps function of the step.
  std::optional<LinearInSteps> element(const Value* value, size_t place = 0, int depth = 0) const;
  bool is_step(const Value* value) const { return element(value) == LinearInSteps{1, 0, 0}; }
  std::optional<TakenStep> taken(const Value* value) const;
  /// The rows of a value of the body, derived from those of carried values in `known`.
  std::optional<Rows> rows_of(const Value* value, std::unordered_map<const Value*, std::optional<Rows>>& known, int depth = 0) const;

  /// Skips nodes that keep the rows of features: Identity and reshapes (rows_of() checks that they do).
  static const Value* plain(const Value* value);

 private:
  std::optional<Dim> size_in(const Value* value) const;
  std::optional<Dim> steps_while(const Value* condition, int depth) const;
  bool begins(const Value* condition, int depth) const;
  bool is_false(const Value* value, size_t place, int depth) const;
  bool is_count(const Value* value) const;
  bool is_at(const std::optional<LinearInSteps>& value, int64_t batch, bool& backward) const;
  std::optional<TakenStep> taken_by_slice(const Node& slice) const;

  const Graph& graph_;
  const Graph* body_ = nullptr;
  std::vector<Carried> carried_;
  std::optional<Dim> steps_;
};

/// A Slice along a single dimension: its axis (as `axes` gives it), its begin and its end.
struct Columns {
  int64_t axis, begin, end;  // end: INT64_MAX for the last
};
std::optional<Columns> columns_of(const Node& slice);

/// The rows of `width` features in a tensor of these dimensions (-1: unknown); empty if they are ambiguous.
std::optional<Rows> rows_among(const Ints& dims, int64_t width);

}  // namespace minnow
