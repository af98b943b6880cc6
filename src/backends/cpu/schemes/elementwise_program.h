// SPDX-License-Identifier: Apache-2.0
// Elementwise operators as a straight-line program over a block of floats: each instruction reads and writes registers of kBlock floats,
// which stay in the first-level cache. Booleans are 1 and 0.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/schemes/elementwise_geometry.h"
#include "backends/cpu/schemes/functions.h"

namespace minnow::cpu {

class ElementwiseProgram {
 public:
  static constexpr size_t kBlock = 1024;  // floats; whole vectors of every instruction set

  using Form = ElementwiseForm;
  using Value = int;

  ElementwiseProgram(const Kernels& kernels, std::span<const Form> inputs);
  Value input(size_t i) const noexcept { return static_cast<Value>(i); }
  Value constant(float value);
  /// The value that an operator with these operands gives; nothing where it is none that programs know. Shapes are not looked at.
  std::optional<Value> add(const NodeView& node, std::span<const Value> operands);
  /// The program is complete. Drops what the result does not need and allots the registers.
  void finish(Value result);

  size_t registers() const noexcept { return registers_; }
  /// Operations for one element.
  double cost() const noexcept { return cost_; }
  /// y[0, count) for count <= kBlock. Inputs of form full have `count` floats; those of form lanes have one vector, and count is whole
  /// vectors. `registers` has registers() * kBlock floats. y may be an input of form full.
  void run(const float* const* inputs, size_t count, float* registers, float* y) const noexcept;

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
    Value operands[3] = {-1, -1, -1};
    Value result = -1;
  };
  Value append(Instruction instruction, double cost);
  Value full(Value value);
  Value unary(Unary kind, Value x, float a = 0, float b = 0);
  Value binary(Binary kind, Value a, Value b);
  Value negation(Value condition) { return unary(Unary::scale, condition, -1, 1); }
  std::optional<Value> power(const NodeView& node, std::span<const Value> operands);

  const Kernels* kernels_;
  std::vector<Item> items_;
  std::vector<float> constants_;
  std::vector<Instruction> instructions_;
  size_t registers_ = 0;
  double cost_ = 0;
};

}  // namespace minnow::cpu
