// SPDX-License-Identifier: Apache-2.0
// Resizing against its definition, computed in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

/// A picture of random elements, and its elements in double.
struct Sample {
  Tensor image;
  std::vector<double> values;
  int64_t height, width, channels;
  double at(int64_t y, int64_t x, int64_t c) const { return values[static_cast<size_t>((y * width + x) * channels + c)]; }
};

template <class T>
Sample sample(DType dtype, int64_t height, int64_t width, int64_t channels, std::mt19937& random) {
  Sample made{Tensor(dtype, channels == 1 ? Shape{height, width} : Shape{height, width, channels}), {}, height, width, channels};
  T* out = made.image.writable().data<T>();
  for (int64_t i = 0; i < height * width * channels; ++i) {
    out[i] = static_cast<T>(random() % 65536 / (sizeof(T) == 1 ? 256 : 1));
    made.values.push_back(static_cast<double>(out[i]));
  }
  return made;
}

/// Pixel centres at half coordinates; beyond the edge the edge's pixel counts on.
double linear(const Sample& from, int64_t height, int64_t width, int64_t y, int64_t x, int64_t c) {
  const double fy = (static_cast<double>(y) + 0.5) * static_cast<double>(from.height) / static_cast<double>(height) - 0.5;
  const double fx = (static_cast<double>(x) + 0.5) * static_cast<double>(from.width) / static_cast<double>(width) - 0.5;
  const auto pixel = [&](double row, double column) {
    return from.at(std::clamp<int64_t>(static_cast<int64_t>(row), 0, from.height - 1),
                   std::clamp<int64_t>(static_cast<int64_t>(column), 0, from.width - 1), c);
  };
  const double y0 = std::floor(fy), x0 = std::floor(fx), wy = fy - y0, wx = fx - x0;
  return (pixel(y0, x0) * (1 - wx) + pixel(y0, x0 + 1) * wx) * (1 - wy) + (pixel(y0 + 1, x0) * (1 - wx) + pixel(y0 + 1, x0 + 1) * wx) * wy;
}

template <class T>
void expect_linear(DType dtype, double tolerance) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t channels = std::array{1, 3, 4, 2}[trial % 4];
    const auto size = [&](int most) { return static_cast<int>(1 + random() % static_cast<unsigned>(most)); };
    const Sample from = sample<T>(dtype, size(40), size(40), channels, random);
    int height = size(70), width = size(70);
    if (from.height == 2 * height && from.width == 2 * width) ++width;  // halving has a test of its own
    const Tensor made = resize(from.image, {width, height}), nearest = resize(from.image, {width, height}, Interpolation::nearest);
    ASSERT_EQ(made.dtype(), dtype);
    ASSERT_EQ(made.shape(), channels == 1 ? (Shape{height, width}) : (Shape{height, width, channels}));
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t c = 0; c < channels; ++c) {
          const size_t place = static_cast<size_t>((y * width + x) * channels + c);
          ASSERT_NEAR(static_cast<double>(made.data<T>()[place]), linear(from, height, width, y, x, c), tolerance);
          // Where a pixel begins exactly at a place, rounding may leave it to the one before.
          const auto choices = [](int64_t at, int64_t size, int64_t count) {
            const int64_t first = at * size / count;
            return std::pair(first, first > 0 && at * size % count == 0 ? first - 1 : first);
          };
          const auto rows = choices(y, from.height, height), columns = choices(x, from.width, width);
          ASSERT_THAT(static_cast<double>(nearest.data<T>()[place]),
                      ::testing::AnyOf(from.at(rows.first, columns.first, c), from.at(rows.first, columns.second, c),
                                       from.at(rows.second, columns.first, c), from.at(rows.second, columns.second, c)));
        }
  }
}

TEST(Resize, of_bytes_is_linear_between_pixels) { expect_linear<uint8_t>(DType::u8, 1.01); }
TEST(Resize, of_16_bits_is_linear_between_pixels) { expect_linear<uint16_t>(DType::u16, 1.01); }
// Positions, up to 40, are f32, as OpenCV's are: 2^-19 of a pixel on each axis, where neighbours differ by 65535 at most.
TEST(Resize, of_f32_is_linear_between_pixels) { expect_linear<float>(DType::f32, 0.25); }
TEST(Resize, of_f64_is_linear_between_pixels) { expect_linear<double>(DType::f64, 0.25); }

TEST(Resize, halving_averages_four_pixels) {
  std::mt19937 random(2);
  const Sample from = sample<uint8_t>(DType::u8, 12, 34, 3, random);
  const Tensor made = resize(from.image, {17, 6});
  for (int64_t y = 0; y < 6; ++y)
    for (int64_t x = 0; x < 17; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const double sum =
            from.at(2 * y, 2 * x, c) + from.at(2 * y, 2 * x + 1, c) + from.at(2 * y + 1, 2 * x, c) + from.at(2 * y + 1, 2 * x + 1, c);
        ASSERT_NEAR(made.data<uint8_t>()[(y * 17 + x) * 3 + c], sum / 4, 0.51);
      }
}

TEST(Resize, refuses_what_is_no_picture) {
  const Tensor image(DType::u8, {4, 5, 3});
  EXPECT_THROW(resize(image, {0, 3}), Error);
  EXPECT_THROW(resize(image, {-1, 3}), Error);
  EXPECT_THROW(resize(image, {1 << 30, 1 << 30}), Error);
  EXPECT_THROW(resize(Tensor(DType::u8, {0, 5, 3}), {2, 2}), Error);
  EXPECT_THROW(resize(Tensor(DType::u8, {5}), {2, 2}), Error);
  EXPECT_THROW(resize(Tensor(DType::i64, {4, 5}), {2, 2}), Error);
}

}  // namespace
}  // namespace minnow::vision
