// SPDX-License-Identifier: Apache-2.0
// Equalization of histograms: of a picture, and within tiles with a limited slope (CLAHE).
#include <mutex>

#include "vision/filter.h"
#include "vision/histogram.h"
#include "vision/loops/morphology.h"

namespace minnow::vision {

std::array<int64_t, 256> histogram_of_bytes(const ImageView& image, int64_t channel, const ImageView& mask) {
  std::array<int64_t, 256> counts{};
  std::mutex mutex;
  const int64_t n = image.width(), step = image.channels();
  for_strips(image.height(), n, std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(n, 1)), [&](int64_t first, int64_t last) {
    // Four counts of each value: equal neighbours do not wait for each other.
    std::vector<uint32_t> parts(4 * 256);
    uint32_t *const one = parts.data(), *const two = one + 256, *const three = one + 512, *const four = one + 768;
    for (int64_t y = first; y < last; ++y) {
      const uint8_t* row = image.row<uint8_t>(y) + channel;
      int64_t x = 0;
      if (mask) {
        const uint8_t* const chosen = mask.row<uint8_t>(y);
        for (; x + 2 <= n; x += 2, row += 2 * step) one[row[0]] += chosen[x] != 0, two[row[step]] += chosen[x + 1] != 0;
        if (x < n) one[row[0]] += chosen[x] != 0;
        continue;
      }
      if (step == 1)
        for (; x + 8 <= n; x += 8, row += 8) {
          uint64_t eight;
          std::memcpy(&eight, row, 8);
          const uint32_t low = static_cast<uint32_t>(eight), high = static_cast<uint32_t>(eight >> 32);
          ++one[low & 255], ++two[low >> 8 & 255], ++three[low >> 16 & 255], ++four[low >> 24];
          ++one[high & 255], ++two[high >> 8 & 255], ++three[high >> 16 & 255], ++four[high >> 24];
        }
      for (; x + 4 <= n; x += 4, row += 4 * step) ++one[row[0]], ++two[row[step]], ++three[row[2 * step]], ++four[row[3 * step]];
      for (; x < n; ++x, row += step) ++one[row[0]];
    }
    const std::lock_guard lock(mutex);
    for (size_t i = 0; i < 256; ++i) counts[i] += int64_t{parts[i]} + parts[256 + i] + parts[512 + i] + parts[768 + i];
  });
  return counts;
}

Tensor equalize_hist(const ImageView& image, Output output) try {
  check_not_empty("equalizeHist", image);
  check_dtype("equalizeHist", image, {DType::u8});
  check_channels("equalizeHist", image, {1});
  Result result("equalizeHist", output, DType::u8, image.height(), image.width(), 1);
  const std::array<int64_t, 256> counts = histogram_of_bytes(image);
  const int64_t total = image.height() * image.width();
  size_t first = 0;
  while (counts[first] == 0) ++first;
  std::array<uint8_t, 256> table{};
  if (counts[first] == total) {
    table[first] = static_cast<uint8_t>(first);
  } else {
    const float scale = 255.0f / static_cast<float>(total - counts[first]);
    int64_t sum = 0;
    for (size_t i = first + 1; i < 256; ++i) {
      sum += counts[i];
      table[i] = saturate<uint8_t>(static_cast<float>(sum) * scale);
    }
  }
  for_rows(image.height(), 2 * image.width(), [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y)
      morphology_loops().lookup(image.row<uint8_t>(y), table.data(), result.view().row<uint8_t>(y), image.width());
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

namespace {

template <class T>
void clahe_of(const ImageView& image, const MutableImageView& to, double clip_limit, Size tiles, int shift) {
  const int64_t width = image.width(), height = image.height();
  const size_t bins = (size_t{1} << (8 * sizeof(T))) >> shift;
  // Tiles of one size: unless both sides are multiples, the picture is continued beyond its right and lower borders.
  const bool fits = width % tiles.width == 0 && height % tiles.height == 0;
  const int64_t wide = fits ? width : width + tiles.width - width % tiles.width;
  const int64_t high = fits ? height : height + tiles.height - height % tiles.height;
  const int64_t tile_width = wide / tiles.width, tile_height = high / tiles.height, area = tile_width * tile_height;
  const float scale = static_cast<float>(bins - 1) / static_cast<float>(area);
  const int limit =
      clip_limit > 0 ? std::max(saturate<int>(std::floor(clip_limit * static_cast<double>(area) / static_cast<double>(bins))), 1) : 0;
  const int64_t count = int64_t{tiles.width} * tiles.height;
  std::vector<T> tables(static_cast<size_t>(count) * bins);
  const std::vector<int64_t> columns = border_positions(width, 0, wide - width, Border::reflect101);
  for_rows(count, area + static_cast<int64_t>(bins), [&](int64_t first, int64_t last) {
    std::vector<int> counts(bins);
    for (int64_t tile = first; tile < last; ++tile) {
      std::fill(counts.begin(), counts.end(), 0);
      const int64_t left = tile % tiles.width * tile_width, top = tile / tiles.width * tile_height;
      for (int64_t y = top; y < top + tile_height; ++y) {
        const T* const row = image.row<T>(border_position(y, height, Border::reflect101));
        const int64_t inside = std::min(left + tile_width, width);
        for (int64_t x = left; x < inside; ++x) ++counts[static_cast<size_t>(row[x]) >> shift];
        for (int64_t x = std::max(left, inside); x < left + tile_width; ++x)
          ++counts[static_cast<size_t>(row[columns[static_cast<size_t>(x)]]) >> shift];
      }
      if (limit > 0) {
        int64_t clipped = 0;
        for (int& number : counts) {
          clipped += std::max(number - limit, 0);
          number = std::min(number, limit);
        }
        const int64_t each = clipped / static_cast<int64_t>(bins);
        int64_t rest = clipped % static_cast<int64_t>(bins);
        for (int& number : counts) number += static_cast<int>(each);
        if (rest) {
          const size_t step = std::max<size_t>(bins / static_cast<size_t>(rest), 1);
          for (size_t i = 0; i < bins && rest > 0; i += step, --rest) ++counts[i];
        }
      }
      int64_t sum = 0;
      T* const table = tables.data() + static_cast<size_t>(tile) * bins;
      for (size_t i = 0; i < bins; ++i) {
        sum += counts[i];
        table[i] = saturate<T>(static_cast<float>(sum) * scale);
      }
    }
  });
  // Each pixel: between the four nearest tiles.
  std::vector<uint32_t> lefts, rights;
  std::vector<float> weights;
  const float per_width = 1.0f / static_cast<float>(tile_width), per_height = 1.0f / static_cast<float>(tile_height);
  for (int64_t x = 0; x < width; ++x) {
    const float position = static_cast<float>(x) * per_width - 0.5f;
    const int first = static_cast<int>(std::floor(position));
    lefts.push_back(static_cast<uint32_t>(static_cast<size_t>(std::max(first, 0)) * bins));
    rights.push_back(static_cast<uint32_t>(static_cast<size_t>(std::min(first + 1, tiles.width - 1)) * bins));
    weights.push_back(position - static_cast<float>(first));
  }
  for_rows(height, 8 * width, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      const float position = static_cast<float>(y) * per_height - 0.5f;
      const int first = static_cast<int>(std::floor(position));
      const TileRow<T> row{tables.data() + static_cast<size_t>(std::max(first, 0) * tiles.width) * bins,
                           tables.data() + static_cast<size_t>(std::min(first + 1, tiles.height - 1) * tiles.width) * bins,
                           lefts.data(),
                           rights.data(),
                           weights.data(),
                           position - static_cast<float>(first),
                           shift};
      if constexpr (std::is_same_v<T, uint8_t>)
        morphology_loops().tiles_u8(row, image.row<T>(y), to.row<T>(y), width);
      else
        morphology_loops().tiles_u16(row, image.row<T>(y), to.row<T>(y), width);
    }
  });
}

}  // namespace

Tensor clahe(const ImageView& image, double clip_limit, Size tiles, int bit_shift, Output output) try {
  check_not_empty("CLAHE", image);
  check_dtype("CLAHE", image, {DType::u8, DType::u16});
  check_channels("CLAHE", image, {1});
  if (tiles.width < 1 || tiles.height < 1 || tiles.width > 4096 || tiles.height > 4096 || int64_t{tiles.width} * tiles.height > 65536)
    throw InvalidArgument("CLAHE: there are between 1 and 65536 tiles, not {} x {}", tiles.width, tiles.height);
  if (bit_shift < 0 || bit_shift > (image.dtype() == DType::u8 ? 7 : 15))
    throw InvalidArgument("CLAHE: the shift leaves a bit of {}, {} does not", image.dtype(), bit_shift);
  if (image.dtype() == DType::u16 && int64_t{tiles.width} * tiles.height > 4096)
    throw InvalidArgument("CLAHE: a picture of u16 has at most 4096 tiles, not {} x {}", tiles.width, tiles.height);
  Result result("CLAHE", output, image.dtype(), image.height(), image.width(), 1);
  if (image.dtype() == DType::u8)
    clahe_of<uint8_t>(image, result.view(), clip_limit, tiles, bit_shift);
  else
    clahe_of<uint16_t>(image, result.view(), clip_limit, tiles, bit_shift);
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
