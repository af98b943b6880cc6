// SPDX-License-Identifier: Apache-2.0
// PNG (ISO/IEC 15948): chunks, filters and interlacing here, zlib inflates. libpng is not used because Debian's archive of it cannot be
// linked into a shared object.
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "vision/picture_file.h"

namespace minnow::vision {
namespace {

enum ColorType { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

struct Header {
  int64_t width = 0, height = 0;
  int depth = 0, type = 0;
  bool interlaced = false;
  int samples() const { return type == kRgb ? 3 : type == kRgba ? 4 : type == kGrayAlpha ? 2 : 1; }
  /// Bytes of a row of `width` pixels, and of the pixel to the left that filters look at.
  size_t row_bytes(int64_t width_of_row) const { return static_cast<size_t>((width_of_row * samples() * depth + 7) / 8); }
  size_t pixel_bytes() const { return static_cast<size_t>(std::max(1, samples() * depth / 8)); }
};

uint32_t u32(const uint8_t* at) { return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3]; }

/// Inflates the chunks IDAT, which may be cut anywhere.
class Inflater {
 public:
  explicit Inflater(const std::string& name) : name_(name) {
    if (inflateInit(&stream_) != Z_OK) throw OutOfMemory("{}: memory for reading it cannot be had", name);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  void add(std::span<const uint8_t> chunk) { chunks_.push_back(chunk); }
  /// Exactly `count` bytes. Throws InvalidModel where there are fewer.
  void read(uint8_t* out, size_t count) {
    stream_.next_out = out;
    while (count > 0) {
      if (stream_.avail_in == 0) {
        if (next_ == chunks_.size()) throw InvalidModel("{}: the PNG file is damaged: there are fewer rows than it claims", name_);
        stream_.next_in = const_cast<uint8_t*>(chunks_[next_].data());
        stream_.avail_in = static_cast<unsigned>(chunks_[next_++].size());
      }
      stream_.avail_out = static_cast<unsigned>(std::min<size_t>(count, 1u << 30));
      const unsigned before = stream_.avail_out;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      count -= before - stream_.avail_out;
      if (status == Z_STREAM_END && count > 0)
        throw InvalidModel("{}: the PNG file is damaged: there are fewer rows than it claims", name_);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        throw InvalidModel("{}: the PNG file is damaged: its compressed data is wrong", name_);
    }
  }

 private:
  const std::string& name_;
  z_stream stream_{};
  std::vector<std::span<const uint8_t>> chunks_;
  size_t next_ = 0;
};

void unfilter(int filter, uint8_t* row, const uint8_t* above, size_t bytes, size_t pixel, const std::string& name) {
  if (filter < 0 || filter > 4) throw InvalidModel("{}: the PNG file is damaged: a row has the filter {}", name, filter);
  for (size_t i = 0; i < bytes; ++i) {
    const int left = i >= pixel ? row[i - pixel] : 0, up = above[i], corner = i >= pixel ? above[i - pixel] : 0;
    int predicted = 0;
    if (filter == 1) predicted = left;
    if (filter == 2) predicted = up;
    if (filter == 3) predicted = (left + up) / 2;
    if (filter == 4) {
      const int p = left + up - corner, a = std::abs(p - left), b = std::abs(p - up), c = std::abs(p - corner);
      predicted = a <= b && a <= c ? left : b <= c ? up : corner;
    }
    row[i] = static_cast<uint8_t>(row[i] + predicted);
  }
}

struct Palette {
  std::array<std::array<uint8_t, 4>, 256> colors{};  // red, green, blue, alpha
  size_t size = 0;
  bool alpha = false;
};

/// One sample of a row, of the file's depth.
int sample(const uint8_t* row, int64_t index, int depth) {
  if (depth == 8) return row[index];
  if (depth == 16) return row[2 * index] << 8 | row[2 * index + 1];
  const int64_t bit = index * depth;
  return (row[bit / 8] >> (8 - depth - static_cast<int>(bit % 8))) & ((1 << depth) - 1);
}

/// Writes pixels as blue, green, red, alpha, in the depth of the result.
class Writer {
 public:
  Writer(const Header& header, const Palette& palette, const std::array<int, 3>& clear, bool has_clear, const FileSize& size, void* out)
      : header_(header), palette_(palette), clear_(clear), has_clear_(has_clear), size_(size), out_(out) {}

  /// Pixels of a row, at x = first, first + step ...
  bool write(const uint8_t* row, int64_t count, int64_t y, int64_t first, int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      const int depth = header_.depth;
      const int most = depth == 16 ? 65535 : 255;
      int red, green, blue, alpha = most;
      if (header_.type == kPalette) {
        const size_t at = static_cast<size_t>(sample(row, i, depth));
        if (at >= palette_.size) return false;
        const auto& color = palette_.colors[at];
        red = color[0], green = color[1], blue = color[2], alpha = color[3];
      } else {
        const int samples = header_.samples();
        const int a = sample(row, i * samples, depth);
        const int b = samples >= 3 ? sample(row, i * samples + 1, depth) : a, c = samples >= 3 ? sample(row, i * samples + 2, depth) : a;
        if (samples == 2 || samples == 4) alpha = sample(row, i * samples + samples - 1, depth);
        if (has_clear_ && a == clear_[0] && b == clear_[samples >= 3 ? 1 : 0] && c == clear_[samples >= 3 ? 2 : 0]) alpha = 0;
        const int widen = depth < 8 ? 255 / ((1 << depth) - 1) : 1;
        red = a * widen, green = b * widen, blue = c * widen;
      }
      const bool colors = header_.type != kGray && header_.type != kGrayAlpha;
      // As libpng does it: 16 bits are rounded, 8 are not.
      if (size_.channels == 1 && colors && !(red == green && green == blue))
        red = static_cast<int>((int64_t{red} * 9797 + int64_t{green} * 19234 + int64_t{blue} * 3737 + (depth == 16 ? 1 << 14 : 0)) >> 15);
      if (depth == 16 && !size_.wide) red >>= 8, green >>= 8, blue >>= 8, alpha >>= 8;
      const size_t place = static_cast<size_t>((y * size_.width + first + i * step) * size_.channels);
      if (size_.channels == 1) {
        put(place, red);
      } else {
        put(place, blue), put(place + 1, green), put(place + 2, red);
        if (size_.channels == 4) put(place + 3, alpha);
      }
    }
    return true;
  }

 private:
  void put(size_t at, int value) {
    if (size_.wide)
      static_cast<uint16_t*>(out_)[at] = static_cast<uint16_t>(value);
    else
      static_cast<uint8_t*>(out_)[at] = static_cast<uint8_t>(value);
  }
  const Header& header_;
  const Palette& palette_;
  const std::array<int, 3>& clear_;
  bool has_clear_;
  const FileSize& size_;
  void* out_;
};

bool depth_fits(const Header& header) {
  switch (header.type) {
    case kGray:
      return header.depth == 1 || header.depth == 2 || header.depth == 4 || header.depth == 8 || header.depth == 16;
    case kPalette:
      return header.depth == 1 || header.depth == 2 || header.depth == 4 || header.depth == 8;
    case kRgb:
    case kGrayAlpha:
    case kRgba:
      return header.depth == 8 || header.depth == 16;
    default:
      return false;
  }
}

}  // namespace

Tensor decode_png(std::span<const std::byte> bytes, ReadMode mode, const std::string& name) {
  const auto damaged = [&](const char* what) { return InvalidModel("{}: the PNG file is damaged: {}", name, what); };
  const uint8_t* data = reinterpret_cast<const uint8_t*>(bytes.data());
  Header header;
  Palette palette;
  std::array<int, 3> clear{};
  bool has_clear = false, ended = false;
  Inflater inflater(name);
  for (size_t at = 8; !ended;) {
    if (bytes.size() - at < 12) throw damaged("it ends too early");
    const size_t size = u32(data + at);
    const uint8_t* type = data + at + 4;
    const uint8_t* body = type + 4;
    if (size > bytes.size() - at - 12) throw damaged("it ends too early");
    const auto is = [&](const char* wanted) { return std::memcmp(type, wanted, 4) == 0; };
    const bool needed = !(type[0] & 0x20);
    if (needed && crc32(crc32(0, nullptr, 0), type, static_cast<unsigned>(size + 4)) != u32(body + size))
      throw damaged("a checksum does not match");
    if (at == 8 && !(is("IHDR") && size == 13)) throw damaged("it does not begin with its header");
    if (is("IHDR")) {
      if (at != 8) throw damaged("it has two headers");
      header.width = u32(body), header.height = u32(body + 4);
      header.depth = body[8], header.type = body[9], header.interlaced = body[12] == 1;
      check_size({header.height, header.width, 1, false}, name);
      if (!depth_fits(header) || body[10] != 0 || body[11] != 0 || body[12] > 1) throw damaged("its header has numbers that mean nothing");
    } else if (is("PLTE")) {
      if (size % 3 != 0 || size > 768 || size == 0) throw damaged("its palette has a wrong size");
      palette.size = size / 3;
      for (size_t i = 0; i < palette.size; ++i) palette.colors[i] = {body[3 * i], body[3 * i + 1], body[3 * i + 2], 255};
    } else if (is("tRNS")) {
      if (header.type == kPalette) {
        for (size_t i = 0; i < std::min(size, palette.size); ++i) palette.colors[i][3] = body[i];
        palette.alpha = true;
      } else if ((header.type == kGray && size == 2) || (header.type == kRgb && size == 6)) {
        for (size_t i = 0; i < size / 2; ++i) clear[i] = body[2 * i] << 8 | body[2 * i + 1];
        has_clear = true;
      }
    } else if (is("IDAT")) {
      inflater.add({body, size});
    } else if (is("IEND")) {
      ended = true;
    } else if (needed) {
      throw Unsupported("{}: the PNG file has a chunk of a kind that is not known", name);
    }
    at += size + 12;
  }
  if (header.type == kPalette && palette.size == 0) throw damaged("it has no palette");

  const bool whole = mode == ReadMode::unchanged;
  const bool alpha = whole && (header.type == kGrayAlpha || header.type == kRgba || palette.alpha || (has_clear && header.type == kRgb));
  const bool gray_file = header.type == kGray || header.type == kGrayAlpha;
  const bool gray = mode == ReadMode::grayscale || (whole && gray_file && !alpha);
  const FileSize size{header.height, header.width, gray ? 1 : alpha ? 4 : 3, whole && header.depth == 16};
  // The first row is had before the memory for all of them.
  const size_t longest = header.row_bytes(header.width) + 1;
  std::vector<uint8_t> row(longest), above(longest);
  Tensor tensor;
  // The seven passes of an interlaced picture, or the one of another: first column and row, and steps.
  struct Pass {
    int64_t x, y, dx, dy;
  };
  constexpr Pass kPasses[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  constexpr Pass kAll[] = {{0, 0, 1, 1}};
  for (const Pass& pass : header.interlaced ? std::span<const Pass>(kPasses) : std::span<const Pass>(kAll)) {
    const int64_t columns = (header.width - pass.x + pass.dx - 1) / pass.dx, rows = (header.height - pass.y + pass.dy - 1) / pass.dy;
    if (columns <= 0 || rows <= 0) continue;
    const size_t bytes_of_row = header.row_bytes(columns);
    std::fill(above.begin(), above.end(), 0);
    for (int64_t i = 0; i < rows; ++i) {
      inflater.read(row.data(), bytes_of_row + 1);
      unfilter(row[0], row.data() + 1, above.data() + 1, bytes_of_row, header.pixel_bytes(), name);
      if (!tensor) tensor = tensor_of(size);
      Writer writer(header, palette, clear, has_clear, size, tensor.writable().data());
      if (!writer.write(row.data() + 1, columns, pass.y + i * pass.dy, pass.x, pass.dx))
        throw damaged("a pixel has a colour beyond the palette");
      std::swap(row, above);
    }
  }
  return tensor;
}

}  // namespace minnow::vision
