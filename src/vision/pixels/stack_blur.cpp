// SPDX-License-Identifier: Apache-2.0
// Stack blur: means weighted by a triangle, rows first, then columns, each truncated to the picture's elements
// (long rows rounded, as OpenCV has it).
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/filter.h"

namespace minnow::vision {
namespace {

/// Along rows, or along columns.
void pass(const ImageView& from, const MutableImageView& to, int size, bool columns) {
  const FilterLoops& loops = filter_loops();
  const int radius = size / 2;
  std::vector<float> weights;
  for (int i = 0; i < size; ++i) weights.push_back(static_cast<float>(radius + 1 - std::abs(i - radius)));
  const std::vector<float> one{1};
  const std::vector<float>&across = columns ? one : weights, &down = columns ? weights : one;
  // OpenCV divides bytes by 9 as a multiplication with 456 / 4096.
  const bool is_nine = radius == 2 && from.dtype() == DType::u8;
  const float scale = is_nine ? 456.0f / 4096 : 1.0f / (static_cast<float>(radius + 1) * static_cast<float>(radius + 1));
  const bool rounds = !columns && (size > 9 || from.width() <= size);
  const Window window{{static_cast<int>(across.size()), static_cast<int>(down.size())},
                      {columns ? 0 : radius, columns ? radius : 0},
                      Border::replicate,
                      nullptr};
  columns_first(
      from, to, window, sizeof(float), false,
      [&](const void* const* rows, bool, void*, void* mid, int64_t n) {
        float* const sums = static_cast<float*>(mid);
        const int64_t taps = window.size.height;
        if (from.dtype() == DType::u8)
          loops.sum_u8_f32(reinterpret_cast<const uint8_t* const*>(rows), down.data(), taps, 0, sums, n);
        else if (from.dtype() == DType::u16)
          loops.sum_u16_f32(reinterpret_cast<const uint16_t* const*>(rows), down.data(), taps, 0, sums, n);
        else if (from.dtype() == DType::i16)
          loops.sum_i16_f32(reinterpret_cast<const int16_t* const*>(rows), down.data(), taps, 0, sums, n);
        else
          loops.sum_f32(reinterpret_cast<const float* const*>(rows), down.data(), taps, 0, sums, n);
      },
      [&](void* mid, void* spare, int64_t step, void* out, int64_t n) {
        std::vector<const float*> places;
        for (int64_t t = 0; t < window.size.width; ++t) places.push_back(static_cast<const float*>(mid) + t * step);
        float* const sums = static_cast<float*>(spare);
        loops.sum_f32(places.data(), across.data(), window.size.width, 0, sums, n);
        if (to.dtype() == DType::u8 && !rounds) return loops.truncated_u8(sums, scale, static_cast<uint8_t*>(out), n);
        with_element("stackBlur", to.dtype(), [&](auto element) {
          using T = decltype(element);
          for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = rounds ? saturate<T>(sums[i] * scale) : static_cast<T>(sums[i] * scale);
        });
      });
}

}  // namespace

Tensor stack_blur(const ImageView& image, Size size, Output output) try {
  check_not_empty("stackBlur", image);
  check_dtype("stackBlur", image, {DType::u8, DType::u16, DType::i16, DType::f32});
  if (size.width < 1 || size.height < 1 || size.width % 2 == 0 || size.height % 2 == 0)
    throw InvalidArgument("stackBlur: the size is odd, not {} x {}", size.width, size.height);
  // A side is no longer than the picture's.
  const auto fitted = [](int side, int64_t length) {
    return std::min<int64_t>(side, length % 2 == 0 ? std::max<int64_t>(1, length - 1) : length);
  };
  const int width = static_cast<int>(fitted(size.width, image.width())), height = static_cast<int>(fitted(size.height, image.height()));
  check_window("stackBlur", {width, height});
  Result result("stackBlur", output, image.dtype(), image.height(), image.width(), image.channels(), {&image});
  Tensor rows = new_image(image.dtype(), image.height(), image.width(), image.channels());
  pass(image, writable(rows), width, false);
  const ImageView between(image.dtype(), image.height(), image.width(), image.channels(), writable(rows).data(), image.row_bytes());
  pass(between, result.view(), height, true);
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
