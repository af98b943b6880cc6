// SPDX-License-Identifier: Apache-2.0
// Slice: every step-th element of an interval of each axis.
#include <algorithm>

#include "ops/copy_region.h"
#include "ops/operator.h"

namespace minnow {
namespace {

struct Box {
  Shape extent;  // of the result
  std::array<int64_t, kMaxRank> start{}, step{};
};

Box box_of(const NodeView& node) {
  const Shape& from = node.input_shape(0);
  const Ints starts = node.ints(1), ends = node.ints(2);
  Ints axes, steps;
  if (node.has_input(3))
    axes = node.ints(3);
  else
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  steps = node.has_input(4) ? node.ints(4) : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.fail("starts {}, ends {}, axes {} and steps {} should be of one length", starts, ends, axes, steps);
  Box box;
  box.extent = from;
  box.step.fill(1);
  std::array<bool, kMaxRank> seen{};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = node.normalize_axis(axes[i], from.rank());
    if (seen[axis]) node.fail("axes {} name an axis twice", axes);
    seen[axis] = true;
    const int64_t dim = from[axis], step = steps[i];
    if (step == 0) node.fail("steps {} hold a 0", steps);
    // Both ends are moved to where the axis has elements; going backward, "before the first" is -1.
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
    const int64_t start = std::clamp(starts[i] < 0 ? starts[i] + dim : starts[i], step > 0 ? 0 : std::min<int64_t>(0, high), high);
    const int64_t end = std::clamp(ends[i] < 0 ? ends[i] + dim : ends[i], low, high);
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const int64_t length = step > 0 ? end - start : start - end;
    box.extent[axis] = length <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(length) - 1) / stride + 1);
    box.start[axis] = start;
    box.step[axis] = box.extent[axis] > 1 ? step : 1;  // a step that is not taken may be as large as it likes
  }
  return box;
}

Shapes infer(const NodeView& node) { return {box_of(node).extent}; }

void reference(const NodeView& node, KernelArgs& args) {
  const Box box = box_of(node);
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  if (y.elements() == 0) return;
  Ints strides = row_major_strides(x.shape());
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += box.start[i] * strides[i];
    strides[i] *= box.step[i];
  }
  const size_t size = size_of(x.dtype());
  copy_region(size, box.extent, x.data<char>() + static_cast<size_t>(offset) * size, strides, y.data(), row_major_strides(y.shape()));
}

}  // namespace

std::vector<Operator> slice_operators() {
  return {{.name = "Slice",
           .since = 13,
           .doc = MINNOW_DOC("data[start:end:step] along each of `axes`, as NumPy: negative bounds count from the end, bounds beyond the "
                             "tensor are moved to its border, a negative step goes backward."),
           .inputs = {{"data"}, {"starts", kIndex}, {"ends", kIndex}, {"axes", kIndex, kOptional}, {"steps", kIndex, kOptional}},
           .outputs = {{"output", same_as("data")}},
           .infer_shapes = infer,
           .reference = reference}};
}

}  // namespace minnow
