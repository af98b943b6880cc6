// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd's minimal filtering, on the packed layout. 3x3 of stride 1 needs a quarter (f4), 31 % (f3) or four ninths (f2)
// of the products, stride 2 needs 56 or 69 %; kernels of 5 and 7 taps, and of one row or one column, gain likewise. Images are cut into
// tiles of M x N outputs; for a block of tiles, everything between input and output stays in L2. Tiles with fewer outputs at the right and
// lower border use fewer positions.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/winograd_axis.h"
#include "base/memory.h"
#include "base/saturating.h"

namespace minnow::cpu {

/// The form along each axis.
struct WinogradForms {
  WinogradForm down, across;
  constexpr WinogradForms(WinogradForm both) : down(both), across(both) {}
  constexpr WinogradForms(WinogradForm vertical, WinogradForm horizontal) : down(vertical), across(horizontal) {}

  /// The forms with M outputs along every axis of more than one tap. Empty if there are none, or if the kernel does not have this stride on
  /// both axes.
  static std::optional<WinogradForms> of(const ConvShape& shape, size_t outputs, size_t stride);
  constexpr size_t positions() const { return numbers_of(down).positions() * numbers_of(across).positions(); }
  /// The mean error beside that of plain sums (WinogradNumbers); of different forms the product.
  constexpr double error() const {
    if (down == across) return numbers_of(down).plane_error;
    return numbers_of(down).line_error * numbers_of(across).line_error;
  }
};

class WinogradConv {
 public:
  struct Options {
    WinogradForms form = WinogradForm::f4;
    size_t threads = 1;
    size_t l2 = 1 << 20, l3 = 32 << 20;      // bytes
    std::optional<OutputGrid> grid = {};     // of y and of the addend; empty: the outputs are the image
    std::optional<FilterSteps> filter = {};  // of the weights; empty: the layout of pack_weights()
  };
  struct Arguments {
    const float* x;     // packed
    const float* w;     // as pack_weights wrote them
    const float* bias;  // one of every channel in whole vectors, or null
    const float* add;   // packed like y, or null
    float* y;           // packed
  };

  static bool can_serve(const ConvShape& shape, WinogradForms form) {
    const WinogradNumbers &down = numbers_of(form.down), &across = numbers_of(form.across);
    return shape.taps() > 1 && shape.kernel_h == down.taps && shape.kernel_w == across.taps && shape.stride_h == down.stride &&
           shape.stride_w == across.stride && shape.dilation_h == 1 && shape.dilation_w == 1 && shape.groups == 1;
  }
  /// The number of products per input and output channel, for all tiles of one image.
  static double products(const ConvShape& shape, WinogradForms form);
  WinogradConv(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue);

  /// Whether weights are stored transformed along the vertical axis only (F(4): twice the plain size instead of four times), and along the
  /// other at each use. For weights that hardly fit into L3, and images with enough tiles to make it cheap beside the products (5 % with 49
  /// tiles of F(4), 20 % with 16) but few enough for one block. Only for up to four taps along both axes.
  static bool keeps_columns(const ConvShape& shape, WinogradForms form, size_t l3) noexcept;
  size_t weight_floats() const noexcept { return product_of({panels_, out_vectors_, lanes_, shape_.in_channels}); }
  /// The only property of the image size that changes the result of pack_weights().
  std::vector<bool> kept_columns() const { return {keeps_columns_}; }
  /// From [out channel][in channel][kernel_h][kernel_w]; the transform is computed in double precision.
  void pack_weights(const float* oihw, float* out) const noexcept;
  /// All of it in parts that may be packed at the same time.
  size_t panels() const noexcept;
  void pack_panel(size_t panel, const float* oihw, float* out) const noexcept;
  size_t bias_floats() const noexcept { return out_vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  /// First run all transform units and then, once they are done, all product units. If `shared_floats` is zero, there are no transform
  /// units: every product unit transforms its input in its own scratch.
  size_t transform_units() const noexcept { return shared_ ? blocks_.size() * in_vectors_ : 0; }
  size_t shared_floats() const noexcept { return shared_ ? product_of({blocks_.size(), block_floats_}) : 0; }
  void transform(size_t unit, const Arguments& arguments, float* shared) const noexcept;
  size_t units() const noexcept { return blocks_.size() * chunks_; }
  size_t scratch_floats() const noexcept { return sum_of({product_floats_, shared_ ? 0 : block_floats_, row_floats()}); }
  void run(size_t unit, const Arguments& arguments, const float* shared, float* scratch) const noexcept;

 private:
  // The first output of a tile, and whether it is a border tile with fewer columns or fewer rows.
  struct Place {
    size_t image, y, x;
    bool narrow, low;
  };
  // Tiles are sorted by kind: narrow, whole, low, both. So the tiles that use any one position are contiguous.
  struct Block {
    size_t first, tiles;         // in places_
    size_t narrow;               // the number of narrow tiles, which come first
    size_t low_from, both_from;  // the indices of the first low one, and of the first that is narrow, too
  };
  // A form along one axis.
  struct Along {
    explicit Along(WinogradForm kind)
        : form(kind),
          outputs(numbers_of(kind).outputs),
          positions(numbers_of(kind).positions()),
          step(numbers_of(kind).step()),
          taps(numbers_of(kind).taps),
          served(numbers_of(kind).served()),
          coefficients(kind) {}
    WinogradForm form;
    size_t outputs, positions, step, taps, served;
    WinogradCoefficients coefficients;
  };
  // The tiles along one axis: whole tiles (index 0) or border tiles (1).
  struct Axis {
    size_t outputs = 0, inputs = 0, count = 0;  // count: of positions
    std::vector<size_t> positions;
    std::vector<float> input, output;
    bool takes_part[kMostWinogradPositions] = {};
  };
  // The weights of a pair at the positions of a row, where they are made from columns.
  size_t row_floats() const noexcept { return keeps_columns_ ? across_.positions * shape_.in_channels * 2 * lanes_ : 0; }
  static void add_axis(size_t outputs, const Along& along, Axis (&axis)[2]);
  void cut(size_t tiles, size_t blocks);
  bool has_single_tiles() const;
  void transform_vector(const Block& block, const float* x, size_t vector, float* v) const noexcept;
  void transform_whole(const float* from, size_t row, float* v) const noexcept;
  void transform_border(const Place& place, const float* from, size_t row, float* v) const noexcept;
  void output_whole(const float* m, float* y, const WinogradFinish& finish) const noexcept;
  void output_border(const Place& place, const float* m, float* y, WinogradFinish finish) const noexcept;
  void finish(const Place& place, float* y) const noexcept;  // epilogue_.after over the outputs of a tile

  ConvShape shape_;
  FilterSteps filter_;
  Epilogue epilogue_;
  const TileKernels* tile_;
  const WinogradKernels* kernels_;
  size_t lanes_;
  Along down_, across_;
  size_t positions_;
  bool keeps_columns_;
  size_t panels_;  // of weights for one input channel: one per position or, with kept columns, one per vertical position and tap
  size_t in_vectors_, out_vectors_;
  size_t y_origin_, y_row_, y_pixel_, y_plane_;  // floats of y: before the first output, between rows, columns and planes
  Axis vertical_[2], horizontal_[2];
  Numbers<Place> places_;
  std::vector<Block> blocks_;
  size_t chunks_ = 1;
  bool shared_ = false;
  size_t v_plane_, m_plane_;  // floats between the positions of the transformed input; of the products
  size_t block_floats_, product_floats_;
};

}  // namespace minnow::cpu
