// SPDX-License-Identifier: Apache-2.0
// Losses. python/minnow/nn/_losses.py has the same, with their sources.
#include <cmath>
#include <numbers>

#include "train/nn/ops.h"

namespace minnow::nn {
namespace {

Var reduced(const Var& losses, const std::string& reduction) {
  if (reduction == "none") return losses;
  if (reduction != "mean" && reduction != "sum") throw InvalidArgument("a reduction is mean, sum or none, not \"{}\"", reduction);
  return op(reduction == "mean" ? "ReduceMean" : "ReduceSum", {losses}, {{"keepdims", int64_t{0}}});
}
Var sum(const Var& x, int64_t axis, bool keep = false) {
  return op("ReduceSum", {x, ints({axis})}, {{"keepdims", static_cast<int64_t>(keep)}});
}
Var equal(const Var& a, double b) { return op("Equal", {a, like(b, a)}); }
Var relu(const Var& x) { return op("Relu", {x}); }

void needs(const Vars& x, size_t least, size_t most) {
  if (x.size() < least || x.size() > most) throw InvalidArgument("the loss takes {} inputs, {} are given", least, x.size());
}

/// Input and target, which have one shape and dtype.
std::pair<Var, Var> pair(const Vars& x, size_t count = 2) {
  needs(x, count, count);
  const auto a = x[0].known_shape(), b = x[1].known_shape();
  if (a && b && b->rank() > 0 && !(*a == *b)) throw InvalidArgument("the target has the input's shape {}, it has {}", *a, *b);
  return {x[0], x[1].dtype() == x[0].dtype() ? x[1] : x[1].astype(x[0].dtype())};
}

bool is_float(const Var& x) {
  return x.dtype() == DType::f32 || x.dtype() == DType::f64 || x.dtype() == DType::f16 || x.dtype() == DType::bf16;
}
Var classes_of(const Var& x) { return x.dtype() == DType::i64 || x.dtype() == DType::i32 ? x : x.astype(DType::i64); }

/// Scores [N, C, ...] and targets; one sample [C] becomes a batch of one.
Vars batch_of(const Vars& x) {
  needs(x, 2, 2);
  if (x[0].rank() > 1) return x;
  return {op("Unsqueeze", {x[0], ints({0})}), op("Unsqueeze", {x[1], ints({0})})};
}

/// The p-norm along an axis, whose gradient is 0 where it is 0.
Var norm(const Var& x, double p, int64_t axis, bool keep = false) {
  if (p == 1) return op("ReduceL1", {x, ints({axis})}, {{"keepdims", static_cast<int64_t>(keep)}});
  if (p != 2) return op("Pow", {sum(op("Pow", {op("Abs", {x}), like(p, x)}), axis, keep), like(1 / p, x)});
  const Var squares = sum(x * x, axis, keep), is_zero = equal(squares, 0);
  return where(is_zero, squares, op("Sqrt", {where(is_zero, squares + 1, squares)}));
}
Var unit(const Var& x) { return x / op("Max", {norm(x, 2, -1, true), like(1e-12, x)}); }

Var along_classes(const Var& weight, const Var& x) {
  std::vector<int64_t> shape(x.rank(), 1);
  shape[1] = -1;
  return op("Reshape", {weight, ints(shape)});
}

Var with_weight(const Var& losses, const LossOptions& o) { return o.weight.has_value() ? losses * o.weight : losses; }

}  // namespace

Loss::Loss(Function function, LossOptions options) : function_(function), options_(std::move(options)) {
  if (options_.weight.has_value()) options_.weight = buffer("weight", options_.weight.tensor());
  if (options_.pos_weight.has_value()) options_.pos_weight = buffer("pos_weight", options_.pos_weight.tensor());
}

Var cross_entropy(const Vars& given, const LossOptions& o) {
  const Vars x = batch_of(given);
  const Var& scores = x[0];
  const double smoothing = o.label_smoothing, classes = static_cast<double>(size_of(scores, 1));
  if (!(smoothing >= 0 && smoothing <= 1)) throw InvalidArgument("label_smoothing is between 0 and 1, it is {}", smoothing);
  if (is_float(x[1])) {
    const auto [input, shares_given] = pair(x);
    const Var target = smoothing > 0 ? shares_given * (1 - smoothing) + smoothing / classes : shares_given,
              shares = op("LogSoftmax", {input}, {{"axis", int64_t{1}}});
    const Var parts = shares * target;
    return reduced(-sum(o.weight.has_value() ? parts * along_classes(o.weight, input) : parts, 1), o.reduction);
  }
  Vars inputs{scores, classes_of(x[1])};
  if (o.weight.has_value()) inputs.push_back(o.weight);
  const Vars made =
      expr::ops("SoftmaxCrossEntropyLoss", inputs, smoothing > 0 ? 2 : 1, {{"ignore_index", o.ignore_index}, {"reduction", o.reduction}});
  if (smoothing == 0) return made[0];
  const Var counted = op("Not", {equal(inputs[1], static_cast<double>(o.ignore_index))});
  const Var losses = where(counted, -sum(o.weight.has_value() ? made[1] * along_classes(o.weight, scores) : made[1], 1), 0);
  Var smooth = o.reduction == "mean" ? reduced(losses, "sum") : reduced(losses, o.reduction);
  if (o.reduction == "mean") {
    const Var each = o.weight.has_value() ? op("Gather", {o.weight, where(counted, inputs[1], 0)}) : like(1, scores);
    smooth = smooth / reduced(where(counted, each + losses * 0, 0), "sum");
  }
  return made[0] * (1 - smoothing) + smooth * (smoothing / classes);
}

Var nll_loss(const Vars& given, const LossOptions& o) {
  const Vars x = batch_of(given);
  Vars inputs{x[0], classes_of(x[1])};
  if (o.weight.has_value()) inputs.push_back(o.weight);
  return op("NegativeLogLikelihoodLoss", inputs, {{"ignore_index", o.ignore_index}, {"reduction", o.reduction}});
}

Var binary_cross_entropy(const Vars& x, const LossOptions& o) {
  const auto [p, t] = pair(x);
  const Var least = like(-100, p);
  const Var losses = -(t * op("Max", {op("Log", {p}), least}) + (1 - t) * op("Max", {op("Log", {1 - p}), least}));
  return reduced(with_weight(losses, o), o.reduction);
}

Var binary_cross_entropy_with_logits(const Vars& x, const LossOptions& o) {
  const auto [s, t] = pair(x);
  const Var positive = op("Softplus", {-s});
  return reduced(with_weight((1 - t) * s + (o.pos_weight.has_value() ? (1 + (o.pos_weight - 1) * t) * positive : positive), o),
                 o.reduction);
}

Var focal_loss(const Vars& x, const LossOptions& o) {
  const auto [s, t] = pair(x);
  const double alpha = o.alpha.value_or(0.25);
  const Var p = op("Sigmoid", {s}), right = p * t + (1 - p) * (1 - t);
  const Var losses = binary_cross_entropy_with_logits({s, t}, {.reduction = "none"}) * op("Pow", {1 - right, like(o.gamma.value_or(2), s)});
  return reduced(alpha < 0 ? losses : losses * (alpha * t + (1 - alpha) * (1 - t)), o.reduction);
}

Var dice_loss(const Vars& x, const LossOptions& o) {
  const auto [p, t] = pair(x);
  std::vector<int64_t> axes;
  for (size_t i = 1; i < p.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  const auto total = [&](const Var& of) { return op("ReduceSum", {of, ints(axes)}, {{"keepdims", int64_t{0}}}); };
  const double smooth = o.smooth.value_or(1);
  return reduced(1 - (2 * total(p * t) + smooth) / (total(p) + total(t) + smooth), o.reduction);
}

Var multi_margin_loss(const Vars& x, const LossOptions& o) {
  needs(x, 2, 2);
  const Var target = op("Unsqueeze", {classes_of(x[1]), ints({1})});
  const int64_t classes = size_of(x[0], 1);
  const double p = o.p.value_or(1);
  if (p != 1 && p != 2) throw InvalidArgument("p is 1 or 2, it is {}", p);
  Var losses = relu(o.margin.value_or(1) - op("GatherElements", {x[0], target}, {{"axis", int64_t{1}}}) + x[0]);
  if (p == 2) losses = losses * losses;
  if (o.weight.has_value()) losses = losses * op("Gather", {o.weight, target});
  std::vector<int64_t> all(static_cast<size_t>(classes));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const Var others = op("Not", {op("Equal", {target.astype(DType::i64), ints(all)})});
  return reduced(sum(where(others, losses, 0), 1) / static_cast<double>(classes), o.reduction);
}

Var soft_margin_loss(const Vars& x, const LossOptions& o) {
  const auto [s, t] = pair(x);
  return reduced(op("Softplus", {-(t * s)}), o.reduction);
}

Var hinge_loss(const Vars& x, const LossOptions& o) {
  const auto [s, t] = pair(x);
  return reduced(relu(o.margin.value_or(1) - t * s), o.reduction);
}

Var hinge_embedding_loss(const Vars& x, const LossOptions& o) {
  const auto [s, t] = pair(x);
  return reduced(where(equal(t, 1), s, relu(o.margin.value_or(1) - s)), o.reduction);
}

Var mse_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x);
  const Var error = a - b;
  return reduced(error * error, o.reduction);
}

Var l1_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x);
  return reduced(op("Abs", {a - b}), o.reduction);
}

Var huber_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x);
  const double delta = o.delta.value_or(1);
  if (!(delta > 0)) throw InvalidArgument("delta is positive, it is {}", delta);
  const Var error = op("Abs", {a - b}), inner = op("Min", {error, like(delta, a)});
  return reduced(inner * (error - 0.5 * inner), o.reduction);
}

Var smooth_l1_loss(const Vars& x, const LossOptions& o) {
  const double beta = o.beta.value_or(1);
  if (!(beta >= 0)) throw InvalidArgument("beta is not negative, it is {}", beta);
  return beta == 0 ? l1_loss(x, o) : huber_loss(x, {.reduction = o.reduction, .delta = beta}) / beta;
}

Var log_cosh_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x);
  const Var error = a - b;
  return reduced(error + op("Softplus", {-2 * error}) - std::numbers::ln2, o.reduction);
}

Var kl_div(const Vars& x, const LossOptions& o) {
  const auto [s, t] = pair(x);
  Var losses;
  if (o.log_target) {
    losses = op("Exp", {t}) * (t - s);
  } else {
    const Var positive = op("Greater", {t, like(0, t)});
    losses = where(positive, t * op("Log", {where(positive, t, 1)}), 0) - t * s;
  }
  return o.reduction == "batchmean" ? reduced(losses, "sum") / static_cast<double>(size_of(s, 0)) : reduced(losses, o.reduction);
}

Var gaussian_nll_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x, 3);
  Var variance = x[2].rank() + 1 == a.rank() ? op("Unsqueeze", {x[2], ints({-1})}) : x[2];
  variance = variance + op("minnow.StopGradient", {relu(o.eps.value_or(1e-6) - variance)});
  const Var losses = 0.5 * (op("Log", {variance}) + (a - b) * (a - b) / variance);
  return reduced(o.full ? losses + 0.5 * std::log(2 * std::numbers::pi) : losses, o.reduction);
}

Var poisson_nll_loss(const Vars& x, const LossOptions& o) {
  const auto [s, t] = pair(x);
  Var losses = o.log_input ? op("Exp", {s}) - t * s : s - t * op("Log", {s + o.eps.value_or(1e-8)});
  if (o.full) {
    const Var large = op("Greater", {t, like(1, t)}), safe = where(large, t, 1);
    losses = losses + where(large, safe * op("Log", {safe}) - safe + 0.5 * op("Log", {2 * std::numbers::pi * safe}), 0);
  }
  return reduced(losses, o.reduction);
}

Var distillation_loss(const Vars& x, const LossOptions& o) {
  needs(x, 2, 3);
  const double t = o.temperature.value_or(4), alpha = o.alpha.value_or(0.9);
  const auto shares = [&](const Var& of) { return op("LogSoftmax", {of / t}, {{"axis", int64_t{1}}}); };
  const Var soft =
      kl_div({shares(x[0]), shares(op("minnow.StopGradient", {x[1]}))}, {.reduction = "batchmean", .log_target = true}) * (t * t);
  return x.size() == 2 ? soft : alpha * soft + (1 - alpha) * cross_entropy({x[0], x[2]});
}

Var triplet_margin_loss(const Vars& x, const LossOptions& o) {
  needs(x, 3, 3);
  const auto distance = [&](const Var& a, const Var& b) { return norm(a - b + o.eps.value_or(1e-6), o.p.value_or(2), -1); };
  Var to_negative = distance(x[0], x[2]);
  if (o.swap) to_negative = op("Min", {to_negative, distance(x[1], x[2])});
  return reduced(relu(o.margin.value_or(1) + distance(x[0], x[1]) - to_negative), o.reduction);
}

Var margin_ranking_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x, 3);
  return reduced(relu(o.margin.value_or(0) - x[2].astype(a.dtype()) * (a - b)), o.reduction);
}

Var cosine_embedding_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x, 3);
  constexpr double kTiny = 1e-12;  // added to squares, as torch does
  const Var cosine = sum(a * b, -1) / op("Sqrt", {(sum(a * a, -1) + kTiny) * (sum(b * b, -1) + kTiny)});
  return reduced(where(equal(x[2], 1), 1 - cosine, relu(cosine - o.margin.value_or(0))), o.reduction);
}

Var info_nce_loss(const Vars& x, const LossOptions& o) {
  const auto [a, b] = pair(x);
  std::vector<int64_t> own(static_cast<size_t>(size_of(a, 0)));
  for (size_t i = 0; i < own.size(); ++i) own[i] = static_cast<int64_t>(i);
  return cross_entropy({op("MatMul", {unit(a), op("Transpose", {unit(b)})}) / o.temperature.value_or(0.1), ints(own)},
                       {.reduction = o.reduction});
}

}  // namespace minnow::nn
