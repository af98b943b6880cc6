// SPDX-License-Identifier: Apache-2.0
// Whole networks: which layers become integers, how close results stay, and errors.
#include <gmock/gmock.h>
#include <minnow/compress.h>
#include <minnow/convert.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "compress/models.h"
#include "graph/graph.h"
#include "ops/storage_dtype.h"
#include "support/random.h"
#include "support/sentence.h"

namespace minnow::compress {
namespace {

using test::normal_tensor;
using test::sentence_of;
using testing::HasSubstr;

constexpr const char* kResidual = R"(graph "residual" {
  input x: f32[1, 3, 12, 12]
  const w1 = f32[8, 3, 3, 3] random 1
  const b1 = f32[8] random 2
  const w2 = f32[8, 8, 3, 3] random 3
  const b2 = f32[8] random 4
  const w3 = f32[8, 1, 3, 3] random 5
  const w4 = f32[16, 8, 1, 1] random 6
  const w5 = f32[16, 16, 1, 1] random 7
  const flat = i64[2] [1, 576]
  const w6 = f32[576, 10] random 8
  const b6 = f32[10] random 9
  const zero = f32[] 0.0
  const six = f32[] 6.0
  const w7 = f32[16, 32, 1, 1] random 10
  c1 = Conv(x, w1, b1) {pads = [1, 1, 1, 1]} @"first"
  r1 = Relu(c1)
  c2 = Conv(r1, w2, b2) {pads = [1, 1, 1, 1]} @"second"
  s = Add(c2, r1)
  r2 = Relu(s)
  c3 = Conv(r2, w3) {pads = [1, 1, 1, 1], group = 8} @"depthwise"
  r3 = Clip(c3, zero, six)
  p = MaxPool(r3) {kernel_shape = [2, 2], strides = [2, 2]}
  c4 = Conv(p, w4) @"wide"
  c5 = Conv(c4, w5) @"other"
  j = Concat(c4, c5) {axis = 1}
  g = AveragePool(j) {kernel_shape = [1, 1]}
  c7 = Conv(g, w7) @"joined"
  f = Reshape(c7, flat)
  y = Gemm(f, w6, b6) @"last"
  z = Softmax(y)
  output z
})";

Samples random_samples(const Shape& shape, size_t count = 8) {
  return {count, [shape](size_t i) { return std::vector<Tensor>{normal_tensor(shape, static_cast<unsigned>(i) + 1)}; }};
}

std::map<std::string, int> operators_of(const Model& model) {
  std::map<std::string, int> counts;
  for (const Node& node : model.graph().nodes()) ++counts[node.op()];
  return counts;
}

float largest_difference(const Tensor& a, const Tensor& b) {
  float largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) largest = std::max(largest, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  return largest;
}

TEST(Quantize, weights_of_16_bits_become_integers) {
  const Model model = model_of(R"(graph {
    input x: f32[1, 128, 5, 5]
    const random_w = f16[128, 128, 3, 3] random 1
    const random_v = f16[512, 128, 1, 1] random 2
    w = Cast(random_w) {to = 1}
    v = Cast(random_v) {to = 1}
    a = Conv(x, w) {pads = [1, 1, 1, 1]}
    b = Relu(a)
    y = Conv(b, v)
    output y
  })");
  const Quantized quantized = quantize(model, random_samples({1, 128, 5, 5}, 2));
  for (const LayerReport& layer : quantized.report.layers) EXPECT_EQ(layer.refusal, "");
  EXPECT_EQ(operators_of(quantized.model)["minnow.QuantizedConv"], 2) << to_text(quantized.model.graph());
}

TEST(Quantize, channels_that_depthwise_convolutions_read_have_scales_of_their_own) {
  const Model model = model_of(R"(graph {
    input x: f32[1, 4, 10, 10]
    const random_w = f32[6, 4, 1, 1] random 1
    const sizes = f32[6, 1, 1, 1] [0.01, 0.1, 1, 10, 0.02, 0.5]
    const depthwise_w = f32[6, 1, 3, 3] random 2
    const even = f32[6, 1, 1, 1] [100, 10, 1, 0.1, 50, 2]
    const last_w = f32[3, 6, 1, 1] random 3
    w = Mul(random_w, sizes)
    c = Conv(x, w)
    h = HardSwish(c)
    v = Mul(depthwise_w, even)
    d = Conv(h, v) {pads = [1, 1, 1, 1], group = 6}
    y = Conv(d, last_w)
    output y
  })");
  double sqnr[2];
  for (const bool per_channel : {false, true}) {
    QuantizeOptions options;
    options.per_channel = per_channel;
    const Quantized quantized = quantize(model, random_samples({1, 4, 10, 10}), options);
    std::vector<int64_t> scales;  // of the values that are quantized: x, h, d
    for (const Node& node : quantized.plain.graph().nodes())
      if (node.op() == "QuantizeLinear") scales.push_back(node.input(1)->constant()->elements());
    EXPECT_THAT(scales, testing::ElementsAre(1, per_channel ? 6 : 1, 1)) << to_text(quantized.plain.graph());
    EXPECT_EQ(operators_of(quantized.model)["minnow.QuantizedConv"], 3) << to_text(quantized.model.graph());
    sqnr[per_channel] = quantized.report.outputs[0].fidelity.sqnr;
  }
  EXPECT_GT(sqnr[1], sqnr[0] + 10);
  // Other engines' kernels know neither scales of channels nor functions before a result is rounded.
  QuantizeOptions portable;
  portable.portable = true;
  std::vector<int64_t> scales;
  const Quantized for_others = quantize(model, random_samples({1, 4, 10, 10}), portable);
  for (const Node& node : for_others.plain.graph().nodes())
    if (node.op() == "QuantizeLinear") scales.push_back(node.input(1)->constant()->elements());
  EXPECT_THAT(scales, testing::ElementsAre(1, 1, 1, 1));  // x, c, h, d
}

TEST(Quantize, a_file_of_16_bits_does_not_compute_in_them_afterwards) {
  const std::unique_ptr<Graph> graph = parse_graph(R"(graph {
    input x: f32[4, 128]
    const w = f32[128, 256] random 1
    y = MatMul(x, w)
    output y
  })");
  graph->metadata.properties[kStorageDtypeKey] = "f16";
  const Model model = convert_model(Model::from_graph(graph->clone()), {.optimize = Optimize::none});
  ASSERT_TRUE(model.properties().contains(kStorageDtypeKey));
  QuantizeOptions weights_only;
  weights_only.weights_only = "rtn";
  for (const QuantizeOptions& options : {QuantizeOptions(), weights_only}) {
    const Quantized quantized = quantize(model, random_samples({4, 128}, 2), options);
    EXPECT_FALSE(quantized.model.properties().contains(kStorageDtypeKey));
    EXPECT_FALSE(quantized.plain.properties().contains(kStorageDtypeKey));
  }
}

TEST(Quantize, layers_of_a_residual_network_become_integers) {
  const Model model = model_of(kResidual);
  const Quantized quantized = quantize(model, random_samples({1, 3, 12, 12}));
  auto counts = operators_of(quantized.model);
  EXPECT_EQ(counts["minnow.QuantizedConv"], 6) << to_text(quantized.model.graph());
  EXPECT_EQ(counts["MaxPool"], 1);
  EXPECT_EQ(counts["Concat"], 1);
  // x and the average; the sum is computed and quantized by a convolution. No tensor is quantized twice.
  EXPECT_EQ(counts["QuantizeLinear"], 2);
  EXPECT_EQ(counts["minnow.FusedElementwise"], 0);
  QuantizeOptions portable;  // other engines' kernels want both terms of the sum as bytes
  portable.portable = true;
  EXPECT_EQ(operators_of(quantize(model, random_samples({1, 3, 12, 12}), portable).model)["minnow.FusedElementwise"], 1);
  EXPECT_EQ(counts["minnow.QuantizedMatMul"], 1);  // the last layer, whose result is f32
  for (const Node& node : quantized.model.graph().nodes())
    EXPECT_TRUE((node.op() != "MaxPool" && node.op() != "Concat") || node.output(0)->type.dtype == DType::u8) << node.op();
  ASSERT_EQ(quantized.report.layers.size(), 7u);
  for (const LayerReport& layer : quantized.report.layers) {
    EXPECT_EQ(layer.refusal, "");
    EXPECT_GT(layer.fidelity.sqnr, 20) << layer.node;
    EXPECT_GT(layer.weights.sqnr, 35) << layer.node;
    EXPECT_LT(layer.bytes_after, layer.bytes_before);
  }
  ASSERT_EQ(quantized.report.outputs.size(), 1u);
  EXPECT_GT(quantized.report.outputs[0].fidelity.sqnr, 15);
  EXPECT_GE(quantized.report.outputs[0].agreement, 0.8);
}

TEST(Quantize, a_layer_with_an_activation_before_a_sum_becomes_integers) {
  const Model model = model_of(R"(graph {
    input x: f32[1, 8, 9, 9]
    const w = f32[8, 1, 3, 3] random 1
    const v = f32[8, 8, 1, 1] random 2
    a = Conv(x, v)
    b = Relu(a)
    c = Conv(b, w) {group = 8, pads = [1, 1, 1, 1]}
    d = Relu(c)
    e = Add(b, d)
    y = Conv(e, v)
    output y
  })");
  auto counts = operators_of(quantize(model, random_samples({1, 8, 9, 9})).model);
  EXPECT_EQ(counts["minnow.QuantizedConv"], 3);  // the last one gives f32
  EXPECT_EQ(counts["minnow.FusedConv"] + counts["Conv"], 0);
  EXPECT_EQ(counts["minnow.FusedElementwise"], 1);
}

TEST(Quantize, a_residual_with_more_channels_stays_quantized) {
  const Model model = model_of(R"(graph {
    input x: f32[1, 8, 9, 9]
    const v = f32[8, 8, 1, 1] random 1
    const w = f32[12, 8, 1, 1] random 2
    const u = f32[4, 12, 1, 1] random 3
    const pads = i64[8] [0, 0, 0, 0, 0, 4, 0, 0]
    a = Conv(x, v)
    b = Relu(a)
    c = Conv(b, w)
    p = Pad(b, pads)
    d = Add(c, p)
    e = Relu(d)
    y = Conv(e, u)
    output y
  })");
  const Quantized quantized = quantize(model, random_samples({1, 8, 9, 9}));
  auto counts = operators_of(quantized.model);
  EXPECT_EQ(counts["minnow.QuantizedConv"], 3) << to_text(quantized.model.graph());
  for (const Node& node : quantized.model.graph().nodes()) EXPECT_TRUE(node.op() != "Pad" || node.output(0)->type.dtype == DType::u8);
  EXPECT_EQ(counts["Pad"], 1);
  EXPECT_GT(quantized.report.outputs[0].fidelity.sqnr, 25);
}

TEST(Quantize, integers_give_what_the_plain_form_gives) {
  const Model model = model_of(kResidual);
  for (const char* activations : {"u8", "i8"}) {
    QuantizeOptions options;
    options.activations = activations;
    const Quantized quantized = quantize(model, random_samples({1, 3, 12, 12}), options);
    Session integers(quantized.model);
    SessionOptions reference;
    reference.backends = {};
    Session plain(quantized.plain, reference);
    for (unsigned seed = 100; seed < 104; ++seed) {
      const Tensor x = normal_tensor({1, 3, 12, 12}, seed);
      // A sum at the edge of a step may round to either side.
      EXPECT_LT(largest_difference(integers.run({x.view()})[0], plain.run({x.view()})[0]), 0.05F) << activations;
    }
  }
}

TEST(Quantize, every_method_keeps_the_signal) {
  const Model model = model_of(kResidual);
  for (const MethodDescription& method : activation_methods())
    for (const MethodDescription& weights : weight_methods()) {
      QuantizeOptions options;
      options.method = method.name, options.weights = weights.name;
      EXPECT_GT(quantize(model, random_samples({1, 3, 12, 12}), options).report.layers[0].fidelity.sqnr, 20) << method.name;
    }
}

TEST(Quantize, the_automatic_method_is_as_good_as_the_best_on_its_samples) {
  const Model model = model_of(kResidual);
  QuantizeOptions options;
  options.correct_bias = false, options.evaluate = 8, options.rounding = "nearest";  // by which "auto" judges the methods
  double best = 0;
  for (const MethodDescription& method : activation_methods()) {
    options.method = method.name;
    const Quantized quantized = quantize(model, random_samples({1, 3, 12, 12}), options);
    const double sqnr = compare(model, quantized.plain, random_samples({1, 3, 12, 12}))[0].fidelity.sqnr;
    if (method.name == "auto")
      EXPECT_GE(sqnr, best - 0.01);
    else
      best = std::max(best, sqnr);
  }
}

TEST(Quantize, search_finds_the_layer_that_costs_most) {
  const Model source = model_of(kResidual);
  QuantizeOptions options;
  options.weight_bits = 4, options.rounding = "nearest";
  const Samples samples = random_samples({1, 3, 12, 12});
  SearchOptions aims;
  aims.min_sqnr = quantize(source, samples, options).report.outputs[0].fidelity.sqnr + 1;
  const SearchResult found = search(source, samples, samples, options, aims);
  EXPECT_TRUE(found.reached);
  EXPECT_GE(found.candidates[found.chosen].sqnr, aims.min_sqnr);
  EXPECT_GE(found.candidates[found.chosen].f32.size(), 1u);
  EXPECT_EQ(found.candidates[0].f32.size(), 0u);
  const SearchResult without_scores =
      search(model_of("graph \"g\" {\n input x: f32[1, 3, 4, 4]\n const w = f32[4, 3, 1, 1] random 1\n y = Conv(x, w)\n output y\n}"),
             random_samples({1, 3, 4, 4}), random_samples({1, 3, 4, 4}), {}, {.max_drop = 1});
  EXPECT_FALSE(without_scores.reached) << "no best class to compare";
  const SearchResult measured = search(source, samples, samples, options, {.size_of = [](const Model&) { return 17; }});
  EXPECT_EQ(measured.candidates[measured.chosen].bytes, 17u);
  aims.most_bytes = 1;
  EXPECT_FALSE(search(source, samples, samples, options, aims).reached);
  aims = {};
  aims.most_bytes = found.candidates[0].bytes;
  EXPECT_EQ(search(source, samples, samples, options, aims).chosen, 0u);
  EXPECT_THAT(sentence_of([&] { search(source, samples, {}, options, aims); }), HasSubstr("no evaluation samples"));
}

TEST(Quantize, search_mixes_4_bits_8_bits_and_f16) {
  const Model source = model_of(R"(graph "mix" {
  input x: f32[1, 16, 8, 8]
  const a = f32[16, 16, 3, 3] random 1
  const b = f32[16, 16, 3, 3] random 2
  const c = f32[16, 16, 3, 3] random 3
  first = Conv(x, a) {pads = [1, 1, 1, 1]}
  one = Relu(first)
  second = Conv(one, b) {pads = [1, 1, 1, 1]}
  two = Relu(second)
  y = Conv(two, c) {pads = [1, 1, 1, 1]}
  output y
})");
  const Samples samples = random_samples({1, 16, 8, 8});
  SearchOptions aims;
  aims.size_of = [](const Model& plain) { return saved_bytes(convert_model(plain), "x.minnow", {.weights = "f16"}); };
  const SearchResult all = search(source, samples, samples, {}, aims);
  EXPECT_EQ(all.candidates.front().bits.begin()->second, 4) << "the smallest";
  EXPECT_EQ(all.candidates.back().f32.size(), 3u) << "the largest";
  EXPECT_GT(all.candidates.back().sqnr, 55);
  // Sizes are estimated for all but one: those of the others are near, too.
  for (const Candidate& candidate : {all.candidates.front(), all.candidates.back()}) {
    aims.most_bytes = candidate.bytes + 300;
    const SearchResult found = search(source, samples, samples, {}, aims);
    const Candidate& taken = found.candidates[found.chosen];
    EXPECT_TRUE(found.reached);
    EXPECT_EQ(taken.bytes, saved_bytes(found.quantized.model, "x.minnow", {.weights = "f16"}));
    EXPECT_NEAR(static_cast<double>(taken.bytes), static_cast<double>(candidate.bytes), 300);
  }
  aims = {.compact = false};
  for (const Candidate& candidate : search(source, samples, samples, {}, aims).candidates) EXPECT_TRUE(candidate.bits.empty());
}

TEST(Quantize, search_gives_recurrences_bits_of_their_own) {
  const Model source = model_of(R"(graph "recurrences" {
  input x: f32[7, 2, 24]
  const w = f32[1, 96, 24] random 1
  const r = f32[1, 96, 24] random 2
  const w2 = f32[1, 72, 24] random 3
  const r2 = f32[1, 72, 24] random 4
  const axis = i64[1] [1]
  y1, h1, c1 = LSTM(x, w, r) {hidden_size = 24} @"first"
  s = Squeeze(y1, axis)
  y, h2 = GRU(s, w2, r2) {hidden_size = 24} @"second"
  output y
})");
  const Samples samples = random_samples({7, 2, 24});
  SearchOptions aims;
  aims.size_of = [](const Model& plain) { return saved_bytes(convert_model(plain), "x.minnow", {.weights = "f16"}); };
  const SearchResult all = search(source, samples, samples, {}, aims);
  EXPECT_EQ(all.candidates.front().bits, (std::map<std::string, int>{{"y1", 4}, {"y", 4}})) << "the smallest";
  EXPECT_EQ(all.candidates.back().f32.size(), 2u) << "the largest";
  EXPECT_GT(all.candidates.back().sqnr, all.candidates.front().sqnr + 20);
  aims.most_bytes = (all.candidates.front().bytes + all.candidates.back().bytes) / 2;
  const SearchResult found = search(source, samples, samples, {}, aims);
  EXPECT_TRUE(found.reached);
  EXPECT_EQ(found.candidates[found.chosen].bytes, saved_bytes(found.quantized.model, "x.minnow", {.weights = "f16"}));
  // The report has a row for each, with the bits of the choice.
  ASSERT_EQ(found.quantized.report.layers.size(), 2u);
  for (const LayerReport& row : found.quantized.report.layers) {
    const auto bits = found.candidates[found.chosen].bits.find(row.output);
    EXPECT_EQ(row.weight_bits, bits == found.candidates[found.chosen].bits.end() ? 32 : bits->second) << row.node;
    EXPECT_EQ(row.refusal.empty(), row.weight_bits != 32) << row.node;
  }
}

TEST(Quantize, the_same_input_gives_the_same_graph_and_the_model_does_not_change) {
  const Model model = model_of(kResidual);
  const std::string before = to_text(model.graph(), 1 << 20);
  const auto text = [&] { return to_text(quantize(model, random_samples({1, 3, 12, 12})).model.graph(), 1 << 20); };
  EXPECT_EQ(text(), text());
  EXPECT_EQ(to_text(model.graph(), 1 << 20), before);
}

TEST(Quantize, an_optimized_model_gives_the_same_as_its_source) {
  const Model source = model_of(kResidual), optimized = convert_model(source);
  const Samples samples = random_samples({1, 3, 12, 12});
  const Tensor x = normal_tensor({1, 3, 12, 12}, 50);
  Session a(quantize(source, samples).model), b(quantize(optimized, samples).model);
  EXPECT_LT(largest_difference(a.run({x.view()})[0], b.run({x.view()})[0]), 0.05F);
}

TEST(Quantize, skipped_layers_stay_f32) {
  const Model model = model_of(kResidual);
  QuantizeOptions options;
  options.skip = {"wide", "Gemm"};
  const Quantized quantized = quantize(model, random_samples({1, 3, 12, 12}), options);
  int kept = 0;
  for (const LayerReport& layer : quantized.report.layers) kept += layer.refusal == "the options skip it";
  EXPECT_EQ(kept, 2);
  options.skip = {"w?de", "Ge*"};  // operators have no patterns
  EXPECT_THAT(sentence_of([&] { quantize(model, random_samples({1, 3, 12, 12}), options); }), HasSubstr("no node or operator \"Ge*\""));
  options.skip = {"w?de"};
  EXPECT_EQ(quantize(model, random_samples({1, 3, 12, 12}), options).report.layers.back().refusal, "the options skip it");
  options.skip = {"secund"};
  EXPECT_THAT(sentence_of([&] { quantize(model, random_samples({1, 3, 12, 12}), options); }), HasSubstr("\"second\""));
}

TEST(Quantize, a_noisy_layer_that_costs_next_to_nothing_stays_f32) {
  const Model model = model_of(R"(graph "difference" {
  input x: f32[1, 2, 12, 12]
  const a = f32[2, 2, 1, 1] [1.0, -1.0, -0.5, 0.5]
  const b = f32[32, 2, 3, 3] random 2
  const c = f32[32, 32, 3, 3] random 3
  first = Conv(x, a) @"difference"
  second = Conv(first, b) {pads = [1, 1, 1, 1]} @"wide"
  one = Relu(second)
  third = Conv(one, c) {pads = [1, 1, 1, 1]} @"deep"
  output third
})");
  // The channels are nearly alike, so that their difference is no larger than the step between two integers.
  const Samples samples{8, [](size_t i) {
                          Tensor x = normal_tensor({1, 2, 12, 12}, static_cast<unsigned>(i) + 1);
                          float* data = x.writable().data<float>();
                          for (int k = 0; k < 144; ++k) data[144 + k] = data[k] + 0.03F * data[144 + k];
                          return std::vector<Tensor>{x};
                        }};
  const auto in_f32 = [](const Quantized& quantized) {
    std::vector<std::string> names;
    for (const LayerReport& layer : quantized.report.layers)
      if (!layer.refusal.empty()) names.push_back(layer.node + ": " + layer.refusal);
    return names;
  };
  QuantizeOptions options;
  const Quantized spared = quantize(model, samples, options);
  EXPECT_EQ(in_f32(spared), std::vector<std::string>{"difference: it costs too much accuracy"});
  EXPECT_GT(spared.report.outputs[0].fidelity.sqnr, 25);
  options.keep_f32 = 0.01;  // the layer has 0.04 percent of the multiply-adds
  const Quantized integers = quantize(model, samples, options);
  EXPECT_EQ(in_f32(integers), std::vector<std::string>());
  EXPECT_LT(integers.report.outputs[0].fidelity.sqnr, 20);
  options.keep_f32 = 8, options.weight_bits = 4;
  EXPECT_EQ(in_f32(quantize(model, samples, options)), std::vector<std::string>()) << "the size counts more";
}

TEST(Quantize, bias_correction_moves_means_back) {
  const Model model = model_of(R"(graph "means" {
  input x: f32[1, 4, 9, 9]
  const w = f32[6, 2, 3, 3] random 1
  const b = f32[6] random 2
  y = Conv(x, w, b) {group = 2}
  output y
})");
  const auto positive = [](size_t i) {
    Tensor x = normal_tensor({1, 4, 9, 9}, static_cast<unsigned>(i) + 1).clone();
    for (int64_t k = 0; k < x.elements(); ++k) x.writable().data<float>()[k] += 3 + static_cast<float>(k / 81);
    return std::vector<Tensor>{x};
  };
  const auto largest_mean_error = [&](bool correct) {
    QuantizeOptions options;
    options.correct_bias = correct, options.weight_bits = 4;
    Session f32(model), integers(quantize(model, {16, positive}, options).model);
    std::vector<double> errors(6, 0);
    for (size_t i = 0; i < 16; ++i) {
      const auto x = positive(100 + i);
      const Tensor a = f32.run({x[0].view()})[0], b = integers.run({x[0].view()})[0];
      for (int64_t k = 0; k < a.elements(); ++k)
        errors[static_cast<size_t>(k / 49)] += static_cast<double>(b.data<float>()[k] - a.data<float>()[k]) / (16 * 49);
    }
    for (double& error : errors) error = std::fabs(error);
    return *std::max_element(errors.begin(), errors.end());
  };
  EXPECT_LT(largest_mean_error(true), 0.2 * largest_mean_error(false));
}

TEST(Quantize, an_input_is_quantized_before_it_is_transposed) {
  const Model model = model_of(
      "graph \"nhwc\" {\n input x: f32[1, 6, 6, 3]\n const w = f32[4, 3, 3, 3] random 1\n t = Transpose(x) {perm = [0, 3, 1, 2]}\n"
      " y = Conv(t, w)\n output y\n}");
  const Quantized quantized = quantize(model, random_samples({1, 6, 6, 3}));
  for (const Node& node : quantized.plain.graph().nodes())
    EXPECT_TRUE(node.op() != "QuantizeLinear" || node.input(0)->is_input() || node.input(0)->producer()->op() == "Transpose");
  for (const Node& node : quantized.model.graph().nodes())
    EXPECT_TRUE(node.op() != "Transpose" || node.input(0)->type.dtype == DType::u8) << to_text(quantized.model.graph());
  EXPECT_GT(quantized.report.outputs[0].fidelity.sqnr, 30);
}

TEST(Quantize, awkward_shapes) {
  for (const auto& [text, shape] : std::vector<std::pair<const char*, Shape>>{
           {"graph \"vector\" {\n input x: f32[5]\n const w = f32[5, 3] random 1\n y = MatMul(x, w)\n r = Relu(y)\n const v = f32[3, 2] "
            "random 2\n"
            " z = MatMul(r, v)\n output z\n}",
            {5}},
           {"graph \"one\" {\n input x: f32[1, 1, 1, 1]\n const w = f32[1, 1, 1, 1] random 1\n y = Conv(x, w)\n z = Conv(y, w)\n output "
            "z\n}",
            {1, 1, 1, 1}},
           {"graph \"line\" {\n input x: f32[2, 3, 17]\n const w = f32[5, 3, 3] random 1\n y = Conv(x, w)\n const v = f32[7, 5, 2] random "
            "2\n"
            " z = Conv(y, v) {dilations = [3], strides = [2]}\n output z\n}",
            {2, 3, 17}},
           {"graph \"rank\" {\n input x: f32[2, 3, 4, 5]\n const w = f32[5, 6] random 1\n y = MatMul(x, w)\n const b = f32[6] random 2\n"
            " a = Add(y, b)\n const v = f32[6, 1] random 3\n z = MatMul(a, v)\n output z\n}",
            {2, 3, 4, 5}}}) {
    const Model model = model_of(text);
    const Quantized quantized = quantize(model, random_samples(shape));
    EXPECT_GT(quantized.report.outputs[0].fidelity.sqnr, 20) << text;
  }
}

TEST(Quantize, a_network_without_layers_is_refused_with_the_reason) {
  const Model none = model_of("graph \"none\" {\n input x: f32[2]\n y = Relu(x)\n output y\n}");
  EXPECT_THAT(sentence_of([&] { quantize(none, random_samples({2})); }), HasSubstr("no layer can compute with integers"));
  const Model variable = model_of("graph \"variable\" {\n input x: f32[2, 2]\n y = MatMul(x, x) @\"square\"\n output y\n}");
  EXPECT_THAT(sentence_of([&] { quantize(variable, random_samples({2, 2})); }), HasSubstr("its weights are not constant"));
}

TEST(Quantize, samples_that_do_not_fit_are_named) {
  const Model model = model_of(kResidual);
  const auto with = [&](std::vector<Tensor> tensors) {
    return sentence_of([&] { quantize(model, {1, [&](size_t) { return tensors; }}); });
  };
  EXPECT_THAT(sentence_of([&] { quantize(model, {}); }), HasSubstr("no calibration samples"));
  EXPECT_THAT(with({}), HasSubstr("sample 0: 0 tensors are given, the model takes 1 input"));
  EXPECT_THAT(with({Tensor()}), HasSubstr("no tensor is given"));
  EXPECT_THAT(with({Tensor(DType::f64, {1, 3, 12, 12})}), HasSubstr("the sample has f64"));
  EXPECT_THAT(with({Tensor(DType::f32, {1, 3, 12})}), HasSubstr("the sample has f32[1, 3, 12]"));
  Tensor odd(DType::f32, {1, 3, 12, 12});
  odd.writable().data<float>()[5] = std::nanf("");
  EXPECT_THAT(with({odd}), HasSubstr("not finite"));
  // Zeros alone are a poor sample, and no error.
  EXPECT_EQ(with({Tensor(DType::f32, {1, 3, 12, 12})}), "no error");
}

TEST(Quantize, options_are_set_by_name) {
  QuantizeOptions options;
  options.set("method", "kl");
  options.set("skip", "a, b c, d");
  options.set("weight_bits", "4");
  options.set("correct_bias", "false");
  EXPECT_EQ(options.method, "kl");
  EXPECT_EQ(options.skip, (std::vector<std::string>{"a", "b c", "d"}));
  EXPECT_EQ(options.weight_bits, 4);
  EXPECT_FALSE(options.correct_bias);
  const auto set = [&](const char* key, const char* value) { return sentence_of([&] { options.set(key, value, "r.toml: "); }); };
  options.set("method", "KL"), options.set("activations", "int8"), options.set("bits", "4");
  EXPECT_EQ(options.activations, "i8");
  EXPECT_THAT(set("methud", "kl"), HasSubstr("r.toml: methud: there is no such option"));
  EXPECT_THAT(set("method", "median"), HasSubstr("r.toml: method: \"median\" is none of minmax"));
  EXPECT_THAT(set("weight_bits", "9"), HasSubstr("9 is not from 2 to 8"));
  EXPECT_THAT(set("weight_bits", "many"), HasSubstr("\"many\" is not a whole number"));
  EXPECT_THAT(set("percentile", "40"), HasSubstr("40 is not above 50"));
  EXPECT_THAT(set("keep_f32", "101"), HasSubstr("keep_f32: 101 is not from 0 to 100"));
  EXPECT_THAT(set("per_channel", "1"), HasSubstr("neither true nor false"));
  EXPECT_EQ(options.weight_bits, 4) << "a failed change changes nothing";
}

TEST(Quantize, progress_rises_to_the_end) {
  std::vector<double> parts;
  QuantizeOptions options;
  options.progress = [&](double part) { parts.push_back(part); };
  quantize(model_of(kResidual), random_samples({1, 3, 12, 12}), options);
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
  EXPECT_EQ(parts.back(), 1);
}

TEST(Quantize, made_up_samples_fit_the_model) {
  const Model model = model_of(
      "graph \"mixed\" {\n input x: f32[n, 3, 20, 20]\n input u: u8[1, 20]\n input k: i64[2]\n const w = f32[4, 3, 3, 3] random 1\n y = "
      "Conv(x, w)\n"
      " output y\n output u\n output k\n}");
  const Samples samples = synthetic_samples(model, 3, 5);
  EXPECT_EQ(samples.count, 3u);
  EXPECT_EQ(samples.at(1)[0].shape(), (Shape{1, 3, 20, 20}));
  const Shape shapes[] = {{2, 3, 20, 20}, {1, 20}, {2}};
  EXPECT_EQ(synthetic_samples(model, 1, 5, shapes).at(0)[0].shape(), shapes[0]);
  EXPECT_THROW(synthetic_samples(model, 1, 5, std::span(shapes).first(1)), InvalidArgument);
  EXPECT_THROW(synthetic_samples(model, 1, 5, std::vector<Shape>{{2, 3, 20, 21}, {1, 20}, {2}}), InvalidArgument);
  EXPECT_EQ(largest_difference(samples.at(1)[0], samples.at(1)[0]), 0);
  EXPECT_GT(largest_difference(samples.at(1)[0], samples.at(2)[0]), 0);
  EXPECT_GT(quantize(model, samples).report.layers[0].fidelity.sqnr, 30);
}

TEST(Quantize, the_page_shows_every_layer) {
  const QuantizeReport report = quantize(model_of(kResidual), random_samples({1, 3, 12, 12})).report;
  const std::string page = report_page(report, "a <model>");
  EXPECT_THAT(page, HasSubstr("a &lt;model&gt;"));
  EXPECT_THAT(page, HasSubstr("</svg>"));
  for (const LayerReport& layer : report.layers) {
    EXPECT_THAT(page, HasSubstr(layer.node));
    EXPECT_GT(layer.operations, 0);
    EXPECT_THAT(page, HasSubstr("<td>" + std::to_string(static_cast<int64_t>(layer.operations / 2)) + "</td>"));
    EXPECT_EQ(layer.seconds_before > 0, layer.seconds_after > 0);
  }
  EXPECT_THAT(page, HasSubstr("multiply-adds"));
}

}  // namespace
}  // namespace minnow::compress
