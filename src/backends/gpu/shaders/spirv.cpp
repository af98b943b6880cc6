// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/spirv.h"

#include "backends/gpu/shaders/translator.h"

namespace minnow::gpu {
namespace {

// The numbers of SPIR-V's operations.
namespace op {
constexpr uint32_t kExtension = 10, kExtInstImport = 11, kExtInst = 12, kMemoryModel = 14, kEntryPoint = 15, kExecutionMode = 16,
                   kCapability = 17, kTypeVoid = 19, kTypeBool = 20, kTypeInt = 21, kTypeFloat = 22, kTypeVector = 23, kTypeArray = 28,
                   kTypeRuntimeArray = 29, kTypeStruct = 30, kTypePointer = 32, kTypeFunction = 33, kConstantTrue = 41, kConstantFalse = 42,
                   kConstant = 43, kFunction = 54, kFunctionParameter = 55, kFunctionEnd = 56, kFunctionCall = 57, kVariable = 59,
                   kLoad = 61, kStore = 62, kAccessChain = 65, kDecorate = 71, kMemberDecorate = 72, kCompositeConstruct = 80,
                   kCompositeExtract = 81, kConvertFToU = 109, kConvertFToS = 110, kConvertSToF = 111, kConvertUToF = 112, kUConvert = 113,
                   kSConvert = 114, kBitcast = 124, kSNegate = 126, kFNegate = 127, kLogicalEqual = 164, kLogicalNotEqual = 165,
                   kLogicalOr = 166, kLogicalAnd = 167, kLogicalNot = 168, kSelect = 169, kNot = 200, kControlBarrier = 224,
                   kAtomicCompareExchange = 230, kAtomicAnd = 240, kAtomicOr = 241, kLoopMerge = 246, kSelectionMerge = 247, kLabel = 248,
                   kBranch = 249, kBranchConditional = 250, kReturn = 253, kReturnValue = 254, kUnreachable = 255,
                   kGroupNonUniformBallot = 339, kGroupNonUniformBallotBitCount = 342, kGroupNonUniformFAdd = 350,
                   kGroupNonUniformFMul = 352, kGroupNonUniformSMax = 356;
}  // namespace op
enum : uint32_t { kInput = 1, kWorkgroup = 4, kFunctionStorage = 7, kPushConstant = 9, kStorageBuffer = 12 };
enum : uint32_t {
  kBlock = 2,
  kArrayStride = 6,
  kBuiltIn = 11,
  kRestrict = 19,
  kAliased = 20,
  kNonWritable = 24,
  kBinding = 33,
  kDescriptorSet = 34,
  kOffset = 35,
  kNoContraction = 42
};
constexpr uint32_t kRelaxed = 0, kDeviceScope = 1, kGroupScope = 2, kAcquireReleaseGroup = 0x108;

struct Operation {
  Op op;
  uint32_t real, with_sign, without_sign;
};
constexpr Operation kOperations[] = {
    {Op::add, 129, 128, 128},       {Op::subtract, 131, 130, 130},   {Op::multiply, 133, 132, 132},  {Op::divide, 136, 135, 134},
    {Op::remainder, 140, 138, 137}, {Op::shift_left, 0, 196, 196},   {Op::shift_right, 0, 195, 194}, {Op::bit_and, 0, 199, 199},
    {Op::bit_or, 0, 197, 197},      {Op::bit_xor, 0, 198, 198},      {Op::equal, 180, 170, 170},     {Op::not_equal, 183, 171, 171},
    {Op::less, 184, 177, 176},      {Op::less_equal, 188, 179, 178}, {Op::greater, 186, 173, 172},   {Op::greater_equal, 190, 175, 174}};

void append_text(std::vector<uint32_t>& words, std::string_view text) {
  for (size_t i = 0; i <= text.size(); i += 4) {
    uint32_t word = 0;
    for (size_t k = i; k < std::min(i + 4, text.size()); ++k) word |= static_cast<uint32_t>(static_cast<uint8_t>(text[k])) << (8 * (k - i));
    words.push_back(word);
  }
}

}  // namespace

SpirvTarget::SpirvTarget(const ShaderOptions& options) : options_(options), library_(fresh()) {}

void SpirvTarget::emit(Words& to, uint32_t op, std::initializer_list<uint32_t> operands) {
  to.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
  to.insert(to.end(), operands);
}

// The current block, or a new one that nothing reaches if it has ended.
SpirvTarget::Words& SpirvTarget::code() {
  Body& body = bodies_.back();
  if (body.has_ended) label(fresh());
  return body.code;
}

SpirvTarget::Id SpirvTarget::result(uint32_t op, Id type, std::initializer_list<uint32_t> operands) {
  Words& to = code();
  const Id id = fresh();
  to.push_back(static_cast<uint32_t>(operands.size() + 3) << 16 | op);
  to.push_back(type);
  to.push_back(id);
  to.insert(to.end(), operands);
  return id;
}

void SpirvTarget::label(Id id) {
  emit(bodies_.back().code, op::kLabel, {id});
  bodies_.back().has_ended = false;
}

void SpirvTarget::jump(Id to) {
  if (bodies_.back().has_ended) return;
  emit(bodies_.back().code, op::kBranch, {to});
  bodies_.back().has_ended = true;
}

SpirvTarget::Id SpirvTarget::declared(std::vector<uint32_t> type) {
  Id& id = declared_[type];
  if (id) return id;
  id = fresh();
  types_.push_back(static_cast<uint32_t>(type.size() + 1) << 16 | type[0]);
  types_.push_back(id);
  types_.insert(types_.end(), type.begin() + 1, type.end());
  return id;
}

SpirvTarget::Id SpirvTarget::type_of(Form form) {
  switch (form) {
    case Form::none:
      return declared({op::kTypeVoid});
    case Form::boolean:
      return declared({op::kTypeBool});
    case Form::word:
      return declared({op::kTypeInt, 32, 0});
    case Form::real:
      return declared({op::kTypeFloat, 32});
    case Form::wide:
      has_wide_ = true;
      return declared({op::kTypeInt, 64, 0});
    case Form::pair:
      return declared({op::kTypeVector, type_of(Form::word), 2});
  }
  return 0;
}

SpirvTarget::Id SpirvTarget::unit_type(uint32_t bytes) {
  if (bytes == 4) return type_of(Form::word);
  if (bytes == 8) return type_of(Form::wide);
  (bytes == 1 ? has_bytes_ : has_halves_) = true;
  return declared({op::kTypeInt, bytes * 8, 0});
}

SpirvTarget::Id SpirvTarget::pointer(uint32_t storage, Id to) { return declared({op::kTypePointer, storage, to}); }

SpirvTarget::Id SpirvTarget::constant(Form form, uint64_t bits) {
  Id& id = constants_[{form, bits}];
  if (id) return id;
  const Id type = type_of(form);
  id = fresh();
  if (form == Form::boolean)
    emit(types_, bits ? op::kConstantTrue : op::kConstantFalse, {type, id});
  else if (form == Form::wide)
    emit(types_, op::kConstant, {type, id, static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)});
  else
    emit(types_, op::kConstant, {type, id, static_cast<uint32_t>(bits)});
  return id;
}

SpirvTarget::Id SpirvTarget::unary(Op op, Form form, Id a) {
  const uint32_t operation = op == Op::logical_not ? op::kLogicalNot
                             : op == Op::bit_not   ? op::kNot
                             : form == Form::real  ? op::kFNegate
                                                   : op::kSNegate;
  return result(operation, type_of(form), {a});
}

SpirvTarget::Id SpirvTarget::binary(Op op, Form form, bool is_signed, Id a, Id b) {
  if (form == Form::boolean) {
    const uint32_t operation = op == Op::logical_and  ? op::kLogicalAnd
                               : op == Op::logical_or ? op::kLogicalOr
                               : op == Op::equal      ? op::kLogicalEqual
                                                      : op::kLogicalNotEqual;
    return result(operation, type_of(form), {a, b});
  }
  const Operation* found = kOperations;
  while (found->op != op) ++found;
  const Id id = result(form == Form::real ? found->real
                       : is_signed        ? found->with_sign
                                          : found->without_sign,
                       type_of(compares(op) ? Form::boolean : form), {a, b});
  // Results as the processor has them: products and sums are rounded one after the other.
  if (form == Form::real && !compares(op)) emit(decorations_, op::kDecorate, {id, kNoContraction});
  return id;
}

SpirvTarget::Id SpirvTarget::convert(Scalar from, Scalar to, Id a) {
  const uint32_t operation = from == Scalar::f32 ? (is_signed(to) ? op::kConvertFToS : op::kConvertFToU)
                             : to == Scalar::f32 ? (is_signed(from) ? op::kConvertSToF : op::kConvertUToF)
                             : is_signed(from)   ? op::kSConvert
                                                 : op::kUConvert;
  return result(operation, type_of(to == Scalar::f32 ? Form::real : is_long(to) ? Form::wide : Form::word), {a});
}

SpirvTarget::Id SpirvTarget::reinterpret(Form to, Id a) { return result(op::kBitcast, type_of(to), {a}); }

SpirvTarget::Id SpirvTarget::select(Form form, Id condition, Id yes, Id no) {
  return result(op::kSelect, type_of(form), {condition, yes, no});
}

SpirvTarget::Id SpirvTarget::call(Builtin builtin, std::span<const Id> operands) {
  constexpr uint32_t kNumbers[] = {4, 8, 9, 2, 31, 50};  // of GLSL.std.450
  const uint32_t number = kNumbers[static_cast<size_t>(builtin)];
  if (operands.size() == 3) return result(op::kExtInst, type_of(Form::real), {library_, number, operands[0], operands[1], operands[2]});
  return result(op::kExtInst, type_of(Form::real), {library_, number, operands[0]});
}

SpirvTarget::Id SpirvTarget::make_pair(Id low, Id high) { return result(op::kCompositeConstruct, type_of(Form::pair), {low, high}); }
SpirvTarget::Id SpirvTarget::part(Id pair, uint32_t which) { return result(op::kCompositeExtract, type_of(Form::word), {pair, which}); }

SpirvTarget::Id SpirvTarget::input(uint32_t builtin, bool is_vector) {
  Id& id = inputs_[builtin];
  if (id) return id;
  const Id word = type_of(Form::word), type = pointer(kInput, is_vector ? declared({op::kTypeVector, word, 3}) : word);
  id = fresh();
  emit(types_, op::kVariable, {type, id, kInput});
  emit(decorations_, op::kDecorate, {id, kBuiltIn, builtin});
  return id;
}

SpirvTarget::Id SpirvTarget::position(Position which, uint32_t axis) {
  constexpr uint32_t kBuiltins[] = {26, 24, 27};
  const Id from = input(kBuiltins[static_cast<size_t>(which)], true);
  const Id at = result(op::kAccessChain, pointer(kInput, type_of(Form::word)), {from, constant(Form::word, axis)});
  return result(op::kLoad, type_of(Form::word), {at});
}

// A variable { T elements[]; } or, with an array of fixed length, of that one.
SpirvTarget::Id SpirvTarget::block(Id array, uint32_t storage, bool writes) {
  const Id type = fresh();
  emit(types_, op::kTypeStruct, {type, array});
  emit(decorations_, op::kDecorate, {type, kBlock});
  emit(decorations_, op::kMemberDecorate, {type, 0, kOffset, 0});
  if (!writes) emit(decorations_, op::kMemberDecorate, {type, 0, kNonWritable});
  const Id to = pointer(storage, type), id = fresh();
  emit(types_, op::kVariable, {to, id, storage});
  return id;
}

SpirvTarget::Id SpirvTarget::interface_word(uint32_t index) {
  const uint32_t storage = options_.push_constants ? kPushConstant : kStorageBuffer;
  if (!words_) {
    const Id word = type_of(Form::word);
    Id array;
    if (options_.push_constants) {
      const Id count = constant(Form::word, word_count_);
      array = fresh();
      emit(types_, op::kTypeArray, {array, word, count});
    } else {
      array = fresh();
      emit(types_, op::kTypeRuntimeArray, {array, word});
    }
    emit(decorations_, op::kDecorate, {array, kArrayStride, 4});
    words_ = block(array, storage, options_.push_constants);
  }
  const Id at =
      result(op::kAccessChain, pointer(storage, type_of(Form::word)), {words_, constant(Form::word, 0), constant(Form::word, index)});
  return result(op::kLoad, type_of(Form::word), {at});
}

SpirvTarget::Id SpirvTarget::variable(Form form, uint32_t count, bool is_shared) {
  const uint32_t storage = is_shared ? uint32_t{kWorkgroup} : uint32_t{kFunctionStorage};
  Id type = type_of(form);
  if (count) type = declared({op::kTypeArray, type, constant(Form::word, count)});
  const Id to = pointer(storage, type), id = fresh();
  emit(is_shared ? types_ : bodies_.back().variables, op::kVariable, {to, id, storage});
  variables_[id] = {form, count != 0, is_shared};
  return id;
}

SpirvTarget::Id SpirvTarget::load(Id variable, Id index) {
  const Variable known = variables_.at(variable);
  const Id type = type_of(known.form);
  if (known.is_array)
    variable = result(op::kAccessChain, pointer(known.is_shared ? kWorkgroup : kFunctionStorage, type), {variable, index});
  return result(op::kLoad, type, {variable});
}

void SpirvTarget::store(Id variable, Id index, Id value) {
  const Variable known = variables_.at(variable);
  const Id type = type_of(known.form);
  if (known.is_array)
    variable = result(op::kAccessChain, pointer(known.is_shared ? kWorkgroup : kFunctionStorage, type), {variable, index});
  emit(code(), op::kStore, {variable, value});
}

void SpirvTarget::buffer(uint32_t number, uint32_t unit_bytes, Parameter::Access access) {
  const Id unit = unit_type(unit_bytes), array = fresh();
  emit(types_, op::kTypeRuntimeArray, {array, unit});
  emit(decorations_, op::kDecorate, {array, kArrayStride, unit_bytes});
  const Id id = block(array, kStorageBuffer, access != Parameter::Access::read);
  emit(decorations_, op::kDecorate, {id, kDescriptorSet, 0});
  emit(decorations_, op::kDecorate, {id, kBinding, number});
  emit(decorations_, op::kDecorate, {id, access == Parameter::Access::read ? kRestrict : kAliased});
  buffers_.push_back({id, unit_bytes});
}

SpirvTarget::Id SpirvTarget::element(const Buffer& buffer, Id index) {
  return result(op::kAccessChain, pointer(kStorageBuffer, unit_type(buffer.unit_bytes)), {buffer.variable, constant(Form::word, 0), index});
}

SpirvTarget::Id SpirvTarget::load_buffer(uint32_t number, Id index) {
  const Buffer& from = buffers_[number];
  const Id loaded = result(op::kLoad, unit_type(from.unit_bytes), {element(from, index)});
  return from.unit_bytes < 4 ? result(op::kUConvert, type_of(Form::word), {loaded}) : loaded;
}

void SpirvTarget::store_buffer(uint32_t number, Id index, Id value) {
  const Buffer& to = buffers_[number];
  if (to.unit_bytes < 4) value = result(op::kUConvert, unit_type(to.unit_bytes), {value});
  const Id at = element(to, index);
  emit(code(), op::kStore, {at, value});
}

void SpirvTarget::atomic(Atomic what, uint32_t number, Id index, Id value) {
  const Id at = element(buffers_[number], index);
  result(what == Atomic::bit_and ? op::kAtomicAnd : op::kAtomicOr, type_of(Form::word),
         {at, constant(Form::word, kDeviceScope), constant(Form::word, kRelaxed), value});
}

SpirvTarget::Id SpirvTarget::compare_exchange(uint32_t number, Id index, Id old, Id value) {
  const Id at = element(buffers_[number], index), scope = constant(Form::word, kDeviceScope), relaxed = constant(Form::word, kRelaxed);
  return result(op::kAtomicCompareExchange, type_of(Form::word), {at, scope, relaxed, relaxed, value, old});
}

void SpirvTarget::barrier() {
  const Id group = constant(Form::word, kGroupScope), semantics = constant(Form::word, kAcquireReleaseGroup);
  emit(code(), op::kControlBarrier, {group, group, semantics});
}

SpirvTarget::Id SpirvTarget::subgroup(Subgroup what, Id value) {
  constexpr uint32_t kSubgroupScope = 3, kReduce = 0, kExclusiveScan = 2, kNumSubgroups = 38, kSubgroupId = 40;
  has_subgroups_ = true;
  const Id scope = constant(Form::word, kSubgroupScope), word = type_of(Form::word), real = type_of(Form::real);
  switch (what) {
    case Subgroup::index:
    case Subgroup::count:
      return result(op::kLoad, word, {input(what == Subgroup::index ? kSubgroupId : kNumSubgroups, false)});
    case Subgroup::rank:
    case Subgroup::items: {
      const Id items = result(op::kGroupNonUniformBallot, declared({op::kTypeVector, word, 4}), {scope, constant(Form::boolean, 1)});
      return result(op::kGroupNonUniformBallotBitCount, word, {scope, what == Subgroup::rank ? kExclusiveScan : kReduce, items});
    }
    case Subgroup::sum:
      return result(op::kGroupNonUniformFAdd, real, {scope, kReduce, value});
    case Subgroup::product:
      return result(op::kGroupNonUniformFMul, real, {scope, kReduce, value});
    case Subgroup::most:
      break;
  }
  return result(op::kGroupNonUniformSMax, word, {scope, kReduce, value});
}

void SpirvTarget::begin_if(Id condition) {
  const Id then = fresh(), otherwise = fresh(), end = fresh();
  emit(code(), op::kSelectionMerge, {end, 0});
  emit(code(), op::kBranchConditional, {condition, then, otherwise});
  bodies_.back().branches.push_back({otherwise, end, false, false});
  label(then);
}

void SpirvTarget::begin_else() {
  Branch& branch = bodies_.back().branches.back();
  branch.has_else = true;
  branch.reaches_end = !bodies_.back().has_ended;
  jump(branch.end);
  label(branch.otherwise);
}

void SpirvTarget::end_if() {
  if (!bodies_.back().branches.back().has_else) begin_else();
  const Branch branch = bodies_.back().branches.back();
  bodies_.back().branches.pop_back();
  const bool reaches_end = branch.reaches_end || !bodies_.back().has_ended;
  jump(branch.end);
  label(branch.end);
  if (reaches_end) return;
  emit(bodies_.back().code, op::kUnreachable, {});
  bodies_.back().has_ended = true;
}

void SpirvTarget::begin_loop() {
  const Loop loop{fresh(), fresh(), fresh()};
  const Id test = fresh();
  code();
  jump(loop.begin);
  label(loop.begin);
  emit(code(), op::kLoopMerge, {loop.end, loop.steps, 0});
  jump(test);
  label(test);
  bodies_.back().loops.push_back(loop);
}

void SpirvTarget::leave_unless(Id condition) {
  const Id next = fresh();
  emit(code(), op::kBranchConditional, {condition, next, bodies_.back().loops.back().end});
  label(next);
}

void SpirvTarget::leave_loop() { jump(bodies_.back().loops.back().end); }
void SpirvTarget::next_round() { jump(bodies_.back().loops.back().steps); }

void SpirvTarget::begin_steps() {
  next_round();
  label(bodies_.back().loops.back().steps);
}

void SpirvTarget::end_loop(Id goes_on) {
  const Loop loop = bodies_.back().loops.back();
  bodies_.back().loops.pop_back();
  if (goes_on)
    emit(code(), op::kBranchConditional, {goes_on, loop.begin, loop.end});
  else
    jump(loop.begin);
  label(loop.end);
}

SpirvTarget::Id SpirvTarget::begin_function(Form form, std::span<const Form> parameters, std::vector<Id>& arguments) {
  const Id returned = type_of(form);
  std::vector<uint32_t> type = {op::kTypeFunction, returned};
  for (const Form each : parameters) type.push_back(type_of(each));
  const Id function_type = declared(type), id = fresh();
  Body body;
  emit(body.head, op::kFunction, {returned, id, 0, function_type});
  for (const Form each : parameters) {
    arguments.push_back(fresh());
    emit(body.head, op::kFunctionParameter, {type_of(each), arguments.back()});
  }
  emit(body.head, op::kLabel, {fresh()});
  bodies_.push_back(std::move(body));
  if (!main_) main_ = id;
  return id;
}

void SpirvTarget::give(Id value) {
  if (value)
    emit(code(), op::kReturnValue, {value});
  else
    emit(code(), op::kReturn, {});
  bodies_.back().has_ended = true;
}

void SpirvTarget::end_function() {
  Body body = std::move(bodies_.back());
  bodies_.pop_back();
  if (!body.has_ended) emit(body.code, op::kUnreachable, {});
  for (const Words* part : {&body.head, &body.variables, &body.code}) functions_.insert(functions_.end(), part->begin(), part->end());
  emit(functions_, op::kFunctionEnd, {});
}

SpirvTarget::Id SpirvTarget::call_function(Id function, Form form, std::span<const Id> arguments) {
  const Id type = type_of(form), id = fresh();
  Words& to = code();
  to.push_back(static_cast<uint32_t>(arguments.size() + 4) << 16 | op::kFunctionCall);
  for (const Id each : {type, id, function}) to.push_back(each);
  to.insert(to.end(), arguments.begin(), arguments.end());
  return id;
}

std::vector<uint32_t> SpirvTarget::finish() {
  constexpr uint32_t kMagic = 0x07230203, kVersion = 0x00010300;
  constexpr uint32_t kShader = 1, kInt64 = 11, k16BitStorage = 4433, k8BitStorage = 4448, kPreserves = 4466, kPreservesMode = 4461;
  constexpr uint32_t kSubgroups = 61, kSubgroupArithmetic = 63, kSubgroupBallot = 64;
  constexpr uint32_t kGlCompute = 5, kLocalSize = 17;
  if (words_ && !options_.push_constants) {
    emit(decorations_, op::kDecorate, {words_, kDescriptorSet, 0});
    emit(decorations_, op::kDecorate, {words_, kBinding, static_cast<uint32_t>(buffers_.size())});
  }
  Words words = {kMagic, kVersion, 0, next_, 0};
  const auto text = [&](uint32_t op, std::initializer_list<uint32_t> before, std::string_view name, std::initializer_list<uint32_t> after) {
    Words operands(before);
    append_text(operands, name);
    operands.insert(operands.end(), after);
    words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
    words.insert(words.end(), operands.begin(), operands.end());
  };
  emit(words, op::kCapability, {kShader});
  if (has_wide_) emit(words, op::kCapability, {kInt64});
  if (has_subgroups_)
    for (const uint32_t one : {kSubgroups, kSubgroupArithmetic, kSubgroupBallot}) emit(words, op::kCapability, {one});
  if (has_halves_) emit(words, op::kCapability, {k16BitStorage});
  if (has_bytes_) emit(words, op::kCapability, {k8BitStorage});
  if (options_.has_signed_zero_inf_nan_preserve) emit(words, op::kCapability, {kPreserves});
  if (has_bytes_) text(op::kExtension, {}, "SPV_KHR_8bit_storage", {});
  if (options_.has_signed_zero_inf_nan_preserve) text(op::kExtension, {}, "SPV_KHR_float_controls", {});
  text(op::kExtInstImport, {library_}, "GLSL.std.450", {});
  emit(words, op::kMemoryModel, {0, 1});
  Words entry = {kGlCompute, main_};
  append_text(entry, "main");
  for (const auto& [builtin, id] : inputs_) entry.push_back(id);
  words.push_back(static_cast<uint32_t>(entry.size() + 1) << 16 | op::kEntryPoint);
  words.insert(words.end(), entry.begin(), entry.end());
  emit(words, op::kExecutionMode, {main_, kLocalSize, options_.group[0], options_.group[1], options_.group[2]});
  if (options_.has_signed_zero_inf_nan_preserve) emit(words, op::kExecutionMode, {main_, kPreservesMode, 32});
  for (const Words* part : {&decorations_, &types_, &functions_}) words.insert(words.end(), part->begin(), part->end());
  return words;
}

Shader compile_to_spirv(std::string_view source, std::string_view function, const ShaderOptions& options) {
  SpirvTarget target(options);
  Translator translator(target, options, {options.has_i64, options.has_8bit_storage, options.has_16bit_storage});
  Shader shader;
  static_cast<ShaderInterface&>(shader) = translator.translate(source, function);
  shader.spirv = target.finish();
  return shader;
}

}  // namespace minnow::gpu
