// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "ops/infer.h"

namespace minnow {

Node* made_by(const Value* value, std::string_view op) noexcept {
  return value && value->producer() && value->producer()->op() == op ? value->producer() : nullptr;
}

Node* sole_user(const Value& value) noexcept {
  if (value.uses().size() != 1 || value.is_graph_output()) return nullptr;
  Node* user = value.uses()[0].node;
  return &user->graph() == &value.graph() ? user : nullptr;
}

bool is_named_output(const Value& value) noexcept {
  if (!value.is_graph_output()) return false;
  const Graph& graph = value.graph();
  if (std::none_of(graph.states().begin(), graph.states().end(), [&](const State& state) { return state.next == &value; })) return true;
  const auto& outputs = graph.outputs();
  return std::find(outputs.begin(), outputs.end(), &value) != outputs.end();
}

const Operator* traits_of(const Node& node) noexcept { return OperatorSet::builtin().find(node.op()); }

bool keeps_elements(const Node& node) noexcept {
  const Operator* op = traits_of(node);
  return op && op->elements == Elements::kept;
}

bool is_reshape(const Node& node) noexcept { return keeps_elements(node) && traits_of(node)->axes.kind == AxisRule::Kind::none; }

bool is_never_negative(const Value& value) noexcept {
  const Node* node = value.producer();
  const Operator* op = node ? traits_of(*node) : nullptr;
  if (op && op->never_negative && is_float(value.type.dtype)) return true;
  return node && node->op() == "Clip" && scalar_of(node->input(1)).value_or(-1) >= 0;
}

std::optional<size_t> rank_of(const Value& value) noexcept {
  if (value.type.kind != ValueType::Kind::tensor || !value.type.dims) return {};
  return value.type.dims->size();
}

std::optional<int64_t> dim_of(const Value& value, int64_t axis) noexcept {
  const auto rank = rank_of(value);
  const auto place = rank ? positive_axis(axis, *rank) : std::nullopt;
  if (!place || !(*value.type.dims)[*place].known()) return {};
  return (*value.type.dims)[*place].size;
}

bool same_shape(const Value& a, const Value& b) noexcept {
  if (!rank_of(a) || rank_of(a) != rank_of(b)) return false;
  for (size_t i = 0; i < a.type.dims->size(); ++i) {
    const Dim &p = (*a.type.dims)[i], &q = (*b.type.dims)[i];
    if (p.known() ? p.size != q.size : p.symbol.empty() || q.known() || p.symbol != q.symbol) return false;
  }
  return true;
}

std::optional<double> scalar_of(const Value* value) noexcept {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (!tensor || tensor->elements() != 1) return {};
  double element;
  widen(tensor->dtype(), tensor->data(), 1, &element);
  return element;
}

bool is_scalar(const Value* value, double expected) noexcept {
  const auto element = scalar_of(value);
  return element && std::fabs(*element - expected) <= 2e-4 * std::fabs(expected);
}

std::optional<Ints> ints_of(const Value* value) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (!tensor || is_float(tensor->dtype())) return {};
  Ints values(static_cast<size_t>(tensor->elements()));
  widen(tensor->dtype(), tensor->data(), values.size(), values.data());
  return values;
}

std::optional<std::vector<double>> reals_of(const Value* value) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (!tensor) return {};
  std::vector<double> values(static_cast<size_t>(tensor->elements()));
  widen(tensor->dtype(), tensor->data(), values.size(), values.data());
  return values;
}

int64_t int_attribute(const Node& node, std::string_view name, int64_t fallback) noexcept {
  const int64_t* value = node.attributes.get<int64_t>(name);
  return value ? *value : fallback;
}
float real_attribute(const Node& node, std::string_view name, float fallback) noexcept {
  const float* value = node.attributes.get<float>(name);
  return value ? *value : fallback;
}
std::string_view text_attribute(const Node& node, std::string_view name, std::string_view fallback) noexcept {
  const std::string* value = node.attributes.get<std::string>(name);
  return value ? std::string_view(*value) : fallback;
}
const Ints* ints_attribute(const Node& node, std::string_view name) noexcept { return node.attributes.get<Ints>(name); }

std::optional<size_t> positive_axis(int64_t axis, size_t rank) noexcept {
  const int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) return {};
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

std::string label_of(const Node& node) {
  std::string name = node.name();
  for (size_t i = 0; i < node.output_count() && name.empty(); ++i)
    if (node.output(i)) name = node.output(i)->name();
  return format("{} \"{}\"", node.op(), name);
}

size_t stored_bytes(DType dtype, const Shape& shape) { return (static_cast<size_t>(shape.elements()) * bits_of(dtype) + 7) / 8; }

bool forward(Value& value, Value& with) {
  if (&value == &with) return true;
  if (is_named_output(value)) {
    if (&with.graph() != &value.graph()) return false;
    if (!value.graph().outer) {  // the names of a subgraph's outputs mean nothing
      if (!with.producer() || is_named_output(with)) return false;
      std::string name = value.name();
      value.rename(value.graph().fresh_name(name));
      with.rename(std::move(name));
    }
  }
  value.replace_all_uses_with(with);
  return true;
}

void take_place_of(Value& value, Value& with) {
  with.type = value.type;
  std::string name = value.name();
  value.rename(value.graph().fresh_name(name));
  with.rename(std::move(name));
  value.replace_all_uses_with(with);
}

Node& replace(Value& value, std::string_view op, const std::vector<Value*>& inputs, Attributes attributes, std::string name) {
  Node* old = value.producer();
  MINNOW_CHECK(old, "only what a node makes can be replaced");
  const std::string output[] = {value.graph().fresh_name(op)};
  Node& node = value.graph().add_node(op, inputs, output, std::move(attributes), name.empty() ? old->name() : std::move(name), old);
  take_place_of(value, *node.output(0));
  return node;
}

void remove_dead(Node& node) {
  Graph& graph = node.graph();
  std::vector<Node*> list{&node};
  while (!list.empty()) {
    Node* dead = list.back();
    list.pop_back();
    bool unused = true;
    for (size_t i = 0; i < dead->output_count(); ++i) unused &= !dead->output(i) || dead->output(i)->is_unused();
    if (!unused) continue;
    std::vector<Value*> inputs;
    for (size_t i = 0; i < dead->input_count(); ++i)
      if (dead->input(i)) inputs.push_back(dead->input(i));
    graph.remove(*dead);
    // A producer is listed when its last use has gone, and once: its outputs may have been several of these inputs.
    for (Value* input : inputs)
      if (Node* producer = input->producer();
          producer && &producer->graph() == &graph && input->is_unused() && std::find(list.begin(), list.end(), producer) == list.end())
        list.push_back(producer);
  }
}

std::optional<Activation> activation_of(const Node& node) {
  const std::string& op = node.op();
  if (op == "Clip") {
    const auto low = scalar_of(node.input(1)), high = scalar_of(node.input(2));
    if ((node.input(1) && !low) || (node.input(2) && !high)) return {};
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return Activation::named(op, static_cast<float>(low.value_or(-kInfinity)), static_cast<float>(high.value_or(kInfinity)));
  }
  if (op == "LeakyRelu") return Activation::named(op, real_attribute(node, "alpha", 0.01f));
  if (op == "HardSigmoid") return Activation::named(op, real_attribute(node, "alpha", 0.2f), real_attribute(node, "beta", 0.5f));
  if (op == "Gelu" && text_attribute(node, "approximate", "none") != "none") return {};
  if (op == "Swish" && real_attribute(node, "alpha", 1) != 1) return {};
  return op.empty() ? std::nullopt : Activation::named(op);
}

void infer_node(PassContext& context, Node& node) {
  infer_types(context.operators(), node);
  infer_dims(context.operators(), context.sizes, node);
}

Value& add_reals(Graph& graph, DType dtype, const Shape& shape, std::span<const double> values, std::string name) {
  Tensor tensor(dtype, shape);
  MINNOW_CHECK(static_cast<size_t>(tensor.elements()) == values.size(), "a constant's elements fill its shape");
  if (!values.empty()) narrow(dtype, values.data(), values.size(), tensor.writable().data());
  return graph.add_constant(std::move(tensor), std::move(name));
}

Value& add_ints(Graph& graph, std::span<const int64_t> values, std::string name) {
  return graph.add_constant(Tensor::of_i64({static_cast<int64_t>(values.size())}, values), std::move(name));
}

}  // namespace minnow
