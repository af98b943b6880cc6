// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products of 8-bit integers, with a 32-bit result, requantized to 8 bits, or scaled to real numbers.
#include "ops/quantized.h"
#include "ops/batch.h"
#include "ops/operator_table.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "graph/activation.h"
#include "graph/quantized_sum.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"

namespace minnow {

Shape aligned_shape(const NodeView& node, size_t input, const Shape& to, size_t axis) {
  const Shape& shape = node.input_shape(input);
  if (shape.elements() == 1) return {};
  Shape aligned = shape;
  if (shape.rank() == 1 && axis < to.rank() && shape[0] == to[axis]) {
    aligned = Shape::filled(to.rank(), 1);
    aligned[axis] = shape[0];
  }
  bool fits = shape.rank() > 0 && aligned.rank() == to.rank();
  for (size_t i = 0; fits && i < to.rank(); ++i) fits = aligned[i] == 1 || aligned[i] == to[i];
  if (!fits)
    node.fail("input {} (\"{}\") of shape {} is neither one element nor {}", input, node.input_name(input), shape,
              axis < to.rank() ? format("one for each of {}", to[axis]) : std::string("anything else that fits"));
  return aligned;
}

namespace {

double one_element(const NodeView& node, const KernelArgs& args, size_t input) {
  const Numbers<double> values = args.reals(input);
  if (values.size() != 1) node.fail("input {} (\"{}\") should hold one element, it holds {}", input, node.input_name(input), values.size());
  return values[0];
}

}  // namespace

Numbers<double> centered(const NodeView& node, const KernelArgs& args, size_t values, size_t zero_point, size_t axis) {
  Numbers<double> x = args.reals(values);
  if (!args.has_input(zero_point)) return x;
  const Shape& shape = args.input(values).shape();
  const Shape aligned = aligned_shape(node, zero_point, shape, axis);
  const Numbers<double> zero = args.reals(zero_point);
  if (zero.size() == 1)
    for (double& value : x) value -= zero[0];
  else
    walk_broadcast(aligned, shape, [&](size_t i, size_t at) { x[i] -= zero[at]; });
  return x;
}

int64_t requantize(double sum, float multiplier, int64_t zero_point, int64_t lowest, int64_t highest, float residual, float step) noexcept {
  const float scaled = std::nearbyint(std::fma(residual, step, static_cast<float>(sum) * multiplier));
  const float low = static_cast<float>(lowest - zero_point), high = static_cast<float>(highest - zero_point);
  if (std::isnan(scaled)) return zero_point;
  return (scaled < low ? lowest - zero_point : scaled > high ? highest - zero_point : static_cast<int64_t>(scaled)) + zero_point;
}

namespace {

void check_result(const NodeView& node) {
  if (node.has_input(kResultScale) != node.has_input(kResultZero))
    node.fail("give y_scale and y_zero_point both, or neither for a result in f32");
  const Activation activation = Activation::of(node);
  if (has_real_result(node) && !activation.joins_rounding() && activation.kind != Activation::Kind::clip)
    node.fail("the activation of a result in f32 should be Relu, Clip or nothing");
}

/// A byte of a sum, `multiplier` being input scale * weight scale. Relu and no activation leave one product and one rounding. `step` is
/// that of the residual in those of the result.
int64_t byte_of(double sum, float multiplier, float y_scale, int64_t zero, DType dtype, const Activation& activation, float residual = 0,
                float step = 0) {
  const int64_t lowest = lowest_of(dtype), highest = highest_of(dtype);
  if (activation.kind == Activation::Kind::none) return requantize(sum, multiplier / y_scale, zero, lowest, highest, residual, step);
  if (activation.kind == Activation::Kind::relu)
    return requantize(sum, multiplier / y_scale, zero, std::max(zero, lowest), highest, residual, step);
  return requantize(activation(double{static_cast<float>(sum) * multiplier}), 1 / y_scale, zero, lowest, highest);
}

/// An element of a result of real numbers: of a sum, `multiplier` being input scale * weight scale.
double scaled(double sum, float multiplier, const Activation& activation) {
  const double product = double{static_cast<float>(sum) * multiplier};
  return activation.kind == Activation::Kind::none ? product : activation(product);
}

void check_one_element(const NodeView& node, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs)
    if (!node.may_hold_one(i))
      node.fail("input {} (\"{}\") should hold one element, it has shape {}", i, node.input_name(i), node.input_sizes(i));
}

// Convolutions: weights are quantized as a whole or along axis 0.

Shapes conv_integer_shape(const NodeView& node) {
  check_one_element(node, {2});
  if (node.knows_shape(3) && node.knows_shape(1)) aligned_shape(node, 3, node.input_shape(1), 0);
  return {ConvGeometry::output_sizes(node)};
}

void conv_integer(const NodeView& node, KernelArgs& args) {
  const ConvGeometry conv = ConvGeometry::of(node);
  Numbers<double> sums(static_cast<size_t>(conv.output_shape().elements()));
  convolve<double>(conv, centered(node, args, 0, 2, 0).data(), centered(node, args, 1, 3, 0).data(), sums.data());
  args.write(0, Numbers<int64_t>(sums.begin(), sums.end()));
}

Shapes quantized_conv_shape(const NodeView& node) {
  check_one_element(node, {2, kResultZero});
  check_result(node);
  const Sizes result = ConvGeometry::output_sizes(node);
  // A channel of x has its own scale only where it alone makes a channel of the result.
  if (!node.may_hold_one(1) && node.knows_shape(3) && (node.attribute(kGroup) != node.input_shape(3)[0] || node.input_shape(3)[1] != 1))
    check_one_element(node, {1});
  if (node.has_input(kResidual)) {
    if (!node.has_input(kResidualScale) || !node.has_input(kResidualZero) || has_real_result(node) ||
        !Activation::of(node).joins_rounding())
      node.fail("a residual needs its scale and zero point, those of y, and Relu or none");
    check_one_element(node, {kResultScale, kResidualScale, kResidualZero});
    if (const auto shape = node.known_sizes(kResidual); shape && differ(*shape, result))
      node.fail("the residual has shape {}, not {}", *shape, result);
  }
  for (size_t i : {size_t{1}, size_t{4}, size_t{5}, kResultScale})
    if (const auto shape = node.known_sizes(i); !node.may_hold_one(i) && differ(*shape, Sizes{result[1]}))
      node.fail("input {} (\"{}\") should have shape [] or [{}], it has shape {}", i, node.input_name(i), result[1], *shape);
  return {result};
}

Shapes qlinear_conv_shape(const NodeView& node) {
  check_one_element(node, {1, kResultScale});
  return quantized_conv_shape(node);
}

void quantized_conv(const NodeView& node, KernelArgs& args) {
  const ConvGeometry conv = ConvGeometry::of(node);
  const int64_t positions = conv.window.output_positions();
  Numbers<double> sums = begin_with_bias(args, 8, conv.batch, conv.out_channels, positions);
  convolve<double>(conv, centered(node, args, 0, 2, 0).data(), centered(node, args, 3, 5, 0).data(), sums.data());
  const auto scale_of = [](const Numbers<double>& scales, size_t channel) {
    return static_cast<float>(scales[scales.size() == 1 ? 0 : channel]);
  };
  const Numbers<double> x_scale = args.reals(1), w_scale = args.reals(4);
  const auto for_each_sum = [&](auto f) {
    for (size_t image = 0, i = 0; i < sums.size(); ++image) {
      const size_t channel = image % static_cast<size_t>(conv.out_channels);
      const float scale = scale_of(x_scale, channel) * scale_of(w_scale, channel);
      for (const size_t end = i + static_cast<size_t>(positions); i < end; ++i) f(i, scale, channel);
    }
  };
  const Activation activation = Activation::of(node);
  if (has_real_result(node)) {
    for_each_sum([&](size_t i, float scale, size_t) { sums[i] = scaled(sums[i], scale, activation); });
    return args.write(0, sums);
  }
  const Numbers<double> y_scale = args.reals(kResultScale);
  const int64_t zero = static_cast<int64_t>(one_element(node, args, kResultZero));
  const DType dtype = args.output(0).dtype();
  const bool adds = args.has_input(kResidual);
  const Numbers<double> residual = adds ? centered(node, args, kResidual, kResidualZero, 0) : Numbers<double>(sums.size());
  const float step = adds ? scale_of(args.reals(kResidualScale), 0) / scale_of(y_scale, 0) : 0;  // in those of the result
  Numbers<int64_t> y(sums.size());
  for_each_sum([&](size_t i, float scale, size_t channel) {
    y[i] = byte_of(sums[i], scale, scale_of(y_scale, channel), zero, dtype, activation, static_cast<float>(residual[i]), step);
  });
  args.write(0, y);
}

// Products: A is quantized as a whole or by row, B as a whole or by column.

/// The result with the dimensions that a vector operand takes away.
Shape full_result(const MatMulGeometry& p) {
  Shape shape = p.batch;
  shape.push_back(p.m);
  shape.push_back(p.n);
  return shape;
}
size_t row_axis(const Shape& shape) { return shape.rank() < 2 ? kMaxRank : shape.rank() - 2; }
size_t column_axis(const Shape& shape) { return shape.rank() < 2 ? kMaxRank : shape.rank() - 1; }

void check_along(const NodeView& node, size_t values, std::initializer_list<size_t> inputs, bool rows) {
  if (!node.knows_shape(values)) return;
  const Shape& shape = node.input_shape(values);
  for (size_t i : inputs)
    if (node.knows_shape(i)) {
      Shape along = shape;
      along[rows || along.rank() < 2 ? along.rank() - 1 : along.rank() - 2] = 1;
      aligned_shape(node, i, along, rows ? row_axis(shape) : column_axis(shape));
    }
}

Shapes matmul_integer_shape(const NodeView& node) {
  const MatMulSizes p = MatMulSizes::of(node);
  check_along(node, 0, {2}, true), check_along(node, 1, {3}, false);
  return {p.result};
}

void matmul_integer(const NodeView& node, KernelArgs& args) {
  const MatMulGeometry p = MatMulGeometry::of(node);
  Numbers<double> sums(static_cast<size_t>(p.result.elements()));
  multiply<double>(p, centered(node, args, 0, 2, row_axis(args.input(0).shape())).data(),
                   centered(node, args, 1, 3, column_axis(args.input(1).shape())).data(), sums.data());
  args.write(0, Numbers<int64_t>(sums.begin(), sums.end()));
}

Shapes quantized_matmul_shape(const NodeView& node) {
  check_one_element(node, {kResultScale, kResultZero});
  check_result(node);
  const MatMulSizes p = MatMulSizes::of(node);
  check_along(node, 0, {1, 2}, true), check_along(node, 3, {4, 5}, false);
  if (const auto bias = node.known_sizes(8); bias && differ(*bias, Sizes{p.n}))
    node.fail("the bias should have shape [{}], it has shape {}", p.n, *bias);
  return {p.result};
}

void quantized_matmul(const NodeView& node, KernelArgs& args) {
  const MatMulGeometry p = MatMulGeometry::of(node);
  const Shape result = full_result(p), &a = args.input(0).shape(), &b = args.input(3).shape();
  Numbers<double> sums(static_cast<size_t>(p.result.elements()));
  multiply<double>(p, centered(node, args, 0, 2, row_axis(a)).data(), centered(node, args, 3, 5, column_axis(b)).data(), sums.data());
  if (args.has_input(8)) {
    const Numbers<double> bias = args.reals(8);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += bias[i % bias.size()];
  }
  // Scales of rows of A and columns of B, as factors of each element of the result.
  Numbers<float> multiplier(sums.size());
  const Numbers<double> a_scale = args.reals(1), b_scale = args.reals(4);
  walk_broadcast(aligned_shape(node, 1, a, row_axis(a)), result,
                 [&](size_t i, size_t at) { multiplier[i] = static_cast<float>(a_scale[at]); });
  walk_broadcast(aligned_shape(node, 4, b, column_axis(b)), result,
                 [&](size_t i, size_t at) { multiplier[i] *= static_cast<float>(b_scale[at]); });
  const Activation activation = Activation::of(node);
  if (has_real_result(node)) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = scaled(sums[i], multiplier[i], activation);
    return args.write(0, sums);
  }
  const float y_scale = static_cast<float>(one_element(node, args, kResultScale));
  const DType dtype = args.output(0).dtype();
  const double zero_point = one_element(node, args, kResultZero);
  if (is_float(dtype)) {
    for (float& each : multiplier) each /= y_scale;
    const double largest = largest_of(dtype);
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] = std::fmin(std::fmax(sums[i] * static_cast<double>(multiplier[i]) + zero_point, -largest), largest);
    return args.write(0, sums);
  }
  const int64_t zero = static_cast<int64_t>(zero_point);
  Numbers<int64_t> y(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) y[i] = byte_of(sums[i], multiplier[i], y_scale, zero, dtype, activation);
  args.write(0, y);
}

// Back to the form DequantizeLinear -> operator (-> QuantizeLinear).

Expr flat(const NodeView& node, const Exprs& inputs, size_t i) {
  if (node.input_shape(i).rank() == 0) return inputs[i];
  return op("Reshape", {inputs[i], inputs[i].builder().constant(Ints{})});
}

/// Scale and zero point of one element become scalars; along an axis they stay vectors.
Expr dequantized(const NodeView& node, const Exprs& inputs, size_t values, size_t axis) {
  const bool whole = node.input_shape(values + 1).elements() == 1 && node.input_shape(values + 2).elements() == 1;
  Expr scale = inputs[values + 1], zero = inputs[values + 2];
  if (whole) {
    scale = flat(node, inputs, values + 1), zero = flat(node, inputs, values + 2);
  } else {
    // Both must have one entry for each place along the axis.
    const Expr count = scale.builder().constant({node.input_shape(values)[axis]});
    const auto wide = [&](const Expr& x, size_t i) { return node.input_shape(i).elements() == 1 ? op("Expand", {x, count}) : x; };
    scale = wide(scale, values + 1), zero = wide(zero, values + 2);
  }
  const Expr y = op("DequantizeLinear", {inputs[values], scale, zero}, {{"axis", static_cast<int64_t>(axis)}});
  y.value()->type.dtype = DType::f32;
  return y;
}

Expr bias_of(const NodeView& node, const Exprs& inputs) {
  if (inputs.size() <= 8 || !inputs[8]) return {};
  Expr scale;
  if (node.is_constant(1) && node.is_constant(4)) {
    const Tensor &x = node.contents(1), &w = node.contents(4);
    const int64_t count = std::max(x.elements(), w.elements());
    Tensor product(DType::f32, count == 1 ? Shape{} : Shape{count});
    for (int64_t i = 0; i < count; ++i)
      product.writable().data<float>()[i] = w.data<float>()[w.elements() == 1 ? 0 : i] * x.data<float>()[x.elements() == 1 ? 0 : i];
    scale = inputs[4].builder().constant(product);
  } else {
    scale = op("Mul", {flat(node, inputs, 1), node.input_shape(4).elements() == 1 ? flat(node, inputs, 4) : inputs[4]});
  }
  if (node.input_dtype(8) == DType::f32) return op("Mul", {inputs[8], scale});
  const Expr y = op("DequantizeLinear", {inputs[8], scale}, {{"axis", int64_t{0}}});
  y.value()->type.dtype = DType::f32;
  return y;
}

Expr quantized_again(const NodeView& node, const Exprs& inputs, const Expr& x) {
  const Expr y = Activation::of(node).apply(x);
  if (has_real_result(node)) return y;
  const Shape& scales = node.input_shape(kResultScale);
  if (scales.elements() == 1) return op("QuantizeLinear", {y, flat(node, inputs, kResultScale), flat(node, inputs, kResultZero)});
  const Expr zeros = op("Expand", {inputs[kResultZero], y.builder().constant({scales[0]})});
  return op("QuantizeLinear", {y, inputs[kResultScale], zeros}, {{"axis", int64_t{1}}});
}

Exprs decompose_conv(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  Attributes attributes = node.node().attributes;
  if (has_real_result(node)) {
    const Expr x = dequantized(node, inputs, 0, 1), w = dequantized(node, inputs, 3, 0);
    return {builder.op("minnow.FusedConv", {x, w, bias_of(node, inputs)}, std::move(attributes))};
  }
  for (std::string_view name : {kActivation.name, kActivationAlpha.name, kActivationBeta.name}) attributes.remove(name);
  const Expr x = dequantized(node, inputs, 0, 1), w = dequantized(node, inputs, 3, 0);
  Expr y = builder.op("Conv", {x, w, bias_of(node, inputs)}, std::move(attributes));
  if (node.has_input(kResidual)) y = y + dequantized(node, inputs, kResidual, 1);
  return {quantized_again(node, inputs, y)};
}

Exprs decompose_matmul(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Shape &a = node.input_shape(0), &b = node.input_shape(3);
  // DequantizeLinear knows scales along one axis only.
  for (size_t i : {1, 2, 4, 5})
    if (node.input_shape(i).elements() != 1 && node.input_shape(i).rank() != 1) return {};
  if (is_float(node.input_dtype(0)) || node.input_dtype(1) != DType::f32) return {};
  const bool by_row = node.input_shape(1).elements() != 1;
  const bool has_bias = inputs.size() > 8 && inputs[8];
  if (has_bias && (by_row || a.rank() < 2 || b.rank() < 2)) return {};
  const Expr left = dequantized(node, inputs, 0, a.rank() < 2 ? 0 : a.rank() - 2), right = dequantized(node, inputs, 3, b.rank() - 1);
  if (has_real_result(node) && a.rank() == 2 && b.rank() == 2)
    return {Activation::of(node).apply(builder.op("Gemm", {left, right, bias_of(node, inputs)}))};
  const Expr y = op("MatMul", {left, right});
  return {quantized_again(node, inputs, has_bias ? y + bias_of(node, inputs) : y)};
}

// Sums.

Shapes quantized_sum_shape(const NodeView& node) {
  QuantizedSum::of(node);
  return {broadcast_inputs(node)};
}

void quantized_sum(const NodeView& node, KernelArgs& args) {
  const QuantizedSum sum = QuantizedSum::of(node);
  args.map2_ints([&](auto a, auto b) {
    const int64_t total = static_cast<int64_t>(a) * sum.factor[0] + static_cast<int64_t>(b) * sum.factor[1] + sum.offset();
    return std::clamp<int64_t>((total >> sum.shift) + sum.zero[2], sum.low, sum.high);
  });
}

Exprs decompose_sum(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const QuantizedSum sum = QuantizedSum::of(node);
  const auto number = [&](double value) { return builder.scalar(value, DType::f32); };
  const Expr y = op("Clip", {sum.steps(builder, inputs[0], inputs[1]) + number(sum.zero[2]), number(sum.low), number(sum.high)});
  return {op("Cast", {y}, {{"to", static_cast<int64_t>(node.input_dtype(0))}})};
}

double conv_operations(const NodeView& node) { return 2 * ConvGeometry::of(node).multiply_adds(); }
double matmul_operations(const NodeView& node) { return 2 * MatMulGeometry::of(node).multiply_adds(); }

constexpr List<InputSpec> conv_inputs() {
  constexpr DTypes kF32 = one_of({DType::f32}), kI32 = one_of({DType::i32});
  return {{"x", kBytes},     {"x_scale", kF32},        like("x_zero_point", kBytes, "x"),
          {"w", kBytes},     {"w_scale", kF32},        like("w_zero_point", kBytes, "w"),
          {"y_scale", kF32}, {"y_zero_point", kBytes}, {"B", kI32, kOptional}};
}
constexpr List<InputSpec> matmul_inputs() {
  constexpr DTypes kOperand = kBytes | one_of({DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz});
  constexpr DTypes kScale = one_of({DType::f32, DType::f16, DType::bf16});
  return {{"a", kOperand},     {"a_scale", kScale},       like("a_zero_point", kOperand, "a"),
          {"b", kOperand},     {"b_scale", kScale},       like("b_zero_point", kOperand, "b"),
          {"y_scale", kScale}, {"y_zero_point", kOperand}};
}

constexpr List<Operator> definitions() {
  List<InputSpec> fused_conv_inputs = conv_inputs();
  fused_conv_inputs[8].dtypes = one_of({DType::i32, DType::f32});
  fused_conv_inputs[kResultScale].arity = fused_conv_inputs[kResultZero].arity = kOptional;
  List<InputSpec> fused_matmul_inputs = fused_conv_inputs;
  constexpr Name kNames[] = {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point"};
  for (size_t i = 0; i < std::size(kNames); ++i) fused_matmul_inputs[i].name = kNames[i];
  fused_matmul_inputs[2].like = "a", fused_matmul_inputs[5].like = "b";
  fused_conv_inputs.append({{"residual", kBytes, kOptional},
                            {"residual_scale", one_of({DType::f32}), kOptional},
                            like("residual_zero_point", kBytes, "residual", kOptional)});
  List<AttributeSpec> fused_conv = conv_attributes();
  fused_conv.append({kActivation, kActivationAlpha, kActivationBeta});
  constexpr DTypes kOneByte = kBytes;
  return {
      {.name = "ConvInteger",
       .since = 10,
       .doc = MINNOW_DOC("The convolution of 8-bit integers less their zero points, exact in 32 bits. Padding counts as the zero point."),
       .inputs = {{"x", kOneByte},
                  {"w", kOneByte},
                  like("x_zero_point", kOneByte, "x", kOptional),
                  like("w_zero_point", kOneByte, "w", kOptional)},
       .outputs = {{"y", fixed(DType::i32)}},
       .attributes = conv_attributes(),
       .infer_shapes = conv_integer_shape,
       .reference = conv_integer,
       .operations = conv_operations,
       .batch = batch_apart,
       .wants_constants = true},
      {.name = "MatMulInteger",
       .since = 10,
       .doc =
           MINNOW_DOC("The matrix product of 8-bit integers less their zero points (one, or one for each row of A and column of B), exact "
                      "in 32 bits."),
       .inputs = {{"A", kOneByte},
                  {"B", kOneByte},
                  like("a_zero_point", kOneByte, "A", kOptional),
                  like("b_zero_point", kOneByte, "B", kOptional)},
       .outputs = {{"Y", fixed(DType::i32)}},
       .infer_shapes = matmul_integer_shape,
       .reference = matmul_integer,
       .operations = matmul_operations,
       .batch = batch_apart,
       .wants_constants = true},
      {.name = "QLinearConv",
       .since = 10,
       .doc = MINNOW_DOC("The convolution of quantized tensors, summed exactly and requantized once; the bias is in units of x_scale * "
                         "w_scale."),
       .inputs = conv_inputs(),
       .outputs = {{"y", same_as("y_zero_point")}},
       .attributes = conv_attributes(),
       .infer_shapes = qlinear_conv_shape,
       .reference = quantized_conv,
       .decompose = decompose_conv,
       .operations = conv_operations,
       .batch = batch_apart,
       .wants_constants = true},
      {.name = "QLinearMatMul",
       .since = 21,
       .doc = MINNOW_DOC("The matrix product of quantized tensors, summed exactly and requantized once; scales and zero points are one, or "
                         "one for each row of a and column of b."),
       .inputs = matmul_inputs(),
       .outputs = {{"y", same_as("y_zero_point")}},
       .infer_shapes = quantized_matmul_shape,
       .reference = quantized_matmul,
       .decompose = decompose_matmul,
       .operations = matmul_operations,
       .batch = batch_apart,
       .wants_constants = true},
      {.name = "minnow.QuantizedAdd",
       .doc = MINNOW_DOC(
           "The weighted sum of two quantized tensors in integers, with NumPy's broadcasting: y = clamp((((a - za) fa + (b - zb) "
           "fb + half) >> shift) + zy), where half is half of what the shift takes away."),
       .inputs = {{"a", kOneByte}, like("b", kOneByte, "a")},
       .outputs = {{"y", same_as("a")}},
       .attributes = {required("factors", AttributeKind::integers, MINNOW_DOC("fa, fb; at most 21 bits each")),
                      required("zero_points", AttributeKind::integers, MINNOW_DOC("za, zb, zy")),
                      required("shift", AttributeKind::integer, MINNOW_DOC("13 to 30")),
                      required("bounds", AttributeKind::integers, MINNOW_DOC("the least and the largest result"))},
       .infer_shapes = quantized_sum_shape,
       .reference = quantized_sum,
       .decompose = decompose_sum,
       .elementwise = true},
      {.name = "minnow.QuantizedConv",
       .doc = MINNOW_DOC("QLinearConv with an activation before the result becomes bytes; a bias of real "
                         "numbers, in the same units, is added to the sum in single precision, a residual before Relu or none. Without "
                         "y_scale and y_zero_point the result is the sum times x_scale * w_scale in f32, with Relu, Clip or none."),
       .inputs = fused_conv_inputs,
       .outputs = {{"y", same_as("y_zero_point", DType::f32)}},
       .attributes = fused_conv,
       .infer_shapes = quantized_conv_shape,
       .reference = quantized_conv,
       .decompose = decompose_conv,
       .operations = conv_operations,
       .batch = batch_apart,
       .wants_constants = true},
      {.name = "minnow.QuantizedMatMul",
       .doc = MINNOW_DOC("QLinearMatMul with a bias [N] in units of a_scale * b_scale, of integers or real numbers, and an activation. "
                         "Without y_scale and y_zero_point the result is the sum times a_scale * b_scale in f32, with Relu, Clip or none."),
       .inputs = fused_matmul_inputs,
       .outputs = {{"y", same_as("y_zero_point", DType::f32)}},
       .attributes = {kActivation, kActivationAlpha, kActivationBeta},
       .infer_shapes = quantized_matmul_shape,
       .reference = quantized_matmul,
       .decompose = decompose_matmul,
       .operations = matmul_operations,
       .batch = batch_apart,
       .wants_constants = true},
  };
}

}  // namespace

std::span<const Operator> quantized_operators() { return operator_table<definitions>(); }

}  // namespace minnow
