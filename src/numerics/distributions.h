// SPDX-License-Identifier: Apache-2.0
// The distributions of NumPy's Generator, drawn from a stream with the same numbers to the last bit.
#pragma once
#include <cstdint>

#include "numerics/streams.h"

namespace minnow::numerics {

/// A stream with what NumPy's Generator draws from it. Parameters are not checked.
class Draw {
 public:
  explicit Draw(BitStream& bits) : bits_(bits) {}
  double uniform() { return bits_.next_double(); }
  double standard_normal();
  double standard_exponential();
  double standard_exponential_inverse();
  float standard_normal_f32();
  float standard_exponential_f32();
  float standard_exponential_inverse_f32();
  float standard_gamma_f32(float shape);
  double standard_gamma(double shape);
  double beta(double a, double b);
  double chisquare(double df) { return 2 * standard_gamma(df / 2); }
  double noncentral_chisquare(double df, double nonc);
  double f(double dfnum, double dfden);
  double noncentral_f(double dfnum, double dfden, double nonc);
  double standard_t(double df);
  double standard_cauchy();
  double pareto(double a);
  double weibull(double a);
  double power(double a);
  double laplace(double loc, double scale);
  double gumbel(double loc, double scale);
  double logistic(double loc, double scale);
  double rayleigh(double scale);
  double wald(double mean, double scale);
  double triangular(double left, double mode, double right);
  double vonmises(double mu, double kappa);
  int64_t binomial(double p, int64_t n);
  int64_t poisson(double lam);
  int64_t negative_binomial(double n, double p);
  int64_t geometric(double p);
  int64_t logseries(double p);
  int64_t zipf(double a);
  int64_t hypergeometric(int64_t good, int64_t bad, int64_t sample);

  /// 0 ... range, the bound included. Lemire 2019, "Fast random integer generation in an interval".
  uint64_t bounded64(uint64_t range);
  uint32_t bounded32(uint32_t range);
  /// The same of 8, 16 bits and of bool: several come out of one 32-bit number.
  uint8_t bounded8(uint8_t range);
  uint16_t bounded16(uint16_t range);
  bool bounded1(bool range);
  /// 0 ... range by rejecting masked bits, as shuffling draws.
  uint64_t masked(uint64_t range);

 private:
  uint32_t part(int bits);
  int64_t binomial_inversion(double p, int64_t n);
  int64_t binomial_btpe(double p, int64_t n);
  int64_t hypergeometric_sample(int64_t good, int64_t bad, int64_t sample);
  int64_t hypergeometric_hrua(int64_t good, int64_t bad, int64_t sample);

  BitStream& bits_;
  uint32_t buffer_ = 0;
  int buffered_ = 0;
};

}  // namespace minnow::numerics
