// SPDX-License-Identifier: Apache-2.0
// Thresholds: given, from the histogram, from the neighbourhood.
#include "vision/filter.h"
#include "vision/histogram.h"
#include "vision/light_rows.h"
#include "vision/loops/morphology.h"

namespace minnow::vision {
namespace {

/// The value that parts the histogram into the two classes of which the means are furthest apart.
double otsu(const std::vector<int64_t>& counts, double total) {
  const double scale = 1.0 / total;
  double mean = 0;
  for (size_t i = 0; i < counts.size(); ++i) mean += static_cast<double>(i) * static_cast<double>(counts[i]);
  mean *= scale;
  double low_mean = 0, low = 0, most = 0, found = 0;
  constexpr double kLeast = std::numeric_limits<float>::epsilon();
  for (size_t i = 0; i < counts.size(); ++i) {
    const double share = static_cast<double>(counts[i]) * scale;
    low_mean *= low;
    low += share;
    const double high = 1.0 - low;
    if (std::min(low, high) < kLeast || std::max(low, high) > 1.0 - kLeast) continue;
    low_mean = (low_mean + static_cast<double>(i) * share) / low;
    const double high_mean = (mean - low * low_mean) / high;
    const double between = low * high * (low_mean - high_mean) * (low_mean - high_mean);
    if (between > most) most = between, found = static_cast<double>(i);
  }
  return found;
}

/// The value furthest from the line between the highest column and the far end of the histogram.
double triangle(std::array<int64_t, 256> counts) {
  int left = 0, right = 0, highest = 0;
  while (left < 255 && counts[static_cast<size_t>(left)] == 0) ++left;
  if (left > 0) --left;
  for (int i = 255; i > 0 && right == 0; --i)
    if (counts[static_cast<size_t>(i)] > 0) right = i;
  if (right < 255) ++right;
  for (int i = 0; i < 256; ++i)
    if (counts[static_cast<size_t>(i)] > counts[static_cast<size_t>(highest)]) highest = i;
  const bool flipped = highest - left < right - highest;
  if (flipped) {
    std::reverse(counts.begin(), counts.end());
    left = 255 - right;
    highest = 255 - highest;
  }
  const double a = static_cast<double>(counts[static_cast<size_t>(highest)]), b = left - highest;
  double furthest = 0, found = left;
  for (int i = left + 1; i <= highest; ++i) {
    const double distance = a * i + b * static_cast<double>(counts[static_cast<size_t>(i)]);
    if (distance > furthest) furthest = distance, found = i;
  }
  --found;
  return flipped ? 255 - found : found;
}

int floor_int(double x) { return saturate<int>(std::floor(x)); }

double automatic(const ImageView& image, double given, ThresholdFrom from) {
  if (from == ThresholdFrom::given) return given;
  if (image.channels() != 1 || (image.dtype() != DType::u8 && (image.dtype() != DType::u16 || from == ThresholdFrom::triangle)))
    throw Unsupported("threshold: {} takes a picture of u8{} with one channel, not {}",
                      from == ThresholdFrom::otsu ? "THRESH_OTSU" : "THRESH_TRIANGLE", from == ThresholdFrom::otsu ? " or u16" : "",
                      to_string(image));
  const double total = static_cast<double>(image.width()) * static_cast<double>(image.height());
  if (image.dtype() == DType::u8) {
    const std::array<int64_t, 256> counts = histogram_of_bytes(image);
    return from == ThresholdFrom::triangle ? triangle(counts) : otsu({counts.begin(), counts.end()}, total);
  }
  std::vector<int64_t> counts(65536);
  for (int64_t y = 0; y < image.height(); ++y)
    for (int64_t x = 0; x < image.width(); ++x) ++counts[image.row<uint16_t>(y)[x]];
  return otsu(counts, total);
}

void check(const ImageView& image) {
  check_not_empty("threshold", image);
  check_dtype("threshold", image, {DType::u8, DType::u16, DType::i16, DType::f32, DType::f64});
}

bool of_integers(const ImageView& image) { return image.dtype() != DType::f32 && image.dtype() != DType::f64; }

}  // namespace

double threshold_value(const ImageView& image, double threshold, ThresholdFrom from) try {
  check(image);
  const double value = automatic(image, threshold, from);
  return of_integers(image) ? floor_int(value) : value;
} catch (...) {
  throw_as_error();
}

std::pair<double, Tensor> threshold(const ImageView& given, double threshold, double maximum, Threshold type, ThresholdFrom from,
                                    Output output) try {
  check(given);
  if (type < Threshold::binary || type > Threshold::tozero_inv)
    throw InvalidArgument("threshold: the type is between 0 (THRESH_BINARY) and 4 (THRESH_TOZERO_INV), not {}", static_cast<int>(type));
  double used = threshold_value(given, threshold, from);
  Result result("threshold", output, given.dtype(), given.height(), given.width(), given.channels());
  const int64_t at_once = rows_at_once({&given, &result.view()});
  const ImageView image = with_rows_joined(given, at_once);
  const MutableImageView to = with_rows_joined(result.view(), at_once);
  const int64_t n = image.width() * image.channels();
  with_pixel(image.dtype(), [&](auto pixel) {
    using T = decltype(pixel);
    T limit, most;
    if constexpr (std::is_integral_v<T>) {
      // A threshold that all elements are above, or none, is no element.
      const int whole = static_cast<int>(used);
      most = saturate<T>(saturate<int>(maximum));
      if (whole < std::numeric_limits<T>::min() || whole >= std::numeric_limits<T>::max()) {
        const bool all_above = whole < std::numeric_limits<T>::min();
        T value = 0;
        bool same = false;
        if (type == Threshold::binary) value = all_above ? most : T(0);
        if (type == Threshold::binary_inv) value = all_above ? T(0) : most;
        if (type == Threshold::trunc) same = !all_above;  // else 0, as OpenCV has it
        if (type == Threshold::tozero) same = all_above;
        if (type == Threshold::tozero_inv) same = !all_above;
        if (same) return copy(image, to);
        for_light_rows(image.height(), image.row_bytes(), [&](int64_t first, int64_t last) {
          for (int64_t y = first; y < last; ++y) std::fill(to.row<T>(y), to.row<T>(y) + n, value);
        });
        return;
      }
      limit = static_cast<T>(whole);
    } else {
      limit = static_cast<T>(used);
      most = static_cast<T>(maximum);
    }
    const PixelLoops<T>& loops = morphology_loops().of<T>();
    for_light_rows(image.height(), 2 * image.row_bytes(), [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) loops.threshold(image.row<T>(y), limit, most, type, to.row<T>(y), n);
    });
  });
  return {used, result.finish()};
} catch (...) {
  throw_as_error();
}

Tensor adaptive_threshold(const ImageView& image, double maximum, AdaptiveMethod method, Threshold type, int block, double c,
                          Output output) try {
  check_not_empty("adaptiveThreshold", image);
  check_dtype("adaptiveThreshold", image, {DType::u8});
  check_channels("adaptiveThreshold", image, {1});
  if (block % 2 == 0 || block <= 1 || block > kMostTaps)
    throw InvalidArgument("adaptiveThreshold: the block's size is odd, between 3 and {}, not {}", kMostTaps, block);
  if (type != Threshold::binary && type != Threshold::binary_inv)
    throw InvalidArgument("adaptiveThreshold: the type is THRESH_BINARY or THRESH_BINARY_INV, not {}", static_cast<int>(type));
  if (method != AdaptiveMethod::mean && method != AdaptiveMethod::gaussian)
    throw InvalidArgument("adaptiveThreshold: the method is the mean or Gauss (0 or 1), not {}", static_cast<int>(method));
  Result result("adaptiveThreshold", output, DType::u8, image.height(), image.width(), 1, {&image});
  const MutableImageView& to = result.view();
  if (maximum < 0) {
    for (int64_t y = 0; y < image.height(); ++y) std::fill(to.row<uint8_t>(y), to.row<uint8_t>(y) + image.width(), uint8_t(0));
    return result.finish();
  }
  // The means, where the result will be.
  if (method == AdaptiveMethod::mean) {
    box_filter(image, DType::u8, {block, block}, {-1, -1}, true, Border::replicate, Output(to));
  } else {
    Size size{image.width() == 1 ? 1 : block, image.height() == 1 ? 1 : block};
    if (size == Size{1, 1})
      copy(image, to);
    else
      linear_filter(image, to, gaussian_weights(size.width, 0), gaussian_weights(size.height, 0), {size.width / 2, size.height / 2}, 0,
                    Border::replicate);
  }
  const uint8_t most = saturate<uint8_t>(maximum);
  const bool inverse = type == Threshold::binary_inv;
  const double delta = std::clamp(inverse ? std::floor(c) : std::ceil(c), -300.0, 300.0);
  const int16_t limit = static_cast<int16_t>(delta == delta ? -delta : 300);
  for_light_rows(image.height(), 3 * image.width(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      uint8_t* const row = to.row<uint8_t>(y);
      morphology_loops().adaptive(image.row<uint8_t>(y), row, limit, inverse ? 0 : most, inverse ? most : 0, row, image.width());
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
