// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear -> convolution or product (-> Relu) -> QuantizeLinear becomes one operator on integers, minnow.QuantizedConv or
// minnow.QuantizedMatMul, so that tensors and weights stay bytes in memory and on disk. Where no QuantizeLinear follows, which is certain
// when all other passes have moved theirs, the operator has a result in f32.
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "graph/activation.h"
#include "graph/window.h"
#include "passes/quantization.h"

namespace minnow {
namespace {

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

class IslandGatherer {
 public:
  IslandGatherer(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes())
      if (node.op() == "QuantizeLinear") gather(node);
  }
  void run_dequantized() {
    for (Node& node : graph_.nodes())
      if (node.output(0) && (is_conv(node) || is_matmul(node))) gather_real(node);
  }

 private:
  struct Product {
    Node* product = nullptr;  // Conv, MatMul, Gemm, or fused
    bool relu = false, transposes_w = false;
    Quantization x, w;
    std::optional<Quantization> y;  // empty: f32
    Value *x_values = nullptr, *w_values = nullptr, *bias = nullptr;
  };

  static bool is_conv(const Node& node) { return node.op() == "Conv" || node.op() == "minnow.FusedConv"; }
  static bool is_matmul(const Node& node) { return node.op() == "MatMul" || node.op() == "Gemm" || node.op() == "minnow.FusedMatMul"; }

  void gather(Node& quantize) {
    Product found;
    const auto y = Quantization::of(&quantize);
    if (!y || !y->is_per_tensor() || !y->has_positive_scale() || !is_byte(y->dtype)) return;
    found.y = y;
    Value* result = quantize.input(0);
    if (sole_user(*result) != &quantize || !result->producer()) return;
    if (const std::string& op = result->producer()->op(); op == "Relu" || op == "Clip") {
      Node& activation = *result->producer();
      if (!take_activation(activation, found)) return;
      result = activation.input(0);
      if (!result || sole_user(*result) != &activation) return;
    }
    found.product = result->producer();
    if (!found.product || &found.product->graph() != &graph_) return;
    const std::string& op = found.product->op();
    if (op != "Conv" && op != "MatMul" && op != "Gemm") return;
    if (take_factors(found) && take_bias(found)) compute_with_integers(found, quantize);
  }

  /// A product with constant weights, and an activation that integer kernels apply.
  void gather_real(Node& product) {
    Product found;
    found.product = &product;
    const std::string_view activation = text_attribute(product, kActivation.name);
    if (!activation.empty() && activation != "Relu" && activation != "Clip") return;
    if (product.input(3) || product.input(kScale) || int_attribute(product, kChannelsLast.name, 0)) return;
    if (!take_factors(found) || !found.x.scale_number() || !found.x.zero_point_number()) return;
    for (const Value* each : {found.w_values, found.w.scale, found.w.zero_point})
      if (each && !each->constant()) return;
    if (!is_conv(product) && rank_of(*found.w_values) != size_t{2}) return;
    if (take_bias(found)) compute_with_integers(found, product);
  }

  /// `last`: the node whose result the operator on integers has.
  void compute_with_integers(Product& found, Node& last) {
    if (found.transposes_w) {  // the integer product takes B as it stands in the formula; a constant is transposed by another pass
      Node& transposed = graph_.add_node("Transpose", {found.w_values}, 1, {{"perm", Ints{1, 0}}}, {}, &last);
      infer_node(context_, transposed);
      found.w_values = transposed.output(0);
    }
    const bool conv = is_conv(*found.product);
    Attributes attributes = found.product->attributes;
    for (const std::string_view name : {"alpha", "beta", "transA", "transB"}) attributes.remove(name);  // of products
    if (found.relu) attributes.set(kActivation.name, std::string("Relu"));
    context_.changed("{} and what stands around it compute with integers", label_of(*found.product));
    const std::vector<Value*> inputs{found.x_values,
                                     found.x.scale,
                                     &found.x.zero_point_value(graph_),
                                     found.w_values,
                                     found.w.scale,
                                     &found.w.zero_point_value(graph_),
                                     found.y ? found.y->scale : nullptr,
                                     found.y ? &found.y->zero_point_value(graph_) : nullptr,
                                     found.bias};
    replace(*last.output(0), conv ? "minnow.QuantizedConv" : "minnow.QuantizedMatMul", inputs, std::move(attributes),
            found.product->name());
    remove_dead(last);
  }

  /// Absorbs Relu, and a Clip whose bounds are 0 or those of the quantization.
  static bool take_activation(const Node& node, Product& found) {
    if (node.op() == "Relu") return found.relu = true;
    const auto scale = found.y->scale_number();
    const auto zero = found.y->zero_point_number();
    const auto low = scalar_of(node.input(1)), high = scalar_of(node.input(2));
    if (!scale || *scale <= 0 || !zero || (node.input(1) && !low) || (node.input(2) && !high)) return false;
    const auto quantized = [&](double bound) { return std::nearbyint(bound / *scale) + static_cast<double>(*zero); };
    if (high && quantized(*high) < static_cast<double>(highest_of(found.y->dtype))) return false;
    if (!low || quantized(*low) <= static_cast<double>(lowest_of(found.y->dtype))) return true;
    return found.relu = *low == 0;
  }

  bool take_factors(Product& found) {
    Node& product = *found.product;
    const Node *x_maker = made_by(product.input(0), "DequantizeLinear"), *w_maker = made_by(product.input(1), "DequantizeLinear");
    const auto x = Quantization::of(x_maker), w = Quantization::of(w_maker);
    if (!x || !w || !x->is_per_tensor() || !is_byte(x->dtype) || !is_byte(w->dtype)) return false;
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

  /// The bias in units of x_scale * w_scale: its stored integers, else real numbers, rounded once.
  bool take_bias(Product& found) {
    Value* bias = found.product->input(2);
    if (!bias) return true;
    const auto x_scale = found.x.scale_number();
    const auto w_scales = reals_of(found.w.scale);
    if (!x_scale || !w_scales) return false;
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
    const Shape& shape = (integers ? integers : bias)->constant()->shape();
    if (shape.rank() != 1 || !has_columns(found, shape[0])) return false;
    bool same = integers != nullptr;
    std::vector<double> wanted(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t count = values.size();
      if ((own_scales.size() != 1 && own_scales.size() != count) || (w_scales->size() != 1 && w_scales->size() != count)) return false;
      const double own = own_scales[own_scales.size() == 1 ? 0 : i], unit = *x_scale * (*w_scales)[w_scales->size() == 1 ? 0 : i];
      if (!(unit > 0)) return false;
      if (std::fabs(own - unit) > 1e-6 * unit) same = false;
      wanted[i] = static_cast<double>(static_cast<float>(values[i] * own) / static_cast<float>(unit));
      if (!(std::fabs(wanted[i]) < 0x40000000)) return false;
    }
    found.bias = same ? integers : &add_reals(graph_, DType::f32, shape, wanted, graph_.fresh_name(bias->name()));
    return true;
  }
  /// The quantized operators broadcast no bias.
  static bool has_columns(const Product& found, int64_t count) {
    const auto& dims = found.w_values->type.dims;
    if (!dims) return false;
    const Dim& columns = found.transposes_w || is_conv(*found.product) ? dims->front() : dims->back();
    return columns.known() && columns.size == count;
  }
  static bool is_zero(const Value& constant) {
    const auto elements = *reals_of(&constant);
    for (double element : elements)
      if (element != 0) return false;
    return true;
  }

  Graph& graph_;
  PassContext& context_;
};

}  // namespace

void fuse_quantized(Graph& graph, PassContext& context) { IslandGatherer(graph, context).run(); }
void fuse_dequantized(Graph& graph, PassContext& context) { IslandGatherer(graph, context).run_dequantized(); }

}  // namespace minnow
