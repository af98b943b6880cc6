// SPDX-License-Identifier: Apache-2.0
// Each row of the table, on each instruction set, against the references, over shapes a lane short and a lane over, single pixels, several
// images, both layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>
#include <set>

#include "backends/backend.h"
#include "backends/cpu/kernel_support.h"
#include "base/numeric.h"
#include "support/operators.h"
#include "support/scheme_cases.h"
#include "support/series.h"

namespace minnow::cpu {
namespace {

std::vector<SchemeCase> unary_cases() {
  std::vector<SchemeCase> cases;
  for (const char* op : {"Tan", "Atan", "Sinh", "Cosh", "Asin", "Acos", "Asinh", "Acosh", "Atanh"})
    for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{3000}, Shape{}}) {
      Tensor x = normal(shape, 3, 2);
      for (float& value : std::span(x.writable().data<float>(), size_t(shape.elements()))) {
        if (op == std::string_view("Asin") || op == std::string_view("Acos") || op == std::string_view("Atanh")) value = std::sin(value);
        if (op == std::string_view("Acosh")) value = std::exp(value);
      }
      if (shape.rank() == 1) {  // the ends, and numbers beyond them
        const float ends[] = {NAN,    INFINITY, -INFINITY, 0.0f,   1.0f,    -1.0f, 1.5f,   -1.5f,   1e-20f,
                              -1e-7f, 89.0f,    -89.0f,    100.0f, 1.0001f, 1e15f, -3e38f, 3.4e38f, 0.9999999f};
        if (op[0] != 'T') std::copy(std::begin(ends), std::end(ends), x.writable().data<float>());
      }
      cases.push_back({op, {x}});
    }
  for (const char* op : {"Abs",         "Ceil",      "Celu",      "Cos",      "Elu",      "Erf",        "Exp",  "Floor",          "Gelu",
                         "HardSigmoid", "HardSwish", "LeakyRelu", "Mish",     "Neg",      "Reciprocal", "Relu", "Round",          "Selu",
                         "Sigmoid",     "Sign",      "Sin",       "Softplus", "Softsign", "Swish",      "Tanh", "ThresholdedRelu"})
    for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{37}, Shape{}}) cases.push_back({op, {normal(shape)}});
  for (const char* op : {"Sqrt", "Log"}) {
    Tensor positive = normal({1, 9, 40, 50});
    for (float& value : std::span(positive.writable().data<float>(), 9 * 40 * 50)) value = std::fabs(value) + 0.01f;
    cases.push_back({op, {positive}});
  }
  cases.push_back({"Clip", {normal({3, 20, 9}), Tensor::scalar_f32(-0.5f), Tensor::scalar_f32(0.7f)}, {}, {1, 2}});
  cases.push_back({"Clip", {normal({3, 20, 9}), Tensor(), Tensor::scalar_f32(0.7f)}, {}, {2}});
  cases.push_back({"Clip", {normal({3, 20, 9})}});
  cases.push_back({"Gelu", {normal({3, 20, 9})}, {{"approximate", std::string("tanh")}}});
  return cases;
}

std::vector<SchemeCase> binary_cases() {
  std::vector<SchemeCase> cases;
  const std::pair<Shape, Shape> shapes[] = {{{2, 17, 5, 7}, {2, 17, 5, 7}},
                                            {{2, 17, 5, 7}, {}},
                                            {{}, {2, 17, 5, 7}},
                                            {{2, 17, 5, 7}, {17, 1, 1}},
                                            {{2, 17, 5, 7}, {1, 17, 1, 1}},
                                            {{2, 17, 5, 7}, {2, 17, 1, 1}},
                                            {{2, 17, 1, 1}, {2, 17, 5, 7}},
                                            {{2, 17, 5, 7}, {2, 1, 5, 7}},
                                            {{3, 1, 4}, {5, 1}},
                                            {{1, 33, 3, 3}, {1, 1, 1, 1}},
                                            {{200, 300}, {300}},
                                            {{7}, {7}},
                                            {{4, 6, 1, 5}, {6, 3, 5}}};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu"})
    for (const auto& [a, b] : shapes)
      for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1}}) {
        if (std::string(op) == "PRelu" && (a.rank() < b.rank() || a == Shape{3, 1, 4} || a == Shape{2, 17, 1, 1} || a == Shape{4, 6, 1, 5}))
          continue;
        Tensor second = normal(b, 2);
        for (float& value : std::span(second.writable().data<float>(), size_t(b.elements()))) value += value < 0 ? -0.5f : 0.5f;
        cases.push_back({op, {normal(a), second}, {}, constants});
      }
  return cases;
}

// Programs: bodies of fused nodes, conditions, more or fewer than two inputs.
std::vector<SchemeCase> program_cases() {
  std::vector<SchemeCase> cases;
  const auto body = [](std::string_view text) { return Attributes{{"body", Subgraph(parse_graph(text).release())}}; };
  const auto condition = [](const Shape& shape) {
    Tensor tensor(DType::boolean, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = i * 7 % 11 < 5;
    return tensor;
  };
  const auto special = [](const Shape& shape, unsigned seed) {
    Tensor tensor = normal(shape, seed);
    constexpr float kValues[] = {NAN, INFINITY, -INFINITY, 0, -0.f, 1};
    for (int64_t i = 0; i < shape.elements(); i += 3) tensor.writable().data<float>()[i] = kValues[(i + seed) % 6];
    return tensor;
  };
  const Shape shapes[] = {{2, 17, 5, 7}, {1, 33, 3, 3}, {1, 64, 40, 40}, {3, 16, 1}, {5, 1100}, {2, 3000}, {37}, {}};
  for (const Shape& shape : shapes) {
    // Six registers at once, a value used twice, numbers on both sides.
    cases.push_back({"minnow.FusedElementwise", {normal(shape), normal(shape, 2)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       const c0 = f32[] 0.5
                       const c1 = f32[] 3
                       a = Exp(x0)
                       b = Sub(c0, x1)
                       c = Mul(a, b)
                       d = Sigmoid(x1)
                       e = Div(c, c1)
                       f = Max(d, e)
                       g = Clip(b, c0, c1)
                       h = Pow(g, c1)
                       i = Add(f, h)
                       y = Mul(i, a)
                       output y
                     })")});
    // Bytes: a function of one tensor, a sum with values for each channel in between, and f32 at either end.
    const auto quantized = [&](DType dtype, int64_t step) {
      Tensor tensor(dtype, shape);
      for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = uint8_t(i * step);
      return tensor;
    };
    cases.push_back({"minnow.FusedElementwise", {quantized(DType::u8, 7)}, body(R"(graph {
                       input x0: u8
                       const s0 = f32[] 0.03
                       const z0 = u8[] 100
                       const s1 = f32[] 0.025
                       const z1 = i8[] -90
                       a = DequantizeLinear(x0, s0, z0)
                       b = HardSwish(a)
                       y = QuantizeLinear(b, s1, z1)
                       output y
                     })")});
    Shape channels = Shape::filled(shape.rank(), 1);
    if (shape.rank() > 1) channels[1] = shape[1];
    cases.push_back({"minnow.FusedElementwise",
                     {quantized(DType::i8, 5), quantized(DType::u8, 11), normal(channels)},
                     body(R"(graph {
                       input x0: i8
                       input x1: u8
                       input x2: f32
                       const s0 = f32[] 0.03
                       const s1 = f32[] 0.07
                       const z1 = u8[] 128
                       const s2 = f32[] 0.11
                       const z2 = u8[] 77
                       a = DequantizeLinear(x0, s0)
                       b = PRelu(a, x2)
                       c = DequantizeLinear(x1, s1, z1)
                       d = Add(b, c)
                       y = QuantizeLinear(d, s2, z2)
                       output y
                     })"),
                     {2}});
    // The same of one sign, with and without values for each channel: one pass over the bytes.
    const auto sum_of_bytes = [&](DType dtype, std::string_view zero, std::string_view activation, const std::vector<Tensor>& more) {
      std::vector<Tensor> inputs{quantized(dtype, 5), quantized(dtype, 11)};
      inputs.insert(inputs.end(), more.begin(), more.end());
      cases.push_back({"minnow.FusedElementwise", inputs,
                       body(format(R"(graph {{
                       input x0: {}
                       input x1: {}
                       {}
                       const s0 = f32[] 0.03
                       const z0 = {}
                       const s1 = f32[] 0.07
                       const s2 = f32[] 0.045
                       const z2 = u8[] 77
                       const few = f32[] 0.2
                       a = DequantizeLinear(x0, s0, z0)
                       b = DequantizeLinear(x1, s1)
                       c = Add(b, a)
                       {}
                       y = QuantizeLinear(d, s2, z2)
                       output y
                     }})",
                                   dtype, dtype, more.empty() ? "" : "input x2: f32", zero, activation)),
                       more.empty() ? std::vector<size_t>{} : std::vector<size_t>{2}});
      cases.back().steps = 1;
    };
    sum_of_bytes(DType::u8, "u8[] 128", "d = Relu(c)", {});
    sum_of_bytes(DType::i8, "i8[] -100", "d = PRelu(c, few)", {});
    sum_of_bytes(DType::u8, "u8[] 3", "d = PRelu(c, x2)", {normal(channels)});
    cases.push_back({"minnow.FusedElementwise",
                     {quantized(DType::i8, 5), normal(channels)},
                     body(R"(graph {
                       input x0: i8
                       input x1: f32
                       const s0 = f32[] 0.03
                       const z0 = i8[] -7
                       const s1 = f32[] 0.02
                       const z1 = i8[] 9
                       a = DequantizeLinear(x0, s0, z0)
                       b = PRelu(a, x1)
                       y = QuantizeLinear(b, s1, z1)
                       output y
                     })"),
                     {1}});
    cases.back().steps = 1;
    // A gate, which may differ between images, and hold infinities and no numbers; the same on integers that stand in floats.
    Shape gates = channels;
    if (shape.rank() > 1) gates[0] = shape[0];
    Tensor odd = normal(gates);
    odd.writable().data<float>()[0] = NAN;
    odd.writable().data<float>()[odd.elements() - 1] = INFINITY;
    Tensor whole(DType::f32, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) whole.writable().data<float>()[i] = static_cast<float>(i * 13 % 256 - 100);
    for (const auto& [gate, constant] : {std::pair(normal(gates), false), {normal(channels), true}, {odd, false}}) {
      const std::vector<size_t> constants = constant ? std::vector<size_t>{2} : std::vector<size_t>{};
      cases.push_back({"minnow.FusedElementwise",
                       {quantized(DType::i8, 5), quantized(DType::i8, 11), gate},
                       body(R"(graph {
                       input x0: i8
                       input x1: i8
                       input x2: f32
                       const s0 = f32[] 0.03
                       const z0 = i8[] -20
                       const s1 = f32[] 0.07
                       const z1 = i8[] 5
                       const s2 = f32[] 0.045
                       const z2 = u8[] 77
                       a = DequantizeLinear(x0, s0, z0)
                       b = DequantizeLinear(x1, s1, z1)
                       c = Mul(x2, b)
                       d = Add(a, c)
                       y = QuantizeLinear(d, s2, z2)
                       output y
                     })"),
                       constants});
      cases.back().steps = 1;
      if (gate.data<float>()[0] != gate.data<float>()[0]) continue;
      cases.push_back({"minnow.FusedElementwise",
                       {whole, whole, gate},
                       body(R"(graph {
                       input x0: f32
                       input x1: f32
                       input x2: f32
                       const s0 = f32[] 0.03
                       const s1 = f32[] 0.07
                       const s2 = f32[] 0.045
                       const low = f32[] -77
                       const high = f32[] 178
                       a = Mul(x0, s0)
                       b = Mul(a, x2)
                       c = Mul(x1, s1)
                       d = Add(b, c)
                       e = Relu(d)
                       f = Div(e, s2)
                       g = Round(f)
                       y = Clip(g, low, high)
                       output y
                     })"),
                       constants});
      cases.back().steps = 1;
    }
    cases.push_back({"minnow.FusedElementwise", {quantized(DType::u8, 3), normal(shape)}, body(R"(graph {
                       input x0: u8
                       input x1: f32
                       const s0 = f32[] 0.03
                       const z0 = u8[] 9
                       a = DequantizeLinear(x0, s0, z0)
                       y = Add(a, x1)
                       output y
                     })")});
    cases.push_back({"minnow.FusedElementwise", {special(shape, 1), special(shape, 2), condition(shape)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       input x2: bool
                       const c0 = f32[] 0
                       a = Less(x0, x1)
                       b = Or(a, x2)
                       c = Neg(x0)
                       y = Where(b, c, c0)
                       output y
                     })")});
    // A chain with values that are read by the next operator, by a later one, by both, twice by one, or by one after many instructions; and
    // a result that is read again.
    cases.push_back({"minnow.FusedElementwise", {normal(shape), normal(shape, 2), Tensor::scalar_f32(0.25f)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       input x2: f32
                       const c0 = f32[] 0.5
                       const c1 = f32[] 3
                       a = Mul(x0, c1)
                       b = Sub(x2, a)
                       c = Abs(b)
                       d = Mul(c, b)
                       e = Mul(d, d)
                       f = Add(e, e)
                       g = Sqrt(f)
                       h = Div(c1, x1)
                       i = Min(h, g)
                       j = Tanh(i)
                       k = Max(j, x2)
                       l = Sub(k, d)
                       m = Floor(l)
                       n = Less(c0, m)
                       o = Where(n, l, x2)
                       p = Neg(o)
                       q = Add(p, x1)
                       y = Mul(q, g)
                       output y
                     })")});
    // Values that are read again: in another branch, with overlapping lifetimes, by a step that reads only memory, and by the last
    // step.
    cases.push_back({"minnow.FusedElementwise", {normal(shape), Tensor::scalar_f32(0.25f)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       const c0 = f32[] 0.5
                       const c1 = f32[] 3
                       a = Mul(x0, c1)
                       b = Sub(a, c0)
                       c = Add(a, x1)
                       d = Mul(b, c)
                       e = Mul(d, c0)
                       f = Add(e, d)
                       g = Neg(f)
                       h = Sub(g, a)
                       i = Abs(h)
                       j = Max(i, h)
                       k = Mul(j, x1)
                       l = Sub(j, k)
                       m = Abs(k)
                       n = Add(l, m)
                       o = Sub(m, n)
                       y = Add(o, b)
                       output y
                     })")});
    for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
      cases.push_back({op, {special(shape, 1), special(shape, 2)}});
      cases.push_back({op, {special(shape, 1), Tensor::scalar_f32(0)}});
    }
    for (const char* op : {"And", "Or", "Xor", "Equal"}) cases.push_back({op, {condition(shape), condition({1})}});
    cases.push_back({"Not", {condition(shape)}});
    cases.push_back({"IsNaN", {special(shape, 1)}});
    cases.push_back({"Cast", {special(shape, 1)}, {{"to", static_cast<int64_t>(DType::boolean)}}});
    cases.push_back({"Cast", {condition(shape)}, {{"to", static_cast<int64_t>(DType::f32)}}});
    cases.push_back({"Where", {condition(shape), special(shape, 1), Tensor::scalar_f32(-INFINITY)}});
    cases.push_back({"Clip", {normal(shape), Tensor::scalar_f32(-0.5f), Tensor::scalar_f32(0.7f)}});
    for (const char* op : {"Max", "Min", "Mean", "Sum"}) {
      cases.push_back({op, {normal(shape)}});
      cases.push_back({op, {normal(shape), normal(shape, 2), Tensor::scalar_f32(0.1f)}});
    }
    for (float exponent : {2.f, 3.f, 1.f, -1.f, 0.5f, 0.f, 2.5f})
      cases.push_back({"Pow", {normal(shape), Tensor::scalar_f32(exponent)}, {}, {1}});
  }
  const std::vector<Shape> broadcasts[] = {{{2, 17, 5, 7}, {17, 1, 1}, {1}}, {{2, 17, 5, 7}, {2, 17, 1, 1}, {1, 17, 1, 1}},
                                           {{2, 1, 5, 7}, {17, 1, 1}, {7}},  {{4, 300, 384}, {384}, {300, 1}},
                                           {{3, 1, 4}, {5, 1}, {1, 1}},      {{2, 3, 5, 6}, {2, 1, 1, 6}, {5, 6}},
                                           {{200, 300}, {200, 1}, {300}},    {{1, 20, 64, 64}, {1, 20, 1, 1}, {1, 20, 64, 64}}};
  for (const std::vector<Shape>& each : broadcasts)
    for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1, 2}}) {
      cases.push_back({"minnow.FusedElementwise",
                       {normal(each[0]), normal(each[1], 2), normal(each[2], 3)},
                       body(R"(graph {
                         input x0: f32
                         input x1: f32
                         input x2: f32
                         a = Mul(x1, x2)
                         b = Tanh(x0)
                         c = Sub(b, a)
                         d = Sigmoid(x1)
                         y = Mul(d, c)
                         output y
                       })"),
                       constants});
      cases.push_back({"Where", {condition(each[0]), normal(each[1]), normal(each[2], 2)}, {}, constants});
      cases.push_back({"Where", {condition(each[1]), normal(each[2]), normal(each[0], 2)}, {}, {}});
    }
  return cases;
}

std::vector<SchemeCase> row_cases() {
  std::vector<SchemeCase> cases;
  for (const char* op : {"Softmax", "LogSoftmax"})
    for (const auto& [shape, axis] :
         {std::pair(Shape{5, 1000}, -1), {Shape{3, 7}, 1}, {Shape{2, 19, 4, 5}, 1}, {Shape{300, 3}, 0}, {Shape{9}, 0}, {Shape{2, 1, 3}, 1}})
      cases.push_back({op, {normal(shape)}, {{"axis", int64_t{axis}}}});
  for (const char* op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
    for (const auto& [shape, axes] : {std::pair(Shape{2, 17, 5, 7}, Ints{2, 3}),
                                      {Shape{1, 33, 3, 2, 5}, Ints{-1, 2, 3}},
                                      {Shape{2, 17, 5, 7}, Ints{1}},
                                      {Shape{2, 17, 5, 7}, Ints{-1}},
                                      {Shape{2, 3, 1500}, Ints{0, 1}},
                                      {Shape{2, 5, 3}, Ints{}},
                                      {Shape{3, 1, 6, 1}, Ints{0, 2}},
                                      {Shape{7, 200, 2}, Ints{2}},
                                      {Shape{67, 16}, Ints{1}},
                                      {Shape{4, 65}, Ints{1}},
                                      {Shape{2, 20011}, Ints{1}},
                                      {Shape{33333}, Ints{}},
                                      {Shape{130, 300}, Ints{0}},
                                      {Shape{2, 37, 2100}, Ints{1}}})
      for (int64_t keep : {0, 1}) {
        Tensor x = normal(shape);
        for (float& value :
             std::span(x.writable().data<float>(), size_t(shape.elements())))  // positive for the logarithm, near 1 for the product
          if (std::string(op) == "ReduceLogSum")
            value = std::fabs(value) + 0.01f;
          else if (std::string(op) == "ReduceProd")
            value = 1 + value * 0.02f;
        const Tensor along = Tensor::of_i64({int64_t(axes.size())}, axes);
        cases.push_back({op, {x, along}, {{"keepdims", keep}}, {1}});
        const bool is_product = std::string(op) == "ReduceProd", orders = std::string(op).starts_with("ReduceM") && op[7] != 'e';
        for (const DType dtype : {DType::f64, DType::i32, DType::i64, DType::u32, DType::u64, DType::boolean}) {
          const bool sums = is_product || std::string(op) == "ReduceSum" || (std::string(op) == "ReduceMean" && dtype == DType::f64);
          if (!orders && (!sums || dtype == DType::boolean)) continue;
          Tensor y(dtype, shape);
          for (size_t i = 0; i < size_t(shape.elements()); ++i) {
            void* const at = y.writable().data<uint8_t>() + i * size_of(dtype);
            const double real = static_cast<double>(x.data<float>()[i]);
            // Some lines of bools are all true, some have one that is not.
            const int64_t whole = dtype == DType::boolean ? i % 977 != 0 : int64_t(i * 0x9e3779b97f4a7c15 >> 20) | 1;
            if (dtype == DType::f64)
              narrow(dtype, &real, 1, at);
            else
              narrow(dtype, &whole, 1, at);
          }
          cases.push_back({op, {y, along}, {{"keepdims", keep}}, {1}});
        }
      }
  for (const Shape& shape : {Shape{2, 5, 33}, Shape{1, 7, 768}, Shape{3, 4, 6}}) {
    const Shape last{shape.back()}, two{shape[1], shape[2]};
    cases.push_back({"LayerNormalization", {normal(shape), normal(last, 2), normal(last, 3)}, {}, {1, 2}});
    cases.push_back({"LayerNormalization", {normal(shape), normal(two, 2)}, {{"axis", int64_t{1}}, {"epsilon", 0.01f}}});
    cases.push_back({"RMSNormalization", {normal(shape), normal(last, 2)}});
  }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 64, 9}, Shape{3, 8, 2, 3, 4}}) {
    const Shape c{shape[1]};
    Tensor variance = normal(c, 5);
    for (float& value : std::span(variance.writable().data<float>(), size_t(c[0]))) value = std::fabs(value) + 0.1f;
    cases.push_back({"BatchNormalization", {normal(shape), normal(c, 2), normal(c, 3), normal(c, 4), variance}, {}, {1, 2, 3, 4}});
    cases.push_back({"InstanceNormalization", {normal(shape), normal(c, 2), normal(c, 3)}, {}, {1, 2}});
  }
  // {channels, groups}: groups within a vector, over several, across their borders, of one channel, of all.
  for (const auto& [channels, groups] : {std::pair<int64_t, int64_t>{17, 1}, {64, 4}, {64, 64}, {48, 2}, {30, 5}, {8, 2}, {1, 1}})
    for (const Shape& shape : {Shape{2, channels, 5, 7}, Shape{1, channels, 4}, Shape{3, channels, 61, 60}}) {
      Tensor x = normal(shape);
      for (float& value : std::span(x.writable().data<float>(), size_t(shape.elements()))) value += 3;  // means that differ from 0
      cases.push_back({"GroupNormalization", {x, normal({channels}, 2), normal({channels}, 3)}, {{"num_groups", groups}}, {1, 2}});
    }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 6, 30, 31}, Shape{3, 1, 4}, Shape{2, 40}, Shape{1, 9, 2, 3, 4}})
    for (const int64_t size : {1, 2, 5, 100}) {
      cases.push_back({"LRN", {normal(shape)}, {{"size", size}, {"alpha", 0.5f}}});
      cases.push_back({"LRN", {normal(shape)}, {{"size", size}, {"alpha", 2.f}, {"beta", 0.3f}, {"bias", 0.01f}}});
    }
  return cases;
}

std::vector<SchemeCase> cast_cases() {
  std::vector<SchemeCase> cases;
  for (const Shape& shape : {Shape{2, 17, 61, 60}, Shape{1, 3, 5}, Shape{33}, Shape{}})
    for (const DType dtype : {DType::f16, DType::bf16}) {
      Tensor x = normal(shape, 1, 40000), narrow(dtype, shape);  // some beyond the largest f16
      for (size_t i = 0; i < size_t(shape.elements()); ++i) {
        float& value = x.writable().data<float>()[i];
        value *= i % 3 == 0 ? 1 : i % 3 == 1 ? 1e-9f : 1e-13f;
        narrow.writable().data<uint16_t>()[i] = uint16_t(i * 40503);
      }
      cases.push_back({"Cast", {x}, {{"to", static_cast<int64_t>(dtype)}}});
      cases.push_back({"Cast", {narrow}, {{"to", static_cast<int64_t>(DType::f32)}}});
    }
  // Floats to integers within 32 bits, beyond them, and beyond all; and back.
  for (const double sigma : {1e3, 1e12}) {
    Tensor x = normal({2, 17, 61}, 1, sigma);
    float* values = x.writable().data<float>();
    if (sigma > 1e6) values[0] = NAN, values[700] = INFINITY, values[1400] = -INFINITY, values[1401] = 1.2e19f;
    for (const DType dtype : {DType::i64, DType::i32, DType::boolean})
      cases.push_back({"Cast", {x}, {{"to", static_cast<int64_t>(dtype)}}});
    for (const char* op : {"IsInf", "IsNaN"}) cases.push_back({op, {x}});
    for (const auto& [negative, positive] : {std::pair(0, 1), {1, 0}, {0, 0}})
      cases.push_back({"IsInf", {x}, {{"detect_negative", int64_t{negative}}, {"detect_positive", int64_t{positive}}}});
  }
  for (const DType from : {DType::i64, DType::i32, DType::boolean}) {
    Tensor x(from, {3, 500});
    for (size_t i = 0; i < 1500; ++i) {
      const int64_t value = i % 5 == 0 ? 0 : int64_t(i * 0x9e3779b97f4a7c15);
      if (from == DType::i64) x.writable().data<int64_t>()[i] = value;
      if (from == DType::i32) x.writable().data<int32_t>()[i] = int32_t(value);
      if (from == DType::boolean) x.writable().data<uint8_t>()[i] = value & 1;
    }
    for (const DType to : {DType::i64, DType::i32, DType::f32})
      if (from != to && (from != DType::boolean || to == DType::f32)) cases.push_back({"Cast", {x}, {{"to", static_cast<int64_t>(to)}}});
  }
  // Every width of integers, bool and f64: in whole, with a number on either side, rows repeated.
  for (const DType dtype :
       {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean, DType::f64})
    for (const auto& [left, right] :
         {std::pair(Shape{3, 1500}, Shape{3, 1500}), {Shape{3, 1500}, Shape{}}, {Shape{3, 1}, Shape{3, 1500}}, {Shape{7}, Shape{5, 7}}}) {
      Tensor a(dtype, left), b(dtype, right), condition(DType::boolean, right);
      const auto fill = [&](Tensor& x, uint64_t seed) {
        for (size_t i = 0; i < size_t(x.shape().elements()); ++i) {
          const int64_t value =
              int64_t((i + seed) * 0x9e3779b97f4a7c15 >> (i % 3 == 0 ? 60 : 40)) % 1000 - (is_unsigned(x.dtype()) ? 0 : 20);
          const int64_t kept = x.dtype() == DType::boolean ? value & 1 : value;
          narrow(x.dtype(), &kept, 1, x.writable().data<uint8_t>() + i * size_of(x.dtype()));
        }
      };
      fill(a, 1), fill(b, 5), fill(condition, 9);
      cases.push_back({"Equal", {a, b}});
      cases.push_back({"Where", {condition, a, b}});
      cases.push_back({"Where", {condition, b, a}});
      if (dtype == DType::boolean) {
        for (const char* op : {"And", "Or", "Xor"}) cases.push_back({op, {a, b}});
        cases.push_back({"Not", {a}});
        continue;
      }
      for (const char* op : {"Add", "Sub", "Mul", "Max", "Min", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
        cases.push_back({op, {a, b}});
      if (is_integer(dtype))
        for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) cases.push_back({op, {a, b}});
      if (is_integer(dtype)) cases.push_back({"BitwiseNot", {a}});
      if (is_signed(dtype))
        for (const char* op : {"Neg", "Abs"}) cases.push_back({op, {a}});
      for (const DType to : {DType::i8, DType::u16, DType::i32, DType::u64, DType::f32, DType::f64})
        if (to != dtype && (is_integer(dtype) || is_float(to))) cases.push_back({"Cast", {a}, {{"to", static_cast<int64_t>(to)}}});
    }
  // Bits and remainders, with a number on either side.
  for (const DType dtype : {DType::i64, DType::i32, DType::u32})
    for (const auto& [left, right] : {std::pair(Shape{3, 700}, Shape{3, 700}), {Shape{3, 700}, Shape{}}, {Shape{3, 1}, Shape{700}}}) {
      Tensor a(dtype, left), b(dtype, right);
      const auto fill = [&](Tensor& x, uint64_t seed) {
        for (size_t i = 0; i < size_t(x.shape().elements()); ++i) {
          const uint64_t value = i % 3 == 0 ? i % 70 + 2 : (i + seed) * 0x9e3779b97f4a7c15 >> i % 40;
          if (size_of(dtype) == 8)
            x.writable().data<uint64_t>()[i] = value;
          else
            x.writable().data<uint32_t>()[i] = uint32_t(value);
        }
      };
      fill(a, 1), fill(b, 5);
      if (size_of(dtype) == 4)
        for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) cases.push_back({op, {a, b}});
      if (dtype == DType::u32)
        for (const char* direction : {"LEFT", "RIGHT"}) cases.push_back({"BitShift", {a, b}, {{"direction", std::string(direction)}}});
      if (is_signed(dtype))
        for (const char* op : {"Div", "Mod"}) cases.push_back({op, {a, b}, {}, {1}});
    }
  Tensor bytes(DType::u8, {3, 67, 1}), places(DType::u8, {3});
  for (size_t i = 0; i < size_t(bytes.elements()); ++i) bytes.writable().data<uint8_t>()[i] = uint8_t(i * 37);
  for (size_t i = 0; i < 3; ++i) places.writable().data<uint8_t>()[i] = uint8_t(4 * i);  // 8 leaves nothing
  for (const char* direction : {"LEFT", "RIGHT"}) cases.push_back({"BitShift", {bytes, places}, {{"direction", std::string(direction)}}});
  return cases;
}

std::vector<SchemeCase> arg_cases() {
  std::vector<SchemeCase> cases;
  // Axes last and before others, a lane more than a block of columns, rows short and long.
  const std::pair<Shape, int64_t> shapes[] = {{{2, 21, 9, 11}, 1}, {{1, 3, 513}, 1}, {{5, 1, 7}, 1},  {{700, 2}, 0}, {{3, 7, 21}, 2},
                                              {{130, 64}, 1},      {{2, 65}, 1},     {{1, 1000}, -1}, {{7}, 0},      {{3, 1}, -1}};
  for (const auto& [shape, axis] : shapes)
    for (const char* op : {"ArgMax", "ArgMin"})
      for (const int64_t last : {0, 1}) {
        const Attributes attributes = {{"axis", axis}, {"select_last_index", last}, {"keepdims", last}};
        const size_t count = size_t(shape.elements());
        Tensor halves = normal(shape), special = normal(shape), bytes(DType::u8, shape), signed_bytes(DType::i8, shape);
        for (size_t i = 0; i < count; ++i) {
          float& value = halves.writable().data<float>()[i];
          value = std::round(2 * value) / 2 * (i % 3 ? 1.f : -1.f);  // with many that are equal, and zeros of both signs
          bytes.writable().data<uint8_t>()[i] = uint8_t(i * 37 % 251);
          signed_bytes.writable().data<int8_t>()[i] = int8_t(int(i * 41 % 13) - 6);
          if (i % 5 == 0) special.writable().data<float>()[i] = i % 4 == 0 ? NAN : i % 4 == 1 ? INFINITY : -INFINITY;
        }
        for (const Tensor& x : {normal(shape), halves, special, bytes, signed_bytes}) cases.push_back({op, {x}, attributes});
        for (const DType dtype : {DType::f64, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64}) {
          if (last) break;
          Tensor x(dtype, shape);  // with many that are equal, NaN, and the highest bit of unsigned ones
          for (size_t i = 0; i < count; ++i) {
            void* const at = x.writable().data<uint8_t>() + i * size_of(dtype);
            const double real = i % 331 == 330 ? NAN : static_cast<double>(halves.data<float>()[i]);
            const int64_t whole = i % 89 == 88 ? int64_t(i << 56) : int64_t(i * 37 % 251) - (is_signed(dtype) ? 100 : 0);
            if (dtype == DType::f64)
              narrow(dtype, &real, 1, at);
            else
              narrow(dtype, &whole, 1, at);
          }
          cases.push_back({op, {x}, attributes});
        }
      }
  return cases;
}

std::vector<SchemeCase> line_cases() {
  std::vector<SchemeCase> cases;
  const std::pair<Shape, int64_t> shapes[] = {{{2, 21, 9, 11}, 1}, {{1, 3, 513}, 1}, {{5, 1, 7}, 1}, {{700, 2}, 0},
                                              {{130, 64}, 1},      {{1, 1000}, -1},  {{2, 3000}, 1}, {{1}, 0}};
  for (const auto& [shape, axis] : shapes) {
    Tensor halves = normal(shape), special = normal(shape);
    for (size_t i = 0; i < size_t(shape.elements()); ++i) {
      float& value = halves.writable().data<float>()[i];
      value = std::round(2 * value) / 2 * (i % 3 ? 1.f : -1.f);
      if (i % 5 == 0) special.writable().data<float>()[i] = i % 4 == 0 ? NAN : i % 4 == 1 ? INFINITY : -INFINITY;
    }
    const int64_t length = shape[axis < 0 ? shape.rank() - 1 : size_t(axis)];
    for (const Tensor& x : {normal(shape), halves, special}) {
      cases.push_back({"Hardmax", {x}, {{"axis", axis}}});
      for (const int64_t count : {int64_t{1}, int64_t{5}, int64_t{16}, int64_t{17}, length / 3, length})
        for (const int64_t largest : {0, 1})
          if (count >= 1 && count <= length)
            cases.push_back({"TopK", {x, Tensor::of_i64({1}, Ints{count})}, {{"axis", axis}, {"largest", largest}}, {1}, 2});
    }
  }
  for (const int64_t exclusive : {0, 1})
    for (const int64_t reverse : {0, 1})
      for (const auto& [shape, axis] : {std::pair(Shape{40, 300}, 0), {Shape{2, 5, 9}, -2}, {Shape{1, 8}, 0}})
        cases.push_back({"CumSum", {normal(shape), Tensor::of_i64({}, Ints{axis})}, {{"exclusive", exclusive}, {"reverse", reverse}}, {1}});
  for (const int64_t p : {1, 2}) {
    Tensor x = normal({6, 37});  // rows whose sums overflow, underflow, are zero, or NaN
    for (size_t i = 0; i < 37; ++i) {
      float* at = x.writable().data<float>() + i;
      at[37] *= 1e30f, at[2 * 37] *= 1e-30f, at[3 * 37] = 0;
    }
    x.writable().data<float>()[4 * 37 + 3] = NAN;
    for (const Tensor& one : {x, normal({3, 1}), normal({5}), normal({4, 3000})}) cases.push_back({"LpNormalization", {one}, {{"p", p}}});
  }
  return cases;
}

std::vector<SchemeCase> sampling_cases() {
  std::vector<SchemeCase> cases;
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const int64_t corners : {0, 1})
        for (const auto& [x, grid] : {std::pair(Shape{2, 17, 5, 7}, Shape{2, 19, 15, 2}),
                                      {Shape{1, 3, 1, 1}, Shape{1, 2, 3, 2}},
                                      {Shape{1, 16, 9}, Shape{1, 300, 1}},
                                      {Shape{1, 5, 3, 4, 2}, Shape{1, 2, 5, 3, 3}}}) {
          Tensor at = normal(grid, 4, 0.8);
          at.writable().data<float>()[1] = 40;  // far outside
          at.writable().data<float>()[2] = NAN;
          Tensor image = normal(x);
          if (x.rank() == 3) image.writable().data<float>()[0] = NAN;  // samples in the padding must not read it
          cases.push_back({"GridSample",
                           {image, at},
                           {{"mode", std::string(mode)}, {"padding_mode", std::string(padding)}, {"align_corners", corners}}});
        }
  const Tensor regions = test::tensor(DType::f32, {6, 4},
                                      {0, 0, 3, 3, 1.2, 2.1, 4.6, 3.3, -2, 1, 90, 9, 2, 2, 2.1, 2.1, 7, 6, 1, 2, 30, 30, 50, 50}),
               images = test::tensor(DType::i64, {6}, {0, 1, 0, 1, 1, 0});
  for (const Shape& x : {Shape{2, 17, 9, 11}, Shape{2, 3, 1, 1}})
    for (const int64_t samples : {0, 1, 2, 5})
      for (const char* mode : {"half_pixel", "output_half_pixel"})
        for (const auto& [height, width] : {std::pair(7, 7), {1, 1}, {2, 3}})
          cases.push_back({"RoiAlign",
                           {normal(x), regions, images},
                           {{"coordinate_transformation_mode", std::string(mode)},
                            {"output_height", int64_t{height}},
                            {"output_width", int64_t{width}},
                            {"sampling_ratio", samples},
                            {"spatial_scale", 0.75f}}});
  // More pixels in a bin than are summed up at once.
  cases.push_back({"RoiAlign",
                   {normal({1, 3, 60, 70}), test::tensor(DType::f32, {1, 4}, {1, 2, 69, 58}), test::tensor(DType::i64, {1}, {0})},
                   {{"output_height", int64_t{1}}, {"output_width", int64_t{1}}}});
  return cases;
}

std::vector<SchemeCase> movement_cases() {
  std::vector<SchemeCase> cases;
  const auto ints = [](Ints values) { return Tensor::of_i64({int64_t(values.size())}, values); };
  for (const Ints& perm : {Ints{0, 2, 3, 1}, Ints{3, 2, 1, 0}, Ints{1, 0, 2, 3}, Ints{0, 1, 3, 2}})
    cases.push_back({"Transpose", {normal({2, 17, 5, 7})}, {{"perm", perm}}});
  cases.push_back({"Transpose", {normal({30, 40})}});
  // Three channels from the end, of floats and of bytes.
  for (const auto& [shape, perm] : {std::pair(Shape{2, 5, 7, 3}, Ints{0, 3, 1, 2}),
                                    {Shape{1, 130, 131, 3}, Ints{0, 3, 1, 2}},
                                    {Shape{6, 3}, Ints{1, 0}},
                                    {Shape{4, 2, 9, 3}, Ints{0, 1, 3, 2}},
                                    {Shape{4, 17, 3}, Ints{1, 0, 2}}}) {
    Tensor bytes(DType::u8, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) bytes.writable().data<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
    cases.push_back({"Transpose", {normal(shape)}, {{"perm", perm}}});
    cases.push_back({"Transpose", {bytes}, {{"perm", perm}}});
  }
  for (int64_t axis : {0, 1, 3}) {
    cases.push_back({"Concat", {normal({2, 16, 5, 7}), normal({2, 16, 5, 7}, 2), normal({2, 16, 5, 7}, 3)}, {{"axis", axis}}});
    cases.push_back({"Split", {normal({4, 32, 5, 8}), ints({2, 2})}, {{"axis", int64_t{0}}}, {1}, 2});
    cases.push_back({"Split", {normal({4, 48, 5, 8}), ints({16, 32})}, {{"axis", int64_t{1}}}, {1}, 2});
  }
  cases.push_back({"Concat", {normal({1, 32, 3, 3}), normal({1, 5, 3, 3}, 2)}, {{"axis", int64_t{1}}}});
  const auto bytes = [](const Shape& shape, uint8_t first) {
    Tensor tensor(DType::u8, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = uint8_t(first + i * 7);
    return tensor;
  };
  cases.push_back({"Concat", {bytes({2, 32, 3, 5}, 1), bytes({2, 5, 3, 5}, 2)}, {{"axis", int64_t{1}}}});
  cases.push_back({"Split", {bytes({1, 48, 5, 7}, 3), ints({32, 16})}, {{"axis", int64_t{1}}}, {1}, 2});
  for (const auto& [data, indices] : {std::pair(Shape{3, 7, 9}, Shape{3, 7, 9}), {Shape{3, 7, 9}, Shape{2, 11, 5}}, {Shape{5}, Shape{300}}})
    for (int64_t axis = 0; axis < int64_t(data.rank()); ++axis)
      for (const DType dtype : {DType::i32, DType::i64}) {
        Shape at = data;
        at[size_t(axis)] = indices[size_t(axis)];
        Tensor index(dtype, at);
        for (int64_t i = 0; i < at.elements(); ++i) {
          const int64_t value = i * 31 % (2 * data[size_t(axis)]) - data[size_t(axis)];
          if (dtype == DType::i64)
            index.writable().data<int64_t>()[i] = value;
          else
            index.writable().data<int32_t>()[i] = int32_t(value);
        }
        cases.push_back({"GatherElements", {normal(data), index}, {{"axis", axis}}});
        for (const DType kind : {DType::u8, DType::i64}) {
          Tensor other(kind, data);
          for (size_t i = 0; i < other.bytes(); ++i) other.writable().data<uint8_t>()[i] = uint8_t(i * 37);
          cases.push_back({"GatherElements", {other, index}, {{"axis", axis}}});
        }
      }
  cases.push_back({"Slice", {normal({4, 17, 9}), ints({1, -1}), ints({3, -100}), ints({0, 2}), ints({1, -2})}, {}, {1, 2, 3, 4}});
  cases.push_back({"Expand", {normal({3, 1, 5}), ints({2, 3, 4, 5})}, {}, {1}});
  cases.push_back({"Tile", {normal({3, 4}), ints({2, 3})}, {}, {1}});
  cases.push_back({"Pad", {normal({2, 3, 4}), ints({0, 1, 2, 3, 0, 1}), Tensor::scalar_f32(1.5f)}, {}, {1, 2}});
  // Channels behind the others.
  for (const auto& [channels, more] : {std::pair<int64_t, int64_t>{17, 9}, {24, 4}, {16, 33}, {3, 1}, {32, 0}})
    for (const Shape& pixels : {Shape{5, 7}, Shape{1, 1}}) {
      Tensor bytes(DType::u8, {2, channels, pixels[0], pixels[1]}), value(DType::u8, Shape{1});
      for (int64_t i = 0; i < bytes.elements(); ++i) bytes.writable().data<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
      *value.writable().data<uint8_t>() = 130;
      cases.push_back({"Pad", {normal(bytes.shape()), ints({0, 0, 0, 0, 0, more, 0, 0}), Tensor::scalar_f32(1.5f)}, {}, {1, 2}});
      cases.push_back({"Pad", {normal(bytes.shape()), ints({0, more}), Tensor(), ints({1})}, {}, {1, 3}});
      cases.push_back({"Pad", {bytes, ints({0, 0, 0, 0, 0, more, 0, 0}), value}, {}, {1, 2}});
    }
  for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{0, 4}, Shape{}, Shape{40000}}) {
    Tensor key(DType::u32, Shape{2});
    key.writable().data<uint32_t>()[0] = 4000000000u, key.writable().data<uint32_t>()[1] = 17;
    cases.push_back({"minnow.KeyedUniform", {key, Tensor::of_i64({int64_t(shape.rank())}, Ints(shape.begin(), shape.end()))}, {}, {1}});
  }
  cases.push_back({"DepthToSpace", {normal({1, 12, 4, 5})}, {{"blocksize", int64_t{2}}}});
  cases.push_back({"SpaceToDepth", {normal({1, 3, 4, 6})}, {{"blocksize", int64_t{2}}}});
  for (int64_t groups : {1, 2, 3, 7, 29, 58})
    cases.push_back({"minnow.ChannelShuffle",
                     {normal({2, 986, 5, 3}), normal({2, 232, 5, 3}, 2)},
                     {{"groups", groups}, {"sizes", Ints{406, 812}}},
                     {},
                     2});
  for (const Shape& shape :
       {Shape{1, 48, 90, 91}, Shape{3, 20, 1}, Shape{2, 12}, Shape{2, 1024, 1, 1}, Shape{0, 6, 3, 3}, Shape{1, 6, 0, 3}})
    cases.push_back({"minnow.ChannelShuffle", {normal(shape)}, {{"groups", int64_t{2}}}});
  cases.push_back({"minnow.ChannelShuffle",
                   {normal({1, 24, 7, 7}), normal({1, 24, 7, 7}, 2)},
                   {{"groups", int64_t{2}}, {"sizes", Ints{24, 24}}},
                   {},
                   2});
  cases.push_back({"Gather", {normal({5, 6, 7}), ints({4, 0, -1})}, {{"axis", int64_t{1}}}});
  cases.push_back({"Reshape", {normal({2, 6}), ints({3, 4})}, {}, {1}});
  cases.push_back({"Flatten", {normal({2, 6, 3})}});
  cases.push_back({"Identity", {normal({2, 6, 3})}});
  cases.push_back({"Squeeze", {normal({1, 6, 1})}});
  cases.push_back({"Unsqueeze", {normal({6}), ints({0, 2})}, {}, {1}});
  return cases;
}

std::vector<SchemeCase> layout_cases() {
  std::vector<SchemeCase> cases;
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 3, 90, 91}, Shape{3, 64}, Shape{1, 16, 9}, Shape{2, 1, 2, 2, 2}})
    for (const char* to : {"packed", "plain"}) cases.push_back({std::string(kReorder), {normal(shape)}, {{"to", std::string(to)}}});
  const auto sizes = [](Ints values) { return Tensor::of_i64({int64_t(values.size())}, values); };
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* transformation : {"half_pixel", "align_corners", "asymmetric"})
      for (const auto& [from, to] : {std::pair(Shape{2, 17, 5, 7}, Ints{2, 17, 11, 15}),
                                     {Shape{1, 3, 40, 30}, Ints{1, 3, 17, 9}},
                                     {Shape{1, 20, 6}, Ints{1, 20, 13}},
                                     {Shape{5, 7}, Ints{5, 4}},
                                     {Shape{1, 16, 9, 9}, Ints{1, 16, 9, 20}},
                                     {Shape{1, 3, 4, 5, 6}, Ints{1, 3, 7, 5, 9}},
                                     {Shape{2, 3, 40, 3, 4}, Ints{2, 3, 2, 6, 8}}})
        for (int64_t antialias : {0, 1})
          cases.push_back({"Resize",
                           {normal(from), Tensor(), Tensor(), sizes(to)},
                           {{"mode", std::string(mode)},
                            {"coordinate_transformation_mode", std::string(transformation)},
                            {"antialias", mode[0] == 'n' ? int64_t{0} : antialias}},
                           {3}});
  return cases;
}

// The cases by operator.
std::map<std::string, std::vector<std::unique_ptr<PreparedCase>>>& cases_by_operator() {
  static auto kCases = [] {
    std::map<std::string, std::vector<std::unique_ptr<PreparedCase>>> made;
    for (auto& cases : {conv_cases(),      deform_conv_cases(), conv_transpose_cases(), pool_cases(),      matmul_cases(),
                        unary_cases(),     binary_cases(),      program_cases(),        attention_cases(), gradient_cases(),
                        quantized_cases(), sparse_cases(),      recurrent_cases(),      row_cases(),       cast_cases(),
                        arg_cases(),       line_cases(),        sampling_cases(),       movement_cases(),  layout_cases()})
      for (const SchemeCase& one : cases) made[one.op].push_back(std::make_unique<PreparedCase>(one));
    return made;
  }();
  return kCases;
}

std::vector<SchemeRow> every_row() {
  std::vector<SchemeRow> rows;
  for (const Isa isa : available_isas())
    for (SchemeRow& row : scheme_rows(isa)) rows.push_back(std::move(row));
  return rows;
}

std::string row_name(const testing::TestParamInfo<SchemeRow>& info) {
  std::string name = format("{}_{}_{}", name_of(info.param.isa), info.param.op, info.param.name);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

class SchemeTest : public testing::TestWithParam<SchemeRow> {};

TEST_P(SchemeTest, agrees_with_the_reference) {
  const SchemeRow& row = GetParam();
  if (best_isa(name_of(row.isa)) != row.isa) GTEST_SKIP() << "MINNOW_ISA excludes it";
  size_t served = 0;
  std::string unavailable;
  std::set<std::string> reasons;
  for (const auto& one : cases_by_operator()[row.op]) {
    const SchemeAnswer answer = check_scheme(row, *one);
    served += answer.accepted;
    if (answer.unavailable) unavailable = answer.declined;
    if (!answer.accepted) reasons.insert(answer.declined);
  }
  if (served == 0 && !unavailable.empty()) GTEST_SKIP() << unavailable;
  std::string all;
  for (const std::string& reason : reasons) all += "\n" + reason;
  EXPECT_GT(served, 0u) << "no case is served, because" << all;
}

INSTANTIATE_TEST_SUITE_P(Rows, SchemeTest, testing::ValuesIn(every_row()), row_name);

// Cases of one operator that no row takes test nothing.
class SchemeCasesTest : public EveryIsa {};

TEST_P(SchemeCasesTest, are_each_served_by_a_row) {
  if (best_isa(name_of(GetParam())) != GetParam()) GTEST_SKIP() << "MINNOW_ISA excludes it";
  std::map<std::string, std::vector<SchemeRow>> rows;
  for (const SchemeRow& row : scheme_rows(GetParam())) rows[row.op].push_back(row);
  size_t number = 0;
  for (const auto& [op, cases] : cases_by_operator())
    for (const auto& one : cases) {
      if (number++ % test::one_in() != 0) continue;
      bool served = false;
      for (const SchemeRow& row : rows[op]) {
        const SchemeAnswer answer = ask_scheme(row, *one);
        served |= answer.accepted || answer.unavailable;
      }
      EXPECT_TRUE(served) << "nothing serves a case of " << op << " of " << one->shapes();
    }
}

MINNOW_EVERY_ISA(SchemeCasesTest);

}  // namespace
}  // namespace minnow::cpu
