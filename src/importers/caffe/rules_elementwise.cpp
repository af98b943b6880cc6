// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "importers/caffe/rules.h"

#include "importers/builder/arithmetic.h"

namespace minnow::caffe {
namespace {

const Message& first_of(const CaffeLayer& layer, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (layer.layer.message.has(name)) return layer.parameters(name);
  return layer.parameters("");
}

}  // namespace

Exprs import_unary(CaffeLayer& layer, TypedBuilder& p) {
  if (layer.layer.type == "BNLL" || layer.layer.type == "Softplus") return {p.op("Softplus", {layer.bottom()})};
  const std::string_view type = layer.layer.type;
  return {p.op(find_rule(type)->target, {layer.bottom()})};
}

Exprs import_identity(CaffeLayer& layer, TypedBuilder&) { return {layer.bottom()}; }
Exprs import_dropout(CaffeLayer& layer, TypedBuilder& p) {
  return {p.op("Dropout", {layer.bottom(), p.scalar(layer.parameters("dropout_param").real("dropout_ratio", 0.5))})};
}

Exprs import_relu(CaffeLayer& layer, TypedBuilder& p) {
  const double slope = layer.parameters("relu_param").real("negative_slope", 0);
  if (slope == 0) return {p.op("Relu", {layer.bottom()})};
  return {p.op("LeakyRelu", {layer.bottom()}, {{"alpha", static_cast<float>(slope)}})};
}
Exprs import_relu6(CaffeLayer& layer, TypedBuilder& p) {
  return {clip(p, layer.bottom(), 0, layer.parameters("relu6_param").real("threshold", 6))};
}
Exprs import_elu(CaffeLayer& layer, TypedBuilder& p) {
  return {p.op("Elu", {layer.bottom()}, {{"alpha", static_cast<float>(layer.parameters("elu_param").real("alpha", 1))}})};
}
Exprs import_clip(CaffeLayer& layer, TypedBuilder& p) {
  const Message& range = layer.parameters("clip_param");
  if (!range.has("min") || !range.has("max")) layer.fail("has no min and max");
  return {clip(p, layer.bottom(), range.real("min", 0), range.real("max", 0))};
}
Exprs import_swish(CaffeLayer& layer, TypedBuilder& p) {
  const Expr x = layer.bottom();
  const double beta = layer.parameters("swish_param").real("beta", 1);
  const Expr inner = beta == 1 ? x : p.op("Mul", {x, p.scalar(beta)});
  return {p.op("Mul", {x, p.op("Sigmoid", {inner})})};
}
Exprs import_hard_sigmoid(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = first_of(layer, {"hard_sigmoid_param", "hsigmoid_param"});
  const float alpha = static_cast<float>(parameters.real("alpha", layer.layer.type == "HSigmoid" ? 1.0 / 6 : 0.2));
  return {p.op("HardSigmoid", {layer.bottom()}, {{"alpha", alpha}, {"beta", static_cast<float>(parameters.real("beta", 0.5))}})};
}
Exprs import_threshold(CaffeLayer& layer, TypedBuilder& p) {
  const Expr above = p.op("Greater", {layer.bottom(), p.scalar(layer.parameters("threshold_param").real("threshold", 0))});
  return {p.cast(above, DType::f32)};
}

Exprs import_prelu(CaffeLayer& layer, TypedBuilder& p) {
  const bool shared = layer.parameters("prelu_param").flag("channel_shared", false);
  const Expr slope = layer.weights(0, {shared ? 1 : p.dim(layer.bottom(), 1)});
  return {p.op("PRelu", {layer.bottom(), shared ? slope : layer.along(slope, 1)})};
}

namespace {

/// base^(scale x + shift), and its inverse: base -1 is e.
double log_of_base(const CaffeLayer& layer, const Message& parameters) {
  const double base = parameters.real("base", -1);
  if (base != -1 && !(base > 0)) layer.fail("base {} is not positive", base);
  return base == -1 ? 1 : std::log(base);
}
Expr scaled(TypedBuilder& p, const Expr& x, double scale, double shift) {
  const Expr y = scale == 1 ? x : p.op("Mul", {x, p.scalar(scale)});
  return shift == 0 ? y : p.op("Add", {y, p.scalar(shift)});
}

}  // namespace

Exprs import_exp(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("exp_param");
  const double base = log_of_base(layer, parameters);
  return {p.op("Exp", {scaled(p, layer.bottom(), parameters.real("scale", 1) * base, parameters.real("shift", 0) * base)})};
}
Exprs import_log(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("log_param");
  const Expr y = p.op("Log", {scaled(p, layer.bottom(), parameters.real("scale", 1), parameters.real("shift", 0))});
  return {scaled(p, y, 1 / log_of_base(layer, parameters), 0)};
}
Exprs import_power(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("power_param");
  const double power = parameters.real("power", 1);
  const Expr x = scaled(p, layer.bottom(), parameters.real("scale", 1), parameters.real("shift", 0));
  return {power == 1 ? x : p.op("Pow", {x, p.scalar(power)})};
}

Exprs import_eltwise(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("eltwise_param");
  const int64_t operation = parameters.choice("operation", {"PROD", "SUM", "MAX"}, 1);
  const std::vector<double> factors = parameters.reals("coeff");
  if (layer.bottoms.empty()) layer.fail("has no bottoms");
  if (!factors.empty() && factors.size() != layer.bottoms.size())
    layer.fail("has {} factors for {} bottoms", factors.size(), layer.bottoms.size());
  Expr y;
  for (size_t i = 0; i < layer.bottoms.size(); ++i) {
    const Expr x = operation == 1 && !factors.empty() ? scaled(p, layer.bottoms[i], factors[i], 0) : layer.bottoms[i];
    y = !y ? x : p.op(operation == 0 ? "Mul" : operation == 1 ? "Add" : "Max", {y, x});
  }
  return {y};
}

Exprs import_axpy(CaffeLayer& layer, TypedBuilder& p) {
  // a x + y; a has one number per channel.
  const Expr a = p.rank(layer.bottom(0)) == 2 ? p.unsqueeze(layer.bottom(0), {2, 3}) : layer.bottom(0);
  return {p.op("Add", {p.op("Mul", {a, layer.bottom(1)}), layer.bottom(2)})};
}

Exprs import_batch_norm(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("batch_norm_param");
  const double eps = parameters.real("eps", 1e-5);
  const Expr x = layer.bottom();
  const int64_t channels = static_cast<int64_t>(layer.blob(0).values.size());
  std::vector<double> mean(layer.blob(0).values.begin(), layer.blob(0).values.end()),
      variance(layer.blob(1).values.begin(), layer.blob(1).values.end());
  if (p.dim(x, 1) >= 0 && p.dim(x, 1) != channels) layer.fail("has statistics of {} channels for {}", channels, p.dim(x, 1));
  if (variance.size() != mean.size()) layer.fail("has {} means and {} variances", mean.size(), variance.size());
  std::vector<double> scale(mean.size(), 1), bias(mean.size(), 0);
  if (layer.blob_count() == 5 || layer.blob_count() == 4) {
    // A fork that keeps scale and bias in the layer.
    const size_t first = layer.blob_count() - 2;
    scale.assign(layer.blob(first).values.begin(), layer.blob(first).values.end());
    bias.assign(layer.blob(first + 1).values.begin(), layer.blob(first + 1).values.end());
    if (scale.size() != mean.size() || bias.size() != mean.size()) layer.fail("has {} scales for {} channels", scale.size(), mean.size());
  }
  if (layer.blob_count() == 3 || layer.blob_count() == 5) {
    if (layer.blob(2).values.empty()) layer.fail("has no factor of its statistics");
    const double factor = static_cast<double>(layer.blob(2).values[0]);
    for (double& value : mean) value = factor == 0 ? 0 : value / factor;
    for (double& value : variance) value = factor == 0 ? 0 : value / factor;
  }
  const auto vector = [&](const std::vector<double>& values) { return p.reals({channels}, values); };
  return {
      p.op("BatchNormalization", {x, vector(scale), vector(bias), vector(mean), vector(variance)}, {{"epsilon", static_cast<float>(eps)}})};
}

Exprs import_bn(CaffeLayer& layer, TypedBuilder& p) {
  // SegNet's BN layer: scale and shift, with the statistics folded in.
  const int64_t channels = p.dim(layer.bottom(), 1);
  const Expr y = p.op("Mul", {layer.bottom(), layer.along(layer.weights(0, {channels}), 1)});
  return {p.op("Add", {y, layer.along(layer.weights(1, {channels}), 1)})};
}

namespace {

/// Sizes of `count` dimensions of bottom 0 from `axis` on, in one number of elements that the blob must have.
Expr factor_of(CaffeLayer& layer, TypedBuilder& p, size_t blob, int64_t axis, int64_t count) {
  Ints shape;
  for (int64_t i = 0; i < count; ++i) shape.push_back(p.dim(layer.bottom(), axis + i));
  int64_t open = 0;
  for (int64_t size : shape) open += size < 0;
  if (open > 1) layer.refuse("a scale over dimensions of unknown size is not supported");
  return layer.along(layer.weights(blob, shape), axis);
}

int64_t count_of(CaffeLayer& layer, const Message& parameters, int64_t axis) {
  const int64_t count = parameters.integer("num_axes", 1);
  if (count < -1 || count > layer.rank() - axis) layer.fail("num_axes {} does not fit", count);
  return count < 0 ? layer.rank() - axis : count;
}

}  // namespace

Exprs import_scale(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("scale_param");
  const int64_t axis = layer.axis(parameters.integer("axis", 1));
  const bool given = layer.bottoms.size() > 1;
  const int64_t count = given ? p.rank(layer.bottom(1)) : count_of(layer, parameters, axis);
  const Expr factor = given ? layer.along(layer.bottom(1), axis) : factor_of(layer, p, 0, axis, count);
  Expr y = p.op("Mul", {layer.bottom(), factor});
  if (parameters.flag("bias_term", false)) y = p.op("Add", {y, factor_of(layer, p, given ? 0 : 1, axis, count)});
  return {y};
}

Exprs import_bias(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("bias_param");
  const int64_t axis = layer.axis(parameters.integer("axis", 1));
  const Expr bias =
      layer.bottoms.size() > 1 ? layer.along(layer.bottom(1), axis) : factor_of(layer, p, 0, axis, count_of(layer, parameters, axis));
  return {p.op("Add", {layer.bottom(), bias})};
}

}  // namespace minnow::caffe
