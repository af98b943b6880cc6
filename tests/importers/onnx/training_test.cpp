// SPDX-License-Identifier: Apache-2.0
// Training-mode Dropout and BatchNormalization in a file meant for inference.
#include <gmock/gmock.h>
#include <minnow/convert.h>

#include <cmath>

#include "support/onnx_messages.h"

namespace minnow::onnx {
namespace {

using namespace test::onnx_file;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kX[] = {1, -2, 3, 5};

struct Converted {
  std::vector<std::string> warnings;
  std::vector<std::vector<float>> outputs;  // for x = kX, and nothing else
};

Converted converted(const std::string& bytes, Optimize optimize) {
  Converted result;
  ConvertOptions options;
  options.optimize = optimize;
  options.warn = [&](std::string_view message) { result.warnings.emplace_back(message); };
  const Model model = convert_memory(as_bytes(bytes), options);
  SessionOptions one_thread;
  one_thread.threads = 1;
  Session session(model, one_thread);
  const Tensor x(TensorView(DType::f32, {2, 2}, kX)), training(DType::boolean, Shape{});
  std::vector<TensorView> inputs{x};
  if (model.inputs().size() > 1) inputs.push_back(training);
  for (const Tensor& output : session.run(inputs)) {
    const float* values = output.data<float>();
    result.outputs.emplace_back(values, values + output.elements());
  }
  return result;
}

std::string model_of(const std::string& one, int64_t opset_version, const Names& outputs = {"y"}, const Names& more_inputs = {}) {
  GraphParts parts;
  parts.inputs = {value("x", tensor_type(DType::f32, {"2", "2"}))};
  parts.inputs.insert(parts.inputs.end(), more_inputs.begin(), more_inputs.end());
  for (const std::string& output : outputs) parts.outputs.push_back(value(output, {}));
  parts.nodes = {one};
  parts.initializers = {floats("ratio", {}, {0.5f}),
                        raw_tensor("on", DType::boolean, {}, std::string(1, '\1')),
                        raw_tensor("off", DType::boolean, {}, std::string(1, '\0')),
                        floats("scale", {2}, {2, 3}),
                        floats("bias", {2}, {0.5f, 1}),
                        floats("mean", {2}, {1, 2}),
                        floats("var", {2}, {4, 9})};
  ModelParts more;
  more.opsets = {opset("", opset_version)};
  return model(parts, more);
}

constexpr const char* kWarning = "training mode is read as inference";

TEST(OnnxTraining, dropout_lets_all_through) {
  struct Case {
    int64_t opset;
    std::string node;
    bool warns;
    Names more_inputs = {};
  };
  const Case cases[] = {
      {6, node("Dropout", {"x"}, {"y"}, {attribute("ratio", 0.5f)}, "drop"), true},
      {6, node("Dropout", {"x"}, {"y"}, {attribute("is_test", int64_t{1})}, "drop"), false},
      {7, node("Dropout", {"x"}, {"y"}, {attribute("ratio", 0.5f)}, "drop"), false},
      {12, node("Dropout", {"x", "ratio", "on"}, {"y"}, {}, "drop"), true},
      {13, node("Dropout", {"x", "ratio", "on"}, {"y", "mask"}, {}, "drop"), true},
      {22, node("Dropout", {"x", "ratio", "off"}, {"y"}, {}, "drop"), false},
      {22, node("Dropout", {"x", "", "given"}, {"y"}, {}, "drop"), true, {value("given", tensor_type(DType::boolean, {}))}},
  };
  for (const Case& one : cases)
    for (const Optimize optimize : {Optimize::none, Optimize::standard}) {
      const Converted result = converted(model_of(one.node, one.opset, {"y"}, one.more_inputs), optimize);
      EXPECT_THAT(result.outputs, ElementsAre(ElementsAre(1, -2, 3, 5))) << "opset " << one.opset;
      if (one.warns)
        EXPECT_THAT(result.warnings, ElementsAre(testing::AllOf(HasSubstr("node \"drop\" (Dropout)"), HasSubstr(kWarning))));
      else
        EXPECT_THAT(result.warnings, IsEmpty()) << "opset " << one.opset;
    }
}

TEST(OnnxTraining, batch_normalization_takes_the_statistics_of_the_file) {
  const Names inputs = {"x", "scale", "bias", "mean", "var"};
  struct Case {
    int64_t opset;
    std::string node;
    bool warns;
  };
  const auto norm = [&](const Names& outputs, const Names& attributes) {
    return node("BatchNormalization", inputs, outputs, attributes, "norm");
  };
  const Case cases[] = {
      {1, norm({"y"}, {attribute("is_test", int64_t{0})}), true},
      {6, norm({"y"}, {attribute("is_test", int64_t{1})}), false},
      {7, norm({"y"}, {}), false},
      {9, norm({"y", "m", "v", "sm", "sv"}, {}), true},  // several outputs are what meant training
      {14, norm({"y"}, {attribute("training_mode", int64_t{0})}), false},
      {14, norm({"y"}, {attribute("training_mode", int64_t{1})}), true},
      {15, norm({"y", "m", "v"}, {attribute("training_mode", int64_t{1})}), true},
  };
  for (const Case& one : cases)
    for (const Optimize optimize : {Optimize::none, Optimize::standard}) {
      SCOPED_TRACE("opset " + std::to_string(one.opset));
      const Converted result = converted(model_of(one.node, one.opset), optimize);
      ASSERT_EQ(result.outputs.size(), 1u);
      for (size_t i = 0; i < 4; ++i) {
        const size_t c = i % 2;
        const double mean[] = {1, 2}, variance[] = {4, 9}, scale[] = {2, 3}, bias[] = {0.5, 1};
        EXPECT_NEAR(result.outputs[0][i], (kX[i] - mean[c]) / std::sqrt(variance[c] + 1e-5) * scale[c] + bias[c], 1e-5);
      }
      if (one.warns)
        EXPECT_THAT(result.warnings, ElementsAre(testing::AllOf(HasSubstr("node \"norm\" (BatchNormalization)"), HasSubstr(kWarning))));
      else
        EXPECT_THAT(result.warnings, IsEmpty());
    }
}

TEST(OnnxTraining, batch_normalization_whose_statistics_are_read_stays_in_training) {
  const std::string one = node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y", "m", "v"},
                               {attribute("training_mode", int64_t{1}), attribute("momentum", 0.5f)}, "norm");
  for (const Optimize optimize : {Optimize::none, Optimize::standard}) {
    const Converted result = converted(model_of(one, 15, {"y", "m"}), optimize);
    EXPECT_THAT(result.warnings, IsEmpty());
    // The batch's means are 2 and 1.5; the file's are 1 and 2.
    EXPECT_THAT(result.outputs[1], ElementsAre(1.5f, 1.75f));
    EXPECT_NEAR(result.outputs[0][0], -2 + 0.5, 1e-3);
  }
}

TEST(OnnxTraining, branches_are_looked_into) {
  GraphParts branch;
  branch.outputs = {value("z", {})};
  branch.nodes = {
      node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"z"}, {attribute("training_mode", int64_t{1})}, "norm")};
  GraphParts other;
  other.outputs = {value("z", {})};
  other.nodes = {node("Dropout", {"x", "ratio", "on"}, {"z"}, {}, "drop")};
  const std::string bytes = model_of(
      node("If", {"off"}, {"y"}, {graph_attribute("then_branch", graph(branch)), graph_attribute("else_branch", graph(other))}), 21);
  const Converted result = converted(bytes, Optimize::none);
  EXPECT_THAT(result.outputs, ElementsAre(ElementsAre(1, -2, 3, 5)));
  EXPECT_THAT(result.warnings,
              testing::UnorderedElementsAre(HasSubstr("node \"norm\" (BatchNormalization)"), HasSubstr("node \"drop\" (Dropout)")));
}

}  // namespace
}  // namespace minnow::onnx
