// SPDX-License-Identifier: Apache-2.0
// Short names for what layers are made of.
#pragma once
#include <minnow/nn.h>

#include <set>
#include <string>

#include "base/error.h"

namespace minnow::nn {

inline Var op(std::string_view name, Vars inputs, const expr::Attributes& attributes = {}) {
  return expr::op(name, std::move(inputs), attributes);
}
inline Var ints(const std::vector<int64_t>& values) { return Tensor::of_i64({static_cast<int64_t>(values.size())}, values); }
/// A number of the dtype of x.
inline Var like(double value, const Var& x) { return Var::scalar(value, x.dtype()); }
inline Var where(const Var& condition, const Var& a, const Var& b) { return op("Where", {condition, a, b}); }
inline Var where(const Var& condition, const Var& a, double b) { return where(condition, a, like(b, a)); }
/// Normal numbers, f32, of a stream of their own.
Var normal_numbers(const Shape& shape);
/// The one input, or the first of several.
inline const Var& first_of(const Vars& inputs) {
  if (inputs.empty() || !inputs[0].has_value()) throw InvalidArgument("a layer takes an input, none is given");
  return inputs[0];
}
/// Names of the parameters of merged adapters, which the state of a layer does not have.
std::set<std::string> names_of_merged_adapters(const Layer& net);
inline int64_t size_of(const Var& x, size_t axis) {
  const Shape shape = x.shape();
  if (axis >= shape.rank()) throw InvalidArgument("an input has {} axes at least, its shape is {}", axis + 1, shape);
  return shape[axis];
}

}  // namespace minnow::nn
