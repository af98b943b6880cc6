// SPDX-License-Identifier: Apache-2.0
// Tensors and convolutions of integers, in the one form that the graph has for them: DequantizeLinear, operator, QuantizeLinear.
#include <algorithm>
#include <cmath>

#include "importers/mnn/rules.h"
#include "importers/mnn/weights.h"

namespace minnow::mnn {

Expr convolution(MnnNode& node, TypedBuilder& p, const Expr& weights, const Expr& bias, const FlatTable& common, bool activates = true);

namespace {

// QuantizedFloatParam: weight 0, bias 1, scale 2, tensorScale 3, method 4, nbits 5, zeroPoint 6, outputZeroPoint 7, clampMin 8, clampMax 9,
// winograd 10, outputDataType 11, floatzeros 12.

Expr i8_constant(TypedBuilder& p, int64_t value) {
  Tensor tensor(DType::i8, {});
  tensor.writable().data<int8_t>()[0] = static_cast<int8_t>(std::clamp<int64_t>(value, -128, 127));
  return p.constant(std::move(tensor));
}

Expr vector_of(TypedBuilder& p, const std::vector<float>& values) {
  return values.size() == 1 ? p.scalar(static_cast<double>(values[0]))
                            : p.constant(Tensor::of_f32({static_cast<int64_t>(values.size())}, values));
}

int64_t zero_of(const FlatTable& table) {
  const FlatNumbers<float> reals = table.numbers<float>(12);
  return reals.empty() ? table.number<int8_t>(6, 0) : static_cast<int64_t>(std::lround(std::clamp(reals[0], -128.0f, 127.0f)));
}

/// Scale and zero point of a tensor as the model describes it; null if it does not.
const TensorQuantization* described(const MnnNode& node, int32_t tensor) {
  const auto found = node.graph.quantization.find(tensor);
  return found == node.graph.quantization.end() || !(found->second.scale > 0) ? nullptr : &found->second;
}

Attributes along(TypedBuilder& p, const Expr& scale) { return p.rank(scale) == 1 ? Attributes{{"axis", int64_t{1}}} : Attributes{}; }

}  // namespace

Exprs import_float_to_int8(MnnNode& node, TypedBuilder& p) {
  // Quantizes: multiplies by tensorScale, rounds and adds the zero point.
  const Expr x = node.image();
  if (node.info.kind != kQuantizedFloat) return {node.from_image(p.cast(x, DType::i8))};
  std::vector<float> factors = node.reals(3);
  if (factors.empty()) node.fail("has no scale");
  for (float& factor : factors) {
    if (!(std::abs(factor) > 0)) node.refuse("a scale of {} is not supported", factor);
    factor = 1 / factor;
  }
  const Expr scale = vector_of(p, factors);
  const int64_t zero = zero_of(node.parameter()), low = node.integer<int8_t>(8, -128), high = node.integer<int8_t>(9, 127);
  const Expr zeros = factors.size() == 1 ? i8_constant(p, zero) : p.constant([&] {
    Tensor tensor(DType::i8, {static_cast<int64_t>(factors.size())});
    std::fill_n(tensor.writable().data<int8_t>(), factors.size(), static_cast<int8_t>(zero));
    return tensor;
  }());
  Expr y = p.op("QuantizeLinear", {x, scale, zeros}, along(p, scale));
  if (low > -128 || high < 127) y = p.op("Clip", {y, i8_constant(p, low), i8_constant(p, high)});
  return {node.from_image(y)};
}

Exprs import_int8_to_float(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.image();
  if (node.info.kind != kQuantizedFloat) return {node.from_image(p.cast(x, DType::f32))};
  const std::vector<float> factors = node.reals(3);
  if (factors.empty()) node.fail("has no scale");
  const Expr scale = vector_of(p, factors);
  const int64_t zero = zero_of(node.parameter());
  Exprs inputs = {x, scale};
  if (p.dtype(x) != DType::i8) inputs[0] = p.cast(x, DType::i8);
  if (zero != 0) {
    Tensor zeros(DType::i8, factors.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(factors.size())});
    std::fill_n(zeros.writable().data<int8_t>(), factors.size(), static_cast<int8_t>(zero));
    inputs.push_back(p.constant(std::move(zeros)));
  }
  return {node.from_image(p.op("DequantizeLinear", inputs, along(p, scale)))};
}

Exprs import_convolution_int8(MnnNode& node, TypedBuilder& p) {
  // Convolution2D with symmetricQuan (field 4). Old form: bytes in and out, a product's sum becomes a byte by `scale` of each output. New
  // form: weights and scales are packed as others are, tensors are described by the model.
  const FlatTable common = node.parameter().table(0), integers = node.parameter().table(4), packed = node.parameter().table(3);
  const int64_t outputs = common.number<int32_t>(10, 0), kernel_h = common.number<int32_t>(3, 1), kernel_w = common.number<int32_t>(2, 1);
  if (outputs < 1 || kernel_h < 1 || kernel_w < 1) node.fail("{} outputs of {} by {} are not valid", outputs, kernel_h, kernel_w);
  Expr x = node.any(0);
  const TensorQuantization* in = node.info.inputs.size() ? described(node, node.info.inputs[0]) : nullptr;
  const TensorQuantization* out = node.info.outputs.size() ? described(node, node.info.outputs[0]) : nullptr;
  // An i8 tensor without quantization data stands for real numbers of scale 1.
  const bool bytes = p.dtype(x) == DType::i8;
  const int64_t in_zero = integers.number<int8_t>(6, 0), out_zero = integers.number<int8_t>(7, 0);
  FlatNumbers<int8_t> weight = integers.numbers<int8_t>(0);
  Floats scale = integers.numbers<float>(2).copy<float>();
  Tensor values;
  Floats row_scale;
  if (packed) {
    const PackedWeights weights = read_packed_weights(node.file, packed, node.parameter(), 6, node.info, node.place);
    if (!weights.rows()) node.refuse("weights of real numbers are not supported here");
    for (float offset : weights.offset)
      if (offset != 0) node.refuse("weights that are not symmetric are not supported here");
    values = weights.values;
    row_scale = weights.scale;
  } else {
    values = node.file.share(DType::i8, {static_cast<int64_t>(weight.size())}, node.file.in_file(weight.bytes()));
  }
  const int64_t area = outputs * kernel_h * kernel_w;
  if (values.elements() % area != 0 || values.elements() == 0)
    node.fail("{} weights do not fit {} outputs of {} by {}", values.elements(), outputs, kernel_h, kernel_w);
  const Shape shape{outputs, values.elements() / area, kernel_h, kernel_w};
  const FlatNumbers<int32_t> sums = integers.numbers<int32_t>(1);
  const auto bias = [&](const Floats& per_output) -> Expr {
    Floats reals(static_cast<size_t>(outputs));
    if (sums.size() == reals.size()) {
      for (size_t i = 0; i < reals.size(); ++i) reals[i] = static_cast<float>(sums[i]) * per_output[i];
    } else {
      reals = node.file.reals(node.parameter(), 2, 6, 3, node.info, node.place);
      if (reals.empty()) return {};
      if (static_cast<int64_t>(reals.size()) != outputs) node.fail("{} biases do not fit {} outputs", reals.size(), outputs);
    }
    return p.constant(Tensor::of_f32({outputs}, reals));
  };
  const auto real_weights = [&](const Floats& per_output) {
    return p.op("DequantizeLinear", {p.constant(values.reshaped(shape)), p.constant(Tensor::of_f32({outputs}, per_output))},
                {{"axis", int64_t{0}}});
  };
  if (bytes && !in && sums.size() == static_cast<size_t>(outputs) && (!scale.empty() || !row_scale.empty())) {
    // round(scale * (sum of weights times bytes + bias)): fold the zero points into the bias, and pad with the input's zero point.
    if (scale.empty()) scale = row_scale;
    if (static_cast<int64_t>(scale.size()) != outputs) node.fail("{} scales do not fit {} outputs", scale.size(), outputs);
    const int8_t* value = values.data<int8_t>();
    Floats biases(scale.size());
    for (size_t i = 0; i < biases.size(); ++i) {
      int64_t sum = 0;
      for (int64_t k = values.elements() / outputs; k > 0; --k) sum += *value++;
      biases[i] = static_cast<float>((static_cast<double>(sums[i]) + static_cast<double>(in_zero * sum)) * static_cast<double>(scale[i]));
    }
    node.raw[0] = p.op("DequantizeLinear", {x, p.scalar(1), i8_constant(p, in_zero)});
    const Expr bias_of = p.constant(Tensor::of_f32({outputs}, biases));
    const bool gives_bytes = integers.number<int32_t>(11, 6) == 6;
    const Expr y = convolution(node, p, real_weights(scale), bias_of, common, !gives_bytes);
    if (!gives_bytes) return {y};
    const Expr q = p.op("QuantizeLinear", {y, p.scalar(1), i8_constant(p, 0)});
    const bool relu = common.flag(12, false) || common.flag(13, false);
    const int64_t low = relu ? out_zero : integers.number<int8_t>(8, -128), high = integers.number<int8_t>(9, 127);
    return {low > -128 || high < 127 ? p.op("Clip", {q, i8_constant(p, low), i8_constant(p, high)}) : q};
  }
  if (bytes && !in) node.refuse("bytes whose scales the file does not tell are not supported");
  // The tensors have quantization data, so the importer quantizes the result of this node.
  if (row_scale.empty()) {
    if (static_cast<int64_t>(scale.size()) != outputs || !in || !out) node.refuse("weights without scales of their own are not supported");
    for (float s : scale) row_scale.push_back(s * out->scale / in->scale);
  }
  if (static_cast<int64_t>(row_scale.size()) != outputs) node.fail("{} scales do not fit {} outputs", row_scale.size(), outputs);
  Floats sum_scale = row_scale;
  for (float& s : sum_scale) s *= in ? in->scale : 1.0f;
  return {convolution(node, p, real_weights(row_scale), bias(sum_scale), common)};
}

Exprs import_eltwise_int8(MnnNode& node, TypedBuilder& p) {
  // type 0, parameters of the inputs 1 and 2, of the output 3: bytes with a scale each (tensorScale or scale).
  static constexpr std::string_view kNames[] = {"Mul", "Add", "Max", "Sub"};
  const int64_t type = node.integer<int8_t>(0);
  if (type < 0 || type > 3) node.refuse("function {} is not supported", type);
  const auto scale_of = [&](size_t field) {
    const FlatTable table = node.parameter().table(field);
    std::vector<float> scale = table.numbers<float>(2).copy<float>();
    if (scale.empty()) scale = table.numbers<float>(3).copy<float>();
    if (scale.empty()) node.fail("has no scales");
    return scale;
  };
  Exprs reals;
  for (size_t i = 0; i < 2; ++i) {
    const Expr scale = vector_of(p, scale_of(1 + i));
    reals.push_back(p.op("DequantizeLinear", {node.any(i), scale}, along(p, scale)));
  }
  std::vector<float> factors = scale_of(3);
  for (float& factor : factors) {
    if (!(std::abs(factor) > 0)) node.refuse("a scale of {} is not supported", factor);
    factor = 1 / factor;
  }
  const Expr scale = vector_of(p, factors);
  Tensor zeros(DType::i8, factors.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(factors.size())});
  return {p.op("QuantizeLinear", {p.op(kNames[type], reals), scale, p.constant(std::move(zeros))}, along(p, scale))};
}

Exprs import_dequantize(MnnNode& node, TypedBuilder& p) {
  // inputQuantizedParam 0 (zeroPoint 0, scale 1), mode 1 (MIN_COMBINED 0, MIN_FIRST 1, SCALED 2), modelFormat 2 (TensorFlow 0, TFLite 1),
  // type 3. TensorFlow's form has the least and the largest number as inputs.
  const Expr x = node.input(0);
  const DType dtype = p.dtype(x);
  if (node.integer<int8_t>(2) == 1) {
    const FlatTable table = node.parameter().table(0);
    const Expr scale = p.scalar(static_cast<double>(table.number<float>(1, 0))),
               zero = p.scalar(static_cast<double>(table.number<int32_t>(0, 0)));
    return {p.op("Mul", {p.op("Sub", {p.cast(x, DType::f32), zero}), scale})};
  }
  double least = 0, largest = 0;  // of the integers
  switch (node.integer(3)) {
    case 11:
      least = -128, largest = 127;
      break;
    case 12:
      largest = 255;
      break;
    case 15:
      least = -32768, largest = 32767;
      break;
    case 16:
      largest = 65535;
      break;
    default:
      node.refuse("elements of type {} are not supported", node.integer(3));
  }
  if (dtype == DType::f32) node.refuse("a tensor of real numbers is not supported");
  const auto number = [&](size_t i) { return p.reshape(p.cast(node.input(i), DType::f32), Ints{}); };
  const Expr low = number(1), high = number(2), integers = p.cast(x, DType::f32);
  const auto times = [&](const Expr& a, const Expr& b) { return p.op("Mul", {a, b}); };
  const auto over = [&](const Expr& a, double b) { return p.op("Div", {a, p.scalar(b)}); };
  const Expr step = over(p.op("Sub", {high, low}), largest - least);
  switch (node.integer<int8_t>(1)) {
    case 0:
      return {p.op("Add", {times(p.op("Sub", {integers, p.scalar(least)}), step), low})};
    case 1: {
      // The range begins at a multiple of the step.
      const Expr begin = p.op("Where", {p.op("Equal", {low, high}), low, times(p.op("Round", {p.op("Div", {low, step})}), step)});
      return {p.op("Add", {times(p.op("Sub", {integers, p.scalar(least)}), step), begin})};
    }
    case 2: {
      const Expr up = over(high, largest);
      return {times(integers, least == 0 ? up : p.op("Max", {over(low, least), up}))};
    }
    default:
      node.refuse("mode {} is not supported", node.integer<int8_t>(1));
  }
}

Exprs import_dynamic_quantize(MnnNode& node, TypedBuilder& p) {
  Exprs all = p.ops("DynamicQuantizeLinear", {node.input(0)}, 3);
  return all;
}

}  // namespace minnow::mnn
