// SPDX-License-Identifier: Apache-2.0
// Tensors that are made: filled, counted, random, of another dtype.
#include <algorithm>
#include <cmath>

#include "importers/torchscript/rules.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

namespace {

Item made_full(Call& call, TypedBuilder& p, const Expr& shape, const Item& value, DType type) {
  if (value.is_known() && std::isfinite(value.real())) return p.fill(shape, value.real(), type);
  return p.op("Expand", {p.cast(call.tensor(value), type), shape});
}
/// As above, of the sizes that a list says.
Item made_full(Call& call, TypedBuilder& p, const Item& value, DType type) {
  const Item made = made_full(call, p, call.vector("size"), value, type);
  if (call["size"].is(Kind::list) || call["size"].is(Kind::tuple)) with_sizes(call.tensor(made), call.items("size"));
  return made;
}
DType wanted_type(Call& call, DType fallback) { return call.takes("dtype") ? call.type("dtype", fallback) : fallback; }
Item constant_value(const Call& call) { return Item::real(call.rule.target == "1" ? 1 : 0); }

}  // namespace

Item import_full(Call& call, TypedBuilder& p) {
  const Item value = call.takes("fill_value") ? call["fill_value"] : constant_value(call);
  DType type = DType::f32;
  if (call.takes("fill_value") && call.host.version() >= 5)
    type = value.is(Kind::boolean) ? DType::boolean : value.is(Kind::integer) ? DType::i64 : DType::f32;
  return made_full(call, p, value, wanted_type(call, type));
}
Item import_full_like(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Item value = call.takes("fill_value") ? call["fill_value"] : constant_value(call);
  return made_full(call, p, p.shape_of(x), value, wanted_type(call, p.dtype(x)));
}
Item import_new_full(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Item value = call.takes("fill_value") ? call["fill_value"] : constant_value(call);
  return made_full(call, p, value, wanted_type(call, p.dtype(x)));
}
Item import_fill_in_place(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Item value = call.takes("value") ? call["value"] : Item::real(0);
  const Expr filled = call.host.expr(call.host.keep(made_full(call, p, p.shape_of(x), value, p.dtype(x))));
  call.host.write(call["self"].tensor_object(), filled);
  return call["self"];
}
Item import_copy_in_place(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  Expr y = p.cast(call.x("src"), p.dtype(x));
  const auto from = p.shape(y), to = p.shape(x);
  if (!from || !to || *from != *to) y = p.op("Expand", {y, p.shape_of(x)});
  call.host.write(call["self"].tensor_object(), y);
  return call["self"];
}
Item import_arange(Call& call, TypedBuilder& p) {
  const Item start = call.takes("start") ? call["start"] : Item::integer(0), step = call.takes("step") ? call["step"] : Item::integer(1);
  const Item& end = call["end"];
  const auto real = [&](const Item& item) {
    return item.is(Kind::real) || (item.is(Kind::tensor) && is_floating(p.dtype(call.host.expr(item))));
  };
  const bool floats = real(start) || real(end) || real(step);
  const DType type = wanted_type(call, floats ? DType::f32 : DType::i64), inner = floats ? DType::f32 : DType::i64;
  if (start.is_known() && end.is_known() && step.is_known() && !floats) {
    const int64_t a = start.integer(), b = end.integer(), s = step.integer();
    const double count = s == 0 ? INFINITY : std::ceil((static_cast<double>(b) - static_cast<double>(a)) / static_cast<double>(s));
    if (count > 1'000'000) call.fail("numbers from {} to {} by {}", a, b, s);
    Ints all;
    for (double i = 0; i < count; ++i) all.push_back(a + static_cast<int64_t>(i) * s);
    call.host.spend(all.size() / 16);
    return p.cast(p.constant(all), type);
  }
  const auto as = [&](const Item& item) { return p.reshape(p.cast(call.tensor(item), inner), Ints{}); };
  return p.cast(p.op("Range", {as(start), as(end), as(step)}), type);
}
Item import_linspace(Call& call, TypedBuilder& p) {
  const double start = call.real("start"), end = call.real("end");
  const int64_t steps = call.integer("steps", 100);
  if (steps < 0 || steps > 1'000'000) call.fail("{} steps", steps);
  std::vector<double> values;
  for (int64_t i = 0; i < steps; ++i)
    values.push_back(steps == 1 ? start : start + (end - start) * static_cast<double>(i) / static_cast<double>(steps - 1));
  if (call.rule.target == "log")
    for (double& value : values) value = std::pow(call.real("base"), value);
  return p.cast(p.reals({steps}, values), wanted_type(call, DType::f32));
}
Item import_eye(Call& call, TypedBuilder& p) {
  const int64_t rows = call.integer("n"), columns = call.takes("m") ? call.integer("m") : rows;
  if (rows < 0 || columns < 0 || rows > 65536 || columns > 65536) call.fail("a matrix of {} x {}", rows, columns);
  const DType type = wanted_type(call, DType::f32);
  return p.op("EyeLike", {p.fill(p.constant({rows, columns}), 0, DType::f32)}, {{"dtype", static_cast<int64_t>(type)}});
}
Item import_window(Call& call, TypedBuilder& p) {
  const int64_t length = call.integer("window_length");
  if (length < 0 || length > 1'000'000) call.fail("a window of {}", length);
  const bool periodic = !call.takes("periodic") || call.flag("periodic");
  const double n = static_cast<double>(periodic ? length : std::max<int64_t>(length - 1, 1));
  std::vector<double> values;
  for (int64_t i = 0; i < length; ++i) {
    const double turn = 2 * 3.14159265358979323846 * static_cast<double>(i) / n;
    values.push_back(call.rule.target == "hann"      ? 0.5 - 0.5 * std::cos(turn)
                     : call.rule.target == "hamming" ? 0.54 - 0.46 * std::cos(turn)
                                                     : 0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn));
  }
  if (length == 1) values[0] = 1;
  return p.cast(p.reals({length}, values), wanted_type(call, DType::f32));
}
Item import_tril_indices(Call& call, TypedBuilder& p) {
  const int64_t rows = call.integer("row"), columns = call.integer("col"), offset = call.integer("offset");
  if (rows < 0 || columns < 0 || rows > 4096 || columns > 4096) call.fail("a matrix of {} x {}", rows, columns);
  Ints first, second;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      if (call.rule.target == "lower" ? k - i <= offset : k - i >= offset) first.push_back(i), second.push_back(k);
  const int64_t count = static_cast<int64_t>(first.size());
  first.insert(first.end(), second.begin(), second.end());
  return p.reshape(p.constant(first), {2, count});
}
Item import_random(Call& call, TypedBuilder& p) {
  const bool like = call.rule.target.ends_with("Like");
  const Expr model = like ? call.x("self") : p.fill(call.vector("size"), 0, DType::f32);
  const DType type = wanted_type(call, like ? p.dtype(model) : DType::f32);
  return p.op(call.rule.target.starts_with("RandomNormal") ? "RandomNormalLike" : "RandomUniformLike", {model},
              {{"dtype", static_cast<int64_t>(type)}});
}
Item import_to(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  DType type = p.dtype(x);
  if (call.takes("dtype")) type = call.type("dtype", type);
  if (call.takes("other")) type = p.dtype(call.x("other"));
  if (type == p.dtype(x)) return call["self"];
  return p.cast(x, type);
}
Item import_cast_to(Call& call, TypedBuilder& p) {
  const DType type = dtype_from_name(call.rule.target);
  const Expr x = call.x("self");
  if (type == p.dtype(x)) return call["self"];
  return p.cast(x, type);
}

}  // namespace minnow::torchscript
