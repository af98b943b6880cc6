// SPDX-License-Identifier: Apache-2.0
// A model on the way to integers: ranges and weights are found once, for all layers; results may leave some of them in f32.
#pragma once
#include <minnow/compress.h>

#include <span>
#include <unordered_map>

#include "compress/insertion.h"
#include "compress/observer.h"
#include "compress/options.h"

namespace minnow::compress {

size_t bytes_of_constants(const Graph& graph);
/// The operations of a layer whose output has so many elements, each a sum of `depth` products.
inline double operations_of(int64_t elements, int64_t depth) { return 2 * static_cast<double>(elements) * static_cast<double>(depth); }

/// In place of the bits of a layer's weights: the layer computes in f32.
constexpr int kF32 = 32;

/// W (input 1) or R (input 2) of a recurrence, with the gates of all directions as rows.
Rows gate_rows(const Node& recurrence, size_t input);

class Quantization {
 public:
  /// The arguments must outlive it. `trained`: numbers come from training, which knows one scale for each activation. `more_bits`: other
  /// widths of weights that layers may have, beside that of the options. `f16`: weights that stay f32 are rounded as files of f16 weights
  /// store them. Throws as quantize() does.
  Quantization(const Model& model, const Samples& samples, const QuantizeOptions& options, bool trained = false,
               std::span<const int> more_bits = {}, bool f16 = false);

  /// Calibrates. `more_runs`: of the work behind it, for progress.
  void prepare(double more_runs);
  /// In place of prepare(): numbers that were found in another way, of the selection's groups, layers and recurrences.
  void take(std::span<const Quantizer> quantizers, std::vector<LayerNumbers> numbers, std::vector<RecurrenceNumbers> recurrences);
  const Selection& selection() const noexcept { return selection_; }
  const Quantizer& quantizer_of(const Value* value) const { return quantizers_.at(value->name()); }
  const Settings& settings() const noexcept { return settings_; }
  const Graph& graph() const noexcept { return *graph_; }
  const std::vector<Layer>& layers() const noexcept { return selection_.layers; }
  /// How many nodes have bits of their own: layers, and behind them recurrences.
  size_t count() const noexcept { return selection_.layers.size() + selection_.recurrences.size(); }
  const Node& node_at(size_t place) const {
    const size_t layers = selection_.layers.size();
    return place < layers ? *selection_.layers[place].node : *selection_.recurrences[place - layers];
  }
  /// The bits that the options ask for.
  int bits() const noexcept { return levels_[0].bits; }
  /// The model with QuantizeLinear and DequantizeLinear around the layers. `bits`: of the weights of each node_at(), or kF32; empty: those
  /// of the options.
  Model plain(std::span<const int> bits) const;
  /// The model that computes with integers, optimized.
  Model optimized(const Model& plain) const;
  /// The same with its report.
  Quantized result(std::span<const int> bits);
  /// The bytes of the weights, scales and biases of a node_at() in a .minnow file.
  size_t bytes_of(size_t place, int bits) const;
  /// A layer's bias, corrected if the options say so; empty: there is none.
  std::span<const double> bias_of(size_t layer) const noexcept { return levels_[0].numbers[layer].bias; }
  /// Tells the progress.
  void one_run(double runs = 1);
  double runs_of_report() const { return 4 * evaluated() + 1; }

 private:
  double evaluated() const;
  void observe(std::vector<std::string> names, const Observer::Visit& visit, double cost = 1);
  void smooth_channels();
  void find_ranges();
  void set_ranges(const RangeMethod& method);
  const RangeMethod& best_method();
  void round_weights();
  void improve_rounding();
  void correct_biases();
  RecurrenceNumbers rounded(const Node& recurrence, int most) const;
  LayerReport row_of(size_t recurrence, int bits) const;
  void report(std::span<const int> bits, Quantized& result);

  struct Level {
    int bits, most;                     // weights are integers from -most to most
    std::vector<LayerNumbers> numbers;  // of layers
    std::vector<RecurrenceNumbers> recurrences;
  };
  const Level& level_of(int bits) const;

  const Model& model_;
  const Samples& samples_;
  const QuantizeOptions& options_;
  const Settings settings_;
  const bool f16_, trained_;
  std::unique_ptr<Graph> graph_;
  Selection selection_;
  std::vector<TensorStatistics> statistics_;               // of groups
  std::vector<std::vector<TensorStatistics>> channels_;    // of each channel of a group whose channels have scales of their own; else empty
  std::unordered_map<std::string, Quantizer> quantizers_;  // of the values in groups
  std::vector<Level> levels_;                              // the first is that of the options
  double runs_ = 0, all_runs_ = 1;                         // for progress
  size_t sample_ = 0;                                      // of the run that observe() is in
};

}  // namespace minnow::compress
