// SPDX-License-Identifier: Apache-2.0
// Plans of quantization-aware training, and the integer models that follow from them: the same as those of post-training quantization.
#include <gmock/gmock.h>
#include <minnow/compress.h>
#include <minnow/convert.h>

#include <cmath>

#include "base/error.h"
#include "compress/models.h"
#include "graph/graph.h"
#include "support/random.h"
#include "support/sentence.h"

namespace minnow::compress {
namespace {

using test::normal_tensor;
using test::sentence_of;
using testing::HasSubstr;

constexpr const char* kNetwork = R"(graph "network" {
  input x: f32[n, 3, 9, 9]
  const w1 = f32[8, 3, 3, 3] random 1
  const scale = f32[8] random 2
  const shift = f32[8] random 3
  const mean = f32[8] random 4
  const variance = f32[8] [1, 2, 3, 0.5, 1, 4, 1, 2]
  const w2 = f32[4, 8, 1, 1] random 6
  const b2 = f32[4] random 7
  c1 = Conv(x, w1) {pads = [1, 1, 1, 1]} @"first"
  n1 = BatchNormalization(c1, scale, shift, mean, variance)
  r1 = Relu(n1)
  c2 = Conv(r1, w2, b2) @"second"
  y = GlobalAveragePool(c2)
  output y
})";

Model network() { return model_of(kNetwork); }

Samples pictures(size_t count = 6) {
  return {count, [](size_t i) { return std::vector<Tensor>{normal_tensor({1, 3, 9, 9}, static_cast<unsigned>(i) + 1)}; }};
}

TrainedNumbers numbers_of(const TrainingPlan& plan) {
  TrainedNumbers numbers;
  for (const TrainedLayer& layer : plan.layers) numbers.steps[layer.name] = layer.steps;
  for (const TrainedValues& values : plan.values)
    for (const std::string& name : values.names) numbers.scales[name] = values.scale;
  return numbers;
}

TEST(Training, a_plan_keeps_batch_normalization) {
  const TrainingPlan plan = plan_training(network(), pictures());
  ASSERT_EQ(plan.layers.size(), 2u);
  EXPECT_EQ(plan.layers[0].name, "n1");
  EXPECT_EQ(plan.layers[0].weights, "w1");
  EXPECT_EQ(plan.layers[0].scale, "scale");
  EXPECT_EQ(plan.layers[0].variance, "variance");
  EXPECT_EQ(plan.layers[0].steps.size(), 8u);
  EXPECT_EQ(plan.layers[1].name, "c2");
  EXPECT_EQ(plan.layers[1].scale, "");
  ASSERT_GE(plan.values.size(), 2u);
  for (const TrainedValues& values : plan.values) EXPECT_GT(values.scale.scale, 0) << values.names[0];
  size_t normalizations = 0;
  for (const Node& node : plan.model.graph().nodes()) normalizations += node.op() == "BatchNormalization";
  EXPECT_EQ(normalizations, 1u) << to_text(plan.model.graph());
}

TEST(Training, without_samples_scales_are_open) {
  const TrainingPlan plan = plan_training(network(), {});
  EXPECT_EQ(plan.layers.size(), 2u);
  for (const TrainedValues& values : plan.values) EXPECT_EQ(values.scale.scale, 0);
}

TEST(Training, parameters_that_nodes_share_are_parted) {
  const Model model = convert_model(Model::from_graph(parse_graph(R"(graph {
    input x: f32[1, 4, 5, 5]
    const w = f32[4, 4, 1, 1] random 1
    const b = f32[4] random 2
    h = Conv(x, w, b)
    y = Conv(h, w, b)
    output y
  })")),
                                    {.optimize = Optimize::none});
  const Samples samples{2, [](size_t) { return std::vector<Tensor>{Tensor::of_f32({1, 4, 5, 5}, std::vector<float>(100, 0.5F))}; }};
  const TrainingPlan plan = plan_training(model, samples);
  ASSERT_EQ(plan.layers.size(), 2u);
  EXPECT_NE(plan.layers[0].weights, plan.layers[1].weights);
}

TEST(Training, what_was_not_trained_is_what_quantize_makes) {
  for (const std::string activations : {"u8", "i8"}) {
    QuantizeOptions options;
    options.correct_bias = false, options.weights = "minmax", options.activations = activations, options.rounding = "nearest";
    const Samples samples = pictures();
    const Quantized wanted = quantize(network(), samples, options);
    const TrainingPlan plan = plan_training(network(), samples, options);
    options.evaluate = samples.count;
    const Quantized got = quantize_trained(plan.model, numbers_of(plan), samples, options);
    Session a(wanted.model), b(got.model);
    for (size_t i = 0; i < samples.count; ++i) {
      const std::vector<Tensor> inputs = samples.at(i);
      const std::vector<TensorView> views(inputs.begin(), inputs.end());
      const std::vector<Tensor> first = a.run(views), second = b.run(views);
      for (int64_t k = 0; k < first[0].elements(); ++k) EXPECT_EQ(first[0].data<float>()[k], second[0].data<float>()[k]);
    }
    EXPECT_EQ(got.report.layers.size(), 2u);
    EXPECT_GT(got.report.outputs[0].fidelity.sqnr, 20);
  }
}

TEST(Training, recurrences_that_were_not_trained_are_what_quantize_makes) {
  const Model model = model_of(R"(graph {
    input x: f32[5, 2, 6]
    const w = f32[2, 32, 6] random 1
    const r = f32[2, 32, 8] random 2
    const b = f32[2, 64] random 3
    y, h, c = LSTM(x, w, r, b) {hidden_size = 8, direction = "bidirectional"}
    output y
  })");
  const Samples samples{3, [](size_t i) { return std::vector<Tensor>{normal_tensor({5, 2, 6}, static_cast<unsigned>(i) + 1)}; }};
  for (const bool per_channel : {true, false}) {
    QuantizeOptions options;
    options.weight_bits = 4, options.per_channel = per_channel;
    const TrainingPlan plan = plan_training(model, samples, options);
    ASSERT_EQ(plan.layers.size(), 2u);
    EXPECT_EQ(plan.layers[0].name, "y.W");
    EXPECT_EQ(plan.layers[1].weights, "r");
    EXPECT_TRUE(plan.layers[1].gates);
    EXPECT_EQ(plan.layers[1].steps.size(), per_channel ? 64u : 1u);
    TrainedNumbers numbers = numbers_of(plan);
    const Quantized wanted = quantize(model, samples, options), got = quantize_trained(plan.model, numbers, samples, options);
    EXPECT_EQ(to_text(got.model.graph(), 1 << 20), to_text(wanted.model.graph(), 1 << 20));
    numbers.steps.erase("y.R");
    EXPECT_THAT(sentence_of([&] { quantize_trained(plan.model, numbers, {}, options); }), HasSubstr("layer \"y.R\" has no steps"));
  }
}

TEST(Training, errors_name_what_does_not_fit) {
  const Samples samples = pictures(2);
  const TrainingPlan plan = plan_training(network(), samples);
  const auto error = [&](auto&& change) {
    TrainedNumbers numbers = numbers_of(plan);
    change(numbers);
    return sentence_of([&] { quantize_trained(plan.model, numbers, {}, {}); });
  };
  EXPECT_THAT(error([](TrainedNumbers& n) { n.constants["w9"] = Tensor(DType::f32, {1}); }), HasSubstr("no constant \"w9\""));
  EXPECT_THAT(error([](TrainedNumbers& n) { n.constants["w1"] = Tensor(DType::f32, {1}); }),
              HasSubstr("constant \"w1\" is f32[8, 3, 3, 3]"));
  EXPECT_THAT(error([](TrainedNumbers& n) {
                n.constants["b2"] = Tensor::of_f32({4}, std::vector<float>{0, NAN, 0, 0});
              }),
              HasSubstr("not finite"));
  EXPECT_THAT(error([](TrainedNumbers& n) { n.steps.erase("n1"); }), HasSubstr("layer \"n1\" has no steps"));
  EXPECT_THAT(error([](TrainedNumbers& n) { n.steps["n1"].resize(3, 1); }), HasSubstr("8 channels, 3 steps"));
  EXPECT_THAT(error([](TrainedNumbers& n) { n.steps["n1"][2] = 0; }), HasSubstr("has the step 0"));
  EXPECT_THAT(error([](TrainedNumbers& n) { n.scales.erase("x"); }), HasSubstr("value \"x\" has no scale"));
  EXPECT_THAT(error([](TrainedNumbers& n) { n.scales["x"].scale = -1; }), HasSubstr("value \"x\" has the scale -1"));
  EXPECT_THAT(error([](TrainedNumbers& n) { n.scales["x"].zero = 300; }), HasSubstr("zero point 300"));
  QuantizeOptions options;
  options.equalize = true;
  EXPECT_THAT(sentence_of([&] { plan_training(network(), samples, options); }), HasSubstr("equalize"));
}

}  // namespace
}  // namespace minnow::compress
