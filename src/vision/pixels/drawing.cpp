// SPDX-License-Identifier: Apache-2.0
#include "vision/canvas.h"

namespace minnow::vision {
namespace {

std::vector<Point64> wide(const Polygon& points) {
  std::vector<Point64> result;
  result.reserve(points.size());
  for (const Point& p : points) result.push_back({p.x, p.y});
  return result;
}

Point moved(const Point& p, double x, double y) {
  const auto coordinate = [](double v) { return static_cast<int>(std::clamp(v, -0x1p31, 0x1p31 - 1)); };
  return {coordinate(p.x + x), coordinate(p.y + y)};
}

}  // namespace

void line(const MutableImageView& img, const Point& from, const Point& to, const Scalar4& color, int thickness, LineType type,
          int shift) try {
  const Canvas canvas("line", img, color, type, thickness, shift, false);
  if (thickness == 0) throw InvalidArgument("line: the thickness is 0");
  canvas.thick_line(wide(from), wide(to), thickness, 3, shift);
} catch (...) {
  throw_as_error();
}

void arrowed_line(const MutableImageView& img, const Point& from, const Point& to, const Scalar4& color, int thickness, LineType type,
                  int shift, double tip) try {
  line(img, from, to, color, thickness, type, shift);
  const double dx = static_cast<double>(from.x) - to.x, dy = static_cast<double>(from.y) - to.y;
  const double length = std::sqrt(dx * dx + dy * dy) * tip, angle = std::atan2(dy, dx);
  if (!std::isfinite(length)) throw InvalidArgument("arrowedLine: the tip's length is {} times the line's", tip);
  constexpr double kEighth = 3.1415926535897932384626433832795 / 4;
  for (const double side : {angle + kEighth, angle - kEighth})
    line(img, moved({}, std::nearbyint(to.x + length * std::cos(side)), std::nearbyint(to.y + length * std::sin(side))), to, color,
         thickness, type, shift);
} catch (...) {
  throw_as_error();
}

void rectangle(const MutableImageView& img, const Point& a, const Point& b, const Scalar4& color, int thickness, LineType type,
               int shift) try {
  const Canvas canvas("rectangle", img, color, type, thickness, shift, true);
  const std::vector<Point64> corners{{a.x, a.y}, {b.x, a.y}, {b.x, b.y}, {a.x, b.y}};
  if (thickness >= 0)
    canvas.polyline(corners, true, thickness, shift);
  else
    canvas.fill_convex(corners, shift);
} catch (...) {
  throw_as_error();
}

void rectangle(const MutableImageView& img, const Rect& r, const Scalar4& color, int thickness, LineType type, int shift) try {
  const Canvas canvas("rectangle", img, color, type, thickness, shift, true);
  // The part within the picture and one pixel around it.
  const int64_t one = int64_t{1} << shift;
  const int64_t left = std::max<int64_t>(r.x, -one), top = std::max<int64_t>(r.y, -one);
  const int64_t right = std::min(r.x + int64_t{r.width}, (img.width() + 1) * one) - one;
  const int64_t bottom = std::min(r.y + int64_t{r.height}, (img.height() + 1) * one) - one;
  if (right + one <= left || bottom + one <= top) return;
  const std::vector<Point64> corners{{left, top}, {right, top}, {right, bottom}, {left, bottom}};
  if (thickness >= 0)
    canvas.polyline(corners, true, thickness, shift);
  else
    canvas.fill_convex(corners, shift);
} catch (...) {
  throw_as_error();
}

void circle(const MutableImageView& img, const Point& center, int radius, const Scalar4& color, int thickness, LineType type,
            int shift) try {
  const Canvas canvas("circle", img, color, type, thickness, shift, true);
  if (radius < 0 || radius > 1 << 26) throw InvalidArgument("circle: the radius is {}, not 0 to {}", radius, 1 << 26);
  const bool plain = type == LineType::eight || (type == LineType::antialiased && !canvas.antialiased());
  if (thickness <= 1 && plain && shift == 0) return canvas.circle(wide(center), radius, thickness < 0);
  const int64_t size = radius * (kOne >> shift);
  canvas.ellipse(scaled(wide(center), shift), size, size, 0, 0, 360, thickness);
} catch (...) {
  throw_as_error();
}

void ellipse(const MutableImageView& img, const Point& center, const Size& axes, double angle, double start_angle, double end_angle,
             const Scalar4& color, int thickness, LineType type, int shift) try {
  const Canvas canvas("ellipse", img, color, type, thickness, shift, true);
  if (axes.width < 0 || axes.height < 0) throw InvalidArgument("ellipse: the axes are {} x {}", axes.width, axes.height);
  for (const double degrees : {angle, start_angle, end_angle})
    if (!(std::abs(degrees) < 0x1p31)) throw InvalidArgument("ellipse: an angle of {} degrees", degrees);
  const auto whole = [](double degrees) { return static_cast<int>(std::nearbyint(degrees)); };
  canvas.ellipse(scaled(wide(center), shift), axes.width * (kOne >> shift), axes.height * (kOne >> shift), whole(angle), whole(start_angle),
                 whole(end_angle), thickness);
} catch (...) {
  throw_as_error();
}

void ellipse(const MutableImageView& img, const Point2d& center, const Point2d& size, double angle, const Scalar4& color, int thickness,
             LineType type) try {
  const Canvas canvas("ellipse", img, color, type, thickness, 0, true);
  for (const double number : {center.x, center.y, size.x, size.y, angle})
    if (!(std::abs(number) < 0x1p31)) throw InvalidArgument("ellipse: the rotated rectangle has the number {}", number);
  if (size.x < 0 || size.y < 0) throw InvalidArgument("ellipse: the axes are {} x {}", size.x, size.y);
  // A whole number of pixels, then the fraction in floats.
  const auto fixed = [](double number, int64_t one) {
    const float value = static_cast<float>(number);
    const int64_t whole = static_cast<int64_t>(std::nearbyint(value));
    return whole * one + static_cast<int64_t>(std::nearbyint((value - static_cast<float>(whole)) * static_cast<float>(one)));
  };
  canvas.ellipse({fixed(center.x, kOne), fixed(center.y, kOne)}, fixed(size.x, kOne / 2), fixed(size.y, kOne / 2),
                 static_cast<int>(std::nearbyint(static_cast<float>(angle))), 0, 360, thickness);
} catch (...) {
  throw_as_error();
}

void polylines(const MutableImageView& img, const std::vector<Polygon>& lines, bool closed, const Scalar4& color, int thickness,
               LineType type, int shift) try {
  const Canvas canvas("polylines", img, color, type, thickness, shift, false);
  for (const Polygon& points : lines) canvas.polyline(wide(points), closed, thickness, shift);
} catch (...) {
  throw_as_error();
}

void fill_poly(const MutableImageView& img, const std::vector<Polygon>& polygons, const Scalar4& color, LineType type, int shift,
               const Point& offset) try {
  const Canvas canvas("fillPoly", img, color, type, 0, shift, false);
  std::vector<Canvas::Edge> edges;
  for (const Polygon& points : polygons)
    if (!points.empty()) canvas.add_edges(wide(points), edges, shift, offset);
  canvas.fill_edges(std::move(edges));
} catch (...) {
  throw_as_error();
}

void fill_convex_poly(const MutableImageView& img, const Polygon& polygon, const Scalar4& color, LineType type, int shift) try {
  const Canvas canvas("fillConvexPoly", img, color, type, 0, shift, false);
  if (!polygon.empty()) canvas.fill_convex(wide(polygon), shift);
} catch (...) {
  throw_as_error();
}

namespace {

/// The contours of a hierarchy up to a level, the outermost being 0. index: of the one whose inner contours are wanted, else all.
std::vector<size_t> contours_within(const std::vector<std::array<int, 4>>& hierarchy, int index, int most_level) {
  const int64_t count = static_cast<int64_t>(hierarchy.size());
  for (const auto& row : hierarchy)
    for (const int other : row)
      if (other >= count) throw InvalidArgument("drawContours: the hierarchy names contour {} of {}", other, count);
  const auto at = [&](int i) -> const std::array<int, 4>& { return hierarchy[static_cast<size_t>(i)]; };
  std::vector<size_t> chosen;
  std::vector<std::pair<int, int>> waiting;  // contours and their levels
  for (int i = std::max(index, 0); i < (index >= 0 ? index + 1 : count); ++i) {
    if (index < 0 && at(i)[3] >= 0) continue;
    int level = 0;
    for (int outer = at(i)[3]; outer >= 0 && level <= count; outer = at(outer)[3]) ++level;
    waiting.push_back({i, level});
  }
  std::vector<bool> seen(static_cast<size_t>(count));
  while (!waiting.empty()) {
    const auto [i, level] = waiting.back();
    waiting.pop_back();
    if (seen[static_cast<size_t>(i)] || level > count) throw InvalidArgument("drawContours: the hierarchy is no tree at contour {}", i);
    seen[static_cast<size_t>(i)] = true;
    if (level <= most_level) chosen.push_back(static_cast<size_t>(i));
    size_t inner = 0;
    for (int next = at(i)[2]; next > 0; next = at(next)[0]) {
      if (++inner > hierarchy.size()) throw InvalidArgument("drawContours: the hierarchy is no tree at contour {}", next);
      waiting.push_back({next, level + 1});
    }
  }
  return chosen;
}

}  // namespace

void draw_contours(const MutableImageView& img, const std::vector<Polygon>& contours, int index, const Scalar4& color, int thickness,
                   LineType type, const std::vector<std::array<int, 4>>& hierarchy, int most_level, const Point& offset) try {
  const Canvas canvas("drawContours", img, color, type, thickness, 0, true);
  if (contours.empty()) return;
  if (index >= static_cast<int64_t>(contours.size()))
    throw InvalidArgument("drawContours: there is no contour {} of {}", index, contours.size());
  std::vector<size_t> chosen;
  if (hierarchy.empty() || most_level == 0) {
    if (index >= 0)
      chosen.push_back(static_cast<size_t>(index));
    else
      for (size_t i = 0; i < contours.size(); ++i) chosen.push_back(i);
  } else {
    if (hierarchy.size() != contours.size())
      throw InvalidArgument("drawContours: a hierarchy of {} contours for {}", hierarchy.size(), contours.size());
    chosen = contours_within(hierarchy, index, most_level);
  }
  std::vector<Canvas::Edge> edges;
  for (const size_t i : chosen) {
    const Polygon& points = contours[i];
    if (points.empty()) continue;
    if (thickness < 0) {
      canvas.add_edges(wide(points), edges, 0, offset);
      continue;
    }
    const auto shifted = [&](const Point& p) { return Point64{int64_t{p.x} + offset.x, int64_t{p.y} + offset.y}; };
    for (size_t j = 0; j < points.size(); ++j)
      canvas.thick_line(shifted(points[j]), shifted(points[j + 1 == points.size() ? 0 : j + 1]), thickness, 2, 0);
  }
  canvas.fill_edges(std::move(edges));
} catch (...) {
  throw_as_error();
}

void draw_marker(const MutableImageView& img, const Point& position, const Scalar4& color, Marker marker, int size, int thickness,
                 LineType type) try {
  const Canvas canvas("drawMarker", img, color, type, thickness, 0, false);
  if (thickness == 0) throw InvalidArgument("drawMarker: the thickness is 0");
  const int64_t h = size / 2;
  const auto stroke = [&](int x1, int y1, int x2, int y2) {
    canvas.thick_line({position.x + x1 * h, position.y + y1 * h}, {position.x + x2 * h, position.y + y2 * h}, thickness, 3, 0);
  };
  const auto cross = [&] { stroke(-1, 0, 1, 0), stroke(0, -1, 0, 1); };
  const auto tilted = [&] { stroke(-1, -1, 1, 1), stroke(1, -1, -1, 1); };
  switch (marker) {
    case Marker::tilted_cross:
      return tilted();
    case Marker::star:
      return cross(), tilted();
    case Marker::diamond:
      return stroke(0, -1, 1, 0), stroke(1, 0, 0, 1), stroke(0, 1, -1, 0), stroke(-1, 0, 0, -1);
    case Marker::square:
      return stroke(-1, -1, 1, -1), stroke(1, -1, 1, 1), stroke(1, 1, -1, 1), stroke(-1, 1, -1, -1);
    case Marker::triangle_up:
      return stroke(-1, 1, 1, 1), stroke(1, 1, 0, -1), stroke(0, -1, -1, 1);
    case Marker::triangle_down:
      return stroke(-1, -1, 1, -1), stroke(1, -1, 0, 1), stroke(0, 1, -1, -1);
    default:
      return cross();
  }
} catch (...) {
  throw_as_error();
}

ClippedLine clip_line(const Rect& r, const Point& from, const Point& to) try {
  Point64 a{int64_t{from.x} - r.x, int64_t{from.y} - r.y}, b{int64_t{to.x} - r.x, int64_t{to.y} - r.y};
  const bool inside = clip(r.width, r.height, a, b);
  const auto point = [&](const Point64& p) { return moved({}, static_cast<double>(p.x + r.x), static_cast<double>(p.y + r.y)); };
  return {inside, point(a), point(b)};
} catch (...) {
  throw_as_error();
}

Polygon ellipse_to_polygon(const Point& center, const Size& axes, int angle, int start_angle, int end_angle, int delta) try {
  if (delta <= 0 || delta > 180) throw InvalidArgument("ellipse2Poly: delta is {} degrees, not 1 to 180", delta);
  Polygon points;
  for (const Point2d& p : arc_points({static_cast<double>(center.x), static_cast<double>(center.y)}, axes.width, axes.height, angle,
                                     start_angle, end_angle, delta)) {
    const Point point = moved({}, std::nearbyint(p.x), std::nearbyint(p.y));
    if (points.empty() || !(point == points.back())) points.push_back(point);
  }
  if (points.size() == 1) points.assign(2, center);
  return points;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
