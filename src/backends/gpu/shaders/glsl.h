// SPDX-License-Identifier: Apache-2.0
// Instructions as GLSL ES 3.10: each one defines a constant.
#pragma once
#include <string>

#include "backends/gpu/shaders/target.h"

namespace minnow::gpu {

class GlslTarget final : public Target {
 public:
  explicit GlslTarget(const ShaderOptions& options) : options_(options), values_(1) {}
  /// The shader's text, when all functions have ended.
  std::string finish();

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
  void begin_steps() override {}
  bool repeats_steps() const override { return true; }
  void end_loop(Id goes_on) override;
  Id begin_function(Form result, std::span<const Form> parameters, std::vector<Id>& arguments) override;
  void give(Id result) override;
  void end_function() override;
  Id call_function(Id function, Form result, std::span<const Id> arguments) override;

 private:
  struct Value {
    std::string text;
    Form form = Form::none;  // of a variable
    bool is_array = false;
    bool is_number = false;  // a constant, and not NaN
  };
  Id named(std::string text, Form form = Form::none, bool is_array = false);
  Id define(Form form, const std::string& expression);
  void line(const std::string& text);
  const std::string& text(Id id) const { return values_[id].text; }
  std::string element(Id variable, Id index) const;
  std::string compared(Id a, std::string_view sign, Id b, bool if_nan) const;
  std::string arguments(std::span<const Id> ids) const;

  const ShaderOptions& options_;
  std::vector<Value> values_;        // by Id; 0 is none
  std::vector<std::string> bodies_;  // the innermost function's last
  std::string globals_, functions_;
  uint32_t word_count_ = 0;
};

}  // namespace minnow::gpu
