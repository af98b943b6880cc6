// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/byte_depthwise.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/byte_depthwise.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<int32_t>;
using DF = hn::ScalableTag<float>;
using D8 = hn::Rebind<uint8_t, D>;
using DS8 = hn::Rebind<int8_t, D>;
using Bytes = hn::Repartition<uint8_t, D>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(int32_t);
constexpr size_t kBlock = 4 * kLanes;  // bytes

#include "backends/cpu/kernels/requantize.inc"

#if HWY_TARGET == HWY_AVX3
constexpr int kColumns = 4, kMost = 14, kFewer = 8;
#define MINNOW_DOT __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
MINNOW_DOT HWY_INLINE V dot(V sum, V x, V w) { return V{_mm512_dpbusd_epi32(sum.raw, x.raw, w.raw)}; }
#else
// As many outputs as registers hold. Beside f32 sums, 8 channels of 112 x 112, 3x3: 118 -> 46 us (Zen 3, 2026-11-28). Tiles of seven, which
// widths of 7 and 14 would fill, add 10 KB.
constexpr int kColumns = 2, kMost = 8, kFewer = 8;
#define MINNOW_DOT
HWY_INLINE V dot(V sum, V x, V w) { return hn::Add(sum, V{_mm256_madd_epi16(x.raw, w.raw)}); }
#endif
constexpr int kStep = kColumns / 2;

// N outputs from the first one on. With stride 1, a block of four columns has two of them, whose filters begin at its first and at its
// second column.
template <int kPieces, int kStride, int N>
MINNOW_DOT HWY_INLINE void tile(const ByteDepthwiseRow& r, V bias, size_t first, uint8_t* y) {
  constexpr int kShifts = kStep > kStride ? kStep / kStride : 1, kBlocks = kStride > kStep ? kStride / kStep : 1;  // for kShifts outputs
  const D d;
  V sum[N];
  MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = bias;
  const int32_t* from = reinterpret_cast<const int32_t*>(r.w);
  for (size_t ky = 0; ky < r.kernel_h; ++ky, from += kPieces * kShifts * kLanes) {
    V w[kPieces][kShifts];
    MINNOW_UNROLL for (int j = 0; j < kPieces; ++j) MINNOW_UNROLL for (int s = 0; s < kShifts; ++s) w[j][s] =
        hn::LoadU(d, from + (j * kShifts + s) * kLanes);
    const uint8_t* x = r.rows[ky] + first / kShifts * kBlocks * kBlock;
    MINNOW_UNROLL for (int n = 0; n < N; n += kShifts) MINNOW_UNROLL for (int j = 0; j < kPieces; ++j) {
      const V block = hn::LoadU(d, reinterpret_cast<const int32_t*>(x + (n / kShifts * kBlocks + 2 * j) * kBlock));
      MINNOW_UNROLL for (int s = 0; s < kShifts; ++s) sum[n + s] = dot(sum[n + s], block, w[j][s]);
    }
  }
  if (r.to->activate) {
    alignas(64) int32_t sums[N * kLanes];
    MINNOW_UNROLL for (int n = 0; n < N; ++n) hn::StoreU(sum[n], d, sums + n * kLanes);
    return r.to->activate(sums, N, *r.to, 0, nullptr, y, kLanes);
  }
  MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = requantized(sum[n], *r.to, 0);
  store_rows<N>(sum, Result(*r.to), y, kLanes);
}

template <int kPieces, int kStride, int N>
MINNOW_DOT HWY_NOINLINE void tiles(const ByteDepthwiseRow& r) {
  const V bias = hn::LoadU(D(), r.to->bias);
  uint8_t* y = r.to->y[0];
  uint8_t last[N * kLanes];
  for (size_t x = 0; x < r.out_w; x += N) {
    const bool whole = x + N <= r.out_w;
    tile<kPieces, kStride, N>(r, bias, x, whole ? y + x * kLanes : last);
    if (!whole) std::memcpy(y + x * kLanes, last, (r.out_w - x) * kLanes);
  }
}

template <int kPieces, int kStride>
MINNOW_DOT void row(const ByteDepthwiseRow& r) {
  static_assert(kMost <= kByteDepthwiseMost);
  const auto computed = [&](size_t width) { return (r.out_w + width - 1) / width * width; };
  computed(kMost) <= computed(kFewer) ? tiles<kPieces, kStride, kMost>(r) : tiles<kPieces, kStride, kFewer>(r);
}

#if HWY_TARGET == HWY_AVX3
void arrange(const uint8_t* columns, size_t count, bool is_signed, uint8_t* blocks) {
  const Bytes d;
  const D words;
  // Four channels of each of the four columns come into each 16 bytes, and are transposed there.
  HWY_ALIGN int32_t order[kLanes];
  HWY_ALIGN uint8_t within[4 * kLanes];
  for (size_t l = 0; l < kLanes; ++l) order[l] = static_cast<int32_t>(l % 4 * (kLanes / 4) + l / 4);
  for (size_t i = 0; i < 4 * kLanes; ++i) within[i] = static_cast<uint8_t>(i % 16 % 4 * 4 + i % 16 / 4);
  const auto from = hn::SetTableIndices(words, order);
  const auto bytes = hn::Load(d, within), flip = hn::Set(d, is_signed ? uint8_t{0x80} : uint8_t{0});
  for (size_t i = 0; i < count; ++i, columns += 2 * kLanes, blocks += kBlock) {
    const auto sorted = hn::TableLookupLanes(hn::BitCast(words, hn::LoadU(d, columns)), from);
    hn::StoreU(hn::Xor(hn::TableLookupBytes(hn::BitCast(d, sorted), bytes), flip), d, blocks);
  }
}
#else
void arrange(const uint8_t* columns, size_t count, bool is_signed, uint8_t* blocks) {
  const hn::Repartition<int16_t, D> words;
  const hn::Rebind<uint8_t, decltype(words)> d;
  HWY_ALIGN uint8_t order[2 * kLanes];
  for (size_t i = 0; i < 2 * kLanes; ++i) order[i] = static_cast<uint8_t>(i % 2 * kLanes + i / 2);
  const auto pairs = hn::Load(d, order);
  for (size_t i = 0; i < count; ++i, columns += kLanes, blocks += kBlock) {
    const auto bytes = hn::TableLookupBytes(hn::LoadU(d, columns), pairs);
    const auto wide = is_signed ? hn::PromoteTo(words, hn::BitCast(hn::RebindToSigned<decltype(d)>(), bytes)) : hn::PromoteTo(words, bytes);
    hn::StoreU(wide, words, reinterpret_cast<int16_t*>(blocks));
  }
}
#endif
#undef MINNOW_DOT
#endif
}  // namespace

extern const ByteDepthwiseKernels kByteDepthwiseKernels;
#if HWY_TARGET == HWY_AVX3
const ByteDepthwiseKernels kByteDepthwiseKernels{4, 128, true, {{row<1, 1>, row<1, 2>}, {row<2, 1>, row<2, 2>}, {}}, arrange};
#elif HWY_TARGET == HWY_AVX2
const ByteDepthwiseKernels kByteDepthwiseKernels{2, 0, false, {{}, {row<2, 1>, row<2, 2>}, {row<3, 1>, row<3, 2>}}, arrange};
#else
const ByteDepthwiseKernels kByteDepthwiseKernels{};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
