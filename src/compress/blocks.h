// SPDX-License-Identifier: Apache-2.0
// Weights as integers of 2 to 8 bits in blocks along a layer's inputs, each block with a scale and a zero point of its own.
#pragma once
#include <span>

#include "compress/rounding.h"
#include "graph/nbits.h"

namespace minnow::compress {

struct BlockForm {
  int bits = 4;
  size_t block = 64;       // weights that share a scale
  bool symmetric = false;  // the zero point is the middle of the integers
  bool half = true;        // scales, and zero points that are no integers, are numbers of f16
  int most() const noexcept { return (1 << bits) - 1; }
  int middle() const noexcept { return 1 << (bits - 1); }
};

/// weight = scale * (integer - zero)
struct BlockGrid {
  float scale = 0, zero = 0;
  uint8_t nearest(float weight, int most) const noexcept;
  float number(uint8_t integer) const noexcept { return scale * (static_cast<float>(integer) - zero); }
};

struct BlockRows {
  BlockRows(const BlockForm& form, size_t channels, size_t depth);
  BlockForm form;
  size_t channels, depth;
  std::vector<uint8_t> integers;  // [channel][depth]
  std::vector<BlockGrid> grids;   // [channel][block]
  bool real_zeros = false;        // some zero point is no integer

  size_t blocks() const noexcept { return (depth + form.block - 1) / form.block; }
  BlockGrid* grids_of(size_t channel) noexcept { return grids.data() + channel * blocks(); }
  const BlockGrid* grids_of(size_t channel) const noexcept { return grids.data() + channel * blocks(); }
  Rows numbers() const;

  /// The constants of minnow.MatMulNBits; no zero points where the form is symmetric. `bits`: those of the result, as many or more.
  struct Tensors {
    Tensor numbers, scales, zeros;
  };
  Tensors packed(int bits, DType scales) const;
  /// The constants of DequantizeLinear with a block size: u4, u8, i4 or i8. Zero points must be integers.
  Tensors plain(DType scales) const;
  size_t bytes() const noexcept;  // of packed()
};

/// Whether f16 holds the scales of these weights without underflow or overflow.
bool fit_half(const Rows& rows, const BlockForm& form);

/// The grid of one block: from its extremes, or with `search` the one with the least square error among narrower ones, weighted by
/// `importance` (empty: all alike).
BlockGrid grid_of(std::span<const float> weights, std::span<const float> importance, const BlockForm& form, bool search);

/// Each weight to the nearest integer.
BlockRows round_blocks(const Rows& rows, const BlockForm& form, bool search, std::span<const float> importance = {});
/// Badri and Shaji, "Half-Quadratic Quantization of Large Machine Learning Models": zero points that minimize the sum of |error|^0.7, by
/// turns with a shrinking step that sets outliers apart; residuals are counted in steps. Symmetric forms move the scale instead.
BlockRows round_half_quadratic(const Rows& rows, const BlockForm& form, bool integer_zeros);
/// Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", with a grid for each block that is
/// found when the errors of earlier weights have moved into it. The blocks of `gram` must begin at multiples of form.block.
BlockRows round_gptq(const Rows& rows, const BlockForm& form, bool search, const Gram& gram);
/// Lin et al., "AWQ: Activation-aware Weight Quantization": factors of inputs, by a power of their mean magnitudes, with which rounding
/// W * factor costs the outputs of all `readers` least. `gram`: of the input that they share. All 1 if no power gains.
std::vector<double> activation_aware_factors(std::span<const Rows* const> readers, const BlockForm& form, bool search, const Gram& gram,
                                             std::span<const double> magnitudes);

/// The sum over outputs of the squared error that rounding causes.
double output_error(const Rows& wanted, const Rows& got, const Gram& gram);
/// The diagonal of a Gram of one group: how much the square of each weight's error counts.
std::vector<float> importance_of(const Gram& gram);

struct BlockMethod {
  std::string_view name, doc;
  bool needs_samples;
};
std::span<const BlockMethod> block_methods();
const BlockMethod* block_method(std::string_view name);

}  // namespace minnow::compress
