// SPDX-License-Identifier: Apache-2.0
// Successive elementwise steps on a few vectors that stay in registers. Each step jumps to the next one, so intermediate values and loops
// cost nothing. Steps work on x; h, on machines with enough registers, holds a value for later.
//
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

enum class Chain : uint8_t {
  end,
  load,   // x = a
  store,  // to = x
  hold,   // h = x
  swap,   // h, x = x, h
  // of x, which is kept, and an operand
  add,
  subtract,
  subtract_from,  // a - x
  multiply,
  divide,
  divide_into,  // a / x
  minimum,
  minimum_of,  // with the operands the other way round, which of two zeros is taken depends on it
  maximum,
  maximum_of,
  prelu,
  prelu_of,
  less,
  less_of,
  less_equal,
  less_equal_of,
  equal,
  select,  // x != 0 ? a : b
  // of x; a and b hold the parameters
  square,
  relu,
  clip,
  leaky_relu,
  negate,
  absolute,
  square_root,
  reciprocal,
  floor,
  ceil,
  round,
  scale,
  count
};

/// The place of an operand: an element per position at a, one vector for all positions at a, or h.
enum class ChainOperand : uint8_t { each, fixed, held };

using ChainCode = void (*)();  // of the kernels' own type

struct ChainStep {
  ChainCode code = nullptr;
  const float *a = nullptr, *b = nullptr;
  size_t a_mask = 0, b_mask = 0;  // of a select. SIZE_MAX: an element for each place; 0: one vector for all
  float* to = nullptr;            // of a store
};

struct ChainKernels {
  size_t tile;  // floats that are computed at once, whole vectors
  /// Indexed by Chain and, for steps with one operand, by ChainOperand. Null: steps for which an instruction set lacks registers (`hold`,
  /// `swap` and all held operands), and rare combinations of a step with a held operand.
  const ChainCode (*code)[3];
  /// Runs the steps, which end with `end`, on each tile of [0, count); count is whole tiles. A step may read the values that earlier steps
  /// have stored.
  void (*run)(const ChainStep* steps, size_t count);
};

}  // namespace minnow::cpu
