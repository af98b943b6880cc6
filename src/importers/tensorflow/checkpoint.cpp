// SPDX-License-Identifier: Apache-2.0
#include "importers/tensorflow/checkpoint.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "importers/source.h"
#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {
namespace {

using onnx::Fields;

constexpr uint64_t kFooterBytes = 48, kMagic = 0xdb4775248b80fb57u;
constexpr uint64_t kTrailerBytes = 5;  // of a block: its compression, its checksum
constexpr int64_t kMostShards = 100'000;

/// CRC-32C (Castagnoli), table-driven.
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0) {
  static constexpr std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  crc = ~crc;
  for (char c : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}
/// As the files keep it: a checksum of bytes that hold checksums would be weak.
uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

uint32_t little_endian32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t take_varint(std::string_view& text) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (text.empty()) break;
    const uint8_t byte = static_cast<uint8_t>(text.front());
    text.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  throw Malformed{"a number of the index is not complete"};
}

std::string_view take(std::string_view& text, uint64_t size) {
  if (size > text.size()) throw Malformed{"an entry of the index is longer than its block"};
  const std::string_view piece = text.substr(0, size);
  text.remove_prefix(size);
  return piece;
}

// Numbers are encoded so that their bytes sort like the numbers.
void append_count(std::string& text, size_t count) {
  if (count > 255) throw Malformed{"a slice has more dimensions than a tensor can"};
  text += static_cast<char>(count ? 1 : 0);
  if (count) text += static_cast<char>(count);
}
void append_signed(std::string& text, int64_t value) {
  int bytes = 1;  // with 7 bits of the number in each, one of them its sign
  while (bytes < 8 && (value < 0 ? ~value : value) >= int64_t{1} << (7 * bytes - 1)) ++bytes;
  const uint64_t mark = bytes < 8 ? uint64_t{0x100} - (uint64_t{1} << (8 - bytes)) : 0xff;  // as many ones as bytes
  for (int i = bytes - 1; i >= 0; --i) {
    const uint64_t byte = static_cast<uint64_t>(value) >> (8 * i);
    text += static_cast<char>(i == bytes - 1 ? byte ^ mark : byte);
  }
}
int64_t take_number(std::string_view& text) {
  int64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && digits < 15 && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    value = value * 10 + (text[digits] - '0');
  if (digits == 0) throw Malformed{"a slice is not \"shape start,size:start,size\""};
  text.remove_prefix(digits);
  return value;
}

}  // namespace

std::string slice_name(std::string_view name, std::string_view spec) {
  std::string_view rest = spec.substr(spec.rfind(' ') + 1);
  std::vector<std::pair<int64_t, int64_t>> parts;  // start and size of each dimension; size -1: all of it
  while (!rest.empty()) {
    if (rest.front() == '-') {
      parts.emplace_back(0, -1);
      rest.remove_prefix(1);
    } else {
      const int64_t start = take_number(rest);
      if (rest.empty() || rest.front() != ',') throw Malformed{"a slice has a start and no size"};
      rest.remove_prefix(1);
      parts.emplace_back(start, take_number(rest));
    }
    if (!rest.empty() && rest.front() != ':') throw Malformed{"a slice is not \"shape start,size:start,size\""};
    if (!rest.empty()) rest.remove_prefix(1);
  }
  std::string text;
  append_count(text, 0);
  for (char c : name) {
    text += c;
    if (c == '\0') text += '\xff';
    if (c == '\xff') text += '\0';
  }
  text += std::string_view("\0\1", 2);
  append_count(text, parts.size());
  for (const auto& [start, size] : parts) append_signed(text, start), append_signed(text, size);
  return text;
}

void Checkpoint::read_block(std::string_view file, uint64_t offset, uint64_t size,
                            std::map<std::string, std::string_view, std::less<>>& entries) const {
  if (size < 4 || size > file.size() || offset > file.size() - size || file.size() - size - offset < kTrailerBytes)
    throw Malformed{"a block of the index lies outside of it"};
  std::string_view block = file.substr(offset, size);
  const char* const trailer = block.data() + size;
  if (*trailer != 0) throw Unsupported("{}.index: is compressed, which is not supported", prefix_);
  if (masked(crc32c(file.substr(offset, size + 1))) != little_endian32(trailer + 1)) throw Malformed{"a checksum of the index is wrong"};
  const uint64_t restarts = little_endian32(block.data() + size - 4);
  if (restarts > (size - 4) / 4) throw Malformed{"a block of the index is not valid"};
  block = block.substr(0, size - 4 - 4 * restarts);
  std::string key;
  while (!block.empty()) {
    const uint64_t shared = take_varint(block), own = take_varint(block), length = take_varint(block);
    if (shared > key.size() || own > 65536 || shared + own > 65536) throw Malformed{"a key of the index is not valid"};
    key.resize(shared);
    key += take(block, own);
    entries[key] = take(block, length);
  }
}

Checkpoint::Checkpoint(const std::string& prefix) : prefix_(prefix), index_(os::MappedFile::open(prefix + ".index")) {
  const std::string_view file = text_of(index_->bytes());
  try {
    uint64_t magic = 0;
    if (file.size() < kFooterBytes) throw Malformed{"it is too short"};
    std::memcpy(&magic, file.data() + file.size() - 8, 8);
    if (magic != kMagic) throw Malformed{"it does not end as an index does"};
    std::string_view footer = file.substr(file.size() - kFooterBytes);
    take_varint(footer), take_varint(footer);  // a block about blocks
    const uint64_t offset = take_varint(footer), size = take_varint(footer);
    std::map<std::string, std::string_view, std::less<>> blocks, items;
    read_block(file, offset, size, blocks);
    for (const auto& [last_key, handle] : blocks) {
      std::string_view text = handle;
      const uint64_t block_offset = take_varint(text), block_size = take_varint(text);
      read_block(file, block_offset, block_size, items);
    }
    int64_t shards = 1;
    for (const auto& [key, message] : items) {
      if (key.empty()) {  // the header
        for (Fields fields(message); fields.next();) {
          if (fields.number() == 1) shards = fields.integer();
          if (fields.number() == 2 && fields.integer() != 0) throw Malformed{"its numbers are big-endian"};
        }
        continue;
      }
      Entry& entry = entries_[key];
      for (Fields fields(message); fields.next();) {
        switch (fields.number()) {
          case 1:
            entry.type = fields.integer();
            break;
          case 2:
            entry.dims = read_shape(fields.bytes()).value_or(Ints{});
            break;
          case 3:
            entry.shard = fields.integer();
            break;
          case 4:
            entry.offset = fields.integer();
            break;
          case 5:
            entry.size = fields.integer();
            break;
          case 6:
            if (fields.fixed(4).size() != 4) throw Malformed{"a checksum is not one number"};
            entry.checksum = little_endian32(fields.fixed(4).data());
            break;
          case 7:
            entry.sliced = true;
            break;
          default:
            break;
        }
      }
    }
    if (shards < 1 || shards > kMostShards) throw Malformed{"it names an impossible number of files"};
    for (int64_t i = 0; i < shards; ++i) {
      char name[32];
      std::snprintf(name, sizeof name, ".data-%05d-of-%05d", static_cast<int>(i), static_cast<int>(shards));
      shards_.push_back(os::MappedFile::open(prefix + name));
    }
  } catch (const Malformed& error) {
    throw InvalidModel("{}.index: is not a valid index of a checkpoint: {}", prefix, error.what);
  }
}

Tensor Checkpoint::read(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw InvalidModel("{}: has no variable \"{}\"", prefix_, name.substr(0, 200));
  const Entry& entry = found->second;
  const auto fail = [&](std::string_view why) -> void { throw InvalidModel("{}: variable \"{}\" {}", prefix_, name.substr(0, 200), why); };
  if (entry.sliced) throw Unsupported("{}: variable \"{}\" is kept in slices, which is not supported", prefix_, name.substr(0, 200));
  const DType dtype = dtype_of(entry.type);
  if (dtype == DType::undefined)
    throw Unsupported("{}: variable \"{}\" is of type {}, which is not supported", prefix_, name.substr(0, 200), entry.type);
  const Shape shape(entry.dims);
  for (int64_t dim : shape)
    if (dim < 0) fail("has an unknown dimension");
  if (entry.shard < 0 || static_cast<size_t>(entry.shard) >= shards_.size()) fail("lies in a file that is not there");
  const auto& shard = shards_[static_cast<size_t>(entry.shard)];
  const SharedBytes data(shard->bytes(), shard);
  const uint64_t offset = static_cast<uint64_t>(entry.offset), size = static_cast<uint64_t>(entry.size);
  if (size > data.size() || offset > data.size() - size) fail("lies beyond the end of its file");
  const uint64_t elements = static_cast<uint64_t>(shape.elements());
  if (elements > size || elements * size_of(dtype) != size) fail("has not as many bytes as its shape wants");
  const SharedBytes bytes = data.part(offset, size);
  if (masked(crc32c(bytes.text())) != entry.checksum) fail("has a wrong checksum");
  return bytes.tensor(dtype, shape);
}

}  // namespace minnow::tensorflow
