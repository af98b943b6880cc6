// SPDX-License-Identifier: Apache-2.0
// Names, scopes, functions, opsets, errors. rules_test.cpp and opsets_test.py test the rules of operators.
#include <gmock/gmock.h>

#include "base/error.h"
#include "importers/importer.h"
#include "ops/evaluate.h"
#include "support/onnx_messages.h"
#include "support/operators.h"

namespace minnow::onnx {
namespace {

using namespace test::onnx_file;
using test::numbers;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Writer = protozero::pbf_writer;

std::unique_ptr<Graph> import(const std::string& bytes, ImportOptions options = {}) {
  if (options.source.empty()) options.source = "net.onnx";
  return import_onnx(as_bytes(bytes), nullptr, options);
}
std::vector<double> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<Datum> arguments(inputs.begin(), inputs.end());
  return numbers(evaluate(OperatorSet::builtin(), graph, arguments).at(0).tensor);
}
Tensor vector(const std::vector<float>& values) { return Tensor::of_f32({static_cast<int64_t>(values.size())}, values); }
std::string condition(const std::string& name = "c") { return value(name, tensor_type(DType::boolean, {})); }
Tensor flag(bool value) { return test::tensor(DType::boolean, {}, {value ? 1.0 : 0.0}); }

TEST(OnnxImporter, a_small_model) {
  const auto graph = import(model(GraphParts{.inputs = {value("x", tensor_type(DType::f32, {"batch", "2"}))},
                                             .outputs = {value("y", tensor_type(DType::f32, {"batch", "2"}))},
                                             .nodes = {node("Add", {"x", "w"}, {"h"}, {}, "add1"), node("Relu", {"h"}, {"y"})},
                                             .initializers = {floats("w", {2}, {-1, 1})},
                                             .values = {value("h", tensor_type(DType::f32, {"batch", "2"}))}},
                                  {.properties = {{"author", "somebody"}}}));
  EXPECT_EQ(graph->source, "net.onnx");
  EXPECT_EQ(graph->metadata.producer, "tests 7");
  EXPECT_EQ(graph->metadata.source_format, "onnx");
  EXPECT_EQ(graph->metadata.properties.at("author"), "somebody");
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_EQ(to_string(graph->inputs()[0]->type), "f32[batch, 2]");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->first()->name(), "add1");
  EXPECT_EQ(graph->first()->output(0)->name(), "h");
  EXPECT_EQ(to_string(graph->first()->output(0)->type), "f32[batch, 2]");
  EXPECT_THAT(run(*graph, {test::tensor(DType::f32, {1, 2}, {3, -4})}), ElementsAre(2, 0));
}

TEST(OnnxImporter, initializers_that_are_inputs_are_constants) {
  const auto graph = import(model(GraphParts{.inputs = {value("x"), value("w")},
                                             .outputs = {value("y")},
                                             .nodes = {node("Mul", {"x", "w"}, {"y"})},
                                             .initializers = {floats("w", {1}, {3})}},
                                  {.ir_version = 3}));
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_THAT(run(*graph, {vector({2})}), ElementsAre(6));
}

TEST(OnnxImporter, initializers_that_are_inputs_stay_inputs_where_asked) {
  const std::string bytes = model(GraphParts{.inputs = {value("x"), value("w"), value("v")},
                                             .outputs = {value("y")},
                                             .nodes = {node("Mul", {"x", "w"}, {"h"}), node("Add", {"h", "v"}, {"y"})},
                                             .initializers = {floats("w", {1}, {3}), floats("v", {1}, {1})}});
  const auto import_keeping = [&](const char* name) {
    ImportOptions options;
    options.keep_inputs = {name};
    return import(bytes, options);
  };
  const auto graph = import_keeping("w");
  ASSERT_EQ(graph->inputs().size(), 2u);
  EXPECT_EQ(graph->inputs()[1]->name(), "w");
  EXPECT_THAT(run(*graph, {vector({2}), vector({5})}), ElementsAre(11));
  EXPECT_EQ(import_keeping("x")->inputs().size(), 1u);  // an input anyway
  EXPECT_THAT([&] { import_keeping("h"); }, ThrowsMessage<Error>(HasSubstr("net.onnx: the model has no input \"h\"; there is \"x\"")));
}

TEST(OnnxImporter, nodes_in_any_order_are_sorted) {
  const auto graph = import(model(GraphParts{.inputs = {value("x")},
                                             .outputs = {value("y")},
                                             .nodes = {node("Mul", {"b", "a"}, {"y"}, {}, "last"), node("Neg", {"x"}, {"a"}, {}, "first"),
                                                       node("Exp", {"a"}, {"b"}, {}, "second")}}));
  EXPECT_EQ(graph->first()->name(), "first");
  EXPECT_EQ(graph->first()->next()->name(), "second");
  EXPECT_EQ(graph->last()->name(), "last");
}

TEST(OnnxImporter, what_subgraphs_use_is_made_before_their_node) {
  const std::string branch = test::onnx_file::graph({.outputs = {value("t")}, .nodes = {node("Neg", {"h"}, {"t"})}});
  // "k" of the branch is its own: the outer "k", which needs the If, does not make a cycle.
  const std::string other =
      test::onnx_file::graph({.outputs = {value("t")}, .nodes = {node("Exp", {"k"}, {"t"}), node("Abs", {"h"}, {"k"})}});
  const auto graph = import(
      model(GraphParts{.inputs = {value("x"), condition()},
                       .outputs = {value("k")},
                       .nodes = {node("Relu", {"i"}, {"k"}),
                                 node("If", {"c"}, {"i"}, {graph_attribute("then_branch", branch), graph_attribute("else_branch", other)}),
                                 node("Abs", {"x"}, {"h"})}}));
  EXPECT_EQ(graph->first()->op(), "Abs");
  EXPECT_EQ(graph->last()->op(), "Relu");
  EXPECT_THAT(run(*graph, {vector({-2}), flag(true)}), ElementsAre(0));
}

TEST(OnnxImporter, cycles_are_named) {
  const auto error = [](const std::vector<std::string>& nodes) {
    try {
      import(model(GraphParts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = nodes}));
    } catch (const Error& caught) {
      return std::string(caught.what());
    }
    return std::string();
  };
  EXPECT_THAT(error({node("Add", {"x", "b"}, {"a"}, {}, "one"), node("Neg", {"a"}, {"b"}), node("Exp", {"b"}, {"y"})}),
              HasSubstr("the nodes \"one\", \"b\" form a cycle"));
  EXPECT_THAT(error({node("Add", {"x", "y"}, {"y"}, {}, "self")}), HasSubstr("node \"self\" uses its own result"));
  EXPECT_THAT(error({node("Add", {"x", "z"}, {"y"})}), HasSubstr("\"z\" is used, but nothing makes it"));
}

TEST(OnnxImporter, constants_and_inputs_that_are_outputs_get_a_node) {
  const auto graph = import(model(GraphParts{.inputs = {value("x")},
                                             .outputs = {value("x"), value("c")},
                                             .nodes = {node("Constant", {}, {"c"}, {tensor_attribute("value", floats("", {1}, {4}))})}}));
  for (const Value* output : graph->outputs()) EXPECT_TRUE(output->producer());
  EXPECT_EQ(graph->outputs()[0]->name(), "x");
  EXPECT_EQ(graph->constants().size(), 1u);
}

TEST(OnnxImporter, every_form_of_constant) {
  const std::string reals = message([](Writer& w) {
    w.add_string(field::kAttributeName, "value_floats");
    w.add_float(field::kAttributeFloats, 1.5f);
    w.add_int32(field::kAttributeType, static_cast<int32_t>(AttributeType::reals));
  });
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, std::vector<double>>>{{attribute("value_int", int64_t{7}), {7}},
                                                                {attribute("value_float", 2.5f), {2.5}},
                                                                {attribute("value_ints", std::vector<int64_t>{3, 4}), {3, 4}},
                                                                {reals, {1.5}},
                                                                {tensor_attribute("value", floats("", {1}, {9})), {9}}}) {
    const auto graph = import(model(GraphParts{.outputs = {value("y", "")}, .nodes = {node("Constant", {}, {"y"}, {text})}}));
    EXPECT_EQ(run(*graph, {}), expected);
  }
  EXPECT_THROW(import(model(GraphParts{.outputs = {value("y", "")}, .nodes = {node("Constant", {}, {"y"})}})), InvalidModel);
  EXPECT_THROW(
      import(model(GraphParts{.outputs = {value("y", "")}, .nodes = {node("Constant", {}, {"y"}, {text_attribute("value_string", "a")})}})),
      Unsupported);
}

TEST(OnnxImporter, absent_inputs_stay_in_their_place) {
  const auto graph = import(model(GraphParts{.inputs = {value("x")},
                                             .outputs = {value("y")},
                                             .nodes = {node("Clip", {"x", "", "high", ""}, {"y"})},
                                             .initializers = {floats("high", {}, {2})}}));
  EXPECT_EQ(graph->first()->input_count(), 3u);
  EXPECT_EQ(graph->first()->input(1), nullptr);
}

// Subgraphs.

std::string if_node(const std::string& then_graph, const std::string& else_graph, const std::string& output = "y") {
  return node("If", {"c"}, {output}, {graph_attribute("then_branch", then_graph), graph_attribute("else_branch", else_graph)});
}

TEST(OnnxImporter, subgraphs_see_outer_values_and_their_outputs_are_made_inside) {
  const std::string then_graph = graph({.outputs = {value("x")}});  // an outer value as it is
  const std::string else_graph = graph({.outputs = {value("k")}, .initializers = {floats("k", {1}, {8})}});
  const auto graph =
      import(model(GraphParts{.inputs = {condition(), value("x")}, .outputs = {value("y")}, .nodes = {if_node(then_graph, else_graph)}}));
  for (const char* branch : {"then_branch", "else_branch"}) {
    const Graph& subgraph = **graph->first()->attributes.get<Subgraph>(branch);
    ASSERT_EQ(subgraph.outputs().size(), 1u);
    EXPECT_EQ(&subgraph.outputs()[0]->graph(), &subgraph);
    EXPECT_TRUE(subgraph.outputs()[0]->producer());
    EXPECT_EQ(subgraph.outer, graph.get());
  }
  EXPECT_EQ(captured_values(**graph->first()->attributes.get<Subgraph>("then_branch")).size(), 1u);
}

TEST(OnnxImporter, inner_names_hide_outer_ones_and_do_not_leak) {
  const std::string hides = graph({.outputs = {value("t")}, .nodes = {node("Neg", {"x"}, {"x2"}), node("Neg", {"x2"}, {"t"})}});
  const std::string other = graph({.outputs = {value("t")}, .nodes = {node("Abs", {"x"}, {"t"})}});
  EXPECT_NO_THROW(import(model(GraphParts{
      .inputs = {condition(), value("x")}, .outputs = {value("t")}, .nodes = {if_node(hides, other, "y"), node("Neg", {"y"}, {"t"})}})));
  EXPECT_THAT(
      [&] {
        import(model(GraphParts{.inputs = {condition(), value("x")}, .outputs = {value("x2")}, .nodes = { if_node(hides, other, "y") }}));
      },
      ThrowsMessage<InvalidModel>(HasSubstr("\"x2\" is used, but nothing makes it")));
}

TEST(OnnxImporter, deep_nesting_is_an_error) {
  std::string inner = graph({.outputs = {value("x")}});
  for (int i = 0; i < 200; ++i)
    inner = graph({.outputs = {value("y")}, .nodes = {if_node(inner, inner.size() < 4000 ? inner : std::string())}});
  EXPECT_THROW(import(model(GraphParts{.inputs = {condition(), value("x")}, .outputs = {value("y")}, .nodes = {if_node(inner, inner)}})),
               InvalidModel);
}

// Functions.

TEST(OnnxImporter, functions_are_expanded_with_their_attributes) {
  // scale(x; by = 2) = x * constant(by); twice(x; by) = scale(scale(x; by); by)
  const std::string scale =
      function({.name = "scale",
                .inputs = {"x"},
                .outputs = {"y"},
                .nodes = {node("Constant", {}, {"k"}, {reference_attribute("value_float", "by", AttributeType::real)}),
                          node("Mul", {"x", "k"}, {"y"})},
                .defaults = {attribute("by", 2.0f)}});
  const std::string twice =
      function({.name = "twice",
                .inputs = {"x"},
                .outputs = {"y"},
                .nodes = {node("scale", {"x"}, {"h"}, {reference_attribute("by", "factor", AttributeType::real)}, "", "local"),
                          node("scale", {"h"}, {"y"}, {reference_attribute("by", "factor", AttributeType::real)}, "", "local")},
                .attributes = {"factor"}});
  const auto result = [&](const Names& attributes) {
    const auto graph = import(
        model(GraphParts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("twice", {"x"}, {"y"}, attributes, "t", "local")}},
              {.opsets = {opset("", 26), opset("local", 1)}, .functions = {scale, twice}}));
    EXPECT_EQ(graph->outputs()[0]->name(), "y");
    return run(*graph, {vector({1})})[0];
  };
  EXPECT_EQ(result({attribute("factor", 3.0f)}), 9);
  EXPECT_EQ(result({}), 4) << "an absent attribute stays absent, so the default of the inner function holds";
}

TEST(OnnxImporter, functions_in_subgraphs_of_functions_and_absent_inputs) {
  // f(c, x, b) = c ? x + x : clip(x, b, absent)
  const std::string then_graph = graph({.outputs = {value("r")}, .nodes = {node("Add", {"x", "x"}, {"r"})}});
  const std::string else_graph = graph({.outputs = {value("r")}, .nodes = {node("Clip", {"x", "b", "absent"}, {"r"})}});
  const std::string f =
      function({.name = "f", .inputs = {"c", "x", "b", "absent"}, .outputs = {"y"}, .nodes = {if_node(then_graph, else_graph)}});
  const auto graph = import(model(GraphParts{.inputs = {condition("flag"), value("u"), value("low", tensor_type(DType::f32, {}))},
                                             .outputs = {value("z")},
                                             .nodes = {node("f", {"flag", "u", "low"}, {"z"}, {}, "", "local")}},
                                  {.opsets = {opset("", 26), opset("local", 1)}, .functions = {f}}));
  EXPECT_EQ(run(*graph, {flag(true), vector({3}), Tensor::scalar_f32(5)})[0], 6);
  EXPECT_EQ(run(*graph, {flag(false), vector({3}), Tensor::scalar_f32(5)})[0], 5);
}

TEST(OnnxImporter, a_subgraph_given_to_a_function_sees_the_callers_values) {
  const std::string body = graph({.outputs = {value("o")}, .nodes = {node("Add", {"x", "k"}, {"o"})}});
  const std::string choose =
      function({.name = "choose",
                .inputs = {"c", "x"},
                .outputs = {"y"},
                .nodes = {node("If", {"c"}, {"y"},
                               {reference_attribute("then_branch", "branch", AttributeType::graph),
                                graph_attribute("else_branch", graph({.outputs = {value("n")}, .nodes = {node("Neg", {"x"}, {"n"})}}))})},
                .attributes = {"branch"}});
  // "x" and "k" of the branch are the model's, though the function has an "x" of its own.
  const auto graph = import(model(GraphParts{.inputs = {condition(), value("x"), value("z")},
                                             .outputs = {value("y")},
                                             .nodes = {node("choose", {"c", "z"}, {"y"}, {graph_attribute("branch", body)}, "", "local")},
                                             .initializers = {floats("k", {1}, {100})}},
                                  {.opsets = {opset("", 26), opset("local", 1)}, .functions = {choose}}));
  EXPECT_EQ(run(*graph, {flag(true), vector({1}), vector({7})})[0], 101);
  EXPECT_EQ(run(*graph, {flag(false), vector({1}), vector({7})})[0], -7);
}

TEST(OnnxImporter, a_function_hides_a_standard_operator_and_has_its_own_opset) {
  // Softmax of the model's opset 26, and inside the function opset 11's flattening one.
  const std::string relu =
      function({.name = "Relu", .domain = "", .inputs = {"x"}, .outputs = {"y"}, .nodes = {node("Neg", {"x"}, {"y"})}});
  const auto graph = import(
      model(GraphParts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("Relu", {"x"}, {"y"})}}, {.functions = {relu}}));
  EXPECT_EQ(run(*graph, {vector({5})})[0], -5);
  const std::string old = function({.name = "old",
                                    .inputs = {"x"},
                                    .outputs = {"y"},
                                    .nodes = {node("ReduceSum", {"x"}, {"y"}, {attribute("axes", std::vector<int64_t>{0})})},
                                    .opsets = {opset("", 11)}});
  const auto second =
      import(model(GraphParts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("old", {"x"}, {"y"}, {}, "", "local")}},
                   {.opsets = {opset("", 26), opset("local", 1)}, .functions = {old}}));
  EXPECT_EQ(run(*second, {vector({5, 6})})[0], 11);
}

TEST(OnnxImporter, outputs_of_functions_that_are_their_inputs) {
  const std::string f = function({.name = "f", .inputs = {"a"}, .outputs = {"a", "b", "b"}, .nodes = {node("Neg", {"a"}, {"b"})}});
  const auto graph = import(model(GraphParts{.inputs = {value("x")},
                                             .outputs = {value("p"), value("q"), value("r")},
                                             .nodes = {node("f", {"x"}, {"p", "q", "r"}, {}, "", "local")}},
                                  {.opsets = {opset("", 26), opset("local", 1)}, .functions = {f}}));
  EXPECT_EQ(graph->outputs()[0]->name(), "p");
  EXPECT_EQ(graph->outputs()[1]->name(), "q");
  EXPECT_EQ(graph->outputs()[2]->name(), "r");
  EXPECT_NE(graph->outputs()[1], graph->outputs()[2]);
}

TEST(OnnxImporter, functions_that_call_themselves_or_explode_are_errors) {
  const std::string f = function({.name = "f", .inputs = {"x"}, .outputs = {"y"}, .nodes = {node("g", {"x"}, {"y"}, {}, "", "local")}});
  const std::string g = function({.name = "g", .inputs = {"x"}, .outputs = {"y"}, .nodes = {node("f", {"x"}, {"y"}, {}, "", "local")}});
  const GraphParts parts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("f", {"x"}, {"y"}, {}, "", "local")}};
  EXPECT_THAT(([&] {
                import(model(parts, {.opsets = {opset("", 26), opset("local", 1)}, .functions = { f, g }}));
              }),
              ThrowsMessage<InvalidModel>(HasSubstr("calls itself")));
  Names functions = {function({.name = "f0", .inputs = {"x"}, .outputs = {"y"}, .nodes = {node("Neg", {"x"}, {"y"})}})};
  for (int i = 1; i <= 40; ++i) {
    const std::string below = "f" + std::to_string(i - 1);
    functions.push_back(function({.name = i == 40 ? "f" : "f" + std::to_string(i),
                                  .inputs = {"x"},
                                  .outputs = {"y"},
                                  .nodes = {node(below, {"x"}, {"h"}, {}, "", "local"), node(below, {"h"}, {"y"}, {}, "", "local")}}));
  }
  EXPECT_THAT(([&] {
                import(model(parts, {.opsets = {opset("", 26), opset("local", 1)}, .functions = functions}));
              }),
              ThrowsMessage<InvalidModel>(HasSubstr("very large graph")));
}

// Opsets.

TEST(OnnxImporter, the_first_files_name_no_opset_and_no_attribute_types) {
  const std::string axes = message([](Writer& w) {
    w.add_string(field::kAttributeName, "axes");
    w.add_int64(field::kAttributeInts, 0);
  });
  const auto graph =
      import(model(GraphParts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("ReduceSum", {"x"}, {"y"}, {axes})}},
                   {.ir_version = 2, .opsets = {}}));
  EXPECT_EQ(run(*graph, {vector({5, 6})})[0], 11);
}

TEST(OnnxImporter, a_domain_must_be_imported) {
  const GraphParts parts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("Relu", {"x"}, {"y"}, {}, "r")}};
  EXPECT_THAT(([&] { import(model(parts, {.opsets = {}})); }),
              ThrowsMessage<InvalidModel>(AllOf(HasSubstr("net.onnx: node \"r\" (Relu)"), HasSubstr("\"ai.onnx\""))));
  EXPECT_NO_THROW(import(model(parts, {.opsets = {opset("ai.onnx", 13)}}))) << "another spelling";
  EXPECT_NO_THROW(import(model(parts, {.opsets = {opset("", 13), opset("com.other", 99)}})));
}

TEST(OnnxImporter, all_unsupported_operators_are_listed_with_their_nodes) {
  const GraphParts parts{
      .inputs = {value("x")},
      .outputs = {value("y")},
      .nodes = {node("Blur", {"x"}, {"a"}, {}, "b1", "com.camera"), node("Relu", {"a"}, {"b"}),
                node("Blur", {"b"}, {"c"}, {}, "b2", "com.camera"), node("Affine", {"c"}, {"d"}), node("Third", {"d"}, {"e"}, {}, "t"),
                node("Fourth", {"e", "x"}, {"f"}, {}, "", "com.camera"), node("Fifth", {"f"}, {"y"})}};
  EXPECT_THAT(
      ([&] {
        import(model(parts, {.opsets = { opset("", 26), opset("com.camera", 1) }}));
      }),
      ThrowsMessage<Unsupported>("net.onnx: operators are not supported: Affine (node \"d\"); Fifth (node \"y\"); Third (node \"t\"); "
                                 "com.camera.Blur (nodes \"b1\", \"b2\"); com.camera.Fourth (node \"f\"); a library with custom operators "
                                 "is loaded by --operators"));
}

TEST(OnnxImporter, a_node_without_outputs_is_an_error) {
  const GraphParts parts{.inputs = {value("x")},
                         .outputs = {value("x")},
                         .nodes = {node("Resize", {"x", "s"}, {}, {}, "r")},
                         .initializers = {floats("s", {2}, {2, 2})}};
  EXPECT_THAT(([&] {
                import(model(parts, {.opsets = { opset("", 10) }}));
              }),
              ThrowsMessage<InvalidModel>(HasSubstr("node \"r\" (Resize): has no outputs")));
}

TEST(OnnxImporter, forms_of_operators_that_are_not_supported_join_the_list) {
  const GraphParts parts{.inputs = {value("x")},
                         .outputs = {value("y")},
                         .nodes = {node("Blur", {"x"}, {"a"}, {}, "b1", "com.camera"),
                                   node("FusedMatMul", {"a", "a"}, {"y"}, {attribute("transBatchA", int64_t{1})}, "m", "com.microsoft")}};
  EXPECT_THAT(
      ([&] {
        import(model(parts, {.opsets = { opset("com.microsoft", 1), opset("com.camera", 1) }}));
      }),
      ThrowsMessage<Unsupported>(AllOf(HasSubstr("com.camera.Blur (node \"b1\")"),
                                       HasSubstr("; node \"m\" (com.microsoft.FusedMatMul): transposed batches are not supported"))));
}

TEST(OnnxImporter, a_newer_opset_is_read_with_a_warning) {
  ImportOptions options;
  std::string warning;
  options.warn = [&](std::string_view sentence) { warning = sentence; };
  import(model(GraphParts{.inputs = {value("x")},
                          .outputs = {value("y")},
                          .nodes =
                          { node("Relu", {"x"}, {"y"}) }},
               {.opsets =
                { opset("", 99) }}),
         options);
  EXPECT_THAT(warning, HasSubstr("opset 99"));
}

TEST(OnnxImporter, custom_operators_are_accepted_by_name) {
  static const Operator blur{.name = "com.camera.Blur",
                             .inputs = {{"x"}},
                             .outputs = {{"y", same_as("x")}},
                             .attributes = {optional("k", AttributeKind::integer)}};
  OperatorSet operators;
  for (const Operator* op : OperatorSet::builtin().list()) operators.add(*op);
  operators.add(blur);
  ImportOptions options;
  options.operators = &operators;
  const auto graph = import(model(GraphParts{.inputs = {value("x")},
                                             .outputs = {value("y")},
                                             .nodes = {node("Blur", {"x"}, {"y"}, {attribute("k", int64_t{3})}, "", "com.camera")}},
                                  {.opsets = {opset("com.camera", 1)}}),
                            options);
  EXPECT_EQ(graph->first()->op(), "com.camera.Blur");
  EXPECT_EQ(*graph->first()->attributes.get<int64_t>("k"), 3);
}

// Errors.

TEST(OnnxImporter, wrong_graphs) {
  const auto error = [](const GraphParts& parts) -> std::string {
    try {
      import(model(parts));
    } catch (const InvalidModel& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_THAT(error({.outputs = {value("y")}, .nodes = {node("Relu", {"x"}, {"y"}, {}, "act")}}),
              AllOf(HasSubstr("node \"act\" (Relu)"), HasSubstr("\"x\" is used, but nothing makes it")));
  EXPECT_THAT(error({.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})}}),
              HasSubstr("\"y\" is made a second time"));
  EXPECT_THAT(error({.inputs = {value("x"), value("x")}}), HasSubstr("a second time"));
  EXPECT_THAT(error({.inputs = {value("")}}), HasSubstr("has no name"));
  EXPECT_THAT(error({.inputs = {value("x")}, .outputs = {value("z")}}), HasSubstr("output \"z\""));
  EXPECT_THAT(error({.inputs = {value("x")},
                     .outputs = {value("y")},
                     .nodes = {node("Relu", {"x"}, {"y"}, {reference_attribute("a", "b", AttributeType::real)})}}),
              HasSubstr("of a function"));
  EXPECT_THAT([] { import(std::string()); }, ThrowsMessage<InvalidModel>("net.onnx: is not an ONNX model: it holds no graph"));
  EXPECT_THAT([] { import("no model at all"); }, ThrowsMessage<InvalidModel>(HasSubstr("net.onnx: is not a")));
}

TEST(OnnxImporter, strings_and_maps_are_refused_by_name) {
  EXPECT_THAT(([] {
                import(model(GraphParts{.inputs = { value("words", tensor_type(DType::string, {"n"})) }}));
              }),
              ThrowsMessage<Unsupported>("net.onnx: input \"words\": holds strings, which are not supported"));
  EXPECT_THROW(import(model(GraphParts{.initializers = {raw_tensor("w", DType::string, {1}, "")}})), Unsupported);
}

TEST(OnnxImporter, looks_like_onnx) {
  const std::string bytes = model(GraphParts{.inputs = {value("x")}, .outputs = {value("y")}, .nodes = {node("Relu", {"x"}, {"y"})}});
  EXPECT_TRUE(looks_like_onnx(as_bytes(bytes)));
  EXPECT_TRUE(looks_like_onnx(as_bytes(bytes).first(40)));
  EXPECT_FALSE(looks_like_onnx(as_bytes(std::string("PK\3\4 a zip archive of some kind"))));
  EXPECT_FALSE(looks_like_onnx({}));
}

}  // namespace
}  // namespace minnow::onnx
