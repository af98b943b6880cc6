// SPDX-License-Identifier: Apache-2.0
// Medians: by sorting networks for 3 x 3 and 5 x 5, by counts of columns for larger windows of bytes.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/median.h"

namespace minnow::vision {
namespace {

template <class T>
void small(const ImageView& image, const MutableImageView& to, int size, const MedianLoops<T>& loops) {
  const int64_t channels = image.channels(), n = image.width() * channels, height = image.height();
  const size_t spare_size = static_cast<size_t>(size) * static_cast<size_t>(n + 6 * channels + 256);
  for_strips(height, 4 * n, 16, [&](int64_t first, int64_t last) {
    const std::unique_ptr<T[]> spare(new T[spare_size]);
    const T* rows[5];
    for (int64_t y = first; y < last; ++y) {
      for (int t = 0; t < size; ++t) rows[t] = image.row<T>(std::clamp<int64_t>(y + t - size / 2, 0, height - 1));
      (size == 3 ? loops.of_3 : loops.of_5)(rows, channels, spare.get(), to.row<T>(y), n);
    }
  });
}

/// Parts of columns whose counts stay in the cache.
void large(const ImageView& image, const MutableImageView& to, int size) {
  const int64_t width = image.width(), height = image.height(), channels = image.channels(), radius = size / 2;
  constexpr int64_t kPart = 512;
  const int64_t half = int64_t{size} * size / 2;
  for_strips(height, 32 * width * channels, std::max<int64_t>(64, 4 * size), [&](int64_t first, int64_t last) {
    std::vector<ColumnCounts> counts(static_cast<size_t>(std::min(kPart, width) + 2 * radius));
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t left = 0; left < width; left += kPart) {
        const int64_t n = std::min(kPart, width - left), columns = n + 2 * radius;
        std::memset(static_cast<void*>(counts.data()), 0, static_cast<size_t>(columns) * sizeof(ColumnCounts));
        const auto count = [&](int64_t y, int change) {
          const uint8_t* const row = image.row<uint8_t>(std::clamp<int64_t>(y, 0, height - 1)) + c;
          for (int64_t x = 0; x < columns; ++x) {
            const uint8_t value = row[std::clamp<int64_t>(left + x - radius, 0, width - 1) * channels];
            ColumnCounts& column = counts[static_cast<size_t>(x)];
            column.coarse[value >> 4] = static_cast<uint16_t>(column.coarse[value >> 4] + change);
            column.fine[value >> 4][value & 15] = static_cast<uint16_t>(column.fine[value >> 4][value & 15] + change);
          }
        };
        for (int64_t y = first - radius; y < first + radius; ++y) count(y, 1);
        for (int64_t y = first; y < last; ++y) {
          count(y + radius, 1);
          misc_loops().of_columns(counts.data(), radius, half, channels, to.row<uint8_t>(y) + left * channels + c, n);
          count(y - radius, -1);
        }
      }
    }
  });
}

}  // namespace

Tensor median_blur(const ImageView& image, int size, Output output) try {
  check_not_empty("medianBlur", image);
  check_dtype("medianBlur", image, {DType::u8, DType::u16, DType::i16, DType::f32});
  if (size % 2 != 1 || size < 1) throw InvalidArgument("medianBlur: the size is odd, not {}", size);
  if (size > 5 && image.dtype() != DType::u8) throw Unsupported("medianBlur: windows larger than 5 take u8, not {}", image.dtype());
  if (size > 255) throw InvalidArgument("medianBlur: the size is at most 255, not {}", size);
  Result result("medianBlur", output, image.dtype(), image.height(), image.width(), image.channels(), {&image});
  const MutableImageView& to = result.view();
  const MiscLoops& loops = misc_loops();
  if (size == 1)
    copy(image, to);
  else if (size > 5)
    large(image, to, size);
  else if (image.dtype() == DType::u8)
    small<uint8_t>(image, to, size, loops.u8);
  else if (image.dtype() == DType::u16)
    small<uint16_t>(image, to, size, loops.u16);
  else if (image.dtype() == DType::i16)
    small<int16_t>(image, to, size, loops.i16);
  else
    small<float>(image, to, size, loops.f32);
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
