// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/elementwise_program.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

std::optional<Binary> arithmetic_of(std::string_view op) {
  constexpr std::pair<std::string_view, Binary> kKinds[] = {{"Add", Binary::add},
                                                            {"And", Binary::multiply},
                                                            {"Div", Binary::divide},
                                                            {"Equal", Binary::equal},
                                                            {"Less", Binary::less},
                                                            {"Max", Binary::maximum},
                                                            {"Min", Binary::minimum},
                                                            {"Mul", Binary::multiply},
                                                            {"Or", Binary::maximum},
                                                            {"PRelu", Binary::prelu},
                                                            {"Sub", Binary::subtract},
                                                            {"Sum", Binary::add},
                                                            {"LessOrEqual", Binary::less_equal}};
  for (const auto& [name, kind] : kKinds)
    if (name == op) return kind;
  return std::nullopt;
}

}  // namespace

ElementwiseProgram::ElementwiseProgram(const Kernels& kernels, std::span<const Form> inputs) : kernels_(&kernels) {
  for (uint32_t i = 0; i < inputs.size(); ++i) items_.push_back({inputs[i], Place::input, i});
}

ElementwiseProgram::Value ElementwiseProgram::constant(float value) {
  items_.push_back({Form::scalar, Place::constant, static_cast<uint32_t>(constants_.size())});
  constants_.push_back(value);
  return static_cast<Value>(items_.size() - 1);
}

ElementwiseProgram::Value ElementwiseProgram::append(Instruction instruction, double cost) {
  items_.push_back({Form::full, Place::instruction, static_cast<uint32_t>(instructions_.size())});
  instruction.result = static_cast<Value>(items_.size() - 1);
  instructions_.push_back(instruction);
  cost_ += cost;
  return instruction.result;
}

ElementwiseProgram::Value ElementwiseProgram::full(Value value) {
  const Form form = items_[static_cast<size_t>(value)].form;
  if (form == Form::full) return value;
  Instruction spread;
  spread.kind = form == Form::scalar ? Instruction::Kind::fill : Instruction::Kind::repeat;
  spread.operands[0] = value;
  return append(spread, 1);
}

ElementwiseProgram::Value ElementwiseProgram::unary(Unary kind, Value x, float a, float b) {
  Instruction instruction;
  instruction.unary = (*kernels_->unary)[kind];
  instruction.a = a, instruction.b = b;
  instruction.operands[0] = full(x);
  return append(instruction, cost_of(kind));
}

ElementwiseProgram::Value ElementwiseProgram::binary(Binary kind, Value a, Value b) {
  const auto form = [&](Value value) { return items_[static_cast<size_t>(value)].form; };
  if (form(a) != Form::full && form(b) != Form::full) a = full(a);
  BinaryForm forms = BinaryForm::both;
  if (form(a) != Form::full) forms = form(a) == Form::scalar ? BinaryForm::a_scalar : BinaryForm::a_lanes;
  if (form(b) != Form::full) forms = form(b) == Form::scalar ? BinaryForm::b_scalar : BinaryForm::b_lanes;
  Instruction instruction;
  instruction.kind = Instruction::Kind::binary;
  instruction.binary = kernels_->binary->of(kind, forms);
  instruction.operands[0] = a, instruction.operands[1] = b;
  return append(instruction, kind == Binary::power ? 100 : kind == Binary::divide ? 8 : 2);
}

// The usual exponents without the C library.
std::optional<ElementwiseProgram::Value> ElementwiseProgram::power(const NodeView& node, std::span<const Value> operands) {
  if (node.input_dtype(1) != DType::f32) return std::nullopt;
  const Value x = operands[0];
  if (node.is_constant(1) && node.contents(1).elements() == 1) {
    const double exponent = node.real_scalar(1);
    if (exponent == 2) return binary(Binary::multiply, x, x);
    if (exponent == 3) return binary(Binary::multiply, binary(Binary::multiply, x, x), x);
    if (exponent == -1) return unary(Unary::reciprocal, x);
    if (exponent == 1) return unary(Unary::copy, x);
  }
  return binary(Binary::power, x, operands[1]);
}

std::optional<ElementwiseProgram::Value> ElementwiseProgram::add(const NodeView& node, std::span<const Value> operands) {
  if (operands.empty() || operands[0] < 0) return std::nullopt;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32 && node.input_dtype(i) != DType::boolean) return std::nullopt;
  const std::string& op = node.op();
  if (const std::optional<Function> function = function_of(node)) return unary(function->kind, operands[0], function->a, function->b);
  if (op == "Clip") {
    Value y = operands[0];
    if (operands.size() > 1 && operands[1] >= 0) y = binary(Binary::maximum, y, operands[1]);
    if (operands.size() > 2 && operands[2] >= 0) y = binary(Binary::minimum, y, operands[2]);
    return y;
  }
  if (op == "Not") return negation(operands[0]);
  if (op == "IsNaN") return negation(binary(Binary::equal, operands[0], operands[0]));
  if (op == "Cast") {
    const int64_t to = node.require<int64_t>("to");
    if (to == static_cast<int64_t>(DType::f32)) return operands[0];
    if (to != static_cast<int64_t>(DType::boolean)) return std::nullopt;
    return negation(binary(Binary::equal, operands[0], constant(0)));
  }
  if (operands.size() < 2)
    return op == "Sum" || op == "Mean" || op == "Max" || op == "Min" ? std::optional(full(operands[0])) : std::nullopt;
  if (op == "Where") {
    Instruction instruction;
    instruction.kind = Instruction::Kind::select;
    for (size_t i = 0; i < 3; ++i) instruction.operands[i] = full(operands[i]);
    return append(instruction, 3);
  }
  if (op == "Greater") return binary(Binary::less, operands[1], operands[0]);
  if (op == "GreaterOrEqual") return binary(Binary::less_equal, operands[1], operands[0]);
  if (op == "Xor") return negation(binary(Binary::equal, operands[0], operands[1]));
  if (op == "Pow") return power(node, operands);
  const std::optional<Binary> kind = op == "Mean" ? std::optional(Binary::add) : arithmetic_of(op);
  if (!kind) return std::nullopt;
  Value y = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) y = binary(*kind, y, operands[i]);
  return op == "Mean" ? binary(Binary::divide, y, constant(static_cast<float>(operands.size()))) : y;
}

void ElementwiseProgram::finish(Value result) {
  if (items_[static_cast<size_t>(result)].place != Place::instruction) result = unary(Unary::copy, result);
  // Backward: what is needed; then forward: a register is free again behind the last instruction that reads it.
  std::vector<int> last(items_.size(), -1);
  last[static_cast<size_t>(result)] = static_cast<int>(instructions_.size());
  for (size_t i = instructions_.size(); i-- > 0;)
    if (last[static_cast<size_t>(instructions_[i].result)] >= 0)
      for (Value operand : instructions_[i].operands)
        if (operand >= 0) last[static_cast<size_t>(operand)] = std::max(last[static_cast<size_t>(operand)], static_cast<int>(i));
  std::vector<Instruction> kept;
  std::vector<uint32_t> unused;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    Item& item = items_[static_cast<size_t>(instruction.result)];
    if (last[static_cast<size_t>(instruction.result)] < 0) continue;
    // An operand that is read for the last time gives its register to the result: kernels work in place.
    for (size_t k = 0; k < 3; ++k) {
      const Value operand = instruction.operands[k];
      if (operand < 0 || last[static_cast<size_t>(operand)] != static_cast<int>(i)) continue;
      if (std::find(instruction.operands, instruction.operands + k, operand) != instruction.operands + k) continue;
      if (const Item& read = items_[static_cast<size_t>(operand)]; read.place == Place::storage) unused.push_back(read.index);
    }
    if (instruction.result == result) {
      item.place = Place::result;
    } else {
      item.place = Place::storage;
      if (unused.empty()) unused.push_back(static_cast<uint32_t>(registers_++));
      item.index = unused.back();
      unused.pop_back();
    }
    kept.push_back(instruction);
  }
  instructions_ = std::move(kept);
}

void ElementwiseProgram::run(const float* const* inputs, size_t count, float* registers, float* y) const noexcept {
  const auto read = [&](Value value) -> const float* {
    const Item& item = items_[static_cast<size_t>(value)];
    switch (item.place) {
      case Place::input:
        return inputs[item.index];
      case Place::constant:
        return constants_.data() + item.index;
      default:
        return registers + item.index * kBlock;
    }
  };
  for (const Instruction& instruction : instructions_) {
    const Item& item = items_[static_cast<size_t>(instruction.result)];
    float* to = item.place == Place::result ? y : registers + item.index * kBlock;
    const float* a = read(instruction.operands[0]);
    switch (instruction.kind) {
      case Instruction::Kind::unary:
        instruction.unary(a, to, count, instruction.a, instruction.b);
        break;
      case Instruction::Kind::binary:
        instruction.binary(a, read(instruction.operands[1]), to, count);
        break;
      case Instruction::Kind::select:
        kernels_->binary->select(a, read(instruction.operands[1]), read(instruction.operands[2]), to, count);
        break;
      case Instruction::Kind::fill:
        std::fill_n(to, count, *a);
        break;
      case Instruction::Kind::repeat:
        for (size_t i = 0; i < count; i += kernels_->lanes) std::memcpy(to + i, a, kernels_->lanes * sizeof(float));
        break;
    }
  }
}

}  // namespace minnow::cpu
