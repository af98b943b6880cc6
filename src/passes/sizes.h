// SPDX-License-Identifier: Apache-2.0
// Sizes of dimensions that are not fixed: polynomials with integer coefficients in symbols, written in one way only, so that equal text
// means equal size: "batch*seq", "2*width + 1", "floor((height - 1)/2) + 1".
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace minnow {

class Size {
 public:
  Size() = default;  // 0
  explicit Size(int64_t number) {
    if (number) terms_[{}] = number;
  }
  static Size symbol(std::string name) {
    Size size;
    size.terms_[{std::move(name)}] = 1;
    return size;
  }
  bool is_number() const noexcept { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  int64_t number() const noexcept { return terms_.empty() ? 0 : terms_.begin()->second; }
  /// One symbol alone: the size of some dimension.
  bool is_symbol() const noexcept {
    return terms_.size() == 1 && terms_.begin()->first.size() == 1 && terms_.begin()->second == 1 &&
           !terms_.begin()->first[0].starts_with("floor(");
  }
  bool is(int64_t value) const noexcept { return is_number() && number() == value; }
  friend bool operator==(const Size&, const Size&) = default;
  std::string text() const;

  // Nothing where numbers overflow or expressions grow out of hand.
  static std::optional<Size> add(const Size& a, const Size& b);
  static std::optional<Size> subtract(const Size& a, const Size& b);
  static std::optional<Size> multiply(const Size& a, const Size& b);
  /// a / b where it is exact whatever the symbols are (which are taken not to be 0).
  static std::optional<Size> divide_exactly(const Size& a, const Size& b);
  /// floor(a / b), b > 0.
  static std::optional<Size> divide_down(const Size& a, int64_t b);

 private:
  using Monomial = std::vector<std::string>;  // sorted factors; empty: the constant term
  std::optional<Size> checked() &&;
  std::map<Monomial, int64_t> terms_;  // no zero coefficients
};

/// The sizes behind the symbols that stand in the types of a graph.
class SizeTable {
 public:
  Size size_of(const Dim& dim);
  Dim dim_of(const Size& size);
  /// A dimension that equals no other.
  Dim unknown() { return Dim{-1, "?" + std::to_string(++counter_)}; }
  /// An input's dimension without a name, the same wherever it is met.
  Dim of_input() { return Dim{-1, "in?" + std::to_string(++counter_)}; }
  static bool is_unknown(const Dim& dim) { return !dim.known() && (dim.symbol.empty() || dim.symbol[0] == '?'); }

 private:
  std::unordered_map<std::string, Size> known_;  // what is more than a symbol, by its text
  uint64_t counter_ = 0;
};

/// Types for people: dimensions that got a name of SizeTable::unknown(), or one computed from such, lose it. This graph alone.
void unname_unknown(Graph& graph);

}  // namespace minnow
