// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd's minimal filtering, on the packed layout: 3x3 of stride 1 with a quarter (f4) or four ninths (f2) of the
// products, of stride 2 with 56 or 69 % of them. The image is cut into tiles of M x M outputs; for a block of tiles, everything between
// input and output stays in L2.
#pragma once
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {

class WinogradConv {
 public:
  struct Options {
    WinogradForm form = WinogradForm::f4;
    size_t threads = 1;
    size_t l2 = 1 << 20;  // bytes
  };
  struct Arguments {
    const float* x;     // packed
    const float* w;     // as pack_weights wrote them
    const float* bias;  // one of every channel in whole vectors, or null
    const float* add;   // packed like y, or null
    float* y;           // packed
  };

  static bool can_serve(const ConvShape& shape, WinogradForm form) {
    const WinogradNumbers numbers = numbers_of(form);
    const size_t taps = static_cast<size_t>(numbers.taps), stride = static_cast<size_t>(numbers.stride);
    return shape.kernel_h == taps && shape.kernel_w == taps && shape.stride_h == stride && shape.stride_w == stride &&
           shape.dilation_h == 1 && shape.dilation_w == 1 && shape.groups == 1;
  }
  WinogradConv(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue);

  size_t weight_floats() const noexcept { return positions_ * out_vectors_ * lanes_ * shape_.in_channels; }
  /// From [out channel][in channel][kernel_h][kernel_w]; the transform is computed in double precision.
  void pack_weights(const float* oihw, float* out) const noexcept;
  size_t bias_floats() const noexcept { return out_vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  /// First all transform units, then, once they are done, all product units. Where `shared_floats` is zero there is nothing to transform
  /// beforehand: every product unit does it in its own scratch.
  size_t transform_units() const noexcept { return shared_ ? shape_.batch * blocks_ * in_vectors_ : 0; }
  size_t shared_floats() const noexcept { return shared_ ? shape_.batch * blocks_ * block_floats_ : 0; }
  void transform(size_t unit, const Arguments& arguments, float* shared) const noexcept;
  size_t units() const noexcept { return shape_.batch * blocks_ * chunks_; }
  size_t scratch_floats() const noexcept { return product_floats_ + (shared_ ? 0 : block_floats_); }
  void run(size_t unit, const Arguments& arguments, const float* shared, float* scratch) const noexcept;

 private:
  struct Block {
    size_t first, tiles, plane;  // plane: floats between the positions of the transformed input
  };
  Block block(size_t index) const noexcept;
  void transform_vector(const Block& block, const float* image, size_t vector, float* v) const noexcept;

  ConvShape shape_;
  Epilogue epilogue_;
  const TileKernels* tile_;
  void (*input_)(const float*, size_t, float*, size_t);
  void (*output_)(const WinogradOutput&);
  WinogradForm form_;
  size_t lanes_, m_, a_, step_, positions_;  // M; positions along an axis; inputs between tiles; positions
  size_t in_vectors_, out_vectors_;
  size_t tiles_w_, tiles_;
  size_t blocks_, chunks_ = 1;
  bool shared_ = false;
  size_t block_floats_, product_floats_;
};

}  // namespace minnow::cpu
