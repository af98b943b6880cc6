// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(MachineLearning, binarizer_and_features) {
  EXPECT_TRUE(
      near(run_operator("ai.onnx.ml.Binarizer", {tensor(DType::f32, {3}, {0.5, 1, 1.5})}, {{"threshold", 1.0f}})[0], {3}, {0, 0, 1}));
  EXPECT_TRUE(near(run_operator("ai.onnx.ml.Binarizer", {Tensor::of_i64({3}, Ints{-1, 0, 2})})[0], {3}, {0, 0, 1}));
  const Tensor x = tensor(DType::f64, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor columns = Tensor::of_i64({1, 2}, Ints{2, 0});
  EXPECT_TRUE(near(run_decomposition("ai.onnx.ml.ArrayFeatureExtractor", {x, columns})[0], {2, 2}, {3, 1, 6, 4}));
  EXPECT_TRUE(
      near(run_decomposition("ai.onnx.ml.ArrayFeatureExtractor", {tensor(DType::f64, {3}, {7, 8, 9}), columns})[0], {1, 2}, {9, 7}));
}

}  // namespace
}  // namespace minnow::test
