// SPDX-License-Identifier: Apache-2.0
// Mixed precision of weights: bits for each layer.
#include <algorithm>

#include "base/error.h"
#include "compress/quantization.h"
#include "compress/search.h"
#include "compress/weight_only.h"

namespace minnow::compress {
namespace {

constexpr int kChoices[] = {2, 3, 4, 5, 6, 8, 32};
constexpr int kProbed = 4;  // bits with which a layer alone is run

}  // namespace

SearchResult search_bits(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                         const SearchOptions& aims) {
  if (evaluation.count == 0) throw InvalidArgument("a search for bits needs evaluation or calibration samples");
  WeightOnly tried(model, samples, options);
  const size_t layers = tried.layers().size(), probes = std::min(kProbes, evaluation.count);
  const double of_probe = static_cast<double>(probes) + 1, of_candidate = static_cast<double>(evaluation.count);
  LayerCosts costs{{std::begin(kChoices), std::end(kChoices)}, {}, {}, false};
  tried.expect_runs(1.2 * (static_cast<double>(layers) * of_probe + static_cast<double>(Mixes::most(costs.choices.size())) * of_candidate));
  QuantizeOptions of_result = options;
  of_result.progress = {};
  Reference reference(model, evaluation, kMostKept);
  // Noise at the outputs when one layer alone is rounded, and by the errors of its weights, which have the square of a step.
  std::vector<int> alone(layers, 32);
  for (size_t i = 0; i < layers; ++i) {
    alone[i] = kProbed;
    tried.round_to(alone);
    alone[i] = 32;
    const double sum = noise_of(reference.compare(tried.rounded_model(), probes)), of_probed = tried.cost(i, kProbed).error;
    std::vector<double> noise, bytes;
    for (const int bits : kChoices) {
      const WeightOnly::Cost cost = tried.cost(i, bits);
      bytes.push_back(static_cast<double>(cost.bytes));
      noise.push_back(of_probed > 0 ? sum * cost.error / of_probed : 0);
    }
    costs.noise.push_back(std::move(noise)), costs.bytes.push_back(std::move(bytes));
    tried.one_run(of_probe);
  }
  const auto rounded = [&](std::span<const int> bits, bool standard) {
    tried.round_to(bits);
    return tried.rounded_model(standard);
  };
  Mixes mixes(
      costs, aims, reference, evaluation.count, [&](std::span<const int> bits) { return rounded(bits, false); },
      [&](std::span<const int> bits) { return rounded(bits, options.portable); });
  mixes.run(
      [&](Candidate& candidate, std::span<const int> bits) {
        for (size_t i = 0; i < layers; ++i) {
          const std::string& name = tried.layers()[i].layer.node->output(0)->name();
          if (bits[i] == 32)
            candidate.f32.push_back(name);
          else
            candidate.bits[name] = bits[i];
        }
      },
      [&] { tried.one_run(of_candidate); });
  bool reached = false;
  const size_t chosen = mixes.settle(reached);
  // With the method that was asked for, which is closer than rounding to nearest.
  of_result.bits_for.clear();
  for (size_t i = 0; i < layers; ++i) of_result.bits_for[tried.layers()[i].layer.node->output(0)->name()] = mixes.tried()[chosen].bits[i];
  SearchResult result{quantize_weights(model, samples, of_result), {}, chosen, reached};
  for (Tried& each : mixes.tried()) result.candidates.push_back(std::move(each.candidate));
  for (LayerReport& row : result.quantized.report.layers)
    if (of_result.bits_for.contains(row.output) && of_result.bits_for[row.output] == 32) row.refusal = kCostsTooMuch;
  result.quantized.report.outputs = reference.compare(result.quantized.model, evaluation.count);
  result.quantized.report.evaluated = evaluation.count;
  return result;
}

}  // namespace minnow::compress
