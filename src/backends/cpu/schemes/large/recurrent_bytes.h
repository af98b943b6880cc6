// SPDX-License-Identifier: Apache-2.0
// The products of minnow.QuantizedLSTM and minnow.QuantizedGRU: inputs and states are rounded to bytes, row by row, and multiplied by
// weights of 8 bits with exact sums.
#pragma once
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/integer.h"
#include "backends/cpu/schemes/recurrent.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {

/// Seconds of all products of a run.
double byte_products_time(const Recurrent& r, const Device& device);

class ByteProducts {
 public:
  /// `blocks`: vectors of hidden units, each with r.slots vectors of sums.
  ByteProducts(PrepareContext& context, const Recurrent& r, size_t blocks);

  /// Sums of all steps and directions: X W^T plus `bias`, [directions][slots of all units], which may be null. Sums are [direction][row of
  /// X][slots of all units].
  void multiply_inputs(RunContext& context, const float* bias, float* sums) const noexcept;

  /// At the beginning of a run.
  void begin(RunContext& context, size_t d) const noexcept;
  /// Rounds the states of a direction, [block][sequence][lane], for multiply_states().
  void round(RunContext& context, size_t d, const float* h) const noexcept;
  /// Some of the slots of each unit: all, those that scale a state (update and reset of a GRU), or that of the scaled state.
  enum class Part : uint8_t { all, gates, scaled };
  /// Adds the products of the rounded states to the sums of a step, those of the blocks [first, last). `sums`: of the first sequence;
  /// sequences are `stride` floats apart.
  void multiply_states(RunContext& context, size_t d, Part part, size_t first, size_t last, float* sums, size_t stride) const noexcept;

 private:
  /// W or R, as tiles read it.
  struct Matrix {
    IntegerForm form;
    size_t depth, groups, row, panel_bytes;  // row: bytes of a rounded row
    std::shared_ptr<const void> panels;      // [direction][pair of slots]
    std::vector<float> multiplier;           // [direction][slot][lane]
    std::vector<int32_t> bias;               // the share of the offset of bytes
    size_t row_stride() const noexcept { return form == IntegerForm::matrices ? group_bytes(form) : row; }
  };
  class Product;
  /// `rows`: that are multiplied at a time.
  Matrix packed(PrepareContext& context, size_t input, size_t scales, size_t depth, size_t rows) const;
  /// Rounds a row; gives its step.
  float round_row(const float* x, size_t count, uint8_t* to) const noexcept;
  uint8_t* rounded(const RunContext& context, size_t d) const noexcept {
    return context.scratch_at<uint8_t>(state_offset_) + d * state_bytes_;
  }

  const Kernels& kernels_;
  const Recurrent r_;
  size_t lanes_, blocks_, pairs_, width_, rows_;  // pairs: of slots of a direction; rows: of X
  Matrix w_, r_matrix_;
  size_t row_blocks_ = 1, chunks_ = 1;
  Units units_;
  size_t state_offset_ = 0, state_bytes_ = 0, products_at_ = 0, factors_at_ = 0, plain_at_ = 0;  // of a direction
};

}  // namespace minnow::cpu
