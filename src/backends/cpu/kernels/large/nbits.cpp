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
    constexpr size_t kBit = i * kBits, kWord = kBit / 32;
    constexpr int kShift = kBit % 32;
    constexpr bool kCut = kShift + kBits > 32;
    const auto first = hn::LoadU(du, words + kWord * kLanes);
    if constexpr (kLooksUp && kBits <= 4) {
#if HWY_TARGET == HWY_AVX3
      auto index = hn::ShiftRight<kShift>(first);
      if constexpr (kCut) index = hn::Or(index, hn::ShiftLeft<32 - kShift>(hn::LoadU(du, words + (kWord + 1) * kLanes)));
      return hn::TableLookupLanes(table, hn::Indices512<float>{index.raw});
#endif
    } else {
      // To the highest bits, and back with the sign.
      auto high = first;
      if constexpr (kCut)
        high = hn::Or(hn::ShiftRight<kShift + kBits - 32>(first),
                      hn::ShiftLeft<64 - kBits - kShift>(hn::LoadU(du, words + (kWord + 1) * kLanes)));
      else
        high = hn::ShiftLeft<32 - kShift - kBits>(first);
      return hn::ConvertTo(D(), hn::ShiftRight<32 - kBits>(hn::BitCast(DI(), high)));
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

/// The highest bits of the numbers in a word of the stream: with them inverted, numbers count from the lowest of their range.
template <int kBits>
constexpr uint32_t highest_bits(size_t word) {
  uint32_t bits = 0;
  for (size_t i = 0; i < 32; ++i)
    if ((word * 32 + i) % kBits == kBits - 1) bits |= uint32_t{1} << i;
  return bits;
}

#if HWY_TARGET == HWY_AVX2
/// 2^-shift of the numbers that masked() leaves where they are.
template <int kBits>
struct Factors {
  float values[kNBitsGroup];
  constexpr Factors() : values() {
    for (size_t i = 0; i < kNBitsGroup; ++i) {
      const size_t shift = i * kBits % 32;
      values[i] = 1;
      if (shift + kBits < 32)
        for (size_t k = 0; k < shift; ++k) values[i] *= 0.5F;
    }
  }
};
template <int kBits>
constexpr Factors<kBits> kFactors;

/// Number i of a group times 1 / kFactors[i]: a mask and a conversion for most.
template <int kBits, size_t i>
HWY_INLINE V masked(const uint32_t* words) {
  const DU du;
  constexpr size_t kBit = i * kBits, kWord = kBit / 32;
  constexpr int kShift = kBit % 32;
  constexpr uint32_t kMask = (1U << kBits) - 1;
  const auto first = hn::Xor(hn::LoadU(du, words + kWord * kLanes), hn::Set(du, highest_bits<kBits>(kWord)));
  if constexpr (kShift + kBits > 32) {
    const auto second = hn::Xor(hn::LoadU(du, words + (kWord + 1) * kLanes), hn::Set(du, highest_bits<kBits>(kWord + 1)));
    const auto number = hn::And(hn::Or(hn::ShiftRight<kShift>(first), hn::ShiftLeft<32 - kShift>(second)), hn::Set(du, kMask));
    return hn::ConvertTo(D(), hn::BitCast(DI(), number));
  } else if constexpr (kShift + kBits == 32) {
    return hn::ConvertTo(D(), hn::BitCast(DI(), hn::ShiftRight<kShift>(first)));
  } else {
    return hn::ConvertTo(D(), hn::BitCast(DI(), hn::And(first, hn::Set(du, kMask << kShift))));
  }
}

// Two panels share the loads of a; masks instead of shifts: 16.6 -> 23.7 thousand million weights of 4 bits a second from L2 on one core
// (EPYC, Zen 3, 2026-11-28).
template <int kBits>
void multiply_two(const NBitsPanel& first, const NBitsPanel& second, const float* a, const float* sums, size_t groups, float* y) {
  const D d;
  const V zero = hn::Zero(d);
  V total[2] = {zero, zero}, part[4] = {zero, zero, zero, zero}, other[4] = {zero, zero, zero, zero};
  const bool has_zeros = first.zeros || first.bytes;
  const V middle = hn::Set(d, static_cast<float>(first.middle));
  size_t block = 0, left = first.block;
  const uint32_t *words = first.words, *more = second.words;
  const auto add_half = [&]<size_t... i>(std::index_sequence<i...>, auto begin) HWY_ATTR {
    constexpr size_t kFirst = decltype(begin)::value;
    const auto add = [&](auto place) HWY_ATTR {
      constexpr size_t k = decltype(place)::value;
      const V x = hn::Set(d, a[k]);
      part[k % 4] = hn::MulAdd(x, masked<kBits, k>(words), part[k % 4]);
      other[k % 4] = hn::MulAdd(x, masked<kBits, k>(more), other[k % 4]);
    };
    (add(std::integral_constant<size_t, kFirst + i>()), ...);
  };
  const auto end_block = [&]() HWY_ATTR {
    const V sum = hn::Set(d, sums[block]);
    const auto finish = [&](const NBitsPanel& panel, V* parts, V& result) HWY_ATTR {
      const V from = has_zeros ? hn::Add(zero_of(panel, block), middle) : middle;
      const V products = hn::Add(hn::Add(parts[0], parts[1]), hn::Add(parts[2], parts[3]));
      result = hn::MulAdd(hn::NegMulAdd(from, sum, products), scale_of(panel, block), result);
      parts[0] = parts[1] = parts[2] = parts[3] = hn::Zero(d);
    };
    finish(first, part, total[0]), finish(second, other, total[1]);
    ++block, left = first.block;
  };
  constexpr size_t kHalf = kNBitsGroup / 2;
  // The next two panels: hardware loses the two streams where they jump over each other (a token of 97 million weights 13.2 -> 10.3 ms,
  // Zen 3 on a busy machine, 2026-11-28).
  const size_t ahead = 2 * groups * kBits * kLanes;
  for (size_t group = 0; group < groups; ++group, words += kBits * kLanes, more += kBits * kLanes, a += kNBitsGroup) {
    constexpr size_t kLine = 64 / sizeof(uint32_t);
    MINNOW_UNROLL for (size_t i = 0; i < kBits * kLanes; i += kLine) __builtin_prefetch(words + ahead + i),
        __builtin_prefetch(more + ahead + i);
    add_half(std::make_index_sequence<kHalf>(), std::integral_constant<size_t, 0>());
    if (left == kHalf) end_block(), left += kHalf;
    add_half(std::make_index_sequence<kHalf>(), std::integral_constant<size_t, kHalf>());
    left -= kNBitsGroup;
    if (left == 0) end_block();
  }
  if (left != first.block) end_block();
  hn::StoreU(total[0], d, y), hn::StoreU(total[1], d, y + kLanes);
}

#endif

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Products in whole numbers. A number of the left factor is rounded to steps of its unit, 256^2 d2 + 256 d1 + d0 of them, where each digit
// is a signed byte: that loses at most half of the last place that f32 has for the unit's largest number. Sums of digits times numbers of 2
// or 4 bits are exact: 16 bits of a lane take 16 products, each at most 15 * 128. With 4 bits, three digits read 1.5 times as many weights
// a second from L2 as multiply_two did, one digit reads 3.5 times as many (Zen 3, 2026-11-28). VNNI adds them in 32 bits, which take
// numbers of 8 bits, too.
constexpr float kMostSteps = 127 * 65536 + 127 * 256 + 126;  // rounding may add one
constexpr size_t kPlaces = 4;                                // of the digits of four numbers; there are no fourth digits
constexpr size_t kAhead = 512;                               // words that are fetched early

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
MINNOW_DOT HWY_INLINE hn::Vec<DI> add_products(hn::Vec<DI> sums, hn::Vec<DU> numbers, int32_t digits) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<DI>{_mm512_dpbusd_epi32(sums.raw, numbers.raw, _mm512_set1_epi32(digits))};
#else
  return hn::Vec<DI>{_mm256_dpbusd_avx_epi32(sums.raw, numbers.raw, _mm256_set1_epi32(digits))};
#endif
}
HWY_INLINE hn::Vec<DI> whole(hn::Vec<DI> sums) { return sums; }
#include "backends/cpu/kernels/nbits_form.inc"
#undef MINNOW_DOT
}  // namespace vnni

#if HWY_TARGET == HWY_AVX2
// In sums of 16 bits, which numbers of 4 bits do not overflow.
namespace words {
#define MINNOW_DOT
/// Sums of two products of bytes, in 16 bits.
HWY_INLINE hn::Vec<DI> add_products(hn::Vec<DI> sums, hn::Vec<DU> numbers, int32_t digits) {
  return hn::Vec<DI>{_mm256_add_epi16(sums.raw, _mm256_maddubs_epi16(numbers.raw, _mm256_set1_epi32(digits)))};
}
HWY_INLINE hn::Vec<DI> whole(hn::Vec<DI> sums) { return hn::Vec<DI>{_mm256_madd_epi16(sums.raw, _mm256_set1_epi16(1))}; }
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
    .split = {split<2>, nullptr, split<4>, nullptr, nullptr, nullptr, split<8>},
    .multiply_digits = {vnni::multiply_digits<2, 3>, nullptr, vnni::multiply_digits<4, 3>, nullptr, nullptr, nullptr,
                        vnni::multiply_digits<8, 3>},
    .multiply_bytes = {vnni::multiply_digits<2, 1>, nullptr, vnni::multiply_digits<4, 1>, nullptr, nullptr, nullptr,
                       vnni::multiply_digits<8, 1>},
    .multiply_rows = {nullptr, nullptr, vnni::multiply_rows<4>, nullptr, nullptr, nullptr, vnni::multiply_rows<8>}};
#if HWY_TARGET == HWY_AVX2
constexpr NBitsDigitKernels kWords{.split = {split<2>, nullptr, split<4>},
                                   .multiply_digits = {words::multiply_digits<2, 3>, nullptr, words::multiply_digits<4, 3>},
                                   .multiply_bytes = {words::multiply_digits<2, 1>, nullptr, words::multiply_digits<4, 1>},
                                   .multiply_rows = {nullptr, nullptr, words::multiply_rows<4>}};
#else
constexpr NBitsDigitKernels kWords{};
#endif
const NBitsKernels kNBitsKernels {
  .multiply = {multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>, nullptr, multiply<8>},
#if HWY_TARGET == HWY_AVX2
  .multiply_two = {nullptr, multiply_two<3>, nullptr, multiply_two<5>},
  .factors = {nullptr, kFactors<3>.values, nullptr, kFactors<5>.values},
#endif
  .digits = {kVnni, kWords}, .unpack = {
    unpack<2>,
    unpack<3>,
    unpack<4>,
    unpack<5>,
    unpack<6>,
    nullptr,
    unpack<8>
  }
};
#else
const NBitsKernels kNBitsKernels{.multiply = {multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>, nullptr, multiply<8>},
                                 .unpack = {unpack<2>, unpack<3>, unpack<4>, unpack<5>, unpack<6>, nullptr, unpack<8>}};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
