// SPDX-License-Identifier: Apache-2.0
#include "graph/activation.h"

#include <cmath>

namespace minnow {
namespace {

constexpr std::pair<std::string_view, Activation::Kind> kNames[] = {
    {"", Activation::Kind::none},
    {"Relu", Activation::Kind::relu},
    {"Clip", Activation::Kind::clip},
    {"LeakyRelu", Activation::Kind::leaky_relu},
    {"HardSigmoid", Activation::Kind::hard_sigmoid},
    {"HardSwish", Activation::Kind::hard_swish},
    {"Sigmoid", Activation::Kind::sigmoid},
    {"Tanh", Activation::Kind::tanh},
    {"Swish", Activation::Kind::swish},
    {"Gelu", Activation::Kind::gelu},
};

// std::fmin and std::fmax would turn NaN into a bound.
double clip(double x, double low, double high) {
  if (x < low) x = low;
  return x > high ? high : x;
}

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

}  // namespace

std::optional<Activation> Activation::named(std::string_view name, float alpha, float beta) noexcept {
  for (const auto& [text, kind] : kNames)
    if (text == name) return Activation{kind, alpha, beta};
  return {};
}

Activation Activation::of(const NodeView& node) {
  const std::string_view name = node.attribute(kActivation);
  const auto found = named(name, node.attribute(kActivationAlpha), node.attribute(kActivationBeta));
  if (!found) node.fail("there is no activation \"{}\"", name);
  return *found;
}

std::string_view Activation::name() const noexcept {
  for (const auto& [text, other] : kNames)
    if (other == kind) return text;
  return {};
}

void Activation::write(Attributes& attributes) const {
  if (kind == Kind::none) return;
  attributes.set(kActivation.name, std::string(name()));
  if (alpha != 0) attributes.set(kActivationAlpha.name, alpha);
  if (beta != 0) attributes.set(kActivationBeta.name, beta);
}

Expr Activation::apply(const Expr& x) const {
  switch (kind) {
    case Kind::none:
      return x;
    case Kind::clip:
      return op("Clip", {x, x.builder().scalar_like(alpha, x), x.builder().scalar_like(beta, x)});
    case Kind::leaky_relu:
      return op("LeakyRelu", {x}, {{"alpha", alpha}});
    case Kind::hard_sigmoid:
      return op("HardSigmoid", {x}, {{"alpha", alpha}, {"beta", beta}});
    default:
      return op(name(), {x});
  }
}

double Activation::operator()(double x) const noexcept {
  switch (kind) {
    case Kind::none:
      return x;
    case Kind::relu:
      return x < 0 ? 0 : x;
    case Kind::clip:
      return clip(x, alpha, beta);
    case Kind::leaky_relu:
      return x < 0 ? alpha * x : x;
    case Kind::hard_sigmoid:
      return clip(alpha * x + beta, 0, 1);
    case Kind::hard_swish:
      return x * clip(x / 6 + 0.5, 0, 1);
    case Kind::sigmoid:
      return sigmoid(x);
    case Kind::tanh:
      return std::tanh(x);
    case Kind::swish:
      return x * sigmoid(x);
    case Kind::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  }
  return x;
}

}  // namespace minnow
