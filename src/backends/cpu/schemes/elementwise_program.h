// SPDX-License-Identifier: Apache-2.0
// Elementwise operators as a straight-line program over a block of floats: each instruction reads and writes registers of kBlock floats,
// which stay in the first-level cache. Booleans are 1 and 0. Neighbouring cheap instructions run as a chain (kernels/chain.h) over whole
// tiles, which keeps intermediate values in vectors; the rest of the block is computed one instruction after another.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/kernels/chain.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/schemes/elementwise_geometry.h"
#include "backends/cpu/schemes/functions.h"

namespace minnow::cpu {

class ElementwiseProgram {
 public:
  static constexpr size_t kBlock = 2048;  // floats; whole vectors of every instruction set

  using Form = ElementwiseForm;
  using Value = int;

  ElementwiseProgram(const Kernels& kernels, std::span<const Form> inputs);
  Value input(size_t i) const noexcept { return static_cast<Value>(i); }
  Value constant(float value);
  /// Adds an operator with these operands and returns its value; empty if programs do not support it. Ignores shapes.
  std::optional<Value> add(const NodeView& node, std::span<const Value> operands);
  /// Completes the program: drops instructions that the result does not need, and assigns registers.
  void finish(Value result);

  /// Floats of the memory that run() works in.
  size_t scratch() const noexcept;
  /// Operations for one element.
  double cost() const noexcept { return cost_; }
  /// Writes the data that all blocks share into the scratch. Call it before run() with this scratch, and again after others have written
  /// the scratch or the inputs.
  void begin(float* scratch) const noexcept;
  /// y[0, count) for count <= kBlock. Inputs of form full have `count` floats; those of form lanes have one vector, and count is whole
  /// vectors. `scratch` has scratch() floats and the alignment of pointers. y may be an input of form full.
  void run(const float* const* inputs, size_t count, float* scratch, float* y) const noexcept;

 private:
  enum class Place : uint8_t { input, constant, instruction, storage, result };
  struct Item {
    Form form;
    Place place;
    uint32_t index;
  };
  struct Instruction {
    enum class Kind : uint8_t { unary, binary, select, fill, repeat } kind = Kind::unary;
    UnaryFunction unary = nullptr;
    BinaryFunction binary = nullptr;
    float a = 0, b = 0;
    Chain step = Chain::count, step_of = Chain::count;  // as a step of a chain, and with the second operand kept; count: none
    Value operands[3] = {-1, -1, -1};
    Value result = -1;
  };
  struct Step {
    Chain code;
    Value a = -1, b = -1;     // that it reads; of a store: that it writes
    bool parameters = false;  // instead of a and b constants, from this one on
    uint32_t constant = 0;
    bool held = false;  // a is the held value
  };
  /// The data that a step reads from an input or writes to the result, each block at another position.
  struct Moving {
    uint32_t step;
    const float* ChainStep::*from;  // null if the step writes
    Value value;
  };
  /// Instructions [first, last). Steps [step, step_end), if there are any, compute their whole tiles.
  struct Part {
    size_t first, last, step, step_end;
  };
  Value append(Instruction instruction, double cost);
  Value full(Value value);
  Value unary(Unary kind, Value x, float a = 0, float b = 0);
  Value binary(Binary kind, Value a, Value b);
  Value negation(Value condition) { return unary(Unary::scale, condition, -1, 1); }
  Value select(Value x, Value a, Value b);
  std::optional<Value> power(const NodeView& node, std::span<const Value> operands);
  Value log_of_one_more(Value x);
  Value inverse_sinh(Value x);
  std::optional<Value> of_angles(std::string_view op, Value x);
  /// The parts of the scratch: registers, a vector for each input that is a number, steps, and the origins of the numbers.
  struct Scratch {
    float *registers, *vectors;
    ChainStep* steps;
    const float** numbers;
  };
  Scratch parts_of(float* scratch) const noexcept;
  void run(const Instruction& instruction, const float* const* inputs, size_t first, size_t count, float* registers,
           float* y) const noexcept;
  uint32_t add_constant(float value);
  void make_parts();
  void make_chain(size_t first, size_t last, std::span<const size_t> last_read);
  void hold_values(size_t begin, std::span<const size_t> last_read, size_t end);
  void find_moving();

  const Kernels* kernels_;
  const ChainKernels* chain_;
  std::vector<Item> items_;
  std::vector<float> constants_;  // each a vector
  std::vector<Instruction> instructions_;
  std::vector<Part> parts_;  // all instructions in order
  std::vector<Step> steps_;
  std::vector<Moving> moving_;
  size_t inputs_, registers_ = 0;
  double cost_ = 0;
};

}  // namespace minnow::cpu
