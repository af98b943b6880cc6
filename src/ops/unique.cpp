// SPDX-License-Identifier: Apache-2.0
// Unique: the different elements, or slices, of a tensor.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/memory.h"
#include "base/sort.h"
#include "ops/copy_region.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kAxis =
    optional("axis", AttributeKind::integer, "axis along which slices are compared; single elements by default");
constexpr Attribute<bool> kSorted{"sorted", true, "in ascending order, else in order of first appearance"};

// The tensor as `count` slices of `length` elements, `inner` of which lie side by side.
struct Slices {
  Shape shape;  // the input's, or flat
  size_t axis;
  int64_t count, length;
};

Slices slices_of(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const int64_t* axis = node.find<int64_t>("axis");
  if (!axis) return {Shape{x.elements()}, 0, x.elements(), 1};
  const size_t a = node.normalize_axis(*axis, x.rank());
  Shape rest = x;
  rest.erase(a);
  return {x, a, x[a], rest.elements()};
}

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  const int64_t* given = node.find<int64_t>("axis");
  const size_t axis = given ? node.normalize_axis(*given, x.rank()) : 0;
  const Sizes shape = given ? x : Sizes{x.elements()}, list{shape[axis]};
  return {OutputShape::upper_bound(shape, axis), OutputShape::upper_bound(list), list, OutputShape::upper_bound(list)};
}

template <class T>
int compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);  // all NaNs are one, behind the numbers
  return (a > b) - (a < b);
}

// Integers less the lowest of them, each above its place; nothing where 32 bits are too few.
template <class T>
Numbers<uint64_t> keys_of(const Numbers<T>& values) {
  Numbers<uint64_t> keys;
  if constexpr (std::is_integral_v<T>) {
    if (values.empty() || values.size() >> 16 >> 16) return keys;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const uint64_t lowest = static_cast<uint64_t>(*low);
    if ((static_cast<uint64_t>(*high) - lowest) >> 32) return keys;
    keys.reserve(values.size());
    for (const T value : values) keys.push_back((static_cast<uint64_t>(value) - lowest) << 32 | keys.size());
  }
  return keys;
}

// Order of the slices: by value, equal ones by place.
template <class T>
Numbers<int64_t> sorted_order(const Numbers<T>& values, const Slices& slices, std::vector<bool>& starts_group) {
  const int64_t inner = slices.shape.product(slices.axis + 1, slices.shape.rank()), n = slices.count;
  Pace pace;
  const auto order_of = [&](int64_t a, int64_t b) {
    pace.step(8);
    for (int64_t k = 0; k < slices.length; ++k) {
      pace.step();
      const int64_t base = k / inner * n * inner + k % inner;
      const int order = compare(values[static_cast<size_t>(base + a * inner)], values[static_cast<size_t>(base + b * inner)]);
      if (order != 0) return order;
    }
    return 0;
  };
  Numbers<int64_t> order(static_cast<size_t>(n));
  starts_group.assign(order.size(), true);
  if (slices.length == 1) {
    if (Numbers<uint64_t> keys = keys_of(values); !keys.empty()) {
      sort_numbers(keys);
      for (size_t i = 0; i < keys.size(); ++i) {
        order[i] = static_cast<int64_t>(keys[i] & 0xffffffffu);
        starts_group[i] = i == 0 || keys[i] >> 32 != keys[i - 1] >> 32;
      }
      return order;
    }
  }
  std::iota(order.begin(), order.end(), int64_t{0});
  sort_indices(order, [&](size_t a, size_t b) { return order_of(static_cast<int64_t>(a), static_cast<int64_t>(b)) < 0; });
  for (size_t i = 1; i < order.size(); ++i) starts_group[i] = order_of(order[i - 1], order[i]) != 0;
  return order;
}

void reference(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const Slices slices = slices_of(node);
  check_memory(static_cast<size_t>(slices.count) * 4 * sizeof(int64_t), "the list of slices");  // also where they are empty
  std::vector<bool> starts_group;
  Numbers<int64_t> order;
  with_wide(x.dtype(), [&](auto zero) { order = sorted_order(args.values<decltype(zero)>(0), slices, starts_group); });
  struct Group {
    int64_t first, count, rank;
  };
  std::vector<Group> groups;
  Numbers<int64_t> group_of(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (starts_group[i]) groups.push_back({order[i], 0, static_cast<int64_t>(groups.size())});
    ++groups.back().count;
    group_of[static_cast<size_t>(order[i])] = groups.back().rank;
  }
  if (!node.attribute(kSorted)) {  // in order of appearance
    std::vector<Group> appearing;
    for (size_t i = 0; i < order.size(); ++i) {
      const Group& group = groups[static_cast<size_t>(group_of[i])];
      if (group.first == static_cast<int64_t>(i)) appearing.push_back(group);
    }
    groups = std::move(appearing);
  }
  Numbers<int64_t> place_of(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) place_of[static_cast<size_t>(groups[i].rank)] = static_cast<int64_t>(i);

  const int64_t found = static_cast<int64_t>(groups.size());
  if (args.has_output(0)) {
    Shape shape = slices.shape;
    shape[slices.axis] = found;
    const MutableTensorView y = args.allocate_output(0, shape);
    const size_t size = size_of(x.dtype());
    const Ints from = row_major_strides(slices.shape), to = row_major_strides(shape);
    Shape one = shape;
    one[slices.axis] = 1;
    for (size_t i = 0; i < groups.size(); ++i)
      copy_region(size, one, x.data<char>() + static_cast<size_t>(groups[i].first * from[slices.axis]) * size, from,
                  y.data<char>() + i * static_cast<size_t>(to[slices.axis]) * size, to);
  }
  if (args.has_output(1)) {
    int64_t* first = args.allocate_output(1, {found}).data<int64_t>();
    for (const Group& group : groups) *first++ = group.first;
  }
  if (args.has_output(2)) {
    int64_t* inverse = args.output(2).data<int64_t>();
    for (int64_t group : group_of) *inverse++ = place_of[static_cast<size_t>(group)];
  }
  if (args.has_output(3)) {
    int64_t* counts = args.allocate_output(3, {found}).data<int64_t>();
    for (const Group& group : groups) *counts++ = group.count;
  }
}

constexpr List<Operator> definitions() {
  return {
      {.name = "Unique",
       .since = 11,
       .doc = MINNOW_DOC("The different elements, or slices along `axis`; where each first appears; for each of the input which one it is; "
                         "and how often each appears. NaNs are equal to each other and come last."),
       .inputs = {{"X"}},
       .outputs = {{"Y", same_as("X")},
                   {"indices", fixed(DType::i64), kOptional},
                   {"inverse_indices", fixed(DType::i64), kOptional},
                   {"counts", fixed(DType::i64), kOptional}},
       .attributes = {kAxis, kSorted},
       .infer_shapes = infer,
       .reference = reference}};
}

}  // namespace

std::span<const Operator> unique_operators() { return operator_table<definitions>(); }

}  // namespace minnow
