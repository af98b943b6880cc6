// SPDX-License-Identifier: Apache-2.0
// Graphs of many outputs, inputs, nodes or constants.
#include <gtest/gtest.h>

#include <ctime>

#include "passes/pipeline.h"
#include "support/series.h"

namespace minnow {
namespace {

constexpr DType kDType = DType::f32;

std::unique_ptr<Graph> large_graph(std::string_view kind, size_t count) {
  auto graph = std::make_unique<Graph>();
  Value& x = graph->add_input("x", ValueType::tensor(kDType, kind == "transposed" ? Shape{2, 3} : Shape{2}));
  Value* constant = &graph->add_constant(Tensor::of_f32({2}, std::vector<float>{1, 2}), "c");
  Value* before = kind == "transposed" ? graph->add_node("Transpose", {&x}, 1, {{"perm", Ints{1, 0}}}).output(0) : &x;
  std::vector<Value*> parts;
  for (size_t i = 0; i < count; ++i) {
    const std::string output[] = {"y" + std::to_string(i)};
    const bool folded = kind == "folded outputs";
    std::vector<Value*> inputs = {folded ? constant : before};
    if (folded) inputs.push_back(constant);
    if (kind == "factors")
      inputs.push_back(&graph->add_constant(Tensor::of_f32({2}, std::vector<float>{static_cast<float>(i), 2}), "c" + std::to_string(i)));
    if (kind == "inputs") inputs = {&graph->add_input("x" + std::to_string(i), ValueType::tensor(kDType, Shape{2}))};
    const char* op = folded ? "Add" : kind == "identities" ? "Identity" : kind == "factors" ? "Mul" : i % 2 ? "Sigmoid" : "Tanh";
    Node& node = graph->add_node(op, inputs, output);
    if (kind == "chain") before = node.output(0);
    if (kind == "inputs" || kind == "factors")
      parts.push_back(node.output(0));
    else
      graph->add_output(*node.output(0));
  }
  if (!parts.empty()) {
    const std::string output[] = {"y"};
    graph->add_output(*graph->add_node("Sum", parts, output).output(0));
  }
  return graph;
}

/// Processor time, so that other work on the machine does not disturb.
double seconds(std::string_view kind, size_t count) {
  const auto graph = large_graph(kind, count);
  const std::clock_t start = std::clock();
  optimize(*graph, OperatorSet::builtin());
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Four times as many nodes take 16 times as long where a pass looks at all pairs.
TEST(LargeGraphs, time_grows_with_the_number_of_nodes) {
  for (const std::string_view kind : {"outputs", "folded outputs", "identities", "transposed", "chain", "inputs", "factors"}) {
    const size_t count = 4000 / test::one_in();
    const double few = seconds(kind, count);
    EXPECT_LT(seconds(kind, 4 * count), 9 * few + 0.1) << kind;
  }
}

}  // namespace
}  // namespace minnow
