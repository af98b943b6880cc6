// SPDX-License-Identifier: Apache-2.0
// What the C++ library of Debian's emscripten 3.1.6 lacks of C++20; included before everything else in the preset `wasm`.
#pragma once
#ifdef __cplusplus
#include <bit>
#include <cstring>
#include <type_traits>
#if !defined(__cpp_lib_bit_cast)
namespace std {
template <class To, class From>
  requires(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> && is_trivially_copyable_v<From>)
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif
#endif
