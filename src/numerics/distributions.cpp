// SPDX-License-Identifier: Apache-2.0
#include "numerics/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace minnow::numerics {
namespace {

constexpr double kPi = std::numbers::pi;

// ---- The ziggurat: 256 layers of equal area under a falling density (Marsaglia, Tsang 2000, "The ziggurat method for generating random
// variables"). Draws are multiples of a layer's width, so that streams are equal to the last bit where the tables are: widths of normal
// draws are those of a recurrence in double, the exponential's are rounded once.

template <class Integer, class Real>
struct Ziggurat {
  std::array<Integer, 256> inside;  // below: the draw lies under the curve
  std::array<Real, 256> width;      // of a layer for each step of the draw
  std::array<Real, 256> height;     // of the curve

  /// `edge`: where the last layer ends, `foot`: the density there; `area` of each layer; `steps`: how many values a draw has.
  /// layer(i, rise, above): how far layer i reaches, whose density is `rise` above that of the layer outside; `above` becomes its density.
  template <class Work, class Layer>
  Ziggurat(Work edge, Work foot, Work area, Work steps, Layer layer) {
    Work outer = edge, above = foot;
    inside[0] = static_cast<Integer>(std::llround(edge * above / area * steps));
    inside[1] = 0;
    width[0] = static_cast<Real>(area / above / steps), width[255] = static_cast<Real>(edge / steps);
    height[0] = 1, height[255] = static_cast<Real>(above);
    for (size_t i = 254; i >= 1; --i) {
      const Work x = layer(i, area / outer, above);
      inside[i + 1] = static_cast<Integer>(std::llround(x / outer * steps));
      outer = x;
      height[i] = static_cast<Real>(above), width[i] = static_cast<Real>(x / steps);
    }
  }
};

constexpr double kNormalEdge = 3.6541528853610088;
constexpr long double kExponentialEdge = 7.6971174701310497140446280481L;

template <class Integer, class Real>
const Ziggurat<Integer, Real>& normal_layers(double steps) {
  static constexpr double kArea = 0.004928673233974652;
  static const auto density = [](double x) { return std::exp(-0.5 * x * x); };
  static const Ziggurat<Integer, Real> kLayers(kNormalEdge, density(kNormalEdge), kArea, steps, [](size_t i, double rise, double& above) {
    const double x = std::sqrt(-2 * std::log(rise + above));
    above = density(x);
    // The exponential function that the streams come from was off by 0.6 units in the last place here, and all layers further in show it.
    if (i == 38) above = std::nextafter(above, 1.0);
    return x;
  });
  return kLayers;
}

template <class Integer, class Real>
const Ziggurat<Integer, Real>& exponential_layers(long double steps) {
  static const auto kLayers = [&] {
    const long double foot = std::exp(-kExponentialEdge);
    long double lost = 0;
    Ziggurat<Integer, Real> made(kExponentialEdge, foot, (kExponentialEdge + 1) * foot, steps,
                                 [&](size_t, long double rise, long double& above) {
                                   const long double part = rise - lost, sum = above + part;  // Kahan's: small layers count in full
                                   lost = (sum - above) - part;
                                   above = sum;
                                   return -std::log(sum);
                                 });
    // Nearly half way between two floats: the one above, as from a text of nine digits.
    if (sizeof(Real) == 4) made.width[226] = std::nextafter(made.width[226], Real{1});
    return made;
  }();
  return kLayers;
}

// ln Gamma(x), by Stirling's series above 7 (Abramowitz, Stegun 6.1.41).
double log_gamma(double x) {
  static constexpr double kSeries[] = {8.333333333333333e-02, -2.777777777777778e-03, 7.936507936507937e-04, -5.952380952380952e-04,
                                       8.417508417508418e-04, -1.917526917526918e-03, 6.410256410256410e-03, -2.955065359477124e-02,
                                       1.796443723688307e-01, -1.39243221690590e+00};
  if (x == 1 || x == 2) return 0;
  const int64_t below = x < 7 ? static_cast<int64_t>(7 - x) : 0;
  double shifted = x + static_cast<double>(below);
  const double squared = 1 / shifted * (1 / shifted);
  double sum = kSeries[9];
  for (int k = 8; k >= 0; --k) sum = sum * squared + kSeries[k];
  double result = sum / shifted + 0.5 * std::log(2 * kPi) + (shifted - 0.5) * std::log(shifted) - shifted;
  for (int64_t k = 0; k < below; ++k) {
    result -= std::log(shifted - 1);
    shifted -= 1;
  }
  return result;
}

double log_factorial(int64_t k) { return std::lgamma(static_cast<double>(k) + 1); }

}  // namespace

// ---- Continuous distributions.

double Draw::standard_normal() {
  static const auto& layers = normal_layers<uint64_t, double>(0x1p52);
  constexpr double kEdge = kNormalEdge;
  for (;;) {
    uint64_t bits = bits_.next64();
    const size_t layer = bits & 0xff;
    bits >>= 8;
    const uint64_t steps = bits >> 1 & 0x000fffffffffffffu;
    double x = static_cast<double>(steps) * layers.width[layer];
    if (bits & 1) x = -x;
    if (steps < layers.inside[layer]) return x;
    if (layer == 0) {
      for (;;) {
        const double far = -1 / kEdge * std::log1p(-uniform()), y = -std::log1p(-uniform());
        if (y + y > far * far) return steps >> 8 & 1 ? -(kEdge + far) : kEdge + far;
      }
    }
    if ((layers.height[layer - 1] - layers.height[layer]) * uniform() + layers.height[layer] < std::exp(-0.5 * x * x)) return x;
  }
}

float Draw::standard_normal_f32() {
  static const auto& layers = normal_layers<uint32_t, float>(0x1p23);
  constexpr float kEdge = static_cast<float>(kNormalEdge);
  for (;;) {
    const uint32_t bits = bits_.next32();
    const size_t layer = bits & 0xff;
    const uint32_t steps = bits >> 9 & 0x007fffffu;
    float x = static_cast<float>(steps) * layers.width[layer];
    if (bits >> 8 & 1) x = -x;
    if (steps < layers.inside[layer]) return x;
    if (layer == 0) {
      for (;;) {
        const float far = -1 / kEdge * std::log1p(-bits_.next_float()), y = -std::log1p(-bits_.next_float());
        if (y + y > far * far) return steps >> 8 & 1 ? -(kEdge + far) : kEdge + far;
      }
    }
    if ((layers.height[layer - 1] - layers.height[layer]) * bits_.next_float() + layers.height[layer] < std::exp(-0.5 * x * x)) return x;
  }
}

double Draw::standard_exponential() {
  static const auto& layers = exponential_layers<uint64_t, double>(0x1p53);
  for (;;) {
    uint64_t bits = bits_.next64() >> 3;
    const size_t layer = bits & 0xff;
    bits >>= 8;
    const double x = static_cast<double>(bits) * layers.width[layer];
    if (bits < layers.inside[layer]) return x;
    if (layer == 0) return static_cast<double>(kExponentialEdge) - std::log1p(-uniform());
    if ((layers.height[layer - 1] - layers.height[layer]) * uniform() + layers.height[layer] < std::exp(-x)) return x;
  }
}
double Draw::standard_exponential_inverse() { return -std::log1p(-uniform()); }
float Draw::standard_exponential_inverse_f32() { return -std::log1p(-bits_.next_float()); }

float Draw::standard_exponential_f32() {
  static const auto& layers = exponential_layers<uint32_t, float>(0x1p23);
  for (;;) {
    uint32_t bits = bits_.next32() >> 1;
    const size_t layer = bits & 0xff;
    bits >>= 8;
    const float x = static_cast<float>(bits) * layers.width[layer];
    if (bits < layers.inside[layer]) return x;
    if (layer == 0) return static_cast<float>(kExponentialEdge) - std::log1p(-bits_.next_float());
    if ((layers.height[layer - 1] - layers.height[layer]) * bits_.next_float() + layers.height[layer] < std::exp(-x)) return x;
  }
}

// Marsaglia, Tsang 2000, "A simple method for generating gamma variables"; below 1: Ahrens, Dieter 1974.
double Draw::standard_gamma(double shape) {
  if (shape == 1) return standard_exponential();
  if (shape == 0) return 0;
  if (shape < 1) {
    for (;;) {
      const double u = uniform(), v = standard_exponential();
      if (u <= 1 - shape) {
        const double x = std::pow(u, 1 / shape);
        if (x <= v) return x;
      } else {
        const double y = -std::log((1 - u) / shape), x = std::pow(1 - shape + shape * y, 1 / shape);
        if (x <= v + y) return x;
      }
    }
  }
  const double b = shape - 1. / 3, c = 1 / std::sqrt(9 * b);
  for (;;) {
    double x, v;
    do {
      x = standard_normal();
      v = 1 + c * x;
    } while (v <= 0);
    v = v * v * v;
    const double u = uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x)) return b * v;
    if (std::log(u) < 0.5 * x * x + b * (1 - v + std::log(v))) return b * v;
  }
}

float Draw::standard_gamma_f32(float shape) {
  if (shape == 1) return standard_exponential_f32();
  if (shape == 0) return 0;
  if (shape < 1) {
    for (;;) {
      const float u = bits_.next_float(), v = standard_exponential_f32();
      if (u <= 1 - shape) {
        const float x = std::pow(u, 1 / shape);
        if (x <= v) return x;
      } else {
        const float y = -std::log((1 - u) / shape), x = std::pow(1 - shape + shape * y, 1 / shape);
        if (x <= v + y) return x;
      }
    }
  }
  const float b = shape - 1.f / 3, c = 1 / std::sqrt(9 * b);
  for (;;) {
    float x, v;
    do {
      x = standard_normal_f32();
      v = 1 + c * x;
    } while (v <= 0);
    v = v * v * v;
    const float u = bits_.next_float();
    if (u < 1 - 0.0331f * (x * x) * (x * x)) return b * v;
    if (std::log(u) < 0.5f * x * x + b * (1 - v + std::log(v))) return b * v;
  }
}

// Johnk 1964 for small parameters.
double Draw::beta(double a, double b) {
  if (a <= 1 && b <= 1) {
    if (a < 3e-103 && b < 3e-103) return (a + b) * uniform() < a ? 1 : 0;
    for (;;) {
      const double u = uniform(), v = uniform(), x = std::pow(u, 1 / a), y = std::pow(v, 1 / b), sum = x + y;
      if (sum > 1 || u + v <= 0) continue;
      if (x > 0 && y > 0) return x / sum;
      double log_x = std::log(u) / a, log_y = std::log(v) / b;
      const double larger = std::max(log_x, log_y);
      log_x -= larger, log_y -= larger;
      return std::exp(log_x - std::log(std::exp(log_x) + std::exp(log_y)));
    }
  }
  const double first = standard_gamma(a), second = standard_gamma(b);
  return first / (first + second);
}

double Draw::noncentral_chisquare(double df, double nonc) {
  if (std::isnan(nonc)) return nonc;
  if (nonc == 0) return chisquare(df);
  if (df > 1) {
    const double central = chisquare(df - 1), n = standard_normal() + std::sqrt(nonc);
    return central + n * n;
  }
  const int64_t i = poisson(nonc / 2);
  return chisquare(df + 2 * static_cast<double>(i));
}
double Draw::f(double dfnum, double dfden) {
  const double over = chisquare(dfnum) * dfden, under = chisquare(dfden) * dfnum;
  return over / under;
}
double Draw::noncentral_f(double dfnum, double dfden, double nonc) {
  const double over = noncentral_chisquare(dfnum, nonc) * dfden;
  return over / (chisquare(dfden) * dfnum);
}
double Draw::standard_t(double df) {
  const double over = standard_normal(), under = standard_gamma(df / 2);
  return std::sqrt(df / 2) * over / std::sqrt(under);
}
double Draw::standard_cauchy() {
  const double over = standard_normal();
  return over / standard_normal();
}
double Draw::pareto(double a) { return std::expm1(standard_exponential() / a); }
double Draw::weibull(double a) { return a == 0 ? 0 : std::pow(standard_exponential(), 1 / a); }
double Draw::power(double a) { return std::pow(-std::expm1(-standard_exponential()), 1 / a); }
double Draw::laplace(double loc, double scale) {
  for (;;) {
    const double u = uniform();
    if (u >= 0.5) return loc - scale * std::log(2 - u - u);
    if (u > 0) return loc + scale * std::log(u + u);
  }
}
double Draw::gumbel(double loc, double scale) {
  for (;;) {
    const double u = 1 - uniform();
    if (u < 1) return loc - scale * std::log(-std::log(u));
  }
}
double Draw::logistic(double loc, double scale) {
  for (;;) {
    const double u = uniform();
    if (u > 0) return loc + scale * std::log(u / (1 - u));
  }
}
double Draw::rayleigh(double scale) { return scale * std::sqrt(2 * standard_exponential()); }

// Michael, Schucany, Haas 1976.
double Draw::wald(double mean, double scale) {
  const double normal = standard_normal(), y = mean * normal * normal;
  const double d = 1 + std::sqrt(1 + 4 * scale / y);
  const double x = mean * (1 - 2 / d);
  const double u = uniform();
  return u <= mean / (mean + x) ? x : mean * mean / x;
}

double Draw::triangular(double left, double mode, double right) {
  const double base = right - left, u = uniform();
  if (u <= (mode - left) / base) return left + std::sqrt(u * ((mode - left) * base));
  return right - std::sqrt((1 - u) * ((right - mode) * base));
}

// Best, Fisher 1979, "Efficient simulation of the von Mises distribution"; uniform for tiny kappa, a wrapped normal for huge ones.
double Draw::vonmises(double mu, double kappa) {
  if (std::isnan(kappa)) return kappa;
  if (kappa < 1e-8) return kPi * (2 * uniform() - 1);
  double s;
  if (kappa < 1e-5) {
    s = 1 / kappa + kappa;
  } else {
    if (kappa > 1e6) {
      double result = mu + std::sqrt(1 / kappa) * standard_normal();
      if (result < -kPi) result += 2 * kPi;
      if (result > kPi) result -= 2 * kPi;
      return result;
    }
    const double r = 1 + std::sqrt(1 + 4 * kappa * kappa), rho = (r - std::sqrt(2 * r)) / (2 * kappa);
    s = (1 + rho * rho) / (2 * rho);
  }
  double w;
  for (;;) {
    const double z = std::cos(kPi * uniform());
    w = (1 + s * z) / (s + z);
    const double y = kappa * (s - w), v = uniform();
    if (y * (2 - y) - v >= 0 || std::log(y / v) + 1 - y >= 0) break;
  }
  double result = std::acos(w);
  if (uniform() < 0.5) result = -result;
  result += mu;
  const bool negative = result < 0;
  double size = std::fabs(result);
  size = std::fmod(size + kPi, 2 * kPi) - kPi;
  return negative ? -size : size;
}

// ---- Discrete distributions.

int64_t Draw::binomial_inversion(double p, int64_t n) {
  const double q = 1 - p, count = static_cast<double>(n), start = std::exp(count * std::log1p(-p)), mean = count * p;
  const int64_t bound = static_cast<int64_t>(std::min(count, mean + 10 * std::sqrt(mean * q + 1)));
  int64_t x = 0;
  double chance = start, u = uniform();
  while (u > chance) {
    if (++x > bound) {
      x = 0, chance = start, u = uniform();
    } else {
      u -= chance;
      chance = (static_cast<double>(n - x + 1) * p * chance) / (static_cast<double>(x) * q);
    }
  }
  return x;
}

// Kachitvichyanukul, Schmeiser 1988, "Binomial random variate generation": a triangle, two parallelograms and two exponential tails.
int64_t Draw::binomial_btpe(double p, int64_t n) {
  const double count = static_cast<double>(n), r = std::min(p, 1 - p), q = 1 - r, fm = count * r + r;
  const int64_t m = static_cast<int64_t>(std::floor(fm));
  const double mode = static_cast<double>(m);
  const double p1 = std::floor(2.195 * std::sqrt(count * r * q) - 4.6 * q) + 0.5, xm = mode + 0.5, xl = xm - p1, xr = xm + p1;
  const double c = 0.134 + 20.5 / (15.3 + mode);
  double a = (fm - xl) / (fm - xl * r);
  const double left_rate = a * (1 + a / 2);
  a = (xr - fm) / (xr * q);
  const double right_rate = a * (1 + a / 2);
  const double p2 = p1 * (1 + 2 * c), p3 = p2 + c / left_rate, p4 = p3 + c / right_rate;
  const double spread = count * r * q;
  for (;;) {
    const double u = uniform() * p4;
    double v = uniform();
    int64_t y;
    if (u <= p1) {  // the triangle: always taken
      y = static_cast<int64_t>(std::floor(xm - p1 * v + u));
    } else {
      if (u <= p2) {
        const double x = xl + (u - p1) / c;
        v = v * c + 1 - std::fabs(mode - x + 0.5) / p1;
        if (v > 1) continue;
        y = static_cast<int64_t>(std::floor(x));
      } else if (u <= p3) {
        y = static_cast<int64_t>(std::floor(xl + std::log(v) / left_rate));
        if (y < 0 || v == 0) continue;
        v = v * (u - p2) * left_rate;
      } else {
        y = static_cast<int64_t>(std::floor(xr - std::log(v) / right_rate));
        if (y > n || v == 0) continue;
        v = v * (u - p3) * right_rate;
      }
      const int64_t k = std::abs(y - m);
      if (k > 20 && static_cast<double>(k) < spread / 2 - 1) {
        const double steps = static_cast<double>(k);
        const double rho = (steps / spread) * ((steps * (steps / 3 + 0.625) + 0.16666666666666666) / spread + 0.5);
        const double t = -steps * steps / (2 * spread), log_v = std::log(v);
        if (log_v > t + rho) continue;
        if (log_v >= t - rho) {
          const double x1 = static_cast<double>(y + 1), f1 = mode + 1, z = count + 1 - mode, w = static_cast<double>(n - y + 1);
          const double x2 = x1 * x1, f2 = f1 * f1, z2 = z * z, w2 = w * w;
          const auto tail = [](double s) { return 13680. - (462. - (132. - (99. - 140. / s) / s) / s) / s; };
          if (log_v > xm * std::log(f1 / x1) + (static_cast<double>(n - m) + 0.5) * std::log(z / w) +
                          static_cast<double>(y - m) * std::log(w * r / (x1 * q)) + tail(f2) / f1 / 166320. + tail(z2) / z / 166320. +
                          tail(x2) / x1 / 166320. + tail(w2) / w / 166320.)
            continue;
        }
      } else {
        const double s = r / q, ratio = s * (count + 1);
        double f = 1;
        for (int64_t i = m + 1; i <= y; ++i) f *= ratio / static_cast<double>(i) - s;
        for (int64_t i = y + 1; i <= m; ++i) f /= ratio / static_cast<double>(i) - s;
        if (v > f) continue;
      }
    }
    return p > 0.5 ? n - y : y;
  }
}

int64_t Draw::binomial(double p, int64_t n) {
  if (n == 0 || p == 0) return 0;
  if (p <= 0.5) return p * static_cast<double>(n) <= 30 ? binomial_inversion(p, n) : binomial_btpe(p, n);
  const double q = 1 - p;
  return q * static_cast<double>(n) <= 30 ? n - binomial_inversion(q, n) : binomial_btpe(p, n);
}

// Products of uniform numbers, or the transformed rejection of Hormann 1993.
int64_t Draw::poisson(double lam) {
  if (lam < 10) {
    if (lam == 0) return 0;
    const double limit = std::exp(-lam);
    double product = 1;
    for (int64_t x = 0;; ++x) {
      product *= uniform();
      if (product <= limit) return x;
    }
  }
  const double log_lam = std::log(lam), b = 0.931 + 2.53 * std::sqrt(lam), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = uniform() - 0.5, v = uniform(), us = 0.5 - std::fabs(u);
    const int64_t k = static_cast<int64_t>(std::floor((2 * a / us + b) * u + lam + 0.43));
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -lam + static_cast<double>(k) * log_lam - log_gamma(static_cast<double>(k) + 1))
      return k;
  }
}

int64_t Draw::negative_binomial(double n, double p) { return poisson((1 - p) / p * standard_gamma(n)); }

int64_t Draw::geometric(double p) {
  if (p >= 0.333333333333333333333333) {
    double sum = p, product = p;
    const double q = 1 - p, u = uniform();
    int64_t x = 1;
    while (u > sum) {
      product *= q;
      sum += product;
      ++x;
    }
    return x;
  }
  const double z = std::ceil(-standard_exponential() / std::log1p(-p));
  return z >= 9.223372036854776e18 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(z);
}

// Kemp 1981, "Efficient generation of logarithmically distributed pseudo-random variables".
int64_t Draw::logseries(double p) {
  const double r = std::log1p(-p);
  for (;;) {
    const double v = uniform();
    if (v >= p) return 1;
    const double q = -std::expm1(r * uniform());
    if (v <= q * q) {
      const int64_t result = static_cast<int64_t>(std::floor(1 + std::log(v) / std::log(q)));
      if (result < 1 || v == 0) continue;
      return result;
    }
    return v >= q ? 1 : 2;
  }
}

// Devroye 1986, "Non-uniform random variate generation", chapter X.6.
int64_t Draw::zipf(double a) {
  if (a >= 1025) return 1;
  constexpr double kMost = static_cast<double>(std::numeric_limits<int64_t>::max());
  const double b = std::pow(2, a - 1), least = std::pow(kMost, -(a - 1));
  for (;;) {
    const double u01 = uniform(), u = u01 * least + (1 - u01), v = uniform();
    const double x = std::floor(std::pow(u, -1 / (a - 1)));
    if (x > kMost || x < 1) continue;
    const double t = std::pow(1 + 1 / x, a - 1);
    if (v * x * (t - 1) / (b - 1) <= t / b) return static_cast<int64_t>(x);
  }
}

int64_t Draw::hypergeometric_sample(int64_t good, int64_t bad, int64_t sample) {
  const int64_t total = good + bad;
  int64_t computed = sample > total / 2 ? total - sample : sample, remaining_total = total, remaining_good = good;
  while (computed > 0 && remaining_good > 0 && remaining_total > remaining_good) {
    --remaining_total;
    if (static_cast<int64_t>(masked(static_cast<uint64_t>(remaining_total))) < remaining_good) --remaining_good;
    --computed;
  }
  if (remaining_total == remaining_good) remaining_good -= computed;
  return sample > total / 2 ? remaining_good : good - remaining_good;
}

// Stadlober 1990, "The ratio of uniforms approach for generating discrete random variates".
int64_t Draw::hypergeometric_hrua(int64_t good, int64_t bad, int64_t sample) {
  constexpr double kD1 = 1.7155277699214135, kD2 = 0.8989161620588988;
  const int64_t total = good + bad, computed = std::min(sample, total - sample), few = std::min(good, bad), many = std::max(good, bad);
  const double share = static_cast<double>(few) / static_cast<double>(total),
               other = static_cast<double>(many) / static_cast<double>(total);
  const double mean = static_cast<double>(computed) * share, a = mean + 0.5;
  const double variance =
      static_cast<double>(total - computed) * static_cast<double>(computed) * share * other / (static_cast<double>(total) - 1);
  const double c = std::sqrt(variance + 0.5), h = kD1 * c + kD2;
  const int64_t m =
      static_cast<int64_t>(std::floor(static_cast<double>(computed + 1) * static_cast<double>(few + 1) / (static_cast<double>(total) + 2)));
  const auto terms = [&](int64_t k) {
    return log_factorial(k) + log_factorial(few - k) + log_factorial(computed - k) + log_factorial(many - computed + k);
  };
  const double g = terms(m), b = std::min(static_cast<double>(std::min(computed, few) + 1), std::floor(a + 16 * c));
  int64_t k;
  for (;;) {
    const double u = uniform(), v = uniform(), x = a + h * (v - 0.5) / u;
    if (x < 0 || x >= b) continue;
    k = static_cast<int64_t>(std::floor(x));
    const double t = g - terms(k);
    if (u * (4 - u) - 3 <= t) break;
    if (u * (u - t) >= 1) continue;
    if (2 * std::log(u) <= t) break;
  }
  if (good > bad) k = computed - k;
  if (computed < sample) k = good - k;
  return k;
}

int64_t Draw::hypergeometric(int64_t good, int64_t bad, int64_t sample) {
  return sample >= 10 && sample <= good + bad - 10 ? hypergeometric_hrua(good, bad, sample) : hypergeometric_sample(good, bad, sample);
}

// ---- Bounded integers.

uint32_t Draw::bounded32(uint32_t range) {
  if (range == 0) return 0;
  if (range == 0xffffffffu) return bits_.next32();
  const uint32_t count = range + 1;
  uint64_t product = static_cast<uint64_t>(bits_.next32()) * count;
  if (static_cast<uint32_t>(product) < count) {
    const uint32_t threshold = (0xffffffffu - range) % count;
    while (static_cast<uint32_t>(product) < threshold) product = static_cast<uint64_t>(bits_.next32()) * count;
  }
  return static_cast<uint32_t>(product >> 32);
}

uint64_t Draw::bounded64(uint64_t range) {
  if (range <= 0xffffffffu) return bounded32(static_cast<uint32_t>(range));
  if (range == ~uint64_t{0}) return bits_.next64();
  const uint64_t count = range + 1;
  Pcg64::Wide product = static_cast<Pcg64::Wide>(bits_.next64()) * count;
  if (static_cast<uint64_t>(product) < count) {
    const uint64_t threshold = (~uint64_t{0} - range) % count;
    while (static_cast<uint64_t>(product) < threshold) product = static_cast<Pcg64::Wide>(bits_.next64()) * count;
  }
  return static_cast<uint64_t>(product >> 64);
}

uint32_t Draw::part(int bits) {
  if (buffered_ == 0) {
    buffer_ = bits_.next32();
    buffered_ = 32 / bits - 1;
  } else {
    buffer_ >>= bits;
    --buffered_;
  }
  return buffer_ & ((1u << bits) - 1);
}

uint8_t Draw::bounded8(uint8_t range) {
  if (range == 0) return 0;
  if (range == 0xff) return static_cast<uint8_t>(part(8));
  const uint32_t count = range + 1u;
  uint32_t product = part(8) * count;
  if ((product & 0xff) < count) {
    const uint32_t threshold = (0xffu - range) % count;
    while ((product & 0xff) < threshold) product = part(8) * count;
  }
  return static_cast<uint8_t>(product >> 8);
}

uint16_t Draw::bounded16(uint16_t range) {
  if (range == 0) return 0;
  if (range == 0xffff) return static_cast<uint16_t>(part(16));
  const uint32_t count = range + 1u;
  uint32_t product = part(16) * count;
  if ((product & 0xffff) < count) {
    const uint32_t threshold = (0xffffu - range) % count;
    while ((product & 0xffff) < threshold) product = part(16) * count;
  }
  return static_cast<uint16_t>(product >> 16);
}

bool Draw::bounded1(bool range) { return range && part(1) != 0; }

uint64_t Draw::masked(uint64_t range) {
  if (range == 0) return 0;
  uint64_t mask = range;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  for (;;) {
    const uint64_t value = range <= 0xffffffffu ? bits_.next32() & mask : bits_.next64() & mask;
    if (value <= range) return value;
  }
}

}  // namespace minnow::numerics
