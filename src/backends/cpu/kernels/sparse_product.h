// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products with sparse weights. A block of pixels is turned so that lanes are pixels, multiplied by the weights
// that are not zero, and turned back into the layout of the output.
#pragma once
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"
#include "base/saturating.h"

namespace minnow::cpu {

/// Weights as they come: one of output o, input channel c and tap t is data[o * output + c * channel + t], times `factor`.
struct SparseWeights {
  const float* data;
  size_t output, channel;
  float factor = 1;
};

class SparseProduct {
 public:
  struct Options {
    size_t height = 1;      // of blocks: the index of kSparseHeights
    bool matrices = false;  // x is [out_w][in_channels], y [out_w][out_channels]; else both are packed images
    size_t threads = 1;
    size_t l1 = 32 << 10, l2 = 1 << 20;  // bytes
  };
  struct Arguments {
    const float* x;
    const float* bias;  // of every channel in whole vectors, or null
    const float* add;   // like y, or null
    float* y;
  };
  /// One group. `shape` of matrices: an image of one row.
  SparseProduct(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue);

  /// Blocks with a weight other than zero.
  static size_t count_terms(const ConvShape& shape, const SparseWeights& weights, size_t height) noexcept;
  /// Packed: terms of each block, the offset of each term, its weights.
  size_t packed_bytes(size_t terms) const noexcept;
  void pack(const SparseWeights& weights, size_t terms, void* out) const noexcept;
  /// The numbers that offsets depend on.
  size_t plane() const noexcept { return plane_; }
  size_t pitch() const noexcept { return pitch_; }
  /// Uses packed weights from now on.
  void set_weights(const void* packed, size_t terms);

  size_t bias_floats() const noexcept { return out_vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  /// For estimates: vectors of pixels that tiles compute, tiles, numbers turned on the way in, all of one run; times that the input is
  /// turned.
  double vectors() const noexcept;
  double tiles() const noexcept;
  double turned() const noexcept;
  size_t chunks() const noexcept { return chunks_; }

  size_t units() const noexcept { return product_of({shape_.batch, blocks_, chunks_}); }
  size_t scratch_floats() const noexcept { return sum_of({x_floats_, y_floats_}); }
  /// `before`: the unit that ran in this scratch before, if any.
  void run(size_t unit, const Arguments& arguments, float* scratch, size_t before = SIZE_MAX) const noexcept;

 private:
  size_t height() const noexcept { return kSparseHeights[height_]; }
  size_t out_blocks() const noexcept { return ceil_div(shape_.out_channels, height()); }
  void choose_blocks(const Options& options);
  void turn(const float* x, size_t block, float* to) const noexcept;
  void turn_run(const float* from, size_t step, size_t pixels, size_t channels, float* to, size_t to_step) const noexcept;
  void multiply_row(size_t row, size_t chunk, const Arguments& arguments, float* scratch) const noexcept;

  ConvShape shape_;
  Epilogue epilogue_;
  const SparseKernels* kernels_;
  const LayoutKernels* layout_;
  size_t lanes_, height_;
  bool matrices_;
  bool flat_;         // pixels are one long row, which tiles read as it is
  bool few_ = false;  // a few rows of matrices, which are multiplied one by one as they are
  size_t width_;      // of an output row as tiles see it
  size_t in_vectors_, out_vectors_;
  // Where the stride is above 1, taps that read the same columns and rows share a plane: phases.
  struct Phase {
    size_t y, x;
  };
  std::vector<Phase> phases_;
  std::vector<size_t> taps_;  // offset of each tap, in a plane of its phase
  std::vector<size_t> phase_of_;
  size_t most_down_ = 0, pitch_ = 0, plane_ = 0;
  size_t blocks_ = 1, block_rows_ = 1, block_pixels_ = 0, chunks_ = 1;
  size_t x_floats_ = 0, y_floats_ = 0;
  const uint32_t *counts_ = nullptr, *offsets_ = nullptr;
  const float* w_ = nullptr;
  std::vector<size_t> starts_;        // the first term of each vector of outputs
  std::vector<size_t> chunk_begins_;  // in vectors of outputs
};

}  // namespace minnow::cpu
