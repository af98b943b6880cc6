// SPDX-License-Identifier: Apache-2.0
// Names in constant tables.
#pragma once
#include <iosfwd>
#include <string_view>

namespace minnow {

/// A string literal, or another text that outlives it, in one word: tables of operators hold two thousand names, and a string_view takes
/// twice the room.
class Name {
 public:
  constexpr Name() = default;
  constexpr Name(const char* text) : text_(text) {}
  constexpr operator std::string_view() const { return text_; }
  constexpr bool empty() const { return !*text_; }
  friend constexpr bool operator==(Name a, Name b) { return std::string_view(a) == std::string_view(b); }
  friend constexpr bool operator==(Name a, std::string_view b) { return std::string_view(a) == b; }
  friend constexpr bool operator==(Name a, const char* b) { return std::string_view(a) == b; }
  template <class Traits>
  friend auto& operator<<(std::basic_ostream<char, Traits>& out, Name name) {
    return out << std::string_view(name);
  }

 private:
  const char* text_ = "";
};

}  // namespace minnow
