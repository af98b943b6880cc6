// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/bf16.h"

#include <cstring>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/schemes/bf16.h"
#include "base/numeric.h"

namespace minnow::cpu {
namespace {

class Bf16Test : public EveryIsa {
 protected:
  void SetUp() override {
    if (!kernels().bf16->row || !has_bf16_products())
      GTEST_SKIP() << "no bf16 products: "
                   << (kernels().bf16->row ? "this machine has no such instruction" : "not in this instruction set");
  }
  static const Kernels& kernels() { return kernels_for(GetParam()); }
};

float rounded_to_bf16(float value) { return f32_from_bf16(bf16_from_f32(value)); }
std::vector<float> rounded_to_bf16(std::vector<float> values) {
  for (float& value : values) value = rounded_to_bf16(value);
  return values;
}
float half(const std::vector<float>& pairs, size_t i) {
  uint16_t bits;
  std::memcpy(&bits, reinterpret_cast<const char*>(pairs.data()) + 2 * i, sizeof bits);
  return f32_from_bf16(bits);
}

TEST_P(Bf16Test, rounds_to_nearest_even_and_keeps_what_is_not_finite) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = random_floats(1000, 1, 100);
  x.insert(x.end(), {0.0f, -0.0f, inf, -inf, 1 + 1 / 256.0f, 1 + 3 / 256.0f, 3.4e38f, -1 - 1 / 256.0f, 1e-30f});
  for (size_t count : {size_t{1}, size_t{2}, size_t{31}, size_t{32}, size_t{33}, x.size()}) {
    std::vector<float> pairs(ceil_div(count, 2) + 1, -7);
    kernels().bf16->row(x.data() + x.size() - count, count, pairs.data());
    EXPECT_EQ(pairs.back(), -7);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(half(pairs, i), rounded_to_bf16(x[x.size() - count + i])) << i << " of " << count;
    if (count % 2) {
      EXPECT_EQ(half(pairs, count), 0);
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> pair(1);
  kernels().bf16->row(&nan, 1, pair.data());
  EXPECT_TRUE(std::isnan(half(pair, 0)));
}

// Against plain loops over factors that were rounded before: products of bf16 are exact in f32.
TEST_P(Bf16Test, convolutions_agree_with_plain_loops) {
  const Kernels& k = kernels();
  const Kernels tiles = bf16_kernels(k);
  unsigned seed = 0;
  for (const ConvShape& s : conv_shapes({
           {1, 16, 32, 1, 7, 7, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 33, 17, 1, 5, 9, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {2, 64, 48, 1, 14, 15, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 24, 96, 1, 30, 31, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 32, 40, 1, 9, 9, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0},
           {1, 17, 33, 1, 6, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
           {2, 32, 64, 1, 13, 29, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 49, 32, 1, 15, 17, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
           {1, 8, 12, 1, 11, 13, 5, 3, 1, 2, 2, 1, 3, 0, 2, 1},
           {1, 1, 20, 1, 28, 28, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},
           {2, 128, 64, 2, 5, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
           {1, 97, 130, 1, 4, 4, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
       })) {
    SCOPED_TRACE(describe(s));
    const size_t lanes = k.lanes, in = s.in_h * s.in_w, out = s.out_h * s.out_w, channels = s.in_channels / s.groups;
    const size_t depth = channels * s.taps(), halves = ceil_div(channels, 2), vectors = ceil_div(channels, lanes);
    const std::vector<float> x = random_floats(s.batch * s.in_channels * in, ++seed);
    const std::vector<float> w = random_floats(s.out_channels * depth, ++seed, 1 / std::sqrt(float(depth)));
    const std::vector<float> bias = random_floats(s.out_channels, ++seed), add = random_floats(s.batch * s.out_channels * out, ++seed);
    std::vector<double> want = convolve(s, rounded_to_bf16(x), rounded_to_bf16(w), bias);
    const std::vector<float> packed_x = pack(x, s.batch, s.in_channels, in, lanes);
    const size_t planes = ceil_div(channels, 2 * lanes);
    std::vector<float> pairs(s.batch * s.groups * planes * in * lanes);
    for (size_t group = 0; group < s.batch * s.groups; ++group)
      for (size_t p = 0; p < planes; ++p) {
        const float* low = packed_x.data() + (group * vectors + 2 * p) * in * lanes;
        k.bf16->pairs(low, 2 * p + 1 < vectors ? low + in * lanes : nullptr, in, channels - 2 * p * lanes,
                      pairs.data() + (group * planes + p) * in * lanes);
      }
    ConvShape of_pairs = s;
    of_pairs.in_channels = s.groups * halves;
    GemmConv::Options options;
    options.threads = seed % 3 + 1;
    options.l2 = seed % 2 ? 1 << 20 : 1 << 12;
    const GemmConv conv(tiles, of_pairs, options, Epilogue{-0.5f, 1.0f, nullptr, 0, 0});
    std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats()), scratch(conv.scratch_floats());
    conv.pack_weights(bf16_pairs(w.data(), s.out_channels, channels, s.taps()).data(), weights.data());
    conv.pack_bias(bias.data(), packed_bias.data());
    const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, out, lanes);
    std::vector<float> y(packed_add.size(), -7);
    for (size_t unit = 0; unit < conv.units(); ++unit)
      conv.run(unit, {pairs.data(), weights.data(), packed_bias.data(), packed_add.data(), y.data()}, scratch.data());
    for (size_t i = 0; i < want.size(); ++i) want[i] = std::min(1.0, std::max(-0.5, want[i] + add[i]));
    ASSERT_TRUE(close(unpack(y, s.batch, s.out_channels, out, lanes), want));
  }
}

TEST_P(Bf16Test, products_agree_with_plain_loops) {
  const Kernels& k = kernels();
  const Kernels tiles = bf16_kernels(k);
  unsigned seed = 100;
  for (const auto& [m, depth, n] : {std::array<size_t, 3>{1, 1, 1},
                                    {1, 64, 100},
                                    {1, 37, 33},
                                    {2, 5, 7},
                                    {13, 31, 65},
                                    {28, 100, 31},
                                    {29, 1, 64},
                                    {300, 20, 36},
                                    {9, 1000, 10},
                                    {1, 1024, 1000}}) {
    SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(depth) + "x" + std::to_string(n));
    const size_t halves = ceil_div(depth, 2);
    const std::vector<float> a = random_floats(m * depth, ++seed), b = random_floats(depth * n, ++seed, 1 / std::sqrt(float(depth)));
    std::vector<float> pairs(m * halves);
    for (size_t i = 0; i < m; ++i) k.bf16->row(a.data() + i * depth, depth, pairs.data() + i * halves);
    const MatMul product(tiles, {m, halves, n}, MatMul::Options{}, Epilogue{});
    std::vector<float> packed(product.packed_b_floats(), NAN), scratch(product.scratch_floats(), NAN), y(m * n);
    const std::vector<float> b_pairs = bf16_pairs(b.data(), 1, depth, n);
    for (size_t panel = 0; panel < product.panels(); ++panel) product.pack_b(panel, b_pairs.data(), 1, packed.data());
    for (size_t unit = 0; unit < product.units(); ++unit)
      product.run(unit, {pairs.data(), packed.data(), nullptr, nullptr, y.data()}, scratch.data());
    std::vector<double> want(m * n);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        for (size_t l = 0; l < depth; ++l)
          want[i * n + j] += double(rounded_to_bf16(a[i * depth + l])) * double(rounded_to_bf16(b[l * n + j]));
    ASSERT_TRUE(close(y, want));
  }
}

MINNOW_EVERY_ISA(Bf16Test);

}  // namespace
}  // namespace minnow::cpu
