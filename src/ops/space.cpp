// SPDX-License-Identifier: Apache-2.0
// Image layouts made of reshapes, transposes, slices and pads.
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<Name> kMode{
    "mode", "DCR", MINNOW_DOC("where a channel's number holds the place in a block: DCR: in front of the depth, CRD: behind it")};

/// True for DCR.
bool depth_last(const NodeView& node) {
  const std::string_view mode = node.attribute(kMode);
  if (mode != "DCR" && mode != "CRD") node.fail("mode should be DCR or CRD, it is \"{}\"", mode);
  return mode == "DCR";
}

constexpr int64_t kMaxSize = int64_t{1} << 30;

int64_t block_of(const NodeView& node) {
  const int64_t block = node.require<int64_t>("blocksize");
  if (block < 1 || block > kMaxSize) node.fail("blocksize should be positive, it is {}", block);
  if (node.input_sizes(0).rank() != 4) node.fail("takes [batch, channels, height, width], the input has shape {}", node.input_sizes(0));
  return block;
}

Shapes depth_to_space_shape(const NodeView& node) {
  const int64_t block = block_of(node);
  const Sizes x = node.input_sizes(0);
  depth_last(node);
  if (leaves_rest(x[1], block * block)) node.fail("{} channels do not fill blocks of {} by {}", x[1], block, block);
  if (less(kMaxSize, x[2]) || less(kMaxSize, x[3])) node.fail("the input of shape {} is too large", x);
  return {Sizes{x[0], divide_exactly(x[1], block * block), x[2] * block, x[3] * block}};
}

Shapes space_to_depth_shape(const NodeView& node) {
  const int64_t block = block_of(node);
  const Sizes x = node.input_sizes(0);
  depth_last(node);
  if (leaves_rest(x[2], block) || leaves_rest(x[3], block))
    node.fail("an image of {} by {} is not made of blocks of {}", x[2], x[3], block);
  if (less(kMaxSize / block / block, x[1])) node.fail("the input of shape {} is too large", x);
  return {Sizes{x[0], x[1] * (block * block), divide_exactly(x[2], block), divide_exactly(x[3], block)}};
}

Expr reshaped(const Expr& x, const Shape& shape) {
  // allowzero: a dimension of size 0 is meant as such.
  return op("Reshape", {x, x.builder().constant(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}});
}

Exprs depth_to_space(const NodeView& node, GraphBuilder&, const Exprs& inputs) {
  const int64_t block = block_of(node);
  const Shape &x = node.input_shape(0), &y = node.output_shape(0);
  const bool last = depth_last(node);
  const Expr split = reshaped(inputs[0], last ? Shape{x[0], block, block, y[1], x[2], x[3]} : Shape{x[0], y[1], block, block, x[2], x[3]});
  const Expr moved = op("Transpose", {split}, {{"perm", last ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3}}});
  return {reshaped(moved, y)};
}

Exprs space_to_depth(const NodeView& node, GraphBuilder&, const Exprs& inputs) {
  const int64_t block = block_of(node);
  const Shape& x = node.input_shape(0);
  for (int64_t dim : x)
    if (dim < 0) return {};  // an export shows dimensions that are open so
  const int64_t rows = x[2] / block, columns = x[3] / block;
  const Expr split = reshaped(inputs[0], Shape{x[0], x[1], rows, block, columns, block});
  const Expr moved = op("Transpose", {split}, {{"perm", depth_last(node) ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4}}});
  return {reshaped(moved, Shape{x[0], x[1] * block * block, rows, columns})};
}

Shapes center_crop_pad_shape(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  const std::vector<Size> sizes = node.sizes(1);
  const Ints* axes = node.find<Ints>("axes");
  if (sizes.size() != (axes ? axes->size() : shape.rank()))
    node.fail("shape should have {} entries, it is {}", axes ? axes->size() : shape.rank(), sizes);
  std::array<bool, kMaxRank> seen{};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t axis = axes ? node.normalize_axis((*axes)[i], shape.rank()) : i;
    if (seen[axis]) node.fail("axes {} name an axis twice", *axes);
    if (less(sizes[i], 0) || less(int64_t{1} << 40, sizes[i])) node.fail("shape {} is not possible", sizes);
    seen[axis] = true;
    shape[axis] = sizes[i];
  }
  return {shape};
}

Exprs center_crop_pad(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Shape &x = node.input_shape(0), &y = node.output_shape(0);
  Ints axes, starts, ends, pads(2 * x.rank(), 0);
  bool pad = false;
  for (size_t i = 0; i < x.rank(); ++i) {
    // The odd one is cut off, or added, at the end.
    if (y[i] < x[i]) {
      axes.push_back(static_cast<int64_t>(i));
      starts.push_back((x[i] - y[i]) / 2);
      ends.push_back(starts.back() + y[i]);
    } else if (y[i] > x[i]) {
      pad = true;
      pads[i] = (y[i] - x[i]) / 2;
      pads[x.rank() + i] = y[i] - x[i] - pads[i];
    }
  }
  Expr result = inputs[0];
  if (!axes.empty()) result = op("Slice", {result, builder.constant(starts), builder.constant(ends), builder.constant(axes)});
  if (pad) result = op("Pad", {result, builder.constant(pads)});
  return {axes.empty() && !pad ? op("Identity", {result}) : result};
}

constexpr List<Operator> definitions() {
  constexpr DTypes kElements = kNumeric | kBool;
  const AttributeSpec block = required("blocksize", AttributeKind::integer, MINNOW_DOC("side of a block"));
  return {
      {.name = "CenterCropPad",
       .since = 18,
       .doc = MINNOW_DOC("The middle of the input where a size is smaller than the input's, the input in the middle of zeros where it is "
                         "larger."),
       .inputs = {{"input_data", kElements}, {"shape", kIndex}},
       .outputs = {{"output_data", same_as("input_data")}},
       .attributes = {optional("axes", AttributeKind::integers, MINNOW_DOC("axes that `shape` speaks of; all where absent"))},
       .infer_shapes = center_crop_pad_shape,
       .decompose = center_crop_pad},
      {.name = "DepthToSpace",
       .since = 13,
       .doc = MINNOW_DOC("Blocks of pixels out of groups of blocksize * blocksize channels."),
       .inputs = {{"input", kElements}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {block, kMode},
       .infer_shapes = depth_to_space_shape,
       .decompose = depth_to_space,
       .elements = Elements::permuted},
      {.name = "SpaceToDepth",
       .since = 28,
       .doc = MINNOW_DOC("The pixels of each block as channels: the inverse of DepthToSpace."),
       .inputs = {{"input", kElements}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {block, kMode},
       .infer_shapes = space_to_depth_shape,
       .decompose = space_to_depth,
       .elements = Elements::permuted},
  };
}

}  // namespace

std::span<const Operator> space_operators() { return operator_table<definitions>(); }

}  // namespace minnow
