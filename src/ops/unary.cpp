// SPDX-License-Identifier: Apache-2.0
// Elementwise mathematical functions of one tensor: one row each.
#include <cmath>
#include <numbers>

#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

Shapes same_shape(const NodeView& node) { return {node.input_sizes(0)}; }

template <auto kFunction>
void reference(const NodeView&, KernelArgs& args) {
  args.map(kFunction);
}
template <auto kFunction>
void reference_real(const NodeView&, KernelArgs& args) {
  args.map_reals(kFunction);
}

constexpr auto kAbs = [](auto x) {
  using T = decltype(x);
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(x);
  else
    return x < 0 ? static_cast<T>(0 - static_cast<uint64_t>(x)) : x;
};
constexpr auto kNeg = [](auto x) { return static_cast<decltype(x)>(-static_cast<Wrapping<decltype(x)>>(x)); };
constexpr auto kSign = [](auto x) { return x != x ? x : static_cast<decltype(x)>((x > 0) - (x < 0)); };

Size negative_size(std::span<const Size> x) { return Size(0) - x[0]; }
Size size_magnitude(std::span<const Size> x) { return less(-1, x[0]) ? x[0] : less(x[0], 1) ? Size(0) - x[0] : Size::unknown(); }

using Gradient = Exprs (*)(const GradientContext&);
constexpr Operator row(Name name, int since, std::string_view doc, DTypes dtypes, void (*reference)(const NodeView&, KernelArgs&),
                       Gradient gradient) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"X", dtypes}},
          .outputs = {{"Y", same_as("X")}},
          .infer_shapes = same_shape,
          .reference = reference,
          .gradient = gradient,
          .elementwise = true,
          .fusible = true};
}
template <auto kFunction>
constexpr Operator real(Name name, int since, std::string_view doc, Gradient gradient) {
  return row(name, since, doc, kFloats, reference_real<kFunction>, gradient);
}

// Gradients: kRule(x, y, the gradient of y).
using E = const Expr&;
#define RULE(...) MINNOW_GRADIENT(unary_gradient<[]([[maybe_unused]] E x, [[maybe_unused]] E y, E g) { return __VA_ARGS__; }>)
[[maybe_unused]] Expr square(E x) { return x * x; }

constexpr List<Operator> definitions() {
  Operator abs_row =
      row("Abs", 13, MINNOW_DOC("y = |x|; the lowest integer stays itself."), kNumeric, reference<kAbs>, RULE(g * op("Sign", {x})));
  Operator neg_row = row("Neg", 13, MINNOW_DOC("y = -x; the lowest integer stays itself."), kFloats | kSigned, reference<kNeg>, RULE(-g));
  abs_row.never_negative = true;
  abs_row.infer_contents = map_contents<size_magnitude>;
  neg_row.infer_contents = map_contents<negative_size>;
  return {
      std::move(abs_row),
      std::move(neg_row),
      row("Sign", 13, MINNOW_DOC("y = -1, 0 or 1; NaN stays NaN."), kNumeric, reference<kSign>, MINNOW_GRADIENT(zero_gradient)),
      real<[](double x) { return 1 / x; }>("Reciprocal", 13, MINNOW_DOC("y = 1 / x."), RULE(-g * square(y))),
      real<[](double x) { return std::sqrt(x); }>("Sqrt", 13, MINNOW_DOC("y = the square root of x; NaN for negative x."),
                                                  RULE(g * 0.5 / y)),
      with(real<[](double x) { return std::exp(x); }>("Exp", 13, MINNOW_DOC("y = e^x."), RULE(g * y)), &Operator::never_negative),
      real<[](double x) { return std::log(x); }>("Log", 13, MINNOW_DOC("y = ln x; NaN for negative x."), RULE(g / x)),
      real<[](double x) { return std::erf(x); }>("Erf", 13, MINNOW_DOC("y = the error function of x."),
                                                 RULE(g * (2 * std::numbers::inv_sqrtpi) * op("Exp", {-square(x)}))),
      with(real<[](double x) { return std::ceil(x); }>("Ceil", 13, MINNOW_DOC("y = the smallest integer not below x."),
                                                       MINNOW_GRADIENT(zero_gradient)),
           &Operator::rounds),
      with(real<[](double x) { return std::floor(x); }>("Floor", 13, MINNOW_DOC("y = the largest integer not above x."),
                                                        MINNOW_GRADIENT(zero_gradient)),
           &Operator::rounds),
      with(real<[](double x) { return std::nearbyint(x); }>("Round", 22, MINNOW_DOC("y = the integer nearest to x; of two, the even one."),
                                                            MINNOW_GRADIENT(zero_gradient)),
           &Operator::rounds),
      real<[](double x) { return std::sin(x); }>("Sin", 22, MINNOW_DOC("y = sin x, x in radians."), RULE(g * op("Cos", {x}))),
      real<[](double x) { return std::cos(x); }>("Cos", 22, MINNOW_DOC("y = cos x, x in radians."), RULE(-g * op("Sin", {x}))),
      real<[](double x) { return std::tan(x); }>("Tan", 22, MINNOW_DOC("y = tan x, x in radians."), RULE(g * (square(y) + 1.0))),
      real<[](double x) { return std::asin(x); }>("Asin", 22, MINNOW_DOC("y = the angle in [-pi/2, pi/2] of sine x; NaN outside [-1, 1]."),
                                                  RULE(g / op("Sqrt", {1.0 - square(x)}))),
      real<[](double x) { return std::acos(x); }>("Acos", 22, MINNOW_DOC("y = the angle in [0, pi] of cosine x; NaN outside [-1, 1]."),
                                                  RULE(-g / op("Sqrt", {1.0 - square(x)}))),
      real<[](double x) { return std::atan(x); }>("Atan", 22, MINNOW_DOC("y = the angle in [-pi/2, pi/2] of tangent x."),
                                                  RULE(g / (square(x) + 1.0))),
      real<[](double x) { return std::sinh(x); }>("Sinh", 22, MINNOW_DOC("y = the hyperbolic sine of x."), RULE(g * op("Cosh", {x}))),
      real<[](double x) { return std::cosh(x); }>("Cosh", 22, MINNOW_DOC("y = the hyperbolic cosine of x."), RULE(g * op("Sinh", {x}))),
      real<[](double x) { return std::asinh(x); }>("Asinh", 22, MINNOW_DOC("y = the inverse hyperbolic sine of x."),
                                                   RULE(g / op("Sqrt", {square(x) + 1.0}))),
      real<[](double x) { return std::acosh(x); }>("Acosh", 22, MINNOW_DOC("y = the inverse hyperbolic cosine of x; NaN below 1."),
                                                   RULE(g / op("Sqrt", {square(x) - 1.0}))),
      real<[](double x) { return std::atanh(x); }>("Atanh", 22, MINNOW_DOC("y = the inverse hyperbolic tangent of x; NaN outside [-1, 1]."),
                                                   RULE(g / (1.0 - square(x)))),
  };
}

#undef RULE
}  // namespace

std::span<const Operator> unary_operators() { return operator_table<definitions>(); }

}  // namespace minnow
