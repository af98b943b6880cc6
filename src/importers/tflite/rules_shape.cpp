// SPDX-License-Identifier: Apache-2.0
// Shapes, slices, gathers, reductions: operators that move or count elements.
#include <algorithm>
#include <limits>

#include "base/numeric.h"
#include "importers/builder/arithmetic.h"
#include "importers/builder/indexing.h"
#include "importers/tflite/rules.h"

namespace minnow::tflite {
namespace {

/// Zero as tensor `info` stores it.
double stored_zero(const TfliteNode& node, const TensorInfo& info) {
  const bool shifted = !node.as_real && info.quantized() && !info.quantization.zero_point.empty();
  return shifted ? static_cast<double>(info.quantization.zero_point[0]) : 0;
}

int64_t axis_of(const TfliteNode& node, int64_t axis, int64_t rank) {
  if (rank < 0) node.refuse("a tensor of unknown rank is not supported");
  if (axis < -rank || axis >= rank) node.fail("axis {} does not fit {} dimensions", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

Exprs import_argmax(TfliteNode& node, TypedBuilder& p) {
  return {p.op(node.rule->target, {node.input(0)}, {{"axis", node.integer(1)}, {"keepdims", int64_t{0}}})};
}

Exprs import_broadcast_args(TfliteNode& node, TypedBuilder& p) { return {broadcast_shapes(p, node.input(0), node.input(1))}; }
Exprs import_broadcast_to(TfliteNode& node, TypedBuilder& p) { return {p.op("Expand", {node.input(0), p.i64(node.input(1))})}; }

Exprs import_concatenation(TfliteNode& node, TypedBuilder& p) {
  Exprs parts;
  for (size_t i = 0; i < node.input_count(); ++i) parts.push_back(node.input(i));
  if (parts.empty()) node.fail("has no inputs");
  return {node.activated(p.concat(parts, node.option<int32_t>(0, 0)), 1)};
}

Exprs import_cumsum(TfliteNode& node, TypedBuilder& p) {
  return {p.op("CumSum", {node.input(0), p.reshape(p.i64(node.input(1)), Ints{})},
               {{"exclusive", int64_t{node.flag(0)}}, {"reverse", int64_t{node.flag(1)}}})};
}

Exprs import_densify(TfliteNode& node, TypedBuilder&) { return {node.input(0)}; }  // constants are unpacked when they are read

Exprs import_dilate(TfliteNode& node, TypedBuilder& p) {
  // Values between elements: [a, b] -> [a, v, b].
  Expr x = node.input(0);
  const Ints dilations = node.ints(1);
  const Expr value = node.input(2);
  for (size_t axis = 0; axis < dilations.size(); ++axis) {
    const int64_t size = p.dim(x, static_cast<int64_t>(axis)), by = dilations[axis], rank = p.rank(x);
    if (by == 1) continue;
    if (size < 1 || by < 1) node.refuse("a tensor of unknown shape is not supported");
    // Each element becomes a row of `by`, whose surplus is cut at the end.
    Ints pads(static_cast<size_t>(2 * (rank + 1)), 0);
    pads[static_cast<size_t>(rank + 1) + axis + 1] = by - 1;
    const Expr rows = p.op("Pad", {p.unsqueeze(x, {static_cast<int64_t>(axis) + 1}), p.constant(pads), p.reshape(value, Ints{})});
    Ints shape = *p.shape(x);
    shape[axis] = size * by;
    x = p.slice(p.reshape(rows, shape), {0}, {(size - 1) * by + 1}, {static_cast<int64_t>(axis)});
  }
  return {x};
}

Exprs import_dynamic_update_slice(TfliteNode& node, TypedBuilder& p) {
  return {dynamic_update_slice(p, node.input(0), node.input(1), node.input(2))};
}

Exprs import_expand_dims(TfliteNode& node, TypedBuilder& p) { return {p.unsqueeze(node.input(0), {node.integer(1)})}; }

Exprs import_fill(TfliteNode& node, TypedBuilder& p) { return {p.op("Expand", {node.input(1), p.i64(node.input(0))})}; }

Exprs import_gather(TfliteNode& node, TypedBuilder& p) {
  return {gather_batched(p, node.input(0), node.input(1), node.option<int32_t>(0, 0), node.option<int32_t>(1, 0))};
}
Exprs import_gather_nd(TfliteNode& node, TypedBuilder& p) { return {p.op("GatherND", {node.input(0), p.i64(node.input(1))})}; }

Exprs import_matrix_diag(TfliteNode& node, TypedBuilder& p) { return {matrix_diag(p, node.input(0))}; }
Exprs import_matrix_set_diag(TfliteNode& node, TypedBuilder& p) { return {matrix_set_diag(p, node.input(0), node.input(1))}; }

Exprs import_pad(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const Expr value = node.has(2) ? p.reshape(node.input(2), Ints{}) : p.scalar(stored_zero(node, node.input_info(0)), p.dtype(x));
  return {pad(p, x, node.input(1), value)};
}
Exprs import_mirror_pad(TfliteNode& node, TypedBuilder& p) {
  if (node.option<int8_t>(0, 0) == 1) return {pad_symmetric(p, node.input(0), node.ints(1))};
  return {pad(p, node.input(0), node.input(1), Expr(), "reflect")};
}

Exprs import_one_hot(TfliteNode& node, TypedBuilder& p) {
  return {one_hot(p, node.input(0), node.input(1), p.reshape(node.input(2), Ints{}), p.reshape(node.input(3), Ints{}),
                  node.option<int32_t>(0, 0))};
}

Exprs import_pack(TfliteNode& node, TypedBuilder& p) {
  if (node.input_count() == 0) node.fail("has no inputs");
  const int64_t rank = p.rank(node.input(0));
  const int64_t axis = axis_of(node, node.option<int32_t>(1, 0), rank < 0 ? rank : rank + 1);
  Exprs parts;
  for (size_t i = 0; i < node.input_count(); ++i) parts.push_back(p.unsqueeze(node.input(i), {axis}));
  return {p.concat(parts, axis)};
}

Exprs import_unpack(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const int64_t axis = axis_of(node, node.option<int32_t>(1, 0), p.rank(x));
  const size_t count = node.output_count();
  if (count == 0) node.fail("has no outputs");
  if (count == 1) return {p.squeeze(x, {axis})};
  Exprs parts = p.ops("Split", {x}, count, {{"axis", axis}, {"num_outputs", static_cast<int64_t>(count)}});
  for (Expr& part : parts) part = p.squeeze(part, {axis});
  return parts;
}

Exprs import_range(TfliteNode& node, TypedBuilder& p) {
  const auto scalar = [&](size_t i) { return p.reshape(node.input(i), Ints{}); };
  return {p.op("Range", {scalar(0), scalar(1), scalar(2)})};
}

Exprs import_rank(TfliteNode& node, TypedBuilder& p) {
  const int64_t rank = p.rank(node.input(0));
  if (rank >= 0) return {p.scalar(static_cast<double>(rank), DType::i32)};
  return {p.op("Size", {p.op("Shape", {node.input(0)})})};
}

Exprs import_reduce(TfliteNode& node, TypedBuilder& p) {
  Expr x = node.input(0);
  const std::string_view target = node.rule->target;
  const DType dtype = p.dtype(x);
  // Logic counts as 0 and 1.
  const bool logic = dtype == DType::boolean;
  if (logic) x = p.cast(x, DType::u8);
  Attributes attributes{{"keepdims", int64_t{node.flag(0)}}};
  Expr axes = p.vector(p.i64(node.input(1)));
  if (const auto known = p.ints(axes)) {
    if (known->empty()) attributes.set("noop_with_empty_axes", int64_t{1});
    // The same axis may be named twice.
    if (const int64_t rank = p.rank(x); rank >= 0) {
      Ints distinct;
      for (int64_t axis : *known) distinct.push_back(axis_of(node, axis, rank));
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      axes = p.constant(distinct);
    }
  }
  const Expr y = p.op(target, {x, axes}, std::move(attributes));
  return {logic ? p.cast(y, DType::boolean) : y};
}

Exprs import_reshape(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  Ints to;
  if (node.has(1)) {
    const auto known = node.known_ints(1);
    if (!known) return {p.reshape(x, node.input(1))};
    to = *known;
  } else {
    to = node.options().numbers<int32_t>(0).copy<int64_t>();
  }
  if (to.size() == 1 && to[0] == 0 && p.shape(x) && p.shape(x)->empty()) to.clear();  // how older files write a scalar
  return {p.reshape(x, to)};
}

Exprs import_reverse(TfliteNode& node, TypedBuilder& p) { return {reverse(p, node.input(0), node.ints(1))}; }

Exprs import_reverse_sequence(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const int64_t rank = p.rank(x), time = axis_of(node, node.option<int32_t>(0, 0), rank),
                batch = axis_of(node, node.option<int32_t>(1, 0), rank);
  if (time == batch) node.fail("runs along the dimension of the batch");
  // Both go to the front.
  Ints perm = {batch, time}, back(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i)
    if (i != batch && i != time) perm.push_back(i);
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  const Expr y =
      p.op("ReverseSequence", {p.transpose(x, perm), p.i64(node.input(1))}, {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}});
  return {p.transpose(y, back)};
}

Exprs import_scatter_nd(TfliteNode& node, TypedBuilder& p) { return {scatter_nd(p, node.input(0), node.input(1), node.input(2))}; }

Exprs import_segment_sum(TfliteNode& node, TypedBuilder& p) {
  const Expr last = p.op("ReduceMax", {p.i64(node.input(1))}, {{"keepdims", int64_t{0}}});
  return {segment(p, node.input(0), node.input(1), p.op("Add", {last, p.scalar(1, DType::i64)}), SegmentJoin::sum)};
}
Exprs import_unsorted_segment(TfliteNode& node, TypedBuilder& p) {
  const std::string_view target = node.rule->target;
  const SegmentJoin join = target == "add"   ? SegmentJoin::sum
                           : target == "mul" ? SegmentJoin::product
                           : target == "max" ? SegmentJoin::largest
                                             : SegmentJoin::smallest;
  return {segment(p, node.input(0), node.input(1), node.input(2), join)};
}

Exprs import_shape(TfliteNode& node, TypedBuilder& p) { return {p.shape_of(node.input(0))}; }

Exprs import_slice(TfliteNode& node, TypedBuilder& p) {
  const auto begin = node.known_ints(1), size = node.known_ints(2);
  if (begin && size && begin->size() != size->size()) node.fail("has {} begins and {} sizes", begin->size(), size->size());
  return {slice_sizes(p, node.input(0), node.input(1), node.input(2))};
}

Exprs import_strided_slice(TfliteNode& node, TypedBuilder& p) {
  SliceMasks masks;
  masks.begin = node.option<int32_t>(0, 0);
  masks.end = node.option<int32_t>(1, 0);
  masks.ellipsis = node.option<int32_t>(2, 0);
  masks.new_axis = node.option<int32_t>(3, 0);
  masks.shrink = node.option<int32_t>(4, 0);
  Expr begin = node.input(1), end = node.input(2);
  if (node.flag(5)) {
    if (const auto b = node.known_ints(1), e = node.known_ints(2); b && e && b->size() == e->size()) {
      Ints sum;
      for (size_t i = 0; i < b->size(); ++i) sum.push_back((*b)[i] + (*e)[i]);
      end = p.constant(sum);
    } else {
      end = p.op("Add", {p.i64(begin), p.i64(end)});
    }
  }
  return {strided_slice(p, node.input(0), begin, end, node.ints(3), masks)};
}

Exprs import_sparse_to_dense(TfliteNode& node, TypedBuilder& p) {
  // Indices [n, rank], [n] or a scalar; values [n] or a scalar; the value of all other places.
  const Expr values = node.input(2), other = p.reshape(node.input(3), Ints{});
  Expr indices = p.i64(node.input(0));
  const int64_t rank = p.rank(indices);
  if (rank < 0) node.refuse("indices of unknown rank are not supported");
  if (rank < 2) indices = p.reshape(indices, Ints{-1, 1});
  const Expr dense = p.op("Expand", {other, p.i64(node.input(1))});
  return {p.op("ScatterND", {dense, indices, p.op("Expand", {values, p.shape_of(indices, 0, 1)})})};
}

Exprs import_split(TfliteNode& node, TypedBuilder& p) {
  const size_t count = node.output_count();
  if (count < 2) return {node.input(1)};
  return p.ops("Split", {node.input(1)}, count, {{"axis", node.integer(0)}, {"num_outputs", static_cast<int64_t>(count)}});
}

Exprs import_split_v(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const int64_t axis = axis_of(node, node.integer(2), p.rank(x));
  Ints sizes = node.ints(1);
  if (sizes.size() != node.output_count()) node.fail("has {} sizes and {} outputs", sizes.size(), node.output_count());
  return split_sizes(p, x, std::move(sizes), axis);
}

Exprs import_squeeze(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const Ints axes = node.options().numbers<int32_t>(0).copy<int64_t>();
  if (!axes.empty()) return {p.squeeze(x, axes)};
  Ints ones;
  const int64_t rank = p.rank(x);
  if (rank < 0) return {p.op("Squeeze", {x})};
  for (int64_t i = 0; i < rank; ++i) {
    if (p.dim(x, i) < 0) return {p.op("Squeeze", {x})};
    if (p.dim(x, i) == 1) ones.push_back(i);
  }
  return {p.squeeze(x, ones)};
}

Exprs import_tile(TfliteNode& node, TypedBuilder& p) { return {p.op("Tile", {node.input(0), p.i64(node.input(1))})}; }

Exprs import_top_k(TfliteNode& node, TypedBuilder& p) {
  return p.ops("TopK", {node.input(0), p.vector(p.i64(node.input(1)))}, 2, {{"axis", int64_t{-1}}});
}

Exprs import_transpose(TfliteNode& node, TypedBuilder& p) {
  const Ints perm = node.ints(1);
  Ints positive;
  for (int64_t axis : perm) positive.push_back(axis_of(node, axis, static_cast<int64_t>(perm.size())));
  return {p.transpose(node.input(0), positive)};
}

Exprs import_unique(TfliteNode& node, TypedBuilder& p) {
  const Exprs made = p.ops("Unique", {node.input(0)}, 3, {{"sorted", int64_t{0}}});
  return {made[0], made[2]};
}

Exprs import_where(TfliteNode& node, TypedBuilder& p) {
  Expr condition = node.input(0);
  if (p.dtype(condition) != DType::boolean) condition = p.op("Not", {p.op("Equal", {condition, p.scalar(0, p.dtype(condition))})});
  return {p.transpose(p.op("NonZero", {condition}), {1, 0})};
}

Exprs import_zeros_like(TfliteNode& node, TypedBuilder& p) { return {p.fill(p.shape_of(node.input(0)), 0, p.dtype(node.input(0)))}; }

}  // namespace minnow::tflite
