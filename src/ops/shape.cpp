// SPDX-License-Identifier: Apache-2.0
// Operators that depend on the shape of a tensor alone: Shape, Size, EyeLike.
#include <algorithm>
#include <cstring>

#include "base/numeric.h"
#include "ops/contents.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kStart{"start", 0, "first dimension listed; negative ones count from the end"};
constexpr AttributeSpec kEnd = optional("end", AttributeKind::integer, "dimension before which the list ends; all by default");
constexpr Attribute<int64_t> kDiagonal{"k", 0, "which diagonal holds ones: above the main one where positive, below where negative"};
constexpr AttributeSpec kDType = optional("dtype", AttributeKind::integer, "dtype of the output; the input's by default");

struct Interval {
  int64_t begin, end;
};

Interval listed_dimensions(const NodeView& node, size_t input_rank) {
  const int64_t rank = static_cast<int64_t>(input_rank);
  const auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t* end = node.find<int64_t>("end");
  const Interval interval{clamp(node.attribute(kStart)), end ? clamp(*end) : rank};
  return {interval.begin, std::max(interval.begin, interval.end)};
}

Shapes shape_shape(const NodeView& node) {
  const Interval listed = listed_dimensions(node, node.input_sizes(0).rank());
  return {Sizes{listed.end - listed.begin}};
}

void shape_reference(const NodeView& node, KernelArgs& args) {
  const Shape& shape = args.input(0).shape();
  const Interval listed = listed_dimensions(node, shape.rank());
  std::copy(shape.begin() + listed.begin, shape.begin() + listed.end, args.output(0).data<int64_t>());
}

void shape_contents(const NodeView& node, std::span<ValueInfo> outputs) {
  const Sizes sizes = node.input_sizes(0);
  const Interval listed = listed_dimensions(node, sizes.rank());
  set_contents(outputs[0], {sizes.begin() + listed.begin, sizes.begin() + listed.end});
}

// A scalar whatever the input is; while a plan is being made, the input's shape should be known, as the number follows from it alone.
Shapes size_shape(const NodeView& node) {
  if (!node.is_symbolic()) node.input_shape(0);
  return {Sizes{}};
}

void size_contents(const NodeView& node, std::span<ValueInfo> outputs) { set_contents(outputs[0], {node.input_sizes(0).elements()}); }

void size_reference(const NodeView&, KernelArgs& args) { *args.output(0).data<int64_t>() = args.input(0).shape().elements(); }

void eye_like_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  const int64_t* dtype = node.find<int64_t>("dtype");
  outputs[0].dtype = dtype ? static_cast<DType>(*dtype) : node.input_dtype(0);
  if (dtype && (*dtype < 0 || *dtype > 26 || !contains(kNumeric | kBool, outputs[0].dtype)))
    node.fail("attribute \"dtype\" is {}, which is no dtype that a matrix of ones can have", *dtype);
  const Sizes shape = node.input_sizes(0);
  if (shape.rank() != 2) node.fail("makes matrices, its input is of shape {}", shape);
  outputs[0].set_sizes(shape);
}

void eye_like_reference(const NodeView& node, KernelArgs& args) {
  const MutableTensorView y = args.output(0);
  const int64_t rows = y.dim(0), columns = y.dim(1), k = node.attribute(kDiagonal), one = 1;
  const size_t size = size_of(y.dtype());
  if (const size_t bytes = y.bytes()) std::memset(y.data(), 0, bytes);
  if (k <= -rows || k >= columns) return;
  for (int64_t i = std::max<int64_t>(0, -k); i < rows && i + k < columns; ++i)
    narrow(y.dtype(), &one, 1, y.data<char>() + static_cast<size_t>(i * columns + i + k) * size);
}

constexpr List<Operator> definitions() {
  return {
      {.name = "Shape",
       .since = 25,
       .doc = MINNOW_DOC("The dimensions [start, end) of the input as a list."),
       .inputs = {{"data"}},
       .outputs = {{"shape", fixed(DType::i64)}},
       .attributes = {kStart, kEnd},
       .infer_shapes = shape_shape,
       .infer_contents = shape_contents,
       .reference = shape_reference,
       .shape_only = true},
      {.name = "Size",
       .since = 25,
       .doc = MINNOW_DOC("The number of elements of the input."),
       .inputs = {{"data"}},
       .outputs = {{"size", fixed(DType::i64)}},
       .infer_shapes = size_shape,
       .infer_contents = size_contents,
       .reference = size_reference,
       .shape_only = true},
      {.name = "EyeLike",
       .since = 22,
       .doc = MINNOW_DOC("A matrix of the input's shape with ones on one diagonal and zeros elsewhere."),
       .inputs = {{"input", kNumeric | kBool}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kDType, kDiagonal},
       .infer = eye_like_infer,
       .reference = eye_like_reference,
       .shape_only = true},
  };
}

}  // namespace

std::span<const Operator> shape_operators() { return operator_table<definitions>(); }

}  // namespace minnow
