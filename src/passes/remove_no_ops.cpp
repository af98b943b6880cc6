// SPDX-License-Identifier: Apache-2.0
// Nodes whose result is their input: a Cast to the same dtype, a Reshape to the same shape, a Slice of everything, x * 1 ...
#include <algorithm>

#include "base/numeric.h"
#include "passes/move_reshapes.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

bool is_filled_with(const Value* value, double number) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  constexpr int64_t kMost = 65536;  // larger ones are weights, not neutral elements
  if (!tensor || tensor->elements() == 0 || tensor->elements() > kMost) return false;
  const auto elements = *reals_of(value);
  return std::all_of(elements.begin(), elements.end(), [&](double x) { return x == number; });
}

/// x + 0, x - 0, x * 1, x / 1, x ^ 1: the input that is the result.
Value* neutral(const Node& node) {
  const auto keeps = [&](Value* x, const Value* constant, double number) {
    return x && same_shape(*x, *node.output(0)) && same_dtype(*x, *node.output(0)) && is_filled_with(constant, number) ? x : nullptr;
  };
  Value *a = node.input(0), *b = node.input(1);
  if (node.op() == "Add") return keeps(a, b, 0) ? a : keeps(b, a, 0);
  if (node.op() == "Mul") return keeps(a, b, 1) ? a : keeps(b, a, 1);
  if (node.op() == "Sub") return keeps(a, b, 0);
  if (node.op() == "Div" || node.op() == "Pow") return keeps(a, b, 1);
  return nullptr;
}

/// True if every value of `from` is a value of `to`.
bool holds_all_of(DType to, DType from) {
  if (from == DType::boolean) return is_integer(to);
  if (is_integer(from) && is_integer(to))
    return size_of(to) > size_of(from) ? is_signed(to) || is_unsigned(from)
                                       : size_of(to) == size_of(from) && is_signed(to) == is_signed(from);
  if (to == DType::f64) return from == DType::f32 || from == DType::f16 || from == DType::bf16;
  return to == DType::f32 && (from == DType::f16 || from == DType::bf16);
}

/// The value that the node's output 0 is equal to for certain, or null.
Value* equal_value(const Node& node) {
  Value* x = node.input(0);
  const Value& y = *node.output(0);
  if (!x) return nullptr;
  const std::string& op = node.op();
  const bool same_type = same_dtype(*x, y) && same_shape(*x, y);
  if (op == "Cast") {
    if (same_dtype(*x, y)) return x;
    const Node* before = made_by(x, "Cast");  // there and back
    return before && before->input(0) && same_dtype(*before->input(0), y) && holds_all_of(x->type.dtype, y.type.dtype) ? before->input(0)
                                                                                                                       : nullptr;
  }
  if (is_reshape(node)) {
    Value* first = x;
    while (first->producer() && is_reshape(*first->producer()) && first->producer()->input(0)) first = first->producer()->input(0);
    return same_dtype(*first, y) && same_shape(*first, y) ? first : nullptr;
  }
  if (op == "Expand" || op == "Tile") return same_type ? x : nullptr;
  if (op == "Slice") {
    const auto steps = ints_of(node.input(4));
    const bool forwards = !node.input(4) || (steps && std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step > 0; }));
    return same_type && forwards ? x : nullptr;
  }
  if (op == "Pad") return is_filled_with(node.input(1), 0) ? x : nullptr;
  if (const Operator* definition = traits_of(node); op == "Concat" || (definition && definition->commutative))
    if (node.input_count() == 1) return x;
  if (op == "Split") return node.output_count() == 1 && same_type ? x : nullptr;
  if (op == "Relu") return made_by(x, "Relu") || is_never_negative(*x) ? x : nullptr;
  if (op == "Clip") return !node.input(1) && !node.input(2) ? x : nullptr;
  return neutral(node);
}

/// Successive reshapes: the last one can start from the first one's input if its shape can be expressed.
void join_reshapes(Graph& graph, Node& node, PassContext& context) {
  if (!is_reshape(node) || !node.input(0) || !node.input(0)->producer() || !is_reshape(*node.input(0)->producer())) return;
  const Value& y = *node.output(0);
  if (!y.type.dims) return;
  Value* first = node.input(0);
  while (first->producer() && is_reshape(*first->producer()) && first->producer()->input(0) && &first->graph() == &graph)
    first = first->producer()->input(0);
  if (first == node.input(0)) return;
  const auto shape = as_reshape(*y.type.dims, first->type.dims.value_or(std::vector<Dim>()));
  if (!shape) return;
  context.changed("{} starts from \"{}\", before other reshapes", label_of(node), first->name());
  replace(*node.output(0), "Reshape", {first, &add_ints(graph, *shape)});
  remove_dead(node);
}

}  // namespace

void remove_no_ops(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (!node.output(0)) continue;
    if (Value* equal = equal_value(node); equal && forward(*node.output(0), *equal)) {
      context.changed("removed {}", label_of(node));
      remove_dead(node);
    } else {
      join_reshapes(graph, node, context);
    }
  }
}

}  // namespace minnow
