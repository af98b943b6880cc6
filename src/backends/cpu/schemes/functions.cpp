// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/functions.h"

#include <limits>

namespace minnow::cpu {
namespace {

float number(const NodeView& node, Name name, float fallback) { return node.attribute(Attribute<float>{name, fallback}); }

}  // namespace

std::optional<Function> function_of(const NodeView& node) {
  constexpr std::pair<std::string_view, Unary> kPlain[] = {
      {"Abs", Unary::abs},   {"Atan", Unary::atan},         {"Ceil", Unary::ceil},         {"Cos", Unary::cos},
      {"Erf", Unary::erf},   {"Exp", Unary::exp},           {"Floor", Unary::floor},       {"HardSwish", Unary::hard_swish},
      {"Log", Unary::log},   {"Mish", Unary::mish},         {"Neg", Unary::neg},           {"Reciprocal", Unary::reciprocal},
      {"Relu", Unary::relu}, {"Round", Unary::round},       {"Sigmoid", Unary::sigmoid},   {"Sign", Unary::sign},
      {"Sin", Unary::sin},   {"Softplus", Unary::softplus}, {"Softsign", Unary::softsign}, {"Sqrt", Unary::sqrt},
      {"Tanh", Unary::tanh}};
  const std::string& op = node.op();
  for (const auto& [name, kind] : kPlain)
    if (name == op) return Function{kind};
  if (op == "LeakyRelu") return Function{Unary::leaky_relu, number(node, "alpha", 0.01f)};
  if (op == "HardSigmoid") return Function{Unary::hard_sigmoid, number(node, "alpha", 0.2f), number(node, "beta", 0.5f)};
  if (op == "Elu") return Function{Unary::elu, number(node, "alpha", 1)};
  if (op == "Celu") return Function{Unary::celu, number(node, "alpha", 1)};
  if (op == "Selu") return Function{Unary::selu, number(node, "alpha", 1.67326319f), number(node, "gamma", 1.05070102f)};
  if (op == "Swish") return Function{Unary::swish, number(node, "alpha", 1)};
  if (op == "ThresholdedRelu") return Function{Unary::thresholded_relu, number(node, "alpha", 1)};
  if (op == "Gelu") return Function{node.attribute(Attribute<Name>{"approximate", "none"}) == "tanh" ? Unary::gelu_tanh : Unary::gelu};
  if (op == "Clip") {
    Function clip{Unary::clip, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
    if ((node.has_input(1) && !node.is_constant(1)) || (node.has_input(2) && !node.is_constant(2))) return std::nullopt;
    if (node.has_input(1)) clip.a = static_cast<float>(node.real_scalar(1));
    if (node.has_input(2)) clip.b = static_cast<float>(node.real_scalar(2));
    return clip;
  }
  return std::nullopt;
}

Function function_of(const Activation& activation) noexcept {
  // By Activation::Kind.
  constexpr Unary kFunctions[] = {Unary::copy,       Unary::relu,    Unary::clip, Unary::leaky_relu, Unary::hard_sigmoid,
                                  Unary::hard_swish, Unary::sigmoid, Unary::tanh, Unary::swish,      Unary::gelu};
  const float a = activation.kind == Activation::Kind::swish ? 1 : activation.alpha;
  return {kFunctions[static_cast<size_t>(activation.kind)], a, activation.beta};
}

double cost_of(Unary kind) {
  switch (kind) {
    case Unary::copy:
    case Unary::relu:
    case Unary::clip:
    case Unary::neg:
    case Unary::abs:
    case Unary::scale:
    case Unary::leaky_relu:
      return 2;
    case Unary::hard_sigmoid:
    case Unary::hard_swish:
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
    case Unary::sign:
      return 6;
    default:
      return 60;
  }
}

}  // namespace minnow::cpu
