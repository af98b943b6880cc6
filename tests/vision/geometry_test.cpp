// SPDX-License-Identifier: Apache-2.0
// Geometry against definitions in plain loops, and stored answers of Pillow.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

template <class T>
Tensor random_image(DType dtype, int64_t height, int64_t width, int64_t channels, std::mt19937& random) {
  Tensor image(dtype, channels == 1 ? Shape{height, width} : Shape{height, width, channels});
  for (int64_t i = 0; i < image.elements(); ++i) image.writable().data<T>()[i] = static_cast<T>(random() % 256);
  return image;
}

template <class T>
void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.elements(); ++i) ASSERT_EQ(a.data<T>()[i], b.data<T>()[i]) << i;
}

TEST(Geometry, antialiased_resize_gives_the_answers_of_pillow) {
  Tensor image(DType::u8, {8, 10});
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 10; ++x) image.writable().data<uint8_t>()[10 * y + x] = static_cast<uint8_t>(x * 37 + y * 101 + x * y * 13);
  const std::pair<Interpolation, std::vector<int>> answers[] = {
      {Interpolation::linear, {100, 134, 130, 119, 135, 128, 134, 125, 147, 127, 122, 136}},
      {Interpolation::cubic, {94, 136, 129, 114, 139, 129, 134, 125, 151, 126, 123, 135}},
      {Interpolation::lanczos4, {91, 133, 129, 115, 139, 130, 132, 127, 151, 127, 125, 131}},
      {Interpolation::area, {94, 148, 117, 100, 138, 131, 124, 159, 152, 113, 130, 133}}};
  for (const auto& [kind, answer] : answers) {
    const auto antialiased = static_cast<Interpolation>(static_cast<int>(kind) | static_cast<int>(Interpolation::antialias));
    const Tensor made = resize(image, {4, 3}, antialiased);
    for (size_t i = 0; i < answer.size(); ++i) EXPECT_EQ(made.data<uint8_t>()[i], answer[i]) << static_cast<int>(kind) << " " << i;
  }
}

TEST(Geometry, turns_and_flips_move_each_pixel) {
  std::mt19937 random(1);
  for (const int64_t channels : {1, 2, 3, 4, 5})
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {17, 70}, {130, 67}}) {
      const Tensor image = random_image<float>(DType::f32, height, width, channels, random);
      const auto at = [&, c = channels](const Tensor& from, int64_t columns, int64_t y, int64_t x) {
        return from.data<float>() + (y * columns + x) * c;
      };
      const Tensor turned = rotate(image, 0), back = rotate(image, 2), flipped = flip(image, -1), crossed = transpose(image);
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x)
          for (int64_t c = 0; c < channels; ++c) {
            const float value = at(image, width, y, x)[c];
            ASSERT_EQ(at(turned, height, x, height - 1 - y)[c], value);
            ASSERT_EQ(at(back, height, width - 1 - x, y)[c], value);
            ASSERT_EQ(at(flipped, width, height - 1 - y, width - 1 - x)[c], value);
            ASSERT_EQ(at(crossed, height, x, y)[c], value);
          }
    }
}

TEST(Geometry, a_warp_by_whole_pixels_moves_them) {
  std::mt19937 random(2);
  const Tensor image = random_image<uint8_t>(DType::u8, 40, 60, 3, random);
  Tensor matrix(DType::f64, {2, 3}), homography(DType::f64, {3, 3});
  const double values[] = {1, 0, 3, 0, 1, -2, 0, 0, 1};
  std::copy(values, values + 6, matrix.writable().data<double>());
  std::copy(values, values + 9, homography.writable().data<double>());
  for (const int flags : {0, 1, 2, 4}) {
    const Tensor moved = warp_affine(image, matrix, {60, 40}, flags, Border::constant, {7, 8, 9});
    expect_equal<uint8_t>(warp_perspective(image, homography, {60, 40}, flags, Border::constant, {7, 8, 9}), moved);
    for (int64_t y = 0; y < 40; ++y)
      for (int64_t x = 0; x < 60; ++x)
        for (int64_t c = 0; c < 3; ++c) {
          const bool inside = x >= 3 && y + 2 < 40;
          const int expected = inside ? image.data<uint8_t>()[((y + 2) * 60 + x - 3) * 3 + c] : static_cast<int>(7 + c);
          ASSERT_EQ(moved.data<uint8_t>()[(y * 60 + x) * 3 + c], expected) << flags << " " << x << " " << y;
        }
  }
}

TEST(Geometry, linear_sampling_joins_four_pixels) {
  std::mt19937 random(3);
  for (const int64_t channels : {1, 3, 4, 2}) {
    const Tensor image = random_image<float>(DType::f32, 30, 50, channels, random);
    Tensor xs(DType::f32, {20, 33}), ys(DType::f32, {20, 33});
    for (int64_t i = 0; i < xs.elements(); ++i) {  // in 1/32 of a pixel
      xs.writable().data<float>()[i] = static_cast<float>(random() % (32 * 49)) / 32;
      ys.writable().data<float>()[i] = static_cast<float>(random() % (32 * 29)) / 32;
    }
    const Tensor made = remap(image, xs, ys, 1);
    for (int64_t i = 0; i < xs.elements(); ++i)
      for (int64_t c = 0; c < channels; ++c) {
        const double x = static_cast<double>(xs.data<float>()[i]), y = static_cast<double>(ys.data<float>()[i]);
        const auto at = [&](double row, double column) {
          return static_cast<double>(image.data<float>()[(static_cast<int64_t>(row) * 50 + static_cast<int64_t>(column)) * channels + c]);
        };
        const double left = std::floor(x), top = std::floor(y), fx = x - left, fy = y - top;
        const double expected = (at(top, left) * (1 - fx) + at(top, left + 1) * fx) * (1 - fy) +
                                (at(top + 1, left) * (1 - fx) + at(top + 1, left + 1) * fx) * fy;
        ASSERT_NEAR(static_cast<double>(made.data<float>()[i * channels + c]), expected, 1e-3);
      }
  }
}

TEST(Geometry, a_border_repeats_as_border_interpolate_says) {
  std::mt19937 random(4);
  const Tensor image = random_image<uint8_t>(DType::u8, 5, 7, 3, random);
  for (const Border border : {Border::constant, Border::replicate, Border::reflect, Border::wrap, Border::reflect101}) {
    const Tensor made = copy_make_border(image, 4, 9, 3, 12, border, {1, 2, 3});
    for (int y = 0; y < 18; ++y)
      for (int x = 0; x < 22; ++x)
        for (int c = 0; c < 3; ++c) {
          const int row = border_interpolate(y - 4, 5, border), column = border_interpolate(x - 3, 7, border);
          const int expected = row < 0 || column < 0 ? c + 1 : image.data<uint8_t>()[(row * 7 + column) * 3 + c];
          ASSERT_EQ(made.data<uint8_t>()[(y * 22 + x) * 3 + c], expected);
        }
  }
}

TEST(Geometry, pyramids_keep_what_is_constant) {
  Tensor image(DType::u8, {13, 18, 3});
  std::fill_n(image.writable().data<uint8_t>(), image.elements(), uint8_t{201});
  const Tensor down = pyr_down(image), up = pyr_up(image);
  EXPECT_EQ(down.shape(), (Shape{7, 9, 3}));
  EXPECT_EQ(up.shape(), (Shape{26, 36, 3}));
  for (const Tensor& made : {down, up})
    for (int64_t i = 0; i < made.elements(); ++i) ASSERT_EQ(made.data<uint8_t>()[i], 201);
}

TEST(Geometry, matrices_lead_points_where_they_should) {
  const float from[] = {0, 0, 100, 5, 90, 80, -3, 70}, to[] = {10, 12, 88, -4, 120, 99, 2, 60};
  Tensor a(DType::f32, {4, 2}), b(DType::f32, {4, 2});
  std::copy(from, from + 8, a.writable().data<float>());
  std::copy(to, to + 8, b.writable().data<float>());
  const Tensor matrix = perspective_transform_of(a, b);
  const double* const m = matrix.data<double>();
  for (int i = 0; i < 4; ++i) {
    const double x = static_cast<double>(from[2 * i]), y = static_cast<double>(from[2 * i + 1]), w = m[6] * x + m[7] * y + m[8];
    EXPECT_NEAR((m[0] * x + m[1] * y + m[2]) / w, static_cast<double>(to[2 * i]), 1e-9);
    EXPECT_NEAR((m[3] * x + m[4] * y + m[5]) / w, static_cast<double>(to[2 * i + 1]), 1e-9);
  }
}

TEST(Geometry, refuses_what_makes_no_sense) {
  const Tensor image(DType::u8, {4, 5, 3}), matrix(DType::f64, {2, 3});
  EXPECT_THROW(warp_affine(image, Tensor(DType::f64, {3, 3}), {5, 5}), Error);
  EXPECT_THROW(warp_affine(image, matrix, {1 << 30, 1 << 30}), Error);
  EXPECT_THROW(warp_affine(Tensor(DType::u8, {2, 40000}), matrix, {5, 5}), Error);
  EXPECT_THROW(remap(image, Tensor(DType::f32, {3, 3}), Tensor(DType::f32, {3, 4}), 1), Error);
  EXPECT_THROW(rotate(image, 3), Error);
  EXPECT_THROW(repeat(image, 1 << 30, 1 << 30), Error);
  EXPECT_THROW(copy_make_border(image, 1 << 30, 1 << 30, 0, 0, Border::constant), Error);
  EXPECT_THROW(pyr_down(image, {1, 1}), Error);
  EXPECT_THROW(rect_sub_pix(image, {3, 3}, {NAN, 0}), Error);
  EXPECT_THROW(warp_polar(image, {5, 5}, {0, 0}, NAN, 1), Error);
  EXPECT_THROW(resize(image, {5, 5}, static_cast<Interpolation>(9)), Error);
}

}  // namespace
}  // namespace minnow::vision
