// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of kernels: random data, the packed layout, and a convolution in plain loops.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/isa.h"
#include "backends/cpu/kernels/conv_shape.h"

namespace minnow::cpu {

inline std::vector<float> random_floats(size_t count, unsigned seed, float sigma = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

/// Plain [batch][channels][pixels] as [batch][channels / lanes][pixels][lanes], with NaN in the lanes that nobody may read.
inline std::vector<float> pack(const std::vector<float>& plain, size_t batch, size_t channels, size_t pixels, size_t lanes) {
  const size_t blocks = ceil_div(channels, lanes);
  std::vector<float> packed(batch * blocks * pixels * lanes, std::numeric_limits<float>::quiet_NaN());
  for (size_t n = 0; n < batch; ++n)
    for (size_t c = 0; c < channels; ++c)
      for (size_t p = 0; p < pixels; ++p)
        packed[((n * blocks + c / lanes) * pixels + p) * lanes + c % lanes] = plain[(n * channels + c) * pixels + p];
  return packed;
}
inline std::vector<float> unpack(const std::vector<float>& packed, size_t batch, size_t channels, size_t pixels, size_t lanes) {
  const size_t blocks = ceil_div(channels, lanes);
  std::vector<float> plain(batch * channels * pixels);
  for (size_t n = 0; n < batch; ++n)
    for (size_t c = 0; c < channels; ++c)
      for (size_t p = 0; p < pixels; ++p)
        plain[(n * channels + c) * pixels + p] = packed[((n * blocks + c / lanes) * pixels + p) * lanes + c % lanes];
  return plain;
}

/// Plain in and out; bias may be empty.
inline std::vector<double> convolve(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w,
                                    const std::vector<float>& bias) {
  std::vector<double> y(s.batch * s.out_channels * s.out_h * s.out_w);
  const size_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  double* to = y.data();
  for (size_t n = 0; n < s.batch; ++n)
    for (size_t o = 0; o < s.out_channels; ++o)
      for (size_t oy = 0; oy < s.out_h; ++oy)
        for (size_t ox = 0; ox < s.out_w; ++ox) {
          double sum = bias.empty() ? 0 : bias[o];
          for (size_t c = 0; c < in; ++c)
            for (size_t ky = 0; ky < s.kernel_h; ++ky)
              for (size_t kx = 0; kx < s.kernel_w; ++kx) {
                const size_t iy = oy * s.stride_h + ky * s.dilation_h - s.pad_top, ix = ox * s.stride_w + kx * s.dilation_w - s.pad_left;
                if (iy < s.in_h && ix < s.in_w)
                  sum += double(w[((o * in + c) * s.kernel_h + ky) * s.kernel_w + kx]) *
                         x[((n * s.in_channels + o / out * in + c) * s.in_h + iy) * s.in_w + ix];
              }
          *to++ = sum;
        }
  return y;
}

/// {batch, in, out, groups, in_h, in_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left, bottom, right}
inline std::vector<ConvShape> conv_shapes(std::initializer_list<std::array<size_t, 16>> rows) {
  std::vector<ConvShape> shapes;
  for (const auto& [batch, in, out, groups, in_h, in_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left, bottom,
                    right] : rows) {
    ConvShape s;
    s.batch = batch, s.in_channels = in, s.out_channels = out, s.groups = groups, s.in_h = in_h, s.in_w = in_w;
    s.kernel_h = kernel_h, s.kernel_w = kernel_w, s.stride_h = stride_h, s.stride_w = stride_w;
    s.dilation_h = dilation_h, s.dilation_w = dilation_w, s.pad_top = top, s.pad_left = left;
    s.out_h = (in_h + top + bottom - s.extent_h()) / stride_h + 1;
    s.out_w = (in_w + left + right - s.extent_w()) / stride_w + 1;
    shapes.push_back(s);
  }
  return shapes;
}

inline std::string describe(const ConvShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.in_channels) + "x" + std::to_string(s.in_h) + "x" + std::to_string(s.in_w) +
         " -> " + std::to_string(s.out_channels) + "x" + std::to_string(s.out_h) + "x" + std::to_string(s.out_w) + ", kernel " +
         std::to_string(s.kernel_h) + "x" + std::to_string(s.kernel_w) + ", groups " + std::to_string(s.groups);
}

/// Within `tolerance` of the scale of what is wanted, everywhere.
inline testing::AssertionResult close(const std::vector<float>& got, const std::vector<double>& want, double tolerance = 2e-5) {
  if (got.size() != want.size()) return testing::AssertionFailure() << got.size() << " elements instead of " << want.size();
  double scale = 0;
  for (double value : want) scale += value * value / double(want.size());
  scale = std::sqrt(scale) + 1e-30;
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - want[i]) <= tolerance * (scale + std::fabs(want[i]))))
      return testing::AssertionFailure() << "element " << i << " is " << got[i] << " instead of " << want[i];
  return testing::AssertionSuccess();
}

/// The parameter of tests that run once for every instruction set of the machine.
class EveryIsa : public testing::TestWithParam<Isa> {};
inline std::string isa_name(const testing::TestParamInfo<Isa>& info) { return std::string(name_of(info.param)); }

}  // namespace minnow::cpu

#define MINNOW_EVERY_ISA(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(::minnow::cpu::available_isas()), ::minnow::cpu::isa_name)
