// SPDX-License-Identifier: Apache-2.0
// Burt and Adelson, "The Laplacian pyramid as a compact image code", 1983: a picture of half or twice the size.
#include <minnow/vision/geometry.h>

#include "vision/image.h"
#include "vision/loops/pyramid.h"

namespace minnow::vision {
namespace {

template <class T>
struct Sums {
  using Type = int32_t;
};
template <>
struct Sums<float> {
  using Type = float;
};
template <>
struct Sums<double> {
  using Type = double;
};
template <class T>
using Sum = typename Sums<T>::Type;

void join(const uint8_t* const* rows, int64_t n, int32_t* out) { pyramid_loops().join8(rows, n, out); }
void join(const uint16_t* const* rows, int64_t n, int32_t* out) { pyramid_loops().join16(rows, n, out); }
void join(const int16_t* const* rows, int64_t n, int32_t* out) { pyramid_loops().join16s(rows, n, out); }
void join(const float* const* rows, int64_t n, float* out) { pyramid_loops().join32(rows, n, out); }
void join(const double* const* rows, int64_t n, double* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = rows[0][i] + rows[4][i] + (rows[1][i] + rows[3][i]) * 4 + rows[2][i] * 6;
}
void halve(const int32_t* in, int64_t pixels, int64_t channels, uint8_t* out) { pyramid_loops().halve8(in, pixels, channels, out); }
void halve(const int32_t* in, int64_t pixels, int64_t channels, uint16_t* out) { pyramid_loops().halve16(in, pixels, channels, out); }
void halve(const int32_t* in, int64_t pixels, int64_t channels, int16_t* out) { pyramid_loops().halve16s(in, pixels, channels, out); }
void halve(const float* in, int64_t pixels, int64_t channels, float* out) { pyramid_loops().halve32(in, pixels, channels, out); }
void halve(const double* in, int64_t pixels, int64_t channels, double* out) {
  for (int64_t i = 0; i < pixels * channels; ++i) {
    const double* const at = in + 2 * (i / channels) * channels + i % channels;
    out[i] = (at[-2 * channels] + at[2 * channels] + (at[-channels] + at[channels]) * 4 + at[0] * 6) / 256;
  }
}

/// Calls f(T()) for the element types of pyramids.
template <class F>
void with_pyramid_element(std::string_view function, const ImageView& image, F&& f) {
  check_dtype(function, image, {DType::u8, DType::u16, DType::i16, DType::f32, DType::f64});
  with_element(function, image.dtype(), [&](auto element) {
    using T = decltype(element);
    if constexpr (!std::is_same_v<T, int8_t> && !std::is_same_v<T, int32_t>) f(element);
  });
}

template <class T>
void down(const ImageView& from, const MutableImageView& to, Border border) {
  const int64_t channels = from.channels(), size = from.width() * channels;
  // A border on both sides, so that the five taps of all pixels are there.
  constexpr int64_t kBefore = 2;
  const int64_t after = std::max<int64_t>(0, 2 * to.width() + 1 - from.width());
  const std::vector<int64_t> columns = border_positions(from.width(), kBefore, after, border);
  for_rows(to.height(), (5 * from.width() + to.width()) * channels, [&](int64_t first, int64_t last) {
    std::vector<Sum<T>> joined(columns.size() * static_cast<size_t>(channels));
    Sum<T>* const row = joined.data() + kBefore * channels;
    for (int64_t y = first; y < last; ++y) {
      const T* rows[5];
      for (int64_t k = 0; k < 5; ++k) rows[k] = from.row<T>(border_position(2 * y + k - 2, from.height(), border));
      join(rows, size, row);
      const auto repeat = [&](int64_t x) {
        const Sum<T>* const source = row + columns[static_cast<size_t>(x + kBefore)] * channels;
        std::copy(source, source + channels, row + x * channels);
      };
      for (int64_t x = -kBefore; x < 0; ++x) repeat(x);
      for (int64_t x = 0; x < after; ++x) repeat(from.width() + x);
      // Half the size and one more: OpenCV puts the last pixel over the last column, not behind it.
      const int64_t over = 2 * to.width() > from.width() + 1 && from.width() > 2 ? 1 : 0;
      halve(row, to.width() - over, channels, to.row<T>(y));
      if (over) halve(row + (from.width() - 1) * channels, 1, channels, to.row<T>(y) + (to.width() - 1) * channels);
    }
  });
}

void join_up(const uint8_t* a, const uint8_t* b, const uint8_t* c, int64_t n, uint16_t* even, uint16_t* odd) {
  pyramid_loops().double8(a, b, c, n, even, odd);
}
void join_up(const uint16_t* a, const uint16_t* b, const uint16_t* c, int64_t n, int32_t* even, int32_t* odd) {
  pyramid_loops().double16(a, b, c, n, even, odd);
}
void join_up(const int16_t* a, const int16_t* b, const int16_t* c, int64_t n, int32_t* even, int32_t* odd) {
  pyramid_loops().double16s(a, b, c, n, even, odd);
}
void join_up(const float* a, const float* b, const float* c, int64_t n, float* even, float* odd) {
  pyramid_loops().double32(a, b, c, n, even, odd);
}
void join_up(const double* a, const double* b, const double* c, int64_t n, double* even, double* odd) {
  for (int64_t i = 0; i < n; ++i) even[i] = a[i] + b[i] * 6 + c[i], odd[i] = (b[i] + c[i]) * 4;
}
void spread(const uint16_t* in, int64_t pixels, int64_t channels, uint8_t* room, uint8_t* out) {
  pyramid_loops().spread8(in, pixels, channels, room, out);
}
void spread(const int32_t* in, int64_t pixels, int64_t channels, uint16_t* room, uint16_t* out) {
  pyramid_loops().spread16(in, pixels, channels, room, out);
}
void spread(const int32_t* in, int64_t pixels, int64_t channels, int16_t* room, int16_t* out) {
  pyramid_loops().spread16s(in, pixels, channels, room, out);
}
void spread(const float* in, int64_t pixels, int64_t channels, float* room, float* out) {
  pyramid_loops().spread32(in, pixels, channels, room, out);
}
void spread(const double* in, int64_t pixels, int64_t channels, double*, double* out) {
  for (int64_t x = 0; x < pixels; ++x)
    for (int64_t c = 0; c < channels; ++c) {
      const double* const at = in + x * channels + c;
      out[2 * x * channels + c] = (at[-channels] + at[0] * 6 + at[channels]) / 64;
      out[(2 * x + 1) * channels + c] = (at[0] + at[channels]) * 4 / 64;
    }
}

template <class T>
void up(const ImageView& from, const MutableImageView& to) {
  using Wide = std::conditional_t<std::is_same_v<T, uint8_t>, uint16_t, Sum<T>>;
  const int64_t channels = from.channels(), width = from.width(), height = from.height(), size = width * channels;
  // Zeros between pixels are left out, and the border is that of the picture with those zeros: pixel 1 before the first, and the last pixel
  // itself behind.
  const auto before = [](int64_t i, int64_t count) { return i > 0 ? i - 1 : count > 1 ? int64_t{1} : int64_t{0}; };
  const auto behind = [](int64_t i, int64_t count) { return std::min(i + 1, count - 1); };
  for_rows(height, 6 * to.width() * channels, [&](int64_t first, int64_t last) {
    const size_t padded = static_cast<size_t>(size + 2 * channels);
    std::vector<Wide> even(padded), odd(padded);
    std::vector<T> room(static_cast<size_t>(2 * size)), whole(static_cast<size_t>(2 * size));
    for (int64_t y = first; y < last; ++y) {
      join_up(from.row<T>(before(y, height)), from.row<T>(y), from.row<T>(behind(y, height)), size, even.data() + channels,
              odd.data() + channels);
      const auto across = [&](std::vector<Wide>& sums, int64_t to_row) {
        Wide* const row = sums.data() + channels;
        std::copy(row + before(0, width) * channels, row + (before(0, width) + 1) * channels, row - channels);
        std::copy(row + size - channels, row + size, row + size);
        T* const out = to.row<T>(to_row);
        const bool narrower = to.width() < 2 * width;
        spread(row, width, channels, room.data(), narrower ? whole.data() : out);
        if (narrower) std::memcpy(out, whole.data(), static_cast<size_t>(to.row_bytes()));
        // One column more than twice as many.
        if (to.width() > 2 * width) std::copy(out + (2 * width - 1) * channels, out + 2 * size, out + 2 * size);
      };
      across(even, 2 * y);
      if (2 * y + 1 < to.height()) across(odd, 2 * y + 1);
      if (y + 1 == height && to.height() > 2 * height)
        std::memcpy(to.row<T>(2 * height), to.row<T>(2 * height - 2), static_cast<size_t>(to.row_bytes()));
    }
  });
}

}  // namespace

Tensor pyr_down(const ImageView& image, Size size, Border border, Output output) try {
  constexpr std::string_view kName = "pyrDown";
  check_not_empty(kName, image);
  if (static_cast<int>(border) <= 0 || border >= Border::transparent)
    throw InvalidArgument("{}: the border type is replicate, reflect, wrap or reflect101", kName);
  if (size.width <= 0 || size.height <= 0) size = {static_cast<int>((image.width() + 1) / 2), static_cast<int>((image.height() + 1) / 2)};
  if (std::abs(2 * int64_t{size.width} - image.width()) > 2 || std::abs(2 * int64_t{size.height} - image.height()) > 2)
    throw InvalidArgument("{}: the size is half of {} x {}, up to a pixel, not {} x {}", kName, image.width(), image.height(), size.width,
                          size.height);
  Tensor made;
  with_pyramid_element(kName, image, [&](auto element) {
    Result result(kName, output, image.dtype(), size.height, size.width, image.channels(), {&image});
    down<decltype(element)>(image, result.view(), border);
    made = result.finish();
  });
  return made;
} catch (...) {
  throw_as_error();
}

Tensor pyr_up(const ImageView& image, Size size, Border border, Output output) try {
  constexpr std::string_view kName = "pyrUp";
  check_not_empty(kName, image);
  if (border != Border::reflect101) throw InvalidArgument("{}: the border type is reflect101", kName);
  const int64_t width = size.width > 0 && size.height > 0 ? size.width : 2 * image.width();
  const int64_t height = size.width > 0 && size.height > 0 ? size.height : 2 * image.height();
  if (std::abs(width - 2 * image.width()) != width % 2 || std::abs(height - 2 * image.height()) != height % 2)
    throw InvalidArgument("{}: the size is twice {} x {}, or odd and one pixel off, not {} x {}", kName, image.width(), image.height(),
                          width, height);
  check_size(kName, width, height);
  Tensor made;
  with_pyramid_element(kName, image, [&](auto element) {
    Result result(kName, output, image.dtype(), height, width, image.channels(), {&image});
    up<decltype(element)>(image, result.view());
    made = result.finish();
  });
  return made;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
