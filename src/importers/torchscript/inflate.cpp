// SPDX-License-Identifier: Apache-2.0
#include "importers/torchscript/inflate.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace minnow::torchscript {
namespace {

constexpr size_t kMostBits = 15;  // of a code

/// Canonical codes by their lengths: how many there are of each length, and their symbols in order.
struct Codes {
  std::array<uint16_t, kMostBits + 1> counts{};
  std::array<uint16_t, 288> symbols{};

  /// False if the lengths promise more codes than fit.
  bool assign(std::span<const uint8_t> lengths) {
    counts.fill(0);
    for (uint8_t length : lengths) ++counts[length];
    counts[0] = 0;
    int left = 1;
    for (size_t bits = 1; bits <= kMostBits; ++bits) {
      left = left * 2 - counts[bits];
      if (left < 0) return false;
    }
    std::array<uint16_t, kMostBits + 2> offsets{};
    for (size_t bits = 1; bits <= kMostBits; ++bits) offsets[bits + 1] = static_cast<uint16_t>(offsets[bits] + counts[bits]);
    for (size_t i = 0; i < lengths.size(); ++i)
      if (lengths[i]) symbols[offsets[lengths[i]]++] = static_cast<uint16_t>(i);
    return true;
  }
};

class Inflater {
 public:
  Inflater(std::span<const std::byte> source, size_t size) : source_(source), size_(size) {}

  std::optional<std::vector<std::byte>> run() {
    for (bool last = false; !last;) {
      last = bits(1) == 1;
      const uint32_t kind = bits(2);
      const bool done = failed_ ? false : kind == 0 ? stored() : kind == 1 ? fixed() : kind == 2 ? dynamic() : false;
      if (!done) return {};
    }
    if (out_.size() != size_) return {};
    return std::move(out_);
  }

 private:
  uint32_t bits(size_t count) {
    while (held_ < count) {
      if (at_ == source_.size()) {
        failed_ = true;
        return 0;
      }
      buffer_ |= static_cast<uint32_t>(source_[at_++]) << held_;
      held_ += 8;
    }
    const uint32_t value = buffer_ & ((1u << count) - 1);
    buffer_ >>= count;
    held_ -= count;
    return value;
  }

  /// The next symbol; -1 where no code fits.
  int symbol(const Codes& codes) {
    int code = 0, first = 0, index = 0;
    for (size_t length = 1; length <= kMostBits; ++length) {
      code |= static_cast<int>(bits(1));
      if (failed_) return -1;
      const int count = codes.counts[length];
      if (code - first < count) return codes.symbols[static_cast<size_t>(index + code - first)];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    return -1;
  }

  bool stored() {
    buffer_ = 0;
    held_ = 0;
    const uint32_t length = bits(16), complement = bits(16);
    if (failed_ || length != (complement ^ 0xffffu) || length > source_.size() - at_ || length > size_ - out_.size()) return false;
    out_.insert(out_.end(), source_.begin() + static_cast<ptrdiff_t>(at_), source_.begin() + static_cast<ptrdiff_t>(at_ + length));
    at_ += length;
    return true;
  }

  bool fixed() {
    std::array<uint8_t, 288> lengths;
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    std::array<uint8_t, 30> distances;
    distances.fill(5);
    Codes literal, distance;
    return literal.assign(lengths) && distance.assign(distances) && block(literal, distance);
  }

  bool dynamic() {
    static constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const size_t literals = bits(5) + 257, distances = bits(5) + 1, given = bits(4) + 4;
    if (failed_ || literals > 286 || distances > 30) return false;
    std::array<uint8_t, 19> order{};
    for (size_t i = 0; i < given; ++i) order[kOrder[i]] = static_cast<uint8_t>(bits(3));
    Codes codes;
    if (failed_ || !codes.assign(order)) return false;
    std::array<uint8_t, 320> lengths{};
    for (size_t i = 0; i < literals + distances;) {
      const int next = symbol(codes);
      if (next < 0) return false;
      if (next < 16) {
        lengths[i++] = static_cast<uint8_t>(next);
        continue;
      }
      if (next == 16 && i == 0) return false;
      const uint8_t repeated = next == 16 ? lengths[i - 1] : uint8_t{0};
      const size_t count = next == 16 ? 3 + bits(2) : next == 17 ? 3 + bits(3) : 11 + bits(7);
      if (failed_ || i + count > literals + distances) return false;
      std::fill_n(lengths.begin() + static_cast<ptrdiff_t>(i), count, repeated);
      i += count;
    }
    Codes literal, distance;
    const std::span<const uint8_t> all(lengths);
    return lengths[256] != 0 && literal.assign(all.first(literals)) && distance.assign(all.subspan(literals, distances)) &&
           block(literal, distance);
  }

  bool block(const Codes& literal, const Codes& distance) {
    static constexpr uint16_t kLengths[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                            31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr uint8_t kLengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static constexpr uint16_t kDistances[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                              193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static constexpr uint8_t kDistanceBits[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    for (;;) {
      const int next = symbol(literal);
      if (next < 0) return false;
      if (next == 256) return true;
      if (next < 256) {
        if (out_.size() == size_) return false;
        out_.push_back(static_cast<std::byte>(next));
        continue;
      }
      const size_t row = static_cast<size_t>(next - 257);
      if (row >= std::size(kLengths)) return false;
      const size_t length = kLengths[row] + bits(kLengthBits[row]);
      const int far = symbol(distance);
      if (far < 0 || static_cast<size_t>(far) >= std::size(kDistances)) return false;
      const size_t back = kDistances[far] + bits(kDistanceBits[far]);
      if (failed_ || back > out_.size() || length > size_ - out_.size()) return false;
      for (size_t i = 0; i < length; ++i) out_.push_back(out_[out_.size() - back]);
    }
  }

  std::span<const std::byte> source_;
  size_t size_, at_ = 0, held_ = 0;
  uint32_t buffer_ = 0;
  bool failed_ = false;
  std::vector<std::byte> out_;
};

}  // namespace

std::optional<std::vector<std::byte>> inflate(std::span<const std::byte> source, size_t size) { return Inflater(source, size).run(); }

}  // namespace minnow::torchscript
