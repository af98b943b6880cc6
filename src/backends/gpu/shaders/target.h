// SPDX-License-Identifier: Apache-2.0
// The instructions that kernels are translated to; one class makes SPIR-V of them, another GLSL.
#pragma once
#include "backends/gpu/shaders/shader_compiler.h"
#include "backends/gpu/shaders/syntax.h"

namespace minnow::gpu {

/// How values are held. A word is an i32 or a u32: signs are a matter of operations. A pair is an integer of 64 bits, the low word first,
/// for devices that have no such integers; Pairs (pairs.h) computes with it.
enum class Form : uint8_t { none, boolean, word, real, wide, pair };

enum class Builtin : uint8_t { absolute, floor, ceil, round_even, square_root, fused };
enum class Position : uint8_t { group, groups, item };
/// The subgroup's number in its group and their count; an item's number among those of its subgroup and their count; one value of all items
/// of a subgroup: sums and products of reals, the largest signed word.
enum class Subgroup : uint8_t { index, count, rank, items, sum, product, most };

class Target {
 public:
  /// A value that was computed, a variable, or a function. 0: none.
  using Id = uint32_t;
  virtual ~Target() = default;

  /// How many words the interface has; comes first.
  virtual void interface_words(uint32_t count) = 0;
  virtual Id constant(Form form, uint64_t bits) = 0;
  virtual Id unary(Op op, Form form, Id a) = 0;
  /// Comparisons give booleans; shifts take a word as the second operand.
  virtual Id binary(Op op, Form form, bool is_signed, Id a, Id b) = 0;
  /// Between numbers; towards zero.
  virtual Id convert(Scalar from, Scalar to, Id a) = 0;
  virtual Id reinterpret(Form to, Id a) = 0;  // between words and reals
  virtual Id select(Form form, Id condition, Id yes, Id no) = 0;
  virtual Id call(Builtin builtin, std::span<const Id> operands) = 0;
  virtual Id make_pair(Id low, Id high) = 0;
  virtual Id part(Id pair, uint32_t which) = 0;
  virtual Id position(Position which, uint32_t axis) = 0;
  /// Word number `index` of the shader's interface.
  virtual Id interface_word(uint32_t index) = 0;

  /// A variable of this function, or of all items of a group; `count` elements, 0: one that is no array.
  virtual Id variable(Form form, uint32_t count, bool is_shared) = 0;
  virtual Id load(Id variable, Id index) = 0;
  virtual void store(Id variable, Id index, Id value) = 0;

  /// Units of 1 and 2 bytes are read as words without sign, those of 4 as words, those of 8 as `wide`.
  virtual void buffer(uint32_t number, uint32_t unit_bytes, Parameter::Access access) = 0;
  virtual Id load_buffer(uint32_t number, Id index) = 0;
  virtual void store_buffer(uint32_t number, Id index, Id value) = 0;
  enum class Atomic : uint8_t { bit_and, bit_or };
  virtual void atomic(Atomic what, uint32_t number, Id index, Id value) = 0;
  virtual Id compare_exchange(uint32_t number, Id index, Id old, Id value) = 0;
  virtual void barrier() = 0;
  /// Only with ShaderOptions::has_subgroups. The first four take no value.
  virtual Id subgroup(Subgroup what, Id value) = 0;

  virtual void begin_if(Id condition) = 0;
  virtual void begin_else() = 0;
  virtual void end_if() = 0;
  virtual void begin_loop() = 0;
  virtual void leave_unless(Id condition) = 0;  // the innermost loop
  virtual void leave_loop() = 0;
  virtual void next_round() = 0;
  /// Steps follow, which next_round() leads to, unless steps are repeated before each next_round().
  virtual void begin_steps() = 0;
  virtual bool repeats_steps() const = 0;
  virtual void end_loop(Id goes_on) = 0;  // 0: always

  virtual Id begin_function(Form result, std::span<const Form> parameters, std::vector<Id>& arguments) = 0;
  virtual void give(Id result) = 0;
  virtual void end_function() = 0;
  virtual Id call_function(Id function, Form result, std::span<const Id> arguments) = 0;
};

}  // namespace minnow::gpu
