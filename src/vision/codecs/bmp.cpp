// SPDX-License-Identifier: Apache-2.0
// BMP: Windows bitmaps of 1, 4, 8, 15, 16, 24 and 32 bits a pixel, with run lengths too. Source: "Bitmap Storage", Windows GDI.
#include <array>
#include <bit>

#include "vision/codecs/codec.h"

namespace minnow::vision {
namespace {

enum Compression : uint32_t { kPlain = 0, kRuns8 = 1, kRuns4 = 2, kBitFields = 3 };

/// Numbers of a file, lowest byte first. Throws where it ends.
class File {
 public:
  File(std::span<const uint8_t> bytes, const ReadRequest& request) : bytes_(bytes), request_(request) {}
  std::span<const uint8_t> take(size_t count) {
    if (count > bytes_.size() - at_) request_.damaged("BMP", "it ends too early");
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  void go_to(size_t at) {
    if (at > bytes_.size()) request_.damaged("BMP", "its pixels lie beyond its end");
    at_ = at;
  }
  size_t at() const { return at_; }
  uint32_t number(size_t bytes) {
    uint32_t value = 0;
    size_t place = 0;
    for (const uint8_t byte : take(bytes)) value |= static_cast<uint32_t>(byte) << (8 * place++);
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  const ReadRequest& request_;
  size_t at_ = 0;
};

struct Header {
  int64_t width = 0, height = 0;
  bool bottom_up = true;
  uint32_t bits = 0, compression = kPlain;
  size_t pixels = 0;                                  // where they begin
  std::array<uint32_t, 4> masks{};                    // of blue, green, red, alpha
  std::array<std::array<uint8_t, 3>, 256> palette{};  // blue, green, red
  bool colors = true;
};

Header read_header(File& file, const ReadRequest& request) {
  Header header;
  file.go_to(10);
  header.pixels = file.number(4);
  const uint32_t size = file.number(4);
  const bool old = size == 12;
  if (!old && (size < 36 || size > 1000)) request.damaged("BMP", "its header has no known size");
  const size_t start = file.at() - 4;
  header.width = static_cast<int32_t>(old ? file.number(2) : file.number(4));
  header.height = old ? static_cast<int64_t>(file.number(2)) : static_cast<int64_t>(static_cast<int32_t>(file.number(4)));
  header.bottom_up = header.height > 0;
  header.height = std::abs(header.height);
  file.number(2);
  header.bits = file.number(2);
  uint32_t used = 0;
  if (!old) {
    header.compression = file.number(4);
    file.take(12);
    used = file.number(4);
  }
  request.check_size(header.width, header.height);
  const uint32_t bits = header.bits;
  const bool known = header.compression == kPlain       ? bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32
                     : header.compression == kBitFields ? bits == 16 || bits == 32
                     : header.compression == kRuns4     ? bits == 4
                                                        : header.compression == kRuns8 && bits == 8;
  if (!known) throw Unsupported("{}: BMP files of {} bits with compression {} are not read", request.name, bits, header.compression);
  if (header.compression == kBitFields) {
    file.go_to(start + 40);  // behind the first header's fields, or within a longer one
    for (const size_t c : {2, 1, 0}) header.masks[c] = file.number(4);
    if (size >= 56) header.masks[3] = file.number(4);
  } else if (bits == 16) {
    header.masks = {0x1f, 0x3e0, 0x7c00, 0};
  }
  file.go_to(start + size);
  if (bits <= 8) {
    if (used > 256) request.damaged("BMP", "its palette has more than 256 colours");
    const size_t count = used == 0 ? size_t{1} << bits : used;
    header.colors = false;
    for (size_t i = 0; i < count; ++i) {
      const std::span<const uint8_t> entry = file.take(old ? 3 : 4);
      header.palette[i] = {entry[0], entry[1], entry[2]};
      if (i < size_t{1} << bits) header.colors |= entry[0] != entry[1] || entry[0] != entry[2];
    }
  }
  return header;
}

/// The indices of a picture with run lengths; pixels that are left out have index 0.
std::vector<uint8_t> read_runs(File& file, const Header& header, const ReadRequest& request) {
  std::vector<uint8_t> indices(static_cast<size_t>(header.width * header.height));
  int64_t x = 0, y = 0;
  const bool halves = header.bits == 4;
  const auto put = [&](uint8_t index) {
    if (x >= header.width || y >= header.height) request.damaged("BMP", "a run goes beyond its row");
    indices[static_cast<size_t>(y * header.width + x++)] = index;
  };
  while (y < header.height) {
    const uint32_t count = file.number(1), value = file.number(1);
    if (count > 0) {
      for (uint32_t i = 0; i < count; ++i) put(static_cast<uint8_t>(!halves ? value : i % 2 ? value & 15 : value >> 4));
    } else if (value == 0) {
      x = 0, ++y;
    } else if (value == 1) {
      // Some writers leave out the end of the last row.
      if (y + 1 < header.height || x < header.width) request.damaged("BMP", "its end mark comes before the last pixel");
      break;
    } else if (value == 2) {
      x += file.number(1);
      y += file.number(1);
    } else {
      const size_t bytes = halves ? (value + 1) / 2 : value;
      const std::span<const uint8_t> literal = file.take(bytes + bytes % 2);
      for (uint32_t i = 0; i < value; ++i)
        put(static_cast<uint8_t>(!halves ? literal[i] : i % 2 ? literal[i / 2] & 15 : literal[i / 2] >> 4));
    }
  }
  return indices;
}

}  // namespace

Decoded decode_bmp(std::span<const uint8_t> bytes, const ReadRequest& request) {
  File file(bytes, request);
  const Header header = read_header(file, request);
  const bool has_alpha = header.bits == 32 && header.compression == kBitFields;
  const int64_t stored = !header.colors ? 1 : has_alpha ? 4 : 3;
  const PictureType wanted = request.wanted({stored, DType::u8});
  file.go_to(header.pixels);
  const bool runs = header.compression == kRuns8 || header.compression == kRuns4;
  const size_t pitch = static_cast<size_t>((header.width * header.bits + 31) / 32 * 4);
  // All rows are there before memory is taken for the picture.
  const std::span<const uint8_t> rows = runs ? std::span<const uint8_t>() : file.take(pitch * static_cast<size_t>(header.height));
  std::vector<uint8_t> indices;
  if (runs) indices = read_runs(file, header, request);

  // A value of `mask`'s bits as a byte: masks of fewer than eight bits leave the lower ones 0.
  const auto field = [](uint32_t value, uint32_t mask) -> uint8_t {
    if (!mask) return 255;
    const int low = std::countr_zero(mask), count = std::popcount(mask);
    const uint32_t part = (value & mask) >> low;
    return static_cast<uint8_t>(count <= 8 ? part << (8 - count) : part >> (count - 8));
  };
  Tensor picture = new_image(DType::u8, header.height, header.width, wanted.channels);
  const MutableImageView to = writable(picture);
  for (int64_t y = 0; y < header.height; ++y) {
    const uint8_t* const row = runs ? &indices[static_cast<size_t>(y * header.width)] : &rows[static_cast<size_t>(y) * pitch];
    uint8_t* out = to.row<uint8_t>(header.bottom_up ? header.height - 1 - y : y);
    if (header.bits == 24 && wanted.channels == 3 && !request.rgb()) {
      std::memcpy(out, row, static_cast<size_t>(header.width * 3));
      continue;
    }
    if (header.bits == 8 && !header.colors && wanted.channels == 1) {
      for (int64_t x = 0; x < header.width; ++x) out[x] = header.palette[row[x]][0];
      continue;
    }
    for (int64_t x = 0; x < header.width; ++x) {
      std::array<uint8_t, 4> pixel{0, 0, 0, 255};  // blue, green, red, alpha
      if (header.bits <= 8) {
        const size_t per_byte = 8 / header.bits, place = static_cast<size_t>(x) % per_byte;
        const uint32_t index =
            runs ? row[x] : row[static_cast<size_t>(x) / per_byte] >> (8 - header.bits * (place + 1)) & ((1u << header.bits) - 1);
        std::copy_n(header.palette[index].begin(), 3, pixel.begin());
      } else if (header.masks[0] | header.masks[1] | header.masks[2]) {
        uint32_t value = 0;
        for (uint32_t i = 0; i < header.bits / 8; ++i) value |= static_cast<uint32_t>(row[x * (header.bits / 8) + i]) << (8 * i);
        for (size_t c = 0; c < 4; ++c) pixel[c] = field(value, header.masks[c]);
      } else {
        std::copy_n(row + x * (header.bits / 8), header.bits / 8, pixel.begin());
      }
      if (wanted.channels == 1) {
        // With bit fields of 32 bits OpenCV leaves out the fraction, else it rounds.
        *out++ = has_alpha ? static_cast<uint8_t>(0.299f * pixel[2] + 0.587f * pixel[1] + 0.114f * pixel[0])
                           : static_cast<uint8_t>(gray_of(pixel[0], pixel[1], pixel[2]));
        continue;
      }
      if (request.rgb()) std::swap(pixel[0], pixel[2]);
      out = std::copy_n(pixel.begin(), wanted.channels, out);
    }
  }
  return {std::move(picture)};
}

Bytes encode_bmp(const ImageView& image) {
  const size_t channels = static_cast<size_t>(image.channels());
  const size_t pitch = (static_cast<size_t>(image.width()) * channels + 3) / 4 * 4;
  const size_t header = channels == 4 ? 108 : 40, palette = channels == 1 ? 1024 : 0;
  const size_t start = 14 + header + palette;
  Bytes file;
  file.reserve(start + pitch * static_cast<size_t>(image.height()));
  const auto number = [&](size_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<std::byte>(i < 8 ? value >> (8 * i) : 0));
  };
  number('B' | 'M' << 8, 2);
  number(start + pitch * static_cast<size_t>(image.height()), 4);
  number(0, 4);
  number(start, 4);
  number(header, 4);
  number(static_cast<size_t>(image.width()), 4);
  number(static_cast<size_t>(image.height()), 4);
  number(1, 2);
  number(8 * channels, 2);
  number(channels == 4 ? kBitFields : kPlain, 4);
  number(0, 20 - 4);
  number(0, 4);
  if (channels == 4) {
    for (const size_t mask : {0x00ff0000u, 0x0000ff00u, 0x000000ffu, 0xff000000u}) number(mask, 4);
    number(0x73524742, 4);  // the colours are sRGB's
    number(0, 12);
    while (file.size() < 14 + header) number(0, 4);
  }
  for (size_t i = 0; i < palette / 4; ++i) number(i | i << 8 | i << 16, 4);
  for (int64_t y = image.height() - 1; y >= 0; --y) {
    const auto* const row = image.row<std::byte>(y);
    file.insert(file.end(), row, row + image.row_bytes());
    file.resize(file.size() + pitch - static_cast<size_t>(image.row_bytes()));
  }
  return file;
}

}  // namespace minnow::vision
