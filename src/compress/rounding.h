// SPDX-License-Identifier: Apache-2.0
// Rounding of weights that keeps the layer's output, not each weight, near.
#pragma once
#include "compress/insertion.h"

namespace minnow::compress {

/// Products of a layer's inputs with each other, summed over sampled positions: the error of an output is a quadratic form of them. Layers
/// with many inputs are taken apart into blocks, whose errors are treated as independent.
class Gram {
 public:
  explicit Gram(const Layer& layer);
  /// Adds positions of one run's input, quantized as the layer will read it. `seed` chooses them.
  void add(const Tensor& x, const Quantizer& quantizer, size_t positions, uint64_t seed);

  struct Block {
    size_t begin, size;          // inputs of a group
    std::vector<double> matrix;  // [size][size]
  };
  const std::vector<Block>& blocks(size_t group) const noexcept { return groups_[group]; }
  size_t groups() const noexcept { return groups_.size(); }
  size_t bytes() const noexcept;

 private:
  void add_patches(const Tensor& x, const Quantizer& quantizer, size_t positions, uint64_t seed);
  void add_row(size_t group, const std::vector<double>& inputs);
  const Layer layer_;
  size_t depth_ = 0;
  std::vector<std::vector<Block>> groups_;
};

struct RoundingMethod {
  std::string_view name, doc;
  /// Rounds again what round_to_nearest() gave; null for "nearest".
  void (*improve)(const Rows& rows, IntegerRows& integers, int most, const Gram& gram);
};
std::span<const RoundingMethod> rounding_methods();
const RoundingMethod* rounding_method(std::string_view name);

/// The sum over outputs of the squared error that rounding causes, for tests.
double output_error(const Rows& rows, const IntegerRows& integers, const Gram& gram);

}  // namespace minnow::compress
