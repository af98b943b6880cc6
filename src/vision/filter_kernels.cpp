// SPDX-License-Identifier: Apache-2.0
// Weights of filters, as vectors and as tensors.
#include <minnow/vision/filters.h>

#include "vision/filter.h"

namespace minnow::vision {

std::vector<double> gaussian_weights(int size, double sigma) {
  // Small sizes without a sigma have weights that are multiples of 1/256.
  if (sigma <= 0) {
    if (size == 1) return {1};
    if (size == 3) return {0.25, 0.5, 0.25};
    if (size == 5) return {0.0625, 0.25, 0.375, 0.25, 0.0625};
    if (size == 7) return {0.03125, 0.109375, 0.21875, 0.28125, 0.21875, 0.109375, 0.03125};
    if (size == 9) return {4 / 256.0, 13 / 256.0, 30 / 256.0, 51 / 256.0, 60 / 256.0, 51 / 256.0, 30 / 256.0, 13 / 256.0, 4 / 256.0};
    sigma = std::fma(size, 0.15, 0.35);
  }
  const double scale = -0.125 / (sigma * sigma);
  std::vector<double> weights(static_cast<size_t>(size));
  double sum = 0;
  for (int i = 0; i < size; ++i) {
    const double x = 2.0 * i - (size - 1);  // in half pixels
    sum += weights[static_cast<size_t>(i)] = std::exp(x * x * scale);
  }
  if (size % 2 == 0) {  // OpenCV takes both pixels of the middle as the middle itself
    sum += 2 - weights[static_cast<size_t>(size / 2)] * 2;
    weights[static_cast<size_t>(size / 2)] = weights[static_cast<size_t>(size / 2 - 1)] = 1;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

namespace {

std::vector<double> scharr_weights(int order, bool normalize) {
  if (order == 1) return {-1, 0, 1};
  const double scale = normalize ? 1.0 / 32 : 1.0;
  return {3 * scale, 10 * scale, 3 * scale};
}

/// (1 + x)^(size - order - 1) (x - 1)^order
std::vector<double> sobel_weights(std::string_view function, int order, int size, bool normalize) {
  if (size == 1 && order > 0) size = 3;
  if (size <= order) throw InvalidArgument("{}: a derivative of order {} needs more than {} pixels", function, order, size);
  std::vector<double> weights{1};
  const auto times = [&](double first) {  // (first + x)
    weights.push_back(0);
    for (size_t i = weights.size(); i-- > 0;) weights[i] = weights[i] * first + (i ? weights[i - 1] : 0.0);
  };
  for (int i = 0; i < size - order - 1; ++i) times(1);
  for (int i = 0; i < order; ++i) times(-1);
  if (normalize)
    for (double& weight : weights) weight = std::ldexp(weight, -(size - order - 1));
  return weights;
}

Tensor column(const std::vector<double>& values, DType dtype) {
  Tensor result = new_image(dtype, static_cast<int64_t>(values.size()), 1, 1);
  convert_row(values.data(), dtype, writable(result).data(), static_cast<int64_t>(values.size()));
  return result;
}

void check_kernel_dtype(std::string_view function, DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f64) throw Unsupported("{}: a kernel is f32 or f64, not {}", function, dtype);
}

}  // namespace

std::pair<std::vector<double>, std::vector<double>> derivative_weights(std::string_view function, int dx, int dy, int size,
                                                                       bool normalize) {
  if (dx < 0 || dy < 0 || int64_t{dx} + dy < 1)
    throw InvalidArgument("{}: dx and dy are at least 0, and one of them is more, not {} and {}", function, dx, dy);
  if (size <= 0) {
    if (dx + dy != 1) throw InvalidArgument("{}: Scharr's kernels are of order 1 in one direction, not {} and {}", function, dx, dy);
    return {scharr_weights(dx, normalize), scharr_weights(dy, normalize)};
  }
  if (size % 2 == 0 || size > 31) throw InvalidArgument("{}: the size is odd and at most 31, not {}", function, size);
  return {sobel_weights(function, dx, size, normalize), sobel_weights(function, dy, size, normalize)};
}

Tensor gaussian_kernel(int size, double sigma, DType dtype) try {
  check_kernel_dtype("getGaussianKernel", dtype);
  check_window("getGaussianKernel", {size, 1});
  if (sigma != sigma) throw InvalidArgument("getGaussianKernel: sigma is not a number");
  return column(gaussian_weights(size, sigma), dtype);
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> deriv_kernels(int dx, int dy, int size, bool normalize, DType dtype) try {
  check_kernel_dtype("getDerivKernels", dtype);
  const auto [x, y] = derivative_weights("getDerivKernels", dx, dy, size, normalize);
  return {column(x, dtype), column(y, dtype)};
} catch (...) {
  throw_as_error();
}

Tensor gabor_kernel(Size size, double sigma, double theta, double lambda, double gamma, double psi, DType dtype) try {
  check_kernel_dtype("getGaborKernel", dtype);
  const double sigma_y = sigma / gamma, c = std::cos(theta), s = std::sin(theta);
  const auto half = [](int side, double a, double b) {
    const double wide = side > 0 ? side / 2 : std::nearbyint(std::max(std::abs(3 * a), std::abs(3 * b)));
    if (!(wide < kMostTaps / 2)) throw InvalidArgument("getGaborKernel: the kernel has more than {} pixels along one side", kMostTaps);
    return static_cast<int>(wide);
  };
  const int x_most = half(size.width, sigma * c, sigma_y * s), y_most = half(size.height, sigma * s, sigma_y * c);
  const int width = 2 * x_most + 1, height = 2 * y_most + 1;
  check_size("getGaborKernel", width, height);
  std::vector<double> row(static_cast<size_t>(width));
  Tensor kernel = new_image(dtype, height, width, 1);
  const MutableImageView view = writable(kernel);
  const double ex = -0.5 / (sigma * sigma), ey = -0.5 / (sigma_y * sigma_y), frequency = 2 * 3.1415926535897932384626433832795 / lambda;
  for (int y = -y_most; y <= y_most; ++y) {
    for (int x = -x_most; x <= x_most; ++x) {
      const double along = x * c + y * s, beside = y * c - x * s;
      row[static_cast<size_t>(x_most - x)] = std::exp(ex * along * along + ey * beside * beside) * std::cos(frequency * along + psi);
    }
    convert_row(row.data(), dtype, view.row<std::byte>(y_most - y), width);
  }
  return kernel;
} catch (...) {
  throw_as_error();
}

Tensor structuring_element(MorphShape shape, Size size, Point anchor) try {
  check_window("getStructuringElement", size);
  check_size("getStructuringElement", size.width, size.height);
  anchor = anchor_of("getStructuringElement", anchor, size);
  if (shape < MorphShape::rect || shape > MorphShape::diamond)
    throw InvalidArgument("getStructuringElement: the shape is rect, cross, ellipse or diamond (0 to 3), not {}", static_cast<int>(shape));
  if (size == Size{1, 1}) shape = MorphShape::rect;
  Tensor kernel = new_image(DType::u8, size.height, size.width, 1);
  const MutableImageView view = writable(kernel);
  const int radius = size.height / 2, middle = size.width / 2;
  for (int y = 0; y < size.height; ++y) {
    int first = 0, last = size.width;
    const int away = std::abs(y - radius);
    if (shape == MorphShape::cross && y != anchor.y) {
      first = anchor.x, last = first + 1;
    } else if (shape == MorphShape::diamond || shape == MorphShape::ellipse) {
      if (away > radius) {
        last = 0;
      } else {
        int wide = radius - away;
        if (shape == MorphShape::ellipse) {
          const double square = radius ? 1.0 / (double(radius) * radius) : 0.0;
          wide = static_cast<int>(std::nearbyint(middle * std::sqrt((double(radius) * radius - double(away) * away) * square)));
        }
        first = std::max(middle - wide, 0), last = std::min(middle + wide + 1, size.width);
      }
    }
    uint8_t* const row = view.row<uint8_t>(y);
    for (int x = 0; x < size.width; ++x) row[x] = x >= first && x < last;
  }
  return kernel;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
