// SPDX-License-Identifier: Apache-2.0
#if !MINNOW_SMALL
#include "ops/real_form.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/numeric.h"
#include "graph/activation.h"
#include "graph/quantized_sum.h"
#include "graph/window.h"
#include "ops/quantized.h"

namespace minnow {
namespace {

using Kind = RealEnd::Kind;

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

/// How bytes are quantized, from constants of one element; empty if they are no such constants.
struct Quantum {
  Bytes bytes;
  float scale = 1;
  bool operator==(const Quantum&) const = default;
};
/// `channels`: these may have scales of their own; the quantum has the first one.
std::optional<Quantum> quantum_of(DType dtype, const Tensor* scale, const Tensor* zero, bool channels = false) {
  if (!is_byte(dtype) || !scale || !*scale || scale->dtype() != DType::f32 || (!channels && scale->elements() != 1)) return {};
  Quantum result{{dtype, 0}, *scale->data<float>()};
  if (zero) {
    if (!*zero || zero->elements() != 1 || zero->dtype() != dtype) return {};
    result.bytes.zero_point = dtype == DType::i8 ? int64_t{*zero->data<int8_t>()} : int64_t{*zero->data<uint8_t>()};
  }
  return std::isfinite(result.scale) && result.scale > 0 ? std::optional(result) : std::nullopt;
}
const Tensor* contents_of(const NodeView& node, size_t i) { return node.is_constant(i) ? &node.contents(i) : nullptr; }
std::optional<Quantum> quantum_of(const NodeView& node, DType dtype, size_t scale, size_t zero, bool channels = false) {
  if (!node.has_input(scale)) return {};
  if (!node.has_input(zero)) return quantum_of(dtype, contents_of(node, scale), nullptr, channels);
  const Tensor* const zero_point = contents_of(node, zero);
  return zero_point ? quantum_of(dtype, contents_of(node, scale), zero_point, channels) : std::nullopt;
}

Expr rounded(GraphBuilder& builder, const Expr& x, const Quantum& y) {
  const Expr quotient = builder.op("Div", {x, builder.scalar(double{y.scale})});
  return builder.op("Clip",
                    {builder.op("Round", {quotient}), builder.scalar(double{y.bytes.low()}), builder.scalar(double{y.bytes.high()})});
}
Expr widened(GraphBuilder& builder, const Expr& x, const Quantum& of) { return builder.op("Mul", {x, builder.scalar(double{of.scale})}); }

/// One node for elementwise operators on f32 tensors.
template <class F>
Expr fused(GraphBuilder& builder, const Exprs& inputs, F body_of) {
  auto body = std::make_shared<Graph>();
  GraphBuilder inside(*body);
  Exprs in;
  for (size_t i = 0; i < inputs.size(); ++i) in.push_back(inside.wrap(&body->add_input(i ? "b" : "a", ValueType::tensor(DType::f32))));
  body->add_output(*body_of(inside, in).value());
  return builder.op("minnow.FusedElementwise", inputs, {{"body", Subgraph(std::move(body))}});
}

// Products of weights that are constant. Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias. Without
// y_scale the result is f32 and stays as it is.

/// Whether bytes are made behind a residual, or an activation that products do not round together with.
bool rounds_later(const NodeView& node, const Activation& activation) {
  return !has_real_result(node) && (!activation.joins_rounding() || node.has_input(kResidual));
}
size_t channel_axis(const NodeView& node) { return node.op() == "minnow.QuantizedMatMul" ? node.input_shape(3).rank() - 1 : 0; }
/// The factors of sums, one for each output channel.
Tensor multipliers(const NodeView& node) {
  const int64_t channels = node.input_shape(3)[channel_axis(node)];
  Tensor result(DType::f32, Shape{channels});
  const Tensor& w = node.contents(4);
  const bool real = has_real_result(node) || rounds_later(node, Activation::of(node));
  const auto of_channel = [](const Tensor& scales, int64_t i) { return scales.data<float>()[scales.elements() == 1 ? 0 : i]; };
  for (int64_t i = 0; i < channels; ++i)
    result.writable().data<float>()[i] =
        of_channel(node.contents(1), i) * of_channel(w, i) / (real ? 1 : of_channel(node.contents(kResultScale), i));
  return result;
}

/// The part of the weights that is not zero, at least a hundredth.
double part_that_is_kept(const NodeView& node) {
  const Tensor &w = node.contents(3), &zero = node.contents(5);
  if (std::any_of(zero.data<uint8_t>(), zero.data<uint8_t>() + zero.elements(), [](uint8_t z) { return z != 0; })) return 1;
  const double zeros = static_cast<double>(std::count(w.data<uint8_t>(), w.data<uint8_t>() + w.elements(), uint8_t{0}));
  return std::max(0.01, 1 - zeros / std::max(1.0, static_cast<double>(w.elements())));
}

std::optional<RealEnds> ends_of_product(const NodeView& node) {
  const bool real = has_real_result(node);
  const bool conv = node.op() == "minnow.QuantizedConv", later = rounds_later(node, Activation::of(node));
  const auto x = quantum_of(node, node.input_dtype(0), 1, 2, conv);
  const auto y = real ? x : quantum_of(node, node.output(0).dtype, 6, 7, conv && !later);
  if (!x || !y || !is_byte(node.input_dtype(3))) return {};
  const auto residual = quantum_of(node, node.input_dtype(kResidual), kResidualScale, kResidualZero);
  for (size_t i = 3; i < node.input_count(); ++i)
    if (node.has_input(i) && !node.is_constant(i) && !(i == kResidual && residual)) return {};
  for (size_t i : {4, 5})  // along the output channels
    if (node.input_shape(i).elements() != 1 && node.input_shape(i).rank() != 1) return {};
  const Tensor factors = multipliers(node);
  if (!std::all_of(factors.data<float>(), factors.data<float>() + factors.elements(), [](float f) { return std::isfinite(f); })) return {};
  RealEnds ends;
  ends.inputs.resize(node.input_count());
  ends.inputs[0] = {Kind::bytes, x->bytes};
  if (residual) ends.inputs[kResidual] = {Kind::bytes, residual->bytes};
  if (!real) ends.output = {Kind::bytes, y->bytes};
  const Shape& w = node.input_shape(3);
  ends.saving = std::max(w.product(2, w.rank()) > 1 ? 5 : 1.3, 1 / part_that_is_kept(node));
  return ends;
}
/// The image in the order of its channels from which a first layer's Transpose made x; else empty. As in passes/fuse_products.cpp.
Expr image_of(const NodeView& node, GraphBuilder& builder, const Expr& x) {
  const Node* const maker = x.value()->producer();
  const Ints* const perm = maker && maker->op() == "Transpose" ? maker->attributes.get<Ints>("perm") : nullptr;
  const Shape& w = node.input_shape(3);
  if (!perm || !(*perm == Ints{0, 3, 1, 2} || *perm == Ints{0, 2, 1}) || w[1] > 4 || node.input_shape(0)[1] != w[1]) return {};
  return builder.wrap(maker->input(0));
}

/// One number for each output channel, where there may be one for all.
Tensor wide(const Tensor& numbers, int64_t channels) {
  if (numbers.elements() != 1) return numbers;
  Tensor result(numbers.dtype(), Shape{channels});
  std::fill_n(result.writable().data<uint8_t>(), channels, *numbers.data<uint8_t>());
  return result;
}
// The sums of f32 are those of integers as long as these are below 2^24. A result in f32 has weights and a bias that are multiplied
// beforehand.
Expr product(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Activation activation = Activation::of(node);
  const bool is_matmul = node.op() == "minnow.QuantizedMatMul", later = rounds_later(node, activation),
             real = has_real_result(node) || later;
  Attributes attributes = node.node().attributes;
  const Tensor factors = multipliers(node);
  Tensor steps = factors;
  Expr zero = inputs[5], scale;
  if (real) {
    zero = builder.constant(wide(node.contents(5), factors.elements()));
  } else {
    const Bytes y = quantum_of(node, node.output(0).dtype, 6, 7, true)->bytes;
    const float low = activation.kind == Activation::Kind::relu ? std::max(y.low(), 0.0f) : y.low();
    Activation::named("Clip", low, y.high())->write(attributes);
    steps = Tensor(DType::f32, node.input_shape(5));
    std::fill_n(steps.writable().data<float>(), steps.elements(), 1.0f);
    scale = builder.constant(factors);
  }
  const Attributes along{{"axis", static_cast<int64_t>(channel_axis(node))}};
  const Expr w = builder.op("DequantizeLinear", {inputs[3], builder.constant(steps), zero}, along);
  w.value()->type.dtype = DType::f32;
  Expr bias;
  if (node.has_input(8)) bias = node.input_dtype(8) == DType::f32 ? inputs[8] : cast(inputs[8], DType::f32);
  if (bias && real) bias = bias * builder.constant(factors);
  const Expr image = is_matmul ? Expr() : image_of(node, builder, inputs[0]);
  if (image) attributes.set(kChannelsLast.name, int64_t{1});
  if (later)
    for (const std::string_view name : {kActivation.name, kActivationAlpha.name, kActivationBeta.name}) attributes.remove(name);
  const Expr y = builder.op(is_matmul ? "minnow.FusedMatMul" : "minnow.FusedConv", {image ? image : inputs[0], w, bias, {}, scale},
                            std::move(attributes));
  if (!later) return y;
  const bool adds = node.has_input(kResidual);
  return fused(builder, adds ? Exprs{y, inputs[kResidual]} : Exprs{y}, [&](GraphBuilder& inside, const Exprs& in) {
    const Expr sum =
        adds ? in[0] + widened(inside, in[1], *quantum_of(node, node.input_dtype(kResidual), kResidualScale, kResidualZero)) : in[0];
    return rounded(inside, activation.apply(sum), *quantum_of(node, node.output(0).dtype, 6, 7));
  });
}

std::optional<RealEnds> ends_of_quantize(const NodeView& node) {
  const auto y = quantum_of(node, node.output(0).dtype, 1, 2);
  if (!y || node.input_dtype(0) != DType::f32) return {};
  RealEnds ends;
  ends.inputs.resize(node.input_count());
  ends.output = {Kind::bytes, y->bytes};
  return ends;
}
Expr quantize(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  return fused(builder, {inputs[0]}, [&](GraphBuilder& inside, const Exprs& in) {
    return rounded(inside, in[0], *quantum_of(node, node.output(0).dtype, 1, 2));
  });
}

std::optional<RealEnds> ends_of_dequantize(const NodeView& node) {
  const auto x = quantum_of(node, node.input_dtype(0), 1, 2);
  if (!x || node.output(0).dtype != DType::f32) return {};
  RealEnds ends;
  ends.inputs.resize(node.input_count());
  ends.inputs[0] = {Kind::bytes, x->bytes};
  return ends;
}
Expr dequantize(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  return widened(builder, inputs[0], *quantum_of(node, node.input_dtype(0), 1, 2));
}

std::optional<RealEnds> ends_of_sum(const NodeView& node) {
  const QuantizedSum sum = QuantizedSum::of(node);
  const auto end = [&](size_t i) { return RealEnd{Kind::bytes, {node.output(0).dtype, sum.zero[i]}}; };
  return RealEnds{{end(0), end(1)}, end(2)};
}
Expr add(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  QuantizedSum sum = QuantizedSum::of(node);
  sum.zero[0] = sum.zero[1] = 0;
  return fused(builder, inputs, [&](GraphBuilder& inside, const Exprs& in) {
    const double low = sum.low - sum.zero[2], high = sum.high - sum.zero[2];
    return inside.op("Clip", {sum.steps(inside, in[0], in[1]), inside.scalar(low), inside.scalar(high)});
  });
}

// Elementwise nodes in a body that begins with DequantizeLinear and may end with QuantizeLinear.

const Graph* body_of(const NodeView& node) {
  const Subgraph* body = node.node().attributes.get<Subgraph>("body");
  return body ? body->get() : nullptr;
}
std::optional<Quantum> quantum_in_body(const Node& inner, DType dtype) {
  const Value *scale = inner.input(1), *zero = inner.input(2);
  if (!scale || (zero && !zero->constant())) return {};
  return quantum_of(dtype, scale->constant(), zero ? zero->constant() : nullptr);
}
std::optional<Quantum> quantum_of_result(const NodeView& node, const Graph& body) {
  const Node* const last = body.outputs()[0]->producer();
  return last && last->op() == "QuantizeLinear" ? quantum_in_body(*last, node.output(0).dtype) : std::nullopt;
}

std::optional<RealEnds> ends_of_body(const NodeView& node) {
  const Graph* const body = body_of(node);
  if (!body) return {};
  RealEnds ends;
  bool has_bytes = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    ends.inputs.emplace_back();
    if (!is_byte(node.input_dtype(i))) continue;
    has_bytes = true;
    for (const Use& use : body->inputs()[i]->uses()) {
      if (use.node->op() != "DequantizeLinear" || use.input != 0) return {};
      const auto quantum = quantum_in_body(*use.node, node.input_dtype(i));
      if (!quantum || (ends.inputs[i].kind == Kind::bytes && ends.inputs[i].bytes != quantum->bytes)) return {};
      ends.inputs[i] = {Kind::bytes, quantum->bytes};
    }
  }
  if (is_byte(node.output(0).dtype)) {
    const auto quantum = quantum_of_result(node, *body);
    if (!quantum) return {};
    has_bytes = true;
    ends.output = {Kind::bytes, quantum->bytes};
  }
  return has_bytes ? std::optional(ends) : std::nullopt;
}

Expr body_on_reals(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Graph& body = *body_of(node);
  auto reals = std::make_shared<Graph>();
  GraphBuilder inside(*reals);
  std::unordered_map<const Value*, Expr> made;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = is_byte(node.input_dtype(i)) ? DType::f32 : node.input_dtype(i);
    made[body.inputs()[i].get()] = inside.wrap(&reals->add_input(body.inputs()[i]->name(), ValueType::tensor(dtype)));
  }
  for (const Node& inner : body.nodes()) {
    Expr& result = made[inner.output(0)];
    if (inner.op() == "DequantizeLinear") {
      const Value* const zero = inner.input(2);
      result = widened(inside, made.at(inner.input(0)), *quantum_in_body(inner, zero ? zero->constant()->dtype() : DType::u8));
    } else if (inner.op() == "QuantizeLinear") {
      result = rounded(inside, made.at(inner.input(0)), *quantum_of_result(node, body));
    } else {
      Exprs arguments;
      for (size_t i = 0; i < inner.input_count(); ++i) {
        const Value* const value = inner.input(i);
        arguments.push_back(!value ? Expr() : value->constant() ? inside.constant(*value->constant()) : made.at(value));
      }
      result = inside.op(inner.op(), arguments, inner.attributes);
      result.value()->type = inner.output(0)->type;
    }
  }
  Value* const result = made.at(body.outputs()[0]).value();
  if (result->is_input())
    for (size_t i = 0; i < inputs.size(); ++i)
      if (reals->inputs()[i].get() == result) return inputs[i];
  reals->add_output(*result);
  return builder.op(node.op(), inputs, {{"body", Subgraph(std::move(reals))}});
}

// Nodes that move bytes. Bytes beside the data (a value that fills, for example) have no scale of their own.

std::optional<RealEnds> ends_of_move(const NodeView& node) {
  const Operator* const op = node.definition();
  if (!op || op->elements == Elements::computed || op->inputs.empty() || node.input_count() == 0 || node.output_count() == 0) return {};
  const size_t data = op->inputs.back().arity == Arity::variadic ? node.input_count() : 1;
  if (!node.has_output(0) || !is_byte(node.output(0).dtype)) return {};
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.has_output(i)) return {};
  RealEnds ends;
  for (size_t i = 0; i < node.input_count(); ++i) {
    ends.inputs.push_back({i < data ? Kind::as_others : Kind::itself, {}});
    if (i < data ? node.input_dtype(i) != node.output(0).dtype : is_byte(node.input_dtype(i))) return {};
  }
  ends.output.kind = Kind::as_others;
  return ends;
}
Expr move(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  return builder.op(node.op(), inputs, node.node().attributes);
}

// Bytes are padded with their zero point.

std::optional<RealEnds> ends_of_pad(const NodeView& node) {
  const DType dtype = node.output(0).dtype;
  const Tensor* const value = node.has_input(2) ? contents_of(node, 2) : nullptr;
  if (!is_byte(dtype) || node.input_dtype(0) != dtype || !value || value->elements() != 1 ||
      node.attribute(Attribute<Name>{"mode", "constant"}) != "constant")
    return {};
  const Bytes bytes{dtype, dtype == DType::i8 ? int64_t{*value->data<int8_t>()} : int64_t{*value->data<uint8_t>()}};
  RealEnds ends;
  ends.inputs.resize(node.input_count());
  ends.inputs[0] = ends.output = {Kind::bytes, bytes};
  return ends;
}
Expr pad(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  Exprs reals = inputs;
  reals[2] = builder.scalar(0);
  return builder.op("Pad", reals, node.node().attributes);
}

struct Form {
  std::string_view op;
  std::optional<RealEnds> (*ends)(const NodeView&);
  Expr (*reals)(const NodeView&, GraphBuilder&, const Exprs& inputs);
};
constexpr Form kForms[] = {
    {"QLinearConv", ends_of_product, product},
    {"minnow.QuantizedConv", ends_of_product, product},
    {"minnow.QuantizedMatMul", ends_of_product, product},
    {"QuantizeLinear", ends_of_quantize, quantize},
    {"DequantizeLinear", ends_of_dequantize, dequantize},
    {"minnow.FusedElementwise", ends_of_body, body_on_reals},
    {"minnow.QuantizedAdd", ends_of_sum, add},
    {"Pad", ends_of_pad, pad},
};
constexpr Form kMove{{}, ends_of_move, move};

const Form& form_of(const NodeView& node) {
  const Form* const found = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& form) { return form.op == node.op(); });
  return found == std::end(kForms) ? kMove : *found;
}

Expr converted(std::string_view name, const Expr& x, const Bytes& bytes, DType dtype) {
  GraphBuilder& builder = x.builder();
  Tensor zero(bytes.dtype, Shape{});
  *static_cast<uint8_t*>(zero.writable().data()) = static_cast<uint8_t>(bytes.zero_point);
  const Expr y = builder.op(name, {x, builder.scalar(1), builder.constant(zero)});
  y.value()->type.dtype = dtype;
  return y;
}

}  // namespace

float Bytes::low() const { return static_cast<float>(lowest_of(dtype) - zero_point); }
float Bytes::high() const { return static_cast<float>(highest_of(dtype) - zero_point); }

Expr as_reals(const Expr& x, const Bytes& bytes) { return converted("DequantizeLinear", x, bytes, DType::f32); }
Expr as_bytes(const Expr& x, const Bytes& bytes) { return converted("QuantizeLinear", x, bytes, bytes.dtype); }

std::optional<RealEnds> real_ends(const NodeView& node) { return form_of(node).ends(node); }
Expr real_form(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) { return form_of(node).reals(node, builder, inputs); }

}  // namespace minnow
#endif
