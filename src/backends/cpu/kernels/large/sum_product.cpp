// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/sum_product.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/integer_product.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/large/sum_product.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of partial results: of f64, or of integers of 32 or 64 bits.
template <class A>
struct Lanes {
  using D = hn::ScalableTag<A>;
  using V = hn::Vec<D>;
  static constexpr size_t kCount = HWY_LANES(A);

  static HWY_INLINE V splat(A x) { return hn::Set(D(), x); }
  static HWY_INLINE void store(V x, A* y) { hn::StoreU(x, D(), y); }
  static HWY_INLINE V add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE V multiply(V a, V b) { return hn::Mul(a, b); }
  template <class T>
  static HWY_INLINE V load(const T* x) {
    if constexpr (std::is_same_v<T, A>) {
      return hn::LoadU(D(), x);
    } else if constexpr (std::is_floating_point_v<T> || std::is_signed_v<T>) {
      return widened<T>(hn::LoadU(hn::Rebind<T, D>(), x));
    } else {
      return hn::BitCast(D(), widened<T>(hn::LoadU(hn::Rebind<T, D>(), x)));
    }
  }

 private:
  template <class T>
  static HWY_INLINE auto widened(hn::Vec<hn::Rebind<T, D>> x) {
    using Result = std::conditional_t<std::is_unsigned_v<T>, std::make_unsigned<A>, std::type_identity<A>>;
    if constexpr (sizeof(A) > 4 * sizeof(T) || (sizeof(A) == 8 && sizeof(T) == 2)) {  // by way of 32 bits
      using Middle = std::conditional_t<std::is_unsigned_v<T>, uint32_t, int32_t>;
      return hn::PromoteTo(hn::Rebind<typename Result::type, D>(), hn::PromoteTo(hn::Rebind<Middle, D>(), x));
    } else {
      return hn::PromoteTo(hn::Rebind<typename Result::type, D>(), x);
    }
  }
};
#if !HWY_HAVE_FLOAT64
template <>
struct Lanes<double> {  // one after the other
  using V = double;
  static constexpr size_t kCount = 1;
  static V splat(double x) { return x; }
  static void store(V x, double* y) { *y = x; }
  static V add(V a, V b) { return a + b; }
  static V multiply(V a, V b) { return a * b; }
  template <class T>
  static V load(const T* x) {
    return static_cast<double>(*x);
  }
};
#endif

struct Sum {
  template <class A>
  static constexpr A kIdentity = std::is_same_v<A, double> ? static_cast<A>(-0.0) : A{0};
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V a, typename L::V b) {
    return L::add(a, b);
  }
  static double one(double a, double b) { return a + b; }
  static int64_t one(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
};
struct Product {  // of floats
  template <class A>
  static constexpr A kIdentity = A{1};
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V a, typename L::V b) {
    return L::multiply(a, b);
  }
  static double one(double a, double b) { return a * b; }
};

/// The type of results.
template <class T>
using Whole = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
/// The type of partial results. Sums of small integers fit 32 bits for kWhile elements.
template <class Op, class T>
using Part = std::conditional_t<std::is_same_v<Op, Sum> && sizeof(T) <= 2, int32_t, Whole<T>>;
constexpr size_t kWhile = 1 << 15;  // so many of 16 bits fit

template <class Op, class T>
Whole<T> row_of(const T* x, size_t count) {
  using L = Lanes<Part<Op, T>>;
  constexpr size_t kStep = 4 * L::kCount, kPage = 4096 / sizeof(T);
  typename L::V parts[8];
  MINNOW_UNROLL for (auto& part : parts) part = L::splat(Op::template kIdentity<Part<Op, T>>);
  size_t i = 0;
  // Two pages at a time: memory is prefetched for both.
  for (; i + 2 * kPage <= count; i += 2 * kPage)
    for (size_t k = i; k < i + kPage; k += kStep) MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) {
        parts[j] = Op::template of<L>(parts[j], L::load(x + k + j * L::kCount));
        parts[j + 4] = Op::template of<L>(parts[j + 4], L::load(x + k + kPage + j * L::kCount));
      }
  for (; i + kStep <= count; i += kStep)
    MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) parts[j] = Op::template of<L>(parts[j], L::load(x + i + j * L::kCount));
  for (; i + L::kCount <= count; i += L::kCount) parts[0] = Op::template of<L>(parts[0], L::load(x + i));
  Whole<T> result = Op::template kIdentity<Whole<T>>;
  for (; i < count; ++i) result = Op::one(result, static_cast<Whole<T>>(x[i]));
  MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) parts[j] = Op::template of<L>(parts[j], parts[j + 4]);
  parts[0] = Op::template of<L>(Op::template of<L>(parts[0], parts[1]), Op::template of<L>(parts[2], parts[3]));
  Part<Op, T> lanes[L::kCount];
  L::store(parts[0], lanes);
  for (const Part<Op, T> lane : lanes) result = Op::one(result, static_cast<Whole<T>>(lane));
  return result;
}
template <class Op, class T>
void row(const void* from, size_t count, void* y) {
  const T* x = static_cast<const T*>(from);
  Whole<T> result = row_of<Op>(x, std::min(count, kWhile));
  for (size_t i = kWhile; i < count; i += kWhile) result = Op::one(result, row_of<Op>(x + i, std::min(count - i, kWhile)));
  *static_cast<Whole<T>*>(y) = result;
}

template <size_t kRows, class Op, class T>
HWY_INLINE void join_rows(const T* x, size_t stride, size_t count, Part<Op, T>* y) {
  using L = Lanes<Part<Op, T>>;
  size_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount) {
    auto sum = L::load(y + i);
    MINNOW_UNROLL for (size_t k = 0; k < kRows; ++k) sum = Op::template of<L>(sum, L::load(x + k * stride + i));
    L::store(sum, y + i);
  }
  for (; i < count; ++i)
    for (size_t k = 0; k < kRows; ++k)
      y[i] = static_cast<Part<Op, T>>(Op::one(static_cast<Whole<T>>(y[i]), static_cast<Whole<T>>(x[k * stride + i])));
}
template <class Op, class T>
void join_columns(const T* x, size_t rows, size_t stride, size_t count, Part<Op, T>* y) {
  size_t row = 0;
  for (; row + 8 <= rows; row += 8) join_rows<8, Op>(x + row * stride, stride, count, y);
  for (; row < rows; ++row) join_rows<1, Op>(x + row * stride, stride, count, y);
}
template <class Op, class T>
void columns(const void* from, size_t rows, size_t stride, size_t count, void* to) {
  const T* x = static_cast<const T*>(from);
  Whole<T>* y = static_cast<Whole<T>*>(to);
  if constexpr (std::is_same_v<Part<Op, T>, Whole<T>>) {
    join_columns<Op>(x, rows, stride, count, y);
  } else {
    constexpr size_t kStrip = 1024;
    for (size_t i = 0; i < count; i += kStrip)
      for (size_t row = 0; row < rows; row += kWhile) {
        const size_t width = std::min(kStrip, count - i);
        int32_t sums[kStrip];
        std::fill_n(sums, width, 0);
        join_columns<Op>(x + row * stride + i, std::min(kWhile, rows - row), stride, width, sums);
        for (size_t k = 0; k < width; ++k) y[i + k] += sums[k];
      }
  }
}

using Doubles = Lanes<double>;
HWY_INLINE Doubles::V plus_square(Doubles::V sum, Doubles::V x, Doubles::V center) {
#if HWY_HAVE_FLOAT64
  const Doubles::V away = hn::Sub(x, center);
  return hn::MulAdd(away, away, sum);
#else
  return sum + (x - center) * (x - center);
#endif
}
template <class T>
double squares(const void* from, size_t count, double center) {
  const T* x = static_cast<const T*>(from);
  const Doubles::V middle = Doubles::splat(center);
  Doubles::V parts[4];
  MINNOW_UNROLL for (auto& part : parts) part = Doubles::splat(0);
  constexpr size_t kLanes = Doubles::kCount;
  size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) parts[j] = plus_square(parts[j], Doubles::load(x + i + j * kLanes), middle);
  for (; i + kLanes <= count; i += kLanes) parts[0] = plus_square(parts[0], Doubles::load(x + i), middle);
  double lanes[kLanes], result = 0;
  Doubles::store(Doubles::add(Doubles::add(parts[0], parts[1]), Doubles::add(parts[2], parts[3])), lanes);
  for (const double lane : lanes) result += lane;
  for (; i < count; ++i) {
    const double away = static_cast<double>(x[i]) - center;
    result += away * away;
  }
  return result;
}
template <class T>
void add_squares(const void* from, const double* center, size_t count, double* y) {
  const T* x = static_cast<const T*>(from);
  size_t i = 0;
  for (; i + Doubles::kCount <= count; i += Doubles::kCount)
    Doubles::store(plus_square(Doubles::load(y + i), Doubles::load(x + i), Doubles::load(center + i)), y + i);
  for (; i < count; ++i) {
    const double away = static_cast<double>(x[i]) - center[i];
    y[i] += away * away;
  }
}

template <class T>
constexpr SumProductLoops sums_of() {
  return {row<Sum, T>, columns<Sum, T>};
}
template <class T>
constexpr SumProductLoops products_of() {
  if constexpr (std::is_floating_point_v<T>) return {row<Product, T>, columns<Product, T>};
  return {multiply_row<T>, multiply_columns<T>};
}
}  // namespace

extern const SumProductKernels kSumProductKernels;
const SumProductKernels kSumProductKernels{
    {sums_of<int8_t>(), sums_of<uint8_t>(), sums_of<int16_t>(), sums_of<uint16_t>(), sums_of<int32_t>(), sums_of<uint32_t>(),
     sums_of<int64_t>(), sums_of<float>(), sums_of<double>()},
    {products_of<int8_t>(), products_of<uint8_t>(), products_of<int16_t>(), products_of<uint16_t>(), products_of<int32_t>(),
     products_of<uint32_t>(), products_of<int64_t>(), products_of<float>(), products_of<double>()},
    {squares<float>, add_squares<float>},
    {squares<double>, add_squares<double>}};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::cpu {

size_t sum_row(DType dtype) noexcept {
  switch (dtype) {
    case DType::i8:
      return 0;
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::i16:
      return 2;
    case DType::u16:
      return 3;
    case DType::i32:
      return 4;
    case DType::u32:
      return 5;
    case DType::i64:
    case DType::u64:
      return 6;
    case DType::f32:
      return 7;
    case DType::f64:
      return 8;
    default:
      return kSumRows;
  }
}

}  // namespace minnow::cpu
#endif
