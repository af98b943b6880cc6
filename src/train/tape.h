// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a loop on one element as a list, found by calling the loop's rule with numbers that write down what is done with them.
// It gives the cost of a rule, and what other backends than the processor's loops compute.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/update_rule.h"

namespace minnow::train {

struct Tape {
  using Op = UpdateOp;
  static constexpr int16_t kZero = -1;  // the number 0, with which sums begin
  struct Entry {
    Op op;
    int16_t of[4];
  };
  std::vector<Entry> entries;  // entry i makes value i; first the inputs: weight, gradient, states, coefficients
  int16_t states = 0, coefficients = 0;
  int16_t weight = 0;                     // the new one
  std::vector<int16_t> new_states, sums;  // values to be summed over elements
  int operations = 0;
  bool is_whole = true;  // false: of a loop that does more
};

/// A value of the tape that is being written.
struct Noted {
  int16_t at = Tape::kZero;
  static inline thread_local Tape* tape = nullptr;
  static Noted input();
  static Noted once(Tape::Op op, int16_t a = Tape::kZero, int16_t b = Tape::kZero, int16_t c = Tape::kZero, int16_t d = Tape::kZero);

  // Not inline: rules are compiled for each instruction set.
  friend Noted operator+(Noted a, Noted b);
  friend Noted operator-(Noted a, Noted b);
  friend Noted operator*(Noted a, Noted b);
  friend Noted operator/(Noted a, Noted b);
  friend Noted root(Noted a);
  friend Noted size(Noted a);
  friend Noted larger(Noted a, Noted b);
  friend Noted smaller(Noted a, Noted b);
  friend Noted clamped(Noted low, Noted high, Noted x);
  friend Noted by_sign(Noted x, Noted a, Noted b, Noted c);
};

/// The tape of a rule: weight, gradient, states, coefficients, sums.
Tape recorded(size_t states, size_t coefficients, size_t sums, void (*update)(Noted& w, Noted g, Noted* s, const Noted* c, Noted* sums));

}  // namespace minnow::train
