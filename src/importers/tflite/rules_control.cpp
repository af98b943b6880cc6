// SPDX-License-Identifier: Apache-2.0
// Subgraphs, variables, random numbers, and complex numbers (f32 pairs along a new last dimension).
#include "importers/tflite/rules.h"

namespace minnow::tflite {

Exprs import_if(TfliteNode& node, TypedBuilder&) {
  return node.host.branch(node, node.input(0), node.option<int32_t>(0, 0), node.option<int32_t>(1, 0));
}
Exprs import_while(TfliteNode& node, TypedBuilder&) { return node.host.loop(node, node.option<int32_t>(0, 0), node.option<int32_t>(1, 0)); }
/// A layer by name, with a subgraph that computes it: name 0, subgraph 1.
Exprs import_composite(TfliteNode& node, TypedBuilder&) { return node.host.inlined(node, node.option<int32_t>(1, 0)); }
Exprs import_call(TfliteNode& node, TypedBuilder&) { return node.host.inlined(node, node.option<uint32_t>(0, 0)); }
Exprs import_call_once(TfliteNode& node, TypedBuilder&) {
  node.host.run_once(node, node.option<int32_t>(0, 0));
  return {};
}

Exprs import_var_handle(TfliteNode& node, TypedBuilder&) {
  node.host.name_resource(node);
  return {};
}
Exprs import_read_variable(TfliteNode& node, TypedBuilder&) { return {node.host.read_resource(node)}; }
Exprs import_assign_variable(TfliteNode& node, TypedBuilder&) {
  node.host.assign_resource(node);
  return {};
}

Exprs import_random(TfliteNode& node, TypedBuilder& p) {
  const Expr like = p.fill(node.input(0), 0, DType::f32);
  Attributes attributes;
  const auto seed = [&](size_t field) { return static_cast<uint64_t>(node.options().number<int64_t>(field, 0)); };
  if (seed(0) != 0 || seed(1) != 0) attributes.set("seed", static_cast<float>((seed(0) * 1000003 + seed(1)) & 0xffffff));
  return {p.op(node.rule->target, {like}, std::move(attributes))};
}
Exprs import_multinomial(TfliteNode& node, TypedBuilder& p) {
  return {p.op("Multinomial", {node.input(0)}, {{"sample_size", node.integer(1)}, {"dtype", static_cast<int64_t>(DType::i64)}})};
}

Exprs import_rfft2d(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), lengths = p.i64(node.input(1));
  const int64_t rank = p.rank(x);
  if (rank < 2) node.refuse("a tensor of {} dimensions is not supported", rank);
  const auto length = [&](int64_t i) {
    if (const auto known = p.ints(lengths)) return p.scalar(static_cast<double>(known->at(static_cast<size_t>(i))), DType::i64);
    return p.reshape(p.slice(lengths, {i}, {i + 1}, {0}), Ints{});
  };
  const auto known = p.ints(lengths);
  if (known && known->size() != 2) node.fail("has {} lengths", known->size());
  // DFT wants a batch in front.
  const Expr pairs = p.unsqueeze(rank == 2 ? p.unsqueeze(x, {0}) : x, {-1});
  const int64_t axes = rank == 2 ? 3 : rank;
  const Expr rows = p.op("DFT", {pairs, length(1), p.scalar(static_cast<double>(axes - 1), DType::i64)}, {{"onesided", int64_t{1}}});
  const Expr both = p.op("DFT", {rows, length(0), p.scalar(static_cast<double>(axes - 2), DType::i64)});
  return {rank == 2 ? p.squeeze(both, {0}) : both};
}

namespace {

Expr part_of(TfliteNode& node, TypedBuilder& p, int64_t part) {
  if (!node.input_info(0).is_complex()) node.fail("its input is not complex");
  return p.gather(node.input(0), p.scalar(static_cast<double>(part), DType::i64), -1);
}

}  // namespace

Exprs import_real(TfliteNode& node, TypedBuilder& p) { return {part_of(node, p, 0)}; }
Exprs import_imag(TfliteNode& node, TypedBuilder& p) { return {part_of(node, p, 1)}; }
Exprs import_complex_abs(TfliteNode& node, TypedBuilder& p) {
  return {p.op("ReduceL2", {node.input(0), p.constant({-1})}, {{"keepdims", int64_t{0}}})};
}

}  // namespace minnow::tflite
