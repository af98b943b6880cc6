// SPDX-License-Identifier: Apache-2.0
// Moves Reshapes to other Reshapes, so that join_reshapes (remove_no_ops.cpp) can merge or remove them: behind products that work on
// rows and behind elementwise functions, before or behind a Transpose, and behind the addition of a constant to the dimensions that were
// split off.
#include <algorithm>

#include "base/saturating.h"
#include "passes/move_reshapes.h"
#include "passes/rewrite.h"

namespace minnow {

std::optional<std::vector<std::vector<Dim>>> split_groups(const std::vector<Dim>& from, const std::vector<Dim>& to, SizeTable& sizes) {
  std::vector<std::vector<Dim>> groups;
  size_t next = 0;
  for (const Dim& dim : from) {
    if (SizeTable::is_unknown(dim)) return {};
    const Size whole = sizes.size_of(dim);
    std::vector<Dim>& group = groups.emplace_back();
    if (dim.size == 1 && (next == to.size() || to[next].size != 1)) continue;
    Size product = 1;
    do {
      if (next == to.size() || SizeTable::is_unknown(to[next]) || to[next].size == 0) return {};
      const Dim& part = to[next++];
      group.push_back(part);
      product *= sizes.size_of(part);
      if (product.is_unknown() || (dim.known() && (!product.is_number() || product.number() > dim.size))) return {};
    } while (!equal(product, whole));
  }
  for (; next < to.size() && !groups.empty(); ++next) {
    if (!to[next].known() || to[next].size != 1) return {};
    groups.back().push_back(to[next]);
  }
  if (next != to.size()) return {};
  return groups;
}

std::optional<Ints> as_reshape(const std::vector<Dim>& dims, const std::vector<Dim>& from) {
  Ints shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].size == 0) return {};  // would mean "copy" and leaves nothing to infer another from
    shape.push_back(dims[i].known() ? dims[i].size : -1);
  }
  if (std::count(shape.begin(), shape.end(), -1) <= 1) return shape;
  for (size_t i = 0; i < std::min(dims.size(), from.size()); ++i)
    if (shape[i] == -1 && dims[i] == from[i] && !SizeTable::is_unknown(dims[i])) shape[i] = 0;
  if (std::count(shape.begin(), shape.end(), -1) > 1) return {};
  return shape;
}

namespace {

bool is_product(const Node& node) { return node.op() == "MatMul" || node.op() == "Gemm" || node.op() == "minnow.FusedMatMul"; }

/// Every row of input 0 is multiplied with the same matrix.
bool works_on_rows(const Node& node) {
  return is_product(node) && node.input(0) && node.input(1) && rank_of(*node.input(1)) == size_t{2} &&
         int_attribute(node, "transA", 0) == 0 &&
         (node.op() != "Gemm" || (real_attribute(node, "alpha", 1) == 1 && real_attribute(node, "beta", 1) == 1)) && !node.input(3) &&
         (!node.input(2) || (node.input(2)->constant() && node.input(2)->constant()->shape().rank() <= 1));
}

class ReshapeMover {
 public:
  ReshapeMover(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (!node.output(0) || !node.output(0)->type.dims || node.output_count() != 1) continue;
      if (works_on_rows(node)) {
        behind_product(node);
      } else if (is_reshape(node)) {
        before_transpose(node);
      } else if (node.op() == "Transpose") {
        without_ones(node);
      } else {
        behind_constant(node) || behind_function(node);
      }
    }
    replaced_.remove();
  }

 private:
  /// The reshape in this graph that makes `value`, if `user` is its only user and its input has known dimensions.
  Node* reshape_for(const Value* value, const Node& user) const {
    Node* node = value ? value->producer() : nullptr;
    if (!node || &node->graph() != &graph_ || !is_reshape(*node) || sole_user(*value) != &user) return nullptr;
    return node->input(0) && node->input(0)->type.dims && value->type.dims ? node : nullptr;
  }

  /// An elementwise function of one value; all other inputs have one element each.
  bool is_function(const Node& node) const {
    const Operator* op = context_.find(node);
    if (!op || !op->elementwise || node.op() == "minnow.FusedElementwise" || !node.input(0) || node.output_count() != 1) return false;
    for (size_t i = 1; i < node.input_count(); ++i)
      if (node.input(i) &&
          (!node.input(i)->constant() || node.input(i)->constant()->elements() != 1 || node.input(i)->constant()->shape().rank() > 0))
        return false;
    return !node.input(0)->constant();
  }

  /// True if `value` reaches another Reshape before any node depends on its shape.
  bool meets_reshape(const Value& value, int depth = 0) const {
    constexpr int kDeepest = 8;
    const Node* user = sole_user(value);
    if (!user || depth == kDeepest || &user->graph() != &graph_) return false;
    if (is_reshape(*user)) return user->input(0) == &value;
    if (!user->output(0)) return false;
    if (works_on_rows(*user) ? user->input(0) == &value : is_function(*user)) return meets_reshape(*user->output(0), depth + 1);
    if ((user->op() == "Add" || user->op() == "Mul") && user->input_count() == 2) {
      const Value* other = other_input(*user, &value);
      return other && other->constant() && other->constant()->shape().rank() <= 1 && meets_reshape(*user->output(0), depth + 1);
    }
    return false;
  }

  Value& add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes, Node& before, std::string_view stem) {
    const std::string name[] = {graph_.fresh_name(stem)};
    Node& node = graph_.add_node(op, inputs, name, std::move(attributes), before.name(), &before);
    infer_node(context_, node);
    return *node.output(0);
  }
  Value& reshaped(Value& x, const Ints& shape, Node& before, std::string_view stem) {
    return add("Reshape", {&x, &add_ints(graph_, shape)}, {}, before, stem);
  }

  bool behind_product(Node& node) {
    Node* reshape = reshape_for(node.input(0), node);
    if (!reshape) return false;
    Value& x = *reshape->input(0);
    const std::vector<Dim>&given = *x.type.dims, &rows = *node.input(0)->type.dims;
    if (rows.size() < 2 || !rows.back().known() || rows.back().size < 1) return false;
    // The last dimensions of x that make a row.
    size_t first = given.size();
    int64_t depth = 1;
    while (first > 0 && depth < rows.back().size && given[first - 1].known() && given[first - 1].size > 0)
      depth = clamped_product({depth, given[--first].size});
    if (depth != rows.back().size || first == 0) return false;
    std::vector<Dim> lead(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(first));
    if (lead == std::vector<Dim>(rows.begin(), rows.end() - 1)) return false;  // nothing but the row is reshaped
    std::vector<Dim> made_dims = lead;
    made_dims.push_back(node.output(0)->type.dims->back());
    const auto shape = as_reshape(*node.output(0)->type.dims, made_dims);
    lead.push_back(rows.back());
    const auto own = as_reshape(lead, given);
    if (!shape || !meets_reshape(*node.output(0)) || (first + 1 != given.size() && !own)) return false;
    context_.changed("{} works on \"{}\" before it is reshaped", label_of(node), x.name());
    const std::string stem = node.output(0)->name();
    Value& a = first + 1 == given.size() ? x : reshaped(x, *own, node, stem);
    Value* made = nullptr;
    if (node.op() == "Gemm") {
      Value* b = node.input(1);
      if (int_attribute(node, "transB", 0) != 0) b = &add("Transpose", {b}, {{"perm", Ints{1, 0}}}, node, b->name());
      made = &add("MatMul", {&a, b}, {}, node, stem);
      if (node.input(2)) made = &add("Add", {made, node.input(2)}, {}, node, stem);
    } else {
      made = &add(node.op(), {&a, node.input(1), node.input(2)}, node.attributes, node, stem);
    }
    return finish(node, *made, *shape);
  }

  bool behind_function(Node& node) {
    Node* reshape = is_function(node) ? reshape_for(node.input(0), node) : nullptr;
    const auto shape = reshape ? as_reshape(*node.output(0)->type.dims, *reshape->input(0)->type.dims) : std::nullopt;
    if (!shape || !reshape_makes(*reshape->input(0)) || !meets_reshape(*node.output(0))) return false;
    std::vector<Value*> inputs;
    for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(i == 0 ? reshape->input(0) : node.input(i));
    context_.changed("{} works on \"{}\" before it is reshaped", label_of(node), reshape->input(0)->name());
    return finish(node, add(node.op(), inputs, node.attributes, node, node.output(0)->name()), *shape);
  }
  /// Products and their additions: other nodes gain nothing from a later Reshape.
  static bool reshape_makes(const Value& x) { return x.producer() && (is_product(*x.producer()) || x.producer()->op() == "Add"); }

  /// Reshape(x, [.., h, d]) + c of [h, d]: Reshape(x + c of [h d], [.., h, d])
  bool behind_constant(Node& node) {
    if ((node.op() != "Add" && node.op() != "Mul") || node.input_count() != 2) return false;
    for (size_t i = 0; i < 2; ++i) {
      Node* reshape = reshape_for(node.input(i), node);
      const Value* constant = node.input(1 - i);
      if (!reshape || !constant || !constant->constant() || constant->constant()->elements() < 2) continue;
      const std::vector<Dim>&from = *reshape->input(0)->type.dims, &to = *node.input(i)->type.dims;
      const auto groups = split_groups(from, to, context_.sizes);
      if (!groups || groups->empty() || groups->back().size() < 2 || *node.output(0)->type.dims != to) continue;
      if (std::any_of(groups->begin(), groups->end() - 1, [](const auto& group) { return group.size() != 1; })) continue;
      Shape own = constant->constant()->shape(), wanted;
      for (const Dim& dim : groups->back()) wanted.push_back(dim.size);
      while (own.rank() > wanted.rank() && own[0] == 1) own.erase(0);
      const auto shape = as_reshape(to, from);
      if (own != wanted || !shape) continue;
      Value& flat = graph_.add_constant(constant->constant()->reshaped(Shape{own.elements()}), graph_.fresh_name(constant->name()));
      context_.changed("{} works on \"{}\" before it is split", label_of(node), reshape->input(0)->name());
      return finish(node, add(node.op(), {reshape->input(0), &flat}, {}, node, node.output(0)->name()), *shape);
    }
    return false;
  }

  /// If a Reshape made the input of a Transpose, a Reshape that splits a transposed dimension can split it before the Transpose.
  bool before_transpose(Node& node) {
    Node* transpose = made_by(node.input(0), "Transpose");
    const Ints* perm =
        transpose && sole_user(*node.input(0)) == &node && &transpose->graph() == &graph_ ? ints_attribute(*transpose, "perm") : nullptr;
    Value* x = perm ? transpose->input(0) : nullptr;
    if (!x || !x->type.dims || !x->producer() || !is_reshape(*x->producer()) || !has_one_use(*x) || !node.input(0)->type.dims) return false;
    const auto groups = split_groups(*node.input(0)->type.dims, *node.output(0)->type.dims, context_.sizes);
    if (!groups || groups->size() != perm->size() || groups->size() == node.output(0)->type.dims->size()) return false;
    // Groups in the order of x, and where each begins there.
    std::vector<size_t> begins(perm->size()), of_axis(perm->size());
    for (size_t i = 0; i < perm->size(); ++i) of_axis[static_cast<size_t>((*perm)[i])] = i;
    std::vector<Dim> split;
    for (size_t axis = 0; axis < perm->size(); ++axis) {
      begins[of_axis[axis]] = split.size();
      for (const Dim& dim : (*groups)[of_axis[axis]]) split.push_back(dim);
    }
    const auto shape = as_reshape(split, *x->type.dims);
    if (!shape) return false;
    Ints order;
    for (size_t i = 0; i < groups->size(); ++i)
      for (size_t k = 0; k < (*groups)[i].size(); ++k) order.push_back(static_cast<int64_t>(begins[i] + k));
    context_.changed("{} splits what {} moves before it", label_of(node), label_of(*transpose));
    Value& before = reshaped(*x, *shape, node, x->name());
    replace(*node.output(0), "Transpose", {&before}, {{"perm", order}}, transpose->name());
    replaced_.add(node);
    return true;
  }

  /// A Transpose between reshapes leaves dimensions of size 1 to them.
  bool without_ones(Node& node) {
    Node* reshape = reshape_for(node.input(0), node);
    const Node* next = sole_user(*node.output(0));
    const Ints* perm = ints_attribute(node, "perm");
    if (!reshape || !next || !is_reshape(*next) || !perm) return false;
    const std::vector<Dim>& dims = *node.input(0)->type.dims;
    if (perm->size() != dims.size()) return false;
    std::vector<Dim> others;
    std::vector<int64_t> place(dims.size());  // among the others
    for (size_t i = 0; i < dims.size(); ++i) {
      place[i] = static_cast<int64_t>(others.size());
      if (dims[i].size != 1) others.push_back(dims[i]);
    }
    const auto shape = others.size() < dims.size() ? as_reshape(others, *reshape->input(0)->type.dims) : std::nullopt;
    if (!shape) return false;
    Ints order, ones;
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t from = static_cast<size_t>((*perm)[i]);
      if (from >= dims.size()) return false;
      if (dims[from].size == 1)
        ones.push_back(static_cast<int64_t>(i));
      else
        order.push_back(place[from]);
    }
    context_.changed("{} moves what is not of size 1 alone", label_of(node));
    const std::string stem = node.output(0)->name();
    Value& moved = add("Transpose", {&reshaped(*reshape->input(0), *shape, node, stem)}, {{"perm", order}}, node, stem);
    replace(*node.output(0), "Unsqueeze", {&moved, &add_ints(graph_, ones)});
    replaced_.add(node);
    return true;
  }

  /// Replaces the output of `node` by a Reshape of `made`.
  bool finish(Node& node, Value& made, const Ints& shape) {
    replace(*node.output(0), "Reshape", {&made, &add_ints(graph_, shape)}, {}, node.name());
    replaced_.add(node);
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  DeadNodes replaced_;
};

}  // namespace

void move_reshapes(Graph& graph, PassContext& context) { ReshapeMover(graph, context).run(); }

}  // namespace minnow
