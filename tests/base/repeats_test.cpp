// SPDX-License-Identifier: Apache-2.0
#include "base/repeats.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace minnow {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
  Bytes bytes;
  for (const char letter : text) bytes.push_back(std::byte(letter));
  return bytes;
}

/// The code's size.
size_t expect_round_trip(const Bytes& plain) {
  const Bytes coded = repeats_coded(plain);
  EXPECT_EQ(coded, repeats_coded(plain));
  Bytes result(plain.size() + 8, std::byte(77));
  EXPECT_TRUE(decode_repeats(coded, std::span(result).first(plain.size())));
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), result.begin()));
  for (size_t i = plain.size(); i < result.size(); ++i) EXPECT_EQ(result[i], std::byte(77));
  return coded.size();
}

TEST(Repeats, give_back_what_was_coded) {
  for (const size_t count : {0, 1, 5, 6, 7, 12, 13, 127, 128, 1000, 100000}) {
    std::mt19937 random(static_cast<unsigned>(count));
    for (const unsigned kinds : {1, 2, 7, 256}) {
      Bytes plain(count);
      for (std::byte& byte : plain) byte = std::byte(random() % kinds);
      EXPECT_LE(expect_round_trip(plain), count + count / 100 + 3);
    }
  }
  EXPECT_EQ(expect_round_trip(bytes_of(std::string(100000, 'a'))), 7u);  // one letter, repeated at distance 1
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "layer." + std::to_string(i * i) + ".weight_scale ";
  EXPECT_LT(expect_round_trip(bytes_of(text)), text.size() / 3);
}

TEST(Repeats, damaged_codes_are_noticed_or_give_as_many_bytes) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "node " + std::to_string(i) + " of the same graph; ";
  const Bytes coded = repeats_coded(bytes_of(text));
  Bytes result(text.size());
  for (size_t i = 0; i < coded.size(); ++i) EXPECT_FALSE(decode_repeats(std::span(coded).first(i), result)) << i;
  EXPECT_FALSE(decode_repeats(coded, std::span(result).first(result.size() - 1)));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    Bytes damaged = coded;
    damaged[random() % damaged.size()] ^= std::byte(1 << random() % 8);
    decode_repeats(damaged, result);  // sanitizers watch it
  }
  for (const Bytes& bad : {Bytes{std::byte(0), std::byte(0), std::byte(0)}, Bytes(6, std::byte(255)), bytes_of("\1a\1\2")})
    EXPECT_FALSE(decode_repeats(bad, result));
}

}  // namespace
}  // namespace minnow
