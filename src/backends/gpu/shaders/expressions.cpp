// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/translator.h"
#include "base/error.h"

namespace minnow::gpu {
namespace {

// Functions that the translator knows by itself. Others come from the source or the library.
enum class Known : uint8_t {
  none,
  group,
  groups,
  item,
  items,
  barrier,
  as_f32,
  as_u32,
  fused,
  load_four,
  compare_exchange,
  subgroup_index,
  subgroup_count,
  subgroup_rank,
  subgroup_items,
  subgroup_sum,
  subgroup_product,
  subgroup_most,
  is_nan,
  is_infinite,
  absolute,
  floor,
  ceil,
  round_even,
  square_root
};
struct KnownFunction {
  std::string_view name;
  Known function;
  size_t operands;
  Scalar result;
};
constexpr KnownFunction kKnown[] = {
    {"__group", Known::group, 1, Scalar::i32},
    {"__groups", Known::groups, 1, Scalar::i32},
    {"__item", Known::item, 1, Scalar::i32},
    {"__items", Known::items, 1, Scalar::i32},
    {"__barrier", Known::barrier, 0, Scalar::none},
    {"__as_f32", Known::as_f32, 1, Scalar::f32},
    {"__as_u32", Known::as_u32, 1, Scalar::u32},
    {"__fma", Known::fused, 3, Scalar::f32},
    {"__load_four", Known::load_four, 2, Scalar::none},
    {"__compare_exchange", Known::compare_exchange, 3, Scalar::u32},
    {"__subgroup_index", Known::subgroup_index, 0, Scalar::i32},
    {"__subgroup_count", Known::subgroup_count, 0, Scalar::i32},
    {"__subgroup_rank", Known::subgroup_rank, 0, Scalar::i32},
    {"__subgroup_items", Known::subgroup_items, 0, Scalar::i32},
    {"__subgroup_SUM", Known::subgroup_sum, 1, Scalar::f32},
    {"__subgroup_PRODUCT", Known::subgroup_product, 1, Scalar::f32},
    {"__subgroup_most", Known::subgroup_most, 1, Scalar::i32},
    {"isnan", Known::is_nan, 1, Scalar::boolean},
    {"isinf", Known::is_infinite, 1, Scalar::boolean},
    {"fabs", Known::absolute, 1, Scalar::f32},
    {"floor", Known::floor, 1, Scalar::f32},
    {"ceil", Known::ceil, 1, Scalar::f32},
    {"rint", Known::round_even, 1, Scalar::f32},
    {"sqrt", Known::square_root, 1, Scalar::f32},
};

const KnownFunction* known_function(std::string_view name) {
  for (const KnownFunction& each : kKnown)
    if (each.name == name) return &each;
  return nullptr;
}

// The same computation of the same variables: two sides of a test for NaN.
bool is_same(const Expr& a, const Expr& b, int depth = 0) {
  using Kind = Expr::Kind;
  if (depth > 32 || a.kind != b.kind || a.op != b.op || a.name != b.name || a.bits != b.bits || a.operands.size() != b.operands.size())
    return false;
  if (a.kind == Kind::assign || a.kind == Kind::step || a.kind == Kind::call) return false;
  if (a.kind == Kind::cast && a.type != b.type) return false;
  for (size_t i = 0; i < a.operands.size(); ++i)
    if (!is_same(*a.operands[i], *b.operands[i], depth + 1)) return false;
  return true;
}

// Instructions that an expression needs, roughly; many where it must not be computed without need: where it reads memory, divides, changes
// something or calls a function.
constexpr int kMany = 1000, kFew = 12;
int cost_of(const Expr& e) {
  using Kind = Expr::Kind;
  int cost = 0;
  switch (e.kind) {
    case Kind::integer:
    case Kind::real:
    case Kind::name:
      return 0;
    case Kind::assign:
    case Kind::step:
    case Kind::index:
    case Kind::list:
      return kMany;
    case Kind::unary:
      if (e.op == Op::dereference) return kMany;
      cost = 1;
      break;
    case Kind::binary:
      cost = 1;
      if ((e.op == Op::divide || e.op == Op::remainder) && e.operands[1]->kind != Kind::integer && e.operands[1]->kind != Kind::real)
        return kMany;
      break;
    case Kind::call: {
      const KnownFunction* known = known_function(e.name);
      if (!known || known->function == Known::compare_exchange || known->result == Scalar::none || e.name.starts_with("__subgroup"))
        return kMany;
      cost = 1;
      break;
    }
    default:
      cost = 1;
  }
  for (const Expr* operand : e.operands) cost += cost_of(*operand);
  return std::min(cost, kMany);
}

}  // namespace

Scalar Translator::type_of(Expr& e) {
  if (!e.is_typed && e.kind != Expr::Kind::integer && e.kind != Expr::Kind::real && e.kind != Expr::Kind::cast) e.type = find_type(e);
  e.is_typed = true;
  return e.type;
}

Scalar Translator::find_type(Expr& e) {
  using Kind = Expr::Kind;
  switch (e.kind) {
    case Kind::name: {
      const Name* found = lookup(e.name);
      if (!found) throw InternalError("line {} of a kernel: there is no {}", e.line, e.name);
      return found->place.variable ? found->place.type : found->value.type;
    }
    case Kind::unary:
      if (e.op == Op::logical_not) return Scalar::boolean;
      return e.op == Op::dereference ? type_of(*e.operands[0]) : promoted(type_of(*e.operands[0]));
    case Kind::binary:
      if (compares(e.op) || e.op == Op::logical_and || e.op == Op::logical_or) return Scalar::boolean;
      if (e.op == Op::shift_left || e.op == Op::shift_right) return promoted(type_of(*e.operands[0]));
      if (is_pointer(e)) return type_of(*e.operands[0]);
      return joined(type_of(*e.operands[0]), type_of(*e.operands[1]));
    case Kind::choice: {
      const Scalar yes = type_of(*e.operands[1]), no = type_of(*e.operands[2]);
      return yes == no ? yes : joined(yes, no);
    }
    case Kind::call: {
      if (const KnownFunction* known = known_function(e.name)) return known->result;
      Parser* parser = nullptr;
      const FunctionTree* tree = find(e.name, parser);
      if (!tree) throw InternalError("line {} of a kernel: there is no function {}", e.line, e.name);
      return tree->result;
    }
    case Kind::comma:
      return type_of(*e.operands[1]);
    case Kind::list:
      fail(e.line, "a list stands where a value is needed");
    default:  // assign, step, index
      return type_of(*e.operands[0]);
  }
}

// Whether the expression names an array, or a place in one.
bool Translator::is_pointer(const Expr& e) const {
  using Kind = Expr::Kind;
  if (e.kind == Kind::name) {
    const Name* found = lookup(e.name);
    return found && found->place.variable && (found->place.variable->is_buffer || !found->place.variable->dims.empty());
  }
  if (e.kind == Kind::cast) return e.to_pointer;
  return e.kind == Kind::binary && e.op == Op::add && is_pointer(*e.operands[0]);
}

Translator::Place Translator::place_of(Expr& e) {
  using Kind = Expr::Kind;
  if (e.kind == Kind::name) {
    const Name* found = lookup(e.name);
    if (!found) throw InternalError("line {} of a kernel: there is no {}", e.line, e.name);
    if (!found->place.variable) throw InternalError("line {} of a kernel: {} is a constant", e.line, e.name);
    return found->place;
  }
  if (e.kind == Kind::cast && e.to_pointer) {
    Place place = place_of(*e.operands[0]);
    if (bytes_of(place.type) != bytes_of(e.type)) fail(e.line, "a pointer becomes one to elements of another size");
    place.type = e.type;
    return place;
  }
  if (e.kind == Kind::unary && e.op == Op::dereference) {
    Place place = place_of(*e.operands[0]);
    place.depth = std::max<size_t>(place.variable->dims.size(), 1);
    return place;
  }
  const bool indexes = e.kind == Kind::index;
  if (indexes || (e.kind == Kind::binary && e.op == Op::add)) {
    Place place = place_of(*e.operands[0]);
    const Variable& variable = *place.variable;
    if (variable.dims.empty() && !variable.is_buffer) fail(e.line, "a number is indexed");
    Value index = convert(value(*e.operands[1]), Scalar::i32);
    if (indexes) {
      if (place.depth >= std::max<size_t>(variable.dims.size(), 1)) fail(e.line, "an element is indexed");
      ++place.depth;
      for (size_t k = place.depth; k < variable.dims.size(); ++k)
        index = arithmetic(Op::multiply, index, known(Scalar::i32, variable.dims[k]), e.line);
    } else if (variable.dims.size() > 1) {
      fail(e.line, "a pointer points into an array of arrays");
    }
    place.index = arithmetic(Op::add, place.index, index, e.line);
    return place;
  }
  fail(e.line, "this is no place that values lie at");
}

Translator::Value Translator::value(Expr& e) {
  using Kind = Expr::Kind;
  switch (e.kind) {
    case Kind::integer:
    case Kind::real:
      return known(e.type, e.bits);
    case Kind::name: {
      const Name* found = lookup(e.name);
      if (found && !found->place.variable) return found->value;
      return load(place_of(e));
    }
    case Kind::index:
      return load(place_of(e));
    case Kind::unary:
      if (e.op == Op::dereference) return load(place_of(e));
      if (e.op != Op::logical_not) return unary(e.op, value(*e.operands[0]));
      return unary(Op::logical_not, condition(*e.operands[0]));
    case Kind::binary:
      return e.op == Op::logical_and || e.op == Op::logical_or ? logical(e) : binary(e);
    case Kind::choice:
      return choice(e);
    case Kind::cast:
      if (e.to_pointer) fail(e.line, "a pointer stands where a number is needed");
      return convert(value(*e.operands[0]), e.type);
    case Kind::assign:
      return assign(e);
    case Kind::step: {
      const Place place = place_of(*e.operands[0]);
      const Value before = load(place);
      const Value after = convert(arithmetic(e.op, before, known(Scalar::i32, 1), e.line), place.type);
      store(place, after);
      return e.is_prefix ? after : before;
    }
    case Kind::comma:
      value(*e.operands[0]);
      return value(*e.operands[1]);
    case Kind::call:
      return call(e);
    case Kind::list:
      break;
  }
  fail(e.line, "a list stands where a value is needed");
}

Translator::Value Translator::condition(Expr& e) { return convert(value(e), Scalar::boolean); }

Translator::Value Translator::binary(Expr& e) {
  Expr &a = *e.operands[0], &b = *e.operands[1];
  // Drivers may take it for granted that there is no NaN, so the bits are looked at.
  if ((e.op == Op::equal || e.op == Op::not_equal) && type_of(a) == Scalar::f32 && is_same(a, b)) {
    const Value is = is_nan(value(a));
    return e.op == Op::equal ? unary(Op::logical_not, is) : is;
  }
  const Value left = value(a);
  return arithmetic(e.op, left, value(b), e.line);
}

Translator::Value Translator::logical(Expr& e) {
  const bool is_and = e.op == Op::logical_and;
  const Value left = condition(*e.operands[0]);
  if (left.is_known()) return (left.bits != 0) == is_and ? condition(*e.operands[1]) : left;
  if (cost_of(*e.operands[1]) <= kFew) {
    const Value right = condition(*e.operands[1]);
    if (right.is_known()) return (right.bits != 0) == is_and ? left : right;
    return {Scalar::boolean, target_.binary(e.op, Form::boolean, false, left.id, right.id)};
  }
  const Id result = target_.variable(Form::boolean, 0, false);
  target_.store(result, 0, left.id);
  target_.begin_if(is_and ? left.id : target_.unary(Op::logical_not, Form::boolean, left.id));
  target_.store(result, 0, id_of(condition(*e.operands[1])));
  target_.end_if();
  return {Scalar::boolean, target_.load(result, 0)};
}

Translator::Value Translator::choice(Expr& e) {
  const Value which = condition(*e.operands[0]);
  Expr &yes = *e.operands[1], &no = *e.operands[2];
  const Scalar type = type_of(e);
  if (which.is_known()) return convert(value(which.bits ? yes : no), type);
  if (cost_of(yes) + cost_of(no) <= kFew) {
    const Value first = convert(value(yes), type);
    return select(which, first, convert(value(no), type));
  }
  const Id result = target_.variable(form_of(type), 0, false);
  target_.begin_if(which.id);
  target_.store(result, 0, id_of(convert(value(yes), type)));
  target_.begin_else();
  target_.store(result, 0, id_of(convert(value(no), type)));
  target_.end_if();
  return {type, target_.load(result, 0)};
}

Translator::Value Translator::assign(Expr& e) {
  if (e.op == Op::none) {
    const Value v = value(*e.operands[1]);
    const Place place = place_of(*e.operands[0]);
    const Value stored = convert(v, place.type);
    store(place, stored);
    return stored;
  }
  const Place place = place_of(*e.operands[0]);
  const Value right = value(*e.operands[1]);
  const Value stored = convert(arithmetic(e.op, load(place), right, e.line), place.type);
  store(place, stored);
  return stored;
}

uint32_t Translator::axis_of(Expr& e) {
  const Value axis = value(e);
  if (!axis.is_known() || axis.bits > 2) fail(e.line, "an axis is not 0, 1 or 2");
  return static_cast<uint32_t>(axis.bits);
}

Translator::Value Translator::call(Expr& e) {
  const KnownFunction* known_one = known_function(e.name);
  if (!known_one) return call_function(e);
  if (e.operands.size() != known_one->operands)
    throw InternalError("line {} of a kernel: {} takes {} arguments", e.line, e.name, known_one->operands);
  const auto real = [&](size_t i) { return convert(value(*e.operands[i]), Scalar::f32); };
  const auto built_in = [&](Builtin builtin) -> Value {
    std::vector<Id> ids;
    for (size_t i = 0; i < e.operands.size(); ++i) ids.push_back(id_of(real(i)));
    return {Scalar::f32, target_.call(builtin, ids)};
  };
  switch (known_one->function) {
    case Known::group: {
      const uint32_t axis = axis_of(*e.operands[0]);
      const Id id = target_.position(Position::group, axis);
      if (!options_.group_offsets) return {Scalar::i32, id};
      return {Scalar::i32, target_.binary(Op::add, Form::word, true, id, target_.interface_word(words_ + axis))};
    }
    case Known::groups: {
      const uint32_t axis = axis_of(*e.operands[0]);
      return {Scalar::i32, options_.group_offsets ? target_.interface_word(words_ + 3 + axis) : target_.position(Position::groups, axis)};
    }
    case Known::item: {
      const uint32_t axis = axis_of(*e.operands[0]);
      return options_.group[axis] == 1 ? known(Scalar::i32, 0) : Value{Scalar::i32, target_.position(Position::item, axis)};
    }
    case Known::items:
      return known(Scalar::i32, options_.group[axis_of(*e.operands[0])]);
    case Known::barrier:
      target_.barrier();
      return {};
    case Known::as_f32: {
      const Value bits = convert(value(*e.operands[0]), Scalar::u32);
      return bits.is_known() ? known(Scalar::f32, bits.bits) : Value{Scalar::f32, target_.reinterpret(Form::real, bits.id)};
    }
    case Known::as_u32: {
      const Value x = real(0);
      return x.is_known() ? known(Scalar::u32, x.bits) : Value{Scalar::u32, target_.reinterpret(Form::word, x.id)};
    }
    case Known::load_four: {
      Place to = place_of(*e.operands[0]), from = place_of(*e.operands[1]);
      const Value to_first = to.index, from_first = from.index;
      to.depth = from.depth = 1;
      Value loaded[4];
      for (uint32_t i = 0; i < 4; ++i) {
        from.index = arithmetic(Op::add, from_first, known(Scalar::i32, i), e.line);
        loaded[i] = load(from);
      }
      for (uint32_t i = 0; i < 4; ++i) {
        to.index = arithmetic(Op::add, to_first, known(Scalar::i32, i), e.line);
        store(to, loaded[i]);
      }
      return {};
    }
    case Known::compare_exchange: {
      const Place place = place_of(*e.operands[0]);
      if (!place.variable->is_buffer || bytes_of(place.type) != 4) fail(e.line, "an atomic operation needs a buffer of words");
      const Value old = convert(value(*e.operands[1]), Scalar::u32), next = convert(value(*e.operands[2]), Scalar::u32);
      return {Scalar::u32, target_.compare_exchange(place.variable->buffer, buffer_index(place), id_of(old), id_of(next))};
    }
    case Known::subgroup_index:
      return {Scalar::i32, target_.subgroup(Subgroup::index, 0)};
    case Known::subgroup_count:
      return {Scalar::i32, target_.subgroup(Subgroup::count, 0)};
    case Known::subgroup_rank:
      return {Scalar::i32, target_.subgroup(Subgroup::rank, 0)};
    case Known::subgroup_items:
      return {Scalar::i32, target_.subgroup(Subgroup::items, 0)};
    case Known::subgroup_sum:
      return {Scalar::f32, target_.subgroup(Subgroup::sum, id_of(real(0)))};
    case Known::subgroup_product:
      return {Scalar::f32, target_.subgroup(Subgroup::product, id_of(real(0)))};
    case Known::subgroup_most:
      return {Scalar::i32, target_.subgroup(Subgroup::most, id_of(convert(value(*e.operands[0]), Scalar::i32)))};
    case Known::is_nan:
      return is_nan(real(0));
    case Known::is_infinite:
      return is_infinite(real(0));
    case Known::fused:
      return built_in(Builtin::fused);
    case Known::absolute:
      return built_in(Builtin::absolute);
    case Known::floor:
      return built_in(Builtin::floor);
    case Known::ceil:
      return built_in(Builtin::ceil);
    case Known::round_even:
      return built_in(Builtin::round_even);
    case Known::square_root:
      return built_in(Builtin::square_root);
    case Known::none:
      break;
  }
  fail(e.line, "a function is not known");
}

}  // namespace minnow::gpu
