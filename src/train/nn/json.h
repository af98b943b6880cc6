// SPDX-License-Identifier: Apache-2.0
// The little JSON that files of weights hold.
#pragma once
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace minnow::nn {

inline std::string json_text(std::string_view text) {
  std::string made = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') made += '\\';
    if (static_cast<unsigned char>(letter) < 0x20) {
      constexpr char kDigits[] = "0123456789abcdef";
      made += "\\u00";
      made += kDigits[letter >> 4], made += kDigits[letter & 15];
    } else {
      made += letter;
    }
  }
  return made + '"';
}

inline std::string json_list(std::span<const int64_t> numbers) {
  std::string made = "[";
  for (size_t i = 0; i < numbers.size(); ++i) made += (i ? "," : "") + std::to_string(numbers[i]);
  return made + "]";
}

/// Reads JSON whose form is known: objects of texts, numbers and lists of sizes; anything else is passed over.
class JsonReader {
 public:
  /// `complaint`: the sentence of the InvalidModel that is thrown for text that is no JSON, or of another form.
  JsonReader(std::string_view text, std::string complaint)
      : at_(text.data()), end_(text.data() + text.size()), complaint_(std::move(complaint)) {}

  /// Calls `entry(name)`, which reads the value, for each entry of an object.
  template <class F>
  void object(F entry) {
    expect('{');
    if (take('}')) return;
    do {
      const std::string name = text();
      expect(':');
      entry(name);
    } while (take(','));
    expect('}');
  }
  std::string text() {
    expect('"');
    std::string made;
    for (;;) {
      const char letter = next();
      if (letter == '"') return made;
      if (static_cast<unsigned char>(letter) < 0x20) wrong();
      if (letter != '\\')
        made += letter;
      else
        escape(made);
    }
  }
  std::vector<int64_t> sizes() {
    std::vector<int64_t> made;
    expect('[');
    if (take(']')) return made;
    do {
      blank();
      int64_t number = 0;
      const char* first = at_;
      for (; at_ < end_ && *at_ >= '0' && *at_ <= '9'; ++at_)
        if (__builtin_mul_overflow(number, int64_t{10}, &number) || __builtin_add_overflow(number, int64_t{*at_ - '0'}, &number)) wrong();
      if (at_ == first) wrong();
      made.push_back(number);
    } while (take(','));
    expect(']');
    return made;
  }
  void pass_over(int depth = 0) {
    if (depth > 64) wrong();
    blank();
    const char letter = at_ < end_ ? *at_ : '\0';
    if (letter == '"') {
      text();
    } else if (letter == '{') {
      object([&](const std::string&) { pass_over(depth + 1); });
    } else if (letter == '[') {
      expect('[');
      if (take(']')) return;
      do pass_over(depth + 1);
      while (take(','));
      expect(']');
    } else {
      const char* first = at_;
      while (at_ < end_ && (std::isalnum(static_cast<unsigned char>(*at_)) || *at_ == '-' || *at_ == '+' || *at_ == '.')) ++at_;
      if (at_ == first) wrong();
    }
  }
  void finish() {
    blank();
    if (at_ != end_) wrong();
  }
  double number() {
    blank();
    std::string digits;
    while (at_ < end_ && (std::isalnum(static_cast<unsigned char>(*at_)) || *at_ == '-' || *at_ == '+' || *at_ == '.')) digits += *at_++;
    char* end = nullptr;
    const double made = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !std::isfinite(made)) wrong();
    return made;
  }
  [[noreturn]] void wrong() const { throw InvalidModel("{}", complaint_); }

 private:
  void blank() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  char next() {
    if (at_ == end_) wrong();
    return *at_++;
  }
  bool take(char letter) {
    blank();
    if (at_ == end_ || *at_ != letter) return false;
    ++at_;
    return true;
  }
  void expect(char letter) {
    if (!take(letter)) wrong();
  }
  uint32_t unit() {  // four hexadecimal digits
    uint32_t made = 0;
    for (int i = 0; i < 4; ++i) {
      const char letter = next();
      if (!std::isxdigit(static_cast<unsigned char>(letter))) wrong();
      made = made * 16 + static_cast<uint32_t>(letter <= '9' ? letter - '0' : (letter | 0x20) - 'a' + 10);
    }
    return made;
  }
  void escape(std::string& made) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = next();
    if (letter != 'u') {
      const size_t found = kNames.find(letter);
      if (found == std::string_view::npos) wrong();
      made += kMeanings[found];
      return;
    }
    uint32_t code = unit();
    if (code >= 0xd800 && code < 0xdc00) {  // a pair of UTF-16
      if (next() != '\\' || next() != 'u') wrong();
      const uint32_t low = unit();
      if (low < 0xdc00 || low >= 0xe000) wrong();
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      wrong();
    }
    // UTF-8
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr uint32_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    made += static_cast<char>(kFirst[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) made += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  }

  const char *at_, *end_;
  std::string complaint_;
};

}  // namespace minnow::nn
