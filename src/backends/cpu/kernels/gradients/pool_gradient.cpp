// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/pool_gradient.h"

#include <algorithm>

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gradients/pool_gradient.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

void max(const MaxPoolGradient& p) {
  const D d;
  const hn::RebindToSigned<D> di;
  std::fill_n(p.y, p.in_h * p.in_w * kLanes, 0.0f);
  Stop stop;
  for (size_t row = 0; row < p.out_h; ++row) {
    if (stop.after(p.out_w * p.kernel_h * p.kernel_w * 2)) return;
    const ptrdiff_t top = static_cast<ptrdiff_t>(row * p.stride_h) - p.pad_top;
    for (size_t column = 0; column < p.out_w; ++column) {
      const ptrdiff_t left = static_cast<ptrdiff_t>(column * p.stride_w) - p.pad_left;
      // Calls body(place in the plane) for the taps within the image.
      const auto for_each_tap = [&](auto body) HWY_ATTR {
        for (size_t ky = 0; ky < p.kernel_h; ++ky) {
          const size_t y = static_cast<size_t>(top + static_cast<ptrdiff_t>(ky * p.dilation_h));
          if (y >= p.in_h) continue;
          for (size_t kx = 0; kx < p.kernel_w; ++kx) {
            const size_t x = static_cast<size_t>(left + static_cast<ptrdiff_t>(kx * p.dilation_w));
            if (x < p.in_w) body(y * p.in_w + x);
          }
        }
      };
      V most = hn::Zero(d);
      auto place = hn::Set(di, -1);
      for_each_tap([&](size_t at) HWY_ATTR {
        const V v = hn::LoadU(d, p.x + at * kLanes);
        const auto none = hn::RebindMask(d, hn::Lt(place, hn::Zero(di)));
        const auto takes = hn::Or(hn::Or(none, hn::Gt(v, most)), hn::AndNot(hn::IsNaN(most), hn::IsNaN(v)));
        most = hn::IfThenElse(takes, v, most);
        place = hn::IfThenElse(hn::RebindMask(di, takes), hn::Set(di, static_cast<int>(at)), place);
      });
      const V g = hn::LoadU(d, p.g + (row * p.out_w + column) * kLanes);
      for_each_tap([&](size_t at) HWY_ATTR {
        const auto is_place = hn::RebindMask(d, hn::Eq(place, hn::Set(di, static_cast<int>(at))));
        float* const y = p.y + at * kLanes;
        hn::StoreU(hn::Add(hn::LoadU(d, y), hn::IfThenElseZero(is_place, g)), d, y);
      });
    }
  }
}
}  // namespace

extern const PoolGradientKernels kPoolGradientKernels;
const PoolGradientKernels kPoolGradientKernels{max};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
