// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of one and two numbers that the operator set lacks, and complex ones. They compute integers in 64 bits, complex
// elements in two doubles, and floating ones in double unless there are loops of floats; results are rounded once.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>

#include "backends/cpu/kernels/kernels.h"
#include "base/numeric.h"
#include "base/os.h"
#include "base/parallel.h"
#include "numpy/kernels/kernels.h"
#include "numpy/loops.h"

namespace minnow::numpy {

int cores() {
  static const int kCores = std::max(1, os::available_cores());  // to ask takes microseconds
  return kCores;
}

void in_parts(int64_t count, int64_t cost, const std::function<void(int64_t, int64_t)>& task) {
  constexpr int64_t kLeast = 1 << 12;  // that are worth letting others have the GIL
  const double work = static_cast<double>(count) * static_cast<double>(std::max<int64_t>(cost, 1));
  if (work < kLeast) {
    if (count > 0) task(0, count);
    return;
  }
  const python::SignalWatch watch;
  const nb::gil_scoped_release release;
  minnow::in_parts(count, cost, task);
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = a.rank() >= b.rank() ? a : b;
  for (size_t i = 0; i < result.rank(); ++i) {
    const auto dim = [&](const Shape& s) { return i < s.rank() ? s[s.rank() - 1 - i] : 1; };
    const int64_t p = dim(a), q = dim(b);
    if (p != q && p != 1 && q != 1) throw InvalidArgument("operands could not be broadcast together: their shapes are {} and {}", a, b);
    result[result.rank() - 1 - i] = p == 1 ? q : p;
  }
  return result;
}

namespace {

template <class From, class To>
struct Row1 {
  const char* name;
  Loop1<From, To> loop;
};
template <class From, class To>
struct Row2 {
  const char* name;
  Loop2<From, To> loop;
};
template <class From, class To, class F>
constexpr Row1<From, To> one(const char* name, F) {
  return {name, [](const From* x, size_t n, To* y) {
            for (size_t i = 0; i < n; ++i) y[i] = static_cast<To>(F()(x[i]));
          }};
}
template <class From, class To, class F>
constexpr Row2<From, To> two(const char* name, F) {
  return {name, [](const From* a, const From* b, size_t n, To* y) {
            for (size_t i = 0; i < n; ++i) y[i] = static_cast<To>(F()(a[i], b[i]));
          }};
}
template <class Table>
auto find(const Table& table, const std::string& name) {
  for (const auto& row : table)
    if (name == row.name) return row.loop;
  return decltype(table[0].loop)(nullptr);
}

// Modified Bessel function I0 (Abramowitz, Stegun 9.8.1 has its series; summed until terms vanish, or the asymptotic 9.7.1 scaled form).
double bessel_i0(double x) {
  x = std::fabs(x);
  if (std::isnan(x)) return x;
  if (x < 30) {
    double term = 1, sum = 1;
    for (int k = 1; k < 200 && term > sum * 1e-17; ++k) term *= x * x / (4.0 * k * k), sum += term;
    return sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double next = term * (2 * k - 1) * (2 * k - 1) / (8 * x * k);
    if (std::fabs(next) > std::fabs(term) || next < 1e-17) break;
    term = next, sum += term;
  }
  return std::exp(x) / std::sqrt(2 * std::numbers::pi * x) * sum;
}

double remainder_like_divisor(double a, double b) {
  double rest = std::fmod(a, b);
  if (b == 0) return rest;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}
/// The quotient that belongs to the remainder, as Python has it: of an infinite dividend NaN.
double python_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

/// floor(a / b), of infinite operands too.
double floor_quotient(double a, double b) { return std::isinf(a) || std::isinf(b) ? a / b : python_quotient(a, b); }

double log_add(double a, double b, double unit) {  // ln(e^a + e^b) in units of `unit`
  if (a == b) return a + std::numbers::ln2 / unit;
  const double gap = a - b;
  if (gap > 0) return a + std::log1p(std::exp(-gap * unit)) / unit;
  if (gap <= 0) return b + std::log1p(std::exp(gap * unit)) / unit;
  return gap;  // NaN
}

#define F(expression) [](double x) { return expression; }
constexpr Row1<double, double> kReal1[] = {
    one<double, double>("sqrt", F(std::sqrt(x))),
    one<double, double>("exp", F(std::exp(x))),
    one<double, double>("log", F(std::log(x))),
    one<double, double>("sin", F(std::sin(x))),
    one<double, double>("cos", F(std::cos(x))),
    one<double, double>("tan", F(std::tan(x))),
    one<double, double>("arcsin", F(std::asin(x))),
    one<double, double>("arccos", F(std::acos(x))),
    one<double, double>("arctan", F(std::atan(x))),
    one<double, double>("sinh", F(std::sinh(x))),
    one<double, double>("cosh", F(std::cosh(x))),
    one<double, double>("tanh", F(std::tanh(x))),
    one<double, double>("arcsinh", F(std::asinh(x))),
    one<double, double>("arccosh", F(std::acosh(x))),
    one<double, double>("arctanh", F(std::atanh(x))),
    one<double, double>("log1p", F(std::log1p(x))),
    one<double, double>("expm1", F(std::expm1(x))),
    one<double, double>("log2", F(std::log2(x))),
    one<double, double>("log10", F(std::log10(x))),
    one<double, double>("exp2", F(std::exp2(x))),
    one<double, double>("cbrt", F(std::cbrt(x))),
    one<double, double>("rint", F(std::nearbyint(x))),
    one<double, double>("trunc", F(std::trunc(x))),
    one<double, double>("floor", F(std::floor(x))),
    one<double, double>("ceil", F(std::ceil(x))),
    one<double, double>("square", F(x* x)),
    one<double, double>("reciprocal", F(1 / x)),
    one<double, double>("absolute", F(std::fabs(x))),
    one<double, double>("negative", F(-x)),
    one<double, double>("sign", F(std::isnan(x) ? x
                                  : x > 0       ? 1.0
                                  : x < 0       ? -1.0
                                                : 0.0)),
    one<double, double>("deg2rad", F(x*(std::numbers::pi / 180))),
    one<double, double>("rad2deg", F(x*(180 / std::numbers::pi))),
    one<double, double>("sinc", F(x == 0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x))),
    one<double, double>("i0", F(bessel_i0(x))),
    one<double, double>("fraction", F(std::isinf(x) ? std::copysign(0.0, x) : std::copysign(x - std::trunc(x), x))),
    one<double, double>("mantissa",
                        [](double x) {
                          int exponent;
                          return std::frexp(x, &exponent);
                        }),
    one<double, double>("exponent",
                        [](double x) {
                          int exponent = 0;
                          if (std::isfinite(x)) std::frexp(x, &exponent);
                          return static_cast<double>(exponent);
                        }),
};
float without_fraction(float x) {  // as the compiler makes vectors of it on every machine
  const bool has = std::fabs(x) < 0x1p23f;
  const float whole = static_cast<float>(static_cast<int32_t>(has ? x : 0.0f));
  return has ? std::copysign(whole, x) : x;
}
#define F32(expression) [](float x) { return expression; }
// Functions that gain no accuracy from computing f32 in double.
constexpr Row1<float, float> kFloat1[] = {
    one<float, float>("trunc", F32(without_fraction(x))),
    one<float, float>("reciprocal", F32(1 / x)),
    one<float, float>("deg2rad", F32(x* static_cast<float>(std::numbers::pi / 180))),
    one<float, float>("rad2deg", F32(x* static_cast<float>(180 / std::numbers::pi))),
};
#undef F32
#undef F
#define F(expression) [](double a, double b) { return expression; }
constexpr Row2<double, double> kReal2[] = {
    two<double, double>("add", F(a + b)),
    two<double, double>("subtract", F(a - b)),
    two<double, double>("multiply", F(a* b)),
    two<double, double>("divide", F(a / b)),
    two<double, double>("power", F(std::pow(a, b))),
    two<double, double>("arctan2", F(std::atan2(a, b))),
    two<double, double>("hypot", F(std::hypot(a, b))),
    two<double, double>("logaddexp", F(log_add(a, b, 1))),
    two<double, double>("logaddexp2", F(log_add(a, b, std::numbers::ln2))),
    two<double, double>("copysign", F(std::copysign(a, b))),
    two<double, double>("fmod", F(std::fmod(a, b))),
    two<double, double>("remainder", F(remainder_like_divisor(a, b))),
    two<double, double>("floor_divide", F(floor_quotient(a, b))),
    two<double, double>("python_quotient", F(python_quotient(a, b))),
    two<double, double>("heaviside", F(std::isnan(a) ? a
                                       : a == 0      ? b
                                       : a < 0       ? 0.0
                                                     : 1.0)),
    two<double, double>("ldexp", F(std::ldexp(a, static_cast<int>(std::fmax(-1e6, std::fmin(b, 1e6)))))),
    two<double, double>("maximum", F(a >= b || std::isnan(a) ? a : b)),
    two<double, double>("minimum", F(a <= b || std::isnan(a) ? a : b)),
    two<double, double>("fmax", F(a >= b || std::isnan(b) ? a : b)),
    two<double, double>("fmin", F(a <= b || std::isnan(b) ? a : b)),
};
#undef F
#define F32(expression) [](float a, float b) { return expression; }
constexpr Row2<float, float> kFloat2[] = {
    two<float, float>("copysign", F32(std::copysign(a, b))),
    two<float, float>("fmax", F32(a >= b || b != b ? a : b)),
    two<float, float>("fmin", F32(a <= b || b != b ? a : b)),
};
#undef F32

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
int64_t wrapped(uint64_t x) { return static_cast<int64_t>(x); }

#define F(expression) [](int64_t x) -> int64_t { return expression; }
constexpr Row1<int64_t, int64_t> kInteger1[] = {
    one<int64_t, int64_t>("absolute", F(x < 0 ? wrapped(0 - bits(x)) : x)),
    one<int64_t, int64_t>("negative", F(wrapped(0 - bits(x)))),
    one<int64_t, int64_t>("square", F(wrapped(bits(x) * bits(x)))),
    one<int64_t, int64_t>("sign", F((x > 0) - (x < 0))),
    one<int64_t, int64_t>("sign_unsigned", F(x != 0)),
    one<int64_t, int64_t>("invert", F(~x)),
    one<int64_t, int64_t>("reciprocal", F(x == 1    ? 1
                                          : x == -1 ? -1
                                                    : 0)),
    one<int64_t, int64_t>("bit_count", F(std::popcount(x < 0 ? 0 - bits(x) : bits(x)))),
    one<int64_t, int64_t>("bit_count_unsigned", F(std::popcount(bits(x)))),
};
#undef F

int64_t integer_power(int64_t base, int64_t exponent) {
  uint64_t result = 1, factor = bits(base);
  for (uint64_t e = bits(exponent); e > 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return wrapped(result);
}
int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapped(0 - bits(a));
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
int64_t rest_like_divisor(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
uint64_t magnitude(int64_t x) { return x < 0 ? 0 - bits(x) : bits(x); }
uint64_t common_divisor(uint64_t a, uint64_t b) { return std::gcd(a, b); }
uint64_t common_multiple(uint64_t a, uint64_t b) { return a == 0 || b == 0 ? 0 : a / common_divisor(a, b) * b; }

#define F(expression) [](int64_t a, int64_t b) -> int64_t { return expression; }
constexpr Row2<int64_t, int64_t> kInteger2[] = {
    two<int64_t, int64_t>("add", F(wrapped(bits(a) + bits(b)))),
    two<int64_t, int64_t>("subtract", F(wrapped(bits(a) - bits(b)))),
    two<int64_t, int64_t>("multiply", F(wrapped(bits(a) * bits(b)))),
    two<int64_t, int64_t>("power", F(integer_power(a, b))),
    two<int64_t, int64_t>("floor_divide", F(floor_quotient(a, b))),
    two<int64_t, int64_t>("remainder", F(rest_like_divisor(a, b))),
    two<int64_t, int64_t>("fmod", F(b == 0 || b == -1 ? 0 : a % b)),
    two<int64_t, int64_t>("gcd", F(wrapped(common_divisor(magnitude(a), magnitude(b))))),
    two<int64_t, int64_t>("lcm", F(wrapped(common_multiple(magnitude(a), magnitude(b))))),
    two<int64_t, int64_t>("maximum", F(a > b ? a : b)),
    two<int64_t, int64_t>("minimum", F(a < b ? a : b)),
    two<int64_t, int64_t>("left_shift", F(bits(b) < 64 ? wrapped(bits(a) << b) : 0)),
    two<int64_t, int64_t>("right_shift", F(bits(b) < 64 ? a >> b
                                           : a < 0      ? -1
                                                        : 0)),
};
// Where unsigned 64 bits differ from signed ones.
constexpr Row2<int64_t, int64_t> kUnsigned2[] = {
    two<int64_t, int64_t>("power", F(integer_power(a, b))),
    two<int64_t, int64_t>("floor_divide", F(b == 0 ? 0 : wrapped(bits(a) / bits(b)))),
    two<int64_t, int64_t>("remainder", F(b == 0 ? 0 : wrapped(bits(a) % bits(b)))),
    two<int64_t, int64_t>("fmod", F(b == 0 ? 0 : wrapped(bits(a) % bits(b)))),
    two<int64_t, int64_t>("gcd", F(wrapped(common_divisor(bits(a), bits(b))))),
    two<int64_t, int64_t>("lcm", F(wrapped(common_multiple(bits(a), bits(b))))),
    two<int64_t, int64_t>("maximum", F(bits(a) > bits(b) ? a : b)),
    two<int64_t, int64_t>("minimum", F(bits(a) < bits(b) ? a : b)),
    two<int64_t, int64_t>("right_shift", F(bits(b) < 64 ? wrapped(bits(a) >> b) : 0)),
};
#undef F

Complex log_to_base(Complex x, double base) { return std::log(x) / std::log(base); }
Complex complex_sign(Complex x) {
  if (std::isnan(x.real()) || std::isnan(x.imag())) return {std::nan(""), std::nan("")};
  if (x == 0.0) return 0;
  return x / std::abs(x);
}
Complex complex_power(Complex a, Complex b) {
  if (b == 0.0) return 1;
  if (a == 0.0) return b.real() > 0 && b.imag() == 0 ? Complex(0) : Complex(std::nan(""), std::nan(""));
  if (b.imag() == 0 && b.real() == std::trunc(b.real()) && std::fabs(b.real()) <= 100) {
    Complex result = 1, factor = a;
    for (int e = static_cast<int>(std::fabs(b.real())); e > 0; e >>= 1) {
      if (e & 1) result *= factor;
      factor *= factor;
    }
    return b.real() < 0 ? 1.0 / result : result;
  }
  return std::pow(a, b);
}
bool before(Complex a, Complex b) { return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag()); }
Complex complex_tanh(Complex x) {
  // C lets the sign of the imaginary zero follow sin(2 y), the array API standard y.
  if (std::isinf(x.real()) && std::isfinite(x.imag())) return {std::copysign(1.0, x.real()), std::copysign(0.0, x.imag())};
  return std::tanh(x);
}
Complex complex_expm1(Complex x) {
  if (!std::isfinite(x.real()) || !std::isfinite(x.imag())) return std::exp(x) - 1.0;  // exp() knows C's table of special values
  const double half = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half + 0.0, std::exp(x.real()) * std::sin(x.imag())};  // + 0: not -0
}
bool not_a_number(Complex x) { return std::isnan(x.real()) || std::isnan(x.imag()); }

#define F(expression) [](Complex x) { return expression; }
constexpr Row1<Complex, Complex> kComplex1[] = {
    one<Complex, Complex>("sqrt", F(std::sqrt(x))),
    one<Complex, Complex>("exp", F(std::exp(x))),
    one<Complex, Complex>("log", F(std::log(x))),
    one<Complex, Complex>("sin", F(std::sin(x))),
    one<Complex, Complex>("cos", F(std::cos(x))),
    one<Complex, Complex>("tan", F(std::tan(x))),
    one<Complex, Complex>("arcsin", F(std::asin(x))),
    one<Complex, Complex>("arccos", F(std::acos(x))),
    one<Complex, Complex>("arctan", F(std::atan(x))),
    one<Complex, Complex>("sinh", F(std::sinh(x))),
    one<Complex, Complex>("cosh", F(std::cosh(x))),
    one<Complex, Complex>("tanh", F(complex_tanh(x))),
    one<Complex, Complex>("arcsinh", F(std::asinh(x))),
    one<Complex, Complex>("arccosh", F(std::acosh(x))),
    one<Complex, Complex>("arctanh", F(std::atanh(x))),
    one<Complex, Complex>("log1p", F(std::log(1.0 + x))),
    one<Complex, Complex>("log2", F(log_to_base(x, 2))),
    one<Complex, Complex>("log10", F(std::log10(x))),
    one<Complex, Complex>("expm1", F(complex_expm1(x))),
    one<Complex, Complex>("exp2", F(std::exp(x* std::numbers::ln2))),
    one<Complex, Complex>("square", F(x* x)),
    one<Complex, Complex>("reciprocal", F(1.0 / x)),
    one<Complex, Complex>("negative", F(-x)),
    one<Complex, Complex>("sign", F(complex_sign(x))),
    one<Complex, Complex>("conjugate", F(std::conj(x))),
    one<Complex, Complex>("rint", F(Complex(std::nearbyint(x.real()), std::nearbyint(x.imag())))),
    one<Complex, Complex>("sinc", F(x == 0.0 ? Complex(1) : std::sin(std::numbers::pi * x) / (std::numbers::pi * x))),
};
constexpr Row1<Complex, double> kComplexReal1[] = {
    one<Complex, double>("absolute", F(std::abs(x))),
    one<Complex, double>("real", F(x.real())),
    one<Complex, double>("imag", F(x.imag())),
    one<Complex, double>("angle", F(std::arg(x))),
};
constexpr Row1<Complex, int64_t> kComplexBool1[] = {
    one<Complex, int64_t>("isnan", F(not_a_number(x))),
    one<Complex, int64_t>("isinf", F(std::isinf(x.real()) || std::isinf(x.imag()))),
    one<Complex, int64_t>("isfinite", F(std::isfinite(x.real()) && std::isfinite(x.imag()))),
    one<Complex, int64_t>("truth", F(x != 0.0)),
};
#undef F
#define F(expression) [](Complex a, Complex b) { return expression; }
constexpr Row2<Complex, Complex> kComplex2[] = {
    two<Complex, Complex>("add", F(a + b)),
    two<Complex, Complex>("subtract", F(a - b)),
    two<Complex, Complex>("multiply", F(a* b)),
    two<Complex, Complex>("divide", F(a / b)),
    two<Complex, Complex>("power", F(complex_power(a, b))),
    two<Complex, Complex>("maximum", F(not_a_number(a)   ? a
                                       : not_a_number(b) ? b
                                       : before(a, b)    ? b
                                                         : a)),
    two<Complex, Complex>("minimum", F(not_a_number(a)   ? a
                                       : not_a_number(b) ? b
                                       : before(b, a)    ? b
                                                         : a)),
    two<Complex, Complex>("fmax", F(not_a_number(b)   ? a
                                    : not_a_number(a) ? b
                                    : before(a, b)    ? b
                                                      : a)),
    two<Complex, Complex>("fmin", F(not_a_number(b)   ? a
                                    : not_a_number(a) ? b
                                    : before(b, a)    ? b
                                                      : a)),
};
constexpr Row2<Complex, int64_t> kComplexBool2[] = {
    two<Complex, int64_t>("equal", F(a == b)),         two<Complex, int64_t>("not_equal", F(a != b)),
    two<Complex, int64_t>("less", F(before(a, b))),    two<Complex, int64_t>("less_equal", F(before(a, b) || a == b)),
    two<Complex, int64_t>("greater", F(before(b, a))), two<Complex, int64_t>("greater_equal", F(before(b, a) || a == b)),
};
#undef F

/// Finds a function by NumPy's name in `functions`, which are in the order of MoreUnary; null if it has none, or if there are none.
template <class F>
F more_unary(const F* functions, const std::string& name) {
  using cpu::MoreUnary;
  struct Row {
    const char* name;
    MoreUnary kind;
  };
  static constexpr Row kRows[] = {
      {"exp2", MoreUnary::exp2},       {"expm1", MoreUnary::expm1},     {"log2", MoreUnary::log2},     {"log10", MoreUnary::log10},
      {"log1p", MoreUnary::log1p},     {"tan", MoreUnary::tan},         {"arcsin", MoreUnary::arcsin}, {"arccos", MoreUnary::arccos},
      {"arctan", MoreUnary::arctan},   {"sinh", MoreUnary::sinh},       {"cosh", MoreUnary::cosh},     {"arcsinh", MoreUnary::arcsinh},
      {"arccosh", MoreUnary::arccosh}, {"arctanh", MoreUnary::arctanh}, {"cbrt", MoreUnary::cbrt},     {"trunc", MoreUnary::trunc}};
  static_assert(std::size(kRows) == static_cast<size_t>(MoreUnary::count));
  if (functions)
    for (const Row& row : kRows)
      if (name == row.name) return functions[static_cast<size_t>(row.kind)];
  return nullptr;
}

/// A function that the machine has vectors for; null if it has none.
Loop1<double, double> vector_loop(const std::string& name) {
  using cpu::Unary64;
  struct Row {
    const char* name;
    Unary64 kind;
  };
  static constexpr Row kRows[] = {{"sqrt", Unary64::sqrt}, {"exp", Unary64::exp},     {"log", Unary64::log},   {"sin", Unary64::sin},
                                  {"cos", Unary64::cos},   {"tanh", Unary64::tanh},   {"rint", Unary64::rint}, {"floor", Unary64::floor},
                                  {"ceil", Unary64::ceil}, {"absolute", Unary64::abs}};
  static const cpu::Unary64Kernels& kKernels = *cpu::kernels_for(cpu::best_isa()).unary64;
  static const cpu::Functions64Kernels& kMore = *cpu::kernels_for(cpu::best_isa()).functions64;
  if (kKernels.functions)
    for (const Row& row : kRows)
      if (name == row.name) return kKernels[row.kind];
  return more_unary(kMore.functions, name);
}

// The same of floats, in floats.
Loop1<float, float> float_loop(const std::string& name) {
  static const cpu::Unary32Function* const kFunctions = cpu::kernels_for(cpu::best_isa()).functions32->unary;
  if (const cpu::Unary32Function function = more_unary(kFunctions, name)) return function;
  return find(kFloat1, name);
}
Loop2<float, float> float_loop2(const std::string& name) {
  using cpu::Binary32;
  static const cpu::Binary32Function* const kFunctions = cpu::kernels_for(cpu::best_isa()).functions32->binary;
  if (kFunctions) {
    if (name == "power") return kFunctions[static_cast<size_t>(Binary32::power)];
    if (name == "arctan2") return kFunctions[static_cast<size_t>(Binary32::angle)];
    if (name == "hypot") return kFunctions[static_cast<size_t>(Binary32::length)];
  }
  return find(kFloat2, name);
}

Loop2<double, double> vector_loop2(const std::string& name) {
  static const Binary64Function* const kFunctions = numpy_kernels(cpu::best_isa()).binary64->functions;
  if (!kFunctions) return nullptr;
  if (name == "power") return kFunctions[static_cast<size_t>(Binary64::power)];
  return name == "arctan2" ? kFunctions[static_cast<size_t>(Binary64::angle)] : nullptr;
}

/// Tests elements by a function of NumPy's, such as isnan; empty for other names.
std::optional<Tensor> predicate(const std::string& name, const Tensor& x) {
  static const PredicateKernels& kKernels = *numpy_kernels(cpu::best_isa()).predicates;
  static constexpr const char* kNames[] = {"isnan", "isinf", "isfinite", "signbit"};  // in the order of Predicate
  const auto* const row = std::find(std::begin(kNames), std::end(kNames), name);
  if (row == std::end(kNames)) return std::nullopt;
  if (x.dtype() == DType::f32) return run1(kKernels.f32[row - kNames], x, DType::boolean);
  return run1(kKernels.f64[row - kNames], x, DType::boolean);
}

[[noreturn]] void unknown(const std::string& name, DType dtype) { throw python::TypeFault("{} is not defined for {}", name, dtype); }
DType part_of(DType dtype) { return dtype == DType::complex64 ? DType::f32 : DType::f64; }

}  // namespace

Var unary(const std::string& name, const Var& var) {
  const Tensor x = value_of(var);
  const DType dtype = x.dtype();
  if (is_complex(dtype)) {
    if (const auto loop = find(kComplex1, name)) return run1(loop, x, dtype);
    if (const auto loop = find(kComplexReal1, name)) return run1(loop, x, part_of(dtype));
    if (const auto loop = find(kComplexBool1, name)) return run1(loop, x, DType::boolean);
  } else if (is_float(dtype)) {
    if (dtype == DType::f32) {
      if (const auto loop = float_loop(name)) return run1(loop, x, dtype);
    }
    if (const auto loop = vector_loop(name)) return run1(loop, x, dtype);
    if (const auto loop = find(kReal1, name)) return run1(loop, x, dtype);
    if (std::optional<Tensor> y = predicate(name, x)) return *std::move(y);
  } else {
    const DType result = name.starts_with("bit_count") ? DType::u8 : dtype;
    if (is_unsigned(dtype))
      if (const auto loop = find(kInteger1, name + "_unsigned")) return run1(loop, x, result);
    if (const auto loop = find(kInteger1, name)) return run1(loop, x, result);
  }
  unknown(name, dtype);
}

namespace {

// f32 and f64 without widening, for the functions that are nothing but arithmetic: as fast as memory.
template <class T>
Tensor nearest_beyond(const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast(a.shape(), b.shape());
  Tensor y(a.dtype(), shape);
  if (y.elements() == 0) return y;
  const Walk walk = walk_of(a.shape(), b.shape(), shape);
  T* to = y.writable().data<T>();
  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t rest = i, p = 0, q = 0;
    for (size_t axis = walk.shape.rank(); axis-- > 0;) {
      p += rest % walk.shape[axis] * walk.a[axis], q += rest % walk.shape[axis] * walk.b[axis];
      rest /= walk.shape[axis];
    }
    to[i] = std::nextafter(a.data<T>()[p], b.data<T>()[q]);
  }
  return y;
}
Tensor nearest_beyond_f16(const Tensor& a, const Tensor& b) {
  // In steps of the bits, which order as the numbers do.
  const auto step = [](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::nan("");
    if (x == y) return y;
    uint16_t code;
    narrow(DType::f16, &x, 1, &code);
    if (x == 0)
      code = y > 0 ? 1 : 0x8001;
    else
      code = static_cast<uint16_t>((x < y) == (x > 0) ? code + 1 : code - 1);
    double result;
    widen(DType::f16, &code, 1, &result);
    return result;
  };
  static constexpr auto kStep = step;
  return run2<double, double>(
      [](const double* p, const double* q, size_t n, double* to) {
        for (size_t i = 0; i < n; ++i) to[i] = kStep(p[i], q[i]);
      },
      a, b, DType::f16);
}

}  // namespace

Var binary(const std::string& name, const Var& left, const Var& right) {
  const Tensor a = value_of(left), b = value_of(right);
  const DType dtype = a.dtype();
  if (name == "ldexp") {
    if (is_float(dtype) && is_integer(b.dtype())) return run2(find(kReal2, name), a, b, dtype);
    unknown(name, dtype);
  }
  if (b.dtype() != dtype) throw InvalidArgument("{}: the dtypes differ, {} and {}", name, dtype, b.dtype());
  if (is_complex(dtype)) {
    if (const auto loop = find(kComplex2, name)) return run2(loop, a, b, dtype);
    if (const auto loop = find(kComplexBool2, name)) return run2(loop, a, b, DType::boolean);
  } else if (is_float(dtype)) {
    if (name == "nextafter")
      return dtype == DType::f64   ? nearest_beyond<double>(a, b)
             : dtype == DType::f32 ? nearest_beyond<float>(a, b)
                                   : nearest_beyond_f16(a, b);
    if (dtype == DType::f32)
      if (const auto loop = float_loop2(name)) return run2(loop, a, b, dtype);
    if (const auto loop = vector_loop2(name)) return run2(loop, a, b, dtype);
    if (const auto loop = find(kReal2, name)) return run2(loop, a, b, dtype);
  } else {
    if (is_unsigned(dtype))
      if (const auto loop = find(kUnsigned2, name)) return run2(loop, a, b, dtype);
    if (name == "left_shift" || name == "right_shift") {
      // Shifts by the dtype's width or more leave 0 or, for negative numbers shifted right, -1.
      const int64_t width = static_cast<int64_t>(size_of(dtype)) * 8;
      Tensor far(b.dtype(), b.shape());
      std::vector<int64_t> places(unsign(b.elements()));
      widen(b.dtype(), b.data(), places.size(), places.data());
      for (int64_t& place : places)
        if (place < 0 || place >= width) place = 127;
      narrow(b.dtype(), places.data(), places.size(), far.writable().data());
      return run2(find(kInteger2, name), a, far, dtype);
    }
    if (const auto loop = find(kInteger2, name)) return run2(loop, a, b, dtype);
  }
  unknown(name, dtype);
}

namespace {

/// To and from complex dtypes, which the engine's Cast does not know.
Var cast(const Var& var, nb::handle to) {
  const DType dtype = python::dtype_from(to);
  const Tensor x = value_of(var);
  if (dtype == DType::boolean && is_complex(x.dtype())) return run1(find(kComplexBool1, "truth"), x, dtype);
  if (is_complex(x.dtype()) && is_integer(dtype)) {
    const Tensor real = run1(find(kComplexReal1, "real"), x, DType::f64);
    return run1<double, int64_t>(
        [](const double* p, size_t n, int64_t* q) {
          for (size_t i = 0; i < n; ++i) q[i] = truncate(p[i]);
        },
        real, dtype);
  }
  return run1<Complex, Complex>([](const Complex* p, size_t n, Complex* q) { std::copy_n(p, n, q); }, x, dtype);
}

Var make_complex(const Var& real, const Var& imaginary) {
  const Tensor re = value_of(real), im = value_of(imaginary);
  return run2<Complex, Complex>(
      [](const Complex* a, const Complex* b, size_t n, Complex* y) {
        for (size_t i = 0; i < n; ++i) y[i] = {a[i].real(), b[i].real()};
      },
      re, im, re.dtype() == DType::f32 && im.dtype() == DType::f32 ? DType::complex64 : DType::complex128);
}

/// The same bytes as another dtype, whose elements are as large, or as large along the last axis.
Var view_as(const Var& var, nb::handle to) {
  const DType dtype = python::dtype_from(to);
  const Tensor x = value_of(var);
  Shape shape = x.shape();
  const int64_t from = static_cast<int64_t>(size_of(x.dtype())), into = static_cast<int64_t>(size_of(dtype));
  if (from != into) {
    if (shape.rank() == 0) throw InvalidArgument("a 0-dimensional array keeps the size of its elements");
    const int64_t bytes = shape.back() * from;
    if (bytes % into != 0) throw InvalidArgument("the last axis has {} bytes, which elements of {} bytes do not divide", bytes, into);
    shape[shape.rank() - 1] = bytes / into;
  }
  return Var(Tensor(dtype, shape, x.data(), x.owner()));
}

}  // namespace

void define_elements(nb::module_& m) {
  m.def("unary", unary, nb::arg("name"), nb::arg("x"), "A function of each element, by NumPy's name; of the dtype of x, or bool.");
  m.def("binary", binary, nb::arg("name"), nb::arg("a"), nb::arg("b"),
        "A function of two tensors of one dtype, broadcast together, by NumPy's name.");
  m.def("cast", cast, nb::arg("x"), nb::arg("dtype"), "Elements as another dtype, where one of the two is complex.");
  m.def("make_complex", make_complex, nb::arg("real"), nb::arg("imag"), "complex64 of two f32, else complex128.");
  m.def("view_as", view_as, nb::arg("x"), nb::arg("dtype"), "The bytes of x as elements of another dtype; shares the memory.");
}

}  // namespace minnow::numpy
