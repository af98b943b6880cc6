// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/rows.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

constexpr size_t kReductions = static_cast<size_t>(Reduction::count);
constexpr size_t kLengths[] = {1, 3, 15, 16, 17, 64, 65, 1000, 5003};

double plain_reduction(Reduction kind, const float* x, size_t count, size_t stride) {
  double total = kind == Reduction::max || kind == Reduction::min ? x[0] : kind == Reduction::product ? 1 : 0;
  for (size_t i = 0; i < count; ++i) {
    const double value = x[i * stride];
    switch (kind) {
      case Reduction::sum:
        total += value;
        break;
      case Reduction::sum_abs:
        total += std::fabs(value);
        break;
      case Reduction::sum_square:
        total += value * value;
        break;
      case Reduction::max:
        total = std::max(total, value);
        break;
      case Reduction::min:
        total = std::min(total, value);
        break;
      default:
        total *= value;
    }
  }
  return total;
}

/// Near 1 where many of them are multiplied.
std::vector<float> numbers_for(Reduction kind, size_t count) {
  std::vector<float> x = random_floats(count, 3);
  if (kind == Reduction::product)
    for (float& value : x) value = 1 + value * 0.01f;
  return x;
}

class RowsTest : public EveryIsa {
 protected:
  const RowKernels& rows() const { return *kernels_for(GetParam()).rows; }
};

TEST_P(RowsTest, reductions_of_a_row) {
  for (size_t kind = 0; kind < kReductions; ++kind)
    for (const size_t count : kLengths) {
      std::vector<float> x = numbers_for(Reduction(kind), count);
      double scale = 0;  // what may cancel
      for (const float value : x) scale += kind == size_t(Reduction::sum) ? std::fabs(value) : 0;
      const double want = plain_reduction(Reduction(kind), x.data(), count, 1);
      EXPECT_NEAR(rows().reduce[kind](x.data(), count), want, 1e-5 * (std::fabs(want) + scale)) << kind << " of " << count;
      x[count / 2] = NAN;
      EXPECT_TRUE(std::isnan(rows().reduce[kind](x.data(), count))) << kind << " of " << count;
    }
}

TEST_P(RowsTest, reductions_of_columns) {
  for (size_t kind = 0; kind < kReductions; ++kind)
    for (const size_t count : {1, 15, 16, 17, 65})
      for (const size_t height : {1, 2, 7, 300}) {
        const size_t stride = count + 3;
        const std::vector<float> x = numbers_for(Reduction(kind), height * stride), more = numbers_for(Reduction(kind), stride);
        std::vector<float> total(count + 1, -7);
        rows().reduce_columns[kind](x.data(), height, stride, count, true, total.data());
        EXPECT_EQ(total[count], -7);
        for (size_t i = 0; i < count; ++i) {
          const double want = plain_reduction(Reduction(kind), x.data() + i, height, stride);
          EXPECT_NEAR(total[i], want, 1e-4 * (1 + std::fabs(want))) << kind << ", column " << i << " of " << height;
        }
        // One more row is joined with the previous result.
        std::vector<float> both(x.begin(), x.end());
        both.insert(both.end(), more.begin(), more.end());
        rows().reduce_columns[kind](more.data(), 1, stride, count, false, total.data());
        for (size_t i = 0; i < count; ++i) {
          const double want = plain_reduction(Reduction(kind), both.data() + i, height + 1, stride);
          EXPECT_NEAR(total[i], want, 1e-4 * (1 + std::fabs(want))) << kind << ", column " << i << " of " << height << " and one";
        }
      }
}

TEST_P(RowsTest, softmax_and_its_logarithm) {
  for (const size_t count : kLengths)
    for (const float shift : {0.0f, 1000.0f, -1000.0f}) {  // exponentials alone would overflow or vanish
      std::vector<float> x = random_floats(count, 5, 3);
      for (float& value : x) value += shift;
      const double largest = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (const float value : x) sum += std::exp(value - largest);
      std::vector<double> want(count), logarithms(count);
      for (size_t i = 0; i < count; ++i) want[i] = std::exp(x[i] - largest) / sum, logarithms[i] = x[i] - largest - std::log(sum);
      std::vector<float> y(count);
      rows().softmax(x.data(), count, y.data());
      EXPECT_TRUE(close(y, want)) << count;
      rows().log_softmax(x.data(), count, y.data());
      EXPECT_TRUE(close(y, logarithms)) << count;
      rows().softmax(x.data(), count, x.data());  // in place
      EXPECT_TRUE(close(x, want)) << count;
    }
}

TEST_P(RowsTest, normalization) {
  for (const size_t count : kLengths) {
    std::vector<float> x = random_floats(count, 7);
    for (float& value : x) value += 3;
    const std::vector<float> scale = random_floats(count, 8), bias = random_floats(count, 9);
    const double mean = plain_reduction(Reduction::sum, x.data(), count, 1) / double(count);
    double variance = 0;
    for (const float value : x) variance += (value - mean) * (value - mean) / double(count);
    float got_mean = 0, inverse = 0;
    rows().moments(x.data(), count, 0.01f, &got_mean, &inverse);
    EXPECT_NEAR(got_mean, mean, 1e-5 * 4) << count;
    EXPECT_NEAR(inverse, 1 / std::sqrt(variance + 0.01), 1e-4 * inverse) << count;
    std::vector<float> y(count);
    std::vector<double> want(count);
    for (const float* shift : {bias.data(), static_cast<const float*>(nullptr)}) {
      for (size_t i = 0; i < count; ++i) want[i] = (x[i] - got_mean) * double(inverse) * scale[i] + (shift ? shift[i] : 0);
      rows().standardize(x.data(), count, got_mean, inverse, scale.data(), shift, y.data());
      EXPECT_TRUE(close(y, want)) << count;
    }
    double product = 0, size = 0;
    for (size_t i = 0; i < count; ++i) product += double(x[i]) * scale[i], size += std::fabs(double(x[i]) * scale[i]);
    EXPECT_NEAR(rows().dot(x.data(), scale.data(), count), product, 1e-5 * size) << count;
  }
}

TEST_P(RowsTest, lanes) {
  const size_t lanes = kernels_for(GetParam()).lanes;
  for (const size_t pixels : {1, 2, 9, 700}) {
    const std::vector<float> x = random_floats(pixels * lanes, 11), scale = random_floats(lanes, 12), shift = random_floats(lanes, 13);
    std::vector<float> mean(lanes), inverse(lanes), y(pixels * lanes);
    rows().lane_moments(x.data(), pixels, 0.5f, mean.data(), inverse.data());
    rows().lane_affine(x.data(), pixels, scale.data(), shift.data(), y.data());
    for (size_t l = 0; l < lanes; ++l) {
      const double want = plain_reduction(Reduction::sum, x.data() + l, pixels, lanes) / double(pixels);
      double variance = 0;
      for (size_t p = 0; p < pixels; ++p) variance += (x[p * lanes + l] - want) * (x[p * lanes + l] - want) / double(pixels);
      EXPECT_NEAR(mean[l], want, 1e-5) << pixels;
      EXPECT_NEAR(inverse[l], 1 / std::sqrt(variance + 0.5), 1e-5) << pixels;
    }
    std::vector<double> want(pixels * lanes);
    for (size_t i = 0; i < want.size(); ++i) want[i] = double(x[i]) * scale[i % lanes] + shift[i % lanes];
    EXPECT_TRUE(close(y, want)) << pixels;
  }
}

MINNOW_EVERY_ISA(RowsTest);

}  // namespace
}  // namespace minnow::cpu
