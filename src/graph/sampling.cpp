// SPDX-License-Identifier: Apache-2.0
#include "graph/sampling.h"

#include <algorithm>
#include <cmath>

namespace minnow {
namespace {

/// The place of the attribute's text in a list.
template <size_t kCount>
size_t choice(const NodeView& node, Name name, const Name (&choices)[kCount]) {
  const std::string_view text = node.attribute(Attribute<Name>{name, choices[0]});
  for (size_t i = 0; i < kCount; ++i)
    if (text == choices[i]) return i;
  node.fail("{} should be {}, {} or {}, it is \"{}\"", name, choices[0], choices[1], choices[kCount - 1], text);
}

/// A place brought back into [low, high] by reflection at both ends.
template <class Real>
Real reflected(Real place, Real low, Real high) {
  const Real span = high - low;
  if (span <= 0) return low;
  const Real away = std::fmod(std::fabs(place - low), 2 * span);
  return low + (away > span ? 2 * span - away : away);
}

}  // namespace

GridSampling GridSampling::of(const NodeView& node) {
  GridSampling s{};
  s.mode = static_cast<Mode>(choice(node, "mode", {"linear", "nearest", "cubic"}));
  s.padding = static_cast<Padding>(choice(node, "padding_mode", {"zeros", "border", "reflection"}));
  s.align_corners = node.attribute(Attribute<bool>{"align_corners", false});
  s.dims = node.input_sizes(0).rank() - 2;
  return s;
}

template <class Real>
GridSampling::Taps GridSampling::taps(Real coordinate, int64_t size) const {
  const Real n = static_cast<Real>(size), last = n - 1;
  const Real low = align_corners ? 0 : Real(-0.5), high = align_corners ? last : n - Real(0.5);
  Real place = align_corners ? (coordinate + 1) / 2 * last : ((coordinate + 1) * n - 1) / 2;
  // The nearest pixel is taken before padding, as the standard's reference has it: a half may go elsewhere in the reflected image.
  if (mode == Mode::linear && padding == Padding::reflection) place = reflected(place, low, high);
  if (mode == Mode::linear && padding != Padding::zeros) place = std::min(std::max(place, Real(0)), last);
  if (!std::isfinite(place)) place = padding == Padding::zeros ? -4 : place > 0 ? last : 0;
  if (padding != Padding::reflection) place = std::min(std::max(place, Real(-4)), n + 3);  // all beyond is the same
  const auto pixel = [&](Real at) -> int64_t {
    if (at >= 0 && at <= last) return static_cast<int64_t>(at);
    if (padding == Padding::zeros) return -1;
    if (padding == Padding::reflection) at = reflected(at, low, high);
    return static_cast<int64_t>(std::min(std::max(at, Real(0)), last));
  };
  Taps taps{};
  if (mode == Mode::nearest) {
    taps.at[0] = pixel(std::nearbyint(place));
    taps.weight[0] = 1;
    return taps;
  }
  const Real base = std::floor(place);
  const double t = static_cast<double>(place - base);
  if (mode == Mode::linear) {
    for (int i = 0; i < 2; ++i) taps.at[i] = pixel(base + static_cast<Real>(i));
    taps.weight[0] = 1 - t;
    taps.weight[1] = t;
    return taps;
  }
  constexpr double a = -0.75;
  for (int i = 0; i < 4; ++i) {
    taps.at[i] = pixel(base + static_cast<Real>(i - 1));
    const double d = std::fabs(t - (i - 1));
    taps.weight[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((d - 5) * d + 8) * d * a - 4 * a;
  }
  return taps;
}
template GridSampling::Taps GridSampling::taps(float, int64_t) const;
template GridSampling::Taps GridSampling::taps(double, int64_t) const;

RoiAlignment RoiAlignment::of(const NodeView& node) {
  RoiAlignment roi{};
  roi.bins[0] = node.attribute(Attribute<int64_t>{"output_height", 1});
  roi.bins[1] = node.attribute(Attribute<int64_t>{"output_width", 1});
  roi.samples = node.attribute(Attribute<int64_t>{"sampling_ratio", 0});
  roi.scale = node.attribute(Attribute<float>{"spatial_scale", 1});
  roi.half_pixel = node.attribute(Attribute<Name>{"coordinate_transformation_mode", "half_pixel"}) == "half_pixel";
  roi.average = node.attribute(Attribute<Name>{"mode", "avg"}) == "avg";
  return roi;
}

template <class Real>
RoiAlignment::Region<Real> RoiAlignment::region(const Real* corners) const {
  Region<Real> region{};
  region.possible = true;
  const Real offset = half_pixel ? Real(0.5) : Real(0);
  for (size_t axis : {0, 1}) {
    region.start[axis] = corners[1 - axis] * static_cast<Real>(scale) - offset;
    Real extent = (corners[3 - axis] * static_cast<Real>(scale) - offset) - region.start[axis];
    if (!half_pixel) extent = std::max(extent, Real(1));
    region.bin[axis] = extent / static_cast<Real>(bins[axis]);
    if (!(region.bin[axis] <= kMostSamples)) {
      region.possible = false;
      continue;
    }
    region.samples[axis] = samples ? samples : static_cast<int64_t>(std::max(std::ceil(region.bin[axis]), Real(0)));
  }
  return region;
}
template RoiAlignment::Region<float> RoiAlignment::region(const float*) const;
template RoiAlignment::Region<double> RoiAlignment::region(const double*) const;

template <class Real>
RoiAlignment::Pair RoiAlignment::pair(Real place, int64_t size) {
  Pair pair{};
  pair.inside = place >= -1 && place <= static_cast<Real>(size);
  if (!pair.inside) return pair;
  place = std::max(place, Real(0));
  pair.at[0] = static_cast<int64_t>(place);
  pair.at[1] = pair.at[0] + 1;
  if (pair.at[0] < size - 1)
    pair.weight[1] = static_cast<double>(place - static_cast<Real>(pair.at[0]));
  else
    pair.at[0] = pair.at[1] = size - 1;
  pair.weight[0] = 1 - pair.weight[1];
  return pair;
}
template RoiAlignment::Pair RoiAlignment::pair(float, int64_t);
template RoiAlignment::Pair RoiAlignment::pair(double, int64_t);

}  // namespace minnow
