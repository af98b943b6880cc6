// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/depthwise_conv.h"

#include "backends/cpu/kernel_support.h"

namespace minnow::cpu {
namespace {

class DepthwiseConvTest : public EveryIsa {};

// batch, in, out, groups, in_h, in_w, kernel, stride, dilation, pads: top, left, bottom, right
const std::vector<ConvShape> kDepthwiseShapes = conv_shapes({
    {1, 16, 16, 16, 14, 14, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 33, 33, 33, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 17, 17, 17, 15, 16, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, {1, 8, 8, 8, 16, 16, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},
    {1, 20, 20, 20, 9, 30, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},  {1, 20, 20, 20, 12, 31, 5, 5, 2, 2, 1, 1, 2, 2, 2, 2},
    {1, 5, 5, 5, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},      {1, 5, 5, 5, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 9, 9, 9, 10, 11, 1, 3, 1, 1, 1, 1, 0, 2, 0, 0},    {1, 9, 9, 9, 10, 11, 7, 3, 3, 1, 2, 1, 6, 0, 6, 1},
    {1, 9, 9, 9, 13, 12, 7, 7, 1, 1, 1, 1, 3, 3, 3, 3},    {1, 9, 9, 9, 13, 12, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
    {1, 9, 9, 9, 40, 41, 2, 4, 1, 3, 1, 1, 0, 1, 1, 0},    {1, 6, 12, 6, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 7, 21, 7, 8, 8, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},     {1, 32, 32, 8, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {2, 64, 64, 32, 6, 7, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},   {1, 24, 36, 3, 5, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 60, 20, 20, 5, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},   {1, 40, 10, 2, 30, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 3, 3, 3, 1, 64, 1, 9, 1, 1, 1, 1, 0, 4, 0, 4},     {1, 4, 4, 4, 5, 5, 5, 5, 1, 1, 1, 1, 4, 4, 4, 4},
});

TEST_P(DepthwiseConvTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 0;
  for (const ConvShape& s : kDepthwiseShapes) {
    SCOPED_TRACE(describe(s));
    const size_t in = s.in_h * s.in_w, out = s.out_h * s.out_w, depth = s.in_channels / s.groups * s.taps();
    const std::vector<float> x = random_floats(s.batch * s.in_channels * in, ++seed);
    const std::vector<float> w = random_floats(s.out_channels * depth, ++seed, 1 / std::sqrt(float(depth)));
    const std::vector<float> bias = random_floats(s.out_channels, ++seed), add = random_floats(s.batch * s.out_channels * out, ++seed);
    std::vector<double> want = convolve(s, x, w, bias);
    const std::vector<float> packed_x = pack(x, s.batch, s.in_channels, in, kernels.lanes);
    const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, out, kernels.lanes);
    DepthwiseConv::Options options;
    options.threads = seed % 3 + 1;
    if (seed % 2) options.l1 = 1 << 10, options.l2 = 1 << 12;
    for (bool finished : {false, true}) {
      const DepthwiseConv conv(kernels, s, options, finished ? Epilogue{-0.5f, 1.0f, (*kernels.unary)[Unary::tanh], 0, 0} : Epilogue{});
      std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats()), scratch(conv.scratch_floats());
      conv.pack_weights(w.data(), weights.data());
      conv.pack_bias(bias.data(), packed_bias.data());
      std::vector<float> y(packed_add.size(), -7);
      for (size_t unit = 0; unit < conv.units(); ++unit)
        conv.run(unit, {packed_x.data(), weights.data(), packed_bias.data(), finished ? packed_add.data() : nullptr, y.data()},
                 scratch.data());
      if (finished)
        for (size_t i = 0; i < want.size(); ++i) want[i] = std::tanh(std::min(1.0, std::max(-0.5, want[i] + add[i])));
      ASSERT_TRUE(close(unpack(y, s.batch, s.out_channels, out, kernels.lanes), want));
    }
  }
}

MINNOW_EVERY_ISA(DepthwiseConvTest);

}  // namespace
}  // namespace minnow::cpu
