// SPDX-License-Identifier: Apache-2.0
// 1x1 convolutions of many channels by one level of Strassen's algorithm in Winograd's variant: 7 products of half the size along each
// dimension instead of 8. The sums of weights are packed beforehand; those of the input are one pass; those of products are part of the
// tiles. Source: Winograd 1971, "On multiplication of 2 x 2 matrices", Linear Algebra and its Applications 4.
#pragma once
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {

class StrassenConv {
 public:
  struct Arguments {
    const float* x;     // packed
    const float* w;     // as pack_weights wrote them
    const float* bias;  // one of every channel in whole vectors, or null
    const float* add;   // packed like y, or null
    float* y;           // packed
  };

  static bool can_serve(const ConvShape& shape, size_t lanes) {
    return shape.taps() == 1 && shape.groups == 1 && shape.stride_h == 1 && shape.stride_w == 1 && shape.pad_top == 0 &&
           shape.pad_left == 0 && shape.out_h == shape.in_h && shape.out_w == shape.in_w && shape.in_channels % (2 * lanes) == 0 &&
           shape.out_channels >= 4 * lanes;
  }
  StrassenConv(const Kernels& kernels, const ConvShape& shape, const Epilogue& epilogue);

  size_t weight_floats() const noexcept { return chunk_weights(chunks_) + rest_ * lanes_ * shape_.in_channels; }
  /// From [out channel][in channel]; the sums are rounded once.
  void pack_weights(const float* oi, float* out) const noexcept;
  size_t bias_floats() const noexcept { return out_vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  /// First all sums of the input, then, once they are there, all product units. Neither depends on the number of threads.
  size_t sum_units() const noexcept { return shape_.batch * blocks_ * (in_vectors_ / 2); }
  size_t shared_floats() const noexcept { return shape_.batch * blocks_ * block_floats(); }
  void sum(size_t unit, const Arguments& arguments, float* shared) const noexcept;
  size_t units() const noexcept { return shape_.batch * blocks_ * (chunks_ + (rest_ ? 1 : 0)); }
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  void run(size_t unit, const Arguments& arguments, const float* shared, float* scratch) const noexcept;

 private:
  // Some pixels of an image, in two halves that overlap by one where their number is odd.
  struct Block {
    size_t image, first, pixels, half, low;  // low: where the second half begins
  };
  Block block(size_t index) const noexcept;
  size_t half_of(size_t pixels) const noexcept { return (pixels + 1) / 2; }
  size_t block_floats() const noexcept { return 4 * in_vectors_ / 2 * half_of(ceil_div(pixels_, blocks_)) * lanes_; }
  // Where the output channels of a chunk begin, in vectors; chunks_ is the end of all that the algorithm computes.
  size_t chunk_begin(size_t chunk) const noexcept { return share(quads_, chunks_, chunk) * 4; }
  size_t chunk_weights(size_t chunk) const noexcept { return chunk_begin(chunk) * lanes_ * shape_.in_channels / 4 * 7; }
  void rest(const Block& block, const Arguments& arguments) const noexcept;

  ConvShape shape_;
  Epilogue epilogue_;
  const TileKernels* tile_;
  size_t lanes_, in_vectors_, out_vectors_;
  size_t pixels_, blocks_, quads_, chunks_;
  size_t rest_;  // vectors of output channels beyond the quads
  size_t scratch_floats_;
};

}  // namespace minnow::cpu
