// SPDX-License-Identifier: Apache-2.0
#include "support/random.h"

#include <random>

namespace minnow::test {
namespace {

template <class Distribution>
Tensor drawn_from(Distribution distribution, const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  Tensor tensor(DType::f32, shape);
  float* values = tensor.writable().data<float>();
  for (int64_t i = 0; i < tensor.elements(); ++i) values[i] = distribution(generator);
  return tensor;
}

}  // namespace

Tensor random_tensor(const Shape& shape, unsigned seed) { return drawn_from(std::uniform_real_distribution<float>(-1, 1), shape, seed); }

Tensor normal_tensor(const Shape& shape, unsigned seed, float deviation) {
  return drawn_from(std::normal_distribution<float>(0, deviation), shape, seed);
}

}  // namespace minnow::test
