// SPDX-License-Identifier: Apache-2.0
#include "importers/torchscript/archive.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "importers/torchscript/inflate.h"

namespace minnow::torchscript {
namespace {

// Little-endian signatures of the records, and their fixed sizes.
constexpr uint32_t kEnd = 0x06054b50, kEnd64Locator = 0x07064b50, kEnd64 = 0x06064b50, kCentral = 0x02014b50, kLocal = 0x04034b50;
constexpr size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kCentralBytes = 46, kLocalBytes = 30;
constexpr size_t kMostComment = 65535;
// Bytes of all deflated entries: as many as code ever has, or several times the file, as weights hardly shrink.
constexpr size_t kMostUnpacked = size_t{256} << 20, kMostUnpackedPerByte = 4;
constexpr uint32_t kCrcPolynomial = 0xedb88320;

template <class T>
T number(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// CRC-32 eight bytes at a time: row k of the table is the remainder of a byte with k zero bytes behind it.
uint32_t crc32(std::span<const std::byte> bytes) {
  static const auto kTable = [] {
    std::array<std::array<uint32_t, 256>, 8> table;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? kCrcPolynomial : 0);
      table[0][i] = value;
    }
    for (size_t row = 1; row < 8; ++row)
      for (size_t i = 0; i < 256; ++i) table[row][i] = (table[row - 1][i] >> 8) ^ table[0][table[row - 1][i] & 0xff];
    return table;
  }();
  uint32_t crc = 0xffffffff;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const uint64_t eight = number<uint64_t>(bytes, at) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kTable[7 - i][(eight >> (8 * i)) & 0xff];
  }
  for (; at < bytes.size(); ++at) crc = (crc >> 8) ^ kTable[0][(crc ^ static_cast<uint32_t>(bytes[at])) & 0xff];
  return ~crc;
}

}  // namespace

Archive::Archive(SharedBytes whole, std::string source) : bytes_(std::move(whole)), source_(std::move(source)) {
  const std::span<const std::byte> bytes = bytes_.bytes();
  const auto broken = [&](std::string_view what) { throw InvalidModel("{}: is no whole ZIP archive: {}", source_, what); };
  if (bytes.size() < kEndBytes) broken("it is too short");
  size_t end = bytes.size() - kEndBytes;
  const size_t lowest = end > kMostComment ? end - kMostComment : 0;
  while (number<uint32_t>(bytes, end) != kEnd) {
    if (end == lowest) broken("its directory is missing");
    --end;
  }
  uint64_t count = number<uint16_t>(bytes, end + 10), size = number<uint32_t>(bytes, end + 12), offset = number<uint32_t>(bytes, end + 16);
  if ((count == 0xffff || size == 0xffffffff || offset == 0xffffffff) && end >= kLocatorBytes &&
      number<uint32_t>(bytes, end - kLocatorBytes) == kEnd64Locator) {
    const uint64_t at = number<uint64_t>(bytes, end - kLocatorBytes + 8);
    if (at > bytes.size() || bytes.size() - at < kEnd64Bytes || number<uint32_t>(bytes, at) != kEnd64) broken("its directory is damaged");
    count = number<uint64_t>(bytes, at + 32);
    size = number<uint64_t>(bytes, at + 40);
    offset = number<uint64_t>(bytes, at + 48);
  }
  if (offset > bytes.size() || size > bytes.size() - offset || count > size / kCentralBytes) broken("its directory lies outside");
  const std::span<const std::byte> directory = bytes.subspan(offset, size);
  std::string root;
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (directory.size() - at < kCentralBytes || number<uint32_t>(directory, at) != kCentral) broken("its directory is damaged");
    Entry entry;
    if (number<uint16_t>(directory, at + 8) & 1) broken("it is encrypted");
    entry.method = number<uint16_t>(directory, at + 10);
    entry.crc = number<uint32_t>(directory, at + 16);
    entry.packed = number<uint32_t>(directory, at + 20);
    entry.size = number<uint32_t>(directory, at + 24);
    entry.offset = number<uint32_t>(directory, at + 42);
    const size_t name_size = number<uint16_t>(directory, at + 28), extra_size = number<uint16_t>(directory, at + 30),
                 comment = number<uint16_t>(directory, at + 32);
    if (directory.size() - at - kCentralBytes < name_size + extra_size + comment) broken("its directory is damaged");
    const std::string name(reinterpret_cast<const char*>(directory.data() + at + kCentralBytes), name_size);
    std::span<const std::byte> extra = directory.subspan(at + kCentralBytes + name_size, extra_size);
    while (extra.size() >= 4) {
      const size_t length = number<uint16_t>(extra, 2);
      if (length > extra.size() - 4) break;
      if (number<uint16_t>(extra, 0) == 1) {  // zip64: those of the three fields that did not fit, in this order
        size_t place = 4;
        for (uint64_t* field : {&entry.size, &entry.packed, &entry.offset})
          if (*field == 0xffffffff && place + 8 <= 4 + length) {
            *field = number<uint64_t>(extra, place);
            place += 8;
          }
      }
      extra = extra.subspan(4 + length);
    }
    const size_t slash = name.find('/');
    if (i == 0) {
      if (slash == name.npos) broken(format("its first entry \"{}\" lies in no folder", name.substr(0, 200)));
      root = name.substr(0, slash + 1);
    }
    if (name.starts_with(root)) entries_.emplace(name.substr(root.size()), std::move(entry));
    at += kCentralBytes + name_size + extra_size + comment;
  }
}

bool Archive::has_folder(std::string_view prefix) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

SharedBytes Archive::read(std::string_view name) {
  const auto found = entries_.find(std::string(name));
  if (found == entries_.end()) throw InvalidModel("{}: has no entry \"{}\"", source_, name.substr(0, 200));
  Entry& entry = found->second;
  if (entry.checked && entry.method != 0) return entry.unpacked;
  const auto broken = [&](std::string_view what) { throw InvalidModel("{}: entry \"{}\" {}", source_, name.substr(0, 200), what); };
  if (entry.offset > bytes_.size() || bytes_.size() - entry.offset < kLocalBytes ||
      number<uint32_t>(bytes_.bytes(), entry.offset) != kLocal)
    broken("lies outside the file");
  const uint64_t start = entry.offset + kLocalBytes + number<uint16_t>(bytes_.bytes(), entry.offset + 26) +
                         number<uint16_t>(bytes_.bytes(), entry.offset + 28);
  if (start > bytes_.size() || entry.packed > bytes_.size() - start) broken("lies outside the file");
  SharedBytes contents = bytes_.part(start, entry.packed);
  if (entry.method == 8) {
    if (entry.size > std::max(kMostUnpacked, kMostUnpackedPerByte * bytes_.size()) - unpacked_) broken("unpacks to too much");
    auto unpacked = inflate(contents.bytes(), entry.size);
    if (!unpacked) broken("does not unpack");
    unpacked_ += entry.size;
    contents = entry.unpacked = SharedBytes(std::move(*unpacked));
  } else if (entry.method != 0) {
    broken(format("is packed by method {}, not stored or deflated", entry.method));
  } else if (entry.size != entry.packed) {
    broken("has two sizes");
  }
  if (!entry.checked && crc32(contents.bytes()) != entry.crc) broken("is damaged: its checksum is wrong");
  entry.checked = true;
  return contents;
}

}  // namespace minnow::torchscript
