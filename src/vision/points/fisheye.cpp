// SPDX-License-Identifier: Apache-2.0
// Lenses of a wide angle: the distance from the centre is a polynomial of the angle (J. Kannala and S. Brandt, A generic camera model and
// calibration method for conventional, wide-angle, and fish-eye lenses, 2006).
#include <minnow/vision/calibration.h>
#include <minnow/vision/geometry.h>

#include "vision/matrix.h"
#include "vision/points/camera.h"

namespace minnow::vision {
namespace {

struct Fisheye {
  Camera camera;
  double k[4] = {0, 0, 0, 0};

  static Fisheye from(const char* function, const TensorView& matrix, const std::vector<double>& distortion) {
    if (!distortion.empty() && distortion.size() != 4)
      throw InvalidArgument("{}: the distortion has 4 numbers, not {}", function, distortion.size());
    Fisheye lens{Camera::from(function, matrix, {})};
    std::copy(distortion.begin(), distortion.end(), lens.k);
    return lens;
  }
  double distance(double angle) const {
    const double a = angle * angle;
    return angle * (1 + a * (k[0] + a * (k[1] + a * (k[2] + a * k[3]))));
  }
  double slope(double angle) const {
    const double a = angle * angle;
    return 1 + a * (3 * k[0] + a * (5 * k[1] + a * (7 * k[2] + a * 9 * k[3])));
  }
};

Matrix3 rotation_from(const char* function, const std::vector<double>& values) {
  if (values.empty()) return {1, 0, 0, 0, 1, 0, 0, 0, 1};
  if (values.size() == 3) return rotation_of({values[0], values[1], values[2]});
  if (values.size() != 9) throw InvalidArgument("{}: a rotation has 3 or 9 numbers, not {}", function, values.size());
  Matrix3 matrix;
  std::copy(values.begin(), values.end(), matrix.begin());
  return matrix;
}

Matrix3 camera_from(const char* function, const std::vector<double>& values) {
  if (values.empty()) return {1, 0, 0, 0, 1, 0, 0, 0, 1};
  if (values.size() != 9 && values.size() != 12)
    throw InvalidArgument("{}: the new camera's matrix has 9 or 12 numbers, not {}", function, values.size());
  Matrix3 matrix;
  for (size_t i = 0; i < 3; ++i)
    for (size_t c = 0; c < 3; ++c) matrix[3 * i + c] = values[values.size() / 3 * i + c];
  return matrix;
}

/// The direction of a pixel; false where the angle is not found.
bool direction(const Fisheye& lens, int criteria, int most, double epsilon, double& x, double& y) {
  constexpr double kQuarter = 1.57079632679489661923;
  constexpr int kMostSteps = 10000;
  x = (x - lens.camera.cx) / lens.camera.fx, y = (y - lens.camera.cy) / lens.camera.fy;
  const double distance = std::min(std::sqrt(x * x + y * y), kQuarter);
  const bool to_epsilon = criteria & 2;
  bool found = !to_epsilon;
  double angle = distance, scale = 0;
  if (!to_epsilon || distance > epsilon) {
    const int steps = (criteria & 1) ? std::min(most, kMostSteps) : kMostSteps;
    for (int step = 0; step < steps; ++step) {
      const double by = (lens.distance(angle) - distance) / lens.slope(angle);
      angle -= by;
      if (to_epsilon && std::abs(by) < epsilon) {
        found = true;
        break;
      }
    }
    scale = std::tan(angle) / distance;
  } else {
    found = true;
  }
  if (!found || (distance > 0 && angle < 0)) return false;
  x *= scale, y *= scale;
  return true;
}

template <class F>
Tensor map_points(const char* function, const TensorView& points, F&& each) {
  int64_t count = 0;
  if ((points.dtype() != DType::f32 && points.dtype() != DType::f64) || points.shape().rank() != 3 || !vectors_in(points, 2, count))
    throw InvalidArgument("{}: points are f32 or f64, [n, 1, 2] or [1, n, 2], not {}{}", function, points.dtype(), points.shape());
  Tensor made(points.dtype(), points.shape());
  with_element(function, points.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* const in = points.data<T>();
    T* const out = made.writable().data<T>();
    for (int64_t i = 0; i < 2 * count; i += 2) {
      double x = static_cast<double>(in[i]), y = static_cast<double>(in[i + 1]);
      each(x, y);
      out[i] = static_cast<T>(x), out[i + 1] = static_cast<T>(y);
    }
  });
  return made;
}

}  // namespace

Tensor fisheye_distort_points(const TensorView& points, const TensorView& matrix, const std::vector<double>& distortion, double skew) try {
  const Fisheye lens = Fisheye::from("fisheye.distortPoints", matrix, distortion);
  return map_points("fisheye.distortPoints", points, [&](double& x, double& y) {
    const double r = std::sqrt(x * x + y * y), scale = r > 1e-8 ? lens.distance(std::atan(r)) / r : 1;
    x *= scale, y *= scale;
    x = (x + skew * y) * lens.camera.fx + lens.camera.cx, y = y * lens.camera.fy + lens.camera.cy;
  });
} catch (...) {
  throw_as_error();
}

Tensor fisheye_undistort_points(const TensorView& points, const TensorView& matrix, const std::vector<double>& distortion,
                                const std::vector<double>& rotation, const std::vector<double>& new_matrix, int criteria, int most,
                                double epsilon) try {
  constexpr const char* kName = "fisheye.undistortPoints";
  const Fisheye lens = Fisheye::from(kName, matrix, distortion);
  if (!(criteria & 3) || ((criteria & 1) && most <= 0) || ((criteria & 2) && !(epsilon >= 0)))
    throw InvalidArgument("{}: the criteria have a number of steps or an error", kName);
  Matrix3 after;
  multiply3(camera_from(kName, new_matrix).data(), rotation_from(kName, rotation).data(), after.data());
  const bool turned = !rotation.empty() || !new_matrix.empty();
  return map_points(kName, points, [&](double& x, double& y) {
    if (!direction(lens, criteria, most, epsilon, x, y)) {
      x = y = -1000000;
    } else if (turned) {
      const double w = after[6] * x + after[7] * y + after[8];
      const double a = (after[0] * x + after[1] * y + after[2]) / w, b = (after[3] * x + after[4] * y + after[5]) / w;
      x = a, y = b;
    }
  });
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> fisheye_rectify_map(const TensorView& matrix, const std::vector<double>& distortion,
                                              const std::vector<double>& rotation, const std::vector<double>& new_matrix, Size size,
                                              DType dtype, int channels) try {
  constexpr const char* kName = "fisheye.initUndistortRectifyMap";
  const Fisheye lens = Fisheye::from(kName, matrix, distortion);
  check_size(kName, size.width, size.height);
  if (dtype == DType::undefined) dtype = DType::i16, channels = 2;
  const bool fixed = dtype == DType::i16 && channels == 2;
  if (!fixed && !(dtype == DType::f32 && channels == 1)) throw InvalidArgument("{}: a map is i16 of two channels, or f32 of one", kName);
  Matrix3 onto;
  multiply3(camera_from(kName, new_matrix).data(), rotation_from(kName, rotation).data(), onto.data());
  const std::vector<double> back = inverse3(onto.data());
  Tensor first = new_image(dtype, size.height, size.width, channels);
  Tensor second = new_image(fixed ? DType::u16 : DType::f32, size.height, size.width, 1);
  const MutableImageView one = writable(first), two = writable(second);
  for_rows(size.height, size.width * 32, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = 0; column < size.width; ++column) {
        const double i = static_cast<double>(row), k = static_cast<double>(column);
        const double w = back[7] * i + back[8] + back[6] * k;
        double x = back[1] * i + back[2] + back[0] * k, y = back[4] * i + back[5] + back[3] * k;
        if (w <= 0) {
          constexpr double kFar = std::numeric_limits<double>::infinity();
          x = x > 0 ? -kFar : kFar, y = y > 0 ? -kFar : kFar;
        } else {
          x /= w, y /= w;
          const double r = std::sqrt(x * x + y * y), scale = r == 0 ? 1 : lens.distance(std::atan(r)) / r;
          x = lens.camera.fx * x * scale + lens.camera.cx, y = lens.camera.fy * y * scale + lens.camera.cy;
        }
        if (fixed) {
          const auto part = [](double value) {
            const double rounded = std::nearbyint(value * 32);
            return rounded > -2147483648.0 && rounded < 2147483647.0 ? static_cast<int32_t>(rounded) : std::numeric_limits<int32_t>::min();
          };
          const int32_t u = part(x), v = part(y);
          one.row<int16_t>(row)[2 * column] = static_cast<int16_t>(u >> 5),
                                    one.row<int16_t>(row)[2 * column + 1] = static_cast<int16_t>(v >> 5);
          two.row<uint16_t>(row)[column] = static_cast<uint16_t>((v & 31) * 32 + (u & 31));
        } else {
          one.row<float>(row)[column] = static_cast<float>(x), two.row<float>(row)[column] = static_cast<float>(y);
        }
      }
  });
  return {std::move(first), std::move(second)};
} catch (...) {
  throw_as_error();
}

Tensor fisheye_undistort(const ImageView& image, const TensorView& matrix, const std::vector<double>& distortion,
                         const std::vector<double>& new_matrix, Size size, Output output) try {
  check_not_empty("fisheye.undistortImage", image);
  const auto [first, second] =
      fisheye_rectify_map(matrix, distortion, {}, new_matrix, size.width > 0 && size.height > 0 ? size : image.size(), DType::i16, 2);
  return remap(image, first, second, static_cast<int>(Interpolation::linear), Border::constant, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor fisheye_new_camera_matrix(const TensorView& matrix, const std::vector<double>& distortion, Size size,
                                 const std::vector<double>& rotation, double balance, Size new_size, double scale) try {
  constexpr const char* kName = "fisheye.estimateNewCameraMatrixForUndistortRectify";
  const Fisheye lens = Fisheye::from(kName, matrix, distortion);
  if (size.width <= 0 || size.height <= 0) throw InvalidArgument("{}: the size is positive, not {} x {}", kName, size.width, size.height);
  balance = std::clamp(balance, 0.0, 1.0);
  const double width = size.width, height = size.height, middle_x = size.width / 2, middle_y = size.height / 2;
  const double edges[] = {middle_x, 0, width, middle_y, middle_x, height, 0, middle_y};
  Tensor points(DType::f64, {4, 1, 2});
  std::copy(edges, edges + 8, points.writable().data<double>());
  const Tensor directions = fisheye_undistort_points(points, matrix, distortion, rotation, {}, 3, 10, 1e-8);
  const double* const p = directions.data<double>();
  const double aspect = lens.camera.fx / lens.camera.fy;
  double x[4], y[4], mean_x = 0, mean_y = 0;
  for (int i = 0; i < 4; ++i) x[i] = p[2 * i], y[i] = p[2 * i + 1] * aspect, mean_x += x[i] / 4, mean_y += y[i] / 4;
  const auto [least_x, most_x] = std::minmax_element(x, x + 4);
  const auto [least_y, most_y] = std::minmax_element(y, y + 4);
  const double focal[] = {width * 0.5 / (mean_x - *least_x), width * 0.5 / (*most_x - mean_x), height * 0.5 * aspect / (mean_y - *least_y),
                          height * 0.5 * aspect / (*most_y - mean_y)};
  const auto [least, most] = std::minmax_element(focal, focal + 4);
  const double f = (balance * *least + (1 - balance) * *most) * (scale > 0 ? 1 / scale : 1);
  double values[9] = {f, 0, -mean_x * f + width * 0.5, 0, f / aspect, (-mean_y * f + height * aspect * 0.5) / aspect, 0, 0, 1};
  if (new_size.width > 0 && new_size.height > 0) {
    for (const int i : {0, 2}) values[i] *= new_size.width / width;
    for (const int i : {4, 5}) values[i] *= new_size.height / height;
  }
  Tensor made(matrix.dtype() == DType::f32 ? DType::f32 : DType::f64, {3, 3});
  for (int i = 0; i < 9; ++i) {
    if (made.dtype() == DType::f32)
      made.writable().data<float>()[i] = static_cast<float>(values[i]);
    else
      made.writable().data<double>()[i] = values[i];
  }
  return made;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
