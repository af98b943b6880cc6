// SPDX-License-Identifier: Apache-2.0
#include <cfloat>

#include "base/no_memory.h"
#include "vision/matrix.h"
#include "vision/points/robust.h"

namespace minnow::vision {
namespace {

/// Whether the last of some points lies on a line with two others.
bool last_on_line(const std::vector<Point2f>& points, const std::vector<int>& chosen) {
  const Point2f& last = points[static_cast<size_t>(chosen.back())];
  for (size_t j = 0; j + 1 < chosen.size(); ++j) {
    const Point2f& a = points[static_cast<size_t>(chosen[j])];
    const double dx1 = a.x - last.x, dy1 = a.y - last.y;
    for (size_t k = 0; k < j; ++k) {
      const Point2f& b = points[static_cast<size_t>(chosen[k])];
      const double dx2 = b.x - last.x, dy2 = b.y - last.y;
      if (std::fabs(dx2 * dy1 - dy2 * dx1) <=
          static_cast<double>(FLT_EPSILON) * (std::fabs(dx1) + std::fabs(dy1) + std::fabs(dx2) + std::fabs(dy2)))
        return true;
    }
  }
  return false;
}

class PlaneModel : public Model {
 public:
  PlaneModel(size_t least, const std::vector<Point2f>& from, const std::vector<Point2f>& to) : Model(least), from_(from), to_(to) {}
  size_t count() const noexcept override { return from_.size(); }

 protected:
  const std::vector<Point2f>&from_, &to_;
};

double scale_to_one(double last) { return std::fabs(last) > static_cast<double>(FLT_EPSILON) ? 1 / last : 1; }

class HomographyModel : public PlaneModel {
 public:
  HomographyModel(const std::vector<Point2f>& from, const std::vector<Point2f>& to) : PlaneModel(4, from, to) {}

  bool usable(const std::vector<int>& pairs) const override {
    if (last_on_line(from_, pairs) || last_on_line(to_, pairs)) return false;
    // All triangles keep their orientation, or none does.
    static constexpr size_t kTriangles[4][3] = {{0, 1, 2}, {1, 2, 3}, {0, 2, 3}, {0, 1, 3}};
    int turned = 0;
    for (const auto& t : kTriangles) {
      const auto area = [&](const std::vector<Point2f>& points) {
        const Point2f &a = points[static_cast<size_t>(pairs[t[0]])], &b = points[static_cast<size_t>(pairs[t[1]])],
                      &c = points[static_cast<size_t>(pairs[t[2]])];
        return static_cast<double>(a.x) * (static_cast<double>(b.y) - c.y) - static_cast<double>(a.y) * (static_cast<double>(b.x) - c.x) +
               (static_cast<double>(b.x) * c.y - static_cast<double>(b.y) * c.x);
      };
      turned += area(from_) * area(to_) < 0;
    }
    return turned == 0 || turned == 4;
  }

  /// The linear transform of coordinates that were moved to the center and scaled (R. Hartley, In defense of the eight-point algorithm,
  /// 1997).
  std::vector<std::vector<double>> fit(const std::vector<int>& pairs) const override {
    const double n = static_cast<double>(pairs.size());
    double center[4] = {}, spread[4] = {};
    const auto coordinates = [&](int i, double c[4]) {
      const Point2f &a = from_[static_cast<size_t>(i)], &b = to_[static_cast<size_t>(i)];
      c[0] = a.x, c[1] = a.y, c[2] = b.x, c[3] = b.y;
    };
    double c[4];
    for (const int i : pairs) {
      coordinates(i, c);
      for (int k = 0; k < 4; ++k) center[k] += c[k];
    }
    for (double& value : center) value /= n;
    for (const int i : pairs) {
      coordinates(i, c);
      for (int k = 0; k < 4; ++k) spread[k] += std::fabs(c[k] - center[k]);
    }
    for (double& value : spread) {
      if (!(value >= DBL_EPSILON)) return {};
      value = n / value;
    }
    double products[81] = {}, values[9], vectors[81];
    for (const int i : pairs) {
      coordinates(i, c);
      for (int k = 0; k < 4; ++k) c[k] = (c[k] - center[k]) * spread[k];
      const double X = c[0], Y = c[1], x = c[2], y = c[3];
      const double rows[2][9] = {{X, Y, 1, 0, 0, 0, -x * X, -x * Y, -x}, {0, 0, 0, X, Y, 1, -y * X, -y * Y, -y}};
      for (int j = 0; j < 9; ++j)
        for (int k = j; k < 9; ++k) products[9 * j + k] += rows[0][j] * rows[0][k] + rows[1][j] * rows[1][k];
    }
    for (int j = 0; j < 9; ++j)
      for (int k = 0; k < j; ++k) products[9 * j + k] = products[9 * k + j];
    jacobi_eigen(products, 9, values, vectors);
    const double back[9] = {1 / spread[2], 0, center[2], 0, 1 / spread[3], center[3], 0, 0, 1};
    const double there[9] = {spread[0], 0, -center[0] * spread[0], 0, spread[1], -center[1] * spread[1], 0, 0, 1};
    std::vector<double> h(9);
    multiply3(back, vectors + 72, h.data());
    multiply3(h.data(), there, h.data());
    const double scale = scale_to_one(h[8]);
    for (double& value : h) value *= scale;
    return {h};
  }

  void errors(const std::vector<double>& model, std::vector<float>& errors) const override {
    float h[9];
    for (size_t i = 0; i < 9; ++i) h[i] = static_cast<float>(model[i]);
    errors.resize(from_.size());
    for (size_t i = 0; i < from_.size(); ++i) {
      const Point2f &p = from_[i], &q = to_[i];
      const float w = 1 / (h[6] * p.x + h[7] * p.y + h[8]);
      const float dx = (h[0] * p.x + h[1] * p.y + h[2]) * w - q.x, dy = (h[3] * p.x + h[4] * p.y + h[5]) * w - q.y;
      errors[i] = dx * dx + dy * dy;
    }
  }
};

class AffineModel : public PlaneModel {
 public:
  AffineModel(const std::vector<Point2f>& from, const std::vector<Point2f>& to, bool partial)
      : PlaneModel(partial ? 2 : 3, from, to), partial_(partial) {}

  bool usable(const std::vector<int>& pairs) const override { return !last_on_line(from_, pairs) && !last_on_line(to_, pairs); }

  std::vector<std::vector<double>> fit(const std::vector<int>& pairs) const override {
    double x[3], y[3], X[3], Y[3];
    for (size_t i = 0; i < least(); ++i) {
      const Point2f &p = from_[static_cast<size_t>(pairs[i])], &q = to_[static_cast<size_t>(pairs[i])];
      x[i] = p.x, y[i] = p.y, X[i] = q.x, Y[i] = q.y;
    }
    if (partial_) {
      const double dx = x[0] - x[1], dy = y[0] - y[1], dX = X[0] - X[1], dY = Y[0] - Y[1], d = 1 / (dx * dx + dy * dy);
      const double a = d * (dX * dx + dY * dy), b = d * (dY * dx - dX * dy), cross = x[0] * y[1] - x[1] * y[0];
      const double tx = d * (dY * cross - (X[0] * y[1] - X[1] * y[0]) * dy - (X[0] * x[1] - X[1] * x[0]) * dx);
      const double ty = d * (-dX * cross - (Y[0] * x[1] - Y[1] * x[0]) * dx - (Y[0] * y[1] - Y[1] * y[0]) * dy);
      return {{a, -b, tx, b, a, ty}};
    }
    const double d = 1 / (x[0] * (y[1] - y[2]) + x[1] * (y[2] - y[0]) + x[2] * (y[0] - y[1]));
    std::vector<double> m;
    for (const double* v : {X, Y}) {
      m.push_back(d * (v[0] * (y[1] - y[2]) + v[1] * (y[2] - y[0]) + v[2] * (y[0] - y[1])));
      m.push_back(d * (v[0] * (x[2] - x[1]) + v[1] * (x[0] - x[2]) + v[2] * (x[1] - x[0])));
      m.push_back(d * (v[0] * (x[1] * y[2] - x[2] * y[1]) + v[1] * (x[2] * y[0] - x[0] * y[2]) + v[2] * (x[0] * y[1] - x[1] * y[0])));
    }
    return {m};
  }

  void errors(const std::vector<double>& model, std::vector<float>& errors) const override {
    float m[6];
    for (size_t i = 0; i < 6; ++i) m[i] = static_cast<float>(model[i]);
    errors.resize(from_.size());
    for (size_t i = 0; i < from_.size(); ++i) {
      const Point2f &p = from_[i], &q = to_[i];
      const float dx = m[0] * p.x + m[1] * p.y + m[2] - q.x, dy = m[3] * p.x + m[4] * p.y + m[5] - q.y;
      errors[i] = dx * dx + dy * dy;
    }
  }

 private:
  bool partial_;
};

std::vector<Point2f> plane_points(const char* function, const char* name, const TensorView& tensor, bool homogeneous) {
  int64_t count = 0;
  if (homogeneous && !vectors_in(tensor, 2, count) && vectors_in(tensor, 3, count)) {
    const std::vector<double> numbers = coordinates_of(function, name, tensor, 3);
    std::vector<Point2f> points;
    for (size_t i = 0; i < numbers.size(); i += 3) {
      const double scale = numbers[i + 2] != 0 ? 1 / numbers[i + 2] : 1;
      points.push_back({static_cast<float>(numbers[i] * scale), static_cast<float>(numbers[i + 1] * scale)});
    }
    return points;
  }
  const std::vector<double> numbers = coordinates_of(function, name, tensor, 2);
  std::vector<Point2f> points(numbers.size() / 2);
  for (size_t i = 0; i < points.size(); ++i) points[i] = {static_cast<float>(numbers[2 * i]), static_cast<float>(numbers[2 * i + 1])};
  return points;
}

void check_pairs(const char* function, const std::vector<Point2f>& from, const std::vector<Point2f>& to) {
  if (from.size() != to.size()) throw InvalidArgument("{}: there are {} points and {} others", function, from.size(), to.size());
}

std::vector<int> kept(const std::vector<uint8_t>& inliers) {
  std::vector<int> pairs;
  for (size_t i = 0; i < inliers.size(); ++i)
    if (inliers[i]) pairs.push_back(static_cast<int>(i));
  return pairs;
}

Estimate estimate_of(const std::vector<double>& model, int64_t rows, const std::vector<uint8_t>& inliers, size_t count) {
  Estimate estimate;
  estimate.inliers = Tensor(DType::u8, {static_cast<int64_t>(count), 1});
  auto* const marks = static_cast<uint8_t*>(estimate.inliers.writable().data());
  if (model.empty()) {
    std::fill(marks, marks + count, uint8_t{0});
    return estimate;
  }
  std::copy(inliers.begin(), inliers.end(), marks);
  estimate.model = Tensor(DType::f64, {rows, 3});
  std::copy(model.begin(), model.end(), static_cast<double*>(estimate.model.writable().data()));
  return estimate;
}

Estimate affine(const char* function, const TensorView& a, const TensorView& b, const RobustOptions& options, bool partial) {
  const std::vector<Point2f> from = plane_points(function, "points", a, false), to = plane_points(function, "points", b, false);
  check_pairs(function, from, to);
  if (options.method != Robust::ransac && options.method != Robust::lmeds)
    throw InvalidArgument("{}: the method is {}; there are RANSAC (8) and LMEDS (4)", function, static_cast<int>(options.method));
  std::vector<uint8_t> inliers;
  std::vector<double> m = robust_fit(AffineModel(from, to, partial), options, inliers);
  if (!m.empty() && from.size() > (partial ? 2u : 3u) && options.refinements > 0) {
    const std::vector<int> pairs = kept(inliers);
    std::vector<double> x = partial ? std::vector<double>{m[0], m[3], m[2], m[5]} : m;
    minimize(x, 2 * pairs.size(), options.refinements, [&](const double* h, double* r, double* jacobian) {
      for (const int i : pairs) {
        const Point2f &p = from[static_cast<size_t>(i)], &q = to[static_cast<size_t>(i)];
        const double px = p.x, py = p.y;
        *r++ = (partial ? h[0] * px - h[1] * py + h[2] : h[0] * px + h[1] * py + h[2]) - q.x;
        *r++ = (partial ? h[1] * px + h[0] * py + h[3] : h[3] * px + h[4] * py + h[5]) - q.y;
        if (!jacobian) continue;
        if (partial)
          for (const double value : {px, -py, 1., 0., py, px, 0., 1.}) *jacobian++ = value;
        else
          for (const double value : {px, py, 1., 0., 0., 0., 0., 0., 0., px, py, 1.}) *jacobian++ = value;
      }
    });
    m = partial ? std::vector<double>{x[0], -x[1], x[2], x[1], x[0], x[3]} : x;
  }
  return estimate_of(m, 2, inliers, from.size());
}

}  // namespace

Estimate find_homography(const TensorView& a, const TensorView& b, const RobustOptions& given) {
  try {
    const char* const function = "findHomography";
    const std::vector<Point2f> from = plane_points(function, "points", a, true), to = plane_points(function, "points", b, true);
    check_pairs(function, from, to);
    if (from.size() < 4) throw InvalidArgument("{}: there are {} points; four are needed", function, from.size());
    RobustOptions options = given;
    if (!(options.threshold > 0)) options.threshold = 3;
    if (options.method != Robust::none && options.method != Robust::ransac && options.method != Robust::lmeds)
      throw Unsupported("{}: the method is {}; there are 0, RANSAC (8) and LMEDS (4)", function, static_cast<int>(options.method));
    const HomographyModel model(from, to);
    std::vector<uint8_t> inliers(from.size(), 1);
    std::vector<double> h;
    if (options.method == Robust::none || from.size() == 4) {
      const auto models = model.fit(kept(inliers));
      if (!models.empty()) h = models[0];
    } else {
      h = robust_fit(model, options, inliers);
    }
    if (!h.empty() && from.size() > 4) {
      const std::vector<int> pairs = kept(inliers);
      if (!pairs.empty()) {
        if (options.method != Robust::none) {
          const auto models = model.fit(pairs);
          if (!models.empty()) h = models[0];
        }
        minimize(h, 2 * pairs.size(), 10, [&](const double* m, double* r, double* jacobian) {
          for (const int i : pairs) {
            const double x = from[static_cast<size_t>(i)].x, y = from[static_cast<size_t>(i)].y;
            const double below = m[6] * x + m[7] * y + m[8], w = std::fabs(below) > DBL_EPSILON ? 1 / below : 0;
            const double u = (m[0] * x + m[1] * y + m[2]) * w, v = (m[3] * x + m[4] * y + m[5]) * w;
            *r++ = u - to[static_cast<size_t>(i)].x;
            *r++ = v - to[static_cast<size_t>(i)].y;
            if (!jacobian) continue;
            for (const double value : {x * w, y * w, w, 0., 0., 0., -x * w * u, -y * w * u, -w * u}) *jacobian++ = value;
            for (const double value : {0., 0., 0., x * w, y * w, w, -x * w * v, -y * w * v, -w * v}) *jacobian++ = value;
          }
        });
        const double scale = scale_to_one(h[8]);
        for (double& value : h) value *= scale;
        std::vector<float> errors;
        model.errors(h, errors);
        const float most = static_cast<float>(options.threshold * options.threshold);
        for (size_t i = 0; i < errors.size(); ++i) inliers[i] = errors[i] <= most;
      }
    }
    return estimate_of(h, 3, inliers, from.size());
  } catch (...) {
    throw_as_error();
  }
}

Estimate estimate_affine_2d(const TensorView& from, const TensorView& to, const RobustOptions& options) {
  try {
    return affine("estimateAffine2D", from, to, options, false);
  } catch (...) {
    throw_as_error();
  }
}

Estimate estimate_affine_partial_2d(const TensorView& from, const TensorView& to, const RobustOptions& options) {
  try {
    return affine("estimateAffinePartial2D", from, to, options, true);
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
