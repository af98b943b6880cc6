// SPDX-License-Identifier: Apache-2.0
// Each operator that says it is fusible: the pass takes it, the kernel of fused nodes computes it, and numbers are the reference's.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>

#include "graph/expr.h"
#include "ops/evaluate.h"
#include "passes/pipeline.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

// y = op(x ...) | z, or op(x ...) + z, so that there are two nodes to fuse.
struct Fused {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<Tensor> inputs;

  Value* add(DType dtype, const std::vector<double>& values) {
    const Shape shape{static_cast<int64_t>(values.size())};
    inputs.push_back(tensor(dtype, shape, values));
    return &graph->add_input("x" + std::to_string(inputs.size() - 1), ValueType::tensor(dtype, shape));
  }
};

std::vector<double> samples(const Operator& op, size_t seed) {
  if (!contains(op.inputs[0].dtypes, DType::f32)) return {0, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0};
  std::vector<double> values;
  for (int i = 0; i < 117; ++i) values.push_back(std::fmod((i + 1) * (seed ? 0.37 : 0.61), 1.9) * (i % 2 && op.name != "Pow" ? -1 : 1));
  return values;
}

Fused node_of(const Operator& op, Attributes attributes) {
  Fused made;
  const bool boolean = !contains(op.inputs[0].dtypes, DType::f32);
  std::vector<Value*> arguments;
  for (size_t i = 0; i < op.inputs.size() && op.inputs[i].arity != Arity::optional; ++i) {
    std::vector<double> values = samples(op, i);
    if (op.name == "IsInf" || op.name == "IsNaN") values[3] = INFINITY, values[4] = -INFINITY, values[5] = NAN;
    if (op.name == "Where") values.resize(17, 1);
    arguments.push_back(made.add(boolean && !(op.name == "Where" && i > 0) ? DType::boolean : DType::f32, values));
    if (op.inputs[i].arity == Arity::variadic) arguments.push_back(made.add(DType::f32, samples(op, 1)));
  }
  const std::string output[] = {"middle"};
  Value* middle = made.graph->add_node(op.name, arguments, output, std::move(attributes)).output(0);
  const bool makes_boolean = op.outputs[0].dtype.kind == DTypeRule::Kind::fixed || (boolean && op.name != "Where");
  middle->type = ValueType::tensor(makes_boolean ? DType::boolean : DType::f32, made.inputs[0].shape());
  const std::string last[] = {"y"};
  Value* y = made.graph->add_node(makes_boolean ? "Not" : "Neg", std::vector<Value*>{middle}, last, {}).output(0);
  y->type = middle->type;
  made.graph->add_output(*y);
  return made;
}

void expect_fused_equals_reference(const Operator& op, Attributes attributes = {}) {
  SCOPED_TRACE(op.name);
  Fused made = node_of(op, std::move(attributes));
  std::vector<Datum> data(made.inputs.begin(), made.inputs.end());
  const Tensor expected = evaluate(OperatorSet::builtin(), *made.graph, data)[0].tensor;
  run_pass("fuse_elementwise", *made.graph, OperatorSet::builtin());
  ASSERT_EQ(made.graph->node_count(), 1u);
  EXPECT_EQ(made.graph->first()->op(), "minnow.FusedElementwise");
  SessionOptions options;
  options.threads = 1;
  Session session(Model::from_graph(std::move(made.graph)), options);
  const std::vector<TensorView> given(made.inputs.begin(), made.inputs.end());
  const Tensor y = session.run(given)[0];
  EXPECT_TRUE(near(y, expected.shape(), numbers(expected), 1e-4));
  const PlanReport report = session.plan_report();
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_TRUE(report.rows[0].scheme.starts_with("elementwise")) << report.rows[0].scheme;
}

TEST(FusedElementwise, holds_every_fusible_operator) {
  size_t tested = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    if (!op->fusible) continue;
    Attributes attributes;
    if (op->name == "Cast") attributes.set("to", static_cast<int64_t>(DType::f32));
    expect_fused_equals_reference(*op, attributes);
    ++tested;
  }
  EXPECT_EQ(tested, 61u);
}

TEST(FusedElementwise, holds_IsInf_of_one_sign) {
  for (const auto& [negative, positive] : {std::pair(0, 1), {1, 0}, {0, 0}})
    expect_fused_equals_reference(*OperatorSet::builtin().find("IsInf"),
                                  {{"detect_negative", int64_t{negative}}, {"detect_positive", int64_t{positive}}});
}

}  // namespace
}  // namespace minnow::test
