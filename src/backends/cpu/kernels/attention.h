// SPDX-License-Identifier: Apache-2.0
// Softmax over scores as register tiles write them and read them again.
#pragma once
#include <cstddef>

namespace minnow::cpu {

/// One row of scores: vectors that are `stride` floats apart; the first `count` > 0 floats are valid.
struct ScoreRow {
  float* scores;
  size_t stride, count;
  const float* add = nullptr;  // [count], added first: a mask; null: nothing
};

struct AttentionKernels {
  /// Replaces the scores by their softmax. If all are minus infinity they become 0: such a query attends to nothing.
  void (*softmax)(const ScoreRow& row);
};

}  // namespace minnow::cpu
