// SPDX-License-Identifier: Apache-2.0
// Values of the translator: constants, C's conversions, arithmetic, and elements of arrays and buffers.
#include <bit>

#include "backends/gpu/shaders/pairs.h"
#include "backends/gpu/shaders/translator.h"
#include "base/error.h"

namespace minnow::gpu {
namespace {

float real_of(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
uint64_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

// As the type holds it, and widened to 64 bits again.
uint64_t wrapped(Scalar type, uint64_t bits) {
  switch (type) {
    case Scalar::boolean:
      return bits != 0;
    case Scalar::i8:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(bits)));
    case Scalar::u8:
      return static_cast<uint8_t>(bits);
    case Scalar::i16:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(bits)));
    case Scalar::u16:
      return static_cast<uint16_t>(bits);
    case Scalar::i32:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
    case Scalar::u32:
    case Scalar::f32:
      return static_cast<uint32_t>(bits);
    default:
      return bits;
  }
}

uint64_t folded(Op op, bool is_signed, uint64_t a, uint64_t b, uint32_t line) {
  const int64_t x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  const auto compared = [&](auto u, auto v) -> bool {
    return op == Op::less ? u < v : op == Op::less_equal ? u <= v : op == Op::greater ? u > v : u >= v;
  };
  switch (op) {
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
    case Op::remainder:
      if (b == 0) throw InternalError("line {} of a kernel: a constant is divided by 0", line);
      if (!is_signed) return op == Op::divide ? a / b : a % b;
      if (y == -1) return op == Op::divide ? 0 - a : 0;
      return static_cast<uint64_t>(op == Op::divide ? x / y : x % y);
    case Op::shift_left:
      return a << (b & 63);
    case Op::shift_right:
      return is_signed ? static_cast<uint64_t>(x >> (b & 63)) : a >> (b & 63);
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::equal:
      return a == b;
    case Op::not_equal:
      return a != b;
    default:
      return is_signed ? compared(x, y) : compared(a, b);
  }
}

uint64_t folded_real(Op op, float a, float b) {
  switch (op) {
    case Op::add:
      return bits_of(a + b);
    case Op::subtract:
      return bits_of(a - b);
    case Op::multiply:
      return bits_of(a * b);
    case Op::divide:
      return bits_of(a / b);
    case Op::equal:
      return a == b;
    case Op::not_equal:
      return a != b;
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::greater:
      return a > b;
    default:
      return a >= b;
  }
}

// Whether all values of a small type are values of the other.
bool holds(Scalar to, Scalar from) {
  if (from == to || from == Scalar::boolean) return true;
  if (bytes_of(from) < bytes_of(to)) return is_signed(to) || !is_signed(from);
  return false;
}

}  // namespace

Form Translator::form_of(Scalar type) const {
  if (type == Scalar::f32) return Form::real;
  if (type == Scalar::boolean) return Form::boolean;
  if (is_long(type)) return abilities_.has_i64 ? Form::wide : Form::pair;
  return Form::word;
}

Translator::Value Translator::known(Scalar type, uint64_t bits) const { return {type, 0, wrapped(type, bits)}; }

Translator::Id Translator::id_of(const Value& v) {
  if (!v.is_known()) return v.id;
  if (v.type == Scalar::none) fail(0, "a value is needed where there is none");
  const Form form = form_of(v.type);
  if (form == Form::pair)
    return target_.make_pair(target_.constant(Form::word, v.bits & 0xffffffff), target_.constant(Form::word, v.bits >> 32));
  return target_.constant(form, form == Form::word ? v.bits & 0xffffffff : v.bits);
}

// A word cut down to a small integer.
Translator::Value Translator::narrow(Value v, Scalar to) {
  if (bytes_of(to) == 4 || holds(to, v.type)) return {to, v.id};
  if (!is_signed(to))
    return {to, target_.binary(Op::bit_and, Form::word, false, v.id, target_.constant(Form::word, to == Scalar::u8 ? 0xff : 0xffff))};
  const Id by = target_.constant(Form::word, to == Scalar::i8 ? 24 : 16);
  return {to, target_.binary(Op::shift_right, Form::word, true, target_.binary(Op::shift_left, Form::word, false, v.id, by), by)};
}

Translator::Value Translator::convert(Value v, Scalar to) {
  const Scalar from = v.type;
  if (from == to) return v;
  if (from == Scalar::none || to == Scalar::none) fail(0, "a value is needed where there is none");
  if (v.is_known()) {
    if (from == Scalar::f32) {
      const float x = real_of(v.bits);
      if (to == Scalar::boolean) return known(to, x != 0);
      // Out of range, the result is any.
      if (!(x > -9.2233715e18f && x < 9.2233715e18f))
        return known(to, x > 0 && to == Scalar::u64 ? static_cast<uint64_t>(std::min(x, 1.8446742e19f)) : 0);
      return known(to, static_cast<uint64_t>(static_cast<int64_t>(x)));
    }
    if (to == Scalar::f32)
      return known(to, bits_of(from == Scalar::u64 ? static_cast<float>(v.bits) : static_cast<float>(static_cast<int64_t>(v.bits))));
    return known(to, v.bits);
  }
  if (to == Scalar::boolean) return arithmetic(Op::not_equal, v, known(promoted(from), 0), 0);
  if (from == Scalar::boolean) return select(v, convert(known(Scalar::i32, 1), to), known(to, 0));
  const Scalar word = is_signed(from) ? Scalar::i32 : Scalar::u32;  // as the target sees a value of up to 32 bits
  const bool has_pairs = !abilities_.has_i64;
  if (to == Scalar::f32) {
    if (is_long(from)) return {to, has_pairs ? real_of_pair(target_, v.id, is_signed(from)) : target_.convert(from, to, v.id)};
    return {to, target_.convert(word, to, v.id)};
  }
  if (from == Scalar::f32) {
    if (is_long(to)) return {to, has_pairs ? pair_of_real(target_, v.id, is_signed(to)) : target_.convert(from, to, v.id)};
    const Scalar whole = to == Scalar::u32 ? Scalar::u32 : Scalar::i32;
    return narrow({whole, target_.convert(from, whole, v.id)}, to);
  }
  if (is_long(from)) {
    if (is_long(to)) return {to, v.id};
    return narrow({Scalar::u32, has_pairs ? target_.part(v.id, 0) : target_.convert(from, Scalar::u32, v.id)}, to);
  }
  if (is_long(to)) {
    if (!has_pairs) return {to, target_.convert(word, to, v.id)};
    const Id zero = target_.constant(Form::word, 0);
    return {to,
            target_.make_pair(
                v.id, is_signed(from) ? target_.binary(Op::shift_right, Form::word, true, v.id, target_.constant(Form::word, 31)) : zero)};
  }
  return narrow(v, to);
}

Translator::Value Translator::unary(Op op, Value a) {
  if (op == Op::logical_not) {
    a = convert(a, Scalar::boolean);
    return a.is_known() ? known(Scalar::boolean, !a.bits) : Value{Scalar::boolean, target_.unary(op, Form::boolean, a.id)};
  }
  a = convert(a, promoted(a.type));
  if (a.type == Scalar::f32) {
    if (op != Op::negate) fail(0, "bits of a float are wanted");
    if (a.is_known()) return known(a.type, a.bits ^ 0x80000000u);
    return {a.type, target_.unary(op, Form::real, a.id)};
  }
  if (a.is_known()) return known(a.type, op == Op::negate ? 0 - a.bits : ~a.bits);
  if (form_of(a.type) == Form::pair)
    return {a.type, pair_binary(target_, op == Op::negate ? Op::subtract : Op::bit_xor, true,
                                id_of(known(a.type, op == Op::negate ? 0 : ~uint64_t{0})), a.id)};
  return {a.type, target_.unary(op, form_of(a.type), a.id)};
}

Translator::Value Translator::arithmetic(Op op, Value a, Value b, uint32_t line) {
  const bool shifts = op == Op::shift_left || op == Op::shift_right;
  const Scalar type = shifts ? promoted(a.type) : joined(a.type, b.type), result = compares(op) ? Scalar::boolean : type;
  a = convert(a, type);
  b = convert(b, shifts ? Scalar::i32 : type);
  const bool is_real = type == Scalar::f32, is_signed_one = is_signed(type);
  if (is_real && (shifts || op == Op::remainder || op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor))
    fail(line, "an operation on floats is one for integers");
  if (a.is_known() && b.is_known())
    return known(result, is_real ? folded_real(op, real_of(a.bits), real_of(b.bits)) : folded(op, is_signed_one, a.bits, b.bits, line));
  if (!is_real) {
    const bool b_zero = b.is_known() && b.bits == 0, b_one = b.is_known() && b.bits == 1;
    if (b_zero && (op == Op::add || op == Op::subtract || op == Op::bit_or || shifts)) return a;
    if (b_one && (op == Op::multiply || op == Op::divide)) return a;
    if (a.is_known() && ((a.bits == 0 && op == Op::add) || (a.bits == 1 && op == Op::multiply))) return b;
    if ((b_one && op == Op::remainder) || (b_zero && op == Op::multiply)) return known(type, 0);
  }
  const Form form = form_of(type);
  if (form == Form::pair) {
    if (op != Op::divide && op != Op::remainder) return {result, pair_binary(target_, op, is_signed_one, id_of(a), id_of(b))};
    const Given given[] = {{a, {}}, {b, {}}};
    const Value quotient = call_with(is_signed_one ? "__divide_i64" : "__divide_u64", given, line);
    if (op == Op::divide) return quotient;
    return arithmetic(Op::subtract, a, arithmetic(Op::multiply, quotient, b, line), line);
  }
  // The sign of a remainder is the dividend's; SPIR-V's and GLSL's operations leave it open.
  if (op == Op::remainder && is_signed_one) {
    const Value quotient = arithmetic(Op::divide, a, b, line);
    return arithmetic(Op::subtract, a, arithmetic(Op::multiply, quotient, b, line), line);
  }
  return {result, target_.binary(op, form, is_signed_one, id_of(a), id_of(b))};
}

Translator::Value Translator::select(const Value& condition, const Value& yes, const Value& no) {
  if (condition.is_known()) return condition.bits ? yes : no;
  if (yes.is_known() && no.is_known() && yes.bits == no.bits) return yes;
  if (form_of(yes.type) != Form::pair) return {yes.type, target_.select(form_of(yes.type), condition.id, id_of(yes), id_of(no))};
  const Id a = id_of(yes), b = id_of(no);
  Id parts[2];
  for (uint32_t k = 0; k < 2; ++k) parts[k] = target_.select(Form::word, condition.id, target_.part(a, k), target_.part(b, k));
  return {yes.type, target_.make_pair(parts[0], parts[1])};
}

Translator::Value Translator::is_nan(const Value& v) {
  if (v.is_known()) return known(Scalar::boolean, (v.bits & 0x7fffffff) > 0x7f800000);
  const Id magnitude =
      target_.binary(Op::bit_and, Form::word, false, target_.reinterpret(Form::word, v.id), target_.constant(Form::word, 0x7fffffff));
  return {Scalar::boolean, target_.binary(Op::greater, Form::word, false, magnitude, target_.constant(Form::word, 0x7f800000))};
}

Translator::Value Translator::is_infinite(const Value& v) {
  if (v.is_known()) return known(Scalar::boolean, (v.bits & 0x7fffffff) == 0x7f800000);
  const Id magnitude =
      target_.binary(Op::bit_and, Form::word, false, target_.reinterpret(Form::word, v.id), target_.constant(Form::word, 0x7fffffff));
  return {Scalar::boolean, target_.binary(Op::equal, Form::word, false, magnitude, target_.constant(Form::word, 0x7f800000))};
}

// The index of a place's element within the bound buffer.
Translator::Id Translator::buffer_index(const Place& place) {
  const Variable& variable = *place.variable;
  const Id first = in_kernel_ ? variable.first : target_.interface_word(variable.word);
  if (place.index.is_known() && place.index.bits == 0) return first;
  return target_.binary(Op::add, Form::word, false, first, id_of(place.index));
}

Translator::Value Translator::load(const Place& place) {
  const Variable& variable = *place.variable;
  const Scalar type = place.type;
  if (place.depth < std::max<size_t>(variable.dims.size(), variable.is_buffer)) fail(0, "an array stands where a number is needed");
  if (!variable.is_buffer) {
    const Id id = target_.load(variable.id, variable.dims.empty() ? 0 : id_of(place.index));
    if (type == variable.type || form_of(type) == form_of(variable.type)) return {type, id};
    return {type, target_.reinterpret(form_of(type), id)};
  }
  Id index = buffer_index(place);
  const auto word = [&](uint64_t bits) { return target_.constant(Form::word, bits); };
  const auto on_words = [&](Op op, Id a, Id b) { return target_.binary(op, Form::word, false, a, b); };
  if (bytes_of(type) == 4) {
    const Id id = target_.load_buffer(variable.buffer, index);
    return {type, type == Scalar::f32 ? target_.reinterpret(Form::real, id) : id};
  }
  if (bytes_of(type) == 8) {
    if (!variable.is_emulated) return {type, target_.load_buffer(variable.buffer, index)};
    index = on_words(Op::shift_left, index, word(1));
    const Id low = target_.load_buffer(variable.buffer, index);
    return {type, target_.make_pair(low, target_.load_buffer(variable.buffer, on_words(Op::add, index, word(1))))};
  }
  const bool is_byte = bytes_of(type) == 1;
  Value loaded{is_byte ? Scalar::u8 : Scalar::u16};
  if (!variable.is_emulated) {
    loaded.id = target_.load_buffer(variable.buffer, index);
  } else {
    const Id in_word = on_words(Op::bit_and, index, word(is_byte ? 3 : 1));
    const Id whole = target_.load_buffer(variable.buffer, on_words(Op::shift_right, index, word(is_byte ? 2 : 1)));
    const Id shifted = on_words(Op::shift_right, whole, on_words(Op::shift_left, in_word, word(is_byte ? 3 : 4)));
    loaded.id = on_words(Op::bit_and, shifted, word(is_byte ? 0xff : 0xffff));
  }
  return narrow(loaded, type);
}

void Translator::store(const Place& place, Value v) {
  const Variable& variable = *place.variable;
  const Scalar type = place.type;
  if (place.depth < std::max<size_t>(variable.dims.size(), variable.is_buffer)) fail(0, "an array stands where a number is needed");
  v = convert(v, type);
  if (!variable.is_buffer) {
    const Id index = variable.dims.empty() ? 0 : id_of(place.index);
    const Id id = id_of(v);
    return target_.store(variable.id, index,
                         form_of(type) == form_of(variable.type) ? id : target_.reinterpret(form_of(variable.type), id));
  }
  Id index = buffer_index(place);
  const auto word = [&](uint64_t bits) { return target_.constant(Form::word, bits); };
  const auto on_words = [&](Op op, Id a, Id b) { return target_.binary(op, Form::word, false, a, b); };
  if (type == Scalar::f32) v = v.is_known() ? known(Scalar::u32, v.bits) : Value{Scalar::u32, target_.reinterpret(Form::word, v.id)};
  const Id id = id_of(v);
  if (bytes_of(type) == 4 || !variable.is_emulated) return target_.store_buffer(variable.buffer, index, id);
  if (bytes_of(type) == 8) {
    index = on_words(Op::shift_left, index, word(1));
    target_.store_buffer(variable.buffer, index, target_.part(id, 0));
    return target_.store_buffer(variable.buffer, on_words(Op::add, index, word(1)), target_.part(id, 1));
  }
  // Other items may write the word's other elements at the same time.
  const bool is_byte = bytes_of(type) == 1;
  const Id mask = word(is_byte ? 0xff : 0xffff);
  const Id shift = on_words(Op::shift_left, on_words(Op::bit_and, index, word(is_byte ? 3 : 1)), word(is_byte ? 3 : 4));
  const Id at = on_words(Op::shift_right, index, word(is_byte ? 2 : 1));
  target_.atomic(Target::Atomic::bit_and, variable.buffer, at,
                 target_.unary(Op::bit_not, Form::word, on_words(Op::shift_left, mask, shift)));
  target_.atomic(Target::Atomic::bit_or, variable.buffer, at, on_words(Op::shift_left, on_words(Op::bit_and, id, mask), shift));
}

}  // namespace minnow::gpu
