// SPDX-License-Identifier: Apache-2.0
// Where a Slice with known bounds begins along each axis, and its steps, for schemes.
#pragma once
#include <algorithm>

#include "graph/node_view.h"

namespace minnow {

struct SliceRange {
  Ints start, step;  // by axis
};

/// The bounds must be known.
inline SliceRange slice_range(const NodeView& node) {
  const Shape& shape = node.input_shape(0);
  SliceRange range{Ints(shape.rank(), 0), Ints(shape.rank(), 1)};
  const Ints starts = node.ints(1);
  Ints axes, steps(starts.size(), 1);
  if (node.has_input(3))
    axes = node.ints(3);
  else
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (node.has_input(4)) steps = node.ints(4);
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = node.normalize_axis(axes[i], shape.rank());
    const int64_t dim = shape[axis];
    // A start before the first element is the first one in both directions, as in ops/slice.cpp.
    const int64_t start = starts[i] < 0 ? starts[i] + dim : starts[i];
    range.start[axis] = std::clamp<int64_t>(start, 0, std::max<int64_t>(0, steps[i] > 0 ? dim : dim - 1));
    range.step[axis] = node.output_shape(0)[axis] > 1 ? steps[i] : 1;  // a step that is not taken may be as large as it likes
  }
  return range;
}

}  // namespace minnow
