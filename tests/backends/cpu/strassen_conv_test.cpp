// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/strassen_conv.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/kernels/matmul.h"
#include "base/saturating.h"

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

const ConvShape kStrassenShapes[] = {
    pointwise(1, 64, 64, 4, 7),   pointwise(1, 32, 64, 7, 7),    pointwise(2, 64, 128, 7, 7),  pointwise(1, 96, 100, 13, 13),
    pointwise(3, 32, 341, 1, 1),  pointwise(1, 64, 65, 1, 2),    pointwise(1, 32, 600, 3, 5),  pointwise(1, 128, 272, 21, 20),
    pointwise(1, 32, 64, 29, 31), pointwise(1, 64, 79, 5, 1),    pointwise(2, 32, 1000, 2, 3), pointwise(1, 64, 80, 1, 1),
    pointwise(1, 96, 112, 1, 9),  pointwise(1, 64, 128, 1, 128),
};

TEST_P(StrassenConvTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 0;
  for (const ConvShape& s : kStrassenShapes) {
    SCOPED_TRACE(describe(s));
    ASSERT_TRUE(StrassenConv::can_serve(s, kernels.lanes));
    const size_t pixels = s.in_h * s.in_w;
    const std::vector<float> x = random_floats(s.batch * s.in_channels * pixels, ++seed);
    const std::vector<float> w = random_floats(s.out_channels * s.in_channels, ++seed, 1 / std::sqrt(float(s.in_channels)));
    const std::vector<float> bias = random_floats(s.out_channels, ++seed), add = random_floats(s.batch * s.out_channels * pixels, ++seed);
    const std::vector<double> want = convolve(s, x, w, bias), plain = convolve(s, x, w, {});
    const std::vector<float> packed_x = pack(x, s.batch, s.in_channels, pixels, kernels.lanes);
    const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, pixels, kernels.lanes);
    const bool can_rows = s.batch == 1 && StrassenConv::can_serve_rows(pixels, s.in_channels, s.out_channels, kernels.lanes);
    const std::vector<float> x_rows = transpose(x, s.in_channels, pixels), add_rows = transpose(add, s.out_channels, pixels);
    const std::vector<float> w_rows = transpose(w, s.out_channels, s.in_channels);
    std::vector<float> one_thread[2][2][2];
    for (size_t threads : {1, 2, 5})
      for (int form = 0; form < 8; ++form) {
        const bool rows = form & 1, finished = form & 2, makes_sums = form & 4;
        if (rows && !can_rows) continue;
        const StrassenConv conv(kernels, s, finished ? Epilogue{-0.5f, 1.0f, (*kernels.unary)[Unary::tanh], 0, 0} : Epilogue{},
                                {threads, rows, 1, makes_sums});
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
        std::vector<float>& alone = one_thread[rows][finished][makes_sums];
        if (threads == 1) alone = got;
        ASSERT_EQ(got, alone) << "results depend on the number of threads";
      }
  }
}

// A product of row-major matrices. `transposed`: the second one is [n, k], so the kernel reads its columns.
struct Factors {
  size_t m, k, n, levels;
  bool makes_sums = false, transposed = false;
};

std::vector<float> strassen_product(const Kernels& kernels, const Factors& p, const std::vector<float>& a, const std::vector<float>& b,
                                    size_t threads, const Epilogue& epilogue = {}, const float* bias = nullptr,
                                    const float* add = nullptr) {
  const StrassenConv conv(kernels, pointwise(1, p.k, p.n, 1, p.m), epilogue, {threads, true, p.levels, p.makes_sums});
  const StrassenConv::Weights weights{b.data(), p.transposed ? p.k : 1, p.transposed ? 1 : p.n, 0.5f};
  std::vector<float> packed(conv.slice_floats(), NAN), packed_bias(conv.bias_floats()), scratch(conv.scratch_floats(), NAN),
      y(p.m * p.n, -7);
  if (bias) conv.pack_bias(bias, packed_bias.data());
  for (size_t slice = 0; slice < conv.slices(); ++slice) {
    for (size_t part = conv.weight_parts(); part-- > 0;) conv.pack_weights(weights, slice, part, packed.data());
    for (size_t unit = 0; unit < conv.units(); ++unit)
      conv.run(unit, {a.data(), packed.data(), bias ? packed_bias.data() : nullptr, add, y.data(), slice}, scratch.data(),
               unit ? unit - 1 : SIZE_MAX);
  }
  return y;
}

std::vector<double> exact_product(const Factors& p, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> y(p.m * p.n);
  for (size_t i = 0; i < p.m; ++i)
    for (size_t l = 0; l < p.k; ++l) {
      const double factor = 0.5 * double(a[i * p.k + l]);
      for (size_t j = 0; j < p.n; ++j) y[i * p.n + j] += factor * b[p.transposed ? j * p.k + l : l * p.n + j];
    }
  return y;
}

TEST_P(StrassenConvTest, products_of_two_levels_and_in_slices_agree_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 100;
  for (Factors p : {Factors{4, 64, 128, 2},
                    {28, 64, 144, 2},
                    {60, 192, 272, 2},
                    {404, 64, 128, 2},
                    {412, 128, 400, 2},
                    {4, 64, 16400, 2},
                    {8, 8448, 128, 2},
                    {3, 4224, 64, 1},
                    {7, 6400, 80, 1},
                    {3, 4224, 64, 1, true},
                    {70, 6400, 272, 1, true}})
    for (bool transposed : {false, true}) {
      p.transposed = transposed;
      SCOPED_TRACE(std::to_string(p.m) + "x" + std::to_string(p.k) + "x" + std::to_string(p.n) + ", transposed " +
                   std::to_string(transposed));
      ASSERT_TRUE(StrassenConv::can_serve_rows(p.m, p.k, p.n, kernels.lanes, p.levels));
      const std::vector<float> a = random_floats(p.m * p.k, ++seed), b = random_floats(p.k * p.n, ++seed, 1 / std::sqrt(float(p.k)));
      const std::vector<float> bias = random_floats(p.n, ++seed), add = random_floats(p.m * p.n, ++seed);
      std::vector<double> want = exact_product(p, a, b);
      const std::vector<float> plain = strassen_product(kernels, p, a, b, 1);
      ASSERT_TRUE(close(plain, want));
      ASSERT_EQ(strassen_product(kernels, p, a, b, 3), plain) << "results depend on the number of threads";
      const Epilogue epilogue{-0.5f, 1.0f, (*kernels.unary)[Unary::tanh], 0, 0};
      for (size_t i = 0; i < want.size(); ++i) want[i] = std::tanh(std::min(1.0, std::max(-0.5, want[i] + bias[i % p.n] + add[i])));
      ASSERT_TRUE(close(strassen_product(kernels, p, a, b, 1, epilogue, bias.data(), add.data()), want));
    }
  EXPECT_FALSE(StrassenConv::can_serve_rows(6, 64, 128, kernels.lanes, 2));
  EXPECT_FALSE(StrassenConv::can_serve_rows(8, 64 + kernels.lanes, 128, kernels.lanes, 2));
  EXPECT_FALSE(StrassenConv::can_serve_rows(8, 64, 128 + 1, kernels.lanes, 2));
}

// Errors double with each level (section 6 of the measurements, and Higham 2002, "Accuracy and Stability of Numerical Algorithms", 23.2.2).
TEST_P(StrassenConvTest, errors_of_two_levels_are_at_most_eight_times_those_of_plain_sums) {
  const Kernels& kernels = kernels_for(GetParam());
  const Factors p{64, 1024, 128, 2};
  const std::vector<float> a = random_floats(p.m * p.k, 1), b = random_floats(p.k * p.n, 2, 1 / std::sqrt(1024.f));
  const std::vector<double> want = exact_product(p, a, b);
  const auto errors_of = [&](const std::vector<float>& y) {
    double sum = 0, most = 0;
    for (size_t i = 0; i < want.size(); ++i) sum += std::fabs(y[i] - want[i]), most = std::max(most, std::fabs(y[i] - want[i]));
    return std::pair(sum / double(want.size()), most);
  };
  const MatMul direct(kernels, {p.m, p.k, p.n}, {}, {});
  std::vector<float> packed(direct.packed_b_floats()), scratch(direct.scratch_floats()), y(p.m * p.n);
  for (size_t panel = 0; panel < direct.panels(); ++panel) direct.pack_b(panel, b.data(), 0.5f, packed.data());
  for (size_t unit = 0; unit < direct.units(); ++unit)
    direct.run(unit, {a.data(), packed.data(), nullptr, nullptr, y.data()}, scratch.data());
  const auto [plain, plain_most] = errors_of(y);
  const auto [mean, most] = errors_of(strassen_product(kernels, p, a, b, 1));
  EXPECT_LT(mean, 8 * plain);
  EXPECT_LT(most, 8 * plain_most);
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
  const StrassenConv conv(kernels, s, {}, {1, false, 1, true});
  weights.resize(conv.weight_floats()), scratch.resize(conv.scratch_floats());
  conv.pack_weights(w.data(), weights.data());
  const StrassenConv::Arguments arguments{packed.data(), weights.data(), nullptr, nullptr, y.data()};
  for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, scratch.data());
  EXPECT_LT(error_of(y), 4 * plain);
  EXPECT_LT(error_of(y), 7e-7);
}

// Sizes that do not fit an address are no small numbers.
TEST_P(StrassenConvTest, scratch_grows_with_the_channels_until_no_memory_could_hold_it) {
  const Kernels& kernels = kernels_for(GetParam());
  for (bool makes_sums : {false, true}) {
    size_t before = 0;
    for (size_t in = 2 * kernels.lanes; in <= SIZE_MAX / 8; in *= 2) {
      const ConvShape s = pointwise(1, in, 4 * kernels.lanes, 10, 10);
      ASSERT_TRUE(StrassenConv::can_serve(s, kernels.lanes));
      const size_t floats = StrassenConv(kernels, s, {}, {1, false, 1, makes_sums}).scratch_floats();
      const long double least = 4.0L * static_cast<long double>(in / 2) * 50;  // four sums of half the channels and half the pixels
      ASSERT_GE(static_cast<long double>(floats), std::min<long double>(least, SIZE_MAX)) << in << " channels";
      ASSERT_GE(floats, before) << in << " channels";
      before = floats;
    }
    EXPECT_EQ(before, SIZE_MAX);
  }
}

MINNOW_EVERY_ISA(StrassenConvTest);

}  // namespace
}  // namespace minnow::cpu
