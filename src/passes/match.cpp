// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"

#include <algorithm>
#include <cmath>

namespace minnow {
namespace {

constexpr int kDeepestPattern = 8;

bool take_apart(Value& value, Product& product, size_t most, int depth, bool divide) {
  if (const auto number = scalar_of(&value)) {
    product.number = divide ? product.number / *number : product.number * *number;
    product.number_rank = std::max(product.number_rank, value.constant()->shape().rank());
    return true;
  }
  if (divide) return false;
  const Node* node = value.producer();
  if (node && depth < kDeepestPattern && (depth == 0 || has_one_use(value))) {
    if (node->op() == "Neg") {
      product.number = -product.number;
      return node->input(0) && take_apart(*node->input(0), product, most, depth + 1, false);
    }
    if (node->op() == "Mul" || (node->op() == "Div" && scalar_of(node->input(1))))
      return node->input(0) && node->input(1) && take_apart(*node->input(0), product, most, depth + 1, false) &&
             take_apart(*node->input(1), product, most, depth + 1, node->op() == "Div");
  }
  product.factors.push_back(&value);
  return product.factors.size() <= most;
}

std::optional<Polynomial> polynomial(const Value* value, const Value& x, int depth) {
  if (!value) return {};
  if (value == &x) return Polynomial{0, 1, 0, 0};
  if (const auto number = scalar_of(value)) {
    const size_t rank = value->constant()->shape().rank();
    if (rank > 0 && (!rank_of(x) || rank > *rank_of(x))) return {};
    return Polynomial{*number, 0, 0, 0};
  }
  const Node* node = value->producer();
  if (!node || depth == kDeepestPattern) return {};
  const std::string& op = node->op();
  const bool unary = op == "Neg";
  if (!unary && op != "Add" && op != "Sub" && op != "Mul" && op != "Div" && op != "Pow") return {};
  const auto a = polynomial(node->input(0), x, depth + 1);
  if (!a) return {};
  Polynomial y{};
  if (unary) {
    for (size_t i = 0; i < 4; ++i) y[i] = -(*a)[i];
    return y;
  }
  const auto b = polynomial(node->input(1), x, depth + 1);
  if (!b) return {};
  const bool b_is_number = (*b)[1] == 0 && (*b)[2] == 0 && (*b)[3] == 0;
  const auto times = [](const Polynomial& p, const Polynomial& q) -> std::optional<Polynomial> {
    Polynomial y{};
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 4; ++j) {
        if (p[i] == 0 || q[j] == 0) continue;
        if (i + j > 3) return std::nullopt;
        y[i + j] += p[i] * q[j];
      }
    return y;
  };
  if (op == "Mul") return times(*a, *b);
  if (op == "Add" || op == "Sub") {
    for (size_t i = 0; i < 4; ++i) y[i] = op == "Add" ? (*a)[i] + (*b)[i] : (*a)[i] - (*b)[i];
    return y;
  }
  if (!b_is_number) return {};
  if (op == "Div") {
    for (size_t i = 0; i < 4; ++i) y[i] = (*a)[i] / (*b)[0];
    return y;
  }
  const double exponent = (*b)[0];
  if (exponent != 1 && exponent != 2 && exponent != 3) return {};
  std::optional<Polynomial> power = a;
  for (int i = 1; i < exponent && power; ++i) power = times(*power, *a);
  return power;
}

}  // namespace

std::optional<Product> product_of(Value& value, size_t most) {
  Product product;
  if (!value.producer() || !take_apart(value, product, most, 0, false)) return {};
  return product;
}

std::optional<Polynomial> polynomial_in(const Value* value, const Value& x) { return polynomial(value, x, 0); }

bool near(double a, double b) noexcept { return std::fabs(a - b) <= 2e-4 * std::fabs(b) + 1e-9; }
bool near(const Polynomial& a, const Polynomial& b) noexcept {
  for (size_t i = 0; i < 4; ++i)
    if (!near(a[i], b[i])) return false;
  return true;
}

Affine affine_of(Value& value) {
  Affine affine{&value, 1, 0};
  for (int depth = 0; depth < kDeepestPattern; ++depth) {
    const Node* node = affine.x->producer();
    if (!node || node->input_count() < 2) break;
    const std::string& op = node->op();
    const bool right = scalar_of(node->input(1)).has_value(), left = scalar_of(node->input(0)).has_value();
    if (right == left || (left && op != "Add" && op != "Mul" && op != "Sub")) break;
    const double number = *scalar_of(node->input(right ? 1 : 0));
    Value* x = node->input(right ? 0 : 1);
    // y = s * f(x) + o, with f the node's own function.
    if (op == "Add") {
      affine.offset += affine.scale * number;
    } else if (op == "Sub") {
      affine.offset += affine.scale * (right ? -number : number);
      if (left) affine.scale = -affine.scale;
    } else if (op == "Mul") {
      affine.scale *= number;
    } else if (op == "Div") {
      affine.scale /= number;
    } else {
      break;
    }
    const size_t rank = node->input(right ? 1 : 0)->constant()->shape().rank();
    if (rank > 0 && (!rank_of(*x) || rank > *rank_of(*x))) return {&value, 1, 0};
    affine.x = x;
  }
  return affine;
}

Node* inner_node(const Value* value, std::string_view op) {
  for (int depth = 0; depth < kDeepestPattern && value && value->producer(); ++depth) {
    Node* node = value->producer();
    if (node->op() == op) return node;
    if (node->input_count() != 2) return nullptr;
    if (scalar_of(node->input(0)))
      value = node->input(1);
    else if (scalar_of(node->input(1)))
      value = node->input(0);
    else
      return nullptr;
  }
  return nullptr;
}

}  // namespace minnow
