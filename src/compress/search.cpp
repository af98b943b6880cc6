// SPDX-License-Identifier: Apache-2.0
// Mixed precision: the bits of each layer's weights, and which layers stay f32.
#include "compress/search.h"

#include <algorithm>

#include "base/error.h"
#include "base/no_memory.h"
#include "compress/names.h"
#include "compress/quantization.h"
#include "compress/sparing.h"

namespace minnow::compress {
namespace {

constexpr int kFewBits = 4;           // beside those of the options
constexpr double kNoiseOfF32 = 1e-7;  // of a layer whose weights are f16: far below that of integers

SearchResult search_layers(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                           const SearchOptions& aims) {
  if (evaluation.count == 0) throw InvalidArgument("there are no evaluation samples");
  std::vector<int> more_bits;
  if (options.weight_bits == 0 && aims.compact) more_bits.push_back(kFewBits);
  Quantization quantization(model, samples, options, false, more_bits, aims.compact);
  LayerCosts costs{more_bits, {}, {}, true};
  costs.choices.push_back(quantization.bits());
  const size_t layers = quantization.count(), widths = costs.choices.size(), probes = std::min(kProbes, evaluation.count);
  costs.choices.push_back(kF32);
  const double of_candidate = static_cast<double>(evaluation.count);
  quantization.prepare(static_cast<double>(layers * widths * probes) + static_cast<double>(Mixes::most(widths + 1)) * of_candidate +
                       quantization.runs_of_report());
  Reference reference(model, evaluation, kMostKept);
  // The noise at the outputs when one layer alone is quantized.
  for (size_t i = 0; i < layers; ++i) {
    std::vector<double> noise, bytes;
    for (const int bits : costs.choices) {
      bytes.push_back(static_cast<double>(quantization.bytes_of(i, bits)));
      if (bits == kF32) {
        noise.push_back(kNoiseOfF32);
        continue;
      }
      noise.push_back(noise_alone(quantization, reference, i, bits, probes));
    }
    costs.noise.push_back(std::move(noise)), costs.bytes.push_back(std::move(bytes));
  }
  Mixes mixes(
      costs, aims, reference, evaluation.count, [&](std::span<const int> bits) { return quantization.optimized(quantization.plain(bits)); },
      [&](std::span<const int> bits) { return quantization.plain(bits); });
  mixes.run(
      [&](Candidate& candidate, std::span<const int> bits) {
        for (size_t i = 0; i < layers; ++i) {
          const Node& node = quantization.node_at(i);
          if (bits[i] == kF32)
            candidate.f32.push_back(node.name());
          else if (widths > 1)
            candidate.bits[first_output(node).name()] = bits[i];
        }
      },
      [&] { quantization.one_run(of_candidate); });
  bool reached = false;
  const size_t chosen = mixes.settle(reached);
  SearchResult result{quantization.result(mixes.tried()[chosen].bits), {}, chosen, reached};
  for (Tried& each : mixes.tried()) result.candidates.push_back(std::move(each.candidate));
  result.quantized.report.outputs = reference.compare(result.quantized.model, evaluation.count);
  result.quantized.report.evaluated = evaluation.count;
  return result;
}

}  // namespace

SearchResult search(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                    const SearchOptions& aims) try {
  SearchResult result = options.weights_only.empty() ? search_layers(model, samples, evaluation, options, aims)
                                                     : search_bits(model, samples, evaluation, options, aims);
  if (options.progress) options.progress(1);
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
