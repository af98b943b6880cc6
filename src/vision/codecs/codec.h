// SPDX-License-Identifier: Apache-2.0
// Shared by the codecs: one file each.
#pragma once
#include <minnow/vision/codecs.h>

#include <string>
#include <vector>

#include "vision/image.h"

namespace minnow::vision {

using Bytes = std::vector<std::byte>;

/// The channels and the dtype of a picture, in its file or as the caller wants it.
struct PictureType {
  int64_t channels = 0;
  DType dtype = DType::u8;
};

struct ReadRequest {
  ReadMode mode;
  std::string name;  // for errors

  bool has(ReadMode flag) const { return (static_cast<int>(mode) & static_cast<int>(flag)) != 0; }
  bool rgb() const { return mode != ReadMode::unchanged && has(ReadMode::color_rgb); }
  /// 1, 2, 4 or 8: that part of the width and height is wanted.
  int reduction() const;
  PictureType wanted(const PictureType& file) const;
  /// Throws InvalidModel where a file claims more than kMostPixels, or none.
  void check_size(int64_t width, int64_t height) const;
  [[noreturn]] void damaged(std::string_view format, std::string_view why) const;
};

struct Decoded {
  Tensor picture;
  int orientation = 1;
  bool is_reduced = false;
};

/// The value of an option in pairs of numbers and values.
int option(std::span<const int> options, WriteOption which, int otherwise, int least, int most);

/// The orientation (1 to 8) of EXIF data, which begin with a TIFF header; 1 where they have none. CIPA DC-008, tag 0x0112.
int exif_orientation(std::span<const uint8_t> tiff);

/// Brightness of a colour, in the fixed point of OpenCV's readers (14 bits).
inline uint32_t gray_of(uint32_t blue, uint32_t green, uint32_t red) { return (blue * 1868 + green * 9617 + red * 4899 + (1 << 13)) >> 14; }

Decoded decode_jpeg(std::span<const uint8_t> file, const ReadRequest& request);
Decoded decode_png(std::span<const uint8_t> file, const ReadRequest& request);
Decoded decode_webp(std::span<const uint8_t> file, const ReadRequest& request);
Decoded decode_bmp(std::span<const uint8_t> file, const ReadRequest& request);
Decoded decode_pnm(std::span<const uint8_t> file, const ReadRequest& request);

// Pictures of dtypes and channels that the format has (codecs.cpp). `kind`: the letter after 'P' of a suffix ".pgm": b, g, p or n.
Bytes encode_jpeg(const ImageView& image, std::span<const int> options);
Bytes encode_png(const ImageView& image, std::span<const int> options);
Bytes encode_webp(const ImageView& image, std::span<const int> options);
Bytes encode_bmp(const ImageView& image);
Bytes encode_pnm(const ImageView& image, std::span<const int> options, char kind);

}  // namespace minnow::vision
