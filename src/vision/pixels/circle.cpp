// SPDX-License-Identifier: Apache-2.0
// The smallest circle around points: E. Welzl, "Smallest enclosing disks" (1991), with the points in their order.

#include "base/no_memory.h"
#include "vision/points/finite_points.h"

namespace minnow::vision {
namespace {

Point2f operator+(const Point2f& a, const Point2f& b) { return {a.x + b.x, a.y + b.y}; }
Point2f operator-(const Point2f& a, const Point2f& b) { return {a.x - b.x, a.y - b.y}; }
double length(const Point2f& p) { return std::sqrt(static_cast<double>(p.x) * p.x + static_cast<double>(p.y) * p.y); }

constexpr float kCircleSlack = 1e-4f;

bool through_three(const Point2f& p, const Point2f& q, const Point2f& r, Circle& circle) {
  const Point2f v1 = q - p, v2 = r - p;
  const Point2f m1{(p.x + q.x) / 2, (p.y + q.y) / 2}, m2{(p.x + r.x) / 2, (p.y + r.y) / 2};
  const float c1 = m1.x * v1.x + m1.y * v1.y, c2 = m2.x * v2.x + m2.y * v2.y, det = v1.x * v2.y - v1.y * v2.x;
  if (std::fabs(det) <= kCircleSlack) {
    const float d1 = v1.x * v1.x + v1.y * v1.y, d2 = v2.x * v2.x + v2.y * v2.y;
    const Point2f v3 = q - r;
    const float d3 = v3.x * v3.x + v3.y * v3.y;
    circle.radius = std::sqrt(std::max({d1, d2, d3})) * 0.5f + kCircleSlack;
    const Point2f sum = d1 >= d2 && d1 >= d3 ? p + q : d2 >= d1 && d2 >= d3 ? p + r : q + r;
    circle.center = {sum.x * 0.5f, sum.y * 0.5f};
    return true;
  }
  const float x = (c1 * v2.y - c2 * v1.y) / det, y = (v1.x * c2 - v2.x * c1) / det;
  circle.center = {x, y};
  const float dx = x - p.x, dy = y - p.y;
  circle.radius = std::sqrt(dx * dx + dy * dy) + kCircleSlack;
  return true;
}

Circle through_two(const Point2f& p, const Point2f& q) {
  return {{(p.x + q.x) / 2, (p.y + q.y) / 2}, static_cast<float>(length(p - q)) / 2 + kCircleSlack};
}

class Points2 {
 public:
  explicit Points2(const std::vector<Point2f>& points) : x_(points.size()), y_(points.size()) {
    for (size_t i = 0; i < points.size(); ++i) x_[i] = points[i].x, y_[i] = points[i].y;
  }
  /// The first of the points first .. last - 1 that does not lie within a circle; else `last`.
  size_t beyond(const Circle& circle, size_t first, size_t last) const {
    constexpr size_t kBlock = 16;
    const float cx = circle.center.x, cy = circle.center.y;
    // Squares are right to some 2^-22. Roots decide for points near the circle.
    const float surely = circle.radius * circle.radius * 0.999999f;
    size_t i = first;
    for (;;) {
      for (; i + kBlock <= last; i += kBlock) {
        const float *const x = x_.data() + i, *const y = y_.data() + i;
        int near = 0;
        for (size_t k = 0; k < kBlock; ++k) {
          const float dx = x[k] - cx, dy = y[k] - cy;
          near |= dx * dx + dy * dy >= surely;
        }
        if (near) break;
      }
      const size_t end = std::min(i + kBlock, last);
      for (; i < end; ++i)
        if (!(static_cast<float>(length({x_[i] - cx, y_[i] - cy})) < circle.radius)) return i;
      if (i == last) return last;
    }
  }

 private:
  std::vector<float> x_, y_;
};

}  // namespace

std::vector<Point2f> finite_points(std::string_view function, const TensorView& array, int64_t least) {
  const Points points = points_of(function, array);
  if (points.count < least) throw InvalidArgument("{}: there are {} points; {} are needed", function, points.count, least);
  std::vector<Point2f> result = points.floats();
  for (const Point2f& p : result)
    if (!std::isfinite(p.x) || !std::isfinite(p.y)) throw InvalidArgument("{}: points are finite", function);
  return result;
}

Circle min_enclosing_circle(const TensorView& array) {
  try {
    const std::vector<Point2f> p = finite_points("minEnclosingCircle", array, 0);
    if (p.empty()) return {};
    if (p.size() == 1) return {p[0], kCircleSlack};
    const Points2 points(p);
    Circle circle = through_two(p[0], p[1]);
    for (size_t i = points.beyond(circle, 2, p.size()); i < p.size(); i = points.beyond(circle, i + 1, p.size())) {
      Circle second = through_two(p[0], p[i]);
      for (size_t j = points.beyond(second, 1, i); j < i; j = points.beyond(second, j + 1, i)) {
        Circle third = through_two(p[i], p[j]);
        for (size_t k = points.beyond(third, 0, j); k < j; k = points.beyond(third, k + 1, j)) through_three(p[i], p[j], p[k], third);
        second = third;
      }
      circle = second;
    }
    return circle;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
