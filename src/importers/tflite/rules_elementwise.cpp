// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/quantized_sum.h"
#include "importers/builder/arithmetic.h"
#include "importers/tflite/rules.h"

namespace minnow::tflite {

Exprs import_unary(TfliteNode& node, TypedBuilder& p) { return {p.op(node.rule->target, {node.input(0)})}; }

Exprs import_binary(TfliteNode& node, TypedBuilder& p) { return {p.op(node.rule->target, {node.input(0), node.input(1)})}; }

namespace {

/// The sum of bytes (or a difference) as the format's kernels make it: numbers less their zero points are multiplied by integers of 21
/// bits, added and shifted, with ties upward. Absent if they do otherwise.
std::optional<Expr> sum_of_steps(TfliteNode& node, TypedBuilder& p, bool subtracts) {
  const TensorInfo *in[] = {&node.input_info(0), &node.input_info(1)}, &y = node.output_info(0);
  if (!y.quantized() || !y.quantization.per_tensor() || (y.dtype != DType::i8 && y.dtype != DType::u8)) return {};
  const float out_scale = y.quantization.scale[0];
  float ratios[2];
  for (size_t i = 0; i < 2; ++i) {
    if (in[i]->dtype != y.dtype || !in[i]->quantized() || !in[i]->quantization.per_tensor()) return {};
    ratios[i] = in[i]->quantization.scale[0] / out_scale;
    if (!(ratios[i] >= 0x1p-10f && ratios[i] < 0x1p8f)) return {};
  }
  const int shift = 20 - std::ilogb(std::max(ratios[0], ratios[1]));
  const int64_t lowest = y.dtype == DType::i8 ? -128 : 0;
  const auto zero_of = [](const TensorInfo& x) { return x.quantization.zero_point.empty() ? 0 : x.quantization.zero_point[0]; };
  const Ints zeros = {zero_of(*in[0]), zero_of(*in[1]), zero_of(y)};
  for (int64_t zero : zeros)
    if (zero < lowest || zero > lowest + 255) return {};
  Ints factors;
  for (float ratio : ratios) factors.push_back(std::llrint(std::ldexp(static_cast<double>(ratio), shift)));
  if (subtracts) factors[1] = -factors[1];
  if (in[0]->shape != in[1]->shape || node.raw[0].value()->constant() || node.raw[1].value()->constant()) {
    // Broadcast operands are cheaper inside one fused elementwise program.
    const auto at = [](const Ints& list, size_t i) { return static_cast<int32_t>(list[i]); };
    const QuantizedSum sum{{at(factors, 0), at(factors, 1)}, {at(zeros, 0), at(zeros, 1), at(zeros, 2)}, 0, 0, shift};
    const Expr steps = sum.steps(p, node.raw[0], node.raw[1]);
    return node.activated(p.op("Mul", {steps, p.scalar(static_cast<double>(out_scale))}), 0);
  }
  Ints bounds = {lowest, lowest + 255};
  const int64_t function = node.option<int8_t>(0, 0);
  const auto bound = [&](size_t i, double value) {
    bounds[i] = std::clamp<int64_t>(zeros[2] + std::llrint(value / static_cast<double>(out_scale)), lowest, lowest + 255);
  };
  if (function < 0 || function > 3) return {};
  if (function) bound(0, function == 2 ? -1 : 0);
  if (function > 1) bound(1, function == 2 ? 1 : 6);
  const Expr sum = p.op("minnow.QuantizedAdd", {node.raw[0], node.raw[1]},
                        {{"factors", factors}, {"zero_points", zeros}, {"shift", static_cast<int64_t>(shift)}, {"bounds", bounds}});
  return dequantize(p, sum, y.quantization, 0);
}

}  // namespace

Exprs import_binary_activated(TfliteNode& node, TypedBuilder& p) {
  const std::string_view op = node.rule->target;
  if (op == "Add" || op == "Sub")
    if (const auto sum = sum_of_steps(node, p, op == "Sub")) return {*sum};
  return {node.activated(p.op(op, {node.input(0), node.input(1)}), 0)};
}

Exprs import_div(TfliteNode& node, TypedBuilder& p) { return {node.activated(p.op("Div", {node.input(0), node.input(1)}), 0)}; }

Exprs import_add_n(TfliteNode& node, TypedBuilder& p) { return {p.op("Sum", node.inputs)}; }

Exprs import_atan2(TfliteNode& node, TypedBuilder& p) { return {atan2(p, node.input(0), node.input(1))}; }

Exprs import_bitcast(TfliteNode& node, TypedBuilder& p) {
  const DType to = node.output_info(0).dtype, from = p.dtype(node.input(0));
  if (to == DType::undefined || size_of(to) != size_of(from)) node.refuse("elements of {} cannot become {}", from, to);
  return {p.op("BitCast", {node.input(0)}, {{"to", static_cast<int64_t>(to)}})};
}

Exprs import_bitwise_xor(TfliteNode& node, TypedBuilder& p) {
  return {p.op(p.dtype(node.input(0)) == DType::boolean ? "Xor" : "BitwiseXor", {node.input(0), node.input(1)})};
}

Exprs import_right_shift(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), by = node.input(1);
  const DType dtype = p.dtype(x);
  if (is_unsigned(dtype)) return {p.op("BitShift", {x, by}, {{"direction", std::string("RIGHT")}})};
  // Arithmetic: divided by a power of two and rounded down. The power is made by shifting, which keeps it exact.
  const Expr one = p.scalar(1, DType::u64);
  const Expr power = p.cast(p.op("BitShift", {one, p.cast(by, DType::u64)}, {{"direction", std::string("LEFT")}}), DType::i64);
  return {p.cast(floor_div(p, p.i64(x), power), dtype)};
}

Exprs import_bucketize(TfliteNode& node, TypedBuilder& p) {
  const FlatNumbers<float> boundaries = node.options().numbers<float>(0);
  const std::vector<double> values = boundaries.copy<double>();
  const Expr x = p.cast(node.input(0), DType::f32);
  const Expr above = p.op("GreaterOrEqual", {p.unsqueeze(x, {-1}), p.reals({static_cast<int64_t>(values.size())}, values)});
  return {p.op("ReduceSum", {p.cast(above, DType::i32), p.constant({-1})}, {{"keepdims", int64_t{0}}})};
}

Exprs import_cast(TfliteNode& node, TypedBuilder& p) {
  const DType to = node.output_info(0).dtype;
  if (to == DType::undefined) node.refuse("its result is of no type that is supported");
  return {p.cast(node.input(0), to)};
}

Exprs import_clipped_relu(TfliteNode& node, TypedBuilder& p) {
  const bool six = node.rule->name == "RELU6", one = node.rule->name == "RELU_0_TO_1";
  return {clip(p, node.input(0), six || one ? 0 : -1, six ? 6 : 1)};
}

Exprs import_dequantize(TfliteNode& node, TypedBuilder& p) {
  return {node.has(0) && node.input_info(0).quantized() ? node.real(0) : p.cast(node.input(0), DType::f32)};
}

Exprs import_quantize(TfliteNode& node, TypedBuilder& p) {
  const TensorInfo& to = node.output_info(0);
  if (!to.quantized()) node.fail("its result is not quantized");
  const Expr& x = node.input(0);
  const TensorInfo& from = node.input_info(0);
  if (from.quantized() && from.quantization == to.quantization && from.dtype == to.dtype) return {x};
  return {quantize(p, node.real(0), to)};
}

Exprs import_fake_quant(TfliteNode& node, TypedBuilder& p) {
  // The range is moved a little so that zero is one of its steps.
  const double low = static_cast<double>(node.real_option(0, 0)), high = static_cast<double>(node.real_option(1, 0));
  const int64_t bits = node.option<int32_t>(2, 8);
  if (!(low < high) || bits < 2 || bits > 16) node.fail("a range from {} to {} in {} bits is not valid", low, high, bits);
  const double least = node.flag(3) ? 1 : 0, most = std::exp2(static_cast<double>(bits)) - 1;
  const double scale = (high - low) / (most - least);
  const double zero = std::clamp(std::round(least - low / scale), least, most);
  const double from = (least - zero) * scale, to = (most - zero) * scale;
  const Expr inside = clip(p, node.input(0), from, to);
  const Expr steps =
      p.op("Floor", {p.op("Add", {p.op("Mul", {p.op("Sub", {inside, p.scalar(from)}), p.scalar(1 / scale)}), p.scalar(0.5)})});
  return {p.op("Add", {p.op("Mul", {steps, p.scalar(scale)}), p.scalar(from)})};
}

Exprs import_floor_div(TfliteNode& node, TypedBuilder& p) { return {floor_div(p, node.input(0), node.input(1))}; }
Exprs import_floor_mod(TfliteNode& node, TypedBuilder& p) { return {floor_mod(p, node.input(0), node.input(1))}; }

Exprs import_gelu(TfliteNode& node, TypedBuilder& p) {
  return {p.op("Gelu", {node.input(0)}, {{"approximate", std::string(node.flag(0) ? "tanh" : "none")}})};
}

Exprs import_leaky_relu(TfliteNode& node, TypedBuilder& p) {
  return {p.op("LeakyRelu", {node.input(0)}, {{"alpha", node.real_option(0, 0)}})};
}

Exprs import_not_equal(TfliteNode& node, TypedBuilder& p) { return {p.op("Not", {p.op("Equal", {node.input(0), node.input(1)})})}; }

Exprs import_rsqrt(TfliteNode& node, TypedBuilder& p) { return {p.op("Reciprocal", {p.op("Sqrt", {node.input(0)})})}; }

Exprs import_select(TfliteNode& node, TypedBuilder& p) {
  Expr condition = node.input(0);
  const Expr a = node.input(1), b = node.input(2);
  const int64_t rank = p.rank(a);
  // SELECT with a vector chooses whole rows.
  if (node.rule->name == "SELECT" && p.rank(condition) == 1 && rank > 1) {
    Ints axes;
    for (int64_t i = 1; i < rank; ++i) axes.push_back(i);
    condition = p.unsqueeze(condition, axes);
  }
  return {p.op("Where", {condition, a, b})};
}

Exprs import_square(TfliteNode& node, TypedBuilder& p) { return {p.op("Mul", {node.input(0), node.input(0)})}; }

Exprs import_squared_difference(TfliteNode& node, TypedBuilder& p) {
  const Expr difference = p.op("Sub", {node.input(0), node.input(1)});
  return {p.op("Mul", {difference, difference})};
}

}  // namespace minnow::tflite
