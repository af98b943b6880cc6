// SPDX-License-Identifier: Apache-2.0
#include "base/os.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}
std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

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
  // Other memory keeps its contents.
  std::vector<std::byte> other = bytes;
  os::release_mapped(other.data(), other.size());
  os::release_mapped(nullptr, 0);
  os::release_mapped(file->bytes().data() + bytes.size() - 10, 1 << 20);  // beyond the end
  EXPECT_EQ(other, bytes);
  std::filesystem::remove(path);
}

TEST(NewFile, is_seen_when_it_is_complete) {
  const fs::path folder = scratch_dir() / "new_file";
  fs::create_directories(folder);
  const fs::path path = folder / "a";
  for (const std::string_view before : {"", "old"}) {
    if (!before.empty()) write(path, before);
    {
      os::NewFile file(path.string());
      file.write(bytes_of("half"));
      EXPECT_EQ(contents(path), before);
    }
    EXPECT_EQ(files_in(folder), before.empty() ? 0u : 1u) << "an abandoned file leaves nothing";
    {
      os::NewFile file(path.string());
      file.write(bytes_of("new"));
#ifdef __linux__
      EXPECT_EQ(files_in(folder), before.empty() ? 0u : 1u) << "what a killed process would leave";
#endif
      file.publish();
    }
    EXPECT_EQ(contents(path), "new");
    EXPECT_EQ(files_in(folder), 1u);
    fs::remove(path);
  }
}

TEST(NewFile, a_failed_one_leaves_what_was_there) {
  const fs::path folder = scratch_dir() / "failed_file";
  fs::create_directories(folder);
  write(folder / "a", "old");
  EXPECT_THROW(os::write_file_atomically((folder / "a").string(),
                                         [](const os::ByteSink& sink) {
                                           sink(bytes_of("half"));
                                           throw std::runtime_error("enough");
                                         }),
               std::runtime_error);
  EXPECT_EQ(contents(folder / "a"), "old");
  EXPECT_EQ(files_in(folder), 1u);
  EXPECT_THROW(os::NewFile((folder / "no" / "a").string()), FileError);
  EXPECT_THROW(os::NewFile(folder.string()), FileError);
}

// Files that killed writers left: unlocked ones go, those of living writers and of other names stay.
TEST(NewFile, removes_what_killed_writers_left) {
  const fs::path folder = scratch_dir() / "left_behind";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const char* name : {"a", "a.minnow-aB3xyz", "a.minnow-living", "a.minnow-toolong", "a.backup", "b.minnow-aB3xyz"})
    write(folder / name, "old");
  const int living = ::open((folder / "a.minnow-living").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(living, LOCK_EX), 0);
  os::write_file_atomically((folder / "a").string(), [](const os::ByteSink& sink) { sink(bytes_of("new")); });
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"a", "a.minnow-living", "a.minnow-toolong", "a.backup", "b.minnow-aB3xyz"}));
  EXPECT_EQ(contents(folder / "a"), "new");
  ::close(living);
}

TEST(NewFile, devices_are_written_to) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  os::NewFile("/dev/null").write(bytes_of("x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(os::write_file_atomically("/dev/full", [](const os::ByteSink& sink) { sink(bytes_of("x")); }), FileError);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(CheckReplaceable, files_of_other_kinds_stay) {
  const fs::path path = scratch_dir() / "kind";
  const auto check = [&] { os::check_replaceable(path.string(), "magic", "a cache"); };
  fs::remove(path);
  EXPECT_NO_THROW(check());
  for (const std::string_view good : {"", "mag", "magic", "magic and more"}) {
    write(path, good);
    EXPECT_NO_THROW(check()) << good;
  }
  for (const std::string_view bad : {"x", "mb", "magi ", "onnx model"}) {
    write(path, bad);
    try {
      check();
      ADD_FAILURE() << bad;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(std::string(error.what()), path.string() + ": is not a cache and is not overwritten; name another file");
    }
  }
}

TEST(Memory, the_peak_is_no_less_than_what_is_resident) {
  const size_t now = os::resident_bytes();
  EXPECT_GE(os::peak_resident_bytes() + (1 << 20), now);
}

}  // namespace
}  // namespace minnow::test
