// SPDX-License-Identifier: Apache-2.0
// Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction"; Xiao et al., "SmoothQuant: Accurate and Efficient
// Post-Training Quantization for Large Language Models".
#include "compress/equalize.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace minnow::compress {
namespace {

size_t group_count(const Layer& layer) { return static_cast<size_t>(int_attribute(*layer.node, "group", 1)); }
size_t inputs_of(const Layer& layer) {
  const Shape& w = layer.weights->constant()->shape();
  if (layer.node->op() == "Conv") return static_cast<size_t>(w[1]) * group_count(layer);
  return static_cast<size_t>(w[1 - layer.axis]);
}
size_t outputs_of(const Layer& layer) { return static_cast<size_t>(layer.weights->constant()->shape()[layer.axis]); }

/// Calls f(index of the weight, input channel, output channel) for every weight.
template <class F>
void for_weights(const Layer& layer, F&& f) {
  const Shape& w = layer.weights->constant()->shape();
  const size_t count = static_cast<size_t>(w.elements());
  if (layer.node->op() != "Conv") {
    const size_t columns = static_cast<size_t>(w[1]);
    for (size_t i = 0; i < count; ++i) layer.axis ? f(i, i / columns, i % columns) : f(i, i % columns, i / columns);
    return;
  }
  const size_t each = static_cast<size_t>(w[1]), taps = static_cast<size_t>(w.product(2, w.rank()));
  const size_t outputs = static_cast<size_t>(w[0]) / group_count(layer);
  for (size_t i = 0; i < count; ++i) {
    const size_t o = i / (each * taps);
    f(i, o / outputs * each + i / taps % each, o);
  }
}

/// A constant of the node that nobody else reads, changed by f(element, index).
template <class F>
void change(Graph& graph, Node& node, size_t input, F&& f) {
  Value* value = node.input(input);
  Tensor copy = value->constant()->clone();
  float* data = copy.writable().data<float>();
  for (int64_t i = 0; i < copy.elements(); ++i) data[i] = static_cast<float>(f(static_cast<double>(data[i]), static_cast<size_t>(i)));
  if (value->uses().size() == 1 && !value->is_graph_output())
    value->set_constant(std::move(copy));
  else
    node.set_input(input, &graph.add_constant(std::move(copy), graph.fresh_name(value->name())));
}

bool is_vector(const Value* value, size_t count) {
  return value && value->constant() && value->constant()->dtype() == DType::f32 &&
         value->constant()->shape() == Shape{static_cast<int64_t>(count)};
}

/// A layer keeps pointers to its constants, which change.
void refresh(Layer& layer) { layer.weights = layer.node->input(1), layer.bias = layer.node->input(2); }

}  // namespace

std::vector<ScalableValue> scalable_values(Selection& selection) {
  std::unordered_map<const Node*, Layer*> layers;
  for (Layer& layer : selection.layers) layers[layer.node] = &layer;
  std::vector<ScalableValue> sites;
  std::vector<const Value*> seen;
  for (const Layer& layer : selection.layers) {
    ScalableValue site;
    site.value = layer.x;
    if (std::find(seen.begin(), seen.end(), layer.x) != seen.end() || layer.x->is_graph_output()) continue;
    seen.push_back(layer.x);
    site.channels = inputs_of(layer);
    // Every reader is a layer.
    bool fits = true;
    for (const Use& use : layer.x->uses()) {
      const auto found = layers.find(use.node);
      fits &= found != layers.end() && use.input == 0 && inputs_of(*found->second) == site.channels;
      if (fits) site.readers.push_back(found->second);
    }
    Node* maker = layer.x->producer();
    if (!fits || !maker) continue;
    if (maker->op() == "LayerNormalization" || maker->op() == "RMSNormalization") {
      const auto rank = rank_of(*layer.x);
      const int64_t axis = int_attribute(*maker, "axis", -1);
      const bool last = rank && (axis == -1 || axis == static_cast<int64_t>(*rank) - 1) && layer.node->op() != "Conv";
      if (!last || !is_vector(maker->input(1), site.channels) || (maker->input(2) && !is_vector(maker->input(2), site.channels))) continue;
      site.normalization = maker;
    } else {
      // Relu(s x) = s Relu(x); other activations bend elsewhere.
      if (maker->op() == "Relu" && has_one_use(*maker->input(0))) maker = maker->input(0)->producer();
      const auto found = layers.find(maker);
      if (found == layers.end() || outputs_of(*found->second) != site.channels) continue;
      // Channels of an image are no features of a row.
      if ((found->second->node->op() == "Conv") != (layer.node->op() == "Conv")) continue;
      if (maker->output(0) != layer.x && !has_one_use(*maker->output(0))) continue;
      site.maker = found->second;
    }
    sites.push_back(std::move(site));
  }
  return sites;
}

std::vector<double> reading_weights(const ScalableValue& site) {
  std::vector<double> largest(site.channels, 0);
  for (const Layer* reader : site.readers) {
    const float* w = reader->weights->constant()->data<float>();
    for_weights(*reader, [&](size_t i, size_t in, size_t) { largest[in] = std::max(largest[in], std::fabs(static_cast<double>(w[i]))); });
  }
  return largest;
}

void scale_channels(Graph& graph, const ScalableValue& site, const std::vector<double>& factors) {
  const auto divide = [&](double value, size_t channel) { return value / factors[channel]; };
  if (site.maker) {
    std::vector<size_t> channel(static_cast<size_t>(site.maker->weights->constant()->elements()));
    for_weights(*site.maker, [&](size_t i, size_t, size_t out) { channel[i] = out; });
    change(graph, *site.maker->node, 1, [&](double w, size_t i) { return divide(w, channel[i]); });
    if (site.maker->bias) change(graph, *site.maker->node, 2, divide);
    refresh(*site.maker);
  } else {
    change(graph, *site.normalization, 1, divide);
    if (site.normalization->input(2)) change(graph, *site.normalization, 2, divide);
  }
  for (Layer* reader : site.readers) {
    std::vector<size_t> channel(static_cast<size_t>(reader->weights->constant()->elements()));
    for_weights(*reader, [&](size_t i, size_t in, size_t) { channel[i] = in; });
    change(graph, *reader->node, 1, [&](double w, size_t i) { return w * factors[channel[i]]; });
    refresh(*reader);
  }
}

size_t equalize(Graph& graph, Selection& selection) {
  constexpr int kRounds = 20;  // a layer is a maker here and a reader there
  const std::vector<ScalableValue> sites = scalable_values(selection);
  size_t count = 0;
  for (int round = 0; round < kRounds; ++round) {
    double most = 1;
    count = 0;
    for (const ScalableValue& site : sites) {
      if (!site.maker) continue;
      ++count;
      std::vector<double> making(site.channels, 0);
      const float* w = site.maker->weights->constant()->data<float>();
      for_weights(*site.maker,
                  [&](size_t i, size_t, size_t out) { making[out] = std::max(making[out], std::fabs(static_cast<double>(w[i]))); });
      const std::vector<double> reading = reading_weights(site);
      std::vector<double> factors(site.channels, 1);
      for (size_t c = 0; c < site.channels; ++c)
        if (making[c] > 1e-12 && reading[c] > 1e-12) factors[c] = std::clamp(std::sqrt(making[c] / reading[c]), 1e-3, 1e3);
      for (const double factor : factors) most = std::max({most, factor, 1 / factor});
      scale_channels(graph, site, factors);
    }
    if (most < 1.01) break;
  }
  return count;
}

size_t smooth(Graph& graph, Selection& selection, double part, const std::function<std::vector<double>(const Value&)>& largest_of) {
  size_t count = 0;
  for (const ScalableValue& site : scalable_values(selection)) {
    const std::vector<double> largest = largest_of(*site.value), reading = reading_weights(site);
    std::vector<double> factors(site.channels, 1);
    for (size_t c = 0; c < site.channels && c < largest.size(); ++c)
      if (largest[c] > 1e-12 && reading[c] > 1e-12)
        factors[c] = std::clamp(std::pow(largest[c], part) / std::pow(reading[c], 1 - part), 1e-4, 1e4);
    scale_channels(graph, site, factors);
    ++count;
  }
  return count;
}

}  // namespace minnow::compress
