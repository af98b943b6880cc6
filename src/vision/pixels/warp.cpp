// SPDX-License-Identifier: Apache-2.0
// warpAffine, warpPerspective and remap with OpenCV's arithmetic: places in 1/32 of a pixel.
#include "vision/loops/warp.h"

#include <minnow/vision/arithmetic.h>

#include <functional>
#include <memory>

#include "vision/loops/arithmetic.h"
#include "vision/resize_parts.h"

namespace minnow::vision {
namespace {

/// Places of pixels [x, x + n) of row y.
using PlaceRow = FunctionRef<void(int64_t y, int64_t x, int64_t n, const Places& places)>;

constexpr int64_t kTileRows = 32, kMostColumns = 1024;

enum class Kind { nearest, linear, cubic, lanczos };

struct Weights {
  float linear[kFractions][2], cubic[kFractions][4], lanczos[kFractions][8];
};

const Weights& weights_of_fractions() {
  static const Weights& weights = *new Weights([] {
    Weights made;
    for (int f = 0; f < kFractions; ++f) {
      const float x = static_cast<float>(f) / kFractions;
      made.linear[f][0] = 1 - x, made.linear[f][1] = x;
      cubic_weights(x, made.cubic[f]);
      lanczos_weights(x, made.lanczos[f]);
    }
    return made;
  }());
  return weights;
}

struct Warp {
  std::string_view name;
  ImageView from;
  MutableImageView to;
  Kind kind;
  Border border;
  std::vector<std::byte> color;
  bool relative = false;

  int count() const { return kind == Kind::nearest ? 1 : kind == Kind::linear ? 2 : kind == Kind::cubic ? 4 : 8; }
  const float* weights() const {
    const Weights& all = weights_of_fractions();
    return kind == Kind::linear ? all.linear[0] : kind == Kind::cubic ? all.cubic[0] : all.lanczos[0];
  }
};

/// i8 and i32.
template <class T>
inline constexpr bool kNearestAlone = std::is_same_v<T, int8_t> || std::is_same_v<T, int32_t>;

template <class T>
T finished(double sum) {
  if constexpr (std::is_same_v<T, uint8_t>)
    return saturate<T>(std::floor(sum + 0.5));
  else
    return saturate<T>(sum);
}

/// One pixel anywhere.
template <class T>
void pixel(const Warp& warp, int64_t x, int64_t y, uint16_t fraction, T* out) {
  const int64_t width = warp.from.width(), height = warp.from.height(), channels = warp.from.channels();
  const int count = warp.count();
  Border border = warp.border;
  const T* const color = reinterpret_cast<const T*>(warp.color.data());
  const auto at = [&](int64_t column, int64_t row) { return warp.from.row<T>(row) + column * channels; };
  const bool inside = x >= 0 && x < width && y >= 0 && y < height;
  if (border == Border::transparent && !inside) return;
  if (count == 1) {
    if (!inside) x = border_position(x, width, border), y = border_position(y, height, border);
    const T* const from = x < 0 || y < 0 ? color : at(x, y);
    std::copy(from, from + channels, out);
    return;
  }
  if constexpr (kNearestAlone<T>) return;
  const float* const wx = warp.weights() + fraction % kFractions * count;
  const float* const wy = warp.weights() + fraction / kFractions * count;
  int64_t columns[8], rows[8];
  double scale = 1;
  if (border == Border::transparent && count == 2) {
    // The neighbours that are there stand for all; what remains are their weights.
    columns[0] = x, columns[1] = x + 1 < width ? x + 1 : -1;
    rows[0] = y, rows[1] = y + 1 < height ? y + 1 : -1;
    const double there = (wx[0] + (columns[1] < 0 ? 0 : wx[1])) * (wy[0] + (rows[1] < 0 ? 0 : wy[1]));
    if (there == 0) return;
    scale = 1 / there;
  } else {
    if (border == Border::transparent) border = Border::reflect101;
    for (int k = 0; k < count; ++k) {
      columns[k] = border_position(x - (count / 2 - 1) + k, width, border);
      rows[k] = border_position(y - (count / 2 - 1) + k, height, border);
    }
  }
  const bool colored = border == Border::constant;
  for (int64_t c = 0; c < channels; ++c) {
    const double beyond = colored ? static_cast<double>(color[c]) : 0;
    double sum = 0;
    for (int r = 0; r < count; ++r) {
      double row = 0;
      for (int k = 0; k < count; ++k)
        row += static_cast<double>(wx[k]) * (rows[r] < 0 || columns[k] < 0 ? beyond : static_cast<double>(at(columns[k], rows[r])[c]));
      sum += row * static_cast<double>(wy[r]);
    }
    out[c] = finished<T>(sum * scale);
  }
}

/// Pixels whose neighbours all lie within the source.
template <class T>
void inner_pixels(const Warp& warp, const Places& places, int64_t n, T* out) {
  const int count = warp.count();
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t channels = warp.from.channels();
  const float* const weights = warp.weights();
  for (int64_t i = 0; i < n; ++i) {
    const float* const wx = weights + places.fraction[i] % kFractions * count;
    const float* const wy = weights + places.fraction[i] / kFractions * count;
    const int64_t x = (places.x[i] - (count / 2 - 1)) * channels, y = places.y[i] - (count / 2 - 1);
    for (int64_t c = 0; c < channels; ++c) {
      Sum sum = 0;
      for (int r = 0; r < count; ++r) {
        const T* const row = warp.from.row<T>(y + r) + x + c;
        Sum across = 0;
        for (int k = 0; k < count; ++k) across += static_cast<Sum>(row[k * channels]) * static_cast<Sum>(wx[k]);
        sum += across * static_cast<Sum>(wy[r]);
      }
      if constexpr (std::is_same_v<T, uint8_t>)
        *out++ = saturate<T>(std::floor(sum + Sum(0.5)));
      else
        *out++ = saturate<T>(sum);
    }
  }
}

WarpRun fast_run(const Warp& warp) {
  const WarpLoops& loops = warp_loops();
  const size_t channels = static_cast<size_t>(warp.from.channels());
  const DType dtype = warp.from.dtype();
  if (channels > 4 || (dtype != DType::u8 && dtype != DType::f32) || warp.kind == Kind::nearest) return nullptr;
  const bool bytes = dtype == DType::u8;
  if (warp.kind == Kind::linear) return (bytes ? loops.linear8 : loops.linear32)[channels];
  if (warp.kind == Kind::cubic) return (bytes ? loops.cubic8 : loops.cubic32)[channels];
  return (bytes ? loops.lanczos8 : loops.lanczos32)[channels];
}

template <class T>
void fill(const Warp& warp, int64_t n, T* out) {
  const T* const color = reinterpret_cast<const T*>(warp.color.data());
  const int64_t channels = warp.from.channels();
  std::copy(color, color + channels, out);
  for (int64_t done = 1; done < n; done *= 2)
    std::memcpy(out + done * channels, out, static_cast<size_t>(std::min(done, n - done) * channels) * sizeof(T));
}

template <class T>
void warp_row(const Warp& warp, WarpRun run, const Places& places, int64_t n, T* out) {
  const int count = warp.count();
  const int64_t channels = warp.from.channels();
  // Neighbours lie within the source where x - before is in [0, columns), unsigned, and y alike. Vectors read one pixel more.
  const int64_t before = count / 2 - (count > 1), more = run && channels == 3;
  const uint64_t columns = static_cast<uint64_t>(std::max<int64_t>(0, warp.from.width() - count + 1 - more));
  const uint64_t rows = static_cast<uint64_t>(std::max<int64_t>(0, warp.from.height() - count + 1));
  const auto inner = [&](int64_t i) {
    return static_cast<uint64_t>(places.x[i] - before) < columns && static_cast<uint64_t>(places.y[i] - before) < rows;
  };
  const float* const weights = count > 1 ? warp.weights() : nullptr;
  // With a constant border no neighbour may be within the source.
  const int64_t behind = count - 1 - before;
  const bool colored = warp.border == Border::constant;
  const auto outer = [&](int64_t i) {
    return places.x[i] + behind < 0 || places.y[i] + behind < 0 || places.x[i] - before >= warp.from.width() ||
           places.y[i] - before >= warp.from.height();
  };
  const WarpSource source{warp.from.row<std::byte>(0), warp.from.stride(), warp.from.width(), warp.from.height()};
  const auto pick = [&](const Places& part, int64_t pixels, T* to) {
    warp_loops().pick(source, warp.color.data(), part, pixels, static_cast<size_t>(channels) * sizeof(T), reinterpret_cast<std::byte*>(to));
  };
  if (count == 1 && colored) return pick(places, n, out);
  const auto inner_run = [&](int64_t i, int64_t end) {
    const Places part{places.x + i, places.y + i, places.fraction ? places.fraction + i : nullptr};
    T* const to = out + i * channels;
    if (run)
      run(source, part, end - i, weights, reinterpret_cast<std::byte*>(to));
    else if (count == 1 || kNearestAlone<T>)
      pick(part, end - i, to);
    else
      inner_pixels<T>(warp, part, end - i, to);
  };
  const int32_t origin = static_cast<int32_t>(before);
  if (warp_loops().within(places.x, places.y, n, origin, origin, static_cast<uint32_t>(columns), static_cast<uint32_t>(rows)))
    return inner_run(0, n);
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    if (inner(i)) {
      while (end < n && inner(end)) ++end;
      inner_run(i, end);
    } else if (colored && outer(i)) {
      while (end < n && outer(end)) ++end;
      fill(warp, end - i, out + i * channels);
    } else {
      pixel(warp, places.x[i], places.y[i], places.fraction ? places.fraction[i] : uint16_t{0}, out + i * channels);
    }
    i = end;
  }
}

/// Tiles of rows and columns, whose sources lie near each other. `columns`: of a tile.
void warp_tiles(const Warp& warp, int64_t columns, PlaceRow place) {
  const int64_t height = warp.to.height(), width = warp.to.width();
  const DType dtype = warp.from.dtype();
  if ((dtype == DType::u16 || dtype == DType::i16) && warp.kind != Kind::nearest && warp.from.channels() <= 4) {
    // These integers are exact in f32, for which there are loops.
    const int64_t channels = warp.from.channels();
    const Tensor from = convert_scale(warp.from, DType::f32);
    Tensor to = warp.border == Border::transparent ? convert_scale(warp.to, DType::f32) : Tensor(DType::f32, {height, width, channels});
    std::vector<std::byte> color(static_cast<size_t>(channels) * sizeof(float));
    arithmetic_loops().to_f32[element_index(warp.name, dtype)](warp.color.data(), reinterpret_cast<float*>(color.data()),
                                                               static_cast<size_t>(channels));
    const Warp floats{warp.name, from, to.writable(), warp.kind, warp.border, std::move(color), warp.relative};
    warp_tiles(floats, columns, place);
    convert_scale(floats.to, dtype, 1, 0, warp.to);
    return;
  }
  const WarpRun run = fast_run(warp);
  const int64_t cost = warp.kind == Kind::lanczos ? 64 : warp.kind == Kind::cubic ? 16 : 4;
  with_element(warp.name, warp.from.dtype(), [&](auto element) {
    using T = decltype(element);
    for_rows((height + kTileRows - 1) / kTileRows, kTileRows * width * warp.to.channels() * cost, [&](int64_t first, int64_t last) {
      int32_t xs[kMostColumns], ys[kMostColumns];
      uint16_t fractions[kMostColumns];
      const Places places{xs, ys, warp.kind == Kind::nearest ? nullptr : fractions};
      for (int64_t tile = first; tile < last; ++tile)
        for (int64_t x = 0; x < width; x += columns) {
          const int64_t n = std::min(columns, width - x);
          for (int64_t y = tile * kTileRows; y < std::min((tile + 1) * kTileRows, height); ++y) {
            place(y, x, n, places);
            if (warp.relative)
              for (int64_t i = 0; i < n; ++i) xs[i] += static_cast<int32_t>(x + i), ys[i] += static_cast<int32_t>(y);
            warp_row<T>(warp, run, places, n, warp.to.row<T>(y) + x * warp.to.channels());
          }
        }
    });
  });
}

constexpr int kInverse = 16, kRelative = 32;

Warp checked(std::string_view name, const ImageView& image, int flags, Border border, const Scalar4& color) {
  check_not_empty(name, image);
  Warp warp;
  warp.name = name;
  warp.from = image;
  switch (flags & 7) {
    case 0:
      warp.kind = Kind::nearest;
      break;
    case 1:
    case 3:
      warp.kind = Kind::linear;
      break;
    case 2:
      warp.kind = Kind::cubic;
      break;
    case 4:
      warp.kind = Kind::lanczos;
      break;
    default:
      throw InvalidArgument("{}: there is no interpolation {}; there are nearest, linear, cubic, area and lanczos4", name, flags & 7);
  }
  with_element(name, image.dtype(), [](auto) {});
  if (warp.kind != Kind::nearest && (image.dtype() == DType::i8 || image.dtype() == DType::i32))
    throw Unsupported("{}: pictures of {} are sampled by nearest alone", name, image.dtype());
  if (static_cast<int>(border) < 0 || border > Border::transparent)
    throw InvalidArgument("{}: there is no border type {}", name, static_cast<int>(border));
  if (image.width() >= 32767 || image.height() >= 32767)
    throw Unsupported("{}: a source has fewer than 32767 pixels on each side, not {}", name, to_string(image));
  warp.border = border;
  // As in OpenCV the four numbers begin again after the fourth channel.
  for (int64_t c = 0; c < image.channels(); ++c) {
    const std::vector<std::byte> one = pixel_of({color[static_cast<size_t>(c % 4)]}, image.dtype(), 1);
    warp.color.insert(warp.color.end(), one.begin(), one.end());
  }
  return warp;
}

/// A destination keeps its pixels where the border is transparent; a new one has zeros there.
void prepare(const Warp& warp, const Output& output) {
  if (warp.border != Border::transparent) return;
  const MutableImageView& given = output.view();
  const MutableImageView& to = warp.to;
  if (given && given.dtype() == to.dtype() && given.size() == to.size() && given.channels() == to.channels()) {
    if (given.data() != to.data()) copy(given, to);
    return;
  }
  for (int64_t y = 0; y < to.height(); ++y) std::memset(to.row<std::byte>(y), 0, static_cast<size_t>(to.row_bytes()));
}

std::vector<double> matrix_of(std::string_view name, const TensorView& matrix, int64_t rows) {
  if ((matrix.dtype() != DType::f32 && matrix.dtype() != DType::f64) || matrix.shape() != Shape{rows, 3})
    throw InvalidArgument("{}: the matrix is f32 or f64 [{}, 3], not {}{}", name, rows, matrix.dtype(), matrix.shape());
  std::vector<double> values;
  for (int64_t i = 0; i < 3 * rows; ++i)
    values.push_back(matrix.dtype() == DType::f32 ? static_cast<double>(matrix.data<float>()[i]) : matrix.data<double>()[i]);
  return values;
}

Size size_or(Size size, const ImageView& image) { return size.width > 0 && size.height > 0 ? size : image.size(); }

}  // namespace

Tensor warp_affine(const ImageView& image, const TensorView& matrix, Size size, int flags, Border border, const Scalar4& color,
                   Output output) try {
  constexpr std::string_view kName = "warpAffine";
  Warp warp = checked(kName, image, flags, border, color);
  std::vector<double> m = matrix_of(kName, matrix, 2);
  if (!(flags & kInverse)) {
    double determinant = m[0] * m[4] - m[1] * m[3];
    determinant = determinant != 0 ? 1 / determinant : 0;
    const double a = m[4] * determinant, b = -m[1] * determinant, c = -m[3] * determinant, d = m[0] * determinant;
    m = {a, b, -a * m[2] - b * m[5], c, d, -c * m[2] - d * m[5]};
  }
  size = size_or(size, image);
  check_size(kName, size.width, size.height);
  Result result(kName, output, image.dtype(), size.height, size.width, image.channels(), {&image});
  warp.to = result.view();
  prepare(warp, output);
  constexpr double kScale = 1024;
  std::vector<int32_t> dx, dy;
  for (int x = 0; x < size.width; ++x)
    dx.push_back(saturate<int32_t>(m[0] * x * kScale)), dy.push_back(saturate<int32_t>(m[3] * x * kScale));
  const uint32_t half = warp.kind == Kind::nearest ? 512 : 16;
  const auto start = [&](double place) { return static_cast<int32_t>(static_cast<uint32_t>(saturate<int32_t>(place * kScale)) + half); };
  warp_tiles(warp, 64, [&](int64_t y, int64_t x, int64_t n, const Places& places) {
    const double row = static_cast<double>(y);
    warp_loops().affine(dx.data() + x, dy.data() + x, start(m[1] * row + m[2]), start(m[4] * row + m[5]), n, places);
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor warp_perspective(const ImageView& image, const TensorView& matrix, Size size, int flags, Border border, const Scalar4& color,
                        Output output) try {
  constexpr std::string_view kName = "warpPerspective";
  Warp warp = checked(kName, image, flags, border, color);
  std::vector<double> m = matrix_of(kName, matrix, 3);
  if (!(flags & kInverse)) {
    const double determinant = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
    const double d = determinant != 0 ? 1 / determinant : 0;
    m = {(m[4] * m[8] - m[5] * m[7]) * d, (m[2] * m[7] - m[1] * m[8]) * d, (m[1] * m[5] - m[2] * m[4]) * d,
         (m[5] * m[6] - m[3] * m[8]) * d, (m[0] * m[8] - m[2] * m[6]) * d, (m[2] * m[3] - m[0] * m[5]) * d,
         (m[3] * m[7] - m[4] * m[6]) * d, (m[1] * m[6] - m[0] * m[7]) * d, (m[0] * m[4] - m[1] * m[3]) * d};
  }
  size = size_or(size, image);
  check_size(kName, size.width, size.height);
  Result result(kName, output, image.dtype(), size.height, size.width, image.channels(), {&image});
  warp.to = result.view();
  prepare(warp, output);
  // Sums of a row begin anew with each tile; tiles have OpenCV's width, so that rounding is the same.
  const int64_t columns = std::min<int64_t>(kMostColumns, 1024 / std::min(16, size.height));
  warp_tiles(warp, columns, [&](int64_t row, int64_t column, int64_t n, const Places& places) {
    const double x = static_cast<double>(column), y = static_cast<double>(row);
    warp_loops().perspective(m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5], m[6] * x + m[7] * y + m[8], m[0], m[3], m[6], n,
                             places);
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor remap(const ImageView& image, const ImageView& first, const ImageView& second, int interpolation, Border border,
             const Scalar4& color, Output output) try {
  constexpr std::string_view kName = "remap";
  Warp warp = checked(kName, image, interpolation, border, color);
  warp.relative = interpolation & kRelative;
  check_not_empty(kName, first);
  const bool has_second = second && !second.empty();
  if (has_second && first.size() != second.size())
    throw InvalidArgument("remap: the maps have the same size, not {} and {}", to_string(first), to_string(second));
  check_size(kName, first.width(), first.height());
  const auto is = [](const ImageView& map, DType dtype, int64_t channels) { return map.dtype() == dtype && map.channels() == channels; };
  const auto fractions = [&](const ImageView& map) { return is(map, DType::u16, 1) || is(map, DType::i16, 1); };
  const bool swapped = has_second && is(second, DType::i16, 2) && fractions(first);
  const ImageView& whole = swapped ? second : first;
  const ImageView& rest = swapped ? first : second;
  const bool fixed = is(whole, DType::i16, 2) && (!has_second || fractions(rest));
  const bool pairs = is(first, DType::f32, 2) && !has_second, planes = is(first, DType::f32, 1) && has_second && is(second, DType::f32, 1);
  if (!fixed && !pairs && !planes)
    throw InvalidArgument("remap: maps are f32 of two channels, two of f32, or i16 of two channels and u16, not {} and {}",
                          to_string(first), has_second ? to_string(second) : "none");
  Result result(kName, output, image.dtype(), first.height(), first.width(), image.channels(), {&image, &first, &second});
  warp.to = result.view();
  prepare(warp, output);
  warp_tiles(warp, 256, [&](int64_t y, int64_t x, int64_t n, const Places& places) {
    if (planes) return warp_loops().from_maps(first.row<float>(y) + x, second.row<float>(y) + x, n, places);
    if (pairs) {
      float xs[kMostColumns], ys[kMostColumns];
      const float* const map = first.row<float>(y) + 2 * x;
      for (int64_t i = 0; i < n; ++i) xs[i] = map[2 * i], ys[i] = map[2 * i + 1];
      return warp_loops().from_maps(xs, ys, n, places);
    }
    const int16_t* const map = whole.row<int16_t>(y) + 2 * x;
    const uint16_t* const fraction = has_second ? rest.row<uint16_t>(y) + x : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      const uint16_t part = fraction ? fraction[i] & (kFractions * kFractions - 1) : uint16_t{0};
      if (places.fraction) places.fraction[i] = part;
      const bool round = !places.fraction;
      places.x[i] = map[2 * i] + (round && part % kFractions >= kFractions / 2);
      places.y[i] = map[2 * i + 1] + (round && part / kFractions >= kFractions / 2);
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> convert_maps(const ImageView& first, const ImageView& second, DType dtype, int channels, bool nearest) try {
  const bool has_second = second && !second.empty();
  check_not_empty("convertMaps", first);
  if (has_second && first.size() != second.size())
    throw InvalidArgument("convertMaps: the maps have the same size, not {} and {}", to_string(first), to_string(second));
  check_size("convertMaps", first.width(), first.height());
  const auto is = [](const ImageView& map, DType kind, int64_t count) { return map.dtype() == kind && map.channels() == count; };
  const auto fractions = [&](const ImageView& map) { return is(map, DType::u16, 1) || is(map, DType::i16, 1); };
  const bool swapped = has_second && is(second, DType::i16, 2);
  const ImageView& whole = swapped ? second : first;
  const ImageView& rest = swapped ? first : second;
  const bool has_rest = swapped || has_second;
  const bool fixed = is(whole, DType::i16, 2) && (nearest || (has_rest && fractions(rest)));
  const bool pairs = is(first, DType::f32, 2) && !has_second, planes = is(first, DType::f32, 1) && has_second && is(second, DType::f32, 1);
  if (!fixed && !pairs && !planes)
    throw InvalidArgument("convertMaps: maps are f32 of two channels, two of f32, or i16 of two channels and u16, not {} and {}",
                          to_string(first), has_second ? to_string(second) : "none");
  if (dtype == DType::undefined) dtype = fixed ? DType::f32 : DType::i16, channels = 2;
  const bool to_fixed = dtype == DType::i16 && channels == 2;
  if (!to_fixed && !(dtype == DType::f32 && (channels == 1 || channels == 2)))
    throw InvalidArgument("convertMaps: a map becomes i16 of two channels, or f32 of one or two");
  const int64_t height = first.height(), width = first.width();
  Tensor one = new_image(dtype, height, width, channels), two;
  const MutableImageView out = writable(one);
  MutableImageView more;
  if (!nearest && !(dtype == DType::f32 && channels == 2)) {
    two = new_image(to_fixed ? DType::u16 : DType::f32, height, width, 1);
    more = writable(two);
  } else if (dtype == DType::f32 && channels == 1) {
    throw InvalidArgument("convertMaps: two maps of f32 are not made for nearest neighbours; choose f32 of two channels");
  }
  for_rows(height, width * 4, [&](int64_t begin, int64_t end) {
    const size_t size = static_cast<size_t>(width);
    std::vector<float> xs(size), ys(size);
    std::vector<int32_t> whole_x(size), whole_y(size);
    std::vector<uint16_t> parts(size);
    for (int64_t y = begin; y < end; ++y) {
      const float* map_x = xs.data();
      const float* map_y = ys.data();
      if (fixed) {
        const int16_t* const map = whole.row<int16_t>(y);
        const bool split = has_rest && fractions(rest) && !(nearest && to_fixed);
        const float unit = nearest ? 0.0f : 1.0f / kFractions;
        for (size_t i = 0; i < size; ++i) {
          parts[i] = split ? rest.row<uint16_t>(y)[i] & (kFractions * kFractions - 1) : uint16_t{0};
          whole_x[i] = map[2 * i], whole_y[i] = map[2 * i + 1];
          xs[i] = static_cast<float>(whole_x[i]) + static_cast<float>(parts[i] % kFractions) * unit;
          ys[i] = static_cast<float>(whole_y[i]) + static_cast<float>(parts[i] / kFractions) * unit;
        }
      } else if (pairs) {
        for (size_t i = 0; i < size; ++i) xs[i] = first.row<float>(y)[2 * i], ys[i] = first.row<float>(y)[2 * i + 1];
      } else {
        map_x = first.row<float>(y), map_y = second.row<float>(y);
      }
      if (to_fixed) {
        uint16_t* const fraction = nearest ? nullptr : more ? more.row<uint16_t>(y) : parts.data();
        if (!fixed)
          warp_loops().from_maps(map_x, map_y, width, {whole_x.data(), whole_y.data(), fraction});
        else if (fraction)
          std::copy(parts.begin(), parts.end(), fraction);
        warp_loops().join(whole_x.data(), whole_y.data(), width, out.row<int16_t>(y));
      } else if (channels == 2) {
        for (size_t i = 0; i < size; ++i) out.row<float>(y)[2 * i] = map_x[i], out.row<float>(y)[2 * i + 1] = map_y[i];
      } else {
        std::copy(map_x, map_x + size, out.row<float>(y));
        std::copy(map_y, map_y + size, more.row<float>(y));
      }
    }
  });
  return {std::move(one), std::move(two)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
