// SPDX-License-Identifier: Apache-2.0
// Sizes of dimensions: a number, an expression in symbols ("2*width + 1", "floor((height - 1)/2) + 1"), or unknown. Shape rules compute
// with them: numbers give numbers, symbols give symbols. An expression is a polynomial with integer coefficients, written in one way only,
// so that equal text means equal size. Arithmetic that overflows, that no polynomial expresses, or that involves an unknown gives an
// unknown.
#pragma once
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "graph/graph.h"

namespace minnow {

class SizeTable;
struct SizeExpression;  // owned by a SizeTable
extern const SizeExpression kUnknownSize;

/// A cheap value. Expressions of two tables must not meet, and none may outlive its table. A small library makes plans alone, and knows
/// numbers alone: a symbol is an unknown there.
class Size {
 public:
  constexpr Size(int64_t number = 0) : number_(number) {}
  /// A size that only a run tells. It equals nothing, itself included.
#if MINNOW_SMALL
  static Size unknown() { return Size(kUnknown); }
  constexpr bool is_number() const noexcept { return number_ != kUnknown; }
  bool is_unknown() const noexcept { return number_ == kUnknown; }
#else
  static Size unknown() { return Size(kUnknownSize); }
  constexpr bool is_number() const noexcept { return !expression_; }
  bool is_unknown() const noexcept { return expression_ == &kUnknownSize; }
#endif
  /// Where is_number().
  constexpr int64_t number() const noexcept { return number_; }
  constexpr bool is(int64_t value) const noexcept { return is_number() && number_ == value; }
  /// One symbol alone: the size of some dimension.
  bool is_symbol() const noexcept;

  friend Size operator+(Size a, Size b);
  friend Size operator-(Size a, Size b);
  friend Size operator*(Size a, Size b);
  Size& operator+=(Size other) { return *this = *this + other; }
  Size& operator-=(Size other) { return *this = *this - other; }
  Size& operator*=(Size other) { return *this = *this * other; }

  // Comparisons answer what holds for all values of the symbols, which are sizes and so not negative: neither equal(a, b) nor
  // differ(a, b) holds where that depends. There are no operators == and <, so that no rule takes "perhaps" for "no".
  friend bool equal(Size a, Size b);
  friend bool differ(Size a, Size b);
  friend bool less(Size a, Size b);

 private:
#if MINNOW_SMALL
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min() + 0x5512e;  // no graph holds this number
#else
  friend class SizeTable;
  friend struct SizeExpression;
  explicit Size(const SizeExpression& expression) : expression_(&expression), number_(-1) {}
  static Size add(Size a, Size b);
  static Size subtract(Size a, Size b);
  static Size multiply(Size a, Size b);
  static bool surely_differ(Size a, Size b);
  static bool surely_less(Size a, Size b);

  const SizeExpression* expression_ = nullptr;
#endif
  int64_t number_;
};

/// floor(a / b). Unknown where b is neither a positive number nor divides a whatever the symbols are (which are taken not to be 0).
Size divide_down(Size a, Size b);
/// a / b where it leaves no remainder whatever the symbols are (which are taken not to be 0), else unknown.
Size divide_exactly(Size a, Size b);
/// ceil(a / b), like divide_down.
inline Size divide_up(Size a, int64_t b) { return divide_down(a + Size(b - 1), b); }
/// Whether a division leaves a remainder whatever the symbols are, or the divisor is 0.
inline bool leaves_rest(Size a, Size b) { return b.is(0) || (a.is_number() && b.is_number() && a.number() % b.number() != 0); }
/// One of two sizes that are equal in every run: the one that tells more. A number tells most, then an expression of names, then of others.
Size clearer(Size a, Size b);
Size smaller(Size a, Size b);
Size larger(Size a, Size b);
/// "?" for unknown.
std::string to_string(Size size);
/// The size for these values of the symbols; nothing for an unknown, or where numbers overflow.
std::optional<int64_t> evaluate(Size size, FunctionRef<int64_t(const std::string& symbol)> value_of);

/// The sizes of a tensor's dimensions: a Shape with symbols. A copy takes as long as there are dimensions.
class Sizes {
 public:
  Sizes() noexcept {}
  Sizes(const Sizes& other) noexcept;
  Sizes& operator=(const Sizes& other) noexcept;
  Sizes(const Shape& shape);
  Sizes(std::span<const Size> dims);
  Sizes(std::initializer_list<Size> dims) : Sizes(std::span<const Size>(dims.begin(), dims.size())) {}
  Sizes(const std::vector<Size>& dims) : Sizes(std::span<const Size>(dims)) {}
  static Sizes filled(size_t rank, Size dim);

  size_t rank() const noexcept { return rank_; }
  size_t size() const noexcept { return rank_; }
  bool empty() const noexcept { return rank_ == 0; }
  Size operator[](size_t axis) const noexcept { return dims_[axis]; }
  Size& operator[](size_t axis) noexcept { return dims_[axis]; }
  Size back() const noexcept { return dims_[rank_ - 1]; }
  const Size* begin() const noexcept { return dims_; }
  const Size* end() const noexcept { return dims_ + rank_; }
  Size* begin() noexcept { return dims_; }
  Size* end() noexcept { return dims_ + rank_; }
  std::span<const Size> dims() const noexcept { return {dims_, rank_}; }
  /// Throws InvalidArgument beyond kMaxRank.
  void push_back(Size dim);
  void insert(size_t axis, Size dim);
  void erase(size_t axis);
  Sizes first(size_t count) const { return Sizes(dims().first(count)); }

  bool is_static() const noexcept;
  /// Where is_static().
  Shape shape() const;
  Size product(size_t from, size_t to) const;
  Size elements() const { return product(0, rank_); }

 private:
  size_t rank_ = 0;
  union {  // entries beyond the rank are never written
    Size dims_[kMaxRank];
  };
};
inline std::string to_string(const Sizes& sizes) { return format("{}", sizes.dims()); }

/// Integer tensors of more elements are no shapes: their contents are not followed with symbols.
inline constexpr int64_t kMostSizes = 64;

/// The same rank, and every dimension equal whatever the symbols are.
bool equal(const Sizes& a, const Sizes& b);
/// Another rank, or a dimension that differs whatever the symbols are.
bool differ(const Sizes& a, const Sizes& b);

/// The sizes behind the symbols that stand in the types of a graph. Owns their expressions. One thread at a time.
class SizeTable {
 public:
  SizeTable();
  ~SizeTable();
  SizeTable(const SizeTable&) = delete;
  SizeTable& operator=(const SizeTable&) = delete;

  Size symbol(std::string_view name);
  /// A symbol of its own where the dimension has none.
  Size size_of(const Dim& dim);
  Dim dim_of(Size size);
  /// A dimension that equals no other.
  Dim unknown() { return Dim{-1, "?" + std::to_string(++counter_)}; }
  /// An input's dimension without a name, the same wherever it is met.
  Dim of_input() { return Dim{-1, "in?" + std::to_string(++counter_)}; }
  static bool is_unknown(const Dim& dim) { return !dim.known() && (dim.symbol.empty() || dim.symbol[0] == '?'); }

 private:
  friend struct SizeExpression;
  std::unordered_map<std::string, std::unique_ptr<SizeExpression>> expressions_;  // by text
  uint64_t counter_ = 0;
};

/// Types for people: dimensions that got a name of SizeTable::unknown(), or one computed from such, lose it. This graph alone.
void unname_unknown(Graph& graph);
void unname_unknown(ValueType& type);

}  // namespace minnow
