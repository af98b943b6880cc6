// SPDX-License-Identifier: Apache-2.0
// Softmax, normalizations, recurrent layers, Scan.
#include <cmath>

#include "base/memory.h"
#include "base/saturating.h"
#include "importers/onnx/rules.h"
#include "passes/inline_graph.h"

namespace minnow::onnx {

Expr softmax_1(OnnxNode& node, GraphBuilder& g, std::string_view op, const Expr& x, int64_t axis) {
  const int64_t rank = node.rank(x);
  if (rank >= 0 && axis < 0) axis += rank;
  bool last = axis == -1 || (rank >= 0 && axis == rank - 1);
  if (!last && axis >= 0 && rank >= 0 && x.value()->type.dims) {
    // If all later dimensions are 1, this is the same as along the axis alone.
    last = true;
    for (int64_t i = axis + 1; i < rank; ++i) last = last && (*x.value()->type.dims)[static_cast<size_t>(i)].size == 1;
  }
  if (last) return g.op(op, {x}, {{"axis", axis}});
  const Expr flat = g.op("Flatten", {x}, {{"axis", axis}});
  return g.op("Reshape", {g.op(op, {flat}, {{"axis", int64_t{1}}}), shape_of(x)});
}

Exprs import_softmax_1(OnnxNode& node, GraphBuilder& g) {
  return {softmax_1(node, g, node.op, node.required_input(0), node.integer("axis", 1))};
}

namespace {

/// BatchNormalization before opset 14. More than one output used to mean training; settle_training() decides that afterwards.
Exprs batch_normalization(OnnxNode& node, GraphBuilder& g) {
  Attributes attributes{{"epsilon", node.real("epsilon", 1e-5f)}, {"momentum", node.real("momentum", 0.9f)}};
  if (node.outputs.size() <= 1) return node.make("BatchNormalization", node.inputs, std::move(attributes));
  attributes.set("training_mode", int64_t{1});
  const Expr x = node.required_input(0);
  const Exprs made = g.ops("BatchNormalization", node.inputs, 3, std::move(attributes));
  Exprs outputs = {made[0], made[1], made[2]};
  if (node.outputs.size() > 3) {
    // The statistics of this batch, over everything but the channels.
    const Expr flat = g.op("Reshape", {x, g.constant({0, 0, -1})});
    const Expr axes = g.constant({0, 2});
    const Expr mean = g.op("ReduceMean", {flat, axes});
    const Expr centred = flat - mean;
    outputs.push_back(g.op("Reshape", {mean, g.constant({-1})}));
    outputs.push_back(g.op("ReduceMean", {centred * centred, axes}, {{"keepdims", int64_t{0}}}));
  }
  return outputs;
}

}  // namespace

Exprs import_batch_normalization_1(OnnxNode& node, GraphBuilder& g) {
  if (!node.integer("is_test", 0) && node.outputs.size() <= 1) node.warn("training mode is read as inference");
  if (node.integer("is_test", 0)) node.outputs.resize(1);
  return import_batch_normalization_7(node, g);
}

Exprs import_batch_normalization_7(OnnxNode& node, GraphBuilder& g) {
  if (node.integer("spatial", 1)) return batch_normalization(node, g);
  // Statistics for every place of a channel: [C, D1, ...], which broadcast over the batch.
  if (node.outputs.size() > 1) node.refuse("training with statistics for every place is not supported");
  const Expr x = node.required_input(0), variance = node.required_input(4);
  const Expr deviation = g.op("Sqrt", {variance + node.scalar_like(static_cast<double>(node.real("epsilon", 1e-5f)), variance)});
  return {(x - node.required_input(3)) / deviation * node.required_input(1) + node.required_input(2)};
}

Exprs import_batch_normalization_9(OnnxNode& node, GraphBuilder& g) { return batch_normalization(node, g); }

Exprs import_group_normalization_18(OnnxNode& node, GraphBuilder& g) {
  // Scale and bias were one a group, and are one a channel.
  const Expr x = node.required_input(0);
  const int64_t groups = node.require<int64_t>("num_groups");
  if (groups < 1) node.fail("attribute \"num_groups\" is {}", groups);
  const Expr group_count = g.constant({groups});
  const Expr channels = g.op("Slice", {shape_of(x), g.constant({1}), g.constant({2})});
  const Expr shape = g.op("Concat", {group_count, channels / group_count}, {{"axis", int64_t{0}}});
  const auto spread = [&](size_t i) {
    const Expr column = reshaped(node.required_input(i), {groups, 1});
    return g.op("Reshape", {g.op("Expand", {column, shape}), g.constant({-1})});
  };
  const Expr scale = spread(1), bias = spread(2);
  return node.make("GroupNormalization", {x, scale, bias}, node.attributes);
}

Exprs import_gemm_1(OnnxNode& node, GraphBuilder&) {
  node.attributes.remove("broadcast");
  return node.copy();
}

Exprs import_lp_pool_1(OnnxNode& node, GraphBuilder&) {
  if (const float* p = node.attributes.get<float>("p")) {
    const int64_t whole = *p > 0 && *p < 1000 ? static_cast<int64_t>(*p) : 0;
    if (static_cast<float>(whole) != *p) node.refuse("attribute \"p\" is {}, only whole numbers are supported", *p);
    node.attributes.set("p", whole);
  }
  return node.copy();
}

Exprs import_recurrent_1(OnnxNode& node, GraphBuilder&) {
  node.attributes.remove("output_sequence");
  return node.copy();
}

Exprs import_scan_8(OnnxNode& node, GraphBuilder& g) {
  // Opset 8 scanned each element of a batch by itself, and had lengths as input 0. Here: a scan over the batch, without states, around the
  // scan of one element, which is today's.
  if (node.has_input(0)) node.refuse("sequence lengths of Scan are not supported");
  const Subgraph body = node.require<Subgraph>("body");
  const int64_t scanned = node.require<int64_t>("num_scan_inputs");
  if (node.inputs.empty()) node.fail("has no inputs");
  Exprs inputs(node.inputs.begin() + 1, node.inputs.end());
  if (body->inputs().size() != inputs.size() || body->outputs().size() < node.outputs.size())
    node.fail("its body has {} inputs and {} outputs, the node has {} and {}", body->inputs().size(), body->outputs().size(), inputs.size(),
              node.outputs.size());
  auto element = std::make_shared<Graph>();
  element->outer = &g.graph();
  element->source = g.graph().source;
  std::vector<Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) node.fail("input {} is missing", i + 1);
    values.push_back(&element->add_input(element->fresh_name(body->inputs()[i]->name()), ValueType::tensor(body->inputs()[i]->type.dtype)));
  }
  std::vector<std::string> names;
  for (const Value* output : body->outputs()) names.push_back(element->fresh_name(output->name()));
  Attributes attributes{{"body", body}, {"num_scan_inputs", scanned}};
  if (const Ints directions = node.integers("directions"); !directions.empty()) attributes.set("scan_input_directions", directions);
  Node& inner = element->add_node("Scan", values, names, std::move(attributes), node.name);
  for (size_t i = 0; i < inner.output_count(); ++i) {
    inner.output(i)->type.dtype = body->outputs()[i]->type.dtype;
    element->add_output(*inner.output(i));
  }
  return node.make("Scan", inputs, {{"body", Subgraph(element)}, {"num_scan_inputs", static_cast<int64_t>(inputs.size())}});
}

namespace {

/// Applies the graph stored in an attribute, with one input and one output, to x. Returns x if the attribute is absent.
Expr modified(OnnxNode& node, GraphBuilder& g, std::string_view attribute, const Expr& x) {
  if (!node.has_attribute(attribute)) return x;
  const Subgraph body = node.require<Subgraph>(attribute);
  if (!body || body->inputs().size() != 1 || body->outputs().size() != 1)
    node.fail("the graph of attribute \"{}\" should have one input and one output", attribute);
  Value* const input = x.value();
  return g.wrap(inline_graph(*body, {&input, 1}, g.graph(), nullptr)[0]);
}

}  // namespace

Exprs import_flex_attention(OnnxNode& node, GraphBuilder& g) {
  // Y = prob_mod(softmax(score_mod(scale Q K^T))) V on [batch, heads, length, width], between softmax_precision's casts.
  const auto dim = [&](const Expr& x, size_t axis) {
    const auto& dims = x.value()->type.dims;
    return dims && dims->size() == 4 ? (*dims)[axis].size : -1;
  };
  const Expr q = node.required_input(0);
  Expr k = node.required_input(1), v = node.required_input(2);
  const int64_t heads = dim(q, 1), shared = dim(k, 1), width = dim(q, 3);
  if (heads < 0 || shared < 0 || width < 0) node.refuse("the numbers of heads and their width must be known");
  if (shared != heads) {
    if (shared == 0 || heads % shared != 0) node.fail("{} query heads cannot share {} key and value heads", heads, shared);
    const Charge table(product_of({static_cast<size_t>(heads), sizeof(int64_t)}));
    Ints own(static_cast<size_t>(heads));
    for (int64_t i = 0; i < heads; ++i) own[static_cast<size_t>(i)] = i / (heads / shared);
    const Expr indices = g.constant(own);
    k = g.op("Gather", {k, indices}, {{"axis", int64_t{1}}});
    v = g.op("Gather", {v, indices}, {{"axis", int64_t{1}}});
  }
  const DType dtype = node.dtype(q), usual = dtype == DType::f64 ? DType::f64 : DType::f32;
  const DType precise = static_cast<DType>(node.integer("softmax_precision", static_cast<int64_t>(usual)));
  if (precise != DType::f32 && precise != DType::f64 && precise != DType::f16 && precise != DType::bf16)
    node.fail("softmax_precision is {}, which is no floating type", static_cast<int64_t>(precise));
  const auto as = [&](const Expr& x, DType to) { return dtype == precise ? x : cast(x, to); };
  const float scale = node.real("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width)))));
  const Expr turned = g.op("Transpose", {k}, {{"perm", Ints{0, 1, 3, 2}}});
  Expr scores = as(g.op("MatMul", {q, turned}) * node.scalar_like(static_cast<double>(scale), q), precise);
  scores = modified(node, g, "score_mod", scores);
  const Expr weights = modified(node, g, "prob_mod", g.op("Softmax", {scores}, {{"axis", int64_t{-1}}}));
  return {as(g.op("MatMul", {weights, as(v, precise)}), dtype)};
}

}  // namespace minnow::onnx
