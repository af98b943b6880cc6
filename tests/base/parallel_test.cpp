// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/watch.h"

namespace minnow {
namespace {

TEST(InParts, every_index_comes_once) {
  for (const int64_t count : {0, 1, 2, 3, 255, 256, 257, 1000})
    for (const int64_t cost : {int64_t{0}, int64_t{1}, int64_t{1} << 16, int64_t{1} << 62}) {
      SCOPED_TRACE(testing::Message() << count << " of " << cost);
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      in_parts(count, cost, [&](int64_t first, int64_t last) {
        EXPECT_LT(first, last);
        for (int64_t i = first; i < last; ++i) ++calls[static_cast<size_t>(i)];
      });
      for (const std::atomic<int>& call : calls) ASSERT_EQ(call, 1);
    }
}

TEST(InParts, a_limit_of_one_keeps_to_the_calling_thread) {
  const int before = most_threads();
  EXPECT_GE(before, 1);
  set_most_threads(1);
  EXPECT_EQ(most_threads(), 1);
  std::atomic<int> elsewhere{0};
  in_parts(100, 1 << 20, [&, caller = std::this_thread::get_id()](int64_t, int64_t) { elsewhere += std::this_thread::get_id() != caller; });
  EXPECT_EQ(elsewhere, 0);
  set_most_threads(0);
  EXPECT_EQ(most_threads(), before);
}

TEST(InParts, what_a_task_throws_reaches_the_caller) {
  for (const int64_t cost : {1, 1 << 20})
    EXPECT_THROW(in_parts(100, cost, [](int64_t, int64_t) { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(InParts, a_watch_ends_it) {
  const std::atomic<bool> cancelled{true};
  const Watch watch(cancelled, Watch::Clock::time_point::max());
  EXPECT_TRUE(watch.reason() == Watch::Reason::none);
  EXPECT_ANY_THROW(for (int i = 0; i < 1000000; ++i) in_parts(100, 1 << 20, [](int64_t, int64_t) { (void)Watch::stopping(); }));
}

}  // namespace
}  // namespace minnow
