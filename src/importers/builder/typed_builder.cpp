// SPDX-License-Identifier: Apache-2.0
#include "importers/builder/typed_builder.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "base/saturating.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {

// Nodes.

Exprs TypedBuilder::ops(std::string_view name, ListView<Expr> inputs, size_t outputs, const AttributeList& attributes) {
  for (const Expr& input : inputs)
    if (input) infer(input);
  if (outputs == 0) return {};  // a node without outputs computes nothing
  Exprs made = GraphBuilder::ops(name, inputs, outputs, attributes);
  Node& node = *made[0].value()->producer();
  if (operators_->find(name)) {
    for (const Expr& x : made) x.value()->type.dtype = DType::undefined;
    infer_types(*operators_, node);
    infer_dims(*operators_, *sizes_, node);
  }
  inferred_.insert(&node);
  return made;
}
Expr TypedBuilder::op(std::string_view name, ListView<Expr> inputs, const AttributeList& attributes) {
  return ops(name, inputs, 1, attributes)[0];
}

Expr TypedBuilder::reals(const Shape& shape, std::span<const double> values, DType dtype) {
  Tensor tensor(dtype, shape);
  narrow(dtype, values.data(), values.size(), tensor.writable().data());
  return constant(std::move(tensor));
}

void TypedBuilder::infer(const Expr& x) {
  Node* node = x.value()->producer();
  if (!node || x.value()->type.dims || x.value()->type.kind != ValueType::Kind::tensor || !inferred_.insert(node).second) return;
  for (size_t i = 0; i < node->input_count(); ++i)
    if (node->input(i)) infer(wrap(node->input(i)));
  if (!operators_->find(node->op())) return;
  infer_types(*operators_, *node);
  infer_dims(*operators_, *sizes_, *node);
}

DType TypedBuilder::dtype(const Expr& x) {
  infer(x);
  return x.value()->type.dtype;
}
int64_t TypedBuilder::rank(const Expr& x) {
  if (x.value()->constant()) return static_cast<int64_t>(x.value()->constant()->shape().rank());
  infer(x);
  return x.value()->type.dims ? static_cast<int64_t>(x.value()->type.dims->size()) : -1;
}
int64_t TypedBuilder::dim(const Expr& x, int64_t axis) {
  const int64_t count = rank(x);
  if (axis < 0) axis += count;
  if (axis < 0 || axis >= count) return -1;
  if (x.value()->constant()) return x.value()->constant()->shape()[static_cast<size_t>(axis)];
  return (*x.value()->type.dims)[static_cast<size_t>(axis)].size;
}
std::optional<Ints> TypedBuilder::shape(const Expr& x) {
  const int64_t count = rank(x);
  if (count < 0) return {};
  Ints all;
  for (int64_t i = 0; i < count; ++i) {
    all.push_back(dim(x, i));
    if (all.back() < 0) return {};
  }
  return all;
}
std::optional<Ints> TypedBuilder::ints(const Expr& x) {
  if (!x) return {};
  if (x.value()->constant()) return is_integer(x.value()->constant()->dtype()) ? ints_of(x.value()) : std::nullopt;
  if (!x.value()->producer() || !is_integer(x.value()->type.dtype)) return {};
  int left = 32;  // axes are put together from a few ranges, ranks and lists
  const auto contents =
      ConstantEvaluator(*operators_, ConstantEvaluator::kFewElements).contents(*x.value(), [&](const Node&) { return left-- > 0; });
  if (!contents || !is_integer(contents->dtype())) return {};
  Ints values(static_cast<size_t>(contents->elements()));
  widen(contents->dtype(), contents->data(), values.size(), values.data());
  return values;
}

Expr TypedBuilder::own(const Expr& x) {
  const Value* value = x.value();
  return value->producer() && &value->graph() == &graph() && !value->is_graph_output() ? x : op("Identity", {x});
}

InnerGraph::InnerGraph(const TypedBuilder& outside)
    : graph(std::make_shared<Graph>()), builder(*graph, outside.operators(), outside.sizes()) {
  graph->outer = &outside.graph();
  graph->source = graph->outer->source;
}

std::optional<double> TypedBuilder::number(const Expr& x) { return x ? scalar_of(x.value()) : std::nullopt; }

// Shapes.

Expr TypedBuilder::cast(const Expr& x, DType to) {
  if (dtype(x) == to) return x;
  if (const auto values = x.value()->constant() ? ints(x) : std::nullopt; values && is_integer(to)) {
    Tensor tensor(to, x.value()->constant()->shape());
    narrow(to, values->data(), values->size(), tensor.writable().data());
    return constant(std::move(tensor));
  }
  return op("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
}

Expr TypedBuilder::shape_of(const Expr& x, int64_t start, int64_t end) {
  const int64_t count = rank(x);
  if (count >= 0) {
    const int64_t last = std::min(end < 0 ? end + count : end, count), first = std::min(start < 0 ? start + count : start, last);
    Ints known;
    for (int64_t i = first; i < last; ++i) known.push_back(dim(x, i));
    if (std::find(known.begin(), known.end(), -1) == known.end()) return constant(known);
  }
  Attributes attributes;
  if (start != 0) attributes.set("start", start);
  if (end != kEnd) attributes.set("end", end);
  return op("Shape", {x}, std::move(attributes));
}

Expr TypedBuilder::reshape(const Expr& x, ListView<int64_t> to) {
  if (const auto known = shape(x); known && std::ranges::equal(*known, to)) return x;
  if (const Tensor* tensor = x.value()->constant()) {
    Ints sizes = to;
    int64_t others = 1;
    bool fits = true;
    for (int64_t size : to) fits = fits && !__builtin_mul_overflow(others, size == -1 ? 1 : size, &others);
    const auto open = std::find(sizes.begin(), sizes.end(), -1);
    if (open != sizes.end() && fits && others > 0) *open = tensor->elements() / others;
    if (sizes == Ints(tensor->shape().begin(), tensor->shape().end())) return x;
    if (fits && std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; }) &&
        Shape(sizes).elements() == tensor->elements())
      return constant(tensor->reshaped(Shape(sizes)));
  }
  Attributes attributes;
  if (std::find(to.begin(), to.end(), 0) != to.end()) attributes.set("allowzero", int64_t{1});
  return op("Reshape", {x, constant(to)}, std::move(attributes));
}
Expr TypedBuilder::reshape(const Expr& x, const Expr& to) {
  const Expr wide = i64(to);
  if (const auto known = ints(wide)) return reshape(x, *known);
  const Expr y = op("Reshape", {x, rank(wide) == 1 ? wide : vector(wide)});
  if (const int64_t count = dim(wide, 0); !y.value()->type.dims && rank(wide) == 1 && count >= 0)
    y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return y;
}

Expr TypedBuilder::transpose(const Expr& x, ListView<int64_t> perm) {
  bool is_identity = true;
  for (size_t i = 0; i < perm.size(); ++i) is_identity = is_identity && perm[i] == static_cast<int64_t>(i);
  if (is_identity) return x;
  // Transpose a constant in the precision in which it is stored, before it is cast.
  const Node* maker = x.value()->producer();
  if (maker && maker->op() == "Cast" && maker->input(0)->constant())
    return cast(op("Transpose", {wrap(maker->input(0))}, {{"perm", perm}}), dtype(x));
  return op("Transpose", {x}, {{"perm", perm}});
}

Expr TypedBuilder::before_transpose(const Expr& x, Ints& perm) {
  Node* maker = x.value()->producer();
  if (!maker || maker->op() != "Transpose" || &maker->graph() != &graph() || !x.value()->is_unused()) return x;
  const Ints* given = maker->attributes.get<Ints>("perm");
  if (!given || maker != graph().last()) return x;
  perm = *given;
  const Expr source = wrap(maker->input(0));
  inferred_.erase(maker);
  graph().remove(*maker);
  return source;
}
Expr TypedBuilder::unsqueeze(const Expr& x, ListView<int64_t> axes) { return axes.empty() ? x : op("Unsqueeze", {x, constant(axes)}); }
Expr TypedBuilder::squeeze(const Expr& x, ListView<int64_t> axes) { return axes.empty() ? x : op("Squeeze", {x, constant(axes)}); }

Expr TypedBuilder::concat(ListView<Expr> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  if (std::all_of(parts.begin(), parts.end(),
                  [&](const Expr& x) { return x.value()->constant() && rank(x) == 1 && dtype(x) == DType::i64; })) {
    Ints all;
    for (const Expr& x : parts) {
      const Ints some = *ints(x);
      all.insert(all.end(), some.begin(), some.end());
    }
    return constant(all);
  }
  return op("Concat", parts, {{"axis", axis}});
}

Expr TypedBuilder::slice(const Expr& x, ListView<int64_t> starts, ListView<int64_t> ends, ListView<int64_t> axes, ListView<int64_t> steps) {
  Exprs inputs = {x, constant(starts), constant(ends), constant(axes)};
  if (!steps.empty()) inputs.push_back(constant(steps));
  return op("Slice", inputs);
}

Expr TypedBuilder::fill(const Expr& shape, double value, DType dtype) {
  Tensor one(dtype, {1});
  if (is_float(dtype)) {
    narrow(dtype, &value, 1, one.writable().data());
  } else {
    const int64_t number = static_cast<int64_t>(value);
    narrow(dtype, &number, 1, one.writable().data());
  }
  return op("ConstantOfShape", {i64(shape)}, {{"value", std::move(one)}});
}

Expr TypedBuilder::swap_last(const Expr& x) {
  const int64_t count = rank(x);
  if (count < 0) throw Unsupported("it transposes a matrix of unknown rank");
  if (count < 2) throw InvalidModel("it transposes a matrix of {} dimensions", count);
  Ints perm;
  for (int64_t i = 0; i < count; ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, perm);
}

}  // namespace minnow
