// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backends/cpu/kernel_support.h"
#include "numpy/kernels/kernels.h"

namespace minnow::numpy {
namespace {

class NumpySortTest : public cpu::EveryIsa {
 protected:
  template <class T>
  void expect_order(const SortLoops<T>& loops, std::vector<T> x) {
    std::vector<T> expected = x, other(x.size() + kSortPadding + 1, T{77});
    std::sort(expected.begin(), expected.end());
    std::vector<T> halves = x, moved = x, selected = x;
    moved.resize(other.size(), T{77});
    loops.sort(x.data(), x.size(), other.data(), false);
    EXPECT_EQ(x, expected);
    EXPECT_EQ(other.back(), 77);  // nothing is written beyond
    std::vector<T> into(x.size());
    loops.sort(into.data(), into.size(), moved.data(), true);
    EXPECT_EQ(into, expected);
    if (halves.empty()) return;
    for (const size_t k : {size_t{0}, x.size() / 3, x.size() - 1}) {
      loops.select(selected.data(), selected.size(), k, other.data());
      const auto place = selected.begin() + static_cast<std::ptrdiff_t>(k);
      EXPECT_EQ(*place, expected[k]);
      EXPECT_EQ(*std::max_element(selected.begin(), place + 1), *place);
      EXPECT_EQ(*std::min_element(place, selected.end()), *place);
    }
    EXPECT_EQ(other.back(), 77);
    std::sort(selected.begin(), selected.end());
    EXPECT_EQ(selected, expected);
    const auto low = static_cast<std::ptrdiff_t>(loops.partition(halves.data(), halves.size(), other.data()));
    std::copy(other.begin() + low, other.begin() + static_cast<std::ptrdiff_t>(halves.size()), halves.begin() + low);
    if (low > 0) {
      EXPECT_LT(*std::max_element(halves.begin(), halves.begin() + low), *std::min_element(halves.begin() + low, halves.end()));
    }
    std::sort(halves.begin(), halves.end());
    EXPECT_EQ(halves, expected);
  }

  template <class T>
  void expect_orders(const SortLoops<T>& loops) {
    std::mt19937_64 generator(1);
    for (const size_t n : {0, 1, 2, 3, 7, 15, 16, 17, 31, 64, 65, 100, 127, 128, 129, 200, 256, 257, 300, 1000, 5000, 20000}) {
      SCOPED_TRACE(n);
      std::vector<T> x(n);
      for (T& value : x) value = static_cast<T>(generator());
      expect_order(loops, x);
      for (T& value : x) value %= 5;  // many equals
      expect_order(loops, x);
      for (T& value : x) value = value < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
      expect_order(loops, x);
      for (size_t i = 0; i < n; ++i) x[i] = static_cast<T>(i);
      expect_order(loops, x);
      for (size_t i = 0; i < n; ++i) x[i] = static_cast<T>(i < n / 2 ? i : n - i);  // rises and falls
      expect_order(loops, x);
      std::fill(x.begin(), x.end(), T{3});
      expect_order(loops, x);
    }
  }

  template <class T, class F>
  void expect_keys(const SortLoops<T>& loops) {
    constexpr F kInfinity = std::numeric_limits<F>::infinity(), kNan = std::numeric_limits<F>::quiet_NaN();
    std::vector<F> rising = {-kInfinity, F{-3}, -std::numeric_limits<F>::denorm_min(), -F{0}, F{0}, F{1e-30f}, F{1}, F{2}, kInfinity, kNan};
    rising.insert(rising.end(), 9, -kNan);
    std::vector<T> bits, keys(rising.size());
    for (const F value : rising) bits.push_back(std::bit_cast<T>(value));
    loops.keys_of_floats(bits.data(), bits.size(), keys.data());
    for (size_t i = 1; i < keys.size(); ++i) EXPECT_TRUE(i == 4 || i > 9 ? keys[i - 1] == keys[i] : keys[i - 1] < keys[i]) << i;
    loops.floats_of_keys(keys.data(), keys.size(), keys.data());
    for (size_t i = 0; i < 9; ++i) EXPECT_EQ(keys[i], i == 3 ? 0 : bits[i]);
    for (size_t i = 9; i < keys.size(); ++i) EXPECT_TRUE(std::isnan(std::bit_cast<F>(keys[i])));
  }
  const SortKernels& kernels_ = *numpy_kernels(GetParam()).sort;
};

TEST_P(NumpySortTest, sorts_and_partitions_as_the_standard_library) {
  expect_orders(kernels_.of32);
  expect_orders(kernels_.of64);
}

TEST_P(NumpySortTest, keys_are_in_the_order_of_floats_with_nan_last) {
  expect_keys<int32_t, float>(kernels_.of32);
  expect_keys<int64_t, double>(kernels_.of64);
}

MINNOW_EVERY_ISA(NumpySortTest);

}  // namespace
}  // namespace minnow::numpy
