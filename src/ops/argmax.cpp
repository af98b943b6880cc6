// SPDX-License-Identifier: Apache-2.0
// The indices of the largest or smallest elements along an axis: ArgMax, ArgMin, TopK.
#include <cmath>

#include "base/sort.h"
#include "ops/batch.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kArgAxis{"axis", 0, MINNOW_DOC("the axis that is searched; negative counts from the last")};
constexpr Attribute<bool> kKeepDims{"keepdims", true, MINNOW_DOC("the searched dimension stays, with size 1")};
constexpr Attribute<bool> kSelectLast{"select_last_index", false, MINNOW_DOC("of equals the last, not the first")};
constexpr Attribute<int64_t> kTopAxis{"axis", -1, MINNOW_DOC("the axis that is searched; negative counts from the last")};
constexpr Attribute<bool> kLargest{"largest", true, MINNOW_DOC("the largest elements, not the smallest")};
constexpr Attribute<bool> kSorted{"sorted", true, MINNOW_DOC("the result is in order; it always is")};

/// a before b in rising order; NaN is beyond every number.
template <class T>
bool less(T a, T b) {
  return a < b || (b != b && a == a);
}

Shapes arg_shape(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  const size_t axis = node.normalize_axis(node.attribute(kArgAxis), shape.rank());
  const bool is_empty = shape[axis].is(0);
  if (node.attribute(kKeepDims))
    shape[axis] = 1;
  else
    shape.erase(axis);
  if (is_empty && less(0, shape.elements())) node.fail("axis {} of shape {} has no elements to choose from", axis, node.input_sizes(0));
  return {shape};
}

template <bool kIsMax>
void arg(const NodeView& node, KernelArgs& args) {
  const Shape& shape = args.input(0).shape();
  const AxisLines lines(shape, node.normalize_axis(node.attribute(kArgAxis), shape.rank()));
  const bool last = node.attribute(kSelectLast);
  int64_t* y = args.output(0).data<int64_t>();
  with_wide(args.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Numbers<T> x = args.values<T>(0);
    lines.for_each([&](int64_t first, int64_t line) {
      const T* at = x.data() + first;
      int64_t best = 0;
      for (int64_t k = 1; k < lines.length; ++k) {
        const T value = at[k * lines.inner], champion = at[best * lines.inner];
        if (champion != champion && value == value) continue;  // NaN wins over every number, as NumPy has it
        const bool better = value != value ? champion == champion : kIsMax ? value > champion : value < champion;
        const bool equal = value == champion || (value != value && champion != champion);
        if (better || (last && equal)) best = k;
      }
      y[line] = best;
    });
  });
}

Shapes top_shapes(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  const size_t axis = node.normalize_axis(node.attribute(kTopAxis), shape.rank());
  const Size k = node.size_scalar(1);
  if (less(k, 0) || less(shape[axis], k)) node.fail("{} elements are asked for, axis {} of shape {} has {}", k, axis, shape, shape[axis]);
  shape[axis] = k;
  return {shape, shape};
}

void top(const NodeView& node, KernelArgs& args) {
  const Shape& shape = args.input(0).shape();
  const size_t axis = node.normalize_axis(node.attribute(kTopAxis), shape.rank());
  const AxisLines lines(shape, axis);
  const bool largest = node.attribute(kLargest);
  const int64_t count = args.ints(1)[0];
  const size_t inner = static_cast<size_t>(lines.inner);
  Numbers<size_t> order(static_cast<size_t>(lines.length));
  Numbers<int64_t> indices(static_cast<size_t>(count * lines.outer * lines.inner));
  with_wide(args.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Numbers<T> x = args.values<T>(0);
    Numbers<T> values(indices.size());
    Pace pace;
    lines.for_each([&](int64_t first, int64_t line) {
      const T* at = x.data() + first;
      for (size_t k = 0; k < order.size(); ++k) order[k] = k;
      sort_first(order, static_cast<size_t>(count), [&](size_t a, size_t b) {
        pace.step();
        const T p = at[a * inner], q = at[b * inner];
        if (largest ? less(q, p) : less(p, q)) return true;
        if (largest ? less(p, q) : less(q, p)) return false;
        return a < b;
      });
      const int64_t to = line / lines.inner * count * lines.inner + line % lines.inner;
      for (int64_t k = 0; k < count; ++k) {
        indices[static_cast<size_t>(to + k * lines.inner)] = static_cast<int64_t>(order[static_cast<size_t>(k)]);
        values[static_cast<size_t>(to + k * lines.inner)] = at[order[static_cast<size_t>(k)] * inner];
      }
    });
    if (args.has_output(0)) args.write(0, values);
  });
  if (args.has_output(1)) args.write(1, indices);
}

constexpr Operator row(Name name, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&)) {
  return {.name = name,
          .since = 13,
          .doc = doc,
          .inputs = {{"data", kNumeric}},
          .outputs = {{"reduced", fixed(DType::i64)}},
          .attributes = {kArgAxis, kKeepDims, kSelectLast},
          .infer_shapes = arg_shape,
          .reference = reference,
          .batch = batch_apart_off_axis,
          .axes = kAxisAttribute};
}

#if MINNOW_GRADIENTS
Exprs top_k_gradient(const GradientContext& c) {
  const int64_t* axis = c.node.find<int64_t>("axis");
  return {c.builder.op("ScatterElements", {c.zeros_like(0), c.output(1), c.output_gradient(0)},
                       {{"axis", axis ? *axis : int64_t{-1}}, {"reduction", std::string("add")}}),
          Expr()};
}
#endif

constexpr List<Operator> definitions() {
  return {
      row("ArgMax",
          MINNOW_DOC("The place of the largest element along the axis: of equals the first or the last; NaN counts as the largest."),
          arg<true>),
      row("ArgMin",
          MINNOW_DOC("The place of the smallest element along the axis: of equals the first or the last; NaN counts as the smallest."),
          arg<false>),
      {.name = "TopK",
       .since = 24,
       .doc = MINNOW_DOC("The K largest (or smallest) elements along the axis in order, and their places there; of equals the first comes "
                         "first, and NaN counts as the largest."),
       .inputs = {{"X", kNumeric}, {"K", kI64}},
       .outputs = {{"Values", same_as("X")}, {"Indices", fixed(DType::i64)}},
       .attributes = {kTopAxis, kLargest, kSorted},
       .infer_shapes = top_shapes,
       .reference = top,
       .gradient = MINNOW_GRADIENT(top_k_gradient),
       .batch = batch_apart_off_axis},
  };
}

}  // namespace

std::span<const Operator> argmax_operators() { return operator_table<definitions>(); }

}  // namespace minnow
