// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Resize: for each axis, which positions of the input make a position of the output, with which weights. Interpolation is
// separable, so the reference and every scheme apply these tables axis by axis.
#pragma once
#include "base/memory.h"
#include "graph/node_view.h"

namespace minnow {

/// Output place o of an axis is the sum over t of weight[o * taps + t] * input place index[o * taps + t].
struct ResizeAxis {
  int64_t input = 0, output = 0, taps = 1;
  Numbers<int64_t> index;    // within [0, input): positions beyond the edge are the edge
  Numbers<double> weight;    // they sum to 1 for each output place; empty for mode nearest, where taps is 1
  Numbers<uint8_t> outside;  // empty, or per output place: 1 where the result is the extrapolation value
  /// Output equals input along this axis.
  bool is_identity() const;
};

struct ResizeGeometry {
  enum class Mode : uint8_t { nearest, linear, cubic };
  enum class Transformation : uint8_t {
    half_pixel,
    half_pixel_symmetric,
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    tf_crop_and_resize,
    tf_half_pixel_for_nn
  };
  enum class Nearest : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };

  Shape input, output;
  std::array<float, kMaxRank> scale{};       // output size to input size as the node gives it, per axis; 1 where it is not resized
  std::array<float, kMaxRank> resized{};     // the output size before it was made an integer
  std::array<size_t, kMaxRank> roi_place{};  // per axis: its place among the axes that the region is given for
  size_t roi_axes = 0;                       // number of those
  Mode mode = Mode::nearest;
  Transformation transformation = Transformation::half_pixel;
  Nearest nearest = Nearest::round_prefer_floor;
  bool antialias = false, exclude_outside = false;
  float cubic_a = -0.75f, extrapolation = 0;

  /// Asks for the contents of scales or sizes. Throws InvalidModel where attributes and inputs do not fit.
  static ResizeGeometry of(const NodeView& node);
  /// The shape rule.
  static Sizes output_sizes(const NodeView& node);
  /// The region is needed for tf_crop_and_resize only: all starts, then all ends, of `roi_axes` axes each.
  bool needs_region() const noexcept { return transformation == Transformation::tf_crop_and_resize; }
  ResizeAxis axis(size_t i, std::span<const double> region = {}) const;

 private:
  float original_place(size_t axis, int64_t place, float start, float end) const;
};

}  // namespace minnow
