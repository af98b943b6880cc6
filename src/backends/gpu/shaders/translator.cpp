// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/translator.h"

#include <utility>

#include "backends/gpu/dialect.h"
#include "backends/gpu/shaders/library.h"
#include "base/error.h"

namespace minnow::gpu {
namespace {

constexpr uint64_t kMostElements = 1 << 20;  // of an array

bool is_constant(const Expr& e) {
  if (e.kind == Expr::Kind::integer) return true;
  if (e.kind != Expr::Kind::binary && e.kind != Expr::Kind::unary) return false;
  for (const Expr* operand : e.operands)
    if (!is_constant(*operand)) return false;
  return e.op != Op::dereference;
}

bool changes(const Expr& e, std::string_view name) {
  if ((e.kind == Expr::Kind::assign || e.kind == Expr::Kind::step) && e.operands[0]->name == name) return true;
  for (const Expr* operand : e.operands)
    if (changes(*operand, name)) return true;
  return false;
}

// Whether a loop's body neither changes its counter nor leaves the round; within inner loops it may leave theirs.
bool runs_through(const Stmt& s, std::string_view counter, bool is_inner) {
  if (!is_inner && (s.kind == Stmt::Kind::leave || s.kind == Stmt::Kind::next)) return false;
  is_inner = is_inner || s.kind == Stmt::Kind::loop || s.kind == Stmt::Kind::loop_after;
  for (const Expr* e : {s.condition, s.step})
    if (e && changes(*e, counter)) return false;
  for (const Declarator& each : s.declarators)
    if (each.start && changes(*each.start, counter)) return false;
  for (const Stmt* each : s.body)
    if (!runs_through(*each, counter, is_inner)) return false;
  return !s.first || runs_through(*s.first, counter, is_inner);
}

}  // namespace

Translator::Translator(Target& target, const ShaderOptions& options, const Abilities& abilities)
    : target_(target), options_(options), abilities_(abilities) {}

void Translator::fail(uint32_t line, std::string_view reason) const { throw InternalError("line {} of a kernel: {}", line, reason); }

ShaderInterface Translator::translate(std::string_view source, std::string_view function) {
  preprocessor_.add(kShaderPrefix);
  if (options_.has_subgroups) preprocessor_.add("#define SUBGROUPS 1\n");
  preprocessor_.add(kCommonPrefix);
  preprocessor_.add(source);
  parsers_.push_back(std::make_unique<Parser>(preprocessor_.take()));
  FunctionTree* tree = parsers_[0]->find(function);
  if (!tree || !tree->is_kernel) throw InternalError("the source of a kernel has no kernel {}", function);
  ShaderInterface interface;
  kernel(*tree, *parsers_[0], interface);
  return interface;
}

// In the source, or in the library, whose functions are parsed when they are needed.
FunctionTree* Translator::find(std::string_view name, Parser*& parser) {
  for (const std::unique_ptr<Parser>& each : parsers_)
    if (FunctionTree* found = each->find(name)) return parser = each.get(), found;
  const std::string_view text = library_function(name);
  if (text.empty()) return nullptr;
  preprocessor_.add(text);
  parsers_.push_back(std::make_unique<Parser>(preprocessor_.take()));
  parser = parsers_.back().get();
  return parser->find(name);
}

void Translator::kernel(FunctionTree& tree, Parser& parser, ShaderInterface& interface) {
  words_ = static_cast<uint32_t>(tree.parameters.size());
  target_.interface_words(words_ + (options_.group_offsets ? 6 : 0));
  std::vector<Id> none;
  target_.begin_function(Form::none, {}, none);
  uint32_t buffers = 0;
  for (const Parameter& parameter : tree.parameters) {
    const uint32_t word = static_cast<uint32_t>(interface.parameters.size());
    Name name{parameter.name, {}, {}};
    if (parameter.access == Parameter::Access::none) {
      if (parameter.type != Scalar::i32 && parameter.type != Scalar::u32 && parameter.type != Scalar::f32)
        fail(0, "a kernel's number is neither an int nor a float");
      Id id = target_.interface_word(word);
      if (parameter.type == Scalar::f32) id = target_.reinterpret(Form::real, id);
      name.value = {parameter.type, id};
    } else {
      const uint32_t bytes = bytes_of(parameter.type);
      Variable& variable = variables_.emplace_back(Variable{parameter.type});
      variable.is_buffer = true;
      variable.is_emulated = (bytes == 1 && !abilities_.has_8bit_storage) || (bytes == 2 && !abilities_.has_16bit_storage) ||
                             (bytes == 8 && !abilities_.has_i64);
      variable.buffer = buffers++;
      variable.word = word;
      variable.first = target_.interface_word(word);
      target_.buffer(variable.buffer, variable.is_emulated ? 4 : bytes, parameter.access);
      name.place = {&variable, parameter.type};
    }
    names_.push_back(name);
    interface.parameters.push_back(parameter.access != Parameter::Access::none ? Argument::Kind::buffer
                                   : parameter.type == Scalar::f32             ? Argument::Kind::f32
                                                                               : Argument::Kind::i32);
    interface.element_bytes.push_back(parameter.access != Parameter::Access::none ? bytes_of(parameter.type) : 0);
    interface.writes.push_back(parameter.access == Parameter::Access::write);
  }
  if (statement(parser.body_of(tree))) target_.give(0);
  target_.end_function();
}

Translator::Value Translator::call_function(const Expr& call) {
  std::vector<Given> given;
  Parser* parser = nullptr;
  FunctionTree* tree = find(call.name, parser);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    Expr& operand = *call.operands[i];
    if (tree && i < tree->parameters.size() && tree->parameters[i].is_pointer)
      given.push_back({{}, place_of(operand)});
    else
      given.push_back({value(operand), {}});
  }
  return call_with(call.name, given, call.line);
}

Translator::Value Translator::call_with(std::string_view name, std::span<const Given> given, uint32_t line) {
  Parser* parser = nullptr;
  FunctionTree* tree = find(name, parser);
  if (!tree || tree->is_kernel) throw InternalError("line {} of a kernel: there is no function {}", line, name);
  if (tree->parameters.size() != given.size())
    throw InternalError("line {} of a kernel: {} takes {} arguments", line, name, tree->parameters.size());
  Made made{tree, {}, {}, 0};
  std::vector<Id> arguments;
  for (size_t i = 0; i < given.size(); ++i) {
    const Parameter& parameter = tree->parameters[i];
    if (!parameter.is_pointer) {
      arguments.push_back(id_of(convert(given[i].value, parameter.type)));
      continue;
    }
    const Place& place = given[i].place;
    if (!place.variable->is_shared && !place.variable->is_buffer) fail(line, "a function's own array is passed on");
    if (place.variable->type != parameter.type) fail(line, "an array of another type is passed on");
    made.arrays.push_back(place.variable);
    made.has_index.push_back(!place.index.is_known() || place.index.bits != 0);
    if (made.has_index.back()) arguments.push_back(id_of(place.index));
  }
  for (const Made& each : made_)
    if (each.tree == tree && each.arrays == made.arrays && each.has_index == made.has_index) made.id = each.id;
  if (made.id == 0) {
    for (const FunctionTree* each : active_)
      if (each == tree) fail(line, "a function calls itself");
    make_function(made, *parser);
  }
  const Form form = tree->result == Scalar::none ? Form::none : form_of(tree->result);
  return {tree->result, target_.call_function(made.id, form, arguments)};
}

void Translator::make_function(Made& made, Parser& parser) {
  FunctionTree& tree = *made.tree;
  active_.push_back(&tree);
  std::vector<Form> forms;
  size_t array = 0;
  for (const Parameter& parameter : tree.parameters)
    if (!parameter.is_pointer)
      forms.push_back(form_of(parameter.type));
    else if (made.has_index[array++])
      forms.push_back(Form::word);
  std::vector<Id> ids;
  made.id = target_.begin_function(tree.result == Scalar::none ? Form::none : form_of(tree.result), forms, ids);
  std::vector<Name> names;
  size_t next = array = 0;
  for (const Parameter& parameter : tree.parameters) {
    Name name{parameter.name, {}, {}};
    if (parameter.is_pointer) {
      name.place = {made.arrays[array], parameter.type};
      if (made.has_index[array++]) name.place.index.id = ids[next++];
    } else {  // it may be assigned to
      Variable& variable = variables_.emplace_back(Variable{parameter.type});
      variable.id = target_.variable(form_of(parameter.type), 0, false);
      target_.store(variable.id, 0, ids[next++]);
      name.place = {&variable, parameter.type};
    }
    names.push_back(name);
  }
  names.swap(names_);
  std::vector<Loop> loops;
  loops.swap(loops_);
  const Scalar outer_result = std::exchange(result_, tree.result);
  const bool outer_kernel = std::exchange(in_kernel_, false);
  if (statement(parser.body_of(tree))) {
    if (tree.result != Scalar::none) throw InternalError("a function of a kernel, {}, ends without a result", tree.name);
    target_.give(0);
  }
  target_.end_function();
  in_kernel_ = outer_kernel;
  result_ = outer_result;
  loops.swap(loops_);
  names.swap(names_);
  active_.pop_back();
  made_.push_back(made);
}

const Translator::Name* Translator::lookup(std::string_view name) const {
  for (size_t i = names_.size(); i-- > 0;)
    if (names_[i].name == name) return &names_[i];
  return nullptr;
}

bool Translator::statement(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::block: {
      const size_t outer = names_.size();
      bool goes_on = true;
      for (const Stmt* each : s.body)
        if (!(goes_on = statement(*each))) break;
      names_.resize(outer);
      return goes_on;
    }
    case Stmt::Kind::expression:
      value(*s.condition);
      return true;
    case Stmt::Kind::declaration:
      declaration(s);
      return true;
    case Stmt::Kind::branch:
      return branch(s);
    case Stmt::Kind::loop:
    case Stmt::Kind::loop_after:
      return loop(s);
    case Stmt::Kind::leave:
    case Stmt::Kind::next:
      if (loops_.empty()) fail(s.line, "there is no loop to leave");
      if (s.kind == Stmt::Kind::next && target_.repeats_steps()) {
        if (loops_.back().step) value(*loops_.back().step);
        if (loops_.back().condition_after) target_.leave_unless(id_of(condition(*loops_.back().condition_after)));
      }
      s.kind == Stmt::Kind::leave ? target_.leave_loop() : target_.next_round();
      return false;
    case Stmt::Kind::give:
      if ((s.condition != nullptr) != (result_ != Scalar::none)) fail(s.line, "a result is missing or too much");
      target_.give(s.condition ? id_of(convert(value(*s.condition), result_)) : 0);
      return false;
  }
  return true;
}

bool Translator::branch(const Stmt& s) {
  const Value chosen = condition(*s.condition);
  const bool has_else = s.body.size() > 1;
  if (chosen.is_known()) return chosen.bits ? statement(*s.body[0]) : !has_else || statement(*s.body[1]);
  target_.begin_if(id_of(chosen));
  bool goes_on = statement(*s.body[0]);
  if (has_else) {
    target_.begin_else();
    goes_on = statement(*s.body[1]) || goes_on;
  }
  target_.end_if();
  return goes_on || !has_else;
}

// Rounds of short loops are written one after the other, so that their indices into arrays are constants: drivers keep such arrays in
// registers, and not all of them unroll loops.
bool Translator::unrolled(const Stmt& s, bool& goes_on) {
  constexpr int64_t kMostRounds = 8, kMostCopies = 128;
  if (!s.unrolls || !s.first || s.first->kind != Stmt::Kind::declaration || s.first->declarators.size() != 1 || !s.condition || !s.step)
    return false;
  const Declarator& counter = s.first->declarators[0];
  const auto is_counter = [&](const Expr& e) { return e.kind == Expr::Kind::name && e.name == counter.name; };
  if (!counter.start || !is_constant(*counter.start) || s.condition->kind != Expr::Kind::binary || s.condition->op != Op::less ||
      !is_counter(*s.condition->operands[0]) || !is_constant(*s.condition->operands[1]) || s.step->op != Op::add ||
      !is_counter(*s.step->operands[0]))
    return false;
  if (s.step->kind == Expr::Kind::assign ? !is_constant(*s.step->operands[1]) : s.step->kind != Expr::Kind::step) return false;
  const auto number = [&](Expr& e) { return static_cast<int64_t>(convert(value(e), Scalar::i32).bits); };
  const int64_t begin = number(*counter.start), end = number(*s.condition->operands[1]);
  const int64_t by = s.step->kind == Expr::Kind::assign ? number(*s.step->operands[1]) : 1;
  if (by <= 0 || end - begin > kMostRounds * by || !runs_through(*s.body[0], counter.name, false)) return false;
  const uint64_t rounds = static_cast<uint64_t>(std::max<int64_t>((end - begin + by - 1) / by, 0)), outer = copies_;
  if (rounds * copies_ > kMostCopies) return false;
  copies_ *= std::max<uint64_t>(rounds, 1);
  goes_on = true;
  for (int64_t i = begin; i < end && goes_on; i += by) {
    const size_t names = names_.size();
    names_.push_back({counter.name, known(Scalar::i32, static_cast<uint64_t>(i)), {}});
    goes_on = statement(*s.body[0]);
    names_.resize(names);
  }
  copies_ = outer;
  return true;
}

bool Translator::loop(const Stmt& s) {
  bool goes_on_behind = true;
  if (unrolled(s, goes_on_behind)) return goes_on_behind;
  const size_t outer = names_.size();
  if (s.first) {  // its names are those of the loop
    if (s.first->kind == Stmt::Kind::declaration)
      declaration(*s.first);
    else
      statement(*s.first);
  }
  const bool tests_after = s.kind == Stmt::Kind::loop_after;
  loops_.push_back({s.step, tests_after ? s.condition : nullptr});
  target_.begin_loop();
  if (!tests_after && s.condition)
    if (const Value goes_on = condition(*s.condition); !goes_on.is_known() || goes_on.bits == 0) target_.leave_unless(id_of(goes_on));
  const bool reaches_end = statement(*s.body[0]);
  Id goes_on = 0;
  target_.begin_steps();
  if (reaches_end || !target_.repeats_steps()) {
    if (s.step) value(*s.step);
    if (tests_after) goes_on = id_of(condition(*s.condition));
  }
  target_.end_loop(goes_on);
  loops_.pop_back();
  names_.resize(outer);
  return true;
}

Translator::Value Translator::boundary(const Expr& expr) {
  const Value count = value(const_cast<Expr&>(expr));
  if (!count.is_known() || count.bits == 0 || count.bits > kMostElements) fail(expr.line, "an array's size is not a positive constant");
  return count;
}

void Translator::declaration(const Stmt& s) {
  for (const Declarator& each : s.declarators) {
    Name name{each.name, {}, {}};
    if (s.type == Scalar::none) fail(s.line, "a variable has no type");
    if (each.is_pointer) {
      if (!each.start || !each.dims.empty()) fail(s.line, "a pointer points nowhere");
      name.place = place_of(*each.start);
      if (bytes_of(name.place.type) != bytes_of(s.type)) fail(s.line, "a pointer points to elements of another size");
      name.place.type = s.type;
      if (!name.place.index.is_known()) name.place.index = convert(name.place.index, Scalar::i32);
    } else if (s.is_const && each.dims.empty() && !s.is_shared) {
      if (!each.start) fail(s.line, "a constant has no value");
      name.value = convert(value(*each.start), s.type);
    } else {
      Variable& variable = variables_.emplace_back(Variable{s.type});
      variable.is_shared = s.is_shared;
      uint64_t count = each.dims.empty() ? 0 : 1;
      for (const Expr* dim : each.dims) {
        variable.dims.push_back(static_cast<uint32_t>(boundary(*dim).bits));
        count *= variable.dims.back();
        if (count > kMostElements) fail(s.line, "an array is too large");
      }
      if (s.is_shared) {
        if (!in_kernel_ || each.start) fail(s.line, "shared memory is declared in kernels, without values");
        shared_bytes_ += std::max<uint64_t>(count, 1) * std::max(bytes_of(s.type), uint32_t{4});
        if (options_.shared_bytes && shared_bytes_ > options_.shared_bytes)
          throw Unsupported("a kernel needs {} bytes of shared memory, the device has {}", shared_bytes_, options_.shared_bytes);
      }
      Value start;
      if (each.start && each.start->kind != Expr::Kind::list) start = convert(value(*each.start), s.type);
      variable.id = target_.variable(form_of(s.type), static_cast<uint32_t>(count), s.is_shared);
      name.place = {&variable, s.type};
      if (start.type != Scalar::none) {
        if (count) fail(s.line, "an array begins as a number");
        store(name.place, start);
      } else if (each.start) {
        assign_list(*each.start, variable);
      }
    }
    names_.push_back(name);
  }
}

void Translator::assign_list(const Expr& list, Variable& variable) {
  if (variable.dims.size() != 1 || list.operands.size() > variable.dims[0]) fail(list.line, "a list does not fit its array");
  for (size_t i = 0; i < variable.dims[0]; ++i) {
    const Value element = i < list.operands.size() ? value(*list.operands[i]) : known(variable.type, 0);
    store({&variable, variable.type, known(Scalar::i32, i), 1}, element);
  }
}

}  // namespace minnow::gpu
