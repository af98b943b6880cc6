// SPDX-License-Identifier: Apache-2.0
// Elementwise arithmetic of two broadcast tensors.
#include <cmath>

#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kFmod{"fmod", false, MINNOW_DOC("the remainder takes the sign of A, not of B; needed for floating types")};

Shapes broadcast(const NodeView& node) { return {broadcast_inputs(node)}; }

void add(const NodeView&, KernelArgs& args) {
  args.map2([](auto a, auto b) { return static_cast<decltype(a)>(Wrapping<decltype(a)>(a) + Wrapping<decltype(a)>(b)); });
}
void subtract(const NodeView&, KernelArgs& args) {
  args.map2([](auto a, auto b) { return static_cast<decltype(a)>(Wrapping<decltype(a)>(a) - Wrapping<decltype(a)>(b)); });
}
void multiply(const NodeView&, KernelArgs& args) {
  args.map2([](auto a, auto b) { return static_cast<decltype(a)>(Wrapping<decltype(a)>(a) * Wrapping<decltype(a)>(b)); });
}

void check_divisor(const KernelArgs& args) {
  if (args.output(0).elements() == 0) return;
  for (int64_t divisor : args.ints(1))
    if (divisor == 0) args.fail("an integer is divided by zero");
}
template <class T>
bool is_minus_one(T x) {  // the one divisor of signed integers whose quotient can overflow
  return std::is_signed_v<T> && x == static_cast<T>(-1);
}

void divide(const NodeView&, KernelArgs& args) {
  if (is_float(args.input(0).dtype())) return args.map2_reals([](double a, double b) { return a / b; });
  check_divisor(args);
  args.map2_ints([](auto a, auto b) {
    return is_minus_one(b) ? static_cast<decltype(a)>(0 - Wrapping<decltype(a)>(a)) : static_cast<decltype(a)>(a / b);
  });
}

/// fmod of numbers of at most 24 bits. Where the quotient is small, its product with b and what is left of a are exact in double; rounding
/// of the quotient may have made it one too large.
double short_fmod(double a, double b) {
  const double quotient = std::fabs(a / b), size = std::fabs(b);
  if (!(quotient < 0x1p28 && size < INFINITY)) return std::fmod(a, b);
  const double rest = std::fabs(a) - static_cast<int32_t>(quotient) * size;
  return std::copysign(rest < 0 ? rest + size : rest >= size ? rest - size : rest, a);
}

void mod(const NodeView& node, KernelArgs& args) {
  const bool fmod = node.attribute(kFmod);
  if (is_float(args.input(0).dtype())) {
    const bool is_wide = args.input(0).dtype() == DType::f64;
    return args.map2_reals([=](double a, double b) {
      const double rest = is_wide ? std::fmod(a, b) : short_fmod(a, b);
      if (fmod || std::isnan(rest)) return rest;
      if (rest == 0) return std::copysign(0.0, b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    });
  }
  check_divisor(args);
  args.map2_ints([=](auto a, auto b) {
    if (is_minus_one(b)) return decltype(a)(0);
    const auto rest = a % b;
    return rest != 0 && !fmod && (rest < 0) != (b < 0) ? static_cast<decltype(a)>(rest + b) : static_cast<decltype(a)>(rest);
  });
}

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}
void pow(const NodeView&, KernelArgs& args) {
  const DType base = args.input(0).dtype(), exponent = args.input(1).dtype();
  if (is_float(base) || is_float(exponent)) return args.map2_reals([](double x, double y) { return std::pow(x, y); });
  // Powers of integers are exact and wrap around. 1 / x^n is cut toward zero; u64 exponents beyond i64 are read from their bits.
  const bool is_unsigned_exponent = exponent == DType::u64;
  args.map2_ints([&](int64_t x, int64_t y) {
    if (y >= 0 || is_unsigned_exponent) return static_cast<int64_t>(power(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
    if (x == 0) args.fail("0 is raised to the power {}", y);
    return x == 1 ? int64_t{1} : x == -1 ? (y % 2 ? int64_t{-1} : int64_t{1}) : int64_t{0};
  });
}

// On sizes, where the result is one.
Size size_sum(std::span<const Size> x) { return x[0] + x[1]; }
Size size_difference(std::span<const Size> x) { return x[0] - x[1]; }
Size size_product(std::span<const Size> x) { return x[0] * x[1]; }
Size size_quotient(std::span<const Size> x) {
  const Size exact = divide_exactly(x[0], x[1]);
  if (!exact.is_unknown()) return exact;
  return less(-1, x[0]) ? divide_down(x[0], x[1]) : Size::unknown();  // truncated, as long as nothing is negative
}
Size size_remainder(std::span<const Size> x) {
  const Size quotient = less(-1, x[0]) ? divide_down(x[0], x[1]) : Size::unknown();
  return quotient.is_unknown() ? quotient : x[0] - quotient * x[1];  // of a divisor of 0 too
}

using Reference = void (*)(const NodeView&, KernelArgs&);
constexpr Operator row(Name name, int since, std::string_view doc, Reference reference,
                       void (*infer_contents)(const NodeView&, std::span<ValueInfo>), Exprs (*gradient)(const GradientContext&)) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"A", kNumeric}, {.name = "B", .dtypes = kNumeric, .like = "A"}},
          .outputs = {{"C", same_as("A")}},
          .infer_shapes = broadcast,
          .infer_contents = infer_contents,
          .reference = reference,
          .gradient = gradient,
          .elementwise = true,
          .fusible = true,
          .recomputable = true};
}

// Gradients of both inputs: of a, b, the output y and its gradient g.
using E = const Expr&;
#define PART(...) []([[maybe_unused]] E a, [[maybe_unused]] E b, [[maybe_unused]] E y, E g) -> Expr { return __VA_ARGS__; }
#define RULE(...) MINNOW_GRADIENT(binary_gradient<__VA_ARGS__>)

#if MINNOW_GRADIENTS
Exprs pow_gradient(const GradientContext& c) {
  const Expr &x = c.input(0), &g = c.output_gradient(0);
  const Expr exponent = cast(c.input(1), c.node.input_dtype(0));
  Exprs made(2);
  // y x^(y - 1), and 0 for y = 0, whatever x is.
  if (c.wants(0))
    made[0] = c.sum_to(select(op("Equal", {exponent, exponent.builder().scalar_like(0, exponent)}), x * 0.0,
                              g * exponent * op("Pow", {x, exponent - 1.0})),
                       0);
  // ln x x^y, and 0 where x^y is 0.
  if (c.wants(1))
    made[1] = cast(c.sum_to(where(op("Greater", {x, x.builder().scalar_like(0, x)}), g * c.output(0) * op("Log", {x})), 1),
                   c.node.input_dtype(1));
  return made;
}
#endif

constexpr List<Operator> definitions() {
  Operator mod_row =
      row("Mod", 28,
          MINNOW_DOC("The remainder of a / b with NumPy's broadcasting, of the sign of b, or with fmod = 1 of the sign of a; "
                     "an integer divisor of zero is an error."),
          mod, map_contents<size_remainder>, RULE(PART(g), PART(-g * op("Round", {(a - y) / b}))));
  mod_row.attributes = {kFmod};
  mod_row.fusible = mod_row.recomputable = false;
  return {
      with(row("Add", 14, MINNOW_DOC("c = a + b with NumPy's broadcasting; integers wrap around."), add, map_contents<size_sum>,
               RULE(PART(g), PART(g))),
           &Operator::commutative),
      row("Sub", 14, MINNOW_DOC("c = a - b with NumPy's broadcasting; integers wrap around."), subtract, map_contents<size_difference>,
          RULE(PART(g), PART(-g))),
      with(row("Mul", 14, MINNOW_DOC("c = a * b with NumPy's broadcasting; integers wrap around."), multiply, map_contents<size_product>,
               RULE(PART(g * b), PART(g * a))),
           &Operator::commutative),
      row("Div", 14, MINNOW_DOC("c = a / b with NumPy's broadcasting; integers are truncated toward zero, a zero divisor is an error."),
          divide, map_contents<size_quotient>, RULE(PART(g / b), PART(-g * y / b))),
      std::move(mod_row),
      {.name = "Pow",
       .since = 15,
       .doc = MINNOW_DOC("z = x^y with NumPy's broadcasting. Integers raised to integers wrap around, negative powers are truncated toward "
                         "zero, and 0 to a negative power is an error."),
       .inputs = {{"X", kFloats | kIndex}, {"Y", kNumeric}},
       .outputs = {{"Z", same_as("X")}},
       .infer_shapes = broadcast,
       .reference = pow,
       .gradient = MINNOW_GRADIENT(pow_gradient),
       .elementwise = true,
       .fusible = true},
  };
}

#undef PART
#undef RULE
}  // namespace

std::span<const Operator> binary_operators() { return operator_table<definitions>(); }

}  // namespace minnow
