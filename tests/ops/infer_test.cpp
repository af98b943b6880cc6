// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

// Types of all values that nodes make, as text, by name; subgraphs included.
void collect(const Graph& graph, std::map<std::string, std::string>& types) {
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) types[node.output(i)->name()] = to_string(node.output(i)->type);
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) {
        for (const auto& input : (*subgraph)->inputs()) types[input->name()] = to_string(input->type);
        collect(**subgraph, types);
      }
  }
}
std::map<std::string, std::string> types_of(const Graph& graph) {
  std::map<std::string, std::string> types;
  collect(graph, types);
  return types;
}

TEST(InferTypes, dtypes_and_kinds_without_shapes) {
  const auto graph = parse_graph(R"(graph {
    input x: f16
    input m: i64[]
    s = Shape(x)
    c = Cast(x) {to = 7}
    l = SequenceConstruct(c, c)
    o = Optional(l)
    g = OptionalGetElement(o)
    t = SequenceAt(g, m)
    e = EyeLike(x) {dtype = 9}
    v, w = Loop(m, _, l) {body = graph {
      input i
      input going
      input list
      f = Neg(x)
      output going
      output list
      output f
    }}
    u = Unknown(x)
    output v
  })");
  infer_types(OperatorSet::builtin(), *graph);
  auto types = types_of(*graph);
  EXPECT_EQ(types["s"], "i64");
  EXPECT_EQ(types["c"], "i64");
  EXPECT_EQ(types["l"], "seq(i64)");
  EXPECT_EQ(types["o"], "optional(seq(i64))");
  EXPECT_EQ(types["g"], "seq(i64)");
  EXPECT_EQ(types["t"], "i64");
  EXPECT_EQ(types["e"], "bool");
  EXPECT_EQ(types["v"], "seq(i64)");
  EXPECT_EQ(types["w"], "f16");
  EXPECT_EQ(types["i"], "i64");
  EXPECT_EQ(types["going"], "bool");
  EXPECT_EQ(types["list"], "seq(i64)");
  EXPECT_EQ(types["u"], "?");
}

constexpr std::string_view kFlattened = R"(graph {
  input x: f32[batch, 3, height, ?]
  const zero = i64[] 0
  const axis = i64[1] [0]
  const rest = i64[1] [-1]
  s = Shape(x)
  b = Gather(s, zero)
  list = Unsqueeze(b, axis)
  to = Concat(list, rest) {axis = 0}
  y = Reshape(x, to)
  n = NonZero(y)
  t = Transpose(x)
  output y
})";

TEST(InferStaticTypes, computes_what_shapes_are_made_of) {
  const auto graph = parse_graph(kFlattened);
  infer_static_types(OperatorSet::builtin(), *graph, {{"x", Shape{2, 3, 4, 5}}});
  auto types = types_of(*graph);
  EXPECT_EQ(types["to"], "i64[2]");
  EXPECT_EQ(types["y"], "f32[2, 60]");
  EXPECT_EQ(types["t"], "f32[5, 4, 3, 2]");
  EXPECT_EQ(types["n"], "i64[2, ?]");
}

TEST(InferStaticTypes, refuses_shapes_that_inputs_cannot_have) {
  const auto error = [](const std::map<std::string, Shape>& shapes) -> std::string {
    try {
      infer_static_types(OperatorSet::builtin(), *parse_graph(kFlattened), shapes);
    } catch (const InvalidArgument& caught) {
      return caught.what();
    }
    return {};
  };
  EXPECT_THAT(error({{"x", Shape{2, 4, 4, 5}}}), HasSubstr("it cannot have shape [2, 4, 4, 5]"));
  EXPECT_THAT(error({{"x", Shape{2, 3}}}), HasSubstr("it cannot have shape [2, 3]"));
  EXPECT_THAT(error({{"z", Shape{2}}}), HasSubstr("there is no input \"z\""));
}

TEST(InferStaticTypes, branches_of_one_shape_and_branches_that_are_decided) {
  const auto graph = parse_graph(R"(graph {
    input x: f32[1, 3]
    input c: bool[]
    const axis = i64[1] [0]
    const wrong = i64[1] [1]
    const yes = bool[] 1
    same = If(c) {then_branch = graph { a = Neg(x) output a }, else_branch = graph { b = Abs(x) output b }}
    other = If(c) {then_branch = graph { d = Squeeze(x, axis) output d }, else_branch = graph { output x }}
    taken = If(yes) {then_branch = graph { e = Squeeze(x, axis) output e }, else_branch = graph { f = Squeeze(x, wrong) output f }}
    output same
  })");
  infer_static_types(OperatorSet::builtin(), *graph);
  auto types = types_of(*graph);
  EXPECT_EQ(types["same"], "f32[1, 3]");
  EXPECT_EQ(types["d"], "f32[3]");
  EXPECT_EQ(types["other"], "f32");
  EXPECT_EQ(types["taken"], "f32[3]");
}

TEST(InferSymbolicTypes, keeps_names_of_dimensions) {
  const auto graph = parse_graph(kFlattened);
  EXPECT_TRUE(infer_symbolic_types(OperatorSet::builtin(), *graph));
  auto types = types_of(*graph);
  EXPECT_EQ(types["s"], "i64[4]");
  EXPECT_EQ(types["y"], "f32[batch, ?]");
  EXPECT_EQ(types["t"], "f32[?, height, 3, batch]");
  EXPECT_EQ(to_string(graph->inputs()[0]->type), "f32[batch, 3, height, ?]");
}

TEST(InferSymbolicTypes, knows_what_holds_for_all_sizes) {
  const auto graph = parse_graph(R"(graph {
    input x: f32[n, 64, side]
    input y: f32[n, 64, ?]
    const shape = i64[4] [0, 0, -1, 32]
    blocks = Reshape(x, shape)
    sum = Add(x, y)
    output sum
  })");
  EXPECT_TRUE(infer_symbolic_types(OperatorSet::builtin(), *graph));
  auto types = types_of(*graph);
  EXPECT_EQ(types["blocks"], "f32[n, 64, ?, 32]");
  EXPECT_EQ(types["sum"], "f32[n, 64, ?]");
  const auto impossible = parse_graph("graph { input x: f32[n, 3] input y: f32[n, 4] z = Add(x, y) output z }");
  EXPECT_FALSE(infer_symbolic_types(OperatorSet::builtin(), *impossible));
  EXPECT_EQ(types_of(*impossible)["z"], "f32");
}

TEST(InferSymbolicTypes, sizes_that_one_input_leaves_open_come_from_another) {
  const auto graph = parse_graph(R"(graph {
    input x: f32[n, 3, side]
    input y: f32[?, ?, side]
    input slopes: f32[16]
    input wide: f32[n, rows, columns]
    input step: i64[1]
    input pads: i64[2]
    input axes: i64[1]
    const start = i64[1] [0]
    const end = i64[1] [9223372036854775807]
    const last = i64[1] [-1]
    const taps = f32[4, 3, 3] [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    joined = Concat(x, y) {axis = 1}
    behind = Concat(y, x) {axis = 1}
    numbered = PRelu(wide, slopes)
    stepped = Slice(x, start, end, last, step)
    filtered = Conv(x, taps)
    whole = Slice(filtered, start, end, last)
    padded = Pad(x, pads, _, axes)
    attended = Attention(wide, wide, wide) {q_num_heads = 4, kv_num_heads = 4}
    output joined
  })");
  EXPECT_TRUE(infer_symbolic_types(OperatorSet::builtin(), *graph));
  auto types = types_of(*graph);
  EXPECT_EQ(types["joined"], "f32[n, ?, side]");
  EXPECT_EQ(types["behind"], "f32[n, ?, side]");
  EXPECT_EQ(types["numbered"], "f32[n, rows, 16]");
  EXPECT_EQ(types["stepped"], "f32[n, 3, ?]");
  EXPECT_EQ(types["filtered"], "f32[n, 4, side - 2]");
  EXPECT_EQ(types["whole"], types["filtered"]);
  EXPECT_EQ(types["padded"], "f32[?, ?, ?]");
  EXPECT_EQ(types["attended"], "f32[n, rows, columns]");
}

TEST(InferSymbolicTypes, sequences_have_the_sizes_that_all_their_tensors_have) {
  const auto graph = parse_graph(R"(graph {
    input x: f32[n, 3]
    input y: f32[n, 4]
    input place: i64[]
    same = SequenceConstruct(x, x)
    different = SequenceConstruct(y, x, x)
    shorter = SequenceErase(different, place)
    longer = SequenceInsert(same, x, place)
    taken = SequenceAt(shorter, place)
    output taken
  })");
  EXPECT_TRUE(infer_symbolic_types(OperatorSet::builtin(), *graph));
  auto types = types_of(*graph);
  EXPECT_EQ(types["same"], "seq(f32[n, 3])");
  EXPECT_EQ(types["different"], "seq(f32[n, ?])");
  EXPECT_EQ(types["shorter"], "seq(f32[n, ?])");
  EXPECT_EQ(types["longer"], "seq(f32[n, 3])");
  EXPECT_EQ(types["taken"], "f32[n, ?]");
}

}  // namespace
}  // namespace minnow::test
