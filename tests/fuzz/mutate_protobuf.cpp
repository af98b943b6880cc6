// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "fuzz/mutate.h"

namespace minnow::fuzz {
namespace {

enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr size_t kMostDepth = 24;
constexpr size_t kMostBytes = 1 << 16;  // longer fields are weights, not messages

struct Field {
  uint64_t number = 0;
  Wire wire = kVarint;
  uint64_t value = 0;         // kVarint, kFixed64, kFixed32
  std::string bytes;          // kBytes that are no message
  bool is_message = false;    // kBytes
  std::vector<Field> fields;  // of a message
};
using Fields = std::vector<Field>;

std::optional<uint64_t> read_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 10); ++i) {
    value |= static_cast<uint64_t>(bytes[i] & 0x7f) << (7 * i);
    if (!(bytes[i] & 0x80)) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return {};
}

void write_varint(uint64_t value, std::string& to) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return std::isprint(static_cast<unsigned char>(c)) || c == '\n'; });
}

/// Nothing if the bytes are no message.
std::optional<Fields> parse(std::string_view bytes, size_t depth) {
  Fields fields;
  while (!bytes.empty()) {
    const auto tag = read_varint(bytes);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 1 << 16) return {};
    Field field;
    field.number = *tag >> 3;
    field.wire = static_cast<Wire>(*tag & 7);
    switch (field.wire) {
      case kVarint: {
        const auto value = read_varint(bytes);
        if (!value) return {};
        field.value = *value;
        break;
      }
      case kFixed64:
      case kFixed32: {
        const size_t size = field.wire == kFixed64 ? 8 : 4;
        if (bytes.size() < size) return {};
        std::memcpy(&field.value, bytes.data(), size);
        bytes.remove_prefix(size);
        break;
      }
      case kBytes: {
        const auto size = read_varint(bytes);
        if (!size || *size > bytes.size()) return {};
        const std::string_view contents = bytes.substr(0, *size);
        bytes.remove_prefix(*size);
        if (depth < kMostDepth && contents.size() < kMostBytes && !contents.empty() && !is_text(contents))
          if (auto inner = parse(contents, depth + 1)) {
            field.is_message = true;
            field.fields = std::move(*inner);
          }
        if (!field.is_message) field.bytes = contents;
        break;
      }
      default:
        return {};
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string write(const Fields& fields) {
  std::string made;
  for (const Field& field : fields) {
    write_varint(field.number << 3 | field.wire, made);
    if (field.wire == kVarint) {
      write_varint(field.value, made);
    } else if (field.wire == kBytes) {
      const std::string contents = field.is_message ? write(field.fields) : field.bytes;
      write_varint(contents.size(), made);
      made += contents;
    } else {
      made.append(reinterpret_cast<const char*>(&field.value), field.wire == kFixed64 ? 8 : 4);
    }
  }
  return made;
}

/// A field by the message that holds it.
struct Place {
  Fields* message;
  size_t index;
  size_t depth;
  Field& field() const { return (*message)[index]; }
};

void collect(Fields& message, size_t depth, std::vector<Place>& places) {
  for (size_t i = 0; i < message.size(); ++i) {
    places.push_back({&message, i, depth});
    collect(message[i].fields, depth + 1, places);
  }
}

void change_bytes(std::string& bytes, Random& random, Names names, const std::vector<Place>& places) {
  const bool is_name = std::find(names.begin(), names.end(), bytes) != names.end();
  if (is_name && !random.one_in(4)) {
    bytes = names[random.below(names.size())];
  } else if (is_text(bytes) && !random.one_in(3)) {  // a name of a value, say: another one of the file
    for (size_t attempt = 0; attempt < 16; ++attempt) {
      const Field& other = places[random.below(places.size())].field();
      if (other.wire != kBytes || other.is_message || !is_text(other.bytes) || other.bytes.size() > 256) continue;
      bytes = other.bytes;
      return;
    }
    bytes.clear();
  } else if (bytes.size() >= 4 && random.one_in(2)) {  // raw data
    const float number = interesting_float(random);
    const int64_t integer = interesting_integer(random);
    const size_t width = bytes.size() >= 8 && random.one_in(2) ? 8 : 4, at = random.below(bytes.size() / width) * width;
    std::memcpy(bytes.data() + at, width == 8 ? static_cast<const void*>(&integer) : &number, width);
  } else {
    bytes = mutate_bytes(std::move(bytes), random);
  }
}

void change_value(Field& field, Random& random) {
  if (field.wire == kFixed32 && !random.one_in(4)) {
    const float number = interesting_float(random);
    std::memcpy(&field.value, &number, sizeof number);
  } else if (random.one_in(3)) {
    field.value += random.below(5) - 2;
  } else {
    field.value = static_cast<uint64_t>(interesting_integer(random));
  }
}

void change_once(Fields& root, Random& random, Names names) {
  std::vector<Place> places;
  collect(root, 0, places);
  if (places.empty()) return;
  const Place place = places[random.below(places.size())];
  Fields& message = *place.message;
  Field& field = place.field();
  // Contents are changed most often: a file with a field less is an error more often than not.
  switch (random.below(8)) {
    case 0:
      message.erase(message.begin() + static_cast<ptrdiff_t>(place.index));
      break;
    case 1: {
      Field copy = field;
      message.insert(message.begin() + static_cast<ptrdiff_t>(random.below(message.size() + 1)), std::move(copy));
      break;
    }
    case 2:
      std::swap(field, message[random.below(message.size())]);
      break;
    case 3: {  // the same field of another message of this depth
      std::vector<size_t> others;
      for (size_t i = 0; i < places.size(); ++i)
        if (places[i].depth == place.depth && places[i].field().number == field.number && places[i].field().wire == field.wire)
          others.push_back(i);
      Field copy = places[others[random.below(others.size())]].field();
      if (random.one_in(3))
        message.push_back(std::move(copy));
      else
        field = std::move(copy);
      break;
    }
    default:
      if (field.wire != kBytes)
        change_value(field, random);
      else if (!field.is_message)
        change_bytes(field.bytes, random, names, places);
      else
        change_once(field.fields, random, names);
  }
}

}  // namespace

std::string mutate_protobuf(std::string bytes, Random& random, Names names) {
  auto root = parse(bytes, 0);
  if (!root || random.one_in(32)) return mutate_bytes(std::move(bytes), random);
  for (size_t change = 0, changes = 1 + random.below(4); change < changes; ++change) change_once(*root, random, names);
  return write(*root);
}

}  // namespace minnow::fuzz
