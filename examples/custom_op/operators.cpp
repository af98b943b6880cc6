// SPDX-License-Identifier: Apache-2.0
// Custom operators in a shared library of its own; it needs Minnow's headers only:
//   c++ -std=c++20 -O2 -shared -fPIC -I<include folder> operators.cpp -o liboperators.so
#include <minnow/custom_op.h>

#include <algorithm>
#include <cmath>

namespace {

// y = x * sigmoid(beta * x)
class Swish : public minnow::CustomOp {
  void infer(minnow::OpCall& call) const override {
    if (call.input(0).dtype != MINNOW_F32) throw std::invalid_argument("Swish takes f32");
    call.set_output(0, MINNOW_F32, call.shape(0));
  }
  void compute(minnow::OpCall& call) const override {
    const float beta = call.attribute("beta", 1.0f);
    const float* x = call.input_data<float>(0);
    float* y = call.output_data<float>(0);
    for (size_t i = 0; i < call.elements(0); ++i) y[i] = x[i] / (1 + std::exp(-beta * x[i]));
  }
};

// The same in parts, on the session's threads, and written over x where nobody needs it any more.
class SwishInParts : public minnow::CustomScheme {
  static constexpr size_t kPart = 4096;
  minnow::SchemeEstimate estimate(minnow::OpCall& call) const override {
    if (call.threads() == 1) throw std::invalid_argument("there is one thread");
    if (call.elements(0) < 2 * kPart) throw std::invalid_argument("x is small");
    const double elements = static_cast<double>(call.elements(0));
    return {call.flop_time(40 * elements, 0.1) + call.byte_time(8 * elements), 0, 0};
  }
  void run(minnow::OpCall& call, const Prepared*) const override {
    const float beta = call.attribute("beta", 1.0f);
    const float* x = call.input_data<float>(0);
    float* y = call.output_data<float>(0);
    const size_t elements = call.elements(0);
    call.parallel_for((elements + kPart - 1) / kPart, [=](size_t part) {
      const size_t end = std::min(elements, (part + 1) * kPart);
      for (size_t i = part * kPart; i < end; ++i) y[i] = x[i] / (1 + std::exp(-beta * x[i]));
    });
  }
};

// The gradient of x from x, y and the gradient of y: with s = sigmoid(beta * x), dx = dy * (s + beta * y * (1 - s)).
class SwishGradient : public minnow::CustomOp {
  void infer(minnow::OpCall& call) const override { call.set_output(0, MINNOW_F32, call.shape(0)); }
  void compute(minnow::OpCall& call) const override {
    const float beta = call.attribute("beta", 1.0f);
    const float *x = call.input_data<float>(0), *y = call.input_data<float>(1), *dy = call.input_data<float>(2);
    float* dx = call.output_data<float>(0);
    for (size_t i = 0; i < call.elements(0); ++i) {
      const float s = 1 / (1 + std::exp(-beta * x[i]));
      dx[i] = dy[i] * (s + beta * y[i] * (1 - s));
    }
  }
};

// The elements of x that are at least `limit` (an input); how many depends on the data.
class KeepLarge : public minnow::CustomOp {
  void infer(minnow::OpCall& call) const override { call.set_output_unknown(0, call.input(0).dtype); }
  void compute(minnow::OpCall& call) const override {
    const float *x = call.input_data<float>(0), *end = x + call.elements(0);
    const float limit = *call.input_data<float>(1);
    if (std::isnan(limit)) throw std::invalid_argument("the limit is not a number");
    const int64_t count = std::count_if(x, end, [=](float v) { return v >= limit; });
    float* y = call.allocate_output<float>(0, {&count, 1});
    std::copy_if(x, end, y, [=](float v) { return v >= limit; });
  }
};

}  // namespace

MINNOW_CUSTOM_OPS(
    {"com.example.Swish", new Swish, "y = x * sigmoid(beta * x)", {{"swish.parts", new SwishInParts}}, "com.example.SwishGradient"},
    {"com.example.SwishGradient", new SwishGradient}, {"com.example.KeepLarge", new KeepLarge})
