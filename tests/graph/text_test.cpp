// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>

#include "base/error.h"
#include "graph/graph.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

std::string round_trip(std::string_view text) { return to_text(*parse_graph(text)); }

std::string parse_error(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const InvalidModel& error) {
    return error.what();
  }
  return {};
}

constexpr std::string_view kText = R"(graph "digits" {
  source "digits.onnx"
  metadata producer "a \"tool\"\n\x01"
  metadata source_format "onnx"
  metadata source_hash "00ff"
  metadata label "cat"
  metadata label "dog"
  metadata property "key" = "value"
  input x: f32[batch, 3, ?, "2"]
  input "": seq(f32)
  input items: optional(seq(?[1, 2]))
  input plain
  const w = f32[2, 2] [1, -2.5, 1e+10, 0.1]
  const w'2 = i64[] -3
  const one = u64[1] [18446744073709551615]
  const flags = bool[2] [1, 0]
  const none = f32[0, 4] []
  const special = f64[3] [inf, -inf, nan]
  const nibbles = i4[2] [-8, 7]
  const half = f16[2] [0.5, 65504]
  const ones = f32[64, 64] fill 1
  state count: f32[n] = f32[1] [0] next y as "counter"
  y: f32[batch, 2], _, "a b" = Foo(x, _, w'2) {axis = 1, scale = 0.5, big = 1e+20, mode = "same", pads = [1, -1], floats = [1.0, 2.5], names = ["a", "b"], a = ints[], b = floats[], c = strings[], value = u8[2] [1, 2], type = type(seq(i64[?])), nan = nan} @"node 1"
  z: f32[] = If(flags) {then_branch = graph "then" {
    input i: f32
    const k = f32[] 1
    out = Add(k, y)
    output out
  }, else_branch = graph {
    out'2 = com.example.Op(w, count)
    output out'2
    output y
  }}
  () = Print(z)
  output z
  output "a b"
  output x
}
)";

TEST(Text, round_trips_everything) { EXPECT_EQ(round_trip(kText), kText); }

TEST(Text, parsed_graph_is_what_the_text_says) {
  const std::unique_ptr<Graph> graph = parse_graph(kText);
  verify(*graph);
  EXPECT_EQ(graph->name, "digits");
  EXPECT_EQ(graph->metadata.producer, "a \"tool\"\n\x01");
  EXPECT_EQ(graph->metadata.properties.at("key"), "value");
  EXPECT_EQ(to_string(graph->inputs()[0]->type), "f32[batch, 3, ?, 2]");
  EXPECT_EQ(numbers(*graph->constants()[0]->constant())[1], -2.5);
  EXPECT_EQ(graph->constants()[1]->name(), "w");
  EXPECT_EQ(graph->states()[0].name, "counter");
  EXPECT_EQ(graph->states()[0].current->name(), "count");
  const Node& foo = *graph->first();
  EXPECT_EQ(graph->states()[0].next, foo.output(0));
  EXPECT_EQ(foo.name(), "node 1");
  EXPECT_EQ(foo.input(1), nullptr);
  EXPECT_EQ(foo.input(2), graph->constants()[1].get());
  EXPECT_EQ(foo.output(1), nullptr);
  EXPECT_EQ(*foo.attributes.get<int64_t>("axis"), 1);
  EXPECT_EQ(*foo.attributes.get<float>("scale"), 0.5f);
  EXPECT_EQ(*foo.attributes.get<Ints>("pads"), (Ints{1, -1}));
  EXPECT_EQ(*foo.attributes.get<Floats>("floats"), (Floats{1, 2.5f}));
  EXPECT_TRUE(foo.attributes.get<Strings>("c")->empty());
  const Graph& then = **foo.next()->attributes.get<Subgraph>("then_branch");
  EXPECT_EQ(then.outer, graph.get());
  EXPECT_EQ(then.first()->input(1), foo.output(0));
  EXPECT_EQ(captured_values(then).size(), 1u);
}

TEST(Text, hand_written_form) {
  const auto graph = parse_graph("graph{input input:f32[2] # a comment\n output = Relu(input) output output const c = f32[3] random 7}");
  verify(*graph);
  EXPECT_EQ(graph->outputs()[0]->producer()->op(), "Relu");
  for (double value : numbers(*graph->constants()[0]->constant())) EXPECT_LT(std::abs(value), 1);
}

TEST(Text, large_contents_are_left_out_unless_asked_for) {
  Graph graph;
  graph.add_constant(pattern({100}), "c");
  EXPECT_THAT(to_text(graph), HasSubstr("const c = f32[100] ...\n"));
  EXPECT_THAT(parse_error(to_text(graph)), HasSubstr("line 2: the contents of this tensor were left out"));
  const std::string whole = to_text(graph, std::numeric_limits<size_t>::max());
  EXPECT_EQ(numbers(*parse_graph(whole)->constants()[0]->constant()), numbers(pattern({100})));
}

TEST(Text, names_of_an_outer_graph_may_be_hidden_by_an_inner_one) {
  const auto graph = parse_graph("graph { input x y = If(x) {b = graph { x = Foo(x) output x }} output y }");
  const Graph& inner = **graph->first()->attributes.get<Subgraph>("b");
  EXPECT_EQ(inner.outputs()[0], inner.first()->output(0));
  EXPECT_EQ(inner.first()->input(0), graph->inputs()[0].get());
}

TEST(Text, errors_name_the_line) {
  EXPECT_EQ(parse_error("graph {\n  y = Relu(x)\n}"), "line 2: value \"x\" is not known here");
  EXPECT_EQ(parse_error("graph {\n  input x\n  input x\n}"), "line 3: value \"x\" is made twice");
  EXPECT_EQ(parse_error("graph {\n  input x: f33\n}"), "line 2: \"f33\" is no type");
  EXPECT_EQ(parse_error("graph {\n\n  const c = f32[2] [1]\n}"), "line 3: \",\" was expected, \"]\" was found");
  EXPECT_EQ(parse_error("graph {\n  const c = i8[] 128\n}"), "line 2: 128 does not fit i8");
  EXPECT_EQ(parse_error("graph {\n  const c = f32[] x\n}"), "line 2: a number was expected, \"x\" was found");
  EXPECT_EQ(parse_error("graph {\n  input \"x\n}"), "line 2: a quoted text has no end");
  EXPECT_EQ(parse_error("graph {"), "line 1: a graph has no end");
  EXPECT_EQ(parse_error("graph { } x"), "line 1: nothing was expected behind the graph, \"x\" was found");
  EXPECT_EQ(parse_error("node"), "line 1: \"graph\" was expected, \"node\" was found");
  EXPECT_THAT(parse_error("graph { const c = f32[99999999, 99999999] fill 0 }"), HasSubstr("elements"));
  EXPECT_THAT(parse_error("graph { const c = string[1] [0] }"), HasSubstr("has no text form"));
}

TEST(Text, every_truncation_is_an_error) {
  for (size_t length = 0; length + 2 < kText.size(); ++length) EXPECT_NE(parse_error(kText.substr(0, length)), "") << length;
}

}  // namespace
}  // namespace minnow::test
