// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "exporters/onnx/onnx.h"
#include "importers/formats.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class OnnxExport : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / format("minnow_export_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The graph of the text, written and read again.
  std::unique_ptr<Graph> round_trip(std::string_view text, const OnnxOptions& options = {}) {
    before_ = parse_graph(text);
    infer_types(OperatorSet::builtin(), *before_);
    const std::string path = (folder_ / "model.onnx").string();
    export_onnx(OperatorSet::builtin(), *before_, path, options);
    return import_onnx(path, {});
  }
  static std::vector<std::string> names(const auto& values) {
    std::vector<std::string> list;
    for (const auto& value : values) list.push_back(value->name());
    return list;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Graph> before_;
};

TEST_F(OnnxExport, states_become_inputs_and_outputs) {
  const auto graph = round_trip(R"(graph {
  input x: f32[2]
  state total: f32[2] = f32[2] [1, 2] next sum
  sum: f32[2] = Add(x, total)
  output sum
})");
  EXPECT_THAT(names(graph->inputs()), ElementsAre("x", "total"));
  EXPECT_THAT(names(graph->outputs()), ElementsAre("sum", "total_next"));
  EXPECT_TRUE(graph->states().empty());
}

TEST_F(OnnxExport, constants_of_few_bits_keep_their_elements) {
  const auto graph = round_trip(R"(graph {
  input x: f32[3]
  const nibbles = i4[3] [-8, 7, 1]
  const codes = u2[5] [0, 1, 2, 3, 2]
  const none = f32[0, 4] []
  const half = bf16[2] [0.5, 1]
  a: i4[3] = Identity(nibbles)
  b: u2[5] = Identity(codes)
  c: f32[0, 4] = Identity(none)
  d: bf16[2] = Identity(half)
  y: f32[3] = Relu(x)
  output y
  output a
  output b
  output c
  output d
})");
  const std::vector<Datum> inputs = {Datum(Tensor(DType::f32, {3}))};
  const auto expected = evaluate(OperatorSet::builtin(), *before_, inputs), actual = evaluate(OperatorSet::builtin(), *graph, inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].tensor.dtype(), expected[i].tensor.dtype());
    ASSERT_EQ(actual[i].tensor.shape(), expected[i].tensor.shape());
    EXPECT_EQ(std::memcmp(actual[i].tensor.data(), expected[i].tensor.data(), expected[i].tensor.bytes()), 0) << i;
  }
}

TEST_F(OnnxExport, integers_with_a_result_in_f32_become_DequantizeLinear_and_a_layer) {
  const auto graph = round_trip(R"(graph {
  input x: u8[1, 2, 1, 2]
  const sx = f32[] 0.5
  const zx = u8[] 1
  const sw = f32[] 0.25
  const zw = i8[] 0
  const w = i8[2, 2, 1, 1] [2, -3, 1, 4]
  const b = i32[2] [1, -4]
  const m = i8[4, 2] [1, -2, 3, -4, 5, -6, 7, -8]
  const shape = i64[2] [1, 4]
  y: f32[1, 2, 1, 2] = minnow.QuantizedConv(x, sx, zx, w, sw, zw, _, _, b) {activation = "Relu"}
  flat: u8[1, 4] = Reshape(x, shape)
  z: f32[1, 2] = minnow.QuantizedMatMul(flat, sx, zx, m, sw, zw, _, _, b)
  output y
  output z
})");
  std::vector<std::string> ops;
  for (const Node& node : graph->nodes())
    if (node.op() != "DequantizeLinear" && node.op() != "Reshape") ops.push_back(node.op());
  EXPECT_THAT(ops, testing::UnorderedElementsAre("Conv", "Relu", "Gemm"));
  Tensor x(DType::u8, {1, 2, 1, 2});
  for (int i = 0; i < 4; ++i) x.writable().data<uint8_t>()[i] = static_cast<uint8_t>(3 + 7 * i);
  const std::vector<Datum> inputs = {Datum(x)};
  const auto expected = evaluate(OperatorSet::builtin(), *before_, inputs), actual = evaluate(OperatorSet::builtin(), *graph, inputs);
  for (size_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < expected[i].tensor.elements(); ++k)
      EXPECT_FLOAT_EQ(actual[i].tensor.data<float>()[k], expected[i].tensor.data<float>()[k]) << i << ", " << k;
}

TEST_F(OnnxExport, residuals_of_quantized_convolutions_are_added_before_QuantizeLinear) {
  const auto graph = round_trip(R"(graph {
  input x: u8[1, 3, 4, 4]
  input r: i8[1, 2, 4, 4]
  const w = i8[2, 3, 1, 1] random 1
  const b = i32[2] [40, -70]
  const s = f32[] 0.25
  const sums = f32[] 2
  const z = u8[] 3
  const zw = i8[] 0
  y: u8[1, 2, 4, 4] = minnow.QuantizedConv(x, s, z, w, s, zw, sums, z, b, r, s, zw) {activation = "Relu"}
  output y
})");
  std::vector<std::string> ops;
  for (const Node& node : graph->nodes()) ops.push_back(node.op());
  EXPECT_THAT(ops, testing::UnorderedElementsAre("DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv",
                                                 "Add", "Relu", "QuantizeLinear"));
}

// In ONNX a name is a value; here graphs within have values of the same name as those outside, and all nodes are called "n".
TEST_F(OnnxExport, names_that_repeat_are_told_apart) {
  const auto graph = round_trip(R"(graph {
  input x: f32[2]
  input flag: bool[]
  v: f32[2] = Relu(x) @"n"
  y: f32[2] = If(flag) {then_branch = graph {
    v'2: f32[2] = Neg(v) @"n"
    v'3: f32[2] = Exp(v'2) @"n"
    output v'3
  }, else_branch = graph {
    output v
  }} @"n"
  output y
})");
  for (const uint8_t flag : {0, 1}) {
    Tensor condition(DType::boolean, {});
    *condition.writable().data<uint8_t>() = flag;
    const std::vector<float> x = {-1, 2};
    const std::vector<Datum> inputs = {Datum(Tensor::of_f32({2}, x)), Datum(condition)};
    const auto expected = evaluate(OperatorSet::builtin(), *before_, inputs), actual = evaluate(OperatorSet::builtin(), *graph, inputs);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(actual[0].tensor.data<float>()[i], expected[0].tensor.data<float>()[i]);
  }
}

TEST_F(OnnxExport, fused_operators_are_taken_apart) {
  const auto graph = round_trip(R"(graph {
  input x: f32[batch, 8]
  const w = f32[8, 4] random 1
  const b = f32[4] random 2
  y: f32[batch, 4] = minnow.FusedMatMul(x, w, b) {activation = "Swish", alpha = 2.0}
  output y
})");
  std::vector<std::string> ops;
  for (const Node& node : graph->nodes()) ops.push_back(node.op());
  EXPECT_THAT(ops, ElementsAre("Gemm", "Sigmoid", "Mul"));
  EXPECT_EQ(to_string(graph->outputs()[0]->type), "f32[batch, 4]");
}

TEST_F(OnnxExport, what_onnx_cannot_say_is_refused_with_the_node) {
  try {
    round_trip("graph {\n  input x: f32\n  y: f32 = Relu(x)\n  output y\n}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("input \"x\" has no number of dimensions"));
  }
  try {
    round_trip("graph {\n  input x: f32[2, 2]\n  const a = i64[] 0\n  y: f32[2, 2] = CumProd(x, a) @\"product\"\n  output y\n}",
               {.opset = 25});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("opset 25"));
    EXPECT_THAT(error.what(), HasSubstr("node \"product\" (CumProd)"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.onnx"));
}

TEST_F(OnnxExport, external_data_lies_in_pages) {
  const auto graph = round_trip(R"(graph {
  input x: f32[2]
  const small = f32[8] random 1
  const first = f32[2000] random 2
  const second = f32[3000] random 3
  y: f32[5010] = Concat(x, small, first, second) {axis = 0}
  output y
})",
                                {.external_data = true});
  EXPECT_EQ(std::filesystem::file_size(folder_ / "model.onnx.data"), 8192u + 12000u);
  const std::vector<Datum> inputs = {Datum(Tensor(DType::f32, {2}))};
  const auto expected = evaluate(OperatorSet::builtin(), *before_, inputs), actual = evaluate(OperatorSet::builtin(), *graph, inputs);
  EXPECT_EQ(std::memcmp(actual[0].tensor.data(), expected[0].tensor.data(), expected[0].tensor.bytes()), 0);
}

}  // namespace
}  // namespace minnow::test
