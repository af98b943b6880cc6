// SPDX-License-Identifier: Apache-2.0
#include "compress/weights.h"

#include <gmock/gmock.h>

#include <cmath>

#include "support/random.h"

namespace minnow::compress {
namespace {

using test::normal_tensor;

double error_of(const float* w, size_t count, double scale, int most) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(w[i]);
    sum += std::pow(x - scale * std::min<double>(std::max<double>(std::nearbyint(x / scale), -most), most), 2);
  }
  return sum;
}

TEST(Weights, mse_is_as_good_as_a_fine_search) {
  const Rows rows = Rows::of(normal_tensor({5, 63}, 3), 0);
  for (const int most : {1, 3, 7, 63, 127})
    for (size_t c = 0; c < rows.channels; ++c) {
      const double whole = static_cast<double>(weight_method("minmax")->find({rows.row(c), rows.depth}, most));
      double least = 1e300;
      for (int i = 20; i <= 4000; ++i) least = std::min(least, error_of(rows.row(c), rows.depth, whole * i / 4000, most));
      const double found = static_cast<double>(weight_method("mse")->find({rows.row(c), rows.depth}, most));
      EXPECT_LE(error_of(rows.row(c), rows.depth, found, most), 1.03 * least) << most;
    }
}

TEST(Weights, rows_and_tensors_agree_along_either_axis) {
  for (const size_t axis : {0, 1}) {
    const Tensor w = normal_tensor({7, 3}, 3);
    const Rows rows = Rows::of(w, axis);
    const IntegerRows q = round_to_nearest(rows, weight_scales(rows, *weight_method("minmax"), 127, true, {}), 127);
    ASSERT_EQ(q.scales.size(), static_cast<size_t>(w.shape()[axis]));
    const Tensor integers = q.tensor(w.shape(), axis);
    for (int64_t i = 0; i < 7; ++i)
      for (int64_t k = 0; k < 3; ++k) {
        const float scale = q.scales[static_cast<size_t>(axis ? k : i)];
        EXPECT_NEAR(scale * static_cast<float>(integers.data<int8_t>()[i * 3 + k]), w.data<float>()[i * 3 + k], 0.501F * scale);
      }
  }
}

TEST(Weights, channels_of_zeros_and_least_scales) {
  Tensor w(DType::f32, {3, 4});
  for (int i = 4; i < 8; ++i) w.writable().data<float>()[i] = static_cast<float>(i);
  const Rows rows = Rows::of(w, 0);
  for (const WeightMethod& method : weight_method_table()) {
    const float least[] = {0, 2, 0.5F};
    const auto scales = weight_scales(rows, method, 127, true, least);
    EXPECT_EQ(scales, (std::vector<float>{1, 2, 0.5F})) << method.name;
    const IntegerRows q = round_to_nearest(rows, scales, 127);
    EXPECT_EQ(q.values[0], 0);
    EXPECT_EQ(q.values[7], 4);  // 7 / 2, ties to even
    EXPECT_EQ(weight_scales(rows, method, 127, false, {}).size(), 1u);
  }
}

TEST(Weights, integers_stay_symmetric) {
  const Rows rows = Rows::of(normal_tensor({4, 100}, 3), 0);
  for (const int most : {1, 7, 127}) {
    const IntegerRows q = round_to_nearest(rows, weight_scales(rows, *weight_method("mse"), most, true, {}), most);
    for (const int8_t value : q.values) EXPECT_LE(std::abs(int{value}), most);
  }
}

}  // namespace
}  // namespace minnow::compress
