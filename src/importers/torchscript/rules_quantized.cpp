// SPDX-License-Identifier: Apache-2.0
// Quantized tensors and modules: DequantizeLinear -> operator -> QuantizeLinear.
#include <algorithm>
#include <cmath>

#include "importers/builder/arithmetic.h"
#include "importers/torchscript/pickle.h"
#include "importers/torchscript/rules.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

namespace {

struct Scales {
  Expr scale, zero;
};
Scales scales_of(TypedBuilder& p, const Quantization& quantization, DType type) {
  Scales made;
  if (quantization.scales.empty()) {
    made.scale = p.scalar(quantization.scale);
    made.zero = p.scalar(static_cast<double>(quantization.zero), type);
  } else {
    const int64_t count = static_cast<int64_t>(quantization.scales.size());
    made.scale = p.reals({count}, quantization.scales);
    made.zero = p.cast(p.constant(quantization.zeros), type);
  }
  return made;
}

/// True for averages. They are computed from stored numbers less the zero point, so that ties round to even.
bool works_in_steps(const Call& call, const Quantization& quantization) {
  return quantization.scales.empty() && call.rule.op.find("avg_pool") != std::string_view::npos;
}
Scales scales_for(Call& call, const Quantization& quantization, DType type) {
  Scales made = scales_of(call.p, quantization, type);
  if (works_in_steps(call, quantization)) made.scale = call.p.scalar(1);
  return made;
}

Item quantized(Call& call, const Expr& x, std::shared_ptr<const Quantization> quantization, DType type) {
  TypedBuilder& p = call.p;
  const Scales scales = scales_for(call, *quantization, type);
  Attributes attributes;
  if (!quantization->scales.empty()) attributes.set("axis", quantization->axis);
  Item made = Item::tensor(p.op("QuantizeLinear", {x, scales.scale, scales.zero}, std::move(attributes)));
  made.as_tensor().quantization = std::move(quantization);
  return made;
}

double number_in(Call& call, std::string_view name) {
  const Item& item = call[name];
  if (item.is_known()) return item.real();
  if (item.is(Kind::tensor))
    if (const auto number = call.p.number(call.host.expr(item))) return *number;
  call.refuse("{} is not known", name);
}

/// The result of an operator that names its own scale.
Item with_scale(Call& call, const Expr& x, std::string_view scale, std::string_view zero, DType type = DType::u8) {
  auto quantization = std::make_shared<Quantization>();
  quantization->scale = number_in(call, scale);
  quantization->zero = static_cast<int64_t>(number_in(call, zero));
  if (!(quantization->scale > 0)) call.fail("a scale of {}", quantization->scale);
  return quantized(call, x, std::move(quantization), type);
}

/// Weights that were packed: their tensors and settings.
struct Packed {
  Item weight, bias;
  const InstanceObject* object = nullptr;
};
Packed packed_of(Call& call, const Item& item) {
  Packed made;
  if (!item.is(Kind::instance)) call.refuse("its weights are {}", describe(item));
  made.object = &item.as_instance();
  if (const Item* weight = made.object->find("weight")) {
    made.weight = *weight;
    if (const Item* bias = made.object->find("bias")) made.bias = *bias;
  } else if (made.object->state.is(Kind::tuple) && made.object->state.as_tuple().items.size() == 2) {
    made.weight = made.object->state.as_tuple().items[0];
    made.bias = made.object->state.as_tuple().items[1];
  } else {
    call.refuse("weights packed as {} are not supported", made.object->class_name);
  }
  if (!made.weight.is(Kind::tensor)) call.refuse("its weights are {}", describe(made.weight));
  if (!made.bias.is(Kind::tensor) && !made.bias.is_none()) call.refuse("its bias is {}", describe(made.bias));
  return made;
}
Packed packed_of(Call& call) { return packed_of(call, call["packed"]); }
Ints setting(Call& call, const Packed& packed, std::string_view name) {
  const Item* item = packed.object->find(name);
  Ints made;
  if (item && item->is(Kind::list))
    for (const Item& one : item->as_list().items) made.push_back(one.integer());
  else if (item && item->is_known())
    made.push_back(item->integer());
  else
    call.fail("its weights lack \"{}\"", name);
  return made;
}

/// The bias as added by the engine for which the weights were packed; the file does not name it. QNNPACK, whose weights have one scale,
/// rounds the bias to integers in units of x's scale * that scale; FBGEMM, with a scale per channel, does not.
Expr bias_of(Call& call, const Packed& packed) {
  if (packed.bias.is_none()) return {};
  TypedBuilder& p = call.p;
  const Expr bias = call.host.expr(packed.bias);
  const auto &x = call["qx"].as_tensor().quantization, &w = packed.weight.as_tensor().quantization;
  const Tensor* values = bias.value()->constant();
  if (!values || values->dtype() != DType::f32 || !x || !w || !x->scales.empty() || !w->scales.empty()) return bias;
  const float unit = static_cast<float>(x->scale) * static_cast<float>(w->scale);
  if (!(unit > 0)) return bias;
  Ints integers;
  for (int64_t i = 0; i < values->elements(); ++i) {
    const float steps = std::nearbyint(values->data<float>()[i] / unit);
    if (!(std::fabs(steps) < 0x40000000)) return bias;
    integers.push_back(static_cast<int64_t>(steps));
  }
  return p.op("DequantizeLinear", {p.cast(p.constant(integers), DType::i32), p.scalar(static_cast<double>(unit))});
}

}  // namespace

Expr dequantized(Call& call, const Item& item) {
  const Expr x = call.host.expr(item);
  if (!item.as_tensor().quantization) return x;
  const Quantization& quantization = *item.as_tensor().quantization;
  const Scales scales = scales_for(call, quantization, call.p.dtype(x));
  Attributes attributes;
  if (!quantization.scales.empty()) attributes.set("axis", quantization.axis);
  return call.p.op("DequantizeLinear", {x, scales.scale, scales.zero}, std::move(attributes));
}

Item requantized(Call& call, const Item& result, const Item& like) {
  if (!result.is(Kind::tensor) || result.as_tensor().quantization) return result;
  const Expr x = call.host.expr(result);
  if (!is_floating(call.p.dtype(x))) return result;
  std::shared_ptr<const Quantization> quantization = like.as_tensor().quantization;
  // Functions with a range of their own have a scale of their own.
  const std::string_view op = call.rule.op;
  const bool positive = op == "aten::sigmoid" || op == "aten::hardsigmoid" || op == "aten::softmax", both = op == "aten::tanh";
  if (positive || both) {
    auto own = std::make_shared<Quantization>();
    own->scale = positive ? 1.0 / 256 : 2.0 / 256;
    own->zero = positive ? 0 : 128;
    quantization = std::move(own);
  }
  return quantized(call, x, std::move(quantization), call.p.dtype(call.host.expr(like)));
}

Item import_quantize(Call& call, TypedBuilder&) {
  const DType type = call.type("dtype", DType::u8);
  return with_scale(call, call.x("self"), "scale", "zero_point", type);
}
Item import_quantize_channels(Call& call, TypedBuilder& p) {
  auto quantization = std::make_shared<Quantization>();
  const auto zeros = p.ints(call.x("zero_points"));
  const Tensor* scales = call.x("scales").value()->constant();
  if (!zeros || !scales || (scales->dtype() != DType::f32 && scales->dtype() != DType::f64) ||
      scales->elements() != static_cast<int64_t>(zeros->size()))
    call.refuse("scales that are not constant");
  for (int64_t i = 0; i < scales->elements(); ++i)
    quantization->scales.push_back(scales->dtype() == DType::f32 ? static_cast<double>(scales->data<float>()[i])
                                                                 : scales->data<double>()[i]);
  quantization->zeros = *zeros;
  quantization->axis = call.integer("axis");
  return quantized(call, call.x("self"), std::move(quantization), call.type("dtype", DType::i8));
}
Item import_dequantize(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  if (!x.is(Kind::list)) return dequantized(call, x);
  Items items;
  for (const Item& item : call.items("self")) items.push_back(Item(dequantized(call, item)));
  return Item::list(std::move(items));
}
Item import_quantization_fact(Call& call, TypedBuilder&) {
  const auto& quantization = call["self"].as_tensor().quantization;
  if (!quantization || !quantization->scales.empty()) call.refuse("the tensor has no scale of its own");
  return call.rule.target == "scale" ? Item::real(quantization->scale) : Item::integer(quantization->zero);
}
Item import_int_repr(Call& call, TypedBuilder&) { return Item::tensor(call.host.expr(call["self"])); }

Item import_prepack(Call& call, TypedBuilder&) {
  auto made = std::make_shared<InstanceObject>();
  made->class_name = std::string(call.rule.op);
  for (size_t i = 0; i < call.arguments.size(); ++i) made->attributes.emplace_back(call.signature.arguments[i].name, call.arguments[i]);
  return Item::object(Kind::instance, std::move(made));
}
Item import_unpack(Call& call, TypedBuilder&) {
  const Packed packed = packed_of(call);
  return Item::tuple({packed.weight, packed.bias});
}

Item import_quantized_conv(Call& call, TypedBuilder& p) {
  const Packed packed = packed_of(call);
  const Expr w = dequantized(call, packed.weight), x = dequantized(call, call["qx"]);
  const int64_t rank = call.rank(w);
  const Ints groups = setting(call, packed, "groups");
  Ints pads = setting(call, packed, "padding");
  if (rank < 3) call.fail("weights of {} dimensions are not valid", rank);
  if (groups.size() != 1 || pads.empty()) call.fail("has no groups or padding");
  Attributes attributes{
      {"strides", setting(call, packed, "stride")}, {"group", groups[0]}, {"dilations", setting(call, packed, "dilation")}};
  pads.resize(static_cast<size_t>(rank) - 2, pads[0]);
  const Ints once = pads;
  pads.insert(pads.end(), once.begin(), once.end());
  attributes.set("pads", pads);
  Expr y = p.op("Conv", {x, w, bias_of(call, packed)}, std::move(attributes));
  if (call.rule.target == "relu") y = p.op("Relu", {y});
  return with_scale(call, y, "output_scale", "output_zero_point", p.dtype(call.host.expr(call["qx"])));
}
Item import_quantized_linear(Call& call, TypedBuilder& p) {
  const Packed packed = packed_of(call);
  const Expr w = dequantized(call, packed.weight), x = dequantized(call, call["qx"]);
  Expr y = p.op("MatMul", {x, p.transpose(w, {1, 0})});
  if (const Expr bias = bias_of(call, packed)) y = p.op("Add", {y, bias});
  if (call.rule.target == "relu") y = p.op("Relu", {y});
  return with_scale(call, y, "output_scale", "output_zero_point", p.dtype(call.host.expr(call["qx"])));
}

namespace {

/// x rounded as a dynamically quantized operator sees it: to 8 bits of its range, or 7 with reduce_range.
Expr rounded_to_range(Call& call, const Expr& x, bool reduce_range) {
  TypedBuilder& p = call.p;
  const Expr zero = p.scalar(0), most = p.scalar(reduce_range ? 127 : 255);
  const Expr low = p.op("Min", {p.op("ReduceMin", {x}, {{"keepdims", int64_t{0}}}), zero});
  const Expr high = p.op("Max", {p.op("ReduceMax", {x}, {{"keepdims", int64_t{0}}}), zero});
  const Expr range = p.op("Sub", {high, low});
  const Expr scale = p.op("Where", {p.op("Equal", {range, zero}), p.scalar(1), p.op("Div", {range, most})});
  const Expr zero_point = clip(p, p.op("Round", {p.op("Div", {p.op("Neg", {low}), scale})}), 0, reduce_range ? 127 : 255);
  const Expr steps = p.op("Add", {p.op("Round", {p.op("Div", {x, scale})}), zero_point});
  const Expr inside = clip(p, steps, 0, reduce_range ? 127 : 255);
  return p.op("Mul", {p.op("Sub", {inside, zero_point}), scale});
}

}  // namespace

Item import_dynamic_linear(Call& call, TypedBuilder& p) {
  const Packed packed = packed_of(call);
  const Expr x = rounded_to_range(call, call.x("x"), call.flag("reduce_range"));
  Expr y = p.op("MatMul", {x, p.transpose(dequantized(call, packed.weight), {1, 0})});
  if (!packed.bias.is_none()) y = p.op("Add", {y, call.host.expr(packed.bias)});
  return call.rule.target == "relu" ? p.op("Relu", {y}) : y;
}
namespace {

Item& argument(Call& call, std::string_view name) {
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (call.signature.arguments[i].name == name) return call.arguments[i];
  call.fail("has no {}", name);
}
void warn_of_states(Call& call) {
  call.host.warn("inputs and states of dynamically quantized recurrent layers are computed in f32, not rounded to 8 bits");
}

}  // namespace

Item import_quantized_recurrent(Call& call, TypedBuilder& p) {
  // A cell's object: its kind, biases, numbers, and packed weights of the input and the state, which have the biases, too.
  Items weights;
  for (const Item& cell : call.items("params")) {
    const Items* parts =
        cell.is(Kind::instance) && cell.as_instance().state.is(Kind::tuple) ? &cell.as_instance().state.as_tuple().items : nullptr;
    if (!parts || parts->size() != 5 || !(*parts)[0].is(Kind::text)) call.refuse("its weights are {}", describe(cell));
    if ((*parts)[0].text() != "quantized_dynamic")
      call.refuse("weights packed as \"{}\" are not supported", (*parts)[0].text().substr(0, 100));
    const Item& both = (*parts)[4];
    if (!both.is(Kind::list) || both.as_list().items.size() != 2) call.fail("its weights are not valid");
    Items biases;
    for (const Item& one : both.as_list().items) {
      const Packed packed = packed_of(call, one);
      weights.push_back(call.host.keep(Item(dequantized(call, packed.weight))));
      biases.push_back(packed.bias);
    }
    if (call.flag("has_biases")) weights.insert(weights.end(), biases.begin(), biases.end());
  }
  argument(call, "params") = call.host.keep(Item::list(std::move(weights)));
  warn_of_states(call);
  return import_recurrent(call, p);
}
Item import_quantized_recurrent_cell(Call& call, TypedBuilder& p) {
  // The biases packed with the weights count; the arguments are those with which the cell was constructed.
  for (const auto& [name, bias] : {std::pair("w_ih", "b_ih"), std::pair("w_hh", "b_hh")}) {
    const Packed packed = packed_of(call, call[name]);
    argument(call, name) = call.host.keep(Item(dequantized(call, packed.weight)));
    argument(call, bias) = packed.bias;
  }
  if (call["b_ih"].is_none() != call["b_hh"].is_none()) call.refuse("one bias of two");
  warn_of_states(call);
  return import_recurrent_cell(call, p);
}
Item import_quantized_binary(Call& call, TypedBuilder& p) {
  const std::string_view what = call.rule.target;  // Add, Mul, AddRelu, MulRelu
  Expr y = p.op(what.substr(0, 3), {dequantized(call, call["qa"]), dequantized(call, call["qb"])});
  if (what.size() > 3) y = p.op("Relu", {y});
  return with_scale(call, y, "scale", "zero_point", p.dtype(call.host.expr(call["qa"])));
}
Item import_quantized_cat(Call& call, TypedBuilder& p) {
  Exprs parts;
  const Items& items = call.items("qx");
  for (const Item& item : items) parts.push_back(dequantized(call, item));
  if (parts.empty()) call.fail("nothing is joined");
  Expr y = p.concat(parts, call.integer("dim"));
  if (call.rule.target == "relu") y = p.op("Relu", {y});
  if (!call.has("scale")) return quantized(call, y, items[0].as_tensor().quantization, p.dtype(call.host.expr(items[0])));
  return with_scale(call, y, "scale", "zero_point", p.dtype(call.host.expr(items[0])));
}
Item import_quantized_batch_norm(Call& call, TypedBuilder& p) {
  Expr y = p.op("BatchNormalization", {dequantized(call, call["qx"]), call.x("weight"), call.x("bias"), call.x("mean"), call.x("var")},
                {{"epsilon", static_cast<float>(call.real("eps"))}});
  if (call.rule.target == "relu") y = p.op("Relu", {y});
  return with_scale(call, y, "output_scale", "output_zero_point", p.dtype(call.host.expr(call["qx"])));
}
Item import_quantized_activation(Call& call, TypedBuilder& p) {
  const Expr x = dequantized(call, call["qx"]);
  const std::string_view op = call.rule.target;
  Attributes attributes;
  if (op == "LeakyRelu") attributes.set("alpha", static_cast<float>(call.real("negative_slope")));
  if (op == "Elu") attributes.set("alpha", static_cast<float>(call.real("alpha")));
  return with_scale(call, p.op(op, {x}, std::move(attributes)), "output_scale", "output_zero_point", p.dtype(call.host.expr(call["qx"])));
}
Item import_quantized_relu6(Call& call, TypedBuilder& p) {
  return requantized(call, Item(clip(p, dequantized(call, call["qx"]), 0, 6)), call["qx"]);
}
Item import_quantized_layer_norm(Call& call, TypedBuilder& p) {
  const int64_t axes = static_cast<int64_t>(call.items("normalized_shape").size());
  Exprs inputs = {dequantized(call, call["qx"]),
                  call.has("weight") ? call.x("weight") : p.fill(call.vector("normalized_shape"), 1, DType::f32)};
  if (call.has("bias")) inputs.push_back(call.x("bias"));
  const Expr y = p.op("LayerNormalization", inputs, {{"axis", -axes}, {"epsilon", static_cast<float>(call.real("eps"))}});
  return with_scale(call, y, "output_scale", "output_zero_point", p.dtype(call.host.expr(call["qx"])));
}

}  // namespace minnow::torchscript
