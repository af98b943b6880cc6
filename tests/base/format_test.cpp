// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/nearest.h"

namespace minnow {
namespace {

TEST(Format, prints_every_kind_of_argument) {
  EXPECT_EQ(format("{} {} {} {}", "text", std::string("string"), std::string_view("view"), 'c'), "text string view c");
  EXPECT_EQ(format("{} {}", true, false), "true false");
  EXPECT_EQ(format("{} {}", std::numeric_limits<int64_t>::min(), std::numeric_limits<uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(format("{} {}", int8_t{-1}, uint8_t{200}), "-1 200");
  EXPECT_EQ(format("{} {}", 0.5, 1e30), "0.5 1e+30");
  EXPECT_EQ(format("{}", static_cast<const char*>(nullptr)), "(null)");
  EXPECT_EQ(format("{} {}", std::vector<int>{1, 2, 3}, std::vector<std::string>{}), "[1, 2, 3] []");
}

TEST(Format, braces_and_missing_arguments) {
  EXPECT_EQ(format("{{}} {}", 1), "{} 1");
  EXPECT_EQ(format("a } b"), "a } b");
  EXPECT_EQ(format("{} and {}", 1), "1 and {?}");
  EXPECT_EQ(format("none", 1), "none");
}

TEST(Nearest, names_up_to_three) {
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("x", {"y"}), "; there is \"y\"");
  EXPECT_EQ(nearest("b", {"xyz", "b1"}), "; there are \"b1\", \"xyz\"");
  EXPECT_EQ(nearest("Conv", {"pool1", "conv1", "conv2", "softmax", "cnv"}), "; the nearest are \"cnv\", \"conv1\", \"conv2\"");
}

}  // namespace
}  // namespace minnow
