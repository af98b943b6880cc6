// SPDX-License-Identifier: Apache-2.0
#include "vision/filter.h"

#include "vision/loops/filter.h"

namespace minnow::vision {

void check_window(std::string_view function, Size size) {
  if (size.width < 1 || size.height < 1 || size.width > kMostTaps || size.height > kMostTaps)
    throw InvalidArgument("{}: a window has between 1 and {} pixels along each side, not {} x {}", function, kMostTaps, size.width,
                          size.height);
}

Point anchor_of(std::string_view function, Point anchor, Size size) {
  if (anchor.x == -1) anchor.x = size.width / 2;
  if (anchor.y == -1) anchor.y = size.height / 2;
  if (anchor.x < 0 || anchor.y < 0 || anchor.x >= size.width || anchor.y >= size.height)
    throw InvalidArgument("{}: the anchor ({}, {}) is not within the window of {} x {}", function, anchor.x, anchor.y, size.width,
                          size.height);
  return anchor;
}

void check_border(std::string_view function, Border border, bool wrap) {
  const int number = static_cast<int>(border);
  if (number < 0 || number > 4 || (border == Border::wrap && !wrap))
    throw InvalidArgument("{}: the border is constant, replicate, reflect{} or reflect101 (0, 1, 2{} or 4), not {}", function,
                          wrap ? ", wrap" : "", wrap ? ", 3" : "", number);
}

void for_strips(int64_t rows, int64_t row_cost, int64_t least, FunctionRef<void(int64_t first, int64_t last)> task) {
  const int64_t strips = (rows + least - 1) / least;
  in_parts(strips, row_cost * least, [&](int64_t first, int64_t last) { task(first * least, std::min(last * least, rows)); });
}

namespace {

/// Elements of 64 bytes' alignment, not initialized beyond zeros.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : memory_(new std::byte[bytes + 64]()) {}
  template <class T = std::byte>
  T* data() {
    return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory_.get()) + 63) / 64 * 64);
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// The pixels beyond both ends of a row, whose own pixels begin at row + before * pixel.
struct Ends {
  std::vector<int64_t> left, right;
  Ends(int64_t width, int64_t before, int64_t after, Border border) {
    for (int64_t i = -before; i < 0; ++i) left.push_back(border_position(i, width, border));
    for (int64_t i = width; i < width + after; ++i) right.push_back(border_position(i, width, border));
  }
  void fill(std::byte* row, int64_t width, size_t pixel, const std::byte* constant) const {
    std::byte* const own = row + left.size() * pixel;
    for (size_t i = 0; i < left.size(); ++i)
      std::memcpy(row + i * pixel, left[i] < 0 ? constant : own + static_cast<size_t>(left[i]) * pixel, pixel);
    std::byte* const behind = own + static_cast<size_t>(width) * pixel;
    for (size_t i = 0; i < right.size(); ++i)
      std::memcpy(behind + i * pixel, right[i] < 0 ? constant : own + static_cast<size_t>(right[i]) * pixel, pixel);
  }
};

}  // namespace

void columns_first(const ImageView& from, const MutableImageView& to, const Window& window, size_t mid_size, bool running,
                   FunctionRef<void(const void* const* rows, bool begin, void* state, void* mid, int64_t n)> down,
                   FunctionRef<void(void* mid, void* spare, int64_t step, void* out, int64_t n)> across) {
  const int64_t channels = from.channels(), width = from.width(), n = width * channels, taps = window.size.height;
  const size_t pixel = static_cast<size_t>(channels) * mid_size;
  const Ends ends(width, window.anchor.x, window.size.width - 1 - window.anchor.x, window.border);
  const size_t mid_bytes = (static_cast<size_t>(width) + static_cast<size_t>(window.size.width) - 1) * pixel + 64 * mid_size;
  std::vector<std::byte> constant_row;
  const bool constant = window.border == Border::constant;
  if (constant) {
    constant_row.resize(static_cast<size_t>(from.row_bytes()));
    const size_t bytes = static_cast<size_t>(channels) * size_of(from.dtype());
    if (window.constant)
      for (size_t x = 0; x < static_cast<size_t>(width); ++x) std::memcpy(constant_row.data() + x * bytes, window.constant, bytes);
  }
  const auto row_at = [&](int64_t y) -> const void* {
    const int64_t position = border_position(y, from.height(), window.border);
    return position < 0 ? static_cast<const void*>(constant_row.data()) : from.row<std::byte>(position);
  };
  for_strips(from.height(), 2 * n, running ? std::max<int64_t>(32, 4 * taps) : 8, [&](int64_t first, int64_t last) {
    Buffer mid_memory(mid_bytes + 64), spare(mid_bytes), state(running ? mid_bytes : 0), constant_mid(pixel);
    // The row's own pixels begin at a multiple of 64 bytes.
    const size_t before = static_cast<size_t>(window.anchor.x) * pixel;
    std::byte* const mid = mid_memory.data() + ((before + 63) / 64 * 64 - before);
    std::vector<const void*> rows(static_cast<size_t>(taps) + 1);
    if (constant) {
      std::fill(rows.begin(), rows.end(), constant_row.data());
      Buffer unused(pixel);
      down(rows.data() + 1, true, unused.data(), constant_mid.data(), channels);
    }
    for (int64_t y = first; y < last; ++y) {
      if (y == first) {
        for (int64_t t = -1; t < taps; ++t) rows[static_cast<size_t>(t + 1)] = row_at(y - window.anchor.y + t);
      } else {
        std::memmove(rows.data(), rows.data() + 1, static_cast<size_t>(taps) * sizeof(rows[0]));
        rows.back() = row_at(y - window.anchor.y + taps - 1);
      }
      down(rows.data() + 1, y == first, state.data(), mid + before, n);
      ends.fill(mid, width, pixel, constant_mid.data());
      across(mid, spare.data(), channels, to.row<std::byte>(y), n);
    }
  });
}

void padded_rows(const ImageView& from, const MutableImageView& to, const Window& window, size_t element,
                 FunctionRef<void(const void* row, void* out, int64_t n)> convert,
                 FunctionRef<void(const void* const* rows, int64_t y, void* out, int64_t n)> over) {
  const int64_t channels = from.channels(), width = from.width(), n = width * channels, taps = window.size.height;
  const size_t pixel = static_cast<size_t>(channels) * element, source_pixel = static_cast<size_t>(channels) * size_of(from.dtype());
  const Ends ends(width, window.anchor.x, window.size.width - 1 - window.anchor.x, window.border);
  const size_t padded = ((static_cast<size_t>(width) + static_cast<size_t>(window.size.width) - 1) * pixel + 64 * element + 63) / 64 * 64;
  const std::vector<std::byte> zeros(window.constant ? 0 : source_pixel);
  const void* const constant = window.constant ? window.constant : zeros.data();
  for_strips(from.height(), 4 * n, std::max<int64_t>(32, 4 * taps), [&](int64_t first, int64_t last) {
    // The ring has a place for each row of the window; where the picture has fewer rows, one for each of them and one for constants.
    const int64_t height = from.height(), count = std::min(taps, height + 1);
    Buffer ring(padded * static_cast<size_t>(count)), constant_pixel(pixel);
    std::vector<const void*> rows(static_cast<size_t>(taps));
    convert(constant, constant_pixel.data(), channels);
    const auto place_of = [&](int64_t y) {
      int64_t place = y % taps;
      if (count < taps) place = border_position(y, height, window.border);
      if (place < 0) place += count;
      return ring.data() + static_cast<size_t>(place) * padded;
    };
    const auto load = [&](int64_t y) {
      std::byte* const place = place_of(y);
      const int64_t position = border_position(y, height, window.border);
      std::byte* const own = place + static_cast<size_t>(window.anchor.x) * pixel;
      if (position >= 0) {
        convert(from.row<std::byte>(position), own, n);
        ends.fill(place, width, pixel, constant_pixel.data());
      } else {
        for (size_t x = 0; x < static_cast<size_t>(width + window.size.width - 1); ++x)
          std::memcpy(place + x * pixel, constant_pixel.data(), pixel);
      }
    };
    const int64_t top = -window.anchor.y;
    if (count < taps) {
      for (int64_t y = -1; y < height; ++y) load(y);
    } else {
      for (int64_t t = 0; t < taps - 1; ++t) load(first + top + t);
    }
    for (int64_t y = first; y < last; ++y) {
      if (count == taps) load(y + top + taps - 1);
      for (int64_t t = 0; t < taps; ++t) rows[static_cast<size_t>(t)] = place_of(y + top + t);
      over(rows.data(), y, to.row<std::byte>(y), n);
    }
  });
}

void padded_rows(const ImageView& from, const MutableImageView& to, const Window& window,
                 FunctionRef<void(const void* const* rows, int64_t y, void* out, int64_t n)> over) {
  const size_t size = size_of(from.dtype());
  padded_rows(
      from, to, window, size, [&](const void* row, void* out, int64_t n) { std::memcpy(out, row, static_cast<size_t>(n) * size); }, over);
}

namespace {

/// Pointers to `taps` places that are `step` apart.
template <class T>
std::vector<const T*> places(const T* from, int64_t step, int64_t taps) {
  std::vector<const T*> result(static_cast<size_t>(taps));
  for (int64_t t = 0; t < taps; ++t) result[static_cast<size_t>(t)] = from + t * step;
  return result;
}

template <class To>
std::vector<To> as(const std::vector<double>& values) {
  std::vector<To> result;
  for (const double value : values) result.push_back(static_cast<To>(value));
  return result;
}

double absolute_sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value);
  return sum;
}
bool all_integers(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == std::nearbyint(v); });
}

}  // namespace

void linear_filter(const ImageView& from, const MutableImageView& to, const std::vector<double>& across, const std::vector<double>& down,
                   Point anchor, double delta, Border border) {
  const FilterLoops& loops = filter_loops();
  const Window window{{static_cast<int>(across.size()), static_cast<int>(down.size())}, anchor, border, nullptr};
  const int64_t width = window.size.width, height = window.size.height;
  const DType dtype = to.dtype();
  const bool narrow = dtype == DType::u8 || dtype == DType::u16 || dtype == DType::i16 || dtype == DType::f32;
  if (from.dtype() == DType::u8 && (narrow || dtype == DType::f64) && dtype != DType::u16 && all_integers(across) && all_integers(down) &&
      delta == std::nearbyint(delta) && absolute_sum(down) * 255 <= 32767 &&
      absolute_sum(across) * absolute_sum(down) * 255 + std::abs(delta) <= 32767) {
    const std::vector<int16_t> a = as<int16_t>(across), d = as<int16_t>(down);
    columns_first(
        from, to, window, sizeof(int16_t), false,
        [&](const void* const* rows, bool, void*, void* mid, int64_t n) {
          loops.sum_u8_i16(reinterpret_cast<const uint8_t* const*>(rows), d.data(), height, 0, static_cast<int16_t*>(mid), n);
        },
        [&](void* mid, void* spare, int64_t step, void* out, int64_t n) {
          const auto shifted = places(static_cast<const int16_t*>(mid), step, width);
          int16_t* const sums = static_cast<int16_t*>(dtype == DType::i16 ? out : spare);
          loops.sum_i16(shifted.data(), a.data(), width, static_cast<int16_t>(delta), sums, n);
          if (dtype == DType::u8) loops.i16_u8(sums, static_cast<uint8_t*>(out), n);
          if (dtype == DType::f32) loops.i16_f32(sums, static_cast<float*>(out), n);
          if (dtype == DType::f64) loops.i16_f64(sums, static_cast<double*>(out), n);
        });
  } else if (narrow && from.dtype() != DType::f64 && from.dtype() != DType::i32 && from.dtype() != DType::i8) {
    const std::vector<float> a = as<float>(across), d = as<float>(down);
    columns_first(
        from, to, window, sizeof(float), false,
        [&](const void* const* rows, bool, void*, void* mid, int64_t n) {
          float* const sums = static_cast<float*>(mid);
          if (from.dtype() == DType::u8)
            loops.sum_u8_f32(reinterpret_cast<const uint8_t* const*>(rows), d.data(), height, 0, sums, n);
          else if (from.dtype() == DType::u16)
            loops.sum_u16_f32(reinterpret_cast<const uint16_t* const*>(rows), d.data(), height, 0, sums, n);
          else if (from.dtype() == DType::i16)
            loops.sum_i16_f32(reinterpret_cast<const int16_t* const*>(rows), d.data(), height, 0, sums, n);
          else
            loops.sum_f32(reinterpret_cast<const float* const*>(rows), d.data(), height, 0, sums, n);
        },
        [&](void* mid, void* spare, int64_t step, void* out, int64_t n) {
          const auto shifted = places(static_cast<const float*>(mid), step, width);
          float* const sums = static_cast<float*>(dtype == DType::f32 ? out : spare);
          loops.sum_f32(shifted.data(), a.data(), width, static_cast<float>(delta), sums, n);
          convert_row(sums, dtype, out, n);
        });
  } else {
    columns_first(
        from, to, window, sizeof(double), false,
        [&](const void* const* rows, bool, void*, void* mid, int64_t n) {
          double* const sums = static_cast<double*>(mid);
          if (from.dtype() == DType::f64)
            return loops.sum_f64(reinterpret_cast<const double* const*>(rows), down.data(), height, 0, sums, n);
          with_element("filter", from.dtype(), [&](auto element) {
            using T = decltype(element);
            std::fill(sums, sums + n, 0.0);
            for (int64_t t = 0; t < height; ++t)
              for (int64_t i = 0; i < n; ++i)
                sums[i] += down[static_cast<size_t>(t)] * static_cast<double>(static_cast<const T*>(rows[t])[i]);
          });
        },
        [&](void* mid, void* spare, int64_t step, void* out, int64_t n) {
          const auto shifted = places(static_cast<const double*>(mid), step, width);
          loops.sum_f64(shifted.data(), across.data(), width, delta, static_cast<double*>(spare), n);
          convert_row(static_cast<const double*>(spare), dtype, out, n);
        });
  }
}

void convert_row(const float* sums, DType dtype, void* out, int64_t n) {
  const FilterLoops& loops = filter_loops();
  if (dtype == DType::u8)
    loops.f32_u8(sums, static_cast<uint8_t*>(out), n);
  else if (dtype == DType::u16)
    loops.f32_u16(sums, static_cast<uint16_t*>(out), n);
  else if (dtype == DType::i16)
    loops.f32_i16(sums, static_cast<int16_t*>(out), n);
  else if (dtype == DType::f64)
    std::copy(sums, sums + n, static_cast<double*>(out));
  else if (sums != out)
    std::copy(sums, sums + n, static_cast<float*>(out));
}

void convert_row(const double* sums, DType dtype, void* out, int64_t n) {
  const FilterLoops& loops = filter_loops();
  if (dtype == DType::u8) return loops.f64_u8(sums, static_cast<uint8_t*>(out), n);
  if (dtype == DType::u16) return loops.f64_u16(sums, static_cast<uint16_t*>(out), n);
  if (dtype == DType::i16) return loops.f64_i16(sums, static_cast<int16_t*>(out), n);
  if (dtype == DType::f32) return loops.f64_f32(sums, static_cast<float*>(out), n);
  with_element("filter", dtype, [&](auto element) {
    using T = decltype(element);
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = saturate<T>(sums[i]);
  });
}

void convert_row(const void* row, DType dtype, float* out, int64_t n) {
  const FilterLoops& loops = filter_loops();
  if (dtype == DType::u8) return loops.u8_f32(static_cast<const uint8_t*>(row), out, n);
  if (dtype == DType::u16) return loops.u16_f32(static_cast<const uint16_t*>(row), out, n);
  if (dtype == DType::i16) return loops.i16_f32(static_cast<const int16_t*>(row), out, n);
  with_element("filter", dtype, [&](auto element) {
    const auto* const in = static_cast<const decltype(element)*>(row);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
  });
}

}  // namespace minnow::vision
