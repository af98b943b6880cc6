// SPDX-License-Identifier: Apache-2.0
// Shapes: sizes, other shapes for the same elements, spreading, parts and joining.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/memory.h"
#include "base/saturating.h"
#include "importers/builder/arithmetic.h"
#include "importers/builder/indexing.h"
#include "importers/torchscript/pickle.h"
#include "importers/torchscript/rules.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

namespace {

/// An i64 vector of one element as an integer of the program.
Item integer_item(TypedBuilder& p, const Expr& x) {
  if (const auto known = p.ints(x); known && known->size() == 1) return Item::integer((*known)[0]);
  return Item::symbol(Kind::integer, x);
}

}  // namespace

Expr with_sizes(const Expr& y, const Items& wanted) {
  std::vector<Dim> dims(wanted.size());
  const auto& inferred = y.value()->type.dims;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (inferred && inferred->size() == dims.size() && ((*inferred)[i].known() || !SizeTable::is_unknown((*inferred)[i]))) {
      dims[i] = (*inferred)[i];
    } else if (wanted[i].is_known()) {
      if (wanted[i].integer() > 0) dims[i].size = wanted[i].integer();
    } else if (const Node* maker = wanted[i].symbol() ? wanted[i].symbol()->producer() : nullptr; maker && maker->op() == "Shape") {
      const int64_t* start = maker->attributes.get<int64_t>("start");
      const size_t axis = start ? static_cast<size_t>(*start) : 0;
      const auto& from = maker->input(0)->type.dims;
      if (from && axis < from->size()) dims[i] = (*from)[axis];
    }
  }
  if (y.value()->producer()) y.value()->type.dims = std::move(dims);
  return y;
}

// Sizes.

Item import_size(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  if (call.takes("dim") && call.has("dim")) {
    int64_t axis = call.integer("dim");
    if (axis < 0 || p.rank(x) >= 0) axis = call.axis_of(axis, call.rank(x));
    return integer_item(p, p.shape_of(x, axis, axis + 1));
  }
  Items sizes;
  for (int64_t i = 0; i < call.rank(x); ++i) sizes.push_back(integer_item(p, p.shape_of(x, i, i + 1)));
  return Item::list(std::move(sizes));
}
Item import_dim(Call& call, TypedBuilder&) { return Item::integer(call.rank(call.x("self"))); }
Item import_numel(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  if (const auto shape = p.shape(x)) return Item::integer(Shape(*shape).elements());
  return Item::symbol(Kind::integer, p.reshape(p.op("Size", {x}), Ints{1}));
}
Item import_shape_tensor(Call& call, TypedBuilder& p) { return p.shape_of(call.x("self")); }
Item import_stride(Call& call, TypedBuilder& p) {
  const auto shape = p.shape(call.x("self"));
  if (!shape) call.refuse("strides of a tensor of unknown shape");
  Ints strides(shape->size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * (*shape)[i];
  if (call.has("dim")) return Item::integer(strides[static_cast<size_t>(call.axis("dim", static_cast<int64_t>(strides.size())))]);
  Items items;
  for (int64_t stride : strides) items.push_back(Item::integer(stride));
  return Item::list(std::move(items));
}

// Another shape for the same elements.

Item import_view(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  if (call.takes("dtype")) call.refuse("the bits of a tensor seen as another dtype are not supported");
  const Items& wanted = call.items("shape");
  // Write 0 for a size that equals the input's at the same axis: then one -1 suffices even if sizes are open.
  bool known = true;
  Ints sizes;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Item& item = wanted[i];
    if (item.is_known()) {
      sizes.push_back(item.integer());
      continue;
    }
    const Node* maker = item.symbol() ? item.symbol()->producer() : nullptr;
    const bool own = maker && maker->op() == "Shape" && maker->input(0) == x.value() && maker->attributes.get<int64_t>("start") &&
                     *maker->attributes.get<int64_t>("start") == static_cast<int64_t>(i);
    const bool own_first = maker && maker->op() == "Shape" && maker->input(0) == x.value() && i == 0 && !maker->attributes.find("start");
    if (own || own_first) {
      sizes.push_back(0);
    } else {
      known = false;
    }
  }
  const auto shape = p.shape(x);
  if (known && std::none_of(wanted.begin(), wanted.end(), [](const Item& item) { return item.is_known() && item.integer() == 0; })) {
    if (shape && std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) {  // a -1 is known then
      int64_t product = 1;
      for (int64_t size : sizes) product = clamped_product({product, std::max<int64_t>(size, 1)});
      const int64_t elements = Shape(*shape).elements();
      for (int64_t& size : sizes)
        if (size == -1 && product > 0 && elements % product == 0) size = elements / product;
      return p.reshape(x, sizes);
    }
    if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) return with_sizes(p.reshape(x, sizes), wanted);
    return with_sizes(p.op("Reshape", {x, p.constant(sizes)}), wanted);
  }
  return with_sizes(p.reshape(x, call.vector(wanted)), wanted);
}
Item import_view_as(Call& call, TypedBuilder& p) { return p.reshape(call.x("self"), p.shape_of(call.x("other"))); }
Item import_flatten(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t start = call.integer("start_dim"), end = call.integer("end_dim");
  if (p.rank(x) < 0 && start >= 0 && end == -1) {
    if (start == 0) return p.vector(x);
    if (start == 1) return p.op("Flatten", {x}, {{"axis", int64_t{1}}});
  }
  const int64_t rank = call.rank(x);
  if (rank == 0) return p.reshape(x, Ints{1});
  const int64_t first = call.axis_of(start, rank), last = call.axis_of(end, rank);
  if (last < first) call.fail("dimensions {} to {} are flattened", start, end);
  if (first == last) return x;
  if (first == 1 && last == rank - 1) return p.op("Flatten", {x}, {{"axis", int64_t{1}}});
  Exprs parts;
  if (first > 0) parts.push_back(p.shape_of(x, 0, first));
  parts.push_back(p.constant({-1}));
  if (last + 1 < rank) parts.push_back(p.shape_of(x, last + 1));
  return p.reshape(x, p.concat(parts, 0));
}
Item import_ravel(Call& call, TypedBuilder& p) { return p.vector(call.x("self")); }
Item import_unflatten(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t rank = call.rank(x), axis = call.axis("dim", rank);
  Exprs parts;
  if (axis > 0) parts.push_back(p.shape_of(x, 0, axis));
  parts.push_back(call.vector("sizes"));
  if (axis + 1 < rank) parts.push_back(p.shape_of(x, axis + 1));
  return p.reshape(x, p.concat(parts, 0));
}
Item import_squeeze(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  Ints axes;
  if (call.takes("dim") && call.has("dim")) {
    for (int64_t axis : call.ints("dim")) {
      const int64_t rank = call.rank(x);
      const int64_t place = call.axis_of(axis, rank);
      const int64_t size = rank == 0 ? 2 : p.dim(x, place);
      if (size < 0) call.host.warn(format("{}: a dimension of open size is taken to be 1", call.place));
      if (size == 1 || size < 0) axes.push_back(place);
    }
  } else {
    const auto shape = p.shape(x);
    if (!shape) {
      // Sizes that are open are taken to be more than 1.
      const int64_t rank = call.rank(x);
      for (int64_t i = 0; i < rank; ++i)
        if (p.dim(x, i) == 1) axes.push_back(i);
      call.host.warn(format("{}: dimensions of open sizes are taken to be more than 1", call.place));
    } else {
      for (size_t i = 0; i < shape->size(); ++i)
        if ((*shape)[i] == 1) axes.push_back(static_cast<int64_t>(i));
    }
  }
  return p.squeeze(x, axes);
}
Item import_unsqueeze(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  int64_t axis = call.integer("dim");
  if (p.rank(x) >= 0) {
    const int64_t rank = p.rank(x) + 1;
    if (axis < -rank || axis >= rank) call.fail("dimension {} is added to a tensor of {}", axis, rank - 1);
    if (axis < 0) axis += rank;
  }
  return p.unsqueeze(x, {axis});
}
Item import_identity(Call& call, TypedBuilder&) { return call.arguments[0]; }
Item import_clone(Call& call, TypedBuilder& p) {
  const Item& x = call.arguments[0];
  if (!x.is(Kind::tensor)) return x;
  Item made = Item::tensor(call.host.expr(x));
  made.as_tensor().quantization = x.as_tensor().quantization;
  static_cast<void>(p);
  return made;
}
Item import_as_strided(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Ints sizes = call.ints("size"), strides = call.ints("stride");
  const int64_t offset = call.integer("storage_offset", 0);
  if (sizes.size() != strides.size()) call.fail("it has {} sizes and {} strides", sizes.size(), strides.size());
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0 || size > 1'000'000) call.refuse("a size of {}", size);
    count *= size;
    if (count > 1'000'000) call.refuse("so many strided elements");
  }
  call.host.spend(static_cast<size_t>(count) / 16);
  Ints places(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, place = offset;
    for (size_t axis = sizes.size(); axis-- > 0;) {
      place += rest % sizes[axis] * strides[axis];
      rest /= sizes[axis];
    }
    places[static_cast<size_t>(i)] = place;
  }
  return p.reshape(p.gather(p.vector(x), p.constant(places), 0), sizes);
}

// Order of dimensions.

Item import_permute(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  Ints perm = call.ints("dims");
  const int64_t rank = static_cast<int64_t>(perm.size());
  call.host.expect_rank(x, {rank});
  std::vector<bool> seen(perm.size());
  for (int64_t& axis : perm) {
    axis = call.axis_of(axis, rank);
    if (seen[static_cast<size_t>(axis)]) call.fail("dimension {} stands twice", axis);
    seen[static_cast<size_t>(axis)] = true;
  }
  return p.transpose(x, perm);
}
Item import_transpose(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t rank = call.rank(x);
  if (rank < 2) return x;
  const int64_t a = call.takes("dim0") ? call.axis("dim0", rank) : rank - 2, b = call.takes("dim1") ? call.axis("dim1", rank) : rank - 1;
  Ints perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return p.transpose(x, perm);
}
Item import_numpy_transpose(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  Ints perm;
  for (int64_t i = call.rank(x); i-- > 0;) perm.push_back(i);
  return p.transpose(x, perm);
}
Item import_movedim(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t rank = call.rank(x);
  const Ints from = call.ints("source"), to = call.ints("destination");
  if (from.size() != to.size()) call.fail("{} dimensions are moved to {} places", from.size(), to.size());
  Ints perm(static_cast<size_t>(rank), -1);
  std::vector<bool> taken(static_cast<size_t>(rank));
  for (size_t i = 0; i < from.size(); ++i) {
    perm[static_cast<size_t>(call.axis_of(to[i], rank))] = call.axis_of(from[i], rank);
    taken[static_cast<size_t>(call.axis_of(from[i], rank))] = true;
  }
  size_t next = 0;
  for (int64_t& place : perm) {
    if (place >= 0) continue;
    while (next < taken.size() && taken[next]) ++next;
    if (next == taken.size()) call.fail("a dimension stands twice");
    place = static_cast<int64_t>(next++);
  }
  return p.transpose(x, perm);
}
Item import_flip(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  Ints axes = call.rule.target == "lr" ? Ints{1} : call.rule.target == "ud" ? Ints{0} : call.ints("dims");
  return reverse(p, x, axes);
}
Item import_rot90(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  const int64_t rank = call.rank(x), turns = ((call.integer("k") % 4) + 4) % 4;
  Ints dims = call.ints("dims");
  if (dims.empty()) dims = {0, 1};
  if (dims.size() != 2) call.fail("it turns in {} dimensions", dims.size());
  const int64_t a = call.axis_of(dims[0], rank), b = call.axis_of(dims[1], rank);
  Ints perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  if (turns == 2) return reverse(p, x, {a, b});
  if (turns == 1) return p.transpose(reverse(p, x, {b}), perm);
  if (turns == 3) return reverse(p, p.transpose(x, perm), {b});
  return x;
}
Item import_roll(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  const Items shifts = call["shifts"].is_number() ? Items{call["shifts"]} : call.items("shifts");
  const Ints dims = call.ints("dims");
  if (shifts.size() != std::max<size_t>(dims.size(), 1)) call.fail("it has {} shifts for {} dimensions", shifts.size(), dims.size());
  const auto rolled = [&](const Expr& y, const Item& by, int64_t axis) {
    const int64_t size = p.dim(y, axis);
    if (!by.is_known()) {  // elements after the cut move to the front; without a shift these are all elements
      const Expr cut = p.op("Neg", {p.op("Mod", {call.one(by), p.shape_of(y, axis, axis + 1)})}), place = p.constant({axis});
      return p.concat({p.op("Slice", {y, cut, p.constant({kEnd}), place}), p.op("Slice", {y, p.constant({0}), cut, place})}, axis);
    }
    int64_t shift = by.integer();
    if (size < 0 && shift == INT64_MIN) call.fail("a shift by {}", shift);
    if (size >= 0) shift = size == 0 ? 0 : ((shift % size) + size) % size;
    if (shift == 0) return y;
    return p.concat({p.slice(y, {-shift}, {kEnd}, {axis}), p.slice(y, {0}, {-shift}, {axis})}, axis);
  };
  if (dims.empty()) return p.reshape(rolled(p.vector(x), shifts[0], 0), p.shape_of(x));
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t rank = call.rank(x);
    const auto sizes = x.value()->type.dims;
    x = rolled(x, shifts[i], call.axis_of(dims[i], rank));
    if (!x.value()->type.dims && sizes) x.value()->type.dims = sizes;  // a roll keeps them
  }
  return x;
}

// Spreading.

Item import_expand(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Items& wanted = call.items("size");
  const int64_t rank = p.rank(x);
  if (rank >= 0 && static_cast<int64_t>(wanted.size()) < rank) call.fail("{} dimensions are spread to {}", rank, wanted.size());
  // -1 keeps the size: expanding to 1 does.
  Items sizes = wanted;
  bool changes = rank < 0 || static_cast<int64_t>(wanted.size()) != rank;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_known() && sizes[i].integer() == -1) {
      sizes[i] = Item::integer(1);
      continue;
    }
    const int64_t place = static_cast<int64_t>(i) - (static_cast<int64_t>(sizes.size()) - rank);
    const int64_t now = rank >= 0 && place >= 0 ? p.dim(x, place) : -1;
    if (!sizes[i].is_known() || now != sizes[i].integer()) changes = true;
  }
  if (!changes) return x;
  Items known = wanted;
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i].is_known() && known[i].integer() == -1) known[i] = Item::integer(0);
  return with_sizes(p.op("Expand", {x, call.vector(sizes)}), known);
}
Item import_expand_as(Call& call, TypedBuilder& p) { return p.op("Expand", {call.x("self"), p.shape_of(call.x("other"))}); }
Item import_repeat(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  const Items& counts = call.takes("dims") ? call.items("dims") : call.items("repeats");
  Items times = counts;
  const int64_t rank = call.rank(x);
  const int64_t more = static_cast<int64_t>(times.size()) - rank;
  if (more > 0) {
    Ints axes;
    for (int64_t i = 0; i < more; ++i) axes.push_back(i);
    x = p.unsqueeze(x, axes);
  }
  for (int64_t i = more; i < 0; ++i) times.insert(times.begin(), Item::integer(1));
  return p.op("Tile", {x, call.vector(times)});
}
Item import_repeat_interleave(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  int64_t axis = 0;
  if (call.has("dim")) {
    axis = call.axis("dim", call.rank(x));
  } else {
    x = p.vector(x);
  }
  if (!call["repeats"].is_known()) {
    if (!call["repeats"].is(Kind::tensor)) call.refuse("how often it repeats depends on data");
    const auto counts = p.ints(call.x("repeats"));
    if (!counts) call.refuse("how often it repeats depends on data");
    Ints places;
    for (size_t i = 0; i < counts->size(); ++i) {
      if ((*counts)[i] < 0 || (*counts)[i] > 1'000'000) call.fail("it repeats {} times", (*counts)[i]);
      call.host.spend(static_cast<size_t>((*counts)[i]));
      places.insert(places.end(), static_cast<size_t>((*counts)[i]), static_cast<int64_t>(i));
    }
    return p.gather(x, p.constant(places), axis);
  }
  const int64_t times = call.integer("repeats"), rank = call.rank(x);
  const Expr wide = p.unsqueeze(x, {axis + 1});
  Ints counts(static_cast<size_t>(rank + 1), 1);
  counts[static_cast<size_t>(axis + 1)] = times;
  const Expr tiled = p.op("Tile", {wide, p.constant(counts)});
  Exprs shape;
  if (axis > 0) shape.push_back(p.shape_of(x, 0, axis));
  shape.push_back(p.op("Mul", {p.shape_of(x, axis, axis + 1), p.constant({times})}));
  if (axis + 1 < rank) shape.push_back(p.shape_of(x, axis + 1));
  return p.reshape(tiled, p.concat(shape, 0));
}
Item import_broadcast_tensors(Call& call, TypedBuilder& p) {
  Exprs inputs = call.tensors("tensors");
  if (inputs.empty()) return Item::list();
  Expr shape = p.shape_of(inputs[0]);
  for (size_t i = 1; i < inputs.size(); ++i) shape = broadcast_shapes(p, shape, p.shape_of(inputs[i]));
  Items made;
  for (const Expr& x : inputs) made.push_back(Item(p.op("Expand", {x, shape})));
  return Item::list(std::move(made));
}
Item import_meshgrid(Call& call, TypedBuilder& p) {
  Exprs inputs = call.tensors("tensors");
  const bool swapped = call.takes("indexing") && call.text("indexing") == "xy";
  if (swapped && inputs.size() > 1) std::swap(inputs[0], inputs[1]);
  Exprs sizes;
  for (const Expr& x : inputs) sizes.push_back(p.reshape(p.op("Size", {x}), Ints{1}));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const int64_t size = p.rank(inputs[i]) == 0 ? 1 : p.dim(inputs[i], 0); size >= 0) sizes[i] = p.constant({size});
  const Expr shape = p.concat(sizes, 0);
  Items made;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Ints column(inputs.size(), 1);
    column[i] = -1;
    made.push_back(Item(p.op("Expand", {p.reshape(inputs[i], column), shape})));
  }
  if (swapped && made.size() > 1) std::swap(made[0], made[1]);
  return Item::list(std::move(made));
}

// TypedBuilder.

Item import_slice(Call& call, TypedBuilder& p) {
  if (call["self"].is(Kind::list)) return call["self"];
  const Expr x = call.x("self");
  int64_t axis = call.integer("dim");
  if (axis < 0) axis = call.axis_of(axis, call.rank(x));
  const Item &start = call["start"], &end = call["end"];
  const int64_t step = call["step"].is_known() ? call.integer("step") : -1;  // -1: not known
  if (call["step"].is_known() && step < 1) call.fail("a step of {}", step);
  const auto from = start.is_none() ? std::optional<int64_t>(0) : start.is_known() ? std::optional(start.integer()) : std::nullopt;
  const auto to = end.is_none() ? std::optional(kEnd) : end.is_known() ? std::optional(end.integer()) : std::nullopt;
  if (from && to && step > 0) {
    if (*from == 0 && *to == kEnd && step == 1) return x;
    const int64_t size = p.dim(x, axis);
    if (*from == 0 && step == 1 && size >= 0 && *to >= size) return x;
    return p.slice(x, {*from}, {*to}, {axis}, step == 1 ? Ints{} : Ints{step});
  }
  const Expr first = from ? p.constant({*from}) : call.one(start), last = to ? p.constant({*to}) : call.one(end);
  return p.op("Slice", {x, first, last, p.constant({axis}), call.one(call["step"])});
}
Item import_select(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  int64_t axis = call.integer("dim");
  if (axis < 0) axis = call.axis_of(axis, call.rank(x));
  const Item& index = call["index"];
  if (index.is_known()) {
    const int64_t at = index.integer();
    if (const int64_t size = p.dim(x, axis); size >= 0 && (at >= size || at < -size))
      call.fail("place {} of a dimension of {} is taken", at, size);
    return p.gather(x, p.scalar(static_cast<double>(at), DType::i64), axis);
  }
  return p.gather(x, p.reshape(call.one(index), Ints{}), axis);
}
Item import_narrow(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t axis = call.axis("dim", call.rank(x));
  const Item &start = call["start"], &length = call["length"];
  if (start.is_known() && length.is_known() && start.integer() >= 0) {
    const int64_t from = call.integer("start");
    return p.slice(x, {from}, {from + call.integer("length")}, {axis});
  }
  const Expr from = call.one(start);
  return p.op("Slice", {x, from, p.op("Add", {from, call.one(length)}), p.constant({axis})});
}
Item import_chunk(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t axis = call.axis("dim", call.rank(x)), size = p.dim(x, axis);
  int64_t count = call.integer("chunks");
  if (count < 1) call.fail("{} parts", count);
  int64_t length = -1;
  if (size >= 0) {
    length = std::max<int64_t>((size + count - 1) / count, 1);
    count = std::max<int64_t>((size + length - 1) / length, 1);
  }
  if (count > 100'000) call.refuse("{} parts", count);
  call.host.spend(static_cast<size_t>(count));
  if (count == 1) return Item::list({Item(p.slice(x, {0}, {kEnd}, {axis}))});
  Items parts;
  if (size < 0) {
    for (const Expr& part : p.ops("Split", {x}, static_cast<size_t>(count), {{"axis", axis}, {"num_outputs", count}}))
      parts.push_back(Item(part));
    return Item::list(std::move(parts));
  }
  Ints lengths(static_cast<size_t>(count), length);
  lengths.back() = size - length * (count - 1);
  for (const Expr& part : p.ops("Split", {x, p.constant(lengths)}, lengths.size(), {{"axis", axis}})) parts.push_back(Item(part));
  return Item::list(std::move(parts));
}
Item import_split(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t axis = call.axis("dim", call.rank(x)), size = p.dim(x, axis);
  const std::string_view name = call.takes("split_sizes") ? "split_sizes" : "split_size";
  Ints lengths;
  if (call[name].is(Kind::list) || call[name].is(Kind::tuple)) {
    const Items& wanted = call.items(name);
    if (wanted.size() > 1 && !std::all_of(wanted.begin(), wanted.end(), [](const Item& item) { return item.is_known(); })) {
      Items parts;
      for (const Expr& part : p.ops("Split", {x, call.vector(wanted)}, wanted.size(), {{"axis", axis}})) parts.push_back(Item(part));
      return Item::list(std::move(parts));
    }
    if (wanted.size() == 1) return Item::list({Item(p.slice(x, {0}, {kEnd}, {axis}))});  // the one part is the whole
    lengths = call.ints(name);
  } else {
    const int64_t length = call.integer(name);
    if (length < 1) call.fail("parts of {}", length);
    if (size < 0) {
      const Expr sequence = p.op("SplitToSequence", {x, p.scalar(static_cast<double>(length), DType::i64)}, {{"axis", axis}});
      Item made = Item::list();
      made.as_list().sequence = sequence.value();
      return made;
    }
    if (size / length > 100'000) call.refuse("{} parts", size / length);
    for (int64_t at = 0; at < size; at += length) {
      call.host.spend(1);
      lengths.push_back(std::min(length, size - at));
    }
  }
  if (lengths.empty()) return Item::list({Item(x)});
  if (lengths.size() == 1) return Item::list({Item(p.slice(x, {0}, {lengths[0]}, {axis}))});
  Items parts;
  for (const Expr& part : p.ops("Split", {x, p.constant(lengths)}, lengths.size(), {{"axis", axis}})) parts.push_back(Item(part));
  return Item::list(std::move(parts));
}
Item import_tensor_split(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t axis = call.axis("dim", call.rank(x)), size = p.dim(x, axis);
  if (size < 0) call.refuse("a dimension of open size is split");
  Ints cuts;
  if (call["sections"].is(Kind::list)) {
    cuts = call.ints("sections");
  } else {
    const int64_t count = call.integer("sections");
    if (count < 1 || count > 100'000) call.fail("{} parts", count);
    int64_t at = 0;
    for (int64_t i = 0; i + 1 < count; ++i) cuts.push_back(at += size / count + (i < size % count ? 1 : 0));
  }
  Items parts;
  int64_t from = 0;
  cuts.push_back(size);
  for (int64_t to : cuts) {
    parts.push_back(Item(p.slice(x, {from}, {std::max(to, from)}, {axis})));
    from = to;
  }
  return Item::list(std::move(parts));
}
Item import_unbind(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t axis = call.axis("dim", call.rank(x)), size = p.dim(x, axis);
  if (size < 0) {
    Item made = Item::list();
    made.as_list().sequence = p.op("SplitToSequence", {x}, {{"axis", axis}, {"keepdims", int64_t{0}}}).value();
    return made;
  }
  if (size > 100'000) call.refuse("{} parts", size);
  call.host.spend(static_cast<size_t>(size));
  Items parts;
  for (int64_t i = 0; i < size; ++i) parts.push_back(Item(p.gather(x, p.scalar(static_cast<double>(i), DType::i64), axis)));
  return Item::list(std::move(parts));
}
Item import_tensor_item(Call& call, TypedBuilder& p) {  // x[i] of a tensor
  return p.gather(call.x("self"), p.reshape(call.one(call["index"]), Ints{}), 0);
}
Item import_diagonal(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t rank = call.rank(x), a = call.axis("dim1", rank), b = call.axis("dim2", rank), offset = call.integer("offset");
  const int64_t rows = p.dim(x, a), columns = p.dim(x, b);
  if (rows < 0 || columns < 0) call.refuse("a diagonal of open size");
  const int64_t length = std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  Ints perm;
  for (int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) perm.push_back(i);
  perm.insert(perm.end(), {a, b});
  const Expr turned = p.transpose(x, perm);
  Ints places;
  call.host.spend(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) places.push_back((offset >= 0 ? i : i - offset) * columns + (offset >= 0 ? i + offset : i));
  Exprs shape;
  if (rank > 2) shape.push_back(p.shape_of(turned, 0, rank - 2));
  shape.push_back(p.constant({rows * columns}));
  return p.gather(p.reshape(turned, p.concat(shape, 0)), p.constant(places), rank - 2);
}
Item import_trilu(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const bool truth = p.dtype(x) == DType::boolean;
  const Expr y = p.op("Trilu", {truth ? p.cast(x, DType::u8) : x, p.scalar(static_cast<double>(call.integer("diagonal")), DType::i64)},
                      {{"upper", int64_t{call.rule.target == "upper"}}});
  return truth ? p.cast(y, DType::boolean) : y;
}
Item import_diag(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  if (call.rank(x) != 1 || call.integer("diagonal") != 0) call.refuse("only the main diagonal of a matrix from a vector is supported");
  return matrix_diag(p, x);
}
Item import_diag_embed(Call& call, TypedBuilder& p) {
  if (call.integer("offset") != 0 || call.integer("dim1") != -2 || call.integer("dim2") != -1)
    call.refuse("another diagonal is not supported");
  return matrix_diag(p, call.x("self"));
}
Item import_unfold_dimension(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t rank = call.rank(x), axis = call.axis("dimension", rank), size = call.integer("size"), step = call.integer("step");
  if (size < 0 || step < 1) call.fail("windows of {} every {}", size, step);
  // The beginnings of windows, and their elements.
  const int64_t length = p.dim(x, axis);
  Expr places;
  if (length >= 0) {
    if (length < size) call.fail("windows of {} in a dimension of {}", size, length);
    const int64_t count = (length - size) / step + 1;
    const size_t all_bytes = product_of({static_cast<size_t>(count), static_cast<size_t>(size), sizeof(int64_t)});
    const Charge table(all_bytes);
    call.host.spend(all_bytes / sizeof(int64_t));
    Ints all;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < size; ++k) all.push_back(i * step + k);
    places = p.reshape(p.constant(all), {count, size});
  } else {
    const Expr last = p.op("Sub", {p.reshape(p.shape_of(x, axis, axis + 1), Ints{}), p.scalar(static_cast<double>(size - 1), DType::i64)});
    const Expr begins = p.op("Range", {p.scalar(0, DType::i64), last, p.scalar(static_cast<double>(step), DType::i64)});
    const Charge table(product_of({static_cast<size_t>(size), sizeof(int64_t)}));
    Ints inner;
    for (int64_t k = 0; k < size; ++k) inner.push_back(k);
    places = p.op("Add", {p.unsqueeze(begins, {1}), p.constant(inner)});
  }
  const Expr y = p.gather(x, places, axis);  // [..., windows, size, ...]
  Ints perm;
  for (int64_t i = 0; i < rank + 1; ++i)
    if (i != axis + 1) perm.push_back(i);
  perm.push_back(axis + 1);
  return p.transpose(y, perm);
}

// Joining.

Item import_cat(Call& call, TypedBuilder& p) {
  const Item& list = call["tensors"];
  if (list.is(Kind::list) && list.as_list().sequence)
    return p.op("ConcatFromSequence", {p.wrap(list.as_list().sequence)}, {{"axis", call.integer("dim")}, {"new_axis", int64_t{0}}});
  Exprs inputs = call.tensors("tensors");
  // Vectors without elements are left out, as PyTorch does.
  std::erase_if(inputs, [&](const Expr& x) { return inputs.size() > 1 && p.rank(x) == 1 && p.dim(x, 0) == 0; });
  if (inputs.empty()) call.fail("nothing is joined");
  DType type = p.dtype(inputs[0]);
  for (const Expr& x : inputs) type = joined(type, p.dtype(x));
  for (Expr& x : inputs) x = p.cast(x, type);
  return p.concat(inputs, call.integer("dim"));
}
Item import_stack(Call& call, TypedBuilder& p) {
  const Item& list = call["tensors"];
  const int64_t axis = call.integer("dim");
  if (list.is(Kind::list) && list.as_list().sequence)
    return p.op("ConcatFromSequence", {p.wrap(list.as_list().sequence)}, {{"axis", axis}, {"new_axis", int64_t{1}}});
  Exprs inputs = call.tensors("tensors");
  if (inputs.empty()) call.fail("nothing is joined");
  for (Expr& x : inputs) x = p.unsqueeze(p.cast(x, p.dtype(inputs[0])), {axis});
  if (axis >= 0 || p.rank(inputs[0]) >= 0) return p.concat(inputs, axis);
  return p.concat(inputs, axis);
}
Item import_hstack(Call& call, TypedBuilder& p) {
  Exprs inputs = call.tensors("tensors");
  if (inputs.empty()) call.fail("nothing is joined");
  const std::string_view what = call.rule.target;
  int64_t axis = what == "v" ? 0 : 1;
  for (Expr& x : inputs) {
    const int64_t rank = call.rank(x);
    if (rank == 0) x = p.reshape(x, Ints{1});
    if (what == "h" && rank <= 1) axis = 0;
    if (what == "v" && rank <= 1) x = p.unsqueeze(x, {0});
    if (what == "d" && rank <= 1) x = p.unsqueeze(p.unsqueeze(x, {0}), {2});
    if (what == "d" && rank == 2) x = p.unsqueeze(x, {2});
    if (what == "c" && rank <= 1) x = p.unsqueeze(x, {1});
  }
  if (what == "d") axis = 2;
  return p.concat(inputs, axis);
}

}  // namespace minnow::torchscript
