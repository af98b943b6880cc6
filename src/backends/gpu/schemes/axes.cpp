// SPDX-License-Identifier: Apache-2.0
// Operators whose result has along each axis elements from places of the input along that axis: Resize and Pad. A table for each axis says
// which.
#include <algorithm>

#include "backends/gpu/schemes/kernel_text.h"
#include "graph/resize.h"

namespace minnow::gpu {
namespace {

// One axis of the result, or several neighbours that are copied as they are.
struct Axis {
  int64_t size, step;                // of the result; of the input, in elements
  std::vector<int32_t> places = {};  // taps for each element, -1: outside; empty: as they are
  std::vector<float> weights = {};   // empty: 1
  int64_t taps = 1;
};

// Adds the axes to the kernel: `PLACES` finds the coordinates, and loops `TAPS` over all taps in which `at` is a place of the input and `w`
// its weight. `outside` counts places outside.
void add_axes(KernelText& text, const std::vector<Axis>& axes) {
  std::string places = "int rest = i, at0 = 0, outside = 0; ", loops;
  size_t number = 0;
  for (size_t k = axes.size(); k-- > 0;) {
    const Axis& axis = axes[k];
    text.number(format("size{}", k), axis.size);
    text.number(format("step{}", k), axis.step);
    places += format("const int c{} = rest % size{}; rest /= size{}; ", k, k, k);
    if (axis.places.empty()) {
      places += format("at0 += c{} * step{}; ", k, k);
      continue;
    }
    text.table(axis.places, format("places{}", k));
    if (axis.taps == 1 && axis.weights.empty()) {
      places += format("if (places{}[c{}] < 0) outside = 1; else at0 += places{}[c{}] * step{}; ", k, k, k, k, k);
      continue;
    }
    text.table(axis.weights, format("weights{}", k));
    places += format("if (places{}[c{} * {}] < 0) outside = 1; ", k, k, axis.taps);
    loops += format("for (int t{} = c{} * {}, e{} = t{} + {}; t{} < e{}; ++t{}) {{ ", k, k, axis.taps, k, k, axis.taps, k, k, k);
    loops += format("const int at{} = at{} + places{}[t{}] * step{}; const float w{} = {}weights{}[t{}]; ", number + 1, number, k, k, k,
                    number + 1, number ? format("w{} * ", number) : std::string(), k, k);
    ++number;
  }
  text.define("PLACES", places);
  text.define("TAPS(body)", format("{} {{ const int at = at{}; const float w = {}; body }} {}", loops, number,
                                   number ? format("w{}", number) : std::string("1"), std::string(number, '}')));
  text.define("WEIGHTED", number ? 1 : 0);
}

// Neighbours that are copied as they are become one.
void append(std::vector<Axis>& axes, Axis axis) {
  if (axis.places.empty() && axis.size == 1) return;
  if (!axes.empty() && axes.back().places.empty() && axis.places.empty() && axes.back().step == axis.step * axis.size) {
    axes.back().size *= axis.size, axes.back().step = axis.step;
    return;
  }
  axes.push_back(std::move(axis));
}

// Resize

constexpr int64_t kMostTaps = 64;  // more are applied axis by axis

Estimate estimate_resize(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  for (const size_t i : {size_t{1}, size_t{2}, size_t{3}})
    if (node.has_input(i) && !node.is_constant(i)) return declined("input {} is not constant", i);
  if (node.attribute(Attribute<Name>{"mode", "nearest"}) != "nearest" && !is_real(node.input_dtype(0)))
    return declined("the dtype is {}", node.input_dtype(0));
  return estimate_of(node, device, 16.0 * static_cast<double>(node.output_shape(0).elements()));
}

Axis axis_of(const ResizeAxis& from, int64_t step) {
  Axis axis{from.output, step};
  if (from.is_identity()) return axis;
  axis.taps = from.taps;
  axis.places.assign(from.index.begin(), from.index.end());
  axis.weights.assign(from.weight.begin(), from.weight.end());
  for (size_t o = 0; o < from.outside.size(); ++o)
    if (from.outside[o]) axis.places[o * static_cast<size_t>(from.taps)] = -1;
  return axis;
}

std::unique_ptr<Kernel> prepare_resize(PrepareContext& context) {
  const NodeView& node = context.node();
  const ResizeGeometry resize = ResizeGeometry::of(node);
  const std::vector<double> region = resize.needs_region() ? node.reals(1) : std::vector<double>();
  std::vector<ResizeAxis> tables;
  int64_t taps = 1;
  for (size_t k = 0; k < resize.input.rank(); ++k) {
    tables.push_back(resize.axis(k, region));
    taps *= tables.back().taps;
  }
  auto kernel = std::make_unique<Launches>(context);
  constexpr std::string_view kBody = R"(
  PLACES
#if WEIGHTED
  float sum = 0;
  if (outside) sum = extrapolation; else TAPS(sum += w * GET(x, at);)
  PUT(y, i, sum);
#else
  PUT(y, i, outside ? (C_x)extrapolation : GET(x, at0));
#endif
)";
  // At once, or one axis after the other, all but the last into scratch. Places outside make all that follows outside: they stay for the
  // last kernel.
  std::vector<size_t> order;
  for (size_t k = 0; k < tables.size(); ++k)
    if (!tables[k].is_identity()) order.push_back(k);
  const bool at_once = taps <= kMostTaps || order.size() < 2 || resize.needs_region();
  Shape shape = resize.input;
  size_t from = 0;
  for (size_t n = 0; n < (at_once ? 1 : order.size()); ++n) {
    const bool last = at_once || n + 1 == order.size();
    std::vector<Axis> axes;
    Shape made = shape;
    for (size_t k = 0; k < shape.rank(); ++k) {
      const int64_t step = shape.product(k + 1, shape.rank());
      const bool treats = at_once || k == order[n];
      append(axes, treats ? axis_of(tables[k], step) : Axis{shape[k], step});
      if (treats) made[k] = resize.output[k];
    }
    KernelText text(*kernel, node);
    if (n == 0)
      text.input(0, "x");
    else
      text.scratch(from, "x", "f32", false);
    const size_t to = last ? 0 : context.reserve_scratch(static_cast<size_t>(made.elements()) * sizeof(float));
    if (last)
      text.output(0, "y");
    else
      text.scratch(to, "y", "f32", true);
    text.real("extrapolation", resize.extrapolation);
    add_axes(text, axes);
    text.add_items("resize", made.elements(), kBody);
    shape = made;
    from = to;
  }
  return kernel;
}

// Pad

Estimate estimate_pad(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_move(node); !reason.empty()) return declined("{}", reason);
  for (const size_t i : {size_t{1}, size_t{3}})
    if (node.has_input(i) && !node.is_constant(i)) return declined("input {} is not constant", i);
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  return estimate_of(node, device);
}

// As ops/loops/pad.cpp has it: negative amounts cut elements off before the rest is repeated.
std::vector<int32_t> padded_places(std::string_view mode, int64_t dim, int64_t before, int64_t after, int64_t length) {
  const int64_t first = std::max<int64_t>(0, -before), kept = dim - std::max<int64_t>(0, -after) - first;
  std::vector<int32_t> places;
  for (int64_t i = 0; i < length; ++i) {
    int64_t k = i - before - first;
    const bool outside = k < 0 || k >= kept;
    if (outside && mode == "constant") {
      places.push_back(-1);
      continue;
    }
    if (outside && mode == "edge") {
      k = std::clamp<int64_t>(k, 0, kept - 1);
    } else if (outside && mode == "wrap") {
      k = (k % kept + kept) % kept;
    } else if (outside) {
      const int64_t period = std::max<int64_t>(1, 2 * (kept - 1));
      k = (k % period + period) % period;
      if (k >= kept) k = period - k;
    }
    places.push_back(static_cast<int32_t>(first + k));
  }
  return places;
}

std::unique_ptr<Kernel> prepare_pad(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape &x = node.input_shape(0), &y = node.output_shape(0);
  const Ints pads = node.ints(1);
  Ints before(x.rank(), 0), after(x.rank(), 0);
  for (size_t k = 0; k < pads.size() / 2; ++k) {
    const size_t axis = node.has_input(3) ? node.normalize_axis(node.ints(3)[k], x.rank()) : k;
    before[axis] = pads[k], after[axis] = pads[pads.size() / 2 + k];
  }
  std::vector<Axis> axes;
  for (size_t k = 0; k < x.rank(); ++k) {
    Axis axis{y[k], x.product(k + 1, x.rank())};
    if (before[k] != 0 || after[k] != 0)
      axis.places = padded_places(node.attribute(Attribute<Name>{"mode", "constant"}), x[k], before[k], after[k], y[k]);
    append(axes, std::move(axis));
  }
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x", true);
  text.input(2, "filler", true);
  text.output(0, "y", true);
  add_axes(text, axes);
  text.add_items("pad", y.elements(), R"(
  PLACES
#if HAS_filler
  PUT(y, i, outside ? GET(filler, 0) : GET(x, at0));
#else
  PUT(y, i, outside ? 0 : GET(x, at0));
#endif
)");
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Pad", "gpu.pad", estimate_pad, prepare_pad}, {"Resize", "gpu.resize", estimate_resize, prepare_resize}};

}  // namespace

std::span<const Scheme> axes_schemes() { return kSchemes; }

}  // namespace minnow::gpu
