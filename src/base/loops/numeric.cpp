// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.h"

#include <cmath>
#include <limits>

namespace minnow {

const SmallFloat* small_float(DType dtype) noexcept {
  switch (dtype) {
    case DType::f16:
      return &kF16;
    case DType::bf16:
      return &kBf16;
    case DType::f8e4m3fn:
      return &kF8e4m3fn;
    case DType::f8e4m3fnuz:
      return &kF8e4m3fnuz;
    case DType::f8e5m2:
      return &kF8e5m2;
    case DType::f8e5m2fnuz:
      return &kF8e5m2fnuz;
    case DType::f4e2m1:
      return &kF4e2m1;
    default:
      return nullptr;
  }
}

namespace {

template <class From, class To>
void convert(const void* source, size_t count, To* out) {
  const From* in = static_cast<const From*>(source);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
}

template <class To>
void widen_integer(DType dtype, const void* source, size_t count, To* out) {
  switch (dtype) {
    case DType::i64:
      return convert<int64_t>(source, count, out);
    case DType::i32:
      return convert<int32_t>(source, count, out);
    case DType::i16:
      return convert<int16_t>(source, count, out);
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return convert<int8_t>(source, count, out);
    case DType::u64:
      return convert<uint64_t>(source, count, out);
    case DType::u32:
      return convert<uint32_t>(source, count, out);
    case DType::u16:
      return convert<uint16_t>(source, count, out);
    case DType::u8:
    case DType::u4:
    case DType::u2:
    case DType::boolean:
      return convert<uint8_t>(source, count, out);
    default:
      std::memset(static_cast<void*>(out), 0, count * sizeof(To));
  }
}

template <class To>
void wrap(const int64_t* source, size_t count, void* out) {
  To* to = static_cast<To*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<To>(static_cast<uint64_t>(source[i]));
}

}  // namespace

int64_t truncate(double value) noexcept {
  if (!(std::fabs(value) < 9.2233720368547758e18)) {
    if (value >= 9.2233720368547758e18 && value < 1.8446744073709552e19) return static_cast<int64_t>(static_cast<uint64_t>(value));
    return std::isnan(value) ? 0 : value > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  }
  return static_cast<int64_t>(value);
}

uint32_t encode(const SmallFloat& format, double value, bool saturate) noexcept {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign_bit = 1u << (format.exponent_bits + format.mantissa_bits);
  const uint32_t sign = bits >> 63 ? sign_bit : 0;
  const bool no_negative_zero = format.infinity_code == sign_bit;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff && fraction) return no_negative_zero ? format.nan_code : (format.nan_code | sign);
  uint32_t code = 0;
  if (exponent == 0x7ff) {
    code = format.max_code + 1;
  } else if (exponent != 0) {  // subnormal doubles are far below every small format
    const int e = exponent - 1023;
    int shift = 52 - format.mantissa_bits;
    const bool subnormal = e < 1 - format.bias;
    if (subnormal) shift += 1 - format.bias - e;
    if (shift < 64) {
      const uint64_t full = (uint64_t{1} << 52) | fraction;
      const uint64_t half = uint64_t{1} << (shift - 1), rest = full & ((half << 1) - 1);
      uint64_t q = full >> shift;
      q += rest > half || (rest == half && (q & 1));
      // A normal's leading one adds 1 to the exponent field, and so does a carry out of rounding.
      const int64_t base = subnormal ? 0 : static_cast<int64_t>(e + format.bias - 1) << format.mantissa_bits;
      const uint64_t wide = static_cast<uint64_t>(base) + q;
      code = wide > format.max_code ? format.max_code + 1 : static_cast<uint32_t>(wide);
    }
  }
  if (code > format.max_code) {
    if (saturate) return format.max_code | sign;
    if (no_negative_zero) return format.nan_code;
    return format.infinity_code | sign;
  }
  return code == 0 && no_negative_zero ? 0 : code | sign;
}

double decode(const SmallFloat& format, uint32_t code) noexcept {
  const uint32_t sign_bit = 1u << (format.exponent_bits + format.mantissa_bits);
  const uint32_t magnitude = code & (sign_bit - 1);
  const double sign = code & sign_bit ? -1 : 1;
  if (format.infinity_code == sign_bit && code == sign_bit) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > format.max_code)
    return magnitude == format.infinity_code && format.infinity_code != format.nan_code ? sign * std::numeric_limits<double>::infinity()
                                                                                        : std::numeric_limits<double>::quiet_NaN();
  const uint32_t fraction = magnitude & ((1u << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(fraction), 1 - format.bias - format.mantissa_bits);
  return sign * std::ldexp(static_cast<double>(fraction | (1u << format.mantissa_bits)), exponent - format.bias - format.mantissa_bits);
}

uint8_t encode_e8m0(double value, bool saturate, E8m0Rounding rounding) noexcept {
  if (std::isnan(value)) return 0xff;
  value = std::fabs(value);
  if (std::isinf(value)) return saturate ? 0xfe : 0xff;
  if (value == 0) return saturate ? 0 : 0xff;
  int e;
  const double m = std::frexp(value, &e);  // value = m * 2^e, 0.5 <= m < 1
  int code = e - 1 + 127;
  if (m > 0.5) {
    if (rounding == E8m0Rounding::up) code += 1;
    if (rounding == E8m0Rounding::nearest && m >= 0.75) code += 1;
  }
  if (code < 0) return saturate ? 0 : 0xff;
  if (code > 0xfe) return saturate ? 0xfe : 0xff;
  return static_cast<uint8_t>(code);
}

double decode_e8m0(uint8_t code) noexcept { return code == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127); }

double rounded(DType dtype, double value) noexcept {
  if (dtype == DType::f64) return value;
  if (dtype == DType::f32) return static_cast<float>(value);
  if (dtype == DType::f8e8m0) return decode_e8m0(encode_e8m0(value));
  const SmallFloat* format = small_float(dtype);
  return format ? decode(*format, encode(*format, value)) : value;
}

void widen(DType dtype, const void* source, size_t count, double* out) noexcept {
  switch (dtype) {
    case DType::f32:
      return convert<float>(source, count, out);
    case DType::f64:
      return convert<double>(source, count, out);
    case DType::f16:
      for (size_t i = 0; i < count; ++i) out[i] = f32_from_f16(static_cast<const uint16_t*>(source)[i]);
      return;
    case DType::bf16:
      for (size_t i = 0; i < count; ++i) out[i] = f32_from_bf16(static_cast<const uint16_t*>(source)[i]);
      return;
    case DType::f8e8m0:
      for (size_t i = 0; i < count; ++i) out[i] = decode_e8m0(static_cast<const uint8_t*>(source)[i]);
      return;
    default:
      break;
  }
  if (const SmallFloat* format = small_float(dtype)) {
    for (size_t i = 0; i < count; ++i) out[i] = decode(*format, static_cast<const uint8_t*>(source)[i]);
    return;
  }
  widen_integer(dtype, source, count, out);
}

void widen(DType dtype, const void* source, size_t count, int64_t* out) noexcept {
  if (!is_float(dtype)) return widen_integer(dtype, source, count, out);
  for (size_t i = 0; i < count; ++i) {
    double value;
    widen(dtype, static_cast<const char*>(source) + i * size_of(dtype), 1, &value);
    out[i] = truncate(value);
  }
}

void narrow(DType dtype, const double* source, size_t count, void* out) noexcept {
  if (count == 0) return;  // the pointers may be null
  switch (dtype) {
    case DType::f64:
      if (count) std::memcpy(out, source, count * sizeof(double));
      return;
    case DType::f32:
      for (size_t i = 0; i < count; ++i) static_cast<float*>(out)[i] = static_cast<float>(source[i]);
      return;
    case DType::f16:
    case DType::bf16: {
      const SmallFloat& format = *small_float(dtype);
      for (size_t i = 0; i < count; ++i) static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(encode(format, source[i]));
      return;
    }
    case DType::f8e8m0:
      for (size_t i = 0; i < count; ++i) static_cast<uint8_t*>(out)[i] = encode_e8m0(source[i]);
      return;
    case DType::boolean:
      for (size_t i = 0; i < count; ++i) static_cast<uint8_t*>(out)[i] = source[i] != 0;
      return;
    case DType::complex64:  // the imaginary part is 0
      for (size_t i = 0; i < count; ++i) {
        static_cast<float*>(out)[2 * i] = static_cast<float>(source[i]);
        static_cast<float*>(out)[2 * i + 1] = 0;
      }
      return;
    case DType::complex128:
      for (size_t i = 0; i < count; ++i) {
        static_cast<double*>(out)[2 * i] = source[i];
        static_cast<double*>(out)[2 * i + 1] = 0;
      }
      return;
    default:
      break;
  }
  if (const SmallFloat* format = small_float(dtype)) {
    for (size_t i = 0; i < count; ++i) static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(encode(*format, source[i]));
    return;
  }
  if (size_of(dtype) == 0) return;  // undefined and string: no numbers
  constexpr size_t kChunk = 64;
  int64_t whole[kChunk];
  for (size_t i = 0; i < count; i += kChunk) {
    const size_t n = count - i < kChunk ? count - i : kChunk;
    for (size_t k = 0; k < n; ++k) whole[k] = truncate(source[i + k]);
    narrow(dtype, whole, n, static_cast<char*>(out) + i * size_of(dtype));
  }
}

void narrow(DType dtype, const int64_t* source, size_t count, void* out) noexcept {
  if (count == 0) return;  // the pointers may be null
  switch (dtype) {
    case DType::i64:
    case DType::u64:
      if (count) std::memcpy(out, source, count * 8);
      return;
    case DType::i32:
    case DType::u32:
      return wrap<uint32_t>(source, count, out);
    case DType::i16:
    case DType::u16:
      return wrap<uint16_t>(source, count, out);
    case DType::i8:
    case DType::u8:
      return wrap<uint8_t>(source, count, out);
    case DType::u4:
      for (size_t i = 0; i < count; ++i) static_cast<uint8_t*>(out)[i] = source[i] & 0xf;
      return;
    case DType::u2:
      for (size_t i = 0; i < count; ++i) static_cast<uint8_t*>(out)[i] = source[i] & 0x3;
      return;
    case DType::i4:
      for (size_t i = 0; i < count; ++i) static_cast<int8_t*>(out)[i] = static_cast<int8_t>(((source[i] & 0xf) ^ 0x8) - 0x8);
      return;
    case DType::i2:
      for (size_t i = 0; i < count; ++i) static_cast<int8_t*>(out)[i] = static_cast<int8_t>(((source[i] & 0x3) ^ 0x2) - 0x2);
      return;
    case DType::boolean:
      for (size_t i = 0; i < count; ++i) static_cast<uint8_t*>(out)[i] = source[i] != 0;
      return;
    default:
      break;
  }
  if (dtype == DType::undefined) return;
  const size_t size = size_of(dtype);
  if (size == 0) return;  // undefined and string: no numbers
  for (size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(source[i]);
    narrow(dtype, &value, 1, static_cast<char*>(out) + i * size);
  }
}

int64_t lowest_of(DType dtype) noexcept { return is_signed(dtype) ? static_cast<int64_t>(~uint64_t{0} << (bits_of(dtype) - 1)) : 0; }

int64_t highest_of(DType dtype) noexcept {
  if (dtype == DType::boolean) return 1;
  if (dtype == DType::u64) return std::numeric_limits<int64_t>::max();
  const size_t bits = bits_of(dtype) - (is_signed(dtype) ? 1 : 0);
  return static_cast<int64_t>((uint64_t{1} << bits) - 1);
}

double largest_of(DType dtype) noexcept {
  if (dtype == DType::f64) return std::numeric_limits<double>::max();
  if (dtype == DType::f32) return std::numeric_limits<float>::max();
  if (dtype == DType::f8e8m0) return decode_e8m0(0xfe);
  const SmallFloat* format = small_float(dtype);
  return format ? decode(*format, format->max_code) : static_cast<double>(highest_of(dtype));
}

void unpack_bits(DType dtype, const void* packed, size_t count, void* out) noexcept {
  const size_t bits = bits_of(dtype), per_byte = 8 / bits;
  const uint8_t mask = static_cast<uint8_t>((1u << bits) - 1), sign = static_cast<uint8_t>(1u << (bits - 1));
  for (size_t i = 0; i < count; ++i) {
    const uint8_t code = (static_cast<const uint8_t*>(packed)[i / per_byte] >> (i % per_byte * bits)) & mask;
    static_cast<uint8_t*>(out)[i] = is_signed(dtype) ? static_cast<uint8_t>((code ^ sign) - sign) : code;
  }
}

void pack_bits(DType dtype, const void* elements, size_t count, void* packed) noexcept {
  const size_t bits = bits_of(dtype), per_byte = 8 / bits;
  const uint8_t mask = static_cast<uint8_t>((1u << bits) - 1);
  std::memset(packed, 0, (count + per_byte - 1) / per_byte);
  for (size_t i = 0; i < count; ++i)
    static_cast<uint8_t*>(packed)[i / per_byte] |=
        static_cast<uint8_t>((static_cast<const uint8_t*>(elements)[i] & mask) << (i % per_byte * bits));
}

}  // namespace minnow
