// SPDX-License-Identifier: Apache-2.0
// Layers of 8-bit integers computed on f32 tensors that hold the integers. The oracle is the layers themselves on the reference backend.
#include "ops/real_form.h"

#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>
#include <map>

#include "backends/cpu/isa.h"
#include "graph/expr.h"
#include "ops/all.h"

namespace minnow {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  uint32_t operator()(uint32_t below) {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<uint32_t>((uint64_t{state_ >> 8} * below) >> 24);
  }
  Tensor bytes(DType dtype, const Shape& shape) {
    Tensor tensor(dtype, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = static_cast<uint8_t>((*this)(256));
    return tensor;
  }

 private:
  uint32_t state_;
};
Tensor byte(DType dtype, int64_t value) {
  Tensor tensor(dtype, Shape{});
  *tensor.writable().data<uint8_t>() = static_cast<uint8_t>(value);
  return tensor;
}

/// Random layers, one behind the other; each result is an output.
class Layers {
 public:
  Layers(uint32_t seed, DType dtype, const Shape& shape) : random(seed), b_(*graph), x_{{}, dtype, zero_of(dtype), 0.02, shape} {
    x_.expr = b_.wrap(&graph->add_input("x", ValueType::tensor(dtype, shape)));
    first_ = x_;
  }
  /// real: the result is f32, and no layer reads it.
  void conv(int64_t channels, int64_t kernel, int64_t stride, int64_t group, bool real = false) {
    const Shape w{channels, x_.shape[1] / group, kernel, kernel};
    const int64_t pad = kernel / 2;
    const auto out = [&](size_t axis) { return (x_.shape[axis] + 2 * pad - kernel) / stride + 1; };
    product(
        real || random(4) ? "minnow.QuantizedConv" : "QLinearConv", w, w.product(1, 4), channels, {x_.shape[0], channels, out(2), out(3)},
        {{"kernel_shape", Ints{kernel, kernel}}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}, {"group", group}},
        real);
  }
  void matmul(int64_t columns, bool real = false) {
    const Shape flat{x_.shape[0], x_.shape.product(1, x_.shape.rank())};
    move("Flatten", {}, flat);
    product("minnow.QuantizedMatMul", {flat[1], columns}, flat[1], columns, {flat[0], columns}, {}, real);
  }
  /// The sum with the first input of this shape, or a function.
  void elementwise() {
    const Value other = first_.shape == x_.shape ? first_ : x_;
    const uint32_t kind = random(4);
    Value y = next(kind == 3 ? 1 : 1.7);
    auto body = std::make_shared<Graph>();
    GraphBuilder inside(*body);
    Exprs in, terms;
    const Value* const sources[] = {&x_, &other};
    for (const Value* from : sources) {
      if (from == &other && kind == 3) continue;
      const Expr bytes = inside.wrap(&body->add_input(in.empty() ? "a" : "b", ValueType::tensor(from->dtype)));
      in.push_back(from->expr);
      terms.push_back(inside.op("DequantizeLinear", {bytes, inside.scalar(from->scale), inside.constant(byte(from->dtype, from->zero))}));
      terms.back().value()->type = ValueType::tensor(DType::f32);
    }
    Expr result = terms[0];
    if (kind == 3) {
      result = inside.op("HardSwish", {result});
    } else {
      result = kind == 2 ? terms[1] * terms[0] + terms[0] : terms[0] + terms[1];
      if (kind == 1) result = inside.op("PRelu", {result, inside.scalar(0.3)});
    }
    result.value()->type = ValueType::tensor(DType::f32);
    result = inside.op("QuantizeLinear", {result, inside.scalar(y.scale), inside.constant(byte(y.dtype, y.zero))});
    result.value()->type = ValueType::tensor(y.dtype);
    body->add_output(*result.value());
    y.expr = b_.op("minnow.FusedElementwise", in, {{"body", Subgraph(std::move(body))}});
    add(y);
  }
  void fixed_point_sum() {
    const Value other = first_.shape == x_.shape ? first_ : x_;
    Value y = next(1.5);
    const int64_t lowest = y.dtype == DType::i8 ? -128 : 0;
    y.expr = b_.op("minnow.QuantizedAdd", {x_.expr, other.expr},
                   {{"factors", Ints{350000 + int64_t{random(300000)}, int64_t{random(900000)} - 200000}},
                    {"zero_points", Ints{x_.zero, other.zero, y.zero}},
                    {"shift", int64_t{20}},
                    {"bounds", Ints{random(2) ? lowest : y.zero, lowest + 255}}});
    add(y);
  }
  void move(std::string_view name, const Attributes& attributes, const Shape& shape, bool twice = false) {
    Value y = x_;
    y.shape = shape;
    y.expr = b_.op(name, twice ? Exprs{x_.expr, x_.expr} : Exprs{x_.expr}, attributes);
    add(y);
  }
  /// More channels and columns, which hold the zero point.
  void pad() {
    Value y = x_;
    y.shape[1] += 3, y.shape[3] += 1;
    y.expr = b_.op("Pad", {x_.expr, b_.constant({0, 0, 0, 0, 0, 3, 0, 1}), b_.constant(byte(x_.dtype, x_.zero))});
    add(y);
  }
  /// To real numbers and back, with another scale and zero point.
  void requantize() {
    Value y = next(1.3);
    const Expr real = b_.op("DequantizeLinear", {x_.expr, b_.scalar(x_.scale), b_.constant(byte(x_.dtype, x_.zero))});
    graph->add_output(*real.value());
    y.expr = b_.op("QuantizeLinear", {real, b_.scalar(y.scale), b_.constant(byte(y.dtype, y.zero))});
    add(y);
  }
  const Shape& shape() const { return x_.shape; }
  Bytes input() const { return {first_.dtype, first_.zero}; }

  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Random random;

 private:
  struct Value {
    Expr expr;
    DType dtype;
    int64_t zero;
    double scale;
    Shape shape;
  };
  int64_t zero_of(DType dtype) { return random(3) ? int64_t{random(256)} - (dtype == DType::i8 ? 128 : 0) : dtype == DType::i8 ? 0 : 128; }
  Value next(double factor) { return {{}, x_.dtype, zero_of(x_.dtype), x_.scale * factor, x_.shape}; }
  void add(const Value& y) {
    graph->add_output(*y.expr.value());
    x_ = y;
  }
  void product(std::string_view op, const Shape& w, int64_t depth, int64_t channels, const Shape& shape, Attributes attributes, bool real) {
    const bool fused = op != "QLinearConv", per_channel = random(2);
    const DType w_dtype = random(2) ? DType::i8 : DType::u8;
    Value y = next(0.01 * 60 * std::sqrt(static_cast<double>(depth)));
    y.shape = shape;
    const int64_t scales = per_channel ? channels : 1;
    Tensor scale(DType::f32, Shape{scales}), zero(w_dtype, Shape{scales});
    for (int64_t o = 0; o < scales; ++o) {
      scale.writable().data<float>()[o] = 0.01f + 0.0003f * static_cast<float>(random(20));
      zero.writable().data<uint8_t>()[o] = static_cast<uint8_t>(w_dtype == DType::i8 ? random(2) * 3 : 110 + random(40));
    }
    Tensor values = random.bytes(w_dtype, w);
    if (random(3) == 0) {  // nine of ten are zero, for sparse schemes
      const int64_t inner = op == "minnow.QuantizedMatMul" ? 1 : depth;
      uint8_t* const to = values.writable().data<uint8_t>();
      for (int64_t i = 0; i < values.elements(); ++i)
        if (random(10)) to[i] = zero.data<uint8_t>()[scales == 1 ? 0 : i / inner % channels];
    }
    Expr bias;
    if (const uint32_t kind = random(3)) {
      const bool whole = kind == 1 || !fused;
      Tensor numbers(whole ? DType::i32 : DType::f32, Shape{channels});
      for (int64_t o = 0; o < channels; ++o) {
        const int32_t value = static_cast<int32_t>(random(4000)) - 2000;
        if (whole)
          numbers.writable().data<int32_t>()[o] = value;
        else
          numbers.writable().data<float>()[o] = static_cast<float>(value) + 0.25f;
      }
      bias = b_.constant(numbers);
    }
    if (fused && random(2)) attributes.set("activation", std::string("Relu"));
    y.expr = b_.op(op,
                   {x_.expr, b_.scalar(x_.scale), b_.constant(byte(x_.dtype, x_.zero)), b_.constant(values), b_.constant(scale),
                    b_.constant(zero), real ? Expr() : b_.scalar(y.scale), real ? Expr() : b_.constant(byte(y.dtype, y.zero)), bias},
                   attributes);
    if (real)
      graph->add_output(*y.expr.value());
    else
      add(y);
  }

  GraphBuilder b_;
  Value x_, first_;
};

Layers random_layers(uint32_t seed) {
  Random random(seed);
  const int64_t channels[] = {1, 3, 5, 8, 12, 16, 17, 24, 33}, sizes[] = {1, 7, 9, 14, 23};
  const Shape shape{1 + int64_t{random(2)}, channels[random(9)], sizes[random(5)], sizes[1 + random(4)]};
  Layers layers(seed + 1, random(2) ? DType::u8 : DType::i8, shape);
  for (size_t i = 0; i < 7; ++i) {
    const Shape& x = layers.shape();
    switch (random(9)) {
      case 0:
        layers.conv(channels[random(9)], 1, 1, 1);
        break;
      case 1:
        layers.conv(channels[random(9)], 3, 1 + random(2), 1);
        break;
      case 2:
        layers.conv(x[1], 3 + 2 * random(2), 1 + random(2), x[1]);
        break;
      case 3:
        layers.conv(x[1] % 2 ? 9 : x[1] * 2, 3, 1, x[1] % 2 ? 1 : 2);
        break;
      case 4:
        layers.fixed_point_sum();
        break;
      case 5:
        if (i % 2)
          layers.pad();
        else
          layers.move("Concat", {{"axis", int64_t{1}}}, {x[0], 2 * x[1], x[2], x[3]}, true);
        break;
      case 6:
        layers.requantize();
        break;
      case 7:
        layers.move("MaxPool", {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}, x);
        break;
      default:
        layers.elementwise();
    }
  }
  layers.conv(channels[random(9)], 1 + 2 * random(2), 1, 1, true);
  layers.matmul(1 + random(20));
  layers.matmul(1 + random(20), true);
  return layers;
}

const Operator* definition_of(const Node& node) {
  static const std::vector<const Operator*> all = all_operators();
  for (const Operator* op : all)
    if (op->name == node.op()) return op;
  return nullptr;
}

/// The layers on f32 tensors. `apart`: each layer reads the bytes that the reference gives, inputs of the graph; else what the one before
/// it gives.
std::unique_ptr<Graph> real_graph(const Layers& layers, const Tensor& x, const std::vector<Tensor>& results, bool apart) {
  const Graph& graph = *layers.graph;
  auto reals = std::make_unique<Graph>();
  GraphBuilder builder(*reals);
  std::map<const Value*, Tensor> known;
  std::map<const Value*, Bytes> bytes;
  std::map<const Value*, Expr> made;
  known[graph.inputs()[0].get()] = x;
  bytes[graph.inputs()[0].get()] = layers.input();
  for (size_t i = 0; i < results.size(); ++i) known[graph.outputs()[i]] = results[i];
  const auto input_of = [&](const Value* value) {
    return builder.wrap(&reals->add_input(value->name(), ValueType::tensor(known.at(value).dtype(), known.at(value).shape())));
  };
  for (const Node& node : graph.nodes()) {
    std::vector<ValueInfo> infos(node.input_count() + 1);
    std::vector<const ValueInfo*> inputs;
    for (size_t i = 0; i <= node.input_count(); ++i) {
      const Value* value = i < node.input_count() ? node.input(i) : node.output(0);
      if (!value) {
        inputs.push_back(nullptr);
        continue;
      }
      const Tensor& tensor = value->constant() ? *value->constant() : known.at(value);
      infos[i].dtype = tensor.dtype(), infos[i].shape = tensor.shape();
      if (value->constant()) infos[i].contents = tensor;
      inputs.push_back(&infos[i]);
    }
    const ValueInfo* const output = inputs.back();
    inputs.pop_back();
    const NodeView view(node, inputs, std::span(&output, 1), definition_of(node));
    const auto ends = real_ends(view);
    EXPECT_TRUE(ends.has_value()) << node.op();
    if (!ends) return nullptr;
    Exprs arguments;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* value = node.input(i);
      if (!value || value->constant()) {
        arguments.push_back(value ? builder.constant(*value->constant()) : Expr());
        continue;
      }
      if (ends->inputs[i].kind == RealEnd::Kind::bytes) {
        EXPECT_TRUE(!bytes.contains(value) || bytes[value] == ends->inputs[i].bytes);
        bytes[value] = ends->inputs[i].bytes;
      }
      if (!made.contains(value))
        made[value] = known.at(value).dtype() == DType::f32 ? input_of(value) : as_reals(input_of(value), bytes.at(value));
      arguments.push_back(made[value]);
    }
    Expr result = real_form(view, builder, arguments);
    const Value* const y = node.output(0);
    if (ends->output.kind != RealEnd::Kind::itself)
      bytes[y] = ends->output.kind == RealEnd::Kind::bytes ? ends->output.bytes : bytes.at(node.input(0));
    if (!apart) made[y] = result;
    if (ends->output.kind != RealEnd::Kind::itself) result = as_bytes(result, bytes[y]);
    reals->add_output(*result.value());
  }
  return reals;
}

/// The largest difference of bytes; of floats, whether there is one above `tolerance` times the largest of them.
int largest_step(const Tensor& a, const Tensor& b, float tolerance) {
  int most = 0;
  float largest = 0;
  for (int64_t i = 0; tolerance > 0 && i < b.elements(); ++i) largest = std::max(largest, std::abs(b.data<float>()[i]));
  for (int64_t i = 0; i < a.elements(); ++i) {
    int step;
    if (a.dtype() == DType::f32)
      step = std::abs(a.data<float>()[i] - b.data<float>()[i]) <= tolerance * largest ? 0 : 1000;
    else if (a.dtype() == DType::i8)
      step = a.data<int8_t>()[i] - b.data<int8_t>()[i];
    else
      step = int{a.data<uint8_t>()[i]} - int{b.data<uint8_t>()[i]};
    most = std::max(most, std::abs(step));
  }
  return most;
}

class RealForm : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RealForm, integers_are_those_of_the_reference) {
  Layers layers = random_layers(GetParam());
  const Tensor x = layers.random.bytes(layers.graph->inputs()[0]->type.dtype, layers.graph->inputs()[0]->type.shape());
  SessionOptions reference;
  reference.backends = {"reference"};
  const std::vector<Tensor> want = Session(Model::from_graph(layers.graph->clone()), reference).run({x});
  // Products are exact. Elementwise layers round f32 numbers, where compilers differ in ties: within a step of their exact inputs. Where
  // all layers are exact, the whole chain is.
  std::map<cpu::Isa, bool> exact;
  for (const bool apart : {true, false}) {
    auto graph = real_graph(layers, x, want, apart);
    ASSERT_TRUE(graph);
    std::vector<Tensor> inputs{x};
    for (size_t i = 1; i < graph->inputs().size(); ++i)
      for (size_t k = 0; k < want.size(); ++k)
        if (layers.graph->outputs()[k]->name() == graph->inputs()[i]->name()) inputs.push_back(want[k]);
    ASSERT_EQ(inputs.size(), graph->inputs().size());
    const Model model = Model::from_graph(std::move(graph));
    for (const cpu::Isa isa : cpu::available_isas()) {
      SessionOptions options;
      options.isa = cpu::name_of(isa);
      if (cpu::best_isa(options.isa) != isa) continue;  // MINNOW_ISA excludes it
      // Winograd's and Strassen's methods, and nothing of the kind.
      for (const char* precision : {"high", "normal"}) {
        const bool high = std::string_view(precision) == "high";
        if (!apart && !(high && exact[isa])) continue;
        if (apart && high) exact[isa] = true;
        options.precision = precision;
        Session session(model, options);
        const std::vector<Tensor> got = session.run(std::vector<TensorView>(inputs.begin(), inputs.end()));
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i].shape(), want[i].shape());
          ASSERT_EQ(got[i].dtype(), want[i].dtype());
          const std::string& op = layers.graph->outputs()[i]->producer()->op();
          const bool rounds = op == "minnow.FusedElementwise", is_real_product = want[i].dtype() == DType::f32 && op.starts_with("minnow.");
          const int step = largest_step(got[i], want[i], !is_real_product ? 0 : high ? 2e-6f : 1e-4f);
          if (apart && high && step > 0) exact[isa] = false;
          EXPECT_LE(step, high && !(apart && rounds) ? 0 : 1)
              << layers.graph->outputs()[i]->producer()->op() << ", output " << i << ", " << options.isa << ", precision " << precision;
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(RealForm, RealForm, ::testing::Range<uint32_t>(0, 60));

}  // namespace
}  // namespace minnow
