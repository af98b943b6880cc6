// SPDX-License-Identifier: Apache-2.0
// JPEG and PNG files that the test writes itself, against the pixels that went into them; files of every format that are written and read
// again; damaged ones give an error or a picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "vision/picture_files.h"

namespace minnow::vision {
namespace {

using test::Bytes;
using test::JpegFile;
using test::PngFile;
using test::view;
using ::testing::HasSubstr;

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

int element(const Tensor& image, int64_t i) { return image.dtype() == DType::u16 ? image.data<uint16_t>()[i] : image.data<uint8_t>()[i]; }

// ---- PNG

/// Blue, green, red and alpha of a pixel as the file says them, in eight bits or, where wide, sixteen.
std::array<int, 4> color_of(const PngFile& file, int x, int y) {
  const auto sample = [&](int c) { return file.sample(x, y, c); };
  const int most = file.depth == 16 ? 65535 : 255;
  if (file.type == 3) {
    const size_t at = static_cast<size_t>(sample(0));
    return {file.palette[3 * at + 2], file.palette[3 * at + 1], file.palette[3 * at],
            at < file.transparency.size() ? file.transparency[at] : 255};
  }
  const bool colors = file.type == 2 || file.type == 6;
  const int scale = file.depth < 8 ? 255 / ((1 << file.depth) - 1) : 1;
  std::array<int, 4> color{sample(colors ? 2 : 0) * scale, sample(colors ? 1 : 0) * scale, sample(0) * scale, most};
  if (file.type == 4 || file.type == 6) color[3] = sample(file.channels() - 1);
  return color;
}

void expect_pixels(const PngFile& file, const Tensor& image, bool narrowed) {
  const int64_t channels = image.shape().rank() == 2 ? 1 : image.shape()[2];
  ASSERT_EQ(image.shape()[0], file.height);
  ASSERT_EQ(image.shape()[1], file.width);
  for (int y = 0; y < file.height; ++y)
    for (int x = 0; x < file.width; ++x) {
      const std::array<int, 4> color = color_of(file, x, y);
      for (int64_t c = 0; c < channels; ++c)
        ASSERT_EQ(element(image, (y * file.width + x) * channels + c),
                  narrowed ? color[static_cast<size_t>(c)] >> 8 : color[static_cast<size_t>(c)])
            << "type " << file.type << ", depth " << file.depth << ", at " << x << "," << y;
    }
}

TEST(Png, files_of_every_kind_give_the_pixels_that_were_written) {
  std::mt19937 random(1);
  for (const auto& [type, depth] : std::initializer_list<std::pair<int, int>>{
           {0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1}, {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}})
    for (const bool interlaced : {false, true})
      for (const auto& [width, height] : {std::pair{1, 1}, {5, 3}, {17, 9}, {8, 8}, {64, 40}}) {
        PngFile file{.width = width, .height = height, .depth = depth, .type = type, .interlaced = interlaced};
        if (type == 3)
          for (int i = 0; i < 3 << depth; ++i) file.palette.push_back(static_cast<uint8_t>(random()));
        file.fill(random);
        const Bytes bytes = file.bytes();
        const Tensor whole = decode_image(view(bytes), ReadMode::unchanged);
        EXPECT_EQ(whole.dtype(), depth == 16 ? DType::u16 : DType::u8);
        EXPECT_EQ(whole.shape().rank() == 2 ? 1 : whole.shape()[2], type == 0 ? 1 : type == 4 || type == 6 ? 4 : 3);
        expect_pixels(file, whole, false);
        const Tensor colors = decode_image(view(bytes));
        EXPECT_EQ(colors.shape(), (Shape{height, width, 3}));
        EXPECT_EQ(colors.dtype(), DType::u8);
        expect_pixels(file, colors, depth == 16);
        const Tensor gray = decode_image(view(bytes), ReadMode::grayscale);
        ASSERT_EQ(gray.shape(), (Shape{height, width}));
        for (int y = 0; y < height; ++y)
          for (int x = 0; x < width; ++x) {
            const std::array<int, 4> c = color_of(file, x, y);
            const double exact = (0.114 * c[0] + 0.587 * c[1] + 0.299 * c[2]) / (depth == 16 ? 256 : 1);
            ASSERT_NEAR(element(gray, y * width + x), exact, 1.01);
          }
      }
}

TEST(Png, transparency_of_palettes_and_colours_is_alpha) {
  std::mt19937 random(2);
  PngFile palette{
      .width = 9, .height = 4, .depth = 2, .type = 3, .palette = {1, 2, 3, 40, 50, 60, 7, 8, 9, 100, 110, 120}, .transparency = {0, 128}};
  palette.fill(random);
  const Tensor image = decode_image(view(palette.bytes()), ReadMode::unchanged);
  EXPECT_EQ(image.shape(), (Shape{4, 9, 4}));
  expect_pixels(palette, image, false);
  PngFile clear{.width = 2, .height = 1, .type = 2, .samples = {1, 2, 3, 1, 2, 4}, .transparency = {0, 1, 0, 2, 0, 3}};
  const Tensor colors = decode_image(view(clear.bytes()), ReadMode::unchanged);
  ASSERT_EQ(colors.shape(), (Shape{1, 2, 4}));
  EXPECT_EQ(element(colors, 3), 0);
  EXPECT_EQ(element(colors, 7), 255);
}

TEST(Png, what_is_wrong_with_a_file_is_said) {
  std::mt19937 random(3);
  PngFile file{.width = 3, .height = 2};
  file.fill(random);
  const Bytes good = file.bytes();
  const auto changed = [&](size_t at, uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    return bytes;
  };
  EXPECT_THAT(error_of([&] { decode_image(view(changed(20, 9)), ReadMode::color, "a.png"); }),
              HasSubstr("a.png: the PNG file is damaged: IHDR: CRC error"));
  PngFile odd = file;
  odd.depth = 4;
  odd.samples.assign(odd.samples.size(), 1);
  EXPECT_THAT(error_of([&] { decode_image(view(odd.bytes())); }), HasSubstr("the PNG file is damaged: Invalid IHDR data"));
  PngFile huge = file;
  huge.claimed_width = huge.claimed_height = 1 << 30;
  EXPECT_THAT(error_of([&] { decode_image(view(huge.bytes())); }), HasSubstr("1073741824 x 1073741824 pixels"));
  PngFile taller = file;
  taller.claimed_height = 3;
  EXPECT_THAT(error_of([&] { decode_image(view(taller.bytes())); }), HasSubstr("the PNG file is damaged: "));
}

// ---- JPEG

TEST(Jpeg, gray_files_are_the_inverse_transform_of_their_coefficients) {
  std::mt19937 random(4);
  for (const auto& [columns, rows, restart] : {std::tuple{1, 1, 0}, {3, 2, 0}, {5, 4, 3}, {2, 7, 1}}) {
    JpegFile file{.columns = columns, .rows = rows, .restart_interval = restart};
    file.fill(random, 1);
    const Bytes bytes = file.bytes();
    for (const ReadMode mode : {ReadMode::grayscale, ReadMode::unchanged, ReadMode::color}) {
      const Tensor image = decode_image(view(bytes), mode);
      const int64_t channels = mode == ReadMode::color ? 3 : 1;
      ASSERT_EQ(image.shape(), channels == 1 ? (Shape{rows * 8, columns * 8}) : (Shape{rows * 8, columns * 8, 3}));
      for (int y = 0; y < rows * 8; ++y)
        for (int x = 0; x < columns * 8; ++x)
          for (int64_t c = 0; c < channels; ++c)
            ASSERT_NEAR(element(image, (y * columns * 8 + x) * channels + c), std::clamp(file.value(0, x, y), 0.0, 255.0), 1.01);
    }
  }
}

TEST(Jpeg, colours_are_those_of_their_brightness_and_two_differences) {
  std::mt19937 random(5);
  JpegFile file{.columns = 3, .rows = 3};
  file.fill(random, 3);
  for (size_t component = 1; component < 3; ++component)
    for (auto& block : file.components[component])
      for (int& coefficient : block) coefficient /= 4;
  const Tensor image = decode_image(view(file.bytes()));
  ASSERT_EQ(image.shape(), (Shape{24, 24, 3}));
  for (int y = 0; y < 24; ++y)
    for (int x = 0; x < 24; ++x) {
      const double light = std::clamp(std::round(file.value(0, x, y)), 0.0, 255.0), blue = file.value(1, x, y) - 128,
                   red = file.value(2, x, y) - 128;
      const double expected[] = {light + 1.772 * blue, light - 0.344136 * blue - 0.714136 * red, light + 1.402 * red};
      for (int c = 0; c < 3; ++c) ASSERT_NEAR(element(image, (y * 24 + x) * 3 + c), std::clamp(expected[c], 0.0, 255.0), 4);
    }
}

TEST(Jpeg, exif_orientation_turns_the_picture) {
  std::mt19937 random(6);
  JpegFile file{.columns = 3, .rows = 1};
  file.fill(random, 1);
  const Tensor upright = decode_image(view(file.bytes()), ReadMode::grayscale);
  const int height = 8, width = 24;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    file.orientation = orientation;
    const Bytes bytes = file.bytes();
    EXPECT_EQ(decode_image(view(bytes), ReadMode::unchanged).shape(), (Shape{height, width}));
    const Tensor turned = decode_image(view(bytes), ReadMode::grayscale);
    ASSERT_EQ(turned.shape(), orientation <= 4 ? (Shape{height, width}) : (Shape{width, height}));
    // CIPA DC-008: which side of the scene row 0 and column 0 of the file lie at.
    const bool row_at_bottom = orientation == 3 || orientation == 4, column_at_right = orientation == 2 || orientation == 3;
    for (int row = 0; row < height; ++row)
      for (int column = 0; column < width; ++column) {
        int y = row_at_bottom ? height - 1 - row : row, x = column_at_right ? width - 1 - column : column;
        if (orientation >= 5) {  // row 0 at the left (5, 8) or the right (6, 7), column 0 at the top (5, 6) or the bottom (7, 8)
          x = orientation == 6 || orientation == 7 ? height - 1 - row : row;
          y = orientation >= 7 ? width - 1 - column : column;
        }
        ASSERT_EQ(element(turned, y * turned.shape()[1] + x), element(upright, row * width + column)) << orientation;
      }
  }
}

/// A picture whose neighbours are alike.
Tensor smooth_picture(DType dtype, int64_t height, int64_t width, int64_t channels) {
  Tensor picture(dtype, channels == 1 ? Shape{height, width} : Shape{height, width, channels});
  for (int64_t i = 0; i < picture.elements(); ++i) {
    const int64_t x = i / channels % width, y = i / channels / width, c = i % channels;
    const double value = 0.5 + 0.25 * std::sin(0.2 * static_cast<double>(x + c)) + 0.25 * std::cos(0.15 * static_cast<double>(y - c));
    if (dtype == DType::u8)
      picture.writable().data<uint8_t>()[i] = static_cast<uint8_t>(value * 255);
    else
      picture.writable().data<uint16_t>()[i] = static_cast<uint16_t>(value * 65535);
  }
  return picture;
}

TEST(Pictures, what_is_written_is_read_again) {
  for (const char* suffix : {".png", ".bmp", ".webp", ".ppm", ".jpg"})
    for (const DType dtype : {DType::u8, DType::u16})
      for (const int64_t channels : {1, 3, 4}) {
        const std::string kind = suffix;
        if (dtype == DType::u16 && kind != ".png" && kind != ".ppm") continue;
        if (channels == 4 && kind == ".ppm") continue;
        const Tensor picture = smooth_picture(dtype, 23, 37, channels);
        const std::string name = channels == 1 && kind == ".ppm" ? ".pgm" : kind;
        const Tensor read = decode_image(encode_image(name, picture), ReadMode::unchanged, name);
        const bool as_it_was = kind != ".jpg" && !(kind == ".webp" && channels == 1);
        if (as_it_was) {
          ASSERT_EQ(read.shape(), picture.shape()) << name;
          ASSERT_EQ(read.dtype(), dtype);
        }
        const int64_t found = read.shape().rank() == 2 ? 1 : read.shape()[2];
        for (int64_t i = 0; i < 23 * 37; ++i)
          for (int64_t c = 0; c < std::min(found, channels); ++c)
            ASSERT_NEAR(element(read, i * found + c), element(picture, i * channels + c), kind == ".jpg" ? 12 : 0)
                << name << " " << channels;
      }
}

TEST(Pictures, options_change_the_file) {
  const Tensor picture = smooth_picture(DType::u8, 64, 64, 3);
  const auto size = [&](const char* suffix, std::vector<int> options) { return encode_image(suffix, picture, options).size(); };
  const auto number = [](WriteOption which) { return static_cast<int>(which); };
  EXPECT_LT(size(".jpg", {number(WriteOption::jpeg_quality), 20}), size(".jpg", {}));
  EXPECT_LT(size(".jpg", {number(WriteOption::jpeg_optimize), 1}), size(".jpg", {}));
  EXPECT_LT(size(".png", {number(WriteOption::png_compression), 9, number(WriteOption::png_strategy), 0}),
            size(".png", {number(WriteOption::png_compression), 0}));
  EXPECT_LT(size(".webp", {number(WriteOption::webp_quality), 5}), size(".webp", {number(WriteOption::webp_quality), 95}));
  EXPECT_THAT(error_of([&] { size(".gif", {}); }), HasSubstr("no format of pictures has the suffix"));
  EXPECT_THAT(error_of([&] { size(".png", {1}); }), HasSubstr("each option has a value"));
  EXPECT_THAT(error_of([&] { encode_image(".png", smooth_picture(DType::u8, 3, 3, 5)); }), HasSubstr("1 or 3 channels"));
}

TEST(Pictures, a_fault_leaves_the_file_that_was_there) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "kept.png").string();
  const Tensor picture = smooth_picture(DType::u8, 5, 6, 3);
  write_image(path, picture);
  EXPECT_THROW(write_image(path, smooth_picture(DType::u8, 5, 6, 5)), Error);
  EXPECT_EQ(read_image(path).shape(), picture.shape());
  EXPECT_THROW(write_image(path + "/a.png", picture), FileError);
  std::filesystem::remove(path);
  EXPECT_THROW(read_image(path), FileError);
}

TEST(Pictures, damaged_files_are_errors_or_pictures) {
  std::mt19937 random(7);
  std::vector<Bytes> files;
  for (const int type : {0, 2, 3, 6}) {
    PngFile file{.width = 13, .height = 11, .type = type, .interlaced = type == 2};
    if (type == 3) file.palette.assign(3 * 256, 7);
    file.fill(random);
    files.push_back(file.bytes());
  }
  for (const size_t components : {1u, 3u}) {
    JpegFile file{.columns = 3, .rows = 2, .restart_interval = components == 3 ? 2 : 0, .orientation = 6};
    file.fill(random, components);
    files.push_back(file.bytes());
  }
  for (const char* suffix : {".webp", ".bmp", ".ppm", ".jpg", ".png"})
    for (const int64_t channels : {1, 3, 4}) {
      if (channels == 4 && std::string(suffix) == ".ppm") continue;
      for (const int lossy : {0, 1}) {
        const int options[] = {static_cast<int>(WriteOption::webp_quality), 60, static_cast<int>(WriteOption::jpeg_progressive), 1,
                               static_cast<int>(WriteOption::pnm_binary),   0};
        const auto written = encode_image(suffix, smooth_picture(DType::u8, 19, 23, channels), std::span(options).first(lossy ? 6 : 0));
        const auto* const data = reinterpret_cast<const uint8_t*>(written.data());
        files.emplace_back(data, data + written.size());
      }
    }
  int pictures = 0, errors = 0;
  const auto read = [&](const Bytes& bytes) {
    static constexpr int kModes[] = {-1, 0, 1, 2, 4, 6, 17, 64, 256};
    try {
      decode_image(view(bytes), static_cast<ReadMode>(kModes[random() % std::size(kModes)]));
      ++pictures;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
      ++errors;
    }
  };
  for (const Bytes& file : files) {
    for (size_t length = 0; length < file.size(); length += 1 + length / 64) {
      const int before = pictures;
      read(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(length)));
      // A file that lacks more than its end mark cannot be a picture.
      if (length + 12 < file.size()) {
        EXPECT_EQ(pictures, before) << "cut to " << length << " of " << file.size();
      }
    }
    for (int i = 0; i < 400; ++i) {
      Bytes changed = file;
      for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<uint8_t>(random());
      read(changed);
    }
  }
  EXPECT_GT(pictures, 0);
  EXPECT_GT(errors, 1000);
  EXPECT_GE(pictures + errors, 10000) << "damaged files";
}

TEST(Jpeg, data_that_fit_no_picture_are_errors) {
  const Tensor picture = smooth_picture(DType::u8, 96, 128, 3);
  const auto written = [&](std::initializer_list<int> options) {
    const auto file = encode_image(".jpg", picture, std::span(options.begin(), options.size()));
    const auto* const data = reinterpret_cast<const uint8_t*>(file.data());
    return Bytes(data, data + file.size());
  };
  const auto with_left = [](Bytes file, const Bytes& left) {  // behind the last pixel, before the end mark
    file.insert(file.end() - 2, left.begin(), left.end());
    return file;
  };
  const Bytes file = written({});
  EXPECT_THAT(error_of([&] { decode_image(view(with_left(file, Bytes(30, 0x5a)))); }), HasSubstr("extraneous bytes before marker"));
  for (const Bytes& harmless : {Bytes(3, 0x5a), Bytes(500, 0), Bytes(64, 0xff)})
    EXPECT_EQ(decode_image(view(with_left(file, harmless))).shape(), picture.shape());

  // A progressive file that ends well before one of its later scans.
  const Bytes scans = written({static_cast<int>(WriteOption::jpeg_progressive), 1});
  const Bytes mark{0xff, 0xda}, end{0xff, 0xd9};
  int cuts = 0;
  for (auto at = std::search(scans.begin(), scans.end(), mark.begin(), mark.end()) + 2; at != scans.end(); at += 2, ++cuts) {
    at = std::search(at, scans.end(), mark.begin(), mark.end());
    if (at == scans.end()) break;
    Bytes cut(scans.begin(), at);
    cut.insert(cut.end(), end.begin(), end.end());
    EXPECT_THAT(error_of([&] { decode_image(view(cut)); }), HasSubstr("its last scans are missing"));
  }
  EXPECT_GT(cuts, 3);
  EXPECT_EQ(decode_image(view(scans)).shape(), picture.shape());
}

TEST(Bmp, runs_that_end_before_the_last_pixel_are_an_error) {
  const auto file = [](const Bytes& runs) {
    Bytes bytes{'B', 'M'};
    const auto number = [&](uint32_t value, int size) {
      for (int i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    };
    const uint32_t start = 54 + 8;
    for (const uint32_t value : {start, 0u, start, 40u, 4u, 3u}) number(value, 4);
    for (const uint32_t value : {1u, 8u}) number(value, 2);
    for (const uint32_t value : {1u, 0u, 0u, 0u, 2u, 0u}) number(value, 4);
    for (const uint32_t value : {0u, 0xffffffu}) number(value, 4);
    bytes.insert(bytes.end(), runs.begin(), runs.end());
    return bytes;
  };
  const Bytes whole{4, 1, 0, 0, 4, 0, 0, 0, 4, 1, 0, 1}, short_row{4, 1, 0, 0, 4, 0, 0, 0, 3, 1, 0, 1}, one_row{4, 1, 0, 0, 0, 1};
  EXPECT_EQ(decode_image(view(file(whole))).shape()[1], 4);
  for (const Bytes& runs : {short_row, one_row})
    EXPECT_THAT(error_of([&] { decode_image(view(file(runs))); }), HasSubstr("its end mark comes before the last pixel"));
}

TEST(Pictures, files_are_read_by_path_and_other_formats_refused) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "picture.png").string();
  std::mt19937 random(8);
  PngFile file{.width = 4, .height = 5};
  file.fill(random);
  const Bytes bytes = file.bytes();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  expect_pixels(file, read_image(path), false);
  std::ofstream(path, std::ios::binary) << "GIF89a";
  EXPECT_THAT(error_of([&] { read_image(path); }), HasSubstr("picture.png: the file is none of JPEG, PNG, WebP, BMP and PNM"));
  std::filesystem::remove(path);
  EXPECT_THAT(error_of([&] { read_image(path); }), HasSubstr("picture.png"));
}

}  // namespace
}  // namespace minnow::vision
