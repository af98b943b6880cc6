// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/bf16.h"

#include <cstring>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/kernels/matmul.h"
#include "base/numeric.h"
#include "base/os.h"

namespace minnow::cpu {
namespace {

// Every instruction set in each form.
using Form = LowPrecisionKernels Bf16Forms::*;
class Bf16Test : public testing::TestWithParam<std::tuple<Isa, Form>> {
 protected:
  void SetUp() override {
    if (!bf16().tile.packed) GTEST_SKIP() << "no products of bf16 in this instruction set";
    if (form() != &Bf16Forms::widening && !has_bf16_products()) GTEST_SKIP() << "this machine has no products of bf16";
    if (form() == &Bf16Forms::matrices && !os::may_use_amx()) GTEST_SKIP() << "this machine has no registers of matrices";
  }
  static Form form() { return std::get<1>(GetParam()); }
  static const Kernels& kernels() { return kernels_for(std::get<0>(GetParam())); }
  static const LowPrecisionKernels& bf16() { return kernels().bf16->*form(); }
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
  const size_t lanes = kernels().lanes;
  for (size_t count : {size_t{1}, size_t{2}, lanes, lanes + 1, 2 * lanes - 1, 2 * lanes})
    for (size_t rows : {1, 3}) {
      std::vector<float> pairs(rows * lanes + 1, -7);
      bf16().pack_rows(x.data() + x.size() - count - (rows - 1) * 50, 50, rows, count, pairs.data());
      EXPECT_EQ(pairs.back(), -7);
      const size_t piece = 2 * lanes / bf16().parts;  // channels of a pixel in one part
      for (size_t r = 0; r < rows; ++r)
        for (size_t i = 0; i < 2 * lanes; ++i)
          EXPECT_EQ(half(pairs, (i / piece * rows + r) * piece + i % piece),
                    i < count ? rounded_to_bf16(x[x.size() - count - (rows - 1 - r) * 50 + i]) : 0)
              << i << " of " << count << ", row " << r;
    }
  for (size_t count : {size_t{1}, lanes, lanes + 3}) {
    std::vector<float> pairs(count + 1, -7), alone(count);
    bf16().pack_planes(x.data(), x.data() + x.size() - count, count, pairs.data());
    bf16().pack_planes(x.data(), nullptr, count, alone.data());
    EXPECT_EQ(pairs.back(), -7);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(half(pairs, 2 * i), rounded_to_bf16(x[i]));
      EXPECT_EQ(half(pairs, 2 * i + 1), rounded_to_bf16(x[x.size() - count + i]));
      EXPECT_EQ(half(alone, 2 * i + 1), 0);
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> pair(1);
  bf16().pack_planes(&nan, nullptr, 1, pair.data());
  EXPECT_TRUE(std::isnan(half(pair, 0)));
}

// Against plain loops over factors that were rounded before: products of bf16 are exact in f32.
TEST_P(Bf16Test, convolutions_agree_with_plain_loops) {
  const Kernels& k = kernels();
  unsigned seed = 0;
  for (const ConvShape& s : conv_shapes({
           {1, 16, 32, 1, 7, 7, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},   {1, 33, 17, 1, 5, 9, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {2, 64, 48, 1, 14, 15, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, {1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 24, 96, 1, 30, 31, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, {1, 32, 40, 1, 9, 9, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0},
           {1, 17, 33, 1, 6, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},   {2, 32, 64, 1, 13, 29, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 49, 32, 1, 15, 17, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, {1, 8, 12, 1, 11, 13, 5, 3, 1, 2, 2, 1, 3, 0, 2, 1},
           {1, 1, 20, 1, 28, 28, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},  {2, 128, 64, 2, 5, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
           {1, 97, 130, 1, 4, 4, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},  {1, 3, 32, 1, 33, 35, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
           {1, 3, 64, 1, 30, 30, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},  {1, 4, 7, 1, 9, 8, 3, 2, 3, 1, 1, 2, 0, 1, 2, 0},
           {1, 2, 9, 1, 6, 7, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},     {1, 70, 40, 1, 3, 64, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 40, 33, 1, 8, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
       })) {
    SCOPED_TRACE(describe(s));
    const size_t lanes = k.lanes, in = s.in_h * s.in_w, out = s.out_h * s.out_w, depth = s.in_channels / s.groups * s.taps();
    const std::vector<float> x = random_floats(s.batch * s.in_channels * in, ++seed);
    const std::vector<float> w = random_floats(s.out_channels * depth, ++seed, 1 / std::sqrt(float(depth)));
    const std::vector<float> bias = random_floats(s.out_channels, ++seed), add = random_floats(s.batch * s.out_channels * out, ++seed);
    std::vector<double> want = convolve(s, rounded_to_bf16(x), rounded_to_bf16(w), bias);
    for (size_t i = 0; i < want.size(); ++i) want[i] = std::min(1.0, std::max(-0.5, want[i] + add[i]));
    const std::vector<float> packed_x = pack(x, s.batch, s.in_channels, in, lanes);
    const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, out, lanes);
    for (bool plain : {false, true}) {
      if (plain && (!bf16().tile.plain || s.in_channels > 4 || s.groups > 1)) continue;
      GemmConv::Options options;
      options.threads = seed % 3 + 1;
      options.l2 = seed % 2 ? 1 << 20 : 1 << 12;
      options.plain_input = plain;
      options.low_precision = &bf16();
      const GemmConv conv(k, s, options, Epilogue{-0.5f, 1.0f, nullptr, 0, 0});
      std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats()), scratch(conv.scratch_floats(), NAN);
      conv.pack_weights(w.data(), weights.data());
      conv.pack_bias(bias.data(), packed_bias.data());
      std::vector<float> y(packed_add.size(), -7);
      for (size_t unit = 0; unit < conv.units(); ++unit)
        conv.run(unit, {plain ? x.data() : packed_x.data(), weights.data(), packed_bias.data(), packed_add.data(), y.data()},
                 scratch.data());
      ASSERT_TRUE(close(unpack(y, s.batch, s.out_channels, out, lanes), want)) << (plain ? "plain" : "packed");
    }
  }
}

TEST_P(Bf16Test, products_agree_with_plain_loops) {
  const Kernels& k = kernels();
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
    const std::vector<float> a = random_floats(m * depth, ++seed), b = random_floats(depth * n, ++seed, 1 / std::sqrt(float(depth)));
    MatMul::Options options;
    options.low_precision = &bf16();
    const MatMul product(k, {m, depth, n}, options, Epilogue{});
    std::vector<float> packed(product.packed_b_floats(), NAN), scratch(product.scratch_floats(), NAN), y(m * n);
    const std::vector<float> b_pairs = low_precision_weights(LowPrecisionFormat::bf16, b.data(), 1, depth, n);
    for (size_t panel = 0; panel < product.panels(); ++panel) product.pack_b(panel, b_pairs.data(), 1, packed.data());
    for (size_t unit = 0; unit < product.units(); ++unit)
      product.run(unit, {a.data(), packed.data(), nullptr, nullptr, y.data()}, scratch.data());
    std::vector<double> want(m * n);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        for (size_t l = 0; l < depth; ++l)
          want[i * n + j] += double(rounded_to_bf16(a[i * depth + l])) * double(rounded_to_bf16(b[l * n + j]));
    ASSERT_TRUE(close(y, want));
  }
}

INSTANTIATE_TEST_SUITE_P(, Bf16Test,
                         testing::Combine(testing::ValuesIn(available_isas()),
                                          testing::Values(&Bf16Forms::widening, &Bf16Forms::direct, &Bf16Forms::matrices)),
                         [](const testing::TestParamInfo<std::tuple<Isa, Form>>& info) {
                           const Form form = std::get<1>(info.param);
                           return std::string(name_of(std::get<0>(info.param))) + (form == &Bf16Forms::widening ? "_widening"
                                                                                   : form == &Bf16Forms::direct ? "_direct"
                                                                                                                : "_matrices");
                         });

}  // namespace
}  // namespace minnow::cpu
