// SPDX-License-Identifier: Apache-2.0
// Means: blur, box filters, Gaussian blur.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/filter.h"

namespace minnow::vision {
namespace {

constexpr std::initializer_list<DType> kBoxTypes = {DType::u8, DType::u16, DType::i16, DType::i32, DType::f32, DType::f64};

/// For sums of `count` bytes, rounded as OpenCV does: to nearest, and of powers of two a little more upwards.
Division division_by(int64_t count) {
  Division division;
  division.add = static_cast<uint16_t>(count / 2 + ((count & (count - 1)) == 0 && count > 1 ? 1 : 0));
  const uint64_t most = 255 * static_cast<uint64_t>(count) + division.add, n = static_cast<uint64_t>(count);
  for (int shift = 0; shift < 9; ++shift) {
    const uint64_t factor = ((uint64_t(1) << (16 + shift)) + n - 1) / n;
    if (factor > 65535) return division;
    // floor(s * factor / 2^(16 + shift)) is floor(s / n) for all s up to `most`.
    if ((factor * n - (uint64_t(1) << (16 + shift))) * most < (uint64_t(1) << (16 + shift)) && most < 65536) {
      division.factor = static_cast<uint16_t>(factor);
      division.shift = shift;
      return division;
    }
  }
  return division;
}

/// Means of at most 256 bytes.
void mean_of_bytes(const ImageView& from, const MutableImageView& to, const Window& window, Division division) {
  const FilterLoops& loops = filter_loops();
  const int64_t width = window.size.width, height = window.size.height;
  const bool running = height > 6;
  columns_first(
      from, to, window, sizeof(uint16_t), running,
      [&](const void* const* rows, bool begin, void* state, void* mid, int64_t n) {
        const auto* const bytes = reinterpret_cast<const uint8_t* const*>(rows);
        if (!running) return loops.add_u8_u16(bytes, height, static_cast<uint16_t*>(mid), n);
        auto* const sums = static_cast<uint16_t*>(state);
        if (begin)
          loops.add_u8_u16(bytes, height, sums, n);
        else
          loops.moved_u8_u16(bytes[height - 1], bytes[-1], sums, n);
        std::copy(sums, sums + n, static_cast<uint16_t*>(mid));
      },
      [&](void* mid, void* spare, int64_t step, void* out, int64_t n) {
        auto* const sums = static_cast<uint16_t*>(mid);
        if (width <= 16) return loops.across_mean(sums, step, width, division, static_cast<uint8_t*>(out), n);
        loops.window_u16(sums, static_cast<uint16_t*>(spare), step, width, n);
        loops.divide(sums, division, static_cast<uint8_t*>(out), n);
      });
}

/// Sums of bytes, or of their squares, that fit 32 bits, times `scale`.
void sums_of_bytes(const ImageView& from, const MutableImageView& to, const Window& window, double scale, bool squares) {
  const FilterLoops& loops = filter_loops();
  const int64_t width = window.size.width, height = window.size.height;
  columns_first(
      from, to, window, sizeof(int32_t), true,
      [&](const void* const* rows, bool begin, void* state, void* mid, int64_t n) {
        const auto* const bytes = reinterpret_cast<const uint8_t* const*>(rows);
        auto* const sums = static_cast<int32_t*>(state);
        if (begin) {
          std::fill(sums, sums + n, 0);
          for (int64_t t = 0; t < height; ++t) {
            if (squares)
              loops.moved_squares(bytes[t], nullptr, sums, n);
            else
              for (int64_t i = 0; i < n; ++i) sums[i] += bytes[t][i];
          }
        } else {
          (squares ? loops.moved_squares : loops.moved_u8_i32)(bytes[height - 1], bytes[-1], sums, n);
        }
        std::copy(sums, sums + n, static_cast<int32_t*>(mid));
      },
      [&](void* mid, void*, int64_t step, void* out, int64_t n) {
        auto* const sums = static_cast<int32_t*>(mid);
        loops.window_i32(sums, step, width, n);
        if (to.dtype() == DType::u8) return loops.scaled_u8(sums, static_cast<float>(scale), static_cast<uint8_t*>(out), n);
        if (to.dtype() == DType::f32) return loops.scaled_f32(sums, static_cast<float>(scale), static_cast<float*>(out), n);
        with_element("boxFilter", to.dtype(), [&](auto element) {
          using T = decltype(element);
          for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = saturate<T>(sums[i] * scale);
        });
      });
}

/// Sums of f64.
void sums_of_any(const ImageView& from, const MutableImageView& to, const Window& window, double scale, bool squares) {
  const FilterLoops& loops = filter_loops();
  const int64_t width = window.size.width, height = window.size.height;
  columns_first(
      from, to, window, sizeof(double), true,
      [&](const void* const* rows, bool begin, void* state, void* mid, int64_t n) {
        auto* const sums = static_cast<double*>(state);
        with_element("boxFilter", from.dtype(), [&](auto element) {
          using T = decltype(element);
          const auto* const from_rows = reinterpret_cast<const T* const*>(rows);
          const auto add = [&](const T* row, double sign) {
            if (squares)
              for (int64_t i = 0; i < n; ++i) sums[i] += sign * static_cast<double>(row[i]) * static_cast<double>(row[i]);
            else
              for (int64_t i = 0; i < n; ++i) sums[i] += sign * static_cast<double>(row[i]);
          };
          if (begin || height <= 5) {
            std::fill(sums, sums + n, 0.0);
            for (int64_t t = 0; t < height; ++t) add(from_rows[t], 1);
          } else {
            add(from_rows[height - 1], 1);
            add(from_rows[-1], -1);
          }
        });
        std::copy(sums, sums + n, static_cast<double*>(mid));
      },
      [&](void* mid, void* spare, int64_t step, void* out, int64_t n) {
        auto* const sums = static_cast<double*>(mid);
        loops.window_f64(sums, static_cast<double*>(spare), step, width, n);
        for (int64_t i = 0; i < n; ++i) sums[i] *= scale;
        convert_row(sums, to.dtype(), out, n);
      });
}

/// A window of one pixel along sides of one: OpenCV does so where sums are divided.
void shrink(const ImageView& image, Size& size, Border border) {
  if (border == Border::constant) return;
  if (image.height() == 1) size.height = 1;
  if (image.width() == 1) size.width = 1;
}

void box(std::string_view function, const ImageView& image, const MutableImageView& to, Size size, Point anchor, bool normalize,
         Border border) {
  const Window window{size, anchor_of(function, anchor, size), border, nullptr};
  const int64_t count = int64_t{size.width} * size.height;
  const double scale = normalize ? 1.0 / static_cast<double>(count) : 1.0;
  if (image.dtype() == DType::u8) {
    if (to.dtype() == DType::u8 && normalize && count <= 256) {
      if (count == 1) return copy(image, to);
      if (const Division division = division_by(count); division.factor) return mean_of_bytes(image, to, window, division);
    }
    if (count <= 1 << 23) return sums_of_bytes(image, to, window, scale, false);
  }
  if (size.width <= 16 && size.height <= 16 && image.dtype() != DType::f64 && image.dtype() != DType::i32 && to.dtype() != DType::f64 &&
      to.dtype() != DType::i32)
    return linear_filter(image, to, std::vector<double>(static_cast<size_t>(size.width), 1.0),
                         std::vector<double>(static_cast<size_t>(size.height), scale), window.anchor, 0, border);
  sums_of_any(image, to, window, scale, false);
}

}  // namespace

Tensor box_filter(const ImageView& image, DType dtype, Size size, Point anchor, bool normalize, Border border, Output output) try {
  check_not_empty("boxFilter", image);
  check_dtype("boxFilter", image, kBoxTypes);
  check_window("boxFilter", size);
  check_border("boxFilter", border);
  const Point at = anchor_of("boxFilter", anchor, size);
  Result result("boxFilter", output, or_same(dtype, image), image.height(), image.width(), image.channels(), {&image});
  box("boxFilter", image, result.view(), size, at, normalize, border);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor blur(const ImageView& image, Size size, Point anchor, Border border, Output output) {
  return box_filter(image, DType::undefined, size, anchor, true, border, std::move(output));
}

Tensor sqr_box_filter(const ImageView& image, DType dtype, Size size, Point anchor, bool normalize, Border border, Output output) try {
  check_not_empty("sqrBoxFilter", image);
  check_dtype("sqrBoxFilter", image, {DType::u8, DType::u16, DType::i16, DType::f32, DType::f64});
  check_window("sqrBoxFilter", size);
  check_border("sqrBoxFilter", border);
  if (dtype == DType::undefined) dtype = image.dtype() == DType::f32 || image.dtype() == DType::f64 ? DType::f64 : DType::f32;
  if (normalize) shrink(image, size, border);
  const Window window{size, anchor_of("sqrBoxFilter", anchor, size), border, nullptr};
  Result result("sqrBoxFilter", output, dtype, image.height(), image.width(), image.channels(), {&image});
  const double count = double(size.width) * size.height, scale = normalize ? 1.0 / count : 1.0;
  if (image.dtype() == DType::u8 && count * 255 * 255 < 2147483647.0)
    sums_of_bytes(image, result.view(), window, scale, true);
  else
    sums_of_any(image, result.view(), window, scale, true);
  return result.finish();
} catch (...) {
  throw_as_error();
}

namespace {

/// The weights times 2^bits, rounded so that errors are carried on from the ends to the middle, and their sum is 2^bits.
std::vector<int64_t> fixed_weights(const std::vector<double>& weights, int bits) {
  const size_t n = weights.size();
  const int64_t one = int64_t{1} << bits;
  std::vector<int64_t> result(n);
  double error = 0;
  int64_t sum = 0;
  for (size_t i = 0; i < n / 2; ++i) {
    const double wanted = weights[i] * static_cast<double>(one) + error;
    result[i] = result[n - 1 - i] = static_cast<int64_t>(std::nearbyint(wanted));
    error = wanted - static_cast<double>(result[i]);
    sum += 2 * result[i];
  }
  result[n / 2] = one - sum;
  return result;
}

void gauss_bytes(const ImageView& from, const MutableImageView& to, const Window& window, const std::vector<double>& across,
                 const std::vector<double>& down) {
  const FilterLoops& loops = filter_loops();
  const auto fixed = [](const std::vector<double>& weights) {
    std::vector<int16_t> result;
    for (const int64_t weight : fixed_weights(weights, 8)) result.push_back(static_cast<int16_t>(weight));
    return result;
  };
  std::vector<int16_t> a = fixed(across), d = fixed(down);
  // Weights with a common power of two need fewer bits: 64, 128, 64 are 1, 2, 1.
  const auto reduce = [](std::vector<int16_t>& weights) {
    int bits = 8;
    while (std::all_of(weights.begin(), weights.end(), [](int16_t w) { return w % 2 == 0; })) {
      for (int16_t& weight : weights) weight = static_cast<int16_t>(weight / 2);
      --bits;
    }
    return bits;
  };
  std::vector<int16_t> small_a = a, small_d = d;
  const int bits = reduce(small_a) + reduce(small_d);
  const bool is_small = bits <= 8;
  if (is_small) a = small_a, d = small_d;
  const int64_t width = window.size.width, height = window.size.height;
  columns_first(
      from, to, window, sizeof(uint16_t), false,
      [&](const void* const* rows, bool, void*, void* mid, int64_t n) {
        loops.sum_u8_i16(reinterpret_cast<const uint8_t* const*>(rows), d.data(), height, 0, static_cast<int16_t*>(mid), n);
      },
      [&](void* mid, void*, int64_t step, void* out, int64_t n) {
        const auto* const sums = static_cast<const uint16_t*>(mid);
        auto* const bytes = static_cast<uint8_t*>(out);
        if (is_small)
          loops.across_shift(sums, step, a.data(), width, static_cast<uint16_t>(bits ? 1 << (bits - 1) : 0), bits, bytes, n);
        else
          loops.across_gauss(sums, step, a.data(), width, bytes, n);
      });
}

void gauss_u16(const ImageView& from, const MutableImageView& to, const Window& window, const std::vector<double>& across,
               const std::vector<double>& down) {
  const FilterLoops& loops = filter_loops();
  const std::vector<int64_t> wide_a = fixed_weights(across, 16), wide_d = fixed_weights(down, 16);
  const std::vector<uint32_t> a(wide_a.begin(), wide_a.end()), d(wide_d.begin(), wide_d.end());
  columns_first(
      from, to, window, sizeof(uint32_t), false,
      [&](const void* const* rows, bool, void*, void* mid, int64_t n) {
        loops.down_gauss_u16(reinterpret_cast<const uint16_t* const*>(rows), d.data(), window.size.height, static_cast<uint32_t*>(mid), n);
      },
      [&](void* mid, void*, int64_t step, void* out, int64_t n) {
        loops.across_gauss_u16(static_cast<const uint32_t*>(mid), step, a.data(), window.size.width, static_cast<uint16_t*>(out), n);
      });
}

int size_from(double sigma, DType dtype) {
  const double size = std::nearbyint(sigma * (dtype == DType::u8 ? 3 : 4) * 2 + 1);
  return size < kMostTaps ? static_cast<int>(size) | 1 : kMostTaps + 2;
}

}  // namespace

Tensor gaussian_blur(const ImageView& image, Size size, double sigma_x, double sigma_y, Border border, Output output) try {
  check_not_empty("GaussianBlur", image);
  check_dtype("GaussianBlur", image, {DType::u8, DType::u16, DType::i16, DType::f32, DType::f64});
  const bool fixed = image.dtype() == DType::u8 || image.dtype() == DType::u16;
  check_border("GaussianBlur", border, fixed);
  if (sigma_x != sigma_x || sigma_y != sigma_y) throw InvalidArgument("GaussianBlur: sigma is not a number");
  Size window_size = size;
  shrink(image, window_size, border);
  Result result("GaussianBlur", output, image.dtype(), image.height(), image.width(), image.channels(), {&image});
  if (window_size == Size{1, 1}) {
    copy(image, result.view());
    return result.finish();
  }
  if (sigma_y <= 0) sigma_y = sigma_x;
  if (window_size.width <= 0 && sigma_x > 0) window_size.width = size_from(sigma_x, image.dtype());
  if (window_size.height <= 0 && sigma_y > 0) window_size.height = size_from(sigma_y, image.dtype());
  if (window_size.width <= 0 || window_size.height <= 0 || window_size.width % 2 == 0 || window_size.height % 2 == 0)
    throw InvalidArgument("GaussianBlur: the size is odd, or 0 where sigma is given, not {} x {}", size.width, size.height);
  check_window("GaussianBlur", window_size);
  const std::vector<double> across = gaussian_weights(window_size.width, std::max(sigma_x, 0.0));
  const std::vector<double> down = gaussian_weights(window_size.height, std::max(sigma_y, 0.0));
  const Window window{window_size, anchor_of("GaussianBlur", {-1, -1}, window_size), border, nullptr};
  if (image.dtype() == DType::u8)
    gauss_bytes(image, result.view(), window, across, down);
  else if (image.dtype() == DType::u16)
    gauss_u16(image, result.view(), window, across, down);
  else
    linear_filter(image, result.view(), across, down, window.anchor, 0, border);
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
