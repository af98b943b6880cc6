// SPDX-License-Identifier: Apache-2.0
#include <cfloat>

#include "base/no_memory.h"
#include "vision/loops/arithmetic.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

int sign(double x) { return (x > 0) - (x < 0); }

/// Positions of a closed or open polyline: from `first` to `last`, around the end.
struct Stretch {
  size_t first, last;
};

template <class T>
std::vector<PointOf<T>> simplified(std::span<const PointOf<T>> curve, bool closed, double epsilon) {
  using Wide = std::conditional_t<std::is_integral_v<T>, double, T>;
  const auto minus = [](const PointOf<T>& a, const PointOf<T>& b) {
    return PointOf<Wide>{static_cast<Wide>(a.x) - static_cast<Wide>(b.x), static_cast<Wide>(a.y) - static_cast<Wide>(b.y)};
  };
  const size_t count = curve.size();
  const double most = epsilon * epsilon;
  const auto after = [&](size_t i) { return i + 1 == count ? 0 : i + 1; };
  std::vector<PointOf<T>> kept;
  std::vector<Stretch> open;
  bool ring = closed;
  int rounds = 3;
  if (!ring) {
    if (curve[0] == curve[count - 1]) {
      ring = true;
      rounds = 1;
    } else {
      open.push_back({0, count - 1});
    }
  }
  if (ring) {
    // Two points that are far apart: the farthest from one, thrice.
    size_t from = 0, farthest = 0;
    double distance = 0;
    for (; rounds > 0; --rounds) {
      from = (from + farthest) % count;
      distance = 0;
      for (size_t j = 1; j < count; ++j) {
        const size_t k = from + j < count ? from + j : from + j - count;
        const auto [x, y] = minus(curve[k], curve[from]);
        const double dx = x, dy = y, d = dx * dx + dy * dy;
        if (d > distance) distance = d, farthest = j;
      }
    }
    if (distance <= most) {
      kept.push_back(curve[from]);
    } else {
      const size_t other = (from + farthest) % count;
      open.push_back({other, from});
      open.push_back({from, other});
    }
  }
  while (!open.empty()) {
    const Stretch stretch = open.back();
    open.pop_back();
    const PointOf<T> start = curve[stretch.first], end = curve[stretch.last];
    size_t farthest = stretch.first;
    bool near = true;
    if (after(stretch.first) != stretch.last) {
      const auto [x, y] = minus(end, start);
      const double dx = x, dy = y, length = dx * dx + dy * dy;
      if (length == 0) throw InvalidArgument("approxPolyDP: the curve has two equal points where it was split");
      double distance = 0;
      for (size_t i = after(stretch.first); i != stretch.last; i = after(i)) {
        const auto [px, py] = minus(curve[i], start);
        const double along = px * dx + py * dy;
        double d;
        if (along < 0) {
          d = (px * px + py * py) * length;
        } else if (along > length) {
          const auto [qx, qy] = minus(curve[i], end);
          d = (qx * qx + qy * qy) * length;
        } else {
          const double cross = py * dx - px * dy;
          d = cross * cross;
        }
        if (d > distance) distance = d, farthest = i;
      }
      near = !(distance > most * length);  // also of NaN, so that each split has a point
    }
    if (near) {
      kept.push_back(start);
    } else {
      open.push_back({farthest, stretch.last});
      open.push_back({stretch.first, farthest});
    }
  }
  if (!ring) kept.push_back(curve[count - 1]);

  // Points on nearly straight lines go.
  const size_t size = kept.size();
  const size_t ends = closed ? 0 : 1;
  size_t left = size, position = closed ? size - 1 : 0;
  const auto read = [&] {
    const PointOf<T> p = kept[position];
    if (++position >= size) position = 0;
    return p;
  };
  PointOf<T> start = read();
  size_t write = position;
  PointOf<T> p = read();
  for (size_t i = ends; i + ends < size && left > 2; ++i) {
    const PointOf<T> end = read();
    const auto [x, y] = minus(end, start);
    const auto [px, py] = minus(p, start);
    const auto [qx, qy] = minus(end, p);
    const double dx = x, dy = y;
    const double distance = std::fabs(px * dy - py * dx);
    const double onward = px * qx + py * qy;
    const bool straight = distance * distance <= 0.5 * most * (dx * dx + dy * dy) && dx != 0 && dy != 0 && onward >= 0;
    start = straight ? end : p;
    kept[write] = start;
    if (++write >= size) write = 0;
    if (straight) {
      --left;
      p = read();
      ++i;
    } else {
      p = end;
    }
  }
  if (!closed) kept[write] = p;
  kept.resize(left);
  return kept;
}

// ---- Convex hulls

/// Half of a hull over sorted points, from position `start` to `end`. `rising`: the sign of changes of y that are passed over; `turn`: the
/// sign of a convex corner.
template <class T>
void half_hull(const std::vector<const PointOf<T>*>& sorted, int64_t start, int64_t end, int rising, int turn,
               std::vector<int64_t>& stack) {
  const auto at = [&](int64_t i) -> const PointOf<T>& { return *sorted[static_cast<size_t>(i)]; };
  const int64_t step = end > start ? 1 : -1;
  stack.clear();
  stack.push_back(start);
  if (start == end || at(start) == at(end)) return;
  int64_t previous = start, current = start + step, next = current + step;
  stack.push_back(current);
  stack.push_back(next);
  for (end += step; next != end;) {
    const T by = at(next).y - at(current).y;
    if (sign(static_cast<double>(by)) == rising) {
      next += step;
      stack.back() = next;
      continue;
    }
    bool convex;
    if constexpr (std::is_integral_v<T>) {
      const T ax = at(current).x - at(previous).x, ay = at(current).y - at(previous).y, bx = at(next).x - at(current).x;
      const int64_t cross = static_cast<int64_t>(ay) * bx - static_cast<int64_t>(ax) * by;
      convex = ((cross > 0) - (cross < 0)) == turn && (ax != 0 || ay != 0);
    } else {
      float ax = at(current).x - at(previous).x, ay = at(current).y - at(previous).y, bx = at(next).x - at(current).x, b = by;
      const auto normalize = [](float& x, float& y) {
        const double length = std::sqrt(static_cast<double>(x) * x + static_cast<double>(y) * y), scale = length ? 1 / length : 0;
        x = static_cast<float>(x * scale);
        y = static_cast<float>(y * scale);
      };
      normalize(ax, ay);
      normalize(bx, b);
      convex = sign(static_cast<double>(ay) * bx - static_cast<double>(ax) * b) == turn && (ax != 0 || ay != 0);
    }
    if (convex) {
      previous = current;
      current = next;
      next += step;
      stack.push_back(next);
    } else if (previous == start) {
      current = next;
      stack[1] = current;
      next += step;
      stack[2] = next;
    } else {
      stack[stack.size() - 2] = next;
      current = previous;
      previous = stack[stack.size() - 4];
      stack.pop_back();
    }
  }
  stack.pop_back();
}

/// Positions of a hull's corners among the points.
template <class T>
std::vector<int32_t> hull_of(std::span<const PointOf<T>> points, bool clockwise, bool indices) {
  const int64_t count = static_cast<int64_t>(points.size());
  std::vector<const PointOf<T>*> sorted(points.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = &points[i];
  std::sort(sorted.begin(), sorted.end(), [](const PointOf<T>* a, const PointOf<T>* b) {
    if (a->x != b->x) return a->x < b->x;
    if (a->y != b->y) return a->y < b->y;
    return a < b;
  });
  int64_t lowest = 0, highest = 0;
  for (int64_t i = 1; i < count; ++i) {
    const T y = sorted[static_cast<size_t>(i)]->y;
    if (sorted[static_cast<size_t>(lowest)]->y > y) lowest = i;
    if (sorted[static_cast<size_t>(highest)]->y < y) highest = i;
  }
  std::vector<int64_t> hull;
  if (*sorted[0] == *sorted[static_cast<size_t>(count - 1)]) {
    hull.push_back(0);
  } else {
    std::vector<int64_t> left, right;
    half_hull<T>(sorted, 0, highest, -1, 1, left);
    half_hull<T>(sorted, count - 1, highest, -1, -1, right);
    if (!clockwise) left.swap(right);
    hull.insert(hull.end(), left.begin(), left.end() - 1);
    hull.insert(hull.end(), right.rbegin(), right.rend() - 1);
    const int64_t stop = right.size() > 2 ? right[1] : left.size() > 2 ? left[left.size() - 2] : -1;
    half_hull<T>(sorted, 0, lowest, 1, -1, left);
    half_hull<T>(sorted, count - 1, lowest, 1, 1, right);
    if (clockwise) left.swap(right);
    if (stop >= 0) {
      const int64_t check = left.size() > 2 ? left[1] : left.size() + right.size() > 2 ? right[2 - left.size()] : -1;
      if (check == stop || (check >= 0 && *sorted[static_cast<size_t>(check)] == *sorted[static_cast<size_t>(stop)])) {
        // All points lie on a line: one side has them.
        left.resize(std::min<size_t>(left.size(), 2));
        right.resize(std::min<size_t>(right.size(), 2));
      }
    }
    hull.insert(hull.end(), left.begin(), left.end() - 1);
    hull.insert(hull.end(), right.rbegin(), right.rend() - 1);
    if (indices) {
      // Among equal points, choose one that keeps the positions in order.
      const size_t size = hull.size();
      for (size_t i = 0; i < size; ++i) {
        const auto* const before = sorted[static_cast<size_t>(hull[i == 0 ? size - 1 : i - 1])];
        const auto* const after = sorted[static_cast<size_t>(hull[(i + 1) % size])];
        const auto between = [&](const PointOf<T>* p) { return (before < p && p < after) || (before > p && p > after); };
        if (between(sorted[static_cast<size_t>(hull[i])])) continue;
        for (int64_t j = hull[i] + 1; j < count && *sorted[static_cast<size_t>(j)] == *sorted[static_cast<size_t>(hull[i])]; ++j) {
          if (!between(sorted[static_cast<size_t>(j)])) continue;
          hull[i] = j;
          break;
        }
      }
    }
  }
  std::vector<int32_t> positions;
  positions.reserve(hull.size());
  for (const int64_t i : hull) positions.push_back(static_cast<int32_t>(sorted[static_cast<size_t>(i)] - points.data()));

  // Where the corners are in the points' order but for a shift, they start at the first of them (or the last).
  const int size = static_cast<int>(positions.size());
  if (size < 3) return positions;
  const auto at = [&](int i) { return positions[static_cast<size_t>(i)]; };
  int least = 0, most = 0, rises = 0;
  for (int i = 1; i < size; ++i) {
    rises += at(i - 1) < at(i);
    if (rises > 1 && rises <= i - 2) break;
    if (at(i) < at(least)) least = i;
    if (at(i) > at(most)) most = i;
  }
  const int apart = std::abs(most - least);
  if ((apart != 1 && apart != size - 1) || (rises > 1 && rises < size - 2)) return positions;
  const bool ascending = (most + 1) % size == least;
  const int start = ascending ? least : most;
  if (start == 0) return positions;
  std::vector<int32_t> shifted(positions.begin() + start, positions.end());
  shifted.insert(shifted.end(), positions.begin(), positions.begin() + start);
  for (size_t i = 0; i + 1 < shifted.size(); ++i)
    if (ascending != (shifted[i] < shifted[i + 1])) return positions;
  return shifted;
}

template <class T>
bool convex(std::span<const PointOf<T>> points) {
  const size_t count = points.size();
  PointOf<T> current = points[count - 1], previous = points[(2 * count - 2) % count];
  T dx0 = current.x - previous.x, dy0 = current.y - previous.y;
  int turns = 0;
  for (const PointOf<T>& p : points) {
    const T dx = p.x - current.x, dy = p.y - current.y;
    const T a = static_cast<T>(dx * dy0), b = static_cast<T>(dy * dx0);
    turns |= b > a ? 1 : b < a ? 2 : 3;
    if (turns == 3) return false;
    current = p;
    dx0 = dx;
    dy0 = dy;
  }
  return true;
}

}  // namespace

Tensor approx_poly_dp(const TensorView& curve, double epsilon, bool closed) {
  try {
    if (!(epsilon >= 0 && epsilon < 1e30)) throw InvalidArgument("approxPolyDP: epsilon is at least 0 and below 1e30, not {}", epsilon);
    const Points points = points_of("approxPolyDP", curve);
    if (points.count == 0) return Tensor();
    return points.visit([&](auto span) {
      const auto kept = simplified(span, closed, epsilon);
      return tensor_of(std::span(kept));
    });
  } catch (...) {
    throw_as_error();
  }
}

double arc_length(const TensorView& curve, bool closed) {
  try {
    const Points points = points_of("arcLength", curve);
    if (points.count <= 1) return 0;
    constexpr size_t kBlock = 64;
    return points.visit([&](auto span) {
      float dx[kBlock], dy[kBlock];
      double length = 0;
      auto before = closed ? span.back() : span.front();
      for (size_t start = 0; start < span.size(); start += kBlock) {
        const size_t count = std::min(kBlock, span.size() - start);
        for (size_t i = 0; i < count; ++i) {
          const auto& p = span[start + i];
          dx[i] = static_cast<float>(p.x) - static_cast<float>(before.x), dy[i] = static_cast<float>(p.y) - static_cast<float>(before.y);
          before = p;
        }
        arithmetic_loops().magnitude_f32(dx, dy, dx, count);
        double sums[4] = {};
        size_t i = 0;
        for (; i + 4 <= count; i += 4)
          for (size_t k = 0; k < 4; ++k) sums[k] += static_cast<double>(dx[i + k]);
        for (; i < count; ++i) sums[0] += static_cast<double>(dx[i]);
        length += (sums[0] + sums[1]) + (sums[2] + sums[3]);
      }
      return length;
    });
  } catch (...) {
    throw_as_error();
  }
}

double contour_area(const TensorView& contour, bool oriented) {
  try {
    const Points points = points_of("contourArea", contour);
    if (points.count == 0) return 0;
    const double doubled = points.visit([](auto span) {
      double sum = 0;
      auto before = span.back();
      for (const auto& p : span) {
        sum += static_cast<double>(static_cast<float>(before.x)) * static_cast<float>(p.y) -
               static_cast<double>(static_cast<float>(before.y)) * static_cast<float>(p.x);
        before = p;
      }
      return sum;
    });
    return oriented ? doubled * 0.5 : std::fabs(doubled * 0.5);
  } catch (...) {
    throw_as_error();
  }
}

Tensor convex_hull(const TensorView& array, bool clockwise, bool return_points) {
  try {
    const Points points = points_of("convexHull", array);
    if (points.count == 0) return Tensor();
    return points.visit([&](auto span) {
      if (points.integers) {
        for (const auto& p : span)
          if (std::abs(static_cast<double>(p.x)) > 0x3fffffff || std::abs(static_cast<double>(p.y)) > 0x3fffffff)
            throw InvalidArgument("convexHull: integers are within 30 bits");
      } else {
        for (const auto& p : span)
          if (!std::isfinite(static_cast<double>(p.x)) || !std::isfinite(static_cast<double>(p.y)))
            throw InvalidArgument("convexHull: points are finite");
      }
      const std::vector<int32_t> hull = hull_of(span, clockwise, !return_points);
      if (!return_points) {
        Tensor positions(DType::i32, {static_cast<int64_t>(hull.size()), 1});
        std::memcpy(positions.writable().data(), hull.data(), hull.size() * sizeof(int32_t));
        return positions;
      }
      std::vector<typename decltype(span)::value_type> corners;
      for (const int32_t i : hull) corners.push_back(span[static_cast<size_t>(i)]);
      return tensor_of(std::span<const typename decltype(span)::value_type>(corners));
    });
  } catch (...) {
    throw_as_error();
  }
}

Tensor convexity_defects(const TensorView& contour, const TensorView& hull) {
  try {
    const Points points = points_of("convexityDefects", contour);
    if (!points.integers && points.count) throw InvalidArgument("convexityDefects: the contour is i32, not f32");
    if (points.count <= 3) return Tensor();
    int64_t corners = 0;
    if (hull.dtype() != DType::i32 || !vectors_in(hull, 1, corners) || corners == 0)
      throw InvalidArgument("convexityDefects: the hull is i32[n, 1], positions of points, not {}{}", hull.dtype(), hull.shape());
    if (corners < 3) return Tensor();
    const auto* const p = points.as<int>();
    const auto* const h = static_cast<const int32_t*>(hull.data());
    for (int64_t i = 0; i < corners; ++i)
      if (h[i] < 0 || h[i] >= points.count) throw InvalidArgument("convexityDefects: the hull names point {} of {}", h[i], points.count);
    const bool reversed = ((h[1] > h[0]) + (h[2] > h[1]) + (h[0] > h[2])) != 2;
    std::vector<int32_t> defects;
    int current = h[reversed ? 0 : corners - 1];
    int order = -1;
    for (int64_t i = 0; i < corners; ++i) {
      const int next = h[reversed ? corners - i - 1 : i];
      if (order < 0)
        order = !(current < next);
      else if (order != (current < next))
        throw InvalidArgument("convexityDefects: the hull's positions neither rise nor fall; the contour may cross itself");
      const double dx0 = p[next].x - p[current].x, dy0 = p[next].y - p[current].y;
      const double scale = dx0 == 0 && dy0 == 0 ? 0 : 1 / std::sqrt(dx0 * dx0 + dy0 * dy0);
      double depth = 0;
      int deepest = -1;
      for (int64_t j = current;;) {
        if (++j >= points.count) j = 0;
        if (j == next) break;
        const double dx = p[j].x - p[current].x, dy = p[j].y - p[current].y, distance = std::fabs(-dy0 * dx + dx0 * dy) * scale;
        if (distance > depth) depth = distance, deepest = static_cast<int>(j);
      }
      if (deepest >= 0)
        for (const int value : {current, next, deepest, static_cast<int>(std::lrint(depth * 256))}) defects.push_back(value);
      current = next;
    }
    if (defects.empty()) return Tensor();
    Tensor result(DType::i32, {static_cast<int64_t>(defects.size() / 4), 1, 4});
    std::memcpy(result.writable().data(), defects.data(), defects.size() * sizeof(int32_t));
    return result;
  } catch (...) {
    throw_as_error();
  }
}

bool is_contour_convex(const TensorView& contour) {
  try {
    const Points points = points_of("isContourConvex", contour);
    if (points.count == 0) return false;
    if (!points.integers) return convex(std::span(points.as<float>(), static_cast<size_t>(points.count)));
    std::vector<PointOf<int64_t>> wide;  // products of differences of i32
    for (int64_t i = 0; i < points.count; ++i) wide.push_back({points.as<int>()[i].x, points.as<int>()[i].y});
    return convex(std::span<const PointOf<int64_t>>(wide));
  } catch (...) {
    throw_as_error();
  }
}

Rect bounding_rect(const TensorView& array) {
  try {
    const DType dtype = array.dtype();
    if (dtype == DType::i32 || dtype == DType::f32) {
      const Points points = points_of("boundingRect", array);
      if (points.count == 0) return {};
      double left = 0, right = 0, top = 0, bottom = 0;
      points.visit([&](auto span) {
        auto low = span[0], high = span[0];
        for (const auto& p : span) {
          low.x = std::min(low.x, p.x), low.y = std::min(low.y, p.y);
          high.x = std::max(high.x, p.x), high.y = std::max(high.y, p.y);
        }
        left = std::floor(static_cast<double>(low.x)), top = std::floor(static_cast<double>(low.y));
        right = std::floor(static_cast<double>(high.x)), bottom = std::floor(static_cast<double>(high.y));
      });
      if (!(left >= INT32_MIN && top >= INT32_MIN && right - left < INT32_MAX && bottom - top < INT32_MAX))
        throw InvalidArgument("boundingRect: the rectangle is beyond 32 bits");
      return {static_cast<int>(left), static_cast<int>(top), static_cast<int>(right - left + 1), static_cast<int>(bottom - top + 1)};
    }
    const ImageView image(array);
    check_dtype("boundingRect", image, {DType::u8, DType::i8, DType::boolean});
    check_channels("boundingRect", image, {1});
    if (image.empty()) return {};
    int64_t left = image.width(), right = -1, top = -1, bottom = -1;
    for (int64_t y = 0; y < image.height(); ++y) {
      const uint8_t* const row = image.row<uint8_t>(y);
      const auto set = [](uint8_t value) { return value != 0; };
      const uint8_t* const first = std::find_if(row, row + image.width(), set);
      if (first == row + image.width()) continue;
      left = std::min<int64_t>(left, first - row);
      for (int64_t x = image.width() - 1; x > right; --x)
        if (row[x]) right = x;
      if (top < 0) top = y;
      bottom = y;
    }
    if (top < 0) return {};
    return {static_cast<int>(left), static_cast<int>(top), static_cast<int>(right - left + 1), static_cast<int>(bottom - top + 1)};
  } catch (...) {
    throw_as_error();
  }
}

double point_polygon_test(const TensorView& contour, Point2d at, bool measure) {
  try {
    const Points points = points_of("pointPolygonTest", contour);
    if (points.count == 0) return measure ? -DBL_MAX : -1;
    const float px = static_cast<float>(at.x), py = static_cast<float>(at.y);
    return points.visit([&](auto span) -> double {
      using P = typename decltype(span)::value_type;
      const auto x_of = [](const P& p) { return static_cast<double>(static_cast<float>(p.x)); };
      const auto y_of = [](const P& p) { return static_cast<double>(static_cast<float>(p.y)); };
      bool inside = false;
      double least = FLT_MAX, scale = 1;
      P before = span.back();
      for (const P& p : span) {
        const double ax = x_of(before), ay = y_of(before), bx = x_of(p), by = y_of(p);
        const double dx = static_cast<float>(bx) - static_cast<float>(ax), dy = static_cast<float>(by) - static_cast<float>(ay);
        before = p;
        const bool passed = (ay <= py && by <= py) || (ay > py && by > py) || (ax < px && bx < px);
        if (measure) {
          const double dx1 = px - static_cast<float>(ax), dy1 = py - static_cast<float>(ay);
          const double dx2 = px - static_cast<float>(bx), dy2 = py - static_cast<float>(by);
          double distance, length = 1;
          if (dx1 * dx + dy1 * dy <= 0) {
            distance = dx1 * dx1 + dy1 * dy1;
          } else if (dx2 * dx + dy2 * dy >= 0) {
            distance = dx2 * dx2 + dy2 * dy2;
          } else {
            distance = dy1 * dx - dx1 * dy;
            distance *= distance;
            length = dx * dx + dy * dy;
          }
          if (distance * scale < least * length) {
            least = distance;
            scale = length;
            if (least == 0) break;
          }
          if (passed) continue;
          const double side = dy1 * dx - dx1 * dy;
          inside ^= (dy < 0 ? -side : side) > 0;
          continue;
        }
        if (passed) {
          if (py == by && (px == bx || (py == ay && ((ax <= px && px <= bx) || (bx <= px && px <= ax))))) return 0;
          continue;
        }
        const double side = static_cast<double>(py - static_cast<float>(ay)) * dx - static_cast<double>(px - static_cast<float>(ax)) * dy;
        if (side == 0) return 0;
        inside ^= (by < ay ? -side : side) > 0;
      }
      if (!measure) return inside ? 1 : -1;
      const double distance = std::sqrt(least / scale);
      return inside ? distance : -distance;
    });
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
