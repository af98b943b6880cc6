// SPDX-License-Identifier: Apache-2.0
#include "base/placeholder.h"

#include <gtest/gtest.h>

#include <string_view>

namespace minnow {
namespace {

std::string reason(std::string_view text) { return placeholder(std::as_bytes(std::span(text))); }

TEST(Placeholder, knows_empty_files_and_pointers) {
  EXPECT_EQ(reason(""), "is empty");
  EXPECT_EQ(reason("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n"),
            "is a Git LFS pointer in place of a file of 12 bytes; run `git lfs pull` to fetch it");
  EXPECT_EQ(reason("version https://git-lfs.github.com/spec/v1\n"),
            "is a Git LFS pointer in place of a file; run `git lfs pull` to fetch it");
  EXPECT_EQ(reason("version https://git-lfs.github.com/spec/v1\nsize 7"),
            "is a Git LFS pointer in place of a file of 7 bytes; run `git lfs pull` to fetch it");
}

TEST(Placeholder, takes_anything_else_for_a_file) {
  for (const char* text : {"v", "version 1", "\x89MNW", "name: \"net\""}) EXPECT_EQ(reason(text), "");
}

}  // namespace
}  // namespace minnow
