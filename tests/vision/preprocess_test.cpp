// SPDX-License-Identifier: Apache-2.0
// One pass against its steps: colours, samples, mean and scale.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <cmath>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

Tensor random_picture(Shape shape, unsigned seed = 1) {
  Tensor image(DType::u8, shape);
  std::mt19937 random(seed);
  uint8_t* bytes = image.writable().data<uint8_t>();
  for (int64_t i = 0; i < image.elements(); ++i) bytes[i] = static_cast<uint8_t>(random());
  return image;
}

struct FormatCase {
  PixelFormat format;
  Shape shape;
  std::optional<ColorCode> to_rgb;
};
const FormatCase kFormatCases[] = {{PixelFormat::rgb, {12, 10, 3}, std::nullopt},
                                   {PixelFormat::bgr, {12, 10, 3}, ColorCode::bgr_to_rgb},
                                   {PixelFormat::bgra, {12, 10, 4}, ColorCode::rgba_to_bgr},
                                   {PixelFormat::gray, {12, 10}, ColorCode::gray_to_bgr},
                                   {PixelFormat::nv12, {18, 10}, ColorCode::yuv_to_rgb_nv12},
                                   {PixelFormat::nv21, {18, 10}, ColorCode::yuv_to_rgb_nv21},
                                   {PixelFormat::i420, {18, 10}, ColorCode::yuv_to_rgb_i420},
                                   {PixelFormat::yv12, {18, 10}, ColorCode::yuv_to_rgb_yv12},
                                   {PixelFormat::yuyv, {12, 10, 2}, ColorCode::yuv_to_rgb_yuyv},
                                   {PixelFormat::yvyu, {12, 10, 2}, ColorCode::yuv_to_rgb_yvyu},
                                   {PixelFormat::uyvy, {12, 10, 2}, ColorCode::yuv_to_rgb_uyvy},
                                   {PixelFormat::bgr565, {12, 10, 2}, ColorCode::bgr565_to_rgb},
                                   {PixelFormat::bgr555, {12, 10, 2}, ColorCode::bgr555_to_rgb}};

TEST(Preprocess, agrees_with_its_steps_for_each_format) {
  const std::array<double, 6> matrix{0.7, 0.2, -1.3, -0.1, 1.1, 2.4};
  for (const FormatCase& one : kFormatCases) {
    const Tensor image = random_picture(one.shape);
    const Tensor rgb = one.to_rgb ? convert_color(image, *one.to_rgb) : image;
    PreprocessOptions options;
    options.source = one.format;
    options.size = {9, 7};
    options.matrix = matrix;
    options.mean = {10, 20, 30, 0};
    options.scale = {0.5, 0.25, 2, 1};
    const Tensor made = preprocess(image, options);
    ASSERT_EQ(made.shape(), (Shape{1, 3, 7, 9}));
    for (int y = 0; y < 7; ++y)
      for (int x = 0; x < 9; ++x) {
        const double px = std::clamp(matrix[0] * x + matrix[1] * y + matrix[2], 0.0, 9.0);
        const double py = std::clamp(matrix[3] * x + matrix[4] * y + matrix[5], 0.0, 11.0);
        const int x0 = static_cast<int>(px), y0 = static_cast<int>(py), x1 = std::min(x0 + 1, 9), y1 = std::min(y0 + 1, 11);
        for (int c = 0; c < 3; ++c) {
          const auto at = [&](int row, int column) { return double(rgb.data<uint8_t>()[(row * 10 + column) * 3 + c]); };
          const double upper = at(y0, x0) + (at(y0, x1) - at(y0, x0)) * (px - x0),
                       lower = at(y1, x0) + (at(y1, x1) - at(y1, x0)) * (px - x0);
          const double value = upper + (lower - upper) * (py - y0);
          const double found = made.data<float>()[(c * 7 + y) * 9 + x] / options.scale[size_t(c)] + options.mean[size_t(c)];
          ASSERT_NEAR(found, value, 2.01) << static_cast<int>(one.format) << " at " << x << ", " << y;
        }
      }
  }
}

TEST(Preprocess, layouts_dtypes_and_padding) {
  const Tensor image = random_picture({4, 5, 3});
  PreprocessOptions options;
  options.target = PixelFormat::bgra;
  options.layout = TensorLayout::nhwc;
  options.dtype = DType::u8;
  options.matrix = std::array<double, 6>{1, 0, -1, 0, 1, 0};  // one to the right
  options.padding = 7;
  const Tensor made = preprocess(image, options);
  ASSERT_EQ(made.shape(), (Shape{1, 4, 5, 4}));
  const uint8_t *found = made.data<uint8_t>(), *pixels = image.data<uint8_t>();
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 5; ++x)
      for (int c = 0; c < 4; ++c)
        EXPECT_EQ(int{found[(y * 5 + x) * 4 + c]}, c == 3 ? 255 : x == 0 ? 7 : int{pixels[(y * 5 + x - 1) * 3 + c]});
}

TEST(Preprocess, refuses_frames_that_do_not_fit) {
  PreprocessOptions options;
  options.source = PixelFormat::nv21;
  EXPECT_THROW(preprocess(Tensor(DType::u8, {9, 5}), options), Error);
  EXPECT_THROW(preprocess(Tensor(DType::u8, {8, 4}), options), Error);
  EXPECT_THROW(preprocess(Tensor(DType::f32, {9, 4}), options), Error);
  options.source = PixelFormat::bgr;
  EXPECT_THROW(preprocess(Tensor(DType::u8, {0, 4, 3}), options), Error);
  options.size = {1 << 20, 1 << 20};
  EXPECT_THROW(preprocess(Tensor(DType::u8, {4, 4, 3}), options), Error);
  options.size = {};
  options.target = PixelFormat::nv12;
  EXPECT_THROW(preprocess(Tensor(DType::u8, {4, 4, 3}), options), Error);
}

}  // namespace
}  // namespace minnow::vision
