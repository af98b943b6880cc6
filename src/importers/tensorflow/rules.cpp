// SPDX-License-Identifier: Apache-2.0
// The one table of import rules for TensorFlow's operators, and the rules: most call functions shared by the channel-last formats.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/tensorflow/rules.h"

#include "importers/builder/arithmetic.h"
#include "importers/builder/indexing.h"

namespace minnow::tensorflow {
namespace {

using Axes = Ints;

// Elements by themselves.

Exprs unary(TfNode& node, TypedBuilder& p) { return {p.op(node.rule->target, {node.input(0)})}; }
Exprs binary(TfNode& node, TypedBuilder& p) { return {p.op(node.rule->target, {node.input(0), node.input(1)})}; }
Exprs identity(TfNode& node, TypedBuilder&) { return {node.input(0)}; }
Exprs identity_n(TfNode& node, TypedBuilder&) { return node.inputs; }
Exprs nothing(TfNode&, TypedBuilder&) { return {}; }
Exprs add_n(TfNode& node, TypedBuilder& p) { return {p.op("Sum", node.inputs)}; }
Exprs not_equal(TfNode& node, TypedBuilder& p) { return {p.op("Not", {p.op("Equal", {node.input(0), node.input(1)})})}; }
Exprs floor_div(TfNode& node, TypedBuilder& p) { return {floor_div(p, node.input(0), node.input(1))}; }
Exprs floor_mod(TfNode& node, TypedBuilder& p) { return {floor_mod(p, node.input(0), node.input(1))}; }
Exprs truncate_mod(TfNode& node, TypedBuilder& p) { return {p.op("Mod", {node.input(0), node.input(1)}, {{"fmod", int64_t{1}}})}; }
Exprs squared_difference(TfNode& node, TypedBuilder& p) {
  const Expr difference = p.op("Sub", {node.input(0), node.input(1)});
  return {p.op("Mul", {difference, difference})};
}
Exprs square(TfNode& node, TypedBuilder& p) { return {p.op("Mul", {node.input(0), node.input(0)})}; }
Exprs rsqrt(TfNode& node, TypedBuilder& p) { return {p.op("Reciprocal", {p.op("Sqrt", {node.input(0)})})}; }
Exprs log1p(TfNode& node, TypedBuilder& p) { return {p.op("Log", {p.op("Add", {node.input(0), p.scalar(1, p.dtype(node.input(0)))})})}; }
Exprs expm1(TfNode& node, TypedBuilder& p) { return {p.op("Sub", {p.op("Exp", {node.input(0)}), p.scalar(1, p.dtype(node.input(0)))})}; }
Exprs div_no_nan(TfNode& node, TypedBuilder& p) {
  const Expr zero = p.scalar(0, p.dtype(node.input(0))), none = p.op("Equal", {node.input(1), zero});
  const Expr divisor = p.op("Where", {none, p.scalar(1, p.dtype(node.input(0))), node.input(1)});
  return {p.op("Where", {none, zero, p.op("Div", {node.input(0), divisor})})};
}
/// f(x, y), but 0 wherever `zero` is 0.
Exprs zero_where(TypedBuilder& p, const Expr& zero, const Expr& y) {
  const Expr none = p.scalar(0, p.dtype(zero));
  return {p.op("Where", {p.op("Equal", {zero, none}), none, y})};
}
Exprs mul_no_nan(TfNode& node, TypedBuilder& p) { return zero_where(p, node.input(1), p.op("Mul", {node.input(0), node.input(1)})); }
Exprs xlogy(TfNode& node, TypedBuilder& p) {
  return zero_where(p, node.input(0), p.op("Mul", {node.input(0), p.op("Log", {node.input(1)})}));
}
Exprs xdivy(TfNode& node, TypedBuilder& p) { return zero_where(p, node.input(0), p.op("Div", {node.input(0), node.input(1)})); }
Exprs erfc(TfNode& node, TypedBuilder& p) { return {p.op("Sub", {p.scalar(1, p.dtype(node.input(0))), p.op("Erf", {node.input(0)})})}; }
Exprs relu6(TfNode& node, TypedBuilder& p) { return {clip(p, node.input(0), 0, 6)}; }
Exprs leaky_relu(TfNode& node, TypedBuilder& p) { return {p.op("LeakyRelu", {node.input(0)}, {{"alpha", node.real("alpha", 0.2f)}})}; }
Exprs atan2(TfNode& node, TypedBuilder& p) { return {atan2(p, node.input(0), node.input(1))}; }
Exprs cast(TfNode& node, TypedBuilder& p) {
  const DType to = node.type("DstT");
  if (to == DType::undefined) node.refuse("its result is of no type that is supported");
  return {p.cast(node.input(0), to)};
}
Exprs clip_by_value(TfNode& node, TypedBuilder& p) { return {p.op("Min", {p.op("Max", {node.input(0), node.input(1)}), node.input(2)})}; }
Exprs select(TfNode& node, TypedBuilder& p) {
  Expr condition = node.input(0);
  const int64_t rank = p.rank(node.input(1));
  if (node.def.op == "Select" && p.rank(condition) == 1 && rank > 1) {
    Axes axes;
    for (int64_t i = 1; i < rank; ++i) axes.push_back(i);
    condition = p.unsqueeze(condition, axes);
  }
  return {p.op("Where", {condition, node.input(1), node.input(2)})};
}
Exprs bitwise(TfNode& node, TypedBuilder& p) { return {p.op(node.rule->target, {node.input(0), node.input(1)})}; }
/// Shifts by at least 0 and less than all bits, as TensorFlow's kernels do.
Exprs shift(TfNode& node, TypedBuilder& p) {
  const DType dtype = p.dtype(node.input(0));
  const Expr most = p.scalar(static_cast<double>(bits_of(dtype)) - 1, dtype);
  const Expr places = p.op("Min", {p.op("Max", {node.input(1), p.scalar(0, dtype)}), most});
  return {p.op("BitShift", {node.input(0), places}, {{"direction", std::string(node.rule->target)}})};
}
Exprs fake_quant(TfNode& node, TypedBuilder& p) {
  const double bits = static_cast<double>(node.integer("num_bits", 8)), least = node.flag("narrow_range") ? 1 : 0,
               most = std::exp2(bits) - 1;
  const bool args = node.def.op == "FakeQuantWithMinMaxArgs";
  const auto bound = [&](size_t i, const char* name, float fallback) {
    if (args) return static_cast<double>(node.real(name, fallback));
    const auto number = p.number(node.input(i));
    if (!number) node.refuse("input {} is not constant", i);
    return *number;
  };
  const double low = bound(1, "min", -6), high = bound(2, "max", 6);
  if (!(low < high)) node.fail("a range from {} to {} is not valid", low, high);
  const double scale = (high - low) / (most - least), zero = std::clamp(std::round(least - low / scale), least, most),
               from = (least - zero) * scale;
  const Expr inside = clip(p, node.input(0), from, (most - zero) * scale);
  const Expr steps =
      p.op("Floor", {p.op("Add", {p.op("Mul", {p.op("Sub", {inside, p.scalar(from)}), p.scalar(1 / scale)}), p.scalar(0.5)})});
  return {p.op("Add", {p.op("Mul", {steps, p.scalar(scale)}), p.scalar(from)})};
}
Exprs dequantize(TfNode& node, TypedBuilder& p) {
  const auto low = p.number(node.input(1)), high = p.number(node.input(2));
  const std::string_view mode = node.text("mode", "MIN_COMBINED");
  const DType from = p.dtype(node.input(0));
  if (!low || !high) node.refuse("a range that is not constant is not supported");
  if (from != DType::u8 || mode == "SCALED") node.refuse("mode {} of {} is not supported", mode, from);
  const double scale = (*high - *low) / 255;
  // TensorFlow's own kernel for bytes does not move the range in mode MIN_FIRST either.
  return {p.op("Add", {p.op("Mul", {p.cast(node.input(0), DType::f32), p.scalar(scale)}), p.scalar(*low)})};
}

// Products.

Exprs l2_loss(TfNode& node, TypedBuilder& p) {
  return {p.op("Mul", {p.op("ReduceSumSquare", {node.input(0)}, {{"keepdims", int64_t{0}}}), p.scalar(0.5, p.dtype(node.input(0)))})};
}
Exprs matmul(TfNode& node, TypedBuilder& p) {
  const Expr a = node.flag("transpose_a") ? p.swap_last(node.input(0)) : node.input(0);
  const Expr b = node.flag("transpose_b") ? p.swap_last(node.input(1)) : node.input(1);
  return {p.op("MatMul", {a, b})};
}
Exprs batch_matmul(TfNode& node, TypedBuilder& p) {
  const Expr a = node.flag("adj_x") ? p.swap_last(node.input(0)) : node.input(0),
             b = node.flag("adj_y") ? p.swap_last(node.input(1)) : node.input(1);
  return {p.op("MatMul", {a, b})};
}
Exprs einsum(TfNode& node, TypedBuilder& p) { return {p.op("Einsum", node.inputs, {{"equation", std::string(node.text("equation"))}})}; }
Exprs softmax(TfNode& node, TypedBuilder& p) { return {p.op(node.rule->target, {node.input(0)}, {{"axis", int64_t{-1}}})}; }

// Shapes.

Exprs reshape(TfNode& node, TypedBuilder& p) { return {p.reshape(node.input(0), node.input(1))}; }
Exprs squeeze(TfNode& node, TypedBuilder& p) {
  Ints axes = node.integers("squeeze_dims");
  if (axes.empty()) axes = node.integers("axis");
  if (axes.empty()) return {p.op("Squeeze", {node.input(0)})};
  return {p.squeeze(node.input(0), axes)};
}
Exprs expand_dims(TfNode& node, TypedBuilder& p) { return {p.unsqueeze(node.input(0), {node.scalar(1)})}; }
Exprs transpose(TfNode& node, TypedBuilder& p) {
  const auto known = p.ints(node.input(1));
  if (!known) return {transpose_by(p, node.input(0), node.input(1))};
  Ints perm = *known;
  for (int64_t& axis : perm)
    if (axis < 0) axis += static_cast<int64_t>(perm.size());
  return {p.transpose(node.input(0), perm)};
}
Exprs concat(TfNode& node, TypedBuilder& p) {
  const bool axis_first = node.def.op == "Concat";
  if (node.input_count() < 2) node.fail("has {} inputs", node.input_count());
  const size_t axis = axis_first ? 0 : node.input_count() - 1;
  const Exprs parts(node.inputs.begin() + (axis_first ? 1 : 0), node.inputs.end() - (axis_first ? 0 : 1));
  return {p.concat(parts, node.scalar(axis))};
}
Exprs pack(TfNode& node, TypedBuilder& p) {
  const int64_t rank = p.rank(node.input(0));
  int64_t axis = node.integer("axis", 0);
  if (axis < 0 && rank < 0) node.refuse("a tensor of unknown rank is not supported");
  if (axis < 0) axis += rank + 1;
  Exprs parts;
  for (const Expr& x : node.inputs) parts.push_back(p.unsqueeze(x, {axis}));
  return {p.concat(parts, axis)};
}
Exprs unpack(TfNode& node, TypedBuilder& p) {
  const int64_t axis = node.integer("axis", 0), count = node.integer("num", 0);
  if (count < 1 || count > 100000) node.fail("has {} results", count);
  if (count == 1) return {p.squeeze(node.input(0), {axis})};
  Exprs parts = p.ops("Split", {node.input(0)}, static_cast<size_t>(count), {{"axis", axis}, {"num_outputs", count}});
  for (Expr& part : parts) part = p.squeeze(part, {axis});
  return parts;
}
Exprs split(TfNode& node, TypedBuilder& p) {
  const int64_t count = node.integer("num_split", 1);
  if (count < 1 || count > 100000) node.fail("has {} results", count);
  if (node.def.op == "SplitV") {
    return split_sizes(p, node.input(0), node.ints(1), node.scalar(2));
  }
  if (count == 1) return {node.input(1)};
  return p.ops("Split", {node.input(1)}, static_cast<size_t>(count), {{"axis", node.scalar(0)}, {"num_outputs", count}});
}
Exprs slice(TfNode& node, TypedBuilder& p) { return {slice_sizes(p, node.input(0), node.input(1), node.input(2))}; }
Exprs strided_slice(TfNode& node, TypedBuilder& p) {
  SliceMasks masks;
  masks.begin = node.integer("begin_mask", 0);
  masks.end = node.integer("end_mask", 0);
  masks.ellipsis = node.integer("ellipsis_mask", 0);
  masks.new_axis = node.integer("new_axis_mask", 0);
  masks.shrink = node.integer("shrink_axis_mask", 0);
  return {strided_slice(p, node.input(0), node.input(1), node.input(2), node.ints(3), masks)};
}
Exprs pad(TfNode& node, TypedBuilder& p) { return {pad(p, node.input(0), node.input(1), node.input_count() > 2 ? node.input(2) : Expr())}; }
Exprs mirror_pad(TfNode& node, TypedBuilder& p) {
  if (node.text("mode") == "SYMMETRIC") return {pad_symmetric(p, node.input(0), node.ints(1))};
  return {pad(p, node.input(0), node.input(1), Expr(), "reflect")};
}
Exprs gather(TfNode& node, TypedBuilder& p) {
  if (node.def.op == "Gather") return {p.gather(node.input(0), node.input(1), 0)};
  return {gather_batched(p, node.input(0), node.input(1), node.scalar(2), node.integer("batch_dims", 0))};
}
Exprs resource_gather(TfNode& node, TypedBuilder& p) {
  return {gather_batched(p, node.input(0), node.input(1), node.integer("batch_dims", 0), node.integer("batch_dims", 0))};
}
Exprs gather_nd(TfNode& node, TypedBuilder& p) { return {p.op("GatherND", {node.input(0), p.i64(node.input(1))})}; }
Exprs scatter_nd(TfNode& node, TypedBuilder& p) { return {scatter_nd(p, node.input(0), node.input(1), node.input(2))}; }
Exprs tensor_scatter(TfNode& node, TypedBuilder& p) {
  Attributes attributes;
  if (!node.rule->target.empty()) attributes.set("reduction", std::string(node.rule->target));
  return {p.op("ScatterND", {node.input(0), p.i64(node.input(1)), node.input(2)}, std::move(attributes))};
}
Exprs tensor_scatter_sub(TfNode& node, TypedBuilder& p) {
  return {p.op("ScatterND", {node.input(0), p.i64(node.input(1)), p.op("Neg", {node.input(2)})}, {{"reduction", std::string("add")}})};
}
Exprs sparse_to_dense(TfNode& node, TypedBuilder& p) {  // indices, shape, values, default
  Expr indices = p.i64(node.input(0));
  const Expr shape = p.vector(p.i64(node.input(1)));
  if (p.rank(indices) == 0) indices = p.reshape(indices, Ints{1, 1});
  if (p.rank(indices) == 1) indices = p.unsqueeze(indices, {p.dim(shape, 0) == 1 ? 1 : 0});
  const Expr values = p.op("Expand", {node.input(2), p.shape_of(indices, 0, 1)});
  return {p.op("ScatterND", {p.op("Expand", {node.input(3), shape}), indices, values})};
}
Exprs roll(TfNode& node, TypedBuilder& p) {
  const Ints shifts = node.ints(1), axes = node.ints(2);
  if (shifts.size() != axes.size()) node.fail("{} shifts are given for {} axes", shifts.size(), axes.size());
  Expr x = node.input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t shift = shifts[i];
    if (const int64_t size = p.dim(x, axes[i]); size > 0)
      shift %= size;
    else if (shift != 0)
      node.refuse("a dimension of unknown size is not supported");
    if (shift != 0) x = p.concat({p.slice(x, {-shift}, {kEnd}, {axes[i]}), p.slice(x, {0}, {-shift}, {axes[i]})}, axes[i]);
  }
  return {x};
}
Exprs lin_space(TfNode& node, TypedBuilder& p) {  // from, to, count
  const DType dtype = p.dtype(node.input(0));
  const Expr count = p.reshape(p.i64(node.input(2)), Ints{}), one = p.scalar(1, DType::i64);
  const Expr places = p.cast(p.op("Range", {p.scalar(0, DType::i64), count, one}), dtype);
  const Expr steps = p.cast(p.op("Max", {p.op("Sub", {count, one}), one}), dtype);
  const Expr step = p.op("Div", {p.op("Sub", {node.input(1), node.input(0)}), steps});
  return {p.op("Add", {node.input(0), p.op("Mul", {places, step})})};
}
Exprs shape(TfNode& node, TypedBuilder& p) { return {p.cast(p.shape_of(node.input(0)), node.type("out_type", DType::i32))}; }
Exprs shape_n(TfNode& node, TypedBuilder& p) {
  Exprs all;
  for (const Expr& x : node.inputs) all.push_back(p.cast(p.shape_of(x), node.type("out_type", DType::i32)));
  return all;
}
Exprs size(TfNode& node, TypedBuilder& p) { return {p.cast(p.op("Size", {node.input(0)}), node.type("out_type", DType::i32))}; }
Exprs rank(TfNode& node, TypedBuilder& p) {
  const int64_t count = p.rank(node.input(0));
  if (count >= 0) return {p.scalar(static_cast<double>(count), DType::i32)};
  return {p.cast(p.op("Size", {p.op("Shape", {node.input(0)})}), DType::i32)};
}
Exprs fill(TfNode& node, TypedBuilder& p) { return {p.op("Expand", {node.input(1), p.i64(node.input(0))})}; }
Exprs broadcast_to(TfNode& node, TypedBuilder& p) { return {p.op("Expand", {node.input(0), p.i64(node.input(1))})}; }
Exprs broadcast_args(TfNode& node, TypedBuilder& p) {
  return {p.cast(broadcast_shapes(p, p.i64(node.input(0)), p.i64(node.input(1))), p.dtype(node.input(0)))};
}
Exprs zeros_like(TfNode& node, TypedBuilder& p) {
  return {p.fill(p.shape_of(node.input(0)), node.def.op == "OnesLike" ? 1 : 0, p.dtype(node.input(0)))};
}
Exprs range(TfNode& node, TypedBuilder& p) {
  const auto scalar = [&](size_t i) { return p.reshape(node.input(i), Ints{}); };
  return {p.op("Range", {scalar(0), scalar(1), scalar(2)})};
}
Exprs tile(TfNode& node, TypedBuilder& p) { return {p.op("Tile", {node.input(0), p.i64(node.input(1))})}; }
Exprs one_hot(TfNode& node, TypedBuilder& p) {
  return {one_hot(p, node.input(0), node.input(1), p.reshape(node.input(2), Ints{}), p.reshape(node.input(3), Ints{}),
                  node.integer("axis", -1))};
}
Exprs reduce(TfNode& node, TypedBuilder& p) {
  Expr x = node.input(0);
  const bool logic = p.dtype(x) == DType::boolean;
  if (logic) x = p.cast(x, DType::u8);
  Attributes attributes{{"keepdims", int64_t{node.flag("keep_dims")}}};
  const Expr axes = p.vector(p.i64(node.input(1)));
  if (const auto known = p.ints(axes); known && known->empty()) attributes.set("noop_with_empty_axes", int64_t{1});
  const Expr y = p.op(node.rule->target, {x, axes}, std::move(attributes));
  return {logic ? p.cast(y, DType::boolean) : y};
}
Exprs argmax(TfNode& node, TypedBuilder& p) {
  const int64_t axis = node.input_count() > 1 ? node.scalar(1) : 0;
  return {
      p.cast(p.op(node.rule->target, {node.input(0)}, {{"axis", axis}, {"keepdims", int64_t{0}}}), node.type("output_type", DType::i64))};
}
Exprs top_k(TfNode& node, TypedBuilder& p) {
  const Expr k = node.def.op == "TopK" ? p.constant({node.integer("k", 1)}) : p.vector(p.i64(node.input(1)));
  Exprs made = p.ops("TopK", {node.input(0), k}, 2);
  made[1] = p.cast(made[1], node.type("index_type", DType::i32));
  return made;
}
Exprs cumulative(TfNode& node, TypedBuilder& p) {
  return {p.op(node.rule->target, {node.input(0), p.reshape(p.i64(node.input(1)), Ints{})},
               {{"exclusive", int64_t{node.flag("exclusive")}}, {"reverse", int64_t{node.flag("reverse")}}})};
}
Exprs reverse(TfNode& node, TypedBuilder& p) { return {reverse(p, node.input(0), node.ints(1))}; }
Exprs reverse_sequence(TfNode& node, TypedBuilder& p) {
  const int64_t time = node.integer("seq_dim", 0), batch = node.integer("batch_dim", 0);
  if (time > 1 || batch > 1 || time == batch) node.refuse("dimensions {} and {} are not supported", time, batch);
  return {p.op("ReverseSequence", {node.input(0), p.i64(node.input(1))}, {{"batch_axis", batch}, {"time_axis", time}})};
}
Exprs where(TfNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const Expr condition = p.dtype(x) == DType::boolean ? x : p.op("Not", {p.op("Equal", {x, p.scalar(0, p.dtype(x))})});
  return {p.transpose(p.op("NonZero", {condition}), {1, 0})};
}
Exprs matrix_diag(TfNode& node, TypedBuilder& p) { return {matrix_diag(p, node.input(0))}; }
Exprs matrix_set_diag(TfNode& node, TypedBuilder& p) { return {matrix_set_diag(p, node.input(0), node.input(1))}; }
SegmentJoin segment_of(std::string_view target) {
  return target == "add"   ? SegmentJoin::sum
         : target == "mul" ? SegmentJoin::product
         : target == "max" ? SegmentJoin::largest
                           : SegmentJoin::smallest;
}
Exprs segment(TfNode& node, TypedBuilder& p) {
  return {segment(p, node.input(0), node.input(1), node.input(2), segment_of(node.rule->target))};
}
/// One more than the last of ids in rising order.
Expr segment_count(TfNode& node, TypedBuilder& p) {
  const Expr last = p.op("ReduceMax", {p.i64(node.input(1))}, {{"keepdims", int64_t{0}}});
  return p.op("Add", {last, p.scalar(1, DType::i64)});
}
/// How many rows went into each element of the segments.
Expr segment_rows(TfNode& node, TypedBuilder& p, const Expr& count) {
  const Expr ones = p.fill(p.shape_of(node.input(0)), 1, p.dtype(node.input(0)));
  return segment(p, ones, node.input(1), count, SegmentJoin::sum);
}
/// Segments that have no rows are zeros here, elsewhere the least or the largest number.
Exprs segment_sorted(TfNode& node, TypedBuilder& p) {
  const std::string_view target = node.rule->target;
  const Expr count = segment_count(node, p), y = segment(p, node.input(0), node.input(1), count, segment_of(target));
  if (target == "add" || target == "mul") return {y};
  const Expr none = p.scalar(0, p.dtype(y));
  return {p.op("Where", {p.op("Equal", {segment_rows(node, p, count), none}), none, y})};
}
Exprs segment_mean(TfNode& node, TypedBuilder& p) {
  const Expr count = segment_count(node, p);
  const Expr rows = p.op("Max", {segment_rows(node, p, count), p.scalar(1, p.dtype(node.input(0)))});
  return {p.op("Div", {segment(p, node.input(0), node.input(1), count, SegmentJoin::sum), rows})};
}
Exprs unique(TfNode& node, TypedBuilder& p) {
  const Exprs made = p.ops("Unique", {node.input(0)}, 3, {{"sorted", int64_t{0}}});
  return {made[0], p.cast(made[2], node.type("out_idx", DType::i32))};
}
Exprs dynamic_partition(TfNode& node, TypedBuilder& p) {
  const int64_t count = node.integer("num_partitions", 1), rank = p.rank(node.input(1));
  constexpr int64_t kMost = 4096;
  if (count < 1 || count > kMost) node.fail("{} parts", count);
  if (rank < 0) node.refuse("the number of dimensions of the partitions must be known");
  // Dimensions that both have are one.
  Expr x = node.input(0);
  if (rank != 1) x = p.reshape(x, p.concat({p.constant({-1}), p.shape_of(x, rank)}, 0));
  const Expr parts = p.vector(node.input(1));
  Exprs made;
  for (int64_t i = 0; i < count; ++i)
    made.push_back(p.op("Compress", {x, p.op("Equal", {parts, p.scalar(static_cast<double>(i), p.dtype(parts))})}, {{"axis", int64_t{0}}}));
  return made;
}
/// Puts rows at the given indices; for equal indices the last row wins.
Exprs dynamic_stitch(TfNode& node, TypedBuilder& p) {
  const size_t count = node.input_count() / 2;
  if (count == 0 || node.input_count() % 2 != 0) node.fail("has {} inputs", node.input_count());
  Exprs places, rows;
  for (size_t i = 0; i < count; ++i) {
    const int64_t rank = p.rank(node.input(i));
    if (rank < 0) node.refuse("the number of dimensions of input {} must be known", i);
    const Expr x = node.input(count + i);
    places.push_back(p.i64(p.vector(node.input(i))));
    rows.push_back(rank == 1 ? x : p.reshape(x, p.concat({p.constant({-1}), p.shape_of(x, rank)}, 0)));
  }
  const Expr all = p.concat(places, 0), data = p.concat(rows, 0);
  const Expr size = p.op("Add", {p.op("ReduceMax", {all}, {{"keepdims", int64_t{0}}}), p.scalar(1, DType::i64)});
  const Expr shape = p.concat({p.vector(size), p.shape_of(data, 1)}, 0);
  return {p.op("ScatterND", {p.fill(shape, 0, p.dtype(data)), p.unsqueeze(all, {-1}), data})};
}
Exprs invert_permutation(TfNode& node, TypedBuilder& p) {
  const Expr places = p.i64(node.input(0));
  const Expr numbers = p.op("Range", {p.scalar(0, DType::i64), p.op("Size", {places}), p.scalar(1, DType::i64)});
  return {p.cast(p.op("ScatterElements", {numbers, places, numbers}), p.dtype(node.input(0)))};
}
Exprs band_part(TfNode& node, TypedBuilder& p) {
  const int64_t lower = node.scalar(1), upper = node.scalar(2);
  Expr y = node.input(0);
  if (lower >= 0) y = p.op("Trilu", {y, p.scalar(static_cast<double>(-lower), DType::i64)}, {{"upper", int64_t{1}}});
  if (upper >= 0) y = p.op("Trilu", {y, p.scalar(static_cast<double>(upper), DType::i64)}, {{"upper", int64_t{0}}});
  return {y};
}
Exprs random_like(TfNode& node, TypedBuilder& p) {
  return {p.op(node.rule->target, {p.fill(node.input(0), 0, node.type("dtype", DType::f32))})};
}
Exprs bitcast(TfNode& node, TypedBuilder& p) {
  const DType to = node.type("type"), from = p.dtype(node.input(0));
  if (to == DType::undefined || size_of(to) != size_of(from)) node.refuse("elements of {} cannot become {}", from, to);
  return {p.op("BitCast", {node.input(0)}, {{"to", static_cast<int64_t>(to)}})};
}

Exprs bucketize(TfNode& node, TypedBuilder& p) {
  const std::vector<float> edges = node.reals("boundaries");
  const std::vector<double> wide(edges.begin(), edges.end());
  const Expr x = p.unsqueeze(p.cast(node.input(0), DType::f32), {-1});
  const Expr below = p.cast(p.op("GreaterOrEqual", {x, p.reals({static_cast<int64_t>(wide.size())}, wide)}), DType::i32);
  return {p.op("ReduceSum", {below, p.constant({-1})}, {{"keepdims", int64_t{0}}})};
}

/// Elements of the first vector that the second does not have, in their order, and their places.
Exprs list_diff(TfNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), y = node.input(1), end = p.constant({kEnd}), first = p.constant({0});
  // Each element becomes the number of its value among the distinct values of both.
  const Exprs distinct = p.ops("Unique", {p.concat({y, x}, 0)}, 3);
  const Expr count = p.shape_of(y), numbers_of_y = p.op("Slice", {distinct[2], first, count, first}),
             numbers_of_x = p.op("Slice", {distinct[2], count, end, first});
  const Expr none = p.fill(p.shape_of(distinct[0]), 0, DType::u8);
  const Expr in_y = p.op("ScatterElements", {none, numbers_of_y, p.fill(count, 1, DType::u8)});
  const Expr kept = p.op("Equal", {p.gather(in_y, numbers_of_x, 0), p.scalar(0, DType::u8)});
  const Expr places = p.op("Range", {p.scalar(0, DType::i64), p.op("Size", {x}), p.scalar(1, DType::i64)});
  return {p.op("Compress", {x, kept}, {{"axis", int64_t{0}}}),
          p.cast(p.op("Compress", {places, kept}, {{"axis", int64_t{0}}}), node.type("out_idx", DType::i32))};
}

// Functions.

Exprs call(TfNode& node, TypedBuilder&) { return node.host.call(node, node.function("f"), node.inputs); }
Exprs branch(TfNode& node, TypedBuilder& p) {
  Expr condition = node.input(0);
  if (p.dtype(condition) != DType::boolean) condition = p.op("Not", {p.op("Equal", {condition, p.scalar(0, p.dtype(condition))})});
  return node.host.branch(node, condition, node.function("then_branch"), node.function("else_branch"),
                          Exprs(node.inputs.begin() + 1, node.inputs.end()));
}
Exprs cases(TfNode& node, TypedBuilder&) {
  return node.host.cases(node, node.input(0), node.functions("branches"), Exprs(node.inputs.begin() + 1, node.inputs.end()));
}
Exprs loop(TfNode& node, TypedBuilder&) { return node.host.loop(node, node.function("cond"), node.function("body")); }

constexpr Rule kRules[] = {
    {"Abs", unary, "Abs"},
    {"Acos", unary, "Acos"},
    {"Acosh", unary, "Acosh"},
    {"Add", binary, "Add"},
    {"AddN", add_n},
    {"AddV2", binary, "Add"},
    {"AdjustContrastv2", adjust_contrast},
    {"All", reduce, "ReduceMin"},
    {"Any", reduce, "ReduceMax"},
    {"ArgMax", argmax, "ArgMax"},
    {"ArgMin", argmax, "ArgMin"},
    {"Asin", unary, "Asin"},
    {"Asinh", unary, "Asinh"},
    {"Assert", nothing},
    {"Atan", unary, "Atan"},
    {"Atan2", atan2},
    {"Atanh", unary, "Atanh"},
    {"AudioSpectrogram", audio_spectrogram},
    {"AvgPool", pool, "AveragePool"},
    {"AvgPool3D", pool, "AveragePool"},
    {"BatchMatMul", batch_matmul},
    {"BatchMatMulV2", batch_matmul},
    {"BatchMatMulV3", batch_matmul},
    {"BatchToSpaceND", batch_to_space},
    {"BiasAdd", bias_add},
    {"BiasAddV1", binary, "Add"},
    {"Bitcast", bitcast},
    {"BitwiseAnd", bitwise, "BitwiseAnd"},
    {"BitwiseOr", bitwise, "BitwiseOr"},
    {"BitwiseXor", bitwise, "BitwiseXor"},
    {"BroadcastArgs", broadcast_args},
    {"BroadcastTo", broadcast_to},
    {"Bucketize", bucketize},
    {"Case", cases},
    {"Cast", cast},
    {"Ceil", unary, "Ceil"},
    {"CheckNumerics", identity},
    {"ClipByValue", clip_by_value},
    {"CombinedNonMaxSuppression", combined_non_max_suppression},
    {"Complex", import_complex, "complex"},
    {"ComplexAbs", import_complex_abs, "complex"},
    {"Concat", concat},
    {"ConcatV2", concat},
    {"Conv2D", conv},
    {"Conv2DBackpropInput", conv_transpose},
    {"Conv3D", conv},
    {"Conv3DBackpropInputV2", conv_transpose},
    {"Cos", unary, "Cos"},
    {"Cosh", unary, "Cosh"},
    {"CropAndResize", crop},
    {"Cumprod", cumulative, "CumProd"},
    {"Cumsum", cumulative, "CumSum"},
    {"DepthToSpace", depth_to_space},
    {"DepthwiseConv2dNative", depthwise_conv},
    {"Dequantize", dequantize},
    {"DisableCopyOnRead", nothing},
    {"Div", binary, "Div"},
    {"DivNoNan", div_no_nan},
    {"DynamicPartition", dynamic_partition},
    {"DynamicStitch", dynamic_stitch},
    {"Einsum", einsum},
    {"Elu", unary, "Elu"},
    {"EmptyTensorList", list_empty},
    {"EnsureShape", identity},
    {"Equal", binary, "Equal"},
    {"Erf", unary, "Erf"},
    {"Erfc", erfc},
    {"EuclideanNorm", reduce, "ReduceL2"},
    {"Exp", unary, "Exp"},
    {"ExpandDims", expand_dims},
    {"Expm1", expm1},
    {"ExtractImagePatches", extract_patches},
    {"FFT", import_fft, "complex"},
    {"FakeQuantWithMinMaxArgs", fake_quant},
    {"FakeQuantWithMinMaxVars", fake_quant},
    {"Fill", fill},
    {"Floor", unary, "Floor"},
    {"FloorDiv", floor_div},
    {"FloorMod", floor_mod},
    {"FusedBatchNorm", fused_batch_norm},
    {"FusedBatchNormV2", fused_batch_norm},
    {"FusedBatchNormV3", fused_batch_norm},
    {"Gather", gather},
    {"GatherNd", gather_nd},
    {"GatherV2", gather},
    {"Greater", binary, "Greater"},
    {"GreaterEqual", binary, "GreaterOrEqual"},
    {"HSVToRGB", hsv_to_rgb},
    {"IFFT", import_fft, "complex"},
    {"IRFFT", import_irfft, "complex"},
    {"Identity", identity},
    {"IdentityN", identity_n},
    {"If", branch},
    {"Imag", import_imaginary, "complex"},
    {"Inv", unary, "Reciprocal"},
    {"Invert", unary, "BitwiseNot"},
    {"InvertPermutation", invert_permutation},
    {"IsFinite", unary, "IsFinite"},
    {"IsInf", unary, "IsInf"},
    {"IsNan", unary, "IsNaN"},
    {"L2Loss", l2_loss},
    {"LRN", lrn},
    {"LeakyRelu", leaky_relu},
    {"LeftShift", shift, "LEFT"},
    {"Less", binary, "Less"},
    {"LessEqual", binary, "LessOrEqual"},
    {"LinSpace", lin_space},
    {"ListDiff", list_diff},
    {"Log", unary, "Log"},
    {"Log1p", log1p},
    {"LogSoftmax", softmax, "LogSoftmax"},
    {"LogicalAnd", binary, "And"},
    {"LogicalNot", unary, "Not"},
    {"LogicalOr", binary, "Or"},
    {"LookupTableFind", table_find},
    {"LookupTableFindV2", table_find},
    {"LookupTableSize", table_size},
    {"LookupTableSizeV2", table_size},
    {"MatMul", matmul},
    {"MatrixBandPart", band_part},
    {"MatrixDeterminant", unary, "Det"},
    {"MatrixDiag", matrix_diag},
    {"MatrixSetDiag", matrix_set_diag},
    {"Max", reduce, "ReduceMax"},
    {"MaxPool", pool, "MaxPool"},
    {"MaxPool3D", pool, "MaxPool"},
    {"MaxPoolWithArgmax", pool_argmax},
    {"Maximum", binary, "Max"},
    {"Mean", reduce, "ReduceMean"},
    {"Mfcc", mfcc},
    {"Min", reduce, "ReduceMin"},
    {"Minimum", binary, "Min"},
    {"MirrorPad", mirror_pad},
    {"Mod", truncate_mod},
    {"Mul", binary, "Mul"},
    {"MulNoNan", mul_no_nan},
    {"Neg", unary, "Neg"},
    {"NoOp", nothing},
    {"NonMaxSuppression", non_max_suppression},
    {"NonMaxSuppressionV2", non_max_suppression},
    {"NonMaxSuppressionV3", non_max_suppression},
    {"NonMaxSuppressionV4", non_max_suppression_counted},
    {"NonMaxSuppressionV5", non_max_suppression_counted},
    {"NotEqual", not_equal},
    {"OneHot", one_hot},
    {"OnesLike", zeros_like},
    {"Pack", pack},
    {"Pad", pad},
    {"PadV2", pad},
    {"ParallelDynamicStitch", dynamic_stitch},
    {"PartitionedCall", call},
    {"PlaceholderWithDefault", identity},
    {"Pow", binary, "Pow"},
    {"PreventGradient", identity},
    {"Print", identity},
    {"Prod", reduce, "ReduceProd"},
    {"RFFT", import_rfft, "complex"},
    {"RGBToHSV", rgb_to_hsv},
    {"RandomStandardNormal", random_like, "RandomNormalLike"},
    {"RandomUniform", random_like, "RandomUniformLike"},
    {"Range", range},
    {"Rank", rank},
    {"ReadVariableOp", identity},
    {"Real", import_real, "complex"},
    {"RealDiv", binary, "Div"},
    {"Reciprocal", unary, "Reciprocal"},
    {"Relu", unary, "Relu"},
    {"Relu6", relu6},
    {"Reshape", reshape},
    {"ResizeArea", resize_area},
    {"ResizeBicubic", resize_bicubic},
    {"ResizeBilinear", resize},
    {"ResizeNearestNeighbor", resize},
    {"ResourceGather", resource_gather},
    {"ReverseSequence", reverse_sequence},
    {"ReverseV2", reverse},
    {"RightShift", shift, "RIGHT"},
    {"Rint", unary, "Round"},
    {"Roll", roll},
    {"Round", unary, "Round"},
    {"Rsqrt", rsqrt},
    {"ScatterNd", scatter_nd},
    {"SegmentMax", segment_sorted, "max"},
    {"SegmentMean", segment_mean},
    {"SegmentMin", segment_sorted, "min"},
    {"SegmentProd", segment_sorted, "mul"},
    {"SegmentSum", segment_sorted, "add"},
    {"Select", select},
    {"SelectV2", select},
    {"Selu", unary, "Selu"},
    {"Shape", shape},
    {"ShapeN", shape_n},
    {"Sigmoid", unary, "Sigmoid"},
    {"Sign", unary, "Sign"},
    {"Sin", unary, "Sin"},
    {"Sinh", unary, "Sinh"},
    {"Size", size},
    {"Slice", slice},
    {"Snapshot", identity},
    {"Softmax", softmax, "Softmax"},
    {"Softplus", unary, "Softplus"},
    {"Softsign", unary, "Softsign"},
    {"SpaceToBatchND", space_to_batch},
    {"SpaceToDepth", space_to_depth},
    {"SparseToDense", sparse_to_dense},
    {"Split", split},
    {"SplitV", split},
    {"Sqrt", unary, "Sqrt"},
    {"Square", square},
    {"SquaredDifference", squared_difference},
    {"Squeeze", squeeze},
    {"StatefulPartitionedCall", call},
    {"StatelessCase", cases},
    {"StatelessIf", branch},
    {"StatelessWhile", loop},
    {"StopGradient", identity},
    {"StridedSlice", strided_slice},
    {"Sub", binary, "Sub"},
    {"Sum", reduce, "ReduceSum"},
    {"Tan", unary, "Tan"},
    {"Tanh", unary, "Tanh"},
    {"TensorArrayCloseV3", nothing},
    {"TensorArrayConcatV3", tensor_array_concat},
    {"TensorArrayGatherV3", tensor_array_gather},
    {"TensorArrayReadV3", tensor_array_read},
    {"TensorArrayScatterV3", tensor_array_scatter},
    {"TensorArraySizeV3", tensor_array_size},
    {"TensorArraySplitV3", tensor_array_split},
    {"TensorArrayV3", tensor_array},
    {"TensorArrayWriteV3", tensor_array_write},
    {"TensorListConcat", list_concat},
    {"TensorListConcatV2", list_concat},
    {"TensorListFromTensor", list_from_tensor},
    {"TensorListGather", list_gather},
    {"TensorListGetItem", list_get},
    {"TensorListLength", list_length},
    {"TensorListPopBack", list_pop},
    {"TensorListPushBack", list_push},
    {"TensorListReserve", list_reserve},
    {"TensorListScatter", list_scatter},
    {"TensorListScatterV2", list_scatter},
    {"TensorListSetItem", list_set},
    {"TensorListStack", list_stack},
    {"TensorScatterAdd", tensor_scatter, "add"},
    {"TensorScatterMax", tensor_scatter, "max"},
    {"TensorScatterMin", tensor_scatter, "min"},
    {"TensorScatterSub", tensor_scatter_sub},
    {"TensorScatterUpdate", tensor_scatter},
    {"Tile", tile},
    {"TopK", top_k},
    {"TopKV2", top_k},
    {"Transpose", transpose},
    {"TruncateDiv", binary, "Div"},
    {"TruncateMod", truncate_mod},
    {"Unique", unique},
    {"Unpack", unpack},
    {"UnsortedSegmentMax", segment, "max"},
    {"UnsortedSegmentMin", segment, "min"},
    {"UnsortedSegmentProd", segment, "mul"},
    {"UnsortedSegmentSum", segment, "add"},
    {"Where", where},
    {"While", loop},
    {"Xdivy", xdivy},
    {"Xlogy", xlogy},
    {"ZerosLike", zeros_like},
};

static_assert(std::is_sorted(std::begin(kRules), std::end(kRules), [](const Rule& a, const Rule& b) { return a.op < b.op; }));

struct OutputName {
  std::string_view op, argument;
  size_t place;
};
// Output arguments that are not the first of their operator.
constexpr OutputName kOutputs[] = {
    {"CombinedNonMaxSuppression", "nmsed_scores", 1},
    {"CombinedNonMaxSuppression", "nmsed_classes", 2},
    {"CombinedNonMaxSuppression", "valid_detections", 3},
    {"FusedBatchNorm", "batch_mean", 1},
    {"FusedBatchNorm", "batch_variance", 2},
    {"FusedBatchNormV2", "batch_mean", 1},
    {"FusedBatchNormV2", "batch_variance", 2},
    {"FusedBatchNormV3", "batch_mean", 1},
    {"FusedBatchNormV3", "batch_variance", 2},
    {"ListDiff", "idx", 1},
    {"MaxPoolWithArgmax", "argmax", 1},
    {"NonMaxSuppressionV4", "valid_outputs", 1},
    {"NonMaxSuppressionV5", "selected_scores", 1},
    {"NonMaxSuppressionV5", "valid_outputs", 2},
    {"TensorArrayConcatV3", "lengths", 1},
    {"TensorArrayV3", "flow", 1},
    {"TensorListConcat", "lengths", 1},
    {"TensorListConcatV2", "lengths", 1},
    {"TensorListPopBack", "tensor", 1},
    {"TopK", "indices", 1},
    {"TopKV2", "indices", 1},
    {"Unique", "idx", 1},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

const Rule* find_rule(std::string_view op) {
  const auto found =
      std::lower_bound(std::begin(kRules), std::end(kRules), op, [](const Rule& rule, std::string_view name) { return rule.op < name; });
  return found != std::end(kRules) && found->op == op ? found : nullptr;
}

size_t output_place(std::string_view op, std::string_view argument) {
  for (const OutputName& row : kOutputs)
    if (row.op == op && row.argument == argument) return row.place;
  return 0;
}

}  // namespace minnow::tensorflow
