// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/winograd_conv.h"

#include "backends/cpu/kernel_support.h"

namespace minnow::cpu {
namespace {

class WinogradConvTest : public EveryIsa {};

// batch, in, out, groups, in_h, in_w, kernel, stride, dilation, pads: top, left, bottom, right
const std::vector<ConvShape> kShapes = conv_shapes({
    {1, 16, 16, 1, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 16, 32, 1, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {2, 17, 33, 1, 13, 14, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 3, 5, 1, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 40, 72, 1, 30, 27, 3, 3, 1, 1, 1, 1, 1, 0, 0, 1},
    {3, 64, 64, 1, 15, 9, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2},
    {1, 128, 16, 1, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 20, 100, 1, 2, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 8, 8, 1, 5, 6, 3, 3, 1, 1, 1, 1, 0, 2, 1, 0},
    {1, 8, 8, 1, 4, 4, 3, 3, 1, 1, 1, 1, 5, 6, 5, 6},
    {1, 16, 32, 1, 14, 14, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {2, 19, 17, 1, 15, 13, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},
    {1, 64, 40, 1, 7, 7, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 5, 5, 1, 1, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 12, 20, 1, 33, 31, 3, 3, 2, 2, 1, 1, 1, 0, 0, 1},
    {1, 12, 20, 1, 30, 31, 4, 4, 1, 1, 1, 1, 2, 2, 1, 1},
    {2, 7, 9, 1, 5, 6, 4, 4, 1, 1, 1, 1, 0, 0, 0, 0},
});

TEST_P(WinogradConvTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 0;
  for (const ConvShape& s : kShapes)
    for (size_t f = 0; f < static_cast<size_t>(WinogradForm::count); ++f) {
      const WinogradForm form = static_cast<WinogradForm>(f);
      if (!WinogradConv::can_serve(s, form)) continue;
      SCOPED_TRACE(describe(s) + ", form " + std::to_string(f));
      const size_t in = s.in_h * s.in_w, out = s.out_h * s.out_w, depth = s.in_channels * s.taps();
      const std::vector<float> x = random_floats(s.batch * s.in_channels * in, ++seed);
      const std::vector<float> w = random_floats(s.out_channels * depth, ++seed, 1 / std::sqrt(float(depth)));
      const std::vector<float> bias = random_floats(s.out_channels, ++seed), add = random_floats(s.batch * s.out_channels * out, ++seed);
      std::vector<double> want = convolve(s, x, w, bias);
      const std::vector<float> packed_x = pack(x, s.batch, s.in_channels, in, kernels.lanes);
      const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, out, kernels.lanes);
      for (bool finished : {false, true})
        for (size_t threads : {1, 3}) {
          const WinogradConv conv(kernels, s, {form, threads, finished ? size_t{1} << 20 : size_t{1} << 14},
                                  finished ? Epilogue{-0.5f, 1.0f, (*kernels.unary)[Unary::tanh], 0, 0} : Epilogue{});
          std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats());
          std::vector<float> scratch(conv.scratch_floats(), NAN), shared(conv.shared_floats(), NAN), y(packed_add.size(), -7);
          conv.pack_weights(w.data(), weights.data());
          conv.pack_bias(bias.data(), packed_bias.data());
          const WinogradConv::Arguments arguments{packed_x.data(), weights.data(), packed_bias.data(),
                                                  finished ? packed_add.data() : nullptr, y.data()};
          for (size_t unit = 0; unit < conv.transform_units(); ++unit) conv.transform(unit, arguments, shared.data());
          for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, shared.data(), scratch.data());
          std::vector<double> expected = want;
          if (finished)
            for (size_t i = 0; i < want.size(); ++i) expected[i] = std::tanh(std::min(1.0, std::max(-0.5, want[i] + add[i])));
          ASSERT_TRUE(close(unpack(y, s.batch, s.out_channels, out, kernels.lanes), expected));
        }
    }
}

// What "normal" precision promises: at most four times the error of summing directly.
TEST_P(WinogradConvTest, errors_stay_small) {
  const Kernels& kernels = kernels_for(GetParam());
  const ConvShape s = conv_shapes({{1, 64, 32, 1, 24, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}})[0];
  const std::vector<float> x = random_floats(s.in_channels * s.in_h * s.in_w, 1), w = random_floats(s.out_channels * 64 * 9, 2, 0.06f);
  const std::vector<double> want = convolve(s, x, w, {});
  const std::vector<float> packed = pack(x, 1, s.in_channels, s.in_h * s.in_w, kernels.lanes);
  for (WinogradForm form : {WinogradForm::f2, WinogradForm::f4}) {
    const WinogradConv conv(kernels, s, {form, 1, 1 << 20}, {});
    std::vector<float> weights(conv.weight_floats()), scratch(conv.scratch_floats());
    std::vector<float> y(ceil_div(s.out_channels, kernels.lanes) * kernels.lanes * s.out_h * s.out_w);
    conv.pack_weights(w.data(), weights.data());
    for (size_t unit = 0; unit < conv.units(); ++unit)
      conv.run(unit, {packed.data(), weights.data(), nullptr, nullptr, y.data()}, nullptr, scratch.data());
    const std::vector<float> got = unpack(y, 1, s.out_channels, s.out_h * s.out_w, kernels.lanes);
    double error = 0, rms = 0;
    for (size_t i = 0; i < want.size(); ++i)
      error += std::fabs(got[i] - want[i]) / double(want.size()), rms += want[i] * want[i] / double(want.size());
    EXPECT_LT(error, 6e-7 * std::sqrt(rms)) << "form " << static_cast<int>(form);  // summing in order: 2e-7
  }
}

MINNOW_EVERY_ISA(WinogradConvTest);

}  // namespace
}  // namespace minnow::cpu
