// SPDX-License-Identifier: Apache-2.0
// Whether the states of a cell keep their rows from step to step.
#include <algorithm>

#include "passes/recurrence.h"

namespace minnow {
namespace {

/// Whether the gates' columns and numbers lie inside the tensors that hold them.
bool fits(const Cell& cell) {
  const auto within = [&](const std::optional<Term>& term) {
    return !term || term->begin + cell.hidden <= term->weights->constant()->shape()[term->transposed ? 0 : 1];
  };
  const auto held = [&](const Sum& sum) {
    return within(sum.x) && within(sum.h) && within(sum.reset_h) &&
           std::all_of(sum.biases.begin(), sum.biases.end(),
                       [&](const Bias& bias) { return bias.begin + cell.hidden <= bias.value->constant()->elements(); });
  };
  return std::all_of(cell.gates.begin(), cell.gates.end(), [&](const Gate& gate) { return held(gate.plain) && held(gate.reset); });
}

}  // namespace

std::optional<StateRows> rows_of_states(const LoopSteps& steps, const Cell& cell) {
  if (!fits(cell)) return {};
  StateRows result;
  std::vector<size_t> states = {cell.h};
  if (cell.has_c) states.push_back(cell.c);
  std::map<size_t, Rows> now;
  for (size_t i : states) {
    const Value& begin = *steps.carried()[i].begin;
    if (!begin.type.dims) return {};
    Ints dims;
    for (const Dim& dim : *begin.type.dims) dims.push_back(dim.known() ? dim.size : -1);
    const auto rows = rows_among(dims, cell.hidden);
    if (!rows) return {};
    now[i] = *rows;
  }
  for (int round = 0; round < 2; ++round) {
    result.known.clear();
    for (size_t i : states) result.known[steps.carried()[i].in] = now[i];
    for (size_t i : states) {
      const auto rows = steps.rows_of(steps.carried()[i].next, result.known);
      if (!rows || rows->width != cell.hidden || rows->feature != now[i].feature || (now[i].batch >= 0 && rows->batch != now[i].batch))
        return {};
      result.hidden.single = result.hidden.single || rows->single || rows->batch < 0;
      now[i] = *rows;
    }
  }
  now[cell.h].single = result.hidden.single;
  result.hidden = now[cell.h];
  return result;
}

}  // namespace minnow
