// SPDX-License-Identifier: Apache-2.0
// Magnitude pruning: Han et al. 2015, "Learning both weights and connections for efficient neural networks", arXiv:1506.02626. Distribution
// "lamp": Lee et al. 2021, "Layer-adaptive sparsity for the magnitude-based pruning", arXiv:2010.07611.
#include <minnow/convert.h>
#include <minnow/prune.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/watch.h"
#include "compress/names.h"
#include "compress/observer.h"
#include "compress/patterns.h"
#include "compress/selection.h"
#include "passes/rewrite.h"
#include "runtime/model.h"

namespace minnow::compress {
namespace {

struct Target {
  Node* node;
  WeightPlaces places;
  std::vector<float> scores;  // squares
};

struct Distribution {
  const char *name, *doc;
  /// Changes the scores of blocks so that those of different layers can be compared; null: each layer has the same sparsity.
  void (*compare)(Blocks& blocks);
};

// A block's score is divided by that of all blocks that count at least as much.
void compare_lamp(Blocks& blocks) {
  std::vector<size_t> order(blocks.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return blocks.scores[x] > blocks.scores[y]; });
  double sum = 0;
  for (const size_t b : order) {
    sum += static_cast<double>(blocks.scores[b]) * static_cast<double>(blocks.size(b));
    blocks.scores[b] = sum > 0 ? static_cast<float>(static_cast<double>(blocks.scores[b]) / sum) : 0.0F;
  }
}
void compare_magnitudes(Blocks&) {}

constexpr Distribution kDistributions[] = {
    {"uniform", "each layer gets the same sparsity", nullptr},
    {"global", "the smallest weights of all layers", compare_magnitudes},
    {"lamp", "the smallest weights of all layers, beside the larger ones of their layer", compare_lamp},
};

const Distribution* distribution_of(const std::string& name) {
  const auto found =
      std::find_if(std::begin(kDistributions), std::end(kDistributions), [&](const Distribution& each) { return each.name == name; });
  return found == std::end(kDistributions) ? nullptr : found;
}

double sparsity_of(const Pattern& pattern, double wanted, const std::string& prefix) {
  if (!(wanted <= 1)) throw InvalidArgument("{}sparsity: {} is not from 0 to 1", prefix, wanted);
  if (pattern.kept == 0) return wanted < 0 ? 0.8 : wanted;
  const double own = 1 - static_cast<double>(pattern.kept) / static_cast<double>(pattern.inputs * pattern.outputs);
  if (wanted >= 0 && std::abs(wanted - own) > 1e-9)
    throw InvalidArgument("{}sparsity: pattern {} has {}, not {}; leave sparsity out or choose another pattern", prefix, pattern.name, own,
                          wanted);
  return own;
}

Pattern pattern_of(const std::string& name, const std::string& prefix) {
  const std::optional<Pattern> pattern = find_pattern(name);
  if (!pattern)
    throw InvalidArgument("{}pattern: \"{}\" is none of {}, nor N:M with N from 1 to M - 1 and M up to 16", prefix, name,
                          names_of(pattern_table()));
  return *pattern;
}

void check(const PruneOptions& options, const std::string& prefix = {}) {
  (void)sparsity_of(pattern_of(options.pattern, prefix), options.sparsity, prefix);
  if (!distribution_of(options.distribution))
    throw InvalidArgument("{}distribution: \"{}\" is none of {}", prefix, options.distribution, names_of(kDistributions));
}

/// Why a layer stays dense; empty if it is pruned.
std::string refusal_of(const Node& node, const PruneOptions& options) {
  if (is_named(node, options.skip)) return "the options skip it";
  if (!options.layers.empty() && !is_named(node, options.layers)) return "the options do not name it";
  if (node.op() == "ConvTranspose") return "it is a transposed convolution";
  const Tensor* w = node.input(1) ? node.input(1)->constant() : nullptr;
  if (!w) return "its weights are not constant";
  if (w->dtype() != DType::f32) return format("its weights are {}", w->dtype());
  if (node.op() == "Conv" ? w->shape().rank() < 3 : w->shape().rank() != 2)
    return format("its weights have {} dimensions", w->shape().rank());
  if (w->elements() == 0) return "its weights are empty";
  if (node.op() == "Conv" && int_attribute(node, "group", 1) != 1) return format("it has {} groups", int_attribute(node, "group", 1));
  const WeightPlaces places = WeightPlaces::of(w->shape(), 0);
  if (options.layers.empty() && std::min(places.inputs, places.outputs) < 8) return "it has fewer than 8 channels";
  for (const float value : std::span(w->data<float>(), static_cast<size_t>(w->elements())))
    if (!(std::abs(value) <= 1e15F)) return "its weights are not all finite, or above 1e15";
  return {};
}

size_t output_axis(const Node& node) {
  const bool may_turn = node.op() == "Gemm" || node.op() == "minnow.FusedMatMul";
  return node.op() == "MatMul" || (may_turn && int_attribute(node, "transB", 0) == 0) ? 1 : 0;
}

/// Sets the weights that are not kept to zero.
void apply(Graph& graph, Node& node, const std::vector<uint8_t>& kept, PrunedLayer& row) {
  Value* value = node.input(1);
  Tensor copy = value->constant()->clone();
  float* w = copy.writable().data<float>();
  double before = 0, after = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    before += static_cast<double>(w[i]) * static_cast<double>(w[i]);
    if (!kept[i]) w[i] = 0;
    after += static_cast<double>(w[i]) * static_cast<double>(w[i]);
    row.zeros += w[i] == 0;
  }
  row.kept_energy = before > 0 ? after / before : 1;
  // Other readers keep theirs.
  if (value->uses().size() == 1 && !value->is_graph_output())
    value->set_constant(std::move(copy));
  else
    node.set_input(1, &graph.add_constant(std::move(copy), graph.fresh_name(value->name())));
}

}  // namespace

std::vector<MethodDescription> prune_patterns() {
  std::vector<MethodDescription> list;
  for (const Pattern& each : pattern_table()) list.push_back({std::string(each.name), std::string(each.doc)});
  return list;
}
std::vector<MethodDescription> prune_distributions() {
  std::vector<MethodDescription> list;
  for (const Distribution& each : kDistributions) list.push_back({each.name, each.doc});
  return list;
}

void PruneOptions::set(const std::string& key, const std::string& value, const std::string& prefix) try {
  PruneOptions changed = *this;
  if (key == "sparsity") {
    changed.sparsity = number(value, prefix + key);
    if (!(changed.sparsity >= 0 && changed.sparsity <= 1))
      throw InvalidArgument("{}sparsity: \"{}\" is not a number from 0 to 1", prefix, value);
  } else if (key == "pattern") {
    (void)pattern_of(value, prefix);
    changed.pattern = value;
  } else if (key == "distribution") {
    changed.distribution = value;
  } else if (key == "layers") {
    changed.layers = words(value);
  } else if (key == "skip") {
    changed.skip = words(value);
  } else {
    throw InvalidArgument("{}{}: there is no such option{}", prefix, key,
                          nearest(key, std::vector<std::string>{"sparsity", "pattern", "distribution", "layers", "skip"}));
  }
  if (!distribution_of(changed.distribution))
    throw InvalidArgument("{}distribution: \"{}\" is none of {}", prefix, changed.distribution, names_of(kDistributions));
  *this = std::move(changed);
} catch (...) {
  throw_as_error();
}

Tensor prune_mask(const TensorView& scores, const std::string& pattern, double sparsity, size_t axis) try {
  const Pattern found = pattern_of(pattern, {});
  if (!(sparsity >= 0)) throw InvalidArgument("sparsity: {} is not from 0 to 1", sparsity);
  const double part = sparsity_of(found, sparsity, {});
  if (scores.dtype() != DType::f32) throw InvalidArgument("scores are f32, not {}", scores.dtype());
  if (scores.rank() < 2) throw InvalidArgument("scores have two dimensions or more, not {}", scores.rank());
  if (axis > 1 || (scores.rank() > 2 && axis != 0)) throw InvalidArgument("axis {}: outputs lie along 0, or 1 of a matrix", axis);
  Tensor mask(DType::u8, scores.shape());
  uint8_t* kept = mask.writable().data<uint8_t>();
  const size_t count = static_cast<size_t>(scores.elements());
  std::fill_n(kept, count, uint8_t{1});
  if (count == 0) return mask;
  for (const float score : std::span(scores.data<float>(), count))
    if (!std::isfinite(score)) throw InvalidArgument("scores are finite, one is {}", score);
  const Blocks blocks(found, WeightPlaces::of(scores.shape(), axis), scores.data<float>());
  blocks.mask(static_cast<size_t>(std::llround(part * static_cast<double>(blocks.scores.size()))), scores.data<float>(), kept);
  return mask;
} catch (...) {
  throw_as_error();
}

std::vector<std::pair<std::string, size_t>> weight_axes(const Model& model) try {
  std::vector<std::pair<std::string, size_t>> list;
  for (const Node& node : model.graph().nodes()) {
    const bool is_fused = node.op() == "minnow.FusedConv" || node.op() == "minnow.FusedMatMul";  // files that prune() has written have them
    if (!(is_layer(node) || is_fused) || node.op() == "ConvTranspose") continue;
    // Exporters may store the transposed matrix.
    const Value* weights = node.input(1);
    size_t axis = output_axis(node);
    if (const Node* turn = weights ? made_by(weights, "Transpose") : nullptr; turn && rank_of(*turn->output(0)) == 2)
      weights = turn->input(0), axis = 1 - axis;
    if (!weights || !weights->constant()) continue;
    if (std::none_of(list.begin(), list.end(), [&](const auto& row) { return row.first == weights->name(); }))
      list.emplace_back(weights->name(), axis);
  }
  return list;
} catch (...) {
  throw_as_error();
}

Pruned prune(const Model& model, const PruneOptions& options) try {
  check(options);
  const Pattern pattern = pattern_of(options.pattern, {});
  const double sparsity = sparsity_of(pattern, options.sparsity, {});
  const Distribution& distribution = *distribution_of(options.distribution);
  check_not_quantized(model, "zeros");
  const std::unique_ptr<Graph> graph = simplified(model);
  check_names(*graph, options.layers, "layers");
  check_names(*graph, options.skip, "skip");
  PruneReport report;
  std::vector<Target> targets;
  std::vector<size_t> rows;  // of targets in the report
  std::string why;
  for (Node& node : graph->nodes()) {
    if (!is_layer(node)) continue;
    PrunedLayer row;
    row.node = node.name().empty() ? node.output(0)->name() : node.name(), row.op = node.op();
    row.refusal = refusal_of(node, options);
    if (node.input(1) && node.input(1)->constant()) row.weights = static_cast<size_t>(node.input(1)->constant()->elements());
    if (row.refusal.empty()) {
      const Tensor& w = *node.input(1)->constant();
      Target target{&node, WeightPlaces::of(w.shape(), output_axis(node)), {}};
      for (const float value : std::span(w.data<float>(), row.weights)) target.scores.push_back(value * value);
      targets.push_back(std::move(target));
      rows.push_back(report.layers.size());
    } else if (why.empty()) {
      why = format("; {}: {}", row.node, row.refusal);
    }
    report.layers.push_back(std::move(row));
  }
  if (targets.empty()) throw Unsupported("{}: no layer can be pruned{}", graph->source.empty() ? "the model" : graph->source, why);

  std::vector<Blocks> blocks;
  for (const Target& target : targets) blocks.emplace_back(pattern, target.places, target.scores.data());
  std::vector<size_t> drops;
  if (!distribution.compare || pattern.kept != 0) {
    for (const Blocks& each : blocks)
      drops.push_back(static_cast<size_t>(std::llround(sparsity * static_cast<double>(each.scores.size()))));
  } else {
    struct Place {
      float score;
      uint32_t layer;
      uint32_t size;
    };
    std::vector<Place> all;
    double weights = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      distribution.compare(blocks[i]);
      for (size_t b = 0; b < blocks[i].scores.size(); ++b)
        all.push_back({blocks[i].scores[b], static_cast<uint32_t>(i), static_cast<uint32_t>(blocks[i].size(b))});
      weights += static_cast<double>(targets[i].scores.size());
    }
    std::stable_sort(all.begin(), all.end(), [](const Place& a, const Place& b) { return a.score < b.score; });
    drops.assign(blocks.size(), 0);
    double left = sparsity * weights;
    for (const Place& place : all) {
      if ((left -= place.size) < -0.5 * place.size) break;
      ++drops[place.layer];
    }
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    Watch::check();
    std::vector<uint8_t> kept(targets[i].scores.size(), 1);
    blocks[i].mask(drops[i], targets[i].scores.data(), kept.data());
    apply(*graph, *targets[i].node, kept, report.layers[rows[i]]);
  }
  graph->remove_unused_constants();
  for (const PrunedLayer& row : report.layers) report.weights += row.weights, report.zeros += row.zeros;
  const Model made = model_of(*graph, model);
  return {convert_model(made, {.operators = model.impl()->custom_operators}), made, std::move(report)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
