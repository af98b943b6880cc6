// SPDX-License-Identifier: Apache-2.0
// Slice: every step-th element of an interval of each axis.
#include <algorithm>
#include <limits>

#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/copy_region.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr int64_t kFar = std::numeric_limits<int32_t>::max();  // exporters write it for "to the end"

/// The interval of one axis, as bounds that may lie outside it.
struct Interval {
  size_t axis;
  Size start, end;
  int64_t step;
};

std::vector<Interval> intervals_of(const NodeView& node, size_t rank) {
  const std::vector<Size> starts = node.sizes(1), ends = node.sizes(2);
  Ints axes, steps;
  if (node.has_input(3))
    axes = node.ints(3);
  else
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  steps = node.has_input(4) ? node.ints(4) : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.fail("starts {}, ends {}, axes {} and steps {} should be of one length", starts, ends, axes, steps);
  std::array<bool, kMaxRank> seen{};
  std::vector<Interval> intervals;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = node.normalize_axis(axes[i], rank);
    if (seen[axis]) node.fail("axes {} name an axis twice", axes);
    seen[axis] = true;
    if (steps[i] == 0) node.fail("steps {} hold a 0", steps);
    intervals.push_back({axis, starts[i], ends[i], steps[i]});
  }
  return intervals;
}

/// An interval of an axis of `dim` elements: first element, number of elements.
struct Cut {
  int64_t start, extent;
};
Cut cut(const Interval& interval, int64_t dim) {
  const int64_t step = interval.step, from = interval.start.number(), to = interval.end.number();
  // Both ends are moved to where the axis has elements; going backward, "before the first" is -1.
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  const int64_t start = std::clamp(from < 0 ? from + dim : from, step > 0 ? 0 : std::min<int64_t>(0, high), high);
  const int64_t end = std::clamp(to < 0 ? to + dim : to, low, high);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const int64_t length = step > 0 ? end - start : start - end;
  return {start, length <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(length) - 1) / stride + 1)};
}

/// A bound of an interval with a positive step, moved to [0, dim]; unknown where symbols do not tell where it lies.
Size bound(Size at, Size dim) {
  if (less(at, 0)) at = at + dim;
  if (less(at, 0)) return 0;
  if (at.is(0)) return 0;  // no dimension is less, whatever its expression
  if (!less(-1, at)) return Size::unknown();
  return at.is_number() && at.number() >= kFar ? dim : smaller(at, dim);
}

Size extent_of(const Interval& interval, Size dim) {
  if (dim.is_number() && interval.start.is_number() && interval.end.is_number()) return cut(interval, dim.number()).extent;
  const bool is_whole = interval.step == -1 && (interval.start.is(-1) || less(kFar, interval.start)) && less(interval.end, -kFar);
  if (is_whole) return dim;
  if (interval.step < 0) return Size::unknown();
  const Size start = bound(interval.start, dim), end = bound(interval.end, dim), extent = divide_up(end - start, interval.step);
  return start.is(0) ? extent : larger(0, extent);
}

struct Box {
  Shape extent;  // of the result
  std::array<int64_t, kMaxRank> start{}, step{};
};

Box box_of(const NodeView& node) {
  Box box;
  box.extent = node.input_shape(0);
  box.step.fill(1);
  for (const Interval& interval : intervals_of(node, box.extent.rank())) {
    const size_t axis = interval.axis;
    const auto [start, extent] = cut(interval, box.extent[axis]);
    box.extent[axis] = extent;
    box.start[axis] = start;
    box.step[axis] = extent > 1 ? interval.step : 1;  // a step that is not taken may be as large as it likes
  }
  return box;
}

Shapes infer(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  // While types are inferred with symbols, axes, steps or the number of bounds may be unknown.
  const bool knows_axes = !node.has_input(3) || node.knows_contents(3), knows_steps = !node.has_input(4) || node.knows_contents(4);
  const auto knows_count = [&](size_t i) { return node.has_sizes(i) && node.input_sizes(i).is_static(); };
  if (!knows_axes || !knows_steps || (node.is_symbolic() && !(knows_count(1) && knows_count(2)))) {
    if (!knows_axes || !node.has_input(3)) return {Sizes::filled(shape.rank(), Size::unknown())};
    for (const int64_t axis : node.ints(3)) shape[node.normalize_axis(axis, shape.rank())] = Size::unknown();
    return {shape};
  }
  for (const Interval& interval : intervals_of(node, shape.rank())) shape[interval.axis] = extent_of(interval, shape[interval.axis]);
  return {shape};
}

Batch slice_batch(const NodeView& node) {
  const Box box = box_of(node);
  return box.extent.rank() > 0 && box.start[0] == 0 && box.step[0] == 1 ? Batch::apart : Batch::mixed;
}

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

constexpr AttributeSpec kSizes =
    required("sizes", AttributeKind::integers, MINNOW_DOC("places along each axis, which are the result's shape"));
constexpr AttributeSpec kSteps =
    required("steps", AttributeKind::integers, MINNOW_DOC("from one place to the next along each axis; not 0"));

struct Region {
  const Ints &sizes, &steps;
};
Region region_of(const NodeView& node) {
  const Region region{node.require<Ints>("sizes"), node.require<Ints>("steps")};
  const Sizes from = node.input_sizes(0);
  const auto starts = node.known_sizes(1);
  const int64_t rank = static_cast<int64_t>(from.rank());
  if (region.sizes.size() != from.rank() || region.steps.size() != from.rank() || (starts && differ(*starts, Sizes{rank})))
    node.fail("sizes {}, steps {} and starts of shape {} should each have an entry for every axis of {}", region.sizes, region.steps,
              starts.value_or(Sizes()), from);
  for (size_t i = 0; i < from.rank(); ++i) {
    const int64_t size = region.sizes[i], step = region.steps[i];
    // The way from the first place to the last is shorter than the axis, so that nothing that follows overflows.
    const bool is_bounded = size > 1 && from[i].is_number();
    const int64_t most = is_bounded ? (from[i].number() - 1) / (size - 1) : std::numeric_limits<int64_t>::max();
    const bool fits = size <= 1 || (step <= most && step >= -most);
    if (size < 0 || step == 0 || !fits) node.fail("sizes {} at steps {} do not fit a tensor of shape {}", region.sizes, region.steps, from);
  }
  return region;
}

Shapes region_shape(const NodeView& node) { return {Shape(region_of(node).sizes)}; }

void region_reference(const NodeView& node, KernelArgs& args) {
  const Region region = region_of(node);
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  const Numbers<int64_t> starts = args.ints(1);
  Ints strides = row_major_strides(x.shape());
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t dim = x.dim(i), step = region.sizes[i] > 1 ? region.steps[i] : 1;
    if (starts[i] < 0 || starts[i] >= dim) args.fail("start {} is out of range for axis {} of size {}", starts[i], i, dim);
    const int64_t last = starts[i] + (region.sizes[i] - 1) * step;
    if (last < 0 || last >= dim)
      args.fail("{} places at steps of {} from {} leave axis {} of size {}", region.sizes[i], step, starts[i], i, dim);
    offset += starts[i] * strides[i];
    strides[i] *= step;
  }
  const size_t size = size_of(x.dtype());
  copy_region(size, y.shape(), x.data<char>() + static_cast<size_t>(offset) * size, strides, y.data(), row_major_strides(y.shape()));
}

// Where the starts are known it is a Slice.
Exprs region_as_slice(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Region region = region_of(node);
  const Ints starts = node.ints(1);
  Ints ends, axes;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] < 0 || starts[i] >= std::max<int64_t>(node.input_shape(0)[i], 1)) return {};  // the reference's error
    const int64_t step = region.steps[i] < 0 ? -1 : 1,
                  last = starts[i] + (region.sizes[i] > 1 ? (region.sizes[i] - 1) * region.steps[i] : 0);
    ends.push_back(region.sizes[i] == 0 ? starts[i] : last + step < 0 ? std::numeric_limits<int64_t>::min() : last + step);
    axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return {builder.op("Identity", {inputs[0]})};
  return {builder.op(
      "Slice", {inputs[0], builder.constant(starts), builder.constant(ends), builder.constant(axes), builder.constant(region.steps)})};
}

#if MINNOW_GRADIENTS
/// With steps of 1 a border of zeros, else where the elements come from.
Exprs slice_gradient(const GradientContext& c) {
  for (size_t i = 1; i < c.inputs.size(); ++i)
    if (c.inputs[i] && !c.node.is_constant(i)) return moved_gradient(c);
  const Shape& shape = c.node.input_shape(0);
  Ints pads(2 * shape.rank());
  for (const Interval& interval : intervals_of(c.node, shape.rank())) {
    if (interval.step != 1) return moved_gradient(c);
    const Cut kept = cut(interval, shape[interval.axis]);
    pads[interval.axis] = kept.start;
    pads[shape.rank() + interval.axis] = shape[interval.axis] - kept.start - kept.extent;
  }
  Exprs made(c.inputs.size());
  made[0] = c.builder.op("Pad", {c.output_gradient(0), c.builder.constant(pads)});
  return made;
}
/// That of a Slice where the starts are known.
Exprs region_gradient(const GradientContext& c) {
  return c.node.is_constant(1) && c.know_shapes() ? gradient_through(c, region_as_slice) : moved_gradient(c);
}
#endif

constexpr List<Operator> definitions() {
  return {{.name = "minnow.Region",
           .doc = MINNOW_DOC("The places start + i * step, 0 <= i < size, along each axis: a Slice whose shape does not depend on where it "
                             "starts, so that a plan serves all starts. A start or a last place outside of the tensor is an error."),
           .inputs = {{"data"}, {"starts", kI64}},
           .outputs = {{"output", same_as("data")}},
           .attributes = {kSizes, kSteps},
           .infer_shapes = region_shape,
           .reference = region_reference,
           .decompose = region_as_slice,
           .gradient = MINNOW_GRADIENT(region_gradient)},
          {.name = "Slice",
           .since = 13,
           .doc = MINNOW_DOC("data[start:end:step] along each of `axes`, as NumPy: negative bounds count from the end, bounds beyond the "
                             "tensor are moved to its border, a negative step goes backward."),
           .inputs = {{"data"}, {"starts", kIndex}, {"ends", kIndex}, {"axes", kIndex, kOptional}, {"steps", kIndex, kOptional}},
           .outputs = {{"output", same_as("data")}},
           .infer_shapes = infer,
           .infer_contents = move_contents,
           .reference = reference,
           .gradient = MINNOW_GRADIENT(slice_gradient),
           .batch = slice_batch,
           .elements = Elements::copied,
           .axes = axis_list(3)}};
}

}  // namespace

std::span<const Operator> slice_operators() { return operator_table<definitions>(); }

}  // namespace minnow
