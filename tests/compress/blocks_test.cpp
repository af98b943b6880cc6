// SPDX-License-Identifier: Apache-2.0
// Weights in blocks. tests/cli/weights_only_test.py compares each method with a NumPy version.
#include "compress/blocks.h"

#include <gmock/gmock.h>
#include <minnow/compress.h>
#include <minnow/convert.h>

#include <cmath>
#include <random>

#include "base/numeric.h"
#include "compress/models.h"
#include "compress/search.h"
#include "graph/graph.h"
#include "support/sentence.h"

namespace minnow::compress {
namespace {

using test::sentence_of;
using testing::HasSubstr;

Rows drawn_rows(size_t channels, size_t depth, unsigned seed, bool tails = true) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::student_t_distribution<float> heavy(3);
  Rows rows;
  rows.channels = channels, rows.depth = depth;
  for (size_t i = 0; i < channels * depth; ++i) rows.values.push_back(0.1F * (tails ? heavy(generator) : normal(generator)));
  return rows;
}

double square_error(const Rows& a, const Rows& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += std::pow(static_cast<double>(a.values[i] - b.values[i]), 2);
  return sum;
}

constexpr int kBits[] = {2, 3, 4, 5, 6, 8};

TEST(Blocks, tensors_stand_for_the_numbers) {
  for (const int bits : kBits)
    for (const bool symmetric : {false, true})
      for (const size_t block : {16, 64})
        for (const size_t depth : {16, 100, 129}) {
          const BlockRows rows = round_blocks(drawn_rows(3, depth, 1), {bits, block, symmetric}, true);
          const Rows expected = rows.numbers();
          for (const int stored : kBits) {
            if (stored < bits) continue;
            const BlockRows::Tensors made = rows.packed(stored, DType::f16);
            const NBits form{static_cast<int64_t>(depth), stored, static_cast<int64_t>(block)};
            ASSERT_EQ(made.numbers.shape(), (Shape{3, form.blocks(), form.bytes()}));
            EXPECT_EQ(!made.zeros, symmetric);
            const size_t bytes = made.numbers.bytes() + made.scales.bytes() + (made.zeros ? made.zeros.bytes() : 0);
            EXPECT_TRUE(stored != bits || rows.bytes() == bytes);
            for (size_t c = 0; c < 3; ++c)
              for (size_t i = 0; i < depth; ++i) {
                const size_t b = c * rows.blocks() + i / block;
                const int zero = made.zeros
                                     ? form.number(made.zeros.data<uint8_t>() + c * static_cast<size_t>(form.zero_point_bytes()), i / block)
                                     : form.middle();
                const int number = form.number(made.numbers.data<uint8_t>() + b * static_cast<size_t>(form.bytes()), i % block);
                EXPECT_EQ(static_cast<float>(number - zero) * f32_from_f16(made.scales.data<uint16_t>()[b]), expected.row(c)[i]);
              }
          }
          const BlockRows::Tensors plain = rows.plain(DType::f32);
          for (size_t c = 0; c < 3; ++c)
            for (size_t i = 0; i < depth; ++i) {
              const size_t b = c * rows.blocks() + i / block;
              const auto* bytes = static_cast<const uint8_t*>(plain.numbers.data());
              const int number = symmetric ? static_cast<int8_t>(bytes[c * depth + i]) : bytes[c * depth + i];
              const int zero = symmetric ? 0 : static_cast<const uint8_t*>(plain.zeros.data())[b];
              EXPECT_EQ(static_cast<float>(number - zero) * plain.scales.data<float>()[b], expected.row(c)[i]);
            }
        }
}

TEST(Blocks, more_bits_and_smaller_blocks_cost_less) {
  const Rows rows = drawn_rows(20, 256, 2);
  for (const bool symmetric : {false, true}) {
    double before = 1e9;
    for (const int bits : kBits) {
      const double error = square_error(rows, round_blocks(rows, {bits, 64, symmetric}, true).numbers());
      EXPECT_LT(error, 0.6 * before) << bits;
      EXPECT_LE(error, square_error(rows, round_blocks(rows, {bits, 64, symmetric}, false).numbers())) << bits;
      EXPECT_LT(square_error(rows, round_blocks(rows, {bits, 16, symmetric}, true).numbers()), error) << bits;
      before = error;
    }
  }
}

TEST(Blocks, zeros_and_extreme_weights) {
  Rows rows = drawn_rows(4, 64, 3);
  for (size_t i = 0; i < 64; ++i) rows.row(0)[i] = 0, rows.row(1)[i] *= 1e-9F, rows.row(2)[i] *= 1e9F, rows.row(3)[i] = 0.25F;
  for (const bool symmetric : {false, true})
    for (const int bits : kBits) {
      BlockForm form{bits, 16, symmetric};
      form.half = fit_half(rows, form);
      EXPECT_FALSE(form.half);
      for (const BlockRows& made : {round_blocks(rows, form, true), round_half_quadratic(rows, form, false)}) {
        const Rows numbers = made.numbers();
        for (size_t i = 0; i < 64; ++i) {
          EXPECT_EQ(numbers.row(0)[i], 0);
          EXPECT_NEAR(numbers.row(3)[i], 0.25F, 0.13F);
          EXPECT_TRUE(std::isfinite(numbers.row(1)[i]) && std::isfinite(numbers.row(2)[i]));
        }
      }
    }
  EXPECT_TRUE(fit_half(drawn_rows(4, 64, 3), {4, 16, false}));
}

TEST(Gram, root_of_inverse_is_a_factor_of_the_inverse) {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  const size_t n = 37;
  std::vector<double> b(n * n), a(n * n);
  for (double& each : b) each = normal(generator);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < n; ++k)
      for (size_t m = 0; m < n; ++m) a[i * n + k] += b[i * n + m] * b[k * n + m] + (i == k && m == 0 ? 1.0 : 0.0);
  const std::vector<double> u = root_of_inverse(a, n);
  ASSERT_EQ(u.size(), n * n);
  // U a U' = 1, as inverse(a) = U'U.
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < n; ++k) {
      double sum = 0;
      EXPECT_TRUE(k >= i || u[i * n + k] == 0);
      for (size_t p = 0; p < n; ++p)
        for (size_t q = 0; q < n; ++q) sum += u[i * n + p] * a[p * n + q] * u[k * n + q];
      EXPECT_NEAR(sum, i == k ? 1 : 0, 1e-9);
    }
  a[5 * n + 5] = -1;
  EXPECT_TRUE(root_of_inverse(a, n).empty());
}

constexpr const char* kDecoder = R"(graph "decoder" {
  input ids: i64[1, n]
  const table = f32[50, 64] random 1
  const gamma = f32[64] random 2
  const q = f32[64, 64] random 3
  const k = f32[64, 64] random 4
  const up = f32[64, 160] random 5
  const bias = f32[160] random 6
  const down = f32[160, 64] random 7
  const head = f32[64, 50] random 8
  x = Gather(table, ids)
  h = RMSNormalization(x, gamma)
  a = MatMul(h, q) @"query"
  b = MatMul(h, k) @"key"
  s = Mul(a, b)
  u = MatMul(s, up) @"up"
  v = Add(u, bias)
  r = Relu(v)
  d = MatMul(r, down) @"down"
  e = Add(x, d)
  y = MatMul(e, head) @"head"
  output y
})";

Model decoder() { return model_of(kDecoder); }

Samples tokens(size_t count) {
  return {count, [](size_t i) {
            Tensor ids(DType::i64, {1, 24});
            std::mt19937 generator(static_cast<unsigned>(i) + 1);
            for (int64_t k = 0; k < 24; ++k) ids.writable().data<int64_t>()[k] = static_cast<int64_t>(generator() % 50);
            return std::vector<Tensor>{ids};
          }};
}

TEST(WeightsOnly, every_method_keeps_the_signal_of_a_decoder) {
  const Model model = decoder();
  for (const MethodDescription& method : weight_only_methods()) {
    QuantizeOptions options;
    options.weights_only = method.name;
    options.block_size = 32;
    const Quantized quantized = quantize(model, tokens(6), options);
    ASSERT_EQ(quantized.report.layers.size(), 6u) << method.name;
    for (const LayerReport& layer : quantized.report.layers) {
      EXPECT_EQ(layer.refusal, "") << layer.node;
      EXPECT_EQ(layer.weight_bits, 4);
      EXPECT_GT(layer.fidelity.sqnr, 15) << method.name << ", " << layer.node;
      EXPECT_LT(layer.bytes_after * 5, layer.bytes_before);
    }
    EXPECT_GT(quantized.report.outputs[0].fidelity.sqnr, 15) << method.name;
    int products = 0, tables = 0;
    for (const Node& node : quantized.model.graph().nodes())
      products += node.op() == "minnow.MatMulNBits", tables += node.op() == "minnow.DequantizeNBits";
    EXPECT_EQ(products, 5);
    EXPECT_EQ(tables, 1);
    // Both forms compute the same.
    Session ours(quantized.model), theirs(quantized.plain);
    const Tensor ids = tokens(1).at(0)[0];
    const Tensor a = ours.run({ids.view()})[0], b = theirs.run({ids.view()})[0];
    for (int64_t i = 0; i < a.elements(); ++i) EXPECT_NEAR(a.data<float>()[i], b.data<float>()[i], 2e-3F);
  }
}

TEST(WeightsOnly, activations_may_be_rounded_to_bytes_where_that_is_asked_for) {
  const Model model = decoder();
  QuantizeOptions options;
  options.weights_only = "rtn";
  options.block_size = 32;
  const auto levels = [](const Model& quantized) {
    std::vector<int64_t> found;
    for (const Node& node : quantized.graph().nodes())
      if (const AttributeValue* level = node.op() == "minnow.MatMulNBits" ? node.attributes.find("accuracy_level") : nullptr)
        found.push_back(std::get<int64_t>(*level));
    return found;
  };
  const Quantized exact = quantize(model, {}, options);
  EXPECT_THAT(levels(exact.model), testing::IsEmpty());
  options.activations = "i8";
  const Quantized rounded = quantize(model, {}, options);
  EXPECT_THAT(levels(rounded.model), testing::ElementsAre(4, 4, 4, 4, 4));
  EXPECT_THAT(levels(rounded.plain), testing::Each(4));
  // One token, so that products have few rows.
  Tensor id(DType::i64, {1, 1});
  id.writable().data<int64_t>()[0] = 7;
  Session one(exact.model), other(rounded.model);
  const Tensor a = one.run({id.view()})[0], b = other.run({id.view()})[0];
  double signal = 0, noise = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<float>()[i], error = x - b.data<float>()[i];
    signal += x * x, noise += error * error;
  }
  EXPECT_LT(noise * 1000, signal);
}

TEST(WeightsOnly, a_search_gives_sensitive_layers_more_bits) {
  const Model model = decoder();
  QuantizeOptions options;
  options.weights_only = "rtn";
  SearchOptions aims;
  aims.min_sqnr = 30;
  const SearchResult found = search(model, tokens(4), tokens(4), options, aims);
  EXPECT_TRUE(found.reached);
  EXPECT_GE(found.quantized.report.outputs[0].fidelity.sqnr, 29.9);
  ASSERT_GT(found.candidates.size(), 8u);
  for (size_t i = 1; i < found.candidates.size(); ++i) EXPECT_LE(found.candidates[i - 1].bytes, found.candidates[i].bytes);
  EXPECT_GT(found.candidates[found.chosen].bits.size(), 0u);
  aims = {};
  aims.most_bytes = found.candidates[found.chosen].bytes;
  const SearchResult small = search(model, tokens(4), tokens(4), options, aims);
  EXPECT_TRUE(small.reached);
  EXPECT_GE(small.candidates[small.chosen].sqnr, found.candidates[found.chosen].sqnr);
  EXPECT_LE(small.candidates[small.chosen].bytes, aims.most_bytes);
}

TEST(WeightsOnly, errors) {
  const Model model = decoder();
  QuantizeOptions options;
  options.weights_only = "gptq";
  EXPECT_THAT(sentence_of([&] { quantize(model, {}, options); }), HasSubstr("needs calibration samples"));
  options.weights_only = "rtn";
  EXPECT_EQ(quantize(model, {}, options).report.evaluated, 0u);
  options.bits_for = {{"nobody", 8}};
  EXPECT_THAT(sentence_of([&] { quantize(model, {}, options); }), HasSubstr("no product, convolution or table \"nobody\""));
  options.bits_for = {{"key", 0}, {"head", 8}};
  const QuantizeReport report = quantize(model, {}, options).report;
  for (const LayerReport& layer : report.layers) {
    EXPECT_EQ(layer.refusal.empty(), layer.node != "key");
    EXPECT_EQ(layer.weight_bits, layer.node == "key" ? 32 : layer.node == "head" ? 8 : 4);
  }
  options.weights_only = {};
  EXPECT_THAT(sentence_of([&] { quantize(model, tokens(1), options); }), HasSubstr("bits_for: goes with weights_only"));
}

}  // namespace
}  // namespace minnow::compress
