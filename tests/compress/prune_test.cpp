// SPDX-License-Identifier: Apache-2.0
// Zeros in patterns, factors and palettes: what they keep, how models compute with them, and errors.
#include <gmock/gmock.h>
#include <minnow/convert.h>
#include <minnow/prune.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "base/error.h"
#include "compress/models.h"
#include "graph/graph.h"
#include "support/networks.h"
#include "support/paths.h"
#include "support/random.h"
#include "support/sentence.h"

namespace minnow::compress {
namespace {

using test::normal_tensor;
using test::sentence_of;
using testing::HasSubstr;

std::vector<Tensor> run(const Model& model, const std::vector<Tensor>& inputs, const SessionOptions& options = {}) {
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  Session session(model, options);
  return session.run(views);
}

constexpr const char* kSmall = R"(graph {
  input x: f32[2, 16, 9, 9]
  const w1 = f32[32, 16, 3, 3] random 1
  const b1 = f32[32] random 2
  const w2 = f32[64, 32, 1, 1] random 3
  const w3 = f32[3136, 48] random 4
  const w4 = f32[24, 48] random 5
  const b4 = f32[24] random 6
  a = Conv(x, w1, b1) {strides = [1, 1]} @"first"
  b = Relu(a)
  c = Conv(b, w2) @"second"
  d = Flatten(c)
  e = MatMul(d, w3) @"third"
  y = Gemm(e, w4, b4) {transB = 1} @"fourth"
  output y
})";

// Calls f(weights of a block) for every block of a mask [outputs, inputs, taps].
template <class F>
void for_blocks(const Tensor& mask, size_t inputs, size_t outputs, F f) {
  const size_t o = size_t(mask.shape()[0]), i = size_t(mask.shape()[1]), t = size_t(mask.elements()) / o / i;
  for (size_t tap = 0; tap < t; ++tap)
    for (size_t down = 0; down < o; down += outputs)
      for (size_t across = 0; across < i; across += inputs) {
        std::vector<size_t> places;
        for (size_t a = down; a < std::min(o, down + outputs); ++a)
          for (size_t b = across; b < std::min(i, across + inputs); ++b) places.push_back((a * i + b) * t + tap);
        f(places);
      }
}

TEST(PruneMask, blocks_are_kept_or_dropped_whole_and_the_smallest_go) {
  for (const auto& [pattern, inputs, outputs] : {std::tuple("1x4", 1, 4), {"4x4", 4, 4}, {"1x16", 1, 16}, {"unstructured", 1, 1}})
    for (const Shape& shape : {Shape{32, 24, 3, 3}, Shape{19, 7, 1, 1}, Shape{40, 50}, Shape{5, 3, 2}}) {
      SCOPED_TRACE(format("{} {}", pattern, shape));
      Tensor scores = normal_tensor(shape, 3);
      for (float& value : std::span(scores.writable().data<float>(), size_t(scores.elements()))) value *= value;
      const Tensor mask = prune_mask(scores, pattern, 0.75);
      const uint8_t* kept = mask.data<uint8_t>();
      size_t blocks = 0, dropped = 0;
      double least_kept = INFINITY, most_dropped = -INFINITY;
      for_blocks(mask, size_t(inputs), size_t(outputs), [&](const std::vector<size_t>& places) {
        double mean = 0;
        for (const size_t place : places) {
          EXPECT_EQ(kept[place], kept[places[0]]);
          mean += double(scores.data<float>()[place]) / double(places.size());
        }
        ++blocks, dropped += !kept[places[0]];
        if (kept[places[0]])
          least_kept = std::min(least_kept, mean);
        else
          most_dropped = std::max(most_dropped, mean);
      });
      EXPECT_EQ(dropped, size_t(std::lround(0.75 * double(blocks))));
      EXPECT_LE(most_dropped, least_kept + 1e-6);
    }
}

TEST(PruneMask, some_of_a_group_of_inputs_are_kept) {
  struct Group {
    const char* name;
    size_t kept, of;
  };
  for (const Shape& shape : {Shape{6, 24, 3, 3}, Shape{5, 10}})
    for (const Group& group : {Group{"2:4", 2, 4}, Group{"1:4", 1, 4}, Group{"4:8", 4, 8}, Group{"3:16", 3, 16}, Group{"1:2", 1, 2}}) {
      const Tensor scores = normal_tensor(shape, 5), mask = prune_mask(scores, group.name, 1 - double(group.kept) / double(group.of));
      for_blocks(mask, group.of, 1, [&](const std::vector<size_t>& places) {
        size_t count = 0;
        for (const size_t place : places) count += mask.data<uint8_t>()[place];
        EXPECT_EQ(count, std::min(group.kept, places.size())) << group.name;
        for (const size_t a : places)
          for (const size_t b : places)
            if (mask.data<uint8_t>()[a] > mask.data<uint8_t>()[b]) {
              EXPECT_GE(scores.data<float>()[a], scores.data<float>()[b]);
            }
      });
    }
}

TEST(PruneMask, outputs_of_a_matrix_may_lie_along_its_columns) {
  const Tensor scores = normal_tensor({8, 12}, 5);
  Tensor turned(DType::f32, {12, 8});
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 12; ++j) turned.writable().data<float>()[j * 8 + i] = scores.data<float>()[i * 12 + j];
  const Tensor a = prune_mask(scores, "1x4", 0.5), b = prune_mask(turned, "1x4", 0.5, 1);
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 12; ++j) EXPECT_EQ(a.data<uint8_t>()[i * 12 + j], b.data<uint8_t>()[j * 8 + i]);
}

TEST(PruneMask, wrong_arguments_are_errors) {
  const Tensor scores = normal_tensor({8, 8}, 1);
  EXPECT_THAT(sentence_of([&] { prune_mask(scores, "3x3", 0.5); }), HasSubstr("pattern: \"3x3\" is none of 1x4, 4x4"));
  for (const char* name : {"0:4", "4:4", "5:4", "2:17", "2:x", ":4", "2:"})
    EXPECT_THAT(sentence_of([&] { prune_mask(scores, name, 0.5); }), HasSubstr("nor N:M with N from 1 to M - 1 and M up to 16")) << name;
  EXPECT_THAT(sentence_of([&] { prune_mask(scores, "2:4", 0.8); }), HasSubstr("pattern 2:4 has 0.5"));
  EXPECT_THAT(sentence_of([&] { prune_mask(scores, "1x4", 1.5); }), HasSubstr("not from 0 to 1"));
  EXPECT_THAT(sentence_of([&] { prune_mask(normal_tensor({8}, 1), "1x4", 0.5); }), HasSubstr("two dimensions or more"));
  Tensor infinite = normal_tensor({8, 8}, 1);
  infinite.writable().data<float>()[3] = INFINITY;
  EXPECT_THAT(sentence_of([&] { prune_mask(infinite, "1x4", 0.5); }), HasSubstr("finite"));
}

TEST(Prune, each_layer_gets_the_sparsity_or_all_together) {
  const Model model = model_of(kSmall);
  for (const MethodDescription& pattern : prune_patterns())
    for (const MethodDescription& distribution : prune_distributions()) {
      SCOPED_TRACE(pattern.name + " " + distribution.name);
      const Pruned pruned = prune(model, {.sparsity = -1, .pattern = pattern.name, .distribution = distribution.name});
      const double wanted = pattern.name == "2:4" ? 0.5 : 0.8;
      EXPECT_NEAR(double(pruned.report.zeros) / double(pruned.report.weights), wanted, 0.01);
      for (const PrunedLayer& layer : pruned.report.layers) {
        EXPECT_EQ(layer.refusal, "");
        if (distribution.name == "uniform") {
          EXPECT_NEAR(double(layer.zeros) / double(layer.weights), wanted, 0.02);
        }
        EXPECT_GT(layer.kept_energy, 1 - wanted);
      }
    }
}

// The kernels of both agree: the plan of the sparse model has sparse schemes, those of the reference backend do not.
TEST(Prune, sparse_models_compute_what_the_reference_computes) {
  for (const std::string_view name : test::kNetworks) {
    const Pruned pruned = prune(model_of(test::make_network(name, 64)), {.sparsity = 0.9});
    const Samples samples = synthetic_samples(pruned.model, 1);
    SessionOptions reference;
    reference.backends = {"reference"};
    const Tensor got = run(pruned.model, samples.at(0))[0], wanted = run(pruned.model, samples.at(0), reference)[0];
    double worst = 0, most = 1e-30;
    for (int64_t i = 0; i < got.elements(); ++i) {
      worst = std::max(worst, std::fabs(double(got.data<float>()[i]) - double(wanted.data<float>()[i])));
      most = std::max(most, std::fabs(double(wanted.data<float>()[i])));
    }
    EXPECT_LE(worst, 1e-4 * most) << name;
  }
}

TEST(Prune, layers_are_named_or_skipped) {
  const Model model = model_of(kSmall);
  const Pruned pruned = prune(model, {.layers = {"*d", "Gemm"}, .skip = {"third"}});
  std::map<std::string, std::string> refusals;
  for (const PrunedLayer& layer : pruned.report.layers) refusals[layer.node] = layer.refusal;
  EXPECT_EQ(refusals["first"], "the options do not name it");
  EXPECT_EQ(refusals["second"], "");
  EXPECT_EQ(refusals["third"], "the options skip it");
  EXPECT_EQ(refusals["fourth"], "");
  EXPECT_THAT(sentence_of([&] { prune(model, {.layers = {"fist"}}); }), HasSubstr("no layer of the model has the name \"fist\""));
  EXPECT_THAT(sentence_of([&] { prune(model, {.pattern = "9x9"}); }), HasSubstr("is none of"));
  EXPECT_THAT(sentence_of([&] { prune(model, {.sparsity = 0.7, .pattern = "2:4"}); }), HasSubstr("2:4 has 0.5"));
  EXPECT_THAT(sentence_of([&] { prune(model, {.skip = {"*"}}); }), HasSubstr("no layer can be pruned; first: the options skip it"));
}

TEST(Factor, full_energy_computes_the_same_and_less_energy_is_nearer_than_its_share) {
  const Model model = model_of(kSmall);
  const Samples samples = synthetic_samples(model, 1);
  const Tensor wanted = run(model, samples.at(0))[0];
  const Factored whole = factor(model, {.energy = 1, .most = 100});
  for (const FactoredLayer& layer : whole.layers) {
    EXPECT_EQ(layer.refusal, "");
    EXPECT_NEAR(layer.energy, 1, 1e-6);
  }
  for (const Model& made : {whole.model, whole.plain}) {
    const Tensor got = run(made, samples.at(0))[0];
    for (int64_t i = 0; i < got.elements(); ++i)
      EXPECT_NEAR(got.data<float>()[i], wanted.data<float>()[i], 2e-3 * std::max(1.0F, std::fabs(wanted.data<float>()[i]))) << i;
  }
  const Factored part = factor(model, {.energy = 0.6, .most = 0.9});
  size_t factored = 0;
  for (const FactoredLayer& layer : part.layers) {
    if (!layer.refusal.empty()) continue;
    ++factored;
    EXPECT_GE(layer.energy, 0.55) << layer.node;
    EXPECT_LT(layer.weights_after, layer.weights_before);
  }
  EXPECT_GE(factored, 1u);
  EXPECT_THAT(sentence_of([&] { factor(model, {.energy = 1, .most = 0.01}); }), HasSubstr("no layer gets cheaper; Conv \"first\": ranks"));
  EXPECT_THAT(sentence_of([&] { factor(model, {.energy = 0}); }), HasSubstr("energy: 0 is not above 0"));
}

TEST(Palettize, weights_come_from_few_numbers_and_files_get_smaller) {
  const Model model = model_of(kSmall);
  const Samples samples = synthetic_samples(model, 1);
  const std::string path = (test::scratch_dir() / "palette.minnow").string(), plain = (test::scratch_dir() / "plain.minnow").string();
  save(model, plain);
  double before = 0;
  for (const int bits : {2, 3, 4, 6, 8}) {
    const int stored = bits > 4 ? 8 : bits > 2 ? 4 : 2;
    const Paletted made = palettize(model, {.bits = bits});
    save(made.model, path);
    EXPECT_LT(double(std::filesystem::file_size(path)), double(std::filesystem::file_size(plain)) * (stored / 32.0 + 0.17));
    double sqnr = INFINITY;
    for (const PalettedLayer& layer : made.layers)
      if (layer.refusal.empty()) sqnr = std::min(sqnr, layer.fidelity.sqnr);
    EXPECT_GT(sqnr, before + 3);  // decibels; more bits are nearer
    before = sqnr;
    // The saved file computes the same.
    const Tensor wanted = run(made.plain, samples.at(0))[0], got = run(Model::load(path), samples.at(0))[0];
    for (int64_t i = 0; i < got.elements(); ++i)
      EXPECT_NEAR(got.data<float>()[i], wanted.data<float>()[i], 1e-3 * std::max(1.0F, std::fabs(wanted.data<float>()[i])));
  }
  EXPECT_THAT(sentence_of([&] { palettize(model, {.bits = 9}); }), HasSubstr("bits: 9 is not from 2 to 8"));
}

TEST(Palettize, integers_keep_a_palette_of_four_bits) {
  const Model model = model_of(kSmall);
  const Samples samples = synthetic_samples(model, 8);
  const Model small = palettize(model, {.bits = 4, .smallest = 1000}).plain;
  const Quantized made = quantize(small, samples), dense = quantize(model, samples);
  const std::string path = (test::scratch_dir() / "palette.minnow").string(), other = (test::scratch_dir() / "dense.minnow").string();
  save(made.model, path), save(dense.model, other);
  EXPECT_LT(double(std::filesystem::file_size(path)), 0.65 * double(std::filesystem::file_size(other)));
  size_t look_ups = 0, integers = 0;
  for (const Node& node : made.model.graph().nodes())
    look_ups += node.op() == "minnow.LookUp", integers += node.op().starts_with("minnow.Quantized");
  EXPECT_EQ(look_ups, 4u);
  EXPECT_EQ(integers, 4u);
  EXPECT_GT(made.report.outputs[0].fidelity.sqnr, 25);
  // The plain form, in f32 between its roundings, is the oracle of the integers.
  SessionOptions reference;
  reference.backends = {"reference"};
  const Tensor wanted = run(made.plain, samples.at(0), reference)[0], got = run(Model::load(path), samples.at(0))[0];
  float largest = 0;
  for (int64_t i = 0; i < got.elements(); ++i) largest = std::max(largest, std::fabs(wanted.data<float>()[i]));
  for (int64_t i = 0; i < got.elements(); ++i) EXPECT_NEAR(got.data<float>()[i], wanted.data<float>()[i], 0.02 * largest);
}

TEST(Palettize, quantization_refuses_palettes_that_it_would_not_keep) {
  for (const auto& [bits, options, sentence] :
       std::vector<std::tuple<int, QuantizeOptions, const char*>>{{4, {.weights_only = "rtn"}, "palette_bits and weights_only both"},
                                                                  {8, {}, "palette_bits: 8 bits before quantization save nothing"},
                                                                  {4, {.equalize = true}, "equalize changes weights after palette_bits"},
                                                                  {4, {.smooth = 0.5}, "smooth changes weights"}}) {
    Steps steps;
    steps.palette = PaletteOptions{.bits = bits};
    EXPECT_THAT(sentence_of([&, &quantization = options] { steps.check(quantization, "r.toml: "); }), HasSubstr(sentence));
  }
  Steps steps;
  steps.palette.emplace();
  steps.check({});
}

TEST(Prune, models_with_quantized_weights_are_refused) {
  const Model model = model_of(kSmall), integers = quantize(model, synthetic_samples(model, 2)).model;
  const auto has_reason = HasSubstr("has quantized weights");
  EXPECT_THAT(sentence_of([&] { prune(integers); }), has_reason);
  EXPECT_THAT(sentence_of([&] { palettize(integers); }), has_reason);
  EXPECT_THAT(sentence_of([&] { factor(integers); }), has_reason);
  EXPECT_THAT(sentence_of([&] { prune_channels(integers); }), has_reason);
}

TEST(Steps, take_place_in_order_and_zeros_survive_a_palette) {
  Steps steps;
  for (const auto& [key, value] : std::map<std::string, std::string>{{"channels_operations", "0.7"},
                                                                     {"channels_multiple", "4"},
                                                                     {"prune_sparsity", "0.7"},
                                                                     {"prune_pattern", "4x4"},
                                                                     {"palette_bits", "4"},
                                                                     {"palette_smallest", "1000"}})
    EXPECT_TRUE(steps.set(key, value)) << key;
  EXPECT_FALSE(steps.set("method", "mse"));
  EXPECT_THAT(sentence_of([&] { steps.set("prune_sparsity", "2", "r.toml: "); }), HasSubstr("r.toml: prune_sparsity: \"2\" is not"));
  EXPECT_THAT(sentence_of([&] { steps.set("palette_bit", "2", "r.toml: "); }), HasSubstr("r.toml: palette_bit: there is no such option"));
  const Model model = model_of(kSmall);
  const Steps::Result made = steps.apply(model);
  ASSERT_EQ(made.sentences.size(), 3u);
  EXPECT_THAT(made.sentences[0], HasSubstr("channels: "));
  EXPECT_THAT(made.sentences[2], HasSubstr("palette: "));
  const Tensor y = run(made.model, synthetic_samples(model, 1).at(0))[0];
  EXPECT_EQ(y.shape(), (Shape{2, 24}));
}

}  // namespace
}  // namespace minnow::compress
