// SPDX-License-Identifier: Apache-2.0
#include "importers/tflite/flexbuffer.h"

#include <bit>
#include <cstring>

#include "importers/flat.h"

namespace minnow::tflite {
namespace {

constexpr size_t kMostEntries = 4096;

// Kinds: the upper six bits of a packed type. The lower two bits are the width of the value that an offset points to.
enum Kind : uint8_t {
  kNull = 0,
  kInt = 1,
  kUInt = 2,
  kFloat = 3,
  kKey = 4,
  kString = 5,
  kIndirectInt = 6,
  kIndirectUInt = 7,
  kIndirectFloat = 8,
  kMap = 9,
  kVector = 10,
  kVectorInt = 11,
  kVectorUInt = 12,
  kVectorFloat = 13,
  kBool = 26,
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> buffer) : buffer_(buffer) {}

  std::map<std::string, FlexValue> root() const {
    if (buffer_.size() < 3) throw Malformed{"custom options are too short"};
    const size_t width = static_cast<size_t>(buffer_.back());
    const uint8_t type = static_cast<uint8_t>(buffer_[buffer_.size() - 2]);
    if (!is_width(width) || buffer_.size() < 2 + width) throw Malformed{"custom options have a wrong end"};
    if (type >> 2 != kMap) throw Malformed{"custom options are no map"};
    return map(follow(buffer_.size() - 2 - width, width), size_t{1} << (type & 3));
  }

 private:
  static bool is_width(size_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }

  void check(size_t at, size_t bytes) const {
    if (at > buffer_.size() || buffer_.size() - at < bytes) throw Malformed{"custom options lead outside of themselves"};
  }
  uint64_t unsigned_at(size_t at, size_t width) const {
    check(at, width);
    uint64_t value = 0;
    std::memcpy(&value, buffer_.data() + at, width);
    return value;
  }
  int64_t signed_at(size_t at, size_t width) const {
    const int shift = 64 - static_cast<int>(width) * 8;
    return static_cast<int64_t>(unsigned_at(at, width) << shift) >> shift;
  }
  double real_at(size_t at, size_t width) const {
    const uint64_t bits = unsigned_at(at, width);
    if (width == 4) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (width == 8) return std::bit_cast<double>(bits);
    throw Malformed{"custom options hold a number of unknown form"};
  }
  size_t follow(size_t at, size_t width) const {
    const uint64_t offset = unsigned_at(at, width);
    if (offset > at) throw Malformed{"custom options lead outside of themselves"};
    return at - static_cast<size_t>(offset);
  }
  /// Elements of a vector whose first lies at `at`; its length stands before it.
  size_t length(size_t at, size_t width) const {
    if (at < width) throw Malformed{"custom options lead outside of themselves"};
    const uint64_t count = unsigned_at(at - width, width);
    if (count > kMostEntries || count * width > buffer_.size() - at) throw Malformed{"custom options hold a list longer than themselves"};
    return static_cast<size_t>(count);
  }

  std::string key(size_t at) const {
    const size_t first = at;
    while (true) {
      check(at, 1);
      if (buffer_[at] == std::byte{0}) break;
      ++at;
    }
    return std::string(reinterpret_cast<const char*>(buffer_.data()) + first, at - first);
  }

  std::map<std::string, FlexValue> map(size_t at, size_t width) const {
    const size_t count = length(at, width);
    if (at < 3 * width) throw Malformed{"custom options lead outside of themselves"};
    const size_t keys = follow(at - 3 * width, width), keys_width = static_cast<size_t>(unsigned_at(at - 2 * width, width));
    if (!is_width(keys_width) || length(keys, keys_width) != count) throw Malformed{"custom options have not as many names as values"};
    const size_t types = at + count * width;
    check(types, count);
    std::map<std::string, FlexValue> result;
    for (size_t i = 0; i < count; ++i) {
      FlexValue value;
      if (read(at + i * width, width, static_cast<uint8_t>(buffer_[types + i]), value))
        result[key(follow(keys + i * keys_width, keys_width))] = std::move(value);
    }
    return result;
  }

  bool read(size_t at, size_t parent_width, uint8_t type, FlexValue& value) const {
    const size_t width = size_t{1} << (type & 3);
    switch (type >> 2) {
      case kInt:
        value = signed_at(at, parent_width);
        return true;
      case kUInt:
      case kBool:
        value = static_cast<int64_t>(unsigned_at(at, parent_width));
        return true;
      case kFloat:
        value = real_at(at, parent_width);
        return true;
      case kIndirectInt:
        value = signed_at(follow(at, parent_width), width);
        return true;
      case kIndirectUInt:
        value = static_cast<int64_t>(unsigned_at(follow(at, parent_width), width));
        return true;
      case kIndirectFloat:
        value = real_at(follow(at, parent_width), width);
        return true;
      case kKey:
        value = key(follow(at, parent_width));
        return true;
      case kString: {
        const size_t first = follow(at, parent_width), count = length(first, width);
        value = std::string(reinterpret_cast<const char*>(buffer_.data()) + first, count);
        return true;
      }
      case kVectorInt:
      case kVectorUInt:
      case kVectorFloat: {
        const size_t first = follow(at, parent_width), count = length(first, width);
        std::vector<double> list;
        for (size_t i = 0; i < count; ++i)
          list.push_back(type >> 2 == kVectorFloat ? real_at(first + i * width, width)
                         : type >> 2 == kVectorInt ? static_cast<double>(signed_at(first + i * width, width))
                                                   : static_cast<double>(unsigned_at(first + i * width, width)));
        value = std::move(list);
        return true;
      }
      case kVector: {  // of anything: kept where all are numbers
        const size_t first = follow(at, parent_width), count = length(first, width);
        check(first + count * width, count);
        std::vector<double> list;
        for (size_t i = 0; i < count; ++i) {
          const uint8_t element = static_cast<uint8_t>(buffer_[first + count * width + i]);
          const uint8_t kind = element >> 2;
          if (kind != kInt && kind != kUInt && kind != kFloat) return false;
          list.push_back(kind == kFloat ? real_at(first + i * width, width)
                         : kind == kInt ? static_cast<double>(signed_at(first + i * width, width))
                                        : static_cast<double>(unsigned_at(first + i * width, width)));
        }
        value = std::move(list);
        return true;
      }
      default:
        return false;
    }
  }

  std::span<const std::byte> buffer_;
};

}  // namespace

std::map<std::string, FlexValue> read_flex_map(std::span<const std::byte> buffer) { return Reader(buffer).root(); }

}  // namespace minnow::tflite
