// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized_product.h"

#include <cmath>
#include <utility>

#include "graph/activation.h"

namespace minnow {
namespace {

bool is_depthwise(const Node& product, const Value& w) {
  const auto& dims = w.type.dims;
  return is_conv(product) && dims && dims->size() > 2 && (*dims)[0].known() && (*dims)[1].known() && (*dims)[1].size == 1 &&
         int_attribute(product, "group", 1) == (*dims)[0].size;
}

/// A number for each of the channels, or one for all.
double at(const std::vector<double>& numbers, size_t channel) { return numbers[numbers.size() == 1 ? 0 : channel]; }

bool take_factors(QuantizedProduct& found) {
  const Node& product = *found.product;
  const Node *x_maker = made_by(product.input(0), "DequantizeLinear"), *w_maker = made_by(product.input(1), "DequantizeLinear");
  const auto x = Quantization::of(x_maker), w = Quantization::of(w_maker);
  if (!x || !w || !is_byte(x->dtype) || !is_byte(w->dtype)) return false;
  if (!x->is_per_tensor() && !(is_depthwise(product, *w_maker->input(0)) && x->is_along(1, *x_maker->input(0)))) return false;
  if (!x->has_positive_scale() || !w->has_positive_scale()) return false;
  found.x = *x, found.w = *w;
  found.x_values = x_maker->input(0), found.w_values = w_maker->input(0);
  const auto rank = rank_of(*found.w_values);
  if (!rank || *rank < 2) return false;
  const auto axis = w->is_per_tensor() ? std::optional<size_t>(0) : positive_axis(w->axis, *rank);
  if (!axis || (!w->is_per_tensor() && (rank_of(*w->scale) != size_t{1} || (w->zero_point && rank_of(*w->zero_point) != size_t{1}))))
    return false;
  if (is_conv(product)) return w->is_per_tensor() || *axis == 0;
  size_t columns = *rank - 1;
  if (product.op() != "MatMul") {
    if (real_attribute(product, "alpha", 1) != 1 || int_attribute(product, "transA", 0) != 0) return false;
    if (product.input(2) && real_attribute(product, "beta", 1) != 1) return false;
    if (int_attribute(product, "transB", 0) != 0) {
      if (*rank != 2) return false;
      columns = 0;
      if (!w->is_per_tensor() && *axis != columns) return false;
      found.transposes_w = true;
    }
  }
  return w->is_per_tensor() || *axis == columns;
}

/// The quantized operators broadcast no bias.
bool has_columns(const QuantizedProduct& found, int64_t count) {
  const auto& dims = found.w_values->type.dims;
  if (!dims) return false;
  const Dim& columns = found.transposes_w || is_conv(*found.product) ? dims->front() : dims->back();
  return columns.known() && columns.size == count;
}
bool is_zero(const Value& constant) {
  const auto elements = *reals_of(&constant);
  for (double element : elements)
    if (element != 0) return false;
  return true;
}

bool take_bias(Graph& graph, QuantizedProduct& found) {
  Value* bias = found.added ? found.added : found.product->input(2);
  if (!bias) return true;
  const auto x_scales = reals_of(found.x.scale), w_scales = reals_of(found.w.scale);
  if (!x_scales || !w_scales) return false;
  std::vector<double> values;
  Value* integers = nullptr;
  std::vector<double> own_scales;
  if (const Node* maker = made_by(bias, "DequantizeLinear")) {
    const auto q = Quantization::of(maker);
    if (!q || q->dtype != DType::i32 || !maker->input(0)->constant() || !q->scale->constant()) return false;
    if (q->zero_point && (!q->zero_point->constant() || !is_zero(*q->zero_point))) return false;
    integers = maker->input(0);
    values = *reals_of(integers);
    own_scales = *reals_of(q->scale);
  } else if (bias->constant() && is_float(bias->type.dtype)) {
    values = *reals_of(bias);
    own_scales = {1};
  } else {
    return false;
  }
  const Shape& stored = (integers ? integers : bias)->constant()->shape();
  const Shape shape = {static_cast<int64_t>(values.size())};
  if (stored.rank() == 0 || stored.back() != shape[0] || (stored.rank() != 1 && !found.added) || !has_columns(found, shape[0]))
    return false;
  bool same = integers != nullptr && stored.rank() == 1;
  std::vector<double> wanted(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t count = values.size();
    for (const std::vector<double>* scales : {&std::as_const(own_scales), &*x_scales, &*w_scales})
      if (scales->size() != 1 && scales->size() != count) return false;
    const double own = at(own_scales, i), unit = at(*x_scales, i) * at(*w_scales, i);
    if (!(unit > 0)) return false;
    if (std::fabs(own - unit) > 1e-6 * unit) same = false;
    wanted[i] = static_cast<double>(static_cast<float>(values[i] * own) / static_cast<float>(unit));
    if (!(std::fabs(wanted[i]) < 0x40000000)) return false;
  }
  found.bias = same ? integers : &add_reals(graph, DType::f32, shape, wanted, graph.fresh_name(bias->name()));
  return true;
}

/// The zero point that all channels of an activation share.
Value& one_zero_point(Graph& graph, const Quantization& of) {
  if (of.is_per_tensor()) return of.zero_point_value(graph);
  Tensor zero(of.dtype, {});
  *zero.writable().data<uint8_t>() = static_cast<uint8_t>(*of.zero_point_number());
  return graph.add_constant(zero);
}

}  // namespace

std::string refusal_of_quantized_attention(const Node& attention) {
  for (size_t i = 4; i < attention.input_count(); ++i)
    if (attention.input(i)) return "it has a cache of keys";
  for (size_t i = 1; i < attention.output_count(); ++i)
    if (attention.output(i) && !attention.output(i)->is_unused()) return "its keys or scores are wanted";
  if (real_attribute(attention, "softcap", 0) != 0) return "its scores are capped";
  if (attention.attributes.find("softmax_precision")) return "its softmax has a precision of its own";
  if (const Value* mask = attention.input(3); mask && mask->type.dtype != DType::f32 && mask->type.dtype != DType::boolean)
    return "its mask is neither f32 nor bool";
  return {};
}

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool take_inputs(Graph& graph, QuantizedProduct& found) { return take_factors(found) && take_bias(graph, found); }

void compute_with_integers(Graph& graph, PassContext& context, QuantizedProduct& found, Node& last) {
  if (found.transposes_w) {  // the integer product takes B as it stands in the formula; a constant is transposed by another pass
    Node& transposed = graph.add_node("Transpose", {found.w_values}, 1, {{"perm", Ints{1, 0}}}, {}, &last);
    infer_node(context, transposed);
    found.w_values = transposed.output(0);
  }
  const bool conv = is_conv(*found.product);
  Attributes attributes = found.product->attributes;
  for (const std::string_view name : {"alpha", "beta", "transA", "transB"}) attributes.remove(name);  // of products
  found.activation.write(attributes);
  context.changed("{} and what stands around it compute with integers", label_of(*found.product));
  std::vector<Value*> inputs{found.x_values,
                             found.x.scale,
                             &one_zero_point(graph, found.x),
                             found.w_values,
                             found.w.scale,
                             &found.w.zero_point_value(graph),
                             found.y ? found.y->scale : nullptr,
                             found.y ? &one_zero_point(graph, *found.y) : nullptr,
                             found.bias};
  if (found.residual) inputs.insert(inputs.end(), {found.residual_values, found.residual->scale, &found.residual->zero_point_value(graph)});
  replace(*last.output(0), conv ? "minnow.QuantizedConv" : "minnow.QuantizedMatMul", inputs, std::move(attributes), found.product->name());
  remove_dead(last);
}

}  // namespace minnow
