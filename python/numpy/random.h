// SPDX-License-Identifier: Apache-2.0
// Random numbers with the streams of NumPy's Generator: PCG64 (O'Neill 2014, HMC-CS-2014-0905, XSL-RR 128/64) seeded by a hash of the seed
// (O'Neill 2015, "Developing a seed_seq alternative"), and the distributions that NumPy draws from it.
//
// Threads: a stream belongs to one thread at a time.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace minnow::numpy {

/// Spreads any number of 32-bit words of a seed over a pool of four or more.
class SeedSequence {
 public:
  SeedSequence(std::span<const uint32_t> entropy, size_t pool_size);
  /// `count` words that look independent of each other and of those of other seeds.
  std::vector<uint32_t> generate(size_t count) const;
  const std::vector<uint32_t>& pool() const noexcept { return pool_; }

 private:
  std::vector<uint32_t> pool_;
};

/// A stream of random bits.
class BitStream {
 public:
  virtual ~BitStream() = default;
  virtual uint64_t next64() = 0;
  virtual uint32_t next32() = 0;
  /// [0, 1), 53 bits.
  virtual double next_double() { return static_cast<double>(next64() >> 11) * 0x1p-53; }
  /// [0, 1), 24 bits.
  float next_float() { return static_cast<float>(next32() >> 8) * 0x1p-24f; }
};

class Pcg64 final : public BitStream {
 public:
  __extension__ using Wide = unsigned __int128;
  Wide state = 0, increment = 1;
  bool has_half = false;  // of a 64-bit number that next32() split
  uint32_t half = 0;

  /// Words 0, 1 are the state's high and low half, words 2, 3 the stream's.
  void seed(const std::array<uint64_t, 4>& words);
  void advance(Wide steps);
  uint64_t next64() override;
  uint32_t next32() override;
};

/// Matsumoto, Nishimura 1998, "Mersenne twister".
class Mt19937 final : public BitStream {
 public:
  std::array<uint32_t, 624> key{};
  int position = 624;
  bool has_gauss = false;  // of the pair that the polar method makes
  double gauss = 0;

  void seed(uint32_t seed);
  void seed(std::span<const uint32_t> words);
  uint64_t next64() override;
  uint32_t next32() override;
  double next_double() override;
  /// The polar method, as RandomState draws.
  double next_gauss();
};

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

}  // namespace minnow::numpy
