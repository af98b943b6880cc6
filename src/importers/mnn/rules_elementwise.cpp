// SPDX-License-Identifier: Apache-2.0
// Operators that take each element by itself. MNN has truth values as integers; here they stay truth values until arithmetic meets them.
#include <algorithm>

#include "importers/mnn/rules.h"

#include "importers/builder/arithmetic.h"

namespace minnow::mnn {
namespace {

/// The activation that BinaryOp, convolutions and Eltwise may hold.
Expr rounded_half_away(TypedBuilder& p, const Expr& x) {
  // Round rounds ties to even; MNN rounds them away from zero.
  const Expr even = p.op("Round", {x}), tie = p.op("Equal", {p.op("Abs", {p.op("Sub", {x, even})}), p.scalar(0.5)});
  return p.op("Where", {tie, p.op("Add", {x, p.op("Mul", {p.op("Sign", {x}), p.scalar(0.5)})}), even});
}

Expr erf_inv(TypedBuilder& p, const Expr& x) {
  // M. Giles 2012, "Approximating the erfinv function": two polynomials of w = -ln(1 - x^2).
  static constexpr double kNear[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                     -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  static constexpr double kFar[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                    -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const Expr w = p.op("Neg", {p.op("Log", {p.op("Sub", {p.scalar(1), p.op("Mul", {x, x})})})});
  const auto polynomial = [&](const double(&coefficients)[9], const Expr& at) {
    Expr sum = p.scalar(coefficients[0]);
    for (size_t i = 1; i < 9; ++i) sum = p.op("Add", {p.op("Mul", {sum, at}), p.scalar(coefficients[i])});
    return sum;
  };
  const Expr near = polynomial(kNear, p.op("Sub", {w, p.scalar(2.5)}));
  const Expr far = polynomial(kFar, p.op("Sub", {p.op("Sqrt", {w}), p.scalar(3)}));
  return p.op("Mul", {p.op("Where", {p.op("Less", {w, p.scalar(5)}), near, far}), x});
}

Expr unary(const MnnNode& node, TypedBuilder& p, int64_t number, const Expr& x) {
  static constexpr std::string_view kNames[] = {"Abs",   "Neg",  "Floor",   "Ceil",  "",          "Sqrt", "",           "Exp", "Log",
                                                "Sin",   "Cos",  "Tan",     "Asin",  "Acos",      "Atan", "Reciprocal", "",    "Softplus",
                                                "Acosh", "Sinh", "Asinh",   "Atanh", "Sign",      "",     "Cosh",       "Erf", "",
                                                "",      "",     "Sigmoid", "Tanh",  "HardSwish", "",     "",           ""};
  if (number < 0 || number >= static_cast<int64_t>(std::size(kNames))) node.refuse("function {} is not supported", number);
  const DType type = p.dtype(x);
  const Expr one = p.scalar(1, type);
  switch (number) {
    case 4:
      return p.op("Mul", {x, x});
    case 6:
      return p.op("Reciprocal", {p.op("Sqrt", {x})});
    case 16:
      return p.op("Log", {p.op("Add", {x, one})});
    case 23:
      return is_float(type) ? rounded_half_away(p, x) : x;
    case 26:
      return p.op("Sub", {one, p.op("Erf", {x})});
    case 27:
      return erf_inv(p, x);
    case 28:
      return p.op("Sub", {p.op("Exp", {x}), one});
    case 32:
      return p.op("Gelu", {x}, {{"approximate", std::string("tanh")}});
    case 33:
      return p.op("Gelu", {x});
    case 34:
      return p.op("Mul", {x, p.op("Sigmoid", {x})});
    case 2:
    case 3:
      return is_float(type) ? p.op(kNames[number], {x}) : x;
    default:
      return p.op(kNames[number], {x});
  }
}

}  // namespace

Exprs import_identity(MnnNode& node, TypedBuilder&) {
  Exprs all;
  for (size_t i = 0; i < node.output_count(); ++i) all.push_back(node.has(i) ? node.any(i) : Expr());
  return all;
}

Exprs import_unary(MnnNode& node, TypedBuilder& p) { return {unary(node, p, node.integer(0), node.input(0))}; }
Exprs import_plain_unary(MnnNode& node, TypedBuilder& p) { return {p.op(node.rule->target, {node.input(0)})}; }

Exprs import_binary(MnnNode& node, TypedBuilder& p) {
  const int64_t number = node.integer(0);
  if (node.input_count() != 2) node.fail("should have two inputs, it has {}", node.input_count());
  // The output has the layout of the input of more dimensions.
  if (p.rank(node.any(0)) < p.rank(node.any(1)) && !node.output_layouts.empty()) node.output_layouts[0] = node.layout(1);
  const auto logic = [&](std::string_view op) { return p.op(op, {node.truth(0), node.truth(1)}); };
  const bool booleans = p.dtype(node.any(0)) == DType::boolean && p.dtype(node.any(1)) == DType::boolean;
  if (booleans) {
    if (number == 2 || number == 8) return {logic("And")};
    if (number == 9) return {logic("Or")};
    if (number == 15) return {logic("Equal")};
    if (number == 22) return {logic("Xor")};
  }
  const Exprs both = node.all_inputs();
  const Expr &a = both[0], &b = both[1];
  const bool real = is_float(p.dtype(a));
  const auto plain = [&](std::string_view op) { return p.op(op, {a, b}); };
  Expr y;
  switch (number) {
    case 0:
      y = plain("Add");
      break;
    case 1:
      y = plain("Sub");
      break;
    case 2:
      y = plain("Mul");
      break;
    case 3:
    case 7:
      y = plain("Div");
      break;
    case 6:
      y = plain("Pow");
      break;
    case 5:
    case 8:
      y = plain("Min");
      break;
    case 4:
    case 9:
      y = plain("Max");
      break;
    case 10:
      return {plain("Greater")};
    case 11:
      return {plain("GreaterOrEqual")};
    case 12:
      return {plain("Less")};
    case 13:
      y = floor_div(p, a, b);
      break;
    case 14: {
      const Expr difference = plain("Sub");
      y = p.op("Mul", {difference, difference});
      break;
    }
    case 15:
      return {plain("Equal")};
    case 16:
      return {plain("LessOrEqual")};
    case 17:
      // ONNX's Mod with fmod arrives under this number too.
      y = node.file.source_kind() == 3 ? p.op("Mod", {a, b}, {{"fmod", int64_t{1}}}) : floor_mod(p, a, b);
      break;
    case 19:
      y = real ? p.op("Mod", {a, b}, {{"fmod", int64_t{1}}}) : plain("Mod");
      break;
    case 20:
      y = atan2(p, a, b);
      break;
    case 21:
      return {logic("Or")};
    case 22:
      return {p.op("Not", {plain("Equal")})};
    case 23:
      return {plain("BitwiseAnd")};
    case 24:
      return {plain("BitwiseOr")};
    case 25:
      return {plain("BitwiseXor")};
    case 26:
      return {logic("Xor")};
    case 27:
    case 28: {
      if (real) node.fail("shifts a tensor of {}", p.dtype(a));
      // BitShift takes unsigned integers; a shift to the right keeps the sign, as division by a power of two that rounds down does.
      const Expr power = p.cast(p.op("Pow", {p.scalar(2, DType::f64), p.cast(b, DType::f64)}), p.dtype(a));
      return {number == 27 ? p.op("Mul", {a, power}) : floor_div(p, a, power)};
    }
    case 29:
      return {p.op("Mul", {a, unary(node, p, 34, b)})};
    default:
      node.refuse("function {} is not supported", number);
  }
  if (node.integer(2) == 1) y = p.op("Relu", {y});
  return {y};
}

Exprs import_cast(MnnNode& node, TypedBuilder& p) {
  const int64_t number = node.integer(1);
  const DType type = dtype_of(static_cast<int32_t>(number));
  if (type == DType::undefined) node.refuse("elements of type {} are not supported", number);
  if (number == 10) return {node.truth(0)};
  const Expr x = node.input(0);
  if (type == DType::i32 && p.dtype(x) == DType::i64) return {x};
  return {p.cast(x, type)};
}

Exprs import_cast_like(MnnNode& node, TypedBuilder& p) {
  const DType type = p.dtype(node.input(1));
  return {p.cast(node.input(0), type)};
}

Exprs import_bnll(MnnNode& node, TypedBuilder& p) { return {p.op("Softplus", {node.input(0)})}; }
Exprs import_elu(MnnNode& node, TypedBuilder& p) { return {p.op("Elu", {node.input(0)}, {{"alpha", node.real(0)}})}; }
Exprs import_selu(MnnNode& node, TypedBuilder& p) {
  return {p.op("Selu", {node.input(0)}, {{"alpha", node.real(1)}, {"gamma", node.real(0)}})};
}

Exprs import_eltwise(MnnNode& node, TypedBuilder& p) {
  static constexpr std::string_view kNames[] = {"Mul", "Add", "Max", "Sub"};
  const int64_t number = node.integer<int8_t>(0);
  if (number < 0 || number > 3) node.refuse("function {} is not supported", number);
  const std::vector<float> coefficients = node.reals(1);
  const Exprs inputs = node.all_inputs();
  if (inputs.empty()) node.fail("has no inputs");
  Expr y;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Expr x = inputs[i];
    if (number == 1 && i < coefficients.size() && coefficients[i] != 1)
      x = p.op("Mul", {x, p.scalar(static_cast<double>(coefficients[i]), p.dtype(x))});
    y = i == 0 ? x : p.op(kNames[number], {y, x});
  }
  return {y};
}

Exprs import_relu(MnnNode& node, TypedBuilder& p) {
  const float slope = node.real(0);
  const Expr x = node.input(0);
  return {slope == 0 ? p.op("Relu", {x}) : p.op("LeakyRelu", {x}, {{"alpha", slope}})};
}

Exprs import_relu6(MnnNode& node, TypedBuilder& p) {
  return {clip(p, node.input(0), static_cast<double>(node.real(0, 0)), static_cast<double>(node.real(1, 6)))};
}

Exprs import_prelu(MnnNode& node, TypedBuilder& p) {
  if (node.input_count() > 1) return {p.op("PRelu", {node.input(0), node.input(1)})};
  const std::vector<float> slope = node.reals(1);
  if (slope.empty()) node.fail("has no slopes");
  if (slope.size() == 1) return {p.op("LeakyRelu", {node.input(0)}, {{"alpha", slope[0]}})};
  const Expr x = node.image();
  const int64_t rank = p.rank(x);
  if (rank < 0) node.refuse("a tensor of unknown rank is not supported");
  Shape shape{static_cast<int64_t>(slope.size())};
  for (int64_t i = 2; i < rank; ++i) shape.push_back(1);
  return {node.from_image(p.op("PRelu", {x, p.constant(Tensor::of_f32(shape, slope))}))};
}

Exprs import_scale(MnnNode& node, TypedBuilder& p) {
  const std::vector<float> scale = node.file.reals(node.parameter(), 1, 3, 1, node.info, node.place);
  const std::vector<float> bias = node.file.reals(node.parameter(), 2, 3, 2, node.info, node.place);
  if (scale.empty()) node.fail("has no scales");
  if (!bias.empty() && bias.size() != scale.size()) node.fail("has {} scales and {} biases", scale.size(), bias.size());
  const Expr x = node.image();
  const int64_t rank = p.rank(x);
  if (rank < 0) node.refuse("a tensor of unknown rank is not supported");
  Shape shape{static_cast<int64_t>(scale.size())};
  for (int64_t i = 2; i < rank; ++i) shape.push_back(1);
  Expr y = p.op("Mul", {x, p.constant(Tensor::of_f32(shape, scale))});
  if (std::any_of(bias.begin(), bias.end(), [](float v) { return v != 0; })) y = p.op("Add", {y, p.constant(Tensor::of_f32(shape, bias))});
  return {node.from_image(y)};
}

Exprs import_select(MnnNode& node, TypedBuilder& p) {
  const Exprs values = node.alike({node.input(1), node.input(2)});
  if (!node.output_layouts.empty()) node.output_layouts[0] = node.layout(1);
  return {p.op("Where", {node.truth(0), values[0], values[1]})};
}

Exprs import_threshold(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  return {p.cast(p.op("Greater", {x, p.scalar(static_cast<double>(node.real(0)), p.dtype(x))}), p.dtype(x))};
}

Exprs import_zeros_like(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  return {p.fill(p.shape_of(x), 0, p.dtype(x))};
}

Exprs import_split_gelu(MnnNode& node, TypedBuilder& p) {
  // The last dimension halves: the first half times Gelu of the second.
  const Expr x = node.input(0);
  const Exprs halves = p.ops("Split", {x}, 2, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  return {p.op("Mul", {halves[0], p.op("Gelu", {halves[1]})})};
}

Exprs import_spatial_product(MnnNode& node, TypedBuilder& p) {
  // Each channel times the other input's one channel.
  return {node.from_image(p.op("Mul", {node.image(), node.input(1)}))};
}

}  // namespace minnow::mnn
