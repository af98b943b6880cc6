// SPDX-License-Identifier: Apache-2.0
// Functions of elements, activations, reductions, products of matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/torchscript/rules.h"

#include "importers/builder/arithmetic.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

constexpr double kPi = 3.14159265358979323846;

// Elements by themselves.

Item import_unary(Call& call, TypedBuilder& p) { return p.op(call.rule.target, {real_of(call, call.x("self"))}); }
Item import_unary_same(Call& call, TypedBuilder& p) {  // also of integers
  const Expr x = call.x("self");
  return p.op(call.rule.target, {x});
}
Item import_rounding(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  if (!is_floating(p.dtype(x))) return x;
  if (call.signature.arguments.size() > 1) {
    const double factor = std::pow(10.0, static_cast<double>(call.integer("decimals")));
    return p.op("Div", {p.op("Round", {p.op("Mul", {x, scalar_like(call, factor, x)})}), scalar_like(call, factor, x)});
  }
  if (call.rule.target == "Trunc") return p.op("Mul", {p.op("Sign", {x}), p.op("Floor", {p.op("Abs", {x})})});
  return p.op(call.rule.target, {x});
}
Item import_fraction(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op("Sub", {x, p.op("Mul", {p.op("Sign", {x}), p.op("Floor", {p.op("Abs", {x})})})});
}
Item import_rsqrt(Call& call, TypedBuilder& p) { return p.op("Reciprocal", {p.op("Sqrt", {real_of(call, call.x("self"))})}); }
Item import_square(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op("Mul", {x, x});
}
Item import_log_base(Call& call, TypedBuilder& p) {
  const Expr x = real_of(call, call.x("self"));
  return p.op("Mul", {p.op("Log", {x}), scalar_like(call, 1 / std::log(call.rule.target == "2" ? 2.0 : 10.0), x)});
}
Item import_log1p(Call& call, TypedBuilder& p) {
  // log(1 + x) loses the low bits of small x: correct it by x / ((1 + x) - 1).
  const Expr x = real_of(call, call.x("self")), one = scalar_like(call, 1, x);
  const Expr u = p.op("Add", {x, one}), gone = p.op("Sub", {u, one});
  const Expr none = p.op("Equal", {gone, scalar_like(call, 0, x)});
  const Expr safe = p.op("Where", {none, one, gone});
  return p.op("Where", {none, x, p.op("Mul", {p.op("Log", {u}), p.op("Div", {x, safe})})});
}
Item import_expm1(Call& call, TypedBuilder& p) {
  // For small x, tanh(x / 2) * (exp(x) + 1) is accurate; for others exp(x) - 1 is.
  const Expr x = real_of(call, call.x("self")), one = scalar_like(call, 1, x);
  const Expr small = p.op("Mul", {p.op("Tanh", {p.op("Mul", {x, scalar_like(call, 0.5, x)})}), p.op("Add", {p.op("Exp", {x}), one})});
  const Expr far = p.op("Greater", {p.op("Abs", {x}), one});
  return p.op("Where", {far, p.op("Sub", {p.op("Exp", {x}), one}), small});
}
Item import_exp2(Call& call, TypedBuilder& p) {
  const Expr x = real_of(call, call.x("self"));
  return p.op("Pow", {scalar_like(call, 2, x), x});
}
Item import_erfc(Call& call, TypedBuilder& p) {
  const Expr x = real_of(call, call.x("self"));
  return p.op("Sub", {scalar_like(call, 1, x), p.op("Erf", {x})});
}
Item import_scaled(Call& call, TypedBuilder& p) {  // deg2rad, rad2deg
  const Expr x = real_of(call, call.x("self"));
  return p.op("Mul", {x, scalar_like(call, call.rule.target == "deg2rad" ? kPi / 180 : 180 / kPi, x)});
}
Item import_logit(Call& call, TypedBuilder& p) {
  Expr x = real_of(call, call.x("self"));
  if (call.has("eps")) x = clip(p, x, call.real("eps"), 1 - call.real("eps"));
  return p.op("Log", {p.op("Div", {x, p.op("Sub", {scalar_like(call, 1, x), x})})});
}
Item import_sinc(Call& call, TypedBuilder& p) {
  const Expr x = real_of(call, call.x("self")), zero = scalar_like(call, 0, x), one = scalar_like(call, 1, x);
  const Expr none = p.op("Equal", {x, zero}), angle = p.op("Mul", {p.op("Where", {none, one, x}), scalar_like(call, kPi, x)});
  return p.op("Where", {none, one, p.op("Div", {p.op("Sin", {angle}), angle})});
}
Item import_atan2(Call& call, TypedBuilder& p) {
  const auto [y, x] = promoted(call, call["self"], call["other"]);
  return atan2(p, real_of(call, y), real_of(call, x));
}
Item import_is_finite(Call& call, TypedBuilder& p) {
  const Expr x = real_of(call, call.x("self"));
  return p.op("Not", {p.op("Or", {p.op("IsNaN", {x}), p.op("IsInf", {x})})});
}
Item import_is_special(Call& call, TypedBuilder& p) { return p.op(call.rule.target, {real_of(call, call.x("self"))}); }
Item import_nan_to_num(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const DType type = p.dtype(x);
  if (!is_floating(type)) return x;
  const double most = type == DType::f16 ? 65504 : type == DType::f64 ? std::numeric_limits<double>::max() : 3.4028234663852886e38;
  const Expr filled = p.op("Where", {p.op("IsNaN", {x}), scalar_like(call, call.real("nan", 0), x), x});
  const Expr high =
      p.op("Where", {p.op("IsInf", {x}, {{"detect_negative", int64_t{0}}}), scalar_like(call, call.real("posinf", most), x), filled});
  return p.op("Where", {p.op("IsInf", {x}, {{"detect_positive", int64_t{0}}}), scalar_like(call, call.real("neginf", -most), x), high});
}
Item import_clamp(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  const Item none;
  const std::string_view what = call.rule.target;  // "", "min", "max"
  const Item &low = what == "max" ? none : call["min"], &high = what == "min" ? none : call["max"];
  const auto real = [&](const Item& item) { return item.is_none() ? std::optional<double>() : std::optional(item.real()); };
  const auto simple = [](const Item& item) { return item.is_none() || item.is_known(); };
  if (low.is(Kind::real) || high.is(Kind::real)) x = real_of(call, x);
  if (simple(low) && simple(high)) {
    const auto from = real(low), to = real(high);
    if (from && to && *from > *to) return p.op("Min", {p.op("Max", {x, scalar_like(call, *from, x)}), scalar_like(call, *to, x)});
    return clip(p, x, from, to);
  }
  if (!low.is_none()) {
    const auto [a, b] = promoted(call, Item(x), low);
    x = p.op("Max", {a, b});
  }
  if (!high.is_none()) {
    const auto [a, b] = promoted(call, Item(x), high);
    x = p.op("Min", {a, b});
  }
  return x;
}
Item import_lerp(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["self"], call["end"]);
  const Expr weight = p.cast(call.x("weight"), p.dtype(a));
  return p.op("Add", {a, p.op("Mul", {weight, p.op("Sub", {b, a})})});
}
Item import_addcmul(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["tensor1"], call["tensor2"]);
  Expr product = p.op(call.rule.target, {a, b});
  const Item& value = call["value"];
  if (!value.is_known() || value.real() != 1) product = p.op("Mul", {product, p.cast(call.tensor(value), p.dtype(product))});
  const auto [x, y] = promoted(call, call["self"], Item(product));
  return p.op("Add", {x, y});
}
Item import_xlogy(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["self"], call["other"]);
  const Expr x = real_of(call, a), y = real_of(call, b), zero = scalar_like(call, 0, x);
  return p.op("Where", {p.op("Equal", {x, zero}), zero, p.op("Mul", {x, p.op("Log", {y})})});
}
Item import_hypot(Call& call, TypedBuilder& p) {
  const auto [x, y] = promoted(call, call["self"], call["other"]);
  return p.op("Sqrt", {p.op("Add", {p.op("Mul", {x, x}), p.op("Mul", {y, y})})});
}
Item import_logaddexp(Call& call, TypedBuilder& p) {
  const auto [x, y] = promoted(call, call["self"], call["other"]);
  const Expr most = p.op("Max", {x, y});
  return p.op("Add", {most, p.op("Log", {p.op("Add", {p.op("Exp", {p.op("Sub", {x, most})}), p.op("Exp", {p.op("Sub", {y, most})})})})});
}
Item import_where(Call& call, TypedBuilder& p) {
  const Expr condition = p.cast(call.x("condition"), DType::boolean);
  const auto [x, y] = promoted(call, call["self"], call["other"]);
  return p.op("Where", {condition, x, y});
}
Item import_masked_fill(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self"), mask = p.cast(call.x("mask"), DType::boolean);
  return p.op("Where", {mask, p.cast(call.tensor(call["value"]), p.dtype(x)), x});
}
Item import_is_close(Call& call, TypedBuilder& p) {
  const auto [x, y] = promoted(call, call["self"], call["other"]);
  const Expr bound =
      p.op("Add", {scalar_like(call, call.real("atol"), x), p.op("Mul", {p.op("Abs", {y}), scalar_like(call, call.real("rtol"), y)})});
  const Expr close = p.op("LessOrEqual", {p.op("Abs", {p.op("Sub", {x, y})}), bound});
  if (call.rule.target == "all") return p.op("ReduceMin", {p.cast(close, DType::i32)}, {{"keepdims", int64_t{0}}});
  return close;
}
Item import_tensors_equal(Call& call, TypedBuilder& p) {
  const auto [x, y] = promoted(call, call["self"], call["other"]);
  const Expr all = p.op("ReduceMin", {p.cast(p.op("Equal", {x, y}), DType::i32)}, {{"keepdims", int64_t{0}}});
  return Item::symbol(Kind::boolean, p.reshape(p.cast(all, DType::boolean), Ints{1}));
}

// Activations.

Item import_leaky_relu(Call& call, TypedBuilder& p) {
  return p.op("LeakyRelu", {call.x("self")}, {{"alpha", static_cast<float>(call.real("negative_slope"))}});
}
Item import_rrelu(Call& call, TypedBuilder& p) {
  if (call.flag("training")) call.refuse("training mode is not supported");
  return p.op("LeakyRelu", {call.x("self")}, {{"alpha", static_cast<float>((call.real("lower") + call.real("upper")) / 2)}});
}
Item import_relu(Call& call, TypedBuilder& p) { return p.op("Relu", {call.x("self")}); }
Item import_relu6(Call& call, TypedBuilder& p) { return clip(p, call.x("self"), 0, 6); }
Item import_elu(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const double alpha = call.real("alpha"), scale = call.real("scale"), input_scale = call.real("input_scale");
  if (scale == 1 && input_scale == 1) return p.op("Elu", {x}, {{"alpha", static_cast<float>(alpha)}});
  const Expr low = p.op("Mul", {p.op("Sub", {p.op("Exp", {p.op("Mul", {x, scalar_like(call, input_scale, x)})}), scalar_like(call, 1, x)}),
                                scalar_like(call, alpha * scale, x)});
  return p.op("Where", {p.op("Greater", {x, scalar_like(call, 0, x)}), p.op("Mul", {x, scalar_like(call, scale, x)}), low});
}
Item import_celu(Call& call, TypedBuilder& p) {
  return p.op("Celu", {call.x("self")}, {{"alpha", static_cast<float>(call.real("alpha"))}});
}
Item import_selu(Call& call, TypedBuilder& p) { return p.op("Selu", {call.x("self")}); }
Item import_gelu(Call& call, TypedBuilder& p) {
  return p.op("Gelu", {call.x("self")}, {{"approximate", std::string(call.text("approximate"))}});
}
Item import_silu(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op("Mul", {x, p.op("Sigmoid", {x})});
}
Item import_mish(Call& call, TypedBuilder& p) { return p.op("Mish", {call.x("self")}); }
Item import_hard_sigmoid(Call& call, TypedBuilder& p) {
  return p.op("HardSigmoid", {call.x("self")}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
}
Item import_hard_swish(Call& call, TypedBuilder& p) { return p.op("HardSwish", {call.x("self")}); }
Item import_hard_tanh(Call& call, TypedBuilder& p) { return clip(p, call.x("self"), call.real("min_val"), call.real("max_val")); }
Item import_hard_shrink(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op("Shrink", {x},
              {{"lambd", static_cast<float>(call.real("lambd"))},
               {"bias", call.rule.target == "soft" ? static_cast<float>(call.real("lambd")) : 0.0f}});
}
Item import_tanh_shrink(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op("Sub", {x, p.op("Tanh", {x})});
}
Item import_threshold(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op("Where", {p.op("Greater", {x, scalar_like(call, call.real("threshold"), x)}), x, scalar_like(call, call.real("value"), x)});
}
Item import_softplus(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const double beta = call.real("beta");
  if (beta == 1) return p.op("Softplus", {x});
  return p.op("Mul", {p.op("Softplus", {p.op("Mul", {x, scalar_like(call, beta, x)})}), scalar_like(call, 1 / beta, x)});
}
Item import_log_sigmoid(Call& call, TypedBuilder& p) { return p.op("Neg", {p.op("Softplus", {p.op("Neg", {call.x("self")})})}); }
Item import_softmax(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  if (call.rule.op != "aten::_softmax") x = p.cast(x, call.type("dtype", p.dtype(x)));
  x = real_of(call, x);
  return p.op(call.rule.target, {x}, {{"axis", call.integer("dim")}});
}
Item import_prelu(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  Expr slope = call.x("weight");
  const int64_t count = p.dim(slope, 0), rank = call.rank(x);
  if (count != 1 && rank > 2) {
    Ints shape(static_cast<size_t>(rank - 1), 1);
    shape[0] = count;
    slope = p.reshape(slope, shape);
  }
  return p.op("PRelu", {x, slope});
}
Item import_glu(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Exprs halves = p.ops("Split", {x}, 2, {{"axis", call.integer("dim")}, {"num_outputs", int64_t{2}}});
  return p.op("Mul", {halves[0], p.op("Sigmoid", {halves[1]})});
}
Item import_dropout(Call& call, TypedBuilder& p) {
  if (call.flag("train")) call.host.warn("training mode of Dropout is read as inference");
  if (call.rule.target.empty()) return call["input"];
  return p.op("Dropout", {call.x("input"), p.scalar(call.real("p"))});
}

// Reductions.

namespace {

/// The axes of `dim` (None or empty: all), as a constant for an operator's input; empty for all.
Expr axes_of(Call& call, std::string_view name) {
  const Ints axes = call.ints(name);
  return axes.empty() ? Expr() : call.p.constant(axes);
}
Expr reduce(Call& call, std::string_view op, const Expr& x, const Expr& axes, bool keep) {
  Exprs inputs = {x};
  if (axes) inputs.push_back(axes);
  return call.p.op(op, inputs, {{"keepdims", int64_t{keep}}});
}
bool keeps(Call& call) { return call.takes("keepdim") && call.flag("keepdim"); }
Expr dims(Call& call) { return call.takes("dim") ? axes_of(call, "dim") : Expr(); }

}  // namespace

Item import_reduce(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  const std::string_view op = call.rule.target;
  const bool sums = op == "ReduceSum" || op == "ReduceProd";
  if (call.takes("dtype")) x = p.cast(x, call.type("dtype", sums && !is_floating(p.dtype(x)) ? DType::i64 : p.dtype(x)));
  if (op == "ReduceMean" || op == "ReduceLogSumExp") x = real_of(call, x);
  return reduce(call, op, x, dims(call), keeps(call));
}
Item import_all_any(Call& call, TypedBuilder& p) {
  const Expr x = p.cast(p.cast(call.x("self"), DType::boolean), DType::i32);
  return p.cast(reduce(call, call.rule.target, x, dims(call), keeps(call)), DType::boolean);
}
Item import_count_nonzero(Call& call, TypedBuilder& p) {
  return reduce(call, "ReduceSum", p.cast(p.cast(call.x("self"), DType::boolean), DType::i64), dims(call), false);
}
Item import_nan_sum(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self"), nan = p.op("IsNaN", {x});
  const Expr sum = reduce(call, "ReduceSum", p.op("Where", {nan, scalar_like(call, 0, x), x}), dims(call), keeps(call));
  if (call.rule.target != "mean") return sum;
  const Expr count = reduce(call, "ReduceSum", p.cast(p.op("Not", {nan}), p.dtype(x)), dims(call), keeps(call));
  return p.op("Div", {sum, count});
}
Item import_min_max(Call& call, TypedBuilder& p) {  // of a dimension: values and places
  const Expr x = call.x("self");
  const int64_t axis = call.integer("dim");
  const bool least = call.rule.target == "min";
  if (call.rank(x) == 0) return Exprs{x, p.scalar(0, DType::i64)};
  const Expr values = reduce(call, least ? "ReduceMin" : "ReduceMax", x, p.constant({axis}), keeps(call));
  const Expr places = p.op(least ? "ArgMin" : "ArgMax", {x}, {{"axis", axis}, {"keepdims", int64_t{keeps(call)}}});
  return Exprs{values, places};
}
Item import_argmax(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  if (!call.has("dim")) {
    const Expr at = p.op(call.rule.target, {p.vector(x)}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}});
    return at;
  }
  return p.op(call.rule.target, {x}, {{"axis", call.integer("dim")}, {"keepdims", int64_t{keeps(call)}}});
}
Item import_aminmax(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const Expr axes = call.has("dim") ? p.constant({call.integer("dim")}) : Expr();
  return Exprs{reduce(call, "ReduceMin", x, axes, keeps(call)), reduce(call, "ReduceMax", x, axes, keeps(call))};
}
Item import_variance(Call& call, TypedBuilder& p) {
  const Expr x = real_of(call, call.x("self")), axes = dims(call);
  double correction = 1;
  if (call.takes("unbiased")) correction = call.flag("unbiased") ? 1 : 0;
  if (call.takes("correction")) correction = call.real("correction", 1);
  const Expr mean = reduce(call, "ReduceMean", x, axes, true), difference = p.op("Sub", {x, mean});
  Expr variance = reduce(call, "ReduceMean", p.op("Mul", {difference, difference}), axes, keeps(call));
  if (correction != 0) {
    // n / (n - correction); n is the number of reduced elements.
    const Expr all = p.shape_of(x);
    Expr taken = all;
    if (axes) {
      Ints places = *p.ints(axes);
      const int64_t rank = call.rank(x);
      for (int64_t& place : places) place = call.axis_of(place, rank);
      taken = p.gather(all, p.constant(places), 0);
    }
    const Expr n = p.cast(p.op("ReduceProd", {taken}, {{"keepdims", int64_t{0}}}), p.dtype(x));
    variance = p.op("Mul", {variance, p.op("Div", {n, p.op("Sub", {n, scalar_like(call, correction, x)})})});
  }
  const std::string_view what = call.rule.target;
  const Expr result = what.starts_with("std") ? p.op("Sqrt", {variance}) : variance;
  if (!what.ends_with("_mean")) return result;
  return Exprs{result, reduce(call, "ReduceMean", x, axes, keeps(call))};
}
Item import_norm(Call& call, TypedBuilder& p) {
  Expr x = real_of(call, call.x("self"));
  if (call.takes("dtype")) x = p.cast(x, call.type("dtype", p.dtype(x)));
  const std::string_view name = call.takes("ord") ? "ord" : "p";
  double order = 2;
  if (call[name].is(Kind::text)) {
    if (call.text(name) != "fro") call.refuse("the norm \"{}\" is not supported", call.text(name));
  } else {
    order = call.real(name, 2);
  }
  const Expr axes = dims(call);
  const bool keep = keeps(call);
  if (order == 1) return reduce(call, "ReduceL1", x, axes, keep);
  if (order == 2) return reduce(call, "ReduceL2", x, axes, keep);
  const Expr size = p.op("Abs", {x});
  if (std::isinf(order)) return reduce(call, order > 0 ? "ReduceMax" : "ReduceMin", size, axes, keep);
  if (order == 0) return reduce(call, "ReduceSum", p.cast(p.cast(x, DType::boolean), p.dtype(x)), axes, keep);
  const Expr sum = reduce(call, "ReduceSum", p.op("Pow", {size, scalar_like(call, order, x)}), axes, keep);
  return p.op("Pow", {sum, scalar_like(call, 1 / order, x)});
}
Item import_frobenius(Call& call, TypedBuilder& p) {
  static_cast<void>(p);
  return reduce(call, "ReduceL2", call.x("self"), dims(call), keeps(call));
}
Item import_cumulative(Call& call, TypedBuilder& p) {
  Expr x = call.x("self");
  x = p.cast(x, call.type("dtype", is_floating(p.dtype(x)) ? p.dtype(x) : DType::i64));
  if (call.rank(x) == 0) return x;
  return p.op(call.rule.target, {x, p.scalar(static_cast<double>(call.integer("dim")), DType::i64)});
}
Item import_log_cumsum_exp(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self"), axis = p.constant({call.integer("dim")});
  const Expr most = p.op("ReduceMax", {x, axis}, {{"keepdims", int64_t{1}}});
  const Expr sums = p.op("CumSum", {p.op("Exp", {p.op("Sub", {x, most})}), p.scalar(static_cast<double>(call.integer("dim")), DType::i64)});
  return p.op("Add", {p.op("Log", {sums}), most});
}
Item import_distance(Call& call, TypedBuilder& p) {  // cdist
  const Expr a = p.unsqueeze(call.x("x1"), {-2}), b = p.unsqueeze(call.x("x2"), {-3});
  const Expr difference = p.op("Sub", {a, b});
  const double order = call.real("p");
  if (order == 2) return p.op("ReduceL2", {difference, p.constant({-1})}, {{"keepdims", int64_t{0}}});
  if (order == 1) return p.op("ReduceL1", {difference, p.constant({-1})}, {{"keepdims", int64_t{0}}});
  call.refuse("a distance of order {} is not supported", order);
}
Item import_pairwise_distance(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["x1"], call["x2"]);
  if (call.real("p") != 2) call.refuse("a distance of order {} is not supported", call.real("p"));
  const Expr difference = p.op("Add", {p.op("Sub", {a, b}), scalar_like(call, call.real("eps"), a)});
  return p.op("ReduceL2", {difference, p.constant({-1})}, {{"keepdims", int64_t{call.flag("keepdim")}}});
}
Item import_cosine_similarity(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["x1"], call["x2"]);
  const Expr axis = p.constant({call.integer("dim")}), eps = scalar_like(call, call.real("eps"), a);
  const auto norm = [&](const Expr& x) { return p.op("Max", {p.op("ReduceL2", {x, axis}, {{"keepdims", int64_t{0}}}), eps}); };
  const Expr product = p.op("ReduceSum", {p.op("Mul", {a, b}), axis}, {{"keepdims", int64_t{0}}});
  return p.op("Div", {product, p.op("Mul", {norm(a), norm(b)})});
}

// Products.

Item import_matmul(Call& call, TypedBuilder& p) {
  const std::string_view second = call.takes("mat2") ? "mat2" : call.takes("vec2") ? "vec2" : call.takes("vec") ? "vec" : "other";
  const auto [a, b] = promoted(call, call["self"], call[second]);
  return p.op("MatMul", {a, b});
}
Item import_linear(Call& call, TypedBuilder& p) {
  const Expr x = call.x("input"), w = call.x("weight");
  const Expr bias = call.optional("bias");
  tell_size(x, -1, p.dim(w, -1));
  const Expr turned = p.rank(w) == 1 ? w : p.transpose(w, {1, 0});
  if (p.rank(x) == 2 && bias && p.rank(w) == 2) return p.op("Gemm", {x, w, bias}, {{"transB", int64_t{1}}});
  const Expr y = p.op("MatMul", {x, turned});
  return bias ? p.op("Add", {y, bias}) : y;
}
Item import_addmm(Call& call, TypedBuilder& p) {
  const std::string_view first = call.takes("mat1") ? "mat1" : call.takes("batch1") ? "batch1" : call.takes("mat") ? "mat" : "vec1";
  const std::string_view second = call.takes("mat2") ? "mat2" : call.takes("batch2") ? "batch2" : call.takes("vec") ? "vec" : "vec2";
  const Expr a = call.x(first), b = call.x(second);
  const double beta = call.real("beta"), alpha = call.real("alpha");
  Expr product = call.rule.target == "outer" ? p.op("Mul", {p.unsqueeze(a, {1}), p.unsqueeze(b, {0})}) : p.op("MatMul", {a, b});
  if (call.rule.target == "sum") product = p.op("ReduceSum", {product, p.constant({0})}, {{"keepdims", int64_t{0}}});
  if (alpha != 1) product = p.op("Mul", {product, scalar_like(call, alpha, product)});
  Expr c = call.x("self");
  if (beta == 0) return product;
  if (beta != 1) c = p.op("Mul", {c, scalar_like(call, beta, c)});
  return p.op("Add", {product, c});
}
Item import_outer(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["self"], call["vec2"]);
  return p.op("Mul", {p.unsqueeze(a, {1}), p.unsqueeze(b, {0})});
}
Item import_einsum(Call& call, TypedBuilder& p) {
  std::string equation = call.text("equation");
  std::erase(equation, ' ');
  const Exprs inputs = call.tensors("tensors");
  const Expr y = p.op("Einsum", inputs, {{"equation", equation}});
  // How many dimensions the result has, and their sizes, stand in the equation.
  const size_t arrow = equation.find("->");
  if (!y.value()->type.dims && arrow != equation.npos && equation.find('.') == equation.npos) {
    const std::string out = equation.substr(arrow + 2);
    std::vector<Dim> dims(out.size());
    size_t place = 0;
    for (const Expr& x : inputs) {
      for (int64_t axis = 0; place < arrow && equation[place] != ','; ++axis, ++place)
        if (const size_t at = out.find(equation[place]); at != out.npos && p.dim(x, axis) > 1) dims[at].size = p.dim(x, axis);
      ++place;
    }
    y.value()->type.dims = std::move(dims);
  }
  return y;
}
Item import_tensordot(Call& call, TypedBuilder& p) {
  const Expr a = call.x("self"), b = call.x("other");
  const int64_t rank_a = call.rank(a), rank_b = call.rank(b);
  const Ints axes_a = call.ints("dims_self"), axes_b = call.ints("dims_other");
  if (axes_a.size() != axes_b.size() || rank_a + rank_b > 26) call.fail("its dimensions do not fit");
  std::string left, right, out;
  for (int64_t i = 0; i < rank_a; ++i) left += static_cast<char>('a' + i);
  for (int64_t i = 0; i < rank_b; ++i) right += static_cast<char>('a' + rank_a + i);
  for (size_t i = 0; i < axes_a.size(); ++i)
    right[static_cast<size_t>(call.axis_of(axes_b[i], rank_b))] = left[static_cast<size_t>(call.axis_of(axes_a[i], rank_a))];
  for (char c : left)
    if (right.find(c) == right.npos) out += c;
  for (char c : right)
    if (left.find(c) == left.npos) out += c;
  return p.op("Einsum", {a, b}, {{"equation", left + "," + right + "->" + out}});
}
Item import_bilinear(Call& call, TypedBuilder& p) {
  const Expr a = call.x("input1"), b = call.x("input2"), w = call.x("weight"), bias = call.optional("bias");
  const Expr y = p.op("Einsum", {a, w, b}, {{"equation", std::string("...i,kij,...j->...k")}});
  return bias ? p.op("Add", {y, bias}) : y;
}
Item import_cross(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["self"], call["other"]);
  const int64_t axis = call.has("dim") ? call.axis("dim", call.rank(a)) : call.rank(a) - 1;
  const auto rolled = [&](const Expr& x, const Ints& order) { return p.gather(x, p.constant(order), axis); };
  return p.op("Sub",
              {p.op("Mul", {rolled(a, {1, 2, 0}), rolled(b, {2, 0, 1})}), p.op("Mul", {rolled(a, {2, 0, 1}), rolled(b, {1, 2, 0})})});
}
Item import_det(Call& call, TypedBuilder& p) { return p.op("Det", {call.x("self")}); }
Item import_mse_loss(Call& call, TypedBuilder& p) {
  const auto [a, b] = promoted(call, call["self"], call["target"]);
  const Expr difference = p.op("Sub", {a, b});
  const Expr loss = call.rule.target == "l1" ? p.op("Abs", {difference}) : p.op("Mul", {difference, difference});
  const int64_t reduction = call.integer("reduction");
  if (reduction == 0) return loss;
  return p.op(reduction == 1 ? "ReduceMean" : "ReduceSum", {loss}, {{"keepdims", int64_t{0}}});
}

}  // namespace minnow::torchscript
