// SPDX-License-Identifier: Apache-2.0
// The bilateral filter: means weighted by distance and by difference of colours.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
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
  const MutableImageView& to = result.view();
  const int64_t cost = 4 * width * channels * static_cast<int64_t>(places.size());
  for_strips(height, cost, std::max<int64_t>(4, 2 * radius), [&](int64_t first, int64_t last) {
    // A ring of rows with their borders, a plane for each channel.
    const int64_t count = std::min<int64_t>(size, last - first + 2 * radius);
    std::vector<float> ring(static_cast<size_t>(count * channels * pitch)), results(static_cast<size_t>(channels * pitch));
    const auto plane = [&](int64_t y, int64_t c) { return ring.data() + (((y - first + radius) % count) * channels + c) * pitch; };
    const auto load = [&](int64_t y) {
      const int64_t from = border_position(y, height, border);
      for (int64_t c = 0; c < channels; ++c) {
        float* const out = plane(y, c);
        if (from < 0) {
          std::fill(out, out + pitch, 0.0f);
          continue;
        }
        const auto fill = [&](const auto* row) {
          for (int64_t x = 0; x < radius; ++x) {
            const int64_t left = columns[static_cast<size_t>(x)], right = columns[static_cast<size_t>(radius + width + x)];
            out[x] = left < 0 ? 0.0f : static_cast<float>(row[left * channels + c]);
            out[radius + width + x] = right < 0 ? 0.0f : static_cast<float>(row[right * channels + c]);
          }
          for (int64_t x = 0; x < width; ++x) out[radius + x] = static_cast<float>(row[x * channels + c]);
        };
        if (image.dtype() == DType::u8)
          fill(image.row<uint8_t>(from));
        else
          fill(image.row<float>(from));
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
      for (int64_t c = 0; c < channels; ++c) {
        if (image.dtype() == DType::u8)
          for (int64_t x = 0; x < width; ++x) to.row<uint8_t>(y)[x * channels + c] = static_cast<uint8_t>(out[c][x] + 0.5f);
        else
          for (int64_t x = 0; x < width; ++x) to.row<float>(y)[x * channels + c] = out[c][x];
      }
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
