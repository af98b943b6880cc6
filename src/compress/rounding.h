// SPDX-License-Identifier: Apache-2.0
// Rounding of weights that keeps the layer's output, not each weight, near.
#pragma once
#include <span>

#include "compress/insertion.h"

namespace minnow::compress {

/// Products of a layer's inputs with each other, summed over sampled positions: the error of an output is a quadratic form of them. Layers
/// with many inputs are taken apart into blocks, whose errors are treated as independent.
class Gram {
 public:
  static constexpr size_t kMostBlock = 576;  // inputs: 64 channels of 3x3
  /// Blocks have at most `most` inputs and begin at multiples of `step` (0: at whole channels).
  explicit Gram(const Layer& layer, size_t most = kMostBlock, size_t step = 0);
  /// Adds positions of one run's input, quantized as the layer will read it (null: as it is). `seed` chooses them.
  void add(const Tensor& x, const Quantizer* quantizer, size_t positions, uint64_t seed);
  void add(const Tensor& x, const Quantizer& quantizer, size_t positions, uint64_t seed) { add(x, &quantizer, positions, seed); }

  struct Block {
    size_t begin, size;          // inputs of a group
    std::vector<double> matrix;  // [size][size]
  };
  const std::vector<Block>& blocks(size_t group) const noexcept { return groups_[group]; }
  /// The products of inputs that are divided by these factors; of one group.
  Gram divided(std::span<const double> factors) const;
  size_t groups() const noexcept { return groups_.size(); }
  size_t bytes() const noexcept;

 private:
  void add_patches(const Tensor& x, const Quantizer* quantizer, size_t positions, uint64_t seed);
  /// Rows wait until there are a few, which then share the traffic of the matrices.
  double* next_row(size_t group);
  void flush(size_t group);
  static constexpr size_t kRowsAtOnce = 8;
  const Layer layer_;
  size_t depth_ = 0;
  std::vector<std::vector<Block>> groups_;
  std::vector<std::vector<double>> waiting_;  // of groups: [row][depth]
};

/// The upper triangle U with U'U = inverse(A) for a symmetric positive definite A; empty if it is not.
std::vector<double> root_of_inverse(std::vector<double> a, size_t n);

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
