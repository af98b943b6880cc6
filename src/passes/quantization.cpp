// SPDX-License-Identifier: Apache-2.0
#include "passes/quantization.h"

#include <algorithm>
#include <cstring>

namespace minnow {
namespace {

bool same_value(const Value* a, const Value* b) {
  if (a == b) return true;
  if (!a || !b || !a->constant() || !b->constant()) return false;
  const Tensor &p = *a->constant(), &q = *b->constant();
  // [] and [1] both mean one scale for all.
  return p.dtype() == q.dtype() && (p.shape() == q.shape() || (p.elements() == 1 && q.elements() == 1)) &&
         (p.bytes() == 0 || std::memcmp(p.data(), q.data(), p.bytes()) == 0);
}

}  // namespace

std::optional<Quantization> Quantization::of(const Node* node) {
  if (!node || !node->input(0) || !node->input(1) || !node->output(0)) return {};
  const bool quantizes = node->op() == "QuantizeLinear";
  if (!quantizes && node->op() != "DequantizeLinear") return {};
  if (int_attribute(*node, "block_size", 0) != 0) return {};
  Quantization q;
  q.scale = node->input(1);
  q.zero_point = node->input(2);
  q.dtype = quantizes ? node->output(0)->type.dtype : node->input(0)->type.dtype;
  q.axis = int_attribute(*node, "axis", 1);
  const Value& real = quantizes ? *node->input(0) : *node->output(0);
  if (q.scale->type.dtype != DType::f32 || real.type.dtype != DType::f32 || !is_integer(q.dtype)) return {};
  return q;
}

bool Quantization::is_per_tensor() const {
  if (scale->constant()) return scale->constant()->elements() == 1;
  return scale->type.is_static() && scale->type.shape().elements() == 1;
}

bool Quantization::is_along(size_t wanted, const Value& quantized) const {
  const auto rank = rank_of(quantized);
  return rank && positive_axis(axis, *rank) == wanted && scale->constant() && scale->constant()->shape().rank() == 1 && zero_point_number();
}

bool Quantization::has_positive_scale() const {
  const auto scales = reals_of(scale);
  return !scales || std::all_of(scales->begin(), scales->end(), [](double each) { return each > 0; });
}

std::optional<double> Quantization::scale_number() const { return scalar_of(scale); }

std::optional<int64_t> Quantization::zero_point_number() const {
  if (!zero_point) return 0;
  const auto zeros = reals_of(zero_point);
  if (!zeros || zeros->empty() || std::any_of(zeros->begin(), zeros->end(), [&](double each) { return each != zeros->front(); })) return {};
  return static_cast<int64_t>(zeros->front());
}

bool Quantization::same_as(const Quantization& other) const {
  if (dtype != other.dtype || !same_value(scale, other.scale) || (!is_per_tensor() && axis != other.axis)) return false;
  if (zero_point && other.zero_point) return same_value(zero_point, other.zero_point);
  return zero_point_number() == 0 && other.zero_point_number() == 0;
}

Value& Quantization::zero_point_value(Graph& graph) const {
  return zero_point ? *zero_point : graph.add_constant(Tensor(dtype, Shape{}), graph.fresh_name("zero_point"));
}

bool pads_with_zeros(const Node& node) {
  return node.op() == "Pad" && text_attribute(node, "mode", "constant") == "constant" &&
         (!node.input(2) || scalar_of(node.input(2)) == 0.0);
}

}  // namespace minnow
