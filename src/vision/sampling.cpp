// SPDX-License-Identifier: Apache-2.0
// A patch at a place between pixels, and polar coordinates.
#include <minnow/vision/geometry.h>

#include "vision/image.h"

namespace minnow::vision {
namespace {

constexpr double kTau = 6.283185307179586476925286766559;
constexpr int kFillOutliers = 8, kInverse = 16, kLog = 256;

/// Pixels of the border are repeated.
template <class From, class To>
void patch(const ImageView& image, const MutableImageView& to, float left, float top) {
  const int64_t channels = image.channels();
  const double whole_x = std::floor(static_cast<double>(left)), whole_y = std::floor(static_cast<double>(top));
  const float a = left - static_cast<float>(whole_x), b = top - static_cast<float>(whole_y);
  const float w[4] = {(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b};
  const auto within = [](double place, int64_t size) {
    return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(size - 1)));
  };
  for_rows(to.height(), to.width() * channels * 4, [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      const From* const upper = image.row<From>(within(whole_y + static_cast<double>(y), image.height()));
      const From* const lower = image.row<From>(within(whole_y + static_cast<double>(y) + 1, image.height()));
      To* out = to.row<To>(y);
      for (int64_t x = 0; x < to.width(); ++x) {
        const int64_t p = within(whole_x + static_cast<double>(x), image.width()) * channels;
        const int64_t q = within(whole_x + static_cast<double>(x) + 1, image.width()) * channels;
        for (int64_t c = 0; c < channels; ++c)
          *out++ = saturate<To>(static_cast<float>(upper[p + c]) * w[0] + static_cast<float>(upper[q + c]) * w[1] +
                                static_cast<float>(lower[p + c]) * w[2] + static_cast<float>(lower[q + c]) * w[3]);
      }
    }
  });
}

}  // namespace

Tensor rect_sub_pix(const ImageView& image, Size size, Point2d center, DType dtype, Output output) try {
  constexpr std::string_view kName = "getRectSubPix";
  check_not_empty(kName, image);
  check_channels(kName, image, {1, 3});
  check_size(kName, size.width, size.height);
  if (dtype == DType::undefined) dtype = image.dtype();
  const bool bytes = image.dtype() == DType::u8;
  if ((!bytes && image.dtype() != DType::f32) || (dtype != DType::f32 && !(bytes && dtype == DType::u8)))
    throw Unsupported("{}: u8 becomes u8 or f32, and f32 becomes f32; not {} to {}", kName, image.dtype(), dtype);
  if (!std::isfinite(center.x) || !std::isfinite(center.y)) throw InvalidArgument("{}: the center has finite coordinates", kName);
  const float left = static_cast<float>(center.x) - static_cast<float>(size.width - 1) * 0.5f;
  const float top = static_cast<float>(center.y) - static_cast<float>(size.height - 1) * 0.5f;
  Result result(kName, output, dtype, size.height, size.width, image.channels(), {&image});
  if (!bytes)
    patch<float, float>(image, result.view(), left, top);
  else if (dtype == DType::u8)
    patch<uint8_t, uint8_t>(image, result.view(), left, top);
  else
    patch<uint8_t, float>(image, result.view(), left, top);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor warp_polar(const ImageView& image, Size size, Point2d center, double radius, int flags, Output output) try {
  constexpr std::string_view kName = "warpPolar";
  check_not_empty(kName, image);
  if (!(std::abs(radius) < 1e9)) throw InvalidArgument("{}: the radius is a number of pixels, not {}", kName, radius);
  if (size.width <= 0 && size.height <= 0)
    size = {static_cast<int>(std::nearbyint(radius)), static_cast<int>(std::nearbyint(radius * kTau / 2))};
  else if (size.height <= 0)
    size.height = static_cast<int>(std::min(std::nearbyint(size.width * (kTau / 2)), 2147483647.0));
  check_size(kName, size.width, size.height);
  const float cx = static_cast<float>(center.x), cy = static_cast<float>(center.y);
  const bool is_log = flags & kLog, inverse = flags & kInverse;
  const Border border = flags & kFillOutliers ? Border::constant : Border::transparent;
  Tensor xs = new_image(DType::f32, size.height, size.width, 1), ys = new_image(DType::f32, size.height, size.width, 1);
  const MutableImageView map_x = writable(xs), map_y = writable(ys);
  if (!inverse) {
    const double step = kTau / size.height, scale = (is_log ? std::log(radius) : radius) / size.width;
    std::vector<float> radii;
    for (int x = 0; x < size.width; ++x) radii.push_back(static_cast<float>(is_log ? std::exp(x * scale) - 1 : x * scale));
    for_rows(size.height, size.width * 4, [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) {
        const double c = std::cos(step * static_cast<double>(y)), s = std::sin(step * static_cast<double>(y));
        for (size_t x = 0; x < radii.size(); ++x) {
          map_x.row<float>(y)[x] = static_cast<float>(static_cast<double>(radii[x]) * c + static_cast<double>(cx));
          map_y.row<float>(y)[x] = static_cast<float>(static_cast<double>(radii[x]) * s + static_cast<double>(cy));
        }
      }
    });
    return remap(image, xs, ys, flags & 7, border, {}, output);
  }
  // The angle goes round: a row from the other end on both ends.
  const Tensor ring = copy_make_border(image, 1, 1, 0, 0, Border::wrap);
  const double step = kTau / static_cast<double>(image.height());
  const double scale = (is_log ? std::log(radius) : radius) / static_cast<double>(image.width());
  for_rows(size.height, size.width * 32, [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y)
      for (int64_t x = 0; x < size.width; ++x) {
        const float dx = static_cast<float>(x) - cx, dy = static_cast<float>(y) - cy;
        float distance = std::sqrt(dx * dx + dy * dy);
        if (is_log) distance = std::log(distance + 1);
        double angle = std::atan2(static_cast<double>(dy), static_cast<double>(dx));
        if (angle < 0) angle += kTau;
        map_x.row<float>(y)[x] = static_cast<float>(static_cast<double>(distance) / scale);
        map_y.row<float>(y)[x] = static_cast<float>(angle / step) + 1;
      }
  });
  return remap(ring, xs, ys, flags & 7, border, {}, output);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
