// SPDX-License-Identifier: Apache-2.0
// The ZIP archive that a TorchScript file is: its central directory (zip64 too), entries stored or deflated.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minnow::torchscript {

class Archive {
 public:
  /// Reads the directory. `bytes` must outlive the archive. Throws InvalidModel, with `source` in front.
  Archive(std::span<const std::byte> bytes, std::string source);

  /// Names are without the folder that holds all entries.
  bool has(std::string_view name) const { return entries_.contains(std::string(name)); }
  /// The contents: in place where they are stored, unpacked once where they are deflated. Checks the entry's CRC the first time. Throws
  /// InvalidModel.
  std::span<const std::byte> read(std::string_view name);
  std::string_view text(std::string_view name) {
    const auto bytes = read(name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// True where an entry's name begins like this.
  bool has_folder(std::string_view prefix) const;
  const std::string& source() const noexcept { return source_; }
  size_t bytes() const noexcept { return bytes_.size(); }

 private:
  struct Entry {
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t packed = 0, size = 0, offset = 0;
    bool checked = false;
    std::vector<std::byte> unpacked;
  };
  std::span<const std::byte> bytes_;
  std::string source_;
  std::unordered_map<std::string, Entry> entries_;
  size_t unpacked_ = 0;  // bytes in all
};

}  // namespace minnow::torchscript
