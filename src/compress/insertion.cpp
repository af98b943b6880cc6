// SPDX-License-Identifier: Apache-2.0
#include "compress/insertion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "compress/palette.h"
#include "ops/recurrent.h"
#include "ops/storage_dtype.h"

namespace minnow::compress {
namespace {

Tensor integers_of(DType dtype, const Shape& shape, std::span<const double> values) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::u8) tensor.writable().data<uint8_t>()[i] = static_cast<uint8_t>(values[i]);
    if (dtype == DType::i8) tensor.writable().data<int8_t>()[i] = static_cast<int8_t>(values[i]);
    if (dtype == DType::i32) tensor.writable().data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  return tensor;
}

class Inserter {
 public:
  explicit Inserter(Graph& graph) : graph_(graph) {}

  void quantize(Value& value, const Quantizer& quantizer, Value& scale, Value& zero) {
    Node* before = value.producer() ? value.producer()->next() : graph_.first();
    const DType dtype = quantizer.grid.lowest < 0 ? DType::i8 : DType::u8;
    Attributes along;
    if (!quantizer.scales.empty()) along.set("axis", int64_t{1});
    Node& to = add("QuantizeLinear", {&value, &scale, &zero}, value.name() + "_quantized", before, along);
    to.output(0)->type = value.type;
    to.output(0)->type.dtype = dtype;
    Node& from = add("DequantizeLinear", {to.output(0), &scale, &zero}, value.name() + "_dequantized", before, std::move(along));
    from.output(0)->type = value.type;
    if (value.is_input())
      value.replace_all_uses_with(*from.output(0));
    else
      take_place_of(value, *from.output(0));
    to.set_input(0, &value);
  }

  Value& scale_of(const Quantizer& quantizer, const std::string& stem) {
    const Shape shape = shape_of(quantizer);
    return graph_.add_constant(shape.rank() ? Tensor::of_f32(shape, quantizer.scales) : Tensor::scalar_f32(quantizer.scale),
                               stem + "_scale");
  }
  Value& zero_of(const Quantizer& quantizer, const std::string& stem) {
    const std::vector<double> zeros(std::max<size_t>(1, quantizer.scales.size()), quantizer.zero);
    return graph_.add_constant(integers_of(quantizer.grid.lowest < 0 ? DType::i8 : DType::u8, shape_of(quantizer), zeros),
                               stem + "_zero_point");
  }

  void quantize_layer(const Layer& layer, const LayerNumbers& numbers, const Quantizer& x) {
    const IntegerRows& w = numbers.weights;
    const std::string stem = layer.node->output(0)->name();
    const bool per_channel = w.scales.size() != 1;
    const Shape shape = per_channel ? Shape{static_cast<int64_t>(w.scales.size())} : Shape{};
    Value& scale = graph_.add_constant(Tensor::of_f32(shape, w.scales), stem + "_weight_scale");
    Value& zero = graph_.add_constant(Tensor(DType::i8, shape), stem + "_weight_zero_point");
    Value& values = graph_.add_constant(w.tensor(layer.weights->constant()->shape(), layer.axis), stem + "_weight_quantized");
    Attributes attributes;
    if (per_channel) attributes.set("axis", static_cast<int64_t>(layer.axis));
    Node& weights = add("DequantizeLinear", {&values, &scale, &zero}, stem + "_weight", layer.node, std::move(attributes));
    if (layer.palette) keep_small_palette(graph_, weights, 0);
    weights.output(0)->type = layer.weights->type;
    layer.node->set_input(1, weights.output(0));
    if (numbers.bias.empty()) return;
    // As f32, like the scale that runs compute.
    std::vector<float> units;
    for (size_t c = 0; c < std::max(w.scales.size(), x.scales.size()); ++c)
      units.push_back(x.of_channel(c).scale * w.scales[per_channel ? c : 0]);
    std::vector<double> integers(numbers.bias.size());
    constexpr double kMost = 0x3fffffff;  // fuse_quantized takes biases below 2^30
    for (size_t c = 0; c < integers.size(); ++c)
      integers[c] = std::clamp(std::nearbyint(numbers.bias[c] / static_cast<double>(units[units.size() == 1 ? 0 : c])), -kMost, kMost);
    const Shape channels{static_cast<int64_t>(integers.size())};
    Value& bias = graph_.add_constant(integers_of(DType::i32, channels, integers), stem + "_bias_quantized");
    Value& unit = graph_.add_constant(Tensor::of_f32(units.size() == 1 ? Shape{} : channels, units), stem + "_bias_scale");
    Attributes along;
    if (units.size() != 1) along.set("axis", int64_t{0});
    Node& from = add("DequantizeLinear", {&bias, &unit}, stem + "_bias", layer.node, std::move(along));
    from.output(0)->type = ValueType::tensor(DType::f32, channels);
    layer.node->set_input(2, from.output(0));
  }

  void quantize_recurrence(Node& node, const RecurrenceNumbers& numbers) {
    const bool lstm = node.op() == "LSTM";
    std::vector<Value*> inputs;
    for (size_t i = 0; i < (lstm ? 7 : 6); ++i) inputs.push_back(node.input(i));
    const auto take = [&](size_t i, const IntegerRows& rows) {
      const Shape& shape = node.input(i)->constant()->shape();
      const std::string stem = node.input(i)->name();
      inputs[i] = &graph_.add_constant(rows.tensor(shape, 0), graph_.fresh_name(stem + "_quantized"));
      inputs.push_back(&graph_.add_constant(Tensor::of_f32({shape[0], shape[1], 1}, rows.scales), graph_.fresh_name(stem + "_scale")));
    };
    take(1, numbers.w), take(2, numbers.r);
    std::vector<std::string> names;
    for (size_t i = 0; i < node.output_count(); ++i) names.push_back(node.output(i) ? graph_.fresh_name(node.output(i)->name()) : "");
    Node& made = graph_.add_node(lstm ? kQuantizedLstm : kQuantizedGru, inputs, names, node.attributes, node.name(), &node);
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) take_place_of(*node.output(i), *made.output(i));
    remove_dead(node);
  }

 private:
  static Shape shape_of(const Quantizer& quantizer) {
    return quantizer.scales.empty() ? Shape{} : Shape{static_cast<int64_t>(quantizer.scales.size())};
  }
  Node& add(std::string_view op, std::initializer_list<Value*> inputs, const std::string& output, Node* before,
            Attributes attributes = {}) {
    const std::string names[] = {graph_.fresh_name(output)};
    return graph_.add_node(op, std::vector<Value*>(inputs), names, std::move(attributes), {}, before);
  }
  Graph& graph_;
};

}  // namespace

void insert_quantization(Graph& graph, const Selection& selection, std::span<const Quantizer> quantizers,
                         std::span<const LayerNumbers> layers, std::span<const RecurrenceNumbers> recurrences) {
  forget_storage_dtype(graph);
  Inserter inserter(graph);
  std::unordered_map<const Value*, const Quantizer*> of_values;
  for (size_t g = 0; g < selection.groups.size(); ++g)
    for (const Value* value : selection.groups[g].values) of_values[value] = &quantizers[g];
  for (size_t i = 0; i < layers.size(); ++i) inserter.quantize_layer(selection.layers[i], layers[i], *of_values.at(selection.layers[i].x));
  for (size_t i = 0; i < recurrences.size(); ++i) inserter.quantize_recurrence(*selection.recurrences[i], recurrences[i]);
  for (const Refusal& refusal : selection.refusals) keep_small_palette(graph, *refusal.node, 1);
  for (size_t g = 0; g < selection.groups.size(); ++g) {
    const std::string stem = selection.groups[g].values[0]->name();
    Value &scale = inserter.scale_of(quantizers[g], stem), &zero = inserter.zero_of(quantizers[g], stem);
    for (Value* value : selection.groups[g].values) inserter.quantize(*value, quantizers[g], scale, zero);
  }
  graph.remove_unused_constants();
}

}  // namespace minnow::compress
