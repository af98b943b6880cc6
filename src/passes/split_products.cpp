// SPDX-License-Identifier: Apache-2.0
// Parts of a product are computed by themselves. Queries, keys and values of an attention are often one product, whose columns are then
// reshaped to [.., 3, width], transposed and gathered: the gathers become slices of columns, and each slice a product with its own columns
// of the weights.
#include <algorithm>

#include "base/saturating.h"
#include "passes/move_reshapes.h"
#include "passes/permute.h"

namespace minnow {
namespace {

/// The place that a Gather with one constant index takes, and the axis; the axis goes from the result.
struct Place {
  size_t axis;
  int64_t index;
};
std::optional<Place> place_of(const Node& node) {
  if (node.op() != "Gather" || !node.input(0) || !node.input(1) || !node.input(1)->constant()) return {};
  const auto rank = rank_of(*node.input(0));
  const auto index = node.input(1)->constant()->shape().rank() == 0 ? ints_of(node.input(1)) : std::nullopt;
  const auto axis = rank ? positive_axis(int_attribute(node, "axis", 0), *rank) : std::nullopt;
  const auto size = axis ? dim_of(*node.input(0), static_cast<int64_t>(*axis)) : std::nullopt;
  if (!index || !size) return {};
  const int64_t place = (*index)[0] < 0 ? (*index)[0] + *size : (*index)[0];
  if (place < 0 || place >= *size) return {};
  return Place{*axis, place};
}

struct Columns {
  int64_t begin, end;
};
/// The columns that a Slice takes of its input, all rows of it.
std::optional<Columns> columns_read_by(const Node& node) {
  if (node.op() != "Slice" || !node.input(0)) return {};
  const auto begin = ints_of(node.input(1)), end = ints_of(node.input(2)), axes = ints_of(node.input(3));
  const auto rank = rank_of(*node.input(0));
  const auto size = dim_of(*node.input(0), -1);
  if (!begin || !end || !axes || !rank || !size || begin->size() != 1 || axes->size() != 1) return {};
  if (node.input(4) && ints_of(node.input(4)) != Ints{1}) return {};
  const auto axis = positive_axis((*axes)[0], *rank);
  if (axis != *rank - 1 || (*begin)[0] < 0 || (*end)[0] > *size || (*begin)[0] >= (*end)[0]) return {};
  return Columns{(*begin)[0], (*end)[0]};
}

class PartTaker {
 public:
  PartTaker(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (!node.output(0) || !node.output(0)->type.dims) continue;
      if (node.op() == "Transpose" || node.op() == "Reshape")
        gathers(node);
      else if (node.op() == "MatMul" || node.op() == "Gemm" || node.op() == "Add")
        slices(node);
    }
    replaced_.remove();
  }

 private:
  Value& add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes, Node& before, std::string_view stem) {
    const std::string name[] = {graph_.fresh_name(stem)};
    Node& node = graph_.add_node(op, inputs, name, std::move(attributes), before.name(), &before);
    infer_node(context_, node);
    return *node.output(0);
  }
  Value& slice(Value& x, const Columns& columns, int64_t axis, Node& before) {
    const Ints begin = {columns.begin}, end = {columns.end}, axes = {axis};
    return add("Slice", {&x, &add_ints(graph_, begin), &add_ints(graph_, end), &add_ints(graph_, axes)}, {}, before, x.name());
  }

  /// All users of the node's result if each satisfies `is`; else none.
  template <class Is>
  std::vector<Node*> all_users(const Node& node, Is is) const {
    std::vector<Node*> users;
    const Value& value = *node.output(0);
    if (value.is_graph_output() || node.output_count() != 1) return {};
    for (const Use& use : value.uses()) {
      if (&use.node->graph() != &graph_ || use.input != 0 || !is(*use.node)) return {};
      users.push_back(use.node);
    }
    return users;
  }

  /// Makes Gathers of a Transpose, or of a Reshape that splits, read its input instead.
  void gathers(Node& node) {
    const std::vector<Node*> users = all_users(node, [](const Node& user) { return place_of(user).has_value(); });
    if (users.empty() || !node.input(0) || !node.input(0)->type.dims) return;
    Value& x = *node.input(0);
    const auto perm = permutation_of(node);
    const auto groups = perm ? std::nullopt : split_groups(*x.type.dims, *node.output(0)->type.dims, context_.sizes);
    if (!perm && !groups) return;
    for (Node* user : users)
      if (groups && !columns(*groups, *place_of(*user))) return;
    for (Node* user : users) {
      const Place place = *place_of(*user);
      std::vector<Dim> taken_dims = *x.type.dims;
      if (groups) {
        const auto [axis, taken] = *columns(*groups, place);
        taken_dims[static_cast<size_t>(axis)] = Dim{taken.end - taken.begin, {}};
      }
      const auto shape = as_reshape(*user->output(0)->type.dims, taken_dims);
      if (groups && !shape) return;
      context_.changed("{} takes its part of \"{}\"", label_of(*user), x.name());
      if (perm) {
        const int64_t axis = (*perm)[place.axis];
        Permutation rest;  // of the axes that stay
        for (int64_t from : *perm)
          if (from != axis) rest.push_back(from - (from > axis ? 1 : 0));
        Value& part = add("Gather", {&x, user->input(1)}, {{"axis", axis}}, *user, user->output(0)->name());
        replace(*user->output(0), "Transpose", {&part}, {{"perm", rest}}, user->name());
      } else {
        const auto [axis, taken] = *columns(*groups, place);
        replace(*user->output(0), "Reshape", {&slice(x, taken, axis, *user), &add_ints(graph_, *shape)}, {}, user->name());
      }
      replaced_.add(*user);
    }
  }

  /// The axis and the range, before the split, of an index along the first part of a split dimension.
  static std::optional<std::pair<int64_t, Columns>> columns(const std::vector<std::vector<Dim>>& groups, const Place& place) {
    size_t begin = 0;
    for (size_t i = 0; i < groups.size(); begin += groups[i++].size()) {
      if (begin != place.axis || groups[i].size() < 2) continue;
      int64_t width = 1;
      for (size_t k = 1; k < groups[i].size(); ++k) {
        if (!groups[i][k].known()) return {};
        width = clamped_product({width, groups[i][k].size});
      }
      return std::pair(static_cast<int64_t>(i), Columns{clamped_product({place.index, width}), clamped_product({place.index + 1, width})});
    }
    return {};
  }

  /// Slices of columns of a product with constant weights, or of such a product and a bias.
  void slices(Node& node) {
    const Value& y = *node.output(0);
    const auto width = dim_of(y, -1);
    Value *weights = node.input(1), *x = node.input(0);
    if (!width || !weights || !x) return;
    const std::vector<Node*> users = all_users(node, [](const Node& user) { return columns_read_by(user).has_value(); });
    if (users.size() < 2) return;
    std::vector<Columns> parts;
    for (const Node* user : users) parts.push_back(*columns_read_by(*user));
    std::sort(parts.begin(), parts.end(), [](const Columns& a, const Columns& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i].begin < parts[i - 1].end) return;  // some would be computed twice
    const bool product = node.op() != "Add";
    if (!product && !weights->constant()) std::swap(weights, x);
    const bool swapped = int_attribute(node, "transB", 0) != 0;
    const int64_t axis = !product ? -1 : swapped ? 0 : 1;
    if (!weights->constant() || rank_of(*weights) != (product ? size_t{2} : size_t{1}) || dim_of(*weights, axis) != width) return;
    if (!product && (!same_shape(*x, y) || !x->producer() || sole_user(*x) != &node)) return;
    Value* bias = product ? node.input(2) : nullptr;
    if (bias && (!bias->constant() || bias->constant()->shape() != Shape{*width})) return;
    for (Node* user : users) {
      const Columns taken = *columns_read_by(*user);
      context_.changed("{} is a product of its own", label_of(*user));
      std::vector<Value*> inputs = {product ? x : &slice(*x, taken, -1, *user), &slice(*weights, taken, axis, *user)};
      if (bias) inputs.push_back(&slice(*bias, taken, 0, *user));
      replace(*user->output(0), node.op(), inputs, node.attributes, node.name());
      replaced_.add(*user);
    }
  }

  Graph& graph_;
  PassContext& context_;
  DeadNodes replaced_;
};

}  // namespace

void split_products(Graph& graph, PassContext& context) { PartTaker(graph, context).run(); }

}  // namespace minnow
