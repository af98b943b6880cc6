// SPDX-License-Identifier: Apache-2.0
#include "importers/tflite/tflite_node.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "importers/builder/arithmetic.h"
#include "passes/rewrite.h"

namespace minnow::tflite {

const TensorInfo& TfliteNode::input_info(size_t i) const {
  if (i >= in.size() || !in[i]) fail("input {} is missing", i);
  return *in[i];
}
const TensorInfo& TfliteNode::output_info(size_t i) const {
  if (i >= out.size() || !out[i]) fail("output {} is missing", i);
  return *out[i];
}

std::optional<Ints> TfliteNode::known_ints(size_t i) const { return i < raw.size() && raw[i] ? p.ints(raw[i]) : std::nullopt; }
Ints TfliteNode::ints(size_t i) const {
  const auto values = p.ints(required(raw, i));
  if (!values) refuse("input {} (\"{}\") is not constant", i, input_info(i).name.substr(0, 200));
  return *values;
}

Expr TfliteNode::real(size_t i) const {
  const Expr& stored = required(raw, i);
  return input_info(i).quantized() ? real_permuted(i, {}) : stored;
}

Expr TfliteNode::real_permuted(size_t i, const Ints& perm) const {
  const int64_t rank = p.rank(required(raw, i));
  const TensorInfo& tensor = input_info(i);
  if (!perm.empty() && rank >= 0 && rank != static_cast<int64_t>(perm.size()))
    fail("input {} should have {} dimensions, it has {}", i, perm.size(), rank);
  const Expr moved = perm.empty() ? raw[i] : p.transpose(raw[i], perm);
  if (!tensor.quantized()) return moved;
  const TensorQuantization& q = tensor.quantization;
  if (q.block) {
    const Expr scales = p.cast(host.real_tensor(*this, q.block_scales), DType::f32);
    const Expr y = p.op("DequantizeLinear", {raw[i], scales}, {{"axis", rank - 1}, {"block_size", q.block}});
    return perm.empty() ? y : p.transpose(y, perm);
  }
  int64_t axis = q.axis;
  if (!perm.empty() && !q.per_tensor()) axis = std::find(perm.begin(), perm.end(), q.axis) - perm.begin();
  return dequantize(p, moved, q, axis);
}

Expr TfliteNode::real_constant(size_t i) const {
  if (i >= raw.size() || !raw[i]) return {};
  const Tensor* tensor = raw[i].value()->constant();
  const TensorInfo& info_of = input_info(i);
  if (!tensor) {
    // Weights of half precision come through a DEQUANTIZE.
    return real(i);
  }
  if (!info_of.quantized()) return p.cast(raw[i], DType::f32);
  const TensorQuantization& q = info_of.quantization;
  if (q.block) return real(i);
  std::vector<double> values = *reals_of(raw[i].value());
  const Shape& shape = tensor->shape();
  const int64_t inner = q.per_tensor() ? 1 : shape.product(static_cast<size_t>(q.axis) + 1, shape.rank());
  for (size_t k = 0; k < values.size(); ++k) {
    const size_t channel = q.per_tensor() ? 0 : static_cast<size_t>(static_cast<int64_t>(k) / inner) % q.scale.size();
    const int64_t zero = q.zero_point.empty() ? 0 : q.zero_point[q.zero_point.size() == 1 ? 0 : channel];
    values[k] = (values[k] - static_cast<double>(zero)) * static_cast<double>(q.scale[channel]);
  }
  return p.reals(shape, values);
}

Expr TfliteNode::activated(const Expr& x, size_t field) const { return activated_as(x, option<int8_t>(field, 0)); }

Expr TfliteNode::activated_as(const Expr& x, int64_t function) const {
  if (function == 0) return x;
  return p.elementwise(x, [&](const Expr& y) { return activation(y, function); });
}

Expr TfliteNode::activation(const Expr& x, int64_t function) const {
  switch (function) {
    case 1:
      return clip(p, x, 0, {});
    case 2:
      return clip(p, x, -1, 1);
    case 3:
      return clip(p, x, 0, 6);
    case 4:
      return p.op("Tanh", {x});
    case 5:
      return p.cast(p.op("Less", {x, p.scalar(0, p.dtype(x))}), p.dtype(x));
    default:
      refuse("activation function {} is not supported", function);
  }
}

namespace {

Expr numbers(TypedBuilder& p, DType dtype, std::span<const double> values) {
  const Shape shape = values.size() == 1 ? Shape() : Shape{static_cast<int64_t>(values.size())};
  Tensor tensor(dtype, shape);
  if (is_float(dtype)) {
    narrow(dtype, values.data(), values.size(), tensor.writable().data());
  } else {
    const Ints ints(values.begin(), values.end());
    narrow(dtype, ints.data(), ints.size(), tensor.writable().data());
  }
  return p.constant(std::move(tensor));
}

/// Zero points as many as scales.
std::vector<double> zero_points(const TensorQuantization& q) {
  std::vector<double> zeros(q.scale.size(), 0);
  for (size_t i = 0; i < zeros.size() && !q.zero_point.empty(); ++i)
    zeros[i] = static_cast<double>(q.zero_point[q.zero_point.size() == 1 ? 0 : i]);
  return zeros;
}

bool is_quantizable(DType dtype) { return dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16 || dtype == DType::u16; }

}  // namespace

Expr dequantize(TypedBuilder& p, const Expr& stored, const TensorQuantization& q, int64_t axis) {
  const DType dtype = p.dtype(stored);
  const std::vector<double> scales(q.scale.begin(), q.scale.end()), zeros = zero_points(q);
  const bool symmetric = std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0; });
  const Tensor* tensor = stored.value()->constant();
  if (dtype == DType::i64 && tensor && symmetric) {  // the bias of convolutions on 16-bit integers
    std::vector<double> values = *reals_of(stored.value());
    const size_t channels = scales.size();
    const int64_t inner = channels == 1 ? 1 : tensor->shape().product(static_cast<size_t>(axis) + 1, tensor->shape().rank());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] *= scales[channels == 1 ? 0 : static_cast<size_t>(static_cast<int64_t>(i) / inner) % channels];
    return p.reals(tensor->shape(), values);
  }
  if (!is_quantizable(dtype) && !(dtype == DType::i32 && symmetric)) {
    if (scales.size() != 1) throw Unsupported("a tensor of {} is quantized along a dimension, which is not supported", dtype);
    const Expr wide = p.cast(stored, DType::f32);
    const Expr centered = symmetric ? wide : p.op("Sub", {wide, p.scalar(zeros[0])});
    return p.op("Mul", {centered, p.scalar(scales[0])});
  }
  Exprs inputs = {stored, numbers(p, DType::f32, scales)};
  if (dtype != DType::i32) inputs.push_back(numbers(p, dtype, zeros));
  Attributes attributes;
  if (scales.size() > 1) attributes.set("axis", axis);
  return p.op("DequantizeLinear", inputs, std::move(attributes));
}

Expr quantize(TypedBuilder& p, const Expr& real, const TensorInfo& to) {
  const TensorQuantization& q = to.quantization;
  const DType dtype = to.dtype;
  const std::vector<double> scales(q.scale.begin(), q.scale.end()), zeros = zero_points(q);
  const Expr x = p.cast(real, DType::f32);
  if (q.block) throw Unsupported("a result is quantized in blocks, which is not supported");
  if (!is_quantizable(dtype) || to.type == TensorType::i4) {
    if (scales.size() != 1) throw Unsupported("a result of {} is quantized along a dimension, which is not supported", dtype);
    Expr steps = p.op("Round", {p.op("Div", {x, p.scalar(scales[0])})});
    if (zeros[0] != 0) steps = p.op("Add", {steps, p.scalar(zeros[0])});
    if (to.type == TensorType::i4) steps = clip(p, steps, -8, 7);
    if (dtype == DType::i32) steps = clip(p, steps, -2147483648.0, 2147483520.0);
    return p.cast(steps, dtype);
  }
  Attributes attributes;
  if (scales.size() > 1) attributes.set("axis", q.axis);
  const auto made = [&](const Expr& y) {
    return p.op("QuantizeLinear", {y, numbers(p, DType::f32, scales), numbers(p, dtype, zeros)}, std::move(attributes));
  };
  return scales.size() > 1 ? made(x) : p.elementwise(x, made);
}

Expr rounded_as(TypedBuilder& p, const Expr& real, const TensorInfo& as) {
  return as.quantized() ? dequantize(p, quantize(p, real, as), as.quantization, as.quantization.axis) : real;
}

Expr rounded_with(TypedBuilder& p, const Expr& real, float scale, int64_t zero_point, DType dtype) {
  TensorInfo as;
  as.dtype = dtype;
  as.type = dtype == DType::i16 ? TensorType::i16 : TensorType::i8;
  as.quantization.scale = {scale};
  as.quantization.zero_point = {zero_point};
  return rounded_as(p, real, as);
}

Expr rounded_by_item(TypedBuilder& p, const Expr& x, bool symmetric) {
  Ints axes;
  for (int64_t i = 1; i < p.rank(x); ++i) axes.push_back(i);
  const auto reduced = [&](std::string_view op, const Expr& of) { return p.op(op, {of, p.constant(axes)}); };
  const Expr zero = p.scalar(0);
  const auto step_of = [&](const Expr& range, double steps) {  // 1 where all is zero
    const Expr step = p.op("Div", {range, p.scalar(steps)});
    return p.op("Where", {p.op("Equal", {step, zero}), p.scalar(1), step});
  };
  if (symmetric) {
    const Expr step = step_of(reduced("ReduceMax", p.op("Abs", {x})), 127);
    return p.op("Mul", {p.op("Round", {p.op("Div", {x, step})}), step});
  }
  const Expr low = p.op("Min", {reduced("ReduceMin", x), zero}), high = p.op("Max", {reduced("ReduceMax", x), zero});
  const Expr step = step_of(p.op("Sub", {high, low}), 255);
  const Expr offset = p.op("Round", {p.op("Sub", {p.scalar(-128), p.op("Div", {low, step})})});
  const Expr steps = clip(p, p.op("Add", {p.op("Round", {p.op("Div", {x, step})}), offset}), -128, 127);
  return p.op("Mul", {p.op("Sub", {steps, offset}), step});
}

}  // namespace minnow::tflite
