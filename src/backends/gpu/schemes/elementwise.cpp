// SPDX-License-Identifier: Apache-2.0
// Elementwise operators, fused or alone: the kernel's source is written from the operators, one expression each.
#include <unordered_map>

#include "backends/gpu/schemes/broadcast.h"
#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/integers.h"
#include "backends/gpu/schemes/packed.h"
#include "backends/gpu/schemes/schemes.h"
#include "ops/operator.h"

namespace minnow::gpu {
namespace {

// $0, $1, $2 are the operands; $a, $b, $c attributes.
struct Pattern {
  std::string_view op, real, integer;  // empty: not for this kind
  Name a = {};                         // names of attributes, and their defaults
  float a_default = 0;
  Name b = {};
  float b_default = 0;
};

constexpr Pattern kPatterns[] = {
    {"Abs", "fabs($0)", "($0 < 0 ? 0 - $0 : $0)"},
    {"Acos", "acos($0)", ""},
    {"Acosh", "acosh($0)", ""},
    {"Add", "($0 + $1)", "($0 + $1)"},
    {"And", "", "($0 & $1)"},
    {"Asin", "asin($0)", ""},
    {"Asinh", "asinh($0)", ""},
    {"Atan", "atan($0)", ""},
    {"Atanh", "atanh($0)", ""},
    {"BitwiseAnd", "", "($0 & $1)"},
    {"BitwiseNot", "", "(~$0)"},
    {"BitwiseOr", "", "($0 | $1)"},
    {"BitwiseXor", "", "($0 ^ $1)"},
    {"Ceil", "ceil($0)", ""},
    {"Celu", "($0 < 0 ? $a * (exp($0 / $a) - 1.0f) : $0)", "", "alpha", 1},
    {"Cos", "cos($0)", ""},
    {"Cosh", "cosh($0)", ""},
    {"Div", "QUOTIENT($0, $1)", "($0 / $1)"},
    {"Elu", "($0 < 0 ? $a * (exp($0) - 1.0f) : $0)", "", "alpha", 1},
    {"Equal", "($0 == $1)", "($0 == $1)"},
    {"Erf", "erf($0)", ""},
    {"Exp", "exp($0)", ""},
    {"Floor", "floor($0)", ""},
    {"Greater", "($0 > $1)", "($0 > $1)"},
    {"GreaterOrEqual", "($0 >= $1)", "($0 >= $1)"},
    {"HardSigmoid", "BOUNDED($0 * $a + $b)", "", "alpha", 0.2f, "beta", 0.5f},
    {"HardSwish", "($0 * BOUNDED($0 / 6.0f + 0.5f))", ""},
    {"Identity", "$0", "$0"},
    {"IsNaN", "($0 != $0)", ""},
    {"LeakyRelu", "($0 < 0 ? $0 * $a : $0)", "", "alpha", 0.01f},
    {"Less", "($0 < $1)", "($0 < $1)"},
    {"LessOrEqual", "($0 <= $1)", "($0 <= $1)"},
    {"Log", "log($0)", ""},
    {"Mish", "($0 * tanh($0 > 20.0f ? $0 : log1p(exp($0))))", ""},
    {"Mul", "($0 * $1)", "($0 * $1)"},
    {"Neg", "(-$0)", "(0 - $0)"},
    {"Not", "", "(!$0)"},
    {"Or", "", "($0 | $1)"},
    {"PRelu", "($0 < 0 ? $0 * $1 : $0)", "($0 < 0 ? $0 * $1 : $0)"},
    {"Pow", "pow($0, $1)", ""},
    {"Reciprocal", "QUOTIENT(1.0f, $0)", ""},
    {"Relu", "($0 < 0 ? 0.0f : $0)", "($0 < 0 ? 0 : $0)"},
    {"Round", "rint($0)", ""},
    {"Selu", "($b * ($0 <= 0 ? $a * (exp($0) - 1.0f) : $0))", "", "alpha", 1.67326319217681884765625f, "gamma", 1.05070102214813232421875f},
    {"Shrink", "($0 < -$a ? $0 + $b : $0 > $a ? $0 - $b : 0.0f)", "", "lambd", 0.5f, "bias", 0},
    {"Sigmoid", "(1.0f / (1.0f + exp(-$0)))", ""},
    {"Sign", "($0 > 0 ? 1.0f : $0 < 0 ? -1.0f : $0 != $0 ? $0 : 0.0f)", "($0 > 0 ? 1 : $0 < 0 ? -1 : 0)"},
    {"Sin", "sin($0)", ""},
    {"Sinh", "sinh($0)", ""},
    {"Softplus", "($0 > 20.0f ? $0 : log1p(exp($0)))", ""},
    {"Softsign", "($0 / (1.0f + fabs($0)))", ""},
    {"Sqrt", "sqrt($0)", ""},
    {"Sub", "($0 - $1)", "($0 - $1)"},
    {"Swish", "($0 / (1.0f + exp(-$a * $0)))", "", "alpha", 1},
    {"Tan", "tan($0)", ""},
    {"Tanh", "tanh($0)", ""},
    {"ThresholdedRelu", "($0 > $a ? $0 : 0.0f)", "", "alpha", 1},
    {"Where", "($0 ? $1 : $2)", "($0 ? $1 : $2)"},
    {"Xor", "", "($0 ^ $1)"},
};

// NaN in any operand gives NaN.
constexpr std::string_view kRealMax = "($0 != $0 || $0 > $1 ? $0 : $1)", kRealMin = "($0 != $0 || $0 < $1 ? $0 : $1)";
constexpr std::string_view kIntegerMax = "($0 > $1 ? $0 : $1)", kIntegerMin = "($0 < $1 ? $0 : $1)";

std::string filled(std::string_view pattern, std::span<const std::string> operands, float a = 0, float b = 0) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      text += pattern[i];
      continue;
    }
    const char c = pattern[++i];
    text += c == 'a' ? literal(a) : c == 'b' ? literal(b) : operands[static_cast<size_t>(c - '0')];
  }
  return text;
}

// The same function of two operands over all of them.
std::string folded(std::string_view pattern, std::span<const std::string> operands) {
  std::string text = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    const std::string both[] = {text, operands[i]};
    text = filled(pattern, both);
  }
  return text;
}

// Whether no element is divided by 0, which is an error, or by -1, which may overflow.
bool divides_safely(const NodeView& node) {
  if (!node.is_constant(1) || node.input_shape(1).elements() > 64) return false;
  const DType dtype = node.input_dtype(1);
  if (dtype == DType::u64 || dtype == DType::boolean) return false;
  for (const int64_t divisor : node.ints(1))
    if (divisor == 0 || divisor == -1) return false;
  return true;
}

}  // namespace

std::optional<std::string> expression_of(const NodeView& node, std::span<const std::string> operands) {
  const std::string& op = node.op();
  const DType dtype = node.input_dtype(op == "Where" ? 1 : 0);
  const bool real = is_real(dtype);
  if (op == "Max" || op == "Min") {
    if (operands.size() > 3) return std::nullopt;  // the text doubles with each
    return folded(op == "Max" ? (real ? kRealMax : kIntegerMax) : (real ? kRealMin : kIntegerMin), operands);
  }
  if (op == "Sum" || op == "Mean") {
    std::string sum = folded("($0 + $1)", operands);
    return op == "Sum" ? sum : format("QUOTIENT({}, {})", sum, literal(static_cast<float>(operands.size())));
  }
  if (op == "Clip") {
    std::string x = operands[0];
    for (const size_t i : {size_t{1}, size_t{2}})
      if (i < operands.size() && !operands[i].empty())
        x = format(i == 1 ? "({} < {} ? {} : {})" : "({} > {} ? {} : {})", x, operands[i], operands[i], x);
    return x;
  }
  if (op == "Cast" || op == "CastLike") {
    if (!node.has_output(0)) return std::nullopt;
    const DType to = node.output(0).dtype;
    if (to == DType::boolean) return format("({} != 0)", operands[0]);
    if (real && to == DType::i32) return format("I32_OF({})", operands[0]);
    if (real && to == DType::i64) return format("I64_OF({})", operands[0]);
    if (real && !is_real(to)) return std::nullopt;
    return format("({})({})", computed_as(to), operands[0]);
  }
  if (op == "IsInf") {
    const bool negative = node.attribute(Attribute<bool>{"detect_negative", true});
    const bool positive = node.attribute(Attribute<bool>{"detect_positive", true});
    return format("(isinf({}) && ({} < 0 ? {} : {}))", operands[0], operands[0], negative ? 1 : 0, positive ? 1 : 0);
  }
  if (op == "DequantizeLinear")
    return format("(((float){} - (float){}) * {})", operands[0], operands.size() > 2 && !operands[2].empty() ? operands[2] : "0",
                  operands[1]);
  if (op == "QuantizeLinear") {
    const DType to = node.output(0).dtype;
    if (!is_byte(to)) return std::nullopt;
    return format("QUANTIZED(rint(QUOTIENT({}, {})), (float){}, {}.0f, {}.0f)", operands[0], operands[1],
                  operands.size() > 2 && !operands[2].empty() ? operands[2] : "0", lowest_of(to), highest_of(to));
  }
  if (op == "Gelu") {
    const bool tanh = node.attribute(Attribute<Name>{"approximate", "none"}) == "tanh";
    // (1 + tanh u) / 2 = 1 / (1 + e^-2u)
    return filled(
        tanh ? "($0 / (1.0f + exp(-1.5957691216f * ($0 + 0.044715f * $0 * $0 * $0))))" : "(0.5f * $0 * (1.0f + erf($0 * 0.70710678118f)))",
        operands);
  }
  if ((op == "Div" || op == "Mod") && !real && !divides_safely(node)) return std::nullopt;
  if (op == "Mod") {
    const bool c_like = node.attribute(Attribute<bool>{"fmod", false});
    if (real) return c_like ? std::optional(filled("fmod($0, $1)", operands)) : std::nullopt;
    if (c_like) return filled("($0 % $1)", operands);
    return filled("($0 % $1 != 0 && (($0 < 0) != ($1 < 0)) ? $0 % $1 + $1 : $0 % $1)", operands);
  }
  if (op == "Pow" && node.has_input(1) && (!real || !is_real(node.input_dtype(1)))) return std::nullopt;
  if (op == "Pow" && node.is_constant(1) && node.input_shape(1).elements() == 1) {
    const double exponent = node.real_scalar(1);
    if (exponent == 2) return filled("($0 * $0)", operands);
    if (exponent == 3) return filled("($0 * $0 * $0)", operands);
    if (exponent == 0.5) return filled("sqrt($0)", operands);
    if (exponent == 1) return operands[0];
    if (exponent == -1) return filled("QUOTIENT(1.0f, $0)", operands);
  }
  if (op == "Abs" && (dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64)) return operands[0];
  for (const Pattern& pattern : kPatterns) {
    if (pattern.op != op) continue;
    const std::string_view text = real ? pattern.real : pattern.integer;
    if (text.empty()) return std::nullopt;
    const float a = pattern.a.empty() ? 0 : node.attribute(Attribute<float>{pattern.a, pattern.a_default});
    const float b = pattern.b.empty() ? 0 : node.attribute(Attribute<float>{pattern.b, pattern.b_default});
    return filled(text, operands, a, b);
  }
  return std::nullopt;
}

std::string expression_of(const Activation& activation, const std::string& x) {
  using Kind = Activation::Kind;
  const std::string operands[] = {x, literal(activation.alpha), literal(activation.beta)};
  const auto fill = [&](std::string_view pattern) { return filled(pattern, operands, activation.alpha, activation.beta); };
  switch (activation.kind) {
    case Kind::none:
      return x;
    case Kind::relu:
      return fill("($0 < 0 ? 0.0f : $0)");
    case Kind::clip:
      return fill("($0 < $1 ? $1 : $0 > $2 ? $2 : $0)");
    case Kind::leaky_relu:
      return fill("($0 < 0 ? $0 * $1 : $0)");
    case Kind::hard_sigmoid:
      return fill("BOUNDED($0 * $1 + $2)");
    case Kind::hard_swish:
      return fill("($0 * BOUNDED($0 / 6.0f + 0.5f))");
    case Kind::sigmoid:
      return fill("(1.0f / (1.0f + exp(-$0)))");
    case Kind::tanh:
      return fill("tanh($0)");
    case Kind::swish:
      return fill("($0 / (1.0f + exp(-$0)))");
    case Kind::gelu:
      return fill("(0.5f * $0 * (1.0f + erf($0 * 0.70710678118f)))");
  }
  return x;
}

namespace {

// Statements that compute the result from the operands' names; the name of the result.
struct Body {
  std::string statements, result;
};

std::string scalar_text(const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) return literal(tensor.data<float>()[0]);
  if (tensor.dtype() == DType::boolean) return tensor.data<uint8_t>()[0] ? "1" : "0";
  if (tensor.dtype() == DType::i32) return format("({})", tensor.data<int32_t>()[0]);
  if (tensor.dtype() == DType::u8) return format("({})", tensor.data<uint8_t>()[0]);
  if (tensor.dtype() == DType::i8) return format("({})", tensor.data<int8_t>()[0]);
  return {};
}

// Whether the node's result is a boolean, by its operator's rule; `inputs` have dtypes.
bool gives_boolean(const Node& node, std::span<const ValueInfo* const> inputs) {
  const Operator* const definition = OperatorSet::builtin().find(node.op());
  if (!definition || definition->outputs.empty()) return false;
  const DTypeRule& rule = definition->outputs[0].dtype;
  if (rule.kind == DTypeRule::Kind::fixed) return rule.dtype == DType::boolean;
  for (size_t i = 0; i < std::min(inputs.size(), definition->inputs.size()); ++i)
    if (rule.kind == DTypeRule::Kind::same_as && definition->inputs[i].name == rule.name)
      return inputs[i] && inputs[i]->dtype == DType::boolean;
  return false;
}

std::optional<Body> body_of(const NodeView& node, std::span<const std::string> operands) {
  if (node.op() != kFusedElementwise) {
    const auto text = expression_of(node, operands);
    if (!text) return std::nullopt;
    return Body{{}, *text};
  }
  const Graph& graph = **node.find<Subgraph>("body");
  struct Known {
    std::string name;
    ValueInfo info;
  };
  std::unordered_map<const Value*, Known> known;
  for (size_t i = 0; i < node.input_count(); ++i) known[graph.inputs()[i].get()] = {operands[i], node.input(i)};
  for (const auto& constant : graph.constants()) {
    Known& made = known[constant.get()];
    made.info.dtype = constant->constant()->dtype();
    made.info.shape = constant->constant()->shape();
    made.info.contents = *constant->constant();
    made.name = scalar_text(*constant->constant());
    if (made.name.empty()) return std::nullopt;
  }
  Body body;
  size_t number = 0;
  for (const Node& inner : graph.nodes()) {
    std::vector<const ValueInfo*> infos;
    std::vector<std::string> names;
    for (size_t i = 0; i < inner.input_count(); ++i) {
      const Value* input = inner.input(i);
      infos.push_back(input ? &known.at(input).info : nullptr);
      names.push_back(input ? known.at(input).name : std::string());
    }
    // Only f32, booleans and quantized bytes are fused.
    ValueInfo result;
    result.dtype = gives_boolean(inner, infos) ? DType::boolean : DType::f32;
    if (inner.op() == "QuantizeLinear") result.dtype = infos.size() > 2 && infos[2] ? infos[2]->dtype : DType::u8;
    if (inner.op() == "Cast") return std::nullopt;
    const ValueInfo* outputs[] = {&result};
    const auto text = expression_of(NodeView(inner, infos, outputs), names);
    if (!text) return std::nullopt;
    const std::string name = format("t{}", number++);
    body.statements += format("  const {} {} = {};\n", computed_as(result.dtype), name, *text);
    known[inner.output(0)] = {name, std::move(result)};
  }
  body.result = known.at(graph.outputs()[0]).name;
  return body;
}

std::vector<std::string> operand_names(const NodeView& node) {
  std::vector<std::string> names;
  for (size_t i = 0; i < node.input_count(); ++i) names.push_back(node.has_input(i) ? format("v{}", i) : std::string());
  return names;
}

constexpr int64_t kMany = 1 << 18;

bool ignores_input(const NodeView& node, size_t i) { return node.op() == "CastLike" && i == 1; }

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  if (node.output_count() != 1) return declined("it has several outputs");
  if (node.input_count() > 16) return declined("it has more than 16 inputs");
  if (!body_of(node, operand_names(node))) return declined("an operator or a dtype in it has no expression");
  Estimate result = estimate_of(node, device);
  for (size_t i = 0; i < node.input_count() && result.overwrites < 0; ++i)
    if (node.has_input(i) && node.input_shape(i) == node.output_shape(0) && node.input_dtype(i) == node.output(0).dtype)
      result.overwrites = static_cast<int>(i);
  return result;
}

// Whether all tensors are alike, of 16 bits: then items load and store words of two neighbours.
bool is_of_words(const NodeView& node) {
  bool words = node.output_shape(0).elements() % 2 == 0;
  for (size_t i = 0; i <= node.input_count(); ++i) {
    if (i < node.input_count() && (!node.has_input(i) || ignores_input(node, i))) continue;
    const ValueInfo& info = i < node.input_count() ? node.input(i) : node.output(0);
    words = words && info.shape == node.output_shape(0) && is_real(info.dtype) && info.dtype != DType::f32;
  }
  return words;
}

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Body body = *body_of(node, operand_names(node));
  Broadcast broadcast(node.output_shape(0));
  int64_t count = node.output_shape(0).elements();
  // In large tensors an item computes several elements, whose loads are under way at the same time.
  int64_t each = count < kMany ? 1 : 16 / static_cast<int64_t>(size_of(node.output(0).dtype));
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && !is_real(node.input_dtype(i))) each = 1;
  if (!is_real(node.output(0).dtype)) each = 1;
  const bool words = each > 1 && is_of_words(node);
  if (words) each /= 2, count /= 2;
  const auto memory = [&](std::string_view dtype) { return words ? std::string("u32") : format("MEM({})", dtype); };
  std::string parameters, pointers, loads, names;
  std::vector<Given> given;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && !ignores_input(node, i)) broadcast.add(node.input_shape(i));
  broadcast.finish();
  size_t s = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i) || ignores_input(node, i)) continue;
    const std::string_view dtype = dialect_name(node.input_dtype(i));
    parameters += format("UPDATE({}, x{}), ", memory(dtype), i);
    pointers += format("  USE_READ({}, x{});\n", memory(dtype), i);
    const std::string load = words ? format("x{}[i];\n", i) : format("LOAD({}, x{}, {});\n", dtype, i, broadcast.index(s++));
    if (each == 1) {
      loads += format("  const {} v{} = {}", computed_as(node.input_dtype(i)), i, load);
    } else {
      pointers += format("  {} all{}[{}];\n", words ? "u32" : "float", i, each);
      loads += format("    all{}[k] = {}", i, load);
      names += words ? format("    const float v{} = {}_to_f32((u16)(all{}[k] >> (16 * h)));\n", i, dtype, i)
                     : format("    const float v{} = all{}[k];\n", i, i);
    }
    given.push_back(Given::input(i));
  }
  const std::string_view dtype = dialect_name(node.output(0).dtype);
  given.push_back(Given::output(0));
  given.emplace_back(count);
  broadcast.append_arguments(given);
  std::string source = format("KERNEL(elementwise)({}WRITE({}, y), const int n{}) {{\n{}  USE_WRITE({}, y);\n", parameters, memory(dtype),
                              broadcast.parameters(), pointers, memory(dtype));
  std::string store = format("STORE({}, y, i, {});\n", dtype, body.result);
  if (words) {
    names = "    u32 word = 0;\n    UNROLL for (int h = 0; h < 2; ++h) {\n" + names;
    store = format("word |= (u32)f32_to_{}({}) << (16 * h);\n    }}\n    y[i] = word;\n", dtype, body.result);
  }
  if (each == 1) {
    source += "  const int i = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (i >= n) return;\n" + broadcast.coordinates() + loads +
              body.statements + "  " + store;
  } else {
    const std::string loop =
        format("  UNROLL for (int k = 0; k < {}; ++k) {{\n    const int i = (GROUP(0) * {} + k) * ITEMS(0) + ITEM(0);\n    if (i < n) {{\n",
               each, each);
    source += loop + broadcast.coordinates() + loads + "    }\n  }\n" + loop + names + body.statements + "    " + store + "    }\n  }\n";
  }
  source += "}\n";
  auto kernel = std::make_unique<Launches>(context);
  kernel->add_1d(source, "elementwise", (count + each - 1) / each, std::move(given));
  return kernel;
}

// ---- The packed layout: inputs are like the output, or one number, or plain with one number for each channel, or packed with one place.

enum class Role : uint8_t { alike, scalar, channels, places, other };

Role role_of(const NodeView& node, size_t i) {
  const Shape &x = node.input_shape(i), &y = node.output_shape(0);
  if (x.elements() == 1) return Role::scalar;
  if (x == y) return node.is_constant(i) ? Role::other : Role::alike;
  for (size_t back = 1; back <= x.rank(); ++back)
    if (x[x.rank() - back] != 1 && x[x.rank() - back] != y[y.rank() - back]) return Role::other;
  if (x.rank() + 1 < y.rank()) return Role::other;
  const size_t axis = x.rank() + 1 - y.rank();  // of the channels
  if (x.product(axis + 1, x.rank()) != 1 || x[axis] != y[1]) return Role::other;
  if (axis == 1 && x[0] == y[0] && !node.is_constant(i)) return Role::places;
  return axis == 0 || x[0] == 1 ? Role::channels : Role::other;
}

bool gives_bytes(const NodeView& node) { return is_byte(node.output(0).dtype); }
// Beside bytes, numbers of places are read in the plain layout.
bool is_in_chunks(const NodeView& node, Role role) { return role == Role::alike || (role == Role::places && !gives_bytes(node)); }

Estimate estimate_packed(const NodeView& node, const Device& device) {
  if (device.pack != kPack) return declined("the device has no packed layout");
  Estimate result = estimate(node, device);
  if (!result.declined.empty()) return result;
  const bool bytes = gives_bytes(node);
  if (!bytes) {
    if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
    if (packed_name(node, device).empty()) return declined("the precision allows neither 16 bits nor TF32");
  }
  if (node.output_shape(0).rank() < 3) return declined("there are no spatial dimensions");
  result = Estimate(packed_seconds(node, device, result.seconds));
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) continue;
    const Role role = role_of(node, i);
    const bool same = node.input_dtype(i) == node.output(0).dtype;
    if (role == Role::other || (!same && (role == Role::alike || !bytes))) return declined("input {} is broadcast in another way", i);
    if (is_in_chunks(node, role)) result.packed_inputs |= uint64_t{1} << i;
    if (role == Role::alike && result.overwrites < 0) result.overwrites = static_cast<int>(i);
  }
  if (result.overwrites < 0) return declined("no input is like the output");
  result.packed_outputs = 1;
  return result;
}

std::unique_ptr<Kernel> prepare_packed(PrepareContext& context) {
  const NodeView& node = context.node();
  const Body body = *body_of(node, operand_names(node));
  const Packed packed(node.output_shape(0));
  std::string parameters, pointers, loads, lanes;
  std::vector<Given> given;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i) || ignores_input(node, i)) continue;
    const Role role = role_of(node, i);
    const std::string_view dtype = dialect_name(node.input_dtype(i));
    given.push_back(Given::input(i));
    if (is_in_chunks(node, role)) {
      parameters += format("UPDATE(CHUNK, x{}), ", i);
      loads += format("  float l{}[8];\n  load_chunk(l{}, x{} + {});\n", i, i, i, role == Role::alike ? "i" : "i / P");
      lanes += format("    const float v{} = l{}[e];\n", i, i);
    } else {
      parameters += format("UPDATE(MEM({}), x{}), ", dtype, i);
      lanes += format("    const float v{} = LOAD({}, x{}, {});\n", i, dtype, i,
                      role == Role::scalar     ? "0"
                      : role == Role::channels ? "channel"
                                               : "i / P / CB * C + channel");
    }
  }
  for (const Given& last : {Given::output(0), Given(packed.count()), Given(packed.positions), Given(packed.channels), Given(packed.chunks)})
    given.push_back(last);
  const std::string source =
      chunk_definitions(gives_bytes(node) ? dialect_name(node.output(0).dtype) : packed_name(node, context.device())) +
      format(
          "KERNEL(elementwise)({}WRITE(CHUNK, y), const int n, const int P, const int C, const int CB) {{\n"
          "  const int i = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (i >= n) return;\n  const int first = i / P % CB * "
          "8;\n{}  float result[8];\n"
          "  UNROLL for (int e = 0; e < 8; ++e) {{\n    const int channel = first + e < C ? first + e : C - 1;\n{}{}"
          "    result[e] = first + e < C ? {} : 0.0f;\n  }}\n  store_chunk(y + i, result);\n}}\n",
          parameters, loads, lanes, body.statements, body.result);
  auto kernel = std::make_unique<Launches>(context);
  kernel->add_1d(source, "elementwise", packed.count(), std::move(given));
  return kernel;
}

#define MINNOW_ROW(op) \
  {op, "gpu.elementwise", estimate, prepare}, { op, "gpu.elementwise.packed", estimate_packed, prepare_packed }
constexpr Scheme kSchemes[] = {MINNOW_ROW("Abs"),
                               MINNOW_ROW("Acos"),
                               MINNOW_ROW("Acosh"),
                               MINNOW_ROW("Add"),
                               MINNOW_ROW("And"),
                               MINNOW_ROW("Asin"),
                               MINNOW_ROW("Asinh"),
                               MINNOW_ROW("Atan"),
                               MINNOW_ROW("Atanh"),
                               MINNOW_ROW("BitwiseAnd"),
                               MINNOW_ROW("BitwiseNot"),
                               MINNOW_ROW("BitwiseOr"),
                               MINNOW_ROW("BitwiseXor"),
                               MINNOW_ROW("Cast"),
                               MINNOW_ROW("CastLike"),
                               MINNOW_ROW("Ceil"),
                               MINNOW_ROW("Celu"),
                               MINNOW_ROW("Clip"),
                               MINNOW_ROW("Cos"),
                               MINNOW_ROW("Cosh"),
                               MINNOW_ROW("Div"),
                               MINNOW_ROW("Elu"),
                               MINNOW_ROW("Equal"),
                               MINNOW_ROW("Erf"),
                               MINNOW_ROW("Exp"),
                               MINNOW_ROW("Floor"),
                               MINNOW_ROW("Gelu"),
                               MINNOW_ROW("Greater"),
                               MINNOW_ROW("GreaterOrEqual"),
                               MINNOW_ROW("HardSigmoid"),
                               MINNOW_ROW("HardSwish"),
                               MINNOW_ROW("IsInf"),
                               MINNOW_ROW("IsNaN"),
                               MINNOW_ROW("LeakyRelu"),
                               MINNOW_ROW("Less"),
                               MINNOW_ROW("LessOrEqual"),
                               MINNOW_ROW("Log"),
                               MINNOW_ROW("Max"),
                               MINNOW_ROW("Mean"),
                               MINNOW_ROW("Min"),
                               MINNOW_ROW("Mish"),
                               MINNOW_ROW("Mod"),
                               MINNOW_ROW("Mul"),
                               MINNOW_ROW("Neg"),
                               MINNOW_ROW("Not"),
                               MINNOW_ROW("Or"),
                               MINNOW_ROW("PRelu"),
                               MINNOW_ROW("Pow"),
                               MINNOW_ROW("Reciprocal"),
                               MINNOW_ROW("Relu"),
                               MINNOW_ROW("Round"),
                               MINNOW_ROW("Selu"),
                               MINNOW_ROW("Shrink"),
                               MINNOW_ROW("Sigmoid"),
                               MINNOW_ROW("Sign"),
                               MINNOW_ROW("Sin"),
                               MINNOW_ROW("Sinh"),
                               MINNOW_ROW("Softplus"),
                               MINNOW_ROW("Softsign"),
                               MINNOW_ROW("Sqrt"),
                               MINNOW_ROW("Sub"),
                               MINNOW_ROW("Sum"),
                               MINNOW_ROW("Swish"),
                               MINNOW_ROW("Tan"),
                               MINNOW_ROW("Tanh"),
                               MINNOW_ROW("ThresholdedRelu"),
                               MINNOW_ROW("Where"),
                               MINNOW_ROW("Xor"),
                               MINNOW_ROW(kFusedElementwise)};
#undef MINNOW_ROW

}  // namespace

std::span<const Scheme> elementwise_schemes() { return kSchemes; }

}  // namespace minnow::gpu
