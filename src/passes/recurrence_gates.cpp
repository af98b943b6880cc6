// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of gate functions: sums of rows multiplied with columns of matrices, and of constants.
#include <numeric>

#include "passes/recurrence.h"

namespace minnow {
namespace {

/// The context while a cell's gates are read.
struct Reading {
  const LoopSteps& steps;
  const Node* reset;  // the reset gate, or null
};
/// Where in a sum a value is met.
struct Place {
  int64_t begin = 0;  // the first of the gate's columns
  bool negative = false, in_reset = false;
  int depth = 0;
};

const Value* plain(const Value* value) { return LoopSteps::plain(value); }

bool put(std::optional<Term>& place, const Term& term) { return !place && (place = term, true); }
bool put_source(const Source& source, Cell& cell) {
  if (!cell.source.value) cell.source = source;
  return source == cell.source;
}

/// How many features a row has.
std::optional<int64_t> width_of(const LoopSteps& steps, const Value* value, int depth) {
  value = plain(value);
  if (const auto step = steps.taken(value)) return step->rows.width;
  const Node* node = value ? value->producer() : nullptr;
  if (!node || depth > 6) return {};
  if (node->op() == "MatMul" || node->op() == "Gemm") {
    const Tensor* weights = node->input(1) ? node->input(1)->constant() : nullptr;
    if (!weights || weights->shape().rank() != 2) return {};
    return weights->shape()[int_attribute(*node, "transB", 0) != 0 ? 0 : 1];
  }
  if (node->op() != "Add") return {};
  const auto width = width_of(steps, node->input(0), depth + 1);
  return width ? width : width_of(steps, node->input(1), depth + 1);
}
/// The first column of an output of a Split; `from` is its input without reshapes.
std::optional<int64_t> first_column(const LoopSteps& steps, const Node& split, size_t output, const Value* from) {
  const auto sizes = split.input(1) ? ints_of(split.input(1)) : std::nullopt;
  if (sizes)
    return output < sizes->size()
               ? std::optional(std::accumulate(sizes->begin(), sizes->begin() + static_cast<std::ptrdiff_t>(output), int64_t{0}))
               : std::nullopt;
  const auto width = width_of(steps, from, 0);
  const int64_t parts = static_cast<int64_t>(split.output_count());
  return !split.input(1) && width && *width % parts == 0 ? std::optional(static_cast<int64_t>(output) * (*width / parts)) : std::nullopt;
}
/// The product's weights; its bias goes to the sum.
std::optional<Term> term_of(const Node& product, int64_t begin, Sum& sum) {
  const Term term{product.input(1), int_attribute(product, "transB", 0) != 0, begin};
  if (!product.input(0) || !term.weights || !term.weights->constant() || term.weights->type.dtype != DType::f32) return {};
  if (term.weights->constant()->shape().rank() != 2) return {};
  if (product.op() == "Gemm") {
    if (int_attribute(product, "transA", 0) != 0 || real_attribute(product, "alpha", 1) != 1 || real_attribute(product, "beta", 1) != 1)
      return {};
    if (const Value* bias = product.input(2)) {
      if (!bias->constant() || bias->type.dtype != DType::f32) return {};
      sum.biases.push_back({bias, begin, false});
    }
  }
  return term;
}

bool same_shape_but_last(const Value& a, const Value& b) {
  if (!a.type.dims || !b.type.dims || a.type.dims->size() != b.type.dims->size()) return false;
  for (size_t i = 0; i + 1 < a.type.dims->size(); ++i) {
    const Dim &one = (*a.type.dims)[i], &other = (*b.type.dims)[i];
    if (!(one == other) || (!one.known() && one.symbol.empty())) return false;
  }
  return true;
}

/// Reads a product of a step's input that was computed for all steps before the loop.
bool read_outside(const TakenStep& step, int64_t begin, Sum& sum, Cell& cell) {
  const Value* value = plain(step.source);
  const Node* node = value ? value->producer() : nullptr;
  if (node && node->op() == "Add")
    for (size_t k = 0; k < 2; ++k)
      if (node->input(k) && node->input(k)->constant() && node->input(k)->type.dtype == DType::f32) {
        sum.biases.push_back({node->input(k), begin, false});
        value = plain(node->input(1 - k));
        node = value ? value->producer() : nullptr;
        break;
      }
  if (!node || (node->op() != "Gemm" && node->op() != "MatMul")) return false;
  const auto term = term_of(*node, begin, sum);
  const auto columns = dim_of(*value, -1);
  const auto rank = rank_of(*value);
  if (!term || !columns || *columns != step.rows.width || !rank || !put(sum.x, *term)) return false;
  // The rows of all steps, one step after another, or [steps, batch, features].
  int64_t batch = step.batch;
  if (*rank == 2 && batch == 0) {
    const auto second = dim_of(*step.source, 1);
    if (!second) return false;
    batch = *second;
  }
  if (*rank != 2 && (*rank != 3 || batch != 0 || !same_shape_but_last(*value, *step.source))) return false;
  return put_source({node->input(0), batch, step.backward}, cell);
}

/// Adds the terms of the sum `value` to the gate. False if it is no such sum.
bool read(const Reading& reading, const Value* value, const Place& place, Gate& gate, Cell& cell) {
  value = plain(value);
  if (!value || place.depth > 10) return false;
  Sum& sum = place.in_reset ? gate.reset : gate.plain;
  if (value->constant()) return value->type.dtype == DType::f32 && (sum.biases.push_back({value, place.begin, place.negative}), true);
  if (!place.negative && !place.in_reset)
    if (const auto step = reading.steps.taken(value)) return read_outside(*step, place.begin, sum, cell);
  const Node* node = value->producer();
  if (!node) return false;
  const std::string_view op = node->op();
  const auto further = [&](size_t i, int64_t columns, bool negated, bool in_reset) {
    return read(reading, node->input(i), {place.begin + columns, place.negative != negated, place.in_reset || in_reset, place.depth + 1},
                gate, cell);
  };
  if (op == "Add") return further(0, 0, false, false) && further(1, 0, false, false);
  if (op == "Sub") return further(0, 0, false, false) && further(1, 0, true, false);
  if (op == "Split") {
    const auto column = first_column(reading.steps, *node, value->output_index(), plain(node->input(0)));
    return column && further(0, *column, false, false);
  }
  if (op == "Slice") {
    const auto columns = columns_of(*node);
    return columns && further(0, columns->begin, false, false);
  }
  if (op == "Mul" && reading.reset && !place.in_reset) {
    for (size_t k = 0; k < 2; ++k)
      if (plain_maker(node->input(k), "Sigmoid") == reading.reset) return further(1 - k, 0, false, true);
    return false;
  }
  if ((op != "MatMul" && op != "Gemm") || place.negative) return false;
  const auto term = term_of(*node, place.begin, sum);
  if (!term) return false;
  const Value* rows = plain(node->input(0));
  if (is_carried(reading.steps, rows, cell.h)) return put(sum.h, *term);
  if (const Node* product = made_by(rows, "Mul"); product && reading.reset && !place.in_reset)
    for (size_t k = 0; k < 2; ++k)
      if (plain_maker(product->input(k), "Sigmoid") == reading.reset && is_carried(reading.steps, product->input(1 - k), cell.h))
        return put(sum.reset_h, *term);
  const auto step = place.in_reset ? std::nullopt : reading.steps.taken(rows);
  return step && put(sum.x, *term) && put_source({step->source, step->batch, step->backward}, cell);
}

}  // namespace

bool read_gates(const LoopSteps& steps, std::string_view op, const std::vector<const Node*>& functions, const Node* reset, Cell& cell) {
  cell.op = op;
  cell.hidden = 0;
  for (const Node* function : functions) {
    Gate& gate = cell.gates.emplace_back();
    if (!read({steps, reset}, function->input(0), {}, gate, cell) || !gate.plain.x) return false;
    if (op != "GRU" && !gate.plain.h) return false;
  }
  // Rows of the recurrent weights are as many as a state has features.
  for (const Gate& gate : cell.gates)
    for (const auto& term : {gate.plain.h, gate.plain.reset_h, gate.reset.h})
      if (term) {
        const int64_t depth = term->weights->constant()->shape()[term->transposed ? 1 : 0];
        if (cell.hidden != 0 && cell.hidden != depth) return false;
        cell.hidden = depth;
      }
  return cell.hidden > 1;
}

}  // namespace minnow
