// SPDX-License-Identifier: Apache-2.0
// Every pass over every operator with its optional inputs absent. support/passes.h tries the same on the graphs of all other tests of
// passes.
#include <gmock/gmock.h>

#include "ops/infer.h"
#include "passes/pipeline.h"

namespace minnow {
namespace {

bool has_optional_inputs(const Operator& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [](const InputSpec& input) { return input.arity == Arity::optional; });
}

DType likely_dtype(const InputSpec& input) {
  for (const DType dtype : {DType::f32, DType::i64, DType::i8, DType::u8, DType::boolean})
    if (contains(input.dtypes, dtype)) return dtype;
  return DType::f64;
}

AttributeValue some_value(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return int64_t{1};
    case AttributeKind::real:
      return 1.0f;
    case AttributeKind::text:
      return std::string("text");
    case AttributeKind::tensor:
      return Tensor::scalar_f32(1);
    case AttributeKind::integers:
      return Ints{1, 1};
    case AttributeKind::reals:
      return Floats{1, 1};
    case AttributeKind::texts:
      return Strings{"text"};
    case AttributeKind::type:
      return ValueType::tensor(DType::f32);
    case AttributeKind::graph:
      break;
  }
  auto body = std::make_shared<Graph>();
  body->add_output(body->add_input("in", ValueType::tensor(DType::f32)));
  return Subgraph(std::move(body));
}

/// The operator between two others, with the inputs that `present` has a bit for; the first inputs are a computed value and constants, as
/// passes look for them. `rank` -1: shapes are not known.
std::unique_ptr<Graph> graph_of_operator(const Operator& op, uint32_t present, int rank) {
  auto graph = std::make_unique<Graph>();
  graph->source = "absent";
  std::vector<Value*> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const InputSpec& spec = op.inputs[i];
    if (spec.arity != Arity::required && !(present >> i & 1)) {
      inputs.push_back(nullptr);
      continue;
    }
    ValueType type = ValueType::tensor(likely_dtype(spec));
    if (rank >= 0) type.dims.emplace(static_cast<size_t>(rank), Dim{2, {}});
    if (!(spec.kinds & kTensors)) type = ValueType::sequence_of(std::move(type));
    if (i > 0 && rank >= 0 && (present & 1)) {
      inputs.push_back(&graph->add_constant(Tensor(type.dtype, type.shape())));
      continue;
    }
    Value* input = &graph->add_input("x" + std::to_string(i), type);
    if (i == 0 && contains(kFloats, type.dtype)) input = graph->add_node("Relu", {input}).output(0);
    inputs.push_back(input);
  }
  Attributes attributes;
  for (const AttributeSpec& spec : op.attributes)
    if (spec.required) attributes.set(spec.name, some_value(spec.kind));
  std::vector<std::string> outputs;
  for (size_t i = 0; i < std::max<size_t>(op.outputs.size(), 1); ++i) outputs.push_back("y" + std::to_string(i));
  Node& node = graph->add_node(op.name, inputs, outputs, std::move(attributes), "node");
  for (size_t i = 0; i < node.output_count(); ++i) graph->add_output(*node.output(i));
  graph->add_output(*graph->add_node("Relu", {node.output(0)}).output(0));
  return graph;
}

class AbsentInputs : public testing::TestWithParam<std::string_view> {};

TEST_P(AbsentInputs, of_every_operator_leave_a_graph_or_an_error) {
  size_t graphs = 0, operators = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    if (!has_optional_inputs(*op)) continue;
    ++operators;
    const uint32_t all = (uint32_t{1} << op->inputs.size()) - 1;
    std::vector<uint32_t> sets = {0, 1, all};
    for (size_t i = 0; i < op->inputs.size(); ++i) sets.insert(sets.end(), {all & ~(uint32_t{1} << i), uint32_t{1} << i});
    for (const uint32_t present : sets)
      for (const int rank : {-1, 1, 2, 4}) {
        const auto graph = graph_of_operator(*op, present, rank);
        ++graphs;
        try {
          run_pass(GetParam(), *graph, OperatorSet::builtin(), Optimize::standard, nullptr);
          verify(*graph);
          infer_types(OperatorSet::builtin(), *graph);
        } catch (const Error& error) {
          EXPECT_NE(error.kind(), ErrorKind::internal) << op->name << ": " << error.what();
        }
      }
  }
  EXPECT_GE(operators, 50u);
  EXPECT_GT(graphs, 2000u);
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Passes, AbsentInputs, testing::ValuesIn(pass_names()), [](const auto& info) { return std::string(info.param); });

std::string error_of(std::string_view text) {
  try {
    infer_types(OperatorSet::builtin(), *parse_graph(text));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(CheckedForm, names_file_node_operator_and_input) {
  const auto graph = [](std::string_view node) {
    return "graph {\n source \"net\"\n input x: f32[2]\n input s: seq(f32)\n const w = f32[2] [1, 2]\n " + std::string(node) +
           "\n output y\n}";
  };
  EXPECT_EQ(error_of(graph("y = Add(x, x) @\"a\"")), "");
  EXPECT_EQ(error_of(graph("y = Add(x) @\"a\"")), "net: node \"a\" (Add): input 1 (\"B\") is missing");
  EXPECT_EQ(error_of(graph("y = Relu(x, x) @\"a\"")), "net: node \"a\" (Relu): takes at most 1 inputs, it has 2");
  EXPECT_EQ(error_of(graph("y = Concat() {axis = 0} @\"a\"")), "net: node \"a\" (Concat): takes at least one input, it has none");
  EXPECT_EQ(error_of(graph("y = Concat(x) @\"a\"")), "net: node \"a\" (Concat): attribute \"axis\" is missing");
  EXPECT_EQ(error_of(graph("y = Concat(x) {axis = 1.5} @\"a\"")),
            "net: node \"a\" (Concat): attribute \"axis\" is a real number, it should be an integer");
  EXPECT_EQ(error_of(graph("y = Relu(s) @\"a\"")),
            "net: node \"a\" (Relu): input 0 (\"X\") is a sequence, which the operator does not take");
  EXPECT_THAT(error_of(graph("y = Reshape(x, w) @\"a\"")),
              testing::HasSubstr("net: node \"a\" (Reshape): input 1 (\"shape\") is f32, it should be one of i64"));
}

TEST(CheckedForm, looks_into_subgraphs) {
  EXPECT_EQ(error_of(R"(graph {
    source "net"
    input c: bool[]
    input x: f32[2]
    y: f32[2] = If(c) {then_branch = graph {
      a: f32[2] = Add(x) @"inner"
      output a
    }, else_branch = graph {
      output x
    }}
    output y
  })"),
            "net: node \"inner\" (Add): input 1 (\"B\") is missing");
}

}  // namespace
}  // namespace minnow
