// SPDX-License-Identifier: Apache-2.0
// Elementwise activation functions. Those that are made of other functions say so in a decomposition, for backends without a kernel of
// their own; the reference computes the same without rounding in between.
#include <cmath>
#include <numbers>

#include "base/numeric.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<float> kCeluAlpha{"alpha", 1, MINNOW_DOC("scale of the negative part, not 0")};
constexpr Attribute<float> kEluAlpha{"alpha", 1, MINNOW_DOC("minus the limit for x towards minus infinity")};
constexpr Attribute<float> kHardSigmoidAlpha{"alpha", 0.2f, MINNOW_DOC("slope")};
constexpr Attribute<float> kHardSigmoidBeta{"beta", 0.5f, MINNOW_DOC("value at 0")};
constexpr Attribute<float> kLeakyAlpha{"alpha", 0.01f, MINNOW_DOC("slope left of zero")};
constexpr Attribute<float> kSeluAlpha{"alpha", 1.67326319217681884765625f, MINNOW_DOC("scale of the negative part")};
constexpr Attribute<float> kSeluGamma{"gamma", 1.05070102214813232421875f, MINNOW_DOC("scale of both parts")};
constexpr Attribute<float> kShrinkBias{"bias", 0, MINNOW_DOC("how far values move towards zero")};
constexpr Attribute<float> kShrinkLambda{"lambd", 0.5f, MINNOW_DOC("values within this distance from zero become zero")};
constexpr Attribute<float> kSwishAlpha{"alpha", 1, MINNOW_DOC("factor of x under the sigmoid")};
constexpr Attribute<float> kThreshold{"alpha", 1, MINNOW_DOC("x passes above this value")};
constexpr Attribute<Name> kApproximate{"approximate", "none", MINNOW_DOC("`tanh` for the approximation, else `none`")};

Shapes same_shape(const NodeView& node) { return {node.input_sizes(0)}; }

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double limit(double x, double low, double high) { return x < low ? low : x > high ? high : x; }  // NaN stays

Expr limit(const Expr& x, double low, double high) {
  GraphBuilder& b = x.builder();
  return b.op("Clip", {x, b.scalar_like(low, x), b.scalar_like(high, x)});
}
Expr relu(const Expr& x) { return op("Relu", {x}); }

// Functions without attributes.

void relu_reference(const NodeView&, KernelArgs& args) {
  args.map([](auto x) { return x < 0 ? decltype(x)(0) : x; });
}
void sigmoid_reference(const NodeView&, KernelArgs& args) { args.map_reals(sigmoid); }
void tanh_reference(const NodeView&, KernelArgs& args) {
  args.map_reals([](double x) { return std::tanh(x); });
}
void softplus_reference(const NodeView&, KernelArgs& args) {
  args.map_reals([](double x) { return std::isnan(x) ? x : softplus(x); });
}
Exprs softplus_parts(const NodeView&, GraphBuilder&, const Exprs& x) {
  // ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), which does not overflow.
  return {relu(x[0]) + op("Log", {op("Exp", {-op("Abs", {x[0]})}) + 1.0})};
}
void softsign_reference(const NodeView&, KernelArgs& args) {
  args.map_reals([](double x) { return x / (1 + std::fabs(x)); });
}
Exprs softsign_parts(const NodeView&, GraphBuilder&, const Exprs& x) { return {x[0] / (op("Abs", {x[0]}) + 1.0)}; }
void hard_swish_reference(const NodeView&, KernelArgs& args) {
  args.map_reals([](double x) { return x * limit(x / 6 + 0.5, 0, 1); });
}
Exprs hard_swish_parts(const NodeView&, GraphBuilder&, const Exprs& x) { return {x[0] * limit(x[0] / 6.0 + 0.5, 0, 1)}; }
void mish_reference(const NodeView&, KernelArgs& args) {
  args.map_reals([](double x) { return x * std::tanh(softplus(x)); });
}
Exprs mish_parts(const NodeView&, GraphBuilder&, const Exprs& x) { return {x[0] * op("Tanh", {op("Softplus", {x[0]})})}; }

// Functions with attributes.

Shapes celu_shape(const NodeView& node) {
  if (node.attribute(kCeluAlpha) == 0) node.fail("alpha should not be 0");
  return {node.input_sizes(0)};
}
void celu(const NodeView& node, KernelArgs& args) {
  const double alpha = node.attribute(kCeluAlpha);
  // Written as max(x, 0) + min(0, ...), because a negative alpha bends the right part too.
  args.map_reals([=](double x) { return (x < 0 ? 0 : x) + limit(alpha * std::expm1(x / alpha), -INFINITY, 0); });
}
Exprs celu_parts(const NodeView& node, GraphBuilder& b, const Exprs& x) {
  const double alpha = node.attribute(kCeluAlpha);
  const Expr bent = alpha * (op("Exp", {x[0] / alpha}) - 1.0);
  return {relu(x[0]) + op("Min", {bent, b.scalar_like(0, x[0])})};
}

void elu(const NodeView& node, KernelArgs& args) {
  const double alpha = node.attribute(kEluAlpha);
  args.map_reals([=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}
Exprs elu_parts(const NodeView& node, GraphBuilder&, const Exprs& x) {
  const double alpha = node.attribute(kEluAlpha);
  return {select(x[0] >= 0.0, x[0], alpha * (op("Exp", {x[0]}) - 1.0))};
}

Shapes gelu_shape(const NodeView& node) {
  const std::string_view approximate = node.attribute(kApproximate);
  if (approximate != "none" && approximate != "tanh") node.fail("approximate should be none or tanh, it is \"{}\"", approximate);
  return {node.input_sizes(0)};
}
constexpr double kGeluCubic = 0.044715, kGeluScale = 0.79788456080286535588;  // sqrt(2 / pi)
void gelu(const NodeView& node, KernelArgs& args) {
  if (node.attribute(kApproximate) == "tanh")
    args.map_reals([](double x) { return 0.5 * x * (1 + std::tanh(kGeluScale * (x + kGeluCubic * x * x * x))); });
  else
    args.map_reals([](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); });
}
Exprs gelu_parts(const NodeView& node, GraphBuilder&, const Exprs& in) {
  const Expr& x = in[0];
  const Expr bend = node.attribute(kApproximate) == "tanh" ? op("Tanh", {kGeluScale * (x + kGeluCubic * (x * x * x))})
                                                           : op("Erf", {x * (1 / std::numbers::sqrt2)});
  return {0.5 * x * (bend + 1.0)};
}

void hard_sigmoid(const NodeView& node, KernelArgs& args) {
  const double alpha = node.attribute(kHardSigmoidAlpha), beta = node.attribute(kHardSigmoidBeta);
  args.map_reals([=](double x) { return limit(alpha * x + beta, 0, 1); });
}
Exprs hard_sigmoid_parts(const NodeView& node, GraphBuilder&, const Exprs& x) {
  return {limit(x[0] * node.attribute(kHardSigmoidAlpha) + node.attribute(kHardSigmoidBeta), 0, 1)};
}

void leaky_relu(const NodeView& node, KernelArgs& args) {
  const double alpha = node.attribute(kLeakyAlpha);
  args.map_reals([=](double x) { return x < 0 ? alpha * x : x; });
}
Exprs leaky_relu_parts(const NodeView& node, GraphBuilder&, const Exprs& x) {
  return {select(x[0] >= 0.0, x[0], x[0] * node.attribute(kLeakyAlpha))};
}

Shapes prelu_shape(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  const auto slope = node.known_sizes(1);
  if (!slope) return {x};
  const Sizes shapes[] = {x, *slope}, together = broadcast_sizes(node, shapes);
  if (differ(together, x)) node.fail("the slope of shape {} cannot be broadcast to {}", *slope, x);
  Sizes y;
  for (size_t i = 0; i < x.rank(); ++i) y.push_back(clearer(x[i], together[i]));
  return {y};
}
void prelu(const NodeView&, KernelArgs& args) {
  args.map2([](auto x, auto slope) {
    using T = decltype(x);
    return x < 0 ? static_cast<T>(Wrapping<T>(slope) * Wrapping<T>(x)) : x;
  });
}
Exprs prelu_parts(const NodeView&, GraphBuilder&, const Exprs& in) { return {select(in[0] >= 0.0, in[0], in[1] * in[0])}; }

void selu(const NodeView& node, KernelArgs& args) {
  const double alpha = node.attribute(kSeluAlpha), gamma = node.attribute(kSeluGamma);
  args.map_reals([=](double x) { return gamma * (x < 0 ? alpha * std::expm1(x) : x); });
}
Exprs selu_parts(const NodeView& node, GraphBuilder&, const Exprs& x) {
  const double alpha = node.attribute(kSeluAlpha), gamma = node.attribute(kSeluGamma);
  return {gamma * select(x[0] >= 0.0, x[0], alpha * (op("Exp", {x[0]}) - 1.0))};
}

void shrink(const NodeView& node, KernelArgs& args) {
  const double bias = node.attribute(kShrinkBias), lambda = node.attribute(kShrinkLambda);
  args.map([=](auto x) {
    using T = decltype(x);
    const double wide = static_cast<double>(x), moved = wide < -lambda ? wide + bias : wide > lambda ? wide - bias : 0;
    if constexpr (std::is_floating_point_v<T>)
      return moved;
    else  // an integer stays exact where it does not move
      return moved == wide ? x : static_cast<T>(truncate(moved));
  });
}

void swish(const NodeView& node, KernelArgs& args) {
  const double alpha = node.attribute(kSwishAlpha);
  args.map_reals([=](double x) { return x * sigmoid(alpha * x); });
}
Exprs swish_parts(const NodeView& node, GraphBuilder&, const Exprs& x) {
  const double alpha = node.attribute(kSwishAlpha);
  return {x[0] * op("Sigmoid", {alpha == 1 ? x[0] : alpha * x[0]})};
}

void thresholded_relu(const NodeView& node, KernelArgs& args) {
  const double alpha = node.attribute(kThreshold);
  args.map_reals([=](double x) { return x > alpha ? x : 0; });
}
Exprs thresholded_relu_parts(const NodeView& node, GraphBuilder& b, const Exprs& x) {
  const Expr passes = b.op("Greater", {x[0], b.scalar_like(node.attribute(kThreshold), x[0])});
  return {select(passes, x[0], b.scalar_like(0, x[0]))};
}

using Reference = void (*)(const NodeView&, KernelArgs&);
using Parts = Exprs (*)(const NodeView&, GraphBuilder&, const Exprs&);

constexpr Operator row(Name name, int since, std::string_view doc, Reference reference, Parts parts = nullptr,
                       List<AttributeSpec> attributes = {}, Shapes (*shape)(const NodeView&) = same_shape, DTypes dtypes = kFloats) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"X", dtypes}},
          .outputs = {{"Y", same_as("X")}},
          .attributes = std::move(attributes),
          .infer_shapes = shape,
          .reference = reference,
          .decompose = parts,
          .elementwise = true,
          .fusible = true};
}

constexpr Operator with_gradient(Operator op, Exprs (*gradient)(const GradientContext&)) {
  op.gradient = gradient;
  return op;
}
using E = const Expr&;
#define RULE(...) MINNOW_GRADIENT(unary_gradient<[]([[maybe_unused]] E x, [[maybe_unused]] E y, E g) { return __VA_ARGS__; }>)
#if MINNOW_GRADIENTS
Exprs shrink_gradient(const GradientContext& c) {
  const Expr& x = c.input(0);
  return {where(greater(op("Abs", {x}), static_cast<double>(c.node.attribute(kShrinkLambda))), c.output_gradient(0))};
}
Exprs gelu_gradient(const GradientContext& c) {
  const Expr &x = c.input(0), &g = c.output_gradient(0);
  if (c.node.attribute(kApproximate) == "tanh") {
    const Expr bend = op("Tanh", {kGeluScale * (x + kGeluCubic * (x * x * x))});
    return {g * (0.5 * (bend + 1.0) + (0.5 * kGeluScale) * x * (1.0 - bend * bend) * (3 * kGeluCubic * (x * x) + 1.0))};
  }
  const Expr share = 0.5 * (op("Erf", {x * (1 / std::numbers::sqrt2)}) + 1.0);
  return {g * (share + x * op("Exp", {-0.5 * (x * x)}) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2))};
}
Exprs swish_gradient(const GradientContext& c) {
  const double alpha = c.node.attribute(kSwishAlpha);
  const Expr &x = c.input(0), share = op("Sigmoid", {alpha * x});
  return {c.output_gradient(0) * (share + alpha * (x * share * (1.0 - share)))};
}
Exprs leaky_relu_gradient(const GradientContext& c) {
  const Expr &x = c.input(0), &g = c.output_gradient(0);
  return {select(x >= 0.0, g, g * static_cast<double>(c.node.attribute(kLeakyAlpha)))};
}
#endif

constexpr DTypes kSlopes = kFloats | one_of({DType::i32, DType::i64, DType::u32, DType::u64});

constexpr List<Operator> definitions() {
  Operator prelu_row = row("PRelu", 16, MINNOW_DOC("y = x where x >= 0, else slope * x; the slope is broadcast to the shape of X."), prelu,
                           prelu_parts, {}, prelu_shape, kSlopes);
  prelu_row.inputs.append({{.name = "slope", .dtypes = kSlopes, .like = "X"}});
  Operator relu =
      row("Relu", 14, MINNOW_DOC("y = max(x, 0). Source: Nair, Hinton 2010."), relu_reference, nullptr, {}, same_shape, kFloats | kSigned);
  relu.gradient = RULE(where(greater(y, 0), g));  // of y, so that x need not be kept
  relu.monotone = relu.never_negative = relu.quantizable = true;
  return {
      std::move(relu),
      with(with_gradient(row("Sigmoid", 13, MINNOW_DOC("y = 1 / (1 + e^-x)."), sigmoid_reference), RULE(g * y * (1.0 - y))),
           &Operator::never_negative),
      with_gradient(row("Tanh", 13, MINNOW_DOC("y = the hyperbolic tangent of x."), tanh_reference), RULE(g * (1.0 - y * y))),
      with(with_gradient(row("Softplus", 22, MINNOW_DOC("y = ln(1 + e^x)."), softplus_reference, softplus_parts),
                         RULE(g * op("Sigmoid", {x}))),
           &Operator::never_negative),
      row("Softsign", 22, MINNOW_DOC("y = x / (1 + |x|)."), softsign_reference, softsign_parts),
      row("HardSwish", 22, MINNOW_DOC("y = x * min(max(x / 6 + 1/2, 0), 1)."), hard_swish_reference, hard_swish_parts),
      row("Mish", 22, MINNOW_DOC("y = x * tanh(softplus(x))."), mish_reference, mish_parts),
      row("Celu", 28, MINNOW_DOC("y = max(x, 0) + min(0, alpha * (e^(x / alpha) - 1))."), celu, celu_parts, {kCeluAlpha}, celu_shape),
      row("Elu", 22, MINNOW_DOC("y = x where x >= 0, else alpha * (e^x - 1)."), elu, elu_parts, {kEluAlpha}),
      with_gradient(
          row("Gelu", 20,
              MINNOW_DOC(
                  "y = x * (1 + erf(x / sqrt 2)) / 2, or with approximate = tanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."),
              gelu, gelu_parts, {kApproximate}, gelu_shape),
          MINNOW_GRADIENT(gelu_gradient)),
      with(row("HardSigmoid", 22, MINNOW_DOC("y = min(max(alpha * x + beta, 0), 1)."), hard_sigmoid, hard_sigmoid_parts,
               {kHardSigmoidAlpha, kHardSigmoidBeta}),
           &Operator::never_negative),
      with_gradient(row("LeakyRelu", 16, MINNOW_DOC("y = x where x >= 0, else alpha * x. Source: Maas, Hannun, Ng 2013."), leaky_relu,
                        leaky_relu_parts, {kLeakyAlpha}),
                    MINNOW_GRADIENT(leaky_relu_gradient)),
      std::move(prelu_row),
      row("Selu", 22, MINNOW_DOC("y = gamma * x where x >= 0, else gamma * alpha * (e^x - 1). Source: Klambauer et al. 2017."), selu,
          selu_parts, {kSeluAlpha, kSeluGamma}),
      with(with_gradient(
               row("Shrink", 9,
                   MINNOW_DOC(
                       "y = x + bias where x < -lambd, x - bias where x > lambd, else 0. Integers are moved in double precision and cut "
                       "toward zero."),
                   shrink, nullptr, {kShrinkBias, kShrinkLambda}, same_shape, kNumeric & ~one_of({DType::bf16})),
               MINNOW_GRADIENT(shrink_gradient)),
           &Operator::fusible, false),
      with_gradient(row("Swish", 24, MINNOW_DOC("y = x * sigmoid(alpha * x)."), swish, swish_parts, {kSwishAlpha}),
                    MINNOW_GRADIENT(swish_gradient)),
      row("ThresholdedRelu", 22, MINNOW_DOC("y = x where x > alpha, else 0."), thresholded_relu, thresholded_relu_parts, {kThreshold}),
  };
}

#undef RULE
}  // namespace

std::span<const Operator> activation_operators() { return operator_table<definitions>(); }

}  // namespace minnow
