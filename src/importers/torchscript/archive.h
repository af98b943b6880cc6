// SPDX-License-Identifier: Apache-2.0
// The ZIP archive that a TorchScript file is: its central directory (zip64 too), entries stored or deflated.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/shared_bytes.h"

namespace minnow::torchscript {

class Archive {
 public:
  /// Reads the directory. Bytes without an owner must outlive the archive. Throws InvalidModel, with `source` in front.
  Archive(SharedBytes bytes, std::string source);

  /// Names are without the folder that holds all entries.
  bool has(std::string_view name) const { return entries_.contains(std::string(name)); }
  /// The contents of an entry: in place if it is stored (the file owns them), else inflated once (they own themselves). Verifies the CRC
  /// the first time. Throws InvalidModel.
  SharedBytes read(std::string_view name);
  /// The same as text, which lives as long as the archive and its bytes.
  std::string_view text(std::string_view name) { return read(name).text(); }
  /// True if an entry's name begins like this.
  bool has_folder(std::string_view prefix) const;
  const std::string& source() const noexcept { return source_; }
  size_t bytes() const noexcept { return bytes_.size(); }

 private:
  struct Entry {
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t packed = 0, size = 0, offset = 0;
    bool checked = false;
    SharedBytes unpacked;
  };
  SharedBytes bytes_;
  std::string source_;
  std::unordered_map<std::string, Entry> entries_;
  size_t unpacked_ = 0;  // bytes in all
};

}  // namespace minnow::torchscript
