// SPDX-License-Identifier: Apache-2.0
// Structured pruning. Criteria: Li et al. 2017, "Pruning filters for efficient ConvNets", arXiv:1608.08710 (l1); He et al. 2019, "Filter
// pruning via geometric median", arXiv:1811.00250 (geometric); Molchanov et al. 2019, "Importance estimation for neural network pruning",
// arXiv:1906.10771 (taylor).
#include <minnow/convert.h>
#include <minnow/express.h>
#include <minnow/prune.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/watch.h"
#include "compress/channel_graph.h"
#include "compress/names.h"
#include "compress/observer.h"
#include "compress/selection.h"
#include "passes/rewrite.h"
#include "runtime/model.h"

namespace minnow::compress {
namespace {

using Maker = ChannelGraph::Maker;

/// Calls f(index of the weight, output) for the weights of a maker.
template <class F>
void for_weights(const Maker& maker, F&& f) {
  const Shape& shape = maker.node->input(1)->constant()->shape();
  const size_t inner = static_cast<size_t>(shape.product(maker.axis + 1, shape.rank())), length = static_cast<size_t>(shape[maker.axis]);
  for (size_t i = 0; i < static_cast<size_t>(shape.elements()); ++i) f(i, i / inner % length);
}

struct Calibration {
  const Model& model;      // of the graph
  const Samples& samples;  // of the whole model
};
using Scores = std::vector<std::vector<double>>;  // of each maker's outputs

Scores l1(const std::vector<Maker>& makers, const Calibration&) {
  Scores scores;
  for (const Maker& maker : makers) {
    const float* w = maker.node->input(1)->constant()->data<float>();
    std::vector<double> of(maker.atoms.size());
    for_weights(maker, [&](size_t i, size_t o) { of[o] += std::fabs(static_cast<double>(w[i])); });
    scores.push_back(std::move(of));
  }
  return scores;
}

// The sum of the distances to all other filters: those near the geometric median can be replaced by others.
Scores geometric(const std::vector<Maker>& makers, const Calibration&) {
  Scores scores;
  for (const Maker& maker : makers) {
    Watch::check();
    const float* w = maker.node->input(1)->constant()->data<float>();
    const size_t count = maker.atoms.size(), depth = static_cast<size_t>(maker.node->input(1)->constant()->elements()) / count;
    std::vector<std::vector<float>> rows(count);
    for (auto& row : rows) row.reserve(depth);
    for_weights(maker, [&](size_t i, size_t o) { rows[o].push_back(w[i]); });
    std::vector<double> of(count);
    for (size_t a = 0; a < count; ++a) {
      Watch::check();
      for (size_t b = a + 1; b < count; ++b) {
        float sum = 0;
        for (size_t k = 0; k < depth; ++k) sum += (rows[a][k] - rows[b][k]) * (rows[a][k] - rows[b][k]);
        of[a] += std::sqrt(static_cast<double>(sum)), of[b] += std::sqrt(static_cast<double>(sum));
      }
    }
    scores.push_back(std::move(of));
  }
  return scores;
}

// The square of the first-order change of half the outputs' squares if the filter were zero, as a mean over the samples.
Scores taylor(const std::vector<Maker>& makers, const Calibration& calibration) {
  if (calibration.samples.count == 0) throw InvalidArgument("criterion: taylor needs samples");
  const Model& model = calibration.model;
  std::vector<std::string> names;
  for (const Maker& maker : makers) names.push_back(maker.node->input(1)->name());
  const std::map<std::string, Var> parameters = expr::parameters_of(model, names);
  Scores scores;
  for (const Maker& maker : makers) scores.emplace_back(maker.atoms.size());
  for (size_t s = 0; s < calibration.samples.count; ++s) {
    Watch::check();
    Vars inputs;
    for (const Tensor& tensor : checked_sample(model, calibration.samples, s)) inputs.push_back(expr::constant(tensor));
    Var loss;
    for (const Var& y : expr::apply(model, inputs, {.constants = parameters})) {
      if (y.dtype() != DType::f32) continue;
      const Var sum = expr::reduce_sum(y * y) * 0.5F;
      loss = loss.has_value() ? loss + sum : sum;
    }
    if (!loss.has_value()) throw Unsupported("criterion: taylor needs an output of f32");
    Vars wanted;
    for (const std::string& name : names) wanted.push_back(parameters.at(name));
    const Vars gradients = expr::gradients(loss, wanted);
    for (size_t i = 0; i < makers.size(); ++i) {
      const Tensor gradient = gradients[i].tensor();
      const float *g = gradient.data<float>(), *w = makers[i].node->input(1)->constant()->data<float>();
      std::vector<double> sums(makers[i].atoms.size());
      for_weights(makers[i], [&](size_t k, size_t o) { sums[o] += static_cast<double>(g[k]) * static_cast<double>(w[k]); });
      for (size_t o = 0; o < sums.size(); ++o) scores[i][o] += sums[o] * sums[o];
    }
  }
  return scores;
}

struct Criterion {
  const char *name, *doc;
  Scores (*judge)(const std::vector<Maker>& makers, const Calibration& calibration);
};
constexpr Criterion kCriteria[] = {
    {"l1", "sum of the weights' magnitudes", l1},
    {"geometric", "distance from the other filters of the layer", geometric},
    {"taylor", "change of the outputs on samples, to first order", taylor},
};
const Criterion& criterion_of(const std::string& name, const std::string& prefix = {}) {
  for (const Criterion& each : kCriteria)
    if (each.name == name) return each;
  throw InvalidArgument("{}criterion: \"{}\" is none of {}", prefix, name, names_of(kCriteria));
}

void check(const ChannelOptions& options, const std::string& prefix = {}) {
  (void)criterion_of(options.criterion, prefix);
  if (!(options.operations > 0 && options.operations <= 1))
    throw InvalidArgument("{}operations: {} is not above 0 and at most 1", prefix, options.operations);
  if (options.multiple == 0 || options.multiple > 4096)
    throw InvalidArgument("{}multiple: {} is not from 1 to 4096", prefix, options.multiple);
  if (!(options.most >= 0 && options.most < 1)) throw InvalidArgument("{}most: {} is not from 0 to below 1", prefix, options.most);
}

/// Channels that the same layers make.
struct Family {
  std::vector<size_t> makers;
  std::vector<std::pair<double, uint32_t>> channels;  // score and root, the least first
  size_t removed = 0, most = 0;
};

std::vector<Family> families_of(const ChannelGraph& channels, const Scores& scores, const ChannelOptions& options) {
  // A channel has makers, and the mean of its scores, each beside the mean of the layer.
  struct Channel {
    std::vector<size_t> makers;
    double sum = 0, count = 0;
    bool removable = true;
  };
  std::map<uint32_t, Channel> found;
  for (size_t m = 0; m < channels.makers().size(); ++m) {
    const Maker& maker = channels.makers()[m];
    double mean = 0;
    for (const double score : scores[m]) mean += score / static_cast<double>(scores[m].size());
    for (size_t o = 0; o < maker.atoms.size(); ++o) {
      Channel& channel = found[channels.root(maker.atoms[o])];
      if (channel.makers.empty() || channel.makers.back() != m) channel.makers.push_back(m);
      channel.sum += mean > 0 ? scores[m][o] / mean : 1, channel.count += 1;
      if (channels.is_fixed(maker.atoms[o]) || is_named(*maker.node, options.skip)) channel.removable = false;
    }
  }
  std::map<std::vector<size_t>, Family> families;
  for (const auto& [root, channel] : found) {
    if (!channel.removable) continue;
    Family& family = families[channel.makers];
    family.makers = channel.makers;
    family.channels.emplace_back(channel.sum / channel.count, root);
  }
  std::vector<Family> list;
  for (auto& [makers, family] : families) {
    std::sort(family.channels.begin(), family.channels.end());
    const size_t all = family.channels.size();
    const double least = std::max(1.0, std::ceil((1 - options.most) * static_cast<double>(all)));
    family.most = all - static_cast<size_t>(least);
    list.push_back(std::move(family));
  }
  return list;
}

}  // namespace

std::vector<MethodDescription> channel_criteria() {
  std::vector<MethodDescription> list;
  for (const Criterion& each : kCriteria) list.push_back({each.name, each.doc});
  return list;
}

void ChannelOptions::set(const std::string& key, const std::string& value, const std::string& prefix) try {
  ChannelOptions changed = *this;
  if (key == "operations")
    changed.operations = number(value, prefix + key);
  else if (key == "criterion")
    changed.criterion = value;
  else if (key == "multiple")
    changed.multiple = static_cast<size_t>(std::clamp(number(value, prefix + key), 0.0, 5000.0));
  else if (key == "most")
    changed.most = number(value, prefix + key);
  else if (key == "skip")
    changed.skip = words(value);
  else
    throw InvalidArgument("{}{}: there is no such option{}", prefix, key,
                          nearest(key, std::vector<std::string>{"operations", "criterion", "multiple", "most", "skip"}));
  check(changed, prefix);
  *this = std::move(changed);
} catch (...) {
  throw_as_error();
}

ChannelPruned prune_channels(const Model& model, const ChannelOptions& options, const Samples& samples) try {
  check(options);
  check_not_quantized(model, "fewer channels");
  const std::unique_ptr<Graph> graph = simplified(model);
  check_names(*graph, options.skip, "skip");
  ChannelGraph channels(*graph);
  ChannelReport report;
  for (const ChannelGraph::Refusal& refusal : channels.refusals()) report.refusals.emplace_back(label_of(*refusal.node), refusal.reason);
  const Model before = model_of(*graph, model);
  std::vector<Family> families =
      families_of(channels, criterion_of(options.criterion).judge(channels.makers(), {before, samples}), options);
  if (families.empty())
    throw Unsupported("{}: no channel can be removed{}", graph->source.empty() ? "the model" : graph->source,
                      report.refusals.empty() ? "" : format("; {}: {}", report.refusals[0].first, report.refusals[0].second));
  std::vector<bool> removed(channels.atoms(), false);
  report.operations_before = report.operations_after = channels.operations(removed);
  // Some channels at a time, so that a layer keeps whole vectors; those that matter least, beside the others of their layers.
  while (report.operations_after > options.operations * report.operations_before) {
    Watch::check();
    Family* best = nullptr;
    size_t best_count = 0;
    double least = std::numeric_limits<double>::infinity();
    for (Family& family : families) {
      const size_t all = family.channels.size(), left = all - family.removed;
      size_t count = all < 2 * options.multiple ? 1 : left % options.multiple ? left % options.multiple : options.multiple;
      if (family.removed + count > family.most) continue;
      double score = 0;
      for (size_t i = 0; i < count; ++i) score += family.channels[family.removed + i].first / static_cast<double>(count);
      if (score < least) least = score, best = &family, best_count = count;
    }
    if (!best) break;
    for (size_t i = 0; i < best_count; ++i) removed[best->channels[best->removed++].second] = true;
    if (!channels.keeps_some(removed)) {
      for (size_t i = 0; i < best_count; ++i) removed[best->channels[--best->removed].second] = false;
      best->most = best->removed;
      continue;
    }
    report.operations_after = channels.operations(removed);
  }
  const auto count_weights = [&] {
    size_t all = 0;
    for (const auto& constant : graph->constants()) all += static_cast<size_t>(constant->constant()->elements());
    return all;
  };
  report.weights_before = count_weights();
  for (const Family& family : families) {
    PrunedChannels row;
    for (const size_t m : family.makers) row.nodes.push_back(label_of(*channels.makers()[m].node));
    row.before = family.channels.size(), row.after = row.before - family.removed;
    report.groups.push_back(std::move(row));
  }
  options.mask ? channels.mask(removed) : channels.remove(removed);
  report.weights_after = count_weights();
  const Model made = model_of(*graph, model);
  return {convert_model(made, {.operators = model.impl()->custom_operators}), made, std::move(report)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
