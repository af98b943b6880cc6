// SPDX-License-Identifier: Apache-2.0
#include "passes/sizes.h"

#include <algorithm>

namespace minnow {
namespace {

// An expression of more parts than this is no use to anybody.
constexpr size_t kMostTerms = 8, kMostFactors = 6, kLongestText = 160;

bool add_to(int64_t& sum, int64_t term) { return !__builtin_add_overflow(sum, term, &sum); }

}  // namespace

std::string Size::text() const {
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
  for (const auto& [factors, coefficient] : terms_)
    if (!factors.empty()) write(factors, coefficient);
  if (const auto constant = terms_.find({}); constant != terms_.end()) write({}, constant->second);
  return text.empty() ? "0" : text;
}

std::optional<Size> Size::checked() && {
  std::erase_if(terms_, [](const auto& term) { return term.second == 0; });
  if (terms_.size() > kMostTerms) return {};
  size_t length = 0;
  for (const auto& [factors, coefficient] : terms_) {
    if (factors.size() > kMostFactors) return {};
    for (const std::string& factor : factors) length += factor.size() + 4;
  }
  if (length > kLongestText) return {};
  return std::move(*this);
}

std::optional<Size> Size::add(const Size& a, const Size& b) {
  Size sum = a;
  for (const auto& [factors, coefficient] : b.terms_)
    if (!add_to(sum.terms_[factors], coefficient)) return {};
  return std::move(sum).checked();
}

std::optional<Size> Size::subtract(const Size& a, const Size& b) {
  const auto negative = multiply(b, Size(-1));
  return negative ? add(a, *negative) : std::nullopt;
}

std::optional<Size> Size::multiply(const Size& a, const Size& b) {
  Size product;
  for (const auto& [p, m] : a.terms_)
    for (const auto& [q, n] : b.terms_) {
      Monomial factors = p;
      factors.insert(factors.end(), q.begin(), q.end());
      std::sort(factors.begin(), factors.end());
      int64_t coefficient;
      if (__builtin_mul_overflow(m, n, &coefficient) || !add_to(product.terms_[std::move(factors)], coefficient)) return {};
      if (product.terms_.size() > 4 * kMostTerms) return {};
    }
  return std::move(product).checked();
}

std::optional<Size> Size::divide_exactly(const Size& a, const Size& b) {
  if (a.terms_.empty() || a == b) return b.terms_.empty() ? std::nullopt : std::optional(a.terms_.empty() ? Size() : Size(1));
  if (b.terms_.size() != 1) return {};
  const auto& [divisor, number] = *b.terms_.begin();
  if (number <= 0) return {};
  Size quotient;
  for (const auto& [factors, coefficient] : a.terms_) {
    if (coefficient % number || !std::includes(factors.begin(), factors.end(), divisor.begin(), divisor.end())) return {};
    Monomial rest;
    std::set_difference(factors.begin(), factors.end(), divisor.begin(), divisor.end(), std::back_inserter(rest));
    quotient.terms_[std::move(rest)] = coefficient / number;
  }
  return quotient;
}

std::optional<Size> Size::divide_down(const Size& a, int64_t b) {
  if (b <= 0) return {};
  // What divides evenly comes out of the floor; so does the multiple of b in the constant.
  Size out, in;
  for (const auto& [factors, coefficient] : a.terms_) {
    if (factors.empty()) {
      int64_t quotient = coefficient / b, rest = coefficient % b;
      if (rest < 0) --quotient, rest += b;
      if (quotient) out.terms_[{}] = quotient;
      if (rest) in.terms_[{}] = rest;
    } else if (coefficient % b == 0) {
      out.terms_[factors] = coefficient / b;
    } else {
      in.terms_[factors] = coefficient;
    }
  }
  if (in.is_number()) return out;
  return add(out, symbol("floor((" + in.text() + ")/" + std::to_string(b) + ")"));
}

Size SizeTable::size_of(const Dim& dim) {
  if (dim.known()) return Size(dim.size);
  if (dim.symbol.empty()) return Size::symbol(unknown().symbol);
  const auto found = known_.find(dim.symbol);
  return found != known_.end() ? found->second : Size::symbol(dim.symbol);
}

Dim SizeTable::dim_of(const Size& size) {
  if (size.is_number()) return size.number() >= 0 ? Dim{size.number(), {}} : unknown();
  std::string text = size.text();
  known_.emplace(text, size);
  return Dim{-1, std::move(text)};
}

void unname_unknown(Graph& graph) {
  const auto unname = [](ValueType& type) {
    if (!type.dims) return;
    for (Dim& dim : *type.dims)
      if (dim.symbol.find('?') != dim.symbol.npos) dim.symbol.clear();
  };
  for (const auto& input : graph.inputs()) unname(input->type);
  for (const State& state : graph.states()) unname(state.current->type);
  for (Node& node : graph.nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) unname(node.output(i)->type);
}

}  // namespace minnow
