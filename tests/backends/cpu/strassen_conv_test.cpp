// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/strassen_conv.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/gemm_conv.h"

namespace minnow::cpu {
namespace {

class StrassenConvTest : public EveryIsa {};

ConvShape pointwise(size_t batch, size_t in, size_t out, size_t height, size_t width) {
  ConvShape s;
  s.batch = batch, s.in_channels = in, s.out_channels = out, s.in_h = s.out_h = height, s.in_w = s.out_w = width;
  return s;
}

std::vector<float> transpose(const std::vector<float>& from, size_t rows, size_t columns) {
  std::vector<float> to(rows * columns);
  for (size_t r = 0; r < rows && !from.empty(); ++r)
    for (size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  return to;
}

const ConvShape kShapes[] = {
    pointwise(1, 64, 64, 4, 7),   pointwise(1, 32, 64, 7, 7),    pointwise(2, 64, 128, 7, 7),  pointwise(1, 96, 100, 13, 13),
    pointwise(3, 32, 341, 1, 1),  pointwise(1, 64, 65, 1, 2),    pointwise(1, 32, 600, 3, 5),  pointwise(1, 128, 272, 21, 20),
    pointwise(1, 32, 64, 29, 31), pointwise(1, 64, 79, 5, 1),    pointwise(2, 32, 1000, 2, 3), pointwise(1, 64, 80, 1, 1),
    pointwise(1, 96, 112, 1, 9),  pointwise(1, 64, 128, 1, 128),
};

TEST_P(StrassenConvTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 0;
  for (const ConvShape& s : kShapes) {
    SCOPED_TRACE(describe(s));
    ASSERT_TRUE(StrassenConv::can_serve(s, kernels.lanes));
    const size_t pixels = s.in_h * s.in_w;
    const std::vector<float> x = random_floats(s.batch * s.in_channels * pixels, ++seed);
    const std::vector<float> w = random_floats(s.out_channels * s.in_channels, ++seed, 1 / std::sqrt(float(s.in_channels)));
    const std::vector<float> bias = random_floats(s.out_channels, ++seed), add = random_floats(s.batch * s.out_channels * pixels, ++seed);
    const std::vector<double> want = convolve(s, x, w, bias), plain = convolve(s, x, w, {});
    const std::vector<float> packed_x = pack(x, s.batch, s.in_channels, pixels, kernels.lanes);
    const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, pixels, kernels.lanes);
    const bool can_rows = s.batch == 1 && StrassenConv::can_serve_rows(s.in_channels, s.out_channels, kernels.lanes);
    const std::vector<float> x_rows = transpose(x, s.in_channels, pixels), add_rows = transpose(add, s.out_channels, pixels);
    const std::vector<float> w_rows = transpose(w, s.out_channels, s.in_channels);
    std::vector<float> one_thread[2][2];
    for (size_t threads : {1, 2, 5})
      for (int form = 0; form < 4; ++form) {
        const bool rows = form & 1, finished = form & 2;
        if (rows && !can_rows) continue;
        const StrassenConv conv(kernels, s, finished ? Epilogue{-0.5f, 1.0f, (*kernels.unary)[Unary::tanh], 0, 0} : Epilogue{}, threads,
                                rows);
        std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats());
        std::vector<float> scratch(conv.scratch_floats(), NAN), y(packed_add.size(), -7);
        if (rows)
          conv.pack_weights({w_rows.data(), 1, s.out_channels, 1}, weights.data());
        else
          conv.pack_weights(w.data(), weights.data());
        conv.pack_bias(bias.data(), packed_bias.data());
        const StrassenConv::Arguments arguments{rows ? x_rows.data() : packed_x.data(), weights.data(),
                                                finished ? packed_bias.data() : nullptr,
                                                finished ? (rows ? add_rows : packed_add).data() : nullptr, y.data()};
        // Backwards and each in scratch of its own, or in order and in the same one.
        for (size_t unit = conv.units(); threads > 1 && unit-- > 0; std::fill(scratch.begin(), scratch.end(), NAN))
          conv.run(unit, arguments, scratch.data());
        for (size_t unit = 0; threads == 1 && unit < conv.units(); ++unit)
          conv.run(unit, arguments, scratch.data(), unit ? unit - 1 : SIZE_MAX);
        std::vector<double> expected = plain;
        if (finished)
          for (size_t i = 0; i < want.size(); ++i) expected[i] = std::tanh(std::min(1.0, std::max(-0.5, want[i] + add[i])));
        if (rows) y.resize(s.out_channels * pixels);
        const std::vector<float> got =
            rows ? transpose(y, pixels, s.out_channels) : unpack(y, s.batch, s.out_channels, pixels, kernels.lanes);
        ASSERT_TRUE(close(got, expected));
        std::vector<float>& alone = one_thread[rows][finished];
        if (threads == 1) alone = got;
        ASSERT_EQ(got, alone) << "results depend on the number of threads";
      }
  }
}

TEST_P(StrassenConvTest, errors_are_at_most_four_times_those_of_plain_sums) {
  const Kernels& kernels = kernels_for(GetParam());
  const ConvShape s = pointwise(1, 512, 256, 14, 14);
  const size_t pixels = 14 * 14;
  const std::vector<float> x = random_floats(512 * pixels, 1), w = random_floats(256 * 512, 2, 1 / std::sqrt(512.f));
  const std::vector<double> want = convolve(s, x, w, {});
  const std::vector<float> packed = pack(x, 1, 512, pixels, kernels.lanes);
  const auto error_of = [&](const std::vector<float>& y) {
    const std::vector<float> got = unpack(y, 1, 256, pixels, kernels.lanes);
    double error = 0;
    for (size_t i = 0; i < want.size(); ++i) error += std::fabs(got[i] - want[i]) / double(want.size());
    return error;
  };
  std::vector<float> y(256 * pixels);
  const GemmConv direct(kernels, s, {}, {});
  std::vector<float> weights(direct.weight_floats()), scratch(direct.scratch_floats());
  direct.pack_weights(w.data(), weights.data());
  for (size_t unit = 0; unit < direct.units(); ++unit)
    direct.run(unit, {packed.data(), weights.data(), nullptr, nullptr, y.data()}, scratch.data());
  const double plain = error_of(y);
  const StrassenConv conv(kernels, s, {});
  weights.resize(conv.weight_floats()), scratch.resize(conv.scratch_floats());
  conv.pack_weights(w.data(), weights.data());
  const StrassenConv::Arguments arguments{packed.data(), weights.data(), nullptr, nullptr, y.data()};
  for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, scratch.data());
  EXPECT_LT(error_of(y), 4 * plain);
  EXPECT_LT(error_of(y), 7e-7);
}

MINNOW_EVERY_ISA(StrassenConvTest);

}  // namespace
}  // namespace minnow::cpu
