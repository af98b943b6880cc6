// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of one tensor without attributes: one row each.
#include <cmath>

#include "ops/operator.h"

namespace minnow {
namespace {

Shapes same_shape(const NodeView& node) { return {node.input_shape(0)}; }

template <auto kFunction>
void reference(const NodeView&, KernelArgs& args) {
  args.map(kFunction);
}
template <auto kFunction>
void reference_real(const NodeView&, KernelArgs& args) {
  args.map_reals(kFunction);
}

constexpr auto kAbs = [](auto x) { return x < 0 ? static_cast<decltype(x)>(-x) : x; };
constexpr auto kNeg = [](auto x) {
  return static_cast<decltype(x)>(-static_cast<std::conditional_t<std::is_integral_v<decltype(x)>, uint64_t, double>>(x));
};
constexpr auto kRelu = [](auto x) { return x < 0 ? decltype(x)(0) : x; };
constexpr auto kSign = [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); };
constexpr auto kSigmoid = [](double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); };
constexpr auto kSoftplus = [](double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };

Operator row(std::string_view name, int since, std::string_view doc, DTypes dtypes, void (*reference)(const NodeView&, KernelArgs&)) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"X", dtypes}},
          .outputs = {{"Y", same_as("X")}},
          .infer_shapes = same_shape,
          .reference = reference,
          .elementwise = true};
}
template <auto kFunction>
Operator real(std::string_view name, int since, std::string_view doc) {
  return row(name, since, doc, kFloats, reference_real<kFunction>);
}

}  // namespace

std::vector<Operator> unary_operators() {
  return {
      row("Abs", 13, MINNOW_DOC("y = |x|; the lowest integer stays itself."), kNumeric, reference<kAbs>),
      row("Neg", 13, MINNOW_DOC("y = -x; the lowest integer stays itself."), kFloats | kSigned, reference<kNeg>),
      row("Relu", 14, MINNOW_DOC("y = max(x, 0). Source: Nair, Hinton 2010."), kFloats | kSigned, reference<kRelu>),
      row("Sign", 13, MINNOW_DOC("y = -1, 0 or 1."), kNumeric, reference<kSign>),
      real<[](double x) { return std::exp(x); }>("Exp", 13, MINNOW_DOC("y = e^x.")),
      real<[](double x) { return std::tanh(x); }>("Tanh", 13, MINNOW_DOC("y = tanh(x).")),
      real<kSigmoid>("Sigmoid", 13, MINNOW_DOC("y = 1 / (1 + e^-x).")),
      real<kSoftplus>("Softplus", 22, MINNOW_DOC("y = ln(1 + e^x).")),
  };
}

}  // namespace minnow
