// SPDX-License-Identifier: Apache-2.0
// The LSTM of LiteRT's integer networks: 8-bit data and weights, 16-bit gates and cell states, every rounding where LiteRT's kernels round.
// Its logistic function and tanh are those of gemmlowp on 16-bit fixed-point numbers (github.com/google/gemmlowp, fixedpoint): exp is a
// polynomial times tabulated powers of e, and quotients are found by three steps of Newton's method.
#include "ops/fixed_point.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/numeric.h"
#include "ops/operator_table.h"

namespace minnow {
namespace fixed_point {
namespace {

int32_t cut(int64_t x, DType dtype) { return static_cast<int32_t>(std::clamp(x, lowest_of(dtype), highest_of(dtype))); }

/// A number of 16 bits; products are those of fractions: a b / 2^15.
struct Q {
  int16_t raw;

  static Q of(int32_t x) { return {static_cast<int16_t>(x)}; }  // wraps around
  /// A fraction that is given in 32 bits.
  static constexpr Q constant(int32_t x) { return {static_cast<int16_t>((x + (x < 0 ? -0x8000 : 0x8000)) / 0x10000)}; }
  friend Q operator+(Q a, Q b) { return of(a.raw + b.raw); }
  friend Q operator-(Q a, Q b) { return of(a.raw - b.raw); }
  friend Q operator*(Q a, Q b) {
    if (a.raw == INT16_MIN && b.raw == INT16_MIN) return {INT16_MAX};
    const int32_t product = a.raw * b.raw;
    return of((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
  }
  Q halved(int times) const { return of(static_cast<int32_t>(divide_by_power(raw, times))); }
  /// Times 2^bits; what is too large becomes the largest number.
  Q shifted(int bits) const {
    const int32_t most = (1 << (15 - bits)) - 1;
    return raw > most ? Q{INT16_MAX} : raw < -most ? Q{INT16_MIN} : of(raw * (1 << bits));
  }
};

/// e^x of a number x < 0 with `bits` bits before the point.
Q exp_of_negative(Q x, int bits) {
  if (x.raw == 0) return {INT16_MAX};
  const int fraction = 15 - bits, quarter = 1 << (fraction - 2);
  if (bits > 5 && x.raw < -(1 << (20 - bits))) return {0};  // x < -32
  const Q rest = Q::of((x.raw & (quarter - 1)) - quarter);  // in [-1/4, 0)
  // Taylor's series about -1/8.
  const Q middle = Q::constant(1895147668), third = Q::constant(715827883);
  const Q t = rest.shifted(bits) + Q{1 << 12}, t2 = t * t, t3 = t2 * t, t4 = t2 * t2;
  const Q higher = ((t4.halved(2) + t3) * third + t2).halved(1);
  Q y = Q::of(cut(middle.raw + (middle * (t + higher)).raw, DType::i16));
  // e^-(2^k), k = -2, -1 ...
  static constexpr int32_t kPowers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int32_t quarters = (rest - x).raw;
  for (int k = -2; k < bits && k < 5; ++k)
    if (quarters & (1 << (fraction + k))) y = y * Q::constant(kPowers[k + 2]);
  return y;
}

/// 2 / (1 + x) of x in [0, 1], with two bits before the point.
Q twice_one_over_one_plus(Q x) {
  const Q half = Q::of((x.raw + INT16_MAX + 1) / 2);                // of the denominator
  Q y = Q::constant(1515870810) + half * Q::constant(-1010580540);  // 48/17 - 32/17 of it
  for (int i = 0; i < 3; ++i) y = y + (y * (Q{1 << 13} - half * y)).shifted(2);
  return y;
}

}  // namespace

int64_t divide_by_power(int64_t x, int power) {
  if (power == 0) return x;
  const int64_t half = int64_t{1} << (power - 1);
  return (x + (x < 0 ? -half : half)) / (int64_t{1} << power);
}

Multiplier::Multiplier(double real) {
  if (!(real > 0) || std::isinf(real)) return;
  const double part = std::frexp(real, &shift);
  int64_t rounded = std::llround(part * 0x1p31);
  if (rounded == int64_t{1} << 31) rounded /= 2, ++shift;
  if (shift < -31) rounded = 0, shift = 0;
  if (shift > 30) rounded = INT32_MAX, shift = 30;
  fraction = static_cast<int32_t>(rounded);
}

int32_t Multiplier::operator()(int32_t x) const {
  const int64_t moved = static_cast<int32_t>(static_cast<uint32_t>(x) << std::clamp(shift, 0, 31));
  const int64_t product = moved * fraction;
  return static_cast<int32_t>(
      divide_by_power((product + (product >= 0 ? 1 << 30 : 1 - (1 << 30))) / (int64_t{1} << 31), std::max(-shift, 0)));
}

int16_t logistic(int16_t x, int bits) {
  if (x == 0) return 1 << 14;
  const Q magnitude = Q::of(x > 0 ? -x : x);  // with a minus sign
  const int16_t y = twice_one_over_one_plus(exp_of_negative(magnitude, bits)).shifted(1).raw;
  return x > 0 ? y : static_cast<int16_t>(INT16_MAX - y);
}

int16_t tanh(int16_t x, int bits) {
  if (x == 0) return 0;
  const Q magnitude = Q::of(x > 0 ? -x : x);
  const int16_t y = (twice_one_over_one_plus(exp_of_negative(magnitude, bits + 1)) - Q{1 << 13}).shifted(2).raw;
  return x > 0 ? y : static_cast<int16_t>(-y);
}

Multiplier one_over_root(int32_t x) {
  Multiplier found;
  found.fraction = INT32_MAX;
  if (x <= 1) return found;
  int shift = 11;
  for (; x >= 1 << 29; ++shift) x /= 4;
  const int pairs = (std::countl_zero(static_cast<uint32_t>(x)) - 1) / 2 - 1;
  shift -= pairs;
  x <<= 2 * pairs;
  // Newton's method on numbers of 32 bits with three before the point, from 1 on.
  Multiplier times;
  const auto product = [&](int32_t a, int32_t b) { return times.fraction = b, times(a); };
  const auto moved = [](int64_t value, int bits) {
    const int64_t most = (int64_t{1} << (31 - bits)) - 1;
    return static_cast<int32_t>(value > most ? INT32_MAX : value < -most ? INT32_MIN : value * (int64_t{1} << bits));
  };
  const int32_t half = static_cast<int32_t>(divide_by_power(x >> 1, 1));
  int32_t y = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    const int32_t cube = moved(product(product(y, y), y), 6);
    y = moved(product((1 << 28) + (1 << 27), y) - product(half, cube), 3);
  }
  found.fraction = product(y, 1518500250);  // half of the root of 2
  if (shift < 0) found.fraction = static_cast<int32_t>(static_cast<uint32_t>(found.fraction) << -shift), shift = 0;
  found.shift = -shift;
  return found;
}

}  // namespace fixed_point

namespace {

using fixed_point::Multiplier;

enum Input : size_t { kX, kW, kR, kBias, kH, kC, kPeepholes, kNorm, kProjection, kProjectionBias };
enum Output : size_t { kY, kLastH, kLastC };
enum Gate : size_t { kIn, kForget, kCell, kOut };

constexpr Attribute<int64_t> kXZero{"x_zero_point", 0, MINNOW_DOC("of X")}, kYZero{"y_zero_point", 0, MINNOW_DOC("of Y and the states h")},
    kHiddenZero{"hidden_zero_point", 0, MINNOW_DOC("of the numbers before a projection; without one, that of Y")},
    kCellExponent{"cell_exponent", -12, MINNOW_DOC("cell states count 2^cell_exponent each; -15 to -9")},
    kCellClip{"cell_clip", 0, MINNOW_DOC("cell states are limited to [-cell_clip, cell_clip]; 0: they are not")},
    kProjectionClip{"projection_clip", 0, MINNOW_DOC("the same for Y")};
constexpr Attribute<float> kHiddenScale{"hidden_scale", 1, MINNOW_DOC("of the numbers before a projection; without one, that of Y")},
    kProjectionScale{"projection_scale", 1, MINNOW_DOC("a step of the product with the projection, in steps of Y")};
constexpr AttributeSpec kXScales = required("x_scales", AttributeKind::reals,
                                            MINNOW_DOC("a step of X W, in steps of the gate: one for each gate")),
                        kHScales = required("h_scales", AttributeKind::reals, MINNOW_DOC("the same for h R")),
                        kPeepholeScales = optional("peephole_scales", AttributeKind::reals, MINNOW_DOC("the same for P c")),
                        kNormScales = optional("norm_scales", AttributeKind::reals, MINNOW_DOC("of the factors of the normalization"));

Shapes shapes(const NodeView& node) {
  const Sizes x = node.input_sizes(kX), w = node.input_sizes(kW), r = node.input_sizes(kR);
  if (x.rank() != 3) node.fail("X should have shape [steps, batch, input], it has shape {}", x);
  if (w.rank() != 3 || differ(w[2], x[2]) || less(w[0], 3) || less(4, w[0]))
    node.fail("W should have shape [3 or 4, hidden, {}], it has shape {}", x[2], w);
  const Size gates = w[0], hidden = w[1];
  if (r.rank() != 3 || differ(r[0], gates) || differ(r[1], hidden))
    node.fail("R should have shape [{}, {}, output], it has shape {}", gates, hidden, r);
  const Size output = r[2];
  const auto expect = [&](size_t input, const Sizes& expected) {
    if (const auto shape = node.known_sizes(input); shape && differ(*shape, expected))
      node.fail("input {} (\"{}\") should have shape {}, it has shape {}", input, node.input_name(input), expected, *shape);
  };
  expect(kBias, {gates, hidden});
  expect(kH, {x[1], output});
  expect(kC, {x[1], hidden});
  expect(kNorm, {gates, hidden});
  expect(kProjection, {output, hidden});
  expect(kProjectionBias, {output});
  if (!node.has_input(kProjection) && differ(output, hidden))
    node.fail("without a projection R should have shape [{}, {}, {}], it has shape {}", gates, hidden, hidden, r);
  if (gates.is_number()) {
    const int64_t count = gates.number();
    expect(kPeepholes, {count - 1, hidden});
    const auto check_scales = [&](std::string_view name, int64_t wanted, bool needed) {
      const auto* scales = node.find<std::vector<float>>(name);
      if (needed && (scales ? static_cast<int64_t>(scales->size()) : 0) != wanted)
        node.fail("{} should hold {} numbers, it holds {}", name, wanted, scales ? scales->size() : 0);
    };
    check_scales(kXScales.name, count, true);
    check_scales(kHScales.name, count, true);
    check_scales(kPeepholeScales.name, count - 1, node.has_input(kPeepholes));
    check_scales(kNormScales.name, count, node.has_input(kNorm));
  }
  if (const int64_t exponent = node.attribute(kCellExponent); exponent < -15 || exponent > -9)
    node.fail("cell_exponent should be -15 to -9, it is {}", exponent);
  const Sizes y{x[0], x[1], output}, h{x[1], output}, c{x[1], hidden};
  return {y, h, c};
}

std::vector<Multiplier> multipliers(const NodeView& node, std::string_view name) {
  std::vector<Multiplier> made;
  if (const auto* scales = node.find<std::vector<float>>(name))
    for (const float scale : *scales) made.emplace_back(static_cast<double>(scale));
  return made;
}

/// A matrix of 8-bit weights whose products begin at a bias less zero point * sum of the row.
struct Matrix {
  const int8_t* weights;
  size_t columns;
  Numbers<int32_t> begin;

  Matrix(const int8_t* weights, size_t rows, size_t columns, const int32_t* bias, int64_t zero_point)
      : weights(weights), columns(columns), begin(rows) {
    for (size_t row = 0; row < rows; ++row) {
      const int8_t* w = weights + row * columns;
      const int64_t sum = std::accumulate(w, w + columns, int64_t{0});
      begin[row] = static_cast<int32_t>(static_cast<uint32_t>(bias ? bias[row] : 0) - static_cast<uint32_t>(zero_point * sum));
    }
  }
  int32_t product(size_t row, const int8_t* x) const {
    const int8_t* w = weights + row * columns;
    uint32_t sum = static_cast<uint32_t>(begin[row]);  // wraps around
    for (size_t i = 0; i < columns; ++i) sum += static_cast<uint32_t>(w[i] * x[i]);
    return static_cast<int32_t>(sum);
  }
};

/// y = (y - mean) / deviation * factor + bias, in numbers with ten more bits.
void normalize(std::span<int16_t> y, const int16_t* factors, const int32_t* bias, double scale) {
  const int64_t count = static_cast<int64_t>(y.size());
  if (count == 0) return;
  int64_t sum = 0, squares = 0;
  for (const int16_t value : y) sum += value, squares += value * value;
  const int32_t mean = static_cast<int32_t>(sum * 1024 / count);
  const int64_t variance = (squares * ((1 << 20) / count) - int64_t{mean} * mean) / (1 << 20);
  const int32_t floor = scale > 0 ? static_cast<int32_t>(std::clamp(10000 * scale, 1.0, 1e9)) : 1;
  const Multiplier over_deviation = fixed_point::one_over_root(variance < 1 ? floor : static_cast<int32_t>(variance));
  Multiplier step(scale);
  step.shift += 12;
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t value = int64_t{over_deviation(1024 * y[i] - mean)} * factors[i] + (bias ? bias[i] : 0);
    y[i] = static_cast<int16_t>(fixed_point::cut(step(static_cast<int32_t>((value > 0 ? value + 512 : value - 512) / 1024)), DType::i16));
  }
}

void reference(const NodeView& node, KernelArgs& args) {
  const Shape& x_shape = node.input_shape(kX);
  const Shape& r_shape = node.input_shape(kR);
  const size_t steps = static_cast<size_t>(x_shape[0]), batch = static_cast<size_t>(x_shape[1]), inputs = static_cast<size_t>(x_shape[2]);
  const size_t gates = static_cast<size_t>(r_shape[0]), hidden = static_cast<size_t>(r_shape[1]), outputs = static_cast<size_t>(r_shape[2]);
  const size_t skipped = 4 - gates;  // the input gate, which is 1 - the forget gate
  const int8_t* x = args.input(kX).data<int8_t>();
  const int16_t* peepholes = args.has_input(kPeepholes) ? args.input(kPeepholes).data<int16_t>() : nullptr;
  const int16_t* norm = args.has_input(kNorm) ? args.input(kNorm).data<int16_t>() : nullptr;
  const int32_t* bias = args.has_input(kBias) ? args.input(kBias).data<int32_t>() : nullptr;
  const int64_t y_zero = node.attribute(kYZero), hidden_zero = node.attribute(kHiddenZero);
  // LiteRT takes the zero point of the numbers before a projection with the opposite sign, which shows where they are cut to 8 bits.
  const int64_t zero_before = args.has_input(kProjection) ? -hidden_zero : hidden_zero;
  const int exponent = static_cast<int>(node.attribute(kCellExponent));
  const int64_t cell_clip = node.attribute(kCellClip), projection_clip = node.attribute(kProjectionClip);
  const Matrix w(args.input(kW).data<int8_t>(), gates * hidden, inputs, norm ? nullptr : bias, node.attribute(kXZero));
  const Matrix r(args.input(kR).data<int8_t>(), gates * hidden, outputs, nullptr, y_zero);
  const std::vector<Multiplier> x_steps = multipliers(node, kXScales.name), h_steps = multipliers(node, kHScales.name),
                                peephole_steps = multipliers(node, kPeepholeScales.name);
  const auto* norm_scales = node.find<std::vector<float>>(kNormScales.name);
  const Multiplier hidden_step(static_cast<double>(0x1p-30f / node.attribute(kHiddenScale)));
  const Multiplier projection_step(static_cast<double>(node.attribute(kProjectionScale)));
  std::optional<Matrix> projection;
  if (args.has_input(kProjection))
    projection.emplace(args.input(kProjection).data<int8_t>(), outputs, hidden,
                       args.has_input(kProjectionBias) ? args.input(kProjectionBias).data<int32_t>() : nullptr, zero_before);

  const int8_t* first_h = args.input(kH).data<int8_t>();
  const int16_t* first_c = args.input(kC).data<int16_t>();
  Numbers<int8_t> h(first_h, first_h + batch * outputs), y(steps * batch * outputs), before(hidden);
  Numbers<int16_t> c(first_c, first_c + batch * hidden), values(4 * hidden);
  Pace pace;
  for (size_t step = 0; step < steps; ++step) {
    for (size_t item = 0; item < batch; ++item) {
      pace.step(gates * hidden * (inputs + outputs) + 1);
      const int8_t* now = x + (step * batch + item) * inputs;
      int8_t* state = h.data() + item * outputs;
      int16_t* cell = c.data() + item * hidden;
      const auto compute = [&](Gate gate) {
        const size_t row = gate - skipped;
        int16_t* value = values.data() + gate * hidden;
        for (size_t i = 0; i < hidden; ++i) {
          const int32_t of_x = fixed_point::cut(x_steps[row](w.product(row * hidden + i, now)), DType::i16);
          value[i] = static_cast<int16_t>(fixed_point::cut(int64_t{of_x} + h_steps[row](r.product(row * hidden + i, state)), DType::i16));
        }
        if (peepholes && gate != kCell) {
          const size_t p = row - (gate == kOut ? 1 : 0);
          for (size_t i = 0; i < hidden; ++i)
            value[i] = static_cast<int16_t>(
                fixed_point::cut(int64_t{value[i]} + peephole_steps[p](peepholes[p * hidden + i] * cell[i]), DType::i16));
        }
        if (norm)
          normalize({value, hidden}, norm + row * hidden, bias ? bias + row * hidden : nullptr, static_cast<double>((*norm_scales)[row]));
        for (size_t i = 0; i < hidden; ++i) value[i] = gate == kCell ? fixed_point::tanh(value[i], 3) : fixed_point::logistic(value[i], 3);
        return value;
      };
      const int16_t* forget = compute(kForget);
      const int16_t* candidate = compute(kCell);
      const int16_t* in = skipped ? nullptr : compute(kIn);
      for (size_t i = 0; i < hidden; ++i) {
        const int32_t share = in ? in[i] : INT16_MAX - forget[i];
        const int64_t kept = fixed_point::divide_by_power(forget[i] * cell[i], 15),
                      added = fixed_point::divide_by_power(share * candidate[i], 30 + exponent);
        int32_t next = fixed_point::cut(int64_t{static_cast<int16_t>(kept)} + static_cast<int16_t>(added), DType::i16);
        if (cell_clip > 0) next = static_cast<int32_t>(std::clamp<int64_t>(next, -cell_clip, cell_clip));
        cell[i] = static_cast<int16_t>(next);
      }
      const int16_t* out = compute(kOut);
      for (size_t i = 0; i < hidden; ++i)
        before[i] =
            static_cast<int8_t>(fixed_point::cut(hidden_step(out[i] * fixed_point::tanh(cell[i], 15 + exponent)) + zero_before, DType::i8));
      for (size_t i = 0; i < outputs; ++i) {
        int32_t next =
            projection ? fixed_point::cut(int64_t{projection_step(projection->product(i, before.data()))} + y_zero, DType::i8) : before[i];
        if (projection && projection_clip > 0) next = static_cast<int32_t>(std::clamp<int64_t>(next, -projection_clip, projection_clip));
        state[i] = static_cast<int8_t>(next);
      }
    }
    std::copy(h.begin(), h.end(), y.begin() + static_cast<ptrdiff_t>(step * h.size()));
  }
  std::copy(y.begin(), y.end(), args.output(kY).data<int8_t>());
  if (args.has_output(kLastH)) std::copy(h.begin(), h.end(), args.output(kLastH).data<int8_t>());
  if (args.has_output(kLastC)) std::copy(c.begin(), c.end(), args.output(kLastC).data<int16_t>());
}

double operations(const NodeView& node) {
  const Shape &x = node.input_shape(kX), &r = node.input_shape(kR);
  return 2 * static_cast<double>(x[0] * x[1]) * static_cast<double>(r[0] * r[1]) * static_cast<double>(x[2] + r[2]);
}

constexpr DTypes kI8 = one_of({DType::i8}), kI16 = one_of({DType::i16}), kI32 = one_of({DType::i32});

constexpr List<Operator> definitions() {
  return {{.name = "minnow.FixedPointLstm",
           .doc = MINNOW_DOC(
               "An LSTM in integers with LiteRT's roundings, along the steps of X. Gates come in the order input, forget, cell, output; "
               "without "
               "the first, the input gate is 1 - the forget gate. Gates have 16 bits: X W + B and h R are rounded to steps of 2^-12 apart "
               "(with "
               "normalization, to steps of the scales' choice), then come the peepholes P c, the normalization, and gemmlowp's logistic "
               "function or tanh."),
           .inputs = {{"X", kI8},
                      {"W", kI8},
                      {"R", kI8},
                      {"B", kI32, kOptional},
                      {"initial_h", kI8},
                      {"initial_c", kI16},
                      {"P", kI16, kOptional},
                      {"norm", kI16, kOptional},
                      {"projection", kI8, kOptional},
                      {"projection_bias", kI32, kOptional}},
           .outputs = {{"Y", same_as("X")}, {"Y_h", same_as("X"), kOptional}, {"Y_c", same_as("initial_c"), kOptional}},
           .attributes = {kXScales, kHScales, kPeepholeScales, kNormScales, kXZero, kYZero, kHiddenScale, kHiddenZero, kProjectionScale,
                          kCellExponent, kCellClip, kProjectionClip},
           .infer_shapes = shapes,
           .reference = reference,
           .operations = operations}};
}

}  // namespace

std::span<const Operator> fixed_point_lstm_operators() { return operator_table<definitions>(); }

}  // namespace minnow
