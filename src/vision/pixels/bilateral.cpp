// SPDX-License-Identifier: Apache-2.0
// The bilateral filter: means weighted by distance and by difference of colours.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/arithmetic.h"
#include "vision/loops/median.h"

namespace minnow::vision {

Tensor bilateral_filter(const ImageView& image, int diameter, double sigma_color, double sigma_space, Border border, Output output) try {
  check_not_empty("bilateralFilter", image);
  check_dtype("bilateralFilter", image, {DType::u8, DType::f32});
  check_channels("bilateralFilter", image, {1, 3});
  check_border("bilateralFilter", border, true);
  constexpr double kLeast = 1e-6;
  constexpr int kMost = 1000;
  Result result("bilateralFilter", output, image.dtype(), image.height(), image.width(), image.channels(), {&image});
  if (!(sigma_color > kLeast && sigma_space > kLeast)) {
    copy(image, result.view());
    return result.finish();
  }
  const double wanted = diameter <= 0 ? std::nearbyint(sigma_space * 1.5) : diameter / 2;
  if (!(wanted <= kMost)) throw InvalidArgument("bilateralFilter: the radius is at most {}, not {}", kMost, wanted);
  const int64_t radius = std::max(static_cast<int>(wanted), 1), size = 2 * radius + 1;
  const double log2e = 1.4426950408889634;
  const float color = static_cast<float>(-0.5 / (sigma_color * sigma_color) * log2e);
  struct Place {
    int64_t x, y;
    float exponent;
  };
  std::vector<Place> places;
  for (int64_t y = -radius; y <= radius; ++y)
    for (int64_t x = -radius; x <= radius; ++x) {
      const double square = double(x) * double(x) + double(y) * double(y);
      if (std::sqrt(square) > double(radius)) continue;
      places.push_back({x, y, static_cast<float>(-0.5 * square / (sigma_space * sigma_space) * log2e)});
    }
  const int64_t width = image.width(), height = image.height(), channels = image.channels();
  const std::vector<int64_t> columns = border_positions(width, radius, radius, border);
  const int64_t pitch = (width + 2 * radius + 64 + 15) / 16 * 16;
  const size_t elements = static_cast<size_t>(width * channels);
  const MutableImageView& to = result.view();
  const ArithmeticLoops& loops = arithmetic_loops();
  const int type = element_index("bilateralFilter", image.dtype());
  const int64_t cost = 4 * width * channels * static_cast<int64_t>(places.size());
  for_strips(height, cost, std::max<int64_t>(4, 2 * radius), [&](int64_t first, int64_t last) {
    // A ring of rows with their borders, a plane for each channel.
    const int64_t count = std::min<int64_t>(size, last - first + 2 * radius);
    std::vector<float> ring(static_cast<size_t>(count * channels * pitch)), results(static_cast<size_t>(channels * pitch));
    std::vector<float> mixed(channels > 1 ? static_cast<size_t>(width * channels) : 0);  // a row whose channels are not in planes
    const auto plane = [&](int64_t y, int64_t c) { return ring.data() + (((y - first + radius) % count) * channels + c) * pitch; };
    const auto load = [&](int64_t y) {
      const int64_t from = border_position(y, height, border);
      if (from < 0) return static_cast<void>(std::fill_n(plane(y, 0), channels * pitch, 0.0f));
      float* planes[3] = {};
      for (int64_t c = 0; c < channels; ++c) planes[c] = plane(y, c) + radius;
      loops.to_f32[type](image.row<uint8_t>(from), channels > 1 ? mixed.data() : planes[0], elements);
      if (channels > 1) loops.split_f32(mixed.data(), planes, static_cast<int>(channels), static_cast<size_t>(width));
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t x = 0; x < radius; ++x) {
          const int64_t left = columns[static_cast<size_t>(x)], right = columns[static_cast<size_t>(radius + width + x)];
          planes[c][x - radius] = left < 0 ? 0.0f : planes[c][left];
          planes[c][width + x] = right < 0 ? 0.0f : planes[c][right];
        }
    };
    for (int64_t y = first - radius; y < first + radius; ++y) load(y);
    std::vector<BilateralTap> taps(places.size());
    for (int64_t y = first; y < last; ++y) {
      load(y + radius);
      const float* center[3] = {};
      float* out[3] = {};
      for (int64_t c = 0; c < channels; ++c) center[c] = plane(y, c) + radius, out[c] = results.data() + c * pitch;
      for (size_t t = 0; t < places.size(); ++t) {
        taps[t].exponent = places[t].exponent;
        for (int64_t c = 0; c < channels; ++c) taps[t].from[c] = plane(y + places[t].y, c) + radius + places[t].x;
      }
      misc_loops().bilateral(taps.data(), static_cast<int64_t>(taps.size()), center, channels, color, out, width);
      if (channels > 1) loops.merge_f32(out, mixed.data(), static_cast<int>(channels), static_cast<size_t>(width));
      loops.from_f32[type](channels > 1 ? mixed.data() : out[0], to.row<uint8_t>(y), elements);
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
