// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of bytes: some neighbouring pixels of a channel are multiplied at once, four as bytes or two as 16-bit numbers.
#pragma once
#include "backends/cpu/kernels/integer.h"

namespace minnow::cpu {

/// One row of a vector of channels. A block holds neighbouring columns of the padded image, [lane][column], four bytes for each lane.
struct ByteDepthwiseRow {
  const uint8_t* const* rows;  // blocks of each row of taps
  size_t kernel_h;
  // [kernel_h][piece of a block's columns][column of a block that the filter begins at, where two outputs share blocks][lane][column]
  const uint8_t* w;
  size_t out_w;
  const IntegerTile* to;  // describes the result; y[0] is its row, pixel_stride is a vector
};
inline constexpr size_t kByteDepthwiseMost = 14;   // outputs that are computed at once: rows have blocks for whole multiples of it
inline constexpr size_t kByteDepthwisePieces = 3;  // of a row of the filter, at most

struct ByteDepthwiseForm {
  size_t columns;         // of a block: 4 bytes or 2 16-bit numbers; blocks begin at every columns / 2; 0: this target has no such form
  int32_t signed_offset;  // is added to signed bytes
  bool needs_bytes;       // the machine has to run IntegerForm::bytes, and weights less their zero points are i8
  /// [pieces that a row of the filter touches - 1][stride - 1]; null: there is none.
  void (*rows[kByteDepthwisePieces][2])(const ByteDepthwiseRow&);
  /// `count` blocks of columns that lie one after another, `lanes` bytes each.
  void (*arrange)(const uint8_t* columns, size_t count, bool is_signed, uint8_t* blocks);
};

struct ByteDepthwiseKernels {
  ByteDepthwiseForm forms[2];  // the faster one first
};

}  // namespace minnow::cpu
