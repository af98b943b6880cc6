// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/elementwise_program.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

namespace minnow::cpu {
namespace {

// Only AVX-512 has chains that hold values; libraries for other machines omit the search for such values.
#if defined(__x86_64__)
constexpr bool kMayHold = true;
#else
constexpr bool kMayHold = false;
#endif

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

/// As a step of a chain; and with the second operand kept.
std::pair<Chain, Chain> steps_of(Binary kind) {
  switch (kind) {
    case Binary::add:
      return {Chain::add, Chain::add};
    case Binary::subtract:
      return {Chain::subtract, Chain::subtract_from};
    case Binary::multiply:
      return {Chain::multiply, Chain::multiply};
    case Binary::divide:
      return {Chain::divide, Chain::divide_into};
    case Binary::minimum:
      return {Chain::minimum, Chain::minimum_of};
    case Binary::maximum:
      return {Chain::maximum, Chain::maximum_of};
    case Binary::prelu:
      return {Chain::prelu, Chain::prelu_of};
    case Binary::less:
      return {Chain::less, Chain::less_of};
    case Binary::less_equal:
      return {Chain::less_equal, Chain::less_equal_of};
    case Binary::equal:
      return {Chain::equal, Chain::equal};
    default:
      return {Chain::count, Chain::count};
  }
}

/// Chain::count for a function of many machine instructions, beside which loads and stores do not count.
Chain step_of(Unary kind) {
  constexpr std::pair<Unary, Chain> kSteps[] = {{Unary::copy, Chain::load},        {Unary::relu, Chain::relu},
                                                {Unary::clip, Chain::clip},        {Unary::leaky_relu, Chain::leaky_relu},
                                                {Unary::neg, Chain::negate},       {Unary::abs, Chain::absolute},
                                                {Unary::sqrt, Chain::square_root}, {Unary::reciprocal, Chain::reciprocal},
                                                {Unary::floor, Chain::floor},      {Unary::ceil, Chain::ceil},
                                                {Unary::round, Chain::round},      {Unary::scale, Chain::scale}};
  for (const auto& [function, step] : kSteps)
    if (function == kind) return step;
  return Chain::count;
}

}  // namespace

ElementwiseProgram::ElementwiseProgram(const Kernels& kernels, std::span<const Form> inputs)
    : kernels_(&kernels), chain_(kernels.chain), inputs_(inputs.size()) {
  for (uint32_t i = 0; i < inputs.size(); ++i) items_.push_back({inputs[i], Place::input, i});
}

ElementwiseProgram::Value ElementwiseProgram::constant(float value) {
  items_.push_back({Form::scalar, Place::constant, add_constant(value)});
  return static_cast<Value>(items_.size() - 1);
}

uint32_t ElementwiseProgram::add_constant(float value) {
  constants_.insert(constants_.end(), kernels_->lanes, value);
  return static_cast<uint32_t>(constants_.size() / kernels_->lanes - 1);
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
  spread.step = Chain::load;
  spread.operands[0] = value;
  return append(spread, 1);
}

ElementwiseProgram::Value ElementwiseProgram::unary(Unary kind, Value x, float a, float b) {
  Instruction instruction;
  instruction.unary = (*kernels_->unary)[kind];
  instruction.a = a, instruction.b = b;
  instruction.step = step_of(kind);
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
  std::tie(instruction.step, instruction.step_of) = steps_of(kind);
  instruction.operands[0] = a, instruction.operands[1] = b;
  return append(instruction, kind == Binary::power ? 100 : kind == Binary::divide ? 8 : 2);
}

/// x != 0 ? a : b
ElementwiseProgram::Value ElementwiseProgram::select(Value x, Value a, Value b) {
  Instruction instruction;
  instruction.kind = Instruction::Kind::select;
  instruction.step = Chain::select;
  const Value operands[] = {x, a, b};
  for (size_t i = 0; i < 3; ++i) instruction.operands[i] = full(operands[i]);
  return append(instruction, 3);
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

// ln(1 + x) without cancellation: adds the rounding error of the sum, divided by the sum, to its logarithm. Infinity has no such error.
ElementwiseProgram::Value ElementwiseProgram::log_of_one_more(Value x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kMost = std::numeric_limits<float>::max();
  const Value finite = unary(Unary::clip, x, -kInfinity, kMost), sum = unary(Unary::scale, finite, 1, 1);
  const Value lost = binary(Binary::subtract, finite, unary(Unary::scale, sum, 1, -1));
  return binary(Binary::add, unary(Unary::log, unary(Unary::scale, x, 1, 1)), binary(Binary::divide, lost, sum));
}

// For x >= 0, up to half of the largest float and of infinity: ln(1 + x + x t) with t = tanh(y / 2) = 1 / (1 / x + sqrt(1 / x^2 + 1)).
ElementwiseProgram::Value ElementwiseProgram::inverse_sinh(Value x) {
  const Value inverse = unary(Unary::reciprocal, x);
  const Value root = unary(Unary::sqrt, unary(Unary::scale, binary(Binary::multiply, inverse, inverse), 1, 1));
  const Value half = unary(Unary::reciprocal, binary(Binary::add, inverse, root));
  return log_of_one_more(binary(Binary::add, x, binary(Binary::multiply, x, half)));
}

// Functions that others make, without cancellation: the inverse sine and cosine from the tangent of the angle, or of half of it, the
// hyperbolic ones from e^(|x| / 2), whose square overflows no earlier than they, and their inverses from ln(1 + x).
std::optional<ElementwiseProgram::Value> ElementwiseProgram::of_angles(std::string_view op, Value x) {
  if (op == "Tan") return binary(Binary::divide, unary(Unary::sin, x), unary(Unary::cos, x));
  if (op == "Asin" || op == "Acos") {
    x = unary(Unary::clip, x, -2, 2);  // beyond 1 NaN: 32-bit ARM has no quotients by the largest floats
    const Value less = unary(Unary::scale, x, -1, 1), more = unary(Unary::scale, x, 1, 1);
    if (op == "Asin") return unary(Unary::atan, binary(Binary::divide, x, unary(Unary::sqrt, binary(Binary::multiply, less, more))));
    return unary(Unary::scale, unary(Unary::atan, unary(Unary::sqrt, binary(Binary::divide, less, more))), 2, 0);
  }
  if (op == "Acosh")  // twice the inverse sine of sqrt((x - 1) / 2)
    return unary(Unary::scale, inverse_sinh(unary(Unary::sqrt, unary(Unary::scale, unary(Unary::scale, x, 1, -1), 0.5f, 0))), 2, 0);
  if (op == "Asinh" || op == "Atanh") {
    const Value size = unary(Unary::abs, x);
    Value y;
    if (op == "Asinh") {  // above 1e30, ln x and a constant
      const Value bounded = unary(Unary::clip, size, 0, 1e30f), times = unary(Unary::scale, size, 1e-30f, 0);
      const Value more = unary(Unary::log, unary(Unary::clip, times, 1, std::numeric_limits<float>::infinity()));
      y = binary(Binary::add, inverse_sinh(bounded), more);
    } else {
      const Value ratio = binary(Binary::divide, unary(Unary::scale, size, 2, 0), unary(Unary::scale, size, -1, 1));
      y = unary(Unary::scale, log_of_one_more(ratio), 0.5f, 0);
    }
    return select(x, binary(Binary::multiply, unary(Unary::sign, x), y), x);  // of -0 itself
  }
  if (op != "Sinh" && op != "Cosh") return std::nullopt;
  const Value root = unary(Unary::exp, unary(Unary::scale, unary(Unary::abs, x), 0.5f, 0));
  const Value half = binary(Binary::multiply, unary(Unary::scale, root, 0.5f, 0), root);
  const Value cosh = binary(Binary::add, half, unary(Unary::scale, unary(Unary::reciprocal, half), 0.25f, 0));
  return op == "Cosh" ? cosh : binary(Binary::multiply, unary(Unary::tanh, x), cosh);
}

std::optional<ElementwiseProgram::Value> ElementwiseProgram::add(const NodeView& node, std::span<const Value> operands) {
  if (operands.empty() || operands[0] < 0) return std::nullopt;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32 && node.input_dtype(i) != DType::boolean) return std::nullopt;
  const std::string& op = node.op();
  if (const std::optional<Function> function = function_of(node)) return unary(function->kind, operands[0], function->a, function->b);
  if (op == "Clip") {
    Value y = operands[0];
    // A bound that is NaN does not bound, and NaN passes.
    if (operands.size() > 1 && operands[1] >= 0) y = select(binary(Binary::less, y, operands[1]), operands[1], y);
    if (operands.size() > 2 && operands[2] >= 0) y = select(binary(Binary::less, operands[2], y), operands[2], y);
    return y;
  }
  if (const std::optional<Value> y = of_angles(op, operands[0])) return y;
  if (op == "Not") return negation(operands[0]);
  if (op == "IsNaN") return negation(binary(Binary::equal, operands[0], operands[0]));
  if (op == "IsInf") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const bool negative = node.attribute(Attribute<bool>{"detect_negative", true}),
               positive = node.attribute(Attribute<bool>{"detect_positive", true});
    if (!negative && !positive) return binary(Binary::less, operands[0], operands[0]);  // false
    const Value x = negative && positive ? unary(Unary::abs, operands[0]) : full(operands[0]);
    return binary(Binary::equal, x, constant(positive ? kInfinity : -kInfinity));
  }
  if (op == "Cast") {
    const int64_t to = node.require<int64_t>("to");
    if (to == static_cast<int64_t>(DType::f32)) return operands[0];
    if (to != static_cast<int64_t>(DType::boolean)) return std::nullopt;
    return negation(binary(Binary::equal, operands[0], constant(0)));
  }
  if (operands.size() < 2)
    return op == "Sum" || op == "Mean" || op == "Max" || op == "Min" ? std::optional(full(operands[0])) : std::nullopt;
  if (op == "Where") return select(operands[0], operands[1], operands[2]);
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
  // Find the needed instructions backward. Then assign registers forward: a register is free after the last instruction that reads it.
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
  make_parts();
}

void ElementwiseProgram::make_parts() {
  const size_t count = instructions_.size();
  std::vector<size_t> last_read(items_.size(), 0);
  for (size_t i = 0; i < count; ++i)
    for (Value operand : instructions_[i].operands)
      if (operand >= 0) last_read[static_cast<size_t>(operand)] = i;
  for (size_t i = 0; i < count; ++i)
    if (const Value result = instructions_[i].result; items_[static_cast<size_t>(result)].place == Place::result)
      last_read[static_cast<size_t>(result)] = count;
  for (size_t first = 0, last; first < count; first = last) {
    const bool chained = instructions_[first].step != Chain::count;
    for (last = first + 1; last < count && (instructions_[last].step != Chain::count) == chained;) ++last;
    parts_.push_back({first, last, steps_.size(), steps_.size()});
    if (chained && last - first > 1) make_chain(first, last, last_read);
    parts_.back().step_end = steps_.size();
  }
  find_moving();
}

void ElementwiseProgram::make_chain(size_t first, size_t last, std::span<const size_t> last_read) {
  std::vector<Step> steps;
  std::vector<bool> read(items_.size());  // from memory
  const auto from = [&](Value value) {
    read[static_cast<size_t>(value)] = true;
    return value;
  };
  Value current = -1;  // in the vectors
  const auto hold = [&](Value value) {
    if (current != value) steps.push_back({Chain::load, from(value)});
  };
  for (size_t i = first; i < last; ++i) {
    const Instruction& instruction = instructions_[i];
    const Value a = instruction.operands[0], b = instruction.operands[1];
    switch (instruction.kind) {
      case Instruction::Kind::unary:
        hold(a);
        if (instruction.step == Chain::load) break;  // a copy
        steps.push_back({instruction.step});
        if (instruction.step == Chain::clip || instruction.step == Chain::leaky_relu || instruction.step == Chain::scale) {
          steps.back().parameters = true;
          steps.back().constant = add_constant(instruction.a);
          add_constant(instruction.b);
        }
        break;
      case Instruction::Kind::binary:
        if (a == b && instruction.step == Chain::multiply) {
          hold(a);
          steps.push_back({Chain::square});
        } else if (current == b && current != a) {
          steps.push_back({instruction.step_of, from(a)});
        } else {
          hold(a);
          steps.push_back({instruction.step, from(b)});
        }
        break;
      case Instruction::Kind::select:
        hold(a);
        steps.push_back({Chain::select, from(b), from(instruction.operands[2])});
        break;
      case Instruction::Kind::fill:
      case Instruction::Kind::repeat:
        hold(a);
        break;
    }
    current = instruction.result;
    steps.push_back({Chain::store, current});
  }
  // A value that only the next step reads is never stored.
  const size_t begin = steps_.size();
  for (const Step& step : steps)
    if (step.code != Chain::store || read[static_cast<size_t>(step.a)] || last_read[static_cast<size_t>(step.a)] >= last)
      steps_.push_back(step);
  if (kMayHold && chain_->code[static_cast<size_t>(Chain::hold)][0] != nullptr) hold_values(begin, last_read, last);
  steps_.push_back({Chain::end});
}

/// Turns stores into held values, one at a time, if only this chain reads them: the one that ends first is chosen first, so that most of
/// them fit (the greedy choice of intervals). If one value's last load follows the store of the next, the two become a swap.
void ElementwiseProgram::hold_values(size_t begin, std::span<const size_t> last_read, size_t end) {
  constexpr uint32_t kNone = UINT32_MAX;
  struct Interval {
    uint32_t stored = kNone, used = kNone;  // used: in the step that is the last to do so; kNone: that cannot be held
  };
  std::vector<Interval> intervals(items_.size());
  const uint32_t count = static_cast<uint32_t>(steps_.size());
  for (uint32_t s = static_cast<uint32_t>(begin); s < count; ++s) {
    const Step& step = steps_[s];
    if (step.parameters || step.a < 0) continue;
    Interval& interval = intervals[static_cast<size_t>(step.a)];
    if (step.code == Chain::store)
      interval.stored = last_read[static_cast<size_t>(step.a)] < end ? s : kNone;
    else if (chain_->code[static_cast<size_t>(step.code)][static_cast<size_t>(ChainOperand::held)] != nullptr)
      interval.used = s;
    else
      interval.stored = kNone;
    if (step.b >= 0) intervals[static_cast<size_t>(step.b)].stored = kNone;
  }
  // In the order of their ends. A held value begins at the step that replaces its store.
  uint32_t free_from = static_cast<uint32_t>(begin);
  for (uint32_t s = free_from; s < count; ++s) {
    const Step& step = steps_[s];
    if (step.parameters || step.a < 0) continue;
    const Interval& interval = intervals[static_cast<size_t>(step.a)];
    if (interval.used != s || interval.stored == kNone || interval.stored < free_from) continue;
    for (uint32_t i = interval.stored + 1; i <= s; ++i) steps_[i].held |= steps_[i].a == step.a && !steps_[i].parameters;
    steps_[interval.stored] = {Chain::hold};
    const bool swaps = step.code == Chain::load && steps_[s - 1].code == Chain::store;
    free_from = swaps ? s - 1 : s + 1;
  }
  size_t kept = begin;
  for (size_t s = begin; s < count; ++s) {
    if (steps_[s].held && steps_[s].code == Chain::load && steps_[kept - 1].code == Chain::hold)
      steps_[kept - 1].code = Chain::swap;
    else
      steps_[kept++] = steps_[s];
  }
  steps_.resize(kept);
}

void ElementwiseProgram::find_moving() {
  const auto moves = [&](Value value) {
    const Item& item = items_[static_cast<size_t>(value)];
    return item.place == Place::result || (item.place == Place::input && item.form != Form::scalar);
  };
  for (uint32_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (step.parameters || step.held) continue;
    if (step.a >= 0 && moves(step.a)) moving_.push_back({s, step.code == Chain::store ? nullptr : &ChainStep::a, step.a});
    if (step.b >= 0 && moves(step.b)) moving_.push_back({s, &ChainStep::b, step.b});
  }
}

size_t ElementwiseProgram::scratch() const noexcept {
  constexpr size_t kStep = sizeof(ChainStep) / sizeof(float), kPointer = sizeof(const float*) / sizeof(float);
  return registers_ * kBlock + (steps_.empty() ? 0 : inputs_ * (kernels_->lanes + kPointer) + steps_.size() * kStep);
}

ElementwiseProgram::Scratch ElementwiseProgram::parts_of(float* scratch) const noexcept {
  if (steps_.empty()) return {scratch, nullptr, nullptr, nullptr};
  float* const vectors = scratch + registers_ * kBlock;
  ChainStep* const steps = reinterpret_cast<ChainStep*>(vectors + inputs_ * kernels_->lanes);
  return {scratch, vectors, steps, reinterpret_cast<const float**>(steps + steps_.size())};
}

void ElementwiseProgram::begin(float* scratch) const noexcept {
  if (steps_.empty()) return;
  const size_t lanes = kernels_->lanes;
  const Scratch parts = parts_of(scratch);
  std::fill_n(parts.numbers, inputs_, nullptr);
  const auto read = [&](Value value, const float*& from, size_t& mask) {
    const Item& item = items_[static_cast<size_t>(value)];
    mask = item.form == Form::full ? SIZE_MAX : 0;
    if (item.place == Place::storage)
      from = parts.registers + item.index * kBlock;
    else
      from = item.place == Place::constant ? constants_.data() + item.index * lanes : parts.vectors + item.index * lanes;
  };
  ChainStep* next = parts.steps;
  for (const Step& step : steps_) {
    ChainStep made;
    ChainOperand operand = ChainOperand::each;
    if (step.parameters) {
      made.a = constants_.data() + step.constant * lanes;
      made.b = made.a + lanes;
    } else if (step.code == Chain::store) {
      made.to = parts.registers + items_[static_cast<size_t>(step.a)].index * kBlock;
    } else if (step.held) {
      operand = ChainOperand::held;
    } else {
      if (step.a >= 0) read(step.a, made.a, made.a_mask);
      if (step.b >= 0) read(step.b, made.b, made.b_mask);
      if (step.a >= 0 && step.b < 0 && made.a_mask == 0) operand = ChainOperand::fixed;
    }
    made.code = chain_->code[static_cast<size_t>(step.code)][static_cast<size_t>(operand)];
    *next++ = made;
  }
}

void ElementwiseProgram::run(const float* const* inputs, size_t count, float* scratch, float* y) const noexcept {
  const size_t tiles = count - count % chain_->tile;
  const Scratch parts = parts_of(scratch);
  if (!steps_.empty() && tiles > 0) {
    for (size_t i = 0; i < inputs_; ++i)
      if (items_[i].form == Form::scalar && parts.numbers[i] != inputs[i]) {
        parts.numbers[i] = inputs[i];
        std::fill_n(parts.vectors + i * kernels_->lanes, kernels_->lanes, *inputs[i]);
      }
    for (const Moving& moving : moving_) {
      const Item& item = items_[static_cast<size_t>(moving.value)];
      ChainStep& step = parts.steps[moving.step];
      if (moving.from == nullptr)
        step.to = y;
      else
        step.*moving.from = item.place == Place::result ? y : inputs[item.index];
    }
  }
  for (const Part& part : parts_) {
    size_t done = 0;
    if (part.step < part.step_end && tiles > 0) {
      chain_->run(parts.steps + part.step, tiles);
      done = tiles;
    }
    if (done == count) continue;
    for (size_t i = part.first; i < part.last; ++i) run(instructions_[i], inputs, done, count - done, scratch, y);
  }
}

void ElementwiseProgram::run(const Instruction& instruction, const float* const* inputs, size_t first, size_t count, float* registers,
                             float* y) const noexcept {
  const auto read = [&](Value value) -> const float* {
    const Item& item = items_[static_cast<size_t>(value)];
    switch (item.place) {
      case Place::input:
        return inputs[item.index] + (item.form == Form::full ? first : 0);
      case Place::constant:
        return constants_.data() + item.index * kernels_->lanes;
      default:
        return registers + item.index * kBlock + first;
    }
  };
  const Item& item = items_[static_cast<size_t>(instruction.result)];
  float* to = (item.place == Place::result ? y : registers + item.index * kBlock) + first;
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

}  // namespace minnow::cpu
