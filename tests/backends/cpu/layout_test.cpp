// SPDX-License-Identifier: Apache-2.0
// Moves between layouts, copies of windows, and weighted sums of pixels.
#include "backends/cpu/kernels/layout.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/window.h"

namespace minnow::cpu {
namespace {

class LayoutTest : public EveryIsa {
 protected:
  const Kernels& kernels() const { return kernels_for(GetParam()); }
};

TEST_P(LayoutTest, transpositions_touch_nothing_else) {
  for (const size_t rows : {1, 3, 4, 8, 16, 17, 33})
    for (const size_t columns : {1, 2, 7, 8, 16, 19, 64}) {
      const size_t from_row = columns + 2, to_row = rows + 5;
      const std::vector<float> from = random_floats(rows * from_row, 1);
      std::vector<float> to(columns * to_row, -7);
      kernels().layout->transpose(from.data(), from_row, rows, columns, to.data(), to_row);
      for (size_t c = 0; c < columns; ++c)
        for (size_t r = 0; r < to_row; ++r)
          ASSERT_EQ(to[c * to_row + r], r < rows ? from[r * from_row + c] : -7) << rows << "x" << columns << " at " << r << ", " << c;
    }
}

TEST_P(LayoutTest, transpositions_of_bytes_touch_nothing_else) {
  for (const size_t rows : {1, 4, 8, 15, 16, 17, 40})
    for (const size_t columns : {1, 3, 8, 16, 19, 64}) {
      const size_t from_row = columns + 2, to_row = rows + 5;
      std::vector<uint8_t> from(rows * from_row), to(columns * to_row, 255);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 % 251);
      kernels().layout->transpose_bytes(from.data(), from_row, rows, columns, to.data(), to_row);
      for (size_t c = 0; c < columns; ++c)
        for (size_t r = 0; r < to_row; ++r)
          ASSERT_EQ(to[c * to_row + r], r < rows ? from[r * from_row + c] : 255) << rows << "x" << columns << " at " << r << ", " << c;
    }
}

TEST_P(LayoutTest, pixels_of_three_channels_become_planes) {
  for (const size_t count : {1, 3, 4, 15, 16, 17, 50}) {
    const std::vector<float> from = random_floats(3 * count, 4);
    std::vector<uint8_t> bytes(3 * count);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 % 251);
    std::vector<float> to(3 * (count + 1), -7);
    std::vector<uint8_t> to_bytes(to.size(), 255);
    float* const planes[] = {to.data(), to.data() + count + 1, to.data() + 2 * (count + 1)};
    uint8_t* const byte_planes[] = {to_bytes.data(), to_bytes.data() + count + 1, to_bytes.data() + 2 * (count + 1)};
    kernels().layout->split_pixels(from.data(), count, planes);
    kernels().layout->split_pixels_of_bytes(bytes.data(), count, byte_planes);
    for (size_t c = 0; c < 3; ++c) {
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(planes[c][i], from[3 * i + c]) << count;
        ASSERT_EQ(byte_planes[c][i], bytes[3 * i + c]) << count;
      }
      ASSERT_EQ(planes[c][count], -7);
      ASSERT_EQ(byte_planes[c][count], 255);
    }
  }
}

TEST_P(LayoutTest, every_other_float) {
  for (const size_t count : {1, 2, 7, 8, 15, 16, 17, 100}) {
    const std::vector<float> from = random_floats(2 * count - 1, 2);  // the float after the last one may not be there
    std::vector<float> to(count + 1, -7);
    kernels().layout->every_other(from.data(), count, to.data());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(to[i], from[2 * i]) << count;
    EXPECT_EQ(to[count], -7);
  }
}

TEST_P(LayoutTest, lanes_of_several_vectors) {
  const size_t pack = kernels().lanes;
  for (const size_t sources : {1, 2, 3})
    for (const size_t pixels : {1, 5, 16}) {
      std::vector<std::vector<float>> images;
      std::vector<const float*> from;
      for (size_t k = 0; k < sources; ++k) images.push_back(random_floats(pixels * pack, unsigned(k) + 1));
      for (const std::vector<float>& image : images) from.push_back(image.data());
      std::vector<int32_t> lanes(sources * pack, -1);
      for (size_t l = 0; l < pack; ++l) lanes[(l % sources) * pack + l] = static_cast<int32_t>((l * 3 + 1) % pack);
      std::vector<float> to(pixels * pack);
      kernels().layout->gather_lanes(from.data(), lanes.data(), sources, pixels, to.data());
      for (size_t p = 0; p < pixels; ++p)
        for (size_t l = 0; l < pack; ++l) ASSERT_EQ(to[p * pack + l], images[l % sources][p * pack + (l * 3 + 1) % pack]) << sources;
    }
}

// Each tap of each output finds its input, or zero beyond the borders, wherever the window puts it.
TEST_P(LayoutTest, windows_hold_what_every_tap_reads) {
  for (const ConvShape& s : conv_shapes({{1, 1, 1, 1, 9, 11, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
                                         {1, 1, 1, 1, 12, 7, 3, 5, 2, 2, 1, 1, 0, 2, 1, 1},
                                         {1, 1, 1, 1, 13, 17, 2, 3, 3, 4, 1, 1, 0, 0, 0, 0},
                                         {1, 1, 1, 1, 10, 10, 3, 3, 1, 2, 2, 3, 2, 3, 2, 0},
                                         {1, 1, 1, 1, 6, 5, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0}}))
    for (const size_t element : {size_t{1}, kernels().lanes}) {
      const Window window(*kernels().layout, s, element);
      const std::vector<float> image = random_floats(s.in_h * s.in_w * element, 4);
      for (const size_t rows : {size_t{1}, s.out_h}) {
        const size_t first = s.out_h - rows;
        std::vector<float> copy(window.plane(rows), NAN);
        window.copy(image.data(), first, rows, copy.data());
        for (size_t y = 0; y < rows; ++y)
          for (size_t x = 0; x < s.out_w; ++x)
            for (size_t ky = 0; ky < s.kernel_h; ++ky)
              for (size_t kx = 0; kx < s.kernel_w; ++kx) {
                const size_t iy = (first + y) * s.stride_h + ky * s.dilation_h - s.pad_top,
                             ix = x * s.stride_w + kx * s.dilation_w - s.pad_left;
                for (size_t e = 0; e < element; ++e)
                  ASSERT_EQ(copy[y * window.row_step() + window.tap(ky, kx) + x * element + e],
                            iy < s.in_h && ix < s.in_w ? image[(iy * s.in_w + ix) * element + e] : 0)
                      << describe(s) << ", row " << first + y << ", column " << x << ", tap " << ky << ", " << kx;
              }
      }
    }
}

TEST_P(LayoutTest, weighted_sums_of_rows_and_pixels) {
  const size_t lanes = kernels().lanes;
  for (const size_t taps : {1, 2, 3, 4, 7}) {
    const std::vector<float> weights = random_floats(taps * 19, 6);
    for (const size_t count : {1, 15, 16, 17, 100}) {
      std::vector<std::vector<float>> rows;
      std::vector<const float*> from;
      for (size_t t = 0; t < taps; ++t) rows.push_back(random_floats(count, unsigned(t) + 1));
      for (const std::vector<float>& row : rows) from.push_back(row.data());
      std::vector<double> want(count);
      for (size_t i = 0; i < count; ++i)
        for (size_t t = 0; t < taps; ++t) want[i] += double(weights[t]) * rows[t][i];
      std::vector<float> y(count);
      kernels().resample->blend_rows(from.data(), weights.data(), taps, count, y.data());
      EXPECT_TRUE(close(y, want)) << taps << " rows of " << count;
    }
    const size_t pixels = 19;
    const std::vector<float> row = random_floats(23 * lanes, 7);
    std::vector<int32_t> index(pixels * taps);
    for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int32_t>(i * 7 % 23);
    std::vector<double> want(pixels * lanes);
    for (size_t i = 0; i < want.size(); ++i)
      for (size_t t = 0; t < taps; ++t) {
        const size_t at = i / lanes * taps + t;
        want[i] += double(weights[at]) * row[size_t(index[at]) * lanes + i % lanes];
      }
    std::vector<float> y(pixels * lanes);
    kernels().resample->blend_pixels(row.data(), index.data(), weights.data(), taps, pixels, y.data());
    EXPECT_TRUE(close(y, want)) << taps << " pixels";
    kernels().resample->pick_pixels(row.data(), index.data(), pixels, y.data());
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], row[size_t(index[i / lanes]) * lanes + i % lanes]);
  }
}

MINNOW_EVERY_ISA(LayoutTest);

}  // namespace
}  // namespace minnow::cpu
