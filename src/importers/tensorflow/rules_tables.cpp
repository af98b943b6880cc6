// SPDX-License-Identifier: Apache-2.0
// Lookups in tables of constants. Keys that lie close together index a tensor; others are found by halving a sorted one.
#include <algorithm>
#include <numeric>

#include "base/numeric.h"
#include "importers/tensorflow/rules.h"

namespace minnow::tensorflow {
namespace {

/// Row `places[i]` of `from` for each i; `missing` if it is negative.
Tensor chosen(const Tensor& from, const Ints& places, const Tensor& missing) {
  const size_t size = size_of(from.dtype());
  Tensor rows(from.dtype(), {static_cast<int64_t>(places.size())});
  char* to = static_cast<char*>(rows.writable().data());
  for (int64_t place : places) {
    std::copy_n(
        static_cast<const char*>(place < 0 ? missing.data() : from.data()) + static_cast<size_t>(std::max<int64_t>(place, 0)) * size, size,
        to);
    to += size;
  }
  return rows;
}

Ints integers_of(const Tensor& tensor) {
  Ints numbers(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), numbers.size(), numbers.data());
  return numbers;
}

}  // namespace

Exprs table_find(TfNode& node, TypedBuilder& p) {
  const Table table = node.host.table(node, node.input(0));
  const Ints keys = integers_of(table.keys);
  const Expr x = p.i64(node.input(1)), other = node.input(2);
  if (p.dtype(other) != table.values.dtype())
    node.fail("the default is {}, the table's values are {}", p.dtype(other), table.values.dtype());
  if (keys.empty()) return {p.op("Expand", {other, p.shape_of(x)})};
  Ints order(keys.size());  // places by keys
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  const auto key = [&](size_t i) { return keys[static_cast<size_t>(order[i])]; };
  const int64_t count = static_cast<int64_t>(keys.size()), first = key(0), last = key(keys.size() - 1);
  const auto number = [&](int64_t value) { return p.reshape(p.constant({value}), Ints{}); };
  constexpr int64_t kFar = int64_t{1} << 62;
  const Tensor* missing = other.value()->constant();
  if (missing && missing->elements() == 1 && first > -kFar && last < kFar && last - first < 4 * count + 64) {
    // The values of all keys from first to last, with one more place at each end for keys outside of this range.
    Ints places(static_cast<size_t>(last - first + 3), -1);
    for (int64_t place : order) places[static_cast<size_t>(keys[static_cast<size_t>(place)] - first + 1)] = place;
    const Expr within = p.op("Min", {p.op("Max", {x, number(first - 1)}), number(last + 1)});
    return {p.gather(p.constant(chosen(table.values, places, *missing)), p.op("Sub", {within, number(first - 1)}), 0)};
  }
  // Find the last key that is not above x, or the first key. The places after the keys hold INT64_MAX.
  size_t width = 1;
  while (width < keys.size()) width *= 2;
  Ints sorted(width, INT64_MAX), places(width, order.back());
  for (size_t i = 0; i < keys.size(); ++i) sorted[i] = key(i), places[i] = order[i];
  const Expr among = p.constant(sorted);
  Expr at = p.op("Mul", {x, number(0)});
  for (size_t step = width / 2; step > 0; step /= 2) {
    const Expr next = p.op("Add", {at, number(static_cast<int64_t>(step))});
    at = p.op("Where", {p.op("LessOrEqual", {p.gather(among, next, 0), x}), next, at});
  }
  // The places behind the keys hold INT64_MAX, so a match there is valid only if the last key is INT64_MAX.
  const Expr found = p.op("Equal", {p.gather(among, at, 0), x});
  const Expr known = last == INT64_MAX ? found : p.op("And", {found, p.op("Less", {x, number(INT64_MAX)})});
  return {p.op("Where", {known, p.gather(p.constant(chosen(table.values, places, table.values)), at, 0), other})};
}

Exprs table_size(TfNode& node, TypedBuilder& p) {
  return {p.reshape(p.constant({node.host.table(node, node.input(0)).keys.elements()}), Ints{})};
}

}  // namespace minnow::tensorflow
