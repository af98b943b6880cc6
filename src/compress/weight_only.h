// SPDX-License-Identifier: Apache-2.0
// Weight-only quantization: activations stay f32, weights become integers of 2 to 8 bits in blocks.
#pragma once
#include <minnow/compress.h>

#include "compress/blocks.h"
#include "compress/observer.h"
#include "compress/options.h"

namespace minnow::compress {

/// A product, a convolution, or a table whose rows a Gather looks up.
enum class BlockLayerKind : uint8_t { product, convolution, table };
struct BlockLayer {
  Layer layer;  // of a table: x are the indices
  BlockLayerKind kind = BlockLayerKind::product;
  int bits = 4;
};

class WeightOnly {
 public:
  /// The arguments must outlive it. Throws as quantize() does.
  WeightOnly(const Model& model, const Samples& samples, const QuantizeOptions& options);

  const std::vector<BlockLayer>& layers() const noexcept { return layers_; }
  /// Rounds the weights of layers to these bits, to nearest or by hqq; 32: they stay f32. For searches.
  void round_to(std::span<const int> bits);
  /// Bytes and relative square error of a layer's weights in so many bits.
  struct Cost {
    size_t bytes;
    double error;
  };
  Cost cost(size_t layer, int bits) const;
  Model rounded_model(bool standard = false) const { return with_blocks(standard); }
  /// Rounds the weights of all layers.
  void prepare(double more_runs);
  double runs_of_report() const { return 4 * evaluated() + 1; }
  Quantized result();

  /// Tells the progress.
  void one_run(double runs = 1);
  void expect_runs(double runs) { all_runs_ = runs; }

 private:
  double evaluated() const;
  void select_layers();
  std::string refusal_of(BlockLayer& found) const;
  void balance();        // AWQ
  void round_by_gram();  // GPTQ
  BlockRows rounded(const BlockLayer& layer, const Rows& rows) const;
  BlockForm form_of(const BlockLayer& layer, const Rows& rows) const;
  void observe(const Graph& graph, std::vector<std::string> names, const Observer::Visit& visit, double cost);
  void apply_factors(const std::vector<size_t>& readers, const std::vector<double>& factors);
  /// The graph with the rounded weights, in our own operators or in those of ONNX Runtime.
  Model with_blocks(bool standard) const;
  void report(Quantized& result);

  const Model& model_;
  const Samples& samples_;
  const QuantizeOptions& options_;
  const Settings settings_;
  std::unique_ptr<Graph> graph_;
  std::vector<BlockLayer> layers_;
  std::vector<Refusal> refusals_;
  std::vector<std::optional<BlockRows>> rows_;  // of layers
  double runs_ = 0, all_runs_ = 1;
  size_t sample_ = 0;
};

Quantized quantize_weights(const Model& model, const Samples& samples, const QuantizeOptions& options);

}  // namespace minnow::compress
