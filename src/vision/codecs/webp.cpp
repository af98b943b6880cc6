// SPDX-License-Identifier: Apache-2.0
// WebP, through libwebp. The first picture of a moving one is not taken apart: such files are refused.
#include <webp/decode.h>
#include <webp/encode.h>

#include "vision/codecs/codec.h"

namespace minnow::vision {

Decoded decode_webp(std::span<const uint8_t> file, const ReadRequest& request) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) request.damaged("WebP", "its header says nothing");
  if (features.has_animation) throw Unsupported("{}: moving pictures (WebP) are not read", request.name);
  request.check_size(features.width, features.height);
  const PictureType wanted = request.wanted({features.has_alpha ? 4 : 3, DType::u8});
  const int64_t channels = features.has_alpha ? 4 : 3;
  Tensor picture = new_image(DType::u8, features.height, features.width, channels);
  const MutableImageView view = writable(picture);
  const auto decode = features.has_alpha ? request.rgb() ? WebPDecodeRGBAInto : WebPDecodeBGRAInto
                      : request.rgb()    ? WebPDecodeRGBInto
                                         : WebPDecodeBGRInto;
  if (!decode(file.data(), file.size(), view.row<uint8_t>(0), static_cast<size_t>(view.row_bytes() * view.height()),
              static_cast<int>(view.stride())))
    request.damaged("WebP", "its data end early or mean nothing");
  if (wanted.channels == channels) return {std::move(picture)};
  Tensor result = new_image(DType::u8, features.height, features.width, wanted.channels);
  const MutableImageView to = writable(result);
  for (int64_t y = 0; y < to.height(); ++y) {
    const uint8_t* in = view.row<uint8_t>(y);
    uint8_t* out = to.row<uint8_t>(y);
    for (int64_t x = 0; x < to.width(); ++x, in += channels) {
      if (wanted.channels == 1)
        *out++ = static_cast<uint8_t>((in[0] * 3735 + in[1] * 19235 + in[2] * 9798 + (1 << 14)) >> 15);
      else
        out = std::copy_n(in, 3, out);
    }
  }
  return {std::move(result)};
}

Bytes encode_webp(const ImageView& image, std::span<const int> options) {
  if (image.width() > WEBP_MAX_DIMENSION || image.height() > WEBP_MAX_DIMENSION)
    throw InvalidArgument("imwrite: WebP pictures have at most {} pixels a side, not {} x {}", WEBP_MAX_DIMENSION, image.width(),
                          image.height());
  const int quality = option(options, WriteOption::webp_quality, 101, 1, 101);
  Tensor colors;
  ImageView from = image;
  if (image.channels() == 1) {
    colors = new_image(DType::u8, image.height(), image.width(), 3);
    const MutableImageView to = writable(colors);
    for (int64_t y = 0; y < image.height(); ++y)
      for (int64_t x = 0; x < image.width(); ++x) std::fill_n(to.row<uint8_t>(y) + 3 * x, 3, image.row<uint8_t>(y)[x]);
    from = to;
  }
  uint8_t* data = nullptr;
  const uint8_t* const pixels = from.row<uint8_t>(0);
  const int width = static_cast<int>(from.width()), height = static_cast<int>(from.height()), stride = static_cast<int>(from.stride());
  const bool alpha = from.channels() == 4;
  const size_t size = quality > 100
                          ? (alpha ? WebPEncodeLosslessBGRA : WebPEncodeLosslessBGR)(pixels, width, height, stride, &data)
                          : (alpha ? WebPEncodeBGRA : WebPEncodeBGR)(pixels, width, height, stride, static_cast<float>(quality), &data);
  if (size == 0) throw std::bad_alloc();  // nothing else is left to fail
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  Bytes result;
  try {
    result.assign(bytes, bytes + size);
  } catch (...) {
    WebPFree(data);
    throw;
  }
  WebPFree(data);
  return result;
}

}  // namespace minnow::vision
