// SPDX-License-Identifier: Apache-2.0
#include "support/paths.h"

#include <gtest/gtest.h>

namespace minnow::test {

TEST(Paths, source_dir_is_the_repository) { EXPECT_TRUE(std::filesystem::exists(source_dir() / "CMakeLists.txt")); }

TEST(Paths, scratch_dir_is_a_folder_of_this_process) { EXPECT_TRUE(std::filesystem::is_directory(scratch_dir())); }

}  // namespace minnow::test
