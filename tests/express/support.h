// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of expressions.
#pragma once
#include <minnow/express.h>

#include <string>
#include <vector>

namespace minnow::test {

inline Var f32(std::initializer_list<float> values, const Shape& shape) { return expr::constant(values, shape); }

/// 0, 1, 2 ... as a computed tensor.
inline Var arange(int64_t count, const Shape& shape, DType dtype = DType::f32) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = i;
  return Var(Var(Tensor::of_i64(shape, values)).astype(dtype).tensor());
}

/// A parameter of the same value: operators on it wait until they are read.
inline Var parameter(const Var& x) { return expr::trainable(x.tensor()); }

/// The sum of all elements, without dimensions.
inline Var sum(const Var& x) { return expr::op("ReduceSum", {x}, {{"keepdims", int64_t{0}}}); }

inline std::vector<double> numbers(const Var& x) {
  const Var wide = x.astype(DType::f64);
  const double* data = wide.data<double>();
  return {data, data + wide.elements()};
}

/// Options with some members set; the others stay as they are.
template <class F>
SessionOptions options(F set) {
  SessionOptions made;
  set(made);
  return made;
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace minnow::test
