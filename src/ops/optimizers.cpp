// SPDX-License-Identifier: Apache-2.0
// ai.onnx.preview.training: one step of an optimizer over any number of tensors, whose inputs come group by group: all parameters, all
// their gradients, then their accumulated values.
#include <cmath>

#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr DTypes kReals = one_of({DType::f32, DType::f64});

constexpr Attribute<float> kNorm{"norm_coefficient", 0, MINNOW_DOC("lambda of a penalty lambda / 2 |X|^2, whose gradient joins G")};
constexpr Attribute<float> kNormPost{"norm_coefficient_post", 0, MINNOW_DOC("share that is taken off X after the step")};
constexpr Attribute<float> kEpsilon{"epsilon", 1e-6f, MINNOW_DOC("added to the root that is divided by")};
constexpr Attribute<float> kDecay{"decay_factor", 0, MINNOW_DOC("the rate is divided by 1 + T * decay_factor")};
constexpr Attribute<float> kAlpha{"alpha", 0.9f, MINNOW_DOC("share of the old mean of gradients that is kept")};
constexpr Attribute<float> kBeta{"beta", 0.999f, MINNOW_DOC("share of the old mean of squared gradients that is kept")};
constexpr std::string_view kMomentumAlpha = "alpha", kMomentumBeta = "beta", kMode = "mode";

/// Inputs R, T, then `kGroups` groups of tensors; outputs are the groups without the gradients.
template <size_t kGroups>
Shapes shapes(const NodeView& node) {
  for (size_t i : {size_t{0}, size_t{1}})
    if (!node.may_hold_one(i)) node.fail("input {} should hold one number, it has shape {}", i, node.input_sizes(i));
  const size_t given = node.input_count() - 2, count = given / kGroups;
  if (given == 0 || given % kGroups) node.fail("takes {} tensors for each that is optimized, {} were given", kGroups, given);
  Shapes result;
  for (size_t group = 0; group < kGroups; ++group)
    for (size_t i = 0; i < count; ++i) {
      const Sizes x = node.input_sizes(2 + i), own = node.input_sizes(2 + group * count + i);
      if (differ(own, x))
        node.fail("input {} has shape {}, it should have the shape {} of what is optimized", 2 + group * count + i, own, x);
      if (group != 1) result.push_back(x);
    }
  return result;
}

/// Calls step(values) for every element: values[k] is that of group k, and takes the results, the gradient's place unused.
template <size_t kGroups, class F>
void for_each_element(KernelArgs& args, F step) {
  const size_t count = (args.input_count() - 2) / kGroups;
  for (size_t i = 0; i < count; ++i) {
    Numbers<double> groups[kGroups];
    for (size_t k = 0; k < kGroups; ++k) groups[k] = args.reals(2 + k * count + i);
    for (size_t at = 0; at < groups[0].size(); ++at) {
      double values[kGroups];
      for (size_t k = 0; k < kGroups; ++k) values[k] = groups[k][at];
      step(values);
      for (size_t k = 0; k < kGroups; ++k) groups[k][at] = values[k];
    }
    for (size_t k = 0, out = 0; k < kGroups; ++k) {
      if (k == 1) continue;
      if (const size_t place = out++ * count + i; args.has_output(place)) args.write(place, groups[k]);
    }
  }
}

void adagrad(const NodeView& node, KernelArgs& args) {
  const double norm = node.attribute(kNorm), epsilon = node.attribute(kEpsilon);
  const double steps = static_cast<double>(args.ints(1)[0]), rate = args.reals(0)[0] / (1 + steps * node.attribute(kDecay));
  for_each_element<3>(args, [&](double* values) {
    double &x = values[0], &h = values[2];
    const double g = norm * x + values[1];
    h += g * g;
    x -= rate * g / (std::sqrt(h) + epsilon);
  });
}

void adam(const NodeView& node, KernelArgs& args) {
  const double norm = node.attribute(kNorm), post = node.attribute(kNormPost), epsilon = node.attribute(kEpsilon);
  const double alpha = node.attribute(kAlpha), beta = node.attribute(kBeta), steps = static_cast<double>(args.ints(1)[0]);
  double rate = args.reals(0)[0];
  if (steps > 0) rate *= std::sqrt(1 - std::pow(beta, steps)) / (1 - std::pow(alpha, steps));
  for_each_element<4>(args, [&](double* values) {
    double &x = values[0], &v = values[2], &h = values[3];
    const double g = norm * x + values[1];
    v = alpha * v + (1 - alpha) * g;
    h = beta * h + (1 - beta) * g * g;
    x = (1 - post) * (x - rate * v / (std::sqrt(h) + epsilon));
  });
}

Shapes momentum_shapes(const NodeView& node) {
  const std::string& mode = node.require<std::string>(kMode);
  if (mode != "standard" && mode != "nesterov") node.fail("mode is \"{}\", it should be standard or nesterov", mode);
  return shapes<3>(node);
}

void momentum(const NodeView& node, KernelArgs& args) {
  const double norm = node.require<float>(kNorm.name), alpha = node.require<float>(kMomentumAlpha);
  const double beta = args.ints(1)[0] > 0 ? static_cast<double>(node.require<float>(kMomentumBeta)) : 1, rate = args.reals(0)[0];
  const bool nesterov = node.require<std::string>(kMode) == "nesterov";
  for_each_element<3>(args, [&](double* values) {
    double &x = values[0], &v = values[2];
    const double g = norm * x + values[1];
    v = alpha * v + beta * g;
    x -= rate * (nesterov ? g + alpha * v : v);
  });
}

constexpr Operator row(std::string_view name, std::string_view doc, List<AttributeSpec> attributes, Shapes (*infer)(const NodeView&),
                       void (*reference)(const NodeView&, KernelArgs&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"R", kReals}, {"T", kI64}, {.name = "inputs", .dtypes = kReals, .arity = kVariadic, .like = "inputs"}},
          .outputs = {{"outputs", same_as("inputs"), kVariadic}},
          .attributes = std::move(attributes),
          .infer_shapes = infer,
          .reference = reference};
}

constexpr List<Operator> definitions() {
  return {
      row("ai.onnx.preview.training.Adagrad",
          MINNOW_DOC("One step of Adagrad with learning rate R, the T-th: inputs are the tensors X, their gradients G and sums of squared "
                     "gradients H; outputs the new X and H. g = norm_coefficient X + G, H += g^2, X -= R / (1 + T decay_factor) g / "
                     "(sqrt(H) + epsilon)."),
          {kDecay, kEpsilon, kNorm}, shapes<3>, adagrad),
      row("ai.onnx.preview.training.Adam",
          MINNOW_DOC(
              "One step of Adam with learning rate R, the T-th: inputs are the tensors X, their gradients G, means of gradients V and "
              "of squared gradients H; outputs the new X, V and H. g = norm_coefficient X + G, V = alpha V + (1 - alpha) g, H = beta "
              "H + (1 - beta) g^2, X = (1 - norm_coefficient_post) (X - R' V / (sqrt(H) + epsilon)), where R' = R sqrt(1 - beta^T) / "
              "(1 - alpha^T) for T > 0, else R."),
          {kAlpha, kBeta, kEpsilon, kNorm, kNormPost}, shapes<4>, adam),
      row("ai.onnx.preview.training.Momentum",
          MINNOW_DOC(
              "One step of gradient descent with momentum, learning rate R, the T-th: inputs are the tensors X, their gradients G and "
              "momenta V; outputs the new X and V. g = norm_coefficient X + G, V = alpha V + beta g (beta is 1 where T is 0), X -= R V, "
              "or X -= R (g + alpha V) for Nesterov's."),
          {required(kMomentumAlpha, AttributeKind::real, MINNOW_DOC("share of the old momentum that is kept")),
           required(kMomentumBeta, AttributeKind::real, MINNOW_DOC("factor of the gradient")),
           required(kMode, AttributeKind::text, MINNOW_DOC("standard or nesterov")), required(kNorm.name, AttributeKind::real, kNorm.doc)},
          momentum_shapes, momentum),
  };
}

}  // namespace

std::span<const Operator> optimizers_operators() { return operator_table<definitions>(); }

}  // namespace minnow
