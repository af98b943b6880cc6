// SPDX-License-Identifier: Apache-2.0
// Picture files: JPEG, PNG, WebP, BMP and PNM (PBM, PGM, PPM).
#pragma once
#include <minnow/vision/image.h>

#include <span>
#include <string>
#include <vector>

namespace minnow::vision {

/// How a file becomes a picture. OpenCV's numbers; all but `unchanged` add up.
enum class ReadMode : int {
  unchanged = -1,            // channels and depth as in the file (gray, blue-green-red, and with alpha; u8 or u16)
  grayscale = 0,             // [height, width], u8
  color = 1,                 // [height, width, 3], u8, turned as the file's EXIF data says
  any_depth = 2,             // u16 where the file has more than 8 bits
  any_color = 4,             // gray or colour, as the file is
  reduced_grayscale_2 = 16,  // a half, a quarter or an eighth of the width and height
  reduced_color_2 = 17,
  reduced_grayscale_4 = 32,
  reduced_color_4 = 33,
  reduced_grayscale_8 = 64,
  reduced_color_8 = 65,
  ignore_orientation = 128,  // not turned
  color_rgb = 256,           // red, green, blue
};
constexpr ReadMode operator|(ReadMode a, ReadMode b) { return static_cast<ReadMode>(static_cast<int>(a) | static_cast<int>(b)); }

/// A picture file. Throws IoError where it cannot be read, InvalidModel where it is damaged or cut off, Unsupported
/// for other formats.
MINNOW_API Tensor read_image(const std::string& path, ReadMode mode = ReadMode::color);
/// The same from memory; `name` is what errors call it.
MINNOW_API Tensor decode_image(std::span<const std::byte> bytes, ReadMode mode = ReadMode::color, const std::string& name = "image");

/// Numbers of what may be chosen for a file that is written, each followed by its value; those of other formats mean nothing. OpenCV's.
enum class WriteOption : int {
  jpeg_quality = 1,  // 0 to 100; 95
  jpeg_progressive = 2,
  jpeg_optimize = 3,
  jpeg_restart_interval = 4,  // 0 to 65535
  jpeg_luma_quality = 5,
  jpeg_chroma_quality = 6,
  jpeg_sampling_factor = 7,  // 0x411111, 0x221111 (as without it), 0x211111, 0x121111 or 0x111111
  png_compression = 16,      // zlib's level, 0 to 9; 1
  png_strategy = 17,         // zlib's strategy, 0 to 4; 3, runs
  png_bilevel = 18,          // one bit for a pixel
  png_filter = 19,           // libpng's filters; 16, differences to the left
  pnm_binary = 32,           // 0: numbers as text
  webp_quality = 64,         // 1 to 100; more, or nothing: lossless
};

/// The bytes of a file of the format that a suffix (".png") stands for. Pictures have 1 or 3 channels, or for PNG, WebP and BMP 4 (JPEG
/// leaves alpha out); u8, for PNG and PNM also u16. Other dtypes are rounded to u8. Throws Unsupported for another format, and
/// InvalidArgument for a picture that it cannot hold.
MINNOW_API std::vector<std::byte> encode_image(const std::string& suffix, const ImageView& image, std::span<const int> options = {});
/// Writes the file whole: at a fault the path is as it was before. Throws IoError besides.
MINNOW_API void write_image(const std::string& path, const ImageView& image, std::span<const int> options = {});

/// Whether the bytes begin like a format that is read; whether a path's suffix is that of a format that is written.
MINNOW_API bool have_image_reader(std::span<const std::byte> bytes);
MINNOW_API bool have_image_writer(const std::string& path);

}  // namespace minnow::vision
