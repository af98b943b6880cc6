// SPDX-License-Identifier: Apache-2.0
// Picture files.
#pragma once
#include <minnow/vision/image.h>

#include <span>
#include <string>

namespace minnow::vision {

enum class ReadMode {
  unchanged = -1,  // channels and depth as in the file (gray, blue-green-red, and with alpha; u8 or u16)
  grayscale = 0,   // [height, width], u8
  color = 1        // [height, width, 3], u8, turned as the file's EXIF data says
};

/// A JPEG or PNG file. Throws IoError where it cannot be read, InvalidModel where it is damaged or cut off, Unsupported for other formats.
MINNOW_API Tensor read_image(const std::string& path, ReadMode mode = ReadMode::color);
/// The same from memory; `name` is what errors call it.
MINNOW_API Tensor decode_image(std::span<const std::byte> bytes, ReadMode mode = ReadMode::color, const std::string& name = "image");

}  // namespace minnow::vision
