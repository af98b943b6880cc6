// SPDX-License-Identifier: Apache-2.0
#include "compress/rounding.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace minnow::compress {
namespace {

Tensor normal_inputs(const Shape& shape, unsigned seed, bool correlated = false) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::f32, shape);
  float last = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    last = correlated ? 0.9F * last + 0.4F * normal(generator) : normal(generator);
    tensor.writable().data<float>()[i] = last;
  }
  return tensor;
}

/// A layer in a graph that lives as long.
struct OneLayer {
  explicit OneLayer(const std::string& op, const Tensor& weights, Attributes attributes = {}) {
    Value& x = graph.add_input("x", ValueType::tensor(DType::f32));
    Value& w = graph.add_constant(weights, "w");
    Node& node = graph.add_node(op, {&x, &w}, 1, std::move(attributes));
    layer = {&node, &x, &w, nullptr, op == "Conv" ? size_t{0} : size_t{1}, node.output(0)};
  }
  Graph graph;
  Layer layer;
};

const Quantizer kFine = Quantizer::of({-8, 8}, {-32767, 32767, true});

TEST(Gram, of_a_product_is_that_of_its_rows) {
  const OneLayer one("MatMul", normal_inputs({5, 3}, 1));
  Gram gram(one.layer);
  const Tensor x = normal_inputs({2, 4, 5}, 2);
  gram.add(x, kFine, 100, 0);
  ASSERT_EQ(gram.groups(), 1u);
  const auto& block = gram.blocks(0)[0];
  for (size_t i = 0; i < 5; ++i)
    for (size_t k = 0; k < 5; ++k) {
      double sum = 0;
      for (size_t row = 0; row < 8; ++row) sum += static_cast<double>(x.data<float>()[row * 5 + i] * x.data<float>()[row * 5 + k]);
      EXPECT_NEAR(block.matrix[i * 5 + k], sum, 0.02);
    }
}

TEST(Gram, of_a_convolution_predicts_the_error_of_its_output) {
  // Groups, strides, dilations, uneven padding.
  const Shape w_shape{4, 2, 3, 2};
  const OneLayer one("Conv", normal_inputs(w_shape, 1),
                     {{"group", int64_t{2}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}, {"pads", Ints{1, 0, 0, 2}}});
  Gram gram(one.layer);
  const Tensor x = normal_inputs({2, 4, 7, 5}, 3);
  gram.add(x, kFine, 10000, 0);
  const Rows rows = Rows::of(*one.layer.weights->constant(), 0);
  const IntegerRows q = round_to_nearest(rows, weight_scales(rows, *weight_method("minmax"), 7, true, {}), 7);
  const Rows rounded = q.numbers();
  double sum = 0;
  const int64_t out_h = (7 + 1 - 3) / 2 + 1, out_w = 5 + 2 - 3 + 1;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 4; ++o)
      for (int64_t i = 0; i < out_h; ++i)
        for (int64_t k = 0; k < out_w; ++k) {
          double error = 0;
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t a = 0; a < 3; ++a)
              for (int64_t b = 0; b < 2; ++b) {
                const int64_t y = i * 2 - 1 + a, z = k + 2 * b;
                if (y < 0 || y >= 7 || z >= 5) continue;
                const size_t at = static_cast<size_t>((o * 2 + c) * 6 + a * 2 + b);
                error += static_cast<double>(rounded.values[at] - rows.values[at]) *
                         static_cast<double>(x.data<float>()[((n * 4 + o / 2 * 2 + c) * 7 + y) * 5 + z]);
              }
          sum += error * error;
        }
  EXPECT_NEAR(output_error(rows, q, gram) / sum, 1, 1e-2);
}

TEST(Rounding, methods_lower_the_error_of_the_output) {
  for (const int most : {1, 7, 127}) {
    const OneLayer one("MatMul", normal_inputs({24, 6}, 4));
    Gram gram(one.layer);
    gram.add(normal_inputs({200, 24}, 5, true), kFine, 1000, 0);
    const Rows rows = Rows::of(*one.layer.weights->constant(), 1);
    const IntegerRows nearest = round_to_nearest(rows, weight_scales(rows, *weight_method("mse"), most, true, {}), most);
    const double before = output_error(rows, nearest, gram);
    for (const RoundingMethod& method : rounding_methods()) {
      if (!method.improve) continue;
      IntegerRows q = nearest;
      method.improve(rows, q, most, gram);
      EXPECT_LT(output_error(rows, q, gram), 0.8 * before) << method.name << " " << most;
      for (const int8_t value : q.values) EXPECT_LE(std::abs(int{value}), most);
    }
  }
}

TEST(Rounding, adaround_is_near_the_best_of_all_choices) {
  const OneLayer one("MatMul", normal_inputs({10, 3}, 6));
  Gram gram(one.layer);
  gram.add(normal_inputs({60, 10}, 7, true), kFine, 1000, 0);
  const Rows rows = Rows::of(*one.layer.weights->constant(), 1);
  const int most = 3;
  IntegerRows q = round_to_nearest(rows, weight_scales(rows, *weight_method("minmax"), most, true, {}), most);
  const IntegerRows nearest = q;
  rounding_method("adaround")->improve(rows, q, most, gram);
  double best = 0;
  for (size_t c = 0; c < 3; ++c) {
    // Only this channel changes; the error of the others is left out.
    double least = 1e300;
    for (unsigned choice = 0; choice < 1024; ++choice) {
      IntegerRows tried = q;
      for (size_t k = 0; k < 10; ++k) {
        const float exact = rows.row(c)[k] / q.scale(c);
        tried.values[c * 10 + k] = static_cast<int8_t>(std::clamp(std::floor(exact) + static_cast<float>(choice >> k & 1), -3.0F, 3.0F));
      }
      least = std::min(least, output_error(rows, tried, gram) - output_error(rows, q, gram));
    }
    best += least;
  }
  const double found = output_error(rows, q, gram), least = found + best;
  EXPECT_LE(found - least, 0.35 * (output_error(rows, nearest, gram) - least));
}

TEST(Rounding, inputs_that_never_vary_are_no_fault) {
  const OneLayer one("MatMul", normal_inputs({4, 2}, 8));
  for (const RoundingMethod& method : rounding_methods()) {
    if (!method.improve) continue;
    Gram gram(one.layer);
    gram.add(Tensor(DType::f32, {3, 4}), kFine, 10, 0);  // zeros alone
    const Rows rows = Rows::of(*one.layer.weights->constant(), 1);
    IntegerRows q = round_to_nearest(rows, weight_scales(rows, *weight_method("mse"), 7, true, {}), 7);
    const auto before = q.values;
    method.improve(rows, q, 7, gram);
    EXPECT_EQ(q.values, before) << method.name;
  }
}

}  // namespace
}  // namespace minnow::compress
