// SPDX-License-Identifier: Apache-2.0
// Pooling: one number from each window of each channel.
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
#include "ops/operator_table.h"
#include "ops/sums.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kCeilMode{
    "ceil_mode", false,
    MINNOW_DOC("a last window that reaches beyond the padding counts, if it begins inside the input or the padding before it")};
constexpr Attribute<bool> kCountIncludePad{"count_include_pad", false, MINNOW_DOC("padding counts as zeros that are averaged too")};
constexpr Attribute<int64_t> kStorageOrder{"storage_order", 0, MINNOW_DOC("of the indices: 0 row-major, 1 column-major")};
constexpr Attribute<int64_t> kP{"p", 2, MINNOW_DOC("exponent of the norm")};

/// The window without the taps that no output finds inside the input: with much padding, those are nearly all of its taps.
WindowGeometry without_padding(WindowGeometry window) {
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const int64_t step = window.dilation[axis], pad = window.pad_begin[axis];
    const int64_t last = pad - std::max<int64_t>(window.output[axis] - 1, 0) * window.stride[axis];  // place 0 of the last output
    const int64_t first = last > 0 ? (last + step - 1) / step : 0,
                  end = std::min(window.kernel[axis], (window.input[axis] + pad + step - 1) / step);
    window.kernel[axis] = std::max<int64_t>(end - first, 0);
    window.pad_begin[axis] = pad - first * step;
  }
  return window;
}

/// Calls tap(plane, first window, input of the plane, positions of the tap, number of windows) for every tap of every window, in order of
/// taps.
template <class F>
void for_each_tap(const PoolGeometry& pool, const double* x, F tap) {
  const WindowGeometry window = without_padding(pool.window);
  const int64_t taps = window.taps(), inputs = window.input_positions(), outputs = window.output_positions();
  const int64_t block = windows_at_once(taps);
  WindowPositions positions(window);
  Pace pace;
  for (int64_t first = 0; first < outputs; first += block) {
    positions.seek(first, std::min(block, outputs - first));
    for (int64_t plane = 0; plane < pool.planes(); ++plane)
      for (int64_t t = 0; t < taps; ++t, pace.step(static_cast<size_t>(positions.count())))
        tap(plane * outputs + first, x + plane * inputs, positions.of_tap(t), positions.count(), plane);
  }
}

/// For each window, the taps that meet the input, or the input and its padding.
Numbers<double> taps_counted(const WindowGeometry& window, bool with_padding) {
  Numbers<double> counts{1};
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const int64_t from = with_padding ? -window.pad_begin[axis] : 0;
    const int64_t to = window.input[axis] + (with_padding ? window.pad_end[axis] : 0);
    Numbers<double> wider;
    wider.reserve(counts.size() * static_cast<size_t>(window.output[axis]));
    for (const double count : counts)
      for (int64_t o = 0; o < window.output[axis]; ++o) {
        // Taps k at o * stride + k * dilation - pad_begin within [from, to).
        const int64_t first = o * window.stride[axis] - window.pad_begin[axis], step = window.dilation[axis];
        const auto before = [&](int64_t end) {  // taps at positions below `end`
          return first >= end ? 0 : std::min(window.kernel[axis], (end - first + step - 1) / step);
        };
        wider.push_back(count * static_cast<double>(before(to) - before(from)));
      }
    counts = std::move(wider);
  }
  return counts;
}

Shapes pool_shape(const NodeView& node) { return {PoolGeometry::output_sizes(node)}; }

Shapes max_pool_shape(const NodeView& node) {
  const int64_t order = node.attribute(kStorageOrder);
  if (order != 0 && order != 1) node.fail("storage_order should be 0 or 1, it is {}", order);
  const Sizes shape = PoolGeometry::output_sizes(node);
  return {shape, shape};
}

int64_t column_major(const Shape& shape, int64_t place) {
  int64_t index = 0;
  // The last coordinate varies fastest in `place` and slowest in the result.
  for (size_t i = shape.rank(); i-- > 0; place /= shape[i]) index += place % shape[i] * shape.product(0, i);
  return index;
}

void max_pool(const NodeView& node, KernelArgs& args) {
  const PoolGeometry pool = PoolGeometry::of(node);
  const size_t count = static_cast<size_t>(pool.output_shape().elements());
  const DType dtype = args.input(0).dtype();
  // A window of padding alone gives the lowest number.
  Numbers<double> y(count, is_float(dtype) ? -largest_of(dtype) : static_cast<double>(lowest_of(dtype)));
  Numbers<int64_t> best(count, -1);
  const int64_t inputs = pool.window.input_positions();
  for_each_tap(pool, args.reals(0).data(), [&](int64_t first, const double* x, const int64_t* at, int64_t n, int64_t plane) {
    for (int64_t i = 0; i < n; ++i) {
      if (at[i] < 0) continue;
      const double value = x[at[i]];
      const size_t o = static_cast<size_t>(first + i);
      if (best[o] >= 0 && !(value > y[o]) && !(std::isnan(value) && !std::isnan(y[o]))) continue;  // the first of equals; NaN wins
      y[o] = value;
      best[o] = plane * inputs + at[i];
    }
  });
  args.write(0, y);
  if (!args.has_output(1)) return;
  if (node.attribute(kStorageOrder) == 1)
    for (int64_t& index : best)
      if (index >= 0) index = index / inputs * inputs + column_major(pool.window.input, index % inputs);
  args.write(1, best);
}

void average_pool(const NodeView& node, KernelArgs& args) {
  const PoolGeometry pool = PoolGeometry::of(node);
  Numbers<double> y(static_cast<size_t>(pool.output_shape().elements()));
  for_each_tap(pool, args.reals(0).data(), [&](int64_t first, const double* x, const int64_t* at, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i)
      if (at[i] >= 0) y[static_cast<size_t>(first + i)] += x[at[i]];
  });
  const Numbers<double> counts = taps_counted(pool.window, node.attribute(kCountIncludePad));
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = counts[i % counts.size()] == 0 ? 0 : in_range(y[i], args.input(0).dtype()) / counts[i % counts.size()];
  args.write(0, y);
}

Shapes lp_pool_shape(const NodeView& node) {
  if (node.attribute(kP) < 1) node.fail("p should be at least 1, it is {}", node.attribute(kP));
  return pool_shape(node);
}

void lp_pool(const NodeView& node, KernelArgs& args) {
  const PoolGeometry pool = PoolGeometry::of(node);
  const double p = static_cast<double>(node.attribute(kP));
  Numbers<double> y(static_cast<size_t>(pool.output_shape().elements()));
  for_each_tap(pool, args.reals(0).data(), [&](int64_t first, const double* x, const int64_t* at, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i)
      if (at[i] >= 0) y[static_cast<size_t>(first + i)] += p == 2 ? x[at[i]] * x[at[i]] : std::pow(std::fabs(x[at[i]]), p);
  });
  for (double& value : y) value = in_range(value, args.input(0).dtype());
  for (double& value : y) value = p == 2 ? std::sqrt(value) : std::pow(value, 1 / p);
  args.write(0, y);
}

double operations(const NodeView& node) {
  const PoolGeometry pool = PoolGeometry::of(node);
  return static_cast<double>(pool.planes()) * static_cast<double>(pool.window.output_positions()) * static_cast<double>(pool.window.taps());
}

constexpr Operator pool(std::string_view name, std::string_view doc, List<AttributeSpec> attributes,
                        void (*reference)(const NodeView&, KernelArgs&)) {
  attributes.append({kAutoPad, kCeilMode, kDilations, kPads, kStrides,
                     required("kernel_shape", AttributeKind::integers, MINNOW_DOC("shape of a window"))});
  return {.name = name,
          .since = 22,
          .doc = doc,
          .inputs = {{"X", kFloats}},
          .outputs = {{"Y", same_as("X")}},
          .attributes = std::move(attributes),
          .infer_shapes = pool_shape,
          .reference = reference,
          .operations = operations,
          .batch = batch_apart_in_one_output};
}

constexpr Operator global_pool(std::string_view name, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&)) {
  return {.name = name,
          .since = 22,
          .doc = doc,
          .inputs = {{"X", kFloats}},
          .outputs = {{"Y", same_as("X")}},
          .infer_shapes = pool_shape,
          .reference = reference,
          .operations = operations,
          .batch = batch_apart_in_one_output};
}

constexpr List<Operator> definitions() {
  Operator max =
      pool("MaxPool",
           MINNOW_DOC("The largest element of each window of each channel; `Indices` tells where it is in the whole of X, counted as "
                      "if X were flat. Padding is never the largest."),
           {kStorageOrder}, max_pool);
  max.inputs = {{"X", kFloats | one_of({DType::i8, DType::u8})}};
  max.outputs.append({{"Indices", fixed(DType::i64), kOptional}});
  max.infer_shapes = max_pool_shape;
  max.elements = Elements::chosen;
  Operator lp = pool("LpPool", MINNOW_DOC("The Lp norm of each window of each channel."), {kP}, lp_pool);
  lp.infer_shapes = lp_pool_shape;
  Operator global_lp = global_pool("GlobalLpPool", MINNOW_DOC("The Lp norm of each channel."), lp_pool);
  global_lp.attributes = {kP};
  global_lp.infer_shapes = lp_pool_shape;
  return {
      pool("AveragePool",
           MINNOW_DOC("The mean of each window of each channel. What lies beyond the padding (with ceil_mode) is never counted."),
           {kCountIncludePad}, average_pool),
      global_pool("GlobalAveragePool", MINNOW_DOC("The mean of each channel; spatial dimensions become 1."), average_pool),
      global_lp,
      global_pool("GlobalMaxPool", MINNOW_DOC("The largest element of each channel; spatial dimensions become 1."), max_pool),
      lp,
      max,
  };
}

}  // namespace

std::span<const Operator> pool_operators() { return operator_table<definitions>(); }

}  // namespace minnow
