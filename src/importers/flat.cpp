// SPDX-License-Identifier: Apache-2.0
#include "importers/flat.h"

namespace minnow {

FlatTable::FlatTable(std::span<const std::byte> buffer, size_t at) : buffer_(buffer), at_(at) {
  const int64_t back = load<int32_t>(at);
  const int64_t vtable = static_cast<int64_t>(at) - back;
  if (vtable < 0 || static_cast<size_t>(vtable) > buffer.size()) throw Malformed{"a table of fields lies outside of the file"};
  vtable_ = static_cast<size_t>(vtable);
  vtable_size_ = load<uint16_t>(vtable_);
  if (vtable_size_ < 4 || vtable_size_ > buffer.size() - vtable_) throw Malformed{"a table of fields has a wrong size"};
}

FlatTable FlatTable::root(std::span<const std::byte> buffer) {
  if (buffer.size() < 8) throw Malformed{"the file is too short"};
  uint32_t at;
  std::memcpy(&at, buffer.data(), sizeof(at));
  return FlatTable(buffer, at);
}

size_t FlatTable::place_of(size_t field, size_t bytes) const {
  const size_t slot = 4 + 2 * field;
  if (slot + 2 > vtable_size_) return 0;
  const size_t offset = load<uint16_t>(vtable_ + slot);
  if (!offset) return 0;
  const size_t place = at_ + offset;
  if (place > buffer_.size() || buffer_.size() - place < bytes) throw Malformed{"a field lies outside of the file"};
  return place;
}

size_t FlatTable::target_of(size_t place) const {
  const size_t target = place + load<uint32_t>(place);
  if (target >= buffer_.size()) throw Malformed{"an offset leads outside of the file"};
  return target;
}

size_t FlatTable::vector_of(size_t field, size_t element_bytes, size_t& count) const {
  const size_t place = place_of(field, 4);
  if (!place) return 0;
  const size_t target = target_of(place);
  count = load<uint32_t>(target);
  if (count > (buffer_.size() - target - 4) / element_bytes) throw Malformed{"a list is longer than the file"};
  return target + 4;
}

std::string_view FlatTable::text(size_t field) const {
  size_t count = 0;
  const size_t first = vector_of(field, 1, count);
  return first ? std::string_view(reinterpret_cast<const char*>(buffer_.data()) + first, count) : std::string_view();
}

std::vector<std::string_view> FlatTable::texts(size_t field) const {
  size_t count = 0;
  const size_t first = vector_of(field, 4, count);
  std::vector<std::string_view> all;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = target_of(first + 4 * i), size = load<uint32_t>(at);
    if (size > buffer_.size() - at - 4) throw Malformed{"a text is longer than the file"};
    all.emplace_back(reinterpret_cast<const char*>(buffer_.data()) + at + 4, size);
  }
  return all;
}

FlatTable FlatTable::table(size_t field) const {
  const size_t place = place_of(field, 4);
  return place ? FlatTable(buffer_, target_of(place)) : FlatTable();
}

FlatTables FlatTable::tables(size_t field) const {
  FlatTables list;
  list.owner_ = *this;
  list.first_ = vector_of(field, 4, list.size_);
  return list;
}

FlatTable FlatTables::operator[](size_t i) const {
  if (i >= size_) throw Malformed{"an index is out of range"};
  return FlatTable(owner_.buffer_, owner_.target_of(first_ + 4 * i));
}

}  // namespace minnow
