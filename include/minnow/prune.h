// SPDX-License-Identifier: Apache-2.0
// Pruning of trained models: weights become zero in patterns that sparse kernels gain from, or whole channels are removed.
// The library minnow_compress (CMake: Minnow::compress, option MINNOW_COMPRESS).
//
//   minnow::compress::Pruned pruned = minnow::compress::prune(minnow::convert("classifier.onnx"), {.sparsity = 0.8, .pattern = "1x4"});
//   minnow::save(pruned.model, "classifier.minnow");
#pragma once
#include <minnow/compress.h>

#include <optional>
#include <string>
#include <vector>

namespace minnow::compress {

/// Patterns of zeros. A block of AxB is A neighbouring inputs by B neighbouring outputs, at one tap of a filter; N:M keeps N of M
/// neighbouring inputs of an output, for any N below M and M up to 16 (the list has 2:4).
MINNOW_API std::vector<MethodDescription> prune_patterns();
/// How the zeros are distributed over the layers.
MINNOW_API std::vector<MethodDescription> prune_distributions();

struct PruneOptions {
  double sparsity = -1;                  // part of the weights that become zero, 0 to 1; below 0: 0.8, or that of an N:M pattern
  std::string pattern = "1x4";           // one of prune_patterns(), or N:M
  std::string distribution = "uniform";  // one of prune_distributions()
  std::vector<std::string> layers = {};  // names of nodes, or operators, `*` and `?` stand for any characters; empty: all
  std::vector<std::string> skip = {};    // the same of layers that stay dense

  /// Sets an option by its name in recipes. Throws InvalidArgument, beginning with `prefix`, for an unknown name or a wrong value.
  MINNOW_API void set(const std::string& key, const std::string& value, const std::string& prefix = {});
};

struct PrunedLayer {
  std::string node, op;
  std::string refusal;     // why it stays dense; empty if it is pruned
  size_t weights = 0;      // all of them
  size_t zeros = 0;        // afterwards
  double kept_energy = 1;  // sum of the squares of the weights, after to before
};
struct PruneReport {
  std::vector<PrunedLayer> layers;
  size_t weights = 0, zeros = 0;  // of all layers with constant weights
};
struct Pruned {
  Model model;  // optimized, for running and for .minnow files
  Model plain;  // in plain operators, for ONNX files
  PruneReport report;
};
/// Sets the weights of least magnitude of a copy of `model` to zero. Batch normalizations are folded into the weights first. Throws
/// InvalidArgument for options that do not fit the model, and Unsupported if no layer can be pruned.
MINNOW_API Pruned prune(const Model& model, const PruneOptions& options = {});

/// How channels are judged.
MINNOW_API std::vector<MethodDescription> channel_criteria();

struct ChannelOptions {
  double operations = 0.5;             // part of the multiply-adds that remains, above 0 to 1
  std::string criterion = "l1";        // one of channel_criteria()
  size_t multiple = 8;                 // layers keep a multiple of it where they have twice as many channels
  double most = 0.9;                   // part of a layer's channels that may be removed
  std::vector<std::string> skip = {};  // layers whose outputs stay: names of nodes, or operators, `*` and `?` stand for any characters
  bool mask = false;                   // the weights that read the channels become zero, and nothing is removed

  /// Sets an option by its name in recipes (operations, criterion, multiple, most, skip). Throws like PruneOptions::set.
  MINNOW_API void set(const std::string& key, const std::string& value, const std::string& prefix = {});
};
struct PrunedChannels {
  std::vector<std::string> nodes;  // layers whose output channels are removed together
  size_t before = 0, after = 0;
};
struct ChannelReport {
  std::vector<PrunedChannels> groups;
  std::vector<std::pair<std::string, std::string>> refusals;  // nodes that channels could not be followed through, and why
  double operations_before = 0, operations_after = 0;         // multiply-adds of one run; open dimensions count as 1
  size_t weights_before = 0, weights_after = 0;               // numbers
};
struct ChannelPruned {
  Model model, plain;  // as of Pruned
  ChannelReport report;
};
/// Removes the channels that matter least from a copy of `model`, with all that depends on them: the filters that make them, the weights
/// that read them, in residual sums and joins those of all layers together. `samples` are read by criterion "taylor" alone. Throws
/// InvalidArgument for wrong options, and Unsupported if no channel can be removed.
MINNOW_API ChannelPruned prune_channels(const Model& model, const ChannelOptions& options = {}, const Samples& samples = {});

struct LowRankOptions {
  double energy = 0.95;                  // part of the sum of squares that factors keep, above 0 to 1
  double most = 0.8;                     // a layer is factored if its multiply-adds fall to this part of those before, or less
  std::vector<std::string> layers = {};  // as of PruneOptions
  std::vector<std::string> skip = {};
  /// Sets an option by its name in recipes (energy, most, layers, skip). Throws like PruneOptions::set.
  MINNOW_API void set(const std::string& key, const std::string& value, const std::string& prefix = {});
};
struct FactoredLayer {
  std::string node, op;
  std::string refusal;                     // why it stays whole; empty if it is factored
  size_t inputs = 0, outputs = 0;          // channels
  size_t input_rank = 0, output_rank = 0;  // of a convolution with several taps; otherwise both are the rank
  double energy = 1;                       // of the factors' product, part of that of the weights
  size_t weights_before = 0, weights_after = 0;
};
struct Factored {
  Model model, plain;  // as of Pruned
  std::vector<FactoredLayer> layers;
};
/// Replaces layers of a copy of `model` by two or three smaller ones: products and 1x1 convolutions by the singular value decomposition,
/// other convolutions by Tucker-2 (Kim et al. 2016, arXiv:1511.06530). Ranks are multiples of 8. Throws InvalidArgument for wrong options,
/// Unsupported if no layer gets cheaper, and NoSolution if a decomposition does not converge.
MINNOW_API Factored factor(const Model& model, const LowRankOptions& options = {});

struct PaletteOptions {
  int bits = 4;                          // 2 to 8: each weight is one of 2^bits numbers; stored in 2, 4 or 8 bits
  size_t smallest = 32768;               // weights of fewer numbers stay as they are
  std::vector<std::string> layers = {};  // as of PruneOptions
  std::vector<std::string> skip = {};
  /// Sets an option by its name in recipes (bits, smallest, layers, skip). Throws like PruneOptions::set.
  MINNOW_API void set(const std::string& key, const std::string& value, const std::string& prefix = {});
};
struct PalettedLayer {
  std::string node, op;
  std::string refusal;     // why its weights stay as they are; empty if they have a palette
  Fidelity fidelity = {};  // of the weights
  size_t bytes_before = 0, bytes_after = 0;
};
struct Paletted {
  Model model, plain;  // as of Pruned
  std::vector<PalettedLayer> layers;
};
/// Replaces the weights of layers by indices into a palette, which k-means finds (Han et al. 2016, "Deep compression", arXiv:1510.00149).
/// Files get smaller; weights are looked up while they are packed, and runs take as long as before. Zeros stay zeros. Throws
/// InvalidArgument for wrong options, and Unsupported if no layer has such weights.
MINNOW_API Paletted palettize(const Model& model, const PaletteOptions& options = {});

/// The steps of a recipe before quantization, in this order: channels, low rank, prune, palette. A key begins with the name of its step:
/// channels_operations, low_rank_energy, prune_sparsity, palette_bits.
class Steps {
 public:
  /// Sets an option of a step, which then takes place. Returns false for a key of none. Throws InvalidArgument, beginning with `prefix`.
  MINNOW_API bool set(const std::string& key, const std::string& value, const std::string& prefix = {});
  bool empty() const noexcept { return !channels && !low_rank && !prune && !palette; }
  /// Throws InvalidArgument, beginning with `prefix`, for a palette that quantization with these options would not keep.
  MINNOW_API void check(const QuantizeOptions& options, const std::string& prefix = {}) const;
  struct Result {
    Model model, plain;
    std::vector<std::string> sentences;  // what each step did
  };
  /// `samples` are needed by criterion "taylor" alone. Throws Unsupported for a model whose weights are quantized.
  MINNOW_API Result apply(const Model& model, const Samples& samples = {}) const;

  std::optional<ChannelOptions> channels;
  std::optional<LowRankOptions> low_rank;
  std::optional<PruneOptions> prune;
  std::optional<PaletteOptions> palette;
};

/// The mask of a pattern: 1 where a weight is kept, else 0, u8 in the shape of `scores` (f32, finite). `scores`: how much each
/// weight counts; a block counts their sum. Tensors of rank 3 and more are filters [output, input, taps...]; of rank 2 matrices, whose
/// outputs lie along `axis`. Throws InvalidArgument for another dtype or rank, an unknown pattern, and a sparsity that is not from 0 to 1
/// or not that of an N:M pattern.
MINNOW_API Tensor prune_mask(const TensorView& scores, const std::string& pattern, double sparsity, size_t axis = 0);
/// The constants that are weights of layers, input 1 of a node: name, and the axis of a matrix' outputs (0 for filters).
MINNOW_API std::vector<std::pair<std::string, size_t>> weight_axes(const Model& model);

}  // namespace minnow::compress
