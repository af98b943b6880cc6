// SPDX-License-Identifier: Apache-2.0
// Neighbouring layers of 8-bit integers that the plan computes in f32. The oracle is the network on the reference backend, which computes
// with integers. tests/ops/real_form_test.cpp compares layers one by one.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>

#include "backends/cpu/isa.h"
#include "graph/expr.h"

namespace minnow {
namespace {

uint32_t g_seed = 1;
uint8_t next_byte() {
  g_seed = g_seed * 1664525u + 1013904223u;
  return static_cast<uint8_t>(g_seed >> 24);
}
Tensor bytes(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = next_byte();
  return tensor;
}
Tensor byte(DType dtype, int64_t value) {
  Tensor tensor(dtype, Shape{});
  *tensor.writable().data<uint8_t>() = static_cast<uint8_t>(value);
  return tensor;
}

class QuantizedNetwork {
 public:
  struct Value {
    Expr expr;
    DType dtype;
    double scale;
    int64_t zero;
  };

  Value input(const Shape& shape, DType dtype, int64_t zero) {
    return {b_.wrap(&graph_->add_input("x", ValueType::tensor(dtype, shape))), dtype, 0.02, zero};
  }

  /// `w`: the shape of the weights; they have a scale for each channel. real: the result is f32.
  Value conv(const Value& x, const Shape& w, int64_t group, int64_t stride, int64_t zero, bool relu, bool has_bias = true,
             bool real = false) {
    const int64_t pad = w[2] / 2;
    Tensor scales(DType::f32, Shape{w[0]}), bias(DType::i32, Shape{w[0]});
    for (int64_t o = 0; o < w[0]; ++o) {
      scales.writable().data<float>()[o] = 0.01f + 0.0001f * static_cast<float>(o % 7);
      bias.writable().data<int32_t>()[o] = int32_t{next_byte()} * 10;
    }
    Attributes attributes{
        {"kernel_shape", Ints{w[2], w[3]}}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}, {"group", group}};
    if (relu) attributes.set("activation", std::string("Relu"));
    Value y{{}, x.dtype, x.scale * 0.01 * 50 * std::sqrt(static_cast<double>(w.product(1, 4))), zero};
    y.expr = b_.op("minnow.QuantizedConv",
                   {x.expr, b_.scalar(x.scale), b_.constant(byte(x.dtype, x.zero)), b_.constant(bytes(DType::i8, w)), b_.constant(scales),
                    b_.constant(Tensor(DType::i8, Shape{w[0]})), real ? Expr() : b_.scalar(y.scale),
                    real ? Expr() : b_.constant(byte(x.dtype, zero)), has_bias ? b_.constant(bias) : Expr()},
                   attributes);
    return y;
  }

  /// a + b, with a PRelu of one slope behind it, in one node.
  Value add(const Value& a, const Value& c, int64_t zero) {
    Value y{{}, a.dtype, a.scale + c.scale, zero};
    auto body = std::make_shared<Graph>();
    GraphBuilder inside(*body);
    Exprs terms;
    for (const Value* x : {&a, &c}) {
      const Expr in = inside.wrap(&body->add_input(x == &a ? "a" : "b", ValueType::tensor(x->dtype)));
      terms.push_back(inside.op("DequantizeLinear", {in, inside.scalar(x->scale), inside.constant(byte(x->dtype, x->zero))}));
      terms.back().value()->type = ValueType::tensor(DType::f32);
    }
    const Expr sum = inside.op("PRelu", {terms[0] + terms[1], inside.scalar(0.25)});
    sum.value()->type = ValueType::tensor(DType::f32);
    const Expr result = inside.op("QuantizeLinear", {sum, inside.scalar(y.scale), inside.constant(byte(y.dtype, zero))});
    result.value()->type = ValueType::tensor(y.dtype);
    body->add_output(*result.value());
    y.expr = b_.op("minnow.FusedElementwise", {a.expr, c.expr}, {{"body", Subgraph(std::move(body))}});
    return y;
  }

  Value moved(const Value& x, std::string_view name, const Attributes& attributes, const std::vector<Value>& others = {}) {
    Value y = x;
    Exprs inputs{x.expr};
    for (const Value& other : others) inputs.push_back(other.expr);
    y.expr = b_.op(name, inputs, attributes);
    return y;
  }

  void dequantize(const Value& x) { b_.op("DequantizeLinear", {x.expr, b_.scalar(x.scale), b_.constant(byte(x.dtype, x.zero))}); }
  void output(const Value& y) { graph_->add_output(*y.expr.value()); }
  Model model() { return Model::from_graph(std::move(graph_)); }

 private:
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  GraphBuilder b_{*graph_};
};

int value_of(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::i8 ? int{tensor.data<int8_t>()[i]} : int{tensor.data<uint8_t>()[i]};
}
int largest_step(const Tensor& a, const Tensor& b) {
  int most = 0;
  for (int64_t i = 0; i < a.elements(); ++i) most = std::max(most, std::abs(value_of(a, i) - value_of(b, i)));
  return most;
}
/// How many steps compute with integers.
int quantized_steps(const PlanReport& report) {
  int count = 0;
  for (const PlanRow& row : report.rows) count += row.op.starts_with("minnow.Quantized");
  return count;
}

/// Runs the network on every instruction set. `most_in_bytes`: layers that compute with integers on AVX2. The results are those of the
/// reference, or up to so many steps apart: in plans with such layers and in others.
void expect_close_to_reference(QuantizedNetwork& network, const Tensor& x, int most_in_bytes, int apart_in_bytes, int apart_in_f32) {
  const Model model = network.model();
  SessionOptions reference;
  reference.backends = {"reference"};
  const std::vector<Tensor> want = Session(model, reference).run({x});
  for (const cpu::Isa isa : cpu::available_isas()) {
    SessionOptions options;
    options.isa = cpu::name_of(isa);
    options.threads = 1;                              // so that plans do not depend on the machine
    if (cpu::best_isa(options.isa) != isa) continue;  // MINNOW_ISA excludes it
    for (const char* memory : {"normal", "low"}) {
      options.memory = memory;
      Session session(model, options);
      const std::vector<Tensor> got = session.run({x});
      ASSERT_EQ(got.size(), want.size());
      const bool low = std::string_view(memory) == "low";
      const int steps = quantized_steps(session.plan_report());
      if (low) {
        EXPECT_GT(steps, 0) << options.isa;
      }
      if (isa == cpu::Isa::avx2 && !cpu::may_use_avx_vnni() && !low) {
        EXPECT_LE(steps, most_in_bytes);
      }
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].shape(), want[i].shape());
        ASSERT_EQ(got[i].dtype(), want[i].dtype());
        EXPECT_LE(largest_step(got[i], want[i]), steps ? apart_in_bytes : apart_in_f32)
            << options.isa << ", output " << i << ", " << steps << " layers with integers";
      }
    }
  }
}

TEST(RealChains, layers_that_are_slower_in_bytes_compute_in_f32_together) {
  g_seed = 3;
  for (const DType dtype : {DType::u8, DType::i8}) {
    QuantizedNetwork network;
    const int64_t zero = dtype == DType::i8 ? -5 : 120;
    const auto x = network.input({1, 16, 40, 40}, dtype, zero);
    const auto a = network.conv(x, {16, 1, 3, 3}, 16, 1, zero + 3, false);
    const auto b = network.conv(network.conv(a, {16, 1, 3, 3}, 16, 1, zero, true), {16, 1, 3, 3}, 16, 1, zero, true);
    const auto c = network.conv(network.add(b, x, zero - 7), {16, 1, 3, 3}, 16, 1, zero + 1, false);
    const auto d = network.moved(c, "MaxPool", {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    network.output(network.conv(d, {24, 16, 1, 1}, 1, 1, zero, false, false));
    expect_close_to_reference(network, bytes(dtype, {1, 16, 40, 40}), 1, 3,
                              3);  // the sum may be a step off in bytes, which later layers multiply
  }
}

TEST(RealChains, layers_of_3x3_and_many_channels_compute_in_f32_by_winograds_method) {
  g_seed = 5;
  QuantizedNetwork network;
  const auto x = network.input({1, 64, 56, 56}, DType::u8, 117);
  network.output(network.conv(network.conv(x, {64, 64, 3, 3}, 1, 1, 128, false), {32, 64, 1, 1}, 1, 1, 100, false));
  expect_close_to_reference(network, bytes(DType::u8, {1, 64, 56, 56}), 1, 1, 1);
}

TEST(RealChains, shapes_that_fill_no_vector_and_values_that_are_read_as_both) {
  g_seed = 7;
  for (const auto& [channels, height, width] : {std::tuple<int64_t, int64_t, int64_t>{5, 33, 7}, {13, 9, 41}, {17, 1, 1}, {1, 30, 31}}) {
    QuantizedNetwork network;
    const auto x = network.input({2, channels, height, width}, DType::u8, 128);
    const auto a = network.conv(x, {channels, 1, 3, 3}, channels, 1, 90, false);
    network.output(a);  // an output of the model and the input of others
    const auto b = network.conv(a, {channels, 1, 5, 5}, channels, 2, 128, false);
    const auto c = network.moved(b, "Concat", {{"axis", int64_t{1}}}, {b});
    network.output(network.moved(c, "Transpose", {{"perm", Ints{0, 2, 3, 1}}}));
    network.output(network.conv(c, {3, 2 * channels, 1, 1}, 1, 1, 0, true));
    expect_close_to_reference(network, bytes(DType::u8, {2, channels, height, width}), 3, 0, 0);
  }
}

// A last layer ends a chain in f32, or multiplies bytes: f32 sums differ in rounding alone.
TEST(RealChains, a_result_in_f32) {
  g_seed = 13;
  for (const bool depthwise : {true, false}) {
    QuantizedNetwork network;
    const auto x = network.input({1, 16, 40, 40}, DType::u8, 120);
    const auto a = network.conv(x, {16, 1, 3, 3}, 16, 1, 123, false);
    network.output(network.conv(a, depthwise ? Shape{16, 1, 3, 3} : Shape{20, 16, 1, 1}, depthwise ? 16 : 1, 1, 0, true, true, true));
    const Model model = network.model();
    const Tensor input = bytes(DType::u8, {1, 16, 40, 40});
    SessionOptions reference;
    reference.backends = {"reference"};
    const std::vector<Tensor> want = Session(model, reference).run({input});
    for (const cpu::Isa isa : cpu::available_isas()) {
      SessionOptions options;
      options.isa = cpu::name_of(isa);
      options.threads = 1;
      if (cpu::best_isa(options.isa) != isa) continue;  // MINNOW_ISA excludes it
      Session session(model, options);
      const std::vector<Tensor> got = session.run({input});
      if (depthwise && isa == cpu::Isa::avx2 && !cpu::may_use_avx_vnni()) {
        EXPECT_EQ(quantized_steps(session.plan_report()), 0);
      }
      ASSERT_EQ(got[0].shape(), want[0].shape());
      for (int64_t i = 0; i < want[0].elements(); ++i)
        ASSERT_NEAR(got[0].data<float>()[i], want[0].data<float>()[i], 2e-5f * std::abs(want[0].data<float>()[i]) + 1e-5f) << options.isa;
    }
  }
}

TEST(RealChains, callbacks_see_the_values_of_the_model) {
  g_seed = 11;
  QuantizedNetwork network;
  const auto x = network.input({1, 16, 40, 40}, DType::u8, 120);
  const auto a = network.conv(x, {16, 1, 3, 3}, 16, 1, 123, false);
  network.output(network.conv(network.conv(a, {16, 16, 1, 1}, 1, 1, 120, true), {16, 1, 3, 3}, 16, 1, 120, true));
  const Tensor input = bytes(DType::u8, {1, 16, 40, 40});
  Session session(network.model());
  session.run({input});
  size_t seen = 0;
  session.set_callbacks({}, [&](const NodeEvent& event) {
    seen += event.op() == "minnow.QuantizedConv";
    return true;
  });
  session.run({input});
  EXPECT_EQ(seen, 3u);
}

// A node that nobody reads, as importers leave them, and one that needs the shape alone: neither waits for bytes.
TEST(RealChains, nodes_without_a_step_do_not_cut_the_plan) {
  g_seed = 9;
  QuantizedNetwork network;
  const auto x = network.input({1, 16, 40, 40}, DType::u8, 120);
  const auto a = network.conv(x, {16, 1, 3, 3}, 16, 1, 123, false);
  network.dequantize(a);
  const auto shape = network.moved(a, "Shape", {});
  const auto b = network.conv(a, {16, 1, 3, 3}, 16, 1, 120, true);
  network.output(network.moved(network.conv(b, {16, 16, 1, 1}, 1, 1, 99, false), "Reshape", {}, {shape}));
  expect_close_to_reference(network, bytes(DType::u8, {1, 16, 40, 40}), 0, 0, 0);
}

}  // namespace
}  // namespace minnow
