// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/loops/strided_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace minnow::cpu {
namespace {

/// Copies element by element, and expects the same of StridedCopy, its pieces in any order.
void expect_copy(const std::vector<StridedCopy::Axis>& axes, int64_t to_offset, int64_t from_offset, size_t from_elements,
                 size_t to_elements) {
  for (const size_t size : {1, 2, 4, 8, 16}) {
    std::vector<uint8_t> from(from_elements * size), want(to_elements * size, 0xee), got = want;
    std::iota(from.begin(), from.end(), uint8_t{1});
    std::vector<int64_t> index(axes.size());
    for (;;) {
      int64_t to = to_offset, source = from_offset;
      for (size_t i = 0; i < axes.size(); ++i) to += index[i] * axes[i].to, source += index[i] * axes[i].from;
      std::memcpy(want.data() + size_t(to) * size, from.data() + size_t(source) * size, size);
      size_t i = axes.size();
      while (i > 0 && ++index[i - 1] == axes[i - 1].extent) index[--i] = 0;
      if (i == 0) break;
    }
    const StridedCopy copy(axes, to_offset, from_offset, size);
    for (size_t piece = copy.pieces(); piece-- > 0;) copy.run(piece, from.data(), got.data());
    EXPECT_EQ(got, want) << size << " bytes an element";
  }
}

TEST(StridedCopy, transposes) {
  for (const auto& [rows, columns] : {std::pair(1, 1), {3, 5}, {16, 17}, {64, 130}, {1, 40}})
    expect_copy({{columns, rows, 1}, {rows, 1, columns}}, 0, 0, size_t(rows * columns), size_t(rows * columns));
}

TEST(StridedCopy, regions_broadcasts_and_reversals) {
  expect_copy({{4, 30, 21}, {5, 3, 2}}, 2, 1, 21 * 4, 130);  // every other column into every third
  expect_copy({{4, 6, 0}, {6, 1, 1}}, 0, 2, 10, 24);         // a row for all
  expect_copy({{3, 5, 5}, {5, 1, -1}}, 0, 4, 15, 15);        // rows from behind
  expect_copy({{3, 1, 0}}, 0, 0, 1, 3);                      // one element for all
}

TEST(StridedCopy, axes_that_lie_one_after_another_are_one) {
  const std::vector<StridedCopy::Axis> axes = plain_axes({2, 3, 4, 5});
  ASSERT_EQ(axes.size(), 4u);
  EXPECT_EQ(axes[0].to, 60);
  EXPECT_EQ(axes[3].from, 1);
  expect_copy(axes, 0, 0, 120, 120);
  EXPECT_EQ(StridedCopy(axes, 0, 0, 4).bytes(), 480);
}

TEST(StridedCopy, more_axes_than_a_matrix) { expect_copy({{2, 60, 1}, {3, 20, 2}, {4, 5, 6}, {5, 1, 24}}, 0, 0, 120, 120); }

}  // namespace
}  // namespace minnow::cpu
