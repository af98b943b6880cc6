// SPDX-License-Identifier: Apache-2.0
#include "numerics/draws.h"

#include <cmath>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/numeric.h"
#include "numerics/distributions.h"

namespace minnow::numerics {
namespace {

/// A parameter for each number of the result: the same one, or the elements of a tensor.
template <class T>
struct Parameter {
  const T* data;
  int64_t step;
  Parameter(const TensorView& x, DType dtype, int64_t count) : data(x.data<T>()), step(x.elements() == 1 ? 0 : 1) {
    if (x.dtype() != dtype) throw InvalidArgument("a parameter is {}, not {}", dtype, x.dtype());
    if (step == 1 && x.elements() != count) throw InvalidArgument("a parameter has {} elements, the result {}", x.elements(), count);
  }
  T operator[](int64_t i) const { return data[i * step]; }
};

// ---- The distributions

using Check = bool (*)(double a, double b, double c);
struct Distribution {
  const char* name;
  size_t parameters;
  double (*real)(Draw&, double, double, double);    // or
  int64_t (*whole)(Draw&, double, double, double);  // of i64
  float (*single)(Draw&, BitStream&, float);        // null if there is none of f32
  Check valid;
  const char* domain;  // what `valid` asks
};
#define CHECK(expression) \
  [](double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> bool { return std::isfinite(a) && (expression); }
#define REAL(expression) \
  [](Draw& d, [[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { return expression; }, nullptr
#define WHOLE(expression) \
  nullptr, [](Draw& d, [[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> int64_t { return expression; }
#define SINGLE(expression) [](Draw& d, BitStream&, [[maybe_unused]] float a) -> float { return expression; }
constexpr Check kNotNegative = CHECK(a >= 0), kPositive = CHECK(a > 0), kScale = CHECK(b >= 0), kBothPositive = CHECK(a > 0 && b > 0);
constexpr double kMostCount = 1e9;  // of hypergeometric numbers, as NumPy has it
int64_t whole(double x) { return static_cast<int64_t>(x); }
constexpr Distribution kDistributions[] = {
    {"random", 0, REAL(d.uniform()), [](Draw&, BitStream& s, float) { return s.next_float(); }, nullptr, ""},
    {"uniform", 2, REAL(a + b * d.uniform()), nullptr, CHECK(b >= a && std::isfinite(b - a)), "low <= high"},
    {"standard_normal", 0, REAL(d.standard_normal()), SINGLE(d.standard_normal_f32()), nullptr, ""},
    {"normal", 2, REAL(a + b * d.standard_normal()), nullptr, kScale, "scale >= 0"},
    {"lognormal", 2, REAL(std::exp(a + b * d.standard_normal())), nullptr, kScale, "sigma >= 0"},
    {"standard_exponential", 0, REAL(d.standard_exponential()), SINGLE(d.standard_exponential_f32()), nullptr, ""},
    {"standard_exponential_inverse", 0, REAL(d.standard_exponential_inverse()), SINGLE(d.standard_exponential_inverse_f32()), nullptr, ""},
    {"exponential", 1, REAL(a* d.standard_exponential()), nullptr, kNotNegative, "scale >= 0"},
    {"standard_gamma", 1, REAL(d.standard_gamma(a)), SINGLE(d.standard_gamma_f32(a)), kNotNegative, "shape >= 0"},
    {"gamma", 2, REAL(b* d.standard_gamma(a)), nullptr, CHECK(a >= 0 && b >= 0), "shape >= 0 and scale >= 0"},
    {"beta", 2, REAL(d.beta(a, b)), nullptr, kBothPositive, "a > 0 and b > 0"},
    {"chisquare", 1, REAL(d.chisquare(a)), nullptr, kPositive, "df > 0"},
    {"noncentral_chisquare", 2, REAL(d.noncentral_chisquare(a, b)), nullptr, CHECK(a > 0 && b >= 0), "df > 0 and nonc >= 0"},
    {"f", 2, REAL(d.f(a, b)), nullptr, kBothPositive, "dfnum > 0 and dfden > 0"},
    {"noncentral_f", 3, REAL(d.noncentral_f(a, b, c)), nullptr, CHECK(a > 0 && b > 0 && c >= 0), "dfnum > 0, dfden > 0 and nonc >= 0"},
    {"standard_t", 1, REAL(d.standard_t(a)), nullptr, kPositive, "df > 0"},
    {"standard_cauchy", 0, REAL(d.standard_cauchy()), nullptr, nullptr, ""},
    {"pareto", 1, REAL(d.pareto(a)), nullptr, kPositive, "a > 0"},
    {"weibull", 1, REAL(d.weibull(a)), nullptr, kNotNegative, "a >= 0"},
    {"power", 1, REAL(d.power(a)), nullptr, kPositive, "a > 0"},
    {"laplace", 2, REAL(d.laplace(a, b)), nullptr, kScale, "scale >= 0"},
    {"gumbel", 2, REAL(d.gumbel(a, b)), nullptr, kScale, "scale >= 0"},
    {"logistic", 2, REAL(d.logistic(a, b)), nullptr, kScale, "scale >= 0"},
    {"rayleigh", 1, REAL(d.rayleigh(a)), nullptr, kNotNegative, "scale >= 0"},
    {"wald", 2, REAL(d.wald(a, b)), nullptr, kBothPositive, "mean > 0 and scale > 0"},
    {"triangular", 3, REAL(d.triangular(a, b, c)), nullptr, CHECK(a <= b && b <= c && a < c), "left <= mode <= right and left < right"},
    {"vonmises", 2, REAL(d.vonmises(a, b)), nullptr, kScale, "kappa >= 0"},
    {"binomial", 2, WHOLE(d.binomial(b, whole(a))), nullptr, CHECK(a >= 0 && a < 0x1p63 && b >= 0 && b <= 1), "n >= 0 and 0 <= p <= 1"},
    {"poisson", 1, WHOLE(d.poisson(a)), nullptr, CHECK(a >= 0 && a <= 9.223372006484771e18), "0 <= lam <= 9.22e18"},
    {"negative_binomial", 2, WHOLE(d.negative_binomial(a, b)), nullptr, CHECK(a > 0 && b > 0 && b <= 1), "n > 0 and 0 < p <= 1"},
    {"geometric", 1, WHOLE(d.geometric(a)), nullptr, CHECK(a > 0 && a <= 1), "0 < p <= 1"},
    {"logseries", 1, WHOLE(d.logseries(a)), nullptr, CHECK(a >= 0 && a < 1), "0 <= p < 1"},
    {"zipf", 1, WHOLE(d.zipf(a)), nullptr, CHECK(a > 1), "a > 1"},
    {"hypergeometric", 3, WHOLE(d.hypergeometric(whole(a), whole(b), whole(c))), nullptr,
     CHECK(a >= 0 && a < kMostCount && b >= 0 && b < kMostCount && c >= 0 && c <= a + b),
     "0 <= ngood, nbad < 1e9 and nsample <= ngood + nbad"},
};
#undef CHECK
#undef REAL
#undef WHOLE
#undef SINGLE

const Distribution& distribution_of(std::string_view name) {
  for (const Distribution& row : kDistributions)
    if (name == row.name) return row;
  throw InvalidArgument("there is no distribution \"{}\"", name);
}

}  // namespace

void check_parameters(std::string_view distribution, std::span<double> parameters) {
  const Distribution& row = distribution_of(distribution);
  if (parameters.size() != row.parameters)
    throw InvalidArgument("{} takes {} parameters, not {}", distribution, row.parameters, parameters.size());
  const auto at = [&](size_t k) { return k < parameters.size() ? parameters[k] : 0.0; };
  if (row.valid && !row.valid(at(0), at(1), at(2))) throw InvalidArgument("the parameters of {} must satisfy {}", distribution, row.domain);
  if (distribution == "uniform") parameters[1] -= parameters[0];
}

Tensor draw(BitStream& bits, std::string_view distribution, const Shape& shape, std::span<const TensorView> given, bool single) {
  const Distribution& row = distribution_of(distribution);
  if (given.size() != row.parameters) throw InvalidArgument("{} takes {} parameters, not {}", distribution, row.parameters, given.size());
  if (single && !row.single) throw InvalidArgument("{} has no numbers of f32", distribution);
  const int64_t n = shape.elements();
  std::vector<Parameter<double>> parameters;
  for (const TensorView& x : given) parameters.emplace_back(x, DType::f64, n);
  const auto at = [&](size_t k, int64_t i) { return k < parameters.size() ? parameters[k][i] : 0.0; };
  Tensor y(single ? DType::f32 : row.whole ? DType::i64 : DType::f64, shape);
  Draw from(bits);
  const auto fill = [&](auto* to, auto&& one) {
    for (int64_t i = 0; i < n; ++i) to[i] = one(i);
  };
  const MutableTensorView out = y.writable();
  if (single)
    fill(out.data<float>(), [&, draw = row.single](int64_t i) { return draw(from, bits, static_cast<float>(at(0, i))); });
  else if (row.whole)
    fill(out.data<int64_t>(), [&, draw = row.whole](int64_t i) { return draw(from, at(0, i), at(1, i), at(2, i)); });
  else
    fill(out.data<double>(), [&, draw = row.real](int64_t i) { return draw(from, at(0, i), at(1, i), at(2, i)); });
  return y;
}

Tensor integers(BitStream& bits, DType dtype, const Shape& shape, const TensorView& lows, const TensorView& ranges) {
  if (!is_integer(dtype) && dtype != DType::boolean) throw InvalidArgument("random integers are of an integer type or bool, not {}", dtype);
  const int64_t n = shape.elements();
  const Parameter<int64_t> low(lows, DType::i64, n), range(ranges, DType::i64, n);
  Tensor y(dtype, shape);
  std::vector<int64_t> values(static_cast<size_t>(n));
  Draw from(bits);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t most = static_cast<uint64_t>(range[i]);
    uint64_t value = 0;
    if (dtype == DType::boolean)
      value = from.bounded1(most != 0);
    else if (size_of(dtype) == 1)
      value = from.bounded8(static_cast<uint8_t>(most));
    else if (size_of(dtype) == 2)
      value = from.bounded16(static_cast<uint16_t>(most));
    else if (size_of(dtype) == 4)
      value = from.bounded32(static_cast<uint32_t>(most));
    else
      value = from.bounded64(most);
    values[static_cast<size_t>(i)] = static_cast<int64_t>(static_cast<uint64_t>(low[i]) + value);
  }
  narrow(dtype, values.data(), values.size(), y.writable().data());
  return y;
}

Tensor masked_integers(BitStream& bits, const Shape& shape, int64_t low, uint64_t range) {
  Tensor y(DType::i64, shape);
  int64_t* to = y.writable().data<int64_t>();
  Draw from(bits);
  for (int64_t i = 0; i < y.elements(); ++i) to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + from.masked(range));
  return y;
}

Tensor shuffled(BitStream& bits, int64_t n, int64_t first, bool lemire) {
  Tensor y(DType::i64, {n});
  int64_t* to = y.writable().data<int64_t>();
  std::iota(to, to + n, int64_t{0});
  Draw from(bits);
  for (int64_t i = n - 1; i >= first; --i) {
    const uint64_t j = lemire ? from.bounded64(static_cast<uint64_t>(i)) : from.masked(static_cast<uint64_t>(i));
    std::swap(to[i], to[j]);
  }
  return y;
}

Tensor different(BitStream& bits, int64_t n, int64_t count, bool shuffle) {
  Tensor y(DType::i64, {count});
  int64_t* to = y.writable().data<int64_t>();
  std::unordered_set<int64_t> seen;
  Draw from(bits);
  for (int64_t j = n - count; j < n; ++j) {
    int64_t value = static_cast<int64_t>(from.bounded64(static_cast<uint64_t>(j)));
    if (!seen.insert(value).second) value = j, seen.insert(j);
    to[j - n + count] = value;
  }
  if (shuffle)
    for (int64_t i = count - 1; i >= 1; --i) std::swap(to[i], to[from.bounded64(static_cast<uint64_t>(i))]);
  return y;
}

Tensor multinomial(BitStream& bits, const TensorView& trials, const TensorView& chances, const Shape& shape) {
  if (shape.rank() == 0 || chances.rank() == 0 || chances.shape().back() != shape.back())
    throw InvalidArgument("multinomial: chances {} do not fit results {}", chances.shape(), shape);
  Tensor y(DType::i64, shape);
  int64_t* to = y.writable().data<int64_t>();
  const int64_t k = shape.back(), rows = k ? y.elements() / k : 0;
  const Parameter<int64_t> n(trials, DType::i64, rows);
  const bool one = chances.elements() == k;
  const Parameter<double> p(chances, DType::f64, one ? k : y.elements());
  Draw from(bits);
  for (int64_t r = 0; r < rows; ++r) {
    const double* chance = p.data + (one ? 0 : r * k);
    double rest = 1;
    int64_t left = n[r];
    for (int64_t j = 0; j + 1 < k && left > 0; ++j) {
      const int64_t hits = from.binomial(chance[j] / rest, left);
      to[r * k + j] = hits;
      left -= hits;
      rest -= chance[j];
    }
    if (left > 0) to[r * k + k - 1] = left;
  }
  return y;
}

Tensor raw(BitStream& bits, const Shape& shape) {
  Tensor y(DType::u64, shape);
  uint64_t* to = y.writable().data<uint64_t>();
  for (int64_t i = 0; i < y.elements(); ++i) to[i] = bits.next64();
  return y;
}

Tensor gauss(Mt19937& bits, const Shape& shape) {
  Tensor y(DType::f64, shape);
  double* to = y.writable().data<double>();
  for (int64_t i = 0; i < y.elements(); ++i) to[i] = bits.next_gauss();
  return y;
}

}  // namespace minnow::numerics
