// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/stride2_conv.h"

#include "backends/cpu/kernel_support.h"

namespace minnow::cpu {
namespace {

class Stride2ConvTest : public EveryIsa {};

// batch, in, out, groups, in_h, in_w, kernel, stride, dilation, pads: top, left, bottom, right
const std::vector<ConvShape> kStride2Shapes = conv_shapes({
    {1, 3, 64, 1, 32, 32, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},
    {2, 3, 20, 1, 31, 29, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},
    {1, 1, 5, 1, 9, 14, 7, 7, 2, 2, 1, 1, 2, 3, 4, 3},
    {1, 4, 33, 1, 8, 7, 7, 7, 2, 2, 1, 1, 0, 1, 0, 0},
    {1, 5, 16, 1, 40, 6, 5, 5, 2, 2, 1, 1, 2, 2, 2, 2},
    {3, 2, 7, 1, 5, 5, 5, 5, 2, 2, 1, 1, 0, 0, 0, 0},
    {1, 3, 17, 1, 1, 1, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},
    {1, 3, 8, 1, 13, 13, 6, 5, 2, 2, 1, 1, 2, 2, 2, 2},
});

TEST_P(Stride2ConvTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 0;
  for (const ConvShape& s : kStride2Shapes) {
    SCOPED_TRACE(describe(s));
    const std::optional<WinogradForm> form = Stride2Conv::form_of(s);
    ASSERT_TRUE(form);
    const size_t in = s.in_h * s.in_w, out = s.out_h * s.out_w, depth = s.in_channels * s.taps();
    const std::vector<float> x = random_floats(s.batch * s.in_channels * in, ++seed);
    const std::vector<float> w = random_floats(s.out_channels * depth, ++seed, 1 / std::sqrt(float(depth)));
    const std::vector<float> bias = random_floats(s.out_channels, ++seed);
    std::vector<double> want = convolve(s, x, w, bias);
    for (double& value : want) value = std::max(value, 0.0);
    for (size_t threads : {1, 3}) {
      Epilogue relu;
      relu.low = 0;
      const Stride2Conv conv(kernels, s, {*form, threads, size_t{1} << 18}, relu);
      std::vector<float> weights(conv.conv().weight_floats()), packed_bias(conv.conv().bias_floats()), blocks(conv.blocks_floats(), NAN);
      std::vector<float> scratch(conv.conv().scratch_floats(), NAN), shared(conv.conv().shared_floats(), NAN);
      std::vector<float> y(s.batch * ceil_div(s.out_channels, kernels.lanes) * kernels.lanes * out, -7);
      conv.pack_weights(w.data(), weights.data());
      conv.conv().pack_bias(bias.data(), packed_bias.data());
      for (size_t unit = 0; unit < conv.gather_units(); ++unit) conv.gather(unit, x.data(), blocks.data());
      const WinogradConv::Arguments arguments{blocks.data(), weights.data(), packed_bias.data(), nullptr, y.data()};
      for (size_t unit = 0; unit < conv.conv().transform_units(); ++unit) conv.conv().transform(unit, arguments, shared.data());
      for (size_t unit = 0; unit < conv.conv().units(); ++unit) conv.conv().run(unit, arguments, shared.data(), scratch.data());
      ASSERT_TRUE(close(unpack(y, s.batch, s.out_channels, out, kernels.lanes), want));
    }
  }
}

TEST_P(Stride2ConvTest, refuses_what_has_no_form) {
  for (const ConvShape& s : conv_shapes({{1, 3, 8, 1, 13, 13, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
                                         {1, 3, 8, 1, 13, 13, 7, 5, 2, 2, 1, 1, 3, 2, 3, 2},
                                         {1, 3, 8, 1, 13, 13, 7, 7, 1, 1, 1, 1, 3, 3, 3, 3},
                                         {1, 3, 8, 1, 13, 13, 7, 7, 2, 1, 1, 1, 3, 3, 3, 3},
                                         {1, 3, 8, 1, 23, 23, 7, 7, 2, 2, 2, 2, 3, 3, 3, 3}}))
    EXPECT_FALSE(Stride2Conv::form_of(s)) << describe(s);
}

MINNOW_EVERY_ISA(Stride2ConvTest);

}  // namespace
}  // namespace minnow::cpu
