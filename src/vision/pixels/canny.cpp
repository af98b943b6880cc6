// SPDX-License-Identifier: Apache-2.0
// Canny's edges: crests of the gradient's magnitude above a high threshold, and those above a low one that touch them.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/median.h"

namespace minnow::vision {
namespace {

void edges_of(const ImageView& dx, const ImageView& dy, double low_limit, double high_limit, bool squares, const MutableImageView& to) {
  const MiscLoops& loops = misc_loops();
  const int64_t width = dx.width(), height = dx.height(), channels = dx.channels(), pitch = width + 2;
  if (low_limit > high_limit) std::swap(low_limit, high_limit);
  if (squares) {
    low_limit = std::min(32767.0, low_limit), high_limit = std::min(32767.0, high_limit);
    if (low_limit > 0) low_limit *= low_limit;
    if (high_limit > 0) high_limit *= high_limit;
  }
  const int32_t low = saturate<int32_t>(std::floor(low_limit)), high = saturate<int32_t>(std::floor(high_limit));
  // 2: an edge, 0: one if it touches an edge, 1: none. The frame of ones ends the search.
  std::vector<uint8_t> map(static_cast<size_t>(pitch * (height + 2)), 1);
  for_strips(height, 8 * width * channels, 32, [&](int64_t first, int64_t last) {
    const size_t size = static_cast<size_t>(width);
    std::vector<int32_t> magnitudes[3], all(size * static_cast<size_t>(channels));
    std::vector<int16_t> x[3], y[3];
    for (int i = 0; i < 3; ++i) magnitudes[i].resize(size + 2), x[i].resize(size), y[i].resize(size);
    const auto place = [](int64_t row) { return static_cast<size_t>((row + 3) % 3); };
    const auto load = [&](int64_t row) {
      std::vector<int32_t>& out = magnitudes[place(row)];
      if (row < 0 || row >= height) return std::fill(out.begin(), out.end(), 0);
      const int16_t *const from_x = dx.row<int16_t>(row), *const from_y = dy.row<int16_t>(row);
      if (channels == 1) return loops.magnitudes(from_x, from_y, squares, out.data() + 1, width);
      // The channel with the largest magnitude.
      loops.magnitudes(from_x, from_y, squares, all.data(), width * channels);
      for (int64_t i = 0; i < width; ++i) {
        int64_t best = i * channels;
        for (int64_t c = 1; c < channels; ++c)
          if (all[static_cast<size_t>(i * channels + c)] > all[static_cast<size_t>(best)]) best = i * channels + c;
        out[static_cast<size_t>(i + 1)] = all[static_cast<size_t>(best)];
        x[place(row)][static_cast<size_t>(i)] = from_x[best];
        y[place(row)][static_cast<size_t>(i)] = from_y[best];
      }
    };
    load(first - 1);
    load(first);
    for (int64_t row = first; row < last; ++row) {
      load(row + 1);
      const bool one = channels == 1;
      loops.crests({one ? dx.row<int16_t>(row) : x[place(row)].data(), one ? dy.row<int16_t>(row) : y[place(row)].data(),
                    magnitudes[place(row - 1)].data() + 1, magnitudes[place(row)].data() + 1, magnitudes[place(row + 1)].data() + 1},
                   low, high, map.data() + (row + 1) * pitch + 1, width);
    }
  });
  std::vector<uint8_t*> waiting;
  for (int64_t row = 1; row <= height; ++row) {
    uint8_t* const at = map.data() + row * pitch;
    int64_t i = 0;
    for (; i + 8 <= pitch; i += 8) {
      uint64_t eight;
      std::memcpy(&eight, at + i, 8);
      eight &= 0x0202020202020202;
      if (!eight) continue;
      for (int64_t k = 0; k < 8; ++k)
        if (at[i + k] == 2) waiting.push_back(at + i + k);
    }
    for (; i < pitch; ++i)
      if (at[i] == 2) waiting.push_back(at + i);
  }
  while (!waiting.empty()) {
    uint8_t* const at = waiting.back();
    waiting.pop_back();
    for (const int64_t step : {-pitch - 1, -pitch, -pitch + 1, int64_t{-1}, int64_t{1}, pitch - 1, pitch, pitch + 1})
      if (at[step] == 0) at[step] = 2, waiting.push_back(at + step);
  }
  for_rows(height, 2 * width, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) loops.edges(map.data() + (row + 1) * pitch + 1, to.row<uint8_t>(row), width);
  });
}

}  // namespace

Tensor canny(const ImageView& image, double low, double high, int size, bool l2_gradient, Output output) try {
  check_not_empty("Canny", image);
  check_dtype("Canny", image, {DType::u8});
  if (size != -1 && size != 3 && size != 5 && size != 7) throw InvalidArgument("Canny: the aperture is 3, 5 or 7, not {}", size);
  if (low != low || high != high) throw InvalidArgument("Canny: a threshold is not a number");
  Result result("Canny", output, DType::u8, image.height(), image.width(), 1, {&image});
  double scale = 1;
  if (size == 7) scale = 1 / 16.0, low /= 16, high /= 16;
  const Tensor dx = sobel(image, DType::i16, 1, 0, size, scale, 0, Border::replicate);
  const Tensor dy = sobel(image, DType::i16, 0, 1, size, scale, 0, Border::replicate);
  const ImageView x(dx), y(dy);
  edges_of(x, y, low, high, l2_gradient, result.view());
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor canny_of_gradient(const ImageView& dx, const ImageView& dy, double low, double high, bool l2_gradient, Output output) try {
  check_not_empty("Canny", dx);
  check_dtype("Canny", dx, {DType::i16});
  check_same("Canny", dx, dy);
  if (low != low || high != high) throw InvalidArgument("Canny: a threshold is not a number");
  Result result("Canny", output, DType::u8, dx.height(), dx.width(), 1, {&dx, &dy});
  edges_of(dx, dy, low, high, l2_gradient, result.view());
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
