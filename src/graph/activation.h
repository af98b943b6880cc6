// SPDX-License-Identifier: Apache-2.0
// The activation that a fused operator applies to its result, as its attributes `activation`, `activation_alpha`, `activation_beta` name
// it.
#pragma once
#include "graph/expr.h"
#include "graph/node_view.h"

namespace minnow {

inline constexpr Attribute<Name> kActivation{
    "activation", "", "applied last: Relu, Clip, LeakyRelu, HardSigmoid, HardSwish, Sigmoid, Tanh, Swish, Gelu, or nothing"};
inline constexpr Attribute<float> kActivationAlpha{"activation_alpha", 0, "Clip's lower bound; LeakyRelu's slope; HardSigmoid's slope"};
inline constexpr Attribute<float> kActivationBeta{"activation_beta", 0, "Clip's upper bound; HardSigmoid's offset"};

/// The input of fused operators with a scale for each channel, by which sums are multiplied before they are rounded and activated.
inline constexpr size_t kScale = 4;

struct Activation {
  enum class Kind : uint8_t {
    none,
    relu,          // max(x, 0)
    clip,          // min(max(x, alpha), beta)
    leaky_relu,    // x < 0 ? alpha * x : x
    hard_sigmoid,  // min(max(alpha * x + beta, 0), 1)
    hard_swish,    // x * min(max(x / 6 + 1/2, 0), 1)
    sigmoid,       // 1 / (1 + e^-x)
    tanh,
    swish,  // x * sigmoid(x)
    gelu    // x * (1 + erf(x / sqrt 2)) / 2
  };
  Kind kind = Kind::none;
  float alpha = 0, beta = 0;

  /// The activation of a node with the attributes above. Throws InvalidModel for an unknown name.
  static Activation of(const NodeView& node);
  /// The activation of that name with its two numbers, if there is one.
  static std::optional<Activation> named(std::string_view name, float alpha = 0, float beta = 0) noexcept;
  std::string_view name() const noexcept;
  /// None or Relu: integer products compute these together with the one rounding to bytes. Others are computed in f32 before it.
  bool joins_rounding() const noexcept { return kind == Kind::none || kind == Kind::relu; }
  /// Writes the three attributes; none where the kind is none.
  void write(Attributes& attributes) const;

  /// The same in standard operators.
  Expr apply(const Expr& x) const;
  double operator()(double x) const noexcept;
};

}  // namespace minnow
