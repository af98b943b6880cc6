// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/glsl.h"

#include <bit>
#include <cmath>

#include "backends/gpu/shaders/translator.h"
#include "base/error.h"
#include "base/format.h"

namespace minnow::gpu {
namespace {

std::string_view type_name(Form form) {
  constexpr std::string_view kNames[] = {"void", "bool", "uint", "float", "", "uvec2"};
  return kNames[static_cast<size_t>(form)];
}

std::string_view operator_of(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::subtract:
      return "-";
    case Op::multiply:
      return "*";
    case Op::divide:
      return "/";
    case Op::remainder:
      return "%";
    case Op::shift_left:
      return "<<";
    case Op::shift_right:
      return ">>";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    case Op::equal:
      return "==";
    case Op::not_equal:
      return "!=";
    case Op::less:
      return "<";
    case Op::less_equal:
      return "<=";
    case Op::greater:
      return ">";
    case Op::greater_equal:
      return ">=";
    case Op::logical_and:
      return "&&";
    default:
      return "||";
  }
}

}  // namespace

GlslTarget::Id GlslTarget::named(std::string text, Form form, bool is_array) {
  values_.push_back({std::move(text), form, is_array});
  return static_cast<Id>(values_.size() - 1);
}

void GlslTarget::line(const std::string& text) {
  bodies_.back() += text;
  bodies_.back() += '\n';
}

GlslTarget::Id GlslTarget::define(Form form, const std::string& expression) {
  const Id id = named(format("t{}", values_.size()));
  line(format("{} {} = {};", type_name(form), text(id), expression));
  return id;
}

GlslTarget::Id GlslTarget::constant(Form form, uint64_t bits) {
  if (form == Form::boolean) return named(bits ? "true" : "false");
  if (form == Form::word) return named(format("{}u", bits));
  const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
  const bool is_short = std::fabs(value) < 65536 && value == std::floor(value) && !std::signbit(value);
  const Id id = named(is_short ? format("{}.0", static_cast<int>(value)) : format("uintBitsToFloat({}u)", bits));  // exact
  values_[id].is_number = !std::isnan(value);
  return id;
}

GlslTarget::Id GlslTarget::unary(Op op, Form form, Id a) {
  if (op == Op::negate && form == Form::word) return define(form, format("0u - {}", text(a)));
  return define(form, format("{}{}", op == Op::logical_not ? "!" : op == Op::bit_not ? "~" : "-", text(a)));
}

// Drivers may assume that there is no NaN and make a choice by a comparison the larger of two numbers. So the bits are looked at too.
std::string GlslTarget::compared(Id a, std::string_view sign, Id b, bool if_nan) const {
  std::string all = format("{} {} {}", text(a), sign, text(b));
  for (const Id id : {a, b})
    if (!values_[id].is_number)
      all += format(
          if_nan ? " || (floatBitsToUint({}) & 2147483647u) > 2139095040u" : " && (floatBitsToUint({}) & 2147483647u) <= 2139095040u",
          text(id));
  return all;
}

GlslTarget::Id GlslTarget::binary(Op op, Form form, bool is_signed, Id a, Id b) {
  const std::string_view sign = operator_of(op);
  const Form result = compares(op) ? Form::boolean : form;
  if (form == Form::real && compares(op)) return define(result, compared(a, sign, b, op == Op::not_equal));
  if (form != Form::word || !is_signed) return define(result, format("{} {} {}", text(a), sign, text(b)));
  if (op == Op::shift_right) return define(result, format("uint(int({}) >> {})", text(a), text(b)));
  if (op == Op::divide) return define(result, format("uint(int({}) / int({}))", text(a), text(b)));
  if (compares(op)) return define(result, format("int({}) {} int({})", text(a), sign, text(b)));
  return define(result, format("{} {} {}", text(a), sign, text(b)));
}

GlslTarget::Id GlslTarget::convert(Scalar from, Scalar to, Id a) {
  if (to == Scalar::f32) return define(Form::real, format(is_signed(from) ? "float(int({}))" : "float({})", text(a)));
  return define(Form::word, format(is_signed(to) ? "uint(int({}))" : "uint({})", text(a)));
}

GlslTarget::Id GlslTarget::reinterpret(Form to, Id a) {
  return define(to, format(to == Form::real ? "uintBitsToFloat({})" : "floatBitsToUint({})", text(a)));
}

GlslTarget::Id GlslTarget::select(Form form, Id condition, Id yes, Id no) {
  return define(form, format("{} ? {} : {}", text(condition), text(yes), text(no)));
}

GlslTarget::Id GlslTarget::call(Builtin builtin, std::span<const Id> operands) {
  constexpr std::string_view kNames[] = {"abs", "floor", "ceil", "roundEven", "sqrt"};
  if (builtin == Builtin::fused) return define(Form::real, format("{} * {} + {}", text(operands[0]), text(operands[1]), text(operands[2])));
  return define(Form::real, format("{}({})", kNames[static_cast<size_t>(builtin)], text(operands[0])));
}

GlslTarget::Id GlslTarget::make_pair(Id low, Id high) { return define(Form::pair, format("uvec2({}, {})", text(low), text(high))); }
GlslTarget::Id GlslTarget::part(Id pair, uint32_t which) { return define(Form::word, format("{}.{}", text(pair), which ? "y" : "x")); }

GlslTarget::Id GlslTarget::position(Position which, uint32_t axis) {
  constexpr std::string_view kNames[] = {"gl_WorkGroupID", "gl_NumWorkGroups", "gl_LocalInvocationID"};
  return define(Form::word, format("{}.{}", kNames[static_cast<size_t>(which)], std::string_view("xyz").substr(axis, 1)));
}

GlslTarget::Id GlslTarget::interface_word(uint32_t index) { return define(Form::word, format("words[{}]", index)); }

GlslTarget::Id GlslTarget::variable(Form form, uint32_t count, bool is_shared) {
  const Id id = named(format("v{}", values_.size()), form, count != 0);
  const std::string array = count ? format("[{}]", count) : std::string();
  if (is_shared)
    globals_ += format("shared {} {}{};\n", type_name(form), text(id), array);
  else
    line(format("{} {}{};", type_name(form), text(id), array));
  return id;
}

std::string GlslTarget::element(Id variable, Id index) const {
  return values_[variable].is_array ? format("{}[{}]", text(variable), text(index)) : text(variable);
}

GlslTarget::Id GlslTarget::load(Id variable, Id index) { return define(values_[variable].form, element(variable, index)); }
void GlslTarget::store(Id variable, Id index, Id value) { line(format("{} = {};", element(variable, index), text(value))); }

void GlslTarget::buffer(uint32_t number, uint32_t, Parameter::Access access) {
  globals_ += format("layout(std430, binding = {}) {}buffer Buffer{} {{ uint b{}[]; }};\n", number,
                     access == Parameter::Access::read ? "restrict readonly " : "", number, number);
}

GlslTarget::Id GlslTarget::load_buffer(uint32_t number, Id index) { return define(Form::word, format("b{}[{}]", number, text(index))); }
void GlslTarget::store_buffer(uint32_t number, Id index, Id value) { line(format("b{}[{}] = {};", number, text(index), text(value))); }
void GlslTarget::atomic(Atomic what, uint32_t number, Id index, Id value) {
  line(format("{}(b{}[{}], {});", what == Atomic::bit_and ? "atomicAnd" : "atomicOr", number, text(index), text(value)));
}
GlslTarget::Id GlslTarget::compare_exchange(uint32_t number, Id index, Id old, Id value) {
  return define(Form::word, format("atomicCompSwap(b{}[{}], {}, {})", number, text(index), text(old), text(value)));
}

void GlslTarget::barrier() { line("memoryBarrierShared();\nbarrier();"); }

GlslTarget::Id GlslTarget::subgroup(Subgroup, Id) { throw InternalError("OpenGL ES has no subgroups"); }

void GlslTarget::begin_if(Id condition) { line(format("if ({}) {{", text(condition))); }
void GlslTarget::begin_else() { line("} else {"); }
void GlslTarget::end_if() { line("}"); }
void GlslTarget::begin_loop() { line("for (;;) {"); }
void GlslTarget::leave_unless(Id condition) { line(format("if (!{}) break;", text(condition))); }
void GlslTarget::leave_loop() { line("break;"); }
void GlslTarget::next_round() { line("continue;"); }
void GlslTarget::end_loop(Id goes_on) {
  if (goes_on) leave_unless(goes_on);
  line("}");
}

std::string GlslTarget::arguments(std::span<const Id> ids) const {
  std::string all;
  for (const Id id : ids) all += (all.empty() ? "" : ", ") + text(id);
  return all;
}

GlslTarget::Id GlslTarget::begin_function(Form result, std::span<const Form> parameters, std::vector<Id>& arguments) {
  const Id id = named(bodies_.empty() ? "main" : format("f{}", values_.size()));
  std::string all;
  for (const Form form : parameters) {
    arguments.push_back(named(format("p{}", values_.size())));
    all += format("{}{} {}", all.empty() ? "" : ", ", type_name(form), text(arguments.back()));
  }
  bodies_.push_back(format("{} {}({}) {{\n", type_name(result), text(id), all));
  return id;
}

void GlslTarget::give(Id result) { line(result ? format("return {};", text(result)) : std::string("return;")); }

void GlslTarget::end_function() {
  functions_ += bodies_.back() + "}\n";
  bodies_.pop_back();
}

GlslTarget::Id GlslTarget::call_function(Id function, Form result, std::span<const Id> ids) {
  const std::string call = format("{}({})", text(function), arguments(ids));
  if (result != Form::none) return define(result, call);
  line(call + ";");
  return 0;
}

std::string GlslTarget::finish() {
  std::string all = format(
      "#version 310 es\nlayout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;\nprecision highp float;\nprecision highp "
      "int;\n",
      options_.group[0], options_.group[1], options_.group[2]);
  if (word_count_) all += format("layout(location = 0) uniform highp uint words[{}];\n", word_count_);
  return all + globals_ + functions_;
}

GlslShader compile_to_glsl_es(std::string_view source, std::string_view function, const ShaderOptions& options) {
  GlslTarget target(options);
  Translator translator(target, options, {});
  GlslShader shader;
  static_cast<ShaderInterface&>(shader) = translator.translate(source, function);
  shader.text = target.finish();
  return shader;
}

}  // namespace minnow::gpu
