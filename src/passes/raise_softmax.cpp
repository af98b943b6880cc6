// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax in elementary operators (exponentials divided by their sum), and those made two-dimensional because older opsets
// compute them over all dimensions from an axis on.
#include "passes/rewrite.h"

namespace minnow {
namespace {

/// The one axis of a reduction that keeps its dimensions.
std::optional<size_t> reduced_axis(const Node* reduction) {
  if (!reduction || !reduction->input(0) || int_attribute(*reduction, "keepdims", 1) == 0) return {};
  const auto axes = ints_of(reduction->input(1));
  const auto rank = rank_of(*reduction->input(0));
  if (!axes || axes->size() != 1 || !rank) return {};
  return positive_axis((*axes)[0], *rank);
}

/// x if `value` is x less its largest element along `axis`, else `value` itself: softmax is the same for both.
Value& without_shift(Value& value, size_t axis) {
  const Node* difference = made_by(&value, "Sub");
  const Node* largest = difference ? made_by(difference->input(1), "ReduceMax") : nullptr;
  const bool is_shift = largest && largest->input(0) == difference->input(0) && reduced_axis(largest) == axis;
  return is_shift ? *difference->input(0) : value;
}

struct Shares {
  std::string_view op;
  Value* x;
  size_t axis;
};

/// exp(x) / sum(exp(x)), or x - log(sum(exp(x))).
std::optional<Shares> written_out(const Node& node) {
  const bool is_log = node.op() == "Sub";
  Value *above = node.input(0), *below = node.input(1);
  if (!above || !below) return {};
  if (node.op() == "Mul") {
    if (!made_by(below, "Reciprocal")) std::swap(above, below);
    const Node* reciprocal = made_by(below, "Reciprocal");
    if (!reciprocal) return {};
    below = reciprocal->input(0);
  } else if (is_log) {
    const Node* log = made_by(below, "Log");
    if (!log) return {};
    below = log->input(0);
  } else if (node.op() != "Div") {
    return {};
  }
  const Node* sum = made_by(below, "ReduceSum");
  const auto axis = reduced_axis(sum);
  const Node* exponential = sum ? made_by(sum->input(0), "Exp") : nullptr;
  if (!axis || !exponential || !exponential->input(0)) return {};
  if (is_log ? above != exponential->input(0) : above != exponential->output(0)) return {};
  // Others that use the exponentials would have them computed all the same.
  if (exponential->output(0)->uses().size() != (is_log ? 1u : 2u) || exponential->output(0)->is_graph_output()) return {};
  return Shares{is_log ? "LogSoftmax" : "Softmax", &without_shift(*exponential->input(0), *axis), *axis};
}

/// Reshape(op(Flatten(x)), shape of x), if only one dimension from the flattened axis on has more than one element.
std::optional<Shares> flattened(const Node& node) {
  Node* inner = node.op() == "Reshape" && node.input(0) ? node.input(0)->producer() : nullptr;
  if (!inner || !has_one_use(*node.input(0))) return {};
  const std::string& op = inner->op();
  if (op != "Softmax" && op != "LogSoftmax" && op != "Hardmax") return {};
  const int64_t inner_axis = int_attribute(*inner, "axis", -1);
  const Node* flatten = inner_axis == 1 || inner_axis == -1 ? made_by(inner->input(0), "Flatten") : nullptr;
  Value* x = flatten ? flatten->input(0) : nullptr;
  const auto rank = x ? rank_of(*x) : std::nullopt;
  if (!rank || !has_one_use(*inner->input(0))) return {};
  const auto first = positive_axis(int_attribute(*flatten, "axis", 1), *rank);
  const Node* shape = made_by(node.input(1), "Shape");
  const bool is_shape_of_x = shape && shape->input(0) == x && shape->attributes.size() == 0;
  if (!first || (!is_shape_of_x && !same_shape(*x, *node.output(0)))) return {};
  std::optional<size_t> axis;
  for (size_t i = *first; i < *rank; ++i) {
    if (dim_of(*x, static_cast<int64_t>(i)) == 1) continue;
    if (axis) return {};
    axis = i;
  }
  return Shares{op, x, axis.value_or(*first)};
}

}  // namespace

void raise_softmax(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    Value* y = node.output(0);
    if (!y || !is_float(y->type.dtype)) continue;
    auto found = written_out(node);
    if (!found) found = flattened(node);
    if (!found || &found->x->graph() != &graph || !rank_of(*found->x)) continue;
    context.changed("{} is {} of \"{}\"", label_of(node), found->op, found->x->name());
    const int64_t axis = static_cast<int64_t>(found->axis) - static_cast<int64_t>(*rank_of(*found->x));
    Node& made = replace(*y, found->op, {found->x}, {{"axis", axis}});
    made.output(0)->type = found->x->type;
    remove_dead(node);
  }
}

}  // namespace minnow
