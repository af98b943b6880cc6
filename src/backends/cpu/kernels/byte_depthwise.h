// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of bytes: four neighbouring pixels of a channel are multiplied at once.
#pragma once
#include "backends/cpu/kernels/integer.h"

namespace minnow::cpu {

/// One row of a vector of channels. A block holds four neighbouring columns of the padded image, [lane][column]; blocks begin at every
/// second column.
struct ByteDepthwiseRow {
  const uint8_t* const* rows;  // blocks of each row of taps
  size_t kernel_h;
  const uint8_t* w;  // [kernel_h][piece of four columns][column that the filter begins at: 0 and, for stride 1, 1][lane][column]
  size_t out_w;
  const IntegerTile* to;  // describes the result; y[0] is its row, pixel_stride is a vector
};
inline constexpr size_t kByteColumns = 4;         // of a block
inline constexpr size_t kByteDepthwiseMost = 14;  // outputs that are computed at once: rows have blocks for whole multiples of it

struct ByteDepthwiseKernels {
  /// [pieces that a row of the filter touches - 1][stride - 1]; null: there are none on this target. The machine has to run
  /// IntegerForm::bytes.
  void (*rows[2][2])(const ByteDepthwiseRow&);
  /// `count` blocks of columns that lie one after another, `lanes` bytes each, less their sign if they have another one than the products
  /// want.
  void (*arrange)(const uint8_t* columns, size_t count, bool flips, uint8_t* blocks);
};

}  // namespace minnow::cpu
