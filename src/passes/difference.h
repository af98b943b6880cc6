// SPDX-License-Identifier: Apache-2.0
// How far two tensors are apart.
#pragma once
#include <minnow/tensor.h>

namespace minnow {

struct Difference {
  double largest = 1, worst = 0;  // magnitude of the first tensor (at least 1), of the difference
  double mean_square = 0;         // its root
  size_t place = 0;               // of the worst
  double expected = 0, actual = 0;
};

/// The difference of tensors of equally many elements; infinite if only one of them has a NaN or an infinity somewhere.
Difference difference(const Tensor& before, const Tensor& after);

std::vector<double> widened(const Tensor& tensor);

/// True if both are of the same kind and length, and tensors of the same dtype and shape.
bool same_form(const Datum& a, const Datum& b);

}  // namespace minnow
