// SPDX-License-Identifier: Apache-2.0
// Quantized convolutions, products and sums; quantization itself.
#include "support/scheme_cases.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "backends/backend.h"
#include "base/numeric.h"
#include "support/operators.h"

namespace minnow::cpu {
namespace {

// Integers in [low, high] of an 8-bit dtype, the bounds among them.
Tensor bytes(DType dtype, const Shape& shape, unsigned seed, int low = -1000, int high = 1000) {
  low = std::max(low, dtype == DType::i8 ? -128 : 0), high = std::min(high, dtype == DType::i8 ? 127 : 255);
  Tensor tensor(dtype, shape);
  unsigned state = seed * 2654435761u + 12345;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    const int value = i == 0 ? low : i == 1 ? high : low + static_cast<int>((state >> 8) % static_cast<unsigned>(high - low + 1));
    tensor.writable().data<uint8_t>()[i] = static_cast<uint8_t>(value);
  }
  return tensor;
}
Tensor one_byte(DType dtype, int value) { return bytes(dtype, {}, 1, value, value); }
Tensor scales(int64_t count, double scale) {
  Tensor tensor(DType::f32, count ? Shape{count} : Shape{});
  for (int64_t i = 0; i < std::max<int64_t>(1, count); ++i)
    tensor.writable().data<float>()[i] = static_cast<float>(scale * (1 + 0.13 * double(i % 7)));
  return tensor;
}
Tensor biases(int64_t count) {
  Tensor tensor(DType::i32, {count});
  for (int64_t i = 0; i < count; ++i) tensor.writable().data<int32_t>()[i] = static_cast<int32_t>(i * 7919 % 4001 - 2000);
  return tensor;
}

struct Quantized {
  DType x, w, y;
  int x_zero, y_zero;
  bool per_channel, zero_weights, bias, relu;  // zero_weights: the weights' zero point is 0
};
constexpr Quantized kQuantized[] = {
    {DType::u8, DType::i8, DType::u8, 3, 120, true, true, true, false},
    {DType::i8, DType::i8, DType::i8, -128, -5, true, true, true, true},
    {DType::i8, DType::i8, DType::u8, 17, 0, false, true, false, true},
    {DType::u8, DType::u8, DType::u8, 255, 128, false, false, true, false},
    {DType::u8, DType::u8, DType::i8, 0, 0, true, false, false, false},
    {DType::i8, DType::i8, DType::i8, 127, 100, true, false, true, false},
};

// The inputs from 1 on, the largest sums being some hundred times a step of the result.
std::vector<Tensor> quantized_inputs(const Quantized& q, const Tensor& x, const Shape& w, int64_t outputs, double depth) {
  std::vector<Tensor> inputs = {x,
                                scales(0, 0.02),
                                one_byte(q.x, q.x_zero),
                                bytes(q.w, w, 3),
                                scales(q.per_channel ? outputs : 0, 0.01),
                                q.zero_weights  ? one_byte(q.w, 0)
                                : q.per_channel ? bytes(q.w, {outputs}, 9)
                                                : one_byte(q.w, 77),
                                scales(0, 0.02 * 0.01 * 50 * std::sqrt(depth)),
                                one_byte(q.y, q.y_zero)};
  if (q.per_channel && q.zero_weights) inputs[5] = bytes(q.w, {outputs}, 9, 0, 0);
  if (q.bias) inputs.push_back(biases(outputs));
  return inputs;
}
std::vector<Tensor> with_real_bias(std::vector<Tensor> inputs) {
  std::vector<double> values(static_cast<size_t>(inputs.back().elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = inputs.back().data<int32_t>()[i] + double(i % 7) / 7;
  inputs.back() = test::tensor(DType::f32, inputs.back().shape(), values);
  return inputs;
}
std::vector<size_t> constants_of(const std::vector<Tensor>& inputs) {
  std::vector<size_t> list;
  for (size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i]) list.push_back(i);
  return list;
}
/// The same operator behind an activation that is computed in f32, so that results may be a step apart.
SchemeCase with_activation(std::string op, const std::vector<Tensor>& inputs, Attributes attributes, size_t number) {
  constexpr std::tuple<const char*, float, float> kActivations[] = {
      {"HardSwish", 0, 0}, {"LeakyRelu", 0.1f, 0}, {"LeakyRelu", 1.7f, 0}, {"Clip", -3, 4}, {"HardSigmoid", 0.2f, 0.5f},
      {"Sigmoid", 0, 0},   {"Tanh", 0, 0},         {"Swish", 0, 0},        {"Gelu", 0, 0}};
  const auto& [name, alpha, beta] = kActivations[number % std::size(kActivations)];
  attributes = with(attributes, {{"activation", std::string(name)}, {"activation_alpha", alpha}, {"activation_beta", beta}});
  SchemeCase made{std::move(op), inputs, attributes, constants_of(inputs)};
  made.steps = 1;
  return made;
}
/// Scales of channels of the result, and of x where each channel makes one of its own.
std::vector<Tensor> with_scales_of_channels(std::vector<Tensor> inputs, const Shape& w) {
  if (w[1] == 1 && w[0] > 1) inputs[1] = scales(w[0], 0.02);
  inputs[6] = scales(w[0], *inputs[6].data<float>());
  return inputs;
}
Shape result_of(const Shape& x, const Shape& w, const Attributes& attributes) {
  const Ints &strides = *attributes.get<Ints>("strides"), &pads = *attributes.get<Ints>("pads"),
             &dilations = *attributes.get<Ints>("dilations");
  Shape y{x[0], w[0]};
  for (size_t i = 2, axes = x.rank() - 2; i < x.rank(); ++i)
    y.push_back((x[i] + pads[i - 2] + pads[i - 2 + axes] - dilations[i - 2] * (w[i] - 1) - 1) / strides[i - 2] + 1);
  return y;
}
/// The same convolution plus a tensor of bytes of the result's shape. Sums of two products may be a step apart.
SchemeCase with_residual(std::vector<Tensor> inputs, const Quantized& q, const Shape& y, Attributes attributes, double steps) {
  inputs.resize(9);
  const DType dtype = q.bias ? q.y : q.x;
  inputs.insert(inputs.end(),
                {bytes(dtype, y, 7), scales(0, steps * *inputs[6].data<float>()), one_byte(dtype, q.bias ? q.y_zero : q.x_zero)});
  if (q.relu) attributes.set("activation", std::string("Relu"));
  std::vector<size_t> constants = constants_of(inputs);
  std::erase(constants, size_t{9});
  SchemeCase made{"minnow.QuantizedConv", inputs, attributes, constants};
  made.steps = 1;
  return made;
}
/// The same operator with a result in f32, whose bounds some of its elements exceed.
SchemeCase with_real_result(std::string op, std::vector<Tensor> inputs, const Quantized& q, Attributes attributes) {
  const float scale = *inputs[6].data<float>();
  inputs[6] = inputs[7] = Tensor();
  if (q.relu)
    attributes.set("activation", std::string("Relu"));
  else if (q.bias)
    attributes =
        with(attributes, {{"activation", std::string("Clip")}, {"activation_alpha", -40 * scale}, {"activation_beta", 50 * scale}});
  return {std::move(op), inputs, attributes, constants_of(inputs), 1, 1e-6};
}

}  // namespace

std::vector<SchemeCase> nbits_cases() {
  std::vector<SchemeCase> cases;
  // Rows, K, N, numbers of a block: single rows and few, blocks and groups that are not whole, slices of K.
  constexpr int64_t kSizes[][4] = {{1, 64, 48, 32}, {1, 100, 37, 16}, {3, 50, 17, 16},   {2, 300, 5, 256},
                                   {7, 40, 33, 16}, {70, 96, 50, 64}, {90, 1600, 9, 128}};
  for (const int64_t bits : {2, 3, 4, 5, 6, 8})
    for (const auto& [rows, depth, columns, block] : kSizes) {
      const int64_t blocks = (depth + block - 1) / block;
      const Attributes attributes{{"K", depth}, {"N", columns}, {"bits", bits}, {"block_size", block}};
      const Tensor a = normal({rows, depth}), b = bytes(DType::u8, {columns, blocks, block * bits / 8}, 2);
      const Tensor zeros = bytes(DType::u8, {columns, (blocks * bits + 7) / 8}, 3);
      const Tensor exact = scales(columns * blocks, 0.01).reshaped({columns, blocks});
      Tensor halves = exact.clone();
      cases.push_back({"minnow.MatMulNBits", {a, b, exact}, attributes, {1, 2}});
      for (float& scale : std::span(halves.writable().data<float>(), size_t(halves.elements()))) scale = f32_from_f16(f16_from_f32(scale));
      cases.push_back({"minnow.MatMulNBits", {a, b, halves, zeros, Tensor(), normal({columns}, 4)}, attributes, {1, 2, 3}});
      cases.push_back({"minnow.MatMulNBits", {a, b, exact, normal({columns, blocks}, 5)}, attributes, {1, 2, 3}});
      // Rounded to bytes: half a step of 127 for the largest of a block, each by itself.
      Attributes bytes_suffice = attributes;
      bytes_suffice.set("accuracy_level", int64_t{4});
      cases.push_back({"minnow.MatMulNBits", {a, b, halves, zeros}, bytes_suffice, {1, 2, 3}, 1, 0.03});
      // Rows that cannot be split into steps.
      Tensor special = a.clone();
      float* const values = special.writable().data<float>();
      values[0] = 1e-38F, values[depth - 1] = INFINITY, values[rows * depth - 1] = NAN;
      cases.push_back({"minnow.MatMulNBits", {special, b, exact}, attributes, {1, 2}});
    }
  return cases;
}

std::vector<SchemeCase> quantized_attention_cases() {
  std::vector<SchemeCase> cases;
  // {batch, query heads, key heads, queries, keys, width, width of values}
  constexpr int64_t kSizes[][7] = {{1, 1, 1, 5, 1, 1, 1},       {2, 3, 3, 60, 70, 8, 8},   {1, 4, 2, 33, 33, 17, 9},
                                   {1, 6, 6, 128, 128, 64, 64}, {2, 2, 1, 40, 70, 32, 33}, {1, 1, 1, 300, 100, 20, 16},
                                   {1, 2, 2, 150, 600, 80, 48}};
  size_t number = 0;
  for (const auto& [batch, q_heads, kv_heads, queries, keys, head, v_head] : kSizes)
    for (int mask = 0; mask < 3; ++mask)
      for (const bool packed : {false, true}) {
        const Quantized& q = kQuantized[number++ % std::size(kQuantized)];
        const auto shape = [&, b = batch, packed = packed](int64_t heads, int64_t length, int64_t width) {
          return packed ? Shape{b, length, heads * width} : Shape{b, heads, length, width};
        };
        Tensor masks[] = {Tensor(), normal({queries, keys}, 5), Tensor()};
        if (mask == 1)  // a query that sees nothing
          for (int64_t i = 0; i < keys; ++i) masks[1].writable().data<float>()[keys + i] = -INFINITY;
        std::vector<Tensor> inputs = {bytes(q.x, shape(q_heads, queries, head), 2),
                                      bytes(q.w, shape(kv_heads, keys, head), 3),
                                      bytes(q.w, shape(kv_heads, keys, v_head), 4),
                                      masks[mask],
                                      scales(0, 0.02),
                                      one_byte(q.x, q.x_zero),
                                      scales(0, 0.015),
                                      one_byte(q.w, 128),
                                      scales(0, 0.03),
                                      one_byte(q.w, number % 2 ? 128 : 77)};
        if (!q.relu) inputs.insert(inputs.end(), {scales(0, 0.02), one_byte(q.y, q.y_zero)});
        Attributes attributes = {{"is_causal", int64_t{mask == 2}}, {"scale", 0.05f}};
        if (packed) attributes.set("q_num_heads", q_heads), attributes.set("kv_num_heads", kv_heads);
        std::vector<size_t> constants;
        for (size_t i = 4; i < inputs.size(); ++i) constants.push_back(i);
        SchemeCase made{"minnow.QuantizedAttention", inputs, attributes, constants};
        made.tolerance = 0.004, made.steps = 1;  // weights on the other side of a tie
        cases.push_back(made);
      }
  return cases;
}

std::vector<SchemeCase> quantized_cases() {
  std::vector<SchemeCase> cases = quantized_attention_cases();
  size_t number = 0;  // of an activation
  const auto add_conv = [&](const Shape& x, const Shape& w, const Attributes& attributes) {
    const bool depthwise = x[1] == w[0] && w[1] == 1 && w[0] > 1;
    for (const Quantized& q : kQuantized) {
      const std::vector<Tensor> inputs = quantized_inputs(q, bytes(q.x, x, 2), w, w[0], double(w.product(1, w.rank())));
      cases.push_back({"minnow.QuantizedConv", inputs, q.relu ? with(attributes, {{"activation", std::string("Relu")}}) : attributes,
                       constants_of(inputs)});
      cases.push_back({"QLinearConv", inputs, attributes, constants_of(inputs)});
      if (q.bias) cases.push_back({"minnow.QuantizedConv", with_real_bias(inputs), attributes, constants_of(inputs)});
      cases.push_back(with_activation("minnow.QuantizedConv", q.relu && q.bias ? with_real_bias(inputs) : inputs, attributes, number++));
      if (depthwise || w[1] > 1) {
        const std::vector<Tensor> many = with_scales_of_channels(inputs, w);
        cases.push_back({"minnow.QuantizedConv", many, attributes, constants_of(many)});
        cases.push_back(with_activation("minnow.QuantizedConv", many, attributes, number));
      }
      if (!depthwise && w[0] % 3 != 1)
        cases.push_back(with_residual(inputs, q, result_of(x, w, attributes), attributes, q.relu ? 0.7 : 1.3));
      cases.push_back(with_real_result("minnow.QuantizedConv", q.per_channel && q.bias ? with_real_bias(inputs) : inputs, q, attributes));
    }
  };
  add_conv({1, 17, 9, 11}, {33, 17, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add_conv({2, 16, 14, 14}, {32, 16, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  add_conv({1, 20, 7, 8}, {20, 20, 3, 3}, conv({3, 3}, {2, 2}, {0, 1, 1, 1}));
  add_conv({1, 3, 21, 20}, {24, 3, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}));
  add_conv({2, 1, 9, 37}, {9, 1, 5, 5}, conv({5, 5}, {2, 2}, {2, 1, 0, 3}));
  add_conv({1, 4, 8, 16}, {20, 4, 1, 3}, conv({1, 3}, {1, 1}, {0, 0, 0, 0}));
  add_conv({2, 24, 15, 13}, {18, 24, 3, 3}, conv({3, 3}, {1, 1}, {1, 0, 2, 1}));
  add_conv({1, 5, 9, 10}, {7, 5, 1, 1}, conv({1, 1}, {2, 3}, {1, 1, 0, 1}));
  add_conv({1, 6, 9, 10}, {70, 6, 1, 3}, conv({1, 3}, {2, 1}, {0, 2, 0, 1}));
  add_conv({1, 64, 3, 4}, {32, 32, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}, 2));
  add_conv({1, 9, 9, 9}, {8, 9, 3, 2}, conv({3, 2}, {1, 1}, {2, 2, 2, 2}, 1, {2, 3}));
  add_conv({2, 5, 30}, {6, 5, 3}, conv({3}, {1}, {1, 1}, 1, {1}));
  add_conv({1, 33, 12, 12}, {33, 1, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 33));
  add_conv({2, 19, 9, 8}, {19, 1, 5, 5}, conv({5, 5}, {2, 2}, {2, 2, 2, 2}, 19));
  add_conv({1, 16, 6, 40}, {16, 1, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}, 16));
  add_conv({1, 18, 11, 31}, {18, 1, 5, 5}, conv({5, 5}, {1, 1}, {2, 2, 2, 2}, 18));
  add_conv({1, 7, 2, 1}, {7, 1, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 7));
  add_conv({1, 16, 9, 17}, {16, 1, 7, 7}, conv({7, 7}, {1, 2}, {3, 4, 3, 2}, 16));
  add_conv({1, 40, 12, 14}, {40, 1, 3, 3}, conv({3, 3}, {1, 1}, {2, 0, 2, 1}, 40, {2, 1}));
  // The sums themselves; the zero point of x is known before the run, or not, or there is none.
  const auto add_integer = [&](const char* op, const Shape& x, const Shape& w, int64_t outputs, const Attributes& attributes) {
    for (const Quantized& q : kQuantized) {
      const Tensor w_zero = q.zero_weights ? Tensor() : q.per_channel ? bytes(q.w, {outputs}, 9) : one_byte(q.w, 77);
      const Tensor x_zero = q.relu ? Tensor() : one_byte(q.x, q.x_zero);
      cases.push_back({op,
                       {bytes(q.x, x, 2), bytes(q.w, w, 3), x_zero, w_zero},
                       attributes,
                       q.bias ? std::vector<size_t>{1, 3} : std::vector<size_t>{1, 2, 3}});
    }
  };
  add_integer("ConvInteger", {1, 17, 9, 11}, {33, 17, 1, 1}, 33, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add_integer("ConvInteger", {2, 5, 9, 10}, {18, 5, 3, 3}, 18, conv({3, 3}, {2, 1}, {1, 1, 1, 1}));
  add_integer("ConvInteger", {1, 32, 5, 5}, {32, 16, 3, 3}, 32, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 2));
  add_integer("MatMulInteger", {3, 4, 17}, {17, 33}, 33, {});
  add_integer("MatMulInteger", {40, 65}, {65, 64}, 64, {});
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{3, 20000}, Shape{1}})
    for (const DType dtype : {DType::u8, DType::i8}) {
      const int64_t lowest = dtype == DType::i8 ? -128 : 0;
      const Attributes how{{"factors", Ints{1 << 21, -700001}},
                           {"zero_points", Ints{lowest + 255, 100, lowest + 99}},
                           {"shift", int64_t{21}},
                           {"bounds", Ints{lowest + 9, lowest + 250}}};
      cases.push_back({"minnow.QuantizedAdd", {bytes(dtype, shape, 4), bytes(dtype, shape, 5)}, how, {}});
    }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{3, 20000}, Shape{1}}) {
    Tensor special = normal(shape, 2);
    special.writable().data<float>()[shape.elements() / 2] = NAN;
    for (const Tensor& x : {normal(shape), special, test::tensor(DType::f32, shape, std::vector<double>(size_t(shape.elements()), 0))})
      cases.push_back({"DynamicQuantizeLinear", {x}, {}, {}, 3});
  }
  for (DType dtype : {DType::i32, DType::i64, DType::f64}) {
    const auto integers = [&](const Shape& shape, unsigned seed) {
      std::vector<double> values;
      for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(double((i * 7919 + seed * 31) % 11 - 5) * (i % 3 ? 1 : 300000000));
      return test::tensor(dtype, shape, values);
    };
    const std::pair<Shape, Shape> shapes[] = {{{2, 17, 5, 7}, {2, 17, 5, 7}},
                                              {{2, 17, 5, 7}, {}},
                                              {{}, {1, 20, 300, 60}},
                                              {{2, 17, 5, 7}, {1, 17, 1, 1}},
                                              {{2, 17, 1, 1}, {2, 17, 5, 7}},
                                              {{3, 1, 4}, {5, 1}},
                                              {{7}, {7}}};
    for (const char* op : {"Add", "Sub", "Mul", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
      for (const auto& [a, b] : shapes)
        for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1}})
          cases.push_back({op, {integers(a, 1), integers(b, 2)}, {}, constants});
    if (dtype == DType::f64) {
      for (const char* op : {"Div", "Max", "Min"})
        for (const auto& [a, b] : shapes) cases.push_back({op, {integers(a, 1), integers(b, 2)}});
      for (const char* op : {"Abs", "Acos",  "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh",
                             "Exp", "Floor", "Log",   "Neg",  "Round", "Sin",  "Sinh",  "Sqrt", "Tan", "Tanh"})
        for (const Shape& shape : {Shape{}, Shape{13}, Shape{3, 5000}}) {
          std::vector<double> values;
          for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(double(i % 397) / 7 - (*op == 'L' || *op == 'S' ? 0 : 20));
          cases.push_back({op, {test::tensor(dtype, shape, values)}});
        }
      continue;
    }
    cases.push_back({"Cast", {integers({2, 17, 5, 7}, 1)}, {{"to", static_cast<int64_t>(DType::f32)}}});
    cases.push_back({"Cast", {integers({}, 1)}, {{"to", static_cast<int64_t>(DType::f32)}}});
  }
  for (DType dtype : {DType::u8, DType::i8})
    cases.push_back({"Cast", {bytes(dtype, {1, 3, 5, 7}, 1)}, {{"to", static_cast<int64_t>(DType::f32)}}});
  const std::pair<Shape, Shape> products[] = {
      {{5, 7}, {7, 9}}, {{1, 64}, {64, 100}}, {{3, 4, 17}, {17, 33}}, {{300, 65}, {65, 50}}, {{1, 1}, {1, 1}}};
  for (const auto& [a, b] : products)
    for (const Quantized& q : kQuantized) {
      std::vector<Tensor> inputs = quantized_inputs(q, bytes(q.x, a, 2), b, b[1], double(b[0]));
      cases.push_back({"minnow.QuantizedMatMul", inputs, q.relu ? Attributes{{"activation", std::string("Relu")}} : Attributes{},
                       constants_of(inputs)});
      if (q.bias) cases.push_back({"minnow.QuantizedMatMul", with_real_bias(inputs), {}, constants_of(inputs)});
      cases.push_back(with_activation("minnow.QuantizedMatMul", inputs, {}, number++));
      cases.push_back(with_real_result("minnow.QuantizedMatMul", q.per_channel && q.bias ? with_real_bias(inputs) : inputs, q, {}));
      inputs.resize(8);
      cases.push_back({"QLinearMatMul", inputs, {}, constants_of(inputs)});
    }
  // Products of two activations: batches that both have, that one has, that are joined; terms and columns that are not whole groups and
  // vectors.
  const std::pair<Shape, Shape> activations[] = {{{5, 7}, {7, 9}},
                                                 {{2, 3, 40, 64}, {2, 3, 64, 40}},
                                                 {{2, 1, 33, 66}, {1, 3, 66, 65}},
                                                 {{3, 4, 17}, {17, 33}},
                                                 {{70, 300}, {2, 300, 20}},
                                                 {{1, 1}, {1, 1}},
                                                 {{2, 130, 600}, {600, 35}},
                                                 {{64}, {2, 64, 48}},
                                                 {{2, 9, 48}, {48}}};
  for (const auto& [a, b] : activations)
    for (const Quantized& q : kQuantized) {
      const int64_t columns = b.rank() == 1 ? 1 : b.back(), depth = a.back();
      for (const int zero : {0, 128, 77}) {
        std::vector<Tensor> inputs = quantized_inputs(q, bytes(q.x, a, 2), b, columns, double(depth));
        inputs[5] = one_byte(q.w, zero);
        std::vector<size_t> constants = constants_of(inputs);
        std::erase(constants, size_t{3});
        cases.push_back(
            {"minnow.QuantizedMatMul", inputs, q.relu ? Attributes{{"activation", std::string("Relu")}} : Attributes{}, constants});
        SchemeCase real = with_real_result("minnow.QuantizedMatMul", q.bias ? with_real_bias(inputs) : inputs, q, {});
        std::erase(real.constants, size_t{3});
        cases.push_back(real);
        SchemeCase activated = with_activation("minnow.QuantizedMatMul", inputs, {}, number++);
        std::erase(activated.constants, size_t{3});
        cases.push_back(activated);
        cases.push_back({"MatMulInteger", {inputs[0], inputs[3], inputs[2], inputs[5]}});
        inputs.resize(8), constants = constants_of(inputs);
        std::erase(constants, size_t{3});
        cases.push_back({"QLinearMatMul", inputs, {}, constants});
      }
    }
  for (DType dtype : {DType::u8, DType::i8}) {
    cases.push_back({"MaxPool", {bytes(dtype, {1, 17, 9, 11}, 1)}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}});
    cases.push_back({"MaxPool", {bytes(dtype, {2, 16, 7, 8}, 1)}, {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 1, 2, 0}}}});
    cases.push_back({"MaxPool",
                     {bytes(dtype, {1, 5, 9, 8}, 1)},
                     {{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 2, 1, 2}}}});
    cases.push_back({"MaxPool", {bytes(dtype, {1, 5, 30}, 1)}, {{"kernel_shape", Ints{4}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}}});
  }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 3, 90, 91}, Shape{37}, Shape{5, 6}})
    for (DType dtype : {DType::u8, DType::i8}) {
      Tensor x = normal(shape, 1, 60);
      constexpr float kValues[] = {NAN, INFINITY, -INFINITY, 0.35f, 1.05f, 1e30f};
      for (int64_t i = 0; i < shape.elements(); i += 5) x.writable().data<float>()[i] = kValues[i % 6];
      cases.push_back({"QuantizeLinear", {x, Tensor::scalar_f32(0.7f), one_byte(dtype, 5)}});
      cases.push_back(
          {"QuantizeLinear", {normal(shape, 2, 60), scales(shape[0], 0.7), bytes(dtype, {shape[0]}, 4)}, {{"axis", int64_t{0}}}});
      cases.push_back({"DequantizeLinear", {bytes(dtype, shape, 1), Tensor::scalar_f32(0.7f), one_byte(dtype, 5)}});
      cases.push_back({"DequantizeLinear", {bytes(dtype, shape, 1), scales(shape.back(), 0.7)}, {{"axis", int64_t{-1}}}});
      if (shape.rank() > 1)
        for (const char* to : {"packed", "plain"})
          cases.push_back({std::string(kReorder), {bytes(dtype, shape, 1)}, {{"to", std::string(to)}}});
    }
  for (SchemeCase& each : nbits_cases()) cases.push_back(std::move(each));
  return cases;
}

}  // namespace minnow::cpu
