// SPDX-License-Identifier: Apache-2.0
// Mixed precision: which layers stay f32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/no_memory.h"
#include "compress/fidelity.h"
#include "compress/quantization.h"
#include "compress/search.h"

namespace minnow::compress {
namespace {

constexpr size_t kProbes = 4;  // samples that judge a single layer

class Search {
 public:
  Search(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options, const SearchOptions& aims)
      : model_(model), evaluation_(evaluation), aims_(aims), quantization_(model, samples, options) {
    if (evaluation.count == 0) throw InvalidArgument("there are no evaluation samples");
    const double layers = static_cast<double>(this->layers().size()), probes = static_cast<double>(std::min(kProbes, evaluation.count));
    quantization_.prepare(layers * probes + 2 * (2 + 2 * std::log2(layers + 1)) * static_cast<double>(evaluation.count) +
                          quantization_.runs_of_report());
  }

  SearchResult run() {
    const std::vector<double> noise = noise_of_layers();
    try_number({}, 0);
    // The worst layers first, and those that give the most for their bytes.
    for (const double power : {0.0, 1.0}) {
      std::vector<size_t> order(layers().size());
      std::iota(order.begin(), order.end(), size_t{0});
      const auto worth = [&](size_t i) {
        return noise[i] / std::pow(static_cast<double>(layers()[i].weights->constant()->elements()), power);
      };
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return worth(a) > worth(b); });
      const size_t most = layers().size() - std::min<size_t>(layers().size(), 1);  // one layer at least is quantized
      for (size_t count = 1, step = 1; count <= most; count += step) {
        try_number(order, count);
        if (count >= 4) step = count / 2;
      }
    }
    return choose();
  }

 private:
  struct Tried {
    Candidate candidate;
    std::vector<bool> excluded;
  };
  const std::vector<Layer>& layers() const { return quantization_.layers(); }

  /// The noise at the outputs, relative to their signal, when one layer alone is quantized.
  std::vector<double> noise_of_layers() {
    std::vector<double> noise;
    for (size_t i = 0; i < layers().size(); ++i) {
      std::vector<bool> others(layers().size(), true);
      others[i] = false;
      double sum = 0;
      const size_t probes = std::min(kProbes, evaluation_.count);
      for (const OutputReport& output : compare(model_, quantization_.plain(others), {probes, evaluation_.at}))
        sum += std::pow(10, -std::clamp(output.fidelity.sqnr, -100.0, 200.0) / 10);
      noise.push_back(sum);
      quantization_.one_run(static_cast<double>(probes));
    }
    return noise;
  }

  void try_number(const std::vector<size_t>& order, size_t count) {
    Tried tried;
    tried.excluded.assign(layers().size(), false);
    for (size_t i = 0; i < count; ++i) tried.excluded[order[i]] = true;
    for (const Tried& other : tried_)
      if (other.excluded == tried.excluded) return;
    const Model model = quantization_.plain(tried.excluded);
    Candidate& candidate = tried.candidate;
    for (size_t i = 0; i < layers().size(); ++i)
      if (tried.excluded[i]) candidate.f32.push_back(layers()[i].node->name());
    judge(candidate, model_, model, model, evaluation_, aims_);
    quantization_.one_run(static_cast<double>(evaluation_.count));
    tried_.push_back(std::move(tried));
  }

  SearchResult choose() {
    std::stable_sort(tried_.begin(), tried_.end(), [](const Tried& a, const Tried& b) { return a.candidate.bytes < b.candidate.bytes; });
    std::vector<Candidate> candidates;
    for (Tried& tried : tried_) candidates.push_back(std::move(tried.candidate));
    const Choice choice = compress::choose(candidates, aims_);
    SearchResult result{quantization_.result(tried_[choice.index].excluded), std::move(candidates), choice.index, choice.reached};
    result.quantized.report.outputs = compare(model_, result.quantized.model, evaluation_);
    result.quantized.report.evaluated = evaluation_.count;
    return result;
  }

  const Model& model_;
  const Samples& evaluation_;
  const SearchOptions& aims_;
  Quantization quantization_;
  std::vector<Tried> tried_;
};

}  // namespace

void judge(Candidate& candidate, const Model& before, const Model& after, const Model& plain, const Samples& evaluation,
           const SearchOptions& aims) {
  candidate.bytes = aims.size_of ? aims.size_of(plain) : bytes_of_constants(plain.graph());
  candidate.sqnr = std::numeric_limits<double>::infinity();
  for (const OutputReport& output : compare(before, after, evaluation)) {
    candidate.sqnr = std::min(candidate.sqnr, output.fidelity.sqnr);
    if (output.agreement >= 0)
      candidate.agreement = candidate.agreement < 0 ? output.agreement : std::min(candidate.agreement, output.agreement);
  }
}

Choice choose(std::vector<Candidate>& candidates, const SearchOptions& aims) {
  const auto is_accurate = [&](const Candidate& candidate) {
    const bool keeps_classes = candidate.agreement >= 0 && 100 * (1 - candidate.agreement) <= aims.max_drop + 1e-9;
    return candidate.sqnr >= aims.min_sqnr && (aims.max_drop < 0 || keeps_classes);
  };
  const auto is_small = [&](const Candidate& candidate) { return aims.most_bytes == 0 || candidate.bytes <= aims.most_bytes; };
  double highest = -std::numeric_limits<double>::infinity();
  for (Candidate& candidate : candidates)
    if (candidate.sqnr > highest) highest = candidate.sqnr, candidate.best = true;
  const bool wants_accuracy = aims.max_drop >= 0 || aims.min_sqnr > -1000;
  size_t chosen = candidates.size();
  // Small enough and accurate enough: the smallest, or the closest where only the size is limited.
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!is_small(candidate) || !is_accurate(candidate)) continue;
    if (chosen == candidates.size() || (!wants_accuracy && candidate.sqnr > candidates[chosen].sqnr)) chosen = i;
  }
  const bool reached = chosen < candidates.size();
  // Else the closest of those that are small enough; if none is, the smallest.
  for (size_t i = 0; !reached && i < candidates.size(); ++i)
    if (is_small(candidates[i]) && (chosen == candidates.size() || candidates[i].sqnr > candidates[chosen].sqnr)) chosen = i;
  return {chosen == candidates.size() ? 0 : chosen, reached};
}

SearchResult search(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                    const SearchOptions& aims) try {
  SearchResult result = options.weights_only.empty() ? Search(model, samples, evaluation, options, aims).run()
                                                     : search_bits(model, samples, evaluation, options, aims);
  if (options.progress) options.progress(1);
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
