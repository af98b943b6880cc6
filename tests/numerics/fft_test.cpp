// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <minnow/numerics.h>

#include <numbers>

#include "base/numeric.h"
#include "numerics/matrices.h"

namespace minnow::numerics {
namespace {

/// By the definition, in long double.
std::vector<Complex> plain(const Complex* x, size_t n, int sign) {
  std::vector<std::complex<long double>> roots(n);
  for (size_t k = 0; k < n; ++k) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), static_cast<long double>(sign) * std::sin(angle)};
  }
  std::vector<Complex> y(n);
  for (size_t k = 0; k < n; ++k) {
    long double re = 0, im = 0;
    for (size_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) {
      re += x[j].real() * roots[at].real() - x[j].imag() * roots[at].imag();
      im += x[j].real() * roots[at].imag() + x[j].imag() * roots[at].real();
    }
    y[k] = {static_cast<double>(re), static_cast<double>(im)};
  }
  return y;
}
void expect_rows(const Tensor& found, const std::vector<Complex>& expected) {
  const std::vector<Complex> values = values_of<Complex>(found);
  ASSERT_EQ(values.size(), expected.size());
  double most = 1;
  for (const Complex& value : expected) most = std::max(most, std::abs(value));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_LT(std::abs(values[i] - expected[i]), 1e-14 * most * 4) << i;
}

// Every small length; primes beyond the largest factor (a convolution); powers and products (a matrix).
std::vector<int64_t> lengths() {
  std::vector<int64_t> all;
  for (int64_t n = 1; n <= 40; ++n) all.push_back(n);
  for (const int64_t n : {49, 53, 60, 62, 64, 74, 81, 97, 100, 128, 211, 243, 256, 341, 360, 500, 512, 625, 1000, 1009, 1024})
    all.push_back(n);
  return all;
}

TEST(Fft, every_length_is_the_sum_of_its_definition) {
  for (const int64_t n : lengths())
    for (const int64_t rows : {1, 3}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << n);
      const Tensor x = random_matrices<Complex>({rows, n}, static_cast<uint64_t>(n));
      std::vector<Complex> expected;
      for (int64_t r = 0; r < rows; ++r) {
        const std::vector<Complex> row = plain(x.data<Complex>() + r * n, static_cast<size_t>(n), -1);
        expected.insert(expected.end(), row.begin(), row.end());
      }
      const Tensor y = fft(x);
      EXPECT_EQ(y.shape(), x.shape());
      expect_rows(y, expected);
      EXPECT_LT(difference<Complex>(inverse_fft(y), x), 1e-14);
    }
}

TEST(Fft, real_rows_give_the_first_half) {
  for (const int64_t n : lengths()) {
    SCOPED_TRACE(n);
    const Tensor x = random_matrices<double>({2, n}, 3);
    const Tensor half = real_fft(x), whole = fft(x);
    ASSERT_EQ(half.shape(), (Shape{2, n / 2 + 1}));
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t k = 0; k <= n / 2; ++k)
        EXPECT_LT(std::abs(half.data<Complex>()[r * (n / 2 + 1) + k] - whole.data<Complex>()[r * n + k]), 1e-12) << k;
    const Tensor back = inverse_real_fft(half, n);
    EXPECT_EQ(back.dtype(), DType::f64);
    EXPECT_LT(difference<double>(back, x), 1e-14);
  }
}

TEST(Fft, long_rows_keep_their_accuracy) {
  for (const int64_t n : {int64_t{1} << 18, int64_t{3} * 5 * 7 * 11 * 13 * 16, int64_t{100003}}) {
    SCOPED_TRACE(n);
    // A wave of one frequency becomes one number.
    const int64_t frequency = n / 3;
    Tensor x(DType::complex128, {n});
    for (int64_t j = 0; j < n; ++j) {
      const long double angle =
          2 * std::numbers::pi_v<long double> * static_cast<long double>(j * frequency % n) / static_cast<long double>(n);
      x.writable().data<Complex>()[j] = {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
    }
    const Tensor y = fft(x);
    double most = 0;
    for (int64_t k = 0; k < n; ++k)
      most = std::max(most, std::abs(y.data<Complex>()[k] - (k == frequency ? Complex(static_cast<double>(n)) : Complex(0))));
    EXPECT_LT(most, 1e-12 * static_cast<double>(n));
    EXPECT_LT(difference<Complex>(inverse_fft(y), x), 1e-14);
  }
}

TEST(Fft, takes_every_numeric_dtype) {
  const std::vector<double> numbers = {0, 1, 1, 0, 1, 0, 0, 1, 1};
  const std::vector<Complex> given(numbers.begin(), numbers.end());
  const std::vector<Complex> expected = plain(given.data(), given.size(), -1);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32,
                            DType::u32, DType::i64, DType::u64, DType::boolean}) {
    SCOPED_TRACE(name_of(dtype));
    Tensor x(dtype, {9});
    narrow(dtype, numbers.data(), numbers.size(), x.writable().data());
    expect_rows(fft(x), expected);
  }
  Tensor x(DType::complex64, {9});
  for (size_t i = 0; i < 9; ++i) x.writable().data<std::complex<float>>()[i] = static_cast<float>(numbers[i]);
  expect_rows(fft(x), expected);
}

TEST(Fft, empty_stacks_and_impossible_rows) {
  EXPECT_EQ(fft(Tensor(DType::f64, {0, 8})).shape(), (Shape{0, 8}));
  EXPECT_EQ(real_fft(Tensor(DType::f64, {2, 0, 8})).shape(), (Shape{2, 0, 5}));
  EXPECT_THROW(fft(Tensor(DType::f64, {3, 0})), Error);
  EXPECT_THROW(fft(Tensor(DType::f64, {})), Error);
  EXPECT_THROW(real_fft(Tensor(DType::complex128, {4})), Error);
  EXPECT_THROW(inverse_real_fft(Tensor(DType::complex128, {4}), 8), Error);  // takes 5
  EXPECT_THROW(inverse_real_fft(Tensor(DType::complex128, {1}), 0), Error);
}

}  // namespace
}  // namespace minnow::numerics
