// SPDX-License-Identifier: Apache-2.0
// A recurrent layer as the body of a Loop computes it (raise_recurrences.cpp): found by the pattern of its gates.
#pragma once
#include <map>

#include "passes/loop_steps.h"

namespace minnow {

/// Columns [begin, begin + hidden) of a matrix that rows are multiplied with: [rows, columns], or the other way round.
struct Term {
  const Value* weights = nullptr;
  bool transposed = false;
  int64_t begin = 0;
};
struct Bias {
  const Value* value;
  int64_t begin;
  bool negative;
};
/// Products with a step's input, with the hidden state, and with the hidden state times the reset gate; and constants.
struct Sum {
  std::optional<Term> x, h, reset_h;
  std::vector<Bias> biases;
};
/// The argument of a gate's function.
struct Gate {
  Sum plain, reset;  // reset: the part that the reset gate multiplies
};

/// The sequence whose steps the loop reads: [steps, batch, features], or rows of all steps one after another.
struct Source {
  Value* value = nullptr;
  int64_t batch = 0;  // of rows
  bool backward = false;
  friend bool operator==(const Source&, const Source&) = default;
};

struct Cell {
  std::string_view op;
  std::vector<Gate> gates;  // in the operator's order
  size_t h = 0, c = 0;      // indices of carried values
  bool has_c = false;
  int64_t hidden = 0;  // features of a state
  Source source;       // the input that the gates multiply with their weights
};

/// Rows of values of the body.
using KnownRows = std::unordered_map<const Value*, std::optional<Rows>>;

/// recurrence_cell.cpp. The cell that the steps compute, if they compute one.
std::optional<Cell> find_cell(const LoopSteps& steps);

/// recurrence_gates.cpp. Reads the arguments of the gates' functions, each a sum of products and constants, into the cell, whose state is
/// cell.h. `functions`: in the operator's order; `reset`: the reset gate, or null.
bool read_gates(const LoopSteps& steps, std::string_view op, const std::vector<const Node*>& functions, const Node* reset, Cell& cell);

/// recurrence_rows.cpp. The rows of the hidden state and of other values of the body. They must be rows in the first step, which reads the
/// initial states, and in all later ones.
struct StateRows {
  Rows hidden;
  KnownRows known;
};
std::optional<StateRows> rows_of_states(const LoopSteps& steps, const Cell& cell);

/// Whether `value`, without reshapes, is carried value number i.
inline bool is_carried(const LoopSteps& steps, const Value* value, size_t i) { return LoopSteps::plain(value) == steps.carried()[i].in; }
/// The node of that operator that makes `value` without reshapes, or null.
inline const Node* plain_maker(const Value* value, std::string_view op) { return made_by(LoopSteps::plain(value), op); }

}  // namespace minnow
