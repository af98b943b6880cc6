// SPDX-License-Identifier: Apache-2.0
// Ellipses of least squares.
#include <array>
#include <cfloat>
#include <numbers>
#include <numeric>

#include "base/no_memory.h"
#include "vision/matrix.h"
#include "vision/points/finite_points.h"

namespace minnow::vision {
namespace {

constexpr double kPi = std::numbers::pi;

/// The center of points, and the factor by which their distances from it become small numbers.
struct Normalized {
  Point2d center;
  double spread = 0, scale = 0;
  explicit Normalized(const std::vector<Point2f>& points) {
    for (const Point2f& p : points) center.x += p.x, center.y += p.y;
    center.x /= static_cast<double>(points.size());
    center.y /= static_cast<double>(points.size());
    for (const Point2f& p : points) spread += std::fabs(p.x - center.x) + std::fabs(p.y - center.y);
    scale = 100 / std::max<double>(spread, FLT_EPSILON);
  }
};

RotatedRect fit_general(const std::vector<Point2f>& points) {
  const size_t n = points.size();
  Point2f c;
  for (const Point2f& p : points) c.x += p.x, c.y += p.y;
  c.x /= static_cast<float>(n);
  c.y /= static_cast<float>(n);
  double spread = 0;
  for (const Point2f& p : points) spread += static_cast<double>(std::fabs(p.x - c.x)) + static_cast<double>(std::fabs(p.y - c.y));
  const double scale = 100 / std::max<double>(spread, FLT_EPSILON);
  std::vector<Point2f> moved = points;
  std::vector<double> a(n * 5), b(n, 10000.);
  double x[5];
  for (int attempt = 0;; ++attempt) {
    for (size_t i = 0; i < n; ++i) {
      const double px = (moved[i].x - c.x) * scale, py = (moved[i].y - c.y) * scale;
      double* const row = a.data() + 5 * i;
      row[0] = -px * px, row[1] = -py * py, row[2] = -px * py, row[3] = px, row[4] = py;
    }
    if (least_squares(a.data(), n, 5, b.data(), 1, x) >= static_cast<double>(FLT_EPSILON) || attempt == 1) break;
    // Points of a line or so: a little elsewhere they have an ellipse.
    const float e = static_cast<float>(spread / (static_cast<double>(n) * 2) * 1e-3);
    for (Point2f& p : moved) {
      const float dx = thread_random().uniform(-e, e);
      p = {p.x + dx, p.y + thread_random().uniform(-e, e)};
    }
  }
  double center[2];
  const double form[4] = {2 * x[0], x[2], x[2], 2 * x[1]};
  least_squares(form, 2, 2, x + 3, 1, center);
  a.resize(n * 3);
  b.assign(n, 1.);
  for (size_t i = 0; i < n; ++i) {
    const double px = (moved[i].x - c.x) * scale - center[0], py = (moved[i].y - c.y) * scale - center[1];
    a[3 * i] = px * px, a[3 * i + 1] = py * py, a[3 * i + 2] = px * py;
  }
  double g[3];
  least_squares(a.data(), n, 3, b.data(), 1, g);
  const double angle = -0.5 * std::atan2(g[2], g[1] - g[0]);
  const double t = std::fabs(g[2]) > 1e-8 ? g[2] / std::sin(-2 * angle) : g[1] - g[0];
  const auto radius = [](double r) { return r > 1e-8 ? std::sqrt(2 / r) : r; };
  const double r1 = radius(std::fabs(g[0] + g[1] - t)), r2 = radius(std::fabs(g[0] + g[1] + t));
  RotatedRect box{{static_cast<float>(center[0] / scale) + c.x, static_cast<float>(center[1] / scale) + c.y},
                  static_cast<float>(r1 * 2 / scale),
                  static_cast<float>(r2 * 2 / scale),
                  0};
  if (box.width > box.height) {
    std::swap(box.width, box.height);
    box.angle = static_cast<float>(90 + angle * 180 / kPi);
  }
  if (box.angle < -180) box.angle += 360;
  if (box.angle > 360) box.angle -= 360;
  return box;
}

/// Real parts of the eigenvalues of a 3x3 matrix, and vectors of length 1.
void eigen3(const double* m, double values[3], double vectors[3][3]) {
  const double trace = m[0] + m[4] + m[8];
  const double minors = m[0] * m[4] - m[1] * m[3] + m[0] * m[8] - m[2] * m[6] + m[4] * m[8] - m[5] * m[7];
  const double det = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
  // l^3 - trace l^2 + minors l - det = 0, with l = t + trace / 3
  const double p = minors - trace * trace / 3, q = -2 * trace * trace * trace / 27 + trace * minors / 3 - det;
  const double d = q * q / 4 + p * p * p / 27;
  if (d > 0) {
    const double s = std::sqrt(d), u = std::cbrt(-q / 2 + s), v = std::cbrt(-q / 2 - s);
    values[0] = u + v;
    values[1] = values[2] = -(u + v) / 2;
  } else {
    const double r = std::sqrt(-p / 3), angle = r > 0 ? std::acos(std::clamp(-q / (2 * r * r * r), -1., 1.)) : 0;
    for (int k = 0; k < 3; ++k) values[k] = 2 * r * std::cos((angle + 2 * kPi * k) / 3);
  }
  for (int k = 0; k < 3; ++k) {
    double l = values[k] + trace / 3;
    for (int step = 0; step < 3; ++step) {
      const double f = ((l - trace) * l + minors) * l - det, slope = (3 * l - 2 * trace) * l + minors;
      if (slope == 0 || !(std::fabs(f / slope) < 1e-3 * std::fabs(l))) break;
      l -= f / slope;
    }
    values[k] = l;
    const double r[3][3] = {{m[0] - l, m[1], m[2]}, {m[3], m[4] - l, m[5]}, {m[6], m[7], m[8] - l}};
    double best = -1;
    for (int i = 0; i < 3; ++i) {
      const double *a = r[i], *b = r[(i + 1) % 3];
      const double v[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
      const double size = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
      if (size <= best) continue;
      best = size;
      const double scale = size > 0 ? 1 / std::sqrt(size) : 0;
      for (int c = 0; c < 3; ++c) vectors[k][c] = v[c] * scale;
    }
  }
}

/// The ellipse where v0 x x + v1 x y + v2 y y + v3 x + v4 y + v5 = 0, of points that were moved by `center` and scaled. False for another
/// conic.
bool box_of_conic(const std::array<double, 6>& v, const Point2d& center, double scale, RotatedRect& box) {
  const double l3 = v[1] * v[1] - 4 * v[0] * v[2];
  if (!(l3 < 0)) return false;
  const double u1 = v[2] * v[3] * v[3] - v[1] * v[3] * v[4] + v[0] * v[4] * v[4] + v[1] * v[1] * v[5], u2 = v[0] * v[2] * v[5];
  const double l1 = std::sqrt(v[1] * v[1] + (v[0] - v[2]) * (v[0] - v[2])), l2 = v[0] + v[2];
  const double a = std::sqrt(2.) * std::sqrt((u1 - 4 * u2) / ((l1 - l2) * l3)) / scale;
  const double b = std::sqrt(2.) * std::sqrt(-((u1 - 4 * u2) / ((l1 + l2) * l3))) / scale;
  const double angle = v[1] == 0 ? (v[0] < v[2] ? 0 : kPi / 2) : kPi / 2 + 0.5 * std::atan2(v[1], v[0] - v[2]);
  box.center = {static_cast<float>((2 * v[2] * v[3] - v[1] * v[4]) / l3 / scale + center.x),
                static_cast<float>((2 * v[0] * v[4] - v[1] * v[3]) / l3 / scale + center.y)};
  box.width = static_cast<float>(2 * a);
  box.height = static_cast<float>(2 * b);
  double degrees = angle * 180 / kPi;
  if (box.width > box.height) {
    std::swap(box.width, box.height);
    degrees += 90;
  }
  box.angle = static_cast<float>(std::fmod(degrees, 180.));
  return true;
}

/// Nothing where no vector satisfies the condition of an ellipse.
bool fit_direct(const std::vector<Point2f>& points, RotatedRect& box) {
  const double n = static_cast<double>(points.size());
  const auto [center, spread, scale] = Normalized(points);
  float slack = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    // The scatter of (x x, x y, y y) and (x, y, 1): quadratic, mixed and linear parts.
    double quadratic[9] = {}, mixed[9] = {}, linear[9] = {};
    for (const Point2f& point : points) {
      const float ox = thread_random().uniform(-slack, slack), oy = thread_random().uniform(-slack, slack);
      const double x = (static_cast<double>(point.x + ox) - center.x) * scale, y = (static_cast<double>(point.y + oy) - center.y) * scale;
      const double q[3] = {x * x, x * y, y * y}, l[3] = {x, y, 1};
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) quadratic[3 * i + j] += q[i] * q[j], mixed[3 * i + j] += q[i] * l[j], linear[3 * i + j] += l[i] * l[j];
    }
    for (int i = 0; i < 9; ++i) quadratic[i] /= n, mixed[i] /= n, linear[i] /= n;
    slack = static_cast<float>(spread / (n * 2) * 1e-2);
    const double det = linear[0] * (linear[4] * linear[8] - linear[5] * linear[7]) -
                       linear[1] * (linear[3] * linear[8] - linear[5] * linear[6]) +
                       linear[2] * (linear[3] * linear[7] - linear[4] * linear[6]);
    if (std::fabs(det) < DBL_EPSILON) continue;
    const std::vector<double> inverse = inverse3(linear);
    double turned[9], t[9], reduced[9];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) turned[3 * i + j] = mixed[3 * j + i];
    multiply3(inverse.data(), turned, t);  // the linear part is -t times the quadratic one
    for (double& value : t) value = -value;
    multiply3(mixed, t, reduced);
    for (int i = 0; i < 9; ++i) reduced[i] += quadratic[i];
    const double m[9] = {reduced[6] / 2, reduced[7] / 2, reduced[8] / 2, -reduced[3],   -reduced[4],
                         -reduced[5],    reduced[0] / 2, reduced[1] / 2, reduced[2] / 2};
    double values[3], vectors[3][3];
    eigen3(m, values, vectors);
    int best = 0;
    double condition[3];
    for (int k = 0; k < 3; ++k) {
      condition[k] = 4 * vectors[k][0] * vectors[k][2] - vectors[k][1] * vectors[k][1];
      if (condition[k] > condition[best]) best = k;
    }
    if (!(condition[best] > 1e-6)) continue;
    double v[3] = {vectors[best][0], vectors[best][1], vectors[best][2]};
    if ((v[0] < 0) ^ (v[1] < 0) ^ (v[2] < 0))
      for (double& value : v) value = -value;
    double q[3];
    for (int i = 0; i < 3; ++i) q[i] = t[3 * i] * v[0] + t[3 * i + 1] * v[1] + t[3 * i + 2] * v[2];
    return box_of_conic({v[0], v[1], v[2], q[0], q[1], q[2]}, center, scale, box);
  }
  return false;
}

/// False where the best conic is no ellipse. The constant of the conic follows from its other coefficients; their scatter and that of their
/// gradients have a common eigenvector.
bool fit_mean_square(const std::vector<Point2f>& points, RotatedRect& box) {
  const Normalized n(points);
  double mean[5] = {}, scatter[25] = {}, slopes[25] = {};
  const double share = 1 / static_cast<double>(points.size());
  for (const Point2f& point : points) {
    const double x = (point.x - n.center.x) * n.scale, y = (point.y - n.center.y) * n.scale;
    const double terms[5] = {x * x, x * y, y * y, x, y}, dx[5] = {2 * x, y, 0, 1, 0}, dy[5] = {0, x, 2 * y, 0, 1};
    for (int i = 0; i < 5; ++i) {
      mean[i] += terms[i] * share;
      for (int j = 0; j < 5; ++j) {
        scatter[5 * i + j] += terms[i] * terms[j] * share;
        slopes[5 * i + j] += (dx[i] * dx[j] + dy[i] * dy[j]) * share;
      }
    }
  }
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) scatter[5 * i + j] -= mean[i] * mean[j];
  // slopes = V W V'; with B = V / sqrt(W) the matrix B' scatter B is symmetric, and its least eigenvector e gives the coefficients B e.
  double w[5], v[25], half[25], middle[25], values[5], vectors[25];
  jacobi_eigen(slopes, 5, w, v);
  if (!(w[4] > DBL_EPSILON * w[0])) return false;
  for (int k = 0; k < 5; ++k)
    for (int i = 0; i < 5; ++i) v[5 * k + i] /= std::sqrt(w[k]);
  const auto times_transposed = [](const double* a, const double* b, double* product) {
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 5; ++j) product[5 * i + j] = std::inner_product(a + 5 * i, a + 5 * i + 5, b + 5 * j, 0.);
  };
  times_transposed(v, scatter, half);
  times_transposed(half, v, middle);
  jacobi_eigen(middle, 5, values, vectors);
  std::array<double, 6> conic{};
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 5; ++k) conic[static_cast<size_t>(i)] += v[5 * k + i] * vectors[20 + k];
    conic[5] -= conic[static_cast<size_t>(i)] * mean[i];
  }
  if (conic[0] + conic[2] < 0)
    for (double& value : conic) value = -value;
  return box_of_conic(conic, n.center, n.scale, box);
}

}  // namespace

RotatedRect fit_ellipse(const TensorView& array) {
  try {
    const std::vector<Point2f> points = finite_points("fitEllipse", array, 5);
    RotatedRect box;
    if (points.size() == 5 && fit_direct(points, box)) return box;
    return fit_general(points);
  } catch (...) {
    throw_as_error();
  }
}

RotatedRect fit_ellipse_direct(const TensorView& array) {
  try {
    const std::vector<Point2f> points = finite_points("fitEllipseDirect", array, 5);
    RotatedRect box;
    return fit_direct(points, box) ? box : fit_general(points);
  } catch (...) {
    throw_as_error();
  }
}

RotatedRect fit_ellipse_mean_square(const TensorView& array) {
  try {
    const std::vector<Point2f> points = finite_points("fitEllipseAMS", array, 5);
    RotatedRect box;
    return fit_mean_square(points, box) || fit_direct(points, box) ? box : fit_general(points);
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
