// SPDX-License-Identifier: Apache-2.0
#include "base/entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace minnow {
namespace {

using Bytes = std::vector<std::byte>;

/// Bytes whose size grows with their place in an element.
Bytes noise(size_t count, double deviation, size_t width, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] =
        std::byte(static_cast<int8_t>(std::fmod(std::nearbyint(deviation * static_cast<double>(1 + i % width) * normal(generator)), 128)));
  return bytes;
}

void expect_decoded(const Bytes& plain, size_t width, bool must_pay) {
  const Bytes coded = entropy_coded(plain, width);
  ASSERT_TRUE(!must_pay || !coded.empty()) << plain.size() << ", " << width;
  if (coded.empty()) return;
  EXPECT_LE(coded.size(), plain.size() - plain.size() / 20);
  EXPECT_EQ(coded, entropy_coded(plain, width));
  const auto code = EntropyCode::open(coded, plain.size());
  ASSERT_TRUE(code);
  Bytes result(plain.size() + 64, std::byte(77));
  ASSERT_TRUE(code->decode(result.data()));
  EXPECT_EQ(std::memcmp(result.data(), plain.data(), plain.size()), 0) << plain.size() << ", " << width;
  for (size_t i = plain.size(); i < result.size(); ++i) EXPECT_EQ(result[i], std::byte(77));
}

TEST(EntropyCode, gives_back_what_was_coded) {
  for (const size_t width : {1, 2, 4, 8})
    for (const size_t count : {2048, 2056, 4096, 5000, 131072, 131080, 262144, 400000})
      for (const double deviation : {0.0, 0.2, 2.0, 12.0, 1000.0})
        expect_decoded(noise(count, deviation, width), width, deviation <= 2.0 && count > 5000);
}

TEST(EntropyCode, every_number_of_symbols_in_the_last_round) {
  for (size_t count = 3000; count < 3070; ++count) expect_decoded(noise(count, 3, 1, static_cast<unsigned>(count)), 1, true);
}

TEST(EntropyCode, is_as_short_as_the_frequencies_allow) {
  const Bytes plain = noise(1 << 20, 10, 1);
  double counts[256] = {}, entropy = 0;
  for (const std::byte byte : plain) ++counts[static_cast<size_t>(byte)];
  for (const double count : counts)
    if (count > 0) entropy -= count * std::log2(count / static_cast<double>(plain.size())) / 8;
  EXPECT_LT(static_cast<double>(entropy_coded(plain, 1).size()), 1.005 * entropy);
}

TEST(EntropyCode, planes_of_floats_have_frequencies_of_their_own) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> weights(100000);
  for (float& w : weights) w = 0.05F * normal(generator);
  const auto* bytes = reinterpret_cast<const std::byte*>(weights.data());
  const Bytes plain(bytes, bytes + weights.size() * sizeof(float));
  EXPECT_LT(entropy_coded(plain, 4).size(), plain.size() * 88 / 100);
  expect_decoded(plain, 4, true);
}

TEST(EntropyCode, does_not_code_what_it_cannot_shorten) {
  std::mt19937 generator(1);
  Bytes plain(10000);
  for (std::byte& byte : plain) byte = std::byte(generator());
  EXPECT_TRUE(entropy_coded(plain, 1).empty());
  EXPECT_TRUE(entropy_coded(Bytes(10), 1).empty());
  EXPECT_TRUE(entropy_coded({}, 1).empty());
}

TEST(EntropyCode, a_short_code_cannot_stand_for_many_bytes) {
  const Bytes coded = entropy_coded(Bytes(size_t{1} << 24), 1);
  ASSERT_FALSE(coded.empty());
  EXPECT_GT(coded.size() * 1200, size_t{1} << 24);
  for (const uint64_t plain : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 25, uint64_t{1} << 40, ~uint64_t{0}}) {
    Bytes changed = coded;
    std::memcpy(changed.data() + 8, &plain, sizeof plain);
    EXPECT_FALSE(EntropyCode::open(changed, plain)) << plain;
  }
}

TEST(EntropyCode, truncated_and_damaged_codes_give_false_or_other_bytes) {
  for (const size_t width : {1, 4}) {
    const Bytes plain = noise(300000, 3, width), coded = entropy_coded(plain, width);
    Bytes result(plain.size());
    for (size_t i = 0; i < 300; ++i) {
      const size_t size = i < 100 ? i * 20 : i * coded.size() / 300;
      const Bytes cut(coded.begin(), coded.begin() + static_cast<ptrdiff_t>(size));  // its end is the end of an allocation
      EXPECT_FALSE(EntropyCode::open(cut, plain.size()));
    }
    std::mt19937 generator(1);
    size_t found = 0, tried = 600;
    for (size_t i = 0; i < tried; ++i) {
      Bytes damaged = coded;
      const size_t within = i % 2 ? 2000 : coded.size();
      damaged[generator() % within] ^= std::byte(1 << generator() % 8);
      const auto code = EntropyCode::open(damaged, plain.size());
      if (!code || !code->decode(result.data())) ++found;
    }
    // A flipped bit nearly always ends in other states than the coder's.
    EXPECT_GT(found, tried * 95 / 100);
  }
}

}  // namespace
}  // namespace minnow
