// SPDX-License-Identifier: Apache-2.0
// A small type-safe formatter: format("node {} takes {} inputs", name, 3). "{}" is the only directive; "{{" and "}}" print braces.
// It exists because gcc 12 and clang 14 have no <format>, and error texts should not cost hundreds of kilobytes.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace minnow {

/// One printable argument, its type erased. Types of ours join by defining `std::string to_string(const T&)` in their namespace.
class FormatArg {
 public:
  FormatArg(std::string_view text) : text_(text) {}
  FormatArg(const std::string& text) : text_(text) {}
  FormatArg(const char* text) : text_(text ? std::string_view(text) : std::string_view("(null)")) {}
  FormatArg(bool value) : text_(value ? "true" : "false") {}
  FormatArg(char value) : owned_(1, value) {}
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>) FormatArg(T value)
      : owned_(std::is_signed_v<T> ? from_int(static_cast<int64_t>(value)) : from_uint(static_cast<uint64_t>(value))) {}
  template <class T>
  requires(std::is_floating_point_v<T>) FormatArg(T value) : owned_(from_double(static_cast<double>(value))) {}
  template <class T>
  requires requires(const T& value) { std::string(to_string(value)); }
  FormatArg(const T& value) : owned_(to_string(value)) {}
  template <class T, class Allocator>
  FormatArg(const std::vector<T, Allocator>& values) : FormatArg(std::span<const T>(values)) {}
  template <class T>
  FormatArg(std::span<const T> values) {
    owned_ = "[";
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) owned_ += ", ";
      owned_ += FormatArg(values[i]).text();
    }
    owned_ += "]";
  }
  std::string_view text() const { return owned_.empty() ? text_ : std::string_view(owned_); }

 private:
  static std::string from_int(int64_t value);
  static std::string from_uint(uint64_t value);
  static std::string from_double(double value);
  std::string_view text_;
  std::string owned_;
};

std::string format_args(std::string_view pattern, std::span<const FormatArg> args);

/// Replaces each "{}" of the pattern by the next argument. A missing argument prints as "{?}".
template <class... Args>
std::string format(std::string_view pattern, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return format_args(pattern, {});
  } else {
    const FormatArg list[] = {FormatArg(args)...};
    return format_args(pattern, list);
  }
}

}  // namespace minnow
