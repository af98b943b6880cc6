// SPDX-License-Identifier: Apache-2.0
#include "vision/picture_files.h"

#include <cmath>
#include <cstdlib>
#include <numbers>

namespace minnow::test {
namespace {

void big_endian(Bytes& to, uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

uint32_t crc32(const Bytes& data, size_t from) {
  uint32_t crc = ~0u;
  for (size_t i = from; i < data.size(); ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

void chunk(Bytes& to, const char* kind, const Bytes& data) {
  big_endian(to, static_cast<uint32_t>(data.size()), 4);
  const size_t start = to.size();
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<uint8_t>(kind[i]));
  to.insert(to.end(), data.begin(), data.end());
  big_endian(to, crc32(to, start), 4);
}

int paeth(int a, int b, int c) {
  const int pa = std::abs(b - c), pb = std::abs(a - c), pc = std::abs(a + b - 2 * c);
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// The order in which JPEG writes the coefficients of a block: along the diagonals.
std::array<int, 64> zigzag() {
  std::array<int, 64> order{};
  size_t at = 0;
  for (int sum = 0; sum < 15; ++sum)
    for (int i = 0; i <= sum; ++i) {
      const int row = sum % 2 ? i : sum - i, column = sum - row;
      if (row < 8 && column < 8) order[at++] = row * 8 + column;
    }
  return order;
}

class BitWriter {
 public:
  explicit BitWriter(Bytes& to) : to_(to) {}
  void write(uint32_t value, int bits) {
    for (int i = bits - 1; i >= 0; --i) {
      byte_ = byte_ << 1 | (value >> i & 1);
      if (++count_ == 8) flush();
    }
  }
  void finish() {
    while (count_) write(1, 1);
  }

 private:
  void flush() {
    to_.push_back(static_cast<uint8_t>(byte_));
    if (to_.back() == 0xff) to_.push_back(0);
    byte_ = 0, count_ = 0;
  }
  Bytes& to_;
  uint32_t byte_ = 0;
  int count_ = 0;
};

int category(int value) {
  int bits = 0;
  for (int rest = std::abs(value); rest; rest >>= 1) ++bits;
  return bits;
}
void write_value(BitWriter& bits, int value) {
  const int size = category(value);
  bits.write(static_cast<uint32_t>(value < 0 ? value + (1 << size) - 1 : value), size);
}

// Codes of equal length, in this order.
constexpr int kFirstSizes = 12, kFirstBits = 4, kOtherBits = 8;
int other_code(int run, int size) { return size == 0 ? (run == 0 ? 0 : 1) : 2 + run * 10 + size - 1; }

void segment(Bytes& to, int marker, const Bytes& data) {
  to.push_back(0xff);
  to.push_back(static_cast<uint8_t>(marker));
  big_endian(to, static_cast<uint32_t>(data.size() + 2), 2);
  to.insert(to.end(), data.begin(), data.end());
}

}  // namespace

void PngFile::fill(std::mt19937& random) {
  const int most = type == 3 ? static_cast<int>(palette.size() / 3) - 1 : (1 << depth) - 1;
  samples.resize(static_cast<size_t>(width * height * channels()));
  for (int& sample : samples) sample = std::uniform_int_distribution<int>(0, most)(random);
}

Bytes PngFile::bytes() const {
  static constexpr int kPasses[][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  static constexpr int kWhole[][4] = {{0, 0, 1, 1}};
  Bytes raw;
  const size_t left = static_cast<size_t>(std::max(1, channels() * depth / 8));
  int filter = 0;
  for (const auto& [x0, y0, dx, dy] : interlaced ? std::span<const int[4]>(kPasses) : std::span<const int[4]>(kWhole)) {
    if (x0 >= width) continue;
    Bytes above;
    for (int y = y0; y < height; y += dy) {
      Bytes row;
      uint32_t pending = 0;
      int bits = 0;
      for (int x = x0; x < width; x += dx)
        for (int c = 0; c < channels(); ++c) {
          pending = pending << depth | static_cast<uint32_t>(sample(x, y, c));
          for (bits += depth; bits >= 8; bits -= 8) row.push_back(static_cast<uint8_t>(pending >> (bits - 8)));
        }
      if (bits) row.push_back(static_cast<uint8_t>(pending << (8 - bits)));
      above.resize(row.size());
      raw.push_back(static_cast<uint8_t>(filter));
      for (size_t i = 0; i < row.size(); ++i) {
        const int a = i >= left ? row[i - left] : 0, b = above[i], c = i >= left ? above[i - left] : 0;
        const int guess[] = {0, a, b, (a + b) / 2, paeth(a, b, c)};
        raw.push_back(static_cast<uint8_t>(row[i] - guess[filter]));
      }
      above = row;
      filter = (filter + 1) % 5;
    }
  }
  Bytes packed{0x78, 0x01};
  constexpr size_t kBlock = 1000;
  for (size_t at = 0; at < raw.size(); at += kBlock) {
    const size_t count = std::min(kBlock, raw.size() - at);
    packed.push_back(at + count == raw.size());
    for (const size_t number : {count, ~count})
      packed.push_back(static_cast<uint8_t>(number)), packed.push_back(static_cast<uint8_t>(number >> 8));
    packed.insert(packed.end(), raw.begin() + static_cast<ptrdiff_t>(at), raw.begin() + static_cast<ptrdiff_t>(at + count));
  }
  uint32_t a = 1, b = 0;
  for (const uint8_t byte : raw) a = (a + byte) % 65521, b = (b + a) % 65521;
  big_endian(packed, b << 16 | a, 4);

  Bytes file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, header;
  big_endian(header, static_cast<uint32_t>(claimed_width ? claimed_width : width), 4);
  big_endian(header, static_cast<uint32_t>(claimed_height ? claimed_height : height), 4);
  for (const int number : {depth, type, 0, 0, interlaced ? 1 : 0}) header.push_back(static_cast<uint8_t>(number));
  chunk(file, "IHDR", header);
  if (!palette.empty()) chunk(file, "PLTE", palette);
  if (!transparency.empty()) chunk(file, "tRNS", transparency);
  for (size_t at = 0; at < packed.size(); at += 700)
    chunk(file, "IDAT",
          Bytes(packed.begin() + static_cast<ptrdiff_t>(at), packed.begin() + static_cast<ptrdiff_t>(std::min(at + 700, packed.size()))));
  chunk(file, "IEND", {});
  return file;
}

double JpegFile::value(size_t component, int x, int y) const {
  const Block& block = components[component][static_cast<size_t>(y / 8 * columns + x / 8)];
  double sum = 0;
  for (int v = 0; v < 8; ++v)
    for (int u = 0; u < 8; ++u) {
      const double scale = (u == 0 ? std::numbers::sqrt2 / 2 : 1) * (v == 0 ? std::numbers::sqrt2 / 2 : 1);
      sum += scale * block[static_cast<size_t>(v * 8 + u)] * std::cos((2 * (x % 8) + 1) * u * std::numbers::pi / 16) *
             std::cos((2 * (y % 8) + 1) * v * std::numbers::pi / 16);
    }
  return sum / 4 + 128;
}

void JpegFile::fill(std::mt19937& random, size_t component_count) {
  components.assign(component_count, std::vector<Block>(static_cast<size_t>(columns * rows)));
  for (auto& component : components)
    for (Block& block : component) {
      block[0] = std::uniform_int_distribution<int>(-700, 700)(random);
      for (int i = 0; i < 6; ++i)
        block[std::uniform_int_distribution<size_t>(1, 63)(random)] = std::uniform_int_distribution<int>(-120, 120)(random);
    }
}

Bytes JpegFile::bytes() const {
  static const std::array<int, 64> order = zigzag();
  Bytes file{0xff, 0xd8};
  if (orientation) {
    Bytes exif{'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    exif[25] = static_cast<uint8_t>(orientation);
    segment(file, 0xe1, exif);
  }
  Bytes table(65, 1);
  table[0] = 0;
  segment(file, 0xdb, table);
  Bytes frame{8};
  big_endian(frame, static_cast<uint32_t>(rows * 8), 2);
  big_endian(frame, static_cast<uint32_t>(columns * 8), 2);
  frame.push_back(static_cast<uint8_t>(components.size()));
  for (size_t i = 0; i < components.size(); ++i) frame.insert(frame.end(), {static_cast<uint8_t>(i + 1), 0x11, 0});
  segment(file, 0xc0, frame);
  Bytes first(17), other(17);
  first[kFirstBits] = kFirstSizes;
  for (int size = 0; size < kFirstSizes; ++size) first.push_back(static_cast<uint8_t>(size));
  segment(file, 0xc4, first);
  other[0] = 0x10;
  other[kOtherBits] = 162;
  other.insert(other.end(), {0x00, 0xf0});
  for (int run = 0; run < 16; ++run)
    for (int size = 1; size <= 10; ++size) other.push_back(static_cast<uint8_t>(run << 4 | size));
  segment(file, 0xc4, other);
  if (restart_interval) segment(file, 0xdd, {static_cast<uint8_t>(restart_interval >> 8), static_cast<uint8_t>(restart_interval)});
  Bytes scan{static_cast<uint8_t>(components.size())};
  for (size_t i = 0; i < components.size(); ++i) scan.insert(scan.end(), {static_cast<uint8_t>(i + 1), 0});
  scan.insert(scan.end(), {0, 63, 0});
  segment(file, 0xda, scan);
  BitWriter bits(file);
  std::vector<int> before(components.size());
  for (int at = 0; at < columns * rows; ++at) {
    if (restart_interval && at && at % restart_interval == 0) {
      bits.finish();
      file.insert(file.end(), {0xff, static_cast<uint8_t>(0xd0 + (at / restart_interval - 1) % 8)});
      before.assign(before.size(), 0);
    }
    for (size_t i = 0; i < components.size(); ++i) {
      const Block& block = components[i][static_cast<size_t>(at)];
      const int difference = block[0] - before[i];
      before[i] = block[0];
      bits.write(static_cast<uint32_t>(category(difference)), kFirstBits);
      write_value(bits, difference);
      int zeros = 0;
      for (size_t k = 1; k < 64; ++k) {
        const int coefficient = block[static_cast<size_t>(order[k])];
        if (coefficient == 0) {
          ++zeros;
          continue;
        }
        for (; zeros >= 16; zeros -= 16) bits.write(static_cast<uint32_t>(other_code(15, 0)), kOtherBits);
        bits.write(static_cast<uint32_t>(other_code(zeros, category(coefficient))), kOtherBits);
        write_value(bits, coefficient);
        zeros = 0;
      }
      if (zeros) bits.write(static_cast<uint32_t>(other_code(0, 0)), kOtherBits);
    }
  }
  bits.finish();
  file.insert(file.end(), {0xff, 0xd9});
  return file;
}

}  // namespace minnow::test
