// SPDX-License-Identifier: Apache-2.0
#include "vision/codecs/codec.h"

#include <cctype>

#include <minnow/vision/geometry.h>

#include "base/os.h"

namespace minnow::vision {
namespace {

struct Format {
  std::string_view suffixes;  // each with a space behind it
  Decoded (*decode)(std::span<const uint8_t>, const ReadRequest&);
  bool (*begins)(std::string_view file);
  Bytes (*encode)(const ImageView&, std::span<const int>, char kind);
  bool wide, alpha;  // what is written: u16; 4 channels
};

bool begins_pnm(std::string_view file) {
  return file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6' && std::isspace(static_cast<unsigned char>(file[2]));
}

const Format kFormats[] = {
#ifndef MINNOW_NO_CODECS
    {".jpeg .jpg .jpe ", decode_jpeg, [](std::string_view file) { return file.starts_with("\xff\xd8\xff"); },
     [](const ImageView& image, std::span<const int> options, char) { return encode_jpeg(image, options); }, false, true},
    {".png ", decode_png, [](std::string_view file) { return file.starts_with("\x89PNG\r\n\x1a\n"); },
     [](const ImageView& image, std::span<const int> options, char) { return encode_png(image, options); }, true, true},
    {".webp ", decode_webp,
     [](std::string_view file) { return file.size() >= 16 && file.starts_with("RIFF") && file.substr(8, 7) == "WEBPVP8"; },
     [](const ImageView& image, std::span<const int> options, char) { return encode_webp(image, options); }, false, true},
#endif
    {".bmp .dib ", decode_bmp, [](std::string_view file) { return file.starts_with("BM"); },
     [](const ImageView& image, std::span<const int>, char) { return encode_bmp(image); }, false, true},
    {".pbm .pgm .ppm .pnm .pxm ", decode_pnm, begins_pnm, encode_pnm, true, false},
};

#ifdef MINNOW_NO_CODECS
constexpr std::string_view kFiles = "BMP and PNM, which this build without codecs (MINNOW_CODECS) has";
constexpr std::string_view kSuffixes = ".bmp, .pbm, .pgm and .ppm in this build without codecs (MINNOW_CODECS)";
#else
constexpr std::string_view kFiles = "JPEG, PNG, WebP, BMP and PNM";
constexpr std::string_view kSuffixes = ".jpg, .png, .webp, .bmp, .pbm, .pgm and .ppm";
#endif

const Format* format_of(std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats)
    if (format.begins(file)) return &format;
  return nullptr;
}

/// The suffix of a path in small letters, ".png"; empty where there is none.
std::string suffix_of(const std::string& path) {
  const size_t dot = path.find_last_of("./");
  std::string suffix = dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot);
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return suffix;
}

const Format* format_of_suffix(const std::string& suffix) {
  if (suffix.size() < 2 || suffix.find(' ') != std::string::npos) return nullptr;
  for (const Format& format : kFormats)
    if (format.suffixes.find(suffix + ' ') != std::string_view::npos) return &format;
  return nullptr;
}

/// Turned and mirrored as EXIF's orientation says.
Tensor oriented(const Tensor& picture, int orientation) {
  const ImageView from(picture);
  const bool across = orientation >= 5;  // rows become columns
  Tensor result = across ? new_image(from.dtype(), from.width(), from.height(), from.channels())
                         : new_image(from.dtype(), from.height(), from.width(), from.channels());
  const MutableImageView to = writable(result);
  const size_t bytes = static_cast<size_t>(from.channels()) * size_of(from.dtype());
  const bool right_left = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;  // along the source's columns
  const bool bottom_up = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;   // along its rows
  for_rows(to.height(), to.width() * from.channels(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      std::byte* out = to.row<std::byte>(y);
      for (int64_t x = 0; x < to.width(); ++x, out += bytes) {
        int64_t row = across ? x : y, column = across ? y : x;
        if (right_left) column = from.width() - 1 - column;
        if (bottom_up) row = from.height() - 1 - row;
        std::memcpy(out, from.row<std::byte>(row) + static_cast<size_t>(column) * bytes, bytes);
      }
    }
  });
  return result;
}

}  // namespace

int ReadRequest::reduction() const {
  if (mode == ReadMode::unchanged) return 1;
  for (const int part : {2, 4, 8})
    if (static_cast<int>(mode) & (8 * part)) return part;
  return 1;
}

PictureType ReadRequest::wanted(const PictureType& file) const {
  constexpr ReadMode kAsItIs = ReadMode::color | ReadMode::any_color | ReadMode::any_depth;
  if (mode == ReadMode::unchanged || (static_cast<int>(mode) & static_cast<int>(kAsItIs)) == static_cast<int>(kAsItIs)) return file;
  const bool colors = has(ReadMode::color) || has(ReadMode::color_rgb) || (has(ReadMode::any_color) && file.channels > 1);
  return {colors ? 3 : 1, has(ReadMode::any_depth) ? file.dtype : DType::u8};
}

void ReadRequest::check_size(int64_t width, int64_t height) const {
  if (height <= 0 || width <= 0 || width > kMostPixels / height)
    throw InvalidModel("{}: the picture claims {} x {} pixels; at most {} are read", name, width, height, kMostPixels);
}

void ReadRequest::damaged(std::string_view format, std::string_view why) const {
  throw InvalidModel("{}: the {} file is damaged: {}", name, format, why);
}

int option(std::span<const int> options, WriteOption which, int otherwise, int least, int most) {
  int value = otherwise;
  for (size_t i = 0; i + 1 < options.size(); i += 2)
    if (options[i] == static_cast<int>(which)) value = options[i + 1];
  return std::clamp(value, least, most);
}

int exif_orientation(std::span<const uint8_t> tiff) {
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == 'I';
  const auto u16 = [&](size_t at) { return little ? tiff[at] | tiff[at + 1] << 8 : tiff[at] << 8 | tiff[at + 1]; };
  const auto u32 = [&](size_t at) {
    return little ? static_cast<uint32_t>(u16(at)) | static_cast<uint32_t>(u16(at + 2)) << 16
                  : static_cast<uint32_t>(u16(at)) << 16 | static_cast<uint32_t>(u16(at + 2));
  };
  const size_t directory = u32(4);
  if (directory > tiff.size() - 2) return 1;
  const size_t entries = static_cast<size_t>(u16(directory));
  for (size_t i = 0; i < entries && directory + 2 + 12 * (i + 1) <= tiff.size(); ++i) {
    const size_t at = directory + 2 + 12 * i;
    if (u16(at) != 0x0112) continue;
    const int value = u16(at + 8);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

Tensor decode_image(std::span<const std::byte> bytes, ReadMode mode, const std::string& name) try {
  const int flags = static_cast<int>(mode);
  if (flags < -1 || flags > 511 || (flags != -1 && (flags & 8) != 0) || (flags != -1 && (flags & 257) == 257))
    throw InvalidArgument("{}: the flags {} are not those of pictures (IMREAD_...)", name, flags);
  const Format* const format = format_of(bytes);
  if (!format) throw Unsupported("{}: the file is none of {}", name, kFiles);
  const ReadRequest request{mode, name};
  Decoded decoded = format->decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, request);
  if (const int part = request.reduction(); part > 1 && !decoded.is_reduced) {
    const Shape& shape = decoded.picture.shape();
    const Size size{static_cast<int>(shape[1]) / part, static_cast<int>(shape[0]) / part};
    if (size.width == 0 || size.height == 0)
      throw InvalidArgument("{}: a picture of {} x {} pixels has no part of 1/{}", name, shape[1], shape[0], part);
    decoded.picture = resize(decoded.picture, size, Interpolation::linear_exact);
  }
  if (decoded.orientation == 1 || mode == ReadMode::unchanged || request.has(ReadMode::ignore_orientation)) return decoded.picture;
  return oriented(decoded.picture, decoded.orientation);
} catch (...) {
  throw_as_error();
}

Tensor read_image(const std::string& path, ReadMode mode) try {
  return decode_image(os::MappedFile::open(path)->bytes(), mode, path);
} catch (...) {
  throw_as_error();
}

std::vector<std::byte> encode_image(const std::string& suffix, const ImageView& image, std::span<const int> options) try {
  const std::string small = suffix_of(suffix);
  const Format* const format = format_of_suffix(small);
  if (!format) throw Unsupported("imwrite: no format of pictures has the suffix \"{}\"; there are {}", suffix, kSuffixes);
  if (options.size() % 2 != 0) throw InvalidArgument("imwrite: each option has a value, these are {} numbers", options.size());
  check_not_empty("imwrite", image);
  if (image.channels() == 4 && format->alpha)
    ;
  else
    check_channels("imwrite", image, {1, 3});
  if (image.dtype() == DType::u8 || (image.dtype() == DType::u16 && format->wide))
    return format->encode(image, options, small[1] == 'p' ? small[2] : 0);
  Tensor bytes = new_image(DType::u8, image.height(), image.width(), image.channels());
  const MutableImageView to = writable(bytes);
  with_element("imwrite", image.dtype(), [&](auto element) {
    using T = decltype(element);
    for (int64_t y = 0; y < image.height(); ++y)
      for (int64_t x = 0; x < image.width() * image.channels(); ++x) to.row<uint8_t>(y)[x] = saturate<uint8_t>(image.row<T>(y)[x]);
  });
  return format->encode(bytes, options, small[1] == 'p' ? small[2] : 0);
} catch (...) {
  throw_as_error();
}

void write_image(const std::string& path, const ImageView& image, std::span<const int> options) try {
  const Bytes bytes = encode_image(path, image, options);
  os::write_file_atomically(path, [&](const os::ByteSink& sink) { sink(bytes); });
} catch (...) {
  throw_as_error();
}

bool have_image_reader(std::span<const std::byte> bytes) { return format_of(bytes) != nullptr; }
bool have_image_writer(const std::string& path) { return format_of_suffix(suffix_of(path)) != nullptr; }

}  // namespace minnow::vision
