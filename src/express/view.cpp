// SPDX-License-Identifier: Apache-2.0
#include "express/view.h"

#include <algorithm>
#include <limits>

#include "express/evaluate.h"
#include "ops/copy_region.h"

namespace minnow::express {
namespace {

constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max();

// Strides of the view's axes in elements of the base, and the place of its first element.
struct Strides {
  int64_t offset = 0;
  Ints strides;
};
Strides strides_of(const Region& region) {
  const Ints base = row_major_strides(region.base);
  Strides result;
  for (size_t i = 0; i < base.size(); ++i) result.offset += region.start[i] * base[i];
  for (const int axis : region.axes)
    result.strides.push_back(axis < 0 ? 0 : base[static_cast<size_t>(axis)] * region.step[static_cast<size_t>(axis)]);
  return result;
}

bool in_one_piece(const Shape& shape, const Ints& strides) {
  int64_t expected = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

LazyValue own(Tensor tensor) {
  LazyValue value = constant_value(std::move(tensor));
  output_of(value).memory_is_ours = true;
  return value;
}

// Indices with the ellipsis written out for `rank` axes.
std::vector<Index> expanded(const std::vector<Index>& indices, size_t rank) {
  size_t used = 0, ellipses = 0;
  for (const Index& index : indices) {
    used += index.kind() == Index::Kind::at || index.kind() == Index::Kind::range;
    ellipses += index.kind() == Index::Kind::ellipsis;
  }
  if (ellipses > 1) throw InvalidArgument("an index can only have a single ellipsis");
  if (used > rank) throw InvalidArgument("a tensor of rank {} is indexed with {} ind{}", rank, used, used == 1 ? "ex" : "ices");
  std::vector<Index> result;
  for (const Index& index : indices) {
    if (index.kind() == Index::Kind::ellipsis)
      result.insert(result.end(), rank - used, kAll);
    else
      result.push_back(index);
  }
  if (ellipses == 0) result.insert(result.end(), rank - used, kAll);
  return result;
}

}  // namespace

Shape Region::shape() const {
  Shape result;
  for (const int axis : axes) result.push_back(axis < 0 ? 1 : extent[static_cast<size_t>(axis)]);
  return result;
}

Region whole(const Shape& shape) {
  Region region;
  region.base = shape;
  for (size_t i = 0; i < shape.rank(); ++i) {
    region.start.push_back(0);
    region.extent.push_back(shape[i]);
    region.step.push_back(1);
    region.axes.push_back(static_cast<int>(i));
  }
  return region;
}

Region choose(const Region& region, const std::vector<Index>& indices) {
  Region result = region;
  result.axes.clear();
  const Shape shape = region.shape();
  size_t next = 0;  // axis of the view that is sliced
  for (const Index& index : expanded(indices, shape.rank())) {
    if (index.kind() == Index::Kind::new_axis) {
      result.axes.push_back(-1);
      continue;
    }
    const int axis = region.axes[next];
    const int64_t dim = shape[next];
    const size_t base = static_cast<size_t>(axis);
    if (index.kind() == Index::Kind::at) {
      const int64_t at = *index.start() < 0 ? *index.start() + dim : *index.start();
      if (at < 0 || at >= dim) throw InvalidArgument("index {} is out of range for axis {} of size {}", *index.start(), next, dim);
      if (axis >= 0) result.start[base] += at * region.step[base], result.extent[base] = 1, result.step[base] = 1;
      ++next;
      continue;
    }
    const int64_t step = index.step();
    if (step == 0) throw InvalidArgument("a slice step of axis {} is 0", next);
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
    const auto bound = [&](std::optional<int64_t> given, int64_t otherwise) {
      if (!given) return otherwise;
      const int64_t place = *given < 0 ? *given + dim : *given;
      return std::clamp(place, low, std::max(low, high));
    };
    const int64_t start = bound(index.start(), step > 0 ? 0 : dim - 1), stop = bound(index.stop(), step > 0 ? dim : -1);
    const int64_t distance = step > 0 ? stop - start : start - stop;
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const int64_t extent = distance <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride + 1);
    if (axis < 0) {  // of length 1: all of it or nothing; nothing needs an axis that is empty
      if (extent == 0) throw InvalidArgument("an empty slice of a new axis is not supported; slice before the new axis is made");
    } else {
      if (extent > 0) result.start[base] += start * region.step[base];
      result.extent[base] = extent;
      result.step[base] = extent > 1 ? region.step[base] * step : 1;
    }
    result.axes.push_back(axis);
    ++next;
  }
  if (result.axes.size() > kMaxRank) throw InvalidArgument("the view has rank {}, at most {} are possible", result.axes.size(), kMaxRank);
  return result;
}

LazyValue read(const LazyValue& base, const Region& region) {
  const Shape shape = region.shape();
  if (base.node->is_computed() && !base.node->keeps_inputs) {
    const Tensor& tensor = tensor_of(base);
    const Strides strides = strides_of(region);
    const size_t size = size_of(tensor.dtype());
    const bool empty = shape.elements() == 0;
    const char* first = tensor.data<char>() + (empty ? 0 : strides.offset * static_cast<int64_t>(size));
    if (empty || in_one_piece(shape, strides.strides)) return constant_value(Tensor(tensor.dtype(), shape, first, tensor.owner()));
    Tensor copy(tensor.dtype(), shape);
    copy_region(size, shape, first, strides.strides, copy.writable().data(), row_major_strides(shape));
    return constant_value(std::move(copy));
  }
  LazyValue result = base;
  const Region all = whole(region.base);
  if (region.extent != all.extent || region.step != all.step) {
    Ints starts = region.start;
    for (size_t i = 0; i < starts.size(); ++i)
      if (region.extent[i] == 0) starts[i] = 0;
    static const Operator& op = find_operator("minnow.Region");
    result = call(op, {base, ints_value(starts)}, {{"sizes", region.extent}, {"steps", region.step}});
  }
  const Shape kept(region.extent);
  if (!(kept == shape)) {
    static const Operator& reshape = find_operator("Reshape");
    result = call(reshape, {result, ints_value(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}});
  }
  return result;
}

LazyValue written(const LazyValue& base, const Region& region, const LazyValue& value) {
  const Shape shape = region.shape();
  const DType dtype = output_of(base).dtype;
  const LazyValue given = cast(value, dtype);
  const bool symbolic = base.node->keeps_inputs || given.node->keeps_inputs;
  // The value may have fewer axes, and leading ones of length 1 more.
  const auto fits = [&](const Shape& from) {
    for (size_t i = 0; i < from.rank(); ++i) {
      const int64_t dim = from[from.rank() - 1 - i];
      if (dim != 1 && (i >= shape.rank() || dim != shape[shape.rank() - 1 - i]))
        throw InvalidArgument("a value of shape {} cannot be broadcast to {}, the shape of the view that it is assigned to", from, shape);
    }
  };
  if (!symbolic) {
    const LazyValue both[] = {base, given};
    evaluate(both);
    Tensor from = tensor_of(given);
    fits(from.shape());
    Shape leading = from.shape();
    while (leading.rank() > shape.rank()) leading.erase(0);
    from = from.reshaped(leading);
    Output& output = output_of(base);
    // Nobody else holds the base's memory: it is written where it lies. The node is held by its variable and by `both`.
    const bool ours = base.node.use_count() <= 2 && output.memory_is_ours && output.tensor.owner().use_count() == 1;
    Tensor to = ours ? std::move(output.tensor) : output.tensor.clone();
    if (shape.elements() == 0) return own(std::move(to));
    const Strides strides = strides_of(region);
    const size_t size = size_of(dtype);
    // A value that lies in the base's own memory holds that memory, so that the base was copied.
    copy_region(size, shape, from.data(), broadcast_strides(leading, shape),
                const_cast<char*>(to.data<char>()) + strides.offset * static_cast<int64_t>(size), strides.strides);
    return own(std::move(to));
  }
  // As an expression: the base's elements by number, with those of the region replaced.
  const int64_t all = region.base.elements();
  const Strides strides = strides_of(region);
  Tensor places(DType::i64, shape);
  int64_t* place = places.writable().data<int64_t>();
  for_each_index(shape, [&](std::span<const int64_t> index) {
    int64_t at = strides.offset;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides.strides[i];
    *place++ = at;
  });
  const Ints flat{-1};
  const LazyValue expanded = call("Expand", {given, ints_value(Ints(shape.begin(), shape.end()))});
  const LazyValue updates = call("Reshape", {expanded, ints_value(flat)});
  const LazyValue elements = call("Reshape", {base, ints_value({all})}, {{"allowzero", int64_t{1}}});
  const LazyValue scattered = call("ScatterElements", {elements, constant_value(places.reshaped({shape.elements()})), updates});
  return call("Reshape", {scattered, ints_value(Ints(region.base.begin(), region.base.end()))}, {{"allowzero", int64_t{1}}});
}

LazyValue slice(const LazyValue& x, const std::vector<Index>& indices) {
  Ints starts, ends, axes, steps, dropped, made;
  const auto kind = [](const Index& index) { return index.kind(); };
  bool seen = false, after = false;  // behind the ellipsis axes count from the end
  int64_t axis = 0, result_axis = 0, behind = 0, result_behind = 0;
  for (const Index& index : indices) {
    if (kind(index) == Index::Kind::ellipsis) {
      seen = true;
      continue;
    }
    if (!seen) continue;
    behind += kind(index) != Index::Kind::new_axis;
    result_behind += kind(index) != Index::Kind::at;
  }
  for (const Index& index : indices) {
    if (kind(index) == Index::Kind::ellipsis) {
      if (after) throw InvalidArgument("an index can only have a single ellipsis");
      after = true;
      axis = -behind;
      result_axis = -result_behind;
      continue;
    }
    if (kind(index) == Index::Kind::new_axis) {
      made.push_back(result_axis++);
      continue;
    }
    if (kind(index) == Index::Kind::at) {
      starts.push_back(*index.start());
      ends.push_back(*index.start() == -1 ? kFarthest : *index.start() + 1);
      steps.push_back(1);
      dropped.push_back(axis);
    } else {
      const int64_t step = index.step();
      if (step == 0) throw InvalidArgument("a slice step of axis {} is 0", axis);
      starts.push_back(index.start().value_or(step > 0 ? 0 : kFarthest));
      ends.push_back(index.stop().value_or(step > 0 ? kFarthest : -kFarthest));
      steps.push_back(step);
      ++result_axis;
    }
    axes.push_back(axis++);
  }
  LazyValue result = x;
  if (!axes.empty()) result = call("Slice", {result, ints_value(starts), ints_value(ends), ints_value(axes), ints_value(steps)});
  if (!dropped.empty()) result = call("Squeeze", {result, ints_value(dropped)});
  if (!made.empty()) result = call("Unsqueeze", {result, ints_value(made)});
  return result;
}

}  // namespace minnow::express
