// SPDX-License-Identifier: Apache-2.0
#include "importers/builder/arithmetic.h"

#include <limits>

#include "base/error.h"
#include "base/numeric.h"

namespace minnow {
namespace {

/// [size] as 0, 1, 2, ...
Expr counting(TypedBuilder& p, const Expr& size) {
  return p.op("Range", {p.scalar(0, DType::i64), p.reshape(p.i64(size), Ints{}), p.scalar(1, DType::i64)});
}

}  // namespace

Expr floor_div(TypedBuilder& p, const Expr& a, const Expr& b) {
  if (is_float(p.dtype(a))) return p.op("Floor", {p.op("Div", {a, b})});
  return p.op("Div", {p.op("Sub", {a, p.op("Mod", {a, b})}), b});
}

Expr floor_mod(TypedBuilder& p, const Expr& a, const Expr& b) {
  if (!is_float(p.dtype(a))) return p.op("Mod", {a, b});
  const Expr rest = p.op("Mod", {a, b}, {{"fmod", int64_t{1}}}), zero = p.scalar(0, p.dtype(a));
  const Expr differs = p.op("Xor", {p.op("Less", {rest, zero}), p.op("Less", {b, zero})});
  const Expr off = p.op("And", {differs, p.op("Not", {p.op("Equal", {rest, zero})})});
  return p.op("Where", {off, p.op("Add", {rest, b}), rest});
}

Expr atan2(TypedBuilder& p, const Expr& y, const Expr& x) {
  constexpr double kPi = 3.14159265358979323846;
  const DType type = p.dtype(x);
  const Expr zero = p.scalar(0, type);
  const Expr x_negative = p.op("Less", {x, zero}), y_negative = p.op("Less", {y, zero}), x_zero = p.op("Equal", {x, zero});
  // atan(y / x) is right for x > 0; half a turn is added on the other side; on the axis it is a quarter.
  const Expr one = p.scalar(1, type);
  const Expr slope = p.op("Atan", {p.op("Div", {y, p.op("Where", {x_zero, one, x})})});
  const Expr half = p.op("Where", {y_negative, p.scalar(-kPi, type), p.scalar(kPi, type)});
  const Expr side = p.op("Where", {x_negative, p.op("Add", {slope, half}), slope});
  const Expr quarter = p.op("Mul", {p.op("Sign", {y}), p.scalar(kPi / 2, type)});
  return p.op("Where", {x_zero, quarter, side});
}

Expr lowest(TypedBuilder& p, DType dtype) {
  return is_float(dtype) ? p.scalar(-std::numeric_limits<double>::infinity(), dtype)
                         : p.scalar(static_cast<double>(lowest_of(dtype)), dtype);
}

Expr largest(TypedBuilder& p, DType dtype) {
  return is_float(dtype) ? p.scalar(std::numeric_limits<double>::infinity(), dtype)
                         : p.scalar(static_cast<double>(highest_of(dtype)), dtype);
}

Expr clip(TypedBuilder& p, const Expr& x, std::optional<double> low, std::optional<double> high) {
  const DType type = p.dtype(x);
  if (low && *low == 0 && !high && is_float(type)) return p.op("Relu", {x});
  Exprs inputs = {x, low ? p.scalar(*low, type) : Expr()};
  if (high) inputs.push_back(p.scalar(*high, type));
  return p.op("Clip", inputs);
}

Expr matrix_diag(TypedBuilder& p, const Expr& x) {
  const Expr places = counting(p, p.shape_of(x, -1));
  const Expr diagonal = p.op("Equal", {p.unsqueeze(places, {1}), p.unsqueeze(places, {0})});
  return p.op("Where", {diagonal, p.unsqueeze(x, {-1}), p.scalar(0, p.dtype(x))});
}

Expr matrix_set_diag(TypedBuilder& p, const Expr& x, const Expr& diagonal) {
  const Expr rows = counting(p, p.shape_of(x, -2, -1)), columns = counting(p, p.shape_of(x, -1));
  const Expr on = p.op("Equal", {p.unsqueeze(rows, {1}), p.unsqueeze(columns, {0})});
  // As long as the shorter side: spread over rows or columns, whichever that is.
  const int64_t height = p.dim(x, -2), width = p.dim(x, -1);
  if (height < 0 || width < 0) throw Unsupported("it needs a matrix of known size");
  return p.op("Where", {on, p.unsqueeze(diagonal, {width <= height ? int64_t{-2} : int64_t{-1}}), x});
}

Expr broadcast_shapes(TypedBuilder& p, const Expr& a, const Expr& b) {
  return p.shape_of(p.op("Expand", {p.fill(a, 0, DType::u8), p.i64(b)}));
}

}  // namespace minnow
