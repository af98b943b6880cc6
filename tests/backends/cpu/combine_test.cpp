// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/combine.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

class CombineTest : public EveryIsa {
 protected:
  const CombineKernels& kernels() const { return *kernels_for(GetParam()).combine; }

  /// Numbers that wrap around, meet and are bounds; of floats with NaN, infinities and both zeros.
  template <class T>
  static std::vector<T> numbers(size_t count, uint32_t state) {
    std::vector<T> x(count);
    using L = std::numeric_limits<T>;
    const T special[] = {0, 1, L::max(), L::lowest(), L::has_quiet_NaN ? L::quiet_NaN() : T{3}, static_cast<T>(-1), static_cast<T>(-0.0)};
    for (T& each : x) {
      state = state * 1664525u + 1013904223u;
      each = state % 3 == 0 ? special[(state >> 8) % std::size(special)] : static_cast<T>(static_cast<int32_t>(state >> 8) % 100);
    }
    return x;
  }

  template <class T>
  static bool same(T a, T b) {
    return a == b || (a != a && b != b);
  }

  template <class T, class F>
  void expect_combined(DType dtype, Combination combination, F f) {
    const CombinationLoop loop = kernels().loop(dtype, combination);
    ASSERT_TRUE(loop);
    using R = decltype(f(T(), T()));
    using Y = std::conditional_t<std::is_same_v<R, bool>, uint8_t, T>;
    for (const size_t n : {0, 1, 7, 64, 1003}) {
      const std::vector<T> a = numbers<T>(n, 1), b = numbers<T>(n, 2);
      std::vector<Y> y(n + 1, Y{77});
      loop(a.data(), b.data(), n, y.data());
      for (size_t i = 0; i < n; ++i) ASSERT_TRUE(same(y[i], static_cast<Y>(f(a[i], b[i])))) << static_cast<int>(combination) << " " << i;
      EXPECT_EQ(y[n], Y{77});
      if constexpr (std::is_same_v<Y, T>) {  // in place
        std::vector<T> p = a, q = b;
        loop(p.data(), b.data(), n, p.data());
        loop(a.data(), q.data(), n, q.data());
        for (size_t i = 0; i < n; ++i) ASSERT_TRUE(same(p[i], y[i]) && same(q[i], y[i])) << static_cast<int>(combination) << " " << i;
      }
    }
  }
  template <class T>
  void expect_mapped(DType dtype, Mapping mapping, T (*f)(T)) {
    const MappingLoop loop = kernels().mapping(dtype, mapping);
    ASSERT_TRUE(loop);
    for (const size_t n : {0, 1, 7, 64, 1003}) {
      const std::vector<T> x = numbers<T>(n, 6);
      std::vector<T> y = x;
      loop(y.data(), n, y.data());
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], f(x[i])) << static_cast<int>(mapping) << " " << i;
    }
  }
  template <class T>
  void expect_comparisons(DType dtype) {
    expect_combined<T>(dtype, Combination::equal, [](T a, T b) { return a == b; });
    expect_combined<T>(dtype, Combination::less, [](T a, T b) { return a < b; });
    expect_combined<T>(dtype, Combination::less_equal, [](T a, T b) { return a <= b; });
  }
  template <class T>
  void expect_integers(DType dtype) {
    using U = uint64_t;
    expect_comparisons<T>(dtype);
    expect_combined<T>(dtype, Combination::add, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    expect_combined<T>(dtype, Combination::subtract, [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); });
    expect_combined<T>(dtype, Combination::multiply, [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
    expect_combined<T>(dtype, Combination::bit_and, [](T a, T b) { return static_cast<T>(a & b); });
    expect_combined<T>(dtype, Combination::bit_or, [](T a, T b) { return static_cast<T>(a | b); });
    expect_combined<T>(dtype, Combination::bit_xor, [](T a, T b) { return static_cast<T>(a ^ b); });
    expect_combined<T>(dtype, Combination::minimum, [](T a, T b) { return std::min(a, b); });
    expect_combined<T>(dtype, Combination::maximum, [](T a, T b) { return std::max(a, b); });
    expect_mapped<T>(dtype, Mapping::negate, [](T x) { return static_cast<T>(0 - static_cast<U>(x)); });
    expect_mapped<T>(dtype, Mapping::bit_not, [](T x) { return static_cast<T>(~static_cast<U>(x)); });
    if (std::is_signed_v<T>)
      expect_mapped<T>(dtype, Mapping::absolute, [](T x) { return static_cast<T>(x < 0 ? 0 - static_cast<U>(x) : static_cast<U>(x)); });
    expect_converted<T, int8_t>(dtype, DType::i8);
    expect_converted<T, uint16_t>(dtype, DType::u16);
    expect_converted<T, int32_t>(dtype, DType::i32);
    expect_converted<T, int64_t>(dtype, DType::i64);
    expect_converted<T, uint64_t>(dtype, DType::u64);
    expect_converted<T, float>(dtype, DType::f32);
    expect_converted<T, double>(dtype, DType::f64);
  }
  template <class From, class To>
  void expect_converted(DType from, DType to) {
    const MappingLoop loop = kernels().conversion(from, to);
    ASSERT_TRUE(loop);
    for (const size_t n : {0, 1, 7, 64, 1003}) {
      const std::vector<From> x = numbers<From>(n, 3);
      std::vector<To> y(n + 1, To{77});
      loop(x.data(), n, y.data());
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], static_cast<To>(x[i])) << i;
      EXPECT_EQ(y[n], To{77});
    }
  }
  template <class T>
  void expect_chosen() {
    for (const size_t n : {0, 1, 7, 64, 1003}) {
      const std::vector<T> a = numbers<T>(n, 4), b = numbers<T>(n, 5);
      std::vector<uint8_t> condition(n);
      for (size_t i = 0; i < n; ++i) condition[i] = i * i % 7 < 3;
      std::vector<T> y(n + 1, T{77});
      kernels().choose[std::countr_zero(sizeof(T))](condition.data(), a.data(), b.data(), n, y.data());
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], condition[i] ? a[i] : b[i]) << i;
      EXPECT_EQ(y[n], T{77});
    }
  }
};

TEST_P(CombineTest, integers_wrap_around_and_convert) {
  expect_integers<uint8_t>(DType::u8);
  expect_integers<int8_t>(DType::i8);
  expect_integers<uint16_t>(DType::u16);
  expect_integers<int16_t>(DType::i16);
  expect_integers<uint32_t>(DType::u32);
  expect_integers<int32_t>(DType::i32);
  expect_integers<uint64_t>(DType::u64);
  expect_integers<int64_t>(DType::i64);
}

TEST_P(CombineTest, floats_are_compared) {
  expect_comparisons<float>(DType::f32);
  expect_comparisons<double>(DType::f64);
  EXPECT_FALSE(kernels().loop(DType::f32, Combination::add) || kernels().loop(DType::i32, Combination::divide));
  EXPECT_FALSE(kernels().loop(DType::f16, Combination::equal) || kernels().loop(DType::boolean, Combination::add));
  EXPECT_FALSE(kernels().conversion(DType::f32, DType::i32) || kernels().conversion(DType::f16, DType::f32));
}

TEST_P(CombineTest, doubles) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_combined<double>(DType::f64, Combination::add, [](double a, double b) { return a + b; });
  expect_combined<double>(DType::f64, Combination::subtract, [](double a, double b) { return a - b; });
  expect_combined<double>(DType::f64, Combination::multiply, [](double a, double b) { return a * b; });
  expect_combined<double>(DType::f64, Combination::divide, [](double a, double b) { return a / b; });
  expect_combined<double>(DType::f64, Combination::minimum, [=](double a, double b) { return a != a || b != b ? nan : std::min(a, b); });
  expect_combined<double>(DType::f64, Combination::maximum, [=](double a, double b) { return a != a || b != b ? nan : std::max(a, b); });
}

TEST_P(CombineTest, truths) {
  const MappingLoop negation = kernels().mapping(DType::boolean, Mapping::logical_not);
  const uint8_t x[] = {0, 1, 1, 0};
  uint8_t y[4];
  negation(x, 4, y);
  EXPECT_EQ(std::vector<uint8_t>(y, y + 4), (std::vector<uint8_t>{1, 0, 0, 1}));
  EXPECT_FALSE(kernels().mapping(DType::boolean, Mapping::negate) || kernels().mapping(DType::f32, Mapping::negate));
  EXPECT_FALSE(kernels().mapping(DType::u8, Mapping::absolute));
}

TEST_P(CombineTest, elements_are_chosen) {
  expect_chosen<uint8_t>();
  expect_chosen<uint16_t>();
  expect_chosen<uint32_t>();
  expect_chosen<uint64_t>();
}

MINNOW_EVERY_ISA(CombineTest);

}  // namespace
}  // namespace minnow::cpu
