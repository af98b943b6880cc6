// SPDX-License-Identifier: Apache-2.0
#include "numerics/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backends/cpu/isa.h"
#include "base/parallel.h"
// The compiler's baseline is a target too and serves where no other does.
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/fourier.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/cache_control.h"

#ifndef MINNOW_NUMERICS_FOURIER
#define MINNOW_NUMERICS_FOURIER
namespace minnow::numerics {

constexpr size_t kLargestFactor = 31;  // larger ones cost more than the convolution

/// Works on as many columns at a time as vectors have lanes. A column's element k lies in a block as one vector of real parts and
/// one of imaginary ones.
struct FourierKernels {
  size_t lanes;
  /// Element k of column c lies at x + k * element + c * column (complex numbers). `swapped`: real for imaginary, which turns the transform
  /// into its inverse where it is done before and behind it.
  void (*load)(const double* x, size_t length, size_t element, size_t column, size_t columns, bool swapped, double* block);
  void (*store)(const double* block, size_t length, size_t element, size_t column, size_t columns, bool swapped, double scale, double* x);
  /// The transform of a block, by passes over `factors`; `roots` are those of the length. The result lies in `block`, or in `other`, as
  /// told.
  double* (*transform)(const uint8_t* factors, size_t passes, const double* roots, size_t length, double* block, double* other);
  /// Each element of the block times that of `by`.
  void (*multiply)(const double* by, size_t length, double* block);
};

}  // namespace minnow::numerics
#endif

HWY_BEFORE_NAMESPACE();
namespace minnow::numerics::HWY_NAMESPACE {
#if HWY_HAVE_FLOAT64
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;
constexpr size_t kLanes = hn::MaxLanes(D()), kStep = 2 * kLanes;

struct Number {
  V re, im;
  HWY_INLINE Number() : re(hn::Zero(D())), im(hn::Zero(D())) {}
  HWY_INLINE Number(V real, V imaginary) : re(real), im(imaginary) {}
};
HWY_INLINE Number load(const double* x) { return {hn::LoadU(D(), x), hn::LoadU(D(), x + kLanes)}; }
HWY_INLINE void store(Number v, double* x) {
  hn::StoreU(v.re, D(), x);
  hn::StoreU(v.im, D(), x + kLanes);
}
HWY_INLINE Number constant(const double* root) { return {hn::Set(D(), root[0]), hn::Set(D(), root[1])}; }
HWY_INLINE Number add(Number a, Number b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Number subtract(Number a, Number b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
HWY_INLINE Number times(Number a, Number b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}
HWY_INLINE Number times(Number a, double b) { return {hn::Mul(a.re, hn::Set(D(), b)), hn::Mul(a.im, hn::Set(D(), b))}; }
HWY_INLINE Number times_minus_i(Number a) { return {a.im, hn::Neg(a.re)}; }

// Transforms of 2, 3, 4 and 5 numbers, in place.
HWY_INLINE void butterfly_2(Number& a, Number& b) {
  const Number p = a;
  a = add(p, b), b = subtract(p, b);
}
HWY_INLINE void butterfly_4(Number& a, Number& b, Number& c, Number& d) {
  butterfly_2(a, c);
  butterfly_2(b, d);
  const Number turned = times_minus_i(d), even = a, odd = c;
  a = add(even, b), c = subtract(even, b), b = add(odd, turned), d = subtract(odd, turned);
}
HWY_INLINE void small_transform(Number (&v)[2]) { butterfly_2(v[0], v[1]); }
HWY_INLINE void small_transform(Number (&v)[3]) {
  const Number sum = add(v[1], v[2]), turned = times(times_minus_i(subtract(v[1], v[2])), 0.86602540378443864676);
  const Number middle = subtract(v[0], times(sum, 0.5));
  v[0] = add(v[0], sum), v[1] = add(middle, turned), v[2] = subtract(middle, turned);
}
HWY_INLINE void small_transform(Number (&v)[4]) { butterfly_4(v[0], v[1], v[2], v[3]); }
HWY_INLINE void small_transform(Number (&v)[5]) {
  constexpr double kCos1 = 0.30901699437494742410, kCos2 = -0.80901699437494742410, kSin1 = 0.95105651629515357212,
                   kSin2 = 0.58778525229247312917;
  const Number s1 = add(v[1], v[4]), d1 = times_minus_i(subtract(v[1], v[4])), s2 = add(v[2], v[3]),
               d2 = times_minus_i(subtract(v[2], v[3]));
  const Number m1 = add(v[0], add(times(s1, kCos1), times(s2, kCos2))), m2 = add(v[0], add(times(s1, kCos2), times(s2, kCos1)));
  const Number t1 = add(times(d1, kSin1), times(d2, kSin2)), t2 = subtract(times(d1, kSin2), times(d2, kSin1));
  v[0] = add(v[0], add(s1, s2));
  v[1] = add(m1, t1), v[4] = subtract(m1, t1), v[2] = add(m2, t2), v[3] = subtract(m2, t2);
}
HWY_INLINE void small_transform(Number (&v)[8]) {
  butterfly_4(v[0], v[2], v[4], v[6]);
  butterfly_4(v[1], v[3], v[5], v[7]);
  // Times the eighth roots of unity.
  constexpr double kHalfRoot = 0.70710678118654752440;
  const Number a = v[3], c = v[7];
  v[3] = times(Number{hn::Add(a.re, a.im), hn::Sub(a.im, a.re)}, kHalfRoot);
  v[5] = times_minus_i(v[5]);
  v[7] = times(Number{hn::Sub(c.im, c.re), hn::Neg(hn::Add(c.re, c.im))}, kHalfRoot);
  const Number even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
  MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) v[j] = add(even[j], odd[j]), v[j + 4] = subtract(even[j], odd[j]);
}

// A pass joins `kFactor` series at a time. Before it there are length / done interleaved series, each transformed over its `done` points;
// element k of series s lies at k * (length / done) + s.
template <size_t kFactor>
void pass(const double* roots, size_t length, size_t done, const double* from, double* to) {
  const size_t groups = length / (done * kFactor), stride = length / kFactor;
  for (size_t k = 0; k < done; ++k) {
    Number twiddles[kFactor];
    MINNOW_UNROLL for (size_t j = 1; j < kFactor; ++j) twiddles[j] = constant(roots + 2 * k * j * groups);
    const double* a = from + k * kFactor * groups * kStep;
    double* b = to + k * groups * kStep;
    for (size_t g = 0; g < groups; ++g, a += kStep, b += kStep) {
      Number v[kFactor];
      v[0] = load(a);
      MINNOW_UNROLL for (size_t j = 1; j < kFactor; ++j) v[j] = load(a + j * groups * kStep);
      if (k > 0) {
        MINNOW_UNROLL for (size_t j = 1; j < kFactor; ++j) v[j] = times(v[j], twiddles[j]);
      }
      small_transform(v);
      MINNOW_UNROLL for (size_t j = 0; j < kFactor; ++j) store(v[j], b + j * stride * kStep);
    }
  }
}
void pass_of_any(size_t factor, const double* roots, size_t length, size_t done, const double* from, double* to) {
  const size_t groups = length / (done * factor), stride = length / factor, half = factor / 2;
  for (size_t k = 0; k < done; ++k)
    for (size_t g = 0; g < groups; ++g) {
      const double* a = from + (k * factor * groups + g) * kStep;
      double* b = to + (k * groups + g) * kStep;
      // Elements j and factor - j as their sum and difference, which meet the same cosine and sine.
      Number sums[kLargestFactor / 2 + 1], gaps[kLargestFactor / 2 + 1];
      const Number first = load(a);
      Number total = first;
      for (size_t j = 1; j <= half; ++j) {
        const size_t other = factor - j;
        const Number p = times(load(a + j * groups * kStep), constant(roots + 2 * k * j * groups));
        const Number q = times(load(a + other * groups * kStep), constant(roots + 2 * k * other * groups));
        sums[j] = add(p, q), gaps[j] = subtract(p, q);
        total = add(total, sums[j]);
      }
      store(total, b);
      for (size_t i = 1; i <= half; ++i) {
        Number even = first, odd = {hn::Zero(D()), hn::Zero(D())};
        for (size_t j = 1; j <= half; ++j) {
          const Number root = constant(roots + 2 * (i * j % factor) * stride);  // cosine and minus sine
          even = {hn::MulAdd(sums[j].re, root.re, even.re), hn::MulAdd(sums[j].im, root.re, even.im)};
          odd = {hn::NegMulAdd(gaps[j].im, root.im, odd.re), hn::MulAdd(gaps[j].re, root.im, odd.im)};
        }
        store(add(even, odd), b + i * stride * kStep);
        store(subtract(even, odd), b + (factor - i) * stride * kStep);
      }
    }
}

double* transform(const uint8_t* factors, size_t passes, const double* roots, size_t length, double* block, double* other) {
  size_t done = 1;
  for (size_t i = 0; i < passes; ++i) {
    switch (factors[i]) {
      case 2:
        pass<2>(roots, length, done, block, other);
        break;
      case 3:
        pass<3>(roots, length, done, block, other);
        break;
      case 4:
        pass<4>(roots, length, done, block, other);
        break;
      case 5:
        pass<5>(roots, length, done, block, other);
        break;
      case 8:
        pass<8>(roots, length, done, block, other);
        break;
      default:
        pass_of_any(factors[i], roots, length, done, block, other);
    }
    done *= factors[i];
    std::swap(block, other);
  }
  return block;
}

void multiply(const double* by, size_t length, double* block) {
  for (size_t k = 0; k < length; ++k) store(times(load(block + k * kStep), load(by + k * kStep)), block + k * kStep);
}

void load_block(const double* x, size_t length, size_t element, size_t column, size_t columns, bool swapped, double* block) {
  for (size_t k = 0; k < length; ++k, x += 2 * element, block += kStep) {
    if (column == 1 && columns == kLanes) {
      Number v;
      hn::LoadInterleaved2(D(), x, v.re, v.im);
      // The next columns lie beside these, and no prefetcher of the machine's follows such steps.
      for (size_t line = 0; line < kStep; line += 8) hwy::Prefetch(x + kStep + line);
      store(swapped ? Number{v.im, v.re} : v, block);
      continue;
    }
    double *re = block + (swapped ? kLanes : 0), *im = block + (swapped ? 0 : kLanes);
    for (size_t c = 0; c < kLanes; ++c) {
      re[c] = c < columns ? x[2 * c * column] : 0;
      im[c] = c < columns ? x[2 * c * column + 1] : 0;
    }
  }
}
void store_block(const double* block, size_t length, size_t element, size_t column, size_t columns, bool swapped, double scale, double* x) {
  for (size_t k = 0; k < length; ++k, x += 2 * element, block += kStep) {
    const Number v = times(load(block), scale);
    if (column == 1 && columns == kLanes) {
      hn::StoreInterleaved2(swapped ? v.im : v.re, swapped ? v.re : v.im, D(), x);
      for (size_t line = 0; line < kStep; line += 8) hwy::Prefetch(x + kStep + line);
      continue;
    }
    double lanes[kStep];
    store(v, lanes);
    const double *re = lanes + (swapped ? kLanes : 0), *im = lanes + (swapped ? 0 : kLanes);
    for (size_t c = 0; c < columns; ++c) x[2 * c * column] = re[c], x[2 * c * column + 1] = im[c];
  }
}
}  // namespace

extern const FourierKernels kFourierKernels;
const FourierKernels kFourierKernels{kLanes, load_block, store_block, transform, multiply};
#endif
}  // namespace minnow::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::numerics {
namespace {

using Complex = Fourier::Complex;

const FourierKernels& kernels() {
  static const FourierKernels& kKernels = [&]() -> const FourierKernels& {
    switch (cpu::best_isa()) {
#if HWY_TARGETS & HWY_AVX3
      case cpu::Isa::avx3:
        return N_AVX3::kFourierKernels;
#endif
#if HWY_TARGETS & HWY_AVX2
      case cpu::Isa::avx2:
        return N_AVX2::kFourierKernels;
#endif
#if HWY_TARGETS & HWY_SSE4
      case cpu::Isa::sse4:
        return N_SSE4::kFourierKernels;
#endif
      default:
        return HWY_STATIC_DISPATCH(kFourierKernels);
    }
  }();
  return kKernels;
}

// The plain product, without the rules for infinities.
inline Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
const double* parts(const Complex* x) { return reinterpret_cast<const double*>(x); }
double* parts(Complex* x) { return reinterpret_cast<double*>(x); }

// The factors of a length, from which passes are made; empty if one is too large.
std::vector<uint8_t> factors_of(size_t length) {
  std::vector<uint8_t> factors;
  const auto divide = [&](size_t factor) {
    for (; length % factor == 0 && length > 1; length /= factor) factors.push_back(static_cast<uint8_t>(factor));
  };
  size_t twos = 0;
  while (length >> twos > 1 && (length >> twos) % 2 == 0) ++twos;
  for (; twos > 4 || twos == 3; twos -= 3) factors.push_back(8), length /= 8;
  for (const size_t factor : {4, 2, 3, 5}) divide(factor);
  for (size_t factor = 7; factor <= kLargestFactor && length > 1; factor += 2) divide(factor);
  if (length > 1) factors.clear();
  return factors;
}

}  // namespace

std::vector<Complex> Fourier::roots(size_t n) {
  std::vector<Complex> result(n);
  // cos and sin of 2 pi k / n = pi / 4 * (8 k / n), the angle reduced to an eighth of the circle.
  const auto exact = [n](size_t k) -> Complex {
    const size_t quarter = (8 * k / n + 1) / 2 % 4;  // the nearest multiple of a quarter
    const int64_t over = static_cast<int64_t>(4 * k) - static_cast<int64_t>(n) * static_cast<int64_t>((8 * k / n + 1) / 2);
    const double angle = std::numbers::pi / 2 * (static_cast<double>(over) / static_cast<double>(n)), c = std::cos(angle),
                 s = std::sin(angle);
    return quarter == 0 ? Complex(c, -s) : quarter == 1 ? Complex(-s, -c) : quarter == 2 ? Complex(-c, s) : Complex(s, c);
  };
  const bool mirrored = n % 8 == 0;
  for (size_t k = 0; k < n; ++k) {
    if (!mirrored || k <= n / 8) {
      result[k] = exact(k);
    } else if (k < n / 4) {  // as the eighth before, sine and cosine exchanged
      const Complex other = result[n / 4 - k];
      result[k] = {-other.imag(), -other.real()};
    } else {  // a quarter further
      const Complex other = result[k - n / 4];
      result[k] = {other.imag(), -other.real()};
    }
  }
  return result;
}

std::shared_ptr<const Fourier> Fourier::plan(size_t length) {
  constexpr size_t kKept = 16, kLongest = 1 << 20;
  static std::mutex mutex;
  static std::vector<std::shared_ptr<const Fourier>> kept;  // the one used last comes last
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t i = kept.size(); i-- > 0;)
      if (kept[i]->length() == length) {
        std::rotate(kept.begin() + static_cast<std::ptrdiff_t>(i), kept.begin() + static_cast<std::ptrdiff_t>(i) + 1, kept.end());
        return kept.back();
      }
  }
  auto made = std::make_shared<const Fourier>(length);
  if (length > kLongest) return made;
  const std::lock_guard<std::mutex> lock(mutex);
  if (kept.size() == kKept) kept.erase(kept.begin());
  kept.push_back(made);
  return made;
}

const Complex* Fourier::roots_of_twice() const {
  std::call_once(twice_made_, [&] { twice_ = roots(2 * length_); });
  return twice_.data();
}

Fourier::Passes Fourier::passes(size_t length) { return {factors_of(length), roots(length)}; }

Fourier::Fourier(size_t length) : length_(length) {
  constexpr size_t kShort = 64, kMostTogether = 2048;
  const size_t lanes = kernels().lanes;
  if (length == 1 || !factors_of(length).empty()) {
    size_t divisor = 1;
    for (size_t d = 2; d * d <= length; ++d)
      if (length % d == 0 && (d % lanes == 0 || divisor % lanes != 0 || d > 2 * divisor)) divisor = d;
    if (length < kShort || divisor < 4) {
      whole_ = passes(length);
      return;
    }
    if (length <= kMostTogether) whole_ = passes(length);
    columns_ = passes(length / divisor), rows_ = passes(divisor);
    const std::vector<Complex> all = roots(length);
    const size_t strips = (divisor + lanes - 1) / lanes, tall = columns_.length();
    turn_.resize(strips * lanes * tall * 2);
    for (size_t j = 0; j < divisor; ++j)
      for (size_t k = 0; k < tall; ++k) {
        double* to = turn_.data() + ((j / lanes * tall + k) * 2) * lanes + j % lanes;
        to[0] = all[j * k].real(), to[lanes] = all[j * k].imag();
      }
    return;
  }
  size_t padded = 2 * length - 1;
  for (;; ++padded) {
    size_t rest = padded;
    for (const size_t factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1 && padded % 16 == 0) break;
  }
  convolution_ = plan(padded);
  const std::vector<Complex> all = roots(2 * length);
  chirp_.resize(length);
  for (size_t k = 0, square = 0; k < length; ++k) {  // k^2 mod 2 n
    chirp_[k] = all[square];
    square = (square + 2 * k + 1) % (2 * length);
  }
  filter_.assign(padded, Complex(0));
  for (size_t k = 0; k < length; ++k) {
    filter_[k] = std::conj(chirp_[k]);
    if (k > 0) filter_[padded - k] = filter_[k];
  }
  convolution_->run_as_matrix(filter_.data(), false, 1 / static_cast<double>(padded), false);
}

/// Two blocks of columns.
class Fourier::Work {
 public:
  explicit Work(size_t length) : step_(length * 2 * kernels().lanes), memory_(std::make_unique_for_overwrite<double[]>(2 * step_ + 8)) {
    first_ = reinterpret_cast<double*>((reinterpret_cast<uintptr_t>(memory_.get()) + 63) / 64 * 64);
  }
  double* block() noexcept { return first_; }
  double* transform(const Passes& passes) noexcept {
    return kernels().transform(passes.factors.data(), passes.factors.size(), parts(passes.roots.data()), passes.length(), first_,
                               first_ + step_);
  }

 private:
  size_t step_;
  std::unique_ptr<double[]> memory_;
  double* first_;
};

void Fourier::run_together(Complex* x, size_t rows, size_t stride, bool inverse, double scale) const {
  const FourierKernels& use = kernels();
  Work work(length_);
  for (size_t row = 0; row < rows; row += use.lanes) {
    const size_t count = std::min(use.lanes, rows - row);
    use.load(parts(x + row * stride), length_, 1, stride, count, inverse, work.block());
    use.store(work.transform(whole_), length_, 1, stride, count, inverse, scale, parts(x + row * stride));
  }
}

void Fourier::run_as_matrix(Complex* x, bool inverse, double scale, bool on_all_cores) const {
  const FourierKernels& use = kernels();
  const size_t lanes = use.lanes, tall = columns_.length(), wide = rows_.length();
  const auto turned = std::make_unique_for_overwrite<double[]>(2 * length_);  // [wide, tall]
  const auto strips = [&](size_t columns, size_t length, FunctionRef<void(size_t, size_t, Work&)> task) {
    const auto some = [&](int64_t first, int64_t last) {
      Work work(length);
      for (size_t strip = static_cast<size_t>(first); strip < static_cast<size_t>(last); ++strip)
        task(strip * lanes, std::min(lanes, columns - strip * lanes), work);
    };
    const int64_t count = static_cast<int64_t>((columns + lanes - 1) / lanes);
    if (on_all_cores)
      in_parts(count, static_cast<int64_t>(length * lanes * 8), some);
    else
      some(0, count);
  };
  strips(wide, tall, [&](size_t column, size_t count, Work& work) {
    use.load(parts(x + column), tall, wide, 1, count, inverse, work.block());
    double* done = work.transform(columns_);
    use.multiply(turn_.data() + column * tall * 2, tall, done);
    use.store(done, tall, 1, tall, count, false, 1, turned.get() + 2 * column * tall);
  });
  strips(tall, wide, [&](size_t column, size_t count, Work& work) {
    use.load(turned.get() + 2 * column, wide, tall, 1, count, false, work.block());
    use.store(work.transform(rows_), wide, tall, 1, count, inverse, scale, parts(x + column));
  });
}

void Fourier::convolve(Complex* x, bool inverse, double scale) const {
  const auto way = [inverse](Complex v) { return inverse ? std::conj(v) : v; };
  std::vector<Complex> padded(convolution_->length());
  for (size_t i = 0; i < length_; ++i) padded[i] = times(way(x[i]), chirp_[i]);
  convolution_->run_as_matrix(padded.data(), false, 1, false);
  for (size_t i = 0; i < padded.size(); ++i) padded[i] = times(padded[i], filter_[i]);
  convolution_->run_as_matrix(padded.data(), true, 1, false);
  for (size_t i = 0; i < length_; ++i) x[i] = way(times(padded[i], chirp_[i])) * scale;
}

void Fourier::run(Complex* x, size_t rows, size_t stride, bool inverse, double scale) const {
  const size_t lanes = kernels().lanes;
  const bool together = !whole_.roots.empty() && (turn_.empty() || rows >= lanes);
  if (!together && !convolution_ && rows == 1) return run_as_matrix(x, inverse, scale, true);
  const size_t each = together ? lanes : 1;
  in_parts(static_cast<int64_t>((rows + each - 1) / each), static_cast<int64_t>(each * length_ * 8), [&](int64_t first, int64_t last) {
    const size_t from = static_cast<size_t>(first) * each, to = std::min(rows, static_cast<size_t>(last) * each);
    if (together) return run_together(x + from * stride, to - from, stride, inverse, scale);
    for (size_t row = from; row < to; ++row) {
      if (convolution_)
        convolve(x + row * stride, inverse, scale);
      else
        run_as_matrix(x + row * stride, inverse, scale, false);
    }
  });
}

}  // namespace minnow::numerics
#endif
