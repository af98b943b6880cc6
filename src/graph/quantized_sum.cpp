// SPDX-License-Identifier: Apache-2.0
#include "graph/quantized_sum.h"

#include <algorithm>
#include <cmath>

namespace minnow {

QuantizedSum QuantizedSum::of(const NodeView& node) {
  constexpr int64_t kMostFactor = 1 << 21;
  const Ints *factors = node.find<Ints>("factors"), *zeros = node.find<Ints>("zero_points"), *bounds = node.find<Ints>("bounds");
  const int64_t* shift = node.find<int64_t>("shift");
  const int64_t lowest = node.input_dtype(0) == DType::i8 ? -128 : 0;
  const auto within = [](const Ints* list, size_t count, int64_t least, int64_t most) {
    return list && list->size() == count && std::all_of(list->begin(), list->end(), [&](int64_t x) { return x >= least && x <= most; });
  };
  if (!within(factors, 2, -kMostFactor, kMostFactor) || !within(zeros, 3, lowest, lowest + 255) ||
      !within(bounds, 2, lowest, lowest + 255) || (*bounds)[0] > (*bounds)[1] || !shift || *shift < 13 || *shift > 30)
    node.fail("its factors, zero points, bounds or shift are beyond their range");
  const auto at = [](const Ints* list, size_t i) { return static_cast<int32_t>((*list)[i]); };
  return {
      {at(factors, 0), at(factors, 1)}, {at(zeros, 0), at(zeros, 1), at(zeros, 2)}, at(bounds, 0), at(bounds, 1), static_cast<int>(*shift)};
}

Expr QuantizedSum::steps(GraphBuilder& builder, const Expr& a, const Expr& b) const {
  constexpr int kLowBits = 11;
  constexpr double kUnit = 1 << kLowBits;
  const auto number = [&](double value) { return builder.scalar(value, DType::f32); };
  Expr sums[2];  // of the upper bits, and of the lower ones
  for (size_t i = 0; i < 2; ++i) {
    const double high = std::floor(factor[i] / kUnit);
    const Expr x = op("Cast", {i ? b : a}, {{"to", static_cast<int64_t>(DType::f32)}}) - number(zero[i]);
    for (size_t part = 0; part < 2; ++part) {
      const Expr product = x * number(part ? factor[i] - high * kUnit : high);
      sums[part] = i ? sums[part] + product : product;
    }
  }
  const Expr whole = sums[0] + op("Floor", {sums[1] * number(1 / kUnit)});
  return op("Floor", {whole * number(std::ldexp(kUnit, -shift)) + number(0.5)});
}

}  // namespace minnow
