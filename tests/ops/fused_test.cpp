// SPDX-License-Identifier: Apache-2.0
// A fused operator means the chain of operators that it decomposes into; each chain's parts have tests with numbers of their own.
#include <gmock/gmock.h>

#include <memory>

#include "graph/activation.h"
#include "graph/expr.h"
#include "ops/infer.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

std::vector<Activation> activations() {
  return {*Activation::named(""),
          *Activation::named("Relu"),
          *Activation::named("Clip", -0.5f, 1.25f),
          *Activation::named("LeakyRelu", 0.1f),
          *Activation::named("Sigmoid"),
          *Activation::named("HardSigmoid", 0.2f, 0.5f),
          *Activation::named("HardSwish"),
          *Activation::named("Tanh"),
          *Activation::named("Swish"),
          *Activation::named("Gelu")};
}

/// One node with those attributes and that activation, by its reference and by its decomposition.
void expect_agreement(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  for (const Activation& activation : activations()) {
    Attributes all = attributes;
    activation.write(all);
    const Tensor expected = run_decomposition(op, inputs, all)[0];
    EXPECT_TRUE(near(run_operator(op, inputs, all)[0], expected.shape(), numbers(expected))) << op << " " << activation.name();
  }
}

TEST(FusedConv, is_its_decomposition) {
  const Tensor x = pattern({2, 4, 5, 4}), w = pattern({6, 2, 3, 2}, 5), b = pattern({6}, 3), z = pattern({2, 6, 3, 3}, 2);
  const Attributes attributes{{"group", int64_t{2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 0}}};
  expect_agreement("minnow.FusedConv", {x, w}, attributes);
  expect_agreement("minnow.FusedConv", {x, w, b}, attributes);
  expect_agreement("minnow.FusedConv", {x, w, b, z}, attributes);
  expect_agreement("minnow.FusedConv", {x, w, Tensor(), z}, attributes);
}

TEST(FusedConv, numbers) {
  // (1 * 2 + 0.5 - 4) = -1.5, (3 * 2 + 0.5 + 4) = 10.5; LeakyRelu with slope 0.5.
  const Tensor y = run_operator("minnow.FusedConv",
                                {tensor(DType::f32, {1, 1, 2}, {1, 3}), tensor(DType::f32, {1, 1, 1}, {2}), tensor(DType::f32, {1}, {0.5}),
                                 tensor(DType::f32, {1, 1, 2}, {-4, 4})},
                                {{"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.5f}})[0];
  EXPECT_TRUE(near(y, {1, 1, 2}, {-0.75, 10.5}));
}

TEST(FusedMatMul, is_its_decomposition) {
  const Tensor bias = pattern({4}, 3);
  expect_agreement("minnow.FusedMatMul", {pattern({3, 2}), pattern({2, 4}, 5), bias, pattern({3, 4}, 2)}, {});
  expect_agreement("minnow.FusedMatMul", {pattern({2, 3}), pattern({4, 2}, 5), bias},
                   {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5f}});
  expect_agreement("minnow.FusedMatMul", {pattern({2, 3, 2}), pattern({2, 4}, 5), bias, pattern({2, 3, 4}, 2)}, {{"alpha", 2.0f}});
  expect_agreement("minnow.FusedMatMul", {pattern({2, 1, 2, 3}), pattern({2, 4, 2}, 5), pattern({2, 1, 3, 1}), pattern({2, 2, 3, 4}, 2)},
                   {{"transA", int64_t{1}}, {"transB", int64_t{1}}});
  expect_agreement("minnow.FusedMatMul", {pattern({2}), pattern({2, 4}, 5), bias}, {});
}

TEST(FusedConv, wrong_attributes_and_shapes) {
  const Tensor x = pattern({1, 1, 2, 2}), w = pattern({1, 1, 1, 1});
  EXPECT_THAT(error_of("minnow.FusedConv", {x, w}, {{"activation", std::string("Softmax")}}), HasSubstr("no activation \"Softmax\""));
  EXPECT_THAT(error_of("minnow.FusedConv", {x, w, Tensor(), pattern({1, 1, 2, 1})}), HasSubstr("Z should have shape [1, 1, 2, 2]"));
  EXPECT_THAT(error_of("minnow.FusedMatMul", {pattern({2, 2}), pattern({2, 2}), pattern({3, 2, 2})}), HasSubstr("bias"));
  EXPECT_THAT(error_of("minnow.FusedMatMul", {pattern({2, 2}), pattern({2, 2}), pattern({2}, 3, DType::f64)}), HasSubstr("f64"));
}

/// max(a * b + 2, 0) over inputs a and b.
Subgraph body() {
  auto graph = std::make_shared<Graph>();
  GraphBuilder builder(*graph);
  const Expr a = builder.wrap(&graph->add_input("a", ValueType::tensor(DType::f32))),
             b = builder.wrap(&graph->add_input("b", ValueType::tensor(DType::f32)));
  graph->add_output(*op("Relu", {a * b + 2.0}).value());
  return graph;
}

TEST(FusedElementwise, inlines_its_body) {
  const Tensor y = run_operator("minnow.FusedElementwise", {tensor(DType::f32, {2, 1}, {1, -3}), tensor(DType::f32, {3}, {0, 1, 2})},
                                {{"body", body()}})[0];
  EXPECT_TRUE(near(y, {2, 3}, {2, 3, 4, 2, 0, 0}));
}

TEST(FusedElementwise, types_are_known_where_shapes_are_not) {
  const auto graph = parse_graph(R"(graph {
    input x: f32
    input z: f32
    y = minnow.FusedElementwise(x, z) {body = graph {
      input a: f32
      input b: f32
      c = Mul(a, b)
      d = Add(c, a)
      e = Less(d, b)
      output e
    }}
    output y
  })");
  infer_types(OperatorSet::builtin(), *graph);
  EXPECT_EQ(graph->outputs()[0]->type.dtype, DType::boolean);
}

TEST(FusedElementwise, refuses_other_bodies) {
  const Tensor x = pattern({2});
  EXPECT_THAT(error_of("minnow.FusedElementwise", {x}, {{"body", body()}}), HasSubstr("the body should have 1 inputs"));
  EXPECT_THAT(error_of("minnow.FusedElementwise", {x, x}), HasSubstr("attribute \"body\" is missing"));
  const Subgraph product = body();
  product->set_output(
      0, *GraphBuilder(*product)
              .op("MatMul", {GraphBuilder(*product).wrap(product->outputs()[0]), GraphBuilder(*product).wrap(product->outputs()[0])})
              .value());
  EXPECT_THAT(error_of("minnow.FusedElementwise", {x, x}, {{"body", product}}),
              HasSubstr("operator MatMul in the body is not elementwise"));
  const Subgraph large = body();
  large->set_output(0, *(GraphBuilder(*large).wrap(large->outputs()[0]) + GraphBuilder(*large).constant({1, 2})).value());
  EXPECT_THAT(error_of("minnow.FusedElementwise", {x, x}, {{"body", large}}), HasSubstr("should be a scalar"));
}

}  // namespace
}  // namespace minnow::test
