// SPDX-License-Identifier: Apache-2.0
// The operators of C++ on Vars.
#include "base/no_memory.h"
#include "base/numeric.h"
#include "express/node.h"

namespace minnow {

namespace express {
namespace {

LazyValue number_value(Scalar number, DType dtype, const char* whose = ", the dtype of the tensor beside it") {
  if (dtype == DType::complex64 || dtype == DType::complex128)
    throw InvalidArgument("a number cannot become {}; give a tensor of that dtype", dtype);
  Tensor tensor(dtype, Shape{});
  void* element = tensor.writable().data();
  if (number.kind() == Scalar::Kind::real || is_float(dtype)) {
    const double value = number.real();
    narrow(dtype, &value, 1, element);
  } else {
    const int64_t value = number.integer();
    if (number.is_large() && dtype != DType::u64)
      throw InvalidArgument("the integer {} does not fit {}{}", static_cast<uint64_t>(value), dtype, whose);
    if (!number.is_large() && is_integer(dtype) && (value < lowest_of(dtype) || value > highest_of(dtype)))
      throw InvalidArgument("the integer {} does not fit {}{}", value, dtype, whose);
    narrow(dtype, &value, 1, element);
  }
  return constant_value(std::move(tensor));
}

// The two sides of an operation, of one dtype.
struct Sides {
  LazyValue a, b;
  DType dtype;
};

Sides sides(Var&& a, Var&& b) {
  LazyValue x = required_value(std::move(a)), y = required_value(std::move(b));
  const DType p = output_of(x).dtype, q = output_of(y).dtype;
  if (p == q) {
    promote(p, q);  // refuses operands without arithmetic
    return {std::move(x), std::move(y), p};
  }
  const DType dtype = promote(p, q);
  return {cast(x, dtype), cast(y, dtype), dtype};
}
Sides sides(Var&& a, Scalar b) {
  const LazyValue x = required_value(std::move(a));
  const DType dtype = promote(output_of(x).dtype, b);
  return {cast(x, dtype), number_value(b, dtype), dtype};
}
Sides sides(Scalar a, Var&& b) {
  Sides swapped = sides(std::move(b), a);
  std::swap(swapped.a, swapped.b);
  return swapped;
}

// How one operation is done: on numbers, and on bool (null: not at all).
struct Operation {
  const Operator* numbers;
  const Operator* booleans;
  const char* symbol;
};

Operation operation(const char* symbol, std::string_view numbers, std::string_view booleans) {
  return {&find_operator(numbers), booleans.empty() ? nullptr : &find_operator(booleans), symbol};
}

LazyValue apply(const Operation& operation, const Sides& s) {
  const Operator* op = s.dtype == DType::boolean ? operation.booleans : operation.numbers;
  if (!op) throw InvalidArgument("bool {} bool has no meaning; use ^ or astype()", operation.symbol);
  return call(*op, {s.a, s.b});
}

LazyValue divide(Sides s) {
  static const Operator& op = find_operator("Div");
  if (!is_float(s.dtype)) s = {cast(s.a, DType::f64), cast(s.b, DType::f64), DType::f64};
  return call(op, {s.a, s.b});
}

// The remainder that has the divisor's sign, a remainder of zero too.
LazyValue remainder(Sides s) {
  static const Operator& op = find_operator("Mod");
  if (s.dtype == DType::boolean) s = {cast(s.a, DType::i8), cast(s.b, DType::i8), DType::i8};
  return call(op, {s.a, s.b});
}

LazyValue bitwise(const Operation& operation, const Sides& s) {
  if (is_float(s.dtype)) throw InvalidArgument("{} takes integers and bool, not {}", operation.symbol, s.dtype);
  return apply(operation, s);
}

LazyValue compare(const Operator& op, const Sides& s) {
  // Bool is ordered as 0 and 1.
  if (s.dtype == DType::boolean && op.name != "Equal") return call(op, {cast(s.a, DType::u8), cast(s.b, DType::u8)});
  return call(op, {s.a, s.b});
}

LazyValue equal(const Sides& s) {
  static const Operator& op = find_operator("Equal");
  return compare(op, s);
}

}  // namespace
}  // namespace express

using namespace express;

#define MINNOW_DEFINE_BINARY(symbol, apply)                                                                        \
  Var operator symbol(Var a, Var b) try { return var_of(apply(sides(std::move(a), std::move(b)))); } catch (...) { \
    throw_as_error();                                                                                              \
  }                                                                                                                \
  Var operator symbol(Var a, Scalar b) try { return var_of(apply(sides(std::move(a), b))); } catch (...) {         \
    throw_as_error();                                                                                              \
  }                                                                                                                \
  Var operator symbol(Scalar a, Var b) try { return var_of(apply(sides(a, std::move(b)))); } catch (...) {         \
    throw_as_error();                                                                                              \
  }
#define MINNOW_TABLE(name, how, ...)                            \
  static LazyValue name(const Sides& s) {                       \
    static const Operation kOperation = operation(__VA_ARGS__); \
    return how(kOperation, s);                                  \
  }
#define MINNOW_COMPARISON(name, op_name)                \
  static LazyValue name(const Sides& s) {               \
    static const Operator& op = find_operator(op_name); \
    return compare(op, s);                              \
  }
MINNOW_TABLE(add, apply, "+", "Add", "Or")
MINNOW_TABLE(subtract, apply, "-", "Sub", "")
MINNOW_TABLE(multiply, apply, "*", "Mul", "And")
MINNOW_TABLE(bit_and, bitwise, "&", "BitwiseAnd", "And")
MINNOW_TABLE(bit_or, bitwise, "|", "BitwiseOr", "Or")
MINNOW_TABLE(bit_xor, bitwise, "^", "BitwiseXor", "Xor")
MINNOW_COMPARISON(less, "Less")
MINNOW_COMPARISON(less_equal, "LessOrEqual")
MINNOW_COMPARISON(greater, "Greater")
MINNOW_COMPARISON(greater_equal, "GreaterOrEqual")
static LazyValue not_equal(const Sides& s) { return call("Not", {equal(s)}); }

MINNOW_DEFINE_BINARY(+, add)
MINNOW_DEFINE_BINARY(-, subtract)
MINNOW_DEFINE_BINARY(*, multiply)
MINNOW_DEFINE_BINARY(/, divide)
MINNOW_DEFINE_BINARY(%, remainder)
MINNOW_DEFINE_BINARY(&, bit_and)
MINNOW_DEFINE_BINARY(|, bit_or)
MINNOW_DEFINE_BINARY(^, bit_xor)
MINNOW_DEFINE_BINARY(==, equal)
MINNOW_DEFINE_BINARY(!=, not_equal)
MINNOW_DEFINE_BINARY(<, less)
MINNOW_DEFINE_BINARY(<=, less_equal)
MINNOW_DEFINE_BINARY(>, greater)
MINNOW_DEFINE_BINARY(>=, greater_equal)

Var operator-(Var x) try {
  const LazyValue value = required_value(std::move(x));
  const DType dtype = promote(output_of(value).dtype, output_of(value).dtype);
  if (dtype == DType::boolean) throw InvalidArgument("-x of bool has no meaning; use ~");
  // Neg knows signed numbers only; unsigned ones wrap around.
  return var_of(is_unsigned(dtype) ? call("Sub", {number_value(0, dtype), value}) : call("Neg", {value}));
} catch (...) {
  throw_as_error();
}

Var operator~(Var x) try {
  const LazyValue value = required_value(std::move(x));
  return var_of(call(output_of(value).dtype == DType::boolean ? "Not" : "BitwiseNot", {value}));
} catch (...) {
  throw_as_error();
}

static const Var& update(const Var& x, const Var& y) try {
  if (is_float(y.dtype()) && !is_float(x.dtype()))
    throw InvalidArgument("the result is {}, the variable that should take it {}; use x = x op y", y.dtype(), x.dtype());
  x.assign(y.astype(x.dtype()));
  return x;
} catch (...) {
  throw_as_error();
}
const Var& operator+=(const Var& x, const Var& y) { return update(x, x + y); }
const Var& operator-=(const Var& x, const Var& y) { return update(x, x - y); }
const Var& operator*=(const Var& x, const Var& y) { return update(x, x * y); }
const Var& operator/=(const Var& x, const Var& y) { return update(x, x / y); }

Var Var::scalar(Scalar value, DType dtype) try { return var_of(number_value(value, dtype, "")); } catch (...) {
  throw_as_error();
}

}  // namespace minnow
