// SPDX-License-Identifier: Apache-2.0
// Convolutions as products of matrices that are never built: every register tile finds its inputs in the image itself, or in a
// zero-bordered copy of a few rows of it. In f32, or rounded on the way into the copy to 16 bits (kernels/low_precision.h).
#pragma once
#include <optional>
#include <vector>

#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/window.h"
#include "base/saturating.h"

namespace minnow::cpu {

class GemmConv {
 public:
  struct Options {
    bool plain_input = false;  // the image is plain, NCHW or NHWC; groups must be 1. Meant for a network's first layer
    const LowPrecisionKernels* low_precision = nullptr;  // null: f32. Else factors are rounded to 16 bits; groups of whole vectors of pairs
    std::optional<OutputGrid> grid;                      // of y and of the addend; empty: the outputs are the image
    std::optional<Slices> slices;                        // the 3-D tensors of which x, y and the weights are slices, if any
    std::optional<FilterSteps> filter;                   // of the weights, in f32; empty: the layout of pack_weights()
    size_t threads = 1;
    size_t l2 = 1 << 20;  // bytes
  };
  struct Arguments {
    const float* x;                           // packed (or plain, as options say)
    const float* w;                           // as pack_weights wrote them
    const float* bias;                        // as pack_bias wrote it, or null
    const float* add;                         // packed like y, or null
    float* y;                                 // packed
    std::atomic<bool>* overflowed = nullptr;  // see Tile
  };

  /// Whether pack_weights and run can serve: with groups, the channels of each must be whole vectors.
  static bool can_serve(const ConvShape& shape, size_t lanes) {
    return shape.groups == 1 || (shape.in_channels / shape.groups % lanes == 0 && shape.out_channels / shape.groups % lanes == 0);
  }
  GemmConv(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue);

  size_t weight_floats() const noexcept { return product_of({shape_.groups, out_vectors_ * lanes_, depth_}); }
  /// From [out channel][in channel of the group][kernel_h][kernel_w].
  void pack_weights(const float* oihw, float* out) const;
  /// All of it in parts that may be packed at the same time, in f32.
  size_t panels() const noexcept;
  void pack_panel(size_t panel, const float* oihw, float* out) const noexcept;
  /// Floats of the bias of all vectors, the lanes without a channel being zero.
  size_t bias_floats() const noexcept { return shape_.groups * out_vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  /// The work is cut into units that may run at the same time, each with scratch of its own.
  size_t units() const noexcept { return shape_.batch * shape_.groups * chunks_ * blocks_; }
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  /// `before`: the unit that ran in this scratch before, if any: its window may serve again.
  void run(size_t unit, const Arguments& arguments, float* scratch, size_t before = SIZE_MAX) const noexcept;

  /// Whether images can be computed row by row (cut_rows), and whether then the input may be a ring.
  bool has_rows() const noexcept {
    return shape_.groups == 1 && !low_precision_ && y_pixel_ == lanes_ && y_plane_ == shape_.out_h * shape_.out_w * lanes_;
  }
  bool reads_ring() const noexcept { return flat_; }
  /// Orders units by the rows of an image, units_of_row() each. In images that are rings of rows, row r is stored as row r % input, or
  /// r % output, of an image of that height.
  void cut_rows(size_t input, size_t output);
  size_t units_of_row() const noexcept { return blocks_ / shape_.out_h * chunks_; }
  const ConvShape& shape() const noexcept { return shape_; }

 private:
  // One register tile of a block: offsets of its two runs of pixels in the input and in the output.
  struct Place {
    size_t x[2], y[2];
    int rows;
  };
  void choose_blocks(const Options& options);
  void place_tiles();
  void add_positions(size_t block_rows, std::vector<Place>& positions) const;
  size_t plane_of(size_t rows) const noexcept { return flat_ ? rows * element_ : window_.plane(rows); }
  void copy_window(const float* x, size_t first, size_t rows, float* out) const noexcept;
  void run_in_parts(const Tile& whole, size_t vectors, int rows) const noexcept;
  void finish_run(float* y, size_t pixels) const noexcept;  // epilogue_.after over neighbouring outputs

  ConvShape shape_;
  Epilogue epilogue_;
  const LowPrecisionKernels* low_precision_;
  const LayoutKernels* layout_;
  const TileKernels* tile_;
  const TileFunction (*table_)[kMostTileRows + 1];
  size_t lanes_, element_;
  size_t parts_;                // of the planes of the window; positions are counted as if there were one
  size_t in_blocks_, in_rest_;  // of one group: whole vectors of channels, and channels beyond (packed input)
  FilterSteps filter_;          // as pack_weights finds it
  size_t factors_;              // factors per pixel of one group: a channel in f32, a pair of channels in bf16 or f16
  size_t planes_;               // planes of one group's window
  size_t image_planes_;         // planes of one group in the image
  size_t depth_;                // products per output: taps times channels of a group
  size_t out_vectors_;          // of one group
  bool direct_;                 // tiles read the image itself
  Window window_;
  size_t height_, width_;                        // of the output as tiles see it: one long row if it is flat
  size_t in_row_, in_plane_;                     // floats: between the inputs of neighbouring output rows; between planes of the image
  size_t y_origin_, y_row_, y_pixel_, y_plane_;  // floats of y: before the first output, between rows, columns and planes
  std::vector<ptrdiff_t> taps_[2];               // for the two heights of blocks, because windows differ
  size_t blocks_ = 1, chunks_ = 1;
  size_t block_rows_ = 0;            // the lower of the two heights
  std::vector<Place> positions_[2];  // of blocks of block_rows_ and of block_rows_ + 1 rows (pixels where it is flat)
  bool flat_;
  size_t in_ring_ = SIZE_MAX, y_ring_ = SIZE_MAX;  // rows of images that are rings
  size_t scratch_floats_ = 0;
};

}  // namespace minnow::cpu
