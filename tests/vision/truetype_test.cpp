// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

constexpr const char* kFont = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf";

class TrueType : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFont)) GTEST_SKIP() << "there is no " << kFont << " (Debian package fonts-dejavu-core)";
    try {
      TrueTypeFont font(kFont);
    } catch (const Unsupported& error) {
      GTEST_SKIP() << error.what();
    } catch (const IoError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static std::vector<std::byte> file() {
    std::ifstream stream(kFont, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
  }
};

Tensor black(int64_t height, int64_t width) {
  Tensor image(DType::u8, {height, width});
  std::fill_n(image.writable().data<uint8_t>(), height * width, uint8_t(0));
  return image;
}

/// The rectangle of pixels that are not 0.
Rect ink(const Tensor& image) {
  const int height = static_cast<int>(image.shape()[0]), width = static_cast<int>(image.shape()[1]);
  int left = width, right = 0, top = height, bottom = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      if (image.data<uint8_t>()[y * width + x])
        left = std::min(left, x), right = std::max(right, x + 1), top = std::min(top, y), bottom = std::max(bottom, y + 1);
  return {left, top, right - left, bottom - top};
}

TEST_F(TrueType, text_has_the_size_that_is_told) {
  const TrueTypeFont font(kFont);
  for (const char* text : {"Minnow", "gjpq", "Grüße, Ж Ω", "."}) {
    for (const int thickness : {-1, 1, 3}) {
      Tensor image = black(120, 600);
      font.put_text(MutableImageView(image.writable()), text, {20, 80}, 50, {255}, thickness, LineType::antialiased, true);
      const Rect drawn = ink(image);
      const TextSize size = font.text_size(text, 50, thickness);
      EXPECT_NEAR(drawn.x + drawn.width, 20 + size.size.width, 2) << text << thickness;
      EXPECT_NEAR(80 - drawn.y, size.size.height, 1) << text << thickness;
      EXPECT_NEAR(std::max(drawn.y + drawn.height - 80, 0), size.base_line, 1) << text << thickness;
    }
  }
}

TEST_F(TrueType, characters_of_one_width_stand_their_advance_apart) {
  const TrueTypeFont font(kFont);  // 1233 of 2048 units
  const int one = font.text_size("N", 100, -1).size.width, ten = font.text_size("NNNNNNNNNN", 100, -1).size.width;
  EXPECT_NEAR(ten - one, 9 * 100 * 1233.0 / 2048, 1.5);
}

TEST_F(TrueType, upper_left_corner_and_base_line_are_the_height_apart) {
  const TrueTypeFont font(kFont);
  Tensor a = black(100, 200), b = black(100, 200);
  font.put_text(MutableImageView(a.writable()), "Ag", {10, 20}, 40, {255}, -1, LineType::antialiased, false);
  font.put_text(MutableImageView(b.writable()), "Ag", {10, 60}, 40, {255}, -1, LineType::antialiased, true);
  EXPECT_TRUE(std::equal(a.data<uint8_t>(), a.data<uint8_t>() + a.elements(), b.data<uint8_t>()));
}

TEST_F(TrueType, plain_pixels_are_those_that_are_covered_by_half) {
  const TrueTypeFont font(kFont);
  Tensor smooth = black(100, 300), plain = black(100, 300);
  font.put_text(MutableImageView(smooth.writable()), "Half & half", {5, 60}, 40, {255}, -1, LineType::antialiased, true);
  font.put_text(MutableImageView(plain.writable()), "Half & half", {5, 60}, 40, {255}, -1, LineType::eight, true);
  for (int64_t i = 0; i < smooth.elements(); ++i) ASSERT_EQ(plain.data<uint8_t>()[i], smooth.data<uint8_t>()[i] >= 128 ? 255 : 0) << i;
}

TEST_F(TrueType, text_beyond_the_picture_is_left_out) {
  const TrueTypeFont font(kFont);
  Tensor large = black(120, 200), small = black(40, 50);
  font.put_text(MutableImageView(large.writable()), "Clip", {0, 80}, 60, {255}, 2, LineType::antialiased, true);
  font.put_text(MutableImageView(small.writable()), "Clip", {-40, 40}, 60, {255}, 2, LineType::antialiased, true);
  for (int64_t y = 0; y < 40; ++y)
    for (int64_t x = 0; x < 50; ++x)
      ASSERT_EQ(small.data<uint8_t>()[y * 50 + x], large.data<uint8_t>()[(y + 40) * 200 + x + 40]) << y << ", " << x;
  font.put_text(MutableImageView(small.writable()), "far", {2147483647, -2147483647}, 60, {255}, -1, LineType::eight, false);
}

TEST_F(TrueType, bad_files_and_numbers_are_refused) {
  EXPECT_THROW(TrueTypeFont("no such font.ttf"), FileError);
  EXPECT_THROW(TrueTypeFont(std::vector<std::byte>(100)), InvalidArgument);
  EXPECT_THROW(TrueTypeFont(kFont, 7), InvalidArgument);
  const TrueTypeFont font(kFont);
  Tensor image = black(10, 10);
  EXPECT_THROW(font.text_size("a", 0, -1), InvalidArgument);
  EXPECT_THROW(font.put_text(MutableImageView(image.writable()), "a", {}, 5000, {255}, -1, LineType::eight, true), InvalidArgument);
}

TEST_F(TrueType, damaged_fonts_raise_or_draw) {
  std::mt19937 random(1);
  const std::vector<std::byte> good = file();
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bad = good;
    if (round % 3 == 0) bad.resize(random() % bad.size());
    for (int k = 0; k < 20 && !bad.empty(); ++k)  // the tables' directory and anything
      bad[random() % (round % 2 ? bad.size() : std::min<size_t>(bad.size(), 4096))] = static_cast<std::byte>(random());
    try {
      const TrueTypeFont font(bad);
      Tensor image = black(64, 64);
      font.put_text(MutableImageView(image.writable()), "Damaged äЖ", {0, 40}, 20, {255}, round % 5 - 1, LineType::antialiased, true);
    } catch (const Error&) {}
  }
}

}  // namespace
}  // namespace minnow::vision
