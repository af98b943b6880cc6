// SPDX-License-Identifier: Apache-2.0
// Colours against their definition.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <array>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

struct ChannelCase {
  ColorCode code;
  int from, to;  // channels
  std::array<int, 4>
      source;  // of each channel of the result: the channel it comes from; -1: opaque alpha; -2: gray, blue first; -3: red first
};
constexpr ChannelCase kChannelCases[] = {{ColorCode::bgr_to_bgra, 3, 4, {0, 1, 2, -1}}, {ColorCode::bgra_to_bgr, 4, 3, {0, 1, 2}},
                                         {ColorCode::bgr_to_rgba, 3, 4, {2, 1, 0, -1}}, {ColorCode::rgba_to_bgr, 4, 3, {2, 1, 0}},
                                         {ColorCode::bgr_to_rgb, 3, 3, {2, 1, 0}},      {ColorCode::bgra_to_rgba, 4, 4, {2, 1, 0, 3}},
                                         {ColorCode::bgr_to_gray, 3, 1, {-2}},          {ColorCode::rgb_to_gray, 3, 1, {-3}},
                                         {ColorCode::gray_to_bgr, 1, 3, {0, 0, 0}},     {ColorCode::gray_to_bgra, 1, 4, {0, 0, 0, -1}},
                                         {ColorCode::bgra_to_gray, 4, 1, {-2}},         {ColorCode::rgba_to_gray, 4, 1, {-3}}};

template <class T>
void expect_channels(DType dtype, double most, double tolerance) {
  std::mt19937 random(1);
  constexpr int64_t kHeight = 7, kWidth = 29;
  for (const ChannelCase& one : kChannelCases) {
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

TEST(Color, conversions_of_bytes) { expect_channels<uint8_t>(DType::u8, 255, 0.52); }
TEST(Color, conversions_of_16_bits) { expect_channels<uint16_t>(DType::u16, 65535, 4); }  // weights of 14 bits
TEST(Color, conversions_of_f32) { expect_channels<float>(DType::f32, 1, 1e-6); }

TEST(Color, refuses_other_channels_and_dtypes) {
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2, 2, 5}), ColorCode::bgr_to_gray), Error);
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2, 2}), ColorCode::bgr_to_gray), Error);
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2}), ColorCode::gray_to_bgr), Error);
  EXPECT_THROW(convert_color(Tensor(DType::i64, {2, 2, 3}), ColorCode::bgr_to_gray), Error);
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2, 2, 3}), static_cast<ColorCode>(99)), Error);
}

TEST(Color, refuses_empty_pictures) { EXPECT_THROW(convert_color(Tensor(DType::u8, {0, 5, 3}), ColorCode::bgr_to_gray), Error); }

TEST(Color, of_three_or_four_channels_with_any_code) {
  EXPECT_EQ(convert_color(Tensor(DType::u8, {2, 5, 4}), ColorCode::bgr_to_gray).shape(), (Shape{2, 5}));
  EXPECT_EQ(convert_color(Tensor(DType::u8, {2, 5, 3}), ColorCode::hsv_to_bgr, 4).shape(), (Shape{2, 5, 4}));
  EXPECT_THROW(convert_color(Tensor(DType::u8, {2, 5, 3}), ColorCode::hsv_to_bgr, 5), Error);
}

/// Primary colours and grays, whose values follow from the definitions.
TEST(Color, known_colors) {
  const auto one = [](ColorCode code, std::array<uint8_t, 3> from) {
    Tensor image(DType::u8, {1, 1, 3});
    std::copy(from.begin(), from.end(), image.writable().data<uint8_t>());
    const Tensor made = convert_color(image, code);
    const uint8_t* values = made.data<uint8_t>();
    return std::array<int, 3>{values[0], values[1], values[2]};
  };
  using Values = std::array<int, 3>;
  EXPECT_EQ(one(ColorCode::bgr_to_hsv, {0, 0, 255}), (Values{0, 255, 255}));
  EXPECT_EQ(one(ColorCode::bgr_to_hsv, {255, 0, 0}), (Values{120, 255, 255}));
  EXPECT_EQ(one(ColorCode::rgb_to_hls, {0, 255, 0}), (Values{60, 128, 255}));
  EXPECT_EQ(one(ColorCode::hsv_to_bgr, {60, 255, 200}), (Values{0, 200, 0}));
  EXPECT_EQ(one(ColorCode::bgr_to_ycrcb, {77, 77, 77}), (Values{77, 128, 128}));
  EXPECT_EQ(one(ColorCode::bgr_to_lab, {255, 255, 255}), (Values{255, 128, 128}));
  EXPECT_EQ(one(ColorCode::lab_to_bgr, {0, 128, 128}), (Values{0, 0, 0}));
}

/// Luma 16 and 235 are black and white; a frame made of a picture gives it back where chroma is shared by equal pixels.
TEST(Color, frames_of_cameras) {
  Tensor image(DType::u8, {4, 6, 3});
  uint8_t* pixels = image.writable().data<uint8_t>();
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x)
      for (int c = 0; c < 3; ++c) pixels[(y * 6 + x) * 3 + c] = static_cast<uint8_t>(40 * (x / 2) + 60 * (y / 2) + 20 * c);
  for (const auto& [to, from] : {std::pair{ColorCode::bgr_to_yuv_i420, ColorCode::yuv_to_bgr_i420},
                                 std::pair{ColorCode::rgb_to_yuv_yv12, ColorCode::yuv_to_rgb_yv12},
                                 std::pair{ColorCode::bgr_to_yuv_uyvy, ColorCode::yuv_to_bgr_uyvy}}) {
    const Tensor back = convert_color(convert_color(image, to), from);
    ASSERT_EQ(back.shape(), image.shape());
    for (int i = 0; i < 72; ++i) EXPECT_NEAR(int{back.data<uint8_t>()[i]}, int{pixels[i]}, 3) << i;
  }
  Tensor frame(DType::u8, {3, 4});
  std::fill_n(frame.writable().data<uint8_t>(), 12, uint8_t{128});
  std::fill_n(frame.writable().data<uint8_t>(), 4, uint8_t{16});
  const Tensor black = convert_color(frame, ColorCode::yuv_to_bgr_nv21);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(black.data<uint8_t>()[i], 0);
  EXPECT_THROW(convert_color(Tensor(DType::u8, {4, 4}), ColorCode::yuv_to_bgr_nv21), Error);
}

}  // namespace
}  // namespace minnow::vision
