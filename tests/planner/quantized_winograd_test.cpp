// SPDX-License-Identifier: Apache-2.0
// Layers of 8-bit integers that the plan computes in f32, where that is estimated to be faster.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>

#include "backends/cpu/isa.h"
#include "graph/expr.h"

namespace minnow {
namespace {

Tensor bytes(DType dtype, const Shape& shape, uint32_t seed) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.writable().data<uint8_t>()[i] = static_cast<uint8_t>(seed >> 24);
  }
  return tensor;
}

/// A 3x3 convolution of 64 channels, and a 1x1 convolution of its result.
Model layers() {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const auto one = [&](uint8_t value) {
    Tensor tensor(DType::u8, Shape{});
    *tensor.writable().data<uint8_t>() = value;
    return b.constant(tensor);
  };
  Tensor no_zero(DType::i8, Shape{});
  *no_zero.writable().data<int8_t>() = 0;
  const auto conv = [&](const Expr& x, const Shape& w, uint8_t zero, uint8_t y_zero) {
    const int64_t pad = w[2] / 2;
    Attributes attributes{{"kernel_shape", Ints{w[2], w[3]}}, {"pads", Ints{pad, pad, pad, pad}}};
    return op("minnow.QuantizedConv",
              {x, b.scalar(0.02, DType::f32), one(zero), b.constant(bytes(DType::i8, w, 7)), b.scalar(0.01, DType::f32),
               b.constant(no_zero), b.scalar(0.02 * 0.01 * 50 * std::sqrt(double(w.product(1, 4))), DType::f32), one(y_zero)},
              std::move(attributes));
  };
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::u8, {1, 64, 56, 56})));
  const Expr y = conv(conv(x, {64, 64, 3, 3}, 117, 128), {32, 64, 1, 1}, 128, 100);
  graph->add_output(*y.value());
  return Model::from_graph(std::move(graph));
}

std::vector<std::string> schemes_of(const PlanReport& report) {
  std::vector<std::string> schemes;
  for (const PlanRow& row : report.rows)
    if (row.op == "minnow.QuantizedConv") schemes.push_back(row.scheme);
  return schemes;
}

TEST(QuantizedLayersInF32, are_those_that_the_plan_estimates_to_be_faster_and_their_results_are_within_a_step) {
  const Model model = layers();
  const Tensor x = bytes(DType::u8, {1, 64, 56, 56}, 3);
  SessionOptions reference;
  reference.backends = {"reference"};
  const Tensor want = Session(model, reference).run({x})[0];
  for (const cpu::Isa isa : cpu::available_isas()) {
    if (isa != cpu::Isa::sse4 && isa != cpu::Isa::avx2) continue;
    SessionOptions options;
    options.isa = cpu::name_of(isa);
    if (cpu::best_isa(options.isa) != isa) continue;  // MINNOW_ISA excludes it
    for (const char* memory : {"normal", "low"}) {
      options.memory = memory;
      Session session(model, options);
      const Tensor got = session.run({x})[0];
      // Without fused multiply-adds f32 is no faster, and its weights take memory.
      const bool in_f32 = isa == cpu::Isa::avx2 && std::string_view(memory) == "normal";
      const std::vector<std::string> schemes{in_f32 ? "quantized_conv.winograd_f4_f32" : "quantized_conv", "quantized_conv"};
      EXPECT_EQ(schemes_of(session.plan_report()), schemes) << options.isa << ", " << memory;
      int64_t different = 0;
      for (int64_t i = 0; i < want.elements(); ++i) {
        const int step = std::abs(int{got.data<uint8_t>()[i]} - int{want.data<uint8_t>()[i]});
        ASSERT_LE(step, 1) << i;
        different += step;
      }
      EXPECT_LE(different, in_f32 ? want.elements() / 100 : 0);
    }
  }
}

}  // namespace
}  // namespace minnow
