// SPDX-License-Identifier: Apache-2.0
// 1x1 convolutions of many channels, and matrix products, by one or two levels of Strassen's algorithm in Winograd's variant: each level
// computes 7 products of half the size along each dimension instead of 8. Sums of constant weights are computed at their use, a panel of
// two vectors at a time, so they need no more memory than the plain weights; sums of computed weights are packed in every run. Sums of the
// input take one pass per level; tiles compute the sums of products. Source: Winograd 1971, "On multiplication of 2 x 2 matrices", Linear
// Algebra and its Applications 4.
#pragma once
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"
#include "base/saturating.h"

namespace minnow::cpu {

class StrassenConv {
 public:
  struct Arguments {
    const float* x;     // packed, or [pixels][in channels] where `rows` are wanted
    const float* w;     // of the slice, as pack_weights wrote them
    const float* bias;  // one of every channel in whole vectors, or null
    const float* add;   // like y, or null
    float* y;           // packed, or [pixels][out channels]
    size_t slice = 0;
  };
  struct Options {
    size_t threads = 1;
    bool rows = false;        // x, y and `add` are row-major matrices, and the batch is 1
    size_t levels = 1;        // 2: only of rows
    bool makes_sums = false;  // of weights, in the tile that first uses them; of one level
  };

  static bool can_serve(const ConvShape& shape, size_t lanes) {
    return shape.taps() == 1 && shape.groups == 1 && shape.stride_h == 1 && shape.stride_w == 1 && shape.pad_top == 0 &&
           shape.pad_left == 0 && shape.out_h == shape.in_h && shape.out_w == shape.in_w && shape.in_channels % (2 * lanes) == 0 &&
           shape.out_channels >= 4 * lanes;
  }
  /// Whether the product of row-major matrices [m, k] and [k, n] can be computed, as the convolution of an image of m pixels.
  static bool can_serve_rows(size_t m, size_t k, size_t n, size_t lanes, size_t levels = 1) {
    return k % (lanes << levels) == 0 && n >= (2 * lanes << levels) && n % lanes == 0 && (levels == 1 || (m >= 4 && m % 4 == 0));
  }
  StrassenConv(const Kernels& kernels, const ConvShape& shape, const Epilogue& epilogue, const Options& options = {1, false, 1, false});

  /// Deep products are computed in slices of the input channels; each slice adds to the results of those before it.
  size_t slices() const noexcept { return slices_; }
  size_t slice_floats() const noexcept { return chunk_weights(chunks_) + rest_ * lanes_ * in_; }
  size_t weight_floats() const noexcept { return slices_ * slice_floats(); }
  // Packed weights depend on these.
  size_t levels() const noexcept { return levels_; }
  size_t chunks() const noexcept { return chunks_; }
  bool makes_sums() const noexcept { return makes_sums_; }
  /// Weights with the strides `out_step` and `in_step`, in floats, one of which is 1; each weight is multiplied by `factor`.
  struct Weights {
    const float* data;
    size_t out_step, in_step;
    float factor = 1;
  };
  /// All slices, one after another.
  void pack_weights(const Weights& weights, float* out) const noexcept;
  void pack_weights(const float* oi, float* out) const noexcept { pack_weights(Weights{oi, shape_.in_channels, 1}, out); }
  /// A slice's weights are packed in so many parts, which may be packed at the same time.
  size_t weight_parts() const noexcept { return groups_ + (rest_ ? 1 : 0); }
  void pack_weights(const Weights& weights, size_t slice, size_t part, float* slice_out) const noexcept;
  size_t bias_floats() const noexcept { return out_vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  /// For estimates: the sums of weights computed during products, and the pixels of all products. The latter exceed the image's pixels if
  /// blocks have odd numbers of pixels.
  double sums_made() const noexcept { return makes_sums_ ? static_cast<double>(4 * shape_.batch * blocks_ * parts_) : 0; }
  double paired_pixels() const noexcept { return static_cast<double>(shape_.batch * blocks_ * ((ceil_div(pixels_, blocks_) + 1) / 2 * 2)); }

  /// The work of a slice is cut into units that may run at the same time, each with scratch of its own. Their results do not depend
  /// on the number of threads.
  size_t units() const noexcept { return shape_.batch * blocks_ * parts_ * (chunks_ + (rest_ ? 1 : 0)); }
  /// SIZE_MAX: more than any memory could hold.
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  /// `before`: the unit of the same slice that ran in this scratch before, if any: its sums of the input may serve again.
  void run(size_t unit, const Arguments& arguments, float* scratch, size_t before = SIZE_MAX) const noexcept;

 private:
  // Neighbouring pixels of the upper half of a block, and the corresponding pixels of the lower half. If a block has an odd number of
  // pixels, the last one of the upper half has no partner, which counts as zero.
  struct Part {
    size_t image, first, second;  // the image; its first pixels of both halves
    size_t pixels, bottom;        // in the upper and in the lower half
    size_t row;                   // floats between vectors of sums
  };
  Part part(size_t index) const noexcept;
  size_t most_pixels() const noexcept;
  // An odd number of vectors: cache lines whose distance is a power of two would push each other out.
  size_t row_of(size_t pixels) const noexcept { return product_of({pixels | 1, lanes_}); }
  size_t panels() const noexcept { return rows_ ? 8 : 4; }  // of half the input channels each: the sums, and before them rows as an image
  size_t first_sums(size_t row) const noexcept { return product_of({panels(), in_vectors_ / 2, row}); }
  // The inner sums of the outer products' left factors.
  size_t second_sums(size_t pixels) const noexcept { return levels_ == 2 ? product_of({7 * 4, in_vectors_ / 4, row_of(pixels / 2)}) : 0; }
  void sum(const Part& part, const Arguments& arguments, float* scratch) const noexcept;
  // Where the output channels of a chunk begin, in vectors; chunks_ is the end of all that the algorithm computes.
  size_t group_vectors() const noexcept { return size_t{2} << levels_; }
  size_t chunk_begin(size_t chunk) const noexcept { return share(groups_, chunks_, chunk) * group_vectors(); }
  size_t chunk_weights(size_t chunk) const noexcept {
    const size_t plain = chunk_begin(chunk) * lanes_ * in_;
    return makes_sums_ ? plain : levels_ == 2 ? plain / 16 * 49 : plain / 4 * 7;
  }
  // Where a chunk keeps a quarter's weights of a pair of vectors, if sums are made: in the order in which they are first needed.
  static size_t panel(size_t quarter, size_t pair, size_t pairs) noexcept {
    return quarter < 2 ? quarter * pairs + pair : 2 * (pairs + pair) + quarter - 2;
  }
  void fetch(const Weights& weights, size_t k, size_t rows, size_t o, size_t columns, float* out) const noexcept;
  // A quarter of the left factor, or one of its sums: its first vector, and the distance to the next.
  struct Left {
    const float* data;
    size_t step;
  };
  Left left_of(size_t quarter, const Part& part, const Arguments& arguments, const float* scratch) const noexcept;
  // The destination of a product, and its addends.
  struct Target {
    float* y;
    const float *add, *bias, *scale;  // of the whole result, or null
    size_t pixel, vector;             // floats from one row, and from one vector of columns, to the next; of `y` and `add`
    bool is_output;
    TileSums sums;
    Target quarter(size_t rows, size_t vectors, size_t lanes) const noexcept;
  };
  struct Work;  // one unit's
  void multiply(Work& work, size_t level, const Left& left, const Target& to, size_t rows) const noexcept;
  void multiply_tiles(Work& work, const Left& left, const Target& to, size_t rows) const noexcept;
  void rest(const Part& part, const Arguments& arguments, const float* scratch) const noexcept;
  void finish(float* y, size_t vectors, size_t pixels) const noexcept;  // epilogue_.after over some outputs
  void set_clamp(Tile& tile, const Arguments& arguments) const noexcept;
  const float* added(const Arguments& arguments) const noexcept { return arguments.slice ? arguments.y : arguments.add; }
  bool is_last(const Arguments& arguments) const noexcept { return arguments.slice + 1 == slices_; }

  ConvShape shape_;
  Epilogue epilogue_;
  const TileKernels* tile_;
  const LayoutKernels* layout_;
  size_t lanes_, levels_, slices_;
  size_t in_;  // input channels of a slice
  size_t in_vectors_, out_vectors_;
  size_t pixels_, blocks_, parts_;
  size_t groups_, chunks_;  // of output channels: as few as the algorithm takes, and as many as a unit does
  bool rows_, makes_sums_;
  size_t y_pixel_, y_vector_;  // floats from one pixel, and from one vector of output channels, to the next
  size_t rest_;                // vectors of output channels beyond the groups
  size_t scratch_floats_;
};

}  // namespace minnow::cpu
