// SPDX-License-Identifier: Apache-2.0
// Searches for bits of each layer: which mixes are tried, and which of them is taken.
#pragma once
#include <minnow/compress.h>

#include <memory>
#include <span>

namespace minnow::compress {

/// Compares models with one whose outputs are kept as far as memory allows, so that it runs once for each sample.
class Reference {
 public:
  /// The arguments must outlive it. `most_bytes`: of the outputs that are kept.
  Reference(const Model& model, const Samples& samples, size_t most_bytes);
  ~Reference();
  /// On the first `count` samples.
  std::vector<OutputReport> compare(const Model& other, size_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
inline constexpr size_t kMostKept = size_t{256} << 20;  // bytes of outputs that a search keeps
inline constexpr size_t kProbes = 4;                    // samples that judge a single layer

/// Bits of each layer that were tried.
struct Tried {
  Candidate candidate;
  std::vector<int> bits;
  bool is_measured = false;  // the candidate's bytes are by size_of; else estimated
};

/// The choices of bits for a layer; the noise at the outputs and the bytes of each: [layer][choice].
struct LayerCosts {
  std::vector<int> choices;
  std::vector<std::vector<double>> noise, bytes;
  bool may_all_be_f32 = true;  // else one layer at least has integers
};

class Mixes {
 public:
  /// Makes the model with these bits, optimized or in the form that sizes count.
  using Make = std::function<Model(std::span<const int> bits)>;
  /// The arguments must outlive it.
  Mixes(const LayerCosts& costs, const SearchOptions& aims, Reference& reference, size_t samples, Make optimized, Make plain)
      : costs_(costs), aims_(aims), reference_(reference), samples_(samples), optimized_(std::move(optimized)), plain_(std::move(plain)) {}
  /// Tries all layers alike, and mixes: for a price of a byte in noise, each layer by itself takes the bits whose noise and bytes together
  /// cost least. `name`: fills in which layers a candidate has in f32 and in how many bits the others. `one_run`: is told of each.
  void run(const std::function<void(Candidate&, std::span<const int> bits)>& name, const std::function<void()>& one_run);
  /// How many candidates run() tries at most.
  static size_t most(size_t choices);
  /// Sorts what was tried by size and takes one. Returns its place, and sets `reached`.
  size_t settle(bool& reached);
  std::vector<Tried>& tried() noexcept { return tried_; }

 private:
  const Candidate* attempt(std::vector<int> bits, bool measure);
  const Candidate* attempt(double price);  // null where that gives no integers and these have to be
  size_t measured(std::span<const int> bits) const;
  /// The bytes of layers, and a mean of beside_layers_.
  double estimate(std::span<const int> bits) const;

  const LayerCosts& costs_;
  const SearchOptions& aims_;
  Reference& reference_;
  const size_t samples_;
  const Make optimized_, plain_;
  std::function<void(Candidate&, std::span<const int>)> name_;
  std::function<void()> one_run_;
  std::vector<Tried> tried_;
  std::vector<double> beside_layers_;  // bytes of a file beside those of its layers, if all have the same choice
};

/// The noise of outputs relative to their signal, summed.
double noise_of(std::span<const OutputReport> outputs);

/// The search with weights_only: bits for each layer.
SearchResult search_bits(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                         const SearchOptions& aims);

}  // namespace minnow::compress
