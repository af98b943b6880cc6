// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/nbits.h"

#include <utility>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/large/nbits.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
#if HWY_TARGET != HWY_SSE4  // where the decomposition serves
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

#if HWY_TARGET == HWY_AVX3
// A permutation looks at the lowest four bits of an index alone, so that it replaces a mask, a shift and a conversion.
constexpr bool kLooksUp = true;
#else
constexpr bool kLooksUp = false;
#endif

/// To the left, if kPlaces is below zero.
template <int kPlaces>
HWY_INLINE hn::Vec<DU> shifted_right(hn::Vec<DU> words) {
  if constexpr (kPlaces < 0) return hn::ShiftLeft<-kPlaces>(words);
  return hn::ShiftRight<(kPlaces > 0 ? kPlaces : 0)>(words);
}

/// Bits of `yes` where `mask` has them, else those of `no`.
HWY_INLINE hn::Vec<DU> select(hn::Vec<DU> mask, hn::Vec<DU> yes, hn::Vec<DU> no) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<DU>{_mm512_ternarylogic_epi32(mask.raw, yes.raw, no.raw, 0xCA)};
#else
  return hn::Or(hn::And(mask, yes), hn::AndNot(mask, no));
#endif
}

template <int kBits>
struct Reader {
  HWY_INLINE Reader() {
#if HWY_TARGET == HWY_AVX3
    alignas(64) float values[16];
    for (int i = 0; i < 16; ++i) {
      const int number = i & ((1 << kBits) - 1), half = 1 << (kBits - 1);
      values[i] = static_cast<float>(number < half ? number : number - 2 * half);
    }
    if constexpr (kBits <= 4) table = hn::Load(D(), values);
#endif
  }
  /// Number i of a group, in each lane.
  template <size_t i>
  HWY_INLINE V at(const uint32_t* words) const {
    const DU du;
    constexpr int kLow = low_bits(kBits), kHigh = kBits - kLow;
    constexpr NBitsPlace kPlace = nbits_place(i, kLow, kLow), kOther = nbits_place(i, kLow, kHigh == 0 ? kLow : kHigh);
    constexpr int kShift = kPlace.bit, kOtherShift = kOther.bit;
    const auto low = hn::LoadU(du, words + kPlace.word * kLanes);
    const auto high = hn::LoadU(du, words + ((kHigh == 0 ? 0 : kLow) + kOther.word) * kLanes);
    if constexpr (kLooksUp && kBits <= 4) {
#if HWY_TARGET == HWY_AVX3
      auto index = shifted_right<kShift>(low);
      if constexpr (kHigh != 0) index = select(hn::Set(du, (1U << kLow) - 1), index, shifted_right<kOtherShift - kLow>(high));
      return hn::TableLookupLanes(table, hn::Indices512<float>{index.raw});
#endif
    } else {
      // To the highest bits, and back with the sign.
      auto top = shifted_right<kShift - (32 - kBits)>(low);
      if constexpr (kHigh != 0) top = select(hn::Set(du, ~0U << (32 - kHigh)), hn::ShiftLeft<32 - kHigh - kOtherShift>(high), top);
      return hn::ConvertTo(D(), hn::ShiftRight<32 - kBits>(hn::BitCast(DI(), top)));
    }
  }
#if HWY_TARGET == HWY_AVX3
  V table;
#endif
};

HWY_INLINE V scale_of(const NBitsPanel& panel, size_t block) {
  const D d;
  if (panel.half_scales) {
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::LoadU(half, static_cast<const hwy::float16_t*>(panel.scales) + block * kLanes));
  }
  return hn::LoadU(d, static_cast<const float*>(panel.scales) + block * kLanes);
}

HWY_INLINE V zero_of(const NBitsPanel& panel, size_t block) {
  const D d;
  if (panel.zeros) return hn::LoadU(d, panel.zeros + block * kLanes);
  const hn::Rebind<uint8_t, D> bytes;
  const DI di;
  return hn::ConvertTo(d, hn::Sub(hn::PromoteTo(di, hn::LoadU(bytes, panel.bytes + block * kLanes)), hn::Set(di, panel.middle)));
}

template <int kBits>
void multiply(const NBitsPanel& panel, const float* a, const float* sums, size_t groups, float* y) {
  const D d;
  const Reader<kBits> reader;
  const bool has_zeros = panel.zeros || panel.bytes;
  V total = hn::Zero(d), part[4] = {total, total, total, total};
  size_t block = 0, left = panel.block;
  const uint32_t* words = panel.words;
  const auto add_half = [&]<size_t... i>(std::index_sequence<i...>, auto first) HWY_ATTR {
    constexpr size_t kFirst = decltype(first)::value;
    ((part[i % 4] = hn::MulAdd(hn::Set(d, a[kFirst + i]), reader.template at<kFirst + i>(words), part[i % 4])), ...);
  };
  const auto end_block = [&]() HWY_ATTR {
    V sum = hn::Add(hn::Add(part[0], part[1]), hn::Add(part[2], part[3]));
    if (has_zeros) sum = hn::NegMulAdd(zero_of(panel, block), hn::Set(d, sums[block]), sum);
    total = hn::MulAdd(sum, scale_of(panel, block), total);
    part[0] = part[1] = part[2] = part[3] = hn::Zero(d);
    ++block, left = panel.block;
  };
  constexpr size_t kHalf = kNBitsGroup / 2;
  for (size_t group = 0; group < groups; ++group, words += kBits * kLanes, a += kNBitsGroup) {
    add_half(std::make_index_sequence<kHalf>(), std::integral_constant<size_t, 0>());
    if (left == kHalf) end_block(), left += kHalf;
    add_half(std::make_index_sequence<kHalf>(), std::integral_constant<size_t, kHalf>());
    left -= kNBitsGroup;
    if (left == 0) end_block();
  }
  if (left != panel.block) end_block();
  hn::StoreU(total, d, y);
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Products in whole numbers. A number of the left factor is rounded to steps of its unit, 256^2 d2 + 256 d1 + d0 of them, where each digit
// is a signed byte: that loses at most half of the last place that f32 has for the unit's largest number. Sums of digits times numbers of 2
// or 4 bits are exact: 16 bits of a lane take 16 products, each at most 15 * 128. With 4 bits, three digits read 1.5 times as many weights
// a second from L2 as f32 did, one digit reads 3.5 times as many (Zen 3, 2026-11-28). VNNI adds them in 32 bits, which take numbers of 8
// bits, too.
constexpr float kMostSteps = 127 * 65536 + 127 * 256 + 126;  // rounding may add one
constexpr size_t kPlaces = 4;                                // of the digits of four numbers; there are no fourth digits
constexpr size_t kAhead = 512;                               // words that are fetched early

/// The highest bit of each field of a word: with them inverted, numbers count from the lowest of their range.
constexpr uint32_t highest_bits(int width) {
  uint32_t bits = 0;
  for (int i = width - 1; i < 32; i += width) bits |= uint32_t{1} << i;
  return bits;
}

template <int kWidth>
HWY_INLINE hn::Vec<DU> inverted(hn::Vec<DU> words) {
#if HWY_TARGET == HWY_AVX3
  // gcc makes the other way an instruction with one operand more, by which a group waits for the one before: a row times 4096 x 4096
  // weights of 3 bits, rounded to bytes, 0.71 -> 0.33 ms (Xeon, 2026-12-01).
  if constexpr (kWidth == 1) return hn::Vec<DU>{_mm512_ternarylogic_epi32(words.raw, words.raw, words.raw, 0x55)};
#endif
  return hn::Xor(words, hn::Set(DU(), highest_bits(kWidth)));
}

/// Numbers of a byte: byte b of a word has its number b * kFields + field in each field.
template <int kBits>
constexpr size_t kFields = 8 / kBits;

template <int kBits>
bool split(const float* a, size_t groups, size_t unit, bool one_byte, const NBitsDigits& to) {
  static_assert(kBits == 2 || kBits == 4 || kBits == 8);
  constexpr size_t kLanes = 8;
  const hn::FixedTag<float, kLanes> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Repartition<uint8_t, decltype(d)> d8;
  using V = hn::Vec<decltype(d)>;
  // Two fields at a time, the four bytes of each together.
  alignas(32) int32_t order[kLanes];
  for (size_t i = 0; i < kLanes; ++i) order[i] = static_cast<int32_t>(i % 4 * kFields<kBits> + i / 4);
  alignas(16) static constexpr uint8_t kDigitsTogether[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto together = hn::LoadDup128(d8, kDigitsTogether);
  const auto carry = hn::Set(di, 0x808080);
  V finite = hn::Zero(d);
  bool representable = true;
  const float most_steps = one_byte ? 127 : kMostSteps;
  int32_t* digits = to.digits;
  const size_t units = groups * kNBitsGroup / unit;
  for (size_t i = 0; i < units; ++i, a += unit) {
    V most = hn::Zero(d);
    for (size_t k = 0; k < unit; k += kLanes) {
      const V x = hn::LoadU(d, a + k);
      finite = hn::MulAdd(x, hn::Zero(d), finite);
      most = hn::Max(most, hn::Abs(x));
    }
    const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
    representable &= largest == 0 || largest > 1e-30F;  // else the inverse may be infinite
    const V inverse = hn::Set(d, largest > 0 ? most_steps / largest : 0);
    auto sum = hn::Zero(di);
    constexpr size_t kOfWord = 4 * kFields<kBits>;
    for (size_t word = 0; word < unit; word += HWY_MAX(kOfWord, kLanes))
      for (size_t field = 0; field < kFields<kBits>; field += 2, digits += kLanes) {
        V x;
        if constexpr (kOfWord < kLanes)  // the bytes of two words are the fields
          x = hn::LoadU(d, a + word);
        else if constexpr (kOfWord == kLanes)
          x = hn::TableLookupLanes(hn::LoadU(d, a + word), hn::SetTableIndices(d, order));
        else
          x = hn::GatherIndex(d, a + word + field, hn::Load(di, order));
        const auto steps = hn::NearestInt(hn::Mul(x, inverse));
        sum = hn::Add(sum, steps);
        const auto bytes = hn::BitCast(d8, hn::Xor(hn::Add(steps, carry), carry));
        hn::StoreU(hn::BitCast(di, hn::TableLookupBytes(bytes, together)), di, digits);
      }
    to.steps[i] = largest / most_steps;
    to.sums[i] = static_cast<float>(hn::GetLane(hn::SumOfLanes(di, sum)));
  }
  return representable && hn::AllTrue(d, hn::Eq(finite, hn::Zero(d)));
}

// With sums of 32 bits, where the machine multiplies and adds bytes (VNNI). A token of a decoder of 57 million weights (bench/decoder.py)
// took 2.5 -> 2.3 ms with 4 bits beside sums of 16 bits and 6.2 -> 3.7 ms with 8 bits beside f32 (AVX-VNNI), 5.1 -> 3.5 ms with 8 bits
// (AVX-512; Xeon, one thread, 2026-11-30).
namespace vnni {
#if HWY_TARGET == HWY_AVX3
#define MINNOW_DOT __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
#else
#define MINNOW_DOT __attribute__((target(HWY_TARGET_STR ",avxvnni")))
#endif
/// Sums of four products of bytes.
template <int kBits>
MINNOW_DOT HWY_INLINE hn::Vec<DI> add_products(hn::Vec<DI> sums, hn::Vec<DU> numbers, int32_t digits) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<DI>{_mm512_dpbusd_epi32(sums.raw, numbers.raw, _mm512_set1_epi32(digits))};
#else
  return hn::Vec<DI>{_mm256_dpbusd_avx_epi32(sums.raw, numbers.raw, _mm256_set1_epi32(digits))};
#endif
}
template <int kBits>
MINNOW_DOT HWY_INLINE hn::Vec<DI> whole(hn::Vec<DI> sums) {
  return sums;
}
#include "backends/cpu/kernels/nbits_form.inc"
#undef MINNOW_DOT
}  // namespace vnni

#if HWY_TARGET == HWY_AVX2
// In sums of 16 bits, which numbers of up to 4 bits do not overflow; those of 5 and 6 bits are added in 32 bits.
namespace words {
#define MINNOW_DOT
template <int kBits>
HWY_INLINE hn::Vec<DI> add_products(hn::Vec<DI> sums, hn::Vec<DU> numbers, int32_t digits) {
  const __m256i pairs = _mm256_maddubs_epi16(numbers.raw, _mm256_set1_epi32(digits));
  if constexpr (kBits <= 4) return hn::Vec<DI>{_mm256_add_epi16(sums.raw, pairs)};
  return hn::Vec<DI>{_mm256_add_epi32(sums.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
}
template <int kBits>
HWY_INLINE hn::Vec<DI> whole(hn::Vec<DI> sums) {
  if constexpr (kBits <= 4) return hn::Vec<DI>{_mm256_madd_epi16(sums.raw, _mm256_set1_epi16(1))};
  return sums;
}
#include "backends/cpu/kernels/nbits_form.inc"
#undef MINNOW_DOT
}  // namespace words
#endif
#endif

template <int kBits>
void unpack(const NBitsPanel& panel, size_t begin, size_t count, float* to, size_t stride) {
  const D d;
  const Reader<kBits> reader;
  const bool has_zeros = panel.zeros || panel.bytes;
  const uint32_t* words = panel.words + begin / kNBitsGroup * kBits * kLanes;
  constexpr size_t kHalf = kNBitsGroup / 2;
  for (size_t k = 0; k < count; k += kNBitsGroup, words += kBits * kLanes) {
    float* rows = to + k * stride;
    const auto put_half = [&]<size_t... i>(std::index_sequence<i...>, auto first) HWY_ATTR {
      constexpr size_t kFirst = decltype(first)::value;
      const size_t block = (begin + k + kFirst) / panel.block;
      const V scale = scale_of(panel, block), shift = has_zeros ? hn::Mul(zero_of(panel, block), scale) : hn::Zero(d);
      (hn::StoreU(hn::MulSub(reader.template at<kFirst + i>(words), scale, shift), d, rows + (kFirst + i) * stride), ...);
    };
    put_half(std::make_index_sequence<kHalf>(), std::integral_constant<size_t, 0>());
    put_half(std::make_index_sequence<kHalf>(), std::integral_constant<size_t, kHalf>());
  }
}
}  // namespace
#endif

extern const NBitsKernels kNBitsKernels;
#if HWY_TARGET == HWY_SSE4
const NBitsKernels kNBitsKernels{};
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
constexpr NBitsDigitKernels kVnni{
    .needs_bytes = true,
    .split = {split<2>, split<2>, split<4>, split<4>, split<4>, nullptr, split<8>},
    .multiply_digits = {vnni::multiply_digits<2, 3>, vnni::multiply_digits<3, 3>, vnni::multiply_digits<4, 3>, vnni::multiply_digits<5, 3>,
                        vnni::multiply_digits<6, 3>, nullptr, vnni::multiply_digits<8, 3>},
    .multiply_bytes = {vnni::multiply_digits<2, 1>, vnni::multiply_digits<3, 1>, vnni::multiply_digits<4, 1>, vnni::multiply_digits<5, 1>,
                       vnni::multiply_digits<6, 1>, nullptr, vnni::multiply_digits<8, 1>},
    .multiply_rows = {vnni::multiply_rows<2>, vnni::multiply_rows<3>, vnni::multiply_rows<4>, vnni::multiply_rows<5>,
                      vnni::multiply_rows<6>, nullptr, vnni::multiply_rows<8>}};
#if HWY_TARGET == HWY_AVX2
constexpr NBitsDigitKernels kWords{
    .split = {split<2>, split<2>, split<4>, split<4>, split<4>},
    .multiply_digits = {words::multiply_digits<2, 3>, words::multiply_digits<3, 3>, words::multiply_digits<4, 3>,
                        words::multiply_digits<5, 3>, words::multiply_digits<6, 3>},
    .multiply_bytes = {words::multiply_digits<2, 1>, words::multiply_digits<3, 1>, words::multiply_digits<4, 1>,
                       words::multiply_digits<5, 1>, words::multiply_digits<6, 1>},
    .multiply_rows = {words::multiply_rows<2>, words::multiply_rows<3>, words::multiply_rows<4>, words::multiply_rows<5>,
                      words::multiply_rows<6>}};
#else
constexpr NBitsDigitKernels kWords{};
#endif
const NBitsKernels kNBitsKernels{.multiply = {multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>, nullptr, multiply<8>},
                                 .digits = {kVnni, kWords},
                                 .unpack = {unpack<2>, unpack<3>, unpack<4>, unpack<5>, unpack<6>, nullptr, unpack<8>}};
#else
const NBitsKernels kNBitsKernels{.multiply = {multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>, nullptr, multiply<8>},
                                 .unpack = {unpack<2>, unpack<3>, unpack<4>, unpack<5>, unpack<6>, nullptr, unpack<8>}};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
