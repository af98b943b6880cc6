// SPDX-License-Identifier: Apache-2.0
#include "express/view.h"

#include <algorithm>
#include <array>
#include <limits>

#include "express/evaluate.h"
#include "ops/copy_region.h"

namespace minnow::express {
namespace {

constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max();

Ints ints(const Shape& dims) { return Ints(dims.begin(), dims.end()); }

bool in_one_piece(const Shape& shape, const Strides& strides) {
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

// Basic slicing of a shape, axis by axis. It allocates nothing, so a view costs less than the work on it.
struct Slice {
  Shape start, extent, step;          // for each axis: start + i * step, i < extent
  std::array<int8_t, kMaxRank> axes;  // the source axis of each axis of the result, or -1: a new one of length 1
  size_t rank = 0;                    // of the result
  void add(int axis) {
    if (rank == kMaxRank) throw InvalidArgument("the view has more than {} axes, which is the most", kMaxRank);
    axes[rank++] = static_cast<int8_t>(axis);
  }
};

Slice choose(const Shape& shape, const std::vector<Index>& indices) {
  size_t used = 0, ellipses = 0;
  for (const Index& index : indices) {
    used += index.kind() == Index::Kind::at || index.kind() == Index::Kind::range;
    ellipses += index.kind() == Index::Kind::ellipsis;
  }
  if (ellipses > 1) throw InvalidArgument("an index can only have a single ellipsis");
  if (used > shape.rank())
    throw InvalidArgument("a tensor of rank {} is indexed with {} ind{}", shape.rank(), used, used == 1 ? "ex" : "ices");
  Slice result;
  const auto all = [&](size_t count) {
    for (; count > 0; --count) {
      const size_t axis = result.start.rank();
      result.start.push_back(0), result.extent.push_back(shape[axis]), result.step.push_back(1);
      result.add(static_cast<int>(axis));
    }
  };
  for (const Index& index : indices) {
    if (index.kind() == Index::Kind::ellipsis) {
      all(shape.rank() - used);
      continue;
    }
    if (index.kind() == Index::Kind::new_axis) {
      result.add(-1);
      continue;
    }
    const size_t axis = result.start.rank();
    const int64_t dim = shape[axis];
    if (index.kind() == Index::Kind::at) {
      const int64_t at = *index.start() < 0 ? *index.start() + dim : *index.start();
      if (at < 0 || at >= dim) throw InvalidArgument("index {} is out of range for axis {} of size {}", *index.start(), axis, dim);
      result.start.push_back(at), result.extent.push_back(1), result.step.push_back(1);
      continue;
    }
    const int64_t step = index.step();
    if (step == 0) throw InvalidArgument("a slice step of axis {} is 0", axis);
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
    result.start.push_back(extent > 0 ? start : 0), result.extent.push_back(extent), result.step.push_back(extent > 1 ? step : 1);
    result.add(static_cast<int>(axis));
  }
  if (ellipses == 0) all(shape.rank() - used);
  return result;
}

bool is_complex(const LazyValue& x) {  // operators do not know these dtypes
  const DType dtype = output_of(x).dtype;
  return dtype == DType::complex64 || dtype == DType::complex128;
}

DType part_of(DType dtype) { return dtype == DType::complex64 ? DType::f32 : DType::f64; }

// The position of a region in its base's memory.
struct Place {
  DType dtype;
  int64_t offset;  // in elements of dtype
  Strides strides;
  Place(const Region& region, const Tensor& base) : dtype(base.dtype()), offset(region.offset), strides(region.strides) {
    if (!(base.shape() == region.base))
      throw InvalidArgument("a view of a variable of shape {} is used, which has been given a value of shape {}", region.base,
                            base.shape());
    if (region.part == 0) return;
    if (dtype != DType::complex64 && dtype != DType::complex128)
      throw InvalidArgument("a view of the parts of complex numbers is used, whose variable has been given a value of dtype {}", dtype);
    dtype = part_of(dtype);
    offset = 2 * offset + region.part - 1;
    for (int64_t& stride : strides) stride *= 2;
  }
};

LazyValue reshape(const LazyValue& x, const Shape& shape) {
  if (is_complex(x)) return constant_value(tensor_of(x).reshaped(shape));
  static const Operator& op = find_operator("Reshape");
  return call(op, {x, ints_value(ints(shape))}, {{"allowzero", int64_t{1}}});
}

// A slice as an expression.
struct Slicer {
  Slice slice;
  Shape from, to;
  LazyValue operator()(const LazyValue& value) const {
    LazyValue result = value;
    const bool all = slice.extent == from && std::all_of(slice.step.begin(), slice.step.end(), [](int64_t step) { return step == 1; });
    if (!all) {
      static const Operator& op = find_operator("minnow.Region");
      result = call(op, {result, ints_value(ints(slice.start))}, {{"sizes", ints(slice.extent)}, {"steps", ints(slice.step)}});
    }
    return slice.extent == to ? result : reshape(result, to);
  }
};

// The composition: `second` applied to the result of `first`. Empty if `second` removes an axis that `first` added.
std::optional<Slice> joined(const Slice& first, const Slice& second) {
  Slice result = first;
  result.rank = 0;
  for (size_t i = 0; i < second.start.rank(); ++i) {
    if (first.axes[i] < 0) {
      if (second.extent[i] != 1) return std::nullopt;
      continue;
    }
    const size_t axis = static_cast<size_t>(first.axes[i]);
    result.start[axis] += second.start[i] * first.step[axis];
    result.extent[axis] = second.extent[i];
    result.step[axis] = second.extent[i] > 1 ? first.step[axis] * second.step[i] : 1;
  }
  for (size_t i = 0; i < second.rank; ++i) result.add(second.axes[i] < 0 ? -1 : first.axes[static_cast<size_t>(second.axes[i])]);
  return result;
}

// The region of a variable that is to be viewed: all of it.
Region whole(const std::shared_ptr<Cell>& x, const Shape& shape) {
  Region region;
  if (x->base) {
    region = *x->region;
    region.parent = x;
  } else {
    region.base = region.shape = region.strides = shape;
    int64_t stride = 1;
    for (size_t i = shape.rank(); i-- > 0; stride *= shape[i]) region.strides[i] = stride;
  }
  return region;
}

Var view_of(const std::shared_ptr<Cell>& x, Region region) {
  auto cell = std::make_shared<Cell>();
  cell->base = x->base ? x->base : x;
  cell->region = std::make_unique<Region>(std::move(region));
  return Access::var(std::move(cell));
}

// The shape of a variable that can be viewed; nothing if a value has to do.
std::optional<Shape> viewed_shape(const Var& x) {
  const LazyValue value = required_value(x);
  if (value.node->fed_by_others && !known_shape(value)) return std::nullopt;
  return x.shape();
}

// Strides that show a region's elements in another shape without moving them; empty if there are none. Axes are matched in groups with
// equal numbers of elements, and within a group the region must be contiguous.
std::optional<Strides> strides_in(const Region& region, const Shape& shape) {
  Strides result = Strides::filled(shape.rank(), 0);
  std::vector<std::pair<int64_t, int64_t>> axes;  // without those of length 1
  for (size_t i = 0; i < region.shape.rank(); ++i)
    if (region.shape[i] != 1) axes.emplace_back(region.shape[i], region.strides[i]);
  size_t from = 0, to = 0;
  while (from < axes.size() && to < shape.rank()) {
    size_t from_end = from + 1, to_end = to + 1;
    int64_t have = axes[from].first, want = shape[to];
    while (have != want) {
      if (have < want) {
        if (from_end == axes.size()) return std::nullopt;
        have *= axes[from_end++].first;
      } else {
        if (to_end == shape.rank()) return std::nullopt;
        want *= shape[to_end++];
      }
    }
    for (size_t i = from; i + 1 < from_end; ++i)
      if (axes[i].second != axes[i + 1].first * axes[i + 1].second) return std::nullopt;
    int64_t stride = axes[from_end - 1].second;
    for (size_t i = to_end; i-- > to; stride *= shape[i]) result[i] = stride;
    from = from_end, to = to_end;
  }
  return result;
}

}  // namespace

std::unique_ptr<Region> sliced(const std::shared_ptr<Cell>& x, const Shape& shape, const std::vector<Index>& indices) {
  const Slice slice = choose(shape, indices);
  Region all = whole(x, shape);
  auto region = std::make_unique<Region>();
  region->base = all.base, region->offset = all.offset, region->parent = std::move(all.parent);
  region->read_only = all.read_only, region->part = all.part;
  for (size_t i = 0; i < slice.start.rank(); ++i) region->offset += slice.start[i] * all.strides[i];
  for (size_t k = 0; k < slice.rank; ++k) {
    const int axis = slice.axes[k];
    const size_t i = static_cast<size_t>(std::max(axis, 0));
    region->shape.push_back(axis < 0 ? 1 : slice.extent[i]);
    region->strides.push_back(axis < 0 ? 0 : all.strides[i] * slice.step[i]);
  }
  region->of_parent = Slicer{slice, shape, region->shape};
  // A slice of a slice is one slice, so that plans are shared wherever the first one begins.
  if (const Slicer* before = x->base ? x->region->of_parent.target<Slicer>() : nullptr)
    if (auto both = joined(before->slice, slice)) {
      region->of_parent = Slicer{std::move(*both), before->from, region->shape};
      region->parent = x->region->parent;
    }
  return region;
}

Var reshaped(const Var& x, const Shape& shape) {
  const std::optional<Shape> from = viewed_shape(x);
  if (from && from->elements() != shape.elements()) throw InvalidArgument("a tensor of shape {} cannot take shape {}", *from, shape);
  const auto of_parent = [shape](const LazyValue& value) { return reshape(value, shape); };
  if (!from) return var_of(of_parent(required_value(x)));
  Region region = whole(Access::cell(x), *from);
  if (from->elements() == 0) {
    region.strides = Strides::filled(shape.rank(), 0);
  } else {
    std::optional<Strides> strides = strides_in(region, shape);
    if (!strides) return var_of(of_parent(required_value(x)));
    region.strides = *strides;
  }
  region.shape = shape, region.by_call = false;
  region.of_parent = of_parent;
  return view_of(Access::cell(x), std::move(region));
}

Var transposed(const Var& x, const std::vector<int64_t>& order) {
  const std::optional<Shape> from = viewed_shape(x);
  auto of_parent = [order](const LazyValue& value) {
    static const Operator& op = find_operator("Transpose");
    return call(op, {value}, {{"perm", order}});
  };
  if (!from) return var_of(of_parent(required_value(x)));
  uint32_t seen = 0;
  for (const int64_t axis : order) {
    if (order.size() != from->rank() || axis < 0 || axis >= static_cast<int64_t>(order.size()) || (seen >> axis & 1))
      throw InvalidArgument("axes {} are no order of the axes of a tensor of shape {}", order, *from);
    seen |= 1u << axis;
  }
  Region region = whole(Access::cell(x), *from);
  const Strides strides = region.strides;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t axis = static_cast<size_t>(order[i]);
    region.shape[i] = (*from)[axis], region.strides[i] = strides[axis];
  }
  region.by_call = true;
  region.of_parent = std::move(of_parent);
  return view_of(Access::cell(x), std::move(region));
}

Var broadcast_to(const Var& x, const Shape& shape) {
  const std::optional<Shape> from = viewed_shape(x);
  const auto of_parent = [shape](const LazyValue& value) { return call("Expand", {value, ints_value(ints(shape))}); };
  if (!from) return var_of(of_parent(required_value(x)));
  Region region = whole(Access::cell(x), *from);
  const size_t lead = shape.rank() - std::min(shape.rank(), from->rank());
  Strides strides = Strides::filled(shape.rank(), 0);
  for (size_t i = 0; i < from->rank(); ++i) {
    const bool fits = from->rank() <= shape.rank() && ((*from)[i] == 1 || (*from)[i] == shape[lead + i]);
    if (!fits) throw InvalidArgument("a tensor of shape {} cannot be broadcast to {}", *from, shape);
    if ((*from)[i] != 1) strides[lead + i] = region.strides[i];
  }
  region.shape = shape, region.strides = strides, region.read_only = region.by_call = true;
  region.of_parent = of_parent;
  return view_of(Access::cell(x), std::move(region));
}

Var diagonal(const Var& x, int64_t offset, size_t axis1, size_t axis2) {
  const std::optional<Shape> from = viewed_shape(x);
  if (!from) throw InvalidArgument("the diagonals of a value whose shape is open are taken");
  const size_t rank = from->rank();
  if (axis1 >= rank || axis2 >= rank || axis1 == axis2)
    throw InvalidArgument("axes {} and {} of a tensor of shape {} have no diagonals", axis1, axis2, *from);
  Region region = whole(Access::cell(x), *from);
  const int64_t along = std::clamp(offset, -(*from)[axis1], (*from)[axis2]);
  const int64_t row = std::max<int64_t>(-along, 0), column = std::max<int64_t>(along, 0);
  const int64_t count = std::min((*from)[axis1] - row, (*from)[axis2] - column);
  const Strides strides = region.strides, plain = row_major_strides(*from);
  region.shape = region.strides = {};
  Strides own;  // strides of the result's axes in a value of x's shape
  for (size_t i = 0; i < rank; ++i)
    if (i != axis1 && i != axis2) region.shape.push_back((*from)[i]), region.strides.push_back(strides[i]), own.push_back(plain[i]);
  region.shape.push_back(count), region.strides.push_back(strides[axis1] + strides[axis2]), own.push_back(plain[axis1] + plain[axis2]);
  if (count > 0) region.offset += row * strides[axis1] + column * strides[axis2];
  region.read_only = true, region.by_call = false;
  region.of_parent = [shape = region.shape, own, first = row * plain[axis1] + column * plain[axis2]](const LazyValue& value) {
    Tensor places(DType::i64, shape);
    int64_t* place = places.writable().data<int64_t>();
    for_each_index(shape, [&](std::span<const int64_t> index) {
      int64_t at = first;
      for (size_t i = 0; i < index.size(); ++i) at += index[i] * own[i];
      *place++ = at;
    });
    return call("Gather", {call("Reshape", {value, ints_value({-1})}), constant_value(places)});
  };
  return view_of(Access::cell(x), std::move(region));
}

Var complex_part(const Var& x, bool imaginary) {
  const LazyValue value = required_value(x);
  if (!is_complex(value)) throw InvalidArgument("the parts of complex numbers are taken of a {}", output_of(value).dtype);
  const Shape shape = x.shape();
  Region region = whole(Access::cell(x), shape);
  region.part = imaginary ? 2 : 1;
  region.by_call = false;
  region.of_parent = [shape, part = region.part](const LazyValue& of) {
    Region all;
    all.base = all.shape = shape, all.strides = row_major_strides(shape), all.part = part;
    return read(constant_value(tensor_of(of)), all);
  };
  return view_of(Access::cell(x), std::move(region));
}

LazyValue read(const LazyValue& base, const Region& region) {
  if (base.node->is_computed() && !base.node->keeps_inputs) {
    const Tensor& tensor = tensor_of(base);
    const Place place(region, tensor);
    const size_t size = size_of(place.dtype);
    const bool empty = region.shape.elements() == 0;
    const char* first = tensor.data<char>() + (empty ? 0 : place.offset * static_cast<int64_t>(size));
    if (empty || in_one_piece(region.shape, place.strides)) return constant_value(Tensor(place.dtype, region.shape, first, tensor.owner()));
    if (region.by_call && !is_complex(base)) return region.of_parent(region.parent ? value_of(Access::var(region.parent)) : base);
    Tensor copy(place.dtype, region.shape);
    copy_region(size, region.shape, first, place.strides, copy.writable().data(), row_major_strides(region.shape));
    return constant_value(std::move(copy));
  }
  return region.of_parent(region.parent ? value_of(Access::var(region.parent)) : base);
}

bool may_share_memory(const Var& a, const Var& b, bool exactly) {
  const std::shared_ptr<Cell>&p = Access::cell(a), &q = Access::cell(b);
  if ((p->base ? p->base : p) != (q->base ? q->base : q)) return false;
  const auto bounds = [](const Cell& cell) -> std::pair<int64_t, int64_t> {
    if (!cell.base) return {0, std::numeric_limits<int64_t>::max()};
    const Region& region = *cell.region;
    if (region.shape.elements() == 0) return {0, 0};
    int64_t low = region.offset, high = region.offset;
    for (size_t i = 0; i < region.shape.rank(); ++i) (region.strides[i] < 0 ? low : high) += region.strides[i] * (region.shape[i] - 1);
    return {low, high + 1};
  };
  const auto [a_low, a_high] = bounds(*p);
  const auto [b_low, b_high] = bounds(*q);
  if (a_low >= b_high || b_low >= a_high) return false;
  if (!exactly || !p->base || !q->base) return true;
  if (p->region->part != 0 && q->region->part != 0 && p->region->part != q->region->part) return false;
  const auto places = [](const Region& region) {
    Ints result;
    for_each_index(region.shape, [&](std::span<const int64_t> index) {
      int64_t at = region.offset;
      for (size_t i = 0; i < index.size(); ++i) at += index[i] * region.strides[i];
      result.push_back(at);
    });
    std::sort(result.begin(), result.end());
    return result;
  };
  const Ints first = places(*p->region), second = places(*q->region);
  return std::any_of(first.begin(), first.end(), [&](int64_t at) { return std::binary_search(second.begin(), second.end(), at); });
}

Var base_of(const Var& x) { return Access::var(Access::cell(x) ? Access::cell(x)->base : nullptr); }

LazyValue written(const LazyValue& base, const Region& region, const LazyValue& value) {
  if (region.read_only) throw InvalidArgument("assignment destination is read-only");
  const Shape& shape = region.shape;
  const DType whole_dtype = output_of(base).dtype, dtype = region.part ? part_of(whole_dtype) : whole_dtype;
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
    const Place place(region, output.tensor);
    // If nobody else holds the base's memory, write in place. The node is held by its variable and by `both`.
    const bool ours = base.node.use_count() <= 2 && output.memory_is_ours && output.tensor.owner().use_count() == 1;
    Tensor to = ours ? std::move(output.tensor) : output.tensor.clone();
    if (shape.elements() == 0) return own(std::move(to));
    const size_t size = size_of(place.dtype);
    // A value that lies in the base's own memory holds that memory, so that the base was copied.
    copy_region(size, shape, from.data(), broadcast_strides(leading, shape),
                const_cast<char*>(to.data<char>()) + place.offset * static_cast<int64_t>(size), place.strides);
    return own(std::move(to));
  }
  // As an expression: the base's elements by number, with those of the region replaced.
  const int64_t all = region.base.elements();
  Tensor places(DType::i64, shape);
  int64_t* place = places.writable().data<int64_t>();
  for_each_index(shape, [&](std::span<const int64_t> index) {
    int64_t at = region.offset;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * region.strides[i];
    *place++ = at;
  });
  const Ints flat{-1};
  const LazyValue expanded = call("Expand", {given, ints_value(ints(shape))});
  const LazyValue updates = call("Reshape", {expanded, ints_value(flat)});
  const LazyValue elements = call("Reshape", {base, ints_value({all})}, {{"allowzero", int64_t{1}}});
  const LazyValue scattered = call("ScatterElements", {elements, constant_value(places.reshaped({shape.elements()})), updates});
  return call("Reshape", {scattered, ints_value(ints(region.base))}, {{"allowzero", int64_t{1}}});
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
