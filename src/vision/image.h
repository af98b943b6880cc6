// SPDX-License-Identifier: Apache-2.0
// Shared by the files of this folder: results, checks of pictures, rows beyond the border, saturation.
#pragma once
#include <minnow/vision/image.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/parallel.h"

namespace minnow::vision {

/// [height, width] of one channel, else [height, width, channels].
inline Shape shape_of(int64_t height, int64_t width, int64_t channels) {
  return channels == 1 ? Shape{height, width} : Shape{height, width, channels};
}

/// "u8[480, 640, 3]", for errors.
std::string to_string(const ImageView& image);

/// Throws InvalidArgument, or Unsupported, in the name of a function: "blur: ...".
void check_size(std::string_view function, int64_t width, int64_t height);  // positive, at most kMostPixels
void check_not_empty(std::string_view function, const ImageView& image);
void check_dtype(std::string_view function, const ImageView& image, std::initializer_list<DType> dtypes);
void check_channels(std::string_view function, const ImageView& image, std::initializer_list<int64_t> channels);
void check_same(std::string_view function, const ImageView& a, const ImageView& b);         // dtype, size and channels
void check_mask(std::string_view function, const ImageView& image, const ImageView& mask);  // u8 of one channel and that size

/// The picture that a function fills: memory of the caller's, or a new tensor (whose elements are not set before).
///
///   Result result("blur", output, image.dtype(), image.height(), image.width(), image.channels(), {&image});
///   ... result.view() ...
///   return result.finish();
class Result {
 public:
  /// `read`: inputs that are still read after pixels have been written, so that a destination that overlaps them is filled at the end.
  Result(std::string_view function, const Output& output, DType dtype, int64_t height, int64_t width, int64_t channels,
         std::initializer_list<const ImageView*> read = {});
  const MutableImageView& view() const noexcept { return view_; }
  /// The new tensor; an empty one where the caller's memory was filled.
  Tensor finish();

 private:
  MutableImageView view_, copy_to_;
  Tensor tensor_;
};

/// A picture of a function's own, for steps between.
Tensor new_image(DType dtype, int64_t height, int64_t width, int64_t channels);
/// Its view for writing; the tensor must not be shared.
MutableImageView writable(Tensor& image);

/// How many rows may be taken for one: those of all pictures given lie one behind the other there, and loops over long rows leave fewer
/// rests. It divides the height. Views without a picture do not count.
int64_t rows_at_once(std::initializer_list<const ImageView*> images);
/// The same pixels, where `rows` rows that lie one behind the other are one.
inline ImageView with_rows_joined(const ImageView& image, int64_t rows) {
  return {image.dtype(), image.height() / rows, image.width() * rows, image.channels(), image.data(), image.stride() * rows};
}
inline MutableImageView with_rows_joined(const MutableImageView& image, int64_t rows) {
  return {image.dtype(), image.height() / rows, image.width() * rows, image.channels(), image.data(), image.stride() * rows};
}

/// to = from, of the same dtype, size and channels.
void copy(const ImageView& from, const MutableImageView& to);

/// Calls task(first, last) for ranges of rows, on several threads where that is worth it. `row_cost`: about how many elements one row reads
/// and writes. Throws what a task threw.
inline void for_rows(int64_t rows, int64_t row_cost, FunctionRef<void(int64_t first, int64_t last)> task) {
  in_parts(rows, row_cost, task);
}

/// The position within [0, size) that stands for `i`, any number; -1 with Border::constant beyond the picture, and with
/// Border::transparent.
int64_t border_position(int64_t i, int64_t size, Border border);
/// The same for i = -before .. size + after - 1, in order.
std::vector<int64_t> border_positions(int64_t size, int64_t before, int64_t after, Border border);

/// A row with its border: `before` pixels, the row's `width`, and `after` pixels, of `pixel_bytes` each. `positions` are
/// border_positions(width, before, after, border); where they are -1 the pixel is `constant` (pixel_bytes of it). row == nullptr: all
/// pixels are `constant`.
void pad_row(const void* row, int64_t width, int64_t pixel_bytes, std::span<const int64_t> positions, int64_t before, const void* constant,
             void* padded);

/// The value of type T next to x: rounded to nearest, ties to even, and to the ends of T's range. NaN becomes 0 for integers.
template <class T, class From>
inline T saturate(From x) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else if constexpr (std::is_floating_point_v<From>) {
    const From rounded = std::nearbyint(x);
    if (!(rounded > static_cast<From>(std::numeric_limits<T>::min()))) return rounded != rounded ? T(0) : std::numeric_limits<T>::min();
    if (rounded >= static_cast<From>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  } else {
    return static_cast<T>(std::clamp<int64_t>(static_cast<int64_t>(x), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
}

/// Calls f(T()) for the element type T of a dtype that OpenCV's pictures have: u8, i8, u16, i16, i32, f32 or f64.
/// Throws Unsupported for another.
template <class F>
decltype(auto) with_element(std::string_view function, DType dtype, F&& f) {
  switch (dtype) {
    case DType::u8:
      return f(uint8_t());
    case DType::i8:
      return f(int8_t());
    case DType::u16:
      return f(uint16_t());
    case DType::i16:
      return f(int16_t());
    case DType::i32:
      return f(int32_t());
    case DType::f32:
      return f(float());
    case DType::f64:
      return f(double());
    default:
      throw Unsupported("{}: a picture is u8, i8, u16, i16, i32, f32 or f64, not {}", function, dtype);
  }
}

/// A colour as a pixel: `channels` elements of a dtype, saturated.
std::vector<std::byte> pixel_of(const Scalar4& color, DType dtype, int64_t channels);

}  // namespace minnow::vision
