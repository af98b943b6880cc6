// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/layout.h"

#include <cstdint>
#include <type_traits>

#include "backends/cpu/build.h"
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
    for (; c < columns; ++c) MINNOW_UNROLL for (size_t i = 0; i < 4; ++i) y[c * to_row + i] = x[i * from_row + c];
  }
  for (; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) to[c * to_row + r] = from[r * from_row + c];
}

// Interleaving rows i and i + N / 2 log2(N) times transposes a square.
template <size_t N>
HWY_INLINE void transpose_square(const uint8_t* from, size_t from_row, uint8_t* to, size_t to_row) {
  const hn::FixedTag<uint8_t, N> d;
  hn::Vec<decltype(d)> a[N], b[N];
  MINNOW_UNROLL for (size_t i = 0; i < N; ++i) a[i] = hn::LoadU(d, from + i * from_row);
  const auto interleave = [&](const auto* x, auto* y) HWY_ATTR {
    MINNOW_UNROLL for (size_t i = 0; i < N / 2; ++i) {
      y[2 * i] = hn::InterleaveLower(d, x[i], x[i + N / 2]);
      y[2 * i + 1] = hn::InterleaveUpper(d, x[i], x[i + N / 2]);
    }
  };
  interleave(a, b);
  interleave(b, a);
  if constexpr (N >= 8) interleave(a, b);
  if constexpr (N >= 16) interleave(b, a);
  const auto& made = N == 8 ? b : a;
  MINNOW_UNROLL for (size_t i = 0; i < N; ++i) hn::StoreU(made[i], d, to + i * to_row);
}
// Squares as wide as a packed pixel, and smaller ones for the rest.
template <size_t N>
void transpose_squares(const uint8_t* from, size_t from_row, size_t rows, size_t columns, uint8_t* to, size_t to_row) {
  if constexpr (N < 4) {
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) to[c * to_row + r] = from[r * from_row + c];
  } else {
    const size_t whole_rows = rows - rows % N, whole_columns = columns - columns % N;
    for (size_t r = 0; r < whole_rows; r += N)
      for (size_t c = 0; c < whole_columns; c += N) transpose_square<N>(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
    if (whole_columns < columns)
      transpose_squares<N / 2>(from + whole_columns, from_row, whole_rows, columns - whole_columns, to + whole_columns * to_row, to_row);
    if (whole_rows < rows)
      transpose_squares<N / 2>(from + whole_rows * from_row, from_row, rows - whole_rows, columns, to + whole_rows, to_row);
  }
}
constexpr size_t kSquare = kSmall ? 1 : HWY_LANES(float);
void transpose_bytes(const uint8_t* from, size_t from_row, size_t rows, size_t columns, uint8_t* to, size_t to_row) {
  transpose_squares<kSquare>(from, from_row, rows, columns, to, to_row);
}

template <class T>
void split_pixels(const T* from, size_t count, T* const to[3]) {
  constexpr size_t kVector = 16 / sizeof(T);
  const hn::FixedTag<T, kVector> d;
  size_t i = 0;
  for (; i + kVector <= count; i += kVector) {
    hn::Vec<decltype(d)> a, b, c;
    hn::LoadInterleaved3(d, from + 3 * i, a, b, c);
    hn::StoreU(a, d, to[0] + i);
    hn::StoreU(b, d, to[1] + i);
    hn::StoreU(c, d, to[2] + i);
  }
  for (; i < count; ++i)
    for (size_t c = 0; c < 3; ++c) to[c][i] = from[3 * i + c];
}

using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
constexpr size_t kLanes = HWY_LANES(float);

void every_other(const float* from, size_t count, float* to) {
  const D d;
  if (count < kLanes) {
    for (size_t i = 0; i < count; ++i) to[i] = from[2 * i];
    return;
  }
  for (size_t i = 0; i + kLanes < count; i += kLanes)
    hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, from + 2 * i + kLanes), hn::LoadU(d, from + 2 * i)), d, to + i);
  // The last vector, which ends with the last float that may be read.
  const float* last = from + 2 * (count - kLanes);
  const auto low = hn::LoadU(d, last), high = hn::LoadU(d, last + kLanes - 1);
  hn::StoreU(hn::ConcatUpperLower(d, hn::ConcatOdd(d, high, high), hn::ConcatEven(d, low, low)), d, to + count - kLanes);
}

// Adds the lanes of one more source to those of the sources before it.
HWY_INLINE hn::Vec<D> with_lanes(hn::Vec<D> made, const float* from, hn::Vec<DI> lanes) {
  const D d;
  const DI di;
  const auto known = hn::Max(lanes, hn::Zero(di));
  const auto moved = hn::TableLookupLanes(hn::LoadU(d, from), hn::IndicesFromVec(d, known));
  return hn::IfThenElse(hn::RebindMask(d, hn::Eq(lanes, known)), moved, made);
}

template <int N>
void gather_from(const float* const* from, const int32_t* lanes, size_t pixels, float* to) {
  const D d;
  const DI di;
  const float* x[N];
  hn::Vec<DI> wanted[N];
  MINNOW_UNROLL for (int k = 0; k < N; ++k) x[k] = from[k], wanted[k] = hn::LoadU(di, lanes + k * kLanes);
  for (size_t p = 0; p < pixels * kLanes; p += kLanes) {
    auto made = hn::Zero(d);
    MINNOW_UNROLL for (int k = 0; k < N; ++k) made = with_lanes(made, x[k] + p, wanted[k]);
    hn::StoreU(made, d, to + p);
  }
}

void gather_lanes(const float* const* from, const int32_t* lanes, size_t sources, size_t pixels, float* to) {
  switch (sources) {
    case 1:
      return gather_from<1>(from, lanes, pixels, to);
    case 2:
      return gather_from<2>(from, lanes, pixels, to);
    case 3:
      return gather_from<3>(from, lanes, pixels, to);
    case 4:
      return gather_from<4>(from, lanes, pixels, to);
  }
  const D d;
  const DI di;
  for (size_t p = 0; p < pixels * kLanes; p += kLanes) {
    auto made = hn::Zero(d);
    for (size_t k = 0; k < sources; ++k) made = with_lanes(made, from[k] + p, hn::LoadU(di, lanes + k * kLanes));
    hn::StoreU(made, d, to + p);
  }
}
}  // namespace

extern const LayoutKernels kLayoutKernels;
const LayoutKernels kLayoutKernels{transpose,   transpose_bytes, unless_small(split_pixels<float>), unless_small(split_pixels<uint8_t>),
                                   every_other, gather_lanes};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
