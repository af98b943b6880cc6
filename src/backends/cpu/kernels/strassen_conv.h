// SPDX-License-Identifier: Apache-2.0
// 1x1 convolutions of many channels, and products of matrices, by one level of Strassen's algorithm in Winograd's variant: 7 products of
// half the size along each dimension instead of 8. The sums of weights are packed beforehand; those of the input are one pass; those of
// products are part of the tiles. Source: Winograd 1971, "On multiplication of 2 x 2 matrices", Linear Algebra and its Applications 4.
#pragma once
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {

class StrassenConv {
 public:
  struct Arguments {
    const float* x;     // packed, or [pixels][in channels] where `rows` are wanted
    const float* w;     // as pack_weights wrote them
    const float* bias;  // one of every channel in whole vectors, or null
    const float* add;   // like y, or null
    float* y;           // packed, or [pixels][out channels]
  };

  static bool can_serve(const ConvShape& shape, size_t lanes) {
    return shape.taps() == 1 && shape.groups == 1 && shape.stride_h == 1 && shape.stride_w == 1 && shape.pad_top == 0 &&
           shape.pad_left == 0 && shape.out_h == shape.in_h && shape.out_w == shape.in_w && shape.in_channels % (2 * lanes) == 0 &&
           shape.out_channels >= 4 * lanes;
  }
  /// Whether the product of row-major matrices [m, k] and [k, n] can be computed, as the convolution of an image of m pixels.
  static bool can_serve_rows(size_t k, size_t n, size_t lanes) { return k % (2 * lanes) == 0 && n >= 4 * lanes && n % lanes == 0; }
  /// `rows`: x, y and `add` are row-major matrices, and the batch is 1.
  StrassenConv(const Kernels& kernels, const ConvShape& shape, const Epilogue& epilogue, size_t threads = 1, bool rows = false);

  size_t weight_floats() const noexcept { return chunk_weights(chunks_) + rest_ * lanes_ * shape_.in_channels; }
  /// From [out channel][in channel]; the sums are rounded once.
  void pack_weights(const float* oi, float* out) const noexcept { pack_weights({oi, shape_.in_channels, 1, 1}, out); }
  /// From weights that lie `out_step` and `in_step` floats apart; each is multiplied by `factor`.
  struct Weights {
    const float* data;
    size_t out_step, in_step;
    float factor;
    float at(size_t o, size_t i) const noexcept { return factor * data[o * out_step + i * in_step]; }
  };
  void pack_weights(const Weights& weights, float* out) const noexcept;
  size_t bias_floats() const noexcept { return out_vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  /// The work is cut into units that may run at the same time, each with scratch of its own. What they compute does not depend on the
  /// number of threads.
  size_t units() const noexcept { return shape_.batch * blocks_ * parts_ * (chunks_ + (rest_ ? 1 : 0)); }
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  /// `before`: the unit that ran in this scratch before, if any: its sums of the input may serve again.
  void run(size_t unit, const Arguments& arguments, float* scratch, size_t before = SIZE_MAX) const noexcept;

 private:
  // Neighbouring pixels of the upper half of a block, and those as far behind the middle. Where the pixels are odd in number, the last one
  // of the upper half has no partner, and counts as if that were zero.
  struct Part {
    size_t image, first, second;  // the image; its first pixels of both halves
    size_t pixels, bottom;        // in the upper and in the lower half
    size_t row;                   // floats between vectors of sums
  };
  Part part(size_t index) const noexcept;
  size_t most_pixels() const noexcept { return ceil_div((ceil_div(pixels_, blocks_) + 1) / 2, parts_); }
  // An odd number of vectors: cache lines whose distance is a power of two would push each other out.
  size_t row_of(size_t pixels) const noexcept { return (pixels | 1) * lanes_; }
  size_t panels() const noexcept { return rows_ ? 8 : 4; }  // of half the input channels each: the sums, and before them rows as an image
  size_t sum_floats() const noexcept { return panels() * (in_vectors_ / 2) * row_of(most_pixels()); }
  void sum(const Part& part, const Arguments& arguments, float* scratch) const noexcept;
  // Where the output channels of a chunk begin, in vectors; chunks_ is the end of all that the algorithm computes.
  size_t chunk_begin(size_t chunk) const noexcept { return share(quads_, chunks_, chunk) * 4; }
  size_t chunk_weights(size_t chunk) const noexcept { return chunk_begin(chunk) * lanes_ * shape_.in_channels / 4 * 7; }
  // A quarter of the input: its first vector, and the distance to the next.
  struct Left {
    const float* data;
    size_t step;
  };
  Left left_of(size_t quarter, const Part& part, const Arguments& arguments, const float* scratch) const noexcept;
  void rest(const Part& part, const Arguments& arguments, const float* scratch) const noexcept;
  void finish(float* y, size_t vectors, size_t pixels) const noexcept;  // epilogue_.after over a tile

  ConvShape shape_;
  Epilogue epilogue_;
  const TileKernels* tile_;
  size_t lanes_, in_vectors_, out_vectors_;
  size_t pixels_, blocks_, parts_, quads_, chunks_;
  bool rows_;
  size_t y_pixel_, y_vector_;  // floats from one pixel, and from one vector of output channels, to the next
  size_t rest_;                // vectors of output channels beyond the quads
  size_t scratch_floats_;
};

}  // namespace minnow::cpu
