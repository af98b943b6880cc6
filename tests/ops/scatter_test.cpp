// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Attributes reduction(const char* name) { return {{"reduction", std::string(name)}}; }

TEST(ScatterElements, every_reduction) {
  const Tensor data = pattern({3, 4}), updates = pattern({2, 3}, 5), indices = Tensor::of_i64({2, 3}, Ints{0, -1, 2, 2, 0, 0});
  const auto run = [&](const char* name) { return run_operator("ScatterElements", {data, indices, updates}, reduction(name))[0]; };
  EXPECT_TRUE(near(run("add"), {3, 4}, {-1, 0.25, 0.5, -0.75, 1, 0, -1, 0.75, 0.25, -0.5, -0.25, -0.5}));
  EXPECT_TRUE(near(run("mul"), {3, 4}, {0.25, -1.25, 0.0625, -0.75, 1, 0, -1, 0.75, -0.125, -0.9375, -0.375, -0.5}));
  EXPECT_TRUE(near(run("max"), {3, 4}, {-0.5, 1.25, 0.25, -0.75, 1, 0, -1, 0.75, 0.5, 0.75, 0.5, -0.5}));
  EXPECT_TRUE(near(run("min"), {3, 4}, {-0.5, -1, 0.25, -0.75, 1, 0, -1, 0.75, -0.25, -1.25, -0.75, -0.5}));
  EXPECT_TRUE(near(run_operator("ScatterElements", {data, Tensor::of_i64({2, 3}, Ints{0, -1, 2, 2, 0, 1}), updates})[0], {3, 4},
                   {-0.5, -1, 0.25, -0.75, 1, 0, 0.25, 0.75, 0.5, 0.75, -0.75, -0.5}));
}

TEST(ScatterElements, several_updates_of_one_place_are_joined_before_rounding) {
  const auto half = [](const Shape& shape, const std::vector<double>& values) { return tensor(DType::f16, shape, values); };
  const Tensor zeros = Tensor::of_i64({4}, Ints{0, 0, 0, 0});
  EXPECT_TRUE(near(run_operator("ScatterElements", {half({1}, {2048}), zeros, half({4}, {1, 1, 1, 1})}, reduction("add"))[0], {1}, {2052}));
  EXPECT_TRUE(near(
      run_operator("ScatterElements", {tensor(DType::u8, {1}, {250}), zeros, tensor(DType::u8, {4}, {1, 2, 3, 4})}, reduction("add"))[0],
      {1}, {4}));
  const Tensor nan = run_operator(
      "ScatterElements",
      {Tensor::of_f32({2}, std::vector<float>{1, NAN}), Tensor::of_i64({2}, Ints{0, 1}), Tensor::of_f32({2}, std::vector<float>{NAN, 1})},
      reduction("max"))[0];
  EXPECT_TRUE(near(nan, {2}, {NAN, NAN}));
}

TEST(ScatterElements, largest_of_u64_is_unsigned) {
  const std::vector<uint64_t> data = {1}, updates = {~uint64_t{0}};
  const Tensor y = run_operator("ScatterElements",
                                {Tensor(TensorView(DType::u64, {1}, data.data())), Tensor::scalar_i64(0).reshaped({1}),
                                 Tensor(TensorView(DType::u64, {1}, updates.data()))},
                                reduction("max"))[0];
  EXPECT_EQ(*y.data<uint64_t>(), ~uint64_t{0});
}

TEST(ScatterElements, refuses) {
  EXPECT_THAT(error_of("ScatterElements", {pattern({2}), Tensor::of_i64({1}, Ints{2}), pattern({1})}), HasSubstr("index 2"));
  EXPECT_THAT(error_of("ScatterElements", {pattern({2}), Tensor::of_i64({1}, Ints{1}), pattern({2})}), HasSubstr("one shape"));
  EXPECT_THAT(error_of("ScatterElements", {pattern({2}), Tensor::of_i64({1}, Ints{1}), pattern({1})}, reduction("sum")),
              HasSubstr("\"sum\""));
  EXPECT_THAT(error_of("ScatterElements", {pattern({2}), Tensor::of_i64({1}, Ints{1}), pattern({1}, 7, DType::f64)}),
              HasSubstr("is f64, it should be f32"));
  EXPECT_TRUE(near(run_operator("ScatterElements", {pattern({2}), Tensor::of_i64({0}, {}), pattern({0})})[0], {2}, {-0.5, 1.25}));
}

TEST(ScatterND, every_reduction) {
  const Tensor data = pattern({3, 4}), updates = pattern({3, 4}, 3), indices = Tensor::of_i64({3, 1}, Ints{1, -1, 1});
  const auto run = [&](const char* name) { return run_operator("ScatterND", {data, indices, updates}, reduction(name))[0]; };
  EXPECT_TRUE(near(run("add"), {3, 4}, {-0.5, 1.25, 0.25, -0.75, 0.5, 1, -1.25, -0.75, -0.5, -0.75, 1.75, -1.25}));
  EXPECT_TRUE(near(run("mul"), {3, 4}, {-0.5, 1.25, 0.25, -0.75, 0, 0, 1.25, 0.375, 0.0625, -0.625, 0.625, 0.375}));
  EXPECT_TRUE(near(run("max"), {3, 4}, {-0.5, 1.25, 0.25, -0.75, 1, 0.75, 1, 0.75, -0.25, 0.5, 1.25, -0.5}));
  EXPECT_TRUE(near(run("min"), {3, 4}, {-0.5, 1.25, 0.25, -0.75, -0.5, 0, -1.25, -1, -0.25, -1.25, 0.5, -0.75}));
}

TEST(ScatterND, replaces) {
  EXPECT_TRUE(near(run_operator("ScatterND", {pattern({3, 4}), Tensor::of_i64({2, 2}, Ints{0, 1, 2, -1}),
                                              Tensor::of_f32({2}, std::vector<float>{7, 8})})[0],
                   {3, 4}, {-0.5, 7, 0.25, -0.75, 1, 0, -1, 0.75, -0.25, -1.25, 0.5, 8}));
  EXPECT_TRUE(near(run_operator("ScatterND", {pattern({3, 4}), Tensor::of_i64({1, 0}, {}), pattern({1, 3, 4}, 5)})[0], {3, 4},
                   {-0.5, 0.75, -0.75, 0.5, -1, 0.25, -1.25, 0, 1.25, -0.25, 1, -0.5}));
  EXPECT_THAT(error_of("ScatterND", {pattern({2}), Tensor::of_i64({1, 1}, Ints{2}), pattern({1})}), HasSubstr("index 2"));
  EXPECT_THAT(error_of("ScatterND", {pattern({2}), Tensor::of_i64({1, 1}, Ints{0}), pattern({2})}), HasSubstr("do not fit"));
  EXPECT_THAT(error_of("ScatterND", {pattern({2}), Tensor::of_i64({1, 2}, Ints{0, 0}), pattern({1})}), HasSubstr("count along 2 axes"));
}

TEST(TensorScatter, writes_each_sample_at_its_place) {
  const Tensor cache = tensor(DType::i32, {2, 3, 1}, {0, 0, 0, 0, 0, 0}), update = tensor(DType::i32, {2, 2, 1}, {1, 2, 3, 4});
  EXPECT_TRUE(near(run_operator("TensorScatter", {cache, update})[0], {2, 3, 1}, {1, 2, 0, 3, 4, 0}));
  EXPECT_TRUE(near(run_operator("TensorScatter", {cache, update, Tensor::of_i64({2}, Ints{1, 0})})[0], {2, 3, 1}, {0, 1, 2, 3, 4, 0}));
  EXPECT_TRUE(near(run_operator("TensorScatter", {cache, update, Tensor::of_i64({2}, Ints{2, 4})}, {{"mode", std::string("circular")}})[0],
                   {2, 3, 1}, {2, 0, 1, 0, 3, 4}));
  EXPECT_THAT(error_of("TensorScatter", {cache, update, Tensor::of_i64({2}, Ints{0, 2})}), HasSubstr("sample 1 is written at 2"));
  EXPECT_THAT(error_of("TensorScatter", {cache, update}, {{"axis", int64_t{0}}}), HasSubstr("batch"));
}

}  // namespace
}  // namespace minnow::test
