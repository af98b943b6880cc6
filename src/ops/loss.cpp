// SPDX-License-Identifier: Apache-2.0
// Losses of classifications: scores [N, C, d...], one class index for each sample [N, d...].
#include "base/numeric.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Name kIgnoreIndex = "ignore_index";
constexpr Attribute<Name> kReduction{"reduction", "mean", MINNOW_DOC("none, sum, or mean (weighted where there are weights)")};

Shapes nll_shape(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  const std::string_view reduction = node.attribute(kReduction);
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    node.fail("reduction should be none, sum or mean, it is \"{}\"", reduction);
  node.find<int64_t>(kIgnoreIndex);
  if (x.rank() < 2) node.fail("the scores should have a batch and a class dimension, their shape is {}", x);
  Sizes samples = x;
  samples.erase(1);
  if (const auto target = node.known_sizes(1); target && differ(*target, samples))
    node.fail("scores of shape {} need class indices of shape {}, they have shape {}", x, samples, *target);
  if (const auto weights = node.known_sizes(2); weights && differ(*weights, Sizes{x[1]}))
    node.fail("the weights should have shape [{}], they have shape {}", x[1], *weights);
  return {reduction == "none" ? samples : Sizes{}};
}

void nll(const NodeView& node, KernelArgs& args) {
  const AxisLines lines(args.input(0).shape(), 1);
  const DType dtype = args.input(0).dtype();
  const Numbers<double> weights = args.has_input(2) ? args.reals(2) : Numbers<double>();
  const Numbers<int64_t> target = args.ints(1);
  const int64_t* ignored = node.find<int64_t>(kIgnoreIndex);
  const std::string_view reduction = node.attribute(kReduction);
  Numbers<double> losses(target.size());
  double sum = 0, weight_sum = 0;
  lines.for_each([&](int64_t first, int64_t line) {
    const int64_t label = target[static_cast<size_t>(line)];
    if (ignored && label == *ignored) return;
    if (label < 0 || label >= lines.length) args.fail("class index {} is out of range for {} classes", label, lines.length);
    const double weight = weights.empty() ? 1 : weights[static_cast<size_t>(label)];
    double score = 0;
    widen(dtype, args.input(0).data<char>() + static_cast<size_t>(first + label * lines.inner) * size_of(dtype), 1, &score);
    losses[static_cast<size_t>(line)] = -score * weight;
    sum += losses[static_cast<size_t>(line)];
    weight_sum += weight;
  });
  if (reduction == "none") return args.write(0, losses);
  const double loss = reduction == "sum" ? sum : sum / weight_sum;
  args.write(0, std::span<const double>(&loss, 1));
}

Shapes cross_entropy_shapes(const NodeView& node) { return {nll_shape(node)[0], node.input_sizes(0)}; }

Exprs cross_entropy_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const Expr log_shares = b.op("LogSoftmax", {in[0]}, {{"axis", int64_t{1}}});
  Exprs inputs = in;
  inputs[0] = log_shares;
  return {b.op("NegativeLogLikelihoodLoss", inputs, node.node().attributes), log_shares};
}

constexpr List<AttributeSpec> attributes() {
  return {kReduction, optional(kIgnoreIndex, AttributeKind::integer, MINNOW_DOC("a class index whose samples do not count"))};
}

#if MINNOW_GRADIENTS
/// Gradients of the scores that a loss takes one of for each sample.
struct Chosen {
  Expr target, factor;  // the class, and what its score has times -1: [N, 1, d...]

  explicit Chosen(const GradientContext& c) {
    GraphBuilder& b = c.builder;
    const DType dtype = c.node.input_dtype(0);
    const int64_t* ignored = c.node.find<int64_t>(kIgnoreIndex);
    if (c.wants(2)) c.node.fail("has no gradient of its weights");
    target = cast(c.input(1), DType::i64);
    Expr counts;
    if (ignored) {
      const Expr is_ignored = op("Equal", {target, b.scalar(static_cast<double>(*ignored), DType::i64)});
      counts = select(is_ignored, b.scalar(0, dtype), b.scalar(1, dtype));
      target = select(is_ignored, b.scalar(0, DType::i64), target);
    }
    Expr weight = c.has_input(2) ? b.op("Gather", {c.input(2), target}) : b.scalar(1, dtype);
    if (counts) weight = counts * weight;
    if (!ignored && !c.has_input(2)) weight = b.op("Expand", {weight, b.op("Shape", {target})});
    factor = weight * c.output_gradient(0);
    if (c.node.attribute(kReduction) == "mean") factor = factor / b.op("ReduceSum", {weight}, {{"keepdims", int64_t{0}}});
    const Expr classes = b.constant({int64_t{1}});
    target = b.op("Unsqueeze", {target, classes}), factor = b.op("Unsqueeze", {factor, classes});
  }
  /// `scores` less the factors at the classes.
  Expr taken_from(GraphBuilder& b, const Expr& scores) const {
    return b.op("ScatterElements", {scores, target, -factor}, {{"axis", int64_t{1}}, {"reduction", std::string("add")}});
  }
};

Exprs nll_gradient(const GradientContext& c) {
  Exprs made(c.inputs.size());
  made[0] = Chosen(c).taken_from(c.builder, c.zeros_like(0));
  return made;
}

/// The shares times what all classes have together, less what each has by itself. Both come from one pass over the logarithms of the
/// shares, which the forward pass keeps.
Exprs cross_entropy_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  Expr log_shares = c.knows_shape(0) ? c.kept_output(1, c.node.input_shape(0)) : Expr();
  if (!log_shares) log_shares = b.op("LogSoftmax", {c.input(0)}, {{"axis", int64_t{1}}});
  const Expr g = c.output_gradients.size() > 1 ? c.output_gradient(1) : Expr(), shares = op("Exp", {log_shares});
  Exprs made(c.inputs.size());
  if (c.output_gradient(0)) {
    const Chosen chosen(c);
    made[0] = chosen.taken_from(b, shares * chosen.factor);
  }
  if (g) {
    const Expr of_shares = g - shares * b.op("ReduceSum", {g, b.constant({int64_t{1}})});
    made[0] = made[0] ? made[0] + of_shares : of_shares;
  }
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "NegativeLogLikelihoodLoss",
       .since = 22,
       .doc = MINNOW_DOC("-input[n, target[n, ...], ...] * weight[target[n, ...]] for each sample, summed, averaged, or as it is."),
       .inputs = {{"input", kFloats}, {"target", kIndex}, {.name = "weight", .dtypes = kFloats, .arity = kOptional, .like = "input"}},
       .outputs = {{"loss", same_as("input")}},
       .attributes = attributes(),
       .infer_shapes = nll_shape,
       .reference = nll,
       .gradient = MINNOW_GRADIENT(nll_gradient)},
      {.name = "SoftmaxCrossEntropyLoss",
       .since = 13,
       .doc = MINNOW_DOC("NegativeLogLikelihoodLoss of LogSoftmax(scores) along the classes, which is the second output."),
       .inputs = {{"scores", kFloats}, {"labels", kIndex}, {.name = "weights", .dtypes = kFloats, .arity = kOptional, .like = "scores"}},
       .outputs = {{"output", same_as("scores")}, {"log_prob", same_as("scores"), kOptional}},
       .attributes = attributes(),
       .infer_shapes = cross_entropy_shapes,
       .decompose = cross_entropy_parts,
       .gradient = MINNOW_GRADIENT(cross_entropy_gradient)},
  };
}

}  // namespace

std::span<const Operator> loss_operators() { return operator_table<definitions>(); }

}  // namespace minnow
