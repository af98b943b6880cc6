// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/min_max.h"

#include <cstring>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

class MinMaxTest : public EveryIsa {};

/// The first extreme in plain loops; NaN counts as the most extreme.
template <class T>
size_t place_of(bool largest, const T* x, size_t count, size_t stride) {
  size_t best = 0;
  for (size_t i = 1; i < count && x[best * stride] == x[best * stride]; ++i) {
    const T a = x[best * stride], b = x[i * stride];
    if (b != b || (largest ? b > a : b < a)) best = i;
  }
  return best;
}

template <class T>
void expect_extremes_of_plain_loops(Isa isa, DType dtype) {
  std::mt19937_64 generator(1);
  const auto bits = [](const T& x) {
    uint64_t result = 0;
    std::memcpy(&result, &x, sizeof(T));
    return result;
  };
  for (const bool largest : {false, true}) {
    const MinMax min_max = kernels_for(isa).min_max->of(dtype, largest);
    if (!min_max.loops) GTEST_SKIP() << "no kernels";
    const MinMaxLoops& loops = *min_max.loops;
    const ArgmaxLoops& places = kernels_for(isa).argmax->loops[number_row(dtype)];
    for (const size_t rows : {1, 2, 4, 5, 9, 33, 300})
      for (const size_t columns : {1, 3, 15, 16, 17, 63, 64, 65, 130, 517, 2065})
        for (int kind = 0; kind < 5; ++kind) {
          SCOPED_TRACE(testing::Message() << largest << " rows " << rows << " columns " << columns << " kind " << kind);
          const size_t stride = columns + 2;
          std::vector<T> x(rows * stride);
          for (T& value : x) {
            if constexpr (std::is_floating_point_v<T>)
              value = static_cast<T>(static_cast<double>(generator() % 2001) / 8 - 125);
            else
              value = static_cast<T>(generator() >> (kind == 1 ? 58 : 0));
          }
          if constexpr (std::is_floating_point_v<T>) {
            const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
            if (kind == 1) x[generator() % x.size()] = infinity, x[generator() % x.size()] = -infinity;
            if (kind == 2) x[generator() % x.size()] = nan;
            if (kind == 3)
              for (size_t i = 0; i < x.size(); i += 3) x[i] = i % 2 ? nan : -nan;
            if (kind == 4) std::fill(x.begin(), x.end(), largest ? -infinity : infinity);
          }
          T y = 0;
          loops.reduce(x.data(), columns, min_max.flip, &y);
          const size_t place = place_of(largest, x.data(), columns, 1);
          EXPECT_TRUE(y == x[place] || (y != y && x[place] != x[place])) << +y << " " << +x[place];
          EXPECT_EQ(places.find(x.data(), columns, &y), place);
          std::vector<T> most(columns + 1, 42);
          std::vector<int64_t> at(columns + 1, -1);
          loops.reduce_columns(x.data(), rows, stride, columns, min_max.flip, most.data());
          places.find_rows(x.data(), rows, stride, columns, most.data(), at.data());
          EXPECT_EQ(bits(most[columns]), bits(T(42)));
          EXPECT_EQ(at[columns], -1);
          for (size_t i = 0; i < columns; ++i) {
            const size_t row = place_of(largest, x.data() + i, rows, stride);
            const T want = x[row * stride + i];
            EXPECT_TRUE(most[i] == want || (most[i] != most[i] && want != want)) << i;
            EXPECT_EQ(at[i], static_cast<int64_t>(row)) << i;
          }
        }
  }
}

TEST_P(MinMaxTest, agree_with_plain_loops) {
  expect_extremes_of_plain_loops<int8_t>(GetParam(), DType::i8);
  expect_extremes_of_plain_loops<uint8_t>(GetParam(), DType::u8);
  expect_extremes_of_plain_loops<int16_t>(GetParam(), DType::i16);
  expect_extremes_of_plain_loops<uint16_t>(GetParam(), DType::u16);
  expect_extremes_of_plain_loops<int32_t>(GetParam(), DType::i32);
  expect_extremes_of_plain_loops<uint32_t>(GetParam(), DType::u32);
  expect_extremes_of_plain_loops<int64_t>(GetParam(), DType::i64);
  expect_extremes_of_plain_loops<uint64_t>(GetParam(), DType::u64);
  expect_extremes_of_plain_loops<float>(GetParam(), DType::f32);
  expect_extremes_of_plain_loops<double>(GetParam(), DType::f64);
}

TEST_P(MinMaxTest, are_none_of_what_is_not_as_wide_as_a_machines_number) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::i4, DType::complex64})
    EXPECT_FALSE(kernels_for(GetParam()).min_max->of(dtype, true).loops);
}

MINNOW_EVERY_ISA(MinMaxTest);

}  // namespace
}  // namespace minnow::cpu
