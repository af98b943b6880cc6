// SPDX-License-Identifier: Apache-2.0
// A patch at a place between pixels, and polar coordinates.
#include <minnow/vision/geometry.h>

#include "vision/image.h"
#include "vision/loops/resize.h"
#include "vision/loops/warp.h"

namespace minnow::vision {
namespace {

constexpr double kTau = 6.283185307179586476925286766559;
constexpr int kFillOutliers = 8, kInverse = 16, kLog = 256;

/// A row of a patch: two rows of the picture are joined, and each pixel with the next. Pixels of the border are repeated.
void patch(const ImageView& image, const MutableImageView& to, float left, float top) {
  const ResizeLoops& loops = resize_loops();
  const int64_t channels = image.channels(), width = to.width();
  const double whole_x = std::floor(static_cast<double>(left)), whole_y = std::floor(static_cast<double>(top));
  const float a = left - static_cast<float>(whole_x), b = top - static_cast<float>(whole_y);
  const float across[2] = {1 - a, a}, down[2] = {1 - b, b};
  const int16_t across16[2] = {0, saturate<int16_t>(a * 32768)}, down16[2] = {0, saturate<int16_t>(b * 32768)};
  // Pixels [first, end) of the row with one pixel more come from [start, start + end - first) of the picture.
  const double last_column = static_cast<double>(image.width() - 1);
  const int64_t start = static_cast<int64_t>(std::clamp(whole_x, 0.0, last_column));
  const int64_t first = static_cast<int64_t>(std::clamp(-whole_x, 0.0, static_cast<double>(width)));
  const int64_t end = std::clamp<int64_t>(first + image.width() - start, first + 1, width + 1);
  const size_t count = static_cast<size_t>((end - first) * channels), size = static_cast<size_t>(width * channels);
  const auto line = [&](double y) { return static_cast<int64_t>(std::clamp(y, 0.0, static_cast<double>(image.height() - 1))); };
  const auto repeat = [&](auto* row) {
    for (int64_t i = first * channels - 1; i >= 0; --i) row[i] = row[i + channels];
    for (int64_t i = end * channels; i < (width + 1) * channels; ++i) row[i] = row[i - channels];
  };
  for_rows(to.height(), width * channels * 4, [&](int64_t from, int64_t until) {
    const bool bytes = image.dtype() == DType::u8, to_bytes = to.dtype() == DType::u8;
    std::vector<int16_t> row16(to_bytes ? size + static_cast<size_t>(channels) : 0);
    std::vector<float> row32(to_bytes ? 0 : size + static_cast<size_t>(channels));
    for (int64_t y = from; y < until; ++y) {
      const int64_t upper = line(whole_y + static_cast<double>(y)), lower = line(whole_y + static_cast<double>(y) + 1);
      if (to_bytes) {
        const uint8_t* const rows[2] = {image.row<uint8_t>(upper) + start * channels, image.row<uint8_t>(lower) + start * channels};
        loops.down8(rows, down16, 2, count, row16.data() + first * channels);
        repeat(row16.data());
        const int16_t* const pixels[2] = {row16.data(), row16.data() + channels};
        loops.down16(pixels, across16, 2, size, to.row<uint8_t>(y));
        continue;
      }
      if (bytes) {
        const uint8_t* const rows[2] = {image.row<uint8_t>(upper) + start * channels, image.row<uint8_t>(lower) + start * channels};
        loops.sum8(rows, down, 2, count, row32.data() + first * channels);
      } else {
        const float* const rows[2] = {image.row<float>(upper) + start * channels, image.row<float>(lower) + start * channels};
        loops.sum32(rows, down, 2, count, row32.data() + first * channels);
      }
      repeat(row32.data());
      const float* const pixels[2] = {row32.data(), row32.data() + channels};
      loops.sum32(pixels, across, 2, size, to.row<float>(y));
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
  patch(image, result.view(), left, top);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor warp_polar(const ImageView& image, Size size, Point2d center, double radius, int flags, Output output) try {
  constexpr std::string_view kName = "warpPolar";
  check_not_empty(kName, image);
  if (!(std::abs(radius) < 1e9)) throw InvalidArgument("{}: the radius is a number of pixels, not {}", kName, radius);
  if (size.width <= 0 && size.height <= 0)
    size = {saturate<int>(radius), saturate<int>(radius * kTau / 2)};
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
    for (int64_t y = first; y < last; ++y) {
      float* const distances = map_x.row<float>(y);
      float* const angles = map_y.row<float>(y);
      warp_loops().polar(cx, static_cast<float>(y) - cy, size.width, distances, angles);
      for (int64_t x = 0; is_log && x < size.width; ++x) distances[x] = std::log(distances[x] + 1);
      warp_loops().scale(distances, size.width, static_cast<float>(1 / scale), 0);
      warp_loops().scale(angles, size.width, static_cast<float>(1 / step), 1);
    }
  });
  return remap(ring, xs, ys, flags & 7, border, {}, output);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
