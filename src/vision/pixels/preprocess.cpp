// SPDX-License-Identifier: Apache-2.0
// For each tile of the result: the places in the picture, the pixels around them as words of up to four bytes, a blend of these, then
// colours, mean, scale and layout. All of that stays in the first-level cache. Colours are linear, so that they can come after the blend.
#include <minnow/vision/preprocess.h>

#include "vision/image.h"
#include "vision/loops/arithmetic.h"
#include "vision/loops/preprocess.h"

namespace minnow::vision {
namespace {

constexpr std::string_view kName = "preprocess";
constexpr size_t kTile = kPreprocessTile;

/// A picture as planes of pixels: what the first three bytes of a pixel's word are.
enum class Colors : uint8_t { bgr, rgb, gray, yuv };

struct Frame {
  PixelFormat format;
  Colors colors = Colors::bgr;
  int channels = 3;  // of a word
  int64_t height = 0, width = 0;
  const uint8_t* data = nullptr;
  int64_t stride = 0;
};

Frame frame_of(const ImageView& image, PixelFormat format) {
  check_not_empty(kName, image);
  check_dtype(kName, image, {DType::u8});
  Frame frame{format};
  frame.height = image.height(), frame.width = image.width(), frame.data = image.row<uint8_t>(0), frame.stride = image.stride();
  const auto even = [&](bool rows) {
    if (image.width() % 2 || (rows && image.height() % 3))
      throw InvalidArgument("preprocess: a frame with shared chroma has an even width{}, not {}",
                            rows ? " and a height that 3 divides" : "", to_string(image));
  };
  switch (format) {
    case PixelFormat::rgb:
    case PixelFormat::bgr:
      check_channels(kName, image, {3});
      frame.colors = format == PixelFormat::rgb ? Colors::rgb : Colors::bgr;
      break;
    case PixelFormat::rgba:
    case PixelFormat::bgra:
      check_channels(kName, image, {4});
      frame.colors = format == PixelFormat::rgba ? Colors::rgb : Colors::bgr;
      frame.channels = 4;
      break;
    case PixelFormat::gray:
      check_channels(kName, image, {1});
      frame.colors = Colors::gray;
      frame.channels = 1;
      break;
    case PixelFormat::nv12:
    case PixelFormat::nv21:
    case PixelFormat::i420:
    case PixelFormat::yv12:
      check_channels(kName, image, {1});
      even(true);
      frame.colors = Colors::yuv;
      frame.height = image.height() / 3 * 2;
      break;
    case PixelFormat::yuyv:
    case PixelFormat::yvyu:
    case PixelFormat::uyvy:
      check_channels(kName, image, {2});
      even(false);
      frame.colors = Colors::yuv;
      break;
    case PixelFormat::bgr565:
    case PixelFormat::rgb565:
    case PixelFormat::bgr555:
      check_channels(kName, image, {2});
      frame.colors = format == PixelFormat::rgb565 ? Colors::rgb : Colors::bgr;
      break;
    default:
      throw Unsupported("preprocess: there is no format {}", static_cast<int>(format));
  }
  return frame;
}

uint32_t bytes_of(unsigned first, unsigned second, unsigned third) { return first | second << 8 | third << 16; }

/// fetch(x, y): the word of a pixel.
template <PixelFormat format>
struct Fetch {
  const Frame& frame;
  uint32_t operator()(int32_t x, int32_t y) const {
    const uint8_t* row = frame.data + y * frame.stride;
    if constexpr (format == PixelFormat::gray) {
      return row[x];
    } else if constexpr (format == PixelFormat::rgba) {
      uint32_t word;
      std::memcpy(&word, row + 4 * int64_t{x}, 4);
      return word;
    } else if constexpr (format == PixelFormat::rgb) {
      const uint8_t* pixel = row + 3 * int64_t{x};
      if (x + 1 == frame.width) return bytes_of(pixel[0], pixel[1], pixel[2]);
      uint32_t word;  // and a byte of the next pixel
      std::memcpy(&word, pixel, 4);
      return word;
    } else if constexpr (format == PixelFormat::nv12 || format == PixelFormat::nv21) {
      const uint8_t* chroma = frame.data + (frame.height + y / 2) * frame.stride + (x & ~1);
      return format == PixelFormat::nv12 ? bytes_of(row[x], chroma[0], chroma[1]) : bytes_of(row[x], chroma[1], chroma[0]);
    } else if constexpr (format == PixelFormat::i420 || format == PixelFormat::yv12) {
      const auto chroma = [&](int64_t index) {
        return frame.data[(frame.height + index / 2) * frame.stride + index % 2 * (frame.width / 2) + x / 2];
      };
      const unsigned first = chroma(y / 2), second = chroma(frame.height / 2 + y / 2);
      return format == PixelFormat::i420 ? bytes_of(row[x], first, second) : bytes_of(row[x], second, first);
    } else if constexpr (format == PixelFormat::yuyv || format == PixelFormat::yvyu || format == PixelFormat::uyvy) {
      const uint8_t* pair = row + 2 * int64_t{x & ~1};
      if constexpr (format == PixelFormat::uyvy) return bytes_of(pair[1 + 2 * (x & 1)], pair[0], pair[2]);
      const unsigned luma = pair[2 * (x & 1)];
      return format == PixelFormat::yuyv ? bytes_of(luma, pair[1], pair[3]) : bytes_of(luma, pair[3], pair[1]);
    } else {
      const unsigned packed = row[2 * int64_t{x}] | unsigned{row[2 * int64_t{x} + 1]} << 8;
      if constexpr (format == PixelFormat::bgr555) return bytes_of(packed << 3 & 0xf8, packed >> 2 & 0xf8, packed >> 7 & 0xf8);
      return bytes_of(packed << 3 & 0xf8, packed >> 3 & 0xfc, packed >> 8 & 0xf8);
    }
  }
};

/// Where pixels of a tile are taken from. Rows: one for all, or one for each pixel.
struct Places {
  const int32_t *x0, *x1, *y0, *y1;
  bool one_row, blended;
};

struct Work {
  alignas(64) uint32_t words[4][kTile];
  alignas(64) float planes[5][kTile], made[kTile], across[kTile], down[kTile];
  int32_t x0[kTile], x1[kTile], y0[kTile], y1[kTile];
  uint8_t outside[kTile];
};

template <PixelFormat format>
void fetch(const Frame& frame, const Places& p, Work& work, size_t n) {
  const Fetch<format> pixel{frame};
  const auto one = [&](const int32_t* x, const int32_t* y, uint32_t* out) {
    if (p.one_row)
      for (size_t i = 0, row = static_cast<size_t>(*y); i < n; ++i) out[i] = pixel(x[i], static_cast<int32_t>(row));
    else
      for (size_t i = 0; i < n; ++i) out[i] = pixel(x[i], y[i]);
  };
  one(p.x0, p.y0, work.words[0]);
  if (!p.blended) return;
  one(p.x1, p.y0, work.words[1]), one(p.x0, p.y1, work.words[2]), one(p.x1, p.y1, work.words[3]);
}

void (*fetch_of(PixelFormat format))(const Frame&, const Places&, Work&, size_t) {
  switch (format) {
    case PixelFormat::rgb:
    case PixelFormat::bgr:
      return fetch<PixelFormat::rgb>;
    case PixelFormat::rgba:
    case PixelFormat::bgra:
      return fetch<PixelFormat::rgba>;
    case PixelFormat::gray:
      return fetch<PixelFormat::gray>;
    case PixelFormat::nv12:
      return fetch<PixelFormat::nv12>;
    case PixelFormat::nv21:
      return fetch<PixelFormat::nv21>;
    case PixelFormat::i420:
      return fetch<PixelFormat::i420>;
    case PixelFormat::yv12:
      return fetch<PixelFormat::yv12>;
    case PixelFormat::yuyv:
      return fetch<PixelFormat::yuyv>;
    case PixelFormat::yvyu:
      return fetch<PixelFormat::yvyu>;
    case PixelFormat::uyvy:
      return fetch<PixelFormat::uyvy>;
    case PixelFormat::bgr555:
      return fetch<PixelFormat::bgr555>;
    default:
      return fetch<PixelFormat::bgr565>;
  }
}

/// One coordinate of a place: the pixels beside it, and how far it is from the first.
struct Tap {
  int32_t first, second;
  float weight;
  bool outside;
};
/// Taps of a line of places, as arrays.
struct Taps {
  std::vector<int32_t> first, second;
  std::vector<float> weight;
  std::vector<uint8_t> outside;
  bool whole = true, any_outside = false;
  void add(const Tap& tap) {
    first.push_back(tap.first), second.push_back(tap.second), weight.push_back(tap.weight), outside.push_back(tap.outside);
    whole = whole && tap.weight == 0;
    any_outside = any_outside || tap.outside;
  }
};
Tap tap_of(double position, int64_t size, bool linear) {
  const double most = static_cast<double>(size - 1);
  const bool outside = !(position >= -1e-5 && position <= most + 1e-5);
  const double place = std::isnan(position) ? 0 : std::min(std::max(position, 0.0), most);
  const double first = std::floor(linear ? place : place + 0.5);
  const int32_t index = static_cast<int32_t>(first);
  return {index, static_cast<int32_t>(std::min<int64_t>(index + 1, size - 1)), linear ? static_cast<float>(place - first) : 0.0f, outside};
}

}  // namespace

Tensor preprocess(const ImageView& image, const PreprocessOptions& options) try {
  const Frame frame = frame_of(image, options.source);
  const PixelFormat target = options.target;
  const bool gray = target == PixelFormat::gray, alpha = target == PixelFormat::rgba || target == PixelFormat::bgra;
  const bool red_first = target == PixelFormat::rgb || target == PixelFormat::rgba;
  if (!gray && !alpha && target != PixelFormat::rgb && target != PixelFormat::bgr)
    throw Unsupported("preprocess: the target is rgb, bgr, rgba, bgra or gray");
  if (options.dtype != DType::f32 && options.dtype != DType::u8 && options.dtype != DType::i8)
    throw Unsupported("preprocess: the result is f32, u8 or i8, not {}", options.dtype);
  const int64_t width = options.size.width ? options.size.width : frame.width;
  const int64_t height = options.size.height ? options.size.height : frame.height;
  check_size(kName, width, height);
  if (frame.width > kMostPixels || frame.height > kMostPixels)
    throw InvalidArgument("preprocess: the picture is too large ({})", to_string(image));

  std::array<double, 6> m;
  if (options.matrix) {
    m = *options.matrix;
  } else {
    const double x = static_cast<double>(frame.width) / static_cast<double>(width),
                 y = static_cast<double>(frame.height) / static_cast<double>(height);
    m = options.linear ? std::array<double, 6>{x, 0, 0.5 * x - 0.5, 0, y, 0.5 * y - 0.5}
                       : std::array<double, 6>{x, 0, -0.5 + 1e-9, 0, y, -0.5 + 1e-9};  // the pixel that a place lies in
  }
  // Without a turn, columns and rows are looked up once.
  const bool straight = m[1] == 0 && m[3] == 0;
  Taps columns, rows;
  if (straight) {
    for (int64_t x = 0; x < width; ++x) columns.add(tap_of(m[0] * static_cast<double>(x) + m[2], frame.width, options.linear));
    for (int64_t y = 0; y < height; ++y) rows.add(tap_of(m[4] * static_cast<double>(y) + m[5], frame.height, options.linear));
  }
  const bool blended = options.linear && !(straight && columns.whole && rows.whole);

  const int64_t channels = gray ? 1 : alpha ? 4 : 3;
  const bool planes_first = options.layout == TensorLayout::nchw;
  Tensor result(options.dtype, planes_first ? Shape{1, channels, height, width} : Shape{1, height, width, channels});
  auto* const out = static_cast<std::byte*>(result.writable().data());
  const size_t size = size_of(options.dtype);
  const int index = element_index(kName, options.dtype);
  const auto fetch = fetch_of(options.source);
  for_rows(height, width * 24, [&](int64_t first_row, int64_t last_row) {
    const auto work = std::make_unique<Work>();
    const PreprocessLoops& loops = preprocess_loops();
    std::vector<float> joined(planes_first ? 0 : kTile * static_cast<size_t>(channels));
    for (int64_t y = first_row; y < last_row; ++y)
      for (int64_t start = 0; start < width; start += static_cast<int64_t>(kTile)) {
        const size_t n = static_cast<size_t>(std::min<int64_t>(kTile, width - start)), at = static_cast<size_t>(start),
                     line = static_cast<size_t>(y);
        bool any_outside = false;
        Places p{work->x0, work->x1, work->y0, work->y1, straight, blended};
        if (straight) {
          p = {columns.first.data() + at, columns.second.data() + at, &rows.first[line], &rows.second[line], true, blended};
          if (blended) {
            std::copy_n(columns.weight.data() + at, n, work->across);
            std::fill_n(work->down, n, rows.weight[line]);
          }
          any_outside = options.padding && (columns.any_outside || rows.outside[line]);
          if (any_outside)
            for (size_t i = 0; i < n; ++i) work->outside[i] = columns.outside[at + i] | rows.outside[line];
        } else {
          for (size_t i = 0; i < n; ++i) {
            const double dx = static_cast<double>(start) + static_cast<double>(i), dy = static_cast<double>(y);
            const Tap column = tap_of(m[0] * dx + m[1] * dy + m[2], frame.width, options.linear);
            const Tap row = tap_of(m[3] * dx + m[4] * dy + m[5], frame.height, options.linear);
            work->x0[i] = column.first, work->x1[i] = column.second, work->across[i] = column.weight;
            work->y0[i] = row.first, work->y1[i] = row.second, work->down[i] = row.weight;
            work->outside[i] = column.outside || row.outside;
          }
          any_outside = options.padding.has_value();
        }
        fetch(frame, p, *work, n);
        const uint32_t* corners[4] = {work->words[0], work->words[1], work->words[2], work->words[3]};
        float* planes[4] = {work->planes[0], work->planes[1], work->planes[2], work->planes[3]};
        const float* across = blended ? work->across : nullptr;
        Colors colors = frame.colors;
        if (colors == Colors::yuv && !gray) {
          loops.blend_yuv(corners, across, work->down, planes, n);
          colors = Colors::bgr;
        } else {  // gray of YUV is luma, as cvtColor gives it
          if (colors == Colors::yuv) colors = Colors::gray;
          loops.blend(corners, across, work->down, colors == Colors::gray ? 1 : frame.channels, planes, n);
        }
        const bool rgb = colors == Colors::rgb;
        const float* made[4] = {planes[0], planes[0], planes[0], planes[3]};
        if (colors != Colors::gray) {
          if (gray) {
            loops.to_gray(planes[rgb ? 2 : 0], planes[1], planes[rgb ? 0 : 2], work->planes[4], n);
            made[0] = work->planes[4];
          } else {
            made[0] = planes[rgb == red_first ? 0 : 2], made[1] = planes[1], made[2] = planes[rgb == red_first ? 2 : 0];
          }
        }
        if (alpha && frame.channels != 4) std::fill_n(planes[3], n, 255.0f);
        if (any_outside)
          for (int64_t c = 0; c < (frame.channels == 4 ? channels : std::min<int64_t>(channels, 3)); ++c)
            loops.pad(const_cast<float*>(made[c]), work->outside, static_cast<float>(*options.padding), n);
        for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
          const double mean = options.mean[c];
          const float scale = static_cast<float>(options.scale[c]);
          if (planes_first) {
            std::byte* to = out + ((static_cast<int64_t>(c) * height + y) * width + start) * static_cast<int64_t>(size);
            if (options.dtype == DType::f32) {
              loops.finish(made[c], mean, scale, reinterpret_cast<float*>(to), n);
            } else {
              loops.finish(made[c], mean, scale, work->made, n);
              arithmetic_loops().from_f32[index](work->made, to, n);
            }
          } else {
            loops.finish(made[c], mean, scale, work->made, n);
            for (size_t i = 0; i < n; ++i) joined[i * static_cast<size_t>(channels) + c] = work->made[i];
          }
        }
        if (!planes_first)
          arithmetic_loops().from_f32[index](joined.data(), out + (y * width + start) * channels * static_cast<int64_t>(size),
                                             n * static_cast<size_t>(channels));
      }
  });
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
