// SPDX-License-Identifier: Apache-2.0
// A parameter that takes {a, b}, a vector or a span, without a copy.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

namespace minnow {

/// Refers to the elements of its argument, so it must not outlive the call.
template <class T>
class ListView : public std::span<const T> {
 public:
  ListView(std::initializer_list<T> list) noexcept : std::span<const T>(list.begin(), list.size()) {}
  ListView(const std::vector<T>& list) noexcept : std::span<const T>(list) {}
  ListView(std::span<const T> list) noexcept : std::span<const T>(list) {}
  operator std::vector<T>() const { return std::vector<T>(this->begin(), this->end()); }
};

}  // namespace minnow
