// SPDX-License-Identifier: Apache-2.0
// Products with sparse weights. Lanes are pixels (or rows of a matrix), so that a weight of any output is one broadcast, and a weight that
// is zero costs nothing: Elsen et al. 2020, "Fast Sparse ConvNets", arXiv:1911.09723.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// Outputs of a block, whose weights for an input are kept if one of them is not zero.
inline constexpr size_t kSparseHeights[] = {1, 4};
inline constexpr size_t kMostSparseVectors = 8;

/// `blocks` blocks of outputs, for some vectors of neighbouring pixels: y[output * row_step + pixel] = sum over the block's terms of
/// w[term][output of the block] * x[offsets[term] + pixel].
struct SparseTile {
  const float* x;
  const uint32_t* counts;   // terms of each block
  const uint32_t* offsets;  // of each term, in floats
  const float* w;
  size_t blocks;
  float* y;
  size_t row_step;
};
using SparseFunction = void (*)(const SparseTile&);

/// Sums on their way to the output: to[pixel * to_step + lane] = clamp(sums[lane * row_step + pixel] + bias[lane] + add[pixel * to_step +
/// lane]) for `lanes` lanes; with `scale`, the sums are multiplied by it and rounded to integers before they are clamped.
struct SparseResult {
  const float* sums;
  size_t row_step, pixels, lanes;
  const float* bias;   // of each lane, or null
  const float* add;    // or null
  const float* scale;  // of each lane, or null
  float low, high;
  float* to;
  size_t to_step;
};

struct SparseKernels {
  size_t vectors[2];                                     // most of a tile, for each height
  const SparseFunction (*tile)[kMostSparseVectors + 1];  // [height][vectors]
  SparseFunction row[2];                                 // [height]: of a single pixel; row_step is not read
  /// to[lane * to_step + p] = from[p * from_step + lane] for each lane of a vector.
  void (*turn)(const float* from, size_t from_step, size_t pixels, float* to, size_t to_step);
  /// Reads up to three sums beyond the last pixel of each lane, if the lanes are a vector.
  void (*finish)(const SparseResult& result);
};

}  // namespace minnow::cpu
