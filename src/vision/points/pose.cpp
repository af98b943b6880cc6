// SPDX-License-Identifier: Apache-2.0
#include <cfloat>
#include <complex>
#include <numeric>

#include "base/no_memory.h"
#include "vision/matrix.h"
#include "vision/points/camera.h"
#include "vision/points/robust.h"

namespace minnow::vision {
namespace {

struct Placement {
  Matrix3 r{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vector3 t{};
};

Vector3 turned(const Matrix3& r, const double* p) {
  return {r[0] * p[0] + r[1] * p[1] + r[2] * p[2], r[3] * p[0] + r[4] * p[1] + r[5] * p[2], r[6] * p[0] + r[7] * p[1] + r[8] * p[2]};
}

/// Points [x, y, z], and pixels [u, v]; and directions (x, y, 1) without the lens.
class Problem {
 public:
  Problem(const Camera& camera, std::vector<double> points, std::vector<double> pixels)
      : camera_(camera), points_(std::move(points)), pixels_(std::move(pixels)), directions_(pixels_.size()) {
    for (size_t i = 0; i < count(); ++i)
      camera_.undistort((pixels_[2 * i] - camera_.cx) / camera_.fx, (pixels_[2 * i + 1] - camera_.cy) / camera_.fy, directions_[2 * i],
                        directions_[2 * i + 1]);
  }
  size_t count() const { return points_.size() / 3; }
  const double* point(size_t i) const { return points_.data() + 3 * i; }
  const double* direction(size_t i) const { return directions_.data() + 2 * i; }

  Problem part(const std::vector<int>& chosen) const {
    std::vector<double> points, pixels;
    for (const int i : chosen) {
      points.insert(points.end(), point(static_cast<size_t>(i)), point(static_cast<size_t>(i)) + 3);
      pixels.insert(pixels.end(), pixels_.begin() + 2 * i, pixels_.begin() + 2 * i + 2);
    }
    return {camera_, std::move(points), std::move(pixels)};
  }

  void project(const Vector3& p, double& u, double& v) const {
    const double scale = p[2] ? 1 / p[2] : 1;
    camera_.distort(p[0] * scale, p[1] * scale, u, v);
    u = u * camera_.fx + camera_.cx;
    v = v * camera_.fy + camera_.cy;
  }
  void residual(const Placement& pose, size_t i, double& du, double& dv) const {
    Vector3 p = turned(pose.r, point(i));
    for (size_t k = 0; k < 3; ++k) p[k] += pose.t[k];
    project(p, du, dv);
    du -= pixels_[2 * i];
    dv -= pixels_[2 * i + 1];
  }
  double error(const Placement& pose) const {
    double sum = 0;
    for (size_t i = 0; i < count(); ++i) {
      double du, dv;
      residual(pose, i, du, dv);
      sum += du * du + dv * dv;
    }
    return std::isfinite(sum) ? sum : DBL_MAX;
  }

  /// The pose nearby with the least error.
  void refine(Placement& pose, int steps = 100) const {
    double sum = error(pose), lambda = 1e-3;
    for (int step = 0; step < steps && lambda < 1e12; ++step) {
      double a[36] = {}, b[6] = {};
      for (size_t i = 0; i < count(); ++i) {
        const Vector3 rotated = turned(pose.r, point(i));
        const Vector3 p{rotated[0] + pose.t[0], rotated[1] + pose.t[1], rotated[2] + pose.t[2]};
        double du, dv;
        residual(pose, i, du, dv);
        double slope[2][3];  // of u and v by x, y, z
        for (size_t k = 0; k < 3; ++k) {
          const double h = 1e-6 * std::max(1., std::fabs(p[2]));
          Vector3 high = p, low = p;
          high[k] += h, low[k] -= h;
          double u1, v1, u0, v0;
          project(high, u1, v1);
          project(low, u0, v0);
          slope[0][k] = (u1 - u0) / (2 * h), slope[1][k] = (v1 - v0) / (2 * h);
        }
        for (int c = 0; c < 2; ++c) {
          const double* const g = slope[c];
          const double row[6] = {rotated[1] * g[2] - rotated[2] * g[1],
                                 rotated[2] * g[0] - rotated[0] * g[2],
                                 rotated[0] * g[1] - rotated[1] * g[0],
                                 g[0],
                                 g[1],
                                 g[2]};
          const double r = c ? dv : du;
          for (int j = 0; j < 6; ++j) {
            for (int k = 0; k < 6; ++k) a[6 * j + k] += row[j] * row[k];
            b[j] += row[j] * r;
          }
        }
      }
      bool better = false;
      double moved = 0;
      while (!better && lambda < 1e12) {
        double damped[36], x[6];
        std::copy(a, a + 36, damped);
        for (int j = 0; j < 6; ++j) damped[7 * j] += lambda * a[7 * j] + 1e-30;
        std::copy(b, b + 6, x);
        if (lu(damped, 6, x, 1) == 0) least_squares(a, 6, 6, b, 1, x);
        Placement next = pose;
        const Matrix3 turn = rotation_of({-x[0], -x[1], -x[2]});
        multiply3(turn.data(), pose.r.data(), next.r.data());
        for (size_t k = 0; k < 3; ++k) next.t[k] -= x[3 + k];
        const double error_there = error(next);
        better = error_there < sum;
        if (better) {
          moved = 0;
          for (const double value : x) moved = std::max(moved, std::fabs(value));
          pose = next;
          sum = error_there;
          lambda = std::max(lambda * 0.1, 1e-15);
        } else {
          lambda *= 10;
        }
      }
      if (!better || moved < 1e-12) break;
    }
  }

  /// From the homography of a plane: its columns are two axes and the origin.
  bool planar_start(const Vector3& mean, const double* axes, Placement& pose) const {
    Matrix3 to_plane{1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (axes[2] * axes[2] + axes[5] * axes[5] >= 1e-10) std::copy(axes, axes + 9, to_plane.begin());
    const double det = to_plane[0] * (to_plane[4] * to_plane[8] - to_plane[5] * to_plane[7]) -
                       to_plane[1] * (to_plane[3] * to_plane[8] - to_plane[5] * to_plane[6]) +
                       to_plane[2] * (to_plane[3] * to_plane[7] - to_plane[4] * to_plane[6]);
    if (det < 0)
      for (double& value : to_plane) value = -value;
    Tensor from(DType::f64, {static_cast<int64_t>(count()), 2}), to(DType::f64, {static_cast<int64_t>(count()), 2});
    auto* const f = static_cast<double*>(from.writable().data());
    const Vector3 offset = turned(to_plane, mean.data());
    for (size_t i = 0; i < count(); ++i) {
      const Vector3 p = turned(to_plane, point(i));
      f[2 * i] = p[0] - offset[0], f[2 * i + 1] = p[1] - offset[1];
    }
    std::copy(directions_.begin(), directions_.end(), static_cast<double*>(to.writable().data()));
    RobustOptions options;
    options.method = Robust::none;
    const Estimate estimate = find_homography(from, to, options);
    if (!estimate.model) return false;
    const auto* const h = static_cast<const double*>(estimate.model.data());
    const double n1 = std::sqrt(h[0] * h[0] + h[3] * h[3] + h[6] * h[6]), n2 = std::sqrt(h[1] * h[1] + h[4] * h[4] + h[7] * h[7]);
    if (!(n1 > 0 && n2 > 0)) return false;
    const double a[3] = {h[0] / n1, h[3] / n1, h[6] / n1}, b[3] = {h[1] / n2, h[4] / n2, h[7] / n2};
    const Matrix3 plane{a[0], b[0], a[1] * b[2] - a[2] * b[1], a[1], b[1], a[2] * b[0] - a[0] * b[2],
                        a[2], b[2], a[0] * b[1] - a[1] * b[0]};
    const Matrix3 rotation = rotation_of(vector_of(plane));
    multiply3(rotation.data(), to_plane.data(), pose.r.data());
    const Vector3 shift = turned(rotation, offset.data());
    for (size_t k = 0; k < 3; ++k) pose.t[k] = h[3 * k + 2] * 2 / (n1 + n2) - shift[k];
    return true;
  }

  /// The direct linear transform.
  bool linear_start(Placement& pose) const {
    std::vector<double> products(144), w(12), vectors(144);
    for (size_t i = 0; i < count(); ++i) {
      const double *p = point(i), x = -direction(i)[0], y = -direction(i)[1];
      const double rows[2][12] = {{p[0], p[1], p[2], 1, 0, 0, 0, 0, x * p[0], x * p[1], x * p[2], x},
                                  {0, 0, 0, 0, p[0], p[1], p[2], 1, y * p[0], y * p[1], y * p[2], y}};
      for (const auto& row : rows)
        for (size_t j = 0; j < 12; ++j)
          for (size_t k = 0; k < 12; ++k) products[12 * j + k] += row[j] * row[k];
    }
    jacobi_eigen(products.data(), 12, w.data(), vectors.data());
    double* const v = vectors.data() + 132;
    const double det = v[0] * (v[5] * v[10] - v[6] * v[9]) - v[1] * (v[4] * v[10] - v[6] * v[8]) + v[2] * (v[4] * v[9] - v[5] * v[8]);
    double size = 0;
    for (size_t i = 0; i < 12; ++i) v[i] = det < 0 ? -v[i] : v[i];
    Matrix3 r;
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j) r[3 * i + j] = v[4 * i + j], size += r[3 * i + j] * r[3 * i + j];
    if (!(size > 0)) return false;
    pose.r = rotation_of(vector_of(r));
    for (size_t i = 0; i < 3; ++i) pose.t[i] = v[4 * i + 3] * std::sqrt(3 / size);
    return true;
  }

  /// Poses of three of the points: their distances from the camera solve a quartic equation (J. Grunert, 1841).
  std::vector<Placement> three_point_poses(size_t i0, size_t i1, size_t i2) const {
    std::vector<Placement> poses;
    const size_t chosen[3] = {i0, i1, i2};
    Vector3 ray[3];
    for (int k = 0; k < 3; ++k) {
      const double *d = direction(chosen[k]), size = std::sqrt(d[0] * d[0] + d[1] * d[1] + 1);
      ray[k] = {d[0] / size, d[1] / size, 1 / size};
    }
    const auto dot = [](const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
    const auto squared = [&](size_t a, size_t b) {
      double sum = 0;
      for (size_t k = 0; k < 3; ++k) sum += (point(a)[k] - point(b)[k]) * (point(a)[k] - point(b)[k]);
      return sum;
    };
    const double a2 = squared(i1, i2), b2 = squared(i0, i2), c2 = squared(i0, i1);
    const double ca = dot(ray[1], ray[2]), cb = dot(ray[0], ray[2]), cc = dot(ray[0], ray[1]);
    if (!(a2 > 0 && b2 > 0 && c2 > 0)) return poses;
    const double p = (a2 - c2) / b2, q = (a2 + c2) / b2, ab = a2 / b2, cb2 = c2 / b2;
    const double quartic[5] = {
        (p - 1) * (p - 1) - 4 * cb2 * ca * ca, 4 * (p * (1 - p) * cb - (1 - q) * ca * cc + 2 * cb2 * ca * ca * cb),
        2 * (p * p - 1 + 2 * p * p * cb * cb + 2 * (1 - cb2) * ca * ca - 4 * q * ca * cb * cc + 2 * (1 - ab) * cc * cc),
        4 * (-p * (1 + p) * cb + 2 * ab * cc * cc * cb - (1 - q) * ca * cc), (1 + p) * (1 + p) - 4 * ab * cc * cc};
    // All roots at once (E. Durand, 1960; I. Kerner, 1966).
    if (!(std::fabs(quartic[0]) > 1e-14)) return poses;
    using C = std::complex<double>;
    C root[4] = {C(1, 0), C(0.4, 0.9), C(-0.65, 0.72), C(-0.908, -0.297)};
    for (int step = 0; step < 100; ++step) {
      double moved = 0;
      for (int i = 0; i < 4; ++i) {
        C value = quartic[0], below = quartic[0];
        for (int k = 1; k < 5; ++k) value = value * root[i] + quartic[k];
        for (int j = 0; j < 4; ++j)
          if (j != i) below *= root[i] - root[j];
        if (below == C(0)) below = 1e-300;
        const C change = value / below;
        root[i] -= change;
        moved = std::max(moved, std::abs(change) / std::max(1., std::abs(root[i])));
      }
      if (moved < 1e-15) break;
    }
    for (const C& complex : root) {
      if (std::fabs(complex.imag()) > 1e-4 * std::max(1., std::abs(complex))) continue;
      const double v = complex.real();
      const double u = ((p - 1) * v * v - 2 * p * cb * v + 1 + p) / (2 * (cc - v * ca)), s = 1 + v * v - 2 * v * cb;
      if (!(s > 0) || !std::isfinite(u)) continue;
      const double s1 = std::sqrt(b2 / s), length[3] = {s1, u * s1, v * s1};
      if (!(length[0] > 0 && length[1] > 0 && length[2] > 0)) continue;
      Vector3 seen[3];
      for (int k = 0; k < 3; ++k) seen[k] = {ray[k][0] * length[k], ray[k][1] * length[k], ray[k][2] * length[k]};
      // The frames of both triangles.
      const auto frame = [&](const double* o, const double* x, const double* y) {
        Vector3 e1{x[0] - o[0], x[1] - o[1], x[2] - o[2]}, e2{y[0] - o[0], y[1] - o[1], y[2] - o[2]};
        const auto unit = [&](Vector3& e) {
          const double size = std::sqrt(dot(e, e));
          for (double& value : e) value /= size;
        };
        unit(e1);
        const double along = dot(e1, e2);
        for (size_t k = 0; k < 3; ++k) e2[k] -= along * e1[k];
        unit(e2);
        return Matrix3{e1[0], e2[0], e1[1] * e2[2] - e1[2] * e2[1], e1[1], e2[1], e1[2] * e2[0] - e1[0] * e2[2],
                       e1[2], e2[2], e1[0] * e2[1] - e1[1] * e2[0]};
      };
      const Matrix3 there = frame(point(i0), point(i1), point(i2)), here = frame(seen[0].data(), seen[1].data(), seen[2].data());
      Placement pose;
      for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j)
          pose.r[3 * i + j] = here[3 * i] * there[3 * j] + here[3 * i + 1] * there[3 * j + 1] + here[3 * i + 2] * there[3 * j + 2];
      const Vector3 moved = turned(pose.r, point(i0));
      for (size_t k = 0; k < 3; ++k) pose.t[k] = seen[0][k] - moved[k];
      if (!std::isfinite(pose.t[0] + pose.t[1] + pose.t[2] + pose.r[0])) continue;
      part({static_cast<int>(i0), static_cast<int>(i1), static_cast<int>(i2)}).refine(pose, 5);
      poses.push_back(pose);
    }
    return poses;
  }

  /// The best pose that some method finds, without a guess.
  bool solve(PoseMethod method, Placement& pose) const {
    Vector3 mean{};
    for (size_t i = 0; i < count(); ++i)
      for (size_t k = 0; k < 3; ++k) mean[k] += point(i)[k] / static_cast<double>(count());
    double scatter[9] = {}, w[3], axes[9];
    for (size_t i = 0; i < count(); ++i)
      for (size_t j = 0; j < 3; ++j)
        for (size_t k = 0; k < 3; ++k) scatter[3 * j + k] += (point(i)[j] - mean[j]) * (point(i)[k] - mean[k]);
    jacobi_eigen(scatter, 3, w, axes);
    const bool flat = w[2] < 1e-3 * w[1];
    if (method == PoseMethod::iterative && !flat && count() < 6)
      throw InvalidArgument("solvePnP: SOLVEPNP_ITERATIVE takes six points that do not lie in a plane; there are {}", count());
    std::vector<Placement> starts;
    const bool three = method == PoseMethod::p3p || method == PoseMethod::ap3p;
    Placement start;
    if (!three && flat && count() >= 4 && planar_start(mean, axes, start)) starts.push_back(start);
    if (!three && !flat && count() >= 6 && linear_start(start)) starts.push_back(start);
    if (three || starts.empty() || (method != PoseMethod::iterative && count() < 6))
      for (const Placement& found : three_point_poses(0, 1, 2)) starts.push_back(found);
    double least = DBL_MAX;
    for (Placement& candidate : starts) {
      if (!three) refine(candidate);
      const double there = error(candidate);
      if (there < least) least = there, pose = candidate;
    }
    return least < DBL_MAX;
  }

 private:
  Camera camera_;
  std::vector<double> points_, pixels_, directions_;
};

class PoseModel : public Model {
 public:
  PoseModel(const Problem& problem, size_t least, PoseMethod method, const std::vector<double>& guess)
      : Model(least), problem_(problem), method_(method), guess_(guess) {}
  size_t count() const noexcept override { return problem_.count(); }
  std::vector<std::vector<double>> fit(const std::vector<int>& pairs) const override {
    Placement pose;
    const Problem part = problem_.part(pairs);
    if (!part.solve(method_, pose)) return {};
    std::vector<double> model(pose.r.begin(), pose.r.end());
    model.insert(model.end(), pose.t.begin(), pose.t.end());
    return {model};
  }
  void errors(const std::vector<double>& model, std::vector<float>& errors) const override {
    const Placement pose = placement(model);
    errors.resize(count());
    for (size_t i = 0; i < count(); ++i) {
      double du, dv;
      problem_.residual(pose, i, du, dv);
      errors[i] = static_cast<float>(du * du + dv * dv);
    }
  }
  static Placement placement(const std::vector<double>& model) {
    Placement pose;
    std::copy_n(model.begin(), 9, pose.r.begin());
    std::copy_n(model.begin() + 9, 3, pose.t.begin());
    return pose;
  }

 private:
  const Problem& problem_;
  PoseMethod method_;
  std::vector<double> guess_;
};

Problem problem_of(const char* function, const TensorView& points, const TensorView& pixels, const TensorView& matrix,
                   const std::vector<double>& distortion) {
  std::vector<double> p = coordinates_of(function, "object points", points, 3), q = coordinates_of(function, "image points", pixels, 2);
  if (p.size() / 3 != q.size() / 2)
    throw InvalidArgument("{}: there are {} object points and {} image points", function, p.size() / 3, q.size() / 2);
  for (const std::vector<double>* numbers : {&p, &q})
    for (const double value : *numbers)
      if (!std::isfinite(value)) throw InvalidArgument("{}: points are finite", function);
  return {Camera::from(function, matrix, distortion), std::move(p), std::move(q)};
}

Placement guess_of(const char* function, const std::vector<double>& guess) {
  if (guess.size() != 6) throw InvalidArgument("{}: a guess has three numbers of rvec and three of tvec", function);
  return {rotation_of({guess[0], guess[1], guess[2]}), {guess[3], guess[4], guess[5]}};
}

Pose pose_of(bool found, const Placement& placement) {
  Pose pose;
  pose.found = found;
  pose.rotation = Tensor(DType::f64, {3, 1});
  pose.translation = Tensor(DType::f64, {3, 1});
  const Vector3 r = vector_of(placement.r);
  std::copy(r.begin(), r.end(), static_cast<double*>(pose.rotation.writable().data()));
  std::copy(placement.t.begin(), placement.t.end(), static_cast<double*>(pose.translation.writable().data()));
  return pose;
}

void check_method(const char* function, PoseMethod method) {
  if (method < PoseMethod::iterative || method > PoseMethod::sqpnp)
    throw InvalidArgument("{}: there is no method {}; SOLVEPNP_ITERATIVE is 0, SOLVEPNP_SQPNP is 8", function, static_cast<int>(method));
}

}  // namespace

Pose solve_pnp(const TensorView& points, const TensorView& pixels, const TensorView& matrix, const std::vector<double>& distortion,
               const std::vector<double>& guess, PoseMethod method) {
  try {
    const char* const function = "solvePnP";
    check_method(function, method);
    const Problem problem = problem_of(function, points, pixels, matrix, distortion);
    const bool guessed = method == PoseMethod::iterative && !guess.empty();
    const size_t least = guessed || method == PoseMethod::sqpnp ? 3 : 4;
    if (problem.count() < least) throw InvalidArgument("{}: there are {} points; {} are needed", function, problem.count(), least);
    if ((method == PoseMethod::p3p || method == PoseMethod::ap3p || method == PoseMethod::ippe_square) && problem.count() != 4)
      throw InvalidArgument("{}: this method takes four points, not {}", function, problem.count());
    Placement placement;
    bool found = true;
    if (guessed) {
      placement = guess_of(function, guess);
      problem.refine(placement);
    } else {
      found = problem.solve(method, placement);
    }
    return pose_of(found, placement);
  } catch (...) {
    throw_as_error();
  }
}

RobustPose solve_pnp_ransac(const TensorView& points, const TensorView& pixels, const TensorView& matrix,
                            const std::vector<double>& distortion, const std::vector<double>& guess, PoseMethod method,
                            const RobustOptions& options) {
  try {
    const char* const function = "solvePnPRansac";
    check_method(function, method);
    const Problem problem = problem_of(function, points, pixels, matrix, distortion);
    if (problem.count() < 4) throw InvalidArgument("{}: there are {} points; 4 are needed", function, problem.count());
    const bool three = method == PoseMethod::p3p || method == PoseMethod::ap3p || problem.count() == 4;
    const PoseModel model(problem, three ? 4 : 5, three ? PoseMethod::p3p : PoseMethod::epnp, guess);
    RobustOptions ransac = options;
    ransac.method = Robust::ransac;
    std::vector<uint8_t> inliers;
    const std::vector<double> best = robust_fit(model, ransac, inliers);
    RobustPose result;
    if (best.empty()) {
      result.pose = pose_of(false, {});
      return result;
    }
    Placement placement = PoseModel::placement(best);
    std::vector<int> kept;
    for (size_t i = 0; i < inliers.size(); ++i)
      if (inliers[i]) kept.push_back(static_cast<int>(i));
    if (kept.size() >= 4 && problem.count() > model.least()) problem.part(kept).refine(placement);
    result.pose = pose_of(true, placement);
    result.inliers = Tensor(DType::i32, {static_cast<int64_t>(kept.size()), 1});
    std::copy(kept.begin(), kept.end(), static_cast<int32_t*>(result.inliers.writable().data()));
    return result;
  } catch (...) {
    throw_as_error();
  }
}

Pose solve_pnp_refine(const TensorView& points, const TensorView& pixels, const TensorView& matrix, const std::vector<double>& distortion,
                      const std::vector<double>& guess) {
  try {
    const char* const function = "solvePnPRefineLM";
    const Problem problem = problem_of(function, points, pixels, matrix, distortion);
    if (problem.count() < 3) throw InvalidArgument("{}: there are {} points; 3 are needed", function, problem.count());
    Placement placement = guess_of(function, guess);
    problem.refine(placement);
    return pose_of(true, placement);
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
