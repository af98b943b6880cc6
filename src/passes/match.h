// SPDX-License-Identifier: Apache-2.0
// Arithmetic as formulas, however it is written: products with their numbers drawn out, polynomials in a value.
#pragma once
#include <array>

#include "passes/rewrite.h"

namespace minnow {

/// A value as number * factors[0] * factors[1] * ..., through Mul, Div by a number and Neg. Nodes that others use too are not taken apart.
struct Product {
  double number = 1;
  std::vector<Value*> factors;
  size_t number_rank = 0;  // the largest rank of the constants; a result may have a higher rank than its factors through them
};
/// The product that makes the value, with at most `most` factors, else nothing.
std::optional<Product> product_of(Value& value, size_t most = 2);

/// Coefficients of 1, x, x^2, x^3.
using Polynomial = std::array<double, 4>;
/// `value` as a polynomial in x, through Add, Sub, Mul, Div by a number, Neg and Pow. Only numbers of a rank not above x's.
std::optional<Polynomial> polynomial_in(const Value* value, const Value& x);
/// Within the precision of half floats.
bool near(double a, double b) noexcept;
bool near(const Polynomial& a, const Polynomial& b) noexcept;

/// value = scale * x + offset, with x as far up as numbers alone are added and multiplied.
struct Affine {
  Value* x;
  double scale, offset;
};
Affine affine_of(Value& value);

/// The nearest node of that operator that `value` is made of through arithmetic with numbers, or null.
Node* inner_node(const Value* value, std::string_view op);

}  // namespace minnow
