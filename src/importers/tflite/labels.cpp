// SPDX-License-Identifier: Apache-2.0
// Labels: text files in the zip archive that metadata tools append to a model, stored without compression.
#include <cstring>

#include "importers/tflite/importer.h"

namespace minnow::tflite {
namespace {

constexpr size_t kMostLabelBytes = 4 << 20;

template <class T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::vector<std::string> read_labels(std::span<const std::byte> bytes) {
  // The end record: signature, ..., entries u16 at 10, size of the directory u32 at 12, comment length u16 at 20. The directory directly
  // precedes it. Offsets count from the beginning of the archive, which follows the model.
  constexpr size_t kEndBytes = 22, kMostComment = 65535;
  if (bytes.size() < kEndBytes) return {};
  for (size_t back = kEndBytes; back <= bytes.size() && back <= kEndBytes + kMostComment; ++back) {
    const size_t end = bytes.size() - back;
    if (number_at<uint32_t>(bytes, end) != 0x06054b50 || number_at<uint16_t>(bytes, end + 20) != back - kEndBytes) continue;
    const size_t entries = number_at<uint16_t>(bytes, end + 10), size = number_at<uint32_t>(bytes, end + 12),
                 offset = number_at<uint32_t>(bytes, end + 16);
    if (size > end) return {};
    const size_t directory = end - size, begin = offset <= directory ? directory - offset : 0;
    size_t at = directory;
    for (size_t i = 0; i < entries; ++i) {
      if (end - at < 46 || number_at<uint32_t>(bytes, at) != 0x02014b50) return {};
      const size_t method = number_at<uint16_t>(bytes, at + 10), stored = number_at<uint32_t>(bytes, at + 20),
                   name_bytes = number_at<uint16_t>(bytes, at + 28), extra = number_at<uint16_t>(bytes, at + 30),
                   comment = number_at<uint16_t>(bytes, at + 32), header = begin + number_at<uint32_t>(bytes, at + 42);
      if (end - at - 46 < name_bytes + extra + comment) return {};
      const std::string_view name(reinterpret_cast<const char*>(bytes.data()) + at + 46, name_bytes);
      at += 46 + name_bytes + extra + comment;
      if (method != 0 || name.find("label") == name.npos || !name.ends_with(".txt") || stored > kMostLabelBytes) continue;
      if (header > bytes.size() || bytes.size() - header < 30 || number_at<uint32_t>(bytes, header) != 0x04034b50) return {};
      const size_t data = header + 30 + number_at<uint16_t>(bytes, header + 26) + number_at<uint16_t>(bytes, header + 28);
      if (data > bytes.size() || bytes.size() - data < stored) return {};
      return lines_of({reinterpret_cast<const char*>(bytes.data()) + data, stored});
    }
    return {};
  }
  return {};
}

}  // namespace minnow::tflite
