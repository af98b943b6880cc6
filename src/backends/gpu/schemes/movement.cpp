// SPDX-License-Identifier: Apache-2.0
// Operators that move elements without looking at them: strided copies.
#include "backends/gpu/schemes/kernel_text.h"
#include "graph/slice.h"

namespace minnow::gpu {
std::string_view unit_of(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return "u32";
    case 8:
      return "u64";
    default:
      return {};
  }
}

std::string refusal_to_move(const NodeView& node) {
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (!node.has_output(i)) continue;
    if (node.output(i).dtype == DType::string || unit_of(node.output(i).dtype).empty())
      return format("the dtype is {}", node.output(i).dtype);
    if (node.output_shape(i).elements() == 0) return "an output is empty";
    if (node.output_shape(i).elements() > INT32_MAX) return "an output has more than 2^31 elements";
  }
  return node.has_input(0) && node.input_shape(0).elements() > INT32_MAX ? "the input has more than 2^31 elements" : "";
}

namespace {

// Inputs from `first` on must be known.
bool knows_from(const NodeView& node, size_t first) {
  for (size_t i = first; i < node.input_count(); ++i)
    if (node.has_input(i) && !node.is_constant(i)) return false;
  return true;
}

Estimate estimate_copy(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_move(node); !reason.empty()) return declined("{}", reason);
  if (!knows_from(node, 1)) return declined("an input is not constant");
  return estimate_of(node, device);
}

// y[i] = x[index of i].
void add_copy(Launches& kernel, const NodeView& node, const Broadcast& from, size_t input, size_t output) {
  const std::string_view unit = unit_of(node.output(output).dtype);
  const int64_t count = node.output_shape(output).elements();
  std::vector<Given> given = {Given::input(input), Given::output(output), count};
  from.append_arguments(given);
  const std::string source = format(
      "KERNEL(strided_copy)(UPDATE({}, x), WRITE({}, y), const int n{}) {{\n  USE_READ({}, x);\n  USE_WRITE({}, y);\n"
      "  const int i = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (i >= n) return;\n{}  y[i] = x[{}];\n}}\n",
      unit, unit, from.parameters(), unit, unit, from.coordinates(), from.index(0));
  kernel.add_1d(source, "strided_copy", count, std::move(given));
}

Ints steps_of(const Shape& shape) {
  Ints steps(shape.rank());
  int64_t step = 1;
  for (size_t axis = shape.rank(); axis-- > 0;) steps[axis] = step, step *= shape[axis];
  return steps;
}

// Reshape and others that keep the order of elements.
Estimate estimate_kept(const NodeView& node, const Device& device) {
  Estimate estimate = estimate_copy(node, device);
  estimate.overwrites = 0;
  return estimate;
}
std::unique_ptr<Kernel> prepare_kept(PrepareContext& context) {
  auto kernel = std::make_unique<Launches>(context);
  Broadcast same(Shape{context.node().output_shape(0).elements()});
  same.add(Ints{1});
  same.finish();
  add_copy(*kernel, context.node(), same, 0, 0);
  kernel->skip_if_same(0, 0, 0, 0);
  return kernel;
}

std::unique_ptr<Kernel> prepare_transpose(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  const Ints steps = steps_of(x);
  Ints strides(x.rank());
  const Ints* perm = node.find<Ints>("perm");
  for (size_t i = 0; i < x.rank(); ++i) strides[i] = steps[perm ? node.normalize_axis((*perm)[i], x.rank()) : x.rank() - 1 - i];
  Broadcast from(node.output_shape(0));
  from.add(std::move(strides));
  from.finish();
  auto kernel = std::make_unique<Launches>(context);
  add_copy(*kernel, node, from, 0, 0);
  return kernel;
}

std::unique_ptr<Kernel> prepare_expand(PrepareContext& context) {
  const NodeView& node = context.node();
  Broadcast from(node.output_shape(0));
  from.add(node.input_shape(0));
  from.finish();
  auto kernel = std::make_unique<Launches>(context);
  add_copy(*kernel, node, from, 0, 0);
  return kernel;
}

std::unique_ptr<Kernel> prepare_tile(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  const Ints steps = steps_of(x);
  Ints dims, strides;
  for (size_t i = 0; i < x.rank(); ++i) {
    dims.insert(dims.end(), {node.output_shape(0)[i] / x[i], x[i]});
    strides.insert(strides.end(), {0, steps[i]});
  }
  Broadcast from{std::span<const int64_t>(dims)};
  from.add(std::move(strides));
  from.finish();
  auto kernel = std::make_unique<Launches>(context);
  add_copy(*kernel, node, from, 0, 0);
  return kernel;
}

Estimate estimate_slice(const NodeView& node, const Device& device) {
  Estimate estimate = estimate_copy(node, device);
  if (!estimate.declined.empty()) return estimate;
  const size_t rank = node.input_shape(0).rank();
  const SliceRange range = slice_range(node);
  for (size_t i = 0; i < rank; ++i)
    if (range.step[i] != 1 || (i + 1 < rank && node.output_shape(0)[i] != node.input_shape(0)[i])) return estimate;
  if (rank > 0) estimate.first_column = range.start[rank - 1];
  return estimate;
}
std::unique_ptr<Kernel> prepare_slice(PrepareContext& context) {
  const NodeView& node = context.node();
  const SliceRange range = slice_range(node);
  Ints steps = steps_of(node.input_shape(0));
  int64_t offset = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    offset += range.start[i] * steps[i];
    steps[i] *= range.step[i];
  }
  Broadcast from(node.output_shape(0));
  from.add(std::move(steps), offset);
  from.finish();
  auto kernel = std::make_unique<Launches>(context);
  add_copy(*kernel, node, from, 0, 0);
  return kernel;
}

// Concat: each input goes to its place in the output.
struct Joint {
  int64_t outer = 1, inner = 1;
  size_t axis = 0;
  Joint(const NodeView& node, const Shape& whole) {
    axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", 0}), whole.rank());
    outer = whole.product(0, axis);
    inner = whole.product(axis + 1, whole.rank());
  }
};

constexpr std::string_view kPlace = R"(
KERNEL(place)(UPDATE(UNIT, x), WRITE(UNIT, y), const int n, const int part, const int from_step, const int from, const int to_step, const int to) {
  USE_READ(UNIT, x);
  USE_WRITE(UNIT, y);
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int outer = i / part, rest = i - outer * part;
  y[outer * to_step + to + rest] = x[outer * from_step + from + rest];
}
)";

std::string place_source(DType dtype) { return format("#define UNIT {}\n{}", unit_of(dtype), kPlace); }

Estimate estimate_concat(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_move(node); !reason.empty()) return declined("{}", reason);
  Estimate estimate = estimate_of(node, device, 0, 1, static_cast<int>(node.input_count()));
  estimate.joins = Joint(node, node.output_shape(0)).outer == 1;
  for (size_t i = 0; i < node.input_count(); ++i) estimate.joins = estimate.joins && !node.is_constant(i);
  return estimate;
}
std::unique_ptr<Kernel> prepare_concat(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& whole = node.output_shape(0);
  const Joint joint(node, whole);
  const size_t size = size_of(node.output(0).dtype);
  auto kernel = std::make_unique<Launches>(context);
  int64_t at = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const int64_t count = node.input_shape(i).elements(), part = node.input_shape(i)[joint.axis] * joint.inner;
    if (count == 0) continue;
    kernel->add_1d(place_source(node.output(0).dtype), "place", count,
                   {Given::input(i), Given::output(0), count, part, part, 0, whole[joint.axis] * joint.inner, at});
    if (joint.outer == 1 && !node.is_constant(i)) kernel->skip_if_same(i, 0, 0, static_cast<size_t>(at) * size);
    at += part;
  }
  return kernel;
}

Estimate estimate_split(const NodeView& node, const Device& device) {
  Estimate estimate = estimate_copy(node, device);
  const Joint joint(node, node.input_shape(0));
  estimate.parts = joint.outer == 1;
  if (!estimate.parts && joint.inner == 1) estimate.first_column = 0;
  return estimate;
}
std::unique_ptr<Kernel> prepare_split(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& whole = node.input_shape(0);
  const Joint joint(node, whole);
  const size_t size = size_of(node.input_dtype(0));
  auto kernel = std::make_unique<Launches>(context);
  int64_t at = 0;
  for (size_t i = 0; i < node.output_count(); ++i) {
    const int64_t part = node.output_shape(i)[joint.axis] * joint.inner;
    if (node.has_output(i)) {
      kernel->add_1d(
          place_source(node.input_dtype(0)), "place", node.output_shape(i).elements(),
          {Given::input(0), Given::output(i), node.output_shape(i).elements(), part, whole[joint.axis] * joint.inner, at, part, 0});
      if (joint.outer == 1) kernel->skip_if_same(0, static_cast<size_t>(at) * size, i, 0);
    }
    at += part;
  }
  return kernel;
}

constexpr Scheme kSchemes[] = {
    {"Reshape", "gpu.copy", estimate_kept, prepare_kept},    {"Flatten", "gpu.copy", estimate_kept, prepare_kept},
    {"Squeeze", "gpu.copy", estimate_kept, prepare_kept},    {"Unsqueeze", "gpu.copy", estimate_kept, prepare_kept},
    {"Identity", "gpu.copy", estimate_kept, prepare_kept},   {"Transpose", "gpu.transpose", estimate_copy, prepare_transpose},
    {"Expand", "gpu.expand", estimate_copy, prepare_expand}, {"Concat", "gpu.concat", estimate_concat, prepare_concat},
    {"Split", "gpu.split", estimate_split, prepare_split},   {"Slice", "gpu.slice", estimate_slice, prepare_slice},
    {"Tile", "gpu.tile", estimate_copy, prepare_tile}};

}  // namespace

std::span<const Scheme> movement_schemes() { return kSchemes; }

}  // namespace minnow::gpu
