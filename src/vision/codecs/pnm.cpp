// SPDX-License-Identifier: Apache-2.0
// PBM, PGM and PPM, as text and binary. Source: the Netpbm manual.
#include "vision/codecs/codec.h"

namespace minnow::vision {
namespace {

class Text {
 public:
  Text(std::span<const uint8_t> bytes, const ReadRequest& request) : bytes_(bytes), request_(request) {}
  /// The next number, behind spaces and comments.
  uint32_t number() {
    int c = next();
    while (c == '#' || is_space(c)) {
      if (c == '#')
        while (c != '\n' && c != '\r') c = next();
      c = next();
    }
    if (!is_digit(c)) request_.damaged("PNM", "there is no number where one should be");
    uint64_t value = 0;
    for (; is_digit(c); c = at_ < bytes_.size() ? bytes_[at_++] : ' ') {
      value = value * 10 + static_cast<uint64_t>(c - '0');
      if (value > 0x7fffffff) request_.damaged("PNM", "a number is beyond 31 bits");
    }
    return static_cast<uint32_t>(value);  // and one character behind it
  }
  /// The next bit of a PBM file, whose bits need no spaces between.
  uint32_t bit() {
    int c = next();
    while (c == '#' || is_space(c)) {
      if (c == '#')
        while (c != '\n' && c != '\r') c = next();
      c = next();
    }
    if (c != '0' && c != '1') request_.damaged("PNM", "there is no bit where one should be");
    return static_cast<uint32_t>(c - '0');
  }
  std::span<const uint8_t> rest() const { return bytes_.subspan(at_); }
  void skip(size_t count) { at_ += count; }

 private:
  static bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool is_digit(int c) { return c >= '0' && c <= '9'; }
  int next() {
    if (at_ >= bytes_.size()) request_.damaged("PNM", "it ends too early");
    return bytes_[at_++];
  }
  std::span<const uint8_t> bytes_;
  const ReadRequest& request_;
  size_t at_ = 0;
};

}  // namespace

Decoded decode_pnm(std::span<const uint8_t> bytes, const ReadRequest& request) {
  Text text(bytes, request);
  text.skip(2);
  const int kind = bytes[1] - '0';
  const bool binary = kind > 3, bits = kind == 1 || kind == 4;
  const int64_t channels = kind == 3 || kind == 6 ? 3 : 1;
  const int64_t width = text.number(), height = text.number();
  request.check_size(width, height);
  const uint32_t most = bits ? 1 : text.number();
  if (most == 0 || most > 65535) request.damaged("PNM", "its largest value is not 1 to 65535");
  const DType dtype = most > 255 ? DType::u16 : DType::u8;
  const PictureType wanted = request.wanted({channels, dtype});
  const size_t element = size_of(dtype);
  const size_t pitch = bits ? static_cast<size_t>((width + 7) / 8) : static_cast<size_t>(width * channels) * element;
  // All of it is there before memory is taken: each value of a text has a character at least.
  const size_t least = binary ? pitch * static_cast<size_t>(height) : static_cast<size_t>(width * channels * height);
  if (text.rest().size() < least) request.damaged("PNM", "it ends too early");
  Tensor picture = new_image(wanted.dtype, height, width, wanted.channels);
  const MutableImageView to = writable(picture);
  std::vector<uint32_t> values(static_cast<size_t>(width * channels));
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* const row = text.rest().data();
    if (binary && !bits && dtype == DType::u8 && wanted.channels == channels) {  // the usual ones
      uint8_t* const out = to.row<uint8_t>(y);
      if (channels == 1 || request.rgb())
        std::memcpy(out, row, pitch);
      else
        for (size_t i = 0; i < pitch; i += 3) out[i] = row[i + 2], out[i + 1] = row[i + 1], out[i + 2] = row[i];
      text.skip(pitch);
      continue;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t& value = values[i];
      if (bits)
        value = (binary ? row[i / 8] >> (7 - i % 8) & 1u : text.bit()) ? 0 : 255;
      else if (!binary)
        value = dtype == DType::u8 ? std::min(text.number(), most) * 255 / most : std::min(text.number(), most);
      else
        value = dtype == DType::u8 ? row[i] : static_cast<uint32_t>(row[2 * i] << 8 | row[2 * i + 1]);
      if (wanted.dtype == DType::u8 && dtype == DType::u16) value >>= 8;
    }
    if (binary) text.skip(pitch);
    const auto store = [&](auto* out) {
      using T = std::remove_pointer_t<decltype(out)>;
      for (int64_t x = 0; x < width; ++x) {
        const uint32_t* const v = &values[static_cast<size_t>(x * channels)];
        if (wanted.channels == channels && channels == 1) {
          *out++ = static_cast<T>(v[0]);
        } else if (wanted.channels == 1) {
          *out++ = static_cast<T>(gray_of(v[2], v[1], v[0]));
        } else {
          const bool swapped = channels == 3 && !request.rgb();
          *out++ = static_cast<T>(v[swapped ? 2 : 0]);
          *out++ = static_cast<T>(v[channels == 3 ? 1 : 0]);
          *out++ = static_cast<T>(v[channels == 3 ? (swapped ? 0 : 2) : 0]);
        }
      }
    };
    if (wanted.dtype == DType::u8)
      store(to.row<uint8_t>(y));
    else
      store(to.row<uint16_t>(y));
  }
  return {std::move(picture)};
}

Bytes encode_pnm(const ImageView& image, std::span<const int> options, char kind) {
  const bool binary = option(options, WriteOption::pnm_binary, 1, 0, 1) != 0;
  const bool bits = kind == 'b', wide = image.dtype() == DType::u16;
  const int64_t channels = image.channels();
  if (channels == 3 && (bits || kind == 'g'))
    throw InvalidArgument("imwrite: a picture of 3 channels is no .p{}m file; there is .ppm", kind);
  if (bits && wide) throw InvalidArgument("imwrite: a picture of u16 is no .pbm file");
  const bool triple = channels == 3 || kind == 'p';
  std::string head = format("P{}\n{} {}\n", (bits ? 1 : triple ? 3 : 2) + (binary ? 3 : 0), image.width(), image.height());
  if (!bits) head += format("{}\n", wide ? 65535 : 255);
  Bytes file;
  const auto put = [&](uint32_t byte) { file.push_back(static_cast<std::byte>(byte)); };
  const auto text = [&](std::string_view characters) {
    for (const char c : characters) put(static_cast<uint8_t>(c));
  };
  text(head);
  for (int64_t y = 0; y < image.height(); ++y) {
    const auto at = [&](int64_t i) -> uint32_t { return wide ? image.row<uint16_t>(y)[i] : image.row<uint8_t>(y)[i]; };
    if (binary && !bits && !wide) {  // the usual ones
      const size_t start = file.size();
      const int64_t out_channels = triple ? 3 : 1;
      file.resize(start + static_cast<size_t>(image.width() * out_channels));
      auto* to = reinterpret_cast<uint8_t*>(file.data() + start);
      const auto* const row = image.row<uint8_t>(y);
      for (int64_t x = 0; x < image.width(); ++x)
        for (int64_t c = 0; c < out_channels; ++c) *to++ = row[channels == 3 ? 3 * x + 2 - c : x];
      continue;
    }
    if (bits && binary) {
      uint32_t byte = 0;
      for (int64_t x = 0; x < image.width(); ++x) {
        byte = byte << 1 | (at(x) == 0);
        if (x % 8 == 7 || x + 1 == image.width()) {
          put(byte << (7 - x % 8));
          byte = 0;
        }
      }
      continue;
    }
    for (int64_t x = 0; x < image.width(); ++x)
      for (int64_t c = 0; c < (triple ? 3 : 1); ++c) {
        const uint32_t value = at(channels == 3 ? 3 * x + 2 - c : x);
        if (!binary) {
          text(format("{} ", bits ? (value == 0 ? 1 : 0) : value));
        } else {
          if (wide) put(value >> 8);
          put(value & 255);
        }
      }
    if (!binary) put('\n');
  }
  return file;
}

}  // namespace minnow::vision
