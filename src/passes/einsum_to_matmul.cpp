// SPDX-License-Identifier: Apache-2.0
// An Einsum that is a matrix product of transposed inputs becomes Transposes and a MatMul, which other passes recognize.
#include <algorithm>

#include "passes/permute.h"

namespace minnow {
namespace {

struct Equation {
  std::string a, b, y;
};

/// The equation of two inputs with each label once in each; nothing if there is an ellipsis.
std::optional<Equation> equation_of(const Node& node) {
  std::string text(text_attribute(node, "equation"));
  std::erase(text, ' ');
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == text.npos || arrow == text.npos || comma > arrow) return {};
  Equation equation{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string* term : {&equation.a, &equation.b, &equation.y})
    for (char label : *term)
      if (label == ',' || label == '.' || std::count(term->begin(), term->end(), label) != 1) return {};
  return equation;
}

bool has(const std::string& labels, char label) { return labels.find(label) != labels.npos; }

Permutation order_of(const std::string& from, const std::string& to) {
  Permutation perm;
  for (char label : to) perm.push_back(static_cast<int64_t>(from.find(label)));
  return perm;
}

}  // namespace

void einsum_to_matmul(Graph& graph, PassContext& context) {
  DeadNodes replaced;
  for (Node& node : graph.nodes()) {
    if (node.op() != "Einsum" || node.input_count() != 2 || !is_float(node.output(0)->type.dtype)) continue;
    const auto found = equation_of(node);
    if (!found || rank_of(*node.input(0)) != found->a.size() || rank_of(*node.input(1)) != found->b.size()) continue;
    std::string batch, rows, columns, summed, rest;
    for (char label : found->y) (has(found->a, label) && has(found->b, label) ? batch : has(found->a, label) ? rows : columns) += label;
    for (char label : found->a)
      if (!has(found->y, label)) (has(found->b, label) ? summed : rest) += label;
    for (char label : found->b)
      if (!has(found->y, label) && !has(found->a, label)) rest += label;
    if (rows.size() != 1 || columns.size() != 1 || summed.size() != 1 || !rest.empty()) continue;
    const auto same = [&](char label) {  // a dimension of 1 would be repeated
      const Dim &a = (*node.input(0)->type.dims)[found->a.find(label)], &b = (*node.input(1)->type.dims)[found->b.find(label)];
      return a == b && !SizeTable::is_unknown(a);
    };
    if (!std::all_of(batch.begin(), batch.end(), same) || !same(summed[0])) continue;
    const auto transposed = [&](Value& x, const std::string& from, const std::string& to) -> Value& {
      const Permutation perm = order_of(from, to);
      if (is_identity(perm)) return x;
      const std::string name[] = {graph.fresh_name(x.name())};
      Node& made = graph.add_node("Transpose", std::vector<Value*>{&x}, name, {{"perm", perm}}, node.name(), &node);
      infer_node(context, made);
      return *made.output(0);
    };
    context.changed("{} is a product of matrices", label_of(node));
    Value &a = transposed(*node.input(0), found->a, batch + rows + summed),
          &b = transposed(*node.input(1), found->b, batch + summed + columns);
    const std::string product = batch + rows + columns;
    const Permutation back = order_of(product, found->y);
    if (is_identity(back)) {
      replace(*node.output(0), "MatMul", {&a, &b}, {}, node.name());
    } else {
      const std::string name[] = {graph.fresh_name(node.output(0)->name())};
      Node& made = graph.add_node("MatMul", std::vector<Value*>{&a, &b}, name, {}, node.name(), &node);
      infer_node(context, made);
      replace(*node.output(0), "Transpose", {made.output(0)}, {{"perm", back}}, node.name());
    }
    replaced.add(node);
  }
  replaced.remove();
}

}  // namespace minnow
