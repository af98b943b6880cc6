// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/pairs.h"

namespace minnow::gpu {
namespace {

using Id = Target::Id;

// Expressions of words.
struct Words {
  Target& target;
  Id word(uint32_t bits) { return target.constant(Form::word, bits); }
  Id op(Op op, Id a, Id b, bool is_signed = false) { return target.binary(op, Form::word, is_signed, a, b); }
  Id both(Op op, Id a, Id b) { return target.binary(op, Form::boolean, false, a, b); }
  Id as_word(Id condition) { return target.select(Form::word, condition, word(1), word(0)); }
  Id low(Id pair) { return target.part(pair, 0); }
  Id high(Id pair) { return target.part(pair, 1); }
  Id select_pair(Id condition, Id a, Id b) {
    return target.make_pair(target.select(Form::word, condition, low(a), low(b)), target.select(Form::word, condition, high(a), high(b)));
  }
  Id negated(Id pair) { return pair_binary(target, Op::subtract, true, target.make_pair(word(0), word(0)), pair); }
  // The high word of a product of words, from products of halves.
  Id high_product(Id a, Id b) {
    const Id half = word(16), mask = word(0xffff);
    const Id al = op(Op::bit_and, a, mask), ah = op(Op::shift_right, a, half), bl = op(Op::bit_and, b, mask),
             bh = op(Op::shift_right, b, half);
    const Id middle = op(Op::add, op(Op::multiply, ah, bl), op(Op::shift_right, op(Op::multiply, al, bl), half));
    const Id other = op(Op::add, op(Op::multiply, al, bh), op(Op::bit_and, middle, mask));
    return op(Op::add, op(Op::add, op(Op::multiply, ah, bh), op(Op::shift_right, middle, half)), op(Op::shift_right, other, half));
  }
};

Id less(Words w, bool is_signed, Id a, Id b) {
  const Id of_high = w.op(Op::less, w.high(a), w.high(b), is_signed), same = w.op(Op::equal, w.high(a), w.high(b));
  return w.both(Op::logical_or, of_high, w.both(Op::logical_and, same, w.op(Op::less, w.low(a), w.low(b))));
}

Id shifted(Words w, Op op, bool is_signed, Id a, Id by) {
  const Id in_word = w.op(Op::bit_and, by, w.word(31)), rest = w.op(Op::subtract, w.word(31), in_word);
  const Id is_far = w.op(Op::greater_equal, by, w.word(32));
  const bool left = op == Op::shift_left;
  const Id from = left ? w.low(a) : w.high(a), to = left ? w.high(a) : w.low(a);  // bits go from one word to the other
  const Id near_from = w.op(op, from, in_word, is_signed);
  const Op back = left ? Op::shift_right : Op::shift_left;
  const Id near_to = w.op(Op::bit_or, w.op(op, to, in_word), w.op(back, w.op(back, from, w.word(1)), rest));
  const Id filled = !left && is_signed ? w.op(Op::shift_right, from, w.word(31), true) : w.word(0);
  const Id new_from = w.target.select(Form::word, is_far, filled, near_from),
           new_to = w.target.select(Form::word, is_far, near_from, near_to);
  return left ? w.target.make_pair(new_from, new_to) : w.target.make_pair(new_to, new_from);
}

}  // namespace

Id pair_binary(Target& target, Op op, bool is_signed, Id a, Id b) {
  Words w{target};
  const auto negated = [&](Id condition) { return target.unary(Op::logical_not, Form::boolean, condition); };
  switch (op) {
    case Op::add: {
      const Id low = w.op(Op::add, w.low(a), w.low(b)), carry = w.as_word(w.op(Op::less, low, w.low(a)));
      return target.make_pair(low, w.op(Op::add, w.op(Op::add, w.high(a), w.high(b)), carry));
    }
    case Op::subtract: {
      const Id borrow = w.as_word(w.op(Op::less, w.low(a), w.low(b)));
      return target.make_pair(w.op(Op::subtract, w.low(a), w.low(b)), w.op(Op::subtract, w.op(Op::subtract, w.high(a), w.high(b)), borrow));
    }
    case Op::multiply: {
      const Id crossed = w.op(Op::add, w.op(Op::multiply, w.low(a), w.high(b)), w.op(Op::multiply, w.high(a), w.low(b)));
      return target.make_pair(w.op(Op::multiply, w.low(a), w.low(b)), w.op(Op::add, w.high_product(w.low(a), w.low(b)), crossed));
    }
    case Op::equal:
      return w.both(Op::logical_and, w.op(Op::equal, w.low(a), w.low(b)), w.op(Op::equal, w.high(a), w.high(b)));
    case Op::not_equal:
      return w.both(Op::logical_or, w.op(Op::not_equal, w.low(a), w.low(b)), w.op(Op::not_equal, w.high(a), w.high(b)));
    case Op::less:
      return less(w, is_signed, a, b);
    case Op::greater:
      return less(w, is_signed, b, a);
    case Op::less_equal:
      return negated(less(w, is_signed, b, a));
    case Op::greater_equal:
      return negated(less(w, is_signed, a, b));
    case Op::shift_left:
    case Op::shift_right:
      return shifted(w, op, is_signed, a, b);
    default:  // bits
      return target.make_pair(w.op(op, w.low(a), w.low(b)), w.op(op, w.high(a), w.high(b)));
  }
}

Id real_of_pair(Target& target, Id pair, bool is_signed) {
  Words w{target};
  const Id is_negative = w.op(Op::less, w.high(pair), w.word(0), true);
  const Id magnitude = is_signed ? w.select_pair(is_negative, w.negated(pair), pair) : pair;
  const auto real = [&](Id word) { return target.convert(Scalar::u32, Scalar::f32, word); };
  const Id high = target.binary(Op::multiply, Form::real, true, real(w.high(magnitude)), target.constant(Form::real, 0x4f800000));  // 2^32
  const Id sum = target.binary(Op::add, Form::real, true, high, real(w.low(magnitude)));
  return is_signed ? target.select(Form::real, is_negative, target.unary(Op::negate, Form::real, sum), sum) : sum;
}

Id pair_of_real(Target& target, Id real, bool is_signed) {
  Words w{target};
  const auto product = [&](Id a, uint32_t bits) {
    return target.binary(Op::multiply, Form::real, true, a, target.constant(Form::real, bits));
  };
  const Id operand[] = {real};
  const Id magnitude = target.call(Builtin::absolute, operand);
  const Id high = target.convert(Scalar::f32, Scalar::u32, product(magnitude, 0x2f800000));  // 2^-32
  const Id above = product(target.convert(Scalar::u32, Scalar::f32, high), 0x4f800000);
  const Id low = target.convert(Scalar::f32, Scalar::u32, target.binary(Op::subtract, Form::real, true, magnitude, above));
  const Id pair = target.make_pair(low, high);
  if (!is_signed) return pair;
  const Id is_negative = target.binary(Op::less, Form::real, true, real, target.constant(Form::real, 0));
  return w.select_pair(is_negative, w.negated(pair), pair);
}

}  // namespace minnow::gpu
