// SPDX-License-Identifier: Apache-2.0
// Instructions as SPIR-V 1.3 (Khronos, "SPIR-V Specification", version 1.6, chapters 2 and 3).
#pragma once
#include <map>
#include <unordered_map>

#include "backends/gpu/shaders/target.h"

namespace minnow::gpu {

class SpirvTarget final : public Target {
 public:
  explicit SpirvTarget(const ShaderOptions& options);
  /// The module, when all functions have ended.
  std::vector<uint32_t> finish();

  void interface_words(uint32_t count) override { word_count_ = count; }
  Id constant(Form form, uint64_t bits) override;
  Id unary(Op op, Form form, Id a) override;
  Id binary(Op op, Form form, bool is_signed, Id a, Id b) override;
  Id convert(Scalar from, Scalar to, Id a) override;
  Id reinterpret(Form to, Id a) override;
  Id select(Form form, Id condition, Id yes, Id no) override;
  Id call(Builtin builtin, std::span<const Id> operands) override;
  Id make_pair(Id low, Id high) override;
  Id part(Id pair, uint32_t which) override;
  Id position(Position which, uint32_t axis) override;
  Id interface_word(uint32_t index) override;
  Id variable(Form form, uint32_t count, bool is_shared) override;
  Id load(Id variable, Id index) override;
  void store(Id variable, Id index, Id value) override;
  void buffer(uint32_t number, uint32_t unit_bytes, Parameter::Access access) override;
  Id load_buffer(uint32_t number, Id index) override;
  void store_buffer(uint32_t number, Id index, Id value) override;
  void atomic(Atomic what, uint32_t number, Id index, Id value) override;
  Id compare_exchange(uint32_t number, Id index, Id old, Id value) override;
  void barrier() override;
  Id subgroup(Subgroup what, Id value) override;
  void begin_if(Id condition) override;
  void begin_else() override;
  void end_if() override;
  void begin_loop() override;
  void leave_unless(Id condition) override;
  void leave_loop() override;
  void next_round() override;
  void begin_steps() override;
  bool repeats_steps() const override { return false; }
  void end_loop(Id goes_on) override;
  Id begin_function(Form result, std::span<const Form> parameters, std::vector<Id>& arguments) override;
  void give(Id result) override;
  void end_function() override;
  Id call_function(Id function, Form result, std::span<const Id> arguments) override;

 private:
  using Words = std::vector<uint32_t>;
  struct Branch {
    Id otherwise, end;
    bool has_else, reaches_end;
  };
  struct Loop {
    Id begin, steps, end;
  };
  struct Body {
    Words head, variables, code;
    bool has_ended = false;  // the block
    std::vector<Branch> branches;
    std::vector<Loop> loops;
  };
  struct Variable {
    Form form;
    bool is_array, is_shared;
  };
  struct Buffer {
    Id variable;
    uint32_t unit_bytes;
  };

  static void emit(Words& to, uint32_t op, std::initializer_list<uint32_t> operands);
  Id result(uint32_t op, Id type, std::initializer_list<uint32_t> operands);
  Words& code();
  void label(Id id);
  void jump(Id to);
  Id fresh() { return next_++; }
  Id declared(std::vector<uint32_t> type);  // a type, made once
  Id type_of(Form form);
  Id unit_type(uint32_t bytes);
  Id pointer(uint32_t storage, Id to);
  Id input(uint32_t builtin, bool is_vector);
  Id element(const Buffer& buffer, Id index);
  Id block(Id array, uint32_t storage, bool writes);

  const ShaderOptions& options_;
  Id next_ = 1, main_ = 0, library_, words_ = 0;
  uint32_t word_count_ = 0;
  Words types_, decorations_, functions_;
  std::map<std::vector<uint32_t>, Id> declared_;
  std::map<std::pair<Form, uint64_t>, Id> constants_;
  std::unordered_map<Id, Variable> variables_;
  std::vector<Buffer> buffers_;
  std::map<uint32_t, Id> inputs_;
  std::vector<Body> bodies_;  // the innermost one last
  bool has_wide_ = false, has_bytes_ = false, has_halves_ = false, has_subgroups_ = false;
};

}  // namespace minnow::gpu
