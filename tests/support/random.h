// SPDX-License-Identifier: Apache-2.0
// Random tensors of f32, the same on each run.
#pragma once
#include <minnow/tensor.h>

namespace minnow::test {

/// Uniform in [-1, 1).
Tensor random_tensor(const Shape& shape, unsigned seed = 7);

/// Normal, of mean 0.
Tensor normal_tensor(const Shape& shape, unsigned seed, float deviation = 1);

}  // namespace minnow::test
