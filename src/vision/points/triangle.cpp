// SPDX-License-Identifier: Apache-2.0
#include "base/no_memory.h"
#include "vision/points/finite_points.h"

namespace minnow::vision {
namespace {

/// A point in coordinates along and across an edge of the hull.
struct Place {
  double x, y;
};

/// One side of the hull from the base up, in places whose y rises.
using Chain = std::vector<Place>;

/// dx / dy above place i; beyond all bounds where the chain ends.
double lean(const Chain& chain, size_t i, double beyond) {
  return i + 1 < chain.size() ? (chain[i + 1].x - chain[i].x) / (chain[i + 1].y - chain[i].y) : beyond;
}

struct Triangle {
  double area = std::numeric_limits<double>::infinity();
  Place corners[3];
};

/// The smallest triangle with a side along the base. A triangle of height 2 t around the hull is at height t half as wide as its base, so
/// its area is at least 2 t w(t), where w is the hull's width. The largest t w(t) is reached by the triangle whose sides touch the hull in
/// their middle, at that t. As w is concave, t w(t) rises, then falls.
Triangle over_base(const Chain& left, const Chain& right) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  size_t l = 0, r = 0;
  double t = 0, xl = 0, xr = 0, turn = 0, most_left = 0;
  while (l + 1 < left.size() && r + 1 < right.size()) {
    const double a = lean(left, l, kInfinite), b = lean(right, r, -kInfinite);
    const double bottom = std::max(left[l].y, right[r].y), top = std::min(left[l + 1].y, right[r + 1].y);
    const double width = right[r].x + b * (bottom - right[r].y) - left[l].x - a * (bottom - left[l].y);
    const double highest = b < a ? (bottom + width / (a - b)) / 2 : kInfinite;  // of (width + (b - a) (t - bottom)) t
    if (highest < bottom) break;
    t = std::min(highest, top);
    xl = left[l].x + a * (t - left[l].y);
    xr = right[r].x + b * (t - right[r].y);
    turn = b;
    most_left = t == left[l + 1].y ? lean(left, l + 1, kInfinite) : a;
    if (highest <= top) break;
    const bool left_ends = left[l + 1].y == top, right_ends = right[r + 1].y == top;
    l += left_ends;
    r += right_ends;
  }
  if (!(t > 0 && xr > xl)) return {};
  // The sides meet at height 2 t, so that their leans differ by w / t; at a corner of the hull a side may lean as the other one needs it.
  const double apart = (xr - xl) / t, a = std::min(turn + apart, most_left), b = a - apart;
  return {2 * t * (xr - xl), {{xl - a * t, 0}, {xr - b * t, 0}, {xl + a * t, 2 * t}}};
}

}  // namespace

std::pair<double, Tensor> min_enclosing_triangle(const TensorView& array) {
  try {
    const std::vector<Point2f> given = finite_points("minEnclosingTriangle", array, 1);
    const Tensor hull = convex_hull(array, false, true);
    std::vector<Point2f> p = points_of("minEnclosingTriangle", hull).floats();
    const size_t n = p.size();
    Tensor corners(DType::f32, {3, 1, 2});
    auto* const to = static_cast<Point2f*>(corners.writable().data());
    if (n < 3) {  // all on one line
      for (size_t i = 0; i < 3; ++i) to[i] = p[i % n];
      return {0, corners};
    }
    const auto across = [&](const Point2f& a, const Point2f& b, const Point2f& c) {
      return (static_cast<double>(b.x) - a.x) * (static_cast<double>(c.y) - a.y) -
             (static_cast<double>(b.y) - a.y) * (static_cast<double>(c.x) - a.x);
    };
    double area = 0;
    for (size_t i = 2; i < n; ++i) area += across(p[0], p[i - 1], p[i]);
    if (area < 0) std::reverse(p.begin(), p.end());
    Triangle best;
    for (size_t i = 0; i < n; ++i) {
      const Point2f &a = p[i], &b = p[(i + 1) % n];
      const double dx = static_cast<double>(b.x) - a.x, dy = static_cast<double>(b.y) - a.y, length = std::sqrt(dx * dx + dy * dy);
      const auto place = [&](const Point2f& c) {
        const double x = static_cast<double>(c.x) - a.x, y = static_cast<double>(c.y) - a.y;
        return Place{(x * dx + y * dy) / length, (y * dx - x * dy) / length};
      };
      Chain left{{0, 0}}, right{{length, 0}};
      for (size_t k = 2; k < n; ++k) {
        const Place next = place(p[(i + k) % n]);
        if (next.y <= right.back().y) break;
        right.push_back(next);
      }
      for (size_t k = 1; k < n - 1; ++k) {
        const Place next = place(p[(i + n - k) % n]);
        if (next.y <= left.back().y) break;
        left.push_back(next);
      }
      const Triangle triangle = over_base(left, right);
      if (triangle.area >= best.area) continue;
      best = triangle;
      for (Place& corner : best.corners)
        corner = {a.x + (corner.x * dx - corner.y * dy) / length, a.y + (corner.x * dy + corner.y * dx) / length};
    }
    for (size_t i = 0; i < 3; ++i) to[i] = {static_cast<float>(best.corners[i].x), static_cast<float>(best.corners[i].y)};
    return {best.area, corners};
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
