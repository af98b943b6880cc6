// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/quantization.h"
#include "compress/search.h"

namespace minnow::compress {
namespace {

constexpr size_t kPrices = 14;   // of a byte, in noise
constexpr size_t kHalvings = 5;  // between the last price that reaches the aims and the first that does not

bool is_accurate(const Candidate& candidate, const SearchOptions& aims) {
  const bool keeps_classes = candidate.agreement >= 0 && 100 * (1 - candidate.agreement) <= aims.max_drop + 1e-9;
  return candidate.sqnr >= aims.min_sqnr && (aims.max_drop < 0 || keeps_classes);
}
bool is_small(const Candidate& candidate, const SearchOptions& aims) { return aims.most_bytes == 0 || candidate.bytes <= aims.most_bytes; }
bool wants_accuracy(const SearchOptions& aims) { return aims.max_drop >= 0 || aims.min_sqnr > -1000; }

/// `tried`: the smallest first.
size_t choose(std::span<const Tried> tried, const SearchOptions& aims, bool& reached) {
  size_t chosen = tried.size();
  // Small enough and accurate enough: the smallest, or the closest where only the size is limited.
  for (size_t i = 0; i < tried.size(); ++i) {
    const Candidate& candidate = tried[i].candidate;
    if (!is_small(candidate, aims) || !is_accurate(candidate, aims)) continue;
    if (chosen == tried.size() || (!wants_accuracy(aims) && candidate.sqnr > tried[chosen].candidate.sqnr)) chosen = i;
  }
  reached = chosen < tried.size();
  // Else the closest of those that are small enough; if none is, the smallest.
  for (size_t i = 0; !reached && i < tried.size(); ++i)
    if (is_small(tried[i].candidate, aims) && (chosen == tried.size() || tried[i].candidate.sqnr > tried[chosen].candidate.sqnr))
      chosen = i;
  return chosen == tried.size() ? 0 : chosen;
}

}  // namespace

double noise_of(std::span<const OutputReport> outputs) {
  double sum = 0;
  for (const OutputReport& output : outputs) sum += std::pow(10, -std::clamp(output.fidelity.sqnr, -100.0, 200.0) / 10);
  return sum;
}

size_t Mixes::most(size_t choices) { return choices + kPrices + kHalvings; }

double Mixes::estimate(std::span<const int> bits) const {
  double sum = 0;
  for (size_t i = 0; i < bits.size(); ++i)
    for (size_t c = 0; c < costs_.choices.size(); ++c)
      if (costs_.choices[c] == bits[i])
        sum += costs_.bytes[i][c] +
               (beside_layers_.empty() ? 0 : beside_layers_[std::min(c, beside_layers_.size() - 1)] / static_cast<double>(bits.size()));
  return sum;
}

const Candidate* Mixes::attempt(std::vector<int> bits, bool measure) {
  for (const Tried& other : tried_)
    if (other.bits == bits) return &other.candidate;
  Tried made{{}, std::move(bits)};
  Candidate& candidate = made.candidate;
  name_(candidate, made.bits);
  made.is_measured = measure;
  candidate.bytes = measure ? measured(made.bits) : static_cast<size_t>(std::max(0.0, estimate(made.bits)));
  candidate.sqnr = std::numeric_limits<double>::infinity();
  for (const OutputReport& output : reference_.compare(optimized_(made.bits), samples_)) {
    candidate.sqnr = std::min(candidate.sqnr, output.fidelity.sqnr);
    if (output.agreement >= 0)
      candidate.agreement = candidate.agreement < 0 ? output.agreement : std::min(candidate.agreement, output.agreement);
  }
  one_run_();
  return &tried_.emplace_back(std::move(made)).candidate;
}

size_t Mixes::measured(std::span<const int> bits) const {
  const Model plain = plain_(bits);
  return aims_.size_of ? aims_.size_of(plain) : bytes_of_constants(plain.graph());
}

const Candidate* Mixes::attempt(double price) {
  std::vector<int> bits;
  for (size_t i = 0; i < costs_.noise.size(); ++i) {
    size_t best = 0;
    const auto cost = [&](size_t c) { return costs_.noise[i][c] + price * costs_.bytes[i][c]; };
    for (size_t c = 1; c < costs_.choices.size(); ++c)
      if (cost(c) < cost(best)) best = c;
    bits.push_back(costs_.choices[best]);
  }
  const bool all_f32 = std::all_of(bits.begin(), bits.end(), [](int each) { return each == kF32; });
  return all_f32 && !costs_.may_all_be_f32 ? nullptr : attempt(std::move(bits), false);
}

void Mixes::run(const std::function<void(Candidate&, std::span<const int>)>& name, const std::function<void()>& one_run) {
  name_ = name, one_run_ = one_run;
  std::vector<double> beside;
  for (const int choice : costs_.choices) {
    if (choice == kF32 && !costs_.may_all_be_f32) continue;
    const std::vector<int> bits(costs_.noise.size(), choice);
    beside.push_back(static_cast<double>(attempt(bits, true)->bytes) - estimate(bits));
  }
  beside_layers_ = std::move(beside);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (size_t i = 0; i < costs_.noise.size(); ++i)
    for (size_t c = 0; c + 1 < costs_.choices.size(); ++c) {
      const double slope = (costs_.noise[i][c] - costs_.noise[i][c + 1]) / std::max(costs_.bytes[i][c + 1] - costs_.bytes[i][c], 1.0);
      if (slope > 0) least = std::min(least, slope), most = std::max(most, slope);
    }
  if (!(most > 0)) return;
  // Between two prices of which one reaches the aims, the border is looked for.
  const auto fits = [&](const Candidate* candidate) {
    if (!candidate) return wants_accuracy(aims_);
    return wants_accuracy(aims_) ? is_accurate(*candidate, aims_) : is_small(*candidate, aims_);
  };
  double inside = 0, outside = 0, before = 0;
  bool fitted = false;
  for (size_t p = 0; p < kPrices; ++p) {
    const double price = least * std::pow(most / least, (static_cast<double>(p) + 0.5) / kPrices);
    const bool fit = fits(attempt(price));
    // High prices make files small: accuracy is lost as the price rises, and sizes fit.
    if (wants_accuracy(aims_) ? fitted && !fit : !fitted && fit && p > 0) inside = fit ? price : before, outside = fit ? before : price;
    fitted = fit, before = price;
  }
  for (size_t k = 0; k < kHalvings && inside > 0; ++k) {
    const double price = std::sqrt(inside * outside);
    (fits(attempt(price)) ? inside : outside) = price;
  }
}

size_t Mixes::settle(bool& reached) {
  for (;;) {
    std::stable_sort(tried_.begin(), tried_.end(), [](const Tried& a, const Tried& b) { return a.candidate.bytes < b.candidate.bytes; });
    const size_t chosen = choose(tried_, aims_, reached);
    Tried& taken = tried_[chosen];
    if (taken.is_measured) {
      double highest = -std::numeric_limits<double>::infinity();
      for (Tried& each : tried_)
        if (each.candidate.sqnr > highest) highest = each.candidate.sqnr, each.candidate.best = true;
      return chosen;
    }
    taken.candidate.bytes = measured(taken.bits), taken.is_measured = true;
  }
}

}  // namespace minnow::compress
