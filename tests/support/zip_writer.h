// SPDX-License-Identifier: Apache-2.0
// A ZIP archive with stored or deflated entries, in memory: what tests of TorchScript files are made of.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

namespace minnow::test {

class ZipWriter {
 public:
  explicit ZipWriter(std::string folder = "m") : folder_(std::move(folder)) {}

  void add(const std::string& name, const std::string& contents) { add(name, contents, contents, 0); }
  /// As deflate has it, in blocks that are stored.
  void add_deflated(const std::string& name, const std::string& contents) {
    std::string packed;
    size_t at = 0;
    do {
      const size_t size = std::min<size_t>(contents.size() - at, 0xffff);
      packed += number(at + size == contents.size(), 1) + number(size, 2) + number(~size, 2) + contents.substr(at, size);
      at += size;
    } while (at < contents.size());
    add(name, contents, packed, 8);
  }

  std::string finish() const {
    return bytes_ + directory_ + number(0x06054b50, 4) + number(0, 4) + number(count_, 2) + number(count_, 2) +
           number(directory_.size(), 4) + number(bytes_.size(), 4) + number(0, 2);
  }

  static std::string number(uint64_t value, size_t bytes) {
    std::string made;
    for (size_t i = 0; i < bytes; ++i) made += static_cast<char>(i < 8 ? (value >> (8 * i)) & 0xff : 0);
    return made;
  }

  static uint32_t crc32(const std::string& bytes) {
    uint32_t crc = 0xffffffff;
    for (const char c : bytes) {
      crc ^= static_cast<uint8_t>(c);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
  }

 private:
  void add(const std::string& name, const std::string& contents, const std::string& packed, uint64_t method) {
    const std::string path = folder_.empty() ? name : folder_ + "/" + name;
    const std::string sizes = number(method, 2) + number(0, 4) + number(crc32(contents), 4) + number(packed.size(), 4) +
                              number(contents.size(), 4) + number(path.size(), 2);
    directory_ +=
        number(0x02014b50, 4) + number(0, 6) + sizes + number(0, 2) + number(0, 2) + number(0, 8) + number(bytes_.size(), 4) + path;
    // The contents begin at a multiple of 64, as PyTorch has it.
    const size_t extra = (64 - (bytes_.size() + 30 + path.size()) % 64) % 64;
    bytes_ += number(0x04034b50, 4) + number(0, 4) + sizes + number(extra, 2) + path + std::string(extra, '\0') + packed;
    ++count_;
  }

  std::string folder_, bytes_, directory_;
  size_t count_ = 0;
};

}  // namespace minnow::test
