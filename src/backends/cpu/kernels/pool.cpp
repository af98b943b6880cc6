// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/pool.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/pool.cpp"
#include "base/saturating.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr ptrdiff_t kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/clamp.inc"
#include "backends/cpu/kernels/division.inc"

// NaN in either operand gives NaN.
HWY_INLINE V larger(V running, V x) { return hn::IfThenElse(hn::IsNaN(running), running, at_least(running, x)); }

/// The taps [begin, end) of a window from `start` on that lie in [0, size).
struct Taps {
  size_t begin, end;
  Taps(ptrdiff_t start, size_t kernel, size_t dilation, size_t size) : begin(0), end(kernel) {
    const ptrdiff_t step = static_cast<ptrdiff_t>(dilation);
    const ptrdiff_t beyond = static_cast<ptrdiff_t>(size) - start;
    if (start < 0) begin = std::min(end, static_cast<size_t>((-start + step - 1) / step));
    if (static_cast<ptrdiff_t>(end) * step - step >= beyond)
      end = beyond <= 0 ? begin : std::max(begin, static_cast<size_t>((beyond + step - 1) / step));
  }
};

template <class F>
HWY_INLINE void for_each_window(const PoolRows& r, F f) {
  Stop stop;
  for (size_t row = 0; row < r.rows; ++row) {
    const ptrdiff_t top = static_cast<ptrdiff_t>((r.first + row) * r.stride_h) - r.pad_top;
    const Taps ky(top, r.kernel_h, r.dilation_h, r.in_h);
    for (size_t x = 0; x < r.out_w; ++x) {
      const ptrdiff_t left = static_cast<ptrdiff_t>(x * r.stride_w) - r.pad_left;
      const Taps kx(left, r.kernel_w, r.dilation_w, r.in_w);
      if (stop.after((ky.end - ky.begin) * (kx.end - kx.begin))) return;
      f(top, left, ky, kx, r.y + (row * r.out_w + x) * kLanes);
    }
  }
}

HWY_INLINE const float* at(const PoolRows& r, ptrdiff_t top, ptrdiff_t left, size_t ky, size_t kx) {
  return r.x + ((top + static_cast<ptrdiff_t>(ky * r.dilation_h)) * static_cast<ptrdiff_t>(r.in_w) + left +
                static_cast<ptrdiff_t>(kx * r.dilation_w)) *
                   kLanes;
}

// The windows [from, to) of one row, tap by tap.
void max_windows(const PoolRows& r, size_t row, size_t from, size_t to) {
  const D d;
  const ptrdiff_t top = static_cast<ptrdiff_t>((r.first + row) * r.stride_h) - r.pad_top;
  const Taps rows(top, r.kernel_h, r.dilation_h, r.in_h);
  Stop stop;
  for (size_t x = from; x < to; ++x) {
    const ptrdiff_t left = static_cast<ptrdiff_t>(x * r.stride_w) - r.pad_left;
    const Taps columns(left, r.kernel_w, r.dilation_w, r.in_w);
    if (stop.after((rows.end - rows.begin) * (columns.end - columns.begin))) return;
    // A window that contains only padding gives the lowest number.
    const bool empty = rows.begin == rows.end || columns.begin == columns.end;
    V most = hn::Set(d, empty ? std::numeric_limits<float>::lowest() : -std::numeric_limits<float>::infinity());
    for (size_t ky = rows.begin; ky < rows.end; ++ky)
      for (size_t kx = columns.begin; kx < columns.end; ++kx) most = larger(most, hn::LoadU(d, at(r, top, left, ky, kx)));
    hn::StoreU(most, d, r.y + (row * r.out_w + x) * kLanes);
  }
}

// The largest of each of `count` columns over N rows that are `step` floats apart. The maximum ignores a NaN in its first operand; a NaN in
// the sum of these operands reveals that.
template <int N>
HWY_INLINE V max_columns(const float* x, ptrdiff_t step, ptrdiff_t count, float* out) {
  const D d;
  V probe[N];  // several, because one sum would have to wait for the one before
  MINNOW_UNROLL for (int i = 0; i < N; ++i) probe[i] = hn::Zero(d);
  for (ptrdiff_t c = 0; c < count * kLanes; c += kLanes) {
    V most = hn::LoadU(d, x + c);
    MINNOW_UNROLL for (int i = 1; i < N; ++i) {
      probe[i - 1] = hn::Add(probe[i - 1], most);
      most = at_least(most, hn::LoadU(d, x + i * step + c));
    }
    probe[N - 1] = hn::Add(probe[N - 1], most);
    hn::StoreU(most, d, out + c);
  }
  MINNOW_UNROLL for (int i = 1; i < N; ++i) probe[0] = hn::Add(probe[0], probe[i]);
  return probe[0];
}

// First the largest of each column, because neighbouring windows share columns, then along the row; some columns at a time, so that theirs
// stay in L1.
void max_pool(const PoolRows& r) {
  const D d;
  constexpr size_t kColumns = 128;
  const size_t extent = (r.kernel_w - 1) * r.dilation_w + 1;
  const size_t windows = extent <= kColumns ? (kColumns - extent) / r.stride_w + 1 : 0;  // whose columns fit
  HWY_ALIGN float columns[kColumns * kLanes];
  Stop stop;
  for (size_t row = 0; row < r.rows; ++row) {
    if (stop.after(r.out_w * (r.kernel_h + r.kernel_w))) return;
    const ptrdiff_t top = static_cast<ptrdiff_t>((r.first + row) * r.stride_h) - r.pad_top;
    const Taps rows(top, r.kernel_h, r.dilation_h, r.in_h);
    if (windows == 0 || rows.begin == rows.end) {
      max_windows(r, row, 0, r.out_w);
      continue;
    }
    for (size_t first = 0; first < r.out_w; first += windows) {
      const size_t last = std::min(r.out_w, first + windows);
      const ptrdiff_t left = static_cast<ptrdiff_t>(first * r.stride_w) - r.pad_left;
      const ptrdiff_t begin = std::max<ptrdiff_t>(0, -left);  // of the columns from `left` on: those within the image
      const ptrdiff_t end =
          std::min(static_cast<ptrdiff_t>((last - first - 1) * r.stride_w + extent), static_cast<ptrdiff_t>(r.in_w) - left);
      const float* source = at(r, top, left + begin, rows.begin, 0);
      float* target = columns + begin * kLanes;
      const ptrdiff_t step = static_cast<ptrdiff_t>(r.dilation_h * r.in_w) * kLanes, count = end - begin;
      V probe;
      switch (rows.end - rows.begin) {
        case 1:
          probe = max_columns<1>(source, step, count, target);
          break;
        case 2:
          probe = max_columns<2>(source, step, count, target);
          break;
        case 3:
          probe = max_columns<3>(source, step, count, target);
          break;
        default:
          probe = max_columns<3>(source, step, count, target);
          for (size_t ky = rows.begin + 3; ky < rows.end; ++ky)
            for (ptrdiff_t c = begin; c < end; ++c) {
              const V most = at_least(hn::Load(d, columns + c * kLanes), hn::LoadU(d, at(r, top, left + c, ky, 0)));
              probe = hn::Add(probe, most);
              hn::Store(most, d, columns + c * kLanes);
            }
      }
      if (!hn::AllTrue(d, hn::Eq(probe, probe))) {
        max_windows(r, row, first, last);
        continue;
      }
      for (size_t x = first; x < last; ++x) {
        const size_t place = (x - first) * r.stride_w;
        const ptrdiff_t from_left = left + static_cast<ptrdiff_t>(place);
        if (r.kernel_w == 3 && r.dilation_w == 1 && from_left >= 0 && from_left + 3 <= static_cast<ptrdiff_t>(r.in_w)) {
          const float* three = columns + static_cast<ptrdiff_t>(place) * kLanes;
          hn::StoreU(at_least(hn::Load(d, three), at_least(hn::Load(d, three + kLanes), hn::Load(d, three + 2 * kLanes))), d,
                     r.y + (row * r.out_w + x) * kLanes);
          continue;
        }
        const Taps taps(left + static_cast<ptrdiff_t>(place), r.kernel_w, r.dilation_w, r.in_w);
        if (taps.begin == taps.end) {
          max_windows(r, row, x, x + 1);
          continue;
        }
        const float* from = columns + (place + taps.begin * r.dilation_w) * kLanes;
        V most = hn::Load(d, from);
        for (size_t kx = taps.begin + 1; kx < taps.end; ++kx) {
          from += r.dilation_w * kLanes;
          most = at_least(most, hn::Load(d, from));
        }
        hn::StoreU(most, d, r.y + (row * r.out_w + x) * kLanes);
      }
    }
  }
}

/// The sum of `count` vectors that are `step` floats apart. Long sums are composed of parts, recursively: summing thousands of similar
/// numbers one after another would lose a digit.
template <size_t kPart>
HWY_INLINE V sum_of_parts(const float* x, size_t count, size_t step) {
  const D d;
  constexpr size_t kShort = 64;
  if constexpr (kPart < kShort) {
    V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
      MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) sums[j] = hn::Add(sums[j], hn::LoadU(d, x + (i + j) * step));
    for (; i < count; ++i) sums[0] = hn::Add(sums[0], hn::LoadU(d, x + i * step));
    return hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  } else {
    V total = hn::Zero(d);
    for (size_t part; count > 0; x += part * step, count -= part) {
      part = std::min(count, kPart);
      total = hn::Add(total, sum_of_parts<kPart / kShort>(x, part, step));
    }
    return total;
  }
}
HWY_NOINLINE V sum_of(const float* x, size_t count, size_t step) { return sum_of_parts<64 * 64 * 64>(x, count, step); }

void average_pool(const PoolRows& r) {
  const D d;
  for_each_window(r, [&](ptrdiff_t top, ptrdiff_t left, Taps rows, Taps columns, float* y) HWY_ATTR {
    V sum = hn::Zero(d);
    const size_t width = columns.end - columns.begin;
    for (size_t ky = rows.begin; ky < rows.end; ++ky) {
      if (width >= 8) {
        sum = hn::Add(sum, sum_of(at(r, top, left, ky, columns.begin), width, r.dilation_w * kLanes));
        continue;
      }
      for (size_t kx = columns.begin; kx < columns.end; ++kx) sum = hn::Add(sum, hn::LoadU(d, at(r, top, left, ky, kx)));
    }
    size_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
    if (r.count_h) {
      const Taps all_rows(top + r.pad_top, r.kernel_h, r.dilation_h, r.count_h),
          all(left + r.pad_left, r.kernel_w, r.dilation_w, r.count_w);
      count = (all_rows.end - all_rows.begin) * (all.end - all.begin);
    }
    hn::StoreU(divide(sum, hn::Set(d, static_cast<float>(std::max<size_t>(1, count)))), d, y);
  });
}

void sum(const float* x, size_t count, float scale, float* y) {
  const D d;
  hn::StoreU(hn::Mul(hn::Set(d, scale), sum_of(x, count, kLanes)), d, y);
}

void most(const float* x, size_t count, float* y) {
  const D d;
  V most = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < count; ++i) most = larger(most, hn::LoadU(d, x + i * kLanes));
  hn::StoreU(most, d, y);
}
}  // namespace

extern const PoolKernels kPoolKernels;
const PoolKernels kPoolKernels{max_pool, average_pool, sum, most};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
