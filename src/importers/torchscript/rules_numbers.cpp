// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparisons of numbers and tensors, conversions, and Python's lists, dictionaries and texts.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "importers/builder/arithmetic.h"
#include "importers/torchscript/pickle.h"
#include "importers/torchscript/rules.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

namespace {

Item number_of(const Call& call, Kind kind, const Expr& x) {
  static_cast<void>(call);
  return Item::symbol(kind, x);
}

/// A number that the graph computes, or knows, as a vector of one element.
Expr vector_of(Call& call, const Item& item, DType type) {
  if (!item.is_number()) call.refuse("a number is expected, {} stands there", describe(item));
  if (item.symbol()) return call.p.cast(call.p.wrap(item.symbol()), type);
  if (item.is(Kind::integer) && type == DType::i64) return call.p.constant({item.integer()});
  return call.p.reshape(call.p.scalar(item.real(), type), Ints{1});
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0); }
double floor_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t wrapped(uint64_t x) { return static_cast<int64_t>(x); }

std::optional<Item> known_result(const Call& call, std::string_view what, const Item& a, const Item& b) {
  const bool real = a.is(Kind::real) || b.is(Kind::real);
  const double x = a.real(), y = b.real();
  const int64_t i = a.integer(), j = b.integer();
  if (what == "Add") return real ? Item::real(x + y) : Item::integer(wrapped(static_cast<uint64_t>(i) + static_cast<uint64_t>(j)));
  if (what == "Sub") return real ? Item::real(x - y) : Item::integer(wrapped(static_cast<uint64_t>(i) - static_cast<uint64_t>(j)));
  if (what == "Mul") return real ? Item::real(x * y) : Item::integer(wrapped(static_cast<uint64_t>(i) * static_cast<uint64_t>(j)));
  if (what == "Equal") return Item::boolean(real ? x == y : i == j);
  if (what == "NotEqual") return Item::boolean(real ? x != y : i != j);
  if (what == "Less") return Item::boolean(real ? x < y : i < j);
  if (what == "LessOrEqual") return Item::boolean(real ? x <= y : i <= j);
  if (what == "Greater") return Item::boolean(real ? x > y : i > j);
  if (what == "GreaterOrEqual") return Item::boolean(real ? x >= y : i >= j);
  if (what == "Min") return real ? Item::real(std::min(x, y)) : Item::integer(std::min(i, j));
  if (what == "Max") return real ? Item::real(std::max(x, y)) : Item::integer(std::max(i, j));
  if (what == "And") return a.is(Kind::boolean) ? Item::boolean(a.truth() && b.truth()) : Item::integer(i & j);
  if (what == "Or") return a.is(Kind::boolean) ? Item::boolean(a.truth() || b.truth()) : Item::integer(i | j);
  if (what == "Xor") return a.is(Kind::boolean) ? Item::boolean(a.truth() != b.truth()) : Item::integer(i ^ j);
  if (what == "Pow") {
    if (real || j < 0) return Item::real(std::pow(x, y));
    uint64_t result = 1, base = static_cast<uint64_t>(i);
    for (uint64_t left = static_cast<uint64_t>(j); left; left >>= 1, base *= base)
      if (left & 1) result *= base;
    return Item::integer(wrapped(result));
  }
  if (what == "Div" || what == "FloorDiv" || what == "Mod") {
    if (real ? y == 0 : j == 0) call.fail("a number is divided by zero");
    if (what == "Div") return Item::real(x / y);
    if (!real && j == -1) return Item::integer(what == "Mod" ? 0 : wrapped(0 - static_cast<uint64_t>(i)));
    if (what == "FloorDiv") return real ? Item::real(std::floor(x / y)) : Item::integer(floor_div(i, j));
    return real ? Item::real(floor_mod(x, y)) : Item::integer(i - floor_div(i, j) * j);
  }
  return {};
}

bool is_comparison(std::string_view what) {
  return what == "Equal" || what == "NotEqual" || what.starts_with("Less") || what.starts_with("Greater");
}

/// The graph's operator on two expressions of one dtype.
Expr computed(Call& call, std::string_view what, const Expr& a, const Expr& b) {
  TypedBuilder& p = call.p;
  if (what == "NotEqual") return p.op("Not", {p.op("Equal", {a, b})});
  if (what == "FloorDiv") return floor_div(p, a, b);
  if (what == "Mod") return floor_mod(p, a, b);
  return p.op(what, {a, b});
}

Item number_result(Call& call, std::string_view what, const Item& a, const Item& b) {
  if (a.is_known() && b.is_known())
    if (const auto result = known_result(call, what, a, b)) return *result;
  const bool real = a.is(Kind::real) || b.is(Kind::real) || what == "Div";
  const bool logic = (what == "And" || what == "Or" || what == "Xor") && a.is(Kind::boolean);
  const DType type = real ? DType::f64 : logic ? DType::boolean : DType::i64;
  const std::string_view op = logic || (what != "And" && what != "Or" && what != "Xor") ? what
                              : what == "And"                                           ? "BitwiseAnd"
                              : what == "Or"                                            ? "BitwiseOr"
                                                                                        : "BitwiseXor";
  const Expr result = computed(call, op, vector_of(call, a, type), vector_of(call, b, type));
  return number_of(call, is_comparison(what) || logic ? Kind::boolean : real ? Kind::real : Kind::integer, result);
}

/// `call` counts the work, because a shared object is visited once per reference.
bool equal_items(Call& call, const Item& a, const Item& b, int depth = 0) {
  if (a.is_known() && b.is_known()) return a.is(Kind::real) || b.is(Kind::real) ? a.real() == b.real() : a.integer() == b.integer();
  if (a.kind() != b.kind()) return false;
  if (depth > 20) call.refuse("what is compared lies in lists or tuples more than 20 deep");
  switch (a.kind()) {
    case Kind::none:
      return true;
    case Kind::text:
    case Kind::class_name:
      return a.text() == b.text();
    case Kind::instance: {
      const Item *x = a.as_instance().find("value"), *y = b.as_instance().find("value");
      return a.object() == b.object() ||
             (a.as_instance().class_name == b.as_instance().class_name && x && y && equal_items(call, *x, *y, depth + 1));
    }
    case Kind::list:
    case Kind::tuple: {
      const Items &x = a.is(Kind::list) ? a.as_list().items : a.as_tuple().items,
                  &y = b.is(Kind::list) ? b.as_list().items : b.as_tuple().items;
      if (x.size() != y.size()) return false;
      call.host.spend(x.size() / 16 + 1);
      for (size_t i = 0; i < x.size(); ++i)
        if (!equal_items(call, x[i], y[i], depth + 1)) return false;
      return true;
    }
    default:
      return false;
  }
}

bool all_known(Call& call, const Item& item, int depth = 0) {
  if (!item.is(Kind::list) && !item.is(Kind::tuple)) return !item.symbol() && !item.is(Kind::tensor);
  if (item.is(Kind::list) && item.as_list().sequence) return false;
  if (depth > 20) call.refuse("what is compared lies in lists or tuples more than 20 deep");
  const Items& items = item.is(Kind::list) ? item.as_list().items : item.as_tuple().items;
  call.host.spend(items.size() / 16 + 1);
  return std::all_of(items.begin(), items.end(), [&](const Item& one) { return all_known(call, one, depth + 1); });
}

}  // namespace

// Arithmetic.

Item import_arithmetic(Call& call, TypedBuilder& p) {
  const Item &a = call["self"], &b = call["other"];
  const std::string_view what = call.rule.target;
  if (a.is_number() && b.is_number()) return number_result(call, what, a, b);
  if (a.is(Kind::text) && b.is(Kind::text) && what == "Add") return Item::text((a.text() + b.text()).substr(0, 10'000));
  if (a.is(Kind::list) && what == "Add" && b.is(Kind::list)) {
    if (a.as_list().sequence || b.as_list().sequence) call.refuse("lists whose length only a run tells are joined");
    Items items = a.as_list().items;
    items.insert(items.end(), b.as_list().items.begin(), b.as_list().items.end());
    call.host.spend(items.size());
    return Item::list(std::move(items));
  }
  if (what == "Mul" && (a.is(Kind::list) || b.is(Kind::list))) {
    const Item &list = a.is(Kind::list) ? a : b, &count = a.is(Kind::list) ? b : a;
    if (!count.is_known() || list.as_list().sequence) call.refuse("a list is repeated as data tell");
    Items items;
    for (int64_t i = 0; i < count.integer(); ++i) {
      call.host.spend(list.as_list().items.size() + 1);
      items.insert(items.end(), list.as_list().items.begin(), list.as_list().items.end());
    }
    return Item::list(std::move(items));
  }
  if (!a.is(Kind::tensor) && !b.is(Kind::tensor)) call.refuse("{} and {} are not supported", describe(a), describe(b));
  const bool scaled = call.signature.arguments.size() > 2 && call.signature.arguments[2].name == "alpha";
  auto [x, y] = promoted(call, a, b);
  if (scaled) {
    const Item& alpha = call["alpha"];
    if (!alpha.is_known() || alpha.real() != 1) y = p.op("Mul", {y, p.cast(call.tensor(alpha), p.dtype(y))});
  }
  if (p.dtype(x) == DType::boolean) {
    if (what == "Add" || what == "Max") return p.op("Or", {x, y});
    if (what == "Mul" || what == "Min") return p.op("And", {x, y});
    if (what == "Pow") return p.op("Or", {x, p.op("Not", {y})});
  }
  if (what == "Min" || what == "Max") {
    if (p.dtype(x) == DType::boolean) return p.op(what == "Min" ? "And" : "Or", {x, y});
  }
  return computed(call, what, x, y);
}
Item import_reversed_sub(Call& call, TypedBuilder& p) {
  auto [x, y] = promoted(call, call["self"], call["other"]);
  const Item& alpha = call["alpha"];
  if (!alpha.is_known() || alpha.real() != 1) x = p.op("Mul", {x, p.cast(call.tensor(alpha), p.dtype(x))});
  return p.op("Sub", {y, x});
}
Item import_divide(Call& call, TypedBuilder& p) {
  const Item &a = call["self"], &b = call["other"];
  std::string mode;
  if (call.signature.arguments.size() > 2 && call.has("rounding_mode")) mode = call.text("rounding_mode");
  if (a.is_number() && b.is_number()) return number_result(call, mode == "floor" ? "FloorDiv" : "Div", a, b);
  auto [x, y] = promoted(call, a, b);
  const bool integers = !is_floating(p.dtype(x));
  if (mode == "floor")
    return integers && p.dtype(x) != DType::boolean ? floor_div(p, x, y) : floor_div(p, real_of(call, x), real_of(call, y));
  if (mode == "trunc" || (mode.empty() && integers && call.host.version() < 4 && p.dtype(x) != DType::boolean)) {
    if (integers) return p.op("Div", {x, y});
    const Expr quotient = p.op("Div", {x, y});
    return p.op("Mul", {p.op("Sign", {quotient}), p.op("Floor", {p.op("Abs", {quotient})})});
  }
  return p.op("Div", {real_of(call, x), real_of(call, y)});
}
Item import_fmod(Call& call, TypedBuilder& p) {
  auto [x, y] = promoted(call, call["self"], call["other"]);
  return p.op("Mod", {x, y}, {{"fmod", int64_t{1}}});
}
Item import_power(Call& call, TypedBuilder& p) {
  const Item &a = call["self"], &b = call["exponent"];
  if (a.is_number() && b.is_number()) {
    if (a.is_known() && b.is_known()) return *known_result(call, "Pow", a, b);
    return Item::symbol(Kind::real, p.op("Pow", {vector_of(call, a, DType::f64), vector_of(call, b, DType::f64)}));
  }
  auto [x, y] = promoted(call, a, b);
  if (b.is_known() && b.real() == 2) return p.op("Mul", {x, x});
  if (b.is_known() && b.real() == 0.5 && is_floating(p.dtype(x))) return p.op("Sqrt", {x});
  return p.op("Pow", {x, y});
}
Item import_compare(Call& call, TypedBuilder& p) {
  const Item &a = call["self"], &b = call["other"];
  const std::string_view what = call.rule.target;
  if (a.is_number() && b.is_number()) return number_result(call, what, a, b);
  if (a.is(Kind::tensor) || b.is(Kind::tensor)) {
    if (a.is_none() || b.is_none()) return Item::boolean(what == "NotEqual");
    const auto [x, y] = promoted(call, a, b);
    if (p.dtype(x) == DType::boolean && !what.ends_with("Equal")) {
      const Expr i = p.cast(x, DType::i32), j = p.cast(y, DType::i32);
      return computed(call, what, i, j);
    }
    return computed(call, what, x, y);
  }
  if (what != "Equal" && what != "NotEqual") call.refuse("{} and {} are compared", describe(a), describe(b));
  if (all_known(call, a) && all_known(call, b)) return Item::boolean(equal_items(call, a, b) == (what == "Equal"));
  // Lists of numbers, some of which the graph computes.
  if (a.kind() == b.kind() && (a.is(Kind::list) || a.is(Kind::tuple)) &&
      !(a.is(Kind::list) && (a.as_list().sequence || b.as_list().sequence))) {
    const Items &x = a.is(Kind::list) ? a.as_list().items : a.as_tuple().items,
                &y = b.is(Kind::list) ? b.as_list().items : b.as_tuple().items;
    if (x.size() != y.size()) return Item::boolean(what == "NotEqual");
    std::optional<Expr> all;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!x[i].is_number() || !y[i].is_number()) call.refuse("{} and {} are compared", describe(a), describe(b));
      const Item same = number_result(call, "Equal", x[i], y[i]);
      if (same.is_known() && !same.truth()) return Item::boolean(what == "NotEqual");
      if (same.is_known()) continue;
      const Expr one = p.wrap(same.symbol());
      all = all ? p.op("And", {*all, one}) : one;
    }
    if (!all) return Item::boolean(what == "Equal");
    return Item::symbol(Kind::boolean, what == "Equal" ? *all : p.op("Not", {*all}));
  }
  return Item::boolean(what == "NotEqual");
}
Item import_not(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  if (x.is(Kind::tensor)) return p.op("Not", {p.cast(call.x("self"), DType::boolean)});
  if (x.is_known()) return Item::boolean(!x.truth());
  return Item::symbol(Kind::boolean, p.op("Not", {vector_of(call, x, DType::boolean)}));
}
Item import_bitwise(Call& call, TypedBuilder& p) {
  const Item &a = call["self"], &b = call["other"];
  const std::string_view what = call.rule.target;  // And, Or, Xor
  if (a.is_number() && b.is_number()) return number_result(call, what, a, b);
  const auto [x, y] = promoted(call, a, b);
  return p.op(p.dtype(x) == DType::boolean ? std::string(what) : "Bitwise" + std::string(what), {x, y});
}
Item import_bitwise_not(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op(p.dtype(x) == DType::boolean ? "Not" : "BitwiseNot", {x});
}
Item import_logical(Call& call, TypedBuilder& p) {
  const Expr x = p.cast(call.x("self"), DType::boolean), y = p.cast(call.x("other"), DType::boolean);
  return p.op(call.rule.target, {x, y});
}
Item import_shift(Call& call, TypedBuilder& p) {
  const Item &a = call["self"], &b = call["other"];
  const bool left = call.rule.target == "LEFT";
  if (a.is_known() && b.is_known()) {
    const int64_t by = std::clamp<int64_t>(b.integer(), 0, 63);
    return Item::integer(left ? wrapped(static_cast<uint64_t>(a.integer()) << by) : a.integer() >> by);
  }
  // Signed integers: products and quotients by powers of two.
  const auto [x, y] = promoted(call, a, b);
  const DType type = p.dtype(x);
  const Expr factor = p.cast(p.op("Pow", {p.scalar(2, DType::f64), p.cast(y, DType::f64)}), type);
  return left ? p.op("Mul", {x, factor}) : floor_div(p, x, factor);
}
Item import_negate(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  if (x.is(Kind::tensor)) return p.op("Neg", {call.x("self")});
  if (x.is_known()) return x.is(Kind::real) ? Item::real(-x.real()) : Item::integer(wrapped(0 - static_cast<uint64_t>(x.integer())));
  const DType type = x.is(Kind::real) ? DType::f64 : DType::i64;
  return Item::symbol(x.is(Kind::real) ? Kind::real : Kind::integer, p.op("Neg", {vector_of(call, x, type)}));
}
Item import_number_function(Call& call, TypedBuilder& p) {  // math.floor and others, on numbers
  const Item& x = call["self"];
  const std::string_view what = call.rule.target;
  if (x.is(Kind::tensor)) {
    if (what == "Abs" || !is_floating(p.dtype(call.x("self")))) {
      if (what == "Floor" || what == "Ceil" || what == "Round") return call["self"];
      return p.op(what, {what == "Abs" ? call.x("self") : real_of(call, call.x("self"))});
    }
    return p.op(what, {call.x("self")});
  }
  const bool whole = what == "Floor" || what == "Ceil";
  if (x.is_known()) {
    const double value = x.real();
    if (what == "Abs")
      return x.is(Kind::real) ? Item::real(std::abs(value))
                              : Item::integer(x.integer() < 0 ? wrapped(0 - static_cast<uint64_t>(x.integer())) : x.integer());
    if (whole) {
      const double result = what == "Floor" ? std::floor(value) : std::ceil(value);
      return Item::integer(static_cast<int64_t>(std::clamp(result, -9e18, 9e18)));
    }
    if (what == "Round") return Item::real(std::nearbyint(value));
    if (what == "Sqrt") return Item::real(std::sqrt(value));
    if (what == "Exp") return Item::real(std::exp(value));
    if (what == "Log") return Item::real(std::log(value));
    if (what == "Sin") return Item::real(std::sin(value));
    if (what == "Cos") return Item::real(std::cos(value));
  }
  if (what == "Abs" && x.is(Kind::integer)) return Item::symbol(Kind::integer, p.op("Abs", {vector_of(call, x, DType::i64)}));
  if (whole && !x.is(Kind::real)) return x;
  const Expr result = p.op(what, {vector_of(call, x, DType::f64)});
  return whole ? Item::symbol(Kind::integer, p.cast(result, DType::i64)) : Item::symbol(Kind::real, result);
}
Item import_number_min_max(Call& call, TypedBuilder&) {
  const Item& a = call["self"];
  const std::string_view what = call.rule.target;
  if (a.is(Kind::list) || a.is(Kind::tuple)) {
    const Items& items = call.items("self");
    if (items.empty()) call.fail("the smallest of an empty list is asked for");
    Item best = items[0];
    for (size_t i = 1; i < items.size(); ++i) best = number_result(call, what, best, items[i]);
    return best;
  }
  return number_result(call, what, a, call["other"]);
}

// Conversions.

Item import_int(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  if (x.is_known()) return Item::integer(x.integer());
  if (x.is(Kind::real)) call.host.expect_integers(p.wrap(x.symbol()));
  if (x.is_number()) return x.is(Kind::integer) ? x : Item::symbol(Kind::integer, vector_of(call, x, DType::i64));
  if (x.is(Kind::text)) call.refuse("a text is converted to a number");
  const Expr t = call.x("self");
  call.host.expect_integers(t);
  if (const auto known = p.ints(t); known && known->size() == 1) return Item::integer((*known)[0]);
  if (const auto number = p.number(t)) return Item::integer(static_cast<int64_t>(std::clamp(*number, -9.2e18, 9.2e18)));
  // Back to the vector of one element that the number was.
  const Node* maker = t.value()->producer();
  if (maker && maker->op() == "Reshape" && p.dim(p.wrap(maker->input(0)), 0) == 1 && p.rank(p.wrap(maker->input(0))) == 1)
    return Item::symbol(Kind::integer, p.i64(p.wrap(maker->input(0))));
  return Item::symbol(Kind::integer, p.reshape(p.i64(t), Ints{1}));
}
Item import_float(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  if (x.is_known()) return Item::real(x.real());
  if (x.is_number()) return Item::symbol(Kind::real, vector_of(call, x, DType::f64));
  if (x.is(Kind::text)) return Item::real(x.text() == "inf" ? INFINITY : x.text() == "-inf" ? -INFINITY : NAN);
  const Expr t = call.x("self");
  if (const auto number = p.number(t)) return Item::real(*number);
  return Item::symbol(Kind::real, p.reshape(p.cast(t, DType::f64), Ints{1}));
}
Item import_item(Call& call, TypedBuilder& p) {
  const Expr t = call.x("self");
  if (is_floating(p.dtype(t))) return import_float(call, p);
  if (p.dtype(t) == DType::boolean) {
    if (const auto number = p.number(t)) return Item::boolean(*number != 0);
    return Item::symbol(Kind::boolean, p.reshape(t, Ints{1}));
  }
  return import_int(call, p);
}
Item import_bool(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  if (x.is_known()) return Item::boolean(x.truth());
  if (x.is_number()) return Item::symbol(Kind::boolean, vector_of(call, x, DType::boolean));
  const Expr t = call.x("self");
  if (const auto number = p.number(t)) return Item::boolean(*number != 0);
  return Item::symbol(Kind::boolean, p.reshape(p.cast(t, DType::boolean), Ints{1}));
}
Item import_to_tensor(Call& call, TypedBuilder& p) { return p.cast(call.x("self"), p.dtype(call.x("self"))); }
Item import_tensor_literal(Call& call, TypedBuilder& p) {
  const Item& data = call["data"];
  if (data.is(Kind::tensor) || data.is_number()) {
    const Expr x = call.x("data");
    return p.cast(x, call.type("dtype", p.dtype(x)));
  }
  // Lists in each other, all of one length.
  Ints shape;
  Items flat = {data};
  while (!flat.empty() && (flat[0].is(Kind::list) || flat[0].is(Kind::tuple))) {
    Items inner;
    size_t length = SIZE_MAX;
    for (const Item& item : flat) {
      if (!item.is(Kind::list) && !item.is(Kind::tuple)) call.fail("its lists do not have one length");
      const Items& items = item.is(Kind::list) ? item.as_list().items : item.as_tuple().items;
      if (length != SIZE_MAX && length != items.size()) call.fail("its lists do not have one length");
      length = items.size();
      call.host.spend(length + 1);
      inner.insert(inner.end(), items.begin(), items.end());
    }
    shape.push_back(static_cast<int64_t>(length));
    flat = std::move(inner);
    if (shape.size() > 8) call.refuse("lists of more than 8 dimensions");
  }
  bool real = flat.empty(), truth = !flat.empty(), known = true;
  for (const Item& item : flat) {
    real = real || item.is(Kind::real) || (item.is(Kind::tensor) && is_floating(p.dtype(call.host.expr(item))));
    truth = truth && item.is(Kind::boolean);
    known = known && item.is_known();
  }
  const DType type = call.type("dtype", real ? DType::f32 : truth ? DType::boolean : DType::i64);
  if (known) {
    std::vector<double> values;
    Ints integers;
    for (const Item& item : flat) values.push_back(item.real()), integers.push_back(item.integer());
    if (real || is_floating(type)) return p.cast(p.reals(Shape(shape), values, is_floating(type) ? type : DType::f64), type);
    return p.cast(p.reshape(p.constant(integers), shape), type);
  }
  Exprs parts;
  for (const Item& item : flat) parts.push_back(p.reshape(p.cast(call.tensor(item), type), Ints{1}));
  return p.reshape(p.concat(parts, 0), shape);
}
Item import_to_list(Call& call, TypedBuilder& p) {
  const Expr t = call.x("self");
  if (call.rank(t) == 0) return import_item(call, p);
  if (call.rank(t) != 1) call.refuse("a tensor of {} dimensions becomes a list", call.rank(t));
  const int64_t size = p.dim(t, 0);
  if (size < 0) call.refuse("a tensor of unknown size becomes a list");
  Items items;
  for (int64_t i = 0; i < size; ++i) {
    call.host.spend(1);
    const Expr one = p.slice(t, {i}, {i + 1}, {0});
    items.push_back(Item::symbol(is_floating(p.dtype(t))        ? Kind::real
                                 : p.dtype(t) == DType::boolean ? Kind::boolean
                                                                : Kind::integer,
                                 is_floating(p.dtype(t))        ? p.cast(one, DType::f64)
                                 : p.dtype(t) == DType::boolean ? one
                                                                : p.i64(one)));
  }
  return Item::list(std::move(items));
}
Item import_dtype(Call& call, TypedBuilder& p) { return Item::integer(scalar_type_of(p.dtype(call.x("self")))); }
Item import_is_floating(Call& call, TypedBuilder& p) { return Item::boolean(is_floating(p.dtype(call.x("self")))); }
Item import_text_constant(Call& call, TypedBuilder&) { return Item::text(std::string(call.rule.target)); }
Item import_false(Call&, TypedBuilder&) { return Item::boolean(false); }
Item import_true(Call&, TypedBuilder&) { return Item::boolean(true); }
Item import_zero(Call&, TypedBuilder&) { return Item::integer(0); }
Item import_minus_one(Call&, TypedBuilder&) { return Item::integer(-1); }
Item import_is_quantized(Call& call, TypedBuilder&) { return Item::boolean(call["self"].as_tensor().quantization != nullptr); }
Item import_nothing(Call&, TypedBuilder&) { return {}; }

// Lists, dictionaries, texts.

Item import_length(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  switch (x.kind()) {
    case Kind::list:
      if (x.as_list().sequence)
        return Item::symbol(Kind::integer, p.reshape(p.op("SequenceLength", {p.wrap(x.as_list().sequence)}), Ints{1}));
      return Item::integer(static_cast<int64_t>(x.as_list().items.size()));
    case Kind::tuple:
      return Item::integer(static_cast<int64_t>(x.as_tuple().items.size()));
    case Kind::dict:
      return Item::integer(static_cast<int64_t>(x.as_dict().items.size()));
    case Kind::text:
      return Item::integer(static_cast<int64_t>(x.text().size()));
    case Kind::tensor:
      return Item::symbol(Kind::integer, p.shape_of(call.x("self"), 0, 1));
    default:
      call.refuse("the length of {} is asked for", describe(x));
  }
}
namespace {

size_t place_in(const Call& call, const Item& at, size_t size) {
  if (!at.is_known()) call.refuse("a place in a list depends on data");
  const int64_t place = at.integer() < 0 ? at.integer() + static_cast<int64_t>(size) : at.integer();
  if (place < 0 || place >= static_cast<int64_t>(size)) call.fail("place {} of a list of {} is read", at.integer(), size);
  return static_cast<size_t>(place);
}

/// The value of a dictionary's key; null if it has none.
Item* find_key(Call& call, DictObject& dict, const Item& key) {
  call.host.spend(dict.items.size() / 16 + 1);
  for (auto& [known, value] : dict.items)
    if (equal_items(call, known, key)) return &value;
  return nullptr;
}

}  // namespace
Item import_get(Call& call, TypedBuilder& p) {
  const Item &x = call["self"], &at = call["index"];
  switch (x.kind()) {
    case Kind::list: {
      if (x.as_list().sequence) return p.op("SequenceAt", {p.wrap(x.as_list().sequence), p.reshape(call.one(at), Ints{})});
      const Items& items = x.as_list().items;
      if (!at.is_known() && !items.empty() && std::all_of(items.begin(), items.end(), [](const Item& item) { return item.is_number(); })) {
        const Expr list = items[0].is(Kind::real) ? Expr() : call.vector(items);
        if (list) return Item::symbol(Kind::integer, p.gather(list, call.one(at), 0));
      }
      if (!at.is_known() && !items.empty() &&
          std::all_of(items.begin(), items.end(), [](const Item& item) { return item.is(Kind::tensor); })) {
        Exprs all;
        for (const Item& item : items) all.push_back(call.tensor(item));
        return p.op("SequenceAt", {p.op("SequenceConstruct", all), p.reshape(call.one(at), Ints{})});
      }
      return items[place_in(call, at, items.size())];
    }
    case Kind::tuple:
      return x.as_tuple().items[place_in(call, at, x.as_tuple().items.size())];
    case Kind::dict:
      if (const Item* found = find_key(call, x.as_dict(), at)) return *found;
      call.fail("a dictionary has no such key");
    case Kind::text: {
      const size_t place = place_in(call, at, x.text().size());
      return Item::text(x.text().substr(place, 1));
    }
    default:
      call.refuse("an item of {} is read", describe(x));
  }
}
Item import_dict_get(Call& call, TypedBuilder&) {
  if (!call["self"].is(Kind::dict)) call.refuse("get() of {}", describe(call["self"]));
  const Item* found = find_key(call, call["self"].as_dict(), call["key"]);
  return found ? *found : call["fallback"];
}
Item import_set(Call& call, TypedBuilder&) {
  const Item &x = call["self"], &at = call["index"];
  if (!x.is(Kind::list) && !x.is(Kind::dict)) call.refuse("an item of {} is set", describe(x));
  call.host.touch(x.object());
  if (x.is(Kind::list)) {
    if (x.as_list().sequence) call.refuse("an item of a list is set whose length only a run tells");
    x.as_list().items[place_in(call, at, x.as_list().items.size())] = call["value"];
  } else if (Item* old = find_key(call, x.as_dict(), at)) {
    *old = call["value"];
  } else {
    x.as_dict().items.emplace_back(at, call["value"]);
  }
  return x;
}
Item import_update(Call& call, TypedBuilder&) {
  const Item &x = call["self"], &other = call["other"];
  if (!x.is(Kind::dict) || !other.is(Kind::dict)) call.refuse("{} is updated with {}", describe(x), describe(other));
  call.host.touch(x.object());
  auto& items = x.as_dict().items;
  const std::vector<std::pair<Item, Item>> more = other.as_dict().items;  // it may be the same dictionary
  for (const auto& [key, value] : more) {
    call.host.spend(items.size() / 16 + 1);
    const Item& wanted = key;
    const auto old = std::find_if(items.begin(), items.end(), [&](const auto& entry) { return equal_items(call, entry.first, wanted); });
    if (old != items.end())
      old->second = value;
    else
      items.emplace_back(key, value);
  }
  return {};
}
Item import_set_default(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  if (!x.is(Kind::dict)) call.refuse("setdefault() of {}", describe(x));
  if (const Item* found = find_key(call, x.as_dict(), call["key"])) return *found;
  call.host.touch(x.object());
  x.as_dict().items.emplace_back(call["key"], call["fallback"]);
  return call["fallback"];
}
Item import_append(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  if (!x.is(Kind::list)) call.refuse("something is appended to {}", describe(x));
  call.host.touch(x.object());
  if (x.as_list().sequence) {
    x.as_list().sequence = p.op("SequenceInsert", {p.wrap(x.as_list().sequence), call.x("item")}).value();
    return x;
  }
  // The list holds the tensor itself, so later in-place writes to the tensor show in the list.
  x.as_list().items.push_back(call["item"]);
  return x;
}
Item import_extend(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  if (!x.is(Kind::list) || x.as_list().sequence) call.refuse("{} is extended", describe(x));
  const Items more = call.items("other");
  call.host.spend(more.size());
  call.host.touch(x.object());
  x.as_list().items.insert(x.as_list().items.end(), more.begin(), more.end());
  return x;
}
Item import_insert(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  if (!x.is(Kind::list) || x.as_list().sequence || !call["index"].is_known()) call.refuse("something is inserted as data tell");
  call.host.touch(x.object());
  Items& items = x.as_list().items;
  const int64_t size = static_cast<int64_t>(items.size()), at = call["index"].integer();
  call.host.spend(items.size());
  items.insert(items.begin() + std::clamp<int64_t>(at < 0 ? at + size : at, 0, size), call["item"]);
  return x;
}
Item import_pop(Call& call, TypedBuilder& p) {
  const Item& x = call["self"];
  if (x.is(Kind::dict)) {
    auto& items = x.as_dict().items;
    const Item* found = find_key(call, x.as_dict(), call["index"]);
    if (!found && !call.takes("fallback")) call.fail("a dictionary has no such key");
    if (!found) return call["fallback"];
    call.host.touch(x.object());
    Item taken = *found;
    std::erase_if(items, [&](const auto& entry) { return &entry.second == found; });
    return taken;
  }
  if (!x.is(Kind::list)) call.refuse("something is taken from {}", describe(x));
  call.host.touch(x.object());
  if (x.as_list().sequence) {
    const Expr sequence = p.wrap(x.as_list().sequence), at = p.reshape(call.one(call["index"]), Ints{});
    const Expr taken = p.op("SequenceAt", {sequence, at});
    x.as_list().sequence = p.op("SequenceErase", {sequence, at}).value();
    return taken;
  }
  Items& items = x.as_list().items;
  const size_t place = place_in(call, call["index"], items.size());
  Item taken = items[place];
  items.erase(items.begin() + static_cast<ptrdiff_t>(place));
  return taken;
}
Item import_clear(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  if (!x.is(Kind::list) && !x.is(Kind::dict)) call.refuse("{} is emptied", describe(x));
  call.host.touch(x.object());
  if (x.is(Kind::list)) x.as_list().items.clear(), x.as_list().sequence = nullptr;
  if (x.is(Kind::dict)) x.as_dict().items.clear();
  return x;
}
Item import_delete(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  call.host.touch(x.object());
  if (x.is(Kind::list) && !x.as_list().sequence) {
    x.as_list().items.erase(x.as_list().items.begin() + static_cast<ptrdiff_t>(place_in(call, call["index"], x.as_list().items.size())));
  } else if (x.is(Kind::dict)) {
    std::erase_if(x.as_dict().items, [&](const auto& entry) { return equal_items(call, entry.first, call["index"]); });
  } else {
    call.refuse("an item of {} is deleted", describe(x));
  }
  return {};
}
Item import_reverse_list(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  if (!x.is(Kind::list) || x.as_list().sequence) call.refuse("{} is reversed", describe(x));
  call.host.touch(x.object());
  std::reverse(x.as_list().items.begin(), x.as_list().items.end());
  return {};
}
Item import_copy_list(Call& call, TypedBuilder&) {
  const Item& x = call["self"];
  if (x.is(Kind::tuple)) {
    call.host.spend(x.as_tuple().items.size());
    return Item::list(x.as_tuple().items);
  }
  if (x.is(Kind::list)) {
    call.host.spend(x.as_list().items.size());
    Item made = Item::list(x.as_list().items);
    made.as_list().sequence = x.as_list().sequence;
    made.as_list().element = x.as_list().element;
    return made;
  }
  if (x.is(Kind::dict)) {
    call.host.spend(x.as_dict().items.size());
    auto made = std::make_shared<DictObject>();
    made->items = x.as_dict().items;
    return Item::object(Kind::dict, std::move(made));
  }
  if (x.is(Kind::text)) {
    Items items;
    for (char c : x.text()) items.push_back(Item::text(std::string(1, c)));
    return Item::list(std::move(items));
  }
  call.refuse("{} becomes a list", describe(x));
}
Item import_list_slice(Call& call, TypedBuilder&) {
  const Items& items = call.items("self");
  const int64_t size = static_cast<int64_t>(items.size()), step = call.integer("step", 1);
  if (step <= 0) call.fail("a step of {}", step);
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const auto bound = [&](std::string_view name, int64_t if_none) { return clamp(call.has(name) ? call[name].integer() : if_none); };
  const int64_t first = bound("start", 0), last = bound("end", INT64_MAX);
  Items some;
  call.host.spend(static_cast<size_t>(std::max<int64_t>(last - first, 0)));
  for (int64_t i = first; i < last; i += std::min(step, size + 1)) some.push_back(items[static_cast<size_t>(i)]);
  return Item::list(std::move(some));
}
Item import_contains(Call& call, TypedBuilder&) {
  const Item &x = call["self"], &what = call["item"];
  if (x.is(Kind::text) && what.is(Kind::text)) return Item::boolean(x.text().find(what.text()) != x.text().npos);
  if (x.is(Kind::dict)) return Item::boolean(find_key(call, x.as_dict(), what) != nullptr);
  Item found = Item::boolean(false);
  for (const Item& item : call.items("self")) {
    if (item.is_number() && what.is_number() && (item.symbol() || what.symbol())) {
      found = number_result(call, "Or", found, number_result(call, "Equal", item, what));
    } else if (equal_items(call, item, what)) {
      return Item::boolean(true);
    }
  }
  return found;
}
Item import_keys(Call& call, TypedBuilder&) {
  if (!call["self"].is(Kind::dict)) call.refuse("the keys of {} are asked for", describe(call["self"]));
  const std::string_view what = call.rule.target;
  Items items;
  call.host.spend(call["self"].as_dict().items.size());
  for (const auto& [key, value] : call["self"].as_dict().items)
    items.push_back(what == "keys" ? key : what == "values" ? value : call.host.keep(Item::tuple({key, value})));
  return Item::list(std::move(items));
}
Item import_new_dict(Call& call, TypedBuilder&) {
  const auto made = std::make_shared<DictObject>();
  if (!call.takes("pairs")) return Item::object(Kind::dict, made);
  if (call["pairs"].is(Kind::dict)) {
    made->items = call["pairs"].as_dict().items;
    return Item::object(Kind::dict, made);
  }
  std::unordered_set<std::string> texts;
  for (const Item& pair : call.items("pairs")) {
    if (!pair.is(Kind::tuple) || pair.as_tuple().items.size() != 2) call.refuse("a dictionary is made of {}", describe(pair));
    const Item &key = pair.as_tuple().items[0], &value = pair.as_tuple().items[1];
    // Later values of a key win; most keys are texts, and new.
    const bool is_new = key.is(Kind::text) && texts.insert(key.text()).second;
    call.host.spend(is_new ? 1 : made->items.size() / 16 + 1);
    const auto old = is_new ? made->items.end() : std::find_if(made->items.begin(), made->items.end(), [&](const auto& entry) {
      return equal_items(call, entry.first, key);
    });
    if (old != made->items.end())
      old->second = value;
    else
      made->items.emplace_back(key, value);
  }
  return Item::object(Kind::dict, made);
}
Item import_sum_list(Call& call, TypedBuilder&) {
  Item sum = Item::integer(0);
  for (const Item& item : call.items("self")) sum = number_result(call, "Add", sum, item);
  return sum;
}
Item import_all_of_list(Call& call, TypedBuilder& p) {
  const bool all = call.rule.target == "And";
  Item result = Item::boolean(all);
  for (const Item& item : call.items("self")) {
    if (!item.is_number()) call.refuse("a list of {}", describe(item));
    const Item truth =
        item.is_known() ? Item::boolean(item.truth()) : Item::symbol(Kind::boolean, p.cast(p.wrap(item.symbol()), DType::boolean));
    result = number_result(call, call.rule.target, result, truth);
  }
  return result;
}
Item import_sorted(Call& call, TypedBuilder&) {
  Items items = call.items("self");
  for (const Item& item : items)
    if (!item.is_known()) call.refuse("a list is sorted that depends on data");
  const bool down = call.signature.arguments.size() > 1 && call.flag("reverse");
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return down ? a.real() > b.real() : a.real() < b.real(); });
  return Item::list(std::move(items));
}
Item import_sort_list(Call& call, TypedBuilder& p) {
  if (!call["self"].is(Kind::list)) call.refuse("{} is sorted in place", describe(call["self"]));
  const Item made = import_sorted(call, p);
  call.host.touch(call["self"].object());
  call["self"].as_list().items = made.as_list().items;
  return {};
}
Item import_range_length(Call& call, TypedBuilder& p) {
  const Item &from = call["lo"], &to = call["hi"], &step = call["step"];
  if (from.is_known() && to.is_known() && step.is_known()) {
    const int64_t a = from.integer(), b = to.integer(), s = step.integer();
    if (s == 0) call.fail("a range has the step 0");
    if (s > 0 ? a >= b : a <= b) return Item::integer(0);
    // Unsigned: the difference of two i64 may overflow an i64.
    const auto unsigned_of = [](int64_t x) { return static_cast<uint64_t>(x); };
    const uint64_t span = s > 0 ? unsigned_of(b) - unsigned_of(a) : unsigned_of(a) - unsigned_of(b);
    const uint64_t count = 1 + (span - 1) / (s > 0 ? unsigned_of(s) : 0 - unsigned_of(s));
    if (count > uint64_t{INT64_MAX}) call.fail("a range has more than 2^63 numbers");
    return Item::integer(static_cast<int64_t>(count));
  }
  // ceil((hi - lo) / step), not below 0.
  const Item span = number_result(call, "Sub", to, from);
  const Item up = number_result(call, "FloorDiv", number_result(call, "Mul", span, Item::integer(-1)), step);
  const Item count = number_result(call, "Mul", up, Item::integer(-1));
  static_cast<void>(p);
  return number_result(call, "Max", count, Item::integer(0));
}
Item import_derive_index(Call& call, TypedBuilder&) {
  return number_result(call, "Add", call["lo"], number_result(call, "Mul", call["index"], call["step"]));
}
Item import_lower(Call& call, TypedBuilder&) {
  std::string text = call.text("self");
  for (char& c : text)
    c = static_cast<char>(call.rule.target == "lower" ? std::tolower(static_cast<unsigned char>(c))
                                                      : std::toupper(static_cast<unsigned char>(c)));
  return Item::text(text);
}
Item import_starts_with(Call& call, TypedBuilder&) {
  const std::string &text = call.text("self"), &part = call.text("part");
  return Item::boolean(call.rule.target == "ends" ? text.ends_with(part) : text.starts_with(part));
}

}  // namespace minnow::torchscript
