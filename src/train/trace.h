// SPDX-License-Identifier: Apache-2.0
// Layers ask for buffers and random keys while a TrainingStep records its loss.
#pragma once
#include <minnow/train.h>

#include "express/node.h"

namespace minnow::train {

class Trace {
 public:
  Trace() : outer_(innermost) { innermost = this; }
  ~Trace() { innermost = outer_; }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  /// That of this thread; null outside of a recording.
  static Trace* current() noexcept { return innermost; }

  struct Buffer {
    Var variable, symbol, next;  // symbol: stands for the value at the beginning of the step; next: absent where it stays
  };
  std::vector<Buffer> buffers;
  Vars keys;

 private:
  static thread_local Trace* innermost;
  Trace* const outer_;
};

/// Two words that look random, of a seed, a step and a place in it.
void fill_key(uint32_t key[2], uint64_t seed, uint64_t step, uint64_t place) noexcept;

}  // namespace minnow::train
