// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/layout.h"

#include <cstdint>
#include <type_traits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/layout.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Squares of 4 x 4: as many instructions as elements, whatever the vector length.
void transpose(const float* from, size_t from_row, size_t rows, size_t columns, float* to, size_t to_row) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<std::conditional_t<HWY_HAVE_FLOAT64, double, uint64_t>, decltype(d)> wide;
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* x = from + r * from_row;
    float* y = to + r;
    size_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      const auto a = hn::LoadU(d, x + c), b = hn::LoadU(d, x + from_row + c);
      const auto e = hn::LoadU(d, x + 2 * from_row + c), f = hn::LoadU(d, x + 3 * from_row + c);
      const auto ab0 = hn::BitCast(wide, hn::InterleaveLower(d, a, b)), ab1 = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
      const auto ef0 = hn::BitCast(wide, hn::InterleaveLower(d, e, f)), ef1 = hn::BitCast(wide, hn::InterleaveUpper(d, e, f));
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab0, ef0)), d, y + c * to_row);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab0, ef0)), d, y + (c + 1) * to_row);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab1, ef1)), d, y + (c + 2) * to_row);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab1, ef1)), d, y + (c + 3) * to_row);
    }
    for (; c < columns; ++c)
      for (size_t i = 0; i < 4; ++i) y[c * to_row + i] = x[i * from_row + c];
  }
  for (; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) to[c * to_row + r] = from[r * from_row + c];
}
}  // namespace

extern const LayoutKernels kLayoutKernels;
const LayoutKernels kLayoutKernels{transpose};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
