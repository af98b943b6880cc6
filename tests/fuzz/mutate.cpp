// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>
#include <limits>

namespace minnow::fuzz {

int64_t interesting_integer(Random& random) {
  constexpr int64_t kNumbers[] = {0,          1,          -1,        2,    3,      4,      7,        8,       16,        31,
                                  32,         63,         64,        127,  128,    255,    256,      32767,   32768,     65535,
                                  65536,      1 << 20,    -2,        -128, -32768, 1000,   1 << 24,  1 << 30, INT32_MAX, INT32_MIN,
                                  4294967295, 4294967296, INT64_MAX, 12,   10000,  100000, INT64_MIN};
  if (random.one_in(2)) return static_cast<int64_t>(random.below(12));
  int64_t number = kNumbers[random.below(std::size(kNumbers))];
  if (random.one_in(4) && number != INT64_MAX) ++number;
  return number;
}

float interesting_float(Random& random) {
  using Limits = std::numeric_limits<float>;
  constexpr float kNumbers[] = {0,
                                -0.0f,
                                1,
                                -1,
                                0.5f,
                                2,
                                1e-7f,
                                -1e-7f,
                                1e7f,
                                Limits::max(),
                                Limits::lowest(),
                                Limits::min(),
                                127,
                                1e20f,
                                -1e20f,
                                3e-5f,
                                255,
                                Limits::denorm_min(),
                                Limits::infinity(),
                                Limits::quiet_NaN()};
  return kNumbers[random.below(std::size(kNumbers))];
}

std::string mutate_bytes(std::string bytes, Random& random) {
  for (size_t change = 0, changes = 1 + random.below(4); change < changes; ++change) {
    const size_t at = random.below(bytes.size());
    switch (random.below(bytes.empty() ? 1 : 6)) {
      case 0:
        bytes.insert(at, 1, static_cast<char>(random.next()));
        break;
      case 1:
        bytes[at] = static_cast<char>(random.next());
        break;
      case 2:
        bytes[at] ^= static_cast<char>(1 << random.below(8));
        break;
      case 3:
        bytes.erase(at, 1 + random.below(8));
        break;
      case 4:
        bytes.insert(at, bytes.substr(random.below(bytes.size()), 1 + random.below(32)));
        break;
      case 5: {
        const int64_t number = interesting_integer(random);
        std::memcpy(bytes.data() + at, &number, std::min<size_t>(size_t{1} << random.below(4), bytes.size() - at));
        break;
      }
    }
  }
  return bytes;
}

namespace {

struct Token {
  size_t begin, size;
  bool is_number;
};

/// Identifiers (with dots) and numbers; contents of quoted strings are identifiers, too.
std::vector<Token> tokens_of(std::string_view text) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    if (!is_part(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && is_part(text[i])) ++i;
    tokens.push_back({begin, i - begin, std::isdigit(static_cast<unsigned char>(text[begin])) != 0});
  }
  return tokens;
}

/// Where lines begin; the end of the text comes last.
std::vector<size_t> lines_of(std::string_view text) {
  std::vector<size_t> lines{0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') lines.push_back(i + 1);
  if (lines.back() != text.size()) lines.push_back(text.size());
  return lines;
}

void change_line(std::string& text, Random& random) {
  const std::vector<size_t> lines = lines_of(text);
  if (lines.size() < 2) return;
  const size_t line = random.below(lines.size() - 1), other = random.below(lines.size() - 1);
  const std::string copy = text.substr(lines[line], lines[line + 1] - lines[line]);
  if (random.one_in(2))
    text.insert(lines[other], copy);
  else
    text.erase(lines[line], copy.size());
}

}  // namespace

std::string mutate_text(std::string text, Random& random, Names names) {
  for (size_t change = 0, changes = 1 + random.below(3); change < changes; ++change) {
    const std::vector<Token> tokens = tokens_of(text);
    if (tokens.empty() || random.one_in(12)) {
      change_line(text, random);
      continue;
    }
    if (random.one_in(32)) {
      text = mutate_bytes(std::move(text), random);
      continue;
    }
    // A number becomes a number and a known name a known name, most often; other identifiers hold a text together.
    for (size_t attempt = 0; attempt < 8; ++attempt) {
      const Token token = tokens[random.below(tokens.size())], from = tokens[random.below(tokens.size())];
      const std::string_view old = std::string_view(text).substr(token.begin, token.size);
      std::string other;
      if (token.is_number)
        other = random.one_in(5) ? std::to_string(interesting_float(random)) : std::to_string(interesting_integer(random));
      else if (std::find(names.begin(), names.end(), old) != names.end())
        other = names[random.below(names.size())];
      else if (random.one_in(4) && !from.is_number)
        other = text.substr(from.begin, from.size);
      else
        continue;
      text.replace(token.begin, token.size, other);
      break;
    }
  }
  return text;
}

}  // namespace minnow::fuzz
