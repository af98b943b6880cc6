// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "importers/formats.h"
#include "ops/evaluate.h"
#include "support/wire.h"

namespace minnow::tensorflow {
namespace {

using test::wire::message;
using test::wire::varint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

std::string number(uint64_t field, int64_t value) { return varint(field << 3) + varint(static_cast<uint64_t>(value)); }
std::string real(uint64_t field, float value) {
  return varint(field << 3 | 5) + std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}
std::string entry(const std::string& key, const std::string& value) { return message(1, key) + message(2, value); }

constexpr int64_t kFloat = 1, kInt = 3;

std::string shape(const std::vector<int64_t>& dims) {
  std::string body;
  for (int64_t dim : dims) body += message(2, number(1, dim));
  return body;
}
std::string node_body(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& attributes) {
  std::string body = message(1, name) + message(2, op);
  for (const std::string& input : inputs) body += message(3, input);
  for (const std::string& attribute : attributes) body += message(5, attribute);
  return body;
}
std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& attributes = {}) {
  return message(1, node_body(name, op, inputs, attributes));
}
std::string placeholder_node(const std::string& name, const std::vector<int64_t>& dims, int64_t type = kFloat) {
  return node(name, "Placeholder", {}, {entry("dtype", number(6, type)), entry("shape", message(7, shape(dims)))});
}
/// `values` as the typed list, which may be shorter than the shape.
std::string floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  const std::string list(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return node(name, "Const", {}, {entry("value", message(8, number(1, kFloat) + message(2, shape(dims)) + message(5, list)))});
}
std::string ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  std::string list;
  for (int64_t value : values) list += varint(static_cast<uint64_t>(value));
  return node(name, "Const", {}, {entry("value", message(8, number(1, kInt) + message(2, shape(dims)) + message(7, list)))});
}

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }
std::unique_ptr<Graph> import_graph(const std::string& bytes) { return import_tensorflow(as_bytes(bytes), nullptr); }
std::string error_of(const std::string& bytes) {
  try {
    import_graph(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
std::vector<float> run(const Graph& graph, const std::vector<Datum>& inputs) {
  const std::vector<Datum> outputs = evaluate(OperatorSet::builtin(), graph, inputs);
  const Tensor& y = outputs.at(0).tensor;
  return {y.data<float>(), y.data<float>() + y.elements()};
}
Datum vector(std::vector<float> values) { return Datum(Tensor::of_f32({static_cast<int64_t>(values.size())}, values)); }

TEST(TensorflowImporter, nodes_in_any_order) {
  const std::string graph =
      node("y", "Mul", {"sum", "k"}) + placeholder_node("x", {-1}) + node("sum", "AddV2", {"x", "x:0", "^k"}) + floats("k", {}, {3});
  const auto imported = import_graph(graph);
  EXPECT_EQ(imported->outputs()[0]->name(), "y");
  EXPECT_EQ(imported->inputs()[0]->name(), "x");
  EXPECT_THAT(run(*imported, {vector({1, 2})}), ElementsAre(6, 12));
  ASSERT_TRUE(recognize_format(as_bytes(graph)));
  EXPECT_EQ(recognize_format(as_bytes(graph))->name, "tensorflow");
}

TEST(TensorflowImporter, a_short_list_repeats_its_last_value_and_an_empty_one_is_zeros) {
  EXPECT_THAT(run(*import_graph(placeholder_node("x", {3}) + floats("k", {3}, {1, 5}) + node("y", "Add", {"x", "k"})), {vector({0, 0, 0})}),
              ElementsAre(1, 5, 5));
  EXPECT_THAT(run(*import_graph(placeholder_node("x", {2}) + floats("k", {2}, {}) + node("y", "Add", {"x", "k"})), {vector({4, 3})}),
              ElementsAre(4, 3));
}

TEST(TensorflowImporter, outputs_of_nodes_with_several) {
  const std::string graph = placeholder_node("x", {4}) + ints("axis", {}, {0}) +
                            node("parts", "Split", {"axis", "x"}, {entry("num_split", number(3, 2))}) +
                            node("y", "Sub", {"parts:1", "parts"});
  EXPECT_THAT(run(*import_graph(graph), {vector({1, 2, 5, 7})}), ElementsAre(4, 5));
}

// Answers of TensorFlow 2.21's tf.raw_ops.CropAndResize.
TEST(TensorflowImporter, crops_of_boxes) {
  std::vector<float> pixels;
  for (int i = 0; i < 24; ++i) pixels.push_back(static_cast<float>(i * i % 17));
  const std::vector<Datum> inputs = {Datum(Tensor::of_f32({2, 3, 4, 1}, pixels))};
  const auto crops = [&](const std::vector<int64_t>& image, const std::string& method, std::vector<int64_t> size, float outside) {
    return run(*import_graph(placeholder_node("x", image) +
                             floats("boxes", {4, 4}, {0, 0, 1, 1, 0.1f, 0.25f, 0.9f, 0.5f, 1, 1, 0, 0, -0.5f, 0.2f, 0.5f, 1.4f}) +
                             ints("which", {4}, {0, 1, 1, 0}) + ints("size", {2}, size) +
                             node("y", "CropAndResize", {"x", "boxes", "which", "size"},
                                  {entry("method", message(2, method)), entry("extrapolation_value", real(4, outside))})),
               inputs);
  };
  for (const std::vector<int64_t>& image : {std::vector<int64_t>{2, 3, 4, 1}, std::vector<int64_t>{-1, -1, -1, -1}}) {
    EXPECT_THAT(crops(image, "bilinear", {2, 3}, -1),
                Pointwise(testing::FloatNear(1e-5f), {0.f, 2.5f, 9.f, 13.f, 14.f,  2.f, 11.25f, 12.125f, 10.1f, 11.45f, 12.025f, 9.7f,
                                                      2.f, 12.f, 9.f, 4.f,  12.5f, 8.f, -1.f,   -1.f,    -1.f,  11.2f,  7.2f,    -1.f}));
    EXPECT_THAT(crops(image, "nearest", {2, 3}, -1),
                ElementsAre(0, 4, 9, 13, 15, 2, 16, 16, 9, 16, 16, 8, 2, 8, 9, 4, 9, 8, -1, -1, -1, 8, 2, -1));
    EXPECT_THAT(crops(image, "bilinear", {1, 2}, 0.5f),
                Pointwise(testing::FloatNear(1e-5f), {16.f, 15.f, 0.25f, 0.5f, 4.f, 1.f, 0.6f, 0.5f}));
  }
}

// A node that reads a stand-in for a refused node may fail, which is not the file's fault. Without a refused node, it is.
TEST(TensorflowImporter, errors_behind_a_refused_node_do_not_hide_it) {
  const std::string wrong = node("y", "ConcatV2", {"s"});
  EXPECT_THAT(error_of(placeholder_node("x", {2}) + node("s", "Strange", {"x"}) + wrong),
              testing::AllOf(HasSubstr("not supported: Strange (node \"s\")"), testing::Not(HasSubstr("ConcatV2"))));
  EXPECT_THAT(error_of(placeholder_node("x", {2}) + node("s", "Neg", {"x"}) + wrong), HasSubstr("node \"y\" (ConcatV2): has 1 inputs"));
}

TEST(TensorflowImporter, complex_numbers_are_for_few_operators) {
  const std::string spectrum = placeholder_node("x", {8}) + ints("n", {1}, {8}) + node("f", "RFFT", {"x", "n"}, {entry("T", number(6, 8))});
  EXPECT_THAT(error_of(spectrum + node("y", "Neg", {"f"}, {entry("T", number(6, 8))})),
              HasSubstr("node \"y\" (Neg): complex numbers are not supported here"));
  EXPECT_EQ(error_of(spectrum + node("y", "ComplexAbs", {"f"}, {entry("T", number(6, 8))})), "no error");
}

TEST(TensorflowImporter, permutations_that_are_computed) {
  // From the rank of x, which is known: a Transpose.
  const std::string reversed = ints("one", {}, {1}) + ints("zero", {}, {0}) + ints("back", {}, {-1}) + node("rank", "Rank", {"x"}) +
                               node("last", "Sub", {"rank", "one"}) + node("perm", "Range", {"last", "back", "back"}) +
                               node("y", "Transpose", {"x", "perm"});
  const auto known = import_graph(placeholder_node("x", {-1, 3}) + reversed);
  EXPECT_THAT(run(*known, {Datum(Tensor::of_f32({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}))}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(known->last()->op(), "Transpose");
  // From data.
  const auto computed =
      import_graph(placeholder_node("x", {-1, -1, 2}) + placeholder_node("perm", {3}, kInt) + node("y", "Transpose", {"x", "perm"}));
  const Datum x(Tensor::of_f32({2, 3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const auto perm = [](const std::vector<int32_t>& axes) {
    Tensor tensor(DType::i32, {3});
    std::copy(axes.begin(), axes.end(), tensor.writable().data<int32_t>());
    return Datum(tensor);
  };
  EXPECT_THAT(run(*computed, {x, perm({0, 1, 2})}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(run(*computed, {x, perm({2, 0, 1})}), ElementsAre(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
  EXPECT_THAT(run(*computed, {x, perm({-2, 2, 0})}), ElementsAre(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
}

std::string function(const std::string& name, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                     const std::vector<std::string>& nodes, const std::vector<std::string>& results) {
  std::string signature = message(1, name), body;
  for (const std::string& input : inputs) signature += message(2, message(1, input));
  for (const std::string& output : outputs) signature += message(3, message(1, output));
  body = message(1, signature);
  for (const std::string& one : nodes) body += message(3, one);
  for (const std::string& result : results) body += message(4, result);
  return message(2, message(1, body));
}

TEST(TensorflowImporter, functions_and_loops) {
  // while (n > 0) { x = x * x; n = n - 1 }
  const std::string zero = message(8, number(1, kInt) + message(2, "") + message(7, varint(0))),
                    one = message(8, number(1, kInt) + message(2, "") + message(7, varint(1)));
  const std::string library =
      function("more", {"n", "x"}, {"go"},
               {node_body("zero", "Const", {}, {entry("value", zero)}), node_body("greater", "Greater", {"n", "zero:output:0"}, {})},
               {entry("go", "greater:z:0")}) +
      function("step", {"n", "x"}, {"m", "y"},
               {node_body("square", "Mul", {"x", "x"}, {}), node_body("one", "Const", {}, {entry("value", one)}),
                node_body("less", "Sub", {"n", "one:output:0"}, {})},
               {entry("m", "less:z:0"), entry("y", "square:z:0")});
  const std::string graph =
      placeholder_node("n", {}, kInt) + placeholder_node("x", {2}) +
      node("loop", "While", {"n", "x"}, {entry("cond", message(10, message(1, "more"))), entry("body", message(10, message(1, "step")))}) +
      node("y", "Identity", {"loop:1"}) + library;
  Tensor n(DType::i32, Shape{});
  *n.writable().data<int32_t>() = 2;
  const auto imported = import_graph(graph);
  EXPECT_THAT(run(*imported, {Datum(n), vector({2, 3})}), ElementsAre(16, 81));
}

// i = 0; while (i < n) { x = x * k; i = i + 1 }, as the first generation writes it.
std::string old_loop(const std::string& back = "next_x") {
  const std::string frame = entry("frame_name", message(2, "while"));
  return placeholder_node("n", {}, kInt) + placeholder_node("x", {2}) + ints("zero", {}, {0}) + ints("one", {}, {1}) +
         floats("k", {}, {3}) + node("enter_i", "Enter", {"zero"}, {frame}) + node("enter_x", "Enter", {"x"}, {frame}) +
         node("enter_n", "Enter", {"n"}, {frame, entry("is_constant", number(5, 1))}) +
         node("enter_k", "Enter", {"k"}, {frame, entry("is_constant", number(5, 1))}) + node("merge_i", "Merge", {"enter_i", "next_i"}) +
         node("merge_x", "Merge", {"enter_x", back}) + node("less", "Less", {"merge_i", "enter_n"}) + node("go", "LoopCond", {"less"}) +
         node("switch_i", "Switch", {"merge_i", "go"}) + node("switch_x", "Switch", {"merge_x", "go"}) +
         node("exit_i", "Exit", {"switch_i"}) + node("exit_x", "Exit", {"switch_x"}) + node("more", "Add", {"switch_i:1", "one"}) +
         node("times", "Mul", {"switch_x:1", "enter_k"}) + node("next_i", "NextIteration", {"more"}) +
         node("next_x", "NextIteration", {"times"});
}

Datum number_of(int32_t value) {
  Tensor n(DType::i32, Shape{});
  *n.writable().data<int32_t>() = value;
  return Datum(n);
}

TEST(TensorflowImporter, loops_of_the_first_generation) {
  const auto imported = import_graph(old_loop() + node("y", "Neg", {"exit_x"}));
  ASSERT_EQ(imported->outputs().size(), 1u);  // "exit_i" leaves the loop and is not asked for
  EXPECT_EQ(imported->outputs()[0]->name(), "y");
  for (const Node& loop : imported->nodes())
    if (loop.op() == "Loop") {
      EXPECT_EQ(loop.input_count(), 4u);  // what does not change is not handed on
    }
  EXPECT_THAT(run(*imported, {number_of(2), vector({1, 2})}), ElementsAre(-9, -18));
  EXPECT_THAT(run(*imported, {number_of(0), vector({1, 2})}), ElementsAre(-1, -2));
  EXPECT_EQ(import_graph(old_loop())->outputs().size(), 2u);  // nothing else is there
}

TEST(TensorflowImporter, branches_of_the_first_generation) {
  const std::string graph = placeholder_node("x", {2}) + placeholder_node("n", {}, kInt) + ints("zero", {}, {0}) +
                            floats("k", {2}, {7, 8}) + node("yes", "Greater", {"n", "zero"}) + node("switch", "Switch", {"x", "yes"}) +
                            node("pivot", "Identity", {"switch"}) + node("constant", "Identity", {"k", "^pivot"}) +
                            node("twice", "Add", {"switch:1", "switch:1"}) + node("merge", "Merge", {"constant", "twice"}) +
                            node("y", "Neg", {"merge"});
  const auto imported = import_graph(graph);
  EXPECT_THAT(run(*imported, {vector({1, 2}), number_of(1)}), ElementsAre(-2, -4));
  EXPECT_THAT(run(*imported, {vector({1, 2}), number_of(0)}), ElementsAre(-7, -8));
}

TEST(TensorflowImporter, circles_that_are_no_loops) {
  EXPECT_THAT(error_of(old_loop("times")), HasSubstr("node \"exit_x\" (Exit): leaves no loop"));
  EXPECT_THAT(error_of(placeholder_node("x", {2}) + node("exit", "Exit", {"x"})), HasSubstr("node \"exit\" (Exit): leaves no loop"));
  EXPECT_THAT(error_of(placeholder_node("x", {2}) + node("y", "Merge", {"x", "x"})), HasSubstr("no condition leads to it"));
  EXPECT_THAT(error_of(placeholder_node("x", {2}) + node("y", "Enter", {"x"}, {entry("frame_name", message(2, "f"))})),
              HasSubstr("node \"y\" (Enter): its loop goes round nothing"));
  EXPECT_THAT(error_of(node("y", "Merge", {})), HasSubstr("input 0 is missing"));
}

// Every branch needs the same long chain: what would be copied grows with the square of the file.
TEST(TensorflowImporter, branches_that_share_a_long_chain_are_refused_in_time) {
  constexpr int kLength = 3000;
  std::string graph =
      placeholder_node("x", {2}) + placeholder_node("yes", {}, 10) + node("c0", "Neg", {"x"}) + node("switch", "Switch", {"x", "yes"});
  for (int i = 1; i < kLength; ++i) graph += node("c" + std::to_string(i), "Neg", {"c" + std::to_string(i - 1)});
  for (int i = 0; i < kLength; ++i) graph += node("s" + std::to_string(i) + "/m", "Merge", {"c" + std::to_string(kLength - 1), "switch:1"});
  EXPECT_THAT(error_of(graph), HasSubstr("very large graph"));
}

TEST(TensorflowImporter, lists) {
  const std::string of_floats = entry("element_dtype", number(6, kFloat));
  const std::string graph = placeholder_node("x", {2}) + ints("count", {}, {2}) + ints("shape", {1}, {2}) + ints("one", {}, {1}) +
                            node("empty", "TensorListReserve", {"shape", "count"}, {of_floats}) +
                            node("set", "TensorListSetItem", {"empty", "one", "x"}, {of_floats}) +
                            node("y", "TensorListStack", {"set", "shape"}, {of_floats});
  EXPECT_THAT(run(*import_graph(graph), {vector({1, 2})}), ElementsAre(0, 0, 1, 2));  // what was not set is zeros
}

TEST(TensorflowImporter, slices_from_the_edges) {
  const auto sliced = [](int64_t begin, int64_t end, int64_t stride, const std::vector<std::string>& masks) {
    return placeholder_node("x", {3}) + ints("begin", {1}, {begin}) + ints("end", {1}, {end}) + ints("stride", {1}, {stride}) +
           node("y", "StridedSlice", {"x", "begin", "end", "stride"}, masks);
  };
  const std::string begin = entry("begin_mask", number(3, 1)), end = entry("end_mask", number(3, 1)),
                    shrink = entry("shrink_axis_mask", number(3, 1));
  EXPECT_THAT(run(*import_graph(sliced(0, 0, -1, {begin, end})), {vector({1, 2, 3})}), ElementsAre(3, 2, 1));
  EXPECT_THAT(run(*import_graph(sliced(0, -3, -2, {begin})), {vector({1, 2, 3})}), ElementsAre(3));
  EXPECT_THAT(run(*import_graph(sliced(-1, 0, 1, {shrink})), {vector({1, 2, 3})}), ElementsAre(3));
  EXPECT_THAT(run(*import_graph(sliced(1, 7, 1, {begin, end, shrink})), {vector({1, 2, 3})}), ElementsAre(2));
}

TEST(TensorflowImporter, all_that_is_missing_is_told_at_once) {
  const std::string text =
      error_of(placeholder_node("x", {2}) + node("a", "Strange", {"x"}) + node("b", "Odd", {"a"}) + node("c", "Strange", {"b"}) +
               node("d", "Third", {"c"}) + node("e", "Fourth", {"d", "x"}) + node("f", "Fifth", {"e"}));
  EXPECT_THAT(text, HasSubstr("operators are not supported: Fifth (node \"f\"); Fourth (node \"e\"); Odd (node \"b\"); "
                              "Strange (nodes \"a\", \"c\"); Third (node \"d\")"));
}

TEST(TensorflowImporter, strings_are_refused_by_name) {
  constexpr int64_t kString = 7;
  EXPECT_THAT(error_of(placeholder_node("words", {2}, kString) + node("y", "StringLower", {"words"})),
              HasSubstr("operators are not supported: StringLower (node \"y\"); node \"words\" (Placeholder): strings are not supported"));
}

TEST(TensorflowImporter, shapes_that_the_file_does_not_say_may_be_given) {
  const std::string graph =
      node("x", "Placeholder", {}, {entry("dtype", number(6, kFloat))}) + node("y", "Pack", {"x", "x"}, {entry("axis", number(3, -1))});
  EXPECT_THAT(error_of(graph), HasSubstr("node \"y\" (Pack): a tensor of unknown rank is not supported"));
  ImportOptions options;
  options.shapes["x"] = {-1, 2};
  const auto imported = import_tensorflow(as_bytes(graph), nullptr, options);
  EXPECT_EQ(to_string(imported->inputs()[0]->type), "f32[?, 2]");
  EXPECT_THAT(run(*imported, {Datum(Tensor::of_f32({1, 2}, std::vector<float>{1, 2}))}), ElementsAre(1, 1, 2, 2));
}

TEST(TensorflowImporter, contradictions) {
  EXPECT_THAT(error_of(placeholder_node("x", {2}) + node("y", "Add", {"x", "z"})),
              HasSubstr("node \"y\" (Add): \"z\" is used, but no node makes it"));
  EXPECT_THAT(error_of(node("a", "Neg", {"b"}) + node("b", "Neg", {"a"}) + node("y", "Neg", {"a"})), HasSubstr("go round in a circle"));
  EXPECT_THAT(error_of(placeholder_node("x", {2}) + placeholder_node("x", {2})), HasSubstr("two nodes have the same name"));
}

TEST(TensorflowImporter, a_slice_has_no_more_entries_than_masks_have_bits) {
  const auto sliced = [](int64_t entries) {
    const std::vector<int64_t> zeros(static_cast<size_t>(entries), 0), ones(static_cast<size_t>(entries), 1);
    return placeholder_node("x", {2}) + ints("begin", {entries}, zeros) + ints("end", {entries}, ones) + ints("stride", {entries}, ones) +
           node("y", "StridedSlice", {"x", "begin", "end", "stride"}, {entry("new_axis_mask", number(3, -1))});
  };
  EXPECT_THAT(error_of(sliced(65)), HasSubstr("node \"y\" (StridedSlice): it slices by 65 entries, masks have bits for 63"));
  EXPECT_THAT(error_of(sliced(64)), HasSubstr("it slices by 64 entries"));
  EXPECT_EQ(error_of(sliced(4)), "no error");
}

const Format& format_named(std::string_view name) {
  for (const Format& format : import_formats())
    if (format.name == name) return format;
  throw InternalError("there is no format \"{}\"", name);
}

TEST(TensorflowImporter, at_least_230_operators) { EXPECT_GE(format_named("tensorflow").operators().size(), 230u); }

TEST(TensorflowImporter, damaged_files_give_an_error_or_a_graph) {
  const std::string whole =
      placeholder_node("x", {1, 4, 4, 2}) + floats("w", {2, 2, 2, 3}, {1, 2}) +
      node("conv", "Conv2D", {"x", "w"},
           {entry("strides", message(1, message(3, std::string("\1\2\2\1", 4)))), entry("padding", message(2, "SAME"))}) +
      floats("b", {3}, {1}) + node("bias", "BiasAdd", {"conv", "b"}) + ints("axes", {2}, {1, 2}) +
      node("mean", "Mean", {"bias", "axes"}, {entry("keep_dims", number(5, 1))}) + node("y", "Relu", {"mean"});
  EXPECT_NO_THROW(import_graph(whole));
  const auto expect_error_or_graph = [](const std::string& bytes) {
    try {
      import_graph(bytes);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    }
  };
  for (size_t size = 0; size < whole.size(); ++size) expect_error_or_graph(whole.substr(0, size));
  std::mt19937 random(7);
  for (int i = 0; i < 10000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 1 + i % 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    expect_error_or_graph(damaged);
  }
}

}  // namespace
}  // namespace minnow::tensorflow
