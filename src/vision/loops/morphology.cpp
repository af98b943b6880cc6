// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/morphology.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/morphology.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct Least {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::Min(a, b);
  }
  template <class T>
  static T scalar(T a, T b) {
    return b < a ? b : a;
  }
};
struct Largest {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::Max(a, b);
  }
  template <class T>
  static T scalar(T a, T b) {
    return a < b ? b : a;
  }
};

/// rows(t): where row t begins. kCount: `count`, or 0.
template <class T, class Op, int kCount, class Rows>
HWY_INLINE void extreme_of(const Rows& rows, int64_t count, T* HWY_RESTRICT out, int64_t n) {
  if constexpr (kCount != 0) count = kCount;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto vectors = [&](auto number, int64_t i) HWY_ATTR {
    constexpr int kNumber = decltype(number)::value;
    V found[kNumber];
    MINNOW_UNROLL
    for (int k = 0; k < kNumber; ++k) found[k] = hn::LoadU(d, rows(0) + i + k * lanes);
    const auto join = [&](int64_t t) HWY_ATTR {
      const T* const row = rows(t) + i;
      MINNOW_UNROLL
      for (int k = 0; k < kNumber; ++k) found[k] = Op::of(found[k], hn::LoadU(d, row + k * lanes));
    };
    if constexpr (kCount != 0) {
      MINNOW_UNROLL
      for (int t = 1; t < kCount; ++t) join(t);
    } else {
      for (int64_t t = 1; t < count; ++t) join(t);
    }
    MINNOW_UNROLL
    for (int k = 0; k < kNumber; ++k) hn::StoreU(found[k], d, out + i + k * lanes);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) vectors(std::integral_constant<int, 4>(), i);
  if (i > 0 && i + lanes < n) return vectors(std::integral_constant<int, 4>(), n - 4 * lanes);  // overlaps those before
  for (; i + lanes <= n; i += lanes) vectors(std::integral_constant<int, 1>(), i);
  if (i < n && n >= lanes) return vectors(std::integral_constant<int, 1>(), n - lanes);
  for (; i < n; ++i) {
    T found = rows(0)[i];
    for (int64_t t = 1; t < count; ++t) found = Op::scalar(found, rows(t)[i]);
    out[i] = found;
  }
}

template <class T, class Op, class Rows>
HWY_INLINE void extreme(const Rows& rows, int64_t count, T* HWY_RESTRICT out, int64_t n) {
  if (count == 3) return extreme_of<T, Op, 3>(rows, count, out, n);
  if (count == 5) return extreme_of<T, Op, 5>(rows, count, out, n);
  extreme_of<T, Op, 0>(rows, count, out, n);
}

template <class T, class Op>
void of_rows(const T* const* rows, int64_t count, T* out, int64_t n) {
  extreme<T, Op>([&](int64_t t) { return rows[t]; }, count, out, n);
}

template <class T, class Op>
void of_window(T* in, int64_t step, int64_t taps, T* HWY_RESTRICT out, int64_t n) {
  const T* rows[8] = {in};
  if (taps <= 8) {
    for (int64_t t = 1; t < taps; ++t) rows[t] = in + t * step;
    return of_rows<T, Op>(rows, taps, out, n);
  }
  // Windows of 2, 4, 8 ... elements; two of the last size cover the window.
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), all = n + (taps - 1) * step;
  int64_t size = 1;
  for (; size * 2 <= taps; size *= 2) {
    const T* const ahead = in + size * step;
    const int64_t count = all - (2 * size - 1) * step;
    // The last vector may reach beyond `count`: nothing reads the elements there again.
    for (int64_t i = 0; i < count; i += lanes) hn::StoreU(Op::of(hn::LoadU(d, in + i), hn::LoadU(d, ahead + i)), d, in + i);
  }
  rows[1] = in + (taps - size) * step;
  of_rows<T, Op>(rows, 2, out, n);
}

template <class T>
void subtract(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      out[i] = a[i] - b[i];
    else if constexpr (std::is_unsigned_v<T>)
      out[i] = static_cast<T>(a[i] > b[i] ? a[i] - b[i] : 0);
    else
      out[i] = static_cast<T>(std::min(std::max(a[i] - b[i], int{std::numeric_limits<T>::min()}), int{std::numeric_limits<T>::max()}));
  }
}

template <class T>
void threshold_row(const T* HWY_RESTRICT in, T limit, T maximum, Threshold type, T* HWY_RESTRICT out, int64_t n) {
  const T zero = 0;
  switch (type) {
    case Threshold::binary:
      for (int64_t i = 0; i < n; ++i) out[i] = in[i] > limit ? maximum : zero;
      break;
    case Threshold::binary_inv:
      for (int64_t i = 0; i < n; ++i) out[i] = in[i] > limit ? zero : maximum;
      break;
    case Threshold::trunc:
      for (int64_t i = 0; i < n; ++i) out[i] = in[i] > limit ? limit : in[i];
      break;
    case Threshold::tozero:
      for (int64_t i = 0; i < n; ++i) out[i] = in[i] > limit ? in[i] : zero;
      break;
    case Threshold::tozero_inv:
      for (int64_t i = 0; i < n; ++i) out[i] = in[i] > limit ? zero : in[i];
      break;
  }
}

// The means may lie where the result does.
void adaptive(const uint8_t* HWY_RESTRICT in, const uint8_t* mean, int16_t limit, uint8_t over, uint8_t under, uint8_t* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int16_t>(in[i] - mean[i]) > limit ? over : under;
}

// Sums within blocks of eight pixels. A block waits for the one before only with one addition.
#if HWY_TARGET == HWY_AVX2
hn::VFromD<hn::FixedTag<int32_t, 8>> sums_of_8(const uint8_t* in) {
  // A lane of 64 bits for each sum, which keeps the bytes that it adds.
  const hn::FixedTag<uint64_t, 4> d;
  const hn::Repartition<uint8_t, decltype(d)> bytes;
  const hn::FixedTag<int32_t, 8> d32;
  uint64_t pixels;
  std::memcpy(&pixels, in, 8);
  const auto sums = [&](const auto& kept) { return hn::BitCast(d32, hn::SumsOf8(hn::BitCast(bytes, hn::And(hn::Set(d, pixels), kept)))); };
  alignas(32) static constexpr uint64_t kKept[8] = {0xff,         0xffff,         0xffffff,         0xffffffff,
                                                    0xffffffffff, 0xffffffffffff, 0xffffffffffffff, ~uint64_t(0)};
  return hn::ConcatEven(d32, sums(hn::Load(d, kKept + 4)), sums(hn::Load(d, kKept)));
}
#endif

void integral_u8(const uint8_t* HWY_RESTRICT in, const int32_t* HWY_RESTRICT above, int32_t* HWY_RESTRICT sums, int64_t n) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX2
  const hn::FixedTag<int32_t, 8> d32;
  const auto last = hn::IndicesFromVec(d32, hn::Set(d32, 7));
  auto carried = hn::Zero(d32);
  for (; i + 8 <= n; i += 8) {
    const auto v = sums_of_8(in + i);
    hn::StoreU(hn::Add(hn::Add(v, hn::LoadU(d32, above + i)), carried), d32, sums + i);
    carried = hn::Add(carried, hn::TableLookupLanes(v, last));
  }
#else
  const hn::FixedTag<uint16_t, 8> d16;
  const hn::FixedTag<int32_t, 4> d32;
  const hn::FixedTag<uint8_t, 8> d8;
  const hn::FixedTag<uint16_t, 4> half;
  auto carried = hn::Zero(d32);
  for (; i + 8 <= n; i += 8) {
    auto v = hn::PromoteTo(d16, hn::LoadU(d8, in + i));
    v = hn::Add(v, hn::ShiftLeftLanes<1>(d16, v));
    v = hn::Add(v, hn::ShiftLeftLanes<2>(d16, v));
    v = hn::Add(v, hn::ShiftLeftLanes<4>(d16, v));
    const auto low = hn::PromoteTo(d32, hn::LowerHalf(half, v)), high = hn::PromoteTo(d32, hn::UpperHalf(half, v));
    hn::StoreU(hn::Add(hn::Add(low, hn::LoadU(d32, above + i)), carried), d32, sums + i);
    hn::StoreU(hn::Add(hn::Add(high, hn::LoadU(d32, above + i + 4)), carried), d32, sums + i + 4);
    carried = hn::Add(carried, hn::Broadcast<3>(high));
  }
#endif
  int32_t sum = hn::GetLane(carried);
  for (; i < n; ++i) {
    sum += in[i];
    sums[i] = above[i] + sum;
  }
}

// A pixel in a vector of four; what is written beyond three channels is written again with the next pixel.
void integral_u8_pixels(const uint8_t* HWY_RESTRICT in, const int32_t* HWY_RESTRICT above, int32_t* HWY_RESTRICT sums, int64_t n,
                        int64_t channels) {
  const hn::FixedTag<int32_t, 4> d32;
  const hn::FixedTag<uint8_t, 4> d8;
  auto sum = hn::Zero(d32);
  int64_t i = 0;
  for (; i + 1 < n; ++i) {
    sum = hn::Add(sum, hn::PromoteTo(d32, hn::LoadU(d8, in + i * channels)));
    hn::StoreU(hn::Add(sum, hn::LoadU(d32, above + i * channels)), d32, sums + i * channels);
  }
  int32_t last[4];
  hn::StoreU(sum, d32, last);
  for (int64_t c = 0; c < channels; ++c) sums[i * channels + c] = above[i * channels + c] + last[c] + in[i * channels + c];
}

void integral_squares(const uint8_t* HWY_RESTRICT in, const double* HWY_RESTRICT above, double* HWY_RESTRICT sums,
                      int32_t* HWY_RESTRICT spare, int64_t n) {
  // Rows whose sums of squares may pass 2^31 go in parts.
  constexpr int64_t kPart = 32768;
  double before = 0;
  const hn::FixedTag<int32_t, 4> d;
  const hn::FixedTag<uint8_t, 4> d8;
  for (int64_t first = 0; first < n; first += kPart) {
    const int64_t count = std::min(kPart, n - first);
    auto carried = hn::Zero(d);
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      auto v = hn::PromoteTo(d, hn::LoadU(d8, in + first + i));
      v = hn::Mul(v, v);
      v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
      v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
      hn::StoreU(hn::Add(v, carried), d, spare + i);
      carried = hn::Add(carried, hn::Broadcast<3>(v));
    }
    int32_t sum = hn::GetLane(carried);
    for (; i < count; ++i) spare[i] = sum += in[first + i] * in[first + i];
    for (int64_t k = 0; k < count; ++k) sums[first + k] = above[first + k] + (static_cast<double>(spare[k]) + before);
    before += static_cast<double>(spare[count - 1]);
  }
}

void tilted_u8(const uint8_t* HWY_RESTRICT in, const int32_t* HWY_RESTRICT above, int32_t* HWY_RESTRICT falling,
               int32_t* HWY_RESTRICT rising, int32_t* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t pixel = in[i], down = falling[i] + pixel, up = rising[i] + pixel;
    falling[i] = down;
    rising[i] = up;
    out[i] = above[i] + down + up - pixel;
  }
}

template <class T>
void tiles(const TileRow<T>& row, const T* HWY_RESTRICT in, T* HWY_RESTRICT out, int64_t n) {
  const float down = row.down, up = 1.0f - down;
  for (int64_t x = 0; x < n; ++x) {
    const uint32_t bin = static_cast<uint32_t>(in[x]) >> row.shift, i = row.left[x] + bin, j = row.right[x] + bin;
    const float right = row.weight[x], left = 1.0f - right;
    const float value = (row.upper[i] * left + row.upper[j] * right) * up + (row.lower[i] * left + row.lower[j] * right) * down;
    // Adding 1.5 * 2^23 rounds to an integer, ties to even.
    out[x] = static_cast<T>(static_cast<T>(static_cast<int32_t>((value + 12582912.0f) - 12582912.0f)) << row.shift);
  }
}

// The table is 16 registers of 16 entries, each of which answers for the bytes that have its number as their upper half: adding 0x70 to the
// difference leaves the upper bit 0 for these alone, and a lookup with that bit gives 0.
void lookup(const uint8_t* in, const uint8_t* table, uint8_t* out, int64_t n) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto at = [&](int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, in + i);
    auto found = hn::Zero(d);
    MINNOW_UNROLL
    for (int k = 0; k < 16; ++k) {
      const auto part = hn::LoadDup128(d, table + 16 * k);
      const auto index = hn::SaturatedAdd(hn::Xor(v, hn::Set(d, static_cast<uint8_t>(k << 4))), hn::Set(d, 0x70));
      found = hn::Or(found, hn::TableLookupBytesOr0(part, index));
    }
    hn::StoreU(found, d, out + i);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) at(i);
  for (; i < n; ++i) out[i] = table[in[i]];
}

template <class T>
constexpr PixelLoops<T> kLoopsOf{
    {of_rows<T, Least>, of_window<T, Least>}, {of_rows<T, Largest>, of_window<T, Largest>}, subtract<T>, threshold_row<T>};

}  // namespace

extern const MorphologyLoops kMorphologyLoops;
const MorphologyLoops kMorphologyLoops{
    kLoopsOf<uint8_t>,  kLoopsOf<uint16_t>, kLoopsOf<int16_t>, kLoopsOf<float>, kLoopsOf<double>, adaptive, integral_u8,
    integral_u8_pixels, tilted_u8,          integral_squares,  tiles<uint8_t>,  tiles<uint16_t>,  lookup,
};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::vision {

#define MINNOW_LOOPS kMorphologyLoops
const MorphologyLoops& morphology_loops() {
  static const MorphologyLoops& loops = choose_loops<MorphologyLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}

}  // namespace minnow::vision
#endif
