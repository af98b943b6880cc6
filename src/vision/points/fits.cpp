// SPDX-License-Identifier: Apache-2.0
#include <cfloat>
#include <numbers>
#include <span>

#include "base/no_memory.h"
#include "vision/matrix.h"
#include "vision/points/finite_points.h"

namespace minnow::vision {
namespace {

constexpr double kPi = std::numbers::pi;

Point2f operator+(const Point2f& a, const Point2f& b) { return {a.x + b.x, a.y + b.y}; }
Point2f operator-(const Point2f& a, const Point2f& b) { return {a.x - b.x, a.y - b.y}; }
float cross(const Point2f& a, const Point2f& b) { return a.x * b.y - a.y * b.x; }
double length(const Point2f& p) { return std::sqrt(static_cast<double>(p.x) * p.x + static_cast<double>(p.y) * p.y); }

/// The smallest rectangle around a convex polygon whose points run counterclockwise (y points up): a corner and two sides.
struct Calipers {
  Point2f corner, side, other;
};

Calipers smallest_rectangle(const std::vector<Point2f>& points) {
  const size_t n = points.size();
  std::vector<Point2f> edge(n);
  std::vector<float> scale(n);
  size_t left = 0, right = 0, top = 0, bottom = 0;
  for (size_t i = 0; i < n; ++i) {
    if (points[i].x < points[left].x) left = i;
    if (points[i].x > points[right].x) right = i;
    if (points[i].y > points[top].y) top = i;
    if (points[i].y < points[bottom].y) bottom = i;
    edge[i] = points[i + 1 < n ? i + 1 : 0] - points[i];
    const double dx = edge[i].x, dy = edge[i].y;
    scale[i] = static_cast<float>(1 / std::sqrt(dx * dx + dy * dy));
  }
  size_t touched[4] = {bottom, right, top, left};  // by the four sides, which turn together
  // A vector turned back to where side 0 lies.
  const auto turned = [](Point2f v, size_t side) {
    return side == 0 ? v : side == 1 ? Point2f{v.y, -v.x} : side == 2 ? Point2f{-v.x, -v.y} : Point2f{-v.y, v.x};
  };
  float least = FLT_MAX, a = 1, b = 0, width = 0, height = 0;
  float best_a = 1, best_b = 0;
  size_t best_left = left, best_bottom = bottom;
  for (size_t k = 0; k < n; ++k) {
    // The side that meets an edge first.
    size_t main = 0;
    for (size_t i = 1; i < 4; ++i) {
      const Point2f candidate = turned(edge[touched[i]], i), best = turned(edge[touched[main]], main);
      if (candidate.y * best.x - candidate.x * best.y < 0) main = i;
    }
    const size_t at = touched[main];
    const Point2f lead = turned({edge[at].x * scale[at], edge[at].y * scale[at]}, main);
    a = lead.x;
    b = lead.y;
    touched[main] = at + 1 == n ? 0 : at + 1;
    const Point2f across = points[touched[1]] - points[touched[3]], up = points[touched[2]] - points[touched[0]];
    const float w = across.x * a + across.y * b, h = -up.x * b + up.y * a;
    if (w * h <= least) {
      least = w * h;
      best_a = a, best_b = b, width = w, height = h;
      best_left = touched[3], best_bottom = touched[0];
    }
  }
  const float c1 = best_a * points[best_left].x + points[best_left].y * best_b;
  const float c2 = -best_b * points[best_bottom].x + points[best_bottom].y * best_a;
  const float inverse = 1.f / (best_a * best_a + best_b * best_b);
  return {{(c1 * best_a - c2 * best_b) * inverse, (best_a * c2 + best_b * c1) * inverse},
          {best_a * width, best_b * width},
          {-best_b * height, best_a * height}};
}

void corners_of(const RotatedRect& box, Point2f corners[4]) {
  const double angle = box.angle * kPi / 180;
  const float b = static_cast<float>(std::cos(angle)) * 0.5f, a = static_cast<float>(std::sin(angle)) * 0.5f;
  const float ah = a * box.height, aw = a * box.width, bh = b * box.height, bw = b * box.width;
  const Point2f c = box.center;
  corners[0] = {c.x - ah - bw, c.y + bh - aw};
  corners[1] = {c.x + ah - bw, c.y - bh - aw};
  corners[2] = {c.x + ah + bw, c.y - bh + aw};
  corners[3] = {c.x - ah + bw, c.y + bh + aw};
}

// ---- Lines

/// A direction and a point of `kSize` coordinates.
template <size_t kSize>
using Line = std::array<float, 2 * kSize>;

template <size_t kSize>
Line<kSize> weighted_line(std::span<const float> points, const float* weights) {
  const size_t n = points.size() / kSize;
  if constexpr (kSize == 2) {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0, w = 0;
    for (size_t i = 0; i < n; ++i) {
      const float px = points[2 * i], py = points[2 * i + 1];
      if (weights) {
        const float wx = weights[i] * px, wy = weights[i] * py;
        x += wx, y += wy, xx += wx * px, yy += wy * py, xy += wx * py, w += weights[i];
      } else {
        x += px, y += py, xx += px * px, yy += py * py, xy += px * py;
      }
    }
    if (!weights) w = static_cast<float>(n);
    x /= w, y /= w, xx /= w, yy /= w, xy /= w;
    const float t = static_cast<float>(std::atan2(2 * (xy - x * y), (xx - x * x) - (yy - y * y))) / 2;
    return {static_cast<float>(std::cos(static_cast<double>(t))), static_cast<float>(std::sin(static_cast<double>(t))),
            static_cast<float>(x), static_cast<float>(y)};
  } else {
    float sum[3] = {}, products[6] = {}, w = 0;
    for (size_t i = 0; i < n; ++i) {
      const float *p = points.data() + 3 * i, weight = weights ? weights[i] : 1;
      const float part[6] = {p[0] * p[0], p[0] * p[1], p[0] * p[2], p[1] * p[1], p[1] * p[2], p[2] * p[2]};
      for (int k = 0; k < 6; ++k) products[k] += part[k] * weight;
      for (int k = 0; k < 3; ++k) sum[k] += p[k] * weight;
      w += weight;
    }
    for (float& value : products) value /= w;
    for (float& value : sum) value /= w;
    const float xx = products[0] - sum[0] * sum[0], xy = products[1] - sum[0] * sum[1], xz = products[2] - sum[0] * sum[2];
    const float yy = products[3] - sum[1] * sum[1], yz = products[4] - sum[1] * sum[2], zz = products[5] - sum[2] * sum[2];
    float matrix[9] = {zz + yy, -xy, -xz, -xy, xx + zz, -yz, -xz, -yz, yy + xx}, values[3], vectors[9];
    jacobi_eigen(matrix, 3, values, vectors);
    const size_t best = values[0] < values[1] ? (values[0] < values[2] ? 0 : 2) : (values[1] < values[2] ? 1 : 2);
    const float* const v = vectors + 3 * best;
    double size = 0;
    for (int k = 0; k < 3; ++k) size += static_cast<double>(v[k]) * v[k];
    const float norm = std::max(static_cast<float>(std::sqrt(size)), 1e-6f);
    return {v[0] / norm, v[1] / norm, v[2] / norm, sum[0], sum[1], sum[2]};
  }
}

template <size_t kSize>
double distances(std::span<const float> points, const Line<kSize>& line, std::vector<float>& result) {
  double sum = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    const float* const p = points.data() + kSize * i;
    if constexpr (kSize == 2) {
      result[i] = std::fabs(line[1] * (p[0] - line[2]) - line[0] * (p[1] - line[3]));
    } else {
      const float x = p[0] - line[3], y = p[1] - line[4], z = p[2] - line[5];
      const double a = line[1] * z - line[2] * y, b = line[2] * x - line[0] * z, c = line[0] * y - line[1] * x;
      result[i] = static_cast<float>(std::sqrt(a * a + b * b + c * c));
    }
    sum += result[i];
  }
  return sum;
}

float weight_of(Distance distance, float d, float c) {
  switch (distance) {
    case Distance::l1:
      return static_cast<float>(1 / std::max<double>(d, 1e-6));
    case Distance::l12:
      return 1 / static_cast<float>(std::sqrt(1 + static_cast<double>(d * d) * 0.5));
    case Distance::fair:
      return 1 / (1 + d * (c == 0 ? 1 / 1.3998f : 1 / c));
    case Distance::welsch: {
      const float scale = c == 0 ? 1 / 2.9846f : 1 / c;
      return static_cast<float>(std::exp(static_cast<double>(-d * d * scale * scale)));
    }
    default: {
      const float limit = c <= 0 ? 1.345f : c;
      return d < limit ? 1 : limit / d;
    }
  }
}

/// The best of 20 lines that start from 10 points and move by weights that their distances give.
template <size_t kSize>
Line<kSize> robust_line(std::span<const float> points, Distance distance, float parameter, float radius, float angle) {
  const size_t n = points.size() / kSize;
  if (distance == Distance::l2) return weighted_line<kSize>(points, nullptr);
  if (distance != Distance::l1 && distance != Distance::l12 && distance != Distance::fair && distance != Distance::welsch &&
      distance != Distance::huber)
    throw InvalidArgument("fitLine: there is no distance {}; there are DIST_L2, DIST_L1, DIST_L12, DIST_FAIR, DIST_WELSCH and DIST_HUBER",
                          static_cast<int>(distance));
  const double enough = static_cast<double>(n) * FLT_EPSILON;
  const float most_moved = radius != 0 ? radius : 1, most_turned = angle != 0 ? angle : 0.01f;
  Random random(~uint64_t{0});
  std::vector<float> weights(n), apart(n);
  Line<kSize> best{};
  double least = DBL_MAX, error = 0;
  for (int start = 0; start < 20; ++start) {
    std::fill(weights.begin(), weights.end(), 0.f);
    for (size_t i = 0; i < std::min<size_t>(n, 10);) {
      float& weight = weights[static_cast<size_t>(random.uniform(0, static_cast<int>(n)))];
      if (weight < FLT_EPSILON) weight = 1, ++i;
    }
    Line<kSize> line = weighted_line<kSize>(points, weights.data()), before{};
    for (int step = 0; step < 30; ++step) {
      if (step > 0) {
        double cosine = 0;
        for (size_t k = 0; k < kSize; ++k) cosine += static_cast<double>(line[k] * before[k]);
        if (std::fabs(std::acos(std::clamp(cosine, -1., 1.))) < static_cast<double>(most_turned)) {
          float moved;
          if constexpr (kSize == 2) {
            moved = std::max(std::fabs(line[2] - before[2]), std::fabs(line[3] - before[3]));
          } else {
            const float x = line[3] - before[3], y = line[4] - before[4], z = line[5] - before[5];
            const float ax = line[0] - before[0], ay = line[1] - before[1], az = line[2] - before[2];
            moved = std::max({std::fabs(y * az - z * ay), std::fabs(z * ax - x * az), std::fabs(x * ay - y * ax)});
          }
          if (moved < most_moved) break;
        }
      }
      error = distances<kSize>(points, line, apart);
      if (error < least) {
        least = error;
        best = line;
        if (error < enough) break;
      }
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += weights[i] = weight_of(distance, apart[i], parameter);
      if (std::fabs(sum) > static_cast<double>(FLT_EPSILON))
        for (float& weight : weights) weight = static_cast<float>(weight * (1 / sum));
      else
        std::fill(weights.begin(), weights.end(), 1.f);
      before = line;
      line = weighted_line<kSize>(points, weights.data());
    }
    if (least < enough) break;
  }
  return best;
}

}  // namespace

RotatedRect min_area_rect(const TensorView& points) {
  try {
    points_of("minAreaRect", points);
    const Tensor hull = convex_hull(points, false, true);
    RotatedRect box;
    double angle = -kPi / 2;
    const std::vector<Point2f> p = hull ? points_of("minAreaRect", hull).floats() : std::vector<Point2f>();
    if (p.size() > 2) {
      const auto [corner, side, other] = smallest_rectangle(p);
      box.center = {corner.x + (side.x + other.x) * 0.5f, corner.y + (side.y + other.y) * 0.5f};
      box.width = static_cast<float>(length(other));
      box.height = static_cast<float>(length(side));
      if (side.x == 0 && side.y > 0)
        std::swap(box.width, box.height);
      else
        angle = -std::atan2(static_cast<double>(side.x), static_cast<double>(side.y));
    } else if (p.size() == 2) {
      box.center = {(p[0].x + p[1].x) * 0.5f, (p[0].y + p[1].y) * 0.5f};
      const double dx = p[0].x - p[1].x, dy = p[0].y - p[1].y;
      box.height = static_cast<float>(std::sqrt(dx * dx + dy * dy));
      if (dx == 0) {
        std::swap(box.width, box.height);
      } else if (dy < 0) {
        angle = std::atan2(dy, dx);
        std::swap(box.width, box.height);
      } else if (dy > 0) {
        angle = -std::atan2(dx, dy);
      }
    } else if (p.size() == 1) {
      box.center = p[0];
    }
    box.angle = static_cast<float>(angle * 180 / kPi);
    return box;
  } catch (...) {
    throw_as_error();
  }
}

Tensor box_points(const RotatedRect& box) {
  try {
    Tensor corners(DType::f32, {4, 2});
    corners_of(box, static_cast<Point2f*>(corners.writable().data()));
    return corners;
  } catch (...) {
    throw_as_error();
  }
}

Tensor fit_line(const TensorView& array, Distance distance, double parameter, double radius, double angle) {
  try {
    int64_t count = 0;
    const bool flat = vectors_in(array, 2, count);
    if (!flat && !vectors_in(array, 3, count))
      throw InvalidArgument("fitLine: points have two or three coordinates, [n, 2], [n, 1, 2], [n, 3] or [n, 1, 3], not {}{}",
                            array.dtype(), array.shape());
    if (count == 0) throw InvalidArgument("fitLine: there are no points");
    std::vector<float> converted;
    std::span<const float> points;
    if (array.dtype() == DType::f32) {
      points = {array.data<float>(), static_cast<size_t>(array.elements())};
    } else if (array.dtype() == DType::i32) {
      converted.resize(static_cast<size_t>(array.elements()));
      std::transform(array.data<int32_t>(), array.data<int32_t>() + converted.size(), converted.begin(),
                     [](int32_t x) { return static_cast<float>(x); });
      points = converted;
    } else {
      const std::vector<double> numbers = coordinates_of("fitLine", "points", array, flat ? 2 : 3);
      converted.assign(numbers.begin(), numbers.end());
      points = converted;
    }
    const float p = static_cast<float>(parameter), r = static_cast<float>(radius), a = static_cast<float>(angle);
    Tensor result(DType::f32, {flat ? 4 : 6, 1});
    float* const to = static_cast<float*>(result.writable().data());
    if (flat)
      std::ranges::copy(robust_line<2>(points, distance, p, r, a), to);
    else
      std::ranges::copy(robust_line<3>(points, distance, p, r, a), to);
    return result;
  } catch (...) {
    throw_as_error();
  }
}

int rotated_rectangle_intersection(const RotatedRect& first, const RotatedRect& second, Tensor& region) {
  try {
    region = Tensor();
    if (!(first.width > 0 && first.height > 0 && second.width > 0 && second.height > 0)) return 0;
    // Around the origin floats are dense.
    const Point2f middle{(first.center.x + second.center.x) / 2, (first.center.y + second.center.y) / 2};
    RotatedRect a = first, b = second;
    a.center = a.center - middle;
    b.center = b.center - middle;
    Point2f p[2][4], side[2][4];
    corners_of(a, p[0]);
    corners_of(b, p[1]);
    const auto give = [&](const std::vector<Point2f>& points) {
      region = Tensor(DType::f32, {static_cast<int64_t>(points.size()), 1, 2});
      auto* const to = static_cast<Point2f*>(region.writable().data());
      for (size_t i = 0; i < points.size(); ++i) to[i] = points[i] + middle;
    };
    float same = 1e-6f * std::max(a.width * a.height, b.width * b.height);
    bool equal = true;
    for (int i = 0; i < 4; ++i) equal = equal && !(std::fabs(p[0][i].x - p[1][i].x) > same) && !(std::fabs(p[0][i].y - p[1][i].y) > same);
    if (equal) {
      give({p[0], p[0] + 4});
      return 2;
    }
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 2; ++k) {
        side[k][i] = p[k][(i + 1) % 4] - p[k][i];
        same = std::min(same, std::sqrt(side[k][i].x * side[k][i].x + side[k][i].y * side[k][i].y));
      }
    }
    same = std::max(1e-16f, same);
    std::vector<Point2f> points;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const Point2f apart = p[1][j] - p[0][i], v1 = side[0][i], v2 = side[1][j];
        const float det = v2.x * v1.y - v1.x * v2.y;
        if (!(std::fabs(det) >= 1e-12f)) continue;
        const float scale = 1 / det;
        const float t1 = (v2.x * apart.y - v2.y * apart.x) * scale, t2 = (v1.x * apart.y - v1.y * apart.x) * scale;
        if (t1 >= 0 && t1 <= 1 && t2 >= 0 && t2 <= 1) points.push_back({p[0][i].x + v1.x * t1, p[0][i].y + v1.y * t1});
      }
    }
    const int result = points.empty() ? 2 : 1;
    for (int k = 0; k < 2; ++k) {  // corners of one within the other
      for (int i = 0; i < 4; ++i) {
        int positive = 0;
        for (int j = 0; j < 4; ++j) {
          const Point2f apart = p[1 - k][j] - p[k][i], v = side[1 - k][j];
          positive += v.y * apart.x >= v.x * apart.y;
        }
        if (positive == 0 || positive == 4) points.push_back(p[k][i]);
      }
    }
    if (points.empty()) return 0;
    const auto squared = [](const Point2f& u, const Point2f& v) {
      const Point2f d = u - v;
      return d.x * d.x + d.y * d.y;
    };
    for (size_t i = 0; i < points.size(); ++i) {
      for (size_t j = i + 1; j < points.size();) {
        if (squared(points[i], points[j]) <= same) {
          points[j] = points.back();
          points.pop_back();
        } else {
          ++j;
        }
      }
    }
    while (points.size() > 8) {  // of the two that are nearest, one goes
      size_t last = 1;
      float least = squared(points[0], points[1]);
      for (size_t i = 0; i + 1 < points.size(); ++i) {
        for (size_t j = i + 1; j < points.size(); ++j) {
          const float d = squared(points[i], points[j]);
          if (d < least) least = d, last = j;
        }
      }
      points[last] = points.back();
      points.pop_back();
    }
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      Point2f direction = points[i + 1] - points[i];
      for (size_t j = i + 2; j < points.size(); ++j) {
        const Point2f other = points[j] - points[i];
        if (cross(direction, other) < 0) {
          std::swap(points[i + 1], points[j]);
          direction = other;
        }
      }
    }
    give(points);
    return result;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
