// SPDX-License-Identifier: Apache-2.0
// Pictures and points without the distortion of a lens, and points seen through it.
#include <minnow/vision/calibration.h>
#include <minnow/vision/geometry.h>

#include <array>

#include "vision/loops/lens.h"
#include "vision/matrix.h"
#include "vision/points/camera.h"

namespace minnow::vision {
namespace {

constexpr Matrix3 kIdentity{1, 0, 0, 0, 1, 0, 0, 0, 1};

/// A [3, 3] matrix of 9 numbers, or of a [3, 4] one the first three columns. Nothing: the identity.
Matrix3 matrix_of(std::string_view function, const char* name, const std::vector<double>& values, bool wide = false) {
  Matrix3 matrix = kIdentity;
  if (values.empty()) return matrix;
  if (values.size() != 9 && !(wide && values.size() == 12))
    throw InvalidArgument("{}: {} has 9{} numbers, not {}", function, name, wide ? " or 12" : "", values.size());
  const size_t columns = values.size() / 3;
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = 0; k < 3; ++k) matrix[3 * i + k] = values[columns * i + k];
  return matrix;
}

Matrix3 product(const Matrix3& a, const Matrix3& b) {
  Matrix3 made;
  multiply3(a.data(), b.data(), made.data());
  return made;
}

Matrix3 inverse(const Matrix3& a) {
  const std::vector<double> values = inverse3(a.data());
  Matrix3 made;
  std::copy(values.begin(), values.end(), made.begin());
  return made;
}

template <class T>
Tensor tensor_of(const Shape& shape, const T* values) {
  Tensor made(DType::f64, shape);
  std::copy(values, values + made.elements(), made.writable().data<double>());
  return made;
}

/// f64 numbers as a tensor of f32 or f64.
Tensor as(DType dtype, Tensor tensor) {
  if (dtype != DType::f32) return tensor;
  Tensor made(DType::f32, tensor.shape());
  std::copy(tensor.data<double>(), tensor.data<double>() + tensor.elements(), made.writable().data<float>());
  return made;
}

std::vector<double> numbers_of(std::string_view function, const char* name, const TensorView& tensor) {
  if (tensor.dtype() == DType::f32) return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
  if (tensor.dtype() == DType::f64) return {tensor.data<double>(), tensor.data<double>() + tensor.elements()};
  throw InvalidArgument("{}: {} is f32 or f64, not {}{}", function, name, tensor.dtype(), tensor.shape());
}

// ---- Derivatives

/// A number and its derivatives by two others, computed along.
struct Dual {
  double value = 0, by[2] = {0, 0};
};
Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, {a.by[0] + b.by[0], a.by[1] + b.by[1]}}; }
Dual operator*(const Dual& a, const Dual& b) {
  return {a.value * b.value, {a.by[0] * b.value + a.value * b.by[0], a.by[1] * b.value + a.value * b.by[1]}};
}
Dual operator*(const Dual& a, double b) { return {a.value * b, {a.by[0] * b, a.by[1] * b}}; }
Dual operator+(const Dual& a, double b) { return {a.value + b, {a.by[0], a.by[1]}}; }
Dual reciprocal(const Dual& a) {
  const double value = 1 / a.value, slope = -value * value;
  return {value, {a.by[0] * slope, a.by[1] * slope}};
}

/// The derivatives [3, 9] of a rotation's elements by its vector.
std::array<double, 27> rotation_slopes(const Vector3& vector) {
  std::array<double, 27> slopes{};
  const double angle = std::sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
  // d[r]x / dr, the cross product with each axis.
  constexpr int kCross[3][2] = {{7, 5}, {2, 6}, {3, 1}};  // where 1 and -1 stand
  if (angle < std::numeric_limits<double>::epsilon()) {
    for (size_t i = 0; i < 3; ++i)
      slopes[9 * i + static_cast<size_t>(kCross[i][0])] = 1, slopes[9 * i + static_cast<size_t>(kCross[i][1])] = -1;
    return slopes;
  }
  const double c = std::cos(angle), s = std::sin(angle), each = 1 / angle;
  const Vector3 r{vector[0] * each, vector[1] * each, vector[2] * each};
  const double cross[9] = {0, -r[2], r[1], r[2], 0, -r[0], -r[1], r[0], 0};
  // R = c I + (1 - c) r rT + s [r]x, where r and the angle depend on the vector.
  for (size_t i = 0; i < 3; ++i)
    for (size_t row = 0; row < 3; ++row)
      for (size_t column = 0; column < 3; ++column) {
        const size_t at = 3 * row + column;
        const double outer = r[row] * r[column], outer_slope = (row == i ? r[column] : 0) + (column == i ? r[row] : 0);
        const double axis = static_cast<int>(at) == kCross[i][0] ? 1 : static_cast<int>(at) == kCross[i][1] ? -1 : 0;
        slopes[9 * i + at] = -s * r[i] * (row == column) + (s - 2 * (1 - c) * each) * r[i] * outer + (1 - c) * each * outer_slope +
                             (c - s * each) * r[i] * cross[at] + s * each * axis;
      }
  return slopes;
}

// ---- Undistorted points

struct Criteria {
  int type, most;
  double epsilon;
};

/// Brown's iteration: OpenCV's steps, so that results are the same where they have not met the point yet.
void undistort_point(const Camera& camera, const Matrix3& untilted, const Criteria& criteria, double pixel_x, double pixel_y, double& x,
                     double& y) {
  const std::array<double, 14>& k = camera.k;
  const double first_x = (pixel_x - camera.cx) / camera.fx, first_y = (pixel_y - camera.cy) / camera.fy;
  x = first_x, y = first_y;
  double x0 = x, y0 = y;
  if (camera.tilted) {
    const double w = untilted[6] * x + untilted[7] * y + untilted[8], scale = w ? 1 / w : 1;
    x0 = (untilted[0] * x + untilted[1] * y + untilted[2]) * scale, y0 = (untilted[3] * x + untilted[4] * y + untilted[5]) * scale;
    x = x0, y = y0;
  }
  constexpr int kCount = 1, kEpsilon = 2, kMostSteps = 10000;
  double error = std::numeric_limits<double>::max(), before = error, part = 1;
  for (int step = 0; step < kMostSteps; ++step) {
    if ((criteria.type & kCount) && step >= criteria.most) break;
    if ((criteria.type & kEpsilon) && error < criteria.epsilon) break;
    const double r2 = x * x + y * y;
    const double radial = (1 + ((k[7] * r2 + k[6]) * r2 + k[5]) * r2) / (1 + ((k[4] * r2 + k[1]) * r2 + k[0]) * r2);
    if (radial < 0) {
      x = first_x, y = first_y;
      break;
    }
    const double dx = 2 * k[2] * x * y + k[3] * (r2 + 2 * x * x) + k[8] * r2 + k[9] * r2 * r2;
    const double dy = k[2] * (r2 + 2 * y * y) + 2 * k[3] * x * y + k[10] * r2 + k[11] * r2 * r2;
    const double next_x = (1 - part) * x + part * (x0 - dx) * radial, next_y = (1 - part) * y + part * (y0 - dy) * radial;
    if (criteria.type & kEpsilon) {
      double u, v;
      camera.distort(next_x, next_y, u, v);
      error = std::hypot(u * camera.fx + camera.cx - pixel_x, v * camera.fy + camera.cy - pixel_y);
    }
    if (error > before)
      part *= 0.5;
    else
      x = next_x, y = next_y;
    before = error;
  }
}

void undistort_into(const Camera& camera, const Criteria& criteria, const Matrix3& after, bool turned, std::span<double> points) {
  const Matrix3 untilted = camera.tilted ? inverse(camera.tilt) : kIdentity;
  for (size_t i = 0; i + 1 < points.size(); i += 2) {
    double x, y;
    undistort_point(camera, untilted, criteria, points[i], points[i + 1], x, y);
    if (turned) {
      const double w = 1 / (after[6] * x + after[7] * y + after[8]);
      const double a = (after[0] * x + after[1] * y + after[2]) * w, b = (after[3] * x + after[4] * y + after[5]) * w;
      x = a, y = b;
    }
    points[i] = x, points[i + 1] = y;
  }
}

struct Rectangle {
  double left, top, right, bottom;
};

/// The largest rectangle within a picture without distortion, and the least one around it. `after`: its camera.
void rectangles_of(const Camera& camera, const Matrix3* after, Size size, Rectangle& inner, Rectangle& outer) {
  constexpr int kSteps = 8;
  constexpr double kMost = std::numeric_limits<float>::max();
  inner = {-kMost, -kMost, kMost, kMost}, outer = {kMost, kMost, -kMost, -kMost};
  for (int i = 0; i <= kSteps; ++i)
    for (int k = 0; k <= kSteps; ++k) {
      if (i != 0 && i != kSteps && k != 0 && k != kSteps) continue;
      double point[2] = {k * ((size.width - 1) / static_cast<double>(kSteps)), i * ((size.height - 1) / static_cast<double>(kSteps))};
      undistort_into(camera, {1, 5, 0}, after ? *after : kIdentity, after, point);
      const auto [x, y] = point;
      outer = {std::min(outer.left, x), std::min(outer.top, y), std::max(outer.right, x), std::max(outer.bottom, y)};
      if (k == 0) inner.left = std::max(inner.left, x);
      if (k == kSteps) inner.right = std::min(inner.right, x);
      if (i == 0) inner.top = std::max(inner.top, y);
      if (i == kSteps) inner.bottom = std::min(inner.bottom, y);
    }
}

int whole(double x) { return saturate<int32_t>(x); }

/// The part of a rectangle within a picture; nothing where there is none.
Rect within(const Rect& rectangle, Size size) {
  const int left = std::max(rectangle.x, 0), top = std::max(rectangle.y, 0);
  const int64_t right = std::min<int64_t>(int64_t{rectangle.x} + rectangle.width, size.width);
  const int64_t bottom = std::min<int64_t>(int64_t{rectangle.y} + rectangle.height, size.height);
  if (right <= left || bottom <= top) return {};
  return {left, top, static_cast<int>(right - left), static_cast<int>(bottom - top)};
}

LensMap lens_map(const Camera& camera, const Matrix3& rotation, const Matrix3& new_matrix) {
  LensMap map;
  const Matrix3 back = inverse(product(new_matrix, rotation));
  std::copy(back.begin(), back.end(), map.inverse);
  map.fx = camera.fx, map.fy = camera.fy, map.cx = camera.cx, map.cy = camera.cy;
  std::copy(camera.k.begin(), camera.k.begin() + 12, map.k);
  std::copy(camera.tilt.begin(), camera.tilt.end(), map.tilt);
  return map;
}

Matrix3 camera_matrix(const char* function, const TensorView& matrix) {
  constexpr const char* kName = "the camera's matrix";
  if (matrix.dtype() == DType::i32) return matrix_of(function, kName, {matrix.data<int32_t>(), matrix.data<int32_t>() + matrix.elements()});
  return matrix_of(function, kName, numbers_of(function, kName, matrix));
}

}  // namespace

std::pair<Tensor, Tensor> rodrigues(const TensorView& rotation) try {
  constexpr const char* kName = "Rodrigues";
  const std::vector<double> values = numbers_of(kName, "a rotation", rotation);
  const DType dtype = rotation.dtype();
  if (values.size() == 3) {
    const Vector3 vector{values[0], values[1], values[2]};
    const Matrix3 matrix = rotation_of(vector);
    return {as(dtype, tensor_of({3, 3}, matrix.data())), as(dtype, tensor_of({3, 9}, rotation_slopes(vector).data()))};
  }
  if (values.size() != 9)
    throw InvalidArgument("{}: a rotation is a vector of 3 numbers or a matrix [3, 3], not {}", kName, rotation.shape());
  Matrix3 matrix;
  std::copy(values.begin(), values.end(), matrix.begin());
  std::array<double, 27> slopes{};  // [9, 3]
  const bool sound = std::all_of(matrix.begin(), matrix.end(), [](double x) { return x >= -100 && x < 100; });
  const Vector3 vector = sound ? vector_of(matrix) : Vector3{};
  if (sound) {
    const Matrix3 r = rotation_of(vector);
    const Vector3 axis{r[7] - r[5], r[2] - r[6], r[3] - r[1]};
    const double s = std::sqrt((axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]) * 0.25);
    const double c = std::clamp((r[0] + r[4] + r[8] - 1) * 0.5, -1.0, 1.0), angle = std::acos(c);
    constexpr size_t kCross[3][2] = {{7, 5}, {2, 6}, {3, 1}};
    if (s >= 1e-5 || c > 0) {
      // vector = angle / (2 sin(angle)) * axis, and the angle follows from the trace.
      const double scale = s >= 1e-5 ? angle / (2 * s) : 0.5;
      for (size_t i = 0; i < 3; ++i) {
        slopes[3 * kCross[i][0] + i] = scale, slopes[3 * kCross[i][1] + i] = -scale;
        const double by_trace = s >= 1e-5 ? axis[i] * (1 - angle * c / s) / (2 * s) * (-0.5 / s) : 0;
        for (size_t k = 0; k < 9; k += 4) slopes[3 * k + i] = by_trace;
      }
    }
  }
  return {as(dtype, tensor_of({3, 1}, vector.data())), as(dtype, tensor_of({9, 3}, slopes.data()))};
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> project_points(const TensorView& points, const std::vector<double>& rotation,
                                         const std::vector<double>& translation, const TensorView& matrix,
                                         const std::vector<double>& distortion, double aspect) try {
  constexpr const char* kName = "projectPoints";
  int64_t count = 0;
  if ((points.dtype() != DType::f32 && points.dtype() != DType::f64) || !vectors_in(points, 3, count) || count == 0)
    throw InvalidArgument("{}: points are f32 or f64, [n, 3] or [n, 1, 3], not {}{}", kName, points.dtype(), points.shape());
  if (rotation.size() != 3 && rotation.size() != 9)
    throw InvalidArgument("{}: a rotation has 3 or 9 numbers, not {}", kName, rotation.size());
  if (translation.size() != 3) throw InvalidArgument("{}: a translation has 3 numbers, not {}", kName, translation.size());
  const Camera camera = Camera::from(kName, matrix, distortion);
  const size_t lens = distortion.empty() ? 5 : distortion.size(), columns = 10 + lens;
  const Vector3 vector =
      rotation.size() == 3 ? Vector3{rotation[0], rotation[1], rotation[2]} : vector_of(matrix_of(kName, "a rotation", rotation));
  const Matrix3 turn = rotation.size() == 3 ? rotation_of(vector) : matrix_of(kName, "a rotation", rotation);
  const std::array<double, 27> slopes = rotation_slopes(vector);
  const bool fixed = aspect > static_cast<double>(std::numeric_limits<float>::epsilon());
  const double fx = fixed ? camera.fy * aspect : camera.fx, fy = camera.fy;
  // The rotations of a tilted sensor, and the projection onto it along the axis, by both angles.
  Dual tilt[9] = {{1}, {}, {}, {}, {1}, {}, {}, {}, {1}};
  const std::array<double, 14>& k = camera.k;
  if (lens >= 14) {
    const Dual a{std::cos(k[12]), {-std::sin(k[12]), 0}}, b{std::sin(k[12]), {std::cos(k[12]), 0}};
    const Dual c{std::cos(k[13]), {0, -std::sin(k[13])}}, d{std::sin(k[13]), {0, std::cos(k[13])}};
    const Dual both[9] = {c, d * b, d * a * -1, Dual{}, a, b, d, c * b * -1, c * a};
    for (size_t i = 0; i < 3; ++i) {
      tilt[i] = both[8] * both[i] + both[2] * both[6 + i] * -1;
      tilt[3 + i] = both[8] * both[3 + i] + both[5] * both[6 + i] * -1;
      tilt[6 + i] = both[6 + i];
    }
  }
  Tensor pixels(points.dtype(), {count, 1, 2}), jacobian(DType::f64, {2 * count, static_cast<int64_t>(columns)});
  double* slope = jacobian.writable().data<double>();
  const auto store = [&](int64_t i, double value) {
    if (points.dtype() == DType::f32)
      pixels.writable().data<float>()[i] = static_cast<float>(value);
    else
      pixels.writable().data<double>()[i] = value;
  };
  for (int64_t i = 0; i < count; ++i) {
    double p[3];
    for (int64_t c = 0; c < 3; ++c)
      p[c] = points.dtype() == DType::f32 ? static_cast<double>(points.data<float>()[3 * i + c]) : points.data<double>()[3 * i + c];
    double q[3], turned[3][3];  // the point before the camera, and its derivatives by the rotation's vector
    for (size_t c = 0; c < 3; ++c) {
      q[c] = turn[3 * c] * p[0] + turn[3 * c + 1] * p[1] + turn[3 * c + 2] * p[2] + translation[c];
      for (size_t by = 0; by < 3; ++by) {
        const double* const s = slopes.data() + 9 * by + 3 * c;
        turned[by][c] = s[0] * p[0] + s[1] * p[1] + s[2] * p[2];
      }
    }
    const double w = q[2] != 0 ? 1 / q[2] : 1;
    // Through the lens, by the direction.
    const Dual x{q[0] * w, {1, 0}}, y{q[1] * w, {0, 1}}, x2 = x * x, y2 = y * y, r2 = x2 + y2, r4 = r2 * r2, r6 = r4 * r2, xy = x * y * 2;
    const Dual above = r2 * k[0] + r4 * k[1] + r6 * k[4] + 1, below = reciprocal(r2 * k[5] + r4 * k[6] + r6 * k[7] + 1),
               radial = above * below;
    const Dual a = x * radial + xy * k[2] + (r2 + x2 * 2) * k[3] + r2 * k[8] + r4 * k[9];
    const Dual b = y * radial + (r2 + y2 * 2) * k[2] + xy * k[3] + r2 * k[10] + r4 * k[11];
    // By the numbers of the distortion.
    const double d = below.value, e = -radial.value * d, r[3] = {r2.value, r4.value, r6.value};
    const double by_k[12][2] = {{x.value * d * r[0], y.value * d * r[0]},
                                {x.value * d * r[1], y.value * d * r[1]},
                                {xy.value, r[0] + 2 * y2.value},
                                {r[0] + 2 * x2.value, xy.value},
                                {x.value * d * r[2], y.value * d * r[2]},
                                {x.value * e * r[0], y.value * e * r[0]},
                                {x.value * e * r[1], y.value * e * r[1]},
                                {x.value * e * r[2], y.value * e * r[2]},
                                {r[0], 0},
                                {r[1], 0},
                                {0, r[0]},
                                {0, r[1]}};
    const auto line = [&](size_t row) {
      const Dual* const t = tilt + 3 * row;
      return Dual{t[0].value * a.value + t[1].value * b.value + t[2].value,
                  {t[0].by[0] * a.value + t[1].by[0] * b.value + t[2].by[0], t[0].by[1] * a.value + t[1].by[1] * b.value + t[2].by[1]}};
    };
    const Dual bottom = line(2);
    const double scale = bottom.value != 0 ? 1 / bottom.value : 1;
    const double focal[2] = {fx, fy}, center[2] = {camera.cx, camera.cy};
    for (size_t axis = 0; axis < 2; ++axis, slope += columns) {
      const Dual top = line(axis);
      const double at = top.value * scale, f = focal[axis] * scale;
      store(2 * i + static_cast<int64_t>(axis), at * focal[axis] + center[axis]);
      const double by_a = f * (tilt[3 * axis].value - at * tilt[6].value), by_b = f * (tilt[3 * axis + 1].value - at * tilt[7].value);
      const double by_x = (by_a * a.by[0] + by_b * b.by[0]) * w, by_y = (by_a * a.by[1] + by_b * b.by[1]) * w;
      for (size_t by = 0; by < 3; ++by)
        slope[by] = by_x * (turned[by][0] - x.value * turned[by][2]) + by_y * (turned[by][1] - y.value * turned[by][2]);
      slope[3] = by_x, slope[4] = by_y, slope[5] = -(by_x * x.value + by_y * y.value);
      slope[6] = axis == 0 && !fixed ? at : 0, slope[7] = axis == 1 ? at : fixed ? at * aspect : 0;
      slope[8] = axis == 0, slope[9] = axis == 1;
      for (size_t n = 0; n < std::min<size_t>(lens, 12); ++n) slope[10 + n] = by_a * by_k[n][0] + by_b * by_k[n][1];
      for (size_t n = 12; n < lens; ++n) slope[10 + n] = f * (top.by[n - 12] - at * bottom.by[n - 12]);
    }
  }
  return {std::move(pixels), std::move(jacobian)};
} catch (...) {
  throw_as_error();
}

Tensor undistort_points(const TensorView& points, const TensorView& matrix, const std::vector<double>& distortion,
                        const std::vector<double>& rotation, const std::vector<double>& new_matrix, int criteria, int most,
                        double epsilon) try {
  constexpr const char* kName = "undistortPoints";
  int64_t count = 0;
  if ((points.dtype() != DType::f32 && points.dtype() != DType::f64) || !vectors_in(points, 2, count))
    throw InvalidArgument("{}: points are f32 or f64, [n, 2] or [n, 1, 2], not {}{}", kName, points.dtype(), points.shape());
  if (!(criteria & 3) || ((criteria & 1) && most <= 0) || ((criteria & 2) && !(epsilon >= 0)))
    throw InvalidArgument("{}: the criteria have a number of steps or an error", kName);
  const Camera camera = Camera::from(kName, matrix, distortion);
  const Matrix3 after = product(matrix_of(kName, "the new camera's matrix", new_matrix, true), matrix_of(kName, "the rotation", rotation));
  std::vector<double> values = numbers_of(kName, "points", points);
  for_rows(count, 64, [&](int64_t first, int64_t last) {
    const std::span<double> part(values.data() + 2 * first, static_cast<size_t>(2 * (last - first)));
    undistort_into(camera, {distortion.empty() ? 1 : criteria, distortion.empty() ? 0 : most, epsilon}, after,
                   !rotation.empty() || !new_matrix.empty(), part);
  });
  return as(points.dtype(), tensor_of({count, 1, 2}, values.data()));
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> undistort_rectify_map(const TensorView& matrix, const std::vector<double>& distortion,
                                                const std::vector<double>& rotation, const std::vector<double>& new_matrix, Size size,
                                                DType dtype, int channels) try {
  constexpr const char* kName = "initUndistortRectifyMap";
  const Camera camera = Camera::from(kName, matrix, distortion);
  check_size(kName, size.width, size.height);
  if (dtype == DType::undefined) dtype = DType::i16, channels = 2;
  const bool fixed = dtype == DType::i16 && channels == 2;
  if (!fixed && !(dtype == DType::f32 && (channels == 1 || channels == 2)))
    throw InvalidArgument("{}: a map is i16 of two channels, or f32 of one or two", kName);
  Matrix3 camera_after;
  if (new_matrix.empty()) {
    camera_after = camera_matrix(kName, matrix);
    camera_after[2] = (size.width - 1) * 0.5, camera_after[5] = (size.height - 1) * 0.5;
  } else {
    camera_after = matrix_of(kName, "the new camera's matrix", new_matrix, true);
  }
  const LensMap map = lens_map(camera, matrix_of(kName, "the rotation", rotation), camera_after);
  Tensor first = new_image(dtype, size.height, size.width, channels), second;
  const MutableImageView one = writable(first);
  MutableImageView two;
  if (fixed || channels == 1) {
    second = new_image(fixed ? DType::u16 : DType::f32, size.height, size.width, 1);
    two = writable(second);
  }
  for_rows(size.height, size.width * 32, [&](int64_t begin, int64_t end) {
    std::vector<float> xs(static_cast<size_t>(channels == 2 && !fixed ? size.width : 0)), ys(xs.size());
    for (int64_t y = begin; y < end; ++y) {
      const double row = static_cast<double>(y);
      if (fixed) {
        lens_loops().fixed_row(map, row, size.width, one.row<int16_t>(y), two.row<uint16_t>(y));
      } else if (channels == 1) {
        lens_loops().row(map, row, size.width, one.row<float>(y), two.row<float>(y));
      } else {
        lens_loops().row(map, row, size.width, xs.data(), ys.data());
        for (size_t x = 0; x < xs.size(); ++x) one.row<float>(y)[2 * x] = xs[x], one.row<float>(y)[2 * x + 1] = ys[x];
      }
    }
  });
  return {std::move(first), std::move(second)};
} catch (...) {
  throw_as_error();
}

Tensor undistort(const ImageView& image, const TensorView& matrix, const std::vector<double>& distortion,
                 const std::vector<double>& new_matrix, Output output) try {
  check_not_empty("undistort", image);
  const Matrix3 same = camera_matrix("undistort", matrix);
  const auto [first, second] = undistort_rectify_map(
      matrix, distortion, {}, new_matrix.empty() ? std::vector<double>(same.begin(), same.end()) : new_matrix, image.size(), DType::i16, 2);
  return remap(image, first, second, static_cast<int>(Interpolation::linear), Border::constant, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor default_new_camera_matrix(const TensorView& matrix, Size size, bool centered) try {
  Matrix3 made = camera_matrix("getDefaultNewCameraMatrix", matrix);
  if (centered) made[2] = (size.width - 1) * 0.5, made[5] = (size.height - 1) * 0.5;
  return tensor_of({3, 3}, made.data());
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Rect> optimal_new_camera_matrix(const TensorView& matrix, const std::vector<double>& distortion, Size size, double alpha,
                                                  Size new_size, bool centered) try {
  constexpr const char* kName = "getOptimalNewCameraMatrix";
  const Camera camera = Camera::from(kName, matrix, distortion);
  if (size.width <= 0 || size.height <= 0) throw InvalidArgument("{}: the size is positive, not {} x {}", kName, size.width, size.height);
  if (new_size.width <= 0 || new_size.height <= 0) new_size = size;
  const Matrix3 before = camera_matrix(kName, matrix);
  Matrix3 made = before;
  Rectangle inner, outer;
  Rect valid;
  if (centered) {
    const double cx0 = before[2], cy0 = before[5], cx = (new_size.width - 1) * 0.5, cy = (new_size.height - 1) * 0.5;
    rectangles_of(camera, &before, size, inner, outer);
    const double most = std::max({cx / (cx0 - inner.left), cy / (cy0 - inner.top), cx / (inner.right - cx0), cy / (inner.bottom - cy0)});
    const double least = std::min({cx / (cx0 - outer.left), cy / (cy0 - outer.top), cx / (outer.right - cx0), cy / (outer.bottom - cy0)});
    const double scale = most * (1 - alpha) + least * alpha;
    made[0] *= scale, made[4] *= scale, made[2] = cx, made[5] = cy;
    valid = {whole(std::ceil((inner.left - cx0) * scale + cx)), whole(std::ceil((inner.top - cy0) * scale + cy)),
             whole(std::floor((inner.right - inner.left) * scale)), whole(std::floor((inner.bottom - inner.top) * scale))};
  } else {
    rectangles_of(camera, nullptr, size, inner, outer);
    const double fx0 = (new_size.width - 1) / (inner.right - inner.left), fy0 = (new_size.height - 1) / (inner.bottom - inner.top);
    const double fx1 = (new_size.width - 1) / (outer.right - outer.left), fy1 = (new_size.height - 1) / (outer.bottom - outer.top);
    made[0] = fx0 * (1 - alpha) + fx1 * alpha, made[4] = fy0 * (1 - alpha) + fy1 * alpha;
    made[2] = -fx0 * inner.left * (1 - alpha) - fx1 * outer.left * alpha,
    made[5] = -fy0 * inner.top * (1 - alpha) - fy1 * outer.top * alpha;
    rectangles_of(camera, &made, size, inner, outer);
    valid = {whole(inner.left), whole(inner.top), whole(inner.right - inner.left), whole(inner.bottom - inner.top)};
  }
  return {as(matrix.dtype(), tensor_of({3, 3}, made.data())), within(valid, new_size)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
