// SPDX-License-Identifier: Apache-2.0
// Damaged files give an error or a graph, and nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "base/memory.h"
#include "importers/importer.h"
#include "support/onnx_messages.h"
#include "support/paths.h"

namespace minnow {
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

constexpr size_t kLarge = 100000;  // bytes; copying the weights of such a file takes longer than reading it

void expect_error_or_graph(const std::string& bytes) {
  ImportOptions options;
  options.warn = [](std::string_view) {};
  try {
    import_onnx(as_bytes(bytes), nullptr, options);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
  }
}

std::vector<std::string> real_models() {
  std::vector<std::string> models = {everything()};
  for (const char* name : {"onnx/resample_48_16/model.onnx", "onnx/silero_vad/model.onnx"}) {
    std::ifstream file(test::models_dir() / name, std::ios::binary);
    if (file) models.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return models;
}

/// No single allocation beyond a small multiple of the file.
struct Limit {
  explicit Limit(size_t file) : before(memory_limit()) { set_memory_limit(file * 4 + (size_t{64} << 20)); }
  ~Limit() { set_memory_limit(before); }
  size_t before;
};

TEST(OnnxRobust, the_model_itself_is_right) { EXPECT_NO_THROW(import_onnx(as_bytes(everything()), nullptr)); }

TEST(OnnxRobust, every_truncation) {
  for (const std::string& whole : real_models()) {
    const Limit limit(whole.size());
    const size_t step = std::max<size_t>(1, whole.size() / (whole.size() > kLarge ? 200 : 1000));
    for (size_t size = 0; size < whole.size(); size += step) expect_error_or_graph(whole.substr(0, size));
  }
}

TEST(OnnxRobust, ten_thousand_flipped_bytes) {
  for (const std::string& whole : real_models()) {
    const Limit limit(whole.size());
    std::mt19937 random(7);
    std::string damaged = whole;
    // Structure lies at both ends of a large file, weights between; three flips of four hit the structure.
    const size_t edge = std::min<size_t>(whole.size() / 2, 20000);
    const size_t times = whole.size() > kLarge ? 300 : 10000;
    for (size_t i = 0; i < times; ++i) {
      const size_t at = i % 4 == 0 ? random() % whole.size() : i % 4 == 1 ? random() % edge : whole.size() - 1 - random() % edge;
      const char old = damaged[at];
      damaged[at] = static_cast<char>(random());
      expect_error_or_graph(damaged);
      if (i % 3) damaged[at] = old;  // some stay, so that errors meet errors
      if (i % 100 == 99) damaged = whole;
    }
  }
}

}  // namespace
}  // namespace minnow
