// SPDX-License-Identifier: Apache-2.0
// One core operation for all data movement: copying a region of strided memory into another.
#pragma once
#include <vector>

#include "backends/backend.h"

namespace minnow::cpu {

/// Copies elements (index by index over the same extents) from one strided region to another. Strides and offsets count elements; source
/// strides may be zero (broadcast) or negative. Built once from shapes; run allocates nothing.
class StridedCopy {
 public:
  struct Axis {
    int64_t extent, to, from;  // strides
  };
  /// `axes` from the outermost of the destination to the innermost.
  StridedCopy(std::vector<Axis> axes, int64_t to_offset, int64_t from_offset, size_t element_bytes);

  /// The work is cut along the outermost axis into pieces that may run at the same time.
  size_t pieces() const noexcept { return pieces_; }
  void run(size_t piece, const void* from, void* to) const noexcept;
  double bytes() const noexcept { return static_cast<double>(elements_) * static_cast<double>(size_); }

 private:
  template <class T>
  void copy(const T* from, T* to, int64_t begin, int64_t end) const noexcept;
  std::vector<Axis> axes_;  // merged; at least two: rows and columns
  int64_t to_offset_, from_offset_, elements_ = 1;
  size_t size_, pieces_ = 1;
};

/// Row-major axes of a shape, as destination and source alike.
std::vector<StridedCopy::Axis> plain_axes(const Shape& shape);

}  // namespace minnow::cpu
