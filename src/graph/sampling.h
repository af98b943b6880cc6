// SPDX-License-Identifier: Apache-2.0
// The arithmetic of sampling at positions that data name: which pixels GridSample and RoiAlign read along one dimension, and with which
// weights. References and schemes take their numbers from here. Coordinates are computed in the precision of the data, at least single:
// rounding decides which pixels take part.
#pragma once
#include "graph/node_view.h"

namespace minnow {

/// GridSample of X [batch, channels, spatial...] at grid [batch, new spatial..., dims].
struct GridSampling {
  static constexpr size_t kMostDims = 4;  // cubic interpolation of that many reads 256 pixels
  enum class Mode : uint8_t { linear, nearest, cubic };
  enum class Padding : uint8_t { zeros, border, reflection };

  Mode mode;
  Padding padding;
  bool align_corners;
  size_t dims;

  /// Places along one dimension that one sample reads (-1: a zero), and their weights: the first along().
  struct Taps {
    int64_t at[4];
    double weight[4];
  };
  size_t along() const noexcept { return mode == Mode::linear ? 2 : mode == Mode::nearest ? 1 : 4; }
  /// The taps of a grid coordinate on a dimension of `size` pixels. Real: float or double.
  template <class Real>
  Taps taps(Real coordinate, int64_t size) const;

  /// Throws InvalidModel where the attributes are none of the operator's.
  static GridSampling of(const NodeView& node);
};

/// RoiAlign of X [batch, channels, height, width]: what its attributes make of a region. Axis 0 are rows, 1 columns.
struct RoiAlignment {
  static constexpr int64_t kMostSamples = 1 << 14;  // along a side of a bin; more come from coordinates that are no region of an image

  int64_t bins[2];
  int64_t samples;  // along each side of a bin; 0: as many as the bin has pixels
  float scale;
  bool half_pixel, average;

  static RoiAlignment of(const NodeView& node);

  template <class Real>
  struct Region {
    Real start[2], bin[2];  // where it begins, and how large a bin is, in pixels
    int64_t samples[2];     // along each side of a bin
    bool possible;          // bins are no larger than kMostSamples pixels

    /// Where sample `sample` of bin `index` lies.
    Real place(size_t axis, int64_t index, int64_t sample) const {
      return start[axis] + static_cast<Real>(index) * bin[axis] +
             (static_cast<Real>(sample) + Real(0.5)) * bin[axis] / static_cast<Real>(samples[axis]);
    }
  };
  /// `corners`: x1, y1, x2, y2.
  template <class Real>
  Region<Real> region(const Real* corners) const;

  /// The two pixels around a place along a dimension of `size` pixels.
  struct Pair {
    bool inside;  // else both count nothing
    int64_t at[2];
    double weight[2];
  };
  template <class Real>
  static Pair pair(Real place, int64_t size);
};

}  // namespace minnow
