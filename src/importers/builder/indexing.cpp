// SPDX-License-Identifier: Apache-2.0
#include "importers/builder/indexing.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"

namespace minnow {
namespace {

// The places of a dimension are listed.
constexpr int64_t kMostMirrored = int64_t{1} << 24;

}  // namespace

Expr gather_batched(TypedBuilder& p, const Expr& x, const Expr& indices, int64_t axis, int64_t batch_dims) {
  const int64_t rank_x = p.rank(x), rank_i = p.rank(indices);
  if (batch_dims == 0) return p.gather(x, indices, axis);
  if (rank_x < 0 || rank_i < 0) throw Unsupported("it gathers from tensors of unknown rank");
  if (axis < 0) axis += rank_x;
  if (batch_dims < 0) batch_dims += rank_i;
  if (axis < batch_dims || axis >= rank_x || batch_dims > rank_i)
    throw InvalidModel("axis {} does not fit {} leading dimensions", axis, batch_dims);
  // Move the axis right after the batch dimensions, over which GatherND iterates.
  Ints perm;
  for (int64_t i = 0; i < batch_dims; ++i) perm.push_back(i);
  perm.push_back(axis);
  for (int64_t i = batch_dims; i < rank_x; ++i)
    if (i != axis) perm.push_back(i);
  const Expr y = p.op("GatherND", {p.transpose(x, perm), p.unsqueeze(p.i64(indices), {rank_i})}, {{"batch_dims", batch_dims}});
  // [batch, indices, between, behind] -> [batch, between, indices, behind]
  const int64_t taken = rank_i - batch_dims, between = axis - batch_dims, behind = rank_x - axis - 1;
  Ints back;
  for (int64_t i = 0; i < batch_dims; ++i) back.push_back(i);
  for (int64_t i = 0; i < between; ++i) back.push_back(batch_dims + taken + i);
  for (int64_t i = 0; i < taken; ++i) back.push_back(batch_dims + i);
  for (int64_t i = 0; i < behind; ++i) back.push_back(batch_dims + taken + between + i);
  return p.transpose(y, back);
}

Expr strided_slice(TypedBuilder& p, const Expr& x, const Expr& begin, const Expr& end, const Ints& strides, const SliceMasks& masks) {
  const int64_t count = p.rank(x), entries = static_cast<int64_t>(strides.size());
  if (count < 0 && (masks.ellipsis || masks.new_axis)) throw Unsupported("it slices a tensor of unknown rank");
  if (entries > 63) throw InvalidModel("it slices by {} entries, masks have bits for 63", entries);
  const auto known_begin = p.ints(begin), known_end = p.ints(end);
  const bool known = known_begin && known_end && known_begin->size() == strides.size() && known_end->size() == strides.size();
  int64_t taken = 0;  // dimensions of x that entries speak of
  for (int64_t i = 0; i < entries; ++i)
    if (!((masks.ellipsis >> i) & 1) && !((masks.new_axis >> i) & 1)) ++taken;
  if (count >= 0 && taken > count) throw InvalidModel("it slices {} of {} dimensions", taken, count);
  Ints axes, starts, ends, steps, squeezed, added;
  std::vector<int64_t> place;  // entry of each axis
  int64_t axis = 0, out = 0;
  std::vector<bool> shrinks;
  Ints out_axis;
  for (int64_t i = 0; i < entries; ++i) {
    const size_t k = static_cast<size_t>(i);
    if ((masks.ellipsis >> i) & 1) {
      const int64_t skipped = count - taken;
      axis += skipped, out += skipped;
      continue;
    }
    if ((masks.new_axis >> i) & 1) {
      added.push_back(out++);
      continue;
    }
    const bool shrink = (masks.shrink >> i) & 1;
    const int64_t step = shrink ? 1 : strides[k];
    if (step == 0) throw InvalidModel("a stride is 0");
    const bool from_edge = ((masks.begin >> i) & 1) && !shrink, to_edge = ((masks.end >> i) & 1) && !shrink;
    axes.push_back(axis), steps.push_back(step), place.push_back(i);
    const int64_t start = from_edge ? (step > 0 ? 0 : kEnd) : known ? (*known_begin)[k] : 0;
    int64_t stop = known ? (*known_end)[k] : 0;
    if (to_edge) stop = step > 0 ? kEnd : std::numeric_limits<int64_t>::min();
    if (shrink && known) stop = start == -1 || start == kEnd ? kEnd : start + 1;
    starts.push_back(start), ends.push_back(stop);
    // A negative end of a backward slice counts from the end, as in a forward one.
    if (shrink)
      squeezed.push_back(axis);
    else
      ++out;
    ++axis;
  }
  Expr y = x;
  bool all = known;
  for (size_t i = 0; i < axes.size(); ++i) all = all && starts[i] == 0 && ends[i] == kEnd && steps[i] == 1;
  if (!axes.empty() && !all) {
    if (known) {
      y = p.slice(x, starts, ends, axes, steps);
    } else {
      const Expr where = p.constant(place), first = p.gather(p.vector(p.i64(begin)), where, 0),
                 last = p.gather(p.vector(p.i64(end)), where, 0);
      const auto choose = [&](const Ints& mask, const Ints& edges, const Expr& other) {
        if (std::all_of(mask.begin(), mask.end(), [](int64_t bit) { return bit == 0; })) return other;
        return p.op("Where", {p.cast(p.constant(mask), DType::boolean), p.constant(edges), other});
      };
      Ints begin_mask, end_mask, shrink_mask;
      for (int64_t entry : place) {
        shrink_mask.push_back((masks.shrink >> entry) & 1);
        begin_mask.push_back(!shrink_mask.back() && ((masks.begin >> entry) & 1));
        end_mask.push_back(!shrink_mask.back() && ((masks.end >> entry) & 1));
      }
      const Expr from = choose(begin_mask, starts, first);
      Expr to = choose(end_mask, ends, last);
      if (std::any_of(shrink_mask.begin(), shrink_mask.end(), [](int64_t bit) { return bit != 0; })) {
        const Expr next = p.op("Add", {first, p.constant({1})});
        const Expr one_on = p.op("Where", {p.op("Equal", {next, p.constant({0})}), p.constant({kEnd}), next});
        to = p.op("Where", {p.cast(p.constant(shrink_mask), DType::boolean), one_on, to});
      }
      y = p.op("Slice", {x, from, to, p.constant(axes), p.constant(steps)});
      if (!y.value()->type.dims && count >= 0) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
    }
  }
  y = p.squeeze(y, squeezed);
  return p.unsqueeze(y, added);
}

Expr slice_sizes(TypedBuilder& p, const Expr& x, const Expr& begin, const Expr& size) {
  const auto known = p.ints(begin), counts = p.ints(size);
  if (known && counts && known->size() == counts->size()) {
    Ints ends, axes;
    for (size_t i = 0; i < known->size(); ++i) {
      ends.push_back((*counts)[i] < 0 ? kEnd : (*known)[i] + (*counts)[i]);
      axes.push_back(static_cast<int64_t>(i));
    }
    return p.slice(x, *known, ends, axes);
  }
  const Expr starts = p.vector(p.i64(begin)), sizes = p.vector(p.i64(size));
  const Expr ends = p.op("Where", {p.op("Less", {sizes, p.constant({0})}), p.constant({kEnd}), p.op("Add", {starts, sizes})});
  const Expr y = p.op("Slice", {x, starts, ends});
  if (const int64_t count = p.rank(x); count >= 0 && !y.value()->type.dims)
    y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return y;
}

Exprs split_sizes(TypedBuilder& p, const Expr& x, Ints sizes, int64_t axis) {
  const int64_t whole = p.dim(x, axis);
  int64_t rest = whole;
  for (int64_t size : sizes) rest -= std::max<int64_t>(size, 0);
  for (int64_t& size : sizes) {
    if (size >= 0) continue;
    if (whole < 0) throw Unsupported("a split of unknown size is not supported");
    size = rest;
  }
  return p.ops("Split", {x, p.constant(sizes)}, sizes.size(), {{"axis", axis}});
}

Expr pad(TypedBuilder& p, const Expr& x, const Expr& paddings, const Expr& value, std::string_view mode) {
  Expr pads;
  if (const auto known = p.ints(paddings)) {
    if (std::all_of(known->begin(), known->end(), [](int64_t n) { return n == 0; })) return x;
    Ints before, after;
    for (size_t i = 0; i + 1 < known->size(); i += 2) before.push_back((*known)[i]), after.push_back((*known)[i + 1]);
    before.insert(before.end(), after.begin(), after.end());
    pads = p.constant(before);
  } else {
    pads = p.vector(p.transpose(p.i64(paddings), {1, 0}));
  }
  Exprs inputs = {x, pads};
  if (value) inputs.push_back(value);
  const Expr y = p.op("Pad", inputs, {{"mode", std::string(mode)}});
  if (!y.value()->type.dims && p.rank(x) >= 0) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(p.rank(x)));
  return y;
}

Expr pad_symmetric(TypedBuilder& p, const Expr& x, const Ints& paddings) {
  Expr y = x;
  for (size_t axis = 0; axis * 2 + 1 < paddings.size(); ++axis) {
    const int64_t before = paddings[axis * 2], after = paddings[axis * 2 + 1];
    if (before == 0 && after == 0) continue;
    const int64_t size = p.dim(x, static_cast<int64_t>(axis));
    if (size < 0) throw Unsupported("it mirrors a dimension of unknown size");
    if (size > kMostMirrored) throw Unsupported("it mirrors a dimension of {} places, {} are supported", size, kMostMirrored);
    if (before > size || after > size || before < 0 || after < 0)
      throw InvalidModel("a dimension of {} is mirrored for {}", size, std::max(before, after));
    const Charge table(2 * static_cast<size_t>(before + size + after) * sizeof(int64_t));  // the list may have grown to twice its size
    Ints places;
    for (int64_t i = before; i-- > 0;) places.push_back(i);
    for (int64_t i = 0; i < size; ++i) places.push_back(i);
    for (int64_t i = 0; i < after; ++i) places.push_back(size - 1 - i);
    y = p.gather(y, p.constant(places), static_cast<int64_t>(axis));
  }
  return y;
}

Expr one_hot(TypedBuilder& p, const Expr& indices, const Expr& depth, const Expr& on, const Expr& off, int64_t axis) {
  const int64_t count = p.rank(indices);
  if (count < 0) throw Unsupported("its indices have an unknown number of dimensions");
  if (axis < 0) axis += count + 1;
  // Indices out of range, including negative ones, give a row of `off`, because they are compared instead of wrapped.
  Ints column = Ints(static_cast<size_t>(count) + 1, 1);
  if (axis < 0 || axis > count) throw InvalidModel("axis {} does not fit {} dimensions", axis, count);
  column[static_cast<size_t>(axis)] = -1;
  const Expr numbers =
      p.reshape(p.op("Range", {p.scalar(0, DType::i64), p.reshape(p.i64(depth), Ints{}), p.scalar(1, DType::i64)}), column);
  return p.op("Where", {p.op("Equal", {p.unsqueeze(p.i64(indices), {axis}), numbers}), on, off});
}

Expr transpose_by(TypedBuilder& p, const Expr& x, const Expr& perm) {
  const int64_t rank = p.dim(perm, 0);
  if (rank < 0) throw Unsupported("its permutation has an unknown length");
  if (rank == 0) return x;
  if (static_cast<size_t>(rank) > kMaxRank) throw Unsupported("a permutation of {} dimensions is not supported", rank);
  const Expr shape = p.shape_of(x), zero = p.scalar(0, DType::i64), one = p.scalar(1, DType::i64);
  const Expr given = p.i64(perm);
  const Expr axes =
      p.op("Where", {p.op("Less", {given, zero}), p.op("Add", {given, p.scalar(static_cast<double>(rank), DType::i64)}), given});
  Exprs strides(static_cast<size_t>(rank), p.constant({1}));
  for (int64_t i = rank - 1; i-- > 0;)
    strides[static_cast<size_t>(i)] = p.op("Mul", {strides[static_cast<size_t>(i) + 1], p.slice(shape, {i + 1}, {i + 2}, {0})});
  const Expr sizes = p.gather(shape, axes, 0), steps = p.gather(p.concat(strides, 0), axes, 0);
  Expr from;  // of each element of the result, its index in x
  for (int64_t i = 0; i < rank; ++i) {
    const Expr size = p.reshape(p.slice(sizes, {i}, {i + 1}, {0}), Ints{});
    Ints along(static_cast<size_t>(rank), 1);
    along[static_cast<size_t>(i)] = -1;
    const Expr part = p.reshape(p.op("Mul", {p.op("Range", {zero, size, one}), p.slice(steps, {i}, {i + 1}, {0})}), along);
    from = from ? p.op("Add", {from, part}) : part;
  }
  return p.gather(p.vector(x), from, 0);
}

Expr reverse(TypedBuilder& p, const Expr& x, const Ints& axes) {
  if (axes.empty()) return x;
  const size_t n = axes.size();
  return p.slice(x, Ints(n, -1), Ints(n, std::numeric_limits<int64_t>::min()), axes, Ints(n, -1));
}

Expr segment(TypedBuilder& p, const Expr& x, const Expr& ids, const Expr& count, SegmentJoin join) {
  const int64_t rank_ids = p.rank(ids);
  if (rank_ids < 0) throw Unsupported("its ids have an unknown number of dimensions");
  const DType type = p.dtype(x);
  Expr rows = x;
  if (rank_ids != 1) {
    const Expr shape = p.concat({p.constant({-1}), p.shape_of(x, rank_ids)}, 0);
    rows = p.reshape(x, shape);
  }
  // An additional row receives elements with negative ids.
  const Expr flat = p.vector(p.i64(ids)), many = p.reshape(p.i64(count), Ints{1});
  const Expr safe = p.op("Where", {p.op("Less", {flat, p.constant({0})}), many, flat});
  const Expr shape = p.concat({p.op("Add", {many, p.constant({1})}), p.shape_of(x, rank_ids)}, 0);
  // Segments without rows hold the ends of the dtype, as the format has it, not infinities.
  const double low = is_float(type) ? -3.4028234663852886e38 : static_cast<double>(lowest_of(type));
  const double high = is_float(type) ? 3.4028234663852886e38 : static_cast<double>(highest_of(type));
  static constexpr std::string_view kJoins[] = {"add", "mul", "max", "min"};
  const double start = join == SegmentJoin::sum ? 0 : join == SegmentJoin::product ? 1 : join == SegmentJoin::largest ? low : high;
  const Expr begun = p.fill(shape, start, type);
  const Expr y = p.op("ScatterND", {begun, p.unsqueeze(safe, {1}), rows}, {{"reduction", std::string(kJoins[static_cast<size_t>(join)])}});
  return p.op("Slice", {y, p.constant({0}), many, p.constant({0})});
}

Expr scatter_nd(TypedBuilder& p, const Expr& indices, const Expr& updates, const Expr& shape) {
  return p.op("ScatterND", {p.fill(shape, 0, p.dtype(updates)), p.i64(indices), updates}, {{"reduction", std::string("add")}});
}

Expr dynamic_update_slice(TypedBuilder& p, const Expr& x, const Expr& update, const Expr& start) {
  const Expr whole = p.shape_of(x), part = p.shape_of(update), room = p.op("Sub", {whole, part});
  const Expr first = p.op("Min", {p.op("Max", {p.vector(p.i64(start)), p.constant({0})}), room});
  const Expr pads = p.concat({first, p.op("Sub", {room, first})}, 0);
  const DType type = p.dtype(x);
  const Expr moved = p.op("Pad", {update, pads, p.scalar(0, type)});
  const Expr mask = p.op("Pad", {p.fill(part, 1, DType::i32), pads, p.scalar(0, DType::i32)});
  return p.op("Where", {p.cast(mask, DType::boolean), moved, x});
}

}  // namespace minnow
