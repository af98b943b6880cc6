// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(ArgMax, ties_and_nan) {
  const Tensor x = tensor(DType::f32, {3, 4}, {2, 1, 2, 0, 3, 3, 0, 0, 1, kNaN, 5, kNaN});
  const Attributes rows{{"axis", int64_t{1}}, {"keepdims", int64_t{0}}};
  Attributes last = rows;
  last.set("select_last_index", int64_t{1});
  EXPECT_TRUE(near(run_operator("ArgMax", {x}, rows)[0], {3}, {0, 0, 1}));
  EXPECT_TRUE(near(run_operator("ArgMin", {x}, rows)[0], {3}, {3, 2, 1}));
  EXPECT_TRUE(near(run_operator("ArgMax", {x}, last)[0], {3}, {2, 1, 3}));
  EXPECT_TRUE(near(run_operator("ArgMin", {x}, last)[0], {3}, {3, 3, 3}));
}

TEST(ArgMax, axes_and_dims) {
  const Tensor x = pattern({2, 3, 2});
  EXPECT_EQ(run_operator("ArgMax", {x})[0].dtype(), DType::i64);
  EXPECT_TRUE(near(run_operator("ArgMax", {x})[0], {1, 3, 2}, {0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(near(run_operator("ArgMin", {x}, {{"axis", int64_t{-2}}})[0], {2, 1, 2}, {0, 1, 0, 1}));
  EXPECT_TRUE(
      near(run_operator("ArgMax", {tensor(DType::i8, {2, 3}, {3, -3, 3, -3, 3, -3})}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}})[0],
           {2}, {0, 1}));
  Tensor large(DType::u64, Shape{2});
  large.writable().data<uint64_t>()[0] = 1, large.writable().data<uint64_t>()[1] = std::numeric_limits<uint64_t>::max();
  EXPECT_TRUE(near(run_operator("ArgMax", {large})[0], {1}, {1}));
}

TEST(ArgMax, nothing) {
  EXPECT_TRUE(near(run_operator("ArgMax", {tensor(DType::f32, {0, 3}, {})}, {{"axis", int64_t{1}}})[0], {0, 1}, {}));
  EXPECT_THAT(error_of("ArgMax", {tensor(DType::f32, {0, 3}, {})}), HasSubstr("no elements to choose from"));
  EXPECT_THAT(error_of("ArgMin", {tensor(DType::f32, {}, {1})}), HasSubstr("out of range for rank 0"));
}

TEST(TopK, equals_keep_their_order) {
  const Tensor x = tensor(DType::f32, {3, 4}, {3, 1, 3, 2, 0, 5, 5, 5, 4, 4, 4, 4});
  const std::vector<Tensor> largest = run_operator("TopK", {x, Tensor::of_i64({1}, std::vector<int64_t>{3})}, {}, 2);
  EXPECT_TRUE(near(largest[0], {3, 3}, {3, 3, 2, 5, 5, 5, 4, 4, 4}));
  EXPECT_TRUE(near(largest[1], {3, 3}, {0, 2, 3, 1, 2, 3, 0, 1, 2}));
  const std::vector<Tensor> smallest =
      run_operator("TopK", {x, Tensor::of_i64({1}, std::vector<int64_t>{2})}, {{"axis", int64_t{0}}, {"largest", int64_t{0}}}, 2);
  EXPECT_TRUE(near(smallest[0], {2, 4}, {0, 1, 3, 2, 3, 4, 4, 4}));
  EXPECT_TRUE(near(smallest[1], {2, 4}, {1, 0, 0, 0, 0, 2, 2, 2}));
}

TEST(TopK, middle_axis) {
  const std::vector<Tensor> y = run_operator("TopK", {pattern({2, 3, 2}), Tensor::of_i64({1}, std::vector<int64_t>{2})},
                                             {{"axis", int64_t{1}}, {"sorted", int64_t{0}}}, 2);
  EXPECT_TRUE(near(y[0], {2, 2, 2}, {1, 1.25, 0.25, 0, 0.5, 0.75, -0.25, -0.5}));
  EXPECT_TRUE(near(y[1], {2, 2, 2}, {2, 0, 1, 2, 2, 0, 1, 2}));
}

TEST(TopK, nan_counts_as_the_largest) {
  const Tensor x = tensor(DType::f32, {4}, {1, kNaN, kInf, -kInf}), k = Tensor::of_i64({1}, std::vector<int64_t>{2});
  EXPECT_TRUE(near(run_operator("TopK", {x, k}, {}, 2)[1], {2}, {1, 2}));
  EXPECT_TRUE(near(run_operator("TopK", {x, k}, {{"largest", int64_t{0}}}, 2)[1], {2}, {3, 0}));
}

TEST(TopK, bounds) {
  const auto k = [](int64_t count) { return Tensor::of_i64({1}, std::vector<int64_t>{count}); };
  EXPECT_TRUE(near(run_operator("TopK", {pattern({2, 3}), k(0)}, {}, 2)[0], {2, 0}, {}));
  EXPECT_THAT(error_of("TopK", {pattern({2, 3}), k(4)}, {}, 2), HasSubstr("4 elements are asked for, axis 1 of shape [2, 3] has 3"));
  EXPECT_THAT(error_of("TopK", {pattern({2, 3}), k(-1)}, {}, 2), HasSubstr("-1 elements"));
}

TEST(Cumulative, every_direction) {
  struct Row {
    std::string_view op;
    int64_t axis, exclusive, reverse;
    std::vector<double> y;
  };
  const Row rows[] = {
      {"CumSum", 0, 0, 0, {-0.5, 1.25, 0.25, -0.75, 1, 0, -1.5, 2, 0, -2, 1.5, -0.5}},
      {"CumSum", 0, 0, 1, {-1.5, 2, 0, -2, 1.5, -0.5, -1, 0.75, -0.25, -1.25, 0.5, -0.5}},
      {"CumSum", 0, 1, 0, {0, 0, 0, 0, 0, 0, -0.5, 1.25, 0.25, -0.75, 1, 0}},
      {"CumSum", 0, 1, 1, {-1, 0.75, -0.25, -1.25, 0.5, -0.5, 0, 0, 0, 0, 0, 0}},
      {"CumSum", 1, 0, 0, {-0.5, 1.25, -0.25, 0.5, 0.75, 0.5, -1, 0.75, -1.25, -0.5, -0.75, -1}},
      {"CumSum", 1, 0, 1, {0.75, 0.5, 1.25, -0.75, 1, 0, -0.75, -1, 0.25, -1.75, 0.5, -0.5}},
      {"CumSum", 1, 1, 0, {0, 0, -0.5, 1.25, -0.25, 0.5, 0, 0, -1, 0.75, -1.25, -0.5}},
      {"CumSum", 1, 1, 1, {1.25, -0.75, 1, 0, 0, 0, 0.25, -1.75, 0.5, -0.5, 0, 0}},
      {"CumSum", -1, 0, 0, {-0.5, 0.75, 0.25, -0.5, 1, 1, -1, -0.25, -0.25, -1.5, 0.5, 0}},
      {"CumSum", -1, 0, 1, {0.75, 1.25, -0.5, -0.75, 1, 0, -0.25, 0.75, -1.5, -1.25, 0, -0.5}},
      {"CumSum", -1, 1, 0, {0, -0.5, 0, 0.25, 0, 1, 0, -1, 0, -0.25, 0, 0.5}},
      {"CumSum", -1, 1, 1, {1.25, 0, -0.75, 0, 0, 0, 0.75, 0, -1.25, 0, -0.5, 0}},
      {"CumProd", 0, 0, 0, {-0.5, 1.25, 0.25, -0.75, 1, 0, 0.5, 0.9375, -0.0625, 0.9375, 0.5, -0.0}},
      {"CumProd", 0, 0, 1, {0.5, 0.9375, -0.0625, 0.9375, 0.5, -0.0, -1, 0.75, -0.25, -1.25, 0.5, -0.5}},
      {"CumProd", 0, 1, 0, {1, 1, 1, 1, 1, 1, -0.5, 1.25, 0.25, -0.75, 1, 0}},
      {"CumProd", 0, 1, 1, {-1, 0.75, -0.25, -1.25, 0.5, -0.5, 1, 1, 1, 1, 1, 1}},
      {"CumProd", 1, 0, 0, {-0.5, 1.25, -0.125, -0.9375, -0.125, -0.0, -1, 0.75, 0.25, -0.9375, 0.125, 0.46875}},
      {"CumProd", 1, 0, 1, {-0.125, -0.0, 0.25, -0.0, 1, 0, 0.125, 0.46875, -0.125, 0.625, 0.5, -0.5}},
      {"CumProd", 1, 1, 0, {1, 1, -0.5, 1.25, -0.125, -0.9375, 1, 1, -1, 0.75, 0.25, -0.9375}},
      {"CumProd", 1, 1, 1, {0.25, -0.0, 1, 0, 1, 1, -0.125, 0.625, 0.5, -0.5, 1, 1}},
      {"CumProd", -1, 0, 0, {-0.5, -0.625, 0.25, -0.1875, 1, 0, -1, -0.75, -0.25, 0.3125, 0.5, -0.25}},
      {"CumProd", -1, 0, 1, {-0.625, 1.25, -0.1875, -0.75, 0, 0, -0.75, 0.75, 0.3125, -1.25, -0.25, -0.5}},
      {"CumProd", -1, 1, 0, {1, -0.5, 1, 0.25, 1, 1, 1, -1, 1, -0.25, 1, 0.5}},
      {"CumProd", -1, 1, 1, {1.25, 1, -0.75, 1, 0, 1, 0.75, 1, -1.25, 1, -0.5, 1}},
  };
  for (const Row& row : rows)
    EXPECT_TRUE(near(run_operator(row.op, {pattern({2, 3, 2}), Tensor::scalar_i64(row.axis)},
                                  {{"exclusive", row.exclusive}, {"reverse", row.reverse}})[0],
                     {2, 3, 2}, row.y))
        << row.op << row.axis << row.exclusive << row.reverse;
}

TEST(Cumulative, integers_wrap_around) {
  EXPECT_TRUE(near(run_operator("CumSum", {tensor(DType::i32, {3}, {2147483647, 1, 1}), tensor(DType::i32, {}, {0})})[0], {3},
                   {2147483647, -2147483648.0, -2147483647}, 0));
  EXPECT_TRUE(near(run_operator("CumProd", {tensor(DType::u32, {2}, {4294967295, 2}), tensor(DType::i32, {1}, {-1})})[0], {2},
                   {4294967295, 4294967294}, 0));
}

TEST(Cumulative, empty_and_errors) {
  EXPECT_TRUE(near(run_operator("CumSum", {tensor(DType::f32, {2, 0}, {}), Tensor::scalar_i64(1)})[0], {2, 0}, {}));
  EXPECT_THAT(error_of("CumSum", {pattern({2}), Tensor::scalar_i64(1)}), HasSubstr("axis 1 is out of range for rank 1"));
  EXPECT_THAT(error_of("CumProd", {tensor(DType::f32, {}, {1}), Tensor::scalar_i64(0)}), HasSubstr("out of range for rank 0"));
}

}  // namespace
}  // namespace minnow::test
