// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(DepthToSpace, modes) {
  EXPECT_TRUE(near(run_operator("DepthToSpace", {pattern({1, 8, 1, 2})}, {{"blocksize", int64_t{2}}, {"mode", std::string("DCR")}})[0],
                   {1, 2, 2, 4}, {-0.5, 1, 1.25, 0, -0.25, 1.25, -1.25, 0.25, 0.25, -1, -0.75, 0.75, 0.5, -0.75, -0.5, 1}));
  EXPECT_TRUE(near(run_operator("DepthToSpace", {pattern({1, 8, 1, 2})}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}})[0],
                   {1, 2, 2, 4}, {-0.5, 0.25, 1.25, -0.75, 1, -1, 0, 0.75, -0.25, 0.5, -1.25, -0.5, 1.25, -0.75, 0.25, 1}));
}

TEST(SpaceToDepth, blocks) {
  EXPECT_TRUE(near(run_operator("SpaceToDepth", {pattern({2, 1, 2, 4})}, {{"blocksize", int64_t{2}}})[0], {2, 4, 1, 2},
                   {-0.5, 0.25, 1.25, -0.75, 1, -1, 0, 0.75, -0.25, 0.5, -1.25, -0.5, 1.25, -0.75, 0.25, 1}));
  EXPECT_TRUE(near(run_operator("SpaceToDepth", {tensor(DType::u8, {0, 1, 2, 2}, {})}, {{"blocksize", int64_t{2}}})[0], {0, 4, 1, 1}, {}));
}

TEST(CenterCropPad, crops_and_pads) {
  // By hand: rows 1 and 2 of 5, one zero before and two after.
  EXPECT_TRUE(
      near(run_operator("CenterCropPad", {tensor(DType::i32, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), tensor(DType::i64, {2}, {2, 5})})[0],
           {2, 5}, {0, 2, 3, 0, 0, 0, 4, 5, 0, 0}));
  EXPECT_TRUE(near(run_operator("CenterCropPad", {tensor(DType::i32, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), tensor(DType::i64, {1}, {3})},
                                {{"axes", Ints{-2}}})[0],
                   {3, 2}, {2, 3, 4, 5, 6, 7}));
}

TEST(SpaceOperators, wrong_attributes) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("DepthToSpace", {pattern({1, 6, 1, 1})}, {{"blocksize", int64_t{2}}}), HasSubstr("6 channels do not fill blocks"));
  EXPECT_THAT(error_of("SpaceToDepth", {pattern({1, 1, 3, 2})}, {{"blocksize", int64_t{2}}}), HasSubstr("not made of blocks"));
  EXPECT_THAT(error_of("SpaceToDepth", {pattern({1, 1, 3, 2})}, {{"blocksize", int64_t{0}}}), HasSubstr("blocksize should be positive"));
  EXPECT_THAT(error_of("CenterCropPad", {pattern({2, 2}), tensor(DType::i64, {1}, {2})}), HasSubstr("shape should have 2 entries"));
}

}  // namespace
}  // namespace minnow::test
