// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/combine.h"

#include <type_traits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/large/combine.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

// Elements do not depend on each other, also where y is an input.
#if defined(__clang__)
#define MINNOW_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define MINNOW_INDEPENDENT _Pragma("GCC ivdep")
#endif

template <class T, Combination kCombination>
void combine(const void* first, const void* second, size_t count, void* result) {
  constexpr bool kCompares = kCombination >= Combination::equal;
  const T* a = static_cast<const T*>(first);
  const T* b = static_cast<const T*>(second);
  auto* y = static_cast<std::conditional_t<kCompares, uint8_t, T>*>(result);
  MINNOW_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const T p = a[i], q = b[i];
    using C = Combination;
    if constexpr (std::is_floating_point_v<T> && kCombination == C::multiply)
      y[i] = p * q;
    else if constexpr (std::is_floating_point_v<T> && kCombination == C::divide)
      y[i] = p / q;
    else if constexpr (std::is_floating_point_v<T> && kCombination == C::minimum)  // NaN if one of the two is
      y[i] = p < q || p != p ? p : q;
    else if constexpr (std::is_floating_point_v<T> && kCombination == C::maximum)
      y[i] = p > q || p != p ? p : q;
    // Narrow integers are computed as int and cut.
    else if constexpr (kCombination == C::add)
      y[i] = static_cast<T>(p + q);
    else if constexpr (kCombination == C::subtract)
      y[i] = static_cast<T>(p - q);
    else if constexpr (kCombination == C::multiply)
      y[i] = static_cast<T>(uint64_t{p} * q);
    else if constexpr (kCombination == C::bit_and)
      y[i] = p & q;
    else if constexpr (kCombination == C::bit_or)
      y[i] = p | q;
    else if constexpr (kCombination == C::bit_xor)
      y[i] = p ^ q;
    else if constexpr (kCombination == C::minimum)
      y[i] = q < p ? q : p;
    else if constexpr (kCombination == C::maximum)
      y[i] = p < q ? q : p;
    else if constexpr (kCombination == C::equal)
      y[i] = p == q;
    else if constexpr (kCombination == C::less)
      y[i] = p < q;
    else
      y[i] = p <= q;
  }
}

template <class T>
CombinationLoop ordered(Combination combination) {
  if (combination == Combination::less) return combine<T, Combination::less>;
  if (combination == Combination::less_equal) return combine<T, Combination::less_equal>;
  if constexpr (!std::is_same_v<T, float>) {
    if (combination == Combination::minimum) return combine<T, Combination::minimum>;
    if (combination == Combination::maximum) return combine<T, Combination::maximum>;
  }
  return nullptr;
}
/// Combinations with the same code for signed and unsigned integers, and in part for floats.
template <class T>
CombinationLoop unordered(Combination combination) {
  using C = Combination;
  if (combination == C::equal) return combine<T, C::equal>;
  if constexpr (!std::is_same_v<T, float>) {
    if (combination == C::add) return combine<T, C::add>;
    if (combination == C::subtract) return combine<T, C::subtract>;
    if (combination == C::multiply) return combine<T, C::multiply>;
  }
  if constexpr (std::is_same_v<T, double>)
    if (combination == C::divide) return combine<T, C::divide>;
  if constexpr (std::is_integral_v<T>) {
    if (combination == C::bit_and) return combine<T, C::bit_and>;
    if (combination == C::bit_or) return combine<T, C::bit_or>;
    if (combination == C::bit_xor) return combine<T, C::bit_xor>;
  }
  return nullptr;
}
template <class T, class Ordered = T>
CombinationLoop either(Combination combination) {
  const CombinationLoop loop = unordered<T>(combination);
  return loop ? loop : ordered<Ordered>(combination);
}

CombinationLoop loop(DType dtype, Combination combination) {
  switch (dtype) {
    case DType::boolean:  // sums, differences and products of bytes of 0 and 1 would be others
      return combination >= Combination::add && combination <= Combination::multiply ? nullptr : either<uint8_t>(combination);
    case DType::u8:
      return either<uint8_t>(combination);
    case DType::i8:
      return either<uint8_t, int8_t>(combination);
    case DType::u16:
      return either<uint16_t>(combination);
    case DType::i16:
      return either<uint16_t, int16_t>(combination);
    case DType::u32:
      return either<uint32_t>(combination);
    case DType::i32:
      return either<uint32_t, int32_t>(combination);
    case DType::u64:
      return either<uint64_t>(combination);
    case DType::i64:
      return either<uint64_t, int64_t>(combination);
    case DType::f32:
      return either<float>(combination);
    case DType::f64:
      return either<double>(combination);
    default:
      return nullptr;
  }
}

template <class T, Mapping kMapping>
void map(const void* from, size_t count, void* to) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  MINNOW_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const uint64_t p = static_cast<uint64_t>(x[i]);
    if constexpr (kMapping == Mapping::negate)
      y[i] = static_cast<T>(0 - p);
    else if constexpr (kMapping == Mapping::absolute)
      y[i] = static_cast<T>(x[i] < 0 ? 0 - p : p);
    else if constexpr (kMapping == Mapping::bit_not)
      y[i] = static_cast<T>(~p);
    else
      y[i] = x[i] == 0;
  }
}
/// S is signed, and its bits negate and invert as those of an unsigned number do.
template <class S>
MappingLoop mapping_of(Mapping mapping, bool is_signed) {
  if (mapping == Mapping::negate) return map<S, Mapping::negate>;
  if (mapping == Mapping::bit_not) return map<S, Mapping::bit_not>;
  return mapping == Mapping::absolute && is_signed ? map<S, Mapping::absolute> : nullptr;
}
MappingLoop mapping(DType dtype, Mapping mapping) {
  if (dtype == DType::boolean) return mapping == Mapping::logical_not ? map<uint8_t, Mapping::logical_not> : nullptr;
  switch (dtype) {
    case DType::u8:
    case DType::i8:
      return mapping_of<int8_t>(mapping, dtype == DType::i8);
    case DType::u16:
    case DType::i16:
      return mapping_of<int16_t>(mapping, dtype == DType::i16);
    case DType::u32:
    case DType::i32:
      return mapping_of<int32_t>(mapping, dtype == DType::i32);
    case DType::u64:
    case DType::i64:
      return mapping_of<int64_t>(mapping, dtype == DType::i64);
    default:
      return nullptr;
  }
}

template <class From, class To>
void convert(const void* from, size_t count, void* to) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  MINNOW_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = static_cast<To>(x[i]);
}
/// To integers of no more bits, signed and unsigned numbers convert alike.
template <class From, class To>
MappingLoop to_integer() {
  using Bits = std::make_unsigned_t<From>;
  return convert<std::conditional_t<sizeof(To) <= sizeof(From), Bits, From>, To>;
}
template <class From>
MappingLoop conversion_from(DType to) {
  switch (to) {
    case DType::i8:
    case DType::u8:
      return to_integer<From, uint8_t>();
    case DType::i16:
    case DType::u16:
      return to_integer<From, uint16_t>();
    case DType::i32:
    case DType::u32:
      return to_integer<From, uint32_t>();
    case DType::i64:
    case DType::u64:
      return to_integer<From, uint64_t>();
    case DType::f32:
      return convert<From, float>;
    case DType::f64:
      return convert<From, double>;
    default:
      return nullptr;
  }
}
MappingLoop conversion(DType from, DType to) {
  switch (from) {
    case DType::boolean:
    case DType::u8:
      return conversion_from<uint8_t>(to);
    case DType::i8:
      return conversion_from<int8_t>(to);
    case DType::u16:
      return conversion_from<uint16_t>(to);
    case DType::i16:
      return conversion_from<int16_t>(to);
    case DType::u32:
      return conversion_from<uint32_t>(to);
    case DType::i32:
      return conversion_from<int32_t>(to);
    case DType::u64:
      return conversion_from<uint64_t>(to);
    case DType::i64:
      return conversion_from<int64_t>(to);
    case DType::f32:
      return to == DType::f64 ? convert<float, double> : nullptr;
    case DType::f64:
      return to == DType::f32 ? convert<double, float> : nullptr;
    default:
      return nullptr;
  }
}

template <class T>
void choose(const uint8_t* condition, const void* first, const void* second, size_t count, void* result) {
  const T* a = static_cast<const T*>(first);
  const T* b = static_cast<const T*>(second);
  T* y = static_cast<T*>(result);
  MINNOW_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const T p = a[i], q = b[i], keep = static_cast<T>(-static_cast<T>(condition[i] != 0));
    y[i] = static_cast<T>(q ^ ((p ^ q) & keep));
  }
}

}  // namespace

extern const CombineKernels kCombineKernels;
const CombineKernels kCombineKernels{loop, mapping, conversion, {choose<uint8_t>, choose<uint16_t>, choose<uint32_t>, choose<uint64_t>}};
#undef MINNOW_INDEPENDENT
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
