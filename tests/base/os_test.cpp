// SPDX-License-Identifier: Apache-2.0
#include "base/os.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace minnow::test {
namespace {

TEST(MappedFile, released_pages_hold_the_same_bytes) {
  const std::string path = (std::filesystem::temp_directory_path() / "minnow_os_test.bin").string();
  std::vector<std::byte> bytes(1 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 / 3);
  os::write_file_atomically(path, [&](const os::ByteSink& sink) { sink(bytes); });
  const auto file = os::MappedFile::open(path);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), file->bytes().begin()));
  for (const size_t begin : {size_t{0}, size_t{5000}, bytes.size() - 10}) {
    os::release_mapped(file->bytes().data() + begin, bytes.size() - begin);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), file->bytes().begin()));
  }
  // Other memory keeps what was written to it.
  std::vector<std::byte> other = bytes;
  os::release_mapped(other.data(), other.size());
  os::release_mapped(nullptr, 0);
  os::release_mapped(file->bytes().data() + bytes.size() - 10, 1 << 20);  // beyond the end
  EXPECT_EQ(other, bytes);
  std::filesystem::remove(path);
}

TEST(Memory, the_peak_is_no_less_than_what_is_resident) {
  const size_t now = os::resident_bytes();
  EXPECT_GE(os::peak_resident_bytes() + (1 << 20), now);
}

}  // namespace
}  // namespace minnow::test
