// SPDX-License-Identifier: Apache-2.0
// Errors as callers meet them: through the public headers.
#include <gmock/gmock.h>
#include <minnow/minnow.h>

#include <cerrno>
#include <type_traits>
#include <vector>

#include "base/memory.h"

namespace minnow {
namespace {

TEST(Errors, a_missing_file_tells_its_path_and_the_system_s_code) {
  try {
    Model::load("no/such/model.minnow");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.path(), "no/such/model.minnow");
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_STREQ(error.what(), "no/such/model.minnow: cannot be opened: No such file or directory");
  }
}

TEST(Errors, memory_that_cannot_be_had_is_out_of_memory) {
  try {
    std::vector<Tensor> tensors;  // the largest that a 32-bit machine accepts have a gigabyte: it holds at most three
    for (int i = 0; i < 4; ++i) tensors.emplace_back(DType::f64, Shape{sizeof(size_t) > 4 ? int64_t{1} << 50 : 134'000'000});
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(error.what(), testing::HasSubstr("bytes"));
  }
}

TEST(Errors, specific_errors_are_errors) {
  EXPECT_THROW(throw OutOfMemory("a"), Error);
  EXPECT_THROW(throw FileError("a", "b", 1), Error);
  EXPECT_THROW(throw TimeLimitReached("a"), Error);
  EXPECT_EQ(TimeLimitReached("a").kind(), ErrorKind::cancelled);
}

// An account that dies before what is charged to it.
static_assert(!std::is_constructible_v<ChargeTo, std::shared_ptr<MemoryAccount>>);
static_assert(!std::is_constructible_v<ChargeTo, const std::shared_ptr<MemoryAccount>>);
static_assert(std::is_constructible_v<ChargeTo, std::shared_ptr<MemoryAccount>&>);
static_assert(std::is_constructible_v<ChargeTo, const std::shared_ptr<MemoryAccount>&>);

}  // namespace
}  // namespace minnow
