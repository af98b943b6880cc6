// SPDX-License-Identifier: Apache-2.0
// The steps of post-training quantization, in order.
#include <minnow/compress.h>
#include <minnow/convert.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/numeric.h"
#include "base/watch.h"
#include "compress/costs.h"
#include "compress/equalize.h"
#include "compress/fidelity.h"
#include "compress/means.h"
#include "compress/names.h"
#include "compress/quantization.h"
#include "compress/rounding.h"
#include "compress/sparing.h"
#include "compress/transposed.h"
#include "compress/weight_only.h"
#include "graph/model_file.h"
#include "ops/infer.h"
#include "ops/stored_weights.h"
#include "runtime/model.h"

namespace minnow::compress {

namespace {

constexpr size_t kTrialSamples = 8;  // on which method "auto" compares the others

/// Weights of layers get the numbers that they have when a file stores them as f16.
void round_to_f16(Graph& graph) {
  const StoredWeights stored = minnow::round_weights(graph, DType::f16);
  for (const auto& constant : graph.constants()) {
    const auto found = stored.find(constant.get());
    if (found == stored.end()) continue;
    Tensor rounded(DType::f32, found->second.shape());
    for (int64_t i = 0; i < rounded.elements(); ++i) rounded.writable().data<float>()[i] = f32_from_f16(found->second.data<uint16_t>()[i]);
    constant->set_constant(std::move(rounded));
  }
}

}  // namespace

namespace {

size_t bytes_of_scales(std::span<const float> scales) {
  const Shape shape{static_cast<int64_t>(scales.size())};
  return stored_bytes(stored_dtype(Tensor::of_f32(shape, scales)), shape);
}

}  // namespace

size_t bytes_of_constants(const Graph& graph) {
  size_t bytes = 0;
  for (const auto& constant : graph.constants()) bytes += stored_bytes(stored_dtype(*constant->constant()), constant->constant()->shape());
  return bytes;
}

Quantization::Quantization(const Model& model, const Samples& samples, const QuantizeOptions& options, bool trained,
                           std::span<const int> more_bits, bool f16)
    : model_(model), samples_(samples), options_(options), settings_(options), f16_(f16), trained_(trained), graph_(simplified(model)) {
  levels_.push_back({options.weight_bits ? options.weight_bits : 8, settings_.most_weight, {}, {}});
  for (const int bits : more_bits) levels_.push_back({bits, (1 << (bits - 1)) - 1, {}, {}});
  if (!trained) {
    transposed_to_convolutions(*graph_, options.skip);
    infer_types(*model.impl()->operators, *graph_);
  }
  selection_ = select(*graph_, options.skip, {}, options.portable, !trained);
  if (trained || !options.per_channel)
    for (Group& group : selection_.groups) group.channels = 0;
  if (!selection_.layers.empty() || !selection_.recurrences.empty()) return;
  throw Unsupported("{}: no layer can compute with integers{}", graph_->source.empty() ? "the model" : graph_->source,
                    reason_of(selection_.refusals));
}

void Quantization::take(std::span<const Quantizer> quantizers, std::vector<LayerNumbers> numbers,
                        std::vector<RecurrenceNumbers> recurrences) {
  for (size_t g = 0; g < selection_.groups.size(); ++g)
    for (const Value* value : selection_.groups[g].values) quantizers_[value->name()] = quantizers[g];
  levels_[0].numbers = std::move(numbers), levels_[0].recurrences = std::move(recurrences);
}

void Quantization::prepare(double more_runs) {
  if (samples_.count == 0 || !samples_.at) throw InvalidArgument("there are no calibration samples");
  const double passes = 1 + options_.correct_bias + (options_.smooth > 0) + (settings_.rounding->improve ? 2 : 0);
  all_runs_ = static_cast<double>(samples_.count) * passes + more_runs;
  if (!settings_.method) all_runs_ += static_cast<double>(2 * range_methods().size() * std::min(kTrialSamples, samples_.count));
  if (options_.equalize) equalize(*graph_, selection_);
  if (options_.smooth > 0) smooth_channels();
  find_ranges();
  set_ranges(settings_.method ? *settings_.method : best_method());
  round_weights();
  if (settings_.rounding->improve) improve_rounding();
  if (options_.correct_bias) correct_biases();
}

const Quantization::Level& Quantization::level_of(int bits) const {
  for (const Level& level : levels_)
    if (level.bits == bits) return level;
  throw InvalidArgument("no layer has weights of {} bits here", bits);
}

size_t Quantization::bytes_of(size_t place, int bits) const {
  if (place >= layers().size()) {
    const Node& node = node_at(place);
    size_t bytes = 0;
    for (const size_t input : {size_t{1}, size_t{2}}) {
      const Tensor& weights = *node.input(input)->constant();
      if (bits == kF32) {
        bytes += static_cast<size_t>(weights.elements()) * (f16_ ? 2 : sizeof(float));
        continue;
      }
      const RecurrenceNumbers& numbers = level_of(bits).recurrences[place - layers().size()];
      const IntegerRows& integers = input == 1 ? numbers.w : numbers.r;
      bytes += stored_bytes(stored_dtype(integers.tensor(weights.shape(), 0)), weights.shape()) + bytes_of_scales(integers.scales);
    }
    return bytes;
  }
  const Layer& of = selection_.layers[place];
  const Tensor& weights = *of.weights->constant();
  const size_t biases = of.bias ? static_cast<size_t>(of.bias->constant()->elements()) : 0, count = static_cast<size_t>(weights.elements());
  if (bits == kF32) return (of.palette ? count / 2 : f16_ ? count * 2 : count * sizeof(float)) + biases * sizeof(float);
  const LayerNumbers& numbers = level_of(bits).numbers[place];
  const size_t stored = of.palette ? count / 2  // indices of 4 bits
                                   : stored_bytes(stored_dtype(numbers.weights.tensor(weights.shape(), of.axis)), weights.shape());
  return stored + bytes_of_scales(numbers.weights.scales) + numbers.bias.size() * sizeof(int32_t);
}

Model Quantization::plain(std::span<const int> bits) const {
  const std::unique_ptr<Graph> graph = graph_->clone();
  std::vector<bool> excluded;
  for (const int each : bits) excluded.push_back(each == kF32);
  Selection selection = select(*graph, options_.skip, excluded, options_.portable, !trained_ && bits.empty());
  // Values that share a quantizer still do: with fewer layers groups fall apart and never join.
  std::vector<Quantizer> quantizers;
  for (const Group& group : selection.groups) quantizers.push_back(quantizer_of(group.values[0]));
  std::vector<LayerNumbers> numbers;
  size_t found = 0;
  for (size_t i = 0; i < layers().size(); ++i)
    if (bits.empty() || bits[i] != kF32) numbers.push_back(level_of(bits.empty() ? this->bits() : bits[i]).numbers[i]);
  std::vector<RecurrenceNumbers> recurrences;
  for (Node* recurrence : std::exchange(selection.recurrences, {})) {
    const size_t i = found++;
    const int own = bits.empty() ? this->bits() : bits[layers().size() + i];
    if (own != kF32) selection.recurrences.push_back(recurrence), recurrences.push_back(level_of(own).recurrences[i]);
  }
  insert_quantization(*graph, selection, quantizers, numbers, recurrences);
  if (f16_) round_to_f16(*graph);
  return model_of(*graph, model_);
}

Model Quantization::optimized(const Model& plain) const { return convert_model(plain, {.operators = model_.impl()->custom_operators}); }

Quantized Quantization::result(std::span<const int> bits) {
  const Model made = plain(bits);
  Quantized result{optimized(made), made, {}};
  report(bits, result);
  return result;
}

double Quantization::evaluated() const { return static_cast<double>(std::min(options_.evaluate, samples_.count)); }

void Quantization::one_run(double runs) {
  Watch::check();
  runs_ += runs;
  if (options_.progress) options_.progress(std::min(runs_ / all_runs_, 1.0));
}

void Quantization::observe(std::vector<std::string> names, const Observer::Visit& visit, double cost) {
  Observer observer(model_of(*graph_, model_), std::move(names));
  for (size_t i = 0; i < samples_.count; ++i) {
    sample_ = i;
    observer.run(checked_sample(model_, samples_, i), i, visit);
    one_run(cost);
  }
}

void Quantization::smooth_channels() {
  std::unordered_map<std::string, std::vector<double>> largest;
  std::unordered_map<std::string, const Layer*> readers;
  std::vector<std::string> names;
  for (const ScalableValue& site : scalable_values(selection_))
    names.push_back(site.value->name()), readers[site.value->name()] = site.readers[0];
  observe(names, [&](const std::string& name, const Tensor& tensor) {
    const size_t axis = channel_axis(*readers.at(name), tensor.shape());
    const size_t channels = static_cast<size_t>(tensor.shape()[axis]);
    const size_t inner = static_cast<size_t>(tensor.shape().product(axis + 1, tensor.shape().rank()));
    std::vector<double>& found = largest[name];
    found.resize(channels, 0);
    for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
      double& most = found[i / inner % channels];
      most = std::max(most, std::fabs(static_cast<double>(tensor.data<float>()[i])));
    }
  });
  smooth(*graph_, selection_, options_.smooth, [&](const Value& value) { return largest[value.name()]; });
}

void Quantization::find_ranges() {
  std::unordered_map<std::string, TensorStatistics> statistics;
  std::unordered_map<std::string, std::vector<TensorStatistics>*> channels;
  std::vector<std::string> names;
  for (const Group& group : selection_.groups)
    channels_.emplace_back(static_cast<size_t>(group.channels), TensorStatistics(TensorStatistics::kChannelBins));
  for (size_t g = 0; g < selection_.groups.size(); ++g)
    for (const Value* value : selection_.groups[g].sources) {
      names.push_back(value->name()), statistics[value->name()];
      if (!channels_[g].empty()) channels[value->name()] = &channels_[g];
    }
  observe(names, [&](const std::string& name, const Tensor& tensor) {
    if (tensor.dtype() != DType::f32) return;
    statistics.at(name).add(tensor.data<float>(), static_cast<size_t>(tensor.elements()));
    const auto own = channels.find(name);
    if (own == channels.end()) return;
    const Shape& shape = tensor.shape();
    const size_t plane = static_cast<size_t>(shape.product(2, shape.rank()));
    for (size_t i = 0; i < static_cast<size_t>(shape[0] * shape[1]); ++i)
      (*own->second)[i % own->second->size()].add(tensor.data<float>() + i * plane, plane);
  });
  for (const Group& group : selection_.groups) {
    TensorStatistics all;
    for (const Value* value : group.sources) all.merge(statistics.at(value->name()));
    if (all.not_finite())
      throw InvalidArgument("tensor \"{}\" holds {} numbers that are not finite when the model runs on the calibration samples",
                            group.values[0]->name(), all.not_finite());
    statistics_.push_back(std::move(all));
  }
}

void Quantization::set_ranges(const RangeMethod& method) {
  for (size_t g = 0; g < statistics_.size(); ++g) {
    Quantizer quantizer;
    if (channels_[g].empty()) {
      quantizer = Quantizer::of(method.find(statistics_[g], settings_.ranges), settings_.ranges.grid);
    } else {
      std::vector<Range> ranges;
      for (const TensorStatistics& each : channels_[g]) ranges.push_back(each.count() ? method.find(each, settings_.ranges) : Range{});
      quantizer = Quantizer::of_channels(ranges, settings_.ranges.grid);
    }
    for (const Value* value : selection_.groups[g].values) quantizers_[value->name()] = quantizer;
  }
}

/// The method with which the worst output stays nearest.
const RangeMethod& Quantization::best_method() {
  const RangeMethod* best = nullptr;
  double most = 0;
  for (const RangeMethod& method : range_methods()) {
    set_ranges(method);
    if (levels_[0].numbers.empty()) round_weights();  // ranges hardly change them
    double worst = std::numeric_limits<double>::infinity();
    for (const OutputReport& output : compare(model_, plain({}), {std::min(kTrialSamples, samples_.count), samples_.at}))
      worst = std::min(worst, output.fidelity.sqnr);
    if (!best || worst > most) best = &method, most = worst;
    one_run(2 * static_cast<double>(std::min(kTrialSamples, samples_.count)));
  }
  return *best;
}

void Quantization::round_weights() {
  for (Level& level : levels_) level.numbers.clear();
  for (const Layer& layer : selection_.layers) {
    Rows rows = Rows::of(*layer.weights->constant(), layer.axis);
    std::vector<double> bias;
    std::vector<float> least;
    if (layer.bias) {
      bias = *reals_of(layer.bias);
      // Biases have to fit 30 bits, with room for their correction.
      const Quantizer& x = quantizer_of(layer.x);
      for (size_t c = 0; c < bias.size(); ++c)
        least.push_back(static_cast<float>(std::fabs(bias[c]) / (static_cast<double>(x.of_channel(c).scale) * (1 << 28))));
    }
    // One scale leaves no more integers than the palette has numbers.
    const bool per_channel = options_.per_channel && !layer.palette;
    for (Level& level : levels_) {
      const int most = layer.palette ? settings_.most_weight : level.most;
      level.numbers.push_back({round_to_nearest(rows, weight_scales(rows, *settings_.weights, most, per_channel, least), most), bias});
    }
  }
  for (Level& level : levels_) {
    level.recurrences.clear();
    for (const Node* recurrence : selection_.recurrences) level.recurrences.push_back(rounded(*recurrence, level.most));
  }
}

Rows gate_rows(const Node& recurrence, size_t input) {
  const Tensor& w = *recurrence.input(input)->constant();
  return Rows::of(w.reshaped({w.shape()[0] * w.shape()[1], w.shape()[2]}), 0);
}

RecurrenceNumbers Quantization::rounded(const Node& recurrence, int most) const {
  const auto round = [&](size_t input) {
    const Rows rows = gate_rows(recurrence, input);
    std::vector<float> scales = weight_scales(rows, *settings_.weights, most, options_.per_channel, {});
    scales.resize(rows.channels, scales[0]);  // one for each row, or the same for all
    return round_to_nearest(rows, std::move(scales), most);
  };
  return {round(1), round(2)};
}

LayerReport Quantization::row_of(size_t recurrence, int bits) const {
  const Node& node = *selection_.recurrences[recurrence];
  LayerReport row;
  row.output = first_output(node).name();
  row.node = node.name().empty() ? row.output : node.name(), row.op = node.op(), row.weight_bits = bits;
  if (bits == kF32) {
    row.refusal = kCostsTooMuch;
    return row;
  }
  const RecurrenceNumbers& numbers = level_of(bits).recurrences[recurrence];
  FidelitySum of_weights;
  for (const size_t input : {1, 2}) {
    const IntegerRows& integers = input == 1 ? numbers.w : numbers.r;
    const Rows before = gate_rows(node, input), after = integers.numbers();
    of_weights.add(before.values.data(), after.values.data(), before.values.size());
    row.bytes_before += before.values.size() * sizeof(float);
  }
  row.bytes_after = bytes_of(layers().size() + recurrence, bits);
  row.weights = of_weights.result();
  return row;
}

void Quantization::improve_rounding() {
  constexpr size_t kMemory = size_t{256} << 20;
  const size_t positions = std::clamp<size_t>(4096 / samples_.count, 16, 512);
  for (size_t begin = 0; begin < selection_.layers.size();) {
    // As many layers at a time as memory allows.
    std::vector<Gram> grams;
    std::unordered_map<std::string, std::vector<size_t>> readers;
    std::vector<std::string> names;
    size_t bytes = 0, end = begin;
    for (; end < selection_.layers.size() && (end == begin || bytes < kMemory); ++end) {
      const Layer& layer = selection_.layers[end];
      grams.emplace_back(layer);
      bytes += grams.back().bytes();
      names.push_back(layer.x->name()), readers[layer.x->name()].push_back(end);
    }
    const double share = 2 * static_cast<double>(end - begin) / static_cast<double>(selection_.layers.size());
    observe(
        names,
        [&](const std::string& name, const Tensor& tensor) {
          for (const size_t i : readers.at(name))
            grams[i - begin].add(tensor, quantizer_of(selection_.layers[i].x), positions, options_.seed * 1000003 + sample_);
        },
        share);
    for (size_t i = begin; i < end; ++i)
      for (Level& level : levels_)
        if (!selection_.layers[i].palette)
          settings_.rounding->improve(Rows::of(*selection_.layers[i].weights->constant(), selection_.layers[i].axis),
                                      level.numbers[i].weights, level.most, grams[i - begin]);
    begin = end;
  }
}

void Quantization::correct_biases() {
  std::unordered_map<std::string, std::pair<const Layer*, ChannelMeans>> means;
  std::vector<std::string> names;
  for (const Layer& layer : selection_.layers)
    if (layer.node->op() != "MatMul") means[layer.x->name()].first = &layer, names.push_back(layer.x->name());
  observe(names, [&](const std::string& name, const Tensor& tensor) {
    auto& [layer, sums] = means.at(name);
    sums.add(tensor, channel_axis(*layer, tensor.shape()), quantizer_of(layer->x));
  });
  for (size_t i = 0; i < selection_.layers.size(); ++i) {
    const Layer& layer = selection_.layers[i];
    if (layer.node->op() == "MatMul") continue;
    const Rows wanted = Rows::of(*layer.weights->constant(), layer.axis);
    for (Level& level : levels_) {
      LayerNumbers& numbers = level.numbers[i];
      const std::vector<double> gain =
          means.at(layer.x->name())
              .second.correction(wanted, numbers.weights.numbers(), static_cast<size_t>(int_attribute(*layer.node, "group", 1)));
      numbers.bias.resize(gain.size(), 0);
      for (size_t c = 0; c < gain.size(); ++c) numbers.bias[c] += gain[c];
    }
  }
}

void Quantization::report(std::span<const int> bits, Quantized& result) {
  QuantizeReport& report = result.report;
  report.samples = samples_.count, report.evaluated = static_cast<size_t>(evaluated());
  report.bytes_before = bytes_of_constants(model_.graph()), report.bytes_after = bytes_of_constants(result.model.graph());
  if (f16_)
    for (const auto& [value, half] : minnow::round_weights(result.model.graph(), DType::f16)) report.bytes_after -= half.bytes();
  std::vector<std::string> names;
  for (const Layer& layer : selection_.layers) names.push_back(layer.result->name());
  for (const Node* recurrence : selection_.recurrences) names.push_back(first_output(*recurrence).name());
  for (const Node* attention : selection_.attentions) names.push_back(attention->output(0)->name());
  std::unordered_map<std::string, FidelitySum> sums;
  std::unordered_map<std::string, std::pair<double, double>> clipped;  // and all
  std::unordered_map<std::string, int64_t> elements;
  std::unordered_map<std::string, const Quantizer*> quantizers;
  for (const Layer& layer : selection_.layers)
    if (const auto found = quantizers_.find(layer.result->name()); found != quantizers_.end())
      quantizers[layer.result->name()] = &found->second;
  {
    Observer wanted(model_of(*graph_, model_), names), got(result.plain, names);
    for (size_t i = 0; i < report.evaluated; ++i) {
      const std::vector<Tensor> inputs = checked_sample(model_, samples_, i);
      std::unordered_map<std::string, Tensor> tensors;
      wanted.run(inputs, i, [&](const std::string& name, const Tensor& tensor) { tensors[name] = tensor; });
      one_run();
      got.run(inputs, i, [&](const std::string& name, const Tensor& tensor) {
        const Tensor& f32 = tensors.at(name);
        const size_t count = static_cast<size_t>(tensor.elements());
        if (i == 0) elements[name] = tensor.elements();
        sums[name].add(f32.data<float>(), tensor.data<float>(), count);
        const auto q = quantizers.find(name);
        if (q == quantizers.end()) return;
        auto& [outside, all] = clipped[name];
        const size_t channels = std::max<size_t>(1, q->second->scales.size());
        const size_t plane = channels == 1 ? count : static_cast<size_t>(tensor.shape().product(2, tensor.shape().rank()));
        for (size_t begin = 0; begin < count; begin += plane) {
          const Quantizer own = q->second->of_channel(begin / plane % channels);
          // Half a step beyond the ends still rounds to them.
          const double low = own.low() - 0.5 * static_cast<double>(own.scale), high = own.high() + 0.5 * static_cast<double>(own.scale);
          for (size_t k = begin; k < begin + plane; ++k) {
            const double value = static_cast<double>(f32.data<float>()[k]);
            outside += value < low || value > high;
          }
        }
        all += static_cast<double>(count);
      });
      one_run();
    }
  }
  for (size_t i = 0; i < selection_.layers.size(); ++i) {
    const Layer& layer = selection_.layers[i];
    LayerReport row;
    row.node = layer.node->name().empty() ? layer.node->output(0)->name() : layer.node->name();
    row.op = layer.node->op(), row.output = layer.result->name();
    row.fidelity = sums[row.output].result();
    const Shape& shape = layer.weights->constant()->shape();
    row.operations = operations_of(elements[row.output], shape.elements() / shape[layer.axis]);
    row.weight_bits = bits.empty() ? this->bits() : bits[i];
    if (row.weight_bits == kF32) {
      row.refusal = kCostsTooMuch;
      report.layers.push_back(std::move(row));
      continue;
    }
    const auto& [w, bias] = level_of(row.weight_bits).numbers[i];
    FidelitySum of_weights;
    const Rows before = Rows::of(*layer.weights->constant(), layer.axis), after = w.numbers();
    of_weights.add(before.values.data(), after.values.data(), before.values.size());
    row.weights = of_weights.result();
    if (const auto q = quantizers.find(row.output); q != quantizers.end()) row.low = q->second->low(), row.high = q->second->high();
    if (const auto found = clipped.find(row.output); found != clipped.end() && found->second.second > 0)
      row.clipped = found->second.first / found->second.second;
    row.bytes_before = before.values.size() * sizeof(float) + bias.size() * sizeof(float);
    row.bytes_after = bytes_of(i, row.weight_bits);
    report.layers.push_back(std::move(row));
  }
  for (size_t i = 0; i < selection_.recurrences.size(); ++i) {
    report.layers.push_back(row_of(i, bits.empty() ? this->bits() : bits[layers().size() + i]));
    report.layers.back().fidelity = sums[report.layers.back().output].result();
  }
  for (const Node* attention : selection_.attentions) {
    LayerReport row;
    row.output = attention->output(0)->name();
    row.node = attention->name().empty() ? row.output : attention->name(), row.op = attention->op();
    row.fidelity = sums[row.output].result();
    row.weights.sqnr = std::numeric_limits<double>::infinity();  // it has none
    if (!bits.empty()) row.refusal = "the search leaves attention in f32", row.weight_bits = kF32;
    report.layers.push_back(std::move(row));
  }
  for (const Refusal& refusal : selection_.refusals) {
    LayerReport row;
    row.node = refusal.node->name().empty() ? first_output(*refusal.node).name() : refusal.node->name();
    row.op = refusal.node->op(), row.output = first_output(*refusal.node).name(), row.refusal = refusal.reason;
    report.layers.push_back(std::move(row));
  }
  if (samples_.count) add_costs(report.layers, model_, result.model, checked_sample(model_, samples_, 0));
  report.outputs = compare(model_, result.model, {report.evaluated, samples_.at});
  one_run(2 * evaluated());
}

Quantized quantize(const Model& model, const Samples& samples, const QuantizeOptions& options) try {
  if (!options.weights_only.empty()) return quantize_weights(model, samples, options);
  if (!options.bits_for.empty()) throw InvalidArgument("bits_for: goes with weights_only");
  Quantization quantization(model, samples, options);
  quantization.prepare(quantization.runs_of_report() + runs_to_spare(quantization, samples, options));
  Quantized result = quantization.result(spared_layers(quantization, model, samples, options));
  if (options.progress) options.progress(1);
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
