// SPDX-License-Identifier: Apache-2.0
// Integral pictures: sums over all pixels above and to the left.
#include "vision/filter.h"
#include "vision/loops/morphology.h"

namespace minnow::vision {
namespace {

template <class T, class Sum>
void upright(const ImageView& image, const MutableImageView& to, bool squares) {
  const int64_t channels = image.channels(), n = image.width() * channels;
  std::fill(to.row<Sum>(0), to.row<Sum>(0) + n + channels, Sum(0));
  std::vector<int32_t> spare;
  for (int64_t y = 0; y < image.height(); ++y) {
    const T* const row = image.row<T>(y);
    const Sum* const above = to.row<Sum>(y) + channels;
    Sum* const below = to.row<Sum>(y + 1) + channels;
    std::fill(below - channels, below, Sum(0));
    if constexpr (std::is_same_v<T, uint8_t> && std::is_same_v<Sum, int32_t>) {
      const MorphologyLoops& loops = morphology_loops();
      if (channels == 1 && !squares) {
        loops.integral_u8(row, above, below, n);
        continue;
      }
      if ((channels == 3 || channels == 4) && !squares) {
        loops.integral_u8_pixels(row, above, below, image.width(), channels);
        continue;
      }
    }
    if constexpr (std::is_same_v<T, uint8_t> && std::is_same_v<Sum, double>) {
      if (channels == 1 && squares) {
        spare.resize(static_cast<size_t>(std::min<int64_t>(n, 32768)));
        morphology_loops().integral_squares(row, above, below, spare.data(), n);
        continue;
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      Sum sum = 0;
      for (int64_t x = c; x < n; x += channels) {
        const Sum value = static_cast<Sum>(row[x]);
        sum += squares ? value * value : value;
        below[x] = above[x] + sum;
      }
    }
  }
}

/// At (x, y): the sum of the pixels of a triangle that opens upwards from pixel (x - 1, y - 1) at 45 degrees. It is the triangle one row
/// higher and the two diagonals that bound it.
template <class T, class Sum>
void tilted(const ImageView& image, const MutableImageView& to) {
  const int64_t channels = image.channels(), width = image.width(), n = width * channels;
  std::fill(to.row<Sum>(0), to.row<Sum>(0) + n + channels, Sum(0));
  // The diagonals that end in the pixels -1 .. width - 1 of a row, from the upper left and from the upper right. A diagonal has one place
  // in its buffer: the row's place moves.
  const size_t size = static_cast<size_t>(n + channels), step = static_cast<size_t>(channels), height = static_cast<size_t>(image.height());
  std::vector<Sum> falling(size + (height + 1) * step), rising(size + (height + 1) * step);
  std::vector<T> pixels(size);
  for (size_t y = 0; y < height; ++y) {
    const T* const row = image.row<T>(static_cast<int64_t>(y));
    std::copy(row, row + n, pixels.begin() + channels);
    Sum *const down = falling.data() + (height - y) * step, *const up = rising.data() + y * step;
    const Sum* const above = to.row<Sum>(static_cast<int64_t>(y));
    Sum* const out = to.row<Sum>(static_cast<int64_t>(y) + 1);
    if constexpr (std::is_same_v<T, uint8_t> && std::is_same_v<Sum, int32_t>) {
      morphology_loops().tilted_u8(pixels.data(), above, down, up, out, static_cast<int64_t>(size));
    } else {
      for (size_t i = 0; i < size; ++i) {
        const Sum pixel = static_cast<Sum>(pixels[i]);
        down[i] += pixel;
        up[i] += pixel;
        out[i] = above[i] + down[i] + up[i] - pixel;
      }
    }
  }
}

template <class F>
void with_sums(std::string_view function, const ImageView& image, DType sum, F&& f) {
  with_pixel(image.dtype(), [&](auto pixel) {
    if (sum == DType::i32) return f(pixel, int32_t());
    if (sum == DType::f32) return f(pixel, float());
    if (sum == DType::f64) return f(pixel, double());
    throw Unsupported("{}: sums are i32, f32 or f64, not {}", function, sum);
  });
}

DType sum_dtype(const ImageView& image, DType dtype) {
  if (dtype == DType::undefined) dtype = image.dtype() == DType::u8 ? DType::i32 : DType::f64;
  if (dtype == DType::i32 && image.dtype() != DType::u8) throw Unsupported("integral: sums of {} are f32 or f64, not i32", image.dtype());
  return dtype;
}

Tensor sums(const ImageView& image, DType dtype, bool squares) {
  Tensor result = new_image(dtype, image.height() + 1, image.width() + 1, image.channels());
  with_sums("integral", image, dtype,
            [&](auto pixel, auto sum) { upright<decltype(pixel), decltype(sum)>(image, writable(result), squares); });
  return result;
}

void check(const ImageView& image) {
  check_not_empty("integral", image);
  check_dtype("integral", image, {DType::u8, DType::u16, DType::i16, DType::f32, DType::f64});
}

}  // namespace

Tensor integral(const ImageView& image, DType dtype) try {
  check(image);
  return sums(image, sum_dtype(image, dtype), false);
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> integral_2(const ImageView& image, DType dtype, DType square) try {
  check(image);
  return {sums(image, sum_dtype(image, dtype), false), sums(image, square == DType::undefined ? DType::f64 : square, true)};
} catch (...) {
  throw_as_error();
}

std::tuple<Tensor, Tensor, Tensor> integral_3(const ImageView& image, DType dtype, DType square) try {
  check(image);
  dtype = sum_dtype(image, dtype);
  Tensor result = new_image(dtype, image.height() + 1, image.width() + 1, image.channels());
  with_sums("integral", image, dtype, [&](auto pixel, auto sum) { tilted<decltype(pixel), decltype(sum)>(image, writable(result)); });
  return {sums(image, dtype, false), sums(image, square == DType::undefined ? DType::f64 : square, true), std::move(result)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
