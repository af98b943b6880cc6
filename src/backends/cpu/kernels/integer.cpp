// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/integer.h"

#include <cstring>

#include "backends/cpu/build.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels/amx.h"
#include "backends/cpu/kernels/targets.h"
#include "base/os.h"
#include "base/share.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/integer.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<int32_t>;
using DF = hn::ScalableTag<float>;
using D16 = hn::Repartition<int16_t, D>;
using D8 = hn::Rebind<uint8_t, D>;  // as many bytes as there are lanes
using DS8 = hn::Rebind<int8_t, D>;
using V = hn::Vec<D>;
constexpr int kLanes = HWY_LANES(int32_t);
constexpr int kVector = 4 * kLanes;  // bytes
// On machines that do not add products of pairs to one sum in order, two sums hold the halves of a vector (see pairs).
constexpr bool kTwoSums = HWY_TARGET == HWY_NEON;
constexpr int kSums = kTwoSums ? 2 : 1;
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 8 : kTwoSums ? 5 : 6;  // 12 on AVX-512, whose loads do not need them, were 19 KB
constexpr int kByteRows = HWY_TARGET == HWY_AVX3 ? 12 : HWY_TARGET == HWY_AVX2 ? 6 : 9;  // if there is a tile of bytes
constexpr int kMatrixRows = 12;                                                          // if there is one of matrices
constexpr int kAmxRows = HWY_TARGET == HWY_AVX3 ? 32 : 0;
constexpr ptrdiff_t kGroupBytes = group_bytes(IntegerForm::bytes);
constexpr int kColumns = 2;  // vectors of a tile

#include "backends/cpu/kernels/clamp.inc"
#include "backends/cpu/kernels/division.inc"

HWY_INLINE V broadcast(const uint8_t* x) {
  int32_t group;
  std::memcpy(&group, x, sizeof group);
  return hn::Set(D(), group);
}

// Sums of products of neighbouring 16-bit numbers: one instruction on x86 and WebAssembly. On ARM the lower half of a vector is added to
// the first sum and the upper one to the second, with each product in its own lane.
HWY_INLINE void add_pairs(V a, V b, V (&sum)[kSums]) {
  const D16 d16;
  V other = hn::Zero(D());
  if constexpr (kTwoSums) other = sum[kSums - 1];
  sum[0] = hn::ReorderWidenMulAccumulate(D(), hn::BitCast(d16, a), hn::BitCast(d16, b), sum[0], other);
  if constexpr (kTwoSums) sum[kSums - 1] = other;
}
HWY_INLINE V total(const V (&sum)[kSums]) {
  if constexpr (kTwoSums) {
    const D d;
    return hn::Add(hn::ConcatEven(d, sum[kSums - 1], sum[0]), hn::ConcatOdd(d, sum[kSums - 1], sum[0]));
  } else {
    return sum[0];
  }
}

#include "backends/cpu/kernels/requantize.inc"

// `rows` vectors of sums, `stride` bytes apart, become f32. A function of its own, behind the loop over channels, is smaller than one in
// each tile.
HWY_NOINLINE void make_reals(uint8_t* y, size_t rows, const IntegerTile& t, size_t n, ptrdiff_t stride) {
  const DF d;
  const auto addend = t.addend ? hn::LoadU(d, t.addend + n * kLanes) : hn::Zero(d), multiplier = hn::LoadU(d, t.multiplier + n * kLanes),
             low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  for (; rows; --rows, y += stride) {
    const auto sum = hn::ConvertTo(d, hn::LoadU(D(), reinterpret_cast<const int32_t*>(y)));
    hn::StoreU(hn::Min(high, hn::Max(low, hn::Mul(hn::Add(sum, addend), multiplier))), d, reinterpret_cast<float*>(y));
  }
}

// The rows of a vector of outputs, `sums` with their bias.
template <int R>
HWY_INLINE void finish(V (&sums)[R], const IntegerTile& t, size_t n) {
  constexpr int kHalf = (R + 1) / 2;
  uint8_t *first = t.y[0] + static_cast<ptrdiff_t>(n) * t.vector_stride, *second = t.y[1] + static_cast<ptrdiff_t>(n) * t.vector_stride;
  if (t.raw) {
    MINNOW_UNROLL for (int r = 0; r < R; ++r) hn::StoreU(
        sums[r], D(), reinterpret_cast<int32_t*>(r < kHalf ? first + r * t.pixel_stride : second + (r - kHalf) * t.pixel_stride));
    if (!t.multiplier) return;
    make_reals(first, kHalf, t, n, t.pixel_stride);
    make_reals(second, R - kHalf, t, n, t.pixel_stride);
    return;
  }
  MINNOW_UNROLL for (int r = 0; r < R; ++r) sums[r] = requantized(sums[r], t, n);
  const Result result(t);
#if HWY_TARGET == HWY_AVX3
  if (second == first + kHalf * t.pixel_stride) return store_rows<R>(sums, result, first, t.pixel_stride);
#endif
  store_rows<kHalf>(sums, result, first, t.pixel_stride);
  if constexpr (R > 1) store_rows<R - kHalf>(sums + kHalf, result, second, t.pixel_stride);
}

// Row r of a run is at base[r / 3] + (r % 3) * stride, which an address can hold.
template <int R>
struct Rows {
  static constexpr int kHalf = (R + 1) / 2, kBases = (kHalf + 2) / 3;
  const uint8_t* base[2][kBases];
  HWY_INLINE Rows(const IntegerTile& t, ptrdiff_t tap) {
    MINNOW_UNROLL for (int h = 0; h < 2; ++h) MINNOW_UNROLL for (int i = 0; i < kBases; ++i) base[h][i] =
        t.x[h] + tap + 3 * i * t.row_stride;
  }
  HWY_INLINE const uint8_t* at(int row, ptrdiff_t stride) const {
    const int in = row < kHalf ? row : row - kHalf;
    return base[row < kHalf ? 0 : 1][in / 3] + (in % 3) * stride;
  }
};

template <int R>
HWY_NOINLINE void words_tile(const IntegerTile& t) {
  const D d;
  V sum[R][kColumns][kSums];
  MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) MINNOW_UNROLL for (int r = 0; r < R; ++r) MINNOW_UNROLL for (int s = 0; s < kSums; ++s)
      sum[r][n][s] = hn::Zero(d);
  const uint8_t* w = t.w;
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const Rows<R> rows(t, t.taps[tap]);
    const ptrdiff_t stride = t.row_stride, bytes = static_cast<ptrdiff_t>(t.groups) * kGroupBytes;
    for (ptrdiff_t at = 0; at < bytes; at += kGroupBytes, w += kColumns * kVector) {
      V b[kColumns];
      MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) b[n] = hn::LoadU(d, reinterpret_cast<const int32_t*>(w + n * kVector));
      MINNOW_UNROLL for (int r = 0; r < R; ++r) {
        const V a = broadcast(rows.at(r, stride) + at);
        MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) add_pairs(a, b[n], sum[r][n]);
      }
    }
  }
  for (size_t n = 0; n < t.vectors; ++n) {
    const V bias = hn::LoadU(d, t.bias + n * kLanes);
    V made[R];
    MINNOW_UNROLL for (int r = 0; r < R; ++r) made[r] = hn::Add(total(n == 0 ? sum[r][0] : sum[r][1]), bias);
    finish(made, t, n);
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// AVX512-VNNI or AVX-VNNI, which Highway 1.0.3 has no operation for: four products of u8 and i8 are added to each sum, without saturation.
#if HWY_TARGET == HWY_AVX3
#define MINNOW_VNNI __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
MINNOW_VNNI HWY_INLINE V add_fours(V sum, V a, V b) { return V{_mm512_dpbusd_epi32(sum.raw, a.raw, b.raw)}; }
#else
#define MINNOW_VNNI __attribute__((target(HWY_TARGET_STR ",avxvnni")))
MINNOW_VNNI HWY_INLINE V add_fours(V sum, V a, V b) { return V{_mm256_dpbusd_avx_epi32(sum.raw, a.raw, b.raw)}; }
#endif
template <int R>
MINNOW_VNNI HWY_NOINLINE void bytes_tile(const IntegerTile& t) {
  const D d;
  // A single row would wait for each of its sums.
  constexpr int kParts = R == 1 ? 4 : 1;
  V sum[kParts][R][kColumns];
  MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) MINNOW_UNROLL for (int r = 0; r < R; ++r) {
    sum[0][r][n] = hn::LoadU(d, t.bias + n * kLanes);
    MINNOW_UNROLL for (int p = 1; p < kParts; ++p) sum[p][r][n] = hn::Zero(d);
  }
  const uint8_t* w = t.w;
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const Rows<R> rows(t, t.taps[tap]);
    const ptrdiff_t stride = t.row_stride, bytes = static_cast<ptrdiff_t>(t.groups) * kGroupBytes;
    ptrdiff_t at = 0;
    if constexpr (kParts > 1)
      for (; at + kParts * kGroupBytes <= bytes; at += kParts * kGroupBytes)
        MINNOW_UNROLL for (int p = 0; p < kParts; ++p, w += kColumns * kVector) {
          const V a = broadcast(rows.at(0, stride) + at + p * kGroupBytes);
          MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) sum[p][0][n] =
              add_fours(sum[p][0][n], a, hn::LoadU(d, reinterpret_cast<const int32_t*>(w + n * kVector)));
        }
    for (; at < bytes; at += kGroupBytes, w += kColumns * kVector) {
      V b[kColumns];
      MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) b[n] = hn::LoadU(d, reinterpret_cast<const int32_t*>(w + n * kVector));
      MINNOW_UNROLL for (int r = 0; r < R; ++r) {
        const V a = broadcast(rows.at(r, stride) + at);
        MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) sum[0][r][n] = add_fours(sum[0][r][n], a, b[n]);
      }
    }
  }
  MINNOW_UNROLL for (int p = 1; p < kParts; ++p) MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) sum[0][0][n] =
      hn::Add(sum[0][0][n], sum[p][0][n]);
  for (size_t n = 0; n < t.vectors; ++n) {
    V made[R];
    MINNOW_UNROLL for (int r = 0; r < R; ++r) made[r] = n == 0 ? sum[0][r][0] : sum[0][r][1];
    finish(made, t, n);
  }
}
#endif

#if HWY_TARGET == HWY_AVX3
// AMX: tile registers of 16 rows of 64 bytes. Four of them hold the sums of two runs of pixels and two vectors of outputs, two hold pixels
// and two weights.
#define MINNOW_AMX __attribute__((target(HWY_TARGET_STR ",avx512vnni,amx-tile,amx-int8")))
MINNOW_AMX void configure_amx(size_t first, size_t second, size_t groups) {
  const AmxConfiguration made(first, second, groups);
  static_assert(kGroupBytes == 4);
  _tile_loadconfig(&made);
}
MINNOW_AMX void release_amx() { _tile_release(); }

// Rows of a run, `sums` without their bias one after the other. kAdds: there is an addend, too.
template <bool kAdds>
MINNOW_AMX HWY_INLINE void finish_bytes(const int32_t* sums, size_t rows, const IntegerTile& t, size_t n, uint8_t* y) {
  const D d;
  const V bias = hn::LoadU(d, t.bias + n * kLanes);
  const Result result(t);
  const ptrdiff_t stride = t.pixel_stride;
  size_t r = 0;
  for (; r + 4 <= rows; r += 4, y += 4 * stride) {
    V four[4];
    MINNOW_UNROLL for (size_t k = 0; k < 4; ++k) four[k] = requantized<kAdds>(hn::Add(hn::LoadU(d, sums + (r + k) * kLanes), bias), t, n);
    store_rows<4>(four, result, y, stride);
  }
  for (; r < rows; ++r, y += stride)
    store(result.one(requantized<kAdds>(hn::Add(hn::LoadU(d, sums + r * kLanes), bias), t, n)), t.is_signed, y);
}
MINNOW_AMX HWY_INLINE void finish_run(int32_t* sums, size_t rows, const IntegerTile& tile, size_t n, uint8_t* y) {
  if (tile.activate) return tile.activate(sums, rows, tile, n, tile.bias + n * kLanes, y, tile.pixel_stride);
  const D d;
  const IntegerTile t = tile;  // stays in registers: no result can lie in it
  if (t.raw) {
    const V bias = hn::LoadU(d, t.bias + n * kLanes);
    for (size_t r = 0; r < rows; ++r)
      hn::StoreU(hn::Add(hn::LoadU(d, sums + r * kLanes), bias), d,
                 reinterpret_cast<int32_t*>(y + static_cast<ptrdiff_t>(r) * t.pixel_stride));
    if (t.multiplier) make_reals(y, rows, tile, n, t.pixel_stride);
    return;
  }
  if (t.addend)
    finish_bytes<true>(sums, rows, t, n, y);
  else
    finish_bytes<false>(sums, rows, t, n, y);
}

MINNOW_AMX HWY_NOINLINE void amx_tile(const IntegerTile& t) {
  const size_t first = (t.rows + 1) / 2, second = t.rows - first;
  const size_t pieces = ceil_div(t.groups, kAmxGroups), groups = t.groups / pieces;
  const uint8_t* const runs[2] = {t.x[0], second ? t.x[1] : t.x[0]};  // no tile has no rows
  const uint32_t wanted = static_cast<uint32_t>(first | HWY_MAX(second, size_t{1}) << 8 | groups << 16);
  if (t.registers != wanted) {
    configure_amx(first, HWY_MAX(second, size_t{1}), groups);
    t.registers = wanted;
  }
  const bool two = t.vectors > 1;
  // Sums without their bias: loading it 16 times took longer than adding it later.
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const uint8_t* w = t.w;
  const ptrdiff_t piece = static_cast<ptrdiff_t>(groups) * kGroupBytes;
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const uint8_t *x0 = runs[0] + t.taps[tap], *x1 = runs[1] + t.taps[tap];
    for (size_t i = 0; i < pieces; ++i, x0 += piece, x1 += piece, w += groups * kColumns * kVector) {
      _tile_loadd(6, w, kColumns * kVector);
      _tile_loadd(4, x0, t.row_stride);
      _tile_loadd(5, x1, t.row_stride);
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(2, 5, 6);
      if (two) {
        _tile_loadd(7, w + kVector, kColumns * kVector);
        _tile_dpbusd(1, 4, 7);
        _tile_dpbusd(3, 5, 7);
      }
    }
  }
  alignas(64) int32_t sums[2][kColumns][16 * kLanes];  // [run][vector]
  _tile_stored(0, sums[0][0], kVector);
  _tile_stored(2, sums[1][0], kVector);
  if (two) {
    _tile_stored(1, sums[0][1], kVector);
    _tile_stored(3, sums[1][1], kVector);
  }
  for (size_t n = 0; n < t.vectors; ++n) {
    const ptrdiff_t plane = static_cast<ptrdiff_t>(n) * t.vector_stride;
    finish_run(sums[0][n], first, t, n, t.y[0] + plane);
    finish_run(sums[1][n], second, t, n, t.y[1] + plane);
  }
}
#endif

#if HWY_TARGET == HWY_NEON && MINNOW_ARM_EXTENSIONS
// SDOT of ARMv8.2's dot products: four products of i8 are added to each sum. As in tile.cpp, x comes as lanes of a vector.
#define MINNOW_DOT __attribute__((target("arch=armv8.2-a+crypto+dotprod")))
template <int kLane>
MINNOW_DOT HWY_INLINE void add_lane(int8x16_t a, const int8x16_t (&b)[4][kColumns], int32x4_t (&sum)[kColumns]) {
  MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) sum[n] = vdotq_laneq_s32(sum[n], b[kLane][n], a, kLane);
}
template <int R>
MINNOW_DOT HWY_NOINLINE void bytes_tile(const IntegerTile& t) {
  const auto load = [](const uint8_t* from) MINNOW_DOT { return vreinterpretq_s8_u8(vld1q_u8(from)); };
  int32x4_t sum[R][kColumns];
  MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) MINNOW_UNROLL for (int r = 0; r < R; ++r) sum[r][n] = vld1q_s32(t.bias + n * kLanes);
  const uint8_t* w = t.w;
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const Rows<R> rows(t, t.taps[tap]);
    const ptrdiff_t stride = t.row_stride, bytes = static_cast<ptrdiff_t>(t.groups) * kGroupBytes;
    ptrdiff_t at = 0;
    for (; at + 4 * kGroupBytes <= bytes; at += 4 * kGroupBytes) {
      int8x16_t b[4][kColumns];
      MINNOW_UNROLL for (int u = 0; u < 4; ++u) MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) b[u][n] =
          load(w + (u * kColumns + n) * kVector);
      w += 4 * kColumns * kVector;
      MINNOW_UNROLL for (int r = 0; r < R; ++r) {
        const int8x16_t a = load(rows.at(r, stride) + at);
        add_lane<0>(a, b, sum[r]);
        add_lane<1>(a, b, sum[r]);
        add_lane<2>(a, b, sum[r]);
        add_lane<3>(a, b, sum[r]);
      }
    }
    for (; at < bytes; at += kGroupBytes, w += kColumns * kVector) {
      int8x16_t b[kColumns];
      MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) b[n] = load(w + n * kVector);
      MINNOW_UNROLL for (int r = 0; r < R; ++r) {
        int32_t group;
        std::memcpy(&group, rows.at(r, stride) + at, sizeof group);
        const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(group));
        MINNOW_UNROLL for (int n = 0; n < kColumns; ++n) sum[r][n] = vdotq_s32(sum[r][n], b[n], a);
      }
    }
  }
  for (size_t n = 0; n < t.vectors; ++n) {
    V made[R];
    MINNOW_UNROLL for (int r = 0; r < R; ++r) made[r] = V(n == 0 ? sum[r][0] : sum[r][1]);
    finish(made, t, n);
  }
}
#endif

#if HWY_TARGET == HWY_NEON && MINNOW_ARM_EXTENSIONS
// SMMLA of ARMv8.2's products of i8 matrices: multiplies eight channels of two pixels with those of two outputs and adds to four sums. Two
// neighbouring pixels of eight channels are one vector, and so are two neighbouring outputs of the weights.
#define MINNOW_I8MM __attribute__((target("arch=armv8.2-a+crypto+i8mm")))
MINNOW_I8MM HWY_INLINE int32x4_t matrix_product(int32x4_t sum, int8x16_t a, int8x16_t b) {
#if HWY_COMPILER_CLANG
  return vmmlaq_s32(sum, a, b);
#else  // of that, gcc 12 moves sums about
  asm("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
#endif
}
// For N pairs of neighbouring pixels, one load each.
template <int N>
MINNOW_I8MM HWY_INLINE void add_products(const uint8_t* from, const int8x16x4_t& b, int32x4_t (*squares)[4]) {
  const int8_t* x = reinterpret_cast<const int8_t*>(from);
  const auto add = [&](int i, int8x16_t two) MINNOW_I8MM {
    MINNOW_UNROLL for (int j = 0; j < 4; ++j) squares[i][j] = matrix_product(squares[i][j], two, b.val[j]);
  };
  if constexpr (N == 1) {
    add(0, vld1q_s8(x));
  } else if constexpr (N == 2) {
    const int8x16x2_t twos = vld1q_s8_x2(x);
    MINNOW_UNROLL for (int i = 0; i < N; ++i) add(i, twos.val[i]);
  } else {
    const int8x16x3_t twos = vld1q_s8_x3(x);
    MINNOW_UNROLL for (int i = 0; i < N; ++i) add(i, twos.val[i]);
  }
}
template <int R>
MINNOW_I8MM HWY_NOINLINE void matrices_tile(const IntegerTile& t) {
  // Twos of pixels of each run; a last one without a partner has whatever follows it.
  constexpr int kHalf = (R + 1) / 2, kFirst = (kHalf + 1) / 2, kTwos = kFirst + (R - kHalf + 1) / 2, kSquares = 2 * kColumns;
  int32x4_t squares[kTwos][kSquares];  // of two pixels and two outputs: the upper pixel's sums, the lower one's
  MINNOW_UNROLL for (int i = 0; i < kTwos; ++i) MINNOW_UNROLL for (int j = 0; j < kSquares; ++j) squares[i][j] = vdupq_n_s32(0);
  const uint8_t* w = t.w;
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const uint8_t *x0 = t.x[0] + t.taps[tap], *x1 = t.x[1] + t.taps[tap];
    for (size_t group = t.groups; group; --group, x0 += t.group_stride, x1 += t.group_stride, w += kSquares * kVector) {
      const int8x16x4_t b = vld1q_s8_x4(reinterpret_cast<const int8_t*>(w));
      add_products<kFirst>(x0, b, squares);
      if constexpr (kTwos > kFirst) add_products<kTwos - kFirst>(x1, b, squares + kFirst);
    }
  }
  const auto half = [](int32x4_t a, int32x4_t b, bool second) MINNOW_I8MM {
    const int64x2_t c = vreinterpretq_s64_s32(a), d = vreinterpretq_s64_s32(b);
    return V(vreinterpretq_s32_s64(second ? vzip2q_s64(c, d) : vzip1q_s64(c, d)));
  };
  for (size_t n = 0; n < t.vectors; ++n) {
    const V bias = hn::LoadU(D(), t.bias + n * kLanes);
    V made[R];
    MINNOW_UNROLL for (int r = 0; r < R; ++r) {
      const int in = r < kHalf ? r : r - kHalf, i = (r < kHalf ? 0 : kFirst) + in / 2;
      made[r] = hn::Add(n == 0 ? half(squares[i][0], squares[i][1], in % 2) : half(squares[i][2], squares[i][3], in % 2), bias);
    }
    finish(made, t, n);
  }
}
#endif

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || (HWY_TARGET == HWY_NEON && MINNOW_ARM_EXTENSIONS)
#define MINNOW_BYTES 1
#else
#define MINNOW_BYTES 0
#endif
#ifdef MINNOW_I8MM
#define MINNOW_MATRICES 1
#else
#define MINNOW_MATRICES 0
#endif
struct Table {
  IntegerTileFunction words[kRows + 1] = {}, bytes[kByteRows + 1] = {}, matrices[kMatrixRows + 1] = {}, amx[kAmxRows + 1] = {};
};
template <int R>
constexpr void add(Table& table) {
  table.words[R] = words_tile<R>;
  if constexpr (R > 1) add<R - 1>(table);
}
#if MINNOW_BYTES
template <int R>
constexpr void add_bytes(Table& table) {
  table.bytes[R] = bytes_tile<R>;
  if constexpr (R > 1) add_bytes<R - 1>(table);
}
#endif
#if MINNOW_MATRICES
template <int R>
constexpr void add_matrices(Table& table) {
  table.matrices[R] = matrices_tile<R>;
  if constexpr (R > 1) add_matrices<R - 1>(table);
}
#endif
constexpr Table make_table() {
  Table table;
  add<kRows>(table);
#if MINNOW_BYTES
  add_bytes<kByteRows>(table);
#endif
#if MINNOW_MATRICES
  add_matrices<kMatrixRows>(table);
#endif
#if HWY_TARGET == HWY_AVX3
  for (int rows = 1; rows <= kAmxRows; ++rows) table.amx[rows] = amx_tile;
#endif
  return table;
}
constexpr Table kTable = make_table();

constexpr bool kSignedBytes = HWY_TARGET == HWY_NEON;
using Words = hn::Rebind<int16_t, D>;
HWY_INLINE hn::Vec<Words> widened(const uint8_t* x, bool is_signed) {
  if (is_signed) return hn::PromoteTo(Words(), hn::LoadU(DS8(), reinterpret_cast<const int8_t*>(x)));
  return hn::PromoteTo(Words(), hn::LoadU(D8(), x));
}

void arrange(IntegerForm form, const ByteSource& source, size_t step, size_t count, uint8_t* to, size_t to_step) {
  const uint8_t* from = source.from;
  if (form == IntegerForm::words) {
    const auto zero = hn::Set(Words(), static_cast<int16_t>(source.zero_point));
    for (size_t i = 0; i < count; ++i, from += step, to += to_step)
      hn::StoreU(hn::Sub(widened(from, source.is_signed), zero), Words(), reinterpret_cast<int16_t*>(to));
    return;
  }
  const auto flip = hn::Set(D8(), source.is_signed == kSignedBytes ? uint8_t{0} : uint8_t{0x80});
  for (size_t i = 0; i < count; ++i, from += step, to += to_step) hn::StoreU(hn::Xor(hn::LoadU(D8(), from), flip), D8(), to);
}

void interleave(const uint8_t* const from[4], size_t count, uint8_t flip, uint8_t* to) {
  const hn::FixedTag<uint8_t, 16> d;
  const auto mask = hn::Set(d, flip);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const auto a = hn::Xor(hn::LoadU(d, from[0] + i), mask), b = hn::Xor(hn::LoadU(d, from[1] + i), mask),
               c = hn::Xor(hn::LoadU(d, from[2] + i), mask), e = hn::Xor(hn::LoadU(d, from[3] + i), mask);
    hn::StoreInterleaved4(a, b, c, e, d, to + 4 * i);
  }
  for (; i < count; ++i)
    for (size_t c = 0; c < 4; ++c) to[4 * i + c] = from[c][i] ^ flip;
}

// Quotients by a number that is used often, rounded like those of division: two steps with the remainder mend a product with the
// reciprocal (Markstein 1990, see division.inc). For numbers whose quotients and remainders are in the middle of the range of f32.
constexpr bool kMends = HWY_NATIVE_FMA && !kSmall;
template <bool kMend>
struct Quotient {
  hn::Vec<DF> divisor, reciprocal;
  HWY_INLINE explicit Quotient(float by) : divisor(hn::Set(DF(), by)), reciprocal(hn::Set(DF(), 1 / by)) {}
  HWY_INLINE hn::Vec<DF> of(hn::Vec<DF> x) const {
    if constexpr (!kMend) return divide(x, divisor);
    const auto first = hn::Mul(x, reciprocal);
    const auto second = hn::MulAdd(hn::NegMulAdd(first, divisor, x), reciprocal, first);
    return hn::MulAdd(hn::NegMulAdd(second, divisor, x), reciprocal, second);
  }
};

template <bool kMend>
void quantize_by(const float* x, size_t count, float scale, int32_t zero_point, bool is_signed, uint8_t* y) {
  const DF d;
  const float lowest = is_signed ? -128.0f : 0.0f, highest = is_signed ? 127.0f : 255.0f, zero = static_cast<float>(zero_point);
  const Quotient<kMend> quotient(scale);
  // Infinities have no remainder, so x is cut beforehand. A cut number's quotient rounds to the bound.
  const float unit = kMend ? scale : 1;
  const auto low = hn::Set(d, (lowest - zero) * unit), high = hn::Set(d, (highest - zero) * unit);
  const auto of = [&](hn::Vec<DF> v) HWY_ATTR {
    auto q = v;
    if constexpr (!kMend) q = quotient.of(v);
    const auto is_nan = hn::IsNaN(q);
    q = hn::Min(hn::Max(q, low), high);
    if constexpr (kMend) q = quotient.of(q);
    return hn::Add(nearest(hn::IfThenZeroElse(is_nan, q)), hn::Set(D(), zero_point));
  };
  size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    V four[4];
    MINNOW_UNROLL for (int k = 0; k < 4; ++k) four[k] = of(hn::LoadU(d, x + i + k * kLanes));
    store_rows<4>(four, Whole{{is_signed}}, y + i, kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) store(of(hn::LoadU(d, x + i)), is_signed, y + i);
  if (i == count) return;
  float rest[kLanes] = {};
  uint8_t result[kLanes];
  std::memcpy(rest, x + i, (count - i) * sizeof(float));
  store(of(hn::LoadU(d, rest)), is_signed, result);
  std::memcpy(y + i, result, count - i);
}
void quantize(const float* x, size_t count, float scale, int32_t zero_point, bool is_signed, uint8_t* y) {
  if (kMends && scale > 1e-25f && scale < 1e25f)
    quantize_by<kMends>(x, count, scale, zero_point, is_signed, y);
  else
    quantize_by<false>(x, count, scale, zero_point, is_signed, y);
}

HWY_INLINE V whole(const uint8_t* x, bool is_signed) {
  if (is_signed) return hn::PromoteTo(D(), hn::LoadU(DS8(), reinterpret_cast<const int8_t*>(x)));
  return hn::PromoteTo(D(), hn::LoadU(D8(), x));
}
HWY_INLINE hn::Vec<DF> real(const uint8_t* x, bool is_signed) { return hn::ConvertTo(DF(), whole(x, is_signed)); }

void dequantize(const ByteSource& source, size_t count, float scale, float* y) {
  const DF d;
  const auto zero = hn::Set(d, static_cast<float>(source.zero_point)), factor = hn::Set(d, scale);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::Mul(hn::Sub(real(source.from + i, source.is_signed), zero), factor), d, y + i);
  if (i == count) return;
  uint8_t rest[kLanes] = {};
  float result[kLanes];
  std::memcpy(rest, source.from + i, count - i);
  hn::StoreU(hn::Mul(hn::Sub(real(rest, source.is_signed), zero), factor), d, result);
  std::memcpy(y + i, result, (count - i) * sizeof(float));
}

template <class Tag, class T = hn::TFromD<Tag>>
HWY_INLINE void maximum_of(Tag d, const T* x, size_t step, size_t count, T* most) {
  for (size_t i = 0; i < count; ++i, x += step * kLanes, most += kLanes) hn::StoreU(hn::Max(hn::LoadU(d, most), hn::LoadU(d, x)), d, most);
}
void maximum(const uint8_t* x, size_t step, size_t count, bool is_signed, uint8_t* most) {
  if (is_signed)
    maximum_of(DS8(), reinterpret_cast<const int8_t*>(x), step, count, reinterpret_cast<int8_t*>(most));
  else
    maximum_of(D8(), x, step, count, most);
}

void requantize(const float* x, size_t count, const IntegerTile& t) {
  const D d;
  const V bias = hn::LoadU(d, t.bias);
  uint8_t* y = t.y[0];
  const auto of = [&](const float* from) HWY_ATTR { return requantized(hn::Add(hn::NearestInt(hn::LoadU(DF(), from)), bias), t, 0); };
  size_t i = 0;
  if (t.raw) {
    for (; i < count; ++i, y += kVector)
      hn::StoreU(hn::Add(hn::NearestInt(hn::LoadU(DF(), x + i * kLanes)), bias), d, reinterpret_cast<int32_t*>(y));
    if (t.multiplier) make_reals(t.y[0], count, t, 0, kVector);
    return;
  }
  const Result result(t);
  for (; i + 4 <= count; i += 4, x += 4 * kLanes, y += 4 * kLanes) {
    V four[4];
    MINNOW_UNROLL for (int k = 0; k < 4; ++k) four[k] = of(x + k * kLanes);
    store_rows<4>(four, result, y, kLanes);
  }
  for (; i < count; ++i, x += kLanes, y += kLanes) store(result.one(of(x)), t.is_signed, y);
}

#include "backends/cpu/kernels/integer_ends.inc"

using Bytes = hn::ScalableTag<uint8_t>;
// The lower four bits look up in each sixteen entries, and each of the upper ones chooses between halves of what is left: 16 lookups and 15
// choices.
HWY_INLINE hn::Vec<Bytes> looked_up(hn::Vec<Bytes> x, const uint8_t* table) {
  const Bytes d;
  const hn::RebindToSigned<Bytes> ds;
  const hn::Repartition<uint16_t, Bytes> d16;
  const auto low = hn::And(x, hn::Set(d, 15));
  const auto words = hn::BitCast(d16, x);
  const auto bit4 = hn::BitCast(ds, hn::ShiftLeft<3>(words)), bit5 = hn::BitCast(ds, hn::ShiftLeft<2>(words)),
             bit6 = hn::BitCast(ds, hn::ShiftLeft<1>(words)), bit7 = hn::BitCast(ds, x);
  const auto row = [&](size_t i) HWY_ATTR { return hn::BitCast(ds, hn::TableLookupBytes(hn::LoadDup128(d, table + 16 * i), low)); };
  const auto two = [&](size_t i) HWY_ATTR { return hn::IfNegativeThenElse(bit4, row(i + 1), row(i)); };
  const auto four = [&](size_t i) HWY_ATTR { return hn::IfNegativeThenElse(bit5, two(i + 2), two(i)); };
  const auto eight = [&](size_t i) HWY_ATTR { return hn::IfNegativeThenElse(bit6, four(i + 4), four(i)); };
  return hn::BitCast(d, hn::IfNegativeThenElse(bit7, eight(8), eight(0)));
}
#if HWY_TARGET == HWY_AVX3
// AVX512-VBMI looks up 128 entries at once.
__attribute__((target(HWY_TARGET_STR ",avx512vbmi"))) void lookup_128(const uint8_t* x, size_t count, const uint8_t* table, uint8_t* y) {
  const __m512i first = _mm512_loadu_si512(table), second = _mm512_loadu_si512(table + 64), third = _mm512_loadu_si512(table + 128),
                fourth = _mm512_loadu_si512(table + 192);
  for (size_t i = 0; i < count; i += 64) {
    const __mmask64 used = count - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (count - i)) - 1;
    const __m512i index = _mm512_maskz_loadu_epi8(used, x + i);
    const __m512i low = _mm512_permutex2var_epi8(first, index, second), high = _mm512_permutex2var_epi8(third, index, fourth);
    _mm512_mask_storeu_epi8(y + i, used, _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high));
  }
}
#endif
void lookup(const uint8_t* x, size_t count, const uint8_t* table, uint8_t* y) {
#if HWY_TARGET == HWY_AVX3
  static const bool has = __builtin_cpu_supports("avx512vbmi");
  if (has) return lookup_128(x, count, table, y);
#endif
  const Bytes d;
  constexpr size_t kBytes = HWY_LANES(uint8_t);
  size_t i = 0;
  for (; i + kBytes <= count; i += kBytes) hn::StoreU(looked_up(hn::LoadU(d, x + i), table), d, y + i);
  for (; i < count; ++i) y[i] = table[x[i]];
}

template <bool kSigned>
HWY_INLINE void sum_of_bytes(const uint8_t* a, const uint8_t* b, size_t count, const ByteSum& sum, uint8_t* y) {
  const D d;
  const V first = hn::Set(d, sum.factor[0]), second = hn::Set(d, sum.factor[1]), offset = hn::Set(d, sum.offset),
          zero = hn::Set(d, sum.zero_point), low = hn::Set(d, sum.low), high = hn::Set(d, sum.high);
  const int shift = sum.shift;
  const auto step = [&](const uint8_t* from, const uint8_t* other, uint8_t* to) HWY_ATTR {
    const V total = hn::Add(hn::Add(hn::Mul(whole(from, kSigned), first), offset), hn::Mul(whole(other, kSigned), second));
    store(hn::Min(hn::Max(hn::Add(hn::ShiftRightSame(total, shift), zero), low), high), kSigned, to);
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) step(a + i, b + i, y + i);
  if (i == count) return;
  uint8_t rest[2][kLanes] = {};
  std::memcpy(rest[0], a + i, count - i);
  std::memcpy(rest[1], b + i, count - i);
  step(rest[0], rest[1], rest[0]);
  std::memcpy(y + i, rest[0], count - i);
}
void sum(const uint8_t* a, const uint8_t* b, size_t count, const ByteSum& how, uint8_t* y) {
  how.is_signed ? sum_of_bytes<true>(a, b, count, how, y) : sum_of_bytes<false>(a, b, count, how, y);
}

template <bool kSigned, bool kSlopes>
void blend_bytes(const uint8_t* a, const uint8_t* b, size_t count, const ByteBlend& how, uint8_t* y) {
  const DF d;
  const auto first = hn::LoadU(d, how.first), second = hn::Set(d, how.second), offset = hn::LoadU(d, how.offset), none = hn::Zero(d),
             low = hn::Set(d, how.low), high = hn::Set(d, how.high), slope = kSlopes ? hn::LoadU(d, how.slopes) : none;
  const V a_zero = hn::Set(D(), how.a_zero), zero = hn::Set(D(), how.zero_point);
  const auto of = [&](const uint8_t* x, const uint8_t* other) HWY_ATTR {
    const auto from = hn::ConvertTo(d, hn::Sub(whole(x, kSigned), a_zero));
    auto total = hn::MulAdd(from, first, hn::MulAdd(real(other, kSigned), second, offset));
    if constexpr (kSlopes) total = hn::MulAdd(hn::Min(total, none), slope, hn::Max(total, none));
    total = hn::IfThenZeroElse(hn::IsNaN(total), total);
    return hn::Add(nearest(hn::Min(hn::Max(total, low), high)), zero);
  };
  const bool is_signed = how.y_is_signed;
  size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    V four[4];
    MINNOW_UNROLL for (int k = 0; k < 4; ++k) four[k] = of(a + i + k * kLanes, b + i + k * kLanes);
    store_rows<4>(four, Whole{{is_signed}}, y + i, kLanes);
  }
  for (size_t n; i < count; i += n) {
    uint8_t rest[2][kLanes] = {};
    n = HWY_MIN(count - i, size_t{kLanes});
    std::memcpy(rest[0], a + i, n);
    std::memcpy(rest[1], b + i, n);
    store(of(rest[0], rest[1]), is_signed, rest[0]);
    std::memcpy(y + i, rest[0], n);
  }
}
void blend(const uint8_t* a, const uint8_t* b, size_t count, const ByteBlend& how, uint8_t* y) {
  if (how.slopes)
    how.x_is_signed ? blend_bytes<true, true>(a, b, count, how, y) : blend_bytes<false, true>(a, b, count, how, y);
  else
    how.x_is_signed ? blend_bytes<true, false>(a, b, count, how, y) : blend_bytes<false, false>(a, b, count, how, y);
}

// One vector after another, and the rest as a vector.
template <class F>
HWY_INLINE void each_vector(const float* a, const float* b, size_t count, float* y, F step) {
  const DF d;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(step(hn::LoadU(d, a + i), b ? hn::LoadU(d, b + i) : hn::Zero(d)), d, y + i);
  if (i == count) return;
  float rest[2][kLanes] = {};
  std::memcpy(rest[0], a + i, (count - i) * sizeof(float));
  if (b) std::memcpy(rest[1], b + i, (count - i) * sizeof(float));
  hn::StoreU(step(hn::LoadU(d, rest[0]), hn::LoadU(d, rest[1])), d, rest[0]);
  std::memcpy(y + i, rest[0], (count - i) * sizeof(float));
}
enum class Bend : uint8_t { none, slopes, hard_swish };
template <Bend kBend>
void blend_reals_by(const float* a, const float* b, size_t count, const RealBlend& how, float* y) {
  using VF = hn::Vec<DF>;
  const DF d;
  const VF first = hn::LoadU(d, how.first), second = hn::Set(d, how.second), low = hn::Set(d, how.low), high = hn::Set(d, how.high),
           none = hn::Zero(d), one = hn::Set(d, 1.0f), half = hn::Set(d, 0.5f), sixth = hn::Set(d, how.unit / 6),
           slope = kBend == Bend::slopes ? hn::LoadU(d, how.slopes) : none;
  each_vector(a, b, count, y, [&](VF x, VF other) HWY_ATTR {
    VF total = hn::MulAdd(x, first, hn::Mul(other, second));
    if constexpr (kBend == Bend::slopes) total = hn::MulAdd(at_most(none, total), slope, at_least(none, total));
    if constexpr (kBend == Bend::hard_swish) total = hn::Mul(total, at_most(one, at_least(none, hn::MulAdd(total, sixth, half))));
    return at_most(high, at_least(low, hn::Round(total)));
  });
}
void blend_reals(const float* a, const float* b, size_t count, const RealBlend& how, float* y) {
  if (how.unit != 0)
    blend_reals_by<Bend::hard_swish>(a, b, count, how, y);
  else if (how.slopes)
    blend_reals_by<Bend::slopes>(a, b, count, how, y);
  else
    blend_reals_by<Bend::none>(a, b, count, how, y);
}
void round_quotients(const float* x, size_t count, float divisor, float low, float high, float* y) {
  const DF d;
  const Quotient<kMends> quotient(divisor);
  // Bounds before the quotient, since infinities have no remainder.
  const auto least = hn::Set(d, low * divisor), most = hn::Set(d, high * divisor);
  each_vector(x, nullptr, count, y,
              [&](hn::Vec<DF> v, hn::Vec<DF>) HWY_ATTR { return hn::Round(quotient.of(at_most(most, at_least(least, v)))); });
}
#if HWY_TARGET == HWY_AVX3
constexpr void (*release)() = release_amx;
#else
constexpr void (*release)() = nullptr;
#endif
}  // namespace

extern const IntegerKernels kIntegerKernels;
const IntegerKernels kIntegerKernels{
    {kRows, kByteRows, kMatrixRows, kAmxRows},
    {kTable.words, MINNOW_BYTES ? kTable.bytes : nullptr, MINNOW_MATRICES ? kTable.matrices : nullptr, kAmxRows ? kTable.amx : nullptr},
    kLanes,
    kSignedBytes,
    release,
    arrange,
    unless_small(interleave),
    quantize,
    dequantize,
    maximum,
    requantize,
    activate,
    unless_small(finish_rows),
    kActivatesSmoothly,
    unless_small(lookup),
    sum,
    unless_small(blend),
    unless_small(blend_reals),
    unless_small(round_quotients)};
#undef MINNOW_BYTES
#undef MINNOW_VNNI
#undef MINNOW_MATRICES
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::cpu {

bool runs(const IntegerKernels& kernels, IntegerForm form) {
  if (!kernels.tiles[static_cast<size_t>(form)]) return false;
  if (form == IntegerForm::words) return true;
#if HWY_ARCH_X86
  if (kernels.lanes == lanes_of(Isa::avx2)) return may_use_avx_vnni();
  static const bool has_vnni = __builtin_cpu_supports("avx512vnni");
  return has_vnni && (form == IntegerForm::bytes || os::may_use_amx());
#else
  return form == IntegerForm::bytes ? os::arm_features().dot : os::arm_features().i8mm;
#endif
}

void IntegerTiles::run_activated(const IntegerTile& tile) const {
  constexpr size_t kMostLanes = 16, kMostVectors = 2;
  alignas(64) int32_t sums[kMostVectors * kMostIntegerRows * kMostLanes];
  const size_t half = (tile.rows + 1) / 2, plane = tile.rows * lanes_;
  IntegerTile raw = tile;
  raw.raw = true, raw.multiplier = nullptr;
  raw.y[0] = reinterpret_cast<uint8_t*>(sums), raw.y[1] = reinterpret_cast<uint8_t*>(sums + half * lanes_);
  raw.pixel_stride = static_cast<ptrdiff_t>(lanes_ * sizeof(int32_t)), raw.vector_stride = static_cast<ptrdiff_t>(plane * sizeof(int32_t));
  functions_[tile.rows](raw);
  for (size_t n = 0; n < tile.vectors; ++n) {
    const ptrdiff_t to = static_cast<ptrdiff_t>(n) * tile.vector_stride;
    const bool together = tile.y[1] == tile.y[0] + static_cast<ptrdiff_t>(half) * tile.pixel_stride;
    tile.activate(sums + n * plane, together ? tile.rows : half, tile, n, nullptr, tile.y[0] + to, tile.pixel_stride);
    if (!together) tile.activate(sums + n * plane + half * lanes_, tile.rows - half, tile, n, nullptr, tile.y[1] + to, tile.pixel_stride);
  }
}

IntegerForm best_form(const IntegerKernels& kernels, bool weights_are_bytes, size_t channels) {
  constexpr size_t kEnough = 16;  // channels of a tap: a tile register takes its time whether it is full or not
  if (weights_are_bytes)
    for (const IntegerForm form : {IntegerForm::amx, IntegerForm::matrices, IntegerForm::bytes})
      if (runs(kernels, form) && (!kHasAmx || form != IntegerForm::amx || channels >= kEnough)) return form;
  return IntegerForm::words;
}

}  // namespace minnow::cpu
#endif
