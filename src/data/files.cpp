// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/os.h"
#include "data/dataset.h"
#include "importers/torchscript/inflate.h"

namespace minnow::data {

std::vector<std::byte> unpacked_file(const std::string& path) {
  const auto file = os::MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  const auto at = [&](size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  if (bytes.size() < 2 || at(0) != 0x1f || at(1) != 0x8b) return {bytes.begin(), bytes.end()};
  const auto damaged = [&] { return InvalidModel("{}: the packed data are damaged", path); };
  constexpr size_t kHead = 10, kTail = 8;
  if (bytes.size() < kHead + kTail || at(2) != 8) throw damaged();
  const unsigned flags = at(3);
  size_t begin = kHead, end = bytes.size() - kTail;
  if (flags & 4) begin += 2 + (at(10) | at(11) << 8);  // extra fields
  for (const unsigned text : {8u, 16u})                // a name, a comment
    if (flags & text) {
      while (begin < end && at(begin) != 0) ++begin;
      ++begin;
    }
  if (flags & 2) begin += 2;  // a checksum of the header
  if (begin > end) throw damaged();
  uint32_t size = 0;
  std::memcpy(&size, bytes.data() + end + 4, sizeof size);
  auto unpacked = torchscript::inflate(bytes.subspan(begin, end - begin), size);
  if (!unpacked) throw damaged();
  return std::move(*unpacked);
}

std::string file_in(const std::string& root, std::span<const std::string_view> folders, std::span<const std::string> names) {
  for (const std::string_view folder : folders)
    for (const std::string& name : names) {
      std::string path = root + "/" + std::string(folder) + (folder.empty() ? "" : "/") + name;
      if (os::file_exists(path)) return path;
    }
  throw IoError("the folder {} has no file {}", root, names[0]);
}

void check_labels(const std::string& path, const Tensor& labels, size_t classes) {
  for (int64_t i = 0; i < labels.elements(); ++i) {
    const int64_t label = labels.data<int64_t>()[i];
    if (label < 0 || label >= static_cast<int64_t>(classes))
      throw InvalidModel("{}: sample {} has the label {}; there are {} classes, from 0", path, i, label, classes);
  }
}

}  // namespace minnow::data
