// SPDX-License-Identifier: Apache-2.0
// Values among the outputs of a graph and as next values of states.
#include <gtest/gtest.h>

#include "graph/graph.h"

namespace minnow {
namespace {

TEST(GraphOutputs, replacing_a_value_replaces_it_wherever_it_stands) {
  Graph graph;
  Value& x = graph.add_input("x", ValueType::tensor(DType::f32, {2}));
  Value& a = *graph.add_node("Relu", {&x}).output(0);
  Value& b = *graph.add_node("Neg", {&x}).output(0);
  Value& c = *graph.add_node("Abs", {&x}).output(0);
  for (Value* output : {&a, &b, &a, &c}) graph.add_output(*output);
  graph.add_state({"s", nullptr, &a, Tensor(DType::f32, {2})});
  graph.add_state({"t", nullptr, nullptr, Tensor(DType::f32, {2})});
  graph.set_state_next(1, b);

  b.replace_all_uses_with(c);
  EXPECT_TRUE(b.is_unused());
  EXPECT_EQ(graph.outputs(), (std::vector<Value*>{&a, &c, &a, &c}));
  EXPECT_EQ(graph.states()[1].next, &c);
  a.replace_all_uses_with(x);
  EXPECT_TRUE(a.is_unused());
  EXPECT_EQ(graph.outputs(), (std::vector<Value*>{&x, &c, &x, &c}));
  EXPECT_EQ(graph.states()[0].next, &x);
  graph.set_output(1, x);
  EXPECT_TRUE(c.is_graph_output());
  graph.set_output(3, x);
  EXPECT_TRUE(c.is_graph_output()) << "the next value of a state";
  graph.set_state_next(1, x);
  EXPECT_TRUE(c.is_unused());
  graph.replace_outputs({&c});
  EXPECT_TRUE(x.is_graph_output());
  c.replace_all_uses_with(b);
  EXPECT_EQ(graph.outputs(), (std::vector<Value*>{&b}));
  EXPECT_TRUE(c.is_unused());
}

TEST(GraphOutputs, an_output_that_is_put_back_is_found_again) {
  Graph graph;
  Value& x = graph.add_input("x", ValueType::tensor(DType::f32, {2}));
  Value& a = *graph.add_node("Relu", {&x}).output(0);
  Value& b = *graph.add_node("Neg", {&x}).output(0);
  for (Value* output : {&a, &b}) graph.add_output(*output);
  graph.set_output(0, b);  // twice
  graph.set_output(1, a);
  EXPECT_EQ(graph.outputs(), (std::vector<Value*>{&b, &a}));
  b.replace_all_uses_with(x);
  a.replace_all_uses_with(x);
  EXPECT_EQ(graph.outputs(), (std::vector<Value*>{&x, &x}));
  EXPECT_TRUE(a.is_unused());
  EXPECT_TRUE(b.is_unused());
}

TEST(GraphOutputs, a_clone_has_states_that_keep_their_value) {
  Graph graph;
  Value& x = graph.add_input("x", ValueType::tensor(DType::f32, {2}));
  graph.add_output(*graph.add_node("Relu", {&x}).output(0));
  graph.add_state({"kept", nullptr, nullptr, Tensor(DType::f32, {2})});
  const std::unique_ptr<Graph> copy = graph.clone();
  ASSERT_EQ(copy->states().size(), 1u);
  EXPECT_EQ(copy->states()[0].next, nullptr);
}

}  // namespace
}  // namespace minnow
