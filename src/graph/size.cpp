// SPDX-License-Identifier: Apache-2.0
#include "graph/size.h"

#include <algorithm>
#include <iterator>

namespace minnow {

#if MINNOW_SMALL

struct SizeExpression {};

bool Size::is_symbol() const noexcept { return false; }

Size operator+(Size a, Size b) {
  int64_t sum;
  return a.is_number() && b.is_number() && !__builtin_add_overflow(a.number_, b.number_, &sum) ? Size(sum) : Size::unknown();
}

Size operator-(Size a, Size b) {
  int64_t difference;
  return a.is_number() && b.is_number() && !__builtin_sub_overflow(a.number_, b.number_, &difference) ? Size(difference) : Size::unknown();
}

Size operator*(Size a, Size b) {
  int64_t product;
  if (a.is(0) || b.is(0)) return 0;
  return a.is_number() && b.is_number() && !__builtin_mul_overflow(a.number_, b.number_, &product) ? Size(product) : Size::unknown();
}

bool equal(Size a, Size b) { return a.is_number() && a.number_ == b.number_; }
bool differ(Size a, Size b) { return a.is_number() && b.is_number() && a.number_ != b.number_; }
bool less(Size a, Size b) { return a.is_number() && b.is_number() && a.number_ < b.number_; }

Size divide_exactly(Size a, Size b) {
  if (!a.is_number() || !b.is_number() || b.number() <= 0 || a.number() % b.number()) return Size::unknown();
  return a.number() / b.number();
}

Size divide_down(Size a, Size b) {
  if (!a.is_number() || !b.is_number() || b.number() <= 0) return Size::unknown();
  return a.number() / b.number() - (a.number() % b.number() < 0);
}

Size clearer(Size a, Size b) { return a.is_number() ? a : b; }

std::string to_string(Size size) { return size.is_number() ? std::to_string(size.number()) : "?"; }

std::optional<int64_t> evaluate(Size size, FunctionRef<int64_t(const std::string&)>) {
  return size.is_number() ? std::optional(size.number()) : std::nullopt;
}

Size SizeTable::symbol(std::string_view) { return Size::unknown(); }

Dim SizeTable::dim_of(Size size) { return size.is_number() && size.number() >= 0 ? Dim{size.number(), {}} : unknown(); }

#else

/// A sum of products of factors, each a symbol or a floor.
struct SizeExpression {
  using Monomial = std::vector<std::string>;  // sorted factors; empty: the constant term
  using Terms = std::map<Monomial, int64_t>;  // no zero coefficients
  struct Floor {
    Size numerator;
    int64_t divisor;
  };

  SizeTable* table = nullptr;
  Terms terms;
  std::string text;
  std::optional<Floor> floor;  // of a factor that is one

  /// The number or expression of these terms, or unknown where they are too many. `table`: null where there are only numbers.
  static Size make(SizeTable* table, Terms terms);
  static const SizeExpression& intern(SizeTable& table, std::string text, Terms terms);
  static const Terms& terms_of(Size size, Terms& storage) {
    if (!size.is_number()) return size.expression_->terms;
    storage.clear();
    if (size.number()) storage[{}] = size.number();
    return storage;
  }
  static SizeTable* table_of(Size a, Size b) {
    SizeTable* table = a.is_number() ? nullptr : a.expression_->table;
    if (b.is_number()) return table;
    MINNOW_CHECK(!table || table == b.expression_->table, "sizes of two tables do not meet");
    return b.expression_->table;
  }
  static const SizeExpression* of(Size size) { return size.expression_; }
};

const SizeExpression kUnknownSize{};

namespace {

using Monomial = SizeExpression::Monomial;
using Terms = SizeExpression::Terms;

// An expression of more parts than this is no use to anybody.
constexpr size_t kMostTerms = 8, kMostFactors = 6, kLongestText = 160;
// Integers of a graph wrap around, which no expression tells. Sizes come nowhere near; numbers beyond this one are no part of a size.
constexpr int64_t kLargestNumber = int64_t{1} << 40;

bool add_to(int64_t& sum, int64_t term) { return !__builtin_add_overflow(sum, term, &sum); }

std::string text_of(const Terms& terms) {
  std::string text;
  // The constant comes last.
  auto write = [&](const Monomial& factors, int64_t coefficient) {
    const bool negative = coefficient < 0;
    const std::string magnitude = std::to_string(coefficient).substr(negative ? 1 : 0);
    text += text.empty() ? (negative ? "-" : "") : negative ? " - " : " + ";
    if (factors.empty()) {
      text += magnitude;
      return;
    }
    if (magnitude != "1") text += magnitude + "*";
    for (size_t i = 0; i < factors.size(); ++i) text += (i ? "*" : "") + factors[i];
  };
  for (const auto& [factors, coefficient] : terms)
    if (!factors.empty()) write(factors, coefficient);
  if (const auto constant = terms.find({}); constant != terms.end()) write({}, constant->second);
  return text.empty() ? "0" : text;
}

bool is_floor(const std::string& factor) { return factor.starts_with("floor("); }

}  // namespace

const SizeExpression& SizeExpression::intern(SizeTable& table, std::string text, Terms terms) {
  std::unique_ptr<SizeExpression>& expression = table.expressions_[text];
  if (!expression) {
    expression = std::make_unique<SizeExpression>();
    expression->table = &table;
    expression->terms = std::move(terms);
    expression->text = std::move(text);
  }
  return *expression;
}

Size SizeExpression::make(SizeTable* table, Terms terms) {
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  if (terms.size() > kMostTerms) return Size::unknown();
  size_t length = 0;
  for (const auto& [factors, coefficient] : terms) {
    if (factors.size() > kMostFactors || coefficient > kLargestNumber || coefficient < -kLargestNumber) return Size::unknown();
    for (const std::string& factor : factors) length += factor.size() + 4;
  }
  if (length > kLongestText) return Size::unknown();
  std::string text = text_of(terms);
  return Size(intern(*table, std::move(text), std::move(terms)));
}

bool Size::is_symbol() const noexcept {
  if (is_number() || is_unknown()) return false;
  const Terms& terms = expression_->terms;
  return terms.size() == 1 && terms.begin()->first.size() == 1 && terms.begin()->second == 1 && !is_floor(terms.begin()->first[0]);
}

Size Size::add(Size a, Size b) {
  if (a.is_unknown() || b.is_unknown()) return unknown();
  Terms p, q, sum = SizeExpression::terms_of(a, p);
  for (const auto& [factors, coefficient] : SizeExpression::terms_of(b, q))
    if (!add_to(sum[factors], coefficient)) return unknown();
  return SizeExpression::make(SizeExpression::table_of(a, b), std::move(sum));
}

Size Size::subtract(Size a, Size b) { return equal(a, b) ? Size(0) : add(a, multiply(b, -1)); }

Size Size::multiply(Size a, Size b) {
  if (a.is(0) || b.is(0)) return 0;
  if (a.is_unknown() || b.is_unknown()) return unknown();
  Terms p, q, product;
  for (const auto& [f, m] : SizeExpression::terms_of(a, p))
    for (const auto& [g, n] : SizeExpression::terms_of(b, q)) {
      Monomial factors;
      std::merge(f.begin(), f.end(), g.begin(), g.end(), std::back_inserter(factors));
      int64_t coefficient;
      if (__builtin_mul_overflow(m, n, &coefficient) || !add_to(product[std::move(factors)], coefficient)) return unknown();
      if (product.size() > 4 * kMostTerms) return unknown();
    }
  return SizeExpression::make(SizeExpression::table_of(a, b), std::move(product));
}

Size operator+(Size a, Size b) {
  int64_t sum;
  if (a.is_number() && b.is_number() && !__builtin_add_overflow(a.number_, b.number_, &sum)) [[likely]]
    return sum;
  return Size::add(a, b);
}

Size operator-(Size a, Size b) {
  int64_t difference;
  if (a.is_number() && b.is_number() && !__builtin_sub_overflow(a.number_, b.number_, &difference)) [[likely]]
    return difference;
  return Size::subtract(a, b);
}

Size operator*(Size a, Size b) {
  int64_t product;
  if (a.is_number() && b.is_number() && !__builtin_mul_overflow(a.number_, b.number_, &product)) [[likely]]
    return product;
  return Size::multiply(a, b);
}

bool equal(Size a, Size b) {
  if (a.is_number() && b.is_number()) [[likely]]
    return a.number_ == b.number_;
  return a.expression_ == b.expression_ && !a.is_unknown();
}

bool differ(Size a, Size b) {
  if (a.is_number() && b.is_number()) [[likely]]
    return a.number_ != b.number_;
  return Size::surely_differ(a, b);
}

bool less(Size a, Size b) {
  if (a.is_number() && b.is_number()) [[likely]]
    return a.number_ < b.number_;
  return Size::surely_less(a, b);
}

// Symbols are at least 0; floors may be less.
bool Size::surely_less(Size a, Size b) {
  const Size more = b - a;
  if (more.is_unknown()) return false;
  Terms storage;
  const Terms& terms = SizeExpression::terms_of(more, storage);
  const auto constant = terms.find({});
  if (constant == terms.end() || constant->second <= 0) return false;
  return std::all_of(terms.begin(), terms.end(),
                     [](const auto& term) { return term.second > 0 && std::none_of(term.first.begin(), term.first.end(), is_floor); });
}

bool Size::surely_differ(Size a, Size b) {
  const Size difference = a - b;
  return difference.is_number() ? difference.number() != 0 : less(a, b) || less(b, a);
}

Size divide_exactly(Size a, Size b) {
  if (a.is_unknown() || b.is_unknown() || b.is(0)) return Size::unknown();
  if (a.is(0)) return 0;
  if (equal(a, b)) return 1;
  Terms p, q, quotient;
  const Terms& divisors = SizeExpression::terms_of(b, q);
  if (divisors.size() != 1) return Size::unknown();
  const auto& [divisor, number] = *divisors.begin();
  if (number <= 0) return Size::unknown();
  for (const auto& [factors, coefficient] : SizeExpression::terms_of(a, p)) {
    if (coefficient % number || !std::includes(factors.begin(), factors.end(), divisor.begin(), divisor.end())) return Size::unknown();
    Monomial rest;
    std::set_difference(factors.begin(), factors.end(), divisor.begin(), divisor.end(), std::back_inserter(rest));
    quotient[std::move(rest)] = coefficient / number;
  }
  return SizeExpression::make(SizeExpression::table_of(a, b), std::move(quotient));
}

Size divide_down(Size a, Size b) {
  if (!b.is_number()) return divide_exactly(a, b);
  const int64_t divisor = b.number();
  if (divisor <= 0 || a.is_unknown()) return Size::unknown();
  if (a.is_number()) return a.number() / divisor - (a.number() % divisor < 0);
  // Multiples of the divisor leave the floor; so does the multiple of it in the constant.
  Terms out, in;
  for (const auto& [factors, coefficient] : SizeExpression::of(a)->terms) {
    int64_t quotient = coefficient / divisor, rest = coefficient % divisor;
    if (factors.empty() && rest < 0) --quotient, rest += divisor;
    if (!factors.empty() && rest) quotient = 0, rest = coefficient;
    if (quotient) out[factors] = quotient;
    if (rest) in[factors] = rest;
  }
  SizeTable& table = *SizeExpression::of(a)->table;
  const Size whole = SizeExpression::make(&table, std::move(out));
  if (in.empty() || (in.size() == 1 && in.begin()->first.empty())) return whole;
  const Size numerator = SizeExpression::make(&table, std::move(in));
  if (numerator.is_unknown()) return numerator;
  const std::string name = "floor((" + to_string(numerator) + ")/" + std::to_string(divisor) + ")";
  const Size floor = SizeExpression::make(&table, {{{name}, 1}});
  if (!floor.is_unknown()) const_cast<SizeExpression*>(SizeExpression::of(floor))->floor = {numerator, divisor};
  return whole + floor;
}

Size clearer(Size a, Size b) {
  const auto rank = [](Size size) {
    if (size.is_number()) return 0;
    if (size.is_unknown()) return 3;
    return SizeExpression::of(size)->text.find('?') == std::string::npos ? 1 : 2;
  };
  return rank(b) < rank(a) ? b : a;
}

std::string to_string(Size size) {
  if (size.is_number()) return std::to_string(size.number());
  return size.is_unknown() ? "?" : SizeExpression::of(size)->text;
}

std::optional<int64_t> evaluate(Size size, FunctionRef<int64_t(const std::string&)> value_of) {
  if (size.is_number()) return size.number();
  if (size.is_unknown()) return {};
  const SizeExpression& expression = *SizeExpression::of(size);
  Size sum = 0;
  for (const auto& [factors, coefficient] : expression.terms) {
    Size product = coefficient;
    for (const std::string& name : factors) {
      const SizeExpression& factor = SizeExpression::intern(*expression.table, name, {{{name}, 1}});
      if (!factor.floor) {
        product *= value_of(name);
        continue;
      }
      const auto numerator = evaluate(factor.floor->numerator, value_of);
      if (!numerator) return {};
      product *= divide_down(*numerator, factor.floor->divisor);
    }
    sum += product;
  }
  return sum.is_number() ? std::optional(sum.number()) : std::nullopt;
}

Size SizeTable::symbol(std::string_view name) {
  std::string text(name);
  const auto found = expressions_.find(text);
  return Size(found != expressions_.end() ? *found->second : SizeExpression::intern(*this, text, {{{text}, 1}}));
}

Dim SizeTable::dim_of(Size size) {
  if (size.is_unknown() || (size.is_number() && size.number() < 0)) return unknown();
  if (size.is_number()) return Dim{size.number(), {}};
  return Dim{-1, SizeExpression::of(size)->text};
}

#endif

Size smaller(Size a, Size b) { return less(a, b + 1) ? a : less(b, a + 1) ? b : Size::unknown(); }
Size larger(Size a, Size b) { return less(a, b + 1) ? b : less(b, a + 1) ? a : Size::unknown(); }

Sizes::Sizes(const Sizes& other) noexcept : rank_(other.rank_) { std::copy(other.begin(), other.end(), begin()); }

Sizes& Sizes::operator=(const Sizes& other) noexcept {
  rank_ = other.rank_;
  std::copy(other.begin(), other.end(), begin());
  return *this;
}

Sizes::Sizes(const Shape& shape) : rank_(shape.rank()) { std::copy(shape.begin(), shape.end(), begin()); }

Sizes::Sizes(std::span<const Size> dims) {
  for (const Size dim : dims) push_back(dim);
}

Sizes Sizes::filled(size_t rank, Size dim) {
  Sizes sizes;
  for (size_t i = 0; i < rank; ++i) sizes.push_back(dim);
  return sizes;
}

void Sizes::push_back(Size dim) {
  if (rank_ == kMaxRank) throw InvalidArgument("a tensor of rank {} was met; ranks go up to {}", kMaxRank + 1, kMaxRank);
  dims_[rank_++] = dim;
}

bool Sizes::is_static() const noexcept {
  return std::all_of(begin(), end(), [](Size size) { return size.is_number(); });
}

Shape Sizes::shape() const {
  Shape shape;
  for (const Size size : *this) shape.push_back(size.number());
  return shape;
}

Size Sizes::product(size_t from, size_t to) const {
  Size product = 1;
  for (size_t i = from; i < to; ++i) product *= dims_[i];
  return product;
}

void Sizes::insert(size_t axis, Size dim) {
  push_back(dim);
  std::move_backward(begin() + axis, end() - 1, end());
  dims_[axis] = dim;
}

void Sizes::erase(size_t axis) {
  std::move(begin() + axis + 1, end(), begin() + axis);
  --rank_;
}

bool equal(const Sizes& a, const Sizes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Size p, Size q) { return equal(p, q); });
}

bool differ(const Sizes& a, const Sizes& b) {
  if (a.rank() != b.rank()) return true;
  for (size_t i = 0; i < a.rank(); ++i)
    if (differ(a[i], b[i])) return true;
  return false;
}

SizeTable::SizeTable() = default;
SizeTable::~SizeTable() = default;

Size SizeTable::size_of(const Dim& dim) {
  if (dim.known()) return dim.size;
  return symbol(dim.symbol.empty() ? unknown().symbol : dim.symbol);
}

void unname_unknown(ValueType& type) {
  if (type.dims)
    for (Dim& dim : *type.dims)
      if (dim.symbol.find('?') != dim.symbol.npos) dim.symbol.clear();
  if (!type.element) return;
  ValueType element = *type.element;
  unname_unknown(element);
  type.element = std::make_shared<const ValueType>(std::move(element));
}

void unname_unknown(Graph& graph) {
  for (const auto& input : graph.inputs()) unname_unknown(input->type);
  for (const State& state : graph.states()) unname_unknown(state.current->type);
  for (Node& node : graph.nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) unname_unknown(node.output(i)->type);
}

}  // namespace minnow
