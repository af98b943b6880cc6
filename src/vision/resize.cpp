// SPDX-License-Identifier: Apache-2.0
// Bilinear and nearest resizing with OpenCV's arithmetic: weights are f32, of u8 integers of 11 bits, rows first and then columns.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <minnow/vision.h>
#include "base/no_memory.h"

#include "vision/picture_file.h"

namespace minnow::vision {
namespace {

constexpr int kBits = 11;

/// Where an output position lies between two input positions.
struct Tap {
  int64_t first, second;
  float weight;  // of the second
};

/// `clip`: beyond the border the border's element counts alone; else both are the border's, with the weights that they have (along columns
/// the sums of u8 are rounded, so that it makes a difference).
std::vector<Tap> taps(int64_t from, int64_t to, bool clip) {
  std::vector<Tap> result(static_cast<size_t>(to));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    float position = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    int64_t first = static_cast<int64_t>(std::floor(position));
    float weight = position - static_cast<float>(first);
    if (clip && (first < 0 || first >= from - 1)) first = std::clamp<int64_t>(first, 0, from - 1), weight = 0;
    result[static_cast<size_t>(i)] = {std::clamp<int64_t>(first, 0, from - 1), std::clamp<int64_t>(first + 1, 0, from - 1), weight};
  }
  return result;
}

struct Weights {
  int first, second;
};
Weights integers(float weight) {
  const float one = 1 << kBits;
  return {static_cast<int>(std::lrint((1.0f - weight) * one)), static_cast<int>(std::lrint(weight * one))};
}

/// How a row is widened, and two rows are joined.
struct Bytes {
  using Element = uint8_t;
  using Wide = int32_t;
  using Weight = Weights;
  static Weight weight(float w) { return integers(w); }
  static Wide across(Element a, Element b, Weight w) { return a * w.first + b * w.second; }
  static Element down(Wide a, Wide b, Weight w) {
    return static_cast<Element>(std::clamp((((w.first * (a >> 4)) >> 16) + ((w.second * (b >> 4)) >> 16) + 2) >> 2, 0, 255));
  }
};
template <class T, class W>
struct Reals {
  using Element = T;
  using Wide = W;
  struct Weight {
    float first, second;
  };
  static Weight weight(float w) { return {1.0f - w, w}; }
  static Wide across(Element a, Element b, Weight w) { return static_cast<Wide>(a) * w.first + static_cast<Wide>(b) * w.second; }
  static Element down(Wide a, Wide b, Weight w) {
    const Wide value = a * w.first + b * w.second;
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(std::clamp<long>(std::lrint(value), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    else
      return value;
  }
};

template <class Kind>
void bilinear(const Picture& from, const Picture& to) {
  using Element = typename Kind::Element;
  using Wide = typename Kind::Wide;
  const size_t channels = static_cast<size_t>(from.channels), row_size = static_cast<size_t>(to.width) * channels;
  std::vector<Tap> columns = taps(from.width, to.width, true);
  const std::vector<Tap> rows = taps(from.height, to.height, false);
  std::vector<typename Kind::Weight> weights;
  for (const Tap& tap : columns) weights.push_back(Kind::weight(tap.weight));
  std::vector<Wide> lines[2] = {std::vector<Wide>(row_size), std::vector<Wide>(row_size)};
  int64_t held[2] = {-1, -1};
  const auto line = [&](int64_t y, size_t into) {
    if (held[into] == y) return;
    if (held[1 - into] == y) {
      std::swap(lines[0], lines[1]), std::swap(held[0], held[1]);
      return;
    }
    const Element* source = static_cast<const Element*>(from.data) + static_cast<size_t>(y * from.width) * channels;
    Wide* out = lines[into].data();
    for (size_t x = 0; x < columns.size(); ++x) {
      const Element* a = source + static_cast<size_t>(columns[x].first) * channels;
      const Element* b = source + static_cast<size_t>(columns[x].second) * channels;
      for (size_t c = 0; c < channels; ++c) *out++ = Kind::across(a[c], b[c], weights[x]);
    }
    held[into] = y;
  };
  Element* out = static_cast<Element*>(to.data);
  for (const Tap& row : rows) {
    line(row.first, 0);
    if (row.second != row.first) line(row.second, 1);
    const Wide* a = lines[0].data();
    const Wide* b = row.second != row.first ? lines[1].data() : a;
    const auto weight = Kind::weight(row.weight);
    for (size_t i = 0; i < row_size; ++i) *out++ = Kind::down(a[i], b[i], weight);
  }
}

/// Halved in both directions: the mean of four pixels.
template <class T, class Sum>
void halve(const Picture& from, const Picture& to) {
  const size_t channels = static_cast<size_t>(from.channels);
  const size_t stride = static_cast<size_t>(from.width) * channels;
  T* out = static_cast<T*>(to.data);
  for (int64_t y = 0; y < to.height; ++y) {
    const T* row = static_cast<const T*>(from.data) + static_cast<size_t>(2 * y) * stride;
    for (int64_t x = 0; x < to.width; ++x, row += 2 * channels)
      for (size_t c = 0; c < channels; ++c) {
        const Sum sum = static_cast<Sum>(row[c]) + static_cast<Sum>(row[c + channels]) + static_cast<Sum>(row[c + stride]) +
                        static_cast<Sum>(row[c + stride + channels]);
        if constexpr (std::is_integral_v<T>)
          *out++ = static_cast<T>((sum + 2) >> 2);
        else
          *out++ = sum * T(0.25);
      }
  }
}

void nearest(const Picture& from, const Picture& to, size_t size) {
  const size_t pixel = static_cast<size_t>(from.channels) * size;
  std::vector<size_t> columns;
  const auto place = [](int64_t i, int64_t out, int64_t in) {
    const double scale = 1.0 / (static_cast<double>(out) / static_cast<double>(in));
    return std::min(static_cast<int64_t>(std::floor(static_cast<double>(i) * scale)), in - 1);
  };
  for (int64_t x = 0; x < to.width; ++x) columns.push_back(static_cast<size_t>(place(x, to.width, from.width)) * pixel);
  char* out = static_cast<char*>(to.data);
  for (int64_t y = 0; y < to.height; ++y) {
    const char* row = static_cast<const char*>(from.data) + static_cast<size_t>(place(y, to.height, from.height) * from.width) * pixel;
    for (const size_t column : columns) {
      std::memcpy(out, row + column, pixel);
      out += pixel;
    }
  }
}

template <class Kind, class Sum>
void resize_as(const Picture& from, const Picture& to) {
  if (from.width == 2 * to.width && from.height == 2 * to.height)
    halve<typename Kind::Element, Sum>(from, to);
  else
    bilinear<Kind>(from, to);
}

}  // namespace

Tensor resize(const TensorView& image, int64_t width, int64_t height, Interpolation interpolation) try {
  const Picture from = picture_of(image, "resize");
  if (width <= 0 || height <= 0 || width > kMostPixels / height)
    throw InvalidArgument("resize: a picture of {} x {} pixels cannot be made", width, height);
  if (from.width == 0 || from.height == 0) throw InvalidArgument("resize: the picture is empty, its shape is {}", image.shape());
  Shape shape = image.shape();
  shape[0] = height, shape[1] = width;
  Tensor result(image.dtype(), shape);
  const Picture to{result.writable().data(), height, width, from.channels};
  if (from.width == width && from.height == height) {
    std::memcpy(to.data, from.data, image.bytes());
  } else if (interpolation == Interpolation::nearest) {
    nearest(from, to, size_of(image.dtype()));
  } else {
    switch (image.dtype()) {
      case DType::u8:
        resize_as<Bytes, int>(from, to);
        break;
      case DType::u16:
        resize_as<Reals<uint16_t, float>, int>(from, to);
        break;
      case DType::i16:
        resize_as<Reals<int16_t, float>, int>(from, to);
        break;
      case DType::f32:
        resize_as<Reals<float, float>, float>(from, to);
        break;
      case DType::f64:
        resize_as<Reals<double, double>, double>(from, to);
        break;
      default:
        throw Unsupported("resize: a picture is u8, u16, i16, f32 or f64, not {}", image.dtype());
    }
  }
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
