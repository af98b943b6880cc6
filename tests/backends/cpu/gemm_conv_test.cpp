// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/gemm_conv.h"

#include "backends/cpu/kernel_support.h"

namespace minnow::cpu {
namespace {

// Channels a lane short and a lane over, narrow and wide rows, tiles of every height, strides that skip rows, padding on one side.
// batch, in, out, groups, in_h, in_w, kernel, stride, dilation, pads: top, left, bottom, right
const std::vector<ConvShape> kGemmShapes = conv_shapes({
    {1, 16, 32, 1, 7, 7, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},   {1, 33, 17, 1, 5, 9, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {2, 64, 48, 1, 14, 15, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, {1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 24, 96, 1, 30, 31, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, {1, 32, 40, 1, 9, 9, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0},
    {2, 20, 36, 1, 8, 11, 1, 1, 2, 3, 1, 1, 0, 0, 0, 0},  {1, 16, 16, 1, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 17, 33, 1, 6, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},   {2, 32, 64, 1, 13, 29, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 19, 32, 1, 15, 17, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, {1, 16, 35, 1, 14, 14, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},
    {1, 8, 12, 1, 11, 13, 5, 3, 1, 2, 2, 1, 3, 0, 2, 1},  {1, 8, 12, 1, 20, 21, 3, 3, 1, 1, 4, 3, 4, 3, 4, 3},
    {1, 9, 10, 1, 12, 10, 7, 1, 1, 1, 1, 1, 3, 0, 3, 0},  {1, 9, 10, 1, 9, 12, 1, 7, 1, 1, 1, 1, 0, 3, 0, 3},
    {1, 4, 5, 1, 1, 40, 1, 4, 1, 3, 1, 2, 0, 5, 0, 1},    {1, 5, 6, 1, 3, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2},
    {1, 32, 32, 2, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},   {2, 64, 32, 2, 5, 6, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 2, 3, 1, 3, 3, 3, 3, 5, 5, 1, 1, 4, 4, 4, 4},     {1, 64, 64, 1, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 3, 32, 1, 33, 35, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},  {1, 3, 64, 1, 30, 30, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},
    {2, 1, 20, 1, 28, 28, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},  {1, 4, 7, 1, 9, 8, 3, 2, 3, 1, 1, 2, 0, 1, 2, 0},
    {1, 3, 16, 1, 32, 32, 4, 4, 4, 4, 1, 1, 0, 0, 0, 0},  {1, 140, 20, 1, 30, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
});

std::vector<float> run(const GemmConv& conv, const GemmConv::Arguments& arguments, size_t y_floats, float* y) {
  std::vector<float> scratch(conv.scratch_floats());
  for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, scratch.data());
  return std::vector<float>(y, y + y_floats);
}

class GemmConvTest : public EveryIsa {};

TEST_P(GemmConvTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 0;
  for (const ConvShape& s : kGemmShapes)
    for (bool plain : {false, true}) {
      if (plain && (s.in_channels > 4 || s.groups > 1)) continue;
      if (!GemmConv::can_serve(s, kernels.lanes)) continue;
      SCOPED_TRACE(describe(s) + (plain ? ", plain" : ""));
      const size_t in = s.in_h * s.in_w, out = s.out_h * s.out_w, depth = s.in_channels / s.groups * s.taps();
      const std::vector<float> x = random_floats(s.batch * s.in_channels * in, ++seed);
      const std::vector<float> w = random_floats(s.out_channels * depth, ++seed, 1 / std::sqrt(float(depth)));
      const std::vector<float> bias = random_floats(s.out_channels, ++seed), add = random_floats(s.batch * s.out_channels * out, ++seed);
      std::vector<double> want = convolve(s, x, w, bias);
      const std::vector<float> packed_x = plain ? x : pack(x, s.batch, s.in_channels, in, kernels.lanes);
      const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, out, kernels.lanes);
      std::vector<float> y(packed_add.size(), -7);

      GemmConv::Options options;
      options.plain_input = plain;
      options.threads = seed % 3 + 1;
      options.l2 = seed % 2 ? 1 << 20 : 1 << 12;
      const GemmConv conv(kernels, s, options, {});
      std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats());
      conv.pack_weights(w.data(), weights.data());
      conv.pack_bias(bias.data(), packed_bias.data());
      run(conv, {packed_x.data(), weights.data(), packed_bias.data(), nullptr, y.data()}, y.size(), y.data());
      ASSERT_TRUE(close(unpack(y, s.batch, s.out_channels, out, kernels.lanes), want));

      // With a residual, a clamp and an activation after it.
      const GemmConv clamped(kernels, s, options, {-0.5f, 1.0f, (*kernels.unary)[Unary::sigmoid], 0, 0});
      run(clamped, {packed_x.data(), weights.data(), packed_bias.data(), packed_add.data(), y.data()}, y.size(), y.data());
      for (size_t i = 0; i < want.size(); ++i) want[i] = 1 / (1 + std::exp(-std::min(1.0, std::max(-0.5, want[i] + add[i]))));
      ASSERT_TRUE(close(unpack(y, s.batch, s.out_channels, out, kernels.lanes), want));
    }
}

TEST_P(GemmConvTest, gives_equal_bits_however_it_is_cut) {
  const Kernels& kernels = kernels_for(GetParam());
  for (const ConvShape& s : conv_shapes({{1, 40, 72, 1, 19, 23, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
                                         {1, 40, 72, 1, 14, 14, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
                                         {1, 24, 16, 1, 5, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}})) {
    SCOPED_TRACE(describe(s));
    const std::vector<float> x = pack(random_floats(s.in_channels * s.in_h * s.in_w, 1), 1, s.in_channels, s.in_h * s.in_w, kernels.lanes);
    const std::vector<float> w = random_floats(s.out_channels * s.in_channels * s.taps(), 2);
    std::vector<float> first;
    for (size_t threads : {1, 2, 3, 16})
      for (size_t l2 : {1 << 20, 1 << 14}) {
        GemmConv::Options options;
        options.threads = threads;
        options.l2 = l2;
        const GemmConv conv(kernels, s, options, {});
        std::vector<float> weights(conv.weight_floats()), y(ceil_div(s.out_channels, kernels.lanes) * kernels.lanes * s.out_h * s.out_w);
        conv.pack_weights(w.data(), weights.data());
        run(conv, {x.data(), weights.data(), nullptr, nullptr, y.data()}, y.size(), y.data());
        if (first.empty()) first = y;
        ASSERT_EQ(y, first);
      }
  }
}

TEST(PixelParts, divide_the_threads_and_follow_the_weights) {
  for (size_t threads : {1, 2, 3, 6, 16, 61})
    for (size_t pixels : {1, 49, 196, 12544})
      for (size_t channels : {1, 16, 512, 4096}) EXPECT_EQ(threads % pixel_parts(threads, pixels, channels, channels), 0u);
  EXPECT_EQ(pixel_parts(1, 12544, 16, 16), 1u);
  EXPECT_EQ(pixel_parts(16, 12544, 16, 16), 16u);  // hardly any weights
  EXPECT_EQ(pixel_parts(16, 1, 4096, 4096), 1u);   // hardly any pixels
  EXPECT_EQ(pixel_parts(16, 196, 512, 512), 4u);
  EXPECT_EQ(pixel_parts(2, 196, 512, 512), 2u);
  EXPECT_EQ(pixel_parts(2, 49, 1024, 1024), 1u);
}

TEST(Share, is_exact_where_products_leave_32_bits) {
  constexpr uint64_t kTotal = 1 << 27, kParts = 1000003;
  for (uint64_t i : {uint64_t{0}, uint64_t{31}, uint64_t{33}, uint64_t{500000}, kParts})
    EXPECT_EQ(share(kTotal, kParts, i), kTotal * i / kParts);
}

MINNOW_EVERY_ISA(GemmConvTest);

}  // namespace
}  // namespace minnow::cpu
