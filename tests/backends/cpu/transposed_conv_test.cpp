// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/transposed_conv.h"

#include "backends/cpu/kernel_support.h"

namespace minnow::cpu {
namespace {

// Plain in and out: every input place adds to the outputs that its taps reach.
std::vector<double> scatter(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& bias) {
  const size_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  std::vector<double> y;
  for (size_t o = 0; o < s.out_channels; ++o) y.insert(y.end(), s.out_h * s.out_w, bias[o]);
  for (size_t c = 0; c < s.in_channels; ++c)
    for (size_t o = 0; o < out; ++o)
      for (size_t iy = 0; iy < s.in_h; ++iy)
        for (size_t ix = 0; ix < s.in_w; ++ix)
          for (size_t ky = 0; ky < s.kernel_h; ++ky)
            for (size_t kx = 0; kx < s.kernel_w; ++kx) {
              const size_t oy = iy * s.stride_h + ky - s.pad_top, ox = ix * s.stride_w + kx - s.pad_left;
              if (oy < s.out_h && ox < s.out_w)
                y[((c / in * out + o) * s.out_h + oy) * s.out_w + ox] +=
                    double(w[((c * out + o) * s.kernel_h + ky) * s.kernel_w + kx]) * x[(c * s.in_h + iy) * s.in_w + ix];
            }
  return y;
}

class TransposedConvTest : public EveryIsa {};

TEST_P(TransposedConvTest, agrees_with_scattered_products) {
  const Kernels& kernels = kernels_for(GetParam());
  // Outputs fill a page of an input's planes several times, in part, and not at all; groups end within what a page would hold.
  const size_t rows[][8] = {{5, 33, 1, 3, 4, 7, 2, 3}, {20, 70, 1, 5, 4, 4, 2, 1},  {32, 64, 2, 4, 4, 4, 2, 1},
                            {9, 5, 1, 6, 5, 3, 1, 1},  {17, 130, 1, 2, 3, 4, 4, 0}, {3, 2, 1, 3, 3, 33, 2, 5}};
  unsigned seed = 0;
  for (const auto& [in, out, groups, height, width, kernel, stride, pad] : rows) {
    ConvShape s;
    s.in_channels = in, s.out_channels = out, s.groups = groups, s.in_h = height, s.in_w = width;
    s.kernel_h = s.kernel_w = kernel, s.stride_h = s.stride_w = stride, s.pad_top = s.pad_left = pad;
    s.out_h = (height - 1) * stride + kernel - 2 * pad, s.out_w = (width - 1) * stride + kernel - 2 * pad;
    if (!GemmConv::can_serve(s, kernels.lanes)) continue;
    SCOPED_TRACE(describe(s));
    ASSERT_TRUE(TransposedPhases(s).refusal.empty()) << TransposedPhases(s).refusal;
    const std::vector<float> x = random_floats(in * height * width, ++seed), bias = random_floats(out, ++seed);
    const std::vector<float> w = random_floats(in * (out / groups) * s.taps(), ++seed, 1 / std::sqrt(float(in * s.taps())));
    const std::vector<float> packed_x = pack(x, 1, in, height * width, kernels.lanes);
    const TransposedConv<GemmConv> conv(kernels, s, GemmConv::Options{}, {});
    std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats()), scratch(conv.scratch_floats());
    std::vector<float> y(ceil_div(out, kernels.lanes) * kernels.lanes * s.out_h * s.out_w, -7);
    conv.pack_weights(w.data(), weights.data());
    conv.pack_bias(bias.data(), packed_bias.data());
    for (size_t unit = 0; unit < conv.units(); ++unit)
      conv.run(unit, {packed_x.data(), weights.data(), packed_bias.data(), nullptr, y.data()}, scratch.data());
    ASSERT_TRUE(close(unpack(y, 1, out, s.out_h * s.out_w, kernels.lanes), scatter(s, x, w, bias)));
  }
}

MINNOW_EVERY_ISA(TransposedConvTest);

}  // namespace
}  // namespace minnow::cpu
