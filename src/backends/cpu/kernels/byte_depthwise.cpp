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

// Four bytes of u8 and i8, where the machine multiplies and adds these. Beside pairs, 3x3 filters of 128 channels of 56 x 56 took 195 ->
// 111 us, 512 of 14 x 14 82 -> 55 us (AVX-VNNI, Xeon, 2026-11-30).
namespace fours {
constexpr int kColumns = 4;
#if HWY_TARGET == HWY_AVX3
constexpr int kMost = 14, kFewer = 8;
#define MINNOW_DOT __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
MINNOW_DOT HWY_INLINE V dot(V sum, V x, V w) { return V{_mm512_dpbusd_epi32(sum.raw, x.raw, w.raw)}; }
#else
constexpr int kMost = 8, kFewer = 8;
#define MINNOW_DOT __attribute__((target(HWY_TARGET_STR ",avxvnni")))
MINNOW_DOT HWY_INLINE V dot(V sum, V x, V w) { return V{_mm256_dpbusd_avx_epi32(sum.raw, x.raw, w.raw)}; }
#endif
#include "backends/cpu/kernels/byte_depthwise_form.inc"
#undef MINNOW_DOT

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
}  // namespace fours

#if HWY_TARGET == HWY_AVX2
// Pairs of 16-bit numbers.
namespace pairs {
// As many outputs as registers hold. Beside f32 sums, 8 channels of 112 x 112, 3x3: 118 -> 46 us (Zen 3, 2026-11-28). Tiles of seven, which
// widths of 7 and 14 would fill, add 10 KB.
constexpr int kColumns = 2, kMost = 8, kFewer = 8;
#define MINNOW_DOT
HWY_INLINE V dot(V sum, V x, V w) { return hn::Add(sum, V{_mm256_madd_epi16(x.raw, w.raw)}); }
#include "backends/cpu/kernels/byte_depthwise_form.inc"
#undef MINNOW_DOT

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
}  // namespace pairs
#endif
#endif
}  // namespace

extern const ByteDepthwiseKernels kByteDepthwiseKernels;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
constexpr ByteDepthwiseForm kFours{
    4, 128, true, {{fours::row<1, 1>, fours::row<1, 2>}, {fours::row<2, 1>, fours::row<2, 2>}, {}}, fours::arrange};
#if HWY_TARGET == HWY_AVX2
constexpr ByteDepthwiseForm kPairs{
    2, 0, false, {{}, {pairs::row<2, 1>, pairs::row<2, 2>}, {pairs::row<3, 1>, pairs::row<3, 2>}}, pairs::arrange};
#else
constexpr ByteDepthwiseForm kPairs{};
#endif
const ByteDepthwiseKernels kByteDepthwiseKernels{{kFours, kPairs}};
#else
const ByteDepthwiseKernels kByteDepthwiseKernels{};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
