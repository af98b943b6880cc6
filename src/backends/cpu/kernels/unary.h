// SPDX-License-Identifier: Apache-2.0
// Functions of one float, element by element.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

enum class Unary : uint8_t {
  copy,
  relu,          // max(x, 0)
  clip,          // min(max(x, a), b)
  leaky_relu,    // x < 0 ? a x : x
  hard_sigmoid,  // min(max(a x + b, 0), 1)
  hard_swish,    // x min(max(x / 6 + 1/2, 0), 1)
  sigmoid,
  tanh,
  swish,             // x sigmoid(a x)
  gelu,              // x (1 + erf(x / sqrt 2)) / 2
  gelu_tanh,         // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  elu,               // x < 0 ? a (e^x - 1) : x
  selu,              // b (x < 0 ? a (e^x - 1) : x)
  celu,              // x < 0 ? a (e^(x / a) - 1) : x
  softplus,          // log(1 + e^x)
  softsign,          // x / (1 + |x|)
  mish,              // x tanh(softplus(x))
  thresholded_relu,  // x > a ? x : 0
  neg,
  abs,
  sqrt,
  reciprocal,
  exp,
  log,
  erf,
  floor,
  ceil,
  round,  // ties to even
  sign,
  sin,
  cos,
  scale,  // a x + b
  atan,
  count
};

/// y[i] = f(x[i]); y may be x. NaN stays NaN.
using UnaryFunction = void (*)(const float* x, float* y, size_t count, float a, float b);

struct UnaryKernels {
  const UnaryFunction* functions;  // by Unary
  UnaryFunction operator[](Unary kind) const noexcept { return functions[static_cast<size_t>(kind)]; }
};

}  // namespace minnow::cpu
