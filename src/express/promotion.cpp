// SPDX-License-Identifier: Apache-2.0
// NumPy 2's type promotion (NEP 50): plain numbers are weak; they take the dtype of the tensor beside them if their kind allows it.
#include <minnow/express.h>

#include <algorithm>

#include "base/error.h"

namespace minnow {
namespace {

enum class Family : uint8_t { boolean, integer_unsigned, integer_signed, real };
struct Class {
  Family family;
  int bits;
};

Class class_of(DType dtype) {
  if (dtype == DType::boolean) return {Family::boolean, 8};
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const bool whole_bytes = bits == static_cast<int>(bits_of(dtype));
  if (whole_bytes && is_unsigned(dtype)) return {Family::integer_unsigned, bits};
  if (whole_bytes && is_signed(dtype)) return {Family::integer_signed, bits};
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return {Family::real, bits};
    default:
      throw InvalidArgument("arithmetic takes bool, integers, f16, bf16, f32 and f64, not {}; use astype()", dtype);
  }
}

DType signed_of(int bits) { return bits <= 8 ? DType::i8 : bits <= 16 ? DType::i16 : bits <= 32 ? DType::i32 : DType::i64; }

}  // namespace

DType promote(DType a, DType b) {
  const Class x = class_of(a), y = class_of(b);
  if (a == b || y.family == Family::boolean) return a;
  if (x.family == Family::boolean) return b;
  if (x.family == Family::real && y.family == Family::real) return x.bits == y.bits ? DType::f32 : x.bits > y.bits ? a : b;
  if (x.family == Family::real || y.family == Family::real) {
    const bool real_first = x.family == Family::real;
    const int bits = real_first ? x.bits : y.bits, whole = real_first ? y.bits : x.bits;
    // The floating type must hold the integers: up to 8 bits fit 16, 16 fit 32, more need 64.
    const int needed = whole <= 8 ? 16 : whole <= 16 ? 32 : 64;
    if (bits >= needed) return real_first ? a : b;
    return needed == 32 ? DType::f32 : DType::f64;
  }
  if (x.family == y.family) return x.bits >= y.bits ? a : b;
  const bool first_signed = x.family == Family::integer_signed;
  const Class s = first_signed ? x : y, u = first_signed ? y : x;
  if (s.bits > u.bits) return first_signed ? a : b;
  return u.bits == 64 ? DType::f64 : signed_of(2 * u.bits);
}

DType promote(DType a, Scalar b) {
  const Class x = class_of(a);
  switch (b.kind()) {
    case Scalar::Kind::boolean:
      return a;
    case Scalar::Kind::integer:
      return x.family == Family::boolean ? DType::i64 : a;
    case Scalar::Kind::real:
      return x.family == Family::real ? a : DType::f64;
  }
  return a;
}

}  // namespace minnow
