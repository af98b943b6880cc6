// SPDX-License-Identifier: Apache-2.0
// Operators that move elements, and arithmetic of shapes. Axes count in the tensor's own layout.
#include <algorithm>
#include <limits>

#include "importers/mnn/rules.h"

#include "importers/builder/images.h"
#include "importers/builder/indexing.h"

namespace minnow::mnn {
namespace {

/// Input `i` as an i64 vector.
Expr vector_of(const MnnNode& node, TypedBuilder& p, size_t i) { return p.vector(p.i64(node.input(i))); }

Expr scalar_of(const MnnNode& node, TypedBuilder& p, size_t i) { return p.reshape(p.i64(node.input(i)), Ints{}); }

/// A value of known rank whose type the shape rules could not tell.
Expr with_rank(const Expr& x, int64_t rank) {
  if (rank > static_cast<int64_t>(kMaxRank)) throw InvalidModel("a shape of {} dimensions is not valid", rank);
  if (!x.value()->type.dims && rank >= 0 && !x.value()->constant()) x.value()->type.dims = std::vector<Dim>(static_cast<size_t>(rank));
  return x;
}

/// A reshape where 0 keeps the input's dimension.
Expr reshape_keeping(const MnnNode& node, TypedBuilder& p, const Expr& x, Ints shape) {
  const int64_t rank = p.rank(x);
  bool open = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 0) continue;
    if (rank >= 0 && static_cast<int64_t>(i) >= rank) node.fail("dimension {} of its shape {} is that of an input of {}", i, shape, rank);
    const int64_t size = p.dim(x, static_cast<int64_t>(i));
    if (size >= 0)
      shape[i] = size;
    else
      open = true;
  }
  if (!open) return p.reshape(x, shape);
  return with_rank(p.op("Reshape", {x, p.constant(shape)}), static_cast<int64_t>(shape.size()));
}

}  // namespace

Exprs import_convert_tensor(MnnNode& node, TypedBuilder& p) {
  const int64_t to = node.integer<int8_t>(1);
  if (to < 0 || to > 2) node.refuse("layout {} is not supported", to);
  const Layout target = static_cast<Layout>(to);
  const Expr x = node.any(0);
  const bool from_last = node.channels_last(), to_last = target == Layout::channels_last;
  node.output_layouts.assign(node.output_layouts.size(), target);
  if (from_last == to_last) return {x};
  // Only images change their layout, so a tensor without a rank in the file is an image.
  if (p.rank(x) < 0 && !x.value()->constant()) x.value()->type.dims = std::vector<Dim>(4);
  const int64_t rank = node.rank(0);
  if (rank <= 2) return {x};
  return {to_last ? channels_last(p, x) : channels_first(p, x)};
}

Exprs import_reshape(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  // In old files, Reshape works on packed tensors in channels-last order.
  const bool turned = node.layout(0) == Layout::packed && node.integer<int8_t>(1) == 1 && node.info.kind == kReshape;
  if (node.input_count() > 1) {
    const auto known = node.known_ints(1);
    if (turned) {
      if (!known) node.refuse("a shape that is computed is not supported for a packed tensor");
      const Expr y = reshape_keeping(node, p, p.rank(x) > 2 ? channels_last(p, x) : x, *known);
      return {known->size() == 4 ? channels_first(p, y) : y};
    }
    if (known) {
      // A shape in TensorFlow's order has sizes of 0.
      if (node.channels_last(1) && std::find(known->begin(), known->end(), 0) != known->end()) return {p.reshape(x, *known)};
      return {reshape_keeping(node, p, x, *known)};
    }
    const Expr shape = vector_of(node, p, 1);
    return {with_rank(p.op("Reshape", {x, shape}), p.dim(shape, 0))};
  }
  const Ints dims = node.list(0);
  if (!turned) return {reshape_keeping(node, p, x, dims)};
  if (dims.size() != 4) {
    if (dims.size() > 4) node.refuse("{} dimensions are not supported for a packed tensor", dims.size());
    return {reshape_keeping(node, p, p.rank(x) > 2 ? channels_last(p, x) : x, dims)};
  }
  // The dimensions are those of the result, channels first.
  return {channels_first(p, reshape_keeping(node, p, p.rank(x) > 2 ? channels_last(p, x) : x, {dims[0], dims[2], dims[3], dims[1]}))};
}

Exprs import_flatten(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  const int64_t rank = node.rank(0);
  int64_t first = node.integer(0), last = node.integer(1);
  if (first < 0) first += rank;
  if (last < 0) last += rank;
  if (first < 0 || first > rank || last < 0 || last >= std::max<int64_t>(rank, 1))
    node.fail("axes {} to {} do not fit {} dimensions", first, last, rank);
  if (last == 0) return {p.op("Flatten", {x}, {{"axis", first}})};
  if (last < first) node.fail("axes {} to {} do not fit {} dimensions", first, last, rank);
  Exprs parts;
  if (first > 0) parts.push_back(p.shape_of(x, 0, first));
  parts.push_back(p.constant({-1}));
  if (last + 1 < rank) parts.push_back(p.shape_of(x, last + 1));
  const Expr shape = p.concat(parts, 0);
  return {with_rank(p.reshape(x, shape), rank - last + first)};
}

Exprs import_squeeze(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  Ints axes = node.list(0);
  const bool given = axes.empty() && node.has(1);
  if (given && !node.known_ints(1)) {
    const int64_t rank = p.rank(x), count = p.dim(node.input(1), 0);
    return {with_rank(p.op("Squeeze", {x, vector_of(node, p, 1)}), rank >= 0 && count >= 0 ? rank - count : -1)};
  }
  if (given) axes = node.ints(1);
  if (axes.empty()) {
    const auto shape = p.shape(x);
    if (!shape) return {p.op("Squeeze", {x})};
    for (size_t i = 0; i < shape->size(); ++i)
      if ((*shape)[i] == 1) axes.push_back(static_cast<int64_t>(i));
  }
  const int64_t rank = p.rank(x);
  if (rank < 0) return {p.squeeze(x, axes)};
  for (int64_t& axis : axes) axis = node.from_front(axis, rank);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return {p.squeeze(x, axes)};
}

Exprs import_unsqueeze(MnnNode& node, TypedBuilder& p) {
  Ints axes = node.list(0);
  const bool given = axes.empty() && node.has(1);
  if (given && !node.known_ints(1)) {
    const int64_t rank = p.rank(node.any(0)), count = p.dim(node.input(1), 0);
    return {with_rank(p.op("Unsqueeze", {node.any(0), vector_of(node, p, 1)}), rank >= 0 && count >= 0 ? rank + count : -1)};
  }
  if (given) axes = node.ints(1);
  return {p.unsqueeze(node.any(0), axes)};
}

Exprs import_expand_dims(MnnNode& node, TypedBuilder& p) {
  const int64_t axis = node.input_count() > 1 ? node.single(1) : node.integer(2);
  return {p.unsqueeze(node.any(0), {axis})};
}

Exprs import_permute(MnnNode& node, TypedBuilder& p) {
  Ints perm = node.list(0);
  const int64_t rank = perm.empty() || p.rank(node.any(0)) >= 0 ? node.rank(0) : static_cast<int64_t>(perm.size());
  if (perm.empty())
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  if (static_cast<int64_t>(perm.size()) != rank) node.fail("an order of {} dimensions does not fit {}", perm.size(), rank);
  return {p.transpose(node.any(0), perm)};
}

Exprs import_transpose(MnnNode& node, TypedBuilder& p) { return {p.transpose(node.any(0), node.ints(1))}; }

Exprs import_concat(MnnNode& node, TypedBuilder& p) {
  Exprs parts;
  for (const Expr& x : node.all_inputs()) {
    // MNN ignores empty inputs, whatever their other dimensions are.
    const auto shape = p.shape(x);
    if (shape && shape->size() == 1 && (*shape)[0] == 0 && node.input_count() > 1) continue;
    parts.push_back(x);
  }
  if (parts.empty()) return {node.input(0)};
  // Beside vectors of sizes MNN takes matrices of one row for vectors.
  const bool vectors = std::any_of(parts.begin(), parts.end(), [&](const Expr& x) { return p.rank(x) == 1; });
  for (Expr& x : parts)
    if (vectors && p.rank(x) > 1) x = p.vector(x);
  return {p.concat(parts, vectors ? 0 : node.integer(0))};
}

Exprs import_pack(MnnNode& node, TypedBuilder& p) {
  const int64_t axis = node.integer(1);
  Exprs parts;
  for (const Expr& x : node.all_inputs()) parts.push_back(p.unsqueeze(x, {axis}));
  if (parts.empty()) node.fail("has no inputs");
  return {p.concat(parts, axis)};
}

Exprs import_unpack(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  const int64_t axis = node.from_front(node.integer(0), node.rank(0));
  Exprs all;
  for (size_t i = 0; i < node.output_count(); ++i) all.push_back(p.gather(x, p.scalar(static_cast<double>(i), DType::i64), axis));
  return all;
}

Exprs import_slice(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  const int64_t axis = p.rank(x) < 0 ? node.integer(0) : node.from_front(node.integer(0), p.rank(x)), kind = node.integer<int8_t>(2);
  const size_t outputs = node.output_count();
  if (outputs == 0) node.fail("has no outputs");
  Ints points = node.list(1);
  const int64_t size = p.dim(x, axis);
  Ints lengths;
  if (kind == 0) {  // Caffe's points where to cut
    int64_t at = 0;
    for (int64_t point : points) {
      lengths.push_back(point - at);
      at = point;
    }
    if (points.size() + 1 == outputs) lengths.push_back(-1);
  } else if (node.input_count() == 1 && points.size() <= 1) {
    if (kind == 4 && points.size() == 1)
      lengths.assign(outputs, points[0]);
    else if (size >= 0)
      lengths.assign(outputs, size / static_cast<int64_t>(points.size() == 1 && points[0] > 0 ? points[0] : static_cast<int64_t>(outputs)));
    else
      return p.ops("Split", {x}, outputs, {{"axis", axis}, {"num_outputs", static_cast<int64_t>(outputs)}});
  } else {
    if (node.input_count() > 1) {
      const auto known = node.known_ints(1);
      if (!known) return p.ops("Split", {x, vector_of(node, p, 1)}, outputs, {{"axis", axis}});
      points = *known;
    }
    lengths = points;
  }
  if (lengths.size() < outputs) node.fail("{} parts do not fit {} outputs", lengths.size(), outputs);
  int64_t sum = 0, open = 0;
  for (int64_t length : lengths) {
    open += length == -1;
    if (length < -1) node.fail("a part has length {}", length);
    sum += length == -1 ? 0 : length;
  }
  if (open > 1 || (size >= 0 && sum > size)) node.fail("parts of {} do not fit a dimension of {}", lengths, size);
  // A single Split, if the parts cover the whole input.
  if (lengths.size() == outputs && size >= 0 && (open == 1 || sum == size)) {
    for (int64_t& length : lengths)
      if (length == -1) length = size - sum;
    if (outputs == 1) return {x};
    return p.ops("Split", {x, p.constant(lengths)}, outputs, {{"axis", axis}});
  }
  Exprs all;
  int64_t at = 0;
  for (size_t i = 0; i < outputs; ++i) {
    if (lengths[i] == -1) {
      if (i + 1 != outputs) node.refuse("a part of open length before others is not supported where the dimension is not known");
      all.push_back(p.slice(x, {at}, {kEnd}, {axis}));
      break;
    }
    all.push_back(p.slice(x, {at}, {at + lengths[i]}, {axis}));
    at += lengths[i];
  }
  return all;
}

Exprs import_slice_tf(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  const auto begin = node.known_ints(1), size = node.known_ints(2);
  const int64_t rank = p.rank(x);
  if (begin && size) {
    if (begin->size() != size->size()) node.fail("{} places and {} sizes", begin->size(), size->size());
    Ints starts, ends, axes;
    for (size_t i = 0; i < begin->size(); ++i) {
      const int64_t from = (*begin)[i], count = (*size)[i];
      if (from == 0 && (count == -1 || count == p.dim(x, static_cast<int64_t>(i)))) continue;
      axes.push_back(static_cast<int64_t>(i));
      starts.push_back(from);
      ends.push_back(count == -1 || (from < 0 && from + count == 0) ? kEnd : from + count);
    }
    return {axes.empty() ? x : p.slice(x, starts, ends, axes)};
  }
  // A size of -1 goes to the end.
  const Expr from = vector_of(node, p, 1), count = vector_of(node, p, 2);
  const Expr to = p.op("Add", {from, count});
  // From the end, a place and a size that reach it together give 0.
  const Expr reaches = p.op("And", {p.op("Less", {from, p.constant({0})}), p.op("Equal", {to, p.constant({0})})});
  const Expr end = p.op("Where", {p.op("Or", {p.op("Less", {count, p.constant({0})}), reaches}), p.constant({kEnd}), to});
  return {with_rank(p.op("Slice", {x, from, end}), rank)};
}

Exprs import_strided_slice(MnnNode& node, TypedBuilder& p) {
  // Parameter: Index 0, T 1, begin 2, end 3, ellipsis 4, new axis 5, shrink 6, from 7 (0: TensorFlow, 1: ONNX and torch).
  const Expr x = node.any(0);
  if (node.integer(7) == 1) {
    // Starts, ends, axes, steps, as ONNX's Slice has them.
    Exprs inputs = {x, vector_of(node, p, 1), vector_of(node, p, 2)};
    if (node.has(3)) inputs.push_back(vector_of(node, p, 3));
    if (node.has(4)) {
      if (!node.has(3)) node.fail("has steps without axes");
      inputs.push_back(vector_of(node, p, 4));
    }
    return {with_rank(p.op("Slice", inputs), p.rank(x))};
  }
  if (node.input_count() == 5) node.refuse("writing to a slice is not supported");
  const Ints strides = node.has(3) ? node.ints(3) : Ints();
  const SliceMasks masks{node.integer(2), node.integer(3), node.integer(4), node.integer(5), node.integer(6)};
  return {strided_slice(p, x, vector_of(node, p, 1), vector_of(node, p, 2), strides, masks)};
}

Exprs import_shape(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  Expr shape = p.shape_of(x);
  if (node.layout(0) == Layout::packed && node.info.default_layout == Layout::channels_last) {
    const int64_t rank = node.rank(0);
    if (rank > 2 && rank <= 4) {  // told in TensorFlow's order
      Ints order = {0};
      for (int64_t i = 2; i < rank; ++i) order.push_back(i);
      order.push_back(1);
      shape = p.gather(shape, p.constant(order), 0);
      if (const auto known = p.shape(x)) {
        Ints turned;
        for (int64_t i : order) turned.push_back((*known)[static_cast<size_t>(i)]);
        shape = p.constant(turned);
      }
    }
  }
  if (!node.output_layouts.empty()) node.output_layouts[0] = node.info.default_layout;
  if (node.info.kind != kShapeParam) return {shape};
  const int64_t first = node.flag(0) ? node.integer(1) : 0, last = node.flag(2) ? node.integer(3) : kEnd;
  if (node.layout(0) != Layout::packed) return {p.shape_of(x, first, last)};
  return {p.slice(shape, {first}, {last}, {0})};
}

Exprs import_rank(MnnNode& node, TypedBuilder& p) {
  const int64_t rank = p.rank(node.any(0));
  if (rank >= 0) return {p.scalar(static_cast<double>(rank), DType::i64)};
  return {p.op("Size", {p.op("Shape", {node.any(0)})})};
}

Exprs import_size(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  if (const auto shape = p.shape(x)) return {p.scalar(static_cast<double>(Shape(*shape).elements()), DType::i64)};
  return {p.op("Size", {x})};
}

Exprs import_gather(MnnNode& node, TypedBuilder& p) {
  if (node.input_count() < 2) node.refuse("an embedding outside of the model is not supported");
  int64_t axis = 0;
  if (node.info.kind == kAxis) {
    axis = node.integer(0);
  } else if (node.input_count() > 2) {
    // A vector has only one axis, so a computed axis can be ignored.
    const auto given = node.known_ints(2);
    if (!given && p.rank(node.any(0)) != 1) node.refuse("an axis that is computed is not supported");
    if (given && given->size() != 1) node.fail("has {} axes", given->size());
    if (given) axis = given->front();
  }
  return {p.gather(node.any(0), p.i64(node.input(1)), axis)};
}

Exprs import_gather_elements(MnnNode& node, TypedBuilder& p) {
  const int64_t axis = node.input_count() > 2 ? node.single(2) : 0;
  return {p.op("GatherElements", {node.any(0), p.i64(node.input(1))}, {{"axis", axis}})};
}

Exprs import_gather_nd(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0), indices = p.i64(node.input(1));
  const int64_t batch = node.info.kind == kAxis ? node.integer(0) : 0;
  if (batch == 0) return {p.op("GatherND", {x, indices})};
  // With batch dimensions, MNN's indices count from the beginning of all batches, in units of the slices that they select.
  const auto shape = p.shape(x);
  const int64_t depth = p.dim(indices, -1);
  if (!shape || depth < 1) node.refuse("leading dimensions in common are not supported for tensors of unknown shape");
  const int64_t chosen = batch + depth;
  if (batch < 0 || chosen > static_cast<int64_t>(shape->size()))
    node.fail("{} leading dimensions and indices of {} do not fit {}", batch, depth, *shape);
  Shape(*shape).elements();  // throws if products of its sizes are too large
  Ints steps(static_cast<size_t>(depth), 1), rows = {-1};
  for (int64_t i = depth - 1; i-- > 0;)
    steps[static_cast<size_t>(i)] = steps[static_cast<size_t>(i) + 1] * (*shape)[static_cast<size_t>(batch + i) + 1];
  rows.insert(rows.end(), shape->begin() + chosen, shape->end());
  const Expr flat = p.op("ReduceSum", {p.op("Mul", {indices, p.constant(steps)}), p.constant({-1})}, {{"keepdims", int64_t{0}}});
  return {p.gather(p.reshape(x, rows), flat, 0)};
}

Exprs import_scatter_nd(MnnNode& node, TypedBuilder& p) {
  // Inputs: indices, updates, shape, and optionally a tensor whose elements the updates replace. Without it, equal indices add up.
  const Expr indices = p.i64(node.input(0)), updates = node.input(1);
  if (!node.output_layouts.empty()) node.output_layouts[0] = node.layout(1);
  if (node.has(3)) {
    Attributes attributes;
    if (node.info.kind == kBinaryOp) {
      static constexpr std::pair<int64_t, std::string_view> kJoins[] = {{0, "add"}, {2, "mul"}, {8, "min"}, {9, "max"}};
      for (const auto& [number, name] : kJoins)
        if (node.integer(0, -1) == number) attributes.set("reduction", std::string(name));
    }
    const Expr data = p.dtype(node.input(3)) == p.dtype(updates) ? node.input(3) : p.cast(node.input(3), p.dtype(updates));
    return {p.op("ScatterND", {data, indices, updates}, std::move(attributes))};
  }
  return {scatter_nd(p, indices, updates, vector_of(node, p, 2))};
}

Exprs import_scatter_elements(MnnNode& node, TypedBuilder& p) {
  Attributes attributes{{"axis", node.input_count() > 3 ? node.single(3) : 0}};
  static constexpr std::pair<int64_t, std::string_view> kJoins[] = {{0, "add"}, {2, "mul"}, {8, "min"}, {9, "max"}};
  if (node.info.kind == kBinaryOp)
    for (const auto& [number, name] : kJoins)
      if (node.parameter().number<int32_t>(0, 0) == number) attributes.set("reduction", std::string(name));
  return {p.op("ScatterElements", {node.input(0), p.i64(node.input(1)), node.input(2)}, std::move(attributes))};
}

Exprs import_broadcast_to(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.any(0);
  if (p.dim(node.input(1), 0) == 0) return {x};
  const Expr shape = vector_of(node, p, 1);
  return {with_rank(p.op("Expand", {x, shape}), std::max(p.rank(x), p.dim(shape, 0)))};
}

Exprs import_fill(MnnNode& node, TypedBuilder& p) {
  const Expr value = node.input(1), shape = vector_of(node, p, 0);
  if (const auto number = p.number(value)) return {with_rank(p.fill(shape, *number, p.dtype(value)), p.dim(shape, 0))};
  return {with_rank(p.op("Expand", {p.reshape(value, Ints{}), shape}), p.dim(shape, 0))};
}

Exprs import_tile(MnnNode& node, TypedBuilder& p) {
  return {with_rank(p.op("Tile", {node.any(0), vector_of(node, p, 1)}), p.rank(node.any(0)))};
}

Exprs import_range(MnnNode& node, TypedBuilder& p) {
  const Exprs all = node.all_inputs();
  if (all.size() != 3) node.fail("should have three inputs, it has {}", all.size());
  return {p.op("Range", {p.reshape(all[0], Ints{}), p.reshape(all[1], Ints{}), p.reshape(all[2], Ints{})})};
}

Exprs import_lin_space(MnnNode& node, TypedBuilder& p) {
  // Start, stop, count: both ends belong to it; one element is the start.
  const Expr start = p.reshape(node.input(0), Ints{}), stop = p.reshape(node.input(1), Ints{}), count = scalar_of(node, p, 2);
  const Expr places = p.cast(p.op("Range", {p.scalar(0, DType::i64), count, p.scalar(1, DType::i64)}), DType::f32);
  const Expr gaps = p.cast(p.op("Max", {p.op("Sub", {count, p.scalar(1, DType::i64)}), p.scalar(1, DType::i64)}), DType::f32);
  return {p.op("Add", {start, p.op("Mul", {places, p.op("Div", {p.op("Sub", {stop, start}), gaps})})})};
}

Exprs import_one_hot(MnnNode& node, TypedBuilder& p) {
  const Exprs values = node.alike({node.input(2), node.input(3)});
  return {
      one_hot(p, node.input(0), scalar_of(node, p, 1), p.reshape(values[0], Ints{}), p.reshape(values[1], Ints{}), node.integer(1, -1))};
}

Exprs import_padding(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), paddings = p.reshape(p.i64(node.input(1)), Ints{-1, 2});
  static constexpr std::string_view kModes[] = {"constant", "reflect", "", "edge"};
  const int64_t mode = node.integer<int8_t>(0);
  if (mode == 2) return {pad_symmetric(p, x, node.ints(1))};
  if (mode < 0 || mode > 3) node.refuse("mode {} is not supported", mode);
  const Expr value = node.has(2) && mode == 0 ? p.reshape(p.cast(node.input(2), p.dtype(x)), Ints{}) : Expr();
  return {pad(p, x, paddings, value, kModes[mode])};
}

Exprs import_crop(MnnNode& node, TypedBuilder& p) {
  // Axis 0, offsets 1: from axis on as large as input 1.
  const Expr x = node.input(0), like = node.input(1);
  const Ints offsets = node.list(1);
  const int64_t rank = node.rank(0), first = node.from_front(node.integer(0, 2), rank);
  Ints axes, starts;
  for (int64_t i = first; i < rank; ++i) {
    const size_t k = static_cast<size_t>(i - first);
    axes.push_back(i);
    starts.push_back(offsets.empty() ? 0 : offsets.size() == 1 ? offsets[0] : k < offsets.size() ? offsets[k] : 0);
  }
  const Expr sizes = p.shape_of(like, first);
  if (const auto known = p.ints(sizes)) {
    Ints ends = *known;
    for (size_t i = 0; i < ends.size(); ++i) ends[i] += starts[i];
    return {p.slice(x, starts, ends, axes)};
  }
  return {with_rank(p.op("Slice", {x, p.constant(starts), p.op("Add", {p.constant(starts), sizes}), p.constant(axes)}), rank)};
}

Exprs import_reverse(MnnNode& node, TypedBuilder& p) { return {reverse(p, node.any(0), node.ints(1))}; }

Exprs import_reverse_sequence(MnnNode& node, TypedBuilder& p) {
  const int64_t rank = node.rank(0), batch = node.from_front(node.integer(0), rank), time = node.from_front(node.integer(1), rank);
  // ONNX's operator wants the two dimensions in front.
  Ints perm = {time, batch}, back(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i)
    if (i != time && i != batch) perm.push_back(i);
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  const Expr y = p.op("ReverseSequence", {p.transpose(node.any(0), perm), p.i64(node.input(1))},
                      {{"time_axis", int64_t{0}}, {"batch_axis", int64_t{1}}});
  return {p.transpose(y, back)};
}

Exprs import_argmax(MnnNode& node, TypedBuilder& p) {
  // outMaxVal 0, topK 1, axis 2
  const Expr x = node.input(0);
  const int64_t top = node.integer(1), axis = node.integer(2);
  const auto extreme = [&](const Expr& of, int64_t along, bool keep) {
    return p.op(node.rule->target, {of}, {{"axis", along}, {"keepdims", int64_t{keep}}});
  };
  if (node.layout(0) != Layout::packed || node.file.source_kind() != 0)
    return {p.cast(extreme(x, node.from_front(axis, node.rank(0)), false), DType::i32)};
  // Caffe's: indices are real numbers; without an axis all but the batch is one.
  if (top > 1 || node.integer(0) != 0) node.refuse("several values are not supported");
  if (axis == 10000) {
    const Expr y = p.cast(extreme(p.op("Flatten", {x}, {{"axis", int64_t{1}}}), 1, true), DType::f32);
    return {p.unsqueeze(y, {2, 3})};
  }
  if (axis == 0) node.refuse("the form of old files is not supported");
  return {p.cast(extreme(x, node.from_front(axis, node.rank(0)), true), DType::f32)};
}

Exprs import_top_k(MnnNode& node, TypedBuilder& p) {
  const int64_t axis = node.input_count() > 2 ? node.single(2) : -1;
  Exprs y = p.ops("TopK", {node.input(0), vector_of(node, p, 1)}, 2, {{"axis", axis}, {"largest", int64_t{node.flag(2, true)}}});
  y[1] = p.cast(y[1], DType::i32);
  return y;
}

Exprs import_unique(MnnNode& node, TypedBuilder& p) {
  // Sorted values, then with two outputs where each came from; else first places, places, counts.
  const size_t outputs = node.output_count();
  Exprs all = p.ops("Unique", {p.vector(node.input(0))}, 4);
  if (outputs == 2) return {all[0], p.cast(all[2], DType::i32)};
  for (size_t i = 1; i < all.size(); ++i) all[i] = p.cast(all[i], DType::i32);
  all.resize(std::min<size_t>(outputs, all.size()));
  return all;
}

Exprs import_where(MnnNode& node, TypedBuilder& p) {
  // The indices of elements greater than zero, one per row.
  const Expr x = node.any(0);
  const Expr truth = p.dtype(x) == DType::boolean ? x : p.op("Greater", {x, p.scalar(0, p.dtype(x))});
  return {p.cast(p.transpose(with_rank(p.op("NonZero", {truth}), 2), {1, 0}), DType::i32)};
}

Exprs import_unravel_index(MnnNode& node, TypedBuilder& p) {
  const Ints dims = node.ints(1);
  Expr rest = p.vector(p.i64(node.input(0)));
  Exprs rows(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    const Expr size = p.constant({dims[i]});
    rows[i] = p.unsqueeze(p.op("Mod", {rest, size}), {0});
    rest = p.op("Div", {rest, size});
  }
  if (rows.empty()) node.fail("has no dimensions");
  const Expr all = p.concat(rows, 0);
  return {p.cast(p.rank(node.any(0)) == 0 ? p.squeeze(all, {1}) : all, DType::i32)};
}

Exprs import_depth_to_space(MnnNode& node, TypedBuilder& p) {
  const int64_t block = node.integer(0);
  if (block < 1) node.fail("has a block size of {}", block);
  const std::string mode = node.integer<int8_t>(1) == 1 ? "CRD" : "DCR";
  return {node.from_image(p.op("DepthToSpace", {node.image()}, {{"blocksize", block}, {"mode", mode}}))};
}

Exprs import_space_to_depth(MnnNode& node, TypedBuilder& p) {
  const int64_t block = node.integer(0);
  if (block < 1) node.fail("has a block size of {}", block);
  return {node.from_image(p.op("SpaceToDepth", {node.image()}, {{"blocksize", block}}))};
}

namespace {

/// Blocks and paddings of SpaceToBatch, from inputs or from the parameter's constants.
std::pair<Ints, Expr> blocks_of(MnnNode& node, TypedBuilder& p) {
  if (node.input_count() > 2) return {node.ints(1), p.i64(node.input(2))};
  const auto read = [&](size_t field) {
    const Tensor tensor = node.file.blob(node.parameter().table(field), node.info, node.place);
    const auto values = p.ints(p.constant(tensor));
    if (!values) node.fail("its blocks are no integers");
    return *values;
  };
  return {read(0), p.constant(read(1))};
}

}  // namespace

Exprs import_space_to_batch(MnnNode& node, TypedBuilder& p) {
  const auto [block, paddings] = blocks_of(node, p);
  const Expr x = node.input(0);
  const Expr y = space_to_batch(p, node.channels_last() ? x : channels_last(p, x), block, paddings);
  return {node.channels_last() ? y : channels_first(p, y)};
}

Exprs import_batch_to_space(MnnNode& node, TypedBuilder& p) {
  const auto [block, crops] = blocks_of(node, p);
  const Expr x = node.input(0);
  const Expr y = batch_to_space(p, node.channels_last() ? x : channels_last(p, x), block, crops);
  return {node.channels_last() ? y : channels_first(p, y)};
}

Exprs import_cumulative(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const bool exclusive = node.info.kind == kCumSum && node.flag(0), reverse = node.info.kind == kCumSum && node.flag(1);
  if (node.rule->target == "CumSum") {
    const Expr axis = node.has(1) ? scalar_of(node, p, 1) : p.scalar(0, DType::i64);
    return {p.op("CumSum", {x, axis}, {{"exclusive", int64_t{exclusive}}, {"reverse", int64_t{reverse}}})};
  }
  const int64_t axis = node.from_front(node.info.kind == kAxis ? node.integer(0) : node.single(1), node.rank(0));
  const int64_t size = p.dim(x, axis);
  if (size < 0 || size > 4096) node.refuse("a product along a dimension of {} is not supported", size);
  Exprs parts;
  Expr product;
  for (int64_t i = 0; i < size; ++i) {
    const Expr one = p.slice(x, {i}, {i + 1}, {axis});
    product = product ? p.op("Mul", {product, one}) : one;
    parts.push_back(product);
  }
  return {parts.empty() ? x : p.concat(parts, axis)};
}

Exprs import_eye_like(MnnNode& node, TypedBuilder& p) {
  const int64_t shift = node.has(1) ? node.single(1) : 0;
  return {p.op("EyeLike", {node.input(0)}, {{"k", shift}, {"dtype", static_cast<int64_t>(p.dtype(node.input(0)))}})};
}

Exprs import_matrix_band_part(MnnNode& node, TypedBuilder& p) {
  // Keeps lower + 1 + upper diagonals; negative: all.
  const Expr x = node.input(0), lower = scalar_of(node, p, 1), upper = scalar_of(node, p, 2);
  const auto places = [&](int64_t axis) {
    const Expr size = p.reshape(p.shape_of(x, axis, axis == -2 ? -1 : kEnd), Ints{});
    return p.op("Range", {p.scalar(0, DType::i64), size, p.scalar(1, DType::i64)});
  };
  const Expr rows = p.unsqueeze(places(-2), {1}), columns = p.unsqueeze(places(-1), {0}), zero = p.scalar(0, DType::i64);
  const Expr below = p.op("Or", {p.op("Less", {lower, zero}), p.op("LessOrEqual", {p.op("Sub", {rows, columns}), lower})});
  const Expr above = p.op("Or", {p.op("Less", {upper, zero}), p.op("LessOrEqual", {p.op("Sub", {columns, rows}), upper})});
  return {p.op("Where", {p.op("And", {below, above}), x, p.scalar(0, p.dtype(x))})};
}

Exprs import_segment_mean(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), ids = p.i64(node.input(1));
  const Expr count = p.op("Add", {p.op("ReduceMax", {ids, p.constant({0})}), p.constant({1})});
  const Expr sums = segment(p, x, ids, count, SegmentJoin::sum);
  const Expr ones = p.fill(p.shape_of(ids), 1, p.dtype(x));
  Expr sizes = segment(p, ones, ids, count, SegmentJoin::sum);
  Ints axes;
  for (int64_t i = 1; i < node.rank(0); ++i) axes.push_back(i);
  return {p.op("Div", {sums, p.op("Max", {p.unsqueeze(sizes, axes), p.scalar(1, p.dtype(x))})})};
}

Exprs import_set_diff(MnnNode& node, TypedBuilder& p) {
  // The elements of input 0 that input 1 does not contain.
  const Exprs both = node.alike({node.input(0), node.input(1)});
  const Expr equal = p.cast(p.op("Equal", {p.unsqueeze(both[0], {1}), p.unsqueeze(both[1], {0})}), DType::i32);
  const Expr hits = p.op("ReduceSum", {equal, p.constant({1})}, {{"keepdims", int64_t{0}}});
  return {p.op("Compress", {both[0], p.op("Equal", {hits, p.scalar(0, DType::i32)})}, {{"axis", int64_t{0}}})};
}

Exprs import_histogram(MnnNode& node, TypedBuilder& p) {
  // The table ArgMax holds: bins, most, channel, least.
  const int64_t bins = node.integer(0), most = node.integer(1), channel = node.integer(2), least = node.integer(3);
  if (bins < 1 || bins > 1'000'000 || most <= least) node.fail("{} bins from {} to {} are not valid", bins, least, most);
  Expr x = p.cast(node.input(0), DType::f32);
  if (channel >= 0) x = p.gather(x, p.scalar(static_cast<double>(channel), DType::i64), -1);
  x = p.vector(x);
  const Expr scaled = p.op("Mul", {p.op("Sub", {x, p.scalar(static_cast<double>(least))}),
                                   p.scalar(static_cast<double>(bins) / static_cast<double>(most - least))});
  const Expr inside = p.op("And", {p.op("GreaterOrEqual", {x, p.scalar(static_cast<double>(least))}),
                                   p.op("LessOrEqual", {x, p.scalar(static_cast<double>(most))})});
  const Expr place = p.op("Min", {p.cast(p.op("Floor", {scaled}), DType::i64), p.scalar(static_cast<double>(bins - 1), DType::i64)});
  const Expr safe = p.op("Where", {inside, place, p.scalar(-1, DType::i64)});
  return {segment(p, p.fill(p.shape_of(x), 1, DType::f32), safe, p.constant({bins}), SegmentJoin::sum)};
}

Exprs import_random(MnnNode& node, TypedBuilder& p) {
  // seed 0, seed2 1, type 2, low 3, high 4
  const Expr like = p.fill(vector_of(node, p, 0), 0, DType::f32);
  Attributes attributes;
  if (const int64_t seed = node.integer(0); seed != 0) attributes.set("seed", static_cast<float>(seed & 0xffffff));
  const bool uniform = node.rule->target == "RandomUniformLike";
  attributes.set(uniform ? "low" : "mean", node.real(3, 0));
  attributes.set(uniform ? "high" : "scale", node.real(4, 1));
  return {p.op(node.rule->target, {like}, std::move(attributes))};
}

}  // namespace minnow::mnn
