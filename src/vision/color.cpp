// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <minnow/vision.h>
#include "base/no_memory.h"

#include "vision/picture_file.h"

namespace minnow::vision {
namespace {

struct Code {
  ColorCode code;
  int from, to;  // channels
  bool swapped;  // blue and red change places; to gray: red comes first
};
constexpr Code kCodes[] = {
    {ColorCode::bgr_to_bgra, 3, 4, false},  {ColorCode::bgra_to_bgr, 4, 3, false},  {ColorCode::bgr_to_rgba, 3, 4, true},
    {ColorCode::rgba_to_bgr, 4, 3, true},   {ColorCode::bgr_to_rgb, 3, 3, true},    {ColorCode::bgra_to_rgba, 4, 4, true},
    {ColorCode::bgr_to_gray, 3, 1, false},  {ColorCode::rgb_to_gray, 3, 1, true},   {ColorCode::gray_to_bgr, 1, 3, false},
    {ColorCode::gray_to_bgra, 1, 4, false}, {ColorCode::bgra_to_gray, 4, 1, false}, {ColorCode::rgba_to_gray, 4, 1, true},
};

template <class T>
T gray_of(T blue, T green, T red) {
  if constexpr (std::is_integral_v<T>) {
    // 0.114, 0.587 and 0.299 in units of 2^-15 (u8) and 2^-14 (u16), as OpenCV rounds them.
    if constexpr (sizeof(T) == 1) return static_cast<T>((blue * 3735 + green * 19235 + red * 9798 + (1 << 14)) >> 15);
    return static_cast<T>((blue * 1868u + green * 9617u + red * 4899u + (1u << 13)) >> 14);
  } else {
    return blue * T(0.114f) + green * T(0.587f) + red * T(0.299f);
  }
}

template <class T>
void convert(const Picture& from, const Picture& to, const Code& code) {
  constexpr T kOpaque = std::is_integral_v<T> ? std::numeric_limits<T>::max() : T(1);
  const T* in = static_cast<const T*>(from.data);
  T* out = static_cast<T*>(to.data);
  const size_t pixels = static_cast<size_t>(from.height * from.width), red = code.swapped ? 0 : 2, blue = 2 - red;
  for (size_t i = 0; i < pixels; ++i, in += code.from, out += code.to) {
    if (code.to == 1) {
      *out = gray_of(in[blue], in[1], in[red]);
    } else {
      const T first = in[0], second = code.from == 1 ? in[0] : in[1], third = code.from == 1 ? in[0] : in[2];
      out[0] = code.swapped ? third : first;
      out[1] = second;
      out[2] = code.swapped ? first : third;
      if (code.to == 4) out[3] = code.from == 4 ? in[3] : kOpaque;
    }
  }
}

}  // namespace

Tensor convert_color(const TensorView& image, ColorCode wanted) try {
  const Code* code = nullptr;
  for (const Code& row : kCodes)
    if (row.code == wanted) code = &row;
  if (!code) throw Unsupported("cvtColor: there is no conversion of number {}", static_cast<int>(wanted));
  const Picture from = picture_of(image, "cvtColor");
  if (from.channels != code->from)
    throw InvalidArgument("cvtColor: the conversion takes a picture of {} channel{}, this is {}{}", code->from, code->from == 1 ? "" : "s",
                          image.dtype(), image.shape());
  Tensor result(image.dtype(), code->to == 1 ? Shape{from.height, from.width} : Shape{from.height, from.width, code->to});
  const Picture to{result.writable().data(), from.height, from.width, code->to};
  switch (image.dtype()) {
    case DType::u8:
      convert<uint8_t>(from, to, *code);
      break;
    case DType::u16:
      convert<uint16_t>(from, to, *code);
      break;
    case DType::f32:
      convert<float>(from, to, *code);
      break;
    default:
      throw Unsupported("cvtColor: a picture is u8, u16 or f32, not {}", image.dtype());
  }
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
