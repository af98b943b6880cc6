// SPDX-License-Identifier: Apache-2.0
// Conversion between every element type and the wide types that references compute in: double for floating types, i64 for integers.
#pragma once
#include <minnow/tensor.h>

#include <bit>
#include <cstring>

namespace minnow {

/// A binary floating format of 16 bits or fewer. Layout: sign (if any), exponent, mantissa.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  uint32_t max_code;       // code of the largest finite magnitude
  uint32_t infinity_code;  // magnitude code of infinity, or nan_code if there is none
  uint32_t nan_code;       // magnitude code of NaN (with the sign bit if negative zero is NaN)
};
inline constexpr SmallFloat kF16{5, 10, 15, 0x7bff, 0x7c00, 0x7e00};
inline constexpr SmallFloat kBf16{8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0};
inline constexpr SmallFloat kF8e4m3fn{4, 3, 7, 0x7e, 0x7f, 0x7f};
inline constexpr SmallFloat kF8e4m3fnuz{4, 3, 8, 0x7f, 0x80, 0x80};
inline constexpr SmallFloat kF8e5m2{5, 2, 15, 0x7b, 0x7c, 0x7f};
inline constexpr SmallFloat kF8e5m2fnuz{5, 2, 16, 0x7f, 0x80, 0x80};
inline constexpr SmallFloat kF4e2m1{2, 1, 1, 0x7, 0x7, 0x8};  // finite values only: overflow becomes the largest, NaN -0

/// The format of a floating dtype of 16 bits or fewer; null for the others and for f8e8m0.
const SmallFloat* small_float(DType dtype) noexcept;

/// The code of `value` rounded to nearest, ties to even. Beyond the largest: the largest if `saturate`, else infinity (NaN if the format
/// has none).
uint32_t encode(const SmallFloat& format, double value, bool saturate = false) noexcept;
double decode(const SmallFloat& format, uint32_t code) noexcept;

/// Rounding of values between two powers of two when an f8e8m0 scale is made (ties up). The sign is dropped. Out of range: the nearest if
/// `saturate`, else NaN.
enum class E8m0Rounding { up, down, nearest };
uint8_t encode_e8m0(double value, bool saturate = true, E8m0Rounding rounding = E8m0Rounding::nearest) noexcept;
double decode_e8m0(uint8_t code) noexcept;

/// Exact and fast conversions between single precision and the two 16-bit types (round to nearest, ties to even).
inline float f32_from_bf16(uint16_t bits) noexcept { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
inline uint16_t bf16_from_f32(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);  // a NaN stays one
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
/// Without branches, so that compilers make vectors of loops over them.
inline float f32_from_f16(uint16_t bits) noexcept {
  constexpr uint32_t kInfinity = 0x7c00u << 13;  // the exponent of f16 where that of f32 lies
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, magnitude = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t exponent = magnitude & kInfinity;
  const uint32_t moved = magnitude + (112u << 23) + (exponent == kInfinity ? 112u << 23 : 0u);
  // A subnormal with 2^-14 in front, which then is subtracted.
  const float tiny = std::bit_cast<float>(magnitude + (113u << 23)) - std::bit_cast<float>(113u << 23);
  return std::bit_cast<float>(sign | (exponent == 0 ? std::bit_cast<uint32_t>(tiny) : moved));
}
inline uint16_t f16_from_f32(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN, or infinity from 2^16 on
  // Below 2^-14 the sum with 1/2 rounds at the bit that a subnormal ends with.
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - (126u << 23);
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (magnitude >= (143u << 23) ? large : magnitude < (113u << 23) ? tiny : normal));
}

/// Floating elements (and integers and bool, exact up to 2^53) to double.
void widen(DType dtype, const void* source, size_t count, double* out) noexcept;
/// Integers and bool to i64 (u64 keeps its bits).
void widen(DType dtype, const void* source, size_t count, int64_t* out) noexcept;
/// Double to a floating element: nearest, ties to even; overflow gives infinity, or NaN if the format has none. To an integer:
/// truncated, wrapped.
void narrow(DType dtype, const double* source, size_t count, void* out) noexcept;
/// i64 to an integer element: wrapped to its width; to bool: not zero; to a floating element: nearest.
void narrow(DType dtype, const int64_t* source, size_t count, void* out) noexcept;

/// `value` as the nearest element of a floating dtype holds it; ties to even, overflow to infinity (NaN if the format has none).
double rounded(DType dtype, double value) noexcept;

/// Rounds toward zero and saturates to i64 (in u64's upper half: its bits); NaN becomes 0.
int64_t truncate(double value) noexcept;

/// The smallest and the largest value of an integer dtype (u64's largest as i64's).
int64_t lowest_of(DType dtype) noexcept;
int64_t highest_of(DType dtype) noexcept;
/// The largest finite value of a floating dtype.
double largest_of(DType dtype) noexcept;

/// Moves elements of types under a byte between one byte each and the packed form of files (low bits first). `count` elements.
void unpack_bits(DType dtype, const void* packed, size_t count, void* out) noexcept;
void pack_bits(DType dtype, const void* elements, size_t count, void* packed) noexcept;

}  // namespace minnow
