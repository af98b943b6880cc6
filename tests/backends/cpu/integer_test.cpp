// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/integer.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

class IntegerTest : public EveryIsa {
 protected:
  static const Kernels& kernels() { return kernels_for(GetParam()); }
};

// Raw sums of a tile, and f32 and bytes made of them, against plain loops: every number of rows, groups of channels that are and are not
// whole vectors of them.
void expect_sums_of_plain_loops(const Kernels& kernels, IntegerForm form, int rows, size_t vectors_of_channels, size_t taps,
                                bool x_is_signed) {
  const IntegerKernels& k = *kernels.integer;
  const size_t lanes = kernels.lanes, channels = vectors_of_channels * lanes, bytes_each = element_bytes(form);
  const size_t outputs = 2 * lanes, size = static_cast<size_t>(rows), at_once = channels_at_once(form);
  const size_t groups = groups_of(form, channels);
  // In matrices, [group of channels][row][channel]; one row of a whole tap is a plane of it otherwise.
  const bool matrices = form == IntegerForm::matrices;
  const size_t row_bytes = matrices ? group_bytes(form) : channels * bytes_each, group_stride = taps * size * row_bytes;
  const int32_t zero_point = x_is_signed ? -3 : 100;
  std::mt19937 random(static_cast<unsigned>(rows * 1000 + static_cast<int>(channels)));
  std::vector<uint8_t> x(taps * size * channels),
      arranged((matrices ? groups : 1) * group_stride + row_bytes + kAmxGroups * group_bytes(IntegerForm::amx), 99);
  for (uint8_t& value : x) value = static_cast<uint8_t>(random());
  x[0] = 0, x[1] = 255, x[2] = 127, x[3] = 128;
  const size_t pieces = matrices ? at_once / lanes : vectors_of_channels;  // vectors of a row that lie side by side
  for (size_t row = 0; row < taps * size; ++row)
    for (size_t v = 0; v < vectors_of_channels; v += pieces)
      k.arrange(form, {x.data() + row * channels + v * lanes, x_is_signed, zero_point}, lanes, std::min(pieces, vectors_of_channels - v),
                arranged.data() + v / pieces * group_stride + row * row_bytes, lanes * bytes_each);
  std::vector<int32_t> w(taps * channels * outputs), bias(outputs);  // [tap][channel][output]
  for (int32_t& value : w) value = static_cast<int8_t>(random());
  for (int32_t& value : bias) value = static_cast<int32_t>(random() % 2000) - 1000;
  std::vector<uint8_t> packed;
  for (size_t tap = 0; tap < taps; ++tap)
    for (size_t c = 0; c < groups * at_once; c += at_once)
      for (size_t o = 0; o < outputs; ++o)
        for (size_t i = 0; i < at_once; ++i) {
          const auto value = static_cast<uint16_t>(c + i < channels ? w[(tap * channels + c + i) * outputs + o] : 0);
          packed.push_back(static_cast<uint8_t>(value & 0xff));
          if (bytes_each == 2) packed.push_back(static_cast<uint8_t>(value >> 8));
        }
  std::vector<ptrdiff_t> offsets;
  for (size_t tap = 0; tap < taps; ++tap) offsets.push_back(static_cast<ptrdiff_t>(tap * size * row_bytes));
  std::vector<int32_t> y(size * outputs, -7), reals(size * outputs, -7);
  std::vector<float> multiplier(outputs), addend(outputs);
  for (size_t o = 0; o < outputs; ++o) multiplier[o] = 0.001f * static_cast<float>(o + 1), addend[o] = static_cast<float>(o % 5) - 1.75f;
  IntegerTile t{};
  const size_t half = (size + 1) / 2;
  t.x[0] = arranged.data(), t.x[1] = arranged.data() + half * row_bytes;
  t.taps = offsets.data(), t.tap_count = taps;
  t.groups = groups;
  t.row_stride = static_cast<ptrdiff_t>(row_bytes);
  t.group_stride = static_cast<ptrdiff_t>(group_stride);
  t.w = packed.data();
  t.bias = bias.data();
  t.raw = true;
  t.pixel_stride = static_cast<ptrdiff_t>(outputs * sizeof(int32_t)), t.vector_stride = static_cast<ptrdiff_t>(lanes * sizeof(int32_t));
  t.y[0] = reinterpret_cast<uint8_t*>(y.data()), t.y[1] = reinterpret_cast<uint8_t*>(y.data() + half * outputs);
  t.rows = size;
  const IntegerTiles tiles(k, lanes, form);
  tiles.run(t);
  t.multiplier = multiplier.data(), t.addend = addend.data(), t.low = -3, t.high = 5000;
  t.y[0] = reinterpret_cast<uint8_t*>(reals.data()), t.y[1] = reinterpret_cast<uint8_t*>(reals.data() + half * outputs);
  tiles.run(t);
  // Bytes, from sums of which some exceed 32 bits when they are scaled, with lower bounds inside of the range.
  std::vector<float> steep = multiplier;
  for (size_t o = 0; o < outputs; o += 3) steep[o] = 3e5f;
  std::vector<uint8_t> bytes[2];
  const int32_t zero_points[] = {20, -100}, lowest[] = {3, -90}, highest[] = {255, 127};
  for (const bool is_signed : {false, true}) {
    bytes[is_signed].resize(size * outputs);
    t.raw = false, t.is_signed = is_signed, t.multiplier = steep.data(), t.zero_point = zero_points[is_signed];
    t.low = static_cast<float>(lowest[is_signed] - t.zero_point), t.high = static_cast<float>(highest[is_signed] - t.zero_point);
    t.pixel_stride = static_cast<ptrdiff_t>(outputs), t.vector_stride = static_cast<ptrdiff_t>(lanes);
    t.y[0] = bytes[is_signed].data(), t.y[1] = t.y[0] + half * outputs;
    tiles.run(t);
  }
  const int32_t shift = form == IntegerForm::words ? -zero_point : byte_offset(k, x_is_signed);
  for (size_t row = 0; row < size; ++row)
    for (size_t o = 0; o < outputs; ++o) {
      int32_t want = bias[o];
      for (size_t tap = 0; tap < taps; ++tap)
        for (size_t c = 0; c < channels; ++c) {
          const uint8_t value = x[(tap * size + row) * channels + c];
          want += ((x_is_signed ? static_cast<int8_t>(value) : value) + shift) * w[(tap * channels + c) * outputs + o];
        }
      ASSERT_EQ(y[row * outputs + o], want) << rows << " rows, " << channels << " channels, row " << row << ", output " << o;
      const float real = std::clamp((static_cast<float>(want) + addend[o]) * multiplier[o], -3.0f, 5000.0f);
      ASSERT_FLOAT_EQ(reinterpret_cast<const float*>(reals.data())[row * outputs + o], real) << rows << " rows, output " << o;
      for (const bool is_signed : {false, true}) {
        const float scaled = std::nearbyint((static_cast<float>(want) + addend[o]) * steep[o]);
        const float low = static_cast<float>(lowest[is_signed]), high = static_cast<float>(highest[is_signed]),
                    expected = std::clamp(scaled + static_cast<float>(zero_points[is_signed]), low, high);
        const uint8_t byte = bytes[is_signed][row * outputs + o];
        ASSERT_EQ(is_signed ? int{static_cast<int8_t>(byte)} : int{byte}, static_cast<int>(expected)) << rows << " rows, output " << o;
      }
    }
}

TEST_P(IntegerTest, quantizing_rounds_the_quotient) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> wide(-300, 300), mantissa(1, 2);
  for (const float power : {1.0f, 0x1p-7f, 0x1p40f, 0x1p-120f, 0x1p126f, 0x1p-70f})
    for (int round = 0; round < 50; ++round) {
      const float scale = mantissa(random) * power;
      std::vector<float> x;
      for (int i = 0; i < 200; ++i) x.push_back(wide(random) * scale);
      for (int step = -260; step < 260; ++step)  // next to ties
        for (float tie = (static_cast<float>(step) + 0.5f) * scale; x.size() % 3 != 2; tie = std::nextafter(tie, INFINITY))
          x.push_back(tie);
      for (const float special : {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1e-44f, 3e38f, -3e38f}) x.push_back(special);
      for (const bool is_signed : {false, true}) {
        const int32_t zero = round * 5 - (is_signed ? 128 : 0), lowest = is_signed ? -128 : 0;
        std::vector<uint8_t> y(x.size());
        kernels().integer->quantize(x.data(), x.size(), scale, zero, is_signed, y.data());
        for (size_t i = 0; i < x.size(); ++i) {
          const float quotient = x[i] / scale;
          const float cut = std::clamp(std::nearbyint(quotient) + static_cast<float>(zero), float(lowest), float(lowest + 255));
          const int32_t wanted = std::isnan(quotient) ? zero : static_cast<int32_t>(cut);
          ASSERT_EQ(is_signed ? static_cast<int8_t>(y[i]) : y[i], wanted) << x[i] << " / " << scale << " + " << zero;
        }
      }
    }
}

TEST_P(IntegerTest, sums_are_exact) {
  for (const IntegerForm form : {IntegerForm::words, IntegerForm::bytes, IntegerForm::matrices, IntegerForm::amx}) {
    if (!runs(*kernels().integer, form)) continue;
    for (int rows = 1; rows <= most_rows(*kernels().integer, form); ++rows)
      for (size_t vectors : {1, 2, 4, 7, 17})
        for (size_t taps : {1, 3})
          for (bool x_is_signed : {false, true}) expect_sums_of_plain_loops(kernels(), form, rows, vectors, taps, x_is_signed);
  }
}

MINNOW_EVERY_ISA(IntegerTest);

}  // namespace
}  // namespace minnow::cpu
