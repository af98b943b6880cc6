// SPDX-License-Identifier: Apache-2.0
// The lists that a definition of an operator consists of.
#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

namespace minnow {

/// A list that owns its items while the compiler evaluates a definition, and refers to a constant array in the table made from it
/// (operator_table.h): constants cannot own memory.
template <class T>
class List {
 public:
  constexpr List() = default;
  constexpr List(std::initializer_list<T> items) { append(items); }
  constexpr List(const List& other) { *this = other; }
  constexpr List(List&& other) noexcept { swap(other); }
  /// A list that refers to items which outlive it and all its copies.
  static constexpr List of(std::span<const T> items) {
    List list;
    list.items_ = const_cast<T*>(items.data());
    list.size_ = static_cast<uint32_t>(items.size());
    return list;
  }
  constexpr ~List() {
    if (!is_owner_) return;
    std::destroy_n(items_, size_);
    std::allocator<T>().deallocate(items_, size_);
  }
  constexpr List& operator=(const List& other) {
    List copy = other.is_owner_ ? List() : of({other.items_, other.size_});
    if (other.is_owner_) copy.append({other.items_, other.size_});
    swap(copy);
    return *this;
  }
  constexpr List& operator=(List&& other) noexcept {
    swap(other);
    return *this;
  }

  constexpr void append(std::span<const T> items) {
    if (items.empty()) return;
    List longer;
    longer.size_ = size_ + static_cast<uint32_t>(items.size());
    longer.is_owner_ = true;
    longer.items_ = std::allocator<T>().allocate(longer.size_);
    T* to = longer.items_;
    for (const T& item : *this) std::construct_at(to++, item);
    for (const T& item : items) std::construct_at(to++, item);
    swap(longer);
  }
  constexpr void append(std::initializer_list<T> items) { append(std::span<const T>(items.begin(), items.size())); }

  constexpr size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T* data() const noexcept { return items_; }
  constexpr const T* begin() const noexcept { return items_; }
  constexpr const T* end() const noexcept { return items_ + size_; }
  constexpr const T& back() const { return items_[size_ - 1]; }
  constexpr const T& operator[](size_t i) const { return items_[i]; }
  constexpr T& operator[](size_t i) { return items_[i]; }  // of a list that owns its items

 private:
  constexpr void swap(List& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(size_, other.size_);
    std::swap(is_owner_, other.is_owner_);
  }

  T* items_ = nullptr;
  uint32_t size_ = 0;
  bool is_owner_ = false;
};

}  // namespace minnow
