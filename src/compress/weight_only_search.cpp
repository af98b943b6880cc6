// SPDX-License-Identifier: Apache-2.0
// Mixed precision of weights: bits for each layer.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compress/quantization.h"
#include "compress/search.h"
#include "compress/weight_only.h"

namespace minnow::compress {
namespace {

constexpr int kChoices[] = {2, 3, 4, 5, 6, 8, 32};
constexpr int kProbed = 4;      // bits with which a layer alone is run
constexpr size_t kProbes = 4;   // samples that judge a single layer
constexpr size_t kPrices = 14;  // of a byte, in noise: each gives a choice

}  // namespace

SearchResult search_bits(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                         const SearchOptions& aims) {
  if (evaluation.count == 0) throw InvalidArgument("a search for bits needs evaluation or calibration samples");
  WeightOnly tried(model, samples, options);
  const size_t layers = tried.layers().size(), choices = std::size(kChoices);
  const double probes = static_cast<double>(std::min(kProbes, evaluation.count)), runs = static_cast<double>(evaluation.count);
  tried.expect_runs(1.2 * (static_cast<double>(layers) * (probes + 1) + static_cast<double>(kPrices + choices) * runs));
  QuantizeOptions of_result = options;
  of_result.progress = {};
  // Noise at the outputs when one layer alone is rounded, and by the errors of its weights, which have the square of a step.
  std::vector<std::vector<double>> noise(layers, std::vector<double>(choices)), bytes = noise;
  std::vector<int> bits(layers, 32);
  for (size_t i = 0; i < layers; ++i) {
    bits[i] = kProbed;
    tried.round_to(bits);
    bits[i] = 32;
    double sum = 0;
    for (const OutputReport& output : compare(model, tried.rounded_model(), {std::min(kProbes, evaluation.count), evaluation.at}))
      sum += std::pow(10, -std::clamp(output.fidelity.sqnr, -100.0, 200.0) / 10);
    const double of_probe = tried.cost(i, kProbed).error;
    for (size_t c = 0; c < choices; ++c) {
      const WeightOnly::Cost cost = tried.cost(i, kChoices[c]);
      bytes[i][c] = static_cast<double>(cost.bytes);
      noise[i][c] = of_probe > 0 ? sum * cost.error / of_probe : 0;
    }
    tried.one_run(probes + 1);
  }
  struct Tried {
    Candidate candidate;
    std::vector<int> bits;
  };
  std::vector<Tried> all;
  const auto attempt = [&](const std::vector<int>& chosen) {
    if (std::any_of(all.begin(), all.end(), [&](const Tried& other) { return other.bits == chosen; })) return;
    if (std::all_of(chosen.begin(), chosen.end(), [](int count) { return count == 32; })) return;
    tried.round_to(chosen);
    Tried made{{}, chosen};
    for (size_t i = 0; i < layers; ++i) {
      const std::string name = tried.layers()[i].layer.node->output(0)->name();
      if (chosen[i] == 32)
        made.candidate.f32.push_back(name);
      else
        made.candidate.bits[name] = chosen[i];
    }
    const Model rounded = tried.rounded_model();
    judge(made.candidate, model, rounded, options.portable ? tried.rounded_model(true) : rounded, evaluation, aims);
    all.push_back(std::move(made));
    tried.one_run(runs);
  };
  for (const int count : kChoices) attempt(std::vector<int>(layers, count));
  // For a price of a byte, each layer by itself takes the bits whose noise and bytes together cost least.
  double least = 1e300, most = 0;
  for (size_t i = 0; i < layers; ++i)
    for (size_t c = 0; c + 1 < choices; ++c) {
      const double slope = (noise[i][c] - noise[i][c + 1]) / std::max(bytes[i][c + 1] - bytes[i][c], 1.0);
      if (slope > 0) least = std::min(least, slope), most = std::max(most, slope);
    }
  for (size_t p = 0; p < kPrices && most > 0; ++p) {
    const double price = least * std::pow(most / least, (static_cast<double>(p) + 0.5) / kPrices);
    std::vector<int> chosen(layers);
    for (size_t i = 0; i < layers; ++i) {
      size_t best = 0;
      for (size_t c = 1; c < choices; ++c)
        if (noise[i][c] + price * bytes[i][c] < noise[i][best] + price * bytes[i][best]) best = c;
      chosen[i] = kChoices[best];
    }
    attempt(chosen);
  }
  std::stable_sort(all.begin(), all.end(), [](const Tried& a, const Tried& b) { return a.candidate.bytes < b.candidate.bytes; });
  std::vector<Candidate> candidates;
  for (const Tried& each : all) candidates.push_back(each.candidate);
  const Choice choice = choose(candidates, aims);
  // With the method that was asked for, which is closer than rounding to nearest.
  of_result.bits_for.clear();
  for (size_t i = 0; i < layers; ++i) of_result.bits_for[tried.layers()[i].layer.node->output(0)->name()] = all[choice.index].bits[i];
  SearchResult result{quantize_weights(model, samples, of_result), std::move(candidates), choice.index, choice.reached};
  for (LayerReport& row : result.quantized.report.layers)
    if (of_result.bits_for.contains(row.output) && of_result.bits_for[row.output] == 32) row.refusal = "it costs too much accuracy";
  result.quantized.report.outputs = compare(model, result.quantized.model, evaluation);
  result.quantized.report.evaluated = evaluation.count;
  return result;
}

}  // namespace minnow::compress
