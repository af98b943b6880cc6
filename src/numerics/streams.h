// SPDX-License-Identifier: Apache-2.0
// Streams of random bits, equal to those of NumPy's bit generators: PCG64 (O'Neill 2014, HMC-CS-2014-0905, XSL-RR 128/64), seeded by a hash
// of the seed (O'Neill 2015, "Developing a seed_seq alternative"), and MT19937.
//
// Threads: a stream belongs to one thread at a time.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace minnow::numerics {

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

}  // namespace minnow::numerics
