// SPDX-License-Identifier: Apache-2.0
#include "support/npz.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/os.h"
#include "cli/npy.h"

namespace minnow::test {
namespace {

/// A canonical Huffman code: counts of codes of each length, and the symbols in order of their codes.
struct Code {
  std::array<uint16_t, 16> count{};
  std::array<uint16_t, 320> symbol{};
  Code(const uint8_t* lengths, size_t n) {
    for (size_t i = 0; i < n; ++i) ++count[lengths[i]];
    std::array<uint16_t, 16> at{};
    for (size_t length = 1; length < 15; ++length) at[length + 1] = static_cast<uint16_t>(at[length] + count[length]);
    for (size_t i = 0; i < n; ++i)
      if (lengths[i]) symbol[at[lengths[i]]++] = static_cast<uint16_t>(i);
    count[0] = 0;
  }
};

class Inflater {
 public:
  Inflater(std::string_view in, size_t size) : in_(in), size_(size) { out_.reserve(size); }

  std::string run() {
    for (bool last = false; !last;) {
      last = bits(1);
      switch (bits(2)) {
        case 0:
          stored();
          break;
        case 1: {
          std::array<uint8_t, 320> lengths{};
          for (size_t i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
          const Code literals(lengths.data(), 288);
          lengths.fill(5);
          block(literals, Code(lengths.data(), 30));
          break;
        }
        case 2:
          dynamic();
          break;
        default:
          fail();
      }
    }
    if (out_.size() != size_) fail();
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail() { throw InvalidArgument("a deflated stream is damaged"); }
  unsigned bits(int n) {
    while (have_ < n) {
      if (at_ == in_.size()) fail();
      hold_ |= static_cast<uint32_t>(static_cast<unsigned char>(in_[at_++])) << have_;
      have_ += 8;
    }
    const unsigned value = hold_ & ((1u << n) - 1);
    hold_ >>= n;
    have_ -= n;
    return value;
  }
  unsigned decode(const Code& code) {
    int value = 0, first = 0, index = 0;
    for (size_t length = 1; length < 16; ++length) {
      value |= static_cast<int>(bits(1));
      const int count = code.count[length];
      if (value - count < first) return code.symbol[static_cast<size_t>(index + value - first)];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    fail();
  }
  void stored() {
    hold_ = 0, have_ = 0;
    if (in_.size() - at_ < 4) fail();
    const size_t size = static_cast<unsigned char>(in_[at_]) | static_cast<size_t>(static_cast<unsigned char>(in_[at_ + 1])) << 8;
    at_ += 4;
    if (in_.size() - at_ < size || size_ - out_.size() < size) fail();
    out_.append(in_.substr(at_, size));
    at_ += size;
  }
  void dynamic() {
    static constexpr std::array<uint8_t, 19> kOrder = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const size_t literals = bits(5) + 257, distances = bits(5) + 1, lengths_count = bits(4) + 4;
    std::array<uint8_t, 320> lengths{};
    for (size_t i = 0; i < lengths_count; ++i) lengths[kOrder[i]] = static_cast<uint8_t>(bits(3));
    const Code code(lengths.data(), 19);
    lengths.fill(0);
    for (size_t i = 0; i < literals + distances;) {
      const unsigned symbol = decode(code);
      if (symbol < 16) {
        lengths[i++] = static_cast<uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && i == 0) fail();
      const uint8_t value = symbol == 16 ? lengths[i - 1] : uint8_t{0};
      size_t repeat = symbol == 16 ? 3 + bits(2) : symbol == 17 ? 3 + bits(3) : 11 + bits(7);
      if (repeat > literals + distances - i) fail();
      while (repeat--) lengths[i++] = value;
    }
    block(Code(lengths.data(), literals), Code(lengths.data() + literals, distances));
  }
  void block(const Code& literals, const Code& distances) {
    static constexpr std::array<uint16_t, 29> kLength = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr std::array<uint8_t, 29> kLengthBits = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static constexpr std::array<uint16_t, 30> kDistance = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                           33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                           1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    for (;;) {
      unsigned symbol = decode(literals);
      if (symbol == 256) return;
      if (symbol < 256) {
        if (out_.size() == size_) fail();
        out_.push_back(static_cast<char>(symbol));
        continue;
      }
      symbol -= 257;
      if (symbol >= 29) fail();
      const size_t length = kLength[symbol] + bits(kLengthBits[symbol]);
      const unsigned far = decode(distances);
      if (far >= 30) fail();
      const size_t distance = kDistance[far] + bits(far < 2 ? 0 : static_cast<int>(far / 2 - 1));
      if (distance > out_.size() || length > size_ - out_.size()) fail();
      for (size_t i = 0; i < length; ++i) out_.push_back(out_[out_.size() - distance]);
    }
  }

  std::string_view in_;
  size_t size_, at_ = 0;
  uint32_t hold_ = 0;
  int have_ = 0;
  std::string out_;
};

}  // namespace

std::string inflate(std::string_view deflated, size_t size) { return Inflater(deflated, size).run(); }

std::map<std::string, Tensor> read_npz(const std::string& path) {
  const auto file = os::MappedFile::open(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const auto number = [&](size_t at, size_t size) {
    if (at > bytes.size() || bytes.size() - at < size) throw InvalidArgument("{}: is no zip archive, or is cut off", path);
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return static_cast<size_t>(value);
  };
  const size_t end = bytes.rfind("PK\5\6");
  if (end == bytes.npos) throw InvalidArgument("{}: is no zip archive", path);
  std::map<std::string, Tensor> arrays;
  size_t at = number(end + 16, 4);
  for (size_t left = number(end + 10, 2); left--;) {  // the central directory
    const size_t method = number(at + 10, 2), packed = number(at + 20, 4), size = number(at + 24, 4), name_size = number(at + 28, 2);
    const size_t local = number(at + 42, 4), data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    number(data, 0);
    if (packed > bytes.size() - data) throw InvalidArgument("{}: an entry is cut off", path);
    std::string name(bytes.substr(at + 46, name_size));
    std::string content(bytes.substr(data, packed));
    if (method == 8) content = inflate(content, size);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays[name] = cli::parse_npy(std::as_bytes(std::span(content)), path + ":" + name);
    at += 46 + name_size + number(at + 30, 2) + number(at + 32, 2);
  }
  return arrays;
}

}  // namespace minnow::test
