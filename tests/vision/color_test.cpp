// SPDX-License-Identifier: Apache-2.0
// Colours against their definition.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <array>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

struct Case {
  ColorCode code;
  int from, to;  // channels
  std::array<int, 4>
      source;  // of each channel of the result: the channel it comes from; -1: opaque alpha; -2: gray, blue first; -3: red first
};
constexpr Case kCases[] = {{ColorCode::bgr_to_bgra, 3, 4, {0, 1, 2, -1}}, {ColorCode::bgra_to_bgr, 4, 3, {0, 1, 2}},
                           {ColorCode::bgr_to_rgba, 3, 4, {2, 1, 0, -1}}, {ColorCode::rgba_to_bgr, 4, 3, {2, 1, 0}},
                           {ColorCode::bgr_to_rgb, 3, 3, {2, 1, 0}},      {ColorCode::bgra_to_rgba, 4, 4, {2, 1, 0, 3}},
                           {ColorCode::bgr_to_gray, 3, 1, {-2}},          {ColorCode::rgb_to_gray, 3, 1, {-3}},
                           {ColorCode::gray_to_bgr, 1, 3, {0, 0, 0}},     {ColorCode::gray_to_bgra, 1, 4, {0, 0, 0, -1}},
                           {ColorCode::bgra_to_gray, 4, 1, {-2}},         {ColorCode::rgba_to_gray, 4, 1, {-3}}};

template <class T>
void compare(DType dtype, double most, double tolerance) {
  std::mt19937 random(1);
  constexpr int64_t kHeight = 7, kWidth = 29;
  for (const Case& one : kCases) {
    Tensor image(dtype, one.from == 1 ? Shape{kHeight, kWidth} : Shape{kHeight, kWidth, one.from});
    T* in = image.writable().data<T>();
    for (int64_t i = 0; i < image.elements(); ++i) in[i] = static_cast<T>(most * static_cast<double>(random() % 65536) / 65535);
    for (int64_t i = 0; i < 2 * one.from; ++i) in[i] = static_cast<T>(i < one.from ? 0 : most);
    const Tensor made = convert_color(image, one.code);
    ASSERT_EQ(made.dtype(), dtype);
    ASSERT_EQ(made.shape(), one.to == 1 ? (Shape{kHeight, kWidth}) : (Shape{kHeight, kWidth, one.to}));
    for (int64_t i = 0; i < kHeight * kWidth; ++i)
      for (int c = 0; c < one.to; ++c) {
        const T* pixel = in + i * one.from;
        const int source = one.source[static_cast<size_t>(c)];
        const auto gray = [&](int blue, int red) {
          return 0.114 * double(pixel[blue]) + 0.587 * double(pixel[1]) + 0.299 * double(pixel[red]);
        };
        const double expected = source == -1 ? most : source == -2 ? gray(0, 2) : source == -3 ? gray(2, 0) : double(pixel[source]);
        ASSERT_NEAR(double(made.data<T>()[i * one.to + c]), expected, source < -1 ? tolerance : 0) << static_cast<int>(one.code);
      }
  }
}

TEST(Color, conversions_of_bytes) { compare<uint8_t>(DType::u8, 255, 0.52); }
TEST(Color, conversions_of_16_bits) { compare<uint16_t>(DType::u16, 65535, 4); }  // weights of 14 bits
TEST(Color, conversions_of_f32) { compare<float>(DType::f32, 1, 1e-6); }

TEST(Color, refuses_other_channels_and_dtypes) {
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2, 2, 4}), ColorCode::bgr_to_gray), Error);
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2, 2}), ColorCode::bgr_to_gray), Error);
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2}), ColorCode::gray_to_bgr), Error);
  EXPECT_THROW(convert_color(Tensor(DType::i64, {2, 2, 3}), ColorCode::bgr_to_gray), Error);
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2, 2, 3}), static_cast<ColorCode>(99)), Error);
}

TEST(Color, takes_empty_pictures) { EXPECT_EQ(convert_color(Tensor(DType::u8, {0, 5, 3}), ColorCode::bgr_to_gray).shape(), (Shape{0, 5})); }

}  // namespace
}  // namespace minnow::vision
