// SPDX-License-Identifier: Apache-2.0
// Substitutes for the features of C++17 and C++20 that LLVM's C++ library lacks and Minnow uses: before version 20 it cannot parse floating
// numbers. Included before everything else in the presets whose compilers bring this library: `wasm` (version 13 in Debian's emscripten
// 3.1.6), Android's and Apple's.
#pragma once
#ifdef __cplusplus
#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

namespace std {

#if !defined(__cpp_lib_bit_cast)
template <class To, class From>
requires(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> && is_trivially_copyable_v<From>) constexpr To
    bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
#endif

#if !defined(__cpp_lib_to_chars)
template <class T>
requires is_floating_point_v<T> from_chars_result from_chars(const char* first, const char* last, T& value) {
  const string text(first, find_if(first, last, [](char c) { return c == 'x' || c == 'X'; }));  // strtod takes hexadecimal numbers, too
  if (text.empty() || text[0] == '+' || isspace(static_cast<unsigned char>(text[0]))) return {first, errc::invalid_argument};
  char* end = nullptr;
  const T found = is_same_v<T, float> ? static_cast<T>(strtof(text.c_str(), &end)) : static_cast<T>(strtod(text.c_str(), &end));
  if (end == text.c_str()) return {first, errc::invalid_argument};
  value = found;
  return {first + (end - text.c_str()), errc()};
}
// The shortest decimal that is read back as the value.
template <class T>
requires is_floating_point_v<T> to_chars_result to_chars(char* first, char* last, T value) {
  char text[64];
  int length = 0;
  for (int digits = 1; digits <= 17; ++digits) {
    length = snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if ((is_same_v<T, float> ? static_cast<T>(strtof(text, nullptr)) : static_cast<T>(strtod(text, nullptr))) == value) break;
  }
  char whole[64];
  if (strchr(text, 'e') && value > -1e15 && value < 1e15 && value == static_cast<T>(static_cast<long long>(value)))
    if (const int other = snprintf(whole, sizeof whole, "%lld", static_cast<long long>(value)); other <= length)
      length = other, memcpy(text, whole, static_cast<size_t>(other));
  if (last - first < length) return {last, errc::value_too_large};
  memcpy(first, text, static_cast<size_t>(length));
  return {first + length, errc()};
}
#endif

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000
namespace ranges {
template <class A, class B>
constexpr bool equal(const A& a, const B& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
}  // namespace ranges
#endif

}  // namespace std
#endif
