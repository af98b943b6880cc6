// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/any_all.h"

#include <bit>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

class AnyAllTest : public EveryIsa {
 protected:
  /// All elements zero, or all true, but for one at each of some places; a top bit that is not kept counts nothing.
  template <class T>
  void expect_found() {
    const AnyAllLoops& loops = kernels_for(GetParam()).any_all->loops[std::countr_zero(sizeof(T))];
    const T top = static_cast<T>(T{1} << (sizeof(T) * 8 - 1)), keep = static_cast<T>(~top);
    for (const bool zero : {false, true}) {
      const T usual = zero ? T{2} : top, other = zero ? top : T{1};
      for (const size_t n : {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 100, 1000, 9000}) {
        SCOPED_TRACE(testing::Message() << sizeof(T) << " " << zero << " " << n);
        std::vector<T> x(n + 1, usual);
        x[n] = other;  // is not looked at
        EXPECT_FALSE(loops.found(x.data(), n, keep, zero));
        for (size_t place = 0; place < n; place += 1 + n / 60) {
          x[place] = other;
          EXPECT_TRUE(loops.found(x.data(), n, keep, zero)) << place;
          x[place] = usual;
        }
      }
      for (const size_t rows : {1, 7, 8, 9, 150})
        for (const size_t columns : {1, 3, 17, 64, 130, 8200}) {
          SCOPED_TRACE(testing::Message() << sizeof(T) << " " << zero << " " << rows << " x " << columns);
          const size_t stride = columns + 1;
          std::vector<T> x(rows * stride, usual);
          std::vector<uint8_t> want(columns, 0), y(columns + 1, 9);
          for (size_t i = 0; i < columns; i += 3) x[(i * 7 % rows) * stride + i] = other, want[i] = 1;
          loops.found_in_columns(x.data(), rows, stride, columns, keep, zero, y.data());
          EXPECT_EQ(y.back(), 9);  // nothing is written beyond
          y.pop_back();
          EXPECT_EQ(y, want);
          std::fill(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(stride), other);  // decided by the first row
          loops.found_in_columns(x.data(), rows, stride, columns, keep, zero, y.data());
          EXPECT_EQ(y, std::vector<uint8_t>(columns, 1));
        }
    }
  }
};

TEST_P(AnyAllTest, elements_are_found_wherever_they_are) {
  expect_found<uint8_t>();
  expect_found<uint16_t>();
  expect_found<uint32_t>();
  expect_found<uint64_t>();
}

MINNOW_EVERY_ISA(AnyAllTest);

}  // namespace
}  // namespace minnow::cpu
