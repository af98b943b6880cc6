// SPDX-License-Identifier: Apache-2.0
#include "exporters/onnx/fixed_point_lstm.h"

#include <algorithm>

#include "ops/fixed_point.h"
#include "passes/rewrite.h"

namespace minnow::onnx {
namespace {

using fixed_point::Multiplier;

enum Input : size_t { kX, kW, kR, kBias, kH, kC, kPeepholes, kNorm, kProjection, kProjectionBias };

/// Arithmetic of 64-bit integers in the body of the Scan.
struct Arithmetic {
  GraphBuilder& b;

  Expr number(int64_t value) const {
    Tensor tensor = Tensor::scalar_i64(value);
    return b.constant(std::move(tensor));
  }
  Expr add(const Expr& x, const Expr& y) const { return b.op("Add", {x, y}); }
  Expr times(const Expr& x, const Expr& y) const { return b.op("Mul", {x, y}); }
  Expr cut(const Expr& x, int64_t low, int64_t high) const { return b.op("Clip", {x, number(low), number(high)}); }
  Expr cut16(const Expr& x) const { return cut(x, INT16_MIN, INT16_MAX); }
  /// x / 2^power after `positive` is added, or `negative` to numbers below 0. Division cuts digits off.
  Expr divided(const Expr& x, int power, int64_t positive, int64_t negative) const {
    if (power == 0) return x;
    const Expr below = b.op("Less", {x, number(0)});
    return b.op("Div", {add(x, b.op("Where", {below, number(negative), number(positive)})), number(int64_t{1} << power)});
  }
  Expr divide_by_power(const Expr& x, int power) const {
    const int64_t half = power ? int64_t{1} << (power - 1) : 0;
    return divided(x, power, half, -half);
  }
  Expr multiplied(Expr x, const Multiplier& m) const {
    if (m.shift > 0)  // wraps around
      x = cast(cast(times(x, number(int64_t{1} << m.shift)), DType::i32), DType::i64);
    x = divided(times(x, number(m.fraction)), 31, 1 << 30, 1 - (1 << 30));
    return divide_by_power(x, m.shift < 0 ? -m.shift : 0);
  }
  /// x wrapped around to 32 bits.
  Expr wrapped(const Expr& x) const { return cast(cast(x, DType::i32), DType::i64); }
  /// Sums along the rows of a matrix.
  Expr sum(const Expr& x) const { return b.op("ReduceSum", {x, list({1})}, {{"keepdims", int64_t{1}}}); }
  Expr list(const Ints& values) const {
    Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.writable().data<int64_t>());
    return b.constant(std::move(tensor));
  }
  Expr pick(const Ints& values, const Expr& index) const { return b.op("Gather", {list(values), index}, {{"axis", int64_t{0}}}); }
  /// The fraction and the shift of 1 / sqrt(x) as fixed_point::one_over_root() finds them; x > 0.
  std::pair<Expr, Expr> one_over_root(Expr x) const {
    const Expr one = b.op("Less", {x, number(2)}), large = b.op("Less", {number((1 << 29) - 1), x});
    x = b.op("Where", {large, b.op("Div", {x, number(4)}), x});
    Ints limits, powers;
    for (int pair = 0; pair < 14; ++pair) limits.push_back(int64_t{1} << (27 - 2 * pair));
    for (int pair = 0; pair <= 14; ++pair) powers.push_back(int64_t{1} << (2 * pair));
    const Expr pairs = sum(cast(b.op("Less", {x, list(limits)}), DType::i64));
    x = times(x, pick(powers, pairs));
    // Newton's method on numbers of 32 bits with three before the point, from 1 on.
    const auto product = [&](const Expr& p, const Expr& q) { return divided(times(p, q), 31, 1 << 30, 1 - (1 << 30)); };
    const auto moved = [&](const Expr& value, int bits) {
      const int64_t most = (int64_t{1} << (31 - bits)) - 1;
      return cut(times(cut(value, -most - 1, most + 1), number(int64_t{1} << bits)), INT32_MIN, INT32_MAX);
    };
    const Expr half = divide_by_power(b.op("Div", {x, number(2)}), 1);
    Expr y = number(1 << 28);
    for (int i = 0; i < 5; ++i) {
      const Expr cube = moved(product(product(y, y), y), 6);
      y = moved(b.op("Sub", {product(number((1 << 28) + (1 << 27)), y), product(half, cube)}), 3);
    }
    const Expr shift = b.op("Sub", {add(number(11), cast(large, DType::i64)), pairs});  // to the right
    const Expr fraction = wrapped(times(product(y, number(1518500250)), pick({4, 2, 1}, add(cut(shift, -2, 0), number(2)))));
    return {b.op("Where", {one, number(INT32_MAX), fraction}), b.op("Where", {one, number(0), cut(shift, 0, 31)})};
  }
  /// Each row less its mean, over its deviation, times the factors, plus the bias.
  Expr normalized(const Expr& x, const Expr& factors, const Expr& bias, double scale) const {
    const Expr count = b.op("Max", {b.op("Shape", {x}, {{"start", int64_t{1}}}), number(1)});
    const Expr mean = wrapped(b.op("Div", {times(sum(x), number(1024)), count}));
    const Expr squares = times(sum(times(x, x)), b.op("Div", {number(1 << 20), count}));
    const Expr variance = b.op("Div", {b.op("Sub", {squares, times(mean, mean)}), number(1 << 20)});
    const int64_t least = scale > 0 ? static_cast<int64_t>(std::clamp(10000 * scale, 1.0, 1e9)) : 1;
    const auto [fraction, shift] = one_over_root(b.op("Where", {b.op("Less", {variance, number(1)}), number(least), variance}));
    Ints halves, powers;
    for (int power = 0; power < 32; ++power) powers.push_back(int64_t{1} << power), halves.push_back(powers.back() / 2);
    Expr y = divided(times(b.op("Sub", {times(x, number(1024)), mean}), fraction), 31, 1 << 30, 1 - (1 << 30));
    const Expr half = pick(halves, shift);
    y = b.op("Div", {b.op("Where", {b.op("Less", {y, number(0)}), b.op("Sub", {y, half}), add(y, half)}), pick(powers, shift)});
    y = times(y, cast(factors, DType::i64));
    if (bias) y = add(y, cast(bias, DType::i64));
    Multiplier step(scale);
    step.shift = std::min(step.shift + 12, 31);
    return cut16(multiplied(wrapped(divide_by_power(y, 10)), step));
  }
  /// f of 16-bit numbers.
  Expr mapped(const Expr& x, const Expr& table) const { return b.op("Gather", {table, add(x, number(32768))}, {{"axis", int64_t{0}}}); }
  /// x W^T + bias, x less its zero point.
  Expr product(const Expr& x, const Expr& w, int64_t zero, const Expr& bias) const {
    Tensor of(DType::i8, {});
    *of.writable().data<int8_t>() = static_cast<int8_t>(zero);
    const Expr y = b.op("MatMulInteger", {x, b.op("Transpose", {w}, {{"perm", Ints{1, 0}}}), b.constant(std::move(of))});
    return cast(bias ? b.op("Add", {y, bias}) : y, DType::i64);
  }
};

Expr table_of(GraphBuilder& b, int16_t (*function)(int16_t, int), int bits) {
  Tensor tensor(DType::i64, {65536});
  for (int x = INT16_MIN; x <= INT16_MAX; ++x) tensor.writable().data<int64_t>()[x - INT16_MIN] = function(static_cast<int16_t>(x), bits);
  return b.constant(std::move(tensor));
}

}  // namespace

Exprs fixed_point_lstm_parts(const Node& node, GraphBuilder& builder, const Exprs& inputs) {
  const auto given = [&](size_t i) { return i < inputs.size() ? inputs[i] : Expr(); };
  const auto reals = [&](std::string_view name) {
    const auto* found = node.attributes.find(name);
    const auto* list = found ? std::get_if<Floats>(found) : nullptr;
    return list ? *list : Floats();
  };
  const auto real = [&](std::string_view name) {
    const auto* found = node.attributes.find(name);
    const auto* value = found ? std::get_if<float>(found) : nullptr;
    return value ? *value : 1.0f;
  };
  const Floats x_scales = reals("x_scales"), h_scales = reals("h_scales"), peephole_scales = reals("peephole_scales"),
               norm_scales = reals("norm_scales");
  const size_t gates = x_scales.size(), skipped = 4 - gates;
  if (gates < 3 || gates > 4 || h_scales.size() != gates || (given(kNorm) && norm_scales.size() != gates)) return {};
  const int64_t x_zero = int_attribute(node, "x_zero_point", 0), y_zero = int_attribute(node, "y_zero_point", 0);
  const bool projects = static_cast<bool>(given(kProjection));
  const int64_t zero_before = int_attribute(node, "hidden_zero_point", 0) * (projects ? -1 : 1);
  const int exponent = static_cast<int>(int_attribute(node, "cell_exponent", -12));

  const Expr logistic = table_of(builder, fixed_point::logistic, 3), tanh = table_of(builder, fixed_point::tanh, 3),
             tanh_of_cell = table_of(builder, fixed_point::tanh, 15 + exponent);
  const auto body = std::make_shared<Graph>();
  GraphBuilder inner(*body);
  const Arithmetic a{inner};
  const auto input = [&](const char* name, DType dtype) {
    ValueType type = ValueType::tensor(dtype);
    type.dims.emplace(2);
    return inner.wrap(&body->add_input(name, std::move(type)));
  };
  const Expr h = input("h", DType::i8), c = input("c", DType::i64), x = input("x", DType::i8);
  const auto row = [&](size_t i, size_t gate) {
    return given(i) ? inner.op("Gather", {given(i), a.number(static_cast<int64_t>(gate))}, {{"axis", int64_t{0}}}) : Expr();
  };
  const auto gate = [&](size_t i, const Expr& cell) {
    const size_t at = i - skipped;
    const Multiplier of_x(static_cast<double>(x_scales[at])), of_h(static_cast<double>(h_scales[at]));
    Expr y = a.cut16(a.multiplied(a.product(x, row(kW, at), x_zero, given(kNorm) ? Expr() : row(kBias, at)), of_x));
    y = a.cut16(a.add(y, a.multiplied(a.product(h, row(kR, at), y_zero, {}), of_h)));
    if (given(kPeepholes) && i != 2) {
      const size_t p = at - (i == 3 ? 1 : 0);
      const Multiplier of_c(p < peephole_scales.size() ? static_cast<double>(peephole_scales[p]) : 0.0);
      y = a.cut16(a.add(y, a.multiplied(a.times(cast(row(kPeepholes, p), DType::i64), cell), of_c)));
    }
    if (given(kNorm)) y = a.normalized(y, row(kNorm, at), row(kBias, at), static_cast<double>(norm_scales[at]));
    return a.mapped(y, i == 2 ? tanh : logistic);
  };
  const Expr forget = gate(1, c), candidate = gate(2, c), share = skipped ? inner.op("Sub", {a.number(INT16_MAX), forget}) : gate(0, c);
  Expr cell = a.cut16(a.add(a.divide_by_power(a.times(forget, c), 15), a.divide_by_power(a.times(share, candidate), 30 + exponent)));
  if (const int64_t most = int_attribute(node, "cell_clip", 0); most > 0) cell = a.cut(cell, -most, most);
  const Multiplier hidden_step(static_cast<double>(0x1p-30f / real("hidden_scale")));
  Expr y = a.multiplied(a.times(gate(3, cell), a.mapped(cell, tanh_of_cell)), hidden_step);
  y = a.cut(a.add(y, a.number(zero_before)), INT8_MIN, INT8_MAX);
  if (projects) {
    const Expr sums = a.product(cast(y, DType::i8), given(kProjection), zero_before, given(kProjectionBias));
    y = a.multiplied(sums, Multiplier(static_cast<double>(real("projection_scale"))));
    y = a.cut(a.add(y, a.number(y_zero)), INT8_MIN, INT8_MAX);
    if (const int64_t most = int_attribute(node, "projection_clip", 0); most > 0) y = a.cut(y, -most, most);
  }
  const Expr next = cast(y, DType::i8);
  body->add_output(*next.value());
  body->add_output(*cell.value());
  body->add_output(*inner.op("Identity", {next}).value());
  const Exprs made = builder.ops("Scan", {given(kH), cast(given(kC), DType::i64), given(kX)}, 3,
                                 {{"body", Subgraph(body)}, {"num_scan_inputs", int64_t{1}}});
  return {made[2], made[0], cast(made[1], DType::i16)};
}

}  // namespace minnow::onnx
