// SPDX-License-Identifier: Apache-2.0
// Softmax over scores as register tiles write them and read them again; products of a single query with keys and values where they lie.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// One row of scores: vectors that are `stride` floats apart; the first `count` > 0 floats are valid.
struct ScoreRow {
  float* scores;
  size_t stride, count;
  const float* add = nullptr;  // [count], added first: a mask; null: nothing
};

/// One row of scores that are sums of bytes: whole vectors, the first `count` > 0 numbers are valid. A score is its sum times `factor` > 0.
struct ByteScoreRow {
  const int32_t* sums;
  size_t count;
  float factor;
  const float* add = nullptr;  // [count]: a mask, added to scores; null: nothing
};

struct AttentionKernels {
  /// Replaces the scores by their softmax. If all are minus infinity they become 0: such a query attends to nothing.
  void (*softmax)(const ScoreRow& row);
  // Null in small builds.
  /// y[i] = scale * the sum of x[k] * rows[i * stride + k], for `count` rows of `depth` numbers.
  void (*multiply_rows)(const float* x, const float* rows, size_t stride, size_t count, size_t depth, float scale, float* y);
  /// y[k] += the sum of x[i] * rows[i * stride + k], for `count` rows of `width` numbers.
  void (*add_rows)(const float* x, const float* rows, size_t stride, size_t count, size_t width, float* y);
  /// y = round(255 e^(score - largest score)), whole vectors, 0 beyond the last number. Returns their sum, which is 0 if all scores are
  /// minus infinity.
  uint32_t (*weigh)(const ByteScoreRow& row, uint8_t* y);
  /// y = (sums - less) factor; whole vectors.
  void (*scale_sums)(const int32_t* sums, size_t count, int32_t less, float factor, float* y);
};

}  // namespace minnow::cpu
