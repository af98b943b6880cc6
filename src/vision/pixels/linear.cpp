// SPDX-License-Identifier: Apache-2.0
// Linear filters with given weights, and derivatives.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/filter.h"

namespace minnow::vision {
namespace {

constexpr std::initializer_list<DType> kSources = {DType::u8, DType::u16, DType::i16, DType::f32, DType::f64};

/// Elements that are not 0, with their places.
struct Kernel {
  Size size;
  std::vector<Point> places;
  std::vector<double> weights;
};

std::vector<double> numbers_of(std::string_view function, const ImageView& kernel) {
  check_not_empty(function, kernel);
  check_channels(function, kernel, {1});
  check_size(function, kernel.width(), kernel.height());
  std::vector<double> numbers;
  with_element(function, kernel.dtype(), [&](auto element) {
    for (int64_t y = 0; y < kernel.height(); ++y)
      for (int64_t x = 0; x < kernel.width(); ++x) numbers.push_back(static_cast<double>(kernel.row<decltype(element)>(y)[x]));
  });
  return numbers;
}

template <class T>
std::vector<const T*> taps_of(const Kernel& kernel, const void* const* rows, int64_t channels) {
  std::vector<const T*> taps;
  for (const Point& place : kernel.places) taps.push_back(static_cast<const T*>(rows[place.y]) + place.x * channels);
  return taps;
}

template <class To>
std::vector<To> as(const std::vector<double>& values) {
  std::vector<To> result;
  for (const double value : values) result.push_back(static_cast<To>(value));
  return result;
}

void filter(const ImageView& from, const MutableImageView& to, const Kernel& kernel, Point anchor, double delta, Border border) {
  const FilterLoops& loops = filter_loops();
  const Window window{kernel.size, anchor, border, nullptr};
  const int64_t channels = from.channels(), taps = static_cast<int64_t>(kernel.weights.size());
  const DType dtype = to.dtype();
  double most = std::abs(delta);
  bool integers = delta == std::nearbyint(delta);
  for (const double weight : kernel.weights) most += 255 * std::abs(weight), integers = integers && weight == std::nearbyint(weight);
  if (from.dtype() == DType::u8 && integers && most <= 32767 && (dtype == DType::u8 || dtype == DType::i16 || dtype == DType::f32)) {
    const std::vector<int16_t> weights = as<int16_t>(kernel.weights);
    padded_rows(from, to, window, [&](const void* const* rows, int64_t, void* out, int64_t n) {
      const auto places = taps_of<uint8_t>(kernel, rows, channels);
      if (dtype == DType::i16)
        return loops.sum_u8_i16(places.data(), weights.data(), taps, static_cast<int16_t>(delta), static_cast<int16_t*>(out), n);
      std::vector<int16_t> sums(static_cast<size_t>(n));
      loops.sum_u8_i16(places.data(), weights.data(), taps, static_cast<int16_t>(delta), sums.data(), n);
      if (dtype == DType::u8)
        loops.i16_u8(sums.data(), static_cast<uint8_t*>(out), n);
      else
        loops.i16_f32(sums.data(), static_cast<float*>(out), n);
    });
  } else if (from.dtype() != DType::f64 && (dtype == DType::u8 || dtype == DType::u16 || dtype == DType::i16 || dtype == DType::f32)) {
    const std::vector<float> weights = as<float>(kernel.weights);
    padded_rows(
        from, to, window, sizeof(float),
        [&](const void* row, void* out, int64_t n) { convert_row(row, from.dtype(), static_cast<float*>(out), n); },
        [&](const void* const* rows, int64_t, void* out, int64_t n) {
          const auto places = taps_of<float>(kernel, rows, channels);
          if (dtype == DType::f32)
            return loops.sum_f32(places.data(), weights.data(), taps, static_cast<float>(delta), static_cast<float*>(out), n);
          std::vector<float> sums(static_cast<size_t>(n));
          loops.sum_f32(places.data(), weights.data(), taps, static_cast<float>(delta), sums.data(), n);
          convert_row(sums.data(), dtype, out, n);
        });
  } else {
    padded_rows(
        from, to, window, sizeof(double),
        [&](const void* row, void* out, int64_t n) {
          with_element("filter2D", from.dtype(), [&](auto element) {
            const auto* const in = static_cast<const decltype(element)*>(row);
            std::copy(in, in + n, static_cast<double*>(out));
          });
        },
        [&](const void* const* rows, int64_t, void* out, int64_t n) {
          const auto places = taps_of<double>(kernel, rows, channels);
          std::vector<double> sums(static_cast<size_t>(n));
          loops.sum_f64(places.data(), kernel.weights.data(), taps, delta, sums.data(), n);
          convert_row(sums.data(), dtype, out, n);
        });
  }
}

void check(std::string_view function, const ImageView& image, DType& dtype, Border border) {
  check_not_empty(function, image);
  check_dtype(function, image, kSources);
  check_border(function, border);
  dtype = or_same(dtype, image);
  if (dtype == DType::i8 || dtype == DType::i32) throw Unsupported("{}: the result is u8, u16, i16, f32 or f64, not {}", function, dtype);
}

void scale_one(std::vector<double>& a, double scale) {
  for (double& weight : a) weight *= scale;
}

Tensor derivative(std::string_view function, const ImageView& image, DType dtype, int dx, int dy, int size, double scale, double delta,
                  Border border, Output output) {
  check(function, image, dtype, border);
  auto [x, y] = derivative_weights(function, dx, dy, size, false);
  if (scale != 1) scale_one(dx == 0 ? x : y, scale);
  Result result(function, output, dtype, image.height(), image.width(), image.channels(), {&image});
  linear_filter(image, result.view(), x, y, {static_cast<int>(x.size() / 2), static_cast<int>(y.size() / 2)}, delta, border);
  return result.finish();
}

}  // namespace

Tensor filter_2d(const ImageView& image, DType dtype, const ImageView& kernel, Point anchor, double delta, Border border,
                 Output output) try {
  check("filter2D", image, dtype, border);
  const std::vector<double> numbers = numbers_of("filter2D", kernel);
  Kernel sparse;
  sparse.size = kernel.size();
  check_window("filter2D", sparse.size);
  anchor = anchor_of("filter2D", anchor, sparse.size);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    const int x = static_cast<int>(i % static_cast<size_t>(sparse.size.width)),
              y = static_cast<int>(i / static_cast<size_t>(sparse.size.width));
    sparse.places.push_back({x, y});
    sparse.weights.push_back(numbers[i]);
  }
  Result result("filter2D", output, dtype, image.height(), image.width(), image.channels(), {&image, &kernel});
  filter(image, result.view(), sparse, anchor, delta, border);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor sep_filter_2d(const ImageView& image, DType dtype, const ImageView& kernel_x, const ImageView& kernel_y, Point anchor, double delta,
                     Border border, Output output) try {
  check("sepFilter2D", image, dtype, border);
  for (const ImageView* kernel : {&kernel_x, &kernel_y}) {
    if (kernel->height() != 1 && kernel->width() != 1)
      throw InvalidArgument("sepFilter2D: a kernel is a row or a column, not {}", to_string(*kernel));
    if (kernel->dtype() != kernel_x.dtype())
      throw InvalidArgument("sepFilter2D: the kernels have the same dtype, not {} and {}", kernel_x.dtype(), kernel->dtype());
  }
  const std::vector<double> x = numbers_of("sepFilter2D", kernel_x), y = numbers_of("sepFilter2D", kernel_y);
  if (x.size() > kMostTaps || y.size() > kMostTaps) throw InvalidArgument("sepFilter2D: a kernel has at most {} elements", kMostTaps);
  anchor = anchor_of("sepFilter2D", anchor, {static_cast<int>(x.size()), static_cast<int>(y.size())});
  Result result("sepFilter2D", output, dtype, image.height(), image.width(), image.channels(), {&image, &kernel_x, &kernel_y});
  linear_filter(image, result.view(), x, y, anchor, delta, border);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor sobel(const ImageView& image, DType dtype, int dx, int dy, int size, double scale, double delta, Border border, Output output) try {
  return derivative("Sobel", image, dtype, dx, dy, size, scale, delta, border, std::move(output));
} catch (...) {
  throw_as_error();
}

Tensor scharr(const ImageView& image, DType dtype, int dx, int dy, double scale, double delta, Border border, Output output) try {
  return derivative("Scharr", image, dtype, dx, dy, -1, scale, delta, border, std::move(output));
} catch (...) {
  throw_as_error();
}

Tensor laplacian(const ImageView& image, DType dtype, int size, double scale, double delta, Border border, Output output) try {
  if (size < 1 || size % 2 == 0 || size > 31) throw InvalidArgument("Laplacian: the size is odd, from 1 to 31, not {}", size);
  check("Laplacian", image, dtype, border);
  Result result("Laplacian", output, dtype, image.height(), image.width(), image.channels(), {&image});
  if (size <= 3) {
    const double side = size == 1 ? 1 : 0, corner = size == 1 ? 0 : 2, middle = size == 1 ? -4 : -8;
    Kernel kernel{{3, 3}, {}, {}};
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x) {
        const double weight = x == 1 && y == 1 ? middle : x == 1 || y == 1 ? side : corner;
        if (weight == 0) continue;
        kernel.places.push_back({x, y});
        kernel.weights.push_back(weight * scale);
      }
    filter(image, result.view(), kernel, {1, 1}, delta, border);
    return result.finish();
  }
  // The second derivatives along both sides, added.
  const bool wide = image.dtype() == DType::f64 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i8;
  const bool narrow = image.dtype() == DType::u8 && dtype == DType::i16 && size == 5 && scale == 1 && delta == 0;
  const auto [second, smooth] = derivative_weights("Laplacian", 2, 0, size, false);
  const Point middle{size / 2, size / 2};
  Tensor sums[2];
  for (int i = 0; i < 2; ++i) {
    sums[i] = new_image(narrow ? DType::i16 : wide ? DType::f64 : DType::f32, image.height(), image.width(), image.channels());
    linear_filter(image, writable(sums[i]), i ? smooth : second, i ? second : smooth, middle, 0, border);
  }
  const MutableImageView a = writable(sums[0]), b = writable(sums[1]);
  const int64_t n = image.width() * image.channels();
  const FilterLoops& loops = filter_loops();
  for_rows(image.height(), 3 * n, [&](int64_t first, int64_t last) {
    std::vector<double> row(static_cast<size_t>(wide ? n : 0));
    for (int64_t y = first; y < last; ++y) {
      void* const out = result.view().row<std::byte>(y);
      if (narrow) {
        const int16_t* const rows[] = {a.row<int16_t>(y), b.row<int16_t>(y)};
        const int16_t ones[] = {1, 1};
        loops.sum_i16(rows, ones, 2, 0, static_cast<int16_t*>(out), n);
      } else if (wide) {
        const double* const rows[] = {a.row<double>(y), b.row<double>(y)};
        const double factors[] = {scale, scale};
        loops.sum_f64(rows, factors, 2, delta, row.data(), n);
        convert_row(row.data(), dtype, out, n);
      } else {
        float* const sum = a.row<float>(y);
        loops.add_scaled(b.row<float>(y), static_cast<float>(scale), static_cast<float>(delta), sum, n);
        convert_row(sum, dtype, out, n);
      }
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> spatial_gradient(const ImageView& image, int size, Border border) try {
  check_not_empty("spatialGradient", image);
  check_dtype("spatialGradient", image, {DType::u8});
  check_channels("spatialGradient", image, {1});
  if (size != 3) throw InvalidArgument("spatialGradient: the size is 3, not {}", size);
  if (border != Border::reflect101 && border != Border::replicate)
    throw InvalidArgument("spatialGradient: the border is replicate or reflect101 (1 or 4), not {}", static_cast<int>(border));
  return {derivative("spatialGradient", image, DType::i16, 1, 0, 3, 1, 0, border, {}),
          derivative("spatialGradient", image, DType::i16, 0, 1, 3, 1, 0, border, {})};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
