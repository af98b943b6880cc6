// SPDX-License-Identifier: Apache-2.0
// Shared by the codecs.
#pragma once
#include <minnow/vision/codecs.h>

#include "vision/image.h"

namespace minnow::vision {

/// A picture's memory: `height` rows of `width` pixels of `channels` elements.
struct Picture {
  void* data;
  int64_t height, width, channels;
};

/// [height, width] or [height, width, channels]. Throws InvalidArgument for another rank. Not to be written through.
inline Picture picture_of(const TensorView& image, std::string_view function) {
  const Shape& shape = image.shape();
  if (shape.rank() != 2 && shape.rank() != 3)
    throw InvalidArgument("{}: a picture is [height, width] or [height, width, channels], this is {}{}", function, image.dtype(), shape);
  return {const_cast<void*>(image.data()), shape[0], shape[1], shape.rank() == 3 ? shape[2] : 1};
}

/// The size of a picture, from its file.
struct FileSize {
  int64_t height = 0, width = 0, channels = 0;
  bool wide = false;  // 16 bits
};

/// Throws InvalidModel where it claims more than kMostPixels, or none.
inline void check_size(const FileSize& size, const std::string& name) {
  if (size.height <= 0 || size.width <= 0 || size.width > kMostPixels / size.height)
    throw InvalidModel("{}: the picture claims {} x {} pixels; at most {} are read", name, size.width, size.height, kMostPixels);
}

inline Tensor tensor_of(const FileSize& size) {
  const DType dtype = size.wide ? DType::u16 : DType::u8;
  return Tensor(dtype, size.channels == 1 ? Shape{size.height, size.width} : Shape{size.height, size.width, size.channels});
}

Tensor decode_png(std::span<const std::byte> bytes, ReadMode mode, const std::string& name);

}  // namespace minnow::vision
