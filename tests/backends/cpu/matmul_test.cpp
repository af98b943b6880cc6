// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/matmul.h"

#include "backends/cpu/kernel_support.h"

namespace minnow::cpu {
namespace {

class MatMulTest : public EveryIsa {};

TEST_P(MatMulTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  unsigned seed = 0;
  const MatMul::Shape shapes[] = {{1, 1, 1},    {1, 64, 100},  {1, 37, 33},   {2, 5, 7},     {3, 16, 16},   {5, 17, 1},   {13, 31, 65},
                                  {14, 32, 32}, {15, 48, 40},  {28, 100, 31}, {29, 1, 64},   {100, 64, 96}, {77, 33, 17}, {300, 20, 36},
                                  {600, 7, 5},  {9, 1000, 10}, {64, 300, 70}, {7, 130, 130}, {61, 3001, 50}};  // in slices
  for (MatMul::Shape shape : shapes)
    for (int transposed = 0; transposed < 4; ++transposed) {
      shape.transpose_a = transposed & 1, shape.transpose_b = transposed & 2;
      SCOPED_TRACE(std::to_string(shape.m) + "x" + std::to_string(shape.k) + "x" + std::to_string(shape.n) + ", transposed " +
                   std::to_string(transposed));
      const size_t m = shape.m, k = shape.k, n = shape.n;
      const std::vector<float> a = random_floats(m * k, ++seed), b = random_floats(k * n, ++seed, 1 / std::sqrt(float(k)));
      const std::vector<float> bias = random_floats(n, ++seed), add = random_floats(m * n, ++seed);
      for (bool finished : {false, true}) {
        MatMul::Options options;
        options.threads = seed % 3 + 1;
        if (seed % 2) options.l2 = 1 << 14;
        const MatMul product(kernels, shape, options, finished ? Epilogue{-0.5f, 1.0f, (*kernels.unary)[Unary::tanh], 0, 0} : Epilogue{});
        std::vector<float> packed(product.packed_b_floats(), NAN), packed_bias(product.bias_floats()),
            scratch(product.scratch_floats(), NAN);
        for (size_t panel = 0; panel < product.panels(); ++panel) product.pack_b(panel, b.data(), 0.5f, packed.data());
        product.pack_bias(bias.data(), 2, packed_bias.data());
        std::vector<float> y(m * n + 1, -7);
        for (size_t unit = 0; unit < product.units(); ++unit)
          product.run(unit, {a.data(), packed.data(), packed_bias.data(), finished ? add.data() : nullptr, y.data()}, scratch.data());
        ASSERT_EQ(y.back(), -7);
        y.pop_back();
        std::vector<double> want(m * n);
        for (size_t i = 0; i < m; ++i)
          for (size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (size_t l = 0; l < k; ++l)
              sum += double(a[shape.transpose_a ? l * m + i : i * k + l]) * b[shape.transpose_b ? j * k + l : l * n + j];
            want[i * n + j] = 0.5 * sum + 2.0 * bias[j];
            if (finished) want[i * n + j] = std::tanh(std::min(1.0, std::max(-0.5, want[i * n + j] + add[i * n + j])));
          }
        ASSERT_TRUE(close(y, want));
      }
    }
}

MINNOW_EVERY_ISA(MatMulTest);

}  // namespace
}  // namespace minnow::cpu
