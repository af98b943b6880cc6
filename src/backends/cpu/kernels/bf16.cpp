// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/bf16.h"

#include <cstring>
#include <limits>

#include "backends/cpu/kernels/amx.h"
#include "backends/cpu/kernels/targets.h"
#include "base/numeric.h"
#include "base/os.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/bf16.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET && !MINNOW_SMALL
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kLanes = HWY_LANES(float);
constexpr bool kTilesRound = false;
#include "backends/cpu/kernels/tile_ends.inc"

// Pairs widened in the tile: an instruction or two more than f32's tile, for half the bytes of weights. Meant for products of few rows.
namespace widening {
#undef MINNOW_BF16
#define MINNOW_BF16
using D32 = hn::RebindToUnsigned<D>;
using Pairs = hn::Vec<D32>;
constexpr int kRows = 4;
constexpr bool kPlain = false;

HWY_INLINE V add_products(V sum, Pairs a, Pairs b) {
  const D d;
  const D32 d32;
  const auto high = hn::Set(d32, 0xffff0000u);
  sum = hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(a)), hn::BitCast(d, hn::ShiftLeft<16>(b)), sum);
  return hn::MulAdd(hn::BitCast(d, hn::And(a, high)), hn::BitCast(d, hn::And(b, high)), sum);
}
HWY_INLINE Pairs load_pairs(const float* from) { return hn::LoadU(D32(), reinterpret_cast<const uint32_t*>(from)); }
HWY_INLINE Pairs broadcast_pair(const float* from) {
  uint32_t pair;
  std::memcpy(&pair, from, sizeof pair);
  return hn::Set(D32(), pair);
}
HWY_INLINE Pairs rounded(V x) {
  const D32 d;
  const auto bits = hn::BitCast(d, x), upper = hn::ShiftRight<16>(bits);
  const auto nearest = hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(d, 0x7fffu), hn::And(upper, hn::Set(d, 1u)))));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(x)), hn::Or(upper, hn::Set(d, 0x40u)), nearest);  // a NaN stays one
}
// A vector of floats, rounded, in the lower halves of its lanes.
HWY_INLINE Pairs rounded(const float* from) { return rounded(hn::LoadU(D(), from)); }
constexpr size_t kPixel = kLanes;
// The lower vector first.
HWY_INLINE void store_pairs(V low, V high, float* to, size_t) {
  const hn::RebindToSigned<D> d32;
  const hn::Rebind<uint16_t, D> d16;
  uint16_t* halves = reinterpret_cast<uint16_t*>(to);
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(d32, rounded(low))), d16, halves);
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(d32, rounded(high))), d16, halves + kLanes);
}
#include "backends/cpu/kernels/bf16_form.inc"
}  // namespace widening

// The machine's own products, if a function may use them although its target does not include them.
#undef MINNOW_BF16
#if HWY_TARGET == HWY_AVX3
#define MINNOW_BF16 __attribute__((target(HWY_TARGET_STR ",avx512bf16")))
#elif HWY_TARGET == HWY_NEON && MINNOW_ARM_EXTENSIONS
#define MINNOW_BF16 __attribute__((target("arch=armv8.2-a+crypto+bf16")))
#endif
#ifdef MINNOW_BF16
namespace direct {
constexpr bool kPlain = true;
#if HWY_TARGET == HWY_AVX3
// AVX512-BF16, which Highway 1.0.3 has no operation for. 14 x 2 as in f32: `minnow profile --precision low` shows 228 Gop/s in the 1x1
// convolutions of MobileNet-v1 on a core of Zen 4 that reaches 118 in f32.
constexpr int kRows = 14;
using Pairs = __m512bh;

MINNOW_BF16 HWY_INLINE V add_products(V sum, Pairs a, Pairs b) { return V{_mm512_dpbf16_ps(sum.raw, a, b)}; }
MINNOW_BF16 HWY_INLINE Pairs load_pairs(const float* from) { return reinterpret_cast<Pairs>(_mm512_loadu_si512(from)); }
MINNOW_BF16 HWY_INLINE Pairs broadcast_pair(const float* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof pair);
  return reinterpret_cast<Pairs>(_mm512_set1_epi32(pair));
}
constexpr size_t kPixel = kLanes;
// The lower vector first.
MINNOW_BF16 HWY_INLINE void store_pairs(V low, V high, float* to, size_t) {
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.raw, low.raw)));
}
// A vector of floats, rounded, in the lower halves of its lanes.
MINNOW_BF16 HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> rounded(const float* from) {
  return hn::Vec<hn::RebindToUnsigned<D>>{_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_loadu_ps(from))))};
}
#else
// BFMMLA of ARMv8.2's bf16 extension for whole vectors of channels (bf16_matrices.inc), else BFDOT.
constexpr int kRows = 12;
using Pairs = bfloat16x8_t;

MINNOW_BF16 HWY_INLINE V add_products(V sum, Pairs a, Pairs b) { return V(vbfdotq_f32(sum.raw, a, b)); }
MINNOW_BF16 HWY_INLINE Pairs load_pairs(const float* from) { return vreinterpretq_bf16_f32(vld1q_f32(from)); }
MINNOW_BF16 HWY_INLINE Pairs broadcast_pair(const float* from) { return vreinterpretq_bf16_f32(vld1q_dup_f32(from)); }
constexpr size_t kPixel = kLanes / 2;
// The lower vector in the first part, the upper one in the second, which lies `part` floats further.
MINNOW_BF16 HWY_INLINE void store_pairs(V low, V high, float* to, size_t part) {
  vst1_u16(reinterpret_cast<uint16_t*>(to), vreinterpret_u16_bf16(vcvt_bf16_f32(low.raw)));
  vst1_u16(reinterpret_cast<uint16_t*>(to + part), vreinterpret_u16_bf16(vcvt_bf16_f32(high.raw)));
}
// A vector of floats, rounded, in the lower halves of its lanes.
MINNOW_BF16 HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> rounded(const float* from) {
  return hn::Vec<hn::RebindToUnsigned<D>>(vmovl_u16(vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(from)))));
}
#define MINNOW_BF16_MATRICES
#endif
#include "backends/cpu/kernels/bf16_form.inc"
#undef MINNOW_BF16_MATRICES
}  // namespace direct
#endif

#if HWY_TARGET == HWY_AVX3
// AMX: a vector of pairs of a pixel is a row of a register, the weights of such a vector are a register as they lie.
namespace matrices {
#define MINNOW_AMX __attribute__((target(HWY_TARGET_STR ",avx512bf16,amx-tile,amx-bf16")))
constexpr int kRows = 32, kFewRows = 4;  // fewer rows leave the registers empty
constexpr size_t kRowBytes = 64;
static_assert(kLanes * sizeof(float) == kRowBytes);

// Adds to the sums in registers: of each tap `blocks` groups of channels, which begin at `offset` of its pixels and at `w` of its weights.
MINNOW_AMX HWY_INLINE void add_blocks(const Tile& t, size_t blocks, ptrdiff_t offset, const float* w, size_t pairs, size_t vectors) {
  const size_t row = vectors * kLanes, tap_weights = (t.blocks * kLanes + t.rest) * row;
  const bool two = vectors > 1;
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const float *x0 = t.x[0] + t.taps[tap] + offset, *x1 = t.x[1] + t.taps[tap] + offset, *at = w + tap * tap_weights;
    for (size_t b = 0; b < blocks; ++b, x0 += t.block_stride, x1 += t.block_stride, at += pairs * row) {
      _tile_loadd(6, at, row * sizeof(float));
      _tile_loadd(4, x0, kRowBytes);
      _tile_loadd(5, x1, kRowBytes);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(2, 5, 6);
      if (two) {
        _tile_loadd(7, at + kLanes, row * sizeof(float));
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
  }
}

MINNOW_AMX HWY_NOINLINE void tile(const Tile& t, size_t rows, size_t vectors) {
  const size_t counts[2] = {(rows + 1) / 2, rows / 2};
  alignas(64) float sums[2][2][16 * kLanes];  // [run][vector]
  const auto load = [&]() MINNOW_AMX {
    _tile_loadd(0, sums[0][0], kRowBytes);
    _tile_loadd(1, sums[0][1], kRowBytes);
    _tile_loadd(2, sums[1][0], kRowBytes);
    _tile_loadd(3, sums[1][1], kRowBytes);
  };
  const auto store = [&]() MINNOW_AMX {
    _tile_stored(0, sums[0][0], kRowBytes);
    _tile_stored(1, sums[0][1], kRowBytes);
    _tile_stored(2, sums[1][0], kRowBytes);
    _tile_stored(3, sums[1][1], kRowBytes);
  };
  if (t.blocks) {
    const AmxConfiguration whole(counts[0], counts[1], kLanes);
    _tile_loadconfig(&whole);  // all registers are zero now
    add_blocks(t, t.blocks, 0, t.w, kLanes, vectors);
    store();
  }
  if (t.rest) {
    const AmxConfiguration some(counts[0], counts[1], t.rest);
    _tile_loadconfig(&some);
    if (t.blocks) load();
    add_blocks(t, 1, static_cast<ptrdiff_t>(t.blocks) * t.block_stride, t.w + t.blocks * kLanes * vectors * kLanes, t.rest, vectors);
    store();
  }
  _tile_release();
  const D d;
  const V low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  for (size_t n = 0; n < vectors; ++n) {
    const V bias = t.bias ? hn::LoadU(d, t.bias + n * kLanes) : hn::Zero(d);
    for (size_t run = 0; run < 2; ++run)
      for (size_t r = 0; r < counts[run]; ++r) {
        const ptrdiff_t at = static_cast<ptrdiff_t>(r) * t.pixel_stride + static_cast<ptrdiff_t>(n) * t.vector_stride;
        float* const y = t.y[run] + at;
        V sum = hn::Add(hn::Load(d, sums[run][n] + r * kLanes), t.accumulate ? hn::LoadU(d, y) : bias);
        if (t.finish) {
          if (t.add[0]) sum = hn::Add(sum, hn::LoadU(d, t.add[run] + at));
          sum = at_most(high, at_least(low, sum));
        }
        hn::StoreU(sum, d, y);
      }
  }
}

struct Table {
  TileFunction packed[3][kMostTileRows + 1] = {};
};
template <int R>
constexpr void add(Table& table) {
  if constexpr (R <= kFewRows) {
    table.packed[1][R] = direct::kTable.packed[1][R];
    table.packed[2][R] = direct::kTable.packed[2][R];
  } else {
    table.packed[1][R] = [](const Tile& t) { tile(t, R, 1); };
    table.packed[2][R] = [](const Tile& t) { tile(t, R, 2); };
  }
  if constexpr (R > 1) add<R - 1>(table);
}
constexpr Table make_table() {
  Table table;
  add<kRows>(table);
  return table;
}
constexpr Table kTable = make_table();
constexpr LowPrecisionKernels kForm{{{0, kRows, kRows}, kTable.packed, nullptr, nullptr, nullptr, nullptr, nullptr},
                                    direct::pack_pixels,
                                    direct::pack_planes,
                                    direct::pack_rows,
                                    LowPrecisionFormat::bf16};
#undef MINNOW_AMX
}  // namespace matrices
#endif
}  // namespace

extern const Bf16Forms kBf16Forms;
#if HWY_TARGET == HWY_AVX3
const Bf16Forms kBf16Forms{widening::kForm, direct::kForm, matrices::kForm};
#elif defined(MINNOW_BF16)
const Bf16Forms kBf16Forms{widening::kForm, direct::kForm, {}};
#else
const Bf16Forms kBf16Forms{widening::kForm, {}, {}};
#endif
#elif MINNOW_KERNEL_TARGET  // a small build has no rows for it
extern const Bf16Forms kBf16Forms;
const Bf16Forms kBf16Forms{};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::cpu {

bool has_bf16_products() {
#if HWY_ARCH_X86
  static const bool has = __builtin_cpu_supports("avx512bf16");
#else
  static const bool has = os::arm_features().bf16;
#endif
  return has;
}

const LowPrecisionKernels& bf16_kernels(const Bf16Forms& forms, bool plain) {
  if (!plain && forms.matrices.tile.packed && has_bf16_products() && os::may_use_amx()) return forms.matrices;
  return forms.direct.tile.packed && has_bf16_products() ? forms.direct : forms.widening;
}

// Intel's cores execute the instruction on one of the two ports that multiply f32: as many products per cycle, with half the bytes. ARM's
// cores execute BFMMLA, with four times as many products as an f32 instruction, on the same units.
double bf16_speed(const Bf16Forms& forms, bool plain) {
  const LowPrecisionKernels& kernels = bf16_kernels(forms, plain);
  if (&kernels == &forms.widening) return 0.85;
  if (&kernels == &forms.matrices) return 6;  // 16 in the registers alone
#if HWY_ARCH_X86
  return __builtin_cpu_is("amd") ? 2 : 1;
#else
  return 3;
#endif
}

}  // namespace minnow::cpu
#endif
