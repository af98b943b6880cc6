// SPDX-License-Identifier: Apache-2.0
// A cursor over the fields of one protobuf message: bounded, with 64-bit lengths (a model may hold more than 4 GB), and with a check of
// every field's wire type. Variable-length integers are protozero's.
#pragma once
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "importers/malformed.h"

namespace minnow::onnx {

class Fields {
 public:
  explicit Fields(std::string_view message) : data_(message.data()), end_(message.data() + message.size()) {}

  /// Goes to the next field; false at the end of the message.
  bool next() {
    if (data_ == end_) return false;
    const uint64_t tag = varint();
    number_ = static_cast<uint32_t>(tag >> 3);
    if (tag > UINT32_MAX || number_ == 0) throw Malformed{"a field has an impossible number"};
    wire_ = static_cast<Wire>(tag & 7);
    switch (wire_) {
      case Wire::varint:
        integer_ = varint();
        break;
      case Wire::fixed64:
        take(8);
        break;
      case Wire::fixed32:
        take(4);
        break;
      case Wire::length: {
        const uint64_t size = varint();
        if (size > static_cast<uint64_t>(end_ - data_)) throw Malformed{"a field is longer than the file"};
        take(static_cast<size_t>(size));
        break;
      }
      default:
        throw Malformed{"a field has an unknown wire type"};
    }
    return true;
  }
  uint32_t number() const noexcept { return number_; }

  /// A string, bytes or a message.
  std::string_view bytes() const {
    expect(Wire::length);
    return view_;
  }
  int64_t integer() const {
    expect(Wire::varint);
    return static_cast<int64_t>(integer_);
  }
  float real() const {
    expect(Wire::fixed32);
    float value;
    std::memcpy(&value, view_.data(), sizeof value);
    return value;
  }

  /// Calls f(int64_t) for each element of a repeated integer, packed or not.
  template <class F>
  void integers(F f) const {
    if (wire_ == Wire::varint) return f(static_cast<int64_t>(integer_));
    expect(Wire::length);
    const char* data = view_.data();
    const char* const end = data + view_.size();
    while (data != end) f(static_cast<int64_t>(decode(data, end)));
  }
  /// Number of elements of a repeated integer, packed or not.
  size_t integer_count() const {
    if (wire_ == Wire::varint) return 1;
    expect(Wire::length);
    size_t count = 0;
    for (char byte : view_) count += (static_cast<unsigned char>(byte) & 0x80) == 0;
    return count;
  }
  /// The little-endian bytes of a repeated float or double (`size` 4 or 8), packed or one element.
  std::string_view fixed(size_t size) const {
    if (wire_ != Wire::length) expect(size == 4 ? Wire::fixed32 : Wire::fixed64);
    if (view_.size() % size != 0) throw Malformed{"a packed field ends inside an element"};
    return view_;
  }

 private:
  enum class Wire : uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };
  static uint64_t decode(const char*& data, const char* end) {
    try {
      return protozero::decode_varint(&data, end);
    } catch (const protozero::exception&) {
      throw Malformed{"an integer does not end"};
    }
  }
  uint64_t varint() { return decode(data_, end_); }
  void take(size_t size) {
    if (size > static_cast<size_t>(end_ - data_)) throw Malformed{"it ends inside a field"};
    view_ = {data_, size};
    data_ += size;
  }
  void expect(Wire wire) const {
    if (wire_ != wire) throw Malformed{"a field has the wrong wire type"};
  }

  const char *data_, *end_;
  uint32_t number_ = 0;
  Wire wire_ = Wire::varint;
  uint64_t integer_ = 0;
  std::string_view view_;
};

}  // namespace minnow::onnx
