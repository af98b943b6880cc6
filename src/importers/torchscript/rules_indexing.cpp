// SPDX-License-Identifier: Apache-2.0
// Gathering, scattering, sorting.
#include <algorithm>

#include "importers/torchscript/rules.h"

#include "importers/builder/arithmetic.h"
#include "importers/builder/indexing.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

namespace {

Expr indices_of(Call& call, std::string_view name) {
  const Expr index = call.x(name);
  call.host.expect_integers(index);
  return call.p.i64(index);
}

}  // namespace

Item import_gather(Call& call, TypedBuilder& p) {
  return p.op("GatherElements", {call.x("self"), indices_of(call, "index")}, {{"axis", call.integer("dim")}});
}
Item import_index_select(Call& call, TypedBuilder& p) {
  const Expr index = indices_of(call, "index");
  return p.gather(call.x("self"), p.rank(index) == 0 ? p.reshape(index, Ints{1}) : index, call.integer("dim"));
}
Item import_take(Call& call, TypedBuilder& p) { return p.gather(p.vector(call.x("self")), indices_of(call, "index"), 0); }
Item import_scatter(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self"), index = indices_of(call, "index");
  Expr source;
  const std::string_view from = call.takes("src") ? "src" : "value";
  if (call[from].is(Kind::tensor) && p.rank(call.x(from)) > 0) {
    source = p.cast(call.x(from), p.dtype(x));
    // Use only the elements that the indices cover.
    const int64_t rank = call.rank(index);
    const auto a = p.shape(source), b = p.shape(index);
    if (!a || !b || *a != *b)
      for (int64_t axis = 0; axis < rank; ++axis)
        source = p.op("Slice", {source, p.constant({0}), p.shape_of(index, axis, axis + 1), p.constant({axis})});
  } else {
    source = p.op("Expand", {p.cast(call.x(from), p.dtype(x)), p.shape_of(index)});
  }
  Attributes attributes{{"axis", call.integer("dim")}};
  std::string how(call.rule.target);
  if (call.takes("reduce")) {
    const std::string& reduce = call.text("reduce");
    how = reduce == "sum" || reduce == "add"         ? "add"
          : reduce == "prod" || reduce == "multiply" ? "mul"
          : reduce == "amax"                         ? "max"
          : reduce == "amin"                         ? "min"
                                                     : "";
    if (how.empty()) call.refuse("values that meet are joined by \"{}\"", reduce);
    if (call.takes("include_self") && !call.flag("include_self")) call.refuse("values that are joined without the one that is there");
  }
  if (!how.empty()) attributes.set("reduction", how);
  return p.op("ScatterElements", {x, index, source}, std::move(attributes));
}
Item import_index_add(Call& call, TypedBuilder& p) {
  // As scattering of whole slices: the dimension goes to the front.
  const Expr x = call.x("self"), index = indices_of(call, "index");
  const std::string_view what = call.rule.target;
  const int64_t rank = call.rank(x), axis = call.axis("dim", rank);
  Ints perm = {axis};
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) perm.push_back(i);
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  const Expr rows = p.transpose(x, perm);
  Expr source;
  if (what == "fill") {
    const Expr shape = rank > 1 ? p.concat({p.shape_of(index), p.shape_of(rows, 1)}, 0) : p.shape_of(index);
    source = p.op("Expand", {p.cast(call.tensor(call["value"]), p.dtype(x)), shape});
  } else {
    source = p.transpose(p.cast(call.x("source"), p.dtype(x)), perm);
    if (call.takes("alpha") && call.real("alpha") != 1) source = p.op("Mul", {source, scalar_like(call, call.real("alpha"), x)});
  }
  Attributes attributes;
  if (what == "add") attributes.set("reduction", std::string("add"));
  return p.transpose(p.op("ScatterND", {rows, p.unsqueeze(index, {1}), source}, std::move(attributes)), back);
}
namespace {

/// x[i, :, j] with tensors for some dimensions: moves these dimensions to the front and gathers the indexed elements.
struct Indexing {
  Ints perm;     // dimensions with indices first
  Expr indices;  // [broadcast..., count]
  int64_t count = 0, broadcast_rank = 0;
  int64_t first = 0;  // where the result's dimensions belong
  bool in_front = false;
};

Expr nonzero_places(TypedBuilder& p, const Expr& mask) { return p.transpose(p.op("NonZero", {mask}), {1, 0}); }

/// The broadcast dimensions of tensors, as far as they are known.
std::vector<Dim> broadcast_dims(TypedBuilder& p, const Exprs& parts, int64_t rank) {
  std::vector<Dim> dims(static_cast<size_t>(rank), Dim{1, {}});
  for (const Expr& part : parts) {
    const int64_t own = p.rank(part);
    for (int64_t i = 0; i < own; ++i) {
      Dim& dim = dims[static_cast<size_t>(rank - own + i)];
      const int64_t size = p.dim(part, i);
      if (size == 1 || (dim.known() && dim.size != 1)) continue;
      if (size >= 0)
        dim = Dim{size, {}};
      else if (const Dim& open = (*part.value()->type.dims)[static_cast<size_t>(i)]; dim.known() || dim == open)
        dim = open;
      else
        dim = Dim{};
    }
  }
  return dims;
}

Indexing indexing_of(Call& call, TypedBuilder& p, const Expr& x) {
  const Items& given = call.items("indices");
  int64_t rank = call.rank(x);
  Indexing made;
  Exprs parts;
  Ints axes;
  int64_t axis = 0;
  for (const Item& item : given) {
    if (item.is_none()) {
      ++axis;
      continue;
    }
    Expr index = call.tensor(item);
    if (p.dtype(index) == DType::boolean || p.dtype(index) == DType::u8) {
      const int64_t dims = call.rank(index);
      const Expr places = p.op("NonZero", {p.cast(index, DType::boolean)});  // [dims, n]
      for (int64_t i = 0; i < dims; ++i) {
        parts.push_back(p.gather(places, p.scalar(static_cast<double>(i), DType::i64), 0));
        axes.push_back(axis++);
      }
      continue;
    }
    call.host.expect_integers(index);
    parts.push_back(p.i64(index));
    axes.push_back(axis++);
  }
  if (parts.empty()) call.refuse("an index without tensors");
  if (axis > rank) call.fail("{} indices into a tensor of {} dimensions", axis, rank);
  int64_t broadcast = 0;
  for (const Expr& part : parts) broadcast = std::max(broadcast, call.rank(part));
  Expr shape = p.shape_of(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    const Expr other = p.shape_of(parts[i]);
    const auto a = p.ints(shape), b = p.ints(other);
    if (!(a && b && *a == *b)) shape = broadcast_shapes(p, shape, other);
  }
  Exprs columns;
  const std::vector<Dim> dims = broadcast_dims(p, parts, broadcast);
  for (const Expr& part : parts) {
    const auto a = p.shape(part), b = p.ints(shape);
    const Expr spread = parts.size() == 1 || (a && b && *a == *b) ? part : p.op("Expand", {part, shape});
    if (spread.value() != part.value() && spread.value()->producer()) spread.value()->type.dims = dims;
    columns.push_back(p.unsqueeze(spread, {broadcast}));
  }
  made.indices = p.concat(columns, broadcast);
  made.count = static_cast<int64_t>(parts.size());
  made.broadcast_rank = broadcast;
  made.perm = axes;
  for (int64_t i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) made.perm.push_back(i);
  // The dimensions of adjacent indices stay in their place; those of others move to the front.
  bool together = true;
  for (size_t i = 1; i < axes.size(); ++i) together = together && axes[i] == axes[i - 1] + 1;
  made.first = together ? axes[0] : 0;
  return made;
}

}  // namespace
Item import_index(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Items& given = call.items("indices");
  // A single tensor of integers is a Gather.
  int64_t only = -1, count = 0;
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i].is_none()) only = static_cast<int64_t>(i), ++count;
  if (count == 1) {
    const Expr index = call.tensor(given[static_cast<size_t>(only)]);
    const DType type = p.dtype(index);
    if (type != DType::boolean && type != DType::u8) {
      call.host.expect_integers(index);
      return p.gather(x, p.i64(index), only);
    }
  }
  const int64_t rank = call.rank(x);
  const Indexing indexing = indexing_of(call, p, x);
  Expr y = p.op("GatherND", {p.transpose(x, indexing.perm), indexing.indices});
  const int64_t rest = rank - indexing.count, front = indexing.broadcast_rank;
  if (indexing.first == 0 || rest == 0) return y;
  // [indices..., rest...] -> [rest before, indices..., rest behind]
  Ints perm;
  for (int64_t i = 0; i < indexing.first; ++i) perm.push_back(front + i);
  for (int64_t i = 0; i < front; ++i) perm.push_back(i);
  for (int64_t i = indexing.first; i < rest; ++i) perm.push_back(front + i);
  return p.transpose(y, perm);
}
Item import_index_put(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t rank = call.rank(x);
  const Indexing indexing = indexing_of(call, p, x);
  const Expr rows = p.transpose(x, indexing.perm);
  Expr values = p.cast(call.x("values"), p.dtype(x));
  const int64_t rest = rank - indexing.count, front = indexing.broadcast_rank;
  const Expr wanted = p.concat({p.shape_of(indexing.indices, 0, front), p.shape_of(rows, indexing.count)}, 0);
  if (indexing.first != 0 && rest != 0) {
    // Values stand as the result of indexing does: turned to have the indices first.
    Ints order, back(static_cast<size_t>(front + rest));
    for (int64_t i = 0; i < indexing.first; ++i) order.push_back(front + i);
    for (int64_t i = 0; i < front; ++i) order.push_back(i);
    for (int64_t i = indexing.first; i < rest; ++i) order.push_back(front + i);
    const Expr shape = p.gather(wanted, p.constant(order), 0);
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    values = p.transpose(p.op("Expand", {values, shape}), back);
  } else {
    values = p.op("Expand", {values, wanted});
  }
  Attributes attributes;
  if (call.flag("accumulate")) attributes.set("reduction", std::string("add"));
  const Expr y = p.op("ScatterND", {rows, indexing.indices, values}, std::move(attributes));
  Ints back(indexing.perm.size());
  for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>(indexing.perm[i])] = static_cast<int64_t>(i);
  return p.transpose(y, back);
}
Item import_masked_select(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self"), mask = p.cast(call.x("mask"), DType::boolean);
  const auto a = p.shape(x), b = p.shape(mask);
  const bool same = a && b && *a == *b;
  const Expr shape = same ? Expr() : broadcast_shapes(p, p.shape_of(x), p.shape_of(mask));
  const Expr data = same ? x : p.op("Expand", {x, shape}), chosen = same ? mask : p.op("Expand", {mask, shape});
  return p.op("Compress", {p.vector(data), p.vector(chosen)}, {{"axis", int64_t{0}}});
}
Item import_masked_scatter(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Expr mask = p.op("Expand", {p.cast(call.x("mask"), DType::boolean), p.shape_of(x)});
  const Expr places = nonzero_places(p, p.vector(mask));
  const Expr count = p.shape_of(places, 0, 1);
  const Expr values = p.op("Slice", {p.vector(p.cast(call.x("source"), p.dtype(x))), p.constant({0}), count, p.constant({0})});
  return p.reshape(p.op("ScatterND", {p.vector(x), places, values}), p.shape_of(x));
}
Item import_nonzero(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Expr places = p.op("NonZero", {x});
  if (call.rule.target != "tuple") return p.transpose(places, {1, 0});
  Items items;
  for (int64_t i = 0; i < call.rank(x); ++i) items.push_back(Item(p.gather(places, p.scalar(static_cast<double>(i), DType::i64), 0)));
  return Item::list(std::move(items));
}
Item import_topk(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.ops("TopK", {x, call.one(call["k"])}, 2,
               {{"axis", call.integer("dim")}, {"largest", int64_t{call.flag("largest")}}, {"sorted", int64_t{1}}});
}
Item import_sort(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  const DType type = p.dtype(x);
  if (type == DType::boolean) x = p.cast(x, DType::i32);
  int64_t axis = call.integer("dim");
  if (call.rank(x) == 0) return Exprs{x, p.scalar(0, DType::i64)};
  axis = call.axis_of(axis, call.rank(x));
  const Exprs both = p.ops("TopK", {x, p.shape_of(x, axis, axis + 1)}, 2,
                           {{"axis", axis}, {"largest", int64_t{call.flag("descending")}}, {"sorted", int64_t{1}}});
  if (call.rule.target == "places") return both[1];
  return Exprs{p.cast(both[0], type), both[1]};
}
Item import_msort(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.ops("TopK", {x, p.shape_of(x, 0, 1)}, 2, {{"axis", int64_t{0}}, {"largest", int64_t{0}}, {"sorted", int64_t{1}}})[0];
}
Item import_kthvalue(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t axis = call.axis("dim", call.rank(x));
  const int64_t size = p.dim(x, axis);
  const bool median = call.rule.target == "median";
  if (median && size < 0) call.refuse("the median of a dimension of open size");
  const int64_t k = median ? (size + 1) / 2 : call.integer("k");
  const Exprs both = p.ops("TopK", {x, p.constant({k})}, 2, {{"axis", axis}, {"largest", int64_t{0}}, {"sorted", int64_t{1}}});
  Exprs results;
  for (const Expr& each : both) {
    const Expr last = p.slice(each, {-1}, {kEnd}, {axis});
    results.push_back(call.flag("keepdim") ? last : p.squeeze(last, {axis}));
  }
  return results;
}
Item import_median(Call& call, TypedBuilder& p) {
  const Expr x = p.vector(call.x("self"));
  const int64_t size = p.dim(x, 0);
  if (size < 1) call.refuse("the median of a tensor of open size");
  const Exprs both =
      p.ops("TopK", {x, p.constant({(size + 1) / 2})}, 2, {{"axis", int64_t{0}}, {"largest", int64_t{0}}, {"sorted", int64_t{1}}});
  return p.reshape(p.slice(both[0], {-1}, {kEnd}, {0}), Ints{});
}
Item import_unique(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  Attributes attributes{{"sorted", int64_t{1}}};
  if (call.takes("dim") && call.has("dim")) attributes.set("axis", call.integer("dim"));
  const Exprs all = p.ops("Unique", {x}, 4, std::move(attributes));
  Exprs results = {all[0]};
  Expr inverse = all[2];
  if (!call.takes("dim")) inverse = p.reshape(inverse, p.shape_of(x));
  results.push_back(inverse);
  if (call.takes("return_counts")) results.push_back(all[3]);
  return results;
}
Item import_one_hot(Call& call, TypedBuilder& p) {
  const Expr index = indices_of(call, "self");
  const int64_t classes = call.integer("num_classes");
  if (classes < 1) call.refuse("a number of classes that only data tell");
  return one_hot(p, index, p.constant({classes}), p.scalar(1, DType::i64), p.scalar(0, DType::i64), -1);
}
Item import_bucketize(Call& call, TypedBuilder& p) {
  // How many boundaries lie below each value.
  const bool search = call.rule.target == "search";
  const Expr bounds = call.x(search ? "sorted_sequence" : "boundaries");
  const Expr x = p.unsqueeze(call.x("self"), {-1});
  if (call.rank(bounds) != 1) call.refuse("boundaries of several dimensions");
  const auto [a, b] = promoted(call, Item(bounds), Item(x));
  const Expr below = p.op(call.flag("right") ? "LessOrEqual" : "Less", {a, b});
  return p.op("ReduceSum", {p.cast(below, DType::i64), p.constant({-1})}, {{"keepdims", int64_t{0}}});
}
Item import_isin(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["elements"], call["test_elements"]);
  const Expr same = p.op("Equal", {p.unsqueeze(a, {-1}), p.vector(b)});
  const Expr found = p.cast(p.op("ReduceMax", {p.cast(same, DType::i32), p.constant({-1})}, {{"keepdims", int64_t{0}}}), DType::boolean);
  return call.flag("invert") ? p.op("Not", {found}) : found;
}

}  // namespace minnow::torchscript
