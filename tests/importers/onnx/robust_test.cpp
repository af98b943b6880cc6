// SPDX-License-Identifier: Apache-2.0
// Damaged files give an error or a graph, and nothing else.
#include <gtest/gtest.h>

#include "importers/importer.h"
#include "support/damage.h"
#include "support/onnx_messages.h"
#include "support/paths.h"

namespace minnow::onnx {
namespace {

using namespace test::onnx_file;

/// A model with a bit of everything that the reader knows.
std::string everything() {
  const std::string scale =
      function({.name = "scale",
                .inputs = {"x"},
                .outputs = {"y"},
                .nodes = {node("Constant", {}, {"k"}, {reference_attribute("value_float", "by", AttributeType::real)}),
                          node("Mul", {"x", "k"}, {"y"})},
                .defaults = {attribute("by", 2.0f)}});
  const std::string branch = graph({.outputs = {value("t")}, .nodes = {node("scale", {"h"}, {"t"}, {}, "", "local")}});
  const std::string other =
      graph({.outputs = {value("t")}, .nodes = {node("Add", {"h", "w"}, {"t"})}, .initializers = {floats("w", {1}, {1})}});
  return model(
      GraphParts{.inputs = {value("x", tensor_type(DType::f32, {"n", "4"})), value("c", tensor_type(DType::boolean, {}))},
                 .outputs = {value("y", tensor_type(DType::f32, {"n", "?"}))},
                 .nodes = {node("ReduceSum", {"x", "axes"}, {"s"}, {attribute("keepdims", int64_t{1})}, "sum"),
                           node("Clip", {"s", "", "high"}, {"h"}),
                           node("If", {"c"}, {"i"}, {graph_attribute("then_branch", branch), graph_attribute("else_branch", other)}),
                           node("Constant", {}, {"shape"}, {attribute("value_ints", std::vector<int64_t>{-1, 1})}),
                           node("Reshape", {"i", "shape"}, {"y"})},
                 .initializers = {ints("axes", {1}, {1}), floats("high", {}, {6}), raw_tensor("u", DType::u4, {3}, "\x21\x03")},
                 .values = {value("s", tensor_type(DType::f32, {"n", "1"}))}},
      {.opsets = {opset("", 21), opset("local", 1)}, .functions = {scale}, .properties = {{"a", "b"}}});
}

constexpr test::Damage kDamage{.large_truncations = 200, .flips = 10000, .large_flips = 300, .memory = 4};

std::vector<std::string> real_models() {
  std::vector<std::string> models =
      test::contents_of({test::models_dir() / "onnx/resample_48_16/model.onnx", test::models_dir() / "onnx/silero_vad/model.onnx"});
  models.push_back(everything());
  return models;
}

TEST(OnnxRobust, the_model_itself_is_right) { EXPECT_NO_THROW(import_onnx(as_bytes(everything()), nullptr)); }

TEST(OnnxRobust, every_truncation) { test::expect_errors_or_graphs_of_parts(real_models(), kDamage, test::reader_of("onnx")); }

TEST(OnnxRobust, thousands_of_changed_bytes) { test::expect_errors_or_graphs_of_changed(real_models(), kDamage, test::reader_of("onnx")); }

}  // namespace
}  // namespace minnow::onnx
