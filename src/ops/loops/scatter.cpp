// SPDX-License-Identifier: Apache-2.0
// Elements written to places that indices name: ScatterElements, ScatterND, TensorScatter.
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/contents.h"
#include "ops/copy_region.h"
#include "ops/gradient.h"
#include "ops/indices.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kAxis{"axis", 0, "axis that the indices count along"};
constexpr Attribute<Name> kReduction{"reduction", "none", "how an update joins what is there: none (replaces), add, mul, max or min"};
constexpr Attribute<int64_t> kCacheAxis{"axis", -2, "axis of the sequence; not the first, which is the batch"};
constexpr Attribute<Name> kMode{"mode", "linear", "linear, or circular: behind the end comes the beginning"};

enum class Reduction { none, add, mul, max, min };

Reduction reduction_of(const NodeView& node) {
  const std::string_view text = node.attribute(kReduction);
  constexpr std::string_view kNames[] = {"none", "add", "mul", "max", "min"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (text == kNames[i]) return static_cast<Reduction>(i);
  node.fail("reduction is \"{}\", it should be none, add, mul, max or min", text);
}

template <class T>
T combine(Reduction reduction, T old, T update) {
  if constexpr (std::is_floating_point_v<T>)
    if ((reduction == Reduction::max || reduction == Reduction::min) && (std::isnan(old) || std::isnan(update))) return old + update;
  switch (reduction) {
    case Reduction::add:
      return static_cast<T>(static_cast<Wrapping<T>>(old) + static_cast<Wrapping<T>>(update));
    case Reduction::mul:
      return static_cast<T>(static_cast<Wrapping<T>>(old) * static_cast<Wrapping<T>>(update));
    case Reduction::max:
      return update > old ? update : old;
    case Reduction::min:
      return update < old ? update : old;
    case Reduction::none:
      break;
  }
  return update;
}

// Writes block k of the updates (input 2) over the block of data (input 0) at offsets[k].
void scatter(const NodeView& node, KernelArgs& args, const Numbers<int64_t>& offsets, int64_t block) {
  const Reduction reduction = reduction_of(node);
  const TensorView& data = args.input(0);
  const MutableTensorView y = args.output(0);
  if (y.elements() == 0) return;
  if (reduction == Reduction::none) {
    const size_t size = size_of(data.dtype()), bytes = static_cast<size_t>(block) * size;
    std::memcpy(y.data(), data.data(), data.bytes());
    const char* from = args.input(2).data<char>();
    if (bytes == 0) return;
    if (block == 1)
      return with_bits(size, [&](auto zero) {
        using T = decltype(zero);
        const T* update = args.input(2).data<T>();
        for (int64_t offset : offsets) y.data<T>()[offset] = *update++;
      });
    for (size_t k = 0; k < offsets.size(); ++k)
      std::memcpy(y.data<char>() + static_cast<size_t>(offsets[k]) * size, from + k * bytes, bytes);
    return;
  }
  with_wide(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> values = args.values<T>(0);
    const Numbers<T> updates = args.values<T>(2);
    for (size_t k = 0; k < offsets.size(); ++k)
      for (size_t i = 0; i < static_cast<size_t>(block); ++i) {
        T& value = values[static_cast<size_t>(offsets[k]) + i];
        value = combine(reduction, value, updates[k * static_cast<size_t>(block) + i]);
      }
    args.write(0, values);
  });
}

Shapes scatter_elements_shape(const NodeView& node) {
  reduction_of(node);
  check_elementwise_indices(node, node.normalize_axis(node.attribute(kAxis), node.input_sizes(0).rank()));
  const auto indices = node.known_sizes(1), updates = node.known_sizes(2);
  if (indices && updates && differ(*indices, *updates))
    node.fail("indices of shape {} and updates of shape {} should have one shape", *indices, *updates);
  return {node.input_sizes(0)};
}

void scatter_elements(const NodeView& node, KernelArgs& args) {
  scatter(node, args, elementwise_offsets(args, node.normalize_axis(node.attribute(kAxis), args.input(0).rank())), 1);
}

Shapes scatter_nd_shape(const NodeView& node) {
  reduction_of(node);
  const Sizes data = node.input_sizes(0);
  const auto indices = node.known_sizes(1), updates = node.known_sizes(2);
  if (!indices) return {data};
  if (indices->empty()) node.fail("indices should have at least one axis");
  const Size tuple = indices->back();
  if (less(static_cast<int64_t>(data.rank()), tuple))
    node.fail("indices of shape {} count along {} axes, data of shape {} has {}", *indices, tuple, data, data.rank());
  if (!updates || !tuple.is_number()) return {data};
  const size_t lead = indices->rank() - 1, depth = static_cast<size_t>(tuple.number());
  bool fits = updates->rank() == lead + data.rank() - depth;
  for (size_t i = 0; fits && i < updates->rank(); ++i) fits = !differ((*updates)[i], i < lead ? (*indices)[i] : data[i - lead + depth]);
  if (!fits) node.fail("updates of shape {} do not fit indices of shape {} into data of shape {}", *updates, *indices, data);
  return {data};
}

void scatter_nd(const NodeView& node, KernelArgs& args) {
  const Shape& data = args.input(0).shape();
  // Tuples without indices may be many and hold nothing.
  const Numbers<int64_t> offsets = args.input(2).elements() ? tuple_offsets(args, 0) : Numbers<int64_t>();
  scatter(node, args, offsets, data.product(static_cast<size_t>(args.input(1).shape().back()), data.rank()));
}

Shapes tensor_scatter_shape(const NodeView& node) {
  const Sizes cache = node.input_sizes(0);
  const size_t axis = node.normalize_axis(node.attribute(kCacheAxis), cache.rank());
  if (axis == 0) node.fail("axis 0 is that of the batch");
  const std::string_view mode = node.attribute(kMode);
  if (mode != "linear" && mode != "circular") node.fail("mode is \"{}\", it should be linear or circular", mode);
  const auto update = node.known_sizes(1);
  bool fits = !update || cache.rank() == update->rank();
  for (size_t i = 0; update && fits && i < cache.rank(); ++i)
    fits = i == axis ? !less(cache[i], (*update)[i]) : !differ((*update)[i], cache[i]);
  if (!fits) node.fail("an update of shape {} does not fit into a cache of shape {} along axis {}", *update, cache, axis);
  if (const auto indices = node.known_sizes(2); indices && differ(*indices, Sizes{cache[0]}))
    node.fail("write_indices of shape {} should hold {} numbers, one a sample", *indices, cache[0]);
  return {cache};
}

void tensor_scatter(const NodeView& node, KernelArgs& args) {
  const TensorView &cache = args.input(0), &update = args.input(1);
  const MutableTensorView y = args.output(0);
  const size_t axis = node.normalize_axis(node.attribute(kCacheAxis), cache.rank());
  const bool circular = node.attribute(kMode) == "circular";
  const int64_t length = cache.dim(axis), steps = update.dim(axis);
  if (cache.elements() == 0) return;
  const Numbers<int64_t> first = args.has_input(2) ? args.ints(2) : Numbers<int64_t>(static_cast<size_t>(cache.dim(0)), 0);
  std::memcpy(y.data(), cache.data(), cache.bytes());
  const size_t block = static_cast<size_t>(cache.shape().product(axis + 1, cache.rank())) * size_of(cache.dtype());
  const int64_t outer = cache.shape().product(1, axis);
  const char* from = update.data<char>();
  char* to = y.data<char>();
  for (int64_t sample = 0; sample < cache.dim(0); ++sample) {
    int64_t start = first[static_cast<size_t>(sample)];
    if (circular)
      start = (start % length + length) % length;
    else if (start < 0 || start > length - steps)
      args.fail("sample {} is written at {}, {} steps of an axis of {} do not fit there", sample, start, steps, length);
    for (int64_t o = 0; o < outer; ++o, to += static_cast<size_t>(length) * block)
      for (int64_t i = 0; i < steps; ++i, from += block) std::memcpy(to + static_cast<size_t>((start + i) % length) * block, from, block);
  }
}

#if MINNOW_GRADIENTS
/// Elements that were written over have no gradient; with reduction = add all have one.
template <bool kElements>
Exprs scatter_gradient(const GradientContext& c) {
  const std::string_view reduction = c.node.attribute(kReduction);
  if (reduction != "none" && reduction != "add")
    throw Unsupported("{}: there is no gradient with reduction = {}", c.node.where(), reduction);
  const Expr& g = c.output_gradient(0);
  Exprs made(3);
  Attributes axis;
  if (kElements) axis.set("axis", c.node.attribute(kAxis));
  if (c.wants(0)) made[0] = reduction == "add" ? g : c.builder.op(c.node.op(), {g, c.input(1), c.zeros_like(2)}, axis);
  if (c.wants(2)) made[2] = c.builder.op(kElements ? "GatherElements" : "GatherND", {g, c.input(1)}, axis);
  return made;
}

/// Elements that were written over have no gradient. An update's is read from where the operator puts the numbers of its places.
Exprs tensor_scatter_gradient(const GradientContext& c) {
  if (!c.know_shapes())
    throw Unsupported("{}: the gradient of TensorScatter needs the shapes of its inputs before the run", c.node.where());
  GraphBuilder& b = c.builder;
  const Expr& g = c.output_gradient(0);
  const Expr where = c.has_input(2) ? c.input(2) : Expr();
  Exprs made(c.inputs.size());
  if (c.wants(0)) made[0] = b.op("TensorScatter", {g, c.zeros_like(1), where}, c.node.node().attributes);
  if (!c.wants(1)) return made;
  // The places that are not written have the number behind the last update.
  const int64_t updates = c.node.input_shape(1).elements();
  const Shape& cache = c.node.input_shape(0);
  Tensor none(DType::i64, cache), numbers(DType::i64, c.node.input_shape(1));
  std::fill_n(none.writable().data<int64_t>(), cache.elements(), updates);
  std::iota(numbers.writable().data<int64_t>(), numbers.writable().data<int64_t>() + updates, int64_t{0});
  const Expr places = b.op("TensorScatter", {b.constant(std::move(none)), b.constant(std::move(numbers)), where}, c.node.node().attributes);
  const Expr flat = b.constant({int64_t{-1}});
  const Expr zeros = b.constant(Tensor(c.node.input_dtype(0), Shape{updates + 1}));
  const Expr sums = b.op("ScatterElements", {zeros, b.op("Reshape", {places, flat}), b.op("Reshape", {g, flat})},
                         {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  made[1] = c.shaped_like(b.op("Slice", {sums, b.constant({int64_t{0}}), b.constant({updates})}), 1);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "ScatterElements",
       .since = 18,
       .doc = MINNOW_DOC("data, with updates[p] written to the place p whose coordinate along `axis` is indices[p]. If several updates "
                         "name one place, the last one stays, or `reduction` joins all."),
       .inputs = {{"data"}, {"indices", kIndex}, {.name = "updates", .like = "data"}},
       .outputs = {{"output", same_as("data")}},
       .attributes = {kAxis, kReduction},
       .infer_shapes = scatter_elements_shape,
       .infer_contents = move_contents,
       .reference = scatter_elements,
       .gradient = MINNOW_GRADIENT(scatter_gradient<true>)},
      {.name = "ScatterND",
       .since = 18,
       .doc = MINNOW_DOC("data, with each slice of `updates` written to the place that a tuple along the last axis of `indices` names. If "
                         "several updates name one place, the last one stays, or `reduction` joins all."),
       .inputs = {{"data"}, {"indices", kI64}, {.name = "updates", .like = "data"}},
       .outputs = {{"output", same_as("data")}},
       .attributes = {kReduction},
       .infer_shapes = scatter_nd_shape,
       .infer_contents = move_contents,
       .reference = scatter_nd,
       .gradient = MINNOW_GRADIENT(scatter_gradient<false>)},
      {.name = "TensorScatter",
       .since = 24,
       .doc = MINNOW_DOC("A cache of sequences, with `update` written along `axis` from write_indices[b] on, for each sample b."),
       .inputs = {{"past_cache"}, {.name = "update", .like = "past_cache"}, {"write_indices", kI64, kOptional}},
       .outputs = {{"present_cache", same_as("past_cache")}},
       .attributes = {kCacheAxis, kMode},
       .infer_shapes = tensor_scatter_shape,
       .reference = tensor_scatter,
       .gradient = MINNOW_GRADIENT(tensor_scatter_gradient)},
  };
}

}  // namespace

std::span<const Operator> scatter_operators() { return operator_table<definitions>(); }

}  // namespace minnow
