// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/f16.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/kernels/matmul.h"

namespace minnow::cpu {
namespace {

class F16Test : public EveryIsa {
 protected:
  void SetUp() override {
    if (!kernels().f16->direct.tile.packed) GTEST_SKIP() << "no products of f16 in this instruction set";
    if (!has_f16_products()) GTEST_SKIP() << "this machine has no products of f16";
  }
  static const Kernels& kernels() { return kernels_for(GetParam()); }

  static std::vector<float> run(const ConvShape& s, bool plain, const std::vector<float>& x, const std::vector<float>& w, size_t l2,
                                std::atomic<bool>& overflowed) {
    const Kernels& k = kernels();
    GemmConv::Options options;
    options.l2 = l2;
    options.plain_input = plain;
    options.low_precision = &k.f16->direct;
    const GemmConv conv(k, s, options, Epilogue{});
    std::vector<float> weights(conv.weight_floats()), scratch(conv.scratch_floats(), NAN);
    conv.pack_weights(w.data(), weights.data());
    const size_t in = s.in_h * s.in_w, out = s.out_h * s.out_w;
    const std::vector<float> image = plain ? x : pack(x, s.batch, s.in_channels, in, k.lanes);
    std::vector<float> y(s.batch * ((s.out_channels + k.lanes - 1) / k.lanes) * k.lanes * out, -7);
    for (size_t unit = 0; unit < conv.units(); ++unit)
      conv.run(unit, {image.data(), weights.data(), nullptr, nullptr, y.data(), &overflowed}, scratch.data());
    return unpack(y, s.batch, s.out_channels, out, k.lanes);
  }
};

// Factors of 11 bits, and sums of 64 products of 11 bits: three digits of sums of about one.
constexpr double kTolerance = 6e-3;

TEST_P(F16Test, convolutions_agree_with_plain_loops) {
  unsigned seed = 0;
  std::atomic<bool> overflowed{false};
  for (const ConvShape& s : conv_shapes({
           {1, 16, 32, 1, 7, 7, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 33, 17, 1, 5, 9, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {2, 64, 48, 1, 14, 15, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 17, 33, 1, 6, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
           {1, 49, 32, 1, 15, 17, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
           {1, 8, 12, 1, 11, 13, 5, 3, 1, 2, 2, 1, 3, 0, 2, 1},
           {2, 128, 64, 2, 5, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
           {1, 520, 9, 1, 4, 4, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
           {1, 3, 64, 1, 30, 30, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},
           {1, 4, 7, 1, 9, 8, 3, 2, 3, 1, 1, 2, 0, 1, 2, 0},
       })) {
    SCOPED_TRACE(describe(s));
    const size_t depth = s.in_channels / s.groups * s.taps();
    const std::vector<float> x = random_floats(s.batch * s.in_channels * s.in_h * s.in_w, ++seed);
    const std::vector<float> w = random_floats(s.out_channels * depth, ++seed, 1 / std::sqrt(float(depth)));
    const std::vector<double> want = convolve(s, x, w, std::vector<float>(s.out_channels, 0.0f));
    for (bool plain : {false, true})
      if (!plain || (s.in_channels <= 4 && s.groups == 1)) {
        ASSERT_TRUE(close(run(s, plain, x, w, seed % 2 ? 1 << 20 : 1 << 12, overflowed), want, kTolerance)) << (plain ? "plain" : "packed");
      }
  }
  EXPECT_FALSE(overflowed);
}

TEST_P(F16Test, products_agree_with_plain_loops) {
  unsigned seed = 100;
  std::atomic<bool> overflowed{false};
  for (const auto& [m, depth, n] :
       {std::array<size_t, 3>{1, 1, 1}, {1, 64, 100}, {1, 37, 33}, {2, 5, 7}, {28, 100, 31}, {29, 1, 64}, {9, 1000, 10}, {1, 1024, 1000}}) {
    SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(depth) + "x" + std::to_string(n));
    const std::vector<float> a = random_floats(m * depth, ++seed), b = random_floats(depth * n, ++seed, 1 / std::sqrt(float(depth)));
    MatMul::Options options;
    options.low_precision = &kernels().f16->direct;
    const MatMul product(kernels(), {m, depth, n}, options, Epilogue{});
    std::vector<float> packed(product.packed_b_floats(), NAN), scratch(product.scratch_floats(), NAN), y(m * n);
    const std::vector<float> b_pairs = low_precision_weights(LowPrecisionFormat::f16, b.data(), 1, depth, n);
    for (size_t panel = 0; panel < product.panels(); ++panel) product.pack_b(panel, b_pairs.data(), 1, packed.data());
    for (size_t unit = 0; unit < product.units(); ++unit)
      product.run(unit, {a.data(), packed.data(), nullptr, nullptr, y.data(), &overflowed}, scratch.data());
    std::vector<double> want(m * n);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        for (size_t l = 0; l < depth; ++l) want[i * n + j] += double(a[i * depth + l]) * double(b[l * n + j]);
    ASSERT_TRUE(close(y, want, kTolerance));
  }
  EXPECT_FALSE(overflowed);
}

TEST_P(F16Test, what_overflows_f16_in_f32_sums_alone_is_right_and_what_overflows_in_a_factor_is_infinite) {
  const ConvShape s = conv_shapes({{1, 256, 8, 1, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}})[0];
  const std::vector<float> w(8 * 256, 0.5f);
  std::atomic<bool> overflowed{false};
  for (float value : run(s, false, std::vector<float>(256 * 9, 16000.0f), w, 1 << 20, overflowed))
    EXPECT_NEAR(value, 256 * 8000.0f, 0.01 * 256 * 8000);
  EXPECT_FALSE(overflowed);
  for (float value : run(s, false, std::vector<float>(256 * 9, 3e6f), w, 1 << 20, overflowed)) EXPECT_TRUE(std::isinf(value));
  EXPECT_TRUE(overflowed);
}

// Overflow is noticed even if a clamp after the sums hides it. NaN in lanes beyond the last channel does not count.
TEST_P(F16Test, sums_that_overflow_are_noticed_whatever_the_activation_makes_of_them) {
  const ConvShape s = conv_shapes({{1, 67, 9, 1, 5, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}})[0];
  const Kernels& k = kernels();
  Epilogue clamped;
  clamped.low = 0, clamped.high = 6;
  GemmConv::Options options;
  options.low_precision = &k.f16->direct;
  const GemmConv conv(k, s, options, clamped);
  std::vector<float> weights(conv.weight_floats()), scratch(conv.scratch_floats(), NAN);
  conv.pack_weights(std::vector<float>(9 * 67 * 9, 30.0f).data(), weights.data());
  for (const float x : {400.0f, 40000.0f}) {
    const std::vector<float> image = pack(std::vector<float>(67 * 25, x), 1, 67, 25, k.lanes);
    std::vector<float> y((9 + k.lanes - 1) / k.lanes * k.lanes * 25);
    std::atomic<bool> overflowed{false};
    for (size_t unit = 0; unit < conv.units(); ++unit)
      conv.run(unit, {image.data(), weights.data(), nullptr, nullptr, y.data(), &overflowed}, scratch.data());
    EXPECT_EQ(overflowed, x > 30000);
    for (float value : unpack(y, 1, 9, 25, k.lanes)) EXPECT_EQ(value, 6);
  }
}

MINNOW_EVERY_ISA(F16Test);

}  // namespace
}  // namespace minnow::cpu
