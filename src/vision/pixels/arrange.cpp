// SPDX-License-Identifier: Apache-2.0
// Pixels in another order: flip, rotate, transpose, repeat, and borders.
#include "vision/loops/arrange.h"

#include <minnow/vision/geometry.h>

#include "vision/light_rows.h"

namespace minnow::vision {
namespace {

int64_t pixel_bytes(const ImageView& image) { return image.channels() * static_cast<int64_t>(size_of(image.dtype())); }

/// to[x, y] = from[y, x]; negative strides read from the last row, or write to it first.
void transpose_into(const ImageView& from, const MutableImageView& to, bool from_last, bool to_last) {
  const int64_t bytes = pixel_bytes(from), in_stride = from_last ? -from.stride() : from.stride();
  const int64_t out_stride = to_last ? -to.stride() : to.stride();
  const auto* const in = from.row<std::byte>(from_last ? from.height() - 1 : 0);
  auto* const out = to.row<std::byte>(to_last ? to.height() - 1 : 0);
  constexpr int64_t kRows = 64;
  for_rows((from.height() + kRows - 1) / kRows, kRows * from.width() * from.channels(), [&](int64_t first, int64_t last) {
    const int64_t y = first * kRows, rows = std::min(last * kRows, from.height()) - y;
    arrange_loops().transpose(in + y * in_stride, in_stride, rows, from.width(), bytes, out + y * bytes, out_stride);
  });
}

}  // namespace

Tensor flip(const ImageView& image, int code, Output output) try {
  check_not_empty("flip", image);
  Result result("flip", output, image.dtype(), image.height(), image.width(), image.channels(), {&image});
  const MutableImageView& to = result.view();
  for_light_rows(image.height(), 2 * image.row_bytes(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      const auto* const from = image.row<std::byte>(code <= 0 ? image.height() - 1 - y : y);
      if (code == 0)
        std::memcpy(to.row<std::byte>(y), from, static_cast<size_t>(image.row_bytes()));
      else
        arrange_loops().reverse(from, image.width(), pixel_bytes(image), to.row<std::byte>(y));
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor rotate(const ImageView& image, int code, Output output) try {
  if (code < 0 || code > 2)
    throw InvalidArgument("rotate: the code is 0 (90 degrees clockwise), 1 (180) or 2 (90 counterclockwise), not {}", code);
  if (code == 1) return flip(image, -1, output);
  check_not_empty("rotate", image);
  Result result("rotate", output, image.dtype(), image.width(), image.height(), image.channels(), {&image});
  transpose_into(image, result.view(), code == 0, code == 2);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor transpose(const ImageView& image, Output output) try {
  check_not_empty("transpose", image);
  Result result("transpose", output, image.dtype(), image.width(), image.height(), image.channels(), {&image});
  transpose_into(image, result.view(), false, false);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor repeat(const ImageView& image, int down, int across, Output output) try {
  check_not_empty("repeat", image);
  if (down <= 0 || across <= 0)
    throw InvalidArgument("repeat: a picture is repeated once or more on each axis, not {} and {} times", down, across);
  check_size("repeat", image.width() * across, image.height() * down);
  Result result("repeat", output, image.dtype(), image.height() * down, image.width() * across, image.channels(), {&image});
  const MutableImageView& to = result.view();
  const size_t bytes = static_cast<size_t>(image.row_bytes());
  for_light_rows(to.height(), 2 * to.row_bytes(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y)
      for (int k = 0; k < across; ++k)
        std::memcpy(to.row<std::byte>(y) + static_cast<size_t>(k) * bytes, image.row<std::byte>(y % image.height()), bytes);
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor copy_make_border(const ImageView& image, int top, int bottom, int left, int right, Border border, const Scalar4& color,
                        Output output) try {
  constexpr std::string_view kName = "copyMakeBorder";
  check_not_empty(kName, image);
  if (top < 0 || bottom < 0 || left < 0 || right < 0)
    throw InvalidArgument("{}: a border has 0 pixels or more, not {}, {}, {} and {}", kName, top, bottom, left, right);
  if (static_cast<int>(border) < 0 || border >= Border::transparent)
    throw InvalidArgument("{}: there is no border type {}", kName, static_cast<int>(border));
  const int64_t height = image.height() + top + bottom, width = image.width() + left + right;
  check_size(kName, width, height);
  Result result(kName, output, image.dtype(), height, width, image.channels(), {&image});
  const MutableImageView& to = result.view();
  const int64_t bytes = pixel_bytes(image);
  std::vector<std::byte> blank;  // a row of the constant
  if (border == Border::constant) {
    blank.resize(static_cast<size_t>(to.row_bytes()));
    const std::vector<std::byte> constant = pixel_of(color, image.dtype(), image.channels());
    std::memcpy(blank.data(), constant.data(), constant.size());
    for (size_t done = constant.size(), more = 0; done < blank.size(); done += more) {
      more = std::min(done, blank.size() - done);
      std::memcpy(blank.data() + done, blank.data(), more);
    }
  }
  // Where the pixels of the border on both sides come from.
  std::vector<uint32_t> sources;
  if (blank.empty()) {
    sources.reserve(static_cast<size_t>(left) + static_cast<size_t>(right));
    const auto add = [&](int64_t x) { sources.push_back(static_cast<uint32_t>(border_position(x, image.width(), border))); };
    for (int64_t x = -left; x < 0; ++x) add(x);
    for (int64_t x = image.width(); x < image.width() + right; ++x) add(x);
  }
  const auto sides = [&](const std::byte* in, std::byte* out, auto fixed) {
    const size_t size = decltype(fixed)::value ? decltype(fixed)::value : static_cast<size_t>(bytes);
    const uint32_t* const source = sources.data();
    const size_t before = static_cast<size_t>(left), all = sources.size();
    for (size_t i = 0; i < before; ++i) std::memcpy(out + i * size, in + source[i] * size, size);
    out += static_cast<size_t>(image.width()) * size;
    for (size_t i = before; i < all; ++i) std::memcpy(out + i * size, in + source[i] * size, size);
  };
  for_light_rows(height, 2 * to.row_bytes(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      const int64_t source = border_position(y - top, image.height(), border);
      auto* const out = to.row<std::byte>(y);
      if (source < 0) {
        std::memcpy(out, blank.data(), blank.size());
        continue;
      }
      const auto* const in = image.row<std::byte>(source);
      std::memcpy(out + left * bytes, in, static_cast<size_t>(image.row_bytes()));
      if (!blank.empty()) {
        std::memcpy(out, blank.data(), static_cast<size_t>(left * bytes));
        std::memcpy(out + left * bytes + image.row_bytes(), blank.data(), static_cast<size_t>(right * bytes));
      } else if (bytes == 1) {
        sides(in, out, std::integral_constant<size_t, 1>());
      } else if (bytes == 3) {
        sides(in, out, std::integral_constant<size_t, 3>());
      } else if (bytes == 4) {
        sides(in, out, std::integral_constant<size_t, 4>());
      } else {
        sides(in, out, std::integral_constant<size_t, 0>());
      }
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

int border_interpolate(int position, int size, Border border) try {
  if (size <= 0) throw InvalidArgument("borderInterpolate: a picture has a length of 1 or more, not {}", size);
  if (static_cast<int>(border) < 0 || border >= Border::transparent)
    throw InvalidArgument("borderInterpolate: there is no border type {}", static_cast<int>(border));
  return static_cast<int>(border_position(position, size, border));
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
