// SPDX-License-Identifier: Apache-2.0
// ai.onnx.preview.training: one step of an optimizer over any number of tensors, whose inputs come group by group: all parameters, all
// their gradients, then their accumulated values. minnow.UpdateElements: a step of any rule over one tensor.
#include <cmath>

#include "ops/operator_table.h"
#include "ops/update_rule.h"

namespace minnow {
namespace {

constexpr DTypes kReals = one_of({DType::f32, DType::f64});

constexpr Attribute<float> kNorm{"norm_coefficient", 0, MINNOW_DOC("lambda of a penalty lambda / 2 |X|^2, whose gradient joins G")};
constexpr Attribute<float> kNormPost{"norm_coefficient_post", 0, MINNOW_DOC("share that is taken off X after the step")};
constexpr Attribute<float> kEpsilon{"epsilon", 1e-6f, MINNOW_DOC("added to the root that is divided by")};
constexpr Attribute<float> kDecay{"decay_factor", 0, MINNOW_DOC("the rate is divided by 1 + T * decay_factor")};
constexpr Attribute<float> kAlpha{"alpha", 0.9f, MINNOW_DOC("share of the old mean of gradients that is kept")};
constexpr Attribute<float> kBeta{"beta", 0.999f, MINNOW_DOC("share of the old mean of squared gradients that is kept")};
constexpr Name kMomentumAlpha = "alpha", kMomentumBeta = "beta", kMode = "mode";

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

#if MINNOW_GRADIENTS
constexpr Attribute<int64_t> kFirst{"first", 0, MINNOW_DOC("the first element of coefficients that the rule reads")};
constexpr Attribute<bool> kChecked{"checked", false, MINNOW_DOC("a gradient that is not finite is an error")};

Shapes update_shapes(const NodeView& node) {
  const Ints &rule = node.require<Ints>("rule"), &results = node.require<Ints>("results");
  const size_t tensors = node.input_count() - 1;
  if (tensors < 2) node.fail("takes a tensor, its gradient and states, {} tensors were given", tensors);
  if (rule.size() % 5) node.fail("rule has five integers for each operation, it has {}", rule.size());
  const int64_t operations = static_cast<int64_t>(rule.size() / 5);
  for (int64_t i = 0; i < operations; ++i) {
    const int64_t* row = rule.data() + 5 * i;
    if (row[0] < 0 || row[0] > static_cast<int64_t>(UpdateOp::by_sign)) node.fail("rule has an operation {}, there are 0 to 10", row[0]);
    for (int64_t k = 1; k < 5; ++k)
      if (row[k] < -1 || row[k] >= i) node.fail("operation {} of rule takes value {}, which is not there yet", i, row[k]);
    if (i < static_cast<int64_t>(tensors) && row[0] != 0)
      node.fail("the first {} operations of rule should be inputs, one for each tensor", tensors);
  }
  if (operations < static_cast<int64_t>(tensors)) node.fail("rule should begin with an input for each of {} tensors", tensors);
  if (results.size() != tensors - 1 || node.output_count() > results.size())
    node.fail("results has {} values, {} are needed, one for each tensor but the gradient", results.size(), tensors - 1);
  for (const int64_t value : results)
    if (value < 0 || value >= operations) node.fail("results names value {}, there are {}", value, operations);
  const Sizes x = node.input_sizes(1);
  for (size_t i = 2; i <= tensors; ++i)
    if (differ(node.input_sizes(i), x))
      node.fail("input {} has shape {}, it should have the shape {} of input 1", i, node.input_sizes(i), x);
  return Shapes(node.output_count(), x);
}

void update(const NodeView& node, KernelArgs& args) {
  const Ints &rule = node.require<Ints>("rule"), &results = node.require<Ints>("results");
  const Numbers<double> coefficients = args.reals(0);
  const size_t tensors = args.input_count() - 1, operations = rule.size() / 5;
  std::vector<Numbers<double>> given;
  for (size_t i = 0; i < tensors; ++i) given.push_back(args.reals(1 + i));
  std::vector<double> values(operations);
  const bool is_checked = node.attribute(kChecked);
  for (size_t at = 0; at < given[0].size(); ++at) {
    size_t inputs = 0, next = static_cast<size_t>(node.attribute(kFirst));
    if (is_checked && !std::isfinite(given[1][at])) args.fail("the gradient is not finite in element {} of {}", at, given[0].size());
    for (size_t i = 0; i < operations; ++i) {
      double x[4];
      for (size_t k = 0; k < 4; ++k) x[k] = rule[5 * i + 1 + k] < 0 ? 0 : values[static_cast<size_t>(rule[5 * i + 1 + k])];
      double& y = values[i];
      switch (static_cast<UpdateOp>(rule[5 * i])) {
        case UpdateOp::input:
          if (inputs >= tensors && next >= coefficients.size()) args.fail("there are {} coefficients, the rule reads more", next);
          y = inputs < tensors ? given[inputs][at] : coefficients[next++];
          ++inputs;
          break;
        case UpdateOp::add:
          y = x[0] + x[1];
          break;
        case UpdateOp::subtract:
          y = x[0] - x[1];
          break;
        case UpdateOp::multiply:
          y = x[0] * x[1];
          break;
        case UpdateOp::divide:
          y = x[0] / x[1];
          break;
        case UpdateOp::root:
          y = std::sqrt(x[0]);
          break;
        case UpdateOp::size:
          y = std::fabs(x[0]);
          break;
        case UpdateOp::larger:
          y = x[0] > x[1] ? x[0] : x[1];
          break;
        case UpdateOp::smaller:
          y = x[0] < x[1] ? x[0] : x[1];
          break;
        case UpdateOp::clamped:
          y = x[2] > x[1] ? x[1] : x[2] < x[0] ? x[0] : x[2];
          break;
        case UpdateOp::by_sign:
          y = x[0] > 0 ? x[1] : x[0] < 0 ? x[2] : x[3];
          break;
      }
    }
    for (size_t k = 0; k < results.size(); ++k) given[k == 0 ? 0 : k + 1][at] = values[static_cast<size_t>(results[k])];
  }
  for (size_t k = 0; k < results.size(); ++k)
    if (args.has_output(k)) args.write(k, given[k == 0 ? 0 : k + 1]);
}
#endif

constexpr Operator row(Name name, std::string_view doc, List<AttributeSpec> attributes, Shapes (*infer)(const NodeView&),
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
             required(kMode, AttributeKind::text, MINNOW_DOC("standard or nesterov")),
             required(kNorm.name, AttributeKind::real, kNorm.doc)},
            momentum_shapes, momentum),
#if MINNOW_GRADIENTS
        {.name = "minnow.UpdateElements",
         .doc = MINNOW_DOC(
             "One step of an optimizer's rule over the elements of a tensor: tensors are the weights, their gradient and states, outputs "
             "are the new weights and states. The rule is a list of operations with five integers each: the operation (0 input, 1 add, "
             "2 subtract, 3 multiply, 4 divide, 5 root, 6 absolute value, 7 larger, 8 smaller, 9 third value cut to the first two, "
             "10 second, third or fourth value where the first is above, below or at 0) and the numbers of up to four values before, "
             "or -1 for the number 0. "
             "Inputs are the tensors in order, then coefficients."),
         .inputs = {{"coefficients", kReals}, {.name = "tensors", .dtypes = kReals, .arity = kVariadic, .like = "tensors"}},
         .outputs = {{"updated", same_as("tensors"), kVariadic}},
         .attributes = {required("rule", AttributeKind::integers, MINNOW_DOC("operations, five integers each")),
                        required("results", AttributeKind::integers, MINNOW_DOC("values that become the new weights and states")), kFirst,
                        kChecked},
         .infer_shapes = update_shapes,
         .reference = update},
#endif
  };
}

}  // namespace

std::span<const Operator> optimizers_operators() { return operator_table<definitions>(); }

}  // namespace minnow
