// SPDX-License-Identifier: Apache-2.0
// Functions of each element: tables, weights, powers, logarithms, angles.
#include <minnow/vision/arithmetic.h>

#include "vision/elements.h"
#include "vision/loops/powers.h"

namespace minnow::vision {
namespace {

constexpr double kDegree = 0.017453292519943295;

}  // namespace

Tensor blend_linear(const ImageView& image1, const ImageView& image2, const ImageView& w1, const ImageView& w2, Output output) try {
  constexpr std::string_view kName = "blendLinear";
  check_not_empty(kName, image1);
  check_dtype(kName, image1, {DType::u8, DType::f32});
  check_same(kName, image1, image2);
  for (const ImageView* weights : {&w1, &w2})
    if (weights->dtype() != DType::f32 || weights->channels() != 1 || weights->height() != image1.height() ||
        weights->width() != image1.width())
      throw InvalidArgument("blendLinear: the weights of {} are f32[{}, {}], not {}", to_string(image1), image1.height(), image1.width(),
                            to_string(*weights));
  const Sides sides{side_of(kName, image1), side_of(kName, image2)};
  Result result(kName, output, image1.dtype(), image1.height(), image1.width(), image1.channels(), {&image1, &image2, &w1, &w2});
  const size_t tile = tile_of(image1.channels()), channels = static_cast<size_t>(image1.channels());
  in_tiles(result.view(), {}, tile, [&] {
    return [&, a = Rows<float>(sides.a, tile), b = Rows<float>(sides.b, tile), made = std::vector<float>(tile + 16)](
               int64_t y, size_t x, size_t count, void* out) mutable {
      const float *first = a.at(y, x, count), *second = b.at(y, x, count);
      const float *p = w1.row<float>(y) + x / channels, *q = w2.row<float>(y) + x / channels;
      for (size_t i = 0, pixel = 0; i < count; ++pixel)
        for (size_t c = 0; c < channels; ++c, ++i) made[i] = (first[i] * p[pixel] + second[i] * q[pixel]) / (p[pixel] + q[pixel] + 1e-5f);
      store(sides.a.index, made.data(), out, count);
    };
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor lookup(const ImageView& image, const ImageView& table, Output output) try {
  constexpr std::string_view kName = "LUT";
  check_not_empty(kName, image);
  check_dtype(kName, image, {DType::u8, DType::i8, DType::u16, DType::i16});
  static_cast<void>(element_index(kName, table.dtype()));
  const bool bytes = size_of(image.dtype()) == 1;
  const size_t length = bytes ? 256 : 65536;
  if (table.height() * table.width() != static_cast<int64_t>(length) || (table.channels() != 1 && table.channels() != image.channels()))
    throw InvalidArgument("LUT: the table for {} has {} elements, of one channel or {}, not {}", image.dtype(), length, image.channels(),
                          to_string(table));
  Elements elements(kName, output, table.dtype(), image.height(), image.width(), image.channels(), {}, image);
  const size_t size = size_of(table.dtype()), channels = static_cast<size_t>(table.channels());
  std::vector<std::byte> entries(length * channels * size);
  for (int64_t y = 0; y < table.height(); ++y)
    std::memcpy(entries.data() + y * table.row_bytes(), table.row<void>(y), static_cast<size_t>(table.row_bytes()));
  in_tiles(elements.view(), {}, static_cast<size_t>(image.width() * image.channels()), [&] {
    return [&](int64_t y, size_t, size_t count, void* to) {
      if (bytes && size == 1 && channels == 1)
        return arithmetic_loops().lookup_u8(image.row<uint8_t>(y), reinterpret_cast<const uint8_t*>(entries.data()),
                                            static_cast<uint8_t*>(to), count);
      const auto look = [&](auto word) {
        using Word = decltype(word);
        const Word* from = reinterpret_cast<const Word*>(entries.data());
        Word* out = static_cast<Word*>(to);
        const auto through = [&](const auto* in) {
          for (size_t c = 0; c < channels; ++c)
            for (size_t i = c; i < count; i += channels) out[i] = from[in[i] * channels + c];
        };
        bytes ? through(image.row<uint8_t>(y)) : through(image.row<uint16_t>(y));
      };
      size == 1 ? look(uint8_t()) : size == 2 ? look(uint16_t()) : size == 4 ? look(uint32_t()) : look(uint64_t());
    };
  });
  return elements.finish();
} catch (...) {
  throw_as_error();
}

Tensor transform(const ImageView& image, const ImageView& matrix, Output output) try {
  constexpr std::string_view kName = "transform";
  check_not_empty(kName, image);
  check_not_empty(kName, matrix);
  check_channels(kName, matrix, {1});
  check_dtype(kName, matrix, {DType::i32, DType::f32, DType::f64});
  const size_t from = static_cast<size_t>(image.channels()), to = static_cast<size_t>(matrix.height()),
               columns = static_cast<size_t>(matrix.width());
  if ((columns != from && columns != from + 1) || to > 512)
    throw InvalidArgument("transform: the matrix has {} or {} columns and up to 512 rows, not {}", from, from + 1, to_string(matrix));
  const Side side = side_of(kName, image);
  std::vector<double> weights;
  for (int64_t y = 0; y < matrix.height(); ++y) {
    std::vector<double> row(columns);
    arithmetic_loops().to_f64[element_index(kName, matrix.dtype())](matrix.row<void>(y), row.data(), columns);
    row.resize(from + 1);
    weights.insert(weights.end(), row.begin(), row.end());
  }
  Result result(kName, output, image.dtype(), image.height(), image.width(), matrix.height(), {&image});
  const size_t pixels_of_tile = std::max<size_t>(64, 1024 / std::max(from, to) / 64 * 64), width = static_cast<size_t>(image.width()),
               size = size_of(image.dtype());
  if (from == 3 && to == 3 && side.index == 0) {
    std::array<float, 12> rows_of_weights;
    std::copy(weights.begin(), weights.end(), rows_of_weights.begin());
    const int64_t at_once = rows_at_once({&image, &result.view()});
    const ImageView pixels = with_rows_joined(image, at_once);
    const MutableImageView made = with_rows_joined(result.view(), at_once);
    for_rows(pixels.height(), pixels.width() * 9, [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y)
        arithmetic_loops().transform_u8(pixels.row<uint8_t>(y), rows_of_weights.data(), made.row<uint8_t>(y),
                                        static_cast<size_t>(pixels.width()));
    });
    return result.finish();
  }
  if ((from == 3 || from == 4) && (to == 3 || to == 4) && fits_float(side.index)) {  // as planes of floats
    for_rows(image.height(), image.width() * static_cast<int64_t>(from * to), [&](int64_t first, int64_t last) {
      const ArithmeticLoops& loops = arithmetic_loops();
      Rows<float> rows(side, pixels_of_tile * from);
      std::vector<float> memory((8 + to) * pixels_of_tile);
      float *planes[4], *made[4];
      for (size_t k = 0; k < 4; ++k) planes[k] = memory.data() + k * pixels_of_tile, made[k] = planes[k] + 4 * pixels_of_tile;
      float* joined = memory.data() + 8 * pixels_of_tile;
      for (int64_t y = first; y < last; ++y)
        for (size_t x = 0; x < width; x += pixels_of_tile) {
          const size_t pixels = std::min(pixels_of_tile, width - x);
          if (side.index == 0) {
            uint8_t* bytes[4];
            for (size_t k = 0; k < 4; ++k) bytes[k] = reinterpret_cast<uint8_t*>(joined) + k * pixels_of_tile;
            loops.split_u8(image.row<uint8_t>(y) + x * from, bytes, static_cast<int>(from), pixels);
            for (size_t k = 0; k < from; ++k) loops.to_f32[0](bytes[k], planes[k], pixels);
          } else {
            loops.split_f32(rows.at(y, x * from, pixels * from), planes, static_cast<int>(from), pixels);
          }
          for (size_t k = 0; k < to; ++k) {
            float w[5] = {};
            for (size_t c = 0; c <= from; ++c) w[c == from ? 4 : c] = static_cast<float>(weights[k * (from + 1) + c]);
            loops.weighted_planes(planes, w, w[4], static_cast<int>(from), made[k], pixels);
          }
          if (side.index == 0) {
            uint8_t* bytes[4];
            for (size_t k = 0; k < to; ++k)
              loops.from_f32[0](made[k], bytes[k] = reinterpret_cast<uint8_t*>(joined) + k * pixels_of_tile, pixels);
            loops.merge_u8(bytes, result.view().row<uint8_t>(y) + x * to, static_cast<int>(to), pixels);
            continue;
          }
          loops.merge_f32(made, joined, static_cast<int>(to), pixels);
          store(side.index, joined, result.view().row<std::byte>(y) + x * to * size, pixels * to);
        }
    });
    return result.finish();
  }
  for_rows(image.height(), image.width() * static_cast<int64_t>(from * to), [&](int64_t first, int64_t last) {
    Rows<double> rows(side, pixels_of_tile * from);
    std::vector<double> made(pixels_of_tile * to + 16);
    for (int64_t y = first; y < last; ++y)
      for (size_t x = 0; x < width; x += pixels_of_tile) {
        const size_t pixels = std::min(pixels_of_tile, width - x);
        const double* in = rows.at(y, x * from, pixels * from);
        for (size_t k = 0; k < to; ++k) {
          const double* w = weights.data() + k * (from + 1);
          if (from == 3) {
            for (size_t i = 0; i < pixels; ++i) made[i * to + k] = in[3 * i] * w[0] + in[3 * i + 1] * w[1] + in[3 * i + 2] * w[2] + w[3];
            continue;
          }
          for (size_t i = 0; i < pixels; ++i) {
            double value = w[from];
            for (size_t c = 0; c < from; ++c) value += in[i * from + c] * w[c];
            made[i * to + k] = value;
          }
        }
        store(side.index, made.data(), result.view().row<std::byte>(y) + x * to * size, pixels * to);
      }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor square_root(const ImageView& image, Output output) try {
  check_not_empty("sqrt", image);
  check_floats("sqrt", image);
  return unary("sqrt", UnaryOp::square_root, image, image.dtype(), {}, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor power(const ImageView& image, double exponent, Output output) try {
  constexpr std::string_view kName = "pow";
  check_not_empty(kName, image);
  const bool whole = exponent == std::floor(exponent) && std::abs(exponent) < 2147483647;
  const bool floats = image.dtype() == DType::f32 || image.dtype() == DType::f64;
  if (!whole && !floats) throw Unsupported("pow: exponent {} goes with f32 and f64, not {}", exponent, image.dtype());
  if (!whole && image.dtype() == DType::f32)
    return mapped<float>(kName, image, image.dtype(), {}, output,
                         [&](const float* in, float* out, size_t n) { power_loops().pow_f32(in, out, n, static_cast<float>(exponent)); });
  if (!whole)
    return mapped<double>(kName, image, image.dtype(), {}, output, [&](const double* in, double* out, size_t n) {
      if (exponent == 0.5)
        for (size_t i = 0; i < n; ++i) out[i] = std::sqrt(std::abs(in[i]));
      else
        for (size_t i = 0; i < n; ++i) out[i] = std::pow(std::abs(in[i]), exponent);
    });
  if (!floats && exponent < 0)  // 1 and its inverse stay, 0 becomes the greatest element, others 0
    return mapped<double>(kName, image, image.dtype(), {}, output, [&](const double* in, double* out, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        const double value = in[i] == 0 ? std::numeric_limits<double>::infinity() : std::pow(in[i], exponent);
        out[i] = std::abs(value) < 1 ? 0 : value;
      }
    });
  return unary(kName, UnaryOp::power, image, image.dtype(), {exponent, 0}, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor exponential(const ImageView& image, Output output) try {
  check_not_empty("exp", image);
  check_floats("exp", image);
  const PowerLoops& loops = power_loops();
  return image.dtype() == DType::f32 ? mapped<float>("exp", image, DType::f32, {}, output, loops.exp_f32)
                                     : mapped<double>("exp", image, DType::f64, {}, output, loops.exp_f64);
} catch (...) {
  throw_as_error();
}

Tensor logarithm(const ImageView& image, Output output) try {
  check_not_empty("log", image);
  check_floats("log", image);
  const PowerLoops& loops = power_loops();
  return image.dtype() == DType::f32 ? mapped<float>("log", image, DType::f32, {}, output, loops.log_f32)
                                     : mapped<double>("log", image, DType::f64, {}, output, loops.log_f64);
} catch (...) {
  throw_as_error();
}

Tensor magnitude(const ImageView& x, const ImageView& y, Output output) try {
  return of_floats("magnitude", x, y, output, arithmetic_loops().magnitude_f32, arithmetic_loops().magnitude_f64);
} catch (...) {
  throw_as_error();
}

Tensor phase(const ImageView& x, const ImageView& y, bool degrees, Output output) try {
  const double scale = degrees ? 1 : kDegree;
  return of_floats(
      "phase", x, y, output,
      [&](const float* a, const float* b, float* out, size_t n) { arithmetic_loops().phase_f32(a, b, out, n, scale); },
      [&](const double* a, const double* b, double* out, size_t n) { arithmetic_loops().phase_f64(a, b, out, n, scale); });
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> cart_to_polar(const ImageView& x, const ImageView& y, bool degrees) {
  return {magnitude(x, y), phase(x, y, degrees)};
}

std::pair<Tensor, Tensor> polar_to_cart(const ImageView& length, const ImageView& angle, bool degrees) try {
  constexpr std::string_view kName = "polarToCart";
  check_not_empty(kName, angle);
  check_floats(kName, angle);
  if (length) check_same(kName, length, angle);
  const double scale = degrees ? kDegree : 1;
  const auto made = [&](bool sine) {
    const auto small = [&](const auto* m, const auto* a, auto* out, size_t n) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*a)>, float>) {
        double low, high;
        arithmetic_loops().least_and_most[kF32](a, n, &low, &high);
        if (!(low * scale > -30000 && high * scale < 30000)) return false;
        arithmetic_loops().from_polar_f32(m, a, out, n, scale, sine);
        return true;
      }
      return false;
    };
    const auto step = [&](const auto* m, const auto* a, auto* out, size_t n) {
      if (small(m, a, out, n)) return;
      for (size_t i = 0; i < n; ++i) {
        const auto turn = a[i] * static_cast<std::remove_cvref_t<decltype(a[0])>>(scale);
        out[i] = (sine ? std::sin(turn) : std::cos(turn)) * m[i];
      }
    };
    if (length) return of_floats(kName, length, angle, {}, step, step);
    const auto alone = [&](const auto* a, auto* out, size_t n) {
      if (small(static_cast<decltype(a)>(nullptr), a, out, n)) return;
      for (size_t i = 0; i < n; ++i) {
        const auto turn = a[i] * static_cast<std::remove_cvref_t<decltype(a[0])>>(scale);
        out[i] = sine ? std::sin(turn) : std::cos(turn);
      }
    };
    return angle.dtype() == DType::f32 ? mapped<float>(kName, angle, DType::f32, {}, {}, alone)
                                       : mapped<double>(kName, angle, DType::f64, {}, {}, alone);
  };
  Tensor x = made(false);
  return {std::move(x), made(true)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
