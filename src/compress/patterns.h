// SPDX-License-Identifier: Apache-2.0
// Patterns of zeros among weights.
#pragma once
#include <minnow/tensor.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace minnow::compress {

struct Pattern {
  std::string_view name, doc;
  size_t inputs, outputs;  // of a block
  size_t kept;             // N:M: of each block's weights; 0: blocks are kept or dropped whole
};
std::span<const Pattern> pattern_table();
/// Nothing: there is none. Besides the table, any N:M with 1 <= N < M <= 16; the result refers to `name`.
std::optional<Pattern> find_pattern(std::string_view name);

/// How weights lie: that of output o, input i and tap t at o * output + i * input + t.
struct WeightPlaces {
  size_t outputs, inputs, taps, output, input;
  /// `axis`: of a matrix' outputs.
  static WeightPlaces of(const Shape& shape, size_t axis);
};

/// The blocks of a tensor and what each counts. Blocks at the end may be smaller.
struct Blocks {
  Pattern pattern;
  WeightPlaces places;
  std::vector<float> scores;  // of each block: the mean of its weights' scores

  Blocks(const Pattern& pattern, const WeightPlaces& places, const float* scores);
  /// The weights that block `index` has, at least 1.
  size_t size(size_t index) const noexcept;
  /// Sets to 0 what is dropped. `drop`: how many blocks, those that count least; of N:M patterns each block drops its own.
  void mask(size_t drop, const float* scores, uint8_t* kept) const;

 private:
  template <class F>
  void for_weights(size_t index, F&& f) const;
  size_t down_, across_;  // blocks along the outputs and along the inputs
};

}  // namespace minnow::compress
