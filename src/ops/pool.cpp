// SPDX-License-Identifier: Apache-2.0
// Pooling: one number from each window of each channel.
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
#include "ops/gradient.h"
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

constexpr Operator pool(Name name, std::string_view doc, List<AttributeSpec> attributes, void (*reference)(const NodeView&, KernelArgs&),
                        Exprs (*gradient)(const GradientContext&) = nullptr) {
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
          .gradient = gradient,
          .operations = operations,
          .batch = batch_apart_in_one_output};
}

constexpr Operator global_pool(Name name, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&),
                               Exprs (*gradient)(const GradientContext&) = nullptr) {
  return {.name = name,
          .since = 22,
          .doc = doc,
          .inputs = {{"X", kFloats}},
          .outputs = {{"Y", same_as("X")}},
          .infer_shapes = pool_shape,
          .reference = reference,
          .gradient = gradient,
          .operations = operations,
          .batch = batch_apart_in_one_output};
}

#if MINNOW_GRADIENTS
PoolGeometry pool_of(const GradientContext& c) {
  if (!c.know_shapes())
    throw Unsupported("{}: the gradient of {} needs the shape of its input before the run", c.node.where(), c.node.op());
  return PoolGeometry::of(c.node);
}
Ints ints_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// For each place of the input the sum over the windows that read it: the adjoint of a depthwise convolution with ones.
Expr spread(const GradientContext& c, const Expr& windows, const PoolGeometry& pool) {
  GraphBuilder& b = c.builder;
  const WindowGeometry& w = pool.window;
  // Windows side by side: each number is repeated.
  bool apart = true;
  for (size_t i = 0; i < w.rank(); ++i)
    apart = apart && w.stride[i] == w.kernel[i] && w.dilation[i] == 1 && w.pad_begin[i] == 0 && w.output[i] * w.kernel[i] <= w.input[i];
  if (apart) {
    Ints narrow{pool.planes()}, wide{pool.planes()}, covered{pool.planes()}, ends(2 * (w.rank() + 1));
    for (size_t i = 0; i < w.rank(); ++i) {
      narrow.insert(narrow.end(), {w.output[i], 1});
      wide.insert(wide.end(), {w.output[i], w.kernel[i]});
      covered.push_back(w.output[i] * w.kernel[i]);
      ends[w.rank() + 2 + i] = w.input[i] - covered.back();
    }
    const Expr repeated = b.op("Expand", {b.op("Reshape", {windows, b.constant(narrow)}), b.constant(wide)});
    return c.shaped_like(b.op("Pad", {b.op("Reshape", {repeated, b.constant(covered)}), b.constant(ends)}), 0);
  }
  // Windows that move one place at a time: sums over windows again, of the other borders.
  bool by_one = true;
  Ints shape, borders(2 * w.rank());
  for (size_t i = 0; i < w.rank(); ++i) {
    borders[i] = w.kernel[i] - 1 - w.pad_begin[i];
    borders[w.rank() + i] = w.input[i] - w.output[i] + w.pad_begin[i];
    shape.push_back(w.kernel[i]);
    by_one = by_one && w.stride[i] == 1 && w.dilation[i] == 1 && borders[i] >= 0 && borders[w.rank() + i] >= 0;
  }
  if (by_one)
    return b.op("AveragePool", {windows}, {{"kernel_shape", shape}, {"pads", borders}, {"count_include_pad", int64_t{1}}}) *
           static_cast<double>(w.taps());
  Ints kernel{1, 1}, planes{1, pool.planes()};
  for (const int64_t size : w.kernel) kernel.push_back(size);
  for (const int64_t size : w.output) planes.push_back(size);
  const Expr ones = b.op("Expand", {b.scalar(1, c.node.input_dtype(0)), b.constant(kernel)});
  // All places that windows reach, those of the padding too; then the input's.
  kernel[0] = pool.planes();
  const Expr filters = b.op("Expand", {ones, b.constant(kernel)});
  const Expr all = b.op("ConvTranspose", {b.op("Reshape", {windows, b.constant(planes)}), filters},
                        {{"strides", ints_of(w.stride)}, {"dilations", ints_of(w.dilation)}, {"group", pool.planes()}});
  Ints pads(2 * (w.rank() + 2));
  for (size_t i = 0; i < w.rank(); ++i) {
    const int64_t reached = (w.output[i] - 1) * w.stride[i] + w.extent(i);
    pads[2 + i] = -w.pad_begin[i];
    pads[w.rank() + 4 + i] = w.input[i] + w.pad_begin[i] - reached;
  }
  return c.shaped_like(b.op("Pad", {all, b.constant(pads)}), 0);
}

Exprs average_gradient(const GradientContext& c) {
  const PoolGeometry pool = pool_of(c);
  const Numbers<double> taps = taps_counted(pool.window, c.node.attribute(kCountIncludePad));
  Ints shape{1, 1};
  for (const int64_t size : pool.window.output) shape.push_back(size);
  Tensor counts(c.node.input_dtype(0), Shape(shape));
  narrow(counts.dtype(), taps.data(), taps.size(), counts.writable().data());
  return {spread(c, c.output_gradient(0) / c.builder.constant(counts), pool)};
}
Exprs global_average_gradient(const GradientContext& c) {
  const PoolGeometry pool = pool_of(c);
  return {c.builder.op("Expand", {c.output_gradient(0) / static_cast<double>(pool.window.input_positions()), c.shape_of(0)})};
}
/// To the first of the largest elements.
Exprs max_gradient(const GradientContext& c) {
  pool_of(c);
  Attributes attributes = c.node.node().attributes;
  attributes.remove(kStorageOrder.name);
  return {c.builder.op("minnow.MaxPoolGradient", {c.input(0), c.output_gradient(0)}, attributes)};
}
/// The largest elements share the gradient.
Exprs global_max_gradient(const GradientContext& c) {
  Ints axes;
  for (size_t i = 2; i < c.node.input_shape(0).rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  const Expr mask = cast(op("Equal", {c.input(0), c.output(0)}), c.node.input_dtype(0));
  const Expr count = axes.empty() ? mask : c.builder.op("ReduceSum", {mask, c.builder.constant(axes)});
  return {c.output_gradient(0) * mask / count};
}
/// The derivative of (the sum of |x|^p)^(1/p) is sign(x) (|x| / y)^(p - 1); that of windows of zeros is zero.
template <bool kIsGlobal>
Exprs lp_gradient(const GradientContext& c) {
  const PoolGeometry pool = pool_of(c);
  const double p = static_cast<double>(c.node.attribute(kP));
  const Expr &x = c.input(0), &y = c.output(0), &g = c.output_gradient(0), zero = c.builder.scalar_like(0, x);
  const auto power = [&](const Expr& of, double exponent) { return op("Pow", {of, c.builder.scalar_like(exponent, x)}); };
  const Expr share = select(op("Equal", {y, zero}), zero, g * power(y, 1 - p));
  const Expr all = kIsGlobal ? share : spread(c, share, pool);
  return {all * op("Sign", {x}) * power(op("Abs", {x}), p - 1)};
}
#endif

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
  max.gradient = MINNOW_GRADIENT(max_gradient);
  Operator lp = pool("LpPool", MINNOW_DOC("The Lp norm of each window of each channel."), {kP}, lp_pool);
  lp.infer_shapes = lp_pool_shape;
  lp.gradient = MINNOW_GRADIENT(lp_gradient<false>);
  Operator global_lp = global_pool("GlobalLpPool", MINNOW_DOC("The Lp norm of each channel."), lp_pool);
  global_lp.attributes = {kP};
  global_lp.infer_shapes = lp_pool_shape;
  global_lp.gradient = MINNOW_GRADIENT(lp_gradient<true>);
  return {
      pool("AveragePool",
           MINNOW_DOC("The mean of each window of each channel. Elements beyond the padding (with ceil_mode) are never counted."),
           {kCountIncludePad}, average_pool, MINNOW_GRADIENT(average_gradient)),
      global_pool("GlobalAveragePool", MINNOW_DOC("The mean of each channel; spatial dimensions become 1."), average_pool,
                  MINNOW_GRADIENT(global_average_gradient)),
      global_lp,
      global_pool("GlobalMaxPool", MINNOW_DOC("The largest element of each channel; spatial dimensions become 1."), max_pool,
                  MINNOW_GRADIENT(global_max_gradient)),
      lp,
      max,
  };
}

}  // namespace

std::span<const Operator> pool_operators() { return operator_table<definitions>(); }

}  // namespace minnow
