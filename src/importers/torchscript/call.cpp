// SPDX-License-Identifier: Apache-2.0
#include "importers/torchscript/call.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "importers/torchscript/pickle.h"

namespace minnow::torchscript {
namespace {

using Kind = Item::Kind;

Item parse_fallback(std::string_view text) {
  if (text == "None") return {};
  if (text == "True" || text == "False") return Item::boolean(text == "True");
  if (text.starts_with('\'')) return Item::text(std::string(text.substr(1, text.size() - 2)));
  if (text == "[]") return Item::list();
  if (text.find('.') != text.npos || text.find("e-") != text.npos) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return Item::real(value);
  }
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return Item::integer(value);
}

Signature parse_signature(const Rule& rule) {
  Signature made{&rule, {}};
  std::string_view rest = rule.signature;
  bool by_name = false;
  while (!rest.empty()) {
    const size_t comma = rest.find(", ");
    std::string_view part = rest.substr(0, comma);
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 2);
    if (part.starts_with("* ")) {
      by_name = true;
      part.remove_prefix(2);
    }
    Argument argument;
    argument.by_name = by_name;
    argument.type = part[0];
    const size_t space = part.find(' ');
    std::string_view type = part.substr(1, space - 1);
    if (type.starts_with('[')) {
      argument.is_list = true;
      if (type[1] != ']') argument.list_size = type[1] - '0';
      type.remove_prefix(type.find(']') + 1);
    }
    argument.optional = type == "?";
    part.remove_prefix(space + 1);
    const size_t equals = part.find('=');
    argument.name = part.substr(0, equals);
    if (equals != part.npos) {
      argument.has_fallback = true;
      argument.fallback = parse_fallback(part.substr(equals + 1));
    }
    made.arguments.push_back(std::move(argument));
  }
  return made;
}

bool fits_one(char type, const Item& item, bool lenient) {
  if (item.is(Kind::refused) || item.is(Kind::uninitialized)) return true;
  switch (type) {
    case 'T':
      return item.is(Kind::tensor);
    case 'i':
      return item.is(Kind::integer) || (lenient && (item.is(Kind::tensor) || item.is_number()));
    case 'f':
      return item.is(Kind::real) || (lenient && (item.is(Kind::tensor) || item.is_number()));
    case 'n':
      return item.is(Kind::integer) || item.is(Kind::real) || (lenient && (item.is(Kind::tensor) || item.is_number()));
    case 'b':
      return item.is(Kind::boolean) || (lenient && (item.is(Kind::tensor) || item.is_number()));
    case 's':
      return item.is(Kind::text);
    default:
      return true;
  }
}

bool fits(const Argument& argument, const Item& item, bool lenient) {
  if (item.is(Kind::refused)) return true;
  if (argument.optional && item.is_none()) return true;
  if (!argument.is_list) return fits_one(argument.type, item, lenient);
  if (argument.list_size >= 0 && fits_one(argument.type, item, lenient) && !item.is(Kind::list) && !item.is(Kind::tuple)) return true;
  if (item.is(Kind::list)) {
    if (item.as_list().sequence) return argument.type == 'T' || argument.type == 'a';
    if (item.as_list().items.empty() && !item.as_list().element.empty() && argument.type != 'a')
      return (item.as_list().element == "Tensor") == (argument.type == 'T');
    return std::all_of(item.as_list().items.begin(), item.as_list().items.end(),
                       [&](const Item& one) { return fits_one(argument.type, one, lenient) || (argument.type == 'T' && one.is_none()); });
  }
  if (item.is(Kind::tuple))
    return std::all_of(item.as_tuple().items.begin(), item.as_tuple().items.end(),
                       [&](const Item& one) { return fits_one(argument.type, one, lenient); });
  return false;
}

bool bind(const Signature& signature, const Items& positional, const std::vector<std::string>& names, const Items& named, bool lenient,
          Items& arguments) {
  arguments.clear();
  size_t used = 0;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const Argument& argument = signature.arguments[i];
    if (i < positional.size() && !argument.by_name) {
      if (!fits(argument, positional[i], lenient)) return false;
      arguments.push_back(positional[i]);
      continue;
    }
    const auto found = std::find(names.begin(), names.end(), argument.name);
    if (found != names.end()) {
      const Item& item = named[static_cast<size_t>(found - names.begin())];
      if (!fits(argument, item, lenient)) return false;
      arguments.push_back(item);
      ++used;
    } else if (argument.has_fallback) {
      arguments.push_back(argument.fallback);
    } else {
      return false;
    }
  }
  const size_t places = static_cast<size_t>(
      std::count_if(signature.arguments.begin(), signature.arguments.end(), [](const Argument& argument) { return !argument.by_name; }));
  return positional.size() <= places && used == names.size();
}

}  // namespace

std::span<const Signature> signatures_of(std::string_view op) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, std::vector<Signature>> map;
    for (const Rule& rule : all_rules()) map[rule.op].push_back(parse_signature(rule));
    return map;
  }();
  const auto found = kByName.find(op);
  if (found == kByName.end()) return {};
  return found->second;
}

const Signature* resolve(std::string_view op, const Items& positional, const std::vector<std::string>& names, const Items& named,
                         Items& arguments) {
  for (const bool lenient : {false, true})
    for (const Signature& signature : signatures_of(op))
      if (bind(signature, positional, names, named, lenient, arguments)) return &signature;
  return nullptr;
}

const Item& Call::operator[](std::string_view name) const {
  for (size_t i = 0; i < signature.arguments.size(); ++i)
    if (signature.arguments[i].name == name) return arguments[i];
  throw InternalError("{} has no argument {}", rule.op, name);
}

bool Call::takes(std::string_view name) const {
  return std::any_of(signature.arguments.begin(), signature.arguments.end(),
                     [&](const Argument& argument) { return argument.name == name; });
}

Expr Call::tensor(const Item& item) {
  switch (item.kind()) {
    case Kind::tensor: {
      if (item.as_tensor().quantization) refuse("it takes a quantized tensor");
      return host.expr(item);
    }
    case Kind::boolean:
    case Kind::integer:
    case Kind::real: {
      const DType type = item.is(Kind::boolean) ? DType::boolean : item.is(Kind::integer) ? DType::i64 : DType::f32;
      if (item.symbol()) return p.reshape(p.cast(p.wrap(item.symbol()), type), Ints{});
      if (item.is(Kind::integer)) return p.reshape(p.constant({item.integer()}), Ints{});
      return p.scalar(item.real(), type);
    }
    case Kind::none:
      fail("a tensor is missing");
    default:
      refuse("a tensor is expected, {} stands there", describe(item));
  }
}

const Items& Call::items(std::string_view name) {
  const Item& item = (*this)[name];
  if (item.is(Kind::tuple)) return item.as_tuple().items;
  if (!item.is(Kind::list)) refuse("{} should be a list, it is {}", name, describe(item));
  if (item.as_list().sequence) refuse("{} is a list whose length only a run tells", name);
  return item.as_list().items;
}

Exprs Call::tensors(std::string_view name) {
  Exprs made;
  for (const Item& item : items(name)) made.push_back(tensor(item));
  return made;
}

int64_t Call::known_integer(const Item& item, std::string_view name) {
  const auto number = item.is_known() ? std::optional(item.real()) : item.is(Kind::tensor) ? p.number(host.expr(item)) : std::nullopt;
  if (number && !(std::fabs(*number) <= static_cast<double>(kMostInteger)))
    fail("{} is {}, which is beyond {}", name, *number, kMostInteger);
  if (number) return item.is_known() ? item.integer() : static_cast<int64_t>(*number);
  if (item.is_number() || item.is(Kind::tensor)) refuse("{} depends on data or on open sizes, it must be known", name);
  refuse("{} should be an integer, it is {}", name, describe(item));
}

int64_t Call::integer(std::string_view name) { return known_integer((*this)[name], name); }

double Call::real(std::string_view name) {
  const Item& item = (*this)[name];
  if (item.is_known()) return item.real();
  if (item.is(Kind::tensor))
    if (const auto number = p.number(host.expr(item))) return *number;
  refuse("{} should be a number that is known, it is {}", name, item.is_number() ? "not known" : describe(item));
}

bool Call::flag(std::string_view name) {
  const Item& item = (*this)[name];
  if (item.is_none()) return false;
  if (!item.is_known()) refuse("{} should be a bool that is known", name);
  return item.truth();
}

const std::string& Call::text(std::string_view name) {
  const Item& item = (*this)[name];
  if (!item.is(Kind::text)) refuse("{} should be a text, it is {}", name, describe(item));
  return item.text();
}

Ints Call::ints(std::string_view name, size_t count) {
  const Item& item = (*this)[name];
  if (item.is_none()) return {};
  Ints made;
  if (item.is(Kind::list) || item.is(Kind::tuple))
    for (const Item& one : items(name)) made.push_back(known_integer(one, name));
  else
    made.push_back(known_integer(item, name));
  if (count && made.size() == 1) made.resize(count, made[0]);
  if (count && made.size() != count && !made.empty()) fail("{} has {} numbers, {} are expected", name, made.size(), count);
  return made;
}

std::vector<double> Call::reals(std::string_view name) {
  std::vector<double> made;
  if (!has(name)) return made;
  for (const Item& item : items(name)) {
    if (!item.is_known()) refuse("{} depends on data, it must be known", name);
    made.push_back(item.real());
  }
  return made;
}

int64_t Call::axis_of(int64_t axis, int64_t rank) const {
  const int64_t place = axis < 0 ? axis + std::max<int64_t>(rank, 1) : axis;
  if (place < 0 || place >= std::max<int64_t>(rank, 1)) fail("dimension {} of a tensor of {} dimensions is named", axis, rank);
  return place;
}
int64_t Call::axis(std::string_view name, int64_t rank) { return axis_of(integer(name), rank); }

DType Call::type(std::string_view name, DType if_none) {
  if (!has(name)) return if_none;
  const int64_t number = integer(name);
  const DType type = dtype_of(number);
  if (type == DType::undefined) refuse("dtype {} is not supported", number);
  return type;
}

Expr Call::one(const Item& item) {
  if (item.symbol()) return p.cast(p.wrap(item.symbol()), DType::i64);
  if (item.is_number()) return p.constant({item.integer()});
  if (item.is(Kind::tensor)) return p.reshape(p.i64(host.expr(item)), Ints{1});
  refuse("an integer is expected, {} stands there", describe(item));
}

Expr Call::vector(const Items& list) {
  Exprs parts;
  Ints known;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(p.constant(known));
    known.clear();
  };
  for (const Item& item : list) {
    if (item.is_known()) {
      known.push_back(item.integer());
    } else {
      flush();
      parts.push_back(one(item));
    }
  }
  flush();
  if (parts.empty()) return p.constant(Ints{});
  return p.concat(parts, 0);
}
Expr Call::vector(std::string_view name) {
  const Item& item = (*this)[name];
  if (item.is_number() || item.is(Kind::tensor)) return one(item);
  return vector(items(name));
}

// Dtypes.

bool is_floating(DType type) { return is_float(type); }

namespace {

int category(DType type) { return type == DType::boolean ? 0 : is_float(type) ? 2 : 1; }

}  // namespace

DType joined(DType a, DType b) {
  if (a == b || b == DType::undefined) return a;
  if (a == DType::undefined) return b;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if ((a == DType::f16 && b == DType::bf16) || (a == DType::bf16 && b == DType::f16)) return DType::f32;
    return size_of(a) >= size_of(b) ? a : b;
  }
  if (size_of(a) != size_of(b)) {
    const DType larger = size_of(a) > size_of(b) ? a : b;
    return larger;
  }
  return DType::i16;  // u8 beside i8
}

namespace {

struct Operand {
  DType type;
  int priority;  // 2: a tensor with dimensions, 1: without, 0: a number
};

Operand operand(Call& call, const Item& item) {
  if (item.is(Kind::tensor)) {
    const Expr x = call.host.expr(item);
    return {call.p.dtype(x), item.as_tensor().is_number ? 0 : call.p.rank(x) == 0 ? 1 : 2};
  }
  return {item.is(Kind::boolean) ? DType::boolean : item.is(Kind::integer) ? DType::i64 : DType::f32, 0};
}

}  // namespace

DType promoted_type(Call& call, const Item& x, const Item& y) {
  const Operand a = operand(call, x), b = operand(call, y);
  if (a.type == DType::undefined) return b.type;
  if (a.priority == b.priority) return joined(a.type, b.type);
  const Operand &high = a.priority > b.priority ? a : b, &low = a.priority > b.priority ? b : a;
  if (category(low.type) <= category(high.type)) return high.type;
  return low.priority == 0 && category(low.type) == 2 ? DType::f32 : low.type;
}

std::pair<Expr, Expr> promoted(Call& call, const Item& x, const Item& y) {
  const DType type = promoted_type(call, x, y);
  const auto as = [&](const Item& item) {
    if (item.is_known())
      return item.is(Kind::integer) && !is_float(type) ? call.p.cast(call.p.reshape(call.p.constant({item.integer()}), Ints{}), type)
                                                       : call.p.scalar(item.real(), type);
    if (item.symbol()) return call.p.reshape(call.p.cast(call.p.wrap(item.symbol()), type), Ints{});
    return call.p.cast(call.tensor(item), type);
  };
  const Expr a = as(x);
  return {a, as(y)};
}

Expr real_of(Call& call, const Expr& x) { return is_float(call.p.dtype(x)) ? x : call.p.cast(x, DType::f32); }
Expr scalar_like(Call& call, double value, const Expr& x) { return call.p.scalar(value, call.p.dtype(x)); }

void tell_size(const Expr& x, int64_t axis, int64_t size) {
  Value* value = x.value();
  if (size < 1 || !value->type.dims) return;
  const int64_t rank = static_cast<int64_t>(value->type.dims->size());
  if (axis < 0) axis += rank;
  while (value->producer() && value->producer()->op() == "Transpose" && axis >= 0 && axis < rank) {
    const Ints* perm = value->producer()->attributes.get<Ints>("perm");
    if (!perm || static_cast<int64_t>(perm->size()) != rank) return;
    axis = (*perm)[static_cast<size_t>(axis)];
    value = value->producer()->input(0);
  }
  if (!value->is_input() || !value->type.dims || static_cast<int64_t>(value->type.dims->size()) != rank || axis < 0 || axis >= rank) return;
  if (Dim& dim = (*value->type.dims)[static_cast<size_t>(axis)]; !dim.known()) dim = Dim{size, {}};
}

}  // namespace minnow::torchscript
