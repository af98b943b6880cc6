// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(NonMaxSuppression, boxes) {
  EXPECT_TRUE(near(
      run_operator(
          "NonMaxSuppression",
          {tensor(DType::f32, {1, 6, 4}, {0, 0, 1, 1, 1, 1.1, 0, 0.1, 0, 0.5, 1, 1.4, 0, 3, 1, 4, 0, 3, 1, 4, 2, 2, 2, 2}),
           tensor(DType::f32, {1, 2, 6},
                  {0.89999998, 0.75, 0.60000002, 0.94999999, 0.94999999, 0.30000001, 0.1, 0.2, 0.30000001, 0.40000001, 0.5, 0.60000002}),
           tensor(DType::i64, {1}, {3}), tensor(DType::f32, {1}, {0.5})})[0],
      {6, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 2, 0, 1, 5, 0, 1, 4, 0, 1, 2}));
  EXPECT_TRUE(near(
      run_operator(
          "NonMaxSuppression",
          {tensor(DType::f32, {1, 6, 4}, {0, 0, 1, 1, 1, 1.1, 0, 0.1, 0, 0.5, 1, 1.4, 0, 3, 1, 4, 0, 3, 1, 4, 2, 2, 2, 2}),
           tensor(DType::f32, {1, 2, 6},
                  {0.89999998, 0.75, 0.60000002, 0.94999999, 0.94999999, 0.30000001, 0.1, 0.2, 0.30000001, 0.40000001, 0.5, 0.60000002}),
           tensor(DType::i64, {1}, {10}), tensor(DType::f32, {1}, {0.5}), tensor(DType::f32, {1}, {0.25})})[0],
      {7, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 2, 0, 0, 5, 0, 1, 5, 0, 1, 4, 0, 1, 2}));
  EXPECT_TRUE(near(
      run_operator(
          "NonMaxSuppression",
          {tensor(DType::f32, {1, 6, 4}, {0, 0, 1, 1, 1, 1.1, 0, 0.1, 0, 0.5, 1, 1.4, 0, 3, 1, 4, 0, 3, 1, 4, 2, 2, 2, 2}),
           tensor(DType::f32, {1, 2, 6},
                  {0.89999998, 0.75, 0.60000002, 0.94999999, 0.94999999, 0.30000001, 0.1, 0.2, 0.30000001, 0.40000001, 0.5, 0.60000002}),
           tensor(DType::i64, {1}, {10}), tensor(DType::f32, {1}, {0}), tensor(DType::f32, {1}, {0})})[0],
      {6, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5, 0, 1, 5, 0, 1, 4, 0, 1, 2}));
  EXPECT_TRUE(near(
      run_operator(
          "NonMaxSuppression",
          {tensor(DType::f32, {1, 6, 4}, {0, 0, 1, 1, 1, 1.1, 0, 0.1, 0, 0.5, 1, 1.4, 0, 3, 1, 4, 0, 3, 1, 4, 2, 2, 2, 2}),
           tensor(DType::f32, {1, 2, 6},
                  {0.89999998, 0.75, 0.60000002, 0.94999999, 0.94999999, 0.30000001, 0.1, 0.2, 0.30000001, 0.40000001, 0.5, 0.60000002}),
           tensor(DType::i64, {1}, {1}), tensor(DType::f32, {1}, {0.89999998}), tensor(DType::f32, {1}, {0.5})})[0],
      {2, 3}, {0, 0, 3, 0, 1, 5}));
  EXPECT_TRUE(near(
      run_operator(
          "NonMaxSuppression",
          {tensor(DType::f32, {1, 6, 4}, {0, 0, 1, 1, 1, 1.1, 0, 0.1, 0, 0.5, 1, 1.4, 0, 3, 1, 4, 0, 3, 1, 4, 2, 2, 2, 2}),
           tensor(DType::f32, {1, 2, 6},
                  {0.89999998, 0.75, 0.60000002, 0.94999999, 0.94999999, 0.30000001, 0.1, 0.2, 0.30000001, 0.40000001, 0.5, 0.60000002}),
           tensor(DType::i64, {1}, {0}), tensor(DType::f32, {1}, {0.5})})[0],
      {0, 3}, {}));
  EXPECT_TRUE(near(run_operator("NonMaxSuppression", {tensor(DType::f32, {1, 6, 4}, {0, 0, 1, 1, 1, 1.1, 0, 0.1, 0, 0.5, 1, 1.4,
                                                                                     0, 3, 1, 4, 0, 3,   1, 4,   2, 2,   2, 2}),
                                                      tensor(DType::f32, {1, 2, 6},
                                                             {0.89999998, 0.75, 0.60000002, 0.94999999, 0.94999999, 0.30000001, 0.1, 0.2,
                                                              0.30000001, 0.40000001, 0.5, 0.60000002})})[0],
                   {0, 3}, {}));
  EXPECT_TRUE(near(run_operator("NonMaxSuppression",
                                {tensor(DType::f32, {1, 3, 4}, {0.5, 0.5, 1, 1, 0.5, 0.60000002, 1, 1, 2, 2, 1, 1}),
                                 tensor(DType::f32, {1, 1, 3}, {0.5, 0.60000002, 0.69999999}), tensor(DType::i64, {1}, {5}),
                                 tensor(DType::f32, {1}, {0.5})},
                                {{"center_point_box", int64_t{1}}})[0],
                   {2, 3}, {0, 0, 2, 0, 0, 1}));
}

TEST(NonMaxSuppression, wrong_inputs) {
  using testing::HasSubstr;
  const Tensor boxes = pattern({1, 2, 4}), scores = pattern({1, 1, 2}), one = Tensor::scalar_i64(1);
  EXPECT_TRUE(near(run_operator("NonMaxSuppression", {pattern({1, 0, 4}), pattern({1, 3, 0}), one})[0], {0, 3}, {}));
  EXPECT_TRUE(near(run_operator("NonMaxSuppression", {boxes, scores, Tensor::scalar_i64(int64_t{1} << 62), Tensor::scalar_f32(1)})[0],
                   {2, 3}, {0, 0, 1, 0, 0, 0}));
  EXPECT_THAT(error_of("NonMaxSuppression", {boxes, pattern({1, 1, 3}), one}), HasSubstr("scores should have shape [1, classes, 2]"));
  EXPECT_THAT(error_of("NonMaxSuppression", {boxes, scores, one, Tensor::scalar_f32(2)}), HasSubstr("iou_threshold"));
  EXPECT_THAT(error_of("NonMaxSuppression", {boxes, scores, tensor(DType::i64, {2}, {1, 2})}), HasSubstr("one element"));
}

}  // namespace
}  // namespace minnow::test
