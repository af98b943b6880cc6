// SPDX-License-Identifier: Apache-2.0
// Quantization-aware training: the plan before it, and the integer model after it. Both go through the same selection of layers as
// post-training quantization. Batch normalizations behind layers are trained as such, and folded for the plan and at the end: Jacob et al.
// 2018, "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", arXiv:1712.05877.
#include <minnow/compress.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/no_memory.h"
#include "compress/names.h"
#include "compress/quantization.h"
#include "runtime/model.h"

namespace minnow::compress {
namespace {

/// Parameters that several nodes read become several: an optimizer changes each alone.
void part_parameters(Graph& graph) {
  std::unordered_set<const Value*> taken;
  for (Node& node : graph.nodes()) {
    const bool is_layer = node.op() == "Conv" || node.op() == "Gemm" || node.op() == "MatMul";
    const bool is_recurrence = node.op() == "LSTM" || node.op() == "GRU";
    if (!is_layer && !is_recurrence && node.op() != "BatchNormalization") continue;
    for (size_t i = 1; i < (is_recurrence ? 4 : node.input_count()); ++i) {  // W, R and B
      Value* value = node.input(i);
      if (!value || !value->constant() || value->constant()->dtype() != DType::f32 || taken.insert(value).second) continue;
      Value& own = graph.add_constant(value->constant()->clone(), graph.fresh_name(value->name()));
      node.set_input(i, &own);
      taken.insert(&own);
    }
  }
}

Value* find(Graph& graph, const std::string& name) {
  for (const auto& input : graph.inputs())
    if (input->name() == name) return input.get();
  for (Node& node : graph.nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i) && node.output(i)->name() == name) return node.output(i);
  for (const State& state : graph.states())
    if (state.current->name() == name) return state.current;
  return nullptr;
}

/// The name by which W (input 1) or R (input 2) of a recurrence has its steps.
std::string name_of_gates(const Node& recurrence, size_t input) { return first_output(recurrence).name() + (input == 1 ? ".W" : ".R"); }

/// The layers of a folded graph in the graph that is trained; none if the two graphs differ in more than the folding.
std::vector<TrainedLayer> layers_in(Graph& graph, const Quantization& quantization, bool per_channel) {
  std::vector<TrainedLayer> layers;
  for (const Layer& layer : quantization.layers()) {
    TrainedLayer made;
    made.name = layer.node->output(0)->name(), made.axis = layer.axis;
    Value* value = find(graph, made.name);
    Node* node = value ? value->producer() : nullptr;
    if (node && node->op() == "BatchNormalization") {
      if (!node->input(1)->constant() || !node->input(4)->constant()) return {};
      made.scale = node->input(1)->name(), made.variance = node->input(4)->name();
      made.epsilon = static_cast<double>(real_attribute(*node, "epsilon", 1e-5F));
      node = node->input(0)->producer();
    }
    if (!node || node->op() != layer.node->op() || !node->input(0) || node->input(0)->name() != layer.x->name()) return {};
    const Tensor* weights = node->input(1) ? node->input(1)->constant() : nullptr;
    if (!weights || weights->dtype() != DType::f32 || weights->shape() != layer.weights->constant()->shape()) return {};
    made.weights = node->input(1)->name();
    const Settings& settings = quantization.settings();
    made.steps = weight_scales(Rows::of(*layer.weights->constant(), layer.axis), *settings.weights, settings.most_weight, per_channel, {});
    layers.push_back(std::move(made));
  }
  for (const Node* recurrence : quantization.selection().recurrences) {
    Value* value = find(graph, first_output(*recurrence).name());
    const Node* node = value ? value->producer() : nullptr;
    if (!node || node->op() != recurrence->op() || !node->input(0) || node->input(0)->name() != recurrence->input(0)->name()) return {};
    for (const size_t input : {size_t{1}, size_t{2}}) {
      const Tensor* weights = node->input(input) ? node->input(input)->constant() : nullptr;
      if (!weights || weights->dtype() != DType::f32 || weights->shape() != recurrence->input(input)->constant()->shape()) return {};
      TrainedLayer made;
      made.name = name_of_gates(*recurrence, input), made.weights = node->input(input)->name(), made.gates = true;
      const Settings& settings = quantization.settings();
      made.steps = weight_scales(gate_rows(*recurrence, input), *settings.weights, settings.most_weight, per_channel, {});
      layers.push_back(std::move(made));
    }
  }
  for (const Group& group : quantization.selection().groups)
    for (const Value* each : group.values)
      if (!find(graph, each->name())) return {};
  return layers;
}

void check_options(const QuantizeOptions& options) {
  if (options.equalize || options.smooth > 0)
    throw InvalidArgument("{}: training starts from the model as it is; equalize it before, by itself",
                          options.equalize ? "equalize" : "smooth");
}

}  // namespace

TrainingPlan plan_training(const Model& given, const Samples& samples, const QuantizeOptions& options) try {
  check_options(options);
  QuantizeOptions chosen = options;
  chosen.rounding = "nearest";
  const std::unique_ptr<Graph> trained = simplified_for_training(given);
  part_parameters(*trained);
  TrainingPlan plan{given, {}, {}};
  // If folding changes more of the graph, the folded one is trained.
  for (const bool folded : {false, true}) {
    const Model model = model_of(folded ? *simplified(given) : *trained, given);
    Quantization quantization(model, samples, chosen, true);
    const std::unique_ptr<Graph> graph = model.graph().clone();
    plan.layers = layers_in(*graph, quantization, chosen.per_channel);
    if (plan.layers.empty()) continue;
    if (samples.count) quantization.prepare(0);
    // Few bits move the means of channels, which training would take many steps to bring back.
    for (size_t i = 0; samples.count && chosen.correct_bias && i < quantization.layers().size(); ++i) {
      const std::span<const double> bias = quantization.bias_of(i);
      Value* const before = find(*graph, plan.layers[i].name)->producer()->input(2);
      if (!plan.layers[i].variance.empty() || !quantization.layers()[i].bias || !before || !before->constant()) continue;
      Tensor corrected(DType::f32, before->constant()->shape());
      std::copy(bias.begin(), bias.end(), corrected.writable().data<float>());
      before->set_constant(std::move(corrected));
    }
    for (const Group& group : quantization.selection().groups) {
      TrainedValues values;
      for (const Value* each : group.values) values.names.push_back(each->name());
      for (const Value* each : group.sources) values.sources.push_back(each->name());
      if (samples.count) {
        const Quantizer& quantizer = quantization.quantizer_of(group.values[0]);
        values.scale = {quantizer.scale, quantizer.zero};
      }
      plan.values.push_back(std::move(values));
    }
    plan.model = model_of(*graph, given);
    if (options.progress) options.progress(1);
    return plan;
  }
  throw Unsupported("{}: the graph changes when it is simplified a second time", given.graph().source);
} catch (...) {
  throw_as_error();
}

Quantized quantize_trained(const Model& given, const TrainedNumbers& numbers, const Samples& evaluation,
                           const QuantizeOptions& options) try {
  check_options(options);
  const std::unique_ptr<Graph> graph = given.graph().clone();
  std::unordered_map<std::string, Value*> constants;
  for (const auto& constant : graph->constants()) constants[constant->name()] = constant.get();
  for (const auto& [name, tensor] : numbers.constants) {
    const auto found = constants.find(name);
    if (found == constants.end()) throw InvalidArgument("the model has no constant \"{}\"", name);
    const Tensor& before = *found->second->constant();
    if (tensor.dtype() != before.dtype() || tensor.shape() != before.shape())
      throw InvalidArgument("constant \"{}\" is {}{}, it is given {}{}", name, before.dtype(), before.shape(), tensor.dtype(),
                            tensor.shape());
    if (tensor.dtype() == DType::f32)
      for (int64_t i = 0; i < tensor.elements(); ++i)
        if (!std::isfinite(tensor.data<float>()[i])) throw InvalidArgument("constant \"{}\" holds a number that is not finite", name);
    found->second->set_constant(tensor);
  }
  const Model model = model_of(*graph, given);
  Quantization quantization(model, evaluation, options, true);
  std::vector<Quantizer> quantizers;
  for (const Group& group : quantization.selection().groups) {
    const std::string& name = group.values[0]->name();
    const auto found = numbers.scales.find(name);
    if (found == numbers.scales.end()) throw InvalidArgument("value \"{}\" has no scale", name);
    Quantizer quantizer;
    quantizer.grid = quantization.settings().ranges.grid;
    quantizer.scale = found->second.scale, quantizer.zero = found->second.zero;
    if (!(quantizer.scale > 0 && std::isfinite(quantizer.scale)) || quantizer.zero < quantizer.grid.lowest ||
        quantizer.zero > quantizer.grid.highest)
      throw InvalidArgument("value \"{}\" has the scale {} and the zero point {}", name, quantizer.scale, quantizer.zero);
    quantizers.push_back(quantizer);
  }
  const auto steps_of = [&](const std::string& name, const Rows& rows) {
    const auto found = numbers.steps.find(name);
    if (found == numbers.steps.end()) throw InvalidArgument("layer \"{}\" has no steps", name);
    const std::vector<float>& steps = found->second;
    if (steps.size() != 1 && steps.size() != rows.channels)
      throw InvalidArgument("layer \"{}\" has {} channels, {} steps are given", name, rows.channels, steps.size());
    for (size_t c = 0; c < steps.size(); ++c)
      if (!(steps[c] > 0 && std::isfinite(steps[c]))) throw InvalidArgument("layer \"{}\" has the step {}", name, steps[c]);
    return steps;
  };
  std::vector<LayerNumbers> layers;
  for (const Layer& layer : quantization.layers()) {
    const Rows rows = Rows::of(*layer.weights->constant(), layer.axis);
    std::vector<float> steps = steps_of(layer.node->output(0)->name(), rows);
    LayerNumbers made;
    if (layer.bias) made.bias = *reals_of(layer.bias);
    // Biases have to fit 30 bits. This widens the steps of channels alone whose weights hardly count beside the bias.
    float x_scale = 1;
    for (size_t g = 0; g < quantizers.size(); ++g)
      for (const Value* value : quantization.selection().groups[g].values)
        if (value == layer.x) x_scale = quantizers[g].scale;
    for (size_t c = 0; c < made.bias.size(); ++c) {
      float& step = steps[steps.size() == 1 ? 0 : c];
      step = std::max(step, static_cast<float>(std::fabs(made.bias[c]) / (static_cast<double>(x_scale) * (1 << 28))));
    }
    made.weights = round_to_nearest(rows, std::move(steps), quantization.settings().most_weight);
    layers.push_back(std::move(made));
  }
  std::vector<RecurrenceNumbers> recurrences;
  for (const Node* recurrence : quantization.selection().recurrences) {
    const auto round = [&](size_t input) {
      const Rows rows = gate_rows(*recurrence, input);
      std::vector<float> steps = steps_of(name_of_gates(*recurrence, input), rows);
      steps.resize(rows.channels, steps[0]);
      return round_to_nearest(rows, std::move(steps), quantization.settings().most_weight);
    };
    recurrences.push_back({round(1), round(2)});
  }
  quantization.take(quantizers, std::move(layers), std::move(recurrences));
  Quantized result = quantization.result({});
  if (options.progress) options.progress(1);
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
