// SPDX-License-Identifier: Apache-2.0
// FlatBuffers read from their bytes: every offset, length and vtable entry is checked when it is followed, so there is neither a separate
// verification nor generated code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "importers/malformed.h"

namespace minnow {

/// A vector of numbers in the buffer, unaligned.
template <class T>
class FlatNumbers {
 public:
  FlatNumbers() = default;
  FlatNumbers(const std::byte* data, size_t size) : data_(data), size_(size) {}
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T operator[](size_t i) const noexcept {
    T value;
    std::memcpy(&value, data_ + i * sizeof(T), sizeof(T));
    return value;
  }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_ * sizeof(T)}; }
  template <class To = T>
  std::vector<To> copy() const {
    std::vector<To> all(size_);
    for (size_t i = 0; i < size_; ++i) all[i] = static_cast<To>((*this)[i]);
    return all;
  }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class FlatTables;

/// A table. A default-made one is absent: all of its fields have their defaults. Fields go by their number in the schema.
class FlatTable {
 public:
  FlatTable() = default;
  /// The root of a buffer, which must outlive all that is read from it. Throws Malformed.
  static FlatTable root(std::span<const std::byte> buffer);
  explicit operator bool() const noexcept { return vtable_size_ != 0; }
  /// The position of the table in the file, which identifies it.
  size_t position() const noexcept { return at_; }

  template <class T>
  T number(size_t field, T fallback) const {
    const size_t place = place_of(field, sizeof(T));
    return place ? load<T>(place) : fallback;
  }
  bool flag(size_t field, bool fallback) const { return number<uint8_t>(field, fallback ? 1 : 0) != 0; }
  bool has(size_t field) const { return place_of(field, 1) != 0; }
  std::string_view text(size_t field) const;
  FlatTable table(size_t field) const;
  FlatTables tables(size_t field) const;
  /// A vector of strings.
  std::vector<std::string_view> texts(size_t field) const;
  template <class T>
  FlatNumbers<T> numbers(size_t field) const {
    size_t count = 0;
    const size_t first = vector_of(field, sizeof(T), count);
    return first ? FlatNumbers<T>(buffer_.data() + first, count) : FlatNumbers<T>();
  }

 private:
  friend class FlatTables;
  FlatTable(std::span<const std::byte> buffer, size_t at);
  template <class T>
  T load(size_t at) const {
    T value;
    if (at > buffer_.size() || buffer_.size() - at < sizeof(T)) throw Malformed{"a field lies outside of the file"};
    std::memcpy(&value, buffer_.data() + at, sizeof(T));
    return value;
  }
  /// The position of the field's value; 0 if the field is absent.
  size_t place_of(size_t field, size_t bytes) const;
  /// Follows the offset that stands at `place`.
  size_t target_of(size_t place) const;
  /// Place of the first element of a vector; 0 if it is absent.
  size_t vector_of(size_t field, size_t element_bytes, size_t& count) const;

  std::span<const std::byte> buffer_;
  size_t at_ = 0, vtable_ = 0, vtable_size_ = 0;
};

/// A vector of tables.
class FlatTables {
 public:
  FlatTables() = default;
  size_t size() const noexcept { return size_; }
  FlatTable operator[](size_t i) const;

 private:
  friend class FlatTable;
  FlatTable owner_;
  size_t first_ = 0, size_ = 0;
};

}  // namespace minnow
