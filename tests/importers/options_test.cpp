// SPDX-License-Identifier: Apache-2.0
// Options are set by designated initializers; -Wextra must not warn about the others.
#include <gtest/gtest.h>
#include <minnow/convert.h>

namespace minnow {
namespace {

TEST(Options, are_given_by_name) {
  const SessionOptions session{.threads = 1, .memory_limit = 1 << 20};
  EXPECT_EQ(session.precision, "normal");
  EXPECT_TRUE(session.isa.empty() && session.times.empty());
  const ConvertOptions convert{.labels = {"cat"}, .verify = true};
  EXPECT_TRUE(convert.shapes.empty() && !convert.operators);
  const SaveOptions save{.opset = 21};
  EXPECT_EQ(save.weights, "f32");
}

}  // namespace
}  // namespace minnow
