// SPDX-License-Identifier: Apache-2.0
// Pictures: reading files, resizing, colour. In the library minnow_vision, which a build with MINNOW_VISION has and the Python package
// contains.
//
// A picture is a tensor [height, width, channels], or [height, width] where there is one channel; colours come as blue, green, red, as
// OpenCV has them. Names, constants and, for u8, every pixel are OpenCV's.
#pragma once
#include <minnow/tensor.h>

#include <cstddef>
#include <span>
#include <string>

namespace minnow::vision {

enum class ReadMode {
  unchanged = -1,  // channels and depth as in the file (gray, blue-green-red, and with alpha; u8 or u16)
  grayscale = 0,   // [height, width], u8
  color = 1        // [height, width, 3], u8, turned as the file's EXIF data says
};

/// Most pixels that a picture may have; files that claim more are refused before memory is taken.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

/// A JPEG or PNG file. Throws IoError where it cannot be read, InvalidModel where it is damaged or cut off, Unsupported for other formats.
MINNOW_API Tensor read_image(const std::string& path, ReadMode mode = ReadMode::color);
/// The same from memory; `name` is what errors call it.
MINNOW_API Tensor decode_image(std::span<const std::byte> bytes, ReadMode mode = ReadMode::color, const std::string& name = "image");

enum class Interpolation { nearest = 0, linear = 1 };

/// u8, u16, i16, f32 or f64. Pixel centres lie at half coordinates; there is no smoothing where the picture becomes smaller (but where it
/// is halved in both directions, when `linear` averages four pixels). For u8 the weights of `linear` are integers of 11 bits. Throws
/// InvalidArgument for an empty size, Unsupported for other dtypes.
MINNOW_API Tensor resize(const TensorView& image, int64_t width, int64_t height, Interpolation interpolation = Interpolation::linear);

/// OpenCV's numbers.
enum class ColorCode {
  bgr_to_bgra = 0,  // rgb_to_rgba
  bgra_to_bgr = 1,  // rgba_to_rgb
  bgr_to_rgba = 2,  // rgb_to_bgra
  rgba_to_bgr = 3,  // bgra_to_rgb
  bgr_to_rgb = 4,   // rgb_to_bgr
  bgra_to_rgba = 5,
  bgr_to_gray = 6,
  rgb_to_gray = 7,
  gray_to_bgr = 8,
  gray_to_bgra = 9,
  bgra_to_gray = 10,
  rgba_to_gray = 11
};

/// u8, u16 or f32. Gray is 0.299 red + 0.587 green + 0.114 blue, of u8 and u16 in integers; a new alpha is opaque. Throws InvalidArgument
/// for a picture of other channels than the code takes.
MINNOW_API Tensor convert_color(const TensorView& image, ColorCode code);

}  // namespace minnow::vision
