// SPDX-License-Identifier: Apache-2.0
#include "vision/fft.h"

#include <cfloat>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/fft.cpp"
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET

/// Radix 2, 3, 4 and 5 in registers. The twiddles of output 0 are 1.
template <class T, size_t kRadix>
HWY_INLINE void small_group(const FftStep<T>& step, size_t p) {
  const size_t span = step.span, apart = step.outer * step.apart;
  const T* HWY_RESTRICT re = step.re + p * step.apart;
  const T* HWY_RESTRICT im = step.im + p * step.apart;
  T* HWY_RESTRICT out_re = step.out_re + p * kRadix * span;
  T* HWY_RESTRICT out_im = step.out_im + p * kRadix * span;
  T wr[kRadix], wi[kRadix];
  MINNOW_UNROLL
  for (size_t k = 0; k < kRadix; ++k) {
    wr[k] = step.twiddles[2 * (p * kRadix + k)];
    wi[k] = step.twiddles[2 * (p * kRadix + k) + 1];
  }
  const T c1 = kRadix > 2 ? step.roots[2] : T(0), s1 = kRadix > 2 ? step.roots[3] : T(0);
  const T c2 = kRadix > 4 ? step.roots[4] : T(0), s2 = kRadix > 4 ? step.roots[5] : T(0);
#pragma GCC ivdep
  for (size_t q = 0; q < span; ++q) {
    T yr[kRadix], yi[kRadix];
    const T ar = re[q], ai = im[q], br = re[q + apart], bi = im[q + apart];
    if constexpr (kRadix == 2) {
      yr[0] = ar + br, yi[0] = ai + bi;
      yr[1] = ar - br, yi[1] = ai - bi;
    } else if constexpr (kRadix == 3) {
      const T cr = re[q + 2 * apart], ci = im[q + 2 * apart];
      const T sr = br + cr, si = bi + ci, dr = br - cr, di = bi - ci;
      yr[0] = ar + sr, yi[0] = ai + si;
      const T mr = ar + c1 * sr, mi = ai + c1 * si, nr = -s1 * di, ni = s1 * dr;
      yr[1] = mr + nr, yi[1] = mi + ni;
      yr[2] = mr - nr, yi[2] = mi - ni;
    } else if constexpr (kRadix == 4) {
      const T cr = re[q + 2 * apart], ci = im[q + 2 * apart], dr = re[q + 3 * apart], di = im[q + 3 * apart];
      const T er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci, gr = br + dr, gi = bi + di, hr = br - dr, hi = bi - di;
      yr[0] = er + gr, yi[0] = ei + gi;
      yr[2] = er - gr, yi[2] = ei - gi;
      yr[1] = fr - s1 * hi, yi[1] = fi + s1 * hr;  // s1: -1, or 1 of the inverse
      yr[3] = fr + s1 * hi, yi[3] = fi - s1 * hr;
    } else {
      const T cr = re[q + 2 * apart], ci = im[q + 2 * apart], dr = re[q + 3 * apart], di = im[q + 3 * apart];
      const T er = re[q + 4 * apart], ei = im[q + 4 * apart];
      const T s14r = br + er, s14i = bi + ei, d14r = br - er, d14i = bi - ei;
      const T s23r = cr + dr, s23i = ci + di, d23r = cr - dr, d23i = ci - di;
      yr[0] = ar + s14r + s23r, yi[0] = ai + s14i + s23i;
      const T ur = ar + c1 * s14r + c2 * s23r, ui = ai + c1 * s14i + c2 * s23i;
      const T vr = ar + c2 * s14r + c1 * s23r, vi = ai + c2 * s14i + c1 * s23i;
      const T xr = -s1 * d14i - s2 * d23i, xi = s1 * d14r + s2 * d23r;
      const T zr = -s2 * d14i + s1 * d23i, zi = s2 * d14r - s1 * d23r;
      yr[1] = ur + xr, yi[1] = ui + xi;
      yr[4] = ur - xr, yi[4] = ui - xi;
      yr[2] = vr + zr, yi[2] = vi + zi;
      yr[3] = vr - zr, yi[3] = vi - zi;
    }
    out_re[q] = yr[0];
    out_im[q] = yi[0];
    // Unrolled, or gcc makes vectors of the outputs of one q instead of one output of many.
    MINNOW_UNROLL
    for (size_t k = 1; k < kRadix; ++k) {
      out_re[k * span + q] = yr[k] * wr[k] - yi[k] * wi[k];
      out_im[k * span + q] = yr[k] * wi[k] + yi[k] * wr[k];
    }
  }
}

/// Any radix: sums of products with roots of unity.
template <class T>
void any_group(const FftStep<T>& step, size_t p) {
  const size_t span = step.span, apart = step.outer * step.apart, radix = step.radix;
  for (size_t k = 0; k < radix; ++k) {
    T* HWY_RESTRICT out_re = step.out_re + (p * radix + k) * span;
    T* HWY_RESTRICT out_im = step.out_im + (p * radix + k) * span;
    const T wr = step.twiddles[2 * (p * radix + k)], wi = step.twiddles[2 * (p * radix + k) + 1];
    for (size_t q = 0; q < span; ++q) out_re[q] = out_im[q] = 0;
    for (size_t j = 0; j < radix; ++j) {
      const T* HWY_RESTRICT re = step.re + p * step.apart + j * apart;
      const T* HWY_RESTRICT im = step.im + p * step.apart + j * apart;
      const T cr = step.roots[2 * (j * k % radix)], ci = step.roots[2 * (j * k % radix) + 1];
      const T mr = cr * wr - ci * wi, mi = cr * wi + ci * wr;
#pragma GCC ivdep
      for (size_t q = 0; q < span; ++q) {
        out_re[q] += re[q] * mr - im[q] * mi;
        out_im[q] += re[q] * mi + im[q] * mr;
      }
    }
  }
}

template <class T>
void run_step(const FftStep<T>& step) {
  for (size_t p = 0; p < step.outer; ++p) {
    switch (step.radix) {
      case 2:
        small_group<T, 2>(step, p);
        break;
      case 3:
        small_group<T, 3>(step, p);
        break;
      case 4:
        small_group<T, 4>(step, p);
        break;
      case 5:
        small_group<T, 5>(step, p);
        break;
      default:
        any_group(step, p);
    }
  }
}

template <class T>
void multiply(T* HWY_RESTRICT ar, T* HWY_RESTRICT ai, const T* HWY_RESTRICT br, const T* HWY_RESTRICT bi, size_t n, bool conjugate) {
  const T sign = conjugate ? T(-1) : T(1);
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    const T xr = ar[i], xi = ai[i], yr = br[i], yi = sign * bi[i];
    ar[i] = xr * yr - xi * yi;
    ai[i] = xr * yi + xi * yr;
  }
}

template <class T>
void correlate_phases(T* re, T* im, T* mirrored_re, T* mirrored_im, size_t n) {
  constexpr T kLeast = sizeof(T) == 4 ? T(FLT_EPSILON) : T(DBL_EPSILON);
  const auto count = static_cast<ptrdiff_t>(n);
#pragma GCC ivdep
  for (ptrdiff_t x = 0; x < count; ++x) {
    const T zr = re[x], zi = im[x], mr = mirrored_re[-x], mi = mirrored_im[-x];
    const T ar = (zr + mr) / 2, ai = (zi - mi) / 2, br = (zi + mi) / 2, bi = (mr - zr) / 2;
    const T pr = ar * br + ai * bi, pi = ai * br - ar * bi, squared = pr * pr + pi * pi;
    const T scale = sizeof(T) == 4 ? T(__builtin_sqrtf(static_cast<float>(squared))) : T(__builtin_sqrt(static_cast<double>(squared)));
    const T factor = scale / (squared + kLeast);
    re[x] = pr * factor, im[x] = pi * factor;
    mirrored_re[-x] = pr * factor, mirrored_im[-x] = -pi * factor;
  }
}

template <class T>
void cosines(const T* HWY_RESTRICT re, const T* HWY_RESTRICT im, const T* HWY_RESTRICT mirrored_re, const T* HWY_RESTRICT mirrored_im, T c,
             T s, size_t n, T* HWY_RESTRICT a, T* HWY_RESTRICT b) {
  c /= 2, s /= 2;
  for (size_t x = 0; x < n; ++x) {
    a[x] = (re[x] + mirrored_re[x]) * c + (im[x] - mirrored_im[x]) * s;
    b[x] = (im[x] + mirrored_im[x]) * c + (mirrored_re[x] - re[x]) * s;
  }
}

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void turn_part(const T* from, size_t from_stride, size_t y0, size_t y1, size_t x0, size_t x1, T* to, size_t to_stride) {
  for (size_t y = y0; y < y1; ++y)
    for (size_t x = x0; x < x1; ++x) to[x * to_stride + y] = from[y * from_stride + x];
}

/// Squares of 4 x 4 in registers.
void turn32(const float* HWY_RESTRICT from, size_t from_stride, size_t rows, size_t columns, float* HWY_RESTRICT to, size_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> wide;
  const size_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (size_t x = 0; x < whole_columns; x += 4) {
    for (size_t y = 0; y < whole_rows; y += 4) {
      const float* const in = from + y * from_stride + x;
      const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + from_stride), c = hn::LoadU(d, in + 2 * from_stride),
                 e = hn::LoadU(d, in + 3 * from_stride);
      const auto ab = hn::BitCast(wide, hn::InterleaveLower(d, a, b)), ce = hn::BitCast(wide, hn::InterleaveLower(d, c, e));
      const auto ab2 = hn::BitCast(wide, hn::InterleaveUpper(d, a, b)), ce2 = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
      float* const out = to + x * to_stride + y;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab, ce)), d, out);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab, ce)), d, out + to_stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab2, ce2)), d, out + 2 * to_stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab2, ce2)), d, out + 3 * to_stride);
    }
  }
  turn_part(from, from_stride, whole_rows, rows, 0, columns, to, to_stride);
  turn_part(from, from_stride, 0, whole_rows, whole_columns, columns, to, to_stride);
}

void turn64(const double* HWY_RESTRICT from, size_t from_stride, size_t rows, size_t columns, double* HWY_RESTRICT to, size_t to_stride) {
  for (size_t x = 0; x < columns; x += 8) turn_part(from, from_stride, 0, rows, x, x + 8 < columns ? x + 8 : columns, to, to_stride);
}

extern const FftLoops kFftLoops;
const FftLoops kFftLoops{run_step<float>,          run_step<double>, multiply<float>, multiply<double>, correlate_phases<float>,
                         correlate_phases<double>, cosines<float>,   cosines<double>, turn32,           turn64};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kFftLoops
const minnow::vision::FftLoops& minnow::vision::fft_loops() {
  static const FftLoops& loops = choose_loops<FftLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
