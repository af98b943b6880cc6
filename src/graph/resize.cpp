// SPDX-License-Identifier: Apache-2.0
// Coordinates are computed in single precision: rounding decides which pixel is the nearest, and all implementations have to agree on it.
#include "graph/resize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/memory.h"
#include "base/saturating.h"

namespace minnow {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 40;

template <class E, size_t kCount>
E choice(const NodeView& node, Name attribute, Name fallback, const std::pair<Name, E> (&names)[kCount]) {
  const std::string_view given = node.attribute(Attribute<Name>{attribute, fallback});
  for (const auto& [name, value] : names)
    if (name == given) return value;
  node.fail("{} \"{}\" is unknown", attribute, given);
}

/// Older files give an empty tensor for an absent input.
bool is_given(const NodeView& node, size_t input) {
  return node.has_input(input) && !(node.input(input).extent == ValueInfo::Extent::exact && node.input(input).shape == Shape{0});
}

double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

int64_t nearest_place(float place, ResizeGeometry::Nearest rounding) {
  switch (rounding) {
    case ResizeGeometry::Nearest::round_prefer_floor:
      return static_cast<int64_t>(std::ceil(place - 0.5f));
    case ResizeGeometry::Nearest::round_prefer_ceil:
      return static_cast<int64_t>(std::floor(place + 0.5f));
    case ResizeGeometry::Nearest::floor:
      return static_cast<int64_t>(std::floor(place));
    case ResizeGeometry::Nearest::ceil:
      return static_cast<int64_t>(std::ceil(place));
  }
  return 0;
}

/// The axes that scales, sizes and region speak of.
std::vector<size_t> axes_of(const NodeView& node, size_t rank) {
  std::vector<size_t> axes;
  if (const Ints* given = node.find<Ints>("axes")) {
    std::array<bool, kMaxRank> seen{};
    for (int64_t axis : *given) {
      axes.push_back(node.normalize_axis(axis, rank));
      if (std::exchange(seen[axes.back()], true)) node.fail("axes {} name an axis twice", *given);
    }
  } else {
    for (size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

}  // namespace

bool ResizeAxis::is_identity() const {
  if (input != output || taps != 1 || !weight.empty() || !outside.empty()) return false;
  for (int64_t i = 0; i < output; ++i)
    if (index[static_cast<size_t>(i)] != i) return false;
  return true;
}

ResizeGeometry ResizeGeometry::of(const NodeView& node) {
  ResizeGeometry resize;
  resize.mode = choice<Mode>(node, "mode", "nearest", {{"nearest", Mode::nearest}, {"linear", Mode::linear}, {"cubic", Mode::cubic}});
  resize.transformation = choice<Transformation>(node, "coordinate_transformation_mode", "half_pixel",
                                                 {{"half_pixel", Transformation::half_pixel},
                                                  {"half_pixel_symmetric", Transformation::half_pixel_symmetric},
                                                  {"pytorch_half_pixel", Transformation::pytorch_half_pixel},
                                                  {"align_corners", Transformation::align_corners},
                                                  {"asymmetric", Transformation::asymmetric},
                                                  {"tf_crop_and_resize", Transformation::tf_crop_and_resize},
                                                  {"tf_half_pixel_for_nn", Transformation::tf_half_pixel_for_nn}});
  resize.nearest = choice<Nearest>(node, "nearest_mode", "round_prefer_floor",
                                   {{"round_prefer_floor", Nearest::round_prefer_floor},
                                    {"round_prefer_ceil", Nearest::round_prefer_ceil},
                                    {"floor", Nearest::floor},
                                    {"ceil", Nearest::ceil}});
  enum class Policy { stretch, not_larger, not_smaller };
  const Policy policy =
      choice<Policy>(node, "keep_aspect_ratio_policy", "stretch",
                     {{"stretch", Policy::stretch}, {"not_larger", Policy::not_larger}, {"not_smaller", Policy::not_smaller}});
  resize.antialias = node.attribute(Attribute<bool>{"antialias", false});
  resize.exclude_outside = node.attribute(Attribute<bool>{"exclude_outside", false});
  resize.cubic_a = node.attribute(Attribute<float>{"cubic_coeff_a", -0.75f});
  resize.extrapolation = node.attribute(Attribute<float>{"extrapolation_value", 0});
  if (resize.antialias && resize.mode == Mode::nearest) node.fail("antialias does not go with mode nearest");

  resize.input = resize.output = node.input_shape(0);
  resize.scale.fill(1);
  const std::vector<size_t> axes = axes_of(node, resize.input.rank());
  resize.roi_axes = axes.size();
  resize.roi_place.fill(axes.size());
  for (size_t k = 0; k < axes.size(); ++k) resize.roi_place[axes[k]] = k;

  const bool by_scale = is_given(node, 2), by_size = is_given(node, 3);
  if (axes.empty()) return resize;
  if (by_scale == by_size) node.fail("takes either scales or sizes, it has {}", by_scale ? "both" : "neither");
  if (resize.needs_region() && (!is_given(node, 1) || node.input_shape(1) != Shape{static_cast<int64_t>(2 * axes.size())}))
    node.fail("tf_crop_and_resize needs a region of {} numbers", 2 * axes.size());
  if (by_scale) {
    const std::vector<double> scales = node.reals(2);
    if (scales.size() != axes.size()) node.fail("scales should have {} entries, there are {}", axes.size(), scales.size());
    for (size_t k = 0; k < axes.size(); ++k) {
      const float scale = static_cast<float>(scales[k]), size = static_cast<float>(resize.input[axes[k]]) * scale;
      if (!(scale > 0) || !(size < static_cast<float>(kMaxSize))) node.fail("scale {} of axis {} is not possible", scale, axes[k]);
      resize.scale[axes[k]] = scale;
      resize.resized[axes[k]] = size;
      resize.output[axes[k]] = static_cast<int64_t>(std::floor(size));
    }
    return resize;
  }
  const Ints sizes = node.ints(3);
  if (sizes.size() != axes.size()) node.fail("sizes should have {} entries, there are {}", axes.size(), sizes.size());
  float common = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t input = resize.input[axes[k]];
    if (sizes[k] < 0 || sizes[k] >= kMaxSize || (input == 0 && sizes[k] > 0))
      node.fail("an axis of {} cannot get size {}", input, sizes[k]);
    const float scale = input == 0 ? 1 : static_cast<float>(sizes[k]) / static_cast<float>(input);
    resize.scale[axes[k]] = scale;
    resize.resized[axes[k]] = static_cast<float>(sizes[k]);
    resize.output[axes[k]] = sizes[k];
    common = k == 0 ? scale : policy == Policy::not_larger ? std::min(common, scale) : std::max(common, scale);
  }
  if (policy == Policy::stretch) return resize;
  for (size_t axis : axes) {
    const float size = common * static_cast<float>(resize.input[axis]);
    if (!(size < static_cast<float>(kMaxSize))) node.fail("axis {} would get size {}", axis, size);
    resize.scale[axis] = common;
    resize.resized[axis] = size;
    resize.output[axis] = static_cast<int64_t>(std::floor(size + 0.5f));
  }
  return resize;
}

Sizes ResizeGeometry::output_sizes(const NodeView& node) {
  const bool by_scale = is_given(node, 2), by_size = is_given(node, 3);
  // Coordinates are in single precision, for numbers alone; so is every size that follows from an aspect ratio.
  if (node.knows_shape(0) && (!by_scale || node.knows_contents(2)) && (!by_size || node.knows_contents(3))) return of(node).output;
  Sizes output = node.input_sizes(0);
  const std::vector<size_t> axes = axes_of(node, output.rank());
  if (axes.empty()) return output;
  if (by_scale == by_size) node.fail("takes either scales or sizes, it has {}", by_scale ? "both" : "neither");
  const bool is_stretched = node.attribute(Attribute<Name>{"keep_aspect_ratio_policy", "stretch"}) == "stretch";
  std::vector<Size> sizes(axes.size(), Size::unknown());
  if (by_size && is_stretched) {
    sizes = node.sizes(3);
    if (sizes.size() != axes.size()) node.fail("sizes should have {} entries, there are {}", axes.size(), sizes.size());
  }
  if (by_scale && node.knows_contents(2)) {
    const std::vector<double> scales = node.reals(2);
    if (scales.size() != axes.size()) node.fail("scales should have {} entries, there are {}", axes.size(), scales.size());
    for (size_t k = 0; k < axes.size(); ++k) {
      const double scale = static_cast<double>(static_cast<float>(scales[k])), part = scale > 0 ? 1 / scale : 0;
      const Size input = output[axes[k]];
      if (input.is_number() && scale > 0 && static_cast<double>(input.number()) * scale < static_cast<double>(kMaxSize))
        sizes[k] = static_cast<int64_t>(std::floor(static_cast<float>(input.number()) * static_cast<float>(scales[k])));
      else if (scale >= 1 && scale <= 64 && scale == std::floor(scale))
        sizes[k] = input * static_cast<int64_t>(scale);
      else if (part >= 1 && part <= 64 && part == std::floor(part) && std::exp2(std::ilogb(part)) == part)
        sizes[k] = divide_down(input, static_cast<int64_t>(part));
    }
  }
  for (size_t k = 0; k < axes.size(); ++k) output[axes[k]] = sizes[k];
  return output;
}

float ResizeGeometry::original_place(size_t axis, int64_t place, float start, float end) const {
  const float at = static_cast<float>(place), factor = scale[axis];
  const float length = static_cast<float>(input[axis]), exact = resized[axis];
  switch (transformation) {
    case Transformation::half_pixel:
      return (at + 0.5f) / factor - 0.5f;
    case Transformation::half_pixel_symmetric:
      return length / 2 * (1 - static_cast<float>(output[axis]) / exact) + (at + 0.5f) / factor - 0.5f;
    case Transformation::pytorch_half_pixel:
      return output[axis] > 1 ? (at + 0.5f) / factor - 0.5f : 0;
    case Transformation::align_corners:
      return exact == 1 ? 0 : at * (length - 1) / (exact - 1);
    case Transformation::asymmetric:
      return at / factor;
    case Transformation::tf_crop_and_resize:
      return exact == 1 ? 0.5f * (start + end) * (length - 1) : start * (length - 1) + at * (end - start) * (length - 1) / (exact - 1);
    case Transformation::tf_half_pixel_for_nn:
      return (at + 0.5f) / factor;
  }
  return 0;
}

ResizeAxis ResizeGeometry::axis(size_t i, std::span<const double> region) const {
  ResizeAxis axis;
  axis.input = input[i], axis.output = output[i];
  const size_t count = static_cast<size_t>(axis.output);
  const bool resized = roi_place[i] < roi_axes;
  float start = 0, end = 1;
  if (needs_region() && resized)
    start = static_cast<float>(region[roi_place[i]]), end = static_cast<float>(region[roi_axes + roi_place[i]]);
  const bool whole = !needs_region() || (start == 0 && end == 1);
  if (!resized || (axis.input == axis.output && scale[i] == 1 && whole && transformation != Transformation::tf_half_pixel_for_nn)) {
    axis.index.resize(count);
    std::iota(axis.index.begin(), axis.index.end(), int64_t{0});
    return axis;
  }
  const int64_t last = axis.input - 1;
  if (needs_region()) axis.outside.assign(count, 0);
  // A filter of one half-width is stretched over more input positions when the image shrinks.
  const double stretch = antialias ? std::min(static_cast<double>(scale[i]), 1.0) : 1.0, reach = mode == Mode::cubic ? 2 : 1;
  const int64_t first_tap = static_cast<int64_t>(std::floor(-reach / stretch)) + 1;
  if (mode != Mode::nearest) axis.taps = 2 - 2 * first_tap;
  const size_t positions = product_of({count, static_cast<size_t>(axis.taps)});
  check_memory(product_of({positions, sizeof(int64_t) + sizeof(double)}), "a table of positions");
  axis.index.resize(positions);
  if (mode != Mode::nearest) axis.weight.resize(axis.index.size());
  for (int64_t o = 0; o < axis.output; ++o) {
    float place = original_place(i, o, start, end);
    if (needs_region() && !(place >= 0 && place <= static_cast<float>(last))) axis.outside[static_cast<size_t>(o)] = 1;
    // Far beyond the edge (or with a region that is no number) the edge is all there is.
    place = place >= -4 ? std::min(place, static_cast<float>(last + 4)) : -4;
    int64_t* index = axis.index.data() + o * axis.taps;
    if (mode == Mode::nearest) {
      *index = std::clamp<int64_t>(nearest_place(place, nearest), 0, last);
      continue;
    }
    double *weight = axis.weight.data() + o * axis.taps, sum = 0;
    const int64_t base = static_cast<int64_t>(std::ceil(place)) - 1;
    for (int64_t t = 0; t < axis.taps; ++t) {
      const int64_t from = base + first_tap + t;
      const double distance = (static_cast<double>(from) - static_cast<double>(place)) * stretch;
      weight[t] = mode == Mode::cubic ? cubic_weight(distance, cubic_a) : std::max(1 - std::fabs(distance), 0.0);
      if (exclude_outside && (from < 0 || from > last)) weight[t] = 0;
      index[t] = std::clamp<int64_t>(from, 0, last);
      sum += weight[t];
    }
    if ((antialias || exclude_outside) && sum != 0)
      for (int64_t t = 0; t < axis.taps; ++t) weight[t] /= sum;
  }
  return axis;
}

}  // namespace minnow
