// SPDX-License-Identifier: Apache-2.0
// Custom operators from a shared library that another compiler built (see tests/CMakeLists.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>

#include "graph/expr.h"
#include "support/paths.h"

namespace minnow {
namespace {

using ::testing::HasSubstr;

std::string library() { return (test::binary_dir() / "lib" / "libcustom_operators.so").string(); }

std::unique_ptr<Graph> graph_with_custom_operators() {
  auto graph = std::make_unique<Graph>();
  graph->source = "custom";
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {4})));
  const Expr limit = b.wrap(&graph->add_input("limit", ValueType::tensor(DType::f32, Shape{})));
  b.set_stem("keep");
  const Expr y = b.op("com.example.KeepLarge", {op("com.example.Swish", {x}, {{"beta", 2.0f}}), limit});
  y.value()->type.dtype = DType::f32;
  graph->add_output(*(y + 1.0).value());
  return graph;
}

TEST(CustomOperators, run_shapes_that_depend_on_data_included) {
  const Model model = Model::from_graph(graph_with_custom_operators(), load_operators({library()}));
  SessionOptions options;
  options.backends = {"reference"};
  Session session(model, options);
  const float x[] = {-1, 0, 1, 2};
  const auto swish = [](float v) { return v / (1 + std::exp(-2 * v)); };
  const auto run = [&](float limit) { return session.run({TensorView(DType::f32, {4}, x), Tensor::scalar_f32(limit)})[0]; };
  const Tensor y = run(0.5f);
  ASSERT_EQ(y.shape(), Shape{2});
  EXPECT_FLOAT_EQ(y.data<float>()[0], swish(1) + 1);
  EXPECT_FLOAT_EQ(y.data<float>()[1], swish(2) + 1);
  EXPECT_EQ(run(-1).shape(), Shape{4});
  EXPECT_EQ(run(100).shape(), Shape{0});
  try {
    run(NAN);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("custom: node \"keep\" (com.example.KeepLarge): the limit is not a number"));
  }
  EXPECT_EQ(run(0.5f).shape(), Shape{2});
}

TEST(CustomOperators, are_named_where_they_are_missing) {
  const Tensor x(DType::f32, {4});
  try {
    SessionOptions options;
    options.backends = {"reference"};
    Session session(Model::from_graph(graph_with_custom_operators()), options);
    session.run({x, Tensor::scalar_f32(0)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("com.example.Swish"));
  }
  EXPECT_THROW(load_operators({"nowhere.so"}), Error);
}

}  // namespace
}  // namespace minnow
