// SPDX-License-Identifier: Apache-2.0
#include "compress/patterns.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace minnow::compress {
namespace {

constexpr Pattern kPatterns[] = {
    {"1x4", "one input by four outputs", 1, 4, 0},
    {"4x4", "four inputs by four outputs", 4, 4, 0},
    {"1x16", "one input by sixteen outputs", 1, 16, 0},
    {"unstructured", "each weight by itself", 1, 1, 0},
    {"2:4", "two of four neighbouring inputs of each output are kept; other N:M, up to M = 16, likewise", 4, 1, 2},
};

constexpr size_t kLongestGroup = 16;  // M of N:M

std::optional<size_t> count_of(std::string_view digits) {
  size_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return count;
}

}  // namespace

std::span<const Pattern> pattern_table() { return kPatterns; }

std::optional<Pattern> find_pattern(std::string_view name) {
  const auto found = std::find_if(std::begin(kPatterns), std::end(kPatterns), [&](const Pattern& each) { return each.name == name; });
  if (found != std::end(kPatterns)) return *found;
  const size_t colon = name.find(':');
  if (colon == name.npos) return {};
  const auto kept = count_of(name.substr(0, colon)), group = count_of(name.substr(colon + 1));
  if (!kept || !group || *kept < 1 || *kept >= *group || *group > kLongestGroup) return {};
  return Pattern{name, "N of M neighbouring inputs of each output are kept", *group, 1, *kept};
}

WeightPlaces WeightPlaces::of(const Shape& shape, size_t axis) {
  const auto size = [&](size_t i) { return static_cast<size_t>(shape[i]); };
  if (shape.rank() == 2) return {size(axis), size(1 - axis), 1, axis ? 1 : size(1), axis ? size(1) : 1};
  const size_t taps = static_cast<size_t>(shape.product(2, shape.rank()));
  return {size(0), size(1), taps, size(1) * taps, taps};
}

template <class F>
void Blocks::for_weights(size_t index, F&& f) const {
  const size_t tap = index % places.taps, across = index / places.taps % across_, down = index / places.taps / across_;
  const size_t last_output = std::min(places.outputs, (down + 1) * pattern.outputs);
  const size_t last_input = std::min(places.inputs, (across + 1) * pattern.inputs);
  for (size_t o = down * pattern.outputs; o < last_output; ++o)
    for (size_t i = across * pattern.inputs; i < last_input; ++i) f(o * places.output + i * places.input + tap);
}

Blocks::Blocks(const Pattern& of, const WeightPlaces& at, const float* weights) : pattern(of), places(at) {
  down_ = (places.outputs + of.outputs - 1) / of.outputs, across_ = (places.inputs + of.inputs - 1) / of.inputs;
  scores.resize(down_ * across_ * places.taps);
  for (size_t b = 0; b < scores.size(); ++b) {
    double sum = 0;
    for_weights(b, [&](size_t place) { sum += static_cast<double>(weights[place]); });
    scores[b] = static_cast<float>(sum / static_cast<double>(size(b)));
  }
}

size_t Blocks::size(size_t index) const noexcept {
  const size_t across = index / places.taps % across_, down = index / places.taps / across_;
  return std::min(pattern.outputs, places.outputs - down * pattern.outputs) *
         std::min(pattern.inputs, places.inputs - across * pattern.inputs);
}

void Blocks::mask(size_t drop, const float* weights, uint8_t* kept) const {
  if (pattern.kept != 0) {
    std::vector<size_t> order;
    for (size_t b = 0; b < scores.size(); ++b) {
      order.clear();
      for_weights(b, [&](size_t place) { order.push_back(place); });
      if (order.size() <= pattern.kept) continue;
      std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return weights[x] > weights[y]; });
      for (size_t i = pattern.kept; i < order.size(); ++i) kept[order[i]] = 0;
    }
    return;
  }
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  drop = std::min(drop, order.size());
  // Equal scores in the order of blocks, so that results are the same everywhere.
  std::nth_element(order.begin(), order.begin() + static_cast<ptrdiff_t>(drop), order.end(),
                   [&](size_t x, size_t y) { return scores[x] != scores[y] ? scores[x] < scores[y] : x < y; });
  for (size_t i = 0; i < drop; ++i) for_weights(order[i], [&](size_t place) { kept[place] = 0; });
}

}  // namespace minnow::compress
