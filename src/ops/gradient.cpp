// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

namespace minnow {

#if MINNOW_GRADIENTS

namespace {

Expr zeros(const Expr& shape, DType dtype) {
  const Expr made = shape.builder().op("ConstantOfShape", {shape}, {{"value", Tensor(dtype, Shape{1})}});
  made.value()->type.dtype = dtype;
  return made;
}

}  // namespace

bool GradientContext::know_shapes() const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && !knows_shape(i)) return false;
  return true;
}

Expr GradientContext::shape_of(size_t i) const {
  if (!knows_shape(i)) return builder.op("Shape", {inputs[i]});
  const std::span<const int64_t> dims = node.input_shape(i).dims();
  return builder.constant(Ints(dims.begin(), dims.end()));
}

Expr GradientContext::zeros_like(size_t i) const { return zeros(shape_of(i), node.input_dtype(i)); }

Expr GradientContext::shaped_like(const Expr& gradient, size_t i) const {
  return builder.op("Reshape", {gradient, shape_of(i)}, {{"allowzero", int64_t{1}}});
}

Expr GradientContext::sum_to(const Expr& gradient, size_t i) const {
  if (!gradient) return gradient;
  if (!know_shapes()) return builder.op("minnow.SumTo", {gradient, shape_of(i)});
  std::vector<Shape> shapes;
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) shapes.push_back(node.input_shape(k));
  const Shape from = broadcast_shapes(node, shapes), to = node.input_shape(i);
  if (from == to) return gradient;
  Ints axes;
  const size_t added = from.rank() - to.rank();
  for (size_t k = 0; k < from.rank(); ++k)
    if (k < added || (to[k - added] == 1 && from[k] != 1)) axes.push_back(static_cast<int64_t>(k));
  const Expr sum = axes.empty() ? gradient : builder.op("ReduceSum", {gradient, builder.constant(axes)}, {{"keepdims", int64_t{1}}});
  return added ? shaped_like(sum, i) : sum;
}

Exprs gradient_node(const GradientContext& c, std::string_view op, const Exprs& inputs, const Attributes& attributes) {
  Graph& graph = c.builder.graph();
  std::vector<Value*> values;
  for (const Expr& input : inputs) values.push_back(input.value());
  std::vector<std::string> names(OperatorSet::builtin().find(op)->outputs.size());
  for (size_t i = 0; i < names.size(); ++i)
    if (c.wants(i)) names[i] = graph.fresh_name("gradient");
  const Node& made = graph.add_node(std::string(op), values, names, attributes);
  Exprs gradients(c.inputs.size());
  for (size_t i = 0; i < names.size(); ++i)
    if (made.output(i)) {
      made.output(i)->type.dtype = c.node.input_dtype(i);
      gradients[i] = c.builder.wrap(made.output(i));
    }
  return gradients;
}

Exprs zero_gradient(const GradientContext& c) { return Exprs(c.inputs.size()); }

Exprs reshape_gradient(const GradientContext& c) {
  Exprs made(c.inputs.size());
  made[0] = c.shaped_like(c.output_gradient(0), 0);
  return made;
}

Expr greater(const Expr& a, double b) { return a.builder().op("Greater", {a, a.builder().scalar_like(b, a)}); }
Expr less(const Expr& a, double b) { return a.builder().op("Less", {a, a.builder().scalar_like(b, a)}); }
Expr where(const Expr& condition, const Expr& a) { return select(condition, a, a.builder().scalar_like(0, a)); }

Exprs moved_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  const Expr flat = b.constant({int64_t{-1}});
  if (!c.knows_shape(0))
    throw Unsupported("{}: the gradient of {} needs the shape of its input before the run", c.node.where(), c.node.op());
  const int64_t elements = c.node.input_shape(0).elements();
  const Expr numbers =
      b.op("Range", {b.scalar(0, DType::i64), b.scalar(static_cast<double>(elements), DType::i64), b.scalar(1, DType::i64)});
  Exprs inputs = c.inputs;
  inputs[0] = b.op("Reshape", {numbers, c.shape_of(0)}, {{"allowzero", int64_t{1}}});
  const Expr places = b.op(c.node.op(), inputs, c.node.node().attributes);
  const Expr none = zeros(b.constant({elements}), c.node.input_dtype(0));
  const Expr sums = b.op("ScatterElements", {none, b.op("Reshape", {places, flat}), b.op("Reshape", {c.output_gradient(0), flat})},
                         {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  Exprs made(c.inputs.size());
  made[0] = c.shaped_like(sums, 0);
  return made;
}

namespace {

/// Adds nodes for a decomposition and goes back through them.
class Parts {
 public:
  Parts(const OperatorSet& operators, GraphBuilder& builder) : operators_(operators), builder_(builder) {}

  /// Empty where the operator has no decomposition for this case.
  Exprs gradients(const Operator& op, const GradientContext& c, Decompose decompose) {
    std::vector<ValueInfo> outputs(c.node.output_count());
    std::vector<const ValueInfo*> known;
    for (size_t i = 0; i < c.inputs.size(); ++i) known.push_back(c.node.has_input(i) ? &c.node.input(i) : nullptr);
    std::vector<const ValueInfo*> made;
    for (const ValueInfo& output : outputs) made.push_back(&output);
    Exprs results;
    try {
      infer_outputs(op, NodeView(c.node.node(), known, {}, &op), outputs);
      results = decompose(NodeView(c.node.node(), known, made, &op), builder_, c.inputs);
    } catch (const NeedsContents&) {
      return {};
    }
    if (results.empty()) return {};
    for (size_t i = 0; i < c.inputs.size(); ++i)
      if (c.inputs[i]) infos_[c.inputs[i].value()] = known[i], reaches_[c.inputs[i].value()] = c.wants(i);
    const std::vector<const Node*> nodes = nodes_of(results);
    for (const Node* node : nodes) look_at(*node);
    for (size_t i = 0; i < results.size() && i < c.output_gradients.size(); ++i)
      if (results[i] && c.output_gradients[i]) add(results[i].value(), c.output_gradients[i]);
    for (size_t i = nodes.size(); i-- > 0;) go_back(*nodes[i]);
    Exprs gradients(c.inputs.size());
    for (size_t i = 0; i < gradients.size(); ++i)
      if (c.inputs[i] && c.wants(i)) gradients[i] = sums_[c.inputs[i].value()];
    return gradients;
  }

 private:
  const ValueInfo* info_of(const Value* value) {
    const ValueInfo*& info = infos_[value];
    if (!info && value->constant()) {
      ValueInfo made;
      made.dtype = value->constant()->dtype();
      made.shape = value->constant()->shape();
      made.contents = *value->constant();
      info = &kept_.emplace_back(std::move(made));
    }
    return info;
  }

  /// The nodes that make `results` of the inputs, in order.
  std::vector<const Node*> nodes_of(const Exprs& results) {
    std::vector<const Node*> nodes;
    std::unordered_set<const Node*> seen;
    std::vector<std::pair<const Node*, size_t>> open;
    const auto enter = [&](const Value* value) {
      if (value && value->producer() && !infos_.contains(value) && seen.insert(value->producer()).second)
        open.emplace_back(value->producer(), 0);
    };
    for (const Expr& result : results) {
      enter(result.value());
      while (!open.empty()) {
        auto& [node, next] = open.back();
        if (next < node->input_count()) {
          enter(node->input(next++));
        } else {
          nodes.push_back(node);
          open.pop_back();
        }
      }
    }
    return nodes;
  }

  std::vector<const ValueInfo*> inputs_of(const Node& node) {
    std::vector<const ValueInfo*> infos;
    for (size_t i = 0; i < node.input_count(); ++i) infos.push_back(node.input(i) ? info_of(node.input(i)) : nullptr);
    return infos;
  }

  void look_at(const Node& node) {
    const Operator* op = operators_.find(node.op());
    MINNOW_CHECK(op, "a decomposition consists of operators that exist");
    std::vector<ValueInfo> outputs(node.output_count());
    const std::vector<const ValueInfo*> inputs = inputs_of(node);
    infer_outputs(*op, NodeView(node, inputs, {}, op), outputs);
    bool reaches = false;
    for (size_t i = 0; i < node.input_count(); ++i) reaches = reaches || (node.input(i) && reaches_[node.input(i)]);
    for (size_t i = 0; i < node.output_count(); ++i) {
      if (!node.output(i)) continue;
      reaches_[node.output(i)] = reaches && is_float(outputs[i].dtype);
      infos_[node.output(i)] = &kept_.emplace_back(std::move(outputs[i]));
    }
  }

  void add(const Value* value, const Expr& gradient) {
    Expr& sum = sums_[value];
    sum = sum ? sum + gradient : gradient;
  }

  void go_back(const Node& node) {
    const std::vector<const ValueInfo*> infos = inputs_of(node);
    const Operator& op = *operators_.find(node.op());
    const NodeView view(node, infos, {}, &op);
    bool flows = false;
    Exprs inputs, outputs, gradients;
    std::vector<bool> wanted;
    for (size_t i = 0; i < node.output_count(); ++i) {
      outputs.push_back(builder_.wrap(node.output(i)));
      gradients.push_back(node.output(i) ? sums_[node.output(i)] : Expr());
      flows = flows || gradients.back();
    }
    bool asked = false;
    for (size_t i = 0; i < node.input_count(); ++i) {
      inputs.push_back(builder_.wrap(node.input(i)));
      wanted.push_back(node.input(i) && reaches_[node.input(i)]);
      asked = asked || wanted.back();
    }
    if (!flows || !asked) return;
    const Exprs made = input_gradients(operators_, op, {view, builder_, inputs, outputs, gradients, wanted});
    for (size_t i = 0; i < made.size() && i < inputs.size(); ++i)
      if (made[i] && wanted[i]) add(node.input(i), made[i]);
  }

  const OperatorSet& operators_;
  GraphBuilder& builder_;
  std::deque<ValueInfo> kept_;
  std::unordered_map<const Value*, const ValueInfo*> infos_;
  std::unordered_map<const Value*, bool> reaches_;
  std::unordered_map<const Value*, Expr> sums_;
};

}  // namespace

Exprs gradient_through(const GradientContext& c, Decompose parts) {
  if (!c.know_shapes())
    throw Unsupported("{}: the gradient of {} needs the shapes of its inputs before the run", c.node.where(), c.node.op());
  return Parts(OperatorSet::builtin(), c.builder).gradients(*c.node.definition(), c, parts);
}

Exprs input_gradients(const OperatorSet& operators, const Operator& op, const GradientContext& c) {
  if (op.gradient) return op.gradient(c);
  const bool moves = moves_data(op.elements) && op.inputs[0].arity != Arity::variadic;
  if (op.decompose || moves) {
    if (!c.know_shapes())
      throw Unsupported("{}: the gradient of {} needs the shapes of its inputs, which are not known before the run", c.node.where(),
                        op.name);
    if (moves) return moved_gradient(c);
    Parts parts(operators, c.builder);
    Exprs made = parts.gradients(op, c, op.decompose);
    if (!made.empty()) return made;
  }
  throw Unsupported("{}: {} has no gradient", c.node.where(), op.name);
}

#else

Exprs input_gradients(const OperatorSet&, const Operator& op, const GradientContext& c) {
  throw Unsupported("{}: {} has no gradient in this build (MINNOW_GRADIENTS)", c.node.where(), op.name);
}

#endif

}  // namespace minnow
