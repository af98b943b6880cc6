// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <random>

#include "graph/graph.h"

namespace minnow {
namespace {

// Thousands of numbers that are alike, added one after the other, would lose a digit.
TEST(Pool, means_of_large_windows_keep_their_digits) {
  for (const char* op : {"AveragePool(x) {kernel_shape = [96, 80]}",
                         "AveragePool(x) {kernel_shape = [96, 80], pads = [0, 0, 0, 0], dilations = [1, 1]}", "GlobalAveragePool(x)"}) {
    const std::string text = std::string("graph {\n  input x: f32[1, 20, 96, 80]\n  y: f32[1, 20, 1, 1] = ") + op + "\n  output y\n}";
    Tensor x(DType::f32, {1, 20, 96, 80});
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(0.9f, 1.1f);
    const MutableTensorView to = x.writable();
    for (int64_t i = 0; i < x.elements(); ++i) to.data<float>()[i] = uniform(random);
    SessionOptions options;
    options.threads = 1;
    Session session(Model::from_graph(parse_graph(text)), options);
    const Tensor y = session.run({x.view()})[0];
    for (int64_t c = 0; c < 20; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < 96 * 80; ++i) sum += static_cast<double>(x.data<float>()[c * 96 * 80 + i]);
      EXPECT_NEAR(static_cast<double>(y.data<float>()[c]), sum / (96 * 80), 4e-7) << op;
    }
  }
}

}  // namespace
}  // namespace minnow
