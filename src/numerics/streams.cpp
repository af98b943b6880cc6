// SPDX-License-Identifier: Apache-2.0
#include "numerics/streams.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace minnow::numerics {

// ---- Seeds.

SeedSequence::SeedSequence(std::span<const uint32_t> entropy, size_t pool_size) : pool_(pool_size) {
  uint32_t factor = 0x43b0d7e5u;
  const auto hash = [&](uint32_t word) {
    word ^= factor;
    factor *= 0x931e8875u;
    word *= factor;
    return word ^ (word >> 16);
  };
  const auto mix = [](uint32_t x, uint32_t y) {
    const uint32_t sum = 0xca01f9ddu * x - 0x4973f715u * y;
    return sum ^ (sum >> 16);
  };
  for (size_t i = 0; i < pool_size; ++i) pool_[i] = hash(i < entropy.size() ? entropy[i] : 0);
  for (size_t from = 0; from < pool_size; ++from)
    for (size_t to = 0; to < pool_size; ++to)
      if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from]));
  for (size_t from = pool_size; from < entropy.size(); ++from)
    for (size_t to = 0; to < pool_size; ++to) pool_[to] = mix(pool_[to], hash(entropy[from]));
}

std::vector<uint32_t> SeedSequence::generate(size_t count) const {
  std::vector<uint32_t> words(count);
  uint32_t factor = 0x8b51f9ddu;
  for (size_t i = 0; i < count; ++i) {
    uint32_t word = pool_[i % pool_.size()] ^ factor;
    factor *= 0x58f38dedu;
    word *= factor;
    words[i] = word ^ (word >> 16);
  }
  return words;
}

// ---- Streams of bits.

namespace {
constexpr Pcg64::Wide wide(uint64_t high, uint64_t low) { return static_cast<Pcg64::Wide>(high) << 64 | low; }
constexpr Pcg64::Wide kMultiplier = wide(0x2360ED051FC65DA4u, 0x4385DF649FCCF645u);
}  // namespace

void Pcg64::seed(const std::array<uint64_t, 4>& words) {
  increment = wide(words[2], words[3]) << 1 | 1;
  state = (increment + wide(words[0], words[1])) * kMultiplier + increment;
  has_half = false, half = 0;
}

uint64_t Pcg64::next64() {
  state = state * kMultiplier + increment;
  const uint64_t mixed = static_cast<uint64_t>(state >> 64) ^ static_cast<uint64_t>(state);
  const unsigned turn = static_cast<unsigned>(state >> 122);
  return mixed >> turn | mixed << (-turn & 63);
}

uint32_t Pcg64::next32() {
  if (has_half) {
    has_half = false;
    return half;
  }
  const uint64_t next = next64();
  has_half = true, half = static_cast<uint32_t>(next >> 32);
  return static_cast<uint32_t>(next);
}

void Pcg64::advance(Wide steps) {
  // Composes the step with itself: x -> factor x + summand (Brown 1994, "Random number generation with arbitrary strides").
  Wide factor = 1, summand = 0, power = kMultiplier, offset = increment;
  for (; steps > 0; steps >>= 1) {
    if (steps & 1) {
      factor *= power;
      summand = summand * power + offset;
    }
    offset = (power + 1) * offset;
    power *= power;
  }
  state = factor * state + summand;
  has_half = false, half = 0;
}

void Mt19937::seed(uint32_t seed) {
  for (size_t i = 0; i < 624; ++i) {
    key[i] = seed;
    seed = 1812433253u * (seed ^ (seed >> 30)) + static_cast<uint32_t>(i) + 1;
  }
  position = 624, has_gauss = false;
}

void Mt19937::seed(std::span<const uint32_t> words) {
  seed(19650218u);
  size_t i = 1, j = 0;
  for (size_t k = std::max<size_t>(624, words.size()); k > 0; --k) {
    key[i] = (key[i] ^ ((key[i - 1] ^ (key[i - 1] >> 30)) * 1664525u)) + words[j] + static_cast<uint32_t>(j);
    if (++i >= 624) key[0] = key[623], i = 1;
    if (++j >= words.size()) j = 0;
  }
  for (size_t k = 623; k > 0; --k) {
    key[i] = (key[i] ^ ((key[i - 1] ^ (key[i - 1] >> 30)) * 1566083941u)) - static_cast<uint32_t>(i);
    if (++i >= 624) key[0] = key[623], i = 1;
  }
  key[0] = 0x80000000u;
  position = 624, has_gauss = false;
}

uint32_t Mt19937::next32() {
  if (position == 624) {
    for (size_t i = 0; i < 624; ++i) {
      const uint32_t y = (key[i] & 0x80000000u) | (key[(i + 1) % 624] & 0x7fffffffu);
      key[i] = key[(i + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    position = 0;
  }
  uint32_t y = key[static_cast<size_t>(position++)];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}
uint64_t Mt19937::next64() {
  const uint64_t high = next32();
  return high << 32 | next32();
}
double Mt19937::next_double() {
  const uint32_t high = next32() >> 5, low = next32() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}
double Mt19937::next_gauss() {
  if (has_gauss) {
    has_gauss = false;
    return std::exchange(gauss, 0.0);
  }
  double x, y, squared;
  do {
    x = 2 * next_double() - 1;
    y = 2 * next_double() - 1;
    squared = x * x + y * y;
  } while (squared >= 1 || squared == 0);
  const double f = std::sqrt(-2 * std::log(squared) / squared);
  gauss = f * x, has_gauss = true;
  return f * y;
}

}  // namespace minnow::numerics
