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

/// One printable argument, its type erased: a borrowed value and the function that prints it. A call that formats then only fills a few
/// words, and the printing is in one place. Valid while the value lives. Types of ours join by defining `std::string to_string(const T&)`
/// in their namespace.
class FormatArg {
 public:
  FormatArg(std::string_view text) : text_{text.data(), text.size()}, append_(append_text) {}
  FormatArg(const std::string& text) : FormatArg(std::string_view(text)) {}
  FormatArg(const char* text) : FormatArg(text ? std::string_view(text) : std::string_view("(null)")) {}
  FormatArg(bool value) : FormatArg(value ? std::string_view("true") : std::string_view("false")) {}
  FormatArg(char value) : int_(value), append_(append_char) {}
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>) FormatArg(T value)
      : int_(static_cast<int64_t>(value)), append_(std::is_signed_v<T> ? append_int : append_uint) {}
  template <class T>
  requires(std::is_floating_point_v<T>) FormatArg(T value) : real_(static_cast<double>(value)), append_(append_real) {}
  template <class T>
  requires requires(const T& value) { std::string(to_string(value)); }
  FormatArg(const T& value)
      : list_{&value, 1},
        append_([](const FormatArg& arg, std::string& out) { out += to_string(*static_cast<const T*>(arg.list_.items)); }) {}
  template <class T, class Allocator>
  FormatArg(const std::vector<T, Allocator>& values) : FormatArg(std::span<const T>(values)) {}
  template <class T>
  FormatArg(std::span<const T> values) : list_{values.data(), values.size()}, append_(append_list<T>) {}

  void append_to(std::string& out) const { append_(*this, out); }

 private:
  static void append_text(const FormatArg& arg, std::string& out);
  static void append_char(const FormatArg& arg, std::string& out);
  static void append_int(const FormatArg& arg, std::string& out);
  static void append_uint(const FormatArg& arg, std::string& out);
  static void append_real(const FormatArg& arg, std::string& out);
  template <class T>
  static void append_list(const FormatArg& arg, std::string& out) {
    out += '[';
    for (size_t i = 0; i < arg.list_.count; ++i) {
      if (i) out += ", ";
      FormatArg(static_cast<const T*>(arg.list_.items)[i]).append_to(out);
    }
    out += ']';
  }

  union {
    struct {
      const char* data;
      size_t size;
    } text_;
    struct {
      const void* items;
      size_t count;
    } list_;
    int64_t int_;
    double real_;
  };
  void (*append_)(const FormatArg& arg, std::string& out);
};

std::string format_args(std::string_view pattern, std::span<const FormatArg> args);

/// The arguments of one call, for functions that pass them on to one that is compiled once.
template <size_t kCount>
struct FormatArgs {
  FormatArg list[kCount];
  operator std::span<const FormatArg>() const { return list; }
};
template <>
struct FormatArgs<0> {
  operator std::span<const FormatArg>() const { return {}; }
};
template <class... Args>
FormatArgs<sizeof...(Args)> erase(const Args&... args) {
  return {FormatArg(args)...};
}

/// format(pattern, args...) replaces each "{}" of the pattern by the next argument. A missing argument prints as "{?}". It is an object
/// because a call of a function would find std::format, too, where an argument is of a type of std.
struct TextFormatter {
  template <class... Args>
  std::string operator()(std::string_view pattern, const Args&... args) const {
    return format_args(pattern, erase(args...));
  }
};
inline constexpr TextFormatter format;

}  // namespace minnow
