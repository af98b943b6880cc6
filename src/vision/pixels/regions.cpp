// SPDX-License-Identifier: Apache-2.0
// Regions that grow: flood fill and watershed.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/median.h"

namespace minnow::vision {
namespace {

/// A row's filled pixels from `left` to `right`, whose neighbours above and below have not been looked at.
struct Span {
  int y, left, right;
};

template <class T, int kChannels>
class Fill {
 public:
  Fill(const MutableImageView& image, const MutableImageView& mask, Point seed, const Scalar4& lower, const Scalar4& upper,
       const FloodFill& options)
      : image_(image), mask_(mask), options_(options) {
    alike_.fixed_range = options.fixed_range;
    for (size_t c = 0; c < kChannels; ++c) {
      alike_.first[c] = image.row<T>(seed.y)[seed.x * kChannels + static_cast<int>(c)];
      if constexpr (std::is_integral_v<T>) {
        alike_.low[c] = -static_cast<Wide>(saturate<T>(std::floor(lower[c])));
        alike_.high[c] = static_cast<Wide>(saturate<T>(std::floor(upper[c])));
      } else {
        alike_.low[c] = -static_cast<Wide>(lower[c]);
        alike_.high[c] = static_cast<Wide>(upper[c]);
      }
    }
    if constexpr (std::is_same_v<T, uint8_t>) {
      for (size_t i = 0; i < kBlockBytes; ++i) {
        const size_t c = i % kChannels;
        block_first_[i] = alike_.first[c];
        block_low_[i] = static_cast<uint8_t>(-alike_.low[c]), block_high_[i] = static_cast<uint8_t>(alike_.high[c]);
      }
    }
  }

  std::pair<int64_t, Rect> run(Point seed, const Scalar4& color) {
    if (mask_row(seed.y)[seed.x]) return {0, {}};
    T pixel[kChannels];
    for (size_t c = 0; c < kChannels; ++c) pixel[c] = saturate<T>(color[c]);
    const int reach = options_.connectivity == 8, width = static_cast<int>(image_.width());
    int64_t area = 0;
    int left = seed.x, right = seed.x, top = seed.y, bottom = seed.y;
    std::vector<Span> waiting;
    waiting.push_back(grow(seed.y, seed.x, {-2, 0, -1}));
    while (!waiting.empty()) {
      const Span span = waiting.back();
      waiting.pop_back();
      area += span.right - span.left + 1;
      left = std::min(left, span.left), right = std::max(right, span.right);
      top = std::min(top, span.y), bottom = std::max(bottom, span.y);
      for (const int y : {span.y - 1, span.y + 1}) {
        if (y < 0 || y >= image_.height()) continue;
        const uint8_t* const mask = mask_row(y);
        const T *const row = image_.row<T>(y), *const beside = image_.row<T>(span.y);
        const int last = std::min(span.right + reach, width - 1);
        for (int x = std::max(span.left - reach, 0); x <= last; ++x) {
          while (x + 8 <= last && none_is_zero(mask + x)) x += 8;
          if (mask[x] || !touches(row, x, beside, span)) continue;
          waiting.push_back(grow(y, x, span));
          x = waiting.back().right + 1;
        }
      }
      if (!options_.mask_only) {
        T* const to = image_.row<T>(span.y) + span.left * kChannels;
        const size_t bytes = static_cast<size_t>(span.right - span.left + 1) * sizeof(pixel);
        std::memcpy(to, pixel, sizeof(pixel));
        for (size_t done = sizeof(pixel); done < bytes; done *= 2)
          std::memcpy(reinterpret_cast<std::byte*>(to) + done, to, std::min(done, bytes - done));
      }
    }
    return {area, {left, top, right - left + 1, bottom - top + 1}};
  }

 private:
  using Wide = std::conditional_t<std::is_same_v<T, uint8_t>, int, std::conditional_t<std::is_integral_v<T>, int64_t, float>>;

  uint8_t* mask_row(int y) const { return mask_.row<uint8_t>(y + 1) + 1; }

  static bool none_is_zero(const uint8_t* eight) {
    uint64_t bytes;
    std::memcpy(&bytes, eight, sizeof(bytes));
    return ((bytes - 0x0101010101010101u) & ~bytes & 0x8080808080808080u) == 0;
  }

  /// Which pixels are alike: a copy stays in registers while the mask is written.
  struct Likeness {
    T first[kChannels];
    Wide low[kChannels], high[kChannels];
    bool fixed_range;

    bool operator()(const T* a, const T* b) const {
      if (fixed_range) b = first;
      for (size_t c = 0; c < kChannels; ++c) {
        const Wide difference = static_cast<Wide>(a[c]) - static_cast<Wide>(b[c]);
        if constexpr (std::is_integral_v<T>) {  // between both ends, as one comparison
          using Unsigned = std::make_unsigned_t<Wide>;
          if (static_cast<Unsigned>(difference - low[c]) > static_cast<Unsigned>(high[c] - low[c])) return false;
        } else if (!(difference >= low[c] && difference <= high[c])) {
          return false;
        }
      }
      return true;
    }
  };

  /// Whether a pixel is like one of a span in the row beside that it touches.
  bool touches(const T* row, int x, const T* beside, const Span& span) const {
    const T* const pixel = row + x * kChannels;
    if (options_.connectivity == 4) return x >= span.left && x <= span.right && alike_(pixel, beside + x * kChannels);
    for (int u = std::max(x - 1, span.left); u <= std::min(x + 1, span.right); ++u)
      if (alike_(pixel, beside + u * kChannels)) return true;
    return false;
  }
  /// The span around a pixel, marked.
  Span grow(int y, int x, const Span& from) {
    Span span{y, x, x};
    uint8_t* const mask = mask_row(y);
    const T *const row = image_.row<T>(y), *const beside = from.y >= 0 ? image_.row<T>(from.y) : nullptr;
    const uint8_t value = options_.mask_value;
    const Likeness alike = alike_;
    mask[x] = value;
    // The mask's frame ends the row.
    while (!mask[span.left - 1] && alike(row + (span.left - 1) * kChannels, row + span.left * kChannels)) mask[--span.left] = value;
    int next_block = x;
    while (!mask[span.right + 1]) {
      const int next = span.right + 1;
      if (std::is_same_v<T, uint8_t> && next >= next_block && next + kBlock <= image_.width()) {
        if (block_is_alike(mask + next, row + next * kChannels)) {
          std::memset(mask + next, value, kBlock);
          span.right += kBlock;
          continue;
        }
        next_block = next + kBlock;
      }
      if (!alike(row + next * kChannels, row + span.right * kChannels) && !(beside && touches(row, next, beside, from))) break;
      mask[++span.right] = value;
    }
    return span;
  }

  /// Whether the next kBlock pixels are free and each is like the one before.
  bool block_is_alike(const uint8_t* mask, const T* pixels) const {
    uint8_t taken = 0;
    for (int i = 0; i < kBlock; ++i) taken |= mask[i];
    if (taken) return false;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(pixels);
    return misc_loops().alike(bytes, alike_.fixed_range ? block_first_ : bytes - kChannels, block_low_, block_high_, kBlockBytes);
  }

  static constexpr int kBlockBytes = 96, kBlock = kBlockBytes / kChannels;

  const MutableImageView image_, mask_;
  const FloodFill options_;
  Likeness alike_;
  uint8_t block_first_[kBlockBytes], block_low_[kBlockBytes], block_high_[kBlockBytes];  // of bytes: alike_ for a block of pixels
};

}  // namespace

std::pair<int64_t, Rect> flood_fill(const MutableImageView& image, const MutableImageView* mask, Point seed, const Scalar4& color,
                                    const Scalar4& lower, const Scalar4& upper, const FloodFill& options) try {
  check_not_empty("floodFill", image);
  check_dtype("floodFill", image, {DType::u8, DType::i32, DType::f32});
  check_channels("floodFill", image, {1, 3});
  if (options.connectivity != 4 && options.connectivity != 8)
    throw InvalidArgument("floodFill: the connectivity is 4 or 8, not {}", options.connectivity);
  if (seed.x < 0 || seed.y < 0 || seed.x >= image.width() || seed.y >= image.height())
    throw InvalidArgument("floodFill: the seed ({}, {}) is not within the picture of {} x {}", seed.x, seed.y, image.width(),
                          image.height());
  for (size_t c = 0; c < static_cast<size_t>(image.channels()); ++c)
    if (!(lower[c] >= 0 && upper[c] >= 0)) throw InvalidArgument("floodFill: loDiff and upDiff are at least 0");
  Tensor own;
  MutableImageView used;
  if (mask) {
    used = *mask;
    if (used.dtype() != DType::u8 || used.channels() != 1 || used.height() != image.height() + 2 || used.width() != image.width() + 2)
      throw InvalidArgument("floodFill: the mask of {} is u8[{}, {}], not {}", to_string(image), image.height() + 2, image.width() + 2,
                            to_string(used));
  } else {
    own = new_image(DType::u8, image.height() + 2, image.width() + 2, 1);
    used = writable(own);
    std::memset(used.data(), 0, static_cast<size_t>(used.height() * used.width()));
  }
  const int64_t width = used.width(), height = used.height();
  for (const int64_t y : {int64_t{0}, height - 1}) std::fill(used.row<uint8_t>(y), used.row<uint8_t>(y) + width, uint8_t(1));
  for (int64_t y = 0; y < height; ++y) used.row<uint8_t>(y)[0] = used.row<uint8_t>(y)[width - 1] = 1;
  const auto fill = [&](auto element) {
    using T = decltype(element);
    if (image.channels() == 1) return Fill<T, 1>(image, used, seed, lower, upper, options).run(seed, color);
    return Fill<T, 3>(image, used, seed, lower, upper, options).run(seed, color);
  };
  if (options.mask_value == 0) throw InvalidArgument("floodFill: the mask's value is not 0");
  if (image.dtype() == DType::u8) return fill(uint8_t());
  if (image.dtype() == DType::i32) return fill(int32_t());
  return fill(float());
} catch (...) {
  throw_as_error();
}

void watershed(const ImageView& image, const MutableImageView& markers) try {
  check_not_empty("watershed", image);
  check_dtype("watershed", image, {DType::u8});
  check_channels("watershed", image, {3});
  if (markers.dtype() != DType::i32 || markers.channels() != 1 || markers.height() != image.height() || markers.width() != image.width())
    throw InvalidArgument("watershed: the markers of {} are i32[{}, {}], not {}", to_string(image), image.height(), image.width(),
                          to_string(markers));
  constexpr int32_t kWaiting = -2, kBorder = -1;
  const int width = static_cast<int>(image.width()), height = static_cast<int>(image.height());
  // Pixels wait in 256 queues, those with the smallest difference first; `next` links the pixels of a queue. Pixels and labels lie in one
  // row each.
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height), row_bytes = static_cast<size_t>(image.row_bytes());
  std::vector<int32_t> next(count), labels(count);
  std::vector<uint8_t> pixels(3 * count);
  for (int y = 0; y < height; ++y) {
    std::memcpy(pixels.data() + static_cast<size_t>(y) * row_bytes, image.row<uint8_t>(y), row_bytes);
    std::copy(markers.row<int32_t>(y), markers.row<int32_t>(y) + width,
              labels.data() + static_cast<size_t>(y) * static_cast<size_t>(width));
  }
  std::array<int32_t, 256> first, last;
  first.fill(-1);
  last.fill(-1);
  int32_t* const label_at = labels.data();
  const uint8_t* const pixel_at = pixels.data();
  const auto label = [&](int32_t pixel) -> int32_t& { return label_at[pixel]; };
  const auto difference = [&](int32_t a, int32_t b) {
    const uint8_t *p = pixel_at + 3 * int64_t{a}, *q = pixel_at + 3 * int64_t{b};
    return std::max({std::abs(p[0] - q[0]), std::abs(p[1] - q[1]), std::abs(p[2] - q[2])});
  };
  const auto push = [&](int queue, int32_t pixel) {
    const size_t k = static_cast<size_t>(queue);
    next[static_cast<size_t>(pixel)] = -1;
    if (last[k] >= 0)
      next[static_cast<size_t>(last[k])] = pixel;
    else
      first[k] = pixel;
    last[k] = pixel;
    label(pixel) = kWaiting;
  };
  const std::array<int32_t, 4> neighbours = {-1, 1, -width, width};
  for (int x = 0; x < width; ++x) label(x) = label((height - 1) * width + x) = kBorder;
  for (int y = 1; y < height - 1; ++y) {
    label(y * width) = label(y * width + width - 1) = kBorder;
    for (int x = 1; x < width - 1; ++x) {
      const int32_t pixel = y * width + x;
      int32_t& at = label(pixel);
      if (at < 0) at = 0;
      if (at != 0) continue;
      int least = 256;
      for (const int32_t step : neighbours)
        if (label(pixel + step) > 0) least = std::min(least, difference(pixel, pixel + step));
      if (least < 256) push(least, pixel);
    }
  }
  int active = 0;
  for (;;) {
    while (active < 256 && first[static_cast<size_t>(active)] < 0) ++active;
    if (active == 256) break;
    const size_t k = static_cast<size_t>(active);
    const int32_t pixel = first[k];
    first[k] = next[static_cast<size_t>(pixel)];
    if (first[k] < 0) last[k] = -1;
    int32_t found = 0;
    for (const int32_t step : neighbours) {
      const int32_t other = label(pixel + step);
      if (other > 0) found = found == 0 || found == other ? other : kBorder;
    }
    label(pixel) = found;
    if (found == kBorder) continue;
    for (const int32_t step : neighbours) {
      if (label(pixel + step) != 0) continue;
      const int apart = difference(pixel, pixel + step);
      push(apart, pixel + step);
      active = std::min(active, apart);
    }
  }
  for (int y = 0; y < height; ++y) std::copy(label_at + int64_t{y} * width, label_at + int64_t{y + 1} * width, markers.row<int32_t>(y));
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
